/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link layer as the transport sees it. The transport makes the packets of queue pairs and does
 * not know by which addresses they travel. The link layer puts the addresses into a packet, carries
 * the packet, and compares the addresses when the packet arrives. The board of an HCA names the
 * link layer of its port.
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

struct wqe_av;

#define NETWORK_HEADER_BYTES	40	/* before the payload in a datagram's receive buffer */

struct link_ops {
	/* ---- sending ---- */

	/* The longest payload of a packet that the port sends, in bytes. */
	uint16_t (*mtu)(struct hca *hca);
	/*
	 * Why the address vector @av of a datagram is not valid, with the reason for the trace in
	 * *@why; or ERR_NONE.
	 */
	enum cqe_error (*check_av)(struct hca *hca, const struct wqe_av *av, const char **why);
	/*
	 * Put the addresses of the port and of @path, and the P_Key of @qp, into a packet of @qp.
	 */
	void (*address)(struct hca *hca, const struct qp *qp, const struct qp_path *path,
			struct packet *p);
	/*
	 * Whether there is room for a packet by @path. If there is none, the link layer calls the
	 * function of set_wake() when there is room again.
	 */
	bool (*room)(struct hca *hca, const struct qp_path *path);
	/* Send a packet, which the link layer owns from here, and may lose. */
	void (*send)(struct hca *hca, struct packet *p);

	/* ---- receiving ---- */

	/* Take the oldest packet that has arrived, or NULL. The caller frees the packet. */
	struct packet *(*receive)(struct hca *hca);
	/* Whether a packet waits to be received. */
	bool (*pending)(struct hca *hca);
	/* Whether so many packets wait that other ports cannot send to this port. */
	bool (*full)(struct hca *hca);
	/* Set the function, or NULL, to call when a packet arrives or there is room again. */
	void (*set_wake)(struct hca *hca, void (*wake)(struct hca *hca));
	/*
	 * Give a packet to QP0 to the management agent of the port itself. Returns false if the
	 * packet is not for the agent.
	 */
	bool (*manage)(struct hca *hca, const struct packet *p);

	/* ---- addresses of a packet that has arrived ---- */

	/* The GID of the multicast group that the packet was sent to, or NULL. */
	const uint8_t *(*group)(const struct packet *p);
	/* Why @qp does not accept packets from this sender, or NULL. */
	const char *(*wrong_source)(const struct qp *qp, const struct packet *p);
	/* Why the packet is not for @qp, by its addresses and its P_Key; or NULL. */
	const char *(*wrong_destination)(struct hca *hca, const struct qp *qp,
					 const struct packet *p);
	/*
	 * Make the network header for a datagram's receive buffer. Returns false if the packet has
	 * no network header (in InfiniBand, no GRH).
	 */
	bool (*network_header)(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES]);
	/*
	 * Set the address of @path to where the packet came from; and what else a connection by
	 * which the packet is answered takes from the packet.
	 */
	void (*reply)(struct hca *hca, const struct packet *p, struct qp_path *path);
	/* Set the fields of a CQE that show the addresses. */
	void (*to_cqe)(struct hca *hca, const struct packet *p, struct completion *c);
};

/* The link layer of an HCA's port. */
static inline const struct link_ops *link_of(const struct hca *hca)
{
	return hca->board->link;
}

#endif
