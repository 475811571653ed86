// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of kinds of queue pairs: which kind a type has, and what the verbs and the other
 * users of queue pairs do with kinds that are not a single QP object. The suite has two such
 * kinds. A split queue pair consists of a TIS, an SQ, an RQ and a TIR, like a queue pair for raw
 * packets. A late queue pair is a DCT, which the device creates when the queue pair goes to RTR.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../../../core/uverbs.h"
#include "devx/devx_obj.h"
#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/umem.h"
#include "ops.h"
#include "verbs/qp.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define UID		0x5a
#define BUF		0
#define RECORDS		1

/* Objects that the firmware of this suite has, at most one of each. */
enum part {
	TIS,
	SQ,
	RQ,
	TIR,
	DCT,
	NUM_PARTS,
};

/* The numbers of different kinds of objects may be the same, as those that mock_fw() gives. */
static u32 num_of(enum part part)
{
	return part == DCT ? 0x300 : 0x100;
}

static const struct {
	u16 create, destroy, modify, query;
	/* Firmware does not destroy the part while this other part exists. */
	enum part user;
} firmware[NUM_PARTS] = {
	[TIS] = { MLX5_CMD_OP_CREATE_TIS, MLX5_CMD_OP_DESTROY_TIS, .user = SQ },
	[SQ] = {
		MLX5_CMD_OP_CREATE_SQ, MLX5_CMD_OP_DESTROY_SQ, MLX5_CMD_OP_MODIFY_SQ,
		MLX5_CMD_OP_QUERY_SQ, .user = NUM_PARTS,
	},
	[RQ] = {
		MLX5_CMD_OP_CREATE_RQ, MLX5_CMD_OP_DESTROY_RQ, MLX5_CMD_OP_MODIFY_RQ,
		MLX5_CMD_OP_QUERY_RQ, .user = TIR,
	},
	[TIR] = { MLX5_CMD_OP_CREATE_TIR, MLX5_CMD_OP_DESTROY_TIR, .user = NUM_PARTS },
	[DCT] = { MLX5_CMD_OP_CREATE_DCT, MLX5_CMD_OP_DESTROY_DCT, .user = NUM_PARTS },
};

/**
 * struct env - a device with the objects of enum part, and two queue pairs
 * @mock: the device
 * @qp: a split queue pair
 * @late: a late queue pair
 * @late_attempt: attempts to destroy the DCT of @late
 * @live: the objects that exist
 * @state: states of the queues, MLX5_RQC_STATE_*; those of an SQ have the same values
 * @in_batch: commands are sent by a batch now
 * @in_use: number of requests to destroy an object that another object uses
 * @events: number of events that the consumer of a queue pair has been told of
 * @last: the last of these events
 * @posted: what kernel consumers have posted
 */
struct env {
	struct mock *mock;
	struct mlx5_ib_qp qp;
	struct mlx5_ib_qp late;
	struct mlx5_ib_fw_attempt late_attempt;
	bool live[NUM_PARTS + 1];
	u8 state[NUM_PARTS];
	bool in_batch;
	unsigned int in_use;
	unsigned int events;
	enum ib_event_type last;
	const struct ib_send_wr *posted;
};

static struct env *the_env;

/* ---- firmware ------------------------------------------------------------------------------- */

static int execute(struct env *env, enum part part, u16 opcode, void *in, __be32 *out)
{
	struct kunit *test = env->mock->test;

	if (opcode == firmware[part].create) {
		KUNIT_EXPECT_FALSE(test, env->live[part]);
		env->live[part] = true;
		env->state[part] = MLX5_RQC_STATE_RST;
		if (part == DCT)
			out[2] = cpu_to_be32(num_of(part));
		KUNIT_EXPECT_EQ(test, be32_to_cpu(out[2]), num_of(part));
		return 0;
	}
	KUNIT_EXPECT_TRUE_MSG(test, env->live[part], "command 0x%x on nothing", opcode);
	KUNIT_EXPECT_EQ(test, MLX5_GET(modify_rq_in, in, rqn), num_of(part));
	if (opcode == firmware[part].destroy) {
		if (env->live[firmware[part].user]) {
			env->in_use++;
			return -EBUSY;
		}
		if (env->mock->refuse_destroy)
			return env->mock->refuse_err;
		env->live[part] = false;
	} else if (opcode == firmware[part].modify) {
		KUNIT_EXPECT_EQ(test, MLX5_GET(modify_rq_in, in, rq_state), env->state[part]);
		env->state[part] = MLX5_GET(modify_rq_in, in, ctx.state);
	} else {
		MLX5_SET(query_rq_out, out, rq_context.state, env->state[part]);
	}
	return 0;
}

