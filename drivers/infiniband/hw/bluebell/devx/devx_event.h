/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Channels from which a process reads the events that it has subscribed to (DEVX).
 */

#ifndef BLUEBELL_DEVX_EVENT_H
#define BLUEBELL_DEVX_EVENT_H

#include <linux/list.h>
#include <linux/mlx5/device.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "lib/subscription.h"

struct mlx5_ib_devx_slots;
struct mlx5_ib_ucontext;

/*
 * Each subscription without an eventfd adds MLX5_IB_DEVX_EVENTS_PER_SUB slots for events to its
 * channel, until the channel has MLX5_IB_DEVX_EVENTS slots; a channel that omits the data of events
 * has none. All subscriptions of the channel share the slots. If all slots have unread events, a
 * further event is lost.
 */
#define MLX5_IB_DEVX_EVENTS_PER_SUB	128
#define MLX5_IB_DEVX_EVENTS		1024
/*
 * Limit of the channels of a context. The slots of a channel take up to 128 KiB (eight allocations
 * of 16 KiB), and those of a context up to 32 MiB, even if no memory cgroup limits the process.
 * Programs need few channels: one for each kind of event.
 */
#define MLX5_IB_DEVX_CHANNELS		256

/**
 * struct mlx5_ib_devx_channel - events that wait to be read
 * @uobj: the file
 * @dev: device
 * @context: context of the process, which counts its channels
 * @omit_data: the reader wants only the cookies of its subscriptions. Constant
 * @owner: subscriptions of the channel
 * @wait: readers that wait for an event
 * @lock: guards all members below; taken in interrupts
 * @queue: struct devx_queued of the unread events, the oldest first
 * @unused: slots that are not in @queue
 * @slots: memory for events; NULL with @omit_data. Read without the lock once @closed is set
 * @num_slots: number of events that @slots has room for. devx_add_slots() also reads it unlocked
 * @lost: an event was lost: the next read returns -EOVERFLOW
 * @closed: the device or the context is gone, or the file has been closed
 */
struct mlx5_ib_devx_channel {
	struct ib_uobject uobj;
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_ucontext *context;
	bool omit_data;
	struct mlx5_ib_event_owner owner;
	wait_queue_head_t wait;
	spinlock_t lock;	/* guards queue, unused, slots, num_slots, lost, closed */
	struct list_head queue;
	struct list_head unused;
	struct mlx5_ib_devx_slots *slots;
	unsigned int num_slots;
	bool lost;
	bool closed;
};

/**
 * struct mlx5_ib_devx_request - the events that a process subscribes to
 * @source: the object, or {} for events of the device
 * @types: MLX5_EVENT_TYPE_*
 * @num_types: length of @types
 * @cookie: value of the process, returned with each event
 * @has_eventfd: each event signals @eventfd, and is not queued in the channel
 * @eventfd: file descriptor of an eventfd
 */
struct mlx5_ib_devx_request {
	struct mlx5_ib_event_source source;
	const u16 *types;
	unsigned int num_types;
	u64 cookie;
	bool has_eventfd;
	int eventfd;
};

/**
 * struct mlx5_ib_devx_event - an event in the format that read(2) returns
 * @cookie: value that the process passed when it subscribed
 * @eqe: the entry of the event queue
 *
 * Laid out as struct mlx5_ib_uapi_devx_async_event_hdr with its data.
 */
struct mlx5_ib_devx_event {
	__u64 cookie;
	struct mlx5_eqe eqe;
};

extern const struct uapi_definition mlx5_ib_devx_event_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
int mlx5_ib_devx_open_channel(struct mlx5_ib_devx_channel *channel,
			      struct mlx5_ib_ucontext *context, bool omit_data);
void mlx5_ib_devx_close_channel(struct mlx5_ib_devx_channel *channel);
int mlx5_ib_devx_subscribe(struct mlx5_ib_devx_channel *channel,
			   const struct mlx5_ib_ucontext *context,
			   const struct mlx5_ib_devx_request *request);
ssize_t mlx5_ib_devx_take_event(struct mlx5_ib_devx_channel *channel, size_t count,
				struct mlx5_ib_devx_event *event);
int mlx5_ib_devx_check_verbs(struct ib_uobject *uobj, const struct mlx5_ib_devx_request *request);
int mlx5_ib_devx_choose_object(struct ib_uobject *uobj, struct mlx5_ib_devx_request *request);
#endif

#endif /* BLUEBELL_DEVX_EVENT_H */
