// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WQEs of kernel consumers: the table of opcodes, and the functions that are not inline. Pure
 * functions only.
 */

#include <linux/align.h>
#include <linux/string.h>

#include "layout/layout_wqe.h"

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
 * mlx5_ib_fill_atomic - write the segments that precede the data segments of an atomic operation
 * @seg: the first segment
 * @wr: the request
 *
 * In a masked fetch-and-add, the field for the value to compare has the mask of field boundaries. A
 * masked compare-and-swap has two masks after its two values.
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
 * mlx5_ib_fill_datagram - write the segment with the address of a datagram
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
 * mlx5_ib_fill_inline - write an inline data segment: the length of a request's data, and the data
 * @seg: where the segment starts
 * @wr: the request
 * @max_inline: bytes of data that the WQE has room for
 *
 * Return: length of the segment in units of 16 bytes, 0 for no data; or -ENOMEM for too many bytes.
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
	/* Clear the rest of the last unit, which may have old contents of the queue. */
	bytes += sizeof(*head);
	memset((u8 *)seg + bytes, 0, ALIGN(bytes, MLX5_SEND_WQE_DS) - bytes);
	return DIV_ROUND_UP(bytes, MLX5_SEND_WQE_DS);
}
