// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups (InfiniBand Architecture, volume 1, 15.2.5.17, 10.5): a port joins and leaves by
 * MCMemberRecord, and the switch's table is programmed for the ports that receive.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mad_format.h"
#include "packet.h"
#include "sa_mcast.h"
#include "sa_notice.h"
#include "sa_record.h"
#include "switch.h"
#include "util.h"

/* Bits of the component mask. */
enum {
	M_MGID = 0, M_PORT_GID = 1, M_QKEY = 2, M_MLID = 3, M_MTU_SELECTOR = 4, M_MTU = 5,
	M_TCLASS = 6, M_PKEY = 7, M_RATE_SELECTOR = 8, M_RATE = 9, M_SL = 12, M_FLOW = 13,
	M_HOP = 14, M_SCOPE = 15, M_JOIN_STATE = 16,
};

#define M_JOIN		(1ull << M_MGID | 1ull << M_PORT_GID | 1ull << M_JOIN_STATE)
#define M_CREATE	(1ull << M_QKEY | 1ull << M_TCLASS | 1ull << M_PKEY | 1ull << M_SL | \
			 1ull << M_FLOW)

/* Offsets in the record. */
enum {
	R_MGID = 0, R_PORT_GID = 16, R_QKEY = 32, R_MLID = 36, R_MTU = 38, R_TCLASS = 39,
	R_PKEY = 40, R_RATE = 42, R_LIFE = 43, R_SL_FLOW_HOP = 44, R_SCOPE_JOIN = 48,
};

enum join_state { JOIN_FULL = 1, JOIN_NON = 2, JOIN_SEND_ONLY_NON = 4, JOIN_SEND_ONLY_FULL = 8 };

#define JOIN_KEEPS	(JOIN_FULL | JOIN_SEND_ONLY_FULL)	/* keeps the group alive */
#define JOIN_RECEIVES	(JOIN_FULL | JOIN_NON)
/* Groups that a port can keep alive: so few that 16 HCAs cannot use up FORWARD_MLIDS together. */
#define PORT_GROUPS	60
#define EXACTLY		(SA_EXACTLY << 6)
#define IPOIB_QKEY	0x0b1b
#define IPOIB_MTU	4	/* 2048 bytes */
#define IPOIB_RATE	3	/* 10 Gb/s */
#define MGID_IPOIB	0xff12401bffff0000ull	/* upper half, of the default partition */
#define MGID_SM		0xff12a01bfe800000ull	/* of groups whose GID is made here */

struct sa_group {
	uint8_t rec[SA_MCMEMBER_BYTES];		/* without a member's GID and join state */
	bool permanent;
	uint8_t join[SWITCH_PORTS + 1];		/* by port of the switch */
	uint8_t gid[SWITCH_PORTS + 1][16];	/* the port GID with which each port joined */
};

struct sa_groups {
	struct switch_node *sw;
	struct sa_notices *ns;
	struct sa_group *group[FORWARD_MLIDS];	/* by multicast LID */
	uint64_t made;				/* number of group GIDs made here */
};

/* ---- groups ---------------------------------------------------------------------------------- */

static struct sa_group *group_find(const struct sa_groups *gs, const uint8_t *mgid, unsigned int *i)
{
	for (*i = 0; *i < FORWARD_MLIDS; ++*i)
		if (gs->group[*i] && !memcmp(gs->group[*i]->rec + R_MGID, mgid, 16))
			return gs->group[*i];
	return NULL;
}

static struct sa_group *group_new(struct sa_groups *gs, unsigned int *index)
{
	unsigned int i = 0;

	while (i < FORWARD_MLIDS && gs->group[i])
		i++;
	if (i == FORWARD_MLIDS)
		return NULL;
	*index = i;
	gs->group[i] = calloc(1, sizeof(**gs->group));
	if (gs->group[i])
		put_be16(gs->group[i]->rec + R_MLID, LID_MCAST_FIRST + i);
	return gs->group[i];
}

/* Set the switch's multicast table entry of a group to the ports that receive. */
static void group_forward(struct sa_groups *gs, unsigned int i)
{
	const struct sa_group *g = gs->group[i];
	uint64_t members = 0;
	unsigned int port;

	for (port = 1; g && port <= SWITCH_PORTS; port++)
		members |= (uint64_t)!!(g->join[port] & JOIN_RECEIVES) << port;
	fabric_forward(gs->sw->fabric)->members[i] = members;
}

static bool group_is_kept(const struct sa_group *g)
{
	unsigned int port;

	for (port = 0; port <= SWITCH_PORTS; port++)
		if (g->join[port] & JOIN_KEEPS)
			return true;
	return g->permanent;
}

