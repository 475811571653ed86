// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of doorbell records: a page is pinned once per address space, however many records
 * lie in it, and unpinned with its last record.
 */

#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "lib/buf.h"
#include "lib/locks.h"
#include "lib/mock.h"
#include "verbs/ucontext.h"

#define NUM_PAGES	12

static int doorbell_init(struct kunit *test)
{
	mock_open(mock_create(test));
	return 0;
}

static void doorbell_exit(struct kunit *test)
{
	struct mock *mock = test->priv;

	/* KUnit calls this in a thread without user memory, which mock_close() would look at. */
	if (mock && mock->context->bfregi.sys_pages)
		mlx5_ib_dealloc_ucontext(&mock->context->ibucontext);
}

static void map(struct kunit *test, unsigned long virt, struct mlx5_db *db)
{
	struct mock *mock = test->priv;

	KUNIT_ASSERT_EQ(test, mlx5_ib_db_map_user(mock->context, virt, db), 0);
}

static void unmap(struct kunit *test, struct mlx5_db *db)
{
	mlx5_ib_db_unmap_user(((struct mock *)test->priv)->context, db);
}

static void expect_nothing_pinned(struct kunit *test)
{
	struct mock *mock = test->priv;

	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->context->db_pages));
}

static void records_of_one_page_share_a_pin(struct kunit *test)
{
	struct mock *mock = test->priv;
	const int num = PAGE_SIZE / 64;
	struct mlx5_db *db;
	int i;

	db = kunit_kcalloc(test, num, sizeof(*db), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, db);
	for (i = 0; i < num; i++)
		map(test, mock_buffer(mock, 0) + i * 64, &db[i]);
	KUNIT_EXPECT_EQ(test, mock->num_pins, 1);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	for (i = 0; i < num; i++)
		unmap(test, &db[i]);
	expect_nothing_pinned(test);
}

static void each_page_has_its_own_pin(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db last, first;

	map(test, mock_buffer(mock, 1) - 8, &last);
	map(test, mock_buffer(mock, 1), &first);
	KUNIT_EXPECT_EQ(test, mock->num_pins, 2);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 2);
	unmap(test, &last);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	unmap(test, &first);
	expect_nothing_pinned(test);
}

/* The mock has no DMA device: a DMA address is where the kernel sees the page. */
static void dma_address_is_that_of_the_record(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db db[NUM_PAGES];
	unsigned long virt;
	u32 i;

	for (i = 0; i < NUM_PAGES; i++) {
		virt = mock_buffer(mock, i) + 8 * (i * 37 % 512);
		KUNIT_ASSERT_EQ(test, put_user(0xdb000000 | i, (u32 __user *)virt), 0);
		map(test, virt, &db[i]);
	}
	for (i = 0; i < NUM_PAGES; i++) {
		KUNIT_EXPECT_EQ_MSG(test, *(u32 *)(uintptr_t)db[i].dma, 0xdb000000 | i,
				    "record %u", i);
		unmap(test, &db[i]);
		KUNIT_EXPECT_EQ(test, db[i].dma, 0);
	}
	expect_nothing_pinned(test);
}

static void page_stays_pinned_until_its_last_record(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db a, b, c;

	map(test, mock_buffer(mock, 0), &a);
	map(test, mock_buffer(mock, 0) + 64, &b);
	map(test, mock_buffer(mock, 0) + 128, &c);
	unmap(test, &a);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	unmap(test, &c);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	unmap(test, &b);
	expect_nothing_pinned(test);
}

static void record_mapped_twice_is_released_twice(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db a, b;

	/* Two queues may use one record. */
	map(test, mock_buffer(mock, 0), &a);
	map(test, mock_buffer(mock, 0), &b);
	KUNIT_EXPECT_EQ(test, a.dma, b.dma);
	unmap(test, &a);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	unmap(test, &b);
	expect_nothing_pinned(test);
}

