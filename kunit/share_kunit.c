// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the shares of users: which objects count, whom the limits stop, and that each
 * object gives its share back when the device has destroyed it, and not before.
 */

#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <rdma/ib_umem.h>

#include "devx/devx_obj.h"
#include "fw/fw.h"
#include "lib/fail_alloc.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/share.h"
#include "lib/uctx.h"
#include "lib/umem.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define LIMIT	7

static void drop_user(void *mock)
{
	mock_drop_user(mock);
}

/* A context of a user without privileges, who can have LIMIT objects of each kind. */
static struct mock *make_mock(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int i;

	for (i = 1; i < MLX5_IB_NUM_SHARES; i++)
		mock->dev->users->limit[i] = LIMIT;
	mock_give_user(mock);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, drop_user, mock));
	return mock;
}

static int count(struct mock *mock, enum mlx5_ib_share_kind kind)
{
	return atomic_read(&mock->context->user->count[kind]);
}

static void user_has_seven_eighths(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	u32 *limit;

	mlx5_ib_cleanup_users(mock->dev);
	MOCK_SET_CAP(&mock->dev->caps, log_max_qp, 8);
	MOCK_SET_CAP(&mock->dev->caps, log_max_cq, 2);
	mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	limit = mock->dev->users->limit;
	/* The limit leaves 512 numbers, but at most a quarter of all, to firmware. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_QP], 168);
	/* An eighth of fewer than eight objects is less than one: the user leaves one to others. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_CQ], 3);
	/* The number of UARs of a subfunction is not known. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_UAR], 0);
}

/* Each kind of object has a capability of its own. */
static void limit_is_that_of_the_kind(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	u64 mib = ((u64)totalram_pages() << PAGE_SHIFT) >> 20;
	u32 *limit;

	mlx5_ib_cleanup_users(mock->dev);
	MOCK_SET_CAP(caps, log_max_uctx, 4);
	MOCK_SET_CAP(caps, log_max_pd, 5);
	MOCK_SET_CAP(caps, log_max_cq, 6);
	MOCK_SET_CAP(caps, log_max_srq, 7);
	MOCK_SET_CAP(caps, log_max_umem, 9);
	MOCK_SET_CAP(caps, log_max_rq, 10);
	MOCK_SET_CAP(caps, log_max_sq, 11);
	MOCK_SET_CAP(caps, log_max_tir, 12);
	MOCK_SET_CAP(caps, log_max_tis, 13);
	MOCK_SET_CAP(caps, log_max_rqt, 14);
	MOCK_SET_CAP(caps, log_max_xrq, 0);
	MOCK_SET_CAP(caps, log_max_mcg, 8);
	MOCK_SET_CAP(caps, max_qp_mcg, 16);
	MOCK_SET_CAP(caps, log_max_mkey, 10);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	limit = mock->dev->users->limit;
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_UCTX], 14);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_PD], 28);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_CQ], 56);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_SRQ], 112);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_UMEM], 448);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_RQ], 896);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_SQ], 1792);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_TIR], 3584);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_TIS], 7168);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_RQT], 14336);
	/* The device does not say how many XRQs it has. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_XRQ], 0);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_MCG], 224);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_ATTACHMENT], 14);
	/* The limit leaves 512 keys, but at most a quarter of all, to firmware and mlx5_core. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_MKEY], 672);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_PAGED], min(64 * mib, INT_MAX));
}

/*
 * More kinds of objects. Some have capabilities that are not a logarithm, or not a number of
 * objects.
 */
static void limit_of_other_kinds_is_that_of_the_kind(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	u32 *limit;

	mlx5_ib_cleanup_users(mock->dev);
	MOCK_SET_CAP(caps, log_max_xrcd, 4);
	MOCK_SET_CAP(caps, log_max_transport_domain, 5);
	MOCK_SET_CAP(caps, max_qp_cnt, 64);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_DEV_MEM, device_mem_cap, memic_bar_size, 80 * PAGE_SIZE);
	MOCK_SET_CAP(caps, max_flow_counter_15_0, 8);
	MOCK_SET_CAP(caps, max_flow_counter_31_16, 1);
	MOCK_SET_CAP(caps, log_max_dek, 5);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	limit = mock->dev->users->limit;
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_XRCD], 14);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_TD], 28);
	/* The driver itself uses one set of counters. */
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_Q_COUNTER], 55);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_DM], 70);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_FLOW_COUNTER], (0x10008 / 8) * 7);
	KUNIT_EXPECT_EQ(test, limit[MLX5_IB_SHARE_DEK], 28);
	mlx5_ib_cleanup_users(mock->dev);
	MOCK_SET_CAP_OF(caps, MLX5_CAP_CRYPTO, crypto_cap, log_max_num_deks, 6);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_DEK], 56);
}

/* A limit of 0 would be no limit. */
static void user_is_limited_if_the_device_has_one_object(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	unsigned int num;

	MOCK_SET_CAP(caps, log_max_pd, 0);
	MOCK_SET_CAP(caps, log_max_qp, 0);
	MOCK_SET_CAP(caps, max_qp_mcg, 1);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_SF;
	/* The driver itself uses one set of counters. */
	for (num = 0; num <= 3; num++) {
		mlx5_ib_cleanup_users(mock->dev);
		MOCK_SET_CAP(caps, max_qp_cnt, num);
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
		KUNIT_EXPECT_EQ_MSG(test, mock->dev->users->limit[MLX5_IB_SHARE_Q_COUNTER], 1,
				    "%u sets of counters", num);
	}
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_PD], 1);
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_QP], 1);
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_ATTACHMENT], 1);
}

