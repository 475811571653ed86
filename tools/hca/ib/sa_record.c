// SPDX-License-Identifier: GPL-2.0
/*
 * Records of subnet administration (InfiniBand Architecture, volume 1, 15.2): matching
 * records by the component mask, selectors of MTU and rate, and the end ports that records are
 * about. The HCA's attr_lock is held to read an HCA's attributes, because the HCA's thread may
 * change them.
 */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "mad_format.h"
#include "port_info.h"
#include "profile.h"
#include "sa_record.h"
#include "sma.h"
#include "switch.h"
#include "util.h"

#define RECORDS_BYTES	(512u << 10)	/* of the longest answer */
#define MTU_4096	5

static bool sa_bits_equal(const uint8_t *a, const uint8_t *b, unsigned int off, unsigned int width)
{
	unsigned int n;

	for (; width; off += n, width -= n) {
		n = width < 64 ? width : 64;
		if (ifc_get_bits(a, off, n) != ifc_get_bits(b, off, n))
			return false;
	}
	return true;
}

/**
 * sa_match() - compare a record with the record in a request
 * @rq: the request
 * @c: the components that can be compared
 * @n: number of components
 * @rec: the record
 *
 * Volume 1, 15.4.4.
 *
 * Return: whether all components in the request's mask are equal.
 */
bool sa_match(const struct sa_request *rq, const struct sa_component *c, size_t n,
	      const uint8_t *rec)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (sa_has(rq, c[i].bit) && !sa_bits_equal(rq->data, rec, c[i].off, c[i].width))
			return false;
	return true;
}

/**
 * sa_add() - add a record to the answer
 * @rq: the request
 * @rec: the record, of rq->out.record bytes
 */
void sa_add(struct sa_request *rq, const uint8_t *rec)
{
	struct sa_records *o = &rq->out;
	size_t padded = (o->record + 7) / 8 * 8;
	uint8_t *bytes;

	if (o->len + padded > o->size) {
		size_t size = o->size ? 2 * o->size : 4096;

		bytes = size <= RECORDS_BYTES ? realloc(o->bytes, size) : NULL;
		if (!bytes) {
			o->failed = true;
			return;
		}
		o->bytes = bytes;
		o->size = size;
	}
	memset(o->bytes + o->len, 0, padded);
	memcpy(o->bytes + o->len, rec, o->record);
	o->len += padded;
}

/* ---- end ports ------------------------------------------------------------------------------- */

static struct hca *sa_hca(const struct switch_node *sw, unsigned int port)
{
	struct hca *hca = fabric_peer(sw->fabric, port);

	return hca && fabric_state(hca, false) == PORT_ACTIVE ? hca : NULL;
}

/**
 * sa_end_gid() - first GID of an end port, whatever the state of the port
 * @sw: the switch
 * @port: number of the switch's port, not 0
 * @gid: set to the GID
 *
 * Return: false if there is no such end port.
 */
bool sa_end_gid(const struct switch_node *sw, unsigned int port, uint8_t gid[16])
{
	struct hca *hca = fabric_peer(sw->fabric, port);

	if (!hca)
		return false;
	pthread_mutex_lock(&hca->attr_lock);
	gid_get(hca, 0, gid);
	pthread_mutex_unlock(&hca->attr_lock);
	return true;
}

/* Code of the rate of a link with four lanes. */
static uint8_t sa_link_rate(enum link_speed speed)
{
	switch (speed) {
	case SPEED_FDR:
		return 12;		/* 56 Gb/s */
	case SPEED_EDR:
		return 16;		/* 100 Gb/s */
	case SPEED_HDR:
		return 17;		/* 200 Gb/s */
	default:
		return 21;		/* 400 Gb/s */
	}
}

/**
 * sa_end() - describe an end port of the subnet
 * @sw: the switch
 * @port: number of the switch's port
 * @e: set to the description
 *
 * Return: false if there is no such end port, or if it is not active.
 */
bool sa_end(const struct switch_node *sw, unsigned int port, struct sa_end *e)
{
	struct hca *hca;

	memset(e, 0, sizeof(*e));
	if (!port) {
		e->lid = sw->lid;
		e->guid = SWITCH_GUID;
		e->mtu = MTU_4096;
		e->rate = sa_link_rate(SPEED_NDR);
		switch_gid(sw, e->gid);
		return true;
	}
	hca = sa_hca(sw, port);
	if (!hca)
		return false;
	e->lid = fabric_lid(hca);
	e->guid = fabric_guid(hca);
	e->mtu = mtu_code(fabric_link_mtu(hca));
	e->rate = sa_link_rate(hca->profile->link_speed);
	return sa_end_gid(sw, port, e->gid);
}

/**
 * sa_end_has_gid() - tell whether an end port has a GID
 * @sw: the switch
 * @port: number of the switch's port
 * @gid: the GID
 */
