// SPDX-License-Identifier: GPL-2.0
/*
 * The port: vport context and tables, its registers, link events, and the management agents.
 */
#include <string.h>

#include "address.h"
#include "cmd.h"
#include "eq.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "mad.h"
#include "objrig.h"
#include "packet.h"
#include "port.h"
#include "profile.h"
#include "sma.h"
#include "trace.h"
#include "tracerig.h"

static uint8_t out[4096];

static int setup(void **state)
{
	static const struct hca_module *const modules[] = {
		&fabric_module, &address_module, &port_module, NULL
	};
	static const struct cmd_desc *const cmds[] = { port_cmds, port_reg_cmds, NULL };
	static bool added;

	if (!added) {
		rig_extra.modules = modules;
		rig_extra.cmds = cmds;
		added = true;
	}
	rig_extra.fabric = fabric_new(&ib_packet_type);
	if (rig_setup(state))
		return -1;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], ib_virt, 1);
	return 0;
}

static int teardown(void **state)
{
	int ret = rig_teardown(state);

	fabric_free(rig_extra.fabric);
	return ret;
}

static const uint8_t *vport(void)
{
	uint8_t in[IFC_SZ(query_hca_vport_context_in)] = {};

	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
				 IFC_SZ(query_hca_vport_context_out)), ST_OK);
	return IFC_ADDR(query_hca_vport_context_out, (const uint8_t *)out, hca_vport_context);
}

static void vport_context_follows_the_link(void **state)
{
	const uint8_t *c = vport();

	(void)state;
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 4);
	assert_int_equal(IFC_GET(hca_vport_context, c, port_physical_state), 5);
	assert_int_equal(IFC_GET(hca_vport_context, c, lid), 1);
	assert_true(IFC_GET64(hca_vport_context, c, port_guid) == 0x02b1ebe100000100);
	port_set_link(rig.hca, false);
	c = vport();
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 1);
	assert_int_equal(IFC_GET(hca_vport_context, c, lid), 0xffff);
	assert_int_equal(IFC_GET(hca_vport_context, c, sm_lid), 0);
}

/* What the profile and the subnet manager gave the port is in the context of its vport. */
static void vport_context_has_what_the_port_has(void **state)
{
	struct port_attrs *attrs = &rig.hca->port->attrs;
	const uint64_t guid = 0x02b1ebe100000100;
	const uint8_t *c;

	(void)state;
	attrs->sm_lid = 0x1234;
	attrs->sm_sl = 5;
	attrs->subnet_timeout = 19;
	rig.profile->port_caps_2 = 0x32;
	assert_true(port_set_lids(rig.hca, 0x80, 3));
	c = vport();
	assert_int_equal(IFC_GET(hca_vport_context, c, has_smi), 1);
	assert_int_equal(IFC_GET(hca_vport_context, c, port_state), 4);
	assert_true(IFC_GET64(hca_vport_context, c, system_image_guid) == guid);
	assert_true(IFC_GET64(hca_vport_context, c, node_guid) == guid);
	assert_int_equal(IFC_GET(hca_vport_context, c, cap_mask1), rig.hca->port->cap_mask1);
	/* Subnet management; CM, SNMP tunneling, reinitialization, device management, vendor. */
	assert_int_equal(IFC_GET(hca_vport_context, c, cap_mask1_field_select), 0x1f0002);
	assert_int_equal(IFC_GET(hca_vport_context, c, cap_mask2), 0x32);
	assert_int_equal(IFC_GET(hca_vport_context, c, lid), 0x80);
	assert_int_equal(IFC_GET(hca_vport_context, c, lmc), 3);
	assert_int_equal(IFC_GET(hca_vport_context, c, sm_lid), 0x1234);
	assert_int_equal(IFC_GET(hca_vport_context, c, sm_sl), 5);
	assert_int_equal(IFC_GET(hca_vport_context, c, subnet_timeout), 19);
	port_set_link(rig.hca, false);
	c = vport();
	assert_int_equal(IFC_GET(hca_vport_context, c, port_state), 1);
	assert_int_equal(IFC_GET(hca_vport_context, c, port_physical_state), 2);
}

static void link_change_raises_events_once(void **state)
{
	(void)state;
	port_set_link(rig.hca, true);
	assert_int_equal(rig.nev, 0);
	trace_ring(rig.hca->trace, true);
	port_set_link(rig.hca, false);
	expect_traced(rig.hca->trace, "link", "\"up\":false");
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_PORT_CHANGE);
	assert_int_equal(rig.ev[0].subtype, 1);
	assert_int_equal(rig.ev[0].data[8], 0x10);
	port_set_link(rig.hca, true);
	expect_traced(rig.hca->trace, "link", "\"up\":true");
	assert_int_equal(rig.nev, 3);
	assert_int_equal(rig.ev[1].subtype, 6);
	assert_int_equal(rig.ev[2].subtype, 4);
}

static void lid_changes_with_an_event(void **state)
{
	(void)state;
	assert_true(port_set_lids(rig.hca, 1, 0));		/* the LID that it has */
	assert_int_equal(rig.nev, 0);
	assert_false(port_set_lids(rig.hca, 0, 0));
	assert_false(port_set_lids(rig.hca, 0xc000, 0));
	assert_true(port_set_lids(rig.hca, 0xbfff, 0));
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_PORT_CHANGE);
	assert_int_equal(rig.ev[0].subtype, 6);
	assert_int_equal(rig.ev[0].data[8], 0x10);
	assert_int_equal(IFC_GET(hca_vport_context, vport(), lid), 0xbfff);
}

static void violation_counters_stay_at_their_maximum(void **state)
{
	uint8_t *caps = rig.hca->cap[CAP_GENERAL];

	(void)state;
	rig.hca->count.bad_pkeys = 7;
	rig.hca->count.bad_qkeys = 0x12345;
	assert_int_equal(IFC_GET(hca_vport_context, vport(), pkey_violation_counter), 0);
	IFC_SET(cmd_hca_cap, caps, pkv, 1);
	IFC_SET(cmd_hca_cap, caps, qkv, 1);
	assert_int_equal(IFC_GET(hca_vport_context, vport(), pkey_violation_counter), 7);
	assert_int_equal(IFC_GET(hca_vport_context, vport(), qkey_violation_counter), 0xffff);
}

static void only_settable_capability_mask_bits_change(void **state)
{
	uint8_t in[IFC_SZ(modify_hca_vport_context_in)] = {};
	uint8_t *c = IFC_ADDR(modify_hca_vport_context_in, in, hca_vport_context);
	uint32_t before = IFC_GET(hca_vport_context, vport(), cap_mask1);

	(void)state;
	IFC_SET(hca_vport_context, c, cap_mask1_field_select, 1 << 16);
	IFC_SET(hca_vport_context, c, cap_mask1, ~before);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
				 16), ST_OK);
	assert_int_equal(IFC_GET(hca_vport_context, vport(), cap_mask1), before ^ 1 << 16);
	IFC_SET(hca_vport_context, c, cap_mask1_field_select, 1 << 11);
	assert_refused(rig_cmd(MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out, 16),
		       ST_BAD_PARAM, WHY_PORT_CAP_MASK);
}