/* A subfunction has no BAR of its own. */
static void uars_are_the_pages_of_bar_0(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	unsigned int pages = SZ_4M / PAGE_SIZE;

	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	mdev->pdev->resource[0] = DEFINE_RES_MEM(SZ_1G, SZ_4M);
	KUNIT_EXPECT_EQ(test, mlx5_ib_max_uars(mock->dev), 1024);
	mlx5_ib_cleanup_users(mock->dev);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_UAR], pages - pages / 8);
	mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_EXPECT_EQ(test, mlx5_ib_max_uars(mock->dev), 0);
}

static void firmware_keeps_512_queue_pairs_and_keys(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mlx5_ib_cleanup_users(mock->dev);
	MOCK_SET_CAP(&mock->dev->caps, log_max_qp, 17);
	mock->dev->mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(mock->dev));
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_QP], (131072 - 512) / 8 * 7);
	KUNIT_EXPECT_EQ(test, mock->dev->users->limit[MLX5_IB_SHARE_MKEY],
			((1 << 24) - 512) / 8 * 7);
}

static void user_who_makes_a_namespace_answers_for_it(struct kunit *test)
{
	const kuid_t me = KUIDT_INIT(1000), mine = KUIDT_INIT(100005);
	struct user_namespace *ns = kunit_kcalloc(test, 3, sizeof(*ns), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ns);
	KUNIT_EXPECT_TRUE(test, uid_eq(mlx5_ib_user_of(&init_user_ns, me), me));
	/*
	 * ns[0] is a namespace that the user has made, ns[1] a namespace in ns[0], and ns[2] the
	 * namespace of a container, which root has made.
	 */
	ns[0].parent = &init_user_ns;
	ns[0].owner = me;
	ns[1].parent = &ns[0];
	ns[1].owner = mine;
	ns[2].parent = &init_user_ns;
	ns[2].owner = GLOBAL_ROOT_UID;
	KUNIT_EXPECT_TRUE(test, uid_eq(mlx5_ib_user_of(&ns[0], mine), me));
	KUNIT_EXPECT_TRUE(test, uid_eq(mlx5_ib_user_of(&ns[1], KUIDT_INIT(100006)), me));
	KUNIT_EXPECT_TRUE(test, uid_eq(mlx5_ib_user_of(&ns[2], mine), mine));
	/* Now ns[1] is a namespace that a user of the container has made. */
	ns[1].parent = &ns[2];
	KUNIT_EXPECT_TRUE(test, uid_eq(mlx5_ib_user_of(&ns[1], KUIDT_INIT(100006)), mine));
}

static void user_is_limited_in_all_contexts_together(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_ucontext second = { .ibucontext.device = &mock->dev->ib_dev };
	struct mlx5_ib_ucontext other = second;
	struct mlx5_ib_share share[LIMIT] = {}, more = {};
	unsigned int i;

	second.user = mlx5_ib_user_get(mock->dev, KUIDT_INIT(1000));
	other.user = mlx5_ib_user_get(mock->dev, KUIDT_INIT(1001));
	KUNIT_ASSERT_PTR_EQ(test, second.user, mock->context->user);
	KUNIT_ASSERT_PTR_NE(test, other.user, second.user);
	for (i = 0; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(i % 2 ? &second : mock->context,
							    MLX5_IB_SHARE_PD, &share[i]));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take(&second, MLX5_IB_SHARE_PD, &more));
	KUNIT_EXPECT_NULL(test, more.user);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(&other, MLX5_IB_SHARE_PD, &more));
	mlx5_ib_share_give(&more);
	mlx5_ib_share_give(&share[0]);
	/* Nothing is given back twice. */
	mlx5_ib_share_give(&share[0]);
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_PD));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(&second, MLX5_IB_SHARE_PD, &share[0]));
	for (i = 0; i < LIMIT; i++)
		mlx5_ib_share_give(&share[i]);
	mlx5_ib_user_put(second.user);
	mlx5_ib_user_put(other.user);
}

/* XRQs have numbers of the SRQs, so a user cannot have all of them as XRQs. */
static void an_xrq_counts_as_an_srq_too(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_share xrq[2] = {}, srq = {}, more = {};
	u32 *limit = mock->dev->users->limit;

	limit[MLX5_IB_SHARE_XRQ] = 0;
	limit[MLX5_IB_SHARE_SRQ] = 3;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_XRQ, &xrq[0]));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_XRQ, &xrq[1]));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_SRQ, &srq));
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_XRQ, &more));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_XRQ));
	KUNIT_EXPECT_EQ(test, 3, count(mock, MLX5_IB_SHARE_SRQ));
	mlx5_ib_share_give(&xrq[0]);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_XRQ));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_SRQ));
	/* The device has fewer XRQs than SRQs. */
	limit[MLX5_IB_SHARE_XRQ] = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_XRQ, &more));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_SRQ));
	mlx5_ib_share_give(&xrq[1]);
	mlx5_ib_share_give(&srq);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_SRQ));
}

static void limits_do_not_stop_the_privileged(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_share share[LIMIT + 1] = {}, more = {};
	unsigned int i;

	mock->context->unlimited = true;
	for (i = 0; i <= LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_QP,
							    &share[i]));
	/* The objects of a privileged process count in the limit of the user's other processes. */
	mock->context->unlimited = false;
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_QP, &more));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(NULL, MLX5_IB_SHARE_QP, &more));
	mock->dev->users->limit[MLX5_IB_SHARE_QP] = 0;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take(mock->context, MLX5_IB_SHARE_QP, &more));
	mlx5_ib_share_give(&more);
	for (i = 0; i <= LIMIT; i++)
		mlx5_ib_share_give(&share[i]);
}

