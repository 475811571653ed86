/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of on-demand paging share. Each calls only files below it:
 *
 *  odp.c		registration and deregistration of paged regions, set-up of the
 *		device; explicit regions, which have one leaf
 *  odp_advise.c	prefetch by ibv_advise_mr(3)
 *  odp_tree.c	implicit regions: a tree of keys with leaves at the bottom
 *  odp_dmabuf.c	regions over a dma-buf
 *  odp_leaf.c	a key over pages of a process, and the MMU notifier that unmaps them
 *  odp_fault.c	the device's page faults: event queue, resolution, answer
 *  odp_mr.c	regions of every kind by key, with references, paging in through
 *		struct odp_mr_ops, and creation of their keys
 *
 * Two calls go up through a pointer: odp_mr.c pages in by the ops of the region's
 * kind, and odp_leaf.c tells the owner of a leaf that its last page was unmapped.
 */

#ifndef BLUEBELL_ODP_INTERNAL_H
#define BLUEBELL_ODP_INTERNAL_H

#include <linux/hmm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>

#include "mkey.h"
#include "mr.h"
#include "odp.h"

struct mlx5_eq;
struct mlx5_ib_dev;

/**
 * struct odp_key - a key that an entry of a table of keys can lead to
 * @mkey: memory key: the region's for a root or an explicit region, otherwise @own
 * @own: memory key of a directory, or of a leaf of an implicit region
 * @base: first address of the key
 * @linked: the device has the entry that leads here. False also when the UMR that was to
 *	write the entry failed: the entry is then written before the key is used
 */
struct odp_key {
	struct mlx5_ib_mkey *mkey;
	struct mlx5_ib_mkey own;
	u64 base;
	bool linked;
};

/**
 * struct odp_leaf - a key over pages of a process: all of an explicit region, or a
 *	part of an implicit one
 * @key: the key
 * @umem: the pages. Its umem_mutex guards @mtt, @dead and the state of the key
 * @mtt: translation entries of the key, as the device has them
 * @dead: UMR failed while pages were being unmapped, or the leaf is being destroyed:
 *	nothing is written to the key any more
 * @mr: region that the leaf belongs to
 * @emptied: called with umem_mutex held, possibly from memory reclaim, after an MMU
 *	notifier has unmapped the last page or while the leaf is @dead; NULL if the
 *	owner of the leaf need not know
 * @refs: one of the tree, one of each user. Implicit regions only
 * @reclaim: destroys the leaf if it has no page or no key. While queued, holds a
 *	reference to the leaf and one to the region. Implicit regions only
 */
struct odp_leaf {
	struct odp_key key;
	struct ib_umem_odp *umem;
	__be64 *mtt;
	bool dead;
	struct odp_mr *mr;
	void (*emptied)(struct odp_leaf *leaf);
	refcount_t refs;
	struct delayed_work reclaim;
};

/**
 * struct odp_dir - a table of keys: root or directory of an implicit region
 * @key: key of the table itself
 * @shift: log2 of the bytes that an entry covers
 * @children: struct odp_key of each entry that does not lead to the null key, by index
 */
struct odp_dir {
	struct odp_key key;
	u8 shift;
	struct xarray children;
};

struct odp_mr;

/**
 * struct odp_mr_ops - what the kinds of paged regions do each in their own way
 * @page_in: map a range, given by its offset in the region and its length in bytes, both
 *	within the region. @req is HMM_PFN_REQ_FAULT to fault in pages that are not present in
 *	the process, with HMM_PFN_REQ_WRITE to map them for writing; or 0 to map only pages
 *	that are present. May sleep. Returns 0; -EFAULT for memory that the process does
 *	not have or may not write to; -ENOMEM; -EIO if the key has been destroyed; the
 *	errno of a failed UMR or of an exporter
 * @destroy: destroy the keys and release the memory of a region without users. May
 *	sleep. Returns 0, or the errno of a firmware that refused to destroy a key: then
 *	what is left is destroyed by another call
 */
struct odp_mr_ops {
	int (*page_in)(struct odp_mr *mr, u64 offset, u64 len, unsigned long req);
	int (*destroy)(struct odp_mr *mr);
};

/**
 * struct odp_mr - a paged region
 * @mr: the region; first, so that freeing it frees the whole. Each fault, advice and reclaim
 *	in progress holds a reference to its key
 * @odp: paging state of the device
 * @ops: of the region's kind
 * @leaf: explicit region: its only leaf
 * @anchor: implicit region: names the address space, to which it holds a reference
 * @root: implicit region: table of directories. Once its key has been destroyed, the
 *	device reaches nothing below it
 * @tree_lock: implicit region: guards the tree below @root. Held while leaves are
 *	created and destroyed
 */
struct odp_mr {
	struct mlx5_ib_mr mr;
	struct mlx5_ib_odp *odp;
	const struct odp_mr_ops *ops;
	struct odp_leaf *leaf;
	struct ib_umem_odp *anchor;
	struct odp_dir *root;
	struct mutex tree_lock;	/* root */
};

/**
 * struct mlx5_ib_odp - paging state of a device
 * @dev: device
 * @caps: what the device can page, as verbs report it
 * @wq: resolves faults, serves advice and reclaims leaves
 * @eq_lock: serializes the creation of @eq
 * @eq: page-fault event queue, created for the first paged region
 * @nb: notifier called by the interrupt of @eq
 * @events_lock: serializes consumption of @eq, also from its interrupt
 * @eq_work: continues consumption after an allocation has failed in the interrupt
 */
struct mlx5_ib_odp {
	struct mlx5_ib_dev *dev;
	struct ib_odp_caps caps;
	struct workqueue_struct *wq;
	struct mutex eq_lock;		/* eq */
	struct mlx5_eq *eq;
	struct notifier_block nb;
	spinlock_t events_lock;		/* consumption of eq */
	struct work_struct eq_work;
};

/* odp_mr.c */
struct odp_mr *mlx5_ib_odp_mr_get(struct mlx5_ib_odp *odp, u32 mkey);
int mlx5_ib_odp_mr_page_in(struct odp_mr *mr, u64 addr, u64 len, unsigned long req);
int mlx5_ib_odp_create_key(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 iova, u64 length,
			   u32 nmtts);

/* odp_leaf.c */
extern const struct mmu_interval_notifier_ops mlx5_ib_odp_notifier_ops;

struct odp_leaf *mlx5_ib_odp_leaf_create(struct odp_mr *mr, struct mlx5_ib_mkey *mkey,
					 struct ib_umem_odp *umem, u64 iova, u64 length);
int mlx5_ib_odp_leaf_destroy(struct odp_leaf *leaf);
int mlx5_ib_odp_leaf_page_in(struct odp_leaf *leaf, u64 va, u64 len, unsigned long req);

/* odp_tree.c */
int mlx5_ib_odp_tree_create(struct odp_mr *mr);

/* odp_dmabuf.c */
int mlx5_ib_odp_dmabuf_create(struct odp_mr *mr, u64 offset, int fd);

/* odp_fault.c */
int mlx5_ib_odp_init_faults(struct mlx5_ib_odp *odp);
int mlx5_ib_odp_start_faults(struct mlx5_ib_odp *odp);
void mlx5_ib_odp_cleanup_faults(struct mlx5_ib_odp *odp);

#endif /* BLUEBELL_ODP_INTERNAL_H */
