// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues for raw packets: queue pairs, what they consist of, their states, and what they send; work
 * queues, indirection tables, and queue pairs that spread packets over them.
 *
 * What is sent is seen by a packet socket of the port's netdev: while two contexts are open the
 * port receives what it sends to all hosts.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devx_cmd.h"
#include "raw_packet.h"
#include "rights.h"
#include "test.h"

#define NEEDS_ETHERNET "raw packets need an Ethernet port"
#define NO_RATES "the device has no rates"
#define NO_FCS "the device does not receive frames with their FCS"

#define ETYPE	0x88b5		/* for experiments */
#define ETH_LEN	14
#define IP_LEN	20
#define UDP_LEN	8
#define TCP_LEN	20
#define MSS	1000
#define BUF	16384

enum { OP_QUERY_SQ = 0x907, OP_QUERY_RQ = 0x90b, OP_QUERY_RQT = 0x919 };
enum { STATE_RST = 0, STATE_RDY = 1, STATE_ERR = 3 };

FIXTURE(raw) {
	struct rdma r;
	struct ibv_context *second;	/* with which the port has loopback */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
	int sock;
};

/* Have the netdev put no received frames together. */
static int switch_gro_off(int fd, const char *netdev)
{
	struct ethtool_value value = { .cmd = ETHTOOL_SGRO };
	struct ifreq request = { .ifr_data = (void *)&value };

	strcpy(request.ifr_name, netdev);
	return ioctl(fd, SIOCETHTOOL, &request);
}

/* A packet socket that gets the frames of type @etype of the port's netdev. */
static int open_socket(uint16_t etype)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(etype) };
	char netdev[IF_NAMESIZE];
	int fd;

	if (!port_netdev(netdev, sizeof(netdev)))
		return -1;
	addr.sll_ifindex = if_nametoindex(netdev);
	fd = socket(AF_PACKET, SOCK_RAW, htons(etype));
	if (fd < 0 || switch_gro_off(fd, netdev) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	return fd;
}

static struct ibv_qp *create_qp(struct rdma *r, uint32_t send_wr, uint32_t recv_wr)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = r->cq, .recv_cq = r->cq, .pd = r->pd,
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr, .max_send_sge = 2,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.max_tso_header = send_wr ? 128 : 0, .sq_sig_all = 1,
	};

	return ibv_create_qp_ex(r->ctx, &init);
}

/* A queue pair that is to receive what its own context sends. */
static struct ibv_qp *create_qp_with_loopback(struct rdma *r)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC |
				MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = r->cq, .recv_cq = r->cq, .pd = r->pd,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	return mlx5dv_create_qp(r->ctx, &init, &dv);
}

FIXTURE_SETUP(raw)
{
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
	self->qp = create_qp(&self->r, 8, 8);
	ASSERT_NE(NULL, self->qp) TH_LOG("errno %d", errno);
}

FIXTURE_TEARDOWN(raw)
{
	if (!port_is_ethernet())
		return;
	if (self->sock >= 0)
		close(self->sock);
	if (self->qp)
		EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	ibv_dereg_mr(self->mr);
	munmap(self->buf, BUF);
	if (self->second)
		ibv_close_device(self->second);
	rdma_close(&self->r);
}

/* --- What a queue pair consists of ------------------------------------------------------------ */

/*
 * Query an object of a queue pair by number @num. Returns a dword of its context, or a negative
 * errno.
 */
static int64_t query_part(struct ibv_qp *qp, uint16_t opcode, uint32_t num, unsigned int dword)
{
	uint32_t in[4] = { htobe32(opcode << 16), 0, htobe32(num) };
	uint32_t out[256] = {};
	int ret = mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out));

	if (ret)
		return -(ret < 0 ? errno : ret);
	return be32toh(out[8 + dword]);
}

static unsigned int state_of(int64_t dword)
{
	return dword < 0 ? ~0u : dword >> 20 & 0xf;
}

static long parts(const char *kind)
{
	return hca_census_users(kind);
}

