// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A FUSE file system that is one file, served by a process of its own. It answers no read until it
 * is told to.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slow_file.h"

#define PATH "/tmp/bluebell-slow-file"
/* Reads that are held back; each is of one page at least. */
#define MAX_HELD 256
#define MAX_READ (1 << 17)

struct server {
	int dev;
	int reads;	/* a byte for each read that is held back */
	size_t size;
	int released;
	struct fuse_in_header held[MAX_HELD];
	uint32_t held_len[MAX_HELD];
	unsigned int num_held;
};

static void answer(struct server *s, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof(out) + len, .error = error, .unique = unique };
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)data, len } };

	/* ENOENT: the request was interrupted. */
	if (writev(s->dev, iov, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static void answer_read(struct server *s, uint64_t unique, uint32_t len)
{
	static const char zeros[MAX_READ];

	answer(s, unique, 0, zeros, len);
}

static void serve_read(struct server *s, const struct fuse_in_header *in,
		       const struct fuse_read_in *read)
{
	uint32_t len = read->size < MAX_READ ? read->size : MAX_READ;

	if (s->released || s->num_held == MAX_HELD) {
		answer_read(s, in->unique, len);
		return;
	}
	s->held[s->num_held] = *in;
	s->held_len[s->num_held++] = len;
	if (write(s->reads, "", 1) != 1)
		_exit(1);
}

static void release_reads(struct server *s)
{
	s->released = 1;
	while (s->num_held) {
		s->num_held--;
		answer_read(s, s->held[s->num_held].unique, s->held_len[s->num_held]);
	}
}

static void serve(struct server *s, const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096,
	};
	const struct fuse_attr_out attr = {
		.attr_valid = UINT32_MAX,
		.attr = {
			.ino = FUSE_ROOT_ID, .size = s->size, .mode = S_IFREG | 0444, .nlink = 1,
		},
	};
	const struct fuse_open_out opened = { };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(s, in->unique, 0, &init, sizeof(init));
	case FUSE_GETATTR:
		return answer(s, in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return answer(s, in->unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return serve_read(s, in, arg);
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		return answer(s, in->unique, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return answer(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static void __attribute__((noreturn)) serve_until_killed(struct server *s, int release)
{
	static char buf[MAX_READ + 4096] __attribute__((aligned(8)));
	struct pollfd fds[] = { { s->dev, POLLIN }, { release, POLLIN } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			_exit(1);
		if (fds[1].revents) {
			release_reads(s);
			fds[1].fd = -1;
		}
		if (!fds[0].revents)
			continue;
		if (read(s->dev, buf, sizeof(buf)) < (ssize_t)sizeof(struct fuse_in_header))
			_exit(1);
		serve(s, (void *)buf, buf + sizeof(struct fuse_in_header));
	}
}

static int mount_file(int dev)
{
	char options[128];
	int fd = open(PATH, O_CREAT | O_RDONLY | O_CLOEXEC, 0444);

	if (fd < 0)
		return -errno;
	close(fd);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100444,user_id=%u,group_id=%u,allow_other", dev, getuid(),
		 getgid());
	return mount("bluebell-test", PATH, "fuse", MS_NOSUID | MS_NODEV, options) ? -errno : 0;
}

/**
 * slow_file_open - make the file and open it for reading
 * @f: the file, for slow_file_close() also after an error
 * @size: bytes, which are zeros
 *
 * Needs the right to mount.
 *
 * Return: 0 or a negative errno.
 */
int slow_file_open(struct slow_file *f, size_t size)
{
	struct server s = { .size = size };
	int reads[2], release[2], ret;
	struct stat st;

	*f = (struct slow_file){ .fd = -1, .reads = -1, .release = -1 };
	s.dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (s.dev < 0)
		return -errno;
	if (pipe2(reads, O_CLOEXEC) || pipe2(release, O_CLOEXEC))
		return -errno;
	ret = mount_file(s.dev);
	if (ret)
		return ret;
	f->pid = fork();
	if (!f->pid) {
		s.reads = reads[1];
		close(release[1]);
		serve_until_killed(&s, release[0]);
	}
	close(s.dev);
	close(reads[1]);
	close(release[0]);
	f->reads = reads[0];
	f->release = release[1];
	f->fd = open(PATH, O_RDONLY | O_CLOEXEC);
	/* The kernel asks the server for the size of the file at fstat(), and not before. */
	return f->fd < 0 || fstat(f->fd, &st) ? -errno : 0;
}

/**
 * slow_file_wait_read - wait until a process waits for a page of the file
 * @f: the file
 * @timeout_ms: how long to wait
 *
 * Return: 0 or -ETIMEDOUT.
 */
int slow_file_wait_read(struct slow_file *f, int timeout_ms)
{
	struct pollfd fd = { f->reads, POLLIN };
	char byte;

	return poll(&fd, 1, timeout_ms) == 1 && read(f->reads, &byte, 1) == 1 ? 0 : -ETIMEDOUT;
}

/* Answer all reads, those that wait and those to come. */
void slow_file_release(struct slow_file *f)
{
	/*
	 * Write a byte: to close the pipe is not enough, because processes that have been forked
	 * meanwhile have the pipe, too, so its reader would see no end.
	 */
	if (f->release < 0 || write(f->release, "", 1) != 1)
		return;
	close(f->release);
	f->release = -1;
}

/* Release all reads, and close and unmount the file, which must not be mapped any more. */
void slow_file_close(struct slow_file *f)
{
	slow_file_release(f);
	if (f->fd >= 0)
		close(f->fd);
	if (f->reads >= 0)
		close(f->reads);
	umount2(PATH, MNT_DETACH);
	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	unlink(PATH);
}
