// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of layout_odp.c: page-fault events, the memory that a WQE names, and translation
 * entries.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "ops.h"
#include "port.h"

#define CREATE_MKEY_IN_SIZE	0x110
#define LKEY			0x1200

/* ---- events ----------------------------------------------------------------------------- */

static void make_eqe(struct mlx5_eqe *eqe, u8 sub_type, const u32 data[7])
{
	unsigned int i;

	memset(eqe, 0, sizeof(*eqe));
	eqe->type = MLX5_EVENT_TYPE_PAGE_FAULT;
	eqe->sub_type = sub_type;
	for (i = 0; i < 7; i++)
		eqe->data.raw[i] = cpu_to_be32(data[i]);
}

static void wqe_fault_event_is_parsed(struct kunit *test)
{
	static const u32 data[7] = {
		0x00012000, 0xffff0042, 0xffff0400, 0xabcdef, 0, 0, 0x01000123,
	};
	struct mlx5_ib_fault fault;
	struct mlx5_eqe eqe;

	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_WQE, data);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, false, &fault));
	KUNIT_EXPECT_FALSE(test, fault.is_rdma);
	KUNIT_EXPECT_EQ(test, fault.type, MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE);
	KUNIT_EXPECT_EQ(test, fault.wq_num, 0x123);
	KUNIT_EXPECT_EQ(test, fault.token, 0xabcdef);
	KUNIT_EXPECT_EQ(test, fault.committed, 0x12000);
	KUNIT_EXPECT_EQ(test, fault.packet_len, 0x400);
	KUNIT_EXPECT_EQ(test, fault.wqe_index, 0x42);
}

static void rdma_fault_event_is_parsed(struct kunit *test)
{
	static const u32 data[7] = {
		0x1000, 0x5678, 0xffff0800, 0x4000, 0x7fff, 0x12345678, 0x06000099,
	};
	struct mlx5_ib_fault fault;
	struct mlx5_eqe eqe;

	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_RDMA, data);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, false, &fault));
	KUNIT_EXPECT_TRUE(test, fault.is_rdma);
	KUNIT_EXPECT_EQ(test, fault.type, 6);
	KUNIT_EXPECT_EQ(test, fault.wq_num, 0x99);
	KUNIT_EXPECT_EQ(test, fault.token, 0x99);
	KUNIT_EXPECT_EQ(test, fault.committed, 0x1000);
	KUNIT_EXPECT_EQ(test, fault.packet_len, 0x800);
	KUNIT_EXPECT_EQ(test, fault.key, 0x5678);
	KUNIT_EXPECT_EQ(test, fault.op_len, 0x4000);
	KUNIT_EXPECT_EQ(test, fault.va, 0x7fff12345678ULL);
}

static void other_event_is_no_page_fault(struct kunit *test)
{
	static const u32 data[7] = {};
	struct mlx5_ib_fault fault;
	struct mlx5_eqe eqe;

	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_WQE, data);
	eqe.type = MLX5_EVENT_TYPE_COMM_EST;
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_parse_eqe(&eqe, false, &fault));
}

static void fault_of_unknown_kind_can_be_answered(struct kunit *test)
{
	static const u32 wqe[7] = { 0, 0x42, 0x400, 0xabcdef, 0, 0, 0x01000123 };
	static const u32 rdma[7] = { 0, 0x5678, 0x400, 0x4000, 0, 0, 0x06000099 };
	struct mlx5_ib_fault fault;
	struct mlx5_eqe eqe;

	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_MEMORY, wqe);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, false, &fault));
	KUNIT_EXPECT_TRUE(test, fault.is_unknown);
	KUNIT_EXPECT_EQ(test, fault.type, MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE);
	KUNIT_EXPECT_EQ(test, fault.wq_num, 0x123);
	KUNIT_EXPECT_EQ(test, fault.token, 0xabcdef);
	make_eqe(&eqe, 7, rdma);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, false, &fault));
	KUNIT_EXPECT_TRUE(test, fault.is_unknown);
	KUNIT_EXPECT_EQ(test, fault.type, 6);
	KUNIT_EXPECT_EQ(test, fault.wq_num, 0x99);
	KUNIT_EXPECT_EQ(test, fault.token, 0x99);
}

