// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the firmware interface: the opcode, the uid and the object number
 * that each command carries, and the number in each answer. What a status means is
 * up to mlx5_cmd_check().
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/pci.h>
#include <linux/semaphore.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "fw/fw.h"
#include "lib/mock.h"

#define UID	0x5a

/* Expect two dwords of the last command: opcode and uid in the first, the object in the third. */
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
	u16 alloc;
	u16 dealloc;
} alloc_cases[] = {
	{ "UAR", 0x802, 0x803 },
	{ "PD", 0x800, 0x801 },
	{ "XRC domain", 0x80e, 0x80f },
};

KUNIT_ARRAY_PARAM_DESC(alloc, alloc_cases, name);

static void command_carries_object_and_user_id(struct kunit *test)
{
	const struct alloc_case *c = test->param_value;
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);
	u32 number;

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_alloc_object(mock->dev, UID, c->alloc, &number), 0);
	expect_command(test, c->alloc << 16 | UID, 0);
	KUNIT_EXPECT_EQ(test, number, 0x100);
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_destroy_object(mock->dev, UID, c->dealloc, number,
							&attempt), 0);
	expect_command(test, c->dealloc << 16 | UID, 0x100);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Kinds of objects that a command creates from a context. */
static const struct create_case {
	const char *name;
	u16 create;
	u16 destroy;
} create_cases[] = {
	{ "mkey", 0x200, 0x202 },
	{ "RMP", 0x90c, 0x90e },
	{ "XRC SRQ", 0x705, 0x706 },
};

KUNIT_ARRAY_PARAM_DESC(create, create_cases, name);

static void creation_from_a_context_carries_object_and_user_id(struct kunit *test)
{
	const struct create_case *c = test->param_value;
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);
	u32 in[0x110 / 4] = {};
	u32 number;

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_create_object(mock->dev, UID, c->create, in, sizeof(in),
						       &number), 0);
	expect_command(test, c->create << 16 | UID, 0);
	KUNIT_EXPECT_EQ(test, number, 0x100);
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_destroy_object(mock->dev, UID, c->destroy, number,
							&attempt), 0);
	expect_command(test, c->destroy << 16 | UID, 0x100);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void query_carries_object_and_user_id(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 out[0x110 / 4] = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_query_object(mock->dev, UID, 0x50b, 0x777, out,
						      sizeof(out)), 0);
	expect_command(test, 0x50b << 16 | UID, 0x777);
}

/* Firmware answers with the index of the key; the low byte, the variant, is in the command. */
static void key_has_the_index_and_variant_of_its_command(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 in[0x110 / 4] = {};
	u32 key;

	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.mkey_7_0, 0x77);
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_create_mkey(mock->dev, UID, in, sizeof(in), &key), 0);
	expect_command(test, 0x0200005a, 0);
	KUNIT_EXPECT_EQ(test, key, 0x10077);
}

/* ---- commands that are not answered ------------------------------------------------------- */

static u32 alloc_pd(struct kunit *test, struct mock *mock)
{
	u32 number;

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_alloc_object(mock->dev, UID, MLX5_CMD_OP_ALLOC_PD,
						      &number), 0);
	mock->num_commands = 0;
	return number;
}

static int dealloc_pd(struct mock *mock, u32 number, struct mlx5_ib_fw_attempt *attempt)
{
	return mlx5_ib_fw_destroy_object(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, number, attempt);
}

static void unanswered_destruction_is_repeated_once(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);
	u32 number = alloc_pd(test, mock);

	mock->refuse_destroy = true;
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 3);
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* A refusal is an answer, which says that firmware has not destroyed the object. */
static void unknown_object_is_destroyed_only_after_silence(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);
	u32 number = alloc_pd(test, mock);

	mock->refuse_destroy = true;
	mock->refuse_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -EBUSY);
	mock->refuse_err = -ENOENT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -EINVAL);
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -ETIMEDOUT);
	/* A refusal for another reason in between does not change what -ENOENT means. */
	mock->refuse_err = -EIO;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -EIO);
	mock->refuse_err = -ENOENT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), 0);
}

/*
 * The device has destroyed the object without an answer, and has given its number to another one.
 */
static void number_of_a_new_object_is_not_destroyed_again(struct kunit *test)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];
	struct mock *mock = mock_create(test);
	u32 number = alloc_pd(test, mock), other;
	bool moved;

	for (moved = false; ; moved = true) {
		struct mlx5_ib_fw_attempt attempt = {}, heir = {};

		mock->refuse_destroy = true;
		mock->refuse_err = -ETIMEDOUT;
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -ETIMEDOUT);
		if (moved)
			mlx5_ib_fw_attempt_move(mock->dev, &heir, &attempt);
		/* New objects with other numbers, or of another type, say nothing about the PD. */
		for (other = 0; other < 4096; other++) {
			mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, number + 1 + other);
			mlx5_ib_fw_number_taken(mock->dev, in);
		}
		mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_UAR, number);
		mlx5_ib_fw_number_taken(mock->dev, in);
		mock->num_commands = 0;
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, moved ? &heir : &attempt),
				-ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
		mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, number);
		mlx5_ib_fw_number_taken(mock->dev, in);
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, moved ? &heir : &attempt), 0);
		KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
		KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
		if (moved)
			break;
	}
	/* The new object can be destroyed. */
	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &(struct mlx5_ib_fw_attempt){}), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* General objects of each type have numbers of their own. */
