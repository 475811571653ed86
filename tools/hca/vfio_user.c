// SPDX-License-Identifier: GPL-2.0
/*
 * The server side of the vfio-user protocol (QEMU's docs/interop/vfio-user.rst):
 * messages in and out, guest memory and interrupt file descriptors; no device in it.
 */
#include <errno.h>
#include <event2/event.h>
#include <json-c/json.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hca_priv.h"
#include "mem.h"
#include "memic.h"
#include "pci.h"
#include "vfio_user.h"

enum vfu_cmd {
	VFU_VERSION = 1, VFU_DMA_MAP, VFU_DMA_UNMAP, VFU_GET_INFO, VFU_GET_REGION_INFO,
	VFU_GET_REGION_IO_FDS, VFU_GET_IRQ_INFO, VFU_SET_IRQS, VFU_REGION_READ, VFU_REGION_WRITE,
	VFU_DMA_READ, VFU_DMA_WRITE, VFU_RESET, VFU_REGION_WRITE_MULTI = 15, VFU_CMDS
};

#define F_TYPE_MASK	0xf
#define F_REPLY		0x1
#define F_NO_REPLY	0x10
#define F_ERROR		0x20

#define MAX_FDS		16
#define MAX_XFER	(1024 * 1024)
#define MAX_MSG		(MAX_XFER + 64)

/*
 * Stores to a BlueFlame register arrive one message each. How long the next one of a WQE may
 * take before the first 8 bytes are taken for a plain doorbell.
 */
#define BF_WAIT_US	40

struct msg_hdr {
	uint16_t id;
	uint16_t cmd;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct region_rw {
	uint64_t off;
	uint32_t region;
	uint32_t count;
};

struct dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t addr;
	uint64_t size;
};

struct dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t addr;
	uint64_t size;
};

struct vfu {
	struct hca *hca;
	vfu_gone_fn gone;
	char path[108];
	int listen_fd, fd;
	struct event *listen_ev, *ev;
	bool versioned;		/* VERSION was exchanged */
	struct msg_hdr hdr;	/* message being handled */
	uint8_t *body;		/* its payload, MAX_MSG bytes; the reply is built here too */
	uint32_t body_len;
	int fds[MAX_FDS];
	unsigned int nfds;	/* not yet taken; the rest is closed after the message */
	int irq_fd[HCA_MAX_VECTORS];
	int send_fd;		/* goes with the reply, stays open; -1: none */
};

/* A handler reads body, writes the reply's payload there; >= 0 its length, else -errno. */
typedef int (*vfu_handler)(struct vfu *v);

static void client_gone(struct vfu *v);

static int take_fd(struct vfu *v)
{
	int fd;

	if (!v->nfds)
		return -1;
	fd = v->fds[0];
	memmove(v->fds, v->fds + 1, --v->nfds * sizeof(*v->fds));
	return fd;
}

static void close_fds(struct vfu *v)
{
	while (v->nfds)
		close(v->fds[--v->nfds]);
}

/* ---- negotiation ---------------------------------------------------------------- */

static int do_version(struct vfu *v)
{
	static const char fmt[] =
		"{\"capabilities\":{\"max_msg_fds\":%d,\"max_data_xfer_size\":%d%s}}";
	struct json_object *top, *caps, *multi;
	bool write_multi = false;
	uint16_t major, minor;

	if (v->body_len < 4)
		return -EINVAL;
	memcpy(&major, v->body, 2);
	memcpy(&minor, v->body + 2, 2);
	if (major != 0)
		return -ENOTSUP;
	v->body[v->body_len] = 0;
	top = json_tokener_parse((char *)v->body + 4);
	if (json_object_object_get_ex(top, "capabilities", &caps) &&
	    json_object_object_get_ex(caps, "write_multiple", &multi))
		write_multi = json_object_get_boolean(multi);
	json_object_put(top);
	v->versioned = true;
	if (minor > 1)
		minor = 1;
	memcpy(v->body + 2, &minor, 2);
	return 4 + 1 + snprintf((char *)v->body + 4, MAX_MSG - 4, fmt, MAX_FDS / 2, MAX_XFER,
				write_multi ? ",\"write_multiple\":true" : "");
}

