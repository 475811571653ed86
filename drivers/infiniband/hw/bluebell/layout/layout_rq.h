/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Layout of a receive queue for raw packets that belongs to a raw packet QP, or that is a work
 * queue (WQ) of verbs: sizes, context (RQC), and the table of such queues (RQT). Pure functions
 * only.
 */

#ifndef BLUEBELL_LAYOUT_RQ_H
#define BLUEBELL_LAYOUT_RQ_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

/**
 * struct mlx5_ib_rqc_attr - values of the context of a new receive queue
 * @wqe_count: number of WQEs, a power of two
 * @wqe_shift: log2 of the stride of a WQE, in bytes
 * @pdn: protection domain number
 * @cqn: number of the CQ
 * @uidx: user index of the queue's completions
 * @counter_set: Q counter set in which the device counts packets for which no WQE is posted
 * @ts_format: MLX5_TIMESTAMP_FORMAT_* of completions
 * @wq_signature: WQEs carry a signature
 * @strip_vlan: the device takes the VLAN tag out of packets, and reports the tag in the completion
 * @scatter_fcs: the device stores the frame check sequence (FCS) behind the packet
 * @pad_writes: the device pads its writes up to the end of a cache line
 * @striding: a WQE is a buffer that several packets share
 * @stride_shift: log2 of the bytes of a stride of such a buffer
 * @log_strides: log2 of the number of strides of such a buffer
 * @two_byte_shift: the device leaves two bytes before each packet in such a buffer, so that the IP
 *	header is aligned
 */
struct mlx5_ib_rqc_attr {
	u32 wqe_count;
	u8 wqe_shift;
	u32 pdn;
	u32 cqn;
	u32 uidx;
	u8 counter_set;
	u8 ts_format;
	bool wq_signature;
	bool strip_vlan;
	bool scatter_fcs;
	bool pad_writes;
	bool striding;
	u8 stride_shift;
	u8 log_strides;
	bool two_byte_shift;
};

/* Limits of buffers that packets share: log2 of the bytes of a stride. */
#define MLX5_IB_MIN_STRIDE_SHIFT	6
#define MLX5_IB_MAX_STRIDE_SHIFT	13
/* log2 of the number of strides of a buffer */
#define MLX5_IB_MAX_LOG_STRIDES		16

u32 mlx5_ib_max_raw_wqes(const struct mlx5_ib_caps *caps);
u8 mlx5_ib_min_log_strides(const struct mlx5_ib_caps *caps);
int mlx5_ib_rq_check_flags(u32 flags, const struct mlx5_ib_caps *caps);
int mlx5_ib_calc_wq(struct ib_wq_init_attr *init, const struct mlx5_ib_create_wq *ucmd,
		    const struct mlx5_ib_caps *caps, struct mlx5_ib_rqc_attr *rq);
void mlx5_ib_fill_rqc(void *rqc, const struct mlx5_ib_rqc_attr *rq);
int mlx5_ib_wq_check_states(enum ib_wq_state cur, enum ib_wq_state next,
			    const struct mlx5_ib_caps *caps);
u8 mlx5_ib_wq_state_to_hw(enum ib_wq_state state);
int mlx5_ib_rqt_check_size(u32 log_size, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_rqtc(void *rqtc, const u32 *rqns, u32 num);

#endif /* BLUEBELL_LAYOUT_RQ_H */
