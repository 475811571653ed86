// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module kernel_verbs, a consumer of verbs in the kernel, and its tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "consumer.h"
#include "kernel_file.h"

#define DEVICE "/dev/kernel_verbs"

/**
 * consumer_open - load the module, unless it is loaded, and open its device
 *
 * Return: the file descriptor or a negative errno.
 */
int consumer_open(void)
{
	int ret = load_test_module("kernel_verbs", DEVICE), fd;

	if (ret)
		return ret;
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/**
 * consumer_run - run a test of the module
 * @fd: descriptor of consumer_open()
 * @test: name of the test
 * @report: if not NULL, gets what the module says about a test that failed or was left out
 *
 * Return: 0; -EOPNOTSUPP if the device lacks what the test needs; or another negative errno.
 */
int consumer_run(int fd, const char *test, char report[CONSUMER_REPORT])
{
	int ret = write(fd, test, strlen(test)) < 0 ? -errno : 0;
	ssize_t n;

	if (!report)
		return ret;
	n = ret ? read(fd, report, CONSUMER_REPORT - 1) : 0;
	report[n > 0 ? n : 0] = 0;
	return ret;
}
