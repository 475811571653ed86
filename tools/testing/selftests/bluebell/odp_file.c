// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions over files of a disk's file system, in the page cache and without it (DAX): what the
 * device has written reaches the disk; truncated pages are not accessed; which files can be pinned.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paged_setup.h"
#include "scratch.h"

#define FILE_PATH SCRATCH "/file"
#define OTHER_PATH SCRATCH "/other"

FIXTURE(file) {
	struct paged o;
	bool mounted;
	int fd;
	uint8_t *mem;		/* the file, shared */
	struct ibv_mr *mr;	/* over @mem, paged */
};

FIXTURE_VARIANT(file) {
	bool dax;
};

FIXTURE_VARIANT_ADD(file, cached) { .dax = false };

FIXTURE_VARIANT_ADD(file, dax) { .dax = true };

/* Map a file of LEN bytes, whose blocks are allocated; returns the file, or -1. */
static int map_file(const char *path, uint8_t **mem)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t data[UV_PAGE];
	size_t off;

	memset(data, 0xee, sizeof(data));
	for (off = 0; off < LEN; off += sizeof(data))
		if (pwrite(fd, data, sizeof(data), off) != sizeof(data))
			return -1;
	*mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *mem == MAP_FAILED ? -1 : fd;
}

static bool file_is_dax(int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) &&
	       st.stx_attributes & STATX_ATTR_DAX;
}

static int mount_scratch(bool dax)
{
	return scratch_mount(dax ? "/dev/pmem0" : "/dev/ram0", dax ? "dax=always" : "");
}

FIXTURE_SETUP(file)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	if (variant->dax ? scratch_pmem_device() : scratch_ram_device())
		SKIP(return, "%s", variant->dax ? NO_PMEM : NO_SCRATCH);
	if (scratch_format(variant->dax ? "/dev/pmem0" : "/dev/ram0"))
		SKIP(return, NO_SCRATCH);
	ASSERT_EQ(0, mount_scratch(variant->dax));
	self->mounted = true;
	self->fd = map_file(FILE_PATH, &self->mem);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(variant->dax, file_is_dax(self->fd));
	self->mr = ibv_reg_mr(self->o.r.pd, self->mem, LEN, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, self->mr);
}

/* Deregister the region, unmap and close the file. Returns the result of deregistration. */
static int drop_file(struct _test_data_file *self)
{
	int ret = self->mr ? ibv_dereg_mr(self->mr) : 0;

	if (self->mem)
		munmap(self->mem, LEN);
	if (self->fd > 0)
		close(self->fd);
	self->mr = NULL;
	self->mem = NULL;
	self->fd = 0;
	return ret;
}

FIXTURE_TEARDOWN(file)
{
	EXPECT_EQ(0, drop_file(self));
	if (self->mounted)
		EXPECT_EQ(0, scratch_unmount());
	EXPECT_EQ(0, paged_close(&self->o));
}

/* Have the device access the file once. Returns as paged_run(). */
static int access_file(struct paged *o, struct ibv_mr *mr, enum kind op, size_t off, uint32_t len)
{
	return paged_run(o, op, o->p.buf[0], o->p.mr->lkey, mr->addr + off, mr->rkey, len);
}

/*
 * Returns whether @len bytes of a file at @off have the pattern of fill() on the disk, not only in
 * the page cache.
 */
static bool disk_has(const char *path, size_t off, size_t len, unsigned int seed)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	uint8_t *data = paged_map(NULL);
	bool has;

	has = data != MAP_FAILED && pread(fd, data, len, off) == (ssize_t)len &&
	      check_fill(data, len, seed);
	munmap(data, LEN);
	close(fd);
	return has;
}

static int sync_mapping(const uint8_t *mem, int fd)
{
	return msync((void *)mem, LEN, MS_SYNC);
}

static int sync_file(const uint8_t *mem, int fd)
{
	return fsync(fd);
}

static int sync_all(const uint8_t *mem, int fd)
{
	sync();
	return 0;
}

/*
 * After a write-back the pages are clean. The device must fault when it writes to them again, or
 * the kernel would not learn that they are dirty.
 */
TEST_F(file, what_the_device_has_written_is_written_back)
{
	int (*const ways[])(const uint8_t *mem, int fd) = { sync_mapping, sync_file, sync_all };
	struct paged *o = &self->o;
	unsigned int i, seed;

	for (seed = 0; seed < 9; seed++) {
		fill(o->p.buf[0], LEN, seed);
		ASSERT_EQ(0, access_file(o, self->mr, WRITE, 0, LEN));
		i = seed % 3;
		ASSERT_EQ(0, ways[i](self->mem, self->fd));
		ASSERT_TRUE(disk_has(FILE_PATH, 0, LEN, seed)) TH_LOG("round %u", seed);
	}
	/* Unmounting the file system writes the pages back, too. */
	fill(o->p.buf[0], LEN, seed);
	ASSERT_EQ(0, access_file(o, self->mr, WRITE, 0, LEN));
	EXPECT_EQ(0, drop_file(self));
	ASSERT_EQ(0, scratch_unmount());
	ASSERT_EQ(0, mount_scratch(variant->dax));
	EXPECT_TRUE(disk_has(FILE_PATH, 0, LEN, seed));
}