/* A target of SRP sets the bit when it starts, and clears it when it ends. */
static void host_announces_device_management(void **state)
{
	uint8_t in[IFC_SZ(modify_hca_vport_context_in)] = {};
	uint8_t *c = IFC_ADDR(modify_hca_vport_context_in, in, hca_vport_context);
	uint32_t before = IFC_GET(hca_vport_context, vport(), cap_mask1), set[] = { 1 << 19, 0 };
	unsigned int i;

	(void)state;
	assert_int_equal(before & 1 << 19, 0);
	IFC_SET(hca_vport_context, c, cap_mask1_field_select, 1 << 19);
	for (i = 0; i < ARRAY_SIZE(set); i++) {
		IFC_SET(hca_vport_context, c, cap_mask1, set[i]);
		assert_int_equal(rig_cmd(MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in),
					 out, 16), ST_OK);
		assert_int_equal(IFC_GET(hca_vport_context, vport(), cap_mask1), before | set[i]);
	}
}

/* ---- vports of virtual functions ------------------------------------------------------------- */

/* Let the HCA manage @n virtual functions. */
static void manage(unsigned int n)
{
	rig.profile->virtual_functions = n;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], vport_group_manager, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], vport_counters, 1);
}

static uint8_t query_vf(unsigned int number)
{
	uint8_t in[IFC_SZ(query_hca_vport_context_in)] = {};

	IFC_SET(query_hca_vport_context_in, in, other_vport, 1);
	IFC_SET(query_hca_vport_context_in, in, vport_number, number);
	return rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
		       IFC_SZ(query_hca_vport_context_out));
}

static uint8_t modify_vf(unsigned int number, uint32_t select, uint64_t guid, unsigned int policy)
{
	uint8_t in[IFC_SZ(modify_hca_vport_context_in)] = {};
	uint8_t *c = IFC_ADDR(modify_hca_vport_context_in, in, hca_vport_context);

	IFC_SET(modify_hca_vport_context_in, in, other_vport, !!number);
	IFC_SET(modify_hca_vport_context_in, in, vport_number, number);
	IFC_SET(hca_vport_context, c, field_select, select);
	IFC_SET(hca_vport_context, c, vport_state_policy, policy);
	IFC_SET64(hca_vport_context, c, port_guid, guid + 1);
	IFC_SET64(hca_vport_context, c, node_guid, guid + 2);
	return rig_cmd(MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out, 16);
}

static void group_manager_sets_guids_and_policies(void **state)
{
	const uint8_t *c = IFC_ADDR(query_hca_vport_context_out, (const uint8_t *)out,
				    hca_vport_context);
	uint64_t own = IFC_GET64(hca_vport_context, vport(), node_guid);

	(void)state;
	manage(2);
	assert_int_equal(modify_vf(2, 3, 0x1234567800, 0), ST_OK);
	assert_int_equal(query_vf(2), ST_OK);
	assert_true(IFC_GET64(hca_vport_context, c, port_guid) == 0x1234567801);
	assert_true(IFC_GET64(hca_vport_context, c, node_guid) == 0x1234567802);
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 1);	/* policy: down */
	assert_int_equal(modify_vf(2, 4, 0, 1), ST_OK);
	assert_int_equal(query_vf(2), ST_OK);
	assert_true(IFC_GET64(hca_vport_context, c, port_guid) == 0x1234567801);
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state_policy), 1);
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 4);
	/* The link is up; the state follows it. */
	assert_int_equal(modify_vf(2, 4, 0, 2), ST_OK);
	assert_int_equal(query_vf(2), ST_OK);
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 4);
	fabric_set_link(rig.hca, false);
	assert_int_equal(query_vf(2), ST_OK);
	assert_int_equal(IFC_GET(hca_vport_context, c, vport_state), 1);
	/* It has no subnet management and no violations, and its capability mask cannot change. */
	assert_int_equal(IFC_GET(hca_vport_context, c, has_smi), 0);
	assert_int_equal(IFC_GET(hca_vport_context, c, cap_mask1_field_select), 0);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], pkv, 1);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], qkv, 1);
	rig.hca->count.bad_pkeys = 7;
	rig.hca->count.bad_qkeys = 8;
	assert_int_equal(query_vf(2), ST_OK);
	assert_int_equal(IFC_GET(hca_vport_context, c, pkey_violation_counter), 0);
	assert_int_equal(IFC_GET(hca_vport_context, c, qkey_violation_counter), 0);
	/* The other virtual function, and the HCA's own vport, are as before. */
	assert_int_equal(query_vf(1), ST_OK);
	assert_true(IFC_GET64(hca_vport_context, c, node_guid) == 0);
	assert_true(IFC_GET64(hca_vport_context, vport(), node_guid) == own);
	hca_reset(rig.hca);
	assert_true(rig.hca->port->vf[1].node_guid == 0);
}

static void vports_of_virtual_functions_are_the_group_managers(void **state)
{
	(void)state;
	manage(2);
	assert_refused(query_vf(0), ST_BAD_PARAM, WHY_VPORT_OTHER);
	assert_refused(query_vf(3), ST_BAD_PARAM, WHY_VPORT_OTHER);
	assert_refused(modify_vf(3, 3, 1, 0), ST_BAD_PARAM, WHY_VPORT_OTHER);
	/* No field, an unknown field, an unknown policy, and the HCA's own GUIDs. */
	assert_refused(modify_vf(1, 0, 1, 0), ST_BAD_PARAM, WHY_VPORT_FIELD);
	assert_refused(modify_vf(1, 8, 1, 0), ST_BAD_PARAM, WHY_VPORT_FIELD);
	assert_refused(modify_vf(1, 4, 1, 3), ST_BAD_PARAM, WHY_VPORT_FIELD);
	assert_int_equal(modify_vf(1, 3, 1, 3), ST_OK);		/* the policy is not selected */
	assert_refused(modify_vf(0, 3, 1, 0), ST_BAD_PARAM, WHY_PORT_GROUP_MANAGER);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], vport_group_manager, 0);
	assert_refused(query_vf(1), ST_BAD_PARAM, WHY_PORT_GROUP_MANAGER);
	assert_refused(modify_vf(1, 3, 1, 0), ST_BAD_PARAM, WHY_PORT_GROUP_MANAGER);
}

