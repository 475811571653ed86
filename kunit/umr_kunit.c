// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the driver's own UMR work requests: every request against golden bytes, the delay
 * of a restart after a failure, and the queue pair of a device that has failed.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_mkey.h"
#include "layout/layout_umr.h"
#include "lib/golden.h"
#include "lib/internal_cq.h"
#include "lib/interrupt.h"
#include "lib/mkey_caps.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/umr.h"

#define WQE_SIZE	0x100

static const struct mlx5_ib_mkc_attr region = {
	.access = IB_ACCESS_LOCAL_WRITE, .pdn = 7, .iova = 0x10000, .length = 0x3000,
	.page_shift = 12, .nmtts = 3, .variant = 6,
};

static struct mlx5_ib_umr_wqe *make_wqe(struct kunit *test)
{
	struct mlx5_ib_umr_wqe *wqe = kunit_kzalloc(test, WQE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	KUNIT_ASSERT_EQ(test, sizeof(*wqe), WQE_SIZE);
	return wqe;
}

static void translation_list_is_padded_to_blocks(struct kunit *test)
{
	static const u32 lengths[][2] = { { 1, 8 }, { 8, 8 }, { 9, 16 }, { 131072, 131072 } };
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		mlx5_ib_umr_fill_list(wqe, 1, 2, 0x1000, 0, lengths[i][0]);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(wqe->umr.xlt_octowords),
				(u16)(lengths[i][1] / 2));
		KUNIT_EXPECT_EQ(test, be32_to_cpu(wqe->list.byte_count), lengths[i][1] * 8);
	}
}

static void registration_is_exact_to_the_bit(struct kunit *test)
{
	/* The mask has length, page size, start, PD, key, QPN, all rights and free. */
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00000725 }, { 0x04, 0x0001230c }, { 0x08, 0x00000028 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0xb0000000 }, { 0x14, 0x00040000 },
		{ 0x1c, 0x203e60c3 },
		{ 0x40, 0x00000d00 }, { 0x44, 0xffffff06 }, { 0x4c, 0x00000007 },
		{ 0x54, 0x00010000 }, { 0x5c, 0x00003000 }, { 0x74, 0x00000002 },
		{ 0x78, 0x0000000c },
		{ 0x84, 0x00001000 }, { 0x8c, 0x00002000 }, { 0x94, 0x00003000 },
	};
	static const struct mkey_caps caps = {};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);

	mlx5_ib_umr_fill_reg(wqe, 0xabcd05, &region, mock_mkey_caps(test, &caps));
	wqe->mtt[0] = cpu_to_be64(0x1000);
	wqe->mtt[1] = cpu_to_be64(0x2000);
	wqe->mtt[2] = cpu_to_be64(0x3000);
	mlx5_ib_umr_fill_ctrl(wqe, 0x123, 7, MLX5_FENCE_MODE_INITIATOR_SMALL);
	expect_golden(test, wqe, WQE_SIZE, want);
}

static void registration_by_a_list_is_exact_to_the_bit(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00ffff25 }, { 0x04, 0xffffff09 }, { 0x08, 0x00000068 },
		{ 0x0c, 0xffffffff }, { 0x10, 0x30000000 }, { 0x14, 0x00340000 },
		{ 0x1c, 0x203e60c3 },
		{ 0x40, 0x00000d00 }, { 0x44, 0xffffff06 }, { 0x4c, 0x00000007 },
		{ 0x54, 0x00010000 }, { 0x5c, 0x00064000 }, { 0x74, 0x00000032 },
		{ 0x78, 0x0000000c },
		{ 0x80, 0x00000340 }, { 0x84, 0x00007700 }, { 0x88, 0x00000012 },
		{ 0x8c, 0x34567000 },
	};
	static const struct mkey_caps caps = {};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);
	struct mlx5_ib_mkc_attr attr = region;

	attr.nmtts = 100;
	attr.length = 0x64000;
	mlx5_ib_umr_fill_reg(wqe, U32_MAX, &attr, mock_mkey_caps(test, &caps));
	mlx5_ib_umr_fill_list(wqe, U32_MAX, 0x7700, 0x1234567000, 0, attr.nmtts);
	mlx5_ib_umr_fill_ctrl(wqe, 0xffffff, 0xffff, MLX5_FENCE_MODE_STRONG_ORDERING);
	expect_golden(test, wqe, WQE_SIZE, want);
}

