// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses: the P_Keys and GIDs of a port, by their index; the P_Key, the GIDs and the other
 * fields of an address that a message carries; and the events when P_Keys and GIDs change.
 */
#include <endian.h>
#include <infiniband/verbs.h>
#include <json-c/json.h>

#include "test.h"

#define MAX_PKEYS	8	/* that a test uses */
#define FULL_MEMBER	0x8000
#define FLOW_LABEL	0xabcde
#define TRAFFIC_CLASS	0x5a
#define HOP_LIMIT	0x33
#define ROUTE_HOP_LIMIT	64	/* that the kernel has by default */
#define PATH_BITS	5
#define UD_BYTES	200

FIXTURE(port) {
	struct rdma r;
	struct pair p;
	struct qp_cfg cfg;
	int npkeys;
	uint16_t pkey[MAX_PKEYS];	/* of the port, until the first empty entry */
	int ngids;
	union ibv_gid gid[16];
	uint32_t gid_type[16];		/* the version of RoCE, or IBV_GID_TYPE_IB */
};

FIXTURE_SETUP(port)
{
	struct ibv_gid_entry entry;
	__be16 pkey;
	int i;

	ASSERT_EQ(0, rdma_open(&self->r));
	for (i = 0; i < MAX_PKEYS && i < self->r.port.pkey_tbl_len; i++) {
		ASSERT_EQ(0, ibv_query_pkey(self->r.ctx, 1, i, &pkey));
		if (!pkey)
			break;
		self->pkey[self->npkeys++] = be16toh(pkey);
	}
	for (i = 0; i < 16 && i < self->r.port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(self->r.ctx, 1, i, &entry, 0) ||
		    !entry.gid.global.interface_id)
			break;
		self->gid[i] = entry.gid;
		self->gid_type[i] = entry.gid_type;
		self->ngids++;
	}
}

FIXTURE_TEARDOWN(port)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

/* --- Tables ----------------------------------------------------------------------------------- */

TEST_F(port, each_pkey_is_read_by_its_index)
{
	__be16 pkey;
	int i;

	EXPECT_LE(1, self->npkeys);
	EXPECT_EQ(0xffff, self->pkey[0]);
	for (i = 0; i < self->r.port.pkey_tbl_len; i++) {
		ASSERT_EQ(0, ibv_query_pkey(self->r.ctx, 1, i, &pkey)) TH_LOG("index %d", i);
		EXPECT_EQ(i < self->npkeys ? self->pkey[i] : 0, be16toh(pkey))
			TH_LOG("index %d", i);
	}
	EXPECT_NE(0, ibv_query_pkey(self->r.ctx, 1, i, &pkey));
}

/*
 * When the subnet manager changes a P_Key, the port raises an event, and queries return the new
 * P_Key.
 */
TEST_F(port, changed_pkey_is_read_from_its_own_entry)
{
	int last = self->r.port.pkey_tbl_len - 1;
	__be16 pkey;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_PKEYS);
	ASSERT_EQ(0, hca_do("port pkey %d 0x8123", last));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_PKEY_CHANGE, 5000));
	EXPECT_EQ(0, ibv_query_pkey(self->r.ctx, 1, last, &pkey));
	EXPECT_EQ(0x8123, be16toh(pkey));
	EXPECT_EQ(0, ibv_query_pkey(self->r.ctx, 1, last - 1, &pkey));
	EXPECT_EQ(0, pkey);
	EXPECT_EQ(0, hca_do("port pkey %d 0", last));
}

/* An Ethernet port has each address once for each version of RoCE. */
TEST_F(port, each_gid_is_another_of_the_same_subnet)
{
	union ibv_gid gid;
	int i, k;

	EXPECT_LE(1, self->ngids);
	for (i = 0; i < self->ngids; i++) {
		EXPECT_EQ(0xfe80000000000000ull, be64toh(self->gid[i].global.subnet_prefix));
		for (k = 0; k < i; k++)
			EXPECT_TRUE(memcmp(&self->gid[i], &self->gid[k], sizeof(gid)) ||
				    self->gid_type[i] != self->gid_type[k])
				TH_LOG("GIDs %d and %d", k, i);
	}
	EXPECT_NE(0, ibv_query_gid(self->r.ctx, 1, self->r.port.gid_tbl_len, &gid));
}