static int kinds_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	struct mlx5_ib_fw_async *async = arg;
	struct env *env = the_env;
	u16 opcode = env->mock->opcode;
	enum part part;

	for (part = 0; part < NUM_PARTS && !err; part++)
		if (opcode == firmware[part].create || opcode == firmware[part].destroy ||
		    (firmware[part].modify &&
		     (opcode == firmware[part].modify || opcode == firmware[part].query)))
			err = execute(env, part, opcode, in, out);
	if (!env->in_batch)
		return err;
	async->done(err ? -EREMOTEIO : 0, &async->work);
	return 0;
}

static unsigned int num_live(struct env *env)
{
	unsigned int n = 0;
	enum part part;

	for (part = 0; part < NUM_PARTS; part++)
		n += env->live[part];
	return n;
}

/* ---- split queue pairs ---------------------------------------------------------------------- */

/**
 * struct split - what a split queue pair consists of, in the order of creation
 * @qp: the queue pair
 * @has_tis: the TIS exists
 * @sq: the SQ
 * @rq: the RQ
 * @has_tir: the TIR exists
 * @tis: attempts to destroy the TIS
 * @tir: attempts to destroy the TIR
 */
struct split {
	struct mlx5_ib_qp *qp;
	bool has_tis;
	struct mlx5_ib_rsc sq;
	struct mlx5_ib_rsc rq;
	bool has_tir;
	struct mlx5_ib_fw_attempt tis;
	struct mlx5_ib_fw_attempt tir;
};

static void split_event(struct split *split, enum ib_event_type type)
{
	struct ib_qp *ibqp = &split->qp->ibqp;
	struct ib_event event = { .device = ibqp->device, .event = type, .element.qp = ibqp };

	ibqp->event_handler(&event, ibqp->qp_context);
}

static void sq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	split_event(container_of(rsc, struct split, sq), type);
}

static void rq_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	split_event(container_of(rsc, struct split, rq), type);
}

static const struct mlx5_ib_rsc_ops sq_ops = {
	.type = MLX5_RES_SQ, .name = "SQ", .destroy_op = MLX5_CMD_OP_DESTROY_SQ,
	.event = sq_event,
};

static const struct mlx5_ib_rsc_ops rq_ops = {
	.type = MLX5_RES_RQ, .name = "RQ", .destroy_op = MLX5_CMD_OP_DESTROY_RQ,
	.event = rq_event,
};

static int split_create_queue(struct split *split, struct mlx5_ib_rsc *rsc,
			      const struct mlx5_ib_rsc_ops *ops, u16 opcode)
{
	int err;

	rsc->dev = to_mdev(split->qp->ibqp.device);
	rsc->uid = split->qp->uid;
	err = mlx5_ib_fw_alloc_object(rsc->dev, rsc->uid, opcode, &rsc->num);
	if (err)
		return err;
	rsc->ops = ops;
	return mlx5_ib_rsc_add(rsc);
}

static int split_create_parts(struct split *split)
{
	struct mlx5_ib_qp *qp = split->qp;
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	u32 number;
	int err;

	err = mlx5_ib_fw_alloc_object(dev, qp->uid, MLX5_CMD_OP_CREATE_TIS, &number);
	if (err)
		return err;
	split->has_tis = true;
	err = split_create_queue(split, &split->sq, &sq_ops, MLX5_CMD_OP_CREATE_SQ);
	if (!err)
		err = split_create_queue(split, &split->rq, &rq_ops, MLX5_CMD_OP_CREATE_RQ);
	if (!err)
		err = mlx5_ib_fw_alloc_object(dev, qp->uid, MLX5_CMD_OP_CREATE_TIR, &number);
	split->has_tir = !err;
	return err;
}

/*
 * No caller will destroy the objects again. Each object that firmware keeps becomes an orphan. The
 * orphan of the SQ has the memory.
 */
static void split_discard(struct split *split)
{
	struct mlx5_ib_qp *qp = split->qp;
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	int err = 0;

	if (split->has_tir)
		err = mlx5_ib_fw_destroy_object(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIR, num_of(TIR),
						&split->tir);
	if (err)
		mlx5_ib_orphan_adopt(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIR, num_of(TIR),
				     &split->tir, "TIR", NULL, err);
	if (split->rq.ops)
		mlx5_ib_rsc_discard(&split->rq, NULL);
	if (split->sq.ops)
		mlx5_ib_rsc_discard(&split->sq, &qp->mem);
	err = 0;
	if (split->has_tis)
		err = mlx5_ib_fw_destroy_object(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIS, num_of(TIS),
						&split->tis);
	if (err)
		mlx5_ib_orphan_adopt(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIS, num_of(TIS),
				     &split->tis, "TIS", NULL, err);
}

