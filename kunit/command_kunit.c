// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the commands that the verbs of QPs and CQs send: every byte of each
 * state change along chains of changes that build on each other, connection
 * establishment options, clocks, and moderation.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/golden.h"
#include "lib/mock.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

/* Each object has a different number. The mock firmware allocates only the QP's number. */
#define UID		0x5a
#define PDN		0x111
#define SEND_CQN	0x122
#define RECV_CQN	0x133
#define QPN		0x100

#define QP_BUF		0
#define CQ_BUF		1
#define RECORDS		2
#define COMMAND_SIZE	0x110
#define QPC_AT		0x18

struct objects {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq send_cq;
	struct mlx5_ib_cq recv_cq;
	struct mlx5_ib_qp qp;
	u32 qp_flags;		/* MLX5_QP_FLAG_* of the next queue pair */
	struct ib_srq *srq;	/* of the next queue pair, or NULL */
};

static struct objects *make_objects(struct kunit *test)
{
	struct objects *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct mock *mock = mock_create(test);

	KUNIT_ASSERT_NOT_NULL(test, o);
	mock_open(mock);
	mock->dev->caps.atomic_mode = 3;
	mock->dev->caps.pkey_table_len = 128;
	mock->dev->counter_set_id = 0x2a;
	mock->context->uid = UID;
	o->mock = mock;
	o->pd.ibpd.device = &mock->dev->ib_dev;
	o->pd.pdn = PDN;
	o->send_cq.ibcq.device = &mock->dev->ib_dev;
	o->send_cq.mcq.cqn = SEND_CQN;
	o->send_cq.mcq.uid = UID;
	o->send_cq.cqe_size = 64;
	mutex_init(&o->send_cq.resize_lock);
	o->recv_cq.ibcq.device = &mock->dev->ib_dev;
	o->recv_cq.mcq.cqn = RECV_CQN;
	o->recv_cq.mcq.uid = UID;
	o->recv_cq.cqe_size = 64;
	return o;
}

static void finish(struct objects *o)
{
	o->mock->context->uid = 0;
	mock_close(o->mock);
}

static int create_qp(struct objects *o, enum ib_qp_type type, u32 ece_options)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = mock_buffer(o->mock, QP_BUF), .db_addr = mock_buffer(o->mock, RECORDS),
		.sq_wqe_count = 16, .rq_wqe_count = o->srq ? 0 : 64,
		.rq_wqe_shift = o->srq ? 0 : 4, .uidx = 5,
		.ece_options = ece_options, .flags = o->qp_flags,
	};
	struct ib_qp_init_attr init = {
		.qp_type = type, .srq = o->srq, .send_cq = &o->send_cq.ibcq,
		.recv_cq = &o->recv_cq.ibcq,
		.cap = {
			.max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	memset(&o->qp, 0, sizeof(o->qp));
	o->qp.ibqp.device = &o->mock->dev->ib_dev;
	o->qp.ibqp.pd = &o->pd.ibpd;
	o->qp.ibqp.qp_type = type;
	return mlx5_ib_create_qp(&o->qp.ibqp, &init,
				 mock_udata(o->mock, &ucmd, sizeof(ucmd),
					    sizeof(struct mlx5_ib_create_qp_resp)));
}

static int destroy_qp(struct objects *o)
{
	return mlx5_ib_destroy_qp(&o->qp.ibqp, &o->mock->attrs->driver_udata);
}

/* ib_core keeps the port of the last change that succeeded. */
static int modify_qp(struct objects *o, const struct ib_qp_attr *step, int mask)
{
	struct ib_qp_attr attr = *step;
	int err;

	err = mlx5_ib_modify_qp(&o->qp.ibqp, &attr, mask, mock_udata(o->mock, NULL, 0, 0));
	if (!err && (mask & IB_QP_PORT))
		o->qp.ibqp.port = attr.port_num;
	return err;
}

/* ---- state changes ---------------------------------------------------------------------- */

#define INIT_MASK	(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define UC_RTR_MASK	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define RTR_MASK	(UC_RTR_MASK | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RTS_MASK	(IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
			 IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)

