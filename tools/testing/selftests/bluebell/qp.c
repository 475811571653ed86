// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: all transitions of RC, UC, UD and both ends of XRC, allowed or not; all attributes:
 * required, optional and out of range; and the sizes, flags and reserved fields of CREATE_QP.
 */
#include "raw_qp.h"
#include "test.h"

#define QP_STATES (IBV_QPS_ERR + 1)
#define EVERY_ATTR ((IBV_QP_DEST_QPN << 1) - 1)

/* --- Transitions ------------------------------------------------------------------------------ */

FIXTURE(state) {
	struct rdma r;
	struct qp_cfg cfg;
	struct ibv_qp *qp;
};

FIXTURE_VARIANT(state) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(state, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(state, uc) { .type = IBV_QPT_UC };

FIXTURE_VARIANT_ADD(state, ud) { .type = IBV_QPT_UD };

FIXTURE_VARIANT_ADD(state, xrc_send) { .type = IBV_QPT_XRC_SEND };

FIXTURE_VARIANT_ADD(state, xrc_recv) { .type = IBV_QPT_XRC_RECV };

static bool is_xrc(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

FIXTURE_SETUP(state)
{
	if (!rdma_has_qp_type(variant->type))
		SKIP(return, NO_UC);
	ASSERT_EQ(0, rdma_open(&self->r));
	self->cfg.type = variant->type;
	if (is_xrc(variant->type)) {
		if (!rdma_has_xrc(self->r.ctx))
			SKIP(return, NO_XRC);
		self->cfg.xrcd = rdma_open_xrcd(self->r.ctx, -1, O_CREAT);
		ASSERT_NE(NULL, self->cfg.xrcd);
	}
	self->qp = rdma_qp_create(&self->r, self->r.cq, &self->cfg);
	ASSERT_NE(NULL, self->qp);
}

FIXTURE_TEARDOWN(state)
{
	if (self->qp)
		ibv_destroy_qp(self->qp);
	if (self->cfg.xrcd)
		EXPECT_EQ(0, ibv_close_xrcd(self->cfg.xrcd));
	rdma_close(&self->r);
}

/*
 * The transitions of the IBA's state machine that a process can ask for. SQE is entered by errors
 * only, and SQD never, because linux/mlx5/mlx5_ifc.h has no command for it.
 */
static const bool allowed[QP_STATES][QP_STATES] = {
	[IBV_QPS_RESET] = { [IBV_QPS_RESET] = true, [IBV_QPS_INIT] = true },
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = true, [IBV_QPS_ERR] = true, [IBV_QPS_INIT] = true,
		[IBV_QPS_RTR] = true,
	},
	[IBV_QPS_RTR] = { [IBV_QPS_RESET] = true, [IBV_QPS_ERR] = true, [IBV_QPS_RTS] = true },
	[IBV_QPS_RTS] = { [IBV_QPS_RESET] = true, [IBV_QPS_ERR] = true, [IBV_QPS_RTS] = true },
	[IBV_QPS_ERR] = { [IBV_QPS_RESET] = true, [IBV_QPS_ERR] = true },
};

/* Modify the QP to a state, with the attributes that the transition requires. */
static int modify_to_state(struct rdma *r, struct ibv_qp *qp, const struct qp_cfg *cfg,
			   enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return rdma_qp_init(qp, cfg);
	case IBV_QPS_RTR:
		return rdma_qp_rtr(qp, cfg, qp->qp_num, r->port.lid);
	case IBV_QPS_RTS:
		if (from == IBV_QPS_RTS)
			return rdma_modify_state(qp, to);
		return rdma_qp_rts(qp, cfg);
	default:
		return rdma_modify_state(qp, to);
	}
}

/* Modify the QP to RESET, and from there by allowed transitions to a state. */
static int modify_through_states(struct rdma *r, struct ibv_qp *qp, const struct qp_cfg *cfg,
				 enum ibv_qp_state to)
{
	static const enum ibv_qp_state way[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
	};
	enum ibv_qp_state from = IBV_QPS_RESET;
	int ret = -1;
	size_t i;

	if (to == IBV_QPS_ERR)
		return modify_through_states(r, qp, cfg, IBV_QPS_INIT) ?: rdma_modify_state(qp, to);
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		ret = modify_to_state(r, qp, cfg, from, way[i]);
		if (ret || way[i] == to)
			return ret;
		from = way[i];
	}
	return ret;
}

TEST_F(state, transitions_of_the_iba_are_allowed_and_no_others)
{
	int from, to, want;

	for (from = 0; from < QP_STATES; from++) {
		if (from == IBV_QPS_SQE || from == IBV_QPS_SQD)
			continue;
		for (to = 0; to < QP_STATES; to++) {
			ASSERT_EQ(0, modify_through_states(&self->r, self->qp, &self->cfg, from))
				TH_LOG("to %d", from);
			ASSERT_EQ(from, rdma_qp_state(self->qp));
			want = allowed[from][to] ? 0 : EINVAL;
			EXPECT_EQ(want, modify_to_state(&self->r, self->qp, &self->cfg, from, to))
				TH_LOG("from %d to %d", from, to);
			EXPECT_EQ(want ? from : to, rdma_qp_state(self->qp))
				TH_LOG("from %d to %d", from, to);
		}
	}
}