static void numbers_of_general_objects_are_those_of_their_type(struct kunit *test)
{
	u32 in[MLX5_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	struct mlx5_ib_fw_attempt attempt = {};
	struct mock *mock = mock_create(test);

	MLX5_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, 0x13);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_id, 0x80000005);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_fw_attempt_begin(mock->dev, &attempt, in, sizeof(in)));
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, 0x14);
	mlx5_ib_fw_number_taken(mock->dev, in);
	KUNIT_EXPECT_FALSE(test, attempt.replaced);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_type, 0x13);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_id, 5);
	mlx5_ib_fw_number_taken(mock->dev, in);
	KUNIT_EXPECT_FALSE(test, attempt.replaced);
	MLX5_SET(general_obj_in_cmd_hdr, in, obj_id, 0x80000005);
	/* The user id of the new object is another one. */
	MLX5_SET(general_obj_in_cmd_hdr, in, uid, UID);
	mlx5_ib_fw_number_taken(mock->dev, in);
	KUNIT_EXPECT_TRUE(test, attempt.replaced);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
}

static bool is_being_detached(struct mock *mock, u32 qpn, u8 group)
{
	const union ib_gid gid = { .raw = { 0xff, [15] = group } };
	u32 in[MLX5_ST_SZ_DW(detach_from_mcg_in)];

	mlx5_ib_fw_name_mcg(in, MLX5_CMD_OP_DETACH_FROM_MCG, qpn, &gid);
	return mlx5_ib_fw_is_noted(mock->dev, in);
}

static int detach(struct mock *mock, u32 qpn, u8 group, struct mlx5_ib_fw_attempt *attempt, int err)
{
	const union ib_gid gid = { .raw = { 0xff, [15] = group } };

	mock->num_commands = 0;
	mock->refuse = !!err;
	mock->refuse_err = err;
	return mlx5_ib_fw_detach_mcg(mock->dev, UID, qpn, &gid, attempt);
}

static void take_number(struct mock *mock, u16 destroy, u32 number)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(in, destroy, number);
	mlx5_ib_fw_number_taken(mock->dev, in);
}

static int replaced_err;

/*
 * Firmware deallocates the PD, and gives its number to a new PD, whose creation completes before
 * DEALLOC_PD fails: DEALLOC_PD is not answered (-ETIMEDOUT), or was executed twice and is refused
 * the second time (-EBUSY).
 */
static int fw_gives_the_number_away(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				    void *out, int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	if (MLX5_GET(dealloc_pd_in, in, opcode) != MLX5_CMD_OP_DEALLOC_PD)
		return err;
	take_number(mock, MLX5_CMD_OP_DEALLOC_PD, MLX5_GET(dealloc_pd_in, in, pd));
	return replaced_err;
}

static void object_that_is_replaced_during_its_destruction_is_gone(struct kunit *test)
{
	static const int results[] = { -EBUSY, -ETIMEDOUT };
	struct mock *mock = mock_create(test);
	unsigned int i;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_gives_the_number_away);
	for (i = 0; i < ARRAY_SIZE(results); i++) {
		struct mlx5_ib_fw_attempt attempt = {};
		u32 number = alloc_pd(test, mock);

		replaced_err = results[i];
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), 0);
		KUNIT_EXPECT_EQ(test, mock->num_commands, 1);
		KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
		mlx5_ib_fw_attempt_forget(mock->dev, &attempt);
	}
}

/* DETACH_FROM_MCG, sent again, would end a new attachment of the queue pair to the group. */
static void attachment_is_noted_until_it_has_ended(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempts[] = {
		MLX5_IB_FW_ATTEMPT_TO_DETACH, MLX5_IB_FW_ATTEMPT_TO_DETACH,
		MLX5_IB_FW_ATTEMPT_TO_DETACH,
	}, heir = {};
	struct mock *mock = mock_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		KUNIT_EXPECT_FALSE(test, is_being_detached(mock, 0x777, i));
		KUNIT_EXPECT_EQ(test, detach(mock, 0x777, i, &attempts[i], -EBUSY), -EBUSY);
		KUNIT_EXPECT_TRUE(test, is_being_detached(mock, 0x777, i));
		KUNIT_EXPECT_FALSE(test, is_being_detached(mock, 0x778, i));
	}
	KUNIT_EXPECT_EQ(test, detach(mock, 0x777, 0, &attempts[0], 0), 0);
	KUNIT_EXPECT_FALSE(test, is_being_detached(mock, 0x777, 0));
	mlx5_ib_fw_attempt_move(mock->dev, &heir, &attempts[1]);
	KUNIT_EXPECT_TRUE(test, is_being_detached(mock, 0x777, 1));
	/* New objects with other numbers, or of another kind, say nothing about the queue pair. */
	take_number(mock, MLX5_CMD_OP_DESTROY_QP, 0x776);
	take_number(mock, MLX5_CMD_OP_DESTROY_QP, 0x778);
	take_number(mock, MLX5_CMD_OP_DESTROY_DCT, 0x777);
	KUNIT_EXPECT_TRUE(test, is_being_detached(mock, 0x777, 1));
	/* A new queue pair has the number: the old one and all its attachments have ended. */
	take_number(mock, MLX5_CMD_OP_DESTROY_QP, 0x777);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
	KUNIT_EXPECT_EQ(test, detach(mock, 0x777, 1, &heir, -EBUSY), 0);
	KUNIT_EXPECT_EQ(test, detach(mock, 0x777, 2, &attempts[2], -EBUSY), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

/*
 * What its owner's attempts to destroy an object have shown also holds for the orphan of the
 * object.
 */
static void new_owner_knows_what_the_old_one_knew(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempt = {}, heir = {}, second = {};
	struct mock *mock = mock_create(test);
	u32 number = alloc_pd(test, mock);

	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &attempt), -EBUSY);
	mlx5_ib_fw_attempt_move(mock->dev, &heir, &attempt);
	KUNIT_EXPECT_TRUE(test, heir.failed);
	KUNIT_EXPECT_FALSE(test, heir.unanswered);
	KUNIT_EXPECT_FALSE(test, heir.replaced);
	/*
	 * After a refusal the object still exists, so the driver does not look for a newer one with
	 * its number.
	 */
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &heir), -ETIMEDOUT);
	mlx5_ib_fw_attempt_move(mock->dev, &second, &heir);
	KUNIT_EXPECT_TRUE(test, second.failed);
	KUNIT_EXPECT_TRUE(test, second.unanswered);
	mock->refuse_err = -ENOENT;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &second), 0);
	mlx5_ib_fw_attempt_replaced(mock->dev, &second);
	heir = (struct mlx5_ib_fw_attempt){};
	mlx5_ib_fw_attempt_move(mock->dev, &heir, &second);
	KUNIT_EXPECT_TRUE(test, heir.replaced);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, dealloc_pd(mock, number, &heir), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
}