#define ADDRESS { .type = RDMA_AH_ATTR_TYPE_IB, .port_num = 2, .sl = 9, .ib = { .dlid = 0x1234 } }

/*
 * A state change. @want is the context of the command, without the fields that are the same in each
 * step: the PD, the CQs, the ACK frequency and, to INIT, the doorbell record.
 */
struct step {
	const char *name;
	struct ib_qp_attr attr;
	int mask;
	int refuse;
	u16 opcode;
	u32 opt;
	struct golden want[GOLDEN_MAX];
};

static const struct step rc_steps[] = {
	{
		"RESET to INIT",
		{
			.qp_state = IB_QPS_INIT, .port_num = 1, .pkey_index = 5,
			.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
		},
		INIT_MASK, 0, 0x502, 0,
		{
			{ 0x00, 0x00001800 }, { 0x0c, 0x2a000000 }, { 0x18, 5 },
			{ 0x3c, 0x00010000 }, { 0x90, 0x00004000 },
		},
	},
	{
		"INIT to INIT with all that INIT has changed",
		{
			.port_num = 2, .pkey_index = 0x7f,
			.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC,
		},
		INIT_MASK & ~IB_QP_STATE, 0, 0x50e, 0x1001e,
		{
			{ 0x00, 0x00001800 }, { 0x18, 0x7f }, { 0x3c, 0x00020000 },
			{ 0x90, 0x0003a000 },
		},
	},
	{
		"INIT to RTR, refused",
		{
			.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_256, .dest_qp_num = 1,
			.max_dest_rd_atomic = 16, .qp_access_flags = IB_ACCESS_REMOTE_WRITE,
			.ah_attr = ADDRESS,
		},
		RTR_MASK | IB_QP_ACCESS_FLAGS, -EBUSY, 0x503, 0x0e,
		{
			{ 0x00, 0x00001800 }, { 0x08, 0x3e000000 }, { 0x14, 1 },
			{ 0x1c, 0x1234 }, { 0x3c, 0x09020000 }, { 0x90, 0x00804000 },
		},
	},
	{
		"INIT to RTR without resources for reads",
		{
			.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_4096, .dest_qp_num = 0xabcdef,
			.rq_psn = 0x123456, .min_rnr_timer = 17, .ah_attr = ADDRESS,
		},
		RTR_MASK, 0, 0x503, 0x0e,
		{
			{ 0x00, 0x00001800 }, { 0x08, 0xbe000000 }, { 0x14, 0xabcdef },
			{ 0x1c, 0x1234 }, { 0x3c, 0x09020000 }, { 0x94, 0x11123456 },
		},
	},
	{
		"RTR to RTS",
		{
			.qp_state = IB_QPS_RTS, .timeout = 19, .retry_cnt = 5, .rnr_retry = 3,
			.sq_psn = 0xfedcba, .max_rd_atomic = 3,
		},
		RTS_MASK, 0, 0x504, 0,
		{
			{ 0x00, 0x00001800 }, { 0x20, 0x98000000 }, { 0x3c, 0x00020000 },
			{ 0x70, 0x80456000 }, { 0x78, 0xfedcba },
		},
	},
	{
		"RTS to RTS with other rights, of which reads have no resources",
		{ .qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ },
		IB_QP_ACCESS_FLAGS, 0, 0x505, 0x0e,
		{ { 0x00, 0x00001800 }, { 0x3c, 0x00020000 }, { 0x90, 0x00004000 } },
	},
	{
		"claimed SQD to RTS",
		{ .cur_qp_state = IB_QPS_SQD, .qp_state = IB_QPS_RTS, .min_rnr_timer = 21 },
		IB_QP_CUR_STATE | IB_QP_STATE | IB_QP_MIN_RNR_TIMER, 0, 0x50c, 0x40,
		{
			{ 0x00, 0x00001800 }, { 0x3c, 0x00020000 }, { 0x90, 0x00004000 },
			{ 0x94, 0x15000000 },
		},
	},
	{ "RTS to ERR", { .qp_state = IB_QPS_ERR }, IB_QP_STATE, 0, 0x507 },
	{ "ERR to RESET", { .qp_state = IB_QPS_RESET }, IB_QP_STATE, 0, 0x50a },
	{
		"RESET to INIT again",
		{
			.qp_state = IB_QPS_INIT, .port_num = 2, .pkey_index = 3,
			.qp_access_flags = IB_ACCESS_REMOTE_READ,
		},
		INIT_MASK, 0, 0x502, 0,
		{
			{ 0x00, 0x00001800 }, { 0x0c, 0x2a000000 }, { 0x18, 3 },
			{ 0x3c, 0x00020000 }, { 0x90, 0x00008000 },
		},
	},
	{
		"INIT to RTR with resources for reads",
		{
			.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_512, .dest_qp_num = 0x456,
			.max_dest_rd_atomic = 5, .ah_attr = ADDRESS,
		},
		RTR_MASK, 0, 0x503, 0x0e,
		{
			{ 0x00, 0x00001800 }, { 0x08, 0x5e000000 }, { 0x14, 0x456 },
			{ 0x1c, 0x1234 }, { 0x3c, 0x09020000 }, { 0x90, 0x00608000 },
		},
	},
	{
		"RTR to RTS with the rights of INIT",
		{ .qp_state = IB_QPS_RTS, .timeout = 1 },
		RTS_MASK, 0, 0x504, 0,
		{
			{ 0x00, 0x00001800 }, { 0x20, 0x08000000 }, { 0x3c, 0x00020000 },
			{ 0x90, 0x00008000 },
		},
	},
	{
		"RTS to RTS with all rights",
		{
			.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
					   IB_ACCESS_REMOTE_ATOMIC,
		},
		IB_QP_ACCESS_FLAGS, 0, 0x505, 0x0e,
		{ { 0x00, 0x00001800 }, { 0x3c, 0x00020000 }, { 0x90, 0x0003e000 } },
	},
	{}
};