/* The calling task belongs to root, to whom limits do not apply. */
static void object_without_a_context_counts_for_the_caller(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_users *users = mock->dev->users;
	struct mlx5_ib_share share[2] = {};
	unsigned int i;

	users->limit[MLX5_IB_SHARE_QP] = 1;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_share_take_current(mock->dev, MLX5_IB_SHARE_QP,
								    &share[i]));
		KUNIT_ASSERT_NOT_NULL(test, share[i].user);
		KUNIT_EXPECT_TRUE(test, uid_eq(share[i].user->uid, current_uid()));
		KUNIT_EXPECT_EQ(test, i + 1, atomic_read(&share[i].user->count[MLX5_IB_SHARE_QP]));
	}
	for (i = 0; i < 2; i++)
		mlx5_ib_share_give(&share[i]);
	KUNIT_EXPECT_NULL(test, xa_load(&users->table, __kuid_val(current_uid())));
}

static void object_counts_as_its_size(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_share share = {}, more = {};

	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_many(mock->context, MLX5_IB_SHARE_PAGED,
							       LIMIT + 1, &share));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_many(mock->context, MLX5_IB_SHARE_PAGED,
							 LIMIT - 1, &share));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_many(mock->context, MLX5_IB_SHARE_PAGED,
							       2, &more));
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_PAGED));
	mlx5_ib_share_give(&share);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

/* A key over a umem may be of any length, and counts as at most INT_MAX. */
static void count_of_the_privileged_does_not_overflow(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_share share = {}, more = {}, one = {};

	mock->context->unlimited = true;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_share_take_length(mock->context, SZ_1M, &one));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_length(mock->context, U64_MAX, &more));
	KUNIT_EXPECT_NULL(test, more.user);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_many(mock->context, MLX5_IB_SHARE_PAGED,
							 INT_MAX - 1, &share));
	KUNIT_EXPECT_EQ(test, INT_MAX, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_length(mock->context, 1, &more));
	mlx5_ib_share_give(&share);
	mlx5_ib_share_give(&one);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

static void uar_that_is_refused_is_not_counted(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	u32 uar[LIMIT + 1];
	unsigned int i;

	mock->refuse = 1;
	KUNIT_EXPECT_GT(test, 0, mlx5_ib_alloc_uar(mock->context, 0, &uar[0]));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UAR));
	mock->refuse = 0;
	for (i = 0; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_alloc_uar(mock->context, 0, &uar[i]));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_alloc_uar(mock->context, 0, &uar[LIMIT]));
	for (i = 0; i < LIMIT; i++)
		mlx5_ib_dealloc_uar(mock->context, 0, uar[i]);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UAR));
}

static struct mlx5_ib_devx_obj *create_devx_cq(struct mock *mock)
{
	u32 in[MLX5_ST_SZ_DW(create_cq_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_cq_out)] = {};

	MLX5_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

static void devx_object_counts_until_the_device_destroys_it(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj[LIMIT];
	unsigned int i;

	mock->context->uid = 1;
	for (i = 0; i < LIMIT; i++) {
		obj[i] = create_devx_cq(mock);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj[i]);
	}
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_cq(mock)));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj[0], true));
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_CQ));
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, mlx5_ib_devx_destroy_obj(obj[1], false));
	for (i = 1; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj[i], true));
	/* The orphans count until firmware has destroyed the objects. */
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_CQ));
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_CQ));
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_CQ));
}

static int alloc_uar(struct mock *mock)
{
	u32 uar;

	return mlx5_ib_alloc_uar(mock->context, 0, &uar);
}

static int create_user_id(struct mock *mock)
{
	return mlx5_ib_create_uctx(mock->dev, mock->context);
}

static int alloc_pd(struct mock *mock)
{
	struct mlx5_ib_pd pd = { .ibpd.device = &mock->dev->ib_dev };

	return mlx5_ib_alloc_pd(&pd.ibpd, mock_udata(mock, NULL, 0,
						     sizeof(struct mlx5_ib_alloc_pd_resp)));
}

static int alloc_xrcd(struct mock *mock)
{
	struct mlx5_ib_xrcd xrcd = { .ibxrcd.device = &mock->dev->ib_dev };

	return mlx5_ib_alloc_xrcd(&xrcd.ibxrcd, mock_udata(mock, NULL, 0, 0));
}

static int create_cq_by_command(struct mock *mock)
{
	return PTR_ERR_OR_ZERO(create_devx_cq(mock));
}

/*
 * Firmware does not answer whether it has created an object, so the driver cannot destroy the
 * object.
 */
static void object_that_may_exist_counts(struct kunit *test)
{
	static const struct {
		int (*create)(struct mock *mock);
		enum mlx5_ib_share_kind kind;
	} cases[] = {
		{ alloc_uar, MLX5_IB_SHARE_UAR }, { create_user_id, MLX5_IB_SHARE_UCTX },
		{ alloc_pd, MLX5_IB_SHARE_PD }, { alloc_xrcd, MLX5_IB_SHARE_XRCD },
		{ create_cq_by_command, MLX5_IB_SHARE_CQ },
	};
	struct mock *mock = make_mock(test);
	unsigned int i;

	mock->context->uid = 1;
	/* The driver's own objects for XRC exist. */
	mock->dev->xrc = kunit_kzalloc(test, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock->dev->xrc);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mock->dev->users->limit[cases[i].kind] = 1;
		mock->num_commands = 0;
		mock->refuse = 1;
		mock->refuse_err = -EBUSY;
		KUNIT_EXPECT_EQ_MSG(test, -EBUSY, cases[i].create(mock), "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 0, count(mock, cases[i].kind), "case %u", i);
		mock->num_commands = 0;
		mock->refuse_err = -ETIMEDOUT;
		KUNIT_EXPECT_EQ_MSG(test, -ETIMEDOUT, cases[i].create(mock), "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 1, count(mock, cases[i].kind), "case %u", i);
		/* The object that may exist is the one that the limit allows. */
		KUNIT_EXPECT_EQ_MSG(test, -ENOMEM, cases[i].create(mock), "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 1, mock->num_commands, "case %u", i);
	}
}

static void uar_that_firmware_keeps_counts(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	u32 uar;

	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_alloc_uar(mock->context, 0, &uar));
	mock->refuse_destroy = true;
	mlx5_ib_dealloc_uar(mock->context, 0, uar);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_UAR));
}