TEST_F(state, unknown_state_is_invalid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR + 1 };

	EXPECT_EQ(EINVAL, ibv_modify_qp(self->qp, &attr, IBV_QP_STATE));
	attr.qp_state = 0xff;
	EXPECT_EQ(EINVAL, ibv_modify_qp(self->qp, &attr, IBV_QP_STATE));
}

TEST_F(state, qp_works_again_after_error_and_reset)
{
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, modify_through_states(&self->r, self->qp, &self->cfg, IBV_QPS_RTS));
		ASSERT_EQ(0, rdma_modify_state(self->qp, IBV_QPS_ERR));
		EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(self->qp));
	}
	EXPECT_EQ(0, modify_through_states(&self->r, self->qp, &self->cfg, IBV_QPS_RTS));
}

/* --- Attributes ------------------------------------------------------------------------------- */

/* A transition with its required and its optional attributes. */
struct step {
	enum ibv_qp_state from, to;
	int must, may;
};

#define RC_RTR (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define UC_RTR (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RC_RTS (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
		IBV_QP_MAX_QP_RD_ATOMIC)
#define TGT_RTS (IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)
#define CONN_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define UD_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)

static const struct step rc_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, CONN_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, CONN_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RC_RTR, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS, RC_RTS,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_CUR_STATE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
	  IBV_QP_CUR_STATE },
}, uc_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, CONN_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, CONN_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UC_RTR, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_ACCESS_FLAGS | IBV_QP_CUR_STATE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_CUR_STATE },
}, ud_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, UD_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, UD_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
}, xrc_send_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, CONN_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, CONN_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, UC_RTR, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS, RC_RTS, IBV_QP_ACCESS_FLAGS | IBV_QP_CUR_STATE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_CUR_STATE },
}, xrc_recv_steps[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, CONN_INIT, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, CONN_INIT },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RC_RTR, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ IBV_QPS_RTR, IBV_QPS_RTS, TGT_RTS,
	  IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_CUR_STATE },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
	  IBV_QP_CUR_STATE },
};

static const struct step *steps_of(enum ibv_qp_type type, size_t *n)
{
	*n = ARRAY_SIZE(rc_steps);
	switch (type) {
	case IBV_QPT_RC:
		return rc_steps;
	case IBV_QPT_UC:
		return uc_steps;
	case IBV_QPT_XRC_SEND:
		return xrc_send_steps;
	case IBV_QPT_XRC_RECV:
		return xrc_recv_steps;
	default:
		return ud_steps;
	}
}

/* Attributes with values that are valid for any transition. */
static struct ibv_qp_attr valid_attr(struct rdma *r, struct ibv_qp *qp, const struct step *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = s->to,
		.cur_qp_state = s->from,
		.path_mtu = IBV_MTU_1024,
		.qkey = UD_QKEY,
		.rq_psn = 17, .sq_psn = 23,
		.dest_qp_num = qp->qp_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.port_num = 1,
	};

	port_address(&attr.ah_attr, r->port.lid);
	return attr;
}