/* Whether a port keeps PORT_GROUPS groups alive, as many as a port can. */
static bool port_keeps_enough(const struct sa_groups *gs, unsigned int port)
{
	unsigned int i, n = 0;

	for (i = 0; i < FORWARD_MLIDS; i++)
		n += gs->group[i] && gs->group[i]->join[port] & JOIN_KEEPS;
	return n >= PORT_GROUPS;
}

/* A group that is not permanent ends when its last full member leaves, even if members are left. */
static void group_left(struct sa_groups *gs, unsigned int i)
{
	uint8_t mgid[16];

	if (group_is_kept(gs->group[i])) {
		group_forward(gs, i);
		return;
	}
	memcpy(mgid, gs->group[i]->rec + R_MGID, sizeof(mgid));
	free(gs->group[i]);
	gs->group[i] = NULL;
	group_forward(gs, i);
	sa_notify(gs->ns, TRAP_GROUP_GONE, mgid);
}

/* The group of IPoIB broadcasts in the default partition (RFC 4391, section 4). */
static bool group_broadcast(struct sa_groups *gs)
{
	unsigned int i;
	struct sa_group *g = group_new(gs, &i);

	if (!g)
		return false;
	g->permanent = true;
	put_be64(g->rec + R_MGID, MGID_IPOIB);
	put_be64(g->rec + R_MGID + 8, 0xffffffff);
	put_be32(g->rec + R_QKEY, IPOIB_QKEY);
	g->rec[R_MTU] = EXACTLY | IPOIB_MTU;
	put_be16(g->rec + R_PKEY, 0xffff);
	g->rec[R_RATE] = EXACTLY | IPOIB_RATE;
	g->rec[R_LIFE] = EXACTLY | SA_PACKET_LIFE;
	g->rec[R_SCOPE_JOIN] = 2 << 4;
	return true;
}

/**
 * sa_groups_new() - make the multicast groups of a subnet
 * @sw: the switch
 * @ns: subscriptions to notices, such as those of new groups and of groups that end
 *
 * Return: the groups, with only the group of IPoIB broadcasts; NULL if memory is short.
 */
struct sa_groups *sa_groups_new(struct switch_node *sw, struct sa_notices *ns)
{
	struct sa_groups *gs = calloc(1, sizeof(*gs));

	if (!gs)
		return NULL;
	gs->sw = sw;
	gs->ns = ns;
	if (group_broadcast(gs))
		return gs;
	free(gs);
	return NULL;
}

/**
 * sa_groups_free() - free the multicast groups
 * @gs: the groups
 */
