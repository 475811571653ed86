// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues of the kernel: how large they are, and the work requests in them,
 * byte by byte. layout_wr.h has what is called for each request. Pure functions only.
 */

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "caps.h"
#include "layout_qp.h"
#include "layout_umr.h"
#include "layout_wqe.h"
#include "layout_wr.h"

#define DS_SIZE		MLX5_SEND_WQE_DS

static_assert(MLX5_SEND_WQE_BB == 1 << MLX5_IB_LOG_WQEBB);
/* Bytes of a request that opens a region: it carries a block of entries, or says where they are. */
#define REG_WQE_BYTES	(offsetof(struct mlx5_ib_umr_wqe, mtt) + MLX5_UMR_FLEX_ALIGNMENT)

static_assert(offsetofend(struct mlx5_ib_umr_wqe, list) <= REG_WQE_BYTES);
static_assert(REG_WQE_BYTES <= MLX5_IB_MAX_WQE_BYTES);

/* ---- sizes ------------------------------------------------------------------- */

/* Bytes of the segments before the data, at most. */
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
		      DS_SIZE) : 0;
	u64 bytes = wqe_header_bytes(init->qp_type) + max(gather, copied);

	/* Each request may register memory. */
	if (init->qp_type == IB_QPT_RC)
		bytes = max_t(u64, bytes, REG_WQE_BYTES);
	return bytes;
}

static int calc_sq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
		   struct mlx5_ib_wq_layout *wq)
{
	u32 most = min_t(u32, MLX5_CAP_GEN(caps->mdev, max_wqe_sz_sq),
			 MLX5_IB_MAX_WQE_DS * DS_SIZE);
	u32 header = wqe_header_bytes(init->qp_type);
	u64 asked = wqe_bytes(init), count;
	u32 blocks, bytes;

	if (!init->cap.max_send_wr) {
		init->cap.max_send_sge = 0;
		init->cap.max_inline_data = 0;
		return 0;
	}
	if (asked > most)
		return -EINVAL;
	blocks = DIV_ROUND_UP((u32)asked, MLX5_SEND_WQE_BB);
	count = (u64)init->cap.max_send_wr * blocks;
	/* First, because roundup_pow_of_two() has no result beyond an unsigned long. */
	if (count > mlx5_ib_max_wqes(caps))
		return -EINVAL;

	/* What fits in the blocks anyhow may be used. */
	bytes = min(blocks * MLX5_SEND_WQE_BB, most);
	wq->sq_count = roundup_pow_of_two(count);
	wq->max_ds = bytes / DS_SIZE;
	wq->max_inline = bytes - header - sizeof(struct mlx5_wqe_inline_seg);
	init->cap.max_send_wr = wq->sq_count / blocks;
	init->cap.max_send_sge = (bytes - header) / sizeof(struct mlx5_wqe_data_seg);
	init->cap.max_inline_data = wq->max_inline;
	return 0;
}

static int calc_rq(struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps,
		   struct mlx5_ib_wq_layout *wq)
{
	u32 sges = max(init->cap.max_recv_sge, 1);
	u32 count, stride;
	u64 asked;

	if (init->srq || !init->cap.max_recv_wr) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
		return 0;
	}
	asked = (u64)sges * sizeof(struct mlx5_wqe_data_seg);
	if (asked > MLX5_CAP_GEN(caps->mdev, max_wqe_sz_rq))
		return -EINVAL;
	stride = roundup_pow_of_two((u32)asked);
	if (stride > MLX5_CAP_GEN(caps->mdev, max_wqe_sz_rq))
		return -EINVAL;
	/* The send queue, which follows, starts at a basic block. */
	count = max_t(u32, init->cap.max_recv_wr, DIV_ROUND_UP(MLX5_SEND_WQE_BB, stride));
	if (count > mlx5_ib_max_wqes(caps))
		return -EINVAL;
	count = roundup_pow_of_two(count);

	wq->rq_count = count;
	wq->rq_shift = ilog2(stride);
	init->cap.max_recv_wr = count;
	init->cap.max_recv_sge = stride / sizeof(struct mlx5_wqe_data_seg);
	return 0;
}

/**
 * mlx5_ib_calc_kernel_wq - lay out the work queues of a queue pair of the kernel
 * @init: type and capacities that the consumer asks for, which become those it gets
 * @caps: what the device can do
 * @wq: the layout
 *
 * Return: 0, or -EINVAL for what exceeds the device.
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

/* ---- send requests ------------------------------------------------------------- */

#define RC	BIT(IB_QPT_RC)
#define UC	BIT(IB_QPT_UC)
#define UD	BIT(IB_QPT_UD)

