/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subnet management agent of the HCA's port, in its firmware.
 */
#ifndef BLUEBELL_SMA_H
#define BLUEBELL_SMA_H

#include <stdbool.h>
#include <stdint.h>

struct hca;
struct packet;

enum sma_verdict {
	SMA_REPLY,		/* the answer is to be sent */
	SMA_SILENT,		/* the request has no answer */
	SMA_NO_AGENT,		/* the MAD is of another class, or a response */
	SMA_BAD_M_KEY,		/* the request is dropped, because its M_Key is wrong */
};

enum sma_verdict sma_answer(struct hca *hca, const uint8_t *in, uint8_t *out, bool any_m_key);
bool sma_read(struct hca *hca, const uint8_t *in, uint8_t *out);
void sma_receive(struct hca *hca, const struct packet *p);

#endif