static int split_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct split *split = kzalloc_obj(*split);
	struct mlx5_ib_create_qp_resp resp = {};
	struct mock *mock = the_env->mock;
	int err;

	if (!split)
		return -ENOMEM;
	split->qp = qp;
	qp->priv = split;
	qp->uid = ctx->uid;
	init->cap.max_send_wr = 8;
	err = mlx5_ib_queue_mem_map_user(&qp->mem, ctx,
					 mlx5_ib_umem_get(to_mdev(qp->ibqp.device),
							  mock_buffer(mock, BUF), PAGE_SIZE, 0),
					 PAGE_SIZE, MLX5_IB_MAX_PAGE_OFFSET,
					 mock_buffer(mock, RECORDS));
	if (!err)
		err = split_create_parts(split);
	if (!err)
		err = ib_respond_udata(udata, resp);
	if (!err)
		return 0;
	split_discard(split);
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	kfree(split);
	return err;
}

/* MODIFY_SQ has the layout of MODIFY_RQ. */
static int split_set_state(struct split *split, u16 opcode, u32 number, u8 from, u8 to)
{
	u32 out[MLX5_ST_SZ_DW(modify_rq_out)] = {};
	u32 in[MLX5_ST_SZ_DW(modify_rq_in)] = {};

	MLX5_SET(modify_rq_in, in, opcode, opcode);
	MLX5_SET(modify_rq_in, in, rqn, number);
	MLX5_SET(modify_rq_in, in, rq_state, from);
	MLX5_SET(modify_rq_in, in, ctx.state, to);
	return mlx5_ib_fw_exec(split->rq.dev, split->qp->uid, in, sizeof(in), out, sizeof(out));
}

/* Change from RESET to RTS. If firmware refuses for the SQ, the RQ is changed back. */
static int split_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata)
{
	struct split *split = qp->priv;
	int err;

	if (mask != IB_QP_STATE || attr->qp_state != IB_QPS_RTS)
		return -EINVAL;
	guard(mutex)(&qp->mutex);
	err = split_set_state(split, MLX5_CMD_OP_MODIFY_RQ, split->rq.num, MLX5_RQC_STATE_RST,
			      MLX5_RQC_STATE_RDY);
	if (err)
		return err;
	err = split_set_state(split, MLX5_CMD_OP_MODIFY_SQ, split->sq.num, MLX5_SQC_STATE_RST,
			      MLX5_SQC_STATE_RDY);
	if (err)
		split_set_state(split, MLX5_CMD_OP_MODIFY_RQ, split->rq.num, MLX5_RQC_STATE_RDY,
				MLX5_RQC_STATE_RST);
	else
		qp->state = IB_QPS_RTS;
	return err;
}

static int split_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	u32 rq[MLX5_ST_SZ_DW(query_rq_out)] = {}, sq[MLX5_ST_SZ_DW(query_sq_out)] = {};
	struct split *split = qp->priv;
	int err;

	lockdep_assert_held(&qp->mutex);
	err = mlx5_ib_fw_query_object(split->rq.dev, qp->uid, MLX5_CMD_OP_QUERY_RQ, split->rq.num,
				      rq, sizeof(rq));
	if (!err)
		err = mlx5_ib_fw_query_object(split->sq.dev, qp->uid, MLX5_CMD_OP_QUERY_SQ,
					      split->sq.num, sq, sizeof(sq));
	if (err)
		return err;
	qp->state = MLX5_GET(query_rq_out, rq, rq_context.state) == MLX5_RQC_STATE_RDY &&
		    MLX5_GET(query_sq_out, sq, sq_context.state) == MLX5_SQC_STATE_RDY ?
		    IB_QPS_RTS : IB_QPS_RESET;
	attr->port_num = 1;
	return 0;
}

static int split_destroy(struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct split *split = qp->priv;
	int err = 0;

	if (split->has_tir)
		err = mlx5_ib_fw_destroy_object(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIR, num_of(TIR),
						&split->tir);
	if (err)
		return err;
	split->has_tir = false;
	err = mlx5_ib_rsc_destroy(&split->rq) ?: mlx5_ib_rsc_destroy(&split->sq);
	if (!err)
		err = mlx5_ib_fw_destroy_object(dev, qp->uid, MLX5_CMD_OP_DESTROY_TIS, num_of(TIS),
						&split->tis);
	if (err)
		return err;
	mlx5_ib_queue_mem_unmap_user(&qp->mem);
	kfree(split);
	return 0;
}

static void split_tir_destroyed(struct mlx5_ib_dev *dev, void *object, int err)
{
	struct split *split = object;

	split->has_tir = err;
}

