// SPDX-License-Identifier: GPL-2.0-only
/*
 * Remove a PCI device as a hotplug driver does when the device has been pulled out: tell the
 * PCI core first that the device cannot be reached any more, and remove the device at once. For
 * devices in slots of which the kernel has no hotplug driver. A process writes the name of the
 * device to /sys/module/pci_pull/parameters/device.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/string.h>

static int pci_pull(const char *val, const struct kernel_param *kp)
{
	char name[32];
	struct device *device;
	struct pci_dev *pdev;

	if (strscpy(name, val) < 0)
		return -EINVAL;
	device = bus_find_device_by_name(&pci_bus_type, NULL, strim(name));
	if (!device)
		return -ENODEV;
	pdev = to_pci_dev(device);
	WRITE_ONCE(pdev->error_state, pci_channel_io_perm_failure);
	pci_stop_and_remove_bus_device_locked(pdev);
	pci_dev_put(pdev);
	return 0;
}

static const struct kernel_param_ops pci_pull_ops = { .set = pci_pull };

module_param_cb(device, &pci_pull_ops, NULL, 0200);
MODULE_PARM_DESC(device, "name of the PCI device to remove");

MODULE_DESCRIPTION("Surprise removal of a PCI device, for tests");
MODULE_LICENSE("GPL");