static void capabilities_of_a_virtual_function_do_not_change(void **state)
{
	uint8_t in[IFC_SZ(modify_hca_vport_context_in)] = {};
	uint8_t *c = IFC_ADDR(modify_hca_vport_context_in, in, hca_vport_context);

	(void)state;
	manage(1);
	IFC_SET(modify_hca_vport_context_in, in, other_vport, 1);
	IFC_SET(modify_hca_vport_context_in, in, vport_number, 1);
	IFC_SET(hca_vport_context, c, field_select, 4);
	IFC_SET(hca_vport_context, c, vport_state_policy, 1);
	IFC_SET(hca_vport_context, c, cap_mask1_field_select, 1 << 16);
	assert_refused(rig_cmd(MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out, 16),
		       ST_BAD_PARAM, WHY_PORT_CAP_MASK);
	assert_int_equal(query_vf(1), ST_OK);
	assert_int_equal(IFC_GET(hca_vport_context,
				 IFC_ADDR(query_hca_vport_context_out, (const uint8_t *)out,
					  hca_vport_context), vport_state_policy), 0);
}

static uint8_t counters(bool other, unsigned int number)
{
	uint8_t in[IFC_SZ(query_vport_counter_in)] = {};

	IFC_SET(query_vport_counter_in, in, other_vport, other);
	IFC_SET(query_vport_counter_in, in, vport_number, number);
	return rig_cmd(MLX5_CMD_OP_QUERY_VPORT_COUNTER, 0, 0, in, sizeof(in), out,
		       IFC_SZ(query_vport_counter_out));
}

static void counters_of_vports_need_the_capability(void **state)
{
	(void)state;
	manage(1);
	rig.hca->count.packets_rx = 5;
	assert_int_equal(counters(false, 0), ST_OK);
	assert_true(IFC_GET64(query_vport_counter_out, out, received_ib_unicast.packets) == 5);
	assert_int_equal(counters(true, 1), ST_OK);
	assert_true(IFC_GET64(query_vport_counter_out, out, received_ib_unicast.packets) == 0);
	assert_refused(counters(true, 2), ST_BAD_PARAM, WHY_VPORT_OTHER);
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], vport_counters, 0);
	assert_refused(counters(false, 0), ST_BAD_OP, WHY_VPORT_NO_COUNTERS);
}

static uint8_t gid(uint16_t index, size_t n)
{
	uint8_t in[IFC_SZ(query_hca_vport_gid_in)] = {};

	IFC_SET(query_hca_vport_gid_in, in, gid_index, index);
	return rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_GID, 0, 0, in, sizeof(in), out,
		       IFC_SZ(query_hca_vport_gid_out) + 16 * n);
}

static uint8_t pkey(uint16_t index, size_t n)
{
	uint8_t in[IFC_SZ(query_hca_vport_pkey_in)] = {};

	IFC_SET(query_hca_vport_pkey_in, in, pkey_index, index);
	return rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, 0, 0, in, sizeof(in), out,
		       IFC_SZ(query_hca_vport_pkey_out) + 4 * n);
}

static uint16_t pkey_out(unsigned int i)
{
	return IFC_GET(pkey, out + IFC_SZ(query_hca_vport_pkey_out) + 4 * i, pkey);
}

static void gids_and_pkeys_of_every_index(void **state)
{
	const uint8_t *first = out + IFC_SZ(query_hca_vport_gid_out);

	(void)state;
	assert_int_equal(gid(0, 1), ST_OK);
	assert_true(get_be64(first) == 0xfe80ull << 48);
	assert_true(get_be64(first + 8) == 0x02b1ebe100000100);
	assert_int_equal(gid(1, 1), ST_OK);
	assert_true(get_be64(first) == 0xfe80ull << 48);
	assert_true(get_be64(first + 8) == 0x02b1ebe100010100);
	assert_int_equal(gid(7, 1), ST_OK);
	assert_true(get_be64(first) == 0);
	assert_refused(gid(8, 1), ST_BAD_INDEX, WHY_GID_INDEX);
	assert_int_equal(gid(0xffff, 8), ST_OK);
	assert_true(get_be64(first + 8) == 0x02b1ebe100000100);
	assert_true(get_be64(first + 24) == 0x02b1ebe100010100);
	assert_true(get_be64(first + 32) == 0);
	assert_refused(gid(0xffff, 7), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
	assert_int_equal(pkey(0, 1), ST_OK);
	assert_int_equal(pkey_out(0), 0xffff);
	assert_int_equal(pkey(3, 1), ST_OK);
	assert_int_equal(pkey_out(0), 0);
	assert_true(port_set_pkey(rig.hca, 3, 0x8003));
	assert_int_equal(rig.ev[0].type, EV_PORT_CHANGE);
	assert_int_equal(rig.ev[0].subtype, 7);
	assert_int_equal(pkey(3, 1), ST_OK);
	assert_int_equal(pkey_out(0), 0x8003);
	assert_false(port_set_pkey(rig.hca, 128, 0x8003));
	assert_int_equal(pkey(127, 1), ST_OK);
	assert_int_equal(pkey_out(0), 0);
	assert_int_equal(pkey(0xffff, 128), ST_OK);
	assert_int_equal(pkey_out(0), 0xffff);
	assert_int_equal(pkey_out(3), 0x8003);
	assert_refused(pkey(128, 1), ST_BAD_INDEX, WHY_PKEY_INDEX);
	assert_refused(pkey(0xffff, 127), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
}

static void vports_need_their_capability(void **state)
{
	uint8_t in[IFC_SZ(query_hca_vport_context_in)] = {};

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], ib_virt, 0);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
			       IFC_SZ(query_hca_vport_context_out)), ST_BAD_OP, WHY_PORT_NO_VPORT);
	assert_refused(gid(0, 1), ST_BAD_OP, WHY_PORT_NO_VPORT);
	assert_refused(pkey(0, 1), ST_BAD_OP, WHY_PORT_NO_VPORT);
}

static void other_vports_are_refused(void **state)
{
	static const uint16_t ops[] = {
		MLX5_CMD_OP_QUERY_HCA_VPORT_GID, MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY,
		MLX5_CMD_OP_QUERY_VPORT_STATE,
	};
	unsigned int i;
	uint8_t in[IFC_SZ(query_hca_vport_context_in)] = {};

	(void)state;
	IFC_SET(query_hca_vport_context_in, in, other_vport, 1);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
			       IFC_SZ(query_hca_vport_context_out)), ST_BAD_PARAM,
		       WHY_PORT_GROUP_MANAGER);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		assert_refused(rig_cmd(ops[i], 0, 0, in, 16, out, sizeof(out)), ST_BAD_PARAM,
			       WHY_VPORT_OTHER);
	}
	IFC_SET(query_hca_vport_context_in, in, other_vport, 0);
	IFC_SET(query_hca_vport_context_in, in, port_num, 2);
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, 0, 0, in, sizeof(in), out,
			       IFC_SZ(query_hca_vport_context_out)), ST_BAD_PARAM,
		       WHY_PORT_UNKNOWN);
	/* QUERY_VPORT_STATE names no port. */
	for (i = 0; i < 2; i++)
		assert_refused(rig_cmd(ops[i], 0, 0, in, 16, out, sizeof(out)), ST_BAD_PARAM,
			       WHY_PORT_UNKNOWN);
}

