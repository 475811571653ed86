/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes to memory keys: by UMR work requests in a send queue, and by SENDs with invalidate.
 */
#ifndef BLUEBELL_UMR_H
#define BLUEBELL_UMR_H

#include "cq.h"
#include "qp.h"
#include "wqe.h"

enum cqe_error umr_execute(struct hca *hca, const struct qp *qp, const struct send_wqe *w);
bool umr_invalidate(struct hca *hca, const struct qp *qp, uint32_t rkey);

#endif
