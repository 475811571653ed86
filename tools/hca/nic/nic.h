/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The NIC: executes the WQEs of send queues, and delivers frames to receive queues that belong to
 * no queue pair.
 */
#ifndef BLUEBELL_NIC_H
#define BLUEBELL_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hca;
struct hca_module;
struct nic_ops;

bool nic_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len);
bool nic_lost_cqe(struct hca *hca, uint32_t num);

extern const struct hca_module nic_module;
extern const struct nic_ops nic_ops;

#endif
