/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of on-demand paging share. Each file calls only files below it in this list:
 *
 *  odp.c		registration and deregistration of paged regions, set-up of the
 *		device; explicit regions, which have one leaf
 *  odp_advise.c	prefetch by ibv_advise_mr(3)
 *  odp_tree.c	implicit regions: a tree of keys with leaves at the bottom
 *  odp_dmabuf.c	regions over a dma-buf
 *  odp_leaf.c	a key over pages of a process, and the MMU notifier that unmaps them
 *  odp_chunk.c	the mapped pages of a leaf and its translation entries
 *  odp_fault.c	the device's page faults: event queue, answer
 *  odp_fault_transport.c, odp_fault_memory.c
 *			which memory a fault needs, by either of two schemes
 *  odp_fault_map.c	mapping for faults of either scheme, and the slots that faults take
 *  odp_repeated.c	how often the device has reported the same fault again
 *  odp_walk.c	the paged regions that a key translates to, perhaps through other keys
 *  odp_mr.c	regions of every kind by key, with references, paging in through
 *		struct odp_mr_ops, and creation of keys over pages
 *  odp_fairness.c	the processes that have regions or tables of keys, and the slots for their
 *			faults
 *
 * Three calls go up through a pointer: odp_mr.c pages in by the ops of the region's
 * kind, odp_leaf.c reports to the owner of a leaf that its last page was unmapped, and odp_walk.c
 * reports to odp_fault_map.c each table before it reads the table, and each region that it finds.
 *
 * A device reports faults by one of two schemes, see odp_fault.c. By the transport scheme, a fault
 * names a queue and a WQE, or a remote key. By the memory scheme, a fault names a key and an
 * address.
 */

#ifndef BLUEBELL_ODP_INTERNAL_H
#define BLUEBELL_ODP_INTERNAL_H

#include <linux/hashtable.h>
#include <linux/hmm-dma.h>
#include <linux/hmm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "lib/mkey.h"
#include "lib/region.h"
#include "lib/share.h"
#include "odp/odp.h"

struct mlx5_eq;
struct mlx5_ib_dev;
struct mlx5_ib_fault;
struct odp_mr;

/**
 * struct odp_key - a key of a region: of a table, of a leaf, or @absent of struct odp_mr
 * @mr: region that the key belongs to
 * @mkey: memory key: the region's for a root or an explicit region, otherwise @own
 * @own: memory key of a directory or leaf of an implicit region, or of @absent of struct odp_mr.
 *	The keys of leaves and of @absent are published (mlx5_ib_mkey_publish()), so that
 *	mlx5_ib_odp_mr_get_lowest() finds the key on which the device has faulted
 * @base: first address of the key
 * @linked: the device has the entry that refers to this key. False also when the UMR that was to
 *	write the entry failed: the entry is then written before the key is used
 */
struct odp_key {
	struct odp_mr *mr;
	struct mlx5_ib_mkey *mkey;
	struct mlx5_ib_mkey own;
	u64 base;
	bool linked;
};

/* Number of pages of a chunk of a leaf. One UMR can map them all. */
#define MLX5_IB_ODP_CHUNK_PAGES	(PAGE_SIZE / sizeof(__be64))
#define MLX5_IB_ODP_CHUNK_BYTES	(MLX5_IB_ODP_CHUNK_PAGES * PAGE_SIZE)

/**
 * struct odp_chunk - mapped pages and translation entries of a part of a leaf. Exists while pages
 *	of the part are mapped or being paged in
 * @map: the pages that are mapped, and their DMA addresses
 * @mtt: copy of the part's translation entries in the device
 * @npages: number of pages that are mapped
 * @users: number of page-ins in progress; the chunk is not freed before they end
 */
struct odp_chunk {
	struct hmm_dma_map map;
	__be64 *mtt;
	unsigned int npages;
	unsigned int users;
};

