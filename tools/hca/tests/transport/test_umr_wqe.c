// SPDX-License-Identifier: GPL-2.0
/*
 * UMR work requests of a driver and of a process: windows, strided keys, and what may be changed.
 */
#include <endian.h>
#include <string.h>

#include "cq.h"
#include "expect.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "object.h"
#include "pair.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "req.h"
#include "trace.h"
#include "tracerig.h"
#include "umr.h"
#include "wqe.h"

#define UMR_LEN		(1ull << 0)
#define UMR_LIVE	(UMR_LEN | 1ull << 6 | 1ull << 13 | 1ull << 14 | 1ull << 18 | \
			 1ull << 19 | 1ull << 20 | 1ull << 21 | 1ull << 29)

/* A request that makes @mk a memory window: one KLM that points at a part of b's buffer. */
static void umr_wqe(struct rig_wqe *w, const struct mkey *mk, uint8_t flags, uint64_t mask,
		    uint32_t octowords)
{
	uint8_t *p, *c;

	wq_ctrl(w, WQE_UMR, true, mk->obj.num << 8 | mk->variant);
	p = w->b + 16;
	c = p + 48;
	p[0] = flags;
	put_be16(p + 4, octowords);
	put_be64(p + 8, mask);
	IFC_SET(mkc, c, mkey_7_0, 0x33);
	IFC_SET(mkc, c, qpn, 0xffffff);
	IFC_SET(mkc, c, rr, 1);
	IFC_SET(mkc, c, rw, 1);
	IFC_SET64(mkc, c, start_addr, 0x5000);
	IFC_SET64(mkc, c, len, 0x100);
	w->ds = 1 + 3 + 4 + (octowords ? 4 : 0);
	put_be32(w->b + 128, 0x100);
	put_be32(w->b + 132, key_b);
	put_be64(w->b + 136, buf_b + 0x1000);
}

static void umr_binds_no_window_without_the_capability(void **state)
{
	struct mkey *mk = rig_umr_key(0, 4, MKM_KSM);
	struct rig_wqe w;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[0]->cap[CAP_GENERAL], imaicl, 0);
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

static void umr_of_an_indirect_key_can_be_disabled(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[CAP_GENERAL], umr_indirect_mkey_disabled, 1);
	umr_wqe(&w, mk, 0x80 | 0x20, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_true(mk->free);
}

static void umr_binds_a_window(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	uint32_t rkey = mk->obj.num << 8 | 0x33;
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x20, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x5010, rkey, 0xf0);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_memory_equal(rig_ptr(1, buf_b + 0x1010), rig_ptr(0, buf_a), 0xf0);
	/* After invalidation the window allows no access. */
	umr_wqe(&w, mk, 0x80, 1ull << 29, 0);
	IFC_SET(mkc, w.b + 64, free, 1);
	put_be32(w.b + 12, rkey);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_B, 1, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x5010, rkey, 0xf0);
	rig_run(4, 1000);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static unsigned int refs_of(uint32_t key)
{
	return obj_find(rig.hca[1], OBJ_MKEY, key >> 8)->refs;
}

/*
 * A region has a reference for each window that is bound to it, until the window is invalidated or
 * bound again.
 */
static void umr_holds_the_bound_region(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct mkey *other = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(refs_of(key_b), 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(refs_of(key_b), 1);
	umr_wqe(&w, other, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	assert_int_equal(refs_of(key_b), 2);
	/* Bind the other window to a key that does not exist. */
	put_be32(w.b + 132, key_b ^ 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(4, 1000), 4);
	assert_int_equal(refs_of(key_b), 1);
	umr_wqe(&w, mk, 0x80, 1ull << 29, 0);
	IFC_SET(mkc, w.b + 64, free, 1);
	put_be32(w.b + 12, mk->obj.num << 8 | 0x33);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(5, 1000), 5);
	assert_int_equal(refs_of(key_b), 0);
}

/* A UMR of one process takes no reference on a region of another, which can destroy the region. */
static void umr_does_not_hold_regions_of_other_pds(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct mkey *region = (struct mkey *)obj_find(rig.hca[1], OBJ_MKEY, key_b >> 8);
	struct rig_wqe w;

	(void)state;
	region->pdn++;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(refs_of(key_b), 0);
	region->pdn--;
}

static void umr_fails(struct mkey *mk, uint8_t flags, uint64_t mask, uint32_t octowords,
		      enum cqe_error error)
{
	uint8_t before[MKC_BYTES];
	struct rig_wqe w;

	memcpy(before, mk->mkc, sizeof(before));
	umr_wqe(&w, mk, flags, mask, octowords);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, error);
	assert_memory_equal(before, mk->mkc, sizeof(before));
}

