// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults: which queues wait for which page, the contents of the event, that nothing is lost or
 * fails meanwhile, and what happens to work whose page never comes.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cmd.h"
#include "cq.h"
#include "dispatch.h"
#include "eq.h"
#include "fabric.h"
#include "fault.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "object.h"
#include "pairrig.h"
#include "profile.h"
#include "qp.h"
#include "srq.h"
#include "trace.h"
#include "tracerig.h"
#include "wqe.h"

#define CQ_A	10
#define CQ_B	20
#define PAGE	4096u
#define NPAGES	16u
#define BUF	(NPAGES * PAGE)
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

static struct qp *a, *b;
static struct mkey *mk[2];	/* each side's key over its buffer; at first no page is present */
static uint64_t buf[2];
static uint32_t key[2];
static unsigned int nfaults;
static struct { unsigned int h; uint8_t subtype; uint8_t data[28]; } event[1024];

/* ---- what stands for the event queue and for software ---------------------------------------- */

static bool on_event(struct hca *hca, uint8_t type, uint8_t subtype, const uint8_t *data)
{
	if (type != EV_PAGE_FAULT)
		return false;
	assert_true(nfaults < 1024);
	event[nfaults].h = hca->index;
	event[nfaults].subtype = subtype;
	memcpy(event[nfaults++].data, data, 28);
	return true;
}

static uint32_t syndrome;	/* of the last command */

/* Check that a command is refused with @status by the check that has the number @why. */
#define assert_refused(call, status, why)		\
	do {						\
		assert_int_equal(call, status);		\
		assert_int_equal(syndrome, why);	\
	} while (0)

static uint8_t run(unsigned int h, struct cmd *cmd)
{
	uint8_t st = fault_cmds[0].handler(rig.hca[h], cmd);

	syndrome = cmd->syndrome;
	return st;
}

static uint8_t resume_with(unsigned int h, unsigned int type, uint32_t wq, uint32_t token,
			   bool error)
{
	uint8_t in[IFC_SZ(page_fault_resume_in)] = {}, out[IFC_SZ(page_fault_resume_out)] = {};
	uint8_t *info = IFC_ADDR(page_fault_resume_in, in, page_fault_info);
	struct cmd cmd = { .in = in, .in_len = sizeof(in), .out = out, .out_len = sizeof(out) };

	IFC_SET(trans_page_fault_info, info, error, error);
	IFC_SET(trans_page_fault_info, info, page_fault_type, type);
	IFC_SET(trans_page_fault_info, info, wq_number, wq);
	IFC_SET(trans_page_fault_info, info, fault_token, token);
	return run(h, &cmd);
}

static uint32_t type_of(unsigned int i)
{
	return event[i].data[24];
}

static uint8_t resume_memory(unsigned int h, uint64_t token, bool error)
{
	uint8_t in[IFC_SZ(page_fault_resume_in)] = {}, out[IFC_SZ(page_fault_resume_out)] = {};
	uint8_t *info = IFC_ADDR(page_fault_resume_in, in, page_fault_info);
	struct cmd cmd = { .in = in, .in_len = sizeof(in), .out = out, .out_len = sizeof(out) };

	IFC_SET(mem_page_fault_info, info, error, error);
	IFC_SET(mem_page_fault_info, info, fault_token_47_32, token >> 32);
	IFC_SET(mem_page_fault_info, info, fault_token_31_0, token);
	return run(h, &cmd);
}

static uint64_t memory_token(unsigned int i)
{
	return (uint64_t)get_be16(event[i].data + 6) << 32 | get_be32(event[i].data + 8);
}

/* Whether the driver has to answer a page fault event: in the memory scheme only the last one. */
static bool is_last(unsigned int i)
{
	return event[i].subtype != 2 || event[i].data[0] & 0x80;
}

/* Answer as the stock driver does: for remote keys the token is also the number of the queue. */
static uint8_t resume(unsigned int i, bool error)
{
	uint32_t last = get_be32(event[i].data + 24) & 0xffffff;
	uint32_t token = event[i].subtype ? last : get_be32(event[i].data + 12);

	if (event[i].subtype == 2)
		return resume_memory(event[i].h, memory_token(i), error);
	return resume_with(event[i].h, type_of(i), last, token, error);
}

static void present(unsigned int h, unsigned int page, uint64_t access)
{
	mk[h]->mtt[page] = (buf[h] + page * PAGE) | access;
}

static void all_present(unsigned int h)
{
	unsigned int i;

	for (i = 0; i < NPAGES; i++)
		present(h, i, MTT_ACCESS);
}

static void wait_faults(unsigned int n)
{
	uint64_t end = clock_now_ns() + 2000000000ull;

	while (nfaults < n && clock_now_ns() < end)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(nfaults, n);
}

