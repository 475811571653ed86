/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive side scaling: the hash of a frame's addresses and ports, by which an indirection table
 * spreads flows over receive queues.
 */
#ifndef BLUEBELL_RSS_H
#define BLUEBELL_RSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define RSS_KEY_BYTES	40
#define RSS_INPUT_MAX	(2 * IP_BYTES + 4)	/* two addresses, and two ports or an SPI */

/* Numbers as in tirc.rx_hash_fn. */
enum rss_fn { RSS_NONE = 0, RSS_XOR8 = 1, RSS_TOEPLITZ = 2 };

/* Bits as in rx_hash_field_select.selected_fields. */
enum rss_field {
	RSS_SIP = 1 << 0, RSS_DIP = 1 << 1, RSS_SPORT = 1 << 2, RSS_DPORT = 1 << 3,
	RSS_SPI = 1 << 4,
};

struct rss {
	enum rss_fn fn;
	unsigned int fields;	/* enum rss_field */
	bool symmetric;		/* both directions of a flow have the same hash */
	uint8_t key[RSS_KEY_BYTES];	/* of the Toeplitz hash, in wire order */
};

struct rss_hash {
	uint32_t value;
	unsigned int fields;	/* enum rss_field: those of the selected that the frame has */
};

uint32_t rss_toeplitz(const uint8_t key[RSS_KEY_BYTES], const uint8_t *input, size_t len);
struct rss_hash rss_hash_frame(const struct rss *rss, const struct frame *f);

#endif
