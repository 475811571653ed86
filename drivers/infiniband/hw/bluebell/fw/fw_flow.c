// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of flow steering. mlx5_core builds them, because it has the tables of flow rules, and
 * puts the rules of processes, of the network device and of tc into one order.
 *
 * If firmware refuses to delete a rule, a table or a counter, mlx5_core logs it and forgets the
 * object, so the functions that delete do not fail. Only a table may be kept: before mlx5_core
 * destroys the table, it has the tables of the priorities before send packets to the table after.
 */

#include <kunit/static_stub.h>
#include <linux/err.h>
#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "fw/fw_flow.h"

/* Arguments of a function of mlx5_core, and its result. */
struct fw_flow {
	struct mlx5_flow_namespace *ns;
	struct mlx5_flow_table_attr *attr;
	struct mlx5_flow_table *table;
	const struct mlx5_flow_spec *spec;
	struct mlx5_ib_flow_target *target;
	struct mlx5_flow_handle *rule;
	struct mlx5_fc *fc;
	u64 *packets;
	u64 *bytes;
	enum mlx5_flow_namespace_type type;
	void *actions;
	u8 num_actions;
	struct mlx5_modify_hdr *hdr;
	struct mlx5_pkt_reformat_params *params;
	struct mlx5_pkt_reformat *reformat;
};

/**
 * mlx5_ib_fw_flow_namespace - find a kind of tables
 * @dev: device
 * @type: kind of tables
 *
 * KUnit suites stub this function and the others of this file, because their device has no tables
 * of mlx5_core. Any context.
 *
 * Return: the namespace, or NULL if the device has no such tables.
 */
struct mlx5_flow_namespace *mlx5_ib_fw_flow_namespace(struct mlx5_ib_dev *dev,
						      enum mlx5_flow_namespace_type type)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_flow_namespace, dev, type);
	return mlx5_get_flow_namespace(dev->mdev, type);
}

static int fw_core_create_table(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	flow->table = mlx5_create_auto_grouped_flow_table(flow->ns, flow->attr);
	return PTR_ERR_OR_ZERO(flow->table);
}

/**
 * mlx5_ib_fw_create_flow_table - CREATE_FLOW_TABLE
 * @dev: device
 * @ns: namespace of the table
 * @attr: priority, size and number of groups; mlx5_core may change it
 *
 * May sleep.
 *
 * Return: the table or an ERR_PTR.
 */
struct mlx5_flow_table *mlx5_ib_fw_create_flow_table(struct mlx5_ib_dev *dev,
						     struct mlx5_flow_namespace *ns,
						     struct mlx5_flow_table_attr *attr)
{
	struct fw_flow flow = { .ns = ns, .attr = attr };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_create_flow_table, dev, ns, attr);
	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_CREATE_FLOW_TABLE, fw_core_create_table, &flow);
	return err ? ERR_PTR(err) : flow.table;
}

/**
 * mlx5_ib_fw_flow_table_id - look up the number of a table of mlx5_core
 * @table: the table
 *
 * Any context.
 *
 * Return: the number that commands name the table by.
 */
u32 mlx5_ib_fw_flow_table_id(struct mlx5_flow_table *table)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_flow_table_id, table);
	return mlx5_flow_table_id(table);
}

static int fw_core_destroy_table(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	return mlx5_destroy_flow_table(flow->table);
}

/**
 * mlx5_ib_fw_destroy_flow_table - DESTROY_FLOW_TABLE, after MODIFY_FLOW_TABLE of the tables before
 * @dev: device
 * @table: the table, which has no rules
 *
 * May sleep.
 *
 * Return: 0; or the errno of a MODIFY_FLOW_TABLE that firmware has refused or not answered. Then
 * the table still exists, in mlx5_core too, but perhaps no packets come to it any more. The caller
 * may try again.
 */
int mlx5_ib_fw_destroy_flow_table(struct mlx5_ib_dev *dev, struct mlx5_flow_table *table)
{
	struct fw_flow flow = { .table = table };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_destroy_flow_table, dev, table);
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DESTROY_FLOW_TABLE, fw_core_destroy_table,
				    &flow);
}