static int modify_with_mask(struct rdma *r, struct ibv_qp *qp, const struct qp_cfg *cfg,
			    const struct step *s,
		     int mask)
{
	struct ibv_qp_attr attr = valid_attr(r, qp, s);

	if (modify_through_states(r, qp, cfg, s->from))
		return -1;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

TEST_F(state, missing_required_attribute_is_invalid)
{
	const struct step *s;
	size_t n, i;
	int bit;

	s = steps_of(variant->type, &n);
	for (i = 0; i < n; i++, s++) {
		EXPECT_EQ(0, modify_with_mask(&self->r, self->qp, &self->cfg, s, s->must))
			TH_LOG("from %d to %d", s->from, s->to);
		for (bit = 1; bit <= s->must; bit <<= 1) {
			if (!(s->must & bit))
				continue;
			EXPECT_EQ(EINVAL, modify_with_mask(&self->r, self->qp, &self->cfg, s,
							   s->must & ~bit))
				TH_LOG("from %d to %d without %#x", s->from, s->to, bit);
			EXPECT_EQ(s->from, rdma_qp_state(self->qp));
		}
	}
}

TEST_F(state, optional_attributes_are_accepted)
{
	const struct step *s;
	size_t n, i;
	int bit;

	s = steps_of(variant->type, &n);
	for (i = 0; i < n; i++, s++)
		for (bit = 1; bit <= s->may; bit <<= 1) {
			if (!(s->may & bit))
				continue;
			EXPECT_EQ(0, modify_with_mask(&self->r, self->qp, &self->cfg, s,
						      s->must | bit))
				TH_LOG("from %d to %d with %#x", s->from, s->to, bit);
		}
}

/*
 * Without IBV_QP_STATE the queue pair keeps its state, and gets the attributes that the transition
 * to the same state may have.
 */
TEST_F(state, attributes_change_without_a_state)
{
	const struct step *s;
	size_t n, i;
	int bit;

	s = steps_of(variant->type, &n);
	for (i = 0; i < n; i++, s++) {
		if (s->from != s->to)
			continue;
		for (bit = 1; bit <= EVERY_ATTR; bit <<= 1) {
			struct ibv_qp_attr attr = valid_attr(&self->r, self->qp, s);

			if (!(s->may & bit))
				continue;
			ASSERT_EQ(0, modify_through_states(&self->r, self->qp, &self->cfg, s->to));
			EXPECT_EQ(0, ibv_modify_qp(self->qp, &attr, bit))
				TH_LOG("in %d with %#x", s->to, bit);
			EXPECT_EQ(s->to, rdma_qp_state(self->qp)) TH_LOG("with %#x", bit);
		}
	}
}

static int query_rc(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	struct ibv_qp_init_attr init;

	return ibv_query_qp(qp, attr, EVERY_ATTR, &init);
}

/*
 * In RTS, ibv_modify_qp() sets the attributes in its mask, and all other attributes keep their
 * values.
 */
TEST(attributes_in_rts_have_the_values_of_the_last_change)
{
	const int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .access = write, .rnr_timer = 3 };
	struct ibv_qp_attr attr, got;
	struct ibv_qp *qp;
	struct rdma r;

	ASSERT_EQ(0, rdma_open(&r));
	qp = rdma_qp_create(&r, r.cq, &cfg);
	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, rdma_qp_connect(qp, &cfg, qp->qp_num, r.port.lid));
	attr = (struct ibv_qp_attr){ .min_rnr_timer = 17, .qp_access_flags = 0 };
	ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER));
	ASSERT_EQ(0, query_rc(qp, &got));
	EXPECT_EQ(IBV_QPS_RTS, got.qp_state);
	EXPECT_EQ(17, got.min_rnr_timer);
	EXPECT_EQ(IBV_ACCESS_REMOTE_WRITE, got.qp_access_flags & ~IBV_ACCESS_LOCAL_WRITE);
	attr = (struct ibv_qp_attr){ .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS));
	ASSERT_EQ(0, query_rc(qp, &got));
	EXPECT_EQ(IBV_QPS_RTS, got.qp_state);
	EXPECT_EQ(17, got.min_rnr_timer);
	EXPECT_EQ(IBV_ACCESS_REMOTE_READ, got.qp_access_flags & ~IBV_ACCESS_LOCAL_WRITE);
	/* An attribute of another transition is refused, with and without a state. */
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = 77, .min_rnr_timer = 9 };
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_SQ_PSN));
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN));
	ASSERT_EQ(0, query_rc(qp, &got));
	EXPECT_EQ(17, got.min_rnr_timer);
	/* No attribute at all is no change. */
	EXPECT_EQ(0, ibv_modify_qp(qp, &attr, 0));
	EXPECT_EQ(IBV_QPS_RTS, rdma_qp_state(qp));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	rdma_close(&r);
}

/* Attributes that only the other end of XRC has; ib_core removes them from the request. */
static int ignored_by_ib_core(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPT_XRC_RECV:
		return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	default:
		return 0;
	}
}

/* An attribute that belongs to another transport or to another transition is refused. */
TEST_F(state, attributes_of_other_transitions_are_invalid)
{
	/* All attributes of the tables above; those of alternate paths are not tested. */
	const int all = CONN_INIT | UD_INIT | RC_RTR | RC_RTS | IBV_QP_EN_SQD_ASYNC_NOTIFY;
	const struct step *s;
	size_t n, i;
	int bit;

	s = steps_of(variant->type, &n);
	for (i = 0; i < n; i++, s++)
		for (bit = 1; bit <= all; bit <<= 1) {
			if (!(all & bit) || (s->must | s->may) & bit)
				continue;
			EXPECT_EQ(bit & ignored_by_ib_core(variant->type) ? 0 : EINVAL,
				  modify_with_mask(&self->r, self->qp, &self->cfg, s,
						   s->must | bit))
				TH_LOG("from %d to %d with %#x", s->from, s->to, bit);
		}
}

