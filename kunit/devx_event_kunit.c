// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of events that processes subscribe to: who may subscribe to what, which channel an
 * event reaches, what becomes of the events of an object that is destroyed, and what a reader is
 * told when events are lost.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/string.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#include "devx/devx_event.h"
#include "devx/devx_obj.h"
#include "layout/layout_devx.h"
#include "layout/layout_event.h"
#include "lib/fail_alloc.h"
#include "lib/interrupt.h"
#include "lib/locks.h"
#include "lib/memory.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/rsc.h"
#include "lib/subscription.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

#define UID		0x5a
#define NUM		0x123456
#define COMP		MLX5_EVENT_TYPE_COMP
#define COMM_EST	MLX5_EVENT_TYPE_COMM_EST
#define SQ_DRAINED	MLX5_EVENT_TYPE_SQ_DRAINED
#define CQ_ERROR	MLX5_EVENT_TYPE_CQ_ERROR
#define SRQ_LIMIT	MLX5_EVENT_TYPE_SRQ_RQ_LIMIT
#define PORT_CHANGE	MLX5_EVENT_TYPE_PORT_CHANGE
#define TEMP_WARN	MLX5_EVENT_TYPE_TEMP_WARN_EVENT
/* Types that the driver does not know; the device may say that they are for users. */
#define OF_OBJECT	0x61
#define OF_DEVICE	0xc3
#define OF_BOTH		0x62
#define OF_NOBODY	0x63

static void list_event(__be64 *bitmap, u8 type)
{
	bitmap[type / 64] |= cpu_to_be64(BIT_ULL(type % 64));
}

/* A device that says which events are for users, and a context with a user id but no rights. */
static struct mock *make_mock(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	__be64 *affiliated = MLX5_CAP_DEV_EVENT(mdev, user_affiliated_events);
	__be64 *unaffiliated = MLX5_CAP_DEV_EVENT(mdev, user_unaffiliated_events);

	MOCK_SET_CAP(&mock->dev->caps, event_cap, 1);
	list_event(affiliated, OF_OBJECT);
	list_event(affiliated, OF_BOTH);
	list_event(affiliated, MLX5_EVENT_TYPE_OBJECT_CHANGE);
	list_event(unaffiliated, OF_DEVICE);
	list_event(unaffiliated, OF_BOTH);
	mock->context->uid = UID;
	return mock;
}

static void close_channel(void *channel)
{
	mlx5_ib_devx_close_channel(channel);
}

static struct mlx5_ib_devx_channel *make_channel(struct kunit *test, bool omit_data)
{
	struct mlx5_ib_devx_channel *channel = kunit_kzalloc(test, sizeof(*channel), GFP_KERNEL);
	struct mock *mock = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, channel);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_devx_open_channel(channel, mock->context, omit_data));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_channel, channel));
	return channel;
}

static int subscribe(struct kunit *test, struct mlx5_ib_devx_channel *channel, u32 obj_type,
		     u32 num, u16 event, u64 cookie)
{
	const struct mlx5_ib_devx_request request = {
		.source = { .type = obj_type, .num = num }, .types = &event, .num_types = 1,
		.cookie = cookie,
	};
	unsigned int mark = memory_mark();
	struct mock *mock = test->priv;
	int err = mlx5_ib_devx_subscribe(channel, mock->context, &request);

	if (!err)
		memory_expect_charged(test, mark);
	return err;
}

struct event {
	struct mlx5_ib_dev *dev;
	const struct mlx5_eqe *eqe;
};

static void report_event(void *arg)
{
	struct event *event = arg;

	mlx5_ib_event_report(event->dev, event->eqe);
}

/* Report an event as the interrupt of an event queue does. */
static void report(struct kunit *test, const struct mlx5_eqe *eqe)
{
	struct event event = { .dev = ((struct mock *)test->priv)->dev, .eqe = eqe };

	call_in_interrupt(report_event, &event);
}

static void report_qp(struct kunit *test, u8 type, u32 num, u8 sub_type)
{
	struct mlx5_eqe eqe = { .type = type, .sub_type = sub_type };

	/* The number has 24 bits; the upper byte is reserved. */
	eqe.data.qp_srq.qp_srq_n = cpu_to_be32(0xff000000 | num);
	report(test, &eqe);
}

static ssize_t take(struct mlx5_ib_devx_channel *channel, struct mlx5_ib_devx_event *event)
{
	return mlx5_ib_devx_take_event(channel, sizeof(*event), event);
}

static void expect_cookie(struct kunit *test, struct mlx5_ib_devx_channel *channel, u64 cookie)
{
	size_t len = channel->omit_data ? sizeof(cookie) : sizeof(struct mlx5_ib_devx_event);
	struct mlx5_ib_devx_event event = {};

	KUNIT_EXPECT_EQ(test, take(channel, &event), (ssize_t)len);
	KUNIT_EXPECT_EQ(test, event.cookie, cookie);
}

static void expect_nothing(struct kunit *test, struct mlx5_ib_devx_channel *channel)
{
	struct mlx5_ib_devx_event event;

	KUNIT_EXPECT_EQ(test, take(channel, &event), -EAGAIN);
}

static unsigned int num_sources(struct kunit *test)
{
	struct mock *mock = test->priv;

	return atomic_read(&mock->dev->events->lists.nelems);
}

/* ---- Who may subscribe to what ---------------------------------------------------------- */

#define NO_RIGHTS	0
#define RAW		MLX5_UCTX_CAP_RAW_TX
#define INTERNAL	MLX5_UCTX_CAP_INTERNAL_DEV_RES
#define DEVICE		0

