// SPDX-License-Identifier: GPL-2.0
/*
 * The vport of an Ethernet port: its context, its lists, what it receives, and its counters.
 */
#include "ethrig.h"

#include <string.h>

#include "caps.h"
#include "fabric.h"

#define MODIFY_BYTES	(IFC_SZ(modify_nic_vport_context_in))

static uint8_t in[2048];

static uint8_t *ctx(void)
{
	return in + IFC_BYTE(modify_nic_vport_context_in, nic_vport_context);
}

static void clean(void)
{
	memset(in, 0, sizeof(in));
}

#define SELECT(fld) IFC_SET(modify_nic_vport_context_in, in, field_select.fld, 1)

static uint8_t modify(unsigned int entries)
{
	return lan_cmd(MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT, 0, in, MODIFY_BYTES + 8 * entries,
		       IFC_SZ(modify_nic_vport_context_out));
}

/* Prepare a command that writes a list. */
static void prepare_list(unsigned int type, unsigned int n, const uint64_t *entry)
{
	uint8_t *at = ctx() + IFC_BYTE(nic_vport_context, current_uc_mac_address);
	unsigned int i;

	clean();
	SELECT(addresses_list);
	IFC_SET(nic_vport_context, ctx(), allowed_list_type, type);
	IFC_SET(nic_vport_context, ctx(), allowed_list_size, n);
	for (i = 0; i < n; i++)
		put_be64(at + 8 * i, entry[i]);
}

static const uint8_t *query(unsigned int list, unsigned int room)
{
	uint8_t q[IFC_SZ(query_nic_vport_context_in)] = {};

	IFC_SET(query_nic_vport_context_in, q, allowed_list_type, list);
	assert_int_equal(lan_cmd(MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT, 0, q, sizeof(q),
				 IFC_SZ(query_nic_vport_context_out) + 8 * room), ST_OK);
	return lan.out + IFC_BYTE(query_nic_vport_context_out, nic_vport_context);
}

static uint64_t entry(const uint8_t *c, unsigned int i)
{
	return get_be64(c + IFC_BYTE(nic_vport_context, current_uc_mac_address) + 8 * i);
}

/* ---- the context ----------------------------------------------------------------------------- */

static void context_after_power_on(void **state)
{
	const uint8_t *c = query(ETH_LIST_UC, 1);

	(void)state;
	assert_true(get_be64(c + IFC_BYTE(nic_vport_context, permanent_address)) == MAC(0));
	assert_int_equal(IFC_GET(nic_vport_context, c, mtu), 1522);
	assert_int_equal(IFC_GET(nic_vport_context, c, sd_group), 0);
	assert_true(IFC_GET64(nic_vport_context, c, system_image_guid) == fabric_guid(lan.hca[0]));
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_size), 1);
	assert_true(entry(c, 0) == MAC(0));
	/* Each HCA has an address of its own, which is locally administered. */
	assert_true(lan.hca[1]->eth->vport.mac == MAC(1));
	assert_true(MAC(0) >> 41 & 1);
}

static void fields_that_are_not_selected_do_not_change(void **state)
{
	const uint8_t *c;

	(void)state;
	clean();
	SELECT(promisc);
	IFC_SET(nic_vport_context, ctx(), promisc_uc, 1);
	IFC_SET(nic_vport_context, ctx(), mtu, 9000);
	IFC_SET(nic_vport_context, ctx(), min_wqe_inline_mode, 7);	/* there is no such mode */
	IFC_SET(nic_vport_context, ctx(), arm_change_event, 1);
	assert_int_equal(modify(0), ST_OK);
	c = query(ETH_LIST_UC, 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, promisc_uc), 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, promisc_all), 0);
	assert_int_equal(IFC_GET(nic_vport_context, c, mtu), 1522);
	assert_int_equal(IFC_GET(nic_vport_context, c, arm_change_event), 0);
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_size), 1);
	clean();
	SELECT(mtu);
	SELECT(change_event);
	SELECT(min_inline);
	IFC_SET(nic_vport_context, ctx(), mtu, 9022);
	IFC_SET(nic_vport_context, ctx(), event_on_promisc_change, 1);
	IFC_SET(nic_vport_context, ctx(), min_wqe_inline_mode, 2);
	assert_int_equal(modify(0), ST_OK);
	c = query(ETH_LIST_UC, 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, mtu), 9022);
	assert_int_equal(IFC_GET(nic_vport_context, c, event_on_promisc_change), 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, event_on_mtu), 0);
	assert_int_equal(IFC_GET(nic_vport_context, c, min_wqe_inline_mode), 2);
	assert_int_equal(IFC_GET(nic_vport_context, c, promisc_uc), 1);
}

