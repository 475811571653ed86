/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of a raw packet QP, which is a send queue and a receive queue at the device: checks,
 * sizes, and the states of the two queues. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_RAW_H
#define BLUEBELL_LAYOUT_RAW_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

/* State of a queue that a QP does not have. */
#define MLX5_IB_NO_QUEUE	0xff

/**
 * struct mlx5_ib_raw_states - states of the queues of a raw packet QP
 * @sq: MLX5_SQC_STATE_*, or MLX5_IB_NO_QUEUE
 * @rq: MLX5_RQC_STATE_*, or MLX5_IB_NO_QUEUE
 */
struct mlx5_ib_raw_states {
	u8 sq;
	u8 rq;
};

bool mlx5_ib_has_raw_packets(const struct mlx5_ib_caps *caps);
int mlx5_ib_raw_check_create(const struct ib_qp_init_attr *init,
			     const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps);
int mlx5_ib_raw_calc(struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
		     const struct mlx5_ib_caps *caps, int *sq_bytes);
int mlx5_ib_raw_check_modify(enum ib_qp_state cur, enum ib_qp_state next, int mask,
			     const struct mlx5_ib_caps *caps);
struct mlx5_ib_raw_states mlx5_ib_raw_states_of(enum ib_qp_state state);
enum ib_qp_state mlx5_ib_raw_state(enum ib_qp_state last, struct mlx5_ib_raw_states queues);

#endif /* BLUEBELL_LAYOUT_RAW_H */