static const struct check_case {
	const char *name;
	u16 type;
	u32 obj_type;
	u32 rights;
	int want;
} check_cases[] = {
	{ "completion of a CQ", COMP, MLX5_OBJ_TYPE_CQ, NO_RIGHTS, 0 },
	{ "completion of a QP", COMP, MLX5_OBJ_TYPE_QP, INTERNAL, -EINVAL },
	{ "completions of all", COMP, DEVICE, INTERNAL, -EINVAL },
	{ "CQ error", CQ_ERROR, MLX5_OBJ_TYPE_CQ, NO_RIGHTS, 0 },
	{ "CQ error of a QP", CQ_ERROR, MLX5_OBJ_TYPE_QP, INTERNAL, -EINVAL },
	{ "CQ errors of all", CQ_ERROR, DEVICE, INTERNAL, -EINVAL },
	{ "QP event", COMM_EST, MLX5_OBJ_TYPE_QP, NO_RIGHTS, 0 },
	{ "QP event of an RQ", COMM_EST, MLX5_OBJ_TYPE_RQ, NO_RIGHTS, 0 },
	{ "QP event of an SQ", COMM_EST, MLX5_OBJ_TYPE_SQ, NO_RIGHTS, 0 },
	{ "QP event of a DCT", COMM_EST, MLX5_OBJ_TYPE_DCT, NO_RIGHTS, 0 },
	{ "QP event of a CQ", COMM_EST, MLX5_OBJ_TYPE_CQ, INTERNAL, -EINVAL },
	{ "QP events of all", COMM_EST, DEVICE, INTERNAL, -EINVAL },
	{ "SRQ limit", SRQ_LIMIT, MLX5_OBJ_TYPE_RMP, NO_RIGHTS, 0 },
	{ "SRQ limit of a QP", SRQ_LIMIT, MLX5_OBJ_TYPE_QP, NO_RIGHTS, -EINVAL },
	{ "SRQ limits of all", SRQ_LIMIT, DEVICE, INTERNAL, -EINVAL },
	{ "DCT drained", MLX5_EVENT_TYPE_DCT_DRAINED, MLX5_OBJ_TYPE_DCT, NO_RIGHTS, 0 },
	{ "DCT drained of all", MLX5_EVENT_TYPE_DCT_DRAINED, DEVICE, INTERNAL, -EINVAL },
	{ "XRQ error", MLX5_EVENT_TYPE_XRQ_ERROR, MLX5_OBJ_TYPE_XRQ, NO_RIGHTS, 0 },
	{ "object change", MLX5_EVENT_TYPE_OBJECT_CHANGE, MLX5_OBJ_TYPE_MKEY, NO_RIGHTS, 0 },
	{ "object changes of all", MLX5_EVENT_TYPE_OBJECT_CHANGE, DEVICE, INTERNAL, -EINVAL },
	{ "commands", MLX5_EVENT_TYPE_CMD, DEVICE, INTERNAL | RAW, -EINVAL },
	{ "page requests", MLX5_EVENT_TYPE_PAGE_REQUEST, DEVICE, INTERNAL | RAW, -EINVAL },
	{ "page faults", MLX5_EVENT_TYPE_PAGE_FAULT, DEVICE, INTERNAL | RAW, -EINVAL },
	{ "page faults of a QP", MLX5_EVENT_TYPE_PAGE_FAULT, MLX5_OBJ_TYPE_QP, INTERNAL, -EINVAL },
	{ "other functions", MLX5_EVENT_TYPE_VHCA_STATE_CHANGE, DEVICE, INTERNAL, -EINVAL },
	{ "firmware's log", MLX5_EVENT_TYPE_DEVICE_TRACER, DEVICE, INTERNAL, -EINVAL },
	{ "port", PORT_CHANGE, DEVICE, NO_RIGHTS, 0 },
	{ "port of a QP", PORT_CHANGE, MLX5_OBJ_TYPE_QP, NO_RIGHTS, -EINVAL },
	{ "temperature", TEMP_WARN, DEVICE, NO_RIGHTS, -EPERM },
	{ "temperature, raw", TEMP_WARN, DEVICE, RAW, -EPERM },
	{ "temperature, privileged", TEMP_WARN, DEVICE, INTERNAL, 0 },
	{ "listed of the device", OF_DEVICE, DEVICE, NO_RIGHTS, 0 },
	{ "listed of the device, of a QP", OF_DEVICE, MLX5_OBJ_TYPE_QP, NO_RIGHTS, -EINVAL },
	{ "listed of objects", OF_OBJECT, MLX5_OBJ_TYPE_QP, NO_RIGHTS, 0 },
	{ "listed of objects, of all", OF_OBJECT, DEVICE, INTERNAL, -EINVAL },
	{ "listed as both, of all", OF_BOTH, DEVICE, INTERNAL, -EINVAL },
	{ "not listed", OF_NOBODY, MLX5_OBJ_TYPE_QP, INTERNAL, -EINVAL },
	{ "not listed, of all", OF_NOBODY, DEVICE, INTERNAL, -EINVAL },
	{ "beyond the types", MLX5_EVENT_TYPE_MAX, DEVICE, INTERNAL, -EINVAL },
	{ "beyond the types, of a QP", MLX5_EVENT_TYPE_MAX + COMM_EST, MLX5_OBJ_TYPE_QP, INTERNAL,
	  -EINVAL },
	{ "last number", U16_MAX, DEVICE, INTERNAL, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(check, check_cases, name);

static void process_subscribes_only_to_events_it_may_see(struct kunit *test)
{
	const struct check_case *c = test->param_value;
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);

	mock->context->devx_rights = c->rights;
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, c->obj_type, c->obj_type ? NUM : 0, c->type,
					1), c->want);
	KUNIT_EXPECT_EQ(test, num_sources(test), !c->want);
}

/* An older device does not say which events are for users. */
static void device_without_event_cap_has_the_standard_events(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);

	MOCK_SET_CAP(&mock->dev->caps, event_cap, 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, NUM, COMP, 1), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, NUM, CQ_ERROR, 1), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_RMP, NUM, SRQ_LIMIT, 1), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, DEVICE, 0, PORT_CHANGE, 1), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, DEVICE, 0, TEMP_WARN, 1), -EPERM);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, DEVICE, 0, OF_DEVICE, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, OF_OBJECT, 1),
			-EINVAL);
}

static const u32 obj_types[] = {
	MLX5_OBJ_TYPE_CQ, MLX5_OBJ_TYPE_QP, MLX5_OBJ_TYPE_RQ, MLX5_OBJ_TYPE_SQ, MLX5_OBJ_TYPE_RMP,
	MLX5_OBJ_TYPE_XRQ, MLX5_OBJ_TYPE_DCT, MLX5_OBJ_TYPE_MKEY,
};

/*
 * Types of events by number: first the types that are about the device, then the types that only
 * the kernel gets. Events of all other types are about objects.
 */
static const u8 types_of_the_device[] = {
	0x08, 0x09, 0x0d, 0x15, 0x16, 0x17, 0x19, 0x1a, 0x1b, 0x22, 0x24, 0x25,
};

static const u8 types_of_the_kernel[] = { 0x0a, 0x0b, 0x0c, 0x0e, 0x0f, 0x20, 0x21, 0x26 };

/* How many types of objects have events of @type. */
static unsigned int num_obj_types(struct mlx5_core_dev *mdev, u16 type)
{
	unsigned int i, num = 0;

	for (i = 0; i < ARRAY_SIZE(obj_types); i++) {
		const struct mlx5_ib_event_source source = { .type = obj_types[i], .num = NUM };

		num += !mlx5_ib_event_check(mdev, type, &source, INTERNAL);
	}
	return num;
}

static void check_type(struct kunit *test, struct mlx5_core_dev *mdev, u8 type, bool listed)
{
	bool of_device = memchr(types_of_the_device, type, sizeof(types_of_the_device));
	bool of_kernel = memchr(types_of_the_kernel, type, sizeof(types_of_the_kernel));
	int want = of_device ? 0 : -EINVAL, want_without_rights = want;
	struct mlx5_eqe eqe = { .type = type };
	struct mlx5_ib_event_source source;

	if (of_device && !listed && type != PORT_CHANGE)
		want_without_rights = -EPERM;
	KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_event_check(mdev, type, NULL, INTERNAL), want,
			    "type 0x%x", type);
	KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_event_check(mdev, type, NULL, NO_RIGHTS),
			    want_without_rights, "type 0x%x", type);
	if (listed || of_device || of_kernel)
		KUNIT_EXPECT_EQ_MSG(test, !num_obj_types(mdev, type), of_device || of_kernel,
				    "type 0x%x", type);
	if (!of_device && !of_kernel)
		return;
	source.type = MLX5_OBJ_TYPE_QP;
	KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_event_read(mdev, &eqe, &source), of_device,
			    "type 0x%x", type);
	if (of_device)
		KUNIT_EXPECT_EQ_MSG(test, source.type, 0, "type 0x%x", type);
}