static void memory_fault_event_is_parsed(struct kunit *test)
{
	/*
	 * The last event of a fault. The device needs the rest of the page of the address and one
	 * more page, and names 2 pages behind the address and 3 pages before it as near.
	 */
	static const u32 data[7] = {
		0x80ff0002, 0x0003f417, 0x80000123, 0x2000, 0x567842, 0x7fff, 0x12345678,
	};
	struct mlx5_ib_fault fault;
	struct mlx5_eqe eqe;

	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_MEMORY, data);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, true, &fault));
	KUNIT_EXPECT_FALSE(test, fault.is_unknown);
	KUNIT_EXPECT_FALSE(test, fault.is_early);
	KUNIT_EXPECT_EQ(test, fault.token, 0xf41780000123ULL);
	KUNIT_EXPECT_EQ(test, fault.key, 0x567842);
	KUNIT_EXPECT_EQ(test, fault.va, 0x7fff12345678ULL);
	KUNIT_EXPECT_EQ(test, fault.packet_len, 0x2000 - 0x678);
	KUNIT_EXPECT_EQ(test, fault.before, 0x3000);
	KUNIT_EXPECT_EQ(test, fault.after, 0x2000);
	/*
	 * Older firmware reports the bytes that the device needs, not the length of their pages.
	 * Bit 7 of the flags is clear, so further events of the fault follow.
	 */
	eqe.data.page_fault.memory.demand_fault_pages = cpu_to_be32(100);
	eqe.data.page_fault.memory.flags = 0x7f;
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, true, &fault));
	KUNIT_EXPECT_EQ(test, fault.packet_len, 100);
	KUNIT_EXPECT_TRUE(test, fault.is_early);
	/* An event of the transport scheme: only the token is taken from it. */
	make_eqe(&eqe, MLX5_PFAULT_SUBTYPE_RDMA, data);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_parse_eqe(&eqe, true, &fault));
	KUNIT_EXPECT_TRUE(test, fault.is_unknown);
	KUNIT_EXPECT_EQ(test, fault.token, 0xf41780000123ULL);
}

static void answer_has_the_form_of_the_scheme(struct kunit *test)
{
	const struct mlx5_ib_fault memory = { .is_memory = true, .token = 0xf41780000123ULL };
	const struct mlx5_ib_fault transport = { .type = 3, .wq_num = 0x99, .token = 0xabcdef };
	__be32 in[MLX5_ST_SZ_DW(page_fault_resume_in)] = {};

	mlx5_ib_odp_fill_resume(in, &memory, true);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), MLX5_CMD_OP_PAGE_FAULT_RESUME << 16);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), 0x8000f417);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[3]), 0x80000123);
	memset(in, 0, sizeof(in));
	mlx5_ib_odp_fill_resume(in, &transport, false);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), 0x03000099);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[3]), 0xabcdef);
}

static void capability_bits_are_reported(struct kunit *test)
{
	static const u32 want[] = {
		IB_ODP_SUPPORT_SEND, IB_ODP_SUPPORT_RECV, IB_ODP_SUPPORT_WRITE,
		IB_ODP_SUPPORT_READ, IB_ODP_SUPPORT_ATOMIC, IB_ODP_SUPPORT_SRQ_RECV, 0,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		__be32 caps = cpu_to_be32(BIT(31 - i));

		KUNIT_EXPECT_EQ(test, mlx5_ib_odp_service_caps(&caps), want[i]);
	}
}

/* ---- WQEs ------------------------------------------------------------------------------- */

struct wqe {
	__be32 dw[64 * 4];
	unsigned int ds;
};

static void put(struct wqe *w, u32 a, u32 b, u32 c, u32 d)
{
	__be32 *at = &w->dw[4 * w->ds++];

	at[0] = cpu_to_be32(a);
	at[1] = cpu_to_be32(b);
	at[2] = cpu_to_be32(c);
	at[3] = cpu_to_be32(d);
}

