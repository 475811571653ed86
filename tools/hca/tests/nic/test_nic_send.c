// SPDX-License-Identifier: GPL-2.0
/*
 * What a send queue makes of its WQEs: the frames that a peer gets, and the CQEs.
 */
#include <string.h>

#include "caps.h"
#include "cq.h"
#include "eth_port.h"
#include "fabric.h"
#include "framerow.h"
#include "mkey.h"
#include "nic.h"
#include "nic_turn.h"
#include "nic_wqe.h"
#include "objrig.h"
#include "scapy_frames.h"
#include "scapy_segments.h"
#include "sq.h"
#include "trace.h"
#include "tracerig.h"
#include "wirerig.h"

#define L3	0x40
#define L4	0x80

/* As data() in gen-frames.py. */
static void put_payload(uint8_t *to, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = 7 * i + 3;
}

static const struct frame_row *row_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(frame_rows); i++)
		if (!strcmp(frame_rows[i].name, name))
			return &frame_rows[i];
	fail_msg("no frame %s", name);
	return NULL;
}

static void peer_got(unsigned int i, const void *bytes, size_t len)
{
	static const uint8_t zero[FRAME_MIN];
	size_t padded = len < FRAME_MIN ? FRAME_MIN : len;

	assert_true(i < wire.frames && i < WIRE_FRAMES);
	assert_int_equal(wire.frame[i].len, padded);
	if (memcmp(wire.frame[i].bytes, bytes, len))
		fail_msg("frame %u differs", i);
	assert_memory_equal(wire.frame[i].bytes + len, zero, padded - len);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Each frame with different parts of it in the WQE. */
static void frames_arrive_as_they_were_posted(void **state)
{
	static const size_t headers[] = { 0, 1, 2, 14, 18, 34, 60 };
	struct wire_queue q = wire_sq(0, 0);
	unsigned int i, k, sent = 0;
	const uint8_t *cqe;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];

		for (k = 0; k < ARRAY_SIZE(headers); k++) {
			size_t header = headers[k] < r->len ? headers[k] : r->len;
			uint16_t index = q.tail;

			wire_post_frame(&q, 0, r->bytes, r->len, header);
			cqe = wire_expect(&q, CQE_REQ, index, 0);
			assert_int_equal(get_be32(cqe + 56), WQE_SEND << 24 | q.num);
			assert_int_equal(get_be32(cqe + 44), r->len);
			peer_got(sent++, r->bytes, r->len);
		}
	}
	assert_null(wire_cqe(&q));
	assert_int_equal(wire.frames, sent);
	assert_int_equal(rig.hca->count.wqes_sq, sent);
}

static void data_is_gathered(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	uint8_t bytes[900];
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	put_payload(bytes, sizeof(bytes));
	wire_ctrl(&w, WQE_SEND, true);
	wire_eth(&w, 0, 0, bytes, 18);
	for (i = 0; i < 9; i++)
		wire_data(&w, bytes + 18 + 98 * i, 98);
	wire_post(&q, &w);
	wire_expect(&q, CQE_REQ, 0, 0);
	peer_got(0, bytes, sizeof(bytes));
}

/* Each data segment becomes a frame; one CQE completes them all. */
static void several_frames_are_sent_by_one_wqe(void **state)
{
	const struct frame_row *r = frame_rows;
	struct wire_queue q;
	const uint8_t *cqe;
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	wire_cap(enhanced_multi_pkt_send_wqe, 1);
	q = wire_sq(SQ_SEVERAL, 0);
	wire_ctrl(&w, WQE_ENHANCED_MPSW, true);
	wire_eth(&w, 0, 0, NULL, 0);
	for (i = 0; i < 3; i++)
		wire_data(&w, r[i].bytes, r[i].len);
	wire_post(&q, &w);
	cqe = wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(get_be32(cqe + 44), r[0].len + r[1].len + r[2].len);
	assert_null(wire_cqe(&q));
	assert_int_equal(wire.frames, 3);
	for (i = 0; i < 3; i++)
		peer_got(i, r[i].bytes, r[i].len);
}