static const struct step uc_steps[] = {
	{
		"RESET to INIT",
		{
			.qp_state = IB_QPS_INIT, .port_num = 2, .pkey_index = 9,
			.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		},
		INIT_MASK, 0, 0x502, 0,
		{
			{ 0x00, 0x00011800 }, { 0x0c, 0x2a000000 }, { 0x18, 9 },
			{ 0x3c, 0x00020000 }, { 0x90, 0x00004000 },
		},
	},
	{
		"INIT to RTR",
		{
			.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024, .dest_qp_num = 0x77,
			.rq_psn = 0x10, .ah_attr = ADDRESS,
		},
		UC_RTR_MASK, 0, 0x503, 0,
		{
			{ 0x00, 0x00011800 }, { 0x08, 0x7e000000 }, { 0x14, 0x77 },
			{ 0x1c, 0x1234 }, { 0x3c, 0x09020000 }, { 0x90, 0x00004000 },
			{ 0x94, 0x10 },
		},
	},
	{
		"RTR to RTS", { .qp_state = IB_QPS_RTS, .sq_psn = 0x99 },
		IB_QP_STATE | IB_QP_SQ_PSN, 0, 0x504, 0,
		{
			{ 0x00, 0x00011800 }, { 0x3c, 0x00020000 }, { 0x78, 0x99 },
			{ 0x90, 0x00004000 },
		},
	},
	{
		"claimed SQE to RTS without rights, refused",
		{ .cur_qp_state = IB_QPS_SQE, .qp_state = IB_QPS_RTS },
		IB_QP_CUR_STATE | IB_QP_STATE | IB_QP_ACCESS_FLAGS, -EBUSY, 0x506, 0x08,
		{ { 0x00, 0x00011800 }, { 0x3c, 0x00020000 } },
	},
	{
		"claimed SQE to RTS",
		{ .cur_qp_state = IB_QPS_SQE, .qp_state = IB_QPS_RTS },
		IB_QP_CUR_STATE | IB_QP_STATE, 0, 0x506, 0,
		{ { 0x00, 0x00011800 }, { 0x3c, 0x00020000 }, { 0x90, 0x00004000 } },
	},
	{}
};

