/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Functions of files without a header of their own.
 */

#ifndef BLUEBELL_VERBS_H
#define BLUEBELL_VERBS_H

#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

struct ib_uverbs_file;
struct mlx5_ib_dev;
struct vm_area_struct;

/* ah.c */
int mlx5_ib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int mlx5_ib_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			   struct ib_udata *udata);
int mlx5_ib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *ah_attr);
int mlx5_ib_destroy_ah(struct ib_ah *ibah, u32 flags);

/* ufile_cleanup.c */
void mlx5_ib_ufile_hw_cleanup(struct ib_uverbs_file *ufile);

/* mad.c */
int mlx5_ib_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
			const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index);

/* mad_counters.c */
int mlx5_ib_answer_perf_mad(struct mlx5_ib_dev *dev, const struct ib_mad *in, struct ib_mad *out);

/* mcast.c */
int mlx5_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mlx5_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* mmap.c */
int mlx5_ib_init_mmap_export(struct mlx5_ib_dev *dev);
int mlx5_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mlx5_ib_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

/* xrc.c */
int mlx5_ib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int mlx5_ib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
void mlx5_ib_xrc_fill_qpc(struct mlx5_ib_dev *dev, struct ib_xrcd *ibxrcd, void *qpc);
int mlx5_ib_use_xrc(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_xrc(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_VERBS_H */
