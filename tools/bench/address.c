// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of an Ethernet port: how long it takes until the driver has an IPv4 address that an
 * administrator gives to the port's network device, or has lost it again.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define MAX_ADDRESSES 1024
#define VERSIONS 2	/* of RoCE: the port has each address in each of them */
#define PAUSE_US 50	/* between two looks at the table of addresses */
#define ADDRESS "10.11.0.1"	/* scripts/bench gives the device none of this network */

static struct ibv_gid_entry entries[MAX_ADDRESSES];
static ssize_t before_add;	/* addresses of the port without ours */
static char label[IFNAMSIZ];	/* by which the network device knows the address */

static ssize_t count_addresses(struct bench *b, const struct row *row)
{
	ssize_t n = ibv_query_gid_table(b->ctx, entries, MAX_ADDRESSES, 0);

	if (n < 0)
		die(row->name);
	return n;
}

static void await_addresses(struct bench *b, const struct row *row, ssize_t want)
{
	while (count_addresses(b, row) != want)
		usleep(PAUSE_US);
}

static void change(const struct row *row, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, request, ifr))
		die(row->name);
	close(fd);
}

static void find_label(struct bench *b, const struct row *row)
{
	char name[IFNAMSIZ];

	if (label[0])
		return;
	before_add = count_addresses(b, row);
	if (!before_add || !if_indextoname(entries[0].ndev_ifindex, name) ||
	    (size_t)snprintf(label, sizeof(label), "%s:a", name) >= sizeof(label))
		die(row->name);
}

static void op_add(struct bench *b, const struct row *row)
{
	struct ifreq ifr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ifr.ifr_addr;

	find_label(b, row);
	memcpy(ifr.ifr_name, label, sizeof(label));
	in->sin_family = AF_INET;
	inet_pton(AF_INET, ADDRESS, &in->sin_addr);
	change(row, SIOCSIFADDR, &ifr);
	await_addresses(b, row, before_add + VERSIONS);
}

/* An address with a label of its own goes when the label is set down. */
static void op_delete(struct bench *b, const struct row *row)
{
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, label, sizeof(label));
	change(row, SIOCSIFFLAGS, &ifr);
	await_addresses(b, row, before_add);
}

const struct row address_rows[] = {
	{ "address add", .op = op_add, .after = op_delete },
	{ "address delete", .before = op_add, .op = op_delete },
	{ 0 }
};
