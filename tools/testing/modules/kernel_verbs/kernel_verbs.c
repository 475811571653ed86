// SPDX-License-Identifier: GPL-2.0-only
/*
 * A consumer of kernel verbs for tests: it connects queue pairs of one device to each other,
 * posts every kind of work request, and looks at data and completions.
 *
 * Each test has a name. A process writes the name to /dev/kernel_verbs to run the test; the write
 * fails with EREMOTEIO if the test does, and reading the file then tells where and why. A test that
 * needs what the device lacks fails with EOPNOTSUPP.
 */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#define BUF_PAGES	8
#define BUF_SIZE	(BUF_PAGES * PAGE_SIZE)
#define CQ_ENTRIES	256
#define MAX_WR		64
#define MAX_SGE		4
#define MAX_INLINE	64
#define QKEY		0x11223344
#define GRH_BYTES	40
#define TIMEOUT_MS	10000
#define NUM_QPS		2

/**
 * struct rig - a device, and two queue pairs on it that are connected to each other
 * @dev: the device
 * @pd: a protection domain
 * @cq: completion queue of each queue pair
 * @qp: the queue pairs
 * @buf: memory of each
 * @dma: its DMA address
 * @mr: region that work requests open; NULL if the test needs none
 * @lid: of the port
 */
struct rig {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq[NUM_QPS];
	struct ib_qp *qp[NUM_QPS];
	u8 *buf[NUM_QPS];
	u64 dma[NUM_QPS];
	struct ib_mr *mr;
	u16 lid;
};

static DEFINE_MUTEX(lock);	/* all below */
static struct ib_device *device;
static char report[256];

/* ---- what a test expects ------------------------------------------------------- */

static int failed(int line, const char *what, long long got, long long want)
{
	snprintf(report, sizeof(report), "line %d: %s is %lld, not %lld\n", line, what, got, want);
	return -EREMOTEIO;
}

#define EXPECT_EQ(want, expr) do {						\
	long long got_ = (long long)(expr), want_ = (long long)(want);		\
										\
	if (got_ != want_)							\
		return failed(__LINE__, #expr, got_, want_);			\
} while (0)
#define EXPECT(expr) EXPECT_EQ(1, !!(expr))
#define TRY(expr) do {								\
	int err_ = (expr);							\
										\
	if (err_)								\
		return err_;							\
} while (0)

/* ---- the rig ------------------------------------------------------------------- */

static int modify(struct ib_qp *qp, struct ib_qp_attr attr, int mask)
{
	return ib_modify_qp(qp, &attr, mask | IB_QP_STATE);
}

static int to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};

	if (qp->qp_type == IB_QPT_UD)
		return modify(qp, attr, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	if (qp->qp_type == IB_QPT_RC)
		attr.qp_access_flags |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	return modify(qp, attr, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int to_rtr(struct rig *rig, struct ib_qp *qp, struct ib_qp *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};
	int mask = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;

	if (qp->qp_type == IB_QPT_UD)
		return modify(qp, attr, 0);
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_dlid(&attr.ah_attr, rig->lid);
	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return modify(qp, attr, mask);
}

static int to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	int mask = IB_QP_SQ_PSN;

	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
	return modify(qp, attr, mask);
}

static int connect(struct rig *rig)
{
	int i, err = 0;

	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_init(rig->qp[i]);
	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_rtr(rig, rig->qp[i], rig->qp[!i]);
	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_rts(rig->qp[i]);
	return err;
}

static struct ib_qp *make_qp(struct rig *rig, enum ib_qp_type type, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.qp_type = type,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = MAX_WR,
			.max_recv_wr = MAX_WR,
			.max_send_sge = MAX_SGE,
			.max_recv_sge = MAX_SGE,
			.max_inline_data = MAX_INLINE,
		},
	};

	return ib_create_qp(rig->pd, &init);
}

static void rig_down(struct rig *rig)
{
	int i;

	for (i = 0; i < NUM_QPS; i++)
		if (!IS_ERR_OR_NULL(rig->qp[i]))
			ib_destroy_qp(rig->qp[i]);
	if (!IS_ERR_OR_NULL(rig->mr))
		ib_dereg_mr(rig->mr);
	for (i = 0; i < NUM_QPS; i++) {
		if (rig->dma[i])
			ib_dma_unmap_single(rig->dev, rig->dma[i], BUF_SIZE, DMA_BIDIRECTIONAL);
		kfree(rig->buf[i]);
		if (!IS_ERR_OR_NULL(rig->cq[i]))
			ib_free_cq(rig->cq[i]);
	}
	if (!IS_ERR_OR_NULL(rig->pd))
		ib_dealloc_pd(rig->pd);
}

