/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segmentation of a large send: frames that have the headers of a template and the next bytes of
 * the payload. The caller puts the payload behind the header that segment_next() has written, and
 * then calls segment_seal().
 */
#ifndef BLUEBELL_SEGMENT_H
#define BLUEBELL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

struct segmenter {
	struct frame f;		/* the template: Ethernet header to TCP or UDP header */
	size_t mss;		/* bytes of payload in each segment but the last */
	size_t payload;		/* bytes of payload in all */
	size_t done;		/* bytes of payload in the segments so far */
	unsigned int segments;	/* so far */
};

const char *segment_start(struct segmenter *s, const void *header, size_t len, size_t payload,
			  size_t mss);
size_t segment_len(const struct segmenter *s);
size_t segment_next(struct segmenter *s, uint8_t *frame);
void segment_seal(const struct segmenter *s, uint8_t *frame, size_t len, bool ip, bool l4);

/* All of the payload has been taken. */
static inline bool segment_done(const struct segmenter *s)
{
	return s->done == s->payload;
}

#endif
