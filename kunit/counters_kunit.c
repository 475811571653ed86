// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of counters: which counters a device has and in what order, in which counter set a
 * queue pair counts, and what a refused command leaves behind.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "lib/mock.h"
#include "lib/objects.h"
#include "ops.h"

/* Counter sets of the mock. The first one to be allocated, number 1, is the set of the device. */
#define MAX_SETS	8
#define DEVICE_SET	1

/**
 * struct sets - the counter sets of a device
 * @mock: device
 * @first: the least number that a set gets
 * @exists: sets that are allocated, by number
 * @set_in_command: set that the context of the last state change names
 * @queried: set that was read last
 */
struct sets {
	struct mock *mock;
	unsigned int first;
	bool exists[MAX_SETS];
	u8 set_in_command;
	u8 queried;
};

static struct sets sets;

static void alloc_set(u16 uid, void *out)
{
	unsigned int id = sets.first;

	/* Queue pairs of any user id can name the set. */
	KUNIT_EXPECT_EQ(sets.mock->test, uid, MLX5_SHARED_RESOURCE_UID);
	while (sets.exists[id])
		id++;
	KUNIT_ASSERT_LT(sets.mock->test, id, MAX_SETS);
	sets.exists[id] = true;
	MLX5_SET(alloc_q_counter_out, out, counter_set_id, id);
}

static void dealloc_set(const void *in)
{
	u8 id = MLX5_GET(dealloc_q_counter_in, in, counter_set_id);

	KUNIT_ASSERT_LT(sets.mock->test, id, MAX_SETS);
	KUNIT_EXPECT_TRUE_MSG(sets.mock->test, sets.exists[id], "set %u", id);
	sets.exists[id] = false;
}

static int sets_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		   int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);

	if (err)
		return err;
	switch (sets.mock->opcode) {
	case MLX5_CMD_OP_ALLOC_Q_COUNTER:
		alloc_set(uid, out);
		break;
	case MLX5_CMD_OP_DEALLOC_Q_COUNTER:
		dealloc_set(in);
		break;
	case MLX5_CMD_OP_QUERY_Q_COUNTER:
		sets.queried = MLX5_GET(query_q_counter_in, in, counter_set_id);
		MLX5_SET(query_q_counter_out, out, rx_write_requests, sets.queried + 10);
		MLX5_SET(query_q_counter_out, out, out_of_buffer, sets.queried + 20);
		break;
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_RTS2RTS_QP:
		sets.set_in_command = MLX5_GET(rst2init_qp_in, in, qpc.counter_set_id);
		break;
	}
	return 0;
}

static unsigned int num_sets(void)
{
	unsigned int i, num = 0;

	for (i = 0; i < MAX_SETS; i++)
		num += sets.exists[i];
	return num;
}

/* A process with a queue pair in RESET, on a device whose queue pairs can change their set. */
static struct objects *make_process(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mlx5_ib_caps *caps = &o->mock->dev->caps;

	sets = (struct sets){ .mock = o->mock, .first = DEVICE_SET };
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, sets_fw);
	MOCK_SET_CAP(caps, max_qp_cnt, MAX_SETS);
	MOCK_SET_CAP(caps, rts2rts_qp_counters_set_id, 1);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_counters(o->mock->dev), 0);
	KUNIT_ASSERT_EQ(test, o->mock->dev->counter_set_id, DEVICE_SET);
	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_UD_QP), 0);
	return o;
}

static void end_process(struct objects *o)
{
	struct kunit *test = o->mock->test;

	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	mlx5_ib_cleanup_counters(o->mock->dev);
	KUNIT_EXPECT_EQ(test, num_sets(), 0);
}

static int modify(struct mlx5_ib_qp *qp, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return mlx5_ib_modify_qp(&qp->ibqp, &attr, mask | IB_QP_STATE, NULL);
}

