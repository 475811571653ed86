/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Why the driver refuses a request. The process gets only an errno. The administrator can read the
 * reason after switching dynamic debug on; report_limit() logs without dynamic debug.
 */

#ifndef BLUEBELL_REFUSE_H
#define BLUEBELL_REFUSE_H

#include <linux/device.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mlx5/driver.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>

/* What the line has between the names of the driver and of the device: a space if there is one. */
static inline const char *refuse_space(const struct mlx5_core_dev *mdev)
{
	return mdev ? " " : "";
}

static inline const char *refuse_device(const struct mlx5_core_dev *mdev)
{
	return mdev ? dev_name(mdev->device) : "";
}

/**
 * refuse() - refuse a request of a process or of a kernel consumer
 * @mdev: the device, whose address the line has, or NULL for a check of plain values that knows no
 *	device
 * @err: negative errno
 * @fmt: what was asked for and what is possible, with the values; no pointers of the kernel,
 *	and no memory keys of other processes
 *
 * For example: return refuse(dev->mdev, -EINVAL, "CQ of %u entries, at most %u", cqe, max);
 *
 * The line names the current task, which is the interrupted task if a kernel consumer calls from an
 * interrupt. fw.c says how refusals of firmware are logged. Any context.
 *
 * Return: @err.
 */
#define refuse(mdev, err, fmt, ...) ({						\
	const struct mlx5_core_dev *refuse_mdev = (mdev);			\
	int refuse_err = (err);							\
										\
	pr_debug(KBUILD_MODNAME "%s%s: %s[%d]: %pe: " fmt "\n",			\
		 refuse_space(refuse_mdev), refuse_device(refuse_mdev),		\
		 current->comm, task_pid_nr(current), ERR_PTR(refuse_err),	\
		 ##__VA_ARGS__);						\
	refuse_err;								\
})

/**
 * report_limit() - log that a process has reached a limit
 * @ibdev: struct ib_device
 * @fmt: what is used up, and which process gets no more of it
 *
 * Any user can reach a limit any number of times, so each place in the source that calls this logs
 * at most one line in ten seconds, for all processes together. Any context.
 */
#define report_limit(ibdev, fmt, ...) do {					\
	static struct ratelimit_state report_limit_state =			\
		RATELIMIT_STATE_INIT_FLAGS(report_limit_state, 10 * HZ, 1,	\
					   RATELIMIT_MSG_ON_RELEASE);		\
										\
	if (__ratelimit(&report_limit_state))					\
		ibdev_warn(ibdev, fmt, ##__VA_ARGS__);				\
} while (0)

#endif /* BLUEBELL_REFUSE_H */
