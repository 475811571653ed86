/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of processes, pinned for the device.
 */

#ifndef BLUEBELL_UMEM_H
#define BLUEBELL_UMEM_H

#include <linux/types.h>

struct ib_umem;
struct mlx5_ib_dev;

struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access);
void mlx5_ib_undo_pin(struct ib_umem *umem, int err);

#endif /* BLUEBELL_UMEM_H */
