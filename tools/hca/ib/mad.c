// SPDX-License-Identifier: GPL-2.0
/*
 * The port's management agents (InfiniBand Architecture, volume 1, chapters 14
 * and 16): what MAD_IFC answers to subnet and performance management.
 */
#include <string.h>

#include "ifc.h"
#include "mad.h"
#include "profile.h"
#include "util.h"

#define PERF_UNIT	4ull	/* bytes in the unit of data counters */

/*
 * CapabilityMask of performance management, that of ConnectX-4: PortCountersExtended, with and
 * without the counters of unicast and multicast packets; PortXmitWait.
 */
#define PERF_CAPS	(1u << 9 | 1u << 10 | 1u << 12)

/* Offsets in the vendor's ExtPortInfo: the FEC in use, and the SLs that allow out of order. */
enum { EXT_PORT_FEC_ACTIVE = 17, EXT_PORT_OOO_SLS = 54 };

#define FEC_RS_271_257_PLR	14	/* Reed-Solomon, and retransmission by the physical layer */

/* Offsets in PortCounters, and bits of its CounterSelect. */
enum {
	PERF_LINK_DOWNED = 7, PERF_RX_ERRORS = 8, PERF_TX_DATA = 24, PERF_RX_DATA = 28,
	PERF_TX_PACKETS = 32, PERF_RX_PACKETS = 36,
};
enum {
	PERF_SELECT_LINK_DOWNED = 1 << 2, PERF_SELECT_RX_ERRORS = 1 << 3,
	PERF_SELECT_TX_DATA = 1 << 12, PERF_SELECT_RX_DATA = 1 << 13,
	PERF_SELECT_TX_PACKETS = 1 << 14, PERF_SELECT_RX_PACKETS = 1 << 15,
};

typedef uint16_t (*attr_fn)(const struct mad_port *port, uint32_t mod, const uint8_t *in,
			    uint8_t *data);

static uint16_t mad_sm_node_desc(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				 uint8_t *data)
{
	(void)mod;
	(void)in;
	memcpy(data, port->node_desc, 64);
	return 0;
}

static uint16_t mad_sm_node_info(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				 uint8_t *data)
{
	(void)mod;
	(void)in;
	data[0] = 1;				/* base version */
	data[1] = 1;				/* class version */
	data[2] = 1;				/* a channel adapter */
	data[3] = 1;				/* ports */
	put_be64(data + 4, port->guid);		/* system image */
	put_be64(data + 12, port->guid);	/* node */
	put_be64(data + 20, port->guid);	/* port */
	put_be16(data + 28, port->npkeys);
	put_be16(data + 30, port->part);
	put_be32(data + 36, 1u << 24 | IEEE_VENDOR_ID);	/* local port, vendor */
	return 0;
}

static uint16_t mad_sm_port_info(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				 uint8_t *data)
{
	(void)in;
	if ((mod & ~SMP_MOD_EXT_SPEEDS) > 1)
		return MAD_BAD_VALUE;
	port_info_get(port->attrs, &port->view, data);
	return 0;
}

/* The port does not tell its FEC mode here: the whole attribute is 0. */
static uint16_t mad_sm_port_info_extended(const struct mad_port *port, uint32_t mod,
					  const uint8_t *in, uint8_t *data)
{
	(void)in;
	(void)data;
	if (!(port->view.cap_mask2 & PORT_CAP2_EXTENDED))
		return MAD_BAD_ATTR;
	return mod > 1 ? MAD_BAD_VALUE : MAD_OK;
}

/*
 * The port has none of the vendor's own speeds. Only of an NDR port it is known what else the
 * attribute has.
 */
static uint16_t mad_sm_ext_port_info(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				     uint8_t *data)
{
	(void)in;
	if (mod > 1)
		return MAD_BAD_VALUE;
	if (port->view.speed != SPEED_NDR)
		return MAD_OK;
	data[EXT_PORT_FEC_ACTIVE] = port->view.up ? FEC_RS_271_257_PLR << 4 : 0;
	put_be16(data + EXT_PORT_OOO_SLS, UINT16_MAX);
	return MAD_OK;
}