static const struct step ud_steps[] = {
	{
		"RESET to INIT",
		{
			.qp_state = IB_QPS_INIT, .port_num = 2, .pkey_index = 2,
			.qkey = 0x11223344,
		},
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0, 0x502, 0,
		{
			{ 0x00, 0x00021800 }, { 0x0c, 0x2a000000 }, { 0x18, 2 },
			{ 0x3c, 0x00020000 }, { 0xa8, 0x11223344 },
		},
	},
	{
		"INIT to RTR", { .qp_state = IB_QPS_RTR }, IB_QP_STATE, 0, 0x503, 0,
		{ { 0x00, 0x00021800 }, { 0x08, 0xac000000 }, { 0x3c, 0x00020000 } },
	},
	{
		"RTR to RTS", { .qp_state = IB_QPS_RTS, .sq_psn = 0x654321 },
		IB_QP_STATE | IB_QP_SQ_PSN, 0, 0x504, 0,
		{ { 0x00, 0x00021800 }, { 0x3c, 0x00020000 }, { 0x78, 0x654321 } },
	},
	{
		"claimed SQE to RTS with another Q_Key",
		{ .cur_qp_state = IB_QPS_SQE, .qp_state = IB_QPS_RTS, .qkey = 0x55667788 },
		IB_QP_CUR_STATE | IB_QP_STATE | IB_QP_QKEY, 0, 0x506, 0x20,
		{ { 0x00, 0x00021800 }, { 0x3c, 0x00020000 }, { 0xa8, 0x55667788 } },
	},
	{}
};

static const struct chain_case {
	const char *name;
	enum ib_qp_type type;
	const struct step *steps;
} chain_cases[] = {
	{ "RC", IB_QPT_RC, rc_steps },
	{ "UC", IB_QPT_UC, uc_steps },
	{ "UD", IB_QPT_UD, ud_steps },
};

KUNIT_ARRAY_PARAM_DESC(chain, chain_cases, name);

static void expect_command(struct objects *o, const struct step *step)
{
	struct golden want[GOLDEN_MAX] = {
		{ 0x00, step->opcode << 16 | UID }, { 0x08, QPN }, { 0x10, step->opt },
		{ QPC_AT + 0x04, PDN }, { QPC_AT + 0x7c, SEND_CQN }, { QPC_AT + 0x9c, RECV_CQN },
		{ QPC_AT + 0x70, 0x80000000 },
	};
	u64 record = o->qp.mem.db.dma;
	int num = 7, i;

	/* 2ERR_QP and 2RST_QP have a QP number and no context. */
	if (step->opcode == 0x507 || step->opcode == 0x50a)
		num = 2;
	memset(want + num, 0, sizeof(want) - num * sizeof(*want));
	if (step->opcode == 0x502 || step->opcode == 0x50e) {
		want[num++] = (struct golden){ QPC_AT + 0xa0, upper_32_bits(record) };
		want[num++] = (struct golden){ QPC_AT + 0xa4, lower_32_bits(record) };
	}
	for (i = 0; i < GOLDEN_MAX && step->want[i].value; i++) {
		want[num] = step->want[i];
		want[num++].offset += QPC_AT;
	}
	expect_golden(o->mock->test, o->mock->in, COMMAND_SIZE, want);
}

