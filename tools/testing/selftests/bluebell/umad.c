// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The files of ib_umad, by which programs send and receive management datagrams.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rdma.h"
#include "umad.h"

/**
 * umad_is_there - tell whether the kernel has ib_umad
 *
 * Return: true if so.
 */
bool umad_is_there(void)
{
	return !access("/sys/class/infiniband_mad", F_OK);
}

/**
 * umad_find - find the character device of port 1
 * @kind: "umad", or "issm" for that of a subnet manager
 * @path: the path of the device
 * @size: bytes of @path
 *
 * Return: false if there is none.
 */
bool umad_find(const char *kind, char *path, size_t size)
{
	DIR *dir = opendir("/sys/class/infiniband_mad");
	char file[512], name[64];
	struct dirent *entry;
	bool found = false;
	FILE *f;

	while (dir && !found && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, kind, strlen(kind)))
			continue;
		snprintf(file, sizeof(file), "/sys/class/infiniband_mad/%s/ibdev", entry->d_name);
		f = fopen(file, "r");
		if (!f)
			continue;
		found = fscanf(f, "%63s", name) == 1 && !strcmp(name, rdma_device_name());
		fclose(f);
		snprintf(path, size, "/dev/infiniband/%.64s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/**
 * umad_open - open the file of port 1, which does not block
 *
 * Return: the file descriptor or a negative errno.
 */
int umad_open(void)
{
	char path[128];
	int fd;

	if (!umad_find("umad", path, sizeof(path)))
		return -ENODEV;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/**
 * umad_register - register an agent
 * @fd: file of umad_open()
 * @req: what the agent receives; gets its id
 *
 * Return: 0 or a negative errno.
 */
int umad_register(int fd, struct ib_user_mad_reg_req2 *req)
{
	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, req) ? -errno : 0;
}
