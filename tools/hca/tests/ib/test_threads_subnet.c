// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet with a thread for each HCA and one for the switch: each host asks subnet
 * administration, joins and leaves groups, and changes its own port; one host manages the switch
 * and the ports of the other hosts. Built with the thread sanitizer, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <event2/event.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "capture.h"
#include "fabric.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "port.h"
#include "sa_record.h"
#include "sma.h"
#include "subnetrig.h"

#define ROUNDS	1500
#define ASK_USEC	1000
#define MAX_ASKED	10000	/* times a host asks for its first answer, ASK_USEC apart */
#define GET	0x01
#define SET	0x02
#define GET_TABLE 0x12
#define DELETE	0x15

/* A host, which runs in the thread of its HCA: an event gives it one turn after the other. */
static struct host {
	unsigned int h, round, seed;
	unsigned int answers, waits, asked;
	struct event *turn;
	sem_t done;
} hosts[NET_HCAS];

/* ask_first(): hosts that have their first answer or have given up, and hosts that wait for one. */
static atomic_uint nready, nwaiting;

static unsigned int pick(struct host *host, unsigned int n)
{
	host->seed = host->seed * 1103515245 + 12345;
	return (host->seed >> 16) % n;
}

static const uint8_t no_gid[16];

static void send_mad(struct host *host, unsigned int qpn, uint16_t dlid, const uint8_t *mad)
{
	struct hca *hca = net.hca[host->h];
	struct packet *p;

	if (dlid != LID_PERMISSIVE && !fabric_can_tx(hca, dlid, no_gid)) {
		host->waits++;
		return;
	}
	p = packet_alloc(net.fabric);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->slid = fabric_lid(hca);
	ib_hdr(p)->dlid = dlid;
	p->pkey = 0xffff;
	p->qkey = qpn ? 0x80010000u : 0;
	p->sqpn = qpn;
	p->dqpn = qpn;
	p->head.len = MAD_BYTES;
	memcpy(p->payload, mad, MAD_BYTES);
	fabric_tx(hca, p);
}

static void mad_header(struct host *host, uint8_t *mad, uint8_t class, uint8_t method,
		       uint16_t attr)
{
	memset(mad, 0, MAD_BYTES);
	mad[OFF_VERSION] = 1;
	mad[OFF_CLASS] = class;
	mad[OFF_CLASS_VERSION] = class == CLASS_SA ? 2 : 1;
	mad[OFF_METHOD] = method;
	put_be64(mad + OFF_TID, host->round);
	put_be16(mad + OFF_ATTR, attr);
}

static void ask_table(struct host *host)
{
	static const uint16_t attrs[] = {
		SA_NODE_RECORD, SA_PORT_INFO_RECORD, SA_LINK_RECORD, SA_PKEY_RECORD,
		SA_PATH_RECORD, SA_MCMEMBER_RECORD, SA_SWITCH_INFO_RECORD,
	};
	uint8_t mad[MAD_BYTES];

	mad_header(host, mad, CLASS_SA, pick(host, 3) ? GET : GET_TABLE, attrs[pick(host, 7)]);
	put_be64(mad + OFF_SM_KEY, 1);
	send_mad(host, 1, SWITCH_LID, mad);
}

/* Join the group of IPoIB broadcasts, or leave it. */
static void join_or_leave(struct host *host)
{
	uint8_t mad[MAD_BYTES], *q = mad + OFF_SA_DATA;

	mad_header(host, mad, CLASS_SA, pick(host, 2) ? SET : DELETE, SA_MCMEMBER_RECORD);
	put_be64(mad + OFF_COMPONENTS, 1 | 1 << 1 | 1 << 16);
	put_be64(q, 0xff12401bffff0000ull);
	put_be64(q + 8, 0xffffffff);
	gid_get(net.hca[host->h], 0, q + 16);
	q[48] = 1;
	send_mad(host, 1, SWITCH_LID, mad);
}

/* Set PortInfo of a port of the switch: disable it, enable it, or let its link train again. */
static void manage_link(struct host *host)
{
	static const uint8_t path[] = { 1 };
	uint8_t mad[MAD_BYTES], *data = mad + OFF_SMP_DATA;

	mad_header(host, mad, CLASS_SM_LID, SET, SMP_PORT_INFO);
	net_directed(mad, 1, path);
	put_be32(mad + OFF_MOD, 2 + pick(host, NET_HCAS - 1));
	data[33] = pick(host, 3) ? 2 << 4 : 3 << 4;
	data[32] = pick(host, 4) ? 0 : PORT_DOWN;
	data[29] = 255;
	send_mad(host, 0, LID_PERMISSIVE, mad);
}

/* Set the P_Keys of another host, by a directed route through the switch. */
static void manage_pkeys(struct host *host)
{
	uint8_t path[] = { 1, 2 + pick(host, NET_HCAS - 1) };
	uint8_t mad[MAD_BYTES];

	mad_header(host, mad, CLASS_SM_LID, SET, SMP_PKEY_TABLE);
	net_directed(mad, 2, path);
	put_be16(mad + OFF_SMP_DATA, 0xffff);
	put_be16(mad + OFF_SMP_DATA + 2, 0x8000 | pick(host, 100));
	send_mad(host, 0, LID_PERMISSIVE, mad);
}

