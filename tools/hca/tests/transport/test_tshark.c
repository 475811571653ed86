// SPDX-License-Identifier: GPL-2.0
/*
 * What Wireshark reads in a capture: packets of each kind with known fields, and the traffic of two
 * HCAs.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "fabric.h"
#include "ib_packet.h"
#include "mad_format.h"
#include "packet.h"
#include "pairrig.h"
#include "wire.h"

#define CQ_A		10
#define CQ_B		20
#define LEN		2500		/* three packets */
#define MAX_ROWS	400
#define ABSENT		0xabcdefabcdef

enum column {
	VL, SL, LNH, DLID, PKT_LEN, SLID, FLOW, OPCODE, SE, M, PAD, PKEY, DQPN, A, PSN, QKEY, SQPN,
	VA, RKEY, DMA_LEN, SWAP, COMPARE, SYNDROME, MSN, ORIG, IMM, INVAL, ICRC, VCRC,
	MAD_CLASS, MAD_METHOD, MAD_ATTR, COLUMNS
};

static const struct { const char *name; int base; } fields[COLUMNS] = {
	[VL] = { "lrh.vl" }, [SL] = { "lrh.sl" }, [LNH] = { "lrh.lnh" }, [DLID] = { "lrh.dlid" },
	[PKT_LEN] = { "lrh.pktlen" }, [SLID] = { "lrh.slid" }, [FLOW] = { "grh.flowlabel" },
	[OPCODE] = { "bth.opcode" }, [SE] = { "bth.se" }, [M] = { "bth.m" },
	[PAD] = { "bth.padcnt" }, [PKEY] = { "bth.p_key" }, [DQPN] = { "bth.destqp" },
	[A] = { "bth.a" }, [PSN] = { "bth.psn" }, [QKEY] = { "deth.q_key" },
	[SQPN] = { "deth.srcqp" }, [VA] = { "reth.va" }, [RKEY] = { "reth.r_key" },
	[DMA_LEN] = { "reth.dmalen" }, [SWAP] = { "atomiceth.swapdt" },
	[COMPARE] = { "atomiceth.cmpdt" }, [SYNDROME] = { "aeth.syndrome" },
	[MSN] = { "aeth.msn" }, [ORIG] = { "atomicacketh.origremdt" }, [IMM] = { "immdt", 16 },
	[INVAL] = { "ieth", 16 }, [ICRC] = { "invariant.crc" }, [VCRC] = { "variant.crc" },
	[MAD_CLASS] = { "mad.mgmtclass" }, [MAD_METHOD] = { "mad.method" },
	[MAD_ATTR] = { "mad.attributeid" },
};

static char path[] = "/tmp/test-tshark-XXXXXX";
static uint64_t row[MAX_ROWS][COLUMNS];
static unsigned int rows;

/* ---- tshark ---------------------------------------------------------------------------------- */

static int have_tshark(void **state)
{
	(void)state;
	if (system("command -v tshark >/dev/null"))
		skip();
	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	return 0;
}

/* RPC over RDMA is disabled: its dissector would take the tests' payload for its own protocol. */
static FILE *tshark(const char *what)
{
	char command[2000];

	snprintf(command, sizeof(command),
		 "tshark -n -r %s --disable-protocol rpcordma %s 2>/dev/null", path, what);
	return popen(command, "r");
}

/* Flags are True or False, and with older versions 1 or 0. */
static uint64_t take_value(const char *text, int base)
{
	if (!text || !*text)
		return ABSENT;
	return *text == 'T' ? 1 : strtoull(text, NULL, base);
}

static void take_row(char *line)
{
	unsigned int i;

	assert_in_range(rows, 0, MAX_ROWS - 1);
	for (i = 0; i < COLUMNS; i++)
		row[rows][i] = take_value(strsep(&line, ",\n"), fields[i].base);
	rows++;
}

/* Let tshark read the capture, and check that it finds no error. */
static void dissect(void)
{
	char what[1500] = "-T fields -E separator=, -E occurrence=f", line[1000];
	unsigned int i;
	FILE *out;

	for (i = 0; i < COLUMNS; i++) {
		strcat(what, " -e infiniband.");
		strcat(what, fields[i].name);
	}
	rows = 0;
	out = tshark(what);
	while (fgets(line, sizeof(line), out))
		take_row(line);
	assert_int_equal(pclose(out), 0);
	out = tshark("-Y '_ws.malformed || _ws.expert.severity >= warning || !infiniband'");
	if (fgets(line, sizeof(line), out))
		fail_msg("%s", line);
	assert_int_equal(pclose(out), 0);
	unlink(path);
}

