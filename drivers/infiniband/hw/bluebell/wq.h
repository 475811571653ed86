/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work queues of kernel consumers: what is posted, and what has completed.
 */

#ifndef BLUEBELL_WQ_H
#define BLUEBELL_WQ_H

#include <linux/list.h>
#include <linux/mlx5/driver.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "layout_wq.h"
#include "layout_wqe.h"

struct mlx5_ib_dev;
struct mlx5_ib_kcq;
struct mlx5_ib_queue_mem;
struct mlx5_ib_srq_ring;

/**
 * struct mlx5_ib_posted_send - a send request that has been posted
 * @wr_id: of the request
 * @blocks: basic blocks that its WQE takes
 * @opcode: enum ib_wr_opcode
 */
struct mlx5_ib_posted_send {
	u64 wr_id;
	u8 blocks;
	u8 opcode;
};

/**
 * struct mlx5_ib_sq - send queue of a kernel consumer
 * @lock: guards @posted and what only posting uses: @after_umr, @room, @next, @doorbell, @aside
 * @to: what WQEs depend on; constant once the queue pair exists
 * @ring: finds basic blocks in the buffer
 * @db: send counter of the doorbell record
 * @map: register that rings the queue
 * @requests: struct mlx5_ib_posted_send of the WQE that begins at this block
 * @max_blocks: basic blocks of the longest WQE
 * @after_umr: the last request changes a key
 * @room: basic blocks at @next, in one piece, that no request has; there may be more
 * @posted: basic blocks posted
 * @done: basic blocks completed; written under the lock of the CQ
 * @next: where in the buffer the next WQE starts, if @room is not 0
 * @doorbell: start of the last WQE, which is written to @map
 * @aside: the WQE that is being built, if it might not be in one piece in @ring
 */
struct mlx5_ib_sq {
	spinlock_t lock; /* posted, after_umr to aside but done */
	struct mlx5_ib_wqe_target to;
	struct mlx5_frag_buf_ctrl ring;
	__be32 *db;
	void __iomem *map;
	struct mlx5_ib_posted_send *requests;
	u8 max_blocks;
	bool after_umr;
	u16 room;
	u16 posted;
	u16 done;
	void *next;
	__be32 doorbell[2] __aligned(sizeof(u64));
	u8 aside[MLX5_IB_MAX_WQE_BYTES] __aligned(sizeof(u64));
};

/**
 * struct mlx5_ib_rq - receive queue of a kernel consumer
 * @lock: guards @posted, @room and @next
 * @ring: finds WQEs in the buffer
 * @max_sge: data segments of a WQE
 * @end_key: key that ends a scatter list
 * @db: receive counter of the doorbell record
 * @wr_ids: of the request at this WQE; NULL without a receive queue
 * @stride: bytes from one WQE to the next
 * @room: WQEs at @next, in one piece, that no request has; there may be more
 * @posted: WQEs posted
 * @done: WQEs completed; written under the lock of the CQ
 * @next: where in the buffer the next WQE is, if @room is not 0
 */
struct mlx5_ib_rq {
	spinlock_t lock; /* posted, room, next */
	struct mlx5_frag_buf_ctrl ring;
	u8 max_sge;
	u32 end_key;
	__be32 *db;
	u64 *wr_ids;
	u32 stride;
	u16 room;
	u16 posted;
	u16 done;
	void *next;
};

/**
 * struct mlx5_ib_wqs - both work queues of a queue pair
 * @ibqp: the queue pair as its consumer knows it
 * @qpn: number of the queue pair at the device
 * @is_qp1: the queue pair is QP1, whose completions tell a P_Key and not its index
 * @send_cq: where the send queue completes
 * @recv_cq: where the receive queue completes
 * @send_node: in @send_cq
 * @recv_node: in @recv_cq
 * @sq: send queue
 * @rq: receive queue
 * @srq: shared receive queue that the queue pair receives from instead of @rq; or NULL
 * @in_error: the consumer has taken the queue pair to the error state
 * @last_wqe_due: the queue pair, which receives from @srq, has not told its consumer that it will
 *	take no WQE any more
 */
struct mlx5_ib_wqs {
	struct ib_qp *ibqp;
	u32 qpn;
	bool is_qp1;
	struct mlx5_ib_kcq *send_cq;
	struct mlx5_ib_kcq *recv_cq;
	struct list_head send_node;
	struct list_head recv_node;
	struct mlx5_ib_sq sq;
	struct mlx5_ib_rq rq;
	struct mlx5_ib_srq_ring *srq;
	bool in_error;
	bool last_wqe_due;
};

struct mlx5_ib_wqs *mlx5_ib_wqs_alloc(struct mlx5_ib_dev *dev, struct ib_qp *ibqp,
				      const struct mlx5_ib_wq_layout *layout,
				      struct mlx5_ib_queue_mem *mem);
void mlx5_ib_wqs_free(struct mlx5_ib_wqs *wqs);
void mlx5_ib_sq_reset(struct mlx5_ib_sq *sq);
void mlx5_ib_rq_reset(struct mlx5_ib_rq *rq);

u32 mlx5_ib_sq_free_blocks(struct mlx5_ib_sq *sq);
void *mlx5_ib_sq_find_room(struct mlx5_ib_sq *sq);
int mlx5_ib_rq_find_room(struct mlx5_ib_rq *rq);
void mlx5_ib_sq_copy(struct mlx5_frag_buf_ctrl *ring, u16 index, const void *wqe,
		     unsigned int blocks);

enum ib_wr_opcode mlx5_ib_sq_complete(struct mlx5_ib_sq *sq, u16 index, struct ib_wc *wc);
void mlx5_ib_rq_complete(struct mlx5_ib_rq *rq, struct ib_wc *wc);
bool mlx5_ib_sq_flush(struct mlx5_ib_sq *sq, struct ib_wc *wc);
bool mlx5_ib_rq_flush(struct mlx5_ib_rq *rq, struct ib_wc *wc);

#endif /* BLUEBELL_WQ_H */