static uint8_t reg(uint16_t id, bool write, uint8_t *in, size_t len)
{
	struct cmd cmd = {};

	memset(out, 0, len);
	return port_access_reg(rig.hca, &cmd, id, write, in, out, len);
}

static void port_registers(void **state)
{
	uint8_t in[256] = { [1] = 1 };

	(void)state;
	assert_int_equal(reg(0x5004, false, in, IFC_SZ(ptys_reg)), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, out, proto_mask), 1);		/* InfiniBand */
	assert_int_equal(IFC_GET(ptys_reg, out, ib_link_width_oper), 4);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_oper), 0x20);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_capability), 0x3f);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_link_width_capability), 5);
	rig.profile->link_speed = SPEED_HDR;
	rig.profile->port_caps_2 = 0x32;
	assert_int_equal(reg(0x5004, false, in, IFC_SZ(ptys_reg)), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_admin), 0x75);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_link_width_admin), 7);
	rig.profile->link_speed = SPEED_NDR;
	assert_int_equal(reg(0x5004, false, in, IFC_SZ(ptys_reg)), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_oper), 0x80);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_capability), 0xf1);
	fabric_set_link(rig.hca, false);
	assert_int_equal(reg(0x5004, false, in, IFC_SZ(ptys_reg)), ST_OK);
	assert_int_equal(IFC_GET(ptys_reg, out, ib_proto_oper), 0);
	rig.profile->mtu = 2048;
	assert_int_equal(reg(0x5003, false, in, IFC_SZ(pmtu_reg)), ST_OK);
	assert_int_equal(IFC_GET(pmtu_reg, out, oper_mtu), 4096);
	assert_int_equal(IFC_GET(pmtu_reg, out, max_mtu), 2048);
	assert_int_equal(IFC_GET(pmtu_reg, out, admin_mtu), 2048);
	assert_int_equal(reg(0x5003, true, in, IFC_SZ(pmtu_reg)), ST_BAD_PARAM);
	assert_int_equal(reg(0x5003, false, in, 4), ST_BAD_PARAM);
	assert_int_equal(reg(0x5fff, false, in, 64), ST_BAD_PARAM);
	in[1] = 2;
	assert_int_equal(reg(0x5003, false, in, IFC_SZ(pmtu_reg)), ST_BAD_PARAM);
	memcpy(in, "a name", 7);
	assert_int_equal(reg(0x6001, true, in, 64), ST_OK);
	memset(in, 0, sizeof(in));
	assert_int_equal(reg(0x6001, false, in, 64), ST_OK);
	assert_memory_equal(out, "a name", 7);
}

/* Write @status to PAOS: PAOS then reads as @status, and QUERY_VPORT_STATE gives @vport. */
static void admin_is(uint8_t status, uint8_t vport)
{
	uint8_t in[IFC_SZ(paos_reg)] = { [1] = 1 }, query[IFC_SZ(query_vport_state_in)] = {};
	uint8_t vport_out[IFC_SZ(query_vport_state_out)];

	IFC_SET(paos_reg, in, ase, 1);
	IFC_SET(paos_reg, in, admin_status, status);
	assert_int_equal(reg(0x5006, true, in, sizeof(in)), ST_OK);
	assert_int_equal(reg(0x5006, false, in, sizeof(in)), ST_OK);
	assert_int_equal(IFC_GET(paos_reg, out, admin_status), status);
	assert_int_equal(IFC_GET(paos_reg, out, oper_status), status);
	rig.profile->vport_speed = 0x1234;
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_VPORT_STATE, 0, 0, query, sizeof(query),
				 vport_out, sizeof(vport_out)), ST_OK);
	assert_int_equal(IFC_GET(query_vport_state_out, vport_out, admin_state), vport);
	assert_int_equal(IFC_GET(query_vport_state_out, vport_out, state), status == 1);
	assert_int_equal(IFC_GET(query_vport_state_out, vport_out, max_tx_speed), 0x1234);
}

/* Also of the counters of a group that the port does not have, which are 0. */
static void register_repeats_group_and_planes(void **state)
{
	static const uint8_t zeros[IFC_SZ(ppcnt_reg) - 8];
	uint8_t in[IFC_SZ(ppcnt_reg)] = { [1] = 1, [3] = 0x12, [6] = 2, [7] = 5 };

	(void)state;
	rig.hca->count.octets_tx = 4000;
	memset(in + 8, 0x5c, sizeof(zeros));
	assert_int_equal(reg(0x5008, false, in, sizeof(in)), ST_OK);
	assert_memory_equal(out, in, 8);
	assert_memory_equal(out + 8, zeros, sizeof(zeros));
}

static void administrative_state_is_kept(void **state)
{
	(void)state;
	admin_is(2, 0);
	admin_is(1, 2);
	admin_is(2, 0);
	hca_reset(rig.hca);
	assert_false(rig.hca->port->admin_down);
}

/* Without ase, admin_status is not written. */
static void administrative_state_is_written_if_enabled(void **state)
{
	uint8_t in[IFC_SZ(paos_reg)] = { [1] = 1 };

	(void)state;
	IFC_SET(paos_reg, in, admin_status, 2);
	assert_int_equal(reg(0x5006, true, in, sizeof(in)), ST_OK);
	assert_int_equal(IFC_GET(paos_reg, out, admin_status), 1);
	assert_true(fabric_link(rig.hca));
}

