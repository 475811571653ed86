// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pair 1 of the switch (InfiniBand Architecture, volume 1, 13.5.2).
 */
#include <string.h>

#include "address.h"
#include "fabric.h"
#include "forward.h"
#include "gsi.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mad_format.h"
#include "packet.h"
#include "switch.h"

#define GSI_QKEY	0x80010000u
#define PKEY_DEFAULT	0xffff

static bool gsi_pkey_ok(const struct switch_node *sw, uint16_t pkey)
{
	unsigned int i;

	for (i = 0; i < SWITCH_PKEYS; i++)
		if (pkeys_match(sw->pkey[i], pkey))
			return true;
	return false;
}

/**
 * gsi_accept() - check a packet to queue pair 1 of the switch
 * @sw: the switch
 * @p: the packet
 * @from: set to where an answer goes
 *
 * Return: false if the packet is to be dropped.
 */
bool gsi_accept(const struct switch_node *sw, const struct packet *p, struct gsi_peer *from)
{
	if ((p->opcode & BTH_SERVICE_MASK) != BTH_UD || p->dqpn != 1 || p->qkey != GSI_QKEY ||
	    p->head.len != MAD_BYTES || ib_hdr(p)->dlid == LID_PERMISSIVE || !gsi_pkey_ok(sw, p->pkey))
		return false;
	*from = (struct gsi_peer){
		.lid = ib_hdr(p)->slid, .qpn = p->sqpn, .sl = ib_hdr(p)->sl, .grh = ib_hdr(p)->grh,
	};
	memcpy(from->gid, ib_hdr(p)->sgid, sizeof(from->gid));
	return true;
}

/**
 * gsi_send() - send a datagram from queue pair 1 of the switch
 * @sw: the switch
 * @to: the destination
 * @mad: MAD_BYTES
 *
 * A datagram for which there is no room at its destination is lost: the switch does not wait.
 */
void gsi_send(struct switch_node *sw, const struct gsi_peer *to, const uint8_t *mad)
{
	struct packet *p;

	if (fabric_busy(sw->fabric, forward_unicast(fabric_forward(sw->fabric), to->lid)))
		return;
	p = packet_alloc(sw->fabric);
	if (!p)
		return;
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = sw->lid;
	ib_hdr(p)->dlid = to->lid;
	ib_hdr(p)->sl = to->sl;
	p->pkey = PKEY_DEFAULT;
	p->qkey = GSI_QKEY;
	p->dqpn = to->qpn;
	p->sqpn = 1;
	if (to->grh) {
		ib_hdr(p)->grh = true;
		ib_hdr(p)->hop_limit = 64;
		switch_gid(sw, ib_hdr(p)->sgid);
		memcpy(ib_hdr(p)->dgid, to->gid, sizeof(ib_hdr(p)->dgid));
	}
	p->head.len = MAD_BYTES;
	memcpy(p->payload, mad, MAD_BYTES);
	fabric_route(sw->fabric, 0, p);
}
