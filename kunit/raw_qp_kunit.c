// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the verbs of queues for raw packets: states and rates of queue pairs and work
 * queues, events, and what the process's own commands can name. create_kunit.c has the creation and
 * destruction of these objects when something fails.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/workqueue.h>

#include "../../../core/uverbs.h"
#include "devx/devx_obj.h"
#include "fw/fw.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/rsc.h"
#include "verbs/qp.h"
#include "verbs/raw_qp.h"
#include "verbs/rwq.h"

#define RATE_INDEX	0x77
#define RST		MLX5_RQC_STATE_RST
#define RDY		MLX5_RQC_STATE_RDY
#define ERR		MLX5_RQC_STATE_ERR

/**
 * struct env - a device with one queue of each kind
 * @o: the objects
 * @sq: state of the SQ
 * @rq: state of the RQ
 * @num_rates: rates that have been added, and not removed
 * @rate: the last rate that was added
 * @rate_uid: the user that the rate is for
 * @refuse_rate: errno of the next rate; 0 for none
 * @fail_op: command that firmware does not execute; 0 for none
 * @fail_err: errno of @fail_op
 * @events: number of events that a consumer has been told of
 * @event: the last of these events
 */
struct env {
	struct objects *o;
	u8 sq, rq;
	int num_rates;
	u32 rate[MLX5_ST_SZ_DW(set_pp_rate_limit_context)];
	u16 rate_uid;
	int refuse_rate;
	u16 fail_op;
	int fail_err;
	unsigned int events;
	struct ib_event event;
};

static struct env *the_env;

static int modify_queue(struct env *env, const void *in, u8 *state)
{
	KUNIT_EXPECT_EQ(env->o->mock->test, MLX5_GET(modify_rq_in, in, rq_state), *state);
	*state = MLX5_GET(modify_rq_in, in, ctx.state);
	return 0;
}

/* Firmware with states of queues: a command has to name the state that a queue has. */
static int raw_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		  mlx5_ib_fw_send_t send, void *arg)
{
	u16 opcode = MLX5_GET(modify_rq_in, in, opcode);
	struct env *env = the_env;
	int err;

	if (opcode == env->fail_op)
		return env->fail_err;
	err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	if (err)
		return err;
	switch (opcode) {
	case MLX5_CMD_OP_CREATE_SQ:
		env->sq = RST;
		break;
	case MLX5_CMD_OP_CREATE_RQ:
		env->rq = RST;
		break;
	case MLX5_CMD_OP_MODIFY_SQ:
		return modify_queue(env, in, &env->sq);
	case MLX5_CMD_OP_MODIFY_RQ:
		return modify_queue(env, in, &env->rq);
	case MLX5_CMD_OP_QUERY_SQ:
		MLX5_SET(query_sq_out, out, sq_context.state, env->sq);
		break;
	case MLX5_CMD_OP_QUERY_RQ:
		MLX5_SET(query_rq_out, out, rq_context.state, env->rq);
		break;
	case MLX5_CMD_OP_SET_PP_RATE_LIMIT:
		env->num_rates--;
		break;
	}
	return 0;
}

static int add_rate(struct mlx5_ib_dev *dev, u16 uid, void *rate, bool dedicated, u16 *index)
{
	struct env *env = the_env;

	KUNIT_EXPECT_FALSE(env->o->mock->test, dedicated);
	if (env->refuse_rate)
		return env->refuse_rate;
	memcpy(env->rate, rate, sizeof(env->rate));
	env->rate_uid = uid;
	env->num_rates++;
	*index = RATE_INDEX;
	return 0;
}

static void take_event(struct ib_event *event, void *context)
{
	struct env *env = context;

	env->events++;
	env->event = *event;
}

static void free_workqueue(void *wq)
{
	destroy_workqueue(wq);
}