static void known_event_is_what_it_is_whatever_the_device_lists(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;
	unsigned int type;
	int listed;

	for (listed = 0; listed < 2; listed++) {
		memset(MLX5_CAP_DEV_EVENT(mdev, user_affiliated_events), listed ? 0xff : 0,
		       MLX5_EVENT_TYPE_MAX / 8);
		memset(MLX5_CAP_DEV_EVENT(mdev, user_unaffiliated_events), listed ? 0xff : 0,
		       MLX5_EVENT_TYPE_MAX / 8);
		for (type = 0; type < MLX5_EVENT_TYPE_MAX; type++)
			check_type(test, mdev, type, listed);
	}
}

static void context_without_a_user_id_cannot_subscribe(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);

	mock->context->uid = 0;
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, DEVICE, 0, PORT_CHANGE, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1),
			-EINVAL);
	mock->context->uid = UID;
}

/*
 * The handle may be that of an XRC target that the process has created, or has opened. The struct
 * ib_qp of an opened target is not part of a struct mlx5_ib_qp: ib_core has allocated it.
 */
static void process_does_not_see_events_of_an_xrc_target(struct kunit *test)
{
	static const struct {
		u16 object;
		enum ib_qp_type type;
		u16 event;
		int want;
	} cases[] = {
		{ UVERBS_OBJECT_QP, IB_QPT_RC, COMM_EST, 0 },
		{ UVERBS_OBJECT_QP, IB_QPT_XRC_INI, SQ_DRAINED, 0 },
		{ UVERBS_OBJECT_QP, IB_QPT_XRC_TGT, COMM_EST, -EOPNOTSUPP },
		{ UVERBS_OBJECT_CQ, 0, CQ_ERROR, 0 },
		{ UVERBS_OBJECT_CQ, 0, COMP, -EOPNOTSUPP },
		{ UVERBS_OBJECT_SRQ, 0, SRQ_LIMIT, 0 },
	};
	static struct mlx5_ib_qp real;
	static struct mlx5_ib_dev dev;
	static const struct mlx5_ib_qp_ops ops;
	struct ib_qp qp = { .device = &dev.ib_dev, .real_qp = &real.ibqp, .qp_num = NUM };
	struct uverbs_api_object api = {};
	struct ib_ucontext uctx = { .device = &dev.ib_dev };
	struct ib_uobject uobj = { .object = &qp, .uapi_object = &api, .context = &uctx };
	struct mlx5_ib_devx_id id;
	unsigned int i;

	real.ops = &ops;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mlx5_ib_devx_request request = {
			.types = &cases[i].event, .num_types = 1,
		};

		api.id = cases[i].object;
		qp.qp_type = cases[i].type;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_check_verbs(&uobj, &request),
				    cases[i].want, "case %u", i);
	}
	/* The driver reads the kind from @real_qp, which is part of a struct mlx5_ib_qp. */
	api.id = UVERBS_OBJECT_QP;
	real.rsc.ops = &mlx5_ib_plain_qp_rsc_ops;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), 0);
	KUNIT_EXPECT_EQ(test, id.kind, MLX5_IB_DEVX_QP);
	KUNIT_EXPECT_EQ(test, id.num, NUM);
	real.rsc.ops = NULL;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_identify(&uobj, &id), -EINVAL);
}

/* A process chooses the type of a general object, which must not be the type of a queue. */
static void object_is_the_event_source_of_its_own_type(struct kunit *test)
{
	static const struct {
		struct mlx5_ib_devx_id id;
		u32 want;
	} ids[] = {
		{ { MLX5_IB_DEVX_CQ, NUM }, MLX5_OBJ_TYPE_CQ },
		{ { MLX5_IB_DEVX_QP, NUM }, MLX5_OBJ_TYPE_QP },
		{ { MLX5_IB_DEVX_SQ, NUM }, MLX5_OBJ_TYPE_SQ },
		{ { MLX5_IB_DEVX_RQ, NUM }, MLX5_OBJ_TYPE_RQ },
		{ { MLX5_IB_DEVX_RMP, NUM }, MLX5_OBJ_TYPE_RMP },
		{ { MLX5_IB_DEVX_XRC_SRQ, NUM }, MLX5_OBJ_TYPE_RMP },
		{ { MLX5_IB_DEVX_DCT, NUM }, MLX5_OBJ_TYPE_DCT },
		{ { MLX5_IB_DEVX_XRQ, NUM }, MLX5_OBJ_TYPE_XRQ },
		{ { MLX5_IB_DEVX_PD, NUM }, 0 },
		{ { MLX5_IB_DEVX_FLOW_TABLE, NUM }, 0 },
		{ { MLX5_IB_DEVX_NO_KIND, NUM }, 0 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, NUM, 0x13 }, 0x13 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, NUM, MLX5_OBJ_TYPE_MKEY - 1 },
		  MLX5_OBJ_TYPE_MKEY - 1 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, NUM, MLX5_OBJ_TYPE_MKEY }, 0 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, 0, 0 }, 0 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, NUM, MLX5_OBJ_TYPE_QP }, 0 },
		{ { MLX5_IB_DEVX_GENERAL_OBJECT, NUM, 0xffff }, 0 },
	};
	struct mlx5_ib_event_source source;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_event_source_of(&ids[i].id, &source),
				    !!ids[i].want, "%u", i);
		if (!ids[i].want)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, source.type, ids[i].want, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, source.num, NUM, "%u", i);
	}
}

/* ---- Which channel an event reaches ----------------------------------------------------- */

/* Dword @dword of the event's data has the number of the object, whose type is @want. */
static const struct route_case {
	const char *name;
	u8 type;
	u8 queue_type;
	u8 dword;
	u32 want;
} route_cases[] = {
	{ "completion", COMP, 0, 6, MLX5_OBJ_TYPE_CQ },
	{ "CQ error", CQ_ERROR, 0, 0, MLX5_OBJ_TYPE_CQ },
	{ "path migrated", 0x01, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "communication established", 0x02, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "send queue drained", 0x03, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "catastrophic error", 0x05, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "path migration failed", 0x07, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "invalid request", 0x10, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "access error", 0x11, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "last WQE of an SRQ", 0x13, 0, 6, MLX5_OBJ_TYPE_QP },
	{ "RQ error", 0x05, MLX5_EVENT_QUEUE_TYPE_RQ, 6, MLX5_OBJ_TYPE_RQ },
	{ "SQ error", 0x05, MLX5_EVENT_QUEUE_TYPE_SQ, 6, MLX5_OBJ_TYPE_SQ },
	{ "DCT error", 0x05, MLX5_EVENT_QUEUE_TYPE_DCT, 6, MLX5_OBJ_TYPE_DCT },
	{ "error of an unknown queue", 0x05, 5, 6, 0 },
	{ "SRQ limit", 0x14, 0, 6, MLX5_OBJ_TYPE_RMP },
	{ "SRQ error", 0x12, 0, 6, MLX5_OBJ_TYPE_RMP },
	{ "SRQ error with a type", 0x12, MLX5_EVENT_QUEUE_TYPE_RQ, 6, MLX5_OBJ_TYPE_RMP },
	{ "XRQ error", 0x18, 0, 5, MLX5_OBJ_TYPE_XRQ },
	{ "DCT drained", 0x1c, 0, 6, MLX5_OBJ_TYPE_DCT },
	{ "DCT key violation", 0x1d, 0, 6, MLX5_OBJ_TYPE_DCT },
	{ "not for users", MLX5_EVENT_TYPE_CMD, 0, 6, 0 },
	{ "not known", OF_NOBODY, 0, 6, 0 },
};

