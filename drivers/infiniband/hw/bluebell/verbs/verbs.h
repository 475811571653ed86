/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verbs that the RDMA core alone calls, of files without a header of their own.
 */

#ifndef BLUEBELL_VERBS_H
#define BLUEBELL_VERBS_H

#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

struct ib_uverbs_file;

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

/* mcast.c */
int mlx5_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mlx5_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

#endif /* BLUEBELL_VERBS_H */
