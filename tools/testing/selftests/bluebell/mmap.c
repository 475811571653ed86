// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mmap() of the uverbs file: each command of libmlx5 at valid offsets and at every kind of invalid
 * offset, and what a process can do with a mapping afterwards.
 */
#include <setjmp.h>
#include <signal.h>

#include "klog.h"
#include "test.h"

#define STATIC_PAGES UV_STATIC_PAGES(16)
#define DYN_REGS 1024
#define DYN_PAGES (DYN_REGS / UV_PAGE_REGS)
#define ALL_PAGES (STATIC_PAGES + DYN_PAGES)

static const char *const memtype_list = "/sys/kernel/debug/x86/pat_memtype_list";

/* Map; returns 0, or the negative errno of the failure. *@p is the mapping, or NULL. */
static int try_mmap(int fd, off_t off, size_t len, int prot, int flags, void **p)
{
	void *map = mmap(NULL, len, prot, flags, fd, off);

	*p = map == MAP_FAILED ? NULL : map;
	return map == MAP_FAILED ? -errno : 0;
}

/* As try_mmap(), but unmap at once. */
static int map_and_unmap(int fd, off_t off, size_t len, int prot, int flags)
{
	void *p;
	int ret = try_mmap(fd, off, len, prot, flags, &p);

	if (p)
		munmap(p, len);
	return ret;
}

static int map_and_unmap_uar(int fd, unsigned int cmd, unsigned long idx)
{
	return map_and_unmap(fd, uv_mmap_off(cmd, idx), UV_PAGE, PROT_WRITE, MAP_SHARED);
}

/*
 * The number of ranges that the kernel maps with a memory type, or -1 if the kernel has no such
 * list.
 */
static int count_memtype_ranges(const char *type)
{
	FILE *f = fopen(memtype_list, "r");
	char line[256];
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, type);
	fclose(f);
	return n;
}

static sigjmp_buf on_fault;

static void fault_handler(int sig)
{
	siglongjmp(on_fault, sig);
}

/* Write to a mapping; returns the signal that this raises, or 0. */
static int write_word(void *p)
{
	struct sigaction sa = { .sa_handler = fault_handler }, old_segv, old_bus;
	int sig;

	sigaction(SIGSEGV, &sa, &old_segv);
	sigaction(SIGBUS, &sa, &old_bus);
	sig = sigsetjmp(on_fault, 1);
	if (!sig)
		__atomic_store_n((uint32_t *)p, 0, __ATOMIC_SEQ_CST);
	sigaction(SIGSEGV, &old_segv, NULL);
	sigaction(SIGBUS, &old_bus, NULL);
	return sig;
}

FIXTURE(map) {
	struct uv uv;
};

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, uv_open(&self->uv));
}

FIXTURE_TEARDOWN(map)
{
	uv_close(&self->uv);
}

/* --- UAR pages -------------------------------------------------------------------------------- */

FIXTURE(uar_command) {
	struct uv uv;
};

FIXTURE_VARIANT(uar_command) {
	unsigned int cmd;
	const char *memtype;
};

FIXTURE_VARIANT_ADD(uar_command, regular) {
	.cmd = MLX5_IB_MMAP_REGULAR_PAGE, .memtype = "write-combining",
};

FIXTURE_VARIANT_ADD(uar_command, wc) {
	.cmd = MLX5_IB_MMAP_WC_PAGE, .memtype = "write-combining",
};

FIXTURE_VARIANT_ADD(uar_command, nc) {
	.cmd = MLX5_IB_MMAP_NC_PAGE, .memtype = "uncached",
};

FIXTURE_SETUP(uar_command)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	if (variant->cmd == MLX5_IB_MMAP_WC_PAGE && !has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
}

FIXTURE_TEARDOWN(uar_command)
{
	uv_close(&self->uv);
}

TEST_F(uar_command, maps_every_static_page)
{
	unsigned long idx;

	for (idx = 0; idx < STATIC_PAGES; idx++)
		EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, variant->cmd, idx))
			TH_LOG("page %lu", idx);
}

