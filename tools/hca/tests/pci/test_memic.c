// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory: where allocations are placed, requests that are refused, accesses through BAR0,
 * the windows of operations, and keys over device memory.
 */
#include <string.h>

#include "cmd.h"
#include "corerig.h"
#include "count.h"
#include "hca.h"
#include "ifc.h"
#include "memic.h"
#include "mkey.h"
#include "object.h"
#include "pci.h"
#include "profile.h"

#define START	0x1fa0000ull
#define SIZE	0x20000u
#define PAGE	4096u
#define QPN	0x77
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

static uint8_t try_alloc(uint64_t from, uint32_t range, uint32_t size,
			unsigned int log_align, uint64_t *at)
{
	uint8_t in[IFC_SZ(alloc_memic_in)] = { 0 }, out[IFC_SZ(alloc_memic_out)];
	uint8_t st;

	IFC_SET(alloc_memic_in, in, opcode, MLX5_CMD_OP_ALLOC_MEMIC);
	IFC_SET64(alloc_memic_in, in, range_start_addr, from);
	IFC_SET(alloc_memic_in, in, range_size, range);
	IFC_SET(alloc_memic_in, in, memic_size, size);
	IFC_SET(alloc_memic_in, in, log_memic_addr_alignment, log_align);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*at = IFC_GET64(alloc_memic_out, out, memic_start_addr);
	return st;
}

static uint64_t alloc(uint64_t from, uint32_t range, uint32_t size, unsigned int log_align)
{
	uint64_t at;

	assert_int_equal(try_alloc(from, range, size, log_align, &at), ST_OK);
	return at;
}

static uint8_t dealloc(uint64_t at, uint32_t size)
{
	uint8_t in[IFC_SZ(dealloc_memic_in)] = { 0 }, out[IFC_SZ(dealloc_memic_out)];

	IFC_SET(dealloc_memic_in, in, opcode, MLX5_CMD_OP_DEALLOC_MEMIC);
	IFC_SET64(dealloc_memic_in, in, memic_start_addr, at);
	IFC_SET(dealloc_memic_in, in, memic_size, size);
	return core_cmd(in, sizeof(in), out, sizeof(out));
}

static uint8_t modify(uint16_t op_mod, uint64_t at, unsigned int op, uint64_t *addr)
{
	uint8_t in[IFC_SZ(modify_memic_in)] = { 0 }, out[IFC_SZ(modify_memic_out)];
	uint8_t st;

	IFC_SET(modify_memic_in, in, opcode, MLX5_CMD_OP_MODIFY_MEMIC);
	IFC_SET(modify_memic_in, in, op_mod, op_mod);
	IFC_SET64(modify_memic_in, in, memic_start_addr, at);
	IFC_SET(modify_memic_in, in, memic_operation_type, op);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	if (addr)
		*addr = IFC_GET64(modify_memic_out, out, memic_operation_addr);
	return st;
}

static uint32_t alloc_pd(void)
{
	uint8_t out[16];

	assert_int_equal(core_simple(MLX5_CMD_OP_ALLOC_PD, 0, out), ST_OK);
	return IFC_GET(alloc_pd_out, out, pd);
}

struct key {
	uint64_t start, len;
	uint16_t uid;
	bool free, length64;
	uint32_t octo;
};

static uint8_t create_key(uint32_t pd, const struct key *k, uint32_t *key)
{
	uint8_t in[IFC_SZ(create_mkey_in) + 64] = { 0 }, out[IFC_SZ(create_mkey_out)];
	uint8_t *c = IFC_ADDR(create_mkey_in, in, memory_key_mkey_entry);
	uint8_t st;

	IFC_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	put_be16(in + 2, k->uid);
	IFC_SET(mkc, c, access_mode_4_2, MLX5_MKC_ACCESS_MODE_MEMIC >> 2);
	IFC_SET(mkc, c, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MEMIC & 3);
	IFC_SET(mkc, c, lr, 1);
	IFC_SET(mkc, c, lw, 1);
	IFC_SET(mkc, c, rr, 1);
	IFC_SET(mkc, c, rw, 1);
	IFC_SET(mkc, c, a, 1);
	IFC_SET(mkc, c, umr_en, 1);
	IFC_SET(mkc, c, free, k->free);
	IFC_SET(mkc, c, length64, k->length64);
	IFC_SET(mkc, c, qpn, 0xffffff);
	IFC_SET(mkc, c, mkey_7_0, 0x11);
	IFC_SET(mkc, c, pd, pd);
	IFC_SET64(mkc, c, start_addr, k->start);
	IFC_SET64(mkc, c, len, k->len);
	IFC_SET(mkc, c, translations_octword_size, k->octo);
	st = core_cmd(in, sizeof(in), out, sizeof(out));
	*key = IFC_GET(create_mkey_out, out, mkey_index) << 8 | 0x11;
	return st;
}

