// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: datagrams, and multicast groups.
 */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/string.h>

#include "rig.h"

static int test_datagram(struct rig *rig)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, 500);
	struct rdma_ah_attr attr;
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = 1, .opcode = IB_WR_SEND_WITH_IMM, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1, .ex.imm_data = cpu_to_be32(99),
		},
		.remote_qpn = rig->qp[1]->qp_num,
		.remote_qkey = QKEY,
	};
	struct ib_wc wc;
	int err;

	rig_address(rig, &attr);
	rdma_ah_set_sl(&attr, 3);
	wr.ah = rdma_create_ah(rig->pd, &attr, 0);
	TRY(PTR_ERR_OR_ZERO(wr.ah));
	fill_pattern(rig->buf[0], 500, 9);
	err = rig_post_recv(rig, 1, 0, 4096, 2) ?: ib_post_send(rig->qp[0], &wr.wr, NULL) ?:
	      rig_reap(rig, 0, &wc);
	rdma_destroy_ah(wr.ah, 0);
	TRY(err);
	EXPECT_EQ(IB_WC_SUCCESS, wc.status);
	REAP(rig, 1, 2, &wc);
	EXPECT_EQ(500 + GRH_BYTES, wc.byte_len);
	EXPECT_EQ(rig->qp[0]->qp_num, wc.src_qp);
	EXPECT_EQ(rig->lid, wc.slid);
	/* On an Ethernet port the service level is the priority of a VLAN. */
	EXPECT_EQ(rig->roce ? 0 : 3, wc.sl);
	EXPECT_EQ(rig->roce ? IB_WC_GRH : 0, wc.wc_flags & IB_WC_GRH);
	EXPECT_EQ(99, be32_to_cpu(wc.ex.imm_data));
	EXPECT(has_pattern(rig->buf[1] + GRH_BYTES, 500, 9));
	return 0;
}

/* ---- multicast ----------------------------------------------------------------- */

#define MULTICAST_LID	0xc003
#define MULTICAST_QPN	0xffffff
#define DATAGRAM_BYTES	700
#define SENT		1000	/* wr_id of sends */
#define QUIET_MS	20	/* how long a datagram that must not come is waited for */

static union ib_gid group = {
	.raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xba, 0xd0, 0xca, 0xfe },
};

/* The receive buffers begin behind the page with the data that is sent. */
static u8 *recv_buf(struct rig *rig, int side)
{
	return rig->buf[side] + PAGE_SIZE;
}

/* Send a datagram, and take it from each of the queue pairs in the group, and from no other one. */
static int send_to_group(struct rig *rig, struct ib_ah *ah, const bool member[NUM_QPS],
			 unsigned int seed)
{
	int i, wanted;
	struct ib_wc wc;

	fill_pattern(rig->buf[0], DATAGRAM_BYTES, seed);
	TRY(rig_post_datagram(rig, 0, ah, MULTICAST_QPN, DATAGRAM_BYTES, SENT));
	for (i = 0; i < NUM_QPS; i++) {
		for (wanted = member[i] + !i; wanted; wanted--) {
			TRY(rig_reap(rig, i, &wc));
			EXPECT_EQ(IB_WC_SUCCESS, wc.status);
			EXPECT(wc.qp == rig->qp[i]);
			if (wc.wr_id == SENT)
				continue;
			EXPECT_EQ(IB_WC_RECV, wc.opcode);
			EXPECT_EQ(DATAGRAM_BYTES + GRH_BYTES, wc.byte_len);
			EXPECT(wc.wc_flags & IB_WC_GRH);
			EXPECT_EQ(rig->qp[0]->qp_num, wc.src_qp);
			EXPECT(!memcmp(&((struct ib_grh *)recv_buf(rig, i))->dgid, &group,
				       sizeof(group)));
			EXPECT(has_pattern(recv_buf(rig, i) + GRH_BYTES, DATAGRAM_BYTES, seed));
			TRY(rig_post_recv(rig, i, PAGE_SIZE, PAGE_SIZE, seed));
		}
	}
	msleep(QUIET_MS);
	EXPECT(rig_idle(rig));
	return 0;
}

static int join(struct rig *rig, int side, bool member[NUM_QPS])
{
	TRY(ib_attach_mcast(rig->qp[side], &group, MULTICAST_LID));
	member[side] = true;
	return 0;
}

static int leave(struct rig *rig, int side, bool member[NUM_QPS])
{
	TRY(ib_detach_mcast(rig->qp[side], &group, MULTICAST_LID));
	member[side] = false;
	return 0;
}

