// SPDX-License-Identifier: GPL-2.0
/*
 * What the trace tells of commands, doorbells, event queues and resets: the members of each event.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "count.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "iseg.h"
#include "mailbox.h"
#include "mem.h"
#include "pci.h"
#include "profile.h"
#include "refusal.h"
#include "trace.h"
#include "tracerig.h"
#include "uar.h"

#define EQ_PA		CORE_FREE
#define EQ_LOG		6
#define TEXT_LEN	64		/* of SET_DRIVER_VERSION */

static uint8_t in[256], out[16];
static struct trace *trace;
static uint32_t uar;

static int up(void **state)
{
	if (core_up_init(state))
		return -1;
	uar = core_alloc_uar();
	trace = core.hca->trace;
	trace_ring(trace, true);
	return uar ? 0 : -1;
}

static bool last_event_has(const char *text)
{
	char *dump = trace_dump(trace, 1);
	bool found = strstr(dump, text);

	if (!found)
		fprintf(stderr, "%s\n", dump);
	free(dump);
	return found;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void report_version(const char *text)
{
	memset(in, 0, sizeof(in));
	IFC_SET(set_driver_version_in, in, opcode, MLX5_CMD_OP_SET_DRIVER_VERSION);
	memcpy(IFC_ADDR(set_driver_version_in, in, driver_version), text, TEXT_LEN);
	assert_int_equal(core_cmd(in, IFC_SZ(set_driver_version_in), out, 16), ST_OK);
}

/* The text may fill its field. A character that cannot be in a string of JSON is replaced. */
static void driver_version_is_a_text(void **state)
{
	char text[TEXT_LEN + 1] = {}, said[TEXT_LEN + 1];

	(void)state;
	memset(text, 'x', TEXT_LEN);
	text[TEXT_LEN - 1] = 'y';
	report_version(text);
	expect_traced(trace, "driver_version", "\"version\":\"%s\"", text);
	text[0] = 1;
	text[1] = '"';
	text[2] = '\\';
	text[TEXT_LEN - 1] = 0x7f;
	memcpy(said, text, sizeof(said));
	memset(said, '?', 3);
	said[TEXT_LEN - 1] = '?';
	report_version(text);
	expect_traced(trace, "driver_version", "\"version\":\"%s\"", said);
}

static void put_nop(unsigned int slot)
{
	memset(in, 0, sizeof(in));
	IFC_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_NOP);
	core_put(slot, in, 16, 16)[LAY_TYPE] ^= slot == 6;
}

static void commands_have_their_slots(void **state)
{
	unsigned int i;

	(void)state;
	core_ring(1 << 5);
	expect_traced(trace, "cmd_drop", "\"slot\":5");
	put_nop(6);
	core_ring(1 << 6);
	expect_traced(trace, "cmd_undelivered", "\"slot\":6,\"delivery\":%u",
		      core_take(6, out, 16));
	assert_int_not_equal(core_take(6, out, 16), DL_OK);
	inject_set_cmd_delay(core.hca->inject, 0, 1, 1);
	put_nop(7);
	core_ring(1 << 7);
	assert_true(last_event_has("\"op\":\"NOP\""));
	assert_true(last_event_has("\"op_mod\":0,\"uid\":0,\"slot\":7,"));
	for (i = 0; i < 1000 && core_take(7, out, 16) == CORE_NOT_DONE; i++)
		event_base_loop(core.base, EVLOOP_ONCE);
	expect_traced(trace, "cmd_answer", "\"slot\":7");
}

/* A refusal has the number and the name of the check, and says why in words. */
static void refused_command_has_its_check(void **state)
{
	char want[80];

	(void)state;
	memset(in, 0, sizeof(in));
	IFC_SET(dealloc_uar_in, in, opcode, MLX5_CMD_OP_DEALLOC_UAR);
	IFC_SET(dealloc_uar_in, in, op_mod, 3);
	IFC_SET(dealloc_uar_in, in, uar, uar);
	assert_int_not_equal(core_cmd(in, 16, out, 16), ST_OK);
	snprintf(want, sizeof(want), "\"status\":%u,\"syndrome\":\"0x%04x\",\"refusal\":\"%s\"",
		 out[0], get_be32(out + 4), refusal_name(get_be32(out + 4)));
	assert_true(last_event_has(want));
	assert_true(last_event_has("\"opcode\":\"0x803\",\"op_mod\":3,\"uid\":0,\"slot\":0,"));
	snprintf(want, sizeof(want), "\"in\":{\"opcode\":2051,\"op_mod\":3,\"uar\":%u}", uar);
	assert_true(last_event_has(want));
}

