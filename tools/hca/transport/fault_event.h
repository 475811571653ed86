/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events of page faults, by the two schemes. An event of the transport scheme names the work
 * that met the page; an event of the memory scheme names the page, by the lowest key and an
 * address.
 */
#ifndef BLUEBELL_FAULT_EVENT_H
#define BLUEBELL_FAULT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

struct hca;
struct inject_fault;
struct mkey_absent;

/* Tokens of the memory scheme have 48 bits. Both halves differ from fault to fault. */
#define FAULT_TOKEN_HIGH	0xf417ull	/* xored with the token's low bits */
#define FAULT_TOKEN_LAST	0x80000000ull
#define FAULT_TOKEN_EARLY	0x40000000ull	/* of an event that is not the last */

static inline uint64_t fault_memory_token(uint32_t token)
{
	return (FAULT_TOKEN_HIGH ^ (token & 0xff)) << 32 | FAULT_TOKEN_LAST | token;
}

static inline uint64_t fault_memory_token_early(uint32_t token)
{
	return (FAULT_TOKEN_HIGH ^ (token & 0xff)) << 32 | FAULT_TOKEN_EARLY | token;
}

static inline bool fault_type_is_remote(enum fault_type type)
{
	return type & 4;
}

bool fault_by_memory(struct hca *hca);
void fault_post_transport(struct hca *hca, const struct page_fault *f, uint32_t token,
			  const struct inject_fault *inj);
void fault_post_memory(struct hca *hca, const struct mkey_absent *a, uint64_t token,
		       const struct inject_fault *inj);

#endif