TEST_F(raw, queue_pair_has_only_the_queues_that_it_needs)
{
	struct ibv_qp *one;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	EXPECT_EQ(1, parts("sq"));
	EXPECT_EQ(1, parts("tis"));
	EXPECT_EQ(1, parts("rq"));
	EXPECT_EQ(1, parts("tir"));
	one = create_qp(&self->r, 8, 0);
	ASSERT_NE(NULL, one);
	EXPECT_EQ(2, parts("sq"));
	EXPECT_EQ(1, parts("rq"));
	EXPECT_EQ(0, ibv_destroy_qp(one));
	one = create_qp(&self->r, 0, 8);
	ASSERT_NE(NULL, one);
	EXPECT_EQ(1, parts("sq"));
	EXPECT_EQ(2, parts("rq"));
	EXPECT_EQ(2, parts("tir"));
	EXPECT_EQ(0, ibv_destroy_qp(one));
	EXPECT_EQ(1, parts("sq"));
	EXPECT_EQ(1, parts("tis"));
	EXPECT_EQ(1, parts("rq"));
	EXPECT_EQ(1, parts("tir"));
}

TEST_F(raw, context_has_one_transport_domain_until_it_is_closed)
{
	struct ibv_qp *second;
	long before;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	before = parts("td");
	EXPECT_LE(1, before);
	second = create_qp(&self->r, 8, 8);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(before, parts("td"));
	EXPECT_EQ(0, ibv_destroy_qp(second));
	EXPECT_EQ(before, parts("td"));
}

TEST_F(raw, queues_follow_the_state_of_the_queue_pair)
{
	static const struct {
		enum ibv_qp_state state;
		unsigned int sq;
	} steps[] = {
		{ IBV_QPS_INIT, STATE_RST }, { IBV_QPS_RTR, STATE_RST }, { IBV_QPS_RTS, STATE_RDY },
		{ IBV_QPS_ERR, STATE_ERR }, { IBV_QPS_RESET, STATE_RST },
	};
	uint32_t sqn = self->qp->qp_num;
	unsigned int i;

	EXPECT_EQ(STATE_RST, state_of(query_part(self->qp, OP_QUERY_SQ, sqn, 0)));
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		ASSERT_EQ(0, raw_packet_to(self->qp, steps[i].state)) TH_LOG("step %u", i);
		EXPECT_EQ(steps[i].sq, state_of(query_part(self->qp, OP_QUERY_SQ, sqn, 0)))
			TH_LOG("step %u", i);
		EXPECT_EQ(steps[i].state, rdma_qp_state(self->qp));
	}
}

/* A process can name only the objects of which its queue pair consists. */
TEST_F(raw, devx_names_the_objects_of_the_queue_pair_only)
{
	struct ibv_qp *other = create_qp(&self->r, 8, 8);

	ASSERT_NE(NULL, other);
	EXPECT_LE(0, query_part(self->qp, OP_QUERY_SQ, self->qp->qp_num, 0));
	EXPECT_EQ(-EINVAL, query_part(self->qp, OP_QUERY_SQ, other->qp_num, 0));
	EXPECT_EQ(-EINVAL, query_part(self->qp, OP_QUERY_RQT, self->qp->qp_num, 0));
	EXPECT_EQ(-EINVAL, query_part(self->qp, DEVX_QUERY_QP, self->qp->qp_num, 0));
	EXPECT_EQ(0, ibv_destroy_qp(other));
}

TEST_F(raw, impossible_changes_are_refused)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .rate_limit = 1000 };

	EXPECT_EQ(EINVAL, raw_packet_to(self->qp, IBV_QPS_RTR));
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->qp, &attr, IBV_QP_STATE));
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	EXPECT_NE(0, raw_packet_to(self->qp, IBV_QPS_SQD));
	EXPECT_EQ(IBV_QPS_RTS, rdma_qp_state(self->qp));
}

TEST_F(raw, process_without_cap_net_raw_gets_none)
{
	ASSERT_EQ(0, drop_privileges());
	EXPECT_EQ(NULL, create_qp(&self->r, 8, 8));
	EXPECT_EQ(EPERM, errno);
}

/* --- Sending ---------------------------------------------------------------------------------- */

/* An Ethernet header from the port to all hosts. */
static void put_eth(uint8_t *frame, uint16_t etype)
{
	memset(frame, 0xff, 6);
	memcpy(frame + 6, port_own_gid()->mac, 6);
	frame[12] = etype >> 8;
	frame[13] = etype;
}

