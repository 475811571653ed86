// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair of general services (GSI): QP1 of the port, by which the RDMA core exchanges
 * management datagrams with subnet administration and the connection managers of other hosts.
 *
 * To the consumer QP1 is one queue pair, whose send requests name a P_Key each. At the device a
 * queue pair has one P_Key. So QP1 itself receives all datagrams, but sends only those with its own
 * P_Key. For each other P_Key of the port the driver creates a sender, if the device can do that: a
 * UD queue pair, whose datagrams name QP1 as their source (qpc.deth_sqpn). All send requests
 * complete on the send CQ of QP1, as requests of QP1; requests with different P_Keys may complete
 * in another order than they were posted in.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "lib/wq_kernel.h"
#include "verbs/qp.h"

/**
 * struct mlx5_ib_gsi - what QP1 has beyond other queue pairs
 * @qp: QP1
 * @own_index: index of QP1's P_Key, which QP1 gets in INIT
 * @lock: held while @senders are created, while queue pairs are taken from SQE to RTS, and while
 *	QP1 and its senders change their Q counter set; each takes several commands. Only the RDMA
 *	core, which owns QP1, and @work wait for the lock
 * @events: receives changes of the P_Key table, among other events of mlx5_core
 * @work: creates senders for new P_Keys
 * @num: entries of the P_Key table; 0 if the device cannot have senders
 * @senders: sender of each P_Key, by index; NULL if none has been created, as for @own_index and
 *	for an index without a P_Key. A sender stays until QP1 is destroyed, even if the P_Key goes
 */
struct mlx5_ib_gsi {
	struct mlx5_ib_qp *qp;
	u16 own_index;
	struct mutex lock; /* held while senders are created or changed */
	struct notifier_block events;
	struct work_struct work;
	u16 num;
	struct mlx5_ib_qp *senders[] __counted_by(num);
};

static struct mlx5_ib_gsi *to_gsi(struct mlx5_ib_qp *qp)
{
	WARN_ON_ONCE(qp->ops != &mlx5_ib_gsi_ops);
	return qp->priv;
}

/* ---- senders ---------------------------------------------------------------------------- */

/* Operations of QP1 and its senders at the device: those of any queue pair of a kernel consumer. */
static const struct mlx5_ib_qp_ops *const base = &mlx5_ib_kernel_qp_ops;

/* Take a sender from RESET to RTS. */
static int sender_start(struct mlx5_ib_qp *sender, u16 pkey_index)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = pkey_index,
		.port_num = sender->ibqp.port,
		.qkey = IB_QP1_QKEY,
	};
	int err;

	err = base->modify(sender, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, NULL);
	attr.qp_state = IB_QPS_RTR;
	if (!err)
		err = base->modify(sender, &attr, IB_QP_STATE, NULL);
	attr.qp_state = IB_QPS_RTS;
	if (!err)
		err = base->modify(sender, &attr, IB_QP_STATE | IB_QP_SQ_PSN, NULL);
	return err;
}

static void sender_destroy(struct mlx5_ib_qp *sender)
{
	base->destroy(sender);
	kfree(sender);
}

static struct mlx5_ib_qp *sender_alloc(const struct mlx5_ib_gsi *gsi)
{
	struct mlx5_ib_qp *sender = kzalloc_obj(*sender);

	if (!sender)
		return NULL;
	sender->ibqp.device = gsi->qp->ibqp.device;
	sender->ibqp.pd = gsi->qp->ibqp.pd;
	sender->ibqp.qp_type = IB_QPT_UD;
	sender->ibqp.port = gsi->qp->init.port_num;
	sender->sends_as_qp1 = true;
	return sender;
}

/*
 * Create a sender, as the RDMA core would create a UD queue pair, and take it to RTS. Its requests
 * complete as requests of QP1. Returns the sender or an ERR_PTR.
 */
static struct mlx5_ib_qp *sender_create(struct mlx5_ib_gsi *gsi, u16 pkey_index)
{
	struct ib_qp_init_attr init = {
		.send_cq = gsi->qp->init.send_cq,
		.recv_cq = gsi->qp->init.recv_cq,
		.cap = gsi->qp->init.cap,
		.sq_sig_type = gsi->qp->init.sq_sig_type,
		.qp_type = IB_QPT_UD,
	};
	struct mlx5_ib_qp *sender = sender_alloc(gsi);
	int err;

