// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of frames that a peer sends: buffers, CQEs, and the reasons for which they are
 * dropped.
 */
#include <string.h>
#include <zlib.h>

#include "clock.h"
#include "cq.h"
#include "eth_port.h"
#include "flow.h"
#include "framerow.h"
#include "mkey.h"
#include "objrig.h"
#include "rq.h"
#include "rss.h"
#include "scapy_frames.h"
#include "sq.h"
#include "trace.h"
#include "tracerig.h"
#include "wirerig.h"
#include "wqe.h"

#define FLOW_TAG	0xabcde
#define IPS		(RSS_SIP | RSS_DIP)
#define PORTS		(RSS_SPORT | RSS_DPORT)

static const uint32_t one_buffer[] = { 2048 };

/* A queue that gets all frames. */
static struct wire_queue sink(unsigned int flags)
{
	struct wire_queue q = wire_rq(flags, 0);

	wire_rule(FLOW_FWD, wire_tir(&q), FLOW_TAG);
	return q;
}

/* Send a frame to the address of the port, whatever address it has. */
static void send_frame(const uint8_t *bytes, size_t len)
{
	static uint8_t copy[FRAME_MAX];

	memcpy(copy, bytes, len);
	put_be16(copy, wire.mac >> 32);
	put_be32(copy + 2, wire.mac);
	wire_send(copy, len);
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

static void send_row(const char *name)
{
	const struct frame_row *r = row_named(name);

	send_frame(r->bytes, r->len);
}

/* Frames that were dropped, by the reasons that the NIC counts. */
static uint64_t drops(void)
{
	const struct counters *c = &rig.hca->count;

	return c->rx_steering_discards + c->rx_wqe_too_small + c->rx_rule_drops +
	       c->rx_queue_not_ready + c->rx_no_wqe + c->rx_buffer_errors;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void frames_are_stored_whole(void **state)
{
	struct wire_queue q = sink(RQ_VSD);
	const uint8_t *cqe;
	uint64_t addr;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];

		addr = wire_recv(&q, one_buffer, 1);
		send_frame(r->bytes, r->len);
		cqe = wire_expect(&q, CQE_RESP_SEND, i, 0);
		assert_int_equal(get_be32(cqe + 44), r->len);
		assert_int_equal(get_be32(cqe + 56), FLOW_TAG);
		assert_memory_equal(ram(addr) + 6, r->bytes + 6, r->len - 6);
		assert_int_equal(ram(addr)[r->len], 0);	/* and nothing else is written */
	}
	assert_int_equal(rig.hca->count.wqes_rq, ARRAY_SIZE(frame_rows));
	assert_int_equal(drops(), 0);
}

#define CRC_RESIDUE	0x2144df1cu	/* CRC-32 of any frame with its FCS */

/* With its FCS a frame is longer, and has to fit into the WQE. */
static void frames_are_stored_with_their_fcs(void **state)
{
	uint32_t len[1] = { 2048 };
	struct wire_queue q;
	const uint8_t *cqe;
	uint64_t addr;
	size_t i;

	(void)state;
	wire_cap(scatter_fcs, 1);
	q = sink(RQ_VSD | RQ_FCS);
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		size_t bytes = frame_rows[i].len;

		addr = wire_recv(&q, len, 1);
		send_frame(frame_rows[i].bytes, bytes);
		cqe = wire_expect(&q, CQE_RESP_SEND, i, 0);
		assert_int_equal(get_be32(cqe + 44), bytes + 4);
		assert_int_equal(crc32(0, ram(addr), bytes + 4), CRC_RESIDUE);
		assert_int_equal(ram(addr)[bytes + 4], 0);
	}
	len[0] = frame_rows[0].len + 3;
	wire_recv(&q, len, 1);
	send_frame(frame_rows[0].bytes, frame_rows[0].len);
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.rx_wqe_too_small, 1);
}

static void buffers_are_filled_in_order(void **state)
{
	static const uint32_t buffers[] = { 100, 7, 1000, 1 };
	struct wire_queue q = sink(0);
	const struct frame_row *r = row_named("udp4_long");
	uint64_t addr;

	(void)state;
	addr = wire_recv(&q, buffers, 4);
	send_frame(r->bytes, 1108);
	wire_expect(&q, CQE_RESP_SEND, 0, 0);
	assert_memory_equal(ram(addr) + 6, r->bytes + 6, 1102);
	/* One byte more than there is room: the WQE stays for the next frame. */
	wire_recv(&q, buffers, 4);
	send_frame(r->bytes, 1109);
	assert_null(wire_cqe(&q));
	assert_int_equal(rig.hca->count.rx_wqe_too_small, 1);
	send_frame(r->bytes, 200);
	wire_expect(&q, CQE_RESP_SEND, 1, 0);
	assert_int_equal(drops(), 1);
}

