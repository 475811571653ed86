// SPDX-License-Identifier: GPL-2.0
/*
 * The attributes of subnet management of the switch (InfiniBand Architecture, volume 1, 14.2.5).
 */
#include <string.h>

#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "port_info.h"
#include "profile.h"
#include "switch.h"
#include "util.h"

#define NODE_SWITCH	2
#define DEVICE_ID	0xb1eb
#define VENDOR_ID	0x02b1eb
#define LIDS_IN_BLOCK	64	/* of LinearForwardingTable */
#define MLIDS_IN_BLOCK	32	/* of MulticastForwardingTable */
#define PORTS_IN_MASK	16
#define MTU_4096	5
#define SM_MASTER	3
#define SM_PRIORITY	15
#define LIFE_CHANGED	4	/* PortStateChange, in the byte of LifeTimeValue */
/* Notices, SL mapping, system image GUID, extended speeds, client reregistration. */
#define SWITCH_CAP_MASK	0x02004848u

/* Whether the switch has the port that an attribute modifier names. Port 0 is the switch's own. */
static bool switch_has_port(uint32_t mod)
{
	return mod <= SWITCH_PORTS;
}

static void switch_view(struct switch_node *sw, unsigned int n, unsigned int by,
			struct port_view *v)
{
	struct hca *peer = fabric_peer(sw->fabric, n);

	*v = (struct port_view){
		.of_switch = true, .local_port = by, .mtu_cap = MTU_4096, .lid = sw->lid,
	};
	v->disabled = sw->disabled[n];
	v->up = !n || (peer && fabric_link(peer));
	v->state = !n ? sw->state : v->up ? fabric_state(peer, true) : PORT_DOWN;
	v->cap_mask = n ? 0 : SWITCH_CAP_MASK | (sw->manager ? PORT_CAP_SM : 0);
	v->gids = n ? 0 : 1;
	v->speed = peer ? peer->profile->link_speed : SPEED_EDR;
}

static uint16_t switch_node_desc(struct switch_node *sw, unsigned int by, const uint8_t *in,
				 uint8_t *data)
{
	(void)sw;
	(void)by;
	(void)in;
	memcpy(data, "bluebell-hca switch", 19);
	return MAD_OK;
}

static uint16_t switch_node_info(struct switch_node *sw, unsigned int by, const uint8_t *in,
				 uint8_t *data)
{
	(void)sw;
	(void)in;
	data[0] = 1;				/* base version */
	data[1] = 1;				/* class version */
	data[2] = NODE_SWITCH;
	data[3] = SWITCH_PORTS;
	put_be64(data + 4, SWITCH_GUID);	/* system image */
	put_be64(data + 12, SWITCH_GUID);	/* node */
	put_be64(data + 20, SWITCH_GUID);	/* port */
	put_be16(data + 28, SWITCH_PKEYS);
	put_be16(data + 30, DEVICE_ID);
	put_be32(data + 36, (uint32_t)by << 24 | VENDOR_ID);
	return MAD_OK;
}

static uint16_t switch_info(struct switch_node *sw, unsigned int by, const uint8_t *in,
			    uint8_t *data)
{
	const struct forward *fw = fabric_forward(sw->fabric);

	(void)by;
	(void)in;
	put_be16(data, FORWARD_LIDS);
	put_be16(data + 4, FORWARD_MLIDS);
	put_be16(data + 6, fw->linear_top);
	data[8] = sw->default_port;
	data[9] = fw->mcast_primary;
	data[10] = fw->mcast_other;
	data[11] = sw->life << 3 | (sw->changed ? LIFE_CHANGED : 0);
	data[16] = 1 << 3;			/* port 0 is an enhanced port */
	put_be16(data + 18, fw->mcast_top);
	return MAD_OK;
}

static uint16_t switch_guid_info(struct switch_node *sw, unsigned int by, const uint8_t *in,
				 uint8_t *data)
{
	(void)sw;
	(void)by;
	if (get_be32(in + OFF_MOD))
		return MAD_BAD_VALUE;
	put_be64(data, SWITCH_GUID);
	return MAD_OK;
}

