// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules: which of the packets that a port receives a queue pair gets, and how packets are
 * counted.
 *
 * While two contexts are open, the port receives what it sends to all hosts.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devx_cmd.h"
#include "raw_packet.h"
#include "rights.h"
#include "test.h"

#define NEEDS_ETHERNET "flow rules need an Ethernet port"

#define ETYPE		0x88b5		/* for experiments */
#define FRAME		64
#define BUF		16384
#define RECEIVERS	2
#define RECEIVES	4		/* posted to each of them */
#define SENT		100		/* wr_id of frames that are sent */
#define WAIT_MS		2000
#define QUIET_MS	300		/* for which nothing may arrive */
#define COUNTED_RULES	3		/* one after the other */

FIXTURE(flow) {
	struct rdma r;
	struct ibv_context *second;	/* with which the port has loopback */
	struct ibv_qp *sender, *qp[RECEIVERS];
	unsigned int got[RECEIVERS];
	struct ibv_mr *mr;
	uint8_t *buf;
	int sock;
};

static int open_socket(uint16_t etype)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htobe16(etype) };
	char netdev[IF_NAMESIZE];
	int fd;

	if (!port_netdev(netdev, sizeof(netdev)))
		return -1;
	addr.sll_ifindex = if_nametoindex(netdev);
	fd = socket(AF_PACKET, SOCK_RAW, htobe16(etype));
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	return fd;
}

static int post_receive(struct _test_data_flow *self, unsigned int who, unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)self->buf + 2048 * (1 + who) + 256 * slot, .length = 256,
		.lkey = self->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = who, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(self->qp[who], &wr, &bad);
}

FIXTURE_SETUP(flow)
{
	unsigned int i, k;

	self->sock = -1;
	if (!port_is_ethernet())
		SKIP(return, NEEDS_ETHERNET);
	ASSERT_EQ(0, rdma_open(&self->r));
	self->second = rdma_open_device();
	ASSERT_NE(NULL, self->second);
	self->buf = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	self->mr = ibv_reg_mr(self->r.pd, self->buf, BUF, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, self->mr);
	self->sender = raw_packet_create(&self->r);
	ASSERT_NE(NULL, self->sender) TH_LOG("errno %d", errno);
	ASSERT_EQ(0, raw_packet_to_rts(self->sender));
	for (i = 0; i < RECEIVERS; i++) {
		self->qp[i] = raw_packet_create(&self->r);
		ASSERT_NE(NULL, self->qp[i]);
		ASSERT_EQ(0, raw_packet_to_rts(self->qp[i]));
		for (k = 0; k < RECEIVES; k++)
			ASSERT_EQ(0, post_receive(self, i, k));
	}
	self->sock = open_socket(ETYPE);
	ASSERT_LE(0, self->sock);
}

FIXTURE_TEARDOWN(flow)
{
	unsigned int i;

	if (!port_is_ethernet())
		return;
	if (self->sock >= 0)
		close(self->sock);
	for (i = 0; i < RECEIVERS; i++)
		EXPECT_EQ(0, ibv_destroy_qp(self->qp[i]));
	EXPECT_EQ(0, ibv_destroy_qp(self->sender));
	ibv_dereg_mr(self->mr);
	munmap(self->buf, BUF);
	ibv_close_device(self->second);
	rdma_close(&self->r);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static struct raw_packet_rule rule_of(enum ibv_flow_attr_type type, uint16_t priority)
{
	return raw_packet_rule(type, ETYPE, priority);
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, uint16_t priority, uint32_t flags)
{
	struct raw_packet_rule rule = rule_of(IBV_FLOW_ATTR_NORMAL, priority);

	rule.attr.flags = flags;
	return ibv_create_flow(qp, &rule.attr);
}

static int send_frame(struct _test_data_flow *self, uint16_t etype)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)self->buf, .length = FRAME, .lkey = self->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = SENT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	memset(self->buf, 0xff, 6);
	memcpy(self->buf + 6, port_own_gid()->mac, 6);
	self->buf[12] = etype >> 8;
	self->buf[13] = etype;
	return ibv_post_send(self->sender, &wr, &bad);
}

/* Collect completions until @sent and the receivers' sum @received are there, or time is up. */
static void collect(struct _test_data_flow *self, unsigned int sent, unsigned int received,
		    unsigned int ms)
{
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < ms && (sent || self->got[0] + self->got[1] < received); i++) {
		while (ibv_poll_cq(self->r.cq, 1, &wc) > 0) {
			if (wc.status != IBV_WC_SUCCESS)
				return;
			if (wc.wr_id == SENT)
				sent--;
			else
				self->got[wc.wr_id]++;
		}
		usleep(1000);
	}
}

