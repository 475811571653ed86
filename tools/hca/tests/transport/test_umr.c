// SPDX-License-Identifier: GPL-2.0
/*
 * UMR on a driver's own queue pair: what the queue pair needs, what the list has to look like, the
 * limits of page sizes, and the order of two requests on one key.
 */
#include <string.h>

#include "caps.h"
#include "clock.h"
#include "cq.h"
#include "expect.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "object.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "wqe.h"

#define CQ		10
#define INLINE		0x80
#define OFFSET		0x10
#define PD_BIT		(1ull << 7)
#define FREE_BIT	(1ull << 29)
#define OPEN		(1ull << 0 | 1ull << 1 | 1ull << 6 | 1ull << 13 | 1ull << 17 | FREE_BIT)

static struct qp *qp;
static struct mkey *mk;
static uint64_t list;
static uint32_t lkey;

#define CAP(fld, v)	IFC_SET(cmd_hca_cap, rig.hca[0]->cap[CAP_GENERAL], fld, v)
#define CAP2(fld, v)	IFC_SET(cmd_hca_cap_2, rig.hca[0]->cap[CAP_GENERAL_2], fld, v)

static int up(void **state)
{
	(void)state;
	rig_up(NULL);
	qp = rig_qp(0, QPT_REG_UMR, CQ);
	IFC_SET(qpc, qp->qpc, fre, 1);
	rig_state(0, qp, QPS_RTS);
	mk = rig_umr_key(0, 8, MKM_MTT);
	rig.brk[0] = (rig.brk[0] + 4095) & ~4095ull;
	list = rig_alloc(0, 4096);
	lkey = rig_mkey(0, list, 4096, MK_LOCAL_READ);
	return 0;
}

/* A request that opens the key with pages of 2^@log_page bytes, with @n octowords from the list. */
static void open_wqe(struct rig_wqe *w, unsigned int log_page, uint16_t n)
{
	uint8_t *p = w->b + 16, *c = p + 48;

	wq_ctrl(w, WQE_UMR, true, mk->obj.num << 8 | mk->variant);
	memset(p, 0, 48 + MKC_BYTES + 16);
	p[0] = OFFSET;
	put_be16(p + 4, n);
	put_be64(p + 8, OPEN);
	IFC_SET(mkc, c, mkey_7_0, 0x33);
	IFC_SET(mkc, c, lr, 1);
	IFC_SET64(mkc, c, len, 4096);
	IFC_SET(mkc, c, log_page_size, log_page);
	put_be32(w->b + 128, n * 16);
	put_be32(w->b + 132, lkey);
	put_be64(w->b + 136, list);
	w->ds = 9;
}

static void run(const struct rig_wqe *w, uint8_t opcode)
{
	unsigned int n = rig.ncqe;

	rig_send(0, qp, w->b, w->ds);
	assert_int_equal(rig_run(n + 1, 1000), n + 1);
	assert_int_equal(rig.cqe[n].c.opcode, opcode);
}

static void opens_a_key(void **state)
{
	struct rig_wqe w;

	(void)state;
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ);
	assert_false(mk->free);
}

static void free_key(void)
{
	IFC_SET(mkc, mk->mkc, free, 1);
	mkey_decode(mk);
}

/*
 * A request may name the key by its variant before or after the request. By a third variant, the
 * driver means another key.
 */
static void other_variant_is_an_incident(void **state)
{
	const struct incident *it;
	struct rig_wqe w;

	(void)state;
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ);
	free_key();
	open_wqe(&w, 12, 4);
	IFC_SET(mkc, w.b + 64, mkey_7_0, 0x44);
	w.b[15] = 0x44;
	run(&w, CQE_REQ);
	assert_null(expect_unexpected(rig.hca[0]->expect, 0));
	w.b[15] = 0x45;
	run(&w, CQE_REQ);
	it = expect_unexpected(rig.hca[0]->expect, 0);
	assert_int_equal(it->kind, INCIDENT_UMR);
	assert_string_equal(it->cause, "variant");
}

static void qp_needs_fre(void **state)
{
	struct rig_wqe w;

	(void)state;
	IFC_SET(qpc, qp->qpc, fre, 0);
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ_ERR);
	assert_true(mk->free);
}

static void misaligned_entry_is_refused(void **state)
{
	struct rig_wqe w;

	(void)state;
	put_be64(rig_ptr(0, list), RIG_BASE + 8);
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ_ERR);
	assert_true(mk->free);
}

/* Only the entries that the key uses have to be aligned; entries behind them pad the list. */
static void entries_are_aligned_to_the_page_size(void **state)
{
	uint8_t *entry = rig_ptr(0, list);
	struct rig_wqe w;

	(void)state;
	put_be64(entry, RIG_BASE | MTT_ACCESS | 4);
	put_be64(entry + 8, 8);
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ);
	/* The key uses the second entry now, which is in the table. */
	free_key();
	open_wqe(&w, 12, 0);
	IFC_SET64(mkc, w.b + 64, len, 8192);
	w.b[16] |= INLINE;
	w.ds = 8;
	mk->mtt[1] = RIG_BASE;
	run(&w, CQE_REQ);
	free_key();
	mk->mtt[1] = 8;
	run(&w, CQE_REQ_ERR);
	assert_true(mk->free);
}

