/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of the tables in scapy_frames.h, which tests/net/gen-frames.py prints.
 */
#ifndef BLUEBELL_TESTS_FRAMEROW_H
#define BLUEBELL_TESTS_FRAMEROW_H

#include "frame.h"

/* A frame and what its headers say. */
struct frame_row {
	const char *name;
	size_t len;
	const uint8_t *bytes;
	uint16_t sum;		/* of the IP packet */
	struct frame f;		/* without the pointer to the frame and its length */
};

#endif
