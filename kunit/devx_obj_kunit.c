// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the objects and umems of DEVX users: which commands reach firmware, with which
 * user id, and what becomes of objects and pinned memory that firmware refuses to create or to
 * destroy.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#include "devx/devx.h"
#include "devx/devx_obj.h"
#include "devx/pp.h"
#include "fw/fw.h"
#include "layout/layout_pages.h"
#include "lib/buf.h"
#include "lib/memory.h"
#include "lib/mock.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/umem.h"
#include "verbs/cq.h"
#include "verbs/srq.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

#define UID		0x5a
#define FORGED_UID	0x5b
#define ALL_RIGHTS	(MLX5_UCTX_CAP_RAW_TX | MLX5_UCTX_CAP_INTERNAL_DEV_RES)

struct devx_user {
	struct mock *mock;
	u32 in[0x200 / 4];
	u32 out[0x40 / 4];
};

/* A process that has opened the device with a user id, and sends each command with a forged one. */
static struct devx_user *make_user(struct kunit *test)
{
	struct devx_user *user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, user);
	user->mock = mock_create(test);
	mock_open(user->mock);
	user->mock->context->uid = UID;
	return user;
}

/* mock_open() has allocated the UARs of the context with user id 0, so free them with this id. */
static void close_user(struct devx_user *user)
{
	mlx5_ib_orphans_leave_context(user->mock->dev, user->mock->context);
	user->mock->context->uid = 0;
	mock_close(user->mock);
}

static void put(struct devx_user *user, unsigned int byte, u32 value)
{
	user->in[byte / 4] |= (__force u32)cpu_to_be32(value);
}

static void start(struct devx_user *user, u16 opcode)
{
	memset(user->in, 0, sizeof(user->in));
	memset(user->out, 0, sizeof(user->out));
	put(user, 0, opcode << 16 | FORGED_UID);
}

static struct mlx5_ib_devx_obj *create(struct devx_user *user)
{
	unsigned int mark = memory_mark();
	struct mlx5_ib_devx_obj *obj;

	obj = mlx5_ib_devx_create_obj(user->mock->context, user->in, sizeof(user->in), user->out,
				      sizeof(user->out));
	if (!IS_ERR(obj))
		memory_expect_charged(user->mock->test, mark);
	return obj;
}

static struct mlx5_ib_devx_obj *create_pd(struct devx_user *user)
{
	start(user, MLX5_CMD_OP_ALLOC_PD);
	return create(user);
}

static int send(struct devx_user *user, struct mlx5_ib_devx_obj *obj, enum mlx5_ib_devx_use use)
{
	return mlx5_ib_devx_send(user->mock->context, &obj->id, use, user->in, sizeof(user->in),
				 user->out, sizeof(user->out));
}

/*
 * Kinds of objects that the mock keeps. The driver accepts the command that creates an mkey only
 * with @value at @byte.
 */
static const struct kind_case {
	const char *name;
	u16 create;
	u16 query;
	u16 modify;
	u8 byte;
	u32 value;
} kind_cases[] = {
	{ "PD", MLX5_CMD_OP_ALLOC_PD },
	{ "mkey", MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_QUERY_MKEY, 0, 0x10, 0x200 },
	{ "CQ", MLX5_CMD_OP_CREATE_CQ, MLX5_CMD_OP_QUERY_CQ, MLX5_CMD_OP_MODIFY_CQ },
	{ "QP", MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_QUERY_QP, MLX5_CMD_OP_2ERR_QP },
	{ "RMP", MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_QUERY_RMP, MLX5_CMD_OP_MODIFY_RMP },
	{ "XRC domain", MLX5_CMD_OP_ALLOC_XRCD },
	{ "XRC SRQ", MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_QUERY_XRC_SRQ,
	  MLX5_CMD_OP_ARM_XRC_SRQ },
};

KUNIT_ARRAY_PARAM_DESC(kind, kind_cases, name);

static struct mlx5_ib_devx_obj *create_kind(struct devx_user *user, const struct kind_case *c)
{
	start(user, c->create);
	put(user, c->byte, c->value);
	return create(user);
}

static void object_has_its_users_id_and_ends_with_its_handle(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	unsigned int live = mock_num_live(user->mock);
	struct mlx5_ib_devx_obj *obj;

	/* For the destruction the mock expects the user id that the object was created with. */
	obj = create_kind(user, test->param_value);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)user->mock->in[0]) & 0xffff, UID);
	KUNIT_EXPECT_EQ(test, obj->id.num, be32_to_cpu((__force __be32)user->out[2]));
	KUNIT_EXPECT_EQ(test, mock_num_live(user->mock), live + 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(user->mock), live);
	close_user(user);
}

static void refused_object_leaves_nothing(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	unsigned int live = mock_num_live(user->mock);

	user->mock->num_commands = 0;
	user->mock->refuse = 1;
	user->mock->refuse_err = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_kind(user, test->param_value)), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mock_num_live(user->mock), live);
	close_user(user);
}

static void refused_destruction_can_be_repeated(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj = create_kind(user, test->param_value);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	KUNIT_EXPECT_TRUE(test, list_empty(&user->mock->context->orphans));
	user->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

/* A command that was answered too late has destroyed the object. */
static void destruction_of_a_missing_object_succeeds(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj = create_kind(user, test->param_value);
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW];
	struct mlx5_ib_fw_attempt attempt = {};
	size_t size;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	memcpy(destroy, obj->destroy, sizeof(destroy));
	size = obj->destroy_size;
	user->mock->refuse_destroy = true;
	user->mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	/* The mock returns errnos: by -ENOENT firmware says that it does not know the object. */
	user->mock->refuse_err = -ENOENT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	/* The mock still has the object: destroy it. */
	user->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_send_destroy(user->mock->dev, UID, destroy, size,
						      &attempt), 0);
	close_user(user);
}

/*
 * The device has destroyed the first object without an answer, and has given its number to the
 * second object, which may be another user's.
 */
static void number_of_another_object_is_not_destroyed(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;
	unsigned int live = mock_num_live(mock);
	struct mlx5_ib_devx_obj *first = create_kind(user, c), *second;
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW], out[4] = {};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	mock->refuse_destroy = true;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(first, false), -ETIMEDOUT);
	mock->refuse_destroy = false;
	memcpy(destroy, first->destroy, sizeof(destroy));
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_exec_raw(mock->dev, UID, destroy, first->destroy_size,
						  out, sizeof(out)), 0);
	second = create_kind(user, c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, second->id.num, first->id.num);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(first, false), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live + 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(second, false), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), live);
	close_user(user);
}

