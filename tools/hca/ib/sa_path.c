// SPDX-License-Identifier: GPL-2.0
/*
 * Path records (InfiniBand Architecture, volume 1, 15.2.5.16): there is one path from each end port
 * to itself and to each other end port, in each partition that both ports are in. A request that
 * names no P_Key gets the path in the first of these partitions.
 */
#include <string.h>

#include "address.h"
#include "ifc.h"
#include "mad_format.h"
#include "sa_path.h"
#include "sa_record.h"

/* Bits of the component mask. */
enum {
	P_DGID = 2, P_SGID = 3, P_DLID = 4, P_SLID = 5, P_RAW = 6, P_PKEY = 13, P_MTU_SELECTOR = 16,
	P_MTU = 17, P_RATE_SELECTOR = 18, P_RATE = 19, P_LIFE_SELECTOR = 20, P_LIFE = 21,
};

/* Offsets in the record. */
enum {
	OFF_SERVICE = 0, OFF_DGID = 8, OFF_SGID = 24, OFF_DLID = 40, OFF_SLID = 42, OFF_FLOW = 44,
	OFF_TCLASS = 48, OFF_NUMB = 49, OFF_PKEY = 50, OFF_SL = 52, OFF_MTU = 54, OFF_RATE = 55,
	OFF_LIFE = 56,
};

#define REVERSIBLE	0x80
#define RAW_TRAFFIC	0x80
#define EXACTLY		(SA_EXACTLY << 6)

/* Whether this end port has the request's source or destination GID and LID. */
static bool path_is_end(const struct sa_request *rq, unsigned int port, const struct sa_end *e,
			bool source)
{
	const uint8_t *q = rq->data;

	if (sa_has(rq, source ? P_SGID : P_DGID) &&
	    !sa_end_has_gid(rq->sw, port, q + (source ? OFF_SGID : OFF_DGID)))
		return false;
	return !sa_has(rq, source ? P_SLID : P_DLID) ||
	       get_be16(q + (source ? OFF_SLID : OFF_DLID)) == e->lid;
}

/*
 * An end port that can be the source or the destination of a path, with the P_Keys of its table. A
 * request reads the table of each end port only once, because the read takes the HCA's lock.
 */
struct path_end {
	bool is_src, is_dst;
	struct sa_end end;
	unsigned int npkeys;
	uint16_t pkey[SA_END_PKEYS];
};

/*
 * The P_Key that the request asks for, if both ports are in its partition; or the first P_Key of
 * @from that matches a P_Key of @to; 0 if there is none.
 */
static uint16_t path_pkey(const struct sa_request *rq, const struct path_end *from,
			  const struct path_end *to)
{
	uint16_t asked = get_be16(rq->data + OFF_PKEY);
	unsigned int i, j;

	for (i = 0; i < from->npkeys; i++) {
		uint16_t a = from->pkey[i];

		if (sa_has(rq, P_PKEY) && (a ^ asked) & ~PKEY_FULL & 0xffff)
			continue;
		for (j = 0; j < to->npkeys; j++)
			if (pkeys_match(a, to->pkey[j]))
				return sa_has(rq, P_PKEY) ? asked : a;
	}
	return 0;
}

/* Choose the MTU or the rate by the request's selector. Returns false if no value fits. */
static bool path_select(const struct sa_request *rq, unsigned int selector, unsigned int val,
			uint8_t asked, uint8_t most, unsigned int (*rank)(uint8_t), uint8_t *rec)
{
	uint8_t got = most;

	if (sa_has(rq, selector) && (sa_has(rq, val) || asked >> 6 == SA_LARGEST) &&
	    !sa_select(asked, most, rank, &got))
		return false;
	*rec = EXACTLY | got;
	return true;
}

/* The packet life time is a property of the path: it cannot be chosen. */
static bool path_life_ok(const struct sa_request *rq)
{
	uint8_t asked = rq->data[OFF_LIFE], val = asked & 63;

	if (!sa_has(rq, P_LIFE_SELECTOR) || !sa_has(rq, P_LIFE))
		return true;
	switch (asked >> 6) {
	case SA_GREATER:
		return val < SA_PACKET_LIFE;
	case SA_LESS:
		return val > SA_PACKET_LIFE;
	case SA_EXACTLY:
		return val == SA_PACKET_LIFE;
	default:
		return true;
	}
}

/* The record repeats the GIDs that the request names, which may be any GIDs of the two ports. */
static void path_add(struct sa_request *rq, const struct path_end *from,
		     const struct path_end *to)
{
	const struct sa_end *src = &from->end, *dst = &to->end;
	const uint8_t *q = rq->data;
	uint16_t pkey = path_pkey(rq, from, to);
	uint8_t rec[SA_PATH_BYTES] = { 0 };
	uint8_t mtu = src->mtu < dst->mtu ? src->mtu : dst->mtu;
	uint8_t rate = sa_rank_rate(src->rate) < sa_rank_rate(dst->rate) ? src->rate : dst->rate;

	if (!pkey ||
	    !path_select(rq, P_MTU_SELECTOR, P_MTU, q[OFF_MTU], mtu, sa_rank_plain,
			 rec + OFF_MTU) ||
	    !path_select(rq, P_RATE_SELECTOR, P_RATE, q[OFF_RATE], rate, sa_rank_rate,
			 rec + OFF_RATE))
		return;
	memcpy(rec + OFF_SERVICE, q + OFF_SERVICE, 8);
	memcpy(rec + OFF_DGID, sa_has(rq, P_DGID) ? q + OFF_DGID : dst->gid, 16);
	memcpy(rec + OFF_SGID, sa_has(rq, P_SGID) ? q + OFF_SGID : src->gid, 16);
	put_be16(rec + OFF_DLID, dst->lid);
	put_be16(rec + OFF_SLID, src->lid);
	put_be32(rec + OFF_FLOW, get_be32(q + OFF_FLOW) & 0x0fffffff);
	rec[OFF_TCLASS] = q[OFF_TCLASS];
	rec[OFF_NUMB] = REVERSIBLE;
	put_be16(rec + OFF_PKEY, pkey);
	rec[OFF_SL + 1] = q[OFF_SL + 1] & 15;
	rec[OFF_LIFE] = EXACTLY | SA_PACKET_LIFE;
	sa_add(rq, rec);
}

static void path_find_end(const struct sa_request *rq, unsigned int port, struct path_end *e)
{
	if (!sa_end(rq->sw, port, &e->end))
		return;
	e->is_src = path_is_end(rq, port, &e->end, true);
	e->is_dst = path_is_end(rq, port, &e->end, false);
	if (e->is_src || e->is_dst)
		e->npkeys = sa_end_pkeys(rq->sw, port, e->pkey);
}

/**
 * sa_path_get() - answer Get and GetTable of PathRecord
 * @rq: the request, to whose answer the records are added
 *
 * Return: SA_OK, or SA_INVALID for raw packets.
 */
uint16_t sa_path_get(struct sa_request *rq)
{
	struct path_end ends[SWITCH_PORTS + 1] = {};
	unsigned int from, to;

	if (sa_has(rq, P_RAW) && (rq->data[OFF_FLOW] & RAW_TRAFFIC))
		return SA_INVALID;
	if (!path_life_ok(rq))
		return SA_OK;
	for (from = 0; from <= SWITCH_PORTS; from++)
		path_find_end(rq, from, &ends[from]);
	for (from = 0; from <= SWITCH_PORTS; from++)
		for (to = 0; ends[from].is_src && to <= SWITCH_PORTS; to++)
			if (ends[to].is_dst)
				path_add(rq, &ends[from], &ends[to]);
	return SA_OK;
}
