// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the table of DEVX commands: what a process may send, where a command names its
 * object, and what destroys the object. Opcodes and bytes are written down by hand from
 * linux/mlx5/mlx5_ifc.h, but for the list of all opcodes, which the build takes from that header.
 */

#include <kunit/test.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/slab.h>

#include "layout/layout_devx.h"
#include "lib/golden.h"

#define ALL_RIGHTS	(MLX5_UCTX_CAP_RAW_TX | MLX5_UCTX_CAP_INTERNAL_DEV_RES)
/* Bytes that suffice for any command without its list of pages and its match criteria. */
#define CMD_BYTES	0x200
#define MAX_GOLDEN	5
#define MAX_NAMING	10

/* All opcodes of linux/mlx5/mlx5_ifc.h. */
static const u16 header_opcodes[] = {
#include "devx_opcodes.h"
};

static void set_golden(u32 *buf, const struct golden *golden)
{
	int i;

	for (i = 0; i < MAX_GOLDEN; i++)
		if (golden[i].value)
			buf[golden[i].offset / 4] |= (__force u32)cpu_to_be32(golden[i].value);
}

static u32 *new_command(struct kunit *test, u16 opcode, const struct golden *golden)
{
	u32 *in = kunit_kzalloc(test, CMD_BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	in[0] = (__force u32)cpu_to_be32(opcode << 16);
	if (golden)
		set_golden(in, golden);
	return in;
}

static int check(const u32 *in, enum mlx5_ib_devx_use use, u32 rights)
{
	const struct mlx5_ib_devx_cmd *cmd;

	return mlx5_ib_devx_check_cmd(in, CMD_BYTES, use, rights, &cmd);
}

/* With a tunnel id the device would execute the command for another function. */
static void command_for_another_function_is_refused(struct kunit *test)
{
	u32 *in = kunit_kzalloc(test, CMD_BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, in);
	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	KUNIT_EXPECT_EQ(test, check(in, MLX5_IB_DEVX_GENERAL, ALL_RIGHTS), 0);
	MLX5_SET(general_obj_in_cmd_hdr, in, vhca_tunnel_id, 1);
	KUNIT_EXPECT_EQ(test, check(in, MLX5_IB_DEVX_GENERAL, ALL_RIGHTS), -EINVAL);
	MLX5_SET(general_obj_in_cmd_hdr, in, vhca_tunnel_id, 0x8000);
	KUNIT_EXPECT_EQ(test, check(in, MLX5_IB_DEVX_GENERAL, ALL_RIGHTS), -EINVAL);
}

static void every_opcode_of_the_header_has_an_entry(struct kunit *test)
{
	const struct mlx5_ib_devx_cmd *cmd;
	unsigned int i;

	/* The build has taken the opcodes from the header. */
	KUNIT_ASSERT_GE(test, ARRAY_SIZE(header_opcodes), 200);
	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		cmd = mlx5_ib_devx_find_cmd(header_opcodes[i]);
		KUNIT_EXPECT_TRUE_MSG(test, cmd && cmd->opcode == header_opcodes[i],
				      "layout_devx.c has no entry for command 0x%x",
				      header_opcodes[i]);
	}
}

/*
 * Commands that name no object; the last two need a right. The range from 0xb00 to 0xcff, which
 * firmware checks itself, is left out.
 */
static const u16 general_opcodes[] = {
	0x100, 0x101, 0x10a, 0x203, 0x750, 0x754, 0x760, 0x762, 0x764, 0x765, 0x76f, 0x770, 0x80d,
	0x822, 0x824, 0x826, 0x842, 0x740, 0x752,
};

static bool is_general(u32 opcode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(general_opcodes); i++)
		if (general_opcodes[i] == opcode)
			return true;
	return opcode >= 0xb00 && opcode < 0xd00;
}

static void only_listed_general_commands_are_allowed(struct kunit *test)
{
	u32 *in = new_command(test, 0, NULL);
	u32 opcode;

	for (opcode = 0; opcode <= U16_MAX; opcode++) {
		in[0] = (__force u32)cpu_to_be32(opcode << 16);
		KUNIT_EXPECT_EQ_MSG(test, check(in, MLX5_IB_DEVX_GENERAL, ALL_RIGHTS),
				    is_general(opcode) ? 0 : -EINVAL, "command 0x%x", opcode);
	}
}

/* Commands, and creations of objects, that need a right. */
static const struct right_case {
	u16 opcode;
	enum mlx5_ib_devx_use use;
	u32 right;
} right_cases[] = {
	{ 0x740, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_RAW_TX },
	{ 0x752, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_RAW_TX },
	{ 0x782, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0x904, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0x827, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0x829, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0x930, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0x933, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0x936, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0x93d, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0x940, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_RAW_TX },
	{ 0xa00, MLX5_IB_DEVX_CREATE, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0xb00, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_RAW_TX },
	{ 0xb0e, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0xb10, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_RAW_TX },
	{ 0xb11, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0xb12, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0xb16, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ 0xb17, MLX5_IB_DEVX_GENERAL, MLX5_UCTX_CAP_RAW_TX },
};

static u32 needed_right(u16 opcode, enum mlx5_ib_devx_use use)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(right_cases); i++)
		if (right_cases[i].opcode == opcode && right_cases[i].use == use)
			return right_cases[i].right;
	return 0;
}

