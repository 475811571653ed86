/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event queues: their state, for the commands, the doorbell and the tests.
 */
#ifndef BLUEBELL_EQ_H
#define BLUEBELL_EQ_H

#include "hca.h"

#define EQE_SIZE	64
#define EQ_INDEX_MASK	0xffffffu

enum eq_status { EQ_STATUS_OK = 0x0, EQ_STATUS_WRITE_FAIL = 0xa };
enum eq_state { EQ_ST_ARMED = 0x9, EQ_ST_FIRED = 0xa };

struct eq {
	struct obj obj;
	uint32_t uar;
	unsigned int intr;	/* MSI-X vector */
	unsigned int log_size;
	struct queue_mem mem;
	bool overrun_ok;	/* eqc.oi */
	enum eq_status status;
	uint64_t events[4];	/* subscribed types; [0] bit 0 is type 0 */
	uint32_t pi, ci;	/* 24 bits */
	bool armed;
	uint64_t lost;		/* events that found the queue full */
	uint8_t eqc[64];	/* as given, for QUERY_EQ */
};

/* Is there a queue that asked for this type of event? */
bool eq_subscribed(struct hca *hca, uint8_t type);
struct eq *eq_find(struct hca *hca, uint32_t eqn);

#endif