static void umr_refused(struct mkey *mk, uint8_t flags, uint64_t mask, uint32_t octowords)
{
	umr_fails(mk, flags, mask, octowords, ERR_UMR_REFUSED);
}

static void umr_of_a_freed_key_says_so(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	put_be32(w.b + 12, get_be32(w.b + 12) + 0x100);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, ERR_UMR_KEY_UNKNOWN);
}

static void umr_needs_umr_en(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, umr_en, 0);
	mkey_decode(mk);
	umr_refused(mk, 0x80, UMR_LIVE, 4);
}

static void umr_stays_in_its_pd(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, pd, RIG_PD + 1);
	mkey_decode(mk);
	umr_refused(mk, 0x80, UMR_LIVE, 4);
}

/* A request of a process may name the PD of a key, if it is the one that the key has. */
static void umr_of_a_process_moves_no_key_to_another_pd(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, 1ull << 7, 0);
	IFC_SET(mkc, w.b + 64, pd, RIG_PD);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	IFC_SET(mkc, w.b + 64, pd, RIG_PD + 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_B, 1, CQE_REQ_ERR, ERR_UMR_REFUSED);
	assert_int_equal(mk->pdn, RIG_PD);
}

static void umr_must_fit_the_key(void **state)
{
	(void)state;
	umr_fails(rig_umr_key(1, 2, MKM_KLM), 0x80, UMR_LIVE, 4, ERR_UMR_RANGE);
}

static void umr_behind_an_offset_must_fit_the_key(void **state)
{
	struct mkey *mk = rig_umr_key(1, 8, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x10, UMR_LIVE, 4);
	put_be16(w.b + 22, 8);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, ERR_UMR_RANGE);
	assert_true(mk->free);
}

/* Without the offset flag a list goes to the start of the table, and the rest stays as it is. */
static void umr_of_a_part_goes_to_the_start(void **state)
{
	struct mkey *mk = rig_umr_key(1, 8, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	mk->klm[4].va = 0x1234;
	umr_wqe(&w, mk, 0x80, UMR_LIVE & ~UMR_LEN, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	assert_int_equal(mk->klm[0].va, buf_b + 0x1000);
	assert_int_equal(mk->klm[4].va, 0x1234);
}

/* A driver that forgot the flag would write a later part over the start of the table. */
static void umr_offset_needs_its_flag(size_t field)
{
	struct mkey *mk = rig_umr_key(1, 8, MKM_KLM);
	struct rig_wqe w;

	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	w.b[field] = 4;
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, ERR_WQE_INVALID);
	assert_true(mk->free);
}

static void umr_with_an_offset_needs_the_offset_flag(void **state)
{
	(void)state;
	umr_offset_needs_its_flag(23);
}

static void umr_with_a_large_offset_needs_the_offset_flag(void **state)
{
	(void)state;
	umr_offset_needs_its_flag(35);
}

static void umr_of_a_part_goes_to_its_offset(void **state)
{
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, rig_umr_key(1, 8, MKM_KLM), 0x80 | 0x10, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
}

static void umr_without_data_needs_the_inline_flag(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0, UMR_LIVE, 0);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/* A list of two entries that is repeated: 16 bytes of every 0x40, and 8 of every 0x20. */
static void strided_wqe(struct rig_wqe *w, const struct mkey *mk, uint32_t bytes, uint16_t entries)
{
	uint8_t *p = w->b + 128;

	umr_wqe(w, mk, 0x80, UMR_LIVE, 4);
	memset(p, 0, 64);
	put_be32(p, bytes);
	put_be32(p + 4, MKEY_STRIDE_OP);
	put_be32(p + 8, 10);
	put_be16(p + 14, entries);
	put_be16(p + 16, 0x40);
	put_be16(p + 18, 0x10);
	put_be32(p + 20, key_b);
	put_be64(p + 24, buf_b + 0x1000);
	put_be16(p + 32, 0x20);
	put_be16(p + 34, 8);
	put_be32(p + 36, key_b);
	put_be64(p + 40, buf_b + 0x2000);
}

static void umr_of_a_process_makes_a_strided_key(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	const uint8_t *from = rig_ptr(0, buf_a);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	strided_wqe(&w, mk, 0x18, 2);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	assert_int_equal(refs_of(key_b), 2);
	memset(rig_ptr(1, buf_b + 0x1000), 0, 0x2000);
	post_rdma(WQE_RDMA_WRITE, 0x5000, mk->obj.num << 8 | 0x33, 10 * 0x18);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	for (i = 0; i < 10; i++) {
		assert_memory_equal(rig_ptr(1, buf_b + 0x1000 + 0x40 * i), from + 0x18 * i, 16);
		assert_int_equal(*(uint8_t *)rig_ptr(1, buf_b + 0x1010 + 0x40 * i), 0);
		assert_memory_equal(rig_ptr(1, buf_b + 0x2000 + 0x20 * i), from + 0x18 * i + 16, 8);
	}
}

static void strided_block_is_refused(uint32_t bytes, uint16_t entries, const char *why)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	uint32_t key = mk->obj.num << 8 | mk->variant;
	struct rig_wqe w;

	trace_ring(rig.hca[1]->trace, true);
	strided_wqe(&w, mk, bytes, entries);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_true(mk->free);
	assert_int_equal(mk->klm[0].key, 0);
	expect_traced(rig.hca[1]->trace, "umr_refused", "\"qpn\":%u,\"mkey\":%u,\"why\":\"%s\"",
		      b->obj.num, key, why);
}

