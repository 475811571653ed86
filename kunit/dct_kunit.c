// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of DC: the contexts of targets and initiators, the changes of state of both, and the
 * commands of a target from its creation to its end.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../../../core/uverbs.h"
#include "devx/devx_obj.h"
#include "fw/fw.h"
#include "layout/layout_dct.h"
#include "layout/layout_qp.h"
#include "lib/golden.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/share.h"
#include "verbs/dct.h"
#include "verbs/qp.h"

#define DCTC_SIZE	0x40
#define QPC_SIZE	0xe8
#define DCTN		0x345
#define KEY		0x0123456789abcdefULL
#define TYPE_DCT	MLX5_QP_FLAG_TYPE_DCT
#define TYPE_DCI	MLX5_QP_FLAG_TYPE_DCI
#define STREAM		MLX5_QP_FLAG_DCI_STREAM
#define SCATTER		MLX5_QP_FLAG_SCATTER_CQE

static struct mlx5_ib_caps *make_caps(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, dct, 1);
	MOCK_SET_CAP(caps, sctr_data_cqe, 1);
	MOCK_SET_CAP(caps, log_max_ra_req_qp, 2);
	MOCK_SET_CAP(caps, log_max_ra_req_dc, 4);
	MOCK_SET_CAP(caps, log_max_msg, 30);
	MOCK_SET_CAP(caps, num_ports, 1);
	MOCK_SET_CAP(caps, log_max_dci_stream_channels, 3);
	MOCK_SET_CAP(caps, log_max_dci_errored_streams, 2);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_size_dc, 8);
	caps->atomic_mode = 3;
	return caps;
}

/* ---- the context of a target ---------------------------------------------------------------- */

static struct ib_qp_attr target_attr(enum rdma_ah_attr_type type)
{
	struct ib_qp_attr attr = {
		.port_num = 1, .pkey_index = 0x7f, .path_mtu = IB_MTU_2048, .min_rnr_timer = 0x1f,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	attr.ah_attr.type = type;
	rdma_ah_set_sl(&attr.ah_attr, 5);
	rdma_ah_set_grh(&attr.ah_attr, NULL, 0x12345, 7, 64, 0xb8);
	return attr;
}

#define TARGET_ATTRS (IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS | IB_QP_AV | \
		      IB_QP_PATH_MTU | IB_QP_MIN_RNR_TIMER)

static void context_of_a_target_is_filled(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x0c, 0x003e0000 },	/* atomic_mode, rre, rwe, rae */
		{ 0x10, 0x00021f00 },	/* cs_res, min_rnr_nak */
		{ 0x1c, 0xb8012345 },	/* tclass, flow_label */
		{ 0x20, 0x01234567 }, { 0x24, 0x89abcdef },
		{ 0x28, 0x0401007f },	/* mtu, port, pkey_index */
		{ 0x2c, 0x00070040 },	/* my_addr_index, hop_limit */
	};
	const struct mlx5_ib_create_qp ucmd = { .flags = SCATTER | TYPE_DCT, .access_key = KEY };
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};

	mlx5_ib_dct_fill_create(dctc, &ucmd, 128, caps);
	mlx5_ib_dct_fill_modify(dctc, &attr, TARGET_ATTRS, caps);
	expect_golden(test, dctc, DCTC_SIZE, want);
}

static void context_of_a_target_on_ethernet_has_dscp_and_priority(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x1c, 0xb8012345 }, { 0x2c, 0x00070040 },
		{ 0x34, 0x0000052e },	/* eth_prio, dscp */
	};
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_ROCE);
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};

	caps->ethernet = true;
	mlx5_ib_dct_fill_modify(dctc, &attr, IB_QP_AV, caps);
	expect_golden(test, dctc, DCTC_SIZE, want);
}

static void atomics_have_the_sizes_of_dc(struct kunit *test)
{
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};

	MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_size_dc, 4);
	caps->atomic_mode = 3;
	mlx5_ib_dct_fill_modify(dctc, &attr, IB_QP_ACCESS_FLAGS, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, atomic_mode), 1);
}

static void payload_goes_into_large_cqes_only(struct kunit *test)
{
	const struct mlx5_ib_create_qp asks = { .flags = SCATTER }, asks_not = {};
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};

	mlx5_ib_dct_fill_create(dctc, &asks, 64, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, cs_res), 0);
	mlx5_ib_dct_fill_create(dctc, &asks_not, 128, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, cs_res), 0);
	MOCK_SET_CAP(caps, sctr_data_cqe, 0);
	mlx5_ib_dct_fill_create(dctc, &asks, 128, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, cs_res), 0);
}