static struct mlx5_ib_devx_obj *create_devx_key(struct mock *mock, u8 mode, u32 entries, u64 len)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(mkc, mkc, access_mode_1_0, mode);
	MLX5_SET(mkc, mkc, translations_octword_size, entries);
	MLX5_SET64(mkc, mkc, len, len);
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

static struct mlx5_ib_devx_obj *create_devx_table(struct mock *mock, u32 entries)
{
	return create_devx_key(mock, MLX5_MKC_ACCESS_MODE_KLMS, entries, 0);
}

static struct mlx5_ib_devx_obj *create_devx_key_over_umem(struct mock *mock, u64 len)
{
	return create_devx_key(mock, MLX5_MKC_ACCESS_MODE_MTT, 0, len);
}

/* The table of a key takes memory of the host that is charged to no process. */
static void table_of_a_key_counts_as_paged_memory(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj;

	mock->context->uid = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_table(mock, LIMIT * 128 + 1)));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_table(mock, U32_MAX)));
	obj = create_devx_table(mock, LIMIT * 128);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_table(mock, 1)));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

/* A memory window of the context, as ib_core allocates it. */
struct window {
	struct mlx5_ib_mw mw;
	struct mlx5_ib_pd pd;
	struct ib_uobject uobj;
};

static int alloc_window(struct mock *mock, struct window *w)
{
	*w = (struct window){
		.mw.ibmw = {
			.device = &mock->dev->ib_dev, .pd = &w->pd.ibpd, .uobject = &w->uobj,
			.type = IB_MW_TYPE_2,
		},
		.pd.ibpd = { .device = &mock->dev->ib_dev, .uobject = &w->uobj },
		.uobj.context = &mock->context->ibucontext,
	};
	return mlx5_ib_alloc_mw(&w->mw.ibmw, mock_udata(mock, NULL, 0, 0));
}

static void key_counts_until_the_device_destroys_it(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct window *w = kunit_kcalloc(test, LIMIT + 1, sizeof(*w), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, alloc_window(mock, &w[0]), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MKEY));
	mock->refuse = 0;
	for (i = 0; i < LIMIT; i++)
		KUNIT_ASSERT_EQ(test, 0, alloc_window(mock, &w[i]));
	KUNIT_EXPECT_EQ(test, -ENOMEM, alloc_window(mock, &w[LIMIT]));
	KUNIT_EXPECT_EQ(test, LIMIT, mock->num_live[MOCK_MKEY]);
	KUNIT_EXPECT_EQ(test, LIMIT, atomic_read(&mock->context->windows));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_dealloc_mw(&w[0].mw.ibmw));
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_MKEY));
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mock->refuse_err, mlx5_ib_dealloc_mw(&w[1].mw.ibmw));
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, LIMIT - 1, atomic_read(&mock->context->windows));
	mock->context->closing = true;
	for (i = 1; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_dealloc_mw(&w[i].mw.ibmw));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&mock->context->windows));
	/* The orphans count until firmware has destroyed the objects. */
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, LIMIT - 1, count(mock, MLX5_IB_SHARE_MKEY));
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, 0, mock->num_live[MOCK_MKEY]);
}

/* The driver does not know the number of a key that firmware has perhaps created. */
static void key_of_an_unanswered_command_counts_for_good(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct window *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	mock->refuse_err = -ETIMEDOUT;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, alloc_window(mock, w));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_MKEY));
	mock->context->uid = 1;
	mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, PTR_ERR(create_devx_key_over_umem(mock, SZ_1M)));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_PAGED));
}

static void keys_of_devx_count_in_the_same_limit(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_users *users = mock->dev->users;
	struct mlx5_ib_devx_obj *table, *key;

	mock->context->uid = 1;
	users->limit[MLX5_IB_SHARE_MKEY] = 2;
	table = create_devx_table(mock, 1);
	key = create_devx_key_over_umem(mock, SZ_1M);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, key);
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_key_over_umem(mock, SZ_1M)));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(table, true));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_MKEY));
	/* The orphan counts in both limits: as a key, and as paged memory. */
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(key, true));
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_PAGED));
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MKEY));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

static void user_id_counts_until_the_device_destroys_it(struct kunit *test)
{
	struct mock *mock = make_mock(test);

	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_create_uctx(mock->dev, mock->context));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_UCTX));
	mock->refuse_destroy = true;
	mlx5_ib_destroy_uctx(mock->context);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_UCTX));
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UCTX));
}

static struct mlx5_ib_devx_obj *attach_by_devx(struct mock *mock, u32 qpn)
{
	u32 in[MLX5_ST_SZ_DW(attach_to_mcg_in)], out[MLX5_ST_SZ_DW(attach_to_mcg_out)] = {};

