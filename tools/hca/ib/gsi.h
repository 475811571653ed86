/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Datagrams between queue pair 1 of the switch and those of other ports.
 */
#ifndef BLUEBELL_GSI_H
#define BLUEBELL_GSI_H

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct switch_node;

/* Where an answer goes. */
struct gsi_peer {
	uint16_t lid;
	uint32_t qpn;
	uint8_t sl;
	bool grh;
	uint8_t gid[16];
};

bool gsi_accept(const struct switch_node *sw, const struct packet *p, struct gsi_peer *from);
void gsi_send(struct switch_node *sw, const struct gsi_peer *to, const uint8_t *mad);

#endif
