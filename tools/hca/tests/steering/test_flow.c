// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of steering: what tables, groups, entries and the root must not contain, and what
 * they refer to.
 */
#include <string.h>

#include "caps.h"
#include "flow.h"
#include "flow_counter.h"
#include "flowrig.h"
#include "nicrig.h"
#include "objrig.h"
#include "profile.h"
#include "util.h"

#define TABLE_IN(fld) IFC_FIELD(create_flow_table_in, fld)
#define GROUP_IN(fld) IFC_FIELD(create_flow_group_in, fld)
#define ENTRY_IN(fld) IFC_FIELD(set_fte_in, fld)
#define LAYER(fld) { IFC_OFF(create_flow_group_in, match_criteria) +	\
		     IFC_OFF(fte_match_set_lyr_2_4, fld),		\
		     IFC_BITS(fte_match_set_lyr_2_4, fld), #fld }

static uint32_t low, high;	/* tables of levels 2 and 5; frames that miss go from low to high */
static uint32_t group;		/* of table low, indices 8 to 15: EtherType and VLAN id */

static int setup(void **state)
{
	uint8_t *c;

	flowrig_setup(state);
	flowrig_table(5, 0);
	high = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	flowrig_table(2, high);
	low = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	c = flowrig_group(low, 8, 15);
	LYR_SET(c, ethertype, 0xffff);
	LYR_SET(c, first_vid, 0xff0);
	group = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	return 0;
}

