/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queue entries, translated to struct ib_wc for kernel consumers. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_CQE_H
#define BLUEBELL_LAYOUT_CQE_H

#include <linux/mlx5/device.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * enum mlx5_ib_cqe_kind - what a CQE is about
 * @MLX5_IB_CQE_SEND: a send request of the queue pair in the CQE has completed, or failed
 * @MLX5_IB_CQE_RECV: a receive request of the queue pair or its SRQ has completed, or failed
 * @MLX5_IB_CQE_OTHER: neither; the driver ignores the CQE
 */
enum mlx5_ib_cqe_kind {
	MLX5_IB_CQE_SEND,
	MLX5_IB_CQE_RECV,
	MLX5_IB_CQE_OTHER,
};

static inline u8 mlx5_ib_cqe_opcode(const struct mlx5_cqe64 *cqe)
{
	return cqe->op_own >> 4;
}

static inline u32 mlx5_ib_cqe_qpn(const struct mlx5_cqe64 *cqe)
{
	return be32_to_cpu(cqe->sop_drop_qpn) & 0xffffff;
}

enum mlx5_ib_cqe_kind mlx5_ib_cqe_kind(const struct mlx5_cqe64 *cqe);
bool mlx5_ib_cqe_is_error(const struct mlx5_cqe64 *cqe);
enum ib_wc_status mlx5_ib_cqe_status(u8 syndrome);
void mlx5_ib_cqe_read_error(const struct mlx5_cqe64 *cqe, struct ib_wc *wc);
void mlx5_ib_cqe_read_send(const struct mlx5_cqe64 *cqe, enum ib_wr_opcode opcode,
			   struct ib_wc *wc);
void mlx5_ib_cqe_read_recv(const struct mlx5_cqe64 *cqe, struct ib_wc *wc);
void mlx5_ib_cqe_read_roce(const struct mlx5_cqe64 *cqe, struct ib_wc *wc);

#endif /* BLUEBELL_LAYOUT_CQE_H */
