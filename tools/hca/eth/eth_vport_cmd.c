// SPDX-License-Identifier: GPL-2.0
/*
 * Commands about the vport of an Ethernet port: its context with the lists of addresses, its state,
 * and its counters. There is one vport, that of this function: vport_group_manager is 0.
 */
#include <stdlib.h>

#include "caps.h"
#include "cmd.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "eth_vport.h"
#include "eth_vport_cmd.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"

#define LIST_ENTRY_BYTES	8
#define INLINE_MODES		4	/* min_wqe_inline_mode: none, L2, IP, TCP and UDP */
#define VLAN_IDS		4096
#define PKEY_ALL		0xffff	/* index: the whole table */
#define PKEY_DEFAULT		0xffff

enum { VPORT_DOWN = 0, VPORT_FOLLOWS_LINK = 2 };	/* admin_state */

static uint8_t check_vport(struct cmd *cmd, bool other, unsigned int number)
{
	if (!other && !number)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER, "other vports do not exist");
}

#define CHECK_VPORT(cmd, strct)							\
	check_vport(cmd, IFC_GET(strct, (cmd)->in, other_vport),		\
		    IFC_GET(strct, (cmd)->in, vport_number))

/* ---- the lists ------------------------------------------------------------------------------- */

/* The most entries that a list can have. */
static unsigned int list_limit(struct hca *hca, enum eth_list_type type)
{
	switch (type) {
	case ETH_LIST_UC:
		return 1u << hca_cap_gen(hca, log_max_current_uc_list);
	case ETH_LIST_MC:
		return 1u << hca_cap_gen(hca, log_max_current_mc_list);
	default:
		return 1u << hca_cap_gen(hca, log_max_vlan_list);
	}
}

/* Whether a value can be in a list: a MAC address of the list's kind, or a VLAN id. */
static bool list_value_ok(enum eth_list_type type, uint64_t v)
{
	bool group = v >> 40 & 1;

	if (type == ETH_LIST_VLAN)
		return !(v & 0xffffffff) && v >> 32 < VLAN_IDS;
	return !(v >> 48) && group == (type == ETH_LIST_MC);
}

static uint8_t check_list(struct hca *hca, struct cmd *cmd, const uint8_t *ctx)
{
	const uint8_t *entry = IFC_ADDR(nic_vport_context, ctx, current_uc_mac_address);
	unsigned int type = IFC_GET(nic_vport_context, ctx, allowed_list_type);
	unsigned int n = IFC_GET(nic_vport_context, ctx, allowed_list_size), i;

	if (type >= ETH_LISTS)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_LIST, "there is no list %u", type);
	if (n > list_limit(hca, type))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_LIST,
				"%u entries, list %u can have %u", n, type, list_limit(hca, type));
	if (cmd_left(cmd, entry) < (size_t)n * LIST_ENTRY_BYTES)
		return cmd_fail(cmd, ST_BAD_INP_LEN, WHY_INPUT_LENGTH,
				"%u entries do not fit the input", n);
	for (i = 0; i < n; i++, entry += LIST_ENTRY_BYTES)
		if (!list_value_ok(type, get_be64(entry)))
			return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_LIST,
					"entry %u of list %u is 0x%llx", i, type,
					(unsigned long long)get_be64(entry));
	return ST_OK;
}

static uint8_t set_list(struct hca *hca, struct cmd *cmd, const uint8_t *ctx)
{
	const uint8_t *entry = IFC_ADDR(nic_vport_context, ctx, current_uc_mac_address);
	unsigned int type = IFC_GET(nic_vport_context, ctx, allowed_list_type);
	unsigned int n = IFC_GET(nic_vport_context, ctx, allowed_list_size), i;
	struct eth_list *list = &hca->eth->vport.list[type];
	uint64_t *value = calloc(n ? n : 1, sizeof(*value));
	bool ok;

	for (i = 0; value && i < n; i++)
		value[i] = get_be64(entry + i * LIST_ENTRY_BYTES);
	ok = value && eth_list_set(list, value, n);
	free(value);
	return ok ? ST_OK : cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for %u entries", n);
}

