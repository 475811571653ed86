// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The flow tables in which the rules of processes are.
 */

/**
 * DOC: Flow tables
 *
 * mlx5_core puts all flow tables of a kind into one order: namespaces, and in a namespace the
 * priorities. A received packet passes the tables of processes (namespace BYPASS) before those of
 * ethtool, of tc and of the network device, and then the tables for what is left (LEFTOVERS). So a
 * rule of a process takes packets from the network device. The packets that the device receives and
 * sends for RDMA pass tables of their own, and so do all packets that the network device sends.
 *
 * A priority gets a table when the first rule is added, and loses it with the last rule. Processes
 * share the table: rules for the same packets in one table are one entry of the device, which
 * copies a packet to the destinations of all of them.
 *
 * If firmware refuses or does not answer a command by which mlx5_core takes a table out of the
 * order, mlx5_core keeps the table. Some packets may then pass the table and others may not, so the
 * driver adds no rules to it. The next rule of the priority tries again to destroy the table, and
 * so does the driver when it is unbound.
 *
 * A table has groups: entries with the same criteria. mlx5_core gives large groups to the first
 * MAX_GROUPS different criteria, and groups of one entry to all further criteria.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/eswitch.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "fw/bluebell.h"
#include "fw/fw_flow.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/flow_table.h"

/* Large groups of a table: of rules with different criteria. */
#define MAX_GROUPS	6

/* LEFTOVERS has one priority, with an entry for unicast and one for multicast packets. */
#define DEFAULT_ENTRIES	2
/* A sniffer takes all packets: one entry. */
#define SNIFFER_ENTRIES	1

/* Priorities in the key of a table. */
#define KEY_SHIFT	8
#define KEY_PRIO	(BIT(KEY_SHIFT) - 1)

/**
 * mlx5_ib_has_flow_namespace - whether the device has tables of a kind
 * @dev: device
 * @type: kind of tables
 *
 * Return: true if a process can have rules in such tables.
 */
bool mlx5_ib_has_flow_namespace(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type)
{
	return mlx5_ib_fw_flow_namespace(dev, type);
}

/**
 * mlx5_ib_has_flows - whether processes can have flow rules
 * @dev: device
 *
 * Return: true if the device has an Ethernet port, and tables of processes before those of the
 * network device.
 */
bool mlx5_ib_has_flows(struct mlx5_ib_dev *dev)
{
	return dev->flow_tables;
}

/* Whether rules in the tables may put headers around packets, or take headers off. */
static u32 flow_table_flags(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type type)
{
	bool none = mlx5_eswitch_get_encap_mode(mdev) == DEVLINK_ESWITCH_ENCAP_MODE_NONE;

	if (type == MLX5_FLOW_NAMESPACE_EGRESS && none)
		return MLX5_CAP_FLOWTABLE_NIC_TX(mdev, reformat) ?
		       MLX5_FLOW_TABLE_TUNNEL_EN_REFORMAT : 0;
	if (type != MLX5_FLOW_NAMESPACE_BYPASS || !none)
		return 0;
	return (MLX5_CAP_FLOWTABLE_NIC_RX(mdev, decap) ? MLX5_FLOW_TABLE_TUNNEL_EN_DECAP : 0) |
	       (MLX5_CAP_FLOWTABLE_NIC_RX(mdev, reformat_l3_tunnel_to_l2) ?
		MLX5_FLOW_TABLE_TUNNEL_EN_REFORMAT : 0);
}

static u32 flow_log_max_size(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type type)
{
	switch (type) {
	case MLX5_FLOW_NAMESPACE_EGRESS:
		return MLX5_CAP_FLOWTABLE_NIC_TX(mdev, log_max_ft_size);
	case MLX5_FLOW_NAMESPACE_RDMA_RX:
		return MLX5_CAP_FLOWTABLE_RDMA_RX(mdev, log_max_ft_size);
	case MLX5_FLOW_NAMESPACE_RDMA_TX:
		return MLX5_CAP_FLOWTABLE_RDMA_TX(mdev, log_max_ft_size);
	default:
		return MLX5_CAP_FLOWTABLE_NIC_RX(mdev, log_max_ft_size);
	}
}

