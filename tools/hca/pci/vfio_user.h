/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The server side of vfio-user: one socket, one client (QEMU), one HCA.
 */
#ifndef BLUEBELL_VFIO_USER_H
#define BLUEBELL_VFIO_USER_H

struct hca;
struct irq_ops;

/* Called when a client that had connected is gone. */
typedef void (*vfu_gone_fn)(struct hca *hca, void *arg);

int vfu_listen(struct hca *hca, const char *path, vfu_gone_fn gone, void *arg);
void vfu_close(struct hca *hca);

extern const struct irq_ops vfu_irq_ops;

#endif
