/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow counters: packets and octets of the frames that took entries which name the counter.
 */
#ifndef BLUEBELL_FLOW_COUNTER_H
#define BLUEBELL_FLOW_COUNTER_H

#include <stdint.h>

#include "cmd.h"
#include "object.h"

struct flow_counter {
	struct obj obj;		/* obj.num is the counter's id */
	uint32_t first;		/* id of the first counter of its bulk */
	uint32_t bulk;		/* counters of its bulk; 1: it was allocated alone */
	uint64_t packets, octets;
};

struct hca;

void flow_counter_add(struct hca *hca, uint32_t id, uint64_t octets);

extern const struct cmd_desc flow_counter_cmds[];

#endif
