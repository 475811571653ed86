// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a process registers for its DEVX objects (umem), and queues in it: which memory a
 * umem takes, who pins it for how long, and that no command of a process reaches memory otherwise.
 */
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "child.h"
#include "devx_cmd.h"
#include "devx_queues.h"
#include "pagemap.h"
#include "test.h"

#define PAGES 16
#define MEM_BYTES (PAGES * UV_PAGE)

FIXTURE(umem) {
	struct uv uv;
	uint8_t *mem;
	long pinned;
};

FIXTURE_SETUP(umem)
{
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	self->mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(umem)
{
	if (!devx_has_umems())
		return;
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	uv_close(&self->uv);
	munmap(self->mem, MEM_BYTES);
}

static int reg(int fd, void *addr, uint64_t len, uint32_t access, struct devx_umem *umem)
{
	*umem = (struct devx_umem){ .addr = (uintptr_t)addr, .len = len, .access = access };
	return devx_reg_umem(fd, umem);
}

/* --- Registration --------------------------------------------------------------------------- */

TEST_F(umem, memory_is_pinned_as_long_as_it_is_registered)
{
	const struct {
		size_t offset, len, pages;
	} parts[] = {
		{ 0, UV_PAGE, 1 }, { 0, 1, 1 }, { UV_PAGE - 1, 1, 1 }, { UV_PAGE - 1, 2, 2 },
		{ 0x40, UV_PAGE, 2 }, { 3, MEM_BYTES - 3, PAGES }, { 0, MEM_BYTES, PAGES },
	};
	struct devx_umem umem;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ASSERT_EQ(0, reg(self->uv.fd, self->mem + parts[i].offset, parts[i].len,
				 IBV_ACCESS_LOCAL_WRITE, &umem)) TH_LOG("part %zu", i);
		EXPECT_EQ(self->pinned + (long)parts[i].pages, uv_pinned_pages());
		EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
		EXPECT_EQ(self->pinned, uv_pinned_pages());
	}
}

TEST_F(umem, user_ids_own_umems)
{
	struct devx_umem umem[3];
	long users;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	users = hca_census_users("umem");
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, reg(self->uv.fd, self->mem, MEM_BYTES, 0, &umem[i]));
	EXPECT_EQ(users + 3, hca_census_users("umem"));
	EXPECT_NE(umem[0].id, umem[1].id);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem[i].handle));
}

TEST_F(umem, bad_requests_are_refused)
{
	struct {
		uint64_t addr, len;
		uint32_t access;
		uint64_t bitmap;
		int err;
	} bad[] = {
		{ (uintptr_t)self->mem, 0, 0, 0, -EINVAL },
		{ (uintptr_t)self->mem, ~0ull, 0, 0, 0 },
		{ ~0ull - UV_PAGE, 2 * UV_PAGE, 0, 0, 0 },
		{ 0, UV_PAGE, 0, 0, 0 },
		{ 1ull << 63, UV_PAGE, 0, 0, 0 },
		{ (uintptr_t)self->mem, UV_PAGE, 1u << 31, 0, -EINVAL },
		{ (uintptr_t)self->mem, UV_PAGE, IBV_ACCESS_REMOTE_WRITE, 0, -EINVAL },
		{ (uintptr_t)self->mem, UV_PAGE, 0, 1 << 11, -EINVAL },
		{ (uintptr_t)self->mem, MEM_BYTES, 0, 1 << 30, -EINVAL },
	};
	struct devx_umem umem;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		umem = (struct devx_umem){
			.addr = bad[i].addr, .len = bad[i].len, .access = bad[i].access,
			.bitmap = bad[i].bitmap,
		};
		ret = devx_reg_umem(self->uv.fd, &umem);
		EXPECT_GT(0, ret) TH_LOG("request %zu", i);
		if (bad[i].err)
			EXPECT_EQ(bad[i].err, ret) TH_LOG("request %zu", i);
		EXPECT_EQ(self->pinned, uv_pinned_pages()) TH_LOG("request %zu", i);
	}
}

/* --- Where a umem ends ---------------------------------------------------------------------- */

/* A table of the processor has UV_PAGE / 8 entries. */
#define HUGE_BYTES (UV_PAGE / 8 * UV_PAGE)
#define ALL_PAGES ~0u

FIXTURE(edge) {
	struct uv uv;
	uint32_t pd, pdn;
	void *mapped;
	uint8_t *mem;	/* a huge page: the device's pages may be larger than the processor's */
};