static void privileged_commands_need_their_right(struct kunit *test)
{
	u32 *in = new_command(test, 0, NULL);
	enum mlx5_ib_devx_use use;
	unsigned int i;
	u32 right;

	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		in[0] = (__force u32)cpu_to_be32(header_opcodes[i] << 16);
		for (use = MLX5_IB_DEVX_GENERAL; use <= MLX5_IB_DEVX_CREATE; use++) {
			if (check(in, use, ALL_RIGHTS))
				continue;
			right = needed_right(header_opcodes[i], use);
			KUNIT_EXPECT_EQ_MSG(test, check(in, use, 0), right ? -EPERM : 0,
					    "command 0x%x", header_opcodes[i]);
			KUNIT_EXPECT_EQ_MSG(test, check(in, use, ALL_RIGHTS & ~right),
					    right ? -EPERM : 0, "command 0x%x",
					    header_opcodes[i]);
		}
	}
}

/* Values of fields that need a right. Most of the commands need no right without these values. */
static const struct raw_case {
	const char *name;
	u16 opcode;
	enum mlx5_ib_devx_use use;
	struct golden in[MAX_GOLDEN];
	u32 right;
} raw_cases[] = {
	{ "QP with a controlled Q_Key", 0x500, MLX5_IB_DEVX_CREATE, { { 0xc0, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "QP with another Q_Key", 0x500, MLX5_IB_DEVX_CREATE, { { 0xc0, 0x7fffffff } }, 0 },
	{ "QP that gets a controlled Q_Key", 0x502, MLX5_IB_DEVX_MODIFY, { { 0xc0, 0x80010000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "QP that changes to a controlled Q_Key", 0x505, MLX5_IB_DEVX_MODIFY,
	  { { 0xc0, 0x80010000 } }, MLX5_UCTX_CAP_RAW_TX },
	{ "QP that speaks as QP1", 0x500, MLX5_IB_DEVX_CREATE, { { 0x98, 1 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "QP that is changed to speak as another", 0x504, MLX5_IB_DEVX_MODIFY,
	  { { 0x98, 0x800000 } }, MLX5_UCTX_CAP_RAW_TX },
	{ "QP with fast registration", 0x500, MLX5_IB_DEVX_CREATE, { { 0x88, 0x800 } },
	  MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "QP that gets fast registration", 0x502, MLX5_IB_DEVX_MODIFY, { { 0x88, 0x800 } },
	  MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "SQ that gets fast registration", 0x905, MLX5_IB_DEVX_MODIFY, { { 0x20, 0x20000000 } },
	  MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "SQ with fast registration", 0x904, MLX5_IB_DEVX_CREATE, { { 0x20, 0x20000000 } },
	  ALL_RIGHTS },
	{ "QP for raw packets", 0x500, MLX5_IB_DEVX_CREATE, { { 0x18, 0x00090000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "capabilities of another function", 0x100, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "state of another port", 0x750, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "addresses of another port", 0x754, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "context of another port", 0x762, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "GIDs of another port", 0x764, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "P_Keys of another port", 0x765, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "environment of another port", 0x76f, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "counters of another port", 0x770, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
	{ "counters of others", 0x93b, MLX5_IB_DEVX_QUERY, { { 0x18, 2 } }, MLX5_UCTX_CAP_RAW_TX },
	{ "counters set to 0", 0x93b, MLX5_IB_DEVX_QUERY, { { 0x18, 0x80000000 } },
	  MLX5_UCTX_CAP_RAW_TX },
};

KUNIT_ARRAY_PARAM_DESC(raw, raw_cases, name);

static void privileged_fields_need_their_right(struct kunit *test)
{
	const struct raw_case *c = test->param_value;
	u32 *in = new_command(test, c->opcode, c->in);

	KUNIT_EXPECT_EQ(test, check(in, c->use, c->right), 0);
	KUNIT_EXPECT_EQ(test, check(in, c->use, ALL_RIGHTS & ~c->right), c->right ? -EPERM : 0);
}

/* Types of general objects, and the right that the creation of an object needs. */
static const struct type_case {
	const char *name;
	u16 type;
	u32 right;
} type_cases[] = {
	{ "encryption key", 0xc, 0 },
	{ "GENEVE option", 0xb, MLX5_UCTX_CAP_RAW_TX },
	{ "match definer", 0x18, MLX5_UCTX_CAP_RAW_TX },
	{ "sampler", 0x20, MLX5_UCTX_CAP_RAW_TX },
	{ "header modify argument", 0x23, MLX5_UCTX_CAP_RAW_TX },
	{ "flow meter ASO", 0x24, MLX5_UCTX_CAP_RAW_TX },
	{ "first hit ASO", 0x25, MLX5_UCTX_CAP_RAW_TX },
	{ "conntrack ASO", 0x31, MLX5_UCTX_CAP_RAW_TX },
	{ "STC", 0x40, MLX5_UCTX_CAP_RAW_TX },
	{ "RTC", 0x41, MLX5_UCTX_CAP_RAW_TX },
	{ "STE", 0x42, MLX5_UCTX_CAP_RAW_TX },
	{ "header modify pattern", 0x43, MLX5_UCTX_CAP_RAW_TX },
	{ "alias of a flow table", 0xff15, MLX5_UCTX_CAP_RAW_TX },
	{ "SW ICM", 0x8, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "virtio queue", 0xd, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "IPsec", 0x13, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "virtio counters", 0x1c, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "MACsec", 0x27, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "page track", 0x46, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "internal KEK", 0x47, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "RDMA control", 0x53, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "PCIe congestion event", 0x58, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
	{ "unknown type", 0x7fff, MLX5_UCTX_CAP_INTERNAL_DEV_RES },
};

KUNIT_ARRAY_PARAM_DESC(type, type_cases, name);

static void general_object_needs_the_right_of_its_type(struct kunit *test)
{
	const struct type_case *c = test->param_value;
	const struct golden type[MAX_GOLDEN] = { { 4, c->type } };
	u32 *in = new_command(test, 0xa00, type);

	KUNIT_EXPECT_EQ(test, check(in, MLX5_IB_DEVX_CREATE, c->right), 0);
	KUNIT_EXPECT_EQ(test, check(in, MLX5_IB_DEVX_CREATE, ALL_RIGHTS & ~c->right),
			c->right ? -EPERM : 0);
}

/* The driver itself sends these commands when a process destroys a handle. */
static void commands_that_destroy_are_for_the_driver_only(struct kunit *test)
{
	u32 *in = new_command(test, 0, NULL);
	const struct mlx5_ib_devx_cmd *cmd;
	enum mlx5_ib_devx_use use;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		cmd = mlx5_ib_devx_find_cmd(header_opcodes[i]);
		if (!cmd || (cmd->use != MLX5_IB_DEVX_DESTROY &&
			     cmd->use != MLX5_IB_DEVX_FORBIDDEN))
			continue;
		n++;
		in[0] = (__force u32)cpu_to_be32(header_opcodes[i] << 16);
		for (use = MLX5_IB_DEVX_GENERAL; use <= MLX5_IB_DEVX_QUERY; use++)
			KUNIT_EXPECT_EQ_MSG(test, check(in, use, ALL_RIGHTS), -EINVAL,
					    "command 0x%x", header_opcodes[i]);
	}
	KUNIT_EXPECT_GT(test, n, 50);
}

/* A command that names an object, and the dwords of the command that name the object. */
struct naming {
	u16 opcode;
	enum mlx5_ib_devx_use use;
	struct golden id[3];
};

#define M(op, ...)	{ op, MLX5_IB_DEVX_MODIFY, { __VA_ARGS__ } }
#define Q(op, ...)	{ op, MLX5_IB_DEVX_QUERY, { __VA_ARGS__ } }
/* Most commands have the number of the object at byte 8. */
#define AT_8		{ 8, 0x123456 }

/*
 * A kind of object: the command that creates an object and its answer, the command that destroys
 * the object, and the commands that name it.
 */
static const struct object_case {
	const char *name;
	enum mlx5_ib_devx_kind kind;
	u16 create;
	struct golden in[MAX_GOLDEN];
	struct golden out[1];
	struct golden destroy[GOLDEN_MAX];
	size_t destroy_size;
	struct naming naming[MAX_NAMING];
} object_cases[] = {
	{ "mkey", MLX5_IB_DEVX_MKEY, 0x200, { { 0x10, 0x200 } }, { AT_8 },
	  { { 0, 0x02020000 }, AT_8 }, 16, { Q(0x201, AT_8) } },
	{ "CQ", MLX5_IB_DEVX_CQ, 0x400, {}, { AT_8 }, { { 0, 0x04010000 }, AT_8 }, 16,
	  { Q(0x402, AT_8), M(0x403, AT_8) } },
	{ "QP", MLX5_IB_DEVX_QP, 0x500, {}, { AT_8 }, { { 0, 0x05010000 }, AT_8 }, 16,
	  { M(0x502, AT_8), M(0x503, AT_8), M(0x504, AT_8), M(0x505, AT_8), M(0x506, AT_8),
	    M(0x507, AT_8), M(0x50a, AT_8), Q(0x50b, AT_8), M(0x50c, AT_8), M(0x50e, AT_8) } },
	{ "XRC SRQ", MLX5_IB_DEVX_XRC_SRQ, 0x705, {}, { AT_8 }, { { 0, 0x07060000 }, AT_8 }, 16,
	  { Q(0x707, AT_8), M(0x708, AT_8) } },
	{ "DCT", MLX5_IB_DEVX_DCT, 0x710, {}, { AT_8 }, { { 0, 0x07110000 }, AT_8 }, 16,
	  { M(0x712, AT_8), Q(0x713, AT_8) } },
	{ "XRQ", MLX5_IB_DEVX_XRQ, 0x717, {}, { AT_8 }, { { 0, 0x07180000 }, AT_8 }, 16,
	  { Q(0x719, AT_8), M(0x71a, AT_8) } },
	{ "Q counters", MLX5_IB_DEVX_Q_COUNTER, 0x771, {}, { { 8, 0x7b } },
	  { { 0, 0x07720000 }, { 8, 0x7b } }, 16, { Q(0x773, { 0x1c, 0x7b }) } },
	{ "scheduling element", MLX5_IB_DEVX_SCHEDULING_ELEMENT, 0x782, { { 8, 0x03000000 } },
	  { { 0x10, 0x80000001 } },
	  { { 0, 0x07830000 }, { 8, 0x03000000 }, { 0xc, 0x80000001 } }, 64,
	  { Q(0x784, { 8, 0x03000000 }, { 0xc, 0x80000001 }),
	    M(0x785, { 8, 0x03000000 }, { 0xc, 0x80000001 }) } },
	{ "PD", MLX5_IB_DEVX_PD, 0x800, {}, { AT_8 }, { { 0, 0x08010000 }, AT_8 }, 16 },
	{ "multicast", MLX5_IB_DEVX_MCG, 0x806,
	  { AT_8, { 0x10, 0xff12401b }, { 0x14, 0x80010002 }, { 0x18, 3 }, { 0x1c, 4 } }, {},
	  { { 0, 0x08070000 }, AT_8, { 0x10, 0xff12401b }, { 0x14, 0x80010002 }, { 0x18, 3 },
	    { 0x1c, 4 } }, 32 },
	{ "XRC domain", MLX5_IB_DEVX_XRCD, 0x80e, {}, { AT_8 }, { { 0, 0x080f0000 }, AT_8 }, 16 },
	{ "transport domain", MLX5_IB_DEVX_TRANSPORT_DOMAIN, 0x816, {}, { AT_8 },
	  { { 0, 0x08170000 }, AT_8 }, 16 },
	{ "VXLAN port", MLX5_IB_DEVX_VXLAN_PORT, 0x827, { { 0xc, 0x12b5 } }, {},
	  { { 0, 0x08280000 }, { 0xc, 0x12b5 } }, 16 },
	{ "L2 entry", MLX5_IB_DEVX_L2_ENTRY, 0x829, { { 0x14, 0x2a } }, {},
	  { { 0, 0x082b0000 }, { 0x14, 0x2a } }, 64, { Q(0x82a, { 0x14, 0x2a }) } },
	{ "TIR", MLX5_IB_DEVX_TIR, 0x900, {}, { AT_8 }, { { 0, 0x09020000 }, AT_8 }, 16,
	  { M(0x901, AT_8), Q(0x903, AT_8) } },
	{ "SQ", MLX5_IB_DEVX_SQ, 0x904, {}, { AT_8 }, { { 0, 0x09060000 }, AT_8 }, 16,
	  { M(0x905, AT_8), Q(0x907, AT_8) } },
	{ "RQ", MLX5_IB_DEVX_RQ, 0x908, {}, { AT_8 }, { { 0, 0x090a0000 }, AT_8 }, 16,
	  { M(0x909, AT_8), Q(0x90b, AT_8) } },
	{ "RMP", MLX5_IB_DEVX_RMP, 0x90c, {}, { AT_8 }, { { 0, 0x090e0000 }, AT_8 }, 16,
	  { M(0x90d, AT_8), Q(0x90f, AT_8) } },
	{ "TIS", MLX5_IB_DEVX_TIS, 0x912, {}, { AT_8 }, { { 0, 0x09140000 }, AT_8 }, 16,
	  { M(0x913, AT_8), Q(0x915, AT_8) } },
	{ "RQT", MLX5_IB_DEVX_RQT, 0x916, {}, { AT_8 }, { { 0, 0x09180000 }, AT_8 }, 16,
	  { M(0x917, AT_8), Q(0x919, AT_8) } },
	{ "flow table", MLX5_IB_DEVX_FLOW_TABLE, 0x930,
	  { { 8, 0xc0000007 }, { 0x10, 0x02000009 }, { 0x18, 0xffffffff } }, { AT_8 },
	  { { 0, 0x09310000 }, { 8, 0xc0000007 }, { 0x10, 0x02000009 }, { 0x14, 0x123456 } }, 64,
	  { Q(0x932, { 0x10, 0x02000000 }, { 0x14, 0x123456 }),
	    M(0x93c, { 0x10, 0x02000000 }, { 0x14, 0x123456 }) } },
	{ "flow group", MLX5_IB_DEVX_FLOW_GROUP, 0x933,
	  { { 8, 0xc0000007 }, { 0x10, 0x020f0009 }, { 0x14, 0x99 }, { 0x18, 0x80000000 } },
	  { AT_8 },
	  { { 0, 0x09340000 }, { 8, 0xc0000007 }, { 0x10, 0x02000009 }, { 0x14, 0x99 },
	    { 0x18, 0x123456 } }, 64,
	  { Q(0x935, { 0x10, 0x02000000 }, { 0x14, 0x99 }, { 0x18, 0x123456 }) } },
	{ "flow entry", MLX5_IB_DEVX_FLOW_ENTRY, 0x936,
	  { { 8, 0xc0000007 }, { 0x10, 0x02000009 }, { 0x14, 0x99 }, { 0x18, 0x80000001 },
	    { 0x20, 0x80000011 } }, {},
	  { { 0, 0x09380000 }, { 8, 0xc0000007 }, { 0x10, 0x02000009 }, { 0x14, 0x99 },
	    { 0x20, 0x80000011 } }, 64,
	  { Q(0x937, { 0x10, 0x02000000 }, { 0x14, 0x99 }, { 0x20, 0x80000011 }) } },
	{ "flow counter", MLX5_IB_DEVX_FLOW_COUNTER, 0x939, {}, { { 8, 0x80000001 } },
	  { { 0, 0x093a0000 }, { 8, 0x80000001 } }, 16, { Q(0x93b, { 0x1c, 0x80000001 }) } },
	{ "reformat", MLX5_IB_DEVX_PACKET_REFORMAT, 0x93d, {}, { { 8, 0x80000001 } },
	  { { 0, 0x093e0000 }, { 8, 0x80000001 } }, 16, { Q(0x93f, { 8, 0x80000001 }) } },
	{ "modify header", MLX5_IB_DEVX_MODIFY_HEADER, 0x940, {}, { { 8, 0x80000001 } },
	  { { 0, 0x09410000 }, { 8, 0x80000001 } }, 16, { Q(0x942, { 8, 0x80000001 }) } },
	{ "general object", MLX5_IB_DEVX_GENERAL_OBJECT, 0xa00, { { 4, 0xd } },
	  { { 8, 0xdeadbeef } }, { { 0, 0x0a030000 }, { 4, 0xd }, { 8, 0xdeadbeef } }, 16,
	  { M(0xa01, { 4, 0xd }, { 8, 0xdeadbeef }), Q(0xa02, { 4, 0xd }, { 8, 0xdeadbeef }) } },
};

KUNIT_ARRAY_PARAM_DESC(object, object_cases, name);

/* Create the object of a case in a firmware that answers as the case says; returns the request. */
static u32 *create_object(struct kunit *test, struct mlx5_ib_devx_id *id)
{
	const struct object_case *c = test->param_value;
	const struct mlx5_ib_devx_cmd *cmd;
	u32 out[0x40 / 4] = {};
	u32 *in;

	in = new_command(test, c->create, c->in);
	if (c->out[0].value)
		out[c->out[0].offset / 4] = (__force u32)cpu_to_be32(c->out[0].value);
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_check_cmd(in, CMD_BYTES, MLX5_IB_DEVX_CREATE,
						     ALL_RIGHTS, &cmd), 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_check_create(cmd, in, CMD_BYTES, sizeof(out)), 0);
	mlx5_ib_devx_read_id(cmd, in, out, id);
	KUNIT_EXPECT_EQ(test, id->kind, c->kind);
	return in;
}

static void destroy_command_names_the_created_object(struct kunit *test)
{
	const struct object_case *c = test->param_value;
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW];
	struct mlx5_ib_devx_id id;
	u32 *in;

	memset(destroy, 0x5a, sizeof(destroy));
	in = create_object(test, &id);
	KUNIT_EXPECT_EQ(test,
			mlx5_ib_devx_fill_destroy(mlx5_ib_devx_find_cmd(c->create), &id, in,
						  CMD_BYTES, destroy),
			c->destroy_size);
	expect_golden(test, destroy, sizeof(destroy), c->destroy);
	KUNIT_EXPECT_NOT_NULL(test, mlx5_ib_devx_kinds[id.kind].name);
}

/* Change the lowest and the highest bit of each field that names the object, one at a time. */
static void expect_names_no_other(struct kunit *test, const struct naming *naming, u32 *in,
				  const struct mlx5_ib_devx_id *id)
{
	const struct mlx5_ib_devx_cmd *cmd = mlx5_ib_devx_find_cmd(naming->opcode);
	u32 bit;
	int i;

	for (i = 0; i < ARRAY_SIZE(naming->id) && naming->id[i].value; i++)
		for (bit = naming->id[i].value & -naming->id[i].value; bit;
		     bit = bit == 1U << (fls(naming->id[i].value) - 1) ? 0 :
			   1U << (fls(naming->id[i].value) - 1)) {
			in[naming->id[i].offset / 4] ^= (__force u32)cpu_to_be32(bit);
			KUNIT_EXPECT_FALSE_MSG(test, mlx5_ib_devx_names(cmd, in, id),
					       "command 0x%x, dword at 0x%x", naming->opcode,
					       naming->id[i].offset);
			in[naming->id[i].offset / 4] ^= (__force u32)cpu_to_be32(bit);
		}
}

static void command_names_its_object_and_no_other(struct kunit *test)
{
	const struct object_case *c = test->param_value;
	struct mlx5_ib_devx_id id, other;
	const struct mlx5_ib_devx_cmd *cmd;
	const struct naming *naming;
	u32 *in;

	create_object(test, &id);
	other = id;
	other.kind = id.kind == MLX5_IB_DEVX_PD ? MLX5_IB_DEVX_QP : MLX5_IB_DEVX_PD;
	for (naming = c->naming; naming < c->naming + MAX_NAMING && naming->opcode; naming++) {
		in = new_command(test, naming->opcode, NULL);
		in[naming->id[0].offset / 4] |= (__force u32)cpu_to_be32(naming->id[0].value);
		in[naming->id[1].offset / 4] |= (__force u32)cpu_to_be32(naming->id[1].value);
		in[naming->id[2].offset / 4] |= (__force u32)cpu_to_be32(naming->id[2].value);
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_check_cmd(in, CMD_BYTES, naming->use,
								 ALL_RIGHTS, &cmd),
				    0, "command 0x%x", naming->opcode);
		KUNIT_EXPECT_TRUE_MSG(test, mlx5_ib_devx_names(cmd, in, &id), "command 0x%x",
				      naming->opcode);
		KUNIT_EXPECT_FALSE_MSG(test, mlx5_ib_devx_names(cmd, in, &other), "command 0x%x",
				       naming->opcode);
		expect_names_no_other(test, naming, in, &id);
	}
}

/* Each kind of object has a case above, with all its commands. */
static void every_kind_of_object_has_a_case(struct kunit *test)
{
	unsigned int i, k, n, found;

	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		const struct mlx5_ib_devx_cmd *cmd = mlx5_ib_devx_find_cmd(header_opcodes[i]);
		const struct mlx5_ib_devx_cmd *destroy;

		if (!cmd || !cmd->kind)
			continue;
		found = 0;
		for (k = 0; k < ARRAY_SIZE(object_cases); k++) {
			const struct object_case *c = &object_cases[k];

			found += c->create == cmd->opcode;
			found += c->destroy[0].value >> 16 == cmd->opcode;
			for (n = 0; n < MAX_NAMING; n++)
				found += c->naming[n].opcode == cmd->opcode;
		}
		KUNIT_EXPECT_EQ_MSG(test, found, 1, "command 0x%x", cmd->opcode);
		if (cmd->use != MLX5_IB_DEVX_CREATE)
			continue;
		destroy = mlx5_ib_devx_destroy_cmd(cmd);
		KUNIT_ASSERT_NOT_NULL(test, destroy);
		KUNIT_EXPECT_EQ(test, destroy->use, MLX5_IB_DEVX_DESTROY);
		KUNIT_EXPECT_EQ(test, destroy->kind, cmd->kind);
	}
}

/* Commands that refer to memory, and the bits that say that the memory is given as a umem. */
static const struct umem_case {
	const char *name;
	u16 opcode;
	enum mlx5_ib_devx_use use;
	struct golden in[MAX_GOLDEN];
	struct golden bits[2];
} umem_cases[] = {
	{ "mkey over memory", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x100 } },
	  { { 0xc, 0x40000000 } } },
	{ "mkey over mkeys", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x200 } } },
	{ "mkey over mkeys of one length", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x300 } } },
	{ "CQ", 0x400, MLX5_IB_DEVX_CREATE, {}, { { 0x10, 0x02000000 }, { 0x5c, 0x80000000 } } },
	{ "resized CQ", 0x403, MLX5_IB_DEVX_MODIFY, { { 4, 1 } }, { { 0x5c, 0x80000000 } } },
	{ "CQ changed in another way", 0x403, MLX5_IB_DEVX_MODIFY, { { 4, 2 } },
	  { { 0x5c, 0x80000000 } } },
	{ "moderated CQ", 0x403, MLX5_IB_DEVX_MODIFY, {}, {} },
	{ "QP", 0x500, MLX5_IB_DEVX_CREATE, {}, { { 0xe8, 0x10000000 }, { 0x10c, 0x80000000 } } },
	{ "XRC SRQ", 0x705, MLX5_IB_DEVX_CREATE, {},
	  { { 0x18, 0x01000000 }, { 0x5c, 0x80000000 } } },
	{ "XRQ", 0x717, MLX5_IB_DEVX_CREATE, {}, { { 0xb4, 0xc0000000 } } },
	{ "SQ", 0x904, MLX5_IB_DEVX_CREATE, {}, { { 0x74, 0xc0000000 } } },
	{ "RQ", 0x908, MLX5_IB_DEVX_CREATE, {}, { { 0x74, 0xc0000000 } } },
	{ "RMP", 0x90c, MLX5_IB_DEVX_CREATE, {}, { { 0x74, 0xc0000000 } } },
};

