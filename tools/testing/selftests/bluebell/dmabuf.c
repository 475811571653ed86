// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions over a dma-buf of udmabuf, which never moves its memory: which bytes a region reaches,
 * which arguments are refused, and that regions leave no objects and no pinned pages behind.
 */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "test.h"

#define PAGES	16
#define SIZE	(PAGES * UV_PAGE)

FIXTURE(dmabuf) {
	struct rdma r;
	struct pair p;
	int memfd, fd;
	uint8_t *mem;
	long pinned;
};

/* Make a dma-buf of a memfd's pages in a different order, so that they are not contiguous. */
static int export_pages(int memfd)
{
	struct {
		struct udmabuf_create_list list;
		struct udmabuf_create_item item[PAGES];
	} req = { .list = { .flags = UDMABUF_FLAGS_CLOEXEC, .count = PAGES } };
	int dev = open("/dev/udmabuf", O_RDWR), fd;
	unsigned int i;

	if (dev < 0)
		return -errno;
	for (i = 0; i < PAGES; i++)
		req.item[i] = (struct udmabuf_create_item){
			.memfd = memfd, .offset = (i * 7 % PAGES) * UV_PAGE, .size = UV_PAGE,
		};
	fd = ioctl(dev, UDMABUF_CREATE_LIST, &req);
	if (fd < 0)
		fd = -errno;
	close(dev);
	return fd;
}

/* The address at which the process sees byte @i of the dma-buf, in its mapping of the memfd. */
static uint8_t *byte_of(uint8_t *mem, size_t i)
{
	return mem + (i / UV_PAGE * 7 % PAGES) * UV_PAGE + i % UV_PAGE;
}

/* mlx5_ib registers a dma-buf only on a device that can report page faults. */
static bool refuses_dmabufs(struct rdma *r, int fd)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(r->pd, 0, UV_PAGE, 0, fd, 0);
	int err = errno;

	if (mr)
		ibv_dereg_mr(mr);
	return !mr && err == EOPNOTSUPP && !driver_is("bluebell");
}

FIXTURE_SETUP(dmabuf)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	self->memfd = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	ASSERT_LE(0, self->memfd);
	ASSERT_EQ(0, ftruncate(self->memfd, SIZE));
	ASSERT_EQ(0, fcntl(self->memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	self->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->memfd, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->fd = export_pages(self->memfd);
	ASSERT_LE(0, self->fd) TH_LOG("udmabuf: %s", strerror(-self->fd));
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, SIZE));
	self->pinned = uv_pinned_pages();
	if (refuses_dmabufs(&self->r, self->fd))
		SKIP(return, "mlx5_ib needs on-demand paging for a dma-buf");
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(dmabuf)
{
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	pair_close(&self->p);
	rdma_close(&self->r);
	munmap(self->mem, SIZE);
	close(self->fd);
	close(self->memfd);
}

TEST_F(dmabuf, exactly_its_bytes_can_be_reached)
{
	const struct { uint64_t offset, len, iova; } cases[] = {
		{ 0, SIZE, 0 }, { 0, SIZE, 0x7000000 }, { 100, 5000, 100 },
		{ 3 * UV_PAGE + 77, 9 * UV_PAGE, 0x40000000 + 77 },
		{ SIZE - 1, 1, UV_PAGE - 1 },
		{ 5 * UV_PAGE, UV_PAGE, 5 * UV_PAGE },
	};
	struct ibv_mr *mr;
	size_t c, i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		uint64_t off = cases[c].offset, len = cases[c].len, iova = cases[c].iova;

		memset(self->mem, 0, SIZE);
		mr = ibv_reg_dmabuf_mr(self->r.pd, off, len, iova, self->fd, ALL_ACCESS);
		ASSERT_NE(NULL, mr) TH_LOG("case %zu: errno %d", c, errno);
		fill(self->p.buf[0], len, c);
		ASSERT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, iova, len))
			TH_LOG("case %zu", c);
		for (i = 0; i < len; i++)
			if (*byte_of(self->mem, off + i) != self->p.buf[0][i])
				break;
		EXPECT_EQ(len, i) TH_LOG("case %zu", c);
		if (off)
			EXPECT_EQ(0, *byte_of(self->mem, off - 1));
		if (off + len < SIZE)
			EXPECT_EQ(0, *byte_of(self->mem, off + len));
		memset(self->p.buf[0], 0, len);
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, iova, len));
		EXPECT_TRUE(check_fill(self->p.buf[0], len, c)) TH_LOG("case %zu", c);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, iova + len, 1));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, iova - 1, 1));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, iova, 1));
	}
}