bool sa_end_has_gid(const struct switch_node *sw, unsigned int port, const uint8_t gid[16])
{
	struct hca *hca = sa_hca(sw, port);
	uint8_t own[16];
	bool has;

	if (!port) {
		switch_gid(sw, own);
		return !memcmp(own, gid, sizeof(own));
	}
	if (!hca)
		return false;
	pthread_mutex_lock(&hca->attr_lock);
	has = gid_is_ours(hca, gid);
	pthread_mutex_unlock(&hca->attr_lock);
	return has;
}

/**
 * sa_end_pkeys() - read the whole P_Key table of an end port
 * @sw: the switch
 * @port: number of the switch's port
 * @pkeys: set to the P_Keys, in the order of the table, without the entries that are not used
 *
 * Return: the number of P_Keys.
 */
unsigned int sa_end_pkeys(const struct switch_node *sw, unsigned int port,
			  uint16_t pkeys[SA_END_PKEYS])
{
	struct hca *hca = port ? sa_hca(sw, port) : NULL;
	unsigned int i, n = 0;

	if (port && !hca)
		return 0;
	if (hca)
		pthread_mutex_lock(&hca->attr_lock);
	for (i = 0; i < SA_END_PKEYS; i++) {
		pkeys[n] = hca ? pkey_table_get(hca, i) : i < SWITCH_PKEYS ? sw->pkey[i] : 0;
		n += pkeys[n] != 0;
	}
	if (hca)
		pthread_mutex_unlock(&hca->attr_lock);
	return n;
}

/**
 * sa_end_in() - tell whether an end port is a member of a partition
 * @sw: the switch
 * @port: number of the switch's port
 * @pkey: P_Key of the partition; the kind of membership does not count
 */
bool sa_end_in(const struct switch_node *sw, unsigned int port, uint16_t pkey)
{
	uint16_t own[SA_END_PKEYS];
	unsigned int n = sa_end_pkeys(sw, port, own), i;

	for (i = 0; i < n; i++)
		if (pkeys_match(own[i], pkey | PKEY_FULL))
			return true;
	return false;
}

/**
 * sa_end_attr() - read an attribute of subnet management of an end port's node
 * @sw: the switch
 * @port: number of the switch's port
 * @attr: the attribute
 * @mod: its modifier
 * @data: set to the attribute, 64 bytes
 *
 * Return: false if the node does not have the attribute.
 */
bool sa_end_attr(struct switch_node *sw, unsigned int port, uint16_t attr, uint32_t mod,
		 uint8_t *data)
{
	uint8_t in[MAD_BYTES] = { 1, CLASS_SM_LID, 1, METHOD_GET }, out[MAD_BYTES];
	struct hca *hca = sa_hca(sw, port);

	put_be16(in + OFF_ATTR, attr);
	put_be32(in + OFF_MOD, mod);
	if (!port)
		return !switch_get(sw, 0, in, data);
	if (!hca || !hca->port || !sma_read(hca, in, out) || get_be16(out + OFF_STATUS))
		return false;
	memcpy(data, out + OFF_SMP_DATA, SMP_DATA_BYTES);
	return true;
}

/* ---- selectors ------------------------------------------------------------------------------- */

/**
 * sa_rank_plain() - rank of the code of an MTU: a higher code is a higher MTU
 * @code: the code
 */
unsigned int sa_rank_plain(uint8_t code)
{
	return code;
}

/**
 * sa_rank_rate() - rank of the code of a rate
 * @code: the code
 *
 * Return: the rate in Gb/s, rounded; 0 for a code that does not exist.
 */
unsigned int sa_rank_rate(uint8_t code)
{
	static const uint16_t gbps[] = {
		[2] = 3, [3] = 10, [4] = 30, [5] = 5, [6] = 20, [7] = 40, [8] = 60, [9] = 80,
		[10] = 120, [11] = 14, [12] = 56, [13] = 112, [14] = 168, [15] = 25, [16] = 100,
		[17] = 200, [18] = 300, [19] = 28, [20] = 50, [21] = 400, [22] = 600, [23] = 800,
	};

	return code < ARRAY_SIZE(gbps) ? gbps[code] : 0;
}

/**
 * sa_select() - choose a value by a selector
 * @asked: selector and value
 * @most: the greatest value that is possible
 * @rank: order of the values
 * @got: set to the chosen value
 *
 * Volume 1, 15.2.5.16. All values up to the greatest value are possible.
 *
 * Return: false if no value fits.
 */
bool sa_select(uint8_t asked, uint8_t most, unsigned int (*rank)(uint8_t code), uint8_t *got)
{
	uint8_t val = asked & 63, code;

	*got = most;
	switch (asked >> 6) {
	case SA_GREATER:
		return rank(most) > rank(val);
	case SA_LESS:
		if (rank(most) < rank(val))
			return true;
		for (*got = 0, code = 1; code < 64; code++)
			if (rank(code) && rank(code) < rank(val) &&
			    rank(code) <= rank(most) && rank(code) > rank(*got))
				*got = code;
		return *got;
	case SA_EXACTLY:
		*got = val;
		return rank(val) && rank(val) <= rank(most);
	default:
		return true;
	}
}
