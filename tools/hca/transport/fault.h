/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page faults: work that met a page which the translation table says is not present. The queue
 * waits, software is told by an event, and PAGE_FAULT_RESUME lets the queue go on.
 */
#ifndef BLUEBELL_FAULT_H
#define BLUEBELL_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;
struct qp;

/*
 * Which access met the absent page: three bits, in the event and in PAGE_FAULT_RESUME. For a WQE
 * they are MLX5_WQE_PF_TYPE_*; for a remote key, the flags requestor 1, write 2, rdma 4.
 */
enum fault_type {
	FAULT_SRQ = 0, FAULT_SEND = 1, FAULT_RECV = 2, FAULT_READ = 3, FAULT_REMOTE_READ = 4,
	FAULT_REMOTE_WRITE = 6,
};

/*
 * The operation of the access. Operation n has bit n of struct
 * mlx5_ifc_odp_per_transport_service_cap_bits, counted from the most significant bit.
 */
enum fault_op {
	ODP_SEND, ODP_RECEIVE, ODP_WRITE, ODP_READ, ODP_ATOMIC, ODP_SRQ_RECEIVE,
};

struct page_fault {
	enum fault_type type;
	enum fault_op op;
	uint32_t done;		/* bytes of the message that were transferred */
	uint16_t packet_len;
	uint32_t wq;		/* of a WQE: QPN or SRQN */
	uint16_t wqe_index;
	uint32_t rkey, op_len;	/* of a remote key: the key, and bytes of the whole operation */
	uint64_t va;
	/* Called at PAGE_FAULT_RESUME; @ok: the page is present now, else the access fails. */
	void (*resume)(struct hca *hca, struct qp *qp, bool ok);
};

uint32_t fault_raise(struct hca *hca, struct qp *qp, const struct page_fault *f);
void fault_cancel(struct hca *hca, uint32_t token);
void fault_forget_qp(struct hca *hca, const struct qp *qp);

extern const struct hca_module fault_module;
extern const struct cmd_desc fault_cmds[];

#endif
