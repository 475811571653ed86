// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the creation and destruction of all objects when something fails: firmware refuses
 * each command of the creation in turn or does not answer, each allocation fails in turn, the
 * response cannot be copied to the process, the process names memory that it may not use, or
 * firmware refuses to destroy the object.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/mman.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "fw/fw.h"
#include "lib/fail_alloc.h"
#include "lib/memory.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/orphan.h"
#include "lib/umr.h"

/* ---- which objects a case is run for ---------------------------------------------------- */

static bool any(const struct object_type *type)
{
	return true;
}

/* An orphan is left if the response cannot be copied and firmware refuses to destroy the object. */
static bool can_be_orphan(const struct object_type *type)
{
	return type->has_response && type->may_stay;
}

static bool can_be_left(const struct object_type *type)
{
	return type->may_stay;
}

static bool has_memory(const struct object_type *type)
{
	return type != &object_types[OBJ_PD] && type != &object_types[OBJ_RQT] &&
	       type != &object_types[OBJ_RSS_QP];
}

/* The first command that creates the object gives the device its memory. */
static bool has_queues(const struct object_type *type)
{
	return can_be_orphan(type) && has_memory(type) && type->commands == 1;
}

/* ib_core forgets an XRC domain and a target even if a call cannot destroy them. */
static bool can_be_logged(const struct object_type *type)
{
	return type->may_stay || type == &object_types[OBJ_XRCD] ||
	       type == &object_types[OBJ_XRC_TGT];
}

static bool orphans_can_refer_to(const struct object_type *type)
{
	return type->orphans_first;
}

static const void *next_type(const void *prev, char *desc,
			     bool (*applies)(const struct object_type *type))
{
	const struct object_type *type = prev ?: object_types;

	for (type++; type < object_types + NUM_OBJECT_IDS; type++)
		if (applies(type)) {
			strscpy(desc, type->name, KUNIT_PARAM_DESC_SIZE);
			return type;
		}
	return NULL;
}

static const void *object_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, any);
}

static const void *orphan_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, can_be_orphan);
}

static const void *left_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, can_be_left);
}

static const void *queues_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, has_queues);
}

static const void *refer_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, orphans_can_refer_to);
}

static const void *logged_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, can_be_logged);
}

static enum object_id id_of(struct kunit *test)
{
	return (const struct object_type *)test->param_value - object_types;
}

static struct objects *prepare_in(struct kunit *test, u32 ctx_flags, struct footprint *fp)
{
	struct objects *o = objects_make(test);

	o->ctx_flags = ctx_flags;
	KUNIT_ASSERT_EQ(test, objects_need(o, id_of(test)), 0);
	footprint_take(o->mock, fp);
	return o;
}

/* Create all that the object of the running case needs, and nothing else. */
static struct objects *prepare(struct kunit *test, struct footprint *fp)
{
	return prepare_in(test, 0, fp);
}

/* The same in a context with a user id: mock_fw() compares the user id of each command. */
static struct objects *prepare_for_user(struct kunit *test, struct footprint *fp)
{
	return prepare_in(test, MLX5_IB_ALLOC_UCTX_DEVX, fp);
}

static void finish(struct kunit *test, struct objects *o)
{
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(o->mock), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
}

/* ---- refusals --------------------------------------------------------------------------- */

static void refusal_of_any_command_leaves_nothing(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	struct mock *mock = o->mock;
	unsigned int n;
	int err;

	for (n = 1; n <= type->commands + 1; n++) {
		mock->num_commands = 0;
		mock->refuse = n;
		err = objects_create(o, id_of(test));
		if (!err)
			break;
		KUNIT_EXPECT_EQ_MSG(test, err, mock->refuse_err, "refusal %u", n);
		footprint_expect(mock, &before, "refusal", n);
	}
	/* The last round would refuse a command that the creation does not send, so it succeeds. */
	KUNIT_ASSERT_EQ(test, n, type->commands + 1);
	KUNIT_EXPECT_EQ(test, mock->num_commands, type->commands);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), before.live + type->commands);

	mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	if (type->needs[0])
		footprint_expect(mock, &before, "destruction", 0);
	finish(test, o);
}

