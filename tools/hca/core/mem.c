// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory: the regions that the client mapped for DMA, sorted by address, and copying between
 * them and the HCA.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "hca.h"
#include "ifc.h"
#include "mem.h"

/*
 * A file of the client's, which backs guest memory. It is mapped once and whole: behind an IOMMU
 * the client maps guest memory page by page, and a process cannot have that many mappings of its
 * own.
 */
struct backing {
	dev_t dev;
	ino_t ino;
	uint64_t size;
	uint8_t *host;
	bool write;		/* the file can be written to */
	unsigned int users;	/* regions in it */
	struct backing *next;
};

struct region {
	uint64_t iova;
	uint64_t size;
	struct backing *backing;
	uint8_t *host;		/* NULL: the client shared no file */
	bool read, write;
};

struct mem_map {
	struct region *r;	/* sorted by iova, disjoint */
	unsigned int nr;
	unsigned int room;	/* entries that r has memory for */
	unsigned int hit;	/* index found by the last lookup, tried first by the next lookup */
	struct backing *backings;
	struct mem_map *next;	/* list of the maps of all HCAs of the process */
};

/* ---- files that the client makes shorter ----------------------------------------------------- */

/*
 * Guards the list of maps and the list of backings of each map. The handler of SIGBUS takes this
 * lock, in the thread whose access to guest memory raised the signal, so a thread that holds the
 * lock must not access guest memory. The thread of an HCA changes the HCA's own map only, and reads
 * that map without the lock.
 */
static pthread_mutex_t all_maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mem_map *all_maps;

static struct backing *backing_at(const uint8_t *host)
{
	struct mem_map *m;
	struct backing *b;

	for (m = all_maps; m; m = m->next)
		for (b = m->backings; b; b = b->next)
			if (host >= b->host && host < b->host + b->size)
				return b;
	return NULL;
}

/*
 * A thread has accessed a page that the client has truncated from its file. Map zeroed memory in
 * place of the whole file, so that the other HCAs of the process run on.
 */
static void mem_on_sigbus(int sig, siginfo_t *info, void *context)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	struct backing *b;

	(void)context;
	pthread_mutex_lock(&all_maps_lock);
	b = backing_at(info->si_addr);
	pthread_mutex_unlock(&all_maps_lock);
	if (!b || mmap(b->host, b->size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL);	/* the access is repeated, and ends the process */
}

static void mem_guard(void)
{
	const struct sigaction guard = { .sa_sigaction = mem_on_sigbus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &guard, NULL);
}

static void mem_forget(struct mem_map *m)
{
	struct mem_map **at = &all_maps;

	pthread_mutex_lock(&all_maps_lock);
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	pthread_mutex_unlock(&all_maps_lock);
}

/* ---- the map --------------------------------------------------------------------------------- */

/**
 * mem_init() - start without guest memory
 * @hca: the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int mem_init(struct hca *hca)
{
	hca->mem = calloc(1, sizeof(*hca->mem));
	if (!hca->mem)
		return -ENOMEM;
	pthread_mutex_lock(&all_maps_lock);
	hca->mem->next = all_maps;
	all_maps = hca->mem;
	pthread_mutex_unlock(&all_maps_lock);
	return 0;
}

/* Map the file @fd, whose size is in @st. Return 0, -ENOMEM or the error of mmap(). */
static int backing_map(struct mem_map *m, int fd, const struct stat *st, struct backing **out)
{
	struct backing *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->write = true;
	b->host = mmap(NULL, st->st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b->host == MAP_FAILED) {
		b->write = false;
		b->host = mmap(NULL, st->st_size, PROT_READ, MAP_SHARED, fd, 0);
	}
	if (b->host == MAP_FAILED) {
		err = -errno;
		free(b);
		return err;
	}
	b->dev = st->st_dev;
	b->ino = st->st_ino;
	b->size = st->st_size;
	pthread_mutex_lock(&all_maps_lock);
	b->next = m->backings;
	m->backings = b;
	pthread_mutex_unlock(&all_maps_lock);
	mem_guard();
	*out = b;
	return 0;
}

/* Find the mapping of the file @fd, or map the file. Increments its @users. */
static int backing_get(struct mem_map *m, int fd, struct backing **out)
{
	struct backing *b;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0)
		return -EINVAL;
	for (b = m->backings; b; b = b->next)
		if (b->dev == st.st_dev && b->ino == st.st_ino && b->size == (uint64_t)st.st_size)
			break;
	if (!b) {
		err = backing_map(m, fd, &st, &b);
		if (err)
			return err;
	}
	b->users++;
	*out = b;
	return 0;
}

