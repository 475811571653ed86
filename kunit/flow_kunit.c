// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of flow rules, flow counters, matchers, actions and anchors, on a device whose tables
 * of mlx5_core are stubs: what the driver asks of mlx5_core, what it refuses, and that a failure at
 * any step leaves nothing behind.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>
#include <rdma/mlx5-abi.h>

#include "devx/flow_raw.h"
#include "fw/fw_flow.h"
#include "layout/layout_flow.h"
#include "lib/flow_table.h"
#include "lib/memory.h"
#include "lib/objects.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "verbs/flow.h"

#define TIRN		0x55
#define MAX_CALLS	4
#define COUNTER		50	/* number of the counter of mlx5_core */
#define NEXT_TABLE	0x31	/* number of each table of mlx5_core */
#define ANCHOR_TABLE	0x41
#define ANCHOR_GROUP	0x51
#define PACKETS		1000
#define BYTES		64000

/* A call of the driver that creates a table or a rule. */
struct call {
	enum mlx5_flow_namespace_type type;
	struct mlx5_flow_table_attr table;
	u32 action;
	u32 flags;
	u32 tag;
	struct mlx5_flow_destination dest[2];
	int num;
	const void *table_of;
};

/**
 * struct steering - what mlx5_core has, and was asked for
 * @o: device, context and objects of the process
 * @has: namespaces that the device has, a mask
 * @tables: tables that the driver has created, oldest first
 * @rules: rules that the driver has added, oldest first
 * @num_tables: number of elements of @tables
 * @num_rules: number of elements of @rules
 * @live: objects that the driver has created and not destroyed
 * @calls: calls that create something
 * @fail: number of the call to fail, from 1; 0 for none
 * @fail_err: errno of the call that fails
 * @kept_tables: number of times that the next table to be destroyed is kept
 * @refuse: opcode of a command of an anchor that firmware refuses; 0 for none
 * @refuse_err: errno of the refusals
 * @refusals: number of refusals
 * @table_type: type of the table of an anchor
 * @has_tir: the queue pair has a TIR
 * @tir: attempts to destroy the TIR
 * @type: namespace that the driver last looked up
 */
static struct steering {
	struct objects *o;
	u64 has;
	struct call tables[MAX_CALLS];
	struct call rules[MAX_CALLS];
	unsigned int num_tables;
	unsigned int num_rules;
	int live;
	unsigned int calls;
	unsigned int fail;
	int fail_err;
	unsigned int kept_tables;
	u16 refuse;
	int refuse_err;
	unsigned int refusals;
	u8 table_type;
	bool has_tir;
	struct mlx5_ib_fw_attempt tir;
	enum mlx5_flow_namespace_type type;
} st;

/* Addresses of objects of mlx5_core, which the driver never looks at. */
static void *core_object(unsigned long n)
{
	return (void *)(0x1000 + 16 * n);
}

static unsigned long core_number(const void *object)
{
	return ((unsigned long)object - 0x1000) / 16;
}

static void *core_create(unsigned long n)
{
	if (++st.calls == st.fail)
		return ERR_PTR(st.fail_err);
	st.live++;
	return core_object(n);
}

static struct mlx5_flow_namespace *core_namespace(struct mlx5_ib_dev *dev,
						  enum mlx5_flow_namespace_type type)
{
	st.type = type;
	return st.has & BIT_ULL(type) ? core_object(type) : NULL;
}

static struct mlx5_flow_table *core_create_table(struct mlx5_ib_dev *dev,
						 struct mlx5_flow_namespace *ns,
						 struct mlx5_flow_table_attr *attr)
{
	struct mlx5_flow_table *table = core_create(st.num_tables);

	KUNIT_EXPECT_EQ(kunit_get_current_test(), memory_under_lock(), 0);
	if (IS_ERR(table) || st.num_tables == MAX_CALLS)
		return table;
	st.tables[st.num_tables++] = (struct call){ .type = st.type, .table = *attr };
	return table;
}

static int core_destroy_table(struct mlx5_ib_dev *dev, struct mlx5_flow_table *table)
{
	if (st.kept_tables) {
		st.kept_tables--;
		return -EIO;
	}
	st.live--;
	return 0;
}

static struct mlx5_flow_handle *core_add_rule(struct mlx5_ib_dev *dev,
					      struct mlx5_flow_table *table,
					      const struct mlx5_flow_spec *spec,
					      struct mlx5_ib_flow_target *target)
{
	struct mlx5_flow_handle *rule = core_create(st.num_rules);

	if (IS_ERR(rule) || st.num_rules == MAX_CALLS)
		return rule;
	st.rules[st.num_rules++] = (struct call){
		.action = target->act.action, .flags = target->act.flags,
		.tag = spec->flow_context.flow_tag,
		.dest = { target->dest[0], target->dest[1] }, .num = target->num,
		.table_of = table,
	};
	return rule;
}

/* As mlx5_core does, free what stands for the flow counter of a process. */
static void core_del_rule(struct mlx5_ib_dev *dev, struct mlx5_flow_handle *rule)
{
	unsigned long n = core_number(rule);
	struct call *call = &st.rules[n];
	int i;

	st.live--;
	for (i = 0; n < MAX_CALLS && i < call->num; i++)
		if (call->dest[i].type == MLX5_FLOW_DESTINATION_TYPE_COUNTER &&
		    (void *)call->dest[i].counter != core_object(COUNTER))
			mlx5_fc_local_destroy(call->dest[i].counter);
}

static struct mlx5_fc *core_create_counter(struct mlx5_ib_dev *dev)
{
	return core_create(COUNTER);
}

static void core_destroy_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc)
{
	KUNIT_EXPECT_PTR_EQ(kunit_get_current_test(), (void *)fc, core_object(COUNTER));
	st.live--;
}

static int core_query_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc, u64 *packets,
			      u64 *bytes)
{
	if (++st.calls == st.fail)
		return -EIO;
	*packets = PACKETS;
	*bytes = BYTES;
	return 0;
}

static struct mlx5_modify_hdr *core_alloc_header(struct mlx5_ib_dev *dev,
						 enum mlx5_flow_namespace_type ns, u8 num,
						 void *actions)
{
	KUNIT_EXPECT_EQ(kunit_get_current_test(), num, 2);
	return core_create(60);
}

static void core_dealloc_header(struct mlx5_ib_dev *dev, struct mlx5_modify_hdr *hdr)
{
	st.live--;
}

static struct mlx5_pkt_reformat *core_alloc_reformat(struct mlx5_ib_dev *dev,
						     enum mlx5_flow_namespace_type ns,
						     struct mlx5_pkt_reformat_params *params)
{
	return core_create(70);
}

static void core_dealloc_reformat(struct mlx5_ib_dev *dev, struct mlx5_pkt_reformat *reformat)
{
	st.live--;
}