static struct env *make_env(struct kunit *test)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	struct mlx5_ib_rsc_table *table;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->o = objects_make(test);
	env->o->ctx_flags = MLX5_IB_ALLOC_UCTX_DEVX;
	the_env = env;
	table = &env->o->mock->dev->rsc_table;
	table->wq = alloc_workqueue("bluebell_raw_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, table->wq);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_workqueue, table->wq));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, raw_fw);
	kunit_activate_static_stub(test, mlx5_ib_fw_add_rate, add_rate);
	return env;
}

static struct env *make_qp(struct kunit *test, enum object_id id)
{
	struct env *env = make_env(test);
	struct ib_qp *ibqp = &env->o->qp.ibqp;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, id), 0);
	ibqp->real_qp = ibqp;
	ibqp->port = 1;
	ibqp->event_handler = take_event;
	ibqp->qp_context = env;
	return env;
}

static void finish(struct kunit *test, struct env *env)
{
	KUNIT_EXPECT_EQ(test, objects_destroy_all(env->o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(env->o->mock), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&env->o->mock->dev->rsc_table.rscs));
}

static int modify(struct env *env, struct ib_qp_attr *attr, int mask)
{
	env->o->mock->num_commands = 0;
	return mlx5_ib_modify_qp(&env->o->qp.ibqp, attr, mask, objects_udata(env->o, NULL, 0, 0));
}

static int to_state(struct env *env, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return modify(env, &attr, IB_QP_STATE | (state == IB_QPS_INIT ? IB_QP_PORT : 0));
}

static int to_rts(struct env *env)
{
	return to_state(env, IB_QPS_INIT) ?: to_state(env, IB_QPS_RTR) ?:
	       to_state(env, IB_QPS_RTS);
}

static int query(struct env *env, struct ib_qp_attr *attr)
{
	struct ib_qp_init_attr init;

	env->o->mock->num_commands = 0;
	return mlx5_ib_query_qp(&env->o->qp.ibqp, attr, 1, &init);
}

/* ---- states --------------------------------------------------------------------------------- */

static void answer_tells_the_number_of_each_object(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mlx5_ib_create_qp_resp resp;
	u32 tirn;

	mock_read_answer(env->o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask,
			MLX5_IB_CREATE_QP_RESP_MASK_TIRN | MLX5_IB_CREATE_QP_RESP_MASK_TISN |
			MLX5_IB_CREATE_QP_RESP_MASK_RQN | MLX5_IB_CREATE_QP_RESP_MASK_SQN);
	KUNIT_EXPECT_EQ(test, resp.tirn, to_raw(&env->o->qp)->tir.num);
	KUNIT_EXPECT_EQ(test, resp.tisn, to_raw(&env->o->qp)->tis.num);
	KUNIT_EXPECT_EQ(test, resp.rqn, to_raw(&env->o->qp)->rq.num);
	KUNIT_EXPECT_EQ(test, resp.sqn, to_raw(&env->o->qp)->sq.num);
	KUNIT_EXPECT_EQ(test, env->o->qp.ibqp.qp_num, resp.sqn);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_tirn(&env->o->qp, &tirn), 0);
	KUNIT_EXPECT_EQ(test, tirn, resp.tirn);
	finish(test, env);

	env = make_qp(test, OBJ_SENDER);
	mock_read_answer(env->o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask,
			MLX5_IB_CREATE_QP_RESP_MASK_TISN | MLX5_IB_CREATE_QP_RESP_MASK_SQN);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_tirn(&env->o->qp, &tirn), -EINVAL);
	finish(test, env);
}

static u32 tirn_of(struct env *env)
{
	u32 tirn = 0;

	return mlx5_ib_qp_tirn(&env->o->qp, &tirn) ? 0 : tirn;
}

/*
 * Firmware destroys the TIR, but then refuses to destroy the RQ, so the process keeps its handle of
 * the queue pair. The TIR's number may be another user's by now: no rule may name it.
 */