/* ---- each kind of packet --------------------------------------------------------------------- */

/* Whether operation @op is one of the bytes of @ops. */
static bool is(uint8_t op, const char *ops)
{
	return op && strchr(ops, op);
}

static struct packet sent[MAX_ROWS];

static void one_packet(struct capture *c, uint8_t opcode, bool grh)
{
	uint32_t n = rows++;
	struct packet p = {
		.opcode = opcode, .solicited = n & 1,
		.ack_req = n & 2, .pkey = 0x8000 + n, .dqpn = 0x345600 + n, .psn = 0xfff000 + n,
		.qkey = 0x5678000 + n, .sqpn = 0x78900 + n, .xrc_srqn = 0x9900 + n,
		.va = 0x1234567800000000 + n, .rkey = 0x44440000 + n, .dma_len = 0x555000 + n,
		.swap_add = 0x6666666600000000 + n, .compare = 0x7777777700000000 + n,
		.syndrome = n % 0x20, .msn = 0x888000 + n, .orig = 0x8888888800000000 + n,
		.imm = 0x99999000 + n,
	};

	*ib_hdr(&p) = (struct ib_headers){
		.slid = 0x1000 + n, .dlid = 0x2000 + n, .sl = n % 16, .vl = n / 2 % 4, .grh = grh,
		.tclass = 0xa1,
		.flow_label = 0x12300 + n, .hop_limit = 7,
	};
	/* Wireshark's dissector of EoIB takes a datagram without data for malformed. */
	if (!is(opcode & BTH_OP_MASK, "\x0c\x11\x12\x13\x14\x1a\x1b"))
		p.head.len = 4 + n % 7;
	capture_packet(c, &p.head);
	sent[n] = p;
}

static void expect(unsigned int n, enum column c, bool present, uint64_t v)
{
	if (row[n][c] != (present ? v : ABSENT))
		fail_msg("packet %u, opcode 0x%02x: %s is 0x%llx", n, sent[n].opcode,
			 fields[c].name, (unsigned long long)row[n][c]);
}

static void expect_base_headers(unsigned int n)
{
	const struct packet *p = &sent[n];
	uint8_t bytes[WIRE_MAX];

	expect(n, VL, true, ib_hdr(p)->vl);
	expect(n, SL, true, ib_hdr(p)->sl);
	expect(n, LNH, true, ib_hdr(p)->grh ? 3 : 2);
	expect(n, DLID, true, ib_hdr(p)->dlid);
	expect(n, PKT_LEN, true, (wire_packet(p, bytes) - 2) / 4);
	expect(n, SLID, true, ib_hdr(p)->slid);
	expect(n, FLOW, ib_hdr(p)->grh, ib_hdr(p)->flow_label);
	expect(n, OPCODE, true, p->opcode);
	expect(n, SE, true, p->solicited);
	expect(n, M, true, p->opcode < BTH_UD || p->opcode >= BTH_XRC);
	expect(n, PAD, true, -p->head.len & 3);
	expect(n, PKEY, true, p->pkey);
	expect(n, DQPN, true, p->dqpn);
	expect(n, A, true, p->ack_req);
	expect(n, PSN, true, p->psn);
}

static void expect_extended_headers(unsigned int n)
{
	const struct packet *p = &sent[n];
	uint8_t bytes[WIRE_MAX], op = p->opcode & BTH_OP_MASK;
	const uint8_t *crcs = bytes + wire_packet(p, bytes) - 6;
	bool ud = (p->opcode & BTH_SERVICE_MASK) == BTH_UD;
	bool reth = is(op, "\x06\x0a\x0b\x0c"), atomic = is(op, "\x13\x14");
	bool aeth = is(op, "\x0d\x0f\x10\x11\x12");

	expect(n, QKEY, ud, p->qkey);
	expect(n, SQPN, ud, p->sqpn);
	expect(n, VA, reth || atomic, p->va);
	expect(n, RKEY, reth || atomic, p->rkey);
	expect(n, DMA_LEN, reth, p->dma_len);
	expect(n, SWAP, atomic, p->swap_add);
	expect(n, COMPARE, atomic, p->compare);
	expect(n, SYNDROME, aeth, p->syndrome);
	expect(n, MSN, aeth, p->msn);
	expect(n, ORIG, op == BTH_ATOMIC_ACK, p->orig);
	expect(n, IMM, is(op, "\x03\x05\x09\x0b"), p->imm);
	expect(n, INVAL, is(op, "\x16\x17"), p->imm);
	expect(n, ICRC, true, get_be32(crcs));
	expect(n, VCRC, true, get_be16(crcs + 4));
}

