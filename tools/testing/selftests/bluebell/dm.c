// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocation, alignment and exhaustion; access through mappings; regions over device
 * memory in RDMA and atomic requests; operations at special addresses; isolation between contexts;
 * when memory is given back to firmware.
 */
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <sys/wait.h>

#include "removal.h"
#include "test.h"

#define ZERO_BASED	(ALL_ACCESS | IBV_ACCESS_ZERO_BASED)
#define INCREMENT	0
#define TEST_AND_SET	1
#define NO_DM "the device has no device memory"

/* --- The mmap space -------------------------------------------------------------------------- */

static void *map_dm(int fd, uint16_t page_idx, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, fd, uv_mmap_off(MLX5_IB_MMAP_DEVICE_MEM, page_idx));
}

static void *map_dm_rw(int fd, uint16_t page_idx, size_t len)
{
	return map_dm(fd, page_idx, len, PROT_READ | PROT_WRITE, MAP_SHARED);
}

static uint64_t max_dm_size(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(ctx, NULL, &attr) ? 0 : attr.max_dm_size;
}

static bool has_dm(struct ibv_context *ctx)
{
	return max_dm_size(ctx);
}

/* --- Allocation and the mapping -------------------------------------------------------------- */

FIXTURE(dm) {
	struct rdma r;
	uint64_t max;
};

FIXTURE_SETUP(dm)
{
	ASSERT_EQ(0, rdma_open(&self->r));
	self->max = max_dm_size(self->r.ctx);
	if (!self->max)
		SKIP(return, NO_DM);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(dm)
{
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	rdma_close(&self->r);
}

static struct ibv_dm *alloc_dm(struct rdma *r, size_t len, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = len, .log_align_req = log_align };

	return ibv_alloc_dm(r->ctx, &attr);
}

TEST_F(dm, bytes_written_are_read_back)
{
	const size_t len[] = { 4, 64, 100, 4096, 4100, self->max };
	uint8_t *out = malloc(self->max), *in = malloc(self->max);
	struct ibv_dm *dm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		dm = alloc_dm(&self->r, len[i], 0);
		ASSERT_NE(NULL, dm) TH_LOG("%zu bytes: errno %d", len[i], errno);
		fill(out, len[i], i);
		memset(in, 0, len[i]);
		EXPECT_EQ(0, ibv_memcpy_to_dm(dm, 0, out, len[i]));
		EXPECT_EQ(0, ibv_memcpy_from_dm(in, dm, 0, len[i]));
		EXPECT_EQ(0, memcmp(out, in, len[i])) TH_LOG("%zu bytes", len[i]);
		/* Overwrite the last four bytes: the bytes before them must not change. */
		memset(in, 0x5a, 4);
		EXPECT_EQ(0, ibv_memcpy_to_dm(dm, len[i] - 4, in, 4));
		memset(out + len[i] - 4, 0x5a, 4);
		EXPECT_EQ(0, ibv_memcpy_from_dm(in, dm, 0, len[i]));
		EXPECT_EQ(0, memcmp(out, in, len[i])) TH_LOG("%zu bytes", len[i]);
		EXPECT_EQ(0, ibv_free_dm(dm));
	}
	free(in);
	free(out);
}

TEST_F(dm, copies_beyond_the_allocation_fail)
{
	struct ibv_dm *dm = alloc_dm(&self->r, 64, 0);
	uint8_t buf[128];

	ASSERT_NE(NULL, dm);
	EXPECT_NE(0, ibv_memcpy_to_dm(dm, 0, buf, 68));
	EXPECT_NE(0, ibv_memcpy_to_dm(dm, 64, buf, 4));
	EXPECT_NE(0, ibv_memcpy_from_dm(buf, dm, 4, 64));
	EXPECT_EQ(0, ibv_memcpy_from_dm(buf, dm, 4, 60));
	EXPECT_EQ(0, ibv_free_dm(dm));
}

TEST_F(dm, invalid_lengths_are_refused)
{
	const uint64_t bad[] = { 0, self->max + 1, 2 * self->max, 1ull << 32, 1ull << 63, ~0ull };
	struct uv_dm dm;
	size_t i;
	int ret;

	if (!driver_is("bluebell"))	/* mlx5_ib has firmware refuse the length 0 */
		ASSERT_EQ(0, hca_expect("refuse ALLOC_MEMIC BAD_PARAM_ERR 1"));
	EXPECT_EQ(NULL, alloc_dm(&self->r, self->max + 1, 0));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = uv_alloc_dm(self->r.ctx->cmd_fd, bad[i], 0, &dm);
		EXPECT_TRUE(ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("%#llx bytes: %d", (unsigned long long)bad[i], ret);
		if (!ret)
			uv_free_dm(self->r.ctx->cmd_fd, dm.handle);
	}
}