static void registers_tell_of_lanes(void **state)
{
	uint8_t in[256] = { [1] = 1 };
	unsigned int i;

	(void)state;
	assert_int_equal(reg(0x500f, false, in, IFC_SZ(pvlc_reg)), ST_OK);
	assert_int_equal(IFC_GET(pvlc_reg, out, local_port), 1);
	assert_int_equal(IFC_GET(pvlc_reg, out, vl_hw_cap), 4);		/* lanes 0 to 3 */
	assert_int_equal(IFC_GET(pvlc_reg, out, vl_admin), 4);
	assert_int_equal(IFC_GET(pvlc_reg, out, vl_operational), 4);
	assert_int_equal(reg(0x500a, false, in, IFC_SZ(plib_reg)), ST_OK);
	assert_int_equal(IFC_GET(plib_reg, out, ib_port), 1);
	assert_int_equal(reg(0x5002, false, in, IFC_SZ(pmlp_reg)), ST_OK);
	assert_int_equal(IFC_GET(pmlp_reg, out, width), 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(get_be32(out + 4 + 4 * i), i << 16);	/* tx_lane */
	assert_int_equal(reg(0x5001, false, in, IFC_SZ(pcap_reg)), ST_OK);
	assert_int_equal(reg(0x5001, true, in, IFC_SZ(pcap_reg)), ST_BAD_PARAM);
}

static void default_timeouts_can_be_read(void **state)
{
	uint8_t in[IFC_SZ(dtor_reg)] = {};
	const uint8_t *poll = IFC_ADDR(dtor_reg, out, health_poll_to);
	const uint8_t *flush = IFC_ADDR(dtor_reg, out, flush_on_err_to);
	const uint8_t *toggle = IFC_ADDR(dtor_reg, out, pcie_toggle_to);

	(void)state;
	assert_int_equal(reg(0xc00e, false, in, sizeof(in)), ST_OK);
	assert_int_equal(IFC_GET(default_timeout, poll, to_value), 1000);
	assert_int_equal(IFC_GET(default_timeout, flush, to_multiplier), 0);
	assert_int_equal(IFC_GET(default_timeout, flush, to_value), 2000);
	assert_int_equal(IFC_GET(default_timeout, toggle, to_value), 0);
	assert_int_equal(reg(0xc00e, true, in, sizeof(in)), ST_BAD_PARAM);
	assert_int_equal(reg(0xc00e, false, in, sizeof(in) - 4), ST_BAD_PARAM);
}

/* ---- management datagrams -------------------------------------------------------------------- */

static const struct port_attrs mad_attrs = { .neighbour_mtu = 4, .sm_lid = 64 };

static const struct mad_port mad_port = {
	.guid = 0x1122334455667788, .attrs = &mad_attrs,
	.view = {
		.lid = 5, .up = true, .state = PORT_ACTIVE, .cap_mask = 0xabcd0000, .mtu_cap = 4,
		.bad_pkeys = 3, .bad_qkeys = 0xffff, .gids = 16,
	},
	.pkeys = (const uint16_t [128]){ 0xffff, 0x8001, [127] = 0x1234 }, .npkeys = 128,
	.gid = { { 0xfe, 0x80, [8] = 0x11 }, { 0xfe, 0x80, [8] = 0x22 }, [15] = { [15] = 9 } },
	.gids = 16,
	.node_desc = "the node's description, padded to what the attribute has: 64 byte",
	.perf = { .packets_tx = 0x100000001ull, .packets_rx = 7 },
};

static bool ask(uint8_t class, uint8_t method, uint16_t attr, uint32_t mod)
{
	uint8_t in[MAD_BYTES] = { 1, class, 1, method };

	put_be64(in + 8, 0x7117);
	put_be16(in + 16, attr);
	put_be32(in + 20, mod);
	return mad_answer(&mad_port, in, out);
}

static void mad_attributes(void **state)
{
	(void)state;
	assert_true(ask(1, 1, 0x11, 0));
	assert_int_equal(out[3], 0x81);
	assert_int_equal(get_be16(out + 4), 0);
	assert_int_equal(get_be64(out + 8), 0x7117);
	assert_true(get_be64(out + 64 + 12) == mad_port.guid);
	assert_int_equal(out[64 + 2], 1);
	assert_true(ask(1, 1, 0x10, 0));
	assert_memory_equal(out + 64, mad_port.node_desc, 64);
	assert_true(ask(1, 1, 0x15, 1));
	assert_int_equal(get_be16(out + 64 + 16), 5);
	assert_int_equal(get_be16(out + 64 + 18), 64);
	assert_int_equal(get_be32(out + 64 + 20), 0xabcd0000);
	assert_int_equal(out[64 + 32] & 15, 4);
	assert_int_equal(out[64 + 36] >> 4, 4);
	assert_int_equal(out[64 + 41], 4);
	assert_int_equal(get_be16(out + 64 + 46), 3);
	assert_int_equal(get_be16(out + 64 + 48), 0xffff);
	assert_int_equal(out[64 + 50], 16);
	assert_true(ask(1, 1, 0x14, 0));
	assert_int_equal(out[64], 0x11);
	assert_int_equal(out[64 + 8], 0x22);
	assert_true(ask(1, 1, 0x14, 1));
	assert_true(get_be64(out + 64 + 56) == 9);
	assert_true(ask(1, 1, 0x16, 0));
	assert_int_equal(get_be16(out + 64), 0xffff);
	assert_int_equal(get_be16(out + 66), 0x8001);
	assert_true(ask(1, 1, 0x16, 3));
	assert_int_equal(get_be16(out + 64), 0);
	assert_int_equal(get_be16(out + 64 + 62), 0x1234);
	assert_true(ask(4, 1, 0x12, 0));
	assert_int_equal(get_be32(out + 64 + 32), ~0u);	/* stays at its maximum */
	assert_int_equal(get_be32(out + 64 + 36), 7);
	assert_true(ask(4, 1, 0x1d, 0));
	assert_true(get_be64(out + 64 + 24) == 0x100000001ull);
}

/* Set what the port has counted. Data is counted in words of 4 bytes, but by vports in bytes. */
static void count_traffic(void)
{
	struct counters *c = &rig.hca->count;

	c->packets_tx = 10;
	c->packets_rx = 20;
	c->octets_tx = 4000;
	c->octets_rx = 8000;
	c->mcast_tx = 3;
	c->mcast_rx = 4;
	c->mcast_octets_tx = 400;
	c->mcast_octets_rx = 800;
	c->packets_dropped = 5;
}

/* Get the port's counters; with method Set, the counters that @select names begin again at 0. */
static const uint8_t *port_counters(uint8_t method, uint16_t attr, uint16_t select)
{
	uint8_t in[MAD_BYTES] = { 1, CLASS_PERF, 1, method };

	put_be16(in + OFF_ATTR, attr);
	in[OFF_PMA_DATA + 1] = 1;
	put_be16(in + OFF_PMA_DATA + 2, select);
	assert_int_equal(sma_answer(rig.hca, in, out, false), SMA_REPLY);
	assert_int_equal(out[OFF_METHOD], METHOD_GET_RESP);
	assert_int_equal(get_be16(out + OFF_STATUS), 0);
	return out + OFF_PMA_DATA;
}

/* The capabilities are those that perfquery prints for ConnectX-4. */
static void performance_agent_says_what_it_can(void **state)
{
	static const uint8_t info[] = { 1, 1, 0x16, 0, 0, 0, 0, 18 };

	(void)state;
	assert_memory_equal(port_counters(METHOD_GET, 0x01, 0), info, sizeof(info));
}

static void performance_counters_have_words_and_kinds(void **state)
{
	const uint8_t *data;

	(void)state;
	count_traffic();
	data = port_counters(METHOD_GET, 0x1d, 0);
	assert_int_equal(data[1], 1);
	assert_true(get_be64(data + 8) == 1000);
	assert_true(get_be64(data + 16) == 2000);
	assert_true(get_be64(data + 24) == 10);
	assert_true(get_be64(data + 32) == 20);
	assert_true(get_be64(data + 40) == 7);
	assert_true(get_be64(data + 48) == 16);
	assert_true(get_be64(data + 56) == 3);
	assert_true(get_be64(data + 64) == 4);
	data = port_counters(METHOD_GET, PERF_COUNTERS, 0);
	assert_int_equal(data[1], 1);
	assert_int_equal(get_be16(data + 8), 5);
	assert_int_equal(get_be32(data + 24), 1000);
	assert_int_equal(get_be32(data + 28), 2000);
}

static void performance_counters_can_be_reset(void **state)
{
	const uint8_t *data;

	(void)state;
	count_traffic();
	data = port_counters(METHOD_SET, PERF_COUNTERS, 1 << 12 | 1 << 15 | 1 << 3);
	assert_int_equal(get_be16(data + 8), 0);
	assert_int_equal(get_be32(data + 24), 0);
	assert_int_equal(get_be32(data + 28), 2000);
	assert_int_equal(get_be32(data + 32), 10);
	assert_int_equal(get_be32(data + 36), 0);
	rig.hca->count.packets_rx += 2;
	data = port_counters(METHOD_GET, PERF_COUNTERS, 0);
	assert_int_equal(get_be32(data + 36), 2);
	assert_int_equal(rig.hca->count.packets_rx, 22);
}

/* A Set of PortCounters gives the selected counters its values, and leaves the others. */
static void each_performance_counter_is_set_alone(void **state)
{
	static const struct { uint8_t bit, at, bytes; } t[] = {
		{ 3, 8, 2 }, { 12, 24, 4 }, { 13, 28, 4 }, { 14, 32, 4 }, { 15, 36, 4 },
	};
	uint32_t want[] = { 5, 1000, 2000, 10, 20 };
	const uint8_t *data = out + OFF_PMA_DATA;
	unsigned int i, k;

	(void)state;
	count_traffic();
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint8_t in[MAD_BYTES] = { 1, CLASS_PERF, 1, METHOD_SET };

		put_be16(in + OFF_ATTR, PERF_COUNTERS);
		put_be16(in + OFF_PMA_DATA + 2, 1 << t[i].bit);
		put_be16(in + OFF_PMA_DATA + 8, 70 + i);
		for (k = 1; k < ARRAY_SIZE(t); k++)
			put_be32(in + OFF_PMA_DATA + t[k].at, 70 + i);
		assert_int_equal(sma_answer(rig.hca, in, out, false), SMA_REPLY);
		want[i] = 70 + i;
		for (k = 0; k < ARRAY_SIZE(t); k++)
			assert_int_equal(t[k].bytes == 2 ? get_be16(data + t[k].at) :
					 get_be32(data + t[k].at), want[k]);
	}
}

