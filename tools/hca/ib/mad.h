/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Management datagrams to the port's own agents, for subnet management (SMA) and performance
 * management (PMA): the requests that only read. Pure functions of the port's attributes.
 */
#ifndef BLUEBELL_MAD_H
#define BLUEBELL_MAD_H

#include <stdbool.h>
#include <stdint.h>

#include "mad_format.h"
#include "port_info.h"

#define MAD_MAX_GIDS	128	/* of the longest GID table that a profile can have */
/*
 * What software on the host announces in CapabilityMask: subnet management; communication
 * management, SNMP tunneling, reinitialization, device management, and a vendor's class.
 */
#define MAD_CAP_MASK_SETTABLE (1u << 1 | 1u << 16 | 1u << 17 | 1u << 18 | 1u << 19 | 1u << 20)

/* What PortCounters counts. */
struct mad_perf {
	uint64_t link_downed, errors, octets_tx, octets_rx, packets_tx, packets_rx;
};

struct mad_port {
	uint64_t guid;		/* system image, node and port */
	uint8_t gid[MAD_MAX_GIDS][16];	/* entries that are not used are zero */
	unsigned int gids;	/* entries of the GID table */
	uint16_t part;		/* PCI device id */
	const struct port_attrs *attrs;
	struct port_view view;
	const uint16_t *pkeys;
	unsigned int npkeys;	/* whole blocks of 32, as a MAD carries them */
	const char *node_desc;	/* 64 bytes */
	struct mad_perf perf;	/* since the HCA was made */
	struct mad_perf zero;	/* what PortCounters subtracts from @perf; changed by a Set */
	uint64_t mcast_tx, mcast_rx;	/* packets to multicast groups */
};

#define PERF_COUNTERS	0x12	/* attribute PortCounters of performance management */

void mad_perf_set(const struct mad_perf *n, const uint8_t *data, struct mad_perf *zero);
bool mad_version_ok(const uint8_t *in);
bool mad_answer(const struct mad_port *port, const uint8_t *in, uint8_t *out);

#endif
