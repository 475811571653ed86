// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout of the context of a DC target (DCTC), and the checks of its attributes. Pure functions
 * only.
 */

#include <linux/mlx5/driver.h>

#include "layout/caps.h"
#include "layout/layout_dct.h"
#include "layout/layout_path.h"
#include "layout/layout_qp.h"
#include "layout/refuse.h"

#define DCT_FLAGS	(MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_SCATTER_CQE)
/* Bits 7:2 of a traffic class are the DSCP of an IP header. */
#define DSCP_SHIFT	2

/* Attributes of a change to RTR, by which the device creates the target, and to INIT. */
#define INIT_ATTRS	(IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define RTR_ATTRS	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_MIN_RNR_TIMER)

/**
 * mlx5_ib_dct_check_create - check a request to create a DC target
 * @init: attributes of verbs
 * @ucmd: the library's request
 * @caps: what the device can do
 *
 * A target has no queues of its own, so the capacities in @init mean nothing.
 *
 * Return: 0; or -EINVAL for flags that a target does not have, queues, and a target without an SRQ.
 */
int mlx5_ib_dct_check_create(const struct ib_qp_init_attr *init,
			     const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps)
{
	if (ucmd->flags & ~DCT_FLAGS || init->create_flags)
		return refuse(caps->mdev, -EINVAL,
			      "DCT with driver flags %#x, supported: %#x; QP flags %#x must be 0",
			      ucmd->flags, DCT_FLAGS, init->create_flags);
	if (ucmd->reserved || ucmd->dci_streams.log_num_concurent ||
	    ucmd->dci_streams.log_num_errored)
		return refuse(caps->mdev, -EINVAL,
			      "DCT with reserved %#x and DCI streams %u, %u: must be 0",
			      ucmd->reserved, ucmd->dci_streams.log_num_concurent,
			      ucmd->dci_streams.log_num_errored);
	if (ucmd->sq_wqe_count || ucmd->rq_wqe_count)
		return refuse(caps->mdev, -EINVAL, "DCT with queues of %u and %u WQEs, has none",
			      ucmd->sq_wqe_count, ucmd->rq_wqe_count);
	if (!init->srq || init->srq->srq_type != IB_SRQT_BASIC || !init->recv_cq)
		return refuse(caps->mdev, -EINVAL, "DCT without a basic SRQ, or without a CQ");
	return 0;
}

/**
 * mlx5_ib_dct_fill_create - write the fields of a context that follow from the request
 * @dctc: zeroed struct mlx5_ifc_dctc_bits
 * @ucmd: the library's request, checked by mlx5_ib_dct_check_create()
 * @cqe_size: bytes of a CQE of the receive CQ. Only a CQE of 128 bytes has room for payload
 * @caps: what the device can do
 */
void mlx5_ib_dct_fill_create(void *dctc, const struct mlx5_ib_create_qp *ucmd, int cqe_size,
			     const struct mlx5_ib_caps *caps)
{
	MLX5_SET64(dctc, dctc, dc_access_key, ucmd->access_key);
	if (ucmd->flags & MLX5_QP_FLAG_SCATTER_CQE && cqe_size == 128 &&
	    MLX5_CAP_GEN(caps->mdev, sctr_data_cqe))
		MLX5_SET(dctc, dctc, cs_res, MLX5_DCTC_CS_RES_UP_TO_64B);
}

static int dct_check_change(enum ib_qp_state cur, enum ib_qp_state next, int mask,
			    const struct mlx5_ib_caps *caps)
{
	int required, allowed;

	if (cur == IB_QPS_RESET && next == IB_QPS_INIT) {
		required = INIT_ATTRS;
		allowed = INIT_ATTRS;
	} else if (cur == IB_QPS_INIT && next == IB_QPS_INIT) {
		required = 0;
		allowed = INIT_ATTRS;
	} else if (cur == IB_QPS_INIT && next == IB_QPS_RTR) {
		required = RTR_ATTRS;
		allowed = RTR_ATTRS | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS;
	} else {
		return refuse(caps->mdev, -EINVAL,
			      "DCT cannot go from state %u to %u, only by INIT (1) to RTR (2)",
			      cur, next);
	}
	mask &= ~(IB_QP_STATE | IB_QP_CUR_STATE);
	return (mask & required) == required && !(mask & ~allowed) ? 0 :
	       refuse(caps->mdev, -EINVAL,
		      "DCT from state %u to %u with attributes 0x%x: 0x%x are needed, 0x%x possible",
		      cur, next, mask, required, allowed);
}

/**
 * mlx5_ib_dct_check_modify - check a change of a DC target
 * @cur: state before the change
 * @next: state after the change
 * @mask: enum ib_qp_attr_mask
 * @attr: the attributes
 * @caps: what the device can do
 *
 * Return: 0; -EINVAL for a change that targets do not have, for attributes that the change lacks or
 * does not have, and for a value out of range; or as mlx5_ib_qp_check_attr().
 */
int mlx5_ib_dct_check_modify(enum ib_qp_state cur, enum ib_qp_state next, int mask,
			     const struct ib_qp_attr *attr, const struct mlx5_ib_caps *caps)
{
	const struct mlx5_ib_qp_modify mod = {
		.type = IB_QPT_DRIVER, .cur = cur, .next = next, .mask = mask, .attr = attr,
	};

	return dct_check_change(cur, next, mask, caps) ?: mlx5_ib_qp_check_attr(&mod, caps);
}

