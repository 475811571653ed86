// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Dynamic connections: targets.
 */
#include <infiniband/mlx5dv.h>

#include "dc.h"
#include "port.h"

/*
 * Create a target that initiators reach with the access key @key. Returns NULL on failure, with
 * errno set.
 */
struct ibv_qp *dc_target_create(struct rdma *r, struct ibv_srq *srq, struct ibv_cq *cq,
				uint64_t key)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = r->cq, .recv_cq = cq, .srq = srq,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = r->pd, .sq_sig_all = 1,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = key },
	};

	return mlx5dv_create_qp(r->ctx, &init, &dv);
}

/* Change a target or an initiator to INIT, with the attributes of @mask. */
int dc_to_init(struct ibv_qp *qp, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr, mask);
}

/* Change a target to RTR, and so create it at the device. */
int dc_target_to_rtr(struct ibv_qp *qp, uint16_t lid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .min_rnr_timer = 1,
	};

	port_address(&attr.ah_attr, lid);
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_MIN_RNR_TIMER);
}
