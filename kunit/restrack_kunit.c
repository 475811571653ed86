// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of resource tracking: which attributes of an object the driver shows, where the
 * context of an object is in the answer of firmware, and which objects resource tracking skips.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/netlink.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "fw/fw.h"
#include "lib/fail_alloc.h"
#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/region.h"
#include "ops.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "verbs/raw_qp.h"
#include "verbs/srq.h"

static void free_msg(void *msg)
{
	kfree_skb(msg);
}

/* An empty message of resource tracking. */
static struct sk_buff *make_msg(struct kunit *test)
{
	struct sk_buff *msg = alloc_skb(PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, msg);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_msg, msg));
	return msg;
}

/* The value of a driver attribute, or NULL. In the message the value follows the name. */
static const struct nlattr *find_value(const struct sk_buff *msg, const char *name)
{
	const struct nlattr *nest, *attr;
	bool named = false;
	int left;

	nest = nla_find((const struct nlattr *)msg->data, msg->len, RDMA_NLDEV_ATTR_DRIVER);
	if (!nest)
		return NULL;
	nla_for_each_nested(attr, nest, left) {
		if (nla_type(attr) == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE ||
		    nla_type(attr) == RDMA_NLDEV_ATTR_PAD)
			continue;
		if (named)
			return attr;
		named = nla_type(attr) == RDMA_NLDEV_ATTR_DRIVER_STRING && !nla_strcmp(attr, name);
	}
	return NULL;
}

/* The value of a driver attribute that is a number of 4 or 8 bytes. */
static u64 find_number(struct kunit *test, const struct sk_buff *msg, const char *name)
{
	const struct nlattr *value = find_value(msg, name);

	KUNIT_ASSERT_NOT_NULL_MSG(test, value, "%s is not shown", name);
	return nla_type(value) == RDMA_NLDEV_ATTR_DRIVER_U64 ? nla_get_u64(value) :
							       nla_get_u32(value);
}

/* Objects of a context with a user id, so that the user id differs from that of the kernel. */
static struct objects *make_objects(struct kunit *test, enum object_id id)
{
	struct objects *o = objects_make(test);

	o->ctx_flags = MLX5_IB_ALLOC_UCTX_DEVX;
	KUNIT_ASSERT_EQ(test, objects_create(o, id), 0);
	KUNIT_ASSERT_NE(test, o->mock->context->uid, 0);
	return o;
}

/* Make a queue pair, and fill a message with what administrators see of it. */
static struct objects *make_shown_qp(struct kunit *test, enum object_id id, struct sk_buff *msg)
{
	struct objects *o = make_objects(test, id);

	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_qp_entry(msg, &o->qp.ibqp), 0);
	return o;
}

static void expect_memory(struct kunit *test, const struct sk_buff *msg,
			  const struct mlx5_ib_queue_mem *mem, unsigned long record)
{
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "page_size"), 1U << mem->buf.geo.page_shift);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "db_addr"), record);
}

/* ---- attributes ------------------------------------------------------------------------- */

static void queue_pair_shows_its_own_attributes(struct kunit *test)
{
	struct sk_buff *msg = make_msg(test);
	struct objects *o = make_shown_qp(test, OBJ_RC_QP, msg);

	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uar"),
			mock_static_uar(o->mock, o->qp.bfregn / 2));
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "bfreg"), o->qp.bfregn);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "sq_entries"), 16);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entries"), 64);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entry_size"), 16);
	expect_memory(test, msg, &o->qp.mem, o->qp_db);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The queue pair receives from an SRQ. */
static void queue_pair_without_a_receive_queue_shows_none(struct kunit *test)
{
	struct sk_buff *msg = make_msg(test);
	struct objects *o = make_shown_qp(test, OBJ_SRQ_QP, msg);

	KUNIT_EXPECT_EQ(test, find_number(test, msg, "sq_entries"), 16);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entries"), 0);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entry_size"), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* A process may name a UAR object of its own in place of a bfreg. */
