// SPDX-License-Identifier: GPL-2.0
/*
 * UAR pages: which doorbells are accepted, plain and BlueFlame doorbells put together from stores
 * of 4 and 8 bytes, event queues and their interrupts.
 */
#include <event2/event.h>
#include <string.h>

#include "caps.h"
#include "clock.h"
#include "cmd.h"
#include "corerig.h"
#include "count.h"
#include "eq.h"
#include "expect.h"
#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "mem.h"
#include "object.h"
#include "pci.h"
#include "profile.h"
#include "qp.h"
#include "uar.h"
#include "util.h"

/* ---- the recorder of send doorbells ---------------------------------------------------------- */

static struct {
	unsigned int n;
	uint32_t uar;
	uint8_t bf[256];
	size_t len;
} sent;

static struct {
	unsigned int n;
	uint32_t uar;
	uint64_t val;
} armed;

static void record_send(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t bf_len)
{
	(void)hca;
	sent.n++;
	sent.uar = uar;
	sent.len = bf_len;
	memcpy(sent.bf, bf, bf_len);
}

static void record_arm(struct hca *hca, uint32_t uar, uint64_t val)
{
	(void)hca;
	armed.n++;
	armed.uar = uar;
	armed.val = val;
}

static uint32_t uar;

static int up(void **state)
{
	memset(&sent, 0, sizeof(sent));
	memset(&armed, 0, sizeof(armed));
	if (core_up_init(state))
		return -1;
	core_doorbells.send = record_send;
	core_doorbells.cq_arm = record_arm;
	uar = core_alloc_uar();
	return uar ? 0 : -1;
}

static void store(uint32_t page, uint32_t reg, const void *data, uint32_t len)
{
	pci_bar_write(core.hca, 0, page * 4096ull + reg, data, len);
}

/* A WQE of @ds 16-byte units whose other bytes count up. */
static void wqe(uint8_t *b, size_t len, unsigned int ds)
{
	size_t i;

	for (i = 0; i < len; i++)
		b[i] = i;
	put_be32(b, 5 << 8 | 0x0a);
	put_be32(b + 4, 0x44 << 8 | ds);
}

static uint64_t drops(enum drop_reason why)
{
	return core.hca->count.db_drop[why];
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void plain_doorbell_after_idle(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 3);
	store(uar, 0x800, b, 8);
	assert_int_equal(sent.n, 0);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
	assert_int_equal(sent.uar, uar);
	assert_memory_equal(sent.bf, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
}

static void two_halves_make_a_doorbell(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 3);
	store(uar, 0xa00, b, 4);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 0);
	store(uar, 0xa04, b + 4, 4);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	assert_memory_equal(sent.bf, b, 8);
}

static void blueflame_is_delivered_whole(void **state)
{
	uint8_t b[64];
	unsigned int i;

	(void)state;
	wqe(b, 64, 3);
	for (i = 0; i < 48; i += 8) {
		assert_int_equal(sent.n, 0);
		store(uar, 0x800 + i, b + i, 8);
	}
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 48);
	assert_memory_equal(sent.bf, b, 48);
	for (; i < 64; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	assert_int_equal(drops(DROP_BAD_OFFSET), 0);
}

static void both_buffers_of_all_registers(void **state)
{
	uint8_t b[32];
	unsigned int reg, buf;

	(void)state;
	wqe(b, 32, 2);
	for (reg = 0; reg < 4; reg++)
		for (buf = 0; buf < 2; buf++)
			store(uar, 0x800 + 512 * reg + 256 * buf, b, 32);
	assert_int_equal(sent.n, 8);
	assert_int_equal(sent.len, 32);
}

static void largest_wqe_fills_the_buffer(void **state)
{
	uint8_t b[256];

	(void)state;
	wqe(b, 256, 16);
	store(uar, 0x900, b, 256);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 256);
	assert_memory_equal(sent.bf, b, 256);
}

static void wqe_longer_than_the_buffer_is_a_plain_doorbell(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 17);
	store(uar, 0x800, b, 8);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
}

