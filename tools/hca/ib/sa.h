/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Subnet administration at the switch's port 0.
 */
#ifndef BLUEBELL_SA_H
#define BLUEBELL_SA_H

#include <stdbool.h>
#include <stdint.h>

struct gsi_peer;
struct sa;
struct switch_node;

struct sa *sa_new(struct switch_node *sw);
void sa_free(struct sa *sa);
void sa_receive(struct sa *sa, unsigned int by, const struct gsi_peer *from, const uint8_t *mad);
void sa_port_changed(struct sa *sa, unsigned int port, bool up);

#endif
