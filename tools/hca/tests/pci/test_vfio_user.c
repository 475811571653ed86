// SPDX-License-Identifier: GPL-2.0
/*
 * The vfio-user protocol from the client's side: negotiation, device information, guest memory,
 * interrupts, register access, and clients that misbehave. Also config space.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cmdif.h"
#include "corerig.h"
#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "mem.h"
#include "pci.h"
#include "util.h"
#include "vfio_user.h"

enum { VERSION = 1, DMA_MAP, DMA_UNMAP, GET_INFO, REGION_INFO, IO_FDS, IRQ_INFO, SET_IRQS,
       REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE, RESET, WRITE_MULTI = 15 };

#define VSC		0xc0	/* the vendor-specific capability */

#define F_REPLY		1
#define F_NO_REPLY	0x10
#define F_ERROR		0x20

struct hdr {
	uint16_t id, cmd;
	uint32_t size, flags, error;
};

static int sock;
static bool gone;
static uint8_t reply[8192];
static uint32_t reply_len;

static void on_gone(struct hca *hca, void *arg)
{
	(void)hca;
	(void)arg;
	gone = true;
}

static void pump(void)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		event_base_loop(core.base, EVLOOP_NONBLOCK);
}

/* Send the pieces @iov, @len bytes in all, and the files @fds with them. */
static void post_bytes(struct iovec *iov, unsigned int n, size_t len, const int *fds,
		       unsigned int nfds)
{
	char ctl[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };

	if (nfds) {
		struct cmsghdr *c = (struct cmsghdr *)ctl;

		m.msg_control = ctl;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(sock, &m, 0), len);
}

static void post_msg(uint16_t cmd, uint32_t flags, const void *body, uint32_t len, const int *fds,
		     unsigned int nfds)
{
	struct hdr h = { .id = 7, .cmd = cmd, .size = sizeof(h) + len, .flags = flags };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)body, len } };

	post_bytes(iov, 2, h.size, fds, nfds);
}

/* Send a message, let the server work, and receive the reply. Returns its errno, 0 for success. */
static int call_fds(uint16_t cmd, const void *body, uint32_t len, const int *fds,
		    unsigned int nfds)
{
	struct hdr h;

	post_msg(cmd, 0, body, len, fds, nfds);
	pump();
	assert_int_equal(recv(sock, &h, sizeof(h), MSG_DONTWAIT), sizeof(h));
	assert_int_equal(h.id, 7);
	assert_int_equal(h.cmd, cmd);
	assert_int_equal(h.flags & 0xf, F_REPLY);
	reply_len = h.size - sizeof(h);
	if (reply_len)
		assert_int_equal(recv(sock, reply, sizeof(reply), MSG_DONTWAIT), reply_len);
	return h.flags & F_ERROR ? (int)h.error : 0;
}

static int call(uint16_t cmd, const void *body, uint32_t len)
{
	return call_fds(cmd, body, len, NULL, 0);
}

static int version(void)
{
	static const char v[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":8,"
				"\"write_multiple\":true}}";

	return call(VERSION, v, sizeof(v));
}

static int up_raw(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (core_up(state))
		return -1;
	mem_unmap_all(core.hca);
	gone = false;
	if (!core_socket(a.sun_path, sizeof(a.sun_path)) ||
	    vfu_listen(core.hca, a.sun_path, on_gone, NULL))
		return -1;
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(sock, (struct sockaddr *)&a, sizeof(a)))
		return -1;
	pump();
	return 0;
}

static int up(void **state)
{
	return up_raw(state) || version() ? -1 : 0;
}

static int down(void **state)
{
	close(sock);
	pump();
	vfu_close(core.hca);
	return core_down(state);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void version_is_negotiated(void **state)
{
	(void)state;
	assert_int_equal(version(), 0);
	assert_memory_equal(reply, "\0\0\1\0", 4);
	assert_non_null(strstr((char *)reply + 4, "max_msg_fds"));
	assert_non_null(strstr((char *)reply + 4, "\"write_multiple\":true"));
	assert_int_equal(reply[reply_len - 1], 0);
}

static void version_must_come_first(void **state)
{
	uint8_t info[16] = { 16 };

	(void)state;
	assert_int_equal(call(GET_INFO, info, 16), ENOTSUP);
	assert_int_equal(version(), 0);
	assert_int_equal(call(GET_INFO, info, 16), 0);
}

static void other_major_version_is_refused(void **state)
{
	static const char v[] = "\1\0\0\0{}";

	(void)state;
	assert_int_equal(call(VERSION, v, sizeof(v)), ENOTSUP);
}

static void device_information(void **state)
{
	struct vfio_device_info info = { .argsz = 16 };
	struct vfio_region_info r = { .argsz = sizeof(r) };
	struct vfio_irq_info irq = { .argsz = sizeof(irq), .index = VFIO_PCI_MSIX_IRQ_INDEX };
	static const uint64_t sizes[] = { 32 << 20, 0, 8192, 0, 0, 0, 0, 4096, 0 };
	unsigned int i;

	(void)state;
	assert_int_equal(call(GET_INFO, &info, 16), 0);
	memcpy(&info, reply, 16);
	assert_int_equal(info.flags, VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET);
	assert_int_equal(info.num_regions, VFIO_PCI_NUM_REGIONS);
	for (i = 0; i < VFIO_PCI_NUM_REGIONS; i++) {
		r.index = i;
		assert_int_equal(call(REGION_INFO, &r, sizeof(r)), 0);
		memcpy(&r, reply, sizeof(r));
		assert_int_equal(r.size, sizes[i]);
	}
	r.index = VFIO_PCI_NUM_REGIONS;
	assert_int_equal(call(REGION_INFO, &r, sizeof(r)), EINVAL);
	assert_int_equal(call(IRQ_INFO, &irq, sizeof(irq)), 0);
	memcpy(&irq, reply, sizeof(irq));
	assert_int_equal(irq.count, 32);
	assert_int_equal(call(REGION_INFO, &r, 4), EINVAL);
	assert_int_equal(call(99, NULL, 0), ENOTSUP);
}

static uint64_t region_size(unsigned int region)
{
	struct vfio_region_info r = { .argsz = sizeof(r), .index = region };

	assert_int_equal(call(REGION_INFO, &r, sizeof(r)), 0);
	memcpy(&r, reply, sizeof(r));
	return r.size;
}

/* A client whose argsz has room for the answer learns where device memory is, and gets its file. */
static void device_memory_is_mapped(void **state)
{
	struct {
		struct vfio_region_info r;
		struct vfio_info_cap_header header;
		uint32_t nr_areas, reserved;
		struct vfio_region_sparse_mmap_area area;
	} m = { .r = { .argsz = sizeof(m.r) } };
	const uint64_t at = 0x1fa0000;
	char ctl[CMSG_SPACE(sizeof(int))];
	struct hdr h;
	struct iovec iov[2] = { { &h, sizeof(h) }, { &m, sizeof(m) } };
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_control = ctl, .msg_controllen = sizeof(ctl),
	};
	uint8_t *p, b;
	int fd;

	(void)state;
	/* Device memory is trapped by default. */
	m.r.argsz = sizeof(m);
	assert_int_equal(call(REGION_INFO, &m.r, sizeof(m.r)), 0);
	memcpy(&m.r, reply, sizeof(m.r));
	assert_int_equal(reply_len, sizeof(m.r));
	assert_int_equal(m.r.argsz, sizeof(m.r));
	core.profile->map_memic = true;
	assert_int_equal(call(REGION_INFO, &m.r, sizeof(m.r)), 0);
	memcpy(&m.r, reply, sizeof(m.r));
	assert_int_equal(reply_len, sizeof(m.r));
	assert_int_equal(m.r.argsz, sizeof(m));
	assert_int_equal(m.r.flags, VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE);

	post_msg(REGION_INFO, 0, &m.r, sizeof(m.r), NULL, 0);
	pump();
	assert_int_equal(recvmsg(sock, &msg, MSG_DONTWAIT), sizeof(h) + sizeof(m));
	assert_int_equal(m.r.flags, VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE |
			 VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS);
	assert_int_equal(m.r.cap_offset, sizeof(m.r));
	assert_int_equal(m.header.id, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
	assert_int_equal(m.nr_areas, 1);
	assert_int_equal(m.area.offset, at);
	assert_int_equal(m.area.size, 0x20000);
	assert_non_null(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	p = mmap(NULL, m.area.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 m.r.offset + m.area.offset);
	assert_ptr_not_equal(p, MAP_FAILED);
	p[5] = 0x42;
	pci_config_write(core.hca, 4, (const uint8_t *)"\6\0", 2);
	pci_bar_read(core.hca, 0, at + 5, &b, 1);
	assert_int_equal(b, 0x42);
	munmap(p, m.area.size);
	close(fd);

	/* Other regions cannot be mapped. */
	m.r.index = VFIO_PCI_BAR2_REGION_INDEX;
	m.r.argsz = sizeof(m);
	assert_int_equal(call(REGION_INFO, &m.r, sizeof(m.r)), 0);
	memcpy(&m.r, reply, sizeof(m.r));
	assert_int_equal(m.r.argsz, sizeof(m.r));
}

struct map {
	uint32_t argsz, flags;
	uint64_t offset, addr, size;
};

struct unmap {
	uint32_t argsz, flags;
	uint64_t addr, size;
};

static void guest_memory(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .offset = 4096, .addr = 1 << 20,
			 .size = 8192 };
	struct unmap u = { .argsz = sizeof(u), .addr = 1 << 20, .size = 8192 };
	int fd = memfd_create("m", 0);
	char buf[4] = "";

	(void)state;
	assert_int_equal(ftruncate(fd, 16384), 0);
	assert_int_equal(pwrite(fd, "abc", 4, 4096 + 100), 4);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_int_equal(mem_read(core.hca, (1 << 20) + 100, buf, 4), 0);
	assert_string_equal(buf, "abc");
	assert_int_equal(mem_read(core.hca, (1 << 20) + 8190, buf, 4), -EFAULT);
	assert_int_equal(mem_read(core.hca, (1 << 20) - 1, buf, 4), -EFAULT);
	m.addr += 4096;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), EEXIST);
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), 0);
	assert_null(mem_ptr(core.hca, 1 << 20, 1, false));
	close(fd);
}

