// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Management datagrams as programs send and receive them, by ib_umad without a library: the port's
 * own agents (SMA, PMA), requests from one agent to another one of the same port, timeouts, MADs
 * that must not be answered, and the end of agents when their process is killed or the device is
 * removed.
 */
#include <endian.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include "binding.h"
#include "test.h"
#include "umad.h"

#define TID_LOW 0xffffffffull	/* ib_umad chooses the other half */
#define MAX_AGENTS 32		/* of one file */
#define MAX_PKEYS 8
#define FULL_MEMBER 0x8000
#define NO_PMA "an Ethernet port has no agent for performance management"
#define DIRECTION 0x8000	/* bit of the status: a directed-route MAD is on its way back */

static uint64_t get64(const struct mad *m, unsigned int at)
{
	return (uint64_t)get32(m, at) << 32 | get32(m, at + 4);
}

static unsigned int now_ms(void)
{
	return seconds() * 1e3;
}

/*
 * Send a request and wait for the answer to it. Returns the status in its header, or a negative
 * errno.
 */
static int mad_query(struct agent *a, struct mad *m)
{
	uint32_t tid = get32(m, AT_TID + 4);
	struct mad answer;
	int ret = mad_send(a, m);

	if (ret)
		return ret;
	do {
		ret = mad_recv(a, &answer, 2 * PATIENCE_MS);
		if (ret < 0)
			return ret;
	} while (get32(&answer, AT_TID + 4) != tid);
	*m = answer;
	return m->hdr.status;
}

/* Drop what an agent has received, until nothing more comes. */
static void drain(struct agent *a)
{
	struct mad m;

	while (mad_recv(a, &m, 50) > 0)
		;
}

/* Turn the request into an answer, and send the answer to where the request came from. */
static int mad_answer(struct agent *a, struct mad *m)
{
	m->data[AT_METHOD] |= METHOD_RESPONSE;
	m->data[AT_VENDOR_DATA] ^= 0xff;
	m->hdr.qkey = htobe32(QP1_QKEY);
	m->hdr.timeout_ms = 0;
	m->hdr.retries = 0;
	return mad_send(a, m);
}

FIXTURE(mad) {
	struct agent client;	/* gets answers only */
	struct agent server;	/* of requests of CLASS_VENDOR */
	struct agent smi;	/* on QP0, which an Ethernet port does not have */
	int npkeys;
	uint16_t pkey[MAX_PKEYS];
};

/* The device, opened by rdma_open() in tests that need traffic or events. */
static struct rdma device;

static void open_agents(struct __test_metadata *_metadata, struct _test_data_mad *self)
{
	ASSERT_EQ(0, agent_open(&self->client, 1, 0, 0, 0));
	ASSERT_EQ(0, agent_open(&self->server, 1, CLASS_VENDOR, OUI, 0));
	if (!port_is_ethernet())
		ASSERT_EQ(0, agent_open(&self->smi, 0, 0, 0, 0));
}

static void close_agents(struct _test_data_mad *self)
{
	agent_close(&self->client);
	agent_close(&self->server);
	agent_close(&self->smi);
}

FIXTURE_SETUP(mad)
{
	char name[32];
	long pkey;

	if (!umad_is_there())
		SKIP(return, NO_UMAD);
	census_after_first_use(_metadata, IBV_QPT_RC);
	open_agents(_metadata, self);
	while (self->npkeys < MAX_PKEYS) {
		snprintf(name, sizeof(name), "pkeys/%d", self->npkeys);
		pkey = port_number(name);
		if (pkey <= 0)
			break;
		self->pkey[self->npkeys++] = pkey;
	}
}