/* Nothing uses the TIR and the SQ; the other objects are left to split_destroy(). */
static void split_destroy_early(struct mlx5_ib_qp *qp, struct mlx5_ib_fw_batch *batch)
{
	struct split *split = qp->priv;

	mlx5_ib_fw_batch_destroy(batch, qp->uid, MLX5_CMD_OP_DESTROY_TIR, num_of(TIR),
				 &split->tir, split_tir_destroyed, split);
	mlx5_ib_rsc_destroy_early(&split->sq, batch);
}

static const struct mlx5_ib_qp_ops split_ops = {
	.create = split_create,
	.modify = split_modify,
	.query = split_query,
	.destroy = split_destroy,
	.destroy_early = split_destroy_early,
};

/* ---- late queue pairs ----------------------------------------------------------------------- */

static int late_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
		       struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = {};

	qp->uid = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext)->uid;
	return ib_respond_udata(udata, resp);
}

static bool late_exists(struct mlx5_ib_qp *qp)
{
	return qp->state == IB_QPS_RTR;
}

static int late_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	int err = 0;

	if (mask != IB_QP_STATE)
		return -EINVAL;
	guard(mutex)(&qp->mutex);
	if (attr->qp_state == IB_QPS_RTR)
		err = mlx5_ib_fw_alloc_object(to_mdev(qp->ibqp.device), qp->uid,
					      MLX5_CMD_OP_CREATE_DCT, &qp->ibqp.qp_num);
	if (!err)
		qp->state = attr->qp_state;
	return err;
}

static int late_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	attr->port_num = 1;
	return 0;
}

static int late_destroy(struct mlx5_ib_qp *qp)
{
	int err = 0;

	if (late_exists(qp))
		err = mlx5_ib_fw_destroy_object(to_mdev(qp->ibqp.device), qp->uid,
						MLX5_CMD_OP_DESTROY_DCT, qp->ibqp.qp_num,
						&the_env->late_attempt);
	if (!err)
		qp->state = IB_QPS_RESET;
	return err;
}

static void late_destroyed(struct mlx5_ib_dev *dev, void *object, int err)
{
	struct mlx5_ib_qp *qp = object;

	if (!err)
		qp->state = IB_QPS_RESET;
}

static void late_destroy_early(struct mlx5_ib_qp *qp, struct mlx5_ib_fw_batch *batch)
{
	if (late_exists(qp))
		mlx5_ib_fw_batch_destroy(batch, qp->uid, MLX5_CMD_OP_DESTROY_DCT, qp->ibqp.qp_num,
					 &the_env->late_attempt, late_destroyed, qp);
}

static const struct mlx5_ib_qp_ops late_ops = {
	.create = late_create,
	.modify = late_modify,
	.query = late_query,
	.destroy = late_destroy,
	.destroy_early = late_destroy_early,
};

/* ---- a kind of a kernel consumer ------------------------------------------------------------ */

static int poster_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	return 0;
}

static int poster_post_send(struct mlx5_ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr *end, const struct ib_send_wr **bad)
{
	the_env->posted = wr;
	*bad = wr->next;
	return end ? -EINVAL : -ENOMEM;
}

static const struct mlx5_ib_qp_ops poster_ops = {
	.create = poster_create,
	.post_send = poster_post_send,
};

/* ---- the environment ------------------------------------------------------------------------ */

static void free_workqueue(void *wq)
{
	destroy_workqueue(wq);
}

static void count_event(struct ib_event *event, void *context)
{
	struct env *env = context;

	KUNIT_EXPECT_PTR_EQ(env->mock->test, event->element.qp, &env->qp.ibqp);
	env->events++;
	env->last = event->event;
}

static struct env *make_env(struct kunit *test)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_rsc_table *table;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	mock_open(env->mock);
	env->mock->context->uid = UID;
	the_env = env;
	table = &env->mock->dev->rsc_table;
	table->wq = alloc_workqueue("bluebell_kinds_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, table->wq);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_workqueue, table->wq));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, kinds_fw);
	return env;
}

/* Nothing is left of a queue pair that has been destroyed, or could not be created. */
static void expect_nothing(struct kunit *test, struct env *env)
{
	KUNIT_EXPECT_EQ(test, num_live(env), 0);
	KUNIT_EXPECT_EQ(test, env->in_use, 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->mock->dev->rsc_table.rscs));
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

static void finish(struct kunit *test, struct env *env)
{
	expect_nothing(test, env);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	env->mock->context->uid = 0;
	mock_close(env->mock);
}

