/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands that destroy objects, several of which are in flight together.
 */

#ifndef BLUEBELL_FW_BATCH_H
#define BLUEBELL_FW_BATCH_H

#include <linux/types.h>

struct mlx5_ib_dev;
struct mlx5_ib_fw_batch;

/*
 * Takes the result of a command, for @object of mlx5_ib_fw_batch_destroy(): 0; -EREMOTEIO if
 * firmware has refused to destroy the object; or the errno of a command that was not sent or not
 * answered. May sleep.
 */
typedef void (*mlx5_ib_fw_batch_done_t)(struct mlx5_ib_dev *dev, void *object, int err);

struct mlx5_ib_fw_batch *mlx5_ib_fw_batch_alloc(struct mlx5_ib_dev *dev);
void mlx5_ib_fw_batch_destroy(struct mlx5_ib_fw_batch *batch, u16 uid, u16 opcode, u32 number,
			      mlx5_ib_fw_batch_done_t done, void *object);
void mlx5_ib_fw_batch_wait(struct mlx5_ib_fw_batch *batch);
void mlx5_ib_fw_batch_free(struct mlx5_ib_fw_batch *batch);

#endif /* BLUEBELL_FW_BATCH_H */