/* The driver cannot do what a field asks for that it does not know. */
static void request_with_an_unknown_field_is_refused(struct kunit *test)
{
	struct footprint before;
	struct objects *o = prepare(test, &before);
	int idx, err;

	o->newer_request = true;
	idx = mock_enter(o->mock);
	err = objects_create(o, id_of(test));
	mock_leave(o->mock, idx);
	/* A call without a request cannot have such a field. */
	if (!o->newer_request) {
		KUNIT_EXPECT_EQ(test, err, -EOPNOTSUPP);
		footprint_expect(o->mock, &before, "a refused request", 0);
		KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	}
	o->newer_request = false;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	finish(test, o);
}

static void undelivered_response_leaves_nothing(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	int idx, err;

	if (type->has_response) {
		o->break_response = true;
		idx = mock_enter(o->mock);
		err = objects_create(o, id_of(test));
		mock_leave(o->mock, idx);
		KUNIT_EXPECT_EQ(test, err, -EFAULT);
		footprint_expect(o->mock, &before, "an undelivered response", 0);
		o->break_response = false;
	}
	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	finish(test, o);
}

static void refused_destruction_changes_nothing(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before, created;
	struct objects *o = prepare(test, &before);

	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	footprint_take(o->mock, &created);
	if (type->may_stay) {
		o->mock->refuse_destroy = true;
		KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), o->mock->refuse_err);
		footprint_expect(o->mock, &created, "a refused destruction", 0);
		/* The driver then expects to find the object when it is unbound. */
		KUNIT_EXPECT_EQ(test, o->mock->dev->kept, id_of(test) != OBJ_PD);
		o->mock->refuse_destroy = false;
	}
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	finish(test, o);
}

/* Some creations succeed although an allocation has failed. */
static void failure_of_any_allocation_leaves_nothing(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before;
	struct objects *o;
	unsigned int n;
	bool failed;
	int err;

	fail_alloc_init(test);
	o = prepare(test, &before);
	/* Have the pages of request and answer present: no page fault is to fail. */
	mock_udata(o->mock, "", 1, 0);
	for (n = 1, failed = true; failed; n++) {
		fail_alloc_begin(n);
		err = objects_create(o, id_of(test));
		failed = fail_alloc_end();
		if (!err)
			err = objects_destroy(o, id_of(test));
		else
			KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "failure %u", n);
		if (type->needs[0])
			footprint_expect(o->mock, &before, "failed allocation", n);
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	finish(test, o);
}

/* The device, not a process, has the internal objects of XRC. */
static bool is_of_a_process(const struct object_type *type)
{
	return type->create && type != &object_types[OBJ_XRC];
}

static const void *charged_gen_params(struct kunit *test, const void *prev, char *desc)
{
	return next_type(prev, desc, is_of_a_process);
}

/* A process with many objects has as much memory as its cgroup may have, and no more. */
static void memory_of_an_object_is_charged_to_the_process(struct kunit *test)
{
	struct footprint before;
	struct objects *o = prepare(test, &before);
	unsigned int mark = memory_mark();

	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	memory_expect_charged(test, mark);
	if (id_of(test) == OBJ_CONTEXT)
		memory_expect_any(test, mark);
	finish(test, o);
}

/* ---- orphans ---------------------------------------------------------------------------- */

/*
 * Expect that the driver has kept the object, which ib_core has freed and firmware refuses to
 * destroy: the device may use the memory of the object.
 */
static void expect_orphan(struct kunit *test, struct mock *mock, const struct footprint *before)
{
	const struct object_type *type = test->param_value;
	struct footprint want = *before;

	want.live += type->commands;
	want.pinned = mock_num_pinned();
	want.db_pages |= id_of(test) != OBJ_PD;
	/* Firmware cannot give the number of the object to another user. */
	want.counted++;
	footprint_expect(mock, &want, "an undelivered response", 0);
	/* The context is closed. */
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	want.db_pages = false;
	footprint_expect(mock, &want, "the context", 0);
}

