// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the port: when the driver asks the device again for what it has read of the link.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <rdma/ib_verbs.h>

#include "lib/mock.h"
#include "ops.h"
#include "port.h"

/**
 * struct link_env - a port and what the device says of it
 * @mock: device
 * @width: of the link, as PTYS has it
 * @num_reads: how often PTYS has been read
 * @event_after: opcode of the command, or 0, after whose answer an event of the port is received
 */
struct link_env {
	struct mock *mock;
	u8 width;
	unsigned int num_reads;
	u16 event_after;
};

static struct link_env link_env;

static void receive_event(void)
{
	struct mlx5_ib_port *port = &link_env.mock->dev->port;

	/* As the notifier does, which needs a device that the RDMA core knows. */
	scoped_guard(spinlock_irqsave, &port->link_lock) {
		port->num_events++;
		port->link.valid = false;
	}
}

static int link_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out, int out_size,
		   mlx5_ib_fw_send_t send, void *arg)
{
	int err = mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	u16 opcode = link_env.mock->opcode;
	void *part;

	if (opcode == MLX5_CMD_OP_ACCESS_REG &&
	    MLX5_GET(access_register_in, in, register_id) == MLX5_REG_PTYS) {
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(ptys_reg, part, ib_link_width_oper, link_env.width);
		link_env.num_reads++;
	}
	if (opcode == link_env.event_after) {
		link_env.event_after = 0;
		receive_event();
	}
	return err;
}

static void make_link(struct kunit *test)
{
	link_env = (struct link_env){
		.mock = mock_create(test), .width = MLX5_PTYS_WIDTH_4X,
	};
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, link_fw);
	KUNIT_ASSERT_EQ(test, mlx5_ib_init_device_attr(link_env.mock->dev), 0);
	link_env.mock->dev->port.told = true;
}

/* Query the port. Returns the width of its link. */
static u8 query_width(struct kunit *test)
{
	struct ib_port_attr props = {};

	KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&link_env.mock->dev->ib_dev, 1, &props), 0);
	return props.active_width;
}

static void link_is_read_once_per_event(struct kunit *test)
{
	make_link(test);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 1);
	receive_event();
	link_env.width = MLX5_PTYS_WIDTH_1X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
	KUNIT_EXPECT_EQ(test, link_env.num_reads, 2);
}

/* An event may change the link while the driver reads it. The next query reads it again. */
static void event_during_a_query_is_noticed(struct kunit *test)
{
	static const u16 after[] = { MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, MLX5_CMD_OP_ACCESS_REG };
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(after); i++) {
		receive_event();
		link_env.event_after = after[i];
		link_env.width = MLX5_PTYS_WIDTH_1X;
		query_width(test);
		link_env.width = MLX5_PTYS_WIDTH_4X;
		KUNIT_EXPECT_EQ_MSG(test, query_width(test), IB_WIDTH_4X, "after opcode %#x",
				    after[i]);
	}
}

/* Events of a port may not reach a function that shares the port. */
static void function_without_events_reads_the_link_each_time(struct kunit *test)
{
	make_link(test);
	link_env.mock->dev->port.told = false;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_4X);
	link_env.width = MLX5_PTYS_WIDTH_1X;
	KUNIT_EXPECT_EQ(test, query_width(test), IB_WIDTH_1X);
}

static struct kunit_case port_cases[] = {
	KUNIT_CASE(link_is_read_once_per_event),
	KUNIT_CASE(event_during_a_query_is_noticed),
	KUNIT_CASE(function_without_events_reads_the_link_each_time),
	{}
};

static struct kunit_suite port_suite = {
	.name = "bluebell_port",
	.test_cases = port_cases,
};

kunit_test_suite(port_suite);