/* The frames before one that is refused are sent. */
static void refused_frame_of_several_fails_the_queue(void **state)
{
	const struct frame_row *r = frame_rows;
	uint8_t bytes[13] = { 2 };
	struct wire_queue q;
	struct wire_wqe w;

	(void)state;
	wire_cap(enhanced_multi_pkt_send_wqe, 1);
	q = wire_sq(SQ_SEVERAL, 0);
	wire_ctrl(&w, WQE_ENHANCED_MPSW, true);
	wire_eth(&w, 0, 0, NULL, 0);
	wire_data(&w, r[0].bytes, r[0].len);
	wire_data(&w, bytes, sizeof(bytes));
	wire_data(&w, r[1].bytes, r[1].len);
	wire_post(&q, &w);
	wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
	assert_int_equal(wire.frames, 1);
	assert_int_equal(wire_sq_state(&q), SQ_ERR);
}

static void only_asked_for_completions_are_written(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	for (i = 0; i < 6; i++) {
		wire_ctrl(&w, i == 2 ? WQE_NOP : WQE_SEND, i == 4);
		if (i != 2) {
			wire_eth(&w, 0, 0, NULL, 0);
			wire_data(&w, frame_rows[0].bytes, frame_rows[0].len);
		}
		wire_post(&q, &w);
	}
	wire_expect(&q, CQE_REQ, 4, 0);
	assert_null(wire_cqe(&q));
	assert_int_equal(wire.frames, 5);
}

/* A WQE of three WQEBBs begins in the last but one of the ring. */
static void wqes_may_wrap(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	const struct frame_row *r = row_named("tcp4_options");
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	for (i = 0; i < (1u << WIRE_LOG_SQ) - 2; i++) {
		wire_ctrl(&w, WQE_NOP, false);
		wire_post(&q, &w);
	}
	wire_post_frame(&q, 0, r->bytes, r->len, 130);
	wire_expect(&q, CQE_REQ, 62, 0);
	peer_got(0, r->bytes, r->len);
}

/* ---- checksums ------------------------------------------------------------------------------- */

static void spoil(uint8_t *bytes, const struct frame *f)
{
	if (f->ip_version == 4)
		put_be16(bytes + f->l3 + 10, 0xbeef);
	if (f->l4_type)
		put_be16(bytes + f->l4 + (f->l4_type == L4_TCP ? 16 : 6), 0xbeef);
}

/* The frames of scapy get its checksums back; those of broken and other frames are left. */
static void checksums_are_those_of_scapy(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	uint8_t bytes[2000];
	unsigned int i, sent = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];

		if (!strcmp(r->name, "udp4_no_checksum"))
			continue;
		memcpy(bytes, r->bytes, r->len);
		spoil(bytes, &r->f);
		wire_post_frame(&q, L3 | L4, bytes, r->len, r->len < 18 ? r->len : 18);
		peer_got(sent++, r->bytes, r->len);
	}
	assert_int_equal(wire.frames, sent);
}

