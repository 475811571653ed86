/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Events of the device and its port.
 */

#ifndef BLUEBELL_EVENT_H
#define BLUEBELL_EVENT_H

struct notifier_block;

int mlx5_ib_event(struct notifier_block *nb, unsigned long event, void *data);

#endif /* BLUEBELL_EVENT_H */