/* First 8 entries, which the WQE carries, then 9 entries, at which the WQE points. */
static void registration_carries_up_to_8_entries(struct kunit *test)
{
	static const struct golden carried[GOLDEN_MAX] = {
		{ 0x00, 0x00000025 }, { 0x04, 0x0001230c }, { 0x08, 0x00000008 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0xb0000000 }, { 0x14, 0x00040000 },
		{ 0x1c, 0x203e60c3 },
		{ 0x40, 0x00000d00 }, { 0x44, 0xffffff06 }, { 0x4c, 0x00000007 },
		{ 0x54, 0x00010000 }, { 0x5c, 0x00003000 }, { 0x74, 0x00000004 },
		{ 0x78, 0x0000000c },
		{ 0x84, 0x00001003 }, { 0x8c, 0x00002003 }, { 0xbc, 0x00008003 },
	};
	static const struct golden pointed_at[GOLDEN_MAX] = {
		{ 0x00, 0x00000025 }, { 0x04, 0x00012309 }, { 0x08, 0x00000008 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0x30000000 }, { 0x14, 0x00080000 },
		{ 0x1c, 0x203e60c3 },
		{ 0x40, 0x00000d00 }, { 0x44, 0xffffff06 }, { 0x4c, 0x00000007 },
		{ 0x54, 0x00010000 }, { 0x5c, 0x00003000 }, { 0x74, 0x00000005 },
		{ 0x78, 0x0000000c },
		{ 0x80, 0x00000080 }, { 0x84, 0x00007700 }, { 0x88, 0x00000012 },
		{ 0x8c, 0x34567000 },
	};
	const __be64 mtt[16] = {
		[0] = cpu_to_be64(0x1003), [1] = cpu_to_be64(0x2003), [7] = cpu_to_be64(0x8003),
		[8] = cpu_to_be64(0x9003),
	};
	static const struct mkey_caps caps = {};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);
	struct mlx5_ib_mkc_attr attr = region;

	for (attr.nmtts = 8; attr.nmtts <= 9; attr.nmtts++) {
		memset(wqe, 0, WQE_SIZE);
		mlx5_ib_umr_fill_reg(wqe, 0xabcd05, &attr, mock_mkey_caps(test, &caps));
		mlx5_ib_umr_fill_entries(wqe, 0xabcd05, 0x7700, mtt, 0x1234567000, attr.nmtts);
		mlx5_ib_umr_fill_ctrl(wqe, 0x123, 0, 0);
		expect_golden(test, wqe, WQE_SIZE, attr.nmtts == 8 ? carried : pointed_at);
	}
}

/* The request has no context of the key. The offset of entry 2^17 + 8 needs both offset fields. */
static void part_of_a_list_goes_to_its_offset(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00000025 }, { 0x04, 0x00012309 }, { 0x08, 0x00000008 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0x10000000 }, { 0x14, 0x00340004 },
		{ 0x20, 0x00000001 },
		{ 0x80, 0x00000340 }, { 0x84, 0x00007700 }, { 0x88, 0x00000012 },
		{ 0x8c, 0x34567000 },
	};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);

	mlx5_ib_umr_fill_list(wqe, 0xabcd05, 0x7700, 0x1234567000, BIT(17) + 8, 100);
	mlx5_ib_umr_fill_ctrl(wqe, 0x123, 0, 0);
	expect_golden(test, wqe, WQE_SIZE, want);
}

static void inline_entries_go_to_their_offset(struct kunit *test)
{
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x0c, 0x00abcd05 }, { 0x10, 0x90000000 }, { 0x14, 0x00085678 },
		{ 0x20, 0x00001234 }, { 0x80, 0x11111111 },
	};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);
	__be32 *entries;

	entries = mlx5_ib_umr_fill_inline(wqe, 0xabcd05, 0x12345678, 8);
	entries[0] = cpu_to_be32(0x11111111);
	expect_golden(test, wqe, WQE_SIZE, want);
}

/* If UMR cannot change the right to atomic operations, no request has the right in its mask. */
static void request_asks_for_changes_that_the_device_can_make(struct kunit *test)
{
	static const struct mkey_caps devices[] = {
		{ .umr_keeps_atomic = true }, { .no_atomic = true },
	};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);
	const struct mlx5_ib_caps *caps;
	int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		caps = mock_mkey_caps(test, &devices[i]);
		memset(wqe, 0, sizeof(*wqe));
		mlx5_ib_umr_fill_reg(wqe, 1, &region, caps);
		KUNIT_EXPECT_FALSE(test, be64_to_cpu(wqe->umr.mkey_mask) & MLX5_MKEY_MASK_A);
		memset(wqe, 0, sizeof(*wqe));
		mlx5_ib_umr_fill_change(wqe, 1, IB_ACCESS_REMOTE_ATOMIC, 9, caps);
		KUNIT_EXPECT_FALSE(test, be64_to_cpu(wqe->umr.mkey_mask) & MLX5_MKEY_MASK_A);
	}
}

