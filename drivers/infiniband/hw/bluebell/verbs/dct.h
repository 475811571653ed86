/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DC targets: queue pairs of type DRIVER to verbs, and objects of their own to the device.
 */

#ifndef BLUEBELL_DCT_H
#define BLUEBELL_DCT_H

#include "lib/rsc.h"

struct mlx5_ib_qp;
struct mlx5_ib_qp_ops;

extern const struct mlx5_ib_qp_ops mlx5_ib_dct_ops;

const struct mlx5_ib_rsc *mlx5_ib_dct_rsc(const struct mlx5_ib_qp *qp);

#endif /* BLUEBELL_DCT_H */
