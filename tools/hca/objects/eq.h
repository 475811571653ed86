/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event queues, and the types of asynchronous events.
 */
#ifndef BLUEBELL_EQ_H
#define BLUEBELL_EQ_H

#include "cmd.h"
#include "object.h"
#include "queue_mem.h"

struct hca_module;

#define EQE_SIZE	64
#define EQE_DATA_BYTES	28	/* of event data in an EQE */
#define EQ_INDEX_MASK	0xffffffu

/* Asynchronous events, as MLX5_EVENT_TYPE_* in linux/mlx5/device.h. */
enum async_event {
	EV_PATH_MIG = 0x01, EV_COMM_EST = 0x02, EV_SQ_DRAINED = 0x03, EV_CQ_ERROR = 0x04,
	EV_WQ_CATAS_ERROR = 0x05, EV_PATH_MIG_FAILED = 0x07, EV_INTERNAL_ERROR = 0x08,
	EV_PORT_CHANGE = 0x09, EV_CMD = 0x0a, EV_PAGE_REQUEST = 0x0b, EV_PAGE_FAULT = 0x0c,
	EV_WQ_INVAL_REQ = 0x10, EV_WQ_ACCESS = 0x11, EV_SRQ_CATAS_ERROR = 0x12,
	EV_SRQ_LAST_WQE = 0x13, EV_SRQ_RQ_LIMIT = 0x14, EV_PORT_MODULE = 0x16,
	EV_DCT_DRAINED = 0x1c, EV_DCT_KEY_VIOLATION = 0x1d, EV_GENERAL = 0x22,
};

enum eq_status { EQ_STATUS_OK = 0x0, EQ_STATUS_WRITE_FAIL = 0xa };
enum eq_state { EQ_ST_ARMED = 0x9, EQ_ST_FIRED = 0xa };

struct eq {
	struct obj obj;
	uint32_t uar;		/* the only UAR whose doorbells this EQ accepts */
	unsigned int intr;	/* MSI-X vector */
	unsigned int log_size;	/* log2 of the number of EQEs */
	struct queue_mem mem;
	bool overrun_ok;	/* eqc.oi: no overrun check */
	enum eq_status status;
	uint64_t events[4];	/* types subscribed to; bit 0 of [0] is type 0 */
	uint32_t pi, ci;	/* producer and consumer index, 24 bits */
	bool armed;
	uint64_t lost;		/* events that found the queue full */
	uint8_t eqc[64];	/* context as given, for QUERY_EQ */
};

struct eq *eq_find(struct hca *hca, uint32_t eqn);
bool eq_subscribed(struct hca *hca, uint8_t type);
void eq_post(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype, const void *data28);
void eq_post_async(struct hca *hca, uint8_t type, uint8_t subtype, const void *data28);
void eq_doorbell(struct hca *hca, uint32_t uar, uint32_t val, bool arm);

extern const struct hca_module eq_module;
extern const struct cmd_desc eq_cmds[];

#endif