static void flow_table_fill(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type type,
			    struct mlx5_flow_table_attr *attr)
{
	switch (type) {
	case MLX5_FLOW_NAMESPACE_LEFTOVERS:
		attr->max_fte = DEFAULT_ENTRIES;
		attr->autogroup.max_num_groups = 1;
		return;
	case MLX5_FLOW_NAMESPACE_SNIFFER_RX:
	case MLX5_FLOW_NAMESPACE_SNIFFER_TX:
		attr->max_fte = SNIFFER_ENTRIES;
		attr->autogroup.max_num_groups = 1;
		return;
	default:
		attr->max_fte = min(MLX5_IB_FLOW_TABLE_ENTRIES, BIT(flow_log_max_size(mdev, type)));
		attr->autogroup.max_num_groups = MAX_GROUPS;
		attr->flags = flow_table_flags(mdev, type);
	}
}

static struct mlx5_ib_flow_table *to_table(const struct rb_node *node)
{
	return rb_entry(node, struct mlx5_ib_flow_table, node);
}

static int flow_table_cmp(const void *key, const struct rb_node *node)
{
	return cmp_int(*(const unsigned long *)key, to_table(node)->key);
}

static bool flow_table_less(struct rb_node *added, const struct rb_node *node)
{
	return to_table(added)->key < to_table(node)->key;
}

static struct mlx5_ib_flow_table *flow_table_find(struct mlx5_ib_flow_tables *tables,
						  unsigned long key)
{
	struct rb_node *node;

	lockdep_assert_held(&tables->lock);
	node = rb_find(&key, &tables->tables, flow_table_cmp);
	return node ? to_table(node) : NULL;
}

/* Create the table of a priority at the device. */
static int flow_table_create(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type, u32 prio,
			     struct mlx5_ib_flow_table *table)
{
	struct mlx5_flow_namespace *ns = mlx5_ib_fw_flow_namespace(dev, type);
	struct mlx5_flow_table_attr attr = { .prio = prio };

	lockdep_assert_held(&dev->flow_tables->lock);
	if (!ns)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "flow rule in namespace %u, which the device does not offer", type);
	flow_table_fill(dev->mdev, type, &attr);
	table->core = mlx5_ib_fw_create_flow_table(dev, ns, &attr);
	if (IS_ERR(table->core))
		return PTR_ERR(table->core);
	table->refs = 1;
	rb_add(&table->node, &dev->flow_tables->tables, flow_table_less);
	return 0;
}

/* Destroy a table without rules. If this fails, mlx5_core and the driver keep it. */
static int flow_table_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_flow_table *table)
{
	int err;

	lockdep_assert_held(&dev->flow_tables->lock);
	WARN_ON_ONCE(table->refs);
	err = mlx5_ib_fw_destroy_flow_table(dev, table->core);
	if (err) {
		ibdev_err_ratelimited(&dev->ib_dev,
				      "cannot destroy the flow table of namespace %lu, priority %lu (%d): the next rule there tries again\n",
				      table->key >> KEY_SHIFT, table->key & KEY_PRIO, err);
		return err;
	}
	rb_erase(&table->node, &dev->flow_tables->tables);
	kfree(table);
	return 0;
}

/**
 * mlx5_ib_flow_table_get - find the table of a priority, or create it
 * @dev: device
 * @type: kind of tables
 * @prio: priority
 *
 * May sleep.
 *
 * Return: the table, with a reference that mlx5_ib_flow_table_put() puts; or an ERR_PTR:
 * -EOPNOTSUPP if the device has no such tables, -ENOMEM, or the errno of a failed command, perhaps
 * of one that was to destroy an earlier table of the priority.
 */
struct mlx5_ib_flow_table *mlx5_ib_flow_table_get(struct mlx5_ib_dev *dev,
						  enum mlx5_flow_namespace_type type, u32 prio)
{
	/* Allocate before taking the lock: a process whose cgroup is full waits for memory. */
	struct mlx5_ib_flow_table *fresh __free(kfree) = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_flow_tables *tables = dev->flow_tables;
	struct mlx5_ib_flow_table *table;
	int err;