/*
 * Write the list that the driver asks for. The driver reads single fields with an output that has
 * no room for a list, so entries that do not fit are left out.
 */
static void get_list(struct hca *hca, struct cmd *cmd, unsigned int type, uint8_t *ctx)
{
	const struct eth_list *list = &hca->eth->vport.list[type];
	uint8_t *entry = IFC_ADDR(nic_vport_context, ctx, current_uc_mac_address);
	const uint8_t *end = cmd->out + cmd->out_len;
	unsigned int i;

	IFC_SET(nic_vport_context, ctx, allowed_list_type, type);
	IFC_SET(nic_vport_context, ctx, allowed_list_size, list->n);
	for (i = 0; i < list->n && end - entry >= LIST_ENTRY_BYTES; i++, entry += LIST_ENTRY_BYTES)
		put_be64(entry, list->entry[i]);
}

/* ---- the context ----------------------------------------------------------------------------- */

#define SELECTED(cmd, fld) IFC_GET(modify_nic_vport_context_in, (cmd)->in, field_select.fld)
#define EVENT_WORD	IFC_BYTE(nic_vport_context, arm_change_event)

static uint8_t query_nic_vport_context(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_nic_vport_context_out, cmd->out, nic_vport_context);
	unsigned int type = IFC_GET(query_nic_vport_context_in, cmd->in, allowed_list_type);
	const struct eth_vport *v = &hca->eth->vport;
	uint8_t st = CHECK_VPORT(cmd, query_nic_vport_context_in);

	if (st)
		return st;
	if (type >= ETH_LISTS)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_LIST, "there is no list %u", type);
	put_be32(c + EVENT_WORD, v->change_events);
	IFC_SET(nic_vport_context, c, min_wqe_inline_mode, v->min_inline);
	IFC_SET(nic_vport_context, c, disable_mc_local_lb, v->no_mc_loopback);
	IFC_SET(nic_vport_context, c, disable_uc_local_lb, v->no_uc_loopback);
	IFC_SET(nic_vport_context, c, roce_en, v->roce);
	IFC_SET(nic_vport_context, c, mtu, v->mtu);
	IFC_SET64(nic_vport_context, c, system_image_guid, fabric_guid(hca));
	IFC_SET64(nic_vport_context, c, port_guid, fabric_guid(hca));
	IFC_SET64(nic_vport_context, c, node_guid, fabric_guid(hca));
	IFC_SET(nic_vport_context, c, promisc_uc, v->promisc_uc);
	IFC_SET(nic_vport_context, c, promisc_mc, v->promisc_mc);
	IFC_SET(nic_vport_context, c, promisc_all, v->promisc_all);
	put_be64(IFC_ADDR(nic_vport_context, c, permanent_address), v->mac);
	get_list(hca, cmd, type, c);
	return ST_OK;
}

/* Refuse fields that only the manager of a vport can set, and fields that need a capability. */
static uint8_t check_select(struct hca *hca, struct cmd *cmd)
{
	if (SELECTED(cmd, permanent_address) || SELECTED(cmd, node_guid) ||
	    SELECTED(cmd, port_guid) || SELECTED(cmd, affiliation))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_FIELD,
				"only the manager of a vport sets its address, GUIDs, affiliation");
	if (SELECTED(cmd, roce_en) && !hca_cap_gen(hca, roce))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_FIELD, "roce is not supported");
	if ((SELECTED(cmd, disable_uc_local_lb) && !hca_cap_gen(hca, disable_local_lb_uc)) ||
	    (SELECTED(cmd, disable_mc_local_lb) && !hca_cap_gen(hca, disable_local_lb_mc)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_FIELD,
				"local loopback cannot be disabled");
	return ST_OK;
}

static uint8_t check_context(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	unsigned int mtu = IFC_GET(nic_vport_context, c, mtu);
	unsigned int mode = IFC_GET(nic_vport_context, c, min_wqe_inline_mode);
	uint8_t st = check_select(hca, cmd);

	if (st)
		return st;
	if (SELECTED(cmd, mtu) && (mtu < ETH_FRAME_PADDED || mtu > hca->profile->mtu))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_FIELD, "mtu %u, the port has %u",
				mtu, hca->profile->mtu);
	if (SELECTED(cmd, min_inline) && mode >= INLINE_MODES)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_NIC_VPORT_FIELD,
				"there is no inline mode %u", mode);
	return SELECTED(cmd, addresses_list) ? check_list(hca, cmd, c) : ST_OK;
}

