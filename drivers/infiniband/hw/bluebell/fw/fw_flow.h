/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of flow steering. mlx5_core builds them, because it has the tables of flow rules.
 */

#ifndef BLUEBELL_FW_FLOW_H
#define BLUEBELL_FW_FLOW_H

#include <linux/mlx5/fs.h>
#include <linux/types.h>

struct mlx5_ib_dev;

/**
 * struct mlx5_ib_flow_target - what the device does with the packets of a flow rule
 * @act: actions; mlx5_core may change it
 * @dest: where the packets go, and the counters that count them
 * @num: number of elements of @dest
 */
struct mlx5_ib_flow_target {
	struct mlx5_flow_act act;
	struct mlx5_flow_destination dest[2];
	int num;
};

struct mlx5_flow_namespace *mlx5_ib_fw_flow_namespace(struct mlx5_ib_dev *dev,
						      enum mlx5_flow_namespace_type type);
struct mlx5_flow_table *mlx5_ib_fw_create_flow_table(struct mlx5_ib_dev *dev,
						     struct mlx5_flow_namespace *ns,
						     struct mlx5_flow_table_attr *attr);
u32 mlx5_ib_fw_flow_table_id(struct mlx5_flow_table *table);
int mlx5_ib_fw_destroy_flow_table(struct mlx5_ib_dev *dev, struct mlx5_flow_table *table);
struct mlx5_flow_handle *mlx5_ib_fw_add_flow_rule(struct mlx5_ib_dev *dev,
						  struct mlx5_flow_table *table,
						  const struct mlx5_flow_spec *spec,
						  struct mlx5_ib_flow_target *target);
void mlx5_ib_fw_del_flow_rule(struct mlx5_ib_dev *dev, struct mlx5_flow_handle *rule);
struct mlx5_fc *mlx5_ib_fw_create_flow_counter(struct mlx5_ib_dev *dev);
void mlx5_ib_fw_destroy_flow_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc);
int mlx5_ib_fw_query_flow_counter(struct mlx5_ib_dev *dev, struct mlx5_fc *fc, u64 *packets,
				  u64 *bytes);
struct mlx5_modify_hdr *mlx5_ib_fw_alloc_modify_header(struct mlx5_ib_dev *dev,
						       enum mlx5_flow_namespace_type ns, u8 num,
						       void *actions);
void mlx5_ib_fw_dealloc_modify_header(struct mlx5_ib_dev *dev, struct mlx5_modify_hdr *hdr);
struct mlx5_pkt_reformat *mlx5_ib_fw_alloc_reformat(struct mlx5_ib_dev *dev,
						    enum mlx5_flow_namespace_type ns,
						    struct mlx5_pkt_reformat_params *params);
void mlx5_ib_fw_dealloc_reformat(struct mlx5_ib_dev *dev, struct mlx5_pkt_reformat *reformat);

#endif /* BLUEBELL_FW_FLOW_H */
