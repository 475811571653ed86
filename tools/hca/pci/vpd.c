// SPDX-License-Identifier: GPL-2.0
/*
 * Vital product data: what the card is, its part number and its serial number, as tools read them
 * through a capability of config space.
 */
#include <stdio.h>
#include <string.h>

#include "hca.h"
#include "profile.h"
#include "util.h"
#include "vpd.h"

#define TAG_STRING	0x82
#define TAG_READ_ONLY	0x90
#define TAG_END		0x78

#define PART_CONNECTX_4LX 4117

/* Append a field of two letters and a text. */
static size_t vpd_field(uint8_t *to, const char *name, const char *text)
{
	size_t len = strlen(text);

	to[0] = name[0];
	to[1] = name[1];
	to[2] = len;
	memcpy(to + 3, text, len);
	return 3 + len;
}

static size_t vpd_tag(uint8_t *to, uint8_t tag, size_t len)
{
	to[0] = tag;
	to[1] = len;
	to[2] = len >> 8;
	return 3 + len;
}

/* The last read-only field: a byte by which the sum of all bytes so far becomes 0. */
static size_t vpd_checksum(uint8_t *vpd, size_t at)
{
	uint8_t sum = 0;
	size_t i;

	at += vpd_field(vpd + at, "RV", "-");
	for (i = 0; i < at - 1; i++)
		sum += vpd[i];
	vpd[at - 1] = -sum;
	return at;
}

/**
 * vpd_fill() - make the vital product data of an HCA
 * @hca: the HCA: its profile says which card it is, its number makes the serial number
 * @vpd: VPD_SIZE bytes, set to the data
 */
void vpd_fill(struct hca *hca, uint8_t *vpd)
{
	bool few = hca->profile->part == PART_CONNECTX_4LX;
	struct pcie_link link = profile_pcie_link(hca->profile);
	char name[80], part[32], serial[32], card[48], function[48], pcie[32];
	/*
	 * In the order in which cards have the fields. V3 names the card, and is the same for all
	 * its functions; VU names the function.
	 */
	const struct { const char *name, *text; bool absent; } fields[] = {
		{ "PN", part, false }, { "EC", "A1", false }, { "V2", part, few },
		{ "SN", serial, false }, { "V3", card, few },
		{ "VA", "BBL:MODL=HCA:MN=Bluebell", few }, { "V0", pcie, false },
		{ "VU", function, few },
	};
	size_t at, from, i;

	memset(vpd, 0, VPD_SIZE);
	snprintf(name, sizeof(name), "Bluebell emulated HCA, %.32s", hca->profile->name);
	snprintf(part, sizeof(part), "BBL%u", hca->profile->part);
	snprintf(serial, sizeof(serial), "BB%08u", hca->index + 1);
	snprintf(card, sizeof(card), "02b1ebe1000000000000%012x", hca->index + 1);
	snprintf(function, sizeof(function), "%sMLNXS0D0F0", serial);
	snprintf(pcie, sizeof(pcie), "PCIeGen%u x%u", link.generation, link.lanes);
	memcpy(vpd + 3, name, strlen(name));
	from = vpd_tag(vpd, TAG_STRING, strlen(name));
	at = from + 3;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].absent)
			at += vpd_field(vpd + at, fields[i].name, fields[i].text);
	vpd_tag(vpd + from, TAG_READ_ONLY, at + 4 - from - 3);
	at = vpd_checksum(vpd, at);
	vpd[at] = TAG_END;
}
