// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the mmap space: what every command and every malformed offset
 * decodes to, and what a mapping that is refused leaves behind. Offsets are
 * written out in pages, as user space builds them.
 */

#include <kunit/test.h>
#include <linux/kref.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>

#include "fw/bluebell.h"
#include "layout/layout_uar.h"
#include "lib/fail_alloc.h"
#include "lib/locks.h"
#include "lib/memory.h"
#include "lib/mock.h"
#include "verbs/uar.h"
#include "verbs/verbs.h"

/* The library's default on 4 KiB pages: 8 static and 512 dynamic pages. */
static const struct mlx5_bfreg_layout layout = {
	.uars_per_sys_page = 1,
	.num_low_latency_bfregs = 4,
	.num_static_bfregs = 16,
	.num_dyn_bfregs = 1024,
	.num_static_sys_pages = 8,
	.num_sys_pages = 520,
};

/* The driver decodes the mmap offset of an object of any kind as this command. */
#define ENTRY		MLX5_IB_MMAP_DEVICE_MEM
#define REGULAR		MLX5_IB_MMAP_REGULAR_PAGE
#define WC		MLX5_IB_MMAP_WC_PAGE
#define NC		MLX5_IB_MMAP_NC_PAGE
#define DYN_UAR		MLX5_IB_MMAP_ALLOC_WC
#define CORE_CLOCK	MLX5_IB_MMAP_CORE_CLOCK
#define CLOCK_INFO	MLX5_IB_MMAP_CLOCK_INFO

static const struct decode_case {
	const char *name;
	unsigned long pgoff;
	int want;
	u32 index;
} decode_cases[] = {
	{ "regular page 0", 0x00000, REGULAR, 0 },
	{ "the last regular page", 0x00007, REGULAR, 7 },
	{ "a regular page too many", 0x00008, -EINVAL },
	{ "regular page 255", 0x000ff, -EINVAL },
	{ "contiguous pages, which are no more", 0x00100, -EINVAL },
	{ "contiguous pages of an order", 0x00105, -EINVAL },
	{ "WC page 0", 0x00200, WC, 0 },
	{ "the last WC page", 0x00207, WC, 7 },
	{ "a WC page too many", 0x00208, -EINVAL },
	{ "NC page 0", 0x00300, NC, 0 },
	{ "the last NC page", 0x00307, NC, 7 },
	{ "an NC page too many", 0x00308, -EINVAL },
	{ "command 4, which does not exist", 0x00400, -EINVAL },
	{ "the core clock", 0x00500, CORE_CLOCK, 0 },
	{ "dynamic page 0", 0x00600, DYN_UAR, 0 },
	{ "dynamic page 255", 0x006ff, DYN_UAR, 255 },
	{ "dynamic page 256 has an extended index", 0x10600, DYN_UAR, 256 },
	{ "the last dynamic page", 0x106ff, DYN_UAR, 511 },
	{ "a dynamic page too many", 0x20600, -EINVAL },
	{ "the clock's parameters, version 1", 0x00700, CLOCK_INFO, 0 },
	{ "device memory 0", 0x00800, ENTRY, 0x80000 },
	{ "device memory 255", 0x008ff, ENTRY, 0x800ff },
	{ "device memory 256 has an extended index", 0x10800, ENTRY, 0x80100 },
	{ "the last device memory", 0x808ff, ENTRY, 0x808ff },
	{ "command 9, which does not exist", 0x00900, -EINVAL },
	{ "command 255, which does not exist", 0x0ff00, -EINVAL },
	{ "a static page with an extended index", 0x10000, -EINVAL },
	{ "a WC page with an extended index", 0x10200, -EINVAL },
	{ "an NC page with an extended index", 0x10300, -EINVAL },
	{ "the last offset before the objects", 0x8ffff, -EINVAL },
	{ "the first object's offset", 0x90000, ENTRY, 0x90000 },
	{ "an object's offset whose bits look like a command", 0x90600, ENTRY, 0x90600 },
	{ "an object's offset that looks like device memory", 0x90800, ENTRY, 0x90800 },
	{ "the last object's offset", 0xffffff, ENTRY, 0xffffff },
};

KUNIT_ARRAY_PARAM_DESC(decode, decode_cases, name);

