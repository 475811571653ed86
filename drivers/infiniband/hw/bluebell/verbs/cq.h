/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues of users and of kernel consumers.
 */

#ifndef BLUEBELL_CQ_H
#define BLUEBELL_CQ_H

#include <linux/mlx5/cq.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/attempt.h"
#include "lib/buf.h"
#include "verbs/uar.h"

struct mlx5_ib_kcq;

/**
 * struct mlx5_ib_cq - completion queue
 * @ibcq: verbs object; ib_core allocates and frees the whole
 * @mcq: entry of the CQ in the table by which mlx5_core dispatches events; @mcq.cqn is the number
 *	of the CQ
 * @resize_lock: held across MODIFY_CQ, so that a resize leaves in @mem.buf the buffer that the
 *	device uses, unless firmware does not answer; and so that no MODIFY_CQ is sent for a kernel
 *	consumer's queue after mlx5_ib_kcq_close()
 * @mem: CQE buffer and doorbell record, released after DESTROY_CQ; also the reference to the UAR
 *	object, if a user's queue is armed on one
 * @kcq: what a kernel consumer polls; NULL for a user's queue. Constant
 * @uar_page: UAR on which the CQ is armed; constant
 * @bell: entry of a user's queue in its context's list of queues, for the report of UARs
 *	(uar_report.c)
 * @cqe_size: bytes of a CQE, 64 or 128
 * @cqe_stride: @cqe_size as the CQC encodes it
 * @real_time: completions carry the real-time clock
 * @attempt: attempts to destroy the CQ
 * @discard_err: result of DESTROY_CQ for a kernel consumer's queue, between
 *	mlx5_ib_pre_destroy_cq() and mlx5_ib_post_destroy_cq()
 */
struct mlx5_ib_cq {
	struct ib_cq ibcq;
	struct mlx5_core_cq mcq;
	struct mutex resize_lock; /* held across MODIFY_CQ */
	struct mlx5_ib_queue_mem mem;
	struct mlx5_ib_kcq *kcq;
	u32 uar_page;
	struct mlx5_ib_bell bell;
	int cqe_size;
	u8 cqe_stride;
	bool real_time;
	struct mlx5_ib_fw_attempt attempt;
	int discard_err;
};

static inline struct mlx5_ib_cq *to_mcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct mlx5_ib_cq, ibcq);
}

int mlx5_ib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		      struct uverbs_attr_bundle *attrs);
int mlx5_ib_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs);
int mlx5_ib_check_cq(struct ib_cq *ibcq);
int mlx5_ib_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int mlx5_ib_modify_cq(struct ib_cq *ibcq, u16 cq_count, u16 cq_period);
int mlx5_ib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int mlx5_ib_pre_destroy_cq(struct ib_cq *ibcq);
void mlx5_ib_post_destroy_cq(struct ib_cq *ibcq);
int mlx5_ib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int mlx5_ib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

extern const struct uapi_definition mlx5_ib_cq_defs[];

#endif /* BLUEBELL_CQ_H */
