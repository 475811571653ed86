// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the work queues of kernel consumers: their sizes, every send request
 * against golden bytes, and every completion.
 */

#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_cqe.h"
#include "layout/layout_path.h"
#include "layout/layout_umr.h"
#include "layout/layout_wq.h"
#include "layout/layout_wqe.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define QPN	0x123456
#define INDEX	0xfff7

/* ---- sizes ------------------------------------------------------------------------------ */

static const struct size_case {
	const char *name;
	enum ib_qp_type type;
	struct ib_qp_cap asked;
	bool srq;
	int err;
	struct mlx5_ib_wq_layout want;
	struct ib_qp_cap got;
} size_cases[] = {
	{ "RC, small: a request may register memory", IB_QPT_RC,
	  { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	  false, 0,
	  { 4, 4, 4, 12, 124, 64 + 256 }, { 1, 4, 8, 1, 124 } },
	{ "UC", IB_QPT_UC,
	  { .max_send_wr = 10, .max_send_sge = 2, .max_recv_wr = 10, .max_recv_sge = 3 },
	  false, 0, { 16, 6, 16, 4, 28, 1024 + 1024 }, { 16, 16, 2, 4, 28 } },
	{ "UD", IB_QPT_UD,
	  { .max_send_wr = 128, .max_send_sge = 2, .max_recv_wr = 500, .max_recv_sge = 2 },
	  false, 0,
	  { 512, 5, 256, 8, 60, 16384 + 16384 }, { 128, 512, 4, 2, 60 } },
	{ "inline data decides", IB_QPT_UC, { .max_send_wr = 4, .max_inline_data = 93 }, false, 0,
	  { 0, 0, 16, 12, 156, 1024 }, { 5, 0, 10, 0, 156 } },
	{ "no send queue", IB_QPT_RC, { .max_recv_wr = 4, .max_recv_sge = 1, .max_inline_data = 9 },
	  false, 0, { 4, 4, 0, 0, 0, 64 }, { 0, 4, 0, 1, 0 } },
	{ "no receive queue with an SRQ", IB_QPT_UC,
	  { .max_send_wr = 1, .max_recv_wr = 9, .max_recv_sge = 9 }, true, 0,
	  { 0, 0, 1, 4, 28, 64 }, { 1, 0, 2, 0, 28 } },
	{ "a WQE too long", IB_QPT_RC, { .max_send_wr = 1, .max_send_sge = 61 }, false, -EINVAL },
	{ "the longest WQE", IB_QPT_UC, { .max_send_wr = 1, .max_send_sge = 61 }, false, 0,
	  { 0, 0, 16, 63, 972, 1024 }, { 1, 0, 61, 0, 972 } },
	{ "as many send requests as the device has", IB_QPT_UC, { .max_send_wr = 32768 }, false, 0,
	  { 0, 0, 32768, 4, 28, 32768 * 64 }, { 32768, 0, 2, 0, 28 } },
	{ "too many send requests", IB_QPT_UC, { .max_send_wr = 32769 }, false, -EINVAL },
	{ "as many receive requests as the device has", IB_QPT_UC,
	  { .max_recv_wr = 32768, .max_recv_sge = 1 }, false, 0,
	  { 32768, 4, 0, 0, 0, 32768 * 16 }, { 0, 32768, 0, 1, 0 } },
	{ "too many receive requests", IB_QPT_UC, { .max_recv_wr = 32769 }, false, -EINVAL },
	{ "the longest receive WQE", IB_QPT_UC, { .max_recv_wr = 1, .max_recv_sge = 32 }, false, 0,
	  { 1, 9, 0, 0, 0, 512 }, { 0, 1, 0, 32, 0 } },
	{ "a receive WQE too long", IB_QPT_UC, { .max_recv_wr = 1, .max_recv_sge = 33 }, false,
	  -EINVAL },
	{ "counts that would overflow", IB_QPT_UC,
	  { .max_send_wr = U32_MAX, .max_send_sge = U32_MAX }, false, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(size, size_cases, name);

static void queue_sizes_fit_request_and_device(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct ib_qp_init_attr init = { .qp_type = c->type, .cap = c->asked };
	struct mlx5_ib_caps *caps = mock_caps(test);
	struct mlx5_ib_wq_layout wq;

	MOCK_SET_CAP(caps, log_max_qp_sz, 15);
	MOCK_SET_CAP(caps, max_wqe_sz_sq, 1024);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, 512);
	if (c->srq)
		init.srq = (void *)1;
	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_kernel_wq(&init, caps, &wq), c->err);
	if (c->err)
		return;
	KUNIT_EXPECT_EQ(test, wq.rq_count, c->want.rq_count);
	KUNIT_EXPECT_EQ(test, wq.rq_shift, c->want.rq_shift);
	KUNIT_EXPECT_EQ(test, wq.sq_count, c->want.sq_count);
	KUNIT_EXPECT_EQ(test, wq.max_ds, c->want.max_ds);
	KUNIT_EXPECT_EQ(test, wq.max_inline, c->want.max_inline);
	KUNIT_EXPECT_EQ(test, wq.bytes, c->want.bytes);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_wr, c->got.max_send_wr);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, c->got.max_recv_wr);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_sge, c->got.max_send_sge);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_sge, c->got.max_recv_sge);
	KUNIT_EXPECT_EQ(test, init.cap.max_inline_data, c->got.max_inline_data);
}

