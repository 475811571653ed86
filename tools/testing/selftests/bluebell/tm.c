// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching (IBV_SRQT_TM): which buffer a message of RC reaches, what the completions tell,
 * changes of the list of tags, rendezvous, limits, and that nothing is left of it. The library
 * connects a queue pair of its own, and knows only the LID of the port, so tag matching needs an
 * InfiniBand port.
 */

#include <errno.h>
#include <infiniband/tm_types.h>
#include <sys/wait.h>

#include "child.h"
#include "test.h"

#define NO_TM "the device has no tag matching"
#define SIZE (8 * UV_PAGE)
#define TAGS 15
#define LEN 3000u		/* several packets with the path MTU of the tests */
#define TAG 0x1122334455667788ull
#define PRIV 0xcafe
#define EXACT (~0ull)
#define HEADER ((uint32_t)sizeof(struct ibv_tmh))

/* A queue pair that sends, and one that receives by an SRQ with tag matching. */
struct tags {
	struct rdma r;
	struct ibv_cq_ex *cq;		/* of the SRQ */
	struct ibv_srq *srq;
	struct ibv_qp *sender, *receiver;
	struct ibv_mr *mr;
	uint8_t *buf;		/* messages; data to read; tagged buffers; receive requests */
	uint32_t unexpected;		/* messages that the test has seen */
};

struct done {
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint64_t id;
	unsigned int flags;
	uint32_t len;
	struct ibv_wc_tm_info info;
};

static const struct qp_cfg cfg = { .type = IBV_QPT_RC, .mtu = IBV_MTU_1024, .rnr_timer = 1 };

static struct ibv_srq *create_srq(struct tags *t, uint32_t tags)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 }, .srq_type = IBV_SRQT_TM, .pd = t->r.pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.cq = ibv_cq_ex_to_cq(t->cq),
		.tm_cap = { .max_num_tags = tags, .max_ops = 16 },
	};

	return ibv_create_srq_ex(t->r.ctx, &attr);
}

/* A queue pair on the SRQ without a send queue, which the device uses. */
static struct ibv_qp *create_receiver(struct tags *t, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .send_cq = t->r.cq, .recv_cq = t->r.cq, .srq = t->srq,
	};

	return ibv_create_qp(t->r.pd, &attr);
}

static bool tm_offered(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) && attr.tm_caps.flags & IBV_TM_CAP_RC;
}

/* Returns false on failure. */
static bool tm_open(struct tags *t)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 63, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};

	if (rdma_open(&t->r))
		return false;
	t->cq = ibv_create_cq_ex(t->r.ctx, &cq);
	t->buf = aligned_alloc(UV_PAGE, SIZE);
	t->mr = t->buf ? ibv_reg_mr(t->r.pd, t->buf, SIZE, ALL_ACCESS) : NULL;
	t->srq = t->cq ? create_srq(t, TAGS) : NULL;
	t->receiver = t->srq ? create_receiver(t, IBV_QPT_RC) : NULL;
	t->sender = rdma_qp_create(&t->r, t->r.cq, &cfg);
	return t->mr && t->receiver && t->sender;
}

static void tm_close(struct tags *t)
{
	if (t->sender)
		ibv_destroy_qp(t->sender);
	if (t->receiver)
		ibv_destroy_qp(t->receiver);
	if (t->srq)
		ibv_destroy_srq(t->srq);
	if (t->mr)
		ibv_dereg_mr(t->mr);
	free(t->buf);
	if (t->cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq));
	rdma_close(&t->r);
}

static int tm_connect(struct tags *t)
{
	return rdma_qp_connect(t->receiver, &cfg, t->sender->qp_num, t->r.port.lid) ?:
	       rdma_qp_connect(t->sender, &cfg, t->receiver->qp_num, t->r.port.lid);
}

static uint8_t *source(struct tags *t)	/* of rendezvous data */
{
	return t->buf + SIZE / 4;
}

static uint8_t *tagged(struct tags *t)
{
	return t->buf + SIZE / 2;
}