static int do_get_info(struct vfu *v)
{
	struct vfio_device_info info = {
		.argsz = 16,
		.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
		.num_regions = VFIO_PCI_NUM_REGIONS,
		.num_irqs = VFIO_PCI_NUM_IRQS,
	};

	memcpy(v->body, &info, 16);
	return 16;
}

static uint64_t region_size(struct vfu *v, uint32_t index)
{
	if (index <= VFIO_PCI_BAR5_REGION_INDEX)
		return pci_bar_size(v->hca, index);
	return index == VFIO_PCI_CONFIG_REGION_INDEX ? PCI_CONFIG_SIZE : 0;
}

/* A region's information with struct vfio_region_info_cap_sparse_mmap of one area. */
struct region_mmap {
	struct vfio_region_info r;
	struct vfio_info_cap_header header;
	uint32_t nr_areas, reserved;
	struct vfio_region_sparse_mmap_area area;
};

_Static_assert(sizeof(struct region_mmap) == sizeof(struct vfio_region_info) +
	       sizeof(struct vfio_region_info_cap_sparse_mmap) +
	       sizeof(struct vfio_region_sparse_mmap_area), "capabilities follow each other");

/*
 * Device memory is mapped by the client: a guest's access to it is one to memory. The capability
 * that says where it lies is sent only if the client has said that it has room for it; that it
 * needs more room is told by argsz.
 */
static int add_mmap(struct vfu *v, struct region_mmap *m, uint32_t room)
{
	uint64_t off, len;
	int fd = memic_region(v->hca, &off, &len);

	if (m->r.index != VFIO_PCI_BAR0_REGION_INDEX || fd < 0)
		return sizeof(m->r);
	m->r.argsz = sizeof(*m);
	if (room < sizeof(*m))
		return sizeof(m->r);
	m->r.flags |= VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS;
	m->r.cap_offset = sizeof(m->r);
	m->header.id = VFIO_REGION_INFO_CAP_SPARSE_MMAP;
	m->header.version = 1;
	m->nr_areas = 1;
	m->area = (struct vfio_region_sparse_mmap_area){ .offset = off, .size = len };
	v->send_fd = fd;
	return sizeof(*m);
}

