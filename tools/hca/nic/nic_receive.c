// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving.
 *
 * Theory: the port has received a frame that is for the vport. The steering rules find a TIR for
 * it, the TIR a receive queue, by a hash of the frame's headers if it is an indirect TIR. The frame
 * takes one WQE of the queue, whatever its length, and completes with one CQE. An Ethernet receiver
 * holds no sender back: a frame for which there is no rule, no WQE or no room in the WQE is
 * dropped, and counted once, by the reason.
 *
 * The buffers belong to software again as soon as it sees the CQE. So all of the frame is written
 * before the CQE, and nothing but the frame.
 */
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "csum.h"
#include "eth_frame.h"
#include "flow.h"
#include "frame.h"
#include "hca.h"
#include "mkey.h"
#include "nic_cqe.h"
#include "nic_receive.h"
#include "nic_rq.h"
#include "qcounter.h"
#include "rq.h"
#include "rss.h"
#include "sg.h"
#include "steer.h"
#include "tir.h"
#include "vlan.h"

/* A frame on its way to a queue. */
struct arrival {
	struct frame f;		/* as it is stored: perhaps without its outermost tag */
	struct rss rss;
	struct rss_hash hash;
	uint32_t flow_tag;
	bool stripped;
	uint16_t tci;		/* of the tag that was stripped */
	size_t fcs_len;		/* bytes of @fcs that are stored behind the frame */
	uint8_t fcs[FCS_BYTES];	/* of the frame on the wire */
};

static void nic_drop(struct hca *hca, uint64_t *counter, const char *why, uint32_t num)
{
	++*counter;
	hca_trace(hca, "frame_drop", "\"why\":\"%s\",\"num\":%u", why, num);
}

/* ---- the queue for a frame ------------------------------------------------------------------- */

static struct rss nic_rss(const struct tir *tir)
{
	struct rss rss = { .fn = (enum rss_fn)tir->hash_fn, .fields = tir->fields,
			   .symmetric = tir->symmetric };

	memcpy(rss.key, tir->key, sizeof(rss.key));
	return rss;
}

/*
 * Hash a frame by the fields that the TIR selects. The TIR says of which headers they are: a frame
 * with another IP version is not hashed, of one with another header behind it only the addresses.
 */
static void nic_hash(struct arrival *a, const struct tir *tir)
{
	const struct frame *f = &a->f;
	enum frame_l4 l4 = tir->l4 ? L4_UDP : L4_TCP;
	struct rss rss;

	a->rss = nic_rss(tir);
	rss = a->rss;
	if (f->ip_version != (tir->l3 ? 6 : 4))
		return;
	if (f->l4_type != l4)
		rss.fields &= ~(RSS_SPORT | RSS_DPORT);
	a->hash = rss_hash_frame(&rss, f);
}

/* Find the queue that a TIR chooses. Returns NULL, after it counted the frame, if there is none. */
static struct rq *nic_find_rq(struct hca *hca, struct arrival *a, uint32_t tirn)
{
	struct tir *tir = tir_find(hca, tirn);
	struct rq *rq;

	if (!tir) {
		nic_drop(hca, &hca->count.rx_steering_discards, "no TIR", tirn);
		return NULL;
	}
	nic_hash(a, tir);
	rq = tir_rq(hca, tir, a->hash.value);
	if (!rq || rq->state != RQ_RDY || !rq->nic) {
		nic_drop(hca, &hca->count.rx_queue_not_ready, "queue", rq ? rq->obj.num : 0);
		return NULL;
	}
	return rq;
}

/* ---- delivery -------------------------------------------------------------------------------- */

/*
 * Take the tag off that the driver expects in the CQE. Other HCAs may have the same frame, so it is
 * changed in a copy.
 */
static void nic_strip(struct arrival *a, const struct rq *rq, uint8_t *copy)
{
	const struct frame_tag tag = a->f.tag[0];
	size_t len = a->f.len;

	if (rq->vsd || !frame_has_tag(&a->f, ETYPE_CTAG))
		return;
	memcpy(copy, a->f.data, len);
	frame_parse(&a->f, vlan_strip(copy), len - TAG_BYTES, LENGTHS_OF_FRAME);
	a->stripped = true;
	a->tci = tag.tci;
}

static enum cqe_error nic_scatter(struct hca *hca, const struct rq *rq, const struct rq_wqe *w,
				  const struct arrival *a)
{
	const struct mkey_user user = { rq->pdn, rq->obj.num, rq->rlky };
	struct wqe_seg seg[RQ_ENTRIES];
	enum cqe_error error;
	unsigned int i;

	for (i = 0; i < w->n; i++)
		seg[i] = (struct wqe_seg){ .addr = w->entry[i].addr, .len = w->entry[i].len,
					   .lkey = w->entry[i].lkey };
	error = sg_scatter(hca, &user, seg, w->n, 0, a->f.data, a->f.len);
	if (error || !a->fcs_len)
		return error;
	return sg_scatter(hca, &user, seg, w->n, a->f.len, a->fcs, a->fcs_len);
}

