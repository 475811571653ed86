/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of the device to which processes can subscribe (DEVX): which object has raised an event,
 * and which processes may subscribe to the event.
 */

#ifndef BLUEBELL_LAYOUT_EVENT_H
#define BLUEBELL_LAYOUT_EVENT_H

#include <linux/mlx5/device.h>
#include <linux/types.h>

struct mlx5_core_dev;
struct mlx5_ib_devx_id;

/**
 * struct mlx5_ib_event_source - what an event is about
 * @type: MLX5_OBJ_TYPE_*; MLX5_OBJ_TYPE_RMP for an XRC SRQ, too, because the events of SRQs do not
 *	say of which type the SRQ is; 0 for the device as a whole
 * @num: number of the object; 0 for the device as a whole
 *
 * Used as the key of a hash table, so the struct must have no padding.
 */
struct mlx5_ib_event_source {
	u32 type;
	u32 num;
};

bool mlx5_ib_event_source_of(const struct mlx5_ib_devx_id *id, struct mlx5_ib_event_source *source);
int mlx5_ib_event_check(struct mlx5_core_dev *mdev, u16 type,
			const struct mlx5_ib_event_source *source, u32 rights);
bool mlx5_ib_event_read(struct mlx5_core_dev *mdev, const struct mlx5_eqe *eqe,
			struct mlx5_ib_event_source *source);

#endif /* BLUEBELL_LAYOUT_EVENT_H */
