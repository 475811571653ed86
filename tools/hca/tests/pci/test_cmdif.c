// SPDX-License-Identifier: GPL-2.0
/*
 * The command interface: queue entries, mailbox chains, commands that are refused before a handler
 * runs, the life cycle of the HCA, pages, capabilities.
 */
#include <event2/event.h>
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "corerig.h"
#include "eq.h"
#include "expect.h"
#include "ifc.h"
#include "inject.h"
#include "object.h"
#include "profile.h"
#include "trace.h"
#include "tracerig.h"
#include "util.h"

enum { DL_SIG = 1, DL_TOKEN = 2, DL_BLK_NUM = 3, DL_OUT_ALIGN = 4, DL_IN_ALIGN = 5, DL_IN_LEN = 7,
       DL_OUT_LEN = 8, DL_RESERVED = 9, DL_DESCR = 0x10 };

static uint8_t in[8192], out[8192];

/* QUERY_HCA_CAP answers with eight mailboxes. */
#define CAP_OUT IFC_SZ(query_hca_cap_out)

static size_t cap_query(uint16_t op_mod)
{
	memset(in, 0, sizeof(in));
	IFC_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	IFC_SET(query_hca_cap_in, in, op_mod, op_mod);
	return IFC_SZ(query_hca_cap_in);
}

/* SET_DRIVER_VERSION has one input mailbox. */
static size_t driver_version(void)
{
	memset(in, 0, sizeof(in));
	IFC_SET(set_driver_version_in, in, opcode, MLX5_CMD_OP_SET_DRIVER_VERSION);
	strcpy((char *)IFC_ADDR(set_driver_version_in, in, driver_version), "Linux,test,1");
	return IFC_SZ(set_driver_version_in);
}

static void entry_is_returned_signed(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_NOP, 0, out), ST_OK);
	assert_int_equal(core.sig_own, 0);
	assert_int_equal(core.sig_lay, 0xff);
}

static void output_spans_mailboxes(void **state)
{
	const uint8_t *page = out + 16;

	(void)state;
	assert_int_equal(core_cmd(in, cap_query(1), out, CAP_OUT), ST_OK);
	assert_int_equal(IFC_GET(cmd_hca_cap, page, log_max_qp), 18);
	assert_int_equal(IFC_GET(cmd_hca_cap, page, num_of_uars_per_page), 1);
	assert_memory_equal(page, core.hca->cap[0], HCA_CAP_SIZE);
}

/*
 * Bit n of the first word stands for event type n. The affiliated events, which are about an
 * object, are 0x02 (COMM_EST) to 0x05, 0x10 to 0x14 (SRQ_RQ_LIMIT), 0x1c and 0x1d (of DCTs). The
 * only unaffiliated event is 0x09 (PORT_CHANGE).
 */
static void events_for_users_have_a_page(void **state)
{
	const uint8_t *page = out + 16;

	(void)state;
	assert_int_equal(core_cmd(in, cap_query(1), out, CAP_OUT), ST_OK);
	assert_int_equal(IFC_GET(cmd_hca_cap, page, event_cap), 1);
	assert_int_equal(core_cmd(in, cap_query(0x14 << 1 | 1), out, CAP_OUT), ST_OK);
	assert_int_equal(IFC_GET64(device_event_cap, page, user_affiliated_events[0]), 0x301f003c);
	assert_int_equal(IFC_GET64(device_event_cap, page, user_affiliated_events[1]), 0);
	assert_int_equal(IFC_GET64(device_event_cap, page, user_unaffiliated_events[0]), 0x200);
	assert_int_equal(page[4], 0x30);
	assert_int_equal(page[5], 0x1f);
	assert_int_equal(page[7], 0x3c);
	assert_int_equal(page[32 + 6], 0x02);
}

static void output_mailboxes_are_signed(void **state)
{
	uint8_t x = 0;
	unsigned int i;

	(void)state;
	assert_int_equal(core_cmd(in, cap_query(1), out, CAP_OUT), ST_OK);
	for (i = 0; i < 576; i++)
		x ^= core.ram[CORE_MBOX + 0x80000 + i];
	assert_int_equal(x, 0xff);
	/* The signatures that were in a mailbox before are written over, and may be wrong. */
	core_put(0, in, cap_query(1), CAP_OUT);
	core.ram[CORE_MBOX + 0x80000 + 575] = 0x5a;
	core_ring(1);
	assert_int_equal(core_take(0, out, CAP_OUT), 0);
}

static void signed_input_is_accepted(void **state)
{
	(void)state;
	core.sign = true;
	assert_int_equal(core_cmd(in, driver_version(), out, 16), ST_OK);
}

/* Change one byte of a valid command and return the delivery status. */
static uint8_t spoiled(uint64_t pa, uint8_t flip, bool resign)
{
	uint8_t *lay = core_put(0, in, driver_version(), 16), x = 0;
	unsigned int i;

	core.ram[pa] ^= flip;
	if (resign) {
		lay[61] = 0;
		for (i = 0; i < 64; i++)
			x ^= lay[i];
		lay[61] = ~x;
	}
	core_ring(1);
	return core_take(0, out, 16);
}

static void bad_entry_signature(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_QUEUE + 20, 1, false), DL_SIG);
}

static void bad_entry_type(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_QUEUE, 1, true), DL_DESCR);
}

static void reserved_entry_bytes(void **state)
{
	static const uint8_t reserved[] = { 1, 2, 3, 62 };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(reserved); i++)
		assert_int_equal(spoiled(CORE_QUEUE + reserved[i], 1, true), DL_RESERVED);
}

static void bad_mailbox_token(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_MBOX + 573, 0x55, true), DL_TOKEN);
}

static void bad_mailbox_number(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_MBOX + 571, 1, true), DL_BLK_NUM);
}

static void bad_mailbox_signature(void **state)
{
	(void)state;
	core.sign = true;
	assert_int_equal(spoiled(CORE_MBOX + 100, 1, true), DL_SIG);
}

static void misaligned_mailbox(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_QUEUE + 15, 1, true), DL_IN_ALIGN);
}

static void unmapped_mailbox(void **state)
{
	(void)state;
	assert_int_equal(spoiled(CORE_QUEUE + 8, 0x80, true), DL_IN_ALIGN);
}

static void bad_lengths(void **state)
{
	uint8_t *lay;

	(void)state;
	lay = core_put(0, in, driver_version(), 16);
	lay[7] ^= 84;	/* 80 bytes become 4 */
	lay[61] ^= 84;
	core_ring(1);
	assert_int_equal(core_take(0, out, 16), DL_IN_LEN);
	lay = core_put(0, in, driver_version(), 16);
	lay[59] ^= 20;	/* 16 bytes become 4 */
	lay[61] ^= 20;
	core_ring(1);
	assert_int_equal(core_take(0, out, 4), DL_OUT_LEN);
}

static void out_chain_is_checked_before_execution(void **state)
{
	uint64_t before = core.hca->count.cmds;

	(void)state;
	core_put(0, in, cap_query(1), CAP_OUT);
	core.ram[CORE_MBOX + 0x80000 + 573] ^= 1;
	core_ring(1);
	assert_int_equal(core_take(0, out, CAP_OUT), DL_TOKEN);
	assert_int_equal(core.hca->count.cmds, before);
}

static void all_slots_at_once(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 32; i++) {
		memset(in, 0, 16);
		IFC_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_ALLOC_UAR);
		core_put(i, in, 16, 16);
	}
	core_ring(0xffffffff);
	for (i = 0; i < 32; i++) {
		assert_int_equal(core_take(i, out, 16), 0);
		assert_int_equal(out[0], ST_OK);
	}
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 32);
}

static void slot_owned_by_the_driver_is_ignored(void **state)
{
	(void)state;
	core_put(0, in, driver_version(), 16)[63] = 0;
	core_ring(1);
	assert_int_equal(core.ram[CORE_QUEUE + 32], 0);
}

