/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Firmware commands on UARs, protection domains, memory keys, device memory,
 * queues, and page faults.
 */

#ifndef BLUEBELL_FW_VERBS_H
#define BLUEBELL_FW_VERBS_H

#include <linux/types.h>

struct mlx5_core_cq;
struct mlx5_eq;
struct mlx5_eq_param;
struct mlx5_ib_fault;
struct mlx5_ib_dev;

int mlx5_fw_alloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 *uarn);
int mlx5_fw_dealloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 uarn);
int mlx5_fw_alloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 *pdn);
int mlx5_fw_dealloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 pdn);

int mlx5_fw_create_cq(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq, void *in,
		      int inlen);
int mlx5_fw_modify_cq(struct mlx5_ib_dev *dev, u16 uid, u32 cqn, void *in, int inlen);
int mlx5_fw_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq);

int mlx5_fw_create_mkey(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *mkey);
int mlx5_fw_destroy_mkey(struct mlx5_ib_dev *dev, u16 uid, u32 mkey);

int mlx5_fw_alloc_memic(struct mlx5_ib_dev *dev, u16 uid, u64 range, u32 range_size, u32 size,
			u8 log_align, u64 *addr);
int mlx5_fw_dealloc_memic(struct mlx5_ib_dev *dev, u16 uid, u64 addr, u32 size);
int mlx5_fw_alloc_memic_op(struct mlx5_ib_dev *dev, u16 uid, u64 addr, u8 op, u64 *op_addr);
int mlx5_fw_dealloc_memic_op(struct mlx5_ib_dev *dev, u16 uid, u64 addr, u8 op);

int mlx5_fw_create_qp(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *qpn, u32 *ece);
int mlx5_fw_modify_qp(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 qpn, const void *qpc,
		      u32 opt_mask, u32 *ece);
int mlx5_fw_query_qp(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, void *qpc);
int mlx5_fw_destroy_qp(struct mlx5_ib_dev *dev, u16 uid, u32 qpn);

int mlx5_fw_create_rmp(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *rmpn);
int mlx5_fw_arm_rmp(struct mlx5_ib_dev *dev, u16 uid, u32 rmpn, u16 limit);
int mlx5_fw_query_rmp(struct mlx5_ib_dev *dev, u16 uid, u32 rmpn, void *rmpc);
int mlx5_fw_destroy_rmp(struct mlx5_ib_dev *dev, u16 uid, u32 rmpn);

int mlx5_fw_alloc_xrcd(struct mlx5_ib_dev *dev, u16 uid, u32 *xrcdn);
int mlx5_fw_dealloc_xrcd(struct mlx5_ib_dev *dev, u16 uid, u32 xrcdn);
int mlx5_fw_create_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *srqn);
int mlx5_fw_arm_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, u32 srqn, u16 limit);
int mlx5_fw_query_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, u32 srqn, void *srqc);
int mlx5_fw_destroy_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, u32 srqn);

struct mlx5_eq *mlx5_fw_create_eq(struct mlx5_ib_dev *dev, struct mlx5_eq_param *param);
int mlx5_fw_destroy_eq(struct mlx5_ib_dev *dev, struct mlx5_eq *eq);
int mlx5_fw_page_fault_resume(struct mlx5_ib_dev *dev, const struct mlx5_ib_fault *fault,
			      bool error);

bool mlx5_ib_fw_pause(unsigned int *ms);
void mlx5_ib_fw_insist(struct mlx5_ib_dev *dev,
		       int (*destroy)(struct mlx5_ib_dev *dev, u16 uid, u32 num), u16 uid, u32 num,
		       const char *what);

#endif /* BLUEBELL_FW_VERBS_H */
