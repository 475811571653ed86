/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Subscriptions of processes to events of the device. The events that verbs report are handled in
 * rsc.c, cq.c and port.c.
 */

#ifndef BLUEBELL_SUBSCRIPTION_H
#define BLUEBELL_SUBSCRIPTION_H

#include <linux/list.h>
#include <linux/mlx5/driver.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

#include "fw/attempt.h"
#include "layout/layout_event.h"

struct mlx5_ib_dev;
struct mlx5_ib_event_sub;
struct mlx5_ib_event_list;

/**
 * struct mlx5_ib_event_ops - what is called for a subscription
 * @deliver: called when an event has occurred; @eqe is NULL if the data of the event is lost. Any
 *	context, in an RCU read-side critical section
 * @release: called, with the lock of struct mlx5_ib_events held, when the subscriber has ended the
 *	subscription, the object is gone, or the process has given up its handle of the object.
 *	@deliver may still be running, so @release has the subscription freed after a grace period
 *	of RCU, by call_rcu()
 */
struct mlx5_ib_event_ops {
	void (*deliver)(struct mlx5_ib_event_sub *sub, const struct mlx5_eqe *eqe);
	void (*release)(struct mlx5_ib_event_sub *sub);
};

/**
 * struct mlx5_ib_event_owner - a subscriber
 * @ops: what is called for each subscription
 * @context: context against whose limit the subscriptions count; only compared, never dereferenced
 * @subs: list of struct mlx5_ib_event_sub. Guarded by the lock of struct mlx5_ib_events
 */
struct mlx5_ib_event_owner {
	const struct mlx5_ib_event_ops *ops;
	const void *context;
	struct list_head subs;
};

/**
 * struct mlx5_ib_event_sub - a subscription to one type of event of one object, or of the device
 * @owner: the subscriber
 * @type: MLX5_EVENT_TYPE_*
 * @list: list of all subscriptions to the object
 * @node: in @list, which is read under RCU
 * @owner_node: in the list of @owner
 *
 * The subscriber sets @owner and @type.
 */
struct mlx5_ib_event_sub {
	struct mlx5_ib_event_owner *owner;
	u8 type;
	struct mlx5_ib_event_list *list;
	struct list_head node;
	struct list_head owner_node;
};

/**
 * struct mlx5_ib_events - subscriptions to events of a device
 * @dev: device
 * @lists: struct mlx5_ib_event_list of each object that has subscriptions, by type and number;
 *	read under RCU
 * @lock: guards changes of @lists and all lists of subscriptions. Held while one subscription is
 *	made or ended, while 64 are ended for a subscriber who ends all, or while all subscriptions
 *	to one object are walked, at most 64 for each context and type of event; no command is sent
 *	meanwhile. All contexts with a user id can subscribe to events of the device itself, so each
 *	new subscription to such an event, and each interrupt for such an event, walks the
 *	subscriptions of all contexts
 * @nb: called for each event of mlx5_core's queues for asynchronous events
 */
struct mlx5_ib_events {
	struct mlx5_ib_dev *dev;
	struct rhashtable lists;
	struct mutex lock;	/* guards lists, each list in it, and the lists of owners */
	struct mlx5_nb nb;
};

int mlx5_ib_event_subscribe(struct mlx5_ib_dev *dev, const struct mlx5_ib_event_source *source,
			    struct mlx5_ib_event_sub *sub);
void mlx5_ib_event_unsubscribe(struct mlx5_ib_dev *dev, struct mlx5_ib_event_sub *sub);
void mlx5_ib_event_unsubscribe_all(struct mlx5_ib_dev *dev, struct mlx5_ib_event_owner *owner);

void mlx5_ib_event_pause(struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			 u32 type, u32 num);
void mlx5_ib_event_settle(struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			  u32 type, u32 num, int err);

void mlx5_ib_event_report(struct mlx5_ib_dev *dev, const struct mlx5_eqe *eqe);

int mlx5_ib_init_events(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_events(struct mlx5_ib_dev *dev);

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_init_event_table(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_event_table(struct mlx5_ib_dev *dev);
#endif

#endif /* BLUEBELL_SUBSCRIPTION_H */