static void backing_put(struct mem_map *m, struct backing *b)
{
	struct backing **at = &m->backings;

	if (--b->users)
		return;
	pthread_mutex_lock(&all_maps_lock);
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	pthread_mutex_unlock(&all_maps_lock);
	munmap(b->host, b->size);
	free(b);
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

/* Back the region @r with the @r->size bytes at @offset of the file @fd. */
static int region_back(struct mem_map *m, struct region *r, int fd, uint64_t offset)
{
	int err = backing_get(m, fd, &r->backing);

	if (err)
		return err;
	if (offset > r->backing->size || r->size > r->backing->size - offset)
		err = -EINVAL;
	else if (r->write && !r->backing->write)
		err = -EACCES;
	if (err) {
		backing_put(m, r->backing);
		return err;
	}
	r->host = r->backing->host + offset;
	return 0;
}

static int mem_grow(struct mem_map *m)
{
	unsigned int room = m->room ? 2 * m->room : 16;
	struct region *r;

	if (m->nr < m->room)
		return 0;
	r = realloc(m->r, room * sizeof(*r));
	if (!r)
		return -ENOMEM;
	m->r = r;
	m->room = room;
	return 0;
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
 * Return: 0, -EINVAL if the range is empty, wraps or is not all in the file, -EEXIST if it overlaps
 * another range, -EACCES if the device may write but the file cannot be written to, -ENOMEM, or the
 * error of fstat() or mmap().
 */
int mem_map_fd(struct hca *hca, uint64_t iova, uint64_t size, int fd, uint64_t offset, bool read,
	       bool write)
{
	struct mem_map *m = hca->mem;
	struct region n = { .iova = iova, .size = size, .read = read, .write = write };
	unsigned int at;
	int err;

	if (!size || iova + (size - 1) < iova)
		return -EINVAL;
	at = mem_lower_bound(m, iova);
	if (at < m->nr && m->r[at].iova <= iova + (size - 1))
		return -EEXIST;
	err = mem_grow(m);
	if (!err && fd >= 0)
		err = region_back(m, &n, fd, offset);
	if (err)
		return err;
	memmove(&m->r[at + 1], &m->r[at], (m->nr - at) * sizeof(n));
	m->r[at] = n;
	m->nr++;
	return 0;
}

/* Drop the regions from @at to before @end. */
static void mem_regions_drop(struct mem_map *m, unsigned int at, unsigned int end)
{
	unsigned int i;

	if (at == end)		/* also before the first region was added: there is no array then */
		return;
	for (i = at; i < end; i++)
		if (m->r[i].backing)
			backing_put(m, m->r[i].backing);
	memmove(&m->r[at], &m->r[end], (m->nr - end) * sizeof(*m->r));
	m->nr -= end - at;
	m->hit = 0;
}

/**
 * mem_unmap() - remove all mappings in a range
 * @hca: the HCA
 * @iova: guest address
 * @size: bytes
 *
 * The range may hold any number of mappings, or none: when the guest unmaps the last small page of
 * a larger page, its IOMMU unmaps the whole larger page.
 *
 * Return: the number of bytes that were mapped; -EINVAL if the range is empty, wraps or covers only
 * a part of a mapping: nothing is removed then.
 */
int64_t mem_unmap(struct hca *hca, uint64_t iova, uint64_t size)
{
	struct mem_map *m = hca->mem;
	uint64_t last = iova + (size - 1);
	unsigned int at, end;
	int64_t bytes = 0;

	if (!size || last < iova)
		return -EINVAL;
	at = mem_lower_bound(m, iova);
	if (at < m->nr && m->r[at].iova < iova)
		return -EINVAL;
	for (end = at; end < m->nr && m->r[end].iova <= last; end++) {
		if (m->r[end].iova + (m->r[end].size - 1) > last)
			return -EINVAL;
		bytes += m->r[end].size;
	}
	mem_regions_drop(m, at, end);
	return bytes;
}

/**
 * mem_unmap_all() - remove all ranges, because the client is gone
 * @hca: the HCA
 */
void mem_unmap_all(struct hca *hca)
{
	mem_regions_drop(hca->mem, 0, hca->mem->nr);
}

/**
 * mem_exit() - remove all ranges, and free the map of guest memory
 * @hca: the HCA
 */
void mem_exit(struct hca *hca)
{
	if (!hca->mem)
		return;
	mem_unmap_all(hca);
	mem_forget(hca->mem);
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

/* A function that is not a bus master, or not in D0, sends no requests. */
static bool mem_dma_off(struct hca *hca)
{
	hca->count.dma_blocked += hca->dma_off;
	return hca->dma_off;
}

/**
 * mem_ptr() - find the host address of guest memory
 * @hca: the HCA
 * @iova: guest address
 * @len: bytes
 * @write: the caller will write
 *
 * Return: the address, valid until the event loop runs again; NULL unless the function is a bus
 * master in D0 and one region that allows the access covers the whole range.
 */
void *mem_ptr(struct hca *hca, uint64_t iova, size_t len, bool write)
{
	const struct region *r = mem_region_find(hca->mem, iova);

	if (mem_dma_off(hca) || !r || !r->host || !(write ? r->write : r->read))
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
	if (mem_dma_off(hca) || !mem_reachable(hca, iova, len, write))
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
 * @buf: destination
 * @len: bytes
 *
 * Return: 0, or -EFAULT if any byte cannot be reached: @buf is then all ones, as after a PCI read
 * that no device answers.
 */
int mem_read(struct hca *hca, uint64_t iova, void *buf, size_t len)
{
	int err = mem_copy(hca, iova, buf, len, false);

	if (err)
		memset(buf, 0xff, len);
	return err;
}

/**
 * mem_write() - copy to guest memory
 * @hca: the HCA
 * @iova: guest address
 * @buf: source
 * @len: bytes
 *
 * Return: 0, or -EFAULT (nothing copied) if any byte cannot be reached.
 */
int mem_write(struct hca *hca, uint64_t iova, const void *buf, size_t len)
{
	return mem_copy(hca, iova, (uint8_t *)(uintptr_t)buf, len, true);
}