static int rig_alloc(struct rig *rig, enum ib_qp_type type, enum ib_poll_context ctx)
{
	int i;

	rig->pd = ib_alloc_pd(rig->dev, 0);
	TRY(PTR_ERR_OR_ZERO(rig->pd));
	for (i = 0; i < NUM_QPS; i++) {
		rig->cq[i] = ib_alloc_cq(rig->dev, rig, CQ_ENTRIES, 0, ctx);
		TRY(PTR_ERR_OR_ZERO(rig->cq[i]));
		rig->buf[i] = kmalloc(BUF_SIZE, GFP_KERNEL);
		if (!rig->buf[i])
			return -ENOMEM;
		rig->dma[i] = ib_dma_map_single(rig->dev, rig->buf[i], BUF_SIZE,
						DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(rig->dev, rig->dma[i])) {
			rig->dma[i] = 0;
			return -ENOMEM;
		}
		rig->qp[i] = make_qp(rig, type, rig->cq[i]);
		TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
	}
	return 0;
}

static int rig_up(struct rig *rig, enum ib_qp_type type, enum ib_poll_context ctx)
{
	struct ib_port_attr port;
	int err;

	err = ib_query_port(rig->dev, 1, &port);
	if (err)
		return err;
	rig->lid = port.lid;
	err = rig_alloc(rig, type, ctx);
	return err ?: connect(rig);
}

/* ---- requests and completions -------------------------------------------------- */

static u8 pattern(unsigned int seed, unsigned int i)
{
	return i * 7 + (i >> 8) + seed;
}

static void fill(u8 *buf, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		buf[i] = pattern(seed, i);
}

static bool matches(const u8 *buf, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if (buf[i] != pattern(seed, i))
			return false;
	return true;
}

static struct ib_sge sge_at(struct rig *rig, int side, unsigned int off, unsigned int len)
{
	return (struct ib_sge){
		.addr = rig->dma[side] + off,
		.length = len,
		.lkey = rig->pd->local_dma_lkey,
	};
}

static int post_recv(struct rig *rig, int side, unsigned int off, unsigned int len, u64 wr_id)
{
	struct ib_sge sge = sge_at(rig, side, off, len);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(rig->qp[side], &wr, NULL);
}

static int post_rdma(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 raddr,
		     u32 rkey, u64 wr_id)
{
	struct ib_sge sge = sge_at(rig, 0, 0, len);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = wr_id,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
			.ex.imm_data = cpu_to_be32(0x01020304),
		},
		.remote_addr = raddr,
		.rkey = rkey,
	};

	return ib_post_send(rig->qp[0], &wr.wr, NULL);
}

static int post_send(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 wr_id)
{
	return post_rdma(rig, opcode, len, 0, 0, wr_id);
}

/* Wait for a completion of IB_POLL_DIRECT. Returns 0, or -ETIMEDOUT. */
static int reap(struct rig *rig, int side, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);

	memset(wc, 0, sizeof(*wc));
	do {
		if (ib_poll_cq(rig->cq[side], 1, wc) == 1)
			return 0;
		cond_resched();
	} while (time_before(jiffies, end));
	snprintf(report, sizeof(report), "no completion on CQ %d\n", side);
	return -EREMOTEIO;
}

#define REAP(rig, side, id, wc) do {						\
	TRY(reap(rig, side, wc));						\
	EXPECT_EQ(IB_WC_SUCCESS, (wc)->status);					\
	EXPECT_EQ(id, (wc)->wr_id);						\
	EXPECT((wc)->qp == (rig)->qp[side]);					\
} while (0)

static bool idle(struct rig *rig)
{
	struct ib_wc wc;

	return !ib_poll_cq(rig->cq[0], 1, &wc) && !ib_poll_cq(rig->cq[1], 1, &wc);
}

/* Make the region, if there is none, and put a part of the second buffer into its list. */
static int map_region(struct rig *rig, unsigned int off, unsigned int len)
{
	struct scatterlist sg;

	if (!rig->mr)
		rig->mr = ib_alloc_mr(rig->pd, IB_MR_TYPE_MEM_REG, BUF_PAGES);
	TRY(PTR_ERR_OR_ZERO(rig->mr));
	sg_init_table(&sg, 1);
	sg_set_page(&sg, virt_to_page(rig->buf[1]), len, offset_in_page(rig->buf[1]) + off);
	sg_dma_address(&sg) = rig->dma[1] + off;
	sg_dma_len(&sg) = len;
	EXPECT_EQ(1, ib_map_mr_sg(rig->mr, &sg, 1, NULL, PAGE_SIZE));
	ib_update_fast_reg_key(rig->mr, ib_inc_rkey(rig->mr->rkey));
	return 0;
}

/* The queue pair that owns the memory opens the region, and tells when that is done. */
static int open_region(struct rig *rig, int access, u64 wr_id)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = rig->mr,
		.key = rig->mr->rkey,
		.access = access,
	};
	struct ib_wc wc;

	TRY(ib_post_send(rig->qp[1], &wr.wr, NULL));
	REAP(rig, 1, wr_id, &wc);
	EXPECT_EQ(IB_WC_REG_MR, wc.opcode);
	return 0;
}

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
		    IB_ACCESS_REMOTE_ATOMIC)

