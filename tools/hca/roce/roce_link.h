/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE as the link layer of the transport.
 */
#ifndef BLUEBELL_ROCE_LINK_H
#define BLUEBELL_ROCE_LINK_H

#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;
struct link_ops;

/* What is counted of congestion. */
struct cnp_counts {
	uint64_t marked;		/* packets that came with the mark */
	uint64_t sent;			/* CNPs */
	uint64_t handled, ignored;	/* CNPs that came */
};

void roce_set_ecn(struct hca *hca, uint32_t ppm);
struct cnp_counts roce_congestion(const struct hca *hca);

extern const struct link_ops roce_link;
extern const struct hca_module roce_module;
extern const struct cmd_desc roce_cnp_cmds[];

#endif
