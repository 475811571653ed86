// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which queue pairs a datagram to a group reaches, attach and detach with each
 * documented errno, and that nothing stays attached.
 */
#include <signal.h>
#include <sys/mman.h>

#include "removal.h"
#include "test.h"

#define MEMBERS 4
#define GROUPS 3
#define MULTICAST_QPN 0xffffff
#define FIRST_LID 0xc001
#define BYTES 300
#define SLOT 4096u
#define RECVS 4		/* receive requests that each queue pair has posted */

/* The groups of the tests: not those that IPoIB joins. */
static union ibv_gid group_gid(unsigned int group)
{
	return (union ibv_gid){
		.raw = { 0xff, 0x12, 0xa0, 0x1b, 0xff, 0xff, [14] = 0x77, [15] = group },
	};
}

static uint16_t group_lid(unsigned int group)
{
	return FIRST_LID + group;
}

static int attach(struct ibv_qp *qp, unsigned int group)
{
	union ibv_gid gid = group_gid(group);

	return ibv_attach_mcast(qp, &gid, group_lid(group));
}

static int detach(struct ibv_qp *qp, unsigned int group)
{
	union ibv_gid gid = group_gid(group);

	return ibv_detach_mcast(qp, &gid, group_lid(group));
}

/* A queue pair that receives, and its memory. */
struct member {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *buf;
};

FIXTURE(mcast) {
	struct rdma r;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct member member[MEMBERS];
	struct ibv_qp *sender;		/* completes on the CQ of @r */
	struct ibv_ah *ah[GROUPS];
};

static const struct qp_cfg ud = { .type = IBV_QPT_UD };

/*
 * Requests complete in the order in which they are posted, so all of them may use the
 * same memory.
 */
static int member_post(struct _test_data_mcast *self, int i)
{
	return post_recv(self->member[i].qp, self->mr, self->member[i].buf, SLOT, i);
}

static int member_open(struct _test_data_mcast *self, int i)
{
	struct member *m = &self->member[i];
	int k, ret;

	m->buf = self->mem + i * SLOT;
	m->cq = ibv_create_cq(self->r.ctx, 31, NULL, NULL, 0);
	m->qp = m->cq ? rdma_qp_create(&self->r, m->cq, &ud) : NULL;
	if (!m->qp)
		return errno;
	ret = rdma_qp_connect(m->qp, &ud, 0, 0);
	for (k = 0; k < RECVS && !ret; k++)
		ret = member_post(self, i);
	return ret;
}

static struct ibv_ah *group_ah(struct rdma *r, unsigned int group)
{
	struct ibv_ah_attr attr;

	port_address(&attr, group_lid(group));
	attr.is_global = 1;
	attr.grh.dgid = group_gid(group);
	attr.grh.hop_limit = 1;
	return ibv_create_ah(r->pd, &attr);
}

FIXTURE_SETUP(mcast)
{
	size_t size = (MEMBERS + 1) * SLOT;
	unsigned int i;

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, rdma_loop_groups());
	self->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	self->mr = ibv_reg_mr(self->r.pd, self->mem, size, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, self->mr);
	for (i = 0; i < MEMBERS; i++)
		ASSERT_EQ(0, member_open(self, i));
	self->sender = rdma_qp_create(&self->r, self->r.cq, &ud);
	ASSERT_NE(NULL, self->sender);
	ASSERT_EQ(0, rdma_qp_connect(self->sender, &ud, 0, 0));
	for (i = 0; i < GROUPS; i++) {
		self->ah[i] = group_ah(&self->r, i);
		ASSERT_NE(NULL, self->ah[i]);
	}
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_commands_reset());
}

FIXTURE_TEARDOWN(mcast)
{
	unsigned int i;

	for (i = 0; i < GROUPS; i++)
		ibv_destroy_ah(self->ah[i]);
	EXPECT_EQ(0, ibv_destroy_qp(self->sender));
	for (i = 0; i < MEMBERS; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(self->member[i].qp));
		EXPECT_EQ(0, ibv_destroy_cq(self->member[i].cq));
	}
	ibv_dereg_mr(self->mr);
	rdma_close(&self->r);
	/* The driver has detached whatever it has attached. */
	if (hca_ctl_present())
		EXPECT_EQ(hca_commands("ATTACH_TO_MCG"), hca_commands("DETACH_FROM_MCG"));
}

