// SPDX-License-Identifier: GPL-2.0
/*
 * Records that repeat attributes of subnet management (InfiniBand Architecture, volume 1, 15.2.5):
 * NodeRecord, PortInfoRecord, SwitchInfoRecord, SMInfoRecord, LinkRecord, P_KeyTableRecord.
 */
#include <string.h>

#include "ifc.h"
#include "mad_format.h"
#include "sa_record.h"
#include "sa_table.h"
#include "switch.h"
#include "util.h"

#define BYTES(off, len)	(8 * (off)), (8 * (len))
#define CAP_MASK	24	/* in PortInfoRecord */
#define CAP_MASK_BIT	7	/* the bit of the component mask that selects the CapabilityMask */
#define CAP_MASK_SUBSET	0x80000000u

static void table_add(struct sa_request *rq, const struct sa_component *c, size_t n,
		      const uint8_t *rec)
{
	if (sa_match(rq, c, n, rec))
		sa_add(rq, rec);
}

/**
 * sa_node_get() - answer Get and GetTable of NodeRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_node_get(struct sa_request *rq)
{
	static const struct sa_component c[] = {
		{ 0, BYTES(0, 2) }, { 2, BYTES(4, 1) }, { 3, BYTES(5, 1) }, { 4, BYTES(6, 1) },
		{ 5, BYTES(7, 1) }, { 6, BYTES(8, 8) }, { 7, BYTES(16, 8) }, { 8, BYTES(24, 8) },
		{ 9, BYTES(32, 2) }, { 10, BYTES(34, 2) }, { 11, BYTES(36, 4) },
		{ 12, BYTES(40, 1) }, { 13, BYTES(41, 3) }, { 14, BYTES(44, 64) },
	};
	uint8_t rec[SA_NODE_BYTES], data[SMP_DATA_BYTES];
	struct sa_end e;
	unsigned int i;

	for (i = 0; i <= SWITCH_PORTS; i++) {
		memset(rec, 0, sizeof(rec));
		if (!sa_end(rq->sw, i, &e) || !sa_end_attr(rq->sw, i, SMP_NODE_INFO, 0, data))
			continue;
		put_be16(rec, e.lid);
		memcpy(rec + 4, data, 40);
		if (sa_end_attr(rq->sw, i, SMP_NODE_DESC, 0, data))
			memcpy(rec + 44, data, 64);
		table_add(rq, c, ARRAY_SIZE(c), rec);
	}
	return SA_OK;
}

/*
 * With CAP_MASK_SUBSET in the attribute modifier, a port matches if it has all capabilities that
 * the request names; otherwise the capabilities have to be equal.
 */
static bool port_info_caps_match(const struct sa_request *rq, const uint8_t *rec)
{
	uint32_t asked = get_be32(rq->data + CAP_MASK), has = get_be32(rec + CAP_MASK);

	if (!sa_has(rq, CAP_MASK_BIT))
		return true;
	return rq->mod & CAP_MASK_SUBSET ? (has & asked) == asked : has == asked;
}

static void port_info_add(struct sa_request *rq, const struct sa_end *e, unsigned int end,
			  unsigned int port)
{
	static const struct sa_component c[] = {
		{ 0, BYTES(0, 2) }, { 1, BYTES(2, 1) }, { 4, BYTES(12, 8) }, { 5, BYTES(20, 2) },
		{ 6, BYTES(22, 2) }, { 10, BYTES(32, 1) }, { 15, 8 * 36 + 4, 4 },
	};
	uint8_t rec[SA_PORT_INFO_BYTES] = { 0 };

	put_be16(rec, e->lid);
	rec[2] = port;
	if (!sa_end_attr(rq->sw, end, SMP_PORT_INFO, port, rec + 4))
		return;
	if (!rq->trusted)
		memset(rec + 4, 0, 8);		/* the M_Key */
	if (port_info_caps_match(rq, rec))
		table_add(rq, c, ARRAY_SIZE(c), rec);
}