const struct mlx5_ib_wr_op mlx5_ib_wr_ops[MLX5_IB_NUM_WR_OPS] = {
	[IB_WR_RDMA_WRITE] = { MLX5_OPCODE_RDMA_WRITE, RC | UC, MLX5_IB_WR_RDMA },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { MLX5_OPCODE_RDMA_WRITE_IMM, RC | UC, MLX5_IB_WR_RDMA,
		.word = MLX5_IB_WR_IMM },
	[IB_WR_SEND] = { MLX5_OPCODE_SEND, RC | UC | UD },
	[IB_WR_SEND_WITH_IMM] = { MLX5_OPCODE_SEND_IMM, RC | UC | UD, .word = MLX5_IB_WR_IMM },
	[IB_WR_SEND_WITH_INV] = { MLX5_OPCODE_SEND_INVAL, RC, .word = MLX5_IB_WR_INVAL },
	[IB_WR_RDMA_READ] = { MLX5_OPCODE_RDMA_READ, RC, MLX5_IB_WR_RDMA },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { MLX5_OPCODE_ATOMIC_CS, RC, MLX5_IB_WR_ATOMIC,
		MLX5_ATOMIC_OPS_CMP_SWAP },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { MLX5_OPCODE_ATOMIC_FA, RC, MLX5_IB_WR_ATOMIC,
		MLX5_ATOMIC_OPS_FETCH_ADD },
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP] = { MLX5_OPCODE_ATOMIC_MASKED_CS, RC,
		MLX5_IB_WR_ATOMIC, MLX5_ATOMIC_OPS_EXTENDED_CMP_SWAP },
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD] = { MLX5_OPCODE_ATOMIC_MASKED_FA, RC,
		MLX5_IB_WR_ATOMIC, MLX5_ATOMIC_OPS_EXTENDED_FETCH_ADD },
	[IB_WR_LOCAL_INV] = { MLX5_OPCODE_UMR, RC, .word = MLX5_IB_WR_UMR },
	[IB_WR_REG_MR] = { MLX5_OPCODE_UMR, RC, .word = MLX5_IB_WR_UMR },
};

/**
 * mlx5_ib_fill_atomic - write the segments of an atomic operation before its data
 * @seg: the first segment
 * @wr: the request
 *
 * A masked addition has the boundaries of its fields in the place of the value to compare; a masked
 * exchange has two masks behind that.
 *
 * Return: where the next segment starts.
 */
void *mlx5_ib_fill_atomic(void *seg, const struct ib_atomic_wr *wr)
{
	struct mlx5_wqe_masked_atomic_seg *atomic;

	atomic = mlx5_ib_fill_raddr(seg, wr->remote_addr, wr->rkey);
	switch (wr->wr.opcode) {
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		atomic->swap_add = cpu_to_be64(wr->compare_add);
		atomic->compare = 0;
		return &atomic->swap_add_mask;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		atomic->swap_add = cpu_to_be64(wr->compare_add);
		atomic->compare = cpu_to_be64(wr->compare_add_mask);
		return &atomic->swap_add_mask;
	default:
		atomic->swap_add = cpu_to_be64(wr->swap);
		atomic->compare = cpu_to_be64(wr->compare_add);
		break;
	}
	if (wr->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP)
		return &atomic->swap_add_mask;
	atomic->swap_add_mask = cpu_to_be64(wr->swap_mask);
	atomic->compare_mask = cpu_to_be64(wr->compare_add_mask);
	return atomic + 1;
}

/**
 * mlx5_ib_fill_datagram - write the segment that tells where a datagram is sent
 * @seg: the segment
 * @wr: the request
 *
 * Return: where the next segment starts.
 */
void *mlx5_ib_fill_datagram(void *seg, const struct ib_ud_wr *wr)
{
	struct mlx5_wqe_datagram_seg *dgram = seg;

	dgram->av = to_mah(wr->ah)->av;
	dgram->av.dqp_dct = cpu_to_be32(wr->remote_qpn | MLX5_EXTENDED_UD_AV);
	dgram->av.key.qkey.qkey = cpu_to_be32(wr->remote_qkey);
	dgram->av.key.qkey.reserved = 0;
	return dgram + 1;
}

/**
 * mlx5_ib_fill_inline - copy the data of a request into its WQE, behind their length
 * @seg: where the data segment starts
 * @wr: the request
 * @max_inline: bytes that the WQE has room for
 *
 * Return: units of 16 bytes, none for no data; or -ENOMEM for too many bytes.
 */
int mlx5_ib_fill_inline(void *seg, const struct ib_send_wr *wr, u32 max_inline)
{
	struct mlx5_wqe_inline_seg *head = seg;
	u8 *to = (u8 *)head->data;
	u32 bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > max_inline - bytes)
			return -ENOMEM;
		memcpy(to + bytes, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		bytes += wr->sg_list[i].length;
	}
	if (!bytes)
		return 0;
	head->byte_count = cpu_to_be32(bytes | MLX5_INLINE_SEG);
	/* The rest of the last unit is not sent, but must not show what was there. */
	bytes += sizeof(*head);
	memset((u8 *)seg + bytes, 0, ALIGN(bytes, DS_SIZE) - bytes);
	return DIV_ROUND_UP(bytes, DS_SIZE);
}
