/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Dynamic connections: targets. Functions return 0 or an errno unless they say otherwise.
 */
#ifndef BLUEBELL_DC_H
#define BLUEBELL_DC_H

#include <stdint.h>

#include "rdma.h"

#define DC_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define DC_TARGET_INIT_MASK (DC_INIT_MASK | IBV_QP_ACCESS_FLAGS)

struct ibv_qp *dc_target_create(struct rdma *r, struct ibv_srq *srq, struct ibv_cq *cq,
				uint64_t key);
int dc_to_init(struct ibv_qp *qp, int mask);
int dc_target_to_rtr(struct ibv_qp *qp, uint16_t lid);

#endif