/* The reason of a refusal may be gone soon. A command without an answer has taken long already. */
static void refused_destruction_is_repeated_for_a_third_of_a_second(struct kunit *test)
{
	static const unsigned int pauses[] = { 1, 4, 16, 64, 256 };
	struct mock *mock = mock_create(test);
	u32 number = alloc_pd(test, mock);
	unsigned int ms = 0, i;

	for (i = 0; i < ARRAY_SIZE(pauses); i++) {
		KUNIT_EXPECT_TRUE(test, mlx5_ib_fw_pause(&ms));
		KUNIT_EXPECT_EQ(test, ms, pauses[i]);
	}
	KUNIT_EXPECT_FALSE(test, mlx5_ib_fw_pause(&ms));

	mock->refuse_destroy = true;
	mlx5_ib_fw_destroy_or_log(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, number, "PD");
	KUNIT_EXPECT_EQ(test, mock->num_commands, 6);
	expect_command(test, MLX5_CMD_OP_DEALLOC_PD << 16 | UID, number);
	mock->num_commands = 0;
	mock->refuse_err = -ETIMEDOUT;
	mlx5_ib_fw_destroy_or_log(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, number, "PD");
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	/* A command for which no slot becomes free is tried twice, too. */
	mock->num_commands = 0;
	mock->refuse_err = -ECANCELED;
	mlx5_ib_fw_destroy_or_log(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, number, "PD");
	KUNIT_EXPECT_EQ(test, mock->num_commands, 2);
	/* The driver has given the object up. */
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
	mock->refuse_destroy = false;
	mlx5_ib_fw_destroy_or_log(mock->dev, UID, MLX5_CMD_OP_DEALLOC_PD, number, "PD");
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* The results of successive commands that destroy an object, and how many the driver sends. */
static const struct again_case {
	const char *name;
	int results[8];
	unsigned int commands;
} again_cases[] = {
	{ "success", { 0 }, 1 },
	{ "refused five times", { -EBUSY, -EAGAIN, -EINVAL, -EIO, -ENOMEM, 0 }, 6 },
	{ "refused six times", { -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, 0 }, 6 },
	{ "not answered", { -ETIMEDOUT, 0 }, 1 },
	{ "refused, then not answered", { -EBUSY, -ETIMEDOUT, 0 }, 2 },
	{ "not sent, then success", { -ECANCELED, 0 }, 2 },
	{ "not sent, then refused", { -ECANCELED, -EBUSY, -EBUSY, 0 }, 4 },
	{ "not sent twice", { -ECANCELED, -ECANCELED, 0 }, 2 },
	{ "refused, then not sent", { -EBUSY, -ECANCELED, 0 }, 2 },
};

KUNIT_ARRAY_PARAM_DESC(again, again_cases, name);

static void task_waits_for_silent_firmware_twice(struct kunit *test)
{
	const struct again_case *c = test->param_value;
	unsigned int ms = 0, i = 0;

	while (mlx5_ib_fw_try_again(c->results[i], &ms))
		i++;
	KUNIT_EXPECT_EQ(test, i + 1, c->commands);
}

/* For a refusal by firmware mlx5_core returns -EREMOTEIO, never -EBUSY or -EAGAIN. */
static void command_that_was_not_sent_is_told_from_a_refusal(struct kunit *test)
{
	static const int same[] = { 0, -EREMOTEIO, -ETIMEDOUT, -ECANCELED, -ENXIO, -ENOMEM, -EIO };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_errno(-EBUSY), -ECANCELED);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_errno(-EAGAIN), -ECANCELED);
	for (i = 0; i < ARRAY_SIZE(same); i++)
		KUNIT_EXPECT_EQ(test, mlx5_ib_fw_errno(same[i]), same[i]);
}

