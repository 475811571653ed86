/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of rates to which the packets of send queues can be limited.
 */
#ifndef BLUEBELL_PACING_H
#define BLUEBELL_PACING_H

#include "cmd.h"
#include "ifc.h"
#include "object.h"

struct hca_module;

/* An entry of the table, to which the send queues that name it have references. */
struct rate {
	struct obj obj;		/* obj.num is the index */
	uint8_t ctx[IFC_SZ(set_pp_rate_limit_context)];
};

extern const struct hca_module pacing_module;
extern const struct cmd_desc pacing_cmds[];

#endif
