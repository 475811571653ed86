/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of on-demand paging share: odp.c has the regions, odp_leaf.c the
 * keys over pages, odp_tree.c the tree of them in an implicit region, odp_dmabuf.c
 * the regions over a dma-buf, odp_fault.c the device's faults.
 */

#ifndef BLUEBELL_ODP_INTERNAL_H
#define BLUEBELL_ODP_INTERNAL_H

#include <linux/completion.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>

#include "mr.h"
#include "odp.h"

struct mlx5_eq;
struct mlx5_ib_dev;

/* Entries that are written by one request when pages go. */
#define MLX5_IB_ODP_ZAP_MTTS	SZ_4K

/**
 * struct odp_key - an entry of a table of keys
 * @mkey: the key it leads to
 * @base: first address
 * @linked: the device has the entry. If UMR failed it may not: then it is written
 *	before the key is used
 * @gone: firmware has destroyed the key
 */
struct odp_key {
	u32 mkey;
	u64 base;
	bool linked;
	bool gone;
};

/**
 * struct odp_leaf - a key over pages: an explicit region, or a part of an
 *	implicit one
 * @key: the key; its mkey is constant
 * @umem: the pages; its umem_mutex guards @mtt, @dead and @key.gone
 * @mtt: the key's translation entries as the device has them
 * @class: of the key, as mlx5_ib_choose_class()
 * @dead: nothing is written to the key any more
 * @mr: region that it belongs to
 * @refs: one of the tree, one of each user. Implicit regions only
 * @reclaim: give it up if no page is left, or no key. Holds a reference to the
 *	leaf and to the region
 */
struct odp_leaf {
	struct odp_key key;
	struct ib_umem_odp *umem;
	__be64 *mtt;
	int class;
	bool dead;
	struct odp_mr *mr;
	refcount_t refs;
	struct delayed_work reclaim;
};

/**
 * struct odp_dir - a table of keys
 * @key: its own key
 * @shift: log2 of what an entry covers
 * @kids: entries that are there, struct odp_key by index
 */
struct odp_dir {
	struct odp_key key;
	u8 shift;
	struct xarray kids;
};

/**
 * struct odp_mr - a paged region: one of @leaf, @root and @mr.mem, a dma-buf's
 *	memory, says what it is over
 * @mr: the region; first, and freed with the whole
 * @odp: device state
 * @refs: one while the key is registered, one for each fault, advice and
 *	reclamation in progress
 * @free: the last reference is gone
 * @closing: it is being deregistered
 * @leaf: of an explicit region
 * @anchor: of an implicit region: the address space
 * @root: of an implicit region; once its key is gone, so is all that it led to
 * @limit: of an implicit region: the end of the address space
 * @tree_lock: guards what is below @root
 */
struct odp_mr {
	struct mlx5_ib_mr mr;
	struct mlx5_ib_odp *odp;
	refcount_t refs;
	struct completion free;
	bool closing;
	struct odp_leaf *leaf;
	struct ib_umem_odp *anchor;
	struct odp_dir *root;
	u64 limit;
	struct mutex tree_lock; /* held while leaves come and go */
};

/**
 * struct mlx5_ib_odp - what paging needs of a device
 * @dev: device
 * @caps: what is paged
 * @null_mkey: entry of a table that leads nowhere
 * @mrs: regions by index of their key. The index of a region that is being
 *	deregistered stays reserved until its key is gone.
 * @wq: resolves faults, serves advice, gives up leaves
 * @eq_lock: held while @eq is made
 * @eq: page-fault event queue, made for the first region
 * @nb: interrupt of @eq
 * @events_lock: held while events are taken from @eq, also in its interrupt
 * @eq_work: goes on with that when there was no memory
 * @zeros: entries of pages that are not there, for the device to read
 * @zeros_dma: their address
 */
struct mlx5_ib_odp {
	struct mlx5_ib_dev *dev;
	struct ib_odp_caps caps;
	u32 null_mkey;
	struct xarray mrs;
	struct workqueue_struct *wq;
	struct mutex eq_lock; /* eq */
	struct mlx5_eq *eq;
	struct notifier_block nb;
	spinlock_t events_lock; /* consumption of eq */
	struct work_struct eq_work;
	__be64 *zeros;
	dma_addr_t zeros_dma;
};

/**
 * struct odp_page_in - how pages are brought in
 * @write: as pages that may be written to
 * @fault: also those that the process itself would fault on
 */
struct odp_page_in {
	bool write;
	bool fault;
};

/* odp.c */
struct odp_mr *mlx5_ib_odp_get_mr(struct mlx5_ib_odp *odp, u32 mkey);
void mlx5_ib_odp_put_mr(struct odp_mr *mr);
int mlx5_ib_odp_page_in(struct odp_mr *mr, u64 addr, u64 len, const struct odp_page_in *how);

/* odp_leaf.c */
extern const struct mmu_interval_notifier_ops mlx5_ib_odp_notifier_ops;

int mlx5_ib_odp_kill_key(struct mlx5_ib_dev *dev, u32 mkey);
int mlx5_ib_odp_zap_key(struct mlx5_ib_odp *odp, u32 mkey, size_t num);
int mlx5_ib_odp_create_key(struct odp_mr *mr, u64 iova, u64 length, u32 nmtts, int *class,
			   u32 *mkey);
struct odp_leaf *mlx5_ib_odp_create_leaf(struct odp_mr *mr, struct ib_umem_odp *umem, u64 iova,
					 u64 length);
int mlx5_ib_odp_free_leaf(struct odp_leaf *leaf);
void mlx5_ib_odp_drop_leaf(struct odp_leaf *leaf);
int mlx5_ib_odp_page_in_leaf(struct odp_leaf *leaf, u64 va, u64 len,
			     const struct odp_page_in *how);

/* odp_tree.c */
int mlx5_ib_odp_make_tree(struct odp_mr *mr);
int mlx5_ib_odp_free_tree(struct odp_mr *mr);
void mlx5_ib_odp_drop_tree(struct odp_mr *mr);
struct odp_leaf *mlx5_ib_odp_get_leaf(struct odp_mr *mr, u64 va);
void mlx5_ib_odp_put_leaf(struct odp_leaf *leaf);
void mlx5_ib_odp_queue_reclaim(struct odp_leaf *leaf);

/* odp_dmabuf.c */
int mlx5_ib_odp_make_dmabuf(struct odp_mr *mr, u64 offset, int fd);
int mlx5_ib_odp_free_dmabuf(struct odp_mr *mr);
void mlx5_ib_odp_drop_dmabuf(struct odp_mr *mr);
int mlx5_ib_odp_map_dmabuf(struct odp_mr *mr, bool write);

/* odp_fault.c */
void mlx5_ib_odp_init_faults(struct mlx5_ib_odp *odp);
int mlx5_ib_odp_start_faults(struct mlx5_ib_odp *odp);
void mlx5_ib_odp_stop_faults(struct mlx5_ib_odp *odp);
void mlx5_ib_odp_cleanup_faults(struct mlx5_ib_odp *odp);

#endif /* BLUEBELL_ODP_INTERNAL_H */
