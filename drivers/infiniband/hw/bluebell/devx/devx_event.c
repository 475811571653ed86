// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Channels from which a process reads the events that it has subscribed to: the ioctl object
 * MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, and MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT. See
 * mlx5dv_devx_create_event_channel(3), mlx5dv_devx_subscribe_devx_event(3) and
 * mlx5dv_devx_get_event(3); and layout_event.c for what a process may subscribe to.
 */

#include <kunit/visibility.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx_event.h"
#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "layout/layout_event.h"
#include "layout/refuse.h"
#include "lib/subscription.h"

static_assert(offsetof(struct mlx5_ib_devx_event, eqe) ==
	      sizeof(struct mlx5_ib_uapi_devx_async_event_hdr));

struct devx_sub;

/* An event in the queue of a channel. */
struct devx_queued {
	struct list_head node;
	struct devx_sub *sub;
};

struct devx_slot {
	struct devx_queued queued;
	struct mlx5_eqe eqe;
};

/**
 * struct mlx5_ib_devx_slots - slots for events of a channel, allocated together
 * @next: the slots of the channel that were allocated before, or NULL
 * @slots: each in the list @queue or @unused of the channel
 */
struct mlx5_ib_devx_slots {
	struct mlx5_ib_devx_slots *next;
	struct devx_slot slots[MLX5_IB_DEVX_EVENTS_PER_SUB];
};

/**
 * struct devx_sub - a subscription of a process
 * @sub: entry in the list of subscriptions to the event
 * @channel: the channel
 * @cookie: value of the process, which the process reads with each event; constant
 * @eventfd: signalled for each event; NULL if events are queued in the channel instead. Constant
 * @queued: in a channel without data: entry of the queue, which stands for all unread events of the
 *	subscription. Guarded by the channel's lock
 * @ended: further events must not be queued. Guarded by the channel's lock
 * @rcu: frees the subscription after a grace period, as devx_deliver() may be using it
 */
struct devx_sub {
	struct mlx5_ib_event_sub sub;
	struct mlx5_ib_devx_channel *channel;
	u64 cookie;
	struct eventfd_ctx *eventfd;
	struct devx_queued queued;
	bool ended;
	struct rcu_head rcu;
};

/* ---- delivery --------------------------------------------------------------------- */

static void devx_queue_data(struct mlx5_ib_devx_channel *channel, struct devx_sub *sub,
			    const struct mlx5_eqe *eqe)
{
	struct devx_slot *slot;

	slot = list_first_entry_or_null(&channel->unused, struct devx_slot, queued.node);
	if (!slot || !eqe) {
		channel->lost = true;
		return;
	}
	slot->eqe = *eqe;
	slot->queued.sub = sub;
	list_move_tail(&slot->queued.node, &channel->queue);
}

/*
 * Queue an event in the channel of a subscription, or signal the eventfd of the subscription.
 * Called under rcu_read_lock(): the channel may have been closed, but has not been freed.
 */
static void devx_deliver(struct mlx5_ib_event_sub *event_sub, const struct mlx5_eqe *eqe)
{
	struct devx_sub *sub = container_of(event_sub, struct devx_sub, sub);
	struct mlx5_ib_devx_channel *channel = sub->channel;

	lockdep_assert_in_rcu_read_lock();
	if (sub->eventfd) {
		eventfd_signal(sub->eventfd);
		return;
	}
	guard(spinlock_irqsave)(&channel->lock);
	if (sub->ended || channel->closed)
		return;
	if (!channel->omit_data)
		devx_queue_data(channel, sub, eqe);
	else if (list_empty(&sub->queued.node))
		list_add_tail(&sub->queued.node, &channel->queue);
	wake_up_interruptible(&channel->wait);
}

/* Remove an event from the queue. */
static void devx_dequeue(struct mlx5_ib_devx_channel *channel, struct devx_queued *queued)
{
	if (channel->omit_data)
		list_del_init(&queued->node);
	else
		list_move(&queued->node, &channel->unused);
}

static void devx_free_sub(struct rcu_head *rcu)
{
	struct devx_sub *sub = container_of(rcu, struct devx_sub, rcu);

	if (sub->eventfd)
		eventfd_ctx_put(sub->eventfd);
	kfree(sub);
}

/*
 * Remove the events of a subscription from the queue. A queue with data has at most
 * MLX5_IB_DEVX_EVENTS entries, so all are looked at. A queue without data can be much longer, but
 * has at most one entry of the subscription, @sub->queued.
 */