static void put_ctrl(struct wqe *w, u8 opcode)
{
	memset(w, 0, sizeof(*w));
	put(w, 0xff000500 | opcode, 0, 0, 0);
}

static void put_data(struct wqe *w, u64 addr, u32 len, u32 lkey)
{
	put(w, len, lkey, upper_32_bits(addr), lower_32_bits(addr));
}

static int parse(struct wqe *w, enum ib_qp_type type, const struct mlx5_ib_caps *caps,
		 struct mlx5_ib_odp_sges *sges)
{
	w->dw[1] = cpu_to_be32(0x77 << 8 | w->ds);
	return mlx5_ib_odp_parse_send(w->dw, sizeof(w->dw), type, caps, sges);
}

static void expect_sge(struct kunit *test, const struct mlx5_ib_odp_sges *sges, unsigned int i,
		       u64 addr, u32 len, u32 lkey)
{
	KUNIT_ASSERT_LT(test, i, sges->num);
	KUNIT_EXPECT_EQ(test, sges->sge[i].addr, addr);
	KUNIT_EXPECT_EQ(test, sges->sge[i].length, len);
	KUNIT_EXPECT_EQ(test, sges->sge[i].lkey, lkey);
}

static const struct op_case {
	const char *name;
	u8 opcode;
	enum ib_qp_type type;
	unsigned int header;	/* 16-byte units between control and data */
	u32 av;			/* third dword of the first unit */
} op_cases[] = {
	{ "RC SEND", MLX5_OPCODE_SEND, IB_QPT_RC, 0 },
	{ "RC SEND_IMM", MLX5_OPCODE_SEND_IMM, IB_QPT_RC, 0 },
	{ "RC SEND_INVAL", MLX5_OPCODE_SEND_INVAL, IB_QPT_RC, 0 },
	{ "RC WRITE", MLX5_OPCODE_RDMA_WRITE, IB_QPT_RC, 1 },
	{ "RC WRITE_IMM", MLX5_OPCODE_RDMA_WRITE_IMM, IB_QPT_RC, 1 },
	{ "RC READ", MLX5_OPCODE_RDMA_READ, IB_QPT_RC, 1 },
	{ "RC compare and swap", MLX5_OPCODE_ATOMIC_CS, IB_QPT_RC, 2 },
	{ "RC fetch and add", MLX5_OPCODE_ATOMIC_FA, IB_QPT_RC, 2 },
	{ "RC masked compare and swap", MLX5_OPCODE_ATOMIC_MASKED_CS, IB_QPT_RC, 3 },
	{ "RC masked fetch and add", MLX5_OPCODE_ATOMIC_MASKED_FA, IB_QPT_RC, 2 },
	{ "UC WRITE", MLX5_OPCODE_RDMA_WRITE, IB_QPT_UC, 1 },
	{ "UD SEND, long address vector", MLX5_OPCODE_SEND, IB_QPT_UD, 3, 0x80000001 },
	{ "UD SEND, short address vector", MLX5_OPCODE_SEND, IB_QPT_UD, 1, 1 },
	{ "XRC WRITE", MLX5_OPCODE_RDMA_WRITE, IB_QPT_XRC_INI, 2 },
	{ "DC SEND, long address vector", MLX5_OPCODE_SEND, IB_QPT_DRIVER, 3, 0x80000001 },
	{ "DC READ, long address vector", MLX5_OPCODE_RDMA_READ, IB_QPT_DRIVER, 4, 0x80000001 },
	{ "DC WRITE, short address vector", MLX5_OPCODE_RDMA_WRITE, IB_QPT_DRIVER, 2, 1 },
};

KUNIT_ARRAY_PARAM_DESC(op, op_cases, name);