static void rule_cannot_name_a_tir_that_is_gone(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mock *mock = env->o->mock;
	u32 tirn;

	mock->num_commands = 0;
	mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, objects_destroy(env->o, OBJ_RAW_QP), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_DESTROY_RQ);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_tirn(&env->o->qp, &tirn), -EINVAL);
	mock->refuse = 0;
	finish(test, env);
}

/* Firmware has refused to destroy the TIR, or has not answered. */
static void rule_cannot_name_a_tir_that_may_be_gone(struct kunit *test)
{
	static const enum object_id ids[] = { OBJ_RAW_QP, OBJ_RSS_QP };
	struct mock *mock;
	struct env *env;
	unsigned int i;
	u32 tirn;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		env = make_qp(test, ids[i]);
		mock = env->o->mock;
		mock->refuse_destroy = true;
		KUNIT_EXPECT_EQ(test, objects_destroy(env->o, ids[i]), mock->refuse_err);
		KUNIT_EXPECT_NE(test, tirn_of(env), 0);
		mock->refuse_err = -ETIMEDOUT;
		KUNIT_EXPECT_EQ(test, objects_destroy(env->o, ids[i]), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, mlx5_ib_qp_tirn(&env->o->qp, &tirn), -EIO);
		mock->refuse_destroy = false;
		finish(test, env);
	}
}

/* Firmware's errno, -ENOSPC, would be that of a full table of rates. */
static void process_gets_no_transport_domain_if_all_are_in_use(struct kunit *test)
{
	struct env *env = make_env(test);

	KUNIT_ASSERT_EQ(test, objects_need(env->o, OBJ_TD), 0);
	env->fail_op = MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN;
	env->fail_err = -ENOSPC;
	KUNIT_EXPECT_EQ(test, objects_create(env->o, OBJ_TD), -ENOMEM);
	env->fail_op = 0;
	KUNIT_EXPECT_EQ(test, objects_create(env->o, OBJ_TD), 0);
	finish(test, env);
}

static void queues_follow_the_state_of_the_queue_pair(struct kunit *test)
{
	static const struct {
		enum ib_qp_state state;
		u8 sq, rq;
		unsigned int commands;
	} steps[] = {
		{ IB_QPS_INIT, RST, RDY, 1 }, { IB_QPS_RTR, RST, RDY, 0 },
		{ IB_QPS_RTS, RDY, RDY, 1 }, { IB_QPS_ERR, ERR, ERR, 4 },
		{ IB_QPS_RESET, RST, RST, 4 }, { IB_QPS_RESET, RST, RST, 2 },
		{ IB_QPS_INIT, RST, RDY, 1 },
	};
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct ib_qp_attr attr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		KUNIT_EXPECT_EQ_MSG(test, to_state(env, steps[i].state), 0, "step %u", i);
		KUNIT_EXPECT_EQ_MSG(test, env->o->mock->num_commands, steps[i].commands,
				    "step %u", i);
		KUNIT_EXPECT_EQ_MSG(test, env->sq, steps[i].sq, "step %u", i);
		KUNIT_EXPECT_EQ_MSG(test, env->rq, steps[i].rq, "step %u", i);
		KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
		KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 2);
		KUNIT_EXPECT_EQ(test, attr.qp_state, steps[i].state);
		KUNIT_EXPECT_EQ(test, attr.port_num, 1);
	}
	finish(test, env);
}

static void queue_pair_that_only_sends_has_one_queue_to_change(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_SENDER);
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(test, to_rts(env), 0);
	KUNIT_EXPECT_EQ(test, env->sq, RDY);
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 1);
	env->sq = ERR;
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_ERR);
	finish(test, env);
}

/* The device takes a queue that fails to ERR. The commands that follow name the state ERR. */
static void failed_queue_is_found_by_a_query_and_reset(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	env->sq = ERR;
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_SQE);
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_RTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_RESET), 0);
	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	/* Without a query in between. */
	env->rq = ERR;
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, env->rq, RST);
	finish(test, env);
}

