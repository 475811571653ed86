/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * WQEs of kernel consumers. Functions for frequent requests are inline; layout_wqe.c has functions
 * for less frequent requests. Pure functions only; the words of a WQE are big-endian.
 *
 * A send WQE is made of segments whose length is a multiple of 16 bytes: control, address, data.
 * linux/mlx5/qp.h has the segments.
 */

#ifndef BLUEBELL_LAYOUT_WQE_H
#define BLUEBELL_LAYOUT_WQE_H

#include <linux/errno.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "layout/refuse.h"

/**
 * struct mlx5_ib_wqe_target - properties of a queue pair and its device that send WQEs depend on
 * @type: type of the queue pair; IB_QPT_UD for QP0 and QP1, too
 * @qpn: number of the queue pair
 * @max_ds: maximum length of a send WQE, in units of 16 bytes
 * @max_inline: maximum number of bytes of inline data in a send WQE
 * @signal_all: every request generates a CQE
 * @atomic_ops: atomic operations of the device: MLX5_ATOMIC_OPS_*
 * @umr_fence: fence that orders a UMR request after earlier requests: MLX5_FENCE_MODE_*
 */
struct mlx5_ib_wqe_target {
	enum ib_qp_type type;
	u32 qpn;
	u8 max_ds;
	u32 max_inline;
	bool signal_all;
	u16 atomic_ops;
	u8 umr_fence;
};

/* Which segments lie between the control segment of a WQE and its data. */
enum mlx5_ib_wr_address {
	MLX5_IB_WR_PLAIN,	/* none, or the address of a datagram */
	MLX5_IB_WR_RDMA,	/* remote address */
	MLX5_IB_WR_ATOMIC,	/* remote address and operands */
};

/* What the last word of the control segment is. */
enum mlx5_ib_wr_word {
	MLX5_IB_WR_ZERO,
	MLX5_IB_WR_IMM,		/* immediate data */
	MLX5_IB_WR_INVAL,	/* the key that the peer is to invalidate */
	MLX5_IB_WR_UMR,		/* the key to change: layout_umr.c writes such requests */
};

/**
 * struct mlx5_ib_wr_op - what the WQE of an opcode of verbs looks like
 * @opcode: MLX5_OPCODE_*
 * @types: types of queue pairs that can use the opcode: mask of BIT(IB_QPT_RC) and so on
 * @address: enum mlx5_ib_wr_address
 * @atomic: MLX5_ATOMIC_OPS_* that the device must support
 * @word: enum mlx5_ib_wr_word
 */
struct mlx5_ib_wr_op {
	u8 opcode;
	u8 types;
	u8 address;
	u8 atomic;
	u8 word;
};

#define MLX5_IB_NUM_WR_OPS	(IB_WR_REG_MR + 1)

extern const struct mlx5_ib_wr_op mlx5_ib_wr_ops[MLX5_IB_NUM_WR_OPS];

void *mlx5_ib_fill_atomic(void *seg, const struct ib_atomic_wr *wr);
void *mlx5_ib_fill_datagram(void *seg, const struct ib_ud_wr *wr);
int mlx5_ib_fill_inline(void *seg, const struct ib_send_wr *wr, u32 max_inline);

/**
 * mlx5_ib_wr_op - look up the opcode of a send request
 * @to: the queue pair
 * @wr: the request
 *
 * Return: the entry of the opcode; NULL if queue pairs of this type, or the device, do not have the
 * opcode.
 */
static inline const struct mlx5_ib_wr_op *
mlx5_ib_wr_op(const struct mlx5_ib_wqe_target *to, const struct ib_send_wr *wr)
{
	const struct mlx5_ib_wr_op *op;
	unsigned int opcode = wr->opcode;

	if (unlikely(opcode >= MLX5_IB_NUM_WR_OPS))
		return NULL;
	op = &mlx5_ib_wr_ops[opcode];
	if (unlikely(!(op->types & BIT(to->type)) || op->atomic & ~to->atomic_ops))
		return NULL;
	return op;
}

