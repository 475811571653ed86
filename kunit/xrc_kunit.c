// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of XRC: the internal objects of the driver, which are created at the first use, XRC
 * domains, initiators and targets.
 */

#include <kunit/test.h>

#include "layout/layout_qp.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "verbs/verbs.h"

/*
 * The mock's numbers are consecutive. The PD and the CQ of the process were created first, then the
 * internal PD, CQ, two domains (the second one is empty) and SRQ, and then the process's domain.
 */
#define EMPTY_XRCDN	0x101
#define XRCDN		0x102
#define INTERNAL_SRQN	0x100

static void expect_qp_context(struct kunit *test, struct objects *o, u32 pdn, u32 send_cqn,
			      u32 xrcdn)
{
	struct mock *mock = o->mock;

	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18), 0x00031800);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x04), pdn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x7c), send_cqn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x98), xrcdn);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0x9c), o->cq.mcq.cqn + 1);
	KUNIT_EXPECT_EQ(test, mock_dword(mock, 0x18 + 0xac), 0x01000000 | INTERNAL_SRQN);
}

static void target_has_its_domain_and_internal_objects(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_TGT), 0);
	KUNIT_EXPECT_EQ(test, o->xrcd.xrcdn, XRCDN);
	expect_qp_context(test, o, o->pd.pdn + 1, o->cq.mcq.cqn + 1, XRCDN);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void initiator_has_its_cq_and_the_empty_domain(struct kunit *test)
{
	struct objects *o = objects_make(test);

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_INI), 0);
	expect_qp_context(test, o, o->pd.pdn, o->cq.mcq.cqn, EMPTY_XRCDN);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void refused_destruction_is_repeated_at_once(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_TGT), 0);
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRC_TGT), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRCD), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRCD], 2);
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static int count(struct objects *o, enum mlx5_ib_share_kind kind)
{
	return atomic_read(&o->mock->context->user->count[kind]);
}

/*
 * ib_core forgets targets and domains in any case, so the driver tries six times in all, and then
 * makes orphans of them.
 */
static void destruction_that_is_always_refused_succeeds(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_TGT), 0);
	mock->refuse_destroy = true;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRC_TGT), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 6);
	KUNIT_EXPECT_TRUE(test, xa_empty(&mock->dev->rsc_table.rscs));
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRCD), 0);
	/* The target is left to the work item, because the target counts for a user. */
	KUNIT_EXPECT_EQ(test, mock->num_commands, 6);
	/* The device still has the domain, so the domain counts for the user. */
	KUNIT_EXPECT_EQ(test, count(o, MLX5_IB_SHARE_XRCD), 1);
	mock->refuse_destroy = false;
	/* The domain is an orphan of the context, the target one of the device. */
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRCD], 2);
	KUNIT_EXPECT_EQ(test, count(o, MLX5_IB_SHARE_XRCD), 0);
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_QP], 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Firmware refuses to deallocate a domain whose SRQ it has refused to destroy. */
static void domain_is_deallocated_after_its_orphaned_srq(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRC_SRQ), 0);
	mock->context->closing = true;
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRC_SRQ), 0);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_XRCD), 0);
	/* One command for the SRQ and one for the domain, which are not repeated. */
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRCD], 3);
	KUNIT_EXPECT_EQ(test, count(o, MLX5_IB_SHARE_XRCD), 1);
	mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->dev->orphans.dead));
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRC_SRQ], 1);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_XRCD], 2);
	KUNIT_EXPECT_EQ(test, count(o, MLX5_IB_SHARE_XRCD), 0);
	KUNIT_EXPECT_EQ(test, count(o, MLX5_IB_SHARE_SRQ), 0);
	mock->context->closing = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* What each object needs has been created before the device lost the capability. */
static void device_without_xrc_gets_no_command(struct kunit *test)
{
	static const enum object_id ids[] = {
		OBJ_XRC, OBJ_XRCD, OBJ_XRC_SRQ, OBJ_XRC_INI, OBJ_XRC_TGT,
	};
	struct objects *o = objects_make(test);
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;
	unsigned int i;
	int err;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_XRCD), 0);
	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_XRCD), 0);
	KUNIT_ASSERT_EQ(test, objects_destroy(o, OBJ_XRC), 0);
	MOCK_SET_CAP(caps, xrc, 0);
	o->mock->num_commands = 0;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		KUNIT_EXPECT_EQ_MSG(test, object_types[ids[i]].create(o, &object_types[ids[i]]),
				    -EOPNOTSUPP, "%s", object_types[ids[i]].name);
	/* On a device of ISSI 0 the driver has no SRQs, which XRC needs. */
	MOCK_SET_CAP(caps, xrc, 1);
	mock_set_issi(o->mock, 0);
	err = objects_create(o, OBJ_XRC);
	mock_set_issi(o->mock, 1);
	KUNIT_EXPECT_EQ(test, err, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Create an object, but not what it needs: the driver then creates its internal objects. */
static int use_first(struct objects *o, enum object_id id)
{
	return object_types[id].create(o, &object_types[id]);
}

static void first_domain_creates_all_internal_objects_or_none(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	unsigned int n, live;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	live = mock_num_live(mock);
	/* Commands for the internal PD, CQ, two domains and SRQ, and for the caller's domain. */
	for (n = 1; n <= 6; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ_MSG(test, use_first(o, OBJ_XRCD), mock->refuse_err, "refusal %u",
				    n);
		if (n == 6)
			break;
		KUNIT_EXPECT_NULL(test, mock->dev->xrc);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), live, "refusal %u", n);
	}
	/* The internal objects stay for the next caller if only the caller's own domain fails. */
	KUNIT_EXPECT_NOT_NULL(test, mock->dev->xrc);
	mock->refuse = 0;
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, use_first(o, OBJ_XRCD), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, object_types[OBJ_XRCD].destroy(o), 0);
	mlx5_ib_cleanup_xrc(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* An initiator is in the internal domain without an SRQ, not in a domain of its process. */
static void first_initiator_creates_all_internal_objects_or_none(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	unsigned int n, live;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_CQ), 0);
	live = mock_num_live(mock);
	for (n = 1; n <= 5; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		KUNIT_EXPECT_EQ_MSG(test, use_first(o, OBJ_XRC_INI), mock->refuse_err,
				    "refusal %u", n);
		KUNIT_EXPECT_NULL(test, mock->dev->xrc);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_live(mock), live, "refusal %u", n);
	}
	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, use_first(o, OBJ_XRC_INI), 0);
	KUNIT_EXPECT_NOT_NULL(test, mock->dev->xrc);
	KUNIT_EXPECT_EQ(test, object_types[OBJ_XRC_INI].destroy(o), 0);
	mlx5_ib_cleanup_xrc(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static struct kunit_case xrc_cases[] = {
	KUNIT_CASE(target_has_its_domain_and_internal_objects),
	KUNIT_CASE(initiator_has_its_cq_and_the_empty_domain),
	KUNIT_CASE(refused_destruction_is_repeated_at_once),
	KUNIT_CASE(destruction_that_is_always_refused_succeeds),
	KUNIT_CASE(domain_is_deallocated_after_its_orphaned_srq),
	KUNIT_CASE(device_without_xrc_gets_no_command),
	KUNIT_CASE(first_domain_creates_all_internal_objects_or_none),
	KUNIT_CASE(first_initiator_creates_all_internal_objects_or_none),
	{}
};

static struct kunit_suite xrc_suite = {
	.name = "bluebell_xrc",
	.test_cases = xrc_cases,
};

kunit_test_suite(xrc_suite);