static void refused_change_leaves_both_queues_as_they_were(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mock *mock = env->o->mock;
	struct ib_qp_attr attr;

	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_INIT), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, env->rq, RST);
	KUNIT_EXPECT_EQ(test, env->o->qp.state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, query(env, &attr), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_INIT), 0);
	mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, query(env, &attr), mock->refuse_err);
	/* Any of the four commands of a change to ERR: the change can be repeated. */
	for (mock->refuse = 1; mock->refuse <= 4; mock->refuse++) {
		KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_ERR), mock->refuse_err);
		KUNIT_EXPECT_EQ(test, env->o->qp.state, IB_QPS_INIT);
		if (mock->refuse >= 3)
			break;
	}
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_ERR), 0);
	KUNIT_EXPECT_EQ(test, env->sq, ERR);
	KUNIT_EXPECT_EQ(test, env->rq, ERR);
	finish(test, env);
}

static void attributes_that_raw_packets_lack_are_refused(struct kunit *test)
{
	struct mlx5_ib_modify_qp ucmd = { .ece_options = 1 };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct ib_qp *ibqp = &env->o->qp.ibqp;
	const int mask = IB_QP_STATE | IB_QP_PORT;
	int idx;

	env->o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, modify(env, &attr, mask | 1 << 30), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, modify(env, &attr, mask | IB_QP_QKEY), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify(env, &attr, mask | IB_QP_RATE_LIMIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(ibqp, &attr, mask,
						objects_udata(env->o, &ucmd, sizeof(ucmd), 0)),
			-EINVAL);
	ucmd = (struct mlx5_ib_modify_qp){ .burst_info.max_burst_sz = 1 };
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(ibqp, &attr, mask,
						objects_udata(env->o, &ucmd, sizeof(ucmd), 0)),
			-EINVAL);
	ucmd = (struct mlx5_ib_modify_qp){ .comp_mask = MLX5_IB_MODIFY_QP_OOO_DP };
	idx = mock_enter(env->o->mock);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_qp(ibqp, &attr, mask,
						objects_udata(env->o, &ucmd, sizeof(ucmd), 0)),
			-EOPNOTSUPP);
	mock_leave(env->o->mock, idx);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_INIT), 0);
	finish(test, env);
}

/* ---- rates ---------------------------------------------------------------------------------- */

static void offer_pacing(struct env *env)
{
	struct mlx5_core_dev *mdev = env->o->mock->dev->mdev;

	mdev->priv.rl_table.max_size = 10;
	mdev->priv.rl_table.min_rate = 100;
	mdev->priv.rl_table.max_rate = 1000;
}

static int set_rate(struct env *env, u32 kbps)
{
	struct ib_qp_attr attr = { .rate_limit = kbps };

	return modify(env, &attr, IB_QP_RATE_LIMIT);
}

static void rate_is_set_changed_and_cleared(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mock *mock = env->o->mock;
	struct ib_qp_attr attr;

	offer_pacing(env);
	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	KUNIT_EXPECT_EQ(test, set_rate(env, 500), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(set_pp_rate_limit_context, env->rate, rate_limit), 500);
	/* MODIFY_SQ from RDY to RDY with the index. */
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_MODIFY_SQ);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x08),
			0x10000000 | to_raw(&env->o->qp)->sq.num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 1);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20), 0x00100000);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20 + 0x1c), RATE_INDEX);
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.rate_limit, 500);
	/* The old rate is released after the queue has the new one. */
	KUNIT_EXPECT_EQ(test, set_rate(env, 600), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 1);
	KUNIT_EXPECT_EQ(test, set_rate(env, 0), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);
	KUNIT_EXPECT_EQ(test, set_rate(env, 700), 0);
	/* In RESET there is no rate. */
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);
	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	KUNIT_EXPECT_EQ(test, set_rate(env, 800), 0);
	finish(test, env);
}