static uint8_t *untagged(struct tags *t)
{
	return t->buf + SIZE / 4 * 3;
}

/* ---- posting and completions ----------------------------------------------------------------- */

/* Make a change of the list of tags; returns its handle, or a negative errno. */
static int change(struct tags *t, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad;
	int ret;

	wr->flags |= IBV_OPS_TM_SYNC;
	wr->tm.unexpected_cnt = t->unexpected;
	ret = ibv_post_srq_ops(t->srq, wr, &bad);
	return ret ? -ret : (int)wr->tm.handle;
}

static int add(struct tags *t, uint64_t tag, uint64_t mask, uint32_t len, uint64_t id, int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)tagged(t), .length = len, .lkey = t->mr->lkey };
	struct ibv_ops_wr wr = {
		.wr_id = id, .opcode = IBV_WR_TAG_ADD, .flags = flags,
		.tm.add = {
			.recv_wr_id = id, .sg_list = &sge, .num_sge = 1, .tag = tag, .mask = mask,
		},
	};

	return change(t, &wr);
}

static int del(struct tags *t, uint32_t handle, uint64_t id)
{
	struct ibv_ops_wr wr = {
		.wr_id = id, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED,
		.tm.handle = handle,
	};
	int ret = change(t, &wr);

	return ret < 0 ? ret : 0;
}

static int sync_count(struct tags *t)
{
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_SIGNALED };

	return change(t, &wr);
}

/* Send a message of @len bytes with its header at the start of the buffer. */
static int send_message(struct tags *t, uint8_t op, uint64_t tag, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)t->buf, .length = len, .lkey = t->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_tmh *h = (struct ibv_tmh *)t->buf;
	struct ibv_wc wc;
	int ret;

	*h = (struct ibv_tmh){ .opcode = op, .app_ctx = htobe32(PRIV), .tag = htobe64(tag) };
	ret = ibv_post_send(t->sender, &wr, &bad);
	return ret ? -ret : reap(t->r.cq, &wc);
}

static int send_rendezvous(struct tags *t, uint64_t tag, uint32_t len)
{
	struct ibv_rvh *h = (struct ibv_rvh *)(t->buf + HEADER);

	*h = (struct ibv_rvh){
		.va = htobe64((uintptr_t)source(t)), .rkey = htobe32(t->mr->rkey),
		.len = htobe32(len),
	};
	return send_message(t, IBV_TMH_RNDV, tag, HEADER + sizeof(*h));
}

/* Take the next completion of the SRQ. Returns 0, or -ETIMEDOUT. */
static int next_done(struct tags *t, struct done *d)
{
	struct ibv_poll_cq_attr attr = {};
	double end = seconds() + 20;

	memset(d, 0, sizeof(*d));
	while (ibv_start_poll(t->cq, &attr))
		if (seconds() > end)
			return -ETIMEDOUT;
	d->status = t->cq->status;
	d->id = t->cq->wr_id;
	if (d->status == IBV_WC_SUCCESS) {
		d->opcode = ibv_wc_read_opcode(t->cq);
		d->flags = ibv_wc_read_wc_flags(t->cq);
		d->len = ibv_wc_read_byte_len(t->cq);
		ibv_wc_read_tm_info(t->cq, &d->info);
	}
	ibv_end_poll(t->cq);
	return 0;
}

static bool nothing_more(struct tags *t)
{
	return cq_stays_empty(ibv_cq_ex_to_cq(t->cq), 5);
}

#define EXPECT_DONE(op, wr, fl, bytes) \
	do { \
		struct done _d; \
		ASSERT_EQ(0, next_done(t, &_d)); \
		EXPECT_EQ(IBV_WC_SUCCESS, _d.status); \
		EXPECT_EQ(op, _d.opcode); \
		EXPECT_EQ(wr, _d.id); \
		EXPECT_EQ((unsigned int)(fl), _d.flags); \
		EXPECT_EQ(bytes, _d.len); \
		if ((fl) & IBV_WC_TM_MATCH) { \
			EXPECT_EQ(TAG, _d.info.tag); \
			EXPECT_EQ(PRIV, _d.info.priv); \
		} \
	} while (0)