static void released_page_is_pinned_anew(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db db;

	map(test, mock_buffer(mock, 0), &db);
	unmap(test, &db);
	map(test, mock_buffer(mock, 0), &db);
	KUNIT_EXPECT_EQ(test, mock->num_pins, 2);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	unmap(test, &db);
	expect_nothing_pinned(test);
}

static void releasing_one_page_keeps_the_others(struct kunit *test)
{
	static const u8 order[NUM_PAGES] = { 5, 0, 11, 7, 2, 9, 4, 1, 10, 3, 8, 6 };
	struct mock *mock = test->priv;
	struct mlx5_db db[NUM_PAGES], again;
	int i;

	for (i = 0; i < NUM_PAGES; i++)
		map(test, mock_buffer(mock, i), &db[i]);
	for (i = 0; i < NUM_PAGES; i++) {
		unmap(test, &db[order[i]]);
		KUNIT_EXPECT_EQ(test, mock_num_pinned(), NUM_PAGES - 1 - i);
		if (i + 1 == NUM_PAGES)
			break;
		/* The page that is released next is still found. */
		map(test, mock_buffer(mock, order[i + 1]) + 8, &again);
		KUNIT_EXPECT_EQ(test, mock->num_pins, NUM_PAGES);
		unmap(test, &again);
	}
	expect_nothing_pinned(test);
}

static const struct address_case {
	const char *name;
	long offset;
} misaligned_cases[] = {
	{ "1 byte off", 1 }, { "2 bytes off", 2 }, { "3 bytes off", 3 }, { "4 bytes off", 4 },
	{ "5 bytes off", 5 }, { "6 bytes off", 6 }, { "7 bytes off", 7 },
	{ "across the end of a page", PAGE_SIZE - 4 },
};

KUNIT_ARRAY_PARAM_DESC(misaligned, misaligned_cases, name);

static void misaligned_record_is_refused(struct kunit *test)
{
	const struct address_case *c = test->param_value;
	struct mock *mock = test->priv;
	struct mlx5_db db;

	KUNIT_EXPECT_EQ(test, mlx5_ib_db_map_user(mock->context, mock_buffer(mock, 0) + c->offset,
						  &db), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_pins, 0);
	expect_nothing_pinned(test);
}

static void record_in_unmapped_memory_is_refused(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db db;

	KUNIT_ASSERT_EQ(test, vm_munmap(mock_buffer(mock, 3), PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_db_map_user(mock->context, mock_buffer(mock, 3), &db),
			-EFAULT);
	expect_nothing_pinned(test);
	/* An address of the kernel, the end of the address space, and address 0. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_db_map_user(mock->context, (unsigned long)mock, &db),
			-EFAULT);
	expect_nothing_pinned(test);
	KUNIT_EXPECT_LT(test, mlx5_ib_db_map_user(mock->context, -8UL, &db), 0);
	expect_nothing_pinned(test);
	KUNIT_EXPECT_EQ(test, mlx5_ib_db_map_user(mock->context, 0, &db), -EFAULT);
	expect_nothing_pinned(test);
}

static void page_that_cannot_be_pinned_is_forgotten(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mlx5_db db;

	mock->refuse_pin = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_db_map_user(mock->context, mock_buffer(mock, 0), &db),
			-ENOMEM);
	expect_nothing_pinned(test);
	map(test, mock_buffer(mock, 0), &db);
	unmap(test, &db);
	expect_nothing_pinned(test);
}

/* Several threads of a process create and destroy queues at once. */
static void pages_are_counted_under_the_lock_of_the_context(struct kunit *test)
{
	struct mock *mock = test->priv;
	struct mutex *lock = &mock->context->db_lock;
	struct mlx5_db first, second;

	EXPECT_TAKES_LOCK(test, lock, map(test, mock_buffer(mock, 0), &first));
	map(test, mock_buffer(mock, 0), &second);
	EXPECT_TAKES_LOCK(test, lock, unmap(test, &first));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_db_leave_context(mock->context, &second));
	mlx5_ib_db_unmap_user(NULL, &second);
	expect_nothing_pinned(test);
}

/* The child after a fork: another process, which has memory at the same address. */
static struct mm_struct *enter_other_process(struct kunit *test, unsigned long addr)
{
	struct mm_struct *first = current->mm;

	kthread_unuse_mm(first);
	KUNIT_ASSERT_EQ(test, kunit_attach_mm(), 0);
	KUNIT_ASSERT_PTR_NE(test, current->mm, first);
	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, addr, PAGE_SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), addr);
	return first;
}

