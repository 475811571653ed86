/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sending: executes the WQEs of a send queue.
 */
#ifndef BLUEBELL_NIC_SEND_H
#define BLUEBELL_NIC_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hca;
struct nic_sq;

bool nic_send_run(struct hca *hca, struct nic_sq *n, const uint8_t *bf, size_t bf_len,
		  unsigned int *budget);
void nic_send_flush(struct hca *hca, struct nic_sq *n);
void nic_send_clear(struct hca *hca, struct nic_sq *n);

#endif
