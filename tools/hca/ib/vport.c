// SPDX-License-Identifier: GPL-2.0
/*
 * Commands about the port: the vport context, its GID and P_Key tables, its counters, and MAD_IFC.
 */
#include "address.h"
#include "caps.h"
#include "cmd.h"
#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "ifc.h"
#include "mad.h"
#include "port.h"
#include "profile.h"
#include "sma.h"

/*
 * Each command of this file names a port. The vport of another function has at most a context and
 * counters (vf_vport.c), so all other commands that name such a vport are refused.
 */
static uint8_t port_check_vport(struct cmd *cmd, bool other, unsigned int port_num)
{
	if (other)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER, "other vports do not exist");
	if (port_num > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				port_num);
	return ST_OK;
}

/* Without ib_virt, as on older devices, the port's attributes can be read by MADs only. */
static uint8_t port_check_hca_vport(struct hca *hca, struct cmd *cmd, bool other,
				    unsigned int port_num)
{
	if (!hca_cap_gen(hca, ib_virt))
		return cmd_fail(cmd, ST_BAD_OP, WHY_PORT_NO_VPORT, "ib_virt is not supported");
	return port_check_vport(cmd, other, port_num);
}

/* Find the vport whose context a command names, and set *@vport to it; 0 is this function's own. */
static uint8_t vport_find(struct hca *hca, struct cmd *cmd, bool other, unsigned int number,
			  unsigned int port_num, unsigned int *vport)
{
	uint8_t st = port_check_hca_vport(hca, cmd, false, port_num);

	*vport = other ? number : 0;
	if (!st && other)
		st = vf_vport_check(hca, cmd, number);
	return st;
}

/* While its port has no LID, a card reports the permissive LID. */
static uint16_t vport_lid(struct hca *hca)
{
	uint16_t lid = fabric_lid(hca);

	return lid ? lid : LID_PERMISSIVE;
}

static uint8_t query_hca_vport_context(struct hca *hca, struct cmd *cmd)
{
	unsigned int vport;
	uint8_t *c = IFC_ADDR(query_hca_vport_context_out, cmd->out, hca_vport_context);
	bool up = fabric_link(hca);
	uint8_t st = vport_find(hca, cmd, IFC_GET(query_hca_vport_context_in, cmd->in, other_vport),
				IFC_GET(query_hca_vport_context_in, cmd->in, vport_number),
				IFC_GET(query_hca_vport_context_in, cmd->in, port_num), &vport);

	if (st)
		return st;
	IFC_SET(hca_vport_context, c, has_smi, 1);
	IFC_SET(hca_vport_context, c, port_physical_state, up ? PHYS_LINK_UP : PHYS_POLLING);
	IFC_SET(hca_vport_context, c, port_state, fabric_state(hca, false));
	IFC_SET(hca_vport_context, c, vport_state, fabric_state(hca, false));
	IFC_SET64(hca_vport_context, c, system_image_guid, fabric_guid(hca));
	IFC_SET64(hca_vport_context, c, port_guid, fabric_guid(hca));
	IFC_SET64(hca_vport_context, c, node_guid, fabric_guid(hca));
	IFC_SET(hca_vport_context, c, cap_mask1, hca->port->cap_mask1);
	IFC_SET(hca_vport_context, c, cap_mask1_field_select, MAD_CAP_MASK_SETTABLE);
	IFC_SET(hca_vport_context, c, cap_mask2, hca->profile->port_caps_2);
	IFC_SET(hca_vport_context, c, lid, vport_lid(hca));
	IFC_SET(hca_vport_context, c, lmc, fabric_lmc(hca));
	IFC_SET(hca_vport_context, c, sm_lid, up ? hca->port->attrs.sm_lid : 0);
	IFC_SET(hca_vport_context, c, sm_sl, hca->port->attrs.sm_sl);
	IFC_SET(hca_vport_context, c, subnet_timeout, hca->port->attrs.subnet_timeout);
	IFC_SET(hca_vport_context, c, qkey_violation_counter,
		port_violations(hca_cap_gen(hca, qkv), hca->count.bad_qkeys));
	IFC_SET(hca_vport_context, c, pkey_violation_counter,
		port_violations(hca_cap_gen(hca, pkv), hca->count.bad_pkeys));
	if (vport)
		vf_vport_query(hca, vport, c);
	return ST_OK;
}

