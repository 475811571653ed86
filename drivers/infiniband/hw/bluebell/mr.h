/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions of user space: the pinned memory and the key over it.
 */

#ifndef BLUEBELL_MR_H
#define BLUEBELL_MR_H

#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct ib_umem;
struct mlx5_ib_dev;

/**
 * struct mlx5_ib_mr_mem - memory that keys map, pinned or of a dma-buf
 * @refs: one for each key that may still reach the memory. A re-registration
 *	lets the old and the new key share it until the old one is destroyed.
 * @umem: the memory, unpinned with the last reference
 */
struct mlx5_ib_mr_mem {
	refcount_t refs;
	struct ib_umem *umem;
};

/**
 * struct mlx5_ib_mr - memory region of a user
 * @ibmr: verbs object; its lkey and rkey are the key. Freed by dereg_mr
 * @mem: the memory, given up after DESTROY_MKEY; NULL if it is the device's, or
 *	pages of a process that are not pinned
 * @access: enum ib_access_flags it was registered with
 * @paged: it is not pinned; the rest of it is odp_internal.h's
 * @class: of the key, see mlx5_ib_cache_class()
 * @key_gone: an exporter took or moved the memory, and the key had to be destroyed.
 *	Guarded by the dma-buf's reservation lock
 */
struct mlx5_ib_mr {
	struct ib_mr ibmr;
	struct mlx5_ib_mr_mem *mem;
	u32 access;
	bool paged;
	int class;
	bool key_gone;
};

static inline struct mlx5_ib_mr *to_mmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct mlx5_ib_mr, ibmr);
}

struct mlx5_ib_mkey_caps;

void mlx5_ib_get_mkey_caps(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey_caps *caps);
struct ib_mr *mlx5_ib_create_mr(struct ib_pd *pd, struct mlx5_ib_mr_mem *mem, u64 iova,
				u64 length, u32 access);
struct ib_mr *mlx5_ib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				  struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *mlx5_ib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				    u64 iova, int access, struct ib_pd *pd,
				    struct ib_udata *udata);
int mlx5_ib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

int mlx5_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int mlx5_ib_dealloc_mw(struct ib_mw *ibmw);

/* dmabuf.c */
struct ib_mr *mlx5_ib_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					 int fd, int access, struct ib_dmah *dmah,
					 struct uverbs_attr_bundle *attrs);
void mlx5_ib_revoke_dmabuf_mr(struct mlx5_ib_mr *mr);

#endif /* BLUEBELL_MR_H */
