// SPDX-License-Identifier: GPL-2.0
/*
 * The InfiniBand port: what a subnet manager sets, the state of the link, and the events that tell
 * the driver of a change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "caps.h"
#include "eq.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "mad.h"
#include "port.h"
#include "profile.h"

#define VIOLATIONS_MAX	0xffff	/* the counters stay at this value */

/* MLX5_PORT_CHANGE_SUBTYPE_* */
enum {
	CHANGE_DOWN = 1, CHANGE_ACTIVE = 4, CHANGE_INIT = 5, CHANGE_LID = 6, CHANGE_PKEY = 7,
	CHANGE_GUID = 8, CHANGE_REREGISTER = 9,
};

/**
 * port_violations() - a counter of violations, as the port reports it
 * @counted: whether the device counts these violations
 * @n: number of violations
 */
uint16_t port_violations(bool counted, uint64_t n)
{
	if (!counted)
		return 0;
	return n < VIOLATIONS_MAX ? n : VIOLATIONS_MAX;
}

/* ---- link ------------------------------------------------------------------------------------ */

static void port_event(struct hca *hca, uint8_t subtype)
{
	uint8_t data[28] = { [8] = 1 << 4 };

	eq_post_async(hca, EV_PORT_CHANGE, subtype, data);
}

/**
 * port_set_link() - change the state of the link
 * @hca: the HCA
 * @up: the new state
 *
 * Raises the port's asynchronous events if the state changes.
 */
void port_set_link(struct hca *hca, bool up)
{
	if (fabric_link(hca) != up)
		fabric_set_link(hca, up);
}

/* The link went up or down, because of a change at either of its ends. */
static void port_link_told(struct hca *hca, bool up)
{
	hca_trace(hca, "link", "\"up\":%s", up ? "true" : "false");
	hca->count.link_downed += !up;
	if (up && fabric_managed(hca->fabric))
		port_event(hca, CHANGE_LID);
	port_event(hca, !up ? CHANGE_DOWN : fabric_managed(hca->fabric) ? CHANGE_ACTIVE :
									  CHANGE_INIT);
}

/**
 * port_set_state() - change the state of the port, as a subnet manager does
 * @hca: the HCA
 * @state: PORT_ARMED or PORT_ACTIVE; or PORT_DOWN, after which the link trains again
 *
 * Raises an asynchronous event if the port becomes active. PORT_DOWN raises the events of a link
 * that goes down and comes up again.
 */
void port_set_state(struct hca *hca, enum port_state state)
{
	if (state == PORT_DOWN) {
		port_set_link(hca, false);
		port_set_link(hca, true);
		return;
	}
	if (fabric_state(hca, false) == state)
		return;
	if (fabric_set_state(hca, false, state) && state == PORT_ACTIVE)
		port_event(hca, CHANGE_ACTIVE);
}

/**
 * port_set_lids() - give the port other LIDs
 * @hca: the HCA
 * @lid: the first LID
 * @lmc: log2 of the number of LIDs, 0 to 7
 *
 * Raises the port's asynchronous event if the LIDs change.
 *
 * Return: false if one of the LIDs is that of another port or no unicast LID, or if @lid is not a
 * multiple of 2^@lmc.
 */
bool port_set_lids(struct hca *hca, uint16_t lid, uint8_t lmc)
{
	uint16_t old_lid = fabric_lid(hca);
	uint8_t old_lmc = fabric_lmc(hca);

	if (!fabric_set_lids(hca, lid, lmc))
		return false;
	if (fabric_lid(hca) != old_lid || lmc != old_lmc)
		port_event(hca, CHANGE_LID);
	return true;
}

/**
 * port_set_pkey() - change an entry of the port's P_Key table
 * @hca: the HCA
 * @index: of the entry
 * @pkey: its new value
 *
 * Raises the port's asynchronous event.
 *
 * Return: false if there is no such entry.
 */