static int do_err;

/* Stub of mlx5_ib_fw_do(). */
static int fw_do_fails(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size)
{
	return do_err;
}

/* Stub of mlx5_ib_fw_exec_via(). */
static int fw_sends(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	MLX5_SET(dealloc_pd_in, in, uid, uid);
	return send(dev, in, in_size, out, out_size, arg);
}

/*
 * -ENXIO: the device is lost, so the object is gone. -ECANCELED: the command got no slot and was
 * not sent, so the object exists.
 */
static void quiet_attempt_tells_a_lost_device_from_a_busy_one(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	bool quiet;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_sends);
	kunit_activate_static_stub(test, mlx5_ib_fw_do, fw_do_fails);
	/* The PCI device is for mlx5_cmd_do() alone, which the driver must not call here. */
	mock->dev->mdev->pdev = kunit_kzalloc(test, sizeof(struct pci_dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mock->dev->mdev->pdev);
	for (quiet = false; ; quiet = true) {
		struct mlx5_ib_fw_attempt attempt = { .quiet = quiet };

		do_err = -ECANCELED;
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, 0x100, &attempt), -ECANCELED);
		do_err = -ENXIO;
		KUNIT_EXPECT_EQ(test, dealloc_pd(mock, 0x100, &attempt), 0);
		if (quiet)
			break;
	}
}

static u8 do_status;

/* Stub of mlx5_ib_fw_do(). */
static int fw_do_refuses(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size)
{
	MLX5_SET(dealloc_pd_out, out, status, do_status);
	return -EREMOTEIO;
}

/*
 * The first command to detach the queue pair was not answered. If firmware then refuses because the
 * queue pair is not in the group, the first command was executed. A busy firmware says nothing
 * about the first command.
 */
static void quiet_refusal_ends_no_attachment_that_may_exist(struct kunit *test)
{
	static const struct {
		u8 status;
		int want;
	} cases[] = {
		{ MLX5_CMD_STAT_BAD_RES_STATE_ERR, 0 }, { MLX5_CMD_STAT_BAD_PARAM_ERR, 0 },
		{ MLX5_CMD_STAT_BAD_RES_ERR, 0 }, { MLX5_CMD_STAT_RES_BUSY, -EREMOTEIO },
		{ MLX5_CMD_STAT_INT_ERR, -EREMOTEIO },
	};
	struct mock *mock = mock_create(test);
	unsigned int i;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_sends);
	kunit_activate_static_stub(test, mlx5_ib_fw_do, fw_do_refuses);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mlx5_ib_fw_attempt attempt = MLX5_IB_FW_ATTEMPT_TO_DETACH;

		attempt.quiet = true;
		attempt.unanswered = true;
		do_status = cases[i].status;
		KUNIT_EXPECT_EQ_MSG(test, detach(mock, 0x777, 0, &attempt, 0), cases[i].want,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, is_being_detached(mock, 0x777, 0), cases[i].want != 0,
				    "case %u", i);
		mlx5_ib_fw_attempt_forget(mock->dev, &attempt);
	}
}

/*
 * What firmware does for a queue that may have been destroyed: DESTROY is refused with
 * @destroy_status; QUERY is refused with @query_status if that is not 0, else returns @query_err.
 */
static struct {
	u8 destroy_status;
	u8 query_status;
	int query_err;
	u16 query;
	u32 first[3];
	unsigned int num_queries;
} firmware;

/* Stub of mlx5_ib_fw_do(). */
static int fw_do_knows_no_object(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				 int out_size)
{
	if (MLX5_GET(dealloc_pd_in, in, opcode) != firmware.query) {
		MLX5_SET(dealloc_pd_out, out, status, firmware.destroy_status);
		return -EREMOTEIO;
	}
	firmware.num_queries++;
	memcpy(firmware.first, in, sizeof(firmware.first));
	MLX5_SET(dealloc_pd_out, out, status, firmware.query_status);
	return firmware.query_status ? -EREMOTEIO : firmware.query_err;
}

static struct mock *make_forgetful(struct kunit *test)
{
	struct mock *mock = mock_create(test);

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_sends);
	kunit_activate_static_stub(test, mlx5_ib_fw_do, fw_do_knows_no_object);
	memset(&firmware, 0, sizeof(firmware));
	firmware.destroy_status = MLX5_CMD_STAT_BAD_RES_STATE_ERR;
	return mock;
}

static const struct kind {
	const char *desc;
	u16 destroy;
	u16 query;
} kinds[] = {
	{ "QP", MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_QUERY_QP },
	{ "CQ", MLX5_CMD_OP_DESTROY_CQ, MLX5_CMD_OP_QUERY_CQ },
};

KUNIT_ARRAY_PARAM_DESC(kind, kinds, desc);

/*
 * The first command was not answered, and the second is refused with the status of an object in
 * use. The object does not exist if its query is refused, too.
 */