static void strided_block_has_its_entries_in_the_list(void **state)
{
	(void)state;
	strided_block_is_refused(0x18, 4, "a strided block lacks its entries");
}

static void strided_block_has_entries(void **state)
{
	(void)state;
	strided_block_is_refused(0x18, 0, "a strided block lacks its entries");
}

static void strided_block_is_as_long_as_its_entries(void **state)
{
	(void)state;
	strided_block_is_refused(0x19, 2, "the entries of a strided block have another length than "
				 "its head says");
}

static void umr_checks_for_free(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80 | 0x40, UMR_LIVE, 4);
}

/* A request that requires a free key changes a free key, and is refused for a key in use. */
static void umr_checks_for_in_use(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	uint8_t before[MKC_BYTES];
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x20, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	assert_false(mk->free);
	memcpy(before, mk->mkc, sizeof(before));
	umr_wqe(&w, mk, 0x80 | 0x20, UMR_LIVE, 4);
	IFC_SET64(mkc, w.b + 64, start_addr, 0x9000);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_cause(CQ_B, 1, CQE_REQ_ERR, ERR_UMR_REFUSED);
	assert_memory_equal(before, mk->mkc, sizeof(before));
}

static void umr_checks_may_not_contradict_each_other(void **state)
{
	(void)state;
	umr_fails(rig_umr_key(1, 4, MKM_KLM), 0x80 | 0x40 | 0x20, UMR_LIVE, 4, ERR_WQE_INVALID);
}

/* A process invalidates a key; it names a variant that is @off from the key's. */
static void invalidation_refused(struct mkey *mk, unsigned int off)
{
	bool was_free = mk->free;
	struct rig_wqe w;

	umr_wqe(&w, mk, 0x80, 1ull << 29, 0);
	IFC_SET(mkc, w.b + 64, free, 1);
	w.b[15] += off;
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_cause(CQ_B, 0, CQE_REQ_ERR, ERR_UMR_REFUSED);
	assert_true(mk->free == was_free);
}

static void umr_of_a_process_invalidates_no_free_key(void **state)
{
	(void)state;
	invalidation_refused(rig_umr_key(1, 4, MKM_KLM), 0);
}

static void umr_of_a_process_invalidates_by_the_variant(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);

	(void)state;
	IFC_SET(mkc, mk->mkc, free, 0);
	mkey_decode(mk);
	invalidation_refused(mk, 1);
}

static void umr_refuses_unknown_mask_bits(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
}

/* UMR may not change what the capabilities exclude. */
static void umr_page_size_can_be_excluded(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[0], umr_modify_entity_size_disabled, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 1, 4);
}

static void umr_atomic_right_can_be_excluded(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[1]->cap[0], umr_modify_atomic_disabled, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE, 4);
}

static void umr_relaxed_ordering_of_writes_needs_a_capability(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 25, 4);
}

static void umr_relaxed_ordering_of_reads_needs_a_capability(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 47, 4);
}