/* Of XRC and of masked atomics, Wireshark knows no extended headers. */
static bool all_is_known(const struct packet *p)
{
	uint8_t op = p->opcode & BTH_OP_MASK;

	return (p->opcode & BTH_SERVICE_MASK) != BTH_XRC && op != BTH_MASKED_CMP_SWAP &&
	       op != BTH_MASKED_FETCH_ADD;
}

static void packets_of_each_kind(void **state)
{
	static const uint8_t services[] = { BTH_RC, BTH_UC, BTH_UD, BTH_XRC };
	unsigned int s, op, n, kinds = 0;
	struct capture *c;

	(void)state;
	rows = 0;
	assert_int_equal(capture_open(path, 0, &ib_packet_type, &c), 0);
	for (s = 0; s < sizeof(services); s++) {
		for (op = 0; op <= BTH_MASKED_FETCH_ADD; op++) {
			if (op == 0x15 || op == 0x18 || op == 0x19 ||
			    (services[s] == BTH_UC && op > BTH_WRITE_ONLY_IMM) ||
			    (services[s] == BTH_UD && op != BTH_SEND_ONLY &&
			     op != BTH_SEND_ONLY_IMM))
				continue;
			one_packet(c, services[s] | op, false);
			one_packet(c, services[s] | op, true);
			kinds++;
		}
	}
	capture_close(c);
	dissect();
	assert_int_equal(rows, 2 * kinds);
	assert_int_equal(kinds, 25 + 12 + 2 + 25);
	for (n = 0; n < rows; n++) {
		expect_base_headers(n);
		if (all_is_known(&sent[n]))
			expect_extended_headers(n);
	}
}

/* ---- traffic --------------------------------------------------------------------------------- */

static struct qp *a, *b;
static uint64_t buf_a, buf_b;
static uint32_t key_a, key_b;

static int pair_up(enum qp_type type)
{
	const unsigned int all = MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ |
				 MK_REMOTE_WRITE | MK_ATOMIC;
	struct capture *c;

	if (have_tshark(NULL) || rig_up(NULL) || capture_open(path, 0, &ib_packet_type, &c))
		return -1;
	fabric_set_capture(rig.fabric, c);
	a = rig_qp(0, type, CQ_A);
	b = rig_qp(1, type, CQ_B);
	buf_a = rig_alloc(0, LEN);
	buf_b = rig_alloc(1, LEN);
	key_a = rig_mkey(0, buf_a, LEN, all);
	key_b = rig_mkey(1, buf_b, LEN, all);
	rig_connect(a, 0, b, 1);
	return 0;
}

static int rc_up(void **state)
{
	(void)state;
	return pair_up(QPT_RC);
}

static int ud_up(void **state)
{
	(void)state;
	return pair_up(QPT_UD);
}