static void unknown_opcode(void **state)
{
	(void)state;
	assert_refused(core_simple(0xfff, 0, out), ST_BAD_OP, WHY_OPCODE_UNKNOWN);
	assert_refused(core_simple(0xffff, 0, out), ST_BAD_OP, WHY_OPCODE_UNKNOWN);
	assert_int_not_equal(IFC_GET(alloc_uar_out, out, syndrome), 0);
}

static void short_input_and_output(void **state)
{
	(void)state;
	assert_refused(core_simple(MLX5_CMD_OP_QUERY_ADAPTER, 0, out), ST_BAD_OUTP_LEN,
		       WHY_OUTPUT_LENGTH);
	driver_version();
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
}

static void reserved_bits_must_be_zero(void **state)
{
	(void)state;
	memset(in, 0, 16);
	IFC_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_ALLOC_UAR);
	in[15] = 1;
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_PARAM, WHY_RESERVED_BITS);
	in[15] = 0;
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
	memset(in, 0, sizeof(in));
	IFC_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
	in[IFC_BYTE(create_eq_in, eq_context_entry.reserved_at_e0)] = 1;
	assert_refused(core_cmd(in, IFC_SZ(create_eq_in), out, 16), ST_BAD_PARAM,
		       WHY_RESERVED_BITS);
}

static void user_ids_must_exist(void **state)
{
	(void)state;
	memset(in, 0, 16);
	IFC_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_ALLOC_UAR);
	IFC_SET(alloc_uar_in, in, uid, 3);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES, WHY_UID_UNKNOWN);
}

static uint8_t manage(uint16_t op_mod, uint32_t n, uint64_t first)
{
	uint32_t i;

	memset(in, 0, sizeof(in));
	IFC_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
	IFC_SET(manage_pages_in, in, op_mod, op_mod);
	IFC_SET(manage_pages_in, in, input_num_entries, n);
	for (i = 0; i < n; i++)
		put_be64(in + 16 + 8 * i, first + 4096ull * i);
	return core_cmd(in, 16 + (op_mod == 1 ? 8 * n : 0), out, 16 + (op_mod == 2 ? 8 * n : 0));
}

/* Give the HCA all pages that it needs to be initialized, from CORE_FREE on. */
static void give_all_pages(void)
{
	uint32_t n = core.profile->boot_pages + core.profile->init_pages;

	assert_int_equal(manage(1, n, CORE_FREE), ST_OK);
}

/* Read a register of which @len bytes are given and @room bytes fit into the answer. */
static uint8_t reg_read(uint16_t id, const uint8_t *data, size_t len, size_t room)
{
	memset(in, 0, sizeof(in));
	IFC_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
	IFC_SET(access_register_in, in, op_mod, MLX5_ACCESS_REGISTER_IN_OP_MOD_READ);
	IFC_SET(access_register_in, in, register_id, id);
	memcpy(in + IFC_SZ(access_register_in), data, len);
	return core_cmd(in, IFC_SZ(access_register_in) + len, out,
			IFC_SZ(access_register_out) + room);
}

#define FEATURES	mng_feature_cap_mask.enhanced_features
#define MCQI_ROOM	(IFC_SZ(mcqi_reg) + IFC_SZ(mcqi_version))

static void registers_tell_the_version_of_firmware(void **state)
{
	const uint8_t *reg = out + IFC_SZ(access_register_out), *data = reg + IFC_SZ(mcqi_reg);
	uint8_t r[IFC_SZ(mcam_reg)] = { 0 };

	(void)state;
	assert_int_equal(reg_read(0x907f, r, IFC_SZ(mcam_reg), IFC_SZ(mcam_reg)), ST_OK);
	assert_int_equal(IFC_GET(mcam_reg, reg, mng_access_reg_cap_mask.access_regs.mcqi), 1);
	assert_int_equal(IFC_GET(mcam_reg, reg, mng_access_reg_cap_mask.access_regs.mcqs), 1);
	assert_int_equal(IFC_GET(mcam_reg, reg, mng_access_reg_cap_mask.access_regs.mcc), 0);
	assert_int_equal(IFC_GET(mcam_reg, reg, FEATURES.pci_status_and_power), 1);
	IFC_SET(mcam_reg, r, access_reg_group, 1);
	assert_int_equal(reg_read(0x907f, r, IFC_SZ(mcam_reg), IFC_SZ(mcam_reg)), ST_OK);
	assert_int_equal(IFC_GET(mcam_reg, reg, mng_access_reg_cap_mask.access_regs.mcqi), 0);
	assert_int_equal(IFC_GET(mcam_reg, reg, access_reg_group), 1);
	IFC_SET(mcam_reg, r, feature_group, 2);
	assert_int_equal(reg_read(0x907f, r, IFC_SZ(mcam_reg), IFC_SZ(mcam_reg)), ST_OK);
	assert_int_equal(IFC_GET(mcam_reg, reg, FEATURES.pci_status_and_power), 0);
	assert_int_equal(IFC_GET(mcam_reg, reg, feature_group), 2);
	memset(r, 0, sizeof(r));
	assert_int_equal(reg_read(0x9060, r, IFC_SZ(mcqs_reg), IFC_SZ(mcqs_reg)), ST_OK);
	assert_int_equal(IFC_GET(mcqs_reg, reg, identifier), 1);
	assert_int_equal(IFC_GET(mcqs_reg, reg, last_index_flag), 1);
	IFC_SET(mcqs_reg, r, component_index, 1);
	assert_refused(reg_read(0x9060, r, IFC_SZ(mcqs_reg), IFC_SZ(mcqs_reg)), ST_BAD_PARAM,
		       WHY_REG_INDEX);
	memset(r, 0, sizeof(r));
	IFC_SET(mcqi_reg, r, info_type, 1);
	IFC_SET(mcqi_reg, r, data_size, IFC_SZ(mcqi_version));
	assert_int_equal(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM), ST_OK);
	assert_int_equal(IFC_GET(mcqi_version, data, version), 16 << 24 | 35 << 16 | 4030);
	assert_int_equal(IFC_GET(mcqi_version, data, version_string_length), 10);
	assert_string_equal((const char *)IFC_ADDR(mcqi_version, data, version_string),
			    "16.35.4030");
	assert_int_equal(IFC_GET(mcqi_reg, reg, info_type), 1);
	assert_int_equal(IFC_GET(mcqi_reg, reg, info_size), IFC_SZ(mcqi_version));
	assert_refused(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM - 4), ST_BAD_PARAM,
		       WHY_REG_LENGTH);
	IFC_SET(mcqi_reg, r, info_type, 5);
	assert_refused(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM), ST_BAD_PARAM,
		       WHY_REG_INDEX);
	IFC_SET(mcqi_reg, r, info_type, 1);
	IFC_SET(mcqi_reg, r, component_index, 1);
	assert_refused(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM), ST_BAD_PARAM,
		       WHY_REG_INDEX);
	IFC_SET(mcqi_reg, r, component_index, 0);
	IFC_SET(mcqi_reg, r, offset, 4);		/* a part of it */
	assert_refused(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM), ST_BAD_PARAM,
		       WHY_REG_LENGTH);
	IFC_SET(mcqi_reg, r, offset, 0);
	IFC_SET(mcqi_reg, r, data_size, IFC_SZ(mcqi_version) - 4);
	assert_refused(reg_read(0x9061, r, IFC_SZ(mcqi_reg), MCQI_ROOM), ST_BAD_PARAM,
		       WHY_REG_LENGTH);
}

/* The HCA gives back what it does not use, if there is room for it. */
static void byte_order_of_the_host_is_given_back(void **state)
{
	const uint8_t *reg = out + IFC_SZ(access_register_out);
	uint8_t r[16] = { 0x80, 1, 2, 3, [15] = 4 };

	(void)state;
	assert_int_equal(reg_read(0x7004, r, sizeof(r), sizeof(r)), ST_OK);
	assert_memory_equal(reg, r, sizeof(r));
	assert_refused(reg_read(0x7004, r, sizeof(r), sizeof(r) - 4), ST_BAD_OUTP_LEN,
		       WHY_REG_LENGTH);
}