static bool find_part(const struct mlx5_ib_qp *qp, u8 kind, struct mlx5_ib_qp_part *part)
{
	*part = (struct mlx5_ib_qp_part){ TIRN, &st.tir };
	return kind == MLX5_IB_DEVX_TIR && st.has_tir;
}

static const struct mlx5_ib_qp_ops raw_qp_ops = { .find_part = find_part };

#define FLOW_CAP(field, value)							\
	MOCK_SET_CAP_OF(&st.o->mock->dev->caps, MLX5_CAP_FLOW_TABLE, flow_table_nic_cap, field, \
			value)

static int steering_init(struct kunit *test)
{
	st = (struct steering){
		.o = objects_make(test), .has = U64_MAX, .fail_err = -EIO, .has_tir = true,
	};
	mock_set_ethernet(&st.o->mock->dev->caps);
	FLOW_CAP(nic_rx_multi_path_tirs, 1);
	FLOW_CAP(flow_table_properties_nic_receive.flow_counter, 1);
	FLOW_CAP(flow_table_properties_nic_receive.log_max_ft_size, 16);
	FLOW_CAP(flow_table_properties_nic_transmit.log_max_ft_size, 10);
	kunit_activate_static_stub(test, mlx5_ib_fw_flow_namespace, core_namespace);
	kunit_activate_static_stub(test, mlx5_ib_fw_create_flow_table, core_create_table);
	kunit_activate_static_stub(test, mlx5_ib_fw_destroy_flow_table, core_destroy_table);
	kunit_activate_static_stub(test, mlx5_ib_fw_add_flow_rule, core_add_rule);
	kunit_activate_static_stub(test, mlx5_ib_fw_del_flow_rule, core_del_rule);
	kunit_activate_static_stub(test, mlx5_ib_fw_create_flow_counter, core_create_counter);
	kunit_activate_static_stub(test, mlx5_ib_fw_destroy_flow_counter, core_destroy_counter);
	kunit_activate_static_stub(test, mlx5_ib_fw_query_flow_counter, core_query_counter);
	kunit_activate_static_stub(test, mlx5_ib_fw_alloc_modify_header, core_alloc_header);
	kunit_activate_static_stub(test, mlx5_ib_fw_dealloc_modify_header, core_dealloc_header);
	kunit_activate_static_stub(test, mlx5_ib_fw_alloc_reformat, core_alloc_reformat);
	kunit_activate_static_stub(test, mlx5_ib_fw_dealloc_reformat, core_dealloc_reformat);
	KUNIT_ASSERT_EQ(test, 0, objects_create(st.o, OBJ_CONTEXT));
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_flow_tables(st.o->mock->dev));
	KUNIT_ASSERT_TRUE(test, mlx5_ib_has_flows(st.o->mock->dev));
	mock_give_user(st.o->mock);
	st.o->qp.ibqp.device = &st.o->mock->dev->ib_dev;
	st.o->qp.ops = &raw_qp_ops;
	return 0;
}

static int num_counted(enum mlx5_ib_share_kind kind)
{
	return atomic_read(&st.o->mock->context->user->count[kind]);
}

static void expect_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, st.live, 0);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 0);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW_COUNTER), 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&st.o->mock->dev->flow_tables->tables));
}

static void steering_exit(struct kunit *test)
{
	if (!st.o || !st.o->mock->dev->flow_tables)
		return;
	expect_nothing(test);
	mock_drop_user(st.o->mock);
	mlx5_ib_cleanup_flow_tables(st.o->mock->dev);
	KUNIT_EXPECT_EQ(test, 0, objects_destroy_all(st.o));
}

/* ---- rules of verbs --------------------------------------------------------------------- */

static struct ib_flow_attr *make_attr(struct kunit *test, enum ib_flow_attr_type type)
{
	struct ib_flow_attr *attr = kunit_kzalloc(test, struct_size(attr, flows, 3), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, attr);
	attr->type = type;
	attr->port = 1;
	return attr;
}

static void add_drop(struct ib_flow_attr *attr)
{
	struct ib_flow_spec_action_drop *drop = (void *)(attr + 1);

	drop->type = IB_FLOW_SPEC_ACTION_DROP;
	drop->size = sizeof(*drop);
	attr->num_of_specs = 1;
}

static void add_count(struct ib_flow_attr *attr, struct mlx5_ib_counters_obj *counters)
{
	struct ib_flow_spec_action_count *count = (void *)(attr + 1);

	count->type = IB_FLOW_SPEC_ACTION_COUNT;
	count->size = sizeof(*count);
	count->counters = &counters->ibcounters;
	attr->num_of_specs = 1;
}

static struct ib_flow *create(struct ib_flow_attr *attr, const void *in, size_t inlen)
{
	struct ib_udata *udata = mock_udata(st.o->mock, in, inlen, 0);
	struct ib_flow *flow = mlx5_ib_create_flow(&st.o->qp.ibqp, attr, udata);

	if (!IS_ERR(flow))
		flow->device = &st.o->mock->dev->ib_dev;
	return flow;
}

static struct ib_flow *create_ok(struct kunit *test, struct ib_flow_attr *attr)
{
	struct ib_flow *flow = create(attr, NULL, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, flow);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 1);
	return flow;
}

static void expect_err(struct kunit *test, int err, struct ib_flow_attr *attr)
{
	KUNIT_EXPECT_EQ(test, err, PTR_ERR_OR_ZERO(create(attr, NULL, 0)));
	expect_nothing(test);
}

static const struct kind_case {
	const char *name;
	enum ib_flow_attr_type type;
	u16 priority;
	u32 flags;
	unsigned int rules;
	enum mlx5_flow_namespace_type ns[2];
	u32 prio;
	int entries;
	u32 action;
} kind_cases[] = {
	{ "normal", IB_FLOW_ATTR_NORMAL, 3, 0, 1, { MLX5_FLOW_NAMESPACE_BYPASS }, 7,
	  MLX5_IB_FLOW_TABLE_ENTRIES, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST },
	{ "without a trap", IB_FLOW_ATTR_NORMAL, 15, IB_FLOW_ATTR_FLAGS_DONT_TRAP, 1,
	  { MLX5_FLOW_NAMESPACE_BYPASS }, 30, MLX5_IB_FLOW_TABLE_ENTRIES,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST | MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_PRIO },
	{ "all packets", IB_FLOW_ATTR_ALL_DEFAULT, 0, 0, 2,
	  { MLX5_FLOW_NAMESPACE_LEFTOVERS, MLX5_FLOW_NAMESPACE_LEFTOVERS }, 0, 2,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST },
	{ "multicast", IB_FLOW_ATTR_MC_DEFAULT, 0, 0, 1, { MLX5_FLOW_NAMESPACE_LEFTOVERS }, 0, 2,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST },
	{ "sniffer", IB_FLOW_ATTR_SNIFFER, 0, 0, 2,
	  { MLX5_FLOW_NAMESPACE_SNIFFER_RX, MLX5_FLOW_NAMESPACE_SNIFFER_TX }, 0, 1,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST },
};

