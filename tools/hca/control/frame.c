// SPDX-License-Identifier: GPL-2.0
/*
 * The request "inject frame": a frame of any bytes that arrives at an Ethernet port.
 */
#include <ctype.h>
#include <json-c/json.h>
#include <string.h>

#include "answer.h"
#include "eth_frame.h"
#include "eth_port.h"
#include "hca.h"
#include "request.h"

#define FRAME_BYTES	2048	/* a request has 4096 characters at most */

static unsigned int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Returns the number of bytes; 0 if the text is no frame. */
static size_t frame_parse_hex(const char *text, uint8_t frame[FRAME_BYTES])
{
	size_t n = strlen(text), i;

	if (n % 2 || n / 2 < ETH_FRAME_MIN || n / 2 > FRAME_BYTES)
		return 0;
	for (i = 0; i < n; i++)
		if (!isxdigit((unsigned char)text[i]))
			return 0;
	for (i = 0; i < n / 2; i++)
		frame[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]);
	return n / 2;
}

/**
 * request_inject_frame() - the request "inject frame"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_inject_frame(struct hca *hca, unsigned int n, char **w)
{
	uint8_t frame[FRAME_BYTES];
	size_t len = n == 3 ? frame_parse_hex(w[2], frame) : 0;

	if (!hca->eth)
		return answer_fail("the port is an InfiniBand port");
	if (!len)
		return answer_fail("usage: inject frame HEX, %u to %u bytes of two digits each",
				   ETH_FRAME_MIN, FRAME_BYTES);
	return eth_inject(hca, frame, len) ? answer_fail("the link is down") : answer_ok();
}
