// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of kernel verbs have in common: a device with two queue pairs that are connected
 * to each other, and functions that post requests and wait for completions.
 */

#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/if_inet6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "rig.h"

#define HOP_LIMIT	64

char rig_report[256];

int rig_failed(const char *file, int line, const char *what, long long got, long long want)
{
	snprintf(rig_report, sizeof(rig_report), "%s line %d: %s is %lld, not %lld\n",
		 kbasename(file), line, what, got, want);
	return -EREMOTEIO;
}

/* ---- the rig ------------------------------------------------------------------- */

int rig_modify(struct ib_qp *qp, struct ib_qp_attr attr, int mask)
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
		return rig_modify(qp, attr, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	if (qp->qp_type == IB_QPT_RC)
		attr.qp_access_flags |= IB_ACCESS_REMOTE_READ;
	if (qp->qp_type == IB_QPT_RC && qp->device->attrs.atomic_cap != IB_ATOMIC_NONE)
		attr.qp_access_flags |= IB_ACCESS_REMOTE_ATOMIC;
	return rig_modify(qp, attr, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/* The address of the port itself. The RDMA core does not look up a MAC for kernel consumers. */
void rig_address(struct rig *rig, struct rdma_ah_attr *attr)
{
	*attr = (struct rdma_ah_attr){ .type = rdma_ah_find_type(rig->dev, 1) };
	rdma_ah_set_port_num(attr, 1);
	if (!rig->roce) {
		rdma_ah_set_dlid(attr, rig->lid);
		return;
	}
	rdma_ah_set_grh(attr, &rig->gid, 0, rig->gid_index, HOP_LIMIT, 0);
	ether_addr_copy(attr->roce.dmac, rig->mac);
}

static int to_rtr(struct rig *rig, struct ib_qp *qp, struct ib_qp *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = min(READS, qp->device->attrs.max_qp_rd_atom),
		.min_rnr_timer = 1,
	};
	int mask = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;

	if (qp->qp_type == IB_QPT_UD)
		return rig_modify(qp, attr, 0);
	rig_address(rig, &attr.ah_attr);
	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return rig_modify(qp, attr, mask);
}

static int to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = min(READS, qp->device->attrs.max_qp_init_rd_atom),
	};
	int mask = IB_QP_SQ_PSN;

	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
	return rig_modify(qp, attr, mask);
}

int rig_connect_pair(struct rig *rig, struct ib_qp *const qp[NUM_QPS])
{
	int i, err = 0;

	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_init(qp[i]);
	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_rtr(rig, qp[i], qp[!i]);
	for (i = 0; i < NUM_QPS && !err; i++)
		err = to_rts(qp[i]);
	return err;
}

int rig_connect(struct rig *rig)
{
	return rig_connect_pair(rig, rig->qp);
}

static void qp_event(struct ib_event *event, void *context)
{
	struct rig *rig = context;
	int i;

	for (i = 0; i < NUM_QPS; i++)
		if (event->event == IB_EVENT_QP_LAST_WQE_REACHED && event->element.qp == rig->qp[i])
			complete(&rig->last_wqe[i]);
}

/* The queue pairs receive from the SRQ, if there is one. */
struct ib_qp *rig_make_qp_on(struct rig *rig, enum ib_qp_type type, struct ib_cq *send_cq,
			     struct ib_cq *recv_cq)
{
	struct ib_qp_init_attr init = {
		.qp_type = type,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = {
			.max_send_wr = MAX_WR,
			.max_recv_wr = rig->srq ? 0 : MAX_WR,
			.max_send_sge = MAX_SGE,
			.max_recv_sge = rig->srq ? 0 : MAX_SGE,
			.max_inline_data = MAX_INLINE,
		},
		.srq = rig->srq,
		.event_handler = qp_event,
		.qp_context = rig,
	};

	return ib_create_qp(rig->pd, &init);
}

struct ib_qp *rig_make_qp(struct rig *rig, enum ib_qp_type type, struct ib_cq *cq)
{
	return rig_make_qp_on(rig, type, cq, cq);
}

static void srq_event(struct ib_event *event, void *context)
{
	struct rig *rig = context;

	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED && event->element.srq == rig->srq)
		complete(&rig->limit);
}

static int make_srq(struct rig *rig)
{
	struct ib_srq_init_attr init = {
		.event_handler = srq_event,
		.srq_context = rig,
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = SRQ_WR, .max_sge = SRQ_SGE },
	};
	struct ib_srq *srq = ib_create_srq(rig->pd, &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	rig->srq = srq;
	rig->srq_attr = init.attr;
	return 0;
}