static int make_region(struct rig *rig, unsigned int off, unsigned int len)
{
	TRY(map_region(rig, off, len));
	return open_region(rig, ALL_ACCESS, 999);
}

/* ---- tests: sends -------------------------------------------------------------- */

static int test_send(struct rig *rig)
{
	struct ib_wc wc;

	fill(rig->buf[0], 3000, 1);
	memset(rig->buf[1], 0, BUF_SIZE);
	TRY(post_recv(rig, 1, 0, 4096, 10));
	TRY(post_send(rig, IB_WR_SEND, 3000, 20));
	REAP(rig, 0, 20, &wc);
	EXPECT_EQ(IB_WC_SEND, wc.opcode);
	REAP(rig, 1, 10, &wc);
	EXPECT_EQ(IB_WC_RECV, wc.opcode);
	EXPECT_EQ(3000, wc.byte_len);
	EXPECT_EQ(0, wc.wc_flags & IB_WC_WITH_IMM);
	EXPECT(matches(rig->buf[1], 3000, 1));
	EXPECT_EQ(0, rig->buf[1][3000]);
	return 0;
}

static int test_send_imm(struct rig *rig)
{
	struct ib_wc wc;

	fill(rig->buf[0], 100, 2);
	TRY(post_recv(rig, 1, 0, 4096, 11));
	TRY(post_send(rig, IB_WR_SEND_WITH_IMM, 100, 21));
	REAP(rig, 0, 21, &wc);
	EXPECT_EQ(IB_WC_SEND, wc.opcode);
	REAP(rig, 1, 11, &wc);
	EXPECT_EQ(IB_WC_RECV, wc.opcode);
	EXPECT(wc.wc_flags & IB_WC_WITH_IMM);
	EXPECT_EQ(0x01020304, be32_to_cpu(wc.ex.imm_data));
	EXPECT(matches(rig->buf[1], 100, 2));
	return 0;
}

static int test_empty(struct rig *rig)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .wr_id = 5 };
	struct ib_wc wc;

	TRY(post_recv(rig, 1, 0, 4096, 6));
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	REAP(rig, 0, 5, &wc);
	REAP(rig, 1, 6, &wc);
	EXPECT_EQ(0, wc.byte_len);
	/* Segments without data are not 2 GiB. */
	TRY(post_recv(rig, 1, 0, 4096, 7));
	TRY(post_send(rig, IB_WR_SEND, 0, 8));
	REAP(rig, 0, 8, &wc);
	REAP(rig, 1, 7, &wc);
	EXPECT_EQ(0, wc.byte_len);
	return 0;
}

static int test_inline(struct rig *rig)
{
	struct ib_sge sge[2];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 2,
	};
	unsigned int len;
	struct ib_wc wc;

	for (len = 1; len <= MAX_INLINE; len++) {
		fill(rig->buf[0], len, len);
		sge[0] = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0], .length = len / 2 };
		sge[1] = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0] + len / 2,
					  .length = len - len / 2 };
		wr.wr_id = len;
		TRY(post_recv(rig, 1, 0, 4096, len));
		TRY(ib_post_send(rig->qp[0], &wr, NULL));
		/* The request has the data. */
		memset(rig->buf[0], 0, len);
		REAP(rig, 0, len, &wc);
		REAP(rig, 1, len, &wc);
		EXPECT_EQ(len, wc.byte_len);
		EXPECT(matches(rig->buf[1], len, len));
	}
	return 0;
}

static int test_gather_and_scatter(struct rig *rig)
{
	struct ib_sge from[MAX_SGE], to[MAX_SGE];
	struct ib_recv_wr rwr = { .wr_id = 2, .sg_list = to, .num_sge = MAX_SGE };
	struct ib_send_wr swr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = from,
		.num_sge = MAX_SGE,
	};
	struct ib_wc wc;
	int i;

	fill(rig->buf[0], 4096, 3);
	memset(rig->buf[1], 0, BUF_SIZE);
	for (i = 0; i < MAX_SGE; i++) {
		from[i] = sge_at(rig, 0, i * 500, 500);
		to[i] = sge_at(rig, 1, i * 600, 600);
	}
	TRY(ib_post_recv(rig->qp[1], &rwr, NULL));
	TRY(ib_post_send(rig->qp[0], &swr, NULL));
	REAP(rig, 0, 1, &wc);
	REAP(rig, 1, 2, &wc);
	EXPECT_EQ(2000, wc.byte_len);
	EXPECT(matches(rig->buf[1], 2000, 3));
	return 0;
}

