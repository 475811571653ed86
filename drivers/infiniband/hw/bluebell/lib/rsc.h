/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects that the device names by type and number, in events and page faults.
 */

#ifndef BLUEBELL_RSC_H
#define BLUEBELL_RSC_H

#include <linux/completion.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "fw/attempt.h"

struct mlx5_ib_dev;
struct mlx5_ib_fw_batch;
struct mlx5_ib_odp_sges;
struct mlx5_ib_queue_mem;
struct mlx5_ib_rsc;

/* DC targets: the type that their events have, and that enum mlx5_res_type lacks. */
#define MLX5_IB_RES_DCT		((enum mlx5_res_type)MLX5_EVENT_QUEUE_TYPE_DCT)

/**
 * struct mlx5_ib_rsc_ops - properties and operations of a kind of object
 * @type: MLX5_RES_QP, MLX5_RES_RQ, MLX5_RES_SQ, MLX5_RES_SRQ or MLX5_IB_RES_DCT
 * @event_object: MLX5_OBJ_TYPE_* by which the subscriptions of processes name an object; 0 if it
 *	follows from @type
 * @name: name of the kind of object, for the log
 * @destroy_op: MLX5_CMD_OP_* of the command that destroys an object
 * @repeats_destroy: a refused command that destroys an object is repeated, for a third of a second
 * @prepare_destroy: called before the command that destroys an object is sent. May sleep. NULL:
 *	nothing has to be done before
 * @event: delivers an event of the device to the consumer. May sleep.
 * @read_wqe: reads the WQE of a page fault into a buffer of MLX5_IB_ODP_MAX_WQE bytes, and finds
 *	its data segments. May sleep. Returns the PD that their keys must belong to, or an ERR_PTR
 */
struct mlx5_ib_rsc_ops {
	enum mlx5_res_type type;
	u16 event_object;
	const char *name;
	u16 destroy_op;
	bool repeats_destroy;
	void (*prepare_destroy)(struct mlx5_ib_rsc *rsc);
	void (*event)(struct mlx5_ib_rsc *rsc, enum ib_event_type event);
	struct ib_pd *(*read_wqe)(struct mlx5_ib_rsc *rsc, bool is_send, u16 index, void *wqe,
				  struct mlx5_ib_odp_sges *sges);
};

/**
 * struct mlx5_ib_rsc - an object that the device names by its number
 * @dev: device
 * @ops: operations of the kind of object
 * @num: number of the object
 * @uid: user id of the commands on the object
 * @refs: one reference for the table, one for each mlx5_ib_rsc_get()
 * @free: completed when the last reference is released
 * @work: delivers @pending
 * @pending: bit n: event n of rsc.c's table awaits delivery. If an event arrives again before it
 *	has been delivered, it is delivered once
 * @listed: the object has been added to the table, and not been removed by its owner
 * @destroyed: the device has destroyed the object: mlx5_ib_rsc_destroy() has nothing left to do
 * @attempt: attempts to destroy the object
 */
struct mlx5_ib_rsc {
	struct mlx5_ib_dev *dev;
	const struct mlx5_ib_rsc_ops *ops;
	u32 num;
	u16 uid;
	refcount_t refs;
	struct completion free;
	struct work_struct work;
	unsigned long pending;
	bool listed;
	bool destroyed;
	struct mlx5_ib_fw_attempt attempt;
};

int mlx5_ib_rsc_respond_and_add(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem,
				struct ib_udata *udata, const void *resp, size_t len);
int mlx5_ib_rsc_destroy(struct mlx5_ib_rsc *rsc);
int mlx5_ib_rsc_end(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem, bool closing);
void mlx5_ib_rsc_destroy_early(struct mlx5_ib_rsc *rsc, struct mlx5_ib_fw_batch *batch);
void mlx5_ib_rsc_discard(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem);
struct mlx5_ib_rsc *mlx5_ib_rsc_get(struct mlx5_ib_dev *dev, enum mlx5_res_type type, u32 num);
void mlx5_ib_rsc_put(struct mlx5_ib_rsc *rsc);
void mlx5_ib_rsc_raise(struct mlx5_ib_dev *dev, u8 eqe_type, u32 num);

int mlx5_ib_init_rsc_table(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_rsc_table(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_rsc_event(struct notifier_block *nb, unsigned long type, void *data);
int mlx5_ib_rsc_add(struct mlx5_ib_rsc *rsc);
void mlx5_ib_rsc_watch(struct mlx5_ib_dev *dev, bool on);
#endif

#endif /* BLUEBELL_RSC_H */