FIXTURE_TEARDOWN(mad)
{
	close_agents(self);
	rdma_close(&device);
	if (umad_is_there() && hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* The server answers a request of the client; each is told where the MAD of the other came from. */
static void expect_exchange(struct __test_metadata *_metadata, struct _test_data_mad *self,
			    struct mad *req, uint16_t pkey_index)
{
	/* The bits of the traffic class that RoCE uses for the control of congestion. */
	const uint8_t ecn = port_is_ethernet() ? 3 : 0;
	uint16_t lid = own_lid();
	struct mad got, sent = *req;

	ASSERT_EQ(0, mad_send(&self->client, req));
	ASSERT_EQ(sizeof(got), mad_recv(&self->server, &got, PATIENCE_MS));
	EXPECT_EQ(0, got.hdr.status);
	EXPECT_EQ(sizeof(got), got.hdr.length);
	EXPECT_EQ(1, be32toh(got.hdr.qpn));
	EXPECT_EQ(lid, be16toh(got.hdr.lid));
	/* On an Ethernet port the service level is the priority of a VLAN. */
	EXPECT_EQ(port_is_ethernet() ? 0 : sent.hdr.sl, got.hdr.sl);
	EXPECT_EQ(0, got.hdr.path_bits);
	EXPECT_EQ(pkey_index, got.hdr.pkey_index);
	EXPECT_EQ(sent.hdr.grh_present, got.hdr.grh_present);
	EXPECT_EQ(0, memcmp(sent.data, got.data, AT_TID));
	EXPECT_EQ(get32(&sent, AT_TID + 4), get32(&got, AT_TID + 4));
	EXPECT_EQ(0, memcmp(sent.data + AT_ATTR, got.data + AT_ATTR, MAD_BYTES - AT_ATTR));
	if (sent.hdr.grh_present) {
		EXPECT_EQ(0, memcmp(sent.hdr.gid, got.hdr.gid, sizeof(got.hdr.gid)));
		EXPECT_EQ(sent.hdr.gid_index, got.hdr.gid_index);
		EXPECT_EQ(sent.hdr.traffic_class & ~ecn, got.hdr.traffic_class & ~ecn);
		EXPECT_EQ(sent.hdr.flow_label, got.hdr.flow_label);
	}
	ASSERT_EQ(0, mad_answer(&self->server, &got));
	ASSERT_EQ(sizeof(got), mad_recv(&self->client, &got, PATIENCE_MS));
	EXPECT_EQ(0, got.hdr.status);
	EXPECT_EQ(METHOD_GET_RESP, got.data[AT_METHOD]);
	EXPECT_EQ(get32(&sent, AT_TID + 4), get32(&got, AT_TID + 4));
	EXPECT_EQ(1, be32toh(got.hdr.qpn));
	EXPECT_EQ(lid, be16toh(got.hdr.lid));
	EXPECT_EQ(pkey_index, got.hdr.pkey_index);
	EXPECT_EQ(sent.data[AT_VENDOR_DATA], (uint8_t)~got.data[AT_VENDOR_DATA]);
	EXPECT_EQ(0, memcmp(sent.data + AT_VENDOR_DATA + 1, got.data + AT_VENDOR_DATA + 1,
			    MAD_BYTES - AT_VENDOR_DATA - 1));
}

/* Exchange a request and an answer, to show that everything still works after a test. */
static void expect_ping(struct __test_metadata *_metadata, struct _test_data_mad *self)
{
	struct mad m;

	mad_init(&m, CLASS_VENDOR, METHOD_GET, 0x1234, 5);
	expect_exchange(_metadata, self, &m, 0);
}

/* Wait until the client's request, which no agent gets, times out. */
static void expect_nobody(struct __test_metadata *_metadata, struct _test_data_mad *self,
			  struct mad *m)
{
	struct mad got;

	m->hdr.timeout_ms = 50;
	EXPECT_EQ(ETIMEDOUT, mad_query(&self->client, m));
	EXPECT_EQ(-ETIMEDOUT, mad_recv(&self->server, &got, 0));
}

/* --- Registration ----------------------------------------------------------------------------- */

TEST_F(mad, agents_are_registered_up_to_the_limit)
{
	struct ib_user_mad_reg_req2 req = { .qpn = 1 };
	uint32_t id = 0;
	int fd, i;

	fd = umad_open();
	ASSERT_LT(0, fd);
	for (i = 0; i < MAX_AGENTS; i++) {
		req.qpn = port_is_ethernet() || i % 2;
		ASSERT_EQ(0, umad_register(fd, &req));
		EXPECT_EQ(i, req.id);
	}
	EXPECT_EQ(-ENOMEM, umad_register(fd, &req));
	id = 7;
	EXPECT_EQ(0, ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id));
	EXPECT_EQ(-1, ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, umad_register(fd, &req));
	EXPECT_EQ(7, req.id);
	close(fd);
}

TEST_F(mad, invalid_registrations_are_refused)
{
	static const struct ib_user_mad_reg_req2 bad[] = {
		{ .qpn = 2 },
		{ .qpn = 1, .flags = 2 },
		{ .qpn = 1, .rmpp_version = 9 },
		{ .qpn = 1, .mgmt_class = CLASS_PERF, .mgmt_class_version = 200 },
		{ .qpn = 1, .mgmt_class = CLASS_SM_DIRECTED, .mgmt_class_version = 1 },
		{ .qpn = 1, .mgmt_class = CLASS_SM_LID, .mgmt_class_version = 1 },
		{ .qpn = 0, .mgmt_class = CLASS_PERF, .mgmt_class_version = 1 },
		{ .qpn = 1, .mgmt_class = 0xf0, .mgmt_class_version = 1 },
		{ .qpn = 1, .mgmt_class = CLASS_PERF, .mgmt_class_version = 1, .rmpp_version = 1 },
		{ .qpn = 1, .mgmt_class = CLASS_VENDOR, .mgmt_class_version = 1 },
		{ .qpn = 1, .mgmt_class = CLASS_VENDOR, .mgmt_class_version = 1, .oui = 0x1000000 },
	};
	struct ib_user_mad_reg_req2 req;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req = bad[i];
		/* An Ethernet port has no QP0. */
		err = port_is_ethernet() && !req.qpn ? -EPROTONOSUPPORT : -EINVAL;
		EXPECT_EQ(err, umad_register(self->client.fd, &req)) TH_LOG("request %zu", i);
	}
	expect_ping(_metadata, self);
}

TEST_F(mad, class_and_method_are_served_by_one_agent)
{
	struct ib_user_mad_reg_req2 set = {
		.qpn = 1, .mgmt_class = CLASS_VENDOR, .mgmt_class_version = 1, .oui = OUI,
		.method_mask = { 1 << METHOD_SET },
	};
	struct agent other;

	EXPECT_EQ(-EINVAL, agent_open(&other, 1, CLASS_VENDOR, OUI, 0));
	EXPECT_EQ(-EINVAL, umad_register(self->server.fd, &set));
	/* A vendor class with another OUI is another class. */
	ASSERT_EQ(0, agent_open(&other, 1, CLASS_VENDOR, OTHER_OUI, 0));
	expect_ping(_metadata, self);
	agent_close(&other);
	agent_close(&self->server);
	ASSERT_EQ(0, agent_open(&self->server, 1, CLASS_VENDOR, OUI, 0));
	expect_ping(_metadata, self);
}

static int open_as_tester(void)
{
	struct passwd *pw = getpwnam("tester");
	int fd;

	if (!pw || setgroups(0, NULL) || setgid(pw->pw_gid) || setuid(pw->pw_uid))
		return -1;
	fd = umad_open();
	return -fd;
}

