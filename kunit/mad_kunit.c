// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of management datagrams and multicast: which MADs firmware answers, the port counters
 * that the driver answers with, what QP0 and QP1 are to the device, which queue pair sends with
 * which P_Key, and what a refused command leaves behind.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "lib/fail_alloc.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/wq_kernel.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define NUM_PKEYS	4
#define UID		0x5a

/**
 * struct manager - what the RDMA core has for the MADs of a port
 * @mock: device
 * @pd: protection domain
 * @cq: completion queue of send requests
 * @recv_cq: completion queue of receive requests
 * @qp: QP0 or QP1
 * @pkey_index: P_Key that QP1 itself sends with
 */
struct manager {
	struct mock *mock;
	struct mlx5_ib_pd pd;
	struct mlx5_ib_cq cq;
	struct mlx5_ib_cq recv_cq;
	struct mlx5_ib_qp qp;
	u16 pkey_index;
};

/* P_Key table of the port. */
static u16 pkeys[NUM_PKEYS];

static int pkey_of_port(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	*pkey = pkeys[index];
	return 0;
}

/* The notifier of QP1 (the GSI), while QP1 follows changes of the P_Key table. */
static struct notifier_block *pkey_events;

static void watch(struct mlx5_ib_dev *dev, struct notifier_block *events, bool on)
{
	pkey_events = on ? events : NULL;
}

static void never_called(struct ib_cq *cq, void *context)
{
}

static void make_cq(struct manager *m, struct mlx5_ib_cq *cq)
{
	const struct ib_cq_init_attr attr = { .cqe = 63 };

	cq->ibcq.device = &m->mock->dev->ib_dev;
	cq->ibcq.comp_handler = never_called;
	KUNIT_ASSERT_EQ(m->mock->test, mlx5_ib_create_cq(&cq->ibcq, &attr, NULL), 0);
}

static struct manager *make_manager(struct kunit *test)
{
	struct manager *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct mlx5_ib_caps *caps;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->mock = mock_create(test);
	mock_set_kernel_queues(m->mock);
	caps = &m->mock->dev->caps;
	MOCK_SET_CAP(caps, ud, 1);
	MOCK_SET_CAP(caps, set_deth_sqpn, 1);
	caps->pkey_table_len = NUM_PKEYS;
	memset(pkeys, 0, sizeof(pkeys));
	pkeys[0] = 0xffff;
	m->mock->dev->ib_dev.ops.query_pkey = pkey_of_port;
	kunit_activate_static_stub(test, mlx5_ib_gsi_watch, watch);

	make_cq(m, &m->cq);
	make_cq(m, &m->recv_cq);
	m->mock->num_commands = 0;
	return m;
}

static int create_qp(struct manager *m, enum ib_qp_type type)
{
	struct ib_qp_init_attr init = {
		.qp_type = type,
		.port_num = 1,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.send_cq = &m->cq.ibcq,
		.recv_cq = &m->recv_cq.ibcq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1 },
	};

	memset(&m->qp, 0, sizeof(m->qp));
	m->qp.ibqp.device = &m->mock->dev->ib_dev;
	m->qp.ibqp.pd = &m->pd.ibpd;
	m->qp.ibqp.qp_type = type;
	m->qp.ibqp.port = init.port_num;
	return mlx5_ib_create_qp(&m->qp.ibqp, &init, NULL);
}

static int modify_qp(struct manager *m, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = {
		.qp_state = state, .qkey = IB_QP1_QKEY, .pkey_index = m->pkey_index,
	};

	return mlx5_ib_modify_qp(&m->qp.ibqp, &attr, mask | IB_QP_STATE, NULL);
}

/* Take QP0 or QP1 to RTS, as ib_mad does. */
static int start_qp(struct manager *m)
{
	return modify_qp(m, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_QKEY) ?:
	       modify_qp(m, IB_QPS_RTR, 0) ?: modify_qp(m, IB_QPS_RTS, IB_QP_SQ_PSN);
}

static void destroy_all(struct kunit *test, struct manager *m)
{
	if (m->qp.wqs)
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&m->qp.ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&m->cq.ibcq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&m->recv_cq.ibcq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(m->mock), 0);
	KUNIT_EXPECT_EQ(test, m->mock->num_queue_mems, 0);
}

/* ---- QP0 and QP1 ------------------------------------------------------------------------ */

static void qp0_and_qp1_are_created_as_such(struct kunit *test)
{
	static const struct {
		enum ib_qp_type type;
		u8 st;
		u32 num;
	} types[] = { { IB_QPT_SMI, MLX5_QP_ST_QP0, 0 }, { IB_QPT_GSI, MLX5_QP_ST_QP1, 1 } };
	struct manager *m = make_manager(test);
	unsigned int i;
	void *qpc;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		KUNIT_ASSERT_EQ(test, create_qp(m, types[i].type), 0);
		qpc = MLX5_ADDR_OF(create_qp_in, m->mock->in, qpc);
		KUNIT_EXPECT_EQ(test, m->mock->opcode, MLX5_CMD_OP_CREATE_QP);
		KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, st), types[i].st);
		KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, deth_sqpn), 0);
		KUNIT_EXPECT_EQ(test, m->qp.ibqp.qp_num, types[i].num);
		KUNIT_EXPECT_NE(test, m->qp.wqs->qpn, types[i].num);

		KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_QKEY), 0);
		qpc = MLX5_ADDR_OF(rst2init_qp_in, m->mock->in, qpc);
		KUNIT_EXPECT_EQ(test, m->mock->opcode, MLX5_CMD_OP_RST2INIT_QP);
		KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, primary_address_path.vhca_port_num), 1);
		KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTR, 0), 0);
		qpc = MLX5_ADDR_OF(init2rtr_qp_in, m->mock->in, qpc);
		KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, mtu), IB_MTU_4096);
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&m->qp.ibqp, NULL), 0);
		m->qp.wqs = NULL;
	}
	destroy_all(test, m);
}

