// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: translation for every page size and mode, every refusal of an
 * access, and what CREATE_MKEY has to refuse.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "cmd.h"
#include "ifc.h"
#include "mem.h"
#include "mkey.h"
#include "object.h"
#include "objrig.h"
#include "profile.h"
#include "util.h"

#define ALL_ACCESS (MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)
#define QPN 0x77
#define READ_ONLY	0x700000000000ull	/* address of memory that a test maps */

struct key_params {
	uint8_t mode;
	unsigned int log_page;
	uint64_t start, len;
	unsigned int access;
	uint32_t qpn;
	bool free, umr_en, length64, pg_access;
	uint32_t octo, actual;	/* 0: computed from the number of entries */
	uint16_t bit;		/* of the context: set as well, if it is not 0 */
	uint16_t uid;
};

static uint32_t pd;
static struct mkey_user user;

static int setup(void **state)
{
	uint64_t i;

	rig_setup(state);
	pd = rig_pd();
	user = (struct mkey_user){ .pdn = pd, .qpn = QPN };
	for (i = 0; i < RAM_SIZE; i += 8)	/* each word holds its address */
		put_be64(rig.ram + i, RAM_BASE + i);
	return 0;
}

static uint8_t create(const struct key_params *p, const uint64_t *mtt, const struct klm *klm,
		      unsigned int n, uint32_t *key)
{
	unsigned int octo = klm ? n : (n + 1) / 2;
	size_t len = IFC_BYTE(create_mkey_in, klm_pas_mtt) + 16 * octo;
	uint8_t *in = calloc(1, len), out[IFC_SZ(create_mkey_out)];
	uint8_t *c = IFC_ADDR(create_mkey_in, in, memory_key_mkey_entry);
	uint8_t *xlt = IFC_ADDR(create_mkey_in, in, klm_pas_mtt), st;
	unsigned int i;

	IFC_SET(mkc, c, access_mode_1_0, p->mode & 3);
	IFC_SET(mkc, c, access_mode_4_2, p->mode >> 2);
	IFC_SET(mkc, c, lr, !!(p->access & MK_LOCAL_READ));
	IFC_SET(mkc, c, lw, !!(p->access & MK_LOCAL_WRITE));
	IFC_SET(mkc, c, rr, !!(p->access & MK_REMOTE_READ));
	IFC_SET(mkc, c, rw, !!(p->access & MK_REMOTE_WRITE));
	IFC_SET(mkc, c, a, !!(p->access & MK_ATOMIC));
	IFC_SET(mkc, c, free, p->free);
	IFC_SET(mkc, c, umr_en, p->umr_en);
	IFC_SET(mkc, c, length64, p->length64);
	IFC_SET(mkc, c, qpn, p->qpn ? p->qpn : 0xffffff);
	IFC_SET(mkc, c, mkey_7_0, 0x5a);
	IFC_SET(mkc, c, pd, pd);
	IFC_SET64(mkc, c, start_addr, p->start);
	IFC_SET64(mkc, c, len, p->len);
	IFC_SET(mkc, c, log_page_size, p->log_page);
	IFC_SET(mkc, c, translations_octword_size, p->octo ? p->octo : octo);
	if (p->bit)
		ifc_set_bits(c, p->bit, 1, 1);
	IFC_SET(create_mkey_in, in, pg_access, p->pg_access);
	IFC_SET(create_mkey_in, in, translations_octword_actual_size,
		p->actual ? p->actual : octo);
	for (i = 0; mtt && i < n; i++)
		put_be64(xlt + 8 * i, mtt[i] | 3);
	for (i = 0; klm && i < n; i++) {
		put_be32(xlt + 16 * i, klm[i].bcount);
		put_be32(xlt + 16 * i + 4, klm[i].key);
		put_be64(xlt + 16 * i + 8, klm[i].va);
	}
	st = rig_cmd(MLX5_CMD_OP_CREATE_MKEY, 0, p->uid, in, len, out, sizeof(out));
	free(in);
	*key = IFC_GET(create_mkey_out, out, mkey_index) << 8 | 0x5a;
	return st;
}

static enum mk_result rd(uint32_t key, uint64_t va, void *buf, size_t len, unsigned int access)
{
	return mkey_read(rig.hca, &user, key, va, buf, len, access);
}

static enum mk_result wr(uint32_t key, uint64_t va, const void *buf, size_t len)
{
	return mkey_write(rig.hca, &user, key, va, buf, len, MK_LOCAL_WRITE);
}

/* Compute the guest address of byte @va of an MTT key, without the HCA. */
static uint64_t phys(const struct key_params *p, const uint64_t *mtt, uint64_t va)
{
	uint64_t page = 1ull << p->log_page;

	return mtt[(va >> p->log_page) - (p->start >> p->log_page)] + (va & (page - 1));
}

static void compare(const struct key_params *p, const uint64_t *mtt, uint32_t key, uint64_t va,
		    size_t len)
{
	uint8_t *buf = malloc(len);
	size_t i;

	assert_int_equal(rd(key, va, buf, len, MK_LOCAL_READ), MK_OK);
	for (i = 0; i < len; i++)
		if (buf[i] != *ram(phys(p, mtt, va + i)))
			fail_msg("page 2^%u: wrong byte at +0x%zx", p->log_page, i);
	memset(buf, 0xa5, len);
	assert_int_equal(wr(key, va, buf, len), MK_OK);
	for (i = 0; i < len; i++)
		if (*ram(phys(p, mtt, va + i)) != 0xa5)
			fail_msg("page 2^%u: byte not written at +0x%zx", p->log_page, i);
	free(buf);
}