/* A request whose first entry has an offset of more than 16 bits needs a capability. */
static void umr_long_offset_needs_a_capability(void **state)
{
	struct mkey *mk = rig_umr_key(1, 0x10010, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x10, UMR_LIVE, 4);
	put_be32(w.b + 32, 1);
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
	assert_true(mk->free);
}

static void umr_takes_what_is_offered(void **state)
{
	struct mkey *mk = rig_umr_key(1, 0x10010, MKM_KLM);
	uint8_t *cap = rig.hca[1]->cap[CAP_GENERAL];
	struct rig_wqe w;

	(void)state;
	IFC_SET(cmd_hca_cap, cap, relaxed_ordering_write_umr, 1);
	IFC_SET(cmd_hca_cap, cap, relaxed_ordering_read_umr, 1);
	IFC_SET(cmd_hca_cap, cap, umr_extended_translation_offset, 1);
	umr_wqe(&w, mk, 0x80 | 0x10, 1ull << 25 | 1ull << 47, 4);
	put_be32(w.b + 32, 1);			/* the offset is 0x10000 */
	IFC_SET(mkc, w.b + 64, relaxed_ordering_write, 1);
	IFC_SET(mkc, w.b + 64, relaxed_ordering_read, 1);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	assert_int_equal(IFC_GET(mkc, mk->mkc, relaxed_ordering_write), 1);
	assert_int_equal(IFC_GET(mkc, mk->mkc, relaxed_ordering_read), 1);
	assert_int_equal(mk->klm[0x10000].key, key_b);
	assert_int_equal(mk->klm[0].key, 0);
}

static void umr_wqe_too_short_is_refused(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	w.ds = 7;
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_LOCAL_QP_OP);
}

/* A process that could set addresses could make its key translate to any host address. */
static void umr_of_a_process_may_not_set_addresses(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_MTT), 0x80, UMR_LIVE, 4);
}

static void umr_of_a_process_may_not_set_the_page_size(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_MTT), 0x80, 1ull << 1, 0);
}

/* Not even a queue pair of the kernel (fre) may change the start of a key for device memory. */
static void umr_may_not_move_device_memory_keys(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_MEMIC);

	(void)state;
	IFC_SET(qpc, b->qpc, fre, 1);
	umr_refused(mk, 0x80, 1ull << 6, 0);
}

/* The HCA records refused requests of the driver; a process learns of its own by a CQE. */
static void refused_umr_of_the_driver_is_on_record(void **state)
{
	struct expect *e = rig.hca[1]->expect;

	(void)state;
	b->type = QPT_REG_UMR;
	IFC_SET(qpc, b->qpc, fre, 1);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
	assert_int_equal(expect_unexpected(e, 0)->kind, INCIDENT_UMR);
	assert_string_equal(expect_unexpected(e, 0)->why, "unknown bit in mkey_mask");
}

static void refused_umr_of_a_process_is_not_on_record(void **state)
{
	(void)state;
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE | 1ull << 60, 4);
	assert_null(expect_unexpected(rig.hca[1]->expect, 0));
}

static void injected_refusal_of_umr_is_not_on_record(void **state)
{
	(void)state;
	b->type = QPT_REG_UMR;
	inject_set_umrs(rig.hca[1]->inject, 1, 0);
	umr_refused(rig_umr_key(1, 4, MKM_KLM), 0x80, UMR_LIVE, 4);
	assert_null(expect_unexpected(rig.hca[1]->expect, 0));
}

static void umr_list_too_short_is_refused(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	w.ds = 9;
	rig_send(1, b, w.b, w.ds);
	rig_run(1, 1000);
	expect(CQ_B, 0, CQE_REQ_ERR, SYND_MW_BIND);
}

static void umr_registers_memory_from_a_list(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_MTT);
	uint64_t list, pages;
	struct rig_wqe w;
	uint32_t lkey;

	(void)state;
	IFC_SET(qpc, b->qpc, fre, 1);
	rig.brk[1] = (rig.brk[1] + 4095) & ~4095ull;
	list = rig_alloc(1, 64);
	lkey = rig_mkey(1, list, 64, MK_LOCAL_READ);
	rig.brk[1] = (rig.brk[1] + 4095) & ~4095ull;
	pages = rig_alloc(1, 8192);
	put_be64(rig_ptr(1, list), (pages + 4096) | 3);		/* in the other order */
	put_be64(rig_ptr(1, list + 8), pages | 3);
	umr_wqe(&w, mk, 0x20 | 0x10, UMR_LIVE, 4);
	IFC_SET64(mkc, w.b + 64, start_addr, 0x7000);
	IFC_SET64(mkc, w.b + 64, len, 8192);
	memset(w.b + 128, 0, 64);
	put_be32(w.b + 128, 64);
	put_be32(w.b + 132, lkey);
	put_be64(w.b + 136, list);
	w.ds = 9;
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_B, 0, CQE_REQ, 0);
	post_rdma(WQE_RDMA_WRITE, 0x7000, mk->obj.num << 8 | 0x33, 8192);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(1, pages + 4096), rig_ptr(0, buf_a), 4096);
	assert_memory_equal(rig_ptr(1, pages), rig_ptr(0, buf_a + 4096), 4096);
}

