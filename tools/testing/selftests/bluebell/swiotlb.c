// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On a host where each mapping for DMA is a copy (swiotlb=force on the kernel's command line) the
 * device and a process cannot share memory, because neither would see what the other writes. What
 * needs shared memory is refused, and nothing is left behind; what does not need it works.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define LEN (64 * UV_PAGE)

FIXTURE(bounced) {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	void *mem;
};

static bool bounces(void)
{
	char line[4096] = "";
	int fd = open("/proc/cmdline", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	close(fd);
	return n > 0 && strstr(line, "swiotlb=") && strstr(line, ",force");
}

FIXTURE_SETUP(bounced)
{
	if (!bounces())
		SKIP(return, "needs a guest of scripts/vm --swiotlb");
	self->ctx = rdma_open_device();
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	/* Let the driver create what it creates at first use. */
	ibv_reg_mr(self->pd, self->mem, LEN, 0);
	if (rdma_has_odp(self->ctx))
		ibv_reg_mr(self->pd, self->mem, LEN, IBV_ACCESS_ON_DEMAND);
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(bounced)
{
	if (self->pd)
		ibv_dealloc_pd(self->pd);
	if (self->ctx)
		ibv_close_device(self->ctx);
}

TEST_F(bounced, memory_is_refused)
{
	int access;

	for (access = 0; access <= IBV_ACCESS_LOCAL_WRITE; access += IBV_ACCESS_LOCAL_WRITE) {
		EXPECT_EQ(NULL, ibv_reg_mr(self->pd, self->mem, LEN, access));
		EXPECT_EQ(EIO, errno);
		EXPECT_EQ(NULL, ibv_reg_mr(self->pd, self->mem, 64, access));
		EXPECT_EQ(EIO, errno);
	}
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_CENSUS_UNCHANGED();
}

TEST_F(bounced, paged_memory_is_refused)
{
	if (!rdma_has_odp(self->ctx))
		SKIP(return, "the device has no on-demand paging");
	EXPECT_EQ(NULL, ibv_reg_mr(self->pd, self->mem, LEN, IBV_ACCESS_ON_DEMAND));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_CENSUS_UNCHANGED();
}

TEST_F(bounced, queues_are_refused)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	EXPECT_EQ(NULL, ibv_create_cq(self->ctx, 16, NULL, NULL, 0));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(NULL, ibv_create_srq(self->pd, &attr));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(0, uv_pinned_pages());
	EXPECT_CENSUS_UNCHANGED();
}

TEST_HARNESS_MAIN
