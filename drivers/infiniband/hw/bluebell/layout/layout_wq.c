// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sizes of the work queues of queue pairs. Pure functions only.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>

#include "layout/caps.h"
#include "layout/layout_umr.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"

/* qpc.log_rq_stride has three bits. */
#define LOG_MAX_RQ_STRIDE	(MLX5_IB_LOG_MIN_RQ_STRIDE + 7)
/* qpc.log_rq_size and log_sq_size have four bits. */
#define WQ_MAX_LOG_SIZE		15

static_assert(MLX5_SEND_WQE_BB == 1 << MLX5_IB_LOG_WQEBB);
/* Bytes of a consumer's longest WQE that registers memory: with a block of entries inline. */
#define REG_WQE_BYTES	(offsetof(struct mlx5_ib_umr_wqe, mtt) + MLX5_UMR_FLEX_ALIGNMENT)

static_assert(offsetofend(struct mlx5_ib_umr_wqe, list) <= REG_WQE_BYTES);
static_assert(REG_WQE_BYTES <= MLX5_IB_MAX_WQE_BYTES);

/**
 * mlx5_ib_max_wqes - maximum length of a work queue
 * @caps: what the device can do
 *
 * Return: the maximum number of receive WQEs, and of basic blocks (64 bytes) of a send queue.
 */
u32 mlx5_ib_max_wqes(const struct mlx5_ib_caps *caps)
{
	return 1U << min(MLX5_CAP_GEN(caps->mdev, log_max_qp_sz), WQ_MAX_LOG_SIZE);
}

/**
 * mlx5_ib_max_rq_wqe_bytes - maximum length of a receive WQE of a queue pair
 * @caps: what the device can do
 *
 * Return: the length that the device offers, or the longest that qpc.log_rq_stride can express.
 */
u32 mlx5_ib_max_rq_wqe_bytes(const struct mlx5_ib_caps *caps)
{
	return min_t(u32, MLX5_CAP_GEN(caps->mdev, max_wqe_sz_rq), 1U << LOG_MAX_RQ_STRIDE);
}

/* ---- queues of users ------------------------------------------------------------- */

static bool wq_has_wqes(u32 count, const struct mlx5_ib_caps *caps)
{
	return is_power_of_2(count) && count <= mlx5_ib_max_wqes(caps);
}

static int check_user_rq_size(const struct mlx5_ib_create_qp *ucmd,
			      const struct mlx5_ib_caps *caps)
{
	u32 max_bytes = mlx5_ib_max_rq_wqe_bytes(caps);

	if (!wq_has_wqes(ucmd->rq_wqe_count, caps))
		return refuse(caps->mdev, -EINVAL,
			      "receive queue of %u WQEs, powers of two up to %u are possible",
			      ucmd->rq_wqe_count, mlx5_ib_max_wqes(caps));
	if (ucmd->rq_wqe_shift < MLX5_IB_LOG_MIN_RQ_STRIDE ||
	    ucmd->rq_wqe_shift > LOG_MAX_RQ_STRIDE || 1U << ucmd->rq_wqe_shift > max_bytes)
		return refuse(caps->mdev, -EINVAL,
			      "receive queue with WQEs of 2^%u bytes, 2^%u to %u bytes are possible",
			      ucmd->rq_wqe_shift, MLX5_IB_LOG_MIN_RQ_STRIDE, max_bytes);
	return 0;
}

static int calc_user_rq(struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			const struct mlx5_ib_caps *caps)
{
	u32 sig = !!(ucmd->flags & MLX5_QP_FLAG_SIGNATURE);
	const struct ib_qp_cap asked = init->cap;
	u32 entries;
	int err;

	init->cap.max_recv_wr = 0;
	init->cap.max_recv_sge = 0;
	/* A QP with an SRQ, or an XRC initiator, has no receive queue: ignore the capacities. */
	if (init->srq || init->qp_type == IB_QPT_XRC_INI)
		return !ucmd->rq_wqe_count ? 0 :
		       refuse(caps->mdev, -EINVAL,
			      "receive queue of %u WQEs for an XRC initiator, or for a QP with an SRQ",
			      ucmd->rq_wqe_count);
	if (!ucmd->rq_wqe_count)
		return !asked.max_recv_wr ? 0 :
		       refuse(caps->mdev, -EINVAL, "receive queue of 0 WQEs for %u requests",
			      asked.max_recv_wr);

	err = check_user_rq_size(ucmd, caps);
	if (err)
		return err;
	entries = (1U << ucmd->rq_wqe_shift) / sizeof(struct mlx5_wqe_data_seg);
	if (entries <= sig || asked.max_recv_wr > ucmd->rq_wqe_count ||
	    asked.max_recv_sge > entries - sig)
		return refuse(caps->mdev, -EINVAL,
			      "receive queue is too small: WRs %u, room for %u; SGEs of a WR %u, room for %d",
			      asked.max_recv_wr, ucmd->rq_wqe_count, asked.max_recv_sge,
			      (int)(entries - sig));
	init->cap.max_recv_wr = ucmd->rq_wqe_count;
	init->cap.max_recv_sge = entries - sig;
	return 0;
}