KUNIT_ARRAY_PARAM_DESC(kind, kind_cases, name);

static struct ib_flow_attr *kind_attr(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	struct ib_flow_attr *attr = make_attr(test, c->type);

	attr->priority = c->priority;
	attr->flags = c->flags;
	return attr;
}

static void rules_are_in_tables_of_their_kind(struct kunit *test)
{
	const struct kind_case *c = test->param_value;
	struct ib_flow *flow = create_ok(test, kind_attr(test));
	unsigned int i;

	KUNIT_ASSERT_EQ(test, st.num_rules, c->rules);
	for (i = 0; i < st.num_tables; i++) {
		KUNIT_EXPECT_EQ(test, st.tables[i].type, c->ns[i]);
		KUNIT_EXPECT_EQ(test, st.tables[i].table.prio, c->prio);
		KUNIT_EXPECT_EQ(test, st.tables[i].table.max_fte, c->entries);
	}
	for (i = 0; i < c->rules; i++) {
		KUNIT_EXPECT_EQ(test, st.rules[i].action, c->action);
		KUNIT_EXPECT_EQ(test, st.rules[i].num, 1);
		KUNIT_EXPECT_EQ(test, st.rules[i].dest[0].type, MLX5_FLOW_DESTINATION_TYPE_TIR);
		KUNIT_EXPECT_EQ(test, st.rules[i].dest[0].tir_num, TIRN);
	}
	mlx5_ib_destroy_flow(flow);
}

/* Fail each call that creates something, one after the other. */
static void failure_leaves_nothing(struct kunit *test)
{
	struct ib_flow *flow;

	for (st.fail = 1; st.fail < 10; st.fail++) {
		st.calls = 0;
		flow = create(kind_attr(test), NULL, 0);
		if (!IS_ERR(flow))
			break;
		KUNIT_EXPECT_EQ(test, PTR_ERR(flow), -EIO);
		expect_nothing(test);
	}
	KUNIT_EXPECT_EQ(test, st.calls, st.fail - 1);
	mlx5_ib_destroy_flow(flow);
}

/* A rule whose command was not answered may exist, so it goes on counting. */
static void rule_that_may_exist_counts(struct kunit *test)
{
	st.fail_err = -ETIMEDOUT;
	for (st.fail = 1; st.fail <= 2; st.fail++) {
		st.calls = 0;
		KUNIT_EXPECT_EQ(test, -ETIMEDOUT,
				PTR_ERR_OR_ZERO(create(kind_attr(test), NULL, 0)));
		KUNIT_EXPECT_EQ(test, st.live, 0);
		KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), st.fail);
	}
	atomic_set(&st.o->mock->context->user->count[MLX5_IB_SHARE_FLOW], 0);
}

static void rules_need_their_tables(struct kunit *test)
{
	const struct kind_case *c = test->param_value;

	st.has = ~BIT_ULL(c->ns[c->rules - 1]);
	expect_err(test, -EOPNOTSUPP, kind_attr(test));
}

static void wrong_rules_are_refused(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);

	attr->priority = MLX5_IB_FLOW_PRIORITIES;
	expect_err(test, -EINVAL, attr);
	attr->priority = 0;
	attr->flags = IB_FLOW_ATTR_FLAGS_EGRESS;
	expect_err(test, -EOPNOTSUPP, attr);
	attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	FLOW_CAP(nic_rx_multi_path_tirs, 0);
	expect_err(test, -EOPNOTSUPP, attr);
	FLOW_CAP(nic_rx_multi_path_tirs, 1);
	add_drop(attr);
	expect_err(test, -EINVAL, attr);
	attr->flags = 0;
	attr->type = IB_FLOW_ATTR_ALL_DEFAULT;
	expect_err(test, -EINVAL, attr);
	attr->type = IB_FLOW_ATTR_SNIFFER;
	expect_err(test, -EINVAL, attr);
	attr->num_of_specs = 0;
	attr->flags = IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	expect_err(test, -EINVAL, attr);
	attr->type = IB_FLOW_ATTR_SNIFFER + 1;
	expect_err(test, -EINVAL, attr);
	attr->type = IB_FLOW_ATTR_NORMAL;
	attr->flags = BIT(0);
	expect_err(test, -EINVAL, attr);
	KUNIT_EXPECT_EQ(test, st.calls, 0);
}

/* The number of a TIR that does not exist any more may be that of another user's TIR. */
static void rules_need_a_tir_that_exists(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);

	st.has_tir = false;
	expect_err(test, -EINVAL, attr);
	st.has_tir = true;
	st.tir.unanswered = true;
	expect_err(test, -EIO, attr);
	st.tir = (struct mlx5_ib_fw_attempt){ .replaced = true };
	expect_err(test, -EIO, attr);
	KUNIT_EXPECT_EQ(test, st.calls, 0);
	/* Firmware has refused to destroy the TIR. */
	st.tir = (struct mlx5_ib_fw_attempt){ .failed = true };
	mlx5_ib_destroy_flow(create_ok(test, attr));
}

/* A rule that drops packets needs no receive queue. */
static void packets_are_dropped(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *flow;

	add_drop(attr);
	st.has_tir = false;
	flow = create_ok(test, attr);
	KUNIT_EXPECT_EQ(test, st.rules[0].action, MLX5_FLOW_CONTEXT_ACTION_DROP);
	KUNIT_EXPECT_EQ(test, st.rules[0].num, 0);
	mlx5_ib_destroy_flow(flow);
}

/* Rules of one priority share a table, which lives as long as one of them. */
static void a_priority_has_one_table(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *first = create(attr, NULL, 0), *second = create(attr, NULL, 0), *other;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, st.num_tables, 1);
	attr->priority = 1;
	other = create(attr, NULL, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_EQ(test, st.num_tables, 2);
	KUNIT_EXPECT_EQ(test, st.live, 5);
	mlx5_ib_destroy_flow(first);
	mlx5_ib_destroy_flow(other);
	KUNIT_EXPECT_EQ(test, st.live, 2);
	mlx5_ib_destroy_flow(second);
}

/*
 * mlx5_core may keep a table that has lost its last rule. Such a table gets no rules: mlx5_core may
 * have taken the table out of the order for some packets.
 */
