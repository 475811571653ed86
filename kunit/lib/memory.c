// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that the driver allocates in a test and that nobody frees. Two tracepoints of the slab
 * allocator tell of each allocation, and of each release, whoever makes it. An allocation is the
 * driver's if the caller lies between the first and the last object file of the driver. Two
 * tracepoints of the DMA API tell of what is mapped for a device of a test to read.
 *
 * A tracepoint cannot be unregistered when a module is being removed, and kfree_rcu() does not pass
 * the tracepoint: the slab allocator has to poison what is freed. So memory is watched only if the
 * driver is built in, in a kernel that debugs its slabs, as KUnit's kernel does.
 */

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poison.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "memory.h"
#include "ops.h"
#include "verbs/verbs.h"

#if !defined(MODULE) && IS_ENABLED(CONFIG_SLUB_DEBUG_ON) && IS_ENABLED(CONFIG_TRACEPOINTS)

#include <trace/events/dma.h>
#include <trace/events/kmem.h>

#define LOG_BUCKETS	10
#define MAX_HELD	8192

/**
 * struct held - memory that a function of the driver has allocated
 * @node: in a list of @buckets, or of @unused
 * @ptr: the memory
 * @site: the caller of the allocator
 * @serial: number of the allocation
 * @charged: to the cgroup of the task
 */
struct held {
	struct hlist_node node;
	const void *ptr;
	unsigned long site;
	unsigned int serial;
	bool charged;
};

/* guards all below. The slab allocator may be called in any context. */
static DEFINE_RAW_SPINLOCK(held_lock);
static struct hlist_head buckets[1 << LOG_BUCKETS];
static struct hlist_head unused;
static struct held pool[MAX_HELD];
static unsigned int next_serial;

/* A mutex, and how often the driver has allocated memory that is charged while it was held. */
static const struct mutex *watched_lock;
static unsigned int under_lock;

/* Bytes that are mapped for devices of tests to read. */
static atomic_long_t mapped_bytes;

static bool is_of_driver(unsigned long site)
{
	return site >= (unsigned long)mlx5_ib_init_counters &&
	       site <= (unsigned long)mlx5_ib_cleanup_xrc;
}

static struct hlist_head *bucket_of(const void *ptr)
{
	return &buckets[hash_ptr(ptr, LOG_BUCKETS)];
}

static void forget(const void *ptr)
{
	struct held *held;

	lockdep_assert_held(&held_lock);
	hlist_for_each_entry(held, bucket_of(ptr), node) {
		if (held->ptr != ptr)
			continue;
		hlist_del(&held->node);
		hlist_add_head(&held->node, &unused);
		return;
	}
}

static void allocated(void *data, unsigned long site, const void *ptr, size_t bytes_req,
		      size_t bytes_alloc, gfp_t gfp, int node)
{
	struct held *held;

	guard(raw_spinlock_irqsave)(&held_lock);
	/* kfree_rcu() may have freed the memory. */
	forget(ptr);
	if (!ptr || !is_of_driver(site))
		return;
	if (watched_lock && gfp & __GFP_ACCOUNT && mutex_is_locked(watched_lock))
		under_lock++;
	if (hlist_empty(&unused))
		return;
	held = hlist_entry(unused.first, struct held, node);
	hlist_del(&held->node);
	held->ptr = ptr;
	held->site = site;
	held->serial = next_serial++;
	held->charged = gfp & __GFP_ACCOUNT;
	hlist_add_head(&held->node, bucket_of(ptr));
}

static void freed(void *data, unsigned long site, const void *ptr)
{
	guard(raw_spinlock_irqsave)(&held_lock);
	forget(ptr);
}

/*
 * Pages of processes are mapped in both directions, and the kernel need not undo such a mapping if
 * there is no IOMMU. So only the driver's own lists are counted, which devices only read.
 */
static bool is_list(const struct device *device, enum dma_data_direction dir)
{
	/* The name of a device of KUnit begins with that of the test. */
	return dir == DMA_TO_DEVICE && strstr(dev_name(device), ".bluebell-mock");
}

static void mapped(void *data, struct device *device, phys_addr_t phys, dma_addr_t dma,
		   size_t bytes, enum dma_data_direction dir, unsigned long attrs)
{
	if (is_list(device, dir) && dma != DMA_MAPPING_ERROR)
		atomic_long_add(bytes, &mapped_bytes);
}

static void unmapped(void *data, struct device *device, dma_addr_t dma, size_t bytes,
		     enum dma_data_direction dir, unsigned long attrs)
{
	if (is_list(device, dir))
		atomic_long_sub(bytes, &mapped_bytes);
}

/* Take an allocation out that was made after @serial. Returns whether there is one. */
static bool take(unsigned int serial, struct held *taken)
{
	struct held *held;
	unsigned int i;

	guard(raw_spinlock_irqsave)(&held_lock);
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		hlist_for_each_entry(held, &buckets[i], node) {
			if (held->serial < serial)
				continue;
			*taken = *held;
			forget(held->ptr);
			return true;
		}
	return false;
}

/* Returns who has made an allocation after @serial that is not charged; 0 if nobody has. */
static unsigned long find_uncharged(unsigned int serial)
{
	struct held *held;
	unsigned int i;

	guard(raw_spinlock_irqsave)(&held_lock);
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		hlist_for_each_entry(held, &buckets[i], node)
			if (held->serial >= serial && !held->charged)
				return held->site;
	return 0;
}