static void devx_dequeue_all(struct mlx5_ib_devx_channel *channel, struct devx_sub *sub)
{
	struct devx_queued *queued, *next;

	lockdep_assert_held(&channel->lock);
	if (channel->omit_data) {
		devx_dequeue(channel, &sub->queued);
		return;
	}
	list_for_each_entry_safe(queued, next, &channel->queue, node)
		if (queued->sub == sub)
			devx_dequeue(channel, queued);
}

/*
 * Drop the unread events of a subscription. As with verbs, a process reads no events of an object
 * that has been destroyed: the process may have freed the memory that the cookie points to.
 */
static void devx_release_sub(struct mlx5_ib_event_sub *event_sub)
{
	struct devx_sub *sub = container_of(event_sub, struct devx_sub, sub);
	struct mlx5_ib_devx_channel *channel = sub->channel;

	scoped_guard(spinlock_irq, &channel->lock) {
		sub->ended = true;
		devx_dequeue_all(channel, sub);
	}
	call_rcu(&sub->rcu, devx_free_sub);
}

static const struct mlx5_ib_event_ops devx_event_ops = {
	.deliver = devx_deliver,
	.release = devx_release_sub,
};

/* ---- channels --------------------------------------------------------------------- */

/**
 * mlx5_ib_devx_open_channel - set up a channel
 * @channel: the channel, zeroed but for its file
 * @context: context of the process
 * @omit_data: the reader gets only cookies, and only one cookie for all unread events of a
 *	subscription
 *
 * Return: 0, or -ENOSPC if the context has MLX5_IB_DEVX_CHANNELS channels already.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_open_channel(struct mlx5_ib_devx_channel *channel,
			      struct mlx5_ib_ucontext *context, bool omit_data)
{
	if (!atomic_add_unless(&context->event_channels, 1, MLX5_IB_DEVX_CHANNELS))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -ENOSPC,
			      "the context already has %u DEVX event channels",
			      MLX5_IB_DEVX_CHANNELS);
	channel->dev = to_mdev(context->ibucontext.device);
	channel->context = context;
	channel->omit_data = omit_data;
	channel->owner.ops = &devx_event_ops;
	channel->owner.context = context;
	INIT_LIST_HEAD(&channel->owner.subs);
	init_waitqueue_head(&channel->wait);
	spin_lock_init(&channel->lock);
	INIT_LIST_HEAD(&channel->queue);
	INIT_LIST_HEAD(&channel->unused);
	return 0;
}

/* Free the slots of a channel whose queue is empty, and stays empty because @closed is set. */
static void devx_free_slots(struct mlx5_ib_devx_channel *channel)
{
	struct mlx5_ib_devx_slots *slots, *next;

	for (slots = channel->slots; slots; slots = next) {
		next = slots->next;
		kvfree(slots);
	}
}

/*
 * Give a channel room for the events of one more subscription, unless the channel has room for
 * MLX5_IB_DEVX_EVENTS already. Events arrive in interrupts, so their memory is allocated here, when
 * the process subscribes, and is charged to the memory cgroup of the process.
 */
static int devx_add_slots(struct mlx5_ib_devx_channel *channel)
{
	unsigned int i;

	if (channel->omit_data || READ_ONCE(channel->num_slots) >= MLX5_IB_DEVX_EVENTS)
		return 0;

	struct mlx5_ib_devx_slots *slots __free(kvfree) = kvzalloc_obj(*slots, GFP_KERNEL_ACCOUNT);

	if (!slots)
		return -ENOMEM;
	guard(spinlock_irq)(&channel->lock);
	/* Another thread may have added slots meanwhile. */
	if (channel->num_slots >= MLX5_IB_DEVX_EVENTS)
		return 0;
	for (i = 0; i < ARRAY_SIZE(slots->slots); i++)
		list_add_tail(&slots->slots[i].queued.node, &channel->unused);
	WRITE_ONCE(channel->num_slots, channel->num_slots + i);
	slots->next = channel->slots;
	channel->slots = no_free_ptr(slots);
	return 0;
}

/**
 * mlx5_ib_devx_close_channel - end a channel, which the process may still have open
 * @channel: the channel, after mlx5_ib_devx_open_channel()
 *
 * Wakes all readers, whose read() fails. May sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_devx_close_channel(struct mlx5_ib_devx_channel *channel)
{
	struct devx_queued *queued, *next;

	scoped_guard(spinlock_irq, &channel->lock) {
		channel->closed = true;
		channel->lost = false;
		list_for_each_entry_safe(queued, next, &channel->queue, node)
			devx_dequeue(channel, queued);
	}
	mlx5_ib_event_unsubscribe_all(channel->dev, &channel->owner);
	/* devx_deliver() checks @closed under the lock, so it has queued nothing since then. */
	WARN_ON_ONCE(!list_empty(&channel->queue) || !list_empty(&channel->owner.subs));
	devx_free_slots(channel);
	WARN_ON_ONCE(atomic_dec_return(&channel->context->event_channels) < 0);
	wake_up_interruptible(&channel->wait);
}