/* Requests of one to three blocks go round the queue several times, and one in seven completes. */
static int test_queue_wraps(struct rig *rig)
{
	unsigned int i, len, done = 0;
	struct ib_sge sge;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;

	fill(rig->buf[0], 4096, 4);
	for (i = 0; i < 1000; i++) {
		len = i % 3 ? i % 64 + 1 : 300;
		if (i % 3) {
			sge = (struct ib_sge){ .addr = (uintptr_t)rig->buf[0], .length = len };
			wr.send_flags = IB_SEND_INLINE;
		} else {
			sge = sge_at(rig, 0, 0, len);
			wr.send_flags = 0;
		}
		if (i % 7 == 6)
			wr.send_flags |= IB_SEND_SIGNALED;
		wr.wr_id = i;
		TRY(post_recv(rig, 1, 0, 4096, i));
		TRY(ib_post_send(rig->qp[0], &wr, NULL));
		REAP(rig, 1, i, &wc);
		EXPECT_EQ(len, wc.byte_len);
		EXPECT(matches(rig->buf[1], len, 4));
		if (i % 7 == 6) {
			REAP(rig, 0, i, &wc);
			done++;
		}
	}
	EXPECT_EQ(1000 / 7, done);
	EXPECT(idle(rig));
	return 0;
}

static int test_chain(struct rig *rig)
{
	struct ib_send_wr swr[8] = {};
	struct ib_recv_wr rwr[8] = {};
	struct ib_sge from[8], to[8];
	struct ib_wc wc;
	int i;

	fill(rig->buf[0], 4096, 5);
	for (i = 0; i < 8; i++) {
		from[i] = sge_at(rig, 0, 0, 100 + i);
		to[i] = sge_at(rig, 1, i * 512, 512);
		swr[i].opcode = IB_WR_SEND;
		swr[i].send_flags = IB_SEND_SIGNALED;
		swr[i].wr_id = i;
		swr[i].sg_list = &from[i];
		swr[i].num_sge = 1;
		swr[i].next = i < 7 ? &swr[i + 1] : NULL;
		rwr[i].wr_id = 100 + i;
		rwr[i].sg_list = &to[i];
		rwr[i].num_sge = 1;
		rwr[i].next = i < 7 ? &rwr[i + 1] : NULL;
	}
	TRY(ib_post_recv(rig->qp[1], rwr, NULL));
	TRY(ib_post_send(rig->qp[0], swr, NULL));
	for (i = 0; i < 8; i++) {
		REAP(rig, 0, i, &wc);
		REAP(rig, 1, 100 + i, &wc);
		EXPECT_EQ(100 + i, wc.byte_len);
		EXPECT(matches(rig->buf[1] + i * 512, 100 + i, 5));
	}
	return 0;
}

/* ---- tests: remote memory ------------------------------------------------------ */

static int test_write_and_read(struct rig *rig)
{
	unsigned int off = 100, len = 3 * PAGE_SIZE;
	struct ib_wc wc;

	TRY(make_region(rig, off, len));
	fill(rig->buf[0], len, 6);
	memset(rig->buf[1], 0, BUF_SIZE);
	TRY(post_rdma(rig, IB_WR_RDMA_WRITE, len, rig->mr->iova, rig->mr->rkey, 30));
	REAP(rig, 0, 30, &wc);
	EXPECT_EQ(IB_WC_RDMA_WRITE, wc.opcode);
	EXPECT(matches(rig->buf[1] + off, len, 6));
	EXPECT_EQ(0, rig->buf[1][off - 1]);
	EXPECT_EQ(0, rig->buf[1][off + len]);
	memset(rig->buf[0], 0, BUF_SIZE);
	TRY(post_rdma(rig, IB_WR_RDMA_READ, len, rig->mr->iova, rig->mr->rkey, 31));
	REAP(rig, 0, 31, &wc);
	EXPECT_EQ(IB_WC_RDMA_READ, wc.opcode);
	EXPECT_EQ(len, wc.byte_len);
	EXPECT(matches(rig->buf[0], len, 6));
	TRY(post_recv(rig, 1, 0, 0, 12));
	TRY(post_rdma(rig, IB_WR_RDMA_WRITE_WITH_IMM, 64, rig->mr->iova, rig->mr->rkey, 32));
	REAP(rig, 0, 32, &wc);
	EXPECT_EQ(IB_WC_RDMA_WRITE, wc.opcode);
	REAP(rig, 1, 12, &wc);
	EXPECT_EQ(IB_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(64, wc.byte_len);
	EXPECT_EQ(0x01020304, be32_to_cpu(wc.ex.imm_data));
	return 0;
}

static int post_atomic(struct rig *rig, struct ib_atomic_wr wr, u64 wr_id)
{
	struct ib_sge sge = sge_at(rig, 0, 0, 8);

	wr.wr.wr_id = wr_id;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = rig->mr->iova;
	wr.rkey = rig->mr->rkey;
	return ib_post_send(rig->qp[0], &wr.wr, NULL);
}

static int test_atomics(struct rig *rig)
{
	u64 *here = (u64 *)rig->buf[0], *there = (u64 *)rig->buf[1];
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	*there = 40;
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 2,
	}, 1));
	REAP(rig, 0, 1, &wc);
	EXPECT_EQ(IB_WC_FETCH_ADD, wc.opcode);
	EXPECT_EQ(8, wc.byte_len);
	EXPECT_EQ(40, *here);
	EXPECT_EQ(42, *there);
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP, .compare_add = 42, .swap = 77,
	}, 2));
	REAP(rig, 0, 2, &wc);
	EXPECT_EQ(IB_WC_COMP_SWAP, wc.opcode);
	EXPECT_EQ(42, *here);
	EXPECT_EQ(77, *there);
	TRY(post_atomic(rig, (struct ib_atomic_wr){
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP, .compare_add = 42, .swap = 88,
	}, 3));
	REAP(rig, 0, 3, &wc);
	EXPECT_EQ(77, *here);
	EXPECT_EQ(77, *there);
	return 0;
}

