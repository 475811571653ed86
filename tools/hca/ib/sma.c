// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet management agent of the HCA's port (InfiniBand Architecture, volume 1, 14.3): what
 * MAD_IFC answers, and what the firmware itself answers while the driver has no queue pair 0.
 */
#include <string.h>

#include "address.h"
#include "caps.h"
#include "clock.h"
#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mad.h"
#include "packet.h"
#include "port.h"
#include "profile.h"
#include "sma.h"
#include "smp.h"

#define M_KEY_BYTES	8	/* at the start of PortInfo */

static void sma_port(struct hca *hca, struct mad_port *mp)
{
	struct port *port = hca->port;
	unsigned int i;

	*mp = (struct mad_port){
		.guid = fabric_guid(hca),
		.part = hca->profile->part,
		.attrs = &port->attrs,
		.view = {
			.lid = fabric_lid(hca),
			.lmc = fabric_lmc(hca),
			.up = fabric_link(hca),
			.state = fabric_state(hca, false),
			.cap_mask = port->cap_mask1,
			.cap_mask2 = hca->profile->port_caps_2,
			.speed = hca->profile->link_speed,
			.local_port = 1,
			.mtu_cap = mtu_code(hca->profile->mtu),
			.gids = gid_table_len(hca),
			.bad_pkeys = port_violations(hca_cap_gen(hca, pkv), hca->count.bad_pkeys),
			.bad_qkeys = port_violations(hca_cap_gen(hca, qkv), hca->count.bad_qkeys),
		},
		.pkeys = pkey_table(hca),
		.npkeys = pkey_table_len(hca),
		.gids = gid_table_len(hca),
		.node_desc = hca->node_desc,
		.perf = {
			.link_downed = hca->count.link_downed,
			.errors = count_rx_errors(&hca->count),
			.octets_tx = hca->count.octets_tx, .octets_rx = hca->count.octets_rx,
			.packets_tx = hca->count.packets_tx, .packets_rx = hca->count.packets_rx,
		},
		.zero = port->perf_zero,
		.mcast_tx = hca->count.mcast_tx, .mcast_rx = hca->count.mcast_rx,
	};
	for (i = 0; i < mp->gids; i++)
		gid_get(hca, i, mp->gid[i]);
}

/* ---- Set ------------------------------------------------------------------------------------- */

/*
 * Some events are raised before all attributes are set. The driver still reads all new values: the
 * HCA's thread executes a command that an event causes only after this function has returned.
 */
static uint16_t sma_set_port_info(struct hca *hca, const struct mad_port *mp, uint32_t mod,
				  const uint8_t *data)
{
	struct port *port = hca->port;
	struct port_wish w;

	port_info_wish(data, &w);
	if ((mod & ~SMP_MOD_EXT_SPEEDS) > 1 || !port_info_valid(&mp->view, true, data) ||
	    !port_set_lids(hca, w.lid, w.lmc))
		return MAD_BAD_VALUE;
	pthread_mutex_lock(&hca->attr_lock);
	port_info_take(&port->attrs, data);
	pthread_mutex_unlock(&hca->attr_lock);
	port_set_prefix(hca, port->attrs.gid_prefix);
	fabric_set_mtu(hca, false, port_mtu(&port->attrs));
	if (w.phys == PHYS_DISABLED)
		port_set_link(hca, false);
	else if (w.phys == PHYS_POLLING)
		port_set_link(hca, true);
	if (w.state)
		port_set_state(hca, w.state);
	if (w.reregister)
		port_reregister(hca);
	return MAD_OK;
}

static uint16_t sma_set_pkeys(struct hca *hca, const struct mad_port *mp, uint32_t mod,
			      const uint8_t *data)
{
	uint32_t first = (mod & 0xffff) * PKEYS_IN_BLOCK;

	if (first >= mp->npkeys)
		return MAD_BAD_VALUE;
	port_set_pkeys(hca, first, data, PKEYS_IN_BLOCK);
	return MAD_OK;
}

static uint16_t sma_set_guids(struct hca *hca, const struct mad_port *mp, uint32_t mod,
			      const uint8_t *data)
{
	if (mod >= mp->gids / GUIDS_IN_BLOCK)
		return MAD_BAD_VALUE;
	port_set_guids(hca, mod * GUIDS_IN_BLOCK, data, GUIDS_IN_BLOCK);
	return MAD_OK;
}