static void a_target_in_any_order_is_filled(struct kunit *test)
{
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};

	mlx5_ib_dct_fill_out_of_order(dctc, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, dp_ordering_1), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, dp_ordering_force), 0);
	MOCK_SET_CAP(caps, hca_cap_2, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_GENERAL_2, cmd_hca_cap_2, dp_ordering_force, 1);
	mlx5_ib_dct_fill_out_of_order(dctc, caps);
	KUNIT_EXPECT_EQ(test, MLX5_GET(dctc, dctc, dp_ordering_force), 1);
}

static void attributes_are_read_back(struct kunit *test)
{
	static const enum rdma_ah_attr_type types[] = {
		RDMA_AH_ATTR_TYPE_IB, RDMA_AH_ATTR_TYPE_ROCE,
	};
	struct mlx5_ib_caps *caps = make_caps(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ib_qp_attr want = target_attr(types[i]), attr = {};
		u32 dctc[MLX5_ST_SZ_DW(dctc)] = {};
		const struct ib_global_route *grh;

		caps->ethernet = types[i] == RDMA_AH_ATTR_TYPE_ROCE;
		mlx5_ib_dct_fill_modify(dctc, &want, TARGET_ATTRS, caps);
		mlx5_ib_dct_read(dctc, caps->ethernet, &attr);
		grh = rdma_ah_read_grh(&attr.ah_attr);
		KUNIT_EXPECT_EQ(test, attr.port_num, want.port_num);
		KUNIT_EXPECT_EQ(test, attr.pkey_index, want.pkey_index);
		KUNIT_EXPECT_EQ(test, attr.path_mtu, want.path_mtu);
		KUNIT_EXPECT_EQ(test, attr.min_rnr_timer, want.min_rnr_timer);
		KUNIT_EXPECT_EQ(test, attr.qp_access_flags, want.qp_access_flags);
		KUNIT_EXPECT_EQ(test, attr.ah_attr.type, types[i]);
		KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(&attr.ah_attr), caps->ethernet ? 5 : 0);
		KUNIT_EXPECT_EQ(test, grh->sgid_index, 7);
		KUNIT_EXPECT_EQ(test, grh->hop_limit, 64);
		KUNIT_EXPECT_EQ(test, grh->traffic_class, 0xb8);
		KUNIT_EXPECT_EQ(test, grh->flow_label, 0x12345);
	}
}

static void requests_for_targets_are_checked(struct kunit *test)
{
	static struct ib_srq basic = { .srq_type = IB_SRQT_BASIC };
	static struct ib_srq xrc = { .srq_type = IB_SRQT_XRC };
	static struct ib_srq tm = { .srq_type = IB_SRQT_TM };
	static struct ib_cq cq;
	static const struct {
		struct mlx5_ib_create_qp ucmd;
		struct ib_qp_init_attr init;
		int want;
	} t[] = {
		{ { .flags = TYPE_DCT }, { .srq = &basic, .recv_cq = &cq }, 0 },
		{ { .flags = TYPE_DCT | SCATTER }, { .srq = &basic, .recv_cq = &cq,
						     .cap.max_send_wr = 100 }, 0 },
		{ { .flags = TYPE_DCT | MLX5_QP_FLAG_SIGNATURE },
		  { .srq = &basic, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT | STREAM }, { .srq = &basic, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT, .reserved = 1 }, { .srq = &basic, .recv_cq = &cq },
		  -EINVAL },
		{ { .flags = TYPE_DCT, .dci_streams.log_num_concurent = 1 },
		  { .srq = &basic, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT, .dci_streams.log_num_errored = 1 },
		  { .srq = &basic, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT, .sq_wqe_count = 1 }, { .srq = &basic, .recv_cq = &cq },
		  -EINVAL },
		{ { .flags = TYPE_DCT, .rq_wqe_count = 1 }, { .srq = &basic, .recv_cq = &cq },
		  -EINVAL },
		{ { .flags = TYPE_DCT }, { .srq = &basic, .recv_cq = &cq, .create_flags = 1 },
		  -EINVAL },
		{ { .flags = TYPE_DCT }, { .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT }, { .srq = &xrc, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT }, { .srq = &tm, .recv_cq = &cq }, -EINVAL },
		{ { .flags = TYPE_DCT }, { .srq = &basic }, -EINVAL },
	};
	struct mlx5_ib_caps *caps = make_caps(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_dct_check_create(&t[i].init, &t[i].ucmd, caps),
				    t[i].want, "request %u", i);
}