/* Requests that do not wait open a region, use it, invalidate it and open it over other memory. */
static int test_region_without_waiting(struct rig *rig)
{
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	struct ib_sge sge = sge_at(rig, 1, 0, 64);
	struct ib_reg_wr reg = { .wr = { .opcode = IB_WR_REG_MR } };
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;
	u32 old;
	int i;

	TRY(make_region(rig, 0, PAGE_SIZE));
	for (i = 0; i < 100; i++) {
		old = rig->mr->rkey;
		TRY(map_region(rig, (i % 4) * PAGE_SIZE + 8 * i, PAGE_SIZE));
		inv.ex.invalidate_rkey = old;
		inv.next = &reg.wr;
		reg.mr = rig->mr;
		reg.key = rig->mr->rkey;
		reg.access = ALL_ACCESS;
		reg.wr.next = &send;
		/* The data is sent from the region. */
		sge = (struct ib_sge){ .addr = rig->mr->iova, .length = 64, .lkey = reg.key };
		send.wr_id = i;
		fill(rig->buf[1] + (i % 4) * PAGE_SIZE + 8 * i, 64, i);
		TRY(post_recv(rig, 0, 0, 4096, 1000 + i));
		TRY(ib_post_send(rig->qp[1], &inv, NULL));
		REAP(rig, 1, i, &wc);
		REAP(rig, 0, 1000 + i, &wc);
		EXPECT(matches(rig->buf[0], 64, i));
	}
	EXPECT(idle(rig));
	return 0;
}

static int expect_no_access(struct rig *rig, u32 rkey)
{
	struct ib_wc wc;

	TRY(post_rdma(rig, IB_WR_RDMA_WRITE, 64, rig->mr->iova, rkey, 50));
	TRY(reap(rig, 0, &wc));
	EXPECT_EQ(50, wc.wr_id);
	EXPECT_EQ(IB_WC_REM_ACCESS_ERR, wc.status);
	return 0;
}

static int test_local_invalidate(struct rig *rig)
{
	struct ib_send_wr wr = {
		.wr_id = 40, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	wr.ex.invalidate_rkey = rig->mr->rkey;
	TRY(ib_post_send(rig->qp[1], &wr, NULL));
	REAP(rig, 1, 40, &wc);
	EXPECT_EQ(IB_WC_LOCAL_INV, wc.opcode);
	return expect_no_access(rig, rig->mr->rkey);
}

static int test_remote_invalidate(struct rig *rig)
{
	struct ib_sge sge = sge_at(rig, 0, 0, 16);
	struct ib_send_wr wr = {
		.wr_id = 41, .opcode = IB_WR_SEND_WITH_INV, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;

	TRY(make_region(rig, 0, PAGE_SIZE));
	TRY(post_recv(rig, 1, PAGE_SIZE, 4096, 42));
	wr.ex.invalidate_rkey = rig->mr->rkey;
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	REAP(rig, 0, 41, &wc);
	REAP(rig, 1, 42, &wc);
	EXPECT(wc.wc_flags & IB_WC_WITH_INVALIDATE);
	EXPECT_EQ(rig->mr->rkey, wc.ex.invalidate_rkey);
	return expect_no_access(rig, rig->mr->rkey);
}

static int test_rights(struct rig *rig)
{
	TRY(map_region(rig, 0, PAGE_SIZE));
	TRY(open_region(rig, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ, 1));
	return expect_no_access(rig, rig->mr->rkey);
}

/* ---- tests: datagrams ---------------------------------------------------------- */

static int test_datagram(struct rig *rig)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };
	struct ib_sge sge = sge_at(rig, 0, 0, 500);
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
	fill(rig->buf[0], 500, 9);
	err = post_recv(rig, 1, 0, 4096, 2) ?: ib_post_send(rig->qp[0], &wr.wr, NULL) ?:
	      reap(rig, 0, &wc);
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
	EXPECT(matches(rig->buf[1] + GRH_BYTES, 500, 9));
	return 0;
}

/* ---- tests: errors ------------------------------------------------------------- */

