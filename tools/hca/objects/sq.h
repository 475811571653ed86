/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queues that belong to no queue pair: their context, and doorbells to them. With a TIS they
 * send frames, without one they execute NOPs only.
 */
#ifndef BLUEBELL_SQ_H
#define BLUEBELL_SQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"
#include "object.h"
#include "queue_mem.h"

struct hca;
struct hca_module;
struct nic_sq;		/* defined by the NIC */

enum sq_state { SQ_RST = 0, SQ_RDY = 1, SQ_ERR = 3 };

/* Which headers of a frame have to be in the WQE, as MLX5_INLINE_MODE_* in mlx5_ifc.h. */
enum sq_inline_mode { INLINE_NONE = 0, INLINE_L2 = 1, INLINE_IP = 2, INLINE_TCP_UDP = 3 };

struct sq {
	struct obj obj;		/* obj.num is the SQN */
	enum sq_state state;
	uint32_t uar, cqn;	/* references */
	uint32_t pdn;		/* a reference; 0: none, see sq_check_pd() */
	uint32_t tisn;		/* a reference; 0: none, the queue sends no frames */
	uint32_t user_index;
	bool rlky;		/* WQEs may name the reserved lkey */
	bool flush_in_error;	/* posted WQEs complete with an error in ERR */
	bool real_time;		/* time stamps of CQEs are seconds and nanoseconds */
	uint8_t inline_mode;	/* enum sq_inline_mode */
	unsigned int log_size;	/* WQEBBs */
	struct queue_mem mem;
	struct doorbell_record dbr;	/* be32 at DBR_SND: WQEBBs that are posted */
	uint16_t hw;		/* WQEBB counter: next to execute */
	uint8_t sqc[IFC_SZ(sqc)];	/* as given, for QUERY_SQ */
	struct nic_sq *nic;	/* the NIC's; NULL until it makes it */
};

struct sq *sq_find(struct hca *hca, uint32_t sqn);
void sq_set_state(struct hca *hca, struct sq *sq, enum sq_state now);
void sq_fail(struct hca *hca, struct sq *sq);

extern const struct hca_module sq_module;
extern const struct cmd_desc sq_cmds[];

#endif