TEST_F(mad, unprivileged_user_cannot_open_the_device)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(open_as_tester());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(EACCES, WEXITSTATUS(status));
}

/* --- Subnet management ------------------------------------------------------------------------ */

/* The port's SMA answers directed-route SMPs of no hop, and SMPs that go to the port's LID. */
FIXTURE(sma) {
	struct agent smi;
	struct ibv_device_attr attr;
};

FIXTURE_VARIANT(sma) {
	uint8_t class;
};

FIXTURE_VARIANT_ADD(sma, directed) { .class = CLASS_SM_DIRECTED };

FIXTURE_VARIANT_ADD(sma, by_lid) { .class = CLASS_SM_LID };

FIXTURE_SETUP(sma)
{
	if (!umad_is_there())
		SKIP(return, NO_UMAD);
	if (port_is_ethernet())
		SKIP(return, NO_QP0);
	ASSERT_EQ(0, rdma_open(&device));
	ASSERT_EQ(0, ibv_query_device(device.ctx, &self->attr));
	ASSERT_EQ(0, agent_open(&self->smi, 0, 0, 0, 0));
}

FIXTURE_TEARDOWN(sma)
{
	agent_close(&self->smi);
	rdma_close(&device);
}

/* Get an attribute. Returns the status of the answer, without the bit for its direction. */
static int sma_get(struct __test_metadata *_metadata, struct _test_data_sma *self, uint8_t class,
		   uint16_t attr, uint32_t mod, struct mad *m)
{
	uint16_t way_back = class == CLASS_SM_DIRECTED ? DIRECTION : 0;

	mad_init(m, class, METHOD_GET, attr, mod);
	EXPECT_EQ(0, mad_query(&self->smi, m));
	EXPECT_EQ(class, m->data[AT_CLASS]);
	EXPECT_EQ(METHOD_GET_RESP, m->data[AT_METHOD]);
	EXPECT_EQ(attr, get16(m, AT_ATTR));
	EXPECT_EQ(mod, get32(m, AT_MOD));
	EXPECT_EQ(way_back, get16(m, AT_STATUS) & DIRECTION);
	EXPECT_EQ(0, be32toh(m->hdr.qpn));
	return get16(m, AT_STATUS) & ~DIRECTION;
}

TEST_F(sma, node_info_is_that_of_the_device)
{
	union ibv_gid gid;
	struct mad m;

	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_NODE_INFO, 0, &m));
	EXPECT_EQ(1, m.data[AT_DATA + 2]);		/* a channel adapter */
	EXPECT_EQ(self->attr.phys_port_cnt, m.data[AT_DATA + 3]);
	EXPECT_EQ(be64toh(self->attr.sys_image_guid), get64(&m, AT_DATA + 4));
	EXPECT_EQ(be64toh(self->attr.node_guid), get64(&m, AT_DATA + 12));
	ASSERT_EQ(0, ibv_query_gid(device.ctx, 1, 0, &gid));
	EXPECT_EQ(be64toh(gid.global.interface_id), get64(&m, AT_DATA + 20));
	EXPECT_EQ(device.port.pkey_tbl_len, get16(&m, AT_DATA + 28));
	EXPECT_EQ(self->attr.vendor_part_id, get16(&m, AT_DATA + 30));
	EXPECT_EQ(1, m.data[AT_DATA + 36]);		/* the port that answers */
	EXPECT_EQ(self->attr.vendor_id, get32(&m, AT_DATA + 36) & 0xffffff);
}

TEST_F(sma, node_description_can_be_set)
{
	char before[65], path[128], name[65] = "";
	struct mad m;
	FILE *f;

	ASSERT_TRUE(rdma_read_sysfs("node_desc", before, sizeof(before)));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_desc", rdma_device_name());
	f = fopen(path, "w");
	ASSERT_NE(NULL, f);
	EXPECT_LT(0, fprintf(f, "node of the test %u", variant->class));
	EXPECT_EQ(0, fclose(f));
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_NODE_DESC, 0, &m));
	snprintf(name, sizeof(name), "node of the test %u", variant->class);
	EXPECT_EQ(0, strncmp(name, (char *)m.data + AT_DATA, 64)) TH_LOG("%.64s", m.data + AT_DATA);
	f = fopen(path, "w");
	ASSERT_NE(NULL, f);
	fputs(before, f);
	EXPECT_EQ(0, fclose(f));
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_NODE_DESC, 0, &m));
	EXPECT_EQ(0, strncmp(before, (char *)m.data + AT_DATA, 64))
		TH_LOG("%.64s", m.data + AT_DATA);
}

TEST_F(sma, port_info_is_that_of_the_port)
{
	struct ibv_port_attr *p = &device.port;
	struct mad m;

	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_PORT_INFO, 1, &m));
	EXPECT_EQ(0xfe80000000000000ull, get64(&m, AT_DATA + 8));
	EXPECT_EQ(p->lid, get16(&m, AT_DATA + 16));
	EXPECT_EQ(p->sm_lid, get16(&m, AT_DATA + 18));
	/*
	 * Take the flags from sysfs, because ibv_query_port() uses one of them for something else.
	 */
	EXPECT_EQ(port_number("cap_mask"), get32(&m, AT_DATA + 20));
	EXPECT_EQ(1, m.data[AT_DATA + 28]);
	EXPECT_EQ(p->state, m.data[AT_DATA + 32] & 0xf);
	EXPECT_EQ(p->phys_state, m.data[AT_DATA + 33] >> 4);
	EXPECT_EQ(p->lmc, m.data[AT_DATA + 34] & 0x7);
	EXPECT_EQ(p->active_mtu, m.data[AT_DATA + 36] >> 4);
	EXPECT_EQ(p->sm_sl, m.data[AT_DATA + 36] & 0xf);
	EXPECT_EQ(p->max_mtu, m.data[AT_DATA + 41] & 0xf);
	EXPECT_EQ(p->subnet_timeout, m.data[AT_DATA + 51] & 0x1f);
	/* There is no second port. */
	EXPECT_NE(0, sma_get(_metadata, self, variant->class, SM_PORT_INFO, 2, &m));
}