static void queue_pair_on_a_uar_object_shows_no_bfreg(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_RC_QP);
	struct sk_buff *msg = make_msg(test);
	u32 bfregn = o->qp.bfregn;

	o->qp.bfregn = MLX5_IB_INVALID_BFREG;
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_qp_entry(msg, &o->qp.ibqp), 0);
	o->qp.bfregn = bfregn;
	KUNIT_EXPECT_NULL(test, find_value(msg, "bfreg"));
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uar"),
			mock_static_uar(o->mock, bfregn / 2));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* An XRC target belongs to an XRC domain. No process rings a doorbell of the target. */
static void xrc_target_shows_no_doorbell(struct kunit *test)
{
	struct sk_buff *msg = make_msg(test);
	struct objects *o = make_shown_qp(test, OBJ_XRC_TGT, msg);

	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), MLX5_IB_KERNEL_UID);
	KUNIT_EXPECT_NULL(test, find_value(msg, "uar"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "bfreg"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "page_size"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "db_addr"));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* A queue pair for raw packets has a doorbell register only if it can send. */
static void queue_pair_that_only_receives_shows_its_queue(struct kunit *test)
{
	struct sk_buff *msg = make_msg(test);
	struct objects *o = make_shown_qp(test, OBJ_RECEIVER, msg);

	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "tirn"), to_raw(&o->qp)->tir.num);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "sq_entries"), 0);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entries"), 64);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "rq_entry_size"), 16);
	expect_memory(test, msg, &to_raw(&o->qp)->rq_mem, o->qp_db);
	KUNIT_EXPECT_NULL(test, find_value(msg, "uar"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "bfreg"));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* It has neither queues nor memory. */
