/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UAR objects of the ioctl interface.
 */

#ifndef BLUEBELL_UAR_OBJ_H
#define BLUEBELL_UAR_OBJ_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition mlx5_ib_uar_defs[];

#endif /* BLUEBELL_UAR_OBJ_H */
