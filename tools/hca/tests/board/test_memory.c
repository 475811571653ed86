// SPDX-License-Identifier: GPL-2.0
/*
 * The HCA when memory or files are short: of what it allocates, each in turn fails once. The
 * Makefile has the linker replace the calls of malloc() and of other functions by the functions
 * here; libevent is told to call them.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "board.h"
#include "capture.h"
#include "corerig.h"
#include "eth_frame.h"
#include "eth_socket.h"
#include "eth_switch.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "mcast.h"
#include "packet.h"
#include "profile.h"
#include "qp.h"
#include "subnet.h"
#include "vfio_user.h"

#define MOST	2000	/* allocations of what a test makes */

static unsigned int left = UINT_MAX;	/* allocations until one fails; UINT_MAX: none will */
static unsigned int blocks;		/* of memory that the HCA has allocated */
static bool timer_is_file_0;

static bool fails(void)
{
	if (left == UINT_MAX)
		return false;
	errno = ENOMEM;
	return !left--;
}

/* End the failures. Returns whether an allocation has failed. */
static bool failed(void)
{
	bool fired = left == UINT_MAX;

	left = UINT_MAX;
	return fired;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void __real_free(void *p);
void __wrap_free(void *p);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
int __real_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
pcap_t *__real_pcap_open_dead_with_tstamp_precision(int type, int len, u_int precision);
pcap_t *__wrap_pcap_open_dead_with_tstamp_precision(int type, int len, u_int precision);

static void *counted(void *p)
{
	blocks += p != NULL;
	return p;
}

void *__wrap_malloc(size_t n)
{
	return counted(fails() ? NULL : __real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return counted(fails() ? NULL : __real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	if (!p)
		return __wrap_malloc(n);
	return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = __wrap_malloc(n);

	return p ? memcpy(p, s, n) : NULL;
}

void __wrap_free(void *p)
{
	blocks -= p != NULL;
	__real_free(p);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	return fails() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, off);
}

int __wrap_memfd_create(const char *name, unsigned int flags)
{
	return fails() ? -1 : __real_memfd_create(name, flags);
}

int __wrap_timerfd_create(int clock, int flags)
{
	int fd = fails() ? -1 : __real_timerfd_create(clock, flags);

	if (!timer_is_file_0)
		return fd;
	dup2(fd, STDIN_FILENO);
	close(fd);
	return STDIN_FILENO;
}

pcap_t *__wrap_pcap_open_dead_with_tstamp_precision(int type, int len, u_int precision)
{
	return fails() ? NULL : __real_pcap_open_dead_with_tstamp_precision(type, len, precision);
}

/* The base of the events keeps some of what libevent allocates, so it is not counted. */
static void *event_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

static void *event_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

static unsigned int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- what is made as a whole ----------------------------------------------------------------- */

static struct profile profile;
static struct event_base *base;
static char path[64];

static void ignore(struct hca *hca, void *arg)
{
	(void)hca;
	(void)arg;
}

/* A subnet with an HCA, which waits for its client. */
static bool make_subnet(void)
{
	struct fabric *f = fabric_new(&ib_packet_type);
	struct hca *hca = NULL;
	bool made = false;

	if (f && !subnet_start(f, base, true))
		hca = hca_create(&hca_board, base, f, &profile, 0);
	if (hca) {
		made = !vfu_listen(hca, path, ignore, NULL);
		vfu_close(hca);
		hca_destroy(hca);
	}
	fabric_free(f);
	return made;
}

/* The same for Ethernet; the switch has a port that is a socket. */
static bool make_lan(void)
{
	struct fabric *f = fabric_new(&eth_packet_type);
	struct eth_socket *port = NULL;
	struct hca *hca = NULL;

	if (f && !eth_switch_start(f) && !eth_socket_listen(f, base, path, &port))
		hca = hca_create(&hca_eth_board, base, f, &profile, 0);
	if (port)
		eth_socket_free(port);
	if (hca)
		hca_destroy(hca);
	fabric_free(f);
	return hca;
}

static bool make_capture(void)
{
	struct capture *c;

	if (capture_open(path, 0, &ib_packet_type, &c))
		return false;
	capture_close(c);
	unlink(path);
	return true;
}

/* Let each allocation of @make fail in turn. Returns their number. */
static unsigned int made_whole_or_not_at_all(bool (*make)(void), bool eth)
{
	unsigned int files, before, n;
	bool made, short_of;

	assert_int_equal(profile_default(&profile, eth), 0);
	base = event_base_new();
	assert_true(core_socket(path, sizeof(path)));
	assert_true(make());		/* the base of the events allocates more at its first use */
	files = open_files();
	before = blocks;
	for (n = 0; n < MOST; n++) {
		left = n;
		made = make();
		short_of = failed();
		if (made != !short_of)
			fail_msg("allocation %u: %s", n, made ? "made" : "not made");
		if (open_files() != files)
			fail_msg("allocation %u: a file is open", n);
		if (blocks != before)
			fail_msg("allocation %u: memory is left", n);
		if (made)
			break;
	}
	core_socket_remove();
	event_base_free(base);
	assert_true(n < MOST);
	return n;
}

static void subnet_is_made_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_true(made_whole_or_not_at_all(make_subnet, false) > 50);
}

static void lan_is_made_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_true(made_whole_or_not_at_all(make_lan, true) > 50);
}

