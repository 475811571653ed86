/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging: memory regions whose pages are mapped into the device when it
 * faults on them, and unmapped from the device before the process loses them.
 */

#ifndef BLUEBELL_ODP_H
#define BLUEBELL_ODP_H

#include <linux/err.h>
#include <rdma/ib_verbs.h>

#include "layout/refuse.h"

struct mlx5_ib_dev;
struct mlx5_ib_table_key;
struct mlx5_ib_ucontext;

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING

int mlx5_ib_init_odp(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_odp(struct mlx5_ib_dev *dev);
void mlx5_ib_fill_odp_attr(struct mlx5_ib_dev *dev, struct ib_device_attr *props);

struct ib_mr *mlx5_ib_odp_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access);
struct ib_mr *mlx5_ib_odp_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     u32 access);
int mlx5_ib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		      struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs);
void mlx5_ib_odp_close_context(struct mlx5_ib_ucontext *context);
void mlx5_ib_stop_advice(struct mlx5_ib_dev *dev);
int mlx5_ib_odp_own_table(struct mlx5_ib_ucontext *context, struct mlx5_ib_table_key *table);
void mlx5_ib_odp_disown_table(struct mlx5_ib_table_key *table);

#else /* CONFIG_INFINIBAND_ON_DEMAND_PAGING */

#define mlx5_ib_advise_mr NULL

static inline int mlx5_ib_init_odp(struct mlx5_ib_dev *dev)
{
	return 0;
}

static inline void mlx5_ib_cleanup_odp(struct mlx5_ib_dev *dev) {}

static inline void mlx5_ib_odp_close_context(struct mlx5_ib_ucontext *context) {}

static inline void mlx5_ib_stop_advice(struct mlx5_ib_dev *dev) {}

static inline int mlx5_ib_odp_own_table(struct mlx5_ib_ucontext *context,
					struct mlx5_ib_table_key *table)
{
	return 0;
}

static inline void mlx5_ib_odp_disown_table(struct mlx5_ib_table_key *table) {}

static inline void mlx5_ib_fill_odp_attr(struct mlx5_ib_dev *dev, struct ib_device_attr *props) {}

static inline struct ib_mr *mlx5_ib_odp_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
					    u32 access)
{
	return ERR_PTR(refuse(to_mdev(pd->device)->mdev, -EOPNOTSUPP,
			      "IB_ACCESS_ON_DEMAND needs CONFIG_INFINIBAND_ON_DEMAND_PAGING"));
}

static inline struct ib_mr *mlx5_ib_odp_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
						   u64 iova, int fd, u32 access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

#endif /* CONFIG_INFINIBAND_ON_DEMAND_PAGING */

#endif /* BLUEBELL_ODP_H */