static void registers_tell_power_and_configuration(void **state)
{
	static const uint32_t items[] = { 0x80, 0x81, 0x10a, 0x10b, 0x11d, 0x03000080 };
	const uint8_t *reg = out + IFC_SZ(access_register_out);
	uint8_t r[IFC_SZ(mpein_reg)] = { 0 };
	unsigned int i;

	(void)state;
	assert_int_equal(reg_read(0x9050, r, sizeof(r), sizeof(r)), ST_OK);
	assert_int_equal(IFC_GET(mpein_reg, reg, pwr_status), 1);
	assert_int_equal(IFC_GET(mpein_reg, reg, pci_power), 75);
	assert_int_equal(IFC_GET(mpein_reg, reg, link_width_enabled), 16);
	assert_int_equal(IFC_GET(mpein_reg, reg, link_width_active), 16);
	assert_int_equal(IFC_GET(mpein_reg, reg, link_speed_enabled), 0x07);
	assert_int_equal(IFC_GET(mpein_reg, reg, num_of_pfs), 1);
	core.profile->part = 4129;
	assert_int_equal(reg_read(0x9050, r, sizeof(r), sizeof(r)), ST_OK);
	assert_int_equal(IFC_GET(mpein_reg, reg, link_speed_enabled), 0x37);
	assert_int_equal(IFC_GET(mpein_reg, reg, link_speed_active), 0x20);
	r[3] = 8;						/* bytes of the item */
	r[11] = 5;
	for (i = 0; i < sizeof(items) / sizeof(*items); i++) {
		put_be32(r + 4, items[i]);
		assert_int_equal(reg_read(0x9024, r, 20, 20), ST_OK);
		assert_memory_equal(reg, r, 20);
	}
	put_be32(r + 4, 0x030000ff);
	assert_refused(reg_read(0x9024, r, 20, 20), ST_BAD_PARAM, WHY_REG_INDEX);
	assert_refused(reg_read(0x9024, r, 8, 8), ST_BAD_PARAM, WHY_REG_LENGTH);
	put_be32(r + 4, 0x03000080);
	reg_read(0x9024, r, 20, 20);
	IFC_SET(access_register_in, in, op_mod, MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE);
	assert_refused(core_cmd(in, IFC_SZ(access_register_in) + 20, out,
				IFC_SZ(access_register_out) + 20), ST_BAD_PARAM, WHY_REG_READ_ONLY);
}

/* Firmware sends two events after INIT_HCA, to an event queue that subscribes to their types. */
static void firmware_tells_of_cable_and_power(void **state)
{
	uint32_t uar = core_alloc_uar(), eqn;
	struct eq *eq;

	(void)state;
	assert_int_equal(core_create_eq(uar, 6, CORE_FREE, 1ull << EV_PORT_CHANGE, 1, &eqn),
			 ST_OK);
	assert_int_equal(eq_find(core.hca, eqn)->pi, 0);
	assert_int_equal(core_create_eq(uar, 6, CORE_FREE, 1ull << EV_PORT_MODULE |
					1ull << EV_GENERAL, 1, &eqn), ST_OK);
	eq = eq_find(core.hca, eqn);
	assert_int_equal(eq->pi, 2);
	assert_int_equal((core.ram + CORE_FREE)[1], EV_PORT_MODULE);
	assert_int_equal((core.ram + CORE_FREE)[0x20 + 3], 1);		/* plugged */
	assert_int_equal((core.ram + CORE_FREE)[64 + 1], EV_GENERAL);
	assert_int_equal((core.ram + CORE_FREE)[64 + 3], 5);		/* power of the slot */
	IFC_SET(cmd_hca_cap, core.hca->cap[0], port_module_event, 0);
	assert_int_equal(core_create_eq(uar, 6, CORE_FREE, 1ull << EV_PORT_MODULE |
					1ull << EV_GENERAL, 1, &eqn), ST_OK);
	assert_int_equal(eq_find(core.hca, eqn)->pi, 1);
	assert_int_equal((core.ram + CORE_FREE)[1], EV_GENERAL);
	IFC_SET(cmd_hca_cap, core.hca->cap[0], port_module_event, 1);
	IFC_SET(cmd_hca_cap, core.hca->cap[0], general_notification_event, 0);
	assert_int_equal(core_create_eq(uar, 6, CORE_FREE, 1ull << EV_PORT_MODULE |
					1ull << EV_GENERAL, 1, &eqn), ST_OK);
	assert_int_equal(eq_find(core.hca, eqn)->pi, 1);
	assert_int_equal((core.ram + CORE_FREE)[1], EV_PORT_MODULE);
}

static void life_cycle(void **state)
{
	(void)state;
	assert_refused(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_BAD_SYS_STATE, WHY_HCA_STATE);
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_HCA_STATE);
	assert_refused(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_BAD_SYS_STATE, WHY_HCA_STATE);
	assert_refused(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_HCA_NOT_INITIALIZED);
	give_all_pages();
	assert_int_equal(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_HCA_INITIALIZED);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_DISABLE_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_HCA_INITIALIZED);
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 0);
	assert_int_equal(core_simple(MLX5_CMD_OP_DISABLE_HCA, 0, out), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_NOP, 0, out), ST_BAD_SYS_STATE, WHY_HCA_STATE);
}

/* Send a command whose field function_id, at @at, is 1. */
static uint8_t of_function_1(uint16_t opcode, uint16_t op_mod, size_t at)
{
	memset(in, 0, sizeof(in));
	IFC_SET(enable_hca_in, in, opcode, opcode);
	IFC_SET(enable_hca_in, in, op_mod, op_mod);
	put_be16(in + at, 1);
	return core_cmd(in, 16, out, 16);
}

static void there_is_no_other_function(void **state)
{
	const size_t query = IFC_BYTE(query_pages_in, function_id);
	const size_t manage_at = IFC_BYTE(manage_pages_in, function_id);
	const size_t at = IFC_BYTE(enable_hca_in, function_id);

	(void)state;
	assert_refused(of_function_1(MLX5_CMD_OP_ENABLE_HCA, 0, at), ST_BAD_PARAM,
		       WHY_FUNCTION_UNKNOWN);
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_refused(of_function_1(MLX5_CMD_OP_QUERY_PAGES, 1, query), ST_BAD_PARAM,
		       WHY_FUNCTION_UNKNOWN);
	assert_refused(of_function_1(MLX5_CMD_OP_MANAGE_PAGES, 0, manage_at), ST_BAD_PARAM,
		       WHY_FUNCTION_UNKNOWN);
	cap_query(1);
	IFC_SET(query_hca_cap_in, in, other_function, 1);
	assert_refused(core_cmd(in, IFC_SZ(query_hca_cap_in), out, CAP_OUT), ST_BAD_PARAM,
		       WHY_FUNCTION_OTHER);
	memset(in, 0, sizeof(in));
	IFC_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	IFC_SET(set_hca_cap_in, in, other_function, 1);
	assert_refused(core_cmd(in, 16 + HCA_CAP_SIZE, out, 16), ST_BAD_PARAM, WHY_FUNCTION_OTHER);
	assert_refused(of_function_1(MLX5_CMD_OP_DISABLE_HCA, 0, at), ST_BAD_PARAM,
		       WHY_FUNCTION_UNKNOWN);
	assert_int_equal(core_simple(MLX5_CMD_OP_NOP, 0, out), ST_OK);
}

static uint8_t teardown(uint16_t profile)
{
	memset(in, 0, 16);
	IFC_SET(teardown_hca_in, in, opcode, MLX5_CMD_OP_TEARDOWN_HCA);
	IFC_SET(teardown_hca_in, in, profile, profile);
	return core_cmd(in, IFC_SZ(teardown_hca_in), out, 16);
}

