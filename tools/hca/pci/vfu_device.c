// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of a vfio-user client: negotiation, information, guest memory, interrupts and
 * register access.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "memic.h"
#include "pci.h"
#include "profile.h"
#include "vfio_user.h"
#include "vfu.h"

enum vfu_cmd {
	VFU_VERSION = 1, VFU_DMA_MAP, VFU_DMA_UNMAP, VFU_GET_INFO, VFU_GET_REGION_INFO,
	VFU_GET_REGION_IO_FDS, VFU_GET_IRQ_INFO, VFU_SET_IRQS, VFU_REGION_READ, VFU_REGION_WRITE,
	VFU_DMA_READ, VFU_DMA_WRITE, VFU_RESET, VFU_REGION_WRITE_MULTI = 15, VFU_CMDS
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

/* Reads the message's payload, writes the reply's payload; returns the reply's length or -errno. */
typedef int (*vfu_handler)(struct vfu *v);

static int vfu_take_fd(struct vfu *v)
{
	int fd;

	if (!v->nfds || !v->may_take_fds)
		return -1;
	fd = v->fds[0];
	memmove(v->fds, v->fds + 1, --v->nfds * sizeof(*v->fds));
	return fd;
}

/* ---- negotiation ----------------------------------------------------------------------------- */

static int vfu_version(struct vfu *v)
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

static int vfu_get_info(struct vfu *v)
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

static uint64_t vfu_region_size(struct vfu *v, uint32_t index)
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
 * If the profile allows it, the client maps device memory, so that the guest accesses it directly.
 * The default profile does not: if QEMU can map any part of a device, it waits for the reply to
 * each write to the device, also to doorbells. The capability that tells where device memory lies
 * is sent only if the client has room for it; argsz tells how much room is needed.
 */
static int vfu_add_mmap(struct vfu *v, struct region_mmap *m, uint32_t room)
{
	uint64_t off, len;
	int fd = memic_region(v->hca, &off, &len);

	if (!v->hca->profile->map_memic || m->r.index != VFIO_PCI_BAR0_REGION_INDEX || fd < 0)
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

static int vfu_get_region_info(struct vfu *v)
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
	m.r.size = vfu_region_size(v, m.r.index);
	m.r.flags = m.r.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	m.r.cap_offset = 0;
	m.r.offset = 0;
	len = vfu_add_mmap(v, &m, room);
	memcpy(v->body, &m, len);
	return len;
}

/* ---- guest memory ---------------------------------------------------------------------------- */

static int vfu_dma_map(struct vfu *v)
{
	struct dma_map m;
	int fd, err;

	if (v->body_len < sizeof(m))
		return -EINVAL;
	memcpy(&m, v->body, sizeof(m));
	fd = vfu_take_fd(v);
	err = mem_map_fd(v->hca, m.addr, m.size, fd, m.offset, m.flags & 1, m.flags & 2);
	if (fd >= 0)
		close(fd);
	return err;
}

static int vfu_dma_unmap(struct vfu *v)
{
	struct dma_unmap m;
	int64_t bytes;

	if (v->body_len < sizeof(m))
		return -EINVAL;
	memcpy(&m, v->body, sizeof(m));
	bytes = mem_unmap(v->hca, m.addr, m.size);
	if (bytes < 0)
		return (int)bytes;
	m.size = bytes;
	memcpy(v->body, &m, sizeof(m));
	return sizeof(m);
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static int vfu_get_irq_info(struct vfu *v)
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

/*
 * A client may pass a file to which a write blocks, such as an eventfd that no process reads and
 * whose count is at its maximum. Make it non-blocking: the process could not end while the HCA's
 * thread waits.
 */
static void vfu_irq_set_fd(struct vfu *v, unsigned int vector, int fd)
{
	if (v->irq_fd[vector] >= 0)
		close(v->irq_fd[vector]);
	v->irq_fd[vector] = fd;
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/**
 * vfu_irq_clear() - close the client's eventfds for interrupts
 * @v: the connection
 */
void vfu_irq_clear(struct vfu *v)
{
	unsigned int i;

	for (i = 0; i < HCA_MAX_VECTORS; i++)
		vfu_irq_set_fd(v, i, -1);
}

static int vfu_set_irqs(struct vfu *v)
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
	/* The client emulates the vector table, so it masks interrupts itself. */
	if (!(set.flags & VFIO_IRQ_SET_ACTION_TRIGGER))
		return 0;
	if (set.flags & VFIO_IRQ_SET_DATA_EVENTFD) {
		for (i = 0; i < set.count; i++)
			vfu_irq_set_fd(v, set.start + i, vfu_take_fd(v));
	} else if (set.flags & VFIO_IRQ_SET_DATA_NONE && !set.count) {
		vfu_irq_clear(v);
	}
	return 0;
}

/**
 * vfu_irq_raise() - raise an interrupt
 * @hca: the HCA
 * @vector: MSI-X vector; nothing happens if the client has not enabled it
 */
static void vfu_irq_raise(struct hca *hca, unsigned int vector)
{
	uint64_t one = 1;

	if (vector >= HCA_MAX_VECTORS || hca->unplugged || !pci_irq_allowed(hca, vector))
		return;
	hca->count.irqs++;
	if (!hca->vfu || hca->vfu->irq_fd[vector] < 0)
		return;
	if (write(hca->vfu->irq_fd[vector], &one, sizeof(one)) < 0 && errno != EAGAIN)
		fprintf(stderr,
			"bluebell-hca: cannot raise interrupt %u, the guest misses it: %s\n",
			vector, strerror(errno));
}

const struct irq_ops vfu_irq_ops = { .raise = vfu_irq_raise };

/* ---- register access ------------------------------------------------------------------------- */

static bool vfu_rw_ok(struct vfu *v, const struct region_rw *rw)
{
	uint64_t size = rw->region < VFIO_PCI_NUM_REGIONS ? vfu_region_size(v, rw->region) : 0;

	return rw->count <= MAX_XFER && rw->off < size && rw->count <= size - rw->off;
}

static int vfu_region_read(struct vfu *v)
{
	uint8_t *data = v->body + sizeof(struct region_rw);
	struct region_rw rw;

	if (v->body_len < sizeof(rw))
		return -EINVAL;
	memcpy(&rw, v->body, sizeof(rw));
	if (!vfu_rw_ok(v, &rw))
		return -EINVAL;
	if (rw.region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_config_read(v->hca, rw.off, data, rw.count);
	else
		pci_bar_read(v->hca, rw.region, rw.off, data, rw.count);
	return sizeof(rw) + rw.count;
}

static int vfu_write_region(struct vfu *v, const struct region_rw *rw, const uint8_t *data)
{
	if (!vfu_rw_ok(v, rw))
		return -EINVAL;
	if (rw->region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_config_write(v->hca, rw->off, data, rw->count);
	else
		pci_bar_write(v->hca, rw->region, rw->off, data, rw->count);
	return 0;
}

static int vfu_region_write(struct vfu *v)
{
	struct region_rw rw;
	int err;

	if (v->body_len < sizeof(rw))
		return -EINVAL;
	memcpy(&rw, v->body, sizeof(rw));
	if (rw.count > v->body_len - sizeof(rw))
		return -EINVAL;
	err = vfu_write_region(v, &rw, v->body + sizeof(rw));
	return err ? err : (int)sizeof(rw);
}

/* Several writes of at most 8 bytes in one message. */
static int vfu_region_write_multi(struct vfu *v)
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
		err = vfu_write_region(v, &rw, p + sizeof(rw));
		if (err)
			return err;
	}
	return 8;
}

static int vfu_reset(struct vfu *v)
{
	hca_reset(v->hca);
	return 0;
}

static const vfu_handler vfu_handlers[VFU_CMDS] = {
	[VFU_VERSION] = vfu_version,
	[VFU_DMA_MAP] = vfu_dma_map,
	[VFU_DMA_UNMAP] = vfu_dma_unmap,
	[VFU_GET_INFO] = vfu_get_info,
	[VFU_GET_REGION_INFO] = vfu_get_region_info,
	[VFU_GET_IRQ_INFO] = vfu_get_irq_info,
	[VFU_SET_IRQS] = vfu_set_irqs,
	[VFU_REGION_READ] = vfu_region_read,
	[VFU_REGION_WRITE] = vfu_region_write,
	[VFU_RESET] = vfu_reset,
	[VFU_REGION_WRITE_MULTI] = vfu_region_write_multi,
};

/**
 * vfu_handle() - do what a message asks for
 * @v: the connection, with the message, whose payload is replaced by the reply's payload
 *
 * Return: bytes of the reply's payload, or -errno.
 */
int vfu_handle(struct vfu *v)
{
	vfu_handler fn = v->hdr.cmd < VFU_CMDS ? vfu_handlers[v->hdr.cmd] : NULL;

	v->send_fd = -1;
	return fn && (v->versioned || v->hdr.cmd == VFU_VERSION) ? fn(v) : -ENOTSUP;
}