/*
 * An IOMMU in the guest maps pages and unmaps ranges, in which there may be several pages or none.
 */
static void ranges_are_unmapped_whole(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 0x100000, .size = 4096 };
	struct unmap u = { .argsz = sizeof(u), .addr = 0x100000, .size = 0x10000 };
	int fd = memfd_create("m", 0);
	int i;

	(void)state;
	assert_int_equal(ftruncate(fd, 8 * 4096), 0);
	for (i = 0; i < 8; i++) {
		m.offset = i * 4096;
		assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
		m.addr += 2 * 4096;
	}
	u.size = 2048;			/* half a page */
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), EINVAL);
	u.addr += 2048;
	u.size = 8192;
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), EINVAL);
	u.addr = 0x102000;
	u.size = 0x4000;
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), 0);
	assert_non_null(mem_ptr(core.hca, 0x100000, 4096, true));
	assert_null(mem_ptr(core.hca, 0x102000, 1, true));
	assert_null(mem_ptr(core.hca, 0x104000, 1, true));
	memcpy(&u, reply, sizeof(u));
	assert_int_equal(u.size, 2 * 4096);
	assert_non_null(mem_ptr(core.hca, 0x106000, 4096, true));
	u.size = 0x4000;
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), 0);
	memcpy(&u, reply, sizeof(u));
	assert_int_equal(u.size, 0);
	assert_int_equal(call(DMA_UNMAP, &u, sizeof(u)), EINVAL);
	close(fd);
}

static void memory_must_be_in_its_file(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 0x10000, .size = 8192 };
	int fd = memfd_create("m", 0);

	(void)state;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), EINVAL);
	assert_int_equal(ftruncate(fd, 8192), 0);
	m.offset = 4096;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), EINVAL);
	m.offset = UINT64_MAX - 4095;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), EINVAL);
	m.offset = 0;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_non_null(mem_ptr(core.hca, 0x10000, 8192, true));
	close(fd);
}

static void memory_rights_and_region_borders(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 1, .addr = 0x10000, .size = 4096 };
	int fd = memfd_create("m", 0);
	char buf[32];

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_null(mem_ptr(core.hca, 0x10000, 8, true));
	assert_int_equal(mem_write(core.hca, 0x10000, "x", 1), -EFAULT);
	m.addr += 4096;
	m.flags = 3;
	m.offset = 4096;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_null(mem_ptr(core.hca, 0x11000 - 4, 8, false));
	assert_int_equal(mem_read(core.hca, 0x11000 - 4, buf, 8), 0);
	m.addr += 4096;			/* without a file it cannot be accessed */
	assert_int_equal(call(DMA_MAP, &m, sizeof(m)), 0);
	assert_null(mem_ptr(core.hca, 0x12000, 1, false));
	m.addr = UINT64_MAX - 4094;	/* the last byte is beyond the address space */
	assert_int_equal(call(DMA_MAP, &m, sizeof(m)), EINVAL);
	m.addr--;
	assert_int_equal(call(DMA_MAP, &m, sizeof(m)), 0);
	close(fd);
}

static uint64_t fired(int efd)
{
	uint64_t n = 0;

	return read(efd, &n, 8) == 8 ? n : 0;
}

static void interrupts(void **state)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .start = 2, .count = 2,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	int fds[2] = { eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK) };

	(void)state;
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), fds, 2), 0);
	assert_int_equal(reply_len, 0);
	vfu_irq_ops.raise(core.hca, 1);
	vfu_irq_ops.raise(core.hca, 3);
	vfu_irq_ops.raise(core.hca, 3);
	assert_int_equal(fired(fds[0]), 0);
	assert_int_equal(fired(fds[1]), 2);
	set.start = 31;
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), fds, 2), EINVAL);
	set.start = 0;
	set.count = 0;
	set.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	vfu_irq_ops.raise(core.hca, 3);
	assert_int_equal(fired(fds[1]), 0);
	close(fds[0]);
	close(fds[1]);
}

/* The client passes an eventfd that has no room for one more interrupt. */
static void interrupt_without_room_is_not_waited_for(void **state)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .start = 0, .count = 1,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	int fd = eventfd(0, 0);

	(void)state;
	assert_int_equal(eventfd_write(fd, UINT64_MAX - 1), 0);
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), &fd, 1), 0);
	alarm(20);		/* ends the program if the HCA waits */
	vfu_irq_ops.raise(core.hca, 0);
	alarm(0);
	assert_int_equal(call(SET_IRQS, &set, 4), EINVAL);
	close(fd);
}

struct rw {
	uint64_t off;
	uint32_t region, count;
	uint8_t data[8];
};

#define PM	0x40		/* capabilities in config space */
#define EXP	0x60

static uint32_t cfg_read(uint64_t off, uint32_t n)
{
	struct rw rw = { off, VFIO_PCI_CONFIG_REGION_INDEX, n, { 0 } };
	uint32_t v = 0;

	assert_int_equal(call(REGION_READ, &rw, 16), 0);
	memcpy(&v, reply + 16, n);
	return v;
}

static void cfg_write(uint64_t off, uint32_t v, uint32_t n)
{
	struct rw rw = { off, VFIO_PCI_CONFIG_REGION_INDEX, n, { 0 } };

	memcpy(rw.data, &v, n);
	assert_int_equal(call(REGION_WRITE, &rw, 16 + n), 0);
}

