// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel verbs: datagrams.
 */

#include "rig.h"

/* ---- tests: datagrams ---------------------------------------------------------- */

static int test_datagram(struct rig *rig)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };
	struct ib_sge sge = rig_sge(rig, 0, 0, 500);
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

	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_dlid(&attr, rig->lid);
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
	EXPECT_EQ(3, wc.sl);
	EXPECT_EQ(0, wc.wc_flags & IB_WC_GRH);
	EXPECT_EQ(99, be32_to_cpu(wc.ex.imm_data));
	EXPECT(has_pattern(rig->buf[1] + GRH_BYTES, 500, 9));
	return 0;
}

const struct rig_test ud_tests[] = {
	{ "ud_datagram", test_datagram, IB_QPT_UD, IB_POLL_DIRECT },
	{}
};