/* If an answer cannot be written, the memory is freed again. */
TEST_F(dm, unwritable_answer_is_a_fault_and_leaks_nothing)
{
	uint64_t len = 64, offset, type = MLX5_IB_UAPI_DM_TYPE_MEMIC;
	uint32_t align = 0;
	uint16_t page;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_LENGTH, .len = sizeof(len),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = len },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_ALIGNMENT, .len = sizeof(align),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = align },
		{ .attr_id = MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, .len = sizeof(type),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = type },
		{ .attr_id = MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, .len = sizeof(offset),
		  .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, .len = sizeof(page),
		  .flags = UVERBS_ATTR_F_MANDATORY },
	};
	struct uv_dm dm;
	int i;

	for (i = 0; i < 2; i++) {
		attrs[4].data = i ? (uintptr_t)&offset : 0x1000;
		attrs[5].data = i ? 0x1000 : (uintptr_t)&page;
		EXPECT_EQ(-EFAULT, uv_ioctl(self->r.ctx->cmd_fd, UVERBS_OBJECT_DM,
					    UVERBS_METHOD_DM_ALLOC, attrs, 6));
	}
	/* All of the memory can still be allocated. */
	ASSERT_EQ(0, uv_alloc_dm(self->r.ctx->cmd_fd, self->max, 0, &dm));
	EXPECT_EQ(0, uv_free_dm(self->r.ctx->cmd_fd, dm.handle));
}

TEST_F(dm, unknown_attributes_are_refused)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = 1 };

	EXPECT_EQ(NULL, ibv_alloc_dm(self->r.ctx, &attr));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(dm, address_has_the_requested_alignment)
{
	const int fd = self->r.ctx->cmd_fd;
	struct uv_dm dm[13];
	unsigned int i;

	/*
	 * Each takes a page of the host, and the device may have two of 64 KiB: hold two at a time.
	 */
	for (i = 0; i < ARRAY_SIZE(dm); i++) {
		ASSERT_EQ(0, uv_alloc_dm(fd, 64, i, &dm[i])) TH_LOG("2^%u", i);
		EXPECT_EQ(0, dm[i].offset % (1u << i)) TH_LOG("2^%u", i);
		if (i)
			EXPECT_EQ(0, uv_free_dm(fd, dm[i - 1].handle));
	}
	EXPECT_EQ(0, uv_free_dm(fd, dm[i - 1].handle));
}

TEST_F(dm, excessive_alignment_is_refused)
{
	static const uint32_t bad[] = { 13, 20, 32, 64, 255, 256, 1u << 31, ~0u };
	struct uv_dm dm;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, uv_alloc_dm(self->r.ctx->cmd_fd, 64, bad[i], &dm))
			TH_LOG("2^%u", bad[i]);
}

TEST_F(dm, unsupported_types_are_refused)
{
	struct uv_dm dm;
	uint64_t type;

	for (type = MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM; type <= 6; type++) {
		int ret = uv_alloc_dm_type(self->r.ctx->cmd_fd, 4096, 0, type, &dm);

		EXPECT_TRUE(ret == -EOPNOTSUPP || ret == -EINVAL)
			TH_LOG("type %u: %d", (unsigned int)type, ret);
	}
	/* The lower 32 bits are those of MEMIC. */
	EXPECT_EQ(-EINVAL, uv_alloc_dm_type(self->r.ctx->cmd_fd, 4096, 0, 1ULL << 32, &dm));
}

/*
 * Allocate all pages. When every other page is free, one page can be allocated but not two; when
 * all are free, one allocation can have all of them.
 */
TEST_F(dm, all_pages_can_be_allocated_and_freed_again)
{
	unsigned int most = self->max / UV_PAGE + 1, n, i;
	struct uv_dm *dm = calloc(most, sizeof(*dm)), two;
	int fd = self->r.ctx->cmd_fd, round;

	for (round = 0; round < 2; round++) {
		for (n = 0; n < most && !uv_alloc_dm(fd, UV_PAGE, 0, &dm[n]); n++)
			;
		ASSERT_EQ(most - 1, n);
		EXPECT_EQ(-ENOMEM, uv_alloc_dm(fd, UV_PAGE, 0, &two));
		EXPECT_EQ(-ENOMEM, uv_alloc_dm(fd, 64, 0, &two));
		for (i = 0; i < n; i += 2)
			ASSERT_EQ(0, uv_free_dm(fd, dm[i].handle));
		EXPECT_EQ(-ENOMEM, uv_alloc_dm(fd, 2 * UV_PAGE, 0, &two));
		ASSERT_EQ(0, uv_alloc_dm(fd, UV_PAGE, 0, &dm[0]));
		EXPECT_EQ(0, uv_free_dm(fd, dm[0].handle));
		for (i = 1; i < n; i += 2)
			ASSERT_EQ(0, uv_free_dm(fd, dm[i].handle));
		ASSERT_EQ(0, uv_alloc_dm(fd, self->max, 0, &two));
		EXPECT_EQ(0, uv_free_dm(fd, two.handle));
	}
	free(dm);
}