static int to_init(struct mlx5_ib_qp *qp)
{
	return modify(qp, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
}

static int init_to_rts(struct mlx5_ib_qp *qp)
{
	return modify(qp, IB_QPS_RTR, 0) ?: modify(qp, IB_QPS_RTS, IB_QP_SQ_PSN);
}

static void refuse_command(struct objects *o, unsigned int number)
{
	o->mock->num_commands = 0;
	o->mock->refuse = number;
}

/* Allocate a counter as ib_core does. */
static struct rdma_counter *make_counter(struct objects *o)
{
	struct ib_device *ibdev = &o->mock->dev->ib_dev;
	struct kunit *test = o->mock->test;
	struct rdma_counter *counter;

	counter = kunit_kzalloc(test, ibdev->ops.size_rdma_counter, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, counter);
	counter->device = ibdev;
	ibdev->ops.counter_init(counter);
	return counter;
}

static int bind(struct mlx5_ib_qp *qp, struct rdma_counter *counter)
{
	return counter->device->ops.counter_bind_qp(counter, &qp->ibqp, 1);
}

static int unbind(struct mlx5_ib_qp *qp)
{
	return qp->ibqp.device->ops.counter_unbind_qp(&qp->ibqp, 1);
}

static int drop_counter(struct rdma_counter *counter)
{
	return counter->device->ops.counter_dealloc(counter);
}

static bool has_counter(struct mlx5_ib_dev *dev, const char *name)
{
	struct rdma_hw_stats *stats = dev->ib_dev.ops.alloc_hw_port_stats(&dev->ib_dev, 1);
	bool has = false;
	int i;

	for (i = 0; stats && i < stats->num_counters; i++)
		has |= !strcmp(stats->descs[i].name, name);
	rdma_free_hw_stats_struct(stats);
	return has;
}

/* In each round the device has at most one of the capabilities, and no counters of the others. */
static void counters_need_their_capability(struct kunit *test)
{
	static const char *const names[] = {
		"out_of_buffer", "rx_dct_connect", "out_of_sequence", "duplicate_request",
		"resp_cqe_error",
	};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	unsigned int i, k;

	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 8);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		MOCK_SET_CAP(&dev->caps, dct, i == 1);
		MOCK_SET_CAP(&dev->caps, out_of_seq_cnt, i == 2);
		MOCK_SET_CAP(&dev->caps, retransmission_q_counters, i == 3);
		MOCK_SET_CAP(&dev->caps, enhanced_error_q_counters, i == 4);
		KUNIT_ASSERT_EQ(test, mlx5_ib_init_counters(dev), 0);
		for (k = 0; k < ARRAY_SIZE(names); k++)
			KUNIT_EXPECT_EQ_MSG(test, has_counter(dev, names[k]), !k || k == i, "%s",
					    names[k]);
		mlx5_ib_cleanup_counters(dev);
	}
	mock->num_commands = 0;
	mock->refuse = 1;
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_counters(dev), mock->refuse_err);
	KUNIT_EXPECT_NULL(test, dev->counters);
	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_init_counters(dev), 0);
	KUNIT_EXPECT_NULL(test, dev->counters);
}

/* On devices that have all counters, `rdma statistic` has printed them in this order. */
static void counters_have_the_order_of_the_record(struct kunit *test)
{
	static const char *const names[] = {
		"rx_write_requests", "rx_read_requests", "rx_atomic_requests", "out_of_buffer",
		"out_of_sequence", "duplicate_request", "rnr_nak_retry_err", "packet_seq_err",
		"implied_nak_seq_err", "local_ack_timeout_err", "rx_dct_connect",
		"resp_local_length_error", "resp_cqe_error", "req_cqe_error",
		"req_remote_invalid_request", "req_remote_access_errors",
		"resp_remote_access_errors", "resp_cqe_flush_error", "req_cqe_flush_error",
		"req_transport_retries_exceeded", "req_rnr_retries_exceeded",
	};
	struct mock *mock = mock_create(test);
	struct mlx5_ib_dev *dev = mock->dev;
	struct rdma_hw_stats *stats;
	unsigned int i;

	MOCK_SET_CAP(&dev->caps, max_qp_cnt, 8);
	MOCK_SET_CAP(&dev->caps, dct, 1);
	MOCK_SET_CAP(&dev->caps, out_of_seq_cnt, 1);
	MOCK_SET_CAP(&dev->caps, retransmission_q_counters, 1);
	MOCK_SET_CAP(&dev->caps, enhanced_error_q_counters, 1);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_counters(dev), 0);
	stats = dev->ib_dev.ops.alloc_hw_port_stats(&dev->ib_dev, 1);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->num_counters, ARRAY_SIZE(names));
	for (i = 0; i < min_t(unsigned int, stats->num_counters, ARRAY_SIZE(names)); i++)
		KUNIT_EXPECT_STREQ(test, stats->descs[i].name, names[i]);
	rdma_free_hw_stats_struct(stats);
	mlx5_ib_cleanup_counters(dev);
}