static void queue_pair_with_a_table_shows_its_tir(struct kunit *test)
{
	struct sk_buff *msg = make_msg(test);
	struct objects *o = make_shown_qp(test, OBJ_RSS_QP, msg);

	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "tirn"), o->qp.tirn);
	KUNIT_EXPECT_NULL(test, find_value(msg, "uar"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "rq_entries"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "page_size"));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void completion_queue_shows_its_own_attributes(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_CQ);
	struct sk_buff *msg = make_msg(test);

	/* mlx5_core keeps pid beside the user id: it must not be taken for the user id. */
	o->cq.mcq.pid = o->mock->context->uid + 1;
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_cq_entry(msg, &o->cq.ibcq), 0);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "cqn"), o->cq.mcq.cqn);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uar"), mock_static_uar(o->mock, 0));
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "cqe_size"), 64);
	expect_memory(test, msg, &o->cq.mem, o->cq_db);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void shared_receive_queue_shows_its_own_attributes(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_SRQ);
	struct sk_buff *msg = make_msg(test);

	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_srq_entry(msg, &o->srq.ibsrq), 0);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "entries"), 128);
	/* An entry has the link to the next entry and one segment, of 16 bytes each. */
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "entry_size"), 32);
	expect_memory(test, msg, &o->srq.mem, o->srq_db);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void region_shows_its_own_attributes(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_MR);
	struct sk_buff *msg = make_msg(test);
	const struct nlattr *kind;

	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_mr_entry(msg, o->mr), 0);
	kind = find_value(msg, "kind");
	KUNIT_ASSERT_NOT_NULL(test, kind);
	KUNIT_EXPECT_EQ(test, nla_strcmp(kind, "pinned"), 0);
	/* The mkeys of regions belong to the kernel. */
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "uid"), MLX5_IB_KERNEL_UID);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "access"), IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, find_number(test, msg, "page_size"), o->mr->page_size);
	KUNIT_EXPECT_GE(test, o->mr->page_size, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Device memory, for example, has no pages. */
static void region_without_pages_shows_no_page_size(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_MR);
	struct sk_buff *msg = make_msg(test);

	o->mr->page_size = 0;
	KUNIT_ASSERT_EQ(test, mlx5_ib_fill_res_mr_entry(msg, o->mr), 0);
	KUNIT_EXPECT_NOT_NULL(test, find_value(msg, "access"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "page_size"));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* `rdma statistic show mr` leaves out a region for which the driver adds nothing to the message. */
static void pinned_region_has_no_statistics(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_MR);
	struct sk_buff *msg = make_msg(test);

	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_stat_mr_entry(msg, o->mr), 0);
	KUNIT_EXPECT_EQ(test, msg->len, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static struct mlx5_ib_paging_stat paging_stat;

static const struct mlx5_ib_paging_stat *get_paging_stat(struct mlx5_ib_mr *mr)
{
	return &paging_stat;
}

/* The value of a counter; 0 if there is none of that name. */
static u64 find_counter(const struct sk_buff *msg, const char *name)
{
	const struct nlattr *nest, *entry, *attr;
	int left;

	nest = nla_find((const struct nlattr *)msg->data, msg->len,
			RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	if (!nest)
		return 0;
	nla_for_each_nested(entry, nest, left) {
		attr = nla_find(nla_data(entry), nla_len(entry),
				RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		if (!attr || nla_strcmp(attr, name))
			continue;
		attr = nla_find(nla_data(entry), nla_len(entry),
				RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
		return attr ? nla_get_u64(attr) : 0;
	}
	return 0;
}

static void paged_region_shows_its_statistics(struct kunit *test)
{
	const struct mlx5_ib_mr_ops paged = { .kind = "paged", .paging_stat = get_paging_stat };
	struct objects *o = make_objects(test, OBJ_MR);
	struct mlx5_ib_mr *mr = to_mmr(o->mr);
	const struct mlx5_ib_mr_ops *pinned = mr->ops;
	struct sk_buff *msg = make_msg(test);
	unsigned int len;

	atomic64_set(&paging_stat.faults, 11);
	atomic64_set(&paging_stat.invalidations, 22);
	atomic64_set(&paging_stat.prefetches, 33);
	mr->ops = &paged;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_stat_mr_entry(msg, o->mr), 0);
	KUNIT_EXPECT_EQ(test, find_counter(msg, "page_faults"), 11);
	KUNIT_EXPECT_EQ(test, find_counter(msg, "page_invalidations"), 22);
	KUNIT_EXPECT_EQ(test, find_counter(msg, "page_prefetch"), 33);
	skb_put_zero(msg, skb_tailroom(msg) - 40);
	len = msg->len;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fill_stat_mr_entry(msg, o->mr), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, msg->len, len);
	mr->ops = pinned;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Other users see all attributes but the addresses. */
static void addresses_are_shown_to_administrators(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_RC_QP);
	struct sk_buff *msg = make_msg(test);
	struct cred *cred = prepare_creds();
	const struct cred *old;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_NET_ADMIN);
	old = override_creds(cred);
	err = mlx5_ib_fill_res_qp_entry(msg, &o->qp.ibqp);
	put_cred(revert_creds(old));
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_NOT_NULL(test, find_value(msg, "page_size"));
	KUNIT_EXPECT_NULL(test, find_value(msg, "db_addr"));
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static int show_qp(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_qp_entry(msg, &o->qp.ibqp);
}

static int show_cq(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_cq_entry(msg, &o->cq.ibcq);
}

static int show_srq(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_srq_entry(msg, &o->srq.ibsrq);
}

static int show_mr(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_mr_entry(msg, o->mr);
}

static int show_raw_qp(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_qp_entry_raw(msg, &o->qp.ibqp);
}

static int show_raw_cq(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_cq_entry_raw(msg, &o->cq.ibcq);
}

static int show_raw_srq(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_srq_entry_raw(msg, &o->srq.ibsrq);
}

static int show_raw_mr(struct sk_buff *msg, struct objects *o)
{
	return mlx5_ib_fill_res_mr_entry_raw(msg, o->mr);
}

static u32 qp_number(const struct objects *o)
{
	return o->qp.rsc.num;
}

static u32 cq_number(const struct objects *o)
{
	return o->cq.mcq.cqn;
}

static u32 srq_number(const struct objects *o)
{
	return o->srq.rsc.num;
}

static u32 mr_number(const struct objects *o)
{
	return mlx5_mkey_to_idx(o->mr->lkey);
}

/**
 * struct shown - an object, and how resource tracking shows it
 * @name: name of the object
 * @id: the object
 * @show: shows the attributes
 * @show_raw: shows the context
 * @number: number of the object at the device
 * @of_kernel: the object belongs to the kernel, whatever the user id of the context
 * @opcode: command that queries the object
 * @offset: first byte of the context in the answer, as the interface has it
 * @size: bytes of the context
 */
struct shown {
	const char *name;
	enum object_id id;
	int (*show)(struct sk_buff *msg, struct objects *o);
	int (*show_raw)(struct sk_buff *msg, struct objects *o);
	u32 (*number)(const struct objects *o);
	bool of_kernel;
	u16 opcode;
	u16 offset;
	u16 size;
};

static const struct shown shown_cases[] = {
	{ "QP", OBJ_RC_QP, show_qp, show_raw_qp, qp_number, false, MLX5_CMD_OP_QUERY_QP,
	  0x18, 0xe8 },
	{ "CQ", OBJ_CQ, show_cq, show_raw_cq, cq_number, false, MLX5_CMD_OP_QUERY_CQ, 0x10, 0x40 },
	{ "SRQ", OBJ_SRQ, show_srq, show_raw_srq, srq_number, false, MLX5_CMD_OP_QUERY_RMP,
	  MLX5_BYTE_OFF(query_rmp_out, rmp_context), MLX5_ST_SZ_BYTES(rmpc) },
	{ "XRC SRQ", OBJ_XRC_SRQ, show_srq, show_raw_srq, srq_number, true,
	  MLX5_CMD_OP_QUERY_XRC_SRQ, 0x10, 0x40 },
	{ "SRQ with tag matching", OBJ_TM_SRQ, show_srq, show_raw_srq, srq_number, false,
	  MLX5_CMD_OP_QUERY_XRQ, MLX5_BYTE_OFF(query_xrq_out, xrq_context),
	  MLX5_ST_SZ_BYTES(xrqc) },
	{ "MR", OBJ_MR, show_mr, show_raw_mr, mr_number, true, MLX5_CMD_OP_QUERY_MKEY,
	  0x10, 0x40 },
};

KUNIT_ARRAY_PARAM_DESC(shown, shown_cases, name);

/* What has been put into the message before stays as it is. */
static void full_message_gets_no_part_of_an_object(struct kunit *test)
{
	const struct shown *c = test->param_value;
	struct objects *o = make_objects(test, c->id);
	struct sk_buff *msg = make_msg(test);
	unsigned int len;

	/* There is room for the first attribute, but not for all. */
	skb_put_zero(msg, skb_tailroom(msg) - 40);
	len = msg->len;
	KUNIT_EXPECT_EQ(test, c->show(msg, o), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, msg->len, len);
	KUNIT_EXPECT_EQ(test, c->show_raw(msg, o), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, msg->len, len);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* ---- contexts --------------------------------------------------------------------------- */

/* Firmware whose answers have in each byte the offset of the byte. */
static int fw_with_contexts(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int i;

	for (i = 0; i < out_size; i++)
		((u8 *)out)[i] = i;
	return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
}

static void context_is_that_of_the_object(struct kunit *test)
{
	const struct shown *c = test->param_value;
	struct objects *o = make_objects(test, c->id);
	struct sk_buff *msg = make_msg(test);
	const struct nlattr *raw;
	const u8 *bytes;
	unsigned int i;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_with_contexts);
	o->mock->num_commands = 0;
	KUNIT_ASSERT_EQ(test, c->show_raw(msg, o), 0);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, o->mock->opcode, c->opcode);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 0) & 0xffff,
			c->of_kernel ? MLX5_IB_KERNEL_UID : o->mock->context->uid);
	KUNIT_EXPECT_EQ(test, mock_dword(o->mock, 8), c->number(o));
	raw = nla_find((const struct nlattr *)msg->data, msg->len, RDMA_NLDEV_ATTR_RES_RAW);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	KUNIT_ASSERT_EQ(test, nla_len(raw), c->size);
	bytes = nla_data(raw);
	for (i = 0; i < c->size; i++)
		KUNIT_EXPECT_EQ_MSG(test, bytes[i], (u8)(c->offset + i), "byte %u", i);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The device has destroyed the object between two steps of resource tracking. */