static void nic_complete(struct hca *hca, const struct rq *rq, const struct arrival *a,
			 uint16_t index)
{
	struct completion c = {
		.opcode = CQE_RESP_SEND, .qpn = rq->obj.num, .wqe_counter = index,
		.byte_cnt = a->f.len + a->fcs_len, .srqn_uidx = rq->user_index,
		.real_time = rq->real_time, .is_frame = true,
		.frame = nic_cqe_of(&a->f, &a->rss, &a->hash),
	};

	c.frame.flow_tag = a->flow_tag;
	if (a->stripped) {
		c.frame.l4_l3_hdr_type |= CQE_VLAN_STRIPPED;
		c.frame.vlan_info = a->tci;
	}
	hca_trace(hca, "rq_frame", "\"rqn\":%u,\"wqe\":%u,\"bytes\":%u,\"hash\":%u,"
		  "\"hash_type\":%u,\"check_sum\":%u,\"ok\":%u,\"headers\":%u,\"tci\":%u,"
		  "\"flow_tag\":%u", rq->obj.num, index, c.byte_cnt, c.frame.rss_hash_result,
		  c.frame.rss_hash_type, c.frame.check_sum, c.frame.hds_ip_ext,
		  c.frame.l4_l3_hdr_type, c.frame.vlan_info, c.frame.flow_tag);
	cq_complete(hca, rq->cqn, &c);
}

/* Store a frame in the WQE @w. If that fails, the WQE is used nevertheless, and the queue fails. */
static void nic_store(struct hca *hca, struct rq *rq, const struct rq_wqe *w,
		      const struct arrival *a)
{
	enum cqe_error error = nic_scatter(hca, rq, w, a);

	hca->count.wqes_rq++;
	rq_consume(rq);
	if (!error) {
		nic_complete(hca, rq, a, w->index);
		return;
	}
	/* Nobody brings in pages for a receive queue: the page counts as not there. */
	if (error == ERR_PAGE_FAULT)
		error = ERR_SCATTER_MEMORY_GONE;
	nic_drop(hca, &hca->count.rx_buffer_errors, "buffer", rq->obj.num);
	nic_rq_refuse(hca, rq, w->index, error);
	rq_set_state(hca, rq, RQ_ERR);
}

static void nic_deliver(struct hca *hca, struct rq *rq, struct arrival *a)
{
	uint8_t copy[FRAME_MAX];
	struct rq_wqe w;
	int err;

	if (rq->scatter_fcs) {
		frame_fcs(a->f.data, a->f.len, a->fcs);
		a->fcs_len = sizeof(a->fcs);
	}
	nic_strip(a, rq, copy);
	err = rq_peek(hca, rq, &w);
	if (err == -ENOENT) {
		nic_drop(hca, &hca->count.rx_no_wqe, "no WQE", rq->obj.num);
		qcounter_add(hca, rq->counter_set, QC_OUT_OF_BUFFER);
	} else if (err) {
		nic_drop(hca, &hca->count.rx_queue_not_ready, "queue failed", rq->obj.num);
	} else if (a->f.len + a->fcs_len > w.len) {
		nic_drop(hca, &hca->count.rx_wqe_too_small, "WQE too small", rq->obj.num);
	} else {
		nic_store(hca, rq, &w, a);
	}
}

static void nic_copy(struct hca *hca, const struct frame *f, uint32_t tirn, uint32_t flow_tag)
{
	struct arrival a = { .f = *f, .flow_tag = flow_tag };
	struct rq *rq = nic_find_rq(hca, &a, tirn);

	if (rq)
		nic_deliver(hca, rq, &a);
}

/**
 * nic_receive() - deliver a frame to the receive queues that the steering rules choose
 * @hca: the HCA
 * @data: the frame; not changed
 * @len: bytes of it, FRAME_MAX at most
 */
void nic_receive(struct hca *hca, const uint8_t *data, size_t len)
{
	struct steer_result to;
	struct frame f;
	unsigned int i;

	if (!frame_parse(&f, data, len, LENGTHS_OF_FRAME)) {
		nic_drop(hca, &hca->count.rx_steering_discards, "no header", 0);
		return;
	}
	steer(hca, FLOW_NIC_RX, &f, &to);
	if (to.verdict == STEER_DROP)
		nic_drop(hca, &hca->count.rx_rule_drops, "rule", to.table);
	else if (to.verdict == STEER_MISS)
		nic_drop(hca, &hca->count.rx_steering_discards, "no rule", to.table);
	for (i = 0; to.verdict == STEER_DELIVER && i < to.copies; i++)
		nic_copy(hca, &f, to.copy[i].tirn, to.copy[i].flow_tag);
}

/**
 * nic_sniff() - deliver copies of a frame to the receive queues that sniff
 * @hca: the HCA
 * @fr: the frame
 * @sent: the port sends the frame; otherwise it has received the frame
 */
void nic_sniff(struct hca *hca, const struct eth_frame *fr, bool sent)
{
	enum flow_type type = sent ? FLOW_SNIFFER_TX : FLOW_SNIFFER_RX;
	struct steer_result to;
	struct frame f;
	unsigned int i;

	if (!flow_root(hca, type) ||
	    !frame_parse(&f, eth_frame_data(fr), fr->head.len, LENGTHS_OF_FRAME))
		return;
	steer(hca, type, &f, &to);
	for (i = 0; i < to.copies; i++)
		nic_copy(hca, &f, to.copy[i].tirn, to.copy[i].flow_tag);
}
