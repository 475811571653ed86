// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the control socket's requests: lines in which bytes from 0x80 on stand for the words of
 * requests, and between the lines commands for the requests to act on.
 */
#include <event2/event.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "corerig.h"
#include "fuzzrig.h"
#include "hca.h"

#define LINE_MAX_BYTES	512

static const char *const words[] = {
	"census", "reset", "counters", "commands", "cap", "limit", "trace", "on", "off", "dump",
	"inject", "cmd", "op", "delay", "reorder", "clear", "cqe", "drop", "umr", "fault",
	"subtype", "nowrite", "event", "fatal", "hang", "packet", "error", "expect", "refuse",
	"doorbell", "any", "unexpected", "new", "link", "up", "down", "port", "lid", "pkey",
	"unplug", "ALLOC_UAR", "NOP", "CREATE_CQ", "0", "1", "2", "255", "0xffffffffffffffff", "-1",
	"LIM_ERR", "BAD_RES", "uar", "qp", "command_timeout_ms", "general", "log_max_qp", "odp",
	"eq", "capture", "plug", "impair", "loss=10%", "dup=50,reorder=0.5,seed=7",
	"delay=100,delay_ms=1", "corrupt=1", "frame", "ffffffffffff0200000000020806",
};

static void add_word(char *line, size_t *len, struct fuzz_in *in)
{
	uint8_t b = fuzz_u8(in);

	if (b >= 0x80)
		*len += sprintf(line + *len, "%s ", words[(b - 0x80) % (sizeof(words) /
									 sizeof(*words))]);
	else if (b && b != '\n')
		line[(*len)++] = b;
}

/* Every answer is a JSON object with "ok". */
static void request(struct fuzz_in *in)
{
	char line[LINE_MAX_BYTES], *answer;
	uint8_t n = fuzz_u8(in) % 10;
	struct json_object *o;
	size_t len = 0;

	while (n-- && len < sizeof(line) - 64)
		add_word(line, &len, in);
	line[len] = 0;
	answer = control_request(core.hca, line);
	must(answer);
	o = json_tokener_parse(answer);
	must(o && json_object_object_get_ex(o, "ok", NULL));
	json_object_put(o);
	free(answer);
}

static void command(struct fuzz_in *in)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_NOP, MLX5_CMD_OP_ALLOC_PD, 0xfff,
	};
	uint8_t buf[16] = { 0 };

	put_be16(buf, ops[fuzz_u8(in) % 4]);
	core_put(0, buf, sizeof(buf), 16);
	core_ring(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	static bool added;
	unsigned int n;

	if (!added)
		core_add_module(&control_module);
	added = true;
	must(!core_up_init(NULL));
	for (n = 0; in.left && n < 32; n++)
		if (fuzz_u8(&in) & 3)
			request(&in);
		else
			command(&in);
	event_base_loop(core.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	core_down(NULL);
	return 0;
}