static void data_segments_follow_the_header_of_the_opcode(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct wqe *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	const struct mlx5_ib_caps *caps = mock_caps(test);
	const struct op_case *c = test->param_value;
	unsigned int i;

	put_ctrl(w, c->opcode);
	for (i = 0; i < c->header; i++)
		put(w, 0x111, 0x222, i ? 0x333 : c->av, 0x444);
	put_data(w, 0x7f0012345678, 100, LKEY);
	put_data(w, 0x7f0012340000, 8, LKEY + 1);
	KUNIT_ASSERT_EQ(test, 0, parse(w, c->type, caps, sges));
	KUNIT_ASSERT_EQ(test, sges->num, 2);
	expect_sge(test, sges, 0, 0x7f0012345678, 100, LKEY);
	expect_sge(test, sges, 1, 0x7f0012340000, 8, LKEY + 1);
}

static void inline_data_is_counted_and_has_no_key(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct wqe *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	const struct mlx5_ib_caps *caps = mock_caps(test);

	put_ctrl(w, MLX5_OPCODE_SEND);
	put(w, MLX5_INLINE_SEG | 20, 1, 2, 3);
	put(w, 4, 5, 0, 0);
	put_data(w, 0x1000, 50, LKEY);
	KUNIT_ASSERT_EQ(test, 0, parse(w, IB_QPT_RC, caps, sges));
	KUNIT_ASSERT_EQ(test, sges->num, 2);
	expect_sge(test, sges, 0, 0, 20, 0);
	expect_sge(test, sges, 1, 0x1000, 50, LKEY);
	mlx5_ib_odp_window(sges, 25, 100);
	KUNIT_ASSERT_EQ(test, sges->num, 1);
	expect_sge(test, sges, 0, 0x1005, 45, LKEY);
}

static void malformed_send_wqe_is_refused(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct wqe *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	const struct mlx5_ib_caps *caps = mock_caps(test);
	unsigned int i;

	/* Length 0, no data segment, no room for the header, an unknown opcode. */
	put_ctrl(w, MLX5_OPCODE_SEND);
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_odp_parse_send(w->dw, 0, IB_QPT_RC, caps, sges));
	KUNIT_EXPECT_EQ(test, -EINVAL, parse(w, IB_QPT_RC, caps, sges));
	KUNIT_EXPECT_EQ(test, -EINVAL, parse(w, IB_QPT_UD, caps, sges));
	put_ctrl(w, MLX5_OPCODE_ATOMIC_CS);
	put(w, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, parse(w, IB_QPT_RC, caps, sges));
	put_ctrl(w, 0xee);
	put_data(w, 0x1000, 50, LKEY);
	KUNIT_EXPECT_EQ(test, -EINVAL, parse(w, IB_QPT_RC, caps, sges));
	/* Inline data that ends far beyond the WQE. */
	put_ctrl(w, MLX5_OPCODE_SEND);
	put(w, MLX5_INLINE_SEG | 0x7fffffff, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, parse(w, IB_QPT_RC, caps, sges));
	/* The most segments that the length field can express. */
	put_ctrl(w, MLX5_OPCODE_SEND);
	for (i = 0; i < 62; i++)
		put_data(w, i, 1, LKEY);
	KUNIT_ASSERT_EQ(test, 0, parse(w, IB_QPT_RC, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 62);
}

static void receive_wqe_is_read_to_the_end_of_its_list(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct wqe *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	const struct mlx5_ib_caps *caps = mock_caps(test);
	unsigned int i;

	put_data(w, 0x5000, 0, LKEY);
	put_data(w, 0x1000, 50, LKEY);
	put(w, 0, 0x100, 0, 0);
	put_data(w, 0x9000, 50, LKEY);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 16, false, caps, sges));
	KUNIT_ASSERT_EQ(test, sges->num, 2);
	/* Byte count 0 means 2 GiB. */
	expect_sge(test, sges, 0, 0x5000, 1U << 31, LKEY);
	expect_sge(test, sges, 1, 0x1000, 50, LKEY);
	/* The list ends with the stride if there is no terminator. */
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 4, false, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 1);
	/* A receive WQE has no inline data. */
	w->dw[0] = cpu_to_be32(MLX5_INLINE_SEG | 4);
	KUNIT_EXPECT_EQ(test, -EINVAL, mlx5_ib_odp_parse_data(w->dw, w->dw + 16, false, caps,
							      sges));
	KUNIT_EXPECT_EQ(test, sges->num, 0);
	/* A stride of 2 KiB has room for more segments than a request can have. */
	w->ds = 0;
	for (i = 0; i < MLX5_IB_ODP_MAX_SGES + 1; i++)
		put_data(w, i, 1, LKEY);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 4 * w->ds, false, caps,
							sges));
	KUNIT_EXPECT_EQ(test, sges->num, MLX5_IB_ODP_MAX_SGES);
}

