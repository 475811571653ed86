/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receiving: delivers frames to receive queues.
 */
#ifndef BLUEBELL_NIC_RECEIVE_H
#define BLUEBELL_NIC_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eth_frame;
struct hca;

void nic_receive(struct hca *hca, const uint8_t *data, size_t len);
void nic_sniff(struct hca *hca, const struct eth_frame *fr, bool sent);

#endif