	mlx5_ib_fw_name_mcg(in, MLX5_CMD_OP_ATTACH_TO_MCG, qpn, &(union ib_gid){ .raw = { 0xff } });
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

/* The limit holds for each group and for each user by itself. */
static void user_leaves_places_in_each_group(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_ucontext *context = mock->context;
	struct mlx5_ib_ucontext other = { .ibucontext.device = &mock->dev->ib_dev };
	struct mlx5_ib_share share[LIMIT] = {}, second = {}, others = {}, more = {};
	union ib_gid gid = { .raw = { 0xff, [15] = 1 } }, next = { .raw = { 0xff, [15] = 2 } };
	unsigned int i;

	other.user = mlx5_ib_user_get(mock->dev, KUIDT_INIT(1001));
	for (i = 0; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(context, &gid, &share[i]));
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_attachment(context, &gid, &more));
	KUNIT_EXPECT_NULL(test, more.user);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(context, &next, &second));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(&other, &gid, &others));
	KUNIT_EXPECT_EQ(test, 2, count(mock, MLX5_IB_SHARE_MCG));
	/* The share of an attachment is found by user and group. */
	mlx5_ib_share_of_attachment(context, &next, &more);
	KUNIT_EXPECT_MEMEQ(test, &more, &second, sizeof(more));
	mlx5_ib_share_give(&more);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_MCG));
	mlx5_ib_share_give(&share[0]);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(context, &gid, &share[0]));
	/* The limit does not stop privileged users. */
	context->unlimited = true;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(context, &gid, &more));
	KUNIT_EXPECT_EQ(test, LIMIT + 1, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	mlx5_ib_share_give(&more);
	for (i = 0; i < LIMIT; i++)
		mlx5_ib_share_give(&share[i]);
	mlx5_ib_share_give(&others);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MCG));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	mlx5_ib_user_put(other.user);
}

static void user_leaves_groups_to_others(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_share share[LIMIT] = {}, more = {};
	union ib_gid gid = { .raw = { 0xff } };
	unsigned int i;

	for (i = 0; i < LIMIT; i++) {
		gid.raw[15] = i;
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(mock->context, &gid,
								       &share[i]));
	}
	gid.raw[15] = i;
	KUNIT_EXPECT_EQ(test, -ENOMEM, mlx5_ib_share_take_attachment(mock->context, &gid, &more));
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_MCG));
	/* A second queue pair in a group does not count as another group. */
	gid.raw[15] = 0;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_share_take_attachment(mock->context, &gid, &more));
	mlx5_ib_share_give(&more);
	for (i = 0; i < LIMIT; i++)
		mlx5_ib_share_give(&share[i]);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MCG));
}

static void attachment_counts_until_the_device_ends_it(struct kunit *test)
{
	static const struct mlx5_ib_rsc_ops ops;
	struct mock *mock = make_mock(test);
	struct mlx5_ib_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	union ib_gid gid = { .raw = { 0xff } };

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->rsc.dev = mock->dev;
	qp->rsc.ops = &ops;
	qp->ibqp.device = &mock->dev->ib_dev;
	qp->mem.context = mock->context;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mock->refuse_err, mlx5_ib_attach_mcast(&qp->ibqp, &gid, 0xc001));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_attach_mcast(&qp->ibqp, &gid, 0xc001));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_detach_mcast(&qp->ibqp, &gid, 0xc001));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	/* The queue pair of a kernel consumer does not count. */
	qp->mem.context = NULL;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_attach_mcast(&qp->ibqp, &gid, 0xc001));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_detach_mcast(&qp->ibqp, &gid, 0xc001));
}

static void attachments_by_commands_count_in_the_same_limit(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj[LIMIT];
	unsigned int i;

	mock->context->uid = 1;
	for (i = 0; i < LIMIT; i++) {
		obj[i] = attach_by_devx(mock, i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj[i]);
	}
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_MCG));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(attach_by_devx(mock, i)));
	for (i = 0; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj[i], true));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_ATTACHMENT));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_MCG));
}

#define CREATE(op, cmd, kind)	{							\
	MLX5_CMD_OP_##op, MLX5_ST_SZ_BYTES(cmd##_in), MLX5_ST_SZ_BYTES(cmd##_out),		\
	MLX5_IB_SHARE_##kind									\
}

static void object_of_devx_counts_as_one_of_its_kind(struct kunit *test)
{
	static const struct {
		u16 opcode;
		size_t in_len;
		size_t out_len;
		enum mlx5_ib_share_kind kind;
	} cases[] = {
		CREATE(CREATE_QP, create_qp, QP), CREATE(CREATE_DCT, create_dct, QP),
		CREATE(CREATE_RQ, create_rq, RQ), CREATE(CREATE_SQ, create_sq, SQ),
		CREATE(CREATE_TIR, create_tir, TIR), CREATE(CREATE_TIS, create_tis, TIS),
		CREATE(CREATE_RQT, create_rqt, RQT), CREATE(CREATE_XRQ, create_xrq, XRQ),
		CREATE(CREATE_RMP, create_rmp, SRQ), CREATE(CREATE_XRC_SRQ, create_xrc_srq, SRQ),
		CREATE(CREATE_CQ, create_cq, CQ), CREATE(ALLOC_PD, alloc_pd, PD),
		CREATE(ALLOC_XRCD, alloc_xrcd, XRCD),
		CREATE(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain, TD),
		CREATE(ALLOC_Q_COUNTER, alloc_q_counter, Q_COUNTER),
		CREATE(ALLOC_FLOW_COUNTER, alloc_flow_counter, FLOW_COUNTER),
	};
	struct mock *mock = make_mock(test);
	u32 *in = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	u32 *out = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	struct mlx5_ib_devx_obj *obj;
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, in && out);
	mock->context->uid = 1;
	mock->context->devx_rights = MLX5_UCTX_CAP_RAW_TX;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(in, 0, SZ_1K);
		MLX5_SET(general_obj_in_cmd_hdr, in, opcode, cases[i].opcode);
		mock->dev->users->limit[cases[i].kind] = 1;
		mock->refuse = mock->num_commands + 1;
		KUNIT_EXPECT_EQ(test, mock->refuse_err,
				PTR_ERR(mlx5_ib_devx_create_obj(mock->context, in, cases[i].in_len,
								out, cases[i].out_len)));
		KUNIT_EXPECT_EQ_MSG(test, 0, count(mock, cases[i].kind), "case %u", i);
		obj = mlx5_ib_devx_create_obj(mock->context, in, cases[i].in_len, out,
					      cases[i].out_len);
		KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, obj, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, 1, count(mock, cases[i].kind), "case %u", i);
		KUNIT_EXPECT_EQ(test, -ENOMEM,
				PTR_ERR(mlx5_ib_devx_create_obj(mock->context, in, cases[i].in_len,
								out, cases[i].out_len)));
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
		KUNIT_EXPECT_EQ_MSG(test, 0, count(mock, cases[i].kind), "case %u", i);
	}
}

