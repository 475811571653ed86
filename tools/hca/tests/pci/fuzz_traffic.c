// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of work requests: WQEs of all kinds on connected queue pairs with CQs, SRQs, keys for UMR
 * and keys whose pages are missing, while guest memory, translations and states change.
 */
#include <string.h>

#include "corerig.h"
#include "eq.h"
#include "fabric.h"
#include "fuzzrig.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "pci.h"
#include "qp.h"
#include "uar.h"
#include "worldrig.h"
#include "wqe.h"

#define MAX_STEPS	48
#define WQES		16		/* WQEBBs of a send queue, WQEs of a receive queue */
#define RQ_BYTES	(WQES * 64)	/* the send queue follows */

static uint16_t tail[WORLD_QPS], posted[WORLD_QPS + 1];

/* ---- send WQEs ------------------------------------------------------------------------------- */

struct wqe {
	uint8_t b[1024];
	unsigned int ds;
};

static uint32_t choose_key(struct fuzz_in *in)
{
	return world.key[fuzz_u8(in) % WORLD_KEYS];
}

static void add_data(struct wqe *w, struct fuzz_in *in)
{
	uint8_t *p = w->b + 16 * w->ds++;

	put_be32(p, fuzz_u16(in) % 9000);
	put_be32(p + 4, choose_key(in));
	put_be64(p + 8, WORLD_DATA + fuzz_u16(in));
}

static void add_inline(struct wqe *w, struct fuzz_in *in)
{
	uint8_t *p = w->b + 16 * w->ds, n = fuzz_u8(in) % 64;

	put_be32(p, n | 0x80000000u);
	w->ds += (n + 4 + 15) / 16;
}

static void add_remote(struct wqe *w, struct fuzz_in *in)
{
	uint8_t *p = w->b + 16 * w->ds++;

	put_be64(p, WORLD_DATA + fuzz_u16(in));
	put_be32(p + 8, choose_key(in));
}

static void add_address(struct wqe *w, struct fuzz_in *in)
{
	uint8_t *p = w->b + 16 * w->ds, how = fuzz_u8(in);

	put_be32(p, 0x11111111);
	put_be32(p + 8, world.qp[how % WORLD_QPS] | 0x80000000u);
	put_be16(p + 14, how & 0x80 ? 0xc001 : fabric_lid(core.hca));
	if (how & 0x40)
		put_be32(p + 28, 1u << 30);
	w->ds += 3;
}

/* The address of the target, with its access key or another one. */
static void add_target(struct wqe *w, struct fuzz_in *in)
{
	uint8_t *p = w->b + 16 * w->ds, how = fuzz_u8(in);

	put_be64(p, WORLD_DC_KEY + (how & 0x20 ? how : 0));
	put_be32(p + 8, (how & 0x10 ? world_live(OBJ_DCT, how) : world.dct) | 0x80000000u);
	put_be16(p + 14, how & 0x80 ? 0xc001 : fabric_lid(core.hca));
	w->ds += 3;
}

/* Bits of mkey_mask: length, page size, start, PD, right to invalidate, key, rights, free. */
#define UMR_MASK	(1ull << 0 | 1ull << 1 | 1ull << 6 | 1ull << 7 | 1ull << 8 | 1ull << 13 | \
			 0xfull << 17 | 1ull << 29)

static void add_umr_context(uint8_t *m, uint8_t how, unsigned int octo)
{
	IFC_SET(mkc, m, free, how & 1);
	IFC_SET(mkc, m, mkey_7_0, how & 2 ? how : WORLD_UMR);
	IFC_SET(mkc, m, log_page_size, 12);
	IFC_SET(mkc, m, pd, world.pd);
	IFC_SET(mkc, m, lr, 1);
	IFC_SET(mkc, m, lw, 1);
	IFC_SET(mkc, m, rw, how >> 2 & 1);
	IFC_SET(mkc, m, rr, how >> 3 & 1);
	IFC_SET64(mkc, m, start_addr, WORLD_DATA);
	IFC_SET64(mkc, m, len, how & 0x10 ? 8192u * octo : WORLD_DATA_LEN);
}

static void add_umr_entry(uint8_t *p, unsigned int i, bool list, uint8_t how)
{
	if (list) {
		put_be32(p, 8192);
		put_be32(p + 4, world.key[how % WORLD_KEYS]);
		put_be64(p + 8, WORLD_DATA + 8192 * i);
		return;
	}
	put_be64(p, (WORLD_DATA + 8192 * i) | MTT_ACCESS);
	put_be64(p + 8, (WORLD_DATA + 8192 * i + 4096) | (how & 1 ? 0 : MTT_ACCESS));
}

