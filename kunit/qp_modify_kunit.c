// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of QP state changes: the command and the optional fields of each transition, the
 * context that the command has, the limits of attributes, and reading attributes back.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout/layout_path.h"
#include "layout/layout_qp.h"
#include "lib/golden.h"
#include "lib/mock.h"

#define QPC_SIZE	0xe8
#define ADS_SIZE	0x2c
#define NUM_STATES	7

/* Rate codes 7 to 15: a device that has them all. */
#define ALL_RATES	0xff80

/* The capabilities of both tables are 0, which mlx5_core reads as 128 P_Keys and 8 GIDs. */
static struct mlx5_ib_caps *make_caps(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, log_max_ra_req_qp, 4);
	MOCK_SET_CAP(caps, log_max_ra_res_qp, 4);
	MOCK_SET_CAP(caps, log_max_msg, 30);
	MOCK_SET_CAP(caps, num_ports, 1);
	MOCK_SET_CAP(caps, stat_rate_support, ALL_RATES);
	MOCK_SET_CAP(caps, apm, 1);
	KUNIT_ASSERT_EQ(test, caps->pkey_table_len, 128);
	KUNIT_ASSERT_EQ(test, caps->gid_table_len, 8);
	caps->atomic_mode = 3;
	return caps;
}

/* Opcodes of the commands from each state (row) to each state (column). */
static const u16 opcodes[NUM_STATES][NUM_STATES] = {
	/*            RESET   INIT   RTR    RTS    SQD    SQE    ERR */
	/* RESET */ { 0x50a, 0x502, 0,     0,     0,     0,     0x507 },
	/* INIT */  { 0x50a, 0x50e, 0x503, 0,     0,     0,     0x507 },
	/* RTR */   { 0x50a, 0,     0,     0x504, 0,     0,     0x507 },
	/* RTS */   { 0x50a, 0,     0,     0x505, 0,     0,     0x507 },
	/* SQD */   { 0x50a, 0,     0,     0x50c, 0,     0,     0x507 },
	/* SQE */   { 0x50a, 0,     0,     0x506, 0,     0,     0x507 },
	/* ERR */   { 0x50a, 0,     0,     0,     0,     0,     0x507 },
};

static void state_change_sends_the_command_of_its_states(struct kunit *test)
{
	int cur, next;

	for (cur = 0; cur < NUM_STATES; cur++)
		for (next = 0; next < NUM_STATES; next++)
			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_opcode(cur, next),
					    opcodes[cur][next], "from %d to %d", cur, next);
}

/* The attributes that the golden contexts below are made of. */
static struct ib_qp_attr sample_attr(void)
{
	static u8 dgid[] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	};
	struct ib_qp_attr attr = {
		.path_mtu = IB_MTU_2048,
		.path_mig_state = IB_MIG_ARMED,
		.qkey = 0x80010000,
		.rq_psn = 0x654321,
		.sq_psn = 0xfedcba,
		.dest_qp_num = 0x123456,
		.pkey_index = 0x7f,
		.alt_pkey_index = 3,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 5,
		.min_rnr_timer = 31,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.alt_port_num = 1,
		.alt_timeout = 31,
	};

	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_dlid(&attr.ah_attr, 0x1234);
	rdma_ah_set_sl(&attr.ah_attr, 5);
	rdma_ah_set_path_bits(&attr.ah_attr, 3);
	rdma_ah_set_static_rate(&attr.ah_attr, IB_RATE_10_GBPS);
	rdma_ah_set_grh(&attr.ah_attr, NULL, 0xabcde, 2, 64, 0x5a);
	rdma_ah_set_dgid_raw(&attr.ah_attr, dgid);

	attr.alt_ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(&attr.alt_ah_attr, 1);
	rdma_ah_set_dlid(&attr.alt_ah_attr, 0xbfff);
	rdma_ah_set_sl(&attr.alt_ah_attr, 15);
	rdma_ah_set_path_bits(&attr.alt_ah_attr, 127);
	return attr;
}

#define READ_WRITE_ATOMIC \
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* What every command repeats: the numbers of the PD and of the CQs. */
#define PD		{ 0x04, 0x00000011 }
#define SEND_CQ		{ 0x7c, 0x00000022 }
#define RECV_CQ		{ 0x9c, 0x00000033 }
/* Dword 0: the migration state, which is migrated, and the service type. */
#define RC_MIGRATED	{ 0x00, 0x00001800 }
#define UC_MIGRATED	{ 0x00, 0x00011800 }
#define UD_MIGRATED	{ 0x00, 0x00021800 }
#define ACK_FREQ	{ 0x70, 0x80000000 }
#define PORT_ALONE	{ 0x3c, 0x00010000 }
#define DBR_HIGH	{ 0xa0, 0x00000044 }
#define DBR_LOW		{ 0xa4, 0x55555540 }
/* The primary path, but for the dword that the timeout is in. */
#define PATH_LID	{ 0x1c, 0x00831234 }
#define PATH_FLOW	{ 0x24, 0x05aabcde }
#define PATH_GID_0	{ 0x28, 0xfe800000 }
#define PATH_GID_2	{ 0x30, 0x01234567 }
#define PATH_GID_3	{ 0x34, 0x89abcdef }
#define PATH_PORT	{ 0x3c, 0x05010000 }

