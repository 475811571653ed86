/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The head of a packet: all that queues, impairments and ports look at. It is the first member of a
 * packet of InfiniBand (packet.h) and of an Ethernet frame (eth_frame.h). All packets of a fabric
 * are of one type, which the functions of struct packet_type know.
 *
 * A packet belongs to one thread at a time: to the thread of the HCA, or of the switch, that made
 * it, took it from an inbox, or holds it in a queue.
 */
#ifndef BLUEBELL_PACKET_HEAD_H
#define BLUEBELL_PACKET_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct fabric;
struct hca;

struct packet_head {
	STAILQ_ENTRY(packet_head) link;
	uint64_t release_ns;		/* impair.c: when the packet is released */
	unsigned int overtakers;	/* impair.c: packets that have yet to overtake it */
	uint8_t by;			/* port of the switch by which it came to the switch */
	uint32_t len;			/* bytes: of the payload in InfiniBand, of the frame in
					 * Ethernet */
};

STAILQ_HEAD(packet_queue, packet_head);

struct packet_type {
	/* Copy a packet, or return NULL if memory is short. */
	struct packet_head *(*copy)(struct fabric *f, const struct packet_head *h);
	void (*free)(struct fabric *f, struct packet_head *h);
	/* Whether a packet that has passed the link is to be received by the port of @hca. */
	bool (*accepts)(struct hca *hca, const struct packet_head *h);
	/* Whether impairments apply to the packet. */
	bool (*impaired)(const struct packet_head *h);
	/* Write the members of a JSON object that tell, in a trace, which packet it is. */
	void (*describe)(const struct packet_head *h, char *text, size_t len);
	/* The capture: its link type, and the most bytes of a packet in it. */
	int capture_type;
	size_t capture_max;
	/* Write a packet to @record. Returns the number of bytes. */
	size_t (*capture)(const struct packet_head *h, uint8_t *record);
	/* Write the time to @record, if it has a time of its own; or NULL. */
	void (*stamp)(uint8_t *record, uint64_t ns);
};

#endif
