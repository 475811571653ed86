// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of the device to which processes can subscribe (DEVX).
 *
 * An event is about an object, or about the device as a whole. mlx5_core receives the events of all
 * users in the same event queues, so the driver has to know, for each type of event, where the
 * event names its object. These are the rules for subscriptions:
 *
 *   * The owner of an object may subscribe to the object's events.
 *   * A subscriber to events of the device never gets events of objects.
 *   * Every context that has a user id may subscribe to the events of the device that firmware
 *     reports to users (user_unaffiliated_events), and to events of the port, which verbs report to
 *     every process. The other events of the device that event_forms[] lists need
 *     MLX5_UCTX_CAP_INTERNAL_DEV_RES.
 *   * No process gets an event that is for the kernel alone (EVENT_OF_KERNEL).
 */

#include <linux/kernel.h>
#include <linux/mlx5/driver.h>

#include "layout/layout_devx.h"
#include "layout/layout_event.h"
#include "layout/refuse.h"

#define NUM_MASK	0xffffff

/* The types of general objects are below this. */
#define FIRST_QUEUE_TYPE	MLX5_OBJ_TYPE_MKEY

/* What an event is about. From EVENT_OF_QUEUE on, the event is about an object. */
enum event_form {
	EVENT_UNKNOWN,		/* see event_form() */
	EVENT_OF_KERNEL,
	EVENT_OF_DEVICE,
	EVENT_OF_QUEUE,
	EVENT_OF_CQ,
	EVENT_OF_SRQ,
	EVENT_OF_XRQ,
	EVENT_OF_DCT,
	EVENT_OF_OBJECT,
	EVENT_COMPLETION,
};

static const u8 event_forms[MLX5_EVENT_TYPE_MAX] = {
	[MLX5_EVENT_TYPE_COMP] = EVENT_COMPLETION,

	[MLX5_EVENT_TYPE_PATH_MIG] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_COMM_EST] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_SQ_DRAINED] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_SRQ_LAST_WQE] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_WQ_CATAS_ERROR] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_PATH_MIG_FAILED] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_WQ_ACCESS_ERROR] = EVENT_OF_QUEUE,
	[MLX5_EVENT_TYPE_CQ_ERROR] = EVENT_OF_CQ,
	[MLX5_EVENT_TYPE_SRQ_RQ_LIMIT] = EVENT_OF_SRQ,
	[MLX5_EVENT_TYPE_SRQ_CATAS_ERROR] = EVENT_OF_SRQ,
	[MLX5_EVENT_TYPE_XRQ_ERROR] = EVENT_OF_XRQ,
	[MLX5_EVENT_TYPE_DCT_DRAINED] = EVENT_OF_DCT,
	[MLX5_EVENT_TYPE_DCT_KEY_VIOLATION] = EVENT_OF_DCT,
	[MLX5_EVENT_TYPE_OBJECT_CHANGE] = EVENT_OF_OBJECT,

	[MLX5_EVENT_TYPE_PORT_CHANGE] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_INTERNAL_ERROR] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_NIC_VPORT_CHANGE] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_GPIO_EVENT] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_PORT_MODULE_EVENT] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_TEMP_WARN_EVENT] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_REMOTE_CONFIG] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_DB_BF_CONGESTION] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_STALL_EVENT] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_GENERAL_EVENT] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_MONITOR_COUNTER] = EVENT_OF_DEVICE,
	[MLX5_EVENT_TYPE_PPS_EVENT] = EVENT_OF_DEVICE,

	/* About commands, firmware's pages and log, page faults, other PCI functions, the FPGA. */
	[MLX5_EVENT_TYPE_CMD] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_PAGE_REQUEST] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_PAGE_FAULT] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_ESW_FUNCTIONS_CHANGED] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_VHCA_STATE_CHANGE] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_FPGA_ERROR] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_FPGA_QP_ERROR] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_DEVICE_TRACER] = EVENT_OF_KERNEL,
};

/*
 * For events about an object: type of the object, or 0 if the type is in the event itself; and the
 * offset of the object's number in the event (for EVENT_OF_OBJECT see event_set_object()).
 */