#define INIT_ATTRS (IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define RTR_ATTRS (IB_QP_AV | IB_QP_PATH_MTU | IB_QP_MIN_RNR_TIMER)

static void changes_of_targets_are_checked(struct kunit *test)
{
	static const struct {
		enum ib_qp_state cur, next;
		int mask, want;
	} t[] = {
		{ IB_QPS_RESET, IB_QPS_INIT, INIT_ATTRS, 0 },
		{ IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT, -EINVAL },
		{ IB_QPS_RESET, IB_QPS_INIT, INIT_ATTRS | IB_QP_PATH_MTU, -EINVAL },
		{ IB_QPS_INIT, IB_QPS_INIT, IB_QP_ACCESS_FLAGS, 0 },
		{ IB_QPS_INIT, IB_QPS_INIT, IB_QP_AV, -EINVAL },
		{ IB_QPS_INIT, IB_QPS_RTR, RTR_ATTRS, 0 },
		{ IB_QPS_INIT, IB_QPS_RTR, RTR_ATTRS | IB_QP_ACCESS_FLAGS, 0 },
		{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_AV | IB_QP_PATH_MTU, -EINVAL },
		{ IB_QPS_INIT, IB_QPS_RTR, RTR_ATTRS | IB_QP_DEST_QPN, -EINVAL },
		{ IB_QPS_RESET, IB_QPS_RTR, RTR_ATTRS, -EINVAL },
		{ IB_QPS_RTR, IB_QPS_RTR, 0, -EINVAL },
		{ IB_QPS_RTR, IB_QPS_RTS, 0, -EINVAL },
		{ IB_QPS_RTR, IB_QPS_RESET, 0, -EINVAL },
		{ IB_QPS_INIT, IB_QPS_ERR, 0, -EINVAL },
	};
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);
	struct mlx5_ib_caps *caps = make_caps(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    mlx5_ib_dct_check_modify(t[i].cur, t[i].next,
							     t[i].mask | IB_QP_STATE, &attr, caps),
				    t[i].want, "change %u", i);
	attr.min_rnr_timer = 32;
	KUNIT_EXPECT_EQ(test, mlx5_ib_dct_check_modify(IB_QPS_INIT, IB_QPS_RTR,
						       RTR_ATTRS | IB_QP_STATE, &attr, caps),
			-EINVAL);
}

/* ---- initiators ----------------------------------------------------------------------------- */

static void streams_of_an_initiator_are_checked(struct kunit *test)
{
	static const struct {
		u8 channels, errored;
		u32 flags;
		int want;
	} t[] = {
		{ 0, 0, TYPE_DCI, 0 },
		{ 3, 2, TYPE_DCI | STREAM, 0 },
		{ 3, 2, TYPE_DCI, -EINVAL },
		{ 4, 2, TYPE_DCI | STREAM, -EINVAL },
		{ 3, 3, TYPE_DCI | STREAM, -EINVAL },
	};
	const struct ib_qp_init_attr init = { .qp_type = IB_QPT_DRIVER };
	struct mlx5_ib_caps *caps = make_caps(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct mlx5_ib_create_qp ucmd = { .flags = t[i].flags };

		ucmd.dci_streams.log_num_concurent = t[i].channels;
		ucmd.dci_streams.log_num_errored = t[i].errored;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_check_create(&init, &ucmd, caps), t[i].want,
				    "request %u", i);
	}
}

static void context_of_an_initiator_is_filled(struct kunit *test)
{
	static const struct golden created[GOLDEN_MAX] = {
		{ 0x00, 0x00051800 },	/* st, pm_state */
		{ 0x08, 0x00002000 },	/* log_sq_size */
		{ 0x7c, 0x03000000 },	/* log_num_dci_stream_channels */
		{ 0x80, 0x02000000 },	/* log_num_dci_errored_streams */
		{ 0xac, 0x03000000 },	/* rq_type */
	};
	struct mlx5_ib_create_qp ucmd = { .flags = TYPE_DCI | STREAM, .sq_wqe_count = 16 };
	const struct ib_qp_init_attr init = { .qp_type = IB_QPT_DRIVER };
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};

	ucmd.dci_streams.log_num_concurent = 3;
	ucmd.dci_streams.log_num_errored = 2;
	mlx5_ib_fill_qpc(qpc, &init, &ucmd);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, st), MLX5_QP_ST_DCI);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, log_num_dci_stream_channels), 3);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, log_num_dci_errored_streams), 2);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, rq_type), MLX5_ZERO_LEN_RQ);
	expect_golden(test, qpc, QPC_SIZE, created);
}