static void send_with_invalidate_invalidates_the_key(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	IFC_SET(mkc, mk->mkc, free, 0);
	IFC_SET(mkc, mk->mkc, en_rinval, 1);
	mkey_decode(mk);
	rig_recv(1, b, buf_b, 64, key_b);
	rig_recv(1, b, buf_b, 64, key_b);
	wq_ctrl(&w, WQE_SEND_INVAL, true, mk->obj.num << 8 | mk->variant);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_SEND_INV, 0);
	assert_true(mk->free);
	/* Remote invalidation is not allowed for this key. */
	wq_ctrl(&w, WQE_SEND_INVAL, true, key_b);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_false(mkey_find(rig.hca[1], key_b) == NULL);
	assert_int_equal(rig.hca[1]->count.remote_inval, 1);
}

/* Each condition under which a peer may not invalidate a key is tested by itself. */
static void peer_may_not_invalidate_every_key(void **state)
{
	enum { NOT_ALLOWED, NO_UMR, OTHER_PD, OTHER_QP, FREE, OTHER_VARIANT, FINE };
	unsigned int i;

	(void)state;
	for (i = NOT_ALLOWED; i <= FINE; i++) {
		struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
		uint8_t *c = mk->mkc;

		IFC_SET(mkc, c, free, i == FREE);
		IFC_SET(mkc, c, en_rinval, i != NOT_ALLOWED);
		IFC_SET(mkc, c, umr_en, i != NO_UMR);
		IFC_SET(mkc, c, pd, i == OTHER_PD ? RIG_PD + 1 : RIG_PD);
		IFC_SET(mkc, c, qpn, i == OTHER_QP ? b->obj.num + 1 : b->obj.num);
		mkey_decode(mk);
		if (umr_invalidate(rig.hca[1], b, mk->obj.num << 8 |
				   (mk->variant ^ (i == OTHER_VARIANT))) != (i == FINE))
			fail_msg("key %u", i);
		assert_int_equal(mk->free, i == FREE || i == FINE);
	}
}

static void invalidated_window_lets_its_region_go(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;

	(void)state;
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(refs_of(key_b), 1);
	IFC_SET(mkc, mk->mkc, en_rinval, 1);
	mkey_decode(mk);
	assert_true(umr_invalidate(rig.hca[1], b, mk->obj.num << 8 | mk->variant));
	assert_int_equal(refs_of(key_b), 0);
}

/* A request can demand that the key is not bound to another queue pair. */
static void umr_checks_the_bound_queue_pair(void **state)
{
	struct mkey *mk = rig_umr_key(1, 4, MKM_KLM);
	struct rig_wqe w;
	unsigned int i;

	(void)state;
	umr_wqe(&w, mk, 0x80 | 0x08, UMR_LIVE, 4);
	IFC_SET(mkc, mk->mkc, qpn, MKEY_ANY_QP);
	mkey_decode(mk);
	for (i = 0; i < 2; i++) {		/* the key is bound to no QP, then to this one */
		put_be32(w.b + 12, mk->obj.num << 8 | mk->variant);
		IFC_SET(mkc, w.b + 64, qpn, b->obj.num + i);
		rig_send(1, b, w.b, w.ds);
		assert_int_equal(rig_run(i + 1, 1000), i + 1);
		expect(CQ_B, i, CQE_REQ, 0);
		assert_int_equal(mk->qpn, b->obj.num + i);
	}
	put_be32(w.b + 12, mk->obj.num << 8 | mk->variant);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(3, 1000), 3);
	expect(CQ_B, 2, CQE_REQ_ERR, SYND_MW_BIND);
}