TEST_F(state, values_out_of_range_are_invalid)
{
	struct {
		const char *what;
		int bit;
		struct ibv_qp_attr attr;
	} bad[] = {
		{ "port 0", IBV_QP_PORT, { .port_num = 0 } },
		{ "port 2", IBV_QP_PORT, { .port_num = 2 } },
		{ "pkey index", IBV_QP_PKEY_INDEX, { .pkey_index = 0x7fff } },
		{ "MTU 0", IBV_QP_PATH_MTU, { .path_mtu = 0 } },
		{ "MTU 6", IBV_QP_PATH_MTU, { .path_mtu = 6 } },
		{ "MTU 255", IBV_QP_PATH_MTU, { .path_mtu = 255 } },
		{ "dest rd_atomic", IBV_QP_MAX_DEST_RD_ATOMIC, { .max_dest_rd_atomic = 255 } },
		{ "rd_atomic", IBV_QP_MAX_QP_RD_ATOMIC, { .max_rd_atomic = 255 } },
		{ "AV port", IBV_QP_AV, { .ah_attr = { .dlid = 1, .port_num = 2 } } },
		{ "AV gid index", IBV_QP_AV, {
			.ah_attr = {
				.dlid = 1, .port_num = 1, .is_global = 1,
					.grh = { .sgid_index = 255 },
			} } },
	};
	struct ibv_qp_attr attr;
	const struct step *s;
	size_t n, i, j;
	int err;

	s = steps_of(variant->type, &n);
	for (i = 0; i < n; i++, s++)
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			if (!(s->must & bad[j].bit))
				continue;
			ASSERT_EQ(0, modify_through_states(&self->r, self->qp, &self->cfg,
							   s->from));
			attr = valid_attr(&self->r, self->qp, s);
			attr.port_num = bad[j].bit == IBV_QP_PORT ? bad[j].attr.port_num : 1;
			attr.pkey_index = bad[j].attr.pkey_index;
			if (bad[j].bit == IBV_QP_PATH_MTU)
				attr.path_mtu = bad[j].attr.path_mtu;
			if (bad[j].bit == IBV_QP_MAX_DEST_RD_ATOMIC)
				attr.max_dest_rd_atomic = bad[j].attr.max_dest_rd_atomic;
			if (bad[j].bit == IBV_QP_MAX_QP_RD_ATOMIC)
				attr.max_rd_atomic = bad[j].attr.max_rd_atomic;
			if (bad[j].bit == IBV_QP_AV)
				attr.ah_attr = bad[j].attr.ah_attr;
			/* The table of an Ethernet port may have this entry, without a GID. */
			err = bad[j].bit == IBV_QP_AV && attr.ah_attr.is_global &&
			      attr.ah_attr.grh.sgid_index < self->r.port.gid_tbl_len ?
			      ENODATA : EINVAL;
			EXPECT_EQ(err, ibv_modify_qp(self->qp, &attr, IBV_QP_STATE | s->must))
				TH_LOG("%s", bad[j].what);
			EXPECT_EQ(s->from, rdma_qp_state(self->qp)) TH_LOG("%s", bad[j].what);
		}
}

TEST_F(state, query_returns_what_was_set)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_512, .dest_qp_num = 0x123456,
		.rq_psn = 0xabcdef, .max_dest_rd_atomic = 2, .min_rnr_timer = 9,
	}, rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = 0x654321, .timeout = 17, .retry_cnt = 3,
		.rnr_retry = 5, .max_rd_atomic = 4,
	};
	struct ibv_device_attr dev;
	const struct step *s;
	size_t n;

	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &dev));
	if (dev.max_qp_init_rd_atom < rts.max_rd_atomic)
		rts.max_rd_atomic = dev.max_qp_init_rd_atom;
	port_address(&rtr.ah_attr, 0x77);
	rtr.ah_attr.sl = 5;
	/* s[0] is the transition from INIT to RTR, s[1] the one from RTR to RTS. */
	s = steps_of(variant->type, &n) + 2;
	ASSERT_EQ(0, rdma_qp_init(self->qp, &self->cfg));
	ASSERT_EQ(0, ibv_modify_qp(self->qp, &rtr, IBV_QP_STATE | s[0].must));
	ASSERT_EQ(0, ibv_modify_qp(self->qp, &rts, IBV_QP_STATE | s[1].must));
	ASSERT_EQ(0, ibv_query_qp(self->qp, &attr, EVERY_ATTR, &init));
	EXPECT_EQ(IBV_QPS_RTS, attr.qp_state);
	EXPECT_EQ(IBV_QPS_RTS, attr.cur_qp_state);
	EXPECT_EQ(0x654321, attr.sq_psn);
	EXPECT_EQ(1, attr.port_num);
	EXPECT_EQ(0, attr.pkey_index);
	if (variant->type != IBV_QPT_XRC_RECV) {
		EXPECT_LE(32, attr.cap.max_send_wr);
		EXPECT_EQ(1, init.sq_sig_all);
	}
	EXPECT_LE(is_xrc(variant->type) ? 0 : 32, attr.cap.max_recv_wr);
	if (is_xrc(variant->type))
		EXPECT_EQ(0, attr.cap.max_recv_wr);
	if (variant->type == IBV_QPT_UD) {
		EXPECT_EQ(UD_QKEY, attr.qkey);
		return;
	}
	EXPECT_EQ(IBV_MTU_512, attr.path_mtu);
	EXPECT_EQ(0x123456, attr.dest_qp_num);
	EXPECT_EQ(0xabcdef, attr.rq_psn);
	if (port_is_ethernet()) {
		EXPECT_EQ(0, memcmp(&rtr.ah_attr.grh.dgid, &attr.ah_attr.grh.dgid, 16));
		EXPECT_EQ(rtr.ah_attr.grh.sgid_index, attr.ah_attr.grh.sgid_index);
	} else {
		EXPECT_EQ(0x77, attr.ah_attr.dlid);
	}
	/* On an Ethernet port mlx5_ib does not tell the service level. */
	if (!port_is_ethernet() || driver_is("bluebell"))
		EXPECT_EQ(5, attr.ah_attr.sl);
	EXPECT_NE(0, attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE);
	if (s[0].must & IBV_QP_MAX_DEST_RD_ATOMIC) {
		EXPECT_NE(0, attr.qp_access_flags & IBV_ACCESS_REMOTE_READ);
		EXPECT_EQ(rdma_has_atomics(self->r.ctx),
			  !!(attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC));
		EXPECT_EQ(2, attr.max_dest_rd_atomic);
		EXPECT_EQ(9, attr.min_rnr_timer);
	}
	if (s[1].must & IBV_QP_TIMEOUT)
		EXPECT_EQ(17, attr.timeout);
	if (s[1].must & IBV_QP_MAX_QP_RD_ATOMIC) {
		EXPECT_EQ(3, attr.retry_cnt);
		EXPECT_EQ(5, attr.rnr_retry);
		EXPECT_EQ(rts.max_rd_atomic, attr.max_rd_atomic);
	}
}