static uint8_t destroy_key(uint32_t key)
{
	uint8_t in[IFC_SZ(destroy_mkey_in)] = { 0 }, out[IFC_SZ(destroy_mkey_out)];

	IFC_SET(destroy_mkey_in, in, opcode, MLX5_CMD_OP_DESTROY_MKEY);
	IFC_SET(destroy_mkey_in, in, mkey_index, key >> 8);
	return core_cmd(in, sizeof(in), out, sizeof(out));
}

static void bar_write(uint64_t off, const void *buf, uint32_t len)
{
	pci_bar_write(core.hca, 0, off, buf, len);
}

static void bar_read(uint64_t off, void *buf, uint32_t len)
{
	pci_bar_read(core.hca, 0, off, buf, len);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void first_gap_in_the_range_is_used(void **state)
{
	uint64_t a, b;

	(void)state;
	assert_int_equal(alloc(START, SIZE, 64, 0), START);
	assert_int_equal(alloc(START, SIZE, 128, 0), START + 64);
	a = alloc(START + PAGE, PAGE, PAGE, 0);
	assert_int_equal(a, START + PAGE);
	b = alloc(START, SIZE, PAGE, 0);
	assert_int_equal(b, START + 2 * PAGE);
	assert_int_equal(dealloc(START, 64), ST_OK);
	assert_int_equal(alloc(START, SIZE, 64, 0), START);
	assert_int_equal(obj_count(core.hca, OBJ_MEMIC), 4);
}

static void alignment(void **state)
{
	uint64_t at;

	(void)state;
	alloc(START, SIZE, 64, 0);
	assert_int_equal(alloc(START, SIZE, 64, 1), START + 128);
	assert_int_equal(alloc(START, SIZE, 64, 4), START + 1024);
	assert_int_equal(alloc(START, SIZE, 64, 6), START + 4096);
	assert_refused(try_alloc(START, SIZE, 64, 7, &at), ST_BAD_PARAM, WHY_MEMIC_ALIGNMENT);
	/* The range may begin anywhere; the alignment applies to the address. */
	assert_int_equal(alloc(START + 64, SIZE - 64, 64, 5), START + 2048);
}

static void exhaustion(void **state)
{
	uint64_t at, i;

	(void)state;
	for (i = 0; i < SIZE / PAGE; i++)
		assert_int_equal(alloc(START, SIZE, PAGE, 0), START + i * PAGE);
	assert_refused(try_alloc(START, SIZE, 64, 0, &at), ST_NO_RES, WHY_MEMIC_NO_GAP);
	for (i = 0; i < SIZE / PAGE; i += 2)
		assert_int_equal(dealloc(START + i * PAGE, PAGE), ST_OK);
	/* Half of the memory is free, in pieces. */
	assert_refused(try_alloc(START, SIZE, PAGE + 64, 0, &at), ST_NO_RES, WHY_MEMIC_NO_GAP);
	assert_int_equal(alloc(START, SIZE, PAGE, 0), START);
	assert_int_equal(dealloc(START + PAGE, PAGE), ST_OK);
	assert_int_equal(alloc(START, SIZE, 2 * PAGE, 0), START + PAGE);
}

static void all_memory_in_one_allocation(void **state)
{
	uint64_t at;

	(void)state;
	assert_int_equal(alloc(START, SIZE, SIZE, 0), START);
	assert_refused(try_alloc(START, SIZE, 64, 0, &at), ST_NO_RES, WHY_MEMIC_NO_GAP);
	assert_int_equal(dealloc(START, SIZE), ST_OK);
	assert_int_equal(obj_count(core.hca, OBJ_MEMIC), 0);
}

static void invalid_requests_are_refused(void **state)
{
	uint64_t at;

	(void)state;
	assert_refused(try_alloc(START, SIZE, 0, 0, &at), ST_BAD_PARAM, WHY_MEMIC_SIZE);
	assert_refused(try_alloc(START, SIZE, 63, 0, &at), ST_BAD_PARAM, WHY_MEMIC_SIZE);
	assert_refused(try_alloc(START, SIZE, SIZE + 64, 0, &at), ST_BAD_PARAM, WHY_MEMIC_SIZE);
	assert_refused(try_alloc(START, 0, 64, 0, &at), ST_BAD_PARAM, WHY_MEMIC_RANGE);
	assert_refused(try_alloc(START - 64, 128, 64, 0, &at), ST_BAD_PARAM, WHY_MEMIC_RANGE);
	assert_refused(try_alloc(START + SIZE - 64, 128, 64, 0, &at), ST_BAD_PARAM,
		       WHY_MEMIC_RANGE);
	assert_refused(try_alloc(~0ull - 63, 64, 64, 0, &at), ST_BAD_PARAM, WHY_MEMIC_RANGE);
	assert_refused(try_alloc(START, 64, 128, 0, &at), ST_NO_RES, WHY_MEMIC_NO_GAP);
	assert_int_equal(obj_count(core.hca, OBJ_MEMIC), 0);
	core.profile->range[OBJ_MEMIC].limit = 1;
	alloc(START, SIZE, 64, 0);
	assert_refused(try_alloc(START, SIZE, 64, 0, &at), ST_LIM, WHY_NUMBERS_IN_USE);
}

static void deallocation_must_match_the_allocation(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0);

	(void)state;
	assert_refused(dealloc(at + 64, 192), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
	assert_refused(dealloc(at, 128), ST_BAD_PARAM, WHY_MEMIC_SIZE);
	assert_refused(dealloc(START - 64, 64), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
	assert_refused(dealloc(~0ull, 64), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
	assert_int_equal(dealloc(at, 256), ST_OK);
	assert_refused(dealloc(at, 256), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
}

/* Commands with a user id can neither modify the kernel's allocations nor create keys for them. */
static void user_ids_own_no_allocations(void **state)
{
	uint8_t in[IFC_SZ(modify_memic_in)] = { 0 }, out[IFC_SZ(modify_memic_out)];
	uint64_t at = alloc(START, SIZE, 64, 0);
	uint8_t uctx[IFC_SZ(create_uctx_in)] = { 0 };
	uint32_t pd = alloc_pd(), key;
	uint16_t uid;

	(void)state;
	IFC_SET(create_uctx_in, uctx, opcode, MLX5_CMD_OP_CREATE_UCTX);
	assert_int_equal(core_cmd(uctx, sizeof(uctx), out, 16), ST_OK);
	uid = IFC_GET(create_uctx_out, out, uid);
	IFC_SET(modify_memic_in, in, opcode, MLX5_CMD_OP_MODIFY_MEMIC);
	IFC_SET(modify_memic_in, in, uid, uid);
	IFC_SET64(modify_memic_in, in, memic_start_addr, at);
	assert_refused(core_cmd(in, sizeof(in), out, sizeof(out)), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
	obj_find(core.hca, OBJ_PD, pd)->uid = uid;
	assert_refused(create_key(pd, &(struct key){ .start = at, .len = 64, .uid = uid }, &key),
		       ST_BAD_PARAM, WHY_MKEY_MEMIC_RANGE);
	assert_int_equal(create_key(pd, &(struct key){ .start = at, .len = 64 }, &key), ST_OK);
}

static void without_the_capability_commands_are_refused(void **state)
{
	uint64_t at;

	(void)state;
	IFC_SET(device_mem_cap, core.hca->cap[0x0f], memic, 0);
	assert_refused(try_alloc(START, SIZE, 64, 0, &at), ST_BAD_OP, WHY_MEMIC_NOT_OFFERED);
	assert_refused(dealloc(START, 64), ST_BAD_OP, WHY_MEMIC_NOT_OFFERED);
	assert_refused(modify(0, START, 0, NULL), ST_BAD_OP, WHY_MEMIC_NOT_OFFERED);
}

/* ---- what the host sees ---------------------------------------------------------------------- */

static void host_access_of_every_width(void **state)
{
	uint8_t data[64], got[64];
	unsigned int i, len;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = 3 * i + 1;
	for (len = 1; len <= sizeof(data); len++) {
		bar_write(START + 3 * len, data, len);
		memset(got, 0, sizeof(got));
		bar_read(START + 3 * len, got, len);
		assert_memory_equal(got, data, len);
		assert_memory_equal(memic_ptr(core.hca, START + 3 * len, len), data, len);
	}
	bar_write(START + SIZE - 8, data, 8);
	assert_memory_equal(memic_ptr(core.hca, START + SIZE - 8, 8), data, 8);
	/* A store to the last byte of the memory and the byte behind it changes nothing. */
	bar_write(START + SIZE - 1, data + 20, 2);
	assert_memory_equal(memic_ptr(core.hca, START + SIZE - 8, 8), data, 8);
}

static void freed_memory_is_overwritten(void **state)
{
	uint64_t at = alloc(START, SIZE, 64, 0);
	uint8_t got[64], poison[64];

	(void)state;
	memset(poison, 0xdb, sizeof(poison));
	bar_read(at, got, sizeof(got));
	assert_memory_equal(got, poison, sizeof(poison));	/* not zeros, even at first */
	memset(got, 0x5a, sizeof(got));
	bar_write(at, got, sizeof(got));
	assert_int_equal(dealloc(at, 64), ST_OK);
	bar_read(at, got, sizeof(got));
	assert_memory_equal(got, poison, sizeof(poison));
	bar_write(at, "secret", 6);
	alloc(START, SIZE, 64, 0);
	hca_reset(core.hca);
	assert_int_equal(obj_count(core.hca, OBJ_MEMIC), 0);
	assert_memory_equal(memic_ptr(core.hca, at, 6), poison, 6);
}

static void device_memory_has_no_doorbells(void **state)
{
	uint8_t zero[8] = { 0 }, got[8];

	(void)state;
	/* No UAR has a number in the window, and a store there rings no doorbell. */
	assert_int_equal(core.profile->range[OBJ_UAR].limit, START / PAGE);
	bar_write(START + 0x800, "12345678", 8);
	bar_write(START - PAGE + 0x800, "12345678", 8);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_UAR], 1);
	bar_read(START - 8, got, 8);
	assert_memory_equal(got, zero, 8);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void increment_and_test_and_set(void **state)
{
	uint64_t at = alloc(START, SIZE, 64, 0), inc, tas;
	uint8_t v = 0, step = 3;

	(void)state;
	bar_write(at + 7, &v, 1);
	assert_int_equal(modify(0, at, MEMIC_INCREMENT, &inc), ST_OK);
	assert_int_equal(modify(0, at, MEMIC_TEST_AND_SET, &tas), ST_OK);
	assert_int_equal(inc % PAGE, at % PAGE);
	assert_int_equal(tas % PAGE, at % PAGE);
	assert_int_not_equal(inc / PAGE, tas / PAGE);
	bar_write(inc + 7, &step, 1);
	bar_write(inc + 7, &step, 1);
	bar_read(at + 7, &v, 1);
	assert_int_equal(v, 6);
	bar_read(tas + 7, &v, 1);
	assert_int_equal(v, 6);
	bar_read(tas + 7, &v, 1);
	assert_int_equal(v, 1);
	bar_read(at + 7, &v, 1);
	assert_int_equal(v, 1);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_MEMIC], 0);
	/* Write to the window for reads, read from the window for writes, and use another width. */
	bar_write(tas + 7, &step, 1);
	bar_read(inc + 7, &v, 1);
	assert_int_equal(v, 0);
	bar_write(inc + 4, "1234", 4);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_MEMIC], 3);
	bar_read(at + 7, &v, 1);
	assert_int_equal(v, 1);
}