/* A datagram without data, whose WQE takes one basic block. */
static struct ib_ud_wr datagram(u16 pkey_index)
{
	static struct mlx5_ib_ah ah;

	return (struct ib_ud_wr){
		.wr = { .wr_id = pkey_index, .opcode = IB_WR_SEND },
		.ah = &ah.ibah, .remote_qpn = 1, .remote_qkey = IB_QP1_QKEY,
		.pkey_index = pkey_index,
	};
}

static int post(struct manager *m, u16 pkey_index)
{
	struct ib_ud_wr wr = datagram(pkey_index);
	const struct ib_send_wr *bad = NULL;
	int err = mlx5_ib_post_send(&m->qp.ibqp, &wr.wr, &bad);

	KUNIT_EXPECT_PTR_EQ(kunit_get_current_test(), bad, err ? &wr.wr : NULL);
	return err;
}

/*
 * Number of the queue pair whose doorbell was rung last, from the control segment in the register.
 */
static u32 rung(struct manager *m)
{
	return be32_to_cpu(((__be32 *)m->mock->bell)[1]) >> 8;
}

static void each_pkey_is_sent_by_its_own_queue_pair(struct kunit *test)
{
	struct manager *m = make_manager(test);
	u32 by_index[NUM_PKEYS];
	unsigned int i, j;

	pkeys[1] = 0x8001;
	pkeys[3] = 0x0002;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	/* QP1, and a sender for each of the two other P_Keys. */
	KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], 3);

	for (i = 0; i < NUM_PKEYS; i++) {
		KUNIT_EXPECT_EQ(test, post(m, i), i == 2 ? -EINVAL : 0);
		by_index[i] = rung(m);
	}
	KUNIT_EXPECT_EQ(test, post(m, NUM_PKEYS), -EINVAL);
	KUNIT_EXPECT_EQ(test, by_index[0], m->qp.wqs->qpn);
	for (i = 0; i < NUM_PKEYS; i++)
		for (j = 0; j < i; j++)
			if (i != 2 && j != 2)
				KUNIT_EXPECT_NE(test, by_index[i], by_index[j]);
	destroy_all(test, m);
}

/* ib_mad looks for the default P_Key, which may not be the first one of the table. */
static void qp1_itself_sends_the_pkey_of_its_own_index(struct kunit *test)
{
	struct manager *m = make_manager(test);
	u32 by_index[3];
	unsigned int i;

	pkeys[0] = 0x8001;
	pkeys[1] = 0x8002;
	pkeys[2] = 0xffff;
	m->pkey_index = 2;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, post(m, i), 0);
		by_index[i] = rung(m);
	}
	KUNIT_EXPECT_EQ(test, by_index[2], m->qp.wqs->qpn);
	KUNIT_EXPECT_NE(test, by_index[0], m->qp.wqs->qpn);
	KUNIT_EXPECT_NE(test, by_index[1], m->qp.wqs->qpn);
	KUNIT_EXPECT_NE(test, by_index[0], by_index[1]);
	destroy_all(test, m);
}

/* The lower 15 bits of a P_Key are the number of the partition; 0 is no partition. */
static void pkey_without_a_partition_has_no_sender(struct kunit *test)
{
	struct manager *m = make_manager(test);

	pkeys[1] = 0x8000;
	pkeys[3] = 0x7fff;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], 2);
	KUNIT_EXPECT_EQ(test, post(m, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, post(m, 3), 0);
	destroy_all(test, m);
}

/* Without set_deth_sqpn no other queue pair can send as QP1. */
static void device_without_deth_sqpn_sends_the_pkey_of_qp1_only(struct kunit *test)
{
	struct manager *m = make_manager(test);

	MOCK_SET_CAP(&m->mock->dev->caps, set_deth_sqpn, 0);
	m->mock->dev->caps.pkey_table_len = NUM_PKEYS;
	pkeys[1] = 0x8001;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], 1);
	KUNIT_EXPECT_EQ(test, post(m, 0), 0);
	KUNIT_EXPECT_EQ(test, post(m, 1), -EINVAL);
	destroy_all(test, m);
}

/* The fifth datagram of the list has a P_Key without a sender. */
static void list_of_datagrams_is_sent_by_the_pkey_of_each(struct kunit *test)
{
	static const u16 index[] = { 0, 1, 0, 1, 2, 0 };
	struct ib_ud_wr wr[ARRAY_SIZE(index)];
	const struct ib_send_wr *bad = NULL;
	struct manager *m = make_manager(test);
	struct mlx5_ib_sq *sq[2];
	unsigned int i;

	pkeys[1] = 0x8001;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	for (i = 0; i < ARRAY_SIZE(index); i++) {
		wr[i] = datagram(index[i]);
		wr[i].wr.wr_id = 10 + i;
		wr[i].wr.next = i + 1 < ARRAY_SIZE(index) ? &wr[i + 1].wr : NULL;
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_send(&m->qp.ibqp, &wr[0].wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr[4].wr);
	KUNIT_ASSERT_NE(test, rung(m), m->qp.wqs->qpn);
	sq[0] = &m->qp.wqs->sq;
	sq[1] = &((struct mlx5_ib_wqs *)xa_load(&m->mock->dev->kernel_qps, rung(m)))->sq;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ_MSG(test, sq[i]->posted, 2, "P_Key %u", i);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, sq[index[i]]->requests[i / 2].wr_id, 10 + i);
	destroy_all(test, m);
}

/*
 * ib_drain_qp() posts an RDMA WRITE, which names no P_Key: the bytes in place of its index mean
 * nothing.
 */