static int fw_core_add_rule(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
			    void *arg)
{
	struct fw_flow *flow = arg;
	struct mlx5_ib_flow_target *target = flow->target;

	flow->rule = mlx5_add_flow_rules(flow->table, flow->spec, &target->act,
					 target->num ? target->dest : NULL, target->num);
	return PTR_ERR_OR_ZERO(flow->rule);
}

/**
 * mlx5_ib_fw_add_flow_rule - SET_FLOW_TABLE_ENTRY, after CREATE_FLOW_GROUP if need be
 * @dev: device
 * @table: the table
 * @spec: which packets the rule is for
 * @target: what the device does with the packets
 *
 * If the table has a rule for the same packets already, the packets go to the destinations of both.
 * May sleep.
 *
 * Return: the rule, or an ERR_PTR: -EEXIST if the other rule has another tag, or does something
 * else with the packets; -ENOSPC if the table is full; or the errno of a failed command.
 */
struct mlx5_flow_handle *mlx5_ib_fw_add_flow_rule(struct mlx5_ib_dev *dev,
						  struct mlx5_flow_table *table,
						  const struct mlx5_flow_spec *spec,
						  struct mlx5_ib_flow_target *target)
{
	struct fw_flow flow = { .table = table, .spec = spec, .target = target };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_add_flow_rule, dev, table, spec, target);
	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, fw_core_add_rule, &flow);
	return err ? ERR_PTR(err) : flow.rule;
}

static int fw_core_del_rule(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
			    void *arg)
{
	struct fw_flow *flow = arg;

	mlx5_del_flow_rules(flow->rule);
	return 0;
}

/**
 * mlx5_ib_fw_del_flow_rule - DELETE_FLOW_TABLE_ENTRY, and DESTROY_FLOW_GROUP after its last rule
 * @dev: device
 * @rule: the rule
 *
 * May sleep.
 */
void mlx5_ib_fw_del_flow_rule(struct mlx5_ib_dev *dev, struct mlx5_flow_handle *rule)
{
	struct fw_flow flow = { .rule = rule };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_del_flow_rule, dev, rule);
	mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, fw_core_del_rule, &flow);
}

static int fw_core_create_counter(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				  int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	flow->fc = mlx5_fc_create(dev->mdev, false);
	return PTR_ERR_OR_ZERO(flow->fc);
}

/**
 * mlx5_ib_fw_create_flow_counter - ALLOC_FLOW_COUNTER
 * @dev: device
 *
 * mlx5_core may take the counter from a bulk that it has allocated. May sleep.
 *
 * Return: the counter, which is 0, or an ERR_PTR.
 */
struct mlx5_fc *mlx5_ib_fw_create_flow_counter(struct mlx5_ib_dev *dev)
{
	struct fw_flow flow = {};
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_create_flow_counter, dev);
	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_ALLOC_FLOW_COUNTER, fw_core_create_counter,
				   &flow);
	return err ? ERR_PTR(err) : flow.fc;
}

static int fw_core_destroy_counter(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				   int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	mlx5_fc_destroy(dev->mdev, flow->fc);
	return 0;
}

/**
 * mlx5_ib_fw_destroy_flow_counter - DEALLOC_FLOW_COUNTER
 * @dev: device
 * @fc: the counter, which no rule has any more
 *
 * May sleep.
 */
void mlx5_ib_fw_destroy_flow_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc)
{
	struct fw_flow flow = { .fc = fc };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_destroy_flow_counter, dev, fc);
	mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DEALLOC_FLOW_COUNTER, fw_core_destroy_counter, &flow);
}

static int fw_core_query_counter(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	return mlx5_fc_query(dev->mdev, flow->fc, flow->packets, flow->bytes);
}

/**
 * mlx5_ib_fw_query_flow_counter - QUERY_FLOW_COUNTER
 * @dev: device
 * @fc: the counter
 * @packets: gets the number of packets since the counter was created
 * @bytes: gets the number of bytes
 *
 * May sleep.
 *
 * Return: 0 or the errno of a failed command.
 */