/* Run for @ms: a requester with RNR NAKs keeps sending, so rig_settle() would not return. */
static void pass(unsigned int ms)
{
	uint64_t end = clock_now_ns() + ms * 1000000ull;

	while (clock_now_ns() < end)
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* ---- up and down ----------------------------------------------------------------------------- */

static struct mkey *paged_key(unsigned int h)
{
	struct mkey *k = rig_umr_key(h, NPAGES / 2, MKM_MTT);
	static const uint16_t rights[] = {
		IFC_OFF(mkc, lr), IFC_OFF(mkc, lw), IFC_OFF(mkc, rr), IFC_OFF(mkc, rw),
		IFC_OFF(mkc, a),
	};
	unsigned int i;

	for (i = 0; i < sizeof(rights) / sizeof(*rights); i++)
		ifc_set_bits(k->mkc, rights[i], 1, 1);
	IFC_SET(mkc, k->mkc, free, 0);
	IFC_SET64(mkc, k->mkc, start_addr, buf[h]);
	IFC_SET64(mkc, k->mkc, len, BUF);
	mkey_decode(k);
	key[h] = k->obj.num << 8 | 0x7a;
	return k;
}

static void set_caps(struct hca *hca)
{
	uint8_t *cap = hca->cap[CAP_ODP];

	IFC_SET(cmd_hca_cap, hca->cap[0], pg, 1);
	IFC_SET(cmd_hca_cap, hca->cap[0], null_mkey, 1);
	put_be32(IFC_ADDR(odp_cap, cap, transport_page_fault_scheme_cap.rc_odp_caps), 0xfc000000);
	put_be32(IFC_ADDR(odp_cap, cap, transport_page_fault_scheme_cap.ud_odp_caps), 0x80000000);
}

static int pair_up(enum qp_type type)
{
	unsigned int h, i;

	rig_up(NULL);
	nfaults = 0;
	rig_listen_to_faults(true);
	rig.on_event = on_event;
	for (h = 0; h < 2; h++) {
		set_caps(rig.hca[h]);
	}
	a = rig_qp(0, type, CQ_A);
	b = rig_qp(1, type, CQ_B);
	for (h = 0; h < 2; h++) {
		rig.brk[h] = (rig.brk[h] + PAGE - 1) & ~(size_t)(PAGE - 1);
		buf[h] = rig_alloc(h, BUF);
		mk[h] = paged_key(h);
	}
	for (i = 0; i < BUF; i++)
		((uint8_t *)rig_ptr(0, buf[0]))[i] = i * 7 + (i >> 8);
	rig_connect(a, 0, b, 1);
	return 0;
}

static int rc_up(void **state)
{
	(void)state;
	return pair_up(QPT_RC);
}

/* Set up HCAs at which a driver has chosen the memory scheme. */
static int memory_up(void **state)
{
	unsigned int h;

	(void)state;
	pair_up(QPT_RC);
	for (h = 0; h < 2; h++) {
		uint8_t *cap = rig.hca[h]->cap[CAP_ODP];

		IFC_SET(odp_cap, cap, mem_page_fault, 1);
		IFC_SET(odp_cap, cap, memory_page_fault_scheme_cap.page_prefetch, 1);
		put_be32(IFC_ADDR(odp_cap, cap, memory_page_fault_scheme_cap.rc_odp_caps),
			 0xfc000000);
	}
	return 0;
}

static int uc_up(void **state)
{
	(void)state;
	return pair_up(QPT_UC);
}

static int ud_up(void **state)
{
	(void)state;
	return pair_up(QPT_UD);
}

static int down(void **state)
{
	/* A fault that is still open ends with its queue pair. */
	return rig_down(state);
}

static uint16_t post_send(uint32_t off, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_data(&w, buf[0] + off, len, key[0]);
	return rig_send(0, a, w.b, w.ds);
}

static uint16_t post_rdma(uint8_t opcode, uint32_t off, uint32_t len)
{
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0);
	wq_raddr(&w, buf[1] + off, key[1]);
	wq_data(&w, buf[0] + off, len, key[0]);
	return rig_send(0, a, w.b, w.ds);
}

static uint16_t post_fetch_add(uint32_t off, uint64_t add)
{
	struct rig_wqe w;

	wq_ctrl(&w, WQE_ATOMIC_FA, true, 0);
	wq_raddr(&w, buf[1] + off, key[1]);
	wq_atomic(&w, add, 0);
	wq_data(&w, buf[0] + off, 8, key[0]);
	return rig_send(0, a, w.b, w.ds);
}

static void expect(uint32_t cqn, unsigned int i, uint8_t opcode, uint8_t syndrome)
{
	struct rig_cqe *e = rig_cqe(cqn, i);

	assert_non_null(e);
	assert_int_equal(e->c.opcode, opcode);
	assert_int_equal(cqe_error_syndrome(e->c.error), syndrome);
}

static bool same(uint32_t len)
{
	return !memcmp(rig_ptr(0, buf[0]), rig_ptr(1, buf[1]), len);
}

static void expect_wqe_event(unsigned int i, unsigned int h, unsigned int type, uint32_t wq,
			     uint16_t wqe, uint32_t done, uint16_t len)
{
	assert_int_equal(event[i].h, h);
	assert_int_equal(event[i].subtype, 0);
	assert_int_equal(type_of(i), type);
	assert_int_equal(get_be32(event[i].data + 24) & 0xffffff, wq);
	assert_int_equal(get_be16(event[i].data + 6), wqe);
	assert_int_equal(get_be32(event[i].data), done);
	assert_int_equal(get_be16(event[i].data + 10), len);
}

static void expect_rdma_event(unsigned int i, unsigned int type, uint32_t off, uint32_t op_len,
			      uint32_t done, uint16_t len)
{
	assert_int_equal(event[i].h, 1);
	assert_int_equal(event[i].subtype, 1);
	assert_int_equal(type_of(i), type);
	assert_int_equal(get_be32(event[i].data + 4), key[1]);
	assert_true(get_be64(event[i].data + 16) == buf[1] + off);
	assert_int_equal(get_be32(event[i].data + 12), op_len);
	assert_int_equal(get_be32(event[i].data), done);
	assert_int_equal(get_be16(event[i].data + 10), len);
}

