// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues for rigs: armed at all times, and emptied by the interrupt handler.
 */
#include <stdlib.h>

#include "eq.h"
#include "evrig.h"
#include "hca.h"
#include "object.h"
#include "objrig.h"
#include "queue_mem.h"

#define LOG_EQES	6

static evrig_fn handler;

struct eq *evrig_eq(struct hca *hca, uint64_t iova, uint64_t events)
{
	struct eq *eq = (struct eq *)obj_new(hca, OBJ_EQ, 0, sizeof(*eq));

	if (!eq)
		abort();
	eq->intr = eq->obj.num;
	eq->log_size = LOG_EQES;
	eq->mem = (struct queue_mem){ .npages = 1, .log_page = 12, .len = 4096 };
	eq->mem.pas = calloc(1, sizeof(uint64_t));
	eq->mem.pas[0] = iova;
	eq->events[0] = events;
	eq->armed = true;
	return eq;
}

void evrig_set_handler(evrig_fn fn)
{
	handler = fn;
}

/* Each EQ of the rig has its own number as its interrupt vector. */
static void evrig_raise(struct hca *hca, unsigned int vector)
{
	struct eq *eq = eq_find(hca, vector);
	uint8_t eqe[EQE_SIZE];

	while (eq && eq->ci != eq->pi) {
		size_t slot = eq->ci & ((1u << eq->log_size) - 1);

		if (qmem_read(hca, &eq->mem, slot * EQE_SIZE, eqe, sizeof(eqe)))
			abort();
		eq->ci = (eq->ci + 1) & EQ_INDEX_MASK;
		if (handler)
			handler(hca, eq->obj.num, eqe[1], eqe[3], eqe + 32);
	}
	if (eq)
		eq->armed = true;
}

const struct irq_ops evrig_irq_ops = { .raise = evrig_raise };