static void memory_stays_pinned_while_firmware_keeps_the_object(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	int idx;

	o->break_response = true;
	o->mock->refuse_destroy = true;
	idx = mock_enter(o->mock);
	KUNIT_EXPECT_EQ(test, objects_create(o, id_of(test)), -EFAULT);
	mock_leave(o->mock, idx);
	o->break_response = false;
	KUNIT_EXPECT_EQ(test, mock_num_live(o->mock), before.live + type->commands);
	if (has_memory(type))
		KUNIT_EXPECT_GT(test, mock_num_pinned(), before.pinned);
	/*
	 * expect_orphan() does not fit queue pairs and XRC SRQs: the CQ that they need keeps a page
	 * with doorbell records in the context.
	 */
	if (type->needs[0] == OBJ_CONTEXT || type->needs[0] == OBJ_PD)
		expect_orphan(test, o->mock, &before);
	o->mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(o->mock->dev, o->mock->context);
	mlx5_ib_cleanup_orphans(o->mock->dev);
	footprint_expect(o->mock, &before, "unbinding", 0);
	finish(test, o);
}

/*
 * The driver does not know whether firmware has created the object. If it has, the device uses the
 * memory until the device fails or is reset.
 */
static void memory_stays_pinned_if_the_creation_is_not_answered(struct kunit *test)
{
	struct footprint before;
	struct objects *o = prepare(test, &before);
	struct mlx5_core_dev *mdev = o->mock->dev->mdev;
	enum mlx5_device_state state = mdev->state;

	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, objects_create(o, id_of(test)), -ETIMEDOUT);
	KUNIT_EXPECT_GT(test, mock_num_pinned(), before.pinned);
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_retry(o->mock->dev, o->mock->context);
	mdev->state = state;
	footprint_expect(o->mock, &before, "the failure of the device", 0);
	finish(test, o);
}

/*
 * ib_core forgets an object that repeatedly fails to be destroyed while its process ends, so the
 * driver takes the object over.
 */
static void closed_process_leaves_orphans(struct kunit *test)
{
	struct footprint before, created;
	struct objects *o = prepare_for_user(test, &before);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	footprint_take(mock, &created);
	mock->context->closing = true;
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), created.live);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), created.pinned);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->context->orphans));
	mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	mock->context->closing = false;
	footprint_expect(mock, &before, "the context", 0);
	finish(test, o);
}

/* What the log says of an object that firmware refuses to destroy. */
static struct {
	const char *name;
	u32 number;
	int err;
	unsigned int lines;
} logged;

static void take_log(struct mlx5_ib_dev *dev, const char *name, u32 number, int err)
{
	logged.name = name;
	logged.number = number;
	logged.err = err;
	logged.lines++;
}

static void log_names_what_firmware_keeps(struct kunit *test)
{
	static const char *const names[NUM_OBJECT_IDS] = {
		[OBJ_PD] = "PD", [OBJ_MR] = "mkey", [OBJ_CQ] = "CQ", [OBJ_RC_QP] = "QP",
		[OBJ_UC_QP] = "QP", [OBJ_UD_QP] = "QP", [OBJ_SRQ] = "SRQ", [OBJ_SRQ_QP] = "QP",
		[OBJ_TM_SRQ] = "XRQ",
		[OBJ_XRCD] = "XRC domain", [OBJ_XRC_SRQ] = "XRC SRQ", [OBJ_XRC_INI] = "QP",
		[OBJ_XRC_TGT] = "XRC target", [OBJ_RAW_QP] = "TIS", [OBJ_SENDER] = "TIS",
		[OBJ_RECEIVER] = "RQ", [OBJ_WQ] = "WQ", [OBJ_RQT] = "RQT", [OBJ_RSS_QP] = "TIR",
	};
	const struct object_type *type = test->param_value;
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	struct footprint before;

	/* The record of an orphan leaves the context together with its page. */
	o->qp_db = mock_buffer(mock, 10);
	o->srq_db = mock_buffer(mock, 11);
	KUNIT_ASSERT_EQ(test, objects_need(o, id_of(test)), 0);
	footprint_take(mock, &before);
	memset(&logged, 0, sizeof(logged));
	kunit_activate_static_stub(test, mlx5_ib_orphan_log, take_log);
	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	mock->context->closing = true;
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_STREQ(test, logged.name, names[id_of(test)]);
	/* The last command names the object. */
	KUNIT_EXPECT_EQ(test, logged.number, mock_dword(mock, 8) & 0xffffff);
	KUNIT_EXPECT_EQ(test, logged.err, mock->refuse_err);
	/* A queue pair that consists of several objects leaves as many orphans. */
	KUNIT_EXPECT_EQ(test, logged.lines, type->commands);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	mock->context->closing = false;
	footprint_expect(mock, &before, "unbinding", 0);
	finish(test, o);
}