KUNIT_ARRAY_PARAM_DESC(route, route_cases, name);

/* The channel subscribes to the event of an object of each type; all objects have number NUM. */
static void event_reaches_the_subscribers_of_its_object(struct kunit *test)
{
	const struct route_case *c = test->param_value;
	struct mlx5_ib_devx_channel *channel;
	struct mlx5_ib_devx_event event;
	struct mlx5_eqe eqe = { .type = c->type, .sub_type = 7 };
	unsigned int i;

	make_mock(test);
	channel = make_channel(test, false);
	for (i = 0; i < ARRAY_SIZE(obj_types); i++)
		subscribe(test, channel, obj_types[i], NUM, c->type, obj_types[i]);
	eqe.data.qp_srq.type = c->queue_type;
	eqe.data.raw[c->dword] = cpu_to_be32(0xff000000 | (NUM + 1));
	report(test, &eqe);
	expect_nothing(test, channel);
	eqe.data.raw[c->dword] = cpu_to_be32(0xff000000 | NUM);
	report(test, &eqe);
	if (c->want) {
		KUNIT_EXPECT_EQ(test, take(channel, &event), (ssize_t)sizeof(event));
		KUNIT_EXPECT_EQ(test, event.cookie, c->want);
		KUNIT_EXPECT_MEMEQ(test, &event.eqe, &eqe, sizeof(eqe));
	}
	expect_nothing(test, channel);
}

/* An event that may be about an object of any type has a header with the type and the number. */
static void object_change_reaches_its_type_and_number(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel;
	struct mlx5_eqe eqe = { .type = OF_OBJECT };

	make_mock(test);
	channel = make_channel(test, false);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_MKEY, 0xff123456, OF_OBJECT,
					1), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, 0x13, 0xff123456, OF_OBJECT, 2), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_RMP, 0xff123456, OF_OBJECT,
					3), 0);
	eqe.data.obj_change.obj_id = cpu_to_be32(0xff123456);
	eqe.data.obj_change.obj_type = cpu_to_be16(0x13);
	report(test, &eqe);
	expect_cookie(test, channel, 2);
	eqe.data.obj_change.obj_type = cpu_to_be16(MLX5_OBJ_TYPE_MKEY);
	report(test, &eqe);
	expect_cookie(test, channel, 1);
	eqe.data.obj_change.obj_type = cpu_to_be16(MLX5_OBJ_TYPE_XRC_SRQ);
	report(test, &eqe);
	expect_cookie(test, channel, 3);
	eqe.data.obj_change.obj_type = cpu_to_be16(0x14);
	report(test, &eqe);
	eqe.data.obj_change.obj_type = 0;
	report(test, &eqe);
	expect_nothing(test, channel);
}

static void device_event_reaches_all_its_subscribers(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel[2];
	struct mlx5_eqe eqe = { .type = PORT_CHANGE };
	unsigned int i;

	make_mock(test);
	for (i = 0; i < 2; i++) {
		channel[i] = make_channel(test, i);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], DEVICE, 0, PORT_CHANGE, i), 0);
	}
	report(test, &eqe);
	expect_cookie(test, channel[0], 0);
	expect_cookie(test, channel[1], 1);
	eqe.type = OF_DEVICE;
	report(test, &eqe);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel[1], DEVICE, 0, OF_DEVICE, 2), 0);
	report(test, &eqe);
	expect_nothing(test, channel[0]);
	expect_cookie(test, channel[1], 2);
	expect_nothing(test, channel[1]);
}

static void only_subscribed_types_are_delivered(struct kunit *test)
{
	static const u16 types[] = { COMM_EST, SQ_DRAINED };
	const struct mlx5_ib_devx_request request = {
		.source = { .type = MLX5_OBJ_TYPE_QP, .num = NUM }, .types = types, .num_types = 2,
		.cookie = 9,
	};
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);

	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), 0);
	report_qp(test, SQ_DRAINED, NUM, 0);
	expect_cookie(test, channel, 9);
	report_qp(test, MLX5_EVENT_TYPE_WQ_CATAS_ERROR, NUM, 0);
	expect_nothing(test, channel);
	report_qp(test, COMM_EST, NUM, 0);
	expect_cookie(test, channel, 9);
	expect_nothing(test, channel);
}

/* ---- Subscriptions ---------------------------------------------------------------------- */

static void refused_request_subscribes_to_nothing(struct kunit *test)
{
	static const u16 bad[] = { COMM_EST, SQ_DRAINED, CQ_ERROR };
	u16 many[65];
	struct mlx5_ib_devx_request request = {
		.source = { .type = MLX5_OBJ_TYPE_QP, .num = NUM }, .types = bad,
		.num_types = ARRAY_SIZE(bad),
	};
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), -EINVAL);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	request.num_types = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), -EINVAL);
	request.num_types = MLX5_EVENT_TYPE_MAX + 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = COMM_EST;
	request.types = many;
	request.num_types = ARRAY_SIZE(many);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), -ENOSPC);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	/* No file has this descriptor. */
	request.num_types = 2;
	request.has_eventfd = true;
	request.eventfd = -1;
	KUNIT_EXPECT_LT(test, mlx5_ib_devx_subscribe(channel, mock->context, &request), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	report_qp(test, COMM_EST, NUM, 0);
	expect_nothing(test, channel);
}

/* One interrupt handles all subscriptions to an event of an object: the limit bounds its time. */
static void process_is_limited_to_64_subscriptions_per_event(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel[2], *others;
	struct mlx5_ib_ucontext *context = mock->context, other = *mock->context;
	unsigned int i;

	for (i = 0; i < 2; i++)
		channel[i] = make_channel(test, true);
	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i % 2], MLX5_OBJ_TYPE_QP, NUM,
						COMM_EST, i), 0);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_QP, NUM, COMM_EST,
						0), -ENOSPC);
	/* The limit is per event, per object and per context. */
	KUNIT_EXPECT_EQ(test, subscribe(test, channel[0], MLX5_OBJ_TYPE_QP, NUM, SQ_DRAINED, 0), 0);
	KUNIT_EXPECT_EQ(test, subscribe(test, channel[0], MLX5_OBJ_TYPE_QP, NUM + 1, COMM_EST, 0),
			0);
	mock->context = &other;
	others = make_channel(test, true);
	KUNIT_EXPECT_EQ(test, subscribe(test, others, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 0), 0);
	kunit_release_action(test, close_channel, others);
	mock->context = context;
}