#define RTS_ATTRS (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC)

static void changes_of_initiators_are_those_of_a_requester(struct kunit *test)
{
	static const struct {
		enum ib_qp_state cur, next;
		int mask;
		bool want;
	} t[] = {
		{ IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT, true },
		{ IB_QPS_RESET, IB_QPS_INIT, IB_QP_PORT, false },
		{ IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, false },
		{ IB_QPS_INIT, IB_QPS_INIT, IB_QP_PORT, true },
		{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_PATH_MTU, true },
		{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_PATH_MTU | IB_QP_AV, true },
		{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_AV, false },
		{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_PATH_MTU | IB_QP_DEST_QPN, false },
		{ IB_QPS_RTR, IB_QPS_RTS, RTS_ATTRS, true },
		{ IB_QPS_RTR, IB_QPS_RTS, RTS_ATTRS | IB_QP_SQ_PSN, true },
		{ IB_QPS_RTR, IB_QPS_RTS, RTS_ATTRS & ~IB_QP_TIMEOUT, false },
		{ IB_QPS_RTS, IB_QPS_RTS, 0, true },
		{ IB_QPS_RTS, IB_QPS_SQD, 0, false },
		{ IB_QPS_RTS, IB_QPS_ERR, 0, true },
		{ IB_QPS_ERR, IB_QPS_RESET, 0, true },
		{ IB_QPS_ERR, IB_QPS_RESET, IB_QP_PORT, false },
		{ IB_QPS_RESET, IB_QPS_RTS, RTS_ATTRS, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		const struct mlx5_ib_qp_modify mod = {
			.type = IB_QPT_DRIVER, .cur = t[i].cur, .next = t[i].next,
			.mask = t[i].mask | IB_QP_STATE,
		};

		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_modify_is_ok(&mod), t[i].want, "change %u",
				    i);
	}
}

static void command_of_an_initiator_has_no_address_and_no_rights(struct kunit *test)
{
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);
	struct mlx5_ib_caps *caps = make_caps(test);
	u32 created[MLX5_ST_SZ_DW(qpc)] = {};
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};
	const struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_DRIVER, .cur = IB_QPS_INIT, .next = IB_QPS_RTR, .port = 1,
		.qpc = created, .attr = &attr, .access = attr.qp_access_flags,
		.dest_rd_atomic = 1,
		.mask = IB_QP_STATE | IB_QP_PATH_MTU | IB_QP_AV | IB_QP_ACCESS_FLAGS |
			IB_QP_PKEY_INDEX | IB_QP_MIN_RNR_TIMER,
	};
	void *path = MLX5_ADDR_OF(qpc, qpc, primary_address_path);

	rdma_ah_set_dlid(&attr.ah_attr, 9);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_modify_qpc(qpc, &mod, caps),
			MLX5_QP_OPTPAR_PKEY_INDEX);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, st), MLX5_QP_ST_DCI);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, mtu), IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, log_msg_max), 30);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, rwe), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, path, vhca_port_num), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, path, rlid), 0);
	KUNIT_EXPECT_EQ(test, MLX5_GET(ads, path, grh), 0);
}

static void an_initiator_has_the_reads_of_dc(struct kunit *test)
{
	struct ib_qp_attr attr = { .max_rd_atomic = 16 };
	struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_DRIVER, .cur = IB_QPS_RTR, .next = IB_QPS_RTS, .attr = &attr,
		.mask = IB_QP_STATE | RTS_ATTRS,
	};
	struct mlx5_ib_caps *caps = make_caps(test);

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), 0);
	attr.max_rd_atomic = 17;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_check_attr(&mod, caps), -EINVAL);
}

/* ---- a target at the device ----------------------------------------------------------------- */

/**
 * struct env - a device that has at most one DC target
 * @o: what a target needs
 * @qp: the queue pair of the target
 * @live: the target exists
 * @drained: the target has drained
 * @drains: number of DRAIN_DCT
 * @no_drain: refuse DRAIN_DCT
 * @lost: DCT_DRAINED gets lost
 */
