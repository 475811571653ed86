// SPDX-License-Identifier: GPL-2.0
/*
 * A second link layer, for tests.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "link.h"
#include "linkrig.h"
#include "packet.h"
#include "pairrig.h"
#include "qp.h"

#define MEDIUM_MTU	1500
#define QUEUE_MAX	64	/* packets in a queue that is full */
#define NAMES		2	/* of a station, by the source index of a path */

struct medium medium;

struct station_headers {
	uint32_t from, to;
	uint8_t name, hops;
	uint8_t group[16];
};

static_assert(sizeof(struct station_headers) <= PKT_LINK_BYTES, "PKT_LINK_BYTES is too small");

static struct station_headers *hdr(const struct packet *p)
{
	return (struct station_headers *)p->link_headers;
}

static uint32_t path_to(const struct qp_path *path)
{
	return get_be32(path->dgid + 12);
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint16_t station_mtu(struct hca *hca)
{
	(void)hca;
	return medium.mtu;
}

static enum cqe_error station_check_av(struct hca *hca, const struct wqe_av *av, const char **why)
{
	(void)hca;
	if (av->path.src_gid_index < NAMES)
		return ERR_NONE;
	*why = "a station has no such name";
	return ERR_SOURCE_GID_UNKNOWN;
}

static void station_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
			    struct packet *p)
{
	struct station_headers *h = hdr(p);

	(void)qp;
	p->pkey = STATION_TAG;
	h->from = STATION_0 + hca->index;
	h->to = path_to(path);
	h->name = path->src_gid_index;
	h->hops = path->hop_limit;
	memcpy(h->group, path->dgid, sizeof(h->group));
}

static bool station_room(struct hca *hca, const struct qp_path *path)
{
	(void)hca;
	(void)path;
	medium.refused += !medium.space;
	return medium.space;
}

static void station_deliver(unsigned int to, struct packet *p)
{
	STAILQ_INSERT_TAIL(&medium.queue[to], &p->head, link);
	medium.len[to]++;
	if (medium.wake[to])
		medium.wake[to](medium.station[to]);
}

static bool station_loses(void)
{
	if (!medium.lose)
		return false;
	if (medium.skip) {
		medium.skip--;
		return false;
	}
	medium.lose--;
	return true;
}

static void station_send(struct hca *hca, struct packet *p)
{
	uint32_t to = hdr(p)->to;
	struct packet *copy;

	medium.sent++;
	medium.space -= !!medium.space;
	hca->count.packets_tx++;
	if (station_loses() || (to != STATION_GROUP && to - STATION_0 > 1)) {
		packet_free(hca->fabric, p);
		return;
	}
	if (to == STATION_GROUP) {
		copy = packet_copy(hca->fabric, p);
		station_deliver(!hca->index, copy);
		to = STATION_0 + hca->index;
	}
	station_deliver(to - STATION_0, p);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static struct packet *station_receive(struct hca *hca)
{
	struct packet *p = packet_of(STAILQ_FIRST(&medium.queue[hca->index]));

	if (!p)
		return NULL;
	STAILQ_REMOVE_HEAD(&medium.queue[hca->index], link);
	medium.len[hca->index]--;
	hca->count.packets_rx++;
	return p;
}

static bool station_pending(struct hca *hca)
{
	return medium.len[hca->index];
}

static bool station_full(struct hca *hca)
{
	return medium.len[hca->index] >= QUEUE_MAX;
}

static void station_set_wake(struct hca *hca, void (*wake)(struct hca *hca))
{
	medium.station[hca->index] = hca;
	medium.wake[hca->index] = wake;
}

static bool station_manage(struct hca *hca, const struct packet *p)
{
	(void)hca;
	medium.managed += !p->dqpn;
	return !p->dqpn;
}

/* ---- addresses of a packet that has arrived -------------------------------------------------- */

static const uint8_t *station_group(const struct packet *p)
{
	return hdr(p)->to == STATION_GROUP ? hdr(p)->group : NULL;
}

static const char *station_wrong_source(const struct qp *qp, const struct packet *p)
{
	bool datagram = (p->opcode & BTH_SERVICE_MASK) == BTH_UD;

	return datagram || hdr(p)->from == path_to(&qp->path) ? NULL : "station";
}

static const char *station_wrong_destination(struct hca *hca, const struct qp *qp,
					     const struct packet *p)
{
	(void)qp;
	if (p->pkey != STATION_TAG)
		return "tag";
	return hdr(p)->to == STATION_GROUP || hdr(p)->to == STATION_0 + hca->index ? NULL :
	       "name";
}

static bool station_network_header(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES])
{
	memset(header, 0, NETWORK_HEADER_BYTES);
	header[20] = 0x45;
	header[28] = hdr(p)->hops;
	put_be32(header + 32, hdr(p)->from);
	put_be32(header + 36, hdr(p)->to);
	return true;
}

static void station_to_cqe(struct hca *hca, const struct packet *p, struct completion *c)
{
	(void)hca;
	c->slid = hdr(p)->from;		/* the low 16 bits */
	c->sl = 4 + hdr(p)->name;
}

static const struct link_ops station_link = {
	.mtu = station_mtu, .check_av = station_check_av, .address = station_address,
	.room = station_room, .send = station_send, .receive = station_receive,
	.pending = station_pending, .full = station_full, .set_wake = station_set_wake,
	.manage = station_manage, .group = station_group, .wrong_source = station_wrong_source,
	.wrong_destination = station_wrong_destination,
	.network_header = station_network_header, .to_cqe = station_to_cqe,
};

/* ---- for the tests --------------------------------------------------------------------------- */

static int medium_init(struct hca *hca)
{
	if (!hca->index)
		memset(&medium, 0, sizeof(medium));
	medium.mtu = MEDIUM_MTU;
	medium.space = UINT_MAX;
	STAILQ_INIT(&medium.queue[hca->index]);
	return 0;
}

static void medium_exit(struct hca *hca)
{
	struct packet *p;

	while ((p = station_receive(hca)))
		packet_free(hca->fabric, p);
}

static const struct hca_module medium_module = {
	.name = "medium", .init = medium_init, .exit = medium_exit,
};

static const struct hca_module *const modules[] = { &medium_module, NULL };

static void station_path(struct qp_path *path, unsigned int h)
{
	put_be32(path->dgid + 12, STATION_0 + h);
}

const struct rig_net station_net = {
	.modules = modules, .link = &station_link, .path = station_path,
};

void medium_clear(void)
{
	unsigned int h;

	medium.space = UINT_MAX;
	for (h = 0; h < 2; h++)
		medium.wake[h](medium.station[h]);
}

void medium_put(unsigned int h, struct packet *p, uint32_t from, uint32_t to)
{
	struct station_headers *s = hdr(p);

	s->from = from;
	s->to = to;
	p->pkey = STATION_TAG;
	station_deliver(h, p);
}
