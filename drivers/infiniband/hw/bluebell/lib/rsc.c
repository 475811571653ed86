// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects that the device names by type and number: the table finds the object that an event or a
 * page fault names, and delays the object's destruction while either is handled. CQs are in a table
 * of mlx5_core.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/mlx5/device.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/subscription.h"

/* Numbers have 24 bits; the type is above them. */
#define RSC_NUM_BITS	24
#define RSC_NUM_MASK	(BIT(RSC_NUM_BITS) - 1)

/* Types of events that the device reports about an object, and the verbs event for each. */
static const struct {
	u8 eqe_type;
	enum mlx5_res_type type;
	enum ib_event_type event;
} rsc_events[] = {
	{ MLX5_EVENT_TYPE_PATH_MIG, MLX5_RES_QP, IB_EVENT_PATH_MIG },
	{ MLX5_EVENT_TYPE_COMM_EST, MLX5_RES_QP, IB_EVENT_COMM_EST },
	{ MLX5_EVENT_TYPE_SQ_DRAINED, MLX5_RES_QP, IB_EVENT_SQ_DRAINED },
	{ MLX5_EVENT_TYPE_SRQ_LAST_WQE, MLX5_RES_QP, IB_EVENT_QP_LAST_WQE_REACHED },
	{ MLX5_EVENT_TYPE_WQ_CATAS_ERROR, MLX5_RES_QP, IB_EVENT_QP_FATAL },
	{ MLX5_EVENT_TYPE_PATH_MIG_FAILED, MLX5_RES_QP, IB_EVENT_PATH_MIG_ERR },
	{ MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR, MLX5_RES_QP, IB_EVENT_QP_REQ_ERR },
	{ MLX5_EVENT_TYPE_WQ_ACCESS_ERROR, MLX5_RES_QP, IB_EVENT_QP_ACCESS_ERR },
	{ MLX5_EVENT_TYPE_SRQ_RQ_LIMIT, MLX5_RES_SRQ, IB_EVENT_SRQ_LIMIT_REACHED },
	{ MLX5_EVENT_TYPE_SRQ_CATAS_ERROR, MLX5_RES_SRQ, IB_EVENT_SRQ_ERR },
	/* For dct.c alone: verbs have no such event. */
	{ MLX5_EVENT_TYPE_DCT_DRAINED, MLX5_IB_RES_DCT, IB_EVENT_SQ_DRAINED },
};

static_assert(ARRAY_SIZE(rsc_events) <= BITS_PER_LONG);

static unsigned long rsc_index(enum mlx5_res_type type, u32 num)
{
	return (unsigned long)type << RSC_NUM_BITS | num;
}

/**
 * mlx5_ib_rsc_get - find an object by its number
 * @dev: device
 * @type: MLX5_RES_QP, MLX5_RES_RQ, MLX5_RES_SQ, MLX5_RES_SRQ or MLX5_IB_RES_DCT
 * @num: number of the object
 *
 * The object is not destroyed before mlx5_ib_rsc_put(). Any context.
 *
 * Return: the object with a reference, or NULL if the table has no object with the number: an
 * object that is being destroyed has left the table.
 */
struct mlx5_ib_rsc *mlx5_ib_rsc_get(struct mlx5_ib_dev *dev, enum mlx5_res_type type, u32 num)
{
	struct xarray *rscs = &dev->rsc_table.rscs;
	struct mlx5_ib_rsc *rsc;

	guard(spinlock_irqsave)(&rscs->xa_lock);
	rsc = xa_load(rscs, rsc_index(type, num));
	if (rsc)
		refcount_inc(&rsc->refs);
	return rsc;
}

/**
 * mlx5_ib_rsc_put - release a reference on an object
 * @rsc: returned by mlx5_ib_rsc_get()
 *
 * Any context.
 */
void mlx5_ib_rsc_put(struct mlx5_ib_rsc *rsc)
{
	if (refcount_dec_and_test(&rsc->refs))
		complete(&rsc->free);
}

static void rsc_deliver_events(struct work_struct *work)
{
	struct mlx5_ib_rsc *rsc = container_of(work, struct mlx5_ib_rsc, work);
	unsigned long pending = xchg(&rsc->pending, 0);
	unsigned int i;

	for_each_set_bit(i, &pending, ARRAY_SIZE(rsc_events))
		rsc->ops->event(rsc, rsc_events[i].event);
	mlx5_ib_rsc_put(rsc);
}

/* Returns the index of an event in rsc_events, or -ENOENT. */
static int rsc_find_event(unsigned long eqe_type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rsc_events); i++)
		if (rsc_events[i].eqe_type == eqe_type)
			return i;
	return -ENOENT;
}