/* The process has ended, so ib_core destroys its objects and then its context. */
static void orphaned_object_ends_with_its_context(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	unsigned int live = mock_num_live(user->mock);
	struct mlx5_ib_devx_obj *obj = create_kind(user, test->param_value);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&user->mock->context->orphans));
	user->mock->refuse_destroy = false;
	mlx5_ib_orphans_leave_context(user->mock->dev, user->mock->context);
	KUNIT_EXPECT_TRUE(test, list_empty(&user->mock->context->orphans));
	KUNIT_EXPECT_TRUE(test, list_empty(&user->mock->dev->orphans.dead));
	KUNIT_EXPECT_EQ(test, mock_num_live(user->mock), live);
	close_user(user);
}

/**
 * struct cq_handler - a completion handler that uses a CQ until @work ends it
 * @work: ends the handler
 * @mcq: the CQ
 * @ended: the handler has ended
 */
struct cq_handler {
	struct delayed_work work;
	struct mlx5_core_cq *mcq;
	bool ended;
};

static void end_handler(struct work_struct *work)
{
	struct cq_handler *handler = container_of(to_delayed_work(work), struct cq_handler, work);

	WRITE_ONCE(handler->ended, true);
	mlx5_cq_put(handler->mcq);
}

/* The process has ended, and firmware keeps the CQ. A handler still uses the driver's struct. */
static void cq_that_firmware_keeps_is_freed_after_its_handlers(struct kunit *test)
{
	struct cq_handler *handler = kunit_kzalloc(test, sizeof(*handler), GFP_KERNEL);
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;

	KUNIT_ASSERT_NOT_NULL(test, handler);
	start(user, MLX5_CMD_OP_CREATE_CQ);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	handler->mcq = &to_devx_cq(obj)->mcq;
	mlx5_cq_hold(handler->mcq);
	INIT_DELAYED_WORK(&handler->work, end_handler);
	user->mock->refuse_destroy = true;
	queue_delayed_work(system_dfl_wq, &handler->work, HZ / 20);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(handler->ended));
	/* If the driver did not wait, it has freed the CQ: do not let the work put it. */
	cancel_delayed_work_sync(&handler->work);
	user->mock->refuse_destroy = false;
	close_user(user);
}

static unsigned int num_refusals;

/* Firmware refuses to deallocate a PD while a younger PD exists. */
static int fw_keeps_older_domains(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				  void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	unsigned long number = MLX5_GET(dealloc_pd_in, in, pd);

	if (MLX5_GET(dealloc_pd_in, in, opcode) == MLX5_CMD_OP_DEALLOC_PD &&
	    xa_find_after(&mock->live[MOCK_PD], &number, ULONG_MAX, XA_PRESENT)) {
		num_refusals++;
		return -EBUSY;
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* The driver tries the oldest orphan first, so that each round destroys only the youngest one. */
static void orphans_are_repeated_until_no_reference_is_left(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	unsigned int live = mock_num_live(user->mock);
	struct mlx5_ib_devx_obj *obj[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(obj); i++) {
		obj[i] = create_pd(user);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj[i]);
	}
	user->mock->refuse_destroy = true;
	for (i = 0; i < ARRAY_SIZE(obj); i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj[i], true), 0);
	user->mock->refuse_destroy = false;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_keeps_older_domains);
	num_refusals = 0;
	mlx5_ib_orphans_leave_context(user->mock->dev, user->mock->context);
	KUNIT_EXPECT_EQ(test, mock_num_live(user->mock), live);
	KUNIT_EXPECT_EQ(test, num_refusals, 3 + 2 + 1);
	close_user(user);
}

static void command_must_name_the_object_of_its_handle(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj = create_kind(user, c);
	u16 ops[] = { c->query, c->modify };
	enum mlx5_ib_devx_use uses[] = { MLX5_IB_DEVX_QUERY, MLX5_IB_DEVX_MODIFY };
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (!ops[i])
			continue;
		start(user, ops[i]);
		put(user, 8, obj->id.num);
		user->mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, send(user, obj, uses[i]), 0);
		KUNIT_EXPECT_EQ(test, user->mock->num_commands, 1);
		KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)user->mock->in[0]),
				ops[i] << 16 | UID);
		KUNIT_EXPECT_EQ(test, send(user, obj, uses[!i]), -EINVAL);
		start(user, ops[i]);
		put(user, 8, obj->id.num ^ 1);
		KUNIT_EXPECT_EQ(test, send(user, obj, uses[i]), -EINVAL);
		/* The command names an object of another kind that has the same number. */
		start(user, MLX5_CMD_OP_QUERY_TIR);
		put(user, 8, obj->id.num);
		KUNIT_EXPECT_EQ(test, send(user, obj, MLX5_IB_DEVX_QUERY), -EINVAL);
		KUNIT_EXPECT_EQ(test, user->mock->num_commands, 1);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

/* Queues with doorbells, and the offset of the dword with the UAR index in their command. */
static const struct uar_case {
	const char *name;
	u16 create;
	u8 byte;
} uar_cases[] = {
	{ "CQ", MLX5_CMD_OP_CREATE_CQ, 0x1c },
	{ "QP", MLX5_CMD_OP_CREATE_QP, 0x24 },
	{ "SQ", MLX5_CMD_OP_CREATE_SQ, 0x5c },
};

KUNIT_ARRAY_PARAM_DESC(uar, uar_cases, name);

static struct mlx5_ib_devx_obj *create_on_uar(struct devx_user *user, u32 uar)
{
	const struct uar_case *c = user->mock->test->param_value;

	start(user, c->create);
	put(user, c->byte, uar);
	return create(user);
}

static unsigned int num_refs(const struct mlx5_user_mmap_entry *uar)
{
	return kref_read(&uar->rdma_entry.ref);
}

/* The queue's doorbells are in the UAR: no other user may get the UAR while the queue exists. */
static void queue_keeps_its_uar_as_long_as_the_device_has_the_queue(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_user_mmap_entry *uar;
	struct mock *mock = user->mock;
	struct mlx5_ib_devx_obj *obj;
	unsigned int uars;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock->context->devx_rights = ALL_RIGHTS;
	uar = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uar);
	uars = mock->num_live[MOCK_UAR];
	/* If firmware refuses the queue, no reference to the UAR is left. */
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_on_uar(user, uar->page_id)), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, num_refs(uar), 1);

	obj = create_on_uar(user, uar->page_id);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, num_refs(uar), 2);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, num_refs(uar), 2);
	/* The process ends: firmware keeps the queue, and the handle of the UAR is destroyed. */
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_EQ(test, num_refs(uar), 2);
	rdma_user_mmap_entry_remove(&uar->rdma_entry);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], uars);
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], uars - 1);
	close_user(user);
}