/* A driver that asks for a fast teardown has to be told that its queues still run. */
static void fast_teardown_is_refused(void **state)
{
	(void)state;
	core_alloc_uar();
	assert_refused(teardown(2), ST_BAD_PARAM, WHY_TEARDOWN_FAST);
	assert_refused(teardown(3), ST_BAD_PARAM, WHY_TEARDOWN_PROFILE);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 1);
	assert_int_equal(teardown(1), ST_OK);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 0);
}

static void driver_version_needs_a_capability(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, core.hca->cap[0], driver_version, 0);
	assert_refused(core_cmd(in, driver_version(), out, 16), ST_BAD_OP,
		       WHY_DRIVER_VERSION_NOT_OFFERED);
}

/* Before the driver has set the address of its command queue, a doorbell has no effect. */
static void no_command_is_read_from_address_0(void **state)
{
	(void)state;
	memset(in, 0, 16);
	IFC_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_NOP);
	memcpy(core.ram, core_put(0, in, 16, 16), 64);
	hca_reset(core.hca);
	core_ring(1);
	assert_int_equal(core.ram[63], 1);
}

static void adapter_names_its_board(void **state)
{
	const uint8_t *p = IFC_ADDR(query_adapter_out, out, query_adapter_struct);

	(void)state;
	memset(in, 0, 16);
	IFC_SET(query_adapter_in, in, opcode, MLX5_CMD_OP_QUERY_ADAPTER);
	assert_int_equal(core_cmd(in, 16, out, IFC_SZ(query_adapter_out)), ST_OK);
	assert_int_equal(IFC_GET(query_adapter_param_block, p, ieee_vendor_id), 0x2c9);
	assert_int_equal(IFC_GET(query_adapter_param_block, p, vsd_vendor_id), 0x15b3);
	assert_memory_equal(IFC_ADDR(query_adapter_param_block, p, vsd_contd_psid),
			    "BBL0000000001\0\0", 16);
}

static uint32_t wanted(uint16_t op_mod)
{
	assert_int_equal(core_simple(MLX5_CMD_OP_QUERY_PAGES, op_mod, out), ST_OK);
	return IFC_GET(query_pages_out, out, num_pages);
}

static void pages_given_are_returned(void **state)
{
	uint32_t boot;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	boot = wanted(1);
	assert_int_equal(boot, core.profile->boot_pages);
	assert_int_equal(manage(1, boot, CORE_FREE), ST_OK);
	assert_int_equal(wanted(1), 0);
	assert_int_equal(wanted(2), core.profile->init_pages);
	assert_int_equal(manage(2, boot + 10, 0), ST_OK);
	assert_int_equal(IFC_GET(manage_pages_out, out, output_num_entries), boot);
	assert_int_equal(get_be64(out + 16), CORE_FREE + 4096ull * (boot - 1));
	assert_int_equal(manage(2, 1, 0), ST_OK);
	assert_int_equal(IFC_GET(manage_pages_out, out, output_num_entries), 0);
}

