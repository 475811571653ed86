/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs of the driver as ib_core has them, for KUnit suites that call ib_core.
 */

#ifndef BLUEBELL_MAIN_H
#define BLUEBELL_MAIN_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops mlx5_ib_dev_ops;

#endif /* BLUEBELL_MAIN_H */