static const struct modify_case {
	const char *name;
	enum ib_qp_type type;
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int mask;
	u32 access;
	u8 dest_rd_atomic;
	u32 opt;
	struct golden want[GOLDEN_MAX];
} modify_cases[] = {
	{
		"RC to INIT with every right",
		IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		READ_WRITE_ATOMIC, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f }, { 0x90, 0x0003e000 },
		},
	},
	{
		"XRC to INIT with every right",
		IB_QPT_XRC_TGT, IB_QPS_RESET, IB_QPS_INIT,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		READ_WRITE_ATOMIC, 0, 0,
		{
			{ 0x00, 0x00031800 }, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH,
			DBR_LOW, { 0x18, 0x0000007f }, { 0x90, 0x0003e000 },
		},
	},
	{
		"RC to INIT with no right",
		IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f },
		},
	},
	{
		"RC INIT to INIT",
		IB_QPT_RC, IB_QPS_INIT, IB_QPS_INIT,
		IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, IB_ACCESS_REMOTE_WRITE, 0,
		0x1001e,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f }, { 0x90, 0x00004000 },
		},
	},
	{
		"RC to RTR",
		IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR,
		IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
		IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, 5, 0x0e,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ,
			PATH_LID, PATH_FLOW, PATH_GID_0, PATH_GID_2, PATH_GID_3, PATH_PORT,
			{ 0x08, 0x9e000000 }, { 0x14, 0x00123456 }, { 0x20, 0x00020840 },
			{ 0x90, 0x0060c000 }, { 0x94, 0x1f654321 },
		},
	},
	{
		"RC to RTR without resources for reads refuses them",
		IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR,
		IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		READ_WRITE_ATOMIC, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ,
			PATH_LID, PATH_FLOW, PATH_GID_0, PATH_GID_2, PATH_GID_3, PATH_PORT,
			{ 0x08, 0x9e000000 }, { 0x14, 0x00123456 }, { 0x20, 0x00020840 },
			{ 0x90, 0x00004000 }, { 0x94, 0x00654321 },
		},
	},
	{
		"RC to RTR with P_Key, rights and alternate path",
		IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS | IB_QP_ALT_PATH,
		IB_ACCESS_REMOTE_READ, 1, 0x1f,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE,
			{ 0x18, 0x0000007f }, { 0x44, 0x00000003 }, { 0x48, 0x007fbfff },
			{ 0x4c, 0xf8000000 }, { 0x68, 0x0f010000 }, { 0x90, 0x00008000 },
		},
	},
	{
		"RC to RTS",
		IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS,
		IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
		IB_QP_MAX_QP_RD_ATOMIC,
		0, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, PORT_ALONE,
			{ 0x20, 0x70000000 }, { 0x70, 0x8087c000 }, { 0x78, 0x00fedcba },
		},
	},
	{
		"RC to RTS with retries alone",
		IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_RETRY_CNT, 0, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, PORT_ALONE, { 0x70, 0x80070000 },
		},
	},
	{
		"RC to RTS with RNR retries alone",
		IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_RNR_RETRY, 0, 0, 0,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, PORT_ALONE, { 0x70, 0x8000c000 },
		},
	},
	{
		"RC to RTS with rights, RNR timer and migration",
		IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS,
		IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER | IB_QP_ALT_PATH |
		IB_QP_PATH_MIG_STATE,
		READ_WRITE_ATOMIC, 16, 0x44f,
		{
			PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE,
			{ 0x44, 0x00000003 }, { 0x48, 0x007fbfff }, { 0x4c, 0xf8000000 },
			{ 0x68, 0x0f010000 }, { 0x90, 0x0003e000 }, { 0x94, 0x1f000000 },
		},
	},
	{
		"RC RTS to RTS",
		IB_QPT_RC, IB_QPS_RTS, IB_QPS_RTS,
		IB_QP_MIN_RNR_TIMER, READ_WRITE_ATOMIC, 1, 0x40,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE,
			{ 0x90, 0x0003e000 }, { 0x94, 0x1f000000 },
		},
	},
	{
		"RC from SQD",
		IB_QPT_RC, IB_QPS_SQD, IB_QPS_RTS,
		IB_QP_STATE | IB_QP_ACCESS_FLAGS, IB_ACCESS_REMOTE_WRITE, 0, 0x0e,
		{
			RC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE,
			{ 0x90, 0x00004000 },
		},
	},
	{
		"UC to INIT has no right to read",
		IB_QPT_UC, IB_QPS_RESET, IB_QPS_INIT,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		READ_WRITE_ATOMIC, 16, 0,
		{
			UC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f }, { 0x90, 0x00004000 },
		},
	},
	{
		"UC INIT to INIT",
		IB_QPT_UC, IB_QPS_INIT, IB_QPS_INIT,
		IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0, 0, 0x10018,
		{
			UC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f },
		},
	},
	{
		"UC to RTR",
		IB_QPT_UC, IB_QPS_INIT, IB_QPS_RTR,
		IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		IB_ACCESS_REMOTE_WRITE, 0, 0,
		{
			UC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ,
			PATH_LID, PATH_FLOW, PATH_GID_0, PATH_GID_2, PATH_GID_3, PATH_PORT,
			{ 0x08, 0x9e000000 }, { 0x14, 0x00123456 }, { 0x20, 0x00020840 },
			{ 0x90, 0x00004000 }, { 0x94, 0x00654321 },
		},
	},
	{
		"UC to RTS",
		IB_QPT_UC, IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_SQ_PSN, 0, 0, 0,
		{ UC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, { 0x78, 0x00fedcba } },
	},
	{
		"UC from SQE",
		IB_QPT_UC, IB_QPS_SQE, IB_QPS_RTS, IB_QP_STATE | IB_QP_ACCESS_FLAGS,
		IB_ACCESS_REMOTE_WRITE, 0, 0x08,
		{ UC_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, { 0x90, 0x00004000 } },
	},
	{
		"UD to INIT",
		IB_QPT_UD, IB_QPS_RESET, IB_QPS_INIT,
		IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, READ_WRITE_ATOMIC, 16, 0,
		{
			UD_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f }, { 0xa8, 0x80010000 },
		},
	},
	{
		"UD INIT to INIT",
		IB_QPT_UD, IB_QPS_INIT, IB_QPS_INIT,
		IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0, 0, 0x10030,
		{
			UD_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, DBR_HIGH, DBR_LOW,
			{ 0x18, 0x0000007f }, { 0xa8, 0x80010000 },
		},
	},
	{
		"UD to RTR takes messages of the largest MTU",
		IB_QPT_UD, IB_QPS_INIT, IB_QPS_RTR, IB_QP_STATE, 0, 0, 0,
		{ UD_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, { 0x08, 0xac000000 } },
	},
	{
		"UD to RTS",
		IB_QPT_UD, IB_QPS_RTR, IB_QPS_RTS, IB_QP_STATE | IB_QP_SQ_PSN, 0, 0, 0,
		{ UD_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, { 0x78, 0x00fedcba } },
	},
	{
		"UD from SQE with a Q_Key",
		IB_QPT_UD, IB_QPS_SQE, IB_QPS_RTS, IB_QP_STATE | IB_QP_QKEY, 0, 0, 0x20,
		{ UD_MIGRATED, PD, SEND_CQ, RECV_CQ, ACK_FREQ, PORT_ALONE, { 0xa8, 0x80010000 } },
	},
};

