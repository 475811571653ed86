/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packet pacing: processes allocate rates, which are entries of a table in the device, for their
 * send queues.
 */

#ifndef BLUEBELL_PP_H
#define BLUEBELL_PP_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct mlx5_ib_pp;
struct mlx5_ib_ucontext;

extern const struct uapi_definition mlx5_ib_pp_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_ib_pp *mlx5_ib_pp_alloc(struct mlx5_ib_ucontext *context, void *rate, bool dedicated);
void mlx5_ib_pp_free(struct mlx5_ib_pp *pp);
#endif

#endif /* BLUEBELL_PP_H */