/* A device whose firmware names the special keys 0x300, 0x700 and 0x900. */
static int answer_special_contexts(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				   void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(query_special_contexts_in, in, opcode) == MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS) {
		((__be32 *)out)[2] = cpu_to_be32(0x700);
		((__be32 *)out)[4] = cpu_to_be32(0x300);
		((__be32 *)out)[5] = cpu_to_be32(0x900);
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static void key_that_ends_a_list_is_asked_of_the_device(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	struct wqe *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, answer_special_contexts);
	put_data(w, 0x1000, 50, LKEY);
	put(w, 0, 0x900, 0, 0);
	put_data(w, 0x9000, 50, LKEY);

	/* A device without the capability treats the key like any other key. */
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_device_attr(mock->dev));
	KUNIT_EXPECT_EQ(test, mock->dev->dump_fill_mkey, 0x700);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 12, false, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 3);

	MOCK_SET_CAP(caps, dump_fill_mkey, 0);
	MOCK_SET_CAP(caps, terminate_scatter_list_mkey, 1);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_device_attr(mock->dev));
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 12, false, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 1);
	expect_sge(test, sges, 0, 0x1000, 50, LKEY);
	/* With a length the key is like any other key. */
	w->dw[4] = cpu_to_be32(8);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 12, false, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 3);
	/* The key that libmlx5 writes ends a list, too. */
	w->dw[4] = 0;
	w->dw[5] = cpu_to_be32(0x100);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_odp_parse_data(w->dw, w->dw + 12, false, caps, sges));
	KUNIT_EXPECT_EQ(test, sges->num, 1);
}

static void window_keeps_the_bytes_asked_for(struct kunit *test)
{
	struct mlx5_ib_odp_sges *sges = kunit_kzalloc(test, sizeof(*sges), GFP_KERNEL);
	static const struct ib_sge all[] = {
		{ 0x1000, 100, 1 }, { 0x2000, 50, 2 }, { 0x3000, 9, 3 },
	};

	sges->num = 3;
	memcpy(sges->sge, all, sizeof(all));
	mlx5_ib_odp_window(sges, 99, 52);
	KUNIT_ASSERT_EQ(test, sges->num, 3);
	expect_sge(test, sges, 0, 0x1063, 1, 1);
	expect_sge(test, sges, 1, 0x2000, 50, 2);
	expect_sge(test, sges, 2, 0x3000, 1, 3);

	sges->num = 3;
	memcpy(sges->sge, all, sizeof(all));
	mlx5_ib_odp_window(sges, 100, 50);
	KUNIT_ASSERT_EQ(test, sges->num, 1);
	expect_sge(test, sges, 0, 0x2000, 50, 2);

	sges->num = 3;
	mlx5_ib_odp_window(sges, 1000, 50);
	KUNIT_EXPECT_EQ(test, sges->num, 0);
}

/* ---- translation entries ---------------------------------------------------------------- */