static void pages_must_be_mapped(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_refused(manage(1, 1, 0), ST_BAD_PARAM, WHY_PAGE_ADDRESS);
	assert_refused(manage(1, 1, CORE_FREE + 8), ST_BAD_PARAM, WHY_PAGE_ADDRESS);
	assert_refused(manage(1, 1, CORE_RAM), ST_BAD_PARAM, WHY_PAGE_NOT_MAPPED);
	assert_refused(manage(7, 1, CORE_FREE), ST_BAD_OP, WHY_OP_MOD);
	assert_int_equal(wanted(1), core.profile->boot_pages);
	in[15] = 200;	/* more entries than bytes */
	IFC_SET(manage_pages_in, in, op_mod, 1);
	assert_refused(core_cmd(in, 24, out, 16), ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	/* And more pages to return than the output has room for. */
	assert_int_equal(manage(1, 2, CORE_FREE), ST_OK);
	memset(in, 0, 16);
	IFC_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
	IFC_SET(manage_pages_in, in, op_mod, 2);
	IFC_SET(manage_pages_in, in, input_num_entries, 2);
	assert_refused(core_cmd(in, 16, out, 16 + 8), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
	assert_int_equal(wanted(1), core.profile->boot_pages - 2);
}

/*
 * A driver that still uses a page after it gave the page to the HCA reads what the HCA wrote there.
 */
static void pages_are_overwritten(void **state)
{
	const uint8_t *page = core.ram + CORE_FREE;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	memset(core.ram + CORE_FREE, 0, 3 * 4096);
	assert_int_equal(manage(1, 1, CORE_FREE + 4096), ST_OK);
	assert_int_equal(page[4095], 0);
	assert_int_equal(page[4096], 0xb1);
	assert_int_equal(page[2 * 4096 - 1], 0xb1);
	assert_int_equal(page[2 * 4096], 0);
}

static void pages_are_compared_when_returned(void **state)
{
	const struct incident *it;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_int_equal(manage(1, 2, CORE_FREE), ST_OK);
	core.ram[CORE_FREE + 4096 + 17] ^= 1;
	assert_int_equal(manage(2, 2, 0), ST_OK);
	it = expect_unexpected(core.hca->expect, 0);
	assert_int_equal(it->kind, INCIDENT_PAGE);
	assert_int_equal(it->count, 1);
}

/* A driver gives pages in any order; the HCA returns them by address, the highest first. */
static void pages_are_given_in_any_order(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	for (i = 0; i < 8; i++)
		assert_int_equal(manage(1, 1, CORE_FREE + i * 5 % 8 * 8192), ST_OK);
	assert_refused(manage(1, 2, CORE_FREE + 2 * 8192 - 4096), ST_BAD_PARAM, WHY_PAGE_TWICE);
	assert_int_equal(manage(1, 1, CORE_FREE + 4096), ST_OK);
	memset(in + 16, 0, 16);
	put_be64(in + 16, CORE_FREE + 5 * 4096);
	put_be64(in + 24, CORE_FREE + 5 * 4096);
	IFC_SET(manage_pages_in, in, input_num_entries, 2);
	assert_refused(core_cmd(in, 32, out, 16), ST_BAD_PARAM, WHY_PAGE_TWICE);
	assert_int_equal(manage(2, 9, 0), ST_OK);
	for (i = 0; i < 9; i++)
		assert_int_equal(get_be64(out + 16 + 8 * i),
				 CORE_FREE + (i == 8 ? 0 : i == 7 ? 4096 : (7 - i) * 8192));
}

static void no_page_is_given_twice(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_int_equal(manage(1, 1, CORE_FREE + 4096), ST_OK);
	assert_refused(manage(1, 1, CORE_FREE + 4096), ST_BAD_PARAM, WHY_PAGE_TWICE);
	assert_refused(manage(1, 2, CORE_FREE), ST_BAD_PARAM, WHY_PAGE_TWICE);
	assert_int_equal(wanted(1), core.profile->boot_pages - 1);
	assert_int_equal(manage(1, 1, CORE_FREE), ST_OK);
}

#define REQ_EQ	(CORE_FREE + 0x800000ull)	/* an EQ for page requests */
#define REQ_PD	100
#define REQ_BATCH 8	/* pages beyond those that the objects need */

/* The number of pages in page request @nth, counted from 0; 0 if the HCA has not sent it. */
static int32_t asked(unsigned int nth)
{
	const uint8_t *eqe = core.ram + REQ_EQ + 64 * nth;

	return eqe[63] & 1 ? 0 : (int32_t)get_be32(eqe + 32 + 4);
}

static void change_domain(uint16_t opcode, uint32_t pdn)
{
	memset(in, 0, sizeof(in));
	IFC_SET(dealloc_pd_in, in, opcode, opcode);
	if (opcode == MLX5_CMD_OP_DEALLOC_PD)
		IFC_SET(dealloc_pd_in, in, pd, pdn);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
}

static void pages_follow_the_objects(void **state)
{
	uint32_t pdn[REQ_PD], eqn;
	int32_t n;
	int i;

	(void)state;
	memset(core.ram + REQ_EQ, 0xff, 4096);
	trace_ring(core.hca->trace, true);
	core.profile->objects_per_page = 4;
	assert_int_equal(core_create_eq(core_alloc_uar(), 4, REQ_EQ, 1 << 0xb, 1, &eqn), ST_OK);
	for (i = 0; i < REQ_PD; i++) {
		change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
		pdn[i] = IFC_GET(alloc_pd_out, out, pd);
	}
	n = asked(0);
	assert_int_equal(n, 1 + REQ_BATCH);	/* for the first objects, the UAR and the EQ */
	assert_int_equal(asked(1), 0);
	assert_int_equal(manage(1, n, CORE_FREE + 0x900000), ST_OK);
	assert_int_equal(asked(1), (REQ_PD + 2 + 3) / 4 - 1);
	/* The driver has no pages to give. The HCA asks again when there are more objects. */
	assert_int_equal(manage(0, 0, 0), ST_OK);
	assert_int_equal(asked(2), 0);
	change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	n = asked(2);
	assert_int_equal(n, (REQ_PD + 3 + 3) / 4 - 1);
	assert_int_equal(manage(1, n, CORE_FREE + 0xa00000), ST_OK);
	for (i = 0; i < REQ_PD; i++)
		change_domain(MLX5_CMD_OP_DEALLOC_PD, pdn[i]);
	n = asked(3);
	assert_int_equal(n, -(1 + REQ_BATCH));
	expect_traced(core.hca->trace, "page_request", "\"pages\":%d", n);
	assert_int_equal(manage(2, 2 * REQ_PD, 0), ST_OK);
	assert_int_equal(IFC_GET(manage_pages_out, out, output_num_entries), -n);
	/* The driver has given pages since it had none: fewer objects than then are no obstacle. */
	assert_int_equal(asked(4), -2 * REQ_BATCH);
	assert_int_equal(manage(2, 2 * REQ_PD, 0), ST_OK);
	for (i = 1; i < REQ_PD; i++)
		change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	assert_int_equal(asked(5), 1 + REQ_BATCH);
	core.profile->objects_per_page = 0;
}

/* The HCA has as many pages as its objects need, so it does not ask for one more. */
static void no_pages_are_asked_for_if_there_are_enough(void **state)
{
	uint32_t eqn;
	unsigned int i;

	(void)state;
	memset(core.ram + REQ_EQ, 0xff, 4096);
	core.profile->objects_per_page = 4;
	assert_int_equal(core_create_eq(core_alloc_uar(), 4, REQ_EQ, 1 << 0xb, 1, &eqn), ST_OK);
	/* The ninth page is for the objects 33 to 36; UAR and EQ are objects, too. */
	change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	assert_int_equal(manage(1, asked(0), CORE_FREE + 0x900000), ST_OK);
	for (i = 3; i < 36; i++)
		change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	assert_int_equal(obj_total(core.hca), 36);
	assert_int_equal(asked(1), 0);
	change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	assert_int_equal(asked(1), 1 + REQ_BATCH);
	core.profile->objects_per_page = 0;
}

/* The HCA gives back no more pages than the driver takes. */
static void driver_takes_fewer_pages_than_asked(void **state)
{
	uint32_t pdn[REQ_PD], eqn;
	int i, given;

	(void)state;
	memset(core.ram + REQ_EQ, 0xff, 4096);
	core.profile->objects_per_page = 4;
	assert_int_equal(core_create_eq(core_alloc_uar(), 4, REQ_EQ, 1 << 0xb, 1, &eqn), ST_OK);
	for (i = 0; i < REQ_PD; i++) {
		change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
		pdn[i] = IFC_GET(alloc_pd_out, out, pd);
	}
	given = asked(0);
	assert_int_equal(manage(1, given, CORE_FREE + 0x900000), ST_OK);
	given += asked(1);
	assert_int_equal(manage(1, asked(1), CORE_FREE + 0xa00000), ST_OK);
	for (i = 0; i < REQ_PD; i++)
		change_domain(MLX5_CMD_OP_DEALLOC_PD, pdn[i]);
	assert_int_equal(asked(2), -(1 + REQ_BATCH));
	assert_int_equal(manage(2, 4, 0), ST_OK);
	assert_int_equal(IFC_GET(manage_pages_out, out, output_num_entries), 4);
	/* The next request is about all pages beyond the one that UAR and EQ need, and a batch. */
	assert_int_equal(asked(3), -(given - 4 - 1 - REQ_BATCH));
	/* The driver does not answer: it resets the HCA, whose next request is a new one. */
	hca_reset(core.hca);
	core_reg_write(0x10, 0);
	core_reg_write(0x14, CORE_QUEUE);
	assert_int_equal(core_init_commands(), 0);
	memset(core.ram + REQ_EQ, 0xff, 4096);
	assert_int_equal(core_create_eq(core_alloc_uar(), 4, REQ_EQ, 1 << 0xb, 1, &eqn), ST_OK);
	assert_int_equal(asked(0), 1 + REQ_BATCH);
	core.profile->objects_per_page = 0;
}

static void numbers_can_be_reused_late(void **state)
{
	uint32_t first, limit = core.profile->range[OBJ_PD].limit;
	unsigned int i;

	(void)state;
	core.profile->cycle_numbers = true;
	core.profile->range[OBJ_PD].limit = core.profile->range[OBJ_PD].first + 10;
	change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	first = IFC_GET(alloc_pd_out, out, pd);
	for (i = 1; i < 10; i++) {
		change_domain(MLX5_CMD_OP_DEALLOC_PD, first + i - 1);
		change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
		assert_int_equal(IFC_GET(alloc_pd_out, out, pd), first + i);
	}
	change_domain(MLX5_CMD_OP_ALLOC_PD, 0);
	assert_int_equal(IFC_GET(alloc_pd_out, out, pd), first);
	core.profile->range[OBJ_PD].limit = limit;
	core.profile->cycle_numbers = false;
}

static void no_pages_are_returned_while_initialized(void **state)
{
	(void)state;
	assert_int_equal(manage(2, 4, 0), ST_OK);
	assert_int_equal(IFC_GET(manage_pages_out, out, output_num_entries), 0);
}

static void pages_are_needed_to_initialize(void **state)
{
	uint32_t n = core.profile->boot_pages + core.profile->init_pages;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_PAGES_MISSING);
	assert_int_equal(manage(1, n - 1, CORE_FREE), ST_OK);
	assert_refused(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_BAD_SYS_STATE,
		       WHY_PAGES_MISSING);
	assert_int_equal(manage(1, 1, CORE_FREE + 4096ull * n), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_OK);
}

static uint8_t set_issi(uint16_t issi)
{
	memset(in, 0, 16);
	IFC_SET(set_issi_in, in, opcode, MLX5_CMD_OP_SET_ISSI);
	IFC_SET(set_issi_in, in, current_issi, issi);
	return core_cmd(in, IFC_SZ(set_issi_in), out, 16);
}

static uint16_t get_issi(void)
{
	memset(in, 0, 16);
	IFC_SET(query_issi_in, in, opcode, MLX5_CMD_OP_QUERY_ISSI);
	assert_int_equal(core_cmd(in, IFC_SZ(query_issi_in), out, IFC_SZ(query_issi_out)), ST_OK);
	assert_int_equal(IFC_GET(query_issi_out, out, supported_issi_dw0), 3);
	return IFC_GET(query_issi_out, out, current_issi);
}

static void issi_is_kept(void **state)
{
	(void)state;
	assert_refused(set_issi(1), ST_BAD_SYS_STATE, WHY_HCA_STATE);
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_int_equal(get_issi(), 0);
	assert_refused(set_issi(2), ST_BAD_PARAM, WHY_ISSI_UNKNOWN);
	assert_int_equal(set_issi(1), ST_OK);
	assert_int_equal(get_issi(), 1);
	give_all_pages();
	assert_int_equal(core_simple(MLX5_CMD_OP_INIT_HCA, 0, out), ST_OK);
	assert_refused(set_issi(0), ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED);
	assert_int_equal(get_issi(), 1);
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_DISABLE_HCA, 0, out), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_int_equal(get_issi(), 0);
}