/* ---- doorbells ------------------------------------------------------------------------------- */

static void doorbells_have_their_register_and_wqe(void **state)
{
	uint8_t b[32] = {};

	(void)state;
	put_be32(b, 5 << 8 | 0x0a);
	put_be32(b + 4, 0x44 << 8 | 2);
	pci_bar_write(core.hca, 0, uar * 4096ull + 0xa00, b, 8);
	uar_idle(core.hca);
	expect_traced(trace, "doorbell",
		      "\"uar\":%u,\"reg\":\"send\",\"bf\":1,\"qpn\":68,\"idx\":5", uar);
	put_be32(b, 0xfffe << 8 | 0x0a);
	pci_bar_write(core.hca, 0, uar * 4096ull + 0x800, b, 32);
	expect_traced(trace, "doorbell",
		      "\"uar\":%u,\"reg\":\"blueflame\",\"bf\":0,\"qpn\":68,\"idx\":65534", uar);
	pci_bar_write(core.hca, 0, uar * 4096ull + 0x80c, b, 4);
	expect_traced(trace, "doorbell_drop", "\"why\":\"%s\",\"uar\":%u,\"num\":%u",
		      drop_reason_name(DROP_BAD_OFFSET), uar, 0x80c);
}

/* ---- event queues ---------------------------------------------------------------------------- */

static void events_and_their_loss_have_the_queue(void **state)
{
	static const uint8_t data[28];
	unsigned int i;
	uint8_t b[4];
	uint32_t eqn;

	(void)state;
	assert_int_equal(core_create_eq(uar, EQ_LOG, EQ_PA, 1 << EV_PORT_CHANGE, 3, &eqn), ST_OK);
	eq_post_async(core.hca, EV_PORT_CHANGE, 4, data);
	expect_traced(trace, "eqe", "\"eqn\":%u,\"event\":9,\"subtype\":4,\"irq\":false", eqn);
	put_be32(b, eqn << 24 | 1);
	pci_bar_write(core.hca, 0, uar * 4096ull + 0x40, b, 4);		/* arm */
	eq_post_async(core.hca, EV_PORT_CHANGE, 1, data);
	expect_traced(trace, "eqe", "\"eqn\":%u,\"event\":9,\"subtype\":1,\"irq\":true", eqn);
	for (i = 0; i < 1 << EQ_LOG; i++)
		eq_post_async(core.hca, EV_PORT_CHANGE, 4, data);
	expect_traced(trace, "eq_overrun", "\"eqn\":%u,\"event\":9", eqn);
}

/* An event queue whose memory is not mapped any more fails, and takes no events from then on. */
static void queue_without_memory_fails(void **state)
{
	static const uint8_t data[28];
	struct eq *eq;
	uint32_t eqn;

	(void)state;
	assert_int_equal(core_create_eq(uar, EQ_LOG, EQ_PA, 1 << EV_PORT_CHANGE, 3, &eqn), ST_OK);
	eq = eq_find(core.hca, eqn);
	eq->mem.pas[0] = CORE_RAM;
	eq_post_async(core.hca, EV_PORT_CHANGE, 4, data);
	expect_traced(trace, "eq_error", "\"eqn\":%u", eqn);
	eq->mem.pas[0] = EQ_PA;
	memset(core.ram + EQ_PA, 0xff, 64);
	eq_post_async(core.hca, EV_PORT_CHANGE, 4, data);
	assert_int_equal(core.ram[EQ_PA + 63], 0xff);
	assert_int_equal(eq->lost, 0);
}

/* ---- the HCA --------------------------------------------------------------------------------- */

static void failures_and_resets_are_told(void **state)
{
	(void)state;
	iseg_set_fatal(core.hca, 2, 0x77);
	expect_traced(trace, "fatal", "\"synd\":2,\"ext_synd\":119");
	hca_reset(core.hca);
	expect_traced(trace, "reset", "\"index\":0");
	core_reg_write(0x10, 1);
	core_reg_write(0x14, 0x3000 | 1 << 8);
	expect_traced(trace, "cmdq", "\"addr\":\"0x100003000\",\"nic_ifc\":1");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(driver_version_is_a_text), T(commands_have_their_slots),
		T(refused_command_has_its_check),
		T(doorbells_have_their_register_and_wqe), T(events_and_their_loss_have_the_queue),
		T(queue_without_memory_fails), T(failures_and_resets_are_told),
	};

	return cmocka_run_group_tests_name("pci trace", tests, NULL, NULL);
}
