// SPDX-License-Identifier: GPL-2.0
/*
 * The addresses of an Ethernet port with RoCE: SET_ROCE_ADDRESS and QUERY_ROCE_ADDRESS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "roce_address.h"

#define VID_MAX	4094

struct roce_addresses {
	unsigned int used;
	struct roce_address entry[ROCE_ADDRESSES];
};

/**
 * roce_offered() - tell whether the HCA has RoCE
 * @hca: the HCA
 *
 * The driver may have taken the capability back, if the profile lets it.
 */
bool roce_offered(const struct hca *hca)
{
	return hca->profile->eth && hca_cap_gen(hca, roce);
}

static unsigned int table_len(const struct hca *hca)
{
	return hca_cap_roce(hca, roce_address_table_size);
}

/**
 * roce_address_get() - read an entry of the table
 * @hca: the HCA
 * @index: of the entry
 *
 * Return: the address, or NULL if there is none.
 */
const struct roce_address *roce_address_get(const struct hca *hca, unsigned int index)
{
	const struct roce_addresses *t = hca->roce_addresses;

	return t && index < table_len(hca) && t->entry[index].used ? &t->entry[index] : NULL;
}

/**
 * roce_address_find() - find the entry to which a packet is addressed
 * @hca: the HCA
 * @like: version, type, GID and VLAN of the entry; not its MAC
 *
 * Return: the entry, or NULL if there is none.
 */
const struct roce_address *roce_address_find(const struct hca *hca,
					     const struct roce_address *like)
{
	const struct roce_addresses *t = hca->roce_addresses;
	unsigned int i, n = t ? table_len(hca) : 0;
	const struct roce_address *a;

	for (i = 0; i < n; i++) {
		a = &t->entry[i];
		if (a->used && a->version == like->version && a->vid == like->vid &&
		    (a->version == ROCE_V1 || a->l3 == like->l3) &&
		    !memcmp(a->gid, like->gid, sizeof(a->gid)))
			return a;
	}
	return NULL;
}

/**
 * roce_address_has_mac() - tell whether an address has this MAC
 * @hca: the HCA
 * @mac: the MAC
 */
bool roce_address_has_mac(const struct hca *hca, const uint8_t *mac)
{
	const struct roce_addresses *t = hca->roce_addresses;
	unsigned int i, n = t && t->used ? table_len(hca) : 0;

	for (i = 0; i < n; i++)
		if (t->entry[i].used && !memcmp(t->entry[i].mac, mac, ROCE_MAC_BYTES))
			return true;
	return false;
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t check_index(struct hca *hca, struct cmd *cmd)
{
	unsigned int index = IFC_GET(set_roce_address_in, cmd->in, roce_address_index);

	if (!roce_offered(hca))
		return cmd_fail(cmd, ST_BAD_OP, WHY_ROCE_NOT_OFFERED, "RoCE is not supported");
	/* The field is for devices with several ports on one function. */
	if (IFC_GET(set_roce_address_in, cmd->in, vhca_port_num))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				IFC_GET(set_roce_address_in, cmd->in, vhca_port_num));
	if (index >= table_len(hca))
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_ROCE_ADDRESS_INDEX,
				"index %u, the table has %u entries", index, table_len(hca));
	return ST_OK;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/*
 * An entry is deleted by an address without GID and MAC. Version and type do not count: the stock
 * driver deletes entries of version 2 with the version left in place.
 */
static bool is_deletion(const uint8_t *c)
{
	return all_zero(IFC_ADDR(roce_addr_layout, c, source_l3_address), ROCE_GID_BYTES) &&
	       all_zero(IFC_ADDR(roce_addr_layout, c, source_mac_47_32), ROCE_MAC_BYTES);
}

static void decode_address(struct roce_address *a, const uint8_t *c)
{
	*a = (struct roce_address){
		.used = true, .version = IFC_GET(roce_addr_layout, c, roce_version),
		.l3 = IFC_GET(roce_addr_layout, c, roce_l3_type),
		.vlan = IFC_GET(roce_addr_layout, c, vlan_valid),
		.vid = IFC_GET(roce_addr_layout, c, vlan_id),
	};
	memcpy(a->gid, IFC_ADDR(roce_addr_layout, c, source_l3_address), sizeof(a->gid));
	memcpy(a->mac, IFC_ADDR(roce_addr_layout, c, source_mac_47_32), sizeof(a->mac));
	/* Only the last four bytes are an IPv4 address: the rest is as in a mapped address. */
	if (a->version == ROCE_V2 && a->l3 == ROCE_IPV4) {
		memset(a->gid, 0, 10);
		memset(a->gid + 10, 0xff, 2);
	}
}

