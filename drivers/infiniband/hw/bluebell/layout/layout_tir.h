/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of a transport interface for receiving (TIR): flow rules send packets to a TIR, and the
 * TIR sends them to one receive queue, or spreads them over a table of queues by a hash of their
 * headers (receive side scaling, RSS). Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_TIR_H
#define BLUEBELL_LAYOUT_TIR_H

#include <linux/types.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

/* Bytes of the key of a Toeplitz hash. */
#define MLX5_IB_RSS_KEY_LEN	40

/* The fields of headers that a hash can have. */
#define MLX5_IB_RSS_FIELDS \
	(MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4 | MLX5_RX_HASH_SRC_IPV6 |	\
	 MLX5_RX_HASH_DST_IPV6 | MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP |	\
	 MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP)

/* Flags of a request that change how a QP for raw packets receives. */
#define MLX5_IB_TIR_FLAGS \
	(MLX5_QP_FLAG_TUNNEL_OFFLOADS | MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC | \
	 MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC)

u32 mlx5_ib_tunnel_caps(const struct mlx5_ib_caps *caps);
int mlx5_ib_tir_check_flags(u32 flags, const struct mlx5_ib_caps *caps);
int mlx5_ib_rss_check(const struct mlx5_ib_create_qp_rss *rss, u32 log_table_size,
		      const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_direct_tirc(void *tirc, u32 rqn, u32 tdn, u32 flags);
void mlx5_ib_fill_rss_tirc(void *tirc, u32 rqtn, u32 tdn, const struct mlx5_ib_create_qp_rss *rss);

#endif /* BLUEBELL_LAYOUT_TIR_H */