static void kept_tables_get_no_rules(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *flow = create_ok(test, attr);

	st.kept_tables = 2;
	mlx5_ib_destroy_flow(flow);
	KUNIT_EXPECT_EQ(test, st.live, 1);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 0);
	/* The table is still kept. */
	KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(create(attr, NULL, 0)));
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 0);
	KUNIT_EXPECT_EQ(test, st.num_tables, 1);
	KUNIT_EXPECT_EQ(test, st.kept_tables, 0);
	flow = create_ok(test, attr);
	KUNIT_EXPECT_EQ(test, st.num_tables, 2);
	KUNIT_EXPECT_EQ(test, st.live, 2);
	KUNIT_EXPECT_PTR_EQ(test, st.rules[1].table_of, (const void *)core_object(1));
	mlx5_ib_destroy_flow(flow);
}

static void kept_tables_are_destroyed_at_the_end(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct mlx5_ib_dev *dev = st.o->mock->dev;
	unsigned int tries;

	for (tries = 1; tries <= 2; tries++) {
		st.kept_tables = tries;
		mlx5_ib_destroy_flow(create_ok(test, attr));
		KUNIT_EXPECT_EQ(test, st.live, 1);
		mlx5_ib_cleanup_flow_tables(dev);
		/* Otherwise the table is left to mlx5_core. */
		KUNIT_EXPECT_EQ(test, st.live, tries - 1);
		KUNIT_EXPECT_EQ(test, st.kept_tables, 0);
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_init_flow_tables(dev));
	}
	st.live = 0;
}

/* A task at the limit of its cgroup waits for memory, and must not make others wait. */
static void nothing_is_allocated_while_others_wait(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *flow;

	memory_watch_lock(test, &st.o->mock->dev->flow_tables->lock);
	flow = create_ok(test, attr);
	KUNIT_EXPECT_EQ(test, st.num_tables, 1);
	mlx5_ib_destroy_flow(flow);
	KUNIT_EXPECT_EQ(test, memory_under_lock(), 0);
}

static void a_user_has_a_limit_of_rules(struct kunit *test)
{
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *flow;

	st.o->mock->context->unlimited = false;
	st.o->mock->dev->users->limit[MLX5_IB_SHARE_FLOW] = 1;
	flow = create_ok(test, attr);
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR_OR_ZERO(create(attr, NULL, 0)));
	KUNIT_EXPECT_EQ(test, st.num_rules, 1);
	mlx5_ib_destroy_flow(flow);
}

/* ---- counters --------------------------------------------------------------------------- */

struct counters_req {
	struct mlx5_ib_create_flow head;
	struct mlx5_ib_flow_counters_data data;
};

static struct mlx5_ib_counters_obj *make_counters(struct kunit *test)
{
	struct mlx5_ib_counters_obj *counters =
		kunit_kzalloc(test, sizeof(*counters), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, counters);
	counters->ibcounters.device = &st.o->mock->dev->ib_dev;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_create_counters(&counters->ibcounters, NULL));
	return counters;
}

static void fill_req(struct kunit *test, struct counters_req *req)
{
	const struct mlx5_ib_flow_counters_desc descs[] = {
		{ IB_COUNTER_BYTES, 0 }, { IB_COUNTER_PACKETS, 2 }, { IB_COUNTER_BYTES, 1 },
	};
	unsigned long user = mock_buffer(st.o->mock, 0);

	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)user, descs, sizeof(descs)));
	req->head.ncounters_data = 1;
	req->data.counters_data = user;
	req->data.ncounters = ARRAY_SIZE(descs);
}

static int read_counters(struct mlx5_ib_counters_obj *counters, u64 *buff, u32 num)
{
	struct ib_counters_read_attr attr = { .counters_buff = buff, .ncounters = num };

	return mlx5_ib_read_counters(&counters->ibcounters, &attr, NULL);
}

static void rules_are_counted(struct kunit *test)
{
	struct mlx5_ib_counters_obj *counters = make_counters(test);
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct ib_flow *first, *second;
	struct counters_req req = {};
	u64 buff[4] = {};
	unsigned int mark;

	fill_req(test, &req);
	add_count(attr, counters);
	KUNIT_EXPECT_EQ(test, -EINVAL, read_counters(counters, buff, 4));
	mark = memory_mark();
	first = create(attr, &req, sizeof(req));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	memory_expect_any(test, mark);
	memory_expect_charged(test, mark);
	KUNIT_EXPECT_EQ(test, st.rules[0].action, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST |
						  MLX5_FLOW_CONTEXT_ACTION_COUNT);
	KUNIT_EXPECT_EQ(test, st.rules[0].num, 2);
	KUNIT_EXPECT_EQ(test, st.rules[0].dest[1].type, MLX5_FLOW_DESTINATION_TYPE_COUNTER);
	KUNIT_EXPECT_PTR_EQ(test, (void *)st.rules[0].dest[1].counter, core_object(COUNTER));
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW_COUNTER), 1);
	/* The library describes the answer once only. */
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(create(attr, &req, sizeof(req))));
	second = create(attr, &req.data, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, second);
	KUNIT_EXPECT_EQ(test, -EINVAL, read_counters(counters, buff, 2));
	KUNIT_EXPECT_EQ(test, 0, read_counters(counters, buff, 4));
	KUNIT_EXPECT_EQ(test, buff[0], BYTES);
	KUNIT_EXPECT_EQ(test, buff[1], BYTES);
	KUNIT_EXPECT_EQ(test, buff[2], PACKETS);
	KUNIT_EXPECT_EQ(test, buff[3], 0);
	st.fail = st.calls + 1;
	KUNIT_EXPECT_EQ(test, -EIO, read_counters(counters, buff, 4));
	mlx5_ib_destroy_flow(first);
	KUNIT_EXPECT_EQ(test, 0, read_counters(counters, buff, 4));
	mlx5_ib_destroy_flow(second);
	KUNIT_EXPECT_EQ(test, -EINVAL, read_counters(counters, buff, 4));
	mlx5_ib_destroy_counters(&counters->ibcounters);
}

static void failed_counters_leave_nothing(struct kunit *test)
{
	struct mlx5_ib_counters_obj *counters = make_counters(test);
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct counters_req req = {};
	struct ib_flow *flow;

	fill_req(test, &req);
	add_count(attr, counters);
	for (st.fail = 1; st.fail < 10; st.fail++) {
		st.calls = 0;
		flow = create(attr, &req, sizeof(req));
		if (!IS_ERR(flow))
			break;
		KUNIT_EXPECT_EQ(test, PTR_ERR(flow), -EIO);
		KUNIT_EXPECT_NULL(test, counters->descs);
		expect_nothing(test);
	}
	KUNIT_EXPECT_EQ(test, st.fail, 4);
	mlx5_ib_destroy_flow(flow);
	mlx5_ib_destroy_counters(&counters->ibcounters);
}

