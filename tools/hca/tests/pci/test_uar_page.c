// SPDX-License-Identifier: GPL-2.0
/*
 * UARs with pages of 4, 16 and 64 KiB, with uar_4k set and clear. The tests find a UAR in BAR0 as
 * mlx5_core does: at the system page that follows from the UAR's number.
 */
#include <event2/event.h>
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "corerig.h"
#include "count.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "object.h"
#include "pci.h"
#include "profile.h"
#include "qp.h"
#include "uar.h"
#include "uar_page.h"
#include "util.h"

#define REGISTERS_END	0x4000		/* initialization segment, MSI-X table, pending bits */
#define MEMIC_START	0x1fa0000	/* of the default profile */
#define UAR_BYTES	4096ull

/* What a driver tells the HCA, and what it then relies on. */
static const struct layout {
	unsigned int log;		/* log_uar_page_sz */
	bool uar_4k;
	unsigned int uars;		/* in a page */
} layouts[] = {
	{ 0, false, 1 }, { 0, true, 1 }, { 2, false, 1 }, { 2, true, 4 }, { 4, false, 1 },
	{ 4, true, 16 },
};

static const struct layout *of;		/* of this test */

static struct {
	unsigned int n;
	uint32_t uar;
	size_t len;
} sent;

static struct {
	unsigned int n;
	uint32_t uar;
} armed;

static void record_send(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len)
{
	(void)hca;
	(void)bf;
	sent.n++;
	sent.uar = uar;
	sent.len = len;
}

static void record_arm(struct hca *hca, uint32_t uar, uint64_t val)
{
	(void)hca;
	(void)val;
	armed.n++;
	armed.uar = uar;
}

static int up(void **state)
{
	of = *state;
	memset(&sent, 0, sizeof(sent));
	memset(&armed, 0, sizeof(armed));
	if (core_up(state) || core_init_pages(of->log, of->uar_4k))
		return -1;
	core_doorbells.send = record_send;
	core_doorbells.cq_arm = record_arm;
	return 0;
}

static uint64_t drops(enum drop_reason why)
{
	return core.hca->count.db_drop[why];
}

static uint64_t page_bytes(void)
{
	return UAR_BYTES << of->log;
}

/* Where a driver maps the page of UAR @num. */
static uint64_t page_of(uint32_t num)
{
	return (of->uar_4k ? num >> of->log : num) * page_bytes();
}

/* Where the driver finds the registers of UAR @num, which is UAR @i of its page. */
static uint64_t uar_at(uint32_t first, unsigned int i)
{
	return page_of(first) + i * UAR_BYTES;
}

static void store(uint64_t off, uint64_t value, uint32_t len)
{
	uint8_t b[8];

	put_be64(b, value);
	pci_bar_write(core.hca, 0, off, b + 8 - len, len);
}

static uint8_t destroy(uint16_t opcode, uint32_t num, uint32_t *why)
{
	uint8_t in[16] = { 0 }, out[16], st;

	/* All commands that the tests send by this have the number at the offset of DESTROY_QP. */
	IFC_SET(destroy_qp_in, in, opcode, opcode);
	IFC_SET(destroy_qp_in, in, qpn, num);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*why = IFC_GET(destroy_qp_out, out, syndrome);
	return st;
}

static uint8_t free_uar(uint32_t num, uint32_t *why)
{
	return destroy(MLX5_CMD_OP_DEALLOC_UAR, num, why);
}

/* ---- what the driver reads ------------------------------------------------------------------- */

static void query_cap(bool cur, uint8_t *page)
{
	static uint8_t out[16 + HCA_CAP_SIZE];
	uint8_t in[16] = { 0 };

	IFC_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	IFC_SET(query_hca_cap_in, in, op_mod, cur);
	assert_int_equal(core_cmd(in, 16, out, sizeof(out)), ST_OK);
	memcpy(page, out + 16, HCA_CAP_SIZE);
}

static void capabilities_follow_the_page_size(void **state)
{
	uint8_t c[HCA_CAP_SIZE];

	(void)state;
	query_cap(true, c);
	assert_int_equal(IFC_GET(cmd_hca_cap, c, log_uar_page_sz), of->log);
	assert_int_equal(IFC_GET(cmd_hca_cap, c, uar_4k), of->uar_4k);
	assert_int_equal(IFC_GET(cmd_hca_cap, c, num_of_uars_per_page), of->uars);
	query_cap(false, c);
	assert_memory_equal(c, core.profile->cap[0][CAP_GENERAL], HCA_CAP_SIZE);
}

