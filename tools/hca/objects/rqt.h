/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RQTs (receive queue tables): the receive queues that an indirect TIR spreads frames over.
 */
#ifndef BLUEBELL_RQT_H
#define BLUEBELL_RQT_H

#include "cmd.h"
#include "object.h"

struct hca;
struct hca_module;

struct rqt {
	struct obj obj;		/* obj.num is the RQTN */
	uint32_t max;		/* entries that MODIFY_RQT can make */
	uint32_t actual;	/* entries, a power of two */
	uint32_t *rqn;		/* the entries; a reference to a receive queue each */
};

struct rqt *rqt_find(struct hca *hca, uint32_t rqtn);

extern const struct hca_module rqt_module;
extern const struct cmd_desc rqt_cmds[];

#endif
