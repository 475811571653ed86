/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The report of a context's UARs, bfregs, and the queues on them.
 */

#ifndef BLUEBELL_UAR_REPORT_H
#define BLUEBELL_UAR_REPORT_H

#include <linux/types.h>
#include <rdma/bluebell-abi.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_ib_ucontext;

/**
 * struct mlx5_ib_uar_report - the UARs of a context at one moment
 * @num: lengths of the lists
 * @uars: by index
 * @bfregs: by number
 * @queues: in the order of creation
 */
struct mlx5_ib_uar_report {
	struct bluebell_uar_report_resp num;
	struct bluebell_uar *uars;
	struct bluebell_bfreg *bfregs;
	struct bluebell_queue *queues;
};

extern const struct uapi_definition mlx5_ib_uar_report_defs[];

int mlx5_ib_uar_report_get(struct mlx5_ib_ucontext *context,
			   const struct bluebell_uar_report_req *room,
			   struct mlx5_ib_uar_report *report);
void mlx5_ib_uar_report_free(struct mlx5_ib_uar_report *report);

#endif /* BLUEBELL_UAR_REPORT_H */
