// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the firmware interface: what every status means, which
 * commands only take away, and the numbers that commands carry.
 */

#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "../fw.h"
#include "mock.h"

static const struct status_case {
	const char *name;
	u8 status;
	int want;
} status_cases[] = {
	{ "OK", 0x00, 0 },
	{ "INT_ERR", 0x01, -EIO },
	{ "BAD_OP_ERR", 0x02, -EINVAL },
	{ "BAD_PARAM_ERR", 0x03, -EINVAL },
	{ "BAD_SYS_STATE_ERR", 0x04, -EIO },
	{ "BAD_RES_ERR", 0x05, -EINVAL },
	{ "RES_BUSY", 0x06, -EBUSY },
	{ "NOT_READY", 0x07, -EAGAIN },
	{ "LIM_ERR", 0x08, -ENOMEM },
	{ "BAD_RES_STATE_ERR", 0x09, -EINVAL },
	{ "IX_ERR", 0x0a, -EINVAL },
	{ "NO_RES_ERR", 0x0f, -EAGAIN },
	{ "BAD_QP_STATE_ERR", 0x10, -EINVAL },
	{ "BAD_PKT_ERR", 0x30, -EINVAL },
	{ "BAD_SIZE_OUTS_CQES_ERR", 0x40, -EINVAL },
	{ "BAD_INP_LEN_ERR", 0x50, -EIO },
	{ "BAD_OUTP_LEN_ERR", 0x51, -EIO },
};

KUNIT_ARRAY_PARAM_DESC(status, status_cases, name);

static void firmware_status_becomes_another_errno(struct kunit *test)
{
	const struct status_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_status_to_errno(c->status), c->want);
}

static void unknown_status_is_taken_for_success(struct kunit *test)
{
	int status, i;

	for (status = 1; status < 256; status++) {
		bool known = false;

		for (i = 0; i < ARRAY_SIZE(status_cases); i++)
			known |= status_cases[i].status == status;
		if (!known)
			KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_status_to_errno(status), -EIO,
					    "status 0x%x", status);
	}
}

static const struct opcode_case {
	const char *name;
	u16 opcode;
	bool destroys;
} opcode_cases[] = {
	{ "CREATE_MKEY", 0x200, false },
	{ "DESTROY_MKEY", 0x202, true },
	{ "PAGE_FAULT_RESUME", 0x204, false },
	{ "CREATE_EQ", 0x301, false },
	{ "DESTROY_EQ", 0x302, true },
	{ "CREATE_CQ", 0x400, false },
	{ "DESTROY_CQ", 0x401, true },
	{ "MODIFY_CQ", 0x403, false },
	{ "CREATE_QP", 0x500, false },
	{ "DESTROY_QP", 0x501, true },
	{ "RST2INIT_QP", 0x502, false },
	{ "INIT2RTR_QP", 0x503, false },
	{ "RTR2RTS_QP", 0x504, false },
	{ "RTS2RTS_QP", 0x505, false },
	{ "SQERR2RTS_QP", 0x506, false },
	{ "2ERR_QP", 0x507, true },
	{ "2RST_QP", 0x50a, true },
	{ "QUERY_QP", 0x50b, false },
	{ "INIT2INIT_QP", 0x50e, false },
	{ "QUERY_HCA_VPORT_CONTEXT", 0x762, false },
	{ "ALLOC_PD", 0x800, false },
	{ "DEALLOC_PD", 0x801, true },
	{ "ALLOC_UAR", 0x802, false },
	{ "DEALLOC_UAR", 0x803, true },
	{ "ALLOC_TRANSPORT_DOMAIN", 0x816, false },
	{ "DEALLOC_TRANSPORT_DOMAIN", 0x817, true },
	{ "CREATE_RMP", 0x90c, false },
	{ "MODIFY_RMP", 0x90d, false },
	{ "DESTROY_RMP", 0x90e, true },
	{ "QUERY_RMP", 0x90f, false },
};

KUNIT_ARRAY_PARAM_DESC(opcode, opcode_cases, name);

static void command_has_another_name_in_the_trace(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;

	KUNIT_EXPECT_STREQ(test, mlx5_ib_fw_opcode_name(c->opcode), c->name);
}

static void command_on_a_device_that_is_gone_has_the_wrong_end(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_opcode_destroys(c->opcode), c->destroys);
}

static void unknown_command_is_taken_for_a_destroying_one(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, mlx5_ib_fw_opcode_destroys(0x9ff));
	KUNIT_EXPECT_STREQ(test, mlx5_ib_fw_opcode_name(0x9ff), "UNKNOWN");
}

#define UID	0x5a

/* Two dwords of a command: opcode and uid, and what the third dword names. */
static void expect_command(struct kunit *test, u32 first, u32 third)
{
	struct mock *mock = test->priv;
	const __be32 *in = (const __be32 *)mock->in;

	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[0]), first);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), third);
}

static void command_names_another_object_or_user(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 number;

	KUNIT_ASSERT_EQ(test, mlx5_fw_alloc_uar(mock->dev, UID, &number), 0);
	expect_command(test, 0x0802005a, 0);
	KUNIT_EXPECT_EQ(test, number, 0x100);
	KUNIT_ASSERT_EQ(test, mlx5_fw_dealloc_uar(mock->dev, UID, number), 0);
	expect_command(test, 0x0803005a, 0x100);

	KUNIT_ASSERT_EQ(test, mlx5_fw_alloc_pd(mock->dev, UID, &number), 0);
	expect_command(test, 0x0800005a, 0);
	KUNIT_ASSERT_EQ(test, mlx5_fw_dealloc_pd(mock->dev, UID, number), 0);
	expect_command(test, 0x0801005a, 0x100);

	KUNIT_ASSERT_EQ(test, mlx5_fw_alloc_transport_domain(mock->dev, UID, &number), 0);
	expect_command(test, 0x0816005a, 0);
	KUNIT_ASSERT_EQ(test, mlx5_fw_dealloc_transport_domain(mock->dev, UID, number), 0);
	expect_command(test, 0x0817005a, 0x100);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
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
	KUNIT_CASE_PARAM(firmware_status_becomes_another_errno, status_gen_params),
	KUNIT_CASE(unknown_status_is_taken_for_success),
	KUNIT_CASE_PARAM(command_has_another_name_in_the_trace, opcode_gen_params),
	KUNIT_CASE_PARAM(command_on_a_device_that_is_gone_has_the_wrong_end, opcode_gen_params),
	KUNIT_CASE(unknown_command_is_taken_for_a_destroying_one),
	KUNIT_CASE(command_names_another_object_or_user),
	KUNIT_CASE(state_change_carries_the_wrong_qp_or_mask),
	{}
};

static struct kunit_suite fw_suite = {
	.name = "bluebell-fw",
	.test_cases = fw_cases,
};

kunit_test_suite(fw_suite);