/* Firmware would refuse to destroy an object that an orphan refers to. */
static void orphans_are_destroyed_before_what_they_refer_to(struct kunit *test)
{
	const struct object_type *type = test->param_value;
	struct footprint before;
	struct objects *o = prepare(test, &before);
	struct mlx5_ib_fw_attempt attempt = {};
	struct mlx5_ib_queue_mem mem = {};
	u32 num;

	/*
	 * Let the orphan belong to the context of the process, or to the kernel if the object is an
	 * XRC domain, which processes share: before the driver destroys a domain, it retries the
	 * kernel's orphans, too.
	 */
	if (id_of(test) != OBJ_XRCD)
		mem.context = o->mock->context;
	KUNIT_ASSERT_EQ(test, objects_create(o, id_of(test)), 0);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_fw_alloc_object(o->mock->dev, 0, MLX5_CMD_OP_ALLOC_UAR,
							 &num));
	mlx5_ib_orphan_adopt(o->mock->dev, 0, MLX5_CMD_OP_DEALLOC_UAR, num, &attempt, "UAR",
			     &mem, -EBUSY);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, id_of(test)), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 1 + type->commands);
	KUNIT_EXPECT_NE(test, o->mock->opcode, MLX5_CMD_OP_DEALLOC_UAR);
	footprint_expect(o->mock, &before, "destruction", 0);
	finish(test, o);
}

/* The internal objects for XRC, and the UMR queue pair. */
static void refused_internal_objects_keep_their_memory(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	unsigned int live, queues;

	KUNIT_ASSERT_EQ(test, mlx5_ib_use_xrc(mock->dev), 0);
	KUNIT_ASSERT_EQ(test, mock_init_umr(mock->dev), 0);
	live = mock_num_live(mock);
	queues = mock->num_queue_mems;
	KUNIT_EXPECT_EQ(test, queues, 4);
	mock->refuse_destroy = true;
	mlx5_ib_cleanup_umr(mock->dev);
	mlx5_ib_cleanup_xrc(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, queues);
	mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(test, mock->num_queue_mems, 0);
}

/* ---- memory of the process -------------------------------------------------------------- */

#define FIELD(name)	offsetof(struct objects, name)

