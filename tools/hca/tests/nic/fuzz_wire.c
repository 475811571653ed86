// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the NIC: WQEs of any content on send queues, frames of any content from a peer, and
 * receive WQEs, while queues change their states.
 */
#include <string.h>

#include "cq.h"
#include "eth_port.h"
#include "flow.h"
#include "fuzzrig.h"
#include "mkey.h"
#include "nic.h"
#include "nic_wqe.h"
#include "objrig.h"
#include "rq.h"
#include "rss.h"
#include "sq.h"
#include "wirerig.h"

#define STEPS	200
#define QUEUES	2

enum step {
	SEND_ANY, SEND_FRAME, SEND_LARGE, ARRIVE, POST, BAD_POST, MOVE_SQ, MOVE_RQ, TURN, KINDS
};

static struct wire_queue sq[QUEUES], rq[QUEUES];

/* Take all CQEs, so that no queue overflows but by the fuzzer's wish. */
static void take_cqes(struct wire_queue *q, uint8_t error)
{
	const uint8_t *cqe;

	while ((cqe = wire_cqe(q)))
		must(cqe[63] >> 4 == error || !(cqe[63] >> 4) || cqe[63] >> 4 == CQE_RESP_SEND);
}

/* A template of Ethernet, IP and TCP or UDP, which the input then changes. */
static size_t header_of(struct fuzz_in *in, uint8_t *h)
{
	static const uint8_t v4[] = {
		2, 1, 2, 3, 4, 5, 2, 5, 4, 3, 2, 1, 8, 0, 0x45, 0, 0, 0, 0, 1, 0, 0, 64, PROTO_TCP,
		0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x10, 0, 0x20, 0, 0, 0, 0, 1, 0, 0, 0, 1,
		0x50, 0x18,
	};
	size_t len = sizeof(v4) + 6;
	unsigned int i, n = fuzz_u8(in) % 4;

	memset(h, 0, len);
	memcpy(h, v4, sizeof(v4));
	for (i = 0; i < n; i++)
		h[fuzz_u8(in) % len] = fuzz_u8(in);
	return len;
}

static void send_any(struct fuzz_in *in, struct wire_queue *q)
{
	struct wire_wqe w;

	wire_ctrl(&w, 0, true);
	w.ds = 1 + fuzz_u8(in) % 8;
	fuzz_take(in, w.b + 8, w.ds * 16 - 8);
	w.b[3] = fuzz_u8(in);
	if (fuzz_u8(in) & 1)	/* also the index and the number */
		fuzz_take(in, w.b, 8);
	wire_put(q, &w);
	wire_ring(q);
}

static void send_frame(struct fuzz_in *in, struct wire_queue *q, bool large)
{
	uint8_t header[64];
	size_t len = header_of(in, header);
	struct wire_wqe w;
	uint32_t bytes = fuzz_u16(in);

	wire_ctrl(&w, large ? WQE_LSO : WQE_SEND, fuzz_u8(in) & 1);
	wire_eth(&w, fuzz_u8(in) & 0xc0, fuzz_u16(in) % 4096, header, len);
	wire_seg(&w, WIRE_BUF + fuzz_u8(in), bytes % (large ? 0x10000 : 12000), MKEY_RESD_LKEY);
	wire_post(q, &w);
}

static void arrive(struct fuzz_in *in)
{
	uint8_t bytes[320] = { 0 };
	size_t len = header_of(in, bytes);

	len += fuzz_u8(in);
	if (fuzz_u8(in) & 1) {
		len = ETH_BYTES + fuzz_u8(in);
		fuzz_take(in, bytes + ETH_BYTES - 2, len - ETH_BYTES + 2);
	}
	put_be16(bytes, wire.mac >> 32);
	put_be32(bytes + 2, wire.mac);
	wire_send(bytes, len);
}

static void post(struct fuzz_in *in, struct wire_queue *q, bool bad)
{
	uint32_t len[4];
	unsigned int i, n = 1 + fuzz_u8(in) % 4;
	uint8_t *wqe = ram(q->ring) + q->tail % (1u << WIRE_LOG_RQ) * WIRE_STRIDE;

	for (i = 0; i < n; i++)
		len[i] = fuzz_u8(in) * 8u;
	wire_recv(q, len, n);
	if (bad)
		fuzz_take(in, wqe, WIRE_STRIDE);
}

static void restart_sq(struct wire_queue *q, unsigned int to)
{
	unsigned int from = wire_sq_state(q);

	if (to == SQ_RDY && from != SQ_RST) {
		wire_move_sq(q, from, SQ_RST);
		from = SQ_RST;
	}
	if (from == SQ_RST || to == SQ_RST) {
		q->tail = 0;
		put_be32(ram(q->dbr) + 4, 0);
	}
	wire_move_sq(q, from, to);
}

static void restart_rq(struct wire_queue *q, unsigned int to)
{
	unsigned int from = wire_rq_state(q);

	if (to == RQ_RDY && from != RQ_RST) {
		wire_move_rq(q, from, RQ_RST);
		from = RQ_RST;
	}
	if (from == RQ_RST || to == RQ_RST) {
		q->tail = 0;
		put_be32(ram(q->dbr), 0);
	}
	wire_move_rq(q, from, to);
}

static void step(struct fuzz_in *in)
{
	static const unsigned int states[] = { SQ_RDY, SQ_RST, SQ_ERR, SQ_RDY };
	uint8_t what = fuzz_u8(in), to = states[fuzz_u8(in) % 4];
	struct wire_queue *s = &sq[what >> 6 & 1], *r = &rq[what >> 7];

	switch ((enum step)(what % KINDS)) {
	case SEND_ANY:
		send_any(in, s);
		break;
	case SEND_FRAME:
	case SEND_LARGE:
		send_frame(in, s, what % KINDS == SEND_LARGE);
		break;
	case ARRIVE:
		arrive(in);
		break;
	case POST:
	case BAD_POST:
		post(in, r, what % KINDS == BAD_POST);
		break;
	case MOVE_SQ:
		restart_sq(s, to);
		break;
	case MOVE_RQ:
		restart_rq(r, to);
		break;
	default:
		wire_settle();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned int i, k;

	wire_up(NULL);
	for (i = 0; i < QUEUES; i++) {
		sq[i] = wire_sq(i ? SQ_FLUSH : 0, 0);
		rq[i] = wire_rq(i ? RQ_FLUSH : RQ_VSD, 0);
	}
	wire_rule(FLOW_FWD, wire_rss(rq, QUEUES, RSS_SIP | RSS_DIP | RSS_SPORT | RSS_DPORT, false,
				     false, true), 7);
	for (k = 0; k < STEPS && in.left; k++) {
		step(&in);
		wire.frames = 0;
		wire.brk = WIRE_BUF;	/* buffers are used again */
		for (i = 0; i < QUEUES; i++) {
			take_cqes(&sq[i], CQE_REQ_ERR);
			take_cqes(&rq[i], CQE_RESP_ERR);
		}
	}
	wire_down(NULL);
	return 0;
}