FIXTURE(tm) {
	struct tags t;
};

FIXTURE_SETUP(tm)
{
	struct rdma r;
	bool has;

	ASSERT_EQ(0, rdma_open(&r));
	has = r.port.link_layer == IBV_LINK_LAYER_INFINIBAND && tm_offered(r.ctx);
	rdma_close(&r);
	if (!has)
		SKIP(return, NO_TM);
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
	ASSERT_TRUE(tm_open(&self->t));
	ASSERT_EQ(0, tm_connect(&self->t));
	memset(self->t.buf, 0, SIZE);
	fill(self->t.buf + HEADER, LEN, 1);
	fill(source(&self->t), LEN, 2);
}

FIXTURE_TEARDOWN(tm)
{
	if (self->t.r.ctx)
		tm_close(&self->t);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* ---- messages -------------------------------------------------------------------------------- */

TEST_F(tm, message_of_one_packet_reaches_the_buffer_of_its_tag)
{
	struct tags *t = &self->t;

	ASSERT_LE(0, add(t, TAG, EXACT, 100, 7, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, HEADER + 100));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 100);
	EXPECT_TRUE(check_fill(tagged(t), 100, 1));
	EXPECT_EQ(0, tagged(t)[100]);
	EXPECT_TRUE(nothing_more(t));
}

TEST_F(tm, message_of_several_packets_completes_twice)
{
	struct tags *t = &self->t;

	ASSERT_LE(0, add(t, TAG, EXACT, LEN, 7, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, HEADER + LEN));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH, 0);
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_DATA_VALID, LEN);
	EXPECT_TRUE(check_fill(tagged(t), LEN, 1));
	EXPECT_TRUE(nothing_more(t));
}

TEST_F(tm, tags_are_compared_under_their_masks_in_the_order_of_posting)
{
	struct tags *t = &self->t;

	ASSERT_LE(0, add(t, 0x99, 0xff, 100, 1, 0));
	ASSERT_LE(0, add(t, TAG & 0xffff, 0xffff, 100, 2, 0));
	ASSERT_LE(0, add(t, 0, 0, 100, 3, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, HEADER));
	EXPECT_DONE(IBV_WC_TM_RECV, 2, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 0);
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, HEADER));
	EXPECT_DONE(IBV_WC_TM_RECV, 3, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 0);
}

TEST_F(tm, unexpected_message_stops_new_tags_until_the_program_has_seen_it)
{
	struct tags *t = &self->t;
	uint32_t len = HEADER + 50;

	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 11));
	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 12));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, len));
	/* The program has not seen the message yet. */
	ASSERT_LE(0, add(t, TAG, EXACT, 100, 7, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, len));
	EXPECT_DONE(IBV_WC_TM_RECV, 11, 0, len);
	EXPECT_DONE(IBV_WC_TM_RECV, 12, 0, len);
	EXPECT_EQ(0, memcmp(untagged(t), t->buf, len));
	t->unexpected = 2;
	ASSERT_LE(0, sync_count(t));
	EXPECT_DONE(IBV_WC_TM_SYNC, 0, 0, 0);
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, len));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 50);
	EXPECT_TRUE(nothing_more(t));
}

TEST_F(tm, message_without_a_tag_takes_a_receive_request)
{
	struct tags *t = &self->t;

	ASSERT_LE(0, add(t, 0, 0, 100, 7, 0));
	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 11));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_NO_TAG, TAG, 20));
	EXPECT_DONE(IBV_WC_TM_NO_TAG, 11, 0, 20);
	EXPECT_TRUE(nothing_more(t));
}

TEST_F(tm, message_longer_than_the_buffer_fails_the_connection)
{
	struct tags *t = &self->t;

	ASSERT_LE(0, add(t, TAG, EXACT, 100, 7, 0));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR,
		  send_message(t, IBV_TMH_EAGER, TAG, HEADER + 101));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(t->receiver));
	EXPECT_EQ(0, tagged(t)[100]);
}

