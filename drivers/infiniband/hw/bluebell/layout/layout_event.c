// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of the device as processes subscribe to them (DEVX).
 *
 * An event is about an object, or about the device as a whole. mlx5_core receives those of all
 * users in one event queue, so the driver has to know of each type of event where it names the
 * object. These are the rules:
 *
 *   * The owner of an object may subscribe to its events.
 *   * An event of an object is never delivered to a subscriber of the device's events.
 *   * An event of the device that its firmware means for users (user_unaffiliated_events) may be
 *     subscribed to by every context that has a user id; so may the port's, which verbs report to
 *     everyone. The others that are known need the right to internal device resources.
 *   * What mlx5_core or the driver handles on behalf of the kernel is delivered to nobody.
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>

#include "layout/layout_devx.h"
#include "layout/layout_event.h"
#include "layout/refuse.h"

#define NUM_MASK	0xffffff

/* General objects have types below. */
#define FIRST_QUEUE_TYPE	MLX5_OBJ_TYPE_MKEY

/* How an event says what it is about. Those from EVENT_OF_QUEUE on are about an object. */
enum event_form {
	EVENT_UNKNOWN,		/* as the device's capabilities say */
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

	/* Commands of all users, the kernel's memory, other functions, the firmware's log. */
	[MLX5_EVENT_TYPE_CMD] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_PAGE_REQUEST] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_PAGE_FAULT] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_ESW_FUNCTIONS_CHANGED] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_VHCA_STATE_CHANGE] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_FPGA_ERROR] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_FPGA_QP_ERROR] = EVENT_OF_KERNEL,
	[MLX5_EVENT_TYPE_DEVICE_TRACER] = EVENT_OF_KERNEL,
};

/* What events call the objects that DEVX users create; others have no events. */
static const u16 event_types[MLX5_IB_DEVX_NUM_KINDS] = {
	[MLX5_IB_DEVX_MKEY] = MLX5_OBJ_TYPE_MKEY,
	[MLX5_IB_DEVX_CQ] = MLX5_OBJ_TYPE_CQ,
	[MLX5_IB_DEVX_QP] = MLX5_OBJ_TYPE_QP,
	[MLX5_IB_DEVX_XRC_SRQ] = MLX5_OBJ_TYPE_RMP,
	[MLX5_IB_DEVX_RMP] = MLX5_OBJ_TYPE_RMP,
	[MLX5_IB_DEVX_DCT] = MLX5_OBJ_TYPE_DCT,
	[MLX5_IB_DEVX_XRQ] = MLX5_OBJ_TYPE_XRQ,
	[MLX5_IB_DEVX_TIR] = MLX5_OBJ_TYPE_TIR,
	[MLX5_IB_DEVX_TIS] = MLX5_OBJ_TYPE_TIS,
	[MLX5_IB_DEVX_SQ] = MLX5_OBJ_TYPE_SQ,
	[MLX5_IB_DEVX_RQ] = MLX5_OBJ_TYPE_RQ,
	[MLX5_IB_DEVX_RQT] = MLX5_OBJ_TYPE_RQT,
	[MLX5_IB_DEVX_FLOW_COUNTER] = MLX5_OBJ_TYPE_FLOW_COUNTER,
};

/**
 * mlx5_ib_event_source_of - what events call an object
 * @id: the object
 * @source: gets what events call it
 *
 * Return: false if there are no events of such objects.
 */
bool mlx5_ib_event_source_of(const struct mlx5_ib_devx_id *id,
			     struct mlx5_ib_event_source *source)
{
	*source = (struct mlx5_ib_event_source){ .type = event_types[id->kind], .num = id->num };
	if (id->kind != MLX5_IB_DEVX_GENERAL_OBJECT)
		return source->type;
	/* A general object must not pass for a queue, nor for the device. */
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

/* A type that the table does not have is what the device's capabilities call it. */
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
	bool possible;

	switch (event_form(mdev, type)) {
	case EVENT_COMPLETION:
	case EVENT_OF_CQ:
		possible = obj_type == MLX5_OBJ_TYPE_CQ;
		break;
	case EVENT_OF_QUEUE:
		possible = event_is_of_queue(obj_type);
		break;
	case EVENT_OF_SRQ:
		possible = obj_type == MLX5_OBJ_TYPE_RMP;
		break;
	case EVENT_OF_DCT:
		possible = obj_type == MLX5_OBJ_TYPE_DCT;
		break;
	case EVENT_OF_XRQ:
		possible = obj_type == MLX5_OBJ_TYPE_XRQ;
		break;
	case EVENT_OF_OBJECT:
		possible = event_is_affiliated(mdev, type);
		break;
	default:
		possible = false;
	}
	return possible ? 0 :
	       refuse(-EINVAL, "objects of type %u have no event %u", obj_type, type);
}