/* --- Delivery --------------------------------------------------------------------------------- */

static int send_to_group(struct _test_data_mcast *self, struct ibv_qp *qp, unsigned int group,
			 unsigned int seed)
{
	uint8_t *buf = self->mem + MEMBERS * SLOT;
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = BYTES, .lkey = self->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 99, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.wr.ud = {
			.ah = self->ah[group], .remote_qpn = MULTICAST_QPN, .remote_qkey = UD_QKEY,
		},
	};
	struct ibv_send_wr *bad;

	fill(buf, BYTES, seed);
	return ibv_post_send(qp, &wr, &bad);
}

static void expect_datagram(struct __test_metadata *_metadata, struct _test_data_mcast *self, int i,
			    uint32_t src_qp, unsigned int group, unsigned int seed)
{
	struct member *m = &self->member[i];
	union ibv_gid gid = group_gid(group);
	struct ibv_wc wc;

	ASSERT_EQ(0, reap_ok(m->cq, &wc)) TH_LOG("member %d", i);
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(m->qp->qp_num, wc.qp_num);
	EXPECT_EQ(i, wc.wr_id);
	EXPECT_EQ(src_qp, wc.src_qp);
	EXPECT_EQ(GRH_LEN + BYTES, wc.byte_len);
	EXPECT_NE(0, wc.wc_flags & IBV_WC_GRH);
	EXPECT_EQ(0, memcmp(&((struct ibv_grh *)m->buf)->dgid, &gid, sizeof(gid)));
	EXPECT_TRUE(check_fill(m->buf + GRH_LEN, BYTES, seed));
	memset(m->buf, 0, SLOT);
	ASSERT_EQ(0, member_post(self, i));
}

/* A datagram to the group reaches the members whose bit is set, once, and no others. */
static void expect_members(struct __test_metadata *_metadata, struct _test_data_mcast *self,
			   unsigned int group, unsigned int members)
{
	static unsigned int seed;
	struct ibv_wc wc;
	int i;

	seed++;
	ASSERT_EQ(0, send_to_group(self, self->sender, group, seed));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	EXPECT_EQ(99, wc.wr_id);
	for (i = 0; i < MEMBERS; i++)
		if (members >> i & 1)
			expect_datagram(_metadata, self, i, self->sender->qp_num, group, seed);
	/* No member gets another datagram. */
	usleep(5000);
	for (i = 0; i < MEMBERS; i++)
		EXPECT_EQ(0, ibv_poll_cq(self->member[i].cq, 1, &wc))
			TH_LOG("group %u, member %d", group, i);
}

TEST_F(mcast, datagram_reaches_the_members_of_its_group_only)
{
	/* A bit for each member, before and after some of them have left. */
	static const unsigned int at_first[GROUPS] = { 0x3, 0xa, 0xf };
	static const unsigned int later[GROUPS] = { 0x2, 0xa, 0x5 };
	int g, i;

	for (g = 0; g < GROUPS; g++)
		expect_members(_metadata, self, g, 0);
	for (g = 0; g < GROUPS; g++)
		for (i = 0; i < MEMBERS; i++)
			if (at_first[g] >> i & 1)
				ASSERT_EQ(0, attach(self->member[i].qp, g));
	for (g = 0; g < GROUPS; g++)
		expect_members(_metadata, self, g, at_first[g]);
	for (g = 0; g < GROUPS; g++)
		for (i = 0; i < MEMBERS; i++)
			if ((at_first[g] & ~later[g]) >> i & 1)
				ASSERT_EQ(0, detach(self->member[i].qp, g));
	for (g = 0; g < GROUPS; g++)
		expect_members(_metadata, self, g, later[g]);
	for (g = 0; g < GROUPS; g++)
		for (i = 0; i < MEMBERS; i++)
			if (later[g] >> i & 1)
				ASSERT_EQ(0, detach(self->member[i].qp, g));
	for (g = 0; g < GROUPS; g++)
		expect_members(_metadata, self, g, 0);
}