static int send_frame(struct ibv_qp *qp, struct ibv_mr *mr, void *addr, uint32_t len,
		      unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags,
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

/* Receive the next frame within two seconds. Returns its length. */
static ssize_t next_frame(int sock, uint8_t *frame, size_t size)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	if (poll(&p, 1, 2000) != 1)
		return -ETIMEDOUT;
	return recv(sock, frame, size, 0);
}

TEST_F(raw, frame_arrives_as_it_was_sent)
{
	uint8_t got[BUF];
	struct ibv_wc wc;
	unsigned int len;

	self->sock = open_socket(ETYPE);
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	for (len = 60; len <= 1514; len += 727) {
		fill(self->buf, len, len);
		put_eth(self->buf, ETYPE);
		ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, len, 0));
		ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
		EXPECT_EQ(self->qp->qp_num, wc.qp_num);
		ASSERT_EQ(len, next_frame(self->sock, got, sizeof(got)));
		EXPECT_EQ(0, memcmp(self->buf, got, len));
	}
}

/* A single context has loopback only as long as it has a queue pair that asks for it. */
TEST_F(raw, queue_pair_switches_loopback_on)
{
	struct ibv_qp *asks;
	uint8_t got[BUF];
	struct ibv_wc wc;

	EXPECT_EQ(0, ibv_close_device(self->second));
	self->second = NULL;
	self->sock = open_socket(ETYPE);
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	asks = create_qp_with_loopback(&self->r);
	ASSERT_NE(NULL, asks) TH_LOG("errno %d", errno);
	put_eth(self->buf, ETYPE);
	ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, 60, 0));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	EXPECT_EQ(60, next_frame(self->sock, got, sizeof(got)));
	EXPECT_EQ(0, ibv_destroy_qp(asks));
	ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, 60, 0));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	EXPECT_EQ(-ETIMEDOUT, next_frame(self->sock, got, sizeof(got)));
}

static uint32_t sum_of(const uint8_t *data, size_t len, uint32_t sum)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? data[i] : data[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Whether the checksums of an IPv4 packet with TCP or UDP are right. */
static bool sums_are_right(const uint8_t *ip)
{
	uint32_t len = ip[2] << 8 | ip[3];
	uint32_t pseudo = sum_of(ip + 12, 8, 0) + ip[9] + len - IP_LEN;

	return fold(sum_of(ip, IP_LEN, 0)) == 0xffff &&
	       fold(sum_of(ip + IP_LEN, len - IP_LEN, pseudo)) == 0xffff;
}

static void put_ip(uint8_t *ip, uint16_t len, uint8_t protocol)
{
	static const uint8_t header[IP_LEN] = {
		0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 0, 0, 0, 192, 0, 2, 1, 192, 0, 2, 255,
	};

	memcpy(ip, header, IP_LEN);
	ip[2] = len >> 8;
	ip[3] = len;
	ip[9] = protocol;
}

TEST_F(raw, device_fills_in_checksums)
{
	uint8_t *ip = self->buf + ETH_LEN, got[BUF];
	unsigned int len = IP_LEN + UDP_LEN + 300;
	struct ibv_wc wc;

	self->sock = open_socket(ETHERTYPE_IP);
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	fill(self->buf, ETH_LEN + len, 1);
	put_eth(self->buf, ETHERTYPE_IP);
	put_ip(ip, len, IPPROTO_UDP);
	ip[IP_LEN + 4] = (len - IP_LEN) >> 8;
	ip[IP_LEN + 5] = len - IP_LEN;
	memset(ip + IP_LEN + 6, 0, 2);
	ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, ETH_LEN + len, IBV_SEND_IP_CSUM));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	ASSERT_EQ(ETH_LEN + len, next_frame(self->sock, got, sizeof(got)));
	EXPECT_FALSE(sums_are_right(ip));
	EXPECT_TRUE(sums_are_right(got + ETH_LEN));
}

