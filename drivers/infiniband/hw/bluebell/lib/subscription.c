// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Subscriptions of processes to events of the device.
 */

/**
 * DOC: Subscriptions to events
 *
 * The device names the object of an event by a number, which an object of another user may get as
 * soon as the object is destroyed. So the subscriptions to an object are in a list, which is found
 * by type and number of the object, and the list has states:
 *
 * * **Delivering**: mlx5_ib_event_report(), in the interrupt of an event queue, finds the list
 *   under RCU and calls each subscriber to that type of event.
 * * **Paused**: mlx5_ib_event_pause() sets @paused before the command that destroys the object is
 *   sent. Events that arrive are not delivered; their types are noted in @missed.
 * * **Ended**: the command has succeeded, or the process has given up its handle of the object, so
 *   mlx5_ib_event_settle() releases the subscriptions. The list is freed after a grace period. If a
 *   newer object with the same number gets a subscriber while the list is paused,
 *   mlx5_ib_event_subscribe() ends the list and creates a new list.
 *
 * If firmware refuses the command, or the command cannot be sent, the object exists:
 * mlx5_ib_event_settle() clears @paused, and delivers an event without data for each type in
 * @missed. After a command that was not answered another user's object may have the number, so the
 * list is not resumed any more, even if the command is sent again and fails: mlx5_core may not have
 * sent the command, or firmware may have refused the command for another object with the number. No
 * process can subscribe to the object itself any more (mlx5_ib_devx_identify()).
 *
 * mlx5_ib_event_pause() writes @paused, and then a write barrier comes before the doorbell of the
 * command is rung. An interrupt handler reads the event, and then a read barrier comes before it
 * reads @paused. If the event came after the command, the handler sees @paused set. So no event of
 * a later object that has the number is delivered.
 *
 * The mutex of struct mlx5_ib_events guards the table and all lists against other writers. Most
 * objects have no subscriptions; mlx5_ib_event_pause() and mlx5_ib_event_settle() find that out
 * without the mutex. A context can have at most 64 subscriptions to one event of one object,
 * because one interrupt serves all subscriptions to the event.
 */

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/subscription.h"

/*
 * Limit of one context's subscriptions to one event of one object: one interrupt serves all
 * subscriptions to an event.
 */
#define MAX_SUBS	64

/**
 * struct mlx5_ib_event_list - subscriptions to an object, or to the device
 * @source: the object; constant
 * @node: in the hash table
 * @subs: list of struct mlx5_ib_event_sub; changed under the lock of struct mlx5_ib_events, read
 *	under RCU. Empty only while the list is being made or freed
 * @paused: the object is being destroyed, or may have been
 * @missed: types of events that have arrived while @paused
 * @rcu: frees the list
 */
struct mlx5_ib_event_list {
	struct mlx5_ib_event_source source;
	struct rhash_head node;
	struct list_head subs;
	bool paused;
	DECLARE_BITMAP(missed, MLX5_EVENT_TYPE_MAX);
	struct rcu_head rcu;
};

static const struct rhashtable_params event_params = {
	.key_len = sizeof(struct mlx5_ib_event_source),
	.key_offset = offsetof(struct mlx5_ib_event_list, source),
	.head_offset = offsetof(struct mlx5_ib_event_list, node),
	.automatic_shrinking = true,
};

/* Call under RCU or with the lock held; with neither, only test the result for NULL. */
static struct mlx5_ib_event_list *event_find(struct mlx5_ib_events *events,
					     const struct mlx5_ib_event_source *source)
{
	return rhashtable_lookup_fast(&events->lists, source, event_params);
}

static struct mlx5_ib_event_list *event_alloc_list(const struct mlx5_ib_event_source *source)
{
	struct mlx5_ib_event_list *list = kzalloc_obj(*list, GFP_KERNEL_ACCOUNT);

	if (list) {
		list->source = *source;
		INIT_LIST_HEAD(&list->subs);
	}
	return list;
}

