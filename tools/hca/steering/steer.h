/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering: what rules do with a frame, and which TIRs receive it.
 */
#ifndef BLUEBELL_STEER_H
#define BLUEBELL_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"

struct frame;
struct hca;

#define STEER_COPIES	64	/* most copies of a frame that rules can make */

enum steer_verdict {
	STEER_DELIVER,		/* to @copies TIRs */
	STEER_DROP,		/* a rule drops the frame */
	/*
	 * No rule matches in the last table, or a rule allows the frame, or there is no root: the
	 * NIC drops a frame that it has received, all others go on.
	 */
	STEER_MISS,
};

struct steer_result {
	enum steer_verdict verdict;
	unsigned int tables;	/* that the frame has passed */
	uint32_t table;		/* the last one; 0: there is no root */
	unsigned int copies;
	struct {
		uint32_t tirn;
		uint32_t flow_tag;	/* of the rule, for the CQE */
	} copy[STEER_COPIES];
};

void steer(struct hca *hca, enum flow_type type, const struct frame *f, struct steer_result *r);
bool steer_drops(struct hca *hca, enum flow_type type, const uint8_t *data, size_t len);

#endif