static int num_counted(struct mock *mock)
{
	int num = 0;
	unsigned int i;

	for (i = 1; i < MLX5_IB_NUM_SHARES; i++)
		num += count(mock, i);
	return num;
}

/*
 * The netdev of the device, and processes of other users, need objects of all of these kinds. The
 * types of general objects go up to 0xffff; firmware has none above 0xff so far.
 */
static void object_that_needs_no_right_is_counted(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	u32 *in = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	u32 *out = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	unsigned int opcode, type, types, created = 0;
	const struct mlx5_ib_devx_cmd *cmd;
	struct mlx5_ib_devx_obj *obj;

	KUNIT_ASSERT_TRUE(test, in && out);
	mock->context->uid = 1;
	for (opcode = 0; opcode < MLX5_CMD_OP_MAX; opcode++) {
		cmd = mlx5_ib_devx_find_cmd(opcode);
		if (!cmd || cmd->use != MLX5_IB_DEVX_CREATE || cmd->rights)
			continue;
		types = opcode == MLX5_CMD_OP_CREATE_GENERAL_OBJECT ? SZ_64K : 1;
		for (type = 0; type < types; type++) {
			memset(in, 0, SZ_1K);
			MLX5_SET(general_obj_in_cmd_hdr, in, opcode, opcode);
			MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, type);
			if (opcode == MLX5_CMD_OP_CREATE_MKEY)
				MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.access_mode_1_0,
					 MLX5_MKC_ACCESS_MODE_KLMS);
			obj = mlx5_ib_devx_create_obj(mock->context, in, SZ_1K, out, SZ_1K);
			if (types > 1 && PTR_ERR_OR_ZERO(obj) == -EPERM)
				continue;
			KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, obj, "command %#x, type %#x",
							 opcode, type);
			KUNIT_EXPECT_LT_MSG(test, 0, num_counted(mock), "command %#x, type %#x",
					    opcode, type);
			KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
			KUNIT_EXPECT_EQ(test, 0, num_counted(mock));
			created++;
		}
	}
	KUNIT_EXPECT_EQ(test, created, 18);
}

static struct mlx5_ib_devx_obj *create_bulk(struct mock *mock, u8 bulk, u8 log_size)
{
	u32 in[MLX5_ST_SZ_DW(alloc_flow_counter_in)] = {};
	u32 out[MLX5_ST_SZ_DW(alloc_flow_counter_out)] = {};

	MLX5_SET(alloc_flow_counter_in, in, opcode, MLX5_CMD_OP_ALLOC_FLOW_COUNTER);
	MLX5_SET(alloc_flow_counter_in, in, flow_counter_bulk, bulk);
	MLX5_SET(alloc_flow_counter_in, in, flow_counter_bulk_log_size, log_size);
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

static struct mlx5_ib_devx_obj *create_deks(struct mock *mock, u8 log_range)
{
	u32 in[MLX5_ST_SZ_DW(create_encryption_key_in)] = {};
	u32 out[MLX5_ST_SZ_DW(general_obj_out_cmd_hdr)] = {};

	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	MLX5_SET(general_obj_in_cmd_hdr, in, op_param.create.log_obj_range, log_range);
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

/*
 * One command creates all flow counters of a bulk, or all encryption keys of a range. A rule can
 * name only a counter that exists whichever of the two sizes of a bulk firmware reads.
 */
static void each_object_of_a_bulk_counts(struct kunit *test)
{
	static const struct {
		u8 bulk;
		u8 log_size;
		int num;
		u32 least;
	} cases[] = {
		{ 0, 0, 1, 1 }, { BIT(0), 0, 128, 128 }, { BIT(2), 0, 512, 512 },
		{ BIT(7), 0, 16384, 16384 }, { 0, 3, 8, 1 }, { BIT(0), 10, 1024, 128 },
		{ BIT(1), 4, 256, 16 }, { 0, 10, 1024, 1 },
	};
	struct mock *mock = make_mock(test);
	u32 *limit = mock->dev->users->limit;
	struct mlx5_ib_devx_obj *obj;
	unsigned int i;

	mock->context->uid = 1;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		limit[MLX5_IB_SHARE_FLOW_COUNTER] = cases[i].num;
		obj = create_bulk(mock, cases[i].bulk, cases[i].log_size);
		KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(test, obj, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].num, count(mock, MLX5_IB_SHARE_FLOW_COUNTER),
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].least, obj->num_counters, "case %u", i);
		mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_bulk(mock, 0, 0)));
		KUNIT_EXPECT_EQ(test, 0, mock->num_commands);
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
		KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_FLOW_COUNTER));
	}
	limit[MLX5_IB_SHARE_DEK] = 15;
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_deks(mock, 4)));
	obj = create_deks(mock, 3);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, 8, count(mock, MLX5_IB_SHARE_DEK));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_deks(mock, 3)));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_DEK));
}