static void queue_that_cannot_be_queried_is_destroyed(struct kunit *test)
{
	static const u8 statuses[] = {
		MLX5_CMD_STAT_BAD_RES_ERR, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
		MLX5_CMD_STAT_BAD_PARAM_ERR,
	};
	const struct kind *kind = test->param_value;
	struct mock *mock = make_forgetful(test);
	unsigned int i;

	firmware.query = kind->query;
	for (i = 0; i < 2 * ARRAY_SIZE(statuses); i++) {
		struct mlx5_ib_fw_attempt attempt = {
			.failed = true, .unanswered = true, .quiet = i % 2,
		};

		firmware.query_status = statuses[i / 2];
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_destroy_object(mock->dev, UID, kind->destroy,
								    0x123456, &attempt), 0,
				    "case %u", i);
		KUNIT_EXPECT_FALSE(test, attempt.noted);
	}
	KUNIT_EXPECT_EQ(test, firmware.num_queries, 2 * ARRAY_SIZE(statuses));
	KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)firmware.first[0]),
			kind->query << 16 | UID);
	KUNIT_EXPECT_EQ(test, firmware.first[1], 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu((__force __be32)firmware.first[2]), 0x123456);
}

/*
 * A query that is executed, or is refused for another reason, ends no queue that may be in use. A
 * query that is not answered counts as a command that is not answered.
 */
static void queue_that_can_be_queried_exists(struct kunit *test)
{
	static const struct {
		int query_err;
		u8 query_status;
		int want;
	} cases[] = {
		{ 0, 0, -EINVAL }, { 0, MLX5_CMD_STAT_INT_ERR, -EINVAL },
		{ 0, MLX5_CMD_STAT_RES_BUSY, -EINVAL }, { 0, MLX5_CMD_STAT_LIM_ERR, -EINVAL },
		{ 0, MLX5_CMD_STAT_BAD_OP_ERR, -EINVAL }, { -ETIMEDOUT, 0, -ETIMEDOUT },
		{ -ECANCELED, 0, -ECANCELED }, { -ENOMEM, 0, -ENOMEM },
	};
	struct mock *mock = make_forgetful(test);
	unsigned int i;

	firmware.query = MLX5_CMD_OP_QUERY_CQ;
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct mlx5_ib_fw_attempt attempt = {
			.failed = true, .unanswered = true, .quiet = i % 2,
		};

		firmware.query_err = cases[i / 2].query_err;
		firmware.query_status = cases[i / 2].query_status;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_destroy_object(mock->dev, UID,
								    MLX5_CMD_OP_DESTROY_CQ, 0x77,
								    &attempt), cases[i / 2].want,
				    "case %u", i);
		KUNIT_EXPECT_TRUE(test, attempt.noted);
		mlx5_ib_fw_attempt_forget(mock->dev, &attempt);
	}
	KUNIT_EXPECT_EQ(test, firmware.num_queries, 2 * ARRAY_SIZE(cases));
}

/* A queue all whose destructions were answered exists. Other objects are not queried. */
static void queue_is_queried_only_after_silence(struct kunit *test)
{
	static const struct {
		u16 destroy;
		u8 status;
		bool unanswered;
	} cases[] = {
		{ MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_STAT_BAD_RES_STATE_ERR, false },
		{ MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_STAT_BAD_PARAM_ERR, true },
		{ MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_STAT_RES_BUSY, true },
		{ MLX5_CMD_OP_DEALLOC_PD, MLX5_CMD_STAT_BAD_RES_STATE_ERR, true },
		{ MLX5_CMD_OP_DESTROY_MKEY, MLX5_CMD_STAT_BAD_RES_STATE_ERR, true },
	};
	struct mock *mock = make_forgetful(test);
	unsigned int i;

	firmware.query = MLX5_CMD_OP_QUERY_QP;
	firmware.query_status = MLX5_CMD_STAT_BAD_RES_ERR;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mlx5_ib_fw_attempt attempt = {
			.failed = true, .unanswered = cases[i].unanswered, .quiet = true,
		};

		firmware.destroy_status = cases[i].status;
		KUNIT_EXPECT_LT_MSG(test, mlx5_ib_fw_destroy_object(mock->dev, UID,
								    cases[i].destroy, 0x77,
								    &attempt), 0, "case %u", i);
		mlx5_ib_fw_attempt_forget(mock->dev, &attempt);
	}
	KUNIT_EXPECT_EQ(test, firmware.num_queries, 0);
}

/* The caller knows which limit it is, and whether the object may be gone. */
static void limit_and_unknown_object_are_told_from_other_refusals(struct kunit *test)
{
	static const struct {
		u8 status;
		int exec, within_limit, if_exists;
	} cases[] = {
		{ MLX5_CMD_STAT_LIM_ERR, -ENOMEM, -ENOSPC, -ENOMEM },
		{ MLX5_CMD_STAT_BAD_RES_ERR, -EINVAL, -EINVAL, -ENOENT },
		{ MLX5_CMD_STAT_BAD_PARAM_ERR, -EINVAL, -EINVAL, -EINVAL },
		{ MLX5_CMD_STAT_RES_BUSY, -EBUSY, -EBUSY, -EBUSY },
		{ MLX5_CMD_STAT_NO_RES_ERR, -EAGAIN, -EAGAIN, -EAGAIN },
	};
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)], out[MLX5_ST_SZ_DW(dealloc_pd_out)] = {};
	struct mock *mock = mock_create(test);
	unsigned int i;

	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, fw_sends);
	kunit_activate_static_stub(test, mlx5_ib_fw_do, fw_do_refuses);
	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, 1);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		do_status = cases[i].status;
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_exec(mock->dev, UID, in, sizeof(in), out,
							  sizeof(out)), cases[i].exec,
				    "status %#x", do_status);
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_exec_within_limit(mock->dev, UID, in,
								       sizeof(in), out,
								       sizeof(out)),
				    cases[i].within_limit, "status %#x", do_status);
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_fw_exec_if_exists(mock->dev, UID, in, sizeof(in),
								    out, sizeof(out)),
				    cases[i].if_exists, "status %#x", do_status);
	}
}

