// SPDX-License-Identifier: GPL-2.0
/*
 * The capture: its file, which packets it has, and files that cannot be written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "fabric.h"
#include "forward.h"
#include "ib_packet.h"
#include "ifc.h"
#include "packet.h"
#include "port.h"
#include "subnetrig.h"
#include "switch.h"
#include "wire.h"

#define FILE_HEADER	24
#define RECORD_HEADER	16
#define ERF_BYTES	16
#define MLID		0xc123

static char path[] = "/tmp/test-capture-XXXXXX";
static struct capture *capture;
static uint8_t mad[MAD_BYTES];

static int up(void **state)
{
	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	net_up(true);
	if (capture_open(path, 0, &ib_packet_type, &capture))
		return -1;
	fabric_set_capture(net.fabric, capture);
	return 0;
}

static int down(void **state)
{
	(void)state;
	net_down();
	unlink(path);
	return 0;
}

/* Check the header of a record. Returns the length of its packet. */
static size_t erf_header(const uint8_t *erf, const struct pcap_pkthdr *h)
{
	uint64_t time;

	memcpy(&time, erf, sizeof(time));
	time = le64toh(time);
	assert_int_equal(time >> 32, h->ts.tv_sec);
	assert_in_range(h->ts.tv_usec - (long)((time & 0xffffffff) * 1000000000 >> 32), 0, 1);
	assert_int_equal(erf[8], 21);			/* InfiniBand */
	assert_int_equal(erf[9], 4);			/* records of varying length */
	assert_int_equal(get_be16(erf + 10), h->len);
	assert_int_equal(get_be16(erf + 12), 0);
	assert_int_equal(get_be16(erf + 14), h->len - ERF_BYTES);
	return h->len - ERF_BYTES;
}

/*
 * Read the capture, which is still open. Returns how many packets it has. Sets @ns, @bytes and @len
 * to the time, the bytes and the length of the last packet.
 */
static unsigned int packets(uint64_t *ns, uint8_t bytes[WIRE_MAX], size_t *len)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *file = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO,
							       err);
	struct pcap_pkthdr *header;
	const uint8_t *data;
	unsigned int n = 0;
	int more;

	assert_non_null(file);
	assert_int_equal(pcap_datalink(file), DLT_ERF);
	while ((more = pcap_next_ex(file, &header, &data)) == 1) {
		assert_int_equal(header->caplen, header->len);
		assert_in_range(header->len, ERF_BYTES + 1, ERF_BYTES + WIRE_MAX);
		*len = erf_header(data, header);
		*ns = header->ts.tv_sec * 1000000000ull + header->ts.tv_usec;
		memcpy(bytes, data + ERF_BYTES, *len);
		n++;
	}
	assert_int_equal(more, PCAP_ERROR_BREAK);
	pcap_close(file);
	return n;
}

static unsigned int count(void)
{
	uint8_t bytes[WIRE_MAX];
	uint64_t ns;
	size_t len;

	return packets(&ns, bytes, &len);
}

static void send_to(unsigned int h, uint16_t dlid)
{
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_send(h, 0, dlid, mad);
}

static void file_has_bytes_and_times_of_packets(void **state)
{
	uint8_t bytes[WIRE_MAX], want[WIRE_MAX];
	uint64_t start = clock_now_ns(), ns;
	struct packet *p;
	size_t len;

	(void)state;
	assert_int_equal(count(), 0);
	send_to(0, fabric_lid(net.hca[1]));
	assert_int_equal(packets(&ns, bytes, &len), 1);
	p = fabric_rx(net.hca[1]);
	assert_int_equal(wire_packet(p, want), len);
	assert_memory_equal(bytes, want, len);
	packet_free(net.fabric, p);
	assert_in_range(ns, start, clock_now_ns());
}

static void file_header(void **state)
{
	uint32_t head[6];
	FILE *file = fopen(path, "r");

	(void)state;
	assert_non_null(file);
	assert_int_equal(fread(head, 1, sizeof(head), file), FILE_HEADER);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	assert_int_equal(head[0], 0xa1b23c4d);		/* nanoseconds */
	assert_int_equal(head[1] & 0xffff, 2);		/* version 2.4 */
	assert_int_equal(head[1] >> 16, 4);
	assert_int_equal(head[4], ERF_BYTES + WIRE_MAX);
	assert_int_equal(head[5], 197);			/* LINKTYPE_ERF */
}