static void operations_need_an_address(void **state)
{
	uint64_t a = alloc(START, SIZE, PAGE, 0), b = alloc(START, SIZE, PAGE, 0), ia, ib;
	uint8_t v = 1;

	(void)state;
	bar_write(START + (1 + MEMIC_INCREMENT) * SIZE, &v, 1);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_MEMIC], 1);
	assert_refused(modify(1, a, MEMIC_INCREMENT, NULL), ST_BAD_RES_STATE,
		       WHY_MEMIC_OPERATION_STATE);
	assert_int_equal(modify(0, a, MEMIC_INCREMENT, &ia), ST_OK);
	assert_refused(modify(0, a, MEMIC_INCREMENT, NULL), ST_BAD_RES_STATE,
		       WHY_MEMIC_OPERATION_STATE);
	assert_int_equal(modify(0, b, MEMIC_INCREMENT, &ib), ST_OK);
	assert_int_equal(ib - ia, b - a);
	assert_refused(modify(0, a, MEMIC_OPS, NULL), ST_BAD_PARAM,
		       WHY_MEMIC_OPERATION_NOT_OFFERED);
	assert_refused(modify(0, a + 64, MEMIC_TEST_AND_SET, NULL), ST_BAD_RES, WHY_MEMIC_UNKNOWN);
	assert_refused(modify(2, a, MEMIC_TEST_AND_SET, NULL), ST_BAD_OP, WHY_OP_MOD);
	IFC_SET(device_mem_cap, core.hca->cap[0x0f], memic_operations, 1);
	assert_refused(modify(0, a, MEMIC_TEST_AND_SET, NULL), ST_BAD_PARAM,
		       WHY_MEMIC_OPERATION_NOT_OFFERED);
	assert_refused(dealloc(a, PAGE), ST_BAD_RES_STATE, WHY_MEMIC_OPERATION_IN_USE);
	assert_int_equal(modify(1, a, MEMIC_INCREMENT, NULL), ST_OK);
	bar_write(ia, &v, 1);
	assert_int_equal(core.hca->count.db_drop[DROP_NO_MEMIC], 2);
	assert_int_equal(dealloc(a, PAGE), ST_OK);
}

