// SPDX-License-Identifier: GPL-2.0
/*
 * What the HCA does with the guest's stores does not depend on how they arrive. The same doorbells
 * and commands, most of which are refused, arrive in three ways: with an answer to each store,
 * posted, and posted with several stores in a message. Other tests are about bursts of stores that
 * do not end.
 */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "corerig.h"
#include "count.h"
#include "memic.h"
#include "qp.h"
#include "vfio_user.h"
#include "worldrig.h"
#include "wqe.h"

enum { VERSION = 1, REGION_READ = 9, REGION_WRITE = 10, WRITE_MULTI = 15 };

#define F_NO_REPLY	0x10
#define NOWHERE		0xfffff0u	/* number of an object that does not exist */
#define MAX_STORES	32

enum way { ANSWERED, POSTED, TOGETHER, WAYS };

struct hdr {
	uint16_t id, cmd;
	uint32_t size, flags, error;
};

struct store {
	uint64_t off;
	uint32_t region, len;
	uint8_t data[8];
};

static struct {
	uint64_t n;
	struct store s[MAX_STORES];
} list;

static int sock;
static unsigned int gone;	/* clients that have disconnected */
static uint32_t other_uar;

/* ---- the client ------------------------------------------------------------------------------ */

static void on_gone(struct hca *hca, void *arg)
{
	(void)hca;
	(void)arg;
	gone++;
}

static void send_msg(uint16_t cmd, uint32_t flags, const void *body, uint32_t len)
{
	struct hdr h = { .cmd = cmd, .size = sizeof(h) + len, .flags = flags };

	assert_int_equal(send(sock, &h, sizeof(h), MSG_MORE), sizeof(h));
	assert_int_equal(send(sock, body, len, 0), len);
}

static void take_reply(void)
{
	uint8_t body[256];
	struct hdr h;

	while (recv(sock, &h, sizeof(h), MSG_DONTWAIT) != sizeof(h))
		world_pass(1);
	assert_int_equal(h.error, 0);
	assert_in_range(h.size, sizeof(h), sizeof(h) + sizeof(body));
	assert_int_equal(recv(sock, body, h.size - sizeof(h), 0), h.size - sizeof(h));
}

static void connect_client(void)
{
	static const char version[] = "\0\0\1\0{\"capabilities\":{\"write_multiple\":true}}";
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	assert_true(core_socket(a.sun_path, sizeof(a.sun_path)));
	assert_int_equal(vfu_listen(core.hca, a.sun_path, on_gone, NULL), 0);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&a, sizeof(a)), 0);
	send_msg(VERSION, 0, version, sizeof(version));
	take_reply();
}

static void store(uint64_t off, const void *data, uint32_t len)
{
	struct store *s = &list.s[list.n++];

	assert_in_range(list.n, 1, MAX_STORES);
	*s = (struct store){ .off = off, .len = len };
	memcpy(s->data, data, len);
}

/* A read of a UAR page, which arrives after the stores and ends a burst of them. */
static void fence(void)
{
	const struct store s = { .off = world.uar * 4096ull, .len = 4 };

	send_msg(REGION_READ, 0, &s, 16);
	take_reply();
}

/* Let the stores in the list arrive, and let the HCA process them. */
static void deliver(enum way way)
{
	uint64_t i;

	for (i = 0; i < list.n && way != TOGETHER; i++) {
		send_msg(REGION_WRITE, way == POSTED ? F_NO_REPLY : 0, &list.s[i],
			 16 + list.s[i].len);
		if (way == ANSWERED)
			take_reply();
	}
	if (way == TOGETHER)
		send_msg(WRITE_MULTI, F_NO_REPLY, &list, 8 + list.n * sizeof(list.s[0]));
	list.n = 0;
	fence();
	world_pass(8);
}

/* ---- doorbells ------------------------------------------------------------------------------- */

static uint64_t reg(uint32_t uar, uint32_t off)
{
	return uar * 4096ull + off;
}

/* Build a NOP. The HCA ignores the bytes behind its control segment. */
static void nop(uint8_t *b, uint32_t qpn, unsigned int ds)
{
	memset(b, 0x5a, 64);
	put_be32(b, WQE_NOP);
	put_be32(b + 4, qpn << 8 | ds);
	memset(b + 8, 0, 8);
}

/* Ring at @off with @len bytes of a WQE, by stores of eight bytes. */
static void ring(uint64_t off, const uint8_t *b, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i += 8)
		store(off + i, b + i, 8);
}