static void fields_of_the_manager_are_refused(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		clean();
		if (i == 0)
			SELECT(permanent_address);
		else if (i == 1)
			SELECT(node_guid);
		else if (i == 2)
			SELECT(port_guid);
		else
			SELECT(affiliation);
		assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	}
	assert_true(lan.hca[0]->eth->vport.mac == MAC(0));
}

static void fields_need_their_capabilities(void **state)
{
	uint8_t *cap = lan.hca[0]->cap[CAP_GENERAL];
	const uint8_t *c;

	(void)state;
	clean();
	SELECT(roce_en);
	IFC_SET(nic_vport_context, ctx(), roce_en, 1);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	clean();
	SELECT(disable_uc_local_lb);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	clean();
	SELECT(disable_mc_local_lb);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	IFC_SET(cmd_hca_cap, cap, roce, 1);
	IFC_SET(cmd_hca_cap, cap, disable_local_lb_uc, 1);
	IFC_SET(cmd_hca_cap, cap, disable_local_lb_mc, 1);
	clean();
	SELECT(roce_en);
	SELECT(disable_uc_local_lb);
	SELECT(disable_mc_local_lb);
	IFC_SET(nic_vport_context, ctx(), roce_en, 1);
	IFC_SET(nic_vport_context, ctx(), disable_mc_local_lb, 1);
	assert_int_equal(modify(0), ST_OK);
	c = query(ETH_LIST_UC, 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, roce_en), 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, disable_mc_local_lb), 1);
	assert_int_equal(IFC_GET(nic_vport_context, c, disable_uc_local_lb), 0);
}

static void values_out_of_range_are_refused(void **state)
{
	(void)state;
	clean();
	SELECT(mtu);
	IFC_SET(nic_vport_context, ctx(), mtu, 10001);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	IFC_SET(nic_vport_context, ctx(), mtu, 0);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
	clean();
	SELECT(min_inline);
	IFC_SET(nic_vport_context, ctx(), min_wqe_inline_mode, 4);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_FIELD);
}

/* ---- the lists ------------------------------------------------------------------------------- */

static void each_list_keeps_its_entries(void **state)
{
	static const uint64_t uc[] = { 0x020000000001, 0x020000000002 };
	static const uint64_t mc[] = { BROADCAST, GROUP, 0x333300000001 };
	static const uint64_t vlan[] = { 7ull << 32, 4095ull << 32 };
	const uint8_t *c;

	(void)state;
	prepare_list(ETH_LIST_UC, 2, uc);
	assert_int_equal(modify(2), ST_OK);
	prepare_list(ETH_LIST_MC, 3, mc);
	assert_int_equal(modify(3), ST_OK);
	prepare_list(ETH_LIST_VLAN, 2, vlan);
	assert_int_equal(modify(2), ST_OK);
	c = query(ETH_LIST_UC, 4);
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_size), 2);
	assert_true(entry(c, 0) == uc[0] && entry(c, 1) == uc[1] && !entry(c, 2));
	c = query(ETH_LIST_MC, 4);
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_type), ETH_LIST_MC);
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_size), 3);
	assert_true(entry(c, 2) == mc[2]);
	c = query(ETH_LIST_VLAN, 4);
	assert_true(entry(c, 1) == vlan[1]);
	/* An output without room for the list has the other fields and the size. */
	c = query(ETH_LIST_MC, 0);
	assert_int_equal(IFC_GET(nic_vport_context, c, allowed_list_size), 3);
	assert_true(entry(c, 0) == 0);
	/* The permanent address does not change. */
	assert_true(get_be64(c + IFC_BYTE(nic_vport_context, permanent_address)) == MAC(0));
	prepare_list(ETH_LIST_MC, 0, NULL);
	assert_int_equal(modify(0), ST_OK);
	assert_int_equal(IFC_GET(nic_vport_context, query(ETH_LIST_MC, 4), allowed_list_size), 0);
}