/* Each allocation gets the first free addresses, and an access reaches its own allocation only. */
static void packed_operations_share_a_page(void **state)
{
	uint64_t a = alloc(START, SIZE, 64, 0), b = alloc(START + PAGE, PAGE, 128, 0), c;
	uint64_t ia, ib, ic;
	uint8_t v = 0, one = 1, two = 2;

	(void)state;
	core.profile->pack_memic_ops = true;
	bar_write(a + 63, &v, 1);
	bar_write(b, &v, 1);
	assert_int_equal(modify(0, a, MEMIC_INCREMENT, &ia), ST_OK);
	assert_int_equal(modify(0, b, MEMIC_INCREMENT, &ib), ST_OK);
	assert_int_equal(ib, ia + 64);
	bar_write(ia + 63, &one, 1);
	bar_write(ib, &two, 1);
	bar_read(a + 63, &v, 1);
	assert_int_equal(v, 1);
	bar_read(b, &v, 1);
	assert_int_equal(v, 2);
	/* The gap is too small for the next allocation, and then large enough. */
	c = alloc(START + 2 * PAGE, PAGE, 128, 0);
	assert_int_equal(modify(1, a, MEMIC_INCREMENT, NULL), ST_OK);
	assert_int_equal(modify(0, c, MEMIC_INCREMENT, &ic), ST_OK);
	assert_int_equal(ic, ib + 128);
	assert_int_equal(modify(0, a, MEMIC_INCREMENT, &ia), ST_OK);
	assert_int_equal(ia, ib - 64);
}

