/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server side of vfio-user: one socket, one client (QEMU), one function.
 */
#ifndef BLUEBELL_VFIO_USER_H
#define BLUEBELL_VFIO_USER_H

#include "hca.h"

/* Called when a client that had connected is gone. */
typedef void (*vfu_gone_fn)(struct hca *hca);

int vfu_listen(struct hca *hca, const char *path, vfu_gone_fn gone);
void vfu_close(struct hca *hca);

#endif