static void issi_1_has_no_legacy_srqs(void **state)
{
	static const uint16_t legacy[] = { MLX5_CMD_OP_CREATE_SRQ, MLX5_CMD_OP_DESTROY_SRQ,
					   MLX5_CMD_OP_QUERY_SRQ, MLX5_CMD_OP_ARM_RQ };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(legacy) / sizeof(*legacy); i++) {
		assert_int_not_equal(core_simple(legacy[i], legacy[i] == MLX5_CMD_OP_ARM_RQ, out),
				     ST_BAD_OP);
		core.hca->issi = 1;
		assert_refused(core_simple(legacy[i], legacy[i] == MLX5_CMD_OP_ARM_RQ, out),
			       ST_BAD_OP, WHY_ISSI_LEGACY);
		core.hca->issi = 0;
	}
}

static uint8_t set_caps(void (*edit)(uint8_t *page))
{
	assert_int_equal(core_cmd(in, cap_query(1), out, CAP_OUT), ST_OK);
	memset(in, 0, sizeof(in));
	IFC_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	memcpy(in + 16, out + 16, HCA_CAP_SIZE);
	edit(in + 16);
	return core_cmd(in, 16 + HCA_CAP_SIZE, out, 16);
}

static void fewer_qps(uint8_t *page)
{
	IFC_SET(cmd_hca_cap, page, log_max_qp, 12);
}

static void more_qps(uint8_t *page)
{
	IFC_SET(cmd_hca_cap, page, log_max_qp, 20);
}

static void read_only(uint8_t *page)
{
	IFC_SET(cmd_hca_cap, page, log_max_cq, 3);
}

static void caps_can_be_set_up_to_the_maximum(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_refused(set_caps(more_qps), ST_BAD_PARAM, WHY_CAP_ABOVE_MAXIMUM);
	assert_int_equal(hca_cap_gen(core.hca, log_max_qp), 18);
	assert_int_equal(set_caps(fewer_qps), ST_OK);
	assert_int_equal(hca_cap_gen(core.hca, log_max_qp), 12);
	assert_int_equal(core_cmd(in, cap_query(0), out, CAP_OUT), ST_OK);
	assert_int_equal(IFC_GET(cmd_hca_cap, out + 16, log_max_qp), 18);
	assert_int_equal(set_caps(read_only), ST_OK);
	assert_int_equal(hca_cap_gen(core.hca, log_max_cq), 18);
	/* Neither the maximum can be set, nor a type that does not exist. */
	IFC_SET(set_hca_cap_in, in, op_mod, 1);
	assert_refused(core_cmd(in, 16 + HCA_CAP_SIZE, out, 16), ST_BAD_PARAM,
		       WHY_CAP_TYPE_UNKNOWN);
	IFC_SET(set_hca_cap_in, in, op_mod, 0x3f << 1);
	assert_refused(core_cmd(in, 16 + HCA_CAP_SIZE, out, 16), ST_BAD_PARAM,
		       WHY_CAP_TYPE_UNKNOWN);
}

#define GENERAL(fld)	{ 0x00, IFC_OFF(cmd_hca_cap, fld), IFC_BITS(cmd_hca_cap, fld), #fld }
#define ODP(set, op)	{ 0x02, IFC_OFF(odp_cap, transport_page_fault_scheme_cap.set.op),	\
			  IFC_BITS(odp_per_transport_service_cap, op), #set "." #op }

/* Each of these capabilities, of which only one differs at a time, and none of the others. */
static void each_capability_that_can_be_set_is_set(void **state)
{
	static const struct { uint8_t type; uint32_t off, width; const char *name; } caps[] = {
		GENERAL(pkey_table_size), GENERAL(log_max_qp), GENERAL(cmdif_checksum),
		GENERAL(uar_4k), GENERAL(log_uar_page_sz), GENERAL(cache_line_128byte),
		GENERAL(dct), GENERAL(num_vhca_ports), GENERAL(release_all_pages),
		GENERAL(mkey_by_name), GENERAL(roce), GENERAL(log_max_current_uc_list),
		GENERAL(abs_native_port_num),
		ODP(ud_odp_caps, srq_receive), ODP(rc_odp_caps, srq_receive),
		ODP(xrc_odp_caps, srq_receive), ODP(xrc_odp_caps, send), ODP(xrc_odp_caps, receive),
		ODP(xrc_odp_caps, write), ODP(xrc_odp_caps, read), ODP(xrc_odp_caps, atomic),
		{ 0x02, IFC_OFF(odp_cap, mem_page_fault), 1, "mem_page_fault" },
		{ 0x03, IFC_OFF(atomic_caps, atomic_req_8B_endianness_mode),
		  IFC_BITS(atomic_caps, atomic_req_8B_endianness_mode), "endianness" },
	};
	uint8_t *max, *cur, want[HCA_CAP_SIZE];
	unsigned int i;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		core.profile->cap_valid[caps[i].type] = true;
		max = core.profile->cap[0][caps[i].type];
		cur = core.hca->cap[caps[i].type];
		ifc_set_bits(max, caps[i].off, caps[i].width, 1);
		ifc_set_bits(cur, caps[i].off, caps[i].width, 0);
		memcpy(want, cur, sizeof(want));
		ifc_set_bits(want, caps[i].off, caps[i].width, 1);
		memset(in, 0, sizeof(in));
		IFC_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
		IFC_SET(set_hca_cap_in, in, op_mod, caps[i].type << 1);
		memcpy(in + 16, want, HCA_CAP_SIZE);
		if (core_cmd(in, 16 + HCA_CAP_SIZE, out, 16) != ST_OK ||
		    memcmp(cur, want, HCA_CAP_SIZE))
			fail_msg("%s is not set", caps[i].name);
		ifc_set_bits(max, caps[i].off, caps[i].width, 0);
		if (core_cmd(in, 16 + HCA_CAP_SIZE, out, 16) != ST_BAD_PARAM)
			fail_msg("%s is set above the maximum", caps[i].name);
		ifc_set_bits(cur, caps[i].off, caps[i].width, 0);
	}
}

/* The next driver finds the capabilities of the profile. */
static void caps_that_were_set_end_with_a_reset(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
	assert_int_equal(set_caps(fewer_qps), ST_OK);
	hca_reset(core.hca);
	assert_int_equal(hca_cap_gen(core.hca, log_max_qp), 18);
}

static void caps_cannot_be_set_after_init(void **state)
{
	(void)state;
	assert_refused(set_caps(fewer_qps), ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED);
	assert_refused(core_cmd(in, cap_query(0x3f << 1), out, CAP_OUT), ST_BAD_PARAM,
		       WHY_CAP_TYPE_UNKNOWN);
}

/* The tests of rdma-core have a buffer of 2 KiB for a page of capabilities. */
static void caps_are_as_long_as_their_buffer(void **state)
{
	static const size_t lens[] = { 0, 4, 0x100, 2048, HCA_CAP_SIZE - 4, HCA_CAP_SIZE,
				       HCA_CAP_SIZE + 512 };
	uint8_t after[sizeof(out)];
	size_t i, given;

	(void)state;
	memset(after, 0xee, sizeof(after));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		given = lens[i] < HCA_CAP_SIZE ? lens[i] : HCA_CAP_SIZE;
		memset(out, 0xee, sizeof(out));
		assert_int_equal(core_cmd(in, cap_query(1), out, 16 + lens[i]), ST_OK);
		assert_memory_equal(out + 16, core.hca->cap[0], given);
		assert_memory_equal(out + 16 + lens[i], after, sizeof(out) - 16 - lens[i]);
	}
	/* There is room for status and syndrome, but not for the rest of the header. */
	assert_refused(core_cmd(in, cap_query(1), out, 12), ST_BAD_OUTP_LEN, WHY_OUTPUT_LENGTH);
}