TEST_F(mcast, sender_gets_its_own_datagram)
{
	struct ibv_qp *qp = self->member[0].qp;
	struct ibv_wc wc;
	bool sent = false, received = false;
	int i;

	ASSERT_EQ(0, attach(qp, 0));
	ASSERT_EQ(0, attach(self->member[1].qp, 0));
	ASSERT_EQ(0, send_to_group(self, qp, 0, 1));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, reap_ok(self->member[0].cq, &wc));
		sent |= wc.opcode == IBV_WC_SEND;
		received |= wc.opcode == IBV_WC_RECV;
	}
	EXPECT_TRUE(sent);
	EXPECT_TRUE(received);
	expect_datagram(_metadata, self, 1, qp->qp_num, 0, 1);
	EXPECT_EQ(0, detach(qp, 0));
	EXPECT_EQ(0, detach(self->member[1].qp, 0));
}

TEST_F(mcast, sender_can_block_its_own_datagrams)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD, .send_cq = self->r.cq, .recv_cq = self->r.cq,
		.pd = self->r.pd,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct ibv_qp *qp;
	struct ibv_wc wc;

	if (!hca_cap("general", "block_lb_mc"))
		SKIP(return, "the device does not block the loopback of multicast");
	qp = ibv_create_qp_ex(self->r.ctx, &init);
	if (!qp && errno == EOPNOTSUPP)
		SKIP(return, "libmlx5 does not pass the flag on");
	ASSERT_NE(NULL, qp) TH_LOG("errno %d", errno);
	ASSERT_EQ(0, rdma_qp_connect(qp, &ud, 0, 0));
	ASSERT_EQ(0, post_recv(qp, self->mr, self->member[2].buf, SLOT, 5));
	ASSERT_EQ(0, attach(qp, 0));
	ASSERT_EQ(0, attach(self->member[0].qp, 0));
	ASSERT_EQ(0, send_to_group(self, qp, 0, 1));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	EXPECT_EQ(IBV_WC_SEND, wc.opcode);
	expect_datagram(_metadata, self, 0, qp->qp_num, 0, 1);
	EXPECT_TRUE(cq_stays_empty(self->r.cq, 20));
	/* Datagrams that another queue pair sends are not blocked. */
	ASSERT_EQ(0, send_to_group(self, self->member[1].qp, 0, 2));
	ASSERT_EQ(0, reap_ok(self->member[1].cq, &wc));
	ASSERT_EQ(0, reap_ok(self->r.cq, &wc));
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_EQ(self->member[1].qp->qp_num, wc.src_qp);
	expect_datagram(_metadata, self, 0, self->member[1].qp->qp_num, 0, 2);
	EXPECT_EQ(0, detach(qp, 0));
	EXPECT_EQ(0, detach(self->member[0].qp, 0));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(mcast, datagram_with_a_wrong_qkey_is_dropped)
{
	struct ibv_qp_attr attr = { .qkey = UD_QKEY + 1 };

	ASSERT_EQ(0, attach(self->member[0].qp, 0));
	ASSERT_EQ(0, attach(self->member[1].qp, 0));
	ASSERT_EQ(0, ibv_modify_qp(self->member[1].qp, &attr, IBV_QP_QKEY));
	expect_members(_metadata, self, 0, 0x1);
	EXPECT_EQ(0, detach(self->member[0].qp, 0));
	EXPECT_EQ(0, detach(self->member[1].qp, 0));
}

/* A queue pair may be attached in any state. Attached in RESET, it receives when it is ready to. */
TEST_F(mcast, queue_pair_stays_attached_when_its_state_changes)
{
	struct ibv_qp *qp = self->member[3].qp;
	int i;

	ASSERT_EQ(0, rdma_modify_state(qp, IBV_QPS_RESET));
	ASSERT_EQ(0, attach(qp, 1));
	expect_members(_metadata, self, 1, 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_qp_connect(qp, &ud, 0, 0));
		ASSERT_EQ(0, member_post(self, 3));
		expect_members(_metadata, self, 1, 0x8);
		ASSERT_EQ(0, rdma_modify_state(qp, IBV_QPS_RESET));
	}
	EXPECT_EQ(0, detach(qp, 1));
	ASSERT_EQ(0, rdma_qp_connect(qp, &ud, 0, 0));
	expect_members(_metadata, self, 1, 0);
}

