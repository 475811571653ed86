/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The driver's own queue pair, which executes UMR work requests.
 */

#ifndef BLUEBELL_UMR_QP_H
#define BLUEBELL_UMR_QP_H

#include <linux/completion.h>
#include <linux/types.h>

#include "layout/layout_umr.h"

struct mlx5_ib_caps;
struct mlx5_ib_dev;

/**
 * struct mlx5_ib_umr_request - completion of a UMR request; kept by the waiter
 * @done: the request has been executed, or never will be
 * @ok: the request succeeded
 * @epoch: of the queue pair when it was posted
 */
struct mlx5_ib_umr_request {
	struct completion done;
	bool ok;
	u32 epoch;
};

int mlx5_ib_umr_post(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
		     struct mlx5_ib_umr_request *req);
int mlx5_ib_umr_wait(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_request *req);
bool mlx5_ib_umr_is_stuck(struct mlx5_ib_dev *dev);
bool mlx5_ib_umr_is_gone(struct mlx5_ib_dev *dev);
int mlx5_ib_umr_await(struct mlx5_ib_dev *dev);
int mlx5_ib_umr_exec(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe);
u32 mlx5_ib_umr_lkey(struct mlx5_ib_dev *dev);
u32 mlx5_ib_umr_pdn(struct mlx5_ib_dev *dev);

bool mlx5_ib_has_umr(const struct mlx5_ib_caps *caps);
int mlx5_ib_init_umr(struct mlx5_ib_dev *dev);
void mlx5_ib_abort_umr(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_umr(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_UMR_QP_H */
