// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE as the link layer of the transport: a packet has MAC and IP addresses. The table of the
 * port's addresses, which the driver fills, says what the port accepts and from where it sends.
 *
 * Without RoCE queue pairs can be created, as on a card that does not offer RoCE, but there is no
 * address by which they could reach a peer.
 */
#include <errno.h>
#include <stdlib.h>

#include "caps.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "fabric.h"
#include "frame.h"
#include "hca.h"
#include "link.h"
#include "packet.h"
#include "roce.h"
#include "roce_address.h"
#include "roce_frame.h"
#include "roce_link.h"
#include "steer.h"

#define RX_BUDGET	256	/* wrong frames dropped before the event loop runs again */

/* ---- receiving ------------------------------------------------------------------------------- */

/* Frames to other addresses, which a port in promiscuous mode receives, are for the NIC. */
static bool to_own_address(struct hca *hca, const uint8_t *dmac)
{
	return mac_is_multicast(dmac) || roce_address_has_mac(hca, dmac) ||
	       eth_list_has(&hca->eth->vport.list[ETH_LIST_UC], eth_mac(dmac));
}

static bool is_roce(struct hca *hca, const struct eth_frame *fr)
{
	struct frame f;

	return frame_parse(&f, eth_frame_data(fr), fr->head.len, LENGTHS_OF_FRAME) &&
	       roce_frame_version(&f) & hca_cap_roce(hca, roce_version) &&
	       to_own_address(hca, f.dmac);
}

static void roce_queue(struct hca *hca, struct eth_frame *fr)
{
	struct roce *roce = hca->roce;

	if (steer_drops(hca, FLOW_RDMA_RX, eth_frame_data(fr), fr->head.len)) {
		hca->count.rx_rule_drops++;
		eth_frame_free(fr);
		return;
	}
	if (roce->rx_len >= 2 * ROCE_RX_LIMIT) {
		roce_drop(hca, ROCE_DROP_FULL, NULL);
		eth_frame_free(fr);
		return;
	}
	eth_count_roce(&hca->eth->stats, fr, false);
	STAILQ_INSERT_TAIL(&roce->rx, &fr->head, link);
	roce->rx_len++;
	if (roce->wake)
		roce->wake(hca);
}

static bool roce_take(struct hca *hca, struct eth_frame *fr)
{
	if (!is_roce(hca, fr))
		return false;
	roce_queue(hca, fr);
	return true;
}

static bool roce_full(struct hca *hca)
{
	return hca->roce->rx_len >= ROCE_RX_LIMIT;
}

static void roce_wake(struct hca *hca)
{
	if (hca->roce->wake)
		hca->roce->wake(hca);
}

static const struct eth_roce eth_roce = {
	.take = roce_take, .loop = roce_queue, .full = roce_full, .wake = roce_wake,
};

static struct eth_frame *roce_next(struct hca *hca)
{
	struct roce *roce = hca->roce;
	struct eth_frame *fr;

	if (STAILQ_EMPTY(&roce->rx))
		eth_sort(hca);
	fr = eth_frame_of(STAILQ_FIRST(&roce->rx));
	if (!fr)
		return NULL;
	STAILQ_REMOVE_HEAD(&roce->rx, link);
	roce->rx_len--;
	return fr;
}

/*
 * Read the packet of a frame; NULL, after it was counted, if the frame is wrong or about congestion.
 */
static struct packet *roce_read(struct hca *hca, const struct eth_frame *fr)
{
	struct packet *p = packet_alloc(hca->fabric);
	enum roce_drop drop = ROCE_DROP_MEMORY;
	const char *why = NULL;
	struct frame f;

	frame_parse(&f, eth_frame_data(fr), fr->head.len, LENGTHS_OF_FRAME);
	if (p)
		drop = roce_frame_read(&f, p, &why);
	if (drop != ROCE_DROPS)
		roce_drop(hca, drop, why);
	else if (!roce_notice(hca, p))
		return p;
	if (p)
		packet_free(hca->fabric, p);
	return NULL;
}

static struct packet *roce_receive(struct hca *hca)
{
	struct packet *p = NULL;
	struct eth_frame *fr;
	unsigned int n;

	for (n = 0; !p && n < RX_BUDGET && (fr = roce_next(hca)); n++) {
		p = roce_read(hca, fr);
		eth_frame_free(fr);
	}
	return p;
}

static bool roce_pending(struct hca *hca)
{
	return hca->roce->rx_len || (hca->eth->vport.roce && fabric_rx_pending(hca));
}

static bool roce_is_full(struct hca *hca)
{
	return roce_full(hca) || fabric_busy(hca->fabric, fabric_port_number(hca));
}

static void roce_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	hca->roce->wake = wake;
}

/* There is no subnet management. */
static bool roce_manage(struct hca *hca, const struct packet *p)
{
	(void)hca;
	(void)p;
	return false;
}

/*
 * A packet may be as long as the path MTU of its queue pair allows. The port drops frames that are
 * too long for it.
 */
static uint16_t roce_mtu(struct hca *hca)
{
	(void)hca;
	return PKT_MTU_MAX;
}

const struct link_ops roce_link = {
	.mtu = roce_mtu, .check_av = roce_check_av, .address = roce_put_address,
	.room = roce_room,
	.send = roce_send, .receive = roce_receive, .pending = roce_pending, .full = roce_is_full,
	.set_wake = roce_set_wake, .manage = roce_manage, .group = roce_group,
	.wrong_source = roce_wrong_source, .wrong_destination = roce_wrong_destination,
	.network_header = roce_network_header, .reply = roce_reply, .to_cqe = roce_to_cqe,
};

/* ---- module ---------------------------------------------------------------------------------- */

static int roce_init(struct hca *hca)
{
	struct roce *roce = calloc(1, sizeof(*roce));

	if (!roce)
		return -ENOMEM;
	STAILQ_INIT(&roce->rx);
	hca->roce = roce;
	eth_set_roce(hca, &eth_roce);
	return 0;
}

static void roce_reset(struct hca *hca)
{
	struct packet_head *h;

	while ((h = STAILQ_FIRST(&hca->roce->rx))) {
		STAILQ_REMOVE_HEAD(&hca->roce->rx, link);
		eth_frame_free(eth_frame_of(h));
	}
	hca->roce->rx_len = 0;
}

static void roce_exit(struct hca *hca)
{
	eth_set_roce(hca, NULL);
	free(hca->roce);
	hca->roce = NULL;
}

const struct hca_module roce_module = {
	.name = "roce", .init = roce_init, .reset = roce_reset, .exit = roce_exit,
};
