// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of objects that firmware has refused to destroy and that only the driver can still
 * destroy: when the driver tries again, by which command, and what becomes of their memory.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mlx5/device.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>

#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/locks.h"
#include "lib/log.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/uctx.h"
#include "lib/umem.h"
#include "verbs/ucontext.h"

#define UID		0x5a
#define OTHER_UID	0x5b
#define BUF		0
#define RECORDS		1
#define MANY		9	/* orphans of a closing context that has more than a few */

/* An orphan without memory: a protection domain. */
static u32 adopt_pd_of(struct kunit *test, struct mock *mock, u16 uid,
		       struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_queue_mem mem = { .context = context };
	struct mlx5_ib_fw_attempt attempt = {};
	u32 pdn;

	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_fw_alloc_object(mock->dev, uid, MLX5_CMD_OP_ALLOC_PD,
							 &pdn));
	mlx5_ib_orphan_adopt(mock->dev, uid, MLX5_CMD_OP_DEALLOC_PD, pdn, &attempt, "PD", &mem,
			     -EBUSY);
	return pdn;
}

/* An orphan of the kernel. */
static u32 adopt_pd(struct kunit *test, struct mock *mock, u16 uid)
{
	return adopt_pd_of(test, mock, uid, NULL);
}

/*
 * An orphan with memory of the process. The driver takes the orphan for a QP; the mock's firmware
 * destroys a PD.
 */
static void adopt_queue(struct kunit *test, struct mock *mock, u16 uid)
{
	struct mlx5_ib_fw_attempt attempt = {};
	struct mlx5_ib_queue_mem mem = {};
	struct ib_umem *umem;
	u32 num;

	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_fw_alloc_object(mock->dev, uid, MLX5_CMD_OP_ALLOC_PD,
							 &num));
	umem = mlx5_ib_umem_get(mock->dev, mock_buffer(mock, BUF), PAGE_SIZE, 0);
	KUNIT_ASSERT_EQ(test, 0,
			mlx5_ib_queue_mem_map_user(&mem, mock->context, umem, PAGE_SIZE,
						   MLX5_IB_MAX_PAGE_OFFSET,
						   mock_buffer(mock, RECORDS)));
	KUNIT_ASSERT_EQ(test, mock_num_pinned(), 2);
	mlx5_ib_orphan_adopt(mock->dev, uid, MLX5_CMD_OP_DEALLOC_PD, num, &attempt, "QP", &mem,
			     -EBUSY);
	KUNIT_EXPECT_NULL_MSG(test, mem.buf.umem, "the memory has two owners");
	KUNIT_EXPECT_NULL(test, mem.db.u.user_page);
}

static void orphan_is_destroyed_once_with_its_user_id(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	const __be32 *in = (const __be32 *)mock->in;
	u32 pdn = adopt_pd(test, mock, UID);

	mock->num_commands = 0;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), MLX5_CMD_OP_DEALLOC_PD << 16 | UID);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), pdn);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	/* The orphan is not destroyed twice. */
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.list));
}

static void memory_is_freed_after_the_orphan_is_destroyed(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_open(mock);
	adopt_queue(test, mock, 0);
	mock->refuse_destroy = true;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 2);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->context->orphans));
	mock->refuse_destroy = false;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->context->orphans));
	mock_close(mock);
}

/* Firmware may have executed a command that it did not answer, but none that it has refused. */
static void orphan_that_firmware_does_not_know_is_forgotten(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);
	u32 pdn;

	mock_open(mock);
	adopt_queue(test, mock, 0);
	mock->refuse_destroy = true;
	mock->refuse_err = -ENOENT;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->context->orphans));
	mock->refuse_err = -ETIMEDOUT;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->context->orphans));
	mock->refuse_err = -ENOENT;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->context->orphans));
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	mock->refuse_destroy = false;
	/* The mock still has the object: destroy it. */
	KUNIT_ASSERT_EQ(test, mock->num_live[MOCK_PD], 1);
	for (pdn = 0; !xa_load(&mock->live[MOCK_PD], pdn); pdn++)
		;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_fw_destroy_object(mock->dev, 0, MLX5_CMD_OP_DEALLOC_PD,
							   pdn, &attempt));
	mock_close(mock);
}