void sa_groups_free(struct sa_groups *gs)
{
	unsigned int i;

	for (i = 0; i < FORWARD_MLIDS; i++)
		free(gs->group[i]);
	free(gs);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Whether a group has the properties that the request asks for. */
static bool join_fits(const struct sa_group *g, const struct sa_request *rq)
{
	static const struct sa_component c[] = {
		{ M_QKEY, 8 * R_QKEY, 32 }, { M_TCLASS, 8 * R_TCLASS, 8 },
		{ M_PKEY, 8 * R_PKEY + 1, 15 }, { M_SL, 8 * R_SL_FLOW_HOP, 4 },
		{ M_FLOW, 8 * R_SL_FLOW_HOP + 4, 20 }, { M_HOP, 8 * R_SL_FLOW_HOP + 24, 8 },
	};
	uint8_t mtu = g->rec[R_MTU] & 63, rate = g->rec[R_RATE] & 63, asked;
	unsigned int have, want;

	if (!sa_match(rq, c, ARRAY_SIZE(c), g->rec))
		return false;
	if (sa_has(rq, M_MTU_SELECTOR) && sa_has(rq, M_MTU)) {
		asked = rq->data[R_MTU];
		if ((asked >> 6 == SA_GREATER && mtu <= (asked & 63)) ||
		    (asked >> 6 == SA_LESS && mtu >= (asked & 63)) ||
		    (asked >> 6 == SA_EXACTLY && mtu != (asked & 63)))
			return false;
	}
	if (!sa_has(rq, M_RATE_SELECTOR) || !sa_has(rq, M_RATE))
		return true;
	asked = rq->data[R_RATE];
	have = sa_rank_rate(rate);
	want = sa_rank_rate(asked & 63);
	return !(asked >> 6 == SA_GREATER && have <= want) &&
	       !(asked >> 6 == SA_LESS && have >= want) &&
	       !(asked >> 6 == SA_EXACTLY && have != want);
}

/* MTU and rate of a new group: what the creator's port has, unless the request wants less. */
static bool join_choose(const struct sa_request *rq, const struct sa_end *e, struct sa_group *g)
{
	uint8_t mtu = e->mtu, rate = e->rate;

	if (sa_has(rq, M_MTU_SELECTOR) && sa_has(rq, M_MTU) &&
	    !sa_select(rq->data[R_MTU], e->mtu, sa_rank_plain, &mtu))
		return false;
	if (sa_has(rq, M_RATE_SELECTOR) && sa_has(rq, M_RATE) &&
	    !sa_select(rq->data[R_RATE], e->rate, sa_rank_rate, &rate))
		return false;
	g->rec[R_MTU] = EXACTLY | mtu;
	g->rec[R_RATE] = EXACTLY | rate;
	g->rec[R_LIFE] = EXACTLY | SA_PACKET_LIFE;
	return true;
}

static bool mgid_is_zero(const uint8_t *mgid)
{
	static const uint8_t zero[16];

	return !memcmp(mgid, zero, sizeof(zero));
}

static uint16_t join_create(struct sa_groups *gs, struct sa_request *rq, const struct sa_end *e,
			    unsigned int *index)
{
	const uint8_t *q = rq->data;
	struct sa_group want = { .permanent = false }, *g;

	if (!(q[R_SCOPE_JOIN] & JOIN_KEEPS))
		return SA_INVALID;
	if ((rq->mask & M_CREATE) != M_CREATE)
		return SA_INSUFFICIENT;
	if (q[R_MGID] != 0xff && !mgid_is_zero(q + R_MGID))
		return SA_INVALID;
	if (!join_choose(rq, e, &want))
		return SA_INVALID;
	g = port_keeps_enough(gs, rq->port) ? NULL : group_new(gs, index);
	if (!g)
		return SA_NO_RESOURCES;
	memcpy(want.rec + R_MGID, q + R_MGID, 16);
	if (mgid_is_zero(want.rec + R_MGID)) {
		put_be64(want.rec + R_MGID, MGID_SM);
		put_be64(want.rec + R_MGID + 8, ++gs->made);
	}
	memcpy(want.rec + R_QKEY, q + R_QKEY, 4);
	want.rec[R_TCLASS] = q[R_TCLASS];
	memcpy(want.rec + R_PKEY, q + R_PKEY, 2);
	memcpy(want.rec + R_SL_FLOW_HOP, q + R_SL_FLOW_HOP, 4);
	want.rec[R_SCOPE_JOIN] = want.rec[R_MGID + 1] << 4;
	put_be16(want.rec + R_MLID, LID_MCAST_FIRST + *index);
	*g = want;
	return SA_OK;
}

/* Make the record of a member; for port 0, the record of the group without a member. */
static void member_record(const struct sa_group *g, unsigned int port, uint8_t *rec)
{
	memcpy(rec, g->rec, SA_MCMEMBER_BYTES);
	if (!port)
		return;
	memcpy(rec + R_PORT_GID, g->gid[port], 16);
	rec[R_SCOPE_JOIN] |= g->join[port];
}

/* A port joins and leaves for itself only, by any of its GIDs. */
static uint16_t join_check(const struct sa_request *rq, struct sa_end *e)
{
	if ((rq->mask & M_JOIN) != M_JOIN)
		return SA_INSUFFICIENT;
	if (!sa_end(rq->sw, rq->port, e) || !(rq->data[R_SCOPE_JOIN] & 15))
		return SA_INVALID;
	return sa_end_has_gid(rq->sw, rq->port, rq->data + R_PORT_GID) ? SA_OK : SA_INVALID;
}

/**
 * sa_mcmember_join() - answer Set of MCMemberRecord
 * @rq: the request, to whose answer the record of the member is added
 *
 * Makes the group if it does not exist. For that, the request has to describe the group and to make
 * the port a full member, and the port has to be a full member of less than PORT_GROUPS groups.
 *
 * Return: SA_OK, SA_INSUFFICIENT, SA_INVALID or SA_NO_RESOURCES.
 */
uint16_t sa_mcmember_join(struct sa_request *rq)
{
	struct sa_groups *gs = rq->groups;
	uint8_t rec[SA_MCMEMBER_BYTES];
	bool created = false;
	struct sa_group *g;
	struct sa_end e;
	unsigned int i;
	uint16_t st = join_check(rq, &e);

	if (st)
		return st;
	if (sa_has(rq, M_PKEY) && !sa_end_in(rq->sw, rq->port, get_be16(rq->data + R_PKEY)))
		return SA_INVALID;
	g = group_find(gs, rq->data + R_MGID, &i);
	if (!g) {
		st = join_create(gs, rq, &e, &i);
		if (st)
			return st;
		g = gs->group[i];
		created = true;
	} else if (!join_fits(g, rq) || (g->rec[R_MTU] & 63) > e.mtu ||
		   !sa_end_in(rq->sw, rq->port, get_be16(g->rec + R_PKEY))) {
		return SA_INVALID;
	}
	g->join[rq->port] |= rq->data[R_SCOPE_JOIN] & 15;
	memcpy(g->gid[rq->port], rq->data + R_PORT_GID, 16);
	group_forward(gs, i);
	member_record(g, rq->port, rec);
	sa_add(rq, rec);
	if (created)
		sa_notify(gs->ns, TRAP_GROUP_NEW, g->rec + R_MGID);
	return SA_OK;
}

/**
 * sa_mcmember_leave() - answer Delete of MCMemberRecord
 * @rq: the request; the member's record, with the remaining join state, is added to its answer
 *
 * Return: SA_OK, SA_INSUFFICIENT, or SA_INVALID if the port has no such membership.
 */
uint16_t sa_mcmember_leave(struct sa_request *rq)
{
	struct sa_groups *gs = rq->groups;
	uint8_t rec[SA_MCMEMBER_BYTES], leave;
	struct sa_group *g;
	struct sa_end e;
	unsigned int i;
	uint16_t st = join_check(rq, &e);

	if (st)
		return st;
	leave = rq->data[R_SCOPE_JOIN] & 15;
	g = group_find(gs, rq->data + R_MGID, &i);
	if (!g || (g->join[rq->port] & leave) != leave)
		return SA_INVALID;
	g->join[rq->port] &= ~leave;
	member_record(g, rq->port, rec);
	sa_add(rq, rec);
	group_left(gs, i);
	return SA_OK;
}

/**
 * sa_groups_port_gone() - end the memberships of a port
 * @gs: the groups
 * @port: number of the switch's port, whose link went down
 */
void sa_groups_port_gone(struct sa_groups *gs, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < FORWARD_MLIDS; i++)
		if (gs->group[i] && gs->group[i]->join[port]) {
			gs->group[i]->join[port] = 0;
			group_left(gs, i);
		}
}