TEST_F(sma, tables_are_those_of_the_port)
{
	union ibv_gid gid;
	struct mad m;
	__be16 pkey;
	int i;

	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_PKEY_TABLE, 0, &m));
	for (i = 0; i < 32 && i < device.port.pkey_tbl_len; i++) {
		ASSERT_EQ(0, ibv_query_pkey(device.ctx, 1, i, &pkey));
		EXPECT_EQ(be16toh(pkey), get16(&m, AT_DATA + 2 * i)) TH_LOG("index %d", i);
	}
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_GUID_INFO, 0, &m));
	for (i = 0; i < 8 && i < device.port.gid_tbl_len; i++) {
		if (ibv_query_gid(device.ctx, 1, i, &gid))
			continue;
		EXPECT_EQ(be64toh(gid.global.interface_id), get64(&m, AT_DATA + 8 * i))
			TH_LOG("index %d", i);
	}
}

TEST_F(sma, unknown_attributes_are_refused_in_the_answer)
{
	struct mad m;

	EXPECT_NE(0, sma_get(_metadata, self, variant->class, 0xff7f, 0, &m));
	EXPECT_EQ(0, sma_get(_metadata, self, variant->class, SM_NODE_INFO, 0, &m));
}

/* While a process has the file "issm" open, the port reports that it has a subnet manager. */
TEST_F(sma, port_says_that_it_has_a_subnet_manager)
{
	const uint32_t is_sm = 1 << 1;
	char path[128];
	struct mad m;
	int fd;

	ASSERT_TRUE(umad_find("issm", path, sizeof(path)));
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_PORT_INFO, 1, &m));
	EXPECT_EQ(0, get32(&m, AT_DATA + 20) & is_sm);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd) TH_LOG("errno %d", errno);
	EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_PORT_INFO, 1, &m));
	EXPECT_NE(0, get32(&m, AT_DATA + 20) & is_sm);
	close(fd);
	ASSERT_EQ(0, sma_get(_metadata, self, variant->class, SM_PORT_INFO, 1, &m));
	EXPECT_EQ(0, get32(&m, AT_DATA + 20) & is_sm);
}

/* --- Performance management ------------------------------------------------------------------- */

static int pma_get(struct __test_metadata *_metadata, struct _test_data_mad *self, uint16_t attr,
		   struct mad *m)
{
	mad_init(m, CLASS_PERF, METHOD_GET, attr, 0);
	m->data[AT_DATA + 1] = 1;	/* the port */
	EXPECT_EQ(0, mad_query(&self->client, m));
	EXPECT_EQ(METHOD_GET_RESP, m->data[AT_METHOD]);
	EXPECT_EQ(attr, get16(m, AT_ATTR));
	EXPECT_EQ(1, be32toh(m->hdr.qpn));
	EXPECT_EQ(own_lid(), be16toh(m->hdr.lid));
	return get16(m, AT_STATUS);
}

/* A few messages over the port. */
static void make_traffic(struct __test_metadata *_metadata, int n)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_wc wc;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&device));
	ASSERT_EQ(0, pair_open(&p, &device, &cfg, 4096));
	while (n--)
		ASSERT_EQ(0, pair_send_one(&p, 100, 4096, &wc));
	pair_close(&p);
}

TEST_F(mad, class_info_of_performance_management_is_answered)
{
	struct mad m;

	if (port_is_ethernet())
		SKIP(return, NO_PMA);
	ASSERT_EQ(0, pma_get(_metadata, self, PM_CLASS_INFO, &m));
	EXPECT_EQ(1, m.data[AT_DATA]);		/* base version */
	EXPECT_EQ(1, m.data[AT_DATA + 1]);	/* class version */
	/*
	 * The PMA has PortCountersExtended. For a device without a PMA the driver answers, and
	 * reports fewer capabilities.
	 */
	EXPECT_EQ(0x200, get16(&m, AT_DATA + 2) & 0x200);
	EXPECT_NE(0, pma_get(_metadata, self, 0x7f, &m));
}

TEST_F(mad, port_counters_count_packets)
{
	struct mad before, after, ext_before, ext_after;
	const unsigned int n = 20;
	int i;

	if (port_is_ethernet())
		SKIP(return, NO_PMA);
	ASSERT_EQ(0, pma_get(_metadata, self, PM_COUNTERS, &before));
	ASSERT_EQ(0, pma_get(_metadata, self, PM_COUNTERS_EXT, &ext_before));
	EXPECT_EQ(1, before.data[AT_DATA + 1]);
	make_traffic(_metadata, n);
	ASSERT_EQ(0, pma_get(_metadata, self, PM_COUNTERS, &after));
	ASSERT_EQ(0, pma_get(_metadata, self, PM_COUNTERS_EXT, &ext_after));
	/* Compare the counters of packets sent, then those of packets received. */
	for (i = 0; i < 2; i++) {
		EXPECT_LE(n, get32(&after, AT_DATA + 32 + 4 * i) -
			     get32(&before, AT_DATA + 32 + 4 * i));
		EXPECT_LE(n, get64(&ext_after, AT_DATA + 24 + 8 * i) -
			  get64(&ext_before, AT_DATA + 24 + 8 * i));
	}
}