static struct devx_sub *devx_create_sub(struct mlx5_ib_devx_channel *channel,
					const struct mlx5_ib_devx_request *request, u8 type)
{
	struct devx_sub *sub __free(kfree) = kzalloc_obj(*sub, GFP_KERNEL_ACCOUNT);
	int err = 0;

	if (!sub)
		return ERR_PTR(-ENOMEM);
	sub->sub.owner = &channel->owner;
	sub->sub.type = type;
	sub->channel = channel;
	sub->cookie = request->cookie;
	sub->queued.sub = sub;
	INIT_LIST_HEAD(&sub->queued.node);
	if (request->has_eventfd) {
		sub->eventfd = eventfd_ctx_fdget(request->eventfd);
		if (IS_ERR(sub->eventfd))
			return ERR_CAST(sub->eventfd);
	}
	if (!sub->eventfd)
		err = devx_add_slots(channel);
	if (!err)
		err = mlx5_ib_event_subscribe(channel->dev, &request->source, &sub->sub);
	if (!err)
		return no_free_ptr(sub);
	if (sub->eventfd)
		eventfd_ctx_put(sub->eventfd);
	return ERR_PTR(err);
}

static int devx_check_request(struct mlx5_ib_devx_channel *channel,
			      const struct mlx5_ib_ucontext *context,
			      const struct mlx5_ib_devx_request *request)
{
	const struct mlx5_ib_event_source *source = request->source.type ? &request->source : NULL;
	unsigned int i;
	int err;

	/* Subscriptions belong to DEVX, for which a context needs a user id. */
	if (!context->uid)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "a DEVX event subscription needs a device opened with MLX5_IB_ALLOC_UCTX_DEVX");
	if (!request->num_types || request->num_types > MLX5_EVENT_TYPE_MAX)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "DEVX subscription to %u events, 1 to %u are possible",
			      request->num_types, MLX5_EVENT_TYPE_MAX);
	for (i = 0; i < request->num_types; i++) {
		err = mlx5_ib_event_check(channel->dev->mdev, request->types[i], source,
					  context->devx_rights);
		if (err)
			return err;
	}
	return 0;
}

/**
 * mlx5_ib_devx_subscribe - subscribe a channel to events
 * @channel: the channel; the caller keeps it from being closed meanwhile
 * @context: context of the process
 * @request: which events; the caller keeps the object from being destroyed meanwhile
 *
 * May sleep.
 *
 * Return: 0; -EINVAL or -EPERM of mlx5_ib_event_check(), for an event that the process may not
 * subscribe to; -EINVAL for too many events or none, and for a context without a user id; -EBADF or
 * -EINVAL if the file is not an eventfd; -ENOSPC for too many subscriptions to an event; or
 * -ENOMEM. After an error none of the subscriptions of @request is left.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_subscribe(struct mlx5_ib_devx_channel *channel,
			   const struct mlx5_ib_ucontext *context,
			   const struct mlx5_ib_devx_request *request)
{
	unsigned int i;
	int err;

	err = devx_check_request(channel, context, request);
	if (err)
		return err;

	struct devx_sub **subs __free(kfree) = kcalloc(request->num_types, sizeof(*subs),
						       GFP_KERNEL);

	if (!subs)
		return -ENOMEM;
	for (i = 0; i < request->num_types; i++) {
		subs[i] = devx_create_sub(channel, request, request->types[i]);
		if (!IS_ERR(subs[i]))
			continue;
		err = PTR_ERR(subs[i]);
		while (i--)
			mlx5_ib_event_unsubscribe(channel->dev, &subs[i]->sub);
		return err;
	}
	return 0;
}

/* ---- reading ---------------------------------------------------------------------- */

/**
 * mlx5_ib_devx_take_event - take an event from a channel
 * @channel: the channel
 * @count: bytes that the reader has room for
 * @event: gets the event
 *
 * Does not wait.
 *
 * Return: bytes of the event; -EAGAIN if there is no event; -EOVERFLOW, once, if events were lost;
 * -EIO if the channel is closed; or -EINVAL if the reader has too little room: then the event stays
 * in the channel.
 */