/* The subscriptions of a channel end in portions of 64, so that other users get the lock. */
static void closed_channel_ends_all_its_subscriptions(struct kunit *test)
{
	static const unsigned int nums[] = { 63, 64, 65, 128, 130 };
	struct mlx5_ib_devx_channel *channel;
	unsigned int i, n;

	make_mock(test);
	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		channel = make_channel(test, true);
		for (n = 0; n < nums[i]; n++)
			KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM + n,
							COMM_EST, n), 0);
		KUNIT_EXPECT_EQ(test, num_sources(test), nums[i]);
		kunit_release_action(test, close_channel, channel);
		KUNIT_EXPECT_EQ_MSG(test, num_sources(test), 0, "%u subscriptions", nums[i]);
	}
}

static void closed_channel_gets_no_events(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel[2];
	struct mlx5_ib_devx_event event;
	unsigned int i;

	make_mock(test);
	for (i = 0; i < 2; i++) {
		channel[i] = make_channel(test, i);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_QP, NUM, COMM_EST,
						i), 0);
	}
	report_qp(test, COMM_EST, NUM, 0);
	for (i = 0; i < 2; i++) {
		kunit_release_action(test, close_channel, channel[i]);
		KUNIT_EXPECT_EQ(test, take(channel[i], &event), -EIO);
		KUNIT_EXPECT_EQ(test, num_sources(test), !i);
		report_qp(test, COMM_EST, NUM, 0);
		KUNIT_EXPECT_EQ(test, take(channel[i], &event), -EIO);
	}
}

/* ---- Objects that are destroyed --------------------------------------------------------- */

static const struct mlx5_ib_fw_attempt first_attempt;

static void pause_qp(struct mock *mock)
{
	mlx5_ib_event_pause(mock->dev, &first_attempt, MLX5_OBJ_TYPE_QP, NUM);
}

static void settle_qp(struct mock *mock, int err)
{
	mlx5_ib_event_settle(mock->dev, &first_attempt, MLX5_OBJ_TYPE_QP, NUM, err);
}

/* Firmware may give the number of a destroyed object to an object of another user. */
static void destroyed_object_leaves_no_events_or_subscribers(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel[2];
	struct mock *mock = make_mock(test);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		channel[i] = make_channel(test, i);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_QP, NUM, COMM_EST,
						1), 0);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_CQ, NUM, CQ_ERROR,
						2), 0);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_QP, NUM + 1,
						COMM_EST, 3), 0);
	}
	/* The process may have freed what the cookie of a queued event points to. */
	report_qp(test, COMM_EST, NUM, 0);
	report_qp(test, COMM_EST, NUM + 1, 0);
	pause_qp(mock);
	/* Firmware has destroyed the object; the driver has not seen the answer yet. */
	report_qp(test, COMM_EST, NUM, 0);
	settle_qp(mock, 0);
	report_qp(test, COMM_EST, NUM, 0);
	/* The event of the other queue pair is still to be read. */
	for (i = 0; i < 2; i++) {
		expect_cookie(test, channel[i], 3);
		expect_nothing(test, channel[i]);
	}
	KUNIT_EXPECT_EQ(test, num_sources(test), 2);
}

static void new_object_of_the_number_keeps_its_subscribers(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);

	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	pause_qp(mock);
	/* The new object exists before the task that destroys the old one goes on. */
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 2), 0);
	report_qp(test, COMM_EST, NUM, 0);
	settle_qp(mock, 0);
	expect_cookie(test, channel, 2);
	expect_nothing(test, channel);
	report_qp(test, COMM_EST, NUM, 0);
	expect_cookie(test, channel, 2);
}

/* A process still has the handle of an object that an unanswered command has destroyed. */
static void stale_handle_ends_no_subscriptions_to_the_next_object(struct kunit *test)
{
	static const struct mlx5_ib_fw_attempt stale = { .unanswered = true, .replaced = true };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, true);

	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	mlx5_ib_event_pause(mock->dev, &stale, MLX5_OBJ_TYPE_QP, NUM);
	report_qp(test, COMM_EST, NUM, 0);
	expect_cookie(test, channel, 1);
	mlx5_ib_event_settle(mock->dev, &stale, MLX5_OBJ_TYPE_QP, NUM, 0);
	/* Nor does the stale handle end subscriptions while the next object is being destroyed. */
	pause_qp(mock);
	mlx5_ib_event_settle(mock->dev, &stale, MLX5_OBJ_TYPE_QP, NUM, 0);
	settle_qp(mock, -EBUSY);
	report_qp(test, COMM_EST, NUM, 0);
	expect_cookie(test, channel, 1);
}

static void events_missed_in_a_refused_destruction_are_reported(struct kunit *test)
{
	/* mlx5_core returns -ENOMEM and -ECANCELED also for a command that it could not send. */
	static const int refusals[] = { -EBUSY, -EINVAL, -EIO, -EREMOTEIO, -EAGAIN, -ENOMEM,
					-ECANCELED };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *data = make_channel(test, false);
	struct mlx5_ib_devx_channel *cookies = make_channel(test, true);
	struct mlx5_ib_devx_event event;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, subscribe(test, data, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, cookies, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 2), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, cookies, MLX5_OBJ_TYPE_QP, NUM, SQ_DRAINED, 3), 0);
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		pause_qp(mock);
		report_qp(test, COMM_EST, NUM, 0);
		expect_nothing(test, data);
		expect_nothing(test, cookies);
		settle_qp(mock, refusals[i]);
		KUNIT_EXPECT_EQ(test, take(data, &event), -EOVERFLOW);
		expect_nothing(test, data);
		expect_cookie(test, cookies, 2);
		expect_nothing(test, cookies);
		report_qp(test, COMM_EST, NUM, 0);
		expect_cookie(test, data, 1);
		expect_cookie(test, cookies, 2);
	}
	/* No event came during the refused destruction, so none was missed. */
	pause_qp(mock);
	settle_qp(mock, -EBUSY);
	expect_nothing(test, data);
	expect_nothing(test, cookies);
}

/* The unanswered command may have destroyed the object, whose number may now be another user's. */
static void unanswered_destruction_holds_events_back(struct kunit *test)
{
	/* Each later command is not answered, refused or not sent, but the last one succeeds. */
	static const int results[] = { -ETIMEDOUT, -EBUSY, -ECANCELED, -ENOMEM, -EINVAL, 0 };
	static const struct mlx5_ib_fw_attempt lost = { .failed = true, .unanswered = true };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, true);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	for (i = 0; i < ARRAY_SIZE(results); i++) {
		mlx5_ib_event_pause(mock->dev, &lost, MLX5_OBJ_TYPE_QP, NUM);
		mlx5_ib_event_settle(mock->dev, &lost, MLX5_OBJ_TYPE_QP, NUM, results[i]);
		report_qp(test, COMM_EST, NUM, 0);
		expect_nothing(test, channel);
		KUNIT_EXPECT_EQ_MSG(test, num_sources(test), !!results[i], "result %d",
				    results[i]);
	}
}