static uint8_t modify_hca_vport_context(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_hca_vport_context_in, cmd->in, hca_vport_context);
	uint32_t allowed = IFC_GET(hca_vport_context, c, cap_mask1_field_select);
	uint32_t mask = IFC_GET(hca_vport_context, c, cap_mask1);
	struct port *port = hca->port;
	unsigned int vport;
	uint8_t st = vport_find(hca, cmd,
				IFC_GET(modify_hca_vport_context_in, cmd->in, other_vport),
				IFC_GET(modify_hca_vport_context_in, cmd->in, vport_number),
				IFC_GET(modify_hca_vport_context_in, cmd->in, port_num), &vport);

	if (st)
		return st;
	if (vport)
		return vf_vport_modify(hca, cmd, vport, c);
	if (IFC_GET(hca_vport_context, c, field_select))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_GROUP_MANAGER,
				"GUIDs and policy of the function's own vport cannot be set");
	if (allowed & ~(uint32_t)MAD_CAP_MASK_SETTABLE)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_CAP_MASK,
				"cap_mask1_field_select 0x%x, only bits of 0x%x can change",
				allowed, MAD_CAP_MASK_SETTABLE);
	pthread_mutex_lock(&hca->attr_lock);
	port->cap_mask1 = (port->cap_mask1 & ~allowed) | (mask & allowed);
	pthread_mutex_unlock(&hca->attr_lock);
	return ST_OK;
}

static uint8_t query_hca_vport_gid(struct hca *hca, struct cmd *cmd)
{
	unsigned int nr = gid_table_len(hca), i;
	unsigned int idx = IFC_GET(query_hca_vport_gid_in, cmd->in, gid_index);
	uint8_t *gid = IFC_ADDR(query_hca_vport_gid_out, cmd->out, gid);
	size_t room = cmd->out_len - IFC_SZ(query_hca_vport_gid_out);
	unsigned int n = idx == 0xffff ? nr : 1;
	uint8_t st = port_check_hca_vport(hca, cmd,
				IFC_GET(query_hca_vport_gid_in, cmd->in, other_vport),
				IFC_GET(query_hca_vport_gid_in, cmd->in, port_num));

	if (st)
		return st;
	if (idx >= nr && idx != 0xffff)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_GID_INDEX,
				"GID index %u, the table has %u entries", idx, nr);
	if (room < n * 16u)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u GIDs do not fit %zu bytes", n, room);
	IFC_SET(query_hca_vport_gid_out, cmd->out, gids_num, n);
	for (i = 0; i < n; i++)
		gid_get(hca, n > 1 ? i : idx, gid + i * 16);
	return ST_OK;
}

static uint8_t query_hca_vport_pkey(struct hca *hca, struct cmd *cmd)
{
	unsigned int nr = pkey_table_len(hca), i;
	unsigned int idx = IFC_GET(query_hca_vport_pkey_in, cmd->in, pkey_index);
	uint8_t *pkey = IFC_ADDR(query_hca_vport_pkey_out, cmd->out, pkey);
	size_t room = cmd->out_len - IFC_SZ(query_hca_vport_pkey_out);
	unsigned int n = idx == 0xffff ? nr : 1;
	uint8_t st = port_check_hca_vport(hca, cmd,
				IFC_GET(query_hca_vport_pkey_in, cmd->in, other_vport),
				IFC_GET(query_hca_vport_pkey_in, cmd->in, port_num));

	if (st)
		return st;
	if (idx >= nr && idx != 0xffff)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_PKEY_INDEX,
				"P_Key index %u, the table has %u entries", idx, nr);
	if (room < n * IFC_SZ(pkey))
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u P_Keys do not fit %zu bytes", n, room);
	for (i = 0; i < n; i++)
		IFC_SET(pkey, pkey + i * IFC_SZ(pkey), pkey, pkey_table_get(hca, n > 1 ? i : idx));
	return ST_OK;
}

enum { VPORT_DOWN = 0, VPORT_FOLLOWS_LINK = 2 };	/* admin_state */

