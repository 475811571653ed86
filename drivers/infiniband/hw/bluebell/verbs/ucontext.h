/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * User contexts and protection domains.
 */

#ifndef BLUEBELL_UCONTEXT_H
#define BLUEBELL_UCONTEXT_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_ib_dev;

extern const struct uapi_definition mlx5_ib_ucontext_defs[];

int mlx5_ib_init_contexts(struct mlx5_ib_dev *dev);
int mlx5_ib_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void mlx5_ib_dealloc_ucontext(struct ib_ucontext *uctx);
void mlx5_ib_disassociate_ucontext(struct ib_ucontext *uctx);
int mlx5_ib_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs);

int mlx5_ib_hold_loopback(struct mlx5_ib_dev *dev, u32 flags, bool *held);
void mlx5_ib_drop_loopback(struct mlx5_ib_dev *dev, bool *held);

int mlx5_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mlx5_ib_check_pd(struct ib_pd *ibpd);
int mlx5_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* BLUEBELL_UCONTEXT_H */