/* Send a frame, and expect that so many copies arrive, and none later. */
static void send_and_collect(struct _test_data_flow *self, unsigned int received)
{
	self->got[0] = 0;
	self->got[1] = 0;
	if (!send_frame(self, ETYPE))
		collect(self, 1, received, WAIT_MS);
	collect(self, 0, received + 1, QUIET_MS);
}

static bool socket_got(struct _test_data_flow *self)
{
	struct pollfd p = { .fd = self->sock, .events = POLLIN };
	struct sockaddr_ll from;
	socklen_t len;
	char frame[256];

	while (poll(&p, 1, QUIET_MS) > 0) {
		len = sizeof(from);
		if (recvfrom(self->sock, frame, sizeof(frame), 0, (void *)&from, &len) > 0 &&
		    from.sll_pkttype != PACKET_OUTGOING)
			return true;
	}
	return false;
}

TEST_F(flow, queue_pair_gets_what_its_rule_is_for)
{
	struct ibv_flow *flow;

	send_and_collect(self, 0);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_TRUE(socket_got(self));
	flow = create_flow(self->qp[0], 0, 0);
	ASSERT_NE(NULL, flow) TH_LOG("errno %d", errno);
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_EQ(0, self->got[1]);
	EXPECT_FALSE(socket_got(self));
	ASSERT_EQ(0, send_frame(self, ETYPE + 1));
	self->got[0] = 0;
	collect(self, 1, 1, QUIET_MS);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_EQ(0, ibv_destroy_flow(flow));
	send_and_collect(self, 0);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_TRUE(socket_got(self));
}

TEST_F(flow, the_lower_priority_is_asked_first)
{
	struct ibv_flow *later = create_flow(self->qp[0], 5, 0);
	struct ibv_flow *first = create_flow(self->qp[1], 4, 0);

	ASSERT_NE(NULL, first);
	ASSERT_NE(NULL, later);
	send_and_collect(self, 1);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_EQ(0, ibv_destroy_flow(first));
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_EQ(0, ibv_destroy_flow(later));
}

/*
 * Before mlx5_core destroys the table of a priority, it has the table before send packets to the
 * table after. If firmware refuses that, mlx5_core keeps the table, and the next rule of the
 * priority must not end up in a table that no packet comes to.
 */
TEST_F(flow, rule_after_a_table_that_could_not_be_destroyed_gets_packets)
{
	struct ibv_flow *first, *later;

	if (!hca_ctl_present() || driver_is("mlx5_ib"))
		SKIP(return, NEEDS_FAILURES);
	first = create_flow(self->qp[1], 4, 0);
	later = create_flow(self->qp[0], 5, 0);
	ASSERT_NE(NULL, first);
	ASSERT_NE(NULL, later);
	ASSERT_EQ(0, hca_do("inject op MODIFY_FLOW_TABLE INT_ERR 1"));
	EXPECT_EQ(0, ibv_destroy_flow(later));
	EXPECT_EQ(1, hca_inject_clear());
	later = create_flow(self->qp[0], 5, 0);
	ASSERT_NE(NULL, later) TH_LOG("errno %d", errno);
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_EQ(0, ibv_destroy_flow(first));
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	/* The driver destroys a table that is kept now when it is unbound. */
	first = create_flow(self->qp[1], 4, 0);
	ASSERT_NE(NULL, first);
	ASSERT_EQ(0, hca_do("inject op MODIFY_FLOW_TABLE INT_ERR 1"));
	EXPECT_EQ(0, ibv_destroy_flow(later));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, ibv_destroy_flow(first));
}

TEST_F(flow, rules_for_the_same_packets_get_a_copy_each)
{
	struct ibv_flow *a = create_flow(self->qp[0], 3, 0), *b = create_flow(self->qp[1], 3, 0);

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	send_and_collect(self, 2);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_EQ(0, ibv_destroy_flow(a));
	send_and_collect(self, 1);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_EQ(0, ibv_destroy_flow(b));
}