static int create(struct env *env, struct mlx5_ib_qp *qp, bool break_answer)
{
	struct ib_qp_init_attr init = {
		.qp_type = qp == &env->late ? IB_QPT_DRIVER : IB_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 5 },
	};
	struct ib_udata *udata = mock_udata(env->mock, NULL, 0,
					    sizeof(struct mlx5_ib_create_qp_resp));
	int idx, err;

	if (break_answer)
		mock_break_answer(env->mock);
	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &env->mock->dev->ib_dev;
	qp->ibqp.real_qp = &qp->ibqp;
	qp->ibqp.qp_type = init.qp_type;
	qp->ibqp.event_handler = count_event;
	qp->ibqp.qp_context = env;
	env->mock->num_commands = 0;
	idx = mock_enter(env->mock);
	err = mlx5_ib_qp_create(qp, qp == &env->late ? &late_ops : &split_ops, &init, udata);
	mock_leave(env->mock, idx);
	return err;
}

static int modify(struct env *env, struct mlx5_ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	env->mock->num_commands = 0;
	return mlx5_ib_modify_qp(&qp->ibqp, &attr, IB_QP_STATE,
				 mock_udata(env->mock, NULL, 0, 0));
}

/* Returns the state, or a negative errno. */
static int query(struct env *env, struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	struct ib_qp_init_attr init;
	int err;

	memset(attr, 0xff, sizeof(*attr));
	env->mock->num_commands = 0;
	err = mlx5_ib_query_qp(&qp->ibqp, attr, 0, &init);
	if (err)
		return err;
	KUNIT_EXPECT_EQ(env->mock->test, init.qp_type, qp->ibqp.qp_type);
	KUNIT_EXPECT_EQ(env->mock->test, attr->cur_qp_state, attr->qp_state);
	KUNIT_EXPECT_EQ(env->mock->test, attr->port_num, 1);
	KUNIT_EXPECT_EQ(env->mock->test, attr->qkey, 0);
	return attr->qp_state;
}

static int destroy(struct env *env, struct mlx5_ib_qp *qp)
{
	env->mock->num_commands = 0;
	return mlx5_ib_destroy_qp(&qp->ibqp, &env->mock->attrs->driver_udata);
}

static void destroy_early(struct kunit *test, struct env *env, struct mlx5_ib_qp *qp)
{
	struct mlx5_ib_fw_batch *batch = mlx5_ib_fw_batch_alloc(env->mock->dev);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	env->mock->num_commands = 0;
	env->in_batch = true;
	mlx5_ib_destroy_qp_early(&qp->ibqp, batch);
	mlx5_ib_fw_batch_free(batch);
	env->in_batch = false;
}

/* ---- the kind of a type --------------------------------------------------------------------- */

/*
 * Returns the kind that a queue pair gets, although the queue pair cannot be created without CQs.
 */
static const struct mlx5_ib_qp_ops *kind(struct mock *mock, enum ib_qp_type type,
					 struct ib_udata *udata)
{
	struct mlx5_ib_qp *qp = kunit_kzalloc(mock->test, sizeof(*qp), GFP_KERNEL);
	struct ib_qp_init_attr init = { .qp_type = type };
	int idx, err;

	KUNIT_ASSERT_NOT_NULL(mock->test, qp);
	qp->ibqp.device = &mock->dev->ib_dev;
	qp->ibqp.qp_type = type;
	idx = mock_enter(mock);
	err = mlx5_ib_create_qp(&qp->ibqp, &init, udata);
	mock_leave(mock, idx);
	KUNIT_EXPECT_EQ_MSG(mock->test, err, qp->ops ? -EINVAL : -EOPNOTSUPP, "type %u", type);
	return qp->ops;
}