TEST_F(raw, device_cuts_a_large_send_into_frames)
{
	uint8_t header[ETH_LEN + IP_LEN + TCP_LEN] = {}, got[BUF];
	struct ibv_sge sge = { .addr = (uintptr_t)self->buf, .length = 2 * MSS + 1,
			       .lkey = self->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_TSO, .send_flags = IBV_SEND_IP_CSUM,
		.tso = { .hdr = header, .hdr_sz = sizeof(header), .mss = MSS },
	}, *bad;
	unsigned int i, len;
	struct ibv_wc wc;

	self->sock = open_socket(ETHERTYPE_IP);
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	fill(self->buf, 2 * MSS + 1, 3);
	put_eth(header, ETHERTYPE_IP);
	put_ip(header + ETH_LEN, IP_LEN + TCP_LEN, IPPROTO_TCP);
	header[ETH_LEN + IP_LEN + 12] = 5 << 4;
	ASSERT_EQ(0, ibv_post_send(self->qp, &wr, &bad));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	for (i = 0; i < 3; i++) {
		len = i < 2 ? MSS : 1;
		ASSERT_LE(sizeof(header) + len, next_frame(self->sock, got, sizeof(got)));
		EXPECT_EQ(IP_LEN + TCP_LEN + len, got[16] << 8 | got[17]);
		EXPECT_TRUE(sums_are_right(got + ETH_LEN)) TH_LOG("frame %u", i);
		EXPECT_EQ(0, memcmp(self->buf + i * MSS, got + sizeof(header), len));
	}
}

/* A frame without a whole header fails the send queue. After RESET the queue pair works again. */
TEST_F(raw, failed_send_queue_works_again_after_reset)
{
	struct ibv_wc wc;

	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	put_eth(self->buf, ETYPE);
	ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, ETH_LEN - 1, 0));
	EXPECT_LT(0, reap(self->r.cq, &wc));
	EXPECT_NE(IBV_QPS_RTS, rdma_qp_state(self->qp));
	EXPECT_EQ(0, raw_packet_to(self->qp, IBV_QPS_RESET));
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	ASSERT_EQ(0, send_frame(self->qp, self->mr, self->buf, 60, 0));
	EXPECT_EQ(0, reap_ok(self->r.cq, &wc));
}

TEST_F(raw, posted_receives_are_flushed_in_the_error_state)
{
	struct ibv_wc wc;
	unsigned int i;

	ASSERT_EQ(0, raw_packet_to(self->qp, IBV_QPS_INIT));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, post_recv(self->qp, self->mr, self->buf, 2048, i));
	ASSERT_EQ(0, raw_packet_to(self->qp, IBV_QPS_RTR));
	ASSERT_EQ(0, raw_packet_to(self->qp, IBV_QPS_RTS));
	EXPECT_TRUE(cq_stays_empty(self->r.cq, 50));
	ASSERT_EQ(0, raw_packet_to(self->qp, IBV_QPS_ERR));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, reap(self->r.cq, &wc));
		EXPECT_EQ(i, wc.wr_id);
	}
}

/* --- Rates ------------------------------------------------------------------------------------ */

static bool has_rates(void)
{
	return hca_ctl_present() && hca_cap("general", "qos") > 0 &&
	       hca_cap("qos", "packet_pacing") > 0;
}

static int set_rate(struct ibv_qp *qp, uint32_t kbps, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = kbps, .max_burst_sz = burst };

	return ibv_modify_qp_rate_limit(qp, &rate);
}

/* The index of the rate to which the send queue is limited. */
static int64_t rate_index(struct ibv_qp *qp)
{
	int64_t dword = query_part(qp, OP_QUERY_SQ, qp->qp_num, 7);

	return dword < 0 ? dword : dword & 0xffff;
}

TEST_F(raw, rates_are_shared_by_queue_pairs)
{
	struct ibv_qp *second;
	int64_t index;

	if (!has_rates())
		SKIP(return, NO_RATES);
	second = create_qp(&self->r, 8, 8);
	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	ASSERT_EQ(0, raw_packet_to_rts(second));
	EXPECT_EQ(0, rate_index(self->qp));
	ASSERT_EQ(0, set_rate(self->qp, 1000, 0));
	index = rate_index(self->qp);
	EXPECT_LT(0, index);
	EXPECT_EQ(1, hca_census_count("rate"));
	ASSERT_EQ(0, set_rate(second, 1000, 0));
	EXPECT_EQ(index, rate_index(second));
	EXPECT_EQ(1, hca_census_count("rate"));
	ASSERT_EQ(0, set_rate(second, 1000, 4096));
	EXPECT_NE(index, rate_index(second));
	EXPECT_EQ(2, hca_census_count("rate"));
	EXPECT_EQ(0, ibv_destroy_qp(second));
	EXPECT_EQ(1, hca_census_count("rate"));
	EXPECT_EQ(index, rate_index(self->qp));
}