/**
 * mlx5_ib_event_check - whether a process may subscribe to a type of event
 * @mdev: device
 * @type: MLX5_EVENT_TYPE_*, as the process says
 * @source: its object whose events are meant; NULL for events of the device
 * @rights: MLX5_UCTX_CAP_* that the process has
 *
 * Return: 0; -EINVAL for a type that there is not, that is the kernel's, or that is about other
 * objects or none; or -EPERM for one of the device that needs more rights.
 */
int mlx5_ib_event_check(struct mlx5_core_dev *mdev, u16 type,
			const struct mlx5_ib_event_source *source, u32 rights)
{
	if (type >= ARRAY_SIZE(event_forms))
		return refuse(-EINVAL, "there is no event %u", type);
	if (source)
		return event_check_object(mdev, type, source->type);
	if (event_form(mdev, type) != EVENT_OF_DEVICE)
		return refuse(-EINVAL, "event %u is not one of the device", type);
	if (type == MLX5_EVENT_TYPE_PORT_CHANGE || event_is_unaffiliated(mdev, type))
		return 0;
	return rights & MLX5_UCTX_CAP_INTERNAL_DEV_RES ? 0 :
	       refuse(-EPERM, "event %u of the device needs CAP_SYS_RAWIO", type);
}

static u32 event_queue_type(u8 type)
{
	switch (type) {
	case MLX5_EVENT_QUEUE_TYPE_QP:
		return MLX5_OBJ_TYPE_QP;
	case MLX5_EVENT_QUEUE_TYPE_RQ:
		return MLX5_OBJ_TYPE_RQ;
	case MLX5_EVENT_QUEUE_TYPE_SQ:
		return MLX5_OBJ_TYPE_SQ;
	case MLX5_EVENT_QUEUE_TYPE_DCT:
		return MLX5_OBJ_TYPE_DCT;
	default:
		return 0;
	}
}

static bool event_set(struct mlx5_ib_event_source *source, u32 type, u32 num)
{
	*source = (struct mlx5_ib_event_source){ .type = type, .num = num };
	return type;
}

/* Other events begin with a header, see struct mlx5_ifc_affiliated_event_header_bits. */
static bool event_set_object(struct mlx5_ib_event_source *source, const struct mlx5_eqe *eqe)
{
	u32 type = be16_to_cpu(eqe->data.obj_change.obj_type);

	if (type == MLX5_OBJ_TYPE_XRC_SRQ)
		type = MLX5_OBJ_TYPE_RMP;
	return event_set(source, type, be32_to_cpu(eqe->data.obj_change.obj_id));
}

/**
 * mlx5_ib_event_read - what an event is about
 * @mdev: device
 * @eqe: the event, of a queue for asynchronous events or for completions
 * @source: gets what the event is about
 *
 * Any context.
 *
 * Return: false if it is not for users, or of a form that the driver does not know.
 */
bool mlx5_ib_event_read(struct mlx5_core_dev *mdev, const struct mlx5_eqe *eqe,
			struct mlx5_ib_event_source *source)
{
	switch (event_form(mdev, eqe->type)) {
	case EVENT_OF_DEVICE:
		*source = (struct mlx5_ib_event_source){};
		return true;
	case EVENT_COMPLETION:
		return event_set(source, MLX5_OBJ_TYPE_CQ,
				 be32_to_cpu(eqe->data.comp.cqn) & NUM_MASK);
	case EVENT_OF_QUEUE:
		return event_set(source, event_queue_type(eqe->data.qp_srq.type),
				 be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & NUM_MASK);
	case EVENT_OF_CQ:
		return event_set(source, MLX5_OBJ_TYPE_CQ,
				 be32_to_cpu(eqe->data.cq_err.cqn) & NUM_MASK);
	case EVENT_OF_SRQ:
		return event_set(source, MLX5_OBJ_TYPE_RMP,
				 be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & NUM_MASK);
	case EVENT_OF_XRQ:
		return event_set(source, MLX5_OBJ_TYPE_XRQ,
				 be32_to_cpu(eqe->data.xrq_err.type_xrqn) & NUM_MASK);
	case EVENT_OF_DCT:
		return event_set(source, MLX5_OBJ_TYPE_DCT,
				 be32_to_cpu(eqe->data.dct.dctn) & NUM_MASK);
	case EVENT_OF_OBJECT:
		return event_set_object(source, eqe);
	default:
		return false;
	}
}