TEST_F(flow, packets_that_are_not_trapped_go_on)
{
	struct ibv_flow *first = create_flow(self->qp[0], 2, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	struct ibv_flow *later;

	ASSERT_NE(NULL, first) TH_LOG("errno %d", errno);
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_TRUE(socket_got(self));
	later = create_flow(self->qp[1], 2, 0);
	ASSERT_NE(NULL, later);
	send_and_collect(self, 2);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_FALSE(socket_got(self));
	EXPECT_EQ(0, ibv_destroy_flow(later));
	EXPECT_EQ(0, ibv_destroy_flow(first));
}

TEST_F(flow, dropped_packets_arrive_nowhere)
{
	struct raw_packet_rule rule = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *later = create_flow(self->qp[0], 1, 0), *drop;

	ASSERT_NE(NULL, later);
	rule.drop = (struct ibv_flow_spec_action_drop){
		.type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(rule.drop),
	};
	rule.attr.num_of_specs = 2;
	drop = ibv_create_flow(self->qp[0], &rule.attr);
	ASSERT_NE(NULL, drop) TH_LOG("errno %d", errno);
	send_and_collect(self, 0);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_FALSE(socket_got(self));
	EXPECT_EQ(0, ibv_destroy_flow(drop));
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	EXPECT_EQ(0, ibv_destroy_flow(later));
}

TEST_F(flow, packets_and_bytes_are_counted)
{
	struct ibv_counter_attach_attr bytes = { .counter_desc = IBV_COUNTER_BYTES, .index = 0 };
	struct ibv_counter_attach_attr packets = {
		.counter_desc = IBV_COUNTER_PACKETS, .index = 2,
	};
	struct raw_packet_rule rule = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_counters_init_attr init = {};
	struct ibv_counters *counters;
	uint64_t values[3] = {};
	struct ibv_flow *flow;
	unsigned int i;

	counters = ibv_create_counters(self->r.ctx, &init);
	ASSERT_NE(NULL, counters) TH_LOG("errno %d", errno);
	ASSERT_EQ(0, ibv_attach_counters_point_flow(counters, &bytes, NULL));
	ASSERT_EQ(0, ibv_attach_counters_point_flow(counters, &packets, NULL));
	EXPECT_EQ(EINVAL, ibv_read_counters(counters, values, 3, 0));
	rule.count = (struct ibv_flow_spec_counter_action){
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(rule.count),
		.counters = counters,
	};
	rule.attr.num_of_specs = 2;
	flow = ibv_create_flow(self->qp[0], &rule.attr);
	ASSERT_NE(NULL, flow) TH_LOG("errno %d", errno);
	for (i = 0; i < 3; i++)
		send_and_collect(self, 1);
	EXPECT_EQ(0, ibv_read_counters(counters, values, 3, 0));
	EXPECT_EQ(3 * FRAME, values[0]);
	EXPECT_EQ(3, values[2]);
	EXPECT_EQ(0, values[1]);
	EXPECT_NE(0, ibv_read_counters(counters, values, 2, 0));
	EXPECT_EQ(EBUSY, ibv_destroy_counters(counters));
	EXPECT_EQ(0, ibv_destroy_flow(flow));
	EXPECT_EQ(0, ibv_destroy_counters(counters));
}

TEST_F(flow, rules_for_what_is_left)
{
	struct raw_packet_rule all = rule_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	struct raw_packet_rule group = rule_of(IBV_FLOW_ATTR_MC_DEFAULT, 0);
	struct ibv_flow *a, *b;

	a = ibv_create_flow(self->qp[0], &all.attr);
	if (!a && errno == EINVAL && driver_is("mlx5_ib"))
		SKIP(return, "mlx5_ib refuses a rule without specifications");
	ASSERT_NE(NULL, a) TH_LOG("errno %d", errno);
	b = ibv_create_flow(self->qp[1], &group.attr);
	ASSERT_NE(NULL, b) TH_LOG("errno %d", errno);
	/* The network device takes the frame. */
	send_and_collect(self, 0);
	EXPECT_EQ(0, self->got[0] + self->got[1]);
	EXPECT_TRUE(socket_got(self));
	EXPECT_EQ(0, ibv_destroy_flow(a));
	EXPECT_EQ(0, ibv_destroy_flow(b));
}

/* The frame is to all hosts, so it is sent and received: a sniffer gets both, and takes neither. */
TEST_F(flow, sniffer_gets_a_copy_of_all_frames)
{
	struct raw_packet_rule rule = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct ibv_flow *flow = ibv_create_flow(self->qp[0], &rule.attr), *other;

	if (!flow && errno == EOPNOTSUPP)
		SKIP(return, "the HCA has no tables for sniffers: use the profile steering");
	ASSERT_NE(NULL, flow) TH_LOG("errno %d", errno);
	send_and_collect(self, 2);
	EXPECT_LE(2, self->got[0]);
	EXPECT_TRUE(socket_got(self));
	other = create_flow(self->qp[1], 0, 0);
	ASSERT_NE(NULL, other);
	send_and_collect(self, 3);
	EXPECT_LE(2, self->got[0]);
	EXPECT_EQ(1, self->got[1]);
	EXPECT_EQ(0, ibv_destroy_flow(other));
	EXPECT_EQ(0, ibv_destroy_flow(flow));
}

/* ---- rules that the program builds ----------------------------------------------------------- */

#define ETYPE_BYTE	6	/* of the outer headers, as the device compares them */

struct match {
	struct mlx5dv_flow_match_parameters head;
	uint8_t bytes[64];
};

static struct mlx5dv_flow_matcher *create_matcher(struct _test_data_flow *self, uint16_t priority,
						  enum mlx5dv_flow_table_type ft_type)
{
	struct match mask = {
		.head.match_sz = sizeof(mask.bytes),
		.bytes = { [ETYPE_BYTE] = 0xff, [ETYPE_BYTE + 1] = 0xff },
	};
	struct mlx5dv_flow_matcher_attr attr = {
		.type = IBV_FLOW_ATTR_NORMAL, .priority = priority, .match_criteria_enable = 1,
		.match_mask = &mask.head, .comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
		.ft_type = ft_type,
	};

	return mlx5dv_create_flow_matcher(self->r.ctx, &attr);
}

static struct ibv_flow *build_flow(struct mlx5dv_flow_matcher *matcher, unsigned int num,
				   struct mlx5dv_flow_action_attr *actions)
{
	struct match value = {
		.head.match_sz = sizeof(value.bytes),
		.bytes = { [ETYPE_BYTE] = ETYPE >> 8, [ETYPE_BYTE + 1] = ETYPE & 0xff },
	};

	return mlx5dv_create_flow(matcher, &value.head, num, actions);
}

TEST_F(flow, built_rules_send_packets_on_as_if_there_were_no_rule)
{
	struct mlx5dv_flow_action_attr miss = { .type = MLX5DV_FLOW_ACTION_DEFAULT_MISS };
	struct mlx5dv_flow_action_attr to_qp = {
		.type = MLX5DV_FLOW_ACTION_DEST_IBV_QP, .qp = self->qp[0],
	};
	struct mlx5dv_flow_matcher *first, *later;
	struct ibv_flow *a, *b;

	first = create_matcher(self, 1, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	ASSERT_NE(NULL, first) TH_LOG("errno %d", errno);
	later = create_matcher(self, 2, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	ASSERT_NE(NULL, later);
	b = build_flow(later, 1, &to_qp);
	ASSERT_NE(NULL, b) TH_LOG("errno %d", errno);
	send_and_collect(self, 1);
	EXPECT_EQ(1, self->got[0]);
	a = build_flow(first, 1, &miss);
	ASSERT_NE(NULL, a) TH_LOG("errno %d", errno);
	send_and_collect(self, 0);
	EXPECT_EQ(0, self->got[0]);
	EXPECT_TRUE(socket_got(self));
	EXPECT_EQ(EBUSY, mlx5dv_destroy_flow_matcher(later));
	EXPECT_EQ(0, ibv_destroy_flow(a));
	EXPECT_EQ(0, ibv_destroy_flow(b));
	EXPECT_EQ(0, mlx5dv_destroy_flow_matcher(first));
	EXPECT_EQ(0, mlx5dv_destroy_flow_matcher(later));
}

TEST_F(flow, built_rules_drop_what_is_sent)
{
	struct mlx5dv_flow_action_attr drop = { .type = MLX5DV_FLOW_ACTION_DROP };
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;

	matcher = create_matcher(self, 0, MLX5DV_FLOW_TABLE_TYPE_NIC_TX);
	if (!matcher && errno == EOPNOTSUPP)
		SKIP(return, "the HCA has no tables for sent frames: use the profile steering");
	ASSERT_NE(NULL, matcher) TH_LOG("errno %d", errno);
	flow = build_flow(matcher, 1, &drop);
	ASSERT_NE(NULL, flow) TH_LOG("errno %d", errno);
	send_and_collect(self, 0);
	EXPECT_FALSE(socket_got(self));
	EXPECT_EQ(0, ibv_destroy_flow(flow));
	send_and_collect(self, 0);
	EXPECT_TRUE(socket_got(self));
	EXPECT_EQ(0, mlx5dv_destroy_flow_matcher(matcher));
}

static struct mlx5dv_devx_obj *alloc_counter(struct _test_data_flow *self, uint32_t *number)
{
	struct mlx5dv_devx_obj *counter;
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_ALLOC_FLOW_COUNTER);
	cmd.in_len = 16;
	cmd.out_len = 16;
	counter = mlx5dv_devx_obj_create(self->r.ctx, cmd.in, cmd.in_len, cmd.out, cmd.out_len);
	*number = devx_get(&cmd, 8);
	return counter;
}

/* Returns how many packets a counter has counted, or -1. */
static long query_counter(struct mlx5dv_devx_obj *counter, uint32_t number)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_FLOW_COUNTER);
	devx_put(&cmd, 0x1c, number);
	cmd.in_len = 32;
	cmd.out_len = 32;
	if (mlx5dv_devx_obj_query(counter, cmd.in, cmd.in_len, cmd.out, cmd.out_len))
		return -1;
	return devx_get(&cmd, 0x14);	/* the low half of the first statistic */
}

