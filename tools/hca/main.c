// SPDX-License-Identifier: GPL-2.0
/*
 * bluebell-hca: command line, the HCAs of this process on one fabric, and their threads.
 *
 * Each HCA has an event loop in a thread of its own. The main thread's loop serves signals and the
 * agents of the switch, and ends when the client of each HCA has come and gone. All objects are
 * made before the threads are started, and freed after the threads have been joined.
 */
#include <argp.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "board.h"
#include "capture.h"
#include "control.h"
#include "eth_socket.h"
#include "eth_switch.h"
#include "fabric.h"
#include "hca.h"
#include "impair.h"
#include "loop.h"
#include "packet.h"
#include "profile.h"
#include "quota.h"
#include "subnet.h"
#include "trace.h"
#include "unix_socket.h"
#include "vfio_user.h"

#define MAX_HCAS 16
#define MAX_PEERS MAX_HCAS

static struct {
	const char *socket[MAX_HCAS], *control[MAX_HCAS], *peer[MAX_PEERS];
	unsigned int sockets, controls, peers;
	const char *profile, *trace, *capture, *link;
	struct impair_settings impair;
	bool impaired, check;
	const char *caps;
	uint64_t file_limit;		/* bytes of a trace, and of the capture; 0: no limit */
} opt = { .file_limit = QUOTA_DEFAULT };

/* The HCAs of this process on their fabric. */
struct rack {
	struct loop *main;
	struct fabric *fabric;
	struct hca *hca[MAX_HCAS];
	struct loop *loop[MAX_HCAS];	/* of the HCA with the same index in @hca */
	unsigned int nr;
	struct eth_socket *peer[MAX_PEERS];
	unsigned int peers;
	atomic_uint gone;		/* bits of HCAs whose client has come and gone */
};

static const struct argp_option options[] = {
	{ "socket", 's', "PATH", 0, "Wait for a vfio-user client (QEMU) on this socket; each "
	  "--socket makes an HCA, all on the same fabric", 0 },
	{ "control", 'c', "PATH", 0, "Answer requests (census, trace, inject and others) on this "
	  "socket; the nth --control is for the HCA of the nth --socket", 0 },
	{ "profile", 'p', "FILE", 0, "What the HCA can do: a JSON file (default: built in)", 0 },
	{ "link", 'l', "ib|eth", 0, "Link layer, unless the profile has one (default: ib)", 0 },
	{ "peer", 'e', "PATH", 0, "With an Ethernet link: add a port to the switch, at which a "
	  "peer on this socket sends and receives frames as QEMU's -netdev stream does", 0 },
	{ "trace", 't', "FILE", 0, "Write every event to FILE, one JSON object a line (the second "
	  "HCA's to FILE.1, the third's to FILE.2)", 0 },
	{ "capture", 'w', "FILE", 0, "Write every packet on the fabric to FILE, in pcap "
	  "format", 0 },
	{ "file-limit", 'f', "MIB", 0, "End a trace or a capture when its file has this many MiB "
	  "(default: 4096; 0: never)", 0 },
	{ "impair", 'i', "SETTINGS", 0, "Lose, duplicate, reorder, corrupt and delay packets: "
	  "loss=P,dup=P,reorder=P,corrupt=P,delay=P in percent, delay_ms=N, seed=N", 0 },
	{ "check-profile", 'k', NULL, 0, "Only read the profile and say whether it is sound", 0 },
	{ "caps", 'a', "DIR", 0, "Only print the profile (--profile), with the capabilities of a "
	  "card: DIR has the card's answers to QUERY_HCA_CAP in hexadecimal, 00-max.hex and "
	  "00-cur.hex for type 0, and so on", 0 },
	{ 0 }
};

static int add(struct argp_state *st, const char **list, unsigned int *n, char *arg)
{
	if (*n == MAX_HCAS)
		argp_error(st, "at most %d HCAs or peers", MAX_HCAS);
	list[(*n)++] = arg;
	return 0;
}

static int parse_impair(struct argp_state *st, const char *arg)
{
	char why[200];

	if (!impair_parse(arg, &opt.impair, why, sizeof(why)))
		argp_error(st, "--impair: %s", why);
	opt.impaired = true;
	return 0;
}

static int parse_file_limit(struct argp_state *st, const char *arg)
{
	unsigned long long mib;
	char *end;

	mib = strtoull(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || mib > UINT64_MAX >> 20)
		argp_error(st, "--file-limit must be a number of MiB, not %s", arg);
	opt.file_limit = mib << 20;
	return 0;
}

