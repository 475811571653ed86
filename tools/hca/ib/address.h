/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The addresses of a port besides its LID: the tables of P_Keys and GIDs, and the rules by which a
 * receiver compares a packet's P_Key and GIDs with its tables.
 */
#ifndef BLUEBELL_ADDRESS_H
#define BLUEBELL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hca;
struct hca_module;

#define PKEY_FULL	0x8000	/* set for a full member, clear for a limited member */
#define PKEY_NONE	-1

unsigned int pkey_table_len(struct hca *hca);
uint16_t pkey_table_get(struct hca *hca, unsigned int index);
bool pkey_table_set(struct hca *hca, unsigned int index, uint16_t pkey);
bool pkeys_match(uint16_t a, uint16_t b);
int pkey_find(struct hca *hca, uint16_t pkey);
const uint16_t *pkey_table(struct hca *hca);

unsigned int gid_table_len(struct hca *hca);
bool gid_get(struct hca *hca, unsigned int index, uint8_t gid[16]);
bool guid_table_set(struct hca *hca, unsigned int index, uint64_t guid);
bool gid_set_prefix(struct hca *hca, uint64_t prefix);
bool gid_is_ours(struct hca *hca, const uint8_t gid[16]);

extern const struct hca_module address_module;

#endif