static void state_change_sends_its_own_attributes_only(struct kunit *test)
{
	const struct chain_case *c = test->param_value;
	struct objects *o = make_objects(test);
	const struct step *step;
	enum ib_qp_state was;

	KUNIT_ASSERT_EQ(test, create_qp(o, c->type, 0), 0);
	KUNIT_ASSERT_EQ(test, o->qp.rsc.num, QPN);
	for (step = c->steps; step->name; step++) {
		kunit_info(test, "%s", step->name);
		was = o->qp.state;
		o->mock->num_commands = 0;
		o->mock->refuse = !!step->refuse;
		KUNIT_ASSERT_EQ_MSG(test, modify_qp(o, &step->attr, step->mask), step->refuse,
				    "%s", step->name);
		KUNIT_EXPECT_EQ_MSG(test, o->mock->num_commands, 1, "%s", step->name);
		expect_command(o, step);
		KUNIT_EXPECT_EQ_MSG(test, o->qp.state,
				    !step->refuse && (step->mask & IB_QP_STATE) ?
				    step->attr.qp_state : was, "%s", step->name);
	}
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/*
 * The driver does not know the state: it refuses a change that is illegal from the state that the
 * user claims.
 */
static void claimed_state_decides_which_change_is_legal(struct kunit *test)
{
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_RTR, .qp_state = IB_QPS_RTS };
	struct objects *o = make_objects(test);

	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0) ?:
			      modify_qp(o, &rc_steps[0].attr, INIT_MASK), 0);
	o->mock->num_commands = 0;
	/* RTR to RTS lacks attributes; RC has no change from SQE, and none from INIT to RTS. */
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_CUR_STATE | IB_QP_STATE), -EINVAL);
	attr.cur_qp_state = IB_QPS_SQE;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_CUR_STATE | IB_QP_STATE), -EINVAL);
	attr.cur_qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_CUR_STATE | IB_QP_STATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);

	/* Without IB_QP_STATE the next state is the claimed one: RTS to RTS. */
	attr.cur_qp_state = IB_QPS_RTS;
	o->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &attr, IB_QP_CUR_STATE), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0), 0x0505 << 16 | UID);
	KUNIT_EXPECT_EQ(test, o->qp.state, IB_QPS_INIT);
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* State of the queue pair at the device, MLX5_QP_STATE_*, which QUERY_QP reports. */
static u8 device_state;

static int fw_reports_state(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	if (MLX5_GET(query_qp_in, in, opcode) == MLX5_CMD_OP_QUERY_QP)
		MLX5_SET(query_qp_out, out, qpc.state, device_state);
	return err;
}

static int query_qp(struct objects *o)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};

	return mlx5_ib_query_qp(&o->qp.ibqp, &attr, IB_QP_STATE, &init);
}

/* The driver learns only by a query that the device has taken the queue pair to ERR. */
static void queried_state_decides_the_next_change(struct kunit *test)
{
	static const struct ib_qp_attr rst = { .qp_state = IB_QPS_RESET };
	static const struct ib_qp_attr rts = { .min_rnr_timer = 3 };
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_reports_state);
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0) ?:
			      modify_qp(o, &rc_steps[0].attr, INIT_MASK), 0);
	o->qp.state = IB_QPS_RTS;
	device_state = MLX5_QP_STATE_ERR;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rts, IB_QP_MIN_RNR_TIMER), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0), 0x0505 << 16 | UID);
	/* A refused query changes nothing. */
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, query_qp(o), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, o->qp.state, IB_QPS_RTS);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, query_qp(o), 0);
	KUNIT_EXPECT_EQ(test, o->qp.state, IB_QPS_ERR);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rts, IB_QP_MIN_RNR_TIMER), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rc_steps[0].attr, INIT_MASK), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rst, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0), 0x050a << 16 | UID);
	/* To take a queue pair in RESET to RESET needs no command. */
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rst, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rc_steps[0].attr, INIT_MASK), 0);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* ---- what the emulated HCA lacks -------------------------------------------------------- */

static int modify_with_ece(struct objects *o, const struct ib_qp_attr *step, int mask, u32 ece,
			   struct mlx5_ib_modify_qp_resp *resp)
{
	struct mlx5_ib_modify_qp ucmd = { .ece_options = ece };
	struct ib_qp_attr attr = *step;
	int err;

	err = mlx5_ib_modify_qp(&o->qp.ibqp, &attr, mask,
				mock_udata(o->mock, &ucmd, sizeof(ucmd), sizeof(*resp)));
	mock_read_answer(o->mock, resp, sizeof(*resp));
	return err;
}

