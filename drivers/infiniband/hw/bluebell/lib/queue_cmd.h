/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The commands that create queues.
 */

#ifndef BLUEBELL_QUEUE_CMD_H
#define BLUEBELL_QUEUE_CMD_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct mlx5_core_cq;
struct mlx5_ib_buf;
struct mlx5_ib_dev;
struct mlx5_ib_queue_mem;
struct mlx5_ib_srqc_attr;

void *mlx5_ib_buf_alloc_cmd(struct mlx5_ib_buf *buf, size_t size, int *inlen);
int mlx5_ib_comp_eqn(struct mlx5_ib_dev *dev, u16 vector, int *eqn);
int mlx5_ib_create_cq_cmd(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_queue_mem *mem, u16 vector, void *cqc);
int mlx5_ib_create_qp_cmd(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_ib_queue_mem *mem,
			  void *qpc, u32 *qpn, u32 *ece);
int mlx5_ib_create_srq_cmd(struct mlx5_ib_dev *dev, u16 uid, enum ib_srq_type type,
			   struct mlx5_ib_queue_mem *mem, struct mlx5_ib_srqc_attr *attr, u32 *num);
int mlx5_ib_create_wq_cmd(struct mlx5_ib_dev *dev, u16 uid, u16 opcode,
			  struct mlx5_ib_queue_mem *mem, const void *context, u32 *num);

#endif /* BLUEBELL_QUEUE_CMD_H */