static void lists_have_a_limit(void **state)
{
	uint64_t entries[17];
	unsigned int i;

	(void)state;
	for (i = 0; i < 17; i++)
		entries[i] = 0x020000000000 + i;
	prepare_list(ETH_LIST_UC, 4, entries);
	assert_int_equal(modify(4), ST_OK);
	prepare_list(ETH_LIST_UC, 5, entries);
	assert_refused(modify(5), ST_BAD_PARAM, WHY_NIC_VPORT_LIST);
	for (i = 0; i < 17; i++)
		entries[i] = GROUP + i;
	prepare_list(ETH_LIST_MC, 8, entries);
	assert_int_equal(modify(8), ST_OK);
	prepare_list(ETH_LIST_MC, 9, entries);
	assert_refused(modify(9), ST_BAD_PARAM, WHY_NIC_VPORT_LIST);
	for (i = 0; i < 17; i++)
		entries[i] = (uint64_t)i << 32;
	prepare_list(ETH_LIST_VLAN, 16, entries);
	assert_int_equal(modify(16), ST_OK);
	prepare_list(ETH_LIST_VLAN, 17, entries);
	assert_refused(modify(17), ST_BAD_PARAM, WHY_NIC_VPORT_LIST);
	/* What was refused has changed nothing. */
	assert_int_equal(lan.hca[0]->eth->vport.list[ETH_LIST_UC].n, 4);
}

static uint8_t query_pkey(unsigned int port, unsigned int index, unsigned int room)
{
	uint8_t in[IFC_SZ(query_hca_vport_pkey_in)] = {};

	IFC_SET(query_hca_vport_pkey_in, in, port_num, port);
	IFC_SET(query_hca_vport_pkey_in, in, pkey_index, index);
	return lan_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, 0, in, sizeof(in),
		       IFC_SZ(query_hca_vport_pkey_out) + room * IFC_SZ(pkey));
}