static void special_contexts(void **state)
{
	(void)state;
	memset(in, 0, 16);
	IFC_SET(query_special_contexts_in, in, opcode, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	assert_int_equal(core_cmd(in, 16, out, IFC_SZ(query_special_contexts_out)), ST_OK);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, dump_fill_mkey), 1792);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, null_mkey), 0x300);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, terminate_scatter_list_mkey),
			 0x100);
}

/* QUERY_LAG has to succeed: if it fails, programs log an error. */
static void there_is_no_link_aggregation(void **state)
{
	(void)state;
	memset(out, 0xff, 16);
	assert_int_equal(core_simple(MLX5_CMD_OP_QUERY_LAG, 0, out), ST_OK);
	assert_int_equal(IFC_GET(query_lag_out, out, ctx.lag_state), 0);
	assert_int_equal(IFC_GET(query_lag_out, out, ctx.port_select_mode), 0);
}

static void special_contexts_are_those_that_are_offered(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, core.hca->cap[0], dump_fill_mkey, 0);
	IFC_SET(cmd_hca_cap, core.hca->cap[0], null_mkey, 0);
	IFC_SET(cmd_hca_cap, core.hca->cap[0], terminate_scatter_list_mkey, 0);
	memset(in, 0, 16);
	IFC_SET(query_special_contexts_in, in, opcode, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	assert_int_equal(core_cmd(in, 16, out, IFC_SZ(query_special_contexts_out)), ST_OK);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, resd_lkey), 0x200);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, dump_fill_mkey), 0);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, null_mkey), 0);
	assert_int_equal(IFC_GET(query_special_contexts_out, out, terminate_scatter_list_mkey), 0);
}

/* An older driver provides room for fewer keys than QUERY_SPECIAL_CONTEXTS has. */
static void special_contexts_fit_a_shorter_output(void **state)
{
	size_t len;

	(void)state;
	memset(in, 0, 16);
	IFC_SET(query_special_contexts_in, in, opcode, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	for (len = 16; len < IFC_SZ(query_special_contexts_out); len++) {
		assert_int_equal(core_cmd(in, 16, out, len), ST_OK);
		assert_int_equal(IFC_GET(query_special_contexts_out, out, dump_fill_mkey), 1792);
	}
}

/* ---- answers that come later ----------------------------------------------------------------- */

#define EQ_PA	(CORE_FREE + 0x10000)
#define EV_CMD_BIT	(1ull << 0x0a)

/* Run the event loop for @ms milliseconds. */
static void run_for(unsigned int ms)
{
	const struct timeval tv = { 0, ms * 1000 };

	event_base_loopexit(core.base, &tv);
	event_base_dispatch(core.base);
}

/* Run the event loop until the commands of @slots have been answered, at most ten seconds. */
static void run_until_answered(uint32_t slots)
{
	unsigned int i, ms, left = slots;

	for (ms = 0; ms < 10000 && left; ms += 5) {
		run_for(5);
		for (i = 0; i < 32; i++)
			if (core_take(i, out, 16) != CORE_NOT_DONE)
				left &= ~(1u << i);
	}
	assert_int_equal(left, 0);
}

/* Create an event queue that gets the events of all commands from now on. */
static void listen_to_commands(void)
{
	uint32_t eqn;

	assert_int_equal(core_create_eq(core_alloc_uar(), 6, EQ_PA, EV_CMD_BIT, 0, &eqn), ST_OK);
}

/* The slots that event @n, from 0, is about. */
static uint32_t event_slots(unsigned int n)
{
	return get_be32(core.ram + EQ_PA + 64 * n + 32);
}

static void put_simple(unsigned int slot, uint16_t opcode)
{
	memset(in, 0, 16);
	IFC_SET(alloc_uar_in, in, opcode, opcode);
	core_put(slot, in, 16, 16);
}

static void answer_can_be_late(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 1, 500);
	put_simple(0, MLX5_CMD_OP_ALLOC_PD);
	core_ring(1);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 1);
	put_simple(1, MLX5_CMD_OP_ALLOC_PD);
	core_ring(2);
	assert_int_equal(core_take(1, out, 16), 0);
	run_for(10);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
	run_until_answered(1);
	assert_int_equal(core_take(0, out, 16), 0);
	assert_int_equal(core.sig_lay, 0xff);
	assert_int_equal(IFC_GET(alloc_pd_out, out, pd), 1);
	assert_int_equal(inject_clear(core.hca->inject), 1);
}

static void execution_can_be_late(void **state)
{
	(void)state;
	assert_true(inject_set_cmd_deferral(core.hca->inject, MLX5_CMD_OP_ALLOC_PD, 1, 20));
	put_simple(0, MLX5_CMD_OP_ALLOC_PD);
	put_simple(1, MLX5_CMD_OP_ALLOC_UAR);
	core_ring(3);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
	assert_int_equal(core_take(1, out, 16), 0);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 0);
	/* The second ALLOC_PD overtakes the first. */
	put_simple(2, MLX5_CMD_OP_ALLOC_PD);
	core_ring(4);
	assert_int_equal(core_take(2, out, 16), 0);
	assert_int_equal(IFC_GET(alloc_pd_out, out, pd), 1);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
	run_until_answered(1);
	assert_int_equal(core_take(0, out, 16), 0);
	assert_int_equal(IFC_GET(alloc_pd_out, out, pd), 2);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 2);
	assert_int_equal(inject_clear(core.hca->inject), 1);
}

static void one_opcode_can_be_late(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, MLX5_CMD_OP_ALLOC_PD, 1, 5);
	put_simple(0, MLX5_CMD_OP_ALLOC_UAR);
	put_simple(1, MLX5_CMD_OP_ALLOC_PD);
	core_ring(3);
	assert_int_equal(core_take(0, out, 16), 0);
	assert_int_equal(core_take(1, out, 16), CORE_NOT_DONE);
	run_until_answered(2);
	assert_int_equal(core_take(1, out, 16), 0);
}

static void each_opcode_has_a_delay_of_its_own(void **state)
{
	(void)state;
	assert_true(inject_set_cmd_delay(core.hca->inject, MLX5_CMD_OP_ALLOC_PD, 1, 500));
	assert_true(inject_set_cmd_delay(core.hca->inject, MLX5_CMD_OP_ALLOC_UAR, 1, 5));
	/* Replaces the delay of 500 ms. */
	assert_true(inject_set_cmd_delay(core.hca->inject, MLX5_CMD_OP_ALLOC_PD, 1, 10));
	put_simple(0, MLX5_CMD_OP_ALLOC_UAR);
	put_simple(1, MLX5_CMD_OP_ALLOC_PD);
	put_simple(2, MLX5_CMD_OP_ALLOC_PD);
	core_ring(7);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
	assert_int_equal(core_take(1, out, 16), CORE_NOT_DONE);
	assert_int_equal(core_take(2, out, 16), 0);
	run_until_answered(3);
	assert_int_equal(core_take(0, out, 16), 0);
	assert_int_equal(core_take(1, out, 16), 0);
	assert_int_equal(inject_clear(core.hca->inject), 2);
}

static void delays_of_many_opcodes_are_refused(void **state)
{
	uint16_t op;

	(void)state;
	for (op = 1; op <= INJECT_MAX_DELAYS; op++)
		assert_true(inject_set_cmd_delay(core.hca->inject, op, 1, 5));
	assert_false(inject_set_cmd_delay(core.hca->inject, op, 1, 5));
	assert_true(inject_set_cmd_delay(core.hca->inject, 1, 1, 6));
	inject_clear(core.hca->inject);
	assert_true(inject_set_cmd_delay(core.hca->inject, op, 1, 5));
	inject_clear(core.hca->inject);
}