static const struct {
	u16 type;
	u8 num;
} event_objects[] = {
	[EVENT_OF_QUEUE] = { 0, offsetof(struct mlx5_eqe, data.qp_srq.qp_srq_n) },
	[EVENT_OF_CQ] = { MLX5_OBJ_TYPE_CQ, offsetof(struct mlx5_eqe, data.cq_err.cqn) },
	[EVENT_OF_SRQ] = { MLX5_OBJ_TYPE_RMP, offsetof(struct mlx5_eqe, data.qp_srq.qp_srq_n) },
	[EVENT_OF_XRQ] = { MLX5_OBJ_TYPE_XRQ, offsetof(struct mlx5_eqe, data.xrq_err.type_xrqn) },
	[EVENT_OF_DCT] = { MLX5_OBJ_TYPE_DCT, offsetof(struct mlx5_eqe, data.dct.dctn) },
	[EVENT_COMPLETION] = { MLX5_OBJ_TYPE_CQ, offsetof(struct mlx5_eqe, data.comp.cqn) },
};

/* Types of the objects that events of form EVENT_OF_QUEUE are about. */
static const u16 event_queue_types[] = {
	[MLX5_EVENT_QUEUE_TYPE_QP] = MLX5_OBJ_TYPE_QP,
	[MLX5_EVENT_QUEUE_TYPE_RQ] = MLX5_OBJ_TYPE_RQ,
	[MLX5_EVENT_QUEUE_TYPE_SQ] = MLX5_OBJ_TYPE_SQ,
	[MLX5_EVENT_QUEUE_TYPE_DCT] = MLX5_OBJ_TYPE_DCT,
};

/**
 * mlx5_ib_event_source_of - find the type and number by which events name an object
 * @id: the object
 * @source: gets type and number
 *
 * Return: true; false if the device reports no events of such objects.
 */
bool mlx5_ib_event_source_of(const struct mlx5_ib_devx_id *id, struct mlx5_ib_event_source *source)
{
	*source = (struct mlx5_ib_event_source){
		.type = mlx5_ib_devx_kinds[id->kind].event_type, .num = id->num,
	};
	if (id->kind != MLX5_IB_DEVX_GENERAL_OBJECT)
		return source->type;
	/* The type must not be that of another kind, nor 0, which stands for the device. */
	source->type = id->type;
	return id->type && id->type < FIRST_QUEUE_TYPE;
}

static bool event_is_listed(const __be64 *bitmap, u16 type)
{
	return be64_to_cpu(bitmap[type / 64]) >> (type % 64) & 1;
}

static bool event_is_affiliated(struct mlx5_core_dev *mdev, u16 type)
{
	return MLX5_CAP_GEN(mdev, event_cap) &&
	       event_is_listed(MLX5_CAP_DEV_EVENT(mdev, user_affiliated_events), type);
}

static bool event_is_unaffiliated(struct mlx5_core_dev *mdev, u16 type)
{
	return MLX5_CAP_GEN(mdev, event_cap) &&
	       event_is_listed(MLX5_CAP_DEV_EVENT(mdev, user_unaffiliated_events), type);
}

/* What an event is about, by the table or, for a type that the table lacks, by capabilities. */
static enum event_form event_form(struct mlx5_core_dev *mdev, u16 type)
{
	if (event_forms[type] != EVENT_UNKNOWN)
		return event_forms[type];
	if (event_is_affiliated(mdev, type))
		return EVENT_OF_OBJECT;
	return event_is_unaffiliated(mdev, type) ? EVENT_OF_DEVICE : EVENT_UNKNOWN;
}

static bool event_is_of_queue(u32 type)
{
	return type == MLX5_OBJ_TYPE_QP || type == MLX5_OBJ_TYPE_RQ || type == MLX5_OBJ_TYPE_SQ ||
	       type == MLX5_OBJ_TYPE_DCT;
}

