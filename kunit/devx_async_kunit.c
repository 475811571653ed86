// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of asynchronous commands of processes: which commands are sent, how many answers a
 * process may leave unread, and in which order and with which status it reads them.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "devx/devx_async.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "lib/interrupt.h"
#include "lib/locks.h"
#include "lib/memory.h"
#include "lib/mock.h"

#define UID		0x5a
#define FORGED_UID	0x5b
#define QPN		0x123456
#define OUT_LEN		MLX5_ST_SZ_BYTES(query_qp_out)
#define MAX_SENT	8

/* A process with a file, and a firmware that answers when the test says so. */
struct sender {
	struct mock *mock;
	struct mlx5_ib_devx_cmd_file *file;
	struct mlx5_ib_fw_async *sent[MAX_SENT];
	unsigned int num_sent;
	u16 uid;
	int refuse;
	u32 in[MLX5_ST_SZ_DW(query_qp_in)];
};

static struct sender *the_sender;

static int keep_command(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct sender *s = the_sender;

	if (s->refuse)
		return s->refuse;
	/* All commands have the user id at the same offset. */
	s->uid = MLX5_GET(create_cq_in, in, uid);
	s->sent[s->num_sent++ % MAX_SENT] = arg;
	return 0;
}

static void close_file(void *file)
{
	mlx5_ib_devx_close_cmd_file(file);
}

static struct sender *make_sender(struct kunit *test)
{
	struct sender *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->mock = mock_create(test);
	s->mock->context->uid = UID;
	s->file = kunit_kzalloc(test, sizeof(*s->file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s->file);
	mlx5_ib_devx_open_cmd_file(s->file, s->mock->context);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_file, s->file));
	the_sender = s;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, keep_command);
	return s;
}

static int query(struct sender *s, u16 opcode, u32 qpn, u16 out_len, u64 wr_id)
{
	const struct mlx5_ib_devx_id id = { .kind = MLX5_IB_DEVX_QP, .num = QPN };

	memset(s->in, 0, sizeof(s->in));
	MLX5_SET(query_qp_in, s->in, opcode, opcode);
	MLX5_SET(create_cq_in, s->in, uid, FORGED_UID);
	MLX5_SET(query_qp_in, s->in, qpn, qpn);
	return mlx5_ib_devx_query_async(s->file, &id, s->in, sizeof(s->in), out_len, wr_id);
}

static int send(struct sender *s, u64 wr_id)
{
	unsigned int mark = memory_mark();
	int err = query(s, MLX5_CMD_OP_QUERY_QP, QPN, OUT_LEN, wr_id);

	if (!err)
		memory_expect_charged(s->mock->test, mark);
	return err;
}

struct answer {
	struct mlx5_ib_fw_async *async;
	int err;
};

static void deliver_answer(void *arg)
{
	struct answer *answer = arg;

	answer->async->done(answer->err, &answer->async->work);
}

/* Answer command @i as mlx5_core does, in the interrupt of its command queue. */
static void answer(struct sender *s, unsigned int i, int err, u8 status)
{
	struct answer answer = { .async = s->sent[i], .err = err };

	MLX5_SET(query_qp_out, answer.async->out, status, status);
	MLX5_SET(query_qp_out, answer.async->out, syndrome, i + 1);
	call_in_interrupt(deliver_answer, &answer);
}

static void expect_answer(struct kunit *test, struct sender *s, u64 wr_id, u8 status,
			  u32 syndrome)
{
	struct mlx5_ib_devx_async_answer *a;
	ssize_t len;

	len = mlx5_ib_devx_take_answer(s->file, SZ_64K, &a);
	KUNIT_ASSERT_EQ(test, len, (ssize_t)(sizeof(u64) + OUT_LEN));
	KUNIT_EXPECT_EQ(test, a->hdr.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, MLX5_GET(query_qp_out, a->hdr.out_data, status), status);
	KUNIT_EXPECT_EQ(test, MLX5_GET(query_qp_out, a->hdr.out_data, syndrome), syndrome);
	kvfree(a);
}

static int num_bytes(struct sender *s)
{
	return atomic_read(&s->mock->context->async_bytes);
}

