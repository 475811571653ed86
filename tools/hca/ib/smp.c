// SPDX-License-Identifier: GPL-2.0
/*
 * Directed routes (InfiniBand Architecture, volume 1, 14.2.2): what a node does with a packet that
 * arrives, by the pointer into the paths that the packet carries.
 */
#include "ib_packet.h"
#include "ifc.h"
#include "mad_format.h"
#include "packet.h"
#include "smp.h"

#define HOPS_MAX	63

static enum smp_way smp_by_port(const struct smp_node *n, uint8_t port, uint16_t *to)
{
	*to = port;
	return port && port <= n->ports ? SMP_BY_PORT : SMP_DISCARD;
}

/* At an end of the directed part of a route: the packet is for this node, or goes on by a LID. */
static enum smp_way smp_at_end(const struct smp_node *n, uint16_t lid, uint16_t *to)
{
	if (lid == LID_PERMISSIVE || lid == n->lid)
		return SMP_HERE;
	*to = lid;
	return n->is_switch && lid && lid < LID_MCAST_FIRST ? SMP_BY_LID : SMP_DISCARD;
}

/* 14.2.2.2: a request, which follows the initial path and records the return path. */
static enum smp_way smp_outward(const struct smp_node *n, unsigned int by, uint8_t *mad,
				uint16_t *to)
{
	uint8_t hop = mad[OFF_HOP_POINTER], hops = mad[OFF_HOP_COUNT];

	if (hop && hop < hops) {
		if (!n->is_switch)
			return SMP_DISCARD;
		mad[OFF_RETURN_PATH + hop] = by;
		mad[OFF_HOP_POINTER] = ++hop;
		return smp_by_port(n, mad[OFF_INITIAL_PATH + hop], to);
	}
	if (hop == hops) {
		if (hops)
			mad[OFF_RETURN_PATH + hop] = by;
		mad[OFF_HOP_POINTER]++;
		return smp_at_end(n, get_be16(mad + OFF_DR_DLID), to);
	}
	return hop == hops + 1 ? SMP_HERE : SMP_DISCARD;
}

/* 14.2.2.4: a response, which follows the return path. */
static enum smp_way smp_homeward(const struct smp_node *n, uint8_t *mad, uint16_t *to)
{
	uint8_t hop = mad[OFF_HOP_POINTER], hops = mad[OFF_HOP_COUNT];

	if (hop >= 2 && hop <= hops) {
		if (!n->is_switch)
			return SMP_DISCARD;
		mad[OFF_HOP_POINTER] = --hop;
		return smp_by_port(n, mad[OFF_RETURN_PATH + hop], to);
	}
	if (hop == 1) {
		mad[OFF_HOP_POINTER] = 0;
		return smp_at_end(n, get_be16(mad + OFF_DR_SLID), to);
	}
	return hop ? SMP_DISCARD : SMP_HERE;
}

/**
 * smp_arrive() - decide where a directed-route packet that arrived at a node goes next
 * @n: the node
 * @by: number of the port by which it arrived
 * @mad: the packet, whose hop pointer and return path are brought up to date
 * @to: set to the port or the LID by which it goes on
 *
 * Volume 1, 14.2.2.2 and 14.2.2.4.
 *
 * Return: where it goes.
 */
enum smp_way smp_arrive(const struct smp_node *n, unsigned int by, uint8_t *mad, uint16_t *to)
{
	if (mad[OFF_HOP_COUNT] > HOPS_MAX)
		return SMP_DISCARD;
	if (get_be16(mad + OFF_STATUS) & MAD_STATUS_DIRECTION)
		return smp_homeward(n, mad, to);
	return smp_outward(n, by, mad, to);
}

/**
 * smp_return() - decide where a response goes, after smp_arrive() returned SMP_HERE for the request
 * @n: the node
 * @mad: the response
 * @to: set to the port or the LID by which it goes
 *
 * Volume 1, 14.2.2.3.
 *
 * Return: where it goes.
 */
enum smp_way smp_return(const struct smp_node *n, uint8_t *mad, uint16_t *to)
{
	uint8_t hop = mad[OFF_HOP_POINTER], hops = mad[OFF_HOP_COUNT];

	if (hop != hops + 1 || hops > HOPS_MAX)
		return SMP_DISCARD;
	mad[OFF_HOP_POINTER] = --hop;
	if (hops)
		return smp_by_port(n, mad[OFF_RETURN_PATH + hop], to);
	*to = get_be16(mad + OFF_DR_SLID);
	return *to && *to < LID_MCAST_FIRST ? SMP_BY_LID : SMP_DISCARD;
}