/* qpc.log_rq_stride expresses 2048 bytes at most, whatever the device offers. */
static void longest_receive_wqe_fits_its_field(struct kunit *test)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UC, .cap = { .max_recv_wr = 1, .max_recv_sge = 128 },
	};
	struct mlx5_ib_caps *caps = mock_caps(test);
	struct mlx5_ib_wq_layout wq;

	MOCK_SET_CAP(caps, log_max_qp_sz, 15);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, 4096);
	KUNIT_ASSERT_EQ(test, mlx5_ib_calc_kernel_wq(&init, caps, &wq), 0);
	KUNIT_EXPECT_EQ(test, wq.rq_shift, 11);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_sge, 128);
	init.cap.max_recv_sge = 129;
	KUNIT_EXPECT_EQ(test, mlx5_ib_calc_kernel_wq(&init, caps, &wq), -EINVAL);
}

/* ---- send requests ---------------------------------------------------------------------- */

static struct mlx5_ib_ah some_ah = {
	.av = {
		.stat_rate_sl = 0x23,
		.fl_mlid = 4,
		.rlid = cpu_to_be16(0x5678),
	},
};

static const struct wqe_case {
	const char *name;
	enum ib_qp_type type;
	enum ib_wr_opcode opcode;
	int flags;
	unsigned int num_sge;
	bool after_umr;
	struct golden want[GOLDEN_MAX];
} wqe_cases[] = {
	{ "SEND", IB_QPT_RC, IB_WR_SEND, 0, 2, false,
	  { { 0x00, 0x00fff70a }, { 0x04, 0x12345603 },
	    { 0x10, 0x40 }, { 0x14, 0x700 }, { 0x18, 0x11 }, { 0x1c, 0x22000000 },
	    { 0x20, 0x41 }, { 0x24, 0x701 }, { 0x28, 0x11 }, { 0x2c, 0x22001000 } } },
	{ "SEND, signaled, solicited, fenced", IB_QPT_UC, IB_WR_SEND,
	  IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_FENCE, 0, false,
	  { { 0x00, 0x00fff70a }, { 0x04, 0x12345601 }, { 0x08, 0x4a } } },
	{ "SEND_WITH_IMM", IB_QPT_RC, IB_WR_SEND_WITH_IMM, 0, 0, false,
	  { { 0x00, 0x00fff70b }, { 0x04, 0x12345601 }, { 0x0c, 0xaabbccdd } } },
	{ "SEND_WITH_INV", IB_QPT_RC, IB_WR_SEND_WITH_INV, 0, 0, false,
	  { { 0x00, 0x00fff701 }, { 0x04, 0x12345601 }, { 0x0c, 0xaabbccdd } } },
	{ "RDMA_WRITE behind a UMR", IB_QPT_RC, IB_WR_RDMA_WRITE, 0, 1, true,
	  { { 0x00, 0x00fff708 }, { 0x04, 0x12345603 }, { 0x08, 0x20 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x40 }, { 0x24, 0x700 }, { 0x28, 0x11 }, { 0x2c, 0x22000000 } } },
	{ "RDMA_WRITE_WITH_IMM behind a UMR, fenced", IB_QPT_UC, IB_WR_RDMA_WRITE_WITH_IMM,
	  IB_SEND_FENCE, 0, true,
	  { { 0x00, 0x00fff709 }, { 0x04, 0x12345602 }, { 0x08, 0x80 }, { 0x0c, 0xaabbccdd },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 } } },
	{ "RDMA_READ", IB_QPT_RC, IB_WR_RDMA_READ, IB_SEND_SIGNALED, 1, false,
	  { { 0x00, 0x00fff710 }, { 0x04, 0x12345603 }, { 0x08, 0x08 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x40 }, { 0x24, 0x700 }, { 0x28, 0x11 }, { 0x2c, 0x22000000 } } },
	{ "ATOMIC_CMP_AND_SWP", IB_QPT_RC, IB_WR_ATOMIC_CMP_AND_SWP, 0, 1, false,
	  { { 0x00, 0x00fff711 }, { 0x04, 0x12345604 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x1 }, { 0x24, 0x2 }, { 0x28, 0x3 }, { 0x2c, 0x4 },
	    { 0x30, 0x40 }, { 0x34, 0x700 }, { 0x38, 0x11 }, { 0x3c, 0x22000000 } } },
	{ "ATOMIC_FETCH_AND_ADD", IB_QPT_RC, IB_WR_ATOMIC_FETCH_AND_ADD, 0, 1, false,
	  { { 0x00, 0x00fff712 }, { 0x04, 0x12345604 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x3 }, { 0x24, 0x4 },
	    { 0x30, 0x40 }, { 0x34, 0x700 }, { 0x38, 0x11 }, { 0x3c, 0x22000000 } } },
	{ "MASKED_ATOMIC_CMP_AND_SWP", IB_QPT_RC, IB_WR_MASKED_ATOMIC_CMP_AND_SWP, 0, 0, false,
	  { { 0x00, 0x00fff714 }, { 0x04, 0x12345604 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x1 }, { 0x24, 0x2 }, { 0x28, 0x3 }, { 0x2c, 0x4 },
	    { 0x30, 0x5 }, { 0x34, 0x6 }, { 0x38, 0x7 }, { 0x3c, 0x8 } } },
	{ "MASKED_ATOMIC_FETCH_AND_ADD", IB_QPT_RC, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, 0, 0, false,
	  { { 0x00, 0x00fff715 }, { 0x04, 0x12345603 },
	    { 0x10, 0x99 }, { 0x14, 0x88776655 }, { 0x18, 0x4321 },
	    { 0x20, 0x3 }, { 0x24, 0x4 }, { 0x28, 0x7 }, { 0x2c, 0x8 } } },
	{ "datagram", IB_QPT_UD, IB_WR_SEND_WITH_IMM, IB_SEND_SIGNALED, 1, false,
	  { { 0x00, 0x00fff70b }, { 0x04, 0x12345605 }, { 0x08, 0x08 }, { 0x0c, 0xaabbccdd },
	    { 0x10, 0x01020304 }, { 0x18, 0x80abcdef }, { 0x1c, 0x23045678 },
	    { 0x40, 0x40 }, { 0x44, 0x700 }, { 0x48, 0x11 }, { 0x4c, 0x22000000 } } },
};