/* --- What is refused -------------------------------------------------------------------------- */

TEST_F(mcast, attaching_twice_is_attaching_once)
{
	ASSERT_EQ(0, attach(self->member[0].qp, 0));
	ASSERT_EQ(0, attach(self->member[0].qp, 0));
	if (hca_ctl_present())
		EXPECT_EQ(1, hca_commands("ATTACH_TO_MCG"));
	expect_members(_metadata, self, 0, 0x1);
	EXPECT_EQ(0, detach(self->member[0].qp, 0));
	expect_members(_metadata, self, 0, 0);
	EXPECT_EQ(EINVAL, detach(self->member[0].qp, 0));
}

TEST_F(mcast, detaching_what_is_not_attached_is_invalid)
{
	union ibv_gid gid = group_gid(0);
	struct ibv_qp *qp = self->member[0].qp;

	EXPECT_EQ(EINVAL, detach(qp, 0));
	ASSERT_EQ(0, attach(qp, 0));
	EXPECT_EQ(EINVAL, detach(qp, 1));
	EXPECT_EQ(EINVAL, detach(self->member[1].qp, 0));
	EXPECT_EQ(EINVAL, ibv_detach_mcast(qp, &gid, group_lid(1)));
	expect_members(_metadata, self, 0, 0x1);
	EXPECT_EQ(0, detach(qp, 0));
}

TEST_F(mcast, invalid_groups_are_refused)
{
	union ibv_gid gid = group_gid(0), unicast;
	struct ibv_qp *qp = self->member[0].qp;

	ASSERT_EQ(0, ibv_query_gid(self->r.ctx, 1, 0, &unicast));
	EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &unicast, group_lid(0)));
	/* On an Ethernet port the LID of a group means nothing. */
	if (!port_is_ethernet()) {
		EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &gid, 0));
		EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &gid, self->r.port.lid));
		EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &gid, 0xbfff));
		EXPECT_EQ(EINVAL, ibv_attach_mcast(qp, &gid, 0xffff));
	}
	if (hca_ctl_present())
		EXPECT_EQ(0, hca_commands("ATTACH_TO_MCG"));
	/* The first multicast LID and the last one are valid. */
	EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 0xc000));
	EXPECT_EQ(0, ibv_detach_mcast(qp, &gid, 0xc000));
	EXPECT_EQ(0, ibv_attach_mcast(qp, &gid, 0xfffe));
	EXPECT_EQ(0, ibv_detach_mcast(qp, &gid, 0xfffe));
}

TEST_F(mcast, connected_queue_pairs_are_refused)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_qp *qp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct qp_cfg cfg = { .type = types[i] };

		if (!rdma_has_qp_type(types[i]))
			continue;
		qp = rdma_qp_create(&self->r, self->r.cq, &cfg);
		ASSERT_NE(NULL, qp);
		EXPECT_EQ(EINVAL, attach(qp, 0));
		EXPECT_EQ(EINVAL, detach(qp, 0));
		EXPECT_EQ(0, ibv_destroy_qp(qp));
	}
	if (hca_ctl_present())
		EXPECT_EQ(0, hca_commands("ATTACH_TO_MCG"));
}

TEST_F(mcast, attached_queue_pair_is_busy)
{
	struct ibv_qp *qp = self->member[0].qp;

	ASSERT_EQ(0, attach(qp, 0));
	ASSERT_EQ(0, attach(qp, 1));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(qp));
	EXPECT_EQ(0, detach(qp, 0));
	EXPECT_EQ(EBUSY, ibv_destroy_qp(qp));
	expect_members(_metadata, self, 1, 0x1);
	EXPECT_EQ(0, detach(qp, 1));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	self->member[0].qp = rdma_qp_create(&self->r, self->member[0].cq, &ud);
	ASSERT_NE(NULL, self->member[0].qp);
}