KUNIT_ARRAY_PARAM_DESC(modify, modify_cases, name);

static void context_of_a_state_change_is_exact_to_the_bit(struct kunit *test)
{
	const struct modify_case *c = test->param_value;
	struct ib_qp_attr attr = sample_attr();
	u32 created[QPC_SIZE / 4];
	struct mlx5_ib_qp_modify mod = {
		.type = c->type, .qpc = created, .cur = c->cur, .next = c->next, .mask = c->mask,
		.attr = &attr, .access = c->access, .dest_rd_atomic = c->dest_rd_atomic,
		.port = 1,
	};
	u32 qpc[QPC_SIZE / 4] = {};

	/* The command repeats only some fields of the created context. */
	memset(created, 0xff, sizeof(created));
	MLX5_SET(qpc, created, pd, 0x11);
	MLX5_SET(qpc, created, cqn_snd, 0x22);
	MLX5_SET(qpc, created, cqn_rcv, 0x33);
	MLX5_SET64(qpc, created, dbr_addr, 0x4455555540);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_modify_qpc(qpc, &mod, make_caps(test)), c->opt);
	expect_golden(test, qpc, sizeof(qpc), c->want);
}

#define PORT_RIGHTS	(IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define PORT_QKEY	(IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY)
#define UC_RTR		(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | \
			 IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX)
#define RC_RTR		(UC_RTR | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define UC_OPT		(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | \
			 IB_QP_PATH_MIG_STATE)
#define RC_OPT		(UC_OPT | IB_QP_MIN_RNR_TIMER)
#define RC_RTS		(RC_OPT | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
			 IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)
#define XRC_INI_RTS	(RC_RTS & ~IB_QP_MIN_RNR_TIMER)
#define XRC_TGT_RTS	(RC_OPT | IB_QP_TIMEOUT | IB_QP_SQ_PSN)
#define UD_OPT		(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_QKEY)

/*
 * State changes with every attribute that ib_core lets them have. Optional fields as the
 * interface numbers them: alternate path 0, RRE 1, RAE 2, RWE 3, P_Key 4, Q_Key 5, RNR
 * timeout 6, migration state 10, port 16.
 */