static void mmap_offset_is_decoded(struct kunit *test)
{
	const struct decode_case *c = test->param_value;
	u32 index = ~0U;

	KUNIT_ASSERT_EQ(test, mlx5_ib_decode_mmap_offset(c->pgoff, &layout, &index), c->want);
	if (c->want >= 0)
		KUNIT_EXPECT_EQ(test, index, c->index);
}

/* The bits above the defined bits: the driver may ignore none of them. */
static void unused_high_bits_of_an_offset_select_no_command(struct kunit *test)
{
	static const unsigned long pgoffs[] = { 0x000, 0x200, 0x300, 0x500, 0x600, 0x700 };
	u32 index;
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(pgoffs); i++)
		for (bit = 24; bit < BITS_PER_LONG - PAGE_SHIFT; bit++) {
			int cmd = mlx5_ib_decode_mmap_offset(pgoffs[i] | 1UL << bit, &layout,
							     &index);

			if (cmd >= 0)
				KUNIT_EXPECT_EQ_MSG(test, cmd, ENTRY, "0x%lx with bit %d",
						    pgoffs[i], bit);
		}
}

/* No command may have more offsets than the interface defines for the command. */
static void only_offsets_of_the_interface_are_accepted(struct kunit *test)
{
	unsigned int counts[256] = {};
	u32 index;
	unsigned long pgoff;
	int cmd;

	for (pgoff = 0; pgoff < MLX5_IB_MMAP_OFFSET_START; pgoff++) {
		cmd = mlx5_ib_decode_mmap_offset(pgoff, &layout, &index);
		if (cmd >= 0)
			counts[cmd]++;
	}
	KUNIT_EXPECT_EQ(test, counts[REGULAR], 8);
	KUNIT_EXPECT_EQ(test, counts[WC], 8);
	KUNIT_EXPECT_EQ(test, counts[NC], 8);
	KUNIT_EXPECT_EQ(test, counts[DYN_UAR], 512);
	KUNIT_EXPECT_EQ(test, counts[CORE_CLOCK], 1);
	KUNIT_EXPECT_EQ(test, counts[CLOCK_INFO], 1);
	KUNIT_EXPECT_EQ(test, counts[ENTRY], 9 * 256);
}

static void context_without_static_pages_maps_none(struct kunit *test)
{
	static const struct mlx5_bfreg_layout none = { .uars_per_sys_page = 1 };
	u32 index;

	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x000, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x200, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x300, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x600, &none, &index), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_decode_mmap_offset(0x500, &none, &index), CORE_CLOCK);
}

/* ---- mappings that are refused ---------------------------------------------------------- */

#define MAY_ALL		(VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC)
#define WRITE_ONLY	(VM_SHARED | VM_WRITE)
#define STATIC_PAGES	MOCK_UAR_PAGES(16)

