// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queue layout: sizes, the library's request, the context of an XRC SRQ, that of an
 * XRQ, the device's object for an SRQ with tag matching, and that of an RMP (receive memory pool),
 * the device's object for all other SRQs. Pure functions only.
 */

#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "layout/caps.h"
#include "layout/layout_srq.h"
#include "layout/refuse.h"

/* The context of an XRC SRQ has 4 bits for the log of the size; other SRQs have the same limit. */
#define MAX_LOG_SIZE		15
#define MIN_STRIDE		32
/* The context of an XRC SRQ has the log of its stride minus this offset, in three bits. */
#define XRC_STRIDE_SHIFT	4
#define XRC_MAX_STRIDE		BIT(XRC_STRIDE_SHIFT + 7)
/* The context of an XRQ has 4 bits for the log of the number of entries of its list of tags. */
#define MAX_LOG_TAGS		15
/* Bytes of a message that announces a rendezvous, and buffers of a tag: no capability says. */
#define TM_MAX_RNDV_BYTES	64
#define TM_MAX_SGE		1

static u32 srq_max_stride(const struct mlx5_ib_caps *caps)
{
	return rounddown_pow_of_two(max(MLX5_CAP_GEN(caps->mdev, max_wqe_sz_rq), MIN_STRIDE));
}

/**
 * mlx5_ib_max_srq_wr - maximum number of requests that can be posted to an SRQ
 * @caps: what the device can do
 *
 * Return: one less than the number of WQEs that an SRQ can have: the last WQE of the list of free
 * WQEs is not used, because free WQEs are appended to it.
 */
u32 mlx5_ib_max_srq_wr(const struct mlx5_ib_caps *caps)
{
	return (1U << min(MLX5_CAP_GEN(caps->mdev, log_max_srq_sz), MAX_LOG_SIZE)) - 1;
}

/**
 * mlx5_ib_max_srq_sge - maximum number of scatter entries of a request that is posted to an SRQ
 * @caps: what the device can do
 *
 * Return: how many entries fit after the link to the next WQE, in the longest receive WQE whose
 * length is a power of two.
 */
u32 mlx5_ib_max_srq_sge(const struct mlx5_ib_caps *caps)
{
	return (srq_max_stride(caps) - sizeof(struct mlx5_wqe_srq_next_seg)) /
	       sizeof(struct mlx5_wqe_data_seg);
}

/**
 * mlx5_ib_max_srq_tags - maximum number of tags of an SRQ with tag matching
 * @caps: what the device can do
 *
 * Return: one less than the number of entries that a list of tags can have: the entry that the next
 * tag will fill is always free. 0 for a device without tag matching.
 */
u32 mlx5_ib_max_srq_tags(const struct mlx5_ib_caps *caps)
{
	if (!caps->has_tm)
		return 0;
	return (1U << min(MLX5_CAP_GEN(caps->mdev, log_tag_matching_list_sz), MAX_LOG_TAGS)) - 1;
}

/**
 * mlx5_ib_fill_tm_caps - say what SRQs with tag matching can have
 * @tm: zeroed; stays zeroed for a device without tag matching
 * @caps: what the device can do
 */
void mlx5_ib_fill_tm_caps(struct ib_tm_caps *tm, const struct mlx5_ib_caps *caps)
{
	if (!caps->has_tm)
		return;
	tm->max_rndv_hdr_size = TM_MAX_RNDV_BYTES;
	tm->max_num_tags = mlx5_ib_max_srq_tags(caps);
	tm->flags = IB_TM_CAP_RNDV_RC;
	tm->max_ops = 1U << MLX5_CAP_GEN(caps->mdev, log_max_qp_sz);
	tm->max_sge = TM_MAX_SGE;
}

static bool srq_type_exists(enum ib_srq_type type, const struct mlx5_ib_caps *caps)
{
	switch (type) {
	case IB_SRQT_BASIC:
		return true;
	case IB_SRQT_XRC:
		return caps->has_xrc;
	case IB_SRQT_TM:
		return caps->has_tm;
	default:
		return false;
	}
}