	lockdep_assert_held(&gsi->lock);
	if (!sender)
		return ERR_PTR(-ENOMEM);
	init.cap.max_recv_wr = 0;
	init.cap.max_recv_sge = 0;
	err = mlx5_ib_qp_create(sender, base, &init, NULL);
	if (err) {
		kfree(sender);
		return ERR_PTR(err);
	}
	sender->wqs->ibqp = &gsi->qp->ibqp;
	/* @lock, which the caller holds, is held across each change of QP1's set. */
	sender->counter_set = gsi->qp->counter_set;
	err = sender_start(sender, pkey_index);
	if (!err)
		return sender;
	sender_destroy(sender);
	return ERR_PTR(err);
}

/* Create the senders of the P_Keys that the port has now. */
static void gsi_create_senders(struct mlx5_ib_gsi *gsi)
{
	struct mlx5_ib_dev *dev = gsi->qp->rsc.dev;
	struct mlx5_ib_qp *sender;
	u16 i, pkey;

	guard(mutex)(&gsi->lock);
	for (i = 0; i < gsi->num; i++) {
		if (i == gsi->own_index || gsi->senders[i] || READ_ONCE(dev->failed))
			continue;
		/* The low 15 bits are the partition; 0 is no partition. */
		if (ib_query_pkey(&dev->ib_dev, gsi->qp->init.port_num, i, &pkey) ||
		    !(pkey & 0x7fff))
			continue;
		sender = sender_create(gsi, i);
		if (IS_ERR(sender))
			ibdev_warn(&dev->ib_dev,
				   "management datagrams with P_Key 0x%x cannot be sent (%ld): the driver tries again when the P_Key table changes\n",
				   pkey, PTR_ERR(sender));
		else
			/* Pairs with gsi_sender(). */
			smp_store_release(&gsi->senders[i], sender);
	}
}

static void gsi_work(struct work_struct *work)
{
	gsi_create_senders(container_of(work, struct mlx5_ib_gsi, work));
}

/*
 * Whether QP1 needs senders: in RTS, and in SQD and SQE, from which the consumer takes QP1 back to
 * RTS. A request that fails takes QP1 to SQE.
 */
static bool gsi_needs_senders(const struct mlx5_ib_gsi *gsi)
{
	enum ib_qp_state state = READ_ONCE(gsi->qp->state);

	return state >= IB_QPS_RTS && state != IB_QPS_ERR;
}

/*
 * Queue @work, which creates senders, when the P_Key table has changed. Called in the interrupt of
 * the async EQ; for events of mlx5_core itself (MLX5_DEV_EVENT_*) in any context.
 */
static int gsi_notify(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_gsi *gsi = container_of(nb, struct mlx5_ib_gsi, events);
	const struct mlx5_eqe *eqe = data;

	if (type != MLX5_EVENT_TYPE_PORT_CHANGE || eqe->sub_type != MLX5_PORT_CHANGE_SUBTYPE_PKEY ||
	    !gsi_needs_senders(gsi))
		return NOTIFY_DONE;
	queue_work(system_dfl_wq, &gsi->work);
	return NOTIFY_OK;
}

/**
 * mlx5_ib_gsi_watch - start or stop receiving changes of the port's P_Key table
 * @dev: device
 * @events: notifier of the GSI
 * @on: start; otherwise stop, and wait until no event is being handled
 *
 * May sleep. KUnit suites, whose devices have no events, stub this function.
 */
VISIBLE_IF_KUNIT
void mlx5_ib_gsi_watch(struct mlx5_ib_dev *dev, struct notifier_block *events, bool on)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_gsi_watch, dev, events, on);
	if (on)
		mlx5_notifier_register(dev->mdev, events);
	else
		mlx5_notifier_unregister(dev->mdev, events);
}

/*
 * Returns the queue pair that sends a request, or NULL if there is no sender for the P_Key. A
 * request other than a datagram comes from ib_drain_qp(), and names no P_Key: QP1 sends it.
 */
static struct mlx5_ib_qp *gsi_sender(struct mlx5_ib_gsi *gsi, const struct ib_send_wr *wr)
{
	u16 index;

	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return gsi->qp;
	index = ud_wr(wr)->pkey_index;
	if (index == gsi->own_index)
		return gsi->qp;
	/* Pairs with gsi_create_senders(). */
	return index < gsi->num ? smp_load_acquire(&gsi->senders[index]) : NULL;
}

/* ---- QP1 ----------------------------------------------------------------------------------- */