static void key_without_bytes_uses_no_entry(void **state)
{
	struct rig_wqe w;

	(void)state;
	put_be64(rig_ptr(0, list), RIG_BASE + 8);	/* misaligned */
	open_wqe(&w, 12, 4);
	IFC_SET64(mkc, w.b + 64, len, 0);
	run(&w, CQE_REQ);
}

static void list_is_aligned_to_2048_bytes(void **state)
{
	struct rig_wqe w;

	(void)state;
	open_wqe(&w, 12, 4);
	put_be64(w.b + 136, list + 1024);
	run(&w, CQE_REQ_ERR);
}

static void list_is_whole_blocks(void **state)
{
	struct rig_wqe w;

	(void)state;
	open_wqe(&w, 12, 2);
	run(&w, CQE_REQ_ERR);
}

static void offset_is_whole_blocks(void **state)
{
	struct rig_wqe w;

	(void)state;
	open_wqe(&w, 12, 4);
	put_be16(w.b + 22, 2);
	run(&w, CQE_REQ_ERR);
}

static void list_is_in_the_pd_of_the_qp(void **state)
{
	struct rig_wqe w;

	(void)state;
	qp->pdn++;
	open_wqe(&w, 12, 4);
	run(&w, CQE_REQ_ERR);
	qp->pdn--;
}

/* The queue pair of the driver registers the memory of all processes. */
static void key_moves_to_another_pd_and_back(void **state)
{
	static const uint32_t to[] = { RIG_PD + 1, RIG_PD };
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		free_key();
		open_wqe(&w, 12, 4);
		put_be64(w.b + 24, OPEN | PD_BIT);
		IFC_SET(mkc, w.b + 64, pd, to[i]);
		run(&w, CQE_REQ);
		assert_int_equal(mk->pdn, to[i]);
		assert_int_equal(obj_find(rig.hca[0], OBJ_PD, to[i])->refs, 1);
		assert_int_equal(obj_find(rig.hca[0], OBJ_PD, to[!i])->refs, 0);
	}
}

static void key_does_not_move_to_a_pd_that_does_not_exist(void **state)
{
	uint8_t before[MKC_BYTES];
	struct rig_wqe w;

	(void)state;
	memcpy(before, mk->mkc, sizeof(before));
	open_wqe(&w, 12, 4);
	put_be64(w.b + 24, OPEN | PD_BIT);
	IFC_SET(mkc, w.b + 64, pd, RIG_PD + 9);
	run(&w, CQE_REQ_ERR);
	assert_memory_equal(mk->mkc, before, sizeof(before));
	assert_int_equal(mk->pdn, RIG_PD);
	assert_true(mk->free);
}

static void reserved_lkey_needs_a_capability(void **state)
{
	struct rig_wqe w;

	(void)state;
	qp->rlky = true;
	CAP(umr_ptr_rlky, 1);
	open_wqe(&w, 12, 4);
	put_be32(w.b + 132, MKEY_RESD_LKEY);
	run(&w, CQE_REQ);
	CAP(umr_ptr_rlky, 0);
	open_wqe(&w, 12, 4);
	put_be32(w.b + 132, MKEY_RESD_LKEY);
	run(&w, CQE_REQ_ERR);
}

static void page_size_is_limited(void **state)
{
	struct rig_wqe w;

	(void)state;
	CAP(hca_cap_2, 1);
	CAP2(max_mkey_log_entity_size_mtt, 21);
	open_wqe(&w, 21, 4);
	run(&w, CQE_REQ);
	open_wqe(&w, 22, 4);
	run(&w, CQE_REQ_ERR);
}

/* The sixth bit of log_page_size has a capability and a mask bit of its own. */
static void page_size_has_two_mask_bits(void **state)
{
	struct rig_wqe w;

	(void)state;
	CAP(hca_cap_2, 1);
	CAP2(max_mkey_log_entity_size_mtt, 40);
	open_wqe(&w, 32 + 12, 4);
	run(&w, CQE_REQ);
	assert_int_equal(mk->log_page, 12);
	CAP2(umr_log_entity_size_5, 1);
	open_wqe(&w, 34, 4);
	put_be64(w.b + 24, OPEN | 1ull << 42);
	run(&w, CQE_REQ);
	assert_int_equal(mk->log_page, 34);
	CAP2(umr_log_entity_size_5, 0);
	open_wqe(&w, 34, 4);
	put_be64(w.b + 24, OPEN | 1ull << 42);
	run(&w, CQE_REQ_ERR);
}

/* A request that only sets or clears mkc.free. */
static void free_wqe(struct rig_wqe *w, bool free, enum wqe_fence fence)
{
	wq_ctrl(w, WQE_UMR, true, mk->obj.num << 8 | mk->variant);
	memset(w->b + 16, 0, 48 + MKC_BYTES);
	w->b[11] |= fence << 5;
	w->b[16] = INLINE;
	put_be64(w->b + 24, FREE_BIT);
	IFC_SET(mkc, w->b + 64, free, free);
	w->ds = 8;
}