TEST_F(port, changed_lid_is_told_and_used)
{
	uint16_t old = self->r.port.lid;
	struct ibv_port_attr port;
	struct ibv_wc wc;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_LIDS);
	ASSERT_EQ(0, hca_do("port lid 0x4321"));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_LID_CHANGE, 5000));
	EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
	EXPECT_EQ(0x4321, port.lid);
	self->r.port.lid = port.lid;
	self->cfg.type = IBV_QPT_RC;
	EXPECT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 4096));
	EXPECT_EQ(0, pair_send_one(&self->p, 8, 64, &wc));
	EXPECT_EQ(0, hca_do("port lid %u", old));
}

#define LMC 3

/* A port with an LMC has several LIDs: a datagram names two of them, and a connection uses one. */
TEST_F(port, path_bits_choose_the_lid)
{
	struct ibv_ah_attr attr = { .dlid = 0x4325, .src_path_bits = 3, .port_num = 1 };
	uint16_t old = self->r.port.lid;
	struct ibv_port_attr port;
	struct ibv_wc wc;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_LIDS);
	ASSERT_EQ(0, hca_do("port lid 0x4320 %d", LMC));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_LID_CHANGE, 5000));
	EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
	EXPECT_EQ(0x4320, port.lid);
	EXPECT_EQ(LMC, port.lmc);
	self->r.port.lid = port.lid;
	self->cfg.type = IBV_QPT_UD;
	EXPECT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 4096));
	EXPECT_EQ(0, pair_set_address(&self->p, &attr));
	EXPECT_EQ(0, pair_send_one(&self->p, 8, 64, &wc));
	EXPECT_EQ(0x4323, wc.slid);
	EXPECT_EQ(5, wc.dlid_path_bits);
	pair_close(&self->p);

	self->r.port.lid = 0x4326;
	self->cfg.type = IBV_QPT_RC;
	self->cfg.path_bits = 6;
	EXPECT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 4096));
	EXPECT_EQ(0, pair_send_one(&self->p, 8, 64, &wc));
	EXPECT_EQ(0, hca_do("port lid %u", old));
}

/*
 * After a change of the link a query must not return what an earlier query has read.
 */
TEST_F(port, speed_is_that_of_the_link)
{
	struct ibv_port_attr up = self->r.port, port;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject link down"));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_PORT_ERR, 5000));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
		EXPECT_NE(up.state, port.state);
		EXPECT_NE(up.active_speed, port.active_speed);
		/* As cards report without a link. */
		EXPECT_EQ(port_is_ethernet() ? 0 : 0xffff, port.lid);
		EXPECT_EQ(0, port.sm_lid);
	}
	ASSERT_EQ(0, hca_do("inject link up"));
	EXPECT_TRUE(wait_port_event(self->r.ctx, IBV_EVENT_PORT_ACTIVE, 5000));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, ibv_query_port(self->r.ctx, 1, &port));
		EXPECT_EQ(up.state, port.state);
		EXPECT_EQ(up.lid, port.lid);
		EXPECT_EQ(up.active_width, port.active_width);
		EXPECT_EQ(up.active_speed, port.active_speed);
		EXPECT_EQ(up.max_vl_num, port.max_vl_num);
	}
}

/*
 * libmlx5 queries the port when a device is opened. The driver asks firmware only for what may have
 * changed without an event: the port's state and counters, and its MTU.
 */
TEST_F(port, opening_asks_for_what_may_have_changed)
{
	struct ibv_context *ctx;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, hca_commands_reset());
	ctx = ibv_open_device(self->r.ctx->device);
	ASSERT_NE(NULL, ctx);
	EXPECT_EQ(1, hca_commands(port_is_ethernet() ? "QUERY_NIC_VPORT_CONTEXT" :
						       "QUERY_HCA_VPORT_CONTEXT"));
	EXPECT_EQ(1, hca_commands("ACCESS_REG"));
	EXPECT_EQ(0, ibv_close_device(ctx));
}

/* --- P_Keys ----------------------------------------------------------------------------------- */

static int set_pkey_index(struct pair *p, int i, uint16_t index)
{
	struct ibv_qp_attr attr = { .pkey_index = index, .port_num = 1, .qkey = UD_QKEY };
	uint16_t lid = p->r->port.lid;
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT, ret;

	/* Go to INIT with index 0. A change from INIT to INIT then sets the index. */
	mask |= p->cfg.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	ret = rdma_modify_state(p->qp[i], IBV_QPS_RESET) ?: rdma_qp_init(p->qp[i], &p->cfg);
	return ret ?: ibv_modify_qp(p->qp[i], &attr, mask) ?:
	       rdma_qp_rtr(p->qp[i], &p->cfg, p->qp[!i]->qp_num, lid) ?:
	       rdma_qp_rts(p->qp[i], &p->cfg);
}

