// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of keys whose translation tables processes have written: which ranges of other keys a
 * range of such a key translates to.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "layout/layout_klm.h"

#define VARIANT		0x5a
#define KEY		(0x123400 | VARIANT)
#define PDN		0x777
#define MAX_ENTRIES	8
#define BUDGET		1000

struct klm_env {
	u32 out[MLX5_IB_KLM_QUERY_BYTES(MAX_ENTRIES) / 4];
	struct mlx5_ib_klm_walk walk;
	unsigned int budget;
	u32 num;
};

static void *mkc(struct klm_env *env)
{
	return MLX5_ADDR_OF(query_mkey_out, env->out, memory_key_mkey_entry);
}

static struct mlx5_klm *entry(struct klm_env *env, unsigned int i)
{
	return (struct mlx5_klm *)MLX5_ADDR_OF(query_mkey_out, env->out, bsf0_klm0_pas_mtt0_1) + i;
}

static struct klm_env *make_env(struct kunit *test, u8 mode, u64 start, u64 len)
{
	struct klm_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	MLX5_SET(mkc, mkc(env), access_mode_1_0, mode);
	MLX5_SET(mkc, mkc(env), mkey_7_0, VARIANT);
	MLX5_SET(mkc, mkc(env), pd, PDN);
	MLX5_SET64(mkc, mkc(env), start_addr, start);
	MLX5_SET64(mkc, mkc(env), len, len);
	env->budget = BUDGET;
	env->walk.budget = &env->budget;
	return env;
}

static void add_klm(struct klm_env *env, u32 key, u64 addr, u32 len)
{
	*entry(env, env->num++) = (struct mlx5_klm){
		.bcount = cpu_to_be32(len), .key = cpu_to_be32(key), .va = cpu_to_be64(addr),
	};
}

static void add_block(struct klm_env *env, u32 bytes, u32 cycles, u16 entries)
{
	*(struct mlx5_stride_block_ctrl_seg *)entry(env, env->num++) =
		(struct mlx5_stride_block_ctrl_seg){
			.bcount_per_cycle = cpu_to_be32(bytes),
			.op = cpu_to_be32(MLX5_STRIDE_BLOCK_OP),
			.repeat_count = cpu_to_be32(cycles),
			.num_entries = cpu_to_be16(entries),
		};
}

static void add_strided(struct klm_env *env, u32 key, u64 addr, u16 len, u16 stride)
{
	*(struct mlx5_stride_block_entry *)entry(env, env->num++) =
		(struct mlx5_stride_block_entry){
			.stride = cpu_to_be16(stride), .bcount = cpu_to_be16(len),
			.key = cpu_to_be32(key), .va = cpu_to_be64(addr),
		};
}

static bool start(struct klm_env *env, u64 addr, u64 len)
{
	return mlx5_ib_klm_start(&env->walk, env->out, env->num, KEY, addr, len);
}

static void expect_piece(struct kunit *test, struct klm_env *env, u32 key, u64 addr, u64 len)
{
	struct mlx5_ib_klm_piece piece = {};

	KUNIT_EXPECT_TRUE(test, mlx5_ib_klm_next(&env->walk, &piece));
	KUNIT_EXPECT_EQ(test, piece.key, key);
	KUNIT_EXPECT_EQ(test, piece.addr, addr);
	KUNIT_EXPECT_EQ(test, piece.len, len);
}

static void expect_end(struct kunit *test, struct klm_env *env)
{
	struct mlx5_ib_klm_piece piece;

	KUNIT_EXPECT_FALSE(test, mlx5_ib_klm_next(&env->walk, &piece));
}

static void list_leads_to_its_pieces(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0x1000, 300);

	add_klm(env, 1, 0x10000, 100);
	add_klm(env, 2, 0x20000, 0);
	add_klm(env, 3, 0x30000, 150);
	add_klm(env, 4, 0x40000, 100);
	KUNIT_ASSERT_TRUE(test, start(env, 0x1000 + 30, 200));
	KUNIT_EXPECT_EQ(test, env->walk.pdn, PDN);
	expect_piece(test, env, 1, 0x10000 + 30, 70);
	expect_piece(test, env, 3, 0x30000, 130);
	expect_end(test, env);

	/* The key ends before its table does. */
	KUNIT_ASSERT_TRUE(test, start(env, 0x1000 + 240, 200));
	expect_piece(test, env, 3, 0x30000 + 140, 10);
	expect_piece(test, env, 4, 0x40000, 50);
	expect_end(test, env);
	KUNIT_ASSERT_TRUE(test, start(env, 0x1000 + 301, 1));
	expect_end(test, env);
}

static void list_of_fixed_size_leads_to_its_pieces(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KSM, 0x1800, 0x2800);

	MLX5_SET(mkc, mkc(env), log_page_size, 12);
	add_klm(env, 1, 0x10000, 5);
	add_klm(env, MLX5_STRIDE_BLOCK_OP, 0x20000, 5);
	add_klm(env, 3, 0x30000, 5);
	KUNIT_ASSERT_TRUE(test, start(env, 0x1900, 0x1000));
	expect_piece(test, env, 1, 0x10100, 0xf00);
	expect_piece(test, env, MLX5_STRIDE_BLOCK_OP, 0x20000, 0x100);
	expect_end(test, env);
	KUNIT_ASSERT_TRUE(test, start(env, 0x3ff8, 0x100));
	expect_piece(test, env, 3, 0x307f8, 8);
	expect_end(test, env);
}

