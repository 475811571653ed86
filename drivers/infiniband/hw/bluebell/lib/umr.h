/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UMR work requests: the driver's own queue pair, which executes the requests (umr_qp.c), and what
 * the requests do to memory keys, without firmware commands (umr.c).
 */

#ifndef BLUEBELL_UMR_H
#define BLUEBELL_UMR_H

#include <linux/completion.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "layout/layout_umr.h"

struct delayed_work;
struct ib_umem;
struct mlx5_ib_caps;
struct mlx5_ib_dev;
struct mlx5_ib_mkc_attr;

/**
 * struct mlx5_ib_umr_request - completion of a UMR request, in memory of the waiting task
 * @done: the request has completed, or the driver waits for it no longer
 * @ok: the request succeeded
 * @epoch: epoch of the queue pair when the request was posted
 */
struct mlx5_ib_umr_request {
	struct completion done;
	bool ok;
	u32 epoch;
};

/* Maximum number of entries that one request clears. */
#define MLX5_IB_UMR_MAX_CLEAR	SZ_4K

/* umr_qp.c */
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

/* umr.c */
int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, u32 key);
int mlx5_ib_umr_reg_empty(struct mlx5_ib_dev *dev, const struct mlx5_ib_mkc_attr *attr, u32 key);
int mlx5_ib_umr_map(struct mlx5_ib_dev *dev, struct ib_umem *umem, u32 key);
int mlx5_ib_umr_write_list(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num, dma_addr_t list);
int mlx5_ib_umr_clear(struct mlx5_ib_dev *dev, u32 key, u32 first, u32 num);
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, u32 key, u32 access, u32 pdn);
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, u32 key);
int mlx5_ib_umr_post_revoke(struct mlx5_ib_dev *dev, u32 key, struct mlx5_ib_umr_request *req);
int mlx5_ib_init_umr_clear(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_umr_clear(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_umr_restart_later(struct delayed_work *restart, unsigned int failures);
#endif

#endif /* BLUEBELL_UMR_H */
