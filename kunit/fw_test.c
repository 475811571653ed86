// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the firmware interface: the opcode, the uid and the object number
 * that each command carries, and the number in each answer. What a status means is
 * up to mlx5_cmd_check().
 */

#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "../fw.h"
#include "mock.h"

#define UID	0x5a

/* Two dwords of a command: opcode and uid, and what the third dword names. */
static void expect_command(struct kunit *test, u32 first, u32 third)
{
	struct mock *mock = test->priv;
	const __be32 *in = (const __be32 *)mock->in;

	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), first);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), third);
}

/* Kinds of objects that a command creates from nothing but its opcode. */
static const struct alloc_case {
	const char *name;
	int (*alloc)(struct mlx5_ib_dev *dev, u16 uid, u32 *number);
	int (*dealloc)(struct mlx5_ib_dev *dev, u16 uid, u32 number);
	u32 alloc_opcode;
	u32 dealloc_opcode;
} alloc_cases[] = {
	{ "UAR", mlx5_fw_alloc_uar, mlx5_fw_dealloc_uar, 0x802, 0x803 },
	{ "PD", mlx5_fw_alloc_pd, mlx5_fw_dealloc_pd, 0x800, 0x801 },
	{ "XRC domain", mlx5_fw_alloc_xrcd, mlx5_fw_dealloc_xrcd, 0x80e, 0x80f },
};

KUNIT_ARRAY_PARAM_DESC(alloc, alloc_cases, name);

static void command_names_another_object_or_user(struct kunit *test)
{
	const struct alloc_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	u32 number;

	KUNIT_ASSERT_EQ(test, c->alloc(mock->dev, UID, &number), 0);
	expect_command(test, c->alloc_opcode << 16 | UID, 0);
	KUNIT_EXPECT_EQ(test, number, 0x100);
	KUNIT_ASSERT_EQ(test, c->dealloc(mock->dev, UID, number), 0);
	expect_command(test, c->dealloc_opcode << 16 | UID, 0x100);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Kinds of objects that a command creates from a context. */
static const struct create_case {
	const char *name;
	int (*create)(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *number);
	int (*destroy)(struct mlx5_ib_dev *dev, u16 uid, u32 number);
	u32 create_opcode;
	u32 destroy_opcode;
	u32 number;
} create_cases[] = {
	{ "mkey", mlx5_fw_create_mkey, mlx5_fw_destroy_mkey, 0x200, 0x202, 0x10000 },
	{ "RMP", mlx5_fw_create_rmp, mlx5_fw_destroy_rmp, 0x90c, 0x90e, 0x100 },
	{ "XRC SRQ", mlx5_fw_create_xrc_srq, mlx5_fw_destroy_xrc_srq, 0x705, 0x706, 0x100 },
};

KUNIT_ARRAY_PARAM_DESC(create, create_cases, name);

static void context_makes_another_object(struct kunit *test)
{
	const struct create_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	u32 in[0x110 / 4] = {};
	u32 number;

	KUNIT_ASSERT_EQ(test, c->create(mock->dev, UID, in, sizeof(in), &number), 0);
	expect_command(test, c->create_opcode << 16 | UID, 0);
	KUNIT_EXPECT_EQ(test, number, c->number);
	KUNIT_ASSERT_EQ(test, c->destroy(mock->dev, UID, number), 0);
	expect_command(test, c->destroy_opcode << 16 | UID, 0x100);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Commands that ask for a context. */
static const struct query_case {
	const char *name;
	int (*query)(struct mlx5_ib_dev *dev, u16 uid, u32 number, void *context);
	u32 opcode;
} query_cases[] = {
	{ "QP", mlx5_fw_query_qp, 0x50b },
	{ "RMP", mlx5_fw_query_rmp, 0x90f },
	{ "XRC SRQ", mlx5_fw_query_xrc_srq, 0x707 },
};

KUNIT_ARRAY_PARAM_DESC(query, query_cases, name);

static void query_is_about_another_object(struct kunit *test)
{
	const struct query_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	u32 context[0x110 / 4];

	KUNIT_ASSERT_EQ(test, c->query(mock->dev, UID, 0x777, context), 0);
	expect_command(test, c->opcode << 16 | UID, 0x777);
}

/* A CQ is destroyed by mlx5_core, which keeps the uid that it was created with. */
static void cq_is_destroyed_for_another_user(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 in[0x110 / 4] = {};
	struct mlx5_core_cq mcq = {};

	KUNIT_ASSERT_EQ(test, mlx5_fw_create_cq(mock->dev, UID, &mcq, in, sizeof(in)), 0);
	expect_command(test, 0x0400005a, 0);
	KUNIT_EXPECT_EQ(test, mcq.cqn, 0x100);
	KUNIT_ASSERT_EQ(test, mlx5_fw_destroy_cq(mock->dev, &mcq), 0);
	expect_command(test, 0x0401005a, 0x100);
}

static void state_change_carries_the_wrong_qp_or_mask(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 qpc[0xe8 / 4] = {};
	u32 ece = 0x5a5a;

	qpc[0] = (__force u32)cpu_to_be32(0x1234);
	KUNIT_ASSERT_EQ(test, mlx5_fw_modify_qp(mock->dev, UID, 0x503, 0x777, qpc, 0x1f, &ece), 0);
	expect_command(test, 0x0503005a, 0x777);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[4]), 0x1f);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[5]), 0x5a5a);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[6]), 0x1234);

	KUNIT_ASSERT_EQ(test, mlx5_fw_modify_qp(mock->dev, UID, 0x507, 0x778, qpc, 0x1f, &ece), 0);
	expect_command(test, 0x0507005a, 0x778);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[4]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[6]), 0);
}

static struct kunit_case fw_cases[] = {
	KUNIT_CASE_PARAM(command_names_another_object_or_user, alloc_gen_params),
	KUNIT_CASE_PARAM(context_makes_another_object, create_gen_params),
	KUNIT_CASE_PARAM(query_is_about_another_object, query_gen_params),
	KUNIT_CASE(cq_is_destroyed_for_another_user),
	KUNIT_CASE(state_change_carries_the_wrong_qp_or_mask),
	{}
};

static struct kunit_suite fw_suite = {
	.name = "bluebell-fw",
	.test_cases = fw_cases,
};

kunit_test_suite(fw_suite);