TEST_F(dm, only_whole_shared_mappings_are_allowed)
{
	int fd = self->r.ctx->cmd_fd;
	struct uv_dm dm;
	void *p;

	ASSERT_EQ(0, uv_alloc_dm(fd, 2 * UV_PAGE, 0, &dm));
	EXPECT_EQ(MAP_FAILED, map_dm_rw(fd, dm.page_idx, 3 * UV_PAGE));
	EXPECT_EQ(MAP_FAILED, map_dm(fd, dm.page_idx, 2 * UV_PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE));
	EXPECT_EQ(MAP_FAILED, map_dm_rw(fd, dm.page_idx + 1, UV_PAGE));
	EXPECT_EQ(MAP_FAILED, map_dm_rw(fd, dm.page_idx + 2, UV_PAGE));
	p = map_dm_rw(fd, dm.page_idx, 2 * UV_PAGE);
	ASSERT_NE(MAP_FAILED, p);
	munmap(p, 2 * UV_PAGE);
	EXPECT_EQ(0, uv_free_dm(fd, dm.handle));
	EXPECT_EQ(MAP_FAILED, map_dm_rw(fd, dm.page_idx, 2 * UV_PAGE));
	EXPECT_EQ(EINVAL, errno);
}

/* Two mappings of one allocation show the same bytes. */
TEST_F(dm, all_mappings_show_the_same_bytes)
{
	int fd = self->r.ctx->cmd_fd;
	uint32_t *p, *q;
	struct uv_dm dm;

	ASSERT_EQ(0, uv_alloc_dm(fd, UV_PAGE, 12, &dm));
	p = map_dm_rw(fd, dm.page_idx, UV_PAGE);
	q = map_dm_rw(fd, dm.page_idx, UV_PAGE);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_NE(MAP_FAILED, q);
	p[17] = 0x12345678;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	EXPECT_EQ(0x12345678, *(volatile uint32_t *)&q[17]);
	munmap(p, UV_PAGE);
	munmap(q, UV_PAGE);
	EXPECT_EQ(0, uv_free_dm(fd, dm.handle));
}

/* A child inherits the mapping: the two processes see each other's stores. */
TEST_F(dm, mapping_is_inherited_by_a_child)
{
	int fd = self->r.ctx->cmd_fd, status;
	volatile uint32_t *p;
	struct uv_dm dm;
	pid_t pid;

	ASSERT_EQ(0, uv_alloc_dm(fd, UV_PAGE, 12, &dm));
	p = map_dm_rw(fd, dm.page_idx, UV_PAGE);
	ASSERT_NE(MAP_FAILED, p);
	p[1] = 0x12345678;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		p[2] = 0x87654321;
		_exit(p[1] != 0x12345678);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0x87654321, p[2]);
	munmap((void *)p, UV_PAGE);
	EXPECT_EQ(0, uv_free_dm(fd, dm.handle));
}

/* Memory whose handle is freed while it is mapped is not given to another allocation. */
TEST_F(dm, mapped_memory_survives_its_handle)
{
	unsigned int most = self->max / UV_PAGE, n;
	struct uv_dm *dm = calloc(most, sizeof(*dm)), held;
	int fd = self->r.ctx->cmd_fd;
	uint32_t *p, *q;
	unsigned int i;

	ASSERT_EQ(0, uv_alloc_dm(fd, UV_PAGE, 12, &held));
	p = map_dm_rw(fd, held.page_idx, UV_PAGE);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, uv_free_dm(fd, held.handle));
	p[0] = 0xabcdef01;
	for (n = 0; n < most && !uv_alloc_dm(fd, UV_PAGE, 0, &dm[n]); n++) {
		q = map_dm_rw(fd, dm[n].page_idx, UV_PAGE);
		ASSERT_NE(MAP_FAILED, q);
		q[0] = n;
		munmap(q, UV_PAGE);
	}
	EXPECT_EQ(most - 1, n);
	EXPECT_EQ(0xabcdef01, *(volatile uint32_t *)p);
	munmap(p, UV_PAGE);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, uv_free_dm(fd, dm[i].handle));
	EXPECT_EQ(0, uv_alloc_dm(fd, self->max, 0, &held));
	EXPECT_EQ(0, uv_free_dm(fd, held.handle));
}

