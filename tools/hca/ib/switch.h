/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The switch of the fabric as a node of the subnet: its subnet management agent.
 */
#ifndef BLUEBELL_SWITCH_H
#define BLUEBELL_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "forward.h"
#include "mad_format.h"
#include "port_info.h"

struct fabric;
struct packet;

#define SWITCH_SM_KEY	1	/* of the subnet manager: the default of opensm and its tools */
#define SWITCH_PKEYS	PKEYS_IN_BLOCK	/* of port 0 */

struct switch_node {
	struct fabric *fabric;
	bool manager;				/* a subnet manager is at port 0 */
	uint16_t lid;
	enum port_state state;			/* of port 0 */
	struct port_attrs port[SWITCH_PORTS + 1];
	bool disabled[SWITCH_PORTS + 1];
	uint16_t pkey[SWITCH_PKEYS];
	/* The part of SwitchInfo that is not in struct forward */
	uint8_t default_port;			/* of a random forwarding table: without effect */
	uint8_t life;
	bool changed;				/* a port's state changed since a Set cleared it */
	uint32_t act_count;			/* of the subnet manager */
	uint32_t traps;
};

void switch_init(struct switch_node *sw, struct fabric *f, bool manager);
void switch_gid(const struct switch_node *sw, uint8_t gid[16]);
void switch_receive(struct switch_node *sw, unsigned int by, const struct packet *p);
void switch_port_changed(struct switch_node *sw);

/* ---- switch_attr.c --------------------------------------------------------------------------- */

uint16_t switch_get(struct switch_node *sw, unsigned int by, const uint8_t *in, uint8_t *data);
uint16_t switch_set(struct switch_node *sw, unsigned int by, const uint8_t *in);

#endif
