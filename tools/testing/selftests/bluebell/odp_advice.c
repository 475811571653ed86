// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_advise_mr() maps pages of paged regions before they are used.
 */

#include <sys/mman.h>

#include "paged_setup.h"

FIXTURE(advice) {
	struct paged o;
};

FIXTURE_VARIANT(advice) {
	bool implicit;
};

FIXTURE_VARIANT_ADD(advice, explicit) { .implicit = false };

FIXTURE_VARIANT_ADD(advice, implicit) { .implicit = true };

FIXTURE_SETUP(advice)
{
	paged_setup(_metadata, &self->o, variant->implicit);
}

FIXTURE_TEARDOWN(advice)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

TEST_F(advice, prefetched_pages_do_not_fault)
{
	struct paged *o = &self->o;
	long faults;

	ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
				  o->mem, LEN, o->mr->lkey));
	faults = hca_counter("page_faults");
	fill(o->p.buf[0], LEN, 6);
	ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
	EXPECT_TRUE(check_fill(o->mem, LEN, 6));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	ASSERT_EQ(0, paged_local(o, WRITE, 0, LEN));
	EXPECT_EQ(faults, hca_counter("page_faults"));
}

TEST_F(advice, pages_prefetched_for_reading_can_be_read)
{
	struct paged *o = &self->o;
	long faults;

	fill(o->mem, LEN, 7);
	ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
				  o->mem, LEN,
				  o->mr->lkey));
	faults = hca_counter("page_faults");
	ASSERT_EQ(0, paged_remote(o, READ, 0, LEN));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN, 7));
	EXPECT_EQ(faults, hca_counter("page_faults"));
}

/* Only pages that are present in the process are mapped, so the second half still faults. */
TEST_F(advice, no_fault_prefetches_present_pages_only)
{
	struct paged *o = &self->o;
	long faults;

	fill(o->mem, LEN / 2, 8);
	ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				  IBV_ADVISE_MR_FLAG_FLUSH,
				  o->mem, LEN, o->mr->lkey));
	faults = hca_counter("page_faults");
	ASSERT_EQ(0, paged_remote(o, READ, 0, LEN / 2));
	EXPECT_TRUE(check_fill(o->p.buf[0], LEN / 2, 8));
	EXPECT_EQ(faults, hca_counter("page_faults"));
	ASSERT_EQ(0, paged_remote(o, READ, LEN / 2, LEN / 2));
	if (hca_ctl_present())
		EXPECT_LT(faults, hca_counter("page_faults"));
}

TEST_F(advice, asynchronous_prefetch_works)
{
	struct paged *o = &self->o;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		madvise(o->mem, LEN, MADV_DONTNEED);
		ASSERT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, o->mem, LEN,
					  o->mr->lkey));
		fill(o->p.buf[0], LEN, i);
		ASSERT_EQ(0, paged_remote(o, WRITE, 0, LEN));
		EXPECT_TRUE(check_fill(o->mem, LEN, i));
	}
	/* A prefetch may still be in progress when the region is deregistered. */
	EXPECT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, o->mem, LEN,
				  o->mr->lkey));
}

TEST_F(advice, invalid_advice_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	const enum ibv_advise_mr_advice pf = IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct paged *o = &self->o;
	struct ibv_pd *pd = ibv_alloc_pd(o->r.ctx);
	struct ibv_sge sge = { .addr = (uintptr_t)o->mem, .length = 8, .lkey = o->mr->lkey };

	ASSERT_NE(NULL, pd);
	EXPECT_EQ(EOPNOTSUPP, paged_advise(o, 77, flush, o->mem, 8, o->mr->lkey));
	EXPECT_EQ(EINVAL, paged_advise(o, pf, 0x80, o->mem, 8, o->mr->lkey));
	/* An unused key, the key of pinned memory, a region of another PD. */
	EXPECT_NE(0, paged_advise(o, pf, flush, o->mem, 8, 0xffff00));
	EXPECT_NE(0, paged_advise(o, pf, flush, o->p.buf[0], 8, o->p.mr->lkey));
	EXPECT_NE(0, ibv_advise_mr(pd, pf, flush, &sge, 1));
	/* Addresses beyond the region, and unmapped memory. */
	if (!variant->implicit)
		EXPECT_EQ(EFAULT, paged_advise(o, pf, flush, o->mem + LEN - 8, 16, o->mr->lkey));
	munmap(o->mem, LEN);
	EXPECT_EQ(EFAULT, paged_advise(o, pf, flush, o->mem, 8, o->mr->lkey));
	ASSERT_EQ(o->mem, paged_map(o->mem));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/* The memory behind the region exists, but the region's tables do not reach there. */
TEST_F(advice, beyond_the_end_of_the_region_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct paged *o = &self->o;
	struct ibv_mr *part;
	unsigned int i;

	if (variant->implicit)
		SKIP(return, "an implicit region has no end");
	fill(o->mem, LEN, 1);
	part = ibv_reg_mr(o->r.pd, o->mem + UV_PAGE, 3 * UV_PAGE + 100,
			  ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, part);
	for (i = 0; i <= IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT; i++) {
		/* mlx5_ib goes as far as the end of the page. */
		if (driver_is("bluebell"))
			EXPECT_EQ(EFAULT, paged_advise(o, i, flush, o->mem + UV_PAGE,
						       3 * UV_PAGE + 101,
						       part->lkey));
		EXPECT_EQ(EFAULT, paged_advise(o, i, flush, o->mem + 4 * UV_PAGE, LEN - 4 * UV_PAGE,
					       part->lkey));
		EXPECT_EQ(EFAULT, paged_advise(o, i, flush, o->mem + 6 * UV_PAGE, UV_PAGE,
					       part->lkey));
		EXPECT_EQ(EFAULT, paged_advise(o, i, flush, o->mem, UV_PAGE, part->lkey));
		EXPECT_EQ(EFAULT, paged_advise(o, i, flush, o->mem + UV_PAGE, 0xfffff000,
					       part->lkey));
		EXPECT_EQ(0, paged_advise(o, i, flush, o->mem + UV_PAGE, 3 * UV_PAGE + 100,
					  part->lkey));
	}
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, paged_run(o, WRITE, o->p.buf[0], o->p.mr->lkey,
						   o->mem + 5 * UV_PAGE, part->rkey, 8));
	EXPECT_EQ(0, ibv_dereg_mr(part));
}

/* The region allows writing, the mapping of the process does not. */
TEST_F(advice, to_write_where_the_process_may_not_is_refused)
{
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct paged *o = &self->o;

	fill(o->mem, LEN, 2);
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ));
	EXPECT_EQ(EPERM, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flush, o->mem, LEN,
				      o->mr->lkey));
	EXPECT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH, flush, o->mem, LEN,
				  o->mr->lkey));
	ASSERT_EQ(0, mprotect(o->mem, LEN, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, paged_advise(o, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flush, o->mem, LEN,
				  o->mr->lkey));
}

TEST_HARNESS_MAIN