static void ring_qp(uint32_t uar, uint32_t qpn, unsigned int len)
{
	uint8_t b[64];

	nop(b, qpn, len > 16 ? 4 : 1);
	ring(reg(uar, 0x800), b, len);
}

/* Put the first WQE of a send queue, behind the receive queue, into memory and announce it. */
static void post(unsigned int qp)
{
	nop(core.ram + world.ring[qp] + 16 * 64, world.qp[qp], 1);
	put_be32(core.ram + world.record[qp] + 4, 1);
}

static void arm_cq(uint32_t uar, uint32_t cqn)
{
	uint8_t b[8];

	put_be32(b, 1u << 28);
	put_be32(b + 4, cqn);
	store(reg(uar, 0x20), b, 8);
}

static void uar_unknown(void)
{
	ring_qp(NOWHERE & 0xff, world.qp[WORLD_RC_A], 8);
}

static void qp_unknown(void)
{
	ring_qp(world.uar, NOWHERE, 64);
}

static void qp_of_another_uar(void)
{
	ring_qp(other_uar, world.qp[WORLD_RC_A], 64);
}

static void qp_in_reset(void)
{
	ring_qp(world.uar, world.qp[WORLD_UC], 8);
}

static void wqe_not_announced(void)
{
	ring_qp(world.uar, world.qp[WORLD_RC_A], 64);
}

static void wqe_announced(void)
{
	post(WORLD_RC_A);
	ring_qp(world.uar, world.qp[WORLD_RC_A], 16);
}

static void wqe_differs(void)
{
	post(WORLD_RC_B);
	ring_qp(world.uar, world.qp[WORLD_RC_B], 64);
}

static void no_register(void)
{
	store(reg(world.uar, 0x100), "\1\2\3\4\5\6\7", 8);
}

static void blueflame_without_start(void)
{
	store(reg(world.uar, 0xb00 + 24), "\1\2\3\4\5\6\7", 8);
}

static void two_bytes(void)
{
	store(reg(world.uar, 0x800), "\1", 2);
}

static void half_a_doorbell(void)
{
	store(reg(world.uar, 0xa00), "\1\2\3", 4);
	store(reg(world.uar, 0xa00), "\1\2\3", 4);
}

static void cq_unknown(void)
{
	arm_cq(world.uar, NOWHERE);
}

static void cq_of_another_uar(void)
{
	arm_cq(other_uar, world.cq[0]);
}

static void arm_not_in_record(void)
{
	arm_cq(world.uar, world.cq[0]);
}

static void second_half_alone(void)
{
	store(reg(world.uar, 0x24), "\0\0\1", 4);
}

static void eq_unknown(void)
{
	store(reg(world.uar, 0x48), "\xfe\0\0", 4);
}

static void eq_with_eight_bytes(void)
{
	store(reg(world.uar, 0x48), "\1\2\3\4\5\6\7", 8);
}

static void operation_not_requested(void)
{
	uint64_t off, len;

	memic_region(core.hca, &off, &len);
	store(off + len, "\1", 1);	/* the first range of operations */
}

static const struct {
	const char *name;
	void (*make)(void);
	enum drop_reason why;		/* DROP_REASONS: none, the HCA executes a WQE */
} doorbells[] = {
#define D(f, why) { #f, f, why }
	D(uar_unknown, DROP_NO_UAR), D(qp_unknown, DROP_NO_QP),
	D(qp_of_another_uar, DROP_WRONG_UAR),
	D(qp_in_reset, DROP_BAD_STATE), D(wqe_not_announced, DROP_NO_WQE),
	D(wqe_announced, DROP_REASONS), D(wqe_differs, DROP_BAD_WQE),
	D(no_register, DROP_BAD_OFFSET),
	D(blueflame_without_start, DROP_BAD_OFFSET), D(two_bytes, DROP_BAD_SIZE),
	D(half_a_doorbell, DROP_BAD_SIZE), D(cq_unknown, DROP_NO_CQ),
	D(cq_of_another_uar, DROP_WRONG_UAR), D(arm_not_in_record, DROP_ARM_RECORD),
	D(second_half_alone, DROP_BAD_SIZE), D(eq_unknown, DROP_NO_EQ),
	D(eq_with_eight_bytes, DROP_BAD_SIZE), D(operation_not_requested, DROP_NO_MEMIC),
};