static void fence_is_that_of_the_device(struct kunit *test)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, umr_fence, MLX5_CAP_UMR_FENCE_STRONG);
	KUNIT_EXPECT_EQ(test, caps->umr_fence, MLX5_FENCE_MODE_STRONG_ORDERING);
	MOCK_SET_CAP(caps, umr_fence, MLX5_CAP_UMR_FENCE_SMALL);
	KUNIT_EXPECT_EQ(test, caps->umr_fence, MLX5_FENCE_MODE_INITIATOR_SMALL);
	MOCK_SET_CAP(caps, umr_fence, MLX5_CAP_UMR_FENCE_NONE);
	KUNIT_EXPECT_EQ(test, caps->umr_fence, MLX5_FENCE_MODE_INITIATOR_SMALL);
}

static void restart_delay_doubles_up_to_a_minute(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_restart_ms(0), 100);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_restart_ms(1), 200);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_restart_ms(9), 51200);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_restart_ms(10), 60000);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_restart_ms(U32_MAX), 60000);
}

static void change_of_rights_is_exact_to_the_bit(struct kunit *test)
{
	/*
	 * The mask has all rights and the PD. The device does not check whether the key is free,
	 * because its user can free it.
	 */
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00000025 }, { 0x04, 0x00012308 }, { 0x08, 0x00000008 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0x80000000 }, { 0x1c, 0x003e0080 },
		{ 0x40, 0x00001400 }, { 0x4c, 0x00000009 },
	};
	static const struct mkey_caps caps = {};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);

	mlx5_ib_umr_fill_change(wqe, 0xabcd05, IB_ACCESS_REMOTE_READ, 9,
				mock_mkey_caps(test, &caps));
	mlx5_ib_umr_fill_ctrl(wqe, 0x123, 0, 0);
	expect_golden(test, wqe, WQE_SIZE, want);
}

static void revocation_is_exact_to_the_bit(struct kunit *test)
{
	/* The mask has free, PD and QPN. */
	static const struct golden want[GOLDEN_MAX] = {
		{ 0x00, 0x00000025 }, { 0x04, 0x00012308 }, { 0x08, 0x00000008 },
		{ 0x0c, 0x00abcd05 }, { 0x10, 0x80000000 }, { 0x1c, 0x20004080 },
		{ 0x40, 0x40000000 }, { 0x44, 0xffffff00 }, { 0x4c, 0x00000009 },
	};
	struct mlx5_ib_umr_wqe *wqe = make_wqe(test);

	mlx5_ib_umr_fill_revoke(wqe, 0xabcd05, 9);
	mlx5_ib_umr_fill_ctrl(wqe, 0x123, 0, 0);
	expect_golden(test, wqe, WQE_SIZE, want);
}

static void entries_are_marked_present(struct kunit *test)
{
	__be64 mtt[] = { cpu_to_be64(0x1000), cpu_to_be64(0x2000), cpu_to_be64(0x3000) };

	mlx5_ib_umr_mark_present(mtt, 2);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(mtt[0]), 0x1003ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(mtt[1]), 0x2003ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(mtt[2]), 0x3000ULL);
}

/* The notifier of the failure ran before the queue pair existed, so the setup checks the state. */
static void queue_pair_of_a_failed_device_takes_no_requests(struct kunit *test)
{
	struct mlx5_ib_dev *dev = mock_create(test)->dev;

	KUNIT_ASSERT_EQ(test, mock_init_umr(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), 0);
	mlx5_ib_cleanup_umr(dev);
	dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	KUNIT_ASSERT_EQ(test, mock_init_umr(dev), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), -EAGAIN);
	dev->mdev->state = MLX5_DEVICE_STATE_UP;
	mlx5_ib_cleanup_umr(dev);
}

/* The CQ of UMR, and the doorbell record of its queue pair, noted when they were created. */
static struct mlx5_core_cq *umr_mcq;
static __be32 *umr_record;

static int fw_notes_queues(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			   int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	u16 opcode = MLX5_GET(create_cq_in, in, opcode);

	if (opcode == MLX5_CMD_OP_CREATE_CQ)
		umr_mcq = arg;
	if (opcode == MLX5_CMD_OP_CREATE_QP)
		umr_record = phys_to_virt(MLX5_GET64(create_qp_in, in, qpc.dbr_addr));
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* Write the @n-th completion of UMR, of the request that begins at @block of the send queue. */
static void write_completion(unsigned int n, u16 block)
{
	struct mlx5_ib_internal_cq *cq = container_of(umr_mcq, struct mlx5_ib_internal_cq, mcq);
	struct mlx5_cqe64 *cqe = cq->mem.buf.frags.frags[0].buf;

	memset(&cqe[n], 0, sizeof(*cqe));
	cqe[n].wqe_counter = cpu_to_be16(block);
	cqe[n].op_own = MLX5_CQE_REQ << 4;
}

static struct mock *make_queue(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_set_kernel_queues(mock);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_notes_queues);
	KUNIT_ASSERT_EQ(test, mock_init_umr(mock->dev), 0);
	return mock;
}

