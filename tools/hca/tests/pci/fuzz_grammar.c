// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of commands that get past the first checks. Each command is valid for the objects that
 * exist, until the fuzzer changes up to three fields, which it finds in mlx5_ifc.h's structures.
 *
 * With FUZZ_COUNT set in the environment it prints at the end how many commands of each opcode
 * were run, and how many succeeded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "fields.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "worldrig.h"

#define MAX_STEPS	48

static struct {
	unsigned long run, ok;
} count[CMD_OPCODES];

static uint16_t known[CMD_OPCODES];
static unsigned int nr_known;

static void print_counts(void)
{
	unsigned int i;

	for (i = 0; i < nr_known; i++)
		fprintf(stderr, "COUNT %-26s %9lu run %9lu ok\n",
			cmd_desc_find(core.hca, known[i])->name, count[known[i]].run,
			count[known[i]].ok);
}

/* ---- fields ---------------------------------------------------------------------------------- */

struct bits {
	uint64_t off;
	uint32_t width;
};

/* Let the input choose a field of @s, or of a structure inside @s. */
static struct bits choose_field(const struct ifc_struct *s, struct fuzz_in *in)
{
	struct bits b = { 0, 0 };

	while (s) {
		const struct ifc_member *m;
		unsigned int n = 0, k;

		while (s->field[n].name)
			n++;
		if (!n)
			break;
		m = &s->field[fuzz_u8(in) % n];
		k = m->count > 1 ? fuzz_u8(in) % m->count : 0;
		b.off += m->off + (uint64_t)k * m->width;
		b.width = m->width;
		s = m->sub;
	}
	return b;
}

static uint32_t choose_value(struct fuzz_in *in, uint32_t old)
{
	uint8_t how = fuzz_u8(in);

	switch (how % 8) {
	case 0:
		return 0;
	case 1:
		return ~0u;
	case 2:
		return old + 1;
	case 3:
		return old - 1;
	case 4:
		return old ^ 1u << how / 8;
	case 5:
		return world_live(how / 8 % OBJ_KINDS, fuzz_u8(in));
	case 6:
		return fuzz_u8(in);
	default:
		return fuzz_u32(in);
	}
}

static void mutate(struct world_cmd *c, struct fuzz_in *in)
{
	const struct cmd_desc *d = cmd_desc_find(core.hca, c->op);
	struct bits b = choose_field(d->in ? ifc_struct_find(d->in) : NULL, in);
	unsigned int width = b.width > 32 ? 32 : b.width;

	/* The opcode stays. Of a wide field the low bits change. */
	b.off += b.width - width;
	if (!width || b.off < 16 || (b.off + width + 7) / 8 > c->in_len)
		return;
	ifc_set_bits(c->in, b.off, width,
		     choose_value(in, ifc_get_bits(c->in, b.off, width)) &
		     (width == 32 ? ~0u : (1u << width) - 1));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Choose a length: a little less than @len, or any. */
static size_t choose_len(struct fuzz_in *in, size_t len, size_t least)
{
	uint8_t how = fuzz_u8(in);

	if (how & 0x80)
		len = fuzz_u16(in) % WORLD_CMD_MAX;
	else
		len -= how % 32 * 8 < len ? how % 32 * 8 : len;
	return len < least ? least : len;
}

static void step_command(struct fuzz_in *in)
{
	static uint8_t out[8192];
	static struct world_cmd c;
	uint8_t how = fuzz_u8(in), pick = fuzz_u8(in), st;
	unsigned int n = how % 4;

	if (!world_build(&c, known[fuzz_u8(in) % nr_known], pick))
		return;
	while (n--)
		mutate(&c, in);
	if ((how & 0x30) == 0x30)
		c.in_len = choose_len(in, c.in_len, 16);
	if ((how & 0xc0) == 0xc0)
		c.out_len = choose_len(in, c.out_len, 8);
	st = world_run(&c, out);
	count[c.op].run++;
	count[c.op].ok += !st;
}

static void start(void)
{
	unsigned int i;

	for (i = 0; i < CMD_OPCODES; i++)
		/* After these two commands the HCA would refuse most of the input. */
		if (cmd_desc_find(core.hca, i) && i != MLX5_CMD_OP_TEARDOWN_HCA &&
		    i != MLX5_CMD_OP_DISABLE_HCA)
			known[nr_known++] = i;
	if (getenv("FUZZ_COUNT"))
		atexit(print_counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t buf[2048];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	unsigned int steps;

	world_up();
	if (!nr_known)
		start();
	for (steps = 0; in.left && steps < MAX_STEPS; steps++)
		step_command(&in);
	world_pass(2);
	world_down();
	return 0;
}
