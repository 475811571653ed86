/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions of users and of kernel consumers, and memory windows of users.
 */

#ifndef BLUEBELL_MR_H
#define BLUEBELL_MR_H

#include <rdma/ib_verbs.h>

#include "lib/region.h"

struct ib_umem;
struct mlx5_ib_caps;
struct mlx5_ib_umr_wqe;

/**
 * struct mlx5_ib_mw - memory window of a user
 * @ibmw: verbs object; its rkey is that of the new window. Binding the window can change the low
 *	byte of the key at the device
 * @mkey: the key
 */
struct mlx5_ib_mw {
	struct ib_mw ibmw;
	struct mlx5_ib_mkey mkey;
};

static inline struct mlx5_ib_mw *to_mmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct mlx5_ib_mw, ibmw);
}

struct mlx5_ib_mr *mlx5_ib_create_mr(struct ib_pd *pd, struct ib_umem *umem, u64 iova, u64 length,
				     u32 access);
int mlx5_ib_destroy_mr_key(struct mlx5_ib_mr *mr);
bool mlx5_ib_mr_waits_for_windows(const struct mlx5_ib_mr *mr);
int mlx5_ib_free_mr(struct mlx5_ib_mr *mr);
void mlx5_ib_destroy_mr_early(struct ib_mr *ibmr, bool windows, struct mlx5_ib_mkey_batch *batch);

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

/* fast_mr.c: regions of kernel consumers */
struct ib_mr *mlx5_ib_get_dma_mr(struct ib_pd *pd, int access);
u32 mlx5_ib_max_fast_reg(const struct mlx5_ib_caps *caps, bool gaps);
struct ib_mr *mlx5_ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int mlx5_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		      unsigned int *sg_offset);
void mlx5_ib_fast_mr_fill_wqe(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
			      const struct ib_reg_wr *wr);

#endif /* BLUEBELL_MR_H */