KUNIT_ARRAY_PARAM_DESC(wqe, wqe_cases, name);

/* A request of any kind: each kind extends struct ib_send_wr. */
union any_wr {
	struct ib_send_wr send;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ib_ud_wr ud;
};

static void make_wr(const struct wqe_case *c, union any_wr *wr, struct ib_sge *sge)
{
	unsigned int i;

	for (i = 0; i < c->num_sge; i++)
		sge[i] = (struct ib_sge){
			.addr = 0x1122000000 + i * 0x1000, .length = 0x40 + i, .lkey = 0x700 + i,
		};
	switch (c->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wr->rdma.remote_addr = 0x9988776655;
		wr->rdma.rkey = 0x4321;
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		wr->ud.ah = &some_ah.ibah;
		wr->ud.remote_qpn = 0xabcdef;
		wr->ud.remote_qkey = 0x01020304;
		break;
	default:
		wr->atomic.remote_addr = 0x9988776655;
		wr->atomic.rkey = 0x4321;
		wr->atomic.swap = 0x100000002;
		wr->atomic.compare_add = 0x300000004;
		wr->atomic.swap_mask = 0x500000006;
		wr->atomic.compare_add_mask = 0x700000008;
		break;
	}
	wr->send.opcode = c->opcode;
	wr->send.send_flags = c->flags;
	wr->send.sg_list = sge;
	wr->send.num_sge = c->num_sge;
	if (c->opcode == IB_WR_SEND_WITH_INV)
		wr->send.ex.invalidate_rkey = 0xaabbccdd;
	else
		wr->send.ex.imm_data = cpu_to_be32(0xaabbccdd);
}

static struct mlx5_ib_wqe_target target(enum ib_qp_type type)
{
	return (struct mlx5_ib_wqe_target){
		.type = type,
		.qpn = QPN,
		.max_ds = 16,
		.max_inline = 60,
		.atomic_ops = 0xf,
		.umr_fence = MLX5_FENCE_MODE_INITIATOR_SMALL,
	};
}

