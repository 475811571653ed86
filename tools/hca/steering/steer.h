/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering: which TIRs receive a frame.
 */
#ifndef BLUEBELL_STEER_H
#define BLUEBELL_STEER_H

#include <stdint.h>

struct frame;
struct hca;

#define STEER_COPIES	64	/* most copies of a frame that rules can make */

enum steer_verdict {
	STEER_DELIVER,		/* to @copies TIRs */
	STEER_DROP,		/* a rule drops the frame */
	STEER_MISS,		/* no rule matches in the last table, or there is no root: drop */
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

void steer_rx(struct hca *hca, const struct frame *f, struct steer_result *r);

#endif