static void refused_orphan_does_not_hold_up_the_others(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 first = adopt_pd(test, mock, 0);

	adopt_pd(test, mock, 0);
	adopt_pd(test, mock, 0);
	mock->num_commands = 0;
	mock->refuse = 1;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 1);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&mock->live[MOCK_PD], first));
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* A process does not wait for the orphans of the kernel, or of another process. */
static void owner_destroys_its_own_orphans_only(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_open(mock);
	adopt_pd(test, mock, 0);
	adopt_pd_of(test, mock, UID, mock->context);
	adopt_queue(test, mock, 0);
	mock->num_commands = 0;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 0);
	mock_close(mock);
}

static void orphans_of_a_context_are_destroyed_with_it(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int i;

	mock_open(mock);
	adopt_pd(test, mock, 0);
	adopt_queue(test, mock, 0);
	for (i = 0; i < MANY - 1; i++)
		adopt_pd_of(test, mock, UID, mock->context);
	mock->num_commands = 0;
	/* While a context is being closed, its objects do not each try many orphans again. */
	mock->context->closing = true;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_commands, MANY);
	adopt_pd_of(test, mock, UID, mock->context);
	mock->num_commands = 0;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 1);
	mlx5_ib_cleanup_orphans(mock->dev);
	mock_close(mock);
}

/*
 * After its context is gone, an orphan is destroyed and its memory freed when the driver unbinds.
 */
static void orphan_does_not_use_a_closed_context(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_open(mock);
	adopt_queue(test, mock, 0);
	mock->refuse_destroy = true;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->context->db_pages));
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 2);
	mock->refuse_destroy = false;
	mlx5_ib_dealloc_ucontext(&mock->context->ibucontext);
	memset(mock->context, 0x5a, sizeof(*mock->context));
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.dead));
}

/*
 * mlx5_ib_orphans_retry(dev, NULL), called for kernel consumers and before an XRC domain is freed,
 * retries only the orphans of the kernel: no command is sent for the PD or the user id of the
 * closed context.
 */
static void user_id_of_a_closed_context_costs_others_no_command(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	mock_open(mock);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_create_uctx(mock->dev, mock->context));
	adopt_pd_of(test, mock, mock->context->uid, mock->context);
	mock->refuse_destroy = true;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	mlx5_ib_destroy_uctx(mock->context);
	mock->context->uid = 0;
	mock->num_commands = 0;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mock->refuse_destroy = false;
	/* The object of the user is destroyed before the user id. */
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(*(__be32 *)mock->in) >> 16, MLX5_CMD_OP_DESTROY_UCTX);
	mock_close(mock);
}

static void run_retry(struct mlx5_ib_dev *dev)
{
	dev->orphans.retry.work.func(&dev->orphans.retry.work);
}

/* Work items of a mock do not run by themselves. */
static bool retry_is_queued(struct mlx5_ib_dev *dev)
{
	return cancel_delayed_work_sync(&dev->orphans.retry);
}

/* The driver tries again by itself: soon at first, once in a minute in the end. */
static void driver_tries_again_less_and_less_often(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned long delay = HZ / 2;
	unsigned int i;

	enable_delayed_work(&dev->orphans.retry);
	mock_open(mock);
	mock->refuse_destroy = true;
	adopt_pd(test, mock, UID);
	KUNIT_EXPECT_TRUE(test, retry_is_queued(dev));
	KUNIT_EXPECT_EQ(test, dev->orphans.delay, delay);
	for (i = 0; i < 10; i++) {
		run_retry(dev);
		KUNIT_EXPECT_TRUE(test, retry_is_queued(dev));
		delay = min(delay * 2, 64UL * HZ);
		KUNIT_EXPECT_EQ(test, dev->orphans.delay, delay);
	}
	/*
	 * Orphans of an open context are tried again by calls of that context, not by the work
	 * item.
	 */
	adopt_pd_of(test, mock, OTHER_UID, mock->context);
	KUNIT_EXPECT_FALSE(test, retry_is_queued(dev));
	/* Orphans that a closed context leaves are tried again soon. */
	mlx5_ib_orphans_leave_context(dev, mock->context);
	KUNIT_EXPECT_TRUE(test, retry_is_queued(dev));
	KUNIT_EXPECT_EQ(test, dev->orphans.delay, HZ / 2);
	/*
	 * While a caller tries the orphans, the work item does not find them, so the caller queues
	 * the work item.
	 */
	mlx5_ib_orphans_retry(dev, NULL);
	KUNIT_EXPECT_TRUE(test, retry_is_queued(dev));
	mock->refuse_destroy = false;
	run_retry(dev);
	KUNIT_EXPECT_FALSE(test, retry_is_queued(dev));
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 0);
	mlx5_ib_orphans_retry(dev, NULL);
	KUNIT_EXPECT_FALSE(test, retry_is_queued(dev));
	disable_delayed_work_sync(&dev->orphans.retry);
	mock_close(mock);
}