static void rest_after_idle_is_ignored(void **state)
{
	uint8_t b[64];
	unsigned int i;

	(void)state;
	wqe(b, 64, 4);
	store(uar, 0x800, b, 8);
	uar_idle(core.hca);
	for (i = 8; i < 64; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	assert_int_equal(drops(DROP_BAD_OFFSET), 0);
}

/*
 * The HCA does not wait for more bytes at a register that gets plain doorbells, until it sees a
 * BlueFlame write there.
 */
static void register_with_plain_doorbells_is_not_waited_for(void **state)
{
	uint8_t b[64];
	unsigned int i;

	(void)state;
	wqe(b, 64, 4);
	store(uar, 0x800, b, 8);
	uar_idle(core.hca);
	store(uar, 0x800, b, 8);
	assert_int_equal(sent.n, 2);
	for (i = 8; i < 64; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	assert_int_equal(sent.n, 2);
	for (i = 0; i < 64; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	assert_int_equal(sent.n, 3);
	assert_int_equal(sent.len, 64);
	assert_int_equal(drops(DROP_BAD_OFFSET), 0);
}

/* A processor that does not combine stores sends them one by one: the first is a doorbell. */
static void stores_that_are_not_combined_are_doorbells(void **state)
{
	struct profile *p = (struct profile *)core.hca->profile;
	uint8_t b[64];
	unsigned int i;

	(void)state;
	p->no_write_combining = true;
	wqe(b, 64, 4);
	for (i = 0; i < 64; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	p->no_write_combining = false;
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
}

static void stores_of_two_cpus_interleave(void **state)
{
	uint8_t a[32], b[32];
	unsigned int i;

	(void)state;
	wqe(a, 32, 2);
	wqe(b, 32, 2);
	b[31] = 0xee;
	for (i = 0; i < 32; i += 8) {
		store(uar, 0x800 + i, a + i, 8);
		store(uar, 0xa00 + i, b + i, 8);
	}
	assert_int_equal(sent.n, 2);
	assert_int_equal(sent.len, 32);
	assert_memory_equal(sent.bf, b, 32);
}

static void new_wqe_delivers_the_previous_one(void **state)
{
	uint8_t b[16];

	(void)state;
	wqe(b, 16, 4);
	store(uar, 0x800, b, 16);
	b[1] = 9;
	store(uar, 0x800, b, 8);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 2);
	assert_int_equal(sent.bf[1], 9);
}

static void half_a_doorbell_is_none(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 1);
	store(uar, 0x800, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	store(uar, 0x800, b, 4);
	uar_idle(core.hca);
	assert_int_equal(drops(DROP_BAD_SIZE), 0);
	store(uar, 0x900, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 2);
	assert_int_equal(drops(DROP_BAD_SIZE), 1);
}

static void doorbell_of_two_halves_is_delivered(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 1);
	store(uar, 0x800, b, 4);
	uar_idle(core.hca);
	store(uar, 0x804, b + 4, 4);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 1);
	assert_memory_equal(sent.bf, b, 8);
}

static void store_after_a_gap_is_dropped(void **state)
{
	uint8_t b[64];

	(void)state;
	wqe(b, 64, 4);
	store(uar, 0x800, b, 8);
	store(uar, 0x810, b + 16, 8);
	assert_int_equal(drops(DROP_BAD_OFFSET), 1);
	uar_idle(core.hca);
	assert_int_equal(sent.len, 8);
}

/* Bursts of all lengths, up to the buffer's, without padding to 64 bytes. */
static void bursts_of_all_lengths_are_delivered_whole(void **state)
{
	unsigned int ds, i;
	uint8_t b[256];

	(void)state;
	for (ds = 1; ds <= 16; ds++) {
		wqe(b, sizeof(b), ds);
		for (i = 0; i < 16 * ds; i += 8)
			store(uar, 0x800 + (ds % 2) * 256 + i, b + i, 8);
		assert_int_equal(sent.n, ds);
		assert_int_equal(sent.len, 16 * ds);
		assert_memory_equal(sent.bf, b, 16 * ds);
	}
	assert_int_equal(core.hca->count.bf_same_buffer, 0);
}

/* If no other store arrives, a timer ends the burst. */
static void timer_ends_a_burst(void **state)
{
	uint64_t end = clock_now_ns() + 10000000000ull;
	uint8_t b[16];

	(void)state;
	wqe(b, 16, 4);
	store(uar, 0x800, b, 8);
	assert_int_equal(sent.n, 0);
	while (!sent.n && clock_now_ns() < end)
		event_base_loop(core.base, EVLOOP_NONBLOCK);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
}

static void device_without_blueflame_takes_doorbells_only(void **state)
{
	uint8_t b[32];
	unsigned int i;

	(void)state;
	IFC_SET(cmd_hca_cap, core.hca->cap[CAP_GENERAL], bf, 0);
	wqe(b, 32, 2);
	for (i = 0; i < 32; i += 8)
		store(uar, 0x800 + i, b + i, 8);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
	assert_int_equal(drops(DROP_NO_BLUEFLAME), 3);
}

/* A driver has to write to the two buffers of a register in turn, also for a plain doorbell. */
static void buffers_alternate(void **state)
{
	static const struct { uint32_t reg; unsigned int ds, bad; } t[] = {
		{ 0x800, 2, 0 }, { 0x900, 2, 0 }, { 0x800, 2, 0 }, { 0x800, 2, 1 },
		{ 0xa00, 2, 1 }, { 0x900, 17, 1 }, { 0x900, 2, 2 }, { 0x800, 17, 2 },
		{ 0x900, 2, 2 }, { 0xb00, 2, 2 }, { 0xb00, 2, 3 },
	};
	unsigned int i;
	uint8_t b[32];

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		wqe(b, 32, t[i].ds);
		store(uar, t[i].reg, b, t[i].ds > 2 ? 8 : 32);
		assert_int_equal(sent.n, i + 1);
		assert_int_equal(core.hca->count.bf_same_buffer, t[i].bad);
	}
}

