// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * If the device reports a page fault with the index of a WQE, the functions of this file read the
 * WQE from its queue, to find the memory that the WQE names.
 */

#include <linux/mlx5/qp.h>

#include "fw/bluebell.h"
#include "layout/layout_odp.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

/* A work queue in a buffer: @count slots, a power of two, of 2^@shift bytes each. */
struct wqe_ring {
	const struct mlx5_ib_buf *buf;
	u32 offset;
	u32 count;
	u8 shift;
};

/*
 * Read the queue from WQE @index on, at most MLX5_IB_ODP_MAX_WQE bytes. After the end of the queue
 * go on at its start. Returns the number of bytes read, or a negative errno.
 */
static int wqe_read_ring(const struct wqe_ring *ring, u16 index, void *wqe)
{
	u32 size = ring->count << ring->shift, at = (index & (ring->count - 1)) << ring->shift;
	u32 len = min(size, MLX5_IB_ODP_MAX_WQE), first = min(size - at, len);
	int err;

	if (!ring->count)
		return -EINVAL;
	err = mlx5_ib_buf_read(ring->buf, ring->offset + at, wqe, first);
	if (!err && first < len)
		err = mlx5_ib_buf_read(ring->buf, ring->offset, wqe + first, len - first);
	return err ?: len;
}

static int wqe_read_send(struct mlx5_ib_qp *qp, u16 index, void *wqe,
			 struct mlx5_ib_odp_sges *sges)
{
	const struct wqe_ring ring = {
		.buf = &qp->mem.buf,
		.offset = qp->ucmd.rq_wqe_count << qp->ucmd.rq_wqe_shift,
		.count = qp->ucmd.sq_wqe_count,
		.shift = ilog2(MLX5_SEND_WQE_BB),
	};
	int len = wqe_read_ring(&ring, index, wqe);

	return len < 0 ? len : mlx5_ib_odp_parse_send(wqe, len, qp->ibqp.qp_type,
						      &qp->rsc.dev->caps, sges);
}

/* Read a WQE of a receive queue. @skip bytes at the start of a WQE are not data segments. */
static int wqe_read_recv(struct mlx5_ib_dev *dev, const struct wqe_ring *ring, u32 skip,
			 u16 index, void *wqe, struct mlx5_ib_odp_sges *sges)
{
	int len = wqe_read_ring(ring, index, wqe);

	return len < 0 ? len : mlx5_ib_odp_parse_data(wqe + skip, wqe + min(len, BIT(ring->shift)),
						      false, &dev->caps, sges);
}

static int wqe_read_rq(struct mlx5_ib_qp *qp, u16 index, void *wqe,
		       struct mlx5_ib_odp_sges *sges)
{
	const struct wqe_ring ring = {
		.buf = &qp->mem.buf,
		.count = qp->ucmd.rq_wqe_count,
		.shift = qp->ucmd.rq_wqe_shift,
	};
	u32 skip = qp->ucmd.flags & MLX5_QP_FLAG_SIGNATURE ? MLX5_SEND_WQE_DS : 0;

	return wqe_read_recv(qp->rsc.dev, &ring, skip, index, wqe, sges);
}

/**
 * mlx5_ib_qp_read_wqe - read a WQE of a queue pair, see struct mlx5_ib_rsc_ops
 * @rsc: the queue pair
 * @is_send: the WQE is in the send queue
 * @index: index of the WQE
 * @wqe: buffer of MLX5_IB_ODP_MAX_WQE bytes for the WQE
 * @sges: gets the data segments
 *
 * May sleep.
 *
 * Return: the PD of the queue pair; or an ERR_PTR: -EINVAL if the queue pair lacks the queue that
 * @is_send names; or as mlx5_ib_buf_read(), mlx5_ib_odp_parse_send() or mlx5_ib_odp_parse_data().
 */
struct ib_pd *mlx5_ib_qp_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				  struct mlx5_ib_odp_sges *sges)
{
	struct mlx5_ib_qp *qp = container_of(rsc, struct mlx5_ib_qp, rsc);
	int err = is_send ? wqe_read_send(qp, index, wqe, sges) :
			    wqe_read_rq(qp, index, wqe, sges);

	return err ? ERR_PTR(err) : qp->ibqp.pd;
}

/**
 * mlx5_ib_srq_read_wqe - read a WQE of a shared receive queue, see struct mlx5_ib_rsc_ops
 * @rsc: the queue
 * @is_send: false
 * @index: index of the WQE
 * @wqe: buffer of MLX5_IB_ODP_MAX_WQE bytes for the WQE
 * @sges: gets the data segments
 *
 * May sleep.
 *
 * Return: the PD of the queue; or an ERR_PTR, as mlx5_ib_buf_read() or mlx5_ib_odp_parse_data().
 */
struct ib_pd *mlx5_ib_srq_read_wqe(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				   struct mlx5_ib_odp_sges *sges)
{
	struct mlx5_ib_srq *srq = container_of(rsc, struct mlx5_ib_srq, rsc);
	const struct wqe_ring ring = {
		.buf = &srq->mem.buf,
		.count = srq->wq.wqe_cnt,
		.shift = srq->wq.wqe_shift,
	};
	int err = wqe_read_recv(rsc->dev, &ring, sizeof(struct mlx5_wqe_srq_next_seg), index, wqe,
				sges);

	return err ? ERR_PTR(err) : srq->ibsrq.pd;
}