/* ---- a device that has failed ------------------------------------------------------------ */

static unsigned int num_cleanups;

static void count_cleanup(struct work_struct *work)
{
	num_cleanups++;
}

/* A device to which mlx5_core sends no commands. The driver has noticed that before. */
static struct mock *make_failed(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_core_dev *mdev = mock->dev->mdev;

	mdev->pdev = kunit_kzalloc(test, sizeof(*mdev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->pdev);
	mdev->pdev->error_state = pci_channel_io_normal;
	mdev->state = MLX5_DEVICE_STATE_INTERNAL_ERROR;
	mock->dev->failed = true;
	num_cleanups = 0;
	INIT_WORK(&mock->dev->gone, count_cleanup);
	kunit_deactivate_static_stub(test, mlx5_ib_fw_exec_via);
	return mock;
}

/* On a failed device nothing can be created, and all objects count as destroyed. */
static void failed_device_creates_nothing_and_has_destroyed_all(struct kunit *test)
{
	struct mock *mock = make_failed(test);
	struct mlx5_ib_fw_attempt attempt = {};
	u32 out[MLX5_ST_SZ_DW(query_special_contexts_out)] = {};
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];
	u64 addr;
	u32 number;

	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_alloc_object(mock->dev, 0, MLX5_CMD_OP_ALLOC_PD,
						      &number), -ENOLINK);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_destroy_object(mock->dev, 0, MLX5_CMD_OP_DEALLOC_PD, 1,
							&attempt), 0);
	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_exec_if_exists(mock->dev, 0, in, sizeof(in), out,
							sizeof(out)), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_exec_within_limit(mock->dev, 0, in, sizeof(in), out,
							   sizeof(out)), 0);
	/* DEVX is told that the command was not sent. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_exec_raw(mock->dev, 0, in, sizeof(in), out, sizeof(out)),
			-ENXIO);
	/* mlx5_core takes MODIFY_MEMIC for an unknown command and would return -EINVAL. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_modify_memic(mock->dev, MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC,
						      0, 1, &addr), -ENOLINK);
	KUNIT_EXPECT_TRUE(test, mlx5_ib_fw_device_is_gone(mock->dev));
}

static void answered(int err, struct mlx5_async_work *work)
{
}

/* If an unsent command kept its slot, later asynchronous commands could wait for it for ever. */
static void command_that_is_not_sent_gives_its_slot_back(struct kunit *test)
{
	struct mock *mock = make_failed(test);
	u32 out[MLX5_ST_SZ_DW(dealloc_pd_out)] = {};
	struct mlx5_async_ctx ctx;
	struct mlx5_ib_fw_async async = {
		.ctx = &ctx, .out = out, .out_size = sizeof(out), .done = answered,
	};
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	sema_init(&mock->dev->async_slots, 1);
	mlx5_cmd_init_async_ctx(mock->dev->mdev, &ctx);
	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DEALLOC_PD, 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_exec_async(mock->dev, 0, in, sizeof(in), &async), -ENXIO);
	KUNIT_EXPECT_EQ(test, down_trylock(&mock->dev->async_slots), 0);
	KUNIT_EXPECT_NE(test, down_trylock(&mock->dev->async_slots), 0);
	mlx5_cmd_cleanup_async_ctx(&ctx);
}

/*
 * A command may be the first to notice the failure. It queues the work item that flushes the queues
 * of kernel consumers.
 */
static void command_that_finds_the_device_failed_says_so_once(struct kunit *test)
{
	struct mock *mock = make_failed(test);
	u32 number;

	mlx5_ib_fw_alloc_object(mock->dev, 0, MLX5_CMD_OP_ALLOC_PD, &number);
	flush_work(&mock->dev->gone);
	KUNIT_EXPECT_EQ(test, num_cleanups, 0);
	mock->dev->failed = false;
	mlx5_ib_fw_alloc_object(mock->dev, 0, MLX5_CMD_OP_ALLOC_PD, &number);
	flush_work(&mock->dev->gone);
	KUNIT_EXPECT_EQ(test, num_cleanups, 1);
}

/*
 * After each creation the driver looks for attempts to destroy an earlier object with the number.
 */