void rig_down(struct rig *rig)
{
	int i;

	for (i = 0; i < NUM_QPS; i++)
		if (!IS_ERR_OR_NULL(rig->qp[i]))
			ib_destroy_qp(rig->qp[i]);
	if (rig->srq)
		ib_destroy_srq(rig->srq);
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

static int make_buf(struct rig *rig, int i)
{
	rig->buf[i] = kmalloc(BUF_SIZE, GFP_KERNEL);
	if (!rig->buf[i])
		return -ENOMEM;
	rig->dma[i] = ib_dma_map_single(rig->dev, rig->buf[i], BUF_SIZE, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(rig->dev, rig->dma[i]))
		return 0;
	rig->dma[i] = 0;
	return -ENOMEM;
}

static int rig_alloc(struct rig *rig, const struct rig_test *test)
{
	int i;

	rig->pd = ib_alloc_pd(rig->dev, 0);
	TRY(PTR_ERR_OR_ZERO(rig->pd));
	if (test->srq)
		TRY(make_srq(rig));
	for (i = 0; i < NUM_QPS; i++) {
		rig->cq[i] = ib_alloc_cq(rig->dev, rig, CQ_ENTRIES, 0, test->ctx);
		TRY(PTR_ERR_OR_ZERO(rig->cq[i]));
		if (!test->idle)
			TRY(make_buf(rig, i));
		rig->qp[i] = rig_make_qp(rig, test->type, rig->cq[i]);
		/* Kernel consumers cannot query which types of queue pairs a device has. */
		if (test->type == IB_QPT_UC && rig->qp[i] == ERR_PTR(-EOPNOTSUPP))
			LACKS("the device has no UC queue pairs");
		TRY(PTR_ERR_OR_ZERO(rig->qp[i]));
	}
	return 0;
}

/* Whether an entry of the GID table is the link-local address of RoCE version 2. */
static bool find_gid_at(struct rig *rig, int index)
{
	const struct ib_gid_attr *entry = rdma_get_gid_attr(rig->dev, 1, index);
	bool found;

	if (IS_ERR(entry))
		return false;
	found = entry->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		rdma_link_local_addr((struct in6_addr *)&entry->gid) &&
		!rdma_read_gid_l2_fields(entry, NULL, rig->mac);
	rig->gid = entry->gid;
	rig->gid_index = index;
	rdma_put_gid_attr(entry);
	return found;
}

/* ib_core adds this address when the port's netdev comes. */
static int find_gid(struct rig *rig, const struct ib_port_attr *port)
{
	int i;

	for (i = 0; i < port->gid_tbl_len; i++)
		if (find_gid_at(rig, i))
			return 0;
	return FAILED("index of a link-local GID", -1, 0);
}

int rig_up(struct rig *rig, const struct rig_test *test)
{
	struct ib_port_attr port;
	int i, err;

	init_completion(&rig->limit);
	for (i = 0; i < NUM_QPS; i++)
		init_completion(&rig->last_wqe[i]);

	err = ib_query_port(rig->dev, 1, &port);
	if (err)
		return err;
	rig->lid = port.lid;
	rig->roce = rdma_protocol_roce(rig->dev, 1);
	if (rig->roce)
		TRY(find_gid(rig, &port));
	err = rig_alloc(rig, test);
	return err ?: rig_connect(rig);
}

/* ---- requests and completions -------------------------------------------------- */

static u8 pattern(unsigned int seed, unsigned int i)
{
	return i * 7 + (i >> 8) + seed;
}

void fill_pattern(u8 *buf, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		buf[i] = pattern(seed, i);
}

bool has_pattern(const u8 *buf, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if (buf[i] != pattern(seed, i))
			return false;
	return true;
}

struct ib_sge rig_sge(struct rig *rig, int side, unsigned int off, unsigned int len)
{
	return (struct ib_sge){
		.addr = rig->dma[side] + off,
		.length = len,
		.lkey = rig->pd->local_dma_lkey,
	};
}

int rig_post_recv(struct rig *rig, int side, unsigned int off, unsigned int len, u64 wr_id)
{
	struct ib_sge sge = rig_sge(rig, side, off, len);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(rig->qp[side], &wr, NULL);
}

int rig_post_rdma(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 raddr,
		  u32 rkey, u64 wr_id)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, len);
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

int rig_post_send(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 wr_id)
{
	return rig_post_rdma(rig, opcode, len, 0, 0, wr_id);
}

struct ib_ah *rig_make_ah(struct rig *rig)
{
	struct rdma_ah_attr attr;

	rig_address(rig, &attr);
	return rdma_create_ah(rig->pd, &attr, 0);
}

/* The address of a multicast group, which only an InfiniBand port reaches by a LID. */
struct ib_ah *rig_make_group_ah(struct rig *rig, u16 mlid, union ib_gid *mgid)
{
	struct rdma_ah_attr attr;

	rig_address(rig, &attr);
	rdma_ah_set_grh(&attr, mgid, 0, rig->gid_index, 1, 0);
	if (rig->roce)
		ipv6_eth_mc_map((struct in6_addr *)mgid, attr.roce.dmac);
	else
		rdma_ah_set_dlid(&attr, mlid);
	return rdma_create_ah(rig->pd, &attr, 0);
}

/* The data is at the beginning of the first buffer. */
int rig_post_datagram(struct rig *rig, int from, struct ib_ah *ah, u32 qpn, unsigned int len,
		      u64 wr_id)
{
	struct ib_sge sge = rig_sge(rig, 0, 0, len);
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = wr_id,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = QKEY,
	};

	return ib_post_send(rig->qp[from], &wr.wr, NULL);
}

/* Wait for a completion on a CQ that the test itself polls (IB_POLL_DIRECT). */
int rig_reap(struct rig *rig, int side, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);

	memset(wc, 0, sizeof(*wc));
	do {
		if (ib_poll_cq(rig->cq[side], 1, wc) == 1)
			return 0;
		cond_resched();
	} while (time_before(jiffies, end));
	snprintf(rig_report, sizeof(rig_report), "no completion on CQ %d\n", side);
	return -EREMOTEIO;
}

bool rig_idle(struct rig *rig)
{
	struct ib_wc wc;

	return !ib_poll_cq(rig->cq[0], 1, &wc) && !ib_poll_cq(rig->cq[1], 1, &wc);
}

static void waiter_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct waiter *waiter = container_of(wc->wr_cqe, struct waiter, cqe);

	waiter->status = wc->status;
	complete(&waiter->done);
}

void waiter_init(struct waiter *waiter)
{
	waiter->cqe.done = waiter_done;
	init_completion(&waiter->done);
}

int wait_for(struct waiter *waiter)
{
	EXPECT(wait_for_completion_timeout(&waiter->done, msecs_to_jiffies(TIMEOUT_MS)));
	return 0;
}