static inline bool mlx5_ib_wr_op_is_umr(const struct mlx5_ib_wr_op *op)
{
	return op->word == MLX5_IB_WR_UMR;
}

/**
 * mlx5_ib_fill_raddr - write the segment with the remote address
 * @seg: the segment
 * @addr: remote address
 * @rkey: remote key
 *
 * Return: where the next segment starts.
 */
static inline void *mlx5_ib_fill_raddr(void *seg, u64 addr, u32 rkey)
{
	struct mlx5_wqe_raddr_seg *raddr = seg;

	raddr->raddr = cpu_to_be64(addr);
	raddr->rkey = cpu_to_be32(rkey);
	raddr->reserved = 0;
	return raddr + 1;
}

/**
 * mlx5_ib_fill_data_segs - write a list of data segments
 * @seg: the first segment
 * @end: where the room for segments ends
 * @list: the scatter or gather list. Entries of length 0 are left out, because for the device
 *	length 0 means 2 GiB
 * @num: entries of @list
 *
 * Return: where the next segment starts; NULL if there is no room for all segments.
 */
static inline struct mlx5_wqe_data_seg *
mlx5_ib_fill_data_segs(struct mlx5_wqe_data_seg *seg, const struct mlx5_wqe_data_seg *end,
		       const struct ib_sge *list, int num)
{
	const struct ib_sge *sge;
	u32 length;

	for (sge = list; sge < list + num; sge++) {
		length = sge->length;
		if (unlikely(!length))
			continue;
		if (unlikely(seg == end))
			return NULL;
		seg->byte_count = cpu_to_be32(length);
		seg->lkey = cpu_to_be32(sge->lkey);
		seg->addr = cpu_to_be64(sge->addr);
		seg++;
	}
	return seg;
}

/**
 * mlx5_ib_fill_send_wqe - write the segments that follow the control segment of a send WQE
 * @wqe: the WQE, with room for @to->max_ds units of 16 bytes
 * @to: the queue pair
 * @op: returned by mlx5_ib_wr_op(); not of a UMR request, which layout_umr.c writes
 * @wr: the request
 *
 * Return: units of 16 bytes that the WQE has, or -ENOMEM for more data segments or inline data
 * than the queue pair was created for.
 */
static inline int mlx5_ib_fill_send_wqe(void *wqe, const struct mlx5_ib_wqe_target *to,
					const struct mlx5_ib_wr_op *op, const struct ib_send_wr *wr)
{
	void *seg = wqe + sizeof(struct mlx5_wqe_ctrl_seg);
	int data = 0;

	if (op->address == MLX5_IB_WR_RDMA)
		seg = mlx5_ib_fill_raddr(seg, rdma_wr(wr)->remote_addr, rdma_wr(wr)->rkey);
	else if (op->address == MLX5_IB_WR_ATOMIC)
		seg = mlx5_ib_fill_atomic(seg, atomic_wr(wr));
	else if (to->type == IB_QPT_UD)
		seg = mlx5_ib_fill_datagram(seg, ud_wr(wr));
	if (wr->send_flags & IB_SEND_INLINE) {
		data = mlx5_ib_fill_inline(seg, wr, to->max_inline);
		if (unlikely(data < 0))
			return data;
	} else {
		seg = mlx5_ib_fill_data_segs(seg, wqe + to->max_ds * MLX5_SEND_WQE_DS,
					     wr->sg_list, wr->num_sge);
		if (unlikely(!seg))
			return -ENOMEM;
	}
	return (unsigned int)(seg - wqe) / MLX5_SEND_WQE_DS + data;
}

/**
 * mlx5_ib_wqe_fence - choose the fence of a send request
 * @to: the queue pair
 * @op: entry of the opcode in mlx5_ib_wr_ops[]
 * @flags: enum ib_send_flags of the request
 * @after_umr: the previous request of the queue pair changes a key
 *
 * If the previous request changes a key, this request may use the key, so its fence makes the
 * device wait until the key has been changed. A request that itself changes a key gets
 * @to->umr_fence instead.
 *
 * Return: MLX5_FENCE_MODE_*.
 */
