/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DEVX: the methods of the ioctl object MLX5_IB_OBJECT_DEVX. User ids are in uctx.c, the objects
 * of users are in devx_obj.c, their memory is in devx_umem.c.
 */

#ifndef BLUEBELL_DEVX_H
#define BLUEBELL_DEVX_H

#include <linux/mlx5/device.h>
#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

#include "layout/layout_devx.h"

struct mlx5_ib_ucontext;

/* Attributes of a method: a command, and its answer. Each is at least as long as its header. */
#define MLX5_IB_DEVX_CMD_IN(attr)	UVERBS_ATTR_PTR_IN(attr, \
		UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)), \
		UA_MANDATORY, UA_ALLOC_AND_COPY)
#define MLX5_IB_DEVX_CMD_OUT(attr)	UVERBS_ATTR_PTR_OUT(attr, \
		UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr)), UA_MANDATORY)

/*
 * The handle of an object, for methods that query or change the object. Even the methods that
 * change the object lock the handle for reading only (UVERBS_ACCESS_READ), so that several can run
 * at a time: their commands change no state of the driver, and firmware orders the commands.
 */
#define MLX5_IB_DEVX_ANY_OBJECT(attr) \
	UVERBS_ATTR_IDR(attr, UVERBS_IDR_ANY_OBJECT, UVERBS_ACCESS_READ, UA_MANDATORY)

extern const struct uapi_definition mlx5_ib_devx_defs[];

int mlx5_ib_devx_check(const struct mlx5_ib_ucontext *context, const void *in, size_t in_len,
		       enum mlx5_ib_devx_use use, const struct mlx5_ib_devx_cmd **cmd);
int mlx5_ib_devx_answer(struct uverbs_attr_bundle *attrs, u16 attr, const void *out, int out_len,
			int err);

#endif /* BLUEBELL_DEVX_H */