/* The sizes of atomics are those of DC: without 8 bytes, only what InfiniBand defines. */
static u8 dct_atomic_mode(const struct mlx5_ib_caps *caps)
{
	return MLX5_CAP_ATOMIC(caps->mdev, atomic_size_dc) &
	       MLX5_ATOMIC_CAPS_ATOMIC_SIZE_DC_8_BYTES ? caps->atomic_mode :
							 MLX5_ATOMIC_MODE_IB_COMP;
}

static void dctc_fill_access(void *dctc, u32 access, u8 atomic_mode)
{
	MLX5_SET(dctc, dctc, rwe, !!(access & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(dctc, dctc, rre, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(dctc, dctc, rae, !!(access & IB_ACCESS_REMOTE_ATOMIC));
	MLX5_SET(dctc, dctc, atomic_mode, access & IB_ACCESS_REMOTE_ATOMIC ? atomic_mode : 0);
}

/* The address by which the target answers: only what does not depend on the peer. */
static void dctc_fill_address(void *dctc, const struct rdma_ah_attr *ah, bool ethernet)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return;
	MLX5_SET(dctc, dctc, my_addr_index, grh->sgid_index);
	MLX5_SET(dctc, dctc, hop_limit, grh->hop_limit);
	MLX5_SET(dctc, dctc, tclass, grh->traffic_class);
	MLX5_SET(dctc, dctc, flow_label, grh->flow_label);
	if (!ethernet)
		return;
	MLX5_SET(dctc, dctc, dscp, grh->traffic_class >> DSCP_SHIFT);
	MLX5_SET(dctc, dctc, eth_prio, rdma_ah_get_sl(ah));
}

/**
 * mlx5_ib_dct_fill_modify - write the fields of a context that follow from attributes
 * @dctc: struct mlx5_ifc_dctc_bits
 * @attr: the attributes, checked by mlx5_ib_dct_check_modify()
 * @mask: enum ib_qp_attr_mask
 * @caps: what the device can do
 */
void mlx5_ib_dct_fill_modify(void *dctc, const struct ib_qp_attr *attr, int mask,
			     const struct mlx5_ib_caps *caps)
{
	if (mask & IB_QP_PORT)
		MLX5_SET(dctc, dctc, port, attr->port_num);
	if (mask & IB_QP_PKEY_INDEX)
		MLX5_SET(dctc, dctc, pkey_index, attr->pkey_index);
	if (mask & IB_QP_ACCESS_FLAGS)
		dctc_fill_access(dctc, attr->qp_access_flags, dct_atomic_mode(caps));
	if (mask & IB_QP_AV)
		dctc_fill_address(dctc, &attr->ah_attr, caps->ethernet);
	if (mask & IB_QP_PATH_MTU)
		MLX5_SET(dctc, dctc, mtu, attr->path_mtu);
	if (mask & IB_QP_MIN_RNR_TIMER)
		MLX5_SET(dctc, dctc, min_rnr_nak, attr->min_rnr_timer);
}

/**
 * mlx5_ib_dct_fill_out_of_order - let the device use receive WQEs, and place data, in any order
 * @dctc: struct mlx5_ifc_dctc_bits
 * @caps: what the device can do, as for mlx5_ib_fill_out_of_order()
 */
void mlx5_ib_dct_fill_out_of_order(void *dctc, const struct mlx5_ib_caps *caps)
{
	MLX5_SET(dctc, dctc, dp_ordering_1, 1);
	if (MLX5_CAP_GEN(caps->mdev, hca_cap_2) && MLX5_CAP_GEN_2(caps->mdev, dp_ordering_force))
		MLX5_SET(dctc, dctc, dp_ordering_force, 1);
}

/**
 * mlx5_ib_dct_read - translate a context back to attributes of verbs
 * @dctc: struct mlx5_ifc_dctc_bits, as QUERY_DCT gives it
 * @ethernet: the target is on an Ethernet port
 * @attr: gets the attributes that the context has
 */
void mlx5_ib_dct_read(const void *dctc, bool ethernet, struct ib_qp_attr *attr)
{
	struct rdma_ah_attr *ah = &attr->ah_attr;

	attr->port_num = MLX5_GET(dctc, dctc, port);
	attr->pkey_index = MLX5_GET(dctc, dctc, pkey_index);
	attr->path_mtu = MLX5_GET(dctc, dctc, mtu);
	attr->min_rnr_timer = MLX5_GET(dctc, dctc, min_rnr_nak);
	attr->qp_access_flags =
		(MLX5_GET(dctc, dctc, rre) ? IB_ACCESS_REMOTE_READ : 0) |
		(MLX5_GET(dctc, dctc, rwe) ? IB_ACCESS_REMOTE_WRITE : 0) |
		(MLX5_GET(dctc, dctc, rae) ? IB_ACCESS_REMOTE_ATOMIC : 0);
	ah->type = ethernet ? RDMA_AH_ATTR_TYPE_ROCE : RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(ah, attr->port_num);
	rdma_ah_set_sl(ah, ethernet ? MLX5_GET(dctc, dctc, eth_prio) : 0);
	rdma_ah_set_grh(ah, NULL, MLX5_GET(dctc, dctc, flow_label),
			MLX5_GET(dctc, dctc, my_addr_index), MLX5_GET(dctc, dctc, hop_limit),
			MLX5_GET(dctc, dctc, tclass));
}