/* A QP can have as many outstanding reads and atomics as the device reports, and no more. */
TEST(outstanding_reads_beyond_the_limit_are_invalid)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	const struct step *rtr = &rc_steps[2], *rts = &rc_steps[3];
	struct ibv_device_attr dev;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	struct rdma r;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, ibv_query_device(r.ctx, &dev));
	qp = rdma_qp_create(&r, r.cq, &cfg);
	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, modify_through_states(&r, qp, &cfg, IBV_QPS_INIT));
	attr = valid_attr(&r, qp, rtr);
	attr.max_dest_rd_atomic = 2 * dev.max_qp_rd_atom;
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | rtr->must));
	attr.max_dest_rd_atomic = dev.max_qp_rd_atom;
	ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | rtr->must));
	attr = valid_attr(&r, qp, rts);
	attr.max_rd_atomic = 2 * dev.max_qp_init_rd_atom;
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | rts->must));
	attr.max_rd_atomic = dev.max_qp_init_rd_atom;
	ASSERT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | rts->must));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	rdma_close(&r);
}

/* --- Capabilities that the device lacks ----------------------------------------------------- */

TEST(uc_without_the_capability_is_refused)
{
	struct qp_cfg cfg = { .type = IBV_QPT_UC };
	struct rdma r;

	if (rdma_has_qp_type(IBV_QPT_UC))
		SKIP(return, "the device has UC");
	ASSERT_EQ(0, rdma_open(&r));
	/* libmlx5 creates a UAR for the first QP and keeps it: let it do so before the census. */
	cfg.type = IBV_QPT_RC;
	EXPECT_EQ(0, ibv_destroy_qp(rdma_qp_create(&r, r.cq, &cfg)));
	cfg.type = IBV_QPT_UC;
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	EXPECT_EQ(NULL, rdma_qp_create(&r, r.cq, &cfg));
	/* mlx5_ib does not check the type, so firmware refuses it. */
	EXPECT_EQ(driver_is("bluebell") ? EOPNOTSUPP : EINVAL, errno);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	rdma_close(&r);
}

/* Bluebell refuses the right in the transition to INIT, mlx5_ib in that to RTR. */
TEST(atomic_access_without_atomics_is_refused)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC, .access = ALL_ACCESS };
	struct ibv_qp *qp;
	struct rdma r;

	ASSERT_EQ(0, rdma_open(&r));
	if (rdma_has_atomics(r.ctx))
		SKIP(return, "the device has atomic operations");
	qp = rdma_qp_create(&r, r.cq, &cfg);
	ASSERT_NE(NULL, qp);
	EXPECT_EQ(EOPNOTSUPP, modify_through_states(&r, qp, &cfg, IBV_QPS_RTR));
	EXPECT_GE(IBV_QPS_INIT, rdma_qp_state(qp));
	cfg.access &= ~IBV_ACCESS_REMOTE_ATOMIC;
	EXPECT_EQ(0, modify_through_states(&r, qp, &cfg, IBV_QPS_RTS));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	rdma_close(&r);
}

/* --- CREATE_QP through the library ------------------------------------------------------------ */

FIXTURE(create) {
	struct rdma r;
};