KUNIT_ARRAY_PARAM_DESC(umem, umem_cases, name);

static void memory_is_always_named_by_umem(struct kunit *test)
{
	const struct umem_case *c = test->param_value;
	struct golden want[GOLDEN_MAX] = { { 0, c->opcode << 16 }, c->in[0], c->bits[0],
					   c->bits[1] };
	const struct mlx5_ib_devx_cmd *cmd;
	u32 *in = new_command(test, c->opcode, c->in);
	unsigned int last, i;

	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_check_cmd(in, CMD_BYTES, c->use, ALL_RIGHTS, &cmd), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_use_umem(cmd, in, CMD_BYTES), 0);
	expect_golden(test, in, CMD_BYTES, want);
	/* A command that is too short for one of the bits is refused. */
	last = max(c->bits[0].offset, c->bits[1].offset);
	for (i = 16; i < last + 4; i++)
		KUNIT_EXPECT_TRUE_MSG(test, (c->use == MLX5_IB_DEVX_CREATE &&
					     mlx5_ib_devx_check_create(cmd, in, i, 64)) ||
				      mlx5_ib_devx_use_umem(cmd, in, i), "%u bytes", i);
}

/* The driver's table has umem bits for the commands of the cases above, and for no other ones. */
static void every_command_with_memory_has_a_case(struct kunit *test)
{
	const struct mlx5_ib_devx_cmd *cmd;
	unsigned int i, k;
	bool found;

	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		cmd = mlx5_ib_devx_find_cmd(header_opcodes[i]);
		if (!cmd)
			continue;
		found = false;
		for (k = 0; k < ARRAY_SIZE(umem_cases); k++)
			found |= umem_cases[k].opcode == cmd->opcode;
		KUNIT_EXPECT_EQ_MSG(test, !!cmd->umem[0].bits, found, "command 0x%x",
				    header_opcodes[i]);
	}
}