/* The first burst of a register is over when the second begins in the other buffer. */
static void other_buffer_ends_a_burst(void **state)
{
	uint8_t b[32];

	(void)state;
	wqe(b, 32, 2);
	store(uar, 0x800, b, 16);
	b[1] = 9;
	store(uar, 0x900, b, 8);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
	assert_int_equal(sent.bf[1], 0);
}

static void more_buffers_than_the_hca_tracks(void **state)
{
	uint32_t page[65];
	uint8_t b[8];
	unsigned int i;

	(void)state;
	wqe(b, 8, 4);
	for (i = 0; i < 65; i++)
		page[i] = core_alloc_uar();
	for (i = 0; i < 65; i++)
		store(page[i], 0x800, b, 8);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.uar, page[0]);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 65);
}

static void unallocated_page_has_no_doorbells(void **state)
{
	uint8_t b[8];

	(void)state;
	wqe(b, 8, 1);
	store(uar + 1, 0x800, b, 8);
	store(8000, 0x20, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n + armed.n, 0);
	assert_int_equal(drops(DROP_NO_UAR), 2);
}

static void freed_page_has_no_doorbells(void **state)
{
	uint8_t in[16] = { 0 }, out[16], b[8];

	(void)state;
	IFC_SET(dealloc_uar_in, in, opcode, MLX5_CMD_OP_DEALLOC_UAR);
	IFC_SET(dealloc_uar_in, in, uar, uar);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	wqe(b, 8, 1);
	store(uar, 0x800, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 0);
	assert_int_equal(drops(DROP_NO_UAR), 1);
}

static void stores_of_invalid_size_or_offset_are_dropped(void **state)
{
	uint8_t b[8] = { 0 };

	(void)state;
	store(uar, 0x800, b, 2);
	store(uar, 0x802, b, 4);
	store(uar, 0x804, b, 8);
	store(uar, 0x40, b, 8);
	assert_int_equal(drops(DROP_BAD_SIZE), 4);
	store(uar, 0x00, b, 8);
	store(uar, 0x30, b, 4);
	store(uar, 0x7f8, b, 8);
	assert_int_equal(drops(DROP_BAD_OFFSET), 3);
	assert_int_equal(sent.n + armed.n, 0);
}

static void cq_arm_in_one_and_two_stores(void **state)
{
	uint8_t b[8];

	(void)state;
	put_be64(b, 0x1122334455667788);
	store(uar, 0x20, b, 8);
	assert_int_equal(armed.n, 1);
	assert_int_equal(armed.uar, uar);
	assert_int_equal(armed.val, 0x1122334455667788);
	put_be64(b, 0x99aabbccddeeff00);
	store(uar, 0x20, b, 4);
	assert_int_equal(armed.n, 1);
	store(uar, 0x24, b + 4, 4);
	assert_int_equal(armed.n, 2);
	assert_int_equal(armed.val, 0x99aabbccddeeff00);
	store(uar, 0x24, b + 4, 4);
	assert_int_equal(armed.n, 2);
	assert_int_equal(drops(DROP_BAD_SIZE), 1);
}

