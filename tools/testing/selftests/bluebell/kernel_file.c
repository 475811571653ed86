// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The files of procfs, sysfs, debugfs and cgroups, by which the kernel takes settings and requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
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