static int parse(int key, char *arg, struct argp_state *st)
{
	switch (key) {
	case 's':
		return add(st, opt.socket, &opt.sockets, arg);
	case 'c':
		return add(st, opt.control, &opt.controls, arg);
	case 'e':
		return add(st, opt.peer, &opt.peers, arg);
	case 'p':
		opt.profile = arg;
		return 0;
	case 'l':
		if (strcmp(arg, "ib") && strcmp(arg, "eth"))
			argp_error(st, "--link must be ib or eth, not %s", arg);
		opt.link = arg;
		return 0;
	case 't':
		opt.trace = arg;
		return 0;
	case 'w':
		opt.capture = arg;
		return 0;
	case 'f':
		return parse_file_limit(st, arg);
	case 'i':
		return parse_impair(st, arg);
	case 'k':
		opt.check = true;
		return 0;
	case 'a':
		opt.caps = arg;
		return 0;
	case ARGP_KEY_END:
		if (opt.caps && !opt.profile)
			argp_error(st, "--caps needs --profile, the card's other settings");
		if (!opt.sockets && !opt.check && !opt.caps)
			argp_error(st, "--socket is needed");
		if (opt.controls > opt.sockets)
			argp_error(st, "there are more --control than --socket");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options, .parser = parse,
	.doc = "An emulated mlx5 HCA for QEMU's vfio-user-pci device.\v"
	       "bluebell-hca runs until the client of each HCA has come and gone, or until it "
	       "receives SIGINT or SIGTERM. Up to 16 HCAs, one for each --socket, share a "
	       "fabric.\n\n"
	       "Exit status:\n"
	       "  0   the clients have gone, or the profile is sound or printed\n"
	       "  1   a socket or the trace cannot be opened, or memory is short\n"
	       "  2   the profile is refused\n"
	       "  64  wrong arguments\n\n"
	       "Examples:\n"
	       "  bluebell-hca --socket /tmp/v.sock --control /tmp/c.sock\n"
	       "                              one HCA, with a control socket\n"
	       "  bluebell-hca --profile FILE --check-profile\n"
	       "                              check a profile\n\n"
	       "How QEMU connects to it, the profiles, the requests and the trace are described in "
	       "Documentation/hca.rst of Bluebell's sources.",
};

/*
 * The client of @hca is gone; the program ends when the clients of all HCAs have gone. Runs in the
 * HCA's thread. Each HCA has a bit in rack.gone, so that a client that comes and goes twice is not
 * counted in place of the client of another HCA.
 */
static void on_gone(struct hca *hca, void *arg)
{
	unsigned int bit = 1u << hca->index;
	struct rack *rack = arg;

	if ((atomic_fetch_or(&rack->gone, bit) | bit) == (1u << rack->nr) - 1)
		loop_end(rack->main);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	loop_end(arg);
}

static int serve(struct rack *rack, unsigned int i)
{
	struct hca *hca = rack->hca[i];
	char path[4096];
	int err = 0;

	if (opt.trace) {
		snprintf(path, sizeof(path), i ? "%s.%u" : "%s", opt.trace, i);
		err = trace_to_file(hca->trace, path, opt.file_limit);
		if (err) {
			fprintf(stderr, "bluebell-hca: cannot write the trace to %s: %s\n", path,
				strerror(-err));
			return err;
		}
	}
	err = vfu_listen(hca, opt.socket[i], on_gone, rack);
	if (err) {
		fprintf(stderr, "bluebell-hca: cannot listen on %s: %s\n", opt.socket[i],
			unix_socket_error(err));
		return err;
	}
	if (i < opt.controls)
		err = control_listen(hca, opt.control[i]);
	if (err)
		fprintf(stderr, "bluebell-hca: cannot listen on %s: %s\n", opt.control[i],
			unix_socket_error(err));
	return err;
}

/* A capture that cannot be written does not keep the HCA from starting. */
static void start_capture(struct fabric *f, const struct packet_type *type)
{
	struct capture *c;
	int err = capture_open(opt.capture, opt.file_limit, type, &c);

	if (err)
		fprintf(stderr, "bluebell-hca: cannot write the capture to %s: %s\n", opt.capture,
			strerror(-err));
	else
		fabric_set_capture(f, c);
}

static int listen_for_peers(struct rack *rack)
{
	int err;

	for (; rack->peers < opt.peers; rack->peers++) {
		err = eth_socket_listen(rack->fabric, loop_base(rack->main), opt.peer[rack->peers],
					&rack->peer[rack->peers]);
		if (!err)
			continue;
		fprintf(stderr, "bluebell-hca: cannot listen on %s: %s\n", opt.peer[rack->peers],
			unix_socket_error(err));
		return err;
	}
	return 0;
}

static int rack_up(struct rack *rack, struct profile *p)
{
	const struct packet_type *type = p->eth ? &eth_packet_type : &ib_packet_type;
	const struct board *board = p->eth ? &hca_eth_board : &hca_board;
	unsigned int i;

	rack->main = loop_new();
	rack->fabric = fabric_new(type);
	if (!rack->main || !rack->fabric)
		return -ENOMEM;
	if (opt.capture)
		start_capture(rack->fabric, type);
	if (p->eth ? eth_switch_start(rack->fabric) :
	    subnet_start(rack->fabric, loop_base(rack->main), p->subnet_manager))
		return -ENOMEM;
	for (i = 0; i < opt.sockets; i++) {
		rack->loop[i] = loop_new();
		if (!rack->loop[i])
			return -ENOMEM;
		rack->hca[i] = hca_create(board, loop_base(rack->loop[i]), rack->fabric, p, i);
		if (!rack->hca[i])
			return -ENOMEM;
		rack->nr++;
		if (opt.impaired && impair_start(fabric_impair(rack->hca[i]), &opt.impair))
			return -ENOMEM;
	}
	return 0;
}

static void rack_down(struct rack *rack)
{
	unsigned int i;

	for (i = 0; i < rack->nr; i++)
		vfu_close(rack->hca[i]);
	while (rack->nr)
		hca_destroy(rack->hca[--rack->nr]);
	while (rack->peers)
		eth_socket_free(rack->peer[--rack->peers]);
	fabric_free(rack->fabric);
	for (i = 0; i < MAX_HCAS; i++)
		loop_free(rack->loop[i]);
	loop_free(rack->main);
}

/* Run all loops until the main thread's loop ends. */
static int rack_run(struct rack *rack)
{
	unsigned int i;
	char name[16];
	int err = 0;

	for (i = 0; i < rack->nr && !err; i++) {
		snprintf(name, sizeof(name), "hca %u", i);
		err = loop_start(rack->loop[i], name);
	}
	if (!err)
		loop_run(rack->main);
	else
		fprintf(stderr, "bluebell-hca: cannot start a thread: %s\n", strerror(-err));
	for (i = 0; i < rack->nr; i++)
		loop_end(rack->loop[i]);
	for (i = 0; i < rack->nr; i++)
		loop_join(rack->loop[i]);
	return err;
}

static int run(struct profile *p)
{
	struct event *sigint, *sigterm;
	struct rack rack = { 0 };
	unsigned int i;
	int err = rack_up(&rack, p);

	if (err) {
		fprintf(stderr, "bluebell-hca: cannot start: %s\n", strerror(-err));
		rack_down(&rack);
		return err;
	}
	sigint = evsignal_new(loop_base(rack.main), SIGINT, on_signal, rack.main);
	sigterm = evsignal_new(loop_base(rack.main), SIGTERM, on_signal, rack.main);
	if (!sigint || !sigterm || event_add(sigint, NULL) || event_add(sigterm, NULL))
		err = -ENOMEM;
	for (i = 0; i < rack.nr && !err; i++)
		err = serve(&rack, i);
	if (!err)
		err = listen_for_peers(&rack);
	if (!err)
		err = rack_run(&rack);
	if (sigint)
		event_free(sigint);
	if (sigterm)
		event_free(sigterm);
	rack_down(&rack);
	return err;
}

/* Print the profile of a card, and on stderr in which capabilities it differs from the card. */
static int print_card(void)
{
	char why[200];

	if (!profile_from_card(opt.profile, opt.caps, stdout, stderr, why, sizeof(why)))
		return 0;
	fprintf(stderr, "bluebell-hca: no profile of the card in %s: %s\n", opt.caps, why);
	return 2;
}

int main(int argc, char **argv)
{
	char why[200] = "the kernel headers lack a field";
	struct profile *p;
	int err;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (opt.caps)
		return print_card();
	p = malloc(sizeof(*p));
	signal(SIGPIPE, SIG_IGN);
	/*
	 * The wait for the rest of a BlueFlame write is shorter than the default timer slack. The
	 * HCAs' threads inherit the slack that is set here.
	 */
	prctl(PR_SET_TIMERSLACK, 1);
	if (!p)
		return 1;
	err = profile_default(p, opt.link && !strcmp(opt.link, "eth"));
	if (!err && opt.profile)
		err = profile_load(p, opt.profile, why, sizeof(why));
	else if (!err)
		err = profile_check(p, why, sizeof(why));
	if (err) {
		fprintf(stderr, "bluebell-hca: profile %s refused: %s\n",
			opt.profile ? opt.profile : "default", why);
		free(p);
		return 2;
	}
	if (opt.peers && !p->eth) {
		fprintf(stderr, "bluebell-hca: --peer needs an Ethernet link (--link eth)\n");
		free(p);
		return 64;
	}
	if (opt.check)
		printf("%s: sound\n", p->name);
	else
		err = run(p);
	free(p);
	return err ? 1 : 0;
}