static void config_space(void **state)
{
	static const struct { uint8_t at, id; } caps[] = {
		{ EXP, PCI_CAP_ID_EXP }, { 0x48, PCI_CAP_ID_VPD }, { 0x9c, PCI_CAP_ID_MSIX },
		{ 0xc0, PCI_CAP_ID_VNDR }, { PM, PCI_CAP_ID_PM },
	};
	unsigned int cap, i;

	(void)state;
	assert_int_equal(cfg_read(PCI_VENDOR_ID, 4), 0x101715b3);
	assert_int_equal(cfg_read(PCI_CLASS_DEVICE, 2), 0x0207);
	cfg_write(PCI_VENDOR_ID, 0, 4);
	assert_int_equal(cfg_read(PCI_VENDOR_ID, 2), 0x15b3);
	cfg_write(PCI_BASE_ADDRESS_0, 0xffffffff, 4);
	cfg_write(PCI_BASE_ADDRESS_1, 0xffffffff, 4);
	assert_int_equal(cfg_read(PCI_BASE_ADDRESS_0, 4), 0xfe00000c);
	assert_int_equal(cfg_read(PCI_BASE_ADDRESS_1, 4), 0xffffffff);
	cap = cfg_read(PCI_CAPABILITY_LIST, 1);
	for (i = 0; i < ARRAY_SIZE(caps); i++) {		/* in the order that cards have */
		assert_int_equal(cap, caps[i].at);
		assert_int_equal(cfg_read(cap, 1), caps[i].id);
		cap = cfg_read(cap + 1, 1);
	}
	assert_int_equal(cap, 0);
}

/* Give the HCA another part number, and power it on. */
static void become(unsigned int part)
{
	core.profile->part = part;
	pci_power_on(core.hca);
}

/* Three capabilities that all parts have, three more at 16 GT/s, and another one at 32 GT/s. */
static void extended_capabilities_are_chained(void **state)
{
	static const struct { unsigned int part, n; uint16_t ids[8]; } parts[] = {
		{ 4117, 3, { PCI_EXT_CAP_ID_ERR, PCI_EXT_CAP_ID_ARI, PCI_EXT_CAP_ID_SECPCI } },
		{ 4123, 6, { PCI_EXT_CAP_ID_ERR, PCI_EXT_CAP_ID_ARI, PCI_EXT_CAP_ID_SECPCI, 0x27,
			     PCI_EXT_CAP_ID_PL_16GT, PCI_EXT_CAP_ID_DLF } },
		{ 4129, 7, { PCI_EXT_CAP_ID_ERR, PCI_EXT_CAP_ID_ARI, PCI_EXT_CAP_ID_SECPCI, 0x27,
			     PCI_EXT_CAP_ID_PL_16GT, 0x2a, PCI_EXT_CAP_ID_DLF } },
	};
	unsigned int at, i, k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(parts); k++) {
		become(parts[k].part);
		at = PCI_CFG_SPACE_SIZE;
		for (i = 0; i < parts[k].n; i++) {
			uint32_t head = cfg_read(at, 4);

			assert_int_equal(PCI_EXT_CAP_ID(head), parts[k].ids[i]);
			assert_int_equal(PCI_EXT_CAP_VER(head), 1);
			at = PCI_EXT_CAP_NEXT(head);
		}
		assert_int_equal(at, 0);
	}
}

/* Cards have this pointer without an error, and what else the register says is the same for all. */
static void first_error_pointer_is_that_of_the_part(void **state)
{
	static const struct { unsigned int part, pointer; } parts[] = {
		{ 4115, 4 }, { 4117, 4 }, { 4119, 8 }, { 4125, 8 }, { 4129, 8 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		become(parts[i].part);
		assert_int_equal(cfg_read(PCI_CFG_SPACE_SIZE + PCI_ERR_CAP, 4),
				 PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC | parts[i].pointer);
		assert_int_equal(cfg_read(PCI_CFG_SPACE_SIZE + PCI_ERR_UNCOR_STATUS, 4), 0);
	}
}

/* The link has the greatest speed and the greatest width of the part. */
static void link_is_that_of_the_part(void **state)
{
	static const struct {
		unsigned int part, generation, lanes;
		uint32_t cap2, speeds;
	} parts[] = {
		{ 4117, 3, 8, 0x1f, 0xe }, { 4119, 3, 16, 0x1f, 0xe },
		{ 4121, 4, 16, 0x1001f, 0x180001e }, { 4123, 4, 16, 0x10017, 0x180001e },
		{ 4127, 4, 8, 0x10017, 0x180001e }, { 4129, 5, 16, 0x30397, 0x180003e },
	};
	unsigned int i, link;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		become(parts[i].part);
		link = parts[i].generation | parts[i].lanes << 4;
		assert_int_equal(cfg_read(EXP + PCI_EXP_LNKCAP, 4), link | 1 << 22);
		assert_int_equal(cfg_read(EXP + PCI_EXP_LNKSTA, 2), link | PCI_EXP_LNKSTA_SLC);
		assert_int_equal(cfg_read(EXP + PCI_EXP_DEVCAP2, 4), parts[i].cap2);
		assert_int_equal(cfg_read(EXP + PCI_EXP_LNKCAP2, 4), parts[i].speeds);
		assert_int_equal(cfg_read(EXP + PCI_EXP_LNKCTL2, 2), parts[i].generation);
		assert_int_equal(cfg_read(EXP + PCI_EXP_LNKSTA2, 2), 0x1e);
	}
}

static void power_and_latencies_are_those_of_cards(void **state)
{
	(void)state;
	assert_int_equal(cfg_read(PM + PCI_PM_PMC, 2), 0x81c3);
	assert_int_equal(cfg_read(EXP + PCI_EXP_DEVCAP, 4) & 0xfff, 0xfe2);
	assert_int_equal(cfg_read(EXP + PCI_EXP_DEVCTL, 2), 0x2810);
	cfg_write(PM + PCI_PM_CTRL, PCI_PM_CTRL_PME_ENABLE, 2);
	assert_int_equal(cfg_read(PM + PCI_PM_CTRL, 2),
			 PCI_PM_CTRL_PME_ENABLE | PCI_PM_CTRL_NO_SOFT_RESET);
}

#define VPD	0x48

static uint32_t vpd_word(uint16_t addr)
{
	cfg_write(VPD + PCI_VPD_ADDR, addr, 2);
	assert_int_equal(cfg_read(VPD + PCI_VPD_ADDR, 2), addr | PCI_VPD_ADDR_F);
	return cfg_read(VPD + PCI_VPD_DATA, 4);
}

#define VPD_BYTES 512

static void vpd_read(uint8_t *vpd)
{
	unsigned int i;

	for (i = 0; i < VPD_BYTES; i += 4) {
		uint32_t word = vpd_word(i);

		memcpy(vpd + i, &word, 4);
	}
}

/* VPD is a string, read-only fields whose bytes up to the checksum have the sum 0, and the end. */
static void vital_product_data(void **state)
{
	uint8_t vpd[VPD_BYTES], sum = 0;
	unsigned int i, len, end;

	(void)state;
	vpd_read(vpd);
	assert_int_equal(vpd[0], 0x82);
	len = 3 + (vpd[1] | vpd[2] << 8);
	assert_int_equal(vpd[len], 0x90);
	assert_memory_equal(vpd + len + 3, "PN\x07" "BBL4119", 10);
	assert_non_null(memmem(vpd, sizeof(vpd), "SN\x0a" "BB00000001", 13));
	assert_non_null(memmem(vpd, sizeof(vpd), "V0\x0c" "PCIeGen3 x16", 15));
	end = len + 3 + (vpd[len + 1] | vpd[len + 2] << 8);
	assert_int_equal(vpd[end], 0x78);
	for (i = 0; i < end; i++)
		sum += vpd[i];
	assert_int_equal(sum, 0);
	assert_int_equal(vpd_word(0x7ffc), 0);
	cfg_write(VPD + PCI_VPD_DATA, 0, 4);			/* VPD is read-only */
	cfg_write(VPD + PCI_VPD_ADDR, PCI_VPD_ADDR_F, 2);
	assert_int_equal(vpd_word(0) & 0xff, 0x82);
}

/* The names of the read-only fields, in their order. */
static void vpd_names(const uint8_t *vpd, char *names)
{
	unsigned int at = 3 + (vpd[1] | vpd[2] << 8);
	unsigned int end = at + 3 + (vpd[at + 1] | vpd[at + 2] << 8);

	for (at += 3; at < end; at += 3 + vpd[at + 2])
		names += sprintf(names, "%c%c ", vpd[at], vpd[at + 1]);
}