static void kind_is_chosen_by_type_and_consumer(struct kunit *test)
{
	static const struct {
		enum ib_qp_type type;
		const struct mlx5_ib_qp_ops *of_process, *of_kernel;
	} kinds[] = {
		{ IB_QPT_SMI, NULL, &mlx5_ib_kernel_qp_ops },
		{ IB_QPT_GSI, NULL, &mlx5_ib_gsi_ops },
		{ IB_QPT_RC, &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
		{ IB_QPT_UC, &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
		{ IB_QPT_UD, &mlx5_ib_user_qp_ops, &mlx5_ib_kernel_qp_ops },
		{ IB_QPT_RAW_IPV6 }, { IB_QPT_RAW_ETHERTYPE }, { IB_QPT_RAW_PACKET },
		{ IB_QPT_XRC_INI, &mlx5_ib_user_qp_ops },
		{ IB_QPT_MAX }, { IB_QPT_DRIVER },
	};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;
	unsigned int i;

	mock_open(mock);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		KUNIT_EXPECT_PTR_EQ(test, kind(mock, kinds[i].type, mock_udata(mock, NULL, 0, 0)),
				    kinds[i].of_process);
		KUNIT_EXPECT_PTR_EQ(test, kind(mock, kinds[i].type, NULL), kinds[i].of_kernel);
	}
	/* create_kunit.c creates XRC targets as ib_core does, without a process. */
	KUNIT_EXPECT_NULL(test, kind(mock, IB_QPT_XRC_TGT, mock_udata(mock, NULL, 0, 0)));
	/* A type that the device does not have is of no kind. */
	MOCK_SET_CAP(caps, ud, 0);
	MOCK_SET_CAP(caps, xrc, 0);
	KUNIT_EXPECT_NULL(test, kind(mock, IB_QPT_GSI, NULL));
	KUNIT_EXPECT_NULL(test, kind(mock, IB_QPT_XRC_TGT, NULL));
	/* Raw packets need an Ethernet port, and a process that sends and receives them. */
	mock_set_raw_packets(caps);
	KUNIT_EXPECT_PTR_EQ(test, kind(mock, IB_QPT_RAW_PACKET, mock_udata(mock, NULL, 0, 0)),
			    &mlx5_ib_raw_qp_ops);
	KUNIT_EXPECT_NULL(test, kind(mock, IB_QPT_RAW_PACKET, NULL));
	mock_close(mock);
}

static void requests_are_posted_by_the_kind(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_init_attr init = {};
	struct ib_send_wr second = {}, first = { .next = &second };
	const struct ib_send_wr *bad = NULL;

	env->qp.ibqp.device = &env->mock->dev->ib_dev;
	KUNIT_ASSERT_EQ(test, mlx5_ib_qp_create(&env->qp, &poster_ops, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_post_send(&env->qp.ibqp, &first, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, env->posted, &first);
	KUNIT_EXPECT_PTR_EQ(test, bad, &second);
	finish(test, env);
}

/* ---- a kind of several objects -------------------------------------------------------------- */

static void split_qp_is_created_modified_queried_and_destroyed(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 4);
	KUNIT_EXPECT_EQ(test, num_live(env), 4);
	KUNIT_EXPECT_EQ(test, query(env, &env->qp, &attr), IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_wr, 8);

	KUNIT_EXPECT_EQ(test, modify(env, &env->qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, query(env, &env->qp, &attr), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 2);

	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 4);
	finish(test, env);
}

static void refused_create_leaves_nothing(struct kunit *test)
{
	struct env *env = make_env(test);
	unsigned int i;

	for (i = 1; i <= 4; i++) {
		env->mock->refuse = i;
		KUNIT_EXPECT_EQ(test, create(env, &env->qp, false), env->mock->refuse_err);
		env->mock->refuse = 0;
		/* The refused command, and two commands for each object that existed. */
		KUNIT_EXPECT_EQ(test, env->mock->num_commands, 2 * i - 1);
		expect_nothing(test, env);
	}
	KUNIT_EXPECT_EQ(test, create(env, &env->qp, true), -EFAULT);
	finish(test, env);
}

static void refused_unwinding_leaves_orphans(struct kunit *test)
{
	struct env *env = make_env(test);

	env->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, create(env, &env->qp, true), -EFAULT);
	KUNIT_EXPECT_EQ(test, num_live(env), 4);
	KUNIT_EXPECT_GT(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->mock->dev->rsc_table.rscs));
	/*
	 * The count of requests to destroy a part in use: the driver must make none of these from
	 * now on.
	 */
	env->in_use = 0;
	env->mock->refuse_destroy = false;
	mlx5_ib_orphans_retry(env->mock->dev, env->mock->context);
	mlx5_ib_orphans_retry(env->mock->dev, NULL);
	finish(test, env);
}

static void refused_modify_changes_no_part(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_attr attr;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	for (i = 1; i <= 2; i++) {
		env->mock->refuse = i;
		KUNIT_EXPECT_EQ(test, modify(env, &env->qp, IB_QPS_RTS), env->mock->refuse_err);
		env->mock->refuse = 0;
		KUNIT_EXPECT_EQ(test, env->state[RQ], MLX5_RQC_STATE_RST);
		KUNIT_EXPECT_EQ(test, env->state[SQ], MLX5_SQC_STATE_RST);
		KUNIT_EXPECT_EQ(test, env->qp.state, IB_QPS_RESET);
	}
	for (i = 1; i <= 2; i++) {
		env->mock->refuse = i;
		KUNIT_EXPECT_EQ(test, query(env, &env->qp, &attr), env->mock->refuse_err);
		env->mock->refuse = 0;
	}
	KUNIT_EXPECT_EQ(test, modify(env, &env->qp, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	finish(test, env);
}

static void refused_destroy_goes_on_where_it_stopped(struct kunit *test)
{
	struct env *env = make_env(test);
	unsigned int i;

	for (i = 1; i <= 4; i++) {
		KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
		env->mock->refuse = i;
		KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), env->mock->refuse_err);
		env->mock->refuse = 0;
		KUNIT_EXPECT_EQ(test, num_live(env), 5 - i);
		KUNIT_EXPECT_GT(test, mock_num_pinned(), 0);
		/* The refused command is sent again, and then those that come after it. */
		KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
		KUNIT_EXPECT_EQ(test, env->mock->num_commands, 5 - i);
		expect_nothing(test, env);
	}
	finish(test, env);
}