static uint16_t mad_sm_sl_to_vl(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				uint8_t *data)
{
	(void)mod;
	(void)in;
	put_be64(data, port->attrs->sl_to_vl);
	return 0;
}

static uint16_t mad_sm_vl_arb(const struct mad_port *port, uint32_t mod, const uint8_t *in,
			      uint8_t *data)
{
	(void)in;
	return port_vl_arb_get(port->attrs, mod, data) ? MAD_OK : MAD_BAD_VALUE;
}

static uint16_t mad_sm_guid_info(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				 uint8_t *data)
{
	unsigned int i;

	(void)in;
	if (mod >= port->gids / GUIDS_IN_BLOCK)
		return MAD_BAD_VALUE;
	for (i = 0; i < GUIDS_IN_BLOCK; i++)
		memcpy(data + i * 8, port->gid[mod * GUIDS_IN_BLOCK + i] + 8, 8);
	return 0;
}

static uint16_t mad_sm_pkey_table(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				  uint8_t *data)
{
	unsigned int block = mod & 0xffff, i;

	(void)in;
	if (block * PKEYS_IN_BLOCK >= port->npkeys)
		return MAD_BAD_VALUE;
	for (i = 0; i < PKEYS_IN_BLOCK; i++)
		put_be16(data + i * 2, port->pkeys[block * PKEYS_IN_BLOCK + i]);
	return 0;
}

static uint16_t mad_pm_class_info(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				  uint8_t *data)
{
	(void)port;
	(void)mod;
	(void)in;
	data[0] = 1;
	data[1] = 1;
	put_be16(data + 2, PERF_CAPS);
	data[7] = 18;				/* response time */
	return 0;
}

static uint64_t mad_saturate(uint64_t n, uint64_t max)
{
	return n > max ? max : n;
}

static uint16_t mad_pm_counters(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				uint8_t *data)
{
	const struct mad_perf *n = &port->perf, *zero = &port->zero;

	(void)mod;
	data[1] = in[OFF_PMA_DATA + 1];		/* port select */
	data[PERF_LINK_DOWNED] = mad_saturate(n->link_downed - zero->link_downed, UINT8_MAX);
	put_be16(data + PERF_RX_ERRORS, mad_saturate(n->errors - zero->errors, UINT16_MAX));
	put_be32(data + PERF_TX_DATA,
		 mad_saturate((n->octets_tx - zero->octets_tx) / PERF_UNIT, UINT32_MAX));
	put_be32(data + PERF_RX_DATA,
		 mad_saturate((n->octets_rx - zero->octets_rx) / PERF_UNIT, UINT32_MAX));
	put_be32(data + PERF_TX_PACKETS,
		 mad_saturate(n->packets_tx - zero->packets_tx, UINT32_MAX));
	put_be32(data + PERF_RX_PACKETS,
		 mad_saturate(n->packets_rx - zero->packets_rx, UINT32_MAX));
	return 0;
}

/**
 * mad_perf_set() - give counters of PortCounters other values, as a Set asks
 * @n: what has been counted
 * @data: of the request: which counters, and their values
 * @zero: changed so that PortCounters has these values
 */
void mad_perf_set(const struct mad_perf *n, const uint8_t *data, struct mad_perf *zero)
{
	uint16_t select = get_be16(data + 2);

	if (select & PERF_SELECT_LINK_DOWNED)
		zero->link_downed = n->link_downed - data[PERF_LINK_DOWNED];
	if (select & PERF_SELECT_RX_ERRORS)
		zero->errors = n->errors - get_be16(data + PERF_RX_ERRORS);
	if (select & PERF_SELECT_TX_DATA)
		zero->octets_tx = n->octets_tx - PERF_UNIT * get_be32(data + PERF_TX_DATA);
	if (select & PERF_SELECT_RX_DATA)
		zero->octets_rx = n->octets_rx - PERF_UNIT * get_be32(data + PERF_RX_DATA);
	if (select & PERF_SELECT_TX_PACKETS)
		zero->packets_tx = n->packets_tx - get_be32(data + PERF_TX_PACKETS);
	if (select & PERF_SELECT_RX_PACKETS)
		zero->packets_rx = n->packets_rx - get_be32(data + PERF_RX_PACKETS);
}