static void uars_run_out(void **state)
{
	uint8_t out[16];
	unsigned int n = 1;

	(void)state;
	while (core_alloc_uar())
		n++;
	assert_int_equal(n, core.profile->range[OBJ_UAR].limit -
			    core.profile->range[OBJ_UAR].first);
	assert_refused(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_LIM, WHY_NUMBERS_IN_USE);
}

/* A processor writes out what it has combined before it reads. */
static void read_of_a_page_ends_the_bursts(void **state)
{
	uint8_t b[16];

	(void)state;
	wqe(b, 16, 2);
	store(uar, 0x800, b, 16);
	assert_int_equal(sent.n, 0);
	assert_int_equal(core_reg_read(ISEG_SIZE), 0);
	assert_int_equal(sent.n, 1);
	assert_int_equal(sent.len, 8);
}

static void pages_read_as_zero(void **state)
{
	(void)state;
	assert_int_equal(core_reg_read(uar * 4096 + 0x800), 0);
}

static void reads_give_ones_without_memory_decoding(void **state)
{
	const uint8_t off[2] = { 0, 0 };
	uint8_t b[8];

	(void)state;
	pci_config_write(core.hca, 4, off, 2);
	assert_int_equal(core_reg_read(0), 0xffffffff);
	wqe(b, 8, 1);
	store(uar, 0x800, b, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 0);
}

/* ---- event queues ---------------------------------------------------------------------------- */

#define EQ_LOG	6
#define EQ_PA	CORE_FREE
#define PORT_CHANGE 9

static uint32_t eqn;

static int up_eq(void **state)
{
	if (up(state))
		return -1;
	memset(core.ram + EQ_PA, 0xff, 64 << EQ_LOG);
	return core_create_eq(uar, EQ_LOG, EQ_PA, 1 << PORT_CHANGE, 3, &eqn) ? -1 : 0;
}

static void eq_db(uint32_t page, uint32_t ci, bool arm)
{
	uint8_t b[4];

	put_be32(b, eqn << 24 | ci);
	store(page, arm ? 0x40 : 0x48, b, 4);
}

static void post(uint8_t subtype)
{
	uint8_t data[28] = { [8] = 1 << 4 };

	eq_post_async(core.hca, PORT_CHANGE, subtype, data);
}

static const uint8_t *eqe(unsigned int i)
{
	return core.ram + EQ_PA + 64 * (i % (1 << EQ_LOG));
}

static void eqe_layout_and_owner(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < (1 << EQ_LOG) + 1; i++) {
		post(i);
		assert_int_equal(eqe(i)[1], PORT_CHANGE);
		assert_int_equal(eqe(i)[3], i);
		assert_int_equal(eqe(i)[32 + 8], 0x10);
		assert_int_equal(eqe(i)[63], i >> EQ_LOG);
		eq_db(uar, i + 1, false);
	}
	assert_int_equal(core.hca->count.eqes, (1 << EQ_LOG) + 1);
	assert_int_equal(core.hca->count.db_eq, (1 << EQ_LOG) + 1);
}

static void interrupt_once_for_each_arming(void **state)
{
	uint64_t irqs = core.hca->count.irqs;

	(void)state;
	post(1);
	assert_int_equal(core.hca->count.irqs, irqs);
	eq_db(uar, 0, true);			/* an event is there already */
	assert_int_equal(core.hca->count.irqs, irqs + 1);
	post(2);
	assert_int_equal(core.hca->count.irqs, irqs + 1);
	eq_db(uar, 2, true);
	assert_int_equal(core.hca->count.irqs, irqs + 1);
	post(3);
	assert_int_equal(core.hca->count.irqs, irqs + 2);
	post(4);
	assert_int_equal(core.hca->count.irqs, irqs + 2);
}

static void only_subscribed_events(void **state)
{
	uint8_t data[28] = { 0 };

	(void)state;
	eq_post_async(core.hca, 5, 0, data);
	assert_int_equal(eqe(0)[63], 0xff);
	/* A completion event goes to the queue that the CQ names. */
	eq_post(core.hca, eqn, 0, 0, data);
	assert_int_equal(eqe(0)[63], 0);
}

static void full_queue_loses_events(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < (1 << EQ_LOG) + 5; i++)
		post(i);
	assert_int_equal(eqe(0)[3], 0);
	assert_int_equal(eq_find(core.hca, eqn)->lost, 5);
	assert_int_equal(core.hca->count.eqes_lost, 5);
	assert_int_equal(expect_unexpected(core.hca->expect, 0)->kind, INCIDENT_OVERRUN);
	assert_int_equal(expect_unexpected(core.hca->expect, 0)->count, 5);
}

