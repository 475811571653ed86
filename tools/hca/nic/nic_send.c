// SPDX-License-Identifier: GPL-2.0
/*
 * Sending.
 *
 * Theory: a send queue is a ring of WQEBBs. A doorbell says up to which WQEBB WQEs may be executed;
 * the NIC executes them in order. A WQE without a TIS in the queue's context can only be a NOP. A
 * SEND becomes one frame. A large send (LSO) becomes as many as its payload fills; they are sent in
 * slices, so that neither the event loop nor the receivers' queues see all at once, and between two
 * slices the WQE stays in struct nic_sq.
 *
 * A WQE that is not valid, or whose data cannot be read, completes with an error and takes the
 * queue to ERR, where all WQEs behind it are flushed. A frame that the port drops completes as if
 * it was sent: Ethernet promises no more.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "caps.h"
#include "cq.h"
#include "csum.h"
#include "eth_port.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "nic_send.h"
#include "nic_turn.h"
#include "sg.h"
#include "sq.h"
#include "steer.h"
#include "vlan.h"

/*
 * wqe_inline_mode: the Ethernet header with its tags has to be in the WQE, or what
 * min_wqe_inline_mode says. mlx5_core puts 18 bytes there if the first part of the packet has so
 * many. Large frames of packet sockets have 14: the rest is in pages.
 */
enum { MODE_L2 = 0, MODE_CONTEXT = 1 };

/* ---- taking a WQE from the ring -------------------------------------------------------------- */

/* Copy @cnt WQEBBs from the ring into one piece. */
static int nic_read(struct hca *hca, const struct sq *sq, uint16_t idx, unsigned int cnt,
		    uint8_t *to)
{
	uint32_t size = 1u << sq->log_size, at = idx & (size - 1);
	uint32_t first = size - at < cnt ? size - at : cnt;
	int err;

	err = qmem_read(hca, &sq->mem, (size_t)at * WQE_BB, to, (size_t)first * WQE_BB);
	if (err || first == cnt)
		return err;
	return qmem_read(hca, &sq->mem, 0, to + (size_t)first * WQE_BB,
			 (size_t)(cnt - first) * WQE_BB);
}

/* Why the control segment is not that of a WQE of the queue; or NULL. */
static const char *nic_wrong_ctrl(struct hca *hca, const struct nic_sq *n)
{
	const struct send_wqe *w = &n->cur.w;
	const struct sq *sq = n->sq;
	unsigned int cnt = wqe_bbs(w->ds);

	if (w->ds * WQE_DS > hca_cap_gen(hca, max_wqe_sz_sq))
		return "the WQE is longer than max_wqe_sz_sq";
	if (cnt > (uint16_t)(n->posted - sq->hw) || cnt > 1u << sq->log_size)
		return "the WQE is longer than what was posted";
	if (w->idx != sq->hw)
		return "the WQE has another index than the queue";
	return w->qpn == sq->obj.num ? NULL : "the WQE has another number than the queue";
}

/*
 * Load the next WQE into @n->cur, from the BlueFlame bytes if they are that WQE: then they are all
 * of it. Returns its number of WQEBBs; 0, with the reason in the WQE, if the control segment is not
 * valid; or -EFAULT.
 */
static int nic_load(struct hca *hca, struct nic_sq *n, const uint8_t *bf, size_t bf_len)
{
	struct send_wqe *w = &n->cur.w;
	uint16_t idx = n->sq->hw;
	unsigned int cnt;
	bool from_bf;

	from_bf = bf_len >= WQE_DS && (uint16_t)(get_be32(bf) >> 8) == idx;
	if (from_bf)
		memcpy(w->raw, bf, bf_len < WQE_MAX_BYTES ? bf_len : WQE_MAX_BYTES);
	else if (nic_read(hca, n->sq, idx, 1, w->raw))
		return -EFAULT;
	if (wqe_parse_ctrl(w))
		return 0;
	w->why = nic_wrong_ctrl(hca, n);
	if (w->why)
		return 0;
	cnt = wqe_bbs(w->ds);
	/* The first WQEBB is not read again: the guest may have changed its ds meanwhile. */
	if (!from_bf && cnt > 1 && nic_read(hca, n->sq, idx + 1, cnt - 1, w->raw + WQE_BB))
		return -EFAULT;
	hca->count.wqes_bf += from_bf;
	return cnt;
}