/* The commands by which the driver creates what UMR needs, noted by fw_notes_setup(). */
static struct {
	u32 cq[MLX5_ST_SZ_DW(create_cq_in)];
	u32 key[MLX5_ST_SZ_DW(create_mkey_in)];
	u32 qp[MLX5_ST_SZ_DW(create_qp_in)];
	u32 init[MLX5_ST_SZ_DW(rst2init_qp_in)];
} setup;

static int fw_notes_setup(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			  int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	switch (mock->opcode) {
	case MLX5_CMD_OP_CREATE_CQ:
		memcpy(setup.cq, mock->in, sizeof(setup.cq));
		break;
	case MLX5_CMD_OP_CREATE_MKEY:
		memcpy(setup.key, mock->in, sizeof(setup.key));
		break;
	case MLX5_CMD_OP_CREATE_QP:
		memcpy(setup.qp, mock->in, sizeof(setup.qp));
		break;
	case MLX5_CMD_OP_RST2INIT_QP:
		memcpy(setup.init, mock->in, sizeof(setup.init));
		break;
	}
	return err;
}

/*
 * The PD, the CQ and the QP have the number 0x100. The queue pair may register memory for other
 * domains (fre), and use the reserved key (rlky). The key reaches all of memory, for reading only.
 */
static void objects_of_umr_are_given_what_they_need(struct kunit *test)
{
	static const struct golden key[GOLDEN_MAX] = {
		{ 0x00, MLX5_CMD_OP_CREATE_MKEY << 16 }, { 0x10, 0x400 }, { 0x14, 0xffffff00 },
		{ 0x1c, 0x80000100 },
	};
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	void *cqc = MLX5_ADDR_OF(create_cq_in, setup.cq, cq_context);
	void *qpc = MLX5_ADDR_OF(create_qp_in, setup.qp, qpc);

	mock_set_kernel_queues(mock);
	mdev->priv.bfreg.up->index = 0x35;
	mdev->priv.bfreg.index = 0x36;
	memset(&setup, 0, sizeof(setup));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_notes_setup);
	KUNIT_ASSERT_EQ(test, mock_init_umr(mock->dev), 0);

	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, uar_page), 0x35);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, log_cq_size), 7);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, cqe_sz), CQE_STRIDE_64);
	KUNIT_EXPECT_EQ(test, MLX5_GET(cqc, cqc, c_eqn_or_apu_element), 11);
	expect_golden(test, setup.key, sizeof(setup.key), key);

	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, st), MLX5_QP_ST_REG_UMR);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, fre), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, rlky), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, uar_page), 0x36);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, log_sq_size), 8);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, rq_type), MLX5_ZERO_LEN_RQ);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_snd), 0x100);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, cqn_rcv), 0x100);

	qpc = MLX5_ADDR_OF(rst2init_qp_in, setup.init, qpc);
	KUNIT_EXPECT_EQ(test, MLX5_GET(rst2init_qp_in, setup.init, qpn), 0x100);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, pd), 0x100);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, primary_address_path.vhca_port_num), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, mtu), IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, MLX5_GET(qpc, qpc, log_msg_max), 12);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_RTR2RTS_QP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_pdn(mock->dev), 0x100);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_lkey(mock->dev), 0x10000);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static int no_event_queue(struct mlx5_ib_dev *dev, u16 vector, int *eqn)
{
	return -EINVAL;
}

static void queue_pair_without_memory_or_events_leaves_nothing(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_set_kernel_queues(mock);
	mock->refuse_queue_mem = true;
	KUNIT_EXPECT_EQ(test, mock_init_umr(mock->dev), -ENOMEM);
	mock->refuse_queue_mem = false;
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	kunit_activate_static_stub(test, mlx5_ib_comp_eqn, no_event_queue);
	KUNIT_EXPECT_EQ(test, mock_init_umr(mock->dev), -EINVAL);
	KUNIT_EXPECT_NULL(test, mock->dev->umr);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

/* A task waits for one of the 64 slots of the queue. A request that is not posted keeps no slot. */
static void refused_requests_take_no_room_of_the_queue(struct kunit *test)
{
	struct mlx5_ib_dev *dev = make_queue(test)->dev;
	struct mlx5_ib_umr_request req;
	unsigned int i;

	mlx5_ib_abort_umr(dev);
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req), -EAGAIN);
	mlx5_ib_cleanup_umr(dev);
}

/*
 * The device fails with requests posted. The first task that waits has the queue pair reset, or
 * destroyed if firmware refuses that. If firmware refuses both, the device may still read what the
 * requests point at.
 */