/* ---- rendezvous ------------------------------------------------------------------------------ */

TEST_F(tm, device_reads_the_data_of_a_rendezvous)
{
	uint8_t fin[HEADER + sizeof(struct ibv_rvh)];
	struct tags *t = &self->t;
	struct ibv_wc wc;

	ASSERT_LE(0, add(t, TAG, EXACT, LEN, 7, 0));
	ASSERT_EQ(0, post_recv(t->sender, t->mr, untagged(t), sizeof(fin), 21));
	ASSERT_EQ(IBV_WC_SUCCESS, send_rendezvous(t, TAG, LEN));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH, 0);
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_DATA_VALID, LEN);
	EXPECT_TRUE(check_fill(tagged(t), LEN, 2));
	ASSERT_EQ(IBV_WC_SUCCESS, reap(t->r.cq, &wc));
	EXPECT_EQ(21, wc.wr_id);
	memcpy(fin, t->buf, sizeof(fin));
	fin[0] = IBV_TMH_FIN;
	EXPECT_EQ(0, memcmp(untagged(t), fin, sizeof(fin)));
}

TEST_F(tm, rendezvous_that_does_not_fit_is_left_to_the_program)
{
	struct tags *t = &self->t;
	struct done d;

	ASSERT_LE(0, add(t, TAG, EXACT, 100, 7, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_rendezvous(t, TAG, 101));
	ASSERT_EQ(0, next_done(t, &d));
	EXPECT_EQ(IBV_WC_TM_RNDV_INCOMPLETE, d.status);
	EXPECT_EQ(7, d.id);
	EXPECT_EQ(0, memcmp(tagged(t), t->buf, HEADER + sizeof(struct ibv_rvh)));
	/* The connection goes on. */
	ASSERT_LE(0, add(t, TAG, EXACT, 100, 8, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, HEADER));
	EXPECT_DONE(IBV_WC_TM_RECV, 8, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 0);
}

TEST_F(tm, rendezvous_with_a_wrong_key_ends_the_message)
{
	struct ibv_mr *gone;
	struct tags *t = &self->t;
	struct done d;

	ASSERT_LE(0, add(t, TAG, EXACT, LEN, 7, 0));
	gone = t->mr;
	t->mr = ibv_reg_mr(t->r.pd, t->buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, t->mr);
	ASSERT_EQ(IBV_WC_SUCCESS, send_rendezvous(t, TAG, LEN));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH, 0);
	ASSERT_EQ(0, next_done(t, &d));
	EXPECT_NE(IBV_WC_SUCCESS, d.status);
	EXPECT_EQ(7, d.id);
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(t->receiver));
	EXPECT_EQ(0, ibv_dereg_mr(gone));
}

/* ---- the list -------------------------------------------------------------------------------- */

TEST_F(tm, removed_tag_does_not_match)
{
	struct tags *t = &self->t;
	int handle = add(t, TAG, EXACT, 100, 7, IBV_OPS_SIGNALED);

	ASSERT_LE(0, handle);
	EXPECT_DONE(IBV_WC_TM_ADD, 7, 0, 0);
	ASSERT_EQ(0, del(t, handle, 8));
	EXPECT_DONE(IBV_WC_TM_DEL, 8, 0, 0);
	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 11));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, 20));
	EXPECT_DONE(IBV_WC_TM_RECV, 11, 0, 20);
}

TEST_F(tm, tag_that_has_matched_cannot_be_removed)
{
	struct tags *t = &self->t;
	int handle = add(t, TAG, EXACT, 100, 7, 0);
	struct done d;

	ASSERT_LE(0, handle);
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, 20));
	/* The program has not seen the completion of the message when it removes the tag. */
	ASSERT_EQ(0, del(t, handle, 8));
	EXPECT_DONE(IBV_WC_TM_RECV, 7, IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 4);
	ASSERT_EQ(0, next_done(t, &d));
	EXPECT_EQ(IBV_WC_TM_ERR, d.status);
	EXPECT_EQ(8, d.id);
}

