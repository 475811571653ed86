// SPDX-License-Identifier: GPL-2.0
/*
 * The switch as a node: packets of subnet management that come to it or travel through it
 * (InfiniBand Architecture, volume 1, 14.2.2), and the trap that tells a subnet manager of a
 * change.
 */
#include <string.h>

#include "clock.h"
#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mad.h"
#include "packet.h"
#include "port_info.h"
#include "smp.h"
#include "switch.h"

#define MTU_4096	5
#define PKEY_DEFAULT	0xffff
#define TRAP_LINK_STATE	128	/* 14.2.5.1, table of traps */
#define TYPE_URGENT	1
#define PRODUCER_SWITCH	2

/**
 * switch_init() - set up the switch as after power on
 * @sw: the switch
 * @f: its fabric
 * @manager: a subnet manager is at port 0, and has configured the switch
 */
void switch_init(struct switch_node *sw, struct fabric *f, bool manager)
{
	unsigned int i;

	memset(sw, 0, sizeof(*sw));
	sw->fabric = f;
	sw->manager = manager;
	sw->lid = manager ? SWITCH_LID : 0;
	sw->state = manager ? PORT_ACTIVE : PORT_INIT;
	sw->default_port = FORWARD_DROP;
	sw->pkey[0] = PKEY_DEFAULT;
	for (i = 0; i <= SWITCH_PORTS; i++)
		port_attrs_init(&sw->port[i], MTU_4096);
	if (!manager)
		return;
	port_attrs_manage(&sw->port[0]);
	for (i = 1; i <= SWITCH_PORTS; i++)
		port_attrs_manage_link(&sw->port[i]);
}

/**
 * switch_gid() - GID of the switch's port 0
 * @sw: the switch
 * @gid: set to the GID
 */
void switch_gid(const struct switch_node *sw, uint8_t gid[16])
{
	put_be64(gid, sw->port[0].gid_prefix);
	put_be64(gid + 8, SWITCH_GUID);
}

static struct packet *switch_packet(struct switch_node *sw, uint16_t dlid, const uint8_t *mad)
{
	struct packet *p = packet_alloc(sw->fabric);

	if (!p)
		return NULL;
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = dlid == LID_PERMISSIVE ? LID_PERMISSIVE : sw->lid;
	ib_hdr(p)->dlid = dlid;
	p->pkey = PKEY_DEFAULT;
	p->head.len = MAD_BYTES;
	memcpy(p->payload, mad, MAD_BYTES);
	return p;
}

/* The virtual lane of subnet management has no flow control: a packet without a buffer is lost. */
static void switch_send(struct switch_node *sw, enum smp_way way, uint16_t to, const uint8_t *mad)
{
	struct packet *p;

	if (way == SMP_BY_LID && fabric_busy(sw->fabric,
					     forward_unicast(fabric_forward(sw->fabric), to)))
		return;
	if (way == SMP_BY_PORT && fabric_busy(sw->fabric, to))
		return;
	if (way != SMP_BY_LID && way != SMP_BY_PORT)
		return;
	p = switch_packet(sw, way == SMP_BY_PORT ? LID_PERMISSIVE : to, mad);
	if (!p)
		return;
	if (way == SMP_BY_PORT)
		fabric_send(sw->fabric, to, p);
	else
		fabric_route(sw->fabric, 0, p);
}

/* Answer a request after a check of the M_Key of port 0. Returns false if there is no answer. */
static bool switch_answer(struct switch_node *sw, unsigned int by, const uint8_t *in, uint8_t *out)
{
	bool directed = in[OFF_CLASS] == CLASS_SM_DIRECTED;
	uint8_t method = in[OFF_METHOD];
	enum m_key_check key;
	uint16_t status = MAD_OK;

	if (method != METHOD_GET && method != METHOD_SET)
		return false;
	key = port_m_key_check(&sw->port[0], in, clock_now_ns());
	if (key == M_KEY_DENIED)
		return false;
	memcpy(out, in, MAD_BYTES);
	if (!mad_version_ok(in))
		status = MAD_BAD_VERSION;
	else if (method == METHOD_SET)
		status = switch_set(sw, by, in);
	if (!status)
		status = switch_get(sw, by, in, out + OFF_SMP_DATA);
	if (key == M_KEY_HIDDEN && get_be16(in + OFF_ATTR) == SMP_PORT_INFO)
		memset(out + OFF_SMP_DATA, 0, 8);
	out[OFF_METHOD] = METHOD_GET_RESP;
	put_be16(out + OFF_STATUS, status | (directed ? MAD_STATUS_DIRECTION : 0));
	return true;
}

static void switch_directed(struct switch_node *sw, unsigned int by, uint8_t *mad)
{
	const struct smp_node node = {
		.is_switch = true, .ports = SWITCH_PORTS, .lid = sw->lid,
	};
	uint8_t out[MAD_BYTES];
	enum smp_way way;
	uint16_t to = 0;

	way = smp_arrive(&node, by, mad, &to);
	if (way != SMP_HERE) {
		switch_send(sw, way, to, mad);
		return;
	}
	if (!switch_answer(sw, by, mad, out))
		return;
	way = smp_return(&node, out, &to);
	switch_send(sw, way, to, out);
}

/**
 * switch_receive() - process a packet to queue pair 0 of the switch, or by a directed route
 * @sw: the switch
 * @by: number of the port by which it came
 * @p: the packet
 */
void switch_receive(struct switch_node *sw, unsigned int by, const struct packet *p)
{
	uint8_t in[MAD_BYTES], out[MAD_BYTES];

	if (!packet_is_smp(p) || p->head.len != MAD_BYTES)
		return;
	memcpy(in, p->payload, MAD_BYTES);
	if (in[OFF_CLASS] == CLASS_SM_DIRECTED)
		switch_directed(sw, by, in);
	else if (in[OFF_CLASS] == CLASS_SM_LID && ib_hdr(p)->dlid != LID_PERMISSIVE &&
		 switch_answer(sw, by, in, out))
		switch_send(sw, SMP_BY_LID, ib_hdr(p)->slid, out);
}

/**
 * switch_port_changed() - record that a link went up or down, and tell the subnet manager of it
 * @sw: the switch
 */
void switch_port_changed(struct switch_node *sw)
{
	uint16_t sm_lid = sw->port[0].sm_lid;
	uint8_t mad[MAD_BYTES] = {
		[OFF_VERSION] = 1, [OFF_CLASS] = CLASS_SM_LID, [OFF_CLASS_VERSION] = 1,
		[OFF_METHOD] = METHOD_TRAP,
	};
	uint8_t *notice = mad + OFF_SMP_DATA;

	sw->changed = true;
	if (sw->manager || !sw->lid || !sm_lid)
		return;
	put_be64(mad + OFF_TID, ++sw->traps);
	put_be16(mad + OFF_ATTR, SMP_NOTICE);
	put_be64(mad + OFF_M_KEY, sw->port[0].m_key);
	put_be32(notice, (0x80u | TYPE_URGENT) << 24 | PRODUCER_SWITCH);
	put_be16(notice + 4, TRAP_LINK_STATE);
	put_be16(notice + 6, sw->lid);
	put_be16(notice + 10, sw->lid);
	switch_send(sw, SMP_BY_LID, sm_lid, mad);
}