/* The key's pages are out of order, but two of them are contiguous. */
static void test_every_page_size(void **state)
{
	unsigned int log;

	(void)state;
	for (log = 12; log <= 31; log++) {
		uint64_t page = 1ull << log;
		unsigned int n = log <= 23 ? 5 : 1, i;
		uint64_t mtt[5] = { 4, 1, 2, 0, 3 };
		struct key_params p = { .mode = MKM_MTT, .log_page = log, .access = ALL_ACCESS };
		uint64_t span = n == 1 && page > RAM_SIZE ? RAM_SIZE : page;
		uint32_t key;

		for (i = 0; i < n; i++)
			mtt[i] = n == 1 ? RAM_BASE : RAM_BASE + mtt[i] * page;
		p.start = 7 * page + 0x123;
		p.len = n * span - 0x123 - 0x77;
		assert_int_equal(create(&p, mtt, NULL, n, &key), ST_OK);
		compare(&p, mtt, key, p.start, 1);
		compare(&p, mtt, key, p.start + p.len - 1, 1);
		compare(&p, mtt, key, p.start + 5, 0x500);
		for (i = 1; i < n; i++)
			compare(&p, mtt, key, (7 + i) * page - 0x80, 0x100);
		if (log <= 16)
			compare(&p, mtt, key, p.start, p.len);
		assert_int_equal(mkey_check(rig.hca, &user, key, p.start, p.len + 1,
					    MK_LOCAL_READ), MK_OUT_OF_RANGE);
		assert_int_equal(mkey_check(rig.hca, &user, key, p.start - 1, 1, MK_LOCAL_READ),
				 MK_OUT_OF_RANGE);
	}
}

static void test_physical(void **state)
{
	struct key_params p = { .mode = MKM_PA, .length64 = true, .access = ALL_ACCESS };
	uint8_t buf[16];
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, NULL, 0, &key), ST_OK);
	assert_int_equal(rd(key, RAM_BASE + 0x1000, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x1000);
	assert_int_equal(rd(key, 0x1000, buf, 8, MK_LOCAL_READ), MK_FAULT);
	assert_int_equal(rd(key, RAM_BASE + RAM_SIZE - 4, buf, 8, MK_LOCAL_READ), MK_FAULT);
}

static uint32_t small_key(unsigned int access, uint64_t start, uint64_t len, uint64_t pa)
{
	struct key_params p = { .mode = MKM_MTT, .log_page = 12, .access = access, .start = start,
				.len = len };
	uint64_t mtt[2] = { pa, pa + 0x1000 };
	uint32_t key;

	assert_int_equal(create(&p, mtt, NULL, 2, &key), ST_OK);
	return key;
}

static void test_klm_list(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0x1000, 0x1000, RAM_BASE);
	uint32_t b = small_key(ALL_ACCESS, 0x8000, 0x1800, RAM_BASE + 0x10000);
	struct klm klm[3] = { { 0x10, a, 0x1ff0 }, { 0x20, b, 0x8000 }, { 8, a, 0x1000 } };
	struct key_params p = { .mode = MKM_KLM, .start = 0x40, .len = 0x38, .access = ALL_ACCESS };
	uint8_t buf[0x38];
	uint32_t key, bad;

	(void)state;
	assert_int_equal(create(&p, NULL, klm, 3, &key), ST_OK);
	assert_int_equal(rd(key, 0x40, buf, sizeof(buf), MK_REMOTE_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0xff0);
	assert_true(get_be64(buf + 0x10) == RAM_BASE + 0x10000);
	assert_true(get_be64(buf + 0x30) == RAM_BASE);
	assert_int_equal(rd(key, 0x48, buf, 0x10, MK_REMOTE_READ), MK_OK);
	assert_true(get_be64(buf + 8) == RAM_BASE + 0x10000);
	/* An inner key that is too short refuses an access that the outer key allows. */
	klm[1] = (struct klm){ 0x20, b, 0x97f0 };
	assert_int_equal(create(&p, NULL, klm, 3, &bad), ST_OK);
	assert_int_equal(rd(bad, 0x40, buf, sizeof(buf), MK_REMOTE_READ), MK_OUT_OF_RANGE);
}

/* A strided block of two entries and three cycles, and a plain KLM behind it. */
#define STRIDED(a, b) {						\
	{ 0x18, MKEY_STRIDE_OP, 3ull << 32 | 2 },		\
	{ 0x20 << 16 | 0x10, a, 0x1000 },			\
	{ 0x10 << 16 | 8, b, 0x8000 },				\
	{ 8, a, 0x1800 },					\
}