static void wqes_are_consumed_in_the_order_of_the_ring(void **state)
{
	struct wire_queue q = sink(0);
	unsigned int i;

	(void)state;
	for (i = 0; i < 50; i++) {
		wire_recv(&q, one_buffer, 1);
		if (i % 3 == 2) {
			send_row("tcp4");
			send_row("tcp6");
			send_row("udp4");
			wire_expect(&q, CQE_RESP_SEND, i - 2, 0);
			wire_expect(&q, CQE_RESP_SEND, i - 1, 0);
			wire_expect(&q, CQE_RESP_SEND, i, 0);
		}
	}
}

/* ---- what the CQE says ----------------------------------------------------------------------- */

/* l4_l3_hdr_type of the frame, without the bit of a stripped tag. */
static unsigned int header_type(const struct frame *f)
{
	unsigned int l4 = 0, l3 = f->ip_version == 4 ? 2 : f->ip_version == 6 ? 1 : 0;

	if (f->l4_type == L4_UDP)
		l4 = 2;
	else if (f->l4_type == L4_TCP)
		l4 = !(f->tcp_flags & TCP_ACK) ? 1 : f->payload == f->l4_end ? 3 : 4;
	return l4 << 4 | l3 << 2;
}

static void cqes_describe_the_headers(void **state)
{
	struct wire_queue q = sink(RQ_VSD);
	const uint8_t *cqe;
	uint64_t before;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(frame_rows); i++) {
		const struct frame_row *r = &frame_rows[i];
		unsigned int ok = 1 | (r->f.ip_version ? 2 : 0) | (r->f.l4_type ? 4 : 0);

		wire_recv(&q, one_buffer, 1);
		before = hca_clock(rig.hca);
		send_frame(r->bytes, r->len);
		cqe = wire_expect(&q, CQE_RESP_SEND, i, 0);
		if (cqe[28] != ok || cqe[29] != header_type(&r->f) ||
		    get_be16(cqe + 20) != (r->f.ip_version ? r->sum : 0))
			fail_msg("%s: %x %x %x", r->name, cqe[28], cqe[29], get_be16(cqe + 20));
		/* Other values of these mean other things to a driver. */
		assert_int_equal(cqe[0], 0);
		assert_int_equal(cqe[17], 0);
		assert_int_equal(get_be32(cqe + 36), 0);
		assert_int_equal(get_be16(cqe + 30), 0);
		assert_true(get_be64(cqe + 48) <= hca_clock(rig.hca));
		assert_true(get_be64(cqe + 48) >= before);
	}
}

static void wrong_checksums_are_not_called_right(void **state)
{
	static const struct { const char *name; unsigned int l3, l4; } rows[] = {
		{ "tcp4", 1, 0 }, { "udp4", 1, 0 }, { "tcp6", 1, 0 }, { "tcp4_options", 0, 1 },
	};
	struct wire_queue q = sink(0);
	const uint8_t *cqe;
	uint8_t bytes[200];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct frame_row *r = row_named(rows[i].name);

		memcpy(bytes, r->bytes, r->len);
		bytes[rows[i].l3 ? r->len - 1 : r->f.l3 + 8] ^= 1;	/* the data or the TTL */
		wire_recv(&q, one_buffer, 1);
		send_frame(bytes, r->len);
		cqe = wire_expect(&q, CQE_RESP_SEND, i, 0);
		assert_int_equal(cqe[28], 1 | rows[i].l3 << 1 | rows[i].l4 << 2);
	}
}