static uint8_t links_downed(uint8_t method, uint16_t select)
{
	return port_counters(method, PERF_COUNTERS, select)[7];
}

static void performance_agent_counts_how_often_the_link_went_down(void **state)
{
	uint8_t query[IFC_SZ(ppcnt_reg)] = { [1] = 1, [3] = 0x20 };
	const uint8_t *set = IFC_ADDR(ppcnt_reg, (const uint8_t *)out, counter_set);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(links_downed(METHOD_GET, 0), i);
		port_set_link(rig.hca, false);
		port_set_link(rig.hca, true);
	}
	assert_int_equal(links_downed(METHOD_SET, 1 << 3), 3);
	assert_int_equal(links_downed(METHOD_SET, 1 << 2), 0);
	fabric_set_far_link(rig.hca, false);		/* at the other end */
	fabric_poll(rig.hca);
	assert_int_equal(links_downed(METHOD_GET, 0), 1);
	rig.hca->count.link_downed += 1000;
	assert_int_equal(links_downed(METHOD_GET, 0), 255);
	memset(out, 0, sizeof(out));
	assert_int_equal(reg(0x5008, false, query, sizeof(query)), ST_OK);
	assert_int_equal(IFC_GET(ib_port_cntrs_grp_data_layout, set, link_downed_counter), 255);
}

static void counters_of_vport_and_registers(void **state)
{
	uint8_t in[IFC_SZ(query_vport_counter_in)] = {}, got[IFC_SZ(query_vport_counter_out)];
	uint8_t query[IFC_SZ(ppcnt_reg)] = { [1] = 1, [3] = 0x21 };
	const uint8_t *set = IFC_ADDR(ppcnt_reg, (const uint8_t *)out, counter_set);
#define EXT(fld) IFC_BYTE(ib_ext_port_cntrs_grp_data_layout, fld##_high)
	const struct { size_t at; uint64_t value; } ext[] = {
		{ EXT(port_xmit_data), 1000 }, { EXT(port_rcv_data), 2000 },
		{ EXT(port_xmit_pkts), 10 }, { EXT(port_rcv_pkts), 20 },
		{ EXT(port_unicast_xmit_pkts), 7 }, { EXT(port_unicast_rcv_pkts), 16 },
		{ EXT(port_multicast_xmit_pkts), 3 }, { EXT(port_multicast_rcv_pkts), 4 },
	};
#undef EXT
	size_t i;

	(void)state;
	count_traffic();
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], vport_counters, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_VPORT_COUNTER, 0, 0, in, sizeof(in), got,
				 sizeof(got)), ST_OK);
	assert_true(IFC_GET64(query_vport_counter_out, got, transmitted_ib_unicast.octets) == 3600);
	assert_true(IFC_GET64(query_vport_counter_out, got, received_ib_unicast.packets) == 16);
	assert_true(IFC_GET64(query_vport_counter_out, got, received_ib_multicast.octets) == 800);
	assert_true(IFC_GET64(query_vport_counter_out, got, transmitted_ib_multicast.packets) == 3);
	assert_true(IFC_GET64(query_vport_counter_out, got, transmitted_ib_unicast.packets) == 7);
	assert_true(IFC_GET64(query_vport_counter_out, got, received_ib_unicast.octets) == 7200);
	assert_true(IFC_GET64(query_vport_counter_out, got, received_ib_multicast.packets) == 4);
	assert_true(IFC_GET64(query_vport_counter_out, got, transmitted_ib_multicast.octets) ==
		    400);
	assert_true(IFC_GET64(query_vport_counter_out, got, received_errors.packets) == 5);
	memset(out, 0, sizeof(out));
	assert_int_equal(reg(0x5008, false, query, sizeof(query)), ST_OK);
	assert_true(get_be64(set + 0x300 / 8) == 1000);
	assert_true(get_be64(set + 0x380 / 8) == 10);
	assert_true(get_be64(set + 0x3c0 / 8) == 20);
	for (i = 0; i < ARRAY_SIZE(ext); i++)
		assert_true(get_be64(set + ext[i].at) == ext[i].value);
	memset(out, 0, sizeof(out));
	query[3] = 0x20;
	assert_int_equal(reg(0x5008, false, query, sizeof(query)), ST_OK);
	assert_int_equal(IFC_GET(ib_port_cntrs_grp_data_layout, set, port_rcv_errors), 5);
	rig.hca->count.packets_dropped = 0x10000;
	assert_int_equal(reg(0x5008, false, query, sizeof(query)), ST_OK);
	assert_int_equal(IFC_GET(ib_port_cntrs_grp_data_layout, set, port_rcv_errors), 0xffff);
}