/* What the process has written to the memory of its first allocation is not in the second one. */
TEST_F(dm, new_allocation_is_zeroed)
{
	int fd = self->r.ctx->cmd_fd, i;
	struct uv_dm dm;
	uint64_t *p;
	unsigned int n;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, uv_alloc_dm(fd, 64, 0, &dm));
		p = map_dm_rw(fd, dm.page_idx, UV_PAGE);
		ASSERT_NE(MAP_FAILED, p);
		/* The whole page that the mapping shows, not only the 64 bytes asked for. */
		for (n = 0; i && n < UV_PAGE / sizeof(*p); n++)
			ASSERT_EQ(0, p[n]) TH_LOG("word %u", n);
		memset(p, 0xee, UV_PAGE);
		munmap(p, UV_PAGE);
		EXPECT_EQ(0, uv_free_dm(fd, dm.handle));
	}
}

TEST_F(dm, reallocation_needs_no_firmware_command)
{
	const unsigned int times = 20;
	struct ibv_dm *dm;
	unsigned int i;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell promises to reuse memory that was just freed");
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_commands_reset());
	for (i = 0; i < times; i++) {
		dm = alloc_dm(&self->r, 5000, 6);
		ASSERT_NE(NULL, dm);
		EXPECT_EQ(0, ibv_free_dm(dm));
		usleep(2000);
	}
	/* On a slow machine the driver may give the memory back between two rounds, a few times. */
	EXPECT_LE(1, hca_commands("ALLOC_MEMIC"));
	EXPECT_GE(times / 2, hca_commands("ALLOC_MEMIC"));
}

/*
 * The driver sends DEALLOC_MEMIC when the handle is already gone. If firmware refuses, only the
 * driver can repeat the command.
 */
TEST_F(dm, refused_dealloc_is_retried)
{
	struct ibv_dm *dm;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	dm = alloc_dm(&self->r, 5000, 0);
	ASSERT_NE(NULL, dm);
	ASSERT_EQ(0, hca_do("inject op DEALLOC_MEMIC INT_ERR 1"));
	EXPECT_EQ(0, ibv_free_dm(dm));
	usleep(400000);
	EXPECT_EQ(1, hca_census_count("memic"));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_CENSUS_UNCHANGED();
}

TEST_F(dm, other_context_can_neither_map_nor_free_it)
{
	struct ibv_context *other = rdma_open_device();
	struct uv_dm dm;

	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, uv_alloc_dm(self->r.ctx->cmd_fd, UV_PAGE, 0, &dm));
	EXPECT_EQ(MAP_FAILED, map_dm_rw(other->cmd_fd, dm.page_idx, UV_PAGE));
	EXPECT_GT(0, uv_free_dm(other->cmd_fd, dm.handle));
	EXPECT_EQ(0, uv_free_dm(self->r.ctx->cmd_fd, dm.handle));
	ibv_close_device(other);
}