static void ece_options_pass_in_both_directions(struct kunit *test)
{
	struct mlx5_ib_create_qp_resp created;
	struct mlx5_ib_modify_qp_resp resp;
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	MOCK_SET_CAP(&mock->dev->caps, ece_support, 1);
	mock->ece = 0x70000001;
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0x1000000f), 0);
	mock_read_answer(mock, &created, sizeof(created));
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 0x1000000f);
	KUNIT_EXPECT_EQ(test, created.ece_options, 0x70000001);

	mock->ece = 0x60000002;
	KUNIT_ASSERT_EQ(test, modify_with_ece(o, &rc_steps[0].attr, INIT_MASK, 0x2000000e, &resp),
			0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 0x2000000e);
	KUNIT_EXPECT_EQ(test, resp.ece_options, 0x60000002);
	KUNIT_EXPECT_EQ(test, resp.response_length, sizeof(resp));
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* An old library sets ece_options for each new queue pair, on any device; the response has 0. */
static void device_without_ece_gets_no_options(struct kunit *test)
{
	struct mlx5_ib_create_qp_resp created;
	struct mlx5_ib_modify_qp_resp resp;
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	MOCK_SET_CAP(&mock->dev->caps, ece_support, 0);
	mock->ece = 0;
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0x1000000f), 0);
	mock_read_answer(mock, &created, sizeof(created));
	KUNIT_EXPECT_EQ(test, created.ece_options, 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_with_ece(o, &rc_steps[0].attr, INIT_MASK, 1, &resp),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* ---- the order of receives -------------------------------------------------------------- */

static int modify_out_of_order(struct objects *o, const struct ib_qp_attr *step, int mask)
{
	struct mlx5_ib_modify_qp ucmd = { .comp_mask = MLX5_IB_MODIFY_QP_OOO_DP };
	struct ib_qp_attr attr = *step;
	int err;

	err = mlx5_ib_modify_qp(&o->qp.ibqp, &attr, mask,
				mock_udata(o->mock, &ucmd, sizeof(ucmd), 0));
	if (!err && (mask & IB_QP_PORT))
		o->qp.ibqp.port = attr.port_num;
	return err;
}

static void out_of_order_data_is_set_at_rtr_if_init_asks_for_it(struct kunit *test)
{
	struct ib_qp_attr rst = { .qp_state = IB_QPS_RESET }, init = rc_steps[0].attr;
	struct ib_qp_attr rtr = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_256, .dest_qp_num = 1,
		.ah_attr = ADDRESS,
	};
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;
	void *qpc = MLX5_ADDR_OF(init2rtr_qp_in, mock->in, qpc);

	MOCK_SET_CAP(&mock->dev->caps, dp_ordering_ooo_all_ud, 1);
	MOCK_SET_CAP(&mock->dev->caps, dp_ordering_ooo_all_uc, 1);
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);

	MOCK_SET_CAP(&mock->dev->caps, dp_ordering_ooo_all_rc, 1);
	KUNIT_ASSERT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 0);
	/*
	 * The library may ask for out-of-order data again in INIT, but not from INIT to RTR or
	 * later.
	 */
	KUNIT_EXPECT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_out_of_order(o, &rtr, RTR_MASK), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rtr, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_force), 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_out_of_order(o, &rst, IB_QP_STATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rst, IB_QP_STATE), 0);

	/* A queue pair whose user does not ask for data out of order receives in order. */
	KUNIT_ASSERT_EQ(test, modify_qp(o, &init, INIT_MASK), 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rtr, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 0);
	KUNIT_EXPECT_EQ(test, modify_qp(o, &rst, IB_QP_STATE), 0);

	MOCK_SET_CAP(&mock->dev->caps, hca_cap_2, 1);
	MOCK_SET_CAP_OF(&mock->dev->caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, dp_ordering_force, 1);
	KUNIT_ASSERT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rtr, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_force), 1);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/*
 * The driver keeps the request for out-of-order data until RTR, also over a change from INIT to
 * INIT that does not repeat the request.
 */
static void change_in_init_keeps_the_request_for_out_of_order_data(struct kunit *test)
{
	struct ib_qp_attr rst = { .qp_state = IB_QPS_RESET }, init = rc_steps[0].attr;
	struct ib_qp_attr rtr = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_256, .dest_qp_num = 1,
		.ah_attr = ADDRESS,
	};
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;
	void *qpc = MLX5_ADDR_OF(init2rtr_qp_in, mock->in, qpc);

	MOCK_SET_CAP(&mock->dev->caps, dp_ordering_ooo_all_rc, 1);
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
	KUNIT_ASSERT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &init, INIT_MASK & ~IB_QP_STATE), 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rtr, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 1);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rst, IB_QP_STATE), 0);
	/* The first request may also come with a change from INIT to INIT. */
	KUNIT_ASSERT_EQ(test, modify_qp(o, &init, INIT_MASK), 0);
	init.qp_state = IB_QPS_INIT;
	KUNIT_ASSERT_EQ(test, modify_out_of_order(o, &init, INIT_MASK), 0);
	KUNIT_ASSERT_EQ(test, modify_qp(o, &rtr, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, dp_ordering_1), 1);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* A command without a field for ECE options grants none, whatever the library asks for. */