static const struct opt_case {
	const char *name;
	enum ib_qp_type type;
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int mask;
	u32 want;
} opt_cases[] = {
	{ "RC RST2INIT", IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT, IB_QP_STATE | PORT_RIGHTS, 0 },
	{ "RC INIT2INIT", IB_QPT_RC, IB_QPS_INIT, IB_QPS_INIT, PORT_RIGHTS, 0x1001e },
	{ "RC INIT2RTR", IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR, RC_RTR, 0x1f },
	{ "RC RTR2RTS", IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS, RC_RTS, 0x44f },
	{ "RC RTS2RTS", IB_QPT_RC, IB_QPS_RTS, IB_QPS_RTS, RC_OPT, 0x44f },
	{ "RC SQD2RTS", IB_QPT_RC, IB_QPS_SQD, IB_QPS_RTS, RC_OPT, 0x44f },
	{ "XRC initiator RST2INIT", IB_QPT_XRC_INI, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_STATE | PORT_RIGHTS, 0 },
	{ "XRC initiator INIT2INIT", IB_QPT_XRC_INI, IB_QPS_INIT, IB_QPS_INIT,
	  PORT_RIGHTS, 0x1001e },
	{ "XRC initiator INIT2RTR", IB_QPT_XRC_INI, IB_QPS_INIT, IB_QPS_RTR, UC_RTR, 0x1f },
	{ "XRC initiator RTR2RTS", IB_QPT_XRC_INI, IB_QPS_RTR, IB_QPS_RTS, XRC_INI_RTS, 0x40f },
	{ "XRC initiator RTS2RTS", IB_QPT_XRC_INI, IB_QPS_RTS, IB_QPS_RTS, UC_OPT, 0x40f },
	{ "XRC initiator SQD2RTS", IB_QPT_XRC_INI, IB_QPS_SQD, IB_QPS_RTS, UC_OPT, 0x40f },
	{ "XRC target RST2INIT", IB_QPT_XRC_TGT, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_STATE | PORT_RIGHTS, 0 },
	{ "XRC target INIT2INIT", IB_QPT_XRC_TGT, IB_QPS_INIT, IB_QPS_INIT, PORT_RIGHTS, 0x1001e },
	{ "XRC target INIT2RTR", IB_QPT_XRC_TGT, IB_QPS_INIT, IB_QPS_RTR, RC_RTR, 0x1f },
	{ "XRC target RTR2RTS", IB_QPT_XRC_TGT, IB_QPS_RTR, IB_QPS_RTS, XRC_TGT_RTS, 0x44f },
	{ "XRC target RTS2RTS", IB_QPT_XRC_TGT, IB_QPS_RTS, IB_QPS_RTS, RC_OPT, 0x44f },
	{ "XRC target SQD2RTS", IB_QPT_XRC_TGT, IB_QPS_SQD, IB_QPS_RTS, RC_OPT, 0x44f },
	{ "UC RST2INIT", IB_QPT_UC, IB_QPS_RESET, IB_QPS_INIT, IB_QP_STATE | PORT_RIGHTS, 0 },
	{ "UC INIT2INIT", IB_QPT_UC, IB_QPS_INIT, IB_QPS_INIT, PORT_RIGHTS, 0x10018 },
	{ "UC INIT2RTR", IB_QPT_UC, IB_QPS_INIT, IB_QPS_RTR, UC_RTR, 0x19 },
	{ "UC RTR2RTS", IB_QPT_UC, IB_QPS_RTR, IB_QPS_RTS, UC_OPT | IB_QP_SQ_PSN, 0x409 },
	{ "UC RTS2RTS", IB_QPT_UC, IB_QPS_RTS, IB_QPS_RTS, UC_OPT, 0x409 },
	{ "UC SQD2RTS", IB_QPT_UC, IB_QPS_SQD, IB_QPS_RTS, UC_OPT, 0x409 },
	{ "UC SQE2RTS", IB_QPT_UC, IB_QPS_SQE, IB_QPS_RTS,
	  IB_QP_STATE | IB_QP_ACCESS_FLAGS, 0x08 },
	{ "UD RST2INIT", IB_QPT_UD, IB_QPS_RESET, IB_QPS_INIT, IB_QP_STATE | PORT_QKEY, 0 },
	{ "UD INIT2INIT", IB_QPT_UD, IB_QPS_INIT, IB_QPS_INIT, PORT_QKEY, 0x10030 },
	{ "UD INIT2RTR", IB_QPT_UD, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_QKEY, 0x30 },
	{ "UD RTR2RTS", IB_QPT_UD, IB_QPS_RTR, IB_QPS_RTS, UD_OPT | IB_QP_SQ_PSN, 0x20 },
	{ "UD RTS2RTS", IB_QPT_UD, IB_QPS_RTS, IB_QPS_RTS, UD_OPT, 0x20 },
	{ "UD SQD2RTS", IB_QPT_UD, IB_QPS_SQD, IB_QPS_RTS, UD_OPT, 0x20 },
	{ "UD SQE2RTS", IB_QPT_UD, IB_QPS_SQE, IB_QPS_RTS, UD_OPT, 0x20 },
};

KUNIT_ARRAY_PARAM_DESC(opt, opt_cases, name);

static void command_gets_the_optional_fields_that_it_takes(struct kunit *test)
{
	const struct opt_case *c = test->param_value;
	struct ib_qp_attr attr = sample_attr();
	u32 created[QPC_SIZE / 4] = {};
	struct mlx5_ib_qp_modify mod = {
		.type = c->type, .qpc = created, .cur = c->cur, .next = c->next,
		.mask = c->mask, .attr = &attr,
	};
	u32 qpc[QPC_SIZE / 4] = {};

	KUNIT_EXPECT_TRUE(test, ib_modify_qp_is_ok(c->cur, c->next, c->type, c->mask));
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_modify_qpc(qpc, &mod, make_caps(test)), c->want);
}