TEST_F(dm, killed_process_leaves_nothing)
{
	int status;
	pid_t pid;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	pid = fork();
	ASSERT_NE(-1, pid);
	if (!pid) {
		struct ibv_context *ctx = rdma_open_device();
		struct ibv_pd *pd = ibv_alloc_pd(ctx);
		struct ibv_alloc_dm_attr attr = { .length = 100 };
		struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
		uint64_t offset;
		uint16_t idx;

		if (!dm || !ibv_reg_dm_mr(pd, dm, 0, 100, ZERO_BASED))
			_exit(1);
		if (uv_map_dm_op(ctx->cmd_fd, dm->handle, INCREMENT, &offset, &idx) ||
		    map_dm_rw(ctx->cmd_fd, idx, UV_PAGE) == MAP_FAILED)
			_exit(2);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("status %#x", status);
}

/* A process that has the command fd of the context can import the memory by its handle. */
TEST_F(dm, can_be_imported_by_handle)
{
	struct ibv_dm *dm = alloc_dm(&self->r, 5000, 0), *import;
	struct ibv_context *ctx;
	uint8_t out[100], in[100];

	ASSERT_NE(NULL, dm);
	fill(out, sizeof(out), 7);
	ASSERT_EQ(0, ibv_memcpy_to_dm(dm, 4900, out, sizeof(out)));
	ctx = ibv_import_device(dup(self->r.ctx->cmd_fd));
	ASSERT_NE(NULL, ctx);
	import = ibv_import_dm(ctx, dm->handle);
	ASSERT_NE(NULL, import) TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_memcpy_from_dm(in, import, 4900, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	EXPECT_NE(0, ibv_memcpy_from_dm(in, import, 4904, sizeof(in)));
	ibv_unimport_dm(import);
	EXPECT_EQ(NULL, ibv_import_dm(ctx, dm->handle + 100));
	EXPECT_EQ(0, ibv_close_device(ctx));
	EXPECT_EQ(0, ibv_free_dm(dm));
}

static void allocate_and_free_until_killed(unsigned int round)
{
	struct ibv_context *ctx = rdma_open_device();
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm, *held = ibv_alloc_dm(ctx, &attr);

	/*
	 * In odd rounds, when the driver is unbound, the process holds no device memory except
	 * that of the loop below.
	 */
	if (held && (round & 1))
		ibv_free_dm(held);
	for (;;) {
		attr.length = 64 << rand() % 8;
		dm = ibv_alloc_dm(ctx, &attr);
		if (dm)
			ibv_free_dm(dm);
		if (round & 2)
			usleep(1000);
	}
}

TEST(device_removal_while_allocating)
{
	if (!device_has(_metadata, has_dm))
		SKIP(return, NO_DM);
	remove_device_during(_metadata, allocate_and_free_until_killed);
}

TEST(dm_without_the_capability_is_refused)
{
	struct rdma r;
	struct uv_dm dm;

	ASSERT_EQ(0, rdma_open(&r));
	if (max_dm_size(r.ctx))
		SKIP(goto out, "the device has device memory");
	/* The HCA must not report device memory either, or the tests above skip by mistake. */
	EXPECT_GE(0, hca_cap("general", "device_memory"));
	EXPECT_EQ(-EOPNOTSUPP, uv_alloc_dm(r.ctx->cmd_fd, 64, 0, &dm));
out:
	rdma_close(&r);
}

/* --- Regions --------------------------------------------------------------------------------- */

FIXTURE(dm_mr) {
	struct rdma r;
	struct pair p;
	struct ibv_dm *dm;
	size_t len;
};

FIXTURE_SETUP(dm_mr)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	if (!max_dm_size(self->r.ctx))
		SKIP(return, NO_DM);
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, 64 * 1024));
	self->len = 8192 + 256;
	self->dm = alloc_dm(&self->r, self->len, 6);
	ASSERT_NE(NULL, self->dm);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(dm_mr)
{
	if (!self->dm)
		return;
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	EXPECT_EQ(0, ibv_free_dm(self->dm));
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(dm_mr, rdma_reaches_exactly_its_bytes_from_offset_0)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->r.pd, self->dm, 0, self->len, ZERO_BASED);
	uint8_t *host = malloc(self->len);

	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	fill(self->p.buf[0], self->len, 1);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, self->len));
	EXPECT_EQ(0, ibv_memcpy_from_dm(host, self->dm, 0, self->len));
	EXPECT_TRUE(check_fill(host, self->len, 1));
	fill(host, self->len, 2);
	EXPECT_EQ(0, ibv_memcpy_to_dm(self->dm, 0, host, self->len));
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, self->len));
	EXPECT_TRUE(check_fill(self->p.buf[0], self->len, 2));

	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, self->len - 1, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, self->len, 1));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, self->len - 1, 2));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, ~0ull, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 1));
	free(host);
}

/* The library copies words only, so what lies beyond the last word goes by RDMA. */
TEST_F(dm_mr, each_byte_of_an_odd_length_is_reached)
{
	static const size_t odd[] = {
		1, 2, 3, 5, 7, 63, 65, 127, 129, 1000, 4095, 4097, 8191, 12345,
	};
	uint8_t *near = self->p.buf[0], *host = malloc(12345);
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	size_t i, len, words;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		len = odd[i];
		words = len & ~3ul;
		dm = alloc_dm(&self->r, len, 0);
		ASSERT_NE(NULL, dm) TH_LOG("%zu bytes: errno %d", len, errno);
		mr = ibv_reg_dm_mr(self->r.pd, dm, 0, len, ZERO_BASED);
		ASSERT_NE(NULL, mr) TH_LOG("%zu bytes: errno %d", len, errno);
		/* Written by the device; read by the device and by the processor. */
		fill(near, len, i);
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, len));
		memset(near, 0, len);
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, len));
		EXPECT_TRUE(check_fill(near, len, i)) TH_LOG("%zu bytes", len);
		EXPECT_EQ(0, ibv_memcpy_from_dm(host, dm, 0, words));
		EXPECT_TRUE(check_fill(host, words, i)) TH_LOG("%zu bytes", len);
		/*
		 * Now the processor writes the memory, except the last bytes, which keep their
		 * values, and the device reads it.
		 */
		fill(host, words, i + 100);
		EXPECT_EQ(0, ibv_memcpy_to_dm(dm, 0, host, words));
		memset(host, 0, len);
		memcpy(host + words, near + words, len - words);
		EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, len));
		EXPECT_TRUE(check_fill(near, words, i + 100)) TH_LOG("%zu bytes", len);
		EXPECT_EQ(0, memcmp(host + words, near + words, len - words));
		/* The byte behind the region cannot be reached. */
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, len, 1))
			TH_LOG("%zu bytes", len);
		EXPECT_EQ(EFAULT, ibv_memcpy_from_dm(host, dm, words, 4));
		EXPECT_EQ(NULL, ibv_reg_dm_mr(self->r.pd, dm, 0, len + 1, ZERO_BASED));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
		EXPECT_EQ(0, ibv_free_dm(dm));
	}
	free(host);
}