/* The device may copy the translations of a umem for each key that refers to the umem. */
static void key_over_a_umem_counts_as_paged_memory(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj;

	mock->context->uid = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			PTR_ERR(create_devx_key_over_umem(mock, LIMIT * SZ_1M + 1ull)));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_key_over_umem(mock, U64_MAX)));
	obj = create_devx_key_over_umem(mock, LIMIT * SZ_1M);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

/* Firmware may give a key the table that its context describes, however short the key is. */
static void table_of_a_short_key_over_a_umem_counts(struct kunit *test)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {}, out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj;

	mock->context->uid = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_key(mock, MLX5_MKC_ACCESS_MODE_MTT,
							       LIMIT * 128 + 1, 1)));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(create_devx_key(mock, MLX5_MKC_ACCESS_MODE_MTT,
							       U32_MAX, 1)));
	obj = create_devx_key(mock, MLX5_MKC_ACCESS_MODE_MTT, LIMIT * 128, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
	/* A table that is not longer than the key needs does not raise the count. */
	obj = create_devx_key(mock, MLX5_MKC_ACCESS_MODE_MTT, 2 * 128, 3 * SZ_1M);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, 3, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_obj(obj, true));
	/* The table of signatures takes memory of the same kind. */
	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.access_mode_1_0,
		 MLX5_MKC_ACCESS_MODE_KLMS);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.translations_octword_size, 128);
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.bsf_octword_size, U32_MAX);
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(mlx5_ib_devx_create_obj(mock->context, in,
								       sizeof(in), out,
								       sizeof(out))));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
}

static struct mlx5_ib_devx_umem *create_umem(struct mock *mock)
{
	struct ib_umem *umem = mlx5_ib_umem_get(mock->dev, mock_buffer(mock, 0), PAGE_SIZE, 0);
	struct mlx5_ib_devx_umem *obj;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	obj = mlx5_ib_devx_create_umem(mock->context, umem, PAGE_SIZE);
	if (IS_ERR(obj))
		ib_umem_release(umem);
	return obj;
}

static void umem_counts_until_the_device_destroys_it(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_umem *obj[LIMIT];
	unsigned int i;

	mock->context->uid = 1;
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mock->refuse_err, PTR_ERR_OR_ZERO(create_umem(mock)));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UMEM));
	mock->refuse = 0;
	for (i = 0; i < LIMIT; i++) {
		obj[i] = create_umem(mock);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj[i]);
	}
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR_OR_ZERO(create_umem(mock)));
	KUNIT_EXPECT_EQ(test, LIMIT, mock_num_pinned());
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, mlx5_ib_devx_destroy_umem(obj[0], false));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_umem(obj[0], true));
	/* The orphan counts until firmware has destroyed the umem. */
	KUNIT_EXPECT_EQ(test, LIMIT, count(mock, MLX5_IB_SHARE_UMEM));
	mock->refuse_destroy = false;
	for (i = 1; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_umem(obj[i], true));
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UMEM));
	KUNIT_EXPECT_EQ(test, 0, mock_num_pinned());
}

/* As long as firmware refuses to destroy a umem, the device has the umem's translation entries. */
static void memory_of_a_umem_counts_until_the_device_destroys_it(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;

	mock->context->uid = 1;
	umem = mlx5_ib_umem_get(mock->dev, mock_buffer(mock, 0), PAGE_SIZE, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	/*
	 * Have the driver count the umem as a dma-buf; release it as what it is, memory of the
	 * process.
	 */
	umem->is_dmabuf = true;
	obj = mlx5_ib_devx_create_umem(mock->context, umem, PAGE_SIZE);
	umem->is_dmabuf = false;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_PAGED));
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, mlx5_ib_devx_destroy_umem(obj, false));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_devx_destroy_umem(obj, true));
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_PAGED));
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, 1, count(mock, MLX5_IB_SHARE_PAGED));
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_PAGED));
	KUNIT_EXPECT_EQ(test, 0, count(mock, MLX5_IB_SHARE_UMEM));
	KUNIT_EXPECT_EQ(test, 0, mock_num_pinned());
}

/* The device maps a dma-buf by few pages, which may be as large as the dma-buf allows. */
static void umem_over_a_dmabuf_is_limited_by_its_length(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	size_t length;

	mock->context->uid = 1;
	umem = mlx5_ib_umem_get(mock->dev, mock_buffer(mock, 0), PAGE_SIZE, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	/* Let the umem look like that of a longer dma-buf for this call only. */
	length = umem->length;
	umem->is_dmabuf = true;
	umem->length = LIMIT * SZ_1M + 1;
	mock->num_commands = 0;
	obj = mlx5_ib_devx_create_umem(mock->context, umem, PAGE_SIZE);
	umem->length = length;
	umem->is_dmabuf = false;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(obj), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, count(mock, MLX5_IB_SHARE_UMEM), 0);
	KUNIT_EXPECT_EQ(test, count(mock, MLX5_IB_SHARE_PAGED), 0);
	ib_umem_release(umem);
}

/* Each of these objects counts in two limits. */
static void refused_object_counts_in_neither_of_its_limits(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;

	mock->context->uid = 1;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mock->refuse_err, PTR_ERR(create_devx_key_over_umem(mock, SZ_1M)));
	KUNIT_EXPECT_EQ(test, 0, num_counted(mock));
	mock->refuse = 0;
	umem = mlx5_ib_umem_get(mock->dev, mock_buffer(mock, 0), PAGE_SIZE, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	/* Have the driver count the umem as a dma-buf. */
	umem->is_dmabuf = true;
	mock->refuse = mock->num_commands + 1;
	obj = mlx5_ib_devx_create_umem(mock->context, umem, PAGE_SIZE);
	umem->is_dmabuf = false;
	KUNIT_EXPECT_EQ(test, mock->refuse_err, PTR_ERR_OR_ZERO(obj));
	KUNIT_EXPECT_EQ(test, 0, num_counted(mock));
	ib_umem_release(umem);
}

