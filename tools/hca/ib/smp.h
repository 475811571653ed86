/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The directed routes of subnet management packets.
 */
#ifndef BLUEBELL_SMP_H
#define BLUEBELL_SMP_H

#include <stdbool.h>
#include <stdint.h>

/* A node that a packet is at. */
struct smp_node {
	bool is_switch;
	uint8_t ports;
	uint16_t lid;
};

/* Where the packet goes next. */
enum smp_way {
	SMP_DISCARD,
	SMP_HERE,	/* to the node's own agent or manager */
	SMP_BY_PORT,	/* by the port that was chosen */
	SMP_BY_LID,	/* by the LID that was chosen */
};

enum smp_way smp_arrive(const struct smp_node *n, unsigned int by, uint8_t *mad, uint16_t *to);
enum smp_way smp_return(const struct smp_node *n, uint8_t *mad, uint16_t *to);

#endif