TEST_F(dm_mr, region_over_a_part_reaches_that_part_only)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->r.pd, self->dm, 4000, 500, ZERO_BASED);
	uint8_t host[508];

	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	memset(host, 0x11, sizeof(host));
	EXPECT_EQ(0, ibv_memcpy_to_dm(self->dm, 3996, host, sizeof(host)));
	fill(self->p.buf[0], 500, 3);
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 0, 500));
	EXPECT_EQ(0, ibv_memcpy_from_dm(host, self->dm, 3996, sizeof(host)));
	EXPECT_TRUE(check_fill(host + 4, 500, 3));
	EXPECT_EQ(0x11, host[3]);
	EXPECT_EQ(0x11, host[504]);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_WRITE, mr->rkey, 499, 2));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(dm_mr, atomics_work)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->r.pd, self->dm, 0, self->len, ZERO_BASED);
	uint64_t host = 40, *old = (uint64_t *)self->p.buf[0];

	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	if (!rdma_has_atomics(self->r.ctx))
		SKIP(ibv_dereg_mr(mr); return, NO_ATOMICS);
	EXPECT_EQ(0, ibv_memcpy_to_dm(self->dm, 64, &host, 8));
	EXPECT_EQ(0, atomic_access(&self->p, IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, 64, 2, 0));
	EXPECT_EQ(40, *old);
	EXPECT_EQ(0, atomic_access(&self->p, IBV_WR_ATOMIC_CMP_AND_SWP, mr->rkey, 64, 42, 7));
	EXPECT_EQ(42, *old);
	EXPECT_EQ(0, atomic_access(&self->p, IBV_WR_ATOMIC_CMP_AND_SWP, mr->rkey, 64, 42, 8));
	EXPECT_EQ(7, *old);
	EXPECT_EQ(0, ibv_memcpy_from_dm(&host, self->dm, 64, 8));
	EXPECT_EQ(7, host);
	EXPECT_NE(0, atomic_access(&self->p, IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, 68, 2, 0));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* The lkey in scatter and gather lists: send from device memory and receive into it. */
TEST_F(dm_mr, lkey_works_for_send_and_receive)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->r.pd, self->dm, 0, self->len,
					  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .length = 512 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge,
		.num_sge = 1,
	}, *bad;
	uint8_t host[1024];
	struct ibv_wc wc;

	ASSERT_NE(NULL, mr) TH_LOG("errno %d", errno);
	sge.lkey = mr->lkey;
	fill(host, sizeof(host), 9);
	EXPECT_EQ(0, ibv_memcpy_to_dm(self->dm, 0, host, sizeof(host)));
	/* Send 512 bytes from offset 256 to offset 4096 of the same memory. */
	sge.addr = 256;
	ASSERT_EQ(0, post_recv(self->p.qp[1], mr, (void *)4096, 512, 1));
	ASSERT_EQ(0, ibv_post_send(self->p.qp[0], &wr, &bad));
	EXPECT_EQ(0, reap(self->p.cq[0], &wc));
	EXPECT_EQ(0, reap(self->p.cq[1], &wc));
	EXPECT_EQ(512, wc.byte_len);
	EXPECT_EQ(0, ibv_memcpy_from_dm(host + 512, self->dm, 4096, 512));
	EXPECT_EQ(0, memcmp(host + 256, host + 512, 256));
	/* The region was registered without remote rights. */
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 1));
	/* Gather one byte beyond the end of the region. */
	sge.addr = self->len - 511;
	ASSERT_EQ(0, ibv_post_send(self->p.qp[0], &wr, &bad));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, reap(self->p.cq[0], &wc));
	pair_reconnect(&self->p);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(dm_mr, free_with_a_region_is_busy)
{
	struct ibv_mr *a = ibv_reg_dm_mr(self->r.pd, self->dm, 0, 64, ZERO_BASED);
	struct ibv_mr *b = ibv_reg_dm_mr(self->r.pd, self->dm, 0, self->len, ZERO_BASED);

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(-EBUSY, uv_free_dm(self->r.ctx->cmd_fd, self->dm->handle));
	EXPECT_EQ(0, ibv_dereg_mr(a));
	EXPECT_EQ(-EBUSY, uv_free_dm(self->r.ctx->cmd_fd, self->dm->handle));
	/* The other region still works. */
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, b->rkey, 0, 8));
	EXPECT_EQ(0, ibv_dereg_mr(b));
}