static struct vm_area_struct *make_vma(struct mock *mock, unsigned long pgoff, unsigned int pages,
				       vm_flags_t flags)
{
	struct vm_area_struct *vma = kunit_kzalloc(mock->test, sizeof(*vma), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(mock->test, vma);
	vma->vm_mm = current->mm;
	vma->vm_start = mock->user;
	vma->vm_end = mock->user + pages * PAGE_SIZE;
	vma->vm_pgoff = pgoff;
	vm_flags_init(vma, flags | MAY_ALL);
	return vma;
}

static int map_vma(struct mock *mock, struct vm_area_struct *vma)
{
	int err;

	mmap_write_lock(current->mm);
	err = mlx5_ib_mmap(&mock->context->ibucontext, vma);
	mmap_write_unlock(current->mm);
	return err;
}

/* Map @pages pages as a process does. @left gets the flags of the mapping after the call. */
static int map(struct mock *mock, unsigned long pgoff, unsigned int pages, vm_flags_t flags,
	       vm_flags_t *left)
{
	struct vm_area_struct *vma = make_vma(mock, pgoff, pages, flags);
	int err = map_vma(mock, vma);

	*left = vma->vm_flags;
	return err;
}

static const struct refused_case {
	const char *name;
	unsigned long pgoff;
	unsigned int pages;
	vm_flags_t flags;
	int want;
} refused_cases[] = {
	{ "a static page, private", 0x000, 1, VM_WRITE, -EINVAL },
	{ "two static pages", 0x000, 2, WRITE_ONLY, -EINVAL },
	{ "a static page for reading", 0x000, 1, WRITE_ONLY | VM_READ, -EPERM },
	{ "a static page for execution", 0x000, 1, WRITE_ONLY | VM_EXEC, -EPERM },
	{ "a WC page for reading", 0x200, 1, WRITE_ONLY | VM_READ, -EPERM },
	{ "an NC page for reading", 0x300, 1, WRITE_ONLY | VM_READ, -EPERM },
	{ "a dynamic page, private", 0x600, 1, VM_WRITE, -EINVAL },
	{ "two dynamic pages", 0x600, 2, WRITE_ONLY, -EINVAL },
	{ "a dynamic page for reading", 0x600, 1, WRITE_ONLY | VM_READ, -EPERM },
	{ "the core clock, private", 0x500, 1, VM_READ, -EINVAL },
	{ "two pages of the core clock", 0x500, 2, VM_SHARED | VM_READ, -EINVAL },
	{ "the core clock for writing", 0x500, 1, VM_SHARED | VM_READ | VM_WRITE, -EPERM },
	{ "the core clock for execution", 0x500, 1, VM_SHARED | VM_READ | VM_EXEC, -EPERM },
	{ "the clock's parameters for writing", 0x700, 1, VM_SHARED | VM_READ | VM_WRITE,
	  -EPERM },
	{ "the clock's parameters, which the device lacks", 0x700, 1, VM_SHARED | VM_READ,
	  -EOPNOTSUPP },
	{ "an object that does not exist", 0x90123, 1, WRITE_ONLY, -EINVAL },
#if PAGE_SHIFT > 12
	{ "the core clock, in a page with other registers", 0x500, 1, VM_SHARED | VM_READ,
	  -EOPNOTSUPP },
#endif
};

KUNIT_ARRAY_PARAM_DESC(refused, refused_cases, name);

static void mapping_of_another_form_is_refused(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	vm_flags_t left;

	mock_open(mock);
	KUNIT_EXPECT_EQ(test, map(mock, c->pgoff, c->pages, c->flags, &left), c->want);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&mock->context->ibucontext.mmap_xa));
	mock_close(mock);
}

/* The object has one reference, that of its handle. */
static void refused_mapping_leaves_no_reference_to_its_object(struct kunit *test)
{
	static const struct {
		unsigned int pages;
		vm_flags_t flags;
		int want;
	} cases[] = {
		{ 1, WRITE_ONLY | VM_READ, -EPERM },
		{ 1, WRITE_ONLY | VM_EXEC, -EPERM },
		{ 2, WRITE_ONLY, -EINVAL },
		{ 1, VM_WRITE, -EINVAL },
	};
	struct mock *mock = mock_create(test);
	struct mlx5_user_mmap_entry *object;
	unsigned int i, mark;
	unsigned long pgoff;
	vm_flags_t left;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock_open(mock);
	mark = memory_mark();
	object = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, object);
	memory_expect_charged(test, mark);
	pgoff = object->rdma_entry.start_pgoff;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_EXPECT_EQ_MSG(test, map(mock, pgoff, cases[i].pages, cases[i].flags, &left),
				    cases[i].want, "case %u", i);
		KUNIT_ASSERT_EQ_MSG(test, kref_read(&object->rdma_entry.ref), 1, "case %u", i);
	}
	rdma_user_mmap_entry_remove(&object->rdma_entry);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], STATIC_PAGES);
	KUNIT_EXPECT_EQ(test, map(mock, pgoff, 1, WRITE_ONLY, &left), -EINVAL);
	mock_close(mock);
}

/* Firmware has a UAR, but all mmap offsets that it could have are in use. */
static void uar_without_an_mmap_offset_is_deallocated(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct xarray *xa = &mock->context->ibucontext.mmap_xa;
	struct mlx5_user_mmap_entry *object;
	unsigned long first, i;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock_open(mock);
	object = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, object);
	first = object->rdma_entry.start_pgoff;
	rdma_user_mmap_entry_remove(&object->rdma_entry);
	for (i = first; i < first + 16; i++)
		KUNIT_ASSERT_FALSE(test, xa_is_err(xa_store(xa, i, mock, GFP_KERNEL)));
	object = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_EXPECT_PTR_EQ(test, object, ERR_PTR(-ENOMEM));
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], STATIC_PAGES);
	for (i = first; i < first + 16; i++)
		xa_erase(xa, i);
	mock_close(mock);
}