static void capture_is_opened_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_true(made_whole_or_not_at_all(make_capture, false) > 2);
}

/* ---- what works again ------------------------------------------------------------------------ */

/* A command that gets no memory fails, and the same command later succeeds. */
static void command_without_memory_fails(void **state)
{
	uint8_t in[IFC_SZ(set_driver_version_in)] = { 0 }, out[16], st;
	unsigned int n;
	bool short_of;

	(void)state;
	IFC_SET(set_driver_version_in, in, opcode, MLX5_CMD_OP_SET_DRIVER_VERSION);
	strcpy((char *)IFC_ADDR(set_driver_version_in, in, driver_version), "Linux,test,1");
	for (n = 0; n < MOST; n++) {
		left = n;
		st = core_cmd(in, sizeof(in), out, sizeof(out));
		short_of = failed();
		assert_int_equal(st, short_of ? 0xff : ST_OK);
		if (!short_of)
			break;
	}
	assert_true(n >= 2);		/* input and output */
}

static void group_without_memory_has_no_member(void **state)
{
	static const uint8_t gid[16] = { 0xff, [15] = 1 };
	unsigned int n;
	int err;

	(void)state;
	for (n = 0; n < MOST; n++) {
		left = n;
		err = mcast_attach(core.hca, gid, 5);
		assert_int_equal(err, failed() ? -ENOMEM : 0);
		assert_true(mcast_has_group(core.hca, gid) == !err);
		if (!err)
			break;
	}
	assert_true(n >= 2);		/* the group and its member */
	assert_int_equal(mcast_detach(core.hca, gid, 5), 0);
}

/* Two allocations are for the input and the output of the command, two for group and member. */
static void attaching_without_memory_says_so(void **state)
{
	uint8_t in[IFC_SZ(attach_to_mcg_in)] = { 0 }, out[16], st;
	struct qp *qp = (struct qp *)obj_new_at(core.hca, OBJ_QP, 0x40, 0, sizeof(*qp));
	unsigned int n;

	(void)state;
	qp->type = QPT_UD;
	IFC_SET(attach_to_mcg_in, in, opcode, MLX5_CMD_OP_ATTACH_TO_MCG);
	IFC_SET(attach_to_mcg_in, in, qpn, 0x40);
	IFC_ADDR(attach_to_mcg_in, in, multicast_gid)[0] = 0xff;
	for (n = 0; n < 5; n++) {
		left = n;
		st = core_cmd(in, sizeof(in), out, sizeof(out));
		if (!failed())
			break;
		assert_int_equal(st, n < 2 ? 0xff : ST_NO_RES);
	}
	assert_int_equal(n, 4);
	assert_int_equal(st, ST_OK);
}

/* Descriptor 0 is free in a process that was started without standard input. */
static void timer_may_be_file_0(void **state)
{
	int saved = dup(STDIN_FILENO);
	bool made;

	(void)state;
	assert_int_equal(profile_default(&profile, false), 0);
	base = event_base_new();
	assert_true(core_socket(path, sizeof(path)));
	timer_is_file_0 = true;
	made = make_subnet();
	timer_is_file_0 = false;
	assert_true(made);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	core_put_back_stdin(saved);
	core_socket_remove();
	event_base_free(base);
}

#define T(f) cmocka_unit_test_setup_teardown(f, core_up_init, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subnet_is_made_whole_or_not_at_all),
		cmocka_unit_test(lan_is_made_whole_or_not_at_all),
		cmocka_unit_test(capture_is_opened_whole_or_not_at_all),
		T(command_without_memory_fails), T(group_without_memory_has_no_member),
		T(attaching_without_memory_says_so),
		cmocka_unit_test(timer_may_be_file_0),
	};

	event_set_mem_functions(event_malloc, event_realloc, __real_free);
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
