// SPDX-License-Identifier: GPL-2.0
/*
 * An Ethernet port without RoCE as the link layer of the transport: queue pairs can be created, as
 * on a card that does not offer RoCE, but there is no address by which they could reach a peer. The
 * port drops the packets that they send, and gives them none.
 */
#include "eth_link.h"
#include "hca.h"
#include "link.h"
#include "packet.h"

#define MTU	1024	/* as for a netdev with the usual MTU of 1500 */

static uint16_t no_mtu(struct hca *hca)
{
	(void)hca;
	return MTU;
}

static bool no_source(struct hca *hca, const struct qp_path *path)
{
	(void)hca;
	(void)path;
	return false;
}

static void no_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
		       struct packet *p)
{
	(void)hca;
	(void)qp;
	(void)path;
	(void)p;
}

static bool no_wait(struct hca *hca, const struct qp_path *path)
{
	(void)hca;
	(void)path;
	return true;
}

static void no_send(struct hca *hca, struct packet *p)
{
	hca->count.packets_dropped++;
	packet_free(hca->fabric, p);
}

static struct packet *no_packet(struct hca *hca)
{
	(void)hca;
	return NULL;
}

static bool no_pending(struct hca *hca)
{
	(void)hca;
	return false;
}

static void no_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	(void)hca;
	(void)wake;
}

/* The functions about packets that have arrived are never called. */
const struct link_ops eth_link = {
	.mtu = no_mtu, .has_source = no_source, .address = no_address, .room = no_wait,
	.send = no_send, .receive = no_packet, .pending = no_pending, .full = no_pending,
	.set_wake = no_wake,
};