static void to_group(struct host *host)
{
	uint8_t mad[MAD_BYTES];

	mad_header(host, mad, CLASS_PERF, GET, 0x12);
	send_mad(host, 1, 0xc000, mad);
}

static void own_port(struct host *host)
{
	struct hca *hca = net.hca[host->h];

	port_set_pkey(hca, 2, 0x8000 | pick(host, 100));
	if (!pick(host, 10) && fabric_link(hca))
		port_set_lids(hca, 0x100 + 10 * host->h + pick(host, 10), 0);
	if (!pick(host, 4))
		port_set_prefix(hca, 0xfe80000000000000ull + pick(host, 2));
	if (!pick(host, 20))
		port_set_state(hca, PORT_DOWN);
	if (!pick(host, 10)) {
		port_set_state(hca, PORT_ARMED);
		port_set_state(hca, PORT_ACTIVE);
	}
}

static void receive(struct host *host)
{
	struct hca *hca = net.hca[host->h];
	struct packet *p;

	while ((p = fabric_rx(hca))) {
		host->answers++;
		sma_receive(hca, p);
		packet_free(net.fabric, p);
	}
}

/*
 * Before the links go down and up, each host asks until it has an answer: on a busy machine a host
 * may have had all its turns before the switch has its first.
 */
static bool ask_first(struct host *host)
{
	const struct timeval later = { .tv_usec = ASK_USEC };

	if (atomic_load(&nready) >= atomic_load(&nwaiting))
		return false;
	if (host->asked <= MAX_ASKED && (host->answers || host->asked == MAX_ASKED)) {
		host->asked = MAX_ASKED + 1;
		atomic_fetch_add(&nready, 1);
	} else if (host->asked < MAX_ASKED) {
		host->asked++;
		ask_table(host);
	}
	evtimer_add(host->turn, &later);
	return true;
}

static void take_turn(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval now = { 0 };
	struct host *host = arg;

	(void)fd;
	(void)what;
	receive(host);
	if (ask_first(host))
		return;
	switch (pick(host, host->h ? 5 : 7)) {
	case 0:
		join_or_leave(host);
		break;
	case 1:
		own_port(host);
		break;
	case 2:
		to_group(host);
		break;
	case 5:
		manage_link(host);
		break;
	case 6:
		manage_pkeys(host);
		break;
	default:
		ask_table(host);
		break;
	}
	if (++host->round < ROUNDS)
		evtimer_add(host->turn, &now);
	else
		sem_post(&host->done);
}

static void run_hosts(bool has_manager)
{
	const struct timeval now = { 0 };
	unsigned int h;

	atomic_store(&nready, 0);
	atomic_store(&nwaiting, has_manager ? NET_HCAS : 0);
	for (h = 0; h < NET_HCAS; h++) {
		struct host *host = &hosts[h];

		*host = (struct host){ .h = h, .seed = h + 1 };
		sem_init(&host->done, 0, 0);
		host->turn = evtimer_new(loop_base(net.runner[h].loop), take_turn, host);
		evtimer_add(host->turn, &now);
	}
	for (h = 0; h <= NET_HCAS; h++)
		runner_start(&net.runner[h], h < NET_HCAS ? "hca" : "switch");
	for (h = 0; h < NET_HCAS; h++)
		while (sem_wait(&hosts[h].done))
			;
	for (h = 0; h <= NET_HCAS; h++)
		runner_stop(&net.runner[h]);
	for (h = 0; h < NET_HCAS; h++)
		event_free(hosts[h].turn);
}

/* Check that the records of the file are whole, and in order of time. Returns their number. */
static unsigned int read_capture(const char *path)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *file = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO,
							       err);
	struct pcap_pkthdr *header;
	const uint8_t *data;
	uint64_t last = 0;
	unsigned int n = 0;
	int more;

	assert_non_null(file);
	while ((more = pcap_next_ex(file, &header, &data)) == 1) {
		uint64_t ns = header->ts.tv_sec * 1000000000ull + header->ts.tv_usec;

		assert_true(ns >= last);
		last = ns;
		n++;
	}
	assert_int_equal(more, PCAP_ERROR_BREAK);
	pcap_close(file);
	return n;
}

static void every_host_uses_the_switch_at_once(void **state)
{
	char path[] = "/tmp/test-threads-XXXXXX";
	struct capture *c;
	unsigned int h;

	(void)state;
	close(mkstemp(path));
	net_up_threads(true);
	assert_int_equal(capture_open(path, 0, &ib_packet_type, &c), 0);
	fabric_set_capture(net.fabric, c);
	run_hosts(true);
	for (h = 0; h < NET_HCAS; h++)
		assert_true(hosts[h].answers);
	assert_true(read_capture(path) > ROUNDS);
	net_down();
	unlink(path);
}

static void every_host_uses_a_switch_without_manager(void **state)
{
	(void)state;
	net_up_threads(false);
	run_hosts(false);
	net_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_host_uses_the_switch_at_once),
		cmocka_unit_test(every_host_uses_a_switch_without_manager),
	};

	return cmocka_run_group_tests_name("threads_subnet", tests, NULL, NULL);
}