static void doorbell_on_another_page_is_dropped(void **state)
{
	uint32_t other = core_alloc_uar();

	(void)state;
	eq_db(other, 0, true);
	assert_int_equal(drops(DROP_WRONG_UAR), 1);
	assert_false(eq_find(core.hca, eqn)->armed);
	eqn++;
	eq_db(uar, 0, true);
	assert_int_equal(drops(DROP_NO_EQ), 1);
}

static void create_eq_refuses_invalid_contexts(void **state)
{
	uint32_t n;

	(void)state;
	assert_refused(core_create_eq(uar + 7, EQ_LOG, EQ_PA, 0, 0, &n), ST_BAD_RES,
		       WHY_OBJECT_UNKNOWN);
	assert_refused(core_create_eq(uar, EQ_LOG, EQ_PA + 8, 0, 0, &n), ST_BAD_PARAM,
		       WHY_QUEUE_PAGE_ADDRESS);
	assert_refused(core_create_eq(uar, EQ_LOG, CORE_RAM, 0, 0, &n), ST_BAD_PARAM,
		       WHY_QUEUE_PAGE_ADDRESS);
	assert_refused(core_create_eq(uar, EQ_LOG, EQ_PA, 0, 32, &n), ST_BAD_PARAM, WHY_EQ_VECTOR);
	assert_refused(core_create_eq(uar, 23, EQ_PA, 0, 0, &n), ST_BAD_PARAM, WHY_EQ_SIZE);
	assert_int_equal(obj_count(core.hca, OBJ_EQ), 1);
}

/* Build in @in a CREATE_EQ that succeeds. Returns its context. */
static uint8_t *valid_eq(uint8_t *in)
{
	uint8_t *c = IFC_ADDR(create_eq_in, in, eq_context_entry);

	memset(in, 0, IFC_SZ(create_eq_in) + 8);
	IFC_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
	IFC_SET(eqc, c, log_eq_size, EQ_LOG);
	IFC_SET(eqc, c, uar_page, uar);
	put_be64(in + IFC_SZ(create_eq_in), EQ_PA + 4096);
	return c;
}

static uint8_t create_eq(uint8_t *in, uint32_t *num)
{
	uint8_t out[16];
	uint8_t st = core_cmd(in, IFC_SZ(create_eq_in) + 8, out, 16);

	*num = IFC_GET(create_eq_out, out, eq_number);
	return st;
}

/* CREATE_EQ is refused if it sets status or counters, and then takes no reference to the UAR. */
static void eq_that_is_not_made_holds_nothing(void **state)
{
	uint8_t in[IFC_SZ(create_eq_in) + 8], destroy[16] = { 0 }, *c;
	struct obj *page = obj_find(core.hca, OBJ_UAR, uar);
	unsigned int refs = page->refs;
	uint32_t num;

	(void)state;
	c = valid_eq(in);
	IFC_SET(eqc, c, status, 1);
	assert_refused(create_eq(in, &num), ST_BAD_PARAM, WHY_EQ_RESERVED_FIELD);
	c = valid_eq(in);
	IFC_SET(eqc, c, consumer_counter, 1);
	assert_refused(create_eq(in, &num), ST_BAD_PARAM, WHY_EQ_RESERVED_FIELD);
	c = valid_eq(in);
	IFC_SET(eqc, c, producer_counter, 1);
	assert_refused(create_eq(in, &num), ST_BAD_PARAM, WHY_EQ_RESERVED_FIELD);
	valid_eq(in);
	put_be64(in + IFC_SZ(create_eq_in), CORE_RAM);
	assert_refused(create_eq(in, &num), ST_BAD_PARAM, WHY_QUEUE_PAGE_ADDRESS);
	assert_int_equal(page->refs, refs);
	core.hca->profile->range[OBJ_EQ].limit = core.hca->profile->range[OBJ_EQ].first + 1;
	valid_eq(in);
	assert_refused(create_eq(in, &num), ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(page->refs, refs);
	core.hca->profile->range[OBJ_EQ].limit++;
	assert_int_equal(create_eq(in, &num), ST_OK);
	assert_int_equal(page->refs, refs + 1);
	IFC_SET(destroy_eq_in, destroy, opcode, MLX5_CMD_OP_DESTROY_EQ);
	IFC_SET(destroy_eq_in, destroy, eq_number, num);
	assert_int_equal(core_cmd(destroy, 16, in, 16), ST_OK);
	assert_int_equal(page->refs, refs);
}

/* Each of the 256 types has a bit; the bit of completions is ignored. */
static void every_type_can_be_subscribed(void **state)
{
	uint8_t in[IFC_SZ(create_eq_in) + 8], data[28] = { 0 };
	static const uint8_t types[] = { 1, 63, 64, 127, 128, 191, 192, 255 };
	struct eq *eq;
	unsigned int i, k;
	uint32_t num;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		valid_eq(in);
		IFC_SET64(create_eq_in, in, event_bitmask[types[i] / 64], 1ull << types[i] % 64);
		assert_int_equal(create_eq(in, &num), ST_OK);
		eq = eq_find(core.hca, num);
		for (k = 0; k < ARRAY_SIZE(types); k++) {
			eq->pi = 0;
			eq_post_async(core.hca, types[k], 0, data);
			assert_int_equal(eq->pi, i == k);
			assert_int_equal(eq_subscribed(core.hca, types[k]), k <= i);
		}
	}
	assert_false(eq_subscribed(core.hca, 2));
	valid_eq(in);
	IFC_SET64(create_eq_in, in, event_bitmask[0], 1);
	assert_int_equal(create_eq(in, &num), ST_OK);
	eq_post_async(core.hca, 0, 0, data);
	assert_int_equal(eq_find(core.hca, num)->pi, 0);
}

