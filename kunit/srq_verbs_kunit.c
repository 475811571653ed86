// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the verbs of shared receive queues of processes: basic SRQs, which are RMPs to the
 * device, SRQs of XRC domains, and SRQs with tag matching, which are XRQs.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "fw/fw.h"
#include "layout/layout_srq.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

static int modify(struct objects *o, u32 limit, int mask)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	return mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, mask, objects_udata(o, NULL, 0, 0));
}

static void expect_number_in_response(struct kunit *test, struct objects *o)
{
	struct mlx5_ib_create_srq_resp resp;

	mock_read_answer(o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.srqn, o->srq.rsc.num);
}

/* The armed limit that the device reports: of an RMP, of an XRC SRQ, and of an XRQ. */
#define RMP_LIMIT	0x1234
#define XRC_SRQ_LIMIT	0x5678
#define XRQ_LIMIT	0x2345

static int fw_reports_limit(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	switch (MLX5_GET(query_rmp_in, in, opcode)) {
	case MLX5_CMD_OP_QUERY_RMP:
		MLX5_SET(query_rmp_out, out, rmp_context.wq.lwm, RMP_LIMIT);
		break;
	case MLX5_CMD_OP_QUERY_XRC_SRQ:
		MLX5_SET(query_xrc_srq_out, out, xrc_srq_context_entry.lwm, XRC_SRQ_LIMIT);
		break;
	case MLX5_CMD_OP_QUERY_XRQ:
		MLX5_SET(query_xrq_out, out, xrq_context.wq.lwm, XRQ_LIMIT);
		break;
	}
	return err;
}

/* The query of the SRQ sends the command @op, and reports its size and its armed limit. */
static void expect_query(struct kunit *test, struct objects *o, u16 op, u32 max_wr, u32 limit)
{
	struct ib_srq_attr attr;

	memset(&attr, 0xa5, sizeof(attr));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_reports_limit);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x00), op << 16);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, attr.max_wr, max_wr);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 1);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, limit);
}

/* Firmware refuses to query and to arm the SRQ. */
static void expect_refusals(struct kunit *test, struct objects *o)
{
	struct mock *mock = o->mock;
	struct ib_srq_attr attr;

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_srq(&o->srq.ibsrq, &attr), mock->refuse_err);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify(o, 1, IB_SRQ_LIMIT), mock->refuse_err);
	mock->refuse = 0;
}

/* ---- basic SRQs ------------------------------------------------------------------------- */

static void srq_is_told_by_the_number_of_its_rmp(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	expect_number_in_response(test, o);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void srq_limit_is_armed_by_modify_rmp(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	/* MODIFY_RMP: ready, the number, the bit for the limit, the limit. */
	KUNIT_EXPECT_EQ(test, modify(o, 127, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x00), 0x090d0000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x08), 0x10000000 | o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 1);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20), 0x00100000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20 + 0x30 + 0x04), 127);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The limit of an SRQ of 127 requests is at most 127, and its size cannot be changed. */
static void invalid_change_of_an_srq_sends_no_command(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify(o, 128, IB_SRQ_LIMIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(o, 0x10001, IB_SRQ_LIMIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(o, 1, IB_SRQ_LIMIT | IB_SRQ_MAX_WR), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(o, 1, 1 << 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(o, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void srq_query_reads_its_rmp(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	expect_query(test, o, 0x090f, 127, RMP_LIMIT);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void refusal_of_an_srq_command_reaches_the_caller(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
	expect_refusals(test, o);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void device_without_rmps_has_no_srqs(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_SRQ), 0);
	o->mock->num_commands = 0;
	mock_set_issi(o->mock, 0);
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_SRQ), -EOPNOTSUPP);
	mock_set_issi(o->mock, 1);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- XRC SRQs --------------------------------------------------------------------------- */

/*
 * The context of an XRC SRQ has room for all page offsets, unlike that of an RMP: 32 WQEs of
 * 32 bytes start in the middle of 4 KiB, and a page of 4 KiB describes them on any host.
 */
static struct objects *make_xrc_srq(struct kunit *test)
{
	struct objects *o = objects_make(test);

	o->srq_buf += SZ_2K;
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_SRQ), 0);
	return o;
}

static void xrc_srq_context_names_its_own_objects(struct kunit *test)
{
	struct objects *o = make_xrc_srq(test);
	struct mock *mock = o->mock;

	expect_number_in_response(test, o);
	KUNIT_EXPECT_EQ(test, o->srq.ibsrq.ext.xrc.srq_num, o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x00), 0x07050000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10), 0x05000000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x04), 0x01000000 | o->xrcd.xrcdn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x08), 0x80000000 | o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x10), 9);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x18), o->pd.pdn);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void xrc_srq_limit_is_armed_by_arm_xrc_srq(struct kunit *test)
{
	struct objects *o = make_xrc_srq(test);
	struct mock *mock = o->mock;

	KUNIT_EXPECT_EQ(test, modify(o, 31, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x00), 0x07080000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x04), 1);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x0c), 31);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void xrc_srq_query_reads_its_context(struct kunit *test)
{
	struct objects *o = make_xrc_srq(test);

	expect_query(test, o, 0x0707, 31, XRC_SRQ_LIMIT);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void refusal_of_an_xrc_srq_command_reaches_the_caller(struct kunit *test)
{
	struct objects *o = make_xrc_srq(test);

	expect_refusals(test, o);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- SRQs with tag matching ------------------------------------------------------------- */

static struct objects *make_tm_srq(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_TM_SRQ), 0);
	return o;
}

