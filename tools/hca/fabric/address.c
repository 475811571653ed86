// SPDX-License-Identifier: GPL-2.0
/*
 * The P_Key and GID tables of a port (InfiniBand Architecture, volume 1, 4.1.1 and 10.9).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "caps.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"

#define SUBNET_PREFIX	0xfe80000000000000ull
#define PKEY_MAX	(128u << 5)	/* entries of the longest table */

struct address_tables {
	uint16_t pkey[PKEY_MAX];	/* 0: the entry is not used */
};

/**
 * pkey_table_len() - number of entries of the P_Key table
 * @hca: the HCA
 */
unsigned int pkey_table_len(struct hca *hca)
{
	return 128u << hca_cap_gen(hca, pkey_table_size);
}

/**
 * pkey_table_get() - read an entry of the P_Key table
 * @hca: the HCA
 * @index: of the entry
 *
 * Return: the P_Key; 0, which matches none, for an entry that is not used or does not exist.
 */
uint16_t pkey_table_get(struct hca *hca, unsigned int index)
{
	return index < pkey_table_len(hca) ? hca->addresses->pkey[index] : 0;
}

/**
 * pkey_table() - the whole P_Key table
 * @hca: the HCA
 *
 * Return: pkey_table_len() entries.
 */
const uint16_t *pkey_table(struct hca *hca)
{
	return hca->addresses->pkey;
}

/**
 * pkey_table_set() - change an entry of the P_Key table, as a subnet manager does
 * @hca: the HCA
 * @index: of the entry
 * @pkey: its new value
 *
 * Raises no event; port_set_pkey() does.
 *
 * Return: false if there is no such entry.
 */
bool pkey_table_set(struct hca *hca, unsigned int index, uint16_t pkey)
{
	if (index >= pkey_table_len(hca))
		return false;
	hca->addresses->pkey[index] = pkey;
	return true;
}

/**
 * pkeys_match() - tell whether two members of partitions may communicate
 * @a: P_Key of one
 * @b: P_Key of the other
 *
 * Return: true if the partition is the same and valid, and one of them is a full member.
 */
bool pkeys_match(uint16_t a, uint16_t b)
{
	const uint16_t partition = PKEY_FULL - 1;

	return (a & partition) && (a & partition) == (b & partition) && ((a | b) & PKEY_FULL);
}

/**
 * pkey_find() - find an entry of the P_Key table that matches the P_Key of a packet
 * @hca: the HCA
 * @pkey: of the packet
 *
 * Return: the entry's index, or PKEY_NONE.
 */
int pkey_find(struct hca *hca, uint16_t pkey)
{
	unsigned int i, n = pkey_table_len(hca);

	for (i = 0; i < n; i++)
		if (pkeys_match(hca->addresses->pkey[i], pkey))
			return i;
	return PKEY_NONE;
}

/**
 * gid_table_len() - number of entries of the GID table
 * @hca: the HCA
 */
unsigned int gid_table_len(struct hca *hca)
{
	return 8u << hca_cap_gen(hca, gid_table_size);
}

/**
 * gid_get() - read an entry of the GID table
 * @hca: the HCA
 * @index: of the entry
 * @gid: the default subnet prefix and a GUID of the port, in network order; zero if the entry is
 *	not used
 *
 * Return: false for an entry that is not used.
 */
bool gid_get(struct hca *hca, unsigned int index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (index >= hca->profile->gids)
		return false;
	put_be64(gid, SUBNET_PREFIX);
	put_be64(gid + 8, fabric_guid(hca) + ((uint64_t)index << 16));
	return true;
}

/**
 * gid_is_ours() - tell whether a GID is in the port's table
 * @hca: the HCA
 * @gid: the GID
 */
bool gid_is_ours(struct hca *hca, const uint8_t gid[16])
{
	uint8_t own[16];
	unsigned int i;

	for (i = 0; gid_get(hca, i, own); i++)
		if (!memcmp(own, gid, sizeof(own)))
			return true;
	return false;
}

/* ---- module ---------------------------------------------------------------------------------- */

static int address_init(struct hca *hca)
{
	hca->addresses = calloc(1, sizeof(*hca->addresses));
	if (!hca->addresses)
		return -ENOMEM;
	memcpy(hca->addresses->pkey, hca->profile->pkey, sizeof(hca->profile->pkey));
	return 0;
}

static void address_exit(struct hca *hca)
{
	free(hca->addresses);
	hca->addresses = NULL;
}

const struct hca_module address_module = {
	.name = "address", .init = address_init, .exit = address_exit,
};