static void trace_tells_of_requests_and_refusals(void **state)
{
	struct mkey *mk = rig_umr_key(1, 16, MKM_KLM);
	struct trace *t = rig.hca[1]->trace;
	uint32_t key = mk->obj.num << 8 | mk->variant;
	struct rig_wqe w;

	(void)state;
	trace_ring(t, true);
	umr_wqe(&w, mk, 0x80, UMR_LIVE, 4);
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	expect_traced(t, "umr", "\"qpn\":%u,\"mkey\":%u,\"flags\":128,\"fence\":0,\"mask\":%llu,"
		      "\"octowords\":4,\"offset\":0,\"log_page_size\":0,\"list\":0,"
		      "\"list_bytes\":0,\"lkey\":0", b->obj.num, key, UMR_LIVE);
	umr_wqe(&w, mk, 0x10, 1ull << 60, 4);
	w.b[11] |= 2 << 5;			/* fence */
	put_be16(w.b + 16 + 6, 8);		/* octowords before the part */
	IFC_SET(mkc, w.b + 64, log_page_size, 12);
	key = mk->obj.num << 8 | 0x33;
	w.ds = 9;
	rig_send(1, b, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect_traced(t, "umr", "\"qpn\":%u,\"mkey\":%u,\"flags\":16,\"fence\":2,\"mask\":%llu,"
		      "\"octowords\":4,\"offset\":8,\"log_page_size\":12,\"list\":%llu,"
		      "\"list_bytes\":256,\"lkey\":%u", b->obj.num, key, 1ull << 60,
		      (unsigned long long)buf_b + 0x1000, key_b);
	expect_traced(t, "umr_refused", "\"qpn\":%u,\"mkey\":%u,\"why\":\"%s\"", b->obj.num, key,
		      "unknown bit in mkey_mask");
	assert_int_equal(rig.hca[1]->count.umr, 1);
	assert_int_equal(rig.hca[1]->count.umr_refused, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(umr_binds_no_window_without_the_capability),
		RC(umr_of_an_indirect_key_can_be_disabled), RC(umr_binds_a_window),
		RC(umr_holds_the_bound_region), RC(umr_does_not_hold_regions_of_other_pds),
		RC(umr_needs_umr_en), RC(umr_of_a_freed_key_says_so), RC(umr_stays_in_its_pd),
		RC(umr_of_a_process_moves_no_key_to_another_pd),
		RC(umr_must_fit_the_key), RC(umr_behind_an_offset_must_fit_the_key),
		RC(umr_of_a_part_goes_to_the_start), RC(umr_of_a_part_goes_to_its_offset),
		RC(umr_with_an_offset_needs_the_offset_flag),
		RC(umr_with_a_large_offset_needs_the_offset_flag),
		RC(umr_without_data_needs_the_inline_flag),
		RC(umr_of_a_process_makes_a_strided_key),
		RC(strided_block_has_its_entries_in_the_list), RC(strided_block_has_entries),
		RC(strided_block_is_as_long_as_its_entries),
		RC(umr_checks_for_free), RC(umr_checks_for_in_use),
		RC(umr_checks_may_not_contradict_each_other),
		RC(umr_of_a_process_invalidates_no_free_key),
		RC(umr_of_a_process_invalidates_by_the_variant),
		RC(umr_refuses_unknown_mask_bits),
		RC(umr_page_size_can_be_excluded), RC(umr_atomic_right_can_be_excluded),
		RC(umr_relaxed_ordering_of_writes_needs_a_capability),
		RC(umr_relaxed_ordering_of_reads_needs_a_capability),
		RC(umr_long_offset_needs_a_capability), RC(umr_takes_what_is_offered),
		RC(umr_wqe_too_short_is_refused),
		RC(umr_of_a_process_may_not_set_addresses),
		RC(umr_of_a_process_may_not_set_the_page_size),
		RC(umr_may_not_move_device_memory_keys),
		RC(refused_umr_of_the_driver_is_on_record),
		RC(refused_umr_of_a_process_is_not_on_record),
		RC(injected_refusal_of_umr_is_not_on_record), RC(umr_list_too_short_is_refused),
		RC(umr_registers_memory_from_a_list), RC(send_with_invalidate_invalidates_the_key),
		RC(peer_may_not_invalidate_every_key), RC(invalidated_window_lets_its_region_go),
		RC(umr_checks_the_bound_queue_pair), RC(trace_tells_of_requests_and_refusals),
	};

	return cmocka_run_group_tests_name("umr_wqe", tests, NULL, NULL);
}
