// SPDX-License-Identifier: GPL-2.0
/*
 * The sender of the reliable multi-packet transaction protocol (InfiniBand Architecture, volume 1,
 * 13.6), for the class of subnet administration.
 *
 * The sender has no timer. If a segment or an acknowledgment is lost, the requester asks again
 * after its time-out, and the new request, of the same transaction, restarts the transfer.
 */
#include <stdlib.h>
#include <string.h>

#include "forward.h"
#include "gsi.h"
#include "ifc.h"
#include "mad_format.h"
#include "rmpp.h"

#define RMPP_SESSIONS	8	/* of a port of the switch: a new transfer ends the oldest */
#define RMPP_WINDOW	256	/* segments sent for one acknowledgment at most */
#define HEADER_BYTES	(OFF_SA_DATA - OFF_SM_KEY)	/* counted in each segment's length */
#define RESPONSE_TIME	31	/* RRespTime: none is given */

enum rmpp_type { RMPP_DATA = 1, RMPP_ACK = 2, RMPP_STOP = 3, RMPP_ABORT = 4 };

struct rmpp_session {
	struct gsi_peer to;
	uint8_t mad[MAD_BYTES];		/* header of each segment */
	uint8_t *data;			/* NULL: the session is free */
	size_t len;
	uint32_t segments;
	uint64_t age;
};

struct rmpp {
	struct switch_node *sw;
	struct rmpp_session session[SWITCH_PORTS + 1][RMPP_SESSIONS];
	uint64_t sent;			/* sessions begun */
};

/**
 * rmpp_new() - make a sender
 * @sw: the switch, from whose port 0 it sends
 *
 * Return: the sender, or NULL if memory is short.
 */
struct rmpp *rmpp_new(struct switch_node *sw)
{
	struct rmpp *r = calloc(1, sizeof(*r));

	if (r)
		r->sw = sw;
	return r;
}

static void rmpp_end(struct rmpp_session *s)
{
	free(s->data);
	s->data = NULL;
}

/**
 * rmpp_free() - end all transfers
 * @r: the sender, freed
 */
void rmpp_free(struct rmpp *r)
{
	unsigned int port, i;

	for (port = 0; port <= SWITCH_PORTS; port++)
		for (i = 0; i < RMPP_SESSIONS; i++)
			rmpp_end(&r->session[port][i]);
	free(r);
}

static bool rmpp_is(const struct rmpp_session *s, const struct gsi_peer *peer, const uint8_t *mad)
{
	return s->data && s->to.lid == peer->lid && s->to.qpn == peer->qpn &&
	       !memcmp(s->mad + OFF_TID, mad + OFF_TID, 8);
}

/* The session of a transaction, or NULL. */
static struct rmpp_session *rmpp_find(struct rmpp *r, unsigned int port,
				      const struct gsi_peer *peer, const uint8_t *mad)
{
	unsigned int i;

	for (i = 0; i < RMPP_SESSIONS; i++)
		if (rmpp_is(&r->session[port][i], peer, mad))
			return &r->session[port][i];
	return NULL;
}

/* A free session of a port; if there is none, the port's oldest session. */
static struct rmpp_session *rmpp_new_session(struct rmpp *r, unsigned int port)
{
	struct rmpp_session *best = &r->session[port][0];
	unsigned int i;

	for (i = 0; i < RMPP_SESSIONS; i++) {
		struct rmpp_session *s = &r->session[port][i];

		if (!s->data)
			return s;
		if (s->age < best->age)
			best = s;
	}
	return best;
}

/* The first segment has the length of all segments together, the last segment its own length. */
static void rmpp_send_segment(struct rmpp *r, struct rmpp_session *s, uint32_t n)
{
	size_t off = (size_t)(n - 1) * SA_DATA_BYTES, left = s->len - off;
	uint8_t flags = RMPP_ACTIVE;
	uint32_t bytes = 0;

	if (n == s->segments) {
		flags |= RMPP_LAST;
		bytes = left + HEADER_BYTES;
	}
	if (n == 1) {
		flags |= RMPP_FIRST;
		bytes = s->len + (size_t)s->segments * HEADER_BYTES;
	}
	s->mad[OFF_RMPP_VERSION] = 1;
	s->mad[OFF_RMPP_TYPE] = RMPP_DATA;
	s->mad[OFF_RMPP_FLAGS] = RESPONSE_TIME << 3 | flags;
	put_be32(s->mad + OFF_RMPP_DATA1, n);
	put_be32(s->mad + OFF_RMPP_DATA2, bytes);
	memset(s->mad + OFF_SA_DATA, 0, SA_DATA_BYTES);
	memcpy(s->mad + OFF_SA_DATA, s->data + off, left < SA_DATA_BYTES ? left : SA_DATA_BYTES);
	gsi_send(r->sw, &s->to, s->mad);
}

/**
 * rmpp_send() - begin a transfer
 * @r: the sender
 * @port: port of the switch by which the request came; if it has no free session, its oldest
 *	transfer ends
 * @to: the requester
 * @header: of the MAD, up to the data
 * @data: the records, from malloc(); the sender frees it
 * @len: bytes of @data, may be 0
 *
 * The window begins with one segment.
 */
void rmpp_send(struct rmpp *r, unsigned int port, const struct gsi_peer *to, const uint8_t *header,
	       uint8_t *data, size_t len)
{
	struct rmpp_session *s = rmpp_find(r, port, to, header) ?: rmpp_new_session(r, port);

	rmpp_end(s);
	s->to = *to;
	memcpy(s->mad, header, OFF_SA_DATA);
	s->data = data;
	s->len = len;
	s->segments = len ? (len + SA_DATA_BYTES - 1) / SA_DATA_BYTES : 1;
	s->age = ++r->sent;
	rmpp_send_segment(r, s, 1);
	if (s->segments == 1)
		rmpp_end(s);
}

static void rmpp_acknowledged(struct rmpp *r, struct rmpp_session *s, const uint8_t *mad)
{
	uint32_t seg = get_be32(mad + OFF_RMPP_DATA1), last = get_be32(mad + OFF_RMPP_DATA2);
	uint32_t n;

	if (seg >= s->segments) {
		rmpp_end(s);
		return;
	}
	if (last > s->segments)
		last = s->segments;
	for (n = seg + 1; n <= last && n <= seg + RMPP_WINDOW; n++)
		rmpp_send_segment(r, s, n);
}

/**
 * rmpp_receive() - process a packet of the protocol from a receiver
 * @r: the sender
 * @port: of the switch, by which the packet came
 * @from: the receiver that sent the packet
 * @mad: the packet
 */
void rmpp_receive(struct rmpp *r, unsigned int port, const struct gsi_peer *from,
		  const uint8_t *mad)
{
	struct rmpp_session *s = rmpp_find(r, port, from, mad);

	if (!s)
		return;
	if (mad[OFF_RMPP_TYPE] == RMPP_ACK)
		rmpp_acknowledged(r, s, mad);
	else if (mad[OFF_RMPP_TYPE] == RMPP_STOP || mad[OFF_RMPP_TYPE] == RMPP_ABORT)
		rmpp_end(s);
}