static void operations_of_a_full_window_find_no_gap(void **state)
{
	uint64_t a = alloc(START, PAGE, 64, 0), b = alloc(START + PAGE, PAGE, PAGE, 0), at;

	(void)state;
	core.profile->pack_memic_ops = true;
	assert_int_equal(modify(0, a, MEMIC_INCREMENT, NULL), ST_OK);
	assert_int_equal(modify(0, b, MEMIC_INCREMENT, NULL), ST_OK);
	assert_refused(dealloc(a, 64), ST_BAD_RES_STATE, WHY_MEMIC_OPERATION_IN_USE);
	assert_int_equal(modify(1, a, MEMIC_INCREMENT, NULL), ST_OK);
	assert_int_equal(dealloc(a, 64), ST_OK);
	/* 64 free bytes are in front of the addresses of b, and too few behind them. */
	at = alloc(START + 2 * PAGE, SIZE - 2 * PAGE, SIZE / 2, 0);
	assert_int_equal(modify(0, at, MEMIC_INCREMENT, NULL), ST_OK);
	at = alloc(START + SIZE / 2 + 2 * PAGE, SIZE / 2 - 2 * PAGE, SIZE / 2 - 2 * PAGE, 0);
	assert_int_equal(modify(0, at, MEMIC_INCREMENT, NULL), ST_OK);
	at = alloc(START, PAGE, PAGE, 0);
	assert_refused(modify(0, at, MEMIC_INCREMENT, NULL), ST_NO_RES, WHY_MEMIC_NO_GAP);
	assert_refused(modify(1, at, MEMIC_INCREMENT, NULL), ST_BAD_RES_STATE,
		       WHY_MEMIC_OPERATION_STATE);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum mk_result rd(uint32_t key, uint32_t pd, uint64_t va, void *buf, size_t len)
{
	const struct mkey_user user = { .pdn = pd, .qpn = QPN };

	return mkey_read(core.hca, &user, key, va, buf, len, MK_REMOTE_READ);
}

static void keys_start_at_zero(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0);
	uint32_t pd = alloc_pd(), key;
	const struct mkey_user user = { .pdn = pd, .qpn = QPN };
	uint8_t buf[256];
	enum mk_result res;

	(void)state;
	assert_int_equal(create_key(pd, &(struct key){ .start = at + 64, .len = 128 }, &key),
			 ST_OK);
	bar_write(at + 64, "hello", 5);
	assert_int_equal(rd(key, pd, 0, buf, 5), MK_OK);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(mkey_write(core.hca, &user, key, 123, "world", 5, MK_REMOTE_WRITE), MK_OK);
	bar_read(at + 64 + 123, buf, 5);
	assert_memory_equal(buf, "world", 5);
	assert_int_equal(rd(key, pd, 0, buf, 128), MK_OK);
	assert_int_equal(rd(key, pd, 0, buf, 129), MK_OUT_OF_RANGE);
	assert_int_equal(rd(key, pd, 128, buf, 1), MK_OUT_OF_RANGE);
	assert_int_equal(rd(key, pd, at, buf, 1), MK_OUT_OF_RANGE);
	assert_int_equal(rd(key, pd, ~0ull, buf, 1), MK_OUT_OF_RANGE);
	assert_int_equal(rd(key, pd, 128, buf, 0), MK_OK);
	assert_int_equal(rd(key, pd + 1, 0, buf, 1), MK_BAD_PD);
	assert_ptr_equal(mkey_atomic_ptr(core.hca, &user, key, 8, 8, &res),
			 memic_ptr(core.hca, at + 72, 8));
	assert_null(mkey_atomic_ptr(core.hca, &user, key, 128, 8, &res));
	assert_int_equal(res, MK_OUT_OF_RANGE);
}