static void flags_choose_the_checksums(void **state)
{
	const struct frame_row *r = row_named("tcp4");
	struct wire_queue q = wire_sq(0, 0);
	uint8_t bytes[100], want[100];

	(void)state;
	memcpy(bytes, r->bytes, r->len);
	spoil(bytes, &r->f);
	wire_post_frame(&q, 0, bytes, r->len, 18);
	peer_got(0, bytes, r->len);
	memcpy(want, bytes, r->len);
	memcpy(want + r->f.l3, r->bytes + r->f.l3, 20);
	wire_post_frame(&q, L3, bytes, r->len, 18);
	peer_got(1, want, r->len);
	memcpy(want, r->bytes, r->len);
	put_be16(want + r->f.l3 + 10, 0xbeef);
	wire_post_frame(&q, L4, bytes, r->len, 18);
	peer_got(2, want, r->len);
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* Send a frame without its outermost tag, for which the WQE asks; or with an LSO template. */
static void post_tag(struct wire_queue *q, uint8_t opcode, uint8_t flags, const void *bytes,
		     size_t len, const struct frame_tag *tag)
{
	struct wire_wqe w;

	wire_ctrl(&w, opcode, true);
	wire_eth(&w, flags, opcode == WQE_LSO ? 20 : 0, NULL, 0);
	put_be16(w.b + 16 + 12, 0x8000 | (tag->type == ETYPE_STAG));
	put_be16(w.b + 16 + 14, tag->tci);
	wire_data(&w, bytes, len);
	wire_post(q, &w);
}

/* The tag goes in front of those that the frame has, and the checksums look behind all of them. */
static void device_inserts_tags(void **state)
{
	static const char *const names[] = {
		"ctag", "ctag_udp6", "stag", "stag_ctag", "ctag_stag", "three_tags",
	};
	struct wire_queue q;
	uint8_t bytes[200];
	unsigned int i;

	(void)state;
	wire_cap(wqe_vlan_insert, 1);
	q = wire_sq(0, 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct frame_row *r = row_named(names[i]);
		uint16_t index = q.tail;
		const uint8_t *cqe;

		memcpy(bytes, r->bytes, r->len);
		spoil(bytes, &r->f);
		memmove(bytes + 12, bytes + 16, r->len - 16);
		post_tag(&q, WQE_SEND, L3 | L4, bytes, r->len - 4, &r->f.tag[0]);
		cqe = wire_expect(&q, CQE_REQ, index, 0);
		assert_int_equal(get_be32(cqe + 44), r->len - 4);
		peer_got(i, r->bytes, r->len);
	}
}

static void wqes_are_traced(void **state)
{
	const struct frame_row *r = row_named("ctag");
	struct wire_queue q;

	(void)state;
	wire_cap(wqe_vlan_insert, 1);
	q = wire_sq(0, 0);
	trace_ring(rig.hca->trace, true);
	wire_post_frame(&q, L3, r->bytes, r->len, 20);
	expect_traced(rig.hca->trace, "sq_wqe", "\"sqn\":%u,\"wqe\":0,\"opcode\":10,"
		      "\"signaled\":1,\"header\":20,\"bytes\":%zu,\"mss\":0,\"ip_csum\":1,"
		      "\"l4_csum\":0,\"tag\":0,\"tci\":0", q.num, r->len);
	post_tag(&q, WQE_SEND, L4, r->bytes, r->len, &r->f.tag[0]);
	expect_traced(rig.hca->trace, "sq_wqe", "\"sqn\":%u,\"wqe\":%u,\"opcode\":10,"
		      "\"signaled\":1,\"header\":0,\"bytes\":%zu,\"mss\":0,\"ip_csum\":0,"
		      "\"l4_csum\":1,\"tag\":33024,\"tci\":24581", q.num, q.last, r->len);
}

static void tag_counts_for_the_length(void **state)
{
	const struct frame_tag tag = { ETYPE_CTAG, 5 };
	static uint8_t bytes[FRAME_MAX] = { 2 };
	struct wire_queue q;

	(void)state;
	wire_cap(wqe_vlan_insert, 1);
	q = wire_sq(0, 0);
	rig.hca->eth->mtu = 1522;
	post_tag(&q, WQE_SEND, 0, bytes, 1514, &tag);
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire.frames, 1);
	post_tag(&q, WQE_SEND, 0, bytes, 1515, &tag);
	wire_expect(&q, CQE_REQ, 1, 0);
	assert_int_equal(rig.hca->eth->stats.tx_too_long, 1);
	rig.hca->eth->mtu = FRAME_MAX + 4;
	post_tag(&q, WQE_SEND, 0, bytes, FRAME_MAX - 4, &tag);
	wire_expect(&q, CQE_REQ, q.last, 0);
	assert_int_equal(wire.frames, 2);
	post_tag(&q, WQE_SEND, 0, bytes, FRAME_MAX - 3, &tag);
	wire_expect(&q, CQE_REQ_ERR, q.last, ERR_MESSAGE_TOO_LONG);
}

