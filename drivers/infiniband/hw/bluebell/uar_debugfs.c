// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The report of the UARs of all processes, for root: the file "uars" in mlx5_core's debugfs
 * directory of the device. Each line begins with a word that says what the line is about, followed
 * by words NAME=VALUE. Lines about UARs, bfregs and queues follow the line of their context.
 *
 * Resource tracking cannot show this report: netlink shows a driver's attributes of QPs, CQs, MRs
 * and SRQs, but not of contexts, and a UAR without a queue belongs to none of these objects.
 */

#include <kunit/visibility.h>
#include <linux/debugfs.h>
#include <linux/mlx5/driver.h>
#include <linux/pid.h>
#include <linux/seq_file.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "fw/bluebell.h"
#include "ops.h"
#include "lib/share.h"
#include "verbs/uar.h"

static const char *const origin_names[] = {
	[BLUEBELL_UAR_STATIC] = "static",
	[BLUEBELL_UAR_DYNAMIC] = "dynamic",
	[BLUEBELL_UAR_OBJECT] = "object",
};

static const char *const class_names[] = {
	[BLUEBELL_BFREG_HIGH_LATENCY] = "high",
	[BLUEBELL_BFREG_MEDIUM_LATENCY] = "medium",
	[BLUEBELL_BFREG_LOW_LATENCY] = "low",
	[BLUEBELL_BFREG_DYNAMIC] = "dynamic",
};

/* Names of the queue pair types that have a doorbell on a UAR of the process. */
static const char *const qp_type_names[] = {
	[IB_UVERBS_QPT_RC] = "rc",
	[IB_UVERBS_QPT_UC] = "uc",
	[IB_UVERBS_QPT_UD] = "ud",
	[IB_UVERBS_QPT_XRC_INI] = "xrc_ini",
};

static void show_uar(struct seq_file *file, const struct bluebell_uar *uar)
{
	seq_printf(file, "uar index=%u origin=%s kind=%s freed=%d mappings=%u qps=%u cqs=%u\n",
		   uar->index, origin_names[uar->origin],
		   uar->kind == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF ? "bf" : "nc",
		   !!(uar->flags & BLUEBELL_UAR_FREED), uar->mappings, uar->num_qps,
		   uar->num_cqs);
}

static void show_bfreg(struct seq_file *file, const struct bluebell_bfreg *bfreg)
{
	seq_printf(file, "bfreg number=%u uar=%u slot=%u class=%s qps=%u\n", bfreg->number,
		   bfreg->uar, bfreg->slot, class_names[bfreg->bfreg_class], bfreg->num_qps);
}

static void show_queue(struct seq_file *file, const struct bluebell_queue *queue)
{
	if (queue->type == BLUEBELL_QUEUE_QP)
		seq_printf(file, "qp number=%u type=%s uar=%u", queue->number,
			   qp_type_names[queue->qp_type], queue->uar);
	else
		seq_printf(file, "cq number=%u uar=%u", queue->number, queue->uar);
	if (queue->bfreg != BLUEBELL_NO_BFREG)
		seq_printf(file, " bfreg=%u", queue->bfreg);
	seq_putc(file, '\n');
}

static int show_context(struct seq_file *file, struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_uar_report report;
	int err = mlx5_ib_uar_report_get(context, NULL, &report);
	u32 i;

	if (err)
		goto out;
	/* pid_vnr() returns 0 for a process that is not in the reader's PID namespace. */
	seq_printf(file, "context pid=%d uid=%u comm=", pid_vnr(context->pid), context->uid);
	seq_escape(file, context->comm, " \t\n\\=");
	seq_putc(file, '\n');
	for (i = 0; i < report.num.num_uars; i++)
		show_uar(file, &report.uars[i]);
	for (i = 0; i < report.num.num_bfregs; i++)
		show_bfreg(file, &report.bfregs[i]);
	for (i = 0; i < report.num.num_queues; i++)
		show_queue(file, &report.queues[i]);
out:
	mlx5_ib_uar_report_free(&report);
	return err;
}

static void show_device(struct seq_file *file, struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	u64 max_uars = mlx5_ib_max_uars(dev);

	seq_printf(file, "device name=%s bus=%s", dev_name(&dev->ib_dev.dev),
		   dev_name(mdev->device));
	if (max_uars)
		seq_printf(file, " max_uars=%llu", max_uars);
	/* Each context with DEVX has one of the device's user ids. */
	if (MLX5_CAP_GEN(mdev, log_max_uctx))
		seq_printf(file, " max_uids=%u", 1U << MLX5_CAP_GEN(mdev, log_max_uctx));
	seq_putc(file, '\n');
}

/* Start to read: the first record is about the device, each further record about a context. */
static void *uars_start(struct seq_file *file, loff_t *pos)
{
	struct mlx5_ib_dev *dev = file->private;

	mutex_lock(&dev->contexts_lock);
	return seq_list_start_head(&dev->contexts, *pos);
}

static void *uars_next(struct seq_file *file, void *entry, loff_t *pos)
{
	struct mlx5_ib_dev *dev = file->private;

	return seq_list_next(entry, &dev->contexts, pos);
}

static void uars_stop(struct seq_file *file, void *entry)
{
	struct mlx5_ib_dev *dev = file->private;

	mutex_unlock(&dev->contexts_lock);
}

static int uars_show(struct seq_file *file, void *entry)
{
	struct mlx5_ib_dev *dev = file->private;

	if (entry != &dev->contexts)
		return show_context(file, list_entry(entry, struct mlx5_ib_ucontext, node));
	show_device(file, dev);
	return 0;
}

VISIBLE_IF_KUNIT const struct seq_operations mlx5_ib_uars_sops = {
	.start = uars_start,
	.next = uars_next,
	.stop = uars_stop,
	.show = uars_show,
};
DEFINE_SEQ_ATTRIBUTE(mlx5_ib_uars);

/**
 * mlx5_ib_init_uar_debugfs - create the file "uars"
 * @dev: device
 *
 * Does nothing in a kernel without debugfs.
 *
 * Return: 0.
 */
int mlx5_ib_init_uar_debugfs(struct mlx5_ib_dev *dev)
{
	struct dentry *root = mlx5_debugfs_get_dev_root(dev->mdev);

	/* Without the device's directory, the file would be created in the root of debugfs. */
	if (!IS_ERR_OR_NULL(root))
		dev->uar_file = debugfs_create_file("uars", 0400, root, dev,
						    &mlx5_ib_uars_fops);
	return 0;
}

/**
 * mlx5_ib_cleanup_uar_debugfs - remove the file "uars"
 * @dev: device
 *
 * Waits for readers. May sleep.
 */
void mlx5_ib_cleanup_uar_debugfs(struct mlx5_ib_dev *dev)
{
	debugfs_remove(dev->uar_file);
	dev->uar_file = NULL;
}