/* VU names the function: the serial number, and the function's place. V3 names the card. */
static void vital_product_data_of_a_part_have_its_fields(void **state)
{
	static const struct { unsigned int part; const char *names; } parts[] = {
		{ 4117, "PN EC SN V0 RV " }, { 4119, "PN EC V2 SN V3 VA V0 VU RV " },
		{ 4129, "PN EC V2 SN V3 VA V0 VU RV " },
	};
	uint8_t vpd[VPD_BYTES];
	char names[VPD_BYTES];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		become(parts[i].part);
		vpd_read(vpd);
		vpd_names(vpd, names);
		assert_string_equal(names, parts[i].names);
	}
	assert_non_null(memmem(vpd, sizeof(vpd), "V3\x20" "02b1ebe1000000000000000000000001", 35));
	assert_non_null(memmem(vpd, sizeof(vpd), "VU\x14" "BB00000001MLNXS0D0F0", 23));
}

static void function_level_reset(void **state)
{
	(void)state;
	core.hca->life = LIFE_INIT;
	cfg_write(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(core.hca->life, LIFE_RESET);
	core.hca->life = LIFE_INIT;
	assert_int_equal(call(RESET, NULL, 0), 0);
	assert_int_equal(core.hca->life, LIFE_RESET);
}

/* The driver's health check sees that the device has been reset. */
static void reset_disables_the_interface(void **state)
{
	(void)state;
	assert_int_equal(core_reg_read(0x14) >> 8 & 7, 0);
	cfg_write(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(core_reg_read(0x14) >> 8 & 7, 1);
	core_reg_write(0x10, 0);
	core_reg_write(0x14, 0x4000);
	assert_int_equal(core_reg_read(0x14) >> 8 & 7, 0);
}

/* Firmware that has failed starts again when the driver resets it, and not by itself. */
static void driver_resets_firmware(void **state)
{
	(void)state;
	core.hca->life = LIFE_INIT;
	assert_int_equal(core_reg_read(0x1fc), 0x40000000);
	iseg_set_fatal(core.hca, 1, 0);
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_true(core.hca->fatal);
	core_reg_write(0x14, core_reg_read(0x14) | 7 << 8);
	assert_false(core.hca->fatal);
	assert_int_equal(core_reg_read(0x23c), 0);
	assert_int_equal(core_reg_read(0x14) >> 8 & 7, 1);
	assert_int_equal(core.hca->life, LIFE_RESET);
}

/* Write @val to, or read from, @addr in the semaphore space; returns the data register. */
static uint32_t semaphore(uint32_t addr, bool write, uint32_t val)
{
	cfg_write(VSC + 0x14, val, 4);
	cfg_write(VSC + 0x10, addr | (write ? 1u << 31 : 0), 4);
	assert_int_equal(cfg_read(VSC + 0x10, 4) >> 31, !write);
	return cfg_read(VSC + 0x14, 4);
}

static void semaphore_of_resets_has_one_owner(void **state)
{
	uint32_t a, b;

	(void)state;
	a = cfg_read(VSC + 8, 4);
	b = cfg_read(VSC + 8, 4);
	assert_true(a && b && a != b);
	cfg_write(VSC + 0xc, a, 4);
	cfg_write(VSC + 0xc, b, 4);
	assert_int_equal(cfg_read(VSC + 0xc, 4), a);
	cfg_write(VSC + 4, 7, 4);
	assert_int_equal(cfg_read(VSC + 4, 4) >> 29, 0);
	semaphore(0x20, false, 0);
	assert_int_equal(cfg_read(VSC + 0x10, 4) >> 30, 3);
	cfg_write(VSC + 4, 0xa, 4);
	assert_int_not_equal(cfg_read(VSC + 4, 4) >> 29, 0);
	semaphore(0x20, true, a);
	semaphore(0x20, true, b);
	assert_int_equal(semaphore(0x20, false, 0), a);
	semaphore(0x20, true, 0);
	semaphore(0x20, true, b);
	assert_int_equal(semaphore(0x20, false, 0), b);
	semaphore(0x24, true, a);
	assert_int_equal(cfg_read(VSC + 0x10, 4) >> 30, 1);
	cfg_write(VSC + 0xc, 0, 4);
	assert_int_equal(cfg_read(VSC + 0xc, 4), 0);
	cfg_write(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	cfg_write(VSC + 4, 0xa, 4);
	assert_int_equal(semaphore(0x20, false, 0), 0);
}

/* Without bus mastering or in D3hot DMA reads give ones; DMA writes and interrupts are not sent. */
static void only_a_bus_master_sends_requests(void **state)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .count = 4,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	static const struct { uint16_t command, pm; } off[] = {
		{ PCI_COMMAND_MEMORY, 0 }, { PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 3 },
	};
	struct map m = { .argsz = sizeof(m), .flags = 3, .size = 4096 };
	int fd = memfd_create("m", 0), irq[4], i;
	uint8_t b[4];

	(void)state;
	for (i = 0; i < 4; i++)
		irq[i] = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), irq, 4), 0);
	for (i = 0; i < 2; i++) {
		cfg_write(PCI_COMMAND, off[i].command, 2);
		cfg_write(0x40 + PCI_PM_CTRL, off[i].pm, 2);
		memset(b, 0, sizeof(b));
		assert_int_equal(mem_read(core.hca, 0, b, 4), -EFAULT);
		assert_memory_equal(b, "\xff\xff\xff\xff", 4);
		assert_int_equal(mem_write(core.hca, 0, "abc", 4), -EFAULT);
		assert_null(mem_ptr(core.hca, 0, 4, true));
		assert_int_equal(core.hca->count.dma_blocked, 3 * (i + 1));
		vfu_irq_ops.raise(core.hca, 3);
		vfu_irq_ops.raise(core.hca, 3);
		assert_int_equal(fired(irq[3]), 0);
		if (i)	/* in D3hot a register reads as ones */
			assert_int_equal(core_reg_read(0), 0xffffffff);
		cfg_write(0x40 + PCI_PM_CTRL, 0, 2);
		pci_bar_read(core.hca, 2, 4096, b, 1);
		assert_int_equal(b[0], i ? 0 : 1 << 3);
		cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
		assert_int_equal(fired(irq[3]), 1);
		assert_int_equal(fired(irq[2]), 0);
		pci_bar_read(core.hca, 2, 4096, b, 1);
		assert_int_equal(b[0], 0);
		assert_int_equal(mem_read(core.hca, 0, b, 4), 0);
		assert_int_equal(b[0], 0);
	}
	close(fd);
	for (i = 0; i < 4; i++)
		close(irq[i]);
}

/* Reset drops what is pending, and the guest cannot write the pending bits. */
static void pending_interrupts_end_with_reset(void **state)
{
	uint8_t b = 0xff;

	(void)state;
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	pci_bar_write(core.hca, 2, 4096, &b, 1);
	pci_bar_read(core.hca, 2, 4096, &b, 1);
	assert_int_equal(b, 0);
	vfu_irq_ops.raise(core.hca, 3);
	assert_int_equal(call(RESET, NULL, 0), 0);
	pci_bar_read(core.hca, 2, 4096, &b, 1);
	assert_int_equal(b, 0);
}

static uint32_t bar0_read(uint64_t off)
{
	uint32_t v;

	pci_bar_read(core.hca, 0, off, (uint8_t *)&v, sizeof(v));
	return v;
}