static void request_is_exact_to_the_bit(struct kunit *test)
{
	const struct wqe_case *c = test->param_value;
	struct mlx5_ib_wqe_target to = target(c->type);
	u8 *wqe = kunit_kmalloc(test, MLX5_IB_MAX_WQE_BYTES, GFP_KERNEL);
	const struct mlx5_ib_wr_op *op;
	struct ib_sge sge[4];
	union any_wr wr = {};
	int ds;

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	/* Nothing of what was in the WQE before must be left. */
	memset(wqe, 0xee, MLX5_IB_MAX_WQE_BYTES);
	make_wr(c, &wr, sge);
	op = mlx5_ib_wr_op(&to, &wr.send);
	KUNIT_ASSERT_NOT_NULL(test, op);
	ds = mlx5_ib_fill_send_wqe(wqe, &to, op, &wr.send);
	KUNIT_ASSERT_GT(test, ds, 0);
	mlx5_ib_finish_send_wqe(wqe, &to, op, &wr.send, ds, INDEX, c->after_umr);
	KUNIT_EXPECT_EQ(test, ds, c->want[1].value & 0x3f);
	expect_golden(test, wqe, ds * MLX5_SEND_WQE_DS, c->want);
}

/* The opcodes that queue pairs of each type accept. */
static void type_of_the_queue_pair_decides_which_requests_exist(struct kunit *test)
{
	static const enum ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };
	static const u32 opcodes[] = {
		[0] = BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_WRITE_WITH_IMM) | BIT(IB_WR_SEND) |
		      BIT(IB_WR_SEND_WITH_IMM) | BIT(IB_WR_SEND_WITH_INV) | BIT(IB_WR_RDMA_READ) |
		      BIT(IB_WR_ATOMIC_CMP_AND_SWP) | BIT(IB_WR_ATOMIC_FETCH_AND_ADD) |
		      BIT(IB_WR_MASKED_ATOMIC_CMP_AND_SWP) |
		      BIT(IB_WR_MASKED_ATOMIC_FETCH_AND_ADD) | BIT(IB_WR_LOCAL_INV),
		[1] = BIT(IB_WR_RDMA_WRITE) | BIT(IB_WR_RDMA_WRITE_WITH_IMM) | BIT(IB_WR_SEND) |
		      BIT(IB_WR_SEND_WITH_IMM),
		[2] = BIT(IB_WR_SEND) | BIT(IB_WR_SEND_WITH_IMM),
	};
	unsigned int i, opcode;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct mlx5_ib_wqe_target to = target(types[i]);
		struct ib_send_wr wr = {};

		for (opcode = 0; opcode < 32; opcode++) {
			wr.opcode = opcode;
			KUNIT_EXPECT_EQ_MSG(test, !!mlx5_ib_wr_op(&to, &wr),
					    !!(opcodes[i] & BIT(opcode)), "type %u, opcode %u",
					    types[i], opcode);
		}
		wr.opcode = IB_WR_REG_MR;
		KUNIT_EXPECT_EQ(test, !!mlx5_ib_wr_op(&to, &wr), types[i] == IB_QPT_RC);
		wr.opcode = -1;
		KUNIT_EXPECT_NULL(test, mlx5_ib_wr_op(&to, &wr));
		wr.opcode = IB_WR_REG_MR_INTEGRITY;
		KUNIT_EXPECT_NULL(test, mlx5_ib_wr_op(&to, &wr));
	}
}

static void only_atomic_operations_of_the_device_exist(struct kunit *test)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD,
		IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	};
	struct mlx5_ib_wqe_target to = target(IB_QPT_RC);
	struct ib_send_wr wr = {};
	unsigned int bit, i;

	for (bit = 0; bit <= ARRAY_SIZE(opcodes); bit++) {
		to.atomic_ops = BIT(bit);
		for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
			wr.opcode = opcodes[i];
			KUNIT_EXPECT_EQ(test, !!mlx5_ib_wr_op(&to, &wr), bit == i);
		}
		wr.opcode = IB_WR_RDMA_READ;
		KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_wr_op(&to, &wr));
	}
}

static void responder_has_the_atomic_mode_of_the_device(struct kunit *test)
{
	static const struct {
		u8 atomic, ops;
		u16 sizes;
		u8 want_ops, want_mode;
	} t[] = {
		{ 1, 0x3, 0x8, 0x3, MLX5_QPC_ATOMIC_MODE_IB_SPEC },
		{ 1, 0xf, 0x8, 0xf, MLX5_QPC_ATOMIC_MODE_UP_TO_8B },
		{ 1, 0xf, 0x1fc, 0xf, MLX5_QPC_ATOMIC_MODE_UP_TO_8B },
		{ 1, 0x7, 0x8, 0x7, MLX5_QPC_ATOMIC_MODE_UP_TO_8B },
		{ 1, 0x1, 0x8, 0x1, 0 },
		{ 1, 0xf, 0x10, 0, 0 },	/* on 16 bytes alone */
		{ 0, 0xf, 0x8, 0, 0 },
	};
	struct mlx5_ib_caps *caps = mock_caps(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		MOCK_SET_CAP(caps, atomic, t[i].atomic);
		MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_operations, t[i].ops);
		MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_size_qp, t[i].sizes);
		KUNIT_EXPECT_EQ(test, caps->atomic_ops, t[i].want_ops);
		KUNIT_EXPECT_EQ(test, caps->atomic_mode, t[i].want_mode);
	}
}