static void rate_that_cannot_be_set_is_released(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mock *mock = env->o->mock;

	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	KUNIT_EXPECT_EQ(test, set_rate(env, 500), -EOPNOTSUPP);
	offer_pacing(env);
	KUNIT_EXPECT_EQ(test, set_rate(env, 99), -EINVAL);
	KUNIT_EXPECT_EQ(test, set_rate(env, 1001), -EINVAL);
	env->refuse_rate = -ENOSPC;
	KUNIT_EXPECT_EQ(test, set_rate(env, 500), -ENOSPC);
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);
	env->refuse_rate = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, set_rate(env, 500), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);
	finish(test, env);
}

/* The SQ may have the rate, so the rate stays in the device's table until this is known. */
static void rate_of_an_unanswered_change_is_released(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);

	offer_pacing(env);
	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	KUNIT_ASSERT_EQ(test, set_rate(env, 500), 0);
	env->fail_op = MLX5_CMD_OP_MODIFY_SQ;
	env->fail_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, set_rate(env, 600), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, env->num_rates, 2);
	/* Before a third rate is found, the SQ must have one of the two. */
	KUNIT_EXPECT_EQ(test, set_rate(env, 700), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, env->num_rates, 2);
	env->fail_op = 0;
	KUNIT_EXPECT_EQ(test, set_rate(env, 700), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(set_pp_rate_limit_context, env->rate, rate_limit), 700);

	/* In RESET there is no rate, whichever the SQ had. */
	env->fail_op = MLX5_CMD_OP_MODIFY_SQ;
	KUNIT_EXPECT_EQ(test, set_rate(env, 800), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, env->num_rates, 2);
	env->fail_op = 0;
	KUNIT_EXPECT_EQ(test, to_state(env, IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, env->num_rates, 0);

	/* finish() destroys the queue pair, and expects no rate. */
	KUNIT_ASSERT_EQ(test, to_rts(env), 0);
	env->fail_op = MLX5_CMD_OP_MODIFY_SQ;
	KUNIT_EXPECT_EQ(test, set_rate(env, 900), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, env->num_rates, 1);
	env->fail_op = 0;
	finish(test, env);
}

/* ---- queues that may be gone ---------------------------------------------------------------- */

/* Resource tracking goes on with the next queue pair only after -EAGAIN. */
static void queue_pair_that_may_be_gone_hides_no_other(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct ib_qp *ibqp = &env->o->qp.ibqp;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	env->fail_op = MLX5_CMD_OP_DESTROY_RQ;
	env->fail_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, objects_destroy(env->o, OBJ_RAW_QP), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, query(env, &attr), -EIO);
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_qp(ibqp, &attr, 0, &init), -EAGAIN);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);

	/* The RQ is destroyed, and the SQ is not: the queue pair can be queried again. */
	env->fail_op = MLX5_CMD_OP_DESTROY_SQ;
	env->fail_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, objects_destroy(env->o, OBJ_RAW_QP), -EBUSY);
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, env->o->mock->opcode, MLX5_CMD_OP_QUERY_SQ);
	env->fail_op = 0;
	finish(test, env);
}

/* ---- events --------------------------------------------------------------------------------- */

static int raise_event(struct env *env, u8 queue_type, u32 number)
{
	struct mlx5_ib_rsc_table *table = &env->o->mock->dev->rsc_table;
	struct mlx5_eqe eqe = {};
	int ret;

	eqe.data.qp_srq.type = queue_type;
	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(number);
	ret = mlx5_ib_rsc_event(&table->nb, MLX5_EVENT_TYPE_WQ_CATAS_ERROR, &eqe);
	flush_workqueue(table->wq);
	return ret;
}