static void command_without_an_ece_field_grants_no_options(struct kunit *test)
{
	struct ib_qp_attr err = { .qp_state = IB_QPS_ERR }, rst = { .qp_state = IB_QPS_RESET };
	struct mlx5_ib_modify_qp_resp resp;
	struct objects *o = make_objects(test);
	struct mock *mock = o->mock;

	MOCK_SET_CAP(&mock->dev->caps, ece_support, 1);
	mock->ece = 0x60000002;
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
	KUNIT_EXPECT_EQ(test, modify_with_ece(o, &rst, IB_QP_STATE, 0x2000000e, &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.ece_options, 0);
	KUNIT_ASSERT_EQ(test, modify_with_ece(o, &rc_steps[0].attr, INIT_MASK, 0x2000000e, &resp),
			0);
	KUNIT_EXPECT_EQ(test, resp.ece_options, 0x60000002);
	KUNIT_EXPECT_EQ(test, modify_with_ece(o, &err, IB_QP_STATE, 0x2000000e, &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.ece_options, 0);
	KUNIT_EXPECT_EQ(test, modify_with_ece(o, &rst, IB_QP_STATE, 0x2000000e, &resp), 0);
	KUNIT_EXPECT_EQ(test, resp.ece_options, 0);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

static int create_cq(struct objects *o, struct mlx5_ib_cq *cq, u16 flags)
{
	struct mlx5_ib_create_cq ucmd = {
		.buf_addr = mock_buffer(o->mock, CQ_BUF),
		.db_addr = mock_buffer(o->mock, RECORDS) + 64, .cqe_size = 64, .flags = flags,
	};
	struct ib_cq_init_attr attr = { .cqe = 15 };

	memset(cq, 0, sizeof(*cq));
	cq->ibcq.device = &o->mock->dev->ib_dev;
	mock_udata(o->mock, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&cq->ibcq, &attr, o->mock->attrs);
}

/* qpc.ts_format is real time if the send CQ or the receive CQ has real-time stamps. */
static void queue_pair_takes_the_clock_of_its_cqs(struct kunit *test)
{
	static const struct {
		bool send, recv;
		u8 want;
	} cases[] = {
		{ false, false, 0 }, { true, false, 2 }, { false, true, 2 }, { true, true, 2 },
	};
	struct objects *o = make_objects(test);
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;
	struct mlx5_ib_cq *cqs = kunit_kcalloc(test, 2, sizeof(*cqs), GFP_KERNEL);
	struct mlx5_ib_cq *plain = &cqs[0], *clock = &cqs[1];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, cqs);
	KUNIT_EXPECT_EQ(test, create_cq(o, clock, MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS),
			-EOPNOTSUPP);
	/* The device has the free-running clock and the real-time clock. */
	MOCK_SET_CAP(caps, sq_ts_format, 2);
	KUNIT_ASSERT_EQ(test, create_cq(o, clock, MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS), 0);
	KUNIT_ASSERT_EQ(test, create_cq(o, plain, 0), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		o->send_cq.real_time = cqs[cases[i].send].real_time;
		o->recv_cq.real_time = cqs[cases[i].recv].real_time;
		KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
		KUNIT_EXPECT_EQ_MSG(test, MLX5_GET(create_qp_in, o->mock->in, qpc.ts_format),
				    cases[i].want, "case %d", i);
		KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&clock->ibcq, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&plain->ibcq, &o->mock->attrs->driver_udata), 0);
	finish(o);
}

/*
 * Messages to a queue pair whose SRQ has tag matching complete in the CQ of the SRQ: the size and
 * the stamps of that CQ's entries count, not those of the queue pair's receive CQ.
 */
static void messages_with_tags_complete_in_the_cq_of_the_srq(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;
	struct mlx5_ib_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct mlx5_ib_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	void *qpc = MLX5_ADDR_OF(create_qp_in, o->mock->in, qpc);

	KUNIT_ASSERT_NOT_NULL(test, srq);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	MOCK_SET_CAP(caps, sctr_data_cqe, 1);
	cq->ibcq.device = &o->mock->dev->ib_dev;
	cq->cqe_size = 64;
	srq->ibsrq.device = &o->mock->dev->ib_dev;
	srq->ibsrq.srq_type = IB_SRQT_TM;
	srq->ibsrq.ext.cq = &cq->ibcq;
	o->recv_cq.cqe_size = 128;
	o->recv_cq.real_time = true;
	o->qp_flags = MLX5_QP_FLAG_SCATTER_CQE;
	o->srq = &srq->ibsrq;
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_res), MLX5_QPC_CS_RES_UP_TO_32B);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, ts_format), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_rcv), RECV_CQN);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	cq->cqe_size = 128;
	cq->real_time = true;
	o->recv_cq.cqe_size = 64;
	o->recv_cq.real_time = false;
	KUNIT_ASSERT_EQ(test, create_qp(o, IB_QPT_RC, 0), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cs_res), MLX5_QPC_CS_RES_UP_TO_64B);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, ts_format), 2);
	KUNIT_EXPECT_EQ(test, destroy_qp(o), 0);
	finish(o);
}