/* Queue the delivery of an event. Returns false if the object is not in the table. */
static bool rsc_queue_event(struct mlx5_ib_dev *dev, int event, enum mlx5_res_type type, u32 num)
{
	struct mlx5_ib_rsc *rsc = mlx5_ib_rsc_get(dev, type, num);

	if (!rsc)
		return false;
	set_bit(event, &rsc->pending);
	/* If the work item is queued already, it has a reference, and will find the bit. */
	if (!queue_work(dev->rsc_table.wq, &rsc->work))
		mlx5_ib_rsc_put(rsc);
	return true;
}

/**
 * mlx5_ib_rsc_raise - deliver an event that the device cannot report
 * @dev: device, which has failed
 * @eqe_type: MLX5_EVENT_TYPE_*, an event of a QP or an SRQ
 * @num: number of the object
 *
 * Any context.
 */
void mlx5_ib_rsc_raise(struct mlx5_ib_dev *dev, u8 eqe_type, u32 num)
{
	int event = rsc_find_event(eqe_type);

	if (!WARN_ON_ONCE(event < 0))
		rsc_queue_event(dev, event, rsc_events[event].type, num);
}

/**
 * mlx5_ib_rsc_event - handle an asynchronous event of mlx5_core
 * @nb: the table's notifier
 * @type: MLX5_EVENT_TYPE_*, or MLX5_DEV_EVENT_*
 * @data: struct mlx5_eqe, for MLX5_EVENT_TYPE_*
 *
 * Called in the interrupt of the asynchronous event queue; for MLX5_DEV_EVENT_* in any context.
 *
 * Return: NOTIFY_OK if the event is about an object of the table, else NOTIFY_DONE.
 */
VISIBLE_IF_KUNIT int mlx5_ib_rsc_event(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_dev *dev = container_of(nb, struct mlx5_ib_dev, rsc_table.nb);
	int event = rsc_find_event(type);
	struct mlx5_eqe *eqe = data;
	enum mlx5_res_type of;

	if (event < 0)
		return NOTIFY_DONE;
	of = rsc_events[event].type;
	/* The EQE says whether it is about a QP, an RQ or an SQ, which are numbered separately. */
	if (of == MLX5_RES_QP)
		of = eqe->data.qp_srq.type;
	if (of > MLX5_RES_SQ && of != rsc_events[event].type)
		return NOTIFY_DONE;
	return rsc_queue_event(dev, event, of,
			       be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & RSC_NUM_MASK) ?
		NOTIFY_OK : NOTIFY_DONE;
}

/**
 * mlx5_ib_rsc_add - add an object to the table, so that events and page faults find it
 * @rsc: created at the device; its dev, ops, num and uid are set
 *
 * The device gives a number to one object of a type at a time. The table may still have another
 * object with the number of @rsc: one that firmware once refused to destroy. Then the device has
 * destroyed that object since, and @rsc replaces it in the table. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
VISIBLE_IF_KUNIT int mlx5_ib_rsc_add(struct mlx5_ib_rsc *rsc)
{
	struct mlx5_ib_rsc *old;
	int err;

	refcount_set(&rsc->refs, 1);
	init_completion(&rsc->free);
	INIT_WORK(&rsc->work, rsc_deliver_events);
	old = xa_store_irq(&rsc->dev->rsc_table.rscs, rsc_index(rsc->ops->type, rsc->num), rsc,
			   GFP_KERNEL);
	err = xa_err(old);
	if (err)
		return err;
	rsc->listed = true;
	if (old) {
		mlx5_ib_fw_attempt_replaced(rsc->dev, &old->attempt);
		mlx5_ib_rsc_put(old);
	}
	return 0;
}

static int rsc_send_destroy(struct mlx5_ib_rsc *rsc)
{
	const struct mlx5_ib_rsc_ops *ops = rsc->ops;

	if (ops->prepare_destroy)
		ops->prepare_destroy(rsc);
	if (ops->repeats_destroy)
		return mlx5_ib_fw_destroy_repeat(rsc->dev, rsc->uid, ops->destroy_op, rsc->num,
						 &rsc->attempt);
	return mlx5_ib_fw_destroy_object(rsc->dev, rsc->uid, ops->destroy_op, rsc->num,
					 &rsc->attempt);
}

/* Destroy an object, or make it an orphan (orphan.c): no caller tries again if firmware refuses. */
static void rsc_discard(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem)
{
	int err = rsc_send_destroy(rsc);

	if (err)
		mlx5_ib_orphan_adopt(rsc->dev, rsc->uid, rsc->ops->destroy_op, rsc->num,
				     &rsc->attempt, rsc->ops->name, mem, err);
}