/* True if both P_Keys are of one partition and at least one of them is that of a full member. */
static bool pkeys_match(uint16_t a, uint16_t b)
{
	return !((a ^ b) & ~FULL_MEMBER) && ((a | b) & FULL_MEMBER);
}

static void expect_arrival(struct __test_metadata *_metadata, struct pair *p, bool arrives,
			   const char *what)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	bool ud = p->cfg.type == IBV_QPT_UD;
	struct ibv_wc wc;

	ASSERT_EQ(0, post_recv(p->qp[1], p->mr, p->buf[1], 256, 1));
	ASSERT_EQ(0, post_send(p, &wr, p->buf[0], 8));
	EXPECT_EQ(arrives || ud ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR, reap(p->cq[0], &wc))
		TH_LOG("%s", what);
	EXPECT_EQ(arrives, arrives ? !reap_ok(p->cq[1], &wc) : !cq_stays_empty(p->cq[1], 20))
		TH_LOG("%s", what);
	while (ibv_poll_cq(p->cq[1], 1, &wc) > 0)
		;
}

static void expect_partitions(struct __test_metadata *_metadata, struct _test_data_port *self,
			      enum ibv_qp_type type)
{
	char what[40];
	int i, k;

	if (port_is_ethernet())
		SKIP(return, ABOUT_PKEYS);
	if (self->npkeys < 2)
		SKIP(return, "the port has one P_Key");
	self->cfg = (struct qp_cfg){ .type = type, .retry = 1, .timeout = 8 };
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 4096));
	for (i = 0; i < self->npkeys; i++)
		for (k = 0; k < self->npkeys; k++) {
			snprintf(what, sizeof(what), "0x%04x to 0x%04x", self->pkey[i],
				 self->pkey[k]);
			ASSERT_EQ(0, set_pkey_index(&self->p, 0, i));
			ASSERT_EQ(0, set_pkey_index(&self->p, 1, k));
			expect_arrival(_metadata, &self->p,
				       pkeys_match(self->pkey[i], self->pkey[k]), what);
		}
}

TEST_F(port, rc_reaches_members_of_its_partition_only)
{
	expect_partitions(_metadata, self, IBV_QPT_RC);
}

TEST_F(port, ud_reaches_members_of_its_partition_only)
{
	expect_partitions(_metadata, self, IBV_QPT_UD);
}

/*
 * Each entry of a full table is read by its own index, and queue pairs of the partition in the last
 * entry reach each other, but not those of the entry before.
 */
TEST_F(port, full_table_of_pkeys_has_no_entry_too_many)
{
	int last = self->r.port.pkey_tbl_len - 1, i;
	__be16 pkey;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (port_is_ethernet())
		SKIP(return, ABOUT_PKEYS);
	self->cfg = (struct qp_cfg){ .type = IBV_QPT_RC, .retry = 1, .timeout = 8 };
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 4096));
	for (i = self->npkeys; i <= last; i++)
		ASSERT_EQ(0, hca_do("port pkey %d 0x%x", i, FULL_MEMBER | (0x200 + i)));
	/* The driver reads the table again after each event. */
	for (i = 0; i < 5000; i++) {
		if (!ibv_query_pkey(self->r.ctx, 1, last, &pkey) && pkey)
			break;
		usleep(1000);
	}
	for (i = 0; i <= last; i++) {
		ASSERT_EQ(0, ibv_query_pkey(self->r.ctx, 1, i, &pkey)) TH_LOG("index %d", i);
		EXPECT_EQ(i < self->npkeys ? self->pkey[i] : FULL_MEMBER | (0x200 + i),
			  be16toh(pkey)) TH_LOG("index %d", i);
	}
	EXPECT_NE(0, ibv_query_pkey(self->r.ctx, 1, last + 1, &pkey));
	EXPECT_NE(0, set_pkey_index(&self->p, 0, last + 1));
	EXPECT_EQ(0, set_pkey_index(&self->p, 0, last));
	EXPECT_EQ(0, set_pkey_index(&self->p, 1, last));
	expect_arrival(_metadata, &self->p, true, "the last entry to itself");
	EXPECT_EQ(0, set_pkey_index(&self->p, 0, last));
	EXPECT_EQ(0, set_pkey_index(&self->p, 1, last - 1));
	expect_arrival(_metadata, &self->p, false, "the last entry to the one before");
	for (i = self->npkeys; i <= last; i++)
		EXPECT_EQ(0, hca_do("port pkey %d 0", i));
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* A service level; on an Ethernet port this is the priority of a VLAN, which has three bits. */
static int sl(void)
{
	return port_is_ethernet() ? 5 : 9;
}