FIXTURE_VARIANT(create) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(create, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(create, uc) { .type = IBV_QPT_UC };

FIXTURE_VARIANT_ADD(create, ud) { .type = IBV_QPT_UD };

FIXTURE_SETUP(create)
{
	if (!rdma_has_qp_type(variant->type))
		SKIP(return, NO_UC);
	ASSERT_EQ(0, rdma_open(&self->r));
}

FIXTURE_TEARDOWN(create)
{
	rdma_close(&self->r);
}

TEST_F(create, sizes_beyond_the_limits_are_refused)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = self->r.cq, .recv_cq = self->r.cq, .qp_type = variant->type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_init_attr request;
	struct ibv_qp *qp;

	request = attr;
	qp = ibv_create_qp(self->r.pd, &request);
	ASSERT_NE(NULL, qp);
	EXPECT_LE(1, request.cap.max_send_wr);
	ibv_destroy_qp(qp);

	request = attr;
	request.cap.max_recv_wr = 1 << 20;
	EXPECT_EQ(NULL, ibv_create_qp(self->r.pd, &request));
	EXPECT_EQ(EINVAL, errno);
	request = attr;
	request.cap.max_send_wr = 1 << 20;
	EXPECT_EQ(NULL, ibv_create_qp(self->r.pd, &request));
	request = attr;
	request.cap.max_send_sge = 1000;
	EXPECT_EQ(NULL, ibv_create_qp(self->r.pd, &request));
	request = attr;
	request.cap.max_inline_data = 1 << 16;
	EXPECT_EQ(NULL, ibv_create_qp(self->r.pd, &request));
}

TEST_F(create, qp_can_have_a_single_queue)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = self->r.cq, .recv_cq = self->r.cq, .qp_type = variant->type,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(self->r.pd, &attr);

	ASSERT_NE(NULL, qp) TH_LOG("send only: errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	memset(&attr.cap, 0, sizeof(attr.cap));
	attr.cap.max_recv_wr = 4;
	attr.cap.max_recv_sge = 1;
	qp = ibv_create_qp(self->r.pd, &attr);
	ASSERT_NE(NULL, qp) TH_LOG("receive only: errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* --- CREATE_QP raw ---------------------------------------------------------------------------- */

FIXTURE(raw_qp) {
	struct raw_qp raw;
};

FIXTURE_VARIANT(raw_qp) {
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(raw_qp, rc) { .type = IBV_QPT_RC };

FIXTURE_VARIANT_ADD(raw_qp, uc) { .type = IBV_QPT_UC };

FIXTURE_VARIANT_ADD(raw_qp, ud) { .type = IBV_QPT_UD };

FIXTURE_SETUP(raw_qp)
{
	if (!rdma_has_qp_type(variant->type))
		SKIP(return, NO_UC);
	raw_qp_open(_metadata, &self->raw, variant->type);
}

FIXTURE_TEARDOWN(raw_qp)
{
	raw_qp_close(_metadata, &self->raw);
}

TEST_F(raw_qp, valid_request_succeeds)
{
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
}

TEST_F(raw_qp, send_queue_must_be_a_power_of_two)
{
	static const uint32_t bad[] = { 3, 5, 6, 63, 65, 0x10000 - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		self->raw.req.drv.sq_wqe_count = bad[i];
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &self->raw.req))
			TH_LOG("%u WQEs", bad[i]);
	}
}

TEST_F(raw_qp, excessive_or_overflowing_counts_are_refused)
{
	static const uint32_t bad[] = { 0x10000, 0x100000, 0x4000000, 0x40000000, 0x80000000, ~0u };
	struct uv_qp_req req;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req = self->raw.req;
		req.drv.sq_wqe_count = bad[i];
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &req))
			TH_LOG("%#x send WQEs", bad[i]);
		/* mlx5_ib reports the buffer that ends too early, not the count. */
		if (!driver_is("bluebell"))
			continue;
		req = self->raw.req;
		req.drv.rq_wqe_count = bad[i];
		ret = uv_try_qp(self->raw.uv.fd, &req);
		EXPECT_TRUE(ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("%#x receive WQEs: %d", bad[i], ret);
	}
}

TEST_F(raw_qp, invalid_shifts_are_refused)
{
	/*
	 * With the first three, a WQE is smaller than a segment, or larger than the largest WQE of
	 * a receive queue; mlx5_ib accepts them.
	 */
	static const uint32_t bad[] = { 0, 3, 12, 27, 31, 32, 33, 63, 64, 255, ~0u };
	size_t i;

	for (i = driver_is("bluebell") ? 0 : 3; i < ARRAY_SIZE(bad); i++) {
		self->raw.req.drv.rq_wqe_shift = bad[i];
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &self->raw.req))
			TH_LOG("shift %u", bad[i]);
	}
}