static uint8_t modify_nic_vport_context(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(modify_nic_vport_context_in, cmd->in, nic_vport_context);
	struct eth_vport *v = &hca->eth->vport;
	uint8_t st = CHECK_VPORT(cmd, modify_nic_vport_context_in);

	if (!st)
		st = check_context(hca, cmd, c);
	if (!st && SELECTED(cmd, addresses_list))
		st = set_list(hca, cmd, c);
	if (st)
		return st;
	if (SELECTED(cmd, promisc)) {
		v->promisc_uc = IFC_GET(nic_vport_context, c, promisc_uc);
		v->promisc_mc = IFC_GET(nic_vport_context, c, promisc_mc);
		v->promisc_all = IFC_GET(nic_vport_context, c, promisc_all);
	}
	if (SELECTED(cmd, roce_en))
		v->roce = IFC_GET(nic_vport_context, c, roce_en);
	if (SELECTED(cmd, disable_uc_local_lb))
		v->no_uc_loopback = IFC_GET(nic_vport_context, c, disable_uc_local_lb);
	if (SELECTED(cmd, disable_mc_local_lb))
		v->no_mc_loopback = IFC_GET(nic_vport_context, c, disable_mc_local_lb);
	if (SELECTED(cmd, min_inline))
		v->min_inline = IFC_GET(nic_vport_context, c, min_wqe_inline_mode);
	if (SELECTED(cmd, mtu))
		v->mtu = IFC_GET(nic_vport_context, c, mtu);
	if (SELECTED(cmd, change_event))
		v->change_events = get_be32(c + EVENT_WORD);
	return ST_OK;
}

/* ---- state and counters ---------------------------------------------------------------------- */

static uint8_t query_vport_state(struct hca *hca, struct cmd *cmd)
{
	uint8_t st = CHECK_VPORT(cmd, query_vport_state_in);

	if (st)
		return st;
	IFC_SET(query_vport_state_out, cmd->out, max_tx_speed, hca->profile->vport_speed);
	IFC_SET(query_vport_state_out, cmd->out, admin_state,
		hca->eth->admin_up ? VPORT_FOLLOWS_LINK : VPORT_DOWN);
	IFC_SET(query_vport_state_out, cmd->out, state, fabric_link(hca));
	return ST_OK;
}

#define COUNTER(fld, n) IFC_SET64(query_vport_counter_out, cmd->out, fld, n)
#define COUNTERS(fld, flow, cast) do {				\
	COUNTER(fld.packets, (flow)->frames[cast]);		\
	COUNTER(fld.octets, (flow)->octets[cast]);		\
} while (0)

static uint8_t query_vport_counter(struct hca *hca, struct cmd *cmd)
{
	const struct eth_stats *s = &hca->eth->stats;
	uint8_t st = CHECK_VPORT(cmd, query_vport_counter_in);

	if (st)
		return st;
	if (IFC_GET(query_vport_counter_in, cmd->in, port_num) > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				IFC_GET(query_vport_counter_in, cmd->in, port_num));
	if (!hca_cap_gen(hca, vport_counters))
		return cmd_fail(cmd, ST_BAD_OP, WHY_VPORT_NO_COUNTERS,
				"vport_counters is not supported");
	COUNTERS(received_eth_unicast, &s->vport_rx, ETH_UNICAST);
	COUNTERS(received_eth_multicast, &s->vport_rx, ETH_MULTICAST);
	COUNTERS(received_eth_broadcast, &s->vport_rx, ETH_BROADCAST);
	COUNTERS(transmitted_eth_unicast, &s->vport_tx, ETH_UNICAST);
	COUNTERS(transmitted_eth_multicast, &s->vport_tx, ETH_MULTICAST);
	COUNTERS(transmitted_eth_broadcast, &s->vport_tx, ETH_BROADCAST);
	COUNTERS(received_ib_unicast, &s->roce_rx, ETH_UNICAST);
	COUNTERS(received_ib_multicast, &s->roce_rx, ETH_MULTICAST);
	COUNTERS(transmitted_ib_unicast, &s->roce_tx, ETH_UNICAST);
	COUNTERS(transmitted_ib_multicast, &s->roce_tx, ETH_MULTICAST);
	COUNTER(transmit_errors.packets, s->tx_too_long + s->tx_no_memory);
	if (hca_cap_gen(hca, vport_counter_local_loopback)) {
		COUNTER(local_loopback.packets, s->loopback_frames);
		COUNTER(local_loopback.octets, s->loopback_octets);
	}
	return ST_OK;
}