TEST_F(mad, sysfs_has_the_ports_counters)
{
	static const char *const names[] = {
		"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
		"port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
		"port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors",
		"local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
		"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets",
		"port_xmit_wait",
	};
	char name[128];
	long sent, received;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "counters/%s", names[i]);
		EXPECT_LE(0, port_number(name)) TH_LOG("%s", names[i]);
	}
	sent = port_number("counters/port_xmit_packets");
	received = port_number("counters/port_rcv_packets");
	make_traffic(_metadata, 20);
	EXPECT_LE(sent + 20, port_number("counters/port_xmit_packets"));
	EXPECT_LE(received + 20, port_number("counters/port_rcv_packets"));
	EXPECT_EQ(device.port.lid, port_number("lid"));
	EXPECT_EQ(device.port.sm_lid, port_number("sm_lid"));
}

/* --- From agent to agent ---------------------------------------------------------------------- */

TEST_F(mad, request_is_answered_by_another_agent)
{
	struct mad m;
	int i;

	for (i = 0; i < 20; i++) {
		mad_init(&m, CLASS_VENDOR, METHOD_GET, 100 + i, i);
		m.hdr.sl = i % (port_is_ethernet() ? 8 : 16);
		expect_exchange(_metadata, self, &m, 0);
	}
}

TEST_F(mad, request_with_a_grh_is_answered)
{
	union ibv_gid gid;
	struct mad m;

	ASSERT_EQ(0, rdma_open(&device));
	ASSERT_EQ(0, ibv_query_gid(device.ctx, 1, 0, &gid));
	mad_init(&m, CLASS_VENDOR, METHOD_GET, 1, 1);
	m.hdr.grh_present = 1;
	m.hdr.hop_limit = 3;
	m.hdr.traffic_class = 0x22;
	m.hdr.flow_label = htobe32(0x12345);
	memcpy(m.hdr.gid, &gid, sizeof(gid));
	expect_exchange(_metadata, self, &m, 0);
}

/*
 * The index of the port's first P_Key that matches @pkey: at least one of the two is a full
 * member's. -1 if none matches.
 */
static int pkey_match(struct _test_data_mad *self, uint16_t pkey)
{
	int i;

	for (i = 0; i < self->npkeys; i++)
		if (!((self->pkey[i] ^ pkey) & ~FULL_MEMBER) &&
		    ((self->pkey[i] | pkey) & FULL_MEMBER))
			return i;
	return -1;
}

TEST_F(mad, request_carries_each_pkey_of_the_port)
{
	struct mad m;
	int round, i, match;

	for (round = 0; round < 2; round++)
		for (i = 0; i < self->npkeys; i++) {
			match = pkey_match(self, self->pkey[i]);
			mad_init(&m, CLASS_VENDOR, METHOD_GET, i, round);
			m.hdr.pkey_index = i;
			if (match < 0)
				expect_nobody(_metadata, self, &m);
			else
				expect_exchange(_metadata, self, &m, match);
		}
}

/* A P_Key that the port gets later is used from then on, and one that it loses is not. */
TEST_F(mad, request_carries_a_pkey_that_was_added)
{
	struct mad m;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_PKEYS);
	ASSERT_EQ(0, rdma_open(&device));
	if (self->npkeys >= device.port.pkey_tbl_len)
		SKIP(return, "the port's P_Key table is full");
	ASSERT_EQ(0, hca_do("port pkey %d 0x8765", self->npkeys));
	ASSERT_TRUE(wait_port_event(device.ctx, IBV_EVENT_PKEY_CHANGE, 5000));
	usleep(100000);
	mad_init(&m, CLASS_VENDOR, METHOD_GET, 1, 2);
	m.hdr.pkey_index = self->npkeys;
	expect_exchange(_metadata, self, &m, self->npkeys);
	ASSERT_EQ(0, hca_do("port pkey %d 0", self->npkeys));
	ASSERT_TRUE(wait_port_event(device.ctx, IBV_EVENT_PKEY_CHANGE, 5000));
	expect_ping(_metadata, self);
	/* The driver may keep what it has created for the P_Key, so take a new census. */
	rdma_close(&device);
	ASSERT_EQ(0, hca_census_reset());
}

TEST_F(mad, many_requests_are_answered_at_a_time)
{
	const int n = 40;
	unsigned long answered = 0;
	struct mad m;
	int i;

	for (i = 0; i < n; i++) {
		mad_init(&m, CLASS_VENDOR, METHOD_GET, i, 0);
		ASSERT_EQ(0, mad_send(&self->client, &m));
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(sizeof(m), mad_recv(&self->server, &m, PATIENCE_MS));
		ASSERT_EQ(0, mad_answer(&self->server, &m));
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(sizeof(m), mad_recv(&self->client, &m, PATIENCE_MS));
		EXPECT_EQ(0, m.hdr.status);
		answered |= 1ul << get16(&m, AT_ATTR);
	}
	EXPECT_EQ((1ul << n) - 1, answered);
}

/* --- Timeouts --------------------------------------------------------------------------------- */