static const struct attr_case {
	const char *name;
	int mask;
	struct ib_qp_attr attr;
	int want;
} attr_cases[] = {
	{ "the largest QP number", IB_QP_DEST_QPN, { .dest_qp_num = 0xffffff }, 0 },
	{ "more than a QP number", IB_QP_DEST_QPN, { .dest_qp_num = 0x1000000 }, -EINVAL },
	{ "the longest timeout", IB_QP_TIMEOUT, { .timeout = 31 }, 0 },
	{ "more than the longest timeout", IB_QP_TIMEOUT, { .timeout = 32 }, -EINVAL },
	{ "7 retries", IB_QP_RETRY_CNT, { .retry_cnt = 7 }, 0 },
	{ "8 retries", IB_QP_RETRY_CNT, { .retry_cnt = 8 }, -EINVAL },
	{ "7 RNR retries", IB_QP_RNR_RETRY, { .rnr_retry = 7 }, 0 },
	{ "8 RNR retries", IB_QP_RNR_RETRY, { .rnr_retry = 8 }, -EINVAL },
	{ "the longest RNR timer", IB_QP_MIN_RNR_TIMER, { .min_rnr_timer = 31 }, 0 },
	{ "more than the longest RNR timer", IB_QP_MIN_RNR_TIMER, { .min_rnr_timer = 32 },
	  -EINVAL },
	{ "reads at the requester's limit", IB_QP_MAX_QP_RD_ATOMIC, { .max_rd_atomic = 16 }, 0 },
	{ "reads beyond the requester's limit", IB_QP_MAX_QP_RD_ATOMIC, { .max_rd_atomic = 17 },
	  -EINVAL },
	{ "reads at the responder's limit", IB_QP_MAX_DEST_RD_ATOMIC,
	  { .max_dest_rd_atomic = 16 }, 0 },
	{ "reads beyond the responder's limit", IB_QP_MAX_DEST_RD_ATOMIC,
	  { .max_dest_rd_atomic = 17 }, -EINVAL },
	{ "every right", IB_QP_ACCESS_FLAGS, { .qp_access_flags = READ_WRITE_ATOMIC }, 0 },
	{ "an undefined right", IB_QP_ACCESS_FLAGS, { .qp_access_flags = BIT(31) }, -EINVAL },
	{ "the last port", IB_QP_PORT, { .port_num = 1 }, 0 },
	{ "the last P_Key", IB_QP_PKEY_INDEX, { .pkey_index = 127 }, 0 },
	{ "a P_Key too many", IB_QP_PKEY_INDEX, { .pkey_index = 128 }, -EINVAL },
	{ "no MTU", IB_QP_PATH_MTU, { .path_mtu = 0 }, -EINVAL },
	{ "the smallest MTU", IB_QP_PATH_MTU, { .path_mtu = IB_MTU_256 }, 0 },
	{ "the largest MTU", IB_QP_PATH_MTU, { .path_mtu = IB_MTU_4096 }, 0 },
	{ "more than the largest MTU", IB_QP_PATH_MTU, { .path_mtu = IB_MTU_4096 + 1 }, -EINVAL },
	{ "the highest service level", IB_QP_AV, { .ah_attr.sl = 15 }, 0 },
	{ "more than the highest service level", IB_QP_AV, { .ah_attr.sl = 16 }, -EINVAL },
	{ "the last migration state", IB_QP_PATH_MIG_STATE, { .path_mig_state = IB_MIG_ARMED },
	  0 },
	{ "a migration state too many", IB_QP_PATH_MIG_STATE,
	  { .path_mig_state = IB_MIG_ARMED + 1 }, -EINVAL },
	{ "nonsense that is not in the mask", 0,
	  { .dest_qp_num = ~0, .timeout = 255, .port_num = 9, .path_mtu = 77, .retry_cnt = 255,
	    .rnr_retry = 255, .min_rnr_timer = 255, .max_rd_atomic = 255,
	    .max_dest_rd_atomic = 255, .qp_access_flags = ~0, .pkey_index = U16_MAX,
	    .path_mig_state = 77, .ah_attr.sl = 255, .alt_pkey_index = U16_MAX,
	    .alt_timeout = 255 }, 0 },
};

KUNIT_ARRAY_PARAM_DESC(attr, attr_cases, name);

static void only_attributes_within_limits_are_accepted(struct kunit *test)
{
	const struct attr_case *c = test->param_value;
	struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_RC, .cur = IB_QPS_RTR, .next = IB_QPS_RTS, .mask = c->mask,
		.attr = &c->attr,
	};

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, make_caps(test)), c->want);
}

static void feature_that_the_device_lacks_is_refused(struct kunit *test)
{
	const struct mlx5_ib_caps *lacking = mock_caps(test);
	struct ib_qp_attr attr = sample_attr();
	struct mlx5_ib_qp_modify mod = { .type = IB_QPT_RC, .attr = &attr };

	attr.qp_access_flags = IB_ACCESS_REMOTE_ATOMIC;
	mod.mask = IB_QP_ACCESS_FLAGS;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, lacking), -EOPNOTSUPP);
	mod.type = IB_QPT_XRC_TGT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, lacking), -EOPNOTSUPP);
	mod.mask = IB_QP_ALT_PATH;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, lacking), -EOPNOTSUPP);
	mod.mask = IB_QP_PATH_MIG_STATE;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, lacking), -EOPNOTSUPP);
	attr.path_mig_state = IB_MIG_MIGRATED;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, lacking), 0);
}