/* With MLX5_LIB_CAP_4K_UAR a library uses each UAR of a page. Here a page has four. */
static void queue_keeps_the_page_of_its_uar(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_user_mmap_entry *uar;
	struct mock *mock = user->mock;
	struct mlx5_ib_devx_obj *obj;
	u32 i;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	mock->context->devx_rights = ALL_RIGHTS;
	mock->context->bfregi.layout.uars_per_sys_page = 4;
	mock->first_number = 0x400;
	uar = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uar);
	for (i = 0; i < 5; i++) {
		obj = create_on_uar(user, uar->page_id + i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		KUNIT_EXPECT_EQ_MSG(test, num_refs(uar), i < 4 ? 2 : 1, "UAR %u", i);
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
		KUNIT_EXPECT_EQ(test, num_refs(uar), 1);
	}
	rdma_user_mmap_entry_remove(&uar->rdma_entry);
	close_user(user);
}

/*
 * Commands of the process, and the bits by which the driver makes the device use umems in place of
 * DMA addresses.
 */
static const struct memory_case {
	const char *name;
	u16 opcode;
	u8 byte;
	u32 value;
	struct {
		u16 byte;
		u32 bit;
	} bits[2];
} memory_cases[] = {
	{ "mkey", MLX5_CMD_OP_CREATE_MKEY, 0x10, 0x100, { { 0xc, 0x40000000 } } },
	{ "CQ", MLX5_CMD_OP_CREATE_CQ, 0, 0, { { 0x10, 0x02000000 }, { 0x5c, 0x80000000 } } },
	{ "QP", MLX5_CMD_OP_CREATE_QP, 0, 0, { { 0xe8, 0x10000000 }, { 0x10c, 0x80000000 } } },
	{ "RMP", MLX5_CMD_OP_CREATE_RMP, 0, 0, { { 0x74, 0xc0000000 } } },
};

KUNIT_ARRAY_PARAM_DESC(memory, memory_cases, name);

/* Without the bits for umems the device would access any memory that the process names. */
static void command_that_is_sent_names_memory_by_umem(struct kunit *test)
{
	const struct memory_case *c = test->param_value;
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;
	unsigned int i;

	start(user, c->opcode);
	put(user, c->byte, c->value);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	for (i = 0; i < ARRAY_SIZE(c->bits); i++)
		KUNIT_EXPECT_EQ(test, mock_dword(user->mock, c->bits[i].byte) & c->bits[i].bit,
				c->bits[i].bit);
	if (c->opcode == MLX5_CMD_OP_CREATE_CQ) {
		/* The command that resizes the CQ has a list of pages, too. */
		start(user, MLX5_CMD_OP_MODIFY_CQ);
		put(user, 4, 1);
		put(user, 8, obj->id.num);
		KUNIT_EXPECT_EQ(test, send(user, obj, MLX5_IB_DEVX_MODIFY), 0);
		KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x5c), 0x80000000);
	}
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

/* Commands can also name some objects of verbs, by their handles. Other handles are refused. */
static void handle_is_that_of_a_kind_and_a_number(struct kunit *test)
{
	struct mlx5_ib_devx_obj devx = { .id = { MLX5_IB_DEVX_TIR, 0x111, 0x222, 0x333 } };
	struct mlx5_ib_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	struct mlx5_ib_srq *srq = kunit_kzalloc(test, 2 * sizeof(*srq), GFP_KERNEL);
	struct {
		u16 object_id;
		void *object;
		struct mlx5_ib_devx_id want;
	} t[] = {
		{ MLX5_IB_OBJECT_DEVX_OBJ, &devx, { MLX5_IB_DEVX_TIR, 0x111, 0x222, 0x333 } },
		{ UVERBS_OBJECT_CQ, NULL, { MLX5_IB_DEVX_CQ, 0x444 } },
		{ UVERBS_OBJECT_SRQ, NULL, { MLX5_IB_DEVX_RMP, 0x555 } },
		{ UVERBS_OBJECT_SRQ, NULL, { MLX5_IB_DEVX_XRC_SRQ, 0x666 } },
		{ UVERBS_OBJECT_MR, &devx },
		{ UVERBS_OBJECT_PD, &devx },
		{ MLX5_IB_OBJECT_DEVX_UMEM, &devx },
	};
	static struct mlx5_ib_dev dev;
	struct uverbs_api_object api = {};
	struct ib_ucontext uctx = { .device = &dev.ib_dev };
	struct ib_uobject uobj = { .uapi_object = &api, .context = &uctx };
	struct mlx5_ib_devx_id id;
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, cq && srq);
	t[1].object = &cq->ibcq;
	cq->mcq.cqn = 0x444;
	for (i = 0; i < 2; i++) {
		t[2 + i].object = &srq[i].ibsrq;
		srq[i].ibsrq.srq_type = i ? IB_SRQT_XRC : IB_SRQT_BASIC;
		srq[i].rsc.num = i ? 0x666 : 0x555;
	}
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		api.id = t[i].object_id;
		uobj.object = t[i].object;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_identify(&uobj, &id),
				    t[i].want.kind ? 0 : -EINVAL, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, id.kind, t[i].want.kind, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, id.num, t[i].want.num, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, id.type, t[i].want.type, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, id.table, t[i].want.table, "case %u", i);
	}
}

static void context_without_a_user_id_sends_nothing(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	const struct mlx5_ib_devx_cmd *cmd;
	struct mlx5_ib_devx_obj *obj = create_pd(user);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->context->uid = 0;
	user->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(create_pd(user)), -EINVAL);
	start(user, MLX5_CMD_OP_QUERY_HCA_CAP);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_check(user->mock->context, user->in, sizeof(user->in),
						 MLX5_IB_DEVX_GENERAL, &cmd), -EINVAL);
	obj->id.kind = MLX5_IB_DEVX_QP;
	start(user, MLX5_CMD_OP_QUERY_QP);
	put(user, 8, obj->id.num);
	KUNIT_EXPECT_EQ(test, send(user, obj, MLX5_IB_DEVX_QUERY), -EINVAL);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 0);
	obj->id.kind = MLX5_IB_DEVX_PD;
	user->mock->context->uid = UID;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

