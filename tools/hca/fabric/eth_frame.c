// SPDX-License-Identifier: GPL-2.0
/*
 * Ethernet frames, and the bytes that copies of a frame share.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "eth_frame.h"

struct eth_bytes {
	atomic_uint refs;	/* frames with these bytes */
	uint8_t data[];
};

static struct eth_frame *eth_frame_with(struct eth_bytes *bytes, uint32_t len)
{
	struct eth_frame *fr = calloc(1, sizeof(*fr));

	if (!fr)
		return NULL;
	fr->head.len = len;
	fr->bytes = bytes;
	return fr;
}

/**
 * eth_frame_alloc() - make a frame
 * @len: its length without the frame check sequence, ETH_FRAME_MIN to ETH_FRAME_MAX bytes
 *
 * May be called by any thread.
 *
 * Return: the frame, whose bytes are not set; or NULL if memory is short.
 */
struct eth_frame *eth_frame_alloc(uint32_t len)
{
	struct eth_bytes *bytes = malloc(sizeof(*bytes) + len);
	struct eth_frame *fr;

	if (!bytes)
		return NULL;
	atomic_init(&bytes->refs, 1);
	fr = eth_frame_with(bytes, len);
	if (!fr)
		free(bytes);
	return fr;
}

/**
 * eth_frame_copy() - copy a frame, whose bytes may not change from now on
 * @fr: the frame
 *
 * Return: a frame with the same bytes, not with a copy of them; or NULL if memory is short.
 */
struct eth_frame *eth_frame_copy(const struct eth_frame *fr)
{
	struct eth_frame *copy = eth_frame_with(fr->bytes, fr->head.len);

	if (copy)
		atomic_fetch_add(&fr->bytes->refs, 1);
	return copy;
}

/**
 * eth_frame_free() - free a frame, and its bytes if no copy has them
 * @fr: the frame
 *
 * May be called by any thread.
 */
void eth_frame_free(struct eth_frame *fr)
{
	if (atomic_fetch_sub(&fr->bytes->refs, 1) == 1)
		free(fr->bytes);
	free(fr);
}

/**
 * eth_frame_data() - the bytes of a frame
 * @fr: the frame
 *
 * Return: its bytes, from the destination address.
 */
uint8_t *eth_frame_data(const struct eth_frame *fr)
{
	return fr->bytes->data;
}
