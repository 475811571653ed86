/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queue pair of general services (GSI). Its operations, mlx5_ib_gsi_ops, are in qp.h.
 */

#ifndef BLUEBELL_GSI_H
#define BLUEBELL_GSI_H

#include <linux/notifier.h>

struct mlx5_ib_dev;

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_gsi_watch(struct mlx5_ib_dev *dev, struct notifier_block *events, bool on);
#endif

#endif /* BLUEBELL_GSI_H */
