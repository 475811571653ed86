// SPDX-License-Identifier: GPL-2.0
/*
 * The server side of the vfio-user protocol (QEMU's docs/interop/vfio-user.rst): the socket,
 * messages in and out. What the messages ask for is in vfu_device.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "sched.h"
#include "uar.h"
#include "unix_socket.h"
#include "vfio_user.h"
#include "vfu.h"

#define F_TYPE_MASK	0xf
#define F_REPLY		0x1
#define F_NO_REPLY	0x10
#define F_ERROR		0x20

/*
 * How to wait for the next store to a BlueFlame buffer: receive up to SPINS times; then nap up to
 * MAX_NAPS times, each for as long as a client's thread takes for the stores of a WQE; then leave
 * the wait to the event loop. A wait that came to a nap shows that the client shares this thread's
 * processor. Then all waits begin with naps until NAPS_BEFORE_SPIN more naps are over, because
 * receiving would only keep the client from storing.
 */
#define SPINS		16
#define NAP_NS		30000
#define MAX_NAPS	2
#define NAPS_BEFORE_SPIN 32

static void vfu_client_gone(struct vfu *v);

static void vfu_close_fds(struct vfu *v)
{
	while (v->nfds)
		close(v->fds[--v->nfds]);
}

/* Send what is left of the reply. Returns 0 if all of it is sent, -EAGAIN, or another -errno. */
static int vfu_flush(struct vfu *v)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = {};
	struct iovec iov;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	while (v->out_at < v->out_len) {
		iov.iov_base = v->out + v->out_at;
		iov.iov_len = v->out_len - v->out_at;
		if (v->send_fd >= 0) {
			ctl.align.cmsg_level = SOL_SOCKET;
			ctl.align.cmsg_type = SCM_RIGHTS;
			ctl.align.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&ctl.align), &v->send_fd, sizeof(int));
			m.msg_control = ctl.buf;
			m.msg_controllen = sizeof(ctl.buf);
		}
		n = sendmsg(v->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		v->out_at += n;
		v->send_fd = -1;	/* was sent with the first bytes */
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	return 0;
}

/*
 * Send the reply that is in v->out. A client that does not read its replies must not block the
 * other HCAs of the process: its next messages are handled after the socket has had room for this
 * reply.
 */
static int vfu_send(struct vfu *v)
{
	int err = vfu_flush(v);

	if (err != -EAGAIN)
		return err;
	event_del(v->ev);
	event_add(v->out_ev, NULL);
	return 0;
}

static bool vfu_blocked(const struct vfu *v)
{
	return v->out_at < v->out_len;
}

static int vfu_answer(struct vfu *v)
{
	struct msg_hdr r = { .id = v->hdr.id, .cmd = v->hdr.cmd, .flags = F_REPLY };
	int len = vfu_handle(v);

	if (v->hdr.flags & F_NO_REPLY)
		return 0;
	/*
	 * The client waits for the reply, so finish first what a doorbell has started. Then the
	 * number of instructions that the client executes meanwhile does not depend on the speed of
	 * this host.
	 */
	sched_run(v->hca);
	if (len < 0) {
		r.flags |= F_ERROR;
		r.error = -len;
		len = 0;
	}
	r.size = sizeof(r) + len;
	memcpy(v->out, &r, sizeof(r));
	v->out_at = 0;
	v->out_len = r.size;
	return vfu_send(v);
}

static void vfu_keep_fds(struct vfu *v, struct msghdr *m)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		size_t i;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		v->fds_at = v->taken + v->in_len;
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
 * Receive what has arrived into v->in. Never waits: the rest of a message may never come. Returns
 * the number of bytes, or a negative number if the client is gone.
 */
static int vfu_recv(struct vfu *v)
{
	union {
		char buf[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { .iov_base = v->in + v->in_len, .iov_len = MAX_IN - v->in_len };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf),
	};
	ssize_t n;

	if (iov.iov_len > RECV_AT_ONCE)
		iov.iov_len = RECV_AT_ONCE;
	n = recvmsg(v->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	v->in_len += n;
	vfu_keep_fds(v, &m);
	return n;
}

/*
 * Look at the message at @at in v->in. Returns 1 if all of it is there, 0 if not, or -EMSGSIZE for
 * a length that no message has: the next message cannot be found, so the client is disconnected.
 */
static int vfu_peek(struct vfu *v, size_t at)
{
	size_t have = v->in_len - at;

	if (have < sizeof(v->hdr))
		return 0;
	memcpy(&v->hdr, v->in + at, sizeof(v->hdr));
	if (v->hdr.size < sizeof(v->hdr) || v->hdr.size > MAX_IN)
		return -EMSGSIZE;
	return have >= v->hdr.size;
}

/*
 * Handle the message at @at. The kernel does not join bytes that came with files with later bytes,
 * so the files belong to the message in which these bytes end.
 */
static int vfu_message(struct vfu *v, size_t at)
{
	bool has_fds = v->fds_at <= v->taken + at + v->hdr.size;
	int err = 0;

	v->may_take_fds = has_fds;
	v->body_len = v->hdr.size - sizeof(v->hdr);
	memcpy(v->body, v->in + at + sizeof(v->hdr), v->body_len);
	if ((v->hdr.flags & F_TYPE_MASK) != F_REPLY)
		err = vfu_answer(v);
	if (has_fds)
		vfu_close_fds(v);
	return err;
}

/* Handle all messages that have arrived whole. Returns -errno to disconnect the client. */
static int vfu_process(struct vfu *v)
{
	size_t at = 0;
	int got = 0;

	while (!vfu_blocked(v)) {
		got = vfu_peek(v, at);
		if (got <= 0)
			break;
		got = vfu_message(v, at);
		if (got)
			break;
		at += v->hdr.size;
	}
	v->taken += at;
	v->in_len -= at;
	memmove(v->in, v->in + at, v->in_len);
	return got < 0 ? got : 0;
}

/* How many receives may find nothing before the event loop waits for the rest of a WQE. */
static unsigned int vfu_patience(const struct vfu *v)
{
	return MAX_NAPS + (v->naps ? 0 : SPINS);
}

/*
 * Return true when it is time to receive again, false if no store is missing or the event loop is
 * to wait for it. @left: receives that may still find nothing.
 *
 * A client that has a processor of its own writes the next store within the time of a few receives.
 * If nothing came by then, the client may be waiting for this thread's processor: nap, so that the
 * client can run.
 */
static bool vfu_await_stores(struct vfu *v, unsigned int left)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };

	if (!left || vfu_blocked(v) || !uar_unfinished(v->hca))
		return false;
	if (left > MAX_NAPS)
		return true;
	v->naps = v->naps ? v->naps - 1 : NAPS_BEFORE_SPIN;
	nanosleep(&nap, NULL);
	return true;
}

