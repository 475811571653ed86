/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The performance management agent of the switch.
 */
#ifndef BLUEBELL_SWITCH_PERF_H
#define BLUEBELL_SWITCH_PERF_H

#include <stdint.h>

struct gsi_peer;
struct switch_node;

void switch_perf_receive(struct switch_node *sw, const struct gsi_peer *from, const uint8_t *mad);

#endif
