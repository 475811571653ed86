// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion: a router marks a packet of version 2 in its ECN field, its receiver tells the sender
 * by a CNP, and counts. A sender that gets a CNP counts it; the rate at which it sends does not
 * change, because the links of the fabric have no rate.
 *
 * The fabric is never congested. A test can have the link mark packets instead.
 */
#include <string.h>

#include "caps.h"
#include "clock.h"
#include "cmd.h"
#include "csum.h"
#include "hca.h"
#include "ifc.h"
#include "packet.h"
#include "qp.h"
#include "roce.h"
#include "roce_link.h"
#include "roce_packet.h"

#define CNP_DSCP	48
#define CNP_PRIORITY	6
#define CNP_PAUSE_NS	50000	/* between CNPs to the same queue pair, at least */
#define PPM		1000000

enum { ECN_NONE = 0, ECN_MARKED = 3 };	/* values of the field */

/* ---- the ECN field --------------------------------------------------------------------------- */

static unsigned int ecn_of(const struct roce_headers *h)
{
	switch (h->kind) {
	case ROCE_IP4:
		return h->net[1] & 3;
	case ROCE_IP6:
		return h->net[1] >> 4 & 3;
	default:
		return ECN_NONE;
	}
}

/* The IP checksum is put right, because the header is in the buffer of a datagram. */
static void mark(struct roce_headers *h)
{
	if (h->kind == ROCE_IP6) {
		h->net[1] |= ECN_MARKED << 4;
		return;
	}
	h->net[1] |= ECN_MARKED;
	put_be16(h->net + 10, 0);
	put_be16(h->net + 10, ~csum_sum(h->net, IPV4_BYTES, 0));
}

/* xorshift64* */
static uint64_t draw(struct roce *roce)
{
	uint64_t x = roce->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	roce->random = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

/* Mark a packet whose sender says that it knows the mark. */
static void mark_some(struct roce *roce, struct roce_headers *h)
{
	if (roce->ecn_ppm && ecn_of(h) != ECN_NONE && draw(roce) % PPM < roce->ecn_ppm)
		mark(h);
}

/**
 * roce_set_ecn() - have the link to a port mark packets
 * @hca: the HCA
 * @ppm: how many of a million; not those whose sender does not know the mark
 */
void roce_set_ecn(struct hca *hca, uint32_t ppm)
{
	hca->roce->ecn_ppm = ppm;
	hca->roce->random = 1;
}

/**
 * roce_congestion() - what the HCA has counted of congestion
 * @hca: the HCA
 */
struct cnp_counts roce_congestion(const struct hca *hca)
{
	return hca->roce->cnp;
}

/* ---- CNPs ------------------------------------------------------------------------------------ */

/* The connected queue pair that a packet is for and from whose peer it comes, or NULL. */
static struct qp *qp_of(struct hca *hca, const struct packet *p)
{
	struct qp *qp = qp_find(hca, p->dqpn);

	if (!qp || (qp->type != QPT_RC && qp->type != QPT_UC && qp->type != QPT_XRC) ||
	    (qp->state != QPS_RTR && qp->state != QPS_RTS && qp->state != QPS_SQD))
		return NULL;
	return roce_wrong_source(qp, p) || roce_wrong_destination(hca, qp, p) ? NULL : qp;
}

static void send_cnp(struct hca *hca, const struct qp *qp)
{
	struct packet *p = packet_alloc(hca->fabric);
	struct qp_path path = qp->path;

	if (!p)
		return;
	path.dscp = CNP_DSCP;
	path.ecn = ECN_NONE;
	path.eth_prio = CNP_PRIORITY;
	roce_put_address(hca, qp, &path, p);
	p->opcode = CNP_OPCODE;
	p->becn = true;
	p->dqpn = qp->remote_qpn;
	p->head.len = CNP_BYTES;
	memset(p->payload, 0, CNP_BYTES);
	hca->roce->cnp.sent++;
	hca_trace(hca, "cnp", "\"qpn\":%u,\"peer\":%u", qp->obj.num, qp->remote_qpn);
	roce_send(hca, p);
}

/* A packet came with the mark. */
static void marked(struct hca *hca, const struct packet *p)
{
	uint64_t now = clock_now_ns();
	struct qp *qp;

	hca->roce->cnp.marked++;
	qp = qp_of(hca, p);
	if (!qp || now < qp->cnp_ns + CNP_PAUSE_NS)
		return;
	qp->cnp_ns = now;
	send_cnp(hca, qp);
}

/**
 * roce_notice() - take notice of what a packet says of congestion
 * @hca: the HCA
 * @p: the packet, which the link may mark now
 *
 * Return: true if the packet is a CNP, which is of no interest to the transport.
 */
bool roce_notice(struct hca *hca, struct packet *p)
{
	struct cnp_counts *c = &hca->roce->cnp;

	if (p->opcode == CNP_OPCODE) {
		*(qp_of(hca, p) ? &c->handled : &c->ignored) += 1;
		return true;
	}
	mark_some(hca->roce, roce_hdr(p));
	if (ecn_of(roce_hdr(p)) == ECN_MARKED)
		marked(hca, p);
	return false;
}

/* ---- QUERY_CONG_STATISTICS ------------------------------------------------------------------- */

#define PUT(fld, n) put_be64(cmd->out + IFC_BYTE(query_cong_statistics_out, fld##_high), n)

static uint8_t query_cong_statistics(struct hca *hca, struct cmd *cmd)
{
	struct cnp_counts *c = &hca->roce->cnp;

	if (!hca_cap_gen(hca, cc_query_allowed))
		return cmd_fail(cmd, ST_BAD_OP, WHY_ROCE_NOT_OFFERED,
				"congestion is not counted (cc_query_allowed)");
	PUT(rp_cnp_ignored, c->ignored);
	PUT(rp_cnp_handled, c->handled);
	PUT(np_ecn_marked_roce_packets, c->marked);
	PUT(np_cnp_sent, c->sent);
	PUT(time_stamp, hca_clock(hca));
	if (IFC_GET(query_cong_statistics_in, cmd->in, clear))
		memset(c, 0, sizeof(*c));
	return ST_OK;
}

const struct cmd_desc roce_cnp_cmds[] = {
	CMD(QUERY_CONG_STATISTICS, query_cong_statistics, query_cong_statistics,
	    .flags = CMD_ETH | CMD_KERNEL),
	{}
};