static int test_bad_requests(struct rig *rig)
{
	struct ib_sge sge[MAX_SGE + 16];
	struct ib_send_wr first = { .opcode = IB_WR_SEND, .wr_id = 1 };
	struct ib_send_wr second = { .opcode = IB_WR_SEND, .wr_id = 2, .sg_list = sge,
				     .num_sge = ARRAY_SIZE(sge) };
	struct ib_recv_wr rwr = { .sg_list = sge, .num_sge = ARRAY_SIZE(sge) };
	const struct ib_send_wr *bad = NULL;
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = sge_at(rig, 0, 0, 8);
	first.send_flags = IB_SEND_SIGNALED;
	first.next = &second;
	TRY(post_recv(rig, 1, 0, 4096, 3));
	EXPECT(ib_post_send(rig->qp[0], &first, &bad) < 0);
	EXPECT(bad == &second);
	/* The one before it has been posted. */
	REAP(rig, 0, 1, &wc);
	REAP(rig, 1, 3, &wc);
	first.next = NULL;
	first.sg_list = sge;
	first.num_sge = ARRAY_SIZE(sge);
	EXPECT(ib_post_send(rig->qp[0], &first, &bad) < 0);
	EXPECT(bad == &first);
	EXPECT(ib_post_recv(rig->qp[0], &rwr, &bad_recv) < 0);
	EXPECT(bad_recv == &rwr);
	EXPECT(idle(rig));
	return test_send(rig);
}

static int test_full_queues(struct rig *rig)
{
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	unsigned int i, sent, most;
	struct ib_wc wc;

	TRY(ib_query_qp(rig->qp[0], &attr, IB_QP_CAP, &init));
	EXPECT(init.cap.max_send_wr >= MAX_WR);
	EXPECT(init.cap.max_recv_wr >= MAX_WR);
	/* Nothing is received, so the queue fills. Requests without data take a block each. */
	most = 16 * init.cap.max_send_wr;
	for (sent = 0; sent < most && !post_send(rig, IB_WR_SEND, 4, sent); sent++)
		;
	EXPECT(sent >= init.cap.max_send_wr);
	EXPECT(sent < most);
	for (i = 0; i < init.cap.max_recv_wr; i++)
		TRY(post_recv(rig, 1, 0, 64, i));
	EXPECT_EQ(-ENOMEM, post_recv(rig, 1, 0, 64, i));
	for (i = 0; i < sent; i++) {
		REAP(rig, 1, i % init.cap.max_recv_wr, &wc);
		REAP(rig, 0, i, &wc);
		TRY(post_recv(rig, 1, 0, 64, i % init.cap.max_recv_wr));
	}
	return 0;
}

static int test_local_error(struct rig *rig)
{
	struct ib_sge sge = { .addr = rig->dma[0], .length = 64, .lkey = 0x12345600 };
	struct ib_send_wr wr = {
		.wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	};
	struct ib_wc wc;
	int i;

	TRY(post_recv(rig, 1, 0, 4096, 9));
	TRY(ib_post_send(rig->qp[0], &wr, NULL));
	for (i = 0; i < 3; i++)
		TRY(post_send(rig, IB_WR_SEND, 8, 2 + i));
	TRY(reap(rig, 0, &wc));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(IB_WC_LOC_PROT_ERR, wc.status);
	for (i = 0; i < 3; i++) {
		TRY(reap(rig, 0, &wc));
		EXPECT_EQ(2 + i, wc.wr_id);
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, wc.status);
	}
	return 0;
}

static int test_reset(struct rig *rig)
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	int i;

	TRY(test_send(rig));
	/* Completions that nobody has polled, and requests that have not completed. */
	for (i = 0; i < 5; i++)
		TRY(post_recv(rig, 1, 0, 4096, i));
	for (i = 0; i < 3; i++)
		TRY(post_send(rig, IB_WR_SEND, 64, i));
	msleep(50);
	for (i = 0; i < NUM_QPS; i++)
		TRY(ib_modify_qp(rig->qp[i], &reset, IB_QP_STATE));
	EXPECT(idle(rig));
	TRY(connect(rig));
	return test_send(rig);
}

/* Queue pairs that are destroyed leave no completions to those that get their numbers. */
static int test_destroy(struct rig *rig)
{
	int i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 5; i++)
			TRY(post_recv(rig, 1, 0, 4096, i));
		for (i = 0; i < 5; i++)
			TRY(post_send(rig, IB_WR_SEND, 64, i));
		if (round % 2)
			msleep(20);
		for (i = 0; i < NUM_QPS; i++) {
			TRY(ib_destroy_qp(rig->qp[i]));
			rig->qp[i] = NULL;
		}
		EXPECT(idle(rig));
		for (i = 0; i < NUM_QPS; i++) {
			rig->qp[i] = make_qp(rig, IB_QPT_RC, rig->cq[i]);
			TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
		}
		TRY(connect(rig));
		TRY(test_send(rig));
	}
	return 0;
}

/* ---- tests: events ------------------------------------------------------------- */

struct waiter {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void waiter_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct waiter *waiter = container_of(wc->wr_cqe, struct waiter, cqe);

	waiter->status = wc->status;
	complete(&waiter->done);
}

static void waiter_init(struct waiter *waiter)
{
	waiter->cqe.done = waiter_done;
	init_completion(&waiter->done);
}