static uint16_t switch_port_info(struct switch_node *sw, unsigned int by, const uint8_t *in,
				 uint8_t *data)
{
	uint32_t n = get_be32(in + OFF_MOD) & ~SMP_MOD_EXT_SPEEDS;
	struct port_view v;

	if (!switch_has_port(n))
		return MAD_BAD_VALUE;
	switch_view(sw, n, by, &v);
	port_info_get(&sw->port[n], &v, data);
	return MAD_OK;
}

/* External ports do not enforce partitions, and have no table. */
static uint16_t switch_pkeys(struct switch_node *sw, unsigned int by, const uint8_t *in,
			     uint8_t *data)
{
	unsigned int i;

	(void)by;
	if (get_be32(in + OFF_MOD))
		return MAD_BAD_VALUE;
	for (i = 0; i < SWITCH_PKEYS; i++)
		put_be16(data + 2 * i, sw->pkey[i]);
	return MAD_OK;
}

/* The modifier has the ports of ingress and egress. All ingress ports have the same table. */
static uint16_t switch_sl_to_vl(struct switch_node *sw, unsigned int by, const uint8_t *in,
				uint8_t *data)
{
	uint32_t n = get_be32(in + OFF_MOD) & 0xff;

	(void)by;
	if (!switch_has_port(n))
		return MAD_BAD_VALUE;
	put_be64(data, sw->port[n].sl_to_vl);
	return MAD_OK;
}

/* The modifier has the port in its lower half. */
static uint16_t switch_vl_arb(struct switch_node *sw, unsigned int by, const uint8_t *in,
			      uint8_t *data)
{
	uint32_t mod = get_be32(in + OFF_MOD), n = mod & 0xffff;

	(void)by;
	return switch_has_port(n) && port_vl_arb_get(&sw->port[n], mod, data) ? MAD_OK :
										 MAD_BAD_VALUE;
}

static uint16_t switch_linear_table(struct switch_node *sw, unsigned int by, const uint8_t *in,
				    uint8_t *data)
{
	uint32_t block = get_be32(in + OFF_MOD);
	unsigned int i;

	(void)by;
	if (block >= FORWARD_LIDS / LIDS_IN_BLOCK)
		return MAD_BAD_VALUE;
	for (i = 0; i < LIDS_IN_BLOCK; i++)
		data[i] = fabric_forward(sw->fabric)->port[block * LIDS_IN_BLOCK + i];
	return MAD_OK;
}

/* The modifier has the block of LIDs, and which 16 ports the masks are about. */
static bool switch_mcast_block(const uint8_t *in, uint32_t *first, unsigned int *shift)
{
	uint32_t mod = get_be32(in + OFF_MOD);

	*first = (mod & 0x1ff) * MLIDS_IN_BLOCK;
	*shift = (mod >> 28) * PORTS_IN_MASK;
	return *first < FORWARD_MLIDS && *shift <= SWITCH_PORTS;
}

static uint16_t switch_mcast_table(struct switch_node *sw, unsigned int by, const uint8_t *in,
				   uint8_t *data)
{
	const _Atomic uint64_t *members = fabric_forward(sw->fabric)->members;
	unsigned int shift, i;
	uint32_t first;

	(void)by;
	if (!switch_mcast_block(in, &first, &shift))
		return MAD_BAD_VALUE;
	for (i = 0; i < MLIDS_IN_BLOCK; i++)
		put_be16(data + 2 * i, members[first + i] >> shift);
	return MAD_OK;
}

static uint16_t switch_sm_info(struct switch_node *sw, unsigned int by, const uint8_t *in,
			       uint8_t *data)
{
	(void)by;
	(void)in;
	if (!sw->manager)
		return MAD_BAD_ATTR;
	put_be64(data, SWITCH_GUID);
	put_be64(data + 8, SWITCH_SM_KEY);	/* a request to the SA with this key is trusted */
	put_be32(data + 16, sw->act_count++);
	data[20] = SM_PRIORITY << 4 | SM_MASTER;
	return MAD_OK;
}

/* ---- Set ------------------------------------------------------------------------------------- */

