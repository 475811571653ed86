/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of the send queue of a raw packet QP: context (SQC), the transport interface (TIS) through
 * which the queue sends, and the rate to which its packets are paced. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_SQ_H
#define BLUEBELL_LAYOUT_SQ_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

/**
 * struct mlx5_ib_sqc_attr - values of the context of a new send queue
 * @num_blocks: number of basic blocks (64 bytes), a power of two
 * @pdn: protection domain number
 * @cqn: number of the CQ
 * @uidx: user index of the queue's completions
 * @tisn: number of the TIS
 * @uar_page: index of the UAR that has the doorbell
 * @min_inline: MLX5_INLINE_MODE_*: headers that each WQE has to contain
 * @ts_format: MLX5_TIMESTAMP_FORMAT_* of completions
 * @wq_signature: WQEs carry a signature
 */
struct mlx5_ib_sqc_attr {
	u32 num_blocks;
	u32 pdn;
	u32 cqn;
	u32 uidx;
	u32 tisn;
	u32 uar_page;
	u8 min_inline;
	u8 ts_format;
	bool wq_signature;
};

/**
 * struct mlx5_ib_rate - how the packets of a send queue are paced
 * @kbps: rate in kbit/s; 0 for no limit
 * @burst: maximum number of bytes that the device sends at once; 0 for the device's default
 * @packet: usual length of a packet, in bytes; 0 for the device's default
 */
struct mlx5_ib_rate {
	u32 kbps;
	u32 burst;
	u16 packet;
};

/* modify_bitmask of MODIFY_SQ: the context has a new index of a rate. */
#define MLX5_IB_MODIFY_SQ_RATE	BIT(0)

u8 mlx5_ib_min_inline_to_hw(u8 user_mode);
u8 mlx5_ib_raw_ts_format(u8 formats, bool real_time);
void mlx5_ib_fill_tisc(void *tisc, u32 tdn);
void mlx5_ib_fill_sqc(void *sqc, const struct mlx5_ib_sqc_attr *sq,
		      const struct mlx5_ib_caps *caps);
int mlx5_ib_check_rate(const struct mlx5_ib_rate *rate, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_rate(void *context, const struct mlx5_ib_rate *rate);

#endif /* BLUEBELL_LAYOUT_SQ_H */
