// SPDX-License-Identifier: GPL-2.0
/*
 * The server side of the vfio-user protocol (QEMU's docs/interop/vfio-user.rst): the socket,
 * messages in and out. What the messages ask for is in vfu_device.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "uar.h"
#include "vfio_user.h"
#include "vfu.h"

#define F_TYPE_MASK	0xf
#define F_REPLY		0x1
#define F_NO_REPLY	0x10
#define F_ERROR		0x20

/*
 * Each store to a BlueFlame register arrives as a message. If the next one of a WQE takes longer
 * than this, the first 8 bytes are a plain doorbell.
 */
#define BF_WAIT_US	40

static void vfu_client_gone(struct vfu *v);

static void vfu_close_fds(struct vfu *v)
{
	while (v->nfds)
		close(v->fds[--v->nfds]);
}

static int vfu_send(int fd, const struct msg_hdr *h, const uint8_t *body, size_t len, int send_fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = {};
	struct iovec iov[2] = {
		{ .iov_base = (void *)(uintptr_t)h, .iov_len = sizeof(*h) },
		{ .iov_base = (void *)(uintptr_t)body, .iov_len = len },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	size_t left = sizeof(*h) + len;

	if (send_fd >= 0) {
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.align), &send_fd, sizeof(int));
		m.msg_control = ctl.buf;
		m.msg_controllen = sizeof(ctl.buf);
	}
	while (left) {
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		left -= n;
		m.msg_control = NULL;	/* was sent with the first bytes */
		m.msg_controllen = 0;
		while (m.msg_iovlen && (size_t)n >= m.msg_iov->iov_len) {
			n -= m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + n;
			m.msg_iov->iov_len -= n;
		}
	}
	return 0;
}

static int vfu_answer(struct vfu *v)
{
	struct msg_hdr r = { .id = v->hdr.id, .cmd = v->hdr.cmd, .flags = F_REPLY };
	int len = vfu_handle(v);

	vfu_close_fds(v);
	if (v->hdr.flags & F_NO_REPLY)
		return 0;
	if (len < 0) {
		r.flags |= F_ERROR;
		r.error = -len;
		len = 0;
	}
	r.size = sizeof(r) + len;
	return vfu_send(v->fd, &r, v->body, len, v->send_fd);
}

static void vfu_keep_fds(struct vfu *v, struct msghdr *m)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		size_t i;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (v->nfds < MAX_FDS)
				v->fds[v->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/*
 * Receive the header of a message into v->hdr. Returns 1, 0 if none has arrived, or a negative
 * number if the client is gone.
 */
static int vfu_recv_hdr(struct vfu *v)
{
	union {
		char buf[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { .iov_base = &v->hdr, .iov_len = sizeof(v->hdr) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf),
	};
	ssize_t n = recvmsg(v->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	vfu_keep_fds(v, &m);
	if (n < (ssize_t)sizeof(v->hdr)) {
		ssize_t rest = sizeof(v->hdr) - n;

		if (recv(v->fd, (char *)&v->hdr + n, rest, MSG_WAITALL) != rest)
			return -ECONNRESET;
	}
	return 1;
}

static int vfu_recv_msg(struct vfu *v)
{
	int got = vfu_recv_hdr(v);

	if (got <= 0)
		return got;
	if (v->hdr.size < sizeof(v->hdr) || v->hdr.size - sizeof(v->hdr) > MAX_MSG)
		return -EMSGSIZE;
	v->body_len = v->hdr.size - sizeof(v->hdr);
	if (v->body_len &&
	    recv(v->fd, v->body, v->body_len, MSG_WAITALL) != (ssize_t)v->body_len)
		return -ECONNRESET;
	return 1;
}

/*
 * The socket is empty. Wait a moment for the rest of a BlueFlame write, then deliver it as a plain
 * doorbell.
 */
static bool vfu_wait_bf(struct vfu *v)
{
	struct pollfd p = { .fd = v->fd, .events = POLLIN };
	struct timespec ts = { .tv_nsec = BF_WAIT_US * 1000 };

	if (!uar_bf_pending(v->hca))
		return false;
	if (ppoll(&p, 1, &ts, NULL) > 0)
		return true;
	uar_idle(v->hca);
	return false;
}

static void vfu_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct vfu *v = arg;
	unsigned int budget = 64;
	int got;

	(void)fd;
	(void)what;
	while (budget--) {
		got = vfu_recv_msg(v);
		if (!got && vfu_wait_bf(v))
			continue;
		if (!got)
			return;
		if (got > 0 && (v->hdr.flags & F_TYPE_MASK) == F_REPLY)
			continue;
		if (got < 0 || vfu_answer(v)) {
			vfu_client_gone(v);
			return;
		}
	}
}

static void vfu_on_connect(evutil_socket_t fd, short what, void *arg)
{
	struct vfu *v = arg;
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	if (c < 0)
		return;
	if (v->fd >= 0) {		/* one client at a time */
		close(c);
		return;
	}
	v->fd = c;
	v->versioned = false;
	v->ev = event_new(v->hca->base, c, EV_READ | EV_PERSIST, vfu_on_readable, v);
	event_add(v->ev, NULL);
}

static void vfu_client_gone(struct vfu *v)
{
	event_free(v->ev);
	v->ev = NULL;
	close(v->fd);
	v->fd = -1;
	vfu_close_fds(v);
	vfu_irq_clear(v);
	hca_reset(v->hca);
	mem_unmap_all(v->hca);
	v->gone(v->hca, v->gone_arg);
}

/**
 * vfu_listen() - wait for a client
 * @hca: the HCA that it will drive
 * @path: of the socket; what is there already is replaced if it is a socket
 * @gone: called when the client is gone and everything of it was released
 * @arg: passed to @gone
 *
 * Return: 0 or -errno.
 */
int vfu_listen(struct hca *hca, const char *path, vfu_gone_fn gone, void *arg)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct vfu *v = calloc(1, sizeof(*v));
	unsigned int i;

	if (!v)
		return -ENOMEM;
	hca->vfu = v;
	v->hca = hca;
	v->gone = gone;
	v->gone_arg = arg;
	v->fd = -1;
	for (i = 0; i < HCA_MAX_VECTORS; i++)
		v->irq_fd[i] = -1;
	v->body = malloc(MAX_MSG + 1);
	v->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!v->body || v->listen_fd < 0)
		return -ENOMEM;
	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	strcpy(v->path, path);
	unlink(path);
	if (bind(v->listen_fd, (struct sockaddr *)&a, sizeof(a)) || listen(v->listen_fd, 1))
		return -errno;
	v->listen_ev = event_new(hca->base, v->listen_fd, EV_READ | EV_PERSIST, vfu_on_connect, v);
	event_add(v->listen_ev, NULL);
	return 0;
}

/**
 * vfu_close() - stop serving
 * @hca: the HCA
 */
void vfu_close(struct hca *hca)
{
	struct vfu *v = hca->vfu;

	if (!v)
		return;
	if (v->listen_ev)
		event_free(v->listen_ev);
	if (v->ev)
		event_free(v->ev);
	if (v->fd >= 0)
		close(v->fd);
	if (v->listen_fd >= 0)
		close(v->listen_fd);
	if (v->path[0])
		unlink(v->path);
	vfu_close_fds(v);
	vfu_irq_clear(v);
	free(v->body);
	free(v);
	hca->vfu = NULL;
}