/* Open and then free a key; returns whether it is free afterwards. */
static bool free_after_both(unsigned int cap, enum wqe_fence fence)
{
	unsigned int n = rig.ncqe;
	struct rig_wqe w;

	CAP(umr_fence, cap);
	free_wqe(&w, false, FENCE_NONE);
	rig_put(0, qp, w.b, w.ds);
	free_wqe(&w, true, fence);
	rig_send(0, qp, w.b, w.ds);
	assert_int_equal(rig_run(n + 2, 1000), n + 2);
	assert_int_equal(rig.cqe[n].c.opcode, CQE_REQ);
	assert_int_equal(rig.cqe[n + 1].c.opcode, CQE_REQ);
	return mk->free;
}

static void fences_order_requests_on_one_key(void **state)
{
	(void)state;
	assert_true(free_after_both(MLX5_CAP_UMR_FENCE_STRONG, FENCE_NONE));
	inject_set_umr_reorder(rig.hca[0]->inject);
	assert_false(free_after_both(MLX5_CAP_UMR_FENCE_STRONG, FENCE_NONE));
	assert_false(free_after_both(MLX5_CAP_UMR_FENCE_STRONG, FENCE_SMALL));
	assert_true(free_after_both(MLX5_CAP_UMR_FENCE_STRONG, FENCE_ALL));
	assert_false(free_after_both(MLX5_CAP_UMR_FENCE_SMALL, FENCE_NONE));
	assert_false(free_after_both(MLX5_CAP_UMR_FENCE_SMALL, FENCE_READS));
	assert_true(free_after_both(MLX5_CAP_UMR_FENCE_SMALL, FENCE_SMALL));
	assert_true(free_after_both(MLX5_CAP_UMR_FENCE_SMALL, FENCE_SMALL_READS));
	assert_true(free_after_both(MLX5_CAP_UMR_FENCE_NONE, FENCE_NONE));
	assert_int_equal(rig.hca[0]->count.umr_reordered, 4);
}

/* The HCA, told to reorder two UMRs, keeps the first back until the second is posted. */
static void request_is_overtaken_by_one_posted_later(void **state)
{
	struct rig_wqe w;

	(void)state;
	CAP(umr_fence, MLX5_CAP_UMR_FENCE_SMALL);
	inject_set_umr_reorder(rig.hca[0]->inject);
	free_wqe(&w, false, FENCE_NONE);
	rig_send(0, qp, w.b, w.ds);
	assert_int_equal(rig_run(1, 0), 0);
	free_wqe(&w, true, FENCE_NONE);
	rig_send(0, qp, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_false(mk->free);
}

/* If nothing is posted behind the request, the HCA executes the request 2 ms later. */
static void request_that_is_not_overtaken_is_late(void **state)
{
	uint64_t start = clock_now_ns();
	struct rig_wqe w;

	(void)state;
	CAP(umr_fence, MLX5_CAP_UMR_FENCE_SMALL);
	inject_set_umr_reorder(rig.hca[0]->inject);
	free_wqe(&w, false, FENCE_NONE);
	run(&w, CQE_REQ);
	assert_true(clock_now_ns() - start >= 2000000);
	assert_false(mk->free);
}

static void failure_of_the_one_that_overtook_stops_the_queue(void **state)
{
	struct rig_wqe w;

	(void)state;
	CAP(umr_fence, MLX5_CAP_UMR_FENCE_SMALL);
	inject_set_umr_reorder(rig.hca[0]->inject);
	free_wqe(&w, true, FENCE_NONE);
	rig_put(0, qp, w.b, w.ds);
	free_wqe(&w, true, FENCE_NONE);
	put_be64(w.b + 24, 1ull << 60);
	rig_put(0, qp, w.b, w.ds);
	free_wqe(&w, true, FENCE_SMALL);
	rig_send(0, qp, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_int_equal(rig.cqe[0].c.opcode, CQE_REQ);
	assert_int_equal(rig.cqe[1].c.error, ERR_UMR_REFUSED);
	assert_int_equal(rig.cqe[2].c.error, ERR_FLUSHED);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(opens_a_key), T(other_variant_is_an_incident), T(qp_needs_fre),
		T(misaligned_entry_is_refused),
		T(entries_are_aligned_to_the_page_size),
		T(key_without_bytes_uses_no_entry), T(list_is_aligned_to_2048_bytes),
		T(list_is_whole_blocks), T(offset_is_whole_blocks), T(list_is_in_the_pd_of_the_qp),
		T(key_moves_to_another_pd_and_back),
		T(key_does_not_move_to_a_pd_that_does_not_exist),
		T(reserved_lkey_needs_a_capability), T(page_size_is_limited),
		T(page_size_has_two_mask_bits), T(fences_order_requests_on_one_key),
		T(request_is_overtaken_by_one_posted_later), T(request_that_is_not_overtaken_is_late),
		T(failure_of_the_one_that_overtook_stops_the_queue),
	};

	return cmocka_run_group_tests_name("umr", tests, NULL, NULL);
}