/* Create QP1. On a device without qpc.deth_sqpn QP1 gets no senders. */
static int gsi_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	u16 num = MLX5_CAP_GEN(dev->mdev, set_deth_sqpn) ? dev->caps.pkey_table_len : 0;
	struct mlx5_ib_gsi *gsi = kzalloc_flex(*gsi, senders, num);
	int err;

	if (!gsi)
		return -ENOMEM;
	gsi->num = num;
	gsi->qp = qp;
	mutex_init(&gsi->lock);
	INIT_WORK(&gsi->work, gsi_work);
	gsi->events.notifier_call = gsi_notify;
	err = base->create(qp, init, udata);
	if (err) {
		kfree(gsi);
		return err;
	}
	qp->priv = gsi;
	mlx5_ib_gsi_watch(dev, &gsi->events, true);
	return 0;
}

static int gsi_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_gsi *gsi = to_gsi(qp);
	u16 i;

	mlx5_ib_gsi_watch(qp->rsc.dev, &gsi->events, false);
	cancel_work_sync(&gsi->work);
	for (i = 0; i < gsi->num; i++)
		if (gsi->senders[i])
			sender_destroy(gsi->senders[i]);
	mutex_destroy(&gsi->lock);
	kfree(gsi);
	return base->destroy(qp);
}

/*
 * A request that fails takes the queue pair that sends it, QP1 or a sender, to SQE. The consumer
 * knows QP1 only, and takes QP1 back to RTS. So this function takes to RTS whichever of QP1 and its
 * senders are in SQE.
 */
static int gsi_recover(struct mlx5_ib_gsi *gsi, struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr now = {};
	struct mlx5_ib_qp *qp;
	int i, err = 0;

	guard(mutex)(&gsi->lock);
	for (i = -1; i < gsi->num && !err; i++) {
		qp = i < 0 ? gsi->qp : gsi->senders[i];
		if (!qp)
			continue;
		scoped_guard(mutex, &qp->mutex)
			err = base->query(qp, &now);
		/* base->query() has updated @qp->state. */
		if (!err && READ_ONCE(qp->state) == IB_QPS_SQE)
			err = base->modify(qp, attr, mask, NULL);
	}
	return err;
}

/*
 * Change the state or attributes of QP1. Senders do not follow QP1 to other states: until QP1 is
 * destroyed a sender is in RTS, or in SQE after one of its requests has failed. So draining QP1
 * does not drain the senders.
 */
static int gsi_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	struct mlx5_ib_gsi *gsi = to_gsi(qp);
	int err;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state == IB_QPS_SQE &&
	    (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTS)
		return gsi_recover(gsi, attr, mask);
	err = base->modify(qp, attr, mask, NULL);
	if (err)
		return err;
	if (mask & IB_QP_PKEY_INDEX)
		gsi->own_index = attr->pkey_index;
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTS)
		gsi_create_senders(gsi);
	return 0;
}

/* QP1 and its senders count in one set: if one of them cannot, all of them stay in the old set. */
static int gsi_set_counter(struct mlx5_ib_qp *qp, u16 set_id)
{
	struct mlx5_ib_gsi *gsi = to_gsi(qp);
	int i, err;
	u16 old;

	guard(mutex)(&gsi->lock);
	old = qp->counter_set;
	err = base->set_counter(qp, set_id);
	for (i = 0; i < gsi->num && !err; i++)
		if (gsi->senders[i])
			err = base->set_counter(gsi->senders[i], set_id);
	if (!err)
		return 0;
	base->set_counter(qp, old);
	for (i = 0; i < gsi->num; i++)
		if (gsi->senders[i])
			base->set_counter(gsi->senders[i], old);
	return err;
}

static int gsi_post_send(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr *end, const struct ib_send_wr **bad)
{
	struct mlx5_ib_gsi *gsi = to_gsi(qp);
	struct mlx5_ib_qp *sender;
	int err = 0;

	for (; wr != end && !err; wr = wr->next) {
		sender = gsi_sender(gsi, wr);
		err = sender ? mlx5_ib_post_sends(sender, wr, wr->next, bad) :
			       refuse(to_mdev(qp->ibqp.device)->mdev, -EINVAL,
				      "QP1 has no queue pair to send with P_Key index %u",
				      ud_wr(wr)->pkey_index);
		if (err)
			*bad = wr;
	}
	return err;
}

const struct mlx5_ib_qp_ops mlx5_ib_gsi_ops = {
	.create = gsi_create,
	.modify = gsi_modify,
	.query = mlx5_ib_plain_qp_query,
	.set_counter = gsi_set_counter,
	.destroy = gsi_destroy,
	.post_send = gsi_post_send,
};