static void answers_are_read_in_the_order_they_arrive(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a;
	struct sender *s = make_sender(test);
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, send(s, 100 + i), 0);
	KUNIT_EXPECT_EQ(test, s->uid, UID);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), -EAGAIN);
	answer(s, 2, 0, 0);
	answer(s, 0, 0, 0);
	expect_answer(test, s, 102, 0, 3);
	answer(s, 1, 0, 0);
	expect_answer(test, s, 100, 0, 1);
	expect_answer(test, s, 101, 0, 2);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), -EAGAIN);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
}

/* The process sees by the status alone that a command has failed. */
static void failed_command_has_an_error_status(struct kunit *test)
{
	static const int errs[] = { -ETIMEDOUT, -ENXIO, -EIO, -EBUSY };
	struct sender *s = make_sender(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, send(s, 1), 0);
	answer(s, 0, -EREMOTEIO, MLX5_CMD_STAT_BAD_RES_ERR);
	expect_answer(test, s, 1, MLX5_CMD_STAT_BAD_RES_ERR, 1);
	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		s->num_sent = 0;
		KUNIT_ASSERT_EQ(test, send(s, 2), 0);
		answer(s, 0, errs[i], 0);
		expect_answer(test, s, 2, MLX5_CMD_STAT_INT_ERR, 0);
	}
}

static void command_the_process_may_not_send_is_refused(struct kunit *test)
{
	struct sender *s = make_sender(test);

	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_QP, QPN + 1, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_CQ, QPN, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_2ERR_QP, QPN, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_DESTROY_QP, QPN, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_HCA_CAP, QPN, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, 0xffff, QPN, OUT_LEN, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_QP, QPN, 15, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_QP, QPN, 0, 1), -EINVAL);
	s->mock->context->uid = 0;
	KUNIT_EXPECT_EQ(test, send(s, 1), -EINVAL);
	s->mock->context->uid = UID;
	KUNIT_EXPECT_EQ(test, s->num_sent, 0);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
}

static void command_that_was_not_sent_is_not_charged(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a;
	struct sender *s = make_sender(test);

	s->refuse = -EBUSY;
	KUNIT_EXPECT_EQ(test, send(s, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), -EAGAIN);
}

/* The test answers all commands, because closing the file waits for the answers. */
static void process_is_limited_in_unread_answers(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a;
	struct sender *s = make_sender(test);
	unsigned int sent = 0;
	int err;

	for (err = 0; !err && sent < 0x10000; sent += !err) {
		s->num_sent = 0;
		err = query(s, MLX5_CMD_OP_QUERY_QP, QPN, SZ_32K, sent);
		if (!err)
			answer(s, 0, 0, 0);
	}
	KUNIT_EXPECT_EQ(test, err, -EAGAIN);
	/*
	 * Each unread answer counts against the limit with the memory that the driver needs for it.
	 */
	KUNIT_EXPECT_LT(test, sent, MLX5_IB_DEVX_ASYNC_BYTES / SZ_32K);
	KUNIT_EXPECT_GT(test, sent, MLX5_IB_DEVX_ASYNC_BYTES / SZ_32K / 2);
	KUNIT_EXPECT_LE(test, num_bytes(s), MLX5_IB_DEVX_ASYNC_BYTES);
	KUNIT_ASSERT_GT(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), 0);
	s->num_sent = 0;
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_QP, QPN, SZ_32K, sent), 0);
	answer(s, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, query(s, MLX5_CMD_OP_QUERY_QP, QPN, SZ_32K, sent), -EAGAIN);
	kvfree(a);
	/* Closing the file frees the answers that the process has not read. */
	kunit_release_action(test, close_file, s->file);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
}