static void requests_other_than_datagrams_are_for_qp1_itself(struct kunit *test)
{
	const struct ib_send_wr *bad = NULL;
	struct manager *m = make_manager(test);
	struct ib_ud_wr wr = datagram(1);

	pkeys[1] = 0x8001;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	wr.wr.opcode = IB_WR_SEND_WITH_IMM;
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_send(&m->qp.ibqp, &wr.wr, &bad), 0);
	KUNIT_EXPECT_NE(test, rung(m), m->qp.wqs->qpn);
	m->qp.state = IB_QPS_ERR;
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_send(&m->qp.ibqp, &wr.wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, rung(m), m->qp.wqs->qpn);
	destroy_all(test, m);
}

/* The consumer knows of QP1 only, whichever queue pair has sent its datagram. */
static void datagram_of_a_sender_completes_as_that_of_qp1(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct mlx5_cqe64 *cqe;
	struct ib_wc wc;
	unsigned int i;

	pkeys[1] = 0x8001;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, post(m, i % 2), 0);
		KUNIT_EXPECT_EQ(test, rung(m) == m->qp.wqs->qpn, !(i % 2));
		cqe = m->cq.mem.buf.frags.frags[0].buf + i * sizeof(*cqe);
		memset(cqe, 0, sizeof(*cqe));
		cqe->sop_drop_qpn = cpu_to_be32(rung(m));
		cqe->wqe_counter = cpu_to_be16(be32_to_cpu(*(__be32 *)m->mock->bell) >> 8);
		cqe->op_own = MLX5_CQE_REQ << 4;
		memset(&wc, 0, sizeof(wc));
		KUNIT_ASSERT_EQ(test, mlx5_ib_poll_cq(&m->cq.ibcq, 1, &wc), 1);
		KUNIT_EXPECT_PTR_EQ(test, wc.qp, &m->qp.ibqp);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i % 2);
		KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_SEND);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	}
	destroy_all(test, m);
}

/*
 * The queue pair that a failed request has taken to SQE, and how often queue pairs have left SQE.
 */
static u32 failed_qpn;
static unsigned int num_recovered;

static int fw_with_failed_qp(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			     int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u32 qpn = MLX5_GET(query_qp_in, in, qpn);

	if (err)
		return err;
	switch (MLX5_GET(query_qp_in, in, opcode)) {
	case MLX5_CMD_OP_QUERY_QP:
		MLX5_SET(query_qp_out, out, qpc.state,
			 qpn == failed_qpn ? MLX5_QP_STATE_SQER : MLX5_QP_STATE_RTS);
		break;
	case MLX5_CMD_OP_SQERR2RTS_QP:
		KUNIT_EXPECT_EQ(kunit_get_current_test(), qpn, failed_qpn);
		failed_qpn = 0;
		num_recovered++;
		break;
	}
	return 0;
}

/* Return QP1 from SQE to RTS, as ib_mad does after a completion with an error. */
static int recover(struct manager *m)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };

	return mlx5_ib_modify_qp(&m->qp.ibqp, &attr, IB_QP_STATE | IB_QP_CUR_STATE, NULL);
}

/* ib_mad asks that QP1 return to RTS; the queue pair that has failed may be a sender. */
static void queue_pair_that_has_failed_returns_to_rts(struct kunit *test)
{
	struct manager *m = make_manager(test);
	unsigned int i;

	pkeys[1] = 0x8001;
	pkeys[3] = 0x8003;
	failed_qpn = 0;
	num_recovered = 0;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_failed_qp);
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	/*
	 * Each of the three queue pairs fails twice; firmware refuses the first attempt to recover.
	 */
	for (i = 0; i < 8; i++) {
		if (i % 4 == 2)
			continue;
		KUNIT_EXPECT_EQ(test, post(m, i % 4), 0);
		failed_qpn = rung(m);
		m->mock->num_commands = 0;
		m->mock->refuse = 1;
		KUNIT_EXPECT_EQ(test, recover(m), m->mock->refuse_err);
		KUNIT_EXPECT_NE(test, failed_qpn, 0);
		m->mock->refuse = 0;
		KUNIT_EXPECT_EQ(test, recover(m), 0);
		KUNIT_EXPECT_EQ(test, failed_qpn, 0);
	}
	KUNIT_EXPECT_EQ(test, num_recovered, 6);
	KUNIT_EXPECT_EQ(test, recover(m), 0);
	KUNIT_EXPECT_EQ(test, num_recovered, 6);
	destroy_all(test, m);
}

/* How many commands named each counter set, by the queue pairs that are in RTS. */
#define SETS	8
static unsigned int set_commands[SETS];

static int fw_with_sets(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u16 opcode = MLX5_GET(rst2init_qp_in, in, opcode);

	if (!err && (opcode == MLX5_CMD_OP_RST2INIT_QP || opcode == MLX5_CMD_OP_RTS2RTS_QP))
		set_commands[MLX5_GET(rst2init_qp_in, in, qpc.counter_set_id) % SETS]++;
	return err;
}

/* The set of QP1 is that of its senders, of later ones, too. If one cannot change, none does. */
static void senders_count_in_the_set_of_qp1(struct kunit *test)
{
	struct manager *m = make_manager(test);

	memset(set_commands, 0, sizeof(set_commands));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_sets);
	m->mock->dev->counter_set_id = 1;
	MOCK_SET_CAP(&m->mock->dev->caps, rts2rts_qp_counters_set_id, 1);
	m->mock->dev->caps.pkey_table_len = NUM_PKEYS;
	pkeys[1] = 0x8001;
	pkeys[2] = 0x8002;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_EXPECT_EQ(test, set_commands[1], 3);

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&m->qp, 5), 0);
	KUNIT_EXPECT_EQ(test, set_commands[5], 3);
	pkeys[3] = 0x8003;
	KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTS, 0), 0);
	KUNIT_EXPECT_EQ(test, post(m, 3), 0);
	KUNIT_EXPECT_EQ(test, set_commands[5], 4);

	/* The second sender cannot change. QP1 and the first sender go back. */
	m->mock->num_commands = 0;
	m->mock->refuse = 3;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&m->qp, 6), m->mock->refuse_err);
	m->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, set_commands[6], 2);
	KUNIT_EXPECT_EQ(test, set_commands[5], 6);
	KUNIT_EXPECT_EQ(test, set_commands[1], 3);
	destroy_all(test, m);
}

