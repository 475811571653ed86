/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that a process registers for its DEVX objects.
 */

#ifndef BLUEBELL_DEVX_UMEM_H
#define BLUEBELL_DEVX_UMEM_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct ib_umem;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;

/**
 * struct mlx5_ib_devx_umem - registered memory
 * @dev: device
 * @uid: user id of the process
 * @id: number of the umem in the device
 * @umem: the memory, pinned until the device has destroyed the umem
 * @destroy_failed: firmware has refused to destroy the umem
 *
 * Belongs to its handle, as struct mlx5_ib_devx_obj does.
 */
struct mlx5_ib_devx_umem {
	struct mlx5_ib_dev *dev;
	u16 uid;
	u32 id;
	struct ib_umem *umem;
	bool destroy_failed;
};

extern const struct uapi_definition mlx5_ib_devx_umem_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_ib_devx_umem *mlx5_ib_devx_create_umem(struct mlx5_ib_ucontext *context,
						   struct ib_umem *umem, u64 pgsz_bitmap);
int mlx5_ib_devx_destroy_umem(struct mlx5_ib_devx_umem *obj, bool last);
#endif

#endif /* BLUEBELL_DEVX_UMEM_H */