static void test_strided_block(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0x1000, 0x1000, RAM_BASE);
	uint32_t b = small_key(ALL_ACCESS, 0x8000, 0x1000, RAM_BASE + 0x10000);
	struct klm klm[4] = STRIDED(a, b);
	struct key_params p = { .mode = MKM_KLM, .start = 0x40, .len = 0x50, .access = ALL_ACCESS };
	uint8_t buf[0x50];
	uint32_t key, i;

	(void)state;
	assert_int_equal(create(&p, NULL, klm, 4, &key), ST_OK);
	assert_int_equal(rd(key, 0x40, buf, sizeof(buf), MK_LOCAL_READ), MK_OK);
	for (i = 0; i < 3; i++) {
		assert_true(get_be64(buf + 0x18 * i) == RAM_BASE + 0x20 * i);
		assert_true(get_be64(buf + 0x18 * i + 8) == RAM_BASE + 0x20 * i + 8);
		assert_true(get_be64(buf + 0x18 * i + 0x10) == RAM_BASE + 0x10000 + 0x10 * i);
	}
	assert_true(get_be64(buf + 0x48) == RAM_BASE + 0x800);
	/* From the middle of the second cycle into the third. */
	assert_int_equal(rd(key, 0x40 + 0x20, buf, 0x18, MK_REMOTE_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x28);
	assert_true(get_be64(buf + 8) == RAM_BASE + 0x10010);
	assert_true(get_be64(buf + 0x10) == RAM_BASE + 0x40);
	memset(buf, 0xa5, sizeof(buf));
	assert_int_equal(wr(key, 0x40 + 0x18, buf, 0x18), MK_OK);
	assert_int_equal(*ram(RAM_BASE + 0x1f), 0x18);
	assert_int_equal(*ram(RAM_BASE + 0x20), 0xa5);
	assert_int_equal(*ram(RAM_BASE + 0x2f), 0xa5);
	assert_int_equal(*ram(RAM_BASE + 0x37), 0x30);
	assert_int_equal(*ram(RAM_BASE + 0x10017), 0xa5);
	assert_int_equal(*ram(RAM_BASE + 0x1001f), 0x18);
	/* The key is longer than its table. */
	p.len = 0x60;
	assert_int_equal(create(&p, NULL, klm, 4, &key), ST_OK);
	assert_int_equal(rd(key, 0x40 + 0x48, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_int_equal(rd(key, 0x40 + 0x48, buf, 9, MK_LOCAL_READ), MK_OUT_OF_RANGE);
}

static void test_strided_block_is_whole(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0x1000, 0x1000, RAM_BASE);
	const struct klm good[4] = STRIDED(a, a);
	struct klm late[5] = { { 8, a, 0x1000 } };
	const struct { uint32_t bytes, key; uint64_t va; } bad[] = {
		{ 0x18, MKEY_STRIDE_OP, 3ull << 32 },		/* no entries */
		{ 0x18, MKEY_STRIDE_OP, 3ull << 32 | 4 },	/* more entries than follow */
		{ 0x18, MKEY_STRIDE_OP, 3ull << 32 | 1 },	/* an entry of 0x10 bytes */
		{ 0x17, MKEY_STRIDE_OP, 3ull << 32 | 2 },
		{ 0, MKEY_STRIDE_OP, 3ull << 32 | 2 },
		{ 0x18, MKEY_STRIDE_OP, 3ull << 32 | 1 << 16 | 2 },	/* a reserved bit */
	};
	struct key_params p = { .mode = MKM_KLM, .len = 0x50, .access = ALL_ACCESS };
	struct klm klm[4];
	uint8_t buf[8];
	struct mkey *mk;
	uint32_t key;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memcpy(klm, good, sizeof(klm));
		klm[0] = (struct klm){ bad[i].bytes, bad[i].key, bad[i].va };
		if (create(&p, NULL, klm, 4, &key) != ST_BAD_PARAM)
			fail_msg("block %zu is taken", i);
	}
	/* A block behind another entry. */
	memcpy(late + 1, good, sizeof(good));
	assert_int_equal(create(&p, NULL, late, 5, &key), ST_OK);
	late[1].va = 3ull << 32 | 4;
	assert_refused(create(&p, NULL, late, 5, &key), ST_BAD_PARAM, WHY_MKEY_STRIDED_BLOCK);
	/* In a key of another mode, the same entry is not the head of a block. */
	p.mode = MKM_KSM;
	p.log_page = 12;
	assert_int_equal(create(&p, NULL, klm, 4, &key), ST_OK);
	/* A table may be written in parts, so each access checks the block as a whole. */
	p.mode = MKM_KLM;
	assert_int_equal(create(&p, NULL, good, 4, &key), ST_OK);
	mk = (struct mkey *)obj_find(rig.hca, OBJ_MKEY, key >> 8);
	mk->klm[0].va = 3ull << 32 | mk->nent;
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	mk->klm[0].va = 0xffffffffull << 32;
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	mk->klm[0].va = 3ull << 32 | 2;
	mk->klm[0].bcount = 0;
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	/* Cycles without bytes do not stall the HCA. */
	mk->klm[0] = (struct klm){ 1, MKEY_STRIDE_OP, 0xffffffffull << 32 | 2 };
	mk->klm[1].bcount = mk->klm[2].bcount = 0;
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
}

/* The operands of an atomic operation are in one piece and aligned, also behind an indirect key. */
static void test_atomic_operands_are_not_divided(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0x1000, 0x1000, RAM_BASE);
	struct klm klm[2] = { { 4, a, 0x1000 }, { 0x20, a, 0x1004 } };
	struct key_params p = { .mode = MKM_KLM, .len = 0x24, .access = ALL_ACCESS };
	enum mk_result res;
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, klm, 2, &key), ST_OK);
	assert_null(mkey_atomic_ptr(rig.hca, &user, key, 0, 8, &res));
	assert_int_equal(res, MK_BAD_ACCESS);
	assert_ptr_equal(mkey_atomic_ptr(rig.hca, &user, key, 8, 8, &res), ram(RAM_BASE + 8));
	klm[1].va = 0x1008;	/* byte 8 of the key is byte 12 of the memory */
	assert_int_equal(create(&p, NULL, klm, 2, &key), ST_OK);
	assert_null(mkey_atomic_ptr(rig.hca, &user, key, 8, 8, &res));
	assert_int_equal(res, MK_BAD_ACCESS);
}