/* Regions of length 0 must be accepted, because rdma-core's own tests register them. */
TEST_F(dm_mr, empty_region_reaches_nothing)
{
	const uint64_t offset[] = { 0, 100, self->len };
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offset); i++) {
		mr = ibv_reg_dm_mr(self->r.pd, self->dm, offset[i], 0, ZERO_BASED);
		ASSERT_NE(NULL, mr) TH_LOG("offset %llu", (unsigned long long)offset[i]);
		EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
			  rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 1));
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	}
}

TEST_F(dm_mr, range_beyond_the_allocation_is_refused)
{
	const struct { uint64_t offset, len; } bad[] = {
		{ 0, self->len + 1 }, { 1, self->len }, { self->len, 1 }, { ~0ull, 1 },
		{ 1ull << 63, 64 }, { 64, ~0ull - 63 }, { 64, ~0ull }, { 0, 1ull << 32 },
		{ 0, ~0ull },
	};
	int fd = self->r.ctx->cmd_fd;
	uint32_t mr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, uv_reg_dm_mr(fd, self->r.pd->handle, self->dm->handle,
						bad[i].offset, bad[i].len, ZERO_BASED, &mr))
			TH_LOG("case %zu", i);
}

TEST_F(dm_mr, access_must_be_zero_based_and_supported)
{
	int fd = self->r.ctx->cmd_fd, ret;
	static const uint32_t bad[] = {
		0, ALL_ACCESS, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE,
		ZERO_BASED | IBV_ACCESS_MW_BIND, ZERO_BASED | IBV_ACCESS_HUGETLB,
		ZERO_BASED | IBV_ACCESS_ON_DEMAND, ZERO_BASED | 1u << 19,
	};
	uint32_t mr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = uv_reg_dm_mr(fd, self->r.pd->handle, self->dm->handle, 0, 64, bad[i], &mr);
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP)
			TH_LOG("access %#x: %d", bad[i], ret);
	}
	EXPECT_EQ(0, uv_reg_dm_mr(fd, self->r.pd->handle, self->dm->handle, 0, 64,
				  IBV_ACCESS_ZERO_BASED, &mr));
	EXPECT_EQ(0, uv_dereg_mr(fd, mr));
}

TEST_F(dm_mr, keys_of_another_pd_are_refused)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->r.ctx);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_dm_mr(pd, self->dm, 0, 64, ZERO_BASED);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 8));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(dm_mr, reregistration_is_refused)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(self->r.pd, self->dm, 0, 64, ZERO_BASED);
	static uint8_t mem[UV_PAGE_MAX];

	ASSERT_NE(NULL, mr);
	EXPECT_NE(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, sizeof(mem), 0));
	EXPECT_NE(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS));
	EXPECT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, mr->rkey, 0, 8));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* --- Operations ------------------------------------------------------------------------------ */

FIXTURE(dm_op) {
	struct rdma r;
	struct ibv_dm *dm;
	int fd;
};

FIXTURE_SETUP(dm_op)
{
	ASSERT_EQ(0, rdma_open(&self->r));
	self->fd = self->r.ctx->cmd_fd;
	if (!max_dm_size(self->r.ctx))
		SKIP(return, NO_DM);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	self->dm = alloc_dm(&self->r, 5000, 0);
	ASSERT_NE(NULL, self->dm);
}