/* ---- completion ------------------------------------------------------------------------------ */

static void nic_complete(struct hca *hca, struct nic_sq *n, enum cqe_error error)
{
	const struct sq *sq = n->sq;
	struct completion c = {
		.opcode = error ? CQE_REQ_ERR : CQE_REQ, .error = error, .qpn = sq->obj.num,
		.wqe_counter = sq->hw, .s_wqe_opcode = n->cur.w.opcode,
		.byte_cnt = n->cur.len, .srqn_uidx = sq->user_index, .real_time = sq->real_time,
	};

	cq_complete(hca, sq->cqn, &c);
}

/* The WQE in @n->cur has been executed. */
static void nic_finish(struct hca *hca, struct nic_sq *n)
{
	n->sending = false;
	if (n->cur.w.cqe)
		nic_complete(hca, n, ERR_NONE);
	n->sq->hw += wqe_bbs(n->cur.w.ds);
}

/* The WQE in @n->cur, of @cnt WQEBBs, has failed. */
static void nic_fail(struct hca *hca, struct nic_sq *n, unsigned int cnt, enum cqe_error error)
{
	hca_trace(hca, "sq_wqe_refused", "\"sqn\":%u,\"wqe\":%u,\"why\":\"%s\"", n->sq->obj.num,
		  n->sq->hw, n->cur.w.why ? n->cur.w.why : "memory");
	n->sending = false;
	n->failed = true;
	nic_complete(hca, n, error);
	n->sq->hw += cnt;
	sq_set_state(hca, n->sq, SQ_ERR);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static enum cqe_error nic_refuse(struct nic_sq *n, enum cqe_error error, const char *why)
{
	n->cur.w.why = why;
	return error;
}

/* Bytes of the headers that have to be in the WQE. */
static size_t nic_headers(const struct frame *f, enum sq_inline_mode mode)
{
	if (mode >= INLINE_TCP_UDP && f->payload)
		return f->payload;
	if (mode >= INLINE_IP && f->l4)
		return f->l4;
	return mode >= INLINE_L2 ? f->l3 : 0;
}

/* The queue may have been created for more than the vport asks for. */
static enum sq_inline_mode nic_inline_mode(struct hca *hca, const struct sq *sq)
{
	enum sq_inline_mode vport = (enum sq_inline_mode)hca->eth->vport.min_inline;

	return sq->inline_mode > vport ? sq->inline_mode : vport;
}

static bool nic_inlines_enough(struct hca *hca, const struct nic_sq *n, const struct frame *f)
{
	size_t header = n->cur.header_len;

	switch (hca_cap_eth(hca, wqe_inline_mode)) {
	case MODE_L2:
		return header >= nic_headers(f, INLINE_L2);
	case MODE_CONTEXT:
		return header >= nic_headers(f, nic_inline_mode(hca, n->sq));
	default:
		return true;
	}
}

/*
 * Make a frame of @len bytes, padded to the least that a sender may send. Returns NULL if memory is
 * short: then the frame is dropped, and counted.
 */
static struct eth_frame *nic_frame(struct hca *hca, size_t len)
{
	size_t padded = len < FRAME_MIN ? FRAME_MIN : len;
	struct eth_frame *fr = eth_frame_alloc(padded);

	if (!fr) {
		hca->eth->stats.tx_no_memory++;
		return NULL;
	}
	memset(eth_frame_data(fr) + len, 0, padded - len);
	return fr;
}

/* Copy the bytes of the WQE's data segments from @off on. */
static enum cqe_error nic_gather(struct hca *hca, const struct nic_sq *n, uint64_t off, void *to,
				 size_t len)
{
	const struct sq *sq = n->sq;
	const struct mkey_user user = { sq->pdn, sq->obj.num, sq->rlky };

	return sg_gather(hca, &user, n->cur.w.seg, n->cur.w.nseg, off, to, len);
}

/* Fill in a frame whose data are @len bytes of the data segments, from @off on. */
static enum cqe_error nic_fill(struct hca *hca, struct nic_sq *n, uint64_t off, size_t len,
			       uint8_t *data)
{
	const struct nic_wqe *w = &n->cur;
	size_t bytes = w->header_len + len;
	enum cqe_error error;
	struct frame f;

	memcpy(data, w->header, w->header_len);
	error = nic_gather(hca, n, off, data + w->header_len, len);
	if (error)
		return error;
	frame_parse(&f, data, bytes, LENGTHS_OF_FRAME);
	if (!nic_inlines_enough(hca, n, &f))
		return nic_refuse(n, ERR_WQE_INVALID, "headers are missing in the WQE");
	if (w->insert_tag)
		frame_parse(&f, data, vlan_insert(data, bytes, &w->tag), LENGTHS_OF_FRAME);
	/* What is no IP, or has no TCP or UDP header, is sent as it is. */
	if (w->l4_csum)
		csum_fill_l4(data, &f);
	if (w->ip_csum)
		csum_fill_ip(data, &f);
	return ERR_NONE;
}

/* Send a frame, unless a rule drops it. */
static void nic_transmit(struct hca *hca, struct eth_frame *fr)
{
	if (steer_drops(hca, FLOW_NIC_TX, eth_frame_data(fr), fr->head.len)) {
		hca->count.tx_rule_drops++;
		eth_frame_free(fr);
	} else {
		eth_tx(hca, fr);
	}
}

static enum cqe_error nic_send_frame(struct hca *hca, struct nic_sq *n, uint64_t off, uint64_t data)
{
	uint64_t bytes = n->cur.header_len + data;
	uint64_t len = bytes + (n->cur.insert_tag ? TAG_BYTES : 0);
	struct eth_frame *fr;
	enum cqe_error error;

	if (bytes < ETH_BYTES)
		return nic_refuse(n, ERR_WQE_INVALID, "the frame is shorter than its header");
	if (len > FRAME_MAX)
		return nic_refuse(n, ERR_MESSAGE_TOO_LONG, "the frame is too long");
	fr = nic_frame(hca, len);
	if (!fr)
		return ERR_NONE;
	error = nic_fill(hca, n, off, data, eth_frame_data(fr));
	if (error)
		eth_frame_free(fr);
	else
		nic_transmit(hca, fr);
	return error;
}

/* Frames that were sent before one that is refused stay sent. */
static enum cqe_error nic_send_several(struct hca *hca, struct nic_sq *n)
{
	const struct send_wqe *w = &n->cur.w;
	enum cqe_error error = ERR_NONE;
	uint64_t off = 0;
	unsigned int i;

	if (!IFC_GET(sqc, n->sq->sqc, allow_multi_pkt_send_wqe))
		return nic_refuse(n, ERR_WQE_INVALID,
				  "the queue was not made for several packets in a WQE");
	for (i = 0; i < w->nseg && !error; i++) {
		error = nic_send_frame(hca, n, off, w->seg[i].len);
		off += w->seg[i].len;
	}
	return error;
}

/* ---- large sends ----------------------------------------------------------------------------- */

/*
 * The payload may be longer than max_lso_cap says: the network stack sends 512 KiB at a time to
 * devices that it does not limit.
 */
static enum cqe_error nic_start_segments(struct nic_sq *n)
{
	const struct nic_wqe *w = &n->cur;
	const char *why;

	why = segment_start(&n->seg, w->header, w->header_len, w->w.len, w->mss);
	if (why)
		return nic_refuse(n, ERR_WQE_INVALID, why);
	n->sending = true;
	return ERR_NONE;
}

/* A segment for which there is no memory is made nevertheless, because its data may be refused. */
static enum cqe_error nic_send_segment(struct hca *hca, struct nic_sq *n)
{
	size_t header = n->cur.header_len, off = n->seg.done, len = segment_len(&n->seg);
	struct eth_frame *fr = nic_frame(hca, header + len);
	uint8_t lost[FRAME_MAX], *data = fr ? eth_frame_data(fr) : lost;
	enum cqe_error error;

	segment_next(&n->seg, data);
	error = nic_gather(hca, n, off, data + header, len);
	if (!error)
		segment_seal(&n->seg, data, header + len, n->cur.ip_csum, n->cur.l4_csum);
	if (fr && error)
		eth_frame_free(fr);
	else if (fr)
		nic_transmit(hca, fr);
	return error;
}

/* ---- execution ------------------------------------------------------------------------------- */

static void nic_trace(struct hca *hca, const struct nic_sq *n)
{
	const struct nic_wqe *w = &n->cur;

	hca_trace(hca, "sq_wqe", "\"sqn\":%u,\"wqe\":%u,\"opcode\":%u,\"signaled\":%u,"
		  "\"header\":%u,\"bytes\":%" PRIu64 ",\"mss\":%u,\"ip_csum\":%u,"
		  "\"l4_csum\":%u,\"tag\":%u,\"tci\":%u", n->sq->obj.num, n->sq->hw, w->w.opcode,
		  w->w.cqe, w->header_len, w->len, w->mss, w->ip_csum, w->l4_csum,
		  w->insert_tag ? w->tag.type : 0, w->insert_tag ? w->tag.tci : 0);
}

static enum cqe_error nic_execute(struct hca *hca, struct nic_sq *n)
{
	if (nic_wqe_parse(&n->cur))
		return ERR_WQE_INVALID;
	nic_trace(hca, n);
	if (n->cur.w.opcode == WQE_NOP)
		return ERR_NONE;
	if (!n->sq->tisn)
		return nic_refuse(n, ERR_WQE_INVALID, "a queue without a TIS sends no frames");
	if (n->cur.insert_tag && !hca_cap_eth(hca, wqe_vlan_insert))
		return nic_refuse(n, ERR_WQE_INVALID, "inserting a VLAN tag is not offered");
	if (n->cur.several)
		return nic_send_several(hca, n);
	return n->cur.w.opcode == WQE_LSO ? nic_start_segments(n) :
					    nic_send_frame(hca, n, 0, n->cur.w.len);
}

static void nic_continue(struct hca *hca, struct nic_sq *n)
{
	enum cqe_error error = nic_send_segment(hca, n);

	if (error)
		nic_fail(hca, n, wqe_bbs(n->cur.w.ds), error);
	else if (segment_done(&n->seg))
		nic_finish(hca, n);
}

/* Take the next WQE, and execute it; of a large send, only the first segment. */
static void nic_next(struct hca *hca, struct nic_sq *n, const uint8_t *bf, size_t bf_len)
{
	int cnt = nic_load(hca, n, bf, bf_len);
	enum cqe_error error;

	if (cnt < 0) {
		sq_fail(hca, n->sq);
		return;
	}
	hca->count.wqes_sq++;
	error = cnt ? nic_execute(hca, n) : ERR_WQE_INVALID;
	if (error)
		nic_fail(hca, n, cnt ? cnt : 1, error);
	else if (n->sending)
		nic_continue(hca, n);
	else
		nic_finish(hca, n);
}

/**
 * nic_send_run() - execute what was posted
 * @hca: the HCA
 * @n: the queue
 * @bf: bytes that came through BlueFlame with the latest doorbell
 * @bf_len: how many; 0 if none
 * @budget: WQEs and segments that may be executed, counted down
 *
 * Return: true if the budget did not suffice.
 */
bool nic_send_run(struct hca *hca, struct nic_sq *n, const uint8_t *bf, size_t bf_len,
		  unsigned int *budget)
{
	struct sq *sq = n->sq;

	while (sq->state == SQ_RDY && (n->sending || sq->hw != n->posted)) {
		if (!*budget)
			return true;
		--*budget;
		if (n->sending)
			nic_continue(hca, n);
		else
			nic_next(hca, n, bf, bf_len);
	}
	return false;
}

/**
 * nic_send_flush() - complete all posted WQEs with a flush error
 * @hca: the HCA
 * @n: the queue, in ERR
 */
void nic_send_flush(struct hca *hca, struct nic_sq *n)
{
	struct sq *sq = n->sq;
	int cnt;

	n->sending = false;
	while (sq->hw != n->posted) {
		cnt = nic_load(hca, n, NULL, 0);
		if (cnt < 0)
			return;
		nic_complete(hca, n, n->failed ? ERR_FLUSHED : ERR_FLUSHED_FIRST);
		n->failed = true;
		sq->hw += cnt ? cnt : 1;
	}
}

/**
 * nic_send_clear() - forget all that was posted
 * @hca: the HCA
 * @n: the queue, moving to RST
 */
void nic_send_clear(struct hca *hca, struct nic_sq *n)
{
	nic_unqueue(hca, n);
	n->posted = 0;
	n->sending = false;
	n->failed = false;
	n->lost = false;
}
