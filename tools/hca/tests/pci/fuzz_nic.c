// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the objects of a NIC: commands of queues, TIRs and flow tables, valid for the objects
 * that exist until the fuzzer changes up to three fields; and frames that pass the flow tables,
 * whatever the commands have made of them.
 *
 * With FUZZ_COUNT set in the environment it prints at the end how many commands of each opcode were
 * run and succeeded, and what became of the frames.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "fields.h"
#include "frame.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "rq.h"
#include "steer.h"
#include "tir.h"
#include "worldnic.h"
#include "worldrig.h"

#define MAX_STEPS	64

static struct {
	unsigned long run, ok;
} count[CMD_OPCODES];
static unsigned long verdicts[3];
static uint16_t known[64];
static unsigned int nr_known;

static void print_counts(void)
{
	unsigned int i;

	for (i = 0; i < nr_known; i++)
		fprintf(stderr, "COUNT %-26s %9lu run %9lu ok\n",
			cmd_desc_find(core.hca, known[i])->name, count[known[i]].run,
			count[known[i]].ok);
	fprintf(stderr, "COUNT frames: %lu delivered, %lu dropped, %lu missed\n",
		verdicts[STEER_DELIVER], verdicts[STEER_DROP], verdicts[STEER_MISS]);
}

/* Change up to 32 bits of one of the input's fields, which are those of the stock headers. */
static void mutate(struct world_cmd *c, struct fuzz_in *in)
{
	size_t bits = (c->in_len - 8) * 8, off = 64 + fuzz_u16(in) % bits;
	uint8_t how = fuzz_u8(in);
	unsigned int width = 1 << how % 6;

	off &= ~(size_t)(width - 1);
	if ((off + width + 7) / 8 > c->in_len)
		return;
	ifc_set_bits(c->in, off, width,
		     how & 0x80 ? fuzz_u32(in) : world_live(how / 6 % OBJ_KINDS, fuzz_u8(in)));
}

static void step_command(struct fuzz_in *in)
{
	static uint8_t out[8192];
	static struct world_cmd c;
	uint8_t how = fuzz_u8(in), pick = fuzz_u8(in), st;
	unsigned int n = how & 0x40 ? how % 4 : 0;

	must(world_build(&c, known[fuzz_u8(in) % nr_known], pick));
	while (n--)
		mutate(&c, in);
	if (how > 0xf0)
		c.in_len -= c.in_len > 16u + how % 8 ? how % 8 : 0;
	st = world_run(&c, out);
	count[c.op].run++;
	count[c.op].ok += !st;
}

/* Whatever is in the tables, a frame ends at TIRs that have a queue, or nowhere. */
static void step_frame(struct fuzz_in *in)
{
	struct steer_result r;
	uint8_t bytes[128];
	struct frame f;
	unsigned int i;
	size_t len = fuzz_take(in, bytes, 14 + fuzz_u8(in) % 100);

	if (len >= 16 && bytes[11] & 1)
		put_be16(bytes + 12, bytes[11] & 2 ? ETYPE_IPV4 : ETYPE_CTAG);
	if (!frame_parse(&f, bytes, len, LENGTHS_OF_FRAME))
		return;
	steer(core.hca, FLOW_NIC_RX, &f, &r);
	must(!r.copies == (r.verdict != STEER_DELIVER));
	must(r.copies <= STEER_COPIES && r.tables <= 256);
	for (i = 0; i < r.copies; i++) {
		const struct tir *tir = tir_find(core.hca, r.copy[i].tirn);

		must(tir && tir_rq(core.hca, tir, get_be32(bytes)));
	}
	verdicts[r.verdict]++;
}

/* Post what is in the ring, and read it. */
static void step_receive(struct fuzz_in *in)
{
	struct rq *rq = rq_find(core.hca, world_live(OBJ_RQ, fuzz_u8(in)));
	struct rq_wqe w;

	if (!rq || rq->state != RQ_RDY)
		return;
	put_be32(core.ram + rq->dbr.addr, rq->hw + fuzz_u8(in) % 20);
	if (!rq_peek(core.hca, rq, &w)) {
		must(w.n <= 1u << (rq->shift - 4));
		rq_consume(rq);
	}
}

static void start(void)
{
	unsigned int i;

	for (i = 0; i < CMD_OPCODES; i++)
		if (cmd_desc_find(core.hca, i) && worldnic_has(i))
			known[nr_known++] = i;
	if (getenv("FUZZ_COUNT"))
		atexit(print_counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t buf[2048];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	unsigned int steps;

	core_eth = true;
	world_up();
	if (!nr_known)
		start();
	for (steps = 0; in.left && steps < MAX_STEPS; steps++)
		switch (fuzz_u8(&in) % 8) {
		case 0:
			step_frame(&in);
			break;
		case 1:
			step_receive(&in);
			break;
		default:
			step_command(&in);
		}
	world_pass(2);
	world_down();
	return 0;
}