static void process_gets_no_special_queue_pair(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_SMI, .port_num = 1, .send_cq = &m->cq.ibcq,
		.recv_cq = &m->cq.ibcq, .cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct ib_udata *udata = mock_udata(m->mock, NULL, 0, 0);

	m->qp.ibqp.device = &m->mock->dev->ib_dev;
	m->qp.ibqp.pd = &m->pd.ibpd;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_qp(&m->qp.ibqp, &init, udata), -EOPNOTSUPP);
	init.qp_type = IB_QPT_GSI;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_qp(&m->qp.ibqp, &init, udata), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, m->mock->num_commands, 0);
	destroy_all(test, m);
}

/* The context of a sender says that the sender is QP1 to other nodes. */
static void sender_says_that_it_is_qp1(struct kunit *test)
{
	struct manager *m = make_manager(test);
	void *qpc;

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	pkeys[2] = 0x8003;
	/* After the state change the driver sends CREATE_QP; if that is refused, nothing more. */
	m->mock->num_commands = 0;
	m->mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTS, 0), 0);
	KUNIT_EXPECT_EQ(test, m->mock->opcode, MLX5_CMD_OP_CREATE_QP);
	qpc = MLX5_ADDR_OF(create_qp_in, m->mock->in, qpc);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, st), MLX5_QP_ST_UD);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, deth_sqpn), 1);
	/* A sender has the CQs of QP1, and receives nothing. */
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_snd), m->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_rcv), m->recv_cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, rq_type), MLX5_ZERO_LEN_RQ);
	KUNIT_EXPECT_EQ(test, post(m, 2), -EINVAL);
	m->mock->refuse = 0;
	/* On a device that has failed the command would be refused, and the log would say so. */
	m->mock->dev->failed = true;
	m->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTS, 0), 0);
	KUNIT_EXPECT_EQ(test, m->mock->num_commands, 1);
	m->mock->dev->failed = false;
	/* The next state change creates the missing queue pair. */
	KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTS, 0), 0);
	KUNIT_EXPECT_EQ(test, post(m, 2), 0);
	destroy_all(test, m);
}

/* Firmware refuses, in turn, each command that adds the sender of a P_Key. */
static void refusal_leaves_qp1_working_and_no_sender(struct kunit *test)
{
	struct manager *m = make_manager(test);
	unsigned int i;

	for (i = 1; i <= 5; i++) {
		pkeys[1] = 0;
		KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
		KUNIT_ASSERT_EQ(test, start_qp(m), 0);
		pkeys[1] = 0x8001;
		m->mock->num_commands = 0;
		m->mock->refuse = 1 + i;
		KUNIT_EXPECT_EQ(test, modify_qp(m, IB_QPS_RTS, 0), 0);
		m->mock->refuse = 0;
		KUNIT_EXPECT_EQ(test, post(m, 0), 0);
		KUNIT_EXPECT_EQ(test, post(m, 1), i <= 4 ? -EINVAL : 0);
		m->mock->refuse_destroy = true;
		KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&m->qp.ibqp, NULL), 0);
		KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], i <= 4 ? 1 : 2);
		m->mock->refuse_destroy = false;
		mlx5_ib_orphans_retry(m->mock->dev, NULL);
		KUNIT_EXPECT_EQ(test, m->mock->num_live[MOCK_QP], 0);
		m->qp.wqs = NULL;
	}
	destroy_all(test, m);
}

/*
 * The table has no P_Key without a sender, so the work item that creates senders has nothing to do.
 */
static void pkey_event_is_handled_while_qp1_can_send(struct kunit *test)
{
	static const struct {
		enum ib_qp_state state;
		int want;
	} states[] = {
		{ IB_QPS_INIT, NOTIFY_DONE }, { IB_QPS_RTR, NOTIFY_DONE },
		{ IB_QPS_RTS, NOTIFY_OK }, { IB_QPS_SQD, NOTIFY_OK },
		{ IB_QPS_SQE, NOTIFY_OK }, { IB_QPS_ERR, NOTIFY_DONE },
	};
	struct mlx5_eqe eqe = { .sub_type = MLX5_PORT_CHANGE_SUBTYPE_PKEY };
	struct manager *m = make_manager(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_ASSERT_NOT_NULL(test, pkey_events);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		m->qp.state = states[i].state;
		KUNIT_EXPECT_EQ_MSG(test, states[i].want,
				    pkey_events->notifier_call(pkey_events,
							       MLX5_EVENT_TYPE_PORT_CHANGE, &eqe),
				    "in state %u", states[i].state);
	}
	m->qp.state = IB_QPS_RTS;
	/* Other changes of the port, and other events, cost no search for P_Keys. */
	KUNIT_EXPECT_EQ(test, NOTIFY_DONE,
			pkey_events->notifier_call(pkey_events, MLX5_EVENT_TYPE_CQ_ERROR, &eqe));
	eqe.sub_type = MLX5_PORT_CHANGE_SUBTYPE_LID;
	KUNIT_EXPECT_EQ(test, NOTIFY_DONE,
			pkey_events->notifier_call(pkey_events, MLX5_EVENT_TYPE_PORT_CHANGE,
						   &eqe));
	destroy_all(test, m);
}

/* A search for P_Keys that does not end before @end. */
static struct {
	struct completion begun;
	struct completion end;
	struct delayed_work work;
	bool ended;
} search;

static int slow_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	complete(&search.begun);
	wait_for_completion(&search.end);
	*pkey = 0;
	return 0;
}

static void end_search(struct work_struct *work)
{
	WRITE_ONCE(search.ended, true);
	complete_all(&search.end);
}

