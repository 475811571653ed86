// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout of a receive queue for raw packets that belongs to a raw packet QP, or that is a work
 * queue (WQ) of verbs: sizes, context (RQC), and the table of such queues (RQT). Pure functions
 * only.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "layout/caps.h"
#include "layout/layout_rq.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"

/* A doorbell record counts the WQEs in 16 bits, so no queue has more WQEs than this. */
#define MAX_LOG_SIZE		15
/* wq.log_wqe_num_of_strides is counted from this; a smaller number is negative, in four bits. */
#define LOG_STRIDES_BASE	9
/* The least number of strides of a device with ext_stride_num_range. */
#define MIN_LOG_STRIDES_EXT	3

#define WQ_FLAGS							\
	(IB_WQ_FLAGS_CVLAN_STRIPPING | IB_WQ_FLAGS_SCATTER_FCS |	\
	 IB_WQ_FLAGS_PCI_WRITE_END_PADDING)

/**
 * mlx5_ib_max_raw_wqes - maximum length of a queue for raw packets
 * @caps: what the device can do
 *
 * Return: the maximum number of receive WQEs, and of basic blocks (64 bytes) of a send queue.
 */
u32 mlx5_ib_max_raw_wqes(const struct mlx5_ib_caps *caps)
{
	return 1U << min(MLX5_CAP_GEN(caps->mdev, log_max_wq_sz), MAX_LOG_SIZE);
}

/**
 * mlx5_ib_min_log_strides - the least number of strides of a buffer that packets share
 * @caps: what the device can do
 *
 * Return: log2 of the number.
 */
u8 mlx5_ib_min_log_strides(const struct mlx5_ib_caps *caps)
{
	return MLX5_CAP_GEN(caps->mdev, ext_stride_num_range) ? MIN_LOG_STRIDES_EXT :
								LOG_STRIDES_BASE;
}

/**
 * mlx5_ib_rq_check_flags - check the flags of a receive queue for raw packets
 * @flags: enum ib_wq_flags
 * @caps: what the device can do
 *
 * Return: 0; or -EOPNOTSUPP for a feature that the driver or the device does not have.
 */
int mlx5_ib_rq_check_flags(u32 flags, const struct mlx5_ib_caps *caps)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	if (flags & ~WQ_FLAGS)
		return refuse(mdev, -EOPNOTSUPP, "receive queue with flags %#x, supported: %#x",
			      flags, WQ_FLAGS);
	if ((flags & IB_WQ_FLAGS_CVLAN_STRIPPING) && !MLX5_CAP_ETH(mdev, vlan_cap))
		return refuse(mdev, -EOPNOTSUPP,
			      "receive queue with CVLAN_STRIPPING: the device cannot strip tags (vlan_cap)");
	if ((flags & IB_WQ_FLAGS_SCATTER_FCS) && !MLX5_CAP_ETH(mdev, scatter_fcs))
		return refuse(mdev, -EOPNOTSUPP,
			      "receive queue with SCATTER_FCS: the device cannot store the FCS (scatter_fcs)");
	if ((flags & IB_WQ_FLAGS_PCI_WRITE_END_PADDING) && !MLX5_CAP_GEN(mdev, end_pad))
		return refuse(mdev, -EOPNOTSUPP,
			      "receive queue with PCI_WRITE_END_PADDING: the device cannot pad its writes (end_pad)");
	return 0;
}

static int wq_check_request(const struct mlx5_ib_create_wq *ucmd, const struct mlx5_ib_caps *caps)
{
	if (ucmd->flags & ~MLX5_WQ_FLAG_SIGNATURE)
		return refuse(caps->mdev, -EINVAL, "WQ driver flags %#x, supported: %#x",
			      ucmd->flags, MLX5_WQ_FLAG_SIGNATURE);
	if ((ucmd->flags & MLX5_WQ_FLAG_SIGNATURE) && !MLX5_CAP_GEN(caps->mdev, wq_signature))
		return refuse(caps->mdev, -EINVAL,
			      "WQ with signatures in its WQEs: the device cannot check these (wq_signature)");
	return 0;
}

/* Read and check how packets share the buffer of a WQE. */
static int wq_read_striding(const struct mlx5_ib_create_wq *ucmd, const struct mlx5_ib_caps *caps,
			    struct mlx5_ib_rqc_attr *rq)
{
	u32 shift = ucmd->single_stride_log_num_of_bytes;
	u32 strides = ucmd->single_wqe_log_num_of_strides;