/* ---- queries --------------------------------------------------------------------------------- */

static void member_add(struct sa_request *rq, const struct sa_group *g, unsigned int port)
{
	static const struct sa_component c[] = {
		{ M_MGID, 8 * R_MGID, 128 }, { M_PORT_GID, 8 * R_PORT_GID, 128 },
		{ M_QKEY, 8 * R_QKEY, 32 }, { M_MLID, 8 * R_MLID, 16 },
		{ M_TCLASS, 8 * R_TCLASS, 8 }, { M_PKEY, 8 * R_PKEY, 16 },
		{ M_SL, 8 * R_SL_FLOW_HOP, 4 }, { M_FLOW, 8 * R_SL_FLOW_HOP + 4, 20 },
		{ M_HOP, 8 * R_SL_FLOW_HOP + 24, 8 }, { M_SCOPE, 8 * R_SCOPE_JOIN, 4 },
	};
	uint8_t rec[SA_MCMEMBER_BYTES], state = rq->data[R_SCOPE_JOIN] & 15;

	member_record(g, port, rec);
	if (sa_has(rq, M_JOIN_STATE) && !(rec[R_SCOPE_JOIN] & state))
		return;
	if (sa_match(rq, c, ARRAY_SIZE(c), rec))
		sa_add(rq, rec);
}

/**
 * sa_mcmember_get() - answer Get and GetTable of MCMemberRecord
 * @rq: the request
 *
 * A trusted requester gets a record of each member, and of each group without members. Other
 * requesters get a record of each group or, if they ask for a port or a join state, the records of
 * the requester's own port.
 *
 * Return: SA_OK.
 */
uint16_t sa_mcmember_get(struct sa_request *rq)
{
	struct sa_groups *gs = rq->groups;
	bool members = sa_has(rq, M_PORT_GID) || sa_has(rq, M_JOIN_STATE);
	unsigned int i, port, n;

	for (i = 0; i < FORWARD_MLIDS; i++) {
		const struct sa_group *g = gs->group[i];

		for (port = 1, n = 0; g && port <= SWITCH_PORTS; port++) {
			if (!g->join[port] || !(rq->trusted || (members && port == rq->port)))
				continue;
			member_add(rq, g, port);
			n++;
		}
		if (g && !n && !members)
			member_add(rq, g, 0);
	}
	return SA_OK;
}