/* ---- commands -------------------------------------------------------------------------------- */

static void opcode_unknown(struct world_cmd *c)
{
	IFC_SET(alloc_pd_in, c->in, opcode, 0xfff);
}

static void op_mod(struct world_cmd *c)
{
	IFC_SET(alloc_pd_in, c->in, op_mod, 7);
}

static void reserved_bits(struct world_cmd *c)
{
	c->in[12] = 1;
}

static void uid_unknown(struct world_cmd *c)
{
	IFC_SET(alloc_pd_in, c->in, uid, 0x1234);
}

static void output_too_short(struct world_cmd *c)
{
	c->out_len = 8;
}

static void input_too_short(struct world_cmd *c)
{
	c->in_len = 16;
}

static void eq_of_cq_unknown(struct world_cmd *c)
{
	IFC_SET(cqc, IFC_ADDR(create_cq_in, c->in, cq_context), c_eqn_or_apu_element, 0xfe);
}

static void destroy_unknown_cq(struct world_cmd *c)
{
	IFC_SET(destroy_cq_in, c->in, cqn, NOWHERE);
}

static void destroy_cq_in_use(struct world_cmd *c)
{
	IFC_SET(destroy_cq_in, c->in, cqn, world.cq[0]);
}

static void transition_from_another_state(struct world_cmd *c)
{
	IFC_SET(rst2init_qp_in, c->in, qpn, world.qp[WORLD_RC_A]);
}

static void deallocate_pd_in_use(struct world_cmd *c)
{
	IFC_SET(dealloc_pd_in, c->in, pd, world.pd);
}

static const struct {
	const char *name;
	uint16_t op;
	void (*spoil)(struct world_cmd *c);
	uint8_t status;
} commands[] = {
#define C(f, op, status) { #f, MLX5_CMD_OP_##op, f, status }
	C(opcode_unknown, ALLOC_PD, ST_BAD_OP), C(op_mod, ALLOC_PD, ST_BAD_OP),
	C(reserved_bits, ALLOC_PD, ST_BAD_PARAM), C(uid_unknown, ALLOC_PD, ST_BAD_RES),
	C(output_too_short, ALLOC_PD, ST_BAD_OUTP_LEN),
	C(input_too_short, CREATE_CQ, ST_BAD_INP_LEN),
	C(eq_of_cq_unknown, CREATE_CQ, ST_BAD_RES),
	C(destroy_unknown_cq, DESTROY_CQ, ST_BAD_RES_STATE),
	C(destroy_cq_in_use, DESTROY_CQ, ST_BAD_RES_STATE),
	C(transition_from_another_state, RST2INIT_QP, ST_BAD_QP_STATE),
	C(deallocate_pd_in_use, DEALLOC_PD, ST_BAD_RES_STATE),
};

/* ---- tests ----------------------------------------------------------------------------------- */

#define DOORBELLS	(sizeof(doorbells) / sizeof(doorbells[0]))
#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static struct {
	uint64_t drops[DOORBELLS][DROP_REASONS], wqes[DOORBELLS];
	uint32_t answer[COMMANDS][2];	/* status and syndrome */
	uint8_t states[WORLD_QPS];
} seen[WAYS];

static void reset_qp(uint32_t qpn)
{
	uint8_t in[IFC_SZ(qp_2rst_in)] = { 0 }, out[16];

	IFC_SET(qp_2rst_in, in, opcode, MLX5_CMD_OP_2RST_QP);
	IFC_SET(qp_2rst_in, in, qpn, qpn);
	assert_int_equal(core_cmd(in, sizeof(in), out, sizeof(out)), 0);
}

static void begin(void)
{
	world_up();
	other_uar = core_alloc_uar();
	assert_int_not_equal(other_uar, 0);
	reset_qp(world.qp[WORLD_UC]);
	world_pass(2);
}

static void run_doorbell(enum way way, unsigned int i)
{
	struct counters before = core.hca->count;
	unsigned int k, sum = 0;

	doorbells[i].make();
	deliver(way);
	for (k = 0; k < DROP_REASONS; k++) {
		seen[way].drops[i][k] = core.hca->count.db_drop[k] - before.db_drop[k];
		sum += seen[way].drops[i][k];
	}
	seen[way].wqes[i] = core.hca->count.wqes_sq - before.wqes_sq;
	if (sum != (doorbells[i].why != DROP_REASONS) || seen[way].wqes[i] == sum ||
	    (sum && !seen[way].drops[i][doorbells[i].why]))
		fail_msg("%s, way %d: %u dropped, %llu executed", doorbells[i].name, way, sum,
			 (unsigned long long)seen[way].wqes[i]);
}