struct env {
	struct objects *o;
	struct mlx5_ib_qp qp;
	bool live;
	bool drained;
	unsigned int drains;
	bool no_drain;
	bool lost;
};

static struct env *the_env;

static void raise_drained(struct env *env)
{
	struct mlx5_ib_rsc_table *table = &env->o->mock->dev->rsc_table;
	struct mlx5_eqe eqe = {};

	eqe.data.dct.dctn = cpu_to_be32(DCTN);
	mlx5_ib_rsc_event(&table->nb, MLX5_EVENT_TYPE_DCT_DRAINED, &eqe);
}

static int execute(struct env *env, u16 opcode, void *in, void *out)
{
	struct kunit *test = env->o->mock->test;

	if (opcode == MLX5_CMD_OP_CREATE_DCT) {
		KUNIT_EXPECT_FALSE(test, env->live);
		/* The counter set that the command names must not change meanwhile. */
		KUNIT_EXPECT_TRUE(test, mutex_is_locked(&env->qp.mutex));
		env->live = true;
		env->drained = false;
		MLX5_SET(create_dct_out, out, dctn, DCTN);
		MLX5_SET(create_dct_out, out, ece, env->o->mock->ece);
		return 0;
	}
	KUNIT_EXPECT_TRUE_MSG(test, env->live, "command 0x%x on nothing", opcode);
	KUNIT_EXPECT_EQ(test, MLX5_GET(drain_dct_in, in, dctn), DCTN);
	if (env->o->break_response)
		KUNIT_EXPECT_FALSE(test, mutex_is_locked(&env->qp.mutex));
	if (opcode == MLX5_CMD_OP_DRAIN_DCT) {
		env->drains++;
		if (env->no_drain)
			return -EINVAL;
		env->drained = true;
		if (!env->lost)
			raise_drained(env);
	} else if (opcode == MLX5_CMD_OP_DESTROY_DCT) {
		if (env->o->mock->refuse_destroy)
			return env->o->mock->refuse_err;
		if (!env->drained && !env->no_drain)
			return -EINVAL;
		env->live = false;
	} else {
		MLX5_SET(query_dct_out, out, dct_context_entry.mtu, IB_MTU_512);
	}
	return 0;
}

static int dct_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		  mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u16 opcode = the_env->o->mock->opcode;

	if (!err && (opcode == MLX5_CMD_OP_CREATE_DCT || opcode == MLX5_CMD_OP_DRAIN_DCT ||
		     opcode == MLX5_CMD_OP_DESTROY_DCT || opcode == MLX5_CMD_OP_QUERY_DCT))
		err = execute(the_env, opcode, in, out);
	return err;
}

static void free_workqueue(void *wq)
{
	destroy_workqueue(wq);
}

static struct env *make_env(struct kunit *test)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_rsc_table *table;
	struct mlx5_ib_caps *caps;

	KUNIT_ASSERT_NOT_NULL(test, env);
	the_env = env;
	env->o = objects_make(test);
	caps = &env->o->mock->dev->caps;
	MOCK_SET_CAP(caps, dct, 1);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_size_dc, 8);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_ATOMIC, atomic_caps, atomic_operations,
			MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD);
	caps->atomic_mode = 3;
	table = &env->o->mock->dev->rsc_table;
	if (!table->wq) {
		table->wq = alloc_workqueue("bluebell_dct_test", WQ_UNBOUND, 0);
		KUNIT_ASSERT_NOT_NULL(test, table->wq);
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_workqueue,
								   table->wq));
	}
	KUNIT_ASSERT_EQ(test, objects_need(env->o, OBJ_SRQ_QP), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, dct_fw);
	return env;
}

static void finish(struct kunit *test, struct env *env)
{
	KUNIT_EXPECT_FALSE(test, env->live);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(env->o), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->o->mock->dev->rsc_table.rscs));
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static int create_with(struct env *env, u32 flags)
{
	const struct mlx5_ib_create_qp ucmd = {
		.flags = flags, .uidx = 5, .access_key = KEY,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_DRIVER, .send_cq = &env->o->cq.ibcq,
		.recv_cq = &env->o->cq.ibcq, .srq = &env->o->srq.ibsrq,
		.cap = { .max_send_wr = 100 },
	};
	struct mlx5_ib_qp *qp = &env->qp;

	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &env->o->mock->dev->ib_dev;
	qp->ibqp.real_qp = &qp->ibqp;
	qp->ibqp.pd = &env->o->pd.ibpd;
	qp->ibqp.qp_type = init.qp_type;
	env->o->mock->num_commands = 0;
	return mlx5_ib_create_qp(&qp->ibqp, &init,
				 objects_udata(env->o, &ucmd, sizeof(ucmd),
					       sizeof(struct mlx5_ib_create_qp_resp)));
}