static void event_remove_list(struct mlx5_ib_events *events, struct mlx5_ib_event_list *list)
{
	lockdep_assert_held(&events->lock);
	rhashtable_remove_fast(&events->lists, &list->node, event_params);
	kfree_rcu(list, rcu);
}

static void event_release(struct mlx5_ib_events *events, struct mlx5_ib_event_sub *sub)
{
	lockdep_assert_held(&events->lock);
	list_del_rcu(&sub->node);
	list_del(&sub->owner_node);
	sub->owner->ops->release(sub);
}

static void event_end(struct mlx5_ib_events *events, struct mlx5_ib_event_sub *sub)
{
	struct mlx5_ib_event_list *list = sub->list;

	event_release(events, sub);
	if (list_empty(&list->subs))
		event_remove_list(events, list);
}

static void event_end_list(struct mlx5_ib_events *events, struct mlx5_ib_event_list *list)
{
	struct mlx5_ib_event_sub *sub, *next;

	list_for_each_entry_safe(sub, next, &list->subs, node)
		event_release(events, sub);
	event_remove_list(events, list);
}

static unsigned int event_count(const struct mlx5_ib_event_list *list,
				const struct mlx5_ib_event_sub *like)
{
	const struct mlx5_ib_event_sub *sub;
	unsigned int count = 0;

	list_for_each_entry(sub, &list->subs, node)
		count += sub->type == like->type && sub->owner->context == like->owner->context;
	return count;
}

/**
 * mlx5_ib_event_subscribe - let events of an object, or of the device, reach a subscriber
 * @dev: device
 * @source: the object, or the device. The caller keeps the object from being destroyed meanwhile,
 *	and has checked that no unanswered command may have destroyed it
 * @sub: the subscription; its owner and type are set
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM; or -ENOSPC if the context has too many subscriptions to the event.
 */
int mlx5_ib_event_subscribe(struct mlx5_ib_dev *dev, const struct mlx5_ib_event_source *source,
			    struct mlx5_ib_event_sub *sub)
{
	/* Allocate before taking the lock: a process whose cgroup is full waits for memory. */
	struct mlx5_ib_event_list *list, *fresh __free(kfree) = event_alloc_list(source);
	struct mlx5_ib_events *events = dev->events;
	int err;

	if (!fresh)
		return -ENOMEM;
	guard(mutex)(&events->lock);
	list = event_find(events, source);
	/* The list is that of an earlier object with the same number, which has been destroyed. */
	if (list && list->paused) {
		event_end_list(events, list);
		list = NULL;
	}
	if (!list) {
		err = rhashtable_insert_fast(&events->lists, &fresh->node, event_params);
		if (err)
			return err;
		list = no_free_ptr(fresh);
	}
	if (event_count(list, sub) >= MAX_SUBS)
		return refuse(dev->mdev, -ENOSPC,
			      "the context already has %u DEVX subscriptions to this event",
			      MAX_SUBS);
	sub->list = list;
	list_add_tail(&sub->owner_node, &sub->owner->subs);
	list_add_tail_rcu(&sub->node, &list->subs);
	return 0;
}

/**
 * mlx5_ib_event_unsubscribe - end a subscription
 * @dev: device
 * @sub: subscription of mlx5_ib_event_subscribe() that has not been released; it is released here
 *
 * May sleep.
 */
void mlx5_ib_event_unsubscribe(struct mlx5_ib_dev *dev, struct mlx5_ib_event_sub *sub)
{
	guard(mutex)(&dev->events->lock);
	event_end(dev->events, sub);
}

/* End up to MAX_SUBS subscriptions of a subscriber. Returns whether more may be left. */
static bool event_end_some(struct mlx5_ib_events *events, struct mlx5_ib_event_owner *owner)
{
	unsigned int i;

	guard(mutex)(&events->lock);
	for (i = 0; i < MAX_SUBS && !list_empty(&owner->subs); i++)
		event_end(events, list_first_entry(&owner->subs, struct mlx5_ib_event_sub,
						   owner_node));
	return i == MAX_SUBS;
}