static void queue_pair_of_a_failed_device_is_stopped_once(struct kunit *test)
{
	static const struct {
		unsigned int refuse;
		bool refuse_destroy;
		unsigned int commands;
		u16 opcode;
		bool stuck;
	} cases[] = {
		{ 0, false, 1, MLX5_CMD_OP_2RST_QP, false },
		{ 1, false, 2, MLX5_CMD_OP_DESTROY_QP, false },
		{ 1, true, 2, MLX5_CMD_OP_DESTROY_QP, true },
	};
	struct mlx5_ib_umr_request req[3];
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mock *mock = make_queue(test);
		struct mlx5_ib_dev *dev = mock->dev;

		for (n = 0; n < ARRAY_SIZE(req); n++)
			KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req[n]), 0);
		mlx5_ib_abort_umr(dev);
		mock->num_commands = 0;
		mock->refuse = cases[i].refuse;
		mock->refuse_destroy = cases[i].refuse_destroy;
		for (n = 0; n < ARRAY_SIZE(req); n++)
			KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req[n]), -EIO);
		KUNIT_EXPECT_EQ_MSG(test, mock->num_commands, cases[i].commands, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, mock->opcode, cases[i].opcode, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_umr_is_stuck(dev), cases[i].stuck, "case %u", i);
		mock->refuse = 0;
		mock->refuse_destroy = false;
		mlx5_ib_cleanup_umr(dev);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), 0, "case %u", i);
	}
}

/*
 * Firmware refuses to reset the queue pair, so the driver has it destroyed. Firmware does not
 * answer the next @silent commands with @opcode; @reclaims tells whether the task that sent the
 * last of these could reclaim memory. The test itself runs the work item that restarts the queue
 * pair, because static stubs take effect only in the test's own task; @failures tells how many
 * failures in a row came before the one after which the work item was queued.
 */
static struct {
	u16 opcode;
	unsigned int silent;
	bool reclaims;
	struct delayed_work *restart;
	unsigned int failures;
} queue;

static int fw_does_not_reset(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			     int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	u16 opcode = MLX5_GET(destroy_qp_in, in, opcode);

	if (opcode == MLX5_CMD_OP_2RST_QP)
		return -EBUSY;
	if (opcode == queue.opcode && queue.silent) {
		queue.silent--;
		queue.reclaims = !(current->flags & PF_MEMALLOC);
		return -ETIMEDOUT;
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static void take_restart(struct delayed_work *restart, unsigned int failures)
{
	queue.restart = restart;
	queue.failures = failures;
}

static struct mock *make_queue_that_restarts(struct kunit *test)
{
	struct mock *mock = make_queue(test);

	memset(&queue, 0, sizeof(queue));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_does_not_reset);
	kunit_activate_static_stub(test, mlx5_ib_umr_restart_later, take_restart);
	return mock;
}

static void fail_request(struct kunit *test, struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr_request req;

	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req), 0);
	complete(&req.done);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req), -EIO);
}

static void run_restart(struct kunit *test)
{
	struct delayed_work *restart = queue.restart;

	KUNIT_ASSERT_NOT_NULL(test, restart);
	queue.restart = NULL;
	restart->work.func(&restart->work);
}

/*
 * What the driver knows of the commands that destroyed a queue pair does not apply to the next
 * queue pair.
 */
static void each_queue_pair_is_destroyed_by_two_commands_at_most(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned int i;

	queue.opcode = MLX5_CMD_OP_DESTROY_QP;
	for (i = 0; i < 3; i++) {
		/* Firmware answers the second command only. */
		queue.silent = 1;
		fail_request(test, dev);
		KUNIT_EXPECT_EQ_MSG(test, queue.silent, 0, "failure %u", i);
		KUNIT_EXPECT_FALSE_MSG(test, queue.reclaims, "failure %u", i);
		KUNIT_ASSERT_FALSE_MSG(test, mlx5_ib_umr_is_stuck(dev), "failure %u", i);
		KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 0);
		run_restart(test);
		KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 1);
		KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), 0);
	}
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Index of the WQE whose doorbell was rung last, from the control segment in the register. */
static u16 rung_index(const struct mock *mock)
{
	return be32_to_cpu(*(const __be32 *)mock->bell) >> 8;
}

/* The device counts the WQEs of the new queue pair from 0. Each request takes two blocks. */
static void requests_after_a_restart_begin_at_block_0(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_umr_request req[2];
	unsigned int i;

	fail_request(test, mock->dev);
	run_restart(test);
	for (i = 0; i < ARRAY_SIZE(req); i++) {
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req[i]), 0);
		KUNIT_EXPECT_EQ(test, rung_index(mock), 2 * i);
		write_completion(i, 2 * i);
	}
	for (i = 0; i < ARRAY_SIZE(req); i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req[i]), 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* What the send record said when the queue pair last left RESET. */
