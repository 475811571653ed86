// SPDX-License-Identifier: GPL-2.0-only
/*
 * KCOV for a kernel without CONFIG_KCOV: /sys/kernel/debug/kcov with the interface of
 * Documentation/dev-tools/kcov.rst, as far as tools/testing/fuzz-ioctl uses that interface. One
 * task at a time can be traced.
 *
 * A module that is compiled with -fsanitize-coverage=trace-pc calls __sanitizer_cov_trace_pc() in
 * each basic block.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kcov.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "trace_pc.h"

/**
 * struct trace - the trace of one open file
 * @area: number of addresses, then the addresses; mapped by the process, and freed when the file
 *	is released, which is after the last mapping has gone
 * @words: length of @area
 */
struct trace {
	unsigned long *area;
	unsigned long words;
};

/*
 * Protects the two pointers against other writers. The traced task reads the pointers without the
 * lock, because no other task starts the trace of that task.
 */
static DEFINE_MUTEX(traced_lock);
static struct task_struct *traced_task;
static struct trace *traced;

static struct dentry *kcov_file;

notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long *area, pos;

	if (READ_ONCE(traced_task) != current || !in_task())
		return;
	area = traced->area;
	pos = READ_ONCE(area[0]) + 1;
	if (pos < traced->words) {
		area[pos] = _RET_IP_;
		WRITE_ONCE(area[0], pos);
	}
}
EXPORT_SYMBOL(__sanitizer_cov_trace_pc);

static void trace_stop(struct trace *trace)
{
	if (traced == trace) {
		WRITE_ONCE(traced_task, NULL);
		traced = NULL;
	}
}

static int kcov_open(struct inode *inode, struct file *file)
{
	struct trace *trace = kzalloc(sizeof(*trace), GFP_KERNEL);

	file->private_data = trace;
	return trace ? 0 : -ENOMEM;
}

static int kcov_release(struct inode *inode, struct file *file)
{
	struct trace *trace = file->private_data;

	scoped_guard(mutex, &traced_lock)
		trace_stop(trace);
	vfree(trace->area);
	kfree(trace);
	return 0;
}

static int trace_alloc(struct trace *trace, unsigned long words)
{
	if (trace->area)
		return -EBUSY;
	if (words < 2 || words > INT_MAX / sizeof(*trace->area))
		return -EINVAL;
	trace->area = vmalloc_user(words * sizeof(*trace->area));
	trace->words = words;
	return trace->area ? 0 : -ENOMEM;
}

/* A task starts its own trace, so it is not in __sanitizer_cov_trace_pc() meanwhile. */
static int trace_start(struct trace *trace, unsigned long mode)
{
	if (mode != KCOV_TRACE_PC || !trace->area)
		return -EINVAL;
	if (traced)
		return -EBUSY;
	traced = trace;
	WRITE_ONCE(traced_task, current);
	return 0;
}

static long kcov_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct trace *trace = file->private_data;

	guard(mutex)(&traced_lock);
	switch (cmd) {
	case KCOV_INIT_TRACE:
		return trace_alloc(trace, arg);
	case KCOV_ENABLE:
		return trace_start(trace, arg);
	case KCOV_DISABLE:
		if (traced_task != current || traced != trace)
			return -EINVAL;
		trace_stop(trace);
		return 0;
	}
	return -ENOTTY;
}

static int kcov_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct trace *trace = file->private_data;

	guard(mutex)(&traced_lock);
	return trace->area ? remap_vmalloc_range(vma, trace->area, vma->vm_pgoff) : -EINVAL;
}

static const struct file_operations kcov_fops = {
	.owner = THIS_MODULE,
	.open = kcov_open,
	.release = kcov_release,
	.unlocked_ioctl = kcov_ioctl,
	.mmap = kcov_mmap,
};

static int __init kcov_init(void)
{
	kcov_file = debugfs_create_file_unsafe("kcov", 0600, NULL, NULL, &kcov_fops);
	return PTR_ERR_OR_ZERO(kcov_file);
}

static void __exit kcov_exit(void)
{
	debugfs_remove(kcov_file);
}

module_init(kcov_init);
module_exit(kcov_exit);

MODULE_DESCRIPTION("Code coverage for a process, of modules compiled for it");
MODULE_LICENSE("GPL");