/* A UMR: control segment and mkey context, then inline entries or a pointer to a list of them. */
static void add_umr(struct wqe *w, struct fuzz_in *in, unsigned int qp)
{
	uint8_t *p = w->b + 16 * w->ds, how = fuzz_u8(in), more = fuzz_u8(in);
	unsigned int octo = more & 0x80 ? more % 40 : more % 4 * 4, i;
	unsigned int key = how & 8 ? more % WORLD_KEYS : qp == WORLD_REG ? WORLD_UMR : WORLD_WINDOW;

	put_be32(w->b + 12, world.key[key]);
	p[0] = how & 0xf0;
	put_be16(p + 4, octo);
	put_be16(p + 6, how & 0x10 ? fuzz_u8(in) % 16 * 4 : 0);
	put_be64(p + 8, fuzz_u32(in) & (how & 1 ? ~0ull : UMR_MASK));
	add_umr_context(p + 48, fuzz_u8(in), octo);
	w->ds += 3 + 4;
	for (i = 0; how & 0x80 && i < ((octo + 3) & ~3u) && w->ds < 60; i++)
		add_umr_entry(w->b + 16 * w->ds++, i, key >= WORLD_WINDOW, more);
	if (!(how & 0x80))
		add_data(w, in);
}

static void add_atomic(struct wqe *w, struct fuzz_in *in)
{
	fuzz_take(in, w->b + 16 * w->ds, 16);
	w->ds++;
}

static const uint8_t opcodes[] = {
	WQE_NOP, WQE_SEND_INVAL, WQE_RDMA_WRITE, WQE_RDMA_WRITE_IMM, WQE_SEND, WQE_SEND_IMM,
	WQE_RDMA_READ, WQE_ATOMIC_CS, WQE_ATOMIC_FA, WQE_MASKED_CS, WQE_MASKED_FA, WQE_UMR,
};

static void build(struct wqe *w, struct fuzz_in *in, unsigned int i)
{
	uint8_t op = opcodes[fuzz_u8(in) % sizeof(opcodes)], how = fuzz_u8(in), n;

	if (i == WORLD_REG)
		op = WQE_UMR;

	memset(w, 0, sizeof(*w));
	put_be32(w->b, (uint32_t)(how & 1) << 24 | op);
	w->b[11] = how & 0xef;
	put_be32(w->b + 12, choose_key(in));
	w->ds = 1;
	if (i == WORLD_UD)
		add_address(w, in);
	if (i == WORLD_DCI)
		add_target(w, in);
	if (i == WORLD_XRC) {
		put_be32(w->b + 16, world.xrc_srq);
		w->ds++;
	}
	if (op >= WQE_RDMA_WRITE && op != WQE_SEND && op != WQE_SEND_IMM && op != WQE_UMR)
		add_remote(w, in);
	if (op >= WQE_ATOMIC_CS && op != WQE_UMR)
		add_atomic(w, in);
	if (op == WQE_UMR) {
		add_umr(w, in, i);
		return;
	}
	for (n = fuzz_u8(in) % 4; n; n--)
		if (how & 0x10)
			add_inline(w, in);
		else
			add_data(w, in);
}

static uint8_t *send_ring(unsigned int i)
{
	return core.ram + world.ring[i] + (i < WORLD_SRQ ? RQ_BYTES : 0);
}

static void ring(struct fuzz_in *in, unsigned int i, const struct wqe *w)
{
	uint64_t at = world.uar * 4096ull + 0x800 + (i % 4) * 512;
	unsigned int len = fuzz_u8(in) & 1 ? 16 * w->ds : 8, k;

	put_be32(core.ram + world.record[i] + 4, tail[i]);
	for (k = 0; k < len && k < 256; k += 8)
		pci_bar_write(core.hca, 0, at + k, w->b + k, 8);
	uar_idle(core.hca);
}

static void step_send(struct fuzz_in *in)
{
	unsigned int i = fuzz_u8(in) % WORLD_QPS, k, n;
	uint8_t how = fuzz_u8(in);
	static struct wqe w;

	build(&w, in, i);
	put_be32(w.b, (get_be32(w.b) & 0xff0000ff) | (uint32_t)tail[i] << 8);
	put_be32(w.b + 4, world.qp[i] << 8 | w.ds);
	for (n = how % 4; n; n--) {	/* change bytes, as a faulty library might */
		k = fuzz_u16(in) % (16 * w.ds);
		w.b[k] = fuzz_u8(in);
	}
	for (k = 0; k < w.ds; k++)
		memcpy(send_ring(i) + (tail[i] * 64u + k * 16) % (WQES * 64), w.b + 16 * k, 16);
	tail[i] += (w.ds + 3) / 4;
	if (how & 0x80)
		ring(in, i, &w);
}

