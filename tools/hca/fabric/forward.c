// SPDX-License-Identifier: GPL-2.0
/*
 * The forwarding tables of the switch (InfiniBand Architecture, volume 1, 18.2.4.3).
 */
#include "forward.h"
#include "ib_packet.h"
#include "packet.h"

/**
 * forward_init() - make tables that forward nothing
 * @fw: the tables
 */
void forward_init(struct forward *fw)
{
	unsigned int i;

	for (i = 0; i < FORWARD_LIDS; i++)
		atomic_init(&fw->port[i], FORWARD_DROP);
	for (i = 0; i < FORWARD_MLIDS; i++)
		atomic_init(&fw->members[i], 0);
	fw->linear_top = 0;
	fw->mcast_top = 0;
	fw->mcast_primary = FORWARD_DROP;
	fw->mcast_other = FORWARD_DROP;
}

/**
 * forward_open() - let all entries of the tables count, as a subnet manager does
 * @fw: the tables
 */
void forward_open(struct forward *fw)
{
	fw->linear_top = FORWARD_LIDS - 1;
	fw->mcast_top = LID_MCAST_FIRST + FORWARD_MLIDS - 1;
}

/**
 * forward_unicast() - look up a LID in the linear forwarding table
 * @fw: the tables
 * @lid: the LID
 *
 * Return: the number of a port, which may not exist; FORWARD_DROP for a LID that has no entry.
 */
uint8_t forward_unicast(const struct forward *fw, uint16_t lid)
{
	return lid && lid < FORWARD_LIDS && lid <= fw->linear_top ? fw->port[lid] : FORWARD_DROP;
}

static uint64_t forward_mcast_default(const struct forward *fw, unsigned int from)
{
	uint8_t primary = fw->mcast_primary, to = from == primary ? fw->mcast_other : primary;

	return to <= SWITCH_PORTS ? 1ull << to : 0;
}

/**
 * forward_multicast() - look up a LID in the multicast forwarding table
 * @fw: the tables
 * @from: the port by which the packet came
 * @mlid: the multicast LID
 *
 * Return: bits of the ports that are members, or of the default port for a LID without an entry.
 */
uint64_t forward_multicast(const struct forward *fw, unsigned int from, uint16_t mlid)
{
	unsigned int i = mlid - LID_MCAST_FIRST;
	uint16_t top = fw->mcast_top;

	if (!lid_is_mcast(mlid))
		return 0;
	if (i < FORWARD_MLIDS && (!top || mlid <= top))
		return fw->members[i];
	return forward_mcast_default(fw, from);
}
