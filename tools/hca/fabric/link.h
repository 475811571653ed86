/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link layer as the transport sees it. The transport makes packets of queue pairs and knows
 * nothing of the addresses that they travel by: a link layer puts those into a packet, compares
 * them when a packet arrives, and carries the packet. The board of an HCA names the one that its
 * port has.
 *
 * All functions are called by the thread of the HCA.
 */
#ifndef BLUEBELL_LINK_H
#define BLUEBELL_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "cq.h"
#include "hca.h"
#include "packet.h"
#include "qp.h"

#define NETWORK_HEADER_BYTES	40	/* what a datagram's receive buffer has before the payload */

struct link_ops {
	/* ---- sending ---- */

	/* The longest payload of a packet that the port sends, in bytes. */
	uint16_t (*mtu)(struct hca *hca);
	/* Whether the source address that @path names exists. */
	bool (*has_source)(struct hca *hca, const struct qp_path *path);
	/* Address a packet of @qp: from the port by @path. Sets the P_Key of @qp's partition, too. */
	void (*address)(struct hca *hca, const struct qp *qp, const struct qp_path *path,
			struct packet *p);
	/*
	 * Whether there is room for a packet by @path. If not, the function that set_wake() named
	 * is called when there may be.
	 */
	bool (*room)(struct hca *hca, const struct qp_path *path);
	/* Send a packet, which the link layer owns from here. It may be lost without a word. */
	void (*send)(struct hca *hca, struct packet *p);

	/* ---- receiving ---- */

	/* Take the oldest packet that has arrived, which the caller frees; NULL if there is none. */
	struct packet *(*receive)(struct hca *hca);
	/* Whether a packet waits to be received. */
	bool (*pending)(struct hca *hca);
	/* Whether so many wait that other ports cannot send to this one. */
	bool (*full)(struct hca *hca);
	/* Name the function that is called when a packet arrives or there is room; or NULL. */
	void (*set_wake)(struct hca *hca, void (*wake)(struct hca *hca));
	/*
	 * Give a packet to the management agent of the port itself. Returns false if the packet is
	 * not for the agent.
	 */
	bool (*manage)(struct hca *hca, const struct packet *p);

	/* ---- addresses of a packet that has arrived ---- */

	/* The GID of the multicast group that it was sent to, or NULL. */
	const uint8_t *(*group)(const struct packet *p);
	/* Why @qp does not accept packets from its sender, or NULL. */
	const char *(*wrong_source)(const struct qp *qp, const struct packet *p);
	/* Why it is not for @qp, by its addresses and its P_Key; or NULL. */
	const char *(*wrong_destination)(struct hca *hca, const struct qp *qp,
					 const struct packet *p);
	/* Make the header that the receiver of a datagram is given. Returns false without one. */
	bool (*network_header)(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES]);
	/* Put into a CQE what it tells of the sender's address. */
	void (*to_cqe)(const struct packet *p, struct completion *c);
};

/* The link layer of an HCA's port. */
static inline const struct link_ops *link_of(const struct hca *hca)
{
	return hca->board->link;
}

#endif
