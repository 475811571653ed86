// SPDX-License-Identifier: GPL-2.0
/*
 * The in-process fabric: its ports by number, and the LIDs that are given to them.
 */
#include <stdlib.h>

#include "capture.h"
#include "fabric.h"
#include "fabric_priv.h"
#include "forward.h"
#include "hca.h"
#include "packet.h"

/**
 * fabric_new() - make a fabric without ports
 * @type: of its packets
 *
 * The links of its ports become active at once, and the ports have LIDs, as if a subnet manager had
 * configured them. Ethernet does not use the LIDs.
 *
 * Return: the fabric, or NULL if memory is short.
 */
struct fabric *fabric_new(const struct packet_type *type)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->type = type;
	STAILQ_INIT(&f->pool);
	pthread_mutex_init(&f->pool_lock, NULL);
	pthread_mutex_init(&f->lid_lock, NULL);
	forward_init(&f->forward);
	forward_open(&f->forward);
	f->forward.port[SWITCH_LID] = 0;
	return f;
}

/**
 * fabric_leave_unmanaged() - leave the ports to a subnet manager on one of the hosts
 * @f: the fabric, which no HCA has joined
 *
 * Until that subnet manager configures the ports and the switch, the ports have no LID, and the
 * forwarding tables are empty.
 */
void fabric_leave_unmanaged(struct fabric *f)
{
	f->unmanaged = true;
	forward_init(&f->forward);
}

/**
 * fabric_managed() - tell whether the fabric itself has a subnet manager
 * @f: the fabric
 */
bool fabric_managed(const struct fabric *f)
{
	return !f->unmanaged;
}

/**
 * fabric_forward() - the switch's forwarding tables
 * @f: the fabric
 *
 * Return: the tables, which the switch's agents may change.
 */
struct forward *fabric_forward(struct fabric *f)
{
	return &f->forward;
}

/**
 * fabric_set_switch() - give a fabric a switch that is not InfiniBand's
 * @f: the fabric, which no HCA has joined
 * @sw: the switch
 * @release: called with the switch at the end of the fabric
 */
void fabric_set_switch(struct fabric *f, void *sw, void (*release)(void *sw))
{
	f->sw = sw;
	f->release = release;
}

/**
 * fabric_switch() - the switch of a fabric that is not InfiniBand's
 * @f: the fabric
 */
void *fabric_switch(const struct fabric *f)
{
	return f->sw;
}

/**
 * fabric_set_capture() - record every packet from now on
 * @f: the fabric
 * @c: the capture, which the fabric closes at its end
 *
 * A packet is recorded once, as the port of its sender transmits it on its link.
 */
void fabric_set_capture(struct fabric *f, struct capture *c)
{
	f->capture = c;
}

/**
 * fabric_capture() - the capture of the fabric
 * @f: the fabric
 *
 * Return: the capture, or NULL.
 */
struct capture *fabric_capture(const struct fabric *f)
{
	return f->capture;
}

/**
 * fabric_record() - record a packet in the capture of the fabric, if there is one
 * @f: the fabric
 * @h: the packet
 *
 * May be called by any thread.
 */
void fabric_record(struct fabric *f, const struct packet_head *h)
{
	if (f->capture)
		capture_packet(f->capture, h);
}

/**
 * fabric_free() - free a fabric
 * @f: the fabric, which no HCA uses any more; or NULL
 */
void fabric_free(struct fabric *f)
{
	struct packet_queue left;
	struct packet_head *h;
	unsigned int i;
	bool closed;

	if (!f)
		return;
	if (f->agent) {
		f->agent->free(f->agent_arg);
		inbox_take(&f->in, &left, &closed);
		STAILQ_CONCAT(&f->pool, &left);
		for (i = 0; i <= SWITCH_PORTS; i++)
			STAILQ_CONCAT(&f->pool, &f->taken[i]);
		inbox_exit(&f->in);
	}
	while ((h = STAILQ_FIRST(&f->pool))) {
		STAILQ_REMOVE_HEAD(&f->pool, link);
		free(packet_of(h));
	}
	if (f->release)
		f->release(f->sw);
	capture_close(f->capture);
	pthread_mutex_destroy(&f->lid_lock);
	pthread_mutex_destroy(&f->pool_lock);
	free(f);
}

/**
 * fabric_port_number() - number of the switch's port that the HCA's port is linked with
 * @hca: the HCA
 */
unsigned int fabric_port_number(const struct hca *hca)
{
	return hca->index + 1;
}

/**
 * fabric_peer() - the HCA at the other end of a link of the switch
 * @f: the fabric
 * @port: number of the switch's port
 *
 * Return: the HCA, or NULL if there is none.
 */
struct hca *fabric_peer(const struct fabric *f, unsigned int port)
{
	return port && port <= SWITCH_PORTS && f->ports[port] ? f->ports[port]->hca : NULL;
}

/**
 * fabric_move_lids() - give a port other LIDs in the forwarding table
 * @f: the fabric
 * @port: number of the switch's port, 0 for the switch itself
 * @from: the LIDs that the port had, or LID 0 for none
 * @to: its new LIDs
 *
 * May be called by any thread.
 *
 * Return: false if another port has one of the LIDs @to.
 */
bool fabric_move_lids(struct fabric *f, unsigned int port, const struct lids *from,
		      const struct lids *to)
{
	_Atomic uint8_t *table = f->forward.port;
	bool is_free = true;
	unsigned int i;

	pthread_mutex_lock(&f->lid_lock);
	for (i = 0; i < 1u << to->lmc; i++)
		is_free &= table[to->base + i] == FORWARD_DROP || table[to->base + i] == port;
	if (is_free) {
		for (i = 0; from->base && i < 1u << from->lmc; i++)
			table[from->base + i] = FORWARD_DROP;
		for (i = 0; i < 1u << to->lmc; i++)
			table[to->base + i] = port;
	}
	pthread_mutex_unlock(&f->lid_lock);
	return is_free;
}
