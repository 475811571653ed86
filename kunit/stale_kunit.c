// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of handles of objects that may be gone. Firmware has not answered the command that
 * was to destroy an object, so the process keeps the handle, but the number may belong to another
 * user's object: no verb but the destruction sends a command that names the number.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "fw/fw.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "verbs/cq.h"
#include "verbs/dm.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/verbs.h"

/* The page of mock_buffer() for the new buffer of a CQ. */
#define CQ_BIG_BUF	6

/* ---- the verbs ---------------------------------------------------------------------------- */

static int modify_qp(struct objects *o)
{
	const int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };

	return mlx5_ib_modify_qp(&o->qp.ibqp, &attr, mask, objects_udata(o, NULL, 0, 0));
}

static int query_qp(struct objects *o)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return mlx5_ib_query_qp(&o->qp.ibqp, &attr, IB_QP_STATE, &init);
}

static int set_counter(struct objects *o)
{
	MOCK_SET_CAP(&o->mock->dev->caps, rts2rts_qp_counters_set_id, 1);
	o->qp.state = IB_QPS_RTS;
	return mlx5_ib_qp_set_counter(&o->qp, o->qp.counts_in + 1);
}

static int attach(struct objects *o)
{
	union ib_gid gid = { .raw = { 0xff, 0x12, [15] = 1 } };

	return mlx5_ib_attach_mcast(&o->qp.ibqp, &gid, 0xc001);
}

static int resize_cq(struct objects *o)
{
	struct mlx5_ib_resize_cq ucmd = {
		.buf_addr = mock_buffer(o->mock, CQ_BIG_BUF), .cqe_size = 64,
	};

	return mlx5_ib_resize_user_cq(&o->cq.ibcq, 127, objects_udata(o, &ucmd, sizeof(ucmd), 0));
}

static int moderate_cq(struct objects *o)
{
	return mlx5_ib_modify_cq(&o->cq.ibcq, 1, 1);
}

static int arm_srq(struct objects *o)
{
	struct ib_srq_attr attr = { .srq_limit = 1 };

	return mlx5_ib_modify_srq(&o->srq.ibsrq, &attr, IB_SRQ_LIMIT,
				  objects_udata(o, NULL, 0, 0));
}

static int query_srq(struct objects *o)
{
	struct ib_srq_attr attr;

	return mlx5_ib_query_srq(&o->srq.ibsrq, &attr);
}

static int create_qp(struct objects *o)
{
	return objects_create(o, OBJ_RC_QP);
}

static int create_qp_sending(struct objects *o)
{
	static struct mlx5_ib_cq other;

	return objects_create_qp_on(o, &o->qp, IB_QPT_RC, &o->cq.ibcq, &other.ibcq);
}

static int create_qp_receiving(struct objects *o)
{
	static struct mlx5_ib_cq other;

	return objects_create_qp_on(o, &o->qp, IB_QPT_RC, &other.ibcq, &o->cq.ibcq);
}

static int create_srq(struct objects *o)
{
	return objects_create(o, OBJ_SRQ);
}

static int create_srq_qp(struct objects *o)
{
	return objects_create(o, OBJ_SRQ_QP);
}

static int create_xrc_srq(struct objects *o)
{
	return objects_create(o, OBJ_XRC_SRQ);
}

static int create_tm_srq(struct objects *o)
{
	return objects_create(o, OBJ_TM_SRQ);
}

static int create_xrc_ini(struct objects *o)
{
	return objects_create(o, OBJ_XRC_INI);
}

static int reg_mr(struct objects *o)
{
	return objects_create(o, OBJ_MR);
}

static int rereg_mr(struct objects *o)
{
	return PTR_ERR_OR_ZERO(mlx5_ib_rereg_user_mr(o->mr, IB_MR_REREG_PD | IB_MR_REREG_ACCESS, 0,
						     0, 0, IB_ACCESS_REMOTE_READ, &o->pd.ibpd,
						     objects_udata(o, NULL, 0, 0)));
}

static int reg_dm_mr(struct objects *o)
{
	static struct mlx5_ib_memic mem;
	struct mlx5_ib_dm dm = { .mem = &mem };
	struct ib_dm_mr_attr attr = { .length = 8, .access_flags = IB_ZERO_BASED };

	return PTR_ERR_OR_ZERO(mlx5_ib_reg_dm_mr(&o->pd.ibpd, &dm.ibdm, &attr, o->mock->attrs));
}

static int alloc_mw(struct objects *o)
{
	struct mlx5_ib_mw mw = {
		.ibmw = { .device = &o->mock->dev->ib_dev, .pd = &o->pd.ibpd,
			  .type = IB_MW_TYPE_2 },
	};

	return mlx5_ib_alloc_mw(&mw.ibmw, objects_udata(o, NULL, 0, 0));
}

/**
 * struct stale - a verb, and an object that its command names
 * @name: name of the verb
 * @id: the object, which may be gone
 * @also: what the verb needs besides the object
 * @call: calls the verb
 */
struct stale {
	const char *name;
	enum object_id id;
	enum object_id also[2];
	int (*call)(struct objects *o);
};

