// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The files of procfs, sysfs, debugfs and cgroups, by which the kernel takes settings and requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_file.h"

/**
 * write_file - write a text to a file of the kernel, in one call
 * @path: of the file, which exists
 * @fmt: printf format of the text, of 255 bytes at most
 *
 * Return: 0, or a negative errno of open() or write().
 */
int write_file(const char *path, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int fd, len, ret;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(text))
		return -E2BIG;
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, len) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/**
 * empty_caches - let the kernel free what it keeps for later use
 * @what: DROP_PAGE_CACHE, DROP_SLAB, or both
 *
 * Return: 0 or a negative errno.
 */
int empty_caches(int what)
{
	return write_file("/proc/sys/vm/drop_caches", "%d", what);
}

/**
 * kernel_has_symbol - look for a function or variable of the kernel or of a loaded module
 * @name: a part of its name
 *
 * Return: whether there is one; also true if the kernel does not list its symbols.
 */
bool kernel_has_symbol(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	bool found = !f;
	char line[256];

	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, name);
	if (f)
		fclose(f);
	return found;
}

/**
 * load_test_module - load one of the modules that belong to the tests, unless it is loaded
 * @name: of the module
 * @device: path of the device that it makes
 *
 * Return: 0 or a negative errno: -ENOENT if the module was not built for this kernel.
 */
int load_test_module(const char *name, const char *device)
{
	char path[PATH_MAX];
	int fd, ret;

	if (!access(device, R_OK | W_OK))
		return 0;
	/* scripts/vm puts the modules there. */
	snprintf(path, sizeof(path), "/run/bluebell/modules/test/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST ? -errno : 0;
	close(fd);
	return ret;
}