/* ---- requester ------------------------------------------------------------------------------- */

static void send_waits_for_its_page(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_SEND, a->obj.num, 0, 0, 100);
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	present(0, 0, MTT_READ);
	rig_ring(0, a);
	pass(10);
	assert_int_equal(rig.ncqe, 0);		/* the page is present, the fault not resumed */
	assert_int_equal(resume(0, false), ST_OK);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(100));
	assert_refused(resume(0, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
}

static void send_continues_in_the_middle(void **state)
{
	(void)state;
	all_present(1);
	present(0, 0, MTT_READ);
	present(0, 2, MTT_READ);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 3 * PAGE);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_SEND, a->obj.num, 0, PAGE, 1024);
	present(0, 1, MTT_READ);
	resume(0, false);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 3 * PAGE);
	assert_true(same(3 * PAGE));
	assert_int_equal(nfaults, 1);
}

static void absent_page_faults_again(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	resume(0, false);
	wait_faults(2);
	assert_int_not_equal(get_be32(event[0].data + 12), get_be32(event[1].data + 12));
	all_present(0);
	resume(1, false);
	assert_int_equal(rig_run(2, 1000), 2);
}

/* While a SEND waits for its page, earlier requests complete, and the retry timer stands still. */
static void waiting_does_not_use_up_retries(void **state)
{
	(void)state;
	all_present(1);
	present(0, 0, MTT_READ);
	rig_recv(1, b, buf[1], BUF, key[1]);
	rig_recv(1, b, buf[1] + PAGE, PAGE, key[1]);
	post_send(0, 100);
	post_send(PAGE, 100);
	wait_faults(1);
	pass(150);		/* fifteen ACK timeouts */
	assert_int_equal(a->state, QPS_RTS);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_null(rig_cqe(CQ_A, 1));
	present(0, 1, MTT_READ);
	resume(0, false);
	assert_int_equal(rig_run(4, 1000), 4);
	expect(CQ_A, 1, CQE_REQ, 0);
}

static void send_fails_if_the_page_never_comes(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	post_send(0, 100);
	wait_faults(1);
	assert_int_equal(resume(0, true), ST_OK);
	pass(10);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(a->state, QPS_ERR);
	assert_int_equal(rig.hca[0]->count.page_faults_failed, 1);
}

static void read_answer_waits_for_its_page(void **state)
{
	(void)state;
	all_present(1);
	present(0, 0, MTT_ACCESS);
	memset(rig_ptr(1, buf[1]), 0x5a, BUF);
	a->path.ack_timeout = 0;	/* no timer: only PAGE_FAULT_RESUME repeats it */
	post_rdma(WQE_RDMA_READ, 0, PAGE + 1024);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_READ, a->obj.num, 0, PAGE, 1024);
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	all_present(0);
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(PAGE + 1024));
}

static void read_answer_needs_a_writable_page(void **state)
{
	(void)state;
	all_present(1);
	present(0, 0, MTT_READ);
	post_rdma(WQE_RDMA_READ, 0, 8);
	wait_faults(1);
	resume(0, true);
	pass(10);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
}

static void atomic_is_executed_once_if_its_answer_faults(void **state)
{
	uint64_t *word;

	(void)state;
	all_present(1);
	word = rig_ptr(1, buf[1]);
	*word = 40;
	post_fetch_add(0, 2);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_READ, a->obj.num, 0, 0, 8);
	all_present(0);
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 42);
	assert_true(*(uint64_t *)rig_ptr(0, buf[0]) == 40);
}

static void fault_of_a_later_request_has_its_index(void **state)
{
	(void)state;
	all_present(1);
	present(0, 0, MTT_ACCESS);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	assert_int_equal(rig_run(2, 1000), 2);
	post_send(PAGE, 100);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_SEND, a->obj.num, 1, 0, 100);
}

/*
 * Reset both queue pairs while one of them waits for a page of HCA @h. They work as new ones do,
 * also when software answers the fault from before.
 */
static void reset_ends_the_wait(unsigned int h)
{
	all_present(!h);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	rig_state(0, a, QPS_RST);
	rig_state(1, b, QPS_RST);
	memset(rig.tail, 0, sizeof(rig.tail));
	rig_show(0, a);
	rig_connect(a, 0, b, 1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(2);
	assert_int_equal(resume(0, true), ST_OK);
	pass(5);
	assert_int_equal(a->state, QPS_RTS);
	assert_int_equal(b->state, QPS_RTS);
	all_present(h);
	resume(1, false);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
}

static void reset_ends_the_wait_of_a_sender(void **state)
{
	(void)state;
	reset_ends_the_wait(0);
}

static void reset_ends_the_wait_of_a_receiver(void **state)
{
	(void)state;
	reset_ends_the_wait(1);
}

/* ---- responder ------------------------------------------------------------------------------- */

static void receive_waits_for_its_page(void **state)
{
	(void)state;
	all_present(0);
	present(1, 0, MTT_ACCESS);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 3 * PAGE);
	wait_faults(1);
	expect_wqe_event(0, 1, FAULT_RECV, b->obj.num, 0, PAGE, 1024);
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(nfaults, 1);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_int_equal(rig_cqe(CQ_B + 1, 0)->c.byte_cnt, 3 * PAGE);
	assert_true(same(3 * PAGE));
}

/* The requester is told again and again that the receiver is not ready. */
static void waiting_for_a_receiver_does_not_use_up_retries(void **state)
{
	(void)state;
	all_present(0);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	/* Fifteen ACK timeouts. One may just have passed, so cur_retry is not looked at. */
	pass(150);
	assert_int_equal(a->state, QPS_RTS);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
}