static const struct memory_case {
	const char *name;
	enum object_id id;
	size_t field;
	enum { UNMAPPED, READ_ONLY, MISALIGNED_4, MISALIGNED_32, HALF, KERNEL, WRAPS } what;
	int want;
} memory_cases[] = {
	{ "CQ buffer that is not mapped", OBJ_CQ, FIELD(cq_buf), UNMAPPED, -EFAULT },
	{ "CQ buffer that is read-only", OBJ_CQ, FIELD(cq_buf), READ_ONLY, -EFAULT },
	{ "CQ buffer 32 bytes off a cache line", OBJ_CQ, FIELD(cq_buf), MISALIGNED_32, -EINVAL },
	{ "CQ buffer of the kernel", OBJ_CQ, FIELD(cq_buf), KERNEL, -EFAULT },
	{ "CQ buffer at the end of the address space", OBJ_CQ, FIELD(cq_buf), WRAPS, -EINVAL },
	{ "CQ record that is not mapped", OBJ_CQ, FIELD(cq_db), UNMAPPED, -EFAULT },
	{ "CQ record 4 bytes off", OBJ_CQ, FIELD(cq_db), MISALIGNED_4, -EINVAL },
	{ "CQ record of the kernel", OBJ_CQ, FIELD(cq_db), KERNEL, -EFAULT },
	{ "SRQ buffer that is not mapped", OBJ_SRQ, FIELD(srq_buf), UNMAPPED, -EFAULT },
	{ "SRQ buffer 32 bytes off a cache line", OBJ_SRQ, FIELD(srq_buf), MISALIGNED_32,
	  -EINVAL },
	{ "SRQ buffer in the second half of 4 KiB", OBJ_SRQ, FIELD(srq_buf), HALF, -EINVAL },
	{ "SRQ buffer of the kernel", OBJ_SRQ, FIELD(srq_buf), KERNEL, -EFAULT },
	{ "SRQ buffer at the end of the address space", OBJ_SRQ, FIELD(srq_buf), WRAPS, -EINVAL },
	{ "XRC SRQ buffer that is not mapped", OBJ_XRC_SRQ, FIELD(srq_buf), UNMAPPED, -EFAULT },
	{ "XRC SRQ buffer 32 bytes off a cache line", OBJ_XRC_SRQ, FIELD(srq_buf), MISALIGNED_32,
	  -EINVAL },
	{ "XRC SRQ record that is not mapped", OBJ_XRC_SRQ, FIELD(srq_db), UNMAPPED, -EFAULT },
	{ "TM SRQ buffer that is not mapped", OBJ_TM_SRQ, FIELD(srq_buf), UNMAPPED, -EFAULT },
	{ "TM SRQ buffer in the second half of 4 KiB", OBJ_TM_SRQ, FIELD(srq_buf), HALF, -EINVAL },
	{ "buffer of an XRC initiator that is not mapped", OBJ_XRC_INI, FIELD(qp_buf), UNMAPPED,
	  -EFAULT },
	{ "SRQ record that is not mapped", OBJ_SRQ, FIELD(srq_db), UNMAPPED, -EFAULT },
	{ "SRQ record 4 bytes off", OBJ_SRQ, FIELD(srq_db), MISALIGNED_4, -EINVAL },
	{ "QP buffer that is not mapped", OBJ_RC_QP, FIELD(qp_buf), UNMAPPED, -EFAULT },
	{ "QP buffer 32 bytes off a cache line", OBJ_RC_QP, FIELD(qp_buf), MISALIGNED_32,
	  -EINVAL },
	{ "QP buffer of the kernel", OBJ_RC_QP, FIELD(qp_buf), KERNEL, -EFAULT },
	{ "QP buffer at the end of the address space", OBJ_RC_QP, FIELD(qp_buf), WRAPS, -EINVAL },
	{ "QP record that is not mapped", OBJ_RC_QP, FIELD(qp_db), UNMAPPED, -EFAULT },
	{ "QP record 4 bytes off", OBJ_RC_QP, FIELD(qp_db), MISALIGNED_4, -EINVAL },
	{ "WQ buffer that is not mapped", OBJ_WQ, FIELD(qp_buf), UNMAPPED, -EFAULT },
	{ "WQ buffer 32 bytes off a cache line", OBJ_WQ, FIELD(qp_buf), MISALIGNED_32, -EINVAL },
	{ "WQ record 4 bytes off", OBJ_WQ, FIELD(qp_db), MISALIGNED_4, -EINVAL },
	{ "MR that is not mapped", OBJ_MR, FIELD(mr_start), UNMAPPED, -EFAULT },
	{ "MR to write that is read-only", OBJ_MR, FIELD(mr_start), READ_ONLY, -EFAULT },
	{ "MR of the kernel", OBJ_MR, FIELD(mr_start), KERNEL, -EFAULT },
	{ "MR at the end of the address space", OBJ_MR, FIELD(mr_start), WRAPS, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(memory, memory_cases, name);

static unsigned long bad_address(struct kunit *test, struct objects *o, int what)
{
	/* Pages that no object uses otherwise. */
	unsigned long page = mock_buffer(o->mock, 9);

	switch (what) {
	case UNMAPPED:
		KUNIT_ASSERT_EQ(test, vm_munmap(page, PAGE_SIZE), 0);
		return page;
	case READ_ONLY:
		KUNIT_ASSERT_EQ(test, vm_mmap(NULL, page, 4 * PAGE_SIZE, PROT_READ,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), page);
		return page;
	case MISALIGNED_4:
		return page + 4;
	case MISALIGNED_32:
		return page + 32;
	case HALF:
		/* An SRQ of 2 KiB, which is described by a page of 4 KiB on any host. */
		o->srq_wr = 63;
		return page + SZ_2K;
	case KERNEL:
		return (unsigned long)o & PAGE_MASK;
	default:
		return -1024UL;
	}
}

static void memory_the_process_may_not_use_is_refused(struct kunit *test)
{
	const struct memory_case *c = test->param_value;
	struct objects *o = objects_make(test);
	unsigned long *field = (void *)o + c->field;
	unsigned long good = *field;
	struct footprint before;

	KUNIT_ASSERT_EQ(test, objects_need(o, c->id), 0);
	footprint_take(o->mock, &before);
	*field = bad_address(test, o, c->what);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, objects_create(o, c->id), c->want);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	footprint_expect(o->mock, &before, "bad memory", 0);
	*field = good;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The device does not write to work queues, and a library may protect its queues. */
static void work_queue_may_be_read_only(struct kunit *test)
{
	static const struct {
		enum object_id id;
		size_t field;
	} cases[] = { { OBJ_RC_QP, FIELD(qp_buf) }, { OBJ_SRQ, FIELD(srq_buf) } };
	struct objects *o = objects_make(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		*(unsigned long *)((void *)o + cases[i].field) = bad_address(test, o, READ_ONLY);
		KUNIT_EXPECT_EQ(test, objects_create(o, cases[i].id), 0);
		KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	}
}

/*
 * A queue pins its buffer, and the page of its doorbell record if that record is the first in the
 * page. ib_core itself pins the buffer of a CQ, which the mock cannot refuse.
 */
static void refusal_of_any_pin_leaves_nothing(struct kunit *test)
{
	static const struct {
		enum object_id id;
		unsigned int pins;
	} cases[] = { { OBJ_CQ, 1 }, { OBJ_MR, 1 }, { OBJ_SRQ, 2 }, { OBJ_RC_QP, 1 } };
	struct objects *o = objects_make(test);
	struct footprint before;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, objects_need(o, cases[i].id), 0);
		footprint_take(o->mock, &before);
		for (n = 1; n <= cases[i].pins; n++) {
			o->mock->refuse_pin = n;
			KUNIT_EXPECT_EQ(test, objects_create(o, cases[i].id), -ENOMEM);
			footprint_expect(o->mock, &before, "a refused pin", n);
		}
		o->mock->refuse_pin = n;
		KUNIT_EXPECT_EQ(test, objects_create(o, cases[i].id), 0);
		o->mock->refuse_pin = 0;
		KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
		KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	}
}

