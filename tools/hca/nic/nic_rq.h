/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive WQEs that complete with an error.
 */
#ifndef BLUEBELL_NIC_RQ_H
#define BLUEBELL_NIC_RQ_H

#include <stdint.h>

#include "cqe_error.h"

struct hca;
struct nic_rq;
struct rq;

void nic_rq_refuse(struct hca *hca, struct rq *rq, uint16_t index, enum cqe_error error);
void nic_rq_flush(struct hca *hca, struct nic_rq *n);

#endif