static int to_init(struct env *env)
{
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);

	attr.qp_state = IB_QPS_INIT;
	return mlx5_ib_modify_qp(&env->qp.ibqp, &attr, IB_QP_STATE | INIT_ATTRS,
				 mock_udata(env->o->mock, NULL, 0, 0));
}

static int to_rtr(struct env *env, size_t outlen)
{
	struct ib_qp_attr attr = target_attr(RDMA_AH_ATTR_TYPE_IB);

	attr.qp_state = IB_QPS_RTR;
	env->o->mock->num_commands = 0;
	return mlx5_ib_modify_qp(&env->qp.ibqp, &attr, IB_QP_STATE | RTR_ATTRS,
				 objects_udata(env->o, NULL, 0, outlen));
}

static int destroy(struct env *env)
{
	env->o->mock->num_commands = 0;
	return mlx5_ib_destroy_qp(&env->qp.ibqp, &env->o->mock->attrs->driver_udata);
}

static void kind_of_a_driver_qp_is_in_the_request(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_EXPECT_EQ(test, create_with(env, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, create_with(env, TYPE_DCT | TYPE_DCI), -EINVAL);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_EXPECT_PTR_EQ(test, env->qp.ops, &mlx5_ib_dct_ops);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	MOCK_SET_CAP(&env->o->mock->dev->caps, dct, 0);
	KUNIT_EXPECT_EQ(test, create_with(env, TYPE_DCT), -EOPNOTSUPP);
	finish(test, env);
}

static void a_target_is_created_on_the_way_to_rtr(struct kunit *test)
{
	struct env *env = make_env(test);
	struct uverbs_api_object object = { .id = UVERBS_OBJECT_QP };
	struct ib_uobject uobj = {
		.uapi_object = &object, .object = &env->qp.ibqp,
		.context = &env->o->mock->context->ibucontext,
	};
	struct mlx5_ib_modify_qp_resp resp;
	struct ib_qp_init_attr init;
	struct mlx5_ib_devx_id id;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), -EINVAL);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_qp(&env->qp.ibqp, &attr, 1, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, attr.pkey_index, 0x7f);

	KUNIT_ASSERT_EQ(test, to_rtr(env, sizeof(resp)), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, env->o->mock->opcode, MLX5_CMD_OP_CREATE_DCT);
	KUNIT_EXPECT_EQ(test, mock_dword(env->o->mock, 0x10 + 0x20), KEY >> 32);
	mock_read_answer(env->o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.dctn, DCTN);
	KUNIT_EXPECT_EQ(test, resp.response_length, sizeof(resp));
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), 0);
	KUNIT_EXPECT_EQ(test, id.kind, MLX5_IB_DEVX_DCT);
	KUNIT_EXPECT_EQ(test, id.num, DCTN);
	KUNIT_ASSERT_EQ(test, mlx5_ib_query_qp(&env->qp.ibqp, &attr, 1, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, IB_MTU_512);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->qp, 7), -EOPNOTSUPP);

	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	finish(test, env);
}

/* Resource tracking knows a queue pair by the number that it has when it has been created. */
static void number_of_a_queue_pair_is_not_that_of_its_target(struct kunit *test)
{
	struct env *env = make_env(test);
	u32 number;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	number = env->qp.ibqp.qp_num;
	/* QPs do not have such numbers, but for the one of multicast packets. */
	KUNIT_EXPECT_GE(test, number, 0x800000);
	KUNIT_EXPECT_LT(test, number, 0xffffff);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	KUNIT_EXPECT_EQ(test, env->qp.ibqp.qp_num, number);
	KUNIT_EXPECT_FALSE(test, env->qp.ibqp.res.no_track);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	/* ib_core forgets the number only after the queue pair has been destroyed. */
	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_EXPECT_NE(test, env->qp.ibqp.qp_num, number);
	KUNIT_EXPECT_GE(test, env->qp.ibqp.qp_num, 0x800000);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	MOCK_SET_CAP(&env->o->mock->dev->caps, log_max_qp, 24);
	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_EXPECT_EQ(test, env->qp.ibqp.qp_num, 0);
	KUNIT_EXPECT_TRUE(test, env->qp.ibqp.res.no_track);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	finish(test, env);
}

