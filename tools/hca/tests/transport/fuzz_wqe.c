// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target for work queue elements: bytes become the send ring, the receive ring
 * and the doorbell records of a pair of queue pairs, which then run.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "fuzzrig.h"
#include "ifc.h"
#include "mkey.h"
#include "pairrig.h"
#include "qp.h"
#include "req.h"
#include "wqe.h"

static const enum qp_type types[] = { QPT_RC, QPT_UC, QPT_UD, QPT_RC };

/*
 * Let the fuzzer get past the first checks: put the right index and QP number into the control
 * segments. The first WQE always gets them, because the doorbell is its first 8 bytes.
 */
static void mend_ring(uint8_t *ring, const struct qp *qp, uint8_t how)
{
	unsigned int i;

	for (i = 0; i < qp->sq_cnt; i++) {
		uint8_t *w = ring + i * 64;

		if (how & 1 || !i)
			put_be32(w, (get_be32(w) & 0xff0000ff) | i << 8);
		if (how & 2 || !i)
			put_be32(w + 4, qp->obj.num << 8 | (w[7] & 0x3f));
	}
}

/* Run the event loop, and drop what the rig recorded, which has limited room. */
static void run(unsigned int passes)
{
	while (passes--) {
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		rig.ncqe = 0;
		rig.nevents = 0;
	}
}

/* The segments that the decoder finds must lie within the WQE. The sanitizers check the rest. */
static void decode(const uint8_t *data, size_t size)
{
	static struct send_wqe w;
	struct recv_wqe r;
	unsigned int i;

	memset(&w, 0xa5, sizeof(w));
	memcpy(w.raw, data, size < sizeof(w.raw) ? size : sizeof(w.raw));
	for (i = 0; i < 16; i++)
		if (!wqe_parse_send(&w, i)) {
			unsigned int s;

			for (s = 0; s < w.nseg; s++)
				if (w.seg[s].inl &&
				    w.seg[s].inl + w.seg[s].len > w.raw + w.ds * WQE_DS)
					abort();
		}
	if (size >= 64)
		wqe_parse_recv(&r, data, size < 2048 ? size & ~15u : 2048, (data[0] & 1) * 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct qp *a, *b;
	uint64_t buf[2];
	uint8_t head[8] = {}, *ring;
	struct mkey *mk;
	size_t len;

	decode(data, size);
	fuzz_take(&in, head, sizeof(head));
	rig_up(NULL);
	a = rig_qp(0, types[head[0] & 3], 10);
	b = rig_qp(1, types[head[0] & 3], 20);
	buf[0] = rig_alloc(0, 16384);
	buf[1] = rig_alloc(1, 16384);
	rig_mkey(0, buf[0], 16384, 31);
	rig_mkey(1, buf[1], 16384, 31);
	mk = rig_umr_key(0, 8, head[0] & 4 ? MKM_MTT : MKM_KLM);
	mk->mkc[8] = 0;
	a->cs_req = head[0] & 8 ? 0x11 : 0;
	b->cs_res = head[0] & 16 ? 1 : 0;
	a->sq_cnt = head[0] & 32 ? 64 : 4;
	rig_connect(a, 0, b, 1);
	fuzz_take(&in, rig_ptr(1, b->mem.pas[0]), 256);
	put_be32(rig_ptr(1, b->dbr.addr + DBR_RCV), head[1] & 7);
	fuzz_take(&in, rig_ptr(0, a->mem.pas[1]), a->sq_cnt * 64);
	mend_ring(rig_ptr(0, a->mem.pas[1]), a, head[2]);
	put_be32(rig_ptr(0, a->dbr.addr + DBR_SND), head[3] % (a->sq_cnt + 2));
	ring = rig_ptr(0, a->mem.pas[1]);
	len = (ring[7] & 0x3f) * 16;
	if (head[4] & 1 && len >= 16 && len <= 256)
		qp_send_doorbell(rig.hca[0], RIG_UAR, ring, len);
	else
		rig_ring(0, a);
	run(20);
	rig_state(0, a, head[4] & 2 ? QPS_ERR : QPS_SQ_DRAINING);
	run(5);
	rig_down(NULL);
	return 0;
}