/*
 * The top of a table is the LID of an entry. The top of the multicast table may also be 0, or the
 * LID before the first entry.
 */
static bool switch_tops_valid(uint16_t linear, uint16_t mcast)
{
	return linear < FORWARD_LIDS && (!mcast || (mcast >= LID_MCAST_FIRST - 1 &&
						    mcast < LID_MCAST_FIRST + FORWARD_MLIDS));
}

static uint16_t switch_set_info(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	struct forward *fw = fabric_forward(sw->fabric);
	const uint8_t *data = in + OFF_SMP_DATA;

	(void)by;
	if (!switch_tops_valid(get_be16(data + 6), get_be16(data + 18)))
		return MAD_BAD_VALUE;
	fw->linear_top = get_be16(data + 6);
	sw->default_port = data[8];
	fw->mcast_primary = data[9];
	fw->mcast_other = data[10];
	sw->life = data[11] >> 3;
	if (data[11] & LIFE_CHANGED)
		sw->changed = false;
	fw->mcast_top = get_be16(data + 18);
	return MAD_OK;
}

/*
 * If the subnet manager is at the switch, the switch cannot have the LID of an HCA, and enters its
 * own LID in the forwarding table. A subnet manager on a host writes the table itself.
 */
static bool switch_own_lid(struct switch_node *sw, uint16_t lid)
{
	const struct lids from = { sw->lid, 0 }, to = { lid, 0 };

	if (sw->manager && lid != sw->lid && !fabric_move_lids(sw->fabric, 0, &from, &to))
		return false;
	sw->lid = lid;
	return true;
}

static void switch_change_link(struct hca *peer, bool up)
{
	if (fabric_link(peer) != up)
		fabric_set_far_link(peer, up);
}

static void switch_set_link(struct switch_node *sw, unsigned int n, const struct port_wish *w)
{
	struct hca *peer = fabric_peer(sw->fabric, n);

	if (w->phys)
		sw->disabled[n] = w->phys == PHYS_DISABLED;
	if (!peer)
		return;
	fabric_set_mtu(peer, true, port_mtu(&sw->port[n]));
	if (w->phys == PHYS_DISABLED)
		switch_change_link(peer, false);
	else if (w->phys == PHYS_POLLING)
		switch_change_link(peer, true);
	if (w->state == PORT_DOWN) {		/* take the link down; it trains again */
		switch_change_link(peer, false);
		switch_change_link(peer, true);
	} else if (w->state) {
		fabric_set_state(peer, true, w->state);
	}
}

static uint16_t switch_set_port_info(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	const uint8_t *data = in + OFF_SMP_DATA;
	uint32_t n = get_be32(in + OFF_MOD) & ~SMP_MOD_EXT_SPEEDS;
	struct port_view v;
	struct port_wish w;

	if (!switch_has_port(n))
		return MAD_BAD_VALUE;
	switch_view(sw, n, by, &v);
	port_info_wish(data, &w);
	if (!port_info_valid(&v, !n, data) || (!n && !switch_own_lid(sw, w.lid)))
		return MAD_BAD_VALUE;
	port_info_take(&sw->port[n], data);
	if (n) {
		switch_set_link(sw, n, &w);
		return MAD_OK;
	}
	if (w.state > PORT_DOWN)
		sw->state = w.state;
	return MAD_OK;
}

static uint16_t switch_set_pkeys(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	unsigned int i;

	(void)by;
	if (get_be32(in + OFF_MOD))
		return MAD_BAD_VALUE;
	for (i = 0; i < SWITCH_PKEYS; i++)
		sw->pkey[i] = get_be16(in + OFF_SMP_DATA + 2 * i);
	return MAD_OK;
}

static uint16_t switch_set_sl_to_vl(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	uint32_t n = get_be32(in + OFF_MOD) & 0xff;
	struct hca *peer = fabric_peer(sw->fabric, n);

	(void)by;
	if (!switch_has_port(n))
		return MAD_BAD_VALUE;
	sw->port[n].sl_to_vl = get_be64(in + OFF_SMP_DATA);
	if (peer)
		fabric_set_lanes(peer, true, sw->port[n].sl_to_vl);
	return MAD_OK;
}