TEST_F(dmabuf, only_requested_rights_are_granted)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(self->r.pd, 0, SIZE, 0, self->fd,
					      IBV_ACCESS_REMOTE_READ);

	ASSERT_NE(NULL, mr);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 8));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, 8));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* The region keeps the memory after the descriptors of the dma-buf and of the memfd are closed. */
TEST_F(dmabuf, region_works_after_the_descriptor_is_closed)
{
	int memfd = memfd_create("gone", MFD_ALLOW_SEALING), fd;
	struct ibv_mr *mr;

	ASSERT_EQ(0, ftruncate(memfd, SIZE));
	ASSERT_EQ(0, fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = export_pages(memfd);
	ASSERT_LE(0, fd);
	mr = ibv_reg_dmabuf_mr(self->r.pd, 0, SIZE, 0, fd, ALL_ACCESS);
	ASSERT_NE(NULL, mr);
	close(fd);
	close(memfd);
	fill(self->p.buf[0], SIZE, 3);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, SIZE));
	memset(self->p.buf[0], 0, SIZE);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, SIZE));
	EXPECT_TRUE(check_fill(self->p.buf[0], SIZE, 3));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(dmabuf, several_regions_over_one_dmabuf_work)
{
	/*
	 * Each region maps the whole buffer, and DMA debugging warns of more than seven
	 * mappings.
	 */
	struct ibv_mr *mr[6];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		mr[i] = ibv_reg_dmabuf_mr(self->r.pd, i * UV_PAGE, 2 * UV_PAGE, 0, self->fd,
					  ALL_ACCESS);
		ASSERT_NE(NULL, mr[i]);
	}
	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		*byte_of(self->mem, i * UV_PAGE) = i + 1;
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr[i]->rkey, 0, 1));
		EXPECT_EQ(i + 1, self->p.buf[0][0]);
		EXPECT_EQ(0, ibv_dereg_mr(mr[i]));
	}
}

TEST_F(dmabuf, invalid_arguments_are_refused)
{
	const struct { uint64_t offset, len, iova; } bad[] = {
		{ 0, SIZE + 1, 0 }, { SIZE, 1, 0 }, { 1, SIZE, 1 }, { 0, 0, 0 }, { 0, ~0ull, 0 },
		{ ~0ull << 12, UV_PAGE, 0 }, { ~0ull << 12, 2 * UV_PAGE, 0 }, { 8, 64, 0 },
		{ 0, 64, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(NULL, ibv_reg_dmabuf_mr(self->r.pd, bad[i].offset, bad[i].len,
						  bad[i].iova, self->fd, ALL_ACCESS))
			TH_LOG("case %zu", i);
		EXPECT_EQ(EINVAL, errno) TH_LOG("case %zu", i);
	}
	EXPECT_EQ(NULL, ibv_reg_dmabuf_mr(self->r.pd, 0, UV_PAGE, 0, -1, ALL_ACCESS));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(NULL, ibv_reg_dmabuf_mr(self->r.pd, 0, UV_PAGE, 0, self->memfd, ALL_ACCESS));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_reg_dmabuf_mr(self->r.pd, 0, UV_PAGE, 0, self->fd,
					  IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_reg_dmabuf_mr(self->r.pd, 0, UV_PAGE, 0, self->fd,
					  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
}

/*
 * A re-registration with other rights, or with memory of the process, either succeeds or leaves the
 * region as it was.
 */
TEST_F(dmabuf, rereg_changes_rights_and_memory)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(self->r.pd, 0, SIZE, 0, self->fd, ALL_ACCESS);
	void *mem = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	ASSERT_NE(NULL, mr);
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ);
	if (!ret) {
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 8));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, 8));
	} else {
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, 8));
	}
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL,
			   mem, UV_PAGE, ALL_ACCESS);
	if (!ret) {
		fill(self->p.buf[0], UV_PAGE, 9);
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem,
					 UV_PAGE));
		EXPECT_TRUE(check_fill(mem, UV_PAGE, 9));
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 8));
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, UV_PAGE);
}

TEST_HARNESS_MAIN