/* An event of the P_Key table has queued the search, which uses QP1. */
static void qp1_is_freed_after_a_search_for_pkeys(struct kunit *test)
{
	struct mlx5_eqe eqe = { .sub_type = MLX5_PORT_CHANGE_SUBTYPE_PKEY };
	struct manager *m = make_manager(test);

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_GSI), 0);
	KUNIT_ASSERT_EQ(test, start_qp(m), 0);
	KUNIT_ASSERT_NOT_NULL(test, pkey_events);
	init_completion(&search.begun);
	init_completion(&search.end);
	INIT_DELAYED_WORK(&search.work, end_search);
	search.ended = false;
	m->mock->dev->ib_dev.ops.query_pkey = slow_pkey;
	KUNIT_EXPECT_EQ(test, NOTIFY_OK,
			pkey_events->notifier_call(pkey_events, MLX5_EVENT_TYPE_PORT_CHANGE,
						   &eqe));
	wait_for_completion(&search.begun);
	queue_delayed_work(system_dfl_wq, &search.work, HZ / 20);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&m->qp.ibqp, NULL), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(search.ended));
	KUNIT_EXPECT_NULL(test, pkey_events);
	flush_delayed_work(&search.work);
	m->qp.wqs = NULL;
	destroy_all(test, m);
}

/* ---- MADs that firmware answers --------------------------------------------------------- */

/* @wc is NULL if the RDMA core itself asks. */
static int process_with_flags(struct manager *m, int flags, const struct ib_wc *wc,
			      const struct ib_mad *in, struct ib_mad *out)
{
	size_t size = sizeof(*out);
	u16 pkey_index = 0;

	return mlx5_ib_process_mad(&m->mock->dev->ib_dev, flags, 1, wc, NULL, in, out, &size,
				   &pkey_index);
}

static int process(struct manager *m, const struct ib_wc *wc, const struct ib_mad *in,
		   struct ib_mad *out)
{
	return process_with_flags(m, 0, wc, in, out);
}

static void firmware_gets_the_mads_that_it_answers(struct kunit *test)
{
	static const struct {
		u8 class, method;
		__be16 attr;
		int want;
	} mads[] = {
		{ 0x01, 0x01, cpu_to_be16(0x11), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x01, 0x02, cpu_to_be16(0x15), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x81, 0x01, cpu_to_be16(0x11), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x81, 0x07, cpu_to_be16(0x02), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED },
		{ 0x04, 0x01, cpu_to_be16(0x12), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x01, 0x01, cpu_to_be16(0x20), IB_MAD_RESULT_SUCCESS },	/* SMInfo */
		{ 0x01, 0x81, cpu_to_be16(0x11), IB_MAD_RESULT_SUCCESS },	/* a response */
		{ 0x01, 0x05, cpu_to_be16(0x02), IB_MAD_RESULT_SUCCESS },	/* a trap */
		{ 0x03, 0x01, cpu_to_be16(0x35), IB_MAD_RESULT_SUCCESS },
		{ 0x07, 0x03, cpu_to_be16(0x10), IB_MAD_RESULT_SUCCESS },
		{ 0x0a, 0x02, cpu_to_be16(0x50), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x09, 0x01, cpu_to_be16(0x50), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x21, 0x02, cpu_to_be16(0x12), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY },
		{ 0x01, 0x07, cpu_to_be16(0x02), IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED },
		{ 0x04, 0x07, cpu_to_be16(0x12), IB_MAD_RESULT_SUCCESS },
		{ 0x81, 0x02, cpu_to_be16(0x20), IB_MAD_RESULT_SUCCESS },	/* SMInfo */
		{ 0x30, 0x01, cpu_to_be16(0x10), IB_MAD_RESULT_SUCCESS },
	};
	struct manager *m = make_manager(test);
	struct ib_mad in, out;
	struct ib_wc wc = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mads); i++) {
		memset(&in, 0, sizeof(in));
		memset(&out, 0, sizeof(out));
		in.mad_hdr.mgmt_class = mads[i].class;
		in.mad_hdr.method = mads[i].method;
		in.mad_hdr.attr_id = mads[i].attr;
		wc.slid = 7;
		m->mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, process(m, &wc, &in, &out), mads[i].want);
		KUNIT_EXPECT_EQ(test, m->mock->num_commands,
				mads[i].want == IB_MAD_RESULT_SUCCESS ? 0 : 1);
		if (!m->mock->num_commands)
			continue;
		KUNIT_EXPECT_EQ(test, m->mock->opcode, MLX5_CMD_OP_MAD_IFC);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mad_ifc_in, m->mock->in, remote_lid), 7);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mad_ifc_in, m->mock->in, port), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(mad_ifc_in, m->mock->in, op_mod), 0);
		KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(mad_ifc_in, m->mock->in, mad), &in,
				   sizeof(in));
		KUNIT_EXPECT_EQ(test, be16_to_cpu(out.mad_hdr.status) >> 15,
				mads[i].class == 0x81 && mads[i].method == 0x01);
	}
	destroy_all(test, m);
}

static void keys_are_checked_unless_the_core_says_otherwise(struct kunit *test)
{
	struct manager *m = make_manager(test);
	const struct ib_wc wc = { .slid = 7 };
	const struct {
		int flags;
		const struct ib_wc *wc;
		u8 op_mod;
	} cases[] = {
		{ 0, &wc, 0 }, { IB_MAD_IGNORE_MKEY, &wc, 1 }, { IB_MAD_IGNORE_BKEY, &wc, 2 },
		{ IB_MAD_IGNORE_ALL, &wc, 3 }, { IB_MAD_IGNORE_MKEY, NULL, 3 },
	};
	struct ib_mad in = {}, out = {};
	unsigned int i;

	in.mad_hdr.mgmt_class = 0x01;
	in.mad_hdr.method = 0x01;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ(test, process_with_flags(m, cases[i].flags, cases[i].wc, &in, &out),
				IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY);
		KUNIT_EXPECT_EQ_MSG(test, MLX5_GET(mad_ifc_in, m->mock->in, op_mod),
				    cases[i].op_mod, "case %u", i);
	}
	destroy_all(test, m);
}