/* Also a large send, which needs its headers inline, and a device that wants them inline. */
static void device_must_be_asked_for_what_it_can_insert(void **state)
{
	const struct frame_row *r = row_named("tcp4");
	const struct frame_tag tag = { ETYPE_CTAG, 5 };
	static const struct { unsigned int insert, mode, opcode; } rows[] = {
		{ 0, 2, WQE_SEND }, { 1, 2, WQE_LSO }, { 1, 0, WQE_SEND },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wire_queue q;

		wire_cap(wqe_vlan_insert, rows[i].insert);
		wire_cap(wqe_inline_mode, rows[i].mode);
		q = wire_sq(0, 0);
		post_tag(&q, rows[i].opcode, 0, r->bytes, r->len, &tag);
		wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
		assert_int_equal(wire_sq_state(&q), SQ_ERR);
	}
	assert_int_equal(wire.frames, 0);
}

/* ---- large sends ----------------------------------------------------------------------------- */

static void post_large(struct wire_queue *q, const struct segment_row *r, uint8_t flags)
{
	static uint8_t payload[600 * 1024];
	struct wire_wqe w;

	put_payload(payload, r->payload);
	wire_ctrl(&w, WQE_LSO, true);
	wire_eth(&w, flags, r->mss, r->template, r->template_len);
	if (r->payload > 1) {
		wire_data(&w, payload, 1);
		wire_data(&w, payload + 1, r->payload - 1);
	} else {
		wire_data(&w, payload, r->payload);
	}
	wire_post(q, &w);
}

static void segments_are_those_of_scapy(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	unsigned int i, k, sent = 0;
	const uint8_t *cqe;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(segment_rows); i++) {
		const struct segment_row *r = &segment_rows[i];
		uint16_t index = q.tail;

		post_large(&q, r, L3 | L4);
		for (k = 0; k < r->segments; k++)
			peer_got(sent++, r->segment[k].bytes, r->segment[k].len);
		cqe = wire_expect(&q, CQE_REQ, index, 0);
		assert_int_equal(cqe[56], WQE_LSO);
		assert_int_equal(get_be32(cqe + 44), r->template_len + r->payload);
	}
	assert_int_equal(wire.frames, sent);
	assert_int_equal(rig.hca->count.wqes_sq, ARRAY_SIZE(segment_rows));
}

/* 512 KiB become 363 segments. The first slice is sent at once, and other queues get turns. */
static void large_sends_are_sliced(void **state)
{
	struct segment_row r = segment_rows[0];
	struct wire_queue q = wire_sq(0, 0), other = wire_sq(0, 0);
	unsigned int i, at = 0;
	struct wire_wqe w;

	(void)state;
	r.payload = 512 * 1024;
	r.mss = 1448;
	post_large(&q, &r, L3 | L4);
	assert_int_equal(wire.frames, 64);
	assert_null(wire_cqe(&q));
	post_large(&other, &r, L3 | L4);
	/* Behind the large send: it waits for it. */
	wire_ctrl(&w, WQE_NOP, true);
	wire_post(&q, &w);
	assert_null(wire_cqe(&q));
	wire_settle();
	assert_int_equal(wire.frames, 2 * 363);
	wire_expect(&q, CQE_REQ, 0, 0);
	wire_expect(&q, CQE_REQ, q.last, 0);
	wire_expect(&other, CQE_REQ, 0, 0);
	/* The segments of both alternate in slices. */
	for (i = 128; i < 192; i++)
		at += wire.frame[i].len;
	for (i = 192; i < 256; i++)
		assert_int_equal(get_be32(wire.frame[i].bytes + 38),
				 get_be32(wire.frame[i - 64].bytes + 38));
	assert_int_equal(at, 64 * wire.frame[0].len);
}

static void large_sends_must_fit_together(void **state)
{
	static const struct { unsigned int cut, mss, payload; } rows[] = {
		{ 0, 0, 100 }, { 1, 50, 100 }, { 40, 50, 100 }, { 0, FRAME_MAX, FRAME_MAX },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wire_queue q = wire_sq(0, 0);
		struct segment_row r = segment_rows[0];

		r.template_len -= rows[i].cut;
		r.mss = rows[i].mss;
		r.payload = rows[i].payload;
		post_large(&q, &r, L3 | L4);
		wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
		assert_int_equal(wire_sq_state(&q), SQ_ERR);
	}
	assert_int_equal(wire.frames, 0);
}

/* ---- the port -------------------------------------------------------------------------------- */