/* The pages that the vector table and the pending bits take are neither registers nor UARs. */
static void one_bar_has_the_vector_table(void **state)
{
	uint8_t row[16], back[24];
	uint64_t off;

	(void)state;
	core.profile->one_bar = true;
	pci_power_on(core.hca);
	assert_int_equal(region_size(VFIO_PCI_BAR0_REGION_INDEX), 32 << 20);
	assert_int_equal(region_size(VFIO_PCI_BAR2_REGION_INDEX), 0);
	cfg_write(PCI_BASE_ADDRESS_2, 0xffffffff, 4);
	assert_int_equal(cfg_read(PCI_BASE_ADDRESS_2, 4), 0);
	assert_int_equal(cfg_read(0x9c + PCI_MSIX_TABLE, 4), 0x2000);
	assert_int_equal(cfg_read(0x9c + PCI_MSIX_PBA, 4), 0x3000);
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	for (off = 0x2000; off < 0x3000; off += sizeof(row)) {
		memset(row, off / 16 + 1, sizeof(row));
		pci_bar_write(core.hca, 0, off, row, sizeof(row));
		pci_bar_read(core.hca, 0, off, back, sizeof(row));
		assert_memory_equal(row, back, sizeof(row));
	}
	for (off = 0x1ff0; off < 0x2000; off += 4)
		assert_int_equal(bar0_read(off), 0);
	pci_bar_write(core.hca, 0, 0x3000, row, sizeof(row));
	vfu_irq_ops.raise(core.hca, 33);
	assert_int_equal(bar0_read(0x3000), 0);
	assert_int_equal(bar0_read(0x3004), 1 << (33 - 32));
	/* A read that goes on behind the pending bits gets zeros there. */
	memset(back, 0xff, sizeof(back));
	pci_bar_read(core.hca, 0, 0x3ff8, back, sizeof(back));
	for (off = 0; off < sizeof(back); off++)
		assert_int_equal(back[off], 0);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_UAR], 0);
	pci_bar_write(core.hca, 0, 0x4020, row, 8);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_UAR], 1);
}

/* Without bus mastering a doorbell executes no command. The driver can ring again later. */
static void command_queue_needs_bus_mastering(void **state)
{
	uint8_t in[16] = { 0 }, out[16];

	(void)state;
	assert_int_equal(mem_map_fd(core.hca, 0, CORE_RAM, core.fd, 0, true, true), 0);
	core.ram = mem_ptr(core.hca, 0, CORE_RAM, true);
	IFC_SET(enable_hca_in, in, opcode, MLX5_CMD_OP_ENABLE_HCA);
	core_put(0, in, sizeof(in), sizeof(out));
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	core_ring(1);
	assert_int_equal(core_take(0, out, sizeof(out)), CORE_NOT_DONE);
	assert_int_equal(core.hca->life, LIFE_RESET);
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	core_ring(1);
	assert_int_equal(core_take(0, out, sizeof(out)), 0);
	assert_int_equal(core.hca->life, LIFE_ENABLED);
}

static void registers(void **state)
{
	struct rw rw = { 0, 0, 4, { 0 } };

	(void)state;
	assert_int_equal(call(REGION_READ, &rw, 16), 0);
	assert_int_equal(get_be32(reply + 16), 35 << 16 | 16);
	rw.off = (32 << 20) - 2;
	assert_int_equal(call(REGION_READ, &rw, 16), EINVAL);
	rw.off = 0;
	rw.region = 1;
	assert_int_equal(call(REGION_READ, &rw, 16), EINVAL);
	rw.region = 0;
	rw.count = 100;
	assert_int_equal(call(REGION_WRITE, &rw, sizeof(rw)), EINVAL);
	rw.count = 1u << 30;
	assert_int_equal(call(REGION_READ, &rw, 16), EINVAL);
}

/* A read of the timer's 8 bytes gives both halves of one moment, although the timer runs. */
static void timer_does_not_tear(void **state)
{
	uint64_t last = 0, now;
	uint8_t b[8];
	unsigned int i;

	(void)state;
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	/* The upper half will change soon. */
	core.hca->start_ns = clock_now_ns() -
			     ((1ull << 32) * 1000000 / core.profile->core_clock_khz - 1000000);
	for (i = 0; i < 100000; i++) {
		pci_bar_read(core.hca, 0, 0x1000, b, 8);
		now = get_be64(b);
		assert_true(now >= last);
		last = now;
	}
	assert_int_equal(last >> 32, 1);
	for (i = 0; i < 100000; i++) {
		pci_bar_read(core.hca, 0, 0x1004, b, 4);
		assert_true(get_be32(b) >= (uint32_t)last);
		last = get_be32(b);
	}
}

/* After a reset firmware initializes for a while, in which it sees no write to a register. */
static void firmware_initializes_after_reset(void **state)
{
	(void)state;
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_int_equal(core_reg_read(0x1fc), 0x40000000);
	core.profile->initializing_ms = 200;
	cfg_write(0x60 + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(core_reg_read(0x1fc), 0xc0000000);
	core_reg_write(0x14, 0x1000);
	assert_int_equal(core_reg_read(0x14) >> 12, 0);
	assert_int_equal(core.hca->count.reg_early, 1);
	usleep(201000);
	assert_int_equal(core_reg_read(0x1fc), 0x40000000);
	core_reg_write(0x14, 0x1000);
	assert_int_equal(core_reg_read(0x14) >> 12, 1);
}

static void posted_writes_keep_their_order(void **state)
{
	struct rw a = { PCI_INTERRUPT_LINE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 5 } };

	(void)state;
	post_msg(REGION_WRITE, F_NO_REPLY, &a, 17, NULL, 0);
	a.data[0] = 6;
	post_msg(REGION_WRITE, F_NO_REPLY, &a, 17, NULL, 0);
	assert_int_equal(cfg_read(PCI_INTERRUPT_LINE, 1), 6);
}

static void many_writes_in_one_message(void **state)
{
	struct {
		uint64_t n;
		struct rw w[2];
	} m = { 2, { { PCI_INTERRUPT_LINE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 9 } },
		     { PCI_CACHE_LINE_SIZE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 8 } } } };

	(void)state;
	assert_int_equal(call(WRITE_MULTI, &m, sizeof(m)), 0);
	assert_int_equal(cfg_read(PCI_INTERRUPT_LINE, 1), 9);
	assert_int_equal(cfg_read(PCI_CACHE_LINE_SIZE, 1), 8);
	m.n = 3;
	assert_int_equal(call(WRITE_MULTI, &m, sizeof(m)), EINVAL);
	m.n = 1;
	m.w[0].count = 9;
	assert_int_equal(call(WRITE_MULTI, &m, sizeof(m)), EINVAL);
}

/* Send a header, and see whether the server waits for the rest of a message of @size bytes. */
static void header_closes_the_connection(uint32_t size, bool closes)
{
	struct hdr h = { .cmd = REGION_READ, .size = size };

	assert_int_equal(send(sock, &h, sizeof(h), 0), sizeof(h));
	pump();
	assert_int_equal(gone, closes);
}

/* The longest message has 1 MiB of data, and 64 bytes and its header before the data. */
static void longest_message_is_waited_for(void **state)
{
	(void)state;
	header_closes_the_connection((1 << 20) + 64 + 16, false);
}

static void too_long_message_closes_the_connection(void **state)
{
	(void)state;
	header_closes_the_connection((1 << 20) + 64 + 16 + 1, true);
}

static void message_without_a_header_closes_the_connection(void **state)
{
	(void)state;
	header_closes_the_connection(15, true);
}

/* Send raw bytes: a client may divide its stream of messages anywhere. */
static void send_bytes(const void *p, size_t len)
{
	assert_int_equal(send(sock, p, len, 0), len);
	pump();
}

/*
 * A client stops in the middle of a header, and of a message: the server does not wait for the
 * rest, and takes it when it comes. pump() would not return if the server waited.
 */
static void half_a_message_does_not_hold_the_server(void **state)
{
	struct {
		struct hdr h;
		struct rw rw;
	} m = { { .id = 7, .cmd = REGION_READ, .size = 32 },
		{ PCI_VENDOR_ID, VFIO_PCI_CONFIG_REGION_INDEX, 4, { 0 } } };
	static const size_t cut[] = { 0, 1, 7, 15, 16, 20, 31 };
	struct hdr h;
	unsigned int i;

	(void)state;
	for (i = 0; i + 1 < sizeof(cut) / sizeof(*cut); i++) {
		send_bytes((uint8_t *)&m + cut[i], cut[i + 1] - cut[i]);
		assert_int_equal(recv(sock, &h, sizeof(h), MSG_DONTWAIT), -1);
		assert_false(gone);
	}
	send_bytes((uint8_t *)&m + 31, 1);
	assert_int_equal(recv(sock, &h, sizeof(h), MSG_DONTWAIT), sizeof(h));
	assert_int_equal(recv(sock, reply, sizeof(reply), MSG_DONTWAIT), 20);
	assert_memory_equal(reply + 16, "\xb3\x15\x17\x10", 4);
}

