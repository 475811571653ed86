// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the log line about a queue pair that has failed: what the line says, also when
 * firmware does not answer, and that a line that is not printed costs no command.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/sched.h>

#include "fw/fw.h"
#include "lib/mock.h"
#include "verbs/qp.h"

#define QPN	0x123456
#define UID	7

static const struct {
	u8 synd, vendor, hw, hw_type;
	const char *status;
} reasons[] = {
	{ 0x01, 0x8e, 0, 0, "local length error" },
	{ 0x04, 0x52, 147, 0, "local protection error" },
	{ 0x13, 0x7a, 0, 0xf, "remote access error" },
	/* After an overflow of the CQ the syndrome is not that of a work request. */
	{ 0x00, 0x41, 0, 0, "general error" },
	{ 0xff, 0xff, 0xff, 0xf, "general error" },
};

static unsigned int asked;	/* index of the reason that firmware gives */

static int error_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	void *ext = MLX5_ADDR_OF(query_qp_out, out, qp_pas_or_qpc_ext_and_pas);
	void *error = MLX5_ADDR_OF(qpc_extension_and_pas_list_in, ext,
				   qpc_data_extension.error_syndrome);

	KUNIT_EXPECT_EQ(test, MLX5_GET(query_qp_in, in, opcode), MLX5_CMD_OP_QUERY_QP);
	KUNIT_EXPECT_EQ(test, MLX5_GET(query_qp_in, in, qpc_ext), 1);
	KUNIT_EXPECT_EQ(test, MLX5_GET(query_qp_in, in, qpn), QPN);
	KUNIT_EXPECT_EQ(test, uid, UID);
	KUNIT_ASSERT_GE(test, out_size, MLX5_ST_SZ_BYTES(query_qp_out));
	if (err)
		return err;
	MLX5_SET(cqe_error_syndrome, error, syndrome, reasons[asked].synd);
	MLX5_SET(cqe_error_syndrome, error, vendor_error_syndrome, reasons[asked].vendor);
	MLX5_SET(cqe_error_syndrome, error, hw_error_syndrome, reasons[asked].hw);
	MLX5_SET(cqe_error_syndrome, error, hw_syndrome_type, reasons[asked].hw_type);
	return 0;
}

static struct mlx5_ib_qp *make_qp(struct kunit *test)
{
	struct mlx5_ib_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct mock *mock = mock_create(test);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.device = &mock->dev->ib_dev;
	qp->rsc.dev = mock->dev;
	qp->rsc.ops = &mlx5_ib_plain_qp_rsc_ops;
	qp->rsc.num = QPN;
	qp->uid = UID;
	MOCK_SET_CAP(&mock->dev->caps, qp_error_syndrome, 1);
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, error_fw);
	return qp;
}

static void reason_has_all_syndromes(struct kunit *test)
{
	struct mlx5_ib_qp *qp = make_qp(test);
	char buf[128], want[128];

	for (asked = 0; asked < ARRAY_SIZE(reasons); asked++) {
		scnprintf(want, sizeof(want),
			  "%s (syndrome 0x%x, vendor syndrome 0x%x, hardware syndrome 0x%x of type 0x%x)",
			  reasons[asked].status, reasons[asked].synd, reasons[asked].vendor,
			  reasons[asked].hw, reasons[asked].hw_type);
		KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_error_reason(qp, buf, sizeof(buf)), want);
	}
}

static void failed_query_has_its_errno(struct kunit *test)
{
	static const struct {
		int err;
		const char *reason;
	} failures[] = {
		{ -EIO, "firmware does not tell the reason: -EIO" },
		{ -ETIMEDOUT, "firmware does not tell the reason: -ETIMEDOUT" },
		{ -EINVAL, "firmware does not tell the reason: -EINVAL" },
	};
	struct mlx5_ib_qp *qp = make_qp(test);
	struct mock *mock = test->priv;
	char buf[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(failures); i++) {
		mock->refuse = mock->num_commands + 1;
		mock->refuse_err = failures[i].err;
		KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_error_reason(qp, buf, sizeof(buf)),
				   failures[i].reason);
	}
}

static void text_is_cut_to_its_buffer(struct kunit *test)
{
	struct mlx5_ib_qp *qp = make_qp(test);
	char buf[8];

	asked = 0;
	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_error_reason(qp, buf, sizeof(buf)), "local l");
	qp->ibqp.res.kern_name = "a_consumer_of_the_kernel";
	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_owner(&qp->ibqp, buf, sizeof(buf)), "a_consu");
}

static void owner_is_process_or_consumer(struct kunit *test)
{
	struct mlx5_ib_qp *qp = make_qp(test);
	char buf[64], self[64];

	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_owner(&qp->ibqp, buf, sizeof(buf)), "the kernel");
	qp->ibqp.res.kern_name = "ib_core";
	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_owner(&qp->ibqp, buf, sizeof(buf)), "ib_core");
	/* The task in which a consumer created the queue pair is not its owner. */
	qp->ibqp.res.task = current;
	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_owner(&qp->ibqp, buf, sizeof(buf)), "ib_core");
	qp->ibqp.res.kern_name = NULL;
	qp->ibqp.res.user = true;
	scnprintf(self, sizeof(self), "%s[%d]", current->comm, task_pid_nr(current));
	KUNIT_EXPECT_STREQ(test, mlx5_ib_qp_owner(&qp->ibqp, buf, sizeof(buf)), self);
}

static void event_of_a_failure_is_fatal(struct kunit *test)
{
	enum ib_event_type type;

	for (type = IB_EVENT_CQ_ERR; type <= IB_EVENT_WQ_FATAL; type++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_qp_event_is_fatal(type),
				    type == IB_EVENT_QP_FATAL || type == IB_EVENT_QP_REQ_ERR ||
				    type == IB_EVENT_QP_ACCESS_ERR, "%s", ib_event_msg(type));
}

static void line_that_is_not_printed_costs_no_command(struct kunit *test)
{
	struct mlx5_ib_qp *qp = make_qp(test);
	struct mock *mock = test->priv;
	enum ib_event_type type;

	for (type = IB_EVENT_CQ_ERR; type <= IB_EVENT_WQ_FATAL; type++)
		mlx5_ib_qp_log_error(qp, type);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
}

static struct kunit_case qp_error_cases[] = {
	KUNIT_CASE(reason_has_all_syndromes),
	KUNIT_CASE(failed_query_has_its_errno),
	KUNIT_CASE(text_is_cut_to_its_buffer),
	KUNIT_CASE(owner_is_process_or_consumer),
	KUNIT_CASE(event_of_a_failure_is_fatal),
	KUNIT_CASE(line_that_is_not_printed_costs_no_command),
	{}
};

static struct kunit_suite qp_error_suite = {
	.name = "bluebell_qp_error",
	.test_cases = qp_error_cases,
};

kunit_test_suite(qp_error_suite);