/*
 * Only the three capabilities differ from those of a driver with pages of 4 KiB, and DC, which the
 * rig switches on.
 */
static void other_capabilities_stay(void **state)
{
	uint8_t c[HCA_CAP_SIZE];

	(void)state;
	query_cap(true, c);
	IFC_SET(cmd_hca_cap, c, log_uar_page_sz, 0);
	IFC_SET(cmd_hca_cap, c, uar_4k, 0);
	IFC_SET(cmd_hca_cap, c, num_of_uars_per_page, 1);
	IFC_SET(cmd_hca_cap, c, dct, 0);
	assert_memory_equal(c, core.profile->cap[1][CAP_GENERAL], HCA_CAP_SIZE);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void each_allocation_has_a_page_of_its_own(void **state)
{
	uint64_t page, last = REGISTERS_END - 1;
	unsigned int i;
	uint32_t num;

	(void)state;
	for (i = 0; i < 40; i++) {
		num = core_alloc_uar();
		assert_int_equal(num % of->uars, 0);
		page = page_of(num);
		assert_true(page > last);
		last = page + page_bytes() - 1;
		assert_true(last < MEMIC_START);
	}
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 40);
}

/* No page before the first is left out but those with registers. */
static void first_page_is_behind_the_registers(void **state)
{
	uint64_t page = page_of(core_alloc_uar());

	(void)state;
	assert_true(page >= REGISTERS_END);
	assert_true(page < REGISTERS_END + page_bytes());
}

static unsigned int pages_in_bar(void)
{
	return MEMIC_START / page_bytes() - (REGISTERS_END + page_bytes() - 1) / page_bytes();
}

static void pages_run_out(void **state)
{
	unsigned int n = 0, i;
	uint32_t num, why;
	uint8_t out[16];

	(void)state;
	for (num = core_alloc_uar(); num; num = core_alloc_uar()) {
		assert_true(page_of(num) + page_bytes() <= MEMIC_START);
		n++;
	}
	assert_int_equal(n, pages_in_bar());
	assert_refused(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_LIM, WHY_NUMBERS_IN_USE);
	/* The first and the last page are found again. */
	for (i = 0; i < 2; i++) {
		num = MEMIC_START / page_bytes() - 1;
		num = i ? num : (REGISTERS_END + page_bytes() - 1) / page_bytes();
		num *= of->uars;
		assert_int_equal(free_uar(num, &why), ST_OK);
		assert_int_equal(core_alloc_uar(), num);
	}
}

/* A profile's limit is a number of allocations. */
static void limit_counts_pages(void **state)
{
	struct obj_range *r = &core.profile->range[OBJ_UAR];
	unsigned int n = 0;

	(void)state;
	r->limit = r->first + 24;
	while (core_alloc_uar())
		n++;
	assert_int_equal(n, 24);
}

static void highest_page_comes_first(void **state)
{
	uint32_t last = (MEMIC_START / page_bytes() - 1) * of->uars, why;
	unsigned int n = 3;

	(void)state;
	core.profile->highest_numbers = true;
	assert_int_equal(core_alloc_uar(), last);
	assert_int_equal(core_alloc_uar(), last - of->uars);
	assert_int_equal(core_alloc_uar(), last - 2 * of->uars);
	assert_int_equal(free_uar(last - of->uars, &why), ST_OK);
	assert_int_equal(core_alloc_uar(), last - of->uars);
	while (core_alloc_uar())
		n++;
	assert_int_equal(n, pages_in_bar());
}

static void pages_are_used_in_a_cycle(void **state)
{
	uint32_t first, num, why;
	unsigned int n = 1;

	(void)state;
	core.profile->cycle_numbers = true;
	first = core_alloc_uar();
	assert_int_equal(free_uar(first, &why), ST_OK);
	for (num = core_alloc_uar(); num != first; num = core_alloc_uar()) {
		assert_int_equal(num, first + n * of->uars);
		n++;
	}
	assert_int_equal(n, pages_in_bar());
	assert_int_equal(core_alloc_uar(), 0);
}