static void flow_table_needs_the_raw_tx_right(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;

	user->mock->context->devx_rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES;
	user->mock->num_commands = 0;
	start(user, MLX5_CMD_OP_CREATE_FLOW_TABLE);
	KUNIT_EXPECT_EQ(test, PTR_ERR(create(user)), -EPERM);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 0);
	user->mock->context->devx_rights = ALL_RIGHTS;
	start(user, MLX5_CMD_OP_CREATE_FLOW_TABLE);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, user->mock->opcode, MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	close_user(user);
}

/* apu_cq: the CQ is on an APU element, and not on an event queue. */
static void cq_on_an_apu_element_needs_the_capability(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;

	mock->num_commands = 0;
	start(user, MLX5_CMD_OP_CREATE_CQ);
	put(user, 0x10, 0x01000000);
	KUNIT_EXPECT_EQ(test, PTR_ERR(create(user)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	MOCK_SET_CAP(&mock->dev->caps, apu, 1);
	mock->refuse = 1;
	start(user, MLX5_CMD_OP_CREATE_CQ);
	put(user, 0x10, 0x01000000);
	KUNIT_EXPECT_EQ(test, PTR_ERR(create(user)), mock->refuse_err);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	close_user(user);
}

/* The commands that drain and destroy DC targets: how many, and the user id of the last one. */
static struct {
	unsigned int num_drain;
	unsigned int num_destroy;
	u16 drain_uid;
	u16 destroy_uid;
} dct;

static int fw_notes_dct_commands(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
				 int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	switch (MLX5_GET(destroy_dct_in, in, opcode)) {
	case MLX5_CMD_OP_DRAIN_DCT:
		dct.num_drain++;
		dct.drain_uid = uid;
		break;
	case MLX5_CMD_OP_DESTROY_DCT:
		dct.num_destroy++;
		dct.destroy_uid = uid;
		break;
	}
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

/* Firmware refuses to destroy a DC target that is not drained, and one of another user. */
static void dc_target_is_drained_before_its_destruction(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_notes_dct_commands);
	memset(&dct, 0, sizeof(dct));
	start(user, MLX5_CMD_OP_CREATE_DCT);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->num_commands = 0;
	/* Draining fails if the process has already drained the DC target. */
	user->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, user->mock->opcode, MLX5_CMD_OP_DESTROY_DCT);
	KUNIT_EXPECT_EQ(test, dct.drain_uid, UID);
	KUNIT_EXPECT_EQ(test, dct.destroy_uid, UID);
	start(user, MLX5_CMD_OP_CREATE_DCT);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->num_commands = 0;
	user->mock->refuse = 2;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 3);
	close_user(user);
}

/* The device may have the queue, whose doorbells are in the UAR: no other user may get the UAR. */
static void lost_object_keeps_its_uar(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;
	struct mlx5_user_mmap_entry *uar;
	unsigned int uars;

	mock->dev->ib_dev.ops.mmap_free = mlx5_ib_mmap_free;
	uar = mlx5_ib_create_uar_object(mock->context, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uar);
	uars = mock->num_live[MOCK_UAR];
	start(user, MLX5_CMD_OP_CREATE_CQ);
	MLX5_SET(create_cq_in, user->in, cq_context.uar_page, uar->page_id);
	mock->num_commands = 0;
	mock->refuse = 1;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(create(user)), -ETIMEDOUT);
	mock->refuse = 0;
	rdma_user_mmap_entry_remove(&uar->rdma_entry);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], uars);
	/* A reset of the device destroys the object. */
	mock->dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_retry(mock->dev, mock->context);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UAR], uars - 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&mock->context->orphans));
	close_user(user);
}

/* A firmware that does not answer DESTROY_DCT. */
static int fw_loses_dc_targets(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			       int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = fw_notes_dct_commands(dev, uid, in, in_size, out, out_size, send, arg);

	return MLX5_GET(destroy_dct_in, in, opcode) == MLX5_CMD_OP_DESTROY_DCT ? -ETIMEDOUT : err;
}

/* mlx5_core waits a minute for each answer, so the driver repeats the command only once. */
static void unanswered_destruction_of_a_dc_target_is_repeated_once(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_loses_dc_targets);
	start(user, MLX5_CMD_OP_CREATE_DCT);
	obj = create(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	memset(&dct, 0, sizeof(dct));
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, dct.num_drain, 1);
	KUNIT_EXPECT_EQ(test, dct.num_destroy, 2);
	/* A new DC target of the process has the number now, and must not be drained. */
	mlx5_ib_fw_number_taken(user->mock->dev, obj->destroy);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, dct.num_drain, 1);
	KUNIT_EXPECT_EQ(test, dct.num_destroy, 2);
	close_user(user);
}

/* ---- Memory ----------------------------------------------------------------------------- */

static struct ib_umem *pin(struct devx_user *user, unsigned int offset, size_t size, int access)
{
	return mlx5_ib_umem_get(user->mock->dev, mock_buffer(user->mock, 0) + offset, size,
				access);
}

static void umem_command_describes_the_pinned_memory(struct kunit *test)
{
	static const int rights[] = { 0, IB_ACCESS_LOCAL_WRITE };
	struct devx_user *user = make_user(test);
	const __be32 *in = (const __be32 *)user->mock->in;
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		umem = pin(user, 0x48, 2 * PAGE_SIZE, rights[i]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
		obj = mlx5_ib_devx_create_umem(user->mock->context, umem, PAGE_SIZE);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), MLX5_CMD_OP_CREATE_UMEM << 16 | UID);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[8]), PAGE_SHIFT - 12); /* log_page_size */
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[9]), 0x48);	/* page_offset */
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[10]), 0);		/* num_of_mtt */
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[11]), 3);
		for (k = 0; k < 3; k++) {
			KUNIT_EXPECT_EQ(test, be32_to_cpu(in[13 + 2 * k]) & 0xfff,
					rights[i] ? 3 : 1);
			KUNIT_EXPECT_NE(test, be32_to_cpu(in[13 + 2 * k]) & ~0xfff, 0);
		}
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[18]), 0);
		KUNIT_EXPECT_EQ(test, mock_num_pinned(), 3);
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_umem(obj, false), 0);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), MLX5_CMD_OP_DESTROY_UMEM << 16 | UID);
		KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	}
	close_user(user);
}