static int fw_sends(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	return send(dev, in, in_size, out, out_size, arg);
}

/* Stub of mlx5_ib_fw_do(). */
static int fw_do_refuses(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size)
{
	MLX5_SET(dealloc_pd_out, out, status, MLX5_CMD_STAT_RES_BUSY);
	return -EREMOTEIO;
}

/* mlx5_core logs the refusals when the driver is unbound, but not those of each later attempt. */
static void attempts_of_the_work_item_are_not_logged(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;

	mock->refuse_destroy = true;
	adopt_pd_of(test, mock, 0, mock->context);
	adopt_pd(test, mock, 0);
	mlx5_ib_orphans_leave_context(dev, mock->context);
	mlx5_ib_orphans_retry(dev, NULL);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_sends);
	kunit_activate_static_stub(test, mlx5_ib_fw_do, fw_do_refuses);
	log_watch(test);
	run_retry(dev);
	KUNIT_EXPECT_EQ(test, log_count("DEALLOC_PD"), 0);
	mlx5_ib_cleanup_orphans(dev);
	KUNIT_EXPECT_EQ(test, log_count("DEALLOC_PD"), 2);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* The next attempt for an older orphan may be a minute away. */
static void new_orphan_does_not_wait_for_older_ones(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct delayed_work *retry = &mock->dev->orphans.retry;
	unsigned int i;

	enable_delayed_work(retry);
	mock->refuse_destroy = true;
	adopt_pd(test, mock, UID);
	for (i = 0; i < 10; i++) {
		cancel_delayed_work_sync(retry);
		run_retry(mock->dev);
	}
	KUNIT_EXPECT_TRUE(test, time_after(retry->timer.expires, jiffies + 32 * HZ));
	adopt_pd(test, mock, OTHER_UID);
	KUNIT_EXPECT_TRUE(test, time_before(retry->timer.expires, jiffies + HZ));
	disable_delayed_work_sync(retry);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* mlx5_core answers in place of a device that is lost. */
static int fw_of_a_lost_device(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			       int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	return send(dev, in, in_size, out, out_size, arg);
}

/*
 * When the device is lost, the work item that tries orphans again (and logs no refusals) frees the
 * orphan at once, not only when the driver unbinds.
 */
static void orphan_is_gone_with_the_device(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;

	adopt_pd(test, mock, 0);
	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_of_a_lost_device);
	run_retry(mock->dev);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.list));
}

static u32 num_refusals;

/*
 * Firmware refuses to destroy a PD while a younger PD exists: each round destroys one more orphan.
 */
static int fw_destroys_the_last_first(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				      void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	u32 number = MLX5_GET(dealloc_pd_in, in, pd);
	unsigned long index = number;

	if (MLX5_GET(dealloc_pd_in, in, opcode) == MLX5_CMD_OP_DEALLOC_PD &&
	    xa_find_after(&mock->live[MOCK_PD], &index, ULONG_MAX, XA_PRESENT)) {
		num_refusals++;
		return -EBUSY;
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static void orphans_are_tried_in_rounds(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int i;

	mock_open(mock);
	for (i = 0; i < 5; i++)
		adopt_pd_of(test, mock, UID, mock->context);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_destroys_the_last_first);
	num_refusals = 0;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 0);
	KUNIT_EXPECT_EQ(test, num_refusals, 4 + 3 + 2 + 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->context->orphans));
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.dead));

	/*
	 * Each round sends a command for each orphan while the process that closes the device
	 * waits, so the driver stops after 16 rounds. Four of the 20 orphans are left.
	 */
	for (i = 0; i < 20; i++)
		adopt_pd_of(test, mock, UID, mock->context);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 4);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->context->orphans));
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->dev->orphans.dead));
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_PD], 0);
	mock_close(mock);
}

static int refusals[2];		/* of the first protection domains that the mock has given out */
static int logged[ARRAY_SIZE(refusals)];

