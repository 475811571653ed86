// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of the product, each with what is checked before its handler runs: in which state of
 * the HCA and by whom it may be sent, its op_mods, and the lengths of its input and output.
 */
#include <errno.h>
#include <string.h>

#include "board.h"
#include "cmd.h"
#include "corerig.h"
#include "dev.h"
#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "util.h"

/* Opcodes that mlx5_ifc.h does not list. */
#define OP_RTS2SQD_QP	0x508
#define OP_SQD2RTS_QP	0x509
#define OP_SQD2SQD_QP	0x511

#define NO_UID		0x777	/* a user id that does not exist */
#define SHORT_OUT	8	/* bytes of output, too few for every command: no handler runs */

/* The states in which a command is accepted. */
enum when { ONCE_INIT, EARLY, BEFORE_ENABLE };
/* Who may send a command. *_SHARED stands for commands that may have the user id SHARED_UID. */
enum who { ANYONE, ANYONE_SHARED, KERNEL, KERNEL_SHARED, RAW_TX };

#define ROW(op, ...) { .opcode = MLX5_CMD_OP_##op, __VA_ARGS__ }

/* Every command of the product. A test fails until a new command has a row here. */
static const struct expected {
	uint16_t opcode;
	enum when when;
	enum who who;
	uint16_t first, last;	/* op_mods */
	bool legacy;		/* only in ISSI 0 */
	bool eth, ib;		/* only with an Ethernet port, or with an InfiniBand port */
} expected[] = {
	ROW(QUERY_HCA_CAP, .when = EARLY, .last = 127),
	ROW(QUERY_ADAPTER, .when = EARLY),
	ROW(INIT_HCA, .when = EARLY, .who = KERNEL),
	ROW(TEARDOWN_HCA, .when = EARLY, .who = KERNEL),
	ROW(ENABLE_HCA, .when = BEFORE_ENABLE),
	ROW(DISABLE_HCA, .when = EARLY, .who = KERNEL),
	ROW(QUERY_PAGES, .when = EARLY, .who = KERNEL, .first = 1, .last = 3),
	ROW(MANAGE_PAGES, .when = EARLY, .who = KERNEL, .last = 2),
	ROW(SET_HCA_CAP, .when = EARLY, .who = KERNEL, .last = 127),
	ROW(QUERY_ISSI, .when = EARLY),
	ROW(SET_ISSI, .when = EARLY, .who = KERNEL),
	ROW(SET_DRIVER_VERSION, .when = EARLY, .who = KERNEL),
	ROW(CREATE_MKEY), ROW(QUERY_MKEY), ROW(DESTROY_MKEY),
	ROW(QUERY_SPECIAL_CONTEXTS),
	ROW(PAGE_FAULT_RESUME, .who = KERNEL),
	ROW(ALLOC_MEMIC), ROW(DEALLOC_MEMIC),
	ROW(MODIFY_MEMIC, .last = 1),
	ROW(CREATE_EQ, .who = KERNEL_SHARED),
	ROW(DESTROY_EQ, .who = KERNEL),
	ROW(QUERY_EQ),
	ROW(CREATE_CQ), ROW(DESTROY_CQ), ROW(QUERY_CQ),
	ROW(MODIFY_CQ, .last = 1),
	ROW(CREATE_QP), ROW(DESTROY_QP), ROW(QUERY_QP),
	ROW(RST2INIT_QP), ROW(INIT2INIT_QP), ROW(INIT2RTR_QP), ROW(RTR2RTS_QP),
	ROW(RTS2RTS_QP), ROW(SQERR2RTS_QP), ROW(SQD_RTS_QP), ROW(2ERR_QP),
	ROW(2RST_QP),
	{ .opcode = OP_RTS2SQD_QP }, { .opcode = OP_SQD2RTS_QP }, { .opcode = OP_SQD2SQD_QP },
	ROW(MAD_IFC, .who = KERNEL, .last = 3, .ib = true),
	ROW(CREATE_SRQ, .legacy = true), ROW(DESTROY_SRQ, .legacy = true),
	ROW(QUERY_SRQ, .legacy = true), ROW(ARM_RQ, .first = 1, .last = 1, .legacy = true),
	ROW(CREATE_XRC_SRQ), ROW(DESTROY_XRC_SRQ), ROW(QUERY_XRC_SRQ),
	ROW(ARM_XRC_SRQ, .first = 1, .last = 1),
	ROW(CREATE_RMP), ROW(MODIFY_RMP), ROW(DESTROY_RMP), ROW(QUERY_RMP),
	ROW(QUERY_VPORT_STATE), ROW(QUERY_VPORT_COUNTER),
	ROW(QUERY_HCA_VPORT_CONTEXT, .ib = true),
	ROW(MODIFY_HCA_VPORT_CONTEXT, .who = KERNEL, .ib = true),
	ROW(QUERY_HCA_VPORT_GID, .ib = true), ROW(QUERY_HCA_VPORT_PKEY),
	ROW(QUERY_NIC_VPORT_CONTEXT, .eth = true),
	ROW(MODIFY_NIC_VPORT_CONTEXT, .who = KERNEL, .eth = true),
	ROW(QUERY_VNIC_ENV, .who = KERNEL, .eth = true),
	ROW(SET_ROCE_ADDRESS, .who = KERNEL, .eth = true), ROW(QUERY_ROCE_ADDRESS, .eth = true),
	ROW(QUERY_CONG_STATISTICS, .who = KERNEL, .eth = true),
	ROW(ALLOC_Q_COUNTER, .who = ANYONE_SHARED),
	ROW(DEALLOC_Q_COUNTER), ROW(QUERY_Q_COUNTER),
	ROW(SET_PP_RATE_LIMIT, .who = ANYONE_SHARED),
	ROW(ALLOC_PD), ROW(DEALLOC_PD), ROW(ALLOC_UAR), ROW(DEALLOC_UAR),
	ROW(ALLOC_XRCD), ROW(DEALLOC_XRCD),
	ROW(ALLOC_TRANSPORT_DOMAIN), ROW(DEALLOC_TRANSPORT_DOMAIN),
	ROW(ACCESS_REG, .when = EARLY, .who = KERNEL, .last = 1),
	ROW(ATTACH_TO_MCG), ROW(DETACH_FROM_MCG),
	ROW(NOP, .when = EARLY),
	ROW(QUERY_LAG),
	ROW(CREATE_SQ, .who = RAW_TX),
	ROW(MODIFY_SQ), ROW(DESTROY_SQ), ROW(QUERY_SQ),
	/* the field of the op_mod holds the type of the object */
	ROW(CREATE_GENERAL_OBJECT, .last = UINT16_MAX),
	ROW(MODIFY_GENERAL_OBJECT, .last = UINT16_MAX),
	ROW(QUERY_GENERAL_OBJECT, .last = UINT16_MAX),
	ROW(DESTROY_GENERAL_OBJECT, .last = UINT16_MAX),
	ROW(CREATE_UCTX, .who = KERNEL), ROW(DESTROY_UCTX, .who = KERNEL),
	ROW(CREATE_UMEM), ROW(DESTROY_UMEM),
	ROW(SET_FLOW_TABLE_ROOT, .who = KERNEL, .eth = true),
	ROW(CREATE_FLOW_TABLE, .who = KERNEL, .eth = true),
	ROW(MODIFY_FLOW_TABLE, .who = KERNEL, .eth = true),
	ROW(DESTROY_FLOW_TABLE, .who = KERNEL, .eth = true),
	ROW(QUERY_FLOW_TABLE, .who = KERNEL, .eth = true),
	ROW(CREATE_FLOW_GROUP, .who = KERNEL, .eth = true),
	ROW(DESTROY_FLOW_GROUP, .who = KERNEL, .eth = true),
	ROW(QUERY_FLOW_GROUP, .who = KERNEL, .eth = true),
	ROW(SET_FLOW_TABLE_ENTRY, .who = KERNEL, .last = 1, .eth = true),
	ROW(QUERY_FLOW_TABLE_ENTRY, .who = KERNEL, .eth = true),
	ROW(DELETE_FLOW_TABLE_ENTRY, .who = KERNEL, .eth = true),
	ROW(ALLOC_FLOW_COUNTER, .eth = true),
	ROW(DEALLOC_FLOW_COUNTER, .eth = true),
	ROW(QUERY_FLOW_COUNTER, .eth = true),
	ROW(CREATE_TIS, .eth = true), ROW(MODIFY_TIS, .eth = true),
	ROW(DESTROY_TIS, .eth = true), ROW(QUERY_TIS, .eth = true),
	ROW(CREATE_RQ, .eth = true), ROW(MODIFY_RQ, .eth = true),
	ROW(DESTROY_RQ, .eth = true), ROW(QUERY_RQ, .eth = true),
	ROW(CREATE_RQT, .eth = true), ROW(MODIFY_RQT, .eth = true),
	ROW(DESTROY_RQT, .eth = true), ROW(QUERY_RQT, .eth = true),
	ROW(CREATE_TIR, .eth = true), ROW(MODIFY_TIR, .eth = true),
	ROW(DESTROY_TIR, .eth = true), ROW(QUERY_TIR, .eth = true),
};