static inline u32 mlx5_ib_wqe_fence(const struct mlx5_ib_wqe_target *to,
				    const struct mlx5_ib_wr_op *op, int flags, bool after_umr)
{
	u32 mode = after_umr ? MLX5_FENCE_MODE_INITIATOR_SMALL : MLX5_FENCE_MODE_NONE;

	if (unlikely(mlx5_ib_wr_op_is_umr(op)))
		mode = to->umr_fence;
	if (likely(!(flags & IB_SEND_FENCE)) || mode == MLX5_FENCE_MODE_STRONG_ORDERING)
		return mode;
	return mode == MLX5_FENCE_MODE_NONE ? MLX5_FENCE_MODE_FENCE :
					      MLX5_FENCE_MODE_SMALL_AND_FENCE;
}

/**
 * mlx5_ib_finish_send_wqe - write the control segment of a send WQE
 * @wqe: the WQE, otherwise complete
 * @to: the queue pair
 * @op: entry of the opcode in mlx5_ib_wr_ops[]
 * @wr: the request
 * @ds: units of 16 bytes that the WQE has
 * @index: number of basic blocks posted to the queue pair before this request
 * @after_umr: the previous request of the queue pair changes a key
 */
static inline void mlx5_ib_finish_send_wqe(void *wqe, const struct mlx5_ib_wqe_target *to,
					   const struct mlx5_ib_wr_op *op,
					   const struct ib_send_wr *wr, unsigned int ds, u16 index,
					   bool after_umr)
{
	int send_flags = wr->send_flags;
	u32 flags = mlx5_ib_wqe_fence(to, op, send_flags, after_umr);
	__be32 *word = wqe;

	if (to->signal_all || (send_flags & IB_SEND_SIGNALED))
		flags |= MLX5_WQE_CTRL_CQ_UPDATE;
	if (send_flags & IB_SEND_SOLICITED)
		flags |= MLX5_WQE_CTRL_SOLICITED;
	word[0] = cpu_to_be32((u32)index << MLX5_WQE_CTRL_WQE_INDEX_SHIFT | op->opcode);
	word[1] = cpu_to_be32(to->qpn << MLX5_WQE_CTRL_QPN_SHIFT | ds);
	/* Besides the flags, this word has the signature and reserved bytes, which are 0. */
	word[2] = cpu_to_be32(flags);
	if (op->word == MLX5_IB_WR_ZERO)
		word[3] = 0;
	else if (op->word == MLX5_IB_WR_IMM)
		word[3] = wr->ex.imm_data;
	else if (op->word == MLX5_IB_WR_INVAL)
		word[3] = cpu_to_be32(wr->ex.invalidate_rkey);
}

/**
 * mlx5_ib_fill_recv_wqe - write a receive WQE
 * @seg: scatter list of the WQE
 * @wr: the request
 * @room: segments that the WQE has room for
 * @end_key: key that ends a scatter list
 *
 * Return: 0, or -EINVAL for more segments than the queue was created for.
 */
static inline int mlx5_ib_fill_recv_wqe(struct mlx5_wqe_data_seg *seg, const struct ib_recv_wr *wr,
					unsigned int room, u32 end_key)
{
	const struct mlx5_wqe_data_seg *end = seg + room;

	seg = mlx5_ib_fill_data_segs(seg, end, wr->sg_list, wr->num_sge);
	if (unlikely(!seg))
		return refuse(NULL, -EINVAL, "receive request of %d SGEs, at most %u", wr->num_sge,
			      room);
	if (seg < end) {
		seg->byte_count = 0;
		seg->lkey = cpu_to_be32(end_key);
		seg->addr = 0;
	}
	return 0;
}

#endif /* BLUEBELL_LAYOUT_WQE_H */
