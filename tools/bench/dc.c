// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of the dynamically connected transport: a target (DCT) until it receives, and an initiator
 * (DCI) until it sends.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define DC_KEY 0xbe11

static struct ibv_srq *srq;	/* from which the target takes its receives */

static struct ibv_qp *create_dc(struct bench *b, const struct row *row, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = b->cq,
		.recv_cq = b->cq,
		.srq = srq,
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = b->pd,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr.dc_type = srq ? MLX5DV_DCTYPE_DCT : MLX5DV_DCTYPE_DCI,
	};
	struct ibv_qp *qp;

	if (srq) {
		dv.dc_init_attr.dct_access_key = DC_KEY;
	} else {
		attr.cap.max_send_wr = 16;
		attr.cap.max_send_sge = 1;
	}
	qp = mlx5dv_create_qp(b->ctx, &attr, &dv);
	if (!qp)
		die(row->name);
	return qp;
}

static void modify(struct ibv_qp *qp, const struct row *row, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);
	if (errno)
		die(row->name);
}

static void make_srq(struct bench *b, const struct row *row)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	if (srq)
		return;
	srq = ibv_create_srq(b->pd, &attr);
	if (!srq)
		die(row->name);
}

/* The device has the target from the state RTR on. */
static void op_target(struct bench *b, const struct row *row)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024, .min_rnr_timer = 12, .ah_attr = b->self,
	};

	make_srq(b, row);
	b->qp = create_dc(b, row, srq);
	modify(b->qp, row, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	modify(b->qp, row, &attr, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
}

static void op_initiator(struct bench *b, const struct row *row)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.path_mtu = IBV_MTU_1024, .ah_attr = b->self,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1,
	};

	b->qp = create_dc(b, row, NULL);
	modify(b->qp, row, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	attr.qp_state = IBV_QPS_RTR;
	modify(b->qp, row, &attr, IBV_QP_PATH_MTU | IBV_QP_AV);
	attr.qp_state = IBV_QPS_RTS;
	modify(b->qp, row, &attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void op_destroy(struct bench *b, const struct row *row)
{
	if (ibv_destroy_qp(b->qp))
		die(row->name);
	b->qp = NULL;
}

static void destroy_srq(struct bench *b)
{
	(void)b;
	if (ibv_destroy_srq(srq))
		die("ibv_destroy_srq");
	srq = NULL;
}

const struct row dc_rows[] = {
	{ "DCT create to RTR", .before = make_srq, .op = op_target, .after = op_destroy,
	  .finish = destroy_srq },
	{ "DCT destroy", .before = op_target, .op = op_destroy, .finish = destroy_srq },
	{ "DCI create to RTS", .op = op_initiator, .after = op_destroy },
	{ "DCI destroy", .before = op_initiator, .op = op_destroy },
	{ 0 }
};