/**
 * mlx5_ib_srq_check_create - check a request to create an SRQ before anything is allocated
 * @type: enum ib_srq_type
 * @ucmd: the library's request (struct mlx5_ib_create_srq of rdma/mlx5-abi.h)
 * @caps: what the device can do
 *
 * Return: 0; -EOPNOTSUPP for a type that the driver or the device does not have; -EINVAL for
 * invalid attributes, and for signatures that the device cannot check.
 */
int mlx5_ib_srq_check_create(enum ib_srq_type type, const struct mlx5_ib_create_srq *ucmd,
			     const struct mlx5_ib_caps *caps)
{
	if (!srq_type_exists(type, caps))
		return refuse(caps->mdev, -EOPNOTSUPP, "SRQ of type %d, supported: BASIC (0)%s%s",
			      type, caps->has_xrc ? ", XRC (1)" : "",
			      caps->has_tm ? ", TM (2)" : "");
	if (ucmd->flags & ~MLX5_SRQ_FLAG_SIGNATURE || ucmd->reserved0 || ucmd->reserved1)
		return refuse(caps->mdev, -EINVAL,
			      "SRQ driver flags %#x, supported: %#x; reserved %#x %#x, must be 0",
			      ucmd->flags, MLX5_SRQ_FLAG_SIGNATURE, ucmd->reserved0,
			      ucmd->reserved1);
	if ((ucmd->flags & MLX5_SRQ_FLAG_SIGNATURE) && !MLX5_CAP_GEN(caps->mdev, wq_signature))
		return refuse(caps->mdev, -EINVAL,
			      "SRQ with signatures in its WQEs: the device cannot check these (wq_signature)");
	return 0;
}

/**
 * mlx5_ib_srq_check_tags - check how many tags an SRQ with tag matching is to hold
 * @max_num_tags: the number that the user asks for
 * @caps: what the device can do
 *
 * Return: 0, or -EINVAL.
 */
int mlx5_ib_srq_check_tags(u32 max_num_tags, const struct mlx5_ib_caps *caps)
{
	if (max_num_tags && max_num_tags <= mlx5_ib_max_srq_tags(caps))
		return 0;
	return refuse(caps->mdev, -EINVAL, "SRQ of %u tags, at least 1 and at most %u",
		      max_num_tags, mlx5_ib_max_srq_tags(caps));
}

/**
 * mlx5_ib_calc_srq - compute the sizes of an SRQ as the library does
 * @type: the type, which exists
 * @attr: the numbers of requests, and of scatter entries in a request, that the user asks for
 * @caps: what the device can do
 * @wq: the result
 *
 * A WQE has the link to the next WQE and the scatter entries, rounded up to a power of two. The
 * largest SRQ has 2^15 WQEs of 2^15 bytes, so 32 bits hold the size of every SRQ.
 *
 * Return: 0, or -EINVAL for values that exceed the limits of the device.
 */
int mlx5_ib_calc_srq(enum ib_srq_type type, const struct ib_srq_attr *attr,
		     const struct mlx5_ib_caps *caps, struct mlx5_ib_srq_layout *wq)
{
	u32 stride;

	*wq = (struct mlx5_ib_srq_layout){};
	if (attr->max_wr > mlx5_ib_max_srq_wr(caps) || attr->max_sge > mlx5_ib_max_srq_sge(caps))
		return refuse(caps->mdev, -EINVAL,
			      "SRQ of %u requests, at most %u; of %u SGEs each, at most %u",
			      attr->max_wr, mlx5_ib_max_srq_wr(caps), attr->max_sge,
			      mlx5_ib_max_srq_sge(caps));

	stride = sizeof(struct mlx5_wqe_srq_next_seg) +
		 attr->max_sge * sizeof(struct mlx5_wqe_data_seg);
	stride = roundup_pow_of_two(max(stride, MIN_STRIDE));
	if (type == IB_SRQT_XRC && stride > XRC_MAX_STRIDE)
		return refuse(caps->mdev, -EINVAL, "XRC SRQ with WQEs of %u bytes, at most %lu",
			      stride, XRC_MAX_STRIDE);
	wq->wqe_cnt = roundup_pow_of_two(attr->max_wr + 1);
	wq->wqe_shift = ilog2(stride);
	wq->max_gs = (stride - sizeof(struct mlx5_wqe_srq_next_seg)) /
		     sizeof(struct mlx5_wqe_data_seg);
	return 0;
}

