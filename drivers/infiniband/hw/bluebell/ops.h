/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the RDMA core calls.
 */

#ifndef BLUEBELL_OPS_H
#define BLUEBELL_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

extern const struct ib_device_ops mlx5_ib_dev_ops;
extern const struct uapi_definition mlx5_ib_defs[];

#endif /* BLUEBELL_OPS_H */