static const struct req_case {
	const char *name;
	u32 ncounters_data;
	u32 reserved;
	u32 ncounters;
	u32 data_reserved;
	bool no_object;
	size_t inlen;
	bool bad_address;
	u32 description;
	u32 index;
	int err;
} req_cases[] = {
	{ "no data", 0, 0, 1, 0, false, 24, false, 0, 0, -EINVAL },
	{ "two objects", 2, 0, 1, 0, false, 24, false, 0, 0, -EINVAL },
	{ "reserved bits", 1, 1, 1, 0, false, 24, false, 0, 0, -EINVAL },
	{ "reserved bits of the object", 1, 0, 1, 1, false, 24, false, 0, 0, -EINVAL },
	{ "no descriptions", 1, 0, 0, 0, false, 24, false, 0, 0, -EINVAL },
	{ "too many descriptions", 1, 0, 65, 0, false, 24, false, 0, 0, -EINVAL },
	{ "data without an object", 1, 0, 1, 0, true, 24, false, 0, 0, -EINVAL },
	{ "short data", 1, 0, 1, 0, false, 16, false, 0, 0, -EINVAL },
	{ "an unmapped address", 1, 0, 1, 0, false, 24, true, 0, 0, -EFAULT },
	{ "a kind that does not exist", 1, 0, 1, 0, false, 24, false, 2, 0, -EINVAL },
	{ "an index beyond all buffers", 1, 0, 1, 0, false, 24, false, 0, U32_MAX, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(req, req_cases, name);

static void wrong_counters_are_refused(struct kunit *test)
{
	const struct req_case *c = test->param_value;
	const struct mlx5_ib_flow_counters_desc desc = { c->description, c->index };
	struct mlx5_ib_counters_obj *counters = make_counters(test);
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	unsigned long user = mock_buffer(st.o->mock, 0);
	struct counters_req req = {
		.head = { .ncounters_data = c->ncounters_data, .reserved = c->reserved },
		.data = {
			.counters_data = c->bad_address ? 0x10 : user, .ncounters = c->ncounters,
			.reserved = c->data_reserved,
		},
	};

	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)user, &desc, sizeof(desc)));
	if (!c->no_object)
		add_count(attr, counters);
	KUNIT_EXPECT_EQ(test, c->err, PTR_ERR_OR_ZERO(create(attr, &req, c->inlen)));
	KUNIT_EXPECT_EQ(test, st.calls, 0);
	expect_nothing(test);
	mlx5_ib_destroy_counters(&counters->ibcounters);
}

static void counters_need_the_capability(struct kunit *test)
{
	struct mlx5_ib_counters_obj *counters = make_counters(test);
	struct ib_flow_attr *attr = make_attr(test, IB_FLOW_ATTR_NORMAL);
	struct counters_req req = {};

	fill_req(test, &req);
	add_count(attr, counters);
	FLOW_CAP(flow_table_properties_nic_receive.flow_counter, 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(create(attr, &req, sizeof(req))));
	mlx5_ib_destroy_counters(&counters->ibcounters);
}

/* ---- rules that a process has built ----------------------------------------------------- */

static u8 mask[2] = { 0xff, 0xff };
static u8 value[2] = { 2, 0x11 };

static struct mlx5_ib_flow_matcher *make_matcher(struct kunit *test, u32 ft_type, u32 flags)
{
	const struct mlx5_ib_flow_matcher_attr attr = {
		.ft_type = ft_type, .priority = 2, .flags = flags, .enable = 1, .mask = mask,
		.len = sizeof(mask),
	};
	struct mlx5_ib_flow_matcher *matcher =
		mlx5_ib_create_flow_matcher(st.o->mock->dev, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, matcher);
	return matcher;
}

static const struct raw_case {
	const char *name;
	u32 ft_type;
	u32 matcher_flags;
	u32 flags;
	bool qp;
	enum mlx5_ib_devx_kind dest;
	int err;
	u32 action;
	enum mlx5_flow_destination_type to;
	u32 prio;
} raw_cases[] = {
	{ "received, to a queue pair", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, true, 0, 0,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST, MLX5_FLOW_DESTINATION_TYPE_TIR, 5 },
	{ "received, to a TIR", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, false,
	  MLX5_IB_DEVX_TIR, 0, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST, MLX5_FLOW_DESTINATION_TYPE_TIR,
	  5 },
	{ "received, to a table", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, false,
	  MLX5_IB_DEVX_FLOW_TABLE, 0, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
	  MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE_NUM, 5 },
	{ "received, dropped", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, false, 0, 0, MLX5_FLOW_CONTEXT_ACTION_DROP, 0, 5 },
	{ "received, default", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS, false, 0, 0,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_NS, 0, 5 },
	{ "received, without a trap", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX,
	  IB_FLOW_ATTR_FLAGS_DONT_TRAP, 0, true, 0, 0,
	  MLX5_FLOW_CONTEXT_ACTION_FWD_DEST | MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_PRIO,
	  MLX5_FLOW_DESTINATION_TYPE_TIR, 4 },
	{ "received, to nowhere", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, false, 0, -EINVAL },
	{ "received, to two places", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, true,
	  MLX5_IB_DEVX_TIR, -EINVAL },
	{ "received, dropped and to a queue pair", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, true, 0, -EINVAL },
	{ "received, dropped without a trap", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX,
	  IB_FLOW_ATTR_FLAGS_DONT_TRAP, MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, false, 0, -EINVAL },
	{ "received, to a queue", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, false,
	  MLX5_IB_DEVX_RQ, -EINVAL },
	{ "sent", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, IB_FLOW_ATTR_FLAGS_EGRESS, 0, false, 0, 0,
	  MLX5_FLOW_CONTEXT_ACTION_ALLOW, 0, 2 },
	{ "sent, dropped", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, false, 0, 0, MLX5_FLOW_CONTEXT_ACTION_DROP, 0, 2 },
	{ "sent, to a TIR", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0, 0, false, MLX5_IB_DEVX_TIR,
	  -EINVAL },
	{ "sent, to a queue pair", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0, 0, true, 0, -EINVAL },
	{ "sent, default", MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS, false, 0, -EINVAL },
	{ "received for RDMA", MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX, 0, 0, false, 0, 0,
	  MLX5_FLOW_CONTEXT_ACTION_ALLOW, 0, 2 },
	{ "sent by RDMA", MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX, 0,
	  MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP, false, 0, 0, MLX5_FLOW_CONTEXT_ACTION_DROP, 0, 2 },
};

KUNIT_ARRAY_PARAM_DESC(raw, raw_cases, name);