static void object_that_is_gone_is_skipped(struct kunit *test)
{
	const struct shown *c = test->param_value;
	struct objects *o = make_objects(test, c->id);
	struct sk_buff *msg = make_msg(test);

	o->mock->num_commands = 0;
	o->mock->refuse = 1;
	o->mock->refuse_err = -ENOENT;
	KUNIT_EXPECT_EQ(test, c->show_raw(msg, o), -EAGAIN);
	o->mock->num_commands = 0;
	o->mock->refuse_err = -EIO;
	KUNIT_EXPECT_EQ(test, c->show_raw(msg, o), -EIO);
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, msg->len, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void context_for_which_there_is_no_memory_is_not_shown(struct kunit *test)
{
	const struct shown *c = test->param_value;
	struct objects *o = make_objects(test, c->id);
	struct sk_buff *msg = make_msg(test);

	fail_alloc_init(test);
	o->mock->num_commands = 0;
	fail_alloc_begin(1);
	KUNIT_EXPECT_EQ(test, c->show_raw(msg, o), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, fail_alloc_end());
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, msg->len, 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* Firmware has not answered the destruction: the number may be that of another user's object. */
static void object_that_may_be_gone_is_skipped(struct kunit *test)
{
	const struct shown *c = test->param_value;
	struct objects *o = make_objects(test, c->id);
	struct sk_buff *msg = make_msg(test);

	o->mock->refuse_destroy = true;
	o->mock->refuse_err = -ETIMEDOUT;
	KUNIT_ASSERT_EQ(test, objects_destroy(o, c->id), -ETIMEDOUT);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, c->show_raw(msg, o), -EAGAIN);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

/* The device may already have given the number of that object to another one. */
static void object_of_a_closed_process_is_skipped(struct kunit *test)
{
	struct objects *o = make_objects(test, OBJ_RC_QP);
	struct sk_buff *msg = make_msg(test);
	struct mlx5_ib_mr *mr;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_MR), 0);
	mr = to_mmr(o->mr);
	o->mock->num_commands = 0;
	o->qp.closing = true;
	KUNIT_EXPECT_EQ(test, show_raw_qp(msg, o), -EAGAIN);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	o->qp.closing = false;
	mr->mkey.closing = true;
	KUNIT_EXPECT_EQ(test, show_raw_mr(msg, o), -EAGAIN);
	mr->mkey.closing = false;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static struct kunit_case restrack_cases[] = {
	KUNIT_CASE(queue_pair_shows_its_own_attributes),
	KUNIT_CASE(queue_pair_without_a_receive_queue_shows_none),
	KUNIT_CASE(queue_pair_on_a_uar_object_shows_no_bfreg),
	KUNIT_CASE(xrc_target_shows_no_doorbell),
	KUNIT_CASE(queue_pair_that_only_receives_shows_its_queue),
	KUNIT_CASE(queue_pair_with_a_table_shows_its_tir),
	KUNIT_CASE(completion_queue_shows_its_own_attributes),
	KUNIT_CASE(shared_receive_queue_shows_its_own_attributes),
	KUNIT_CASE(region_shows_its_own_attributes),
	KUNIT_CASE(region_without_pages_shows_no_page_size),
	KUNIT_CASE(pinned_region_has_no_statistics),
	KUNIT_CASE(paged_region_shows_its_statistics),
	KUNIT_CASE(addresses_are_shown_to_administrators),
	KUNIT_CASE_PARAM(full_message_gets_no_part_of_an_object, shown_gen_params),
	KUNIT_CASE_PARAM(context_is_that_of_the_object, shown_gen_params),
	KUNIT_CASE_PARAM(object_that_is_gone_is_skipped, shown_gen_params),
	KUNIT_CASE_PARAM(context_for_which_there_is_no_memory_is_not_shown, shown_gen_params),
	KUNIT_CASE_PARAM(object_that_may_be_gone_is_skipped, shown_gen_params),
	KUNIT_CASE(object_of_a_closed_process_is_skipped),
	{}
};

static struct kunit_suite restrack_suite = {
	.name = "bluebell_restrack",
	.test_cases = restrack_cases,
};

kunit_test_suite(restrack_suite);
