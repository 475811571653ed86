// SPDX-License-Identifier: GPL-2.0
/*
 * Subscriptions by InformInfo, and the notices that are forwarded to the subscribers as Reports
 * (InfiniBand Architecture, volume 1, 13.4.8.3 and 13.4.11). A report is not repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "gsi.h"
#include "ifc.h"
#include "mad_format.h"
#include "sa_notice.h"
#include "sa_record.h"
#include "switch.h"

#define PORT_SUBSCRIPTIONS 16	/* of a port */
#define SUBSCRIPTIONS	(PORT_SUBSCRIPTIONS * (SWITCH_PORTS + 1))
#define TYPE_SM		3	/* of the notices 64 to 67 */
#define PRODUCER_SM	4	/* class manager */
#define ANY_LID		0xffff
#define ANY_TRAP	0xffff
#define ANY_TYPE	0xffff
#define ANY_PRODUCER	0xffffff

/* Offsets in InformInfo. */
enum {
	II_GID = 0, II_LID_BEGIN = 16, II_LID_END = 18, II_GENERIC = 22, II_SUBSCRIBE = 23,
	II_TYPE = 24, II_TRAP = 26, II_QPN = 28, II_PRODUCER = 32,
};

struct subscription {
	bool used;
	unsigned int port;		/* of the switch, by which the subscription came */
	struct gsi_peer to;
	uint8_t info[SA_INFORM_BYTES];
};

struct sa_notices {
	struct switch_node *sw;
	struct subscription sub[SUBSCRIPTIONS];
	uint64_t tid;
};

/**
 * sa_notices_new() - make an empty list of subscriptions
 * @sw: the switch, from whose port 0 reports are sent
 *
 * Return: the list, or NULL if memory is short.
 */
struct sa_notices *sa_notices_new(struct switch_node *sw)
{
	struct sa_notices *ns = calloc(1, sizeof(*ns));

	if (ns)
		ns->sw = sw;
	return ns;
}

/**
 * sa_notices_free() - free a list of subscriptions
 * @ns: the list
 */
void sa_notices_free(struct sa_notices *ns)
{
	free(ns);
}

/* Find the subscription of the request's sender that asks for the same notices as @info. */
static struct subscription *notice_find(struct sa_notices *ns, const struct sa_request *rq,
					const uint8_t *info)
{
	unsigned int i;

	for (i = 0; i < SUBSCRIPTIONS; i++) {
		struct subscription *s = &ns->sub[i];

		if (s->used && s->to.lid == rq->from.lid && s->to.qpn == rq->from.qpn &&
		    !memcmp(s->info + II_GENERIC, info + II_GENERIC, 1) &&
		    !memcmp(s->info + II_TYPE, info + II_TYPE, 4) &&
		    !memcmp(s->info + II_PRODUCER + 1, info + II_PRODUCER + 1, 3) &&
		    !memcmp(s->info, info, II_LID_END + 2))
			return s;
	}
	return NULL;
}

/* Find a free entry. Returns NULL if the port has PORT_SUBSCRIPTIONS subscriptions already. */
static struct subscription *notice_new(struct sa_notices *ns, unsigned int port)
{
	struct subscription *unused = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < SUBSCRIPTIONS; i++) {
		struct subscription *s = &ns->sub[i];

		n += s->used && s->port == port;
		if (!s->used && !unused)
			unused = s;
	}
	return n < PORT_SUBSCRIPTIONS ? unused : NULL;
}

/**
 * sa_inform_set() - answer Set of InformInfo: subscribe, or end a subscription
 * @rq: the request, to whose answer the record is added
 *
 * Return: SA_OK, SA_INVALID or SA_NO_RESOURCES.
 */
