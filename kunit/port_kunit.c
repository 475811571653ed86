// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of the port: what the driver reports of the link, when it reads the link again, and
 * which capabilities consumers may change.
 */

#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "lib/mock.h"
#include "ops.h"
#include "port.h"

/**
 * struct link_env - a port and what the device reports of it
 * @mock: device
 * @width: of the link, as PTYS has it
 * @lanes: virtual lanes of the port, as PVLC has them
 * @num_reads: how often PTYS has been read
 * @event_after: opcode of a command: an event of the port arrives after its answer; 0 for none
 */
struct link_env {
	struct mock *mock;
	u8 width;
	u8 lanes;
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
	if (opcode == MLX5_CMD_OP_ACCESS_REG &&
	    MLX5_GET(access_register_in, in, register_id) == MLX5_REG_PVLC) {
		part = MLX5_ADDR_OF(access_register_out, out, register_data);
		MLX5_SET(pvlc_reg, part, vl_hw_cap, link_env.lanes);
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

/* PortInfo.VLCap is a code: 1 for VL0, 2 for VL0-1, 3 for VL0-3, 4 for VL0-7, 5 for VL0-14. */
static void virtual_lanes_are_reported_by_their_code(struct kunit *test)
{
	static const u8 cases[][2] = { { 1, 1 }, { 2, 2 }, { 4, 3 }, { 8, 4 }, { 15, 5 } };
	struct ib_port_attr props = {};
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		receive_event();
		link_env.lanes = cases[i][0];
		KUNIT_ASSERT_EQ(test, mlx5_ib_query_port(&link_env.mock->dev->ib_dev, 1, &props),
				0);
		KUNIT_EXPECT_EQ_MSG(test, props.max_vl_num, cases[i][1], "%u lanes", cases[i][0]);
	}
}

static void link_width_is_reported(struct kunit *test)
{
	static const u8 cases[][2] = {
		{ MLX5_PTYS_WIDTH_1X, IB_WIDTH_1X }, { MLX5_PTYS_WIDTH_2X, IB_WIDTH_2X },
		{ MLX5_PTYS_WIDTH_4X, IB_WIDTH_4X }, { MLX5_PTYS_WIDTH_8X, IB_WIDTH_8X },
		{ MLX5_PTYS_WIDTH_12X, IB_WIDTH_12X },
	};
	unsigned int i;

	make_link(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		receive_event();
		link_env.width = cases[i][0];
		KUNIT_EXPECT_EQ(test, query_width(test), cases[i][1]);
	}
}

/* The mock says that no capability is for consumers to change. */
static void capability_that_is_not_for_consumers_is_not_changed(struct kunit *test)
{
	struct ib_port_modify set = { .set_port_cap_mask = IB_PORT_CM_SUP };
	struct ib_port_modify clear = { .clr_port_cap_mask = IB_PORT_CM_SUP };
	struct ib_port_modify none = {};
	struct ib_device *ibdev;
	struct mock *mock;

	make_link(test);
	mock = link_env.mock;
	ibdev = &mock->dev->ib_dev;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &set), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &clear), -EINVAL);
	KUNIT_EXPECT_EQ(test, mock->opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	mock->num_commands = 0;
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, 0, &none), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_modify_port(ibdev, 1, IB_PORT_SHUTDOWN, &set), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
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
	KUNIT_CASE(virtual_lanes_are_reported_by_their_code),
	KUNIT_CASE(link_width_is_reported),
	KUNIT_CASE(capability_that_is_not_for_consumers_is_not_changed),
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