/* The driver allocates the set of a counter when the first queue pair is bound to the counter. */
static void refused_bind_leaves_no_set(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, to_init(&o->qp) ?: init_to_rts(&o->qp), 0);
	/* Refuse ALLOC_Q_COUNTER, then RTS2RTS_QP. */
	for (i = 1; i <= 2; i++) {
		refuse_command(o, i);
		KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), o->mock->refuse_err);
		KUNIT_EXPECT_EQ(test, num_sets(), 1);
		KUNIT_EXPECT_EQ(test, counter->id, 0);
		KUNIT_EXPECT_NULL(test, o->qp.ibqp.counter);
	}
	refuse_command(o, 0);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	/* The queue pair still counts in the set of the device: nothing is to be changed. */
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	end_process(o);
}

static void refused_second_bind_keeps_the_set_of_the_first(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);
	struct mlx5_ib_qp *second = kunit_kzalloc(test, sizeof(*second), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, second);
	KUNIT_ASSERT_EQ(test, to_init(&o->qp) ?: init_to_rts(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), 0);
	KUNIT_EXPECT_EQ(test, counter->id, DEVICE_SET + 1);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, DEVICE_SET + 1);
	KUNIT_EXPECT_PTR_EQ(test, o->qp.ibqp.counter, counter);

	KUNIT_ASSERT_EQ(test, objects_create_qp(o, second, IB_QPT_UD), 0);
	KUNIT_ASSERT_EQ(test, to_init(second) ?: init_to_rts(second), 0);
	refuse_command(o, 1);
	KUNIT_EXPECT_EQ(test, bind(second, counter), o->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, o->mock->opcode, MLX5_CMD_OP_RTS2RTS_QP);
	KUNIT_EXPECT_NULL(test, second->ibqp.counter);
	KUNIT_EXPECT_EQ(test, num_sets(), 2);
	KUNIT_EXPECT_EQ(test, counter->id, DEVICE_SET + 1);
	refuse_command(o, 0);
	KUNIT_EXPECT_EQ(test, bind(second, counter), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, DEVICE_SET + 1);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&second->ibqp, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	KUNIT_EXPECT_EQ(test, num_sets(), 1);
	end_process(o);
}

/* 0 is also the number of a set, so a counter whose id is 0 may have a set. */
static void set_may_have_number_0(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);
	struct mlx5_ib_qp *second = kunit_kzalloc(test, sizeof(*second), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, second);
	sets.first = 0;
	KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), 0);
	KUNIT_EXPECT_EQ(test, counter->id, 0);
	KUNIT_EXPECT_EQ(test, num_sets(), 2);
	KUNIT_ASSERT_EQ(test, objects_create_qp(o, second, IB_QPT_UD), 0);
	KUNIT_EXPECT_EQ(test, bind(second, counter), 0);
	KUNIT_EXPECT_EQ(test, num_sets(), 2);
	KUNIT_EXPECT_EQ(test, to_init(second), 0);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&second->ibqp, &o->mock->attrs->driver_udata), 0);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	KUNIT_EXPECT_EQ(test, num_sets(), 1);
	end_process(o);
}

/* Bind the queue pair to a counter, and have firmware refuse to unbind it. */
static struct rdma_counter *refuse_unbind(struct kunit *test, struct objects *o)
{
	struct rdma_counter *counter = make_counter(o);

	KUNIT_ASSERT_EQ(test, to_init(&o->qp) ?: init_to_rts(&o->qp), 0);
	KUNIT_ASSERT_EQ(test, bind(&o->qp, counter), 0);
	refuse_command(o, 1);
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), o->mock->refuse_err);
	return counter;
}

/* After a refused command the queue pair counts in its old set until the command is repeated. */
static void refused_unbind_can_be_repeated(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = refuse_unbind(test, o);

	KUNIT_EXPECT_PTR_EQ(test, o->qp.ibqp.counter, counter);
	refuse_command(o, 0);
	/* The queue pair is still bound, so that binding it needs no command. */
	KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, DEVICE_SET);
	KUNIT_EXPECT_NULL(test, o->qp.ibqp.counter);
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	end_process(o);
}

/*
 * Before ib_core destroys a queue pair, it unbinds the queue pair from its counter, and puts the
 * reference to the counter also if that fails.
 */
static void queue_pair_that_firmware_keeps_has_no_counter(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = refuse_unbind(test, o);

	o->mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_UD_QP), o->mock->refuse_err);
	KUNIT_EXPECT_NULL(test, o->qp.ibqp.counter);
	o->mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	end_process(o);
}

/*
 * RST2INIT_QP, which is sent anyway, names the set in the context of the queue pair. After a change
 * of the set between INIT and RTS the driver has to send a further command in RTS, RTS2RTS_QP.
 */