/* Ethernet promises nothing: a frame that the port drops has been sent. */
static void dropped_frames_complete(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	struct eth_port *port = rig.hca->eth;
	uint8_t bytes[1600] = { 2 };

	(void)state;
	port->mtu = 1522;
	wire_post_frame(&q, 0, bytes, 1518, 18);
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire.frames, 1);
	wire_post_frame(&q, 0, bytes, 1519, 18);
	wire_expect(&q, CQE_REQ, 1, 0);
	assert_int_equal(port->stats.tx_too_long, 1);
	eth_set_link(rig.hca, false);
	wire_post_frame(&q, 0, bytes, 100, 18);
	wire_expect(&q, CQE_REQ, 2, 0);
	assert_int_equal(port->stats.tx_link_down, 1);
	assert_int_equal(wire.frames, 1);
	assert_int_equal(wire_sq_state(&q), SQ_RDY);
}

/* ---- refusals -------------------------------------------------------------------------------- */

enum { SHORT, LONG, OPCODE, DS, BEYOND, KEY, TUNNEL, REFUSALS };

static void spoil_wqe(struct wire_wqe *w, unsigned int how, uint32_t sqn)
{
	switch (how) {
	case OPCODE:
		w->b[3] = WQE_ENHANCED_MPSW;
		break;
	case DS:
		put_be32(w->b, WQE_SEND);
		put_be32(w->b + 4, sqn << 8);
		break;
	case BEYOND:	/* three WQEBBs, of which one is posted */
		put_be32(w->b, WQE_SEND);
		put_be32(w->b + 4, sqn << 8 | 9);
		break;
	case TUNNEL:
		w->b[16 + 4] = 0x10;
		break;
	default:
		break;
	}
}

static void invalid_wqes_fail_the_queue(void **state)
{
	unsigned int how;

	(void)state;
	for (how = 0; how < REFUSALS; how++) {
		struct wire_queue q = wire_sq(0, 0);
		uint32_t error = ERR_WQE_INVALID;
		uint8_t bytes[14] = { 2 };
		struct wire_wqe w;

		wire_ctrl(&w, WQE_SEND, false);
		wire_eth(&w, 0, 0, NULL, 0);
		if (how == SHORT)
			wire_data(&w, bytes, 13);
		else if (how == LONG)
			wire_seg(&w, WIRE_BUF, FRAME_MAX + 1, MKEY_RESD_LKEY);
		else if (how == KEY)
			wire_seg(&w, WIRE_BUF, 100, 0x7700);
		else
			wire_data(&w, bytes, 14);
		spoil_wqe(&w, how, q.num);
		if (how == LONG)
			error = ERR_MESSAGE_TOO_LONG;
		if (how == KEY)
			error = ERR_GATHER_KEY_UNKNOWN;
		rig_clear();
		wire_post(&q, &w);
		wire_expect(&q, CQE_REQ_ERR, 0, error);
		assert_int_equal(wire_sq_state(&q), SQ_ERR);
		assert_int_equal(rig.nev, 0);
	}
	assert_int_equal(wire.frames, 0);
}

/* A doorbell shows the last WQE, which is right; the one before it has another number or index. */
static void wqes_name_their_queue_and_index(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct wire_queue q = wire_sq(0, 0);
		struct wire_wqe w;

		wire_ctrl(&w, WQE_NOP, false);
		put_be32(w.b, (i ? 7 : 0) << 8 | WQE_NOP);
		put_be32(w.b + 4, (q.num + !i) << 8 | 1);
		wire_put(&q, &w);
		wire_ctrl(&w, WQE_NOP, true);
		wire_post(&q, &w);
		wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
		assert_null(wire_cqe(&q));
	}
}

static void wqes_have_a_greatest_size(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	unsigned int ds;

	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca->cap[CAP_GENERAL], max_wqe_sz_sq, 64);
	for (ds = 4; ds <= 5; ds++) {
		struct wire_wqe w;

		memset(&w, 0, sizeof(w));
		wire_ctrl(&w, WQE_NOP, true);
		w.ds = ds;
		wire_post(&q, &w);
	}
	wire_expect(&q, CQE_REQ, 0, 0);
	wire_expect(&q, CQE_REQ_ERR, 1, ERR_WQE_INVALID);
}