static void srq_fill_wq(void *wq, const struct mlx5_ib_srqc_attr *attr)
{
	MLX5_SET(wq, wq, wq_type, MLX5_WQ_TYPE_LINKED_LIST);
	MLX5_SET(wq, wq, wq_signature, attr->wq_signature);
	MLX5_SET(wq, wq, page_offset, attr->geo.page_offset);
	MLX5_SET(wq, wq, pd, attr->pdn);
	MLX5_SET64(wq, wq, dbr_addr, attr->dbr_addr);
	MLX5_SET(wq, wq, log_wq_stride, attr->wq.wqe_shift);
	MLX5_SET(wq, wq, log_wq_pg_sz, attr->geo.page_shift - MLX5_ADAPTER_PAGE_SHIFT);
	MLX5_SET(wq, wq, log_wq_sz, ilog2(attr->wq.wqe_cnt));
}

/**
 * mlx5_ib_fill_rmpc - build the context of a new RMP
 * @rmpc: zeroed struct mlx5_ifc_rmpc_bits
 * @attr: values of the context
 */
void mlx5_ib_fill_rmpc(void *rmpc, const struct mlx5_ib_srqc_attr *attr)
{
	MLX5_SET(rmpc, rmpc, state, MLX5_RMPC_STATE_RDY);
	srq_fill_wq(MLX5_ADDR_OF(rmpc, rmpc, wq), attr);
}

/**
 * mlx5_ib_fill_xrqc - build the context of a new XRQ
 * @xrqc: zeroed struct mlx5_ifc_xrqc_bits
 * @attr: values of the context
 *
 * The list has one entry more than tags, or as many more as the next power of two needs. The
 * library fills entry 0 first.
 */
void mlx5_ib_fill_xrqc(void *xrqc, const struct mlx5_ib_srqc_attr *attr)
{
	MLX5_SET(xrqc, xrqc, state, MLX5_XRQC_STATE_GOOD);
	MLX5_SET(xrqc, xrqc, topology, MLX5_XRQC_TOPOLOGY_TAG_MATCHING);
	MLX5_SET(xrqc, xrqc, offload, MLX5_XRQC_OFFLOAD_RNDV);
	MLX5_SET(xrqc, xrqc, user_index, attr->uidx);
	MLX5_SET(xrqc, xrqc, cqn, attr->cqn);
	MLX5_SET(xrqc, xrqc, tag_matching_topology_context.log_matching_list_sz,
		 ilog2(attr->max_num_tags) + 1);
	srq_fill_wq(MLX5_ADDR_OF(xrqc, xrqc, wq), attr);
}

/**
 * mlx5_ib_fill_xrc_srqc - build the context of a new XRC SRQ
 * @srqc: zeroed struct mlx5_ifc_xrc_srqc_bits
 * @attr: values of the context
 */
void mlx5_ib_fill_xrc_srqc(void *srqc, const struct mlx5_ib_srqc_attr *attr)
{
	MLX5_SET(xrc_srqc, srqc, log_xrc_srq_size, ilog2(attr->wq.wqe_cnt));
	MLX5_SET(xrc_srqc, srqc, wq_signature, attr->wq_signature);
	MLX5_SET(xrc_srqc, srqc, log_rq_stride, attr->wq.wqe_shift - XRC_STRIDE_SHIFT);
	MLX5_SET(xrc_srqc, srqc, xrcd, attr->xrcdn);
	MLX5_SET(xrc_srqc, srqc, page_offset, attr->geo.page_offset);
	MLX5_SET(xrc_srqc, srqc, cqn, attr->cqn);
	MLX5_SET(xrc_srqc, srqc, log_page_size, attr->geo.page_shift - MLX5_ADAPTER_PAGE_SHIFT);
	MLX5_SET(xrc_srqc, srqc, user_index, attr->uidx);
	MLX5_SET(xrc_srqc, srqc, pd, attr->pdn);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_h, attr->dbr_addr >> 32);
	MLX5_SET(xrc_srqc, srqc, db_record_addr_l, (u32)attr->dbr_addr >> 2);
}
