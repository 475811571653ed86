/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ethernet frames as the fabric carries them: a head, and the bytes from the destination address up
 * to the frame check sequence, which no frame has: a frame that impairments corrupt is dropped and
 * counted where its check sequence would be compared.
 *
 * The copies of a frame share its bytes. Only the maker of a frame writes the bytes, before it
 * sends the frame.
 */
#ifndef BLUEBELL_ETH_FRAME_H
#define BLUEBELL_ETH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "packet_head.h"

#define ETH_FRAME_MIN	14	/* bytes: the two addresses and the EtherType */
#define ETH_FRAME_PADDED 60	/* bytes: senders pad shorter frames to this length */
#define ETH_FRAME_MAX	10240	/* bytes */
#define ETH_FCS_BYTES	4	/* bytes of the frame check sequence, which octet counters count */

struct eth_bytes;

struct eth_frame {
	struct packet_head head;	/* first; its length is that of the frame */
	struct eth_bytes *bytes;
	bool waited;		/* its sender has waited for room at the receiver: not dropped */
};

/* The frame that a head belongs to; NULL if @h is NULL. */
static inline struct eth_frame *eth_frame_of(const struct packet_head *h)
{
	return (struct eth_frame *)h;
}

struct eth_frame *eth_frame_alloc(uint32_t len);
struct eth_frame *eth_frame_copy(const struct eth_frame *fr);
void eth_frame_free(struct eth_frame *fr);
uint8_t *eth_frame_data(const struct eth_frame *fr);

#endif