TEST_F(raw, rate_ends_when_it_is_asked_for)
{
	if (!has_rates())
		SKIP(return, NO_RATES);
	ASSERT_EQ(0, raw_packet_to_rts(self->qp));
	ASSERT_EQ(0, set_rate(self->qp, 1000, 0));
	EXPECT_NE(0, set_rate(self->qp, hca_cap("qos", "packet_pacing_max_rate") + 1, 0));
	EXPECT_LT(0, rate_index(self->qp));
	ASSERT_EQ(0, set_rate(self->qp, 0, 0));
	EXPECT_EQ(0, rate_index(self->qp));
	EXPECT_EQ(0, hca_census_count("rate"));
	ASSERT_EQ(0, set_rate(self->qp, 1000, 0));
	ASSERT_EQ(0, raw_packet_to(self->qp, IBV_QPS_RESET));
	/* mlx5_ib keeps the rate until the queue pair is destroyed. */
	if (driver_is("bluebell"))
		EXPECT_EQ(0, hca_census_count("rate"));
}

/* --- Work queues, tables, and queue pairs that spread packets over them ----------------------- */

#define LOG_TABLE	2
#define TABLE		(1 << LOG_TABLE)

static struct ibv_wq *create_wq(struct rdma *r, uint32_t flags)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = r->pd, .cq = r->cq,
		.comp_mask = flags ? IBV_WQ_INIT_ATTR_FLAGS : 0, .create_flags = flags,
	};

	return ibv_create_wq(r->ctx, &init);
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int64_t query_wq(struct ibv_wq *wq, unsigned int dword)
{
	uint32_t in[4] = { htobe32(OP_QUERY_RQ << 16), 0, htobe32(wq->wq_num) };
	uint32_t out[256] = {};
	int ret = mlx5dv_devx_wq_query(wq, in, sizeof(in), out, sizeof(out));

	if (ret)
		return -(ret < 0 ? errno : ret);
	return be32toh(out[8 + dword]);
}

TEST_F(raw, wq_has_the_states_of_verbs)
{
	struct ibv_wq *wq = create_wq(&self->r, 0);

	ASSERT_NE(NULL, wq) TH_LOG("errno %d", errno);
	/* mlx5_ib leaves it to the device to refuse the way from the error state to RDY. */
	if (driver_is("mlx5_ib"))
		ASSERT_EQ(0, hca_expect("refuse MODIFY_RQ BAD_RES_STATE_ERR 1"));
	EXPECT_EQ(STATE_RST, state_of(query_wq(wq, 0)));
	EXPECT_EQ(0, wq_to(wq, IBV_WQS_RDY));
	EXPECT_EQ(STATE_RDY, state_of(query_wq(wq, 0)));
	EXPECT_EQ(0, wq_to(wq, IBV_WQS_RDY));
	EXPECT_EQ(0, wq_to(wq, IBV_WQS_ERR));
	EXPECT_EQ(STATE_ERR, state_of(query_wq(wq, 0)));
	EXPECT_NE(0, wq_to(wq, IBV_WQS_RDY));
	EXPECT_EQ(0, wq_to(wq, IBV_WQS_RESET));
	EXPECT_EQ(0, wq_to(wq, IBV_WQS_RDY));
	EXPECT_EQ(0, ibv_destroy_wq(wq));
}

#define VSD	(1u << 28)	/* the device does not strip VLAN tags */