static int fill_send_wqe(void *wqe, const struct mlx5_ib_wqe_target *to,
			 const struct ib_send_wr *wr)
{
	return mlx5_ib_fill_send_wqe(wqe, to, mlx5_ib_wr_op(to, wr), wr);
}

static void inline_data_is_copied_whole_and_padded(struct kunit *test)
{
	struct mlx5_ib_wqe_target to = target(IB_QPT_UC);
	u8 *wqe = kunit_kmalloc(test, MLX5_IB_MAX_WQE_BYTES, GFP_KERNEL);
	static u8 data[64];
	struct ib_sge sge[2] = { { .addr = (uintptr_t)data }, { .addr = (uintptr_t)data } };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_INLINE,
				 .sg_list = sge, .num_sge = 2 };
	unsigned int len, i;

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (len = 0; len <= 60; len++) {
		unsigned int ds = len ? 1 + DIV_ROUND_UP(len + 4, 16) : 1;

		memset(wqe, 0xee, MLX5_IB_MAX_WQE_BYTES);
		sge[0].length = len / 3;
		sge[1].length = len - len / 3;
		sge[1].addr = (uintptr_t)data + len / 3;
		KUNIT_ASSERT_EQ(test, fill_send_wqe(wqe, &to, &wr), ds);
		if (!len)
			continue;
		KUNIT_EXPECT_EQ(test, be32_to_cpu(*(__be32 *)(wqe + 16)), len | 0x80000000);
		KUNIT_EXPECT_MEMEQ(test, wqe + 20, data, len);
		for (i = 20 + len; i < ds * 16; i++)
			KUNIT_EXPECT_EQ_MSG(test, wqe[i], 0, "length %u, byte %u", len, i);
	}
	sge[0].length = 1;
	sge[1].length = 60;
	KUNIT_EXPECT_EQ(test, fill_send_wqe(wqe, &to, &wr), -ENOMEM);
	sge[1].length = U32_MAX;
	KUNIT_EXPECT_EQ(test, fill_send_wqe(wqe, &to, &wr), -ENOMEM);
}

/* To the device, a segment of length 0 would be one of 2 GiB. */
static void empty_segments_are_left_out(struct kunit *test)
{
	struct mlx5_ib_wqe_target to = target(IB_QPT_RC);
	u8 *wqe = kunit_kzalloc(test, MLX5_IB_MAX_WQE_BYTES, GFP_KERNEL);
	struct ib_sge sge[17] = { [3] = { .addr = 0x5000, .length = 6, .lkey = 7 } };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 17 };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	KUNIT_EXPECT_EQ(test, fill_send_wqe(wqe, &to, &wr), 2);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(*(__be32 *)(wqe + 16)), 6);
	for (i = 0; i < 15; i++)
		sge[i].length = 1;
	KUNIT_EXPECT_EQ(test, fill_send_wqe(wqe, &to, &wr), 16);
	sge[15].length = 1;
	KUNIT_EXPECT_EQ(test, fill_send_wqe(wqe, &to, &wr), -ENOMEM);
}

