/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UARs: a context's static and dynamic pages, the queues on each bfreg, UAR objects, and the
 * report of them.
 */

#ifndef BLUEBELL_UAR_H
#define BLUEBELL_UAR_H

#include <linux/list.h>
#include <linux/mm.h>
#include <rdma/bluebell-abi.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_bfreg_info;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;
struct mlx5_user_mmap_entry;

extern const struct uapi_definition mlx5_ib_uar_defs[];
extern const struct uapi_definition mlx5_ib_uar_report_defs[];

/* Rights that no mapping of a UAR has: doorbells are only written. */
#define MLX5_IB_UAR_DENIED	(VM_READ | VM_EXEC)

/**
 * struct mlx5_ib_bell - a QP or CQ, and the UAR on which the process rings its doorbell
 * @node: in the context's list of queues, until the queue is about to be destroyed
 * @queue: the queue and the UAR, as a report shows them; constant while @node is in the list
 */
struct mlx5_ib_bell {
	struct list_head node;
	struct bluebell_queue queue;
};

/**
 * struct mlx5_ib_uar_report - the UARs of a context at one moment
 * @num: lengths of the lists
 * @uars: sorted by index
 * @bfregs: sorted by number
 * @queues: oldest first; a queue that firmware has refused to destroy counts as new from then on
 */
struct mlx5_ib_uar_report {
	struct bluebell_uar_report_resp num;
	struct bluebell_uar *uars;
	struct bluebell_bfreg *bfregs;
	struct bluebell_queue *queues;
};

int mlx5_ib_alloc_uar(struct mlx5_ib_ucontext *context, u8 origin, u32 *uar);
void mlx5_ib_dealloc_uar(struct mlx5_ib_ucontext *context, u8 origin, u32 uar);
int mlx5_ib_allocate_uars(struct mlx5_ib_ucontext *context, u32 total, u32 low_latency);
void mlx5_ib_deallocate_uars(struct mlx5_ib_ucontext *context);
int mlx5_ib_alloc_bfreg(struct mlx5_bfreg_info *bfregi);
void mlx5_ib_free_bfreg(struct mlx5_bfreg_info *bfregi, int bfregn);
int bfregn_to_uar_index(struct mlx5_bfreg_info *bfregi, u32 bfregn, bool dyn_bfreg);
void mlx5_ib_bell_add(struct mlx5_ib_ucontext *context, struct mlx5_ib_bell *bell);
void mlx5_ib_bell_del(struct mlx5_ib_ucontext *context, struct mlx5_ib_bell *bell);
bool mlx5_ib_is_uar_object(const struct mlx5_user_mmap_entry *entry);
struct mlx5_user_mmap_entry *mlx5_ib_get_uar(struct mlx5_ib_ucontext *context, u32 page_id);

/* uar_report.c */
int mlx5_ib_uar_report_get(struct mlx5_ib_ucontext *context,
			   const struct bluebell_uar_report_req *room,
			   struct mlx5_ib_uar_report *report);
void mlx5_ib_uar_report_free(struct mlx5_ib_uar_report *report);

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_user_mmap_entry *mlx5_ib_create_uar_object(struct mlx5_ib_ucontext *context, bool wc);
#endif

#endif /* BLUEBELL_UAR_H */