static void set_is_named_in_init_or_changed_in_rts(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);

	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, to_init(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, DEVICE_SET);
	KUNIT_EXPECT_EQ(test, init_to_rts(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 3);

	KUNIT_EXPECT_EQ(test, modify(&o->qp, IB_QPS_RESET, 0), 0);
	KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), 0);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, to_init(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, counter->id);
	KUNIT_EXPECT_EQ(test, init_to_rts(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 3);

	KUNIT_EXPECT_EQ(test, modify(&o->qp, IB_QPS_RESET, 0) ?: to_init(&o->qp), 0);
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, init_to_rts(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, o->mock->opcode, MLX5_CMD_OP_RTS2RTS_QP);
	KUNIT_EXPECT_EQ(test, sets.set_in_command, DEVICE_SET);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	end_process(o);
}

/* The process has closed the device: its queue pair is about to be destroyed. */
static void closing_queue_pair_is_not_changed(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);

	KUNIT_ASSERT_EQ(test, to_init(&o->qp) ?: init_to_rts(&o->qp), 0);
	KUNIT_ASSERT_EQ(test, bind(&o->qp, counter), 0);
	o->qp.closing = true;
	o->mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, unbind(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
	o->qp.closing = false;
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	end_process(o);
}

static void queue_pair_in_rts_needs_the_capability(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct rdma_counter *counter = make_counter(o);

	MOCK_SET_CAP(&o->mock->dev->caps, rts2rts_qp_counters_set_id, 0);
	KUNIT_ASSERT_EQ(test, to_init(&o->qp) ?: init_to_rts(&o->qp), 0);
	KUNIT_EXPECT_EQ(test, bind(&o->qp, counter), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, num_sets(), 1);
	end_process(o);
}

static void counters_are_read_from_their_own_set(struct kunit *test)
{
	struct objects *o = make_process(test);
	struct ib_device *ibdev = &o->mock->dev->ib_dev;
	struct rdma_hw_stats *port = ibdev->ops.alloc_hw_port_stats(ibdev, 1);
	struct rdma_counter *counter = make_counter(o);

	KUNIT_ASSERT_NOT_NULL(test, port);
	KUNIT_ASSERT_EQ(test, bind(&o->qp, counter), 0);
	counter->stats = ibdev->ops.counter_alloc_stats(counter);
	KUNIT_ASSERT_NOT_NULL(test, counter->stats);
	KUNIT_EXPECT_STREQ(test, port->descs[0].name, "rx_write_requests");
	KUNIT_EXPECT_STREQ(test, port->descs[3].name, "out_of_buffer");
	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, port, 1, 0), port->num_counters);
	KUNIT_EXPECT_EQ(test, port->value[0], DEVICE_SET + 10);
	KUNIT_EXPECT_EQ(test, port->value[1], 0);
	KUNIT_EXPECT_EQ(test, port->value[3], DEVICE_SET + 20);
	KUNIT_EXPECT_EQ(test, ibdev->ops.counter_update_stats(counter), 0);
	KUNIT_EXPECT_EQ(test, sets.queried, counter->id);
	KUNIT_EXPECT_EQ(test, counter->stats->value[3], counter->id + 20);
	refuse_command(o, 1);
	KUNIT_EXPECT_EQ(test, ibdev->ops.counter_update_stats(counter), o->mock->refuse_err);
	KUNIT_EXPECT_EQ(test, counter->stats->value[3], counter->id + 20);
	refuse_command(o, 1);
	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, port, 1, 0), o->mock->refuse_err);
	refuse_command(o, 0);
	rdma_free_hw_stats_struct(counter->stats);
	rdma_free_hw_stats_struct(port);
	KUNIT_EXPECT_EQ(test, drop_counter(counter), 0);
	end_process(o);
}

static struct kunit_case counters_cases[] = {
	KUNIT_CASE(counters_need_their_capability),
	KUNIT_CASE(counters_have_the_order_of_the_record),
	KUNIT_CASE(refused_bind_leaves_no_set),
	KUNIT_CASE(refused_second_bind_keeps_the_set_of_the_first),
	KUNIT_CASE(set_may_have_number_0),
	KUNIT_CASE(refused_unbind_can_be_repeated),
	KUNIT_CASE(queue_pair_that_firmware_keeps_has_no_counter),
	KUNIT_CASE(set_is_named_in_init_or_changed_in_rts),
	KUNIT_CASE(closing_queue_pair_is_not_changed),
	KUNIT_CASE(queue_pair_in_rts_needs_the_capability),
	KUNIT_CASE(counters_are_read_from_their_own_set),
	{}
};

static struct kunit_suite counters_suite = {
	.name = "bluebell_counters",
	.test_cases = counters_cases,
};

kunit_test_suite(counters_suite);
