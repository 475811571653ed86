// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events: what mlx5_core hears from the firmware about the device and its port is
 * passed on to verbs consumers. rsc.c passes on events of QPs and SRQs, cq.c those of
 * CQs.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>

#include "bluebell.h"
#include "event.h"
#include "umr_qp.h"

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