static void mad_requests_without_an_agent_are_refused(void **state)
{
	(void)state;
	assert_true(ask(1, 1, 0xff90, 1));		/* an attribute of the vendor */
	assert_int_equal(get_be16(out + 4), 0);
	assert_true(ask(1, 1, 0xff90, 2));
	assert_int_equal(get_be16(out + 4), 0x1c);
	assert_true(ask(1, 1, 0xff91, 0));
	assert_int_equal(get_be16(out + 4), 0x0c);
	assert_true(ask(1, 2, 0x15, 1));		/* method Set */
	assert_int_equal(get_be16(out + 4), 0x08);
	assert_true(ask(1, 1, 0x15, 2));		/* port 2 does not exist */
	assert_int_equal(get_be16(out + 4), 0x1c);
	assert_true(ask(1, 1, 0x14, 2));		/* beyond the table */
	assert_int_equal(get_be16(out + 4), 0x1c);
	assert_true(ask(1, 1, 0x16, 4));
	assert_int_equal(get_be16(out + 4), 0x1c);
	assert_true(ask(0x81, 1, 0x11, 0));		/* directed route */
	assert_int_equal(get_be16(out + 4), 0x8000);
	assert_false(ask(1, 0x81, 0x11, 0));		/* a response */
	assert_false(ask(4, 7, 0x12, 0));		/* TrapRepress */
	assert_false(ask(3, 1, 0x11, 0));	/* the port has no agent of this class */
}

static uint8_t mad_ifc(uint16_t op_mod, const uint8_t *mad)
{
	uint8_t in[IFC_SZ(mad_ifc_in)] = {};

	IFC_SET(mad_ifc_in, in, port, 1);
	memcpy(IFC_ADDR(mad_ifc_in, in, mad), mad, MAD_BYTES);
	return rig_cmd(MLX5_CMD_OP_MAD_IFC, op_mod, 0, in, sizeof(in), out, IFC_SZ(mad_ifc_out));
}

static void port_and_class_of_a_mad_have_to_exist(void **state)
{
	uint8_t in[IFC_SZ(mad_ifc_in)] = {}, mad[MAD_BYTES] = { 1, 0x30, 1, METHOD_GET };

	(void)state;
	assert_refused(mad_ifc(3, mad), ST_BAD_PKT, WHY_MAD_NO_AGENT);
	mad[OFF_CLASS] = CLASS_PERF;
	mad[OFF_ATTR + 1] = 1;
	assert_int_equal(mad_ifc(3, mad), ST_OK);
	IFC_SET(mad_ifc_in, in, port, 2);
	memcpy(IFC_ADDR(mad_ifc_in, in, mad), mad, MAD_BYTES);
	assert_refused(rig_cmd(MLX5_CMD_OP_MAD_IFC, 3, 0, in, sizeof(in), out,
			       IFC_SZ(mad_ifc_out)), ST_BAD_PARAM, WHY_PORT_UNKNOWN);
}

static void performance_agent_can_be_missing(void **state)
{
	uint8_t mad[MAD_BYTES] = {};

	(void)state;
	mad[OFF_VERSION] = 1;
	mad[OFF_CLASS] = CLASS_PERF;
	mad[OFF_CLASS_VERSION] = 1;
	mad[OFF_METHOD] = METHOD_GET;
	put_be16(mad + OFF_ATTR, 0x12);
	assert_int_equal(mad_ifc(3, mad), ST_OK);
	rig.profile->no_performance_agent = true;
	assert_refused(mad_ifc(3, mad), ST_BAD_PKT, WHY_MAD_NO_PERFORMANCE_AGENT);
}

static void mad_ifc_sets_the_port(void **state)
{
	const uint8_t *answer = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet);
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET, [17] = SMP_PORT_INFO };

	(void)state;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	memcpy(mad + OFF_SMP_DATA, answer + OFF_SMP_DATA, SMP_DATA_BYTES);
	mad[OFF_METHOD] = METHOD_SET;
	mad[OFF_SMP_DATA + 7] = 0x77;			/* M_Key */
	put_be16(mad + OFF_SMP_DATA + 16, 0x55);	/* LID */
	put_be16(mad + OFF_SMP_DATA + 32, 0);		/* the states stay */
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(answer + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].subtype, 6);
	assert_int_equal(IFC_GET(hca_vport_context, vport(), lid), 0x55);
	assert_refused(mad_ifc(0, mad), ST_BAD_PKT, WHY_MAD_M_KEY);
	assert_int_equal(mad_ifc(1, mad), ST_OK);	/* whatever the M_Key */
	mad[OFF_METHOD] = METHOD_TRAP_REPRESS;
	assert_int_equal(mad_ifc(1, mad), ST_OK);
}

/* SDR, DDR and QDR, a bit each: supported, enabled and active; 0 is an extended speed. */
/* Volume 1, 14.2.5.6. */
static void port_info_has_each_attribute(void **state)
{
	const struct port_attrs a = {
		.m_key = 0x0102030405060708, .gid_prefix = 0x1112131415161718,
		.m_key_lease = 0x2122, .m_key_violations = 0x2324, .sm_lid = 0x2526,
		.m_key_protect = 2, .sm_sl = 9, .width_enabled = 1, .speed_enabled = 3,
		.ext_speed_enabled = 1, .down_default = 2, .neighbour_mtu = 4,
		.vl_high_limit = 0x27, .operational_vls = 2, .hoq_life = 0x13,
		.subnet_timeout = 19, .mcast_pkey_traps = 1, .error_thresholds = 0x45,
	};
	const struct port_view v = {
		.lid = 0x3132, .lmc = 5, .up = true, .state = PORT_ACTIVE, .cap_mask = 0x21000002,
		.cap_mask2 = 0x4142, .speed = SPEED_EDR, .local_port = 7, .mtu_cap = 5,
		.bad_pkeys = 0x5152, .bad_qkeys = 0x5354, .gids = 6,
	};
	static const uint8_t want[64] = {
		1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14,
		0x15, 0x16, 0x17, 0x18, 0x31, 0x32, 0x25, 0x26, 0x21, 0, 0, 2,
		0, 0, 0x21, 0x22, 7, 1, 3, 2, 0x74, 0x52, 0x85, 0x43,
		0x49, 0x30, 0x27, 8, 8, 5, 0x13, 0x20, 0x23, 0x24, 0x51, 0x52,
		0x53, 0x54, 6, 0x33, 16, 0x45, 0, 0, 0, 0, 270 >> 8, 270 & 0xff,
		0x41, 0x42, 0x23, 1,
	};

	(void)state;
	memset(out, 0x5c, sizeof(want));
	port_info_get(&a, &v, out);
	assert_memory_equal(out, want, sizeof(want));
}