static int fw_refuses_each_for_its_own_reason(struct mlx5_ib_dev *dev, u16 uid, void *in,
					      int in_size, void *out, int out_size,
					      mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	u32 i = MLX5_GET(dealloc_pd_in, in, pd) - mock->first_number;

	if (MLX5_GET(dealloc_pd_in, in, opcode) == MLX5_CMD_OP_DEALLOC_PD &&
	    i < ARRAY_SIZE(refusals))
		return refusals[i];
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static void take_log(struct mlx5_ib_dev *dev, const char *name, u32 number, int err)
{
	struct mock *mock = kunit_get_current_test()->priv;

	KUNIT_ASSERT_LT(mock->test, number - mock->first_number, ARRAY_SIZE(logged));
	logged[number - mock->first_number] = err;
}

static void adopt_pd_quietly(struct kunit *test, struct mock *mock)
{
	struct mlx5_ib_queue_mem mem = { .context = mock->context };
	struct mlx5_ib_fw_attempt attempt = {};
	u32 pdn;

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_alloc_object(mock->dev, UID, MLX5_CMD_OP_ALLOC_PD, &pdn),
			0);
	mlx5_ib_orphan_adopt_closing(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, pdn, &attempt, "PD",
				     &mem);
}

static void log_has_the_refusal_of_each_orphan(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		adopt_pd_quietly(test, mock);
	refusals[0] = -EBUSY;
	refusals[1] = -EINVAL;
	memset(logged, 0, sizeof(logged));
	kunit_activate_static_stub(test, mlx5_ib_orphan_log, take_log);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_refuses_each_for_its_own_reason);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		KUNIT_EXPECT_EQ_MSG(test, logged[i], refusals[i], "orphan %u", i);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static unsigned int num_logged;

static void count_log(struct mlx5_ib_dev *dev, const char *name, u32 number, int err)
{
	num_logged++;
}

static int read_vendor(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	*value = PCI_VENDOR_ID_MELLANOX;
	return PCIBIOS_SUCCESSFUL;
}

/* A PCI function that answers, so that the device is not gone. */
static void plug_in(struct kunit *test, struct mlx5_core_dev *mdev)
{
	static struct pci_ops ops = { .read = read_vendor };
	struct pci_bus *bus = kunit_kzalloc(test, sizeof(*bus), GFP_KERNEL);

	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bus);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	bus->ops = &ops;
	mdev->pdev->bus = bus;
	mdev->pdev->error_state = pci_channel_io_normal;
}

/* The log has said that the memory stays when the command that creates the object was lost. */
static void lost_object_is_logged_once(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_queue_mem mem = { .context = mock->context };

	num_logged = 0;
	plug_in(test, mock->dev->mdev);
	kunit_activate_static_stub(test, mlx5_ib_orphan_log, count_log);
	mlx5_ib_orphan_keep_lost(mock->dev, "CQ", &mem);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->dev->orphans.dead));
	KUNIT_EXPECT_EQ(test, num_logged, 0);
	/* A reset of the device destroys the object. */
	mock->dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.list));
}

static void refused_object_is_logged_once(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	num_logged = 0;
	kunit_activate_static_stub(test, mlx5_ib_orphan_log, count_log);
	adopt_pd_of(test, mock, UID, mock->context);
	KUNIT_EXPECT_EQ(test, num_logged, 1);
	mock->refuse_destroy = true;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->dev->orphans.dead));
	KUNIT_EXPECT_EQ(test, num_logged, 1);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Firmware refuses to destroy the object even when the driver is unbound. */
static void memory_that_is_never_freed_is_logged(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 num = adopt_pd(test, mock, UID);
	char line[128];

	mock->refuse_destroy = true;
	log_watch(test);
	mlx5_ib_cleanup_orphans(mock->dev);
	scnprintf(line, sizeof(line),
		  "cannot destroy PD 0x%x (%d): its memory, if any, is never freed", num,
		  mock->refuse_err);
	KUNIT_EXPECT_EQ(test, log_count(line), 1);
	mock->refuse_destroy = false;
	log_watch(test);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, log_count("never freed"), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* DELETE_FTE names its object by more fields than a number. */
static void long_command_is_sent_as_it_was(struct kunit *test)
{
	const struct mlx5_ib_queue_mem mem = {};
	struct mlx5_ib_fw_attempt attempt = {};
	u32 cmd[MLX5_ST_SZ_DW(delete_fte_in)];
	struct mock *mock = mock_create(test);

	memset(cmd, 0x77, sizeof(cmd));
	MLX5_SET(delete_fte_in, cmd, opcode, MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	mlx5_ib_orphan_adopt_quietly(mock->dev, UID, cmd, sizeof(cmd), 1, &attempt,
				     "flow table entry", &mem);
	mock->num_commands = 0;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	MLX5_SET(create_cq_in, cmd, uid, UID);
	KUNIT_EXPECT_MEMEQ(test, mock->in, cmd, sizeof(cmd));
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.list));
}