VISIBLE_IF_KUNIT
ssize_t mlx5_ib_devx_take_event(struct mlx5_ib_devx_channel *channel, size_t count,
				struct mlx5_ib_devx_event *event)
{
	size_t len = channel->omit_data ? offsetof(struct mlx5_ib_devx_event, eqe) :
					  sizeof(*event);
	struct devx_queued *queued;

	guard(spinlock_irq)(&channel->lock);
	if (channel->lost) {
		channel->lost = false;
		return -EOVERFLOW;
	}
	queued = list_first_entry_or_null(&channel->queue, struct devx_queued, node);
	if (!queued)
		return channel->closed ? -EIO : -EAGAIN;
	if (count < len)
		return refuse(channel->dev->mdev, -EINVAL,
			      "read of %zu bytes from a DEVX event channel, the next event has %zu",
			      count, len);
	event->cookie = queued->sub->cookie;
	if (!channel->omit_data)
		event->eqe = container_of(queued, struct devx_slot, queued)->eqe;
	devx_dequeue(channel, queued);
	return len;
}

static bool devx_has_event(struct mlx5_ib_devx_channel *channel)
{
	guard(spinlock_irq)(&channel->lock);
	return channel->lost || !list_empty(&channel->queue) || channel->closed;
}

static ssize_t devx_event_read(struct file *filp, char __user *buf, size_t count, loff_t *pos)
{
	struct mlx5_ib_devx_channel *channel = container_of(filp->private_data,
							    struct mlx5_ib_devx_channel, uobj);
	struct mlx5_ib_devx_event event;
	ssize_t len;

	len = mlx5_ib_devx_take_event(channel, count, &event);
	while (len == -EAGAIN && !(filp->f_flags & O_NONBLOCK)) {
		if (wait_event_interruptible(channel->wait, devx_has_event(channel)))
			return -ERESTARTSYS;
		len = mlx5_ib_devx_take_event(channel, count, &event);
	}
	if (len < 0 || !copy_to_user(buf, &event, len))
		return len;
	/* The event cannot be queued again, as its subscription may have been freed: it is lost. */
	scoped_guard(spinlock_irq, &channel->lock)
		channel->lost = !channel->closed;
	return -EFAULT;
}

static __poll_t devx_event_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct mlx5_ib_devx_channel *channel = container_of(filp->private_data,
							    struct mlx5_ib_devx_channel, uobj);

	poll_wait(filp, &channel->wait, wait);
	guard(spinlock_irq)(&channel->lock);
	if (channel->lost || !list_empty(&channel->queue))
		return EPOLLIN | EPOLLRDNORM;
	return channel->closed ? EPOLLERR : 0;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static const struct file_operations devx_event_fops = {
	.owner = THIS_MODULE,
	.read = devx_event_read,
	.poll = devx_event_poll,
	.release = uverbs_uobject_fd_release,
};

static void devx_event_destroy(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	mlx5_ib_devx_close_channel(container_of(uobj, struct mlx5_ib_devx_channel, uobj));
}