static void port_info_has_the_speeds_of_ptys(void **state)
{
	static const struct { uint8_t speed, supported, active; } t[] = {
		{ SPEED_FDR, 7, 4 }, { SPEED_EDR, 7, 4 }, { SPEED_HDR, 5, 4 }, { SPEED_NDR, 1, 0 },
	};
	const uint8_t *data = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet) +
			      OFF_SMP_DATA;
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET, [17] = SMP_PORT_INFO };
	uint8_t in[IFC_SZ(ptys_reg)] = { [1] = 1 };
	unsigned int i, ptys;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		rig.profile->link_speed = t[i].speed;
		assert_int_equal(reg(0x5004, false, in, sizeof(in)), ST_OK);
		ptys = IFC_GET(ptys_reg, out, ib_proto_capability);
		assert_int_equal(mad_ifc(0, mad), ST_OK);
		assert_int_equal(data[32] >> 4, t[i].supported);
		assert_int_equal(data[32] >> 4, ptys & 7);
		assert_int_equal(data[35], t[i].active << 4 | t[i].supported);
		assert_int_equal(data[62], t[i].speed << 4 | ptys >> 4);
	}
}

/* Bit 24 of the capability mask announces it. */
static void port_that_announces_it_tells_the_round_trip_latency(void **state)
{
	const uint8_t *data = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet) +
			      OFF_SMP_DATA;
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET, [17] = SMP_PORT_INFO };

	(void)state;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be32(data + 56), 0);
	rig.hca->port->cap_mask1 |= 1u << 24;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be32(data + 56), 270);
}

/* Bit 1 of the second capability mask announces PortInfoExtended. */
static void port_that_announces_it_answers_port_info_extended(void **state)
{
	static const uint8_t zero[SMP_DATA_BYTES];
	const uint8_t *answer = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet);
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET,
				   [17] = SMP_PORT_INFO_EXTENDED, [23] = 1 };

	(void)state;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(answer + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_ATTR);
	rig.profile->port_caps_2 = 0x32;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(answer + OFF_STATUS), MAD_STATUS_DIRECTION);
	assert_memory_equal(answer + OFF_SMP_DATA, zero, sizeof(zero));
	mad[23] = 2;			/* there is no second port */
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(answer + OFF_STATUS), MAD_STATUS_DIRECTION | MAD_BAD_VALUE);
}

/* The vendor's ExtPortInfo. For other speeds no report has these fields. */
static void ndr_port_tells_its_fec(void **state)
{
	const uint8_t *data = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet) +
			      OFF_SMP_DATA;
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET, [16] = 0xff, [17] = 0x90 };
	uint8_t want[SMP_DATA_BYTES] = {};

	(void)state;
	rig.profile->link_speed = SPEED_HDR;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_memory_equal(data, want, sizeof(want));
	rig.profile->link_speed = SPEED_NDR;
	want[17] = 14 << 4;
	want[54] = want[55] = 0xff;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_memory_equal(data, want, sizeof(want));
	port_set_link(rig.hca, false);
	want[17] = 0;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_memory_equal(data, want, sizeof(want));
}

/* Without a description in the profile, the description has the number of the HCA. */
static void node_description_is_that_of_the_profile(void **state)
{
	static const char ours[64] = "bluebell-hca 0";
	static const char card[64] = "MT4119 ConnectX5   Mellanox Technologies";
	struct cmd cmd = {};
	uint8_t in[64] = {};
	struct hca *second;

	(void)state;
	assert_int_equal(reg(0x6001, false, in, sizeof(in)), ST_OK);
	assert_memory_equal(out, ours, sizeof(ours));
	memcpy(rig.profile->node_description, card, sizeof(card));
	second = hca_create(rig.hca->board, rig.base, rig_extra.fabric, rig.profile, 1);
	assert_int_equal(port_access_reg(second, &cmd, 0x6001, false, in, out, sizeof(in)), ST_OK);
	assert_memory_equal(out, card, sizeof(card));
	hca_destroy(second);
}

/* PortInfo and NodeInfo have the part, the speeds and the capability masks of the profile. */
static void agent_tells_part_speed_and_capabilities(void **state)
{
	const uint8_t *data = IFC_ADDR(mad_ifc_out, (const uint8_t *)out, response_mad_packet) +
			      OFF_SMP_DATA;
	uint8_t mad[MAD_BYTES] = { 1, CLASS_SM_DIRECTED, 1, METHOD_GET, [17] = SMP_PORT_INFO };

	(void)state;
	rig.profile->part = 4123;
	rig.profile->link_speed = SPEED_HDR;
	rig.profile->port_caps_2 = 0x32;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(data + 60), 0x32);
	assert_int_equal(data[29], 0x13);		/* 1x, 4x and 2x: enabled, and supported */
	assert_int_equal(data[30], 0x13);
	assert_int_equal(data[62], SPEED_HDR << 4 | 7);
	assert_int_equal(data[63], 7);
	rig.profile->port_caps_2 = 0;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(data[29], 3);
	assert_int_equal(data[30], 3);
	mad[17] = SMP_NODE_INFO;
	assert_int_equal(mad_ifc(0, mad), ST_OK);
	assert_int_equal(get_be16(data + 30), 4123);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(agent_tells_part_speed_and_capabilities), T(vport_context_follows_the_link),
		T(node_description_is_that_of_the_profile), T(port_info_has_the_speeds_of_ptys),
		T(port_info_has_each_attribute),
		T(port_that_announces_it_tells_the_round_trip_latency),
		T(port_that_announces_it_answers_port_info_extended), T(ndr_port_tells_its_fec),
		T(link_change_raises_events_once),
		T(group_manager_sets_guids_and_policies),
		T(vports_of_virtual_functions_are_the_group_managers),
		T(capabilities_of_a_virtual_function_do_not_change),
		T(counters_of_vports_need_the_capability), T(performance_agent_can_be_missing),
		T(port_and_class_of_a_mad_have_to_exist),
		T(only_settable_capability_mask_bits_change), T(host_announces_device_management),
		T(lid_changes_with_an_event),
		T(violation_counters_stay_at_their_maximum), T(gids_and_pkeys_of_every_index),
		T(vports_need_their_capability),
		T(other_vports_are_refused), T(port_registers),
		T(register_repeats_group_and_planes),
		T(administrative_state_is_kept), T(administrative_state_is_written_if_enabled),
		T(registers_tell_of_lanes), T(vport_context_has_what_the_port_has),
		T(performance_agent_says_what_it_can),
		T(performance_counters_have_words_and_kinds),
		T(performance_counters_can_be_reset), T(each_performance_counter_is_set_alone),
		T(performance_agent_counts_how_often_the_link_went_down),
		T(counters_of_vport_and_registers),
		T(default_timeouts_can_be_read),
		T(mad_ifc_sets_the_port), cmocka_unit_test(mad_attributes),
		cmocka_unit_test(mad_requests_without_an_agent_are_refused),
	};

	return cmocka_run_group_tests_name("port", tests, NULL, NULL);
}
