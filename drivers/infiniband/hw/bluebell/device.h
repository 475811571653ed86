/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The attributes of the device.
 */

#ifndef BLUEBELL_DEVICE_H
#define BLUEBELL_DEVICE_H

#include <rdma/ib_verbs.h>

struct mlx5_ib_dev;

extern const struct attribute_group mlx5_ib_attr_group;

int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw);
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props);
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str);
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_DEVICE_H */