/* The command of a umem of more than eight pages is too long for the stack. */
static void umem_command_has_each_page(struct kunit *test)
{
	static const unsigned int sizes[] = { 7, 8, 9, 12 };
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		umem = pin(user, 0, sizes[i] * PAGE_SIZE, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
		obj = mlx5_ib_devx_create_umem(user->mock->context, umem, PAGE_SIZE);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x2c), sizes[i]);
		for (k = 0; k < sizes[i]; k++)
			KUNIT_EXPECT_EQ_MSG(test, mock_dword(user->mock, 0x34 + 8 * k) & 0xfff, 1,
					    "page %u of %u", k, sizes[i]);
		KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x34 + 8 * k), 0);
		KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_umem(obj, false), 0);
	}
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	close_user(user);
}

/* Such a umem starts at the page of 4 KiB with its first byte, within a larger page of the host. */
static void umem_may_have_smaller_pages_than_the_host(struct kunit *test)
{
	const u32 start = PAGE_SIZE / 2 + 0x48, offset = start % SZ_4K;
	const u32 num = DIV_ROUND_UP(offset + PAGE_SIZE, SZ_4K);
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	u32 k;

	umem = pin(user, start, PAGE_SIZE, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 2);
	obj = mlx5_ib_devx_create_umem(user->mock->context, umem, SZ_4K);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x20), 0);		/* log_page_size */
	KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x24), offset);	/* page_offset */
	KUNIT_EXPECT_EQ(test, mock_dword(user->mock, 0x2c), num);	/* num_of_mtt */
	for (k = 0; k < num; k++)
		KUNIT_EXPECT_EQ_MSG(test, mock_dword(user->mock, 0x34 + 8 * k) & ~PAGE_MASK,
				    ((start - offset + k * SZ_4K) & ~PAGE_MASK) | 1, "page %u", k);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_umem(obj, false), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	close_user(user);
}

/* The list of the pages would be longer than a command can be. */
/* The call has no attribute for the answer, so an attempt to copy the answer returns -ENOENT. */
static void only_an_answer_of_firmware_is_copied(struct kunit *test)
{
	static const struct {
		int err;
		int want;
	} cases[] = {
		{ 0, -ENOENT }, { -EREMOTEIO, -ENOENT }, { -ETIMEDOUT, -ETIMEDOUT },
		{ -ECANCELED, -ECANCELED }, { -EINVAL, -EINVAL },
	};
	struct mock *mock = mock_create(test);
	u32 out[4] = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want,
				    mlx5_ib_devx_answer(mock->attrs,
							MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out,
							sizeof(out), cases[i].err),
				    "result %d of the command", cases[i].err);
}

static void umem_of_too_many_pages_is_refused(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct ib_umem *umem = pin(user, 0, PAGE_SIZE, 0);
	struct mlx5_ib_devx_umem *obj;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	/* Have the driver take the umem for a longer one. */
	umem->length = (MLX5_IB_MAX_UMEM_PAGES + 1) << PAGE_SHIFT;
	user->mock->num_commands = 0;
	obj = mlx5_ib_devx_create_umem(user->mock->context, umem, PAGE_SIZE);
	umem->length = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(obj), -EINVAL);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 0);
	ib_umem_release(umem);
	close_user(user);
}

static void umem_with_an_impossible_page_size_is_refused(struct kunit *test)
{
	static const u64 bitmaps[] = { SZ_2M, SZ_2K, SZ_1G };
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bitmaps); i++) {
		umem = pin(user, 0, MOCK_USER_PAGES / 2 * PAGE_SIZE, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
		obj = mlx5_ib_devx_create_umem(user->mock->context, umem, bitmaps[i]);
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(obj), -EINVAL);
		ib_umem_release(umem);
	}
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, user->mock->num_live[MOCK_UMEM], 0);
	close_user(user);
}

/* CREATE_UMEM has no length: the process can use all of the pages. */
static void pages_of_a_umem_hold_no_memory_of_others(struct kunit *test)
{
	static const struct {
		u64 dma;
		size_t len;
		u64 wanted;
		unsigned long page;
	} cases[] = {
		{ SZ_2M, SZ_2M, U64_MAX, SZ_2M },
		{ SZ_4M, SZ_2M, U64_MAX, SZ_2M },
		/* The memory does not fill its last large page. */
		{ SZ_2M, SZ_2M - PAGE_SIZE, U64_MAX, PAGE_SIZE },
		{ SZ_2M, SZ_2M - PAGE_SIZE + 1, U64_MAX, SZ_2M },
		{ SZ_2M, 3 * PAGE_SIZE, U64_MAX, PAGE_SIZE },
		{ SZ_2M, 3 * PAGE_SIZE, ~(u64)PAGE_SIZE, PAGE_SIZE / 2 },
		{ SZ_2M, 6 * PAGE_SIZE, U64_MAX, 2 * PAGE_SIZE },
		{ SZ_2M, PAGE_SIZE, SZ_2M | SZ_1G, 0 },
		{ SZ_2M, SZ_2M, SZ_4M | SZ_1G, 0 },
		/* The memory begins inside a large page. */
		{ SZ_2M + PAGE_SIZE, SZ_2M - PAGE_SIZE, U64_MAX, PAGE_SIZE },
		{ SZ_2M + PAGE_SIZE, 2 * PAGE_SIZE, U64_MAX, PAGE_SIZE },
		{ SZ_2M + 2 * PAGE_SIZE, 2 * PAGE_SIZE, U64_MAX, 2 * PAGE_SIZE },
		/* ib_core pins the whole first page and the whole last page. */
		{ SZ_2M + 0x40, SZ_2M - 0x80, U64_MAX, SZ_2M },
		{ SZ_2M + 0x40, 8, SZ_2M, 0 },
	};
	struct scatterlist sg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ib_umem umem = {
			.address = cases[i].dma, .length = cases[i].len,
			.sgt_append.sgt = { .sgl = &sg, .nents = 1, .orig_nents = 1 },
		};
		unsigned long page = cases[i].page;

		sg_init_table(&sg, 1);
		sg_dma_address(&sg) = ALIGN_DOWN(cases[i].dma, PAGE_SIZE);
		sg_dma_len(&sg) = ib_umem_num_pages(&umem) * PAGE_SIZE;
		/* The device has no pages of less than 4 KiB. */
		if (page < SZ_4K)
			page = 0;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_umem_best_page(&umem, cases[i].wanted), page,
				    "case %u", i);
	}
}