/**
 * mlx5_ib_calc_user_wq - check the queue sizes of a user's QP, and compute the size of the buffer
 * @init: capacities that the user asks for, and the SRQ if the QP has one. The capacities of the
 *	receive queue are set to those of the queue that the library has laid out
 * @ucmd: the library's numbers of WQEs and stride of receive WQEs; the stride is 0 if there is no
 *	receive queue
 * @caps: what the device can do
 *
 * The receive queue lies at the start of the buffer, and the send queue follows. The largest buffer
 * has 66 MiB: 2^15 WQEs of 2^11 bytes, and 2^15 basic blocks of 64 bytes. So an int holds its size.
 *
 * Return: bytes of the buffer; or -EINVAL for numbers of WQEs that are not powers of two, for
 * numbers or a stride that exceed the limits of the device, hold less than the user asks for, or
 * leave the send queue misaligned, and for receive WQEs of a QP that has no receive queue.
 */
int mlx5_ib_calc_user_wq(struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			 const struct mlx5_ib_caps *caps)
{
	u32 rq_size;
	int err;

	err = calc_user_rq(init, ucmd, caps);
	if (err)
		return err;
	/* Each request takes at least one basic block. */
	if (init->cap.max_send_wr > ucmd->sq_wqe_count)
		return refuse(caps->mdev, -EINVAL,
			      "send queue of %u WQEBBs is too short for %u requests",
			      ucmd->sq_wqe_count, init->cap.max_send_wr);
	if (ucmd->sq_wqe_count && !wq_has_wqes(ucmd->sq_wqe_count, caps))
		return refuse(caps->mdev, -EINVAL,
			      "send queue of %u WQEBBs, powers of two up to %u are possible",
			      ucmd->sq_wqe_count, mlx5_ib_max_wqes(caps));

	rq_size = ucmd->rq_wqe_count << ucmd->rq_wqe_shift;
	if (ucmd->sq_wqe_count && !IS_ALIGNED(rq_size, MLX5_SEND_WQE_BB))
		return refuse(caps->mdev, -EINVAL,
			      "send queue at offset %u of the QP's buffer, not a multiple of 64",
			      rq_size);
	return rq_size + ucmd->sq_wqe_count * MLX5_SEND_WQE_BB;
}

/* ---- queues of kernel consumers --------------------------------------------------- */

/* Maximum number of bytes that the segments before the data segments have, for any opcode. */
static u32 wqe_header_bytes(enum ib_qp_type type)
{
	u32 bytes = sizeof(struct mlx5_wqe_ctrl_seg);

	switch (type) {
	case IB_QPT_RC:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg) +
		       sizeof(struct mlx5_wqe_masked_atomic_seg);
	case IB_QPT_UC:
		return bytes + sizeof(struct mlx5_wqe_raddr_seg);
	default:
		return bytes + sizeof(struct mlx5_wqe_datagram_seg);
	}
}

/* Bytes of a send WQE that holds what the consumer asks for. */
static u64 wqe_bytes(const struct ib_qp_init_attr *init)
{
	u64 gather = (u64)init->cap.max_send_sge * sizeof(struct mlx5_wqe_data_seg);
	u64 copied = init->cap.max_inline_data ?
		ALIGN((u64)init->cap.max_inline_data + sizeof(struct mlx5_wqe_inline_seg),
		      MLX5_SEND_WQE_DS) : 0;
	u64 bytes = wqe_header_bytes(init->qp_type) + max(gather, copied);

	/* Each request of an RC queue pair can be one that registers memory. */
	if (init->qp_type == IB_QPT_RC)
		bytes = max_t(u64, bytes, REG_WQE_BYTES);
	return bytes;
}

