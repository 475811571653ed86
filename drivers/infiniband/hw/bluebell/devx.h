/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ioctl methods of the library that are about UARs.
 */

#ifndef BLUEBELL_DEVX_H
#define BLUEBELL_DEVX_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition mlx5_ib_devx_defs[];

#endif /* BLUEBELL_DEVX_H */