static void client_that_leaves_inside_a_message_is_gone(void **state)
{
	struct hdr h = { .cmd = REGION_READ, .size = 32 };

	(void)state;
	send_bytes(&h, 11);
	shutdown(sock, SHUT_WR);
	pump();
	assert_true(gone);
}

/* A client that does not read its replies is answered later, and does not block the others. */
static void unread_replies_do_not_hold_the_server(void **state)
{
	struct rw rw = { 0, 0, 1 << 20, { 0 } };
	struct hdr h = { .id = 7, .cmd = REGION_READ, .size = 32 };
	uint64_t left, reads = core.hca->count.reg_reads;
	unsigned int i;
	ssize_t n;

	(void)state;
	for (i = 0; i < 3; i++) {
		send_bytes(&h, sizeof(h));
		send_bytes(&rw, 16);
	}
	assert_int_equal(core.hca->count.reg_reads, reads + 1);
	for (left = 3 * (16 + 16 + (1 << 20)); left; left -= n) {
		n = recv(sock, reply, sizeof(reply), MSG_DONTWAIT);
		assert_true(n > 0);
		pump();
	}
	assert_int_equal(core.hca->count.reg_reads, reads + 3);
	assert_false(gone);
	assert_int_equal(call(REGION_READ, &(struct rw){ 0, 0, 4, { 0 } }, 16), 0);
}

/* The server stops reading if its replies are not read: it has room for one longest message. */
static void client_that_reads_no_replies_is_not_read(void **state)
{
	struct {
		struct hdr h;
		struct rw rw;
	} m = { { .id = 7, .cmd = REGION_READ, .size = 32 }, { 0, 0, 1 << 20, { 0 } } };
	size_t sent = 0;

	(void)state;
	while (send(sock, &m, 32, MSG_DONTWAIT | MSG_NOSIGNAL) == 32 && sent < 2 << 20) {
		sent += 32;
		pump();
	}
	assert_in_range(sent, 32, 1 << 20);
	assert_false(gone);
}

/* Several messages arrive at once: each gets the files that came with it. */
static void files_stay_with_their_message(void **state)
{
	struct rw a = { PCI_INTERRUPT_LINE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 5 } };
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 20, .size = 4096 };
	int fd[2] = { memfd_create("a", 0), memfd_create("b", 0) };
	char c;

	(void)state;
	assert_int_equal(ftruncate(fd[0], 4096) | ftruncate(fd[1], 4096), 0);
	assert_int_equal(pwrite(fd[0], "a", 1, 0) + pwrite(fd[1], "b", 1, 0), 2);
	post_msg(DMA_MAP, F_NO_REPLY, &m, sizeof(m), NULL, 0);
	m.addr += 4096;
	post_msg(DMA_MAP, F_NO_REPLY, &m, sizeof(m), &fd[0], 1);
	m.addr += 4096;
	post_msg(REGION_WRITE, F_NO_REPLY, &a, 17, NULL, 0);
	post_msg(DMA_MAP, F_NO_REPLY, &m, sizeof(m), &fd[1], 1);
	m.addr += 4096;
	post_msg(DMA_MAP, F_NO_REPLY, &m, sizeof(m), NULL, 0);
	pump();
	assert_int_equal(mem_read(core.hca, 1 << 20, &c, 1), -EFAULT);
	assert_int_equal(mem_read(core.hca, (1 << 20) + 4096, &c, 1), 0);
	assert_int_equal(c, 'a');
	assert_int_equal(mem_read(core.hca, (1 << 20) + 8192, &c, 1), 0);
	assert_int_equal(c, 'b');
	assert_int_equal(mem_read(core.hca, (1 << 20) + 12288, &c, 1), -EFAULT);
	close(fd[0]);
	close(fd[1]);
}

/* If a client truncates the file of its guest memory, the HCA reads zeros and works on. */
static void cut_file_is_the_clients_loss(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 20, .size = 8192 };
	int fd = memfd_create("m", 0);
	char b[4] = "xyz";

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), EINVAL);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	cfg_write(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(mem_read(core.hca, (1 << 20) + 4096, b, 4), 0);
	assert_memory_equal(b, "\0\0\0\0", 4);
	assert_int_equal(mem_write(core.hca, (1 << 20) + 8188, "abc", 4), 0);
	assert_int_equal(call(REGION_READ, &(struct rw){ 0, 0, 4, { 0 } }, 16), 0);
	close(fd);
}

/* A part of the file that the file did not have when another part was mapped. */
static void file_that_grows_is_mapped_again(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 20, .size = 4096 };
	int fd = memfd_create("m", 0);
	char c;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(pwrite(fd, "ab", 2, 4095), 2);
	m.addr += 4096;
	m.offset = 4096;
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_int_equal(mem_read(core.hca, (1 << 20) + 4095, &c, 1), 0);
	assert_int_equal(c, 'a');
	assert_int_equal(mem_read(core.hca, (1 << 20) + 4096, &c, 1), 0);
	assert_int_equal(c, 'b');
	close(fd);
}

/* The HCA removes the fault of a file that a client made shorter; of other files it does not. */
static void other_file_that_is_cut_ends_the_process(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 20, .size = 4096 };
	int fd = memfd_create("m", 0), other = memfd_create("other", 0), status;
	volatile uint8_t *p;
	pid_t child;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096) | ftruncate(other, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(ftruncate(other, 0), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_DUMPABLE, 0);
		signal(SIGSEGV, SIG_DFL);	/* in place of cmocka's */
		_exit(*p);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	munmap((void *)p, 4096);
	close(other);
	close(fd);
}

/* Descriptor 0 is free in a process that was started without standard input. */
static void memory_may_be_file_0(void **state)
{
	int saved = dup(STDIN_FILENO), fd = memfd_create("m", 0);
	char c = 0;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(pwrite(fd, "a", 1, 0), 1);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(mem_map_fd(core.hca, 1 << 20, 4096, STDIN_FILENO, 0, true, true), 0);
	assert_int_equal(mem_read(core.hca, 1 << 20, &c, 1), 0);
	assert_int_equal(c, 'a');
	close(fd);
	core_put_back_stdin(saved);
}

static void server_that_ends_closes_the_connection(void **state)
{
	char c;

	(void)state;
	vfu_close(core.hca);
	assert_int_equal(recv(sock, &c, 1, MSG_DONTWAIT), 0);
}

/* Requests that are too short, name something that does not exist, or leave their region. */
static void hostile_requests_are_refused(void **state)
{
	static const struct { uint16_t cmd; uint32_t min; } shorts[] = {
		{ VERSION, 4 }, { DMA_MAP, 32 }, { DMA_UNMAP, 24 }, { REGION_INFO, 32 },
		{ IRQ_INFO, 16 }, { SET_IRQS, 20 }, { REGION_READ, 16 }, { REGION_WRITE, 16 },
		{ WRITE_MULTI, 8 },
	};
	static const struct rw out[] = {
		{ 4096, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 0 } },
		{ 4095, VFIO_PCI_CONFIG_REGION_INDEX, 2, { 0 } },
		{ UINT64_MAX, VFIO_PCI_CONFIG_REGION_INDEX, 2, { 0 } },
		{ 8192, 2, 1, { 0 } }, { 8191, 2, 8, { 0 } }, { UINT64_MAX - 3, 2, 8, { 0 } },
		{ 32 << 20, 0, 8, { 0 } }, { 0, 1, 1, { 0 } }, { 0, 9, 1, { 0 } },
		{ 0, UINT32_MAX, 1, { 0 } }, { 0, 0, UINT32_MAX, { 0 } },
	};
	static const uint16_t unknown[] = { 0, IO_FDS, DMA_READ, DMA_WRITE, 14, 16, 0xffff };
	uint8_t zero[64] = { 0 };
	unsigned int i;
	uint32_t len;

	(void)state;
	for (i = 0; i < sizeof(shorts) / sizeof(*shorts); i++)
		for (len = 0; len < shorts[i].min; len++)
			assert_int_equal(call(shorts[i].cmd, zero, len), EINVAL);
	for (i = 0; i < sizeof(out) / sizeof(*out); i++) {
		assert_int_equal(call(REGION_READ, &out[i], 16), EINVAL);
		assert_int_equal(call(REGION_WRITE, &out[i], sizeof(out[i])), EINVAL);
	}
	for (i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_int_equal(call(unknown[i], zero, sizeof(zero)), ENOTSUP);
	assert_false(gone);
}