/**
 * mlx5_ib_event_unsubscribe_all - end all subscriptions of a subscriber
 * @dev: device
 * @owner: the subscriber, who subscribes to nothing any more
 *
 * There may be many subscriptions, so the lock is released after each 64, for others who wait for
 * the lock. May sleep.
 */
void mlx5_ib_event_unsubscribe_all(struct mlx5_ib_dev *dev, struct mlx5_ib_event_owner *owner)
{
	while (event_end_some(dev->events, owner))
		cond_resched();
}

/**
 * mlx5_ib_event_pause - stop delivering events of an object that is about to be destroyed
 * @dev: device
 * @attempt: earlier attempts to destroy the object: if they say that another object has got the
 *	number, nothing is paused
 * @type: MLX5_OBJ_TYPE_*, as in struct mlx5_ib_event_source
 * @num: number of the object
 *
 * No process subscribes to an object that is being destroyed, so an object without subscriptions is
 * recognized without the lock. The caller sends the command that destroys the object, then calls
 * mlx5_ib_event_settle(). May sleep.
 */
void mlx5_ib_event_pause(struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			 u32 type, u32 num)
{
	const struct mlx5_ib_event_source source = { .type = type, .num = num };
	struct mlx5_ib_events *events = dev->events;
	struct mlx5_ib_event_list *list;

	if (!event_find(events, &source))
		return;
	guard(mutex)(&events->lock);
	list = event_find(events, &source);
	/*
	 * Set @paused before the doorbell of the command is rung, see the barriers at the top of
	 * this file. If @replaced is set, the list may be that of the object which has the number
	 * now.
	 */
	if (list && !READ_ONCE(attempt->replaced))
		WRITE_ONCE(list->paused, true);
}

/*
 * Pass an event to the subscribers of a list. Called under RCU. @eqe is NULL if only the type of
 * the event is known.
 */
static void event_deliver(struct mlx5_ib_event_list *list, unsigned long type,
			  const struct mlx5_eqe *eqe)
{
	struct mlx5_ib_event_sub *sub;

	lockdep_assert_in_rcu_read_lock();
	list_for_each_entry_rcu(sub, &list->subs, node)
		if (sub->type == type)
			sub->owner->ops->deliver(sub, eqe);
}

/*
 * Resume a list, and deliver what it has missed. An interrupt may have read @paused before, and set
 * the bit of its event in @missed only now. The interrupt writes @missed and then reads @paused;
 * this function writes @paused and then reads @missed. So at least one side sees that the event is
 * to be delivered; the side that clears the bit delivers the event. The task does not wait for a
 * grace period instead, because it holds the lock, which all processes share.
 */
static void event_resume(struct mlx5_ib_events *events, struct mlx5_ib_event_list *list)
{
	unsigned long type;

	lockdep_assert_held(&events->lock);
	WRITE_ONCE(list->paused, false);
	/* Pairs with the barrier in event_miss(). */
	smp_mb();
	guard(rcu)();
	for_each_set_bit(type, list->missed, MLX5_EVENT_TYPE_MAX)
		if (test_and_clear_bit(type, list->missed))
			event_deliver(list, type, NULL);
}

/* Note an event that has arrived for a paused list. Called under RCU. */
static void event_miss(struct mlx5_ib_event_list *list, const struct mlx5_eqe *eqe)
{
	lockdep_assert_in_rcu_read_lock();
	set_bit(eqe->type, list->missed);
	/* Pairs with the barrier in event_resume(). */
	smp_mb__after_atomic();
	if (!READ_ONCE(list->paused) && test_and_clear_bit(eqe->type, list->missed))
		event_deliver(list, eqe->type, eqe);
}

