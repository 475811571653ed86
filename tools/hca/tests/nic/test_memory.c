// SPDX-License-Identifier: GPL-2.0
/*
 * The NIC when memory is short: a frame for which there is no memory is not sent. Its WQE completes
 * all the same, and the sender counts the frame once, as discarded.
 */
#include "cq.h"
#include "eth_port.h"
#include "eth_stats.h"
#include "framerow.h"
#include "nic_wqe.h"
#include "objrig.h"
#include "scapy_frames.h"
#include "scapy_segments.h"
#include "shortmem.h"
#include "wirerig.h"

#define DISCARDS(dir)	IFC_BYTE(eth_2863_cntrs_grp_data_layout, if_##dir##_discards_high)

static uint64_t discards(size_t at)
{
	uint8_t set[IFC_SZ(eth_2863_cntrs_grp_data_layout)] = {};

	assert_true(eth_ppcnt(rig.hca, PPCNT_RFC_2863, 0, set));
	return get_be64(set + at);
}

/* Let the allocation @n of a WQE fail, of which the peer then gets @got frames. */
static void post_while_short(struct wire_queue *q, const struct wire_wqe *w, unsigned int n,
			     unsigned int got)
{
	uint64_t lost = discards(DISCARDS(out));
	unsigned int before = wire.frames;
	struct wire_wqe copy = *w;

	shortmem_left = n;
	wire_post(q, &copy);
	assert_int_equal(shortmem_left, UINT_MAX);
	wire_expect(q, CQE_REQ, q->last, 0);
	assert_int_equal(wire.frames - before, got);
	assert_int_equal(discards(DISCARDS(out)), lost + 1);
	assert_int_equal(discards(DISCARDS(in)), 0);
	assert_int_equal(rig.hca->eth->stats.tx_no_memory, lost + 1);
}

/* A frame is made by two allocations. */
static void frames_without_memory_are_discarded_by_the_sender(void **state)
{
	const struct frame_row *r = &frame_rows[0];
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;

	(void)state;
	wire_post_frame(&q, 0, r->bytes, r->len, 18);
	wire_expect(&q, CQE_REQ, 0, 0);
	assert_int_equal(wire.frames, 1);
	wire_ctrl(&w, WQE_SEND, true);
	wire_eth(&w, 0, 0, r->bytes, 18);
	wire_data(&w, r->bytes + 18, r->len - 18);
	post_while_short(&q, &w, 0, 0);
	post_while_short(&q, &w, 1, 0);
	wire_post(&q, &w);
	wire_expect(&q, CQE_REQ, q.last, 0);
	assert_int_equal(wire.frames, 2);
}

static void segments_without_memory_are_discarded_by_the_sender(void **state)
{
	const struct segment_row *r = &segment_rows[0];
	static const uint8_t payload[8192];
	struct wire_queue q = wire_sq(0, 0);
	struct wire_wqe w;

	(void)state;
	assert_true(r->segments > 1 && r->payload <= sizeof(payload));
	wire_ctrl(&w, WQE_LSO, true);
	wire_eth(&w, 0, r->mss, r->template, r->template_len);
	wire_data(&w, payload, r->payload);
	post_while_short(&q, &w, 0, r->segments - 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wire_up, wire_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_without_memory_are_discarded_by_the_sender),
		T(segments_without_memory_are_discarded_by_the_sender),
	};

	return cmocka_run_group_tests_name("nic memory", tests, NULL, NULL);
}
