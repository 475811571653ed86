/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queue pair of general services (GSI), and the verbs that it has of its own.
 */

#ifndef BLUEBELL_GSI_H
#define BLUEBELL_GSI_H

#include <linux/notifier.h>
#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;

int mlx5_ib_verbs_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			    struct ib_udata *udata);
int mlx5_ib_verbs_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			    struct ib_udata *udata);
int mlx5_ib_verbs_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int mlx5_ib_verbs_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad);

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_gsi_watch(struct mlx5_ib_dev *dev, struct notifier_block *events, bool on);
#endif

#endif /* BLUEBELL_GSI_H */