static int wait_for(struct waiter *waiter)
{
	EXPECT(wait_for_completion_timeout(&waiter->done, msecs_to_jiffies(TIMEOUT_MS)));
	return 0;
}

/* With a CQ that ib_core polls when there is an event. */
static int test_events(struct rig *rig)
{
	struct waiter sent, received;
	int i;

	for (i = 0; i < 200; i++) {
		waiter_init(&sent);
		waiter_init(&received);
		fill(rig->buf[0], 64, i);
		TRY(post_recv(rig, 1, 0, 4096, (uintptr_t)&received.cqe));
		TRY(post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe));
		TRY(wait_for(&sent));
		TRY(wait_for(&received));
		EXPECT_EQ(IB_WC_SUCCESS, sent.status);
		EXPECT_EQ(IB_WC_SUCCESS, received.status);
		EXPECT(matches(rig->buf[1], 64, i));
	}
	return 0;
}

static int test_drain(struct rig *rig)
{
	struct waiter received[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(received); i++) {
		waiter_init(&received[i]);
		TRY(post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe));
	}
	ib_drain_qp(rig->qp[1]);
	for (i = 0; i < ARRAY_SIZE(received); i++) {
		EXPECT(try_wait_for_completion(&received[i].done));
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, received[i].status);
	}
	return 0;
}

/*
 * Send until a request fails, because somebody lets the device fail. Then everything that is
 * posted is flushed; what is posted later is flushed, too, or refused; and the queues can be
 * drained.
 */
static int test_until_failure(struct rig *rig)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);
	struct waiter received[8], sent;
	unsigned int i, n = 0;
	int err;

	for (i = 0; i < ARRAY_SIZE(received); i++) {
		waiter_init(&received[i]);
		TRY(post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe));
	}
	do {
		EXPECT(time_before(jiffies, end));
		waiter_init(&sent);
		sent.status = IB_WC_WR_FLUSH_ERR;
		err = post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe);
		if (!err)
			TRY(wait_for(&sent));
		if (sent.status)
			break;
		i = n++ % ARRAY_SIZE(received);
		TRY(wait_for(&received[i]));
		waiter_init(&received[i]);
		err = post_recv(rig, 1, 0, 4096, (uintptr_t)&received[i].cqe);
		if (err)
			complete(&received[i].done);
	} while (!err);
	EXPECT(!err || err == -EIO);
	EXPECT_EQ(IB_WC_WR_FLUSH_ERR, sent.status ?: IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < ARRAY_SIZE(received); i++)
		TRY(wait_for(&received[i]));
	waiter_init(&sent);
	err = post_send(rig, IB_WR_SEND, 64, (uintptr_t)&sent.cqe);
	EXPECT(!err || err == -EIO);
	if (!err) {
		TRY(wait_for(&sent));
		EXPECT_EQ(IB_WC_WR_FLUSH_ERR, sent.status);
	}
	ib_drain_qp(rig->qp[0]);
	ib_drain_qp(rig->qp[1]);
	return 0;
}

static void count_event(struct ib_cq *cq, void *context)
{
	complete(context);
}