/*
 * A processor writes a WQE to a BlueFlame buffer by several stores, each of which is a message. If
 * the last store is missing, wait for it here: in the event loop this thread would sleep until the
 * next message, and a client that has to wake up a thread stores more slowly. The work of earlier
 * doorbells goes on. Returns -errno to disconnect the client.
 */
static int vfu_take(struct vfu *v)
{
	unsigned int left = 1;
	int got, err;

	do {
		got = vfu_recv(v);
		err = got < 0 ? got : vfu_process(v);
		left = got ? vfu_patience(v) : left - 1;
		if (!err)
			sched_run(v->hca);
	} while (!err && vfu_await_stores(v, left));
	return err;
}

static void vfu_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct vfu *v = arg;
	int err;

	(void)fd;
	(void)what;
	uar_hold(v->hca);
	err = vfu_take(v);
	if (err)
		vfu_client_gone(v);
	uar_release(v->hca);
}

static void vfu_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct vfu *v = arg;
	int err = vfu_flush(v);

	(void)fd;
	(void)what;
	if (err == -EAGAIN)
		return;
	event_del(v->out_ev);
	event_add(v->ev, NULL);
	if (err || vfu_process(v))
		vfu_client_gone(v);
}

static void vfu_disconnect(struct vfu *v)
{
	if (v->ev)
		event_free(v->ev);
	if (v->out_ev)
		event_free(v->out_ev);
	v->ev = NULL;
	v->out_ev = NULL;
	close(v->fd);
	v->fd = -1;
}

/* A client whose events cannot be allocated is turned away, and may connect again. */
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
	v->in_len = 0;
	v->out_len = 0;
	v->out_at = 0;
	v->ev = event_new(v->hca->base, c, EV_READ | EV_PERSIST, vfu_on_readable, v);
	v->out_ev = event_new(v->hca->base, c, EV_WRITE | EV_PERSIST, vfu_on_writable, v);
	if (!v->ev || !v->out_ev || event_add(v->ev, NULL))
		vfu_disconnect(v);
}

static void vfu_client_gone(struct vfu *v)
{
	vfu_disconnect(v);
	vfu_close_fds(v);
	vfu_irq_clear(v);
	hca_reset(v->hca);
	mem_unmap_all(v->hca);
	v->gone(v->hca, v->gone_arg);
}

/**
 * vfu_listen() - wait for a client
 * @hca: the HCA that the client will drive
 * @path: path of the socket; an existing socket at this path is removed
 * @gone: called when the client is gone and all its resources are released
 * @arg: passed to @gone
 *
 * Return: 0; -EEXIST if a file that is not a socket exists at @path; or -errno. vfu_close() may be
 * called in any case.
 */
int vfu_listen(struct hca *hca, const char *path, vfu_gone_fn gone, void *arg)
{
	struct vfu *v = calloc(1, sizeof(*v));
	struct sockaddr_un a;
	unsigned int i;
	int err;

	if (!v)
		return -ENOMEM;
	hca->vfu = v;
	v->hca = hca;
	v->gone = gone;
	v->gone_arg = arg;
	v->fd = -1;
	for (i = 0; i < HCA_MAX_VECTORS; i++)
		v->irq_fd[i] = -1;
	v->in = malloc(MAX_IN);
	v->out = malloc(MAX_IN + 1);
	v->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!v->in || !v->out || v->listen_fd < 0)
		return -ENOMEM;
	v->body = v->out + sizeof(struct msg_hdr);
	err = unix_socket_address(path, &a);
	if (err)
		return err;
	if (bind(v->listen_fd, (struct sockaddr *)&a, sizeof(a)))
		return -errno;
	strcpy(v->path, path);
	if (listen(v->listen_fd, 1))
		return -errno;
	v->listen_ev = event_new(hca->base, v->listen_fd, EV_READ | EV_PERSIST, vfu_on_connect, v);
	return v->listen_ev && !event_add(v->listen_ev, NULL) ? 0 : -ENOMEM;
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
	if (v->out_ev)
		event_free(v->out_ev);
	if (v->fd >= 0)
		close(v->fd);
	if (v->listen_fd >= 0)
		close(v->listen_fd);
	if (v->path[0])
		unix_socket_remove(v->path);
	vfu_close_fds(v);
	vfu_irq_clear(v);
	free(v->in);
	free(v->out);
	free(v);
	hca->vfu = NULL;
}