bool port_set_pkey(struct hca *hca, unsigned int index, uint16_t pkey)
{
	if (!pkey_table_set(hca, index, pkey))
		return false;
	port_event(hca, CHANGE_PKEY);
	return true;
}

/**
 * port_set_pkeys() - change a part of the port's P_Key table, as a subnet manager does
 * @hca: the HCA
 * @index: of the first entry
 * @pkeys: the new values, in network order
 * @n: number of entries; those beyond the table are ignored
 *
 * Raises the port's asynchronous event once if an entry changes.
 */
void port_set_pkeys(struct hca *hca, unsigned int index, const uint8_t *pkeys, unsigned int n)
{
	bool changed = false;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint16_t pkey = get_be16(pkeys + 2 * i);

		if (index + i < pkey_table_len(hca) && pkey_table_get(hca, index + i) != pkey)
			changed |= pkey_table_set(hca, index + i, pkey);
	}
	if (changed)
		port_event(hca, CHANGE_PKEY);
}

/**
 * port_set_guids() - change a part of the port's GID table, as a subnet manager does
 * @hca: the HCA
 * @index: of the first entry
 * @guids: the new GUIDs, in network order
 * @n: number of entries; those beyond the table, and the first one of the table, are ignored
 *
 * Raises the port's asynchronous event once if an entry changes.
 */
void port_set_guids(struct hca *hca, unsigned int index, const uint8_t *guids, unsigned int n)
{
	bool changed = false;
	unsigned int i;

	for (i = 0; i < n; i++)
		changed |= guid_table_set(hca, index + i, get_be64(guids + 8 * i));
	if (changed)
		port_event(hca, CHANGE_GUID);
}

/**
 * port_set_prefix() - change the subnet prefix of the port's GIDs, as a subnet manager does
 * @hca: the HCA
 * @prefix: the prefix
 *
 * Raises the port's asynchronous event if it changes.
 */
void port_set_prefix(struct hca *hca, uint64_t prefix)
{
	if (gid_set_prefix(hca, prefix))
		port_event(hca, CHANGE_GUID);
}

/**
 * port_reregister() - tell the driver that its clients have to register again
 * @hca: the HCA
 */
void port_reregister(struct hca *hca)
{
	port_event(hca, CHANGE_REREGISTER);
}

/* ---- module ---------------------------------------------------------------------------------- */

/*
 * Reset what the driver and a subnet manager set. Keep the LID and the LMC, which are the fabric's,
 * the P_Keys and GUIDs, the node description and the counters.
 */
static void port_restart(struct hca *hca)
{
	struct port *port = hca->port;

	pthread_mutex_lock(&hca->attr_lock);
	port->cap_mask1 = hca->profile->port_caps;
	port->admin_down = false;
	memset(port->vf, 0, sizeof(port->vf));
	port_attrs_init(&port->attrs, mtu_code(hca->profile->mtu));
	if (fabric_managed(hca->fabric)) {
		port_attrs_manage(&port->attrs);
		port_attrs_manage_link(&port->attrs);
	}
	pthread_mutex_unlock(&hca->attr_lock);
	gid_set_prefix(hca, port->attrs.gid_prefix);
	fabric_set_mtu(hca, false, port_mtu(&port->attrs));
	fabric_set_lanes(hca, false, port->attrs.sl_to_vl);
}

static int port_init(struct hca *hca)
{
	struct port *port = calloc(1, sizeof(*port));

	if (!port)
		return -ENOMEM;
	hca->port = port;
	port_restart(hca);
	fabric_set_link_told(hca, port_link_told);
	return 0;
}

static void port_exit(struct hca *hca)
{
	fabric_set_link_told(hca, NULL);
	free(hca->port);
	hca->port = NULL;
}

const struct port_ops ib_port_ops = {
	.set_link = port_set_link, .set_lids = port_set_lids, .set_pkey = port_set_pkey,
};

const struct hca_module port_module = {
	.name = "port", .init = port_init, .restart = port_restart, .exit = port_exit,
};