/* A CQ that is armed for solicited completions stays quiet for others. */
static int test_solicited(struct rig *rig)
{
	struct ib_cq_init_attr attr = { .cqe = CQ_ENTRIES };
	struct ib_sge sge = sge_at(rig, 0, 0, 8);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct completion event;
	struct ib_qp *old;
	struct ib_cq *cq;
	struct ib_wc wc;
	int err;

	init_completion(&event);
	cq = ib_create_cq(rig->dev, count_event, NULL, &event, &attr);
	TRY(PTR_ERR_OR_ZERO(cq));
	old = rig->qp[1];
	rig->qp[1] = make_qp(rig, IB_QPT_RC, cq);
	err = PTR_ERR_OR_ZERO(rig->qp[1]) ?: modify(rig->qp[0], (struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, 0) ?: connect(rig) ?: post_recv(rig, 1, 0, 64, 1) ?:
		post_recv(rig, 1, 0, 64, 2);
	if (!err) {
		ib_req_notify_cq(cq, IB_CQ_SOLICITED);
		err = ib_post_send(rig->qp[0], &wr, NULL);
	}
	if (!err && wait_for_completion_timeout(&event, HZ / 5))
		err = failed(__LINE__, "events", 1, 0);
	wr.send_flags = IB_SEND_SOLICITED;
	err = err ?: ib_post_send(rig->qp[0], &wr, NULL);
	if (!err && !wait_for_completion_timeout(&event, msecs_to_jiffies(TIMEOUT_MS)))
		err = failed(__LINE__, "events", 0, 1);
	/* The completions are there already, so the event is due. */
	if (!err && ib_req_notify_cq(cq, IB_CQ_NEXT_COMP) < 0)
		err = failed(__LINE__, "arming", 0, 1);
	if (!err && !wait_for_completion_timeout(&event, msecs_to_jiffies(TIMEOUT_MS)))
		err = failed(__LINE__, "events", 0, 1);
	if (!err && (ib_poll_cq(cq, 1, &wc) != 1 || ib_poll_cq(cq, 1, &wc) != 1))
		err = failed(__LINE__, "completions", 0, 2);
	if (!err)
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	if (!err && wait_for_completion_timeout(&event, HZ / 5))
		err = failed(__LINE__, "events", 1, 0);
	if (!IS_ERR_OR_NULL(rig->qp[1]))
		ib_destroy_qp(rig->qp[1]);
	rig->qp[1] = old;
	ib_destroy_cq(cq);
	return err;
}

/* ---- the list ------------------------------------------------------------------ */

static const struct test {
	const char *name;
	int (*run)(struct rig *rig);
	enum ib_qp_type type;
	enum ib_poll_context ctx;
} tests[] = {
	{ "rc_send", test_send, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_send_imm", test_send_imm, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_empty", test_empty, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_inline", test_inline, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_gather_and_scatter", test_gather_and_scatter, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_queue_wraps", test_queue_wraps, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_chain", test_chain, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_write_and_read", test_write_and_read, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_atomics", test_atomics, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_region_without_waiting", test_region_without_waiting, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_local_invalidate", test_local_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_remote_invalidate", test_remote_invalidate, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_rights", test_rights, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_bad_requests", test_bad_requests, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_full_queues", test_full_queues, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_local_error", test_local_error, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_reset", test_reset, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_destroy", test_destroy, IB_QPT_RC, IB_POLL_DIRECT },
	{ "rc_events_softirq", test_events, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_events_workqueue", test_events, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_drain_softirq", test_drain, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_drain_workqueue", test_drain, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_until_failure_softirq", test_until_failure, IB_QPT_RC, IB_POLL_SOFTIRQ },
	{ "rc_until_failure_workqueue", test_until_failure, IB_QPT_RC, IB_POLL_WORKQUEUE },
	{ "rc_solicited", test_solicited, IB_QPT_RC, IB_POLL_DIRECT },
	{ "uc_send", test_send, IB_QPT_UC, IB_POLL_DIRECT },
	{ "uc_send_imm", test_send_imm, IB_QPT_UC, IB_POLL_DIRECT },
	{ "uc_inline", test_inline, IB_QPT_UC, IB_POLL_DIRECT },
	{ "ud_datagram", test_datagram, IB_QPT_UD, IB_POLL_DIRECT },
};

static int run_test(const char *name)
{
	struct rig rig = { .dev = device };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, name))
			break;
	if (i == ARRAY_SIZE(tests))
		return -ENOENT;
	if (!device)
		return -ENODEV;
	report[0] = 0;
	err = rig_up(&rig, tests[i].type, tests[i].ctx);
	if (!err)
		err = tests[i].run(&rig);
	rig_down(&rig);
	if (err && err != -EOPNOTSUPP && !report[0])
		snprintf(report, sizeof(report), "error %d\n", err);
	return err;
}

static ssize_t kernel_verbs_write(struct file *file, const char __user *user, size_t len,
				  loff_t *pos)
{
	char name[64] = {};
	int err;

	if (len >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, user, len))
		return -EFAULT;
	guard(mutex)(&lock);
	err = run_test(strim(name));
	return err ?: len;
}

static ssize_t kernel_verbs_read(struct file *file, char __user *user, size_t len, loff_t *pos)
{
	guard(mutex)(&lock);
	return simple_read_from_buffer(user, len, pos, report, strlen(report));
}

static const struct file_operations kernel_verbs_fops = {
	.owner = THIS_MODULE,
	.read = kernel_verbs_read,
	.write = kernel_verbs_write,
};

static struct miscdevice kernel_verbs_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kernel_verbs",
	.fops = &kernel_verbs_fops,
	.mode = 0600,
};

static int kernel_verbs_add(struct ib_device *dev)
{
	guard(mutex)(&lock);
	if (!device)
		device = dev;
	return 0;
}

static void kernel_verbs_remove(struct ib_device *dev, void *data)
{
	guard(mutex)(&lock);
	if (device == dev)
		device = NULL;
}

static struct ib_client kernel_verbs_client = {
	.name = "kernel_verbs",
	.add = kernel_verbs_add,
	.remove = kernel_verbs_remove,
};

static int __init kernel_verbs_init(void)
{
	int err = ib_register_client(&kernel_verbs_client);

	if (err)
		return err;
	err = misc_register(&kernel_verbs_device);
	if (err)
		ib_unregister_client(&kernel_verbs_client);
	return err;
}

static void __exit kernel_verbs_exit(void)
{
	misc_deregister(&kernel_verbs_device);
	ib_unregister_client(&kernel_verbs_client);
}

module_init(kernel_verbs_init);
module_exit(kernel_verbs_exit);

MODULE_DESCRIPTION("kernel verbs on one device, for tests");
MODULE_LICENSE("GPL");