	if (!(ucmd->comp_mask & MLX5_IB_CREATE_WQ_STRIDING_RQ))
		return 0;
	if (!MLX5_CAP_GEN(caps->mdev, striding_rq))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "WQ with STRIDING_RQ: the device has none (striding_rq)");
	if (shift < MLX5_IB_MIN_STRIDE_SHIFT || shift > MLX5_IB_MAX_STRIDE_SHIFT ||
	    strides < mlx5_ib_min_log_strides(caps) || strides > MLX5_IB_MAX_LOG_STRIDES)
		return refuse(caps->mdev, -EINVAL,
			      "WQ with 2^%u strides of 2^%u bytes, 2^%u to 2^%u of 2^%u to 2^%u are possible",
			      strides, shift, mlx5_ib_min_log_strides(caps),
			      MLX5_IB_MAX_LOG_STRIDES, MLX5_IB_MIN_STRIDE_SHIFT,
			      MLX5_IB_MAX_STRIDE_SHIFT);
	rq->striding = true;
	rq->stride_shift = shift;
	rq->log_strides = strides;
	rq->two_byte_shift = ucmd->two_byte_shift_en;
	return 0;
}

/**
 * mlx5_ib_calc_wq - check a request to create a WQ, and compute its sizes
 * @init: type, flags and capacities that the user asks for; the capacities are set to those of the
 *	queue that the library has laid out
 * @ucmd: the library's request
 * @caps: what the device can do
 * @rq: zeroed; gets the sizes, the flags and how packets share buffers
 *
 * The largest queue has 2^15 WQEs of 2^11 bytes, so an int holds its size.
 *
 * Return: bytes of the queue; -EOPNOTSUPP for a feature that the driver or the device does not
 * have; or -EINVAL for sizes that the device cannot have, or that are too small for what the user
 * asks for, for invalid flags of the library, and for signatures that the device cannot check.
 */
int mlx5_ib_calc_wq(struct ib_wq_init_attr *init, const struct mlx5_ib_create_wq *ucmd,
		    const struct mlx5_ib_caps *caps, struct mlx5_ib_rqc_attr *rq)
{
	struct ib_qp_init_attr as_qp = {
		.qp_type = IB_QPT_RAW_PACKET,
		.cap = { .max_recv_wr = init->max_wr, .max_recv_sge = init->max_sge },
	};
	const struct mlx5_ib_create_qp queue = {
		.rq_wqe_count = ucmd->rq_wqe_count, .rq_wqe_shift = ucmd->rq_wqe_shift,
		.flags = ucmd->flags & MLX5_WQ_FLAG_SIGNATURE ? MLX5_QP_FLAG_SIGNATURE : 0,
	};
	int err, bytes;

	err = mlx5_ib_rq_check_flags(init->create_flags, caps) ?: wq_check_request(ucmd, caps) ?:
	      wq_read_striding(ucmd, caps, rq);
	if (err)
		return err;
	if (!queue.rq_wqe_count || queue.rq_wqe_count > mlx5_ib_max_raw_wqes(caps))
		return refuse(caps->mdev, -EINVAL, "WQ of %u WQEs, 1 to %u are possible",
			      queue.rq_wqe_count, mlx5_ib_max_raw_wqes(caps));
	bytes = mlx5_ib_calc_user_wq(&as_qp, &queue, caps);
	if (bytes < 0)
		return bytes;
	init->max_wr = as_qp.cap.max_recv_wr;
	init->max_sge = as_qp.cap.max_recv_sge;
	rq->wqe_count = ucmd->rq_wqe_count;
	rq->wqe_shift = ucmd->rq_wqe_shift;
	rq->wq_signature = ucmd->flags & MLX5_WQ_FLAG_SIGNATURE;
	rq->strip_vlan = init->create_flags & IB_WQ_FLAGS_CVLAN_STRIPPING;
	rq->scatter_fcs = init->create_flags & IB_WQ_FLAGS_SCATTER_FCS;
	rq->pad_writes = init->create_flags & IB_WQ_FLAGS_PCI_WRITE_END_PADDING;
	return bytes;
}

/**
 * mlx5_ib_fill_rqc - build the context of a new receive queue
 * @rqc: zeroed struct mlx5_ifc_rqc_bits; mlx5_ib_create_wq_cmd() adds the memory
 * @rq: values of the context
 *
 * The device completes what is posted to a queue in the error state with errors, as verbs ask.
 */
