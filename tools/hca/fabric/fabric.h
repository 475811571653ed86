/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The in-process InfiniBand fabric: one switch that joins the ports of all HCAs of this process.
 * It gives out LIDs and GUIDs, and queues packets at the port that they go to.
 */
#ifndef BLUEBELL_FABRIC_H
#define BLUEBELL_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct hca;
struct hca_module;
struct packet;

struct fabric *fabric_new(void);
void fabric_free(struct fabric *f);

/* Identity of an HCA's port. */
uint16_t fabric_lid(struct hca *hca);
uint64_t fabric_guid(struct hca *hca);
bool fabric_set_lid(struct hca *hca, uint16_t lid);

bool fabric_link(struct hca *hca);
void fabric_set_link(struct hca *hca, bool up);
void fabric_inject_drop(struct hca *hca, unsigned int skip, unsigned int count);

/* For the transport. */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca));
void fabric_tx(struct hca *hca, struct packet *p);
struct packet *fabric_rx(struct hca *hca);
bool fabric_rx_pending(struct hca *hca);
bool fabric_can_tx(struct hca *hca, uint16_t dlid, const uint8_t *dgid);

extern const struct hca_module fabric_module;

#endif