/* ---- allocations that fail ---------------------------------------------------------------- */

static struct mlx5_ib_devx_obj *create_any_table(struct mock *mock)
{
	return create_devx_table(mock, 1);
}

static struct mlx5_ib_devx_obj *create_any_key(struct mock *mock)
{
	return create_devx_key_over_umem(mock, SZ_1M);
}

static struct mlx5_ib_devx_obj *attach_any(struct mock *mock)
{
	return attach_by_devx(mock, 0x100);
}

static struct mlx5_ib_devx_obj *create_any_bulk(struct mock *mock)
{
	return create_bulk(mock, 0, 1);
}

static struct mlx5_ib_devx_obj *create_any_deks(struct mock *mock)
{
	return create_deks(mock, 1);
}

static struct mlx5_ib_devx_obj *(*const devx_creations[])(struct mock *mock) = {
	create_devx_cq, create_any_table, create_any_key, attach_any, create_any_bulk,
	create_any_deks,
};

/* What a verb of the test below has created. */
static struct {
	struct mlx5_ib_devx_obj *(*create)(struct mock *mock);
	struct mlx5_ib_devx_obj *obj;
	struct mlx5_ib_devx_umem *umem;
	struct window window;
} made;

static int make_obj(void *mock)
{
	made.obj = made.create(mock);
	return PTR_ERR_OR_ZERO(made.obj);
}

static void destroy_obj(void *mock)
{
	mlx5_ib_devx_destroy_obj(made.obj, true);
}

static int make_umem(void *mock)
{
	made.umem = create_umem(mock);
	return PTR_ERR_OR_ZERO(made.umem);
}

static void destroy_umem(void *mock)
{
	mlx5_ib_devx_destroy_umem(made.umem, true);
}

static int make_window(void *mock)
{
	return alloc_window(mock, &made.window);
}

static void dealloc_window(void *mock)
{
	mlx5_ib_dealloc_mw(&made.window.mw.ibmw);
}

static void failure_of_any_allocation_counts_nothing(struct kunit *test)
{
	static const struct fail_alloc_verb obj = { make_obj, destroy_obj };
	static const struct fail_alloc_verb umem = { make_umem, destroy_umem };
	static const struct fail_alloc_verb window = { make_window, dealloc_window };
	struct mock *mock = make_mock(test);
	unsigned int i;

	mock->context->uid = 1;
	for (i = 0; i < ARRAY_SIZE(devx_creations); i++) {
		made.create = devx_creations[i];
		fail_alloc_each(mock, &obj, mock);
	}
	fail_alloc_each(mock, &umem, mock);
	fail_alloc_each(mock, &window, mock);
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(user_has_seven_eighths),
	KUNIT_CASE(limit_is_that_of_the_kind),
	KUNIT_CASE(limit_of_other_kinds_is_that_of_the_kind),
	KUNIT_CASE(user_is_limited_if_the_device_has_one_object),
	KUNIT_CASE(uars_are_the_pages_of_bar_0),
	KUNIT_CASE(firmware_keeps_512_queue_pairs_and_keys),
	KUNIT_CASE(user_who_makes_a_namespace_answers_for_it),
	KUNIT_CASE(user_is_limited_in_all_contexts_together),
	KUNIT_CASE(an_xrq_counts_as_an_srq_too),
	KUNIT_CASE(limits_do_not_stop_the_privileged),
	KUNIT_CASE(object_without_a_context_counts_for_the_caller),
	KUNIT_CASE(object_counts_as_its_size),
	KUNIT_CASE(count_of_the_privileged_does_not_overflow),
	KUNIT_CASE(uar_that_is_refused_is_not_counted),
	KUNIT_CASE(devx_object_counts_until_the_device_destroys_it),
	KUNIT_CASE(object_that_may_exist_counts),
	KUNIT_CASE(uar_that_firmware_keeps_counts),
	KUNIT_CASE(table_of_a_key_counts_as_paged_memory),
	KUNIT_CASE(key_counts_until_the_device_destroys_it),
	KUNIT_CASE(key_of_an_unanswered_command_counts_for_good),
	KUNIT_CASE(keys_of_devx_count_in_the_same_limit),
	KUNIT_CASE(user_id_counts_until_the_device_destroys_it),
	KUNIT_CASE(object_of_devx_counts_as_one_of_its_kind),
	KUNIT_CASE(object_that_needs_no_right_is_counted),
	KUNIT_CASE(each_object_of_a_bulk_counts),
	KUNIT_CASE(key_over_a_umem_counts_as_paged_memory),
	KUNIT_CASE(table_of_a_short_key_over_a_umem_counts),
	KUNIT_CASE(umem_counts_until_the_device_destroys_it),
	KUNIT_CASE(memory_of_a_umem_counts_until_the_device_destroys_it),
	KUNIT_CASE(umem_over_a_dmabuf_is_limited_by_its_length),
	KUNIT_CASE(refused_object_counts_in_neither_of_its_limits),
	KUNIT_CASE(user_leaves_places_in_each_group),
	KUNIT_CASE(user_leaves_groups_to_others),
	KUNIT_CASE(attachment_counts_until_the_device_ends_it),
	KUNIT_CASE(attachments_by_commands_count_in_the_same_limit),
	KUNIT_CASE(failure_of_any_allocation_counts_nothing),
	{}
};

static struct kunit_suite share_suite = {
	.name = "bluebell_share",
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);
