// SPDX-License-Identifier: GPL-2.0
/*
 * The P_Key and GID tables of a port (InfiniBand Architecture, volume 1, 4.1.1 and 10.9). The HCA's
 * attr_lock is held to change them, because the switch's agents read them, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "caps.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "port_info.h"
#include "profile.h"

#define PKEY_MAX	(128u << 5)	/* entries of the longest table */
#define GID_MAX		(8u << 4)

struct address_tables {
	uint16_t pkey[PKEY_MAX];	/* 0: the entry is not used */
	uint64_t prefix;		/* of the GIDs */
	uint64_t guid[GID_MAX];		/* 0: the entry is not used */
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
 * Return: the P_Key; 0, which matches no P_Key, for an entry that is not used or does not exist.
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
	pthread_mutex_lock(&hca->attr_lock);
	hca->addresses->pkey[index] = pkey;
	pthread_mutex_unlock(&hca->attr_lock);
	return true;
}

/**
 * pkeys_match() - tell whether two members of partitions may communicate
 * @a: P_Key of one
 * @b: P_Key of the other
 *
 * Return: true if the partition is the same and valid, and at least one is a full member of it.
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
	unsigned int n = 8u << hca_cap_gen(hca, gid_table_size);

	return n < GID_MAX ? n : GID_MAX;
}

/**
 * gid_get() - read an entry of the GID table
 * @hca: the HCA
 * @index: of the entry
 * @gid: the subnet prefix and a GUID of the port, in network order; zero if the entry is not used
 *
 * Return: false for an entry that is not used.
 */
bool gid_get(struct hca *hca, unsigned int index, uint8_t gid[16])
{
	const struct address_tables *t = hca->addresses;

	memset(gid, 0, 16);
	if (index >= gid_table_len(hca) || !t->guid[index])
		return false;
	put_be64(gid, t->prefix);
	put_be64(gid + 8, t->guid[index]);
	return true;
}

/**
 * guid_table_set() - change an entry of the GID table, as a subnet manager does
 * @hca: the HCA
 * @index: of the entry; the first one cannot change
 * @guid: its new value, 0 to make it unused
 *
 * Raises no event; port_set_guids() does.
 *
 * Return: true if the entry exists, can change, and had another value.
 */
bool guid_table_set(struct hca *hca, unsigned int index, uint64_t guid)
{
	struct address_tables *t = hca->addresses;

	if (!index || index >= gid_table_len(hca) || t->guid[index] == guid)
		return false;
	pthread_mutex_lock(&hca->attr_lock);
	t->guid[index] = guid;
	pthread_mutex_unlock(&hca->attr_lock);
	return true;
}

/**
 * gid_set_prefix() - change the subnet prefix of the GIDs, as a subnet manager does
 * @hca: the HCA
 * @prefix: the prefix
 *
 * Return: whether the prefix had another value.
 */
bool gid_set_prefix(struct hca *hca, uint64_t prefix)
{
	if (hca->addresses->prefix == prefix)
		return false;
	pthread_mutex_lock(&hca->attr_lock);
	hca->addresses->prefix = prefix;
	pthread_mutex_unlock(&hca->attr_lock);
	return true;
}

/**
 * gid_is_ours() - tell whether a GID is in the port's table
 * @hca: the HCA
 * @gid: the GID
 */
bool gid_is_ours(struct hca *hca, const uint8_t gid[16])
{
	const struct address_tables *t = hca->addresses;
	uint64_t guid = get_be64(gid + 8);
	unsigned int i, n = gid_table_len(hca);

	if (!guid || get_be64(gid) != t->prefix)
		return false;
	for (i = 0; i < n && t->guid[i] != guid; i++)
		;
	return i < n;
}

/* ---- module ---------------------------------------------------------------------------------- */

static int address_init(struct hca *hca)
{
	unsigned int i;

	hca->addresses = calloc(1, sizeof(*hca->addresses));
	if (!hca->addresses)
		return -ENOMEM;
	memcpy(hca->addresses->pkey, hca->profile->pkey, sizeof(hca->profile->pkey));
	hca->addresses->prefix = SUBNET_PREFIX;
	for (i = 0; i < hca->profile->gids && i < GID_MAX; i++)
		hca->addresses->guid[i] = fabric_guid(hca) + ((uint64_t)i << 16);
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
