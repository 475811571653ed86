/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues of kernel consumers: polling, arming, and what happens to the
 * completions of a queue pair that is destroyed or whose device has failed.
 */

#ifndef BLUEBELL_CQ_KERNEL_H
#define BLUEBELL_CQ_KERNEL_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "lib/cq_ring.h"

struct mlx5_ib_dev;
struct mlx5_ib_wqs;

/**
 * struct mlx5_ib_kcq - completion queue of a kernel consumer
 * @dev: device
 * @ibcq: the queue as the RDMA core sees it
 * @ring: its entries
 * @lock: guards the consumer index, and the members from @senders to @closed; mlx5_ib_kcq_wake()
 *	reads @notifies without the lock
 * @senders: struct mlx5_ib_wqs of the queue pairs whose send queues complete here
 * @receivers: struct mlx5_ib_wqs of the queue pairs whose receive queues complete here
 * @last: work queues of the completion that was polled last, or NULL. A poll looks here first, as
 *	the next completion is probably of the same queue pair
 * @notifies: the consumer has armed the queue at least once; a consumer that only polls must not be
 *	called
 * @flushed: the device has failed, and a request has been completed as flushed: CQEs are ignored
 * @closed: the queue is being destroyed: the driver neither arms the queue nor queues @wake.
 *	Written with the resize_lock of the CQ held, too, so mlx5_ib_modify_cq() can read @closed
 *	with only that lock
 * @wake: calls the consumer, who waits for completions of a device that has failed
 */
struct mlx5_ib_kcq {
	struct mlx5_ib_dev *dev;
	struct ib_cq *ibcq;
	struct mlx5_ib_cq_ring ring;
	spinlock_t lock; /* guards the consumer index, and senders to closed */
	struct list_head senders;
	struct list_head receivers;
	struct mlx5_ib_wqs *last;
	bool notifies;
	bool flushed;
	bool closed;
	struct work_struct wake;
};

struct mlx5_ib_kcq *mlx5_ib_kcq_alloc(struct mlx5_ib_dev *dev, struct ib_cq *ibcq);
void mlx5_ib_kcq_free(struct mlx5_ib_kcq *kcq);
void mlx5_ib_kcq_close(struct mlx5_ib_kcq *kcq);
int mlx5_ib_kcq_poll(struct mlx5_ib_kcq *kcq, int num, struct ib_wc *wc);
int mlx5_ib_kcq_arm(struct mlx5_ib_kcq *kcq, enum ib_cq_notify_flags flags);

int mlx5_ib_kcq_add(struct mlx5_ib_wqs *wqs);
void mlx5_ib_kcq_reset(struct mlx5_ib_wqs *wqs);
void mlx5_ib_kcq_end(struct mlx5_ib_wqs *wqs);
void mlx5_ib_kcq_remove(struct mlx5_ib_wqs *wqs);
void mlx5_ib_kcq_wake(struct mlx5_ib_kcq *kcq);
void mlx5_ib_kcq_report_last_wqe(struct mlx5_ib_wqs *wqs);
void mlx5_ib_flush_kernel_queues(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_CQ_KERNEL_H */