static int join_and_leave(struct rig *rig, struct ib_ah *ah, bool member[NUM_QPS])
{
	unsigned int round;
	int i;

	for (i = 0; i < NUM_QPS; i++)
		TRY(rig_post_recv(rig, i, PAGE_SIZE, PAGE_SIZE, i));
	for (round = 0; round < 3; round++) {
		TRY(send_to_group(rig, ah, member, 10 * round));
		TRY(join(rig, 1, member));
		TRY(send_to_group(rig, ah, member, 10 * round + 1));
		TRY(join(rig, 0, member));
		TRY(send_to_group(rig, ah, member, 10 * round + 2));
		EXPECT_EQ(-EBUSY, ib_destroy_qp(rig->qp[1]));
		TRY(leave(rig, round % 2, member));
		TRY(send_to_group(rig, ah, member, 10 * round + 3));
		TRY(leave(rig, !(round % 2), member));
		TRY(send_to_group(rig, ah, member, 10 * round + 4));
	}
	return 0;
}

static int with_group(struct rig *rig, int (*run)(struct rig *rig, struct ib_ah *ah,
						  bool member[NUM_QPS]))
{
	struct ib_ah *ah = rig_make_group_ah(rig, MULTICAST_LID, &group);
	bool member[NUM_QPS] = {};
	int i, err;

	TRY(PTR_ERR_OR_ZERO(ah));
	err = run(rig, ah, member);
	/* A queue pair in a group cannot be destroyed. */
	for (i = 0; i < NUM_QPS; i++)
		if (member[i])
			leave(rig, i, member);
	rdma_destroy_ah(ah, 0);
	return err;
}

static int test_multicast(struct rig *rig)
{
	return with_group(rig, join_and_leave);
}

/* Whether the driver repeats DETACH_FROM_MCG itself if firmware refuses the command. */
static bool repeats_detach(const struct rig *rig)
{
	return !strcmp(module_name(rig->dev->ops.owner), "bluebell");
}

/* The process has firmware refuse the first request to attach and the first one to detach. */
static int fail_to_join_and_leave(struct rig *rig, struct ib_ah *ah, bool member[NUM_QPS])
{
	TRY(rig_post_recv(rig, 1, PAGE_SIZE, PAGE_SIZE, 1));
	EXPECT_EQ(-EIO, ib_attach_mcast(rig->qp[1], &group, MULTICAST_LID));
	TRY(send_to_group(rig, ah, member, 1));
	TRY(join(rig, 1, member));
	if (repeats_detach(rig)) {
		TRY(leave(rig, 1, member));
		return send_to_group(rig, ah, member, 2);
	}
	EXPECT_EQ(-EIO, ib_detach_mcast(rig->qp[1], &group, MULTICAST_LID));
	TRY(send_to_group(rig, ah, member, 2));
	EXPECT_EQ(-EBUSY, ib_destroy_qp(rig->qp[1]));
	TRY(leave(rig, 1, member));
	return send_to_group(rig, ah, member, 3);
}

static int test_multicast_fails(struct rig *rig)
{
	return with_group(rig, fail_to_join_and_leave);
}

/*
 * ib_core refuses an address that is not a multicast group, and a queue pair that cannot be in a
 * group.
 */
static int test_multicast_refused(struct rig *rig)
{
	union ib_gid unicast = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct ib_qp *rc = rig_make_qp(rig, IB_QPT_RC, rig->cq[0]);
	int err;

	TRY(PTR_ERR_OR_ZERO(rc));
	err = ib_attach_mcast(rc, &group, MULTICAST_LID);
	TRY(ib_destroy_qp(rc));
	EXPECT_EQ(-EINVAL, err);
	EXPECT_EQ(-EINVAL, ib_attach_mcast(rig->qp[0], &unicast, MULTICAST_LID));
	/* On an Ethernet port the LID of a group means nothing. */
	if (!rig->roce)
		EXPECT_EQ(-EINVAL, ib_attach_mcast(rig->qp[0], &group, rig->lid));
	return 0;
}

const struct rig_test ud_tests[] = {
	{ "ud_datagram", test_datagram, IB_QPT_UD, IB_POLL_DIRECT },
	{ "ud_multicast", test_multicast, IB_QPT_UD, IB_POLL_DIRECT },
	{ "ud_multicast_fails", test_multicast_fails, IB_QPT_UD, IB_POLL_DIRECT },
	{ "ud_multicast_refused", test_multicast_refused, IB_QPT_UD, IB_POLL_DIRECT },
	{}
};