static void mapped_pages_are_found_in_whole_blocks(struct kunit *test)
{
	__be64 *mtt = kunit_kzalloc(test, 64 * sizeof(*mtt), GFP_KERNEL);
	size_t first = 0, num;

	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_next_run(mtt, &first, 64, 16, &num));
	mtt[20] = cpu_to_be64(1);
	mtt[31] = cpu_to_be64(1);
	mtt[47] = cpu_to_be64(1);
	first = 3;
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_next_run(mtt, &first, 64, 16, &num));
	KUNIT_EXPECT_EQ(test, first, 16);
	KUNIT_EXPECT_EQ(test, num, 16);
	first += num;
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_next_run(mtt, &first, 64, 16, &num));
	KUNIT_EXPECT_EQ(test, first, 40);
	KUNIT_EXPECT_EQ(test, num, 8);
	first += num;
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_next_run(mtt, &first, 64, 16, &num));
	/* A search from inside a block finds the whole block; a run is at most @max long. */
	mtt[24] = cpu_to_be64(1);
	first = 22;
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_next_run(mtt, &first, 64, 8, &num));
	KUNIT_EXPECT_EQ(test, first, 16);
	KUNIT_EXPECT_EQ(test, num, 8);
	first = 0;
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_next_run(mtt, &first, 16, 8, &num));
}

static void create_mkey_of_a_paged_key_is_exact_to_the_bit(struct kunit *test)
{
	static const struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE, .pdn = 0x789, .iova = 0x1000, .length = 0x3000,
		.page_shift = 12, .nmtts = 8, .room = 8, .variant = 0x42,
	};
	static const struct golden want[GOLDEN_MAX] = {
		/*
		 * The words with: opcode; umr_en, lw, lr, mode MTT; no QPN, variant; PD; address;
		 * length; the list's size, page size and actual size.
		 */
		{ 0x00, 0x02000000 }, { 0x10, 0x00008d00 },
		{ 0x14, 0xffffff42 }, { 0x1c, 0x00000789 }, { 0x24, 0x00001000 },
		{ 0x2c, 0x00003000 }, { 0x44, 4 }, { 0x48, 12 }, { 0x60, 4 },
	};
	void *in = kunit_kzalloc(test, CREATE_MKEY_IN_SIZE + 64, GFP_KERNEL);

	mlx5_ib_fill_create_mkey(in, &attr, mock_caps(test));
	expect_golden(test, in, CREATE_MKEY_IN_SIZE + 64, want);
}

static void create_mkey_of_a_key_table_is_exact_to_the_bit(struct kunit *test)
{
	/* The driver does not set relaxed ordering in such a key. */
	static const struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_RELAXED_ORDERING,
		.pdn = 5, .iova = 0x1000000000, .length = 4ULL << 24, .page_shift = 24, .nmtts = 8,
	};
	static const struct golden want[GOLDEN_MAX] = {
		/*
		 * The words with: opcode; umr_en, rr, lw, lr, mode KSM; no QPN; PD; address;
		 * length; the list's size, page size and actual size.
		 */
		{ 0x00, 0x02000000 }, { 0x10, 0x00009f00 }, { 0x14, 0xffffff00 },
		{ 0x1c, 0x00000005 }, { 0x20, 0x00000010 }, { 0x2c, 0x04000000 },
		{ 0x44, 4 }, { 0x48, 24 }, { 0x60, 4 },
	};
	void *in = kunit_kzalloc(test, CREATE_MKEY_IN_SIZE + 64, GFP_KERNEL);

	mlx5_ib_odp_fill_create_ksm(in, &attr);
	expect_golden(test, in, CREATE_MKEY_IN_SIZE + 64, want);
}

static void create_mkey_without_pages_is_exact_to_the_bit(struct kunit *test)
{
	static const struct mlx5_ib_mkc_attr attr = {
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_RELAXED_ORDERING, .pdn = 5, .nmtts = 8,
	};
	static const struct golden want[GOLDEN_MAX] = {
		/*
		 * The words with: opcode; pg_access; lw, lr, mode MTT; no QPN; length64, PD; the
		 * list's size, page size and actual size.
		 */
		{ 0x00, 0x02000000 }, { 0x0c, 0x80000000 }, { 0x10, 0x00000d00 },
		{ 0x14, 0xffffff00 }, { 0x1c, 0x80000005 },
		{ 0x44, 4 }, { 0x48, 61 }, { 0x60, 4 },
	};
	void *in = kunit_kzalloc(test, CREATE_MKEY_IN_SIZE + 64, GFP_KERNEL);

	mlx5_ib_odp_fill_create_absent(in, &attr);
	expect_golden(test, in, CREATE_MKEY_IN_SIZE + 64, want);
}