uint16_t sa_inform_set(struct sa_request *rq)
{
	struct sa_notices *ns = rq->notices;
	struct subscription *s = notice_find(ns, rq, rq->data);
	uint8_t info[SA_INFORM_BYTES];

	memcpy(info, rq->data, sizeof(info));
	if (info[II_SUBSCRIBE] > 1 || (!info[II_SUBSCRIBE] && !s))
		return SA_INVALID;
	if (!info[II_SUBSCRIBE]) {
		s->used = false;
	} else {
		s = s ? s : notice_new(ns, rq->port);
		if (!s)
			return SA_NO_RESOURCES;
		*s = (struct subscription){ .used = true, .port = rq->port, .to = rq->from };
		memcpy(s->info, info, sizeof(info));
		put_be32(s->info + II_QPN, rq->from.qpn << 8 | info[II_QPN + 3]);
	}
	sa_add(rq, info);
	return SA_OK;
}

/**
 * sa_inform_get() - answer Get and GetTable of InformInfoRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_inform_get(struct sa_request *rq)
{
	struct sa_notices *ns = rq->notices;
	static const struct sa_component c[] = { { 0, 0, 128 }, { 1, 128, 16 } };
	uint8_t rec[SA_INFORM_RECORD_BYTES];
	struct sa_end e;
	unsigned int i;

	for (i = 0; i < SUBSCRIPTIONS; i++) {
		if (!ns->sub[i].used || !sa_end(ns->sw, ns->sub[i].port, &e))
			continue;
		memset(rec, 0, sizeof(rec));
		memcpy(rec, e.gid, 16);
		put_be16(rec + 16, i);
		memcpy(rec + 24, ns->sub[i].info, SA_INFORM_BYTES);
		if (sa_match(rq, c, 2, rec))
			sa_add(rq, rec);
	}
	return SA_OK;
}

static bool notice_wanted(const struct sa_notices *ns, const uint8_t *info, enum sa_trap trap,
			  const uint8_t issuer[16])
{
	static const uint8_t no_gid[16];
	uint16_t begin = get_be16(info + II_LID_BEGIN), end = get_be16(info + II_LID_END);
	uint16_t type = get_be16(info + II_TYPE), number = get_be16(info + II_TRAP);
	uint32_t producer = get_be32(info + II_PRODUCER) & ANY_PRODUCER;

	if (!info[II_GENERIC] || (type != ANY_TYPE && type != TYPE_SM) ||
	    (number != ANY_TRAP && number != trap) ||
	    (producer != ANY_PRODUCER && producer != PRODUCER_SM))
		return false;
	if (memcmp(info + II_GID, no_gid, 16))
		return !memcmp(info + II_GID, issuer, 16);
	return begin == ANY_LID || (ns->sw->lid >= begin && ns->sw->lid <= (end ? end : begin));
}

/**
 * sa_notify() - send a notice to its subscribers
 * @ns: the subscriptions
 * @trap: number of the trap
 * @gid: GID of the port or group that the notice reports
 */
void sa_notify(struct sa_notices *ns, enum sa_trap trap, const uint8_t gid[16])
{
	uint8_t mad[MAD_BYTES] = {
		[OFF_VERSION] = 1, [OFF_CLASS] = CLASS_SA, [OFF_CLASS_VERSION] = 2,
		[OFF_METHOD] = METHOD_REPORT,
	};
	uint8_t *notice = mad + OFF_SA_DATA, issuer[16];
	unsigned int i;

	switch_gid(ns->sw, issuer);
	put_be16(mad + OFF_ATTR, SA_NOTICE);
	put_be32(notice, (0x80u | TYPE_SM) << 24 | PRODUCER_SM);
	put_be16(notice + 4, trap);
	put_be16(notice + 6, ns->sw->lid);
	memcpy(notice + 16, gid, 16);
	memcpy(notice + 64, issuer, 16);
	for (i = 0; i < SUBSCRIPTIONS; i++) {
		const struct subscription *s = &ns->sub[i];

		if (!s->used || !notice_wanted(ns, s->info, trap, issuer))
			continue;
		put_be64(mad + OFF_TID, ++ns->tid);
		gsi_send(ns->sw, &s->to, mad);
	}
}

/**
 * sa_notices_port_gone() - end the subscriptions that came by a port
 * @ns: the subscriptions
 * @port: number of the switch's port, whose link went down
 */
void sa_notices_port_gone(struct sa_notices *ns, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < SUBSCRIPTIONS; i++)
		if (ns->sub[i].port == port)
			ns->sub[i].used = false;
}
