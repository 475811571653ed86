/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A capture of the fabric: a pcap file of packets, which Wireshark reads.
 */
#ifndef BLUEBELL_CAPTURE_H
#define BLUEBELL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct packet_head;
struct packet_type;

int capture_open(const char *path, uint64_t limit, const struct packet_type *type,
		 struct capture **out);
void capture_close(struct capture *c);
void capture_pause(struct capture *c, bool pause);
int capture_error(const struct capture *c);
void capture_packet(struct capture *c, const struct packet_head *h);

#endif
