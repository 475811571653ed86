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
#include <string.h>

#include "caps.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "eth_switch.h"
#include "fabric.h"
#include "frame.h"
#include "hca.h"
#include "ifc.h"
#include "link.h"
#include "packet.h"
#include "qp.h"
#include "roce_address.h"
#include "roce_frame.h"
#include "roce_link.h"
#include "roce_packet.h"

#define RX_LIMIT	512	/* frames that wait for the transport */
#define RX_BUDGET	256	/* wrong frames dropped before the event loop runs again */
#define PKEY		0xffff	/* the only P_Key */
#define PARTITION	0x7fff	/* P_Key without the bit of full members */
#define IP_DF		0x4000

struct roce {
	struct packet_queue rx;		/* frames for queue pairs */
	unsigned int rx_len;
	void (*wake)(struct hca *hca);
};

static void roce_drop(struct hca *hca, enum roce_drop why, const char *detail)
{
	hca->count.roce_drop[why]++;
	hca_trace(hca, "roce_drop", "\"why\":\"%s\"", detail ? detail : roce_drop_name(why));
}

/* ---- sending --------------------------------------------------------------------------------- */

/*
 * A packet may be as long as the path MTU of its queue pair allows. The port drops frames that are
 * too long for it.
 */
static uint16_t roce_mtu(struct hca *hca)
{
	(void)hca;
	return PKT_MTU_MAX;
}

static enum cqe_error roce_check_av(struct hca *hca, const struct wqe_av *av, const char **why)
{
	if (!roce_address_get(hca, av->path.src_gid_index)) {
		*why = "the source address does not exist";
		return ERR_SOURCE_GID_UNKNOWN;
	}
	*why = av->compact ? "the address vector is the short one" :
	       av->path.grh ? "bit 30 of grh_gid_fl is set" : NULL;
	return *why ? ERR_WQE_INVALID : ERR_NONE;
}

static void put_v6(struct roce_headers *h, const struct roce_address *a, const struct qp_path *path)
{
	bool v1 = h->kind == ROCE_GRH;
	uint32_t tclass = v1 ? path->tclass : path->dscp << 2 | path->ecn;

	put_be32(h->net, 6u << 28 | tclass << 20 | path->flow_label);
	h->net[6] = v1 ? 0x1b : PROTO_UDP;
	h->net[7] = path->hop_limit;
	memcpy(h->net + NET_SIP, a->gid, sizeof(a->gid));
	memcpy(h->net + NET_DIP, path->dgid, sizeof(path->dgid));
}

static void put_v4(struct roce_headers *h, const struct roce_address *a, const struct qp_path *path)
{
	h->net[0] = 0x45;
	h->net[1] = path->dscp << 2 | path->ecn;
	put_be16(h->net + 6, IP_DF);
	h->net[8] = path->hop_limit;
	h->net[9] = PROTO_UDP;
	memcpy(h->net + IPV4_SIP, a->gid + 12, 4);
	memcpy(h->net + IPV4_DIP, path->dgid + 12, 4);
}

/*
 * The UDP source port, by which routers spread flows: that of the path, or one that depends on the
 * numbers of the queue pairs.
 */
static uint16_t udp_sport(struct hca *hca, const struct qp *qp, const struct qp_path *path)
{
	uint32_t min = hca_cap_roce(hca, r_roce_min_src_udp_port);
	uint32_t max = hca_cap_roce(hca, r_roce_max_src_udp_port);
	uint32_t hash = (qp->obj.num * 0x9e3779b1u ^ qp->remote_qpn) * 0x85ebca6bu;

	if (hca_cap_roce(hca, sw_r_roce_src_udp_port) && path->udp_sport)
		return path->udp_sport;
	return min + (hash >> 8) % (max - min + 1);
}

static bool is_loop(struct hca *hca, const struct qp_path *path)
{
	return path->loop || roce_address_has_mac(hca, path->rmac);
}

static void roce_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
			 struct packet *p)
{
	const struct roce_address *a = roce_address_get(hca, path->src_gid_index);
	struct roce_headers *h = roce_hdr(p);

	p->pkey = PKEY;
	h->unsendable = !a;
	if (!a)
		return;
	h->kind = a->version == ROCE_V1 ? ROCE_GRH : a->l3 == ROCE_IPV4 ? ROCE_IP4 : ROCE_IP6;
	memcpy(h->dmac, path->rmac, sizeof(h->dmac));
	memcpy(h->smac, a->mac, sizeof(h->smac));
	h->vlan = a->vlan;
	h->tci = path->eth_prio << 13 | path->dei << 12 | a->vid;
	h->loop = is_loop(hca, path);
	if (h->kind == ROCE_IP4)
		put_v4(h, a, path);
	else
		put_v6(h, a, path);
	if (h->kind != ROCE_GRH)
		h->udp_sport = udp_sport(hca, qp, path);
}

/* The queue for loopback has room for frames of other ports, too, which nothing holds up. */
static bool roce_room(struct hca *hca, const struct qp_path *path)
{
	if (is_loop(hca, path))
		return hca->roce->rx_len < RX_LIMIT;
	return eth_switch_room(hca, path->rmac);
}

static struct eth_frame *roce_make_frame(const struct packet *p)
{
	size_t len = roce_frame_len(p);
	struct eth_frame *fr = eth_frame_alloc(len);

	if (fr)
		roce_frame_make(p, eth_frame_data(fr), len);
	return fr;
}