/* The rows of the commands that the HCA offers: each type of port lacks those of the other. */
#define FOR_EACH(i)						\
	for (i = 0; i < ARRAY_SIZE(expected); i++)		\
		if (core_eth ? expected[i].ib : expected[i].eth) \
			continue;				\
		else

static const struct expected *find(uint16_t opcode)
{
	size_t i;

	FOR_EACH(i)
		if (expected[i].opcode == opcode)
			return &expected[i];
	return NULL;
}

static uint8_t in[8192], out[8192];

/* Send a command of zeros; returns the check that refused it. */
static uint32_t send(uint16_t opcode, uint16_t op_mod, uint16_t uid, size_t in_len, size_t out_len)
{
	uint8_t st;

	memset(in, 0, sizeof(in));
	IFC_SET(alloc_uar_in, in, opcode, opcode);
	IFC_SET(alloc_uar_in, in, op_mod, op_mod);
	IFC_SET(alloc_uar_in, in, uid, uid);
	st = core_cmd(in, in_len, out, out_len);
	if (!st)
		fail_msg("opcode 0x%x was executed", opcode);
	return IFC_GET(alloc_uar_out, out, syndrome);
}

/* Find out which check refuses a command. Its lengths, which are checked last, are too short. */
static uint32_t knock(uint16_t opcode, uint16_t op_mod, uint16_t uid)
{
	return send(opcode, op_mod, uid, 16, SHORT_OUT);
}