static struct mlx5_ib_flow *create_raw(struct mlx5_ib_flow_matcher *matcher,
				       const struct raw_case *c)
{
	const struct mlx5_ib_flow_raw_attr attr = {
		.value = value, .len = sizeof(value), .flags = c->flags,
		.qp = c->qp ? &st.o->qp.ibqp : NULL, .dest = { .kind = c->dest, .num = 0x77 },
		.has_tag = true, .tag = 9,
	};

	return mlx5_ib_create_raw_flow(matcher, st.o->mock->context, &attr);
}

static void built_rules_go_where_they_say(struct kunit *test)
{
	const struct raw_case *c = test->param_value;
	struct mlx5_ib_flow_matcher *matcher = make_matcher(test, c->ft_type, c->matcher_flags);
	struct mlx5_ib_flow *flow = create_raw(matcher, c);

	KUNIT_ASSERT_EQ(test, c->err, PTR_ERR_OR_ZERO(flow));
	if (!c->err) {
		KUNIT_EXPECT_EQ(test, st.tables[0].table.prio, c->prio);
		KUNIT_EXPECT_EQ(test, st.rules[0].action, c->action);
		KUNIT_EXPECT_EQ(test, st.rules[0].tag, 9);
		KUNIT_EXPECT_EQ(test, st.rules[0].num, !!c->to);
		KUNIT_EXPECT_EQ(test, st.rules[0].dest[0].type, c->to);
		if (c->to)
			KUNIT_EXPECT_EQ(test, st.rules[0].dest[0].tir_num, c->qp ? TIRN : 0x77);
		KUNIT_EXPECT_EQ(test, -EBUSY, mlx5_ib_destroy_flow_matcher(matcher));
		mlx5_ib_flow_free(st.o->mock->dev, flow);
	}
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(matcher));
}

static void failed_built_rules_leave_nothing(struct kunit *test)
{
	struct mlx5_ib_flow_matcher *matcher =
		make_matcher(test, MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0);

	for (st.fail = 1; st.fail <= 2; st.fail++) {
		st.calls = 0;
		KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(create_raw(matcher, &raw_cases[0])));
		expect_nothing(test);
	}
	st.fail = 0;
	st.tir.unanswered = true;
	KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(create_raw(matcher, &raw_cases[0])));
	st.tir.unanswered = false;
	st.has_tir = false;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(create_raw(matcher, &raw_cases[0])));
	st.has_tir = true;
	mask[1] = 0xfe;	/* for the next matcher: the value has a bit outside */
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(matcher));
	matcher = make_matcher(test, MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(create_raw(matcher, &raw_cases[0])));
	mask[1] = 0xff;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(matcher));
}

static void wrong_matchers_are_refused(struct kunit *test)
{
	static const struct {
		u32 ft_type;
		u16 priority;
		u32 flags;
		u8 enable;
		int err;
	} cases[] = {
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_FDB, 0, 0, 1, -EOPNOTSUPP },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX, 0, 0, 1, -EOPNOTSUPP },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX + 1, 0, 0, 1, -EOPNOTSUPP },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, MLX5_IB_FLOW_PRIORITIES, 0, 1, -EINVAL },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, IB_FLOW_ATTR_FLAGS_EGRESS, 1, -EINVAL },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0, IB_FLOW_ATTR_FLAGS_DONT_TRAP, 1,
		  -EINVAL },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, BIT(0), 1, -EINVAL },
		{ MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0, 0, 2, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mlx5_ib_flow_matcher_attr attr = {
			.ft_type = cases[i].ft_type, .priority = cases[i].priority,
			.flags = cases[i].flags, .enable = cases[i].enable, .mask = mask,
			.len = sizeof(mask),
		};

		KUNIT_EXPECT_EQ_MSG(test, cases[i].err,
				    PTR_ERR_OR_ZERO(mlx5_ib_create_flow_matcher(st.o->mock->dev,
										&attr)),
				    "case %u", i);
	}
}

static void flow_counters_of_devx(struct kunit *test)
{
	struct mlx5_ib_flow_matcher *matcher =
		make_matcher(test, MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0);
	struct mlx5_ib_flow_raw_attr attr = {
		.value = value, .len = sizeof(value), .qp = &st.o->qp.ibqp,
		.counter = { .kind = MLX5_IB_DEVX_FLOW_COUNTER, .num = 0x100 },
		.num_counters = 128, .offset = 5,
	};
	struct mlx5_ib_flow *flow;

	flow = mlx5_ib_create_raw_flow(matcher, st.o->mock->context, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, flow);
	KUNIT_EXPECT_EQ(test, st.rules[0].num, 2);
	KUNIT_EXPECT_EQ(test, st.rules[0].dest[1].type, MLX5_FLOW_DESTINATION_TYPE_COUNTER);
	KUNIT_EXPECT_EQ(test, mlx5_fc_id(st.rules[0].dest[1].counter), 0x105);
	mlx5_ib_flow_free(st.o->mock->dev, flow);
	/* mlx5_core frees nothing if the rule is not added. */
	st.fail = st.calls + 2;
	KUNIT_EXPECT_EQ(test, -EIO,
			PTR_ERR_OR_ZERO(mlx5_ib_create_raw_flow(matcher, st.o->mock->context,
								&attr)));
	attr.offset = 128;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(mlx5_ib_create_raw_flow(matcher, st.o->mock->context,
								&attr)));
	attr.offset = 0;
	attr.counter.kind = MLX5_IB_DEVX_TIR;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(mlx5_ib_create_raw_flow(matcher, st.o->mock->context,
								&attr)));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(matcher));
}

/* ---- actions and anchors ---------------------------------------------------------------- */

static struct mlx5_ib_flow_action *modify_header(u32 ft_type, size_t len)
{
	static u8 changes[32];

	return mlx5_ib_create_modify_header(st.o->mock->context, ft_type, changes, len);
}

static void headers_are_changed(struct kunit *test)
{
	const u32 rx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;
	struct mlx5_ib_flow_action *action;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(modify_header(rx, 16)));
	FLOW_CAP(flow_table_properties_nic_receive.max_modify_header_actions, 2);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(modify_header(rx, 12)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(modify_header(rx, 24)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR_OR_ZERO(modify_header(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX, 16)));
	st.fail = 1;
	KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(modify_header(rx, 16)));
	expect_nothing(test);
	action = modify_header(rx, 16);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, action);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 1);
	mlx5_ib_destroy_flow_action(&action->ibaction);
}

static struct mlx5_ib_flow_action *reformat(u32 ft_type, u32 type, size_t len)
{
	static u8 data[64];

	return mlx5_ib_create_reformat(st.o->mock->context, ft_type, type, len ? data : NULL, len);
}

