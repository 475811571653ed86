/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of the NIC: the HCA of objrig.h with an Ethernet port and a NIC, made of the
 * product's commands; and a peer at another port of the switch, which records the frames that it
 * gets, and sends frames. Each queue has a CQ of its own.
 */
#ifndef BLUEBELL_TESTS_WIRERIG_H
#define BLUEBELL_TESTS_WIRERIG_H

#include "flow.h"
#include "frame.h"
#include "objrig.h"
#include "profile.h"

#define WIRE_FRAMES	1024	/* that the peer records */
#define WIRE_LOG_SQ	6	/* WQEBBs of a send queue */
#define WIRE_LOG_RQ	4	/* WQEs of a receive queue */
#define WIRE_STRIDE	64	/* bytes of a receive WQE */
#define WIRE_LOG_CQ	7
#define WIRE_INDEX	0x321	/* user_index of all queues */
#define WIRE_BUF	(RAM_BASE + (32u << 20))	/* buffers */

struct wire_queue {
	uint32_t num, cqn;
	uint64_t ring, cq, dbr;
	uint16_t tail;		/* WQEBBs or WQEs that are posted */
	uint16_t last;		/* index of the last WQE that was posted */
	unsigned int seen;	/* CQEs that wire_cqe() has returned */
};

extern struct wire {
	uint32_t pdn, tdn, tisn, uar, eqn;
	uint64_t mac;		/* the permanent address of the port */
	uint64_t brk;		/* next free page of guest memory */
	unsigned int port;	/* of the switch, where the peer is */
	/* How many frames the peer got; and those that it has room for. */
	unsigned int frames;
	struct { size_t len; uint8_t bytes[FRAME_MAX]; } frame[WIRE_FRAMES];
} wire;

int wire_up(void **state);
int wire_down(void **state);

/* Set a capability of the page of Ethernet. */
#define wire_cap(fld, value)	\
	IFC_SET(per_protocol_networking_offload_caps, rig.hca->cap[CAP_ETH], fld, value)

/* Send a frame from the peer, and let the HCA receive it. */
void wire_send(const uint8_t *bytes, size_t len);
/* Run the event loop until it is idle. */
void wire_settle(void);

/* ---- send queues ----------------------------------------------------------------------------- */

enum { SQ_FLUSH = 1 << 0, SQ_NO_TIS = 1 << 1, SQ_NO_RLKY = 1 << 2, SQ_SEVERAL = 1 << 3 };

/* Make a send queue that is ready, with an inline mode of @mode. */
struct wire_queue wire_sq(unsigned int flags, unsigned int mode);

struct wire_wqe {
	uint8_t b[1024];
	unsigned int ds;
};

/* Build a WQE: a control segment, and an Ethernet segment with an inline header. */
void wire_ctrl(struct wire_wqe *w, uint8_t opcode, bool signaled);
void wire_eth(struct wire_wqe *w, uint8_t flags, uint16_t mss, const void *header, size_t len);
/* Add a data segment; wire_data() puts the bytes into a buffer of their own first. */
void wire_seg(struct wire_wqe *w, uint64_t addr, uint32_t len, uint32_t lkey);
void wire_data(struct wire_wqe *w, const void *bytes, size_t len);
/*
 * Put a WQE into the ring, and ring. Its index, number and length are filled in, unless they are
 * set.
 */
void wire_put(struct wire_queue *q, struct wire_wqe *w);
bool wire_ring(struct wire_queue *q);
void wire_post(struct wire_queue *q, struct wire_wqe *w);	/* both */
/* Send a frame by one WQE, with its first @header bytes inline. */
void wire_post_frame(struct wire_queue *q, uint8_t flags, const void *bytes, size_t len,
		     size_t header);

/* ---- receive queues -------------------------------------------------------------------------- */

enum { RQ_FLUSH = 1 << 0, RQ_VSD = 1 << 1, RQ_NO_RLKY = 1 << 2, RQ_FCS = 1 << 3 };

/* Make a receive queue that is ready, of Q counter set @set. */
struct wire_queue wire_rq(unsigned int flags, uint32_t set);
/* Post a WQE of @n buffers of these lengths; returns the address of the first, others follow it. */
uint64_t wire_recv(struct wire_queue *q, const uint32_t *len, unsigned int n);

/* ---- both ------------------------------------------------------------------------------------ */

uint8_t wire_move_sq(const struct wire_queue *q, unsigned int from, unsigned int to);
uint8_t wire_move_rq(const struct wire_queue *q, unsigned int from, unsigned int to);
void wire_destroy_sq(const struct wire_queue *q);
void wire_destroy_rq(const struct wire_queue *q);
/* The next CQE of a queue, or NULL. */
const uint8_t *wire_cqe(struct wire_queue *q);
/* Check the next CQE: its opcode and WQE; if it is an error, its cause. */
const uint8_t *wire_expect(struct wire_queue *q, uint8_t opcode, uint16_t index, uint32_t error);
/* The state that a query command shows. */
unsigned int wire_sq_state(const struct wire_queue *q);
unsigned int wire_rq_state(const struct wire_queue *q);

/* ---- steering -------------------------------------------------------------------------------- */

uint32_t wire_tir(const struct wire_queue *q);
/* An indirect TIR over queues, by a Toeplitz hash; @fields as in rss.h, @udp and @v6 select. */
uint32_t wire_rss(const struct wire_queue *q, unsigned int n, unsigned int fields, bool udp,
		  bool v6, bool symmetric);
/* Make the root table, with one rule for all frames; @action as in flow_context. */
void wire_rule(unsigned int action, uint32_t tirn, uint32_t flow_tag);
/* The same in tables of another type. */
void wire_rule_of(enum flow_type type, unsigned int action, uint32_t tirn, uint32_t flow_tag);

#endif