static void eqe_is_signed(void **state)
{
	uint8_t x = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < 1 << EQ_LOG; i++)
		post(i);
	eq_db(uar, 1 << EQ_LOG, false);
	post(0x5a);			/* with the other owner bit */
	for (i = 0; i < 63; i++)
		x ^= eqe(0)[i];
	assert_int_equal(x, 0xff);
}

static void eq_indices_have_24_bits(void **state)
{
	struct eq *eq = eq_find(core.hca, eqn);
	unsigned int i;

	(void)state;
	eq->pi = 0xffffff;
	eq->ci = 0xffffff;
	for (i = 0; i < (1 << EQ_LOG) + 1; i++)
		post(i);
	assert_int_equal(eqe((1 << EQ_LOG) - 1)[3], 0);
	assert_int_equal(eqe(0)[3], 1);
	assert_int_equal(eqe((1 << EQ_LOG) - 1)[63], 1);
	assert_int_equal(eqe(0)[63], 0);
	assert_int_equal(eq->pi, (1 << EQ_LOG) - 1);
	assert_int_equal(eq->lost, 1);
	/*
	 * The consumer index cannot be ahead of the producer index, nor behind it by more than the
	 * queue's size.
	 */
	eq_db(uar, 0xfffffe, false);
	eq_db(uar, 1 << EQ_LOG, true);
	assert_int_equal(drops(DROP_BAD_STATE), 2);
	assert_int_equal(eq->ci, 0xffffff);
	assert_false(eq->armed);
	eq_db(uar, 0xffffff, false);
	eq_db(uar, 0, false);
	assert_int_equal(drops(DROP_BAD_STATE), 2);
	assert_int_equal(eq->ci, 0);
}

static void query(uint8_t *answer)
{
	uint8_t in[16] = { 0 };

	IFC_SET(query_eq_in, in, opcode, MLX5_CMD_OP_QUERY_EQ);
	IFC_SET(query_eq_in, in, eq_number, eqn);
	assert_int_equal(core_cmd(in, 16, answer, IFC_SZ(query_eq_out)), ST_OK);
}