TEST_F(uar_command, other_than_static_pages_are_refused)
{
	const unsigned long idx[] = {
		STATIC_PAGES, STATIC_PAGES + 1, 255, 256, 257, ALL_PAGES - 1, ALL_PAGES,
			ALL_PAGES + 1,
		0xffff, 0x10000, 0xffffff, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	/* mlx5_ib looks at the low byte of the index only. */
	size_t n = driver_is("bluebell") ? ARRAY_SIZE(idx) : 3, i;

	for (i = 0; i < n; i++)
		EXPECT_EQ(-EINVAL, map_and_unmap_uar(self->uv.fd, variant->cmd, idx[i]))
			TH_LOG("page %#lx", idx[i]);
}

TEST_F(uar_command, mapping_must_be_one_page)
{
	off_t off = uv_mmap_off(variant->cmd, 0);

	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, off, 2 * UV_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, off, 8 * UV_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, off, 512 * UV_PAGE, PROT_WRITE, MAP_SHARED));
}

TEST_F(uar_command, private_mapping_is_refused)
{
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, uv_mmap_off(variant->cmd, 0), UV_PAGE,
					 PROT_WRITE, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, uv_mmap_off(variant->cmd, 0), UV_PAGE,
					 PROT_READ | PROT_WRITE, MAP_PRIVATE));
}

TEST_F(uar_command, mapping_has_the_memory_type)
{
	int before = count_memtype_ranges(variant->memtype);
	void *p;

	if (before < 0)
		SKIP(return, "no %s", memtype_list);
	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(variant->cmd, STATIC_PAGES - 1), UV_PAGE,
			      PROT_WRITE, MAP_SHARED, &p));
	EXPECT_EQ(before + 1, count_memtype_ranges(variant->memtype));
	munmap(p, UV_PAGE);
	EXPECT_EQ(before, count_memtype_ranges(variant->memtype));
}

TEST_F(uar_command, mapping_is_write_only)
{
	off_t off = uv_mmap_off(variant->cmd, 0);
	void *p;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell makes UAR pages unreadable");
	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED));
	ASSERT_EQ(0, try_mmap(self->uv.fd, off, UV_PAGE, PROT_WRITE, MAP_SHARED, &p));
	EXPECT_EQ(-1, mprotect(p, UV_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(p, UV_PAGE);
}

TEST_F(uar_command, mapping_is_never_executable)
{
	off_t off = uv_mmap_off(variant->cmd, 0);
	void *p;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell makes UAR pages not executable");
	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_WRITE | PROT_EXEC,
					MAP_SHARED));
	ASSERT_EQ(0, try_mmap(self->uv.fd, off, UV_PAGE, PROT_WRITE, MAP_SHARED, &p));
	EXPECT_EQ(-1, mprotect(p, UV_PAGE, PROT_WRITE | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	munmap(p, UV_PAGE);
}

TEST_F(uar_command, mapping_cannot_grow)
{
	void *p, *q;

	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(variant->cmd, 0), UV_PAGE, PROT_WRITE,
			      MAP_SHARED,
			     &p));
	q = mremap(p, UV_PAGE, 2 * UV_PAGE, MREMAP_MAYMOVE);
	EXPECT_EQ(MAP_FAILED, q);
	munmap(q == MAP_FAILED ? p : q, UV_PAGE);
}

/* A child inherits the mapping: the stores of both processes reach the device. */
TEST_F(uar_command, mapping_is_inherited_by_a_child)
{
	int status;
	void *p;
	pid_t pid;

	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(variant->cmd, STATIC_PAGES - 1), UV_PAGE,
			      PROT_WRITE, MAP_SHARED, &p));
	/* No register is at this offset; without BlueFlame the HCA gives another reason to drop. */
	ASSERT_EQ(0, hca_expect("drop %s 2",
				hca_cap("general", "bf") ? "bad_offset" : "no_blueflame"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		write_word(p + 0xff0);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, write_word(p + 0xff0));
	munmap(p, UV_PAGE);
}

/* The driver warns if it does not find the UAR of the first mapping in the entry of the page. */
TEST_F(uar_command, page_can_be_mapped_twice)
{
	off_t off = uv_mmap_off(variant->cmd, STATIC_PAGES - 1);
	int warnings = klog_count("WARNING: ");
	void *p[2];

	ASSERT_EQ(0, try_mmap(self->uv.fd, off, UV_PAGE, PROT_WRITE, MAP_SHARED, &p[0]));
	ASSERT_EQ(0, try_mmap(self->uv.fd, off, UV_PAGE, PROT_WRITE, MAP_SHARED, &p[1]));
	EXPECT_EQ(warnings, klog_count("WARNING: "));
	ASSERT_EQ(0, hca_expect("drop %s 2",
				hca_cap("general", "bf") ? "bad_offset" : "no_blueflame"));
	EXPECT_EQ(0, write_word(p[0] + 0xff0));
	munmap(p[0], UV_PAGE);
	EXPECT_EQ(0, write_word(p[1] + 0xff0));
	munmap(p[1], UV_PAGE);
}

