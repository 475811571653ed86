// SPDX-License-Identifier: GPL-2.0
/*
 * Two HCAs with a thread each. The main thread plays the drivers, in the threads of their HCAs, and
 * the switch. Built with the thread sanitizer, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fabric.h"
#include "hca.h"
#include "ib_packet.h"
#include "impair.h"
#include "looprig.h"
#include "packet.h"
#include "pairrig.h"
#include "port.h"

#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)
#define CQS	0x50		/* queue pair I of an HCA has the CQs CQS + 2 * I and the next */
#define BUF	(256u << 10)
#define LONG_MS	20000		/* a test takes longer only if it failed */

/* A queue pair and its buffer: it sends the first half, and receives into the second. */
struct end {
	unsigned int h;
	struct qp *qp;
	uint64_t buf;
	uint32_t key;
	const struct end *peer;
	unsigned int n;		/* messages to post */
	uint32_t len;		/* of each */
};

static struct end end_up(unsigned int h, enum qp_type type, unsigned int i)
{
	struct end e = { .h = h, .qp = rig_qp(h, type, CQS + 2 * i), .buf = rig_alloc(h, BUF) };

	e.key = rig_mkey(h, e.buf, BUF, ALL);
	/* Long, so that a thread that waits for a processor does not look like a lost packet. */
	e.qp->path.ack_timeout = 20;
	return e;
}

static void connect(struct end *a, struct end *b)
{
	a->peer = b;
	b->peer = a;
	rig_connect(a->qp, a->h, b->qp, b->h);
}

static void fill(const struct end *e, unsigned int seed)
{
	uint8_t *p = rig_ptr(e->h, e->buf);
	unsigned int i;

	for (i = 0; i < BUF / 2; i++)
		p[i] = i * 7 + (i >> 8) + seed;
}

static bool received(const struct end *e, uint32_t len)
{
	return !memcmp(rig_ptr(e->h, e->buf + BUF / 2), rig_ptr(e->peer->h, e->peer->buf), len);
}

/* Post RDMA WRITEs to the peer's buffer, as a driver does. Runs in the thread of the HCA. */
static void post_writes(void *arg)
{
	struct end *e = arg;
	struct rig_wqe w;
	unsigned int i;

	for (i = 0; i < e->n; i++) {
		wq_ctrl(&w, WQE_RDMA_WRITE, true, 0);
		wq_raddr(&w, e->peer->buf + BUF / 2 + i * e->len, e->peer->key);
		wq_data(&w, e->buf + i * e->len, e->len, e->key);
		rig_send(e->h, e->qp, w.b, w.ds);
	}
}

static void post(struct end *e, unsigned int n, uint32_t len)
{
	e->n = n;
	e->len = len;
	runner_begin(&rig.runner[e->h], post_writes, e);
}

static void posted(const struct end *e)
{
	runner_wait(&rig.runner[e->h]);
}

static unsigned int errors(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < rig.ncqe; i++)
		n += rig.cqe[i].c.opcode == CQE_REQ_ERR || rig.cqe[i].c.opcode == CQE_RESP_ERR;
	return n;
}

/* Block the thread of an HCA, as its guest may, or a command that takes long. */
static sem_t blocked, unblock;

static void block(void *arg)
{
	(void)arg;
	sem_post(&blocked);
	while (sem_wait(&unblock))
		;
}

static void begin_to_block(unsigned int h)
{
	sem_init(&blocked, 0, 0);
	sem_init(&unblock, 0, 0);
	runner_begin(&rig.runner[h], block, NULL);
	while (sem_wait(&blocked))
		;
}

