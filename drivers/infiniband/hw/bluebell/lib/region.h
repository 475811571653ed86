/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The base of a memory region: what regions of every kind have, and the operations in which the
 * kinds differ.
 */

#ifndef BLUEBELL_REGION_H
#define BLUEBELL_REGION_H

#include <linux/atomic.h>
#include <rdma/ib_verbs.h>

#include "lib/mkey.h"
#include "lib/share.h"

struct ib_umem;
struct mlx5_ib_dev;
struct mlx5_ib_memic;
struct mlx5_ib_mr;

/**
 * struct mlx5_ib_paging_stat - what happened to the pages of a paged region
 * @faults: number of pages in the ranges that were mapped because the device faulted
 * @prefetches: number of pages in the ranges that were mapped on advice
 * @invalidations: number of pages that were unmapped because the process, or the exporter of the
 *	dma-buf, was about to lose them
 */
struct mlx5_ib_paging_stat {
	atomic64_t faults;
	atomic64_t prefetches;
	atomic64_t invalidations;
};

/**
 * struct mlx5_ib_mr_ops - operations of a kind of region
 * @kind: name of the kind, for resource tracking
 * @dereg: destroy the key, then free the memory and the region. After an error the key is as
 *	before, or the device reaches nothing through the key; in both cases the region can be
 *	deregistered again
 * @destroy_key: destroy the key alone, before another region replaces this one;
 *	NULL if that is left to @dereg
 * @range: find the memory over which the region was registered, so that it can be registered again.
 *	Returns -EINVAL if the memory is not of the current process. Only for paged memory of a
 *	process; else NULL
 * @paging_stat: return the region's statistics; NULL for kinds that are not paged
 */
struct mlx5_ib_mr_ops {
	const char *kind;
	int (*dereg)(struct mlx5_ib_mr *mr);
	int (*destroy_key)(struct mlx5_ib_mr *mr);
	int (*range)(struct mlx5_ib_mr *mr, u64 *start, u64 *length);
	const struct mlx5_ib_paging_stat *(*paging_stat)(struct mlx5_ib_mr *mr);
};

/**
 * struct mlx5_ib_mr - a memory region
 * @ibmr: verbs object, whose lkey and rkey are @mkey
 * @mkey: the key
 * @ops: kind of the region
 * @umem: the memory, pinned or of a dma-buf, released after the key has been destroyed; NULL
 *	for device memory, for pages of a process that are not pinned, in regions of kernel
 *	consumers, and after the region that replaces this one has taken the memory over
 * @memic: the device memory, with a reference that is put after the key has been destroyed; NULL
 *	for other memory
 * @access: enum ib_access_flags
 * @pdn: number of the key's protection domain, if the region is paged. Page faults read the number
 *	with READ_ONCE(), because ibv_rereg_mr(3) can change the number at any time; the old domain
 *	can then be freed
 * @closing: set when the region is deregistered: the context of the process, if it has closed the
 *	device; then @ops->dereg does not fail. Else NULL
 * @share: counts a region over a dma-buf as paged memory of its user
 * @num_pages: number of pages that were added to mlx5_core's count of registered pages (reg_pages)
 * @leak_umem: do not release @umem: the device may still reach it through another key
 */
struct mlx5_ib_mr {
	struct ib_mr ibmr;
	struct mlx5_ib_mkey mkey;
	const struct mlx5_ib_mr_ops *ops;
	struct ib_umem *umem;
	struct mlx5_ib_memic *memic;
	struct mlx5_ib_share share;
	u32 access;
	u32 pdn;
	u32 num_pages;
	struct mlx5_ib_ucontext *closing;
	bool leak_umem;
};

static inline struct mlx5_ib_mr *to_mmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct mlx5_ib_mr, ibmr);
}

/* Give the key of a complete region to the user, and let lookups find the key. */
static inline void mlx5_ib_publish_mr(struct mlx5_ib_dev *dev, struct mlx5_ib_mr *mr,
				      enum mlx5_ib_mkey_type type)
{
	mr->ibmr.lkey = mr->mkey.key;
	mr->ibmr.rkey = mr->mkey.key;
	mlx5_ib_mkey_publish(dev, &mr->mkey, type);
}

#endif /* BLUEBELL_REGION_H */