/* ---- doorbells ------------------------------------------------------------------------------- */

static void every_uar_of_a_page_has_registers(void **state)
{
	uint32_t first = core_alloc_uar(), other = core_alloc_uar();
	unsigned int i, reg;

	(void)state;
	for (i = 0; i < of->uars; i++) {
		store(uar_at(first, i) + 0x20, 0x1122334455667788, 8);
		assert_int_equal(armed.n, 2 * i + 1);
		assert_int_equal(armed.uar, first + i);
		store(uar_at(other, i) + 0x20, 0x1122334455667788, 8);
		assert_int_equal(armed.uar, other + i);
		for (reg = 0x800; reg < 0x1000; reg += 0x100) {
			sent.n = 0;
			store(uar_at(first, i) + reg, 0x50a00004402, 8);
			uar_idle(core.hca);
			assert_int_equal(sent.n, 1);
			assert_int_equal(sent.uar, first + i);
		}
	}
	for (i = 0; i < DROP_REASONS; i++)
		assert_int_equal(drops(i), 0);
}

static void blueflame_reaches_every_uar(void **state)
{
	uint32_t first = core_alloc_uar();
	unsigned int i, at;

	(void)state;
	for (i = 0; i < of->uars; i++) {
		store(uar_at(first, i) + 0xe00, 0x50a00004402, 8);
		for (at = 8; at < 32; at += 8) {
			assert_int_equal(sent.n, i);
			store(uar_at(first, i) + 0xe00 + at, 0, 8);
		}
		assert_int_equal(sent.n, i + 1);
		assert_int_equal(sent.uar, first + i);
		assert_int_equal(sent.len, 32);
	}
}

/* A UAR that is a whole page has its registers at the start of the page. */
static void rest_of_a_page_has_no_registers(void **state)
{
	uint32_t first = core_alloc_uar();
	uint64_t off;

	(void)state;
	for (off = of->uars * UAR_BYTES; off < page_bytes(); off += UAR_BYTES) {
		uint64_t had = drops(DROP_BAD_OFFSET);

		store(page_of(first) + off + 0x20, 0, 8);
		store(page_of(first) + off + 0x40, 0, 4);
		store(page_of(first) + off + 0x800, 0x50a00004402, 8);
		store(page_of(first) + off + 0xffc, 0, 4);
		assert_int_equal(drops(DROP_BAD_OFFSET), had + 4);
	}
	uar_idle(core.hca);
	assert_int_equal(sent.n + armed.n, 0);
	assert_int_equal(drops(DROP_NO_UAR), 0);
}

static void neighbours_of_a_page_have_no_doorbells(void **state)
{
	uint32_t first, why;
	uint64_t page;

	(void)state;
	core_alloc_uar();
	first = core_alloc_uar();
	page = page_of(first);
	assert_int_equal(free_uar(first - of->uars, &why), ST_OK);
	store(page - UAR_BYTES + 0x20, 0, 8);
	store(page - page_bytes() + 0x20, 0, 8);
	store(page + page_bytes() + 0x20, 0, 8);
	store(page + page_bytes() + 0x800, 0x50a00004402, 8);
	uar_idle(core.hca);
	assert_int_equal(sent.n + armed.n, 0);
	assert_int_equal(drops(DROP_NO_UAR), 4);
}

static void freed_page_has_no_doorbells(void **state)
{
	uint32_t first = core_alloc_uar(), why;
	unsigned int i;

	(void)state;
	assert_int_equal(free_uar(first, &why), ST_OK);
	for (i = 0; i < of->uars; i++)
		store(uar_at(first, i) + 0x20, 0, 8);
	assert_int_equal(armed.n, 0);
	assert_int_equal(drops(DROP_NO_UAR), of->uars);
	assert_refused(free_uar(first, &why), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(why, WHY_OBJECT_UNKNOWN);
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 0);
}

/* The next owner of the page does not complete a doorbell of which half was stored. */
static void half_a_doorbell_ends_with_its_page(void **state)
{
	uint32_t first = core_alloc_uar(), why;
	unsigned int i;

	(void)state;
	for (i = 0; i < of->uars; i++)
		store(uar_at(first, i) + 0x800, 0x50a, 4);
	assert_int_equal(free_uar(first, &why), ST_OK);
	assert_int_equal(drops(DROP_BAD_SIZE), of->uars);
	assert_int_equal(core_alloc_uar(), first);
	for (i = 0; i < of->uars; i++)
		store(uar_at(first, i) + 0x804, 0x4402, 4);
	uar_idle(core.hca);
	assert_int_equal(sent.n, 0);
	assert_int_equal(drops(DROP_BAD_OFFSET), of->uars);
}