static void request_is_ordered_behind_a_change_of_a_key(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode opcode;
		u8 umr_fence;
		bool after_umr, fence;
		u8 want;
	} t[] = {
		{ IB_WR_SEND, MLX5_FENCE_MODE_INITIATOR_SMALL, false, false,
		  MLX5_FENCE_MODE_NONE },
		{ IB_WR_SEND, MLX5_FENCE_MODE_INITIATOR_SMALL, false, true,
		  MLX5_FENCE_MODE_FENCE },
		{ IB_WR_SEND, MLX5_FENCE_MODE_STRONG_ORDERING, true, false,
		  MLX5_FENCE_MODE_INITIATOR_SMALL },
		{ IB_WR_SEND, MLX5_FENCE_MODE_INITIATOR_SMALL, true, true,
		  MLX5_FENCE_MODE_SMALL_AND_FENCE },
		{ IB_WR_LOCAL_INV, MLX5_FENCE_MODE_INITIATOR_SMALL, false, false,
		  MLX5_FENCE_MODE_INITIATOR_SMALL },
		{ IB_WR_LOCAL_INV, MLX5_FENCE_MODE_INITIATOR_SMALL, true, true,
		  MLX5_FENCE_MODE_SMALL_AND_FENCE },
		{ IB_WR_REG_MR, MLX5_FENCE_MODE_STRONG_ORDERING, true, false,
		  MLX5_FENCE_MODE_STRONG_ORDERING },
		{ IB_WR_REG_MR, MLX5_FENCE_MODE_STRONG_ORDERING, false, true,
		  MLX5_FENCE_MODE_STRONG_ORDERING },
		{ IB_WR_REG_MR, MLX5_FENCE_MODE_NONE, false, true, MLX5_FENCE_MODE_FENCE },
	};
	struct mlx5_ib_wqe_target to = target(IB_QPT_RC);
	struct mlx5_wqe_ctrl_seg ctrl;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ib_send_wr wr = {
			.opcode = t[i].opcode, .send_flags = t[i].fence ? IB_SEND_FENCE : 0,
		};

		to.umr_fence = t[i].umr_fence;
		mlx5_ib_finish_send_wqe(&ctrl, &to, mlx5_ib_wr_op(&to, &wr), &wr, 1, 0,
					t[i].after_umr);
		KUNIT_EXPECT_EQ_MSG(test, ctrl.fm_ce_se, t[i].want, "row %u", i);
	}
}

/* The control segment has the key in the dword that immediate data has in other requests. */
static void local_invalidation_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00fff725 }, { 0x04, 0x12345608 }, { 0x08, 0x28 }, { 0x0c, 0xabcd05 },
		{ 0x10, 0x80000000 }, { 0x18, 0 }, { 0x1c, 0x20000000 },
		{ 0x40, 0x40000000 },
	};
	struct mlx5_ib_wqe_target to = target(IB_QPT_RC);
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = 0xabcd05 };
	struct mlx5_ib_umr_wqe *wqe = kunit_kzalloc(test, sizeof(*wqe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	to.signal_all = true;
	mlx5_ib_umr_fill_local_inv(wqe, wr.ex.invalidate_rkey);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wqe_ds(wqe), 8);
	mlx5_ib_finish_send_wqe(wqe, &to, mlx5_ib_wr_op(&to, &wr), &wr, mlx5_ib_umr_wqe_ds(wqe),
				INDEX, false);
	expect_golden(test, wqe, 128, want);
}

/* ---- receive requests ------------------------------------------------------------------- */

static void scatter_list_ends_behind_its_last_segment(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 5 }, { 0x04, 6 }, { 0x08, 7 }, { 0x0c, 8 },
		{ 0x10, 9 }, { 0x14, 10 }, { 0x1c, 11 }, { 0x24, 0x100 },
	};
	struct mlx5_wqe_data_seg seg[4];
	struct ib_sge sge[5] = {
		{ .length = 5, .lkey = 6, .addr = 0x700000008 }, {},
		{ .length = 9, .lkey = 10, .addr = 11 },
	};
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = 3 };

	memset(seg, 0, sizeof(seg));
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_recv_wqe(seg, &wr, 4, 0x100), 0);
	expect_golden(test, seg, sizeof(seg), want);
	sge[1].length = 1;
	sge[3].length = 1;
	wr.num_sge = 4;
	seg[3].lkey = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_recv_wqe(seg, &wr, 4, 0x100), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(seg[3].byte_count), 1);
	sge[4].length = 1;
	wr.num_sge = 5;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_recv_wqe(seg, &wr, 4, 0x100), -EINVAL);
}

/* The WQE was used for a longer list before. */
static void scatter_list_of_a_used_wqe_ends_in_time(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 5 }, { 0x04, 6 }, { 0x08, 7 }, { 0x0c, 8 }, { 0x14, 0x100 },
	};
	struct ib_sge sge = { .length = 5, .lkey = 6, .addr = 0x700000008 };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct mlx5_wqe_data_seg seg[4];

	memset(seg, 0xee, sizeof(seg));
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_recv_wqe(seg, &wr, 4, 0x100), 0);
	/* The device does not read behind the segment that ends the list. */
	expect_golden(test, seg, 2 * sizeof(*seg), want);
	wr.num_sge = 0;
	memset(seg, 0xee, sizeof(seg));
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_recv_wqe(seg, &wr, 4, 0x100), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(seg[0].byte_count), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(seg[0].lkey), 0x100);
}

