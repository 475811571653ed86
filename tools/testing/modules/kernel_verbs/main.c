// SPDX-License-Identifier: GPL-2.0-only
/*
 * A consumer of kernel verbs for tests: it connects queue pairs of one device to each other,
 * posts every kind of work request, and looks at data and completions.
 *
 * Each test has a name. A process writes the name to /dev/kernel_verbs to run the test. If the test
 * fails, the write fails, too, and the file has the reason: with EREMOTEIO the line of the check
 * that failed, else the errno of a call. With EOPNOTSUPP the device lacks something that the test
 * needs, and the file says what. After a test that measures times the file has the times.
 */

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "rig.h"

static DEFINE_MUTEX(lock);	/* guards the device and rig_report */
static struct ib_device *device;

static const struct rig_test *const lists[] = {
	send_tests,
	memory_tests,
	ud_tests,
	event_tests,
	srq_tests,
	object_tests,
	speed_tests,
};

static const struct rig_test *find_test(const char *name)
{
	const struct rig_test *test;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		for (test = lists[i]; test->name; test++)
			if (!strcmp(test->name, name))
				return test;
	return NULL;
}

static int run_test(const char *name)
{
	const struct rig_test *test = find_test(name);
	struct rig rig = { .dev = device };
	int err;

	if (!test)
		return -ENOENT;
	if (!device)
		return -ENODEV;
	rig_report[0] = 0;
	err = rig_up(&rig, test);
	/* Without a report, the driver has refused what every device has: the test fails. */
	if (err == -EOPNOTSUPP && !rig_report[0])
		err = -EIO;
	if (!err)
		err = test->run(&rig);
	rig_down(&rig);
	if (err && err != -EOPNOTSUPP && !rig_report[0])
		snprintf(rig_report, sizeof(rig_report), "error %d\n", err);
	return err;
}

static ssize_t kernel_verbs_write(struct file *file, const char __user *user, size_t len,
				  loff_t *pos)
{
	char name[64] = {};
	int err;

	if (len >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, user, len))
		return -EFAULT;
	guard(mutex)(&lock);
	err = run_test(strim(name));
	return err ?: len;
}

static ssize_t kernel_verbs_read(struct file *file, char __user *user, size_t len, loff_t *pos)
{
	guard(mutex)(&lock);
	return simple_read_from_buffer(user, len, pos, rig_report, strlen(rig_report));
}

static const struct file_operations kernel_verbs_fops = {
	.owner = THIS_MODULE,
	.read = kernel_verbs_read,
	.write = kernel_verbs_write,
};

static struct miscdevice kernel_verbs_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kernel_verbs",
	.fops = &kernel_verbs_fops,
	.mode = 0600,
};

static int kernel_verbs_add(struct ib_device *dev)
{
	guard(mutex)(&lock);
	if (!device)
		device = dev;
	return 0;
}

static void kernel_verbs_remove(struct ib_device *dev, void *data)
{
	guard(mutex)(&lock);
	if (device == dev)
		device = NULL;
}

static struct ib_client kernel_verbs_client = {
	.name = "kernel_verbs",
	.add = kernel_verbs_add,
	.remove = kernel_verbs_remove,
};

static int __init kernel_verbs_init(void)
{
	int err = ib_register_client(&kernel_verbs_client);

	if (err)
		return err;
	err = misc_register(&kernel_verbs_device);
	if (err)
		ib_unregister_client(&kernel_verbs_client);
	return err;
}

static void __exit kernel_verbs_exit(void)
{
	misc_deregister(&kernel_verbs_device);
	ib_unregister_client(&kernel_verbs_client);
}

module_init(kernel_verbs_init);
module_exit(kernel_verbs_exit);

MODULE_DESCRIPTION("kernel verbs on one device, for tests");
MODULE_LICENSE("GPL");