static void expect(const struct expected *e, const char *what, bool is, bool should)
{
	if (is != should)
		fail_msg("opcode 0x%x: %s: %u, not %u", e->opcode, what, is, should);
}

static void every_opcode_is_expected_or_unknown(void **state)
{
	uint16_t op;

	(void)state;
	for (op = 0; op < CMD_OPCODES; op++) {
		bool unknown = knock(op, 0, 0) == WHY_OPCODE_UNKNOWN;

		if (unknown != !find(op))
			fail_msg("opcode 0x%x is %s", op, unknown ? "unknown" : "unexpected");
	}
}

static void every_row_is_whole(void **state)
{
	size_t i;

	(void)state;
	FOR_EACH(i) {
		const struct cmd_desc *d = cmd_desc_find(core.hca, expected[i].opcode);
		bool unlisted = d->opcode == OP_RTS2SQD_QP || d->opcode == OP_SQD2SQD_QP ||
				d->opcode == MLX5_CMD_OP_SQD_RTS_QP;

		assert_ptr_equal(cmd_desc_by_name(core.hca, d->name), d);
		assert_non_null(d->handler);
		assert_true(d->in_min >= 16 && d->out_min > SHORT_OUT);
		expect(&expected[i], "structures", d->in && d->out, !unlisted);
		if (unlisted)
			continue;
		assert_non_null(ifc_struct_find(d->in));
		assert_non_null(ifc_struct_find(d->out));
		assert_in_range(d->in_min, 16, ifc_struct_find(d->in)->bits / 8);
		assert_in_range(d->out_min, SHORT_OUT + 1, ifc_struct_find(d->out)->bits / 8);
	}
}

static void an_opcode_has_one_row(void **state)
{
	(void)state;
	assert_int_equal(cmd_register(core.hca, dev_cmds), -EEXIST);
}

/* Only a command that this state of the HCA accepts gets as far as the check of its user id. */
static void check_state(enum hca_life life)
{
	size_t i;

	core.hca->life = life;
	FOR_EACH(i) {
		const struct expected *e = &expected[i];
		bool accepted = life == LIFE_RESET ? e->when == BEFORE_ENABLE :
				life == LIFE_ENABLED ? e->when == EARLY : e->when != BEFORE_ENABLE;
		uint32_t why = knock(e->opcode, 0, NO_UID);

		expect(e, "accepted", why == WHY_UID_UNKNOWN, accepted);
		expect(e, "refused in this state", why == WHY_HCA_STATE, !accepted);
	}
}

static void every_command_has_its_states(void **state)
{
	(void)state;
	check_state(LIFE_RESET);
	check_state(LIFE_ENABLED);
	check_state(LIFE_INIT);
}

static void every_command_exists_in_its_versions(void **state)
{
	size_t i;

	(void)state;
	FOR_EACH(i) {
		const struct expected *e = &expected[i];

		core.hca->issi = 0;
		expect(e, "legacy in ISSI 0", knock(e->opcode, 0, NO_UID) == WHY_ISSI_LEGACY,
		       false);
		core.hca->issi = 1;
		expect(e, "legacy in ISSI 1", knock(e->opcode, 0, NO_UID) == WHY_ISSI_LEGACY,
		       e->legacy);
	}
}