static void run_command(enum way way, unsigned int i)
{
	static struct world_cmd c;
	uint8_t out[16] = { 0 };

	assert_true(world_build(&c, commands[i].op, 0));
	commands[i].spoil(&c);
	core_put(0, c.in, c.in_len, c.out_len);
	store(0x18, "\0\0\0\1", 4);
	deliver(way);
	assert_int_equal(core_take(0, out, c.out_len < 16 ? c.out_len : 16), 0);
	seen[way].answer[i][0] = out[0];
	seen[way].answer[i][1] = get_be32(out + 4);
	if (out[0] != commands[i].status || !seen[way].answer[i][1])
		fail_msg("%s, way %d: status 0x%x, syndrome 0x%x", commands[i].name, way, out[0],
			 get_be32(out + 4));
}

static void run(enum way way)
{
	unsigned int i;

	begin();
	for (i = 0; i < DOORBELLS; i++)
		run_doorbell(way, i);
	for (i = 0; i < COMMANDS; i++)
		run_command(way, i);
	for (i = 0; i < WORLD_QPS; i++)
		seen[way].states[i] = qp_find(core.hca, world.qp[i])->state;
	world_down();
}

static void stores_are_refused_in_every_way_alike(void **state)
{
	enum way way;

	(void)state;
	for (way = 0; way < WAYS; way++)
		run(way);
	for (way = 1; way < WAYS; way++)
		assert_memory_equal(&seen[way], &seen[ANSWERED], sizeof(seen[0]));
}

/* Announce a WQE of 64 bytes, and post only the first of its BlueFlame stores. */
static void begin_burst(void)
{
	begin();
	memset(&core.hca->count, 0, sizeof(core.hca->count));
	post(WORLD_RC_A);
	core.ram[world.ring[WORLD_RC_A] + 16 * 64 + 7] = 4;
	ring_qp(world.uar, world.qp[WORLD_RC_A], 64);
	send_msg(REGION_WRITE, F_NO_REPLY, &list.s[0], 16 + 8);
	list.n = 0;
}

/* Nothing else arrives that would end the burst. */
static void burst_without_an_end_is_a_plain_doorbell(void **state)
{
	uint64_t end = clock_now_ns() + 10000000000ull;

	(void)state;
	begin_burst();
	while (!core.hca->count.wqes_sq && clock_now_ns() < end)
		world_pass(1);
	assert_int_equal(core.hca->count.wqes_sq, 1);
	assert_int_equal(core.hca->count.wqes_bf, 0);
	world_down();
}

/* The board lets a queue pair fail of which a CQE could not be written. */
static void a_lost_cqe_fails_its_queue_pair(void **state)
{
	(void)state;
	world_up();
	core.hca->board->cqe_lost(core.hca, world.qp[WORLD_RC_A]);
	world_pass(4);
	assert_int_equal(qp_find(core.hca, world.qp[WORLD_RC_A])->state, QPS_ERR);
	assert_int_equal(qp_find(core.hca, world.qp[WORLD_RC_B])->state, QPS_RTS);
	world_down();
}

/* This test runs last, because the client's memory, which has all queues, goes with the client. */
static void client_may_leave_in_a_burst(void **state)
{
	(void)state;
	begin_burst();
	close(sock);
	world_pass(4);
	assert_int_equal(gone, 1);
	assert_int_equal(core.hca->count.wqes_sq, 0);
	assert_int_equal(core.hca->life, LIFE_RESET);
	assert_null(qp_find(core.hca, world.qp[WORLD_RC_A]));
}

static int up(void **state)
{
	(void)state;
	world_up();
	connect_client();
	world_down();
	return 0;
}

static int down(void **state)
{
	if (!gone)
		close(sock);
	world_pass(4);
	vfu_close(core.hca);
	return core_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_are_refused_in_every_way_alike),
		cmocka_unit_test(burst_without_an_end_is_a_plain_doorbell),
		cmocka_unit_test(a_lost_cqe_fails_its_queue_pair),
		cmocka_unit_test(client_may_leave_in_a_burst),
	};

	return cmocka_run_group_tests_name("posted", tests, up, down);
}