TEST_F(mad, unanswered_request_is_repeated_and_times_out)
{
	unsigned int start = now_ms(), copies = 0;
	struct mad m, got;
	uint32_t tid;

	mad_init(&m, CLASS_VENDOR, METHOD_GET, 1, 2);
	m.hdr.timeout_ms = 100;
	m.hdr.retries = 2;
	tid = get32(&m, AT_TID + 4);
	ASSERT_EQ(0, mad_send(&self->client, &m));
	/* Only the header of the request comes back. */
	ASSERT_EQ(sizeof(got.hdr) + 24, mad_recv(&self->client, &got, PATIENCE_MS));
	EXPECT_EQ(ETIMEDOUT, got.hdr.status);
	EXPECT_EQ(tid, get32(&got, AT_TID + 4));
	EXPECT_EQ(METHOD_GET, got.data[AT_METHOD]);
	EXPECT_LE(290, now_ms() - start);
	while (mad_recv(&self->server, &got, 20) == sizeof(got)) {
		EXPECT_EQ(tid, get32(&got, AT_TID + 4));
		copies++;
	}
	EXPECT_EQ(3, copies);
	expect_ping(_metadata, self);
}

TEST_F(mad, request_to_a_lid_that_nobody_has_times_out)
{
	struct mad m;

	if (port_is_ethernet())
		SKIP(return, ABOUT_LIDS);
	mad_init(&m, CLASS_VENDOR, METHOD_GET, 1, 2);
	m.hdr.lid = htobe16(0xbff0);
	expect_nobody(_metadata, self, &m);
	expect_ping(_metadata, self);
}

/* --- MADs that are wrong ---------------------------------------------------------------------- */

TEST_F(mad, wrong_writes_are_refused)
{
	void *volatile nowhere = (void *)8;
	struct mad m;
	char big[sizeof(m) + 64] = {};

	mad_init(&m, CLASS_VENDOR, METHOD_GET, 1, 2);
	m.hdr.id = self->client.id;
	memcpy(big, &m, sizeof(m));
	EXPECT_EQ(-1, write(self->client.fd, &m, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->client.fd, &m, sizeof(m.hdr) + 35));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->client.fd, big, sizeof(big)));
	EXPECT_EQ(EINVAL, errno);
	m.hdr.id = MAX_AGENTS;
	EXPECT_EQ(-1, write(self->client.fd, &m, sizeof(m)));
	EXPECT_EQ(EINVAL, errno);
	m.hdr.id = MAX_AGENTS - 1;	/* not registered */
	EXPECT_EQ(-1, write(self->client.fd, &m, sizeof(m)));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(-1, write(self->client.fd, nowhere, sizeof(m)));
	EXPECT_EQ(EFAULT, errno);
	/* A read with too little room for a MAD leaves the MAD in the file. */
	ASSERT_EQ(0, mad_send(&self->client, &m));
	ASSERT_EQ(-EINVAL, mad_send(&self->client, &m))
		TH_LOG("a second one of the same transaction");
	usleep(100000);
	EXPECT_EQ(-1, read(self->server.fd, big, sizeof(m.hdr)));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(sizeof(m), mad_recv(&self->server, &m, PATIENCE_MS));
	ASSERT_EQ(0, mad_answer(&self->server, &m));
	ASSERT_EQ(sizeof(m), mad_recv(&self->client, &m, PATIENCE_MS));
}

/* A MAD that is too short is padded with zeros. */
TEST_F(mad, short_mad_arrives_whole)
{
	struct mad m, got;
	size_t i;

	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 1, 2);
	m.hdr.id = self->client.id;
	m.hdr.timeout_ms = 0;
	ASSERT_EQ(sizeof(m.hdr) + 60, write(self->client.fd, &m, sizeof(m.hdr) + 60));
	ASSERT_EQ(sizeof(got), mad_recv(&self->server, &got, PATIENCE_MS));
	EXPECT_EQ(0, memcmp(m.data + AT_ATTR, got.data + AT_ATTR, 60 - AT_ATTR));
	for (i = 60; i < MAD_BYTES; i++)
		ASSERT_EQ(0, got.data[i]) TH_LOG("byte %zu", i);
}

TEST_F(mad, wrong_mads_are_not_delivered)
{
	struct mad m;

	/* ib_mad answers requests of a class for which no agent is registered. */
	mad_init(&m, CLASS_NOBODYS, METHOD_GET, 1, 2);
	ASSERT_EQ(0, mad_query(&self->client, &m));
	EXPECT_EQ(METHOD_GET_RESP, m.data[AT_METHOD]);
	EXPECT_EQ(0x0c, get16(&m, AT_STATUS));
	mad_init(&m, CLASS_NOBODYS, METHOD_SEND, 1, 2);
	expect_nobody(_metadata, self, &m);
	/* A method for which no agent has asked. */
	mad_init(&m, CLASS_VENDOR, 0x7e, 1, 2);
	expect_nobody(_metadata, self, &m);
	/* A wrong base version, and a wrong class version. */
	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 1, 2);
	m.data[AT_BASE] = 7;
	expect_nobody(_metadata, self, &m);
	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 1, 2);
	m.data[AT_VERSION] = 0xee;
	expect_nobody(_metadata, self, &m);
	/* An OUI that no agent has registered. */
	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 1, 2);
	m.data[AT_OUI] ^= 1;
	expect_nobody(_metadata, self, &m);
	/* A MAD for subnet management that is sent to QP1. */
	mad_init(&m, CLASS_SM_LID, METHOD_GET, SM_NODE_INFO, 0);
	m.hdr.qpn = htobe32(1);
	m.hdr.qkey = htobe32(QP1_QKEY);
	expect_nobody(_metadata, self, &m);
	/* A response to no request. */
	mad_init(&m, CLASS_VENDOR, METHOD_GET_RESP, 1, 2);
	m.hdr.timeout_ms = 0;
	EXPECT_EQ(0, mad_send(&self->client, &m));
	usleep(50000);
	expect_ping(_metadata, self);
}

