/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TISes (transport interface send): the transport domain and the priority of the send queues that
 * name them.
 */
#ifndef BLUEBELL_TIS_H
#define BLUEBELL_TIS_H

#include "cmd.h"
#include "object.h"

struct hca;
struct hca_module;

struct tis {
	struct obj obj;		/* obj.num is the TISN */
	uint32_t tdn;		/* transport domain; a reference */
	uint8_t prio;		/* priority of the traffic class, in the upper three of four bits */
};

struct tis *tis_find(struct hca *hca, uint32_t tisn);

extern const struct hca_module tis_module;
extern const struct cmd_desc tis_cmds[];

#endif