static u32 record_at_init;

static int fw_notes_record(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			   int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(rst2init_qp_in, in, opcode) == MLX5_CMD_OP_RST2INIT_QP)
		record_at_init = be32_to_cpu(umr_record[MLX5_SND_DBR]);
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* Otherwise the device would execute requests again that were posted before the failure. */
static void send_record_is_0_before_a_restart(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_umr_request req;

	/* Firmware resets the queue pair, which keeps its send queue and its number. */
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_notes_record);
	fail_request(test, mock->dev);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_2RST_QP);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(umr_record[MLX5_SND_DBR]), 2);
	record_at_init = U32_MAX;
	run_restart(test);
	KUNIT_EXPECT_EQ(test, record_at_init, 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(umr_record[MLX5_SND_DBR]), 2);
	write_completion(0, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req), 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/*
 * If CREATE_QP is not answered, an orphan gets the send queue. The allocation of the orphan must
 * not fail: in a task that must not reclaim memory the page allocator would warn.
 */
static void restart_may_reclaim_memory(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_dev *dev = mock->dev;

	queue.opcode = MLX5_CMD_OP_CREATE_QP;
	queue.silent = 1;
	fail_request(test, dev);
	run_restart(test);
	KUNIT_EXPECT_EQ(test, queue.silent, 0);
	KUNIT_EXPECT_TRUE(test, queue.reclaims);
	KUNIT_EXPECT_FALSE(test, list_empty(&dev->orphans.list));
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 0);
	/* The next attempt allocates another send queue. */
	run_restart(test);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_await(dev), 0);
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 1);
	dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_cleanup_orphans(dev);
	dev->mdev->state = MLX5_DEVICE_STATE_UP;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

static void complete_umr(void *arg)
{
	umr_mcq->comp(umr_mcq, NULL);
}

/* Answers a request once the CQ is armed, or after some time in any case. */
static struct {
	struct timer_list timer;
	unsigned int n;
	unsigned int tries;
	unsigned int missed;
} answer;

#define NOT_ARMED	cpu_to_be32(U32_MAX)

static void answer_sleeper(struct timer_list *timer)
{
	if (*umr_mcq->arm_db == NOT_ARMED && ++answer.tries < 100) {
		mod_timer(timer, jiffies + 2);
		return;
	}
	answer.missed += *umr_mcq->arm_db == NOT_ARMED;
	*umr_mcq->arm_db = NOT_ARMED;
	write_completion(answer.n, 2 * answer.n);
	umr_mcq->comp(umr_mcq, NULL);
}

/* An event disarms the CQ. The driver arms the CQ again as long as a task sleeps. */
static void each_sleeping_task_arms_the_cq(struct kunit *test)
{
	struct mock *mock = make_queue(test);
	struct mlx5_ib_dev *dev = mock->dev;
	struct mlx5_ib_umr_request req;

	*umr_mcq->arm_db = NOT_ARMED;
	timer_setup(&answer.timer, answer_sleeper, 0);
	for (answer.n = 0; answer.n < 3; answer.n++) {
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req), 0);
		answer.tries = 0;
		answer.missed = 0;
		mod_timer(&answer.timer, jiffies + 2);
		KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req), 0);
		timer_delete_sync(&answer.timer);
		KUNIT_EXPECT_EQ_MSG(test, answer.missed, 0, "request %u", answer.n);
	}
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* The device completes a request while firmware resets the queue pair. */
static int fw_completes_at_reset(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
				 int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	if (MLX5_GET(rst2init_qp_in, in, opcode) == MLX5_CMD_OP_2RST_QP)
		write_completion(0, 0);
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* A completion from before the reset names the first request after the restart. */
static void completion_of_a_stopped_queue_pair_ends_no_later_request(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_umr_request req;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_completes_at_reset);
	fail_request(test, mock->dev);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_2RST_QP);
	run_restart(test);
	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req), 0);
	complete_umr(NULL);
	KUNIT_EXPECT_FALSE(test, completion_done(&req.done));
	write_completion(1, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req), 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/*
 * A task on the firmware of the test. With @req, it waits for the request; otherwise it waits until
 * the queue pair runs again.
 */
static struct waiter {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_umr_request *req;
	struct task_struct *task;
	bool done;
	int err;
} waiter;

static int wait_for_umr(void *test)
{
	current->kunit_test = test;
	waiter.err = waiter.req ? mlx5_ib_umr_wait(waiter.dev, waiter.req) :
				  mlx5_ib_umr_await(waiter.dev);
	WRITE_ONCE(waiter.done, true);
	current->kunit_test = NULL;
	return 0;
}