/* Change one field of the command that @good builds, and check that it is refused. */
static void refuses(uint16_t op, void (*good)(void), const struct nicrig_bad *bad, size_t n)
{
	unsigned int before = obj_total(rig.hca);
	size_t i;

	for (i = 0; i < n; i++) {
		uint8_t st;

		good();
		ifc_set_bits(nic.in, bad[i].field.off, bad[i].field.width, bad[i].value);
		st = nicrig_run(op, 0);
		if (st != bad[i].status || rig.syndrome != bad[i].why)
			fail_msg("%s: status 0x%x, syndrome 0x%x (%s)", bad[i].field.name, st,
				 rig.syndrome, rig.why);
		assert_int_equal(obj_total(rig.hca), before);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void good_table(void)
{
	flowrig_table(3, high);
}

static void tables_are_checked(void **state)
{
	const struct nicrig_bad bad[] = {
		{ TABLE_IN(other_vport), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ TABLE_IN(vport_number), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ TABLE_IN(other_eswitch), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ TABLE_IN(eswitch_owner_vhca_id), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ TABLE_IN(table_type), 1, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE },
		{ TABLE_IN(table_type), 4, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE },
		{ TABLE_IN(flow_table_context.level), 129, ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL },
		{ TABLE_IN(flow_table_context.level), 5, ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL },
		{ TABLE_IN(flow_table_context.log_size), 23, ST_BAD_PARAM, WHY_FLOW_TABLE_SIZE },
		{ TABLE_IN(flow_table_context.table_miss_action), 2, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_MISS },
		{ TABLE_IN(flow_table_context.table_miss_action), 0, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_MISS },
		{ TABLE_IN(flow_table_context.table_miss_id), low, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_LEVEL },
		{ TABLE_IN(flow_table_context.table_miss_id), 0x999, ST_BAD_RES,
		  WHY_OBJECT_UNKNOWN },
		{ TABLE_IN(flow_table_context.reformat_en), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
		{ TABLE_IN(flow_table_context.decap_en), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
		{ TABLE_IN(flow_table_context.sw_owner), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
		{ TABLE_IN(flow_table_context.termination_table), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
		{ TABLE_IN(flow_table_context.rtc_valid), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
		{ TABLE_IN(flow_table_context.lag_master_next_table_id), 1, ST_BAD_PARAM,
		  WHY_FLOW_TABLE_FIELD_NOT_OFFERED },
	};

	(void)state;
	refuses(MLX5_CMD_OP_CREATE_FLOW_TABLE, good_table, bad, ARRAY_SIZE(bad));
	flowrig_table(129, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_FLOW_TABLE, 0), ST_BAD_PARAM,
		       WHY_FLOW_TABLE_LEVEL);
	flowrig_table(128, 0);
	IFC_SET(create_flow_table_in, nic.in, flow_table_context.log_size, 22);
	flowrig_ok(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	rig.profile->range[OBJ_FLOW_TABLE].limit = rig.profile->range[OBJ_FLOW_TABLE].first;
	good_table();
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_FLOW_TABLE, 0), ST_LIM, WHY_NUMBERS_IN_USE);
}

static void tables_are_kept_for_their_references(void **state)
{
	(void)state;
	flowrig_in_table(high, 0);	/* frames that miss in table low go there */
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	flowrig_in_table(low, 0);	/* it has a group */
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	flowrig_in_table(low, group);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	flowrig_in_table(low, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	flowrig_in_table(low, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	flowrig_in_table(high, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
}

static uint8_t modify_miss(uint32_t table, uint32_t select, unsigned int action, uint32_t id)
{
	uint8_t *c = IFC_ADDR(modify_flow_table_in, nic.in, flow_table_context);

	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(modify_flow_table_in, nic.in, table_id, table);
	IFC_SET(modify_flow_table_in, nic.in, modify_field_select, select);
	IFC_SET(flow_table_context, c, table_miss_action, action);
	IFC_SET(flow_table_context, c, table_miss_id, id);
	return nicrig_run(MLX5_CMD_OP_MODIFY_FLOW_TABLE, 0);
}

static void misses_can_be_led_elsewhere(void **state)
{
	uint32_t other;

	(void)state;
	flowrig_table(3, high);
	other = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_TABLE);
	assert_int_equal(modify_miss(low, 1, 1, other), ST_OK);
	assert_int_equal(flow_table_find(rig.hca, low)->miss_id, other);
	assert_int_equal(flow_table_find(rig.hca, other)->obj.refs, 1);
	assert_int_equal(flow_table_find(rig.hca, high)->obj.refs, 1);
	assert_refused(modify_miss(other, 1, 1, low), ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL);
	assert_refused(modify_miss(other, 1, 1, other), ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL);
	assert_refused(modify_miss(low, 1, 1, 0x999), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(modify_miss(low, 1, 0, high), ST_BAD_PARAM, WHY_FLOW_TABLE_MISS);
	assert_refused(modify_miss(low, 0x8000, 0, 0), ST_BAD_PARAM, WHY_FLOW_TABLE_MODIFY);
	assert_int_equal(modify_miss(low, 0, 0, 0), ST_OK);	/* nothing is selected */
	assert_int_equal(flow_table_find(rig.hca, low)->miss_id, other);
	flowrig_in_table(low, 0);
	flowrig_ok(MLX5_CMD_OP_QUERY_FLOW_TABLE);
	assert_int_equal(IFC_GET(query_flow_table_out, nic.out, flow_table_context.table_miss_id),
			 other);
	assert_int_equal(IFC_GET(query_flow_table_out, nic.out, flow_table_context.level), 2);
	assert_int_equal(modify_miss(low, 1, 0, 0), ST_OK);
	assert_int_equal(flow_table_find(rig.hca, other)->obj.refs, 0);
	IFC_SET(flow_table_nic_cap, rig.hca->cap[CAP_FLOW_TABLE],
		flow_table_properties_nic_receive.flow_table_modify, 0);
	assert_refused(modify_miss(low, 1, 1, high), ST_BAD_PARAM, WHY_FLOW_TABLE_MODIFY);
}

/* ---- the root -------------------------------------------------------------------------------- */

static void good_root(void)
{
	flowrig_root(low);
}

static void root_is_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
#define ROOT(fld, v, st, why) { IFC_FIELD(set_flow_table_root_in, fld), v, st, why }
		ROOT(other_vport, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(other_eswitch, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(vport_number, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(eswitch_owner_vhca_id, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(table_of_other_vport, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(underlay_qpn, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_FIELD_NOT_OFFERED),
		ROOT(table_type, 1, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE),
		ROOT(table_id, 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN),
	};

	(void)state;
	refuses(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, good_root, bad, ARRAY_SIZE(bad));
	assert_null(flow_root(rig.hca, FLOW_NIC_RX));
	IFC_SET(flow_table_nic_cap, rig.hca->cap[CAP_FLOW_TABLE],
		flow_table_properties_nic_receive.modify_root, 0);
	good_root();
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, 0), ST_BAD_PARAM,
		       WHY_FLOW_TABLE_ROOT);
}

/* The driver destroys the last table while it is the root. */
static void root_is_destroyed_last(void **state)
{
	(void)state;
	flowrig_root(low);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	flowrig_in_table(low, group);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	flowrig_in_table(low, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES_STATE,
		       WHY_FLOW_TABLE_ROOT);
	flowrig_root(high);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	flowrig_root(high);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	assert_ptr_equal(flow_root(rig.hca, FLOW_NIC_RX), flow_table_find(rig.hca, high));
	flowrig_in_table(low, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	flowrig_group(high, 0, 0);
	group = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	flowrig_in_table(high, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	flowrig_in_table(high, group);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	flowrig_in_table(high, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	assert_null(flow_root(rig.hca, FLOW_NIC_RX));
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void good_group(void)
{
	LYR_SET(flowrig_group(low, 16, 31), ethertype, 0xffff);
}

static void groups_are_checked(void **state)
{
	static const struct nicrig_bad bad[] = {
		{ GROUP_IN(other_vport), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ GROUP_IN(table_type), 1, ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE },
		{ GROUP_IN(table_id), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ GROUP_IN(group_type), 1, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(match_definer_id), 1, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(source_eswitch_owner_vhca_id_valid), 1, ST_BAD_PARAM,
		  WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(start_flow_index), 32, ST_BAD_PARAM, WHY_FLOW_GROUP_RANGE },
		{ GROUP_IN(end_flow_index), 256, ST_BAD_PARAM, WHY_FLOW_GROUP_RANGE },
		{ GROUP_IN(start_flow_index), 15, ST_BAD_PARAM, WHY_FLOW_GROUP_OVERLAP },
		{ GROUP_IN(start_flow_index), 0, ST_BAD_PARAM, WHY_FLOW_GROUP_OVERLAP },
		{ GROUP_IN(match_criteria_enable), 0, ST_BAD_PARAM, WHY_FLOW_GROUP_CRITERIA },
		{ GROUP_IN(match_criteria_enable), 2, ST_BAD_PARAM, WHY_FLOW_GROUP_CRITERIA },
		{ GROUP_IN(match_criteria_enable), 0x81, ST_BAD_PARAM, WHY_FLOW_GROUP_CRITERIA },
		{ LAYER(l4_type), 1, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED },
		{ LAYER(l4_type_ext), 1, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED },
		{ LAYER(ipv4_ihl), 1, ST_BAD_PARAM, WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(match_criteria.misc_parameters.source_port), 1, ST_BAD_PARAM,
		  WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(match_criteria.inner_headers.ethertype), 1, ST_BAD_PARAM,
		  WHY_FLOW_GROUP_NOT_OFFERED },
		{ GROUP_IN(match_criteria.misc_parameters_2.metadata_reg_a), 1, ST_BAD_PARAM,
		  WHY_FLOW_GROUP_NOT_OFFERED },
	};

	(void)state;
	refuses(MLX5_CMD_OP_CREATE_FLOW_GROUP, good_group, bad, ARRAY_SIZE(bad));
	good_group();
	flowrig_ok(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	flowrig_group(low, 0, 7);
	IFC_SET(create_flow_group_in, nic.in, match_criteria_enable, 0);
	flowrig_ok(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	rig.profile->range[OBJ_FLOW_GROUP].limit = rig.profile->range[OBJ_FLOW_GROUP].first;
	flowrig_group(low, 100, 100);
	assert_refused(nicrig_run(MLX5_CMD_OP_CREATE_FLOW_GROUP, 0), ST_LIM, WHY_NUMBERS_IN_USE);
}

/* Each field of the outer headers that the capabilities name is offered by its own capability. */
static void each_criterion_has_its_capability(void **state)
{
#define OFFER(field, bit) { LAYER(field), IFC_OFF(flow_table_nic_cap, \
			    flow_table_properties_nic_receive.ft_field_support.bit) }
	static const struct { struct ifc_field field; uint32_t cap; } offers[] = {
		OFFER(smac_47_16, outer_smac), OFFER(smac_15_0, outer_smac),
		OFFER(dmac_47_16, outer_dmac), OFFER(dmac_15_0, outer_dmac),
		OFFER(ethertype, outer_ether_type), OFFER(first_prio, outer_first_prio),
		OFFER(first_cfi, outer_first_cfi), OFFER(first_vid, outer_first_vid),
		OFFER(cvlan_tag, outer_first_vid), OFFER(svlan_tag, outer_first_vid),
		OFFER(ip_version, outer_ip_version), OFFER(ip_protocol, outer_ip_protocol),
		OFFER(ip_dscp, outer_ip_dscp), OFFER(ip_ecn, outer_ip_ecn),
		OFFER(ttl_hoplimit, outer_ipv4_ttl), OFFER(frag, outer_frag),
		OFFER(src_ipv4_src_ipv6, outer_sip), OFFER(dst_ipv4_dst_ipv6, outer_dip),
		OFFER(tcp_flags, outer_tcp_flags), OFFER(tcp_sport, outer_tcp_sport),
		OFFER(tcp_dport, outer_tcp_dport), OFFER(udp_sport, outer_udp_sport),
		OFFER(udp_dport, outer_udp_dport),
		{ LAYER(l4_type), IFC_OFF(flow_table_nic_cap,
					  ft_field_support_2_nic_receive.outer_l4_type) },
		{ LAYER(l4_type_ext), IFC_OFF(flow_table_nic_cap,
					      ft_field_support_2_nic_receive.outer_l4_type_ext) },
	};
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];
	unsigned int i, on;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(offers); i++)
		for (on = 0; on < 2; on++) {
			uint8_t st;

			ifc_set_bits(cap, offers[i].cap, 1, on);
			flowrig_group(low, 100, 100);
			ifc_set_bits(nic.in, offers[i].field.off, offers[i].field.width, 1);
			st = nicrig_run(MLX5_CMD_OP_CREATE_FLOW_GROUP, 0);
			if (st != (on ? ST_OK : ST_BAD_PARAM))
				fail_msg("%s: %s", offers[i].field.name, rig.why);
			if (st)
				continue;
			flowrig_in_table(low, IFC_GET(create_flow_group_out, nic.out, group_id));
			flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
		}
}

static void a_group_is_in_one_table(void **state)
{
	uint8_t *c;

	(void)state;
	flowrig_in_table(high, group);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0), ST_BAD_RES,
		       WHY_FLOW_GROUP_TABLE);
	flowrig_in_table(low, group + 99);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	flowrig_in_table(low, group);
	flowrig_ok(MLX5_CMD_OP_QUERY_FLOW_GROUP);
	assert_int_equal(IFC_GET(query_flow_group_out, nic.out, start_flow_index), 8);
	assert_int_equal(IFC_GET(query_flow_group_out, nic.out, end_flow_index), 15);
	assert_int_equal(IFC_GET(query_flow_group_out, nic.out, match_criteria_enable), 1);
	c = IFC_ADDR(query_flow_group_out, nic.out, match_criteria);
	assert_int_equal(IFC_GET(fte_match_set_lyr_2_4, c, first_vid), 0xff0);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void good_entry(void)
{
	uint8_t *v = flowrig_entry(low, group, 9);

	LYR_SET(v, ethertype, 0x800);
	LYR_SET(v, first_vid, 0x120);
	flowrig_dest(FLOW_TO_TIR, flow_tir[0]);
	flowrig_dest(FLOW_TO_TABLE, high);
}

#define CTX(fld) ENTRY_IN(flow_context.fld)
#define VALUE(fld) { IFC_OFF(set_fte_in, flow_context.match_value) +	\
		     IFC_OFF(fte_match_set_lyr_2_4, fld),		\
		     IFC_BITS(fte_match_set_lyr_2_4, fld), #fld }
#define DEST(i) { 8 * IFC_SZ(set_fte_in) + 64 * (i), 32, "destination " #i }
#define DEST_REST(i) { 8 * IFC_SZ(set_fte_in) + 64 * (i) + 32, 32, "rest of destination " #i }
#define TO(type, id) ((uint32_t)(type) << 24 | (id))

static void entries_are_checked(void **state)
{
	const struct nicrig_bad bad[] = {
		{ ENTRY_IN(other_vport), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ ENTRY_IN(eswitch_owner_vhca_id), 1, ST_BAD_PARAM, WHY_VPORT_OTHER },
		{ ENTRY_IN(table_id), 0x999, ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ ENTRY_IN(table_id), high, ST_BAD_PARAM, WHY_FLOW_ENTRY_GROUP },
		{ ENTRY_IN(flow_index), 7, ST_BAD_PARAM, WHY_FLOW_ENTRY_GROUP },
		{ ENTRY_IN(flow_index), 16, ST_BAD_PARAM, WHY_FLOW_ENTRY_GROUP },
		{ CTX(group_id), group + 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_GROUP },
		{ ENTRY_IN(ignore_flow_level), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(push_vlan), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(push_vlan_2), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(extended_destination), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(flow_source), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(packet_reformat_id), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(modify_header_id), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(encrypt_decrypt_obj_id), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
		{ CTX(execute_aso[2]), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_NOT_OFFERED },
	};

	(void)state;
	refuses(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, good_entry, bad, ARRAY_SIZE(bad));
	rig.profile->range[OBJ_FLOW_ENTRY].limit = rig.profile->range[OBJ_FLOW_ENTRY].first;
	good_entry();
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_LIM,
		       WHY_NUMBERS_IN_USE);
}

static void values_actions_and_destinations_are_checked(void **state)
{
	const struct nicrig_bad bad[] = {
		{ VALUE(first_vid), 0x121, ST_BAD_PARAM, WHY_FLOW_ENTRY_VALUE },
		{ VALUE(ip_version), 4, ST_BAD_PARAM, WHY_FLOW_ENTRY_VALUE },
		{ CTX(match_value.misc_parameters.source_port), 1, ST_BAD_PARAM,
		  WHY_FLOW_ENTRY_VALUE },
		{ CTX(action), 0, ST_BAD_PARAM, WHY_FLOW_ENTRY_ACTION },
		{ CTX(action), FLOW_FWD | FLOW_DROP, ST_BAD_PARAM, WHY_FLOW_ENTRY_ACTION },
		{ CTX(action), FLOW_COUNT, ST_BAD_PARAM, WHY_FLOW_ENTRY_ACTION },
		{ CTX(action), FLOW_FWD | FLOW_COUNT, ST_BAD_PARAM, WHY_FLOW_ENTRY_COUNTERS },
		{ CTX(flow_counter_list_size), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_COUNTERS },
		{ CTX(action), 0x40, ST_BAD_PARAM, WHY_FLOW_ENTRY_ACTION },
		{ CTX(action), FLOW_DROP, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS },
		{ CTX(action), FLOW_ALLOW, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS },
		{ CTX(destination_list_size), 0, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS },
		{ CTX(destination_list_size), 65, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS },
		{ CTX(destination_list_size), 3, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION },
		{ DEST(0), TO(FLOW_TO_TIR, 0x999), ST_BAD_RES, WHY_OBJECT_UNKNOWN },
		{ DEST(0), TO(0, 1), ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION },
		{ DEST(0), TO(3, 1), ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION },
		{ DEST_REST(0), 1, ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATION },
		{ DEST(0), TO(FLOW_TO_TABLE, high), ST_BAD_PARAM, WHY_FLOW_ENTRY_TABLES },
		{ DEST(1), TO(FLOW_TO_TABLE, low), ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL },
		{ DEST(1), TO(FLOW_TO_TABLE, 0x999), ST_BAD_RES, WHY_OBJECT_UNKNOWN },
	};

	(void)state;
	refuses(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, good_entry, bad, ARRAY_SIZE(bad));
	assert_int_equal(obj_find(rig.hca, OBJ_TIR, flow_tir[0])->refs, 0);
	good_entry();
	assert_refused(rig_cmd(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0, 0, nic.in,
			       IFC_SZ(set_fte_in) + 15, nic.out, 16), ST_BAD_INP_LEN,
		       WHY_FLOW_ENTRY_LIST);
}

/* Entries for TIRs and a table need a capability; entries for TIRs, or for a table, do not. */
static void a_frame_has_several_paths_if_that_is_offered(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];

	(void)state;
	IFC_SET(flow_table_nic_cap, cap, nic_rx_multi_path_tirs, 0);
	good_entry();
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_PARAM,
		       WHY_FLOW_ENTRY_PATHS);
	IFC_SET(flow_table_nic_cap, cap, nic_rx_multi_path_tirs, 1);
	good_entry();
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
}

static void an_entry_keeps_what_it_names(void **state)
{
	const uint8_t *c = IFC_ADDR(query_fte_out, nic.out, flow_context);

	(void)state;
	good_entry();
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	good_entry();
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_RES_STATE,
		       WHY_FLOW_ENTRY_INDEX_USED);
	assert_refused(nicrig_num(MLX5_CMD_OP_DESTROY_TIR, 0, flow_tir[0]), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(modify_miss(low, 1, 0, 0), ST_OK);
	flowrig_in_table(high, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	flowrig_in_table(low, group);
	assert_refused(nicrig_run(MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	flowrig_index(low, 9);
	flowrig_ok(MLX5_CMD_OP_QUERY_FLOW_TABLE_ENTRY);
	assert_int_equal(IFC_GET(flow_context, c, group_id), group);
	assert_int_equal(IFC_GET(flow_context, c, flow_tag), FLOW_TAG);
	assert_int_equal(IFC_GET(flow_context, c, action), FLOW_FWD);
	assert_int_equal(IFC_GET(flow_context, c, destination_list_size), 2);
	assert_int_equal(get_be32(c + IFC_SZ(flow_context)), TO(FLOW_TO_TIR, flow_tir[0]));
	assert_int_equal(get_be32(c + IFC_SZ(flow_context) + 8), TO(FLOW_TO_TABLE, high));
	assert_refused(rig_cmd(MLX5_CMD_OP_QUERY_FLOW_TABLE_ENTRY, 0, 0, nic.in, sizeof(nic.in),
			       nic.out, IFC_SZ(query_fte_out) + 15), ST_BAD_OUTP_LEN,
		       WHY_OUTPUT_LENGTH);
	flowrig_index(low, 10);
	assert_refused(nicrig_run(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, 0), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	flowrig_index(low, 9);
	flowrig_ok(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
	flowrig_index(low, 9);
	assert_refused(nicrig_run(MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY, 0), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	assert_int_equal(nicrig_num(MLX5_CMD_OP_DESTROY_TIR, 0, flow_tir[0]), ST_OK);
	flowrig_in_table(high, 0);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
}

/* Change the entry of index 9 to what is in nic.in[]. */
static uint8_t change(uint32_t mask)
{
	IFC_SET(set_fte_in, nic.in, modify_enable_mask, mask);
	return rig_cmd(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 1, 0, nic.in, sizeof(nic.in), nic.out,
		       sizeof(nic.out));
}

static void entries_change_if_that_is_offered(void **state)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];
	struct flow_entry *e;

	(void)state;
	good_entry();
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	e = flow_entry_at(flow_table_find(rig.hca, low), 9);
	flowrig_entry(low, group, 9);
	IFC_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.flow_modify_en, 0);
	assert_refused(change(2), ST_BAD_PARAM, WHY_FLOW_ENTRY_MODIFY);
	IFC_SET(flow_table_nic_cap, cap, flow_table_properties_nic_receive.flow_modify_en, 1);
	assert_refused(change(16), ST_BAD_PARAM, WHY_FLOW_ENTRY_MODIFY);
	assert_refused(change(4), ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS);
	IFC_SET(set_fte_in, nic.in, flow_context.flow_tag, 0x77);
	assert_int_equal(change(2), ST_OK);
	assert_true(e->tag == 0x77 && e->dests == 2 && e->action == FLOW_FWD);
	IFC_SET(set_fte_in, nic.in, flow_context.action, FLOW_DROP);
	assert_refused(change(1), ST_BAD_PARAM, WHY_FLOW_ENTRY_DESTINATIONS);
	assert_int_equal(change(5), ST_OK);
	assert_true(e->tag == 0x77 && !e->dests && e->action == FLOW_DROP);
	assert_int_equal(obj_find(rig.hca, OBJ_TIR, flow_tir[0])->refs, 0);
	flowrig_entry(low, group, 9);
	flowrig_dest(FLOW_TO_TIR, flow_tir[1]);
	assert_int_equal(change(5), ST_OK);
	assert_true(e->dests == 1 && e->dest[0].id == flow_tir[1] && e->tag == 0x77);
	flowrig_entry(low, group, 10);
	assert_refused(change(2), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

/* ---- counters -------------------------------------------------------------------------------- */

static uint8_t alloc(uint16_t uid, unsigned int bulk)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(alloc_flow_counter_in, nic.in, flow_counter_bulk, bulk);
	return nicrig_run(MLX5_CMD_OP_ALLOC_FLOW_COUNTER, uid);
}

/* Allocate a counter, or the bulk that is bit @bulk of flow_counter_bulk. */
static uint32_t allocated(uint16_t uid, unsigned int bulk)
{
	uint8_t st = alloc(uid, bulk);

	if (st)
		fail_msg("status 0x%x: %s", st, rig.why);
	return IFC_GET(alloc_flow_counter_out, nic.out, flow_counter_id);
}

static uint8_t dealloc(uint16_t uid, uint32_t id)
{
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(dealloc_flow_counter_in, nic.in, flow_counter_id, id);
	return nicrig_run(MLX5_CMD_OP_DEALLOC_FLOW_COUNTER, uid);
}

static uint8_t answer[32 * 1024];	/* of the latest query */

/* Query @n counters from @id on, with room for @room of them. */
static uint8_t query(uint16_t uid, uint32_t id, unsigned int n, unsigned int room, bool clear)
{
	memset(nic.in, 0, sizeof(nic.in));
	memset(answer, 0, sizeof(answer));
	IFC_SET(query_flow_counter_in, nic.in, flow_counter_id, id);
	IFC_SET(query_flow_counter_in, nic.in, num_of_counters, n);
	IFC_SET(query_flow_counter_in, nic.in, clear, clear);
	return rig_cmd(MLX5_CMD_OP_QUERY_FLOW_COUNTER, 0, uid, nic.in,
		       IFC_SZ(query_flow_counter_in), answer,
		       IFC_SZ(query_flow_counter_out) + 16 * room);
}

static uint64_t packets(unsigned int i)
{
	return get_be64(answer + IFC_SZ(query_flow_counter_out) + 16 * i);
}

static uint64_t octets(unsigned int i)
{
	return get_be64(answer + IFC_SZ(query_flow_counter_out) + 16 * i + 8);
}

static void counters_are_allocated_alone_or_in_bulk(void **state)
{
	uint32_t alone = allocated(0, 0), bulk = allocated(0, 1), second = allocated(0, 2);

	(void)state;
	assert_int_equal(bulk % 128, 0);
	assert_int_equal(second % 256, 0);
	assert_true(alone < bulk && (second >= bulk + 128 || second + 256 <= bulk));
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_COUNTER), 1 + 128 + 256);
	/* 3: not one bit. 8: not in flow_counter_bulk_alloc. */
	assert_refused(alloc(0, 3), ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK);
	assert_refused(alloc(0, 8), ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK);
	memset(nic.in, 0, sizeof(nic.in));
	IFC_SET(alloc_flow_counter_in, nic.in, flow_counter_bulk_log_size, 1);
	assert_refused(nicrig_run(MLX5_CMD_OP_ALLOC_FLOW_COUNTER, 0), ST_BAD_PARAM,
		       WHY_FLOW_COUNTER_BULK);
	assert_refused(dealloc(0, bulk + 1), ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK);
	assert_refused(dealloc(0, 0x7000), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(dealloc(0, bulk), ST_OK);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_COUNTER), 1 + 256);
	assert_int_equal(dealloc(0, alone), ST_OK);
	/* The counter takes a number of the bulk that was freed; the next bulk leaves it alone. */
	alone = allocated(0, 0);
	assert_true(allocated(0, 1) > alone);
	IFC_SET(flow_table_nic_cap, rig.hca->cap[CAP_FLOW_TABLE],
		flow_table_properties_nic_receive.flow_counter, 0);
	assert_refused(alloc(0, 0), ST_BAD_OP, WHY_FLOW_COUNTER_NOT_OFFERED);
}

static void counters_are_limited(void **state)
{
	unsigned int i;

	(void)state;
	rig.profile->range[OBJ_FLOW_COUNTER].limit = 300;
	for (i = 1; i < 200; i++)
		assert_int_equal(allocated(0, 0), i);
	/* Neither 128 to 255 nor 256 to 383 are free. */
	assert_refused(alloc(0, 1), ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_COUNTER), 199);
	/* A bulk that finds a number in use leaves none behind. */
	for (i = 128; i < 150; i++)
		assert_int_equal(dealloc(0, i), ST_OK);
	assert_refused(alloc(0, 1), ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_COUNTER), 177);
	for (; i < 200; i++)
		assert_int_equal(dealloc(0, i), ST_OK);
	assert_int_equal(allocated(0, 1), 128);
}

/* A counter that does not exist, or is another user's, reads 0; but the first one must be there. */
static void many_counters_are_queried_at_once(void **state)
{
	uint32_t id = allocated(NIC_UID, 1), own = allocated(OTHER_UID, 0);
	unsigned int i;

	(void)state;
	for (i = 0; i < 128; i++)
		flow_counter_add(rig.hca, id + i, 100 + i);
	flow_counter_add(rig.hca, id, 7);
	assert_int_equal(query(0, id, 0, 1, false), ST_OK);
	assert_true(packets(0) == 2 && octets(0) == 107);
	assert_int_equal(query(NIC_UID, id + 1, 127, 127, true), ST_OK);
	for (i = 0; i < 127; i++)
		assert_true(packets(i) == 1 && octets(i) == 101 + i);
	assert_int_equal(query(0, id, 132, 132, false), ST_OK);
	assert_true(packets(0) == 2 && !packets(1) && !octets(1) && !packets(131));
	assert_refused(query(OTHER_UID, id, 1, 1, false), ST_BAD_RES, WHY_OBJECT_OWNER);
	flow_counter_add(rig.hca, own, 9);
	assert_int_equal(query(OTHER_UID, own, 1000, 1000, false), ST_OK);
	for (i = 0; i < 1000; i++)
		assert_int_equal(packets(i), !i);
	assert_refused(query(0, id + 128, 1, 1, false), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_refused(query(0, id, 1025, 1025, false), ST_BAD_PARAM, WHY_FLOW_COUNTER_BULK);
	assert_refused(query(0, id, 3, 2, false), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
}

/* An entry that forwards to @id, and names two counters behind its destination. */
static void counting_entry(uint32_t first, uint32_t second)
{
	uint8_t *c = IFC_ADDR(set_fte_in, nic.in, flow_context);

	flowrig_entry(low, group, 9);
	flowrig_dest(FLOW_TO_TIR, flow_tir[0]);
	put_be32(c + IFC_SZ(flow_context) + 8, first);
	put_be32(c + IFC_SZ(flow_context) + 16, second);
	IFC_SET(flow_context, c, flow_counter_list_size, 2);
	IFC_SET(flow_context, c, action, FLOW_FWD | FLOW_COUNT);
}

static void entries_keep_their_counters(void **state)
{
	uint32_t one = allocated(0, 0), two = allocated(0, 0), bulk = allocated(0, 1);
	const uint8_t *c = IFC_ADDR(query_fte_out, nic.out, flow_context);

	(void)state;
	counting_entry(one, 0x7000);
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	counting_entry(one, two);
	assert_refused(rig_cmd(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0, 0, nic.in,
			       IFC_SZ(set_fte_in) + 23, nic.out, 16), ST_BAD_INP_LEN,
		       WHY_FLOW_ENTRY_LIST);
	IFC_SET(set_fte_in, nic.in, flow_context.flow_counter_list_size, 9);
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_PARAM,
		       WHY_FLOW_ENTRY_COUNTERS);
	counting_entry(one, bulk + 5);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	assert_refused(dealloc(0, one), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	assert_refused(dealloc(0, bulk), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	flowrig_index(low, 9);
	flowrig_ok(MLX5_CMD_OP_QUERY_FLOW_TABLE_ENTRY);
	assert_int_equal(IFC_GET(flow_context, c, action), FLOW_FWD | FLOW_COUNT);
	assert_int_equal(IFC_GET(flow_context, c, flow_counter_list_size), 2);
	assert_int_equal(get_be32(c + IFC_SZ(flow_context) + 8), one);
	assert_int_equal(get_be32(c + IFC_SZ(flow_context) + 16), bulk + 5);
	IFC_SET(flow_table_nic_cap, rig.hca->cap[CAP_FLOW_TABLE],
		flow_table_properties_nic_receive.flow_modify_en, 1);
	counting_entry(two, two);
	assert_int_equal(change(8), ST_OK);
	assert_int_equal(dealloc(0, one), ST_OK);
	assert_int_equal(dealloc(0, bulk), ST_OK);
	flowrig_entry(low, group, 9);
	flowrig_dest(FLOW_TO_TIR, flow_tir[0]);
	assert_refused(change(1), ST_BAD_PARAM, WHY_FLOW_ENTRY_COUNTERS);
	assert_int_equal(change(9), ST_OK);
	assert_int_equal(dealloc(0, two), ST_OK);
}

/* A reset frees tables that are linked in any order. */
/* ---- types of tables ------------------------------------------------------------------------- */

/* Offer tables of a type as those of received frames are offered. */
static void offer(enum flow_type type)
{
	uint8_t *cap = rig.hca->cap[CAP_FLOW_TABLE];

	memcpy(cap + flow_cap_page(type) / 8, cap + flow_cap_page(FLOW_NIC_RX) / 8,
	       IFC_SZ(flow_table_prop_layout));
}

static uint8_t table_of(enum flow_type type, unsigned int level, uint32_t miss)
{
	flowrig_table(level, miss);
	IFC_SET(create_flow_table_in, nic.in, table_type, type);
	return nicrig_run(MLX5_CMD_OP_CREATE_FLOW_TABLE, 0);
}

static void tables_need_the_capabilities_of_their_type(void **state)
{
	static const enum flow_type types[] = {
		FLOW_NIC_TX, FLOW_SNIFFER_RX, FLOW_SNIFFER_TX, FLOW_RDMA_RX, FLOW_RDMA_TX,
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		assert_refused(table_of(types[i], 1, 0), ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE);
		offer(types[i]);
		assert_int_equal(table_of(types[i], 1, 0), ST_OK);
		ifc_set_bits(rig.hca->cap[CAP_FLOW_TABLE],
			     flow_cap_page(types[i]) + IFC_OFF(flow_table_prop_layout, max_ft_level),
			     8, 3);
		assert_refused(table_of(types[i], 4, 0), ST_BAD_PARAM, WHY_FLOW_TABLE_LEVEL);
	}
	assert_refused(table_of(FLOW_TYPES, 1, 0), ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE);
}

static void types_of_tables_are_kept_apart(void **state)
{
	uint32_t tx, g;
	uint8_t *c;

	(void)state;
	offer(FLOW_NIC_TX);
	assert_refused(table_of(FLOW_NIC_TX, 1, high), ST_BAD_PARAM, WHY_FLOW_TABLE_TYPE);
	assert_int_equal(table_of(FLOW_NIC_TX, 1, 0), ST_OK);
	tx = IFC_GET(create_flow_table_out, nic.out, table_id);
	/* A command names the table with its type. */
	flowrig_in_table(tx, 0);
	assert_refused(nicrig_run(MLX5_CMD_OP_QUERY_FLOW_TABLE, 0), ST_BAD_PARAM,
		       WHY_FLOW_TABLE_TYPE);
	/* Each type has a root of its own. */
	flowrig_root(tx);
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, 0), ST_BAD_PARAM,
		       WHY_FLOW_TABLE_TYPE);
	flowrig_root(tx);
	IFC_SET(set_flow_table_root_in, nic.in, table_type, FLOW_NIC_TX);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	assert_ptr_equal(flow_root(rig.hca, FLOW_NIC_TX), flow_table_find(rig.hca, tx));
	assert_null(flow_root(rig.hca, FLOW_NIC_RX));
	/* A frame that is sent goes to no TIR, and to no table of another type. */
	c = flowrig_group(tx, 0, 0);
	LYR_SET(c, ethertype, 0xffff);
	IFC_SET(create_flow_group_in, nic.in, table_type, FLOW_NIC_TX);
	g = flowrig_new(MLX5_CMD_OP_CREATE_FLOW_GROUP);
	flowrig_entry(tx, g, 0);
	IFC_SET(set_fte_in, nic.in, table_type, FLOW_NIC_TX);
	flowrig_dest(FLOW_TO_TIR, flow_tir[0]);
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_PARAM,
		       WHY_FLOW_ENTRY_DESTINATION);
	flowrig_entry(tx, g, 0);
	IFC_SET(set_fte_in, nic.in, table_type, FLOW_NIC_TX);
	flowrig_dest(FLOW_TO_TABLE, high);
	assert_refused(nicrig_run(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY, 0), ST_BAD_PARAM,
		       WHY_FLOW_TABLE_TYPE);
	/* The last table of a type may be its root, whatever tables of other types there are. */
	flowrig_in_table(tx, g);
	IFC_SET(destroy_flow_group_in, nic.in, table_type, FLOW_NIC_TX);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_GROUP);
	flowrig_in_table(tx, 0);
	IFC_SET(destroy_flow_table_in, nic.in, table_type, FLOW_NIC_TX);
	flowrig_ok(MLX5_CMD_OP_DESTROY_FLOW_TABLE);
	assert_null(flow_root(rig.hca, FLOW_NIC_TX));
}

static void a_reset_frees_all(void **state)
{
	(void)state;
	counting_entry(allocated(0, 0), allocated(0, 1));
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	flowrig_root(low);
	flowrig_ok(MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	hca_free_objects(rig.hca);
	assert_null(flow_root(rig.hca, FLOW_NIC_RX));
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_TABLE), 0);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_GROUP), 0);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_ENTRY), 0);
	assert_int_equal(obj_count(rig.hca, OBJ_FLOW_COUNTER), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tables_are_checked), T(tables_are_kept_for_their_references),
		T(misses_can_be_led_elsewhere), T(root_is_checked), T(root_is_destroyed_last),
		T(groups_are_checked), T(each_criterion_has_its_capability),
		T(a_group_is_in_one_table), T(entries_are_checked),
		T(values_actions_and_destinations_are_checked),
		T(a_frame_has_several_paths_if_that_is_offered),
		T(an_entry_keeps_what_it_names), T(entries_change_if_that_is_offered),
		T(counters_are_allocated_alone_or_in_bulk), T(counters_are_limited),
		T(many_counters_are_queried_at_once), T(entries_keep_their_counters),
		T(tables_need_the_capabilities_of_their_type), T(types_of_tables_are_kept_apart),
		T(a_reset_frees_all),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
