/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of this directory share: the table of operations, the attributes of the device,
 * statistics, resource tracking, virtual functions, and a file in debugfs.
 */

#ifndef BLUEBELL_OPS_H
#define BLUEBELL_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_core_dev;
struct mlx5_ib_dev;
struct sk_buff;

/* ops.c */
extern const struct ib_device_ops mlx5_ib_dev_ops;
extern const struct ib_device_ops mlx5_ib_flow_dev_ops;
extern const struct uapi_definition mlx5_ib_defs[];

/* counters.c */
int mlx5_ib_init_counters(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_counters(struct mlx5_ib_dev *dev);

/* device.c */
extern const struct attribute_group mlx5_ib_attr_group;

int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw);
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props);
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str);
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev);

/* restrack.c */
int mlx5_ib_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int mlx5_ib_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int mlx5_ib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int mlx5_ib_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int mlx5_ib_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int mlx5_ib_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);
int mlx5_ib_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int mlx5_ib_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int mlx5_ib_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

/* vf.c */
int mlx5_ib_get_vf_config(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_info *info);
int mlx5_ib_get_vf_guid(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_guid *node_guid,
			struct ifla_vf_guid *port_guid);
int mlx5_ib_get_vf_stats(struct ib_device *ibdev, int vf, u32 port, struct ifla_vf_stats *stats);
int mlx5_ib_set_vf_guid(struct ib_device *ibdev, int vf, u32 port, u64 guid, int type);
int mlx5_ib_set_vf_link_state(struct ib_device *ibdev, int vf, u32 port, int state);

/* uar_debugfs.c */
int mlx5_ib_init_uar_debugfs(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_uar_debugfs(struct mlx5_ib_dev *dev);

/**
 * struct mlx5_ib_stage - a stage in which a device is set up and taken down
 * @name: what the stage sets up, for the log
 * @init: sets it up; if this fails, @init cleans up after itself. May be NULL
 * @cleanup: undoes @init. May be NULL
 * @without: what the device lacks if @init fails: set-up then goes on, and @cleanup, which is
 *	called all the same, does nothing. NULL if the device cannot be set up then
 */
struct mlx5_ib_stage {
	const char *name;
	int (*init)(struct mlx5_ib_dev *dev);
	void (*cleanup)(struct mlx5_ib_dev *dev);
	const char *without;
};

#if IS_ENABLED(CONFIG_KUNIT)
/* main.c */
const char *mlx5_ib_why_not(struct mlx5_core_dev *mdev);
void mlx5_ib_cleanup_stages(struct mlx5_ib_dev *dev, const struct mlx5_ib_stage *stages,
			    unsigned int num);
int mlx5_ib_init_stages(struct mlx5_ib_dev *dev, const struct mlx5_ib_stage *stages,
			unsigned int num);

/* uar_debugfs.c */
extern const struct seq_operations mlx5_ib_uars_sops;

/* vf.c */
int mlx5_ib_num_vfs(const struct mlx5_ib_dev *dev);
#endif

#endif /* BLUEBELL_OPS_H */
