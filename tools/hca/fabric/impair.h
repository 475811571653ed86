/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Impairments of the link to an HCA's port: packets that arrive are lost, duplicated, reordered,
 * corrupted or delayed, each with a probability, as a seed determines.
 */
#ifndef BLUEBELL_IMPAIR_H
#define BLUEBELL_IMPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hca;
struct impair;
struct packet_head;
struct packet_type;

#define IMPAIR_ALWAYS	1000000u	/* the probability 1 */
#define IMPAIR_OVERTAKE	8		/* packets that overtake a reordered one, at most */

enum impairment {
	IMPAIR_LOSS, IMPAIR_DUP, IMPAIR_REORDER, IMPAIR_CORRUPT, IMPAIR_DELAY, IMPAIRMENTS
};

struct impair_settings {
	uint32_t ppm[IMPAIRMENTS];	/* probabilities, in millionths */
	unsigned int delay_ms;		/* the longest delay */
	uint64_t seed;
};

struct impair_counts {
	uint64_t packets;		/* packets that could have been impaired */
	uint64_t n[IMPAIRMENTS];	/* packets that were impaired, by impairment */
	unsigned int held;		/* packets held back at present */
};

extern const char *const impair_names[IMPAIRMENTS];

bool impair_parse(const char *text, struct impair_settings *s, char *why, size_t len);

/* @arrive is given each packet that reaches the port, and owns the packet from there. */
struct impair *impair_new(struct hca *hca, const struct packet_type *type,
			  void (*arrive)(struct hca *hca, struct packet_head *p));
void impair_free(struct impair *im);
int impair_start(struct impair *im, const struct impair_settings *s);
void impair_stop(struct impair *im);
void impair_drain(struct impair *im);
void impair_packet(struct impair *im, struct packet_head *p);
unsigned int impair_held(const struct impair *im);
const struct impair_settings *impair_settings(const struct impair *im);
struct impair_counts impair_counts(const struct impair *im);

#endif
