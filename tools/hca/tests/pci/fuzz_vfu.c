// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the vfio-user server: messages of any content on its socket, most of them of the form
 * that the request has, with and without files, until the client is gone.
 */
#include <errno.h>
#include <event2/event.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <threads.h>
#include <unistd.h>

#include "corerig.h"
#include "fuzzrig.h"
#include "hca.h"
#include "mem.h"
#include "vfio_user.h"

#define MAX_MESSAGES	24
#define FILE_BYTES	0x4000

enum { VERSION = 1, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, IO_FDS, IRQ_INFO, SET_IRQS,
       REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE, RESET, WRITE_MULTI = 15 };

struct msg {
	struct { uint16_t id, cmd; uint32_t size, flags, error; } h;
	uint8_t body[512];
	size_t len;
	int fd;
};

static int sock = -1;
static bool gone;
static struct sockaddr_un address = { .sun_family = AF_UNIX };

static void on_gone(struct hca *hca, void *arg)
{
	(void)hca;
	(void)arg;
	gone = true;
}

static void add(struct msg *m, const void *p, size_t n)
{
	memcpy(m->body + m->len, p, n);
	m->len += n;
}

static void body_dma(struct msg *m, struct fuzz_in *in)
{
	struct { uint32_t argsz, flags; uint64_t offset, addr, size; } d = { .argsz = 32 };

	d.flags = fuzz_u8(in) % 4;
	d.offset = fuzz_u8(in) % 8 * 4096;
	d.addr = fuzz_u8(in) % 16 * 4096ull;
	d.size = fuzz_u8(in) % 5 * 4096;
	if (m->h.cmd == DMA_UNMAP)
		d.offset = d.addr, d.addr = d.size;
	add(m, &d, m->h.cmd == DMA_MAP ? sizeof(d) : 24);
}

static void body_irqs(struct msg *m, struct fuzz_in *in)
{
	struct vfio_irq_set s = { .argsz = sizeof(s), .index = VFIO_PCI_MSIX_IRQ_INDEX };

	s.flags = fuzz_u8(in) & 1 ? VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER :
				    fuzz_u8(in);
	s.start = fuzz_u8(in);
	s.count = fuzz_u8(in) % 40;
	add(m, &s, sizeof(s));
}

static void body_region(struct msg *m, struct fuzz_in *in)
{
	static const uint32_t regions[] = { 0, 2, VFIO_PCI_CONFIG_REGION_INDEX, 1 };
	struct { uint64_t off; uint32_t region, count; } r;
	uint8_t data[256];

	r.region = regions[fuzz_u8(in) % 4];
	r.off = r.region ? fuzz_u16(in) % 8192 : fuzz_u16(in);
	r.count = fuzz_u8(in);
	add(m, &r, sizeof(r));
	if (m->h.cmd != REGION_WRITE)
		return;
	fuzz_take(in, data, r.count);
	add(m, data, r.count);
}

static void body_multi(struct msg *m, struct fuzz_in *in)
{
	uint64_t n = fuzz_u8(in) % 8, i;

	add(m, &n, sizeof(n));
	for (i = 0; i < n; i++) {
		struct { uint64_t off; uint32_t region, count; uint8_t data[8]; } w;

		w.off = fuzz_u16(in);
		w.region = 0;
		w.count = fuzz_u8(in) % 10;
		fuzz_take(in, w.data, sizeof(w.data));
		add(m, &w, sizeof(w));
	}
}

static void body_version(struct msg *m, struct fuzz_in *in)
{
	static const char text[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":8,"
				   "\"write_multiple\":true}}";

	(void)in;
	add(m, text, sizeof(text));
}

static void body_info(struct msg *m, struct fuzz_in *in)
{
	uint32_t info[8] = { 32, 0, fuzz_u8(in) % 12, 0 };

	add(m, info, m->h.cmd == GET_INFO || m->h.cmd == IRQ_INFO ? 16 : 32);
}

static void build(struct msg *m, struct fuzz_in *in, bool first)
{
	static const uint8_t cmds[] = {
		DMA_MAP, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, IRQ_INFO, SET_IRQS, REGION_READ,
		REGION_WRITE, REGION_WRITE, WRITE_MULTI, RESET, VERSION, DMA_READ, IO_FDS, 99,
	};
	uint8_t how = fuzz_u8(in);

	memset(m, 0, sizeof(*m));
	m->h.cmd = first && !(how & 0x40) ? VERSION : cmds[how % 16];
	m->fd = -1;
	if (m->h.cmd == VERSION)
		body_version(m, in);
	else if (m->h.cmd == DMA_MAP || m->h.cmd == DMA_UNMAP)
		body_dma(m, in);
	else if (m->h.cmd == SET_IRQS)
		body_irqs(m, in);
	else if (m->h.cmd == REGION_READ || m->h.cmd == REGION_WRITE)
		body_region(m, in);
	else if (m->h.cmd == WRITE_MULTI)
		body_multi(m, in);
	else if (m->h.cmd != RESET)
		body_info(m, in);
	if (how & 0x80) {		/* other bytes in the body, or another length */
		m->len = fuzz_u8(in);
		m->body[fuzz_u8(in)] = fuzz_u8(in);
		m->body[fuzz_u8(in) % 32] = fuzz_u8(in);
	}
	m->h.size = sizeof(m->h) + m->len;
	if (how & 0x20) {
		m->h.flags = fuzz_u8(in);
		if (m->h.flags & 0x80)
			m->h.size += fuzz_u8(in) - 128;
	}
	if (how & 0x10 || m->h.cmd == DMA_MAP)
		m->fd = m->h.cmd == SET_IRQS ? eventfd(0, EFD_CLOEXEC) :
					       memfd_create("dma", MFD_CLOEXEC);
	if (m->fd >= 0 && m->h.cmd == DMA_MAP)
		must(!ftruncate(m->fd, FILE_BYTES * 4));
}

static void send_msg(struct msg *m)
{
	struct iovec iov[2] = { { &m->h, sizeof(m->h) }, { m->body, m->len } };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = {};
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };

	if (m->fd >= 0) {
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.align), &m->fd, sizeof(int));
		h.msg_control = ctl.buf;
		h.msg_controllen = sizeof(ctl.buf);
	}
	must(sendmsg(sock, &h, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(sizeof(m->h) + m->len));
	if (m->fd >= 0)
		close(m->fd);
}

/* The client reads answers all the time, so that the server never waits for it. */
static int drain(void *arg)
{
	static char buf[65536];

	while (recv(sock, buf, sizeof(buf), 0) > 0)
		;
	return !!arg;
}

static void start(void)
{
	must(!core_up(NULL));
	must(core_socket(address.sun_path, sizeof(address.sun_path)));
	must(!atexit(core_socket_remove));
	must(!vfu_listen(core.hca, address.sun_path, on_gone, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	static struct msg m;
	static bool up;
	thrd_t reader;
	unsigned int n;

	if (!up)
		start();
	up = true;
	mem_unmap_all(core.hca);
	gone = false;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(sock >= 0 && !connect(sock, (struct sockaddr *)&address, sizeof(address)));
	must(thrd_create(&reader, drain, NULL) == thrd_success);
	for (n = 0; in.left && n < MAX_MESSAGES; n++) {
		build(&m, &in, !n);
		send_msg(&m);
	}
	shutdown(sock, SHUT_WR);
	while (!gone)
		event_base_loop(core.base, EVLOOP_ONCE);
	must(thrd_join(reader, NULL) == thrd_success);
	close(sock);
	return 0;
}