static void tm_srq_context_names_its_cq_and_its_list(struct kunit *test)
{
	struct objects *o = make_tm_srq(test);
	struct mock *mock = o->mock;

	expect_number_in_response(test, o);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x00), 0x07170000);
	/* Tag matching with rendezvous, the user index, the CQ, a list of 2^4 entries, the PD. */
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10), 0x00000101);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x04), 9);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x08), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x20), 0x40000000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x10 + 0x88), o->pd.pdn);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void tm_srq_limit_is_armed_by_arm_xrq(struct kunit *test)
{
	struct objects *o = make_tm_srq(test);
	struct mock *mock = o->mock;

	KUNIT_EXPECT_EQ(test, modify(o, 31, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x00), 0x071a0000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x08), o->srq.rsc.num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x0c), 31);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void tm_srq_query_reads_its_xrq(struct kunit *test)
{
	struct objects *o = make_tm_srq(test);

	expect_query(test, o, 0x0719, 31, XRQ_LIMIT);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void refusal_of_a_tm_srq_command_reaches_the_caller(struct kunit *test)
{
	struct objects *o = make_tm_srq(test);

	expect_refusals(test, o);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void tm_srq_needs_tags_that_the_list_can_hold(struct kunit *test)
{
	struct objects *o = make_tm_srq(test);
	static const u32 wrong[] = { 0, 128, U32_MAX };
	int i;

	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_TM_SRQ), 0);
	o->mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		o->srq_tags = wrong[i];
		KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_TM_SRQ), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	o->srq_tags = 127;
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_TM_SRQ), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x20), 0x70000000);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- all types -------------------------------------------------------------------------- */