FIXTURE_SETUP(edge)
{
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	self->mapped = mmap(NULL, 2 * HUGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mapped);
	self->mem = (void *)(((uintptr_t)self->mapped + HUGE_BYTES - 1) & -(uintptr_t)HUGE_BYTES);
	memset(self->mem, 0, HUGE_BYTES);
	if (madvise(self->mem, HUGE_BYTES, MADV_COLLAPSE)) {
		self->mem = NULL;
		SKIP(return, "the kernel has no huge page to spare");
	}
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, &self->pdn));
}

FIXTURE_TEARDOWN(edge)
{
	if (!self->mem)
		return;
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, self->pd));
	uv_close(&self->uv);
	munmap(self->mapped, 2 * HUGE_BYTES);
}

/* Parts of the huge page. */
static const struct {
	unsigned int first, num;
} edges[] = {
	{ 0, 1 }, { 1, 1 }, { 0, 2 }, { 1, 2 }, { 0, 3 }, { 1, 3 }, { 2, 2 }, { 2, 6 }, { 8, 8 },
	{ 8, 24 }, { 5, 123 }, { 0, 511 }, { 1, 511 }, { 256, 256 }, { 0, 512 },
};

/* What programs give in CREATE_MKEY besides the umem. */
static const struct key_fields {
	bool log_page;		/* log_page_size is that of the processor, and not 0 */
	unsigned int octo;	/* translations_octword_size and translations_octword_actual_size */
	bool pg_access;
} key_fields[] = {
	{ false, 0, false },	/* rdma-core's tests, mstflint */
	{ false, 1, false },	/* UCX */
	{ true, 8, false }, { true, 1, true },
	{ true, ALL_PAGES, true },	/* DPDK */
};

/* A key of @len bytes over a umem, at the address of the memory, with the right to read. */
static int create_key(int fd, uint32_t pdn, const struct devx_umem *umem, uint64_t len,
		      const struct key_fields *how, uint32_t *handle)
{
	unsigned int octo = how->octo == ALL_PAGES ? HUGE_BYTES / UV_PAGE / 2 : how->octo;
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_CREATE_MKEY);
	devx_put(&cmd, 0xc, (uint32_t)how->pg_access << 31);
	devx_put(&cmd, 0x10, 0x500);		/* lr, access_mode MTT */
	devx_put(&cmd, 0x14, 0xffffff00);	/* no QP */
	devx_put(&cmd, 0x1c, pdn);
	devx_put(&cmd, 0x20, umem->addr >> 32);	/* start_addr */
	devx_put(&cmd, 0x24, umem->addr);
	devx_put(&cmd, 0x28, len >> 32);
	devx_put(&cmd, 0x2c, len);
	devx_put(&cmd, 0x44, octo);
	devx_put(&cmd, 0x48, how->log_page ? __builtin_ctzl(UV_PAGE) : 0);
	devx_put(&cmd, 0x60, octo);
	devx_put(&cmd, 0x64, umem->id);		/* mkey_umem_id */
	return devx_create(fd, &cmd, handle);
}

/* CREATE_UMEM has no length: the device ends a umem with its last page. */
TEST_F(edge, key_leads_to_the_memory_and_not_beyond)
{
	uint32_t key;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		uint64_t len = (uint64_t)edges[i].num * UV_PAGE;
		struct devx_umem umem = {
			.addr = (uintptr_t)self->mem + edges[i].first * UV_PAGE, .len = len,
		};

		ASSERT_EQ(0, devx_reg_umem(self->uv.fd, &umem));
		ASSERT_EQ(0, create_key(self->uv.fd, self->pdn, &umem, len, &key_fields[0], &key))
			TH_LOG("part %zu", i);
		EXPECT_EQ(0, devx_destroy(self->uv.fd, key));
		if (hca_ctl_present())
			ASSERT_EQ(0, hca_expect("refuse CREATE_MKEY BAD_PARAM_ERR 1"));
		EXPECT_GT(0, create_key(self->uv.fd, self->pdn, &umem, len + 1, &key_fields[0],
					&key))
			TH_LOG("part %zu", i);
		EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
	}
}

/*
 * A program that does not choose the size of pages knows only that start_addr and the memory agree
 * in the bits below the page size of the processor. The device compares them in pages of the umem.
 */