/*
 * The RDMA core passes no completion with a MAD of its own. A trap from LID 0 comes from firmware.
 */
static void mad_of_the_core_is_answered_without_checking_keys(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct ib_mad in = {}, out = {};
	struct ib_wc wc = {};

	in.mad_hdr.mgmt_class = 0x81;
	in.mad_hdr.method = 0x01;
	KUNIT_EXPECT_EQ(test, process(m, NULL, &in, &out),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY);
	KUNIT_EXPECT_EQ(test, MLX5_GET(mad_ifc_in, m->mock->in, op_mod), 3);
	KUNIT_EXPECT_EQ(test, MLX5_GET(mad_ifc_in, m->mock->in, remote_lid), 0xffff);
	in.mad_hdr.method = 0x05;
	KUNIT_EXPECT_EQ(test, process(m, &wc, &in, &out),
			IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED);
	destroy_all(test, m);
}

static void refused_mad_is_a_failure(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct ib_mad in = {}, out = {};
	struct ib_wc wc = {};

	in.mad_hdr.mgmt_class = 0x81;
	in.mad_hdr.method = 0x01;
	m->mock->num_commands = 0;
	m->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, process(m, &wc, &in, &out), IB_MAD_RESULT_FAILURE);
	m->mock->refuse = 0;
	destroy_all(test, m);
}

/* ---- port counters that the driver answers with ----------------------------------------- */

/* What the vport has counted; octets are multiples of 4. */
static const struct {
	size_t offset;
	u64 value;
} vport_counters[] = {
	{ MLX5_BYTE_OFF(query_vport_counter_out, received_errors.packets), 0x11 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, transmit_errors.packets), 0x22 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, received_ib_unicast.packets), 0x100000003 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, received_ib_unicast.octets), 0x400 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_unicast.packets), 0x55 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_unicast.octets), 0x1400 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, received_ib_multicast.packets), 0x66 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, received_ib_multicast.octets), 0x4 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_multicast.packets), 0x77 },
	{ MLX5_BYTE_OFF(query_vport_counter_out, transmitted_ib_multicast.octets), 0x8 },
};

static int fw_counts(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		     int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	unsigned int i;

	if (MLX5_GET(query_vport_counter_in, in, opcode) == MLX5_CMD_OP_QUERY_VPORT_COUNTER)
		for (i = 0; i < ARRAY_SIZE(vport_counters); i++)
			*(__be64 *)(out + vport_counters[i].offset) =
				cpu_to_be64(vport_counters[i].value);
	return err;
}

/* Have the driver answer a Get of performance management. */
static int get_perf(struct mock *mock, __be16 attr, struct ib_pma_mad *answer)
{
	struct ib_pma_mad in = {
		.mad_hdr = {
			.base_version = IB_MGMT_BASE_VERSION, .class_version = 1, .attr_id = attr,
			.mgmt_class = IB_MGMT_CLASS_PERF_MGMT, .method = IB_MGMT_METHOD_GET,
		},
	};

	((struct ib_pma_portcounters *)in.data)->port_select = 1;
	return mlx5_ib_answer_perf_mad(mock->dev, (struct ib_mad *)&in, (struct ib_mad *)answer);
}

static void port_counters_are_those_of_the_vport(struct kunit *test)
{
	static const struct ib_pma_portcounters want = {
		.port_select = 1,
		.port_rcv_errors = cpu_to_be16(0x11),
		.port_xmit_discards = cpu_to_be16(0x22),
		.port_xmit_data = cpu_to_be32(0x502),
		.port_rcv_data = cpu_to_be32(0x101),
		.port_xmit_packets = cpu_to_be32(0x55 + 0x77),
		/* The counter stops at its largest value. */
		.port_rcv_packets = cpu_to_be32(U32_MAX),
	};
	static const struct ib_pma_portcounters_ext want_ext = {
		.port_select = 1,
		.port_xmit_data = cpu_to_be64(0x502),
		.port_rcv_data = cpu_to_be64(0x101),
		.port_xmit_packets = cpu_to_be64(0x55 + 0x77),
		.port_rcv_packets = cpu_to_be64(0x100000003 + 0x66),
		.port_unicast_xmit_packets = cpu_to_be64(0x55),
		.port_unicast_rcv_packets = cpu_to_be64(0x100000003),
		.port_multicast_xmit_packets = cpu_to_be64(0x77),
		.port_multicast_rcv_packets = cpu_to_be64(0x66),
	};
	struct mock *mock = mock_create(test);
	struct ib_pma_mad mad;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_counts);
	KUNIT_EXPECT_EQ(test, get_perf(mock, IB_PMA_PORT_COUNTERS, &mad), -EOPNOTSUPP);
	MOCK_SET_CAP(&mock->dev->caps, vport_counters, 1);
	KUNIT_ASSERT_EQ(test, get_perf(mock, IB_PMA_PORT_COUNTERS, &mad), 0);
	KUNIT_EXPECT_EQ(test, mad.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, mad.mad_hdr.status, 0);
	KUNIT_EXPECT_MEMEQ(test, mad.data, &want, sizeof(want));
	KUNIT_ASSERT_EQ(test, get_perf(mock, IB_PMA_PORT_COUNTERS_EXT, &mad), 0);
	KUNIT_EXPECT_MEMEQ(test, mad.data, &want_ext, sizeof(want_ext));
	/* An attribute that the driver does not have. */
	KUNIT_ASSERT_EQ(test, get_perf(mock, cpu_to_be16(0x7f), &mad), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad.mad_hdr.status),
			IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, get_perf(mock, IB_PMA_PORT_COUNTERS, &mad), mock->refuse_err);
	mock->refuse = 0;
}