TEST_F(mcast, limits_are_those_of_the_device)
{
	struct ibv_device_attr attr;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &attr));
	EXPECT_EQ(1 << hca_cap("general", "log_max_mcg"), attr.max_mcast_grp);
	EXPECT_EQ(hca_cap("general", "max_qp_mcg"), attr.max_mcast_qp_attach);
	EXPECT_EQ(attr.max_mcast_grp * attr.max_mcast_qp_attach, attr.max_total_mcast_qp_attach);
}

static const struct {
	const char *status;
	int err;
} refusals[] = {
	{ "LIM_ERR", ENOMEM },
	{ "NO_RES", EAGAIN },
	{ "BAD_PARAM", EINVAL },
	{ "INT_ERR", EIO },
};

/*
 * The process gets the errno of firmware's refusal, and the queue pair is not attached. A refusal
 * to detach is not tested, because ib_core (7.2) forgets the group before it asks the driver.
 */
TEST_F(mcast, refusal_by_firmware_leaves_nothing)
{
	size_t i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		ASSERT_EQ(0, hca_do("inject op ATTACH_TO_MCG %s 1", refusals[i].status));
		EXPECT_EQ(refusals[i].err, attach(self->member[0].qp, 0))
			TH_LOG("%s", refusals[i].status);
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(EINVAL, detach(self->member[0].qp, 0));
	}
	expect_members(_metadata, self, 0, 0);
	EXPECT_EQ(ARRAY_SIZE(refusals), hca_commands("ATTACH_TO_MCG"));
	ASSERT_EQ(0, hca_commands_reset());
	EXPECT_EQ(0, attach(self->member[0].qp, 0));
	expect_members(_metadata, self, 0, 0x1);
	EXPECT_EQ(0, detach(self->member[0].qp, 0));
}

/* --- The process ends, or the device goes ----------------------------------------------------- */

/* Attach queue pairs to all groups, two to each. */
static bool attach_all(struct rdma *r, struct pair *p)
{
	struct qp_cfg cfg = ud;
	int g, i;

	if (rdma_open(r) || pair_open(p, r, &cfg, SLOT))
		return false;
	for (g = 0; g < GROUPS; g++)
		for (i = 0; i < 2; i++)
			if (attach(p->qp[i], g))
				return false;
	return true;
}

TEST(process_that_ends_is_detached)
{
	bool killed = true;
	int ready[2];
	struct rdma r;
	struct pair p;
	char byte;
	pid_t pid;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	census_after_first_use(_metadata, IBV_QPT_UD);
	ASSERT_EQ(0, pipe(ready));
	do {
		killed = !killed;
		ASSERT_EQ(0, hca_commands_reset());
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (!attach_all(&r, &p) || write(ready[1], "", 1) != 1)
				_exit(1);
			if (!killed)
				_exit(0);
			pause();
		}
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		if (killed)
			kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_EQ(2 * GROUPS, hca_commands("ATTACH_TO_MCG"));
		EXPECT_EQ(2 * GROUPS, hca_commands("DETACH_FROM_MCG"));
		EXPECT_CENSUS_UNCHANGED();
	} while (!killed);
}

static void send_to_groups(unsigned int round)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct rdma r;
	struct pair p;

	if (!attach_all(&r, &p))
		return;
	ah = group_ah(&r, round % GROUPS);
	if (!ah)
		return;
	for (;;) {
		wr.sg_list = NULL;
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = MULTICAST_QPN;
		wr.wr.ud.remote_qkey = UD_QKEY;
		pair_recv(&p, p.buf[1], SLOT, 1);
		post_send(&p, &wr, p.buf[0], 8);
		while (ibv_poll_cq(p.cq[0], 1, &wc) > 0 || ibv_poll_cq(p.cq[1], 1, &wc) > 0)
			;
		usleep(100);
	}
}

TEST(device_goes_while_queue_pairs_are_attached)
{
	remove_device_during(_metadata, send_to_groups);
}

TEST_HARNESS_MAIN
