/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The in-process InfiniBand fabric: one switch that joins the ports of all HCAs of
 * this process, gives out LIDs and GUIDs, and queues packets at the port they go to.
 */
#ifndef BLUEBELL_FABRIC_H
#define BLUEBELL_FABRIC_H

#include "hca.h"
#include "packet.h"

/* Identity: valid after fabric_module.init(). The LID is 0 while the link is down. */
uint16_t fabric_lid(struct hca *hca);
uint64_t fabric_guid(struct hca *hca);			/* node, system image and port GUID */
void fabric_gid(struct hca *hca, uint8_t gid[16]);	/* GID 0: link-local prefix and GUID */

bool fabric_link(struct hca *hca);
void fabric_set_link(struct hca *hca, bool up);

/* Drop @count packets that arrive at the port, after letting @skip pass. */
void fabric_inject_drop(struct hca *hca, unsigned int skip, unsigned int count);

/* Multicast: join or leave the group of @gid for a QP; -EEXIST, -ENOENT, -ENOMEM. */
int fabric_mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn);
int fabric_mcast_detach(struct hca *hca, const uint8_t gid[16], uint32_t qpn);
void fabric_mcast_forget(struct hca *hca, uint32_t qpn);

/*
 * For the transport. fabric_tx() takes the packet over; it never calls back into the transport
 * but for wake(), which must only note that there is work. fabric_rx() gives the oldest packet.
 */
void fabric_set_wake(struct hca *hca, void (*wake)(struct hca *hca));
void fabric_tx(struct hca *hca, struct packet *p);
struct packet *fabric_rx(struct hca *hca);
bool fabric_rx_pending(struct hca *hca);
/* Link-level flow control: false while the port that owns @dlid has its queue full. */
bool fabric_can_tx(struct hca *hca, uint16_t dlid);
/* Calls @fn for each QP attached to the multicast group. */
void fabric_mcast_each(struct hca *hca, const uint8_t gid[16],
		       void (*fn)(struct hca *hca, uint32_t qpn, void *arg), void *arg);

#endif