static void page_sizes_are_those_of_the_device(struct kunit *test)
{
	/* Bits 12 to 32. */
	u64 all = BITS_PER_LONG == 64 ? 0x1fffff000ULL : 0xfffff000;

	KUNIT_EXPECT_EQ(test, mlx5_ib_umem_page_sizes(0), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umem_page_sizes(0xfff), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_umem_page_sizes(0x1001), 0x1000);
	KUNIT_EXPECT_EQ(test, (u64)mlx5_ib_umem_page_sizes(U64_MAX), all);
}

static void refused_umem_leaves_the_memory_to_the_caller(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct ib_umem *umem = pin(user, 0, PAGE_SIZE, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	user->mock->num_commands = 0;
	user->mock->refuse = 1;
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(mlx5_ib_devx_create_umem(user->mock->context, umem, SZ_4K)),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, user->mock->num_live[MOCK_UMEM], 0);
	/* After a refusal, the caller still owns the pinned memory. */
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	ib_umem_release(umem);
	close_user(user);
}

/* Firmware refuses to destroy a umem that a queue uses. */
static void memory_stays_pinned_while_firmware_keeps_the_umem(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct ib_umem *umem = pin(user, 0, PAGE_SIZE, 0);
	struct mlx5_ib_devx_umem *obj;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	obj = mlx5_ib_devx_create_umem(user->mock->context, umem, SZ_4K);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	user->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_umem(obj, false), -EBUSY);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	/* The process has ended, so ib_core insists on the destruction. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_umem(obj, true), 0);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	mlx5_ib_orphans_leave_context(user->mock->dev, user->mock->context);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	user->mock->refuse_destroy = false;
	mlx5_ib_cleanup_orphans(user->mock->dev);
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	close_user(user);
}

/* Whatever error the destruction ends with, ib_core frees the handle of an ended process. */
static void umem_of_a_process_that_has_ended_is_an_orphan(struct kunit *test)
{
	static const int errnos[] = { -EBUSY, -EREMOTEIO, -EINVAL, -ETIMEDOUT };
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;
	struct mlx5_ib_devx_umem *obj;
	struct ib_umem *umem;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		umem = pin(user, 0, PAGE_SIZE, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
		obj = mlx5_ib_devx_create_umem(mock->context, umem, SZ_4K);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		mock->refuse_destroy = true;
		mock->refuse_err = errnos[i];
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_destroy_umem(obj, true), 0, "errno %d",
				    errnos[i]);
		KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
		mock->refuse_destroy = false;
		mlx5_ib_orphans_retry(mock->dev, mock->context);
		KUNIT_EXPECT_EQ_MSG(test, mock_num_pinned(), 0, "errno %d", errnos[i]);
	}
	close_user(user);
}

/*
 * The umem may exist, but the driver does not know its number. A reset of the device destroys it.
 */
static void umem_without_an_answer_keeps_its_memory(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;
	atomic_t *count = &mock->context->user->count[MLX5_IB_SHARE_UMEM];
	struct ib_umem *umem = pin(user, 0, PAGE_SIZE, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, umem);
	mock->num_commands = 0;
	mock->refuse = 1;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(mlx5_ib_devx_create_umem(mock->context, umem, SZ_4K)),
			-ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, list_empty(&mock->context->orphans));
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	mock->dev->mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mlx5_ib_orphans_leave_context(mock->dev, mock->context);
	mock->dev->mdev->state = MLX5_DEVICE_STATE_UP;
	KUNIT_EXPECT_EQ(test, mock_num_pinned(), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	/* There is no command that could destroy the umem. */
	KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
	close_user(user);
}

/* ---- rates ------------------------------------------------------------------------------ */

static void set_pacing(struct devx_user *user)
{
	struct mlx5_core_dev *mdev = user->mock->dev->mdev;
	struct mlx5_hca_cap *qos = kunit_kzalloc(user->mock->test, sizeof(*qos), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(user->mock->test, qos);
	mdev->caps.hca[MLX5_CAP_QOS] = qos;
	MLX5_SET(qos_cap, qos->cur, packet_pacing_uid, 1);
	mdev->priv.rl_table.max_size = 8;
	mdev->priv.rl_table.min_rate = 100;
	mdev->priv.rl_table.max_rate = 1000;
	user->mock->context->devx_rights = ALL_RIGHTS;
}

static int alloc_burst(struct devx_user *user, u32 limit, u32 burst, u16 packet)
{
	u32 rate[MLX5_ST_SZ_DW(set_pp_rate_limit_context)] = {};
	struct mlx5_ib_pp *pp;

	MLX5_SET(set_pp_rate_limit_context, rate, rate_limit, limit);
	MLX5_SET(set_pp_rate_limit_context, rate, burst_upper_bound, burst);
	MLX5_SET(set_pp_rate_limit_context, rate, typical_packet_size, packet);
	user->mock->num_commands = 0;
	pp = mlx5_ib_pp_alloc(user->mock->context, rate, false);
	if (IS_ERR(pp))
		return PTR_ERR(pp);
	mlx5_ib_pp_free(pp);
	return 0;
}

static int alloc_rate(struct devx_user *user, u32 limit)
{
	return alloc_burst(user, limit, 0, 0);
}

/* mlx5_core logs rates that firmware refuses, so the driver checks the options itself. */
static void rate_options_need_their_capability(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_hca_cap *qos;

	set_pacing(user);
	qos = user->mock->dev->mdev->caps.hca[MLX5_CAP_QOS];
	KUNIT_EXPECT_EQ(test, alloc_burst(user, 500, 1, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, alloc_burst(user, 500, 0, 1), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, user->mock->num_commands, 0);
	MLX5_SET(qos_cap, qos->cur, packet_pacing_burst_bound, 1);
	KUNIT_EXPECT_EQ(test, alloc_burst(user, 500, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, alloc_burst(user, 500, 0, 1), -EOPNOTSUPP);
	MLX5_SET(qos_cap, qos->cur, packet_pacing_typical_size, 1);
	KUNIT_EXPECT_EQ(test, alloc_burst(user, 500, 1, 1), 0);
	close_user(user);
}

static struct {
	u16 uid;
	bool dedicated;
} added;

static int take_rate(struct mlx5_ib_dev *dev, u16 uid, void *rate, bool dedicated, u16 *index)
{
	added.uid = uid;
	added.dedicated = dedicated;
	return 0;
}

/* Every process that asks for the same rate gets the same entry, so that all may name it. */
static void shared_rate_belongs_to_no_user_id(struct kunit *test)
{
	u32 rate[MLX5_ST_SZ_DW(set_pp_rate_limit_context)] = {};
	struct devx_user *user = make_user(test);
	struct mlx5_ib_pp *pp;
	unsigned int i;

	set_pacing(user);
	kunit_activate_static_stub(test, mlx5_ib_fw_add_rate, take_rate);
	MLX5_SET(set_pp_rate_limit_context, rate, rate_limit, 500);
	for (i = 0; i < 2; i++) {
		pp = mlx5_ib_pp_alloc(user->mock->context, rate, i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pp);
		KUNIT_EXPECT_EQ(test, added.dedicated, i);
		KUNIT_EXPECT_EQ(test, added.uid, i ? UID : MLX5_SHARED_RESOURCE_UID);
		mlx5_ib_pp_free(pp);
	}
	close_user(user);
}

/* mlx5_core logs the rates that it refuses, and its table of rates is small. */
static void rate_needs_a_user_id_a_right_and_the_device(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mock *mock = user->mock;
	struct mlx5_core_dev *mdev = mock->dev->mdev;

	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), -EOPNOTSUPP);
	set_pacing(user);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 100), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_SET_PP_RATE_LIMIT);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 1000), 0);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 99), -EINVAL);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 1001), -EINVAL);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 0), -EINVAL);
	mock->context->uid = 0;
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), -EINVAL);
	mock->context->uid = UID;
	mock->context->devx_rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES;
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), -EPERM);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mock->context->devx_rights = ALL_RIGHTS;
	MLX5_SET(qos_cap, mdev->caps.hca[MLX5_CAP_QOS]->cur, packet_pacing_uid, 0);
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), -EOPNOTSUPP);
	MLX5_SET(qos_cap, mdev->caps.hca[MLX5_CAP_QOS]->cur, packet_pacing_uid, 1);
	mdev->priv.rl_table.max_size = 0;
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	mdev->priv.rl_table.max_size = 8;
	mock->context->devx_rights = MLX5_UCTX_CAP_RAW_TX;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, alloc_rate(user, 500), mock->refuse_err);
	mock->refuse = 0;
	close_user(user);
}