/**
 * mlx5_ib_event_settle - end the subscriptions to an object that is gone, or resume them
 * @dev: device
 * @attempt: as for mlx5_ib_event_pause()
 * @type: as for mlx5_ib_event_pause()
 * @num: as for mlx5_ib_event_pause()
 * @err: 0 if the object is gone, or if the process has given up its handle of the object; else the
 *	errno of the command
 *
 * A command that was not answered may have been executed, and another user's object may have the
 * number now. So the events of the object stay undelivered after such a command. May sleep.
 */
void mlx5_ib_event_settle(struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			  u32 type, u32 num, int err)
{
	const struct mlx5_ib_event_source source = { .type = type, .num = num };
	struct mlx5_ib_events *events = dev->events;
	struct mlx5_ib_event_list *list;

	if (!event_find(events, &source))
		return;
	guard(mutex)(&events->lock);
	list = event_find(events, &source);
	/* A list that is not paused belongs to a newer object with the same number. */
	if (!list || !list->paused || READ_ONCE(attempt->replaced))
		return;
	if (!err)
		event_end_list(events, list);
	else if (!attempt->unanswered)
		event_resume(events, list);
}

/**
 * mlx5_ib_event_report - deliver an event to its subscribers
 * @dev: device
 * @eqe: the event
 *
 * Any context.
 */
void mlx5_ib_event_report(struct mlx5_ib_dev *dev, const struct mlx5_eqe *eqe)
{
	struct mlx5_ib_event_source source;
	struct mlx5_ib_event_list *list;

	if (!mlx5_ib_event_read(dev->mdev, eqe, &source))
		return;
	guard(rcu)();
	list = event_find(dev->events, &source);
	if (!list)
		return;
	if (READ_ONCE(list->paused))
		event_miss(list, eqe);
	else
		event_deliver(list, eqe->type, eqe);
}

/*
 * Deliver an event from an event queue of mlx5_core to its subscribers. Called in the interrupt of
 * the event queue, for events of all types, also those of completed commands.
 */
static int event_notify(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_events *events = mlx5_nb_cof(nb, struct mlx5_ib_events, nb);

	mlx5_ib_event_report(events->dev, data);
	return NOTIFY_DONE;
}

/**
 * mlx5_ib_init_event_table - set up the subscriptions of a device
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
VISIBLE_IF_KUNIT int mlx5_ib_init_event_table(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_events *events __free(kfree) = kzalloc_obj(*events, GFP_KERNEL);
	int err;

	if (!events)
		return -ENOMEM;
	err = rhashtable_init(&events->lists, &event_params);
	if (err)
		return err;
	events->dev = dev;
	mutex_init(&events->lock);
	dev->events = no_free_ptr(events);
	return 0;
}

/**
 * mlx5_ib_cleanup_event_table - undo mlx5_ib_init_event_table()
 * @dev: device, which has no subscribers left
 */
VISIBLE_IF_KUNIT void mlx5_ib_cleanup_event_table(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_events *events = dev->events;

	WARN_ON(atomic_read(&events->lists.nelems));
	rhashtable_destroy(&events->lists);
	mutex_destroy(&events->lock);
	kfree(events);
	dev->events = NULL;
	/* Wait for the RCU callbacks that free subscriptions: they are functions of this module. */
	rcu_barrier();
}

/**
 * mlx5_ib_init_events - start to listen for events of all types
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_events(struct mlx5_ib_dev *dev)
{
	int err = mlx5_ib_init_event_table(dev);

	if (err)
		return err;
	MLX5_NB_INIT(&dev->events->nb, event_notify, NOTIFY_ANY);
	mlx5_eq_notifier_register(dev->mdev, &dev->events->nb);
	return 0;
}

/**
 * mlx5_ib_cleanup_events - stop listening for events
 * @dev: device, which has no subscribers left
 */
void mlx5_ib_cleanup_events(struct mlx5_ib_dev *dev)
{
	mlx5_eq_notifier_unregister(dev->mdev, &dev->events->nb);
	mlx5_ib_cleanup_event_table(dev);
}