static void query_of_an_unknown_eq_is_refused(void **state)
{
	uint8_t in[16] = { 0 }, out[IFC_SZ(query_eq_out)];

	(void)state;
	IFC_SET(query_eq_in, in, opcode, MLX5_CMD_OP_QUERY_EQ);
	IFC_SET(query_eq_in, in, eq_number, eqn + 1);
	assert_refused(core_cmd(in, 16, out, sizeof(out)), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

static void query_eq_shows_its_state(void **state)
{
	uint8_t out[IFC_SZ(query_eq_out)], *c = IFC_ADDR(query_eq_out, out, eq_context_entry);

	(void)state;
	post(1);
	post(2);
	eq_db(uar, 1, false);
	query(out);
	assert_int_equal(IFC_GET(eqc, c, st), EQ_ST_FIRED);
	assert_int_equal(IFC_GET(eqc, c, producer_counter), 2);
	assert_int_equal(IFC_GET(eqc, c, consumer_counter), 1);
	assert_int_equal(IFC_GET(eqc, c, intr), 3);
	assert_int_equal(IFC_GET(eqc, c, uar_page), uar);
	assert_int_equal(IFC_GET(eqc, c, log_eq_size), EQ_LOG);
	assert_int_equal(IFC_GET(eqc, c, status), EQ_STATUS_OK);
	assert_int_equal(IFC_GET64(query_eq_out, out, event_bitmask), 1 << PORT_CHANGE);
	eq_db(uar, 2, true);
	query(out);
	assert_int_equal(IFC_GET(eqc, c, st), EQ_ST_ARMED);
	mem_unmap_all(core.hca);
	post(3);
	post(4);
	assert_int_equal(eq_find(core.hca, eqn)->status, EQ_STATUS_WRITE_FAIL);
	assert_int_equal(eq_find(core.hca, eqn)->pi, 2);
	assert_true(eq_find(core.hca, eqn)->armed);
	/* Memory that comes back does not repair the queue. */
	assert_int_equal(mem_map_fd(core.hca, 0, CORE_RAM, core.fd, 0, true, true), 0);
	post(5);
	assert_int_equal(eq_find(core.hca, eqn)->pi, 2);
	eqn++;
	assert_null(eq_find(core.hca, eqn));
}

static void overrun_can_be_ignored(void **state)
{
	struct eq *eq = eq_find(core.hca, eqn);
	uint8_t in[IFC_SZ(create_eq_in) + 8], *c;
	unsigned int i;
	uint32_t num;

	(void)state;
	c = valid_eq(in);
	IFC_SET(eqc, c, oi, 1);
	IFC_SET64(create_eq_in, in, event_bitmask[0], 1 << PORT_CHANGE);
	assert_int_equal(create_eq(in, &num), ST_OK);
	for (i = 0; i < (1 << EQ_LOG) + 3; i++)
		post(i);
	assert_int_equal(eq->lost, 3);
	assert_int_equal(eq_find(core.hca, num)->lost, 0);
	assert_int_equal(eq_find(core.hca, num)->pi, (1 << EQ_LOG) + 3);
	core.hca->hung = true;
	post(1);
	eq_post(core.hca, num, PORT_CHANGE, 0, in);
	core.hca->hung = false;
	assert_int_equal(eq_find(core.hca, num)->pi, (1 << EQ_LOG) + 3);
}

static void unmapped_eq_fails_once(void **state)
{
	uint8_t in[16] = { 0 }, out[16];

	(void)state;
	IFC_SET(destroy_eq_in, in, opcode, MLX5_CMD_OP_DESTROY_EQ);
	IFC_SET(destroy_eq_in, in, eq_number, eqn);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	post(1);
	assert_int_equal(eqe(0)[63], 0xff);
}

/* If the profile says so, a UAR cannot be freed before the queues that use it. */
static void busy_uar_is_refused(void **state)
{
	uint8_t in[16] = { 0 }, out[16], eq[16] = { 0 };

	(void)state;
	core.profile->refuse_busy_uars = true;
	IFC_SET(dealloc_uar_in, in, opcode, MLX5_CMD_OP_DEALLOC_UAR);
	IFC_SET(dealloc_uar_in, in, uar, uar);
	IFC_SET(destroy_eq_in, eq, opcode, MLX5_CMD_OP_DESTROY_EQ);
	IFC_SET(destroy_eq_in, eq, eq_number, eqn);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	eq_db(uar, 0, true);
	assert_int_equal(drops(DROP_NO_UAR), 0);
	assert_int_equal(core_cmd(eq, 16, out, 16), ST_OK);
	assert_int_equal(core_cmd(in, 16, out, 16), ST_OK);
	assert_refused(core_cmd(in, 16, out, 16), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
}

static uint8_t destroy(uint16_t opcode, uint32_t num)
{
	uint8_t in[16] = { 0 }, out[16];

	/* All commands that the tests send by this have the number at the offset of DESTROY_QP. */
	IFC_SET(destroy_qp_in, in, opcode, opcode);
	IFC_SET(destroy_qp_in, in, qpn, num);
	return core_cmd(in, sizeof(in), out, sizeof(out));
}

static void uar_of_a_cq_or_qp_is_refused(void **state)
{
	uint32_t cq_page = core_alloc_uar(), qp_page = core_alloc_uar(), comp_eqn, cqn, qpn;
	uint8_t out[16];

	(void)state;
	core.profile->refuse_busy_uars = true;
	memset(core.ram + CORE_FREE + 0x1000, 0xff, 0x2000);
	assert_int_equal(core_create_eq(uar, EQ_LOG, CORE_FREE + 0x1000, 0, 1, &comp_eqn), ST_OK);
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_PD, 0, out), ST_OK);
	assert_int_equal(core_create_cq(cq_page, comp_eqn, &cqn), ST_OK);
	assert_int_equal(core_create_qp(qp_page, IFC_GET(alloc_pd_out, out, pd), cqn, &qpn), ST_OK);

	assert_refused(destroy(MLX5_CMD_OP_DEALLOC_UAR, qp_page), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_refused(destroy(MLX5_CMD_OP_DEALLOC_UAR, cq_page), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_QP, qpn), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DEALLOC_UAR, qp_page), ST_OK);
	assert_refused(destroy(MLX5_CMD_OP_DEALLOC_UAR, cq_page), ST_BAD_RES_STATE,
		       WHY_OBJECT_IN_USE);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_CQ, cqn), ST_OK);
	assert_int_equal(destroy(MLX5_CMD_OP_DEALLOC_UAR, cq_page), ST_OK);
}

