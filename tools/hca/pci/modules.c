// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells and lost CQEs, which can be of a queue pair or of a queue without a queue pair: both
 * share one space of numbers.
 */
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "modules.h"
#include "nic.h"
#include "qp.h"

static void send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len)
{
	if (!nic_send_doorbell(hca, uar, bf, len))
		qp_send_doorbell(hca, uar, bf, len);
}

const struct doorbell_ops hca_doorbells = {
	.send = send_doorbell, .cq_arm = cq_arm_doorbell, .eq = eq_doorbell,
};

/**
 * hca_cqe_lost() - fail a queue of which a CQE could not be written
 * @hca: the HCA
 * @num: number of the queue
 */
void hca_cqe_lost(struct hca *hca, uint32_t num)
{
	if (!nic_lost_cqe(hca, num))
		qp_lost_cqe(hca, num);
}