/* Build a rule to @qp, or without one a rule that drops packets. */
static struct ibv_flow *build_counted_flow(struct mlx5dv_flow_matcher *matcher, struct ibv_qp *qp,
					   struct mlx5dv_devx_obj *counter)
{
	struct mlx5dv_flow_action_attr actions[] = {
		{ .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP, .qp = qp },
		{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX, .obj = counter },
	};

	if (!qp)
		actions[0].type = MLX5DV_FLOW_ACTION_DROP;
	return build_flow(matcher, 2, actions);
}

/*
 * The counter is the program's, and outlives the rules. What mlx5_core has of it is freed once with
 * each rule, and also if mlx5_core refuses a rule because it contradicts another.
 */
TEST_F(flow, built_rules_count_into_a_counter_of_the_program)
{
	struct mlx5dv_flow_matcher *matcher;
	struct mlx5dv_devx_obj *counter;
	struct ibv_flow *flow;
	uint32_t number;
	unsigned int i;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	counter = alloc_counter(self, &number);
	ASSERT_NE(NULL, counter) TH_LOG("errno %d", errno);
	matcher = create_matcher(self, 0, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	ASSERT_NE(NULL, matcher) TH_LOG("errno %d", errno);
	for (i = 1; i <= COUNTED_RULES; i++) {
		flow = build_counted_flow(matcher, self->qp[0], counter);
		ASSERT_NE(NULL, flow) TH_LOG("errno %d", errno);
		send_and_collect(self, 1);
		EXPECT_EQ(1, self->got[0]);
		EXPECT_EQ(i, query_counter(counter, number));
		EXPECT_EQ(0, ibv_destroy_flow(flow));
	}
	flow = build_counted_flow(matcher, self->qp[0], counter);
	ASSERT_NE(NULL, flow);
	EXPECT_EQ(NULL, build_counted_flow(matcher, NULL, counter));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_EQ(0, ibv_destroy_flow(flow));
	EXPECT_EQ(0, mlx5dv_destroy_flow_matcher(matcher));
	EXPECT_EQ(0, mlx5dv_devx_obj_destroy(counter));
}

TEST_F(flow, impossible_rules_are_refused)
{
	struct raw_packet_rule rule = rule_of(IBV_FLOW_ATTR_NORMAL, 16);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = self->r.cq, .recv_cq = self->r.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *ud;

	EXPECT_EQ(NULL, ibv_create_flow(self->qp[0], &rule.attr));
	rule.attr.priority = 0;
	ud = ibv_create_qp(self->r.pd, &init);
	ASSERT_NE(NULL, ud);
	/* mlx5_ib asks the HCA for a rule to TIR 0. */
	if (driver_is("mlx5_ib"))
		EXPECT_EQ(0, hca_expect("refuse SET_FLOW_TABLE_ENTRY any any"));
	EXPECT_EQ(NULL, ibv_create_flow(ud, &rule.attr));
	EXPECT_EQ(0, ibv_destroy_qp(ud));
}

TEST_F(flow, a_queue_pair_is_kept_for_its_rules)
{
	struct ibv_flow *flow = create_flow(self->qp[0], 0, 0);

	ASSERT_NE(NULL, flow);
	EXPECT_EQ(EBUSY, ibv_destroy_qp(self->qp[0]));
	EXPECT_EQ(0, ibv_destroy_flow(flow));
}

TEST_F(flow, process_without_cap_net_raw_has_no_rules)
{
	ASSERT_EQ(0, drop_privileges());
	EXPECT_EQ(NULL, create_flow(self->qp[0], 0, 0));
	EXPECT_EQ(EPERM, errno);
}

TEST_HARNESS_MAIN