/* ---- multicast -------------------------------------------------------------------------- */

static void group_is_attached_and_detached_by_its_gid(struct kunit *test)
{
	struct golden attach[GOLDEN_MAX] = {
		{ 0x00, MLX5_CMD_OP_ATTACH_TO_MCG << 16 | UID }, { 0x08 }, { 0x10, 0xfffefdfc },
		{ 0x14, 0xfbfaf9f8 }, { 0x18, 0xf7f6f5f4 }, { 0x1c, 0xf3f2f1f0 },
	};
	struct golden detach[GOLDEN_MAX];
	struct manager *m = make_manager(test);
	struct mock *mock = m->mock;
	union ib_gid gid;
	unsigned int i;

	for (i = 0; i < sizeof(gid.raw); i++)
		gid.raw[i] = 0xff - i;
	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_UD), 0);
	attach[1].value = m->qp.rsc.num;
	memcpy(detach, attach, sizeof(detach));
	detach[0].value = MLX5_CMD_OP_DETACH_FROM_MCG << 16 | UID;
	/* The queue pair of a process has the user id of its context. */
	m->qp.uid = UID;
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_ATTACH_TO_MCG);
	expect_golden(test, mock->in, MLX5_ST_SZ_BYTES(attach_to_mcg_in), attach);
	KUNIT_EXPECT_EQ(test, MLX5_GET(attach_to_mcg_in, mock->in, qpn), m->qp.rsc.num);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(attach_to_mcg_in, mock->in, multicast_gid), gid.raw,
			   sizeof(gid.raw));
	KUNIT_EXPECT_EQ(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DETACH_FROM_MCG);
	expect_golden(test, mock->in, MLX5_ST_SZ_BYTES(detach_from_mcg_in), detach);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(detach_from_mcg_in, mock->in, multicast_gid), gid.raw,
			   sizeof(gid.raw));

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), mock->refuse_err);
	mock->refuse = 0;
	m->qp.uid = 0;
	destroy_all(test, m);
}

/*
 * A firmware that returns @err for the next @refusals DETACH_FROM_MCG, and @last_err for later
 * ones. It has got @num of these commands, the last one with @uid.
 */
static struct {
	unsigned int refusals;
	int err;
	int last_err;
	unsigned int num;
	u16 uid;
} detach;

static int fw_refuses_to_detach(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
				int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	if (MLX5_GET(detach_from_mcg_in, in, opcode) != MLX5_CMD_OP_DETACH_FROM_MCG)
		return err;
	detach.num++;
	detach.uid = uid;
	if (!detach.refusals)
		return detach.last_err;
	detach.refusals--;
	return detach.err;
}

static const struct detach_case {
	unsigned int refusals;
	int err;
	int last_err;
	unsigned int want_num;
	bool want_orphan;
	int retry_err;
} detach_cases[] = {
	{ 0, 0, 0, 1, false }, { 3, -EBUSY, 0, 4, false }, { 6, -EBUSY, 0, 6, true, -ENOENT },
	/* A command without an answer takes long, so it is repeated only once. */
	{ 2, -ETIMEDOUT, 0, 2, true, -ENOENT },
	/* The first command has ended the attachment, and firmware still knows the queue pair. */
	{ 1, -ETIMEDOUT, -EINVAL, 2, false }, { 2, -ETIMEDOUT, 0, 2, true, -EINVAL },
	/* A command that mlx5_core did not send for a long time is repeated once, too. */
	{ 1, -ECANCELED, 0, 2, false }, { 2, -ECANCELED, 0, 2, true, -ENOENT },
};

static void detach_in_the_end(struct kunit *test, struct manager *m, unsigned int i,
			      const struct list_head *orphans)
{
	const struct detach_case *c = &detach_cases[i];
	union ib_gid gid = { .raw = { 0xff, 0x12 } };

	detach.refusals = c->refusals;
	detach.err = c->err;
	detach.last_err = c->last_err;
	detach.num = 0;
	KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &gid, 0xc001), 0, "case %u", i);
	KUNIT_EXPECT_EQ_MSG(test, detach.num, c->want_num, "case %u", i);
	KUNIT_EXPECT_EQ_MSG(test, !list_empty(orphans), c->want_orphan, "case %u", i);
	/* The driver tries orphans again; by then the attachment of this orphan may have ended. */
	detach.refusals = 1;
	detach.err = c->retry_err;
	detach.num = 0;
	mlx5_ib_orphans_retry(m->mock->dev, m->qp.mem.context);
	KUNIT_EXPECT_EQ_MSG(test, detach.num, c->want_orphan, "case %u", i);
	KUNIT_EXPECT_EQ(test, detach.uid, m->qp.uid);
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(orphans), "case %u", i);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(detach_from_mcg_in, m->mock->in, multicast_gid),
			   gid.raw, sizeof(gid.raw));
}

/*
 * Neither ib_core, for a process, nor a kernel consumer detaches a queue pair a second time: the
 * driver does. ib_core never destroys a queue pair that it could not detach.
 */
static void queue_pair_is_detached_in_the_end(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct mlx5_ib_ucontext *context = m->mock->context;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_UD), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_refuses_to_detach);
	for (i = 0; i < ARRAY_SIZE(detach_cases); i++) {
		m->qp.uid = UID;
		m->qp.mem.context = context;
		detach_in_the_end(test, m, i, &context->orphans);
		m->qp.uid = 0;
		m->qp.mem.context = NULL;
		detach_in_the_end(test, m, i, &m->mock->dev->orphans.list);
	}
	destroy_all(test, m);
}