static void roce_send(struct hca *hca, struct packet *p)
{
	bool off = !hca->eth->vport.roce;
	struct eth_frame *fr = off || roce_hdr(p)->unsendable ? NULL : roce_make_frame(p);

	if (fr)
		eth_tx_roce(hca, fr, roce_hdr(p)->loop);
	else
		roce_drop(hca, off ? ROCE_DROP_OFF : roce_hdr(p)->unsendable ?
			  ROCE_DROP_NO_ADDRESS : ROCE_DROP_NO_FRAME, NULL);
	packet_free(hca->fabric, p);
}

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

	if (roce->rx_len >= 2 * RX_LIMIT) {
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
	return hca->roce->rx_len >= RX_LIMIT;
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

/* Read the packet of a frame; NULL, after it was counted, if the frame is wrong. */
static struct packet *roce_read(struct hca *hca, const struct eth_frame *fr)
{
	struct packet *p = packet_alloc(hca->fabric);
	enum roce_drop drop = ROCE_DROP_MEMORY;
	const char *why = NULL;
	struct frame f;

	frame_parse(&f, eth_frame_data(fr), fr->head.len, LENGTHS_OF_FRAME);
	if (p)
		drop = roce_frame_read(&f, p, &why);
	if (drop == ROCE_DROPS)
		return p;
	roce_drop(hca, drop, why);
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

/* ---- addresses of a packet that has arrived -------------------------------------------------- */

static const uint8_t *roce_group(const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	bool group = h->kind == ROCE_IP4 ? h->net[IPV4_DIP] >> 4 == 0xe : h->net[NET_DIP] == 0xff;

	return group ? h->net + NET_DIP : NULL;
}

static bool is_datagram(const struct packet *p)
{
	return (p->opcode & BTH_SERVICE_MASK) == BTH_UD;
}

/*
 * A connected queue pair accepts packets from its peer's address only, so that a queue pair at
 * another port cannot reach it by guessing its number.
 */
static const char *roce_wrong_source(const struct qp *qp, const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	bool ok;

	if (is_datagram(p))
		return NULL;
	if (h->kind == ROCE_IP4)
		ok = !memcmp(h->net + IPV4_SIP, qp->path.dgid + 12, 4);
	else
		ok = !memcmp(h->net + NET_SIP, qp->path.dgid, sizeof(qp->path.dgid));
	return ok ? NULL : "SGID";
}

/* The address of the port that a packet was sent to, but for its MAC. */
static struct roce_address roce_destination(const struct packet *p)
{
	const struct roce_headers *h = roce_hdr(p);
	struct roce_address a = {
		.version = h->kind == ROCE_GRH ? ROCE_V1 : ROCE_V2,
		.l3 = h->kind == ROCE_IP4 ? ROCE_IPV4 : ROCE_IPV6, .vid = roce_vid(h),
	};

	memcpy(a.gid, h->net + NET_DIP, sizeof(a.gid));
	return a;
}

/* A packet of a connection has to come to the address of the connection's path. */
static const char *wrong_address(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	const struct roce_address *own = roce_address_get(hca, qp->path.src_gid_index);
	struct roce_address to = roce_destination(p);

	if (is_datagram(p))
		return roce_group(p) || roce_address_find(hca, &to) ? NULL : "GID";
	if (!own || memcmp(own->gid, to.gid, sizeof(to.gid)))
		return "GID";
	if (own->version != to.version || (own->version == ROCE_V2 && own->l3 != to.l3))
		return "RoCE version";
	return own->vid == to.vid ? NULL : "VLAN";
}

static bool is_own(struct hca *hca, const struct qp *qp, const struct packet *p)
{
	return roce_address_has_mac(hca, roce_hdr(p)->smac) && p->sqpn == qp->obj.num;
}

static const char *roce_wrong_destination(struct hca *hca, const struct qp *qp,
					  const struct packet *p)
{
	const char *why = wrong_address(hca, qp, p);

	if (why)
		return why;
	if (qp->block_lb_mc && roce_group(p) && is_own(hca, qp, p))
		return "own multicast";
	if ((p->pkey & PARTITION) == PARTITION)
		return NULL;
	hca->count.bad_pkeys++;
	return "P_Key";
}

/* An IPv4 header is at the end of the room for a network header. */
static bool roce_network_header(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES])
{
	const struct roce_headers *h = roce_hdr(p);

	if (h->kind == ROCE_IP4) {
		memset(header, 0, NETWORK_HEADER_BYTES - IPV4_BYTES);
		memcpy(header + NETWORK_HEADER_BYTES - IPV4_BYTES, h->net, IPV4_BYTES);
	} else {
		memcpy(header, h->net, NETWORK_HEADER_BYTES);
	}
	return true;
}

/* The place of the SL has the kind of network header. */
static void roce_to_cqe(struct hca *hca, const struct packet *p, struct completion *c)
{
	const struct roce_headers *h = roce_hdr(p);

	(void)hca;
	c->grh = true;
	c->sl = h->kind;
	c->vlan = h->vlan;
	c->tci = h->tci;
}

const struct link_ops roce_link = {
	.mtu = roce_mtu, .check_av = roce_check_av, .address = roce_address, .room = roce_room,
	.send = roce_send, .receive = roce_receive, .pending = roce_pending, .full = roce_is_full,
	.set_wake = roce_set_wake, .manage = roce_manage, .group = roce_group,
	.wrong_source = roce_wrong_source, .wrong_destination = roce_wrong_destination,
	.network_header = roce_network_header, .to_cqe = roce_to_cqe,
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