/**
 * struct odp_leaf - a key over pages of a process: all of an explicit region, or a
 *	part of an implicit region
 * @key: the key
 * @start: address in the process of the first page
 * @num_pages: number of pages
 * @notifier: MMU notifier, called before the process loses pages of the leaf
 * @lock: guards @npages to @isolated, all of @chunks and, until the leaf is @dead, the state of the
 *	key. Memory reclaim takes this lock, so no allocation with the lock held reclaims memory
 * @npages: number of pages that are mapped
 * @dead: UMR has failed to clear translation entries, the leaf is being destroyed, or its key may
 *	be gone because firmware has not answered DESTROY_MKEY: no translation entry of the key is
 *	written any more
 * @isolated: the leaf is being removed from its tree, and has no pages: the notifier passes over it
 * @emptied: called with @lock held, possibly from memory reclaim, when the notifier has unmapped
 *	pages, and none is left or the leaf is @dead; NULL if the owner of the leaf need not know
 * @refs: one reference of the tree, one of each page-in, one of a queued or running @reclaim.
 *	Implicit regions only
 * @reclaim: destroys the leaf if no page is mapped or the leaf is @dead. While queued or running,
 *	holds a reference to the leaf and one to the region. Implicit regions only
 * @share: counts the leaf as paged memory of its user
 * @chunks: an entry for each MLX5_IB_ODP_CHUNK_PAGES pages: their chunk, or NULL
 */
struct odp_leaf {
	struct odp_key key;
	u64 start;
	size_t num_pages;
	struct mmu_interval_notifier notifier;
	struct mutex lock;	/* guards npages to isolated, chunks, the key until @dead */
	size_t npages;
	bool dead;
	bool isolated;
	void (*emptied)(struct odp_leaf *leaf);
	refcount_t refs;
	struct delayed_work reclaim;
	struct mlx5_ib_share share;
	struct odp_chunk *chunks[];
};

/**
 * struct odp_dir - a table of keys: root or directory of an implicit region
 * @key: key of the table itself
 * @shift: log2 of the bytes that an entry covers
 * @share: counts the table as paged memory of its user
 * @children: struct odp_key of each child by the index of its entry, also of a child that is not
 *	linked
 */
struct odp_dir {
	struct odp_key key;
	u8 shift;
	struct mlx5_ib_share share;
	struct xarray children;
};

/*
 * Limit of @max_slots of struct mlx5_ib_odp. A device has fewer slots if a NUMA node runs fewer
 * items of a workqueue at a time, see odp_fairness.c.
 */
#define MLX5_IB_ODP_MAX_SLOTS	1024U

/**
 * struct odp_process - a process that has paged regions, or indirect mkeys
 * @node: in @processes of struct mlx5_ib_odp
 * @odp: paging state of the device
 * @mm: address space of the process. The reference (mmgrab()) keeps the struct, not the memory
 * @user: user of the process, with a reference; NULL for a kernel consumer
 * @refs: one reference of each region, one of each indirect mkey, one of each slot, and one
 *	of each fault that has found no slot and is not in @waiting yet
 * @lock: guards @slots to @waiting
 * @slots: number of faults that have a slot of this process; they are queued or being resolved
 * @extra: one of @slots is an extra slot, which does not count against the user's share, see
 *	odp_fairness.c
 * @waiting: faults that wait for a slot, in the order in which they came
 */
struct odp_process {
	struct hlist_node node;
	struct mlx5_ib_odp *odp;
	struct mm_struct *mm;
	struct mlx5_ib_user *user;
	refcount_t refs;
	spinlock_t lock;	/* guards slots to waiting */
	unsigned int slots;
	bool extra;
	struct list_head waiting;
};

/**
 * struct odp_mr_ops - operations of a kind of paged regions
 * @page_in: map a range, given by its offset in the region and its length in bytes, both within the
 *	region. @req is HMM_PFN_REQ_FAULT to fault in pages that are not present in the process,
 *	with HMM_PFN_REQ_WRITE to map them for writing; or 0 to map only pages that are present; for
 *	a region over a dma-buf, all of the region is mapped in any case. May sleep. Returns 0; 1 if
 *	all of the range was already mapped as @req asks; or a negative errno: as
 *	mlx5_ib_odp_leaf_page_in(); for an implicit region, which may have to create keys, also as
 *	mlx5_ib_odp_leaf_create(); for a region over a dma-buf, also the errno of the exporter
 * @destroy: destroy the keys and release the memory of a region without users. May sleep. Returns
 *	0, or the errno of mlx5_ib_mkey_destroy(); another call then destroys what is left
 */
struct odp_mr_ops {
	int (*page_in)(struct odp_mr *mr, u64 offset, u64 len, unsigned long req);
	int (*destroy)(struct odp_mr *mr);
};