/* Segments that belong to no transfer, to an agent for which ib_mad does RMPP. */
TEST_F(mad, rmpp_garbage_does_no_harm)
{
	static const uint8_t types[] = { 0, 1, 2, 3, 4, 5, 0x77 };
	struct agent rmpp;
	struct mad m;
	size_t i, k;

	agent_close(&self->server);
	ASSERT_EQ(0, agent_open(&rmpp, 1, CLASS_VENDOR, OUI, 1));
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (k = 0; k < 4; k++) {
			mad_init(&m, CLASS_VENDOR, k & 1 ? METHOD_GET_RESP : METHOD_SEND, 1, 2);
			m.hdr.timeout_ms = 0;
			m.data[AT_RMPP_VERSION] = k & 2 ? 9 : 1;
			m.data[AT_RMPP_TYPE] = types[i];
			m.data[AT_RMPP_FLAGS] = 1 | k << 1;	/* active; first, last */
			put32(&m, AT_RMPP_SEGMENT, k ? 0xfffffff0 : 1);
			put32(&m, AT_RMPP_LENGTH, k ? 0 : 0xffffffff);
			EXPECT_EQ(0, mad_send(&self->client, &m));
		}
	usleep(100000);
	agent_close(&rmpp);
	/* Discard the acknowledgements that the client may have got. */
	drain(&self->client);
	ASSERT_EQ(0, agent_open(&self->server, 1, CLASS_VENDOR, OUI, 0));
	expect_ping(_metadata, self);
}

/* A message of several segments, which ib_mad takes apart and puts together. */
TEST_F(mad, rmpp_message_arrives_whole)
{
	struct {
		struct ib_user_mad_hdr hdr;
		uint8_t data[2000];
	} msg, got;
	struct pollfd pfd;
	struct agent from;
	struct mad m;

	agent_close(&self->server);
	ASSERT_EQ(0, agent_open(&self->server, 1, CLASS_VENDOR, OUI, 1));
	ASSERT_EQ(0, agent_open(&from, 1, CLASS_NOBODYS, OUI, 1));
	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 1, 2);
	memcpy(&msg, &m, sizeof(m));
	msg.hdr.id = from.id;
	msg.hdr.timeout_ms = 1000;
	msg.hdr.retries = 5;
	msg.data[AT_RMPP_VERSION] = 1;
	msg.data[AT_RMPP_TYPE] = 1;
	msg.data[AT_RMPP_FLAGS] = 1;
	fill(msg.data + AT_VENDOR_DATA, sizeof(msg.data) - AT_VENDOR_DATA, 3);
	ASSERT_EQ(sizeof(msg), write(from.fd, &msg, sizeof(msg))) TH_LOG("errno %d", errno);
	pfd = (struct pollfd){ .fd = self->server.fd, .events = POLLIN };
	ASSERT_EQ(1, poll(&pfd, 1, PATIENCE_MS));
	ASSERT_EQ(sizeof(got), read(self->server.fd, &got, sizeof(got))) TH_LOG("errno %d", errno);
	EXPECT_EQ(0, got.hdr.status);
	EXPECT_TRUE(check_fill(got.data + AT_VENDOR_DATA, sizeof(got.data) - AT_VENDOR_DATA, 3));
	agent_close(&from);
}

static void post_to_qp1(struct __test_metadata *_metadata, struct pair *p, uint32_t qkey)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;
	struct mad m;

	mad_init(&m, CLASS_VENDOR, METHOD_SEND, 7, 8);
	memcpy(p->buf[0], m.data, MAD_BYTES);
	wr.wr.ud.ah = p->ah;
	wr.wr.ud.remote_qpn = 1;
	wr.wr.ud.remote_qkey = qkey;
	ASSERT_EQ(0, post_send(p, &wr, p->buf[0], MAD_BYTES));
	ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
}

/*
 * QP1 accepts only datagrams with its own Q_Key, which privileged processes can set for their queue
 * pairs.
 */
TEST_F(mad, datagrams_of_other_queue_pairs_need_the_qkey)
{
	struct ibv_qp_attr attr = { .qkey = QP1_QKEY };
	struct qp_cfg cfg = { .type = IBV_QPT_UD };
	struct mad got;
	struct pair p;

	ASSERT_EQ(0, rdma_open(&device));
	ASSERT_EQ(0, pair_open(&p, &device, &cfg, 4096));
	post_to_qp1(_metadata, &p, UD_QKEY);
	post_to_qp1(_metadata, &p, 0);
	/* This value has the bit that asks the HCA to send the Q_Key of the queue pair instead. */
	post_to_qp1(_metadata, &p, QP1_QKEY);
	EXPECT_EQ(-ETIMEDOUT, mad_recv(&self->server, &got, 100));
	ASSERT_EQ(0, ibv_modify_qp(p.qp[0], &attr, IBV_QP_QKEY));
	post_to_qp1(_metadata, &p, QP1_QKEY);
	ASSERT_EQ(sizeof(got), mad_recv(&self->server, &got, PATIENCE_MS));
	EXPECT_EQ(p.qp[0]->qp_num, be32toh(got.hdr.qpn));
	EXPECT_EQ(own_lid(), be16toh(got.hdr.lid));
	pair_close(&p);
	expect_ping(_metadata, self);
}

/* --- The agents, the link or the device go away ----------------------------------------------- */

/* Send requests that no agent answers and whose time-out is long. */
static int send_many(struct agent *a, int n)
{
	struct mad m;
	int ret = 0;

	while (n-- && !ret) {
		mad_init(&m, CLASS_VENDOR, METHOD_GET, n, 0);
		m.hdr.timeout_ms = 60000;
		m.hdr.retries = 5;
		ret = mad_send(a, &m);
	}
	return ret;
}