static uint8_t query_vport_state(struct hca *hca, struct cmd *cmd)
{
	uint8_t st = port_check_vport(cmd, IFC_GET(query_vport_state_in, cmd->in, other_vport), 0);

	if (st)
		return st;
	IFC_SET(query_vport_state_out, cmd->out, max_tx_speed, hca->profile->vport_speed);
	IFC_SET(query_vport_state_out, cmd->out, admin_state,
		hca->port->admin_down ? VPORT_DOWN : VPORT_FOLLOWS_LINK);
	IFC_SET(query_vport_state_out, cmd->out, state, fabric_link(hca));
	return ST_OK;
}

#define COUNTER(fld, n) IFC_SET64(query_vport_counter_out, cmd->out, fld, n)

static uint8_t query_vport_counter(struct hca *hca, struct cmd *cmd)
{
	bool other = IFC_GET(query_vport_counter_in, cmd->in, other_vport);
	const struct counters *c = &hca->count;
	uint8_t st = port_check_vport(cmd, false,
				      IFC_GET(query_vport_counter_in, cmd->in, port_num));

	if (!hca_cap_gen(hca, vport_counters))
		return cmd_fail(cmd, ST_BAD_OP, WHY_VPORT_NO_COUNTERS,
				"vport_counters is not supported");
	if (!st && other)
		st = vf_vport_check(hca, cmd,
				    IFC_GET(query_vport_counter_in, cmd->in, vport_number));
	/* A virtual function has sent and received nothing. */
	if (st || other)
		return st;
	COUNTER(received_errors.packets, count_rx_errors(c));
	COUNTER(received_ib_unicast.packets, c->packets_rx - c->mcast_rx);
	COUNTER(received_ib_unicast.octets, c->octets_rx - c->mcast_octets_rx);
	COUNTER(transmitted_ib_unicast.packets, c->packets_tx - c->mcast_tx);
	COUNTER(transmitted_ib_unicast.octets, c->octets_tx - c->mcast_octets_tx);
	COUNTER(received_ib_multicast.packets, c->mcast_rx);
	COUNTER(received_ib_multicast.octets, c->mcast_octets_rx);
	COUNTER(transmitted_ib_multicast.packets, c->mcast_tx);
	COUNTER(transmitted_ib_multicast.octets, c->mcast_octets_tx);
	return ST_OK;
}

#define MAD_IFC_NO_M_KEY	1	/* op_mod: ignore the M_Key */

static uint8_t mad_ifc(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *in = IFC_ADDR(mad_ifc_in, cmd->in, mad);
	uint8_t *out = IFC_ADDR(mad_ifc_out, cmd->out, response_mad_packet);

	if (hca->profile->no_performance_agent && in[OFF_CLASS] == CLASS_PERF)
		return cmd_fail(cmd, ST_BAD_PKT, WHY_MAD_NO_PERFORMANCE_AGENT,
				"no agent for performance management");
	if (IFC_GET(mad_ifc_in, cmd->in, port) > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				IFC_GET(mad_ifc_in, cmd->in, port));
	switch (sma_answer(hca, in, out, cmd->op_mod & MAD_IFC_NO_M_KEY)) {
	case SMA_NO_AGENT:
		return cmd_fail(cmd, ST_BAD_PKT, WHY_MAD_NO_AGENT,
				"no agent for class 0x%x method 0x%x", in[1], in[3]);
	case SMA_BAD_M_KEY:
		return cmd_fail(cmd, ST_BAD_PKT, WHY_MAD_M_KEY, "the M_Key is not the port's");
	default:
		return ST_OK;
	}
}

const struct cmd_desc port_cmds[] = {
	CMD(QUERY_HCA_VPORT_CONTEXT, query_hca_vport_context, query_hca_vport_context),
	CMD(MODIFY_HCA_VPORT_CONTEXT, modify_hca_vport_context, modify_hca_vport_context,
	    .flags = CMD_KERNEL),
	CMD(QUERY_HCA_VPORT_GID, query_hca_vport_gid, query_hca_vport_gid),
	CMD(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey, query_hca_vport_pkey),
	CMD(QUERY_VPORT_STATE, query_vport_state, query_vport_state),
	CMD(QUERY_VPORT_COUNTER, query_vport_counter, query_vport_counter),
	CMD(MAD_IFC, mad_ifc, mad_ifc, .flags = CMD_KERNEL, OP_MODS(0, 3)),
	{}
};