/**
 * sa_port_info_get() - answer Get and GetTable of PortInfoRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_port_info_get(struct sa_request *rq)
{
	unsigned int i, port;
	struct sa_end e;

	for (i = 0; i <= SWITCH_PORTS; i++) {
		if (!sa_end(rq->sw, i, &e))
			continue;
		if (i)
			port_info_add(rq, &e, i, 1);
		for (port = 0; !i && port <= SWITCH_PORTS; port++)
			port_info_add(rq, &e, 0, port);
	}
	return SA_OK;
}

/**
 * sa_switch_info_get() - answer Get and GetTable of SwitchInfoRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_switch_info_get(struct sa_request *rq)
{
	static const struct sa_component c[] = { { 0, BYTES(0, 2) } };
	uint8_t rec[SA_SWITCH_INFO_BYTES] = { 0 }, data[SMP_DATA_BYTES];

	put_be16(rec, rq->sw->lid);
	if (sa_end_attr(rq->sw, 0, SMP_SWITCH_INFO, 0, data)) {
		memcpy(rec + 4, data, 20);
		table_add(rq, c, ARRAY_SIZE(c), rec);
	}
	return SA_OK;
}

/**
 * sa_sm_info_get() - answer Get and GetTable of SMInfoRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_sm_info_get(struct sa_request *rq)
{
	static const struct sa_component c[] = { { 0, BYTES(0, 2) }, { 2, BYTES(4, 8) } };
	uint8_t rec[SA_SM_INFO_BYTES] = { 0 }, data[SMP_DATA_BYTES];

	put_be16(rec, rq->sw->lid);
	if (sa_end_attr(rq->sw, 0, SMP_SM_INFO, 0, data)) {
		memcpy(rec + 4, data, 24);
		if (!rq->trusted)
			memset(rec + 12, 0, 8);		/* the SM_Key */
		table_add(rq, c, ARRAY_SIZE(c), rec);
	}
	return SA_OK;
}

static void link_add(struct sa_request *rq, const struct sa_end *from, uint8_t from_port,
		     const struct sa_end *to, uint8_t to_port)
{
	static const struct sa_component c[] = {
		{ 0, BYTES(0, 2) }, { 1, BYTES(2, 1) }, { 2, BYTES(3, 1) }, { 3, BYTES(4, 2) },
	};
	uint8_t rec[SA_LINK_BYTES] = { 0 };

	put_be16(rec, from->lid);
	rec[2] = from_port;
	rec[3] = to_port;
	put_be16(rec + 4, to->lid);
	table_add(rq, c, ARRAY_SIZE(c), rec);
}

/**
 * sa_link_get() - answer Get and GetTable of LinkRecord
 * @rq: the request
 *
 * Return: SA_OK.
 */
uint16_t sa_link_get(struct sa_request *rq)
{
	struct sa_end sw, e;
	unsigned int i;

	sa_end(rq->sw, 0, &sw);
	for (i = 1; i <= SWITCH_PORTS; i++) {
		if (!sa_end(rq->sw, i, &e))
			continue;
		link_add(rq, &sw, i, &e, 1);
		link_add(rq, &e, 1, &sw, i);
	}
	return SA_OK;
}

/**
 * sa_pkey_get() - answer Get and GetTable of P_KeyTableRecord
 * @rq: the request
 *
 * Return: SA_OK, or SA_DENIED for a request that is not trusted.
 */
uint16_t sa_pkey_get(struct sa_request *rq)
{
	static const struct sa_component c[] = {
		{ 0, BYTES(0, 2) }, { 1, BYTES(2, 2) }, { 2, BYTES(4, 1) },
	};
	uint8_t rec[SA_PKEY_BYTES];
	unsigned int i, block;
	struct sa_end e;

	if (!rq->trusted)
		return SA_DENIED;
	for (i = 0; i <= SWITCH_PORTS; i++) {
		if (!sa_end(rq->sw, i, &e))
			continue;
		for (block = 0; block < SA_END_PKEYS / PKEYS_IN_BLOCK; block++) {
			memset(rec, 0, sizeof(rec));
			put_be16(rec, e.lid);
			put_be16(rec + 2, block);
			rec[4] = !!i;
			if (sa_end_attr(rq->sw, i, SMP_PKEY_TABLE, block, rec + 8))
				table_add(rq, c, ARRAY_SIZE(c), rec);
		}
	}
	return SA_OK;
}