/**
 * mlx5_ib_rsc_respond_and_add - finish the creation of an object: respond to the user, and add the
 *	object to the table
 * @rsc: as for mlx5_ib_rsc_add()
 * @mem: what the object shares with the device
 * @udata: data of the call that gets the response; NULL for an object of a kernel consumer or of
 *	the driver
 * @resp: the response
 * @len: bytes of @resp
 *
 * May sleep.
 *
 * Return: 0 or a negative errno. After an error the object is destroyed at the device; if firmware
 * refuses to destroy the object, @mem passes to an orphan (orphan.c), and is zeroed here.
 */
int mlx5_ib_rsc_respond_and_add(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem,
				struct ib_udata *udata, const void *resp, size_t len)
{
	int err = (udata ? _ib_respond_udata(udata, resp, len) : 0) ?: mlx5_ib_rsc_add(rsc);

	if (err)
		rsc_discard(rsc, mem);
	return err;
}

/* Take the object out of the table, and wait for the last reference. */
static void rsc_remove(struct mlx5_ib_rsc *rsc)
{
	if (!rsc->listed)
		return;
	/* If a newer object is there instead, mlx5_ib_rsc_add() has put the table's reference. */
	if (xa_cmpxchg_irq(&rsc->dev->rsc_table.rscs, rsc_index(rsc->ops->type, rsc->num), rsc,
			   NULL, GFP_KERNEL) == rsc)
		mlx5_ib_rsc_put(rsc);
	wait_for_completion(&rsc->free);
	rsc->listed = false;
}

/* The MLX5_OBJ_TYPE_* by which a process's subscription to events names the object. */
static u32 rsc_event_type(const struct mlx5_ib_rsc *rsc)
{
	static const u32 types[] = {
		[MLX5_RES_QP] = MLX5_OBJ_TYPE_QP, [MLX5_RES_SRQ] = MLX5_OBJ_TYPE_RMP,
		[MLX5_RES_RQ] = MLX5_OBJ_TYPE_RQ, [MLX5_RES_SQ] = MLX5_OBJ_TYPE_SQ,
		[MLX5_IB_RES_DCT] = MLX5_OBJ_TYPE_DCT,
	};

	return rsc->ops->event_object ?: types[rsc->ops->type];
}

/* Keep events and page faults from finding the object while the device destroys it. */
static void rsc_prepare_destroy(struct mlx5_ib_rsc *rsc)
{
	rsc_remove(rsc);
	mlx5_ib_event_pause(rsc->dev, &rsc->attempt, rsc_event_type(rsc), rsc->num);
}

/*
 * Record the result of the command that destroys an object: 0, or the errno @err. If the object
 * still exists, put it back into the table.
 */
static void rsc_finish_destroy(struct mlx5_ib_dev *dev, void *object, int err)
{
	struct mlx5_ib_rsc *rsc = object;

	rsc->destroyed = !err;
	mlx5_ib_event_settle(dev, &rsc->attempt, rsc_event_type(rsc), rsc->num, err);
	if (err)
		WRITE_ONCE(dev->kept, true);
	/*
	 * The object stays out of the table if the command was not answered: the device may have
	 * destroyed the object, and given the number to a new object.
	 */
	if (err && !mlx5_ib_fw_may_be_gone(&rsc->attempt) && mlx5_ib_rsc_add(rsc))
		ibdev_warn_ratelimited(&dev->ib_dev,
				       "cannot destroy %s 0x%x (%d), and no memory to keep track of it: its events are ignored\n",
				       rsc->ops->name, rsc->num, err);
}

/**
 * mlx5_ib_rsc_destroy - destroy an object at the device
 * @rsc: the object, after mlx5_ib_rsc_add()
 *
 * The object leaves the table first: once the object is destroyed, the device may give its number
 * to a new object. After success no event is being delivered, no page fault is being resolved, and
 * subscriptions of processes to events of the object have ended. May sleep.
 *
 * Return: 0, also if the object has been destroyed already; or a negative errno, and then the
 * device may use all that the object points at. Events and page faults find the object again,
 * unless a command that was not answered (-ETIMEDOUT) may have destroyed the object, or there is no
 * memory for that, as the log then says.
 */
int mlx5_ib_rsc_destroy(struct mlx5_ib_rsc *rsc)
{
	int err;

	if (rsc->destroyed)
		return 0;
	rsc_prepare_destroy(rsc);
	err = rsc_send_destroy(rsc);
	rsc_finish_destroy(rsc->dev, rsc, err);
	return err;
}