static void customer_tags_are_stripped(void **state)
{
	static const struct { const char *name; bool strips; } rows[] = {
		{ "ctag", true }, { "ctag_udp6", true }, { "stag", false }, { "tcp4", false },
		{ "stag_ctag", false }, { "ctag_stag", true }, { "three_tags", true },
	};
	struct wire_queue q = sink(0);
	const uint8_t *cqe;
	uint64_t addr;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct frame_row *r = row_named(rows[i].name);
		size_t cut = rows[i].strips ? TAG_BYTES : 0;

		addr = wire_recv(&q, one_buffer, 1);
		send_frame(r->bytes, r->len);
		cqe = wire_expect(&q, CQE_RESP_SEND, i, 0);
		assert_int_equal(get_be32(cqe + 44), r->len - cut);
		assert_int_equal(cqe[29] & 1, rows[i].strips);
		assert_int_equal(get_be16(cqe + 30), rows[i].strips ? r->f.tag[0].tci : 0);
		assert_memory_equal(ram(addr) + 6, r->bytes + 6, 6);
		assert_memory_equal(ram(addr) + 12, r->bytes + 12 + cut, r->len - 12 - cut);
		assert_int_equal(ram(addr)[r->len - cut], 0);
	}
}

/* ---- receive side scaling -------------------------------------------------------------------- */

static struct rss rig_rss(unsigned int fields, bool symmetric)
{
	struct rss rss = { .fn = RSS_TOEPLITZ, .fields = fields, .symmetric = symmetric };
	unsigned int i;

	for (i = 0; i < RSS_KEY_BYTES; i++)
		rss.key[i] = 7 * i + 1;
	return rss;
}

/* Send a flow of TCP, whose port varies. */
static struct rss_hash send_flow(const struct rss *rss, uint16_t sport)
{
	const struct frame_row *r = row_named("tcp4");
	uint8_t bytes[100];
	struct frame f;

	memcpy(bytes, r->bytes, r->len);
	put_be16(bytes + r->f.l4, sport);
	frame_parse(&f, bytes, r->len, LENGTHS_OF_FRAME);
	send_frame(bytes, r->len);
	return rss_hash_frame(rss, &f);
}

static void frames_are_traced(void **state)
{
	const struct frame_row *r = row_named("ctag");
	struct wire_queue q = sink(0);

	(void)state;
	wire_recv(&q, one_buffer, 1);
	trace_ring(rig.hca->trace, true);
	send_row("ctag");
	expect_traced(rig.hca->trace, "rq_frame", "\"rqn\":%u,\"wqe\":0,\"bytes\":%zu,\"hash\":0,"
		      "\"hash_type\":0,\"check_sum\":%u,\"ok\":7,\"headers\":%u,\"tci\":24581,"
		      "\"flow_tag\":%u", q.num, r->len - 4, r->sum, 4 << 4 | 2 << 2 | 1, FLOW_TAG);
}

static void hash_chooses_the_queue(void **state)
{
	struct rss rss = rig_rss(IPS | PORTS, true);
	struct wire_queue q[4];
	unsigned int i, got[4] = { 0 };

	(void)state;
	for (i = 0; i < 4; i++)
		q[i] = wire_rq(0, 0);
	wire_rule(FLOW_FWD, wire_rss(q, 4, IPS | PORTS, false, false, true), 0);
	for (i = 0; i < 4; i++)
		wire_recv(&q[i], one_buffer, 1);
	for (i = 0; i < 64; i++) {
		struct rss_hash hash = send_flow(&rss, 1000 + i);
		struct wire_queue *to = &q[hash.value & 3];
		const uint8_t *cqe = wire_expect(to, CQE_RESP_SEND, to->last, 0);

		assert_int_equal(get_be32(cqe + 12), hash.value);
		assert_int_equal(cqe[16], 1 << 6 | 1 << 2);	/* TCP, IPv4 */
		got[hash.value & 3]++;
		wire_recv(to, one_buffer, 1);
	}
	for (i = 0; i < 4; i++)
		assert_true(got[i] > 4);
}