void mlx5_ib_fill_rqc(void *rqc, const struct mlx5_ib_rqc_attr *rq)
{
	void *wq = MLX5_ADDR_OF(rqc, rqc, wq);

	MLX5_SET(rqc, rqc, mem_rq_type, MLX5_RQC_RQ_TYPE_MEMORY_RQ_INLINE);
	MLX5_SET(rqc, rqc, state, MLX5_RQC_STATE_RST);
	MLX5_SET(rqc, rqc, flush_in_error_en, 1);
	MLX5_SET(rqc, rqc, vsd, !rq->strip_vlan);
	MLX5_SET(rqc, rqc, scatter_fcs, rq->scatter_fcs);
	MLX5_SET(rqc, rqc, ts_format, rq->ts_format);
	MLX5_SET(rqc, rqc, user_index, rq->uidx);
	MLX5_SET(rqc, rqc, cqn, rq->cqn);
	MLX5_SET(rqc, rqc, counter_set_id, rq->counter_set);

	MLX5_SET(wq, wq, wq_type, rq->striding ? MLX5_WQ_TYPE_CYCLIC_STRIDING_RQ :
						 MLX5_WQ_TYPE_CYCLIC);
	MLX5_SET(wq, wq, wq_signature, rq->wq_signature);
	MLX5_SET(wq, wq, end_padding_mode, rq->pad_writes ? MLX5_WQ_END_PAD_MODE_ALIGN :
							    MLX5_WQ_END_PAD_MODE_NONE);
	MLX5_SET(wq, wq, pd, rq->pdn);
	MLX5_SET(wq, wq, log_wq_stride, rq->wqe_shift);
	MLX5_SET(wq, wq, log_wq_sz, ilog2(rq->wqe_count));
	if (!rq->striding)
		return;
	MLX5_SET(wq, wq, log_wqe_num_of_strides, rq->log_strides - LOG_STRIDES_BASE);
	MLX5_SET(wq, wq, log_wqe_stride_size, rq->stride_shift - MLX5_IB_MIN_STRIDE_SHIFT);
	MLX5_SET(wq, wq, two_byte_shift_en, rq->two_byte_shift);
}

/**
 * mlx5_ib_wq_state_to_hw - the device's name of a WQ's state
 * @state: the state
 *
 * Return: MLX5_RQC_STATE_*.
 */
u8 mlx5_ib_wq_state_to_hw(enum ib_wq_state state)
{
	static const u8 states[] = {
		[IB_WQS_RESET] = MLX5_RQC_STATE_RST,
		[IB_WQS_RDY] = MLX5_RQC_STATE_RDY,
		[IB_WQS_ERR] = MLX5_RQC_STATE_ERR,
	};

	return states[state];
}

/**
 * mlx5_ib_wq_check_states - check a change of a WQ's state
 * @cur: state before the change
 * @next: state after the change, which may be the same
 * @caps: what the device can do
 *
 * Return: 0; or -EINVAL: a WQ leaves the error state only to RESET.
 */
int mlx5_ib_wq_check_states(enum ib_wq_state cur, enum ib_wq_state next,
			    const struct mlx5_ib_caps *caps)
{
	return cur != IB_WQS_ERR || next != IB_WQS_RDY ? 0 :
	       refuse(caps->mdev, -EINVAL, "WQ cannot go from ERR to RDY, only by RESET");
}

/**
 * mlx5_ib_rqt_check_size - check the length of a table of receive queues
 * @log_size: log2 of the number of entries
 * @caps: what the device can do
 *
 * Return: 0, or -EINVAL for a table that is too long for the device.
 */
int mlx5_ib_rqt_check_size(u32 log_size, const struct mlx5_ib_caps *caps)
{
	u32 most = MLX5_CAP_GEN(caps->mdev, log_max_rqt_size);

	return log_size <= most ? 0 :
	       refuse(caps->mdev, -EINVAL, "indirection table of 2^%u entries, at most 2^%u",
		      log_size, most);
}

/**
 * mlx5_ib_fill_rqtc - build the context of a new table of receive queues
 * @rqtc: zeroed struct mlx5_ifc_rqtc_bits, with room for @num entries
 * @rqns: numbers of the queues
 * @num: number of entries
 */
void mlx5_ib_fill_rqtc(void *rqtc, const u32 *rqns, u32 num)
{
	u32 i;

	MLX5_SET(rqtc, rqtc, rqt_max_size, num);
	MLX5_SET(rqtc, rqtc, rqt_actual_size, num);
	for (i = 0; i < num; i++)
		MLX5_SET(rqtc, rqtc, rq_num[i], rqns[i]);
}