static void parts_that_were_destroyed_early_are_left_out(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_attr attr;
	unsigned int i;

	/* In the last round nothing is refused. */
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
		env->mock->refuse = i;
		destroy_early(test, env, &env->qp);
		env->mock->refuse = 0;
		KUNIT_EXPECT_EQ(test, env->mock->num_commands, 2);
		KUNIT_EXPECT_EQ(test, num_live(env), i <= 2 ? 3 : 2);
		/* No other command names the queue pair, and a second early destroy sends none. */
		KUNIT_EXPECT_EQ(test, query(env, &env->qp, &attr), -EAGAIN);
		destroy_early(test, env, &env->qp);
		KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
		KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
		KUNIT_EXPECT_EQ(test, env->mock->num_commands, i <= 2 ? 3 : 2);
		expect_nothing(test, env);
	}
	finish(test, env);
}

static void fail_event(struct mlx5_ib_rsc *rsc, enum ib_event_type type)
{
	KUNIT_FAIL(the_env->mock->test, "an SRQ gets the event of another queue");
}

static const struct mlx5_ib_rsc_ops srq_ops = {
	.type = MLX5_RES_SRQ, .name = "SRQ", .destroy_op = MLX5_CMD_OP_DESTROY_PSV,
	.event = fail_event,
};

static int raise_event(struct env *env, u8 queue_type, u32 number)
{
	struct mlx5_ib_rsc_table *table = &env->mock->dev->rsc_table;
	struct mlx5_eqe eqe = {};
	int ret;

	eqe.data.qp_srq.type = queue_type;
	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(number);
	ret = mlx5_ib_rsc_event(&table->nb, MLX5_EVENT_TYPE_WQ_ACCESS_ERROR, &eqe);
	flush_workqueue(table->wq);
	return ret;
}

static void events_of_each_queue_reach_the_consumer(struct kunit *test)
{
	struct env *env = make_env(test);
	u32 number = num_of(RQ);
	struct mlx5_ib_rsc srq = { .dev = env->mock->dev, .ops = &srq_ops, .num = number };

	KUNIT_ASSERT_EQ(test, mlx5_ib_rsc_add(&srq), 0);
	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_QP, number), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_DCT, number), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, number + 1), NOTIFY_DONE);
	/* An event of a work queue is not delivered to an SRQ, even if its type field says SRQ. */
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_RES_SRQ, number), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, env->events, 0);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, number), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 1);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_SQ, number), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 2);
	KUNIT_EXPECT_EQ(test, env->last, IB_EVENT_QP_ACCESS_ERR);

	/*
	 * Refuse the third command, which destroys the SQ: the RQ is gone, but the SQ still has
	 * events.
	 */
	env->mock->refuse = 3;
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), env->mock->refuse_err);
	env->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, number), NOTIFY_DONE);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_SQ, number), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 3);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&srq), 0);
	finish(test, env);
}

/* ---- a kind without an object before RTR ---------------------------------------------------- */

static void late_qp_sends_no_command_before_rtr(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	KUNIT_EXPECT_EQ(test, query(env, &env->late, &attr), IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_wr, 5);
	KUNIT_EXPECT_EQ(test, modify(env, &env->late, IB_QPS_INIT), 0);
	KUNIT_EXPECT_EQ(test, query(env, &env->late, &attr), IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, create(env, &env->late, true), -EFAULT);

	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	destroy_early(test, env, &env->late);
	KUNIT_EXPECT_EQ(test, query(env, &env->late, &attr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	finish(test, env);
}

static void late_qp_is_created_and_destroyed_with_its_object(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	KUNIT_EXPECT_EQ(test, modify(env, &env->late, IB_QPS_INIT), 0);
	env->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, modify(env, &env->late, IB_QPS_RTR), env->mock->refuse_err);
	env->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, query(env, &env->late, &attr), IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, modify(env, &env->late, IB_QPS_RTR), 0);
	KUNIT_EXPECT_EQ(test, query(env, &env->late, &attr), IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, num_live(env), 1);

	env->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), env->mock->refuse_err);
	destroy_early(test, env, &env->late);
	env->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, num_live(env), 1);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	finish(test, env);
}