static void disconnect_releases_guest_memory(void **state)
{
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 0, .size = 4096 };
	int fd = memfd_create("m", 0);

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	assert_non_null(mem_ptr(core.hca, 0, 8, true));
	core.hca->life = LIFE_INIT;
	close(sock);
	sock = dup(fd);
	pump();
	assert_true(gone);
	assert_null(mem_ptr(core.hca, 0, 8, true));
	assert_int_equal(core.hca->life, LIFE_RESET);
	close(fd);
}

/* ---- no memory for an event ------------------------------------------------------------------ */

static unsigned int event_allocs = UINT_MAX;	/* allocations of libevent that still succeed */

static void *event_alloc(size_t n)
{
	if (!event_allocs)
		return NULL;
	if (event_allocs != UINT_MAX)
		event_allocs--;
	return malloc(n);
}

static void new_client(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&a, sizeof(a)), 0);
}

/* A client that connects while memory is short is turned away; it may connect again later. */
static void client_without_memory_is_turned_away(void **state)
{
	char path[64], c;
	unsigned int n;

	(void)state;
	gone = false;
	assert_true(core_socket(path, sizeof(path)));
	event_allocs = 0;
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), -ENOMEM);
	event_allocs = UINT_MAX;
	vfu_close(core.hca);
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), 0);
	for (n = 0; n < 2; n++) {
		new_client(path);
		event_allocs = n;
		pump();
		event_allocs = UINT_MAX;
		assert_int_equal(recv(sock, &c, 1, MSG_DONTWAIT), 0);
		close(sock);
	}
	assert_false(gone);
	new_client(path);
	pump();
	assert_int_equal(version(), 0);
	close(sock);
	pump();
	assert_true(gone);
	vfu_close(core.hca);
}

/* If memory runs short while an HCA is made, neither memory nor a port of the fabric stays. */
static void hca_is_made_whole_or_not_at_all(void **state)
{
	struct hca *hca = NULL;
	unsigned int n;

	(void)state;
	for (n = 0; !hca && n < 200; n++) {
		event_allocs = n;
		hca = hca_create(core.hca->board, core.base, core.fabric, core.profile, 1);
		event_allocs = UINT_MAX;
	}
	assert_non_null(hca);
	assert_in_range(n, HCA_CMD_SLOTS + 1, 199);
	hca_destroy(hca);
}

/* ---- a vector without a file ----------------------------------------------------------------- */

/* A vector without a file is not taken for descriptor 0, which gets no interrupt and stays open. */
static void vectors_have_no_file_at_first(void **state)
{
	int saved = dup(STDIN_FILENO), fd = eventfd(0, EFD_NONBLOCK);
	unsigned int i;
	char path[64];

	(void)state;
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	assert_true(core_socket(path, sizeof(path)));
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), 0);
	for (i = 0; i < HCA_MAX_VECTORS; i++)
		vfu_irq_ops.raise(core.hca, i);
	vfu_close(core.hca);
	assert_int_equal(fired(fd), 0);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	close(fd);
	core_put_back_stdin(saved);
}

/* A client is served also if its connection gets descriptor 0, which is free. */
static void connection_may_be_file_0(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int saved = dup(STDIN_FILENO);

	(void)state;
	assert_true(core_socket(a.sun_path, sizeof(a.sun_path)));
	assert_int_equal(vfu_listen(core.hca, a.sun_path, on_gone, NULL), 0);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	close(STDIN_FILENO);
	assert_int_equal(connect(sock, (struct sockaddr *)&a, sizeof(a)), 0);
	pump();
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	assert_int_equal(version(), 0);
	close(sock);
	pump();
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	vfu_close(core.hca);
	core_put_back_stdin(saved);
}

/* ---- connections ----------------------------------------------------------------------------- */

static unsigned int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The server closes all files of a client: of memory, of interrupts, and those it does not use. */
static void no_file_of_a_client_stays_open(void **state)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .count = 2,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 20, .size = 4096 };
	int fds[3] = { memfd_create("m", 0), eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK) };
	struct hdr h = { .id = 7, .cmd = DMA_MAP, .size = sizeof(h) + sizeof(m) };
	unsigned int n = open_files(), i;

	(void)state;
	assert_int_equal(ftruncate(fds[0], 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), fds, 3), 0);
	assert_int_equal(open_files(), n);
	m.addr += 4096;
	m.offset = 4096;		/* behind the end of the file */
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), fds, 1), EINVAL);
	assert_int_equal(call_fds(DMA_UNMAP, &m, 0, fds, 3), EINVAL);
	assert_int_equal(open_files(), n);
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), fds + 1, 2), 0);
	assert_int_equal(open_files(), n + 2);
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), fds + 1, 2), 0);
	assert_int_equal(open_files(), n + 2);
	/* Without files the vectors are switched off. */
	set.count = 1;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	assert_int_equal(open_files(), n + 1);
	/* The client leaves inside a message that has brought more files than a message can. */
	for (i = 0; i < 12; i++) {
		struct iovec part = { (uint8_t *)&h + i, 1 };

		post_bytes(&part, 1, 1, fds, 3);
		pump();
	}
	assert_int_equal(open_files(), n + 1 + 16);
	shutdown(sock, SHUT_WR);
	pump();
	assert_true(gone);
	assert_int_equal(open_files(), n - 1);	/* the server's end of the connection */
	close(fds[0]);
	close(fds[1]);
	close(fds[2]);
}

static void masks_of_vectors_are_the_clients(void **state)
{
	struct vfio_irq_set set = {
		.argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .start = 31, .count = 1,
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
	};
	int fd = eventfd(0, EFD_NONBLOCK);

	(void)state;
	assert_int_equal(call_fds(SET_IRQS, &set, sizeof(set), &fd, 1), 0);
	set.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_MASK;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	set.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	vfu_irq_ops.raise(core.hca, 31);
	assert_int_equal(fired(fd), 1);
	/* A range of no vectors at the end of the table, and a range of one vector behind it. */
	set.start = 32;
	set.count = 0;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	set.count = 1;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), EINVAL);
	set.start = 33;
	set.count = UINT32_MAX;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), EINVAL);
	/* The function has no interrupts but MSI-X: they can be switched off, but not on. */
	set.index = VFIO_PCI_INTX_IRQ_INDEX;
	set.start = 0;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), EINVAL);
	set.count = 0;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), 0);
	set.index = VFIO_PCI_NUM_IRQS;
	assert_int_equal(call(SET_IRQS, &set, sizeof(set)), EINVAL);
	close(fd);
}

static void information_has_every_field(void **state)
{
	struct vfio_region_info r = { .argsz = sizeof(r), .flags = ~0u, .index = 0,
				      .cap_offset = ~0u, .offset = ~0ull };
	struct vfio_irq_info irq = { .index = VFIO_PCI_INTX_IRQ_INDEX };
	struct vfio_device_info info = { .argsz = 0 };

	(void)state;
	assert_int_equal(call(GET_INFO, NULL, 0), 0);
	memcpy(&info, reply, 16);
	assert_int_equal(reply_len, 16);
	assert_int_equal(info.argsz, 16);
	assert_int_equal(info.num_irqs, VFIO_PCI_NUM_IRQS);
	assert_int_equal(call(REGION_INFO, &r, sizeof(r)), 0);
	memcpy(&r, reply, sizeof(r));
	assert_int_equal(r.flags, VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE);
	assert_int_equal(r.cap_offset, 0);
	assert_int_equal(r.offset, 0);
	r.index = VFIO_PCI_BAR1_REGION_INDEX;
	r.flags = ~0u;
	assert_int_equal(call(REGION_INFO, &r, sizeof(r)), 0);
	memcpy(&r, reply, sizeof(r));
	assert_int_equal(r.flags, 0);
	assert_int_equal(call(IRQ_INFO, &irq, sizeof(irq)), 0);
	memcpy(&irq, reply, sizeof(irq));
	assert_int_equal(reply_len, sizeof(irq));
	assert_int_equal(irq.argsz, sizeof(irq));
	assert_int_equal(irq.count, 0);
	assert_int_equal(irq.flags, VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE);
	irq.index = VFIO_PCI_NUM_IRQS;
	assert_int_equal(call(IRQ_INFO, &irq, sizeof(irq)), EINVAL);
	assert_int_equal(reply_len, 0);
}