static struct ibv_ah_attr full_address(struct rdma *r, const union ibv_gid *dgid, int sgid_index)
{
	return (struct ibv_ah_attr){
		.port_num = 1, .dlid = r->port.lid, .sl = sl(), .is_global = 1,
		.grh = {
			.dgid = *dgid, .flow_label = FLOW_LABEL, .sgid_index = sgid_index,
			.hop_limit = HOP_LIMIT, .traffic_class = TRAFFIC_CLASS,
		},
	};
}

/*
 * The hop limit that an address of full_address() leads to. With RoCE version 2 ib_core takes the
 * one of the route.
 */
static uint8_t expected_hop_limit(struct _test_data_port *self, int sgid_index)
{
	return self->gid_type[sgid_index] == IBV_GID_TYPE_ROCE_V2 ? ROUTE_HOP_LIMIT : HOP_LIMIT;
}

TEST_F(port, datagram_carries_each_field_of_its_address)
{
	struct ibv_ah_attr attr;
	struct ibv_grh *grh;
	struct ibv_wc wc;
	int i;

	self->cfg.type = IBV_QPT_UD;
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 8192));
	for (i = 0; i < self->ngids; i++) {
		attr = full_address(&self->r, &self->gid[self->ngids - 1 - i], i);
		ASSERT_EQ(0, pair_set_address(&self->p, &attr));
		ASSERT_EQ(0, pair_send_one(&self->p, UD_BYTES, 4096, &wc));
		/* Without a VLAN there is no priority. */
		if (!port_is_ethernet())
			EXPECT_EQ(sl(), wc.sl);
		EXPECT_EQ(self->r.port.lid, wc.slid);
		EXPECT_EQ(self->p.qp[0]->qp_num, wc.src_qp);
		EXPECT_NE(0, wc.wc_flags & IBV_WC_GRH);
		grh = (struct ibv_grh *)self->p.buf[1];
		EXPECT_EQ(6u << 28 | TRAFFIC_CLASS << 20 | FLOW_LABEL,
			  be32toh(grh->version_tclass_flow));
		EXPECT_EQ(HOP_LIMIT, grh->hop_limit);
		EXPECT_EQ(0, memcmp(&grh->sgid, &self->gid[i], 16)) TH_LOG("GID %d", i);
		EXPECT_EQ(0, memcmp(&grh->dgid, &attr.grh.dgid, 16)) TH_LOG("GID %d", i);
	}
}

static void take_path(struct json_object *event, void *arg)
{
	struct json_object **path = arg;

	if (!hca_event_is(event, "type", "qp_path"))
		return;
	json_object_put(*path);
	*path = json_object_get(event);
}

/* The last path in the HCA's trace, for json_object_put(); NULL if the trace has none. */
static struct json_object *traced_path(void)
{
	struct json_object *path = NULL;

	hca_trace_for_each(0, take_path, &path);
	return path;
}

/* A field of a path; -1 if the path does not have it. */
static long field_of(struct json_object *path, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(path, key, &v) ? json_object_get_int(v) : -1;
}

/* The fields of the path that the HCA has got last. */
static void expect_path(struct __test_metadata *_metadata, struct _test_data_port *self, int gid)
{
	struct json_object *path = traced_path();

	ASSERT_NE(NULL, path);
	if (port_is_ethernet()) {
		EXPECT_EQ(sl(), field_of(path, "eth_prio"));
		EXPECT_EQ(TRAFFIC_CLASS >> 2, field_of(path, "dscp"));
	} else {
		EXPECT_EQ(sl(), field_of(path, "sl"));
		EXPECT_EQ(1, field_of(path, "grh"));
		EXPECT_EQ(self->r.port.lid, field_of(path, "rlid"));
	}
	EXPECT_EQ(gid, field_of(path, "sgid_index"));
	EXPECT_EQ(expected_hop_limit(self, gid), field_of(path, "hop_limit"));
	EXPECT_EQ(TRAFFIC_CLASS, field_of(path, "tclass"));
	EXPECT_EQ(FLOW_LABEL, field_of(path, "flow_label"));
	json_object_put(path);
}