TEST_F(edge, key_has_the_address_of_the_memory)
{
	const uint64_t len = HUGE_BYTES / 2;
	struct devx_umem umem;
	uint8_t *moved, *at;
	uint32_t key;
	size_t i, k;

	/*
	 * Move the second half to one page beyond a boundary of HUGE_BYTES. Address and memory then
	 * have different offsets in every page that is larger than the processor's.
	 */
	moved = mmap(NULL, 2 * HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, moved);
	at = (uint8_t *)(((uintptr_t)moved + HUGE_BYTES - 1) & -(uintptr_t)HUGE_BYTES) + UV_PAGE;
	ASSERT_EQ(at, mremap(self->mem + len, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at));
	for (i = 0; i < ARRAY_SIZE(key_fields); i++) {
		if (key_fields[i].pg_access && !hca_cap("general", "pg"))
			continue;
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, reg(self->uv.fd, k ? at + 0x40 : self->mem + 0x40, len - 0x40,
					 0, &umem));
			EXPECT_EQ(0, create_key(self->uv.fd, self->pdn, &umem, len - 0x40,
						&key_fields[i], &key))
				TH_LOG("fields %zu, memory %zu", i, k);
			EXPECT_EQ(0, devx_destroy(self->uv.fd, key));
			EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
		}
	}
	munmap(moved, 2 * HUGE_BYTES);
}

/* The device would write where the process must not. */
TEST_F(umem, memory_that_cannot_be_written_cannot_be_registered_for_writing)
{
	struct devx_umem umem;
	void *page = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-EFAULT, reg(self->uv.fd, page, UV_PAGE, IBV_ACCESS_LOCAL_WRITE, &umem));
	EXPECT_EQ(0, reg(self->uv.fd, page, UV_PAGE, 0, &umem));
	EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
	munmap(page, UV_PAGE);
}

TEST_F(umem, refused_umem_is_unpinned)
{
	struct devx_umem umem;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject op CREATE_UMEM LIM_ERR"));
	EXPECT_GT(0, reg(self->uv.fd, self->mem, MEM_BYTES, 0, &umem));
	EXPECT_EQ(1, hca_inject_clear());
}

TEST_F(umem, umem_whose_number_is_lost_is_unpinned)
{
	uint64_t addr = (uintptr_t)self->mem, len = MEM_BYTES;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, .len = 8,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = addr },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, .len = 8,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = len },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, .len = 4,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = 0 },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, .len = 4,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = 8 },
	};

	EXPECT_EQ(-EFAULT, uv_ioctl(self->uv.fd, MLX5_IB_OBJECT_DEVX_UMEM,
				    MLX5_IB_METHOD_DEVX_UMEM_REG, attrs, 5));
}

TEST_F(umem, dmabuf_can_be_registered)
{
	struct devx_umem umem = { .addr = UV_PAGE, .len = 2 * UV_PAGE };
	int fd = uv_make_dmabuf(4 * UV_PAGE);

	ASSERT_LT(0, fd);
	umem.dmabuf = fd;
	ASSERT_EQ(0, devx_reg_umem(self->uv.fd, &umem));
	EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
	umem.len = 4 * UV_PAGE;	/* beyond the end of the dma-buf */
	EXPECT_EQ(-EINVAL, devx_reg_umem(self->uv.fd, &umem));
	umem.dmabuf = self->uv.fd;	/* not a dma-buf */
	EXPECT_GT(0, devx_reg_umem(self->uv.fd, &umem));
	umem.dmabuf = 12345;
	EXPECT_EQ(-EBADF, devx_reg_umem(self->uv.fd, &umem));
	close(fd);
}

/* --- Queues --------------------------------------------------------------------------------- */

FIXTURE(queues) {
	struct uv uv;
	uint8_t *mem;
	struct devx_queues q;
	long pinned;
};

FIXTURE_SETUP(queues)
{
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	self->mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, devx_queues_prepare(self->uv.fd, self->mem, &self->q));
}

FIXTURE_TEARDOWN(queues)
{
	if (!devx_has_umems())
		return;
	EXPECT_EQ(0, devx_queues_release(self->uv.fd, &self->q));
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->uv);
	munmap(self->mem, MEM_BYTES);
}