/* QUERY_MKEY gives as many entries of the table as its output has room for. */
static void test_query_shows_the_table(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0x1000, 0x1000, RAM_BASE);
	struct klm klm[5] = { { 1, a, 0x1000 }, { 2, a, 0x1100 }, { 3, a, 0x1200 },
			      { 4, a, 0x1300 }, { 5, a, 0x1400 } };
	struct key_params p = { .mode = MKM_KLM, .len = 15, .access = ALL_ACCESS };
	uint8_t in[IFC_SZ(query_mkey_in)] = {}, out[IFC_SZ(query_mkey_out) + 3 * 16];
	const uint8_t *xlt = IFC_ADDR(query_mkey_out, out, bsf0_klm0_pas_mtt0_1);
	uint32_t key, i;

	(void)state;
	assert_int_equal(create(&p, NULL, klm, 5, &key), ST_OK);
	IFC_SET(query_mkey_in, in, mkey_index, key >> 8);
	IFC_SET(query_mkey_in, in, pg_access, 1);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_MKEY, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(IFC_GET(query_mkey_out, out, memory_key_mkey_entry.mkey_7_0), 0x5a);
	for (i = 0; i < 5; i++) {
		assert_int_equal(get_be32(xlt + 16 * i), i + 1);
		assert_int_equal(get_be32(xlt + 16 * i + 4), a);
		assert_true(get_be64(xlt + 16 * i + 8) == 0x1000 + 0x100 * i);
	}
}

static void test_inner_key_needs_local_rights_only(void **state)
{
	uint32_t ro = small_key(MK_LOCAL_READ, 0, 0x1000, RAM_BASE);
	struct klm klm = { 0x1000, ro, 0 };
	struct key_params p = { .mode = MKM_KLM, .len = 0x1000, .access = ALL_ACCESS };
	uint8_t buf[8] = {};
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, &klm, 1, &key), ST_OK);
	assert_int_equal(rd(key, 0, buf, 8, MK_REMOTE_READ), MK_OK);
	assert_int_equal(mkey_write(rig.hca, &user, key, 0, buf, 8, MK_REMOTE_WRITE),
			 MK_BAD_ACCESS);
}

static void test_ksm(void **state)
{
	uint32_t a = small_key(ALL_ACCESS, 0, 0x2000, RAM_BASE);
	uint32_t b = small_key(ALL_ACCESS, 0, 0x2000, RAM_BASE + 0x100000);
	struct klm ksm[2] = { { 0, b, 0x1000 }, { 0, a, 0 } };
	struct key_params p = { .mode = MKM_KSM, .log_page = 12, .start = 0x5800, .len = 0x1800,
				.access = ALL_ACCESS };
	uint8_t buf[16];
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, ksm, 2, &key), ST_OK);
	assert_int_equal(rd(key, 0x5800, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x101000);
	assert_int_equal(rd(key, 0x67f8, buf, 16, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x101ff8);
	assert_true(get_be64(buf + 8) == RAM_BASE);
	assert_int_equal(rd(key, 0x6ff8, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x7f8);
	/* Two entries are enough for two times their size, at any address. */
	p.len = 0x2000;
	assert_int_equal(create(&p, NULL, ksm, 2, &key), ST_OK);
	p.len = 0x2001;
	assert_refused(create(&p, NULL, ksm, 2, &key), ST_BAD_PARAM, WHY_MKEY_TRANSLATION);
}

static void test_key_that_refers_to_itself_is_refused(void **state)
{
	struct key_params p = { .mode = MKM_KLM, .len = 0x1000, .access = ALL_ACCESS };
	struct klm klm = { 0x1000, 0x10 << 8 | 0x5a, 0 };	/* the first index: this key */
	uint8_t buf[8];
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, &klm, 1, &key), ST_OK);
	assert_int_equal(key, klm.key);
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
}