static void packets_are_reformatted(struct kunit *test)
{
	const u32 rx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;
	const u32 tx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX;
	const u32 decap = MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2;
	const u32 encap = MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL;
	struct mlx5_ib_flow_action *action;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(reformat(rx, decap, 0)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(reformat(tx, encap, 50)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(reformat(tx, 4, 50)));
	FLOW_CAP(max_encap_header_size, 50);
	FLOW_CAP(flow_table_properties_nic_receive.decap, 1);
	FLOW_CAP(flow_table_properties_nic_transmit.reformat, 1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(reformat(tx, decap, 0)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(reformat(rx, encap, 50)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(reformat(rx, decap, 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(reformat(tx, encap, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(reformat(tx, encap, 51)));
	action = reformat(rx, decap, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, action);
	KUNIT_EXPECT_EQ(test, st.live, 0);
	mlx5_ib_destroy_flow_action(&action->ibaction);
	st.fail = 1;
	KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(reformat(tx, encap, 50)));
	action = reformat(tx, encap, 50);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, action);
	KUNIT_EXPECT_EQ(test, st.live, 1);
	mlx5_ib_destroy_flow_action(&action->ibaction);
}

/* A rule has one action of a kind, of its own namespace. */
static void rules_have_actions(struct kunit *test)
{
	struct mlx5_ib_flow_matcher *rx =
		make_matcher(test, MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 0);
	struct mlx5_ib_flow_matcher *tx =
		make_matcher(test, MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 0);
	struct mlx5_ib_flow_action *action;
	struct ib_flow_action *actions[2];
	struct mlx5_ib_flow_raw_attr attr = {
		.value = value, .len = sizeof(value), .qp = &st.o->qp.ibqp, .actions = actions,
		.num_actions = 1,
	};
	struct mlx5_ib_flow *flow;

	FLOW_CAP(flow_table_properties_nic_receive.max_modify_header_actions, 2);
	action = modify_header(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 16);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, action);
	actions[0] = &action->ibaction;
	actions[1] = &action->ibaction;
	flow = mlx5_ib_create_raw_flow(rx, st.o->mock->context, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, flow);
	KUNIT_EXPECT_EQ(test, st.rules[0].action, MLX5_FLOW_CONTEXT_ACTION_FWD_DEST |
						  MLX5_FLOW_CONTEXT_ACTION_MOD_HDR);
	mlx5_ib_flow_free(st.o->mock->dev, flow);
	attr.num_actions = 2;
	flow = mlx5_ib_create_raw_flow(rx, st.o->mock->context, &attr);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(flow));
	attr.num_actions = 1;
	attr.qp = NULL;
	flow = mlx5_ib_create_raw_flow(tx, st.o->mock->context, &attr);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(flow));
	mlx5_ib_destroy_flow_action(&action->ibaction);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(rx));
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_matcher(tx));
}

static struct mlx5_ib_flow_anchor *make_anchor(u32 ft_type, u16 priority)
{
	return mlx5_ib_create_flow_anchor(st.o->mock->context, ft_type, priority);
}

/* Firmware that has the commands of an anchor. */
static int anchor_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		     int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();
	u16 opcode = MLX5_GET(set_fte_in, in, opcode);
	void *flow = MLX5_ADDR_OF(set_fte_in, in, flow_context);
	const void *dest = MLX5_ADDR_OF(flow_context, flow, destination);

	KUNIT_EXPECT_EQ(test, uid, opcode == MLX5_CMD_OP_CREATE_FLOW_TABLE ?
				   MLX5_SHARED_RESOURCE_UID : MLX5_IB_KERNEL_UID);
	KUNIT_EXPECT_EQ(test, MLX5_GET(set_fte_in, in, table_type), st.table_type);
	if (opcode == st.refuse) {
		st.refusals++;
		return st.refuse_err;
	}
	switch (opcode) {
	case MLX5_CMD_OP_CREATE_FLOW_TABLE:
		MLX5_SET(create_flow_table_out, out, table_id, ANCHOR_TABLE);
		return PTR_ERR_OR_ZERO(core_create(0));
	case MLX5_CMD_OP_CREATE_FLOW_GROUP:
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_flow_group_in, in, table_id), ANCHOR_TABLE);
		KUNIT_EXPECT_EQ(test, MLX5_GET(create_flow_group_in, in, end_flow_index), 0);
		MLX5_SET(create_flow_group_out, out, group_id, ANCHOR_GROUP);
		return PTR_ERR_OR_ZERO(core_create(0));
	case MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY:
		KUNIT_EXPECT_EQ(test, in_size, MLX5_IB_ANCHOR_ENTRY_BYTES);
		KUNIT_EXPECT_EQ(test, MLX5_GET(set_fte_in, in, table_id), ANCHOR_TABLE);
		KUNIT_EXPECT_EQ(test, MLX5_GET(set_fte_in, in, ignore_flow_level), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(flow_context, flow, group_id), ANCHOR_GROUP);
		KUNIT_EXPECT_EQ(test, MLX5_GET(flow_context, flow, action),
				MLX5_FLOW_CONTEXT_ACTION_FWD_DEST);
		KUNIT_EXPECT_EQ(test, MLX5_GET(flow_context, flow, destination_list_size), 1);
		KUNIT_EXPECT_EQ(test, MLX5_GET(dest_format_struct, dest, destination_type),
				MLX5_IFC_FLOW_DESTINATION_TYPE_FLOW_TABLE);
		KUNIT_EXPECT_EQ(test, MLX5_GET(dest_format_struct, dest, destination_id),
				NEXT_TABLE);
		return PTR_ERR_OR_ZERO(core_create(0));
	case MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY:
		KUNIT_EXPECT_EQ(test, MLX5_GET(delete_fte_in, in, table_id), ANCHOR_TABLE);
		break;
	case MLX5_CMD_OP_DESTROY_FLOW_GROUP:
		KUNIT_EXPECT_EQ(test, MLX5_GET(destroy_flow_group_in, in, group_id), ANCHOR_GROUP);
		KUNIT_EXPECT_EQ(test, MLX5_GET(destroy_flow_group_in, in, table_id), ANCHOR_TABLE);
		break;
	case MLX5_CMD_OP_DESTROY_FLOW_TABLE:
		KUNIT_EXPECT_EQ(test, MLX5_GET(destroy_flow_table_in, in, table_id), ANCHOR_TABLE);
		break;
	default:
		KUNIT_FAIL(test, "command %#x", opcode);
	}
	st.live--;
	return 0;
}

static u32 core_table_id(struct mlx5_flow_table *table)
{
	return NEXT_TABLE;
}

static void start_anchors(struct kunit *test)
{
	FLOW_CAP(flow_table_properties_nic_receive.ignore_flow_level, 1);
	FLOW_CAP(flow_table_properties_nic_transmit.ignore_flow_level, 1);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, anchor_fw);
	kunit_activate_static_stub(test, mlx5_ib_fw_flow_table_id, core_table_id);
}

static void stop_anchors(struct kunit *test)
{
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
}

