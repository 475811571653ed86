/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of the context of a DC target (DCTC), and the checks of its attributes. Pure functions
 * only.
 */

#ifndef BLUEBELL_LAYOUT_DCT_H
#define BLUEBELL_LAYOUT_DCT_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

int mlx5_ib_dct_check_create(const struct ib_qp_init_attr *init,
			     const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps);
void mlx5_ib_dct_fill_create(void *dctc, const struct mlx5_ib_create_qp *ucmd, int cqe_size,
			     const struct mlx5_ib_caps *caps);
int mlx5_ib_dct_check_modify(enum ib_qp_state cur, enum ib_qp_state next, int mask,
			     const struct ib_qp_attr *attr, const struct mlx5_ib_caps *caps);
void mlx5_ib_dct_fill_modify(void *dctc, const struct ib_qp_attr *attr, int mask,
			     const struct mlx5_ib_caps *caps);
void mlx5_ib_dct_fill_out_of_order(void *dctc, const struct mlx5_ib_caps *caps);
void mlx5_ib_dct_read(const void *dctc, bool ethernet, struct ib_qp_attr *attr);

#endif /* BLUEBELL_LAYOUT_DCT_H */
