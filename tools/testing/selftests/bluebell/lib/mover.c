// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dma-bufs whose memory moves on request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel_file.h"
#include "mover.h"

#define DEVICE "/dev/dmabuf_mover"
/**
 * mover_load - load the exporter's module, unless it is loaded
 *
 * Return: 0 or a negative errno.
 */
int mover_load(void)
{
	return load_test_module("dmabuf_mover", DEVICE);
}

static int request(unsigned long cmd, void *arg)
{
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	if (dev < 0)
		return -errno;
	ret = ioctl(dev, cmd, arg) ? -errno : 0;
	close(dev);
	return ret;
}

/**
 * mover_can_move - ask whether memory that a device has mapped can move on this kernel
 *
 * Return: 1 or 0, or a negative errno. If 0, the kernel pins the memory meanwhile.
 */
int mover_can_move(void)
{
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC), ret;

	if (dev < 0)
		return -errno;
	ret = ioctl(dev, DMABUF_MOVER_CAN_MOVE);
	if (ret < 0)
		ret = -errno;
	close(dev);
	return ret;
}

/**
 * mover_missing - load the module, and find out why memory of a region cannot move
 *
 * Return: the reason to skip a test that moves the memory; or NULL if it can move, and also if the
 * module is there but does not work: then the test fails.
 */
const char *mover_missing(void)
{
	int ret = mover_load();

	if (ret == -ENOENT)
		return NO_MOVER;
	if (!ret)
		ret = mover_can_move();
	if (ret < 0)
		fprintf(stderr, "# dmabuf_mover does not work: %s\n", strerror(-ret));
	return ret ? NULL : NO_MOVES;
}

/**
 * mover_create - make a dma-buf of zeros
 * @size: bytes, a multiple of the page size
 *
 * Return: its descriptor or a negative errno.
 */
int mover_create(size_t size)
{
	struct dmabuf_mover_create req = { .size = size };
	int ret = request(DMABUF_MOVER_CREATE, &req);

	return ret ? ret : req.fd;
}

/**
 * mover_move - move a dma-buf's memory
 * @fd: the dma-buf
 * @flags: DMABUF_MOVER_*
 * @map_errno: errno with which to refuse all mappings from now on, or 0 to allow them
 *
 * Return: 0 or a negative errno.
 */
int mover_move(int fd, uint32_t flags, int map_errno)
{
	struct dmabuf_mover_move req = { .fd = fd, .flags = flags, .map_errno = map_errno };

	return request(DMABUF_MOVER_MOVE, &req);
}

static int copy(int fd, size_t offset, void *buf, size_t len, bool write)
{
	struct dmabuf_mover_copy req = {
		.fd = fd, .write = write, .offset = offset, .length = len, .buf = (uintptr_t)buf,
	};

	return request(DMABUF_MOVER_COPY, &req);
}

int mover_read(int fd, size_t offset, void *buf, size_t len)
{
	return copy(fd, offset, buf, len, false);
}

int mover_write(int fd, size_t offset, const void *buf, size_t len)
{
	return copy(fd, offset, (void *)buf, len, true);
}

int mover_stat(int fd, struct dmabuf_mover_stat *stat)
{
	*stat = (struct dmabuf_mover_stat){ .fd = fd };
	return request(DMABUF_MOVER_STAT, stat);
}

/**
 * mover_buffers - count the dma-bufs that still exist
 *
 * Return: their number, or a negative errno.
 */
int mover_buffers(void)
{
	FILE *file = fopen("/sys/module/dmabuf_mover/refcnt", "r");
	int n;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &n) != 1)
		n = -EIO;
	fclose(file);
	return n;
}