/* The capture has each request of a host once, and each answer of the switch once. */
static void switch_is_a_sender_too(void **state)
{
	static const uint8_t route[] = { 1 };
	uint8_t bytes[WIRE_MAX];
	uint64_t ns;
	size_t len;

	(void)state;
	send_to(0, SWITCH_LID);
	assert_int_equal(packets(&ns, bytes, &len), 2);
	assert_int_equal(get_be16(bytes + 2), fabric_lid(net.hca[0]));
	assert_int_equal(get_be16(bytes + 6), SWITCH_LID);
	net_smp(mad, METHOD_GET, SMP_NODE_INFO, 0);
	net_directed(mad, 1, route);
	net_send(0, 0, LID_PERMISSIVE, mad);
	assert_int_equal(packets(&ns, bytes, &len), 4);
	assert_int_equal(get_be16(bytes + 2), LID_PERMISSIVE);
	net_sa(mad, METHOD_GET, 0x0001, 0);		/* ClassPortInfo */
	net_send(0, 1, SWITCH_LID, mad);
	assert_int_equal(packets(&ns, bytes, &len), 6);
	assert_int_equal(get_be16(bytes + 6), SWITCH_LID);
}

/* Send a datagram with this SL from HCA 0. Returns its lane in the capture. */
static unsigned int lane(uint8_t sl)
{
	struct packet *p = packet_alloc(net.fabric);
	uint8_t bytes[WIRE_MAX];
	uint64_t ns;
	size_t len;

	p->opcode = BTH_UD | BTH_SEND_ONLY;
	p->dqpn = 1;
	ib_hdr(p)->sl = sl;
	ib_hdr(p)->dlid = 77;
	fabric_tx(net.hca[0], p);
	packets(&ns, bytes, &len);
	assert_int_equal(bytes[1] >> 4, sl);
	return bytes[0] >> 4;
}

static void lanes_are_those_of_the_sender(void **state)
{
	uint8_t bytes[WIRE_MAX];
	uint64_t ns;
	size_t len;

	(void)state;
	assert_int_equal(lane(0), 0);
	assert_int_equal(lane(6), 2);
	assert_int_equal(lane(15), 3);
	net_smp(mad, METHOD_SET, SMP_SL_TO_VL, 0);
	put_be64(mad + OFF_SMP_DATA, 0x3210321032103211ull);
	net_send(1, 0, fabric_lid(net.hca[0]), mad);
	net_firmware(0);
	assert_true(net_take(1));
	packets(&ns, bytes, &len);
	assert_int_equal(bytes[0] >> 4, 15);
	assert_int_equal(lane(0), 3);
	assert_int_equal(lane(6), 1);
	assert_int_equal(lane(15), 1);
	/* Change the table of the switch for packets that leave by port 1, from any port. */
	net_smp(mad, METHOD_SET, SMP_SL_TO_VL, 0xff01);
	put_be64(mad + OFF_SMP_DATA, 0x2000000000000000ull);
	net_send(1, 0, SWITCH_LID, mad);
	assert_true(net_take(1));
	net_sa(mad, METHOD_GET, 0x0001, 0);		/* ClassPortInfo, with SL 0 */
	net_send(0, 1, SWITCH_LID, mad);
	packets(&ns, bytes, &len);
	assert_int_equal(get_be16(bytes + 6), SWITCH_LID);
	assert_int_equal(bytes[0] >> 4, 2);
	hca_reset(net.hca[0]);
	assert_int_equal(lane(6), 2);
}

static void multicast_is_recorded_once(void **state)
{
	struct packet *p;
	unsigned int h;

	(void)state;
	fabric_forward(net.fabric)->members[MLID - LID_MCAST_FIRST] = 0xe;
	send_to(0, MLID);
	assert_int_equal(count(), 1);
	for (h = 1; h < NET_HCAS; h++)
		assert_true(net_take(h));
	p = packet_alloc(net.fabric);
	p->opcode = BTH_UD | BTH_SEND_ONLY;
	ib_hdr(p)->dlid = MLID;
	fabric_route(net.fabric, 0, p);
	assert_int_equal(count(), 2);
	for (h = 0; h < NET_HCAS; h++)
		assert_true(net_take(h));
}