/* Firmware destroys the object at once, or refuses and destroys it later. */
static void kernel_memory_is_freed_with_its_object(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_queue_mem mem;
	bool refuse;
	u32 num;

	for (refuse = false; ; refuse = true) {
		memset(&mem, 0, sizeof(mem));
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_fw_alloc_object(mock->dev, 0, MLX5_CMD_OP_ALLOC_PD,
								 &num));
		KUNIT_ASSERT_EQ(test, 0, mlx5_ib_queue_mem_alloc(mock->dev, &mem, PAGE_SIZE));
		mock->refuse_destroy = refuse;
		mlx5_ib_orphan_destroy(mock->dev, MLX5_CMD_OP_DEALLOC_PD, num, "CQ", &mem);
		KUNIT_EXPECT_EQ(test, mock->num_queue_mems, refuse);
		KUNIT_EXPECT_EQ(test, mock_num_live(mock), refuse);
		if (refuse)
			break;
	}
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static unsigned int buffers_freed;

static void free_buffer(const void *buffer)
{
	buffers_freed++;
	kfree(buffer);
}

static void keep_buffer(struct kunit *test, struct mock *mock)
{
	void *buffer = kzalloc(64, GFP_KERNEL);
	dma_addr_t dma;

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	dma = dma_map_single(mock->dev->dma_device, buffer, 64, DMA_TO_DEVICE);
	KUNIT_ASSERT_EQ(test, dma_mapping_error(mock->dev->dma_device, dma), 0);
	mlx5_ib_orphan_keep(mock->dev, buffer, dma, 64, free_buffer);
}

/* The device may read the buffer until all objects that firmware keeps are destroyed. */
static void buffer_is_freed_once_the_device_has_no_objects(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int i;

	mock->dev->dma_device = mock->dev->mdev->device;
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(mock->dev->dma_device,
							   DMA_BIT_MASK(64)), 0);
	buffers_freed = 0;
	for (i = 0; i < 3; i++)
		keep_buffer(test, mock);
	adopt_pd(test, mock, UID);
	mock->refuse_destroy = true;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, buffers_freed, 0);
	mock->refuse_destroy = false;
	mlx5_ib_orphans_retry(mock->dev, NULL);
	KUNIT_EXPECT_EQ(test, buffers_freed, 0);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, buffers_freed, 3);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, buffers_freed, 3);
}

static void lists_of_orphans_are_changed_under_their_lock(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_orphans *orphans = &mock->dev->orphans;

	mock->dev->dma_device = mock->dev->mdev->device;
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(mock->dev->dma_device,
							   DMA_BIT_MASK(64)), 0);
	EXPECT_TAKES_LOCK(test, &orphans->lock, adopt_pd(test, mock, UID));
	EXPECT_TAKES_LOCK(test, &orphans->buffers_lock, keep_buffer(test, mock));
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static struct kunit_case orphan_cases[] = {
	KUNIT_CASE(orphan_is_destroyed_once_with_its_user_id),
	KUNIT_CASE(memory_is_freed_after_the_orphan_is_destroyed),
	KUNIT_CASE(orphan_that_firmware_does_not_know_is_forgotten),
	KUNIT_CASE(refused_orphan_does_not_hold_up_the_others),
	KUNIT_CASE(owner_destroys_its_own_orphans_only),
	KUNIT_CASE(orphans_of_a_context_are_destroyed_with_it),
	KUNIT_CASE(orphan_does_not_use_a_closed_context),
	KUNIT_CASE(user_id_of_a_closed_context_costs_others_no_command),
	KUNIT_CASE(driver_tries_again_less_and_less_often),
	KUNIT_CASE(attempts_of_the_work_item_are_not_logged),
	KUNIT_CASE(new_orphan_does_not_wait_for_older_ones),
	KUNIT_CASE(orphan_is_gone_with_the_device),
	KUNIT_CASE(orphans_are_tried_in_rounds),
	KUNIT_CASE(log_has_the_refusal_of_each_orphan),
	KUNIT_CASE(lost_object_is_logged_once),
	KUNIT_CASE(refused_object_is_logged_once),
	KUNIT_CASE(memory_that_is_never_freed_is_logged),
	KUNIT_CASE(long_command_is_sent_as_it_was),
	KUNIT_CASE(kernel_memory_is_freed_with_its_object),
	KUNIT_CASE(buffer_is_freed_once_the_device_has_no_objects),
	KUNIT_CASE(lists_of_orphans_are_changed_under_their_lock),
	{}
};

static struct kunit_suite orphan_suite = {
	.name = "bluebell_orphan",
	.test_cases = orphan_cases,
};

kunit_test_suite(orphan_suite);