static void keys_are_of_the_queue(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_RLKY, 0);

	(void)state;
	wire_post_frame(&q, 0, frame_rows[0].bytes, frame_rows[0].len, 0);
	wire_expect(&q, CQE_REQ_ERR, 0, ERR_GATHER_KEY_UNKNOWN);
}

static void queues_without_a_tis_send_nothing(void **state)
{
	struct wire_queue q = wire_sq(SQ_NO_TIS, 0);
	struct wire_wqe w;

	(void)state;
	wire_ctrl(&w, WQE_NOP, true);
	wire_post(&q, &w);
	wire_expect(&q, CQE_REQ, 0, 0);
	wire_post_frame(&q, 0, frame_rows[0].bytes, frame_rows[0].len, 18);
	wire_expect(&q, CQE_REQ_ERR, 1, ERR_WQE_INVALID);
	assert_int_equal(wire.frames, 0);
}

/* What has to be in the WQE: by the capability, or by the queue's mode. */
static void headers_must_be_inline(void **state)
{
	static const struct {
		unsigned int cap, vport, mode, need;
		const char *frame;
	} rows[] = {
		{ 0, 0, 0, 14, "tcp4" }, { 0, 0, 0, 18, "ctag" }, { 2, 0, 0, 0, "tcp4" },
		{ 1, 0, INLINE_NONE, 0, "tcp4" }, { 1, 0, INLINE_L2, 14, "tcp4" },
		{ 1, 0, INLINE_IP, 34, "tcp4" }, { 1, 0, INLINE_TCP_UDP, 54, "tcp4" },
		{ 1, 0, INLINE_TCP_UDP, 42, "udp4" }, { 1, 0, INLINE_L2, 18, "ctag" },
		{ 1, 0, INLINE_TCP_UDP, 34, "icmp4" }, { 1, 0, INLINE_TCP_UDP, 14, "arp" },
		{ 1, 0, INLINE_IP, 62, "hops6" },
		/* The vport and the queue: what asks for more. */
		{ 1, INLINE_TCP_UDP, INLINE_NONE, 54, "tcp4" },
		{ 1, INLINE_IP, INLINE_L2, 34, "tcp4" }, { 1, INLINE_L2, INLINE_IP, 34, "tcp4" },
		{ 2, INLINE_TCP_UDP, INLINE_NONE, 0, "tcp4" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct frame_row *r = row_named(rows[i].frame);
		struct wire_queue q;

		wire_cap(wqe_inline_mode, rows[i].cap);
		rig.hca->eth->vport.min_inline = rows[i].vport;
		q = wire_sq(0, rows[i].mode);
		wire_post_frame(&q, 0, r->bytes, r->len, rows[i].need);
		wire_expect(&q, CQE_REQ, 0, 0);
		if (!rows[i].need)
			continue;
		wire_post_frame(&q, 0, r->bytes, r->len, rows[i].need - 1);
		wire_expect(&q, CQE_REQ_ERR, q.last, ERR_WQE_INVALID);
	}
	assert_int_equal(wire.frames, ARRAY_SIZE(rows));
}

/* ---- errors and recovery --------------------------------------------------------------------- */

/* A WQE that fails, three behind it in the same doorbell, and one more later. */
static void post_around_an_error(struct wire_queue *q)
{
	struct wire_wqe w;
	unsigned int i;

	wire_ctrl(&w, WQE_NOP, false);
	for (i = 0; i < 4; i++) {
		uint8_t *at = ram(q->ring) + i * WQE_BB;

		put_be32(w.b, i << 8 | (i ? WQE_NOP : 0xff));
		put_be32(w.b + 4, q->num << 8 | 1);
		memcpy(at, w.b, WQE_BB);
	}
	q->tail = 4;
	q->last = 3;
	assert_true(wire_ring(q));
}

static void posted_wqes_are_flushed(void **state)
{
	struct wire_queue q = wire_sq(SQ_FLUSH, 0);
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	post_around_an_error(&q);
	wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
	for (i = 1; i < 4; i++)
		wire_expect(&q, CQE_REQ_ERR, i, ERR_FLUSHED);
	wire_ctrl(&w, WQE_NOP, false);
	wire_post(&q, &w);
	wire_expect(&q, CQE_REQ_ERR, 4, ERR_FLUSHED);
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.db_drop[DROP_BAD_STATE], 0);
}