/* --- Dynamic UAR pages ------------------------------------------------------------------------ */

TEST_F(map, alloc_wc_allocates_a_uar)
{
	long uars;
	void *p;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	uars = hca_census_count("uar");
	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES),
			      UV_PAGE, PROT_WRITE, MAP_SHARED, &p));
	EXPECT_EQ(uars + 1, hca_census_count("uar"));
	ASSERT_EQ(0, hca_expect("drop bad_offset 1"));
	EXPECT_EQ(0, write_word(p + 0xff0));
	munmap(p, UV_PAGE);
}

TEST_F(map, alloc_wc_of_a_used_index_is_refused)
{
	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES + 5));
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES + 5));
}

TEST_F(map, alloc_wc_of_dynamic_pages_only)
{
	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	/* libmlx5 numbers the dynamic pages from 0, separately from the static ones. */
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, 0));
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, DYN_PAGES / 2 - 1));
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, DYN_PAGES / 2));
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC,
				       ALL_PAGES - STATIC_PAGES - 1));
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC,
					     ALL_PAGES - STATIC_PAGES));
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, 0xffffff));
}

TEST_F(map, query_uar_names_the_uar_of_a_dynamic_register)
{
	const uint32_t reg = 3 * UV_PAGE_REGS;	/* the first of page 3 */
	uint32_t first, second, other;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (uv_query_uar(self->uv.fd, reg, &first) == -EPROTONOSUPPORT)
		SKIP(return, "the driver offers DEVX only on an HCA with user ids");
	EXPECT_EQ(-EINVAL, uv_query_uar(self->uv.fd, reg, &first));
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, 3));
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, 4));
	ASSERT_EQ(0, uv_query_uar(self->uv.fd, reg, &first));
	ASSERT_EQ(0, uv_query_uar(self->uv.fd, reg + 1, &second));
	ASSERT_EQ(0, uv_query_uar(self->uv.fd, reg + UV_PAGE_REGS, &other));
	EXPECT_EQ(first, second);
	EXPECT_NE(first, other);
	EXPECT_EQ(-EINVAL, uv_query_uar(self->uv.fd, DYN_REGS, &other));
}

TEST_F(map, alloc_wc_of_a_wrong_size_allocates_nothing)
{
	long uars;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	uars = hca_census_count("uar");
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd,
					 uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES),
					 2 * UV_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(uars, hca_census_count("uar"));
}

TEST_F(map, alloc_wc_refused_by_firmware_can_be_repeated)
{
	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject op ALLOC_UAR LIM_ERR 1"));
	EXPECT_GT(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES));
}

TEST_F(map, alloc_wc_page_belongs_to_its_context)
{
	struct uv other;
	void *p;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	ASSERT_EQ(0, uv_open(&other));
	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES),
			      UV_PAGE, PROT_WRITE, MAP_SHARED, &p));
	/* Another context cannot map the page by its index. */
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(other.fd, MLX5_IB_MMAP_REGULAR_PAGE, STATIC_PAGES));
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(other.fd, MLX5_IB_MMAP_WC_PAGE, STATIC_PAGES));
	/* When the other context asks for a page at the same index, it gets a page of its own. */
	EXPECT_EQ(0, map_and_unmap_uar(other.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES));
	munmap(p, UV_PAGE);
	uv_close(&other);
}