static void post(uint8_t opcode, bool remote, bool atomic, uint32_t len)
{
	unsigned int before = rig.ncqe;
	struct rig_wqe w;

	wq_ctrl(&w, opcode, true, 0x11223344);
	if (remote)
		wq_raddr(&w, buf_b, key_b);
	if (atomic)
		wq_atomic(&w, 0x0102030405060708, 0x1112131415161718);
	wq_data(&w, buf_a, len, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_run(before + 1, 1000);
	rig_settle();
}

/* How many of the packets from @slid to @dqpn have the opcode. */
static unsigned int count(uint16_t slid, uint32_t dqpn, uint8_t opcode)
{
	unsigned int i, n = 0;

	for (i = 0; i < rows; i++)
		n += row[i][SLID] == slid && row[i][DQPN] == dqpn && row[i][OPCODE] == opcode;
	return n;
}

static void reliable_connection(void **state)
{
	uint16_t lid_a = fabric_lid(rig.hca[0]), lid_b = fabric_lid(rig.hca[1]);
	uint32_t psn = 0xfffffe;	/* of rig_connect() */
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++)
		rig_recv(1, b, buf_b, LEN, key_b);
	post(WQE_SEND, false, false, LEN);
	post(WQE_RDMA_WRITE_IMM, true, false, 10);
	post(WQE_ATOMIC_FA, true, true, 8);
	post(WQE_RDMA_READ, true, false, LEN);
	dissect();
	assert_int_equal(count(lid_a, b->obj.num, BTH_SEND_FIRST), 1);
	assert_int_equal(count(lid_a, b->obj.num, BTH_SEND_MIDDLE), 1);
	assert_int_equal(count(lid_a, b->obj.num, BTH_SEND_LAST), 1);
	assert_int_equal(count(lid_a, b->obj.num, BTH_WRITE_ONLY_IMM), 1);
	assert_int_equal(count(lid_a, b->obj.num, BTH_FETCH_ADD), 1);
	assert_int_equal(count(lid_a, b->obj.num, BTH_READ_REQ), 1);
	assert_int_equal(count(lid_b, a->obj.num, BTH_ATOMIC_ACK), 1);
	assert_int_equal(count(lid_b, a->obj.num, BTH_READ_FIRST), 1);
	assert_int_equal(count(lid_b, a->obj.num, BTH_READ_MIDDLE), 1);
	assert_int_equal(count(lid_b, a->obj.num, BTH_READ_LAST), 1);
	assert_int_equal(count(lid_b, a->obj.num, BTH_ACK), 2);
	assert_int_equal(rows, 12);
	assert_int_equal(rows, rig.hca[0]->count.packets_tx + rig.hca[1]->count.packets_tx);
	for (i = 0; i < rows; i++) {
		assert_int_equal(row[i][PKEY], 0xffff);
		if (row[i][SLID] != lid_a)
			continue;
		assert_int_equal(row[i][DLID], lid_b);
		assert_int_equal(row[i][PSN], psn);
		psn = psn_add(psn, 1);
		if (row[i][OPCODE] == BTH_WRITE_ONLY_IMM)
			assert_int_equal(row[i][IMM], 0x11223344);
		if (row[i][OPCODE] == BTH_FETCH_ADD)
			assert_int_equal(row[i][SWAP], 0x0102030405060708);
		if (row[i][OPCODE] == BTH_READ_REQ)
			assert_int_equal(row[i][DMA_LEN], LEN);
	}
}

/* A datagram with a GRH; and a request to the firmware of the other HCA, with the answer. */
static void datagrams_and_management(void **state)
{
	static const uint8_t dgid[16] = { 0xfe, 0x80, [15] = 9 };
	struct packet *p = packet_alloc(rig.fabric);
	struct rig_wqe w;

	(void)state;
	wq_ctrl(&w, WQE_SEND, true, 0);
	wq_av(&w, fabric_lid(rig.hca[1]), b->obj.num, 0x1111, dgid);
	wq_data(&w, buf_a, 10, key_a);
	rig_send(0, a, w.b, w.ds);
	rig_run(1, 1000);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(rig.hca[0]);
	ib_hdr(p)->dlid = fabric_lid(rig.hca[1]);
	p->pkey = 0xffff;
	p->head.len = MAD_BYTES;
	memset(p->payload, 0, MAD_BYTES);
	p->payload[OFF_VERSION] = 1;
	p->payload[OFF_CLASS] = CLASS_SM_LID;
	p->payload[OFF_CLASS_VERSION] = 1;
	p->payload[OFF_METHOD] = METHOD_GET;
	put_be16(p->payload + OFF_ATTR, SMP_NODE_INFO);
	fabric_tx(rig.hca[0], p);
	rig_settle();
	dissect();
	assert_int_equal(rows, 3);
	assert_int_equal(row[0][LNH], 3);
	assert_int_equal(row[0][FLOW], 0x12345);
	assert_int_equal(row[0][DQPN], b->obj.num);
	assert_int_equal(row[0][SQPN], a->obj.num);
	assert_int_equal(row[0][QKEY], 0x1111);
	assert_int_equal(row[1][VL], 15);
	assert_int_equal(row[1][MAD_CLASS], CLASS_SM_LID);
	assert_int_equal(row[1][MAD_METHOD], METHOD_GET);
	assert_int_equal(row[1][MAD_ATTR], SMP_NODE_INFO);
	assert_int_equal(row[2][SLID], row[1][DLID]);
	assert_int_equal(row[2][MAD_METHOD], METHOD_GET_RESP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(packets_of_each_kind, have_tshark),
		cmocka_unit_test_setup_teardown(reliable_connection, rc_up, rig_down),
		cmocka_unit_test_setup_teardown(datagrams_and_management, ud_up, rig_down),
	};

	return cmocka_run_group_tests_name("tshark", tests, NULL, NULL);
}