static void test_disallowed_accesses_are_refused(void **state)
{
	const struct mkey_user stranger = { .pdn = pd + 1, .qpn = QPN };
	uint32_t key = small_key(MK_LOCAL_READ | MK_REMOTE_READ, 0x1000, 0x1000, RAM_BASE);
	struct key_params qp_only = { .mode = MKM_PA, .length64 = true, .access = ALL_ACCESS,
				      .qpn = QPN + 1 };
	enum mk_result res;
	uint8_t buf[8] = {};
	uint32_t other;

	(void)state;
	assert_int_equal(rd(key, 0x1000, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_int_equal(rd(key ^ 1, 0x1000, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	assert_int_equal(rd(key + 0x100, 0x1000, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	assert_int_equal(mkey_read(rig.hca, &stranger, key, 0x1000, buf, 8, MK_LOCAL_READ),
			 MK_BAD_PD);
	assert_int_equal(wr(key, 0x1000, buf, 8), MK_BAD_ACCESS);
	assert_int_equal(rd(key, 0x1000, buf, 8, MK_REMOTE_WRITE), MK_BAD_ACCESS);
	assert_int_equal(rd(key, 0x1ffc, buf, 8, MK_LOCAL_READ), MK_OUT_OF_RANGE);
	assert_int_equal(rd(key, ~0ull - 3, buf, 8, MK_LOCAL_READ), MK_OUT_OF_RANGE);
	assert_null(mkey_atomic_ptr(rig.hca, &user, key, 0x1000, 8, &res));
	assert_int_equal(res, MK_BAD_ACCESS);
	assert_int_equal(create(&qp_only, NULL, NULL, 0, &other), ST_OK);
	assert_int_equal(rd(other, RAM_BASE, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
}

static void test_atomic(void **state)
{
	uint32_t key = small_key(ALL_ACCESS, 0x1000, 0x2000, RAM_BASE);
	enum mk_result res;

	(void)state;
	assert_ptr_equal(mkey_atomic_ptr(rig.hca, &user, key, 0x1ff8, 8, &res),
			 ram(RAM_BASE + 0xff8));
	assert_ptr_equal(mkey_atomic_ptr(rig.hca, &user, key, 0x2000, 8, &res),
			 ram(RAM_BASE + 0x1000));
	assert_null(mkey_atomic_ptr(rig.hca, &user, key, 0x3000, 8, &res));
	assert_int_equal(res, MK_OUT_OF_RANGE);
	/* Memory that the device may only read, and that the key allows to write. */
	assert_int_equal(mem_map_fd(rig.hca, READ_ONLY, 0x1000, rig.fd, 0, true, false), 0);
	key = small_key(ALL_ACCESS, 0x1000, 0x1000, READ_ONLY);
	assert_null(mkey_atomic_ptr(rig.hca, &user, key, 0x1000, 8, &res));
	assert_int_equal(res, MK_FAULT);
}

static void test_null_key(void **state)
{
	uint8_t buf[8] = { 1, 2, 3 }, zero[8] = {};

	(void)state;
	assert_int_equal(rd(MKEY_NULL, 0x1234, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_memory_equal(buf, zero, 8);
	assert_int_equal(wr(MKEY_NULL, 0x1234, buf, 8), MK_OK);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], null_mkey, 0);
	assert_int_equal(rd(MKEY_NULL, 0x1234, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
}

static void test_reserved_lkey_needs_rlky(void **state)
{
	uint8_t buf[8];

	(void)state;
	assert_int_equal(rd(MKEY_RESD_LKEY, RAM_BASE, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
}

/* A peer that could name the reserved key would reach all memory. */
static void test_reserved_lkey_is_no_rkey(void **state)
{
	uint8_t buf[8] = {};
	enum mk_result res;

	(void)state;
	user.rlky = true;
	assert_int_equal(rd(MKEY_RESD_LKEY, RAM_BASE + 8, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 8);
	assert_int_equal(rd(MKEY_RESD_LKEY, RAM_BASE, buf, 8, MK_REMOTE_READ), MK_BAD_KEY);
	assert_int_equal(mkey_write(rig.hca, &user, MKEY_RESD_LKEY, RAM_BASE, buf, 8,
				    MK_REMOTE_WRITE), MK_BAD_KEY);
	assert_null(mkey_atomic_ptr(rig.hca, &user, MKEY_RESD_LKEY, RAM_BASE, 8, &res));
	assert_int_equal(res, MK_BAD_KEY);
}

static void test_free_key_and_umr(void **state)
{
	struct key_params p = { .mode = MKM_MTT, .free = true, .umr_en = true, .octo = 8 };
	uint8_t xlt[16], buf[8];
	struct mkey *mk;
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, NULL, NULL, 0, &key), ST_OK);
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_KEY);
	mk = (struct mkey *)obj_find(rig.hca, OBJ_MKEY, key >> 8);
	assert_int_equal(mkey_xlt_octowords(mk), 8);
	put_be64(xlt, (RAM_BASE + 0x3000) | 3);
	put_be64(xlt + 8, RAM_BASE | 3);
	assert_int_equal(mkey_xlt_write(mk, 7, xlt, 1), 0);
	assert_int_not_equal(mkey_xlt_write(mk, 7, xlt, 2), 0);
	assert_int_not_equal(mkey_xlt_write(mk, ~0ull, xlt, 2), 0);
	assert_int_equal(mkey_xlt_write(mk, 0, xlt, 1), 0);
	IFC_SET(mkc, mk->mkc, free, 0);
	IFC_SET(mkc, mk->mkc, lr, 1);
	IFC_SET(mkc, mk->mkc, log_page_size, 12);
	IFC_SET64(mkc, mk->mkc, len, 0x2000);
	assert_true(mkey_update(rig.hca, mk));
	assert_int_equal(rd(key, 8, buf, 8, MK_LOCAL_READ), MK_OK);
	assert_true(get_be64(buf) == RAM_BASE + 0x3008);
	/* A PD that does not exist is not taken. */
	IFC_SET(mkc, mk->mkc, pd, pd + 5);
	assert_false(mkey_update(rig.hca, mk));
	assert_int_equal(mk->pdn, pd);
}

static void test_key_holds_its_pd(void **state)
{
	uint8_t in[IFC_SZ(dealloc_pd_in)] = {}, out[IFC_SZ(dealloc_pd_out)];
	uint8_t din[IFC_SZ(destroy_mkey_in)] = {}, dout[IFC_SZ(destroy_mkey_out)];
	uint32_t key = small_key(ALL_ACCESS, 0, 0x1000, RAM_BASE);

	(void)state;
	IFC_SET(dealloc_pd_in, in, pd, pd);
	assert_refused(rig_cmd(MLX5_CMD_OP_DEALLOC_PD, 0, 0, in, sizeof(in), out, sizeof(out)),
		       ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	IFC_SET(destroy_mkey_in, din, mkey_index, key >> 8);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_MKEY, 0, 0, din, sizeof(din), dout,
				 sizeof(dout)), ST_OK);
	assert_refused(rig_cmd(MLX5_CMD_OP_DESTROY_MKEY, 0, 0, din, sizeof(din), dout,
			       sizeof(dout)), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DEALLOC_PD, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
}

/* UMR can move a key to another domain. The reference moves with it. */
static void test_key_moves_to_another_pd(void **state)
{
	uint32_t key = small_key(ALL_ACCESS, 0, 0x1000, RAM_BASE), next = rig_pd();
	struct mkey *mk = (struct mkey *)obj_find(rig.hca, OBJ_MKEY, key >> 8);
	const struct obj *from = obj_find(rig.hca, OBJ_PD, pd);
	const struct obj *to = obj_find(rig.hca, OBJ_PD, next);
	uint8_t buf[8];

	(void)state;
	IFC_SET(mkc, mk->mkc, pd, next);
	assert_true(mkey_update(rig.hca, mk));
	assert_int_equal(from->refs, 0);
	assert_int_equal(to->refs, 1);
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_BAD_PD);
	user.pdn = next;
	assert_int_equal(rd(key, 0, buf, 8, MK_LOCAL_READ), MK_OK);
	IFC_SET(mkc, mk->mkc, pd, next + 1);
	assert_false(mkey_update(rig.hca, mk));
	assert_int_equal(to->refs, 1);
	assert_int_equal(IFC_GET(mkc, mk->mkc, pd), next);
}

static void test_create_refuses_invalid_contexts(void **state)
{
	const struct key_params good = { .mode = MKM_MTT, .log_page = 12, .len = 0x2000,
					 .access = ALL_ACCESS };
	uint64_t mtt[2] = { RAM_BASE, RAM_BASE + 0x1000 };
	uint64_t crooked[2] = { RAM_BASE, RAM_BASE + 0x1800 };
	struct key_params p = good;
	uint32_t key;

	(void)state;
	assert_int_equal(create(&p, mtt, NULL, 2, &key), ST_OK);
	assert_refused(create(&p, crooked, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_MTT_MISALIGNED);
	p.len = 0x2001;
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_TRANSLATION);
	p = good;
	p.start = 1;		/* from byte 1 of a page, the key takes three pages */
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_TRANSLATION);
	p = good;
	p.start = ~0ull - 0x10;
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_TRANSLATION);
	p.mode = MKM_PA;
	assert_refused(create(&p, NULL, NULL, 0, &key), ST_BAD_PARAM, WHY_MKEY_CONTEXT);
	p = good;
	p.log_page = 11;
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	p = good;
	p.mode = 5;		/* device memory */
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_ACCESS_MODE);
	p = good;
	p.free = true;		/* without umr_en nothing can fill it */
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_FREE_WITHOUT_UMR);
	p = good;
	p.octo = 4;
	p.actual = 2;		/* more than was given */
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_INP_LEN, WHY_INPUT_LENGTH);
	p.octo = 1;
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_PARAM, WHY_MKEY_OCTOWORDS_GIVEN);
	p = good;
	pd += 1;
	assert_refused(create(&p, mtt, NULL, 2, &key), ST_BAD_RES, WHY_OBJECT_UNKNOWN);
	pd -= 1;
}

/* Create a key of one page with one more bit of its context. */
static uint8_t create_with_bit(unsigned int bit)
{
	struct key_params p = { .mode = MKM_MTT, .log_page = 12, .len = 64, .access = ALL_ACCESS,
				.bit = bit };
	uint64_t mtt = RAM_BASE;
	uint32_t key;

	return create(&p, &mtt, NULL, 1, &key);
}

/* The first bit and the last bit of each reserved field, each alone, make CREATE_MKEY fail. */
static void test_each_reserved_field_is_refused(void **state)
{
	static const struct ifc_field reserved[] = {
		IFC_FIELD(mkc, reserved_at_2), IFC_FIELD(mkc, reserved_at_18),
		IFC_FIELD(mkc, reserved_at_1c), IFC_FIELD(mkc, reserved_at_40),
		IFC_FIELD(mkc, bsf_octword_size), IFC_FIELD(mkc, reserved_at_120),
		IFC_FIELD(mkc, crossing_target_vhca_id), IFC_FIELD(mkc, reserved_at_1c0),
	};
	size_t i;

	(void)state;
	assert_int_equal(create_with_bit(0), ST_OK);
	for (i = 0; i < 2 * ARRAY_SIZE(reserved); i++) {
		const struct ifc_field *f = &reserved[i / 2];

		if (create_with_bit(f->off + (i % 2 ? f->width - 1 : 0)) != ST_BAD_PARAM ||
		    rig.syndrome != WHY_MKEY_RESERVED_FIELD)
			fail_msg("CREATE_MKEY takes %s", f->name);
	}
	assert_refused(create_with_bit(IFC_OFF(mkc, bsf_en)), ST_BAD_PARAM,
		       WHY_MKEY_SIGNATURE_NOT_OFFERED);
}

#define GEN(fld, v) IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], fld, v)

/* A driver that ignores the capabilities would make keys that a real HCA refuses. */
static void test_relaxed_ordering_needs_its_capability(void **state)
{
	const unsigned int writes = IFC_OFF(mkc, relaxed_ordering_write);
	const unsigned int reads = IFC_OFF(mkc, relaxed_ordering_read);

	(void)state;
	GEN(relaxed_ordering_write, 0);
	GEN(relaxed_ordering_read, 1);
	GEN(relaxed_ordering_read_pci_enabled, 0);
	assert_refused(create_with_bit(writes), ST_BAD_PARAM, WHY_MKEY_RELAXED_WRITE_NOT_OFFERED);
	assert_int_equal(create_with_bit(reads), ST_OK);
	GEN(relaxed_ordering_write, 1);
	GEN(relaxed_ordering_read, 0);
	assert_int_equal(create_with_bit(writes), ST_OK);
	assert_refused(create_with_bit(reads), ST_BAD_PARAM, WHY_MKEY_RELAXED_READ_NOT_OFFERED);
	GEN(relaxed_ordering_read_pci_enabled, 1);
	assert_int_equal(create_with_bit(reads), ST_OK);
}

static void test_paging_needs_its_capability(void **state)
{
	struct key_params p = { .mode = MKM_MTT, .log_page = 12, .len = 64, .pg_access = true };
	uint64_t mtt = RAM_BASE;
	uint32_t key;

	(void)state;
	GEN(pg, 1);
	assert_int_equal(create(&p, &mtt, NULL, 1, &key), ST_OK);
	GEN(pg, 0);
	assert_refused(create(&p, &mtt, NULL, 1, &key), ST_BAD_PARAM, WHY_MKEY_PAGING_NOT_OFFERED);
	p.pg_access = false;
	assert_int_equal(create(&p, &mtt, NULL, 1, &key), ST_OK);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, rig_teardown)

/* Writes through the dump-fill key are dropped, and reads give zeros. As an rkey it is refused. */
static void test_dump_fill_key(void **state)
{
	uint8_t buf[16];
	enum mk_result res;

	(void)state;
	assert_int_equal(rd(MKEY_DUMP_FILL, 0, buf, 1, MK_LOCAL_READ), MK_BAD_KEY);
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], dump_fill_mkey, 1);
	memset(buf, 0xff, sizeof(buf));
	assert_int_equal(rd(MKEY_DUMP_FILL, 0x1234, buf, 15, MK_LOCAL_READ), MK_OK);
	assert_int_equal(buf[0] | buf[14], 0);
	assert_int_equal(buf[15], 0xff);
	assert_int_equal(wr(MKEY_DUMP_FILL, ~0ull, buf, sizeof(buf)), MK_OK);
	assert_int_equal(rd(MKEY_DUMP_FILL, 0, buf, 1, MK_REMOTE_READ), MK_BAD_ACCESS);
	assert_int_equal(mkey_write(rig.hca, &user, MKEY_DUMP_FILL, 0, buf, 1, MK_REMOTE_WRITE),
			 MK_BAD_ACCESS);
	assert_null(mkey_atomic_ptr(rig.hca, &user, MKEY_DUMP_FILL, 0, 8, &res));
	assert_int_equal(res, MK_BAD_ACCESS);
}

static uint8_t create_with_page(uint8_t mode, unsigned int log)
{
	struct key_params p = { .mode = mode, .log_page = log, .len = 64, .access = ALL_ACCESS };
	uint64_t mtt = 0;
	struct klm ksm = { 0, 0, 0 };
	uint32_t key;

	return create(&p, mode == MKM_MTT ? &mtt : NULL, mode == MKM_KSM ? &ksm : NULL, 1, &key);
}

#define CAP2(fld, v) IFC_SET(cmd_hca_cap_2, rig.hca->cap[CAP_GENERAL_2], fld, v)

/* If the HCA has no capability for the entity size, an entry covers 2^12 to 2^31 bytes. */
static void test_entity_size_is_limited_by_capabilities(void **state)
{
	(void)state;
	assert_refused(create_with_page(MKM_MTT, 11), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_int_equal(create_with_page(MKM_MTT, 31), ST_OK);
	assert_refused(create_with_page(MKM_MTT, 32), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_refused(create_with_page(MKM_KSM, 0), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_int_equal(create_with_page(MKM_KSM, 31), ST_OK);
	assert_refused(create_with_page(MKM_KSM, 36), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);

	IFC_SET(cmd_hca_cap, rig.hca->cap[0], hca_cap_2, 1);
	CAP2(max_mkey_log_entity_size_mtt, 21);
	CAP2(max_mkey_log_entity_size_fixed_buffer, 36);
	CAP2(log_min_mkey_entity_size, 13);
	assert_refused(create_with_page(MKM_MTT, 12), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_int_equal(create_with_page(MKM_MTT, 13), ST_OK);
	assert_refused(create_with_page(MKM_MTT, 22), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_refused(create_with_page(MKM_KSM, 12), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_int_equal(create_with_page(MKM_KSM, 36), ST_OK);
	assert_refused(create_with_page(MKM_KSM, 37), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	CAP2(min_mkey_log_entity_size_fixed_buffer, 20);
	assert_int_equal(create_with_page(MKM_KSM, 19), ST_OK);
	CAP2(min_mkey_log_entity_size_fixed_buffer_valid, 1);
	assert_refused(create_with_page(MKM_KSM, 19), ST_BAD_PARAM, WHY_MKEY_ENTITY_SIZE);
	assert_int_equal(create_with_page(MKM_KSM, 20), ST_OK);
}

static void test_ksm_needs_fixed_buffer_size(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], fixed_buffer_size, 0);
	assert_refused(create_with_page(MKM_KSM, 12), ST_BAD_PARAM, WHY_MKEY_KSM_NOT_OFFERED);
	assert_int_equal(create_with_page(MKM_MTT, 12), ST_OK);
}

static void test_klm_list_is_limited_by_a_capability(void **state)
{
	struct key_params p = { .mode = MKM_KLM, .free = true, .umr_en = true, .octo = 64 };
	struct klm klm = { 0, 0, 0 };
	uint32_t key;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[0], log_max_klm_list_size, 6);
	assert_int_equal(create(&p, NULL, &klm, 1, &key), ST_OK);
	p.octo = 65;
	assert_refused(create(&p, NULL, &klm, 1, &key), ST_LIM, WHY_MKEY_OCTOWORDS_TOO_MANY);
	p.mode = MKM_KSM;	/* the HCA indexes its table, and need not go through it */
	assert_int_equal(create(&p, NULL, &klm, 1, &key), ST_OK);
}

static void test_translations_have_a_budget(void **state)
{
	struct key_params p = { .mode = MKM_MTT, .free = true, .umr_en = true,
				.octo = (20 << 20) / 16 };
	uint8_t in[IFC_SZ(destroy_mkey_in)] = {}, out[IFC_SZ(destroy_mkey_out)];
	uint64_t mtt = 0;
	uint32_t key, other;

	(void)state;
	assert_int_equal(create(&p, &mtt, NULL, 1, &key), ST_OK);
	assert_refused(create(&p, &mtt, NULL, 1, &other), ST_LIM, WHY_MKEY_TRANSLATION_BUDGET);
	IFC_SET(destroy_mkey_in, in, mkey_index, key >> 8);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_MKEY, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(create(&p, &mtt, NULL, 1, &other), ST_OK);
	assert_int_equal(rig.hca->xlt_bytes, 20 << 20);
}

static void test_numbers_are_limited(void **state)
{
	struct key_params p = {
		.mode = MKM_MTT, .log_page = 12, .len = 4096, .access = ALL_ACCESS,
	};
	struct obj_range *range = &rig.hca->profile->range[OBJ_MKEY];
	uint8_t in[IFC_SZ(destroy_mkey_in)] = {}, out[IFC_SZ(destroy_mkey_out)];
	uint64_t mtt = RAM_BASE, bytes;
	uint32_t key[2], more;

	(void)state;
	range->limit = range->first + 2;
	assert_int_equal(create(&p, &mtt, NULL, 1, &key[0]), ST_OK);
	assert_int_equal(create(&p, &mtt, NULL, 1, &key[1]), ST_OK);
	bytes = rig.hca->xlt_bytes;
	assert_refused(create(&p, &mtt, NULL, 1, &more), ST_LIM, WHY_NUMBERS_IN_USE);
	assert_int_equal(rig.hca->xlt_bytes, bytes);
	IFC_SET(destroy_mkey_in, in, mkey_index, key[0] >> 8);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_DESTROY_MKEY, 0, 0, in, sizeof(in), out, sizeof(out)),
			 ST_OK);
	assert_int_equal(create(&p, &mtt, NULL, 1, &more), ST_OK);
	assert_int_equal(more, key[0]);
}

static uint32_t klm_key(const struct klm *last, const struct klm *others)
{
	struct key_params p = { .mode = MKM_KLM, .len = 1 << 30, .access = ALL_ACCESS };
	struct klm klm[4096];
	uint32_t key;
	unsigned int i;

	for (i = 0; i < 4095; i++)
		klm[i] = *others;
	klm[4095] = *last;
	assert_int_equal(create(&p, NULL, klm, 4096, &key), ST_OK);
	return key;
}

/* Three keys of 4096 entries each: without a limit an access would go through 2^36 entries. */
static void test_empty_entries_do_not_stall_the_hca(void **state)
{
	const struct klm none = { 0, 0, 0 }, page = { 8, MKEY_NULL, 0 };
	uint32_t inner = klm_key(&page, &none), middle, outer;
	uint64_t before = clock_now_ns();
	struct klm one;

	(void)state;
	one = (struct klm){ 1, inner, 0 };
	middle = klm_key(&one, &one);
	one = (struct klm){ 4096, middle, 0 };
	outer = klm_key(&one, &one);
	assert_int_equal(mkey_check(rig.hca, &user, outer, 0, 64, MK_LOCAL_READ), MK_OK);
	assert_int_equal(mkey_check(rig.hca, &user, outer, 0, 1 << 24, MK_LOCAL_READ), MK_BAD_KEY);
	assert_true(clock_now_ns() - before < 5000000000ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_every_page_size), T(test_physical), T(test_klm_list), T(test_strided_block),
		T(test_strided_block_is_whole), T(test_atomic_operands_are_not_divided),
		T(test_query_shows_the_table),
		T(test_inner_key_needs_local_rights_only), T(test_ksm),
		T(test_key_that_refers_to_itself_is_refused),
		T(test_disallowed_accesses_are_refused), T(test_atomic), T(test_null_key),
		T(test_dump_fill_key), T(test_reserved_lkey_needs_rlky),
		T(test_reserved_lkey_is_no_rkey), T(test_free_key_and_umr),
		T(test_key_holds_its_pd), T(test_key_moves_to_another_pd),
		T(test_create_refuses_invalid_contexts), T(test_each_reserved_field_is_refused),
		T(test_relaxed_ordering_needs_its_capability),
		T(test_paging_needs_its_capability),
		T(test_entity_size_is_limited_by_capabilities),
		T(test_ksm_needs_fixed_buffer_size),
		T(test_klm_list_is_limited_by_a_capability),
		T(test_translations_have_a_budget), T(test_numbers_are_limited),
		T(test_empty_entries_do_not_stall_the_hca),
	};

	return cmocka_run_group_tests_name("mkey", tests, NULL, NULL);
}