/* Values of fields that a process must not set. */
static const struct denied_case {
	const char *name;
	u16 opcode;
	enum mlx5_ib_devx_use use;
	struct golden in[MAX_GOLDEN];
	int err;
} denied_cases[] = {
	{ "command on behalf of another function", 0x100, MLX5_IB_DEVX_GENERAL,
	  { { 4, 0x00010000 } }, -EINVAL },
	{ "object of another function", 0x800, MLX5_IB_DEVX_CREATE, { { 4, 0x80000000 } },
	  -EINVAL },
	{ "PSV", 0x600, MLX5_IB_DEVX_CREATE, { { 8, 0x10000000 } }, -EINVAL },
	{ "mkey over all memory", 0x200, MLX5_IB_DEVX_CREATE, {}, -EPERM },
	{ "mkey over ICM", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x04000000 } }, -EPERM },
	{ "mkey over device memory", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x04000100 } },
	  -EPERM },
	{ "mkey over memory that UMR can change", 0x200, MLX5_IB_DEVX_CREATE,
	  { { 0x10, 0x8100 } }, -EPERM },
	{ "free mkey over memory", 0x200, MLX5_IB_DEVX_CREATE, { { 0x10, 0x40000100 } }, -EPERM },
	{ "mkey over a umem that is not one of memory", 0x200, MLX5_IB_DEVX_CREATE,
	  { { 0xc, 0x40000000 }, { 0x10, 0x200 } }, -EPERM },
	{ "mkey that another function uses", 0x200, MLX5_IB_DEVX_CREATE,
	  { { 0xc, 0x20000000 }, { 0x10, 0x100 } }, -EPERM },
	{ "DCT with the reserved key", 0x710, MLX5_IB_DEVX_CREATE, { { 0x1c, 0x4000 } }, -EPERM },
	{ "XRQ that moves data by itself", 0x717, MLX5_IB_DEVX_CREATE, { { 0x10, 2 } }, -EPERM },
	{ "SQ that gets the reserved key", 0x905, MLX5_IB_DEVX_MODIFY, { { 0x20, 0x80000000 } },
	  -EPERM },
	{ "SQ that becomes one for UMR", 0x905, MLX5_IB_DEVX_MODIFY, { { 0x20, 0x00080000 } },
	  -EPERM },
	{ "RQ that gets the reserved key", 0x909, MLX5_IB_DEVX_MODIFY, { { 0x20, 0x80000000 } },
	  -EPERM },
	{ "RQs of another function", 0x916, MLX5_IB_DEVX_CREATE, { { 0x38, 0x80000000 } },
	  -EPERM },
	{ "RQs that become another function's", 0x917, MLX5_IB_DEVX_MODIFY,
	  { { 0x38, 0x80000000 } }, -EPERM },
	{ "QP with the reserved key", 0x500, MLX5_IB_DEVX_CREATE, { { 0x20, 0x10 } }, -EPERM },
	{ "QP that gets the reserved key", 0x502, MLX5_IB_DEVX_MODIFY, { { 0x20, 0x10 } },
	  -EPERM },
	{ "QP0", 0x500, MLX5_IB_DEVX_CREATE, { { 0x18, 0x00070000 } }, -EPERM },
	{ "QP1", 0x500, MLX5_IB_DEVX_CREATE, { { 0x18, 0x00080000 } }, -EPERM },
	{ "QP for UMR", 0x500, MLX5_IB_DEVX_CREATE, { { 0x18, 0x000c0000 } }, -EPERM },
	{ "XRC SRQ with the reserved key", 0x705, MLX5_IB_DEVX_CREATE, { { 0x14, 0x10000000 } },
	  -EPERM },
	{ "XRQ with the reserved key", 0x717, MLX5_IB_DEVX_CREATE, { { 0x10, 0x08000000 } },
	  -EPERM },
	{ "SQ with the reserved key", 0x904, MLX5_IB_DEVX_CREATE, { { 0x20, 0x80000000 } },
	  -EPERM },
	{ "SQ for UMR", 0x904, MLX5_IB_DEVX_CREATE, { { 0x20, 0x00080000 } }, -EPERM },
	{ "RQ with the reserved key", 0x908, MLX5_IB_DEVX_CREATE, { { 0x20, 0x80000000 } },
	  -EPERM },
	{ "counters of all", 0x773, MLX5_IB_DEVX_QUERY, { { 0x18, 0x40000000 } }, -EPERM },
	{ "counters of another function", 0x773, MLX5_IB_DEVX_QUERY, { { 8, 0x80000000 } },
	  -EPERM },
	{ "port counters set to 0", 0x770, MLX5_IB_DEVX_GENERAL, { { 0x18, 0x80000000 } },
	  -EPERM },
	{ "congestion counters set to 0", 0x826, MLX5_IB_DEVX_GENERAL, { { 8, 0x80000000 } },
	  -EPERM },
};

