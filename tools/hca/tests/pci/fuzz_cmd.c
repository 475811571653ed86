// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of what a guest can do to the HCA through BAR0: commands with any contents, raw queue
 * entries, stores, and changes to guest memory in between.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "pci.h"
#include "uar.h"
#include "worldrig.h"

#define MAX_STEPS 64

static uint16_t known[CMD_OPCODES];
static unsigned int nr_known;

static void step_command(struct fuzz_in *in)
{
	struct { uint8_t op; uint8_t mod; uint16_t in_len; uint16_t out_len; } h;
	static uint8_t buf[4096 + 16], out[4096 + 16];
	uint16_t op;

	fuzz_take(in, &h, sizeof(h));
	h.in_len = 16 + h.in_len % 4096;
	h.out_len = 8 + h.out_len % 4096;
	fuzz_take(in, buf, h.in_len);
	op = known[h.op % nr_known];
	/* After TEARDOWN_HCA the rest of the input would be refused. */
	if (op == MLX5_CMD_OP_TEARDOWN_HCA)
		return;
	put_be16(buf, op);
	buf[6] = 0;
	buf[7] = h.mod % 8;
	core_put(0, buf, h.in_len, h.out_len);
	core_ring(1);
	core_take(0, out, h.out_len);
}

static void step_raw_entry(struct fuzz_in *in)
{
	uint8_t sig = 0xff;
	unsigned int i;
	uint8_t *lay = core.ram + CORE_QUEUE;

	fuzz_take(in, lay, 64);
	lay[61] = 0;
	for (i = 0; i < 64; i++)
		sig ^= lay[i];
	lay[61] = sig;
	core_ring(1);
}

static void step_store(struct fuzz_in *in)
{
	struct { uint8_t uar; uint8_t len; uint16_t reg; uint8_t data[16]; } s;
	static const uint16_t regs[] = { 0x20, 0x24, 0x40, 0x48, 0x800, 0x808, 0x810, 0xa00 };

	fuzz_take(in, &s, sizeof(s));
	s.reg = s.len & 0x80 ? s.reg % 4096 : regs[s.reg % 8];
	pci_bar_write(core.hca, 0, s.uar % 8 * 4096ull + s.reg, s.data, s.len % 17);
	uar_idle(core.hca);
}

static void step_poke(struct fuzz_in *in)
{
	struct { uint8_t page; uint8_t len; uint16_t off; uint8_t data[64]; } s;

	fuzz_take(in, &s, 4);
	fuzz_take(in, s.data, s.len % 64);
	memcpy(core.ram + s.page * 4096ull + s.off % 4032, s.data, s.len % 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned int steps, count = 0, i;

	world_up();
	for (i = 0; !nr_known && i < CMD_OPCODES; i++)
		if (cmd_desc_find(core.hca, i))
			known[count++] = i;
	nr_known = nr_known ? nr_known : count;
	for (steps = 0; in.left && steps < MAX_STEPS; steps++) {
		uint8_t what;

		fuzz_take(&in, &what, 1);
		switch (what % 8) {
		case 0:
			step_raw_entry(&in);
			break;
		case 1:
		case 2:
			step_store(&in);
			break;
		case 3:
			step_poke(&in);
			break;
		default:
			step_command(&in);
			break;
		}
	}
	world_pass(2);
	world_down();
	return 0;
}
