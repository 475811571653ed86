// SPDX-License-Identifier: GPL-2.0
/*
 * The performance management agent of the switch (InfiniBand Architecture, volume 1, 16.1):
 * counters of its ports, taken from the HCAs at the other ends of the links.
 */
#include <string.h>

#include "fabric.h"
#include "gsi.h"
#include "hca.h"
#include "ifc.h"
#include "mad.h"
#include "port_info.h"
#include "switch.h"
#include "switch_perf.h"

static bool switch_perf_port(struct switch_node *sw, unsigned int n, struct mad_port *mp)
{
	struct hca *peer = fabric_peer(sw->fabric, n);

	*mp = (struct mad_port){ .attrs = &sw->port[0] };
	if (!peer)
		return n <= SWITCH_PORTS;
	mp->perf.packets_tx = peer->count.packets_rx;
	mp->perf.packets_rx = peer->count.packets_tx;
	mp->perf.octets_tx = peer->count.octets_rx;
	mp->perf.octets_rx = peer->count.octets_tx;
	mp->mcast_tx = peer->count.mcast_rx;
	mp->mcast_rx = peer->count.mcast_tx;
	return true;
}

/**
 * switch_perf_receive() - answer a datagram of performance management
 * @sw: the switch
 * @from: where the answer goes
 * @mad: the datagram, MAD_BYTES
 */
void switch_perf_receive(struct switch_node *sw, const struct gsi_peer *from, const uint8_t *mad)
{
	uint8_t out[MAD_BYTES];
	struct mad_port mp;

	if (!switch_perf_port(sw, mad[OFF_PMA_DATA + 1], &mp)) {
		if (mad[OFF_METHOD] & METHOD_RESPONSE)
			return;
		memcpy(out, mad, MAD_BYTES);
		out[OFF_METHOD] = METHOD_GET_RESP;
		put_be16(out + OFF_STATUS, MAD_BAD_VALUE);
	} else if (!mad_answer(&mp, mad, out)) {
		return;
	}
	gsi_send(sw, from, out);
}
