// SPDX-License-Identifier: GPL-2.0
/*
 * The request "addresses": the table of addresses of an Ethernet port with RoCE.
 */
#include <json-c/json.h>
#include <stdio.h>

#include "answer.h"
#include "hca.h"
#include "ifc.h"
#include "request.h"
#include "roce_address.h"

/* A GID as sysfs shows it: eight words of four hexadecimal digits. */
static struct json_object *show_gid(const uint8_t *gid)
{
	char text[5 * ROCE_GID_BYTES / 2 + 1];
	unsigned int i;

	for (i = 0; i < ROCE_GID_BYTES / 2; i++)
		snprintf(text + 5 * i, sizeof(text) - 5 * i, "%04x:", get_be16(gid + 2 * i));
	/* Without the last colon. */
	return json_object_new_string_len(text, sizeof(text) - 2);
}

static struct json_object *show_mac(const uint8_t *mac)
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_object_new_string(text);
}

static struct json_object *show_address(unsigned int index, const struct roce_address *a)
{
	struct json_object *o = json_object_new_object();

	answer_add_num(o, "index", index);
	answer_add_num(o, "version", a->version == ROCE_V1 ? 1 : 2);
	if (a->version == ROCE_V2)
		answer_add_num(o, "ip", a->l3 == ROCE_IPV4 ? 4 : 6);
	json_object_object_add(o, "gid", show_gid(a->gid));
	json_object_object_add(o, "mac", show_mac(a->mac));
	if (a->vlan)
		answer_add_num(o, "vlan", a->vid);
	return o;
}

/**
 * request_addresses() - the request "addresses"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_addresses(struct hca *hca, unsigned int n, char **w)
{
	const struct roce_address *a;
	struct json_object *o, *list;
	unsigned int i;

	(void)w;
	if (n > 1)
		return answer_fail("addresses takes no argument");
	if (!roce_offered(hca))
		return answer_fail("the port has no RoCE");
	o = answer_ok();
	list = json_object_new_array();
	for (i = 0; i < ROCE_ADDRESSES; i++) {
		a = roce_address_get(hca, i);
		if (a)
			json_object_array_add(list, show_address(i, a));
	}
	json_object_object_add(o, "list", list);
	return o;
}