/* ---- what names a UAR ------------------------------------------------------------------------ */

static void page_is_freed_by_its_first_uar(void **state)
{
	uint32_t first = core_alloc_uar(), why;
	unsigned int i;

	(void)state;
	for (i = 1; i < of->uars; i++) {
		assert_refused(free_uar(first + i, &why), ST_BAD_RES, WHY_UAR_NOT_FIRST);
		assert_int_equal(why, WHY_UAR_NOT_FIRST);
	}
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 1);
	assert_int_equal(free_uar(first, &why), ST_OK);
}

#define EQ_LOG	6
#define EQ_PA	CORE_FREE

static uint8_t create_eq(uint32_t uar, uint32_t *eqn)
{
	memset(core.ram + EQ_PA, 0xff, 64 << EQ_LOG);
	return core_create_eq(uar, EQ_LOG, EQ_PA, 0, 3, eqn);
}

static void event_queue_is_rung_at_its_uar_only(void **state)
{
	uint32_t first = core_alloc_uar(), eqn, i, k;

	(void)state;
	for (i = 0; i < of->uars; i++) {
		uint64_t wrong = drops(DROP_WRONG_UAR);

		assert_int_equal(create_eq(first + i, &eqn), ST_OK);
		for (k = 0; k < of->uars; k++)
			if (k != i)
				store(uar_at(first, k) + 0x40, eqn << 24, 4);
		assert_int_equal(drops(DROP_WRONG_UAR), wrong + of->uars - 1);
		assert_false(eq_find(core.hca, eqn)->armed);
		store(uar_at(first, i) + 0x40, eqn << 24, 4);
		assert_true(eq_find(core.hca, eqn)->armed);
		assert_int_equal(drops(DROP_WRONG_UAR), wrong + of->uars - 1);
	}
}

static uint8_t create_sq(uint32_t uar, uint32_t pdn, uint32_t cqn, uint32_t *sqn)
{
	uint8_t in[IFC_SZ(create_sq_in) + 8] = { 0 }, out[16], st;
	uint8_t *c = IFC_ADDR(create_sq_in, in, ctx), *wq = IFC_ADDR(sqc, c, wq);

	IFC_SET(create_sq_in, in, opcode, MLX5_CMD_OP_CREATE_SQ);
	IFC_SET(sqc, c, cqn, cqn);
	IFC_SET(wq, wq, wq_type, 1);
	IFC_SET(wq, wq, log_wq_stride, 6);
	IFC_SET(wq, wq, log_wq_sz, 6);
	IFC_SET(wq, wq, pd, pdn);
	IFC_SET(wq, wq, uar_page, uar);
	IFC_SET64(wq, wq, dbr_addr, CORE_FREE + 0x4010);
	put_be64(in + IFC_SZ(create_sq_in), CORE_FREE + 0x3000);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*sqn = IFC_GET(create_sq_out, out, sqn);
	return st;
}

/* Queues can name each UAR of the page, and the whole page is in use as long as they exist. */
static void queues_hold_the_page_of_their_uar(void **state)
{
	uint32_t first = core_alloc_uar(), last = first + of->uars - 1, n[4], pd, why, i;
	static const uint16_t op[] = {
		MLX5_CMD_OP_DESTROY_SQ, MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_DESTROY_CQ,
		MLX5_CMD_OP_DESTROY_EQ,
	};
	uint8_t out[16];

	(void)state;
	core.profile->refuse_busy_uars = true;
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_PD, 0, out), ST_OK);
	pd = IFC_GET(alloc_pd_out, out, pd);
	assert_int_equal(create_eq(last, &n[3]), ST_OK);
	assert_int_equal(core_create_cq(last, n[3], &n[2]), ST_OK);
	assert_int_equal(core_create_qp(last, pd, n[2], &n[1]), ST_OK);
	assert_int_equal(create_sq(last, pd, n[2], &n[0]), ST_OK);
	for (i = 0; i < 4; i++) {
		assert_int_equal(obj_find(core.hca, OBJ_UAR, first)->refs, 4 - i);
		assert_refused(free_uar(first, &why), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
		assert_int_equal(why, WHY_OBJECT_IN_USE);
		assert_int_equal(destroy(op[i], n[i], &why), ST_OK);
	}
	assert_int_equal(free_uar(first, &why), ST_OK);
}