static void flushing_must_be_asked_for(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;

	(void)state;
	post_around_an_error(&q);
	wire_expect(&q, CQE_REQ_ERR, 0, ERR_WQE_INVALID);
	wire_ctrl(&w, WQE_NOP, true);
	wire_post(&q, &w);
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.db_drop[DROP_BAD_STATE], 1);
}

static void first_flush_of_a_command_says_so(void **state)
{
	struct segment_row r = segment_rows[0];
	struct wire_queue q = wire_sq(SQ_FLUSH, 0);
	struct wire_wqe w;

	(void)state;
	r.payload = 512 * 1024;
	r.mss = 1448;
	post_large(&q, &r, 0);
	wire_ctrl(&w, WQE_NOP, false);
	wire_post(&q, &w);
	assert_int_equal(wire_move_sq(&q, SQ_RDY, SQ_ERR), ST_OK);
	wire_expect(&q, CQE_REQ_ERR, 0, ERR_FLUSHED_FIRST);
	wire_expect(&q, CQE_REQ_ERR, q.last, ERR_FLUSHED);
	wire_settle();
	assert_int_equal(wire.frames, 64);
}

static void restart(struct wire_queue *q)
{
	assert_int_equal(wire_move_sq(q, wire_sq_state(q), SQ_RST), ST_OK);
	q->tail = 0;
	put_be32(ram(q->dbr) + 4, 0);
	assert_int_equal(wire_move_sq(q, SQ_RST, SQ_RDY), ST_OK);
}

static void failed_queues_recover(void **state)
{
	struct wire_queue q = wire_sq(SQ_FLUSH, 0);
	unsigned int i;

	(void)state;
	post_around_an_error(&q);
	for (i = 0; i < 4; i++)
		wire_expect(&q, CQE_REQ_ERR, i, 0);
	restart(&q);
	/* What was posted before the reset is not flushed. */
	assert_int_equal(wire_move_sq(&q, SQ_RDY, SQ_ERR), ST_OK);
	assert_null(wire_cqe(&q));
	restart(&q);
	wire_post_frame(&q, 0, frame_rows[0].bytes, frame_rows[0].len, 18);
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire.frames, 1);
	/* The next error is the first one since the reset. */
	assert_int_equal(wire_move_sq(&q, SQ_RDY, SQ_ERR), ST_OK);
	assert_null(wire_cqe(&q));
}

/* In the midst of a large send. */
static void nothing_is_sent_behind_a_reset(void **state)
{
	struct segment_row r = segment_rows[0];
	struct wire_queue q = wire_sq(SQ_FLUSH, 0), gone = wire_sq(SQ_FLUSH, 0);

	(void)state;
	r.payload = 512 * 1024;
	r.mss = 1448;
	post_large(&q, &r, 0);
	post_large(&gone, &r, 0);
	assert_int_equal(wire.frames, 128);
	restart(&q);
	wire_destroy_sq(&gone);
	wire_settle();
	assert_int_equal(wire.frames, 128);
	assert_null(wire_cqe(&q));
	assert_null(wire_cqe(&gone));
	wire_post_frame(&q, 0, frame_rows[0].bytes, frame_rows[0].len, 18);
	wire_expect(&q, CQE_REQ, 0, 0);
}

/* The consumer index never moves, and the CQ has fewer entries than the queue completes. */
static void lost_completions_fail_the_queue(void **state)
{
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;
	unsigned int i;

	(void)state;
	rig_clear();
	for (i = 0; i < 1u << WIRE_LOG_CQ; i++) {
		wire_ctrl(&w, WQE_NOP, true);
		wire_post(&q, &w);
	}
	wire_settle();
	assert_int_equal(wire_sq_state(&q), SQ_RDY);
	wire_ctrl(&w, WQE_NOP, true);
	wire_post(&q, &w);
	wire_settle();
	assert_int_equal(wire_sq_state(&q), SQ_ERR);
	assert_int_equal(rig.nev, 2);
	assert_int_equal(rig.ev[0].type, EV_CQ_ERROR);
	assert_int_equal(rig.ev[1].type, EV_WQ_CATAS_ERROR);
	assert_int_equal(get_be32(rig.ev[1].data + 24), q.num);
}

