// SPDX-License-Identifier: GPL-2.0
/*
 * Sending packets of queue pairs: their headers, which lead from an address of the port's table to
 * the destination of a path, and their frames.
 */
#include <string.h>

#include "caps.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "eth_switch.h"
#include "frame.h"
#include "hca.h"
#include "ifc.h"
#include "packet.h"
#include "qp.h"
#include "roce.h"
#include "roce_address.h"
#include "roce_frame.h"
#include "roce_packet.h"
#include "steer.h"

#define PKEY		0xffff	/* the only P_Key */
#define IP_DF		0x4000

/**
 * roce_drop() - count a frame that is dropped
 * @hca: the HCA
 * @why: the reason
 * @detail: for the trace, in the place of the reason; or NULL
 */
void roce_drop(struct hca *hca, enum roce_drop why, const char *detail)
{
	hca->count.roce_drop[why]++;
	hca_trace(hca, "roce_drop", "\"why\":\"%s\"", detail ? detail : roce_drop_name(why));
}

/**
 * roce_check_av() - check the address vector of a datagram, see link.h
 *
 * Bit 30 of grh_gid_fl is reserved, and ignored: libmlx5 leaves it clear, and the stock driver sets
 * it in the address vectors of the kernel, as on InfiniBand.
 *
 * @hca: the HCA
 * @av: the address vector
 * @why: set to a reason in words
 *
 * Return: ERR_NONE, or the error of the completion.
 */
enum cqe_error roce_check_av(struct hca *hca, const struct wqe_av *av, const char **why)
{
	if (!roce_address_get(hca, av->path.src_gid_index)) {
		*why = "the source address does not exist";
		return ERR_SOURCE_GID_UNKNOWN;
	}
	*why = av->compact ? "the address vector is the short one" : NULL;
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

/**
 * roce_put_address() - make the headers of a packet
 * @hca: the HCA
 * @qp: the queue pair that sends it
 * @path: where to
 * @p: the packet
 */
void roce_put_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
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

/**
 * roce_room() - tell whether there is room for a packet by a path
 * @hca: the HCA; if there is no room, it is woken when there is
 * @path: the path
 */
bool roce_room(struct hca *hca, const struct qp_path *path)
{
	if (is_loop(hca, path))
		return hca->roce->rx_len < ROCE_RX_LIMIT;
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

/* Send a frame, unless a rule drops it. */
static void roce_transmit(struct hca *hca, struct eth_frame *fr, bool loop)
{
	if (steer_drops(hca, FLOW_RDMA_TX, eth_frame_data(fr), fr->head.len)) {
		hca->count.tx_rule_drops++;
		eth_frame_free(fr);
	} else {
		eth_tx_roce(hca, fr, loop);
	}
}

/**
 * roce_send() - send a packet
 * @hca: the HCA
 * @p: the packet, with its headers; freed
 */
void roce_send(struct hca *hca, struct packet *p)
{
	bool off = !hca->eth->vport.roce;
	struct eth_frame *fr = off || roce_hdr(p)->unsendable ? NULL : roce_make_frame(p);

	if (fr)
		roce_transmit(hca, fr, roce_hdr(p)->loop);
	else
		roce_drop(hca, off ? ROCE_DROP_OFF : roce_hdr(p)->unsendable ?
			  ROCE_DROP_NO_ADDRESS : ROCE_DROP_NO_FRAME, NULL);
	packet_free(hca->fabric, p);
}