static void created_number_is_looked_for(struct kunit *test)
{
	const struct create_case *c = test->param_value;
	struct mlx5_ib_fw_attempt attempt = {};
	u32 cmd[MLX5_ST_SZ_DW(dealloc_pd_in)];
	struct mock *mock = mock_create(test);
	u32 in[0x110 / 4] = {};
	u32 number;

	/* The mock gives this number to the first object. */
	mlx5_ib_fw_name_object(cmd, c->destroy, 0x100);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_fw_attempt_begin(mock->dev, &attempt, cmd, sizeof(cmd)));
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_create_object(mock->dev, UID, c->create, in, sizeof(in),
						       &number), 0);
	KUNIT_ASSERT_EQ(test, number, 0x100);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_fw_attempt_begin(mock->dev, &attempt, cmd, sizeof(cmd)));
	/* An attempt in flight has destroyed the earlier object, whatever its result says. */
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_attempt_end(mock->dev, &attempt, -ETIMEDOUT), 0);
	KUNIT_EXPECT_TRUE(test, attempt.failed);
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_destroy_object(mock->dev, UID, c->destroy, number,
							&(struct mlx5_ib_fw_attempt){}), 0);
}

/* Commands that create objects and that destroy them. The mock firmware does not keep all kinds. */
static const u16 lifetimes[][2] = {
	{ 0x200, 0x202 }, { 0x400, 0x401 }, { 0x500, 0x501 }, { 0x705, 0x706 }, { 0x710, 0x711 },
	{ 0x771, 0x772 }, { 0x800, 0x801 }, { 0x802, 0x803 }, { 0x80e, 0x80f }, { 0x900, 0x902 },
	{ 0x904, 0x906 }, { 0x908, 0x90a }, { 0x90c, 0x90e }, { 0x912, 0x914 }, { 0xa04, 0xa06 },
	{ 0xa08, 0xa0a },
};

static int create(struct mock *mock, u16 opcode, u32 *number)
{
	struct mlx5_core_cq mcq = {};
	u32 in[0x110 / 4] = {};
	u32 ece;
	int err;

	switch (opcode) {
	case MLX5_CMD_OP_CREATE_CQ:
		err = mlx5_ib_fw_create_cq(mock->dev, UID, &mcq, in, sizeof(in));
		*number = mcq.cqn;
		return err;
	case MLX5_CMD_OP_CREATE_QP:
		return mlx5_ib_fw_create_qp(mock->dev, UID, in, sizeof(in), number, &ece);
	default:
		return mlx5_ib_fw_create_object(mock->dev, UID, opcode, in, sizeof(in), number);
	}
}

static void note_attempt(struct kunit *test, struct mock *mock, struct mlx5_ib_fw_attempt *attempt,
			 u16 opcode, u32 number)
{
	u32 cmd[MLX5_ST_SZ_DW(dealloc_pd_in)];

	*attempt = (struct mlx5_ib_fw_attempt){};
	mlx5_ib_fw_name_object(cmd, opcode, number);
	KUNIT_ASSERT_TRUE(test, mlx5_ib_fw_attempt_begin(mock->dev, attempt, cmd, sizeof(cmd)));
}

/* An object of another kind that has the number says nothing about the object of this kind. */
static void number_of_a_new_object_is_that_of_its_kind(struct kunit *test)
{
	struct mlx5_ib_fw_attempt attempts[ARRAY_SIZE(lifetimes)];
	struct mock *mock = mock_create(test);
	u32 number, next, step;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(lifetimes); i++) {
		KUNIT_ASSERT_EQ(test, create(mock, lifetimes[i][0], &number), 0);
		/*
		 * Objects that the mock keeps have increasing numbers, of which the UARs of a page
		 * take one each; all other objects have number 0.
		 */
		step = lifetimes[i][0] == MLX5_CMD_OP_ALLOC_UAR ? MOCK_PAGE_UARS : 1;
		next = number ? number + step : 0;
		for (k = 0; k < ARRAY_SIZE(lifetimes); k++)
			note_attempt(test, mock, &attempts[k], lifetimes[k][1], next);
		KUNIT_ASSERT_EQ(test, create(mock, lifetimes[i][0], &number), 0);
		KUNIT_ASSERT_EQ(test, number, next);
		for (k = 0; k < ARRAY_SIZE(lifetimes); k++) {
			KUNIT_EXPECT_EQ_MSG(test, attempts[k].replaced, k == i,
					    "0x%x after 0x%x", lifetimes[k][1], lifetimes[i][0]);
			mlx5_ib_fw_attempt_forget(mock->dev, &attempts[k]);
		}
	}
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&mock->dev->attempts.tree));
}

/*
 * If the first DESTROY_CQ succeeds, mlx5_core drops its reference to the CQ; the mock does not.
 * After a first DESTROY_CQ that fails, mlx5_core never drops the reference: the driver does when
 * the CQ has been destroyed by a later command, or is given up.
 */
static void cq_is_released_once(struct kunit *test)
{
	static const struct {
		bool refuse_first;
		bool discard;
		bool refuse_second;
		unsigned int refs;
	} t[] = {
		{ false, false, false, 1 }, { false, true, false, 1 }, { false, true, true, 0 },
		{ true, false, false, 0 }, { true, true, false, 0 }, { true, true, true, 0 },
	};
	struct mock *mock = mock_create(test);
	struct mlx5_core_cq mcq;
	u32 in[0x110 / 4] = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct mlx5_ib_fw_attempt attempt = {};
		int err = t[i].refuse_second ? mock->refuse_err : 0;

		mcq = (struct mlx5_core_cq){};
		KUNIT_ASSERT_EQ(test, 0,
				mlx5_ib_fw_create_cq(mock->dev, UID, &mcq, in, sizeof(in)));
		if (t[i].refuse_first) {
			mock->refuse_destroy = true;
			KUNIT_EXPECT_EQ(test, mlx5_ib_fw_destroy_cq(mock->dev, &mcq, &attempt),
					mock->refuse_err);
			/* The owner of the CQ may try again. */
			KUNIT_EXPECT_EQ_MSG(test, refcount_read(&mcq.refcount), 1, "case %u", i);
		}
		mock->refuse_destroy = t[i].refuse_second;
		KUNIT_EXPECT_EQ_MSG(test, t[i].discard ?
				    mlx5_ib_fw_discard_cq(mock->dev, &mcq, &attempt) :
				    mlx5_ib_fw_destroy_cq(mock->dev, &mcq, &attempt), err,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, refcount_read(&mcq.refcount), t[i].refs, "case %u",
				    i);
	}
}