static uint16_t create_uctx(uint32_t cap)
{
	memset(in, 0, sizeof(in));
	IFC_SET(create_uctx_in, in, opcode, MLX5_CMD_OP_CREATE_UCTX);
	IFC_SET(create_uctx_in, in, uctx.cap, cap);
	assert_int_equal(core_cmd(in, IFC_SZ(create_uctx_in), out, 16), ST_OK);
	return IFC_GET(create_uctx_out, out, uid);
}

/* Leaves out ENABLE_HCA: the HCA accepts it only in a state in which there are no user ids. */
static void each_command_is_the_kernels_or_everyones(void **state)
{
	uint16_t plain = create_uctx(0), raw = create_uctx(MLX5_UCTX_CAP_RAW_TX);
	size_t i;

	(void)state;
	FOR_EACH(i) {
		const struct expected *e = &expected[i];
		bool kernels = e->who == KERNEL || e->who == KERNEL_SHARED;
		uint32_t why;

		if (e->when == BEFORE_ENABLE)
			continue;
		why = knock(e->opcode, e->first, 0);
		expect(e, "the kernel's", why == WHY_INPUT_LENGTH || why == WHY_OUTPUT_LENGTH,
		       true);
		why = knock(e->opcode, e->first, plain);
		expect(e, "the kernel's alone", why == WHY_UCTX_KERNEL_COMMAND, kernels);
		expect(e, "for raw packets", why == WHY_UCTX_NO_RAW_TX, e->who == RAW_TX);
		why = knock(e->opcode, e->first, raw);
		expect(e, "refused to a capable user", why == WHY_UCTX_NO_RAW_TX, false);
		expect(e, "the kernel's alone", why == WHY_UCTX_KERNEL_COMMAND, kernels);
		why = knock(e->opcode, e->first, SHARED_UID);
		expect(e, "shared", why != WHY_UID_UNKNOWN,
		       e->who == ANYONE_SHARED || e->who == KERNEL_SHARED);
	}
}

static void every_command_checks_its_op_mod(void **state)
{
	size_t i, k;

	(void)state;
	FOR_EACH(i) {
		const struct expected *e = &expected[i];
		const uint16_t mods[] = { 0, 1, 2, 3, 4, e->first, e->last, e->last + 1, 0x8000,
					  UINT16_MAX };

		if (e->when == BEFORE_ENABLE)
			core.hca->life = LIFE_RESET;
		for (k = 0; k < ARRAY_SIZE(mods); k++)
			expect(e, "op_mod refused", knock(e->opcode, mods[k], 0) == WHY_OP_MOD,
			       mods[k] < e->first || mods[k] > e->last);
		core.hca->life = LIFE_INIT;
	}
}

/* Leaves out inputs of 15 bytes: the command interface does not deliver them. */
static void every_command_checks_its_lengths(void **state)
{
	size_t i;

	(void)state;
	FOR_EACH(i) {
		const struct expected *e = &expected[i];
		const struct cmd_desc *d = cmd_desc_find(core.hca, e->opcode);

		if (e->when == BEFORE_ENABLE)
			core.hca->life = LIFE_RESET;
		if (d->in_min > 16)
			expect(e, "short input refused",
			       send(e->opcode, e->first, 0, d->in_min - 1, d->out_min) ==
			       WHY_INPUT_LENGTH, true);
		expect(e, "short output refused",
		       send(e->opcode, e->first, 0, d->in_min, d->out_min - 1) ==
		       WHY_OUTPUT_LENGTH, true);
		core.hca->life = LIFE_INIT;
	}
}

static int setup(void **state)
{
	core_board = core_eth ? &hca_eth_board : &hca_board;
	return core_up_init(state);
}

static int eth_port(void **state)
{
	(void)state;
	core_eth = true;
	return 0;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_opcode_is_expected_or_unknown), T(every_row_is_whole),
		T(an_opcode_has_one_row),
		T(every_command_has_its_states),
		T(every_command_exists_in_its_versions),
		T(each_command_is_the_kernels_or_everyones),
		T(every_command_checks_its_op_mod), T(every_command_checks_its_lengths),
	};

	return cmocka_run_group_tests_name("commands", tests, NULL, NULL) ||
	       cmocka_run_group_tests_name("commands of an Ethernet port", tests, eth_port, NULL);
}
