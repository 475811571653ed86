/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Why the driver refuses a request, for an administrator who has switched dynamic debug on: the
 * process gets an errno only.
 */

#ifndef BLUEBELL_REFUSE_H
#define BLUEBELL_REFUSE_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/sched.h>

/**
 * refuse() - refuse a request of a process or of a kernel consumer
 * @err: negative errno
 * @fmt: what was asked for and what is possible, with the values; no pointers of the kernel,
 *	and no keys of other processes
 *
 * A function writes: return refuse(-EINVAL, "CQ of %u entries, at most %u", cqe, max);
 *
 * The line names the current task: if a kernel consumer calls from an interrupt, this is the
 * interrupted task. For refusals of firmware see fw.c. Any context.
 *
 * Return: @err.
 */
#define refuse(err, fmt, ...) ({						\
	int refuse_err = (err);							\
										\
	pr_debug(KBUILD_MODNAME ": %s[%d]: %pe: " fmt "\n", current->comm,	\
		 task_pid_nr(current), ERR_PTR(refuse_err), ##__VA_ARGS__);	\
	refuse_err;								\
})

#endif /* BLUEBELL_REFUSE_H */