static void receive_fails_if_the_page_never_comes(void **state)
{
	(void)state;
	all_present(0);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	resume(0, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_LOCAL_PROT);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_OP);
}

/* Let b take its receive WQEs from a shared queue, in which one WQE for the buffer is posted. */
static struct srq *share_receives(void)
{
	struct srq *s = rig_srq(1, SRQ_RMP, RIG_PD);

	b->srq = s;
	b->rq_cnt = 0;
	rig_srq_recv(1, s, buf[1], BUF, key[1]);
	return s;
}

/* The event names the shared queue, not the queue pair. */
static void receive_of_a_shared_queue_waits_for_its_page(void **state)
{
	struct srq *srq = share_receives();

	(void)state;
	all_present(0);
	present(1, 0, MTT_ACCESS);
	post_send(0, 2 * PAGE);
	wait_faults(1);
	expect_wqe_event(0, 1, FAULT_SRQ, srq->obj.num, 0, PAGE, 1024);
	all_present(1);
	assert_int_equal(resume(0, false), ST_OK);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_true(same(2 * PAGE));
}

static void receive_of_a_shared_queue_fails_without_its_page(void **state)
{
	(void)state;
	share_receives();
	all_present(0);
	post_send(0, 100);
	wait_faults(1);
	assert_int_equal(resume(0, true), ST_OK);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_LOCAL_PROT);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_OP);
}

/* Write three pages, of which the peer has the first only. */
static void write_faults_midway(void)
{
	all_present(0);
	present(1, 0, MTT_ACCESS);
	post_rdma(WQE_RDMA_WRITE, 0, 3 * PAGE);
	wait_faults(1);
	expect_rdma_event(0, FAULT_REMOTE_WRITE, 0, 3 * PAGE, PAGE, 1024);
}

static void write_waits_for_its_page(void **state)
{
	(void)state;
	write_faults_midway();
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_true(same(3 * PAGE));
}

static void write_needs_a_writable_page(void **state)
{
	(void)state;
	all_present(0);
	present(1, 0, MTT_READ);
	post_rdma(WQE_RDMA_READ, 0, 8);
	assert_int_equal(rig_run(1, 1000), 1);
	post_rdma(WQE_RDMA_WRITE, 0, 8);
	wait_faults(1);
	resume(0, true);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 1, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_int_equal(rig_events(EV_WQ_ACCESS), 1);
}

static void read_waits_for_its_page(void **state)
{
	(void)state;
	all_present(0);
	present(1, 0, MTT_READ);
	memset(rig_ptr(1, buf[1]), 0xa5, BUF);
	post_rdma(WQE_RDMA_READ, 0, 3 * PAGE);
	post_rdma(WQE_RDMA_READ, 4 * PAGE, PAGE);
	wait_faults(1);
	expect_rdma_event(0, FAULT_REMOTE_READ, 0, 3 * PAGE, PAGE, 1024);
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	assert_int_equal(nfaults, 1);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_A, 0, CQE_REQ, 0);
	expect(CQ_A, 1, CQE_REQ, 0);
	assert_true(same(3 * PAGE));
	assert_int_equal(nfaults, 1);
}

static void read_fails_if_the_page_never_comes(void **state)
{
	(void)state;
	all_present(0);
	post_rdma(WQE_RDMA_READ, 0, 3 * PAGE);
	wait_faults(1);
	resume(0, true);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_int_equal(b->state, QPS_ERR);
}

static void atomic_waits_for_its_page(void **state)
{
	uint64_t *word;

	(void)state;
	all_present(0);
	word = rig_ptr(1, buf[1] + 8);
	*word = 1;
	post_fetch_add(8, 5);
	wait_faults(1);
	expect_rdma_event(0, FAULT_REMOTE_WRITE, 8, 8, 0, 8);
	pass(10);
	assert_true(*word == 1);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_true(*word == 6);
}

static void atomic_needs_a_writable_page(void **state)
{
	(void)state;
	all_present(0);
	present(1, 0, MTT_READ);
	post_fetch_add(8, 5);
	wait_faults(1);
	expect_rdma_event(0, FAULT_REMOTE_WRITE, 8, 8, 0, 8);
	assert_int_equal(*(uint64_t *)rig_ptr(1, buf[1] + 8), 0);
	present(1, 0, MTT_ACCESS);
	assert_int_equal(resume(0, false), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(*(uint64_t *)rig_ptr(1, buf[1] + 8), 5);
}

/* Work requests behind a work request that waits for a page are executed in order, and once. */
static void order_is_kept(void **state)
{
	uint64_t end = clock_now_ns() + 2000000000ull, at;
	unsigned int i, seen = 0;

	(void)state;
	all_present(0);
	for (i = 0; i < 8; i++) {
		post_rdma(i & 1 ? WQE_RDMA_READ : WQE_RDMA_WRITE, i * PAGE, PAGE);
		post_fetch_add((i + 8) * PAGE, 1);
	}
	while (rig.ncqe < 16 && clock_now_ns() < end) {
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		for (; seen < nfaults; seen++) {
			at = get_be64(event[seen].data + 16) + get_be32(event[seen].data) - buf[1];
			present(1, at / PAGE, MTT_ACCESS);
			resume(seen, false);
		}
	}
	assert_int_equal(rig.ncqe, 16);
	assert_int_equal(nfaults, 16);
	for (i = 0; i < 16; i++) {
		expect(CQ_A, i, CQE_REQ, 0);
		assert_int_equal(rig_cqe(CQ_A, i)->c.wqe_counter, i);
	}
	for (i = 8; i < 16; i++)
		assert_true(*(uint64_t *)rig_ptr(1, buf[1] + i * PAGE) == 1);
}

/* ---- how faults end -------------------------------------------------------------------------- */

static void resume_of_flushed_work_has_no_effect(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	rig_state(0, a, QPS_ERR);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_WR_FLUSH);
	assert_int_equal(resume(0, true), ST_OK);
	pass(10);
	assert_int_equal(rig.ncqe, 1);
}