static void later_minor_version_is_answered_with_ours(void **state)
{
	static const char later[] = "\0\0\7\0{}", first[] = "\0\0\0\0", junk[] = "\0\0\1\0{]";

	(void)state;
	assert_int_equal(call(VERSION, later, sizeof(later)), 0);
	assert_memory_equal(reply, "\0\0\1\0", 4);
	assert_null(strstr((char *)reply + 4, "write_multiple"));
	assert_int_equal(call(VERSION, first, 4), 0);
	assert_memory_equal(reply, "\0\0\0\0", 4);
	assert_int_equal(call(VERSION, junk, sizeof(junk)), 0);
}

/* A second client is turned away; a client after the first finds no state of the first. */
static void next_client_starts_afresh(void **state)
{
	struct hdr half = { .id = 9, .cmd = REGION_READ, .size = 32 };
	struct map m = { .argsz = sizeof(m), .flags = 3, .addr = 1 << 30, .size = 4096 };
	int first, fd = memfd_create("m", 0);
	char path[64], c;

	(void)state;
	gone = false;
	assert_true(core_socket(path, sizeof(path)));
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), 0);
	new_client(path);
	pump();
	assert_int_equal(version(), 0);
	first = sock;
	new_client(path);
	pump();
	assert_int_equal(recv(sock, &c, 1, MSG_DONTWAIT), 0);
	close(sock);
	assert_false(gone);
	sock = first;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	send_bytes(&half, sizeof(half));
	close(sock);
	pump();
	assert_true(gone);
	new_client(path);
	pump();
	assert_int_equal(call(GET_INFO, NULL, 0), ENOTSUP);
	assert_int_equal(version(), 0);
	assert_int_equal(call(GET_INFO, NULL, 0), 0);
	assert_int_equal(call_fds(DMA_MAP, &m, sizeof(m), &fd, 1), 0);
	close(fd);
	close(sock);
	pump();
	vfu_close(core.hca);
}

/* A message that is marked as a reply asks for nothing. */
static void replies_of_a_client_are_ignored(void **state)
{
	struct hdr h;

	(void)state;
	core.hca->life = LIFE_INIT;
	post_msg(RESET, F_REPLY, NULL, 0, NULL, 0);
	pump();
	assert_int_equal(recv(sock, &h, sizeof(h), MSG_DONTWAIT), -1);
	assert_int_equal(core.hca->life, LIFE_INIT);
	assert_int_equal(call(RESET, NULL, 0), 0);
	assert_int_equal(core.hca->life, LIFE_RESET);
}

static void access_has_a_length_limit(void **state)
{
	struct rw rw = { 0, 0, (1 << 20) + 1, { 0 } };

	(void)state;
	assert_int_equal(call(REGION_READ, &rw, 16), EINVAL);
	rw.count = 9;			/* more than the message has */
	assert_int_equal(call(REGION_WRITE, &rw, sizeof(rw)), EINVAL);
	rw.count = 8;
	assert_int_equal(call(REGION_WRITE, &rw, sizeof(rw)), 0);
	assert_int_equal(reply_len, 16);
	rw.count = 0;
	assert_int_equal(call(REGION_WRITE, &rw, 16), 0);
	rw.count = 8;
	rw.off = (32 << 20) - 8;
	assert_int_equal(call(REGION_READ, &rw, 16), 0);
	assert_int_equal(reply_len, 24);
}

/* The writes before a write that is refused are executed. */
static void many_writes_end_with_the_first_refused(void **state)
{
	struct {
		uint64_t n;
		struct rw w[3];
	} m = { 3, { { PCI_INTERRUPT_LINE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 9 } },
		     { 0, 1, 1, { 0 } },
		     { PCI_CACHE_LINE_SIZE, VFIO_PCI_CONFIG_REGION_INDEX, 1, { 8 } } } };

	(void)state;
	assert_int_equal(call(WRITE_MULTI, &m, sizeof(m)), EINVAL);
	assert_int_equal(cfg_read(PCI_INTERRUPT_LINE, 1), 9);
	assert_int_equal(cfg_read(PCI_CACHE_LINE_SIZE, 1), 16);
	m.n = 0;
	assert_int_equal(call(WRITE_MULTI, &m, 8), 0);
	assert_int_equal(reply_len, 8);
}

/* If the path given for the socket is that of a regular file, the file is not removed. */
static void server_removes_no_file(void **state)
{
	char path[] = "/tmp/vfu-test-XXXXXX";
	struct stat st;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), -EEXIST);
	vfu_close(core.hca);
	assert_int_equal(stat(path, &st), 0);
	unlink(path);
	assert_int_equal(vfu_listen(core.hca, path, on_gone, NULL), 0);
	vfu_close(core.hca);
	assert_int_equal(stat(path, &st), -1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
#define N(f) cmocka_unit_test_setup_teardown(f, core_up, core_down)
#define R(f) cmocka_unit_test_setup_teardown(f, up_raw, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(half_a_message_does_not_hold_the_server),
		T(client_that_leaves_inside_a_message_is_gone),
		T(unread_replies_do_not_hold_the_server),
		T(client_that_reads_no_replies_is_not_read), T(files_stay_with_their_message),
		T(only_a_bus_master_sends_requests),
		T(pending_interrupts_end_with_reset), T(one_bar_has_the_vector_table),
		T(command_queue_needs_bus_mastering),
		T(timer_does_not_tear), T(cut_file_is_the_clients_loss),
		T(file_that_grows_is_mapped_again), T(other_file_that_is_cut_ends_the_process),
		T(memory_may_be_file_0), T(server_that_ends_closes_the_connection),
		T(hostile_requests_are_refused), T(firmware_initializes_after_reset),
		R(version_is_negotiated), R(version_must_come_first),
		R(other_major_version_is_refused), T(device_information),
		T(device_memory_is_mapped), T(guest_memory), T(ranges_are_unmapped_whole),
		T(memory_must_be_in_its_file), T(memory_rights_and_region_borders),
		T(interrupts), T(interrupt_without_room_is_not_waited_for), T(config_space),
		T(extended_capabilities_are_chained),
		T(first_error_pointer_is_that_of_the_part), T(link_is_that_of_the_part),
		T(power_and_latencies_are_those_of_cards),
		T(vital_product_data), T(vital_product_data_of_a_part_have_its_fields),
		T(function_level_reset),
		T(reset_disables_the_interface),
		T(driver_resets_firmware), T(semaphore_of_resets_has_one_owner), T(registers),
		T(posted_writes_keep_their_order), T(many_writes_in_one_message),
		T(longest_message_is_waited_for), T(too_long_message_closes_the_connection),
		T(message_without_a_header_closes_the_connection),
		T(disconnect_releases_guest_memory),
		N(server_removes_no_file), N(client_without_memory_is_turned_away),
		N(hca_is_made_whole_or_not_at_all), N(vectors_have_no_file_at_first),
		N(connection_may_be_file_0),
		T(no_file_of_a_client_stays_open), T(masks_of_vectors_are_the_clients),
		T(information_has_every_field), R(later_minor_version_is_answered_with_ours),
		N(next_client_starts_afresh), T(replies_of_a_client_are_ignored),
		T(access_has_a_length_limit), T(many_writes_end_with_the_first_refused),
	};

	event_set_mem_functions(event_alloc, realloc, free);
	return cmocka_run_group_tests_name("vfio_user", tests, NULL, NULL);
}