static struct mlx5_ib_devx_obj *create_cq(struct kunit *test)
{
	struct mock *mock = test->priv;
	u32 in[MLX5_ST_SZ_DW(create_cq_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_cq_out)] = {};
	struct mlx5_ib_devx_obj *obj;

	MLX5_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
	obj = mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	return obj;
}

static void destroyed_devx_object_has_no_subscribers(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	struct mlx5_ib_devx_obj *obj = create_cq(test);
	struct mlx5_core_cq *mcq = &to_devx_cq(obj)->mcq;
	struct mlx5_eqe eqe = { .type = COMP };
	u32 cqn = obj->id.num;

	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, cqn, COMP, 1), 0);
	eqe.data.comp.cqn = cpu_to_be32(cqn);
	mcq->comp(mcq, &eqe);
	expect_cookie(test, channel, 1);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	mcq->comp(mcq, &eqe);
	expect_cookie(test, channel, 1);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
}

/* The event that firmware reports while it executes, or refuses, DESTROY_CQ. */
static struct {
	struct mlx5_eqe eqe;
	struct mlx5_ib_devx_channel *channel;
	unsigned int num;
} in_flight;

static int fw_reports_an_event(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			       int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();

	if (MLX5_GET(destroy_cq_in, in, opcode) == MLX5_CMD_OP_DESTROY_CQ) {
		in_flight.num++;
		report(test, &in_flight.eqe);
		/* Another user's CQ may have the number by now. */
		expect_nothing(test, in_flight.channel);
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* What the driver does at the end of a subscription, and then an interrupt that is under way. */
static const struct mlx5_ib_event_ops *ops_of_driver;

static void release_and_deliver(struct mlx5_ib_event_sub *sub)
{
	struct mlx5_eqe eqe = { .type = COMM_EST };

	/* The subscription is freed only when the interrupt has ended. */
	guard(rcu)();
	ops_of_driver->release(sub);
	ops_of_driver->deliver(sub, &eqe);
}

static void event_at_the_end_of_a_subscription_is_dropped(struct kunit *test)
{
	static const struct mlx5_ib_event_ops late = { .release = release_and_deliver };
	struct mlx5_ib_devx_channel *channel;
	struct mock *mock = make_mock(test);
	unsigned int omit_data;

	for (omit_data = 0; omit_data < 2; omit_data++) {
		channel = make_channel(test, omit_data);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1),
				0);
		ops_of_driver = channel->owner.ops;
		channel->owner.ops = &late;
		pause_qp(mock);
		settle_qp(mock, 0);
		channel->owner.ops = ops_of_driver;
		expect_nothing(test, channel);
	}
}

static void event_during_a_destruction_is_held_back(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, true);
	struct mlx5_ib_devx_obj *obj = create_cq(test);
	u32 cqn = obj->id.num;

	memset(&in_flight, 0, sizeof(in_flight));
	in_flight.eqe.type = CQ_ERROR;
	in_flight.eqe.data.cq_err.cqn = cpu_to_be32(cqn);
	in_flight.channel = channel;
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, cqn, CQ_ERROR, 7), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_reports_an_event);
	/* A refusal says that the CQ is still the process's. */
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	expect_cookie(test, channel, 7);
	expect_nothing(test, channel);
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	expect_nothing(test, channel);
	/* After a command without an answer, the refused command may name another user's CQ. */
	mock->refuse_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	expect_nothing(test, channel);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	expect_nothing(test, channel);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	KUNIT_EXPECT_EQ(test, in_flight.num, 1 + 2 + 1 + 1);
}

/* If the object is destroyed, the device may have given its number to an object of another user. */
static void object_that_may_be_destroyed_gets_no_subscribers(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_obj *obj = create_cq(test);
	struct uverbs_api_object api = { .id = MLX5_IB_OBJECT_DEVX_OBJ };
	struct ib_ucontext uctx = {};
	struct ib_uobject uobj = { .object = obj, .uapi_object = &api, .context = &uctx };
	struct mlx5_ib_devx_request request = {};

	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_choose_object(&uobj, &request), 0);
	KUNIT_EXPECT_EQ(test, request.source.type, MLX5_OBJ_TYPE_CQ);
	KUNIT_EXPECT_EQ(test, request.source.num, obj->id.num);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_choose_object(&uobj, &request), 0);
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_choose_object(&uobj, &request), -EIO);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
}

static void queue_of_verbs_that_may_be_destroyed_gets_no_subscribers(struct kunit *test)
{
	struct uverbs_api_object api = {};
	struct ib_ucontext uctx = {};
	struct ib_uobject uobj = { .uapi_object = &api, .context = &uctx };
	struct mlx5_ib_devx_request request = {};
	struct {
		struct mlx5_ib_qp qp;
		struct mlx5_ib_srq srq;
		struct mlx5_ib_cq cq;
	} *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	struct mlx5_ib_fw_attempt *attempts[3];
	void *objects[3];
	static const u16 ids[] = { UVERBS_OBJECT_QP, UVERBS_OBJECT_SRQ, UVERBS_OBJECT_CQ };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, v);
	objects[0] = &v->qp.ibqp;
	objects[1] = &v->srq.ibsrq;
	objects[2] = &v->cq.ibcq;
	attempts[0] = &v->qp.rsc.attempt;
	attempts[1] = &v->srq.rsc.attempt;
	attempts[2] = &v->cq.attempt;
	v->qp.ibqp.real_qp = &v->qp.ibqp;
	v->qp.rsc.ops = &mlx5_ib_plain_qp_rsc_ops;
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		api.id = ids[i];
		uobj.object = objects[i];
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_choose_object(&uobj, &request), 0,
				    "case %u", i);
		attempts[i]->unanswered = true;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_choose_object(&uobj, &request), -EIO,
				    "case %u", i);
		attempts[i]->unanswered = false;
		attempts[i]->replaced = true;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_choose_object(&uobj, &request), -EIO,
				    "case %u", i);
	}
}

/* Firmware keeps the object, but the process has no handle of it any more. */
static void orphaned_devx_object_has_no_subscribers(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	struct mlx5_ib_devx_obj *obj = create_cq(test);

	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, obj->id.num, CQ_ERROR, 1),
			0);
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
}

static void no_event(struct mlx5_ib_rsc *rsc, enum ib_event_type event)
{
}