static void queues_cannot_name_a_page_that_is_free(void **state)
{
	uint32_t first = core_alloc_uar(), eqn, cqn, num, pd;
	uint32_t bad[] = { first + of->uars, first - 1, first + 2 * of->uars - 1, 0, 0xffffff };
	uint8_t out[16];
	unsigned int i;

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_PD, 0, out), ST_OK);
	pd = IFC_GET(alloc_pd_out, out, pd);
	assert_int_equal(create_eq(first, &eqn), ST_OK);
	assert_int_equal(core_create_cq(first, eqn, &cqn), ST_OK);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_refused(create_eq(bad[i], &num), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		assert_refused(core_create_cq(bad[i], eqn, &num), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
		assert_refused(core_create_qp(bad[i], pd, cqn, &num), ST_BAD_RES,
			       WHY_OBJECT_UNKNOWN);
		assert_refused(create_sq(bad[i], pd, cqn, &num), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	}
	assert_int_equal(obj_find(core.hca, OBJ_UAR, first)->refs, 2);
}

/* The stock driver frees the UARs of a process that died before the queues that use them. */
static void freed_page_is_used_again_after_its_queues(void **state)
{
	uint32_t first = core_alloc_uar(), eqn, why;

	(void)state;
	assert_int_equal(create_eq(first + of->uars - 1, &eqn), ST_OK);
	assert_int_equal(free_uar(first, &why), ST_OK);
	store(uar_at(first, of->uars - 1) + 0x40, eqn << 24, 4);
	assert_int_equal(drops(DROP_NO_UAR), 1);
	assert_int_equal(core_alloc_uar(), first + of->uars);
	assert_int_equal(destroy(MLX5_CMD_OP_DESTROY_EQ, eqn, &why), ST_OK);
	assert_int_equal(core_alloc_uar(), first);
}

static void pages_belong_to_their_user(void **state)
{
	uint32_t first = core_alloc_uar(), last = first + of->uars - 1, uid;
	uint8_t in[IFC_SZ(create_uctx_in)] = { 0 }, out[16];

	(void)state;
	IFC_SET(create_uctx_in, in, opcode, MLX5_CMD_OP_CREATE_UCTX);
	assert_int_equal(core_cmd(in, sizeof(in), out, sizeof(out)), ST_OK);
	uid = IFC_GET(create_uctx_out, out, uid);
	memset(in, 0, sizeof(in));
	IFC_SET(dealloc_uar_in, in, opcode, MLX5_CMD_OP_DEALLOC_UAR);
	put_be16(in + 2, uid);
	IFC_SET(dealloc_uar_in, in, uar, first);
	assert_refused(core_cmd(in, 16, out, sizeof(out)), ST_BAD_RES, WHY_OBJECT_OWNER);
	obj_set_owner(core.hca, obj_find(core.hca, OBJ_UAR, first), uid);
	store(uar_at(first, of->uars - 1) + 0x20, 0, 8);
	assert_int_equal(armed.uar, last);
	assert_int_equal(core_cmd(in, 16, out, sizeof(out)), ST_OK);
}

/* ---- the next driver ------------------------------------------------------------------------- */

static void assert_default_caps(void)
{
	assert_memory_equal(core.hca->cap[CAP_GENERAL], core.profile->cap[1][CAP_GENERAL],
			    HCA_CAP_SIZE);
}

static void next_driver_can_have_other_pages(void **state)
{
	uint8_t out[16];
	unsigned int i;

	(void)state;
	core_alloc_uar();
	core_alloc_uar();
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
		assert_int_equal(core_simple(MLX5_CMD_OP_DISABLE_HCA, 0, out), ST_OK);
		assert_default_caps();
		of = &layouts[i];
		assert_int_equal(core_init_pages(of->log, of->uar_4k), 0);
		first_page_is_behind_the_registers(state);
		capabilities_follow_the_page_size(state);
	}
}