/* Packets that a receiver or the switch drops are captured; packets that no port sends are not. */
static void dropped_packets(void **state)
{
	struct packet *p;

	(void)state;
	send_to(0, 77);				/* no such LID */
	assert_int_equal(count(), 1);
	fabric_inject_drop(net.hca[1], 0, 1);
	send_to(0, fabric_lid(net.hca[1]));
	assert_int_equal(count(), 2);
	assert_false(net_take(1));
	fabric_set_link(net.hca[1], false);
	send_to(1, fabric_lid(net.hca[0]));
	assert_int_equal(count(), 2);
	p = packet_alloc(net.fabric);
	fabric_send(net.fabric, fabric_port_number(net.hca[1]), p);
	p = packet_alloc(net.fabric);
	fabric_send(net.fabric, SWITCH_PORTS, p);
	p = packet_alloc(net.fabric);
	ib_hdr(p)->dlid = 77;
	fabric_route(net.fabric, 0, p);
	assert_int_equal(count(), 2);
}

static void capture_pauses(void **state)
{
	(void)state;
	send_to(0, 77);
	capture_pause(capture, true);
	send_to(0, 77);
	assert_int_equal(count(), 1);
	capture_pause(capture, false);
	send_to(0, 77);
	assert_int_equal(count(), 2);
	assert_ptr_equal(fabric_capture(net.fabric), capture);
}

static void file_that_cannot_be_opened(void **state)
{
	struct capture *c = NULL;

	(void)state;
	assert_int_equal(capture_open("/nonexistent/file", 0, &ib_packet_type, &c), -ENOENT);
	assert_int_equal(capture_open("/tmp", 0, &ib_packet_type, &c), -EISDIR);
	assert_int_equal(capture_open("/dev/full", 0, &ib_packet_type, &c), -ENOSPC);
	assert_null(c);
}

/* Call @fn, and put into @out what it writes to standard error. */
static void stderr_of(void (*fn)(void), char *out, size_t room)
{
	int keep = dup(2);
	FILE *file = tmpfile();

	fflush(stderr);
	dup2(fileno(file), 2);
	fn();
	fflush(stderr);
	dup2(keep, 2);
	close(keep);
	rewind(file);
	out[fread(out, 1, room - 1, file)] = 0;
	fclose(file);
}

static void send_two(void)
{
	send_to(0, fabric_lid(net.hca[1]));
	send_to(0, fabric_lid(net.hca[1]));
}

/* RLIMIT_FSIZE stands in for a full disk. The HCA goes on without the capture. */
static void disk_that_becomes_full(void **state)
{
	struct rlimit old, small;
	char said[300];

	(void)state;
	send_to(0, fabric_lid(net.hca[1]));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = FILE_HEADER + 2 * RECORD_HEADER + 400;
	setrlimit(RLIMIT_FSIZE, &small);
	stderr_of(send_two, said, sizeof(said));
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(capture_error(capture), -EFBIG);
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, strerror(EFBIG)));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);	/* said once */
	assert_true(net_take(1) && net_take(1) && net_take(1));
	send_to(0, fabric_lid(net.hca[1]));
	assert_true(net_take(1));
}

/* With a limit the file has whole records only. The limit is not applied to a pipe. */
static void file_has_a_limit(void **state)
{
	const size_t record = RECORD_HEADER + ERF_BYTES + 8 + 12 + 8 + MAD_BYTES + 6;
	struct capture *c;
	char said[300];
	struct stat st;
	int pipe_fd[2];

	(void)state;
	assert_int_equal(capture_open(path, FILE_HEADER + 3 * record - 1, &ib_packet_type, &c), 0);
	fabric_set_capture(net.fabric, c);
	capture_close(capture);
	capture = c;
	send_two();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, FILE_HEADER + 2 * record);
	stderr_of(send_two, said, sizeof(said));
	assert_int_equal(capture_error(capture), -EFBIG);
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, "--file-limit"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);	/* said once */
	assert_int_equal(count(), 2);
	assert_int_equal(pipe(pipe_fd), 0);
	snprintf(said, sizeof(said), "/proc/self/fd/%d", pipe_fd[1]);
	assert_int_equal(capture_open(said, 1, &ib_packet_type, &c), 0);
	fabric_set_capture(net.fabric, c);
	send_two();
	assert_int_equal(capture_error(c), 0);
	fabric_set_capture(net.fabric, capture);
	capture_close(c);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(file_has_bytes_and_times_of_packets), T(file_header), T(switch_is_a_sender_too),
		T(lanes_are_those_of_the_sender), T(multicast_is_recorded_once),
		T(dropped_packets), T(capture_pauses),
		cmocka_unit_test(file_that_cannot_be_opened), T(disk_that_becomes_full),
		T(file_has_a_limit),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
