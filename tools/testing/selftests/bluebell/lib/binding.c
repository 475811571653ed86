// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unbind the verbs driver from the device, and bind it again.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"
#include "kernel_file.h"
#include "rdma.h"

#define AUX "/sys/bus/auxiliary"
#define CORE "/sys/bus/pci/drivers/mlx5_core"

/**
 * binding_find - find the device that the verbs driver is bound to
 * @b: the result
 *
 * Return: 0, or -1 if there is none.
 */
int binding_find(struct binding *b)
{
	DIR *dir = opendir(AUX "/devices");
	struct dirent *entry;
	char path[512], target[512];
	int ret = -1;
	ssize_t n;

	while (dir && ret && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".rdma."))
			continue;
		snprintf(path, sizeof(path), AUX "/devices/%s/driver", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		snprintf(b->device, sizeof(b->device), "%.127s", entry->d_name);
		snprintf(b->driver, sizeof(b->driver), "%.127s", strrchr(target, '/') + 1);
		ret = 0;
	}
	if (dir)
		closedir(dir);
	return ret;
}

/**
 * binding_pci - find the PCI function of a device
 * @b: the device
 * @dir: the function's directory in sysfs
 * @size: bytes of @dir
 *
 * Return: 0, or -1 if the device is not there.
 */
int binding_pci(const struct binding *b, char *dir, size_t size)
{
	char path[512], *real;

	snprintf(path, sizeof(path), AUX "/devices/%s/..", b->device);
	real = realpath(path, NULL);
	if (!real)
		return -1;
	snprintf(dir, size, "%s", real);
	free(real);
	return 0;
}

/**
 * binding_probe_function - let mlx5_core remove the PCI function of a device and probe it again
 * @b: the device
 *
 * Return: 0 or a negative errno.
 */
int binding_probe_function(const struct binding *b)
{
	char dir[256], *function;
	int ret;

	if (binding_pci(b, dir, sizeof(dir)))
		return -ENODEV;
	function = strrchr(dir, '/') + 1;
	ret = write_file(CORE "/unbind", "%s", function);
	return ret ?: write_file(CORE "/bind", "%s", function);
}

/**
 * binding_reset_function - reset the PCI function of a device
 * @b: the device
 *
 * Return: 0 or a negative errno.
 */
int binding_reset_function(const struct binding *b)
{
	char dir[256], path[512];

	if (binding_pci(b, dir, sizeof(dir)))
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/reset", dir);
	return write_file(path, "1");
}

/**
 * binding_do - unbind the driver from the device, or bind it
 * @b: the device and its driver
 * @what: "unbind" or "bind"
 *
 * Return: 0 or a negative errno.
 */
int binding_do(const struct binding *b, const char *what)
{
	char path[512];

	snprintf(path, sizeof(path), AUX "/drivers/%s/%s", b->driver, what);
	return write_file(path, "%s", b->device);
}

/**
 * binding_wait_device - wait for the RDMA device that a driver registers when it is bound
 *
 * Return: true if the device can be opened within five seconds.
 */
bool binding_wait_device(void)
{
	struct rdma r;
	int i;

	for (i = 0; i < 100; i++) {
		if (!rdma_open(&r)) {
			rdma_close(&r);
			return true;
		}
		usleep(50000);
	}
	return false;
}