KUNIT_ARRAY_PARAM_DESC(denied, denied_cases, name);

static void resources_of_the_kernel_are_refused(struct kunit *test)
{
	const struct denied_case *c = test->param_value;
	const struct mlx5_ib_devx_cmd *cmd;
	u32 *in = new_command(test, c->opcode, c->in);
	int err;

	err = mlx5_ib_devx_check_cmd(in, CMD_BYTES, c->use, ALL_RIGHTS, &cmd);
	if (!err && c->use == MLX5_IB_DEVX_CREATE)
		err = mlx5_ib_devx_check_create(cmd, in, CMD_BYTES, 64);
	KUNIT_EXPECT_EQ(test, err, c->err);
}

/* The command, or the room for its answer, ends before the end of the object number. */
static void truncated_object_number_is_refused(struct kunit *test)
{
	const struct object_case *c = test->param_value;
	const struct mlx5_ib_devx_cmd *cmd;
	const struct naming *naming;
	unsigned int last, i, k;
	u32 *in;

	in = new_command(test, c->create, c->in);
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_check_cmd(in, CMD_BYTES, MLX5_IB_DEVX_CREATE,
						     ALL_RIGHTS, &cmd), 0);
	for (i = 0; c->out[0].value && i < c->out[0].offset + 4; i++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_devx_check_create(cmd, in, CMD_BYTES, i),
				    -EINVAL, "%u bytes for the answer", i);
	for (naming = c->naming; naming < c->naming + MAX_NAMING && naming->opcode; naming++) {
		in = new_command(test, naming->opcode, NULL);
		for (last = 0, k = 0; k < ARRAY_SIZE(naming->id); k++)
			last = max_t(unsigned int, last, naming->id[k].offset);
		for (i = 0; i < max(last + 4, 16); i++)
			KUNIT_EXPECT_EQ_MSG(test,
					    mlx5_ib_devx_check_cmd(in, i, naming->use, ALL_RIGHTS,
								   &cmd),
					    -EINVAL, "command 0x%x of %u bytes", naming->opcode,
					    i);
	}
}