TEST_F(tm, all_tags_of_the_list_can_be_used_again_and_again)
{
	struct tags *t = &self->t;
	int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < TAGS; i++) {
			ASSERT_LE(0, add(t, TAG, EXACT, 100, i, IBV_OPS_SIGNALED));
			EXPECT_DONE(IBV_WC_TM_ADD, (uint64_t)i, 0, 0);
		}
		/* The library knows that the list is full. */
		EXPECT_EQ(-ENOMEM, add(t, TAG, EXACT, 100, i, 0));
		for (i = 0; i < TAGS; i++) {
			ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, 20));
			EXPECT_DONE(IBV_WC_TM_RECV, (uint64_t)i,
				    IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID, 4);
		}
	}
}

/* ---- the queue ------------------------------------------------------------------------------- */

TEST_F(tm, capabilities_are_those_of_the_device)
{
	struct ibv_device_attr_ex attr;

	ASSERT_EQ(0, ibv_query_device_ex(self->t.r.ctx, NULL, &attr));
	EXPECT_EQ(IBV_TM_CAP_RC, attr.tm_caps.flags);
	EXPECT_EQ(64, attr.tm_caps.max_rndv_hdr_size);
	EXPECT_EQ(1, attr.tm_caps.max_sge);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	EXPECT_EQ((1u << hca_cap("general", "log_tag_matching_list_sz")) - 1,
		  attr.tm_caps.max_num_tags);
	EXPECT_EQ(1u << hca_cap("general", "log_max_qp_sz"), attr.tm_caps.max_ops);
}

TEST_F(tm, limit_raises_an_event)
{
	struct tags *t = &self->t;

	/* The stock driver sends ARM_RQ, which is not a command for an XRQ. */
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(0, get_srq_limit(t->srq));
	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 11));
	ASSERT_EQ(0, post_srq_recv(t->srq, t->mr, untagged(t), 200, 12));
	ASSERT_EQ(0, set_srq_limit(t->srq, 2));
	EXPECT_EQ(2, get_srq_limit(t->srq));
	ASSERT_EQ(IBV_WC_SUCCESS, send_message(t, IBV_TMH_EAGER, TAG, 20));
	EXPECT_TRUE(wait_object_event(t->r.ctx, t->srq, IBV_EVENT_SRQ_LIMIT_REACHED, 5000));
	EXPECT_EQ(0, get_srq_limit(t->srq));
}

TEST_F(tm, largest_list_can_be_created_and_a_larger_one_cannot)
{
	struct ibv_device_attr_ex attr;
	struct tags *t = &self->t;
	struct ibv_srq *srq;

	ASSERT_EQ(0, ibv_query_device_ex(t->r.ctx, NULL, &attr));
	srq = create_srq(t, attr.tm_caps.max_num_tags);
	ASSERT_NE(NULL, srq);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	errno = 0;
	EXPECT_EQ(NULL, create_srq(t, attr.tm_caps.max_num_tags + 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, create_srq(t, 0));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(tm, only_rc_uses_an_srq_with_tag_matching)
{
	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	EXPECT_EQ(NULL, create_receiver(&self->t, IBV_QPT_UC));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, create_receiver(&self->t, IBV_QPT_UD));
	EXPECT_EQ(EINVAL, errno);
}

static int use_and_die(void *arg, int ready)
{
	struct tags t = {};

	if (!tm_open(&t) || tm_connect(&t) || add(&t, TAG, EXACT, LEN, 7, 0) < 0)
		return 1;
	return child_hold(ready);
}

TEST_F(tm, nothing_is_left_of_a_process_with_tags)
{
	pid_t pid = child_start(use_and_die, NULL);

	ASSERT_LT(0, pid);
	EXPECT_EQ(SIGKILL, child_kill(pid));
}

TEST_HARNESS_MAIN