TEST_F(port, connection_keeps_each_field_of_its_address)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 0x77,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
	}, got;
	struct ibv_qp_init_attr init;
	int gid = self->ngids - 1;
	struct ibv_qp *qp;

	self->cfg.type = IBV_QPT_RC;
	qp = rdma_qp_create(&self->r, self->r.cq, &self->cfg);
	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, rdma_qp_init(qp, &self->cfg));
	attr.ah_attr = full_address(&self->r, &self->gid[0], gid);
	attr.ah_attr.src_path_bits = PATH_BITS;
	/* A flow label has 20 bits. UCX sets the others, too. */
	attr.ah_attr.grh.flow_label |= 0xfff00000;
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_do("trace on"));
	ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
	if (hca_ctl_present()) {
		expect_path(_metadata, self, gid);
		EXPECT_EQ(0, hca_do("trace off"));
	}
	ASSERT_EQ(0, ibv_query_qp(qp, &got, IBV_QP_AV, &init));
	if (!port_is_ethernet()) {
		EXPECT_EQ(sl(), got.ah_attr.sl);
		EXPECT_EQ(self->r.port.lid, got.ah_attr.dlid);
		EXPECT_EQ(PATH_BITS, got.ah_attr.src_path_bits);
	} else if (driver_is("bluebell")) {
		/* mlx5_ib does not tell the priority. */
		EXPECT_EQ(sl(), got.ah_attr.sl);
	}
	EXPECT_EQ(1, got.ah_attr.is_global);
	EXPECT_EQ(gid, got.ah_attr.grh.sgid_index);
	EXPECT_EQ(expected_hop_limit(self, gid), got.ah_attr.grh.hop_limit);
	EXPECT_EQ(TRAFFIC_CLASS, got.ah_attr.grh.traffic_class);
	EXPECT_EQ(FLOW_LABEL, got.ah_attr.grh.flow_label);
	EXPECT_EQ(0, memcmp(&self->gid[0], &got.ah_attr.grh.dgid, 16));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* The bit of the capability stat_rate_support, and the code in a path, that stand for each rate. */
static const struct {
	enum ibv_rate rate;
	int code;
} rates[] = {
	{ IBV_RATE_2_5_GBPS, 7 }, { IBV_RATE_10_GBPS, 8 }, { IBV_RATE_30_GBPS, 9 },
	{ IBV_RATE_5_GBPS, 10 }, { IBV_RATE_20_GBPS, 11 },
};

TEST_F(port, static_rate_reaches_the_device)
{
	long offered = hca_cap("general", "stat_rate_support");
	struct ibv_qp_init_attr init;
	struct json_object *path;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	size_t i;

	if (offered <= 0)
		SKIP(return, "the device limits no rates");
	self->cfg.type = IBV_QPT_RC;
	qp = rdma_qp_create(&self->r, self->r.cq, &self->cfg);
	ASSERT_NE(NULL, qp);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		if (!(offered >> rates[i].code & 1))
			continue;
		ASSERT_EQ(0, rdma_modify_state(qp, IBV_QPS_RESET));
		ASSERT_EQ(0, rdma_qp_init(qp, &self->cfg));
		attr = (struct ibv_qp_attr){
			.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 0x77,
		};
		port_address(&attr.ah_attr, self->r.port.lid);
		attr.ah_attr.static_rate = rates[i].rate;
		EXPECT_EQ(0, hca_do("trace on"));
		ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
		path = traced_path();
		ASSERT_NE(NULL, path);
		EXPECT_EQ(rates[i].code, field_of(path, "stat_rate"));
		json_object_put(path);
		EXPECT_EQ(0, hca_do("trace off"));
		ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_AV, &init));
		EXPECT_EQ(rates[i].rate, attr.ah_attr.static_rate) TH_LOG("code %d", rates[i].code);
	}
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(port, datagram_is_as_long_as_the_mtu_at_most)
{
	uint32_t mtu = 128u << self->r.port.active_mtu;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	self->cfg.type = IBV_QPT_UD;
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &self->cfg, 8192));
	fill(self->p.buf[0], mtu, 3);
	ASSERT_EQ(0, pair_send_one(&self->p, mtu, 8192, &wc));
	EXPECT_EQ(GRH_LEN + mtu, wc.byte_len);
	EXPECT_TRUE(check_fill(self->p.buf[1] + GRH_LEN, mtu, 3));

	ASSERT_EQ(0, post_recv(self->p.qp[1], self->p.mr, self->p.buf[1], 8192, 1));
	ASSERT_EQ(0, post_send(&self->p, &wr, self->p.buf[0], mtu + 1));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, reap(self->p.cq[0], &wc));
	EXPECT_TRUE(cq_stays_empty(self->p.cq[1], 20));
}

TEST_HARNESS_MAIN