static uint16_t sma_set_sl_to_vl(struct hca *hca, const struct mad_port *mp, uint32_t mod,
				 const uint8_t *data)
{
	struct port_attrs *a = &hca->port->attrs;

	(void)mp;
	(void)mod;
	pthread_mutex_lock(&hca->attr_lock);
	a->sl_to_vl = get_be64(data);
	pthread_mutex_unlock(&hca->attr_lock);
	fabric_set_lanes(hca, false, a->sl_to_vl);
	return MAD_OK;
}

static uint16_t sma_set_vl_arb(struct hca *hca, const struct mad_port *mp, uint32_t mod,
			       const uint8_t *data)
{
	bool ok;

	(void)mp;
	pthread_mutex_lock(&hca->attr_lock);
	ok = port_vl_arb_set(&hca->port->attrs, mod, data);
	pthread_mutex_unlock(&hca->attr_lock);
	return ok ? MAD_OK : MAD_BAD_VALUE;
}

static uint16_t sma_set(struct hca *hca, const struct mad_port *mp, const uint8_t *in)
{
	const uint8_t *data = in + OFF_SMP_DATA;
	uint32_t mod = get_be32(in + OFF_MOD);

	switch (get_be16(in + OFF_ATTR)) {
	case SMP_PORT_INFO:
		return sma_set_port_info(hca, mp, mod, data);
	case SMP_PKEY_TABLE:
		return sma_set_pkeys(hca, mp, mod, data);
	case SMP_GUID_INFO:
		return sma_set_guids(hca, mp, mod, data);
	case SMP_SL_TO_VL:
		return sma_set_sl_to_vl(hca, mp, mod, data);
	case SMP_VL_ARBITRATION:
		return sma_set_vl_arb(hca, mp, mod, data);
	default:
		return MAD_BAD_ATTR;
	}
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool sma_class(uint8_t class)
{
	return class == CLASS_SM_LID || class == CLASS_SM_DIRECTED;
}

/* Answer a Set with the new attribute, a refused Set with the attribute of the request. */
static void sma_answer_set(struct hca *hca, const uint8_t *in, uint8_t *out)
{
	bool directed = in[OFF_CLASS] == CLASS_SM_DIRECTED;
	uint8_t get[MAD_BYTES];
	struct mad_port mp;
	uint16_t status;

	sma_port(hca, &mp);
	status = sma_set(hca, &mp, in);
	sma_port(hca, &mp);
	memcpy(get, in, MAD_BYTES);
	get[OFF_METHOD] = METHOD_GET;
	mad_answer(&mp, get, out);
	if (!status)
		return;
	memcpy(out + OFF_SMP_DATA, in + OFF_SMP_DATA, SMP_DATA_BYTES);
	put_be16(out + OFF_STATUS, status | (directed ? MAD_STATUS_DIRECTION : 0));
}

/* Carry out a Set of PortCounters, and turn it into the Get that makes its answer. */
static void sma_set_counters(struct hca *hca, uint8_t *in)
{
	struct mad_port mp;

	sma_port(hca, &mp);
	pthread_mutex_lock(&hca->attr_lock);
	mad_perf_set(&mp.perf, in + OFF_PMA_DATA, &hca->port->perf_zero);
	pthread_mutex_unlock(&hca->attr_lock);
	in[OFF_METHOD] = METHOD_GET;
}

static bool sma_sets_counters(const uint8_t *in)
{
	return in[OFF_CLASS] == CLASS_PERF && in[OFF_METHOD] == METHOD_SET &&
	       get_be16(in + OFF_ATTR) == PERF_COUNTERS && mad_version_ok(in);
}

/* The check counts violations, so it needs the lock. */
static enum m_key_check sma_check_m_key(struct hca *hca, const uint8_t *in)
{
	enum m_key_check key;

	pthread_mutex_lock(&hca->attr_lock);
	key = port_m_key_check(&hca->port->attrs, in, clock_now_ns());
	pthread_mutex_unlock(&hca->attr_lock);
	return key;
}

/**
 * sma_read() - answer a Get of an attribute, for the agents of the switch
 * @hca: the HCA
 * @in: the request, MAD_BYTES; its M_Key is not checked
 * @out: set to the answer, MAD_BYTES
 *
 * May be called by any thread, unlike the rest of this file.
 *
 * Return: false if there is no answer.
 */
bool sma_read(struct hca *hca, const uint8_t *in, uint8_t *out)
{
	struct mad_port mp;
	bool answered;

	pthread_mutex_lock(&hca->attr_lock);
	sma_port(hca, &mp);
	answered = mad_answer(&mp, in, out);
	pthread_mutex_unlock(&hca->attr_lock);
	return answered;
}

/**
 * sma_answer() - answer a request to the port's agents
 * @hca: the HCA
 * @in: the request, MAD_BYTES
 * @out: set to the answer, MAD_BYTES
 * @any_m_key: do not check the M_Key
 *
 * Return: what the caller has to do with @in or @out.
 */
enum sma_verdict sma_answer(struct hca *hca, const uint8_t *in, uint8_t *out, bool any_m_key)
{
	enum m_key_check key = M_KEY_OK;
	uint8_t get[MAD_BYTES];
	struct mad_port mp;

	if (sma_class(in[OFF_CLASS]) && in[OFF_METHOD] == METHOD_TRAP_REPRESS)
		return SMA_SILENT;
	if (sma_class(in[OFF_CLASS]) && !(in[OFF_METHOD] & METHOD_RESPONSE) && !any_m_key)
		key = sma_check_m_key(hca, in);
	if (key == M_KEY_DENIED)
		return SMA_BAD_M_KEY;
	if (sma_class(in[OFF_CLASS]) && in[OFF_METHOD] == METHOD_SET && mad_version_ok(in)) {
		sma_answer_set(hca, in, out);
		return SMA_REPLY;
	}
	memcpy(get, in, MAD_BYTES);
	if (sma_sets_counters(in))
		sma_set_counters(hca, get);
	sma_port(hca, &mp);
	if (!mad_answer(&mp, get, out))
		return SMA_NO_AGENT;
	if (key == M_KEY_HIDDEN && get_be16(in + OFF_ATTR) == SMP_PORT_INFO)
		memset(out + OFF_SMP_DATA, 0, M_KEY_BYTES);
	return SMA_REPLY;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void sma_reply(struct hca *hca, const struct packet *p, uint16_t dlid, const uint8_t *mad)
{
	uint8_t path_bits = fabric_path_bits(hca, ib_hdr(p)->dlid);
	struct packet *r = packet_alloc(hca->fabric);

	if (!r)
		return;
	r->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(r)->slid = fabric_lid(hca) | path_bits;
	ib_hdr(r)->dlid = dlid;
	ib_hdr(r)->sl = ib_hdr(p)->sl;
	r->pkey = p->pkey;
	r->head.len = MAD_BYTES;
	memcpy(r->payload, mad, MAD_BYTES);
	fabric_tx(hca, r);
}

/**
 * sma_receive() - process a subnet management packet for which there is no queue pair 0
 * @hca: the HCA
 * @p: the packet
 */
void sma_receive(struct hca *hca, const struct packet *p)
{
	const struct smp_node node = { .ports = 1, .lid = fabric_lid(hca) };
	uint8_t in[MAD_BYTES], out[MAD_BYTES] = { 0 };
	enum smp_way way = SMP_BY_LID;
	uint16_t to = ib_hdr(p)->slid;
	bool directed;

	if (!hca->port || !packet_is_smp(p) || p->head.len != MAD_BYTES ||
	    !sma_class(p->payload[OFF_CLASS]))
		return;
	memcpy(in, p->payload, MAD_BYTES);
	directed = in[OFF_CLASS] == CLASS_SM_DIRECTED;
	if (directed && smp_arrive(&node, 1, in, &to) != SMP_HERE)
		return;
	if (in[OFF_METHOD] == METHOD_TRAP || sma_answer(hca, in, out, false) != SMA_REPLY)
		return;
	if (directed)
		way = smp_return(&node, out, &to);
	if (way != SMP_DISCARD)
		sma_reply(hca, p, way == SMP_BY_PORT ? LID_PERMISSIVE : to, out);
}