static void hung_hca_sends_when_it_goes_on(void **state)
{
	struct segment_row r = segment_rows[0];
	struct wire_queue q = wire_sq(0, 0);
	unsigned int i;

	(void)state;
	r.payload = 512 * 1024;
	r.mss = 1448;
	post_large(&q, &r, 0);
	rig.hca->hung = true;
	wire_settle();
	assert_int_equal(wire.frames, 64);
	rig.hca->hung = false;
	for (i = 0; i < 10000 && wire.frames < 363; i++)
		wire_settle();
	assert_int_equal(wire.frames, 363);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wire_up, wire_down)

/* A frame that a rule drops completes as all others, but does not reach the port. */
static void rules_drop_sent_frames(void **state)
{
	const struct frame_row *r = row_named("tcp4");
	struct wire_queue q = wire_sq(0, 0);

	(void)state;
	wire_post_frame(&q, 0, r->bytes, r->len, 14);
	assert_int_equal(wire.frames, 1);
	wire_rule_of(FLOW_NIC_TX, FLOW_ALLOW, 0, 0);
	wire_post_frame(&q, 0, r->bytes, r->len, 14);
	assert_int_equal(wire.frames, 2);
	wire_rule_of(FLOW_NIC_TX, FLOW_DROP, 0, 0);
	wire_post_frame(&q, 0, r->bytes, r->len, 14);
	assert_int_equal(wire.frames, 2);
	assert_int_equal(rig.hca->count.tx_rule_drops, 1);
	assert_int_equal(rig.hca->eth->stats.tx_too_long + rig.hca->eth->stats.tx_link_down, 0);
}

/* A sniffer gets a copy of each frame that is sent, and the frame is sent. */
static void sniffers_get_sent_frames(void **state)
{
	static const uint32_t buffer[] = { FRAME_MAX };
	const struct frame_row *r = row_named("tcp4");
	struct wire_queue q = wire_sq(0, 0), rq = wire_rq(0, 0);
	const uint8_t *cqe;
	uint64_t at;

	(void)state;
	at = wire_recv(&rq, buffer, 1);
	wire_rule_of(FLOW_SNIFFER_TX, FLOW_FWD, wire_tir(&rq), 0x77);
	wire_post_frame(&q, 0, r->bytes, r->len, 14);
	assert_int_equal(wire.frames, 1);
	cqe = wire_expect(&rq, CQE_RESP_SEND, 0, 0);
	assert_int_equal(get_be32(cqe + 56), 0x77);
	assert_memory_equal(ram(at), r->bytes, r->len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(several_frames_are_sent_by_one_wqe), T(refused_frame_of_several_fails_the_queue),
		T(frames_arrive_as_they_were_posted), T(data_is_gathered),
		T(only_asked_for_completions_are_written), T(wqes_may_wrap),
		T(checksums_are_those_of_scapy), T(flags_choose_the_checksums),
		T(device_inserts_tags), T(tag_counts_for_the_length), T(wqes_are_traced),
		T(device_must_be_asked_for_what_it_can_insert),
		T(segments_are_those_of_scapy), T(large_sends_are_sliced),
		T(large_sends_must_fit_together), T(dropped_frames_complete),
		T(invalid_wqes_fail_the_queue), T(wqes_name_their_queue_and_index),
		T(wqes_have_a_greatest_size),
		T(keys_are_of_the_queue),
		T(queues_without_a_tis_send_nothing), T(headers_must_be_inline),
		T(posted_wqes_are_flushed), T(flushing_must_be_asked_for),
		T(first_flush_of_a_command_says_so), T(failed_queues_recover),
		T(nothing_is_sent_behind_a_reset), T(lost_completions_fail_the_queue),
		T(hung_hca_sends_when_it_goes_on), T(rules_drop_sent_frames),
		T(sniffers_get_sent_frames),
	};

	return cmocka_run_group_tests_name("nic_send", tests, NULL, NULL);
}