static uint16_t mad_pm_counters_ext(const struct mad_port *port, uint32_t mod, const uint8_t *in,
				    uint8_t *data)
{
	const struct mad_perf *n = &port->perf;

	(void)mod;
	data[1] = in[OFF_PMA_DATA + 1];
	put_be64(data + 8, n->octets_tx / PERF_UNIT);
	put_be64(data + 16, n->octets_rx / PERF_UNIT);
	put_be64(data + 24, n->packets_tx);
	put_be64(data + 32, n->packets_rx);
	put_be64(data + 40, n->packets_tx - port->mcast_tx);
	put_be64(data + 48, n->packets_rx - port->mcast_rx);
	put_be64(data + 56, port->mcast_tx);
	put_be64(data + 64, port->mcast_rx);
	return 0;
}

static const struct {
	uint8_t class;
	uint16_t attr;
	attr_fn get;
} attrs[] = {
	{ CLASS_SM_LID, SMP_NODE_DESC, mad_sm_node_desc },
	{ CLASS_SM_LID, SMP_NODE_INFO, mad_sm_node_info },
	{ CLASS_SM_LID, SMP_GUID_INFO, mad_sm_guid_info },
	{ CLASS_SM_LID, SMP_PORT_INFO, mad_sm_port_info },
	{ CLASS_SM_LID, SMP_PKEY_TABLE, mad_sm_pkey_table },
	{ CLASS_SM_LID, SMP_SL_TO_VL, mad_sm_sl_to_vl },
	{ CLASS_SM_LID, SMP_VL_ARBITRATION, mad_sm_vl_arb },
	{ CLASS_SM_LID, SMP_PORT_INFO_EXTENDED, mad_sm_port_info_extended },
	{ CLASS_SM_LID, SMP_EXT_PORT_INFO, mad_sm_ext_port_info },
	{ CLASS_PERF, 0x01, mad_pm_class_info },
	{ CLASS_PERF, PERF_COUNTERS, mad_pm_counters },
	{ CLASS_PERF, 0x1d, mad_pm_counters_ext },
};

/**
 * mad_version_ok() - tell whether a MAD has the versions of the port's agents
 * @in: the MAD
 */
bool mad_version_ok(const uint8_t *in)
{
	return in[OFF_VERSION] == 1 && in[OFF_CLASS_VERSION] == 1;
}

static uint16_t mad_get(const struct mad_port *port, uint8_t class, const uint8_t *in, uint8_t *out)
{
	uint16_t attr = get_be16(in + OFF_ATTR);
	size_t i;

	if (!mad_version_ok(in))
		return MAD_BAD_VERSION;
	if (in[OFF_METHOD] != METHOD_GET)
		return MAD_BAD_METHOD;
	memset(out + OFF_SMP_DATA, 0, class == CLASS_PERF ? MAD_BYTES - OFF_PMA_DATA : 64);
	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i].class == class && attrs[i].attr == attr)
			return attrs[i].get(port, get_be32(in + OFF_MOD), in, out + OFF_SMP_DATA);
	return MAD_BAD_ATTR;
}

/**
 * mad_answer() - answer a management datagram
 * @port: what the port is like
 * @in: request, MAD_BYTES
 * @out: response, MAD_BYTES
 *
 * Return: false if no agent of the port serves the class, or nothing is to be answered.
 */
bool mad_answer(const struct mad_port *port, const uint8_t *in, uint8_t *out)
{
	bool directed = in[OFF_CLASS] == CLASS_SM_DIRECTED;
	uint8_t class = directed ? CLASS_SM_LID : in[OFF_CLASS];
	uint16_t status;

	if (class != CLASS_SM_LID && class != CLASS_PERF)
		return false;
	if (in[OFF_METHOD] & METHOD_RESPONSE || in[OFF_METHOD] == METHOD_TRAP_REPRESS)
		return false;
	memcpy(out, in, MAD_BYTES);
	status = mad_get(port, class, in, out);
	out[OFF_METHOD] = METHOD_GET_RESP;
	put_be16(out + OFF_STATUS, status | (directed ? MAD_STATUS_DIRECTION : 0));
	return true;
}
