// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of frames of RoCE. What is read from a frame has to be in the frame that is made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "csum.h"
#include "frame.h"
#include "fuzzrig.h"
#include "icrc.h"
#include "roce_frame.h"
#include "roce_packet.h"

static struct packet packet, again;

/* Make the frame of the packet, and read it again. */
static void check_packet(const struct frame *f)
{
	size_t len = roce_frame_len(&packet);
	const char *why = NULL;
	struct frame made;
	uint8_t *bytes;

	must(len <= FRAME_MAX && packet.head.len <= PKT_MTU_MAX);
	must(len <= (f->len < FRAME_MIN ? FRAME_MIN : f->len));
	bytes = malloc(len);
	must(bytes);
	roce_frame_make(&packet, bytes, len);
	must(frame_parse(&made, bytes, len, LENGTHS_OF_FRAME));
	must(roce_frame_version(&made) == roce_frame_version(f));
	memset(&again, 0, sizeof(again));
	must(roce_frame_read(&made, &again, &why) == ROCE_DROPS);
	/* The checksum of IP may have been 0xffff in place of 0. */
	if (roce_hdr(&packet)->kind == ROCE_IP4)
		memcpy(roce_hdr(&again)->net + 10, roce_hdr(&packet)->net + 10, 2);
	must(!memcmp(&packet, &again, sizeof(packet)));
	free(bytes);
}

/* The checksum and the ICRC are put right if the first byte of the input is odd. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL;
	bool fill = size && data[0] & 1;
	uint8_t *bytes;
	struct frame f;

	if (size < 2)
		return 0;
	bytes = malloc(size - 1);
	must(bytes);
	memcpy(bytes, data + 1, size - 1);
	if (frame_parse(&f, bytes, size - 1, LENGTHS_OF_FRAME) && roce_frame_version(&f)) {
		if (fill) {
			csum_fill_ip(bytes, &f);
			icrc_fill(bytes, &f);
		}
		memset(&packet, 0, sizeof(packet));
		if (roce_frame_read(&f, &packet, &why) == ROCE_DROPS)
			check_packet(&f);
	}
	free(bytes);
	return 0;
}