static void destroyed_verbs_queue_has_no_subscribers(struct kunit *test)
{
	/* The mock firmware keeps no DCTs or PSVs, and so accepts any number to destroy. */
	static const struct mlx5_ib_rsc_ops ops[] = {
		{ .type = MLX5_RES_QP, .name = "QP", .destroy_op = MLX5_CMD_OP_DESTROY_DCT,
		  .event = no_event },
		{ .type = MLX5_RES_SRQ, .name = "SRQ", .destroy_op = MLX5_CMD_OP_DESTROY_PSV,
		  .event = no_event },
	};
	static const u32 types[] = { MLX5_OBJ_TYPE_QP, MLX5_OBJ_TYPE_RMP };
	static const u16 events[] = { COMM_EST, SRQ_LIMIT };
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	struct mlx5_ib_rsc *rsc = kunit_kcalloc(test, 2, sizeof(*rsc), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rsc);
	for (i = 0; i < 2; i++) {
		rsc[i].dev = mock->dev;
		rsc[i].ops = &ops[i];
		rsc[i].num = NUM;
		KUNIT_ASSERT_EQ(test, mlx5_ib_rsc_add(&rsc[i]), 0);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel, types[i], NUM, events[i], i), 0);
	}
	for (i = 0; i < 2; i++) {
		mock->num_commands = 0;
		mock->refuse = 1;
		KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&rsc[i]), -EBUSY);
		KUNIT_EXPECT_EQ(test, num_sources(test), 2 - i);
		report_qp(test, events[i], NUM, 0);
		expect_cookie(test, channel, i);
		KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(&rsc[i]), 0);
		KUNIT_EXPECT_EQ(test, num_sources(test), 1 - i);
	}
}

/* An SRQ with tag matching is named by another type of object than SRQs are. */
static void destroyed_xrq_has_no_subscribers(struct kunit *test)
{
	static const struct mlx5_ib_rsc_ops ops = {
		.type = MLX5_RES_SRQ, .event_object = MLX5_OBJ_TYPE_XRQ, .name = "XRQ",
		.destroy_op = MLX5_CMD_OP_DESTROY_PSV, .event = no_event,
	};
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	struct mlx5_ib_rsc *rsc = kunit_kzalloc(test, sizeof(*rsc), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rsc);
	rsc->dev = mock->dev;
	rsc->ops = &ops;
	rsc->num = NUM;
	KUNIT_ASSERT_EQ(test, mlx5_ib_rsc_add(rsc), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_XRQ, NUM,
					MLX5_EVENT_TYPE_XRQ_ERROR, 0), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_RMP, NUM, SRQ_LIMIT, 0), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_rsc_destroy(rsc), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 1);
}

static int create_verbs_cq(struct mock *mock, struct mlx5_ib_cq *cq)
{
	const struct mlx5_ib_create_cq ucmd = {
		.buf_addr = mock_buffer(mock, 0), .db_addr = mock_buffer(mock, 1), .cqe_size = 64,
	};
	const struct ib_cq_init_attr attr = { .cqe = 15 };

	cq->ibcq.device = &mock->dev->ib_dev;
	mock_udata(mock, &ucmd, sizeof(ucmd), sizeof(struct mlx5_ib_create_cq_resp));
	return mlx5_ib_create_user_cq(&cq->ibcq, &attr, mock->attrs);
}

/* Firmware keeps the CQ. Only if the process has closed the device it has no handle any more. */
static void cq_of_a_closed_process_has_no_subscribers(struct kunit *test)
{
	struct mlx5_ib_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false);
	struct ib_udata *udata = &mock->attrs->driver_udata;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	mock->context->uid = 0;
	mock_open(mock);
	mock->context->uid = UID;
	KUNIT_ASSERT_EQ(test, create_verbs_cq(mock, cq), 0);
	KUNIT_ASSERT_EQ(test, 0, subscribe(test, channel, MLX5_OBJ_TYPE_CQ, cq->mcq.cqn, CQ_ERROR,
					   1));
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&cq->ibcq, udata), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, num_sources(test), 1);
	mock->context->closing = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&cq->ibcq, udata), 0);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
	mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	mock->context->uid = 0;
	mock_close(mock);
}

/* ---- What a reader gets ----------------------------------------------------------------- */

static void lost_events_are_reported(struct kunit *test)
{
	const unsigned int subs = MLX5_IB_DEVX_EVENTS / MLX5_IB_DEVX_EVENTS_PER_SUB;
	struct mlx5_ib_devx_channel *channel;
	struct mlx5_ib_devx_event event;
	unsigned int i, round;

	make_mock(test);
	channel = make_channel(test, false);
	/* Each subscription adds slots to the channel, which events of all subscriptions use. */
	for (i = 0; i < subs; i++)
		KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM + i, COMM_EST,
						i + 1), 0);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < MLX5_IB_DEVX_EVENTS + 3; i++)
			report_qp(test, COMM_EST, NUM, i);
		KUNIT_EXPECT_EQ(test, take(channel, &event), -EOVERFLOW);
		for (i = 0; i < MLX5_IB_DEVX_EVENTS; i++) {
			KUNIT_ASSERT_EQ(test, take(channel, &event), (ssize_t)sizeof(event));
			KUNIT_ASSERT_EQ(test, event.eqe.sub_type, (u8)i);
		}
		expect_nothing(test, channel);
	}
	/* No event is lost if there are exactly as many events as slots. */
	for (i = 0; i < MLX5_IB_DEVX_EVENTS; i++)
		report_qp(test, COMM_EST, NUM, i);
	for (i = 0; i < MLX5_IB_DEVX_EVENTS; i++)
		expect_cookie(test, channel, 1);
	expect_nothing(test, channel);
}

/* Most channels have few subscriptions, so that slots for the longest queue would be a waste. */
/* The slots of a channel belong to no subscription: each holds an event of one, then of another. */
static void slot_is_used_again_for_another_subscription(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel;
	unsigned int i, round;

	make_mock(test);
	channel = make_channel(test, false);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM + i, COMM_EST,
						i + 1), 0);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < channel->num_slots; i++)
			report_qp(test, COMM_EST, NUM + round % 2, i);
		for (i = 0; i < channel->num_slots; i++)
			expect_cookie(test, channel, round % 2 + 1);
		expect_nothing(test, channel);
	}
}

static void channel_has_room_for_its_subscriptions(struct kunit *test)
{
	const unsigned int per_sub = MLX5_IB_DEVX_EVENTS_PER_SUB;
	struct mlx5_ib_devx_channel *data, *cookies;
	unsigned int i;

	make_mock(test);
	data = make_channel(test, false);
	cookies = make_channel(test, true);
	KUNIT_EXPECT_EQ(test, data->num_slots, 0);
	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, subscribe(test, data, MLX5_OBJ_TYPE_QP, NUM + i, COMM_EST,
						i), 0);
		KUNIT_ASSERT_EQ(test, subscribe(test, cookies, MLX5_OBJ_TYPE_QP, NUM + i, COMM_EST,
						i), 0);
		KUNIT_EXPECT_EQ(test, data->num_slots, min((i + 1) * per_sub, MLX5_IB_DEVX_EVENTS));
	}
	KUNIT_EXPECT_EQ(test, cookies->num_slots, 0);
	KUNIT_EXPECT_NULL(test, cookies->slots);
}