TEST_F(queues, queue_pair_in_umems_works)
{
	ASSERT_EQ(0, devx_create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, devx_create_qp(self->uv.fd, &self->q));
	EXPECT_EQ(0, devx_connect_qp(self->uv.fd, &self->q));
	EXPECT_EQ(0, devx_post_nop(self->uv.fd, &self->q, 0));
	EXPECT_EQ(MLX5_CQE_REQ, devx_poll_nop(&self->q, 0));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.qp));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

TEST_F(queues, umem_stays_while_a_queue_uses_it)
{
	long pinned = uv_pinned_pages();
	int fd = self->uv.fd;

	ASSERT_EQ(0, devx_create_cq(fd, &self->q));
	ASSERT_EQ(0, devx_create_qp(fd, &self->q));
	ASSERT_EQ(0, hca_expect("refuse DESTROY_UMEM BAD_RES_STATE_ERR 3"));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.cq_umem.handle));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.qp_umem.handle));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.dbr_umem.handle));
	EXPECT_EQ(pinned, uv_pinned_pages());
	EXPECT_EQ(0, devx_connect_qp(fd, &self->q));
	EXPECT_EQ(0, devx_post_nop(fd, &self->q, 0));
	EXPECT_EQ(MLX5_CQE_REQ, devx_poll_nop(&self->q, 0));
	EXPECT_EQ(0, devx_destroy(fd, self->q.qp));
	EXPECT_EQ(0, devx_destroy(fd, self->q.cq));
}

/*
 * The driver frees a UAR after the queues that have their doorbells on it, because firmware may
 * refuse to free it earlier.
 */
TEST_F(queues, uar_stays_while_a_queue_uses_it)
{
	int fd = self->uv.fd;
	long uars;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell keeps a UAR for the queues on it");
	ASSERT_EQ(0, devx_create_cq(fd, &self->q));
	ASSERT_EQ(0, devx_create_qp(fd, &self->q));
	uars = hca_census_count("uar");
	EXPECT_EQ(0, uv_free_uar(fd, self->q.uar.handle));
	EXPECT_EQ(uars, hca_census_count("uar"));
	EXPECT_EQ(0, devx_destroy(fd, self->q.qp));
	EXPECT_EQ(uars, hca_census_count("uar"));
	EXPECT_EQ(0, devx_destroy(fd, self->q.cq));
	EXPECT_EQ(uars - 1, hca_census_count("uar"));
	/* A queue that firmware refuses to create keeps no UAR. */
	ASSERT_EQ(0, uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &self->q.uar));
	ASSERT_EQ(0, hca_do("inject op CREATE_CQ LIM_ERR 1"));
	EXPECT_GT(0, devx_create_cq(fd, &self->q));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, uv_free_uar(fd, self->q.uar.handle));
	EXPECT_EQ(uars - 1, hca_census_count("uar"));
	ASSERT_EQ(0, uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &self->q.uar));
}

TEST_F(queues, cq_that_firmware_keeps_can_be_destroyed_later)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, devx_create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, hca_do("inject op DESTROY_CQ BAD_RES_STATE"));
	EXPECT_GT(0, devx_destroy(self->uv.fd, self->q.cq));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

TEST_F(queues, cq_on_an_event_queue_that_is_none_is_refused)
{
	static const uint32_t eqns[] = { 0, 0xff, 0xffffffff };
	struct devx_cmd cmd;
	uint32_t handle;
	size_t i;

	if (!driver_is("bluebell"))
		SKIP(return, "the errno is the driver's own");
	for (i = 0; i < ARRAY_SIZE(eqns); i++) {
		self->q.eqn = eqns[i];
		devx_start_cq(&self->q, &cmd);
		EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle)) TH_LOG("%u", eqns[i]);
	}
}

/*
 * In a command without the bits that say "umem", firmware would read fields of the process as DMA
 * addresses.
 */