TEST_F(mad, agents_end_with_requests_under_way)
{
	unsigned int start;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, send_many(&self->client, 50));
		start = now_ms();
		if (i == 1)
			EXPECT_EQ(0, ioctl(self->client.fd, IB_USER_MAD_UNREGISTER_AGENT,
					   &self->client.id));
		agent_close(&self->client);
		if (i == 2)
			agent_close(&self->server);
		EXPECT_GT(5000, now_ms() - start);
		close_agents(self);
		open_agents(_metadata, self);
		/* Requests that were under way arrive at the new agent. */
		drain(&self->server);
		expect_ping(_metadata, self);
	}
}

TEST_F(mad, killed_process_leaves_no_agents)
{
	int ready[2], i;
	char byte;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		close_agents(self);
		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			open_agents(_metadata, self);
			if (send_many(&self->client, 30) || write(ready[1], "", 1) != 1)
				_exit(1);
			for (;;)
				send_many(&self->client, 1);
		}
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		close(ready[0]);
		close(ready[1]);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		open_agents(_metadata, self);
		drain(&self->server);
		expect_ping(_metadata, self);
	}
}

/*
 * Requests that are sent while the port is down time out, or are answered when they are
 * repeated.
 */
TEST_F(mad, port_goes_down_while_requests_are_under_way)
{
	unsigned int i, answers = 0, timeouts = 0;
	uint16_t lid = own_lid();	/* the port has none while it is down */
	const unsigned int n = 20;
	struct mad m;
	int ret;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, rdma_open(&device));
	for (i = 0; i < n; i++) {
		mad_init(&m, CLASS_VENDOR, METHOD_GET, i, 0);
		m.hdr.lid = htobe16(lid);
		/* ib_mad gives up half of the requests before the port is up again. */
		m.hdr.timeout_ms = 100;
		m.hdr.retries = i % 2 ? 100 : 0;
		if (i == n / 2)
			ASSERT_EQ(0, hca_do("inject link down"));
		ASSERT_EQ(0, mad_send(&self->client, &m));
	}
	EXPECT_TRUE(wait_port_event(device.ctx, IBV_EVENT_PORT_ERR, 5000));
	usleep(300000);
	ASSERT_EQ(0, hca_do("inject link up"));
	EXPECT_TRUE(wait_port_event(device.ctx, IBV_EVENT_PORT_ACTIVE, 5000));
	while (answers + timeouts < n) {
		/* ib_umad refuses a second answer while the first one is being sent. */
		while (mad_recv(&self->server, &m, 10) > 0) {
			ret = mad_answer(&self->server, &m);
			EXPECT_TRUE(!ret || ret == -EINVAL) TH_LOG("error %d", ret);
		}
		while (mad_recv(&self->client, &m, 10) > 0) {
			EXPECT_TRUE(!m.hdr.status || m.hdr.status == ETIMEDOUT);
			answers += !m.hdr.status;
			timeouts += m.hdr.status == ETIMEDOUT;
		}
	}
	EXPECT_LE(n / 2, answers);
	EXPECT_LE(n / 4, timeouts);
	/* There may be several copies of a request. */
	drain(&self->server);
	expect_ping(_metadata, self);
}

/* After an event for a new LID, the port is reached by this LID. */
TEST_F(mad, lid_changes)
{
	uint16_t old = own_lid();

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_LIDS);
	ASSERT_EQ(0, rdma_open(&device));
	ASSERT_EQ(0, hca_do("port lid 0x1357"));
	EXPECT_TRUE(wait_port_event(device.ctx, IBV_EVENT_LID_CHANGE, 5000));
	EXPECT_EQ(0x1357, own_lid());
	expect_ping(_metadata, self);
	EXPECT_EQ(0, hca_do("port lid %u", old));
	EXPECT_TRUE(wait_port_event(device.ctx, IBV_EVENT_LID_CHANGE, 5000));
	expect_ping(_metadata, self);
}

TEST_F(mad, device_goes_while_agents_are_open)
{
	struct ib_user_mad_reg_req2 req = { .qpn = 1 };
	struct pollfd pfd = { .events = POLLIN };
	struct binding b;
	struct mad m = {};
	unsigned int start;
	int i;

	ASSERT_EQ(0, binding_find(&b));
	close_agents(self);
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, binding_do(&b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	open_agents(_metadata, self);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, send_many(&self->client, 30));
		start = now_ms();
		ASSERT_EQ(0, binding_do(&b, "unbind"));
		EXPECT_GT(20000, now_ms() - start);
		if (hca_ctl_present())
			EXPECT_CENSUS_UNCHANGED();
		pfd.fd = self->client.fd;
		EXPECT_EQ(1, poll(&pfd, 1, 0));
		EXPECT_NE(0, pfd.revents & POLLERR);
		EXPECT_EQ(-EIO, mad_send(&self->client, &m));
		EXPECT_EQ(-1, read(self->server.fd, &m, sizeof(m)));
		EXPECT_EQ(EIO, errno);
		EXPECT_EQ(-EPIPE, umad_register(self->client.fd, &req));
		/* In the second round, the files are still open when the driver binds again. */
		if (!i)
			close_agents(self);
		ASSERT_EQ(0, binding_do(&b, "bind"));
		ASSERT_TRUE(binding_wait_device());
		EXPECT_EQ(i ? -EPIPE : -EBADF, umad_register(self->client.fd, &req));
		close_agents(self);
		open_agents(_metadata, self);
		expect_ping(_metadata, self);
	}
	census_after_first_use(_metadata, IBV_QPT_RC);
}

TEST_HARNESS_MAIN