static uint8_t query_vnic_env(struct hca *hca, struct cmd *cmd)
{
	uint8_t *env = IFC_ADDR(query_vnic_env_out, cmd->out, vport_env);
	uint8_t st = CHECK_VPORT(cmd, query_vnic_env_in);

	if (st)
		return st;
	if (hca_cap_gen(hca, nic_receive_steering_discard))
		IFC_SET64(vnic_diagnostic_statistics, env, nic_receive_steering_discard,
			  hca->count.rx_steering_discards);
	if (hca_cap_gen(hca, transmit_discard_vport_down))
		IFC_SET64(vnic_diagnostic_statistics, env, transmit_discard_vport_down,
			  hca->eth->stats.tx_link_down);
	if (hca_cap_gen(hca, eth_wqe_too_small))
		IFC_SET(vnic_diagnostic_statistics, env, eth_wqe_too_small,
			hca->count.rx_wqe_too_small);
	return ST_OK;
}

/* ---- P_Keys ---------------------------------------------------------------------------------- */

/*
 * The only command about the vport of an InfiniBand port that drivers send to an Ethernet port, too:
 * RoCE has one P_Key. The rest of the table is not used.
 */
static uint8_t query_hca_vport_pkey(struct hca *hca, struct cmd *cmd)
{
	unsigned int nr = 128u << hca_cap_gen(hca, pkey_table_size);
	unsigned int idx = IFC_GET(query_hca_vport_pkey_in, cmd->in, pkey_index);
	uint8_t *pkey = IFC_ADDR(query_hca_vport_pkey_out, cmd->out, pkey);
	size_t room = cmd->out_len - IFC_SZ(query_hca_vport_pkey_out);
	unsigned int n = idx == PKEY_ALL ? nr : 1;
	uint8_t st = CHECK_VPORT(cmd, query_hca_vport_pkey_in);

	if (st)
		return st;
	if (IFC_GET(query_hca_vport_pkey_in, cmd->in, port_num) > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				IFC_GET(query_hca_vport_pkey_in, cmd->in, port_num));
	if (idx >= nr && idx != PKEY_ALL)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_PKEY_INDEX,
				"P_Key index %u, the table has %u entries", idx, nr);
	if (room < n * IFC_SZ(pkey))
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH,
				"%u P_Keys do not fit %zu bytes", n, room);
	if (!idx || idx == PKEY_ALL)
		IFC_SET(pkey, pkey, pkey, PKEY_DEFAULT);
	return ST_OK;
}

const struct cmd_desc eth_vport_cmds[] = {
	CMD(QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context, query_nic_vport_context,
	    .flags = CMD_ETH),
	CMD(MODIFY_NIC_VPORT_CONTEXT, modify_nic_vport_context, modify_nic_vport_context,
	    .flags = CMD_ETH | CMD_KERNEL),
	CMD(QUERY_HCA_VPORT_PKEY, query_hca_vport_pkey, query_hca_vport_pkey),
	CMD(QUERY_VPORT_STATE, query_vport_state, query_vport_state),
	CMD(QUERY_VPORT_COUNTER, query_vport_counter, query_vport_counter),
	CMD(QUERY_VNIC_ENV, query_vnic_env, query_vnic_env, .flags = CMD_ETH | CMD_KERNEL),
	{}
};