TEST_F(queues, physical_addresses_are_not_taken)
{
	struct devx_cmd cmd;
	uint32_t handle;
	int ret;

	/*
	 * Clear the bits that say that the command names umems and not physical addresses. The
	 * driver sets them again, so the CQ is created in the umem.
	 */
	devx_start_cq(&self->q, &cmd);
	cmd.in[0x10] &= ~2;
	cmd.in[0x5c] &= 0x7f;
	ASSERT_EQ(0, devx_create(self->uv.fd, &cmd, &handle));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, handle));
	/*
	 * Now the command has a number that no umem has. The driver sets the bits here, too, so
	 * firmware looks for the umem and refuses the command.
	 */
	ASSERT_EQ(0, hca_expect("refuse CREATE_CQ BAD_RES_ERR 1"));
	ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_RES_ERR 1"));
	ASSERT_EQ(0, devx_create_cq(self->uv.fd, &self->q));
	devx_start_cq(&self->q, &cmd);
	cmd.in[0x10] &= ~2;
	memset(cmd.in + 0x58, 0, 8);
	devx_put(&cmd, 0x58, 0xfffff0);
	ret = devx_create(self->uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	devx_start_qp(&self->q, &cmd);
	memset(cmd.in + 0x108, 0, 8);
	devx_put(&cmd, 0x108, 0xfffff0);
	ret = devx_create(self->uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

/*
 * In each command, one object number at a time is replaced by the number of another user's object.
 */
TEST_F(queues, what_belongs_to_others_is_not_taken)
{
	struct devx_queues mine = self->q, theirs;
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;
	uint8_t *mem;
	int i, ret;

	mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, devx_queues_prepare(uv.fd, mem, &theirs));
	ASSERT_EQ(0, devx_create_cq(uv.fd, &theirs));
	ASSERT_EQ(0, devx_create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, hca_expect("refuse CREATE_CQ BAD_RES_ERR 3"));
	ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_RES_ERR 5"));
	for (i = 0; i < 3; i++) {
		mine = self->q;
		if (i == 0)
			mine.cq_umem = theirs.cq_umem;
		if (i == 1)
			mine.dbr_umem = theirs.dbr_umem;
		if (i == 2)
			mine.uar = theirs.uar;
		devx_start_cq(&mine, &cmd);
		ret = devx_create(self->uv.fd, &cmd, &handle);
		EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("field %d: %d", i, ret);
	}
	for (i = 0; i < 5; i++) {
		mine = self->q;
		if (i == 0)
			mine.qp_umem = theirs.qp_umem;
		if (i == 1)
			mine.dbr_umem = theirs.dbr_umem;
		if (i == 2)
			mine.uar = theirs.uar;
		if (i == 3)
			mine.pdn = theirs.pdn;
		if (i == 4)
			mine.cqn = theirs.cqn;
		devx_start_qp(&mine, &cmd);
		ret = devx_create(self->uv.fd, &cmd, &handle);
		EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("field %d: %d", i, ret);
	}
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
	uv_close(&uv);
	munmap(mem, MEM_BYTES);
}

/* --- The context is closed, or the process killed ------------------------------------------- */

static int everything(int fd)
{
	struct devx_queues q;
	uint8_t *mem;
	int i, ret = 0;

	mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 20 && !ret; i++)
		ret = devx_queues_prepare(fd, mem, &q) ?: devx_create_cq(fd, &q) ?:
		      devx_create_qp(fd, &q);
	return ret;
}

TEST_F(umem, close_destroys_queues_and_umems)
{
	struct uv uv;

	ASSERT_EQ(0, uv_open_devx(&uv));
	EXPECT_EQ(0, everything(uv.fd));
	uv_close(&uv);
}

static int hold_everything(void *arg, int ready)
{
	struct uv uv;

	return uv_open_devx(&uv) || everything(uv.fd) || child_hold(ready);
}

TEST_F(umem, sigkill_destroys_queues_and_umems)
{
	pid_t pid = child_start(hold_everything, NULL);

	ASSERT_LT(0, pid);
	ASSERT_LE(0, child_kill(pid));
}

/* Firmware refuses a command of each kind at the end of the process. */
TEST_F(umem, objects_that_firmware_keeps_for_a_while_do_not_outlive_their_process)
{
	static const char *const ops[] = { "DESTROY_QP", "DESTROY_CQ", "DESTROY_UMEM" };
	struct uv uv;
	size_t i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_EQ(0, uv_open_devx(&uv));
		ASSERT_EQ(0, everything(uv.fd));
		/* While an object stays, firmware keeps the objects to which it refers. */
		if (i == 0)
			ASSERT_EQ(0, hca_expect("refuse DESTROY_CQ BAD_RES_STATE_ERR"));
		if (i <= 1)
			ASSERT_EQ(0, hca_expect("refuse DESTROY_UMEM BAD_RES_STATE_ERR"));
		ASSERT_EQ(0, hca_do("inject op %s BAD_RES_STATE 1", ops[i]));
		uv_close(&uv);
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(self->pinned, uv_pinned_pages()) TH_LOG("%s", ops[i]);
	}
}

TEST_HARNESS_MAIN