static void reset_brings_back_the_default(void **state)
{
	(void)state;
	core_alloc_uar();
	hca_reset(core.hca);
	assert_default_caps();
	core_reg_write(0x10, 0);
	core_reg_write(0x14, CORE_QUEUE);
	of = &layouts[0];
	assert_int_equal(core_init_commands(), 0);
	assert_int_equal(core_alloc_uar(), 4);
}

static void clearing_uar_4k_brings_back_whole_pages(void **state)
{
	uint8_t out[16];

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(core_set_uar_page(4, true), 0);
	assert_int_equal(hca_cap_gen(core.hca, num_of_uars_per_page), 16);
	assert_int_equal(core_set_uar_page(4, false), 0);
	assert_int_equal(hca_cap_gen(core.hca, num_of_uars_per_page), 1);
}

static void pages_above_the_maximum_are_refused(void **state)
{
	uint8_t out[16];

	(void)state;
	assert_int_equal(core_simple(MLX5_CMD_OP_TEARDOWN_HCA, 0, out), ST_OK);
	assert_int_equal(core_set_uar_page(5, of->uar_4k), -1);
	assert_int_equal(core_set_uar_page(0xffff, of->uar_4k), -1);
	assert_int_equal(hca_cap_gen(core.hca, log_uar_page_sz), of->log);
	IFC_SET(cmd_hca_cap, core.profile->cap[0][CAP_GENERAL], uar_4k, 0);
	assert_int_equal(core_set_uar_page(2, true), -1);
	assert_int_equal(core_set_uar_page(2, false), 0);
}

/* A driver with large pages may find no page of BAR0 that can have UARs. */
static void bar_without_a_page_has_no_uars(void **state)
{
	static const uint64_t starts[] = { 0x1000, 0x4000, 0xf000 };
	uint8_t *m = core.profile->cap[1][CAP_DEV_MEM], out[16];
	struct obj_numbers n;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		if (starts[i] >= REGISTERS_END + page_bytes())
			continue;
		IFC_SET64(device_mem_cap, m, memic_bar_start_addr, starts[i]);
		if (!of->log)
			core.profile->range[OBJ_UAR].limit = core.profile->range[OBJ_UAR].first;
		n = uar_numbers(core.hca);
		assert_int_equal(n.limit, n.first);
		assert_refused(core_simple(MLX5_CMD_OP_ALLOC_UAR, 0, out), ST_LIM,
			       WHY_NUMBERS_IN_USE);
	}
	assert_int_equal(obj_count(core.hca, OBJ_UAR), 0);
}

#define IN(f, l, name) { #f ", " name, f, up, core_down, (void *)&layouts[l] }
#define T(f)						\
	IN(f, 0, "pages of 4 KiB"), IN(f, 1, "pages of 4 KiB, uar_4k"),	\
	IN(f, 2, "pages of 16 KiB"), IN(f, 3, "pages of 16 KiB, uar_4k"),	\
	IN(f, 4, "pages of 64 KiB"), IN(f, 5, "pages of 64 KiB, uar_4k")

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(capabilities_follow_the_page_size), T(other_capabilities_stay),
		T(each_allocation_has_a_page_of_its_own), T(first_page_is_behind_the_registers),
		T(pages_run_out), T(limit_counts_pages), T(highest_page_comes_first),
		T(pages_are_used_in_a_cycle), T(every_uar_of_a_page_has_registers),
		T(blueflame_reaches_every_uar), T(rest_of_a_page_has_no_registers),
		T(neighbours_of_a_page_have_no_doorbells), T(freed_page_has_no_doorbells),
		T(half_a_doorbell_ends_with_its_page),
		T(page_is_freed_by_its_first_uar), T(event_queue_is_rung_at_its_uar_only),
		T(queues_hold_the_page_of_their_uar), T(queues_cannot_name_a_page_that_is_free),
		T(freed_page_is_used_again_after_its_queues), T(pages_belong_to_their_user),
		T(next_driver_can_have_other_pages), T(reset_brings_back_the_default),
		T(clearing_uar_4k_brings_back_whole_pages), T(pages_above_the_maximum_are_refused),
		T(bar_without_a_page_has_no_uars),
	};

	return cmocka_run_group_tests_name("uar_page", tests, NULL, NULL);
}