/**
 * struct odp_mr - a paged region
 * @mr: the region as other files of the driver know it. Each page-in, and each queued or running
 *	reclaim of a leaf, holds a reference to the key in @mr
 * @odp: paging state of the device
 * @ops: operations of the region's kind
 * @context: context of the process; outlives the region. NULL for a kernel consumer
 * @process: the process, to which the region holds a reference
 * @mm: address space of the process; NULL for a region over a dma-buf
 * @tgid: struct pid of the process; the region holds a reference to it. NULL for a region over a
 *	dma-buf
 * @start: first address of the region in @mm; 0 for an implicit region
 * @leaf: explicit region: its only leaf
 * @root: implicit region: table of directories. Once the key of @root has been destroyed, the
 *	device reaches no directory and no leaf through the region
 * @absent: implicit region, memory scheme: a key that covers the whole address space and maps no
 *	page; table entries without a child refer to this key. The key costs the device one block of
 *	translation entries. By the transport scheme, table entries without a child refer to the
 *	null key, and @absent is unused
 * @tree_lock: implicit region: guards the tree below @root. Held while directories and leaves are
 *	created and destroyed
 * @stat: statistics
 */
struct odp_mr {
	struct mlx5_ib_mr mr;
	struct mlx5_ib_odp *odp;
	const struct odp_mr_ops *ops;
	struct mlx5_ib_ucontext *context;
	struct odp_process *process;
	struct mm_struct *mm;
	struct pid *tgid;
	u64 start;
	struct odp_leaf *leaf;
	struct odp_dir *root;
	struct odp_key absent;
	struct mutex tree_lock;	/* guards the tree below root */
	struct mlx5_ib_paging_stat stat;
};