static void the_only_p_key_is_the_default(void **state)
{
	const uint8_t *pkey = IFC_ADDR(query_hca_vport_pkey_out, (uint8_t *)lan.out, pkey);

	(void)state;
	assert_int_equal(query_pkey(1, 0, 1), ST_OK);
	assert_int_equal(IFC_GET(pkey, pkey, pkey), 0xffff);
	assert_int_equal(query_pkey(1, 127, 1), ST_OK);
	assert_int_equal(IFC_GET(pkey, pkey, pkey), 0);
	assert_int_equal(query_pkey(1, 0xffff, 128), ST_OK);
	assert_int_equal(IFC_GET(pkey, pkey, pkey), 0xffff);
	assert_int_equal(IFC_GET(pkey, pkey + IFC_SZ(pkey), pkey), 0);
	assert_refused(query_pkey(1, 0xffff, 127), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
	assert_refused(query_pkey(1, 128, 1), ST_BAD_INDEX, WHY_PKEY_INDEX);
	assert_refused(query_pkey(2, 0, 1), ST_BAD_PARAM, WHY_PORT_UNKNOWN);
}

static void entries_of_another_kind_are_refused(void **state)
{
	static const struct {
		unsigned int type;
		uint64_t entry;
	} bad[] = {
		{ ETH_LIST_UC, GROUP }, { ETH_LIST_UC, 1ull << 48 | MAC(0) },
		{ ETH_LIST_MC, MAC(0) }, { ETH_LIST_VLAN, 4096ull << 32 }, { ETH_LIST_VLAN, 1 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		prepare_list(bad[i].type, 1, &bad[i].entry);
		assert_refused(modify(1), ST_BAD_PARAM, WHY_NIC_VPORT_LIST);
	}
	prepare_list(3, 0, NULL);
	assert_refused(modify(0), ST_BAD_PARAM, WHY_NIC_VPORT_LIST);
	prepare_list(ETH_LIST_UC, 2, (const uint64_t[]){ MAC(0), MAC(1) });
	assert_refused(modify(1), ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	clean();
	IFC_SET(query_nic_vport_context_in, in, allowed_list_type, 3);
	assert_refused(lan_cmd(MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT, 0, in, 16,
			       IFC_SZ(query_nic_vport_context_out)), ST_BAD_PARAM,
		       WHY_NIC_VPORT_LIST);
}

static void other_vports_do_not_exist(void **state)
{
	static const struct {
		uint16_t op;
		size_t in, out;
	} cmds[] = {
		{ MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT, IFC_SZ(query_nic_vport_context_in),
		  IFC_SZ(query_nic_vport_context_out) },
		{ MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT, MODIFY_BYTES,
		  IFC_SZ(modify_nic_vport_context_out) },
		{ MLX5_CMD_OP_QUERY_VPORT_STATE, IFC_SZ(query_vport_state_in),
		  IFC_SZ(query_vport_state_out) },
		{ MLX5_CMD_OP_QUERY_VPORT_COUNTER, IFC_SZ(query_vport_counter_in),
		  IFC_SZ(query_vport_counter_out) },
		{ MLX5_CMD_OP_QUERY_VNIC_ENV, IFC_SZ(query_vnic_env_in),
		  IFC_SZ(query_vnic_env_out) },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		clean();
		assert_int_equal(lan_cmd(cmds[i].op, 0, in, cmds[i].in, cmds[i].out), ST_OK);
		IFC_SET(query_nic_vport_context_in, in, other_vport, 1);
		assert_refused(lan_cmd(cmds[i].op, 0, in, cmds[i].in, cmds[i].out), ST_BAD_PARAM,
			       WHY_VPORT_OTHER);
		IFC_SET(query_nic_vport_context_in, in, other_vport, 0);
		IFC_SET(query_nic_vport_context_in, in, vport_number, 1);
		assert_refused(lan_cmd(cmds[i].op, 0, in, cmds[i].in, cmds[i].out), ST_BAD_PARAM,
			       WHY_VPORT_OTHER);
	}
}

/* ---- what it receives ------------------------------------------------------------------------ */

static void it_receives_at_its_addresses(void **state)
{
	static const uint64_t uc[] = { 0x020000000001, 0x020000000002 };

	(void)state;
	lan_send(1, MAC(0), MAC(1), 60);
	lan_send(1, uc[1], MAC(1), 60);
	assert_int_equal(lan_count(0), 1);
	prepare_list(ETH_LIST_UC, 2, uc);
	assert_int_equal(modify(2), ST_OK);
	lan_send(1, MAC(0), MAC(1), 60);
	lan_send(1, uc[0], MAC(1), 60);
	lan_send(1, uc[1], MAC(1), 60);
	lan_send(1, GROUP, MAC(1), 60);
	lan_send(1, BROADCAST, MAC(1), 60);
	assert_int_equal(lan_count(0), 4);
	assert_int_equal(lan.hca[0]->eth->stats.rx_other_address, 2);
}

static void it_receives_all_addresses_when_promiscuous(void **state)
{
	(void)state;
	clean();
	SELECT(promisc);
	IFC_SET(nic_vport_context, ctx(), promisc_all, 1);
	assert_int_equal(modify(0), ST_OK);
	lan_send(1, MAC(2), MAC(1), 60);
	assert_int_equal(lan_count(0), 1);
	IFC_SET(nic_vport_context, ctx(), promisc_all, 0);
	IFC_SET(nic_vport_context, ctx(), promisc_mc, 1);
	assert_int_equal(modify(0), ST_OK);
	lan_send(1, MAC(2), MAC(1), 60);
	assert_int_equal(lan_count(0), 0);
}

static void enable_loopback(void)
{
	IFC_SET(cmd_hca_cap, lan.hca[0]->cap[CAP_GENERAL], disable_local_lb_uc, 1);
	IFC_SET(cmd_hca_cap, lan.hca[0]->cap[CAP_GENERAL], disable_local_lb_mc, 1);
}

static void own_frames_return_with_local_loopback_only(void **state)
{
	(void)state;
	lan_send(0, MAC(0), MAC(0), 60);
	lan_send(0, BROADCAST, MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
	lan_count(1);
	enable_loopback();
	lan_send(0, MAC(0), MAC(0), 60);
	assert_true(eth_rx_pending(lan.hca[0]));
	assert_int_equal(lan_count(0), 1);
	assert_false(eth_rx_pending(lan.hca[0]));
	assert_int_equal(lan_count(1), 0);	/* it has not left the port */
	lan_send(0, GROUP, MAC(0), 60);
	assert_int_equal(lan_count(0), 1);
	assert_int_equal(lan_count(1), 1);
	lan_send(0, MAC(1), MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
	clean();
	SELECT(disable_uc_local_lb);
	SELECT(disable_mc_local_lb);
	IFC_SET(nic_vport_context, ctx(), disable_uc_local_lb, 1);
	IFC_SET(nic_vport_context, ctx(), disable_mc_local_lb, 1);
	assert_int_equal(modify(0), ST_OK);
	lan_send(0, MAC(0), MAC(0), 60);
	lan_send(0, GROUP, MAC(0), 60);
	assert_int_equal(lan_count(0), 0);
}

static void own_frames_have_a_queue_limit(void **state)
{
	unsigned int i;

	(void)state;
	enable_loopback();
	for (i = 0; i < 520; i++)
		lan_send(0, MAC(0), MAC(0), 60);
	assert_int_equal(lan.hca[0]->eth->stats.loopback_full, 8);
	assert_int_equal(lan_count(0), 512);
	lan_send(0, MAC(0), MAC(0), 60);
	hca_free_objects(lan.hca[0]);
	assert_int_equal(lan_count(0), 0);
}

/* ---- counters -------------------------------------------------------------------------------- */

static const uint8_t *counters(void)
{
	clean();
	assert_int_equal(lan_cmd(MLX5_CMD_OP_QUERY_VPORT_COUNTER, 0, in,
				 IFC_SZ(query_vport_counter_in), IFC_SZ(query_vport_counter_out)),
			 ST_OK);
	return lan.out;
}

#define COUNTER(fld) IFC_GET64(query_vport_counter_out, c, fld)

static void vport_counts_without_check_sequences(void **state)
{
	const uint8_t *c;

	(void)state;
	enable_loopback();
	lan_send(0, MAC(1), MAC(0), 100);
	lan_send(0, GROUP, MAC(0), 200);
	lan_send(0, BROADCAST, MAC(0), 300);
	lan_send(0, MAC(0), MAC(0), 400);
	lan_send(1, MAC(0), MAC(1), 500);
	lan_send(1, GROUP, MAC(1), 600);
	lan_send(1, BROADCAST, MAC(1), 700);
	lan_send(0, MAC(1), MAC(0), 1600);		/* too long */
	assert_int_equal(lan_count(0), 6);
	c = counters();
	assert_int_equal(COUNTER(transmitted_eth_unicast.packets), 2);
	assert_int_equal(COUNTER(transmitted_eth_unicast.octets), 500);
	assert_int_equal(COUNTER(transmitted_eth_multicast.packets), 1);
	assert_int_equal(COUNTER(transmitted_eth_multicast.octets), 200);
	assert_int_equal(COUNTER(transmitted_eth_broadcast.octets), 300);
	assert_int_equal(COUNTER(received_eth_unicast.packets), 2);
	assert_int_equal(COUNTER(received_eth_unicast.octets), 900);
	assert_int_equal(COUNTER(received_eth_multicast.octets), 800);
	assert_int_equal(COUNTER(received_eth_broadcast.octets), 1000);
	assert_int_equal(COUNTER(local_loopback.packets), 3);
	assert_int_equal(COUNTER(local_loopback.octets), 900);
	assert_int_equal(COUNTER(transmit_errors.packets), 1);
	assert_int_equal(COUNTER(received_ib_unicast.packets), 0);
	/* The frame to the own address has not used the link. */
	assert_int_equal(eth_sum(lan.hca[0]->eth->stats.phy_tx.frames), 3);
}

static void counters_need_their_capability(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, lan.hca[0]->cap[CAP_GENERAL], vport_counters, 0);
	clean();
	assert_refused(lan_cmd(MLX5_CMD_OP_QUERY_VPORT_COUNTER, 0, in,
			       IFC_SZ(query_vport_counter_in), IFC_SZ(query_vport_counter_out)),
		       ST_BAD_OP, WHY_VPORT_NO_COUNTERS);
	IFC_SET(cmd_hca_cap, lan.hca[0]->cap[CAP_GENERAL], vport_counters, 1);
	IFC_SET(query_vport_counter_in, in, port_num, 2);
	assert_refused(lan_cmd(MLX5_CMD_OP_QUERY_VPORT_COUNTER, 0, in,
			       IFC_SZ(query_vport_counter_in), IFC_SZ(query_vport_counter_out)),
		       ST_BAD_PARAM, WHY_PORT_UNKNOWN);
}

static void environment_has_the_drops(void **state)
{
	const uint8_t *env = lan.out + IFC_BYTE(query_vnic_env_out, vport_env);

	(void)state;
	eth_set_link(lan.hca[0], false);
	lan_send(0, MAC(1), MAC(0), 60);
	lan.hca[0]->count.rx_steering_discards = 5;
	lan.hca[0]->count.rx_wqe_too_small = 7;
	clean();
	assert_int_equal(lan_cmd(MLX5_CMD_OP_QUERY_VNIC_ENV, 0, in, IFC_SZ(query_vnic_env_in),
				 IFC_SZ(query_vnic_env_out)), ST_OK);
	assert_int_equal(IFC_GET64(vnic_diagnostic_statistics, env, nic_receive_steering_discard),
			 5);
	assert_int_equal(IFC_GET64(vnic_diagnostic_statistics, env, transmit_discard_vport_down),
			 1);
	assert_int_equal(IFC_GET(vnic_diagnostic_statistics, env, eth_wqe_too_small), 7);
	IFC_SET(cmd_hca_cap, lan.hca[0]->cap[CAP_GENERAL], eth_wqe_too_small, 0);
	assert_int_equal(lan_cmd(MLX5_CMD_OP_QUERY_VNIC_ENV, 0, in, IFC_SZ(query_vnic_env_in),
				 IFC_SZ(query_vnic_env_out)), ST_OK);
	assert_int_equal(IFC_GET(vnic_diagnostic_statistics, env, eth_wqe_too_small), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, lan_up, lan_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(context_after_power_on), T(fields_that_are_not_selected_do_not_change),
		T(fields_of_the_manager_are_refused), T(fields_need_their_capabilities),
		T(values_out_of_range_are_refused), T(each_list_keeps_its_entries),
		T(lists_have_a_limit), T(entries_of_another_kind_are_refused),
		T(the_only_p_key_is_the_default),
		T(other_vports_do_not_exist), T(it_receives_at_its_addresses),
		T(it_receives_all_addresses_when_promiscuous),
		T(own_frames_return_with_local_loopback_only), T(own_frames_have_a_queue_limit),
		T(vport_counts_without_check_sequences), T(counters_need_their_capability),
		T(environment_has_the_drops),
	};

	return cmocka_run_group_tests_name("eth_vport", tests, NULL, NULL);
}