TEST(dyn_uar_context_has_no_pages_by_index)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.flags = uv_open_flags(),
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	const unsigned long idx[] = { 0, 1, STATIC_PAGES, ALL_PAGES - 1, ALL_PAGES };
	struct uv uv;
	size_t i;
	int no;

	ASSERT_EQ(0, uv_open_req(&uv, &req));
	/* If write combining does not work, mlx5_ib refuses all that needs it with EPERM. */
	no = driver_is("bluebell") || uv.resp.bf_reg_size ? -EINVAL : -EPERM;
	for (i = 0; i < ARRAY_SIZE(idx); i++) {
		EXPECT_EQ(-EINVAL, map_and_unmap_uar(uv.fd, MLX5_IB_MMAP_REGULAR_PAGE, idx[i]));
		EXPECT_EQ(no, map_and_unmap_uar(uv.fd, MLX5_IB_MMAP_WC_PAGE, idx[i]));
		EXPECT_EQ(-EINVAL, map_and_unmap_uar(uv.fd, MLX5_IB_MMAP_NC_PAGE, idx[i]));
		EXPECT_EQ(no, map_and_unmap_uar(uv.fd, MLX5_IB_MMAP_ALLOC_WC, idx[i]));
	}
	uv_close(&uv);
}

TEST_F(map, dynamic_uars_are_freed_with_the_context)
{
	unsigned long idx;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	uv_close(&self->uv);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open(&self->uv));
	for (idx = 0; idx < 10; idx++)
		ASSERT_EQ(0, map_and_unmap_uar(self->uv.fd, MLX5_IB_MMAP_ALLOC_WC, STATIC_PAGES +
					 3 * idx));
	uv_close(&self->uv);
	EXPECT_CENSUS_UNCHANGED();
}

/* --- UAR objects, device memory, and operations on it --------------------------------------- */

FIXTURE(object) {
	struct uv uv;
	struct uv_uar uar;
	struct uv_dm dm;
	off_t off;
	bool exists;
};

FIXTURE_VARIANT(object) {
	bool is_uar, is_op;
	uint32_t uar_type;
	const char *memtype;
	int rights;
};

FIXTURE_VARIANT_ADD(object, uar_bf) {
	.is_uar = true, .uar_type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, .memtype = "write-combining",
	.rights = PROT_WRITE,
};

FIXTURE_VARIANT_ADD(object, uar_nc) {
	.is_uar = true, .uar_type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, .memtype = "uncached",
	.rights = PROT_WRITE,
};

FIXTURE_VARIANT_ADD(object, device_memory) {
	.memtype = "write-combining", .rights = PROT_READ | PROT_WRITE,
};

/* Each access performs the operation, so the processor must not combine accesses. */
FIXTURE_VARIANT_ADD(object, operation) {
	.is_op = true, .memtype = "uncached", .rights = PROT_READ | PROT_WRITE,
};

static int alloc_uar_at(struct uv *uv, uint32_t type, struct uv_uar *uar, off_t *off)
{
	int ret = uv_alloc_uar(uv->fd, type, uar);

	*off = uar->mmap_off;
	return ret;
}

static int alloc_dm_at(struct uv *uv, bool is_op, struct uv_dm *dm, off_t *off)
{
	int ret = uv_alloc_dm(uv->fd, UV_PAGE, 0, dm);
	uint64_t at;

	if (!ret && is_op)
		ret = uv_map_dm_op(uv->fd, dm->handle, 0 /* increment */, &at, &dm->page_idx);
	*off = uv_mmap_off(MLX5_IB_MMAP_DEVICE_MEM, dm->page_idx);
	return ret;
}