static void make_waiter(struct kunit *test, struct mlx5_ib_dev *dev,
			struct mlx5_ib_umr_request *req)
{
	waiter = (struct waiter){ .dev = dev, .req = req };
	waiter.task = kthread_create(wait_for_umr, test, "bluebell-waiter");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, waiter.task);
	get_task_struct(waiter.task);
}

static bool waiter_sleeps(void)
{
	return READ_ONCE(waiter.task->__state) == TASK_UNINTERRUPTIBLE && !READ_ONCE(waiter.done);
}

/* Let the task run until it sleeps. */
static void start_waiter(struct kunit *test)
{
	unsigned int ms;

	wake_up_process(waiter.task);
	for (ms = 0; ms < 5000 && !READ_ONCE(waiter.done); ms++) {
		usleep_range(1000, 2000);
		if (waiter_sleeps())
			return;
	}
	KUNIT_FAIL(test, "the task does not wait");
}

/* Without being woken the task would go on only after a second. */
static void restart_wakes_who_waits_for_it(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);

	fail_request(test, mock->dev);
	make_waiter(test, mock->dev, NULL);
	start_waiter(test);
	run_restart(test);
	KUNIT_EXPECT_FALSE(test, waiter_sleeps());
	kthread_stop_put(waiter.task);
	KUNIT_EXPECT_EQ(test, waiter.err, 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* While firmware resets the queue pair, a second task finds that its request has failed, too. */
static int fw_lets_another_task_wait(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				     void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();

	if (waiter.req && !waiter.done && current != waiter.task) {
		complete(&waiter.req->done);
		start_waiter(test);
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* The second reset would end requests that are posted after the first one. */
static void queue_pair_is_reset_for_one_of_two_tasks(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_umr_request req[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(req); i++)
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req[i]), 0);
	make_waiter(test, mock->dev, &req[1]);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_lets_another_task_wait);
	mock->num_commands = 0;
	complete(&req[0].done);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req[0]), -EIO);
	kthread_stop_put(waiter.task);
	KUNIT_EXPECT_EQ(test, waiter.err, -EIO);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, queue.failures, 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* The device completes the request soon after the task has been killed. */
static void killed_task_waits_for_its_request(struct kunit *test)
{
	struct mock *mock = make_queue(test);
	struct mlx5_ib_umr_request req;

	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req), 0);
	timer_setup(&answer.timer, answer_sleeper, 0);
	answer.n = 0;
	answer.tries = 0;
	mock->num_commands = 0;
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	mod_timer(&answer.timer, jiffies + 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req), 0);
	flush_signals(current);
	disallow_signal(SIGKILL);
	timer_delete_sync(&answer.timer);
	/* The queue pair has not been reset. */
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* A task sleeps until the second of two requests is completed. */
static void event_for_another_request_arms_the_cq_again(struct kunit *test)
{
	struct mock *mock = make_queue(test);
	struct mlx5_ib_umr_request req[2];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(req); i++)
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req[i]), 0);
	*umr_mcq->arm_db = NOT_ARMED;
	make_waiter(test, mock->dev, &req[1]);
	wake_up_process(waiter.task);
	for (i = 0; i < 5000 && *umr_mcq->arm_db == NOT_ARMED; i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, *umr_mcq->arm_db != NOT_ARMED);
	*umr_mcq->arm_db = NOT_ARMED;
	write_completion(0, 0);
	call_in_interrupt(complete_umr, NULL);
	KUNIT_EXPECT_TRUE(test, completion_done(&req[0].done));
	KUNIT_EXPECT_TRUE(test, *umr_mcq->arm_db != NOT_ARMED);
	write_completion(1, 2);
	call_in_interrupt(complete_umr, NULL);
	kthread_stop_put(waiter.task);
	KUNIT_EXPECT_EQ(test, waiter.err, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req[0]), 0);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void abort_umr(void *dev)
{
	mlx5_ib_abort_umr(dev);
}

/*
 * Completions are polled by the interrupt of the CQ and by the task that waits; a failure of the
 * device comes in an interrupt, too.
 */
static void requests_end_in_interrupts_and_in_tasks(struct kunit *test)
{
	struct mock *mock = make_queue(test);
	struct mlx5_ib_dev *dev = mock->dev;
	struct mlx5_ib_umr_request req[4];
	unsigned int i;

	/* Each request takes two blocks. */
	for (i = 0; i < ARRAY_SIZE(req); i++)
		KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req[i]), 0);
	/* One interrupt may stand for several completions. */
	write_completion(0, 0);
	write_completion(1, 2);
	call_in_interrupt(complete_umr, NULL);
	KUNIT_EXPECT_TRUE(test, completion_done(&req[0].done));
	KUNIT_EXPECT_TRUE(test, completion_done(&req[1].done));
	KUNIT_EXPECT_FALSE(test, completion_done(&req[2].done));
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req[0]), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req[1]), 0);
	write_completion(2, 4);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req[2]), 0);
	call_in_interrupt(abort_umr, dev);
	KUNIT_EXPECT_TRUE(test, completion_done(&req[3].done));
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req[3]), -EIO);
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void report_cq_error(void *arg)
{
	umr_mcq->event(umr_mcq, MLX5_EVENT_TYPE_CQ_ERROR);
}