/* A key over all addresses: its context has no length. */
static void key_without_a_length_ends_with_its_table(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 0);

	MLX5_SET(mkc, mkc(env), length64, 1);
	add_klm(env, 1, 0x10000, 100);
	add_klm(env, 2, 0x20000, 100);
	KUNIT_ASSERT_TRUE(test, start(env, 50, U64_MAX));
	expect_piece(test, env, 1, 0x10000 + 50, 50);
	expect_piece(test, env, 2, 0x20000, 100);
	expect_end(test, env);

	/* Entry 2^32 of a table of fixed size is not entry 0. */
	MLX5_SET(mkc, mkc(env), access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
	MLX5_SET(mkc, mkc(env), log_page_size, 12);
	KUNIT_ASSERT_TRUE(test, start(env, SZ_4K + 1, U64_MAX));
	expect_piece(test, env, 2, 0x20001, SZ_4K - 1);
	expect_end(test, env);
	KUNIT_ASSERT_TRUE(test, start(env, 1ULL << (32 + 12), SZ_4K));
	expect_end(test, env);
}

static void strided_block_leads_to_its_pieces(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 1000);

	add_klm(env, 1, 0x10000, 10);
	add_block(env, 24, 3, 2);
	add_strided(env, 2, 0x20000, 16, 100);
	add_strided(env, 3, 0x30000, 8, 8);
	add_klm(env, 4, 0x40000, 10);
	KUNIT_ASSERT_TRUE(test, start(env, 5, 1000));
	expect_piece(test, env, 1, 0x10005, 5);
	expect_piece(test, env, 2, 0x20000, 16);
	expect_piece(test, env, 3, 0x30000, 8);
	expect_piece(test, env, 2, 0x20000 + 100, 16);
	expect_piece(test, env, 3, 0x30008, 8);
	expect_piece(test, env, 2, 0x20000 + 200, 16);
	expect_piece(test, env, 3, 0x30010, 8);
	expect_piece(test, env, 4, 0x40000, 10);
	expect_end(test, env);

	/* Start in the second piece of the second cycle, then behind the block. */
	KUNIT_ASSERT_TRUE(test, start(env, 10 + 24 + 16 + 2, 10));
	expect_piece(test, env, 3, 0x30008 + 2, 6);
	expect_piece(test, env, 2, 0x20000 + 200, 4);
	expect_end(test, env);
	KUNIT_ASSERT_TRUE(test, start(env, 10 + 3 * 24 + 1, 1));
	expect_piece(test, env, 4, 0x40001, 1);
	expect_end(test, env);
}

/*
 * Blocks with no entries, more entries than the table has, or no bytes; the device refuses them,
 * too.
 */
static void block_beyond_the_table_ends_the_walk(struct kunit *test)
{
	static const struct { u32 bytes, cycles; u16 entries, len; } cases[] = {
		{ 8, 1, 0, 8 }, { 8, 1, 2, 8 }, { 8, 1, 0xffff, 8 }, { 8, 0xffffffff, 1, 0 },
	};
	struct klm_env *env;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, 1000);
		add_block(env, cases[i].bytes, cases[i].cycles, cases[i].entries);
		add_strided(env, 2, 0x20000, cases[i].len, 8);
		KUNIT_ASSERT_TRUE(test, start(env, 0, 8));
		expect_end(test, env);
	}
}

static void walk_of_a_hostile_table_is_bounded(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0, U64_MAX);
	struct mlx5_ib_klm_piece piece;
	unsigned int n = 0;

	add_block(env, 1, U32_MAX, 2);
	add_strided(env, 2, 0x20000, 0, 8);
	add_strided(env, 3, 0x20000, 1, 8);
	/* The walk begins far behind the start of the block, but can compute the cycle. */
	KUNIT_ASSERT_TRUE(test, start(env, 0x80000000, U64_MAX / 2));
	expect_piece(test, env, 3, 0x20000 + 0x80000000ULL * 8, 1);
	while (mlx5_ib_klm_next(&env->walk, &piece))
		n++;
	KUNIT_EXPECT_LT(test, n, BUDGET);
	KUNIT_EXPECT_EQ(test, env->budget, 0);
}

static void changed_or_free_key_leads_nowhere(struct kunit *test)
{
	struct klm_env *env = make_env(test, MLX5_MKC_ACCESS_MODE_KLMS, 0x1000, 100);

	add_klm(env, 1, 0x10000, 100);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_klm_start(&env->walk, env->out, 1, KEY ^ 1, 0x1000, 1));
	KUNIT_EXPECT_FALSE(test, start(env, 0xfff, 1));
	KUNIT_EXPECT_TRUE(test, start(env, 0x1000, 1));
	MLX5_SET(mkc, mkc(env), free, 1);
	KUNIT_EXPECT_FALSE(test, start(env, 0x1000, 1));
}

static struct kunit_case klm_cases[] = {
	KUNIT_CASE(list_leads_to_its_pieces),
	KUNIT_CASE(list_of_fixed_size_leads_to_its_pieces),
	KUNIT_CASE(key_without_a_length_ends_with_its_table),
	KUNIT_CASE(strided_block_leads_to_its_pieces),
	KUNIT_CASE(block_beyond_the_table_ends_the_walk),
	KUNIT_CASE(walk_of_a_hostile_table_is_bounded),
	KUNIT_CASE(changed_or_free_key_leads_nowhere),
	{}
};

static struct kunit_suite klm_suite = {
	.name = "bluebell_klm",
	.test_cases = klm_cases,
};

kunit_test_suite(klm_suite);