static void leave_other_process(struct mm_struct *first)
{
	struct mm_struct *second = current->mm;

	kthread_unuse_mm(second);
	mmput(second);
	kthread_use_mm(first);
}

static const struct fork_case {
	const char *name;
	bool first_ends_first;
} fork_cases[] = {
	{ "the parent's record goes first", true },
	{ "the child's record goes first", false },
};

KUNIT_ARRAY_PARAM_DESC(fork, fork_cases, name);

static void each_process_has_its_own_page(struct kunit *test)
{
	const struct fork_case *c = test->param_value;
	struct mock *mock = test->priv;
	unsigned long virt = mock_buffer(mock, 0);
	struct mlx5_db parent, child, again;
	struct mm_struct *first;

	map(test, virt, &parent);
	first = enter_other_process(test, virt);
	map(test, virt, &child);
	KUNIT_EXPECT_EQ(test, mock->num_pins, 2);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	KUNIT_EXPECT_NE(test, parent.dma, child.dma);

	unmap(test, c->first_ends_first ? &parent : &child);
	/* Only the process of the remaining record finds the page of the record. */
	map(test, virt + 8, &again);
	KUNIT_EXPECT_EQ(test, mock->num_pins, c->first_ends_first ? 2 : 3);
	unmap(test, &again);
	unmap(test, c->first_ends_first ? &child : &parent);
	expect_nothing_pinned(test);
	leave_other_process(first);
	expect_nothing_pinned(test);
}

/* The struct of an address space stays as long as a record's page keeps a reference. */
static void released_record_leaves_the_address_space(struct kunit *test)
{
	struct mock *mock = test->priv;
	int before = atomic_read(&current->mm->mm_count);
	struct mlx5_db db;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		map(test, mock_buffer(mock, 0), &db);
		unmap(test, &db);
	}
	/* Kernel threads may have a few references of their own meanwhile. */
	KUNIT_EXPECT_LT(test, atomic_read(&current->mm->mm_count), before + 50);
}

static struct kunit_case doorbell_cases[] = {
	KUNIT_CASE(records_of_one_page_share_a_pin),
	KUNIT_CASE(each_page_has_its_own_pin),
	KUNIT_CASE(dma_address_is_that_of_the_record),
	KUNIT_CASE(page_stays_pinned_until_its_last_record),
	KUNIT_CASE(record_mapped_twice_is_released_twice),
	KUNIT_CASE(released_page_is_pinned_anew),
	KUNIT_CASE(releasing_one_page_keeps_the_others),
	KUNIT_CASE_PARAM(misaligned_record_is_refused, misaligned_gen_params),
	KUNIT_CASE(record_in_unmapped_memory_is_refused),
	KUNIT_CASE(page_that_cannot_be_pinned_is_forgotten),
	KUNIT_CASE(pages_are_counted_under_the_lock_of_the_context),
	KUNIT_CASE_PARAM(each_process_has_its_own_page, fork_gen_params),
	KUNIT_CASE(released_record_leaves_the_address_space),
	{}
};

static struct kunit_suite doorbell_suite = {
	.name = "bluebell_doorbell",
	.init = doorbell_init,
	.exit = doorbell_exit,
	.test_cases = doorbell_cases,
};

kunit_test_suite(doorbell_suite);