FIXTURE_TEARDOWN(dm_op)
{
	if (self->dm)
		EXPECT_EQ(0, ibv_free_dm(self->dm));
	if (self->dm && hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	rdma_close(&self->r);
}

TEST_F(dm_op, increment_and_test_and_set_work)
{
	volatile uint8_t *inc = mlx5dv_dm_map_op_addr(self->dm, INCREMENT);
	volatile uint8_t *tas = mlx5dv_dm_map_op_addr(self->dm, TEST_AND_SET);
	uint8_t host[8] = { 0 };

	ASSERT_NE(NULL, inc) TH_LOG("errno %d", errno);
	ASSERT_NE(NULL, tas) TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_memcpy_to_dm(self->dm, 4096, host, 8));
	inc[4098] = 1;
	inc[4098] = 5;
	EXPECT_EQ(0, ibv_memcpy_from_dm(host, self->dm, 4096, 8));
	EXPECT_EQ(6, host[2]);
	EXPECT_EQ(0, host[1] + host[3]);
	EXPECT_EQ(6, tas[4098]);
	EXPECT_EQ(1, tas[4098]);
	EXPECT_EQ(0, ibv_memcpy_from_dm(host, self->dm, 4096, 8));
	EXPECT_EQ(1, host[2]);
	munmap((void *)((uintptr_t)inc & ~(UV_PAGE - 1)), 2 * UV_PAGE);
	munmap((void *)((uintptr_t)tas & ~(UV_PAGE - 1)), 2 * UV_PAGE);
}

TEST_F(dm_op, same_operation_has_one_address)
{
	uint64_t off[2];
	uint16_t idx[2];

	ASSERT_EQ(0, uv_map_dm_op(self->fd, self->dm->handle, INCREMENT, &off[0], &idx[0]));
	ASSERT_EQ(0, uv_map_dm_op(self->fd, self->dm->handle, INCREMENT, &off[1], &idx[1]));
	EXPECT_EQ(idx[0], idx[1]);
	EXPECT_EQ(off[0], off[1]);
	ASSERT_EQ(0, uv_map_dm_op(self->fd, self->dm->handle, TEST_AND_SET, &off[1], &idx[1]));
	EXPECT_NE(idx[0], idx[1]);
}

TEST_F(dm_op, unsupported_operations_are_refused)
{
	static const uint8_t bad[] = { 2, 3, 31, 32, 33, 255 };
	uint64_t off;
	uint16_t idx;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EOPNOTSUPP, uv_map_dm_op(self->fd, self->dm->handle, bad[i], &off, &idx))
			TH_LOG("operation %u", bad[i]);
	EXPECT_EQ(-ENOENT, uv_map_dm_op(self->fd, self->dm->handle + 100, INCREMENT, &off, &idx));
}

/*
 * With the profile packed-operations the addresses for the two allocations are in one page, which
 * the second context must not map.
 */
TEST_F(dm_op, other_context_reaches_no_operation_of_this_one)
{
	volatile uint8_t *own = mlx5dv_dm_map_op_addr(self->dm, TEST_AND_SET), *other, *page;
	uint8_t zero[5000] = { 0 }, now[5000];
	struct ibv_dm *dm;
	struct rdma r;

	ASSERT_NE(NULL, own) TH_LOG("errno %d", errno);
	ASSERT_EQ(0, ibv_memcpy_to_dm(self->dm, 0, zero, sizeof(zero)));
	ASSERT_EQ(0, rdma_open(&r));
	dm = alloc_dm(&r, 64, 0);
	ASSERT_NE(NULL, dm);
	other = mlx5dv_dm_map_op_addr(dm, TEST_AND_SET);
	page = (volatile uint8_t *)((uintptr_t)other & ~(UV_PAGE - 1));
	if (!other)
		EXPECT_EQ(EOPNOTSUPP, errno);
	if (page != other)
		EXPECT_EQ(0, page[0]);
	EXPECT_EQ(0, ibv_memcpy_from_dm(now, self->dm, 0, sizeof(now)));
	EXPECT_EQ(0, memcmp(now, zero, sizeof(now)));
	/* A mapping keeps the memory allocated. */
	munmap((void *)((uintptr_t)own & ~(UV_PAGE - 1)), 2 * UV_PAGE);
	if (other)
		munmap((void *)page, UV_PAGE);
	EXPECT_EQ(0, ibv_free_dm(dm));
	rdma_close(&r);
}

/* A mapping of an operation's address keeps the memory allocated when the handle is freed. */
TEST_F(dm_op, mapped_operation_survives_the_handle)
{
	volatile uint8_t *tas = mlx5dv_dm_map_op_addr(self->dm, TEST_AND_SET);
	uint32_t zero[16] = { 0 };

	ASSERT_NE(NULL, tas);
	ASSERT_EQ(0, ibv_memcpy_to_dm(self->dm, 0, zero, sizeof(zero)));
	ASSERT_EQ(0, ibv_free_dm(self->dm));
	EXPECT_EQ(0, tas[8]);
	EXPECT_EQ(1, tas[8]);
	munmap((void *)((uintptr_t)tas & ~(UV_PAGE - 1)), 2 * UV_PAGE);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	self->dm = NULL;
}

TEST_HARNESS_MAIN
