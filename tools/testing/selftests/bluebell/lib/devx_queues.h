/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A CQ and an RC queue pair in umems, which a process creates and rings without libmlx5 (DEVX).
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef BLUEBELL_DEVX_QUEUES_H
#define BLUEBELL_DEVX_QUEUES_H

#include <linux/types.h>
#include <stdint.h>

#include "devx_cmd.h"
#include "uv.h"

#define DEVX_QUEUES_BYTES (4 * UV_PAGE)	/* of memory */
#define DEVX_LOG_CQ 5
#define DEVX_LOG_SQ 6
#define DEVX_CONNECT_STEPS 3
#define DEVX_SQ_BELL 0x800	/* register of the UAR */

/* A CQ in a page, a QP in two, and a page for their doorbell records. */
struct devx_queues {
	uint8_t *cq_buf, *qp_buf;
	__be32 *dbr;
	struct devx_umem cq_umem, qp_umem, dbr_umem;
	struct uv_uar uar;
	uint32_t pd, pdn, eqn;
	uint32_t cq, cqn, qp, qpn;
};

int devx_queues_prepare(int fd, uint8_t *mem, struct devx_queues *q);
int devx_queues_release(int fd, struct devx_queues *q);
void devx_start_cq(struct devx_queues *q, struct devx_cmd *cmd);
void devx_start_qp(struct devx_queues *q, struct devx_cmd *cmd);
int devx_create_cq(int fd, struct devx_queues *q);
int devx_create_qp(int fd, struct devx_queues *q);
int devx_connect_qp(int fd, struct devx_queues *q);
void devx_start_connect(const struct devx_queues *q, unsigned int step, uint16_t lid,
			struct devx_cmd *cmd);

int devx_arm_cq(int fd, struct devx_queues *q, unsigned int sn, unsigned int ci);
uint64_t devx_build_nop(struct devx_queues *q, unsigned int index);
int devx_post_nop(int fd, struct devx_queues *q, unsigned int index);
int devx_poll_nop(struct devx_queues *q, unsigned int index);

#endif
