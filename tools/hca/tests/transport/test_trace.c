// SPDX-License-Identifier: GPL-2.0
/*
 * What the trace tells of the transport: the members of each event.
 */
#include <event2/event.h>

#include "address.h"
#include "cqe_error.h"
#include "fabric.h"
#include "hca.h"
#include "object.h"
#include "packet.h"
#include "pair.h"
#include "pairrig.h"
#include "qp.h"
#include "trace.h"
#include "tracerig.h"
#include "wqe.h"

static void trace_both(void)
{
	trace_ring(rig.hca[0]->trace, true);
	trace_ring(rig.hca[1]->trace, true);
}

#define EXPECT(h, ...)	expect_traced(rig.hca[h]->trace, __VA_ARGS__)

/* The second message of a connection is one byte longer than its receive. */
static void refusal_is_told_at_both_sides(void **state)
{
	uint32_t psn;

	(void)state;
	trace_both();
	rig_recv(1, b, buf_b, 16, key_b);
	rig_recv(1, b, buf_b, 16, key_b);
	post_send(WQE_SEND, 16, true);
	assert_int_equal(rig_run(2, 1000), 2);
	psn = b->next_rcv_psn;
	post_send(WQE_SEND, 17, true);
	assert_int_equal(rig_run(4, 1000), 4);
	EXPECT(1, "refuse", "\"qpn\":%u,\"psn\":%u,\"opcode\":%u,\"nak\":%u,\"syndrome\":%u",
	       b->obj.num, psn, BTH_RC | BTH_SEND_ONLY, NAK_INVALID_REQ,
	       cqe_error_syndrome(ERR_RECEIVE_TOO_SHORT));
	EXPECT(1, "resp_error", "\"qpn\":%u,\"wqe\":1,\"syndrome\":%u,\"vendor\":%u", b->obj.num,
	       cqe_error_syndrome(ERR_RECEIVE_TOO_SHORT), cqe_error_vendor(ERR_RECEIVE_TOO_SHORT));
	EXPECT(0, "req_error", "\"qpn\":%u,\"wqe\":1,\"opcode\":%u,\"syndrome\":%u,"
	       "\"vendor\":%u,\"why\":\"\"", a->obj.num, WQE_SEND,
	       cqe_error_syndrome(ERR_NAK_INVALID_REQUEST),
	       cqe_error_vendor(ERR_NAK_INVALID_REQUEST));
}

static void malformed_wqe_says_why(void **state)
{
	struct rig_wqe w;

	(void)state;
	trace_both();
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, NULL);
	w.ds = 3;
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(1, 1000), 1);
	EXPECT(0, "req_error", "\"qpn\":%u,\"wqe\":0,\"opcode\":%u,\"syndrome\":%u,"
	       "\"vendor\":%u,\"why\":\"no room for an extended address vector\"", a->obj.num,
	       WQE_SEND, cqe_error_syndrome(ERR_WQE_INVALID), cqe_error_vendor(ERR_WQE_INVALID));
}

/* A WQE that has another index and another QP number. */
static void first_mistake_in_a_wqe_is_named(void **state)
{
	struct rig_wqe w;
	uint8_t *wqe;

	(void)state;
	trace_both();
	wq_ctrl(&w, WQE_NOP, true, 0);
	wqe = rig_ptr(0, a->mem.pas[1] + rig_put(0, a, w.b, w.ds) * 64);
	put_be32(wqe, 1 << 8 | WQE_NOP);
	put_be32(wqe + 4, (a->obj.num + 1) << 8 | 1);
	rig_send(0, a, w.b, w.ds);	/* the doorbell is for this WQE */
	rig_settle();
	EXPECT(0, "req_error", "\"qpn\":%u,\"wqe\":0,\"opcode\":0,\"syndrome\":%u,"
	       "\"vendor\":%u,\"why\":\"the WQE has another index than the queue\"", a->obj.num,
	       cqe_error_syndrome(ERR_WQE_INVALID), cqe_error_vendor(ERR_WQE_INVALID));
}

/* The retries before the last one count down. */
static void retries_say_how_many_are_left(void **state)
{
	uint32_t psn = a->next_send_psn;

	(void)state;
	trace_both();
	a->retry_count = a->cur_retry = 2;
	fabric_set_link(rig.hca[1], false);
	post_send(WQE_SEND, 16, true);
	while (a->cur_retry == 2)
		event_base_loop(rig.base, EVLOOP_ONCE);
	EXPECT(0, "retry", "\"qpn\":%u,\"psn\":%u,\"left\":2", a->obj.num, psn);
	assert_int_equal(rig_run(1, 3000), 1);
	EXPECT(0, "retry", "\"qpn\":%u,\"psn\":%u,\"left\":0", a->obj.num, psn);
}

/* A datagram has a GRH if @grh; the other fields of its address are always set. */
static void send_far(uint32_t qpn, uint32_t qkey, bool grh)
{
	struct rig_wqe w;
	uint8_t gid[16];

	gid_get(rig.hca[1], 1, gid);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), qpn, qkey, gid);
	w.b[16 + 12] = 3 << 4 | 5;		/* rate and service level */
	w.b[16 + 29] |= 2 << 4;			/* source GID 2 */
	if (!grh)
		w.b[16 + 28] &= ~0x40;
	wq_data(&w, buf_a, 16, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_settle();
}

static void datagram_has_its_address(void **state)
{
	(void)state;
	trace_both();
	a->path.pkey_index = 1;
	send_far(b->obj.num + 9, 0x1111, true);
	EXPECT(0, "datagram", "\"qpn\":%u,\"dlid\":%u,\"dqpn\":%u,\"pkey\":%u,\"sl\":5,"
	       "\"stat_rate\":3,\"grh\":1,\"sgid_index\":2,\"hop_limit\":9,\"tclass\":%u,"
	       "\"flow_label\":%u", a->obj.num, fabric_lid(rig.hca[1]), b->obj.num + 9, 0x8001,
	       0x42, 0x12345);
	send_far(b->obj.num + 9, 0x1111, false);
	EXPECT(0, "datagram", "\"qpn\":%u,\"dlid\":%u,\"dqpn\":%u,\"pkey\":%u,\"sl\":5,"
	       "\"stat_rate\":3,\"grh\":0,\"sgid_index\":2,\"hop_limit\":0,\"tclass\":0,"
	       "\"flow_label\":0", a->obj.num, fabric_lid(rig.hca[1]), b->obj.num + 9, 0x8001);
}

static void dropped_packet_says_why(void **state)
{
	(void)state;
	trace_both();
	rig_recv(1, b, buf_b, 4096, key_b);
	send_far(b->obj.num, 0x1112, false);
	EXPECT(1, "packet_drop", "\"qpn\":%u,\"why\":\"Q_Key\",\"qkey\":%u", b->obj.num, 0x1112);
	send_far(b->obj.num + 9, 0x1111, false);
	EXPECT(1, "packet_drop", "\"qpn\":%u,\"why\":\"no QP\",\"pkey\":%u", b->obj.num + 9,
	       0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(refusal_is_told_at_both_sides), UD(malformed_wqe_says_why),
		RC(first_mistake_in_a_wqe_is_named),
		RC(retries_say_how_many_are_left), UD(datagram_has_its_address),
		UD(dropped_packet_says_why),
	};

	return cmocka_run_group_tests_name("transport trace", tests, NULL, NULL);
}
