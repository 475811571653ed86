// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events: what mlx5_core hears from the firmware about the device, its port, QPs
 * and SRQs is passed on to verbs consumers. CQs look after their own.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>

#include "bluebell.h"
#include "event.h"
#include "umr_qp.h"

/* Numbers of queues have 24 bits. */
#define NUM_MASK	0xffffff

static const struct {
	u8 subtype;
	enum ib_event_type event;
} port_events[] = {
	{ MLX5_PORT_CHANGE_SUBTYPE_ACTIVE, IB_EVENT_PORT_ACTIVE },
	{ MLX5_PORT_CHANGE_SUBTYPE_DOWN, IB_EVENT_PORT_ERR },
	{ MLX5_PORT_CHANGE_SUBTYPE_INITIALIZED, IB_EVENT_PORT_ERR },
	{ MLX5_PORT_CHANGE_SUBTYPE_LID, IB_EVENT_LID_CHANGE },
	{ MLX5_PORT_CHANGE_SUBTYPE_PKEY, IB_EVENT_PKEY_CHANGE },
	{ MLX5_PORT_CHANGE_SUBTYPE_GUID, IB_EVENT_GID_CHANGE },
	{ MLX5_PORT_CHANGE_SUBTYPE_CLIENT_REREG, IB_EVENT_CLIENT_REREGISTER },
};

/* The event and its port, or false for one that verbs have no word for. */
static bool translate_port_event(const struct mlx5_eqe *eqe, struct ib_event *event)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(port_events); i++) {
		if (port_events[i].subtype != eqe->sub_type)
			continue;
		event->event = port_events[i].event;
		event->element.port_num = (eqe->data.port.port >> 4) & 0xf;
		return true;
	}
	return false;
}

/**
 * mlx5_ib_event - an event from mlx5_core
 * @nb: the device's mdev_events
 * @type: MLX5_EVENT_TYPE_* or MLX5_DEV_EVENT_*
 * @data: struct mlx5_eqe, of a firmware event
 *
 * Called in the interrupt of the asynchronous event queue; a fatal error may be
 * reported from process context.
 *
 * Return: NOTIFY_OK if the event was one for verbs consumers, NOTIFY_DONE if not.
 */
int mlx5_ib_event(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_dev *dev = container_of(nb, struct mlx5_ib_dev, mdev_events);
	struct ib_event event = { .device = &dev->ib_dev };

	switch (type) {
	case MLX5_DEV_EVENT_SYS_ERROR:
		mlx5_ib_abort_umr(dev);
		event.event = IB_EVENT_DEVICE_FATAL;
		event.element.port_num = 1;
		break;
	case MLX5_EVENT_TYPE_PORT_CHANGE:
		if (!translate_port_event(data, &event))
			return NOTIFY_DONE;
		if (!rdma_is_port_valid(&dev->ib_dev, event.element.port_num))
			return NOTIFY_DONE;
		break;
	default:
		return NOTIFY_DONE;
	}
	ib_dispatch_event(&event);
	return NOTIFY_OK;
}

/**
 * mlx5_ib_put_source - let go of a queue
 * @source: of mlx5_ib_get_source()
 *
 * Any context.
 */
void mlx5_ib_put_source(struct mlx5_ib_event_source *source)
{
	if (refcount_dec_and_test(&source->refs))
		complete(&source->free);
}

static void deliver_events(struct work_struct *work)
{
	struct mlx5_ib_event_source *source = container_of(work, struct mlx5_ib_event_source, work);
	const struct mlx5_ib_event_table *table = source->table;
	unsigned long pending = xchg(&source->pending, 0);
	unsigned int i;

	for_each_set_bit(i, &pending, table->num_events)
		table->deliver(source, table->map[i].event);
	mlx5_ib_put_source(source);
}

/**
 * mlx5_ib_get_source - find a queue by its number
 * @table: queues of its kind
 * @num: number
 *
 * Taking it out of the table waits until mlx5_ib_put_source(). Any context.
 *
 * Return: the queue, or NULL if there is none or it is being destroyed.
 */
struct mlx5_ib_event_source *mlx5_ib_get_source(struct mlx5_ib_event_table *table, u32 num)
{
	struct mlx5_ib_event_source *source;
	unsigned long flags;

	xa_lock_irqsave(&table->sources, flags);
	source = xa_load(&table->sources, num);
	if (source)
		refcount_inc(&source->refs);
	xa_unlock_irqrestore(&table->sources, flags);
	return source;
}

/* From the interrupt of the async EQ. */
static int notify_source(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_event_table *table = container_of(nb, struct mlx5_ib_event_table, nb);
	struct mlx5_ib_event_source *source;
	struct mlx5_eqe *eqe = data;
	unsigned int i;

	for (i = 0; i < table->num_events; i++)
		if (table->map[i].type == type)
			break;
	if (i == table->num_events || eqe->data.qp_srq.type != MLX5_EVENT_QUEUE_TYPE_QP)
		return NOTIFY_DONE;

	source = mlx5_ib_get_source(table, be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & NUM_MASK);
	if (!source)
		return NOTIFY_DONE;
	set_bit(i, &source->pending);
	/* A delivery that is still waiting will find the bit. */
	if (!queue_work(table->wq, &source->work))
		mlx5_ib_put_source(source);
	return NOTIFY_OK;
}

/**
 * mlx5_ib_add_source - let a queue be found when the device raises an event
 * @table: queues of its kind
 * @source: the queue
 * @num: its number
 *
 * May sleep.
 *
 * Return: 0, -ENOMEM, or -EBUSY if the number is taken.
 */
int mlx5_ib_add_source(struct mlx5_ib_event_table *table, struct mlx5_ib_event_source *source,
		       u32 num)
{
	source->table = table;
	source->num = num;
	refcount_set(&source->refs, 1);
	init_completion(&source->free);
	INIT_WORK(&source->work, deliver_events);
	return xa_insert_irq(&table->sources, num, source, GFP_KERNEL);
}

/**
 * mlx5_ib_remove_source - take a queue out of its table
 * @source: a queue that was put in, or could not be
 *
 * Waits for events that are being delivered. May sleep.
 */
void mlx5_ib_remove_source(struct mlx5_ib_event_source *source)
{
	if (xa_cmpxchg_irq(&source->table->sources, source->num, source, NULL, GFP_KERNEL) !=
	    source)
		return;
	mlx5_ib_put_source(source);
	wait_for_completion(&source->free);
}

/**
 * mlx5_ib_init_event_table - start to listen for events of a kind of queue
 * @table: its map, number of events and delivery are set
 * @mdev: the device that raises them
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_event_table(struct mlx5_ib_event_table *table, struct mlx5_core_dev *mdev)
{
	table->wq = alloc_workqueue("bluebell_event", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!table->wq)
		return -ENOMEM;
	xa_init_flags(&table->sources, XA_FLAGS_LOCK_IRQ);
	table->nb.notifier_call = notify_source;
	mlx5_notifier_register(mdev, &table->nb);
	return 0;
}

/**
 * mlx5_ib_cleanup_event_table - stop listening
 * @table: has no queue left; nothing happens if it was never initialized
 * @mdev: the device
 */
void mlx5_ib_cleanup_event_table(struct mlx5_ib_event_table *table, struct mlx5_core_dev *mdev)
{
	if (!table->wq)
		return;
	mlx5_notifier_unregister(mdev, &table->nb);
	destroy_workqueue(table->wq);
	WARN_ON(!xa_empty(&table->sources));
	xa_destroy(&table->sources);
}