static void event_of_a_queue_is_one_of_the_queue_pair(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mlx5_ib_raw_qp *raw = to_raw(&env->o->qp);

	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_SQ, raw->sq.num), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, raw->rq.num), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 2);
	KUNIT_EXPECT_EQ(test, env->event.event, IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_PTR_EQ(test, env->event.element.qp, &env->o->qp.ibqp);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_QP, raw->sq.num),
			NOTIFY_DONE);
	finish(test, env);
}

/* The handler of ib_core needs the uobject, which ib_core sets after the queue has been created. */
static void event_of_a_wq_is_fatal(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_uwq_object uobj = {};
	struct ib_wq *wq;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_WQ), 0);
	wq = env->o->wq;
	wq->event_handler = take_event;
	wq->wq_context = env;
	KUNIT_ASSERT_NULL(test, wq->uobject);
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, wq->wq_num), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 0);
	wq->uobject = &uobj;
	KUNIT_EXPECT_EQ(test, raise_event(env, MLX5_EVENT_QUEUE_TYPE_RQ, wq->wq_num), NOTIFY_OK);
	KUNIT_EXPECT_EQ(test, env->events, 1);
	KUNIT_EXPECT_EQ(test, env->event.event, IB_EVENT_WQ_FATAL);
	KUNIT_EXPECT_PTR_EQ(test, env->event.element.wq, env->o->wq);
	finish(test, env);
}

/* ---- what other commands name --------------------------------------------------------------- */

static void command_names_one_object_of_the_queue_pair(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mlx5_ib_raw_qp *raw = to_raw(&env->o->qp);
	struct uverbs_api_object object = { .id = UVERBS_OBJECT_QP };
	struct ib_uobject uobj = {
		.uapi_object = &object, .object = &env->o->qp.ibqp,
		.context = &env->o->mock->context->ibucontext,
	};
	const struct {
		u16 opcode;
		u8 kind;
		u32 num;
	} parts[] = {
		{ MLX5_CMD_OP_QUERY_SQ, MLX5_IB_DEVX_SQ, raw->sq.num },
		{ MLX5_CMD_OP_MODIFY_RQ, MLX5_IB_DEVX_RQ, raw->rq.num },
		{ MLX5_CMD_OP_QUERY_TIS, MLX5_IB_DEVX_TIS, raw->tis.num },
		{ MLX5_CMD_OP_MODIFY_TIR, MLX5_IB_DEVX_TIR, raw->tir.num },
	};
	u32 in[MLX5_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	struct mlx5_ib_devx_id id;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		MLX5_SET(general_obj_in_cmd_hdr, in, opcode, parts[i].opcode);
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify_for(&uobj, in, sizeof(in), &id), 0);
		KUNIT_EXPECT_EQ(test, id.kind, parts[i].kind);
		KUNIT_EXPECT_EQ(test, id.num, parts[i].num);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify_for(&uobj, in, 4, &id), -EINVAL);
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_QUERY_QP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify_for(&uobj, in, sizeof(in), &id), -EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), -EINVAL);
	finish(test, env);
}

static void command_names_wq_table_and_tir(struct kunit *test)
{
	struct env *env = make_env(test);
	struct uverbs_api_object object = {};
	struct ib_uobject uobj = {
		.uapi_object = &object, .context = &env->o->mock->context->ibucontext,
	};
	u32 in[MLX5_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	struct mlx5_ib_devx_id id;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_RSS_QP), 0);
	object.id = UVERBS_OBJECT_WQ;
	uobj.object = env->o->wq;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), 0);
	KUNIT_EXPECT_EQ(test, id.kind, MLX5_IB_DEVX_RQ);
	KUNIT_EXPECT_EQ(test, id.num, env->o->wq->wq_num);
	object.id = UVERBS_OBJECT_RWQ_IND_TBL;
	uobj.object = &env->o->rqt.ibrqt;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), 0);
	KUNIT_EXPECT_EQ(test, id.kind, MLX5_IB_DEVX_RQT);
	KUNIT_EXPECT_EQ(test, id.num, env->o->rqt.ibrqt.ind_tbl_num);
	object.id = UVERBS_OBJECT_QP;
	uobj.object = &env->o->qp.ibqp;
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_QUERY_TIR);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify_for(&uobj, in, sizeof(in), &id), 0);
	KUNIT_EXPECT_EQ(test, id.num, tirn_of(env));
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_QUERY_RQ);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify_for(&uobj, in, sizeof(in), &id), -EINVAL);
	finish(test, env);
}