int mlx5_ib_fw_query_flow_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc, u64 *packets,
				  u64 *bytes)
{
	struct fw_flow flow = { .fc = fc, .packets = packets, .bytes = bytes };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_query_flow_counter, dev, fc, packets, bytes);
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_QUERY_FLOW_COUNTER, fw_core_query_counter,
				    &flow);
}

static int fw_core_alloc_header(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	flow->hdr = mlx5_modify_header_alloc(dev->mdev, flow->type, flow->num_actions,
					     flow->actions);
	return PTR_ERR_OR_ZERO(flow->hdr);
}

/**
 * mlx5_ib_fw_alloc_modify_header - ALLOC_MODIFY_HEADER_CONTEXT
 * @dev: device
 * @ns: namespace of the rules that will have the action
 * @num: number of changes
 * @actions: the changes, union mlx5_ifc_set_add_copy_action_in_auto_bits
 *
 * May sleep.
 *
 * Return: the object or an ERR_PTR.
 */
struct mlx5_modify_hdr *mlx5_ib_fw_alloc_modify_header(struct mlx5_ib_dev *dev,
						       enum mlx5_flow_namespace_type ns, u8 num,
						       void *actions)
{
	struct fw_flow flow = { .type = ns, .actions = actions, .num_actions = num };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_alloc_modify_header, dev, ns, num, actions);
	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_ALLOC_MODIFY_HEADER_CONTEXT,
				   fw_core_alloc_header, &flow);
	return err ? ERR_PTR(err) : flow.hdr;
}

static int fw_core_dealloc_header(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				  int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	mlx5_modify_header_dealloc(dev->mdev, flow->hdr);
	return 0;
}

/**
 * mlx5_ib_fw_dealloc_modify_header - DEALLOC_MODIFY_HEADER_CONTEXT
 * @dev: device
 * @hdr: the object, which no rule has any more
 *
 * May sleep.
 */
void mlx5_ib_fw_dealloc_modify_header(struct mlx5_ib_dev *dev, struct mlx5_modify_hdr *hdr)
{
	struct fw_flow flow = { .hdr = hdr };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_dealloc_modify_header, dev, hdr);
	mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DEALLOC_MODIFY_HEADER_CONTEXT,
			     fw_core_dealloc_header, &flow);
}

static int fw_core_alloc_reformat(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				  int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	flow->reformat = mlx5_packet_reformat_alloc(dev->mdev, flow->params, flow->type);
	return PTR_ERR_OR_ZERO(flow->reformat);
}

/**
 * mlx5_ib_fw_alloc_reformat - ALLOC_PACKET_REFORMAT_CONTEXT
 * @dev: device
 * @ns: namespace of the rules that will have the action
 * @params: how packets change
 *
 * May sleep.
 *
 * Return: the object or an ERR_PTR.
 */
struct mlx5_pkt_reformat *mlx5_ib_fw_alloc_reformat(struct mlx5_ib_dev *dev,
						    enum mlx5_flow_namespace_type ns,
						    struct mlx5_pkt_reformat_params *params)
{
	struct fw_flow flow = { .type = ns, .params = params };
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_alloc_reformat, dev, ns, params);
	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_ALLOC_PACKET_REFORMAT_CONTEXT,
				   fw_core_alloc_reformat, &flow);
	return err ? ERR_PTR(err) : flow.reformat;
}

static int fw_core_dealloc_reformat(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				    int out_size, void *arg)
{
	struct fw_flow *flow = arg;

	mlx5_packet_reformat_dealloc(dev->mdev, flow->reformat);
	return 0;
}

/**
 * mlx5_ib_fw_dealloc_reformat - DEALLOC_PACKET_REFORMAT_CONTEXT
 * @dev: device
 * @reformat: the object, which no rule has any more
 *
 * May sleep.
 */
void mlx5_ib_fw_dealloc_reformat(struct mlx5_ib_dev *dev, struct mlx5_pkt_reformat *reformat)
{
	struct fw_flow flow = { .reformat = reformat };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_dealloc_reformat, dev, reformat);
	mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DEALLOC_PACKET_REFORMAT_CONTEXT,
			     fw_core_dealloc_reformat, &flow);
}