static uint8_t check_address(struct hca *hca, struct cmd *cmd, const struct roce_address *a)
{
	if (a->version >= 8 || !(hca_cap_roce(hca, roce_version) >> a->version & 1))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_ADDRESS_VERSION,
				"version %u is not supported (roce_version 0x%x)", a->version,
				hca_cap_roce(hca, roce_version));
	if (a->l3 > ROCE_IPV6 ||
	    (a->version == ROCE_V2 && !(hca_cap_roce(hca, l3_type) >> (a->l3 + 1) & 1)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_ADDRESS_TYPE,
				"roce_l3_type %u is not supported (l3_type 0x%x)", a->l3,
				hca_cap_roce(hca, l3_type));
	if (a->mac[0] & 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_ADDRESS_MAC,
				"the MAC is the address of a group");
	if (a->vid > VID_MAX || (!a->vlan && a->vid))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_ADDRESS_VLAN,
				"vlan_id %u with vlan_valid %u", a->vid, a->vlan);
	return ST_OK;
}

static uint8_t set_roce_address(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(set_roce_address_in, cmd->in, roce_address);
	unsigned int index = IFC_GET(set_roce_address_in, cmd->in, roce_address_index);
	struct roce_addresses *t = hca->roce_addresses;
	struct roce_address a = { 0 };
	uint8_t st = check_index(hca, cmd);

	if (!st && !is_deletion(c)) {
		decode_address(&a, c);
		st = check_address(hca, cmd, &a);
	}
	if (st)
		return st;
	t->used += a.used - t->entry[index].used;
	t->entry[index] = a;
	hca_trace(hca, "roce_address", "\"index\":%u,\"used\":%s,\"version\":%u,\"vid\":%u", index,
		  a.used ? "true" : "false", a.version, a.vid);
	return ST_OK;
}

static uint8_t query_roce_address(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_roce_address_out, cmd->out, roce_address);
	const struct roce_address *a;
	uint8_t st = check_index(hca, cmd);

	if (st)
		return st;
	a = roce_address_get(hca, IFC_GET(query_roce_address_in, cmd->in, roce_address_index));
	if (!a)
		return ST_OK;
	memcpy(IFC_ADDR(roce_addr_layout, c, source_l3_address), a->gid, sizeof(a->gid));
	memcpy(IFC_ADDR(roce_addr_layout, c, source_mac_47_32), a->mac, sizeof(a->mac));
	IFC_SET(roce_addr_layout, c, vlan_valid, a->vlan);
	IFC_SET(roce_addr_layout, c, vlan_id, a->vid);
	IFC_SET(roce_addr_layout, c, roce_l3_type, a->l3);
	IFC_SET(roce_addr_layout, c, roce_version, a->version);
	return ST_OK;
}

const struct cmd_desc roce_address_cmds[] = {
	CMD(SET_ROCE_ADDRESS, set_roce_address, set_roce_address, .flags = CMD_ETH | CMD_KERNEL),
	CMD(QUERY_ROCE_ADDRESS, query_roce_address, query_roce_address, .flags = CMD_ETH),
	{}
};

/* ---- module ---------------------------------------------------------------------------------- */

static int roce_address_init(struct hca *hca)
{
	hca->roce_addresses = calloc(1, sizeof(*hca->roce_addresses));
	return hca->roce_addresses ? 0 : -ENOMEM;
}

static void roce_address_reset(struct hca *hca)
{
	memset(hca->roce_addresses, 0, sizeof(*hca->roce_addresses));
}

static void roce_address_exit(struct hca *hca)
{
	free(hca->roce_addresses);
	hca->roce_addresses = NULL;
}

const struct hca_module roce_address_module = {
	.name = "roce_address", .init = roce_address_init, .reset = roce_address_reset,
	.exit = roce_address_exit,
};