static void alternate_path_is_checked(struct kunit *test)
{
	struct ib_qp_attr attr = sample_attr();
	struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_RC, .mask = IB_QP_ALT_PATH, .attr = &attr,
	};
	const struct mlx5_ib_caps *caps = make_caps(test);

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	attr.alt_pkey_index = 127;
	attr.alt_timeout = 31;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	attr.alt_pkey_index = 128;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EINVAL);
	attr.alt_pkey_index = 0;
	attr.alt_timeout = 32;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EINVAL);
	attr.alt_timeout = 0;
	rdma_ah_set_sl(&attr.alt_ah_attr, 16);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EINVAL);
}

static const struct ah_case {
	const char *name;
	u8 port;
	u8 sl;
	u8 path_bits;
	u8 rate;
	int want;
} ah_cases[] = {
	{ "the plainest", 1, 0, 0, 0, 0 },
	{ "the last service level", 1, 15, 0, 0, 0 },
	{ "a service level too many", 1, 16, 0, 0, -EINVAL },
	{ "the last path bits", 1, 0, 127, 0, 0 },
	{ "a path bit too many", 1, 0, 128, 0, -EINVAL },
	{ "2.5 Gb/s", 1, 0, 0, IB_RATE_2_5_GBPS, 0 },
	{ "rate 1, which does not exist", 1, 0, 0, 1, -EINVAL },
	{ "rate 255, which does not exist", 1, 0, 0, 255, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(ah, ah_cases, name);

static void only_valid_addresses_are_accepted(struct kunit *test)
{
	const struct ah_case *c = test->param_value;
	struct rdma_ah_attr ah = { .type = RDMA_AH_ATTR_TYPE_IB };

	rdma_ah_set_port_num(&ah, c->port);
	rdma_ah_set_sl(&ah, c->sl);
	rdma_ah_set_path_bits(&ah, c->path_bits);
	rdma_ah_set_static_rate(&ah, c->rate);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), c->want);
}

/* The flow label has 20 bits. Others, which UCX sets, are ignored. */
static void flow_label_has_20_bits(struct kunit *test)
{
	struct rdma_ah_attr ah = { .type = RDMA_AH_ATTR_TYPE_IB, .port_num = 1 };
	u32 ads[MLX5_ST_SZ_DW(ads)] = {};

	rdma_ah_set_grh(&ah, NULL, 0xffffffff, 0, 1, 0x5a);
	KUNIT_EXPECT_EQ(test, mlx5_ib_check_ah(&ah), 0);
	mlx5_ib_fill_path(ads, &ah, ALL_RATES, 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, ads, flow_label), 0xfffff);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, ads, tclass), 0x5a);
}

static void path_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden with_grh[GOLDEN_MAX] = {
		{ 0x04, 0x00831234 }, { 0x08, 0x00020840 }, { 0x0c, 0x05aabcde },
		{ 0x10, 0xfe800000 }, { 0x18, 0x01234567 }, { 0x1c, 0x89abcdef },
		{ 0x24, 0x05010000 },
	};
	static const struct golden without_grh[GOLDEN_MAX] = {
		{ 0x04, 0x007fbfff }, { 0x24, 0x0f010000 },
	};
	struct ib_qp_attr attr = sample_attr();
	u32 ads[ADS_SIZE / 4] = {};

	mlx5_ib_fill_path(ads, &attr.ah_attr, ALL_RATES, 0);
	expect_golden(test, ads, sizeof(ads), with_grh);

	memset(ads, 0, sizeof(ads));
	mlx5_ib_fill_path(ads, &attr.alt_ah_attr, ALL_RATES, 0);
	expect_golden(test, ads, sizeof(ads), without_grh);
}

static const struct rate_case {
	const char *name;
	u8 rate;
	u16 supported;
	u8 want;
} rate_cases[] = {
	{ "the port's own", IB_RATE_PORT_CURRENT, ALL_RATES, 0 },
	{ "2.5 Gb/s", IB_RATE_2_5_GBPS, ALL_RATES, 7 },
	{ "10 Gb/s", IB_RATE_10_GBPS, ALL_RATES, 8 },
	{ "30 Gb/s", IB_RATE_30_GBPS, ALL_RATES, 9 },
	{ "5 Gb/s", IB_RATE_5_GBPS, ALL_RATES, 10 },
	{ "20 Gb/s", IB_RATE_20_GBPS, ALL_RATES, 11 },
	{ "40 Gb/s", IB_RATE_40_GBPS, ALL_RATES, 12 },
	{ "60 Gb/s", IB_RATE_60_GBPS, ALL_RATES, 13 },
	{ "80 Gb/s", IB_RATE_80_GBPS, ALL_RATES, 14 },
	{ "120 Gb/s", IB_RATE_120_GBPS, ALL_RATES, 15 },
	{ "14 Gb/s takes the next slower", IB_RATE_14_GBPS, ALL_RATES, 8 },
	{ "100 Gb/s takes the next slower", IB_RATE_100_GBPS, ALL_RATES, 14 },
	{ "400 Gb/s takes the fastest", IB_RATE_400_GBPS, ALL_RATES, 15 },
	{ "10 Gb/s on a device that starts at 20", IB_RATE_10_GBPS, BIT(11) | BIT(12), 11 },
	{ "40 Gb/s on a device that ends at 20", IB_RATE_40_GBPS, BIT(8) | BIT(11), 11 },
	{ "codes below 7 are not rates", IB_RATE_10_GBPS, 0x7f, 0 },
	{ "10 Gb/s on a device with no limits", IB_RATE_10_GBPS, 0, 0 },
	{ "a rate that does not exist", 200, ALL_RATES, 0 },
};