static void end_to_block(unsigned int h)
{
	sem_post(&unblock);
	runner_wait(&rig.runner[h]);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static void traffic_in_both_directions(void **state)
{
	struct end a = end_up(0, QPT_RC, 0), b = end_up(1, QPT_RC, 0);
	unsigned int round;

	(void)state;
	connect(&a, &b);
	fill(&a, 1);
	fill(&b, 2);
	rig_start();
	for (round = 1; round <= 20; round++) {
		post(&a, 32, BUF / 2 / 32);
		post(&b, 32, BUF / 2 / 32);
		posted(&a);
		posted(&b);
		assert_int_equal(rig_wait(64 * round, LONG_MS), 64 * round);
	}
	assert_int_equal(errors(), 0);
	assert_true(received(&a, BUF / 2));
	assert_true(received(&b, BUF / 2));
}

/* Lost packets are sent again. The thread of the receiver draws the random numbers. */
static void traffic_on_a_lossy_link(void **state)
{
	const struct impair_settings s = {
		.ppm = { [IMPAIR_LOSS] = 10000, [IMPAIR_DUP] = 10000, [IMPAIR_REORDER] = 10000,
			 [IMPAIR_DELAY] = 1000 },
		.delay_ms = 1, .seed = 3,
	};
	struct end a = end_up(0, QPT_RC, 0), b = end_up(1, QPT_RC, 0);
	unsigned int round;

	(void)state;
	a.qp->path.ack_timeout = b.qp->path.ack_timeout = 16;
	connect(&a, &b);
	fill(&a, 1);
	fill(&b, 2);
	assert_int_equal(impair_start(fabric_impair(rig.hca[0]), &s), 0);
	assert_int_equal(impair_start(fabric_impair(rig.hca[1]), &s), 0);
	rig_start();
	for (round = 1; round <= 5; round++) {
		post(&a, 16, 4096);
		post(&b, 16, 4096);
		posted(&a);
		posted(&b);
		assert_int_equal(rig_wait(32 * round, LONG_MS), 32 * round);
	}
	assert_int_equal(errors(), 0);
	assert_true(received(&a, 16 * 4096));
	assert_true(received(&b, 16 * 4096));
}

/* While the HCA of one guest is blocked, another HCA goes on; packets between the two wait. */
static void blocked_hca_does_not_hold_up_another(void **state)
{
	struct end a = end_up(0, QPT_RC, 0), b = end_up(1, QPT_RC, 0);
	struct end c = end_up(1, QPT_RC, 1), d = end_up(1, QPT_RC, 2);
	unsigned int round;

	(void)state;
	connect(&a, &b);
	connect(&c, &d);
	fill(&b, 1);
	fill(&c, 2);
	rig_start();
	begin_to_block(0);
	post(&b, 16, 4096);
	posted(&b);
	for (round = 1; round <= 10; round++) {
		post(&c, 32, 4096);
		posted(&c);
		assert_int_equal(rig_wait(32 * round, LONG_MS), 32 * round);
	}
	assert_true(received(&d, BUF / 2));
	assert_null(rig_cqe(CQS, 0));			/* the CQ of a and b is empty */
	end_to_block(0);
	assert_int_equal(rig_wait(320 + 16, LONG_MS), 320 + 16);
	assert_int_equal(errors(), 0);
	assert_true(received(&a, 16 * 4096));
}

/* A sender that has filled the inbox of another HCA waits, and goes on when there is room. */
static void sender_waits_for_a_blocked_hca(void **state)
{
	struct end a = end_up(0, QPT_UC, 0), b = end_up(1, QPT_UC, 0);
	unsigned int i;

	(void)state;
	connect(&a, &b);
	fill(&a, 1);
	rig_start();
	begin_to_block(1);
	for (i = 0; i < 8; i++) {			/* 8 times 128 packets */
		post(&a, 8, BUF / 2 / 8);
		posted(&a);
	}
	for (i = 0; i < LONG_MS && rig.hca[0]->count.packets_tx < 512; i++)
		usleep(1000);
	usleep(50000);
	assert_int_equal(rig.hca[0]->count.packets_tx, 512);
	end_to_block(1);
	assert_int_equal(rig_wait(64, LONG_MS), 64);
	for (i = 0; i < LONG_MS && rig.hca[1]->count.packets_rx < 8 * 128; i++)
		usleep(1000);
	assert_int_equal(rig.hca[1]->count.packets_rx, 8 * 128);
	assert_int_equal(rig.hca[1]->count.packets_dropped, 0);
	assert_int_equal(errors(), 0);
}

/* ---- tearing down ---------------------------------------------------------------------------- */

static void send_raw(void *arg)
{
	struct hca *hca = rig.hca[0];
	unsigned int i, n = *(unsigned int *)arg;

	for (i = 0; i < n; i++) {
		struct packet *p = packet_alloc(hca->fabric);

		p->opcode = BTH_UC | BTH_SEND_ONLY;
		ib_hdr(p)->slid = fabric_lid(hca);
		ib_hdr(p)->dlid = 2;
		p->dqpn = 0x77;
		p->pkey = 0xffff;
		p->head.len = 64;
		memset(p->payload, i, 64);
		fabric_tx(hca, p);
	}
}

static void reset(void *arg)
{
	hca_reset(arg);
}

static void flap(void *arg)
{
	port_set_link(arg, false);
	port_set_link(arg, true);
}

/*
 * An HCA is reset, as when its client disconnects, or closes and opens its end of the link, while
 * another HCA sends to it. In every other round the switch closes and opens its end, too.
 */
static void hca_is_reset_while_others_send_to_it(void **state)
{
	unsigned int n = 200, one = 1, round;
	uint64_t before;

	(void)state;
	rig_start();
	for (round = 0; round < 100; round++) {
		runner_begin(&rig.runner[0], send_raw, &n);
		runner_begin(&rig.runner[1], round % 3 ? reset : flap, rig.hca[1]);
		if (round % 2) {
			fabric_set_far_link(rig.hca[1], false);
			fabric_set_far_link(rig.hca[1], true);
		}
		runner_wait(&rig.runner[0]);
		runner_wait(&rig.runner[1]);
	}
	assert_true(fabric_link(rig.hca[1]));
	assert_true(rig.hca[1]->count.packets_rx <= 100 * n);
	/* The port works. */
	usleep(10000);
	before = rig.hca[1]->count.packets_rx;
	runner_call(&rig.runner[0], send_raw, &one);
	for (round = 0; round < LONG_MS && rig.hca[1]->count.packets_rx == before; round++)
		usleep(1000);
	assert_true(rig.hca[1]->count.packets_rx > before);
}

/* The threads end while there is traffic. */
static void threads_end_in_the_middle_of_traffic(void **state)
{
	struct end a = end_up(0, QPT_RC, 0), b = end_up(1, QPT_RC, 0);

	(void)state;
	connect(&a, &b);
	rig_start();
	post(&a, 32, 4096);
	post(&b, 32, 4096);
	posted(&a);
	posted(&b);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_up_threads, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(traffic_in_both_directions), T(traffic_on_a_lossy_link),
		T(blocked_hca_does_not_hold_up_another), T(sender_waits_for_a_blocked_hca),
		T(hca_is_reset_while_others_send_to_it), T(threads_end_in_the_middle_of_traffic),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