static void resume_of_flushed_responder_has_no_effect(void **state)
{
	(void)state;
	all_present(0);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	rig_state(1, b, QPS_ERR);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_WR_FLUSH);
	assert_int_equal(resume(0, false), ST_OK);
}

/* A fault from before a reset cannot fail work that is posted after the reset. */
static void resume_of_reset_responder_has_no_effect(void **state)
{
	(void)state;
	all_present(0);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	rig_state(1, b, QPS_RST);
	assert_int_equal(resume(0, true), ST_OK);
	assert_int_equal(b->state, QPS_RST);
}

static void qp_is_destroyed_with_an_open_fault(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	rig_state(0, a, QPS_RST);
	transport_qp_ops.destroy(rig.hca[0], a);
	assert_refused(resume(0, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
}

/* Software that resets a queue pair again and again, and never answers, uses up no memory. */
static void cancelled_faults_do_not_pile_up(void **state)
{
	const struct page_fault f = { .type = FAULT_SEND, .op = ODP_SEND, .wq = a->obj.num };
	uint32_t first, last = 0;
	unsigned int i;

	(void)state;
	first = fault_raise(rig.hca[0], a, &f);
	fault_cancel(rig.hca[0], first);
	for (i = 0; i < 1024; i++) {
		nfaults = 0;
		last = fault_raise(rig.hca[0], a, &f);
		assert_int_not_equal(last, 0);
		fault_cancel(rig.hca[0], last);
	}
	assert_refused(resume_with(0, FAULT_SEND, a->obj.num, first, false), ST_BAD_RES,
		       WHY_FAULT_UNKNOWN);
	assert_int_equal(resume_with(0, FAULT_SEND, a->obj.num, last, false), ST_OK);
}

/* A test can have a wrong subtype or type reported. The answer has to repeat the wrong type. */
static void event_can_be_falsified(void **state)
{
	(void)state;
	all_present(0);
	inject_set_faults(rig.hca[1]->inject, &(struct inject_fault){ .count = 1, .subtype = 9 });
	post_rdma(WQE_RDMA_WRITE, 0, 8);
	wait_faults(1);
	assert_int_equal(event[0].subtype, 9);
	assert_int_equal(type_of(0), FAULT_REMOTE_WRITE);
	assert_int_equal(resume(0, false), ST_OK);
	inject_set_faults(rig.hca[1]->inject,
			  &(struct inject_fault){ .count = 1, .not_write = true });
	wait_faults(2);
	expect_rdma_event(1, FAULT_REMOTE_READ, 0, 8, 0, 8);
	all_present(1);
	assert_int_equal(resume(1, false), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	assert_int_equal(inject_clear(rig.hca[1]->inject), 2);
}

/* A fault in the middle of a message reports the bytes transferred, and has its own counter. */
static void fault_midway_is_counted(void **state)
{
	(void)state;
	write_faults_midway();
	assert_int_equal(rig.hca[1]->count.page_faults, 1);
	assert_int_equal(rig.hca[1]->count.page_faults_midway, 1);
	all_present(1);
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
}

static void resume_must_match_the_fault(void **state)
{
	uint32_t token;

	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	wait_faults(1);
	token = get_be32(event[0].data + 12);
	assert_refused(resume_with(0, FAULT_SEND, a->obj.num, token + 1, false), ST_BAD_RES,
		       WHY_FAULT_UNKNOWN);
	assert_refused(resume_with(0, FAULT_RECV, a->obj.num, token, false), ST_BAD_PARAM,
		       WHY_FAULT_MISMATCH);
	assert_refused(resume_with(0, FAULT_SEND, a->obj.num + 1, token, false), ST_BAD_PARAM,
		       WHY_FAULT_MISMATCH);
	assert_refused(resume_with(1, FAULT_SEND, a->obj.num, token, false), ST_BAD_RES,
		       WHY_FAULT_UNKNOWN);
	assert_int_equal(resume_with(0, FAULT_SEND, a->obj.num, token, false), ST_OK);
}

static void no_fault_without_a_subscriber(void **state)
{
	(void)state;
	rig_listen_to_faults(false);
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	pass(10);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
}

static void service_without_paging(void **state)
{
	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	pass(10);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
	assert_int_equal(nfaults, 0);
}

static void operation_without_paging(void **state)
{
	uint8_t *cap = rig.hca[1]->cap[CAP_ODP];

	(void)state;
	IFC_SET(odp_cap, cap, transport_page_fault_scheme_cap.rc_odp_caps.atomic, 0);
	all_present(0);
	post_fetch_add(0, 5);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static void hca_without_paging(void **state)
{
	(void)state;
	IFC_SET(cmd_hca_cap, rig.hca[0]->cap[0], pg, 0);
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(0, 100);
	pass(10);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_LOCAL_PROT);
}

static void ud_send_waits_for_its_page(void **state)
{
	struct rig_wqe w;

	(void)state;
	all_present(1);
	rig_recv(1, b, buf[1], BUF, key[1]);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, b->qkey, NULL);
	wq_data(&w, buf[0], 100, key[0]);
	rig_send(0, a, w.b, w.ds);
	wait_faults(1);
	expect_wqe_event(0, 0, FAULT_SEND, a->obj.num, 0, 0, 100);
	all_present(0);
	resume(0, false);
	assert_int_equal(rig_run(2, 1000), 2);
	assert_memory_equal(rig_ptr(0, buf[0]), rig_ptr(1, buf[1] + 40), 100);
}

static void ud_receive_does_not_page(void **state)
{
	struct rig_wqe w;

	(void)state;
	all_present(0);
	rig_recv(1, b, buf[1], BUF, key[1]);
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, b->qkey, NULL);
	wq_data(&w, buf[0], 100, key[0]);
	rig_send(0, a, w.b, w.ds);
	assert_int_equal(rig_run(2, 1000), 2);
	expect(CQ_B + 1, 0, CQE_RESP_ERR, SYND_LOCAL_PROT);
	assert_int_equal(nfaults, 0);
}

/* A table of keys whose entries are the null key until software replaces them. */
static void null_key_in_a_table_faults(void **state)
{
	struct mkey *top = rig_umr_key(1, 2, MKM_KSM);

	(void)state;
	all_present(0);
	all_present(1);
	memcpy(top->mkc, mk[1]->mkc, MKC_BYTES);
	IFC_SET(mkc, top->mkc, access_mode_1_0, MKM_KSM);
	IFC_SET64(mkc, top->mkc, start_addr, 0);
	IFC_SET64(mkc, top->mkc, len, 2 * BUF);
	IFC_SET(mkc, top->mkc, log_page_size, 16);
	mkey_decode(top);
	top->klm[0].key = MKEY_NULL;
	top->klm[1].key = key[1];
	top->klm[1].va = buf[1];
	key[1] = top->obj.num << 8 | 0x7a;
	buf[1] = 0;
	post_rdma(WQE_RDMA_WRITE, 8, 64);
	wait_faults(1);
	expect_rdma_event(0, FAULT_REMOTE_WRITE, 8, 64, 0, 64);
	top->klm[0] = top->klm[1];
	resume(0, false);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
}

/* Pages become present and absent at random on both sides under all kinds of work. */
static void random_faults_under_all_operations(void **state)
{
	unsigned int i, done = 0, seen = 0, sent = 0;
	uint64_t end = clock_now_ns() + 20000000000ull;
	const unsigned int total = 400;
	uint64_t adds = 0;

	(void)state;
	srand(7);
	while (rig.ncqe < total && clock_now_ns() < end) {
		if (sent < total && sent - done < 16) {
			/* The last page is used by atomics only. */
			uint32_t off = rand() % (BUF - 3 * PAGE);

			switch (rand() % 3) {
			case 0:
				post_rdma(WQE_RDMA_WRITE, off, 1 + rand() % (2 * PAGE));
				break;
			case 1:
				post_rdma(WQE_RDMA_READ, off, 1 + rand() % (2 * PAGE));
				break;
			default:
				post_fetch_add(BUF - PAGE, 1);
				adds++;
				break;
			}
			sent++;
		}
		event_base_loop(rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		for (; seen < nfaults; seen++) {
			all_present(0);
			all_present(1);
			if (is_last(seen))
				assert_int_equal(resume(seen, false), ST_OK);
		}
		for (i = 0; i < 2; i++)
			if (nfaults < 900 && !(rand() % 8))
				mk[i]->mtt[rand() % NPAGES] = 0;
		done = rig.ncqe;
	}
	assert_int_equal(rig.ncqe, total);
	assert_true(nfaults > 20);
	for (i = 0; i < total; i++)
		assert_int_equal(rig.cqe[i].c.error, 0);
	/* Both buffers have the same contents, so READs do not change them. */
	assert_true(*(uint64_t *)rig_ptr(1, buf[1] + BUF - PAGE) == adds);
}

/* ---- the memory scheme ----------------------------------------------------------------------- */

static void expect_memory_event(unsigned int i, unsigned int h, uint32_t mkey, uint64_t va,
				uint32_t before, uint32_t bytes, uint32_t after)
{
	assert_int_equal(event[i].h, h);
	assert_int_equal(event[i].subtype, 2);
	assert_int_equal(get_be32(event[i].data + 16), mkey);
	assert_true(get_be64(event[i].data + 20) == va);
	assert_int_equal(get_be16(event[i].data + 4), before);
	assert_int_equal(get_be32(event[i].data + 12), bytes);
	assert_int_equal(get_be16(event[i].data + 2), after);
}

static void memory_fault_names_the_pages(void **state)
{
	(void)state;
	all_present(0);
	present(1, 0, MTT_ACCESS);
	present(1, 6, MTT_ACCESS);
	post_rdma(WQE_RDMA_WRITE, 3 * PAGE + 8, 64);
	wait_faults(1);
	assert_true(is_last(0));
	expect_memory_event(0, 1, key[1], buf[1] + 3 * PAGE + 8, 2, PAGE, 2);
	pass(10);
	assert_int_equal(rig.ncqe, 0);
	all_present(1);
	assert_int_equal(resume(0, false), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
	assert_refused(resume(0, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
}

/* The absent bytes that a fault reports beside the access end where the key begins or ends. */
static void memory_fault_stays_in_its_key(void **state)
{
	(void)state;
	all_present(1);
	IFC_SET64(mkc, mk[0]->mkc, len, 3 * PAGE);
	mkey_decode(mk[0]);
	rig_recv(1, b, buf[1], BUF, key[1]);
	post_send(PAGE, 100);
	wait_faults(1);
	expect_memory_event(0, 0, key[0], buf[0] + PAGE, 1, PAGE, 1);
	IFC_SET(odp_cap, rig.hca[0]->cap[CAP_ODP], memory_page_fault_scheme_cap.page_prefetch, 0);
	resume(0, false);
	wait_faults(2);
	expect_memory_event(1, 0, key[0], buf[0] + PAGE, 0, PAGE, 0);
	assert_true(memory_token(0) != memory_token(1));
}

/* A test can have a new fault get the last token, so that a repeated answer meets another fault. */
static void token_can_be_used_again(void **state)
{
	uint64_t token;

	(void)state;
	all_present(0);
	post_rdma(WQE_RDMA_WRITE, 0, 8);
	wait_faults(1);
	inject_set_tokens(rig.hca[1]->inject, 1);
	token = get_be32(event[0].data + 24) & 0xffffff;
	assert_int_equal(resume(0, false), ST_OK);
	wait_faults(2);
	assert_int_equal(get_be32(event[1].data + 24) & 0xffffff, token);
	assert_int_equal(resume(0, false), ST_OK);
	wait_faults(3);
	assert_int_not_equal(get_be32(event[2].data + 24) & 0xffffff, token);
	all_present(1);
	assert_int_equal(resume(2, false), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
}

/* Events of the transport scheme cannot report other absent pages: the HCA looks for none. */
static void transport_fault_looks_at_no_other_pages(void **state)
{
	struct mkey_absent *absent = rig.hca[1]->absent;

	(void)state;
	IFC_SET(odp_cap, rig.hca[1]->cap[CAP_ODP], memory_page_fault_scheme_cap.page_prefetch, 1);
	all_present(0);
	post_rdma(WQE_RDMA_WRITE, 3 * PAGE + 8, 64);
	wait_faults(1);
	assert_true(absent->va == buf[1] + 3 * PAGE + 8);
	assert_int_equal(absent->before, 0);
	assert_int_equal(absent->after, 0);
}

/* An access to two pages has two events, the last of which is answered. */
static void memory_fault_is_answered_at_its_last_event(void **state)
{
	(void)state;
	all_present(0);
	post_rdma(WQE_RDMA_WRITE, 2 * PAGE - 8, 16);
	wait_faults(2);
	assert_false(is_last(0));
	assert_true(is_last(1));
	expect_memory_event(0, 1, key[1], buf[1] + 2 * PAGE - 8, 1, PAGE, 0);
	expect_memory_event(1, 1, key[1], buf[1] + 2 * PAGE, 0, PAGE, 13);
	assert_refused(resume(0, false), ST_BAD_PARAM, WHY_FAULT_NOT_LAST);
	all_present(1);
	assert_int_equal(resume(1, false), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ, 0);
}

/* An error may be reported at any event. The fault ends with the answer to its last event. */
static void memory_fault_fails_at_any_event(void **state)
{
	(void)state;
	all_present(0);
	post_rdma(WQE_RDMA_WRITE, 2 * PAGE - 8, 16);
	wait_faults(2);
	assert_int_equal(resume(0, true), ST_OK);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
	assert_int_equal(rig.hca[1]->count.page_faults_failed, 1);
	assert_int_equal(resume(1, false), ST_OK);
	assert_refused(resume(1, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
	assert_int_equal(resume(0, true), ST_OK);
	assert_int_equal(rig.hca[1]->count.page_faults_failed, 1);
}

static void answer_of_the_other_scheme_is_refused(void **state)
{
	uint64_t token;

	(void)state;
	all_present(0);
	post_rdma(WQE_RDMA_WRITE, 0, 8);
	wait_faults(1);
	token = memory_token(0);
	assert_refused(resume_with(1, FAULT_REMOTE_WRITE, token, token, false), ST_BAD_PARAM,
		       WHY_FAULT_SCHEME);
	/* A part of the token, another token, or the token at another HCA names no fault. */
	assert_refused(resume_memory(1, token & 0xffffffff, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
	assert_refused(resume_memory(1, token + 1, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
	assert_refused(resume_memory(0, token, false), ST_BAD_RES, WHY_FAULT_UNKNOWN);
	/* The same answer of a driver that chose the other scheme. */
	IFC_SET(odp_cap, rig.hca[1]->cap[CAP_ODP], mem_page_fault, 0);
	assert_refused(resume_memory(1, token, false), ST_BAD_PARAM, WHY_FAULT_SCHEME);
	IFC_SET(odp_cap, rig.hca[1]->cap[CAP_ODP], mem_page_fault, 1);
	assert_int_equal(resume_memory(1, token, true), ST_OK);
}

/* Accesses through a table of keys, whose entry first refers to pages and then to the null key. */
static void memory_fault_names_the_lowest_key(void **state)
{
	struct mkey *top = rig_umr_key(1, 2, MKM_KSM);
	uint32_t low = key[1];
	uint64_t low_va;

	(void)state;
	all_present(0);
	memcpy(top->mkc, mk[1]->mkc, MKC_BYTES);
	IFC_SET(mkc, top->mkc, access_mode_1_0, MKM_KSM);
	IFC_SET64(mkc, top->mkc, start_addr, 0);
	IFC_SET64(mkc, top->mkc, len, 2 * BUF);
	IFC_SET(mkc, top->mkc, log_page_size, 16);
	mkey_decode(top);
	top->klm[0].key = low;
	top->klm[0].va = buf[1];
	key[1] = top->obj.num << 8 | 0x7a;
	low_va = buf[1];
	buf[1] = 0;
	post_rdma(WQE_RDMA_WRITE, 8, 64);
	wait_faults(1);
	expect_memory_event(0, 1, low, low_va + 8, 0, PAGE, 15);
	top->klm[0].key = MKEY_NULL;
	top->klm[0].va = 0x123000;
	assert_int_equal(resume(0, false), ST_OK);
	wait_faults(2);
	expect_memory_event(1, 1, MKEY_NULL, 0x123008, 0, PAGE, 0);
}

static void operation_without_paging_by_memory(void **state)
{
	uint8_t *cap = rig.hca[1]->cap[CAP_ODP];

	(void)state;
	/* The transport scheme offers atomics, but the driver chose the memory scheme. */
	IFC_SET(odp_cap, cap, memory_page_fault_scheme_cap.rc_odp_caps.atomic, 0);
	all_present(0);
	post_fetch_add(0, 5);
	assert_int_equal(rig_run(1, 1000), 1);
	expect(CQ_A, 0, CQE_REQ_ERR, SYND_REMOTE_ACCESS);
}

static void trace_tells_of_faults_and_answers(void **state)
{
	struct trace *t[] = { rig.hca[0]->trace, rig.hca[1]->trace };
	uint32_t token;

	(void)state;
	trace_ring(t[0], true);
	trace_ring(t[1], true);
	write_faults_midway();
	token = get_be32(event[0].data + 24) & 0xffffff;
	expect_traced(t[1], "page_fault", "\"qpn\":%u,\"fault\":%u,\"token\":%u,\"wqe\":0,"
		      "\"rkey\":%u,\"va\":%llu,\"done\":%u,\"len\":1024", b->obj.num,
		      FAULT_REMOTE_WRITE, token, key[1], (unsigned long long)buf[1], PAGE);
	all_present(1);
	resume(0, false);
	expect_traced(t[1], "resume", "\"qpn\":%u,\"token\":%u,\"error\":false", b->obj.num,
		      token);
	assert_int_equal(rig_run(1, 1000), 1);
	present(0, 3, 0);
	post_send(3 * PAGE, 100);
	wait_faults(2);
	token = get_be32(event[1].data + 12);
	expect_traced(t[0], "page_fault", "\"qpn\":%u,\"fault\":%u,\"token\":%u,\"wqe\":1,"
		      "\"rkey\":0,\"va\":0,\"done\":0,\"len\":100", a->obj.num, FAULT_SEND, token);
	resume(1, true);
	expect_traced(t[0], "resume", "\"qpn\":%u,\"token\":%u,\"error\":true", a->obj.num, token);
}

#define RC(f)	cmocka_unit_test_setup_teardown(f, rc_up, down)
#define MEM(f)	cmocka_unit_test_setup_teardown(f, memory_up, down)
#define UC(f)	cmocka_unit_test_setup_teardown(f, uc_up, down)
#define UD(f)	cmocka_unit_test_setup_teardown(f, ud_up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RC(send_waits_for_its_page), RC(send_continues_in_the_middle),
		RC(absent_page_faults_again), RC(waiting_does_not_use_up_retries),
		RC(waiting_for_a_receiver_does_not_use_up_retries),
		RC(fault_of_a_later_request_has_its_index),
		RC(reset_ends_the_wait_of_a_sender), RC(reset_ends_the_wait_of_a_receiver),
		RC(send_fails_if_the_page_never_comes), RC(read_answer_waits_for_its_page),
		RC(read_answer_needs_a_writable_page),
		RC(atomic_is_executed_once_if_its_answer_faults), RC(receive_waits_for_its_page),
		RC(receive_fails_if_the_page_never_comes), RC(write_waits_for_its_page),
		RC(write_needs_a_writable_page), RC(read_waits_for_its_page),
		RC(read_fails_if_the_page_never_comes), RC(atomic_waits_for_its_page),
		RC(atomic_needs_a_writable_page), RC(receive_of_a_shared_queue_waits_for_its_page),
		RC(receive_of_a_shared_queue_fails_without_its_page),
		RC(order_is_kept), RC(resume_of_flushed_work_has_no_effect),
		RC(resume_of_flushed_responder_has_no_effect),
		RC(resume_of_reset_responder_has_no_effect), RC(qp_is_destroyed_with_an_open_fault),
		RC(cancelled_faults_do_not_pile_up), RC(event_can_be_falsified),
		RC(fault_midway_is_counted),
		RC(resume_must_match_the_fault), RC(no_fault_without_a_subscriber),
		UC(service_without_paging), RC(operation_without_paging), RC(hca_without_paging),
		UD(ud_send_waits_for_its_page), UD(ud_receive_does_not_page),
		RC(null_key_in_a_table_faults), RC(transport_fault_looks_at_no_other_pages),
		RC(token_can_be_used_again), RC(trace_tells_of_faults_and_answers),
		RC(random_faults_under_all_operations),
		MEM(memory_fault_names_the_pages), MEM(memory_fault_stays_in_its_key),
		MEM(memory_fault_is_answered_at_its_last_event),
		MEM(memory_fault_fails_at_any_event), MEM(answer_of_the_other_scheme_is_refused),
		MEM(memory_fault_names_the_lowest_key), MEM(operation_without_paging_by_memory),
		MEM(random_faults_under_all_operations),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