FIXTURE_SETUP(object)
{
	int ret;

	ASSERT_EQ(0, uv_open(&self->uv));
	if (variant->uar_type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && variant->is_uar &&
	    !has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (!variant->is_uar && hca_ctl_present() && hca_cap("general", "device_memory") != 1)
		SKIP(return, "the device has no device memory");
	ret = variant->is_uar ? alloc_uar_at(&self->uv, variant->uar_type, &self->uar, &self->off) :
				alloc_dm_at(&self->uv, variant->is_op, &self->dm, &self->off);
	ASSERT_EQ(0, ret);
	self->exists = true;
}

FIXTURE_TEARDOWN(object)
{
	if (self->exists && variant->is_uar)
		EXPECT_EQ(0, uv_free_uar(self->uv.fd, self->uar.handle));
	if (self->exists && !variant->is_uar)
		EXPECT_EQ(0, uv_free_dm(self->uv.fd, self->dm.handle));
	uv_close(&self->uv);
}

TEST_F(object, mapping_has_the_memory_type)
{
	int before = count_memtype_ranges(variant->memtype);
	void *p;

	if (before < 0)
		SKIP(return, "no %s", memtype_list);
	if (variant->is_op && !driver_is("bluebell"))
		SKIP(return, "only bluebell maps operations uncached");
	ASSERT_EQ(0, try_mmap(self->uv.fd, self->off, UV_PAGE, variant->rights, MAP_SHARED, &p));
	EXPECT_EQ(before + 1, count_memtype_ranges(variant->memtype));
	munmap(p, UV_PAGE);
}

TEST_F(object, mapping_has_no_other_rights)
{
	int fd = self->uv.fd;
	void *p;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell denies rights that a mapping does not need");
	EXPECT_EQ(-EPERM, map_and_unmap(fd, self->off, UV_PAGE, variant->rights | PROT_EXEC,
					MAP_SHARED));
	if (!(variant->rights & PROT_READ))
		EXPECT_EQ(-EPERM, map_and_unmap(fd, self->off, UV_PAGE, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, try_mmap(fd, self->off, UV_PAGE, variant->rights, MAP_SHARED, &p));
	EXPECT_EQ(-1, mprotect(p, UV_PAGE, variant->rights | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	if (!(variant->rights & PROT_READ)) {
		EXPECT_EQ(-1, mprotect(p, UV_PAGE, PROT_READ));
		EXPECT_EQ(EACCES, errno);
	}
	munmap(p, UV_PAGE);
}

/* --- Clocks ----------------------------------------------------------------------------------- */

FIXTURE(clock) {
	struct uv uv;
};

FIXTURE_VARIANT(clock) {
	unsigned int cmd;
};

FIXTURE_VARIANT_ADD(clock, core_clock) { .cmd = MLX5_IB_MMAP_CORE_CLOCK };

FIXTURE_VARIANT_ADD(clock, clock_info) { .cmd = MLX5_IB_MMAP_CLOCK_INFO };

/*
 * The HCA has the clock in 4 KiB with other registers around. A larger page would have those
 * registers, too.
 */
static bool can_map_clock(const struct uv *uv)
{
	return uv->resp.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
}

#define NO_CLOCK "a page of this host has more than the clock"

FIXTURE_SETUP(clock)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	if (variant->cmd == MLX5_IB_MMAP_CORE_CLOCK && !can_map_clock(&self->uv))
		SKIP(return, NO_CLOCK);
}

FIXTURE_TEARDOWN(clock)
{
	uv_close(&self->uv);
}

TEST_F(clock, mapping_is_read_only)
{
	off_t off = uv_mmap_off(variant->cmd, 0);
	void *p;

	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EPERM, map_and_unmap(self->uv.fd, off, UV_PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED));
	ASSERT_EQ(0, try_mmap(self->uv.fd, off, UV_PAGE, PROT_READ, MAP_SHARED, &p));
	EXPECT_EQ(-1, mprotect(p, UV_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(p, UV_PAGE);
}

TEST_F(clock, mapping_is_inherited_by_a_child)
{
	const size_t offset = variant->cmd == MLX5_IB_MMAP_CORE_CLOCK ?
			      self->uv.resp.hca_core_clock_offset :
			      offsetof(struct mlx5_ib_clock_info, nsec);
	int status;
	pid_t pid;
	void *p;

	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(variant->cmd, 0), UV_PAGE, PROT_READ,
			      MAP_SHARED, &p));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		volatile uint32_t *time = p + offset;

		/* Some time has passed since 1970, and since the device was reset. */
		_exit(!(time[0] | time[1]));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(p, UV_PAGE);
}

TEST_F(clock, mapping_must_be_one_page)
{
	EXPECT_EQ(-EINVAL, map_and_unmap(self->uv.fd, uv_mmap_off(variant->cmd, 0), 2 * UV_PAGE,
					 PROT_READ,
				   MAP_SHARED));
}

TEST_F(map, core_clock_is_offered_if_a_page_has_nothing_else)
{
	EXPECT_EQ(UV_PAGE == 4096, can_map_clock(&self->uv));
	EXPECT_EQ(can_map_clock(&self->uv) ? 0 : -EOPNOTSUPP,
		  map_and_unmap(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_CORE_CLOCK, 0), UV_PAGE,
				PROT_READ, MAP_SHARED));
}

TEST_F(map, core_clock_advances)
{
	uint32_t *timer;
	uint32_t low[2];
	void *p;

	if (!can_map_clock(&self->uv))
		SKIP(return, NO_CLOCK);
	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_CORE_CLOCK, 0), UV_PAGE,
			      PROT_READ,
			     MAP_SHARED, &p));
	timer = p + self->uv.resp.hca_core_clock_offset;
	low[0] = be32toh(__atomic_load_n(&timer[1], __ATOMIC_RELAXED));
	usleep(2000);
	low[1] = be32toh(__atomic_load_n(&timer[1], __ATOMIC_RELAXED));
	EXPECT_NE(low[0], low[1]);
	munmap(p, UV_PAGE);
}