/* ---- receive WQEs ---------------------------------------------------------------------------- */

static void step_receive(struct fuzz_in *in)
{
	unsigned int i = fuzz_u8(in) % (WORLD_QPS + 1), n = fuzz_u8(in) % 8;
	bool own = i < WORLD_SRQ;
	uint64_t at = own ? world.ring[i] : world.srq_ring;

	i = own ? i : WORLD_QPS;
	while (n--) {
		uint8_t *w = core.ram + at + posted[i] % WQES * 64;

		memset(w, 0, 64);
		put_be16(w + 2, (posted[i] + 1) % WQES);
		put_be32(w + 16 * !own, fuzz_u16(in));
		put_be32(w + 16 * !own + 4, choose_key(in));
		put_be64(w + 16 * !own + 8, WORLD_DATA + fuzz_u16(in));
		put_be32(w + 16 * !own + 20, LKEY_TERMINATE);
		posted[i]++;
	}
	put_be32(core.ram + (own ? world.record[i] : world.srq_record), posted[i]);
}

/* ---- what changes meanwhile ------------------------------------------------------------------ */

static void step_memory(struct fuzz_in *in)
{
	uint8_t where = fuzz_u8(in), n = fuzz_u8(in) % 32;
	uint64_t at = where & 0x80 ? WORLD_DATA : where & 0x40 ? world.record[0] & ~4095ull :
		      world.ring[where % WORLD_QPS];

	fuzz_take(in, core.ram + at + fuzz_u16(in) % 4064, n);
}

static void step_pages(struct fuzz_in *in)
{
	struct mkey *mk = mkey_find(core.hca, world.key[fuzz_u8(in) % WORLD_KEYS]);
	uint8_t i = fuzz_u8(in), access = fuzz_u8(in) % 4;

	if (mk && mk->mtt && i < mk->nent)
		mk->mtt[i] = (WORLD_DATA + i * 4096ull) | access;
}

/* Answer the page faults that the event queue tells of, by the fields of the event. */
static void step_resume(struct fuzz_in *in)
{
	struct eq *eq = eq_find(core.hca, world.async);
	uint8_t how = fuzz_u8(in), out[16];
	static struct world_cmd c;

	while (eq && eq->ci != eq->pi) {
		const uint8_t *e = core.ram + eq->mem.pas[0] + (eq->ci % 64) * 64;
		uint8_t *info;

		eq->ci = (eq->ci + 1) & 0xffffff;
		if (e[1] != EV_PAGE_FAULT)
			continue;
		must(world_build(&c, MLX5_CMD_OP_PAGE_FAULT_RESUME, 0));
		info = IFC_ADDR(page_fault_resume_in, c.in, page_fault_info);
		IFC_SET(trans_page_fault_info, info, error, how & 1);
		IFC_SET(trans_page_fault_info, info, page_fault_type, e[32 + 24]);
		IFC_SET(trans_page_fault_info, info, wq_number, get_be32(e + 32 + 24) & 0xffffff);
		IFC_SET(trans_page_fault_info, info, fault_token,
			e[3] ? get_be32(e + 32 + 24) & 0xffffff : get_be32(e + 32 + 12));
		world_run(&c, out);
	}
}

static void step_state(struct fuzz_in *in)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_2ERR_QP, MLX5_CMD_OP_2RST_QP, MLX5_CMD_OP_RTS2RTS_QP, 0x508,
		MLX5_CMD_OP_SQD_RTS_QP, MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_DESTROY_MKEY,
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
		MLX5_CMD_OP_DESTROY_RMP, MLX5_CMD_OP_SQERR2RTS_QP, MLX5_CMD_OP_DRAIN_DCT,
		MLX5_CMD_OP_DESTROY_DCT, MLX5_CMD_OP_CREATE_DCT,
	};
	static struct world_cmd c;
	static uint8_t out[4096];
	uint16_t op = ops[fuzz_u8(in) % (sizeof(ops) / sizeof(*ops))];

	if (world_build(&c, op, fuzz_u8(in)))
		world_run(&c, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const steps[])(struct fuzz_in *in) = {
		step_send, step_send, step_send, step_send, step_receive, step_receive, step_memory,
		step_pages, step_resume, step_state,
	};
	static uint8_t buf[2048];
	struct fuzz_in in = fuzz_extend(data, size, buf, sizeof(buf));
	unsigned int n;

	memset(tail, 0, sizeof(tail));
	memset(posted, 0, sizeof(posted));
	world_up();
	for (n = 0; in.left && n < MAX_STEPS; n++) {
		uint8_t what = fuzz_u8(&in);

		steps[what % 10](&in);
		world_pass(what >> 6);
	}
	world_pass(8);
	world_down();
	return 0;
}