/* ---- other users of queue pairs ------------------------------------------------------------- */

/* When a process ends, ib_core calls ufile_hw_cleanup() first, and then destroys each object. */
static void process_with_both_kinds_ends(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_uverbs_file *file = env->mock->attrs->ufile;
	struct uverbs_api_object object = { .id = UVERBS_OBJECT_QP };
	struct ib_uobject split = { .uapi_object = &object, .object = &env->qp.ibqp };
	struct ib_uobject late = { .uapi_object = &object, .object = &env->late.ibqp };

	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	KUNIT_ASSERT_EQ(test, modify(env, &env->late, IB_QPS_RTR), 0);
	INIT_LIST_HEAD(&file->uobjects);
	list_add(&split.list, &file->uobjects);
	list_add(&late.list, &file->uobjects);
	file->ucontext = &env->mock->context->ibucontext;
	env->mock->num_commands = 0;
	env->in_batch = true;
	mlx5_ib_ufile_hw_cleanup(file);
	env->in_batch = false;
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, num_live(env), 2);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	finish(test, env);
}

static bool shows(struct sk_buff *msg, const char *name)
{
	unsigned int i, len = strlen(name) + 1;

	for (i = 0; i + len <= msg->len; i++)
		if (!memcmp(msg->data + i, name, len))
			return true;
	return false;
}

static void resource_tracking_goes_on_after_both_kinds(struct kunit *test)
{
	struct env *env = make_env(test);
	struct sk_buff *msg = alloc_skb(PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, msg);
	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_qp_entry_raw(msg, &env->qp.ibqp), -EAGAIN);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_qp_entry_raw(msg, &env->late.ibqp), -EAGAIN);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_qp_entry(msg, &env->late.ibqp), 0);
	KUNIT_EXPECT_TRUE(test, shows(msg, "uid"));
	KUNIT_EXPECT_FALSE(test, shows(msg, "uar"));
	/* The queues of a split queue pair have a doorbell. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_res_qp_entry(msg, &env->qp.ibqp), 0);
	KUNIT_EXPECT_TRUE(test, shows(msg, "uar"));
	kfree_skb(msg);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	finish(test, env);
}

/* A number of a split or a late queue pair may be the number of another process's QP. */
static void number_of_another_kind_names_no_qp(struct kunit *test)
{
	struct env *env = make_env(test);
	struct uverbs_api_object object = { .id = UVERBS_OBJECT_QP };
	struct ib_uobject split = { .uapi_object = &object, .object = &env->qp.ibqp };
	struct ib_uobject late = { .uapi_object = &object, .object = &env->late.ibqp };
	struct mlx5_ib_devx_id id;

	KUNIT_ASSERT_EQ(test, create(env, &env->qp, false), 0);
	KUNIT_ASSERT_EQ(test, create(env, &env->late, false), 0);
	KUNIT_ASSERT_EQ(test, modify(env, &env->late, IB_QPS_RTR), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&split, &id), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&late, &id), -EINVAL);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->qp, 7), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->late, 7), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->late), 0);
	KUNIT_EXPECT_EQ(test, destroy(env, &env->qp), 0);
	finish(test, env);
}

static struct kunit_case qp_kinds_cases[] = {
	KUNIT_CASE(kind_is_chosen_by_type_and_consumer),
	KUNIT_CASE(requests_are_posted_by_the_kind),
	KUNIT_CASE(split_qp_is_created_modified_queried_and_destroyed),
	KUNIT_CASE(refused_create_leaves_nothing),
	KUNIT_CASE(refused_unwinding_leaves_orphans),
	KUNIT_CASE(refused_modify_changes_no_part),
	KUNIT_CASE(refused_destroy_goes_on_where_it_stopped),
	KUNIT_CASE(parts_that_were_destroyed_early_are_left_out),
	KUNIT_CASE(events_of_each_queue_reach_the_consumer),
	KUNIT_CASE(late_qp_sends_no_command_before_rtr),
	KUNIT_CASE(late_qp_is_created_and_destroyed_with_its_object),
	KUNIT_CASE(process_with_both_kinds_ends),
	KUNIT_CASE(resource_tracking_goes_on_after_both_kinds),
	KUNIT_CASE(number_of_another_kind_names_no_qp),
	{}
};

static struct kunit_suite qp_kinds_suite = {
	.name = "bluebell_qp_kinds",
	.test_cases = qp_kinds_cases,
};

kunit_test_suite(qp_kinds_suite);