TEST_F(raw, wq_strips_vlan_tags_as_asked)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_FLAGS, .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING,
		.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING,
	};
	struct ibv_wq *wq = create_wq(&self->r, 0);
	int64_t rqc;

	ASSERT_NE(NULL, wq);
	EXPECT_EQ(VSD, query_wq(wq, 0) & VSD);
	EXPECT_EQ(0, ibv_modify_wq(wq, &attr));
	rqc = query_wq(wq, 0);
	EXPECT_EQ(0, rqc & VSD);
	EXPECT_EQ(STATE_RST, state_of(rqc));
	EXPECT_EQ(0, ibv_destroy_wq(wq));
	wq = create_wq(&self->r, IBV_WQ_FLAGS_CVLAN_STRIPPING);
	ASSERT_NE(NULL, wq);
	EXPECT_EQ(0, query_wq(wq, 0) & VSD);
	EXPECT_EQ(0, ibv_destroy_wq(wq));
	EXPECT_EQ(NULL, create_wq(&self->r, IBV_WQ_FLAGS_DELAY_DROP));
}

#define SCATTER_FCS	(1u << 29)

TEST_F(raw, wq_receives_frames_with_their_fcs_if_the_device_can)
{
	struct ibv_wq *wq = create_wq(&self->r, IBV_WQ_FLAGS_SCATTER_FCS);

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (hca_cap("ethernet", "scatter_fcs") <= 0) {
		EXPECT_EQ(NULL, wq);
		SKIP(return, NO_FCS);
	}
	ASSERT_NE(NULL, wq);
	EXPECT_EQ(SCATTER_FCS, query_wq(wq, 0) & SCATTER_FCS);
	EXPECT_EQ(0, ibv_destroy_wq(wq));
}

static struct ibv_qp *create_rss(struct rdma *r, struct ibv_rwq_ind_table *table, uint64_t fields,
				 uint8_t key_len)
{
	static uint8_t key[128] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = r->pd, .rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key_len = key_len,
			.rx_hash_key = key, .rx_hash_fields_mask = fields,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
	};

	return ibv_create_qp_ex(r->ctx, &init);
}

TEST_F(raw, rss_queue_pair_spreads_over_a_table_of_wqs)
{
	const uint64_t ipv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = LOG_TABLE };
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq[TABLE];
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < TABLE; i++) {
		wq[i] = create_wq(&self->r, 0);
		ASSERT_NE(NULL, wq[i]);
		ASSERT_EQ(0, wq_to(wq[i], IBV_WQS_RDY));
	}
	init.ind_tbl = wq;
	table = ibv_create_rwq_ind_table(self->r.ctx, &init);
	ASSERT_NE(NULL, table);
	EXPECT_NE(0, ibv_destroy_wq(wq[0]));
	EXPECT_EQ(NULL, create_rss(&self->r, table, ipv4, 39));
	EXPECT_EQ(NULL, create_rss(&self->r, table, ipv4 | IBV_RX_HASH_SRC_IPV6, 40));
	qp = create_rss(&self->r, table, ipv4, 40);
	ASSERT_NE(NULL, qp) TH_LOG("errno %d", errno);
	EXPECT_NE(0, ibv_destroy_rwq_ind_table(table));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_rwq_ind_table(table));
	for (i = 0; i < TABLE; i++)
		EXPECT_EQ(0, ibv_destroy_wq(wq[i]));
}

/* --- What the device can do ------------------------------------------------------------------- */

TEST_F(raw, device_tells_what_it_does_with_raw_packets)
{
	struct ibv_device_attr_ex attr = {};

	ASSERT_EQ(0, ibv_query_device_ex(self->r.ctx, NULL, &attr));
	EXPECT_NE(0, attr.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM);
	EXPECT_NE(0, attr.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING);
	EXPECT_NE(0, attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM);
	EXPECT_LT(0, attr.max_wq_type_rq);
	EXPECT_LT(0, attr.rss_caps.max_rwq_indirection_tables);
	EXPECT_LT(0, attr.rss_caps.max_rwq_indirection_table_size);
	EXPECT_EQ(1 << IBV_QPT_RAW_PACKET, attr.rss_caps.supported_qpts);
	EXPECT_EQ(IBV_RX_HASH_FUNC_TOEPLITZ, attr.rss_caps.rx_hash_function);
	EXPECT_LE(MSS, attr.tso_caps.max_tso);
	EXPECT_NE(0, attr.tso_caps.supported_qpts & 1 << IBV_QPT_RAW_PACKET);
}

TEST_HARNESS_MAIN