	WARN_ON_ONCE(prio >> KEY_SHIFT);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	fresh->key = (unsigned long)type << KEY_SHIFT | prio;
	guard(mutex)(&tables->lock);
	table = flow_table_find(tables, fresh->key);
	if (table && table->refs) {
		table->refs++;
		return table;
	}
	err = (table ? flow_table_destroy(dev, table) : 0) ?:
	      flow_table_create(dev, type, prio, fresh);
	return err ? ERR_PTR(err) : no_free_ptr(fresh);
}

/**
 * mlx5_ib_flow_table_put - put a reference to a table
 * @dev: device
 * @table: the table, which is destroyed with the last reference, or as soon as that is possible
 *
 * May sleep.
 */
void mlx5_ib_flow_table_put(struct mlx5_ib_dev *dev, struct mlx5_ib_flow_table *table)
{
	guard(mutex)(&dev->flow_tables->lock);
	WARN_ON_ONCE(!table->refs);
	if (!--table->refs)
		flow_table_destroy(dev, table);
}

/**
 * mlx5_ib_flow_entry_add - add a rule to the table of a priority
 * @dev: device
 * @type: kind of tables
 * @prio: priority
 * @spec: which packets the rule is for
 * @target: what the device does with the packets
 * @entry: gets the rule
 *
 * May sleep.
 *
 * Return: 0, or the errno of mlx5_ib_flow_table_get() or of mlx5_ib_fw_add_flow_rule().
 */
int mlx5_ib_flow_entry_add(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type, u32 prio,
			   const struct mlx5_flow_spec *spec, struct mlx5_ib_flow_target *target,
			   struct mlx5_ib_flow_entry *entry)
{
	struct mlx5_ib_flow_table *table = mlx5_ib_flow_table_get(dev, type, prio);

	if (IS_ERR(table))
		return PTR_ERR(table);
	entry->rule = mlx5_ib_fw_add_flow_rule(dev, table->core, spec, target);
	entry->table = table;
	if (!IS_ERR(entry->rule))
		return 0;
	mlx5_ib_flow_table_put(dev, table);
	return PTR_ERR(entry->rule);
}

/**
 * mlx5_ib_flow_entry_del - remove a rule from its table
 * @dev: device
 * @entry: the rule
 *
 * May sleep.
 */
void mlx5_ib_flow_entry_del(struct mlx5_ib_dev *dev, struct mlx5_ib_flow_entry *entry)
{
	mlx5_ib_fw_del_flow_rule(dev, entry->rule);
	mlx5_ib_flow_table_put(dev, entry->table);
}

/**
 * mlx5_ib_init_flow_tables - set up flow tables, if the device has tables of processes
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_flow_tables(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_flow_tables *tables;

	if (!dev->caps.ethernet || !mlx5_ib_has_flow_namespace(dev, MLX5_FLOW_NAMESPACE_BYPASS))
		return 0;
	tables = kzalloc_obj(*tables, GFP_KERNEL);
	if (!tables)
		return -ENOMEM;
	mutex_init(&tables->lock);
	tables->tables = RB_ROOT;
	dev->flow_tables = tables;
	return 0;
}

/* Destroy the tables that could not be destroyed with their last rules, or leave them behind. */
static void flow_tables_drop(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_flow_tables *tables = dev->flow_tables;
	struct mlx5_ib_flow_table *table, *next;

	guard(mutex)(&tables->lock);
	rbtree_postorder_for_each_entry_safe(table, next, &tables->tables, node) {
		WARN_ON_ONCE(table->refs);
		if (mlx5_ib_fw_destroy_flow_table(dev, table->core))
			ibdev_err(&dev->ib_dev,
				  "mlx5_core keeps the flow table of namespace %lu, priority %lu: until the device is reset, rules there may get no packets\n",
				  table->key >> KEY_SHIFT, table->key & KEY_PRIO);
		kfree(table);
	}
	tables->tables = RB_ROOT;
}

/**
 * mlx5_ib_cleanup_flow_tables - free what mlx5_ib_init_flow_tables() has set up
 * @dev: device, which has no flow rules any more
 *
 * mlx5_core destroys a table that cannot be destroyed now when it takes the device down. May sleep.
 */
void mlx5_ib_cleanup_flow_tables(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_flow_tables *tables = dev->flow_tables;

	if (!tables)
		return;
	flow_tables_drop(dev);
	mutex_destroy(&tables->lock);
	kfree(tables);
	dev->flow_tables = NULL;
}
