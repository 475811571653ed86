/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow rules: from the specifications of verbs to the match criteria and values of the device. Pure
 * functions only.
 */

#ifndef BLUEBELL_LAYOUT_FLOW_H
#define BLUEBELL_LAYOUT_FLOW_H

#include <linux/mlx5/device.h>
#include <linux/mlx5/fs.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/* Priorities of rules: 0 is asked first. */
#define MLX5_IB_FLOW_PRIORITIES	MLX5_BY_PASS_NUM_REGULAR_PRIOS

/* Room of the table of a priority for the rules of all processes. */
#define MLX5_IB_FLOW_TABLE_ENTRIES	BIT(16)

/* SET_FLOW_TABLE_ENTRY with one destination. */
#define MLX5_IB_ANCHOR_ENTRY_BYTES	\
	(MLX5_ST_SZ_BYTES(set_fte_in) + MLX5_ST_SZ_BYTES(dest_format_struct))

/**
 * struct mlx5_ib_flow_rule - what a process asks of a flow rule
 * @spec: which packets the rule is for, and the tag in their completions
 * @drop: the device drops the packets
 * @counters: counts the packets; NULL if they are not counted
 */
struct mlx5_ib_flow_rule {
	struct mlx5_flow_spec spec;
	bool drop;
	struct ib_counters *counters;
};

/* Which of the packets that no other rule is for a default rule takes. */
enum mlx5_ib_flow_cast { MLX5_IB_FLOW_UNICAST, MLX5_IB_FLOW_MULTICAST };

int mlx5_ib_flow_read_specs(const struct ib_flow_attr *attr, struct mlx5_core_dev *mdev,
			    struct mlx5_ib_flow_rule *rule);
void mlx5_ib_flow_fill_default(struct mlx5_flow_spec *spec, enum mlx5_ib_flow_cast cast);
int mlx5_ib_flow_set_tag(struct mlx5_flow_spec *spec, u32 tag);
int mlx5_ib_flow_fill_mask(struct mlx5_flow_spec *spec, u8 enable, const void *mask, size_t len);
int mlx5_ib_flow_fill_value(struct mlx5_flow_spec *spec, const void *value, size_t len);
u32 mlx5_ib_flow_prio(u16 priority, bool dont_trap);
void mlx5_ib_fill_anchor_table(void *in, u8 table_type);
void mlx5_ib_fill_anchor_group(void *in, u8 table_type, u32 table);
void mlx5_ib_fill_anchor_entry(void *in, u8 table_type, u32 table, u32 group, u32 next);

#endif /* BLUEBELL_LAYOUT_FLOW_H */
