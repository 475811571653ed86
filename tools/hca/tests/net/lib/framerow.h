/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of the tables that tests/net/gen-frames.py prints.
 */
#ifndef BLUEBELL_TESTS_FRAMEROW_H
#define BLUEBELL_TESTS_FRAMEROW_H

#include "frame.h"

#define MAX_SEGMENTS	8

/* scapy_frames.h: a frame and what its headers say. */
struct frame_row {
	const char *name;
	size_t len;
	const uint8_t *bytes;
	uint16_t sum;		/* of the IP packet */
	struct frame f;		/* without the pointer to the frame and its length */
};

/* scapy_segments.h: a large send, and the frames that it becomes. */
struct segment_row {
	const char *name;
	size_t template_len;
	const uint8_t *template;
	size_t payload, mss;
	unsigned int segments;
	struct {
		size_t len;
		const uint8_t *bytes;
	} segment[MAX_SEGMENTS];
};

/* scapy_tags.h: a tag, a frame without and the same frame with this tag. */
struct tag_row {
	const char *name;
	struct frame_tag tag;
	size_t plain_len;
	const uint8_t *plain;
	size_t tagged_len;
	const uint8_t *tagged;
};

/* scapy_roce.h: a RoCE packet with a right ICRC. */
struct roce_row {
	const char *name;
	size_t len;
	const uint8_t *bytes;
};

#endif