/* The buffer needs two pages, and only the first is mapped. */
TEST_F(raw_qp, buffer_that_ends_too_early_is_refused)
{
	munmap(self->raw.mem.buf + UV_PAGE, self->raw.mem.len - UV_PAGE);
	EXPECT_EQ(-EFAULT, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	self->raw.req.drv.sq_wqe_count /= 2;
	EXPECT_EQ(0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	self->raw.mem.len = UV_PAGE;
}

TEST_F(raw_qp, unmapped_buffer_is_refused)
{
	static const uint64_t addr[] = {
		0x1000, 0x7ffffffff000ull, 0xffff888000000000ull, 0xfffffffffffff000ull, ~0ull - 63,
	};
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		self->raw.req.drv.buf_addr = addr[i];
		ret = uv_try_qp(self->raw.uv.fd, &self->raw.req);
		EXPECT_TRUE(ret == -EFAULT || ret == -EINVAL || ret == -ENOMEM)
			TH_LOG("address %#llx: %d", (unsigned long long)addr[i], ret);
	}
}

TEST_F(raw_qp, undefined_flags_are_refused)
{
	unsigned int bit;

	for (bit = 12; bit < 32; bit++) {
		self->raw.req.drv.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &self->raw.req))
			TH_LOG("flag %u", bit);
	}
}

TEST_F(raw_qp, user_index_is_24_bits)
{
	/*
	 * With CQE version 0 a QP has no user index, and the request must have the
	 * value 0xffffff.
	 */
	const bool has_uidx = self->raw.uv.resp.cqe_version;

	self->raw.req.drv.uidx = 0xfffffe;
	EXPECT_EQ(has_uidx ? 0 : -EINVAL, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	self->raw.req.drv.uidx = 0xffffff;
	EXPECT_EQ(has_uidx ? -EINVAL : 0, uv_try_qp(self->raw.uv.fd, &self->raw.req));
	self->raw.req.drv.uidx = 0x1000000;
	EXPECT_EQ(-EINVAL, uv_try_qp(self->raw.uv.fd, &self->raw.req));
}

TEST_F(raw_qp, unknown_handles_are_refused)
{
	struct uv_qp_req req = self->raw.req;

	req.core.pd_handle = 0x7fffffff;
	EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req));
	req = self->raw.req;
	req.core.send_cq_handle = 0x7fffffff;
	EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req));
	req = self->raw.req;
	req.core.recv_cq_handle = self->raw.pd ^ 0x7fff0000;
	EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req));
	/* Give the handle of an object of another kind. */
	req = self->raw.req;
	req.core.send_cq_handle = self->raw.pd;
	req.core.recv_cq_handle = self->raw.pd;
	if (self->raw.pd != self->raw.cq.handle)
		EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &req));
}

TEST_F(raw_qp, unknown_types_are_refused)
{
	static const uint8_t bad[] = { 0, 1, 5, 7, 11, 100, 254 };
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		self->raw.req.core.qp_type = bad[i];
		ret = uv_try_qp(self->raw.uv.fd, &self->raw.req);
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP)
			TH_LOG("type %u: %d", bad[i], ret);
	}
}

TEST_F(raw_qp, truncated_request_is_refused)
{
	size_t len;

	for (len = 0; len < offsetof(struct mlx5_ib_create_qp, flags); len += 4) {
		self->raw.req.drv_len = len;
		EXPECT_GT(0, uv_try_qp(self->raw.uv.fd, &self->raw.req)) TH_LOG("length %zu", len);
	}
}

TEST_F(raw_qp, unreadable_request_is_a_fault)
{
	struct ib_uverbs_create_qp_resp resp;
	struct mlx5_ib_create_qp_resp drv;

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell promises to report a fault as EFAULT");
	EXPECT_EQ(-EFAULT, uv_cmd(self->raw.uv.fd, IB_USER_VERBS_CMD_CREATE_QP, &self->raw.req.core,
				  sizeof(self->raw.req.core), &resp, sizeof(resp), (void *)8,
				  sizeof(self->raw.req.drv), &drv, sizeof(drv)));
	EXPECT_EQ(-EFAULT, uv_cmd(self->raw.uv.fd, IB_USER_VERBS_CMD_CREATE_QP, &self->raw.req.core,
				  sizeof(self->raw.req.core), &resp, sizeof(resp),
				  &self->raw.req.drv, sizeof(self->raw.req.drv), (void *)8,
				  sizeof(drv)));
}