TEST_F(map, clock_info_is_plausible)
{
	struct mlx5_ib_clock_info *info;
	void *p;

	ASSERT_EQ(0, try_mmap(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_CLOCK_INFO,
						       MLX5_IB_CLOCK_INFO_V1),
			     UV_PAGE, PROT_READ, MAP_SHARED, &p));
	info = p;
	EXPECT_NE(0, info->mult);
	EXPECT_NE(0, info->mask);
	EXPECT_GT(64, info->shift);
	munmap(p, UV_PAGE);
}

TEST_F(map, clock_info_of_unknown_version_is_refused)
{
	static const unsigned long idx[] = { 1, 2, 255 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(idx); i++)
		EXPECT_EQ(-EOPNOTSUPP, map_and_unmap(self->uv.fd,
						     uv_mmap_off(MLX5_IB_MMAP_CLOCK_INFO, idx[i]),
					       UV_PAGE, PROT_READ, MAP_SHARED))
			TH_LOG("version %lu", idx[i]);
}

/* --- Other offsets ---------------------------------------------------------------------------- */

static bool is_known_command(unsigned int cmd)
{
	return cmd == MLX5_IB_MMAP_REGULAR_PAGE || cmd == MLX5_IB_MMAP_WC_PAGE ||
	       cmd == MLX5_IB_MMAP_NC_PAGE || cmd == MLX5_IB_MMAP_CORE_CLOCK ||
	       cmd == MLX5_IB_MMAP_ALLOC_WC || cmd == MLX5_IB_MMAP_CLOCK_INFO;
}

TEST_F(map, unknown_commands_are_refused)
{
	unsigned int cmd;

	for (cmd = 0; cmd < 256; cmd++) {
		if (is_known_command(cmd))
			continue;
		/* mlx5_ib refuses the obsolete command for contiguous pages with another errno. */
		if (cmd != MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES)
			EXPECT_EQ(-EINVAL, map_and_unmap_uar(self->uv.fd, cmd, 0))
				TH_LOG("command %u", cmd);
		EXPECT_GT(0, map_and_unmap_uar(self->uv.fd, cmd, 0)) TH_LOG("command %u", cmd);
		EXPECT_GT(0, map_and_unmap_uar(self->uv.fd, cmd, 300)) TH_LOG("command %u", cmd);
	}
}

TEST_F(map, offsets_with_unknown_bits_are_refused)
{
	static const uint64_t pgoff[] = {
		1ull << 32, (1ull << 40) - 1, 1ull << 47, (1ull << 51) - 1,
			0x100000000ull | 6 << 8 | 20,
	};
	size_t i;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell promises to ignore no bit of an offset");
	for (i = 0; i < ARRAY_SIZE(pgoff); i++) {
		int ret = map_and_unmap(self->uv.fd, pgoff[i] * UV_PAGE, UV_PAGE, PROT_WRITE,
					MAP_SHARED);

		/* The largest offsets are already refused by the VFS. */
		EXPECT_TRUE(ret == -EINVAL || ret == -EOVERFLOW)
			TH_LOG("page offset %#llx: %d", (unsigned long long)pgoff[i], ret);
	}
}

TEST(mapping_without_a_context_is_refused)
{
	int fd = uv_open_fd();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, map_and_unmap_uar(fd, MLX5_IB_MMAP_REGULAR_PAGE, 0));
	EXPECT_EQ(-EINVAL, map_and_unmap(fd, uv_mmap_off(MLX5_IB_MMAP_CORE_CLOCK, 0), UV_PAGE,
					 PROT_READ, MAP_SHARED));
	close(fd);
}

TEST_HARNESS_MAIN