static void use_as_much_as_allowed(const u32 *from, size_t len, u32 *in)
{
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW], out[16] = {};
	const struct mlx5_ib_devx_cmd *cmd;
	enum mlx5_ib_devx_use use;
	struct mlx5_ib_devx_id id;

	for (use = MLX5_IB_DEVX_GENERAL; use <= MLX5_IB_DEVX_QUERY; use++) {
		memcpy(in, from, len);
		if (mlx5_ib_devx_check_cmd(in, len, use, ALL_RIGHTS, &cmd))
			continue;
		if (use == MLX5_IB_DEVX_CREATE &&
		    mlx5_ib_devx_check_create(cmd, in, len, sizeof(out)))
			continue;
		if (mlx5_ib_devx_use_umem(cmd, in, len) || use == MLX5_IB_DEVX_GENERAL)
			continue;
		mlx5_ib_devx_read_id(cmd, in, out, &id);
		if (use == MLX5_IB_DEVX_CREATE)
			mlx5_ib_devx_fill_destroy(cmd, &id, in, len, destroy);
		else
			mlx5_ib_devx_names(cmd, in, &id);
	}
}

/* KASAN reports accesses behind the command; the test also compares the bytes that follow it. */
static void command_is_not_accessed_behind_its_end(struct kunit *test)
{
	static const struct golden mtt[MAX_GOLDEN] = { { 0x10, 0x100 }, { 4, 1 } };
	const struct mlx5_ib_devx_cmd *cmd;
	unsigned int i, len, k;
	u32 *from, *in;

	for (i = 0; i < ARRAY_SIZE(header_opcodes); i++) {
		cmd = mlx5_ib_devx_find_cmd(header_opcodes[i]);
		if (!cmd || cmd->use == MLX5_IB_DEVX_FORBIDDEN)
			continue;
		from = new_command(test, header_opcodes[i], mtt);
		/* Odd lengths are among those tried. */
		for (len = 16; len < 0x160; len += len & 1 ? 3 : 1) {
			in = kmalloc(len, GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, in);
			use_as_much_as_allowed(from, len, in);
			kfree(in);
		}
		in = new_command(test, 0, NULL);
		memset(in, 0x5a, CMD_BYTES);
		use_as_much_as_allowed(from, 0x20, in);
		for (k = 0x20 / 4; k < CMD_BYTES / 4; k++)
			KUNIT_ASSERT_EQ_MSG(test, in[k], 0x5a5a5a5a, "command 0x%x",
					    header_opcodes[i]);
		kunit_kfree(test, from);
		kunit_kfree(test, in);
	}
}

