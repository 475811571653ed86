// SPDX-License-Identifier: GPL-2.0
/*
 * Port 0 of the switch: which agent a packet to it is for.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric.h"
#include "gsi.h"
#include "ib_packet.h"
#include "mad_format.h"
#include "packet.h"
#include "sa.h"
#include "subnet.h"
#include "switch.h"
#include "switch_perf.h"

struct subnet {
	struct switch_node sw;
	struct sa *sa;		/* NULL without a subnet manager */
};

static void subnet_receive(void *arg, unsigned int by, const struct packet *p)
{
	struct subnet *s = arg;
	struct gsi_peer from;

	if (ib_hdr(p)->dlid != LID_PERMISSIVE && ib_hdr(p)->dlid != s->sw.lid)
		return;
	if (packet_is_smp(p)) {
		switch_receive(&s->sw, by, p);
		return;
	}
	if (!gsi_accept(&s->sw, p, &from))
		return;
	if (p->payload[OFF_CLASS] == CLASS_SA && s->sa)
		sa_receive(s->sa, by, &from, p->payload);
	else if (p->payload[OFF_CLASS] == CLASS_PERF)
		switch_perf_receive(&s->sw, &from, p->payload);
}

static void subnet_port_changed(void *arg, unsigned int port, bool up)
{
	struct subnet *s = arg;

	switch_port_changed(&s->sw);
	if (s->sa)
		sa_port_changed(s->sa, port, up);
}

static void subnet_free(void *arg)
{
	struct subnet *s = arg;

	sa_free(s->sa);
	free(s);
}

static const struct fabric_agent subnet_agent = {
	.receive = subnet_receive, .port_changed = subnet_port_changed, .free = subnet_free,
};

/**
 * subnet_start() - make a subnet of a fabric
 * @f: the fabric, which no HCA has joined yet, and which frees the subnet at its end
 * @base: event loop in which the switch's agents run
 * @manager: with a subnet manager and subnet administration at the switch's port 0; if not, the
 *	ports wait for a subnet manager on one of the hosts
 *
 * Return: 0 or -errno.
 */
int subnet_start(struct fabric *f, struct event_base *base, bool manager)
{
	struct subnet *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	if (!manager)
		fabric_leave_unmanaged(f);
	switch_init(&s->sw, f, manager);
	s->sa = manager ? sa_new(&s->sw) : NULL;
	err = manager && !s->sa ? -ENOMEM : fabric_set_agent(f, base, &subnet_agent, s);
	if (err)
		subnet_free(s);
	return err;
}