static const struct stale stale_cases[] = {
	{ "modify a QP", OBJ_RC_QP, {}, modify_qp },
	{ "query a QP", OBJ_RC_QP, {}, query_qp },
	{ "bind a QP to a counter", OBJ_RC_QP, {}, set_counter },
	{ "attach a QP to a group", OBJ_UD_QP, {}, attach },
	{ "modify an XRC initiator", OBJ_XRC_INI, {}, modify_qp },
	{ "query an XRC initiator", OBJ_XRC_INI, {}, query_qp },
	{ "resize a CQ", OBJ_CQ, {}, resize_cq },
	{ "moderate a CQ", OBJ_CQ, {}, moderate_cq },
	{ "create a QP that sends on a CQ", OBJ_CQ, {}, create_qp_sending },
	{ "create a QP that receives on a CQ", OBJ_CQ, {}, create_qp_receiving },
	{ "create an XRC initiator on a CQ", OBJ_CQ, { OBJ_XRC }, create_xrc_ini },
	{ "create an XRC SRQ on a CQ", OBJ_CQ, { OBJ_XRCD }, create_xrc_srq },
	{ "arm an SRQ", OBJ_SRQ, {}, arm_srq },
	{ "query an SRQ", OBJ_SRQ, {}, query_srq },
	{ "arm an XRC SRQ", OBJ_XRC_SRQ, {}, arm_srq },
	{ "query an XRC SRQ", OBJ_XRC_SRQ, {}, query_srq },
	{ "create an SRQ with tag matching on a CQ", OBJ_CQ, {}, create_tm_srq },
	{ "arm an SRQ with tag matching", OBJ_TM_SRQ, {}, arm_srq },
	{ "query an SRQ with tag matching", OBJ_TM_SRQ, {}, query_srq },
	{ "create a QP on an SRQ", OBJ_SRQ, { OBJ_CQ }, create_srq_qp },
	{ "create a QP in a PD", OBJ_PD, { OBJ_CQ }, create_qp },
	{ "create an XRC initiator in a PD", OBJ_PD, { OBJ_CQ, OBJ_XRC }, create_xrc_ini },
	{ "create an SRQ in a PD", OBJ_PD, {}, create_srq },
	{ "create an XRC SRQ in a PD", OBJ_PD, { OBJ_CQ, OBJ_XRCD }, create_xrc_srq },
	{ "register memory in a PD", OBJ_PD, {}, reg_mr },
	{ "register device memory in a PD", OBJ_PD, {}, reg_dm_mr },
	{ "move a region to a PD", OBJ_PD, { OBJ_MR }, rereg_mr },
	{ "allocate a window in a PD", OBJ_PD, {}, alloc_mw },
};

KUNIT_ARRAY_PARAM_DESC(stale, stale_cases, name);

/* Create what the verb of the running case needs, all at the device. */
static struct objects *prepare(struct kunit *test)
{
	const struct stale *c = test->param_value;
	struct objects *o = objects_make(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, objects_create(o, c->id), 0);
	for (i = 0; i < ARRAY_SIZE(c->also) && c->also[i]; i++)
		KUNIT_ASSERT_EQ(test, objects_create(o, c->also[i]), 0);
	return o;
}

/* ---- cases -------------------------------------------------------------------------------- */

static void object_that_may_be_gone_is_named_by_no_command(struct kunit *test)
{
	const struct stale *c = test->param_value;
	struct objects *o = prepare(test);
	struct mock *mock = o->mock;
	struct footprint before;

	mock->refuse_destroy = true;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_ASSERT_EQ(test, objects_destroy(o, c->id), -ETIMEDOUT);
	mock->num_commands = 0;
	footprint_take(mock, &before);
	KUNIT_EXPECT_EQ(test, c->call(o), -EIO);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	footprint_expect(mock, &before, "a refused verb", 0);
	/* A refusal of the next attempt does not say which object has the number. */
	mock->refuse_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, c->id), -EBUSY);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, c->call(o), -EIO);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Firmware has refused to destroy the object, so it exists, and all verbs reach firmware. */
static void object_that_firmware_keeps_is_named(struct kunit *test)
{
	const struct stale *c = test->param_value;
	struct objects *o = prepare(test);
	struct mock *mock = o->mock;

	mock->refuse_destroy = true;
	KUNIT_ASSERT_EQ(test, objects_destroy(o, c->id), mock->refuse_err);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, c->call(o), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	mock->refuse = 0;
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Resource tracking goes on with the next queue pair only after -EAGAIN. */
static void queue_pair_that_may_be_gone_hides_no_other(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_RC_QP), 0);
	o->mock->refuse_destroy = true;
	o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_RC_QP), -ETIMEDOUT);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_query_qp(&o->qp.ibqp, &attr, 0, &init), -EAGAIN);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* -1 is no dma-buf, but the driver checks the PD before it looks at the descriptor. */
static void dma_buf_is_registered_in_no_pd_that_may_be_gone(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct ib_mr *mr;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_PD), 0);
	o->mock->refuse_destroy = true;
	o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_PD), -ETIMEDOUT);
	mr = mlx5_ib_reg_user_mr_dmabuf(&o->pd.ibpd, 0, PAGE_SIZE, 0, -1, IB_ACCESS_LOCAL_WRITE,
					NULL, o->mock->attrs);
	KUNIT_EXPECT_PTR_EQ(test, mr, ERR_PTR(-EIO));
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static struct kunit_case stale_kunit_cases[] = {
	KUNIT_CASE_PARAM(object_that_may_be_gone_is_named_by_no_command, stale_gen_params),
	KUNIT_CASE_PARAM(object_that_firmware_keeps_is_named, stale_gen_params),
	KUNIT_CASE(dma_buf_is_registered_in_no_pd_that_may_be_gone),
	KUNIT_CASE(queue_pair_that_may_be_gone_hides_no_other),
	{}
};

static struct kunit_suite stale_suite = {
	.name = "bluebell_stale",
	.test_cases = stale_kunit_cases,
};

kunit_test_suite(stale_suite);
