/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of the device, and of queues that the device names by number: a table
 * finds the queue and tells its consumer in process context.
 */

#ifndef BLUEBELL_EVENT_H
#define BLUEBELL_EVENT_H

#include <linux/completion.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct mlx5_core_dev;

/**
 * struct mlx5_ib_event_map - an event in the words of both sides
 * @type: MLX5_EVENT_TYPE_*
 * @event: what verbs call it
 */
struct mlx5_ib_event_map {
	u8 type;
	enum ib_event_type event;
};

/**
 * struct mlx5_ib_event_source - a queue that events can be about
 * @table: the table that it is in
 * @num: its number
 * @refs: one for the table, one for each mlx5_ib_get_source()
 * @free: the last reference is gone
 * @work: delivers @pending
 * @pending: bit n: event n of the table's map awaits delivery. Events of one
 *	kind that come faster than they are delivered are delivered once.
 */
struct mlx5_ib_event_source {
	struct mlx5_ib_event_table *table;
	u32 num;
	refcount_t refs;
	struct completion free;
	struct work_struct work;
	unsigned long pending;
};

/**
 * struct mlx5_ib_event_table - finds queues of one kind by number
 * @sources: number to struct mlx5_ib_event_source; its lock is taken in
 *	interrupt context
 * @nb: async events of mlx5_core
 * @wq: delivers events in process context
 * @map: the events of this kind of queue
 * @num_events: entries of @map, no more than bits of a long
 * @deliver: tells the queue's consumer; may sleep
 */
struct mlx5_ib_event_table {
	struct xarray sources;
	struct notifier_block nb;
	struct workqueue_struct *wq;
	const struct mlx5_ib_event_map *map;
	unsigned int num_events;
	void (*deliver)(struct mlx5_ib_event_source *source, enum ib_event_type event);
};

int mlx5_ib_event(struct notifier_block *nb, unsigned long event, void *data);

int mlx5_ib_init_event_table(struct mlx5_ib_event_table *table, struct mlx5_core_dev *mdev);
void mlx5_ib_cleanup_event_table(struct mlx5_ib_event_table *table, struct mlx5_core_dev *mdev);
int mlx5_ib_add_source(struct mlx5_ib_event_table *table, struct mlx5_ib_event_source *source,
		       u32 num);
void mlx5_ib_remove_source(struct mlx5_ib_event_source *source);
struct mlx5_ib_event_source *mlx5_ib_get_source(struct mlx5_ib_event_table *table, u32 num);
void mlx5_ib_put_source(struct mlx5_ib_event_source *source);

#endif /* BLUEBELL_EVENT_H */