static void kernel_consumer_has_basic_srqs_only(struct kunit *test)
{
	static const enum ib_srq_type types[] = { IB_SRQT_XRC, IB_SRQT_TM, IB_SRQT_TM + 1 };
	struct objects *o = objects_make(test);
	int i;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_PD), 0);
	o->mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ib_srq_init_attr init = {
			.srq_type = types[i], .attr = { .max_wr = 1 },
		};

		memset(&o->srq, 0, sizeof(o->srq));
		o->srq.ibsrq.device = &o->mock->dev->ib_dev;
		o->srq.ibsrq.pd = &o->pd.ibpd;
		o->srq.ibsrq.srq_type = types[i];
		KUNIT_EXPECT_EQ(test, mlx5_ib_create_srq(&o->srq.ibsrq, &init, NULL), -EOPNOTSUPP);
	}
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The driver requires that each WQE of a kernel consumer's queue lies in one page. */
static void srq_of_a_kernel_consumer_has_wqes_of_a_page_at_most(struct kunit *test)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = 1, .max_sge = PAGE_SIZE / 16 },
	};
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	if (IS_ENABLED(CONFIG_PAGE_SIZE_64KB))
		kunit_skip(test, "no WQE is longer than a page: max_wqe_sz_rq has 16 bits");
	MOCK_SET_CAP(&mock->dev->caps, max_wqe_sz_rq, 2 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_PD), 0);
	mock->num_commands = 0;
	memset(&o->srq, 0, sizeof(o->srq));
	o->srq.ibsrq.device = &mock->dev->ib_dev;
	o->srq.ibsrq.pd = &o->pd.ibpd;
	o->srq.ibsrq.srq_type = IB_SRQT_BASIC;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_srq(&o->srq.ibsrq, &init, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
	/* With one segment less there is room for the link to the next WQE. */
	init.attr.max_sge--;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_srq(&o->srq.ibsrq, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, init.attr.max_sge, PAGE_SIZE / 16 - 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_srq(&o->srq.ibsrq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* CQEs of version 0 have no user index: the library passes the largest, which means none. */
static void user_index_of_an_xrc_srq_fits_the_cqe_version(struct kunit *test)
{
	static const struct {
		u8 cqe_version;
		u32 uidx;
		int want;
	} cases[] = {
		{ 1, 0xfffffe, 0 }, { 1, 0xffffff, -EINVAL }, { 0, 0xffffff, 0 }, { 0, 9, -EINVAL },
	};
	struct mlx5_ib_create_srq ucmd = {};
	struct ib_srq_init_attr init = { .srq_type = IB_SRQT_XRC, .attr = { .max_wr = 1 } };
	struct objects *o = objects_make(test);
	struct ib_srq *srq = &o->srq.ibsrq;
	int i;

	/* This also creates the objects that the SRQs below name. */
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_SRQ), 0);
	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_XRC_SRQ), 0);
	ucmd.buf_addr = o->srq_buf;
	ucmd.db_addr = o->srq_db;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		o->mock->context->cqe_version = cases[i].cqe_version;
		ucmd.uidx = cases[i].uidx;
		o->mock->num_commands = 0;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_create_srq(srq, &init,
							     objects_udata(o, &ucmd, sizeof(ucmd),
									   8)),
				    cases[i].want, "case %d", i);
		KUNIT_EXPECT_EQ(test, o->mock->num_commands, !cases[i].want);
		if (cases[i].want)
			continue;
		KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0x10 + 0x10), cases[i].uidx);
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_srq(srq, &o->mock->attrs->driver_udata), 0);
	}
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* With wq_signature set the device checks signatures of WQEs; otherwise it ignores the bytes. */
static void srq_has_the_signatures_that_the_library_asks_for(struct kunit *test)
{
	struct objects *o = objects_make(test);
	const void *in = o->mock->in;
	unsigned int signature;

	MOCK_SET_CAP(&o->mock->dev->caps, wq_signature, 1);
	for (signature = 0; signature <= 1; signature++) {
		o->srq_flags = signature ? MLX5_SRQ_FLAG_SIGNATURE : 0;
		KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_SRQ), 0);
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_rmp_in, in, opcode), MLX5_CMD_OP_CREATE_RMP);
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_rmp_in, in, ctx.wq.wq_signature), signature);
		KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_SRQ), 0);
		KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_SRQ), 0);
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_xrc_srq_in, in, opcode),
				MLX5_CMD_OP_CREATE_XRC_SRQ);
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_xrc_srq_in, in,
					       xrc_srq_context_entry.wq_signature), signature);
		KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_XRC_SRQ), 0);
	}
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static struct kunit_case srq_verbs_cases[] = {
	KUNIT_CASE(srq_is_told_by_the_number_of_its_rmp),
	KUNIT_CASE(srq_limit_is_armed_by_modify_rmp),
	KUNIT_CASE(invalid_change_of_an_srq_sends_no_command),
	KUNIT_CASE(srq_query_reads_its_rmp),
	KUNIT_CASE(refusal_of_an_srq_command_reaches_the_caller),
	KUNIT_CASE(device_without_rmps_has_no_srqs),
	KUNIT_CASE(xrc_srq_context_names_its_own_objects),
	KUNIT_CASE(xrc_srq_limit_is_armed_by_arm_xrc_srq),
	KUNIT_CASE(xrc_srq_query_reads_its_context),
	KUNIT_CASE(refusal_of_an_xrc_srq_command_reaches_the_caller),
	KUNIT_CASE(tm_srq_context_names_its_cq_and_its_list),
	KUNIT_CASE(tm_srq_limit_is_armed_by_arm_xrq),
	KUNIT_CASE(tm_srq_query_reads_its_xrq),
	KUNIT_CASE(refusal_of_a_tm_srq_command_reaches_the_caller),
	KUNIT_CASE(tm_srq_needs_tags_that_the_list_can_hold),
	KUNIT_CASE(kernel_consumer_has_basic_srqs_only),
	KUNIT_CASE(srq_of_a_kernel_consumer_has_wqes_of_a_page_at_most),
	KUNIT_CASE(user_index_of_an_xrc_srq_fits_the_cqe_version),
	KUNIT_CASE(srq_has_the_signatures_that_the_library_asks_for),
	{}
};

static struct kunit_suite srq_verbs_suite = {
	.name = "bluebell_srq_verbs",
	.test_cases = srq_verbs_cases,
};

kunit_test_suite(srq_verbs_suite);