/* Attributes of the ioctl that say where the queues are. */
TEST_F(raw_qp, buffer_can_be_named_by_an_attribute)
{
	struct uv_buffer buf = {
		.type = UV_BUFFER_TYPE_VA, .addr = self->raw.req.drv.buf_addr,
		.length = RAW_QP_BYTES,
	};
	struct ib_uverbs_attr attr = {
		.attr_id = UV_CREATE_QP_BUF_UMEM, .len = sizeof(buf),
		.flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&buf,
	};
	struct uv_qp_req req = self->raw.req;
	uint32_t qp;
	int ret;

	if (variant->type != IBV_QPT_RC)
		SKIP(return, "the type of the queue pair makes no difference");
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell takes the buffer from the attribute");
	req.drv.buf_addr = 0x1000;
	ret = uv_create_qp_attrs(self->raw.uv.fd, &req, &attr, 1, &qp);
	if (ret == -EPROTONOSUPPORT)
		SKIP(return, "the kernel has no attribute for the buffer");
	ASSERT_EQ(0, ret);
	EXPECT_EQ(0, uv_destroy_qp_handle(self->raw.uv.fd, qp));
	buf.length--;
	EXPECT_EQ(-EINVAL, uv_create_qp_attrs(self->raw.uv.fd, &req, &attr, 1, &qp));
	buf.length++;
	buf.addr += 32;
	EXPECT_EQ(-EINVAL, uv_create_qp_attrs(self->raw.uv.fd, &req, &attr, 1, &qp));
	/* The queues of these types of queue pairs lie in one buffer. */
	buf.addr -= 32;
	req = self->raw.req;
	attr.attr_id = UV_CREATE_QP_RQ_BUF_UMEM;
	EXPECT_EQ(-EOPNOTSUPP, uv_create_qp_attrs(self->raw.uv.fd, &req, &attr, 1, &qp));
	attr.attr_id = UV_CREATE_QP_SQ_BUF_UMEM;
	EXPECT_EQ(-EOPNOTSUPP, uv_create_qp_attrs(self->raw.uv.fd, &req, &attr, 1, &qp));
}

/* --- MODIFY_QP raw ---------------------------------------------------------------------------- */

/* Take the QP to INIT by the extended command, which carries data for the driver. */
static int modify_raw(int fd, uint32_t handle, const struct mlx5_ib_modify_qp *drv, size_t len,
		      void *answer, size_t answer_len)
{
	struct ib_uverbs_ex_modify_qp req = {
		.base = {
			.qp_handle = handle, .qp_state = IBV_QPS_INIT, .port_num = 1,
			.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS,
		},
	};
	struct ib_uverbs_ex_modify_qp_resp resp = {};

	return uv_cmd(fd, IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED, &req,
		      sizeof(req), &resp, sizeof(resp), drv, len, answer, answer_len);
}

TEST_F(raw_qp, modify_answers_as_much_as_there_is_room_for)
{
	struct mlx5_ib_modify_qp drv = {};
	uint32_t answer[8];
	struct uv_qp qp = {};
	size_t len, i;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the answer as it was");
	if (variant->type == IBV_QPT_UD)
		SKIP(return, "the request is that of a connected queue pair");
	for (len = 4; len <= sizeof(answer); len += 4) {
		ASSERT_EQ(0, uv_create_qp_raw(self->raw.uv.fd, &self->raw.req, &qp));
		memset(answer, 0xee, sizeof(answer));
		EXPECT_EQ(0, modify_raw(self->raw.uv.fd, qp.handle, &drv, sizeof(drv), answer, len))
			TH_LOG("%zu bytes", len);
		EXPECT_EQ(len < sizeof(struct mlx5_ib_modify_qp_resp) ? len :
			  sizeof(struct mlx5_ib_modify_qp_resp), answer[0]);
		for (i = len / 4; i < ARRAY_SIZE(answer); i++)
			EXPECT_EQ(0xeeeeeeee, answer[i]) TH_LOG("%zu bytes: word %zu", len, i);
		EXPECT_EQ(0, uv_destroy_qp_handle(self->raw.uv.fd, qp.handle));
	}
}

TEST_F(raw_qp, modify_refuses_what_it_does_not_know)
{
	/* Bit 0 is MLX5_IB_MODIFY_QP_OOO_DP, which the C library's headers do not have yet. */
	struct mlx5_ib_modify_qp drv[4] = {
		{ .comp_mask = ~1U }, { .burst_info = { .max_burst_sz = 1 } },
		{ .burst_info = { .typical_pkt_sz = 1 } }, { .ece_options = 1 },
	};
	struct uv_qp qp = {};
	size_t i;
	int ret;

	if (variant->type == IBV_QPT_UD)
		SKIP(return, "the request is that of a connected queue pair");
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell refuses data that has no meaning for the queue pair");
	ASSERT_EQ(0, uv_create_qp_raw(self->raw.uv.fd, &self->raw.req, &qp));
	for (i = 0; i < ARRAY_SIZE(drv); i++) {
		if (drv[i].ece_options && hca_cap("general", "ece_support") > 0)
			continue;
		ret = modify_raw(self->raw.uv.fd, qp.handle, &drv[i], sizeof(drv[i]), NULL, 0);
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP) TH_LOG("request %zu: %d", i, ret);
	}
	/* The queue pair is still in RESET. */
	memset(drv, 0, sizeof(drv));
	EXPECT_EQ(0, modify_raw(self->raw.uv.fd, qp.handle, drv, sizeof(drv[0]), NULL, 0));
	EXPECT_EQ(0, uv_destroy_qp_handle(self->raw.uv.fd, qp.handle));
}

TEST_HARNESS_MAIN