static void an_answer_without_room_for_the_number_is_refused(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 8), 0);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	finish(test, env);
}

static void a_refused_target_can_be_tried_again(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	env->o->mock->refuse = 1;
	env->o->mock->refuse_err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), -ENOMEM);
	env->o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, env->qp.state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), 0);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	finish(test, env);
}

/* Queue pairs and targets that count against the limit of the process's user. */
static int count(struct env *env)
{
	return atomic_read(&env->o->mock->context->user->count[MLX5_IB_SHARE_QP]);
}

/*
 * The response may go to memory whose page never comes. So it is sent without the mutex, for which
 * an administrator waits who lists the queue pairs of all processes: execute() looks at the mutex
 * when the target is destroyed because the response has failed.
 */
static void a_target_whose_number_cannot_be_told_is_destroyed(struct kunit *test)
{
	struct env *env = make_env(test);
	int before, idx;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	before = count(env);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	env->o->break_response = true;
	idx = mock_enter(env->o->mock);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), -EFAULT);
	mock_leave(env->o->mock, idx);
	env->o->break_response = false;
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	KUNIT_EXPECT_FALSE(test, env->live);
	KUNIT_EXPECT_EQ(test, env->qp.state, IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, count(env), before);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->qp, 7), 0);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, count(env), before - 1);
	finish(test, env);
}

static void an_orphaned_target_belongs_to_its_process(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->o->mock;
	int before, idx;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	before = count(env);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	env->o->break_response = true;
	mock->refuse_destroy = true;
	mock->refuse_err = -EBUSY;
	idx = mock_enter(mock);
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), -EFAULT);
	mock_leave(mock, idx);
	env->o->break_response = false;
	mock->refuse_destroy = false;
	/* Kernel consumers do not try to destroy the target, and the user has its number. */
	KUNIT_EXPECT_TRUE(test, env->live);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.list));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&mock->context->orphans));
	KUNIT_EXPECT_EQ(test, count(env), before);
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_FALSE(test, env->live);
	KUNIT_EXPECT_EQ(test, count(env), before - 1);

	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), 0);
	KUNIT_EXPECT_EQ(test, count(env), before);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, count(env), before - 1);
	finish(test, env);
}

static void a_target_that_may_exist_counts(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->o->mock;
	int before, tries;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	before = count(env);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	mock->refuse_err = -ETIMEDOUT;
	for (tries = 0; tries < 3; tries++) {
		mock->refuse = 1;
		KUNIT_EXPECT_EQ(test, to_rtr(env, 16), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, count(env), before + tries);
	}
	mock->context->unlimited = false;
	mock->dev->users->limit[MLX5_IB_SHARE_QP] = count(env);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mock->dev->users->limit[MLX5_IB_SHARE_QP]++;
	KUNIT_EXPECT_EQ(test, to_rtr(env, 16), 0);
	KUNIT_EXPECT_EQ(test, count(env), before + 3);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, count(env), before + 2);
	finish(test, env);
}

static void a_qp_that_is_no_target_yet_sends_no_command(struct kunit *test)
{
	struct env *env = make_env(test);
	int idx;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	env->o->break_response = true;
	idx = mock_enter(env->o->mock);
	KUNIT_EXPECT_EQ(test, create_with(env, TYPE_DCT), -EFAULT);
	mock_leave(env->o->mock, idx);
	env->o->break_response = false;
	finish(test, env);
}

static void a_target_that_does_not_drain_is_destroyed_without_waiting(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->no_drain = true;
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	finish(test, env);
}

/* Firmware that has refused to drain a target does not destroy it: the next attempt drains. */
static void a_target_drains_after_a_refusal(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->no_drain = true;
	env->o->mock->refuse_destroy = true;
	env->o->mock->refuse_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, destroy(env), -EBUSY);
	env->no_drain = false;
	env->o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->drains, 2);
	finish(test, env);
}

static void a_target_that_stays_is_not_drained_twice(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->o->mock->refuse_destroy = true;
	env->o->mock->refuse_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, destroy(env), -EBUSY);
	env->o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	finish(test, env);
}

/* Resource tracking goes on with the next queue pair only after -EAGAIN. */
static void a_target_that_may_be_gone_hides_no_other(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->o->mock->refuse_destroy = true;
	env->o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, destroy(env), -ETIMEDOUT);
	env->o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_qp(&env->qp.ibqp, &attr, IB_QP_STATE, &init), -EIO);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_qp(&env->qp.ibqp, &attr, 0, &init), -EAGAIN);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	env->o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	finish(test, env);
}