/*
 * mprotect() gives no right whose VM_MAY* flag is clear, so the driver clears the flags of all
 * other rights. Each mapping of this case is refused after that, because the VMA of the test is no
 * real VMA, in which the driver could map a page.
 */
static void mapping_gets_no_other_rights_later(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_user_mmap_entry *object;
	vm_flags_t left;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock_open(mock);
	object = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, object);
	KUNIT_EXPECT_EQ(test, map(mock, object->rdma_entry.start_pgoff, 2, WRITE_ONLY, &left),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, left & MAY_ALL, VM_MAYWRITE);
	rdma_user_mmap_entry_remove(&object->rdma_entry);

	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, map(mock, 0x600, 1, WRITE_ONLY, &left), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, left & MAY_ALL, VM_MAYWRITE);
	mock->refuse = 0;

	KUNIT_EXPECT_EQ(test, map(mock, 0x700, 1, VM_SHARED | VM_READ, &left), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, left & MAY_ALL, VM_MAYREAD);
	mock_close(mock);
}

static void dynamic_page_is_mapped_once(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	vm_flags_t left;
	u32 *page;

	mock_open(mock);
	page = &mock->context->bfregi.sys_pages[STATIC_PAGES + 3];
	KUNIT_EXPECT_EQ(test, *page, MLX5_IB_INVALID_UAR_INDEX);
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, map(mock, 0x603, 1, WRITE_ONLY, &left), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, *page, MLX5_IB_INVALID_UAR_INDEX);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	*page = 0x9000;
	KUNIT_EXPECT_EQ(test, map(mock, 0x603, 1, WRITE_ONLY, &left), -EINVAL);
	KUNIT_EXPECT_EQ(test, *page, 0x9000);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	*page = MLX5_IB_INVALID_UAR_INDEX;
	mock->refuse = 0;
	mock_close(mock);
}

/* There is no memory for the entry of the page, whose UAR the device has allocated. */
static void dynamic_page_that_cannot_be_mapped_is_free_again(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct vm_area_struct *vma;
	u32 *page;
	int err;

	fail_alloc_init(test);
	mock_open(mock);
	page = &mock->context->bfregi.sys_pages[STATIC_PAGES + 3];
	vma = make_vma(mock, 0x603, 1, WRITE_ONLY);
	mock->num_commands = 0;
	fail_alloc_begin(1);
	err = map_vma(mock, vma);
	KUNIT_EXPECT_TRUE(test, fail_alloc_end());
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DEALLOC_UAR);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], STATIC_PAGES);
	KUNIT_EXPECT_EQ(test, *page, MLX5_IB_INVALID_UAR_INDEX);
	mock_close(mock);
}

static void dynamic_pages_are_looked_up_with_the_mutex_of_registers(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mutex *lock = &mock->context->bfregi.lock;
	vm_flags_t left;

	mock_open(mock);
	mock->refuse = 1;
	EXPECT_TAKES_LOCK(test, lock, map(mock, 0x600, 1, WRITE_ONLY, &left));
	mock->refuse = 0;
	mock_close(mock);
}

static struct kunit_case mmap_cases[] = {
	KUNIT_CASE_PARAM(mmap_offset_is_decoded, decode_gen_params),
	KUNIT_CASE(unused_high_bits_of_an_offset_select_no_command),
	KUNIT_CASE(only_offsets_of_the_interface_are_accepted),
	KUNIT_CASE(context_without_static_pages_maps_none),
	KUNIT_CASE_PARAM(mapping_of_another_form_is_refused, refused_gen_params),
	KUNIT_CASE(refused_mapping_leaves_no_reference_to_its_object),
	KUNIT_CASE(mapping_gets_no_other_rights_later),
	KUNIT_CASE(uar_without_an_mmap_offset_is_deallocated),
	KUNIT_CASE(dynamic_page_is_mapped_once),
	KUNIT_CASE(dynamic_page_that_cannot_be_mapped_is_free_again),
	KUNIT_CASE(dynamic_pages_are_looked_up_with_the_mutex_of_registers),
	{}
};

static struct kunit_suite mmap_suite = {
	.name = "bluebell_mmap",
	.test_cases = mmap_cases,
};

kunit_test_suite(mmap_suite);