static void query_eq_shows_counters(void **state)
{
	uint8_t in[16] = { 0 }, out[IFC_SZ(query_eq_out)];
	const uint8_t *c = out + 16;

	(void)state;
	post(1);
	post(2);
	eq_db(uar, 1, false);
	IFC_SET(query_eq_in, in, opcode, MLX5_CMD_OP_QUERY_EQ);
	IFC_SET(query_eq_in, in, eq_number, eqn);
	assert_int_equal(core_cmd(in, 16, out, sizeof(out)), ST_OK);
	assert_int_equal(IFC_GET(eqc, c, producer_counter), 2);
	assert_int_equal(IFC_GET(eqc, c, consumer_counter), 1);
	assert_int_equal(IFC_GET(eqc, c, intr), 3);
	assert_int_equal(IFC_GET(eqc, c, st), EQ_ST_FIRED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, core_down)
#define E(f) cmocka_unit_test_setup_teardown(f, up_eq, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(plain_doorbell_after_idle), T(two_halves_make_a_doorbell),
		T(blueflame_is_delivered_whole), T(both_buffers_of_all_registers),
		T(largest_wqe_fills_the_buffer), T(wqe_longer_than_the_buffer_is_a_plain_doorbell),
		T(rest_after_idle_is_ignored), T(register_with_plain_doorbells_is_not_waited_for),
		T(stores_that_are_not_combined_are_doorbells),
		T(stores_of_two_cpus_interleave), T(new_wqe_delivers_the_previous_one),
		T(half_a_doorbell_is_none), T(doorbell_of_two_halves_is_delivered),
		T(store_after_a_gap_is_dropped),
		T(bursts_of_all_lengths_are_delivered_whole), T(timer_ends_a_burst),
		T(device_without_blueflame_takes_doorbells_only), T(buffers_alternate),
		T(other_buffer_ends_a_burst), T(more_buffers_than_the_hca_tracks),
		T(unallocated_page_has_no_doorbells), T(freed_page_has_no_doorbells),
		T(stores_of_invalid_size_or_offset_are_dropped), T(cq_arm_in_one_and_two_stores),
		T(uars_run_out), T(read_of_a_page_ends_the_bursts), T(pages_read_as_zero),
		T(reads_give_ones_without_memory_decoding),
		E(eqe_layout_and_owner), E(interrupt_once_for_each_arming),
		E(only_subscribed_events), E(full_queue_loses_events),
		E(doorbell_on_another_page_is_dropped), E(create_eq_refuses_invalid_contexts),
		E(eq_that_is_not_made_holds_nothing), E(every_type_can_be_subscribed),
		E(eqe_is_signed), E(eq_indices_have_24_bits), E(query_eq_shows_its_state),
		E(query_of_an_unknown_eq_is_refused),
		E(overrun_can_be_ignored),
		E(unmapped_eq_fails_once), E(query_eq_shows_counters),
		E(busy_uar_is_refused), E(uar_of_a_cq_or_qp_is_refused),
	};

	return cmocka_run_group_tests_name("uar", tests, NULL, NULL);
}
