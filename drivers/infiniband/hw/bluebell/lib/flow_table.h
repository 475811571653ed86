/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The flow tables in which the rules of processes are.
 */

#ifndef BLUEBELL_FLOW_TABLE_H
#define BLUEBELL_FLOW_TABLE_H

#include <linux/mlx5/fs.h>
#include <linux/mutex.h>
#include <linux/rbtree_types.h>

#include "fw/fw_flow.h"

struct mlx5_ib_dev;

/**
 * struct mlx5_ib_flow_tables - the flow tables of a device
 * @lock: guards @tables, and @refs of each table. Held across the command that creates or destroys
 *	a table, so that a priority has only one table, and a rule is not added to a table that is
 *	being destroyed. A task waits behind one creation or destruction of each task that got the
 *	lock before it
 * @tables: struct mlx5_ib_flow_table by @key
 */
struct mlx5_ib_flow_tables {
	struct mutex lock;	/* guards tables, and refs of each */
	struct rb_root tables;
};

/**
 * struct mlx5_ib_flow_table - the table of a priority in a namespace
 * @node: in @tables of struct mlx5_ib_flow_tables
 * @key: namespace and priority
 * @refs: number of rules and anchors of processes; 0 for a table that mlx5_core could not destroy
 * @core: the table in mlx5_core
 */
struct mlx5_ib_flow_table {
	struct rb_node node;
	unsigned long key;
	unsigned int refs;
	struct mlx5_flow_table *core;
};

/**
 * struct mlx5_ib_flow_entry - a rule in a table
 * @table: the table, with a reference
 * @rule: the rule in mlx5_core
 */
struct mlx5_ib_flow_entry {
	struct mlx5_ib_flow_table *table;
	struct mlx5_flow_handle *rule;
};

bool mlx5_ib_has_flows(struct mlx5_ib_dev *dev);
bool mlx5_ib_has_flow_namespace(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type);
struct mlx5_ib_flow_table *mlx5_ib_flow_table_get(struct mlx5_ib_dev *dev,
						  enum mlx5_flow_namespace_type type, u32 prio);
void mlx5_ib_flow_table_put(struct mlx5_ib_dev *dev, struct mlx5_ib_flow_table *table);
int mlx5_ib_flow_entry_add(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type, u32 prio,
			   const struct mlx5_flow_spec *spec, struct mlx5_ib_flow_target *target,
			   struct mlx5_ib_flow_entry *entry);
void mlx5_ib_flow_entry_del(struct mlx5_ib_dev *dev, struct mlx5_ib_flow_entry *entry);
int mlx5_ib_init_flow_tables(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_flow_tables(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_FLOW_TABLE_H */