static int calc_sq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
		   struct mlx5_ib_wq_layout *wq)
{
	u32 most = min_t(u32, MLX5_CAP_GEN(caps->mdev, max_wqe_sz_sq),
			 MLX5_IB_MAX_WQE_DS * MLX5_SEND_WQE_DS);
	u32 header = wqe_header_bytes(init->qp_type);
	u64 asked = wqe_bytes(init), count;
	u32 blocks, bytes;

	if (!init->cap.max_send_wr) {
		init->cap.max_send_sge = 0;
		init->cap.max_inline_data = 0;
		return 0;
	}
	if (asked > most)
		return refuse(caps->mdev, -EINVAL, "send queue with WQEs of %llu bytes, at most %u",
			      asked, most);
	blocks = DIV_ROUND_UP((u32)asked, MLX5_SEND_WQE_BB);
	count = (u64)init->cap.max_send_wr * blocks;
	/* Check before roundup_pow_of_two(), whose result might not fit into an unsigned long. */
	if (count > mlx5_ib_max_wqes(caps))
		return refuse(caps->mdev, -EINVAL, "send queue of %llu WQEBBs, at most %u", count,
			      mlx5_ib_max_wqes(caps));

	/* The consumer can use all bytes of the blocks, perhaps more than it has asked for. */
	bytes = min(blocks * MLX5_SEND_WQE_BB, most);
	wq->sq_count = roundup_pow_of_two(count);
	wq->max_ds = bytes / MLX5_SEND_WQE_DS;
	wq->max_inline = bytes - header - sizeof(struct mlx5_wqe_inline_seg);
	init->cap.max_send_wr = wq->sq_count / blocks;
	init->cap.max_send_sge = (bytes - header) / sizeof(struct mlx5_wqe_data_seg);
	init->cap.max_inline_data = wq->max_inline;
	return 0;
}

static int calc_rq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
		   struct mlx5_ib_wq_layout *wq)
{
	u32 max_bytes = mlx5_ib_max_rq_wqe_bytes(caps);
	u64 asked = max(init->cap.max_recv_sge, 1ULL) * sizeof(struct mlx5_wqe_data_seg);
	u32 count, stride;

	if (init->srq || !init->cap.max_recv_wr) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
		return 0;
	}
	if (asked > max_bytes || roundup_pow_of_two((u32)asked) > max_bytes)
		return refuse(caps->mdev, -EINVAL,
			      "receive queue with WQEs of %llu bytes, at most %u after rounding up to a power of two",
			      asked, max_bytes);
	stride = roundup_pow_of_two((u32)asked);
	/* The receive queue fills whole basic blocks: the send queue starts at the next block. */
	count = max_t(u32, init->cap.max_recv_wr, DIV_ROUND_UP(MLX5_SEND_WQE_BB, stride));
	if (count > mlx5_ib_max_wqes(caps))
		return refuse(caps->mdev, -EINVAL, "receive queue of %u WQEs, at most %u", count,
			      mlx5_ib_max_wqes(caps));
	count = roundup_pow_of_two(count);

	wq->rq_count = count;
	wq->rq_shift = ilog2(stride);
	init->cap.max_recv_wr = count;
	init->cap.max_recv_sge = stride / sizeof(struct mlx5_wqe_data_seg);
	return 0;
}

/**
 * mlx5_ib_calc_kernel_wq - compute the sizes of the work queues of a kernel consumer's queue pair
 * @init: type and capacities that the consumer asks for; set to the capacities that it gets
 * @caps: what the device can do
 * @wq: gets the layout of the queues
 *
 * Return: 0, or -EINVAL for capacities that exceed the limits of the device.
 */
int mlx5_ib_calc_kernel_wq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
			   struct mlx5_ib_wq_layout *wq)
{
	int err;

	*wq = (struct mlx5_ib_wq_layout){};
	err = calc_rq(init, caps, wq) ?: calc_sq(init, caps, wq);
	if (err)
		return err;
	wq->bytes = (wq->rq_count << wq->rq_shift) + wq->sq_count * MLX5_SEND_WQE_BB;
	return 0;
}