static bool any_since(unsigned int serial)
{
	struct held *held;
	unsigned int i;

	guard(raw_spinlock_irqsave)(&held_lock);
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		hlist_for_each_entry(held, &buckets[i], node)
			if (held->serial >= serial)
				return true;
	return false;
}

/*
 * Freed memory is poisoned, and is not mapped any more if its page has been freed, too. Memory in
 * use to which nobody has written is also poisoned; the byte in front of it tells the two apart.
 */
static bool is_free(const void *ptr)
{
	u8 bytes[8], before;

	if (copy_from_kernel_nofault(bytes, ptr, sizeof(bytes)))
		return true;
	if (memchr_inv(bytes, POISON_FREE, sizeof(bytes)))
		return false;
	return copy_from_kernel_nofault(&before, ptr - 1, 1) || before != SLUB_RED_ACTIVE;
}

/**
 * struct watch - a test that must free what the driver allocates
 * @test: the test
 * @serial: number of its first allocation
 * @mapped: @mapped_bytes when the test began
 */
struct watch {
	struct kunit *test;
	unsigned int serial;
	long mapped;
};

static void check(void *data)
{
	struct watch *watch = data;
	struct held held;

	KUNIT_EXPECT_FALSE_MSG(watch->test, hlist_empty(&unused), "too much memory to watch");
	KUNIT_EXPECT_EQ_MSG(watch->test, atomic_long_read(&mapped_bytes), watch->mapped,
			    "lists mapped for DMA, in bytes");
	if (!any_since(watch->serial))
		return;
	rcu_barrier();
	kvfree_rcu_barrier();
	while (take(watch->serial, &held))
		if (!is_free(held.ptr))
			KUNIT_FAIL(watch->test, "memory that %pS has allocated is not freed",
				   (void *)held.site);
}

static void init(void)
{
	static bool done;
	unsigned int i;

	if (done)
		return;
	done = true;
	for (i = 0; i < ARRAY_SIZE(pool); i++)
		hlist_add_head(&pool[i].node, &unused);
	WARN_ON(register_trace_kmalloc(allocated, NULL) || register_trace_kfree(freed, NULL));
	WARN_ON(register_trace_dma_map_phys(mapped, NULL) ||
		register_trace_dma_unmap_phys(unmapped, NULL));
}

/**
 * memory_watch - fail the test if memory that the driver allocates from now on is not freed, or if
 *	a list that it maps for DMA stays mapped
 * @test: the running test, which frees everything that is its own later than this call by itself
 *
 * The memory is looked for when all later actions and resources of the test have been released.
 */
void memory_watch(struct kunit *test)
{
	struct watch *watch = kunit_kzalloc(test, sizeof(*watch), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, watch);
	init();
	watch->test = test;
	watch->serial = READ_ONCE(next_serial);
	watch->mapped = atomic_long_read(&mapped_bytes);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, check, watch));
}

/**
 * memory_mark - note which memory exists
 *
 * Return: the argument of memory_expect_charged().
 */
unsigned int memory_mark(void)
{
	return READ_ONCE(next_serial);
}

/**
 * memory_expect_charged - expect that what the driver has allocated is charged to a cgroup
 * @test: the running test
 * @mark: memory_mark() before what the driver has done, in which it freed nothing by kfree_rcu()
 */
void memory_expect_charged(struct kunit *test, unsigned int mark)
{
	unsigned long site = find_uncharged(mark);

	KUNIT_EXPECT_EQ_MSG(test, site, 0, "%pS charges nobody", (void *)site);
}

/**
 * memory_expect_any - expect that the driver has allocated memory, and that this was noticed
 * @test: the running test
 * @mark: memory_mark() before what the driver has done
 */
void memory_expect_any(struct kunit *test, unsigned int mark)
{
	KUNIT_EXPECT_NE_MSG(test, memory_mark(), mark, "no allocation is taken for the driver's");
}

static void forget_lock(void *data)
{
	guard(raw_spinlock_irqsave)(&held_lock);
	watched_lock = NULL;
	under_lock = 0;
}

/**
 * memory_watch_lock - count the allocations of the driver while a mutex is held
 * @test: the running test, in which only one task takes the mutex
 * @lock: the mutex
 *
 * Only allocations that are charged to a cgroup are counted: they may wait until the cgroup has
 * memory. The test begins with memory_watch().
 */
void memory_watch_lock(struct kunit *test, const struct mutex *lock)
{
	scoped_guard(raw_spinlock_irqsave, &held_lock)
		watched_lock = lock;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, forget_lock, NULL));
}

/**
 * memory_under_lock - look how often the driver has allocated memory while the mutex was held
 *
 * Return: the number of allocations since memory_watch_lock(), or 0 if no mutex is watched.
 */
unsigned int memory_under_lock(void)
{
	return READ_ONCE(under_lock);
}

#else

void memory_watch(struct kunit *test)
{
}

unsigned int memory_mark(void)
{
	return 0;
}

void memory_expect_charged(struct kunit *test, unsigned int mark)
{
}

void memory_expect_any(struct kunit *test, unsigned int mark)
{
}

void memory_watch_lock(struct kunit *test, const struct mutex *lock)
{
}

unsigned int memory_under_lock(void)
{
	return 0;
}

#endif