/* No completion comes from the CQ any more, so no task must wait for one. */
static void error_of_the_cq_ends_all_requests(struct kunit *test)
{
	struct mock *mock = make_queue(test);
	struct mlx5_ib_umr_request req;

	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req), 0);
	call_in_interrupt(report_cq_error, NULL);
	KUNIT_EXPECT_TRUE(test, completion_done(&req.done));
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(mock->dev, &req), -EIO);
	KUNIT_EXPECT_TRUE(test, mlx5_ib_umr_is_gone(mock->dev));
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_post_revoke(mock->dev, 0x700, &req), -EAGAIN);
	mlx5_ib_cleanup_umr(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* A restart that fails is one more failure, and a restart alone does not end the row. */
static void restarts_wait_longer_until_a_request_succeeds(struct kunit *test)
{
	struct mock *mock = make_queue_that_restarts(test);
	struct mlx5_ib_dev *dev = mock->dev;
	struct mlx5_ib_umr_request req;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		fail_request(test, dev);
		KUNIT_EXPECT_EQ(test, queue.failures, 2 * i);
		/* Firmware does not answer when it is to create the queue pair again. */
		queue.opcode = MLX5_CMD_OP_CREATE_QP;
		queue.silent = 1;
		run_restart(test);
		KUNIT_EXPECT_EQ(test, queue.failures, 2 * i + 1);
		run_restart(test);
	}
	KUNIT_ASSERT_EQ(test, mlx5_ib_umr_post_revoke(dev, 0x700, &req), 0);
	write_completion(0, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umr_wait(dev, &req), 0);
	fail_request(test, dev);
	KUNIT_EXPECT_EQ(test, queue.failures, 0);
	mlx5_ib_cleanup_umr(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_cleanup_orphans(dev);
	dev->mdev->state = MLX5_DEVICE_STATE_UP;
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

static struct kunit_case umr_cases[] = {
	KUNIT_CASE(entries_are_marked_present),
	KUNIT_CASE(translation_list_is_padded_to_blocks),
	KUNIT_CASE(registration_is_exact_to_the_bit),
	KUNIT_CASE(registration_by_a_list_is_exact_to_the_bit),
	KUNIT_CASE(registration_carries_up_to_8_entries),
	KUNIT_CASE(part_of_a_list_goes_to_its_offset),
	KUNIT_CASE(inline_entries_go_to_their_offset),
	KUNIT_CASE(request_asks_for_changes_that_the_device_can_make),
	KUNIT_CASE(fence_is_that_of_the_device),
	KUNIT_CASE(restart_delay_doubles_up_to_a_minute),
	KUNIT_CASE(change_of_rights_is_exact_to_the_bit),
	KUNIT_CASE(revocation_is_exact_to_the_bit),
	KUNIT_CASE(queue_pair_of_a_failed_device_takes_no_requests),
	KUNIT_CASE(objects_of_umr_are_given_what_they_need),
	KUNIT_CASE(queue_pair_without_memory_or_events_leaves_nothing),
	KUNIT_CASE(refused_requests_take_no_room_of_the_queue),
	KUNIT_CASE(queue_pair_of_a_failed_device_is_stopped_once),
	KUNIT_CASE(each_queue_pair_is_destroyed_by_two_commands_at_most),
	KUNIT_CASE(requests_after_a_restart_begin_at_block_0),
	KUNIT_CASE(send_record_is_0_before_a_restart),
	KUNIT_CASE(restart_may_reclaim_memory),
	KUNIT_CASE(each_sleeping_task_arms_the_cq),
	KUNIT_CASE(completion_of_a_stopped_queue_pair_ends_no_later_request),
	KUNIT_CASE(restart_wakes_who_waits_for_it),
	KUNIT_CASE(queue_pair_is_reset_for_one_of_two_tasks),
	KUNIT_CASE(killed_task_waits_for_its_request),
	KUNIT_CASE(event_for_another_request_arms_the_cq_again),
	KUNIT_CASE(requests_end_in_interrupts_and_in_tasks),
	KUNIT_CASE(error_of_the_cq_ends_all_requests),
	KUNIT_CASE(restarts_wait_longer_until_a_request_succeeds),
	{}
};

static struct kunit_suite umr_suite = {
	.name = "bluebell_umr",
	.test_cases = umr_cases,
};

kunit_test_suite(umr_suite);
