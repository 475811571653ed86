// SPDX-License-Identifier: GPL-2.0
/*
 * VLAN tags.
 */
#include <string.h>

#include "bytes.h"
#include "vlan.h"

/**
 * vlan_insert() - put a tag in front of the tags of a frame
 * @data: the frame, with room for TAG_BYTES behind it
 * @len: bytes of the frame, from ETH_BYTES
 * @tag: the tag
 *
 * Return: bytes of the frame with the tag.
 */
size_t vlan_insert(uint8_t *data, size_t len, const struct frame_tag *tag)
{
	uint8_t *at = data + 2 * MAC_BYTES;

	memmove(at + TAG_BYTES, at, len - 2 * MAC_BYTES);
	put_be16(at, tag->type);
	put_be16(at + 2, tag->tci);
	return len + TAG_BYTES;
}

/**
 * vlan_strip() - take the outermost tag off a frame
 * @data: a frame with a tag
 *
 * Return: where the frame begins now, TAG_BYTES behind @data.
 */
uint8_t *vlan_strip(uint8_t *data)
{
	memmove(data + TAG_BYTES, data, 2 * MAC_BYTES);
	return data + TAG_BYTES;
}