static struct kunit_case create_cases[] = {
	KUNIT_CASE_PARAM(refusal_of_any_command_leaves_nothing, object_gen_params),
	KUNIT_CASE_PARAM(failure_of_any_allocation_leaves_nothing, object_gen_params),
	KUNIT_CASE_PARAM(request_with_an_unknown_field_is_refused, object_gen_params),
	KUNIT_CASE_PARAM(undelivered_response_leaves_nothing, object_gen_params),
	KUNIT_CASE_PARAM(refused_destruction_changes_nothing, object_gen_params),
	KUNIT_CASE_PARAM(memory_of_an_object_is_charged_to_the_process, charged_gen_params),
	KUNIT_CASE_PARAM(memory_stays_pinned_while_firmware_keeps_the_object, orphan_gen_params),
	KUNIT_CASE_PARAM(memory_stays_pinned_if_the_creation_is_not_answered, queues_gen_params),
	KUNIT_CASE_PARAM(closed_process_leaves_orphans, left_gen_params),
	KUNIT_CASE_PARAM(log_names_what_firmware_keeps, logged_gen_params),
	KUNIT_CASE_PARAM(orphans_are_destroyed_before_what_they_refer_to, refer_gen_params),
	KUNIT_CASE(refused_internal_objects_keep_their_memory),
	KUNIT_CASE_PARAM(memory_the_process_may_not_use_is_refused, memory_gen_params),
	KUNIT_CASE(work_queue_may_be_read_only),
	KUNIT_CASE(refusal_of_any_pin_leaves_nothing),
	{}
};

static struct kunit_suite create_suite = {
	.name = "bluebell_create",
	.test_cases = create_cases,
};

kunit_test_suite(create_suite);