static int do_get_region_info(struct vfu *v)
{
	struct region_mmap m = {};
	uint32_t room;
	int len;

	if (v->body_len < sizeof(m.r))
		return -EINVAL;
	memcpy(&m.r, v->body, sizeof(m.r));
	if (m.r.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	room = m.r.argsz;
	m.r.argsz = sizeof(m.r);
	m.r.size = region_size(v, m.r.index);
	m.r.flags = m.r.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	m.r.cap_offset = 0;
	m.r.offset = 0;
	len = add_mmap(v, &m, room);
	memcpy(v->body, &m, len);
	return len;
}

/* ---- guest memory ------------------------------------------------------------------ */

static int do_dma_map(struct vfu *v)
{
	struct dma_map m;
	int fd, err;

	if (v->body_len < sizeof(m))
		return -EINVAL;
	memcpy(&m, v->body, sizeof(m));
	fd = take_fd(v);
	err = mem_map_fd(v->hca, m.addr, m.size, fd, m.offset, m.flags & 1, m.flags & 2);
	if (fd >= 0)
		close(fd);
	return err;
}

static int do_dma_unmap(struct vfu *v)
{
	struct dma_unmap m;
	int err;

	if (v->body_len < sizeof(m))
		return -EINVAL;
	memcpy(&m, v->body, sizeof(m));
	err = mem_unmap(v->hca, m.addr, m.size);
	return err ? err : (int)sizeof(m);
}

/* ---- interrupts ----------------------------------------------------------------------- */

static int do_get_irq_info(struct vfu *v)
{
	struct vfio_irq_info info;

	if (v->body_len < sizeof(info))
		return -EINVAL;
	memcpy(&info, v->body, sizeof(info));
	if (info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
	info.count = info.index == VFIO_PCI_MSIX_IRQ_INDEX ? v->hca->profile->vectors : 0;
	memcpy(v->body, &info, sizeof(info));
	return sizeof(info);
}

static void irq_set_fd(struct vfu *v, unsigned int vector, int fd)
{
	if (v->irq_fd[vector] >= 0)
		close(v->irq_fd[vector]);
	v->irq_fd[vector] = fd;
}

static void irq_clear(struct vfu *v)
{
	unsigned int i;

	for (i = 0; i < HCA_MAX_VECTORS; i++)
		irq_set_fd(v, i, -1);
}

static int do_set_irqs(struct vfu *v)
{
	struct vfio_irq_set set;
	uint32_t i;

	if (v->body_len < sizeof(set))
		return -EINVAL;
	memcpy(&set, v->body, sizeof(set));
	if (set.index != VFIO_PCI_MSIX_IRQ_INDEX)
		return set.index < VFIO_PCI_NUM_IRQS && !set.count ? 0 : -EINVAL;
	if (set.start > v->hca->profile->vectors ||
	    set.count > v->hca->profile->vectors - set.start)
		return -EINVAL;
	/* Masking is done in the client, which emulates the vector table. */
	if (!(set.flags & VFIO_IRQ_SET_ACTION_TRIGGER))
		return 0;
	if (set.flags & VFIO_IRQ_SET_DATA_EVENTFD) {
		for (i = 0; i < set.count; i++)
			irq_set_fd(v, set.start + i, take_fd(v));
	} else if (set.flags & VFIO_IRQ_SET_DATA_NONE && !set.count) {
		irq_clear(v);
	}
	return 0;
}

/**
 * msix_raise() - raise an interrupt
 * @hca: the function
 * @vector: MSI-X vector; one that the client has not enabled is lost, as on a bus
 */
void msix_raise(struct hca *hca, unsigned int vector)
{
	uint64_t one = 1;

	hca->count.irqs++;
	if (!hca->vfu || vector >= HCA_MAX_VECTORS || hca->vfu->irq_fd[vector] < 0 ||
	    hca->unplugged)
		return;
	if (write(hca->vfu->irq_fd[vector], &one, sizeof(one)) < 0 && errno != EAGAIN)
		fprintf(stderr, "bluebell-hca: vector %u: %s\n", vector, strerror(errno));
}

/* ---- register access ------------------------------------------------------------------ */

static bool rw_ok(struct vfu *v, const struct region_rw *rw)
{
	uint64_t size = rw->region < VFIO_PCI_NUM_REGIONS ? region_size(v, rw->region) : 0;

	return rw->count <= MAX_XFER && rw->off < size && rw->count <= size - rw->off;
}

static int do_region_read(struct vfu *v)
{
	uint8_t *data = v->body + sizeof(struct region_rw);
	struct region_rw rw;

	if (v->body_len < sizeof(rw))
		return -EINVAL;
	memcpy(&rw, v->body, sizeof(rw));
	if (!rw_ok(v, &rw))
		return -EINVAL;
	if (rw.region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_config_read(v->hca, rw.off, data, rw.count);
	else
		pci_bar_read(v->hca, rw.region, rw.off, data, rw.count);
	return sizeof(rw) + rw.count;
}

static int region_write(struct vfu *v, const struct region_rw *rw, const uint8_t *data)
{
	if (!rw_ok(v, rw))
		return -EINVAL;
	if (rw->region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_config_write(v->hca, rw->off, data, rw->count);
	else
		pci_bar_write(v->hca, rw->region, rw->off, data, rw->count);
	return 0;
}

static int do_region_write(struct vfu *v)
{
	struct region_rw rw;
	int err;

	if (v->body_len < sizeof(rw))
		return -EINVAL;
	memcpy(&rw, v->body, sizeof(rw));
	if (rw.count > v->body_len - sizeof(rw))
		return -EINVAL;
	err = region_write(v, &rw, v->body + sizeof(rw));
	return err ? err : (int)sizeof(rw);
}

/* Several writes of at most 8 bytes in one message. */
static int do_region_write_multi(struct vfu *v)
{
	const size_t one = sizeof(struct region_rw) + 8;
	struct region_rw rw;
	uint64_t cnt, i;
	int err;

	if (v->body_len < 8)
		return -EINVAL;
	memcpy(&cnt, v->body, 8);
	if (cnt > (v->body_len - 8) / one)
		return -EINVAL;
	for (i = 0; i < cnt; i++) {
		const uint8_t *p = v->body + 8 + i * one;

		memcpy(&rw, p, sizeof(rw));
		if (rw.count > 8)
			return -EINVAL;
		err = region_write(v, &rw, p + sizeof(rw));
		if (err)
			return err;
	}
	return 8;
}

static int do_reset(struct vfu *v)
{
	hca_reset(v->hca);
	return 0;
}

static const vfu_handler handlers[VFU_CMDS] = {
	[VFU_VERSION] = do_version,
	[VFU_DMA_MAP] = do_dma_map,
	[VFU_DMA_UNMAP] = do_dma_unmap,
	[VFU_GET_INFO] = do_get_info,
	[VFU_GET_REGION_INFO] = do_get_region_info,
	[VFU_GET_IRQ_INFO] = do_get_irq_info,
	[VFU_SET_IRQS] = do_set_irqs,
	[VFU_REGION_READ] = do_region_read,
	[VFU_REGION_WRITE] = do_region_write,
	[VFU_RESET] = do_reset,
	[VFU_REGION_WRITE_MULTI] = do_region_write_multi,
};

/* ---- transport --------------------------------------------------------------------------- */

static int send_all(int fd, const struct msg_hdr *h, const uint8_t *body, size_t len, int send_fd)
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
		m.msg_control = NULL;	/* went with the first bytes */
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

static int handle(struct vfu *v)
{
	struct msg_hdr r = { .id = v->hdr.id, .cmd = v->hdr.cmd, .flags = F_REPLY };
	vfu_handler fn = v->hdr.cmd < VFU_CMDS ? handlers[v->hdr.cmd] : NULL;
	int len = -ENOTSUP;

	v->send_fd = -1;
	if (fn && (v->versioned || v->hdr.cmd == VFU_VERSION))
		len = fn(v);
	close_fds(v);
	if (v->hdr.flags & F_NO_REPLY)
		return 0;
	if (len < 0) {
		r.flags |= F_ERROR;
		r.error = -len;
		len = 0;
	}
	r.size = sizeof(r) + len;
	return send_all(v->fd, &r, v->body, len, v->send_fd);
}

static void keep_fds(struct vfu *v, struct msghdr *m)
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

/* 1: the header is in v->hdr; 0: nothing there; negative: the client is gone. */
static int recv_hdr(struct vfu *v)
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
	keep_fds(v, &m);
	if (n < (ssize_t)sizeof(v->hdr)) {
		ssize_t rest = sizeof(v->hdr) - n;

		if (recv(v->fd, (char *)&v->hdr + n, rest, MSG_WAITALL) != rest)
			return -ECONNRESET;
	}
	return 1;
}

static int recv_msg(struct vfu *v)
{
	int got = recv_hdr(v);

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

/* The socket is empty: give a BlueFlame write in the middle a moment, else it was a doorbell. */
static bool wait_bf(struct vfu *v)
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

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct vfu *v = arg;
	unsigned int budget = 64;
	int got;

	(void)fd;
	(void)what;
	while (budget--) {
		got = recv_msg(v);
		if (!got && wait_bf(v))
			continue;
		if (!got)
			return;
		if (got > 0 && (v->hdr.flags & F_TYPE_MASK) == F_REPLY)
			continue;
		if (got < 0 || handle(v)) {
			client_gone(v);
			return;
		}
	}
}

static void on_connect(evutil_socket_t fd, short what, void *arg)
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
	v->ev = event_new(v->hca->base, c, EV_READ | EV_PERSIST, on_readable, v);
	event_add(v->ev, NULL);
}

static void client_gone(struct vfu *v)
{
	event_free(v->ev);
	v->ev = NULL;
	close(v->fd);
	v->fd = -1;
	close_fds(v);
	irq_clear(v);
	hca_reset(v->hca);
	mem_unmap_all(v->hca);
	v->gone(v->hca);
}

/**
 * vfu_listen() - wait for a client
 * @hca: the function that it will drive
 * @path: of the socket; what is there already is replaced if it is a socket
 * @gone: called when the client has gone and everything of it was released
 *
 * Return: 0 or -errno.
 */
int vfu_listen(struct hca *hca, const char *path, vfu_gone_fn gone)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct vfu *v = calloc(1, sizeof(*v));
	unsigned int i;

	if (!v)
		return -ENOMEM;
	hca->vfu = v;
	v->hca = hca;
	v->gone = gone;
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
	v->listen_ev = event_new(hca->base, v->listen_fd, EV_READ | EV_PERSIST, on_connect, v);
	event_add(v->listen_ev, NULL);
	return 0;
}

/**
 * vfu_close() - stop serving
 * @hca: the function
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
	close_fds(v);
	irq_clear(v);
	free(v->body);
	free(v);
	hca->vfu = NULL;
}