static void address_vector_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x0c, 0x07155678 }, { 0x18, 0x3344 }, { 0x1c, 0x402abcde },
		{ 0x20, 0xfe800000 }, { 0x2c, 0x00000001 },
	};
	struct rdma_ah_attr ah = { .type = RDMA_AH_ATTR_TYPE_IB };
	union ib_gid gid = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct mlx5_av av;

	memset(&av, 0xee, sizeof(av));
	rdma_ah_set_dlid(&ah, 0x5678);
	rdma_ah_set_path_bits(&ah, 0x15);
	rdma_ah_set_sl(&ah, 7);
	rdma_ah_set_grh(&ah, &gid, 0xabcde, 2, 0x44, 0x33);
	mlx5_ib_fill_av(&av, &ah, 0);
	expect_golden(test, &av, sizeof(av), want);
}

/* ---- completions ------------------------------------------------------------------------ */

static void receive_completion_is_decoded(struct kunit *test)
{
	static const struct {
		u8 opcode;
		enum mlx5_ib_cqe_kind kind;
		enum ib_wc_opcode want;
		int flags;
		u16 pkey_index;
	} t[] = {
		{ MLX5_CQE_RESP_SEND, MLX5_IB_CQE_RECV, IB_WC_RECV, 0, 0xbeef },
		{ MLX5_CQE_RESP_SEND_IMM, MLX5_IB_CQE_RECV, IB_WC_RECV, IB_WC_WITH_IMM },
		{ MLX5_CQE_RESP_SEND_INV, MLX5_IB_CQE_RECV, IB_WC_RECV, IB_WC_WITH_INVALIDATE },
		{ MLX5_CQE_RESP_WR_IMM, MLX5_IB_CQE_RECV, IB_WC_RECV_RDMA_WITH_IMM,
		  IB_WC_WITH_IMM },
	};
	struct mlx5_cqe64 cqe = {
		.slid = cpu_to_be16(0x1234), .ml_path = 0x8b, .flags_rqpn = cpu_to_be32(0x37abcdef),
		.immediate = cpu_to_be32(0xdeadbeef), .byte_cnt = cpu_to_be32(0x12345),
		.sop_drop_qpn = cpu_to_be32(0xff654321),
	};
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		/* A consumer polls into an array that has its earlier completions. */
		memset(&wc, 0xa5, sizeof(wc));
		cqe.op_own = t[i].opcode << 4 | 1;
		KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_kind(&cqe), t[i].kind);
		KUNIT_EXPECT_FALSE(test, mlx5_ib_cqe_is_error(&cqe));
		mlx5_ib_cqe_read_recv(&cqe, &wc);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.opcode, t[i].want);
		KUNIT_EXPECT_EQ(test, wc.wc_flags, t[i].flags | IB_WC_GRH);
		KUNIT_EXPECT_EQ(test, wc.pkey_index, t[i].pkey_index);
		if (t[i].flags & IB_WC_WITH_IMM)
			KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0xdeadbeef);
		if (t[i].flags & IB_WC_WITH_INVALIDATE)
			KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, 0xdeadbeef);
		KUNIT_EXPECT_EQ(test, wc.byte_len, 0x12345);
		KUNIT_EXPECT_EQ(test, wc.src_qp, 0xabcdef);
		KUNIT_EXPECT_EQ(test, wc.sl, 7);
		KUNIT_EXPECT_EQ(test, wc.slid, 0x1234);
		KUNIT_EXPECT_EQ(test, wc.dlid_path_bits, 0x0b);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_qpn(&cqe), 0x654321);
	cqe.flags_rqpn = cpu_to_be32(0x0fabcdef);
	memset(&wc, 0xa5, sizeof(wc));
	mlx5_ib_cqe_read_recv(&cqe, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.sl, 15);
	cqe.op_own = MLX5_CQE_RESP_SEND << 4;
	memset(&wc, 0xa5, sizeof(wc));
	mlx5_ib_cqe_read_recv(&cqe, &wc);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, 0);
	cqe.op_own = MLX5_CQE_RESIZE_CQ << 4;
	KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_kind(&cqe), MLX5_IB_CQE_OTHER);
	cqe.op_own = MLX5_CQE_REQ << 4;
	KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_kind(&cqe), MLX5_IB_CQE_SEND);
}