static void frames_are_hashed_by_what_the_tir_selects(void **state)
{
	/* The frame; fields, UDP, IPv6 of the TIR; the fields that count; rss_hash_type. */
	static const struct {
		const char *name;
		unsigned int fields, udp, v6, hashed, type;
	} rows[] = {
		{ "udp4", IPS | PORTS, 1, 0, IPS | PORTS, 2 << 6 | 1 << 2 },
		{ "udp4", IPS | PORTS, 0, 0, IPS, 1 << 2 },
		{ "udp4", IPS, 0, 0, IPS, 1 << 2 },
		{ "udp4", IPS | PORTS, 1, 1, 0, 0 },
		{ "tcp6", IPS | PORTS, 0, 1, IPS | PORTS, 1 << 6 | 2 << 2 },
		{ "tcp6", IPS | PORTS, 0, 0, 0, 0 },
		{ "icmp6", IPS | PORTS, 0, 1, IPS, 2 << 2 },
		{ "first_fragment4", IPS | PORTS, 1, 0, IPS, 1 << 2 },
		{ "esp4", IPS | RSS_SPI, 0, 0, IPS | RSS_SPI, 3 << 6 | 1 << 2 },
		{ "ah6", IPS | RSS_SPI, 0, 1, IPS | RSS_SPI, 3 << 6 | 2 << 2 },
		{ "arp", IPS | PORTS, 0, 0, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct frame_row *r = row_named(rows[i].name);
		struct rss rss = rig_rss(rows[i].hashed, false);
		struct wire_queue q;
		const uint8_t *cqe;

		wire_up(NULL);
		q = wire_rq(0, 0);
		wire_rule(FLOW_FWD, wire_rss(&q, 1, rows[i].fields, rows[i].udp, rows[i].v6,
					     false), 0);
		wire_recv(&q, one_buffer, 1);
		send_frame(r->bytes, r->len);
		cqe = wire_expect(&q, CQE_RESP_SEND, 0, 0);
		if (cqe[16] != rows[i].type ||
		    get_be32(cqe + 12) != rss_hash_frame(&rss, &r->f).value)
			fail_msg("%zu, %s: type %x", i, rows[i].name, cqe[16]);
		wire_down(NULL);
	}
}

static void direct_tirs_show_no_hash(void **state)
{
	struct wire_queue q = sink(0);
	const uint8_t *cqe;

	(void)state;
	wire_recv(&q, one_buffer, 1);
	send_row("tcp4");
	cqe = wire_expect(&q, CQE_RESP_SEND, 0, 0);
	assert_int_equal(get_be32(cqe + 12), 0);
	assert_int_equal(cqe[16], 0);
}

/* ---- drops ----------------------------------------------------------------------------------- */

static uint32_t new_counter_set(void)
{
	uint8_t in[IFC_SZ(alloc_q_counter_in)] = {}, out[IFC_SZ(alloc_q_counter_out)];

	assert_int_equal(rig_cmd(MLX5_CMD_OP_ALLOC_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 sizeof(out)), ST_OK);
	return IFC_GET(alloc_q_counter_out, out, counter_set_id);
}

static uint32_t out_of_buffer(uint32_t set)
{
	uint8_t in[IFC_SZ(query_q_counter_in)] = {}, out[IFC_SZ(query_q_counter_out)];

	IFC_SET(query_q_counter_in, in, counter_set_id, set);
	assert_int_equal(rig_cmd(MLX5_CMD_OP_QUERY_Q_COUNTER, 0, 0, in, sizeof(in), out,
				 sizeof(out)), ST_OK);
	return IFC_GET(query_q_counter_out, out, out_of_buffer);
}

static void frames_without_a_wqe_are_counted(void **state)
{
	uint32_t set = new_counter_set();
	struct wire_queue q = wire_rq(0, set);
	unsigned int i;

	(void)state;
	wire_rule(FLOW_FWD, wire_tir(&q), 0);
	wire_recv(&q, one_buffer, 1);
	for (i = 0; i < 4; i++)
		send_row("tcp4");
	wire_expect(&q, CQE_RESP_SEND, 0, 0);
	assert_null(wire_cqe(&q));
	assert_int_equal(out_of_buffer(set), 3);
	assert_int_equal(rig.hca->count.rx_no_wqe, 3);
	assert_int_equal(drops(), 3);
	/* What is posted later gets later frames. */
	wire_recv(&q, one_buffer, 1);
	wire_settle();
	assert_null(wire_cqe(&q));
	send_row("tcp4");
	wire_expect(&q, CQE_RESP_SEND, 1, 0);
}

static void rules_decide(void **state)
{
	(void)state;
	send_row("tcp4");			/* there is no root */
	assert_int_equal(rig.hca->count.rx_steering_discards, 1);
	wire_rule(FLOW_DROP, 0, 0);
	send_row("tcp4");
	assert_int_equal(rig.hca->count.rx_rule_drops, 1);
	assert_int_equal(drops(), 2);
}

/* A sniffer gets a copy of each frame that the port receives, whatever the NIC does with it. */
static void sniffers_get_received_frames(void **state)
{
	struct wire_queue q = wire_rq(0, 0);
	const uint8_t *cqe;

	(void)state;
	wire_recv(&q, one_buffer, 1);
	wire_rule_of(FLOW_SNIFFER_RX, FLOW_FWD, wire_tir(&q), 0x55);
	wire_rule(FLOW_DROP, 0, 0);
	send_row("tcp4");
	assert_int_equal(rig.hca->count.rx_rule_drops, 1);
	cqe = wire_expect(&q, CQE_RESP_SEND, 0, 0);
	assert_int_equal(get_be32(cqe + 56), 0x55);
}

static void queues_must_be_ready(void **state)
{
	struct wire_queue q = sink(0);

	(void)state;
	wire_recv(&q, one_buffer, 1);
	assert_int_equal(wire_move_rq(&q, RQ_RDY, RQ_ERR), ST_OK);
	send_row("tcp4");
	assert_int_equal(wire_move_rq(&q, RQ_ERR, RQ_RST), ST_OK);
	send_row("tcp4");
	assert_int_equal(rig.hca->count.rx_queue_not_ready, 2);
	assert_int_equal(drops(), 2);
	assert_null(wire_cqe(&q));
	assert_int_equal(wire_move_rq(&q, RQ_RST, RQ_RDY), ST_OK);
	send_row("tcp4");
	wire_expect(&q, CQE_RESP_SEND, 0, 0);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void unknown_keys_fail_the_queue(void **state)
{
	struct wire_queue q = sink(RQ_NO_RLKY | RQ_FLUSH);
	uint64_t addr[2];

	(void)state;
	addr[0] = wire_recv(&q, one_buffer, 1);
	addr[1] = wire_recv(&q, one_buffer, 1);
	send_row("tcp4");
	wire_expect(&q, CQE_RESP_ERR, 0, ERR_SCATTER_KEY_UNKNOWN);
	wire_expect(&q, CQE_RESP_ERR, 1, ERR_FLUSHED);
	assert_int_equal(wire_rq_state(&q), RQ_ERR);
	assert_int_equal(rig.hca->count.rx_buffer_errors, 1);
	assert_int_equal(drops(), 1);
	assert_int_equal(*ram(addr[0]) | *ram(addr[1]), 0);
}

static void run_for(unsigned int ms)
{
	uint64_t end = clock_now_ns() + ms * 1000000ull;

	while (clock_now_ns() < end)
		wire_settle();
}

static void posted_wqes_are_flushed(void **state)
{
	struct wire_queue q = wire_rq(RQ_FLUSH, 0), quiet = wire_rq(0, 0);

	(void)state;
	wire_recv(&q, one_buffer, 1);
	wire_recv(&q, one_buffer, 1);
	wire_recv(&quiet, one_buffer, 1);
	assert_int_equal(wire_move_rq(&q, RQ_RDY, RQ_ERR), ST_OK);
	assert_int_equal(wire_move_rq(&quiet, RQ_RDY, RQ_ERR), ST_OK);
	wire_expect(&q, CQE_RESP_ERR, 0, ERR_FLUSHED_FIRST);
	wire_expect(&q, CQE_RESP_ERR, 1, ERR_FLUSHED);
	/* Posted later. Receive queues have no doorbells: the record is read now and then. */
	wire_recv(&q, one_buffer, 1);
	run_for(30);
	wire_expect(&q, CQE_RESP_ERR, 2, ERR_FLUSHED);
	assert_null(wire_cqe(&quiet));
	/* Behind a reset nothing is flushed. */
	assert_int_equal(wire_move_rq(&q, RQ_ERR, RQ_RST), ST_OK);
	wire_recv(&q, one_buffer, 1);
	run_for(30);
	assert_null(wire_cqe(&q));
}

static void destroyed_queues_are_not_watched(void **state)
{
	struct wire_queue q = wire_rq(RQ_FLUSH, 0);

	(void)state;
	assert_int_equal(wire_move_rq(&q, RQ_RDY, RQ_ERR), ST_OK);
	wire_destroy_rq(&q);
	wire_recv(&q, one_buffer, 1);
	run_for(30);
	assert_null(wire_cqe(&q));
}

static void record_beyond_the_queue_is_an_error(void **state)
{
	struct wire_queue q = sink(0);

	(void)state;
	put_be32(ram(q.dbr), (1 << WIRE_LOG_RQ) + 1);
	rig_clear();
	send_row("tcp4");
	assert_int_equal(rig.nev, 1);
	assert_int_equal(rig.ev[0].type, EV_WQ_CATAS_ERROR);
	assert_int_equal(get_be32(rig.ev[0].data + 24), q.num);
	assert_int_equal(wire_rq_state(&q), RQ_ERR);
	assert_int_equal(rig.hca->count.rx_queue_not_ready, 1);
}

/* The consumer index never moves, so the CQ overflows. */
static void lost_completions_fail_the_queue(void **state)
{
	struct wire_queue q = sink(0);
	unsigned int i;

	(void)state;
	rig_clear();
	for (i = 0; i <= 1u << WIRE_LOG_CQ; i++) {
		assert_int_equal(wire_rq_state(&q), RQ_RDY);
		wire_recv(&q, one_buffer, 1);
		send_row("tcp4");
	}
	assert_int_equal(wire_rq_state(&q), RQ_ERR);
	assert_int_equal(rig.nev, 2);
	assert_int_equal(rig.ev[0].type, EV_CQ_ERROR);
	assert_int_equal(rig.ev[1].type, EV_WQ_CATAS_ERROR);
}

/* Queues that are reset or destroyed: their memory belongs to the driver. */
static void nothing_is_written_behind_a_reset(void **state)
{
	struct wire_queue q = sink(0);
	uint64_t addr = wire_recv(&q, one_buffer, 1);

	(void)state;
	assert_int_equal(wire_move_rq(&q, RQ_RDY, RQ_RST), ST_OK);
	send_row("tcp4");
	assert_null(wire_cqe(&q));
	assert_int_equal(ram(addr)[12], 0);
}

static void hung_hca_receives_when_it_goes_on(void **state)
{
	struct wire_queue q = sink(0);
	unsigned int i;

	(void)state;
	wire_recv(&q, one_buffer, 1);
	rig.hca->hung = true;
	send_row("tcp4");
	assert_null(wire_cqe(&q));
	rig.hca->hung = false;
	for (i = 0; i < 100 && !rig.hca->count.wqes_rq; i++)
		run_for(2);
	wire_expect(&q, CQE_RESP_SEND, 0, 0);
}

/* ---- own frames ------------------------------------------------------------------------------ */

static void own_frames_return_if_loopback_is_on(void **state)
{
	struct wire_queue q = sink(0), sq = wire_sq(0, 0);
	const struct frame_row *r = row_named("tcp4");
	uint8_t bytes[100];

	(void)state;
	memcpy(bytes, r->bytes, r->len);
	put_be16(bytes, wire.mac >> 32);
	put_be32(bytes + 2, wire.mac);
	wire_recv(&q, one_buffer, 1);
	wire_post_frame(&sq, 0, bytes, r->len, 18);
	wire_expect(&sq, CQE_REQ, 0, 0);
	assert_null(wire_cqe(&q));		/* not before the doorbell returns */
	wire_settle();
	wire_expect(&q, CQE_RESP_SEND, 0, 0);
	assert_int_equal(wire.frames, 0);
	rig.hca->eth->vport.no_uc_loopback = true;
	wire_recv(&q, one_buffer, 1);
	wire_post_frame(&sq, 0, bytes, r->len, 18);
	wire_settle();
	assert_null(wire_cqe(&q));
	assert_int_equal(wire.frames, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wire_up, wire_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_are_stored_whole), T(frames_are_stored_with_their_fcs),
		T(buffers_are_filled_in_order),
		T(wqes_are_consumed_in_the_order_of_the_ring), T(cqes_describe_the_headers),
		T(wrong_checksums_are_not_called_right), T(customer_tags_are_stripped),
		T(frames_are_traced), T(hash_chooses_the_queue),
		cmocka_unit_test(frames_are_hashed_by_what_the_tir_selects),
		T(direct_tirs_show_no_hash), T(frames_without_a_wqe_are_counted), T(rules_decide),
		T(sniffers_get_received_frames),
		T(queues_must_be_ready), T(unknown_keys_fail_the_queue),
		T(posted_wqes_are_flushed), T(destroyed_queues_are_not_watched),
		T(record_beyond_the_queue_is_an_error), T(lost_completions_fail_the_queue),
		T(nothing_is_written_behind_a_reset), T(hung_hca_receives_when_it_goes_on),
		T(own_frames_return_if_loopback_is_on),
	};

	return cmocka_run_group_tests_name("nic_receive", tests, NULL, NULL);
}