static void unread_answers_may_fill_the_limit(struct kunit *test)
{
	struct sender *s = make_sender(test);
	atomic_t *bytes = &s->mock->context->async_bytes;
	int each, others;

	KUNIT_ASSERT_EQ(test, send(s, 0), 0);
	each = num_bytes(s);
	/* The command counts, too: mlx5_core has a copy of it while it is in flight. */
	KUNIT_EXPECT_EQ(test, each, sizeof(struct mlx5_ib_devx_async_answer) + sizeof(s->in) +
				    OUT_LEN);
	answer(s, 0, 0, 0);
	expect_answer(test, s, 0, 0, 1);
	/* What other files of the process have left unread. */
	others = MLX5_IB_DEVX_ASYNC_BYTES - each;
	atomic_add(others + 1, bytes);
	KUNIT_EXPECT_EQ(test, send(s, 1), -EAGAIN);
	atomic_dec(bytes);
	KUNIT_ASSERT_EQ(test, send(s, 1), 0);
	KUNIT_EXPECT_EQ(test, num_bytes(s), MLX5_IB_DEVX_ASYNC_BYTES);
	answer(s, 1, 0, 0);
	expect_answer(test, s, 1, 0, 2);
	KUNIT_EXPECT_EQ(test, num_bytes(s), others);
	atomic_sub(others, bytes);
}

static void answer_is_read_whole_or_kept(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a;
	struct sender *s = make_sender(test);
	unsigned int i;
	int bytes;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, send(s, i), 0);
		answer(s, i, 0, 0);
	}
	bytes = num_bytes(s);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, sizeof(u64) + OUT_LEN - 1, &a),
			-EINVAL);
	/* Copying the answer to the process has failed. */
	KUNIT_ASSERT_GT(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), 0);
	KUNIT_EXPECT_LT(test, num_bytes(s), bytes);
	mlx5_ib_devx_put_back_answer(a);
	KUNIT_EXPECT_EQ(test, num_bytes(s), bytes);
	/* A buffer of exactly the size of the answer is large enough. */
	KUNIT_ASSERT_EQ(test, mlx5_ib_devx_take_answer(s->file, sizeof(u64) + OUT_LEN, &a),
			sizeof(u64) + OUT_LEN);
	mlx5_ib_devx_put_back_answer(a);
	expect_answer(test, s, 0, 0, 1);
	expect_answer(test, s, 1, 0, 2);
}

static void closed_file_frees_its_answers(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a, *b;
	struct sender *s = make_sender(test);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, send(s, i), 0);
		answer(s, i, 0, 0);
	}
	KUNIT_ASSERT_GT(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a), 0);
	kunit_release_action(test, close_file, s->file);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &b), -EIO);
	/* A read() that began before the file was closed still has the answer. */
	mlx5_ib_devx_put_back_answer(a);
	KUNIT_EXPECT_EQ(test, num_bytes(s), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_take_answer(s->file, SZ_64K, &b), -EIO);
}

/* An interrupt adds answers, and tasks read them. */
static void answers_of_a_file_have_its_lock(struct kunit *test)
{
	struct mlx5_ib_devx_async_answer *a = NULL;
	struct sender *s = make_sender(test);
	struct mlx5_ib_devx_cmd_file empty = {};
	spinlock_t *lock = &s->file->lock;

	KUNIT_ASSERT_EQ(test, send(s, 1), 0);
	EXPECT_TAKES_LOCK(test, lock, answer(s, 0, 0, 0));
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_devx_take_answer(s->file, SZ_64K, &a));
	KUNIT_ASSERT_NOT_NULL(test, a);
	EXPECT_TAKES_LOCK(test, lock, mlx5_ib_devx_put_back_answer(a));
	mlx5_ib_devx_open_cmd_file(&empty, s->mock->context);
	EXPECT_TAKES_LOCK(test, &empty.lock, mlx5_ib_devx_close_cmd_file(&empty));
}

static struct kunit_case devx_async_cases[] = {
	KUNIT_CASE(answers_are_read_in_the_order_they_arrive),
	KUNIT_CASE(failed_command_has_an_error_status),
	KUNIT_CASE(command_the_process_may_not_send_is_refused),
	KUNIT_CASE(command_that_was_not_sent_is_not_charged),
	KUNIT_CASE(process_is_limited_in_unread_answers),
	KUNIT_CASE(unread_answers_may_fill_the_limit),
	KUNIT_CASE(answer_is_read_whole_or_kept),
	KUNIT_CASE(closed_file_frees_its_answers),
	KUNIT_CASE(answers_of_a_file_have_its_lock),
	{}
};

static struct kunit_suite devx_async_suite = {
	.name = "bluebell_devx_async",
	.test_cases = devx_async_cases,
};

kunit_test_suite(devx_async_suite);