/* ---- Multicast groups ------------------------------------------------------------------------ */

#define QPN	0x123456

/*
 * A firmware that returns @attach_err for ATTACH_TO_MCG, and @detach_err for the next @num_errors
 * DETACH_FROM_MCG. Further DETACH_FROM_MCG fail because the queue pair does not exist, or, if
 * @knows_qp, because it is not attached.
 */
static struct {
	int attach_err;
	int detach_err;
	unsigned int num_errors;
	bool knows_qp;
	unsigned int num_detach;
} group;

static int fw_forgets_the_queue_pair(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				     void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	switch (MLX5_GET(detach_from_mcg_in, in, opcode)) {
	case MLX5_CMD_OP_ATTACH_TO_MCG:
		return group.attach_err;
	case MLX5_CMD_OP_DETACH_FROM_MCG:
		group.num_detach++;
		if (group.num_errors) {
			group.num_errors--;
			return group.detach_err;
		}
		/* mlx5_cmd_check() would return -EINVAL for both refusals. */
		return send != mlx5_ib_fw_send && !group.knows_qp ? -ENOENT : -EINVAL;
	}
	return err;
}

static struct mlx5_ib_devx_obj *attach(struct devx_user *user)
{
	start(user, MLX5_CMD_OP_ATTACH_TO_MCG);
	put(user, 8, QPN);
	put(user, 0x10, 0xff120000);
	return create(user);
}

/*
 * The process, or ib_core when the process ends (@last), may destroy the queue pair first. Firmware
 * then refuses DETACH_FROM_MCG because the queue pair does not exist: the attachment has ended.
 */
static void attachment_ends_with_its_queue_pair(struct kunit *test)
{
	static const struct {
		bool last;
		int err;
		unsigned int num_errors;
		int want;
		unsigned int want_detach;
		bool want_orphan;
	} cases[] = {
		{ false, 0, 0, 0, 1, false }, { true, 0, 0, 0, 1, false },
		{ true, -EBUSY, 1, 0, 1, true }, { true, -ETIMEDOUT, 1, 0, 2, false },
		{ true, -ETIMEDOUT, 2, 0, 2, true },
	};
	struct devx_user *user = make_user(test);
	struct mlx5_ib_ucontext *context = user->mock->context;
	struct mlx5_ib_devx_obj *obj;
	unsigned int i;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_forgets_the_queue_pair);
	memset(&group, 0, sizeof(group));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		obj = attach(user);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		group.detach_err = cases[i].err;
		group.num_errors = cases[i].num_errors;
		group.num_detach = 0;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_destroy_obj(obj, cases[i].last),
				    cases[i].want, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, group.num_detach, cases[i].want_detach, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, !list_empty(&context->orphans), cases[i].want_orphan,
				    "case %u", i);
		mlx5_ib_orphans_leave_context(user->mock->dev, context);
		KUNIT_EXPECT_EQ_MSG(test, group.num_detach,
				    cases[i].want_detach + cases[i].want_orphan, "case %u", i);
		KUNIT_EXPECT_TRUE_MSG(test, list_empty(&user->mock->dev->orphans.dead), "case %u",
				      i);
	}
	close_user(user);
}

/* If a command was not answered, a later refusal says that the queue pair is not in the group. */
static void lost_end_of_an_attachment_is_repeated(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_devx_obj *obj;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_forgets_the_queue_pair);
	memset(&group, 0, sizeof(group));
	group.knows_qp = true;
	group.detach_err = -ETIMEDOUT;
	group.num_errors = 1;
	obj = attach(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, group.num_detach, 2);
	/* Neither command of the first attempt is answered; the process tries again. */
	obj = attach(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	group.num_errors = 2;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, group.num_detach, 5);
	/* If each command was answered, the queue pair may be in the group after a refusal. */
	obj = attach(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EINVAL);
	group.knows_qp = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