KUNIT_ARRAY_PARAM_DESC(rate, rate_cases, name);

static void static_rate_is_encoded(struct kunit *test)
{
	const struct rate_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_rate_to_hw(c->rate, c->supported), c->want);
}

static void static_rate_is_decoded(struct kunit *test)
{
	static const u8 rates[] = {
		[0] = IB_RATE_PORT_CURRENT, [7] = IB_RATE_2_5_GBPS, [8] = IB_RATE_10_GBPS,
		[9] = IB_RATE_30_GBPS, [10] = IB_RATE_5_GBPS, [11] = IB_RATE_20_GBPS,
		[12] = IB_RATE_40_GBPS, [13] = IB_RATE_60_GBPS, [14] = IB_RATE_80_GBPS,
		[15] = IB_RATE_120_GBPS,
	};
	int code;

	KUNIT_EXPECT_EQ(test, mlx5_ib_rate_from_hw(0), IB_RATE_PORT_CURRENT);
	for (code = 1; code < 7; code++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_rate_from_hw(code), IB_RATE_PORT_CURRENT,
				    "code %d", code);
	for (code = 7; code < ARRAY_SIZE(rates); code++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_rate_from_hw(code), rates[code], "code %d", code);
}

static const struct state_case {
	const char *name;
	u8 hw;
	int want;
} state_cases[] = {
	{ "reset", 0, IB_QPS_RESET },
	{ "init", 1, IB_QPS_INIT },
	{ "ready to receive", 2, IB_QPS_RTR },
	{ "ready to send", 3, IB_QPS_RTS },
	{ "send queue error", 4, IB_QPS_SQE },
	{ "send queue drained", 5, IB_QPS_SQD },
	{ "error", 6, IB_QPS_ERR },
	{ "send queue draining", 7, IB_QPS_SQD },
	{ "undefined 8", 8, -EIO },
	{ "suspended", 9, -EIO },
	{ "undefined 15", 15, -EIO },
};

KUNIT_ARRAY_PARAM_DESC(state, state_cases, name);

static void qp_state_is_decoded(struct kunit *test)
{
	const struct state_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_state_from_hw(c->hw), c->want);
}

static void migration_state_is_decoded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_mig_from_hw(0), IB_MIG_ARMED);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mig_from_hw(1), IB_MIG_REARM);
	KUNIT_EXPECT_EQ(test, mlx5_ib_mig_from_hw(3), IB_MIG_MIGRATED);
}

static void set_dword(u32 *ctx, u16 offset, u32 value)
{
	*((__be32 *)ctx + offset / 4) = cpu_to_be32(value);
}