/* The address in the memory must be aligned, not the address in the request. */
static void atomics_are_aligned_in_the_memory(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0);
	uint32_t pd = alloc_pd(), key;
	const struct mkey_user user = { .pdn = pd, .qpn = QPN };
	enum mk_result res;

	(void)state;
	assert_int_equal(create_key(pd, &(struct key){ .start = at + 4, .len = 64 }, &key), ST_OK);
	assert_null(mkey_atomic_ptr(core.hca, &user, key, 8, 8, &res));
	assert_int_equal(res, MK_BAD_ACCESS);
	assert_ptr_equal(mkey_atomic_ptr(core.hca, &user, key, 4, 8, &res),
			 memic_ptr(core.hca, at + 8, 8));
}

static void keys_hold_the_allocation(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0);
	uint32_t pd = alloc_pd(), key, other;

	(void)state;
	assert_int_equal(create_key(pd, &(struct key){ .start = at, .len = 64 }, &key), ST_OK);
	assert_int_equal(create_key(pd, &(struct key){ .start = at, .len = 256 }, &other), ST_OK);
	assert_refused(dealloc(at, 256), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	assert_int_equal(destroy_key(key), ST_OK);
	assert_refused(dealloc(at, 256), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	assert_int_equal(destroy_key(other), ST_OK);
	assert_int_equal(dealloc(at, 256), ST_OK);
}

/* rdma-core's tests create keys of length 0. They allow no access. */
static void keys_of_length_zero(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0);
	uint32_t pd = alloc_pd(), key;
	uint8_t b;

	(void)state;
	assert_int_equal(create_key(pd, &(struct key){ .start = at }, &key), ST_OK);
	assert_int_equal(rd(key, pd, 0, &b, 0), MK_OK);
	assert_int_equal(rd(key, pd, 0, &b, 1), MK_OUT_OF_RANGE);
	assert_refused(dealloc(at, 256), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
	assert_int_equal(destroy_key(key), ST_OK);
	assert_int_equal(create_key(pd, &(struct key){ .start = at + 256 }, &key), ST_OK);
	assert_refused(dealloc(at, 256), ST_BAD_RES_STATE, WHY_OBJECT_IN_USE);
}

static void invalid_keys_are_refused(void **state)
{
	uint64_t at = alloc(START, SIZE, 256, 0), next = alloc(START, SIZE, 256, 0);
	uint64_t behind = alloc(START + PAGE, PAGE, 256, 0);	/* behind memory that is free */
	const struct key bad[] = {
		{ .start = at, .len = 257 }, { .start = at + 1, .len = 256 },
		{ .start = at, .len = 512 }, { .start = next + 256, .len = 64 },
		{ .start = START - 64, .len = 64 }, { .start = next + 257, .len = 0 },
		{ .start = behind - 64, .len = 128 },
		{ .start = at, .len = ~0ull }, { .start = 0, .len = 64 },
		{ .start = at, .len = 64, .free = true },
		{ .start = at, .len = 64, .length64 = true },
		{ .start = at, .len = 64, .octo = 4 },
		{ .start = START + SIZE - 64, .len = 128 },
	};
	uint32_t pd = alloc_pd(), key;
	unsigned int i;

	(void)state;
	assert_int_equal(next, at + 256);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		bool kind = bad[i].free || bad[i].length64 || bad[i].octo;

		if (create_key(pd, &bad[i], &key) != ST_BAD_PARAM ||
		    core.syndrome != (kind ? WHY_MKEY_MEMIC_KIND : WHY_MKEY_MEMIC_RANGE))
			fail_msg("key %u is not refused as it should be", i);
	}
	assert_int_equal(dealloc(at, 256), ST_OK);
	assert_refused(create_key(pd, &(struct key){ .start = at, .len = 64 }, &key), ST_BAD_PARAM,
		       WHY_MKEY_MEMIC_RANGE);
	IFC_SET(device_mem_cap, core.hca->cap[0x0f], memic, 0);
	assert_refused(create_key(pd, &(struct key){ .start = next, .len = 64 }, &key),
		       ST_BAD_PARAM, WHY_MKEY_ACCESS_MODE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, core_up_init, core_down)
	const struct CMUnitTest tests[] = {
		T(first_gap_in_the_range_is_used), T(alignment), T(exhaustion),
		T(all_memory_in_one_allocation), T(invalid_requests_are_refused),
		T(deallocation_must_match_the_allocation), T(user_ids_own_no_allocations),
		T(without_the_capability_commands_are_refused), T(host_access_of_every_width),
		T(freed_memory_is_overwritten), T(device_memory_has_no_doorbells),
		T(increment_and_test_and_set), T(operations_need_an_address),
		T(packed_operations_share_a_page), T(operations_of_a_full_window_find_no_gap),
		T(keys_start_at_zero),
		T(atomics_are_aligned_in_the_memory), T(keys_hold_the_allocation),
		T(keys_of_length_zero), T(invalid_keys_are_refused),
	};

	return cmocka_run_group_tests_name("memic", tests, NULL, NULL);
}