static void send_completion_is_decoded(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode wr;
		enum ib_wc_opcode want;
		u32 len;
	} t[] = {
		{ IB_WR_SEND, IB_WC_SEND }, { IB_WR_SEND_WITH_IMM, IB_WC_SEND },
		{ IB_WR_SEND_WITH_INV, IB_WC_SEND }, { IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE },
		{ IB_WR_RDMA_WRITE_WITH_IMM, IB_WC_RDMA_WRITE },
		{ IB_WR_RDMA_READ, IB_WC_RDMA_READ, 77 },
		{ IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP, 8 },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD, 8 },
		{ IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP, 8 },
		{ IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD, 8 },
		{ IB_WR_LOCAL_INV, IB_WC_LOCAL_INV }, { IB_WR_REG_MR, IB_WC_REG_MR },
	};
	struct mlx5_cqe64 cqe = { .byte_cnt = cpu_to_be32(77) };
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memset(&wc, 0xa5, sizeof(wc));
		mlx5_ib_cqe_read_send(&cqe, t[i].wr, &wc);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.opcode, t[i].want);
		KUNIT_EXPECT_EQ(test, wc.wc_flags, 0);
		/* Verbs define the length for reads and atomics only. */
		if (t[i].len)
			KUNIT_EXPECT_EQ(test, wc.byte_len, t[i].len);
	}
}

static void error_syndrome_gives_the_status(struct kunit *test)
{
	static const u8 t[][2] = {
		{ 0x01, IB_WC_LOC_LEN_ERR }, { 0x02, IB_WC_LOC_QP_OP_ERR },
		{ 0x04, IB_WC_LOC_PROT_ERR }, { 0x05, IB_WC_WR_FLUSH_ERR },
		{ 0x06, IB_WC_MW_BIND_ERR }, { 0x10, IB_WC_BAD_RESP_ERR },
		{ 0x11, IB_WC_LOC_ACCESS_ERR }, { 0x12, IB_WC_REM_INV_REQ_ERR },
		{ 0x13, IB_WC_REM_ACCESS_ERR }, { 0x14, IB_WC_REM_OP_ERR },
		{ 0x15, IB_WC_RETRY_EXC_ERR }, { 0x16, IB_WC_RNR_RETRY_EXC_ERR },
		{ 0x22, IB_WC_REM_ABORT_ERR }, { 0x00, IB_WC_GENERAL_ERR },
		{ 0x07, IB_WC_GENERAL_ERR }, { 0x23, IB_WC_GENERAL_ERR },
		{ 0xff, IB_WC_GENERAL_ERR },
	};
	struct mlx5_err_cqe err = { .vendor_err_synd = 0x99 };
	const struct mlx5_cqe64 *cqe = (const struct mlx5_cqe64 *)&err;
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memset(&wc, 0xa5, sizeof(wc));
		err.syndrome = t[i][0];
		mlx5_ib_cqe_read_error(cqe, &wc);
		KUNIT_EXPECT_EQ_MSG(test, wc.status, t[i][1], "syndrome %#x", t[i][0]);
		KUNIT_EXPECT_EQ(test, wc.vendor_err, 0x99);
	}
	/* Devices set the bit of solicited events (2) in error CQEs. */
	err.op_own = MLX5_CQE_REQ_ERR << 4 | 2;
	KUNIT_EXPECT_TRUE(test, mlx5_ib_cqe_is_error(cqe));
	KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_kind(cqe), MLX5_IB_CQE_SEND);
	err.op_own = MLX5_CQE_RESP_ERR << 4 | 2;
	KUNIT_EXPECT_TRUE(test, mlx5_ib_cqe_is_error(cqe));
	KUNIT_EXPECT_EQ(test, mlx5_ib_cqe_kind(cqe), MLX5_IB_CQE_RECV);
}

static struct kunit_case wqe_test_cases[] = {
	KUNIT_CASE_PARAM(queue_sizes_fit_request_and_device, size_gen_params),
	KUNIT_CASE(longest_receive_wqe_fits_its_field),
	KUNIT_CASE_PARAM(request_is_exact_to_the_bit, wqe_gen_params),
	KUNIT_CASE(type_of_the_queue_pair_decides_which_requests_exist),
	KUNIT_CASE(only_atomic_operations_of_the_device_exist),
	KUNIT_CASE(responder_has_the_atomic_mode_of_the_device),
	KUNIT_CASE(inline_data_is_copied_whole_and_padded),
	KUNIT_CASE(empty_segments_are_left_out),
	KUNIT_CASE(request_is_ordered_behind_a_change_of_a_key),
	KUNIT_CASE(local_invalidation_is_exact_to_the_bit),
	KUNIT_CASE(scatter_list_ends_behind_its_last_segment),
	KUNIT_CASE(scatter_list_of_a_used_wqe_ends_in_time),
	KUNIT_CASE(address_vector_is_exact_to_the_bit),
	KUNIT_CASE(receive_completion_is_decoded),
	KUNIT_CASE(send_completion_is_decoded),
	KUNIT_CASE(error_syndrome_gives_the_status),
	{}
};

static struct kunit_suite wqe_suite = {
	.name = "bluebell_wqe",
	.test_cases = wqe_test_cases,
};

kunit_test_suite(wqe_suite);