/* Firmware may have attached the queue pair, and may then refuse to destroy it. */
static void attachment_without_an_answer_is_ended(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	const u32 *in = user->mock->in;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_forgets_the_queue_pair);
	memset(&group, 0, sizeof(group));
	group.attach_err = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach(user)), -EREMOTEIO);
	KUNIT_EXPECT_EQ(test, group.num_detach, 0);
	group.attach_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach(user)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, group.num_detach, 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(detach_from_mcg_in, in, uid), UID);
	KUNIT_EXPECT_EQ(test, MLX5_GET(detach_from_mcg_in, in, qpn), QPN);
	KUNIT_EXPECT_MEMEQ(test, MLX5_ADDR_OF(detach_from_mcg_in, in, multicast_gid),
			   MLX5_ADDR_OF(attach_to_mcg_in, user->in, multicast_gid),
			   sizeof(union ib_gid));
	/* Firmware has not attached the queue pair, which exists. */
	group.knows_qp = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach(user)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, group.num_detach, 2);
	KUNIT_EXPECT_TRUE(test, list_empty(&user->mock->context->orphans));
	/* Firmware does not answer DETACH_FROM_MCG either. */
	group.detach_err = -ETIMEDOUT;
	group.num_errors = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach(user)), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, group.num_detach, 3);
	KUNIT_EXPECT_FALSE(test, list_empty(&user->mock->context->orphans));
	mlx5_ib_orphans_retry(user->mock->dev, user->mock->context);
	KUNIT_EXPECT_EQ(test, group.num_detach, 4);
	KUNIT_EXPECT_TRUE(test, list_empty(&user->mock->context->orphans));
	close_user(user);
}

/* Firmware refuses to detach the queue pair, and the driver may send the command again. */
static void new_attachment_is_not_ended_by_an_earlier_one(struct kunit *test)
{
	struct devx_user *user = make_user(test);
	struct mlx5_ib_ucontext *context = user->mock->context;
	atomic_t *count = &context->user->count[MLX5_IB_SHARE_ATTACHMENT];
	struct mlx5_ib_devx_obj *obj;
	LIST_HEAD(taken);

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_forgets_the_queue_pair);
	memset(&group, 0, sizeof(group));
	group.knows_qp = true;
	obj = attach(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	/* The earlier attachment has a handle of the process first, and is an orphan later. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(attach(user)), -EBUSY);
	KUNIT_EXPECT_EQ(test, group.num_detach, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, true), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(attach(user)), -EBUSY);
	KUNIT_EXPECT_EQ(test, group.num_detach, 3);
	/* Another task has taken the orphan from the list in order to send the command. */
	list_splice_init(&context->orphans, &taken);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(attach(user)), -EBUSY);
	KUNIT_EXPECT_EQ(test, user->mock->opcode, MLX5_CMD_OP_DETACH_FROM_MCG);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	list_splice(&taken, &context->orphans);
	group.knows_qp = false;
	obj = attach(user);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, user->mock->opcode, MLX5_CMD_OP_ATTACH_TO_MCG);
	KUNIT_EXPECT_TRUE(test, list_empty(&context->orphans));
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	close_user(user);
}

static struct kunit_case devx_obj_cases[] = {
	KUNIT_CASE_PARAM(object_has_its_users_id_and_ends_with_its_handle, kind_gen_params),
	KUNIT_CASE_PARAM(refused_object_leaves_nothing, kind_gen_params),
	KUNIT_CASE_PARAM(refused_destruction_can_be_repeated, kind_gen_params),
	KUNIT_CASE_PARAM(destruction_of_a_missing_object_succeeds, kind_gen_params),
	KUNIT_CASE_PARAM(number_of_another_object_is_not_destroyed, kind_gen_params),
	KUNIT_CASE_PARAM(orphaned_object_ends_with_its_context, kind_gen_params),
	KUNIT_CASE(cq_that_firmware_keeps_is_freed_after_its_handlers),
	KUNIT_CASE(orphans_are_repeated_until_no_reference_is_left),
	KUNIT_CASE_PARAM(command_must_name_the_object_of_its_handle, kind_gen_params),
	KUNIT_CASE_PARAM(queue_keeps_its_uar_as_long_as_the_device_has_the_queue, uar_gen_params),
	KUNIT_CASE_PARAM(queue_keeps_the_page_of_its_uar, uar_gen_params),
	KUNIT_CASE_PARAM(command_that_is_sent_names_memory_by_umem, memory_gen_params),
	KUNIT_CASE(handle_is_that_of_a_kind_and_a_number),
	KUNIT_CASE(context_without_a_user_id_sends_nothing),
	KUNIT_CASE(flow_table_needs_the_raw_tx_right),
	KUNIT_CASE(cq_on_an_apu_element_needs_the_capability),
	KUNIT_CASE(dc_target_is_drained_before_its_destruction),
	KUNIT_CASE(lost_object_keeps_its_uar),
	KUNIT_CASE(unanswered_destruction_of_a_dc_target_is_repeated_once),
	KUNIT_CASE(umem_command_describes_the_pinned_memory),
	KUNIT_CASE(umem_command_has_each_page),
	KUNIT_CASE(umem_may_have_smaller_pages_than_the_host),
	KUNIT_CASE(only_an_answer_of_firmware_is_copied),
	KUNIT_CASE(umem_of_too_many_pages_is_refused),
	KUNIT_CASE(umem_with_an_impossible_page_size_is_refused),
	KUNIT_CASE(pages_of_a_umem_hold_no_memory_of_others),
	KUNIT_CASE(page_sizes_are_those_of_the_device),
	KUNIT_CASE(refused_umem_leaves_the_memory_to_the_caller),
	KUNIT_CASE(memory_stays_pinned_while_firmware_keeps_the_umem),
	KUNIT_CASE(umem_of_a_process_that_has_ended_is_an_orphan),
	KUNIT_CASE(umem_without_an_answer_keeps_its_memory),
	KUNIT_CASE(rate_needs_a_user_id_a_right_and_the_device),
	KUNIT_CASE(rate_options_need_their_capability),
	KUNIT_CASE(shared_rate_belongs_to_no_user_id),
	KUNIT_CASE(attachment_ends_with_its_queue_pair),
	KUNIT_CASE(lost_end_of_an_attachment_is_repeated),
	KUNIT_CASE(attachment_without_an_answer_is_ended),
	KUNIT_CASE(new_attachment_is_not_ended_by_an_earlier_one),
	{}
};

static struct kunit_suite devx_obj_suite = {
	.name = "bluebell_devx_obj",
	.test_cases = devx_obj_cases,
};

kunit_test_suite(devx_obj_suite);