TEST_F(file, private_mapping_leaves_the_file_as_it_is)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;
	uint8_t *copy;

	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, access_file(o, self->mr, WRITE, 0, LEN));
	copy = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, 0);
	ASSERT_NE(MAP_FAILED, copy);
	mr = ibv_reg_mr(o->r.pd, copy, LEN, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, access_file(o, mr, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 1));
	fill(o->p.buf[0], LEN, 2);
	ASSERT_EQ(0, access_file(o, mr, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(copy, LEN, 2));
	EXPECT_TRUE(check_fill(self->mem, LEN, 1));
	ASSERT_EQ(0, fsync(self->fd));
	EXPECT_TRUE(disk_has(FILE_PATH, 0, LEN, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(copy, LEN);
}

/*
 * Before the kernel writes a page back, it makes the page read-only, but it cannot take the right
 * to write to a pinned page from the device.
 */
TEST_F(file, cannot_be_pinned_for_writing)
{
	struct paged *o = &self->o;
	struct ibv_mr *mr;

	EXPECT_EQ(NULL, ibv_reg_mr(o->r.pd, self->mem, LEN, ALL_ACCESS));
	EXPECT_EQ(variant->dax ? EOPNOTSUPP : EFAULT, errno);
	mr = ibv_reg_mr(o->r.pd, self->mem, LEN, IBV_ACCESS_REMOTE_READ);
	if (variant->dax) {
		EXPECT_EQ(NULL, mr);
		EXPECT_EQ(EOPNOTSUPP, errno);
		return;
	}
	ASSERT_NE(NULL, mr);
	fill(self->mem, LEN, 1);
	ASSERT_EQ(0, msync(self->mem, LEN, MS_SYNC));
	ASSERT_EQ(0, access_file(o, mr, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 1));
	fill(o->p.buf[1], LEN, 2);
	ASSERT_EQ(LEN, pwrite(self->fd, o->p.buf[1], LEN, 0));
	ASSERT_EQ(0, access_file(o, mr, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* Write a pattern to another file until the disk is full; returns its length in pieces of LEN. */
static int fill_disk(int fd)
{
	uint8_t *data = paged_map(NULL);
	int n = 0;

	fill(data, LEN, 7);
	while (write(fd, data, LEN) == LEN)
		n++;
	munmap(data, LEN);
	return n;
}

/* Returns whether the other file has its pattern, in the page cache and on the disk. */
static bool other_is_whole(int fd, int pieces)
{
	uint8_t *data = paged_map(NULL);
	bool whole = !fsync(fd);
	int i;

	for (i = 0; whole && i < pieces; i++)
		whole = pread(fd, data, LEN, i * LEN) == LEN && check_fill(data, LEN, 7) &&
			disk_has(OTHER_PATH, i * LEN, LEN, 7);
	munmap(data, LEN);
	return whole;
}

static bool is_zero(const uint8_t *data, size_t len)
{
	return !data[0] && !memcmp(data, data + 1, len - 1);
}

/* After the truncation another file gets the blocks and pages that the device had access to. */
TEST_F(file, truncated_part_is_not_accessed_until_the_file_grows)
{
	const size_t half = LEN / 2;
	struct paged *o = &self->o;
	struct stat st;
	int fd, pieces;

	fill(o->p.buf[0], LEN, 1);
	ASSERT_EQ(0, access_file(o, self->mr, WRITE, 0, LEN));
	ASSERT_EQ(0, ftruncate(self->fd, half));
	fd = open(OTHER_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	pieces = fill_disk(fd);
	ASSERT_LT(8, pieces);

	fill(o->p.buf[0], LEN, 2);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_file(o, self->mr, WRITE, half, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, access_file(o, self->mr, READ, half, 64));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  access_file(o, self->mr, WRITE, half - UV_PAGE, half + UV_PAGE));
	EXPECT_TRUE(other_is_whole(fd, pieces));
	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_EQ(half, st.st_size);
	ASSERT_EQ(0, access_file(o, self->mr, READ, 0, half - UV_PAGE));
	EXPECT_TRUE(check_fill(o->p.buf[0], half - UV_PAGE, 1));

	ASSERT_EQ(0, ftruncate(fd, (pieces - 2) * LEN));
	ASSERT_EQ(0, ftruncate(self->fd, LEN));
	ASSERT_EQ(0, access_file(o, self->mr, READ, half, half));
	EXPECT_TRUE(is_zero(o->p.buf[0], half));
	fill(o->p.buf[0], LEN, 3);
	ASSERT_EQ(0, access_file(o, self->mr, WRITE, 0, LEN));
	ASSERT_EQ(0, fsync(self->fd));
	EXPECT_TRUE(disk_has(FILE_PATH, 0, LEN, 3));
	EXPECT_TRUE(other_is_whole(fd, pieces - 2));
	close(fd);
}

TEST_HARNESS_MAIN