static void expect_address(struct kunit *test, const struct rdma_ah_attr *got,
			   const struct rdma_ah_attr *want)
{
	KUNIT_EXPECT_EQ(test, got->type, want->type);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_port_num(got), rdma_ah_get_port_num(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_dlid(got), rdma_ah_get_dlid(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(got), rdma_ah_get_sl(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_path_bits(got), rdma_ah_get_path_bits(want));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_static_rate(got), rdma_ah_get_static_rate(want));
	KUNIT_ASSERT_EQ(test, rdma_ah_get_ah_flags(got), rdma_ah_get_ah_flags(want));
	if (!(rdma_ah_get_ah_flags(want) & IB_AH_GRH))
		return;
	KUNIT_EXPECT_EQ(test, got->grh.flow_label, want->grh.flow_label);
	KUNIT_EXPECT_EQ(test, got->grh.sgid_index, want->grh.sgid_index);
	KUNIT_EXPECT_EQ(test, got->grh.hop_limit, want->grh.hop_limit);
	KUNIT_EXPECT_EQ(test, got->grh.traffic_class, want->grh.traffic_class);
	KUNIT_EXPECT_MEMEQ(test, &got->grh.dgid, &want->grh.dgid, sizeof(want->grh.dgid));
}

static void query_reads_each_attribute_of_the_qpc(struct kunit *test)
{
	struct ib_qp_attr want = sample_attr();
	u32 qpc[QPC_SIZE / 4] = {};
	struct ib_qp_attr attr;

	memset(&attr, 0xa5, sizeof(attr));
	set_dword(qpc, 0x00, 0x70000800);
	set_dword(qpc, 0x08, 0x80000000);
	set_dword(qpc, 0x14, 0xff123456);
	set_dword(qpc, 0x18, 0xffff007f);
	set_dword(qpc, 0x1c, 0x00831234);
	set_dword(qpc, 0x20, 0x70020840);
	set_dword(qpc, 0x24, 0x05aabcde);
	set_dword(qpc, 0x28, 0xfe800000);
	set_dword(qpc, 0x30, 0x01234567);
	set_dword(qpc, 0x34, 0x89abcdef);
	set_dword(qpc, 0x3c, 0x05010000);
	set_dword(qpc, 0x44, 0x00000003);
	set_dword(qpc, 0x48, 0x007fbfff);
	set_dword(qpc, 0x4c, 0xf8000000);
	set_dword(qpc, 0x68, 0x0f010000);
	set_dword(qpc, 0x70, 0x8087c000);
	set_dword(qpc, 0x78, 0xfffedcba);
	set_dword(qpc, 0x90, 0x0043a000);
	set_dword(qpc, 0x94, 0x1f654321);
	set_dword(qpc, 0xa8, 0x80010000);

	mlx5_ib_read_qpc(qpc, IB_QPT_RC, false, &attr);

	KUNIT_EXPECT_TRUE(test, attr.sq_draining);
	KUNIT_EXPECT_EQ(test, attr.path_mig_state, IB_MIG_REARM);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, want.path_mtu);
	KUNIT_EXPECT_EQ(test, attr.dest_qp_num, want.dest_qp_num);
	KUNIT_EXPECT_EQ(test, attr.pkey_index, want.pkey_index);
	KUNIT_EXPECT_EQ(test, attr.port_num, want.port_num);
	KUNIT_EXPECT_EQ(test, attr.timeout, want.timeout);
	KUNIT_EXPECT_EQ(test, attr.retry_cnt, want.retry_cnt);
	KUNIT_EXPECT_EQ(test, attr.rnr_retry, want.rnr_retry);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 16);
	attr.max_rd_atomic = 0;
	mlx5_ib_read_qpc(qpc, IB_QPT_XRC_INI, false, &attr);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 16);
	KUNIT_EXPECT_EQ(test, attr.max_dest_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, attr.sq_psn, want.sq_psn);
	KUNIT_EXPECT_EQ(test, attr.rq_psn, want.rq_psn);
	KUNIT_EXPECT_EQ(test, attr.min_rnr_timer, want.min_rnr_timer);
	KUNIT_EXPECT_EQ(test, attr.qkey, want.qkey);
	KUNIT_EXPECT_EQ(test, attr.qp_access_flags,
			IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_EXPECT_EQ(test, attr.alt_pkey_index, want.alt_pkey_index);
	KUNIT_EXPECT_EQ(test, attr.alt_timeout, want.alt_timeout);
	KUNIT_EXPECT_EQ(test, attr.alt_port_num, want.alt_port_num);
	expect_address(test, &attr.ah_attr, &want.ah_attr);
	expect_address(test, &attr.alt_ah_attr, &want.alt_ah_attr);
	/* In RTS, all bits that have been set before are clear. */
	memset(&attr, 0xa5, sizeof(attr));
	memset(qpc, 0, sizeof(qpc));
	set_dword(qpc, 0x00, 0x30000000);
	mlx5_ib_read_qpc(qpc, IB_QPT_RC, false, &attr);
	KUNIT_EXPECT_FALSE(test, attr.sq_draining);
	KUNIT_EXPECT_EQ(test, attr.path_mig_state, IB_MIG_ARMED);
	KUNIT_EXPECT_EQ(test, attr.qp_access_flags, 0);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 1);
	KUNIT_EXPECT_EQ(test, rdma_ah_get_ah_flags(&attr.ah_attr), 0);
	/* A QP for datagrams has neither paths nor READs and atomics in flight. */
	memset(&attr, 0xa5, sizeof(attr));
	mlx5_ib_read_qpc(qpc, IB_QPT_UD, false, &attr);
	KUNIT_EXPECT_EQ(test, attr.qkey, 0);
	KUNIT_EXPECT_EQ(test, attr.alt_timeout, 0xa5);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 0xa5);
}

static struct kunit_case qp_modify_cases[] = {
	KUNIT_CASE(state_change_sends_the_command_of_its_states),
	KUNIT_CASE_PARAM(command_gets_the_optional_fields_that_it_takes, opt_gen_params),
	KUNIT_CASE_PARAM(context_of_a_state_change_is_exact_to_the_bit, modify_gen_params),
	KUNIT_CASE_PARAM(only_attributes_within_limits_are_accepted, attr_gen_params),
	KUNIT_CASE(feature_that_the_device_lacks_is_refused),
	KUNIT_CASE(alternate_path_is_checked),
	KUNIT_CASE_PARAM(only_valid_addresses_are_accepted, ah_gen_params),
	KUNIT_CASE(flow_label_has_20_bits),
	KUNIT_CASE(path_is_exact_to_the_bit),
	KUNIT_CASE_PARAM(static_rate_is_encoded, rate_gen_params),
	KUNIT_CASE(static_rate_is_decoded),
	KUNIT_CASE_PARAM(qp_state_is_decoded, state_gen_params),
	KUNIT_CASE(migration_state_is_decoded),
	KUNIT_CASE(query_reads_each_attribute_of_the_qpc),
	{}
};

static struct kunit_suite qp_modify_suite = {
	.name = "bluebell_qp_modify",
	.test_cases = qp_modify_cases,
};

kunit_test_suite(qp_modify_suite);
