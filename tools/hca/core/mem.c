// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory: the regions that the client mapped for DMA, sorted by address, and copying between
 * them and the HCA.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hca.h"
#include "ifc.h"
#include "mem.h"

struct region {
	uint64_t iova;
	uint64_t size;
	uint8_t *host;		/* NULL: the client shared no file */
	bool read, write;
};

struct mem_map {
	struct region *r;	/* sorted by iova, disjoint */
	unsigned int nr;
	unsigned int hit;	/* index of the last region found: accesses cluster */
};

/**
 * mem_init() - start without guest memory
 * @hca: the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int mem_init(struct hca *hca)
{
	hca->mem = calloc(1, sizeof(*hca->mem));
	return hca->mem ? 0 : -ENOMEM;
}

static unsigned int mem_lower_bound(const struct mem_map *m, uint64_t iova)
{
	unsigned int lo = 0, hi = m->nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (m->r[mid].iova + (m->r[mid].size - 1) < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * mem_map_fd() - map the range [@iova, @iova + @size) of guest memory
 * @hca: the HCA
 * @iova: guest address
 * @size: bytes
 * @fd: file that backs the range, or -1 when the client shares none
 * @offset: of the range in the file
 * @read: the device may read
 * @write: the device may write
 *
 * Return: 0, -EINVAL for an empty range or one that wraps, -EEXIST when it overlaps another,
 * -ENOMEM, or the error of mmap().
 */
int mem_map_fd(struct hca *hca, uint64_t iova, uint64_t size, int fd, uint64_t offset, bool read,
	       bool write)
{
	struct mem_map *m = hca->mem;
	struct region *r, n = { .iova = iova, .size = size, .read = read, .write = write };
	unsigned int at;

	if (!size || iova + (size - 1) < iova)
		return -EINVAL;
	at = mem_lower_bound(m, iova);
	if (at < m->nr && m->r[at].iova <= iova + (size - 1))
		return -EEXIST;
	r = realloc(m->r, (m->nr + 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	m->r = r;
	if (fd >= 0) {
		int prot = (read || write ? PROT_READ : 0) | (write ? PROT_WRITE : 0);
		void *p = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

		if (p == MAP_FAILED)
			return -errno;
		n.host = p;
	}
	memmove(&r[at + 1], &r[at], (m->nr - at) * sizeof(*r));
	r[at] = n;
	m->nr++;
	return 0;
}

static void mem_region_drop(struct mem_map *m, unsigned int at)
{
	if (m->r[at].host)
		munmap(m->r[at].host, m->r[at].size);
	m->nr--;
	memmove(&m->r[at], &m->r[at + 1], (m->nr - at) * sizeof(*m->r));
	m->hit = 0;
}

/**
 * mem_unmap() - remove a range
 * @hca: the HCA
 * @iova: guest address, as it was mapped
 * @size: bytes, as it was mapped
 *
 * Return: 0, or -ENOENT if no mapping is exactly this one.
 */
int mem_unmap(struct hca *hca, uint64_t iova, uint64_t size)
{
	struct mem_map *m = hca->mem;
	unsigned int at = mem_lower_bound(m, iova);

	if (at >= m->nr || m->r[at].iova != iova || m->r[at].size != size)
		return -ENOENT;
	mem_region_drop(m, at);
	return 0;
}

/**
 * mem_unmap_all() - remove all ranges, because the client is gone
 * @hca: the HCA
 */
void mem_unmap_all(struct hca *hca)
{
	while (hca->mem->nr)
		mem_region_drop(hca->mem, hca->mem->nr - 1);
}

/**
 * mem_exit() - remove all ranges
 * @hca: the HCA
 */
void mem_exit(struct hca *hca)
{
	mem_unmap_all(hca);
	free(hca->mem->r);
	free(hca->mem);
	hca->mem = NULL;
}

static const struct region *mem_region_find(struct mem_map *m, uint64_t iova)
{
	unsigned int at = m->hit;

	if (at >= m->nr || iova < m->r[at].iova || iova - m->r[at].iova >= m->r[at].size) {
		at = mem_lower_bound(m, iova);
		if (at >= m->nr || iova < m->r[at].iova)
			return NULL;
		m->hit = at;
	}
	return &m->r[at];
}

/**
 * mem_ptr() - find the host address of guest memory
 * @hca: the HCA
 * @iova: guest address
 * @len: bytes
 * @write: the caller will write
 *
 * Return: the address, valid until the event loop runs again; NULL unless one region that
 * allows the access covers the whole range.
 */
void *mem_ptr(struct hca *hca, uint64_t iova, size_t len, bool write)
{
	const struct region *r = mem_region_find(hca->mem, iova);

	if (!r || !r->host || !(write ? r->write : r->read))
		return NULL;
	if (len > r->size - (iova - r->iova))
		return NULL;
	return r->host + (iova - r->iova);
}

static bool mem_reachable(struct hca *hca, uint64_t iova, size_t len, bool write)
{
	while (len) {
		const struct region *r = mem_region_find(hca->mem, iova);
		uint64_t n;

		if (!r || !r->host || !(write ? r->write : r->read))
			return false;
		n = r->size - (iova - r->iova);
		if (n >= len)
			return true;
		iova += n;
		len -= n;
	}
	return true;
}

static int mem_copy(struct hca *hca, uint64_t iova, uint8_t *buf, size_t len, bool write)
{
	if (!mem_reachable(hca, iova, len, write))
		return -EFAULT;
	while (len) {
		const struct region *r = mem_region_find(hca->mem, iova);
		uint8_t *host = r->host + (iova - r->iova);
		uint64_t n = r->size - (iova - r->iova);

		if (n > len)
			n = len;
		if (write)
			memcpy(host, buf, n);
		else
			memcpy(buf, host, n);
		iova += n;
		buf += n;
		len -= n;
	}
	return 0;
}

/**
 * mem_read() - copy from guest memory
 * @hca: the HCA
 * @iova: guest address
 * @buf: where to
 * @len: bytes
 *
 * Return: 0, or -EFAULT (nothing copied) if any byte cannot be reached.
 */
int mem_read(struct hca *hca, uint64_t iova, void *buf, size_t len)
{
	return mem_copy(hca, iova, buf, len, false);
}

/**
 * mem_write() - copy to guest memory
 * @hca: the HCA
 * @iova: guest address
 * @buf: where from
 * @len: bytes
 *
 * Return: 0, or -EFAULT (nothing copied) if any byte cannot be reached.
 */
int mem_write(struct hca *hca, uint64_t iova, const void *buf, size_t len)
{
	return mem_copy(hca, iova, (uint8_t *)(uintptr_t)buf, len, true);
}