static int event_check_object(struct mlx5_core_dev *mdev, u16 type, u32 obj_type)
{
	enum event_form form = event_form(mdev, type);
	bool possible;

	switch (form) {
	case EVENT_OF_QUEUE:
		possible = event_is_of_queue(obj_type);
		break;
	case EVENT_OF_OBJECT:
		possible = event_is_affiliated(mdev, type);
		break;
	default:
		possible = obj_type == event_objects[form].type;
	}
	return possible ? 0 :
	       refuse(mdev, -EINVAL,
		      "DEVX subscription: objects of type %u have no event of type %u", obj_type,
		      type);
}

/**
 * mlx5_ib_event_check - whether a process may subscribe to a type of event
 * @mdev: device
 * @type: MLX5_EVENT_TYPE_*, from the process
 * @source: object whose events the process subscribes to; NULL for events of the device
 * @rights: MLX5_UCTX_CAP_* that the process had when it opened the device
 *
 * Return: 0; -EINVAL for an unknown event, an event for the kernel, an event that objects of the
 * type of @source do not have, or, without @source, an event that is not about the device; or
 * -EPERM for an event of the device that needs MLX5_UCTX_CAP_INTERNAL_DEV_RES.
 */
int mlx5_ib_event_check(struct mlx5_core_dev *mdev, u16 type,
			const struct mlx5_ib_event_source *source, u32 rights)
{
	if (type >= ARRAY_SIZE(event_forms))
		return refuse(mdev, -EINVAL, "DEVX subscription to event type %u, at most %u", type,
			      MLX5_EVENT_TYPE_MAX - 1);
	if (source)
		return event_check_object(mdev, type, source->type);
	if (event_form(mdev, type) != EVENT_OF_DEVICE)
		return refuse(mdev, -EINVAL,
			      "DEVX subscription to event type %u without an object: not one of the device's events for processes",
			      type);
	if (type == MLX5_EVENT_TYPE_PORT_CHANGE || event_is_unaffiliated(mdev, type))
		return 0;
	return rights & MLX5_UCTX_CAP_INTERNAL_DEV_RES ? 0 :
	       refuse(mdev, -EPERM,
		      "DEVX subscription to event type %u needs CAP_SYS_RAWIO when the device is opened",
		      type);
}

static u32 event_queue_type(u8 type)
{
	return type < ARRAY_SIZE(event_queue_types) ? event_queue_types[type] : 0;
}

static bool event_set(struct mlx5_ib_event_source *source, u32 type, u32 num)
{
	*source = (struct mlx5_ib_event_source){ .type = type, .num = num };
	return type;
}

/*
 * Read the object of an event of form EVENT_OF_OBJECT. Such an event starts with struct
 * mlx5_ifc_affiliated_event_header_bits.
 */
static bool event_set_object(struct mlx5_ib_event_source *source, const struct mlx5_eqe *eqe)
{
	u32 type = be16_to_cpu(eqe->data.obj_change.obj_type);

	if (type == MLX5_OBJ_TYPE_XRC_SRQ)
		type = MLX5_OBJ_TYPE_RMP;
	return event_set(source, type, be32_to_cpu(eqe->data.obj_change.obj_id));
}

/**
 * mlx5_ib_event_read - read what an event is about
 * @mdev: device
 * @eqe: the event, from an event queue for asynchronous events or for completions
 * @source: gets what the event is about; undefined if the function returns false
 *
 * Any context.
 *
 * Return: true; false if the event is not for users, or if the driver does not know which object
 * has raised it.
 */
bool mlx5_ib_event_read(struct mlx5_core_dev *mdev, const struct mlx5_eqe *eqe,
			struct mlx5_ib_event_source *source)
{
	enum event_form form = event_form(mdev, eqe->type);
	const __be32 *field = (const void *)eqe + event_objects[form].num;
	u32 num = be32_to_cpu(*field) & NUM_MASK;

	switch (form) {
	case EVENT_OF_DEVICE:
		*source = (struct mlx5_ib_event_source){};
		return true;
	case EVENT_OF_QUEUE:
		return event_set(source, event_queue_type(eqe->data.qp_srq.type), num);
	case EVENT_OF_OBJECT:
		return event_set_object(source, eqe);
	default:
		return event_set(source, event_objects[form].type, num);
	}
}