static void targets_of_a_process_that_ends_drain_early(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->o->mock->num_commands = 0;
	mlx5_ib_destroy_qp_early(&env->qp.ibqp, NULL);
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, env->drains, 1);
	finish(test, env);
}

/* A process may have many targets, and each of them may lose the event. */
static void time_to_drain_begins_with_the_command(struct kunit *test)
{
	struct env *env = make_env(test);
	ktime_t start;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->lost = true;
	mlx5_ib_destroy_qp_early(&env->qp.ibqp, NULL);
	msleep(5500);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 1000);
	finish(test, env);
}

static s64 ms_to_destroy_a_target_whose_event_is_lost(struct kunit *test, struct env *env)
{
	ktime_t start;

	KUNIT_ASSERT_EQ(test, create_with(env, TYPE_DCT), 0);
	KUNIT_ASSERT_EQ(test, to_init(env), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(env, 16), 0);
	env->lost = true;
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, destroy(env), 0);
	return ktime_ms_delta(ktime_get(), start);
}

/* Takes the place of mlx5_ib_fw_device_is_gone(), which looks at the PCI device. */
static bool device_is_there(struct mlx5_ib_dev *dev)
{
	return false;
}

/* ib_core destroys the contexts one after the other. */
static void contexts_share_the_time_to_drain_when_the_driver_is_unbound(struct kunit *test)
{
	struct env *env = make_env(test);

	kunit_activate_static_stub(test, mlx5_ib_fw_device_is_gone, device_is_there);
	env->o->mock->dev->removing = true;
	KUNIT_EXPECT_GT(test, ms_to_destroy_a_target_whose_event_is_lost(test, env), 4000);
	KUNIT_EXPECT_LT(test, ms_to_destroy_a_target_whose_event_is_lost(test, env), 1000);
	finish(test, env);
}

static struct kunit_case dct_cases[] = {
	KUNIT_CASE(context_of_a_target_is_filled),
	KUNIT_CASE(context_of_a_target_on_ethernet_has_dscp_and_priority),
	KUNIT_CASE(atomics_have_the_sizes_of_dc),
	KUNIT_CASE(payload_goes_into_large_cqes_only),
	KUNIT_CASE(a_target_in_any_order_is_filled),
	KUNIT_CASE(attributes_are_read_back),
	KUNIT_CASE(requests_for_targets_are_checked),
	KUNIT_CASE(changes_of_targets_are_checked),
	KUNIT_CASE(streams_of_an_initiator_are_checked),
	KUNIT_CASE(context_of_an_initiator_is_filled),
	KUNIT_CASE(changes_of_initiators_are_those_of_a_requester),
	KUNIT_CASE(command_of_an_initiator_has_no_address_and_no_rights),
	KUNIT_CASE(an_initiator_has_the_reads_of_dc),
	KUNIT_CASE(kind_of_a_driver_qp_is_in_the_request),
	KUNIT_CASE(a_target_is_created_on_the_way_to_rtr),
	KUNIT_CASE(number_of_a_queue_pair_is_not_that_of_its_target),
	KUNIT_CASE(an_answer_without_room_for_the_number_is_refused),
	KUNIT_CASE(a_refused_target_can_be_tried_again),
	KUNIT_CASE(a_target_whose_number_cannot_be_told_is_destroyed),
	KUNIT_CASE(an_orphaned_target_belongs_to_its_process),
	KUNIT_CASE(a_target_that_may_exist_counts),
	KUNIT_CASE(a_qp_that_is_no_target_yet_sends_no_command),
	KUNIT_CASE(a_target_that_does_not_drain_is_destroyed_without_waiting),
	KUNIT_CASE(a_target_drains_after_a_refusal),
	KUNIT_CASE(a_target_that_stays_is_not_drained_twice),
	KUNIT_CASE(a_target_that_may_be_gone_hides_no_other),
	KUNIT_CASE(targets_of_a_process_that_ends_drain_early),
	KUNIT_CASE_SLOW(time_to_drain_begins_with_the_command),
	KUNIT_CASE_SLOW(contexts_share_the_time_to_drain_when_the_driver_is_unbound),
	{}
};

static struct kunit_suite dct_suite = {
	.name = "bluebell_dct",
	.test_cases = dct_cases,
};

kunit_test_suite(dct_suite);