/* A CQ is destroyed by mlx5_core, which keeps the uid that it was created with. */
static void cq_is_destroyed_with_its_user_id(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	struct mlx5_ib_fw_attempt attempt = {};
	u32 in[0x110 / 4] = {};
	struct mlx5_core_cq mcq = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_create_cq(mock->dev, UID, &mcq, in, sizeof(in)), 0);
	expect_command(test, 0x0400005a, 0);
	KUNIT_EXPECT_EQ(test, mcq.cqn, 0x100);
	/* mlx5_core forgets the CQ when DESTROY_CQ fails. The next DESTROY_CQ has the uid, too. */
	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_fw_destroy_cq(mock->dev, &mcq, &attempt), mock->refuse_err);
	KUNIT_EXPECT_TRUE(test, attempt.failed);
	expect_command(test, 0x0401005a, 0x100);
	mock->refuse_destroy = false;
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_destroy_cq(mock->dev, &mcq, &attempt), 0);
	expect_command(test, 0x0401005a, 0x100);
}

static void state_change_carries_qp_mask_and_context(struct kunit *test)
{
	struct mock *mock = mock_create(test);
	u32 qpc[0xe8 / 4] = {};
	u32 ece = 0x5a5a;

	qpc[0] = (__force u32)cpu_to_be32(0x1234);
	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_modify_qp(mock->dev, UID, 0x503, 0x777, qpc, 0x1f, ece,
						   &ece), 0);
	expect_command(test, 0x0503005a, 0x777);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[4]), 0x1f);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[5]), 0x5a5a);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[6]), 0x1234);

	KUNIT_ASSERT_EQ(test, mlx5_ib_fw_modify_qp(mock->dev, UID, 0x507, 0x778, qpc, 0x1f, ece,
						   &ece), 0);
	expect_command(test, 0x0507005a, 0x778);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[4]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((__be32 *)mock->in)[6]), 0);
}

static struct kunit_case fw_cases[] = {
	KUNIT_CASE_PARAM(command_carries_object_and_user_id, alloc_gen_params),
	KUNIT_CASE_PARAM(creation_from_a_context_carries_object_and_user_id, create_gen_params),
	KUNIT_CASE(query_carries_object_and_user_id),
	KUNIT_CASE(key_has_the_index_and_variant_of_its_command),
	KUNIT_CASE(unanswered_destruction_is_repeated_once),
	KUNIT_CASE(unknown_object_is_destroyed_only_after_silence),
	KUNIT_CASE(number_of_a_new_object_is_not_destroyed_again),
	KUNIT_CASE(numbers_of_general_objects_are_those_of_their_type),
	KUNIT_CASE(object_that_is_replaced_during_its_destruction_is_gone),
	KUNIT_CASE(attachment_is_noted_until_it_has_ended),
	KUNIT_CASE(new_owner_knows_what_the_old_one_knew),
	KUNIT_CASE(refused_destruction_is_repeated_for_a_third_of_a_second),
	KUNIT_CASE_PARAM(task_waits_for_silent_firmware_twice, again_gen_params),
	KUNIT_CASE(command_that_was_not_sent_is_told_from_a_refusal),
	KUNIT_CASE(quiet_attempt_tells_a_lost_device_from_a_busy_one),
	KUNIT_CASE(quiet_refusal_ends_no_attachment_that_may_exist),
	KUNIT_CASE_PARAM(queue_that_cannot_be_queried_is_destroyed, kind_gen_params),
	KUNIT_CASE(queue_that_can_be_queried_exists),
	KUNIT_CASE(queue_is_queried_only_after_silence),
	KUNIT_CASE(limit_and_unknown_object_are_told_from_other_refusals),
	KUNIT_CASE(failed_device_creates_nothing_and_has_destroyed_all),
	KUNIT_CASE(command_that_is_not_sent_gives_its_slot_back),
	KUNIT_CASE(command_that_finds_the_device_failed_says_so_once),
	KUNIT_CASE_PARAM(created_number_is_looked_for, create_gen_params),
	KUNIT_CASE(number_of_a_new_object_is_that_of_its_kind),
	KUNIT_CASE(cq_is_released_once),
	KUNIT_CASE(cq_is_destroyed_with_its_user_id),
	KUNIT_CASE(state_change_carries_qp_mask_and_context),
	{}
};

static struct kunit_suite fw_suite = {
	.name = "bluebell_fw",
	.test_cases = fw_cases,
};

kunit_test_suite(fw_suite);
