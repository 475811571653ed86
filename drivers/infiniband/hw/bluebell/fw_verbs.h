/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Firmware commands on completion queues, queue pairs and memory keys.
 */

#ifndef BLUEBELL_FW_VERBS_H
#define BLUEBELL_FW_VERBS_H

#include <linux/types.h>

struct mlx5_core_cq;
struct mlx5_ib_dev;

int mlx5_fw_create_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq, void *in, int inlen);
int mlx5_fw_modify_cq(struct mlx5_ib_dev *dev, u32 cqn, void *in, int inlen);
int mlx5_fw_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq);

int mlx5_fw_create_mkey(struct mlx5_ib_dev *dev, void *in, int inlen, u32 *mkey);
int mlx5_fw_destroy_mkey(struct mlx5_ib_dev *dev, u32 mkey);

int mlx5_fw_create_qp(struct mlx5_ib_dev *dev, void *in, int inlen, u32 *qpn, u32 *ece);
int mlx5_fw_modify_qp(struct mlx5_ib_dev *dev, u16 opcode, u32 qpn, const void *qpc,
		      u32 opt_mask, u32 *ece);
int mlx5_fw_query_qp(struct mlx5_ib_dev *dev, u32 qpn, void *qpc);
int mlx5_fw_destroy_qp(struct mlx5_ib_dev *dev, u32 qpn);

#endif /* BLUEBELL_FW_VERBS_H */