static void counter_set_is_that_of_the_receive_queue(struct kunit *test)
{
	struct env *env = make_qp(test, OBJ_RAW_QP);
	struct mock *mock = env->o->mock;

	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->o->qp, 7), -EOPNOTSUPP);
	MOCK_SET_CAP(&mock->dev->caps, modify_rq_counter_set_id, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_qp_set_counter(&env->o->qp, 7), 0);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_MODIFY_RQ);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 8);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20 + 0x0c), 0x07000000);
	finish(test, env);
}

static void rss_queue_pair_receives_from_the_start(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct env *env = make_env(test);
	struct mlx5_ib_create_qp_resp resp;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_RSS_QP), 0);
	mock_read_answer(env->o->mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask, MLX5_IB_CREATE_QP_RESP_MASK_TIRN);
	KUNIT_EXPECT_EQ(test, resp.tirn, tirn_of(env));
	/* A QP can have the number of the TIR, and resource tracking would hide one of them. */
	KUNIT_EXPECT_GE(test, env->o->qp.ibqp.qp_num, 0x800000);
	KUNIT_EXPECT_EQ(test, modify(env, &attr, IB_QP_STATE | IB_QP_PORT), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, query(env, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	finish(test, env);
}

static void table_is_for_raw_packets_only(struct kunit *test)
{
	struct env *env = make_env(test);
	struct ib_qp_init_attr init = { .qp_type = IB_QPT_RC, .rwq_ind_tbl = &env->o->rqt.ibrqt };
	const struct mlx5_ib_create_qp_rss ucmd = {
		.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ, .rx_key_len = 40,
		.rx_hash_fields_mask = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4,
	};
	struct mlx5_ib_qp *qp = &env->o->qp;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_RQT), 0);
	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = &env->o->mock->dev->ib_dev;
	qp->ibqp.pd = &env->o->pd.ibpd;
	env->o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_qp(&qp->ibqp, &init,
						objects_udata(env->o, NULL, 0, 0)), -EOPNOTSUPP);
	/* A queue pair with a table does not send. */
	init.qp_type = IB_QPT_RAW_PACKET;
	init.cap.max_send_wr = 1;
	init.send_cq = &env->o->cq.ibcq;
	KUNIT_EXPECT_EQ(test, mlx5_ib_create_qp(&qp->ibqp, &init,
						objects_udata(env->o, &ucmd, sizeof(ucmd), 0)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, env->o->mock->num_commands, 0);
	finish(test, env);
}

/* ---- work queues ---------------------------------------------------------------------------- */

static int modify_wq(struct env *env, struct ib_wq_attr *attr, u32 mask)
{
	const struct mlx5_ib_modify_wq ucmd = {};

	env->o->mock->num_commands = 0;
	return mlx5_ib_modify_wq(env->o->wq, attr, mask,
				 objects_udata(env->o, &ucmd, sizeof(ucmd), 0));
}

/* As ib_core does: the state before the change is that of the object. */
static int wq_to(struct env *env, enum ib_wq_state state)
{
	struct ib_wq_attr attr = { .curr_wq_state = env->o->wq->state, .wq_state = state };

	return modify_wq(env, &attr, IB_WQ_STATE);
}

