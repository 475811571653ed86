/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event queues for rigs: each event that the HCA posts is read from the queue at once, by way of
 * the interrupt that it raises, and given to a function.
 */
#ifndef BLUEBELL_TESTS_EVRIG_H
#define BLUEBELL_TESTS_EVRIG_H

#include <stdint.h>

struct eq;
struct hca;

typedef void (*evrig_fn)(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype,
			 const uint8_t *data);

/* An EQ of 64 entries at guest address @iova, one page, that subscribes to @events (types 0-63). */
struct eq *evrig_eq(struct hca *hca, uint64_t iova, uint64_t events);
void evrig_set_handler(evrig_fn fn);

extern const struct irq_ops evrig_irq_ops;

#endif