static const struct dir_case {
	const char *name;
	u64 space;
	bool ksm;
	bool cap_2;
	u8 min;			/* of KSMs; 0: not valid */
	u8 max;
	u8 want;
} dir_cases[] = {
	{ "entries of 2 GiB at most", 1ULL << 46, true, false, 0, 0, 31 },
	{ "entries of 2 GiB for 128 TiB", 1ULL << 47, true, false, 0, 0, 31 },
	{ "entries of 2 GiB that are too many", 1ULL << 48, true, false, 0, 0, 0 },
	{ "a device that says nothing", 1ULL << 46, true, true, 0, 0, 31 },
	{ "a limit of 4 GiB", 1ULL << 47, true, true, 0, 32, 32 },
	{ "a root of the longest command", 131052ULL << 31, true, true, 0, 31, 31 },
	{ "a root with too many entries", (131052ULL << 31) + 1, true, true, 0, 31, 0 },
	{ "larger entries than are needed", 1ULL << 47, true, true, 0, 63, 36 },
	{ "a large space", 1ULL << 56, true, true, 0, 63, 40 },
	{ "a space that is too large", 1ULL << 56, true, true, 0, 38, 0 },
	{ "the whole of it", 0, true, true, 0, 63, 48 },
	{ "leaves that are too small", 1ULL << 47, true, true, 25, 36, 0 },
	{ "leaves that are just large enough", 1ULL << 47, true, true, 24, 36, 36 },
	{ "leaves that are too large", 1ULL << 32, true, true, 0, 24, 0 },
	{ "a device without tables of keys", 1ULL << 47, false, true, 0, 36, 0 },
};

KUNIT_ARRAY_PARAM_DESC(dir, dir_cases, name);

static void entries_of_a_key_table_fit_the_device(struct kunit *test)
{
	const struct dir_case *c = test->param_value;
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, fixed_buffer_size, c->ksm);
	MOCK_SET_CAP(caps, hca_cap_2, c->cap_2);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, log_min_mkey_entity_size, 12);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			min_mkey_log_entity_size_fixed_buffer_valid, !!c->min);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			min_mkey_log_entity_size_fixed_buffer, c->min);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2,
			max_mkey_log_entity_size_fixed_buffer, c->max);
	KUNIT_EXPECT_EQ(test, mlx5_ib_odp_dir_shift(caps, c->space), c->want);
}

static struct kunit_case odp_cases[] = {
	KUNIT_CASE(wqe_fault_event_is_parsed),
	KUNIT_CASE(rdma_fault_event_is_parsed),
	KUNIT_CASE(other_event_is_no_page_fault),
	KUNIT_CASE(fault_of_unknown_kind_can_be_answered),
	KUNIT_CASE(memory_fault_event_is_parsed),
	KUNIT_CASE(answer_has_the_form_of_the_scheme),
	KUNIT_CASE(capability_bits_are_reported),
	KUNIT_CASE_PARAM(data_segments_follow_the_header_of_the_opcode, op_gen_params),
	KUNIT_CASE(inline_data_is_counted_and_has_no_key),
	KUNIT_CASE(malformed_send_wqe_is_refused),
	KUNIT_CASE(receive_wqe_is_read_to_the_end_of_its_list),
	KUNIT_CASE(key_that_ends_a_list_is_asked_of_the_device),
	KUNIT_CASE(window_keeps_the_bytes_asked_for),
	KUNIT_CASE(mapped_pages_are_found_in_whole_blocks),
	KUNIT_CASE(create_mkey_of_a_paged_key_is_exact_to_the_bit),
	KUNIT_CASE(create_mkey_of_a_key_table_is_exact_to_the_bit),
	KUNIT_CASE(create_mkey_without_pages_is_exact_to_the_bit),
	KUNIT_CASE_PARAM(entries_of_a_key_table_fit_the_device, dir_gen_params),
	{}
};

static struct kunit_suite odp_suite = {
	.name = "bluebell_odp",
	.test_cases = odp_cases,
};

kunit_test_suite(odp_suite);