static uint16_t switch_set_vl_arb(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	uint32_t mod = get_be32(in + OFF_MOD), n = mod & 0xffff;

	(void)by;
	if (!switch_has_port(n) || !port_vl_arb_set(&sw->port[n], mod, in + OFF_SMP_DATA))
		return MAD_BAD_VALUE;
	return MAD_OK;
}

static uint16_t switch_set_linear(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	uint32_t block = get_be32(in + OFF_MOD);
	unsigned int i;

	(void)by;
	if (block >= FORWARD_LIDS / LIDS_IN_BLOCK)
		return MAD_BAD_VALUE;
	for (i = 0; i < LIDS_IN_BLOCK; i++)
		fabric_forward(sw->fabric)->port[block * LIDS_IN_BLOCK + i] = in[OFF_SMP_DATA + i];
	return MAD_OK;
}

static uint16_t switch_set_mcast(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	const uint64_t ports = (1ull << (SWITCH_PORTS + 1)) - 1;
	_Atomic uint64_t *members = fabric_forward(sw->fabric)->members;
	unsigned int shift, i;
	uint32_t first;

	(void)by;
	if (!switch_mcast_block(in, &first, &shift))
		return MAD_BAD_VALUE;
	for (i = 0; i < MLIDS_IN_BLOCK; i++) {
		uint64_t m = members[first + i] & ~(0xffffull << shift);

		m |= (uint64_t)get_be16(in + OFF_SMP_DATA + 2 * i) << shift & ports;
		members[first + i] = m;
	}
	return MAD_OK;
}

/* ---- the table of attributes ----------------------------------------------------------------- */

static const struct switch_attr {
	uint16_t attr;
	uint16_t (*get)(struct switch_node *sw, unsigned int by, const uint8_t *in, uint8_t *data);
	uint16_t (*set)(struct switch_node *sw, unsigned int by, const uint8_t *in);
} attrs[] = {
	{ SMP_NODE_DESC, switch_node_desc, NULL },
	{ SMP_NODE_INFO, switch_node_info, NULL },
	{ SMP_SWITCH_INFO, switch_info, switch_set_info },
	{ SMP_GUID_INFO, switch_guid_info, NULL },
	{ SMP_PORT_INFO, switch_port_info, switch_set_port_info },
	{ SMP_PKEY_TABLE, switch_pkeys, switch_set_pkeys },
	{ SMP_SL_TO_VL, switch_sl_to_vl, switch_set_sl_to_vl },
	{ SMP_VL_ARBITRATION, switch_vl_arb, switch_set_vl_arb },
	{ SMP_LINEAR_TABLE, switch_linear_table, switch_set_linear },
	{ SMP_MCAST_TABLE, switch_mcast_table, switch_set_mcast },
	{ SMP_SM_INFO, switch_sm_info, NULL },
};

static const struct switch_attr *switch_attr_find(const uint8_t *in)
{
	uint16_t attr = get_be16(in + OFF_ATTR);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i].attr == attr)
			return &attrs[i];
	return NULL;
}

/**
 * switch_get() - read an attribute of the switch
 * @sw: the switch
 * @by: number of the port by which the request came
 * @in: the request, with the attribute and its modifier
 * @data: set to the attribute, 64 bytes
 *
 * Return: status of the answer.
 */
uint16_t switch_get(struct switch_node *sw, unsigned int by, const uint8_t *in, uint8_t *data)
{
	const struct switch_attr *a = switch_attr_find(in);

	memset(data, 0, SMP_DATA_BYTES);
	return a ? a->get(sw, by, in, data) : MAD_BAD_ATTR;
}

/**
 * switch_set() - change an attribute of the switch
 * @sw: the switch
 * @by: number of the port by which the request came
 * @in: the request
 *
 * Return: status of the answer.
 */
uint16_t switch_set(struct switch_node *sw, unsigned int by, const uint8_t *in)
{
	const struct switch_attr *a = switch_attr_find(in);

	return a && a->set ? a->set(sw, by, in) : MAD_BAD_ATTR;
}