static int
UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
		MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
	u32 flags;
	int err;

	err = uverbs_get_flags32(&flags, attrs, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
				 MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	if (err)
		return err;
	return mlx5_ib_devx_open_channel(container_of(uobj, struct mlx5_ib_devx_channel, uobj),
					 to_mucontext(uobj->context),
					 flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
}

static bool devx_has_type(const struct mlx5_ib_devx_request *request, u16 type)
{
	unsigned int i;

	for (i = 0; i < request->num_types; i++)
		if (request->types[i] == type)
			return true;
	return false;
}

/**
 * mlx5_ib_devx_check_verbs - refuse a subscription to certain events of verbs objects
 * @uobj: handle of the object, whether of verbs or not
 * @request: the subscription
 *
 * Completions of a CQ of verbs go to the CQ's completion channel only, and an XRC target belongs to
 * its XRC domain, not to the process.
 *
 * Return: 0 or -EOPNOTSUPP.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_check_verbs(struct ib_uobject *uobj, const struct mlx5_ib_devx_request *request)
{
	switch (uobj_get_object_id(uobj)) {
	case UVERBS_OBJECT_CQ:
		return !devx_has_type(request, MLX5_EVENT_TYPE_COMP) ? 0 :
		       refuse(to_mdev(uobj->context->device)->mdev, -EOPNOTSUPP,
			      "DEVX subscription to completions of a verbs CQ: only its completion channel gets these");
	case UVERBS_OBJECT_QP:
		return ((struct ib_qp *)uobj->object)->qp_type != IB_QPT_XRC_TGT ? 0 :
		       refuse(to_mdev(uobj->context->device)->mdev, -EOPNOTSUPP,
			      "DEVX subscription to events of an XRC target QP, which belongs to its XRC domain");
	default:
		return 0;
	}
}

/**
 * mlx5_ib_devx_choose_object - set the object that a subscription is about
 * @uobj: the handle; the caller keeps the object from being destroyed meanwhile
 * @request: the subscription, which gets the object
 *
 * If the object may be gone, another user's object may have its number, and the subscription would
 * get the events of that object: so mlx5_ib_devx_identify() refuses.
 *
 * Return: 0; -EINVAL for an object without events; or as mlx5_ib_devx_identify() and
 * mlx5_ib_devx_check_verbs().
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_choose_object(struct ib_uobject *uobj, struct mlx5_ib_devx_request *request)
{
	struct mlx5_ib_devx_id id;
	int err;

	err = mlx5_ib_devx_identify(uobj, &id);
	if (err)
		return err;
	if (!mlx5_ib_event_source_of(&id, &request->source))
		return refuse(to_mdev(uobj->context->device)->mdev, -EINVAL,
			      "DEVX subscription to events of a %s, which has none",
			      mlx5_ib_devx_kinds[id.kind].name);
	return mlx5_ib_devx_check_verbs(uobj, request);
}

static int devx_read_object(struct uverbs_attr_bundle *attrs, struct mlx5_ib_devx_request *request)
{
	const u16 handle = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE;

	return !uverbs_attr_is_valid(attrs, handle) ? 0 :
	       mlx5_ib_devx_choose_object(uverbs_attr_get_uobject(attrs, handle), request);
}

/* Read where the events go: to an eventfd, which has no room for a cookie, or to the channel. */
static int devx_read_target(struct mlx5_core_dev *mdev, struct uverbs_attr_bundle *attrs,
			    struct mlx5_ib_devx_request *request)
{
	bool has_cookie = uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE);

	request->has_eventfd = uverbs_attr_is_valid(attrs,
						    MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	if (request->has_eventfd && has_cookie)
		return refuse(mdev, -EINVAL,
			      "DEVX subscription with a cookie and an eventfd, which cannot return cookies");
	if (request->has_eventfd)
		return uverbs_copy_from(&request->eventfd, attrs,
					MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);
	return has_cookie ? uverbs_copy_from(&request->cookie, attrs,
					     MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE) : 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT)(struct uverbs_attr_bundle *attrs)
{
	const u16 list = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST;
	struct mlx5_ib_devx_request request = {};
	struct ib_uobject *uobj;
	int err, num;

	uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	num = uverbs_attr_ptr_get_array_size(attrs, list, sizeof(*request.types));
	if (num < 0)
		return num;
	request.num_types = num;
	request.types = uverbs_attr_get_alloced_ptr(attrs, list);
	err = devx_read_object(attrs, &request);
	if (!err)
		err = devx_read_target(to_mdev(uobj->context->device)->mdev, attrs, &request);
	if (err)
		return err;
	return mlx5_ib_devx_subscribe(container_of(uobj, struct mlx5_ib_devx_channel, uobj),
				      to_mucontext(uobj->context), &request);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
					   UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE,
					    UVERBS_IDR_ANY_OBJECT, UVERBS_ACCESS_READ,
					    UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST,
					       UVERBS_ATTR_MIN_SIZE(sizeof(u16)), UA_MANDATORY,
					       UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE,
					       UVERBS_ATTR_TYPE(u64), UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM,
					       UVERBS_ATTR_TYPE(u32), UA_OPTIONAL));

ADD_UVERBS_METHODS(mlx5_ib_devx_subscribe_methods, MLX5_IB_OBJECT_DEVX,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT));

#define EVENT_FLAGS(attr) \
	UVERBS_ATTR_FLAGS_IN(attr, enum mlx5_ib_uapi_devx_create_event_channel_flags, UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
					   UVERBS_ACCESS_NEW, UA_MANDATORY),
			    EVENT_FLAGS(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct mlx5_ib_devx_channel),
						 devx_event_destroy, &devx_event_fops,
						 "[mlx5_devx_event]", O_RDONLY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC));

const struct uapi_definition mlx5_ib_devx_event_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(MLX5_IB_OBJECT_DEVX, &mlx5_ib_devx_subscribe_methods),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD),
	{},
};
