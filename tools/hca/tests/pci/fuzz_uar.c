// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of stores into BAR0: doorbells of all kinds and BlueFlame writes, at any offset and of any
 * size, to UARs that are allocated and freed meanwhile. The size of a page follows from the length
 * of the input: most inputs have pages of 4 KiB.
 */
#include <string.h>

#include "corerig.h"
#include "fuzzrig.h"
#include "ifc.h"
#include "pci.h"
#include "uar.h"
#include "uar_page.h"
#include "worldrig.h"

#define MAX_STEPS	64

static const uint16_t regs[] = { 0x20, 0x24, 0x40, 0x48, 0x800, 0xa00, 0x900, 0xb00 };

static uint32_t choose_uar(uint8_t how)
{
	return how & 0x80 ? how % 16 : world_live_uar(how);
}

static uint64_t uar_at(uint32_t uar)
{
	return (uint64_t)uar << uar_shift(core.hca);
}

/* Write the first bytes of a WQE of one of the queue pairs, by stores of 8 or 4 bytes. */
static void step_blueflame(struct fuzz_in *in)
{
	uint64_t at = uar_at(choose_uar(fuzz_u8(in))) + 0x800 + fuzz_u8(in) % 8 * 256;
	uint8_t wqe[256], how = fuzz_u8(in), ds = fuzz_u8(in) % 20;
	unsigned int size = how & 1 ? 4 : 8, n = fuzz_u8(in), i;

	fuzz_take(in, wqe, sizeof(wqe));
	put_be32(wqe + 4, world.qp[how / 2 % WORLD_QPS] << 8 | ds);
	for (i = 0; i * size < n && i * size < sizeof(wqe); i++)
		pci_bar_write(core.hca, 0, at + i * size, wqe + i * size, size);
}

static void step_store(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in), data[32], len = fuzz_u8(in);
	uint32_t uar = choose_uar(fuzz_u8(in));
	uint64_t off = uar_at(uar) + (how & 8 ? fuzz_u16(in) % uar_at(1) : regs[how % 8]);

	fuzz_take(in, data, sizeof(data));
	/* Let the store name a CQ that exists in its second word, and an EQ in its top byte. */
	if (how & 16)
		put_be32(data + 4, world_live(OBJ_CQ, data[4]));
	if (how & 32)
		data[0] = world_live(OBJ_EQ, data[0]);
	pci_bar_write(core.hca, 0, off, data, how & 64 ? 8 : len % sizeof(data));
}

static void step_read(struct fuzz_in *in)
{
	uint8_t data[16];

	pci_bar_read(core.hca, 0, fuzz_u32(in), data, fuzz_u8(in) % sizeof(data));
}

static void step_command(struct fuzz_in *in)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_DEALLOC_UAR, MLX5_CMD_OP_2ERR_QP,
		MLX5_CMD_OP_DESTROY_QP,
	};
	static struct world_cmd c;
	static uint8_t out[8192];

	if (world_build(&c, ops[fuzz_u8(in) % 4], fuzz_u8(in)))
		world_run(&c, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const steps[])(struct fuzz_in *in) = {
		step_store, step_store, step_blueflame, step_blueflame, step_command, step_read,
	};
	static uint8_t buf[2048];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	unsigned int n;

	switch (size % 8) {
	case 0:
		world_up_pages(4, true);
		break;
	case 1:
		world_up_pages(2, true);
		break;
	case 7:
		world_up_pages(4, false);
		break;
	default:
		world_up();
	}
	for (n = 0; in.left && n < MAX_STEPS; n++) {
		uint8_t what = fuzz_u8(&in);

		steps[what % 6](&in);
		if (what & 0x40)
			uar_idle(core.hca);
		if (what & 0x80)
			world_pass(1);
	}
	uar_idle(core.hca);
	world_pass(4);
	world_down();
	return 0;
}