/* ---- moderation ------------------------------------------------------------------------- */

static void moderation_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x04030000 | UID }, { 0x08, SEND_CQN }, { 0x0c, 3 },
		{ 0x20, 0x0abcdef1 },
	};
	static const struct golden widest[GOLDEN_MAX] = {
		{ 0x00, 0x04030000 | UID }, { 0x08, SEND_CQN }, { 0x0c, 3 },
		{ 0x20, 0x0fffffff },
	};
	struct objects *o = make_objects(test);
	struct ib_cq *cq = &o->send_cq.ibcq;

	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 0xdef1, 0xabc), 0);
	expect_golden(test, o->mock->in, COMMAND_SIZE, want);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 0xffff, 0xfff), 0);
	expect_golden(test, o->mock->in, COMMAND_SIZE, widest);
	finish(o);
}

static void moderation_that_the_device_cannot_do_is_refused(struct kunit *test)
{
	struct objects *o = make_objects(test);
	struct ib_cq *cq = &o->send_cq.ibcq;

	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 1, 0x1000), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 1, 0xffff), -EINVAL);
	MOCK_SET_CAP(&o->mock->dev->caps, cq_moderation, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 1, 1), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	MOCK_SET_CAP(&o->mock->dev->caps, cq_moderation, 1);
	o->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_cq(cq, 1, 1), o->mock->refuse_err);
	o->mock->refuse = 0;
	finish(o);
}

static struct kunit_case command_cases[] = {
	KUNIT_CASE_PARAM(state_change_sends_its_own_attributes_only, chain_gen_params),
	KUNIT_CASE(claimed_state_decides_which_change_is_legal),
	KUNIT_CASE(queried_state_decides_the_next_change),
	KUNIT_CASE(ece_options_pass_in_both_directions),
	KUNIT_CASE(device_without_ece_gets_no_options),
	KUNIT_CASE(out_of_order_data_is_set_at_rtr_if_init_asks_for_it),
	KUNIT_CASE(change_in_init_keeps_the_request_for_out_of_order_data),
	KUNIT_CASE(command_without_an_ece_field_grants_no_options),
	KUNIT_CASE(queue_pair_takes_the_clock_of_its_cqs),
	KUNIT_CASE(messages_with_tags_complete_in_the_cq_of_the_srq),
	KUNIT_CASE(moderation_is_exact_to_the_bit),
	KUNIT_CASE(moderation_that_the_device_cannot_do_is_refused),
	{}
};

static struct kunit_suite command_suite = {
	.name = "bluebell_command",
	.test_cases = command_cases,
};

kunit_test_suite(command_suite);