static struct kunit_case devx_cases[] = {
	KUNIT_CASE(command_for_another_function_is_refused),
	KUNIT_CASE(every_opcode_of_the_header_has_an_entry),
	KUNIT_CASE(only_listed_general_commands_are_allowed),
	KUNIT_CASE(privileged_commands_need_their_right),
	KUNIT_CASE_PARAM(privileged_fields_need_their_right, raw_gen_params),
	KUNIT_CASE_PARAM(general_object_needs_the_right_of_its_type, type_gen_params),
	KUNIT_CASE(commands_that_destroy_are_for_the_driver_only),
	KUNIT_CASE_PARAM(destroy_command_names_the_created_object, object_gen_params),
	KUNIT_CASE_PARAM(command_names_its_object_and_no_other, object_gen_params),
	KUNIT_CASE_PARAM(truncated_object_number_is_refused, object_gen_params),
	KUNIT_CASE(every_kind_of_object_has_a_case),
	KUNIT_CASE_PARAM(memory_is_always_named_by_umem, umem_gen_params),
	KUNIT_CASE(every_command_with_memory_has_a_case),
	KUNIT_CASE_PARAM(resources_of_the_kernel_are_refused, denied_gen_params),
	KUNIT_CASE(command_is_not_accessed_behind_its_end),
	{}
};

static struct kunit_suite devx_suite = {
	.name = "bluebell_devx",
	.test_cases = devx_cases,
};

kunit_test_suite(devx_suite);