/* Number of pages that a range touches. */
static inline u64 odp_range_pages(u64 addr, u64 len)
{
	return (offset_in_page(addr) + len + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

/* Number of faults that @repeated of struct mlx5_ib_odp has room for. */
#define MLX5_IB_ODP_NUM_REPEATED	64

/**
 * struct odp_fault_id - what a fault was about; faults with equal members are the same fault
 * @where: the address, or the index of the WQE
 * @wq_num: the queue; 0 for a fault at a key
 * @key: the key; 0 for a fault at a WQE
 * @committed: bytes of the message that had been transferred
 * @type: as the device reported it
 *
 * The struct has no padding, because all of its bytes are compared.
 */
struct odp_fault_id {
	u64 where;
	u32 wq_num;
	u32 key;
	u32 committed;
	u32 type;
};

/**
 * struct odp_repeated - a fault for which there was nothing to map
 * @id: what the fault was about
 * @times: how often in a row there was nothing to map, and the queue was to go on
 * @last: when the fault was last answered
 */
struct odp_repeated {
	struct odp_fault_id id;
	unsigned int times;
	ktime_t last;
};

/**
 * struct mlx5_ib_odp - paging state of a device
 * @dev: device
 * @caps: what the device can page, as verbs report it
 * @by_memory: the device reports faults by the memory scheme, and not by the transport scheme
 * @dir_shift: log2 of the bytes that a directory of an implicit region covers; 0 if the device
 *	cannot have implicit regions
 * @fault_wq: resolves faults, and nothing else. The four workqueues and @eq are created when the
 *	first paged region is registered
 * @extra_wq: resolves the faults that have an extra slot, see odp_fairness.c. It runs 1024 items at
 *	a time, divided among the NUMA nodes. When all of these wait for pages, further faults
 *	with an extra slot wait behind them
 * @advice_wq: serves the queues of advice. Its work items may wait for pages as long as a process
 *	likes, so a context has one work item, and a user as many as odp_advise.c allows
 * @reclaim_wq: runs reclaim of leaves, and @eq_work. No work item on this queue waits for a
 *	process. A process can have a work item queued for each of its leaves; the work items of
 *	other processes wait behind them. A work item usually costs one or two UMRs, perhaps a
 *	command
 * @stopping: the device is being removed: no advice is served any more
 * @num_faults: number of faults that are queued or being resolved; not those that wait for a slot
 * @num_resolved: number of faults that have been resolved so far; may wrap
 * @no_faults: woken when @num_faults falls to 0
 * @start_lock: serializes the creation of the workqueues, of @eq, and of the buffer by which UMR
 *	unmaps pages. Each registration of paged memory takes this lock: for a moment if @eq exists,
 *	otherwise across CREATE_EQ
 * @eq: page-fault event queue, created last
 * @nb: notifier called by the interrupt of @eq
 * @events_lock: serializes consumption of @eq, also from its interrupt. Held until all faults that
 *	have been reported are queued, or an allocation fails; by the transport scheme, a queue can
 *	have one or two faults reported at a time
 * @eq_work: goes on consuming @eq after an allocation has failed in the interrupt
 * @repeated_lock: guards @repeated; held for two passes over @repeated at most
 * @repeated: faults for which there was nothing to map. In a full table a fault of one process can
 *	displace a fault of another process. The count of the displaced fault then starts at 0
 *	again, so its work request fails later
 * @max_slots: number of slots, without the extra slots: MLX5_IB_ODP_MAX_SLOTS, or fewer if a NUMA
 *	node has less than half of the CPUs, see odp_fairness.c. Constant
 * @num_slots: number of slots that the faults of all processes have, without the extra slots
 * @processes_lock: guards @processes. Held for a look-up, which compares about a 64th of
 *	@processes, when a process registers paged memory or creates an indirect mkey; and when the
 *	last reference to an entry of @processes is released
 * @processes: struct odp_process, by the address of its struct mm_struct
 */
struct mlx5_ib_odp {
	struct mlx5_ib_dev *dev;
	struct ib_odp_caps caps;
	bool by_memory;
	u8 dir_shift;
	struct workqueue_struct *fault_wq;
	struct workqueue_struct *extra_wq;
	struct workqueue_struct *advice_wq;
	struct workqueue_struct *reclaim_wq;
	bool stopping;
	atomic_t num_faults;
	atomic_t num_resolved;
	wait_queue_head_t no_faults;
	struct mutex start_lock;	/* creation of the workqueues and of eq */
	struct mlx5_eq *eq;
	struct notifier_block nb;
	spinlock_t events_lock;		/* consumption of eq */
	struct work_struct eq_work;
	spinlock_t repeated_lock;		/* guards repeated */
	struct odp_repeated repeated[MLX5_IB_ODP_NUM_REPEATED];
	unsigned int max_slots;
	atomic_t num_slots;
	spinlock_t processes_lock;	/* guards processes */
	DECLARE_HASHTABLE(processes, 6);
};

/* odp_fairness.c */
void mlx5_ib_odp_init_processes(struct mlx5_ib_odp *odp);
struct odp_process *mlx5_ib_odp_process_get(struct mlx5_ib_odp *odp, struct mm_struct *mm,
					    struct mlx5_ib_user *user);
void mlx5_ib_odp_process_put(struct odp_process *process);
bool mlx5_ib_odp_process_enter(struct odp_process *process);
bool mlx5_ib_odp_process_wait(struct odp_process *process, struct list_head *fault, bool *extra);
void mlx5_ib_odp_process_leave(struct odp_process *process);
struct list_head *mlx5_ib_odp_process_next(struct odp_process *process, bool *extra);

/* odp_mr.c */
struct odp_mr *mlx5_ib_odp_mr_get(struct mlx5_ib_odp *odp, u32 key);
struct odp_mr *mlx5_ib_odp_mr_get_lowest(struct mlx5_ib_odp *odp, u32 key);
int mlx5_ib_odp_mr_page_in(struct odp_mr *mr, u64 addr, u64 len, unsigned long req);
struct mm_struct *mlx5_ib_odp_mr_get_mm(const struct odp_mr *mr);
bool mlx5_ib_odp_mr_is_closing(const struct odp_mr *mr);
int mlx5_ib_odp_create_key(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 iova, u64 length,
			   u32 nmtts);

/* odp_chunk.c */
struct odp_chunk *mlx5_ib_odp_chunk_get(struct odp_leaf *leaf, size_t index);
void mlx5_ib_odp_chunk_put(struct odp_leaf *leaf, size_t index);
bool mlx5_ib_odp_has_pages(struct odp_leaf *leaf, size_t first, size_t num, unsigned long req);
int mlx5_ib_odp_map(struct odp_leaf *leaf, struct odp_chunk *chunk, size_t first, size_t num,
		    void *page);
void mlx5_ib_odp_clear(struct odp_leaf *leaf, size_t first, size_t end);
void mlx5_ib_odp_unmap(struct odp_leaf *leaf, size_t first, size_t end);

/* odp_leaf.c */
struct odp_leaf *mlx5_ib_odp_leaf_create(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 start,
					 u64 length, u64 iova);
int mlx5_ib_odp_leaf_destroy(struct odp_leaf *leaf);
void mlx5_ib_odp_leaf_map_present(struct odp_leaf *leaf);
void mlx5_ib_odp_leaf_unmap_dead(struct odp_leaf *leaf);
int mlx5_ib_odp_leaf_page_in(struct odp_leaf *leaf, u64 va, u64 len, unsigned long req);

/* odp_tree.c */
int mlx5_ib_odp_tree_create(struct odp_mr *mr);

/* odp_dmabuf.c */
int mlx5_ib_odp_dmabuf_create(struct odp_mr *mr, u64 offset, int fd);

/* @pdn of a key that may belong to any domain, because the device has checked the domain. */
#define MLX5_IB_ODP_ANY_PD	(~0U)

/**
 * struct odp_want - a range of a key that the device wants to access
 * @key: the key, its variant included
 * @pdn: protection domain that the key must belong to, or MLX5_IB_ODP_ANY_PD
 * @addr: first address
 * @len: length of the range in bytes
 * @need: number of bytes, starting at @addr, that the device needs next; 0 if it needs none of the
 *	range yet
 */
struct odp_want {
	u32 key;
	u32 pdn;
	u64 addr;
	u64 len;
	u64 need;
};

/**
 * struct odp_visitor - callbacks of a walk through indirect mkeys
 * @table: called before the driver reads (QUERY_MKEY) the table of an indirect mkey that @process
 *	created. Returns 0; or a negative errno: then the table is not read, and the walk returns
 *	this errno. But if another table refers to this table, and the device does not need it yet,
 *	the walk only leaves out this table and what follows it in the other table
 * @region: called for each piece of a paged region, in the order of the addresses; the caller's
 *	reference on the region lasts as long as the call. Returns 0; or a negative errno, which has
 *	the same effect for the piece as an errno of @table has for a table
 */
struct odp_visitor {
	int (*table)(struct odp_process *process, const struct odp_want *want, void *arg);
	int (*region)(struct odp_mr *mr, const struct odp_want *want, void *arg);
};

/**
 * struct odp_budget - what a fault may still spend on walks through indirect mkeys
 * @tables: number of attempts to read a table
 * @bytes: bytes of tables to read
 * @entries: number of entries to look at
 * @ahead: number of pieces to map beyond what the device needs next
 *
 * A process can write tables that refer to each other, that are long, and that have long runs of
 * empty entries, and name such tables in each data segment of a WQE. All processes share the
 * command interface. A fault reads tables only while it has a slot of a process, and by one command
 * at a time, so no more of these commands than slots are in progress.
 */
struct odp_budget {
	unsigned int tables;
	size_t bytes;
	unsigned int entries;
	unsigned int ahead;
};

/*
 * A WQE has at most 63 data segments, and known devices nest indirect mkeys four levels deep
 * (max_indirection): 252 tables, with one table a level, rounded up.
 */
#define MLX5_IB_ODP_MAX_TABLES	256
#define MLX5_IB_ODP_MAX_AHEAD	64

/* The budget of a fault; a fault that has waited for a slot gets the whole budget again. */
#define MLX5_IB_ODP_BUDGET { \
	.tables = MLX5_IB_ODP_MAX_TABLES, .bytes = SZ_4M, .entries = SZ_1M, \
	.ahead = MLX5_IB_ODP_MAX_AHEAD, \
}

/* odp_walk.c */
int mlx5_ib_odp_for_each_region(struct mlx5_ib_odp *odp, const struct odp_want *want,
				struct odp_budget *budget, const struct odp_visitor *visitor,
				void *arg);

/* odp_fault.c */
void mlx5_ib_odp_init_faults(struct mlx5_ib_odp *odp);
int mlx5_ib_odp_start(struct mlx5_ib_odp *odp);
void mlx5_ib_odp_stop(struct mlx5_ib_odp *odp);

#if IS_ENABLED(CONFIG_KUNIT)
unsigned int mlx5_ib_odp_max_slots(unsigned int fewest, unsigned int cpus);
struct odp_process *mlx5_ib_odp_resolve_fault(struct mlx5_ib_odp *odp,
					      const struct mlx5_ib_fault *fault,
					      struct odp_process **slot);
struct mlx5_eqe *mlx5_ib_odp_get_eqe(struct mlx5_ib_odp *odp, u32 cc);
void mlx5_ib_odp_update_ci(struct mlx5_ib_odp *odp, u32 cc, bool arm);
#endif

#endif /* BLUEBELL_ODP_INTERNAL_H */
