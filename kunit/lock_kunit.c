// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of locks: each call that reads or changes what a lock guards takes the lock. The
 * locks of events and answers of DEVX, of the link and of device memory are in the suites of these.
 */

#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>

#include "fw/fw.h"
#include "lib/kernel.h"
#include "lib/locks.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "ops.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

static void state_of_a_queue_pair_has_its_mutex(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct mutex *lock = &o->qp.mutex;
	struct ib_qp *ibqp = &o->qp.ibqp;
	struct ib_qp_init_attr init;
	struct ib_udata *udata;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	udata = objects_udata(o, NULL, 0, 0);
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_modify_qp(ibqp, &attr, IB_QP_STATE, udata));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_query_qp(ibqp, &attr, IB_QP_STATE, &init));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_qp_set_counter(&o->qp, 5));
	/* These calls do nothing else with a queue pair that is being destroyed. */
	ibqp->real_qp = ibqp;
	o->qp.closing = true;
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_destroy_qp_early(ibqp, NULL));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fill_res_qp_entry_raw(NULL, ibqp));
	o->qp.closing = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void queue_pair_of_the_kernel_is_reset_with_its_mutex(struct kunit *test)
{
	struct kernel *k = kernel_make_connected(test, 0, false);

	EXPECT_TAKES_LOCK(test, &k->qp[0].mutex, mlx5_ib_destroy_qp(&k->qp[0].ibqp, NULL));
	k->qp[0].wqs = NULL;
	kernel_destroy_all(k);
}

static void free_msg(void *msg)
{
	kfree_skb(msg);
}

static void buffer_of_a_cq_has_its_mutex(struct kunit *test)
{
	const struct mlx5_ib_resize_cq ucmd = { .cqe_size = 64 };
	struct sk_buff *msg = alloc_skb(PAGE_SIZE, GFP_KERNEL);
	struct objects *o = objects_make(test);
	struct mutex *lock = &o->cq.resize_lock;
	struct ib_cq *ibcq = &o->cq.ibcq;
	struct ib_udata *udata;

	KUNIT_ASSERT_NOT_NULL(test, msg);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_msg, msg));
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	udata = objects_udata(o, &ucmd, sizeof(ucmd), 0);
	/* The CQ has this size already. */
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_resize_user_cq(ibcq, ibcq->cqe, udata));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_modify_cq(ibcq, 1, 1));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fill_res_cq_entry(msg, ibcq));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void cq_of_the_kernel_is_closed_with_its_mutex(struct kunit *test)
{
	struct kernel *k = kernel_make(test);

	KUNIT_ASSERT_EQ(test, kernel_create_cq(k, &k->cq), 0);
	EXPECT_TAKES_LOCK(test, &k->cq.resize_lock, mlx5_ib_pre_destroy_cq(&k->cq.ibcq));
	mlx5_ib_post_destroy_cq(&k->cq.ibcq);
}

static void registers_and_queues_of_a_context_have_its_mutex(struct kunit *test)
{
	struct mlx5_user_mmap_entry *uar = NULL;
	struct mock *mock = mock_create(test);
	struct mlx5_ib_ucontext *context = mock->context;
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	struct mutex *lock = &bfregi->lock;
	struct mlx5_ib_bell bell = {};
	int n = 0;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock_open(mock);
	EXPECT_TAKES_LOCK(test, lock, n = mlx5_ib_alloc_bfreg(bfregi));
	EXPECT_TAKES_LOCK(test, lock, bfregn_to_uar_index(bfregi, n, false));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_free_bfreg(bfregi, n));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_bell_add(context, &bell));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_bell_del(context, &bell));
	/* A report, which holds the mutex, counts the UAR objects of the context. */
	EXPECT_TAKES_LOCK(test, lock, uar = mlx5_ib_create_uar_object(context, false));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uar);
	rdma_user_mmap_entry_remove(&uar->rdma_entry);
	mock_close(mock);
}

/* Read the device's line of the file in debugfs. */
static void read_first_line(struct mlx5_ib_dev *dev)
{
	struct seq_file file = { .private = dev };
	loff_t pos = 0;

	mlx5_ib_uars_sops.stop(&file, mlx5_ib_uars_sops.start(&file, &pos));
}

static void list_of_contexts_has_its_mutex(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mutex *lock = &mock->dev->contexts_lock;

	EXPECT_TAKES_LOCK(test, lock, mock_open(mock));
	EXPECT_TAKES_LOCK(test, lock, read_first_line(mock->dev));
	EXPECT_TAKES_LOCK(test, lock, mock_close(mock));
}

static void tree_of_attempts_has_its_lock(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempt = {}, heir = {};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	spinlock_t *lock = &dev->attempts.lock;
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, 5);
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_attempt_begin(dev, &attempt, in, sizeof(in)));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_is_noted(dev, in));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_attempt_end(dev, &attempt, -ETIMEDOUT));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_attempt_move(dev, &heir, &attempt));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_number_taken(dev, in));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_attempt_replaced(dev, &heir));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_fw_attempt_forget(dev, &heir));
}

static struct kunit_case lock_cases[] = {
	KUNIT_CASE(state_of_a_queue_pair_has_its_mutex),
	KUNIT_CASE(queue_pair_of_the_kernel_is_reset_with_its_mutex),
	KUNIT_CASE(buffer_of_a_cq_has_its_mutex),
	KUNIT_CASE(cq_of_the_kernel_is_closed_with_its_mutex),
	KUNIT_CASE(registers_and_queues_of_a_context_have_its_mutex),
	KUNIT_CASE(list_of_contexts_has_its_mutex),
	KUNIT_CASE(tree_of_attempts_has_its_lock),
	{}
};

static struct kunit_suite lock_suite = {
	.name = "bluebell_lock",
	.test_cases = lock_cases,
};

kunit_test_suite(lock_suite);