/* Firmware may have attached the queue pair, and may then refuse to destroy it. */
static void lost_attachment_is_ended(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct mlx5_ib_ucontext *context = m->mock->context;
	union ib_gid gid = { .raw = { 0xff, 0x12 } };
	struct mock *mock = m->mock;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_UD), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_refuses_to_detach);
	m->qp.uid = UID;
	m->qp.mem.context = context;
	/* Firmware has not attached the queue pair, and says so only in the first round. */
	detach.err = -ETIMEDOUT;
	detach.last_err = -EINVAL;
	for (i = 0; i < 2; i++) {
		mock->num_commands = 0;
		mock->refuse = 1;
		mock->refuse_err = -ETIMEDOUT;
		detach.refusals = i;
		detach.num = 0;
		KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, detach.num, 1);
		KUNIT_EXPECT_EQ(test, !list_empty(&context->orphans), i);
	}
	mock->refuse = 0;
	mock->refuse_err = -EBUSY;
	/* The orphan must not end the next attachment. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, detach.num, 2);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_ATTACH_TO_MCG);
	KUNIT_EXPECT_TRUE(test, list_empty(&context->orphans));
	detach.last_err = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	m->qp.mem.context = NULL;
	m->qp.uid = 0;
	destroy_all(test, m);
}

/*
 * Firmware refuses to detach the queue pair; later another task is about to send the command again.
 */
static void attach_beside_an_orphan(struct kunit *test, struct manager *m,
				    struct list_head *orphans)
{
	union ib_gid gid = { .raw = { 0xff, 0x12 } }, next = { .raw = { 0xff, 0x13 } };
	struct mock *mock = m->mock;
	LIST_HEAD(taken);

	KUNIT_ASSERT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	detach.err = -EBUSY;
	detach.last_err = 0;
	detach.refusals = 7;
	KUNIT_EXPECT_EQ(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_ASSERT_FALSE(test, list_empty(orphans));
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), -EBUSY);
	KUNIT_EXPECT_EQ(test, detach.refusals, 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DETACH_FROM_MCG);
	/* Another task has taken the orphan from the list in order to send the command. */
	list_splice_init(orphans, &taken);
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DETACH_FROM_MCG);
	/* The orphan does not end an attachment to another group. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &next, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &next, 0xc001), 0);
	list_splice(&taken, orphans);
	KUNIT_EXPECT_EQ(test, mlx5_ib_attach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_ATTACH_TO_MCG);
	KUNIT_EXPECT_TRUE(test, list_empty(orphans));
	KUNIT_EXPECT_EQ(test, mlx5_ib_detach_mcast(&m->qp.ibqp, &gid, 0xc001), 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
}

static void new_attachment_is_not_ended_by_an_orphan(struct kunit *test)
{
	struct manager *m = make_manager(test);
	struct mlx5_ib_ucontext *context = m->mock->context;

	KUNIT_ASSERT_EQ(test, create_qp(m, IB_QPT_UD), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_refuses_to_detach);
	attach_beside_an_orphan(test, m, &m->mock->dev->orphans.list);
	m->qp.uid = UID;
	m->qp.mem.context = context;
	attach_beside_an_orphan(test, m, &context->orphans);
	m->qp.mem.context = NULL;
	m->qp.uid = 0;
	destroy_all(test, m);
}

/* ---- allocations that fail ---------------------------------------------------------------- */

static int create_gsi(void *m)
{
	return create_qp(m, IB_QPT_GSI);
}

static void destroy_qp(void *m)
{
	mlx5_ib_destroy_qp(&((struct manager *)m)->qp.ibqp, NULL);
}

static void failure_of_any_allocation_leaves_nothing(struct kunit *test)
{
	static const struct fail_alloc_verb gsi = { create_gsi, destroy_qp };
	struct manager *m = make_manager(test);

	fail_alloc_each(m->mock, &gsi, m);
	memset(&m->qp, 0, sizeof(m->qp));
	destroy_all(test, m);
}

static struct kunit_case mad_cases[] = {
	KUNIT_CASE(qp0_and_qp1_are_created_as_such),
	KUNIT_CASE(process_gets_no_special_queue_pair),
	KUNIT_CASE(each_pkey_is_sent_by_its_own_queue_pair),
	KUNIT_CASE(qp1_itself_sends_the_pkey_of_its_own_index),
	KUNIT_CASE(pkey_without_a_partition_has_no_sender),
	KUNIT_CASE(device_without_deth_sqpn_sends_the_pkey_of_qp1_only),
	KUNIT_CASE(list_of_datagrams_is_sent_by_the_pkey_of_each),
	KUNIT_CASE(requests_other_than_datagrams_are_for_qp1_itself),
	KUNIT_CASE(datagram_of_a_sender_completes_as_that_of_qp1),
	KUNIT_CASE(queue_pair_that_has_failed_returns_to_rts),
	KUNIT_CASE(sender_says_that_it_is_qp1),
	KUNIT_CASE(senders_count_in_the_set_of_qp1),
	KUNIT_CASE(refusal_leaves_qp1_working_and_no_sender),
	KUNIT_CASE(pkey_event_is_handled_while_qp1_can_send),
	KUNIT_CASE(qp1_is_freed_after_a_search_for_pkeys),
	KUNIT_CASE(firmware_gets_the_mads_that_it_answers),
	KUNIT_CASE(keys_are_checked_unless_the_core_says_otherwise),
	KUNIT_CASE(mad_of_the_core_is_answered_without_checking_keys),
	KUNIT_CASE(refused_mad_is_a_failure),
	KUNIT_CASE(port_counters_are_those_of_the_vport),
	KUNIT_CASE(group_is_attached_and_detached_by_its_gid),
	KUNIT_CASE(queue_pair_is_detached_in_the_end),
	KUNIT_CASE(lost_attachment_is_ended),
	KUNIT_CASE(new_attachment_is_not_ended_by_an_orphan),
	KUNIT_CASE(failure_of_any_allocation_leaves_nothing),
	{}
};

static struct kunit_suite mad_suite = {
	.name = "bluebell_mad",
	.test_cases = mad_cases,
};

kunit_test_suite(mad_suite);
