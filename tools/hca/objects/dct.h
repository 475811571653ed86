/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DC targets (DCT): what initiators of the DC service (QPs of type DCI) connect to. A target has no
 * queue of its own: it receives by a shared receive queue.
 */
#ifndef BLUEBELL_DCT_H
#define BLUEBELL_DCT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"
#include "object.h"
#include "qp.h"

struct hca_module;

#define DCTC_BYTES 64		/* struct mlx5_ifc_dctc_bits; asserted in dct.c */

/* dctc.state, as MLX5_DCTC_STATE_* in mlx5_ifc.h. */
enum dct_state { DCT_ACTIVE = 0, DCT_DRAINING = 1, DCT_DRAINED = 2 };

struct dct {
	struct obj obj;			/* obj.num is the DCTN, in the space of QP numbers */
	enum dct_state state;
	uint64_t access_key;
	bool armed;			/* the next wrong access key raises an event */
	uint32_t violations;		/* wrong access keys since CREATE_DCT */
	unsigned int connections;	/* the transport's: initiators that are connected */
	uint64_t drain_ns;		/* when DRAINING began */
	/*
	 * What the responder of each connection starts from: a queue pair of type DCT without a
	 * send queue, whose address and peer the transport fills in.
	 */
	struct qp model;
	uint8_t dctc[DCTC_BYTES];	/* as CREATE_DCT gave it */
};

struct dct *dct_find(struct hca *hca, uint32_t dctn);
void dct_violation(struct hca *hca, struct dct *dct);
void dct_drained(struct hca *hca, struct dct *dct);

extern const struct hca_module dct_module;
extern const struct cmd_desc dct_cmds[];

#endif