/* A refused channel does not count, and a closed one makes room for another. */
static void context_has_256_channels_at_most(struct kunit *test)
{
	struct mlx5_ib_devx_channel *first, refused = {};
	struct mock *mock = make_mock(test);
	unsigned int i;

	first = make_channel(test, false);
	for (i = 1; i < MLX5_IB_DEVX_CHANNELS; i++)
		make_channel(test, i % 2);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_open_channel(&refused, mock->context, i),
				-ENOSPC);
	kunit_release_action(test, close_channel, first);
	make_channel(test, false);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_open_channel(&refused, mock->context, false), -ENOSPC);
}

static void event_without_data_is_queued_once(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel;
	unsigned int i;

	make_mock(test);
	channel = make_channel(test, true);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 2), 0);
	KUNIT_ASSERT_EQ(test, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, SQ_DRAINED, 3), 0);
	for (i = 0; i < 2 * MLX5_IB_DEVX_EVENTS; i++) {
		report_qp(test, COMM_EST, NUM, i);
		report_qp(test, SQ_DRAINED, NUM, i);
	}
	expect_cookie(test, channel, 1);
	/* Once the process has read an event, the next event of the subscription is queued. */
	report_qp(test, COMM_EST, NUM, 0);
	expect_cookie(test, channel, 2);
	expect_cookie(test, channel, 3);
	expect_cookie(test, channel, 1);
	expect_nothing(test, channel);
}

static void event_is_read_whole_or_kept(struct kunit *test)
{
	struct mlx5_ib_devx_channel *channel[2];
	struct mlx5_ib_devx_event event;
	unsigned int i;

	make_mock(test);
	for (i = 0; i < 2; i++) {
		channel[i] = make_channel(test, i);
		KUNIT_ASSERT_EQ(test, subscribe(test, channel[i], MLX5_OBJ_TYPE_QP, NUM, COMM_EST,
						1), 0);
	}
	report_qp(test, COMM_EST, NUM, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_event(channel[0], sizeof(event) - 1, &event),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_event(channel[1], sizeof(u64) - 1, &event),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_event(channel[0], sizeof(event), &event),
			(ssize_t)sizeof(event));
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_event(channel[1], sizeof(u64), &event),
			(ssize_t)sizeof(u64));
}

/* ---- allocations that fail ---------------------------------------------------------------- */

static struct mlx5_ib_devx_channel verb_channel;

static int open_and_subscribe(void *test)
{
	struct mock *mock = ((struct kunit *)test)->priv;
	int err;

	memset(&verb_channel, 0, sizeof(verb_channel));
	err = mlx5_ib_devx_open_channel(&verb_channel, mock->context, false);
	if (err)
		return err;
	err = subscribe(test, &verb_channel, 0, 0, OF_DEVICE, 7);
	if (err)
		mlx5_ib_devx_close_channel(&verb_channel);
	return err;
}

static void close_verb_channel(void *test)
{
	mlx5_ib_devx_close_channel(&verb_channel);
}

static void failure_of_any_allocation_leaves_no_subscription(struct kunit *test)
{
	static const struct fail_alloc_verb verb = { open_and_subscribe, close_verb_channel };
	struct mock *mock = make_mock(test);

	fail_alloc_each(mock, &verb, test);
	KUNIT_EXPECT_EQ(test, num_sources(test), 0);
}

/* An interrupt queues events, and tasks read them. */
static void queue_of_a_channel_has_its_lock(struct kunit *test)
{
	struct mock *mock = make_mock(test);
	struct mlx5_ib_devx_channel *channel = make_channel(test, false), empty = {};
	struct mlx5_ib_devx_event event;
	spinlock_t *lock = &channel->lock;

	EXPECT_TAKES_LOCK(test, lock, subscribe(test, channel, MLX5_OBJ_TYPE_QP, NUM, COMM_EST, 1));
	EXPECT_TAKES_LOCK(test, lock, report_qp(test, COMM_EST, NUM, 0));
	EXPECT_TAKES_LOCK(test, lock, take(channel, &event));
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_open_channel(&empty, mock->context, false), 0);
	EXPECT_TAKES_LOCK(test, &empty.lock, mlx5_ib_devx_close_channel(&empty));
}

static struct kunit_case devx_event_cases[] = {
	KUNIT_CASE_PARAM(process_subscribes_only_to_events_it_may_see, check_gen_params),
	KUNIT_CASE(device_without_event_cap_has_the_standard_events),
	KUNIT_CASE(known_event_is_what_it_is_whatever_the_device_lists),
	KUNIT_CASE(context_without_a_user_id_cannot_subscribe),
	KUNIT_CASE(process_does_not_see_events_of_an_xrc_target),
	KUNIT_CASE(object_is_the_event_source_of_its_own_type),
	KUNIT_CASE_PARAM(event_reaches_the_subscribers_of_its_object, route_gen_params),
	KUNIT_CASE(object_change_reaches_its_type_and_number),
	KUNIT_CASE(device_event_reaches_all_its_subscribers),
	KUNIT_CASE(only_subscribed_types_are_delivered),
	KUNIT_CASE(refused_request_subscribes_to_nothing),
	KUNIT_CASE(process_is_limited_to_64_subscriptions_per_event),
	KUNIT_CASE(closed_channel_gets_no_events),
	KUNIT_CASE(closed_channel_ends_all_its_subscriptions),
	KUNIT_CASE(destroyed_object_leaves_no_events_or_subscribers),
	KUNIT_CASE(new_object_of_the_number_keeps_its_subscribers),
	KUNIT_CASE(stale_handle_ends_no_subscriptions_to_the_next_object),
	KUNIT_CASE(events_missed_in_a_refused_destruction_are_reported),
	KUNIT_CASE(unanswered_destruction_holds_events_back),
	KUNIT_CASE(destroyed_devx_object_has_no_subscribers),
	KUNIT_CASE(event_at_the_end_of_a_subscription_is_dropped),
	KUNIT_CASE(event_during_a_destruction_is_held_back),
	KUNIT_CASE(object_that_may_be_destroyed_gets_no_subscribers),
	KUNIT_CASE(queue_of_verbs_that_may_be_destroyed_gets_no_subscribers),
	KUNIT_CASE(orphaned_devx_object_has_no_subscribers),
	KUNIT_CASE(destroyed_verbs_queue_has_no_subscribers),
	KUNIT_CASE(destroyed_xrq_has_no_subscribers),
	KUNIT_CASE(cq_of_a_closed_process_has_no_subscribers),
	KUNIT_CASE(lost_events_are_reported),
	KUNIT_CASE(slot_is_used_again_for_another_subscription),
	KUNIT_CASE(channel_has_room_for_its_subscriptions),
	KUNIT_CASE(context_has_256_channels_at_most),
	KUNIT_CASE(event_without_data_is_queued_once),
	KUNIT_CASE(event_is_read_whole_or_kept),
	KUNIT_CASE(failure_of_any_allocation_leaves_no_subscription),
	KUNIT_CASE(queue_of_a_channel_has_its_lock),
	{}
};

static struct kunit_suite devx_event_suite = {
	.name = "bluebell_devx_event",
	.test_cases = devx_event_cases,
};

kunit_test_suite(devx_event_suite);