static void answers_can_change_their_order(void **state)
{
	unsigned int i;

	(void)state;
	listen_to_commands();
	inject_set_cmd_reorder(core.hca->inject);
	for (i = 0; i < 3; i++) {
		put_simple(i, MLX5_CMD_OP_ALLOC_PD);
		core_ring(1u << i);
		assert_int_equal(core_take(i, out, 16), CORE_NOT_DONE);
	}
	run_until_answered(7);
	for (i = 0; i < 3; i++) {
		assert_int_equal(core_take(i, out, 16), 0);
		assert_int_equal(IFC_GET(alloc_pd_out, out, pd), i + 1);
		assert_int_equal(event_slots(i), 4u >> i);
	}
}

static void one_event_tells_of_commands_that_run_at_once(void **state)
{
	(void)state;
	listen_to_commands();
	put_simple(3, MLX5_CMD_OP_ALLOC_PD);
	put_simple(5, MLX5_CMD_OP_ALLOC_PD);
	core_ring(0x28);
	assert_int_equal(event_slots(0), 0x28);
}

static void command_from_before_the_event_queue_has_no_event(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 1, 20);
	put_simple(1, MLX5_CMD_OP_ALLOC_PD);
	core_ring(2);
	listen_to_commands();
	run_until_answered(2);
	assert_int_equal(core_take(1, out, 16), 0);
	assert_int_equal(event_slots(0), 0);
}

static void a_profile_makes_commands_asynchronous(void **state)
{
	bool sorted = true;
	uint32_t seen = 0;
	unsigned int i;

	(void)state;
	listen_to_commands();
	core.profile->command_delay_us = 3000;
	for (i = 0; i < 32; i++)
		put_simple(i, MLX5_CMD_OP_ALLOC_PD);
	core_ring(0xffffffff);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 0);
	run_until_answered(0xffffffff);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 32);
	for (i = 0; i < 32; i++) {
		uint32_t slots = event_slots(i);

		assert_int_equal(core_take(i, out, 16), 0);
		assert_int_equal(slots & (slots - 1), 0);
		sorted &= slots > seen;
		seen |= slots;
	}
	assert_int_equal(seen, 0xffffffff);
	assert_false(sorted);
}

static void a_slot_without_an_answer_takes_no_command(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 1, 20);
	put_simple(0, MLX5_CMD_OP_ALLOC_PD);
	core_ring(1);
	core_ring(1);
	assert_int_equal(obj_count(core.hca, OBJ_PD), 1);
	run_until_answered(1);
	assert_int_equal(core_take(0, out, 16), 0);
}

/* The driver has given up on a command, and used the mailbox of that command for another. */
static void a_late_answer_spares_a_mailbox_that_is_used_again(void **state)
{
	uint8_t *mbox = core.ram + CORE_MBOX + 0x80000;

	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 1, 10);
	core_put(0, in, cap_query(1), CAP_OUT);
	core_ring(1);
	mbox[573]++;
	memset(mbox, 0x5a, 512);
	run_until_answered(1);
	assert_int_equal(core_take(0, out, 16), 0);
	assert_int_equal(mbox[0], 0x5a);
	assert_int_equal(mbox[511], 0x5a);
}

static void no_answer_after_reset(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 2, 10);
	put_simple(0, MLX5_CMD_OP_ALLOC_PD);
	core_ring(1);
	hca_reset(core.hca);
	core_reg_write(0x14, CORE_QUEUE);
	run_for(30);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
}

static void no_answer_after_disable_but_its_own(void **state)
{
	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	inject_set_cmd_delay(core.hca->inject, 0, 2, 10);
	put_simple(1, MLX5_CMD_OP_NOP);
	core_ring(2);
	put_simple(2, MLX5_CMD_OP_DISABLE_HCA);
	core_ring(4);
	run_until_answered(4);
	run_for(30);
	assert_int_equal(core_take(1, out, 16), CORE_NOT_DONE);
	assert_int_equal(core_take(2, out, 16), 0);
}

static void no_answer_from_a_failed_device(void **state)
{
	(void)state;
	inject_set_cmd_delay(core.hca->inject, 0, 1, 10);
	put_simple(0, MLX5_CMD_OP_ALLOC_PD);
	core_ring(1);
	core.hca->fatal = true;
	run_for(30);
	assert_int_equal(core_take(0, out, 16), CORE_NOT_DONE);
}

static void the_profile_sets_the_time_out(void **state)
{
	(void)state;
	assert_int_equal(core_reg_read(0xff8), 0);
	core.profile->command_timeout_ms = 1500;
	assert_int_equal(core_reg_read(0xff8), 1500);
	assert_int_equal(core_reg_read(0xffc), 1500);
}

#define T(f) cmocka_unit_test_setup_teardown(f, core_up_init, core_down)
#define T0(f) cmocka_unit_test_setup_teardown(f, core_up, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(entry_is_returned_signed), T(output_spans_mailboxes),
		T(events_for_users_have_a_page),
		T(output_mailboxes_are_signed), T(signed_input_is_accepted), T(bad_entry_signature),
		T(bad_entry_type), T(reserved_entry_bytes), T(bad_mailbox_token),
		T(bad_mailbox_number), T(bad_mailbox_signature), T(misaligned_mailbox),
		T(unmapped_mailbox), T(bad_lengths), T(out_chain_is_checked_before_execution),
		T(all_slots_at_once), T(slot_owned_by_the_driver_is_ignored), T(unknown_opcode),
		T(short_input_and_output), T(reserved_bits_must_be_zero), T(user_ids_must_exist),
		T(registers_tell_the_version_of_firmware), T(byte_order_of_the_host_is_given_back),
		T(registers_tell_power_and_configuration), T(firmware_tells_of_cable_and_power),
		T0(life_cycle), T0(there_is_no_other_function), T(fast_teardown_is_refused),
		T(driver_version_needs_a_capability), T(no_command_is_read_from_address_0),
		T(adapter_names_its_board), T0(pages_given_are_returned), T0(pages_must_be_mapped),
		T0(pages_are_overwritten), T0(pages_are_compared_when_returned),
		T0(pages_are_given_in_any_order), T0(no_page_is_given_twice),
		T(pages_follow_the_objects), T(no_pages_are_asked_for_if_there_are_enough),
		T(driver_takes_fewer_pages_than_asked), T(numbers_can_be_reused_late),
		T0(pages_are_needed_to_initialize),
		T0(issi_is_kept), T(issi_1_has_no_legacy_srqs),
		T(no_pages_are_returned_while_initialized), T0(caps_can_be_set_up_to_the_maximum),
		T0(each_capability_that_can_be_set_is_set),
		T0(caps_that_were_set_end_with_a_reset), T(caps_cannot_be_set_after_init),
		T(caps_are_as_long_as_their_buffer), T(special_contexts),
		T(there_is_no_link_aggregation),
		T(special_contexts_are_those_that_are_offered),
		T(special_contexts_fit_a_shorter_output),
		T(answer_can_be_late), T(execution_can_be_late), T(one_opcode_can_be_late),
		T(each_opcode_has_a_delay_of_its_own), T(delays_of_many_opcodes_are_refused),
		T(answers_can_change_their_order),
		T(one_event_tells_of_commands_that_run_at_once),
		T(command_from_before_the_event_queue_has_no_event),
		T(a_profile_makes_commands_asynchronous),
		T(a_slot_without_an_answer_takes_no_command),
		T(a_late_answer_spares_a_mailbox_that_is_used_again), T(no_answer_after_reset),
		T(no_answer_after_disable_but_its_own), T(no_answer_from_a_failed_device),
		T0(the_profile_sets_the_time_out),
	};

	return cmocka_run_group_tests_name("cmdif", tests, NULL, NULL);
}