static void anchors_lead_to_a_priority(struct kunit *test)
{
	const u32 rx = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;
	struct mlx5_ib_flow_anchor *anchor;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(make_anchor(rx, 1)));
	start_anchors(test);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(make_anchor(rx, MLX5_IB_FLOW_PRIORITIES)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR_OR_ZERO(make_anchor(MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX, 1)));
	for (st.fail = 1; st.fail <= 4; st.fail++) {
		st.calls = 0;
		KUNIT_EXPECT_EQ(test, -EIO, PTR_ERR_OR_ZERO(make_anchor(rx, 1)));
		expect_nothing(test);
	}
	st.fail = 0;
	st.num_tables = 0;
	anchor = make_anchor(rx, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, anchor);
	KUNIT_EXPECT_EQ(test, st.live, 4);
	KUNIT_EXPECT_EQ(test, st.tables[0].table.prio, 3);
	KUNIT_EXPECT_EQ(test, st.tables[0].table.uid, 0);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_anchor(anchor, false));
	expect_nothing(test);
	st.table_type = MLX5_FLOW_TABLE_TYPE_NIC_TX;
	st.num_tables = 0;
	anchor = make_anchor(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, anchor);
	KUNIT_EXPECT_EQ(test, st.tables[0].table.prio, 1);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_anchor(anchor, true));
	stop_anchors(test);
}

/*
 * An entry of the process names the table of the anchor. The process can try again; when it has
 * closed the device the table is an orphan, which counts until firmware destroys the table.
 */
static void anchors_that_firmware_keeps_count(struct kunit *test)
{
	static const u16 opcodes[] = {
		MLX5_CMD_OP_DESTROY_FLOW_TABLE, MLX5_CMD_OP_DESTROY_FLOW_GROUP,
		MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY,
	};
	struct mlx5_ib_flow_anchor *anchor;
	unsigned int i;

	start_anchors(test);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		anchor = make_anchor(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 1);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, anchor);
		st.refuse = opcodes[i];
		st.refuse_err = -EBUSY;
		KUNIT_EXPECT_EQ(test, -EBUSY, mlx5_ib_destroy_flow_anchor(anchor, false));
		KUNIT_EXPECT_EQ(test, st.live, i + 2);
		KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 1);
		st.refuse = 0;
		KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_anchor(anchor, false));
		expect_nothing(test);
	}
	anchor = make_anchor(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, anchor);
	st.refuse = MLX5_CMD_OP_DESTROY_FLOW_TABLE;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_anchor(anchor, true));
	KUNIT_EXPECT_EQ(test, st.live, 1);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 1);
	KUNIT_EXPECT_FALSE(test, list_empty(&st.o->mock->context->orphans));
	st.refuse = 0;
	mlx5_ib_orphans_retry(st.o->mock->dev, st.o->mock->context);
	expect_nothing(test);
	stop_anchors(test);
}

/* The number of a table that may be gone may be that of a table of mlx5_core. */
static void lost_destruction_of_a_table_is_not_repeated(struct kunit *test)
{
	struct mlx5_ib_flow_anchor *anchor;

	start_anchors(test);
	anchor = make_anchor(MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, anchor);
	st.refuse = MLX5_CMD_OP_DESTROY_FLOW_TABLE;
	st.refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_destroy_flow_anchor(anchor, false));
	KUNIT_EXPECT_EQ(test, st.refusals, 1);
	KUNIT_EXPECT_EQ(test, num_counted(MLX5_IB_SHARE_FLOW), 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&st.o->mock->context->orphans));
	atomic_set(&st.o->mock->context->user->count[MLX5_IB_SHARE_FLOW], 0);
	st.live = 0;
	stop_anchors(test);
}

/* A device without tables for processes, or with an InfiniBand port, has no rules. */
static void some_devices_have_no_rules(struct kunit *test)
{
	struct mlx5_ib_dev *dev = st.o->mock->dev;

	mlx5_ib_cleanup_flow_tables(dev);
	st.has = ~BIT_ULL(MLX5_FLOW_NAMESPACE_BYPASS);
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_init_flow_tables(dev));
	KUNIT_EXPECT_FALSE(test, mlx5_ib_flow_is_supported(&dev->ib_dev));
	st.has = U64_MAX;
	dev->caps.ethernet = false;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_init_flow_tables(dev));
	KUNIT_EXPECT_FALSE(test, mlx5_ib_has_flows(dev));
	mlx5_ib_cleanup_flow_tables(dev);
	dev->caps.ethernet = true;
	KUNIT_EXPECT_EQ(test, 0, mlx5_ib_init_flow_tables(dev));
	KUNIT_EXPECT_TRUE(test, mlx5_ib_has_flows(dev));
}

static struct kunit_case flow_cases[] = {
	KUNIT_CASE_PARAM(rules_are_in_tables_of_their_kind, kind_gen_params),
	KUNIT_CASE_PARAM(failure_leaves_nothing, kind_gen_params),
	KUNIT_CASE_PARAM(rule_that_may_exist_counts, kind_gen_params),
	KUNIT_CASE_PARAM(rules_need_their_tables, kind_gen_params),
	KUNIT_CASE(wrong_rules_are_refused),
	KUNIT_CASE(rules_need_a_tir_that_exists),
	KUNIT_CASE(packets_are_dropped),
	KUNIT_CASE(a_priority_has_one_table),
	KUNIT_CASE(kept_tables_get_no_rules),
	KUNIT_CASE(kept_tables_are_destroyed_at_the_end),
	KUNIT_CASE(nothing_is_allocated_while_others_wait),
	KUNIT_CASE(a_user_has_a_limit_of_rules),
	KUNIT_CASE(rules_are_counted),
	KUNIT_CASE(failed_counters_leave_nothing),
	KUNIT_CASE_PARAM(wrong_counters_are_refused, req_gen_params),
	KUNIT_CASE(counters_need_the_capability),
	KUNIT_CASE_PARAM(built_rules_go_where_they_say, raw_gen_params),
	KUNIT_CASE(failed_built_rules_leave_nothing),
	KUNIT_CASE(wrong_matchers_are_refused),
	KUNIT_CASE(flow_counters_of_devx),
	KUNIT_CASE(headers_are_changed),
	KUNIT_CASE(packets_are_reformatted),
	KUNIT_CASE(rules_have_actions),
	KUNIT_CASE(anchors_lead_to_a_priority),
	KUNIT_CASE(anchors_that_firmware_keeps_count),
	KUNIT_CASE(lost_destruction_of_a_table_is_not_repeated),
	KUNIT_CASE(some_devices_have_no_rules),
	{}
};

static struct kunit_suite flow_suite = {
	.name = "bluebell_flow",
	.init = steering_init,
	.exit = steering_exit,
	.test_cases = flow_cases,
};

kunit_test_suite(flow_suite);