/* Give up an object, after mlx5_ib_rsc_destroy() has failed: it becomes an orphan (orphan.c). */
static void rsc_abandon(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem)
{
	rsc_prepare_destroy(rsc);
	mlx5_ib_event_settle(rsc->dev, &rsc->attempt, rsc_event_type(rsc), rsc->num, 0);
	mlx5_ib_orphan_adopt_closing(rsc->dev, rsc->uid, rsc->ops->destroy_op, rsc->num,
				     &rsc->attempt, rsc->ops->name, mem);
}

/**
 * mlx5_ib_rsc_end - destroy an object of a process, or give it up if the process is gone
 * @rsc: the object, after mlx5_ib_rsc_add()
 * @mem: what the object shares with the device. If the object is given up, passes to an orphan
 *	(orphan.c), and is zeroed here
 * @closing: the process has closed the device, so nobody is told of an error
 *
 * May sleep.
 *
 * Return: 0 if the object is destroyed or an orphan; or, unless @closing, as mlx5_ib_rsc_destroy().
 */
int mlx5_ib_rsc_end(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem, bool closing)
{
	int err = mlx5_ib_rsc_destroy(rsc);

	if (!err || !closing)
		return err;
	rsc_abandon(rsc, mem);
	return 0;
}

/**
 * mlx5_ib_rsc_destroy_early - start to destroy an object, shortly before its owner destroys it
 * @rsc: the object, after mlx5_ib_rsc_add()
 * @batch: the batch that the command becomes part of
 *
 * Does what mlx5_ib_rsc_destroy() does, but does not wait for the answer, and logs no refusal. When
 * the batch has been waited for, the owner calls mlx5_ib_rsc_destroy(), whether or not the object
 * is destroyed. May sleep.
 */
void mlx5_ib_rsc_destroy_early(struct mlx5_ib_rsc *rsc, struct mlx5_ib_fw_batch *batch)
{
	rsc_prepare_destroy(rsc);
	mlx5_ib_fw_batch_destroy(batch, rsc->uid, rsc->ops->destroy_op, rsc->num,
				 &rsc->attempt, rsc_finish_destroy, rsc);
}

/**
 * mlx5_ib_rsc_discard - destroy an object whose owner does not try again if firmware refuses
 * @rsc: the object, after mlx5_ib_rsc_add()
 * @mem: what the object shares with the device; if firmware refuses to destroy the object, @mem
 *	passes to an orphan (orphan.c), and is zeroed here
 *
 * For queue pairs and shared receive queues of kernel consumers, for XRC targets, and for objects
 * whose creation could not be finished. May sleep.
 */
void mlx5_ib_rsc_discard(struct mlx5_ib_rsc *rsc, struct mlx5_ib_queue_mem *mem)
{
	rsc_remove(rsc);
	rsc_discard(rsc, mem);
}

/*
 * Start or stop receiving events. To stop is to wait until no event is being handled. KUnit suites,
 * whose devices have no events, stub this function.
 */
VISIBLE_IF_KUNIT void mlx5_ib_rsc_watch(struct mlx5_ib_dev *dev, bool on)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_rsc_watch, dev, on);
	if (on)
		mlx5_notifier_register(dev->mdev, &dev->rsc_table.nb);
	else
		mlx5_notifier_unregister(dev->mdev, &dev->rsc_table.nb);
}

/**
 * mlx5_ib_init_rsc_table - start to listen for events of objects
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_rsc_table(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_rsc_table *table = &dev->rsc_table;

	table->wq = alloc_workqueue("bluebell_event", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!table->wq)
		return -ENOMEM;
	xa_init_flags(&table->rscs, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->kernel_qps, XA_FLAGS_LOCK_IRQ);
	table->nb.notifier_call = mlx5_ib_rsc_event;
	mlx5_ib_rsc_watch(dev, true);
	return 0;
}

/**
 * mlx5_ib_cleanup_rsc_table - stop listening for events
 * @dev: device, which has no objects left but those that firmware refuses to destroy; nothing is
 *	done if the table was never initialized
 */
void mlx5_ib_cleanup_rsc_table(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_rsc_table *table = &dev->rsc_table;

	if (!table->wq)
		return;
	mlx5_ib_rsc_watch(dev, false);
	destroy_workqueue(table->wq);
	WARN_ON(!xa_empty(&table->rscs) && !dev->kept);
	xa_destroy(&table->rscs);
}