static void wq_has_the_states_of_verbs(struct kunit *test)
{
	struct env *env = make_env(test);
	struct mock *mock = env->o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_WQ), 0);
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RDY), 0);
	KUNIT_EXPECT_EQ(test, env->rq, RDY);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x08), env->o->wq->wq_num);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 0);
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_ERR), 0);
	KUNIT_EXPECT_EQ(test, env->rq, ERR);
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RDY), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RESET), 0);
	KUNIT_EXPECT_EQ(test, env->rq, RST);
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RDY), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_ERR), mock->refuse_err);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, env->o->wq->state, IB_WQS_RESET);
	/* A queue that has failed. */
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RDY), 0);
	env->rq = ERR;
	KUNIT_EXPECT_EQ(test, wq_to(env, IB_WQS_RESET), 0);
	KUNIT_EXPECT_EQ(test, env->rq, RST);
	finish(test, env);
}

static void vlan_stripping_of_a_wq_can_change(struct kunit *test)
{
	struct ib_wq_attr attr = {
		.flags = IB_WQ_FLAGS_CVLAN_STRIPPING, .flags_mask = IB_WQ_FLAGS_CVLAN_STRIPPING,
	};
	struct env *env = make_env(test);
	struct mock *mock = env->o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(env->o, OBJ_WQ), 0);
	KUNIT_EXPECT_EQ(test, modify_wq(env, &attr, IB_WQ_FLAGS), -EOPNOTSUPP);
	MOCK_SET_CAP_OF(&mock->dev->caps, MLX5_CAP_ETHERNET_OFFLOADS,
			per_protocol_networking_offload_caps, vlan_cap, 1);
	KUNIT_EXPECT_EQ(test, modify_wq(env, &attr, IB_WQ_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x14), 2);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20), 0);
	attr.flags = 0;
	KUNIT_EXPECT_EQ(test, modify_wq(env, &attr, IB_WQ_FLAGS), 0);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x20), 0x10000000);
	attr.flags_mask = IB_WQ_FLAGS_SCATTER_FCS;
	KUNIT_EXPECT_EQ(test, modify_wq(env, &attr, IB_WQ_FLAGS), -EOPNOTSUPP);
	finish(test, env);
}

static struct kunit_case raw_qp_cases[] = {
	KUNIT_CASE(answer_tells_the_number_of_each_object),
	KUNIT_CASE(rule_cannot_name_a_tir_that_is_gone),
	KUNIT_CASE(rule_cannot_name_a_tir_that_may_be_gone),
	KUNIT_CASE(process_gets_no_transport_domain_if_all_are_in_use),
	KUNIT_CASE(queues_follow_the_state_of_the_queue_pair),
	KUNIT_CASE(queue_pair_that_only_sends_has_one_queue_to_change),
	KUNIT_CASE(failed_queue_is_found_by_a_query_and_reset),
	KUNIT_CASE(refused_change_leaves_both_queues_as_they_were),
	KUNIT_CASE(attributes_that_raw_packets_lack_are_refused),
	KUNIT_CASE(rate_is_set_changed_and_cleared),
	KUNIT_CASE(rate_that_cannot_be_set_is_released),
	KUNIT_CASE(rate_of_an_unanswered_change_is_released),
	KUNIT_CASE(queue_pair_that_may_be_gone_hides_no_other),
	KUNIT_CASE(event_of_a_queue_is_one_of_the_queue_pair),
	KUNIT_CASE(event_of_a_wq_is_fatal),
	KUNIT_CASE(command_names_one_object_of_the_queue_pair),
	KUNIT_CASE(command_names_wq_table_and_tir),
	KUNIT_CASE(counter_set_is_that_of_the_receive_queue),
	KUNIT_CASE(rss_queue_pair_receives_from_the_start),
	KUNIT_CASE(table_is_for_raw_packets_only),
	KUNIT_CASE(wq_has_the_states_of_verbs),
	KUNIT_CASE(vlan_stripping_of_a_wq_can_change),
	{}
};

static struct kunit_suite raw_qp_suite = {
	.name = "bluebell_raw_qp",
	.test_cases = raw_qp_cases,
};

kunit_test_suite(raw_qp_suite);
