/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of the transport: two HCAs on one fabric, each with flat guest memory. CQEs and
 * events are read from their queues as soon as they are written.
 */
#ifndef BLUEBELL_PAIRRIG_H
#define BLUEBELL_PAIRRIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "looprig.h"
#include "mkey.h"
#include "packet.h"
#include "qp.h"
#include "req.h"
#include "srq.h"
#include "wqe.h"

#define RIG_MEM		(4u << 20)	/* guest memory of each HCA, from RIG_BASE */
#define RIG_BASE	0x100000ull
#define RIG_PD		1
#define RIG_UAR		5
#define RIG_CQES	4096
#define RIG_QPS		64
#define RIG_SRQ		0x400		/* number of the first shared receive queue */
#define RIG_SRQ_WQES	16

struct fabric;
struct packet_type;
struct profile;

struct rig_cqe {
	uint32_t cqn;
	struct completion c;
	uint8_t data[64];		/* what c.inline_data points to */
	uint64_t time;
};

struct rig {
	struct event_base *base;
	struct runner runner[2];	/* of each HCA; only with rig_up_threads() */
	struct fabric *fabric;		/* has the pool of packets, whatever the link layer */
	const struct rig_net *net;
	struct hca *hca[2];
	struct eq *eq[2];
	uint8_t *mem[2];
	size_t brk[2];			/* next free byte of guest memory */
	uint16_t tail[2][RIG_QPS];	/* of send queues, in WQEBBs */
	uint16_t last[2][RIG_QPS];	/* index of the last WQE in each send queue */
	struct rig_cqe cqe[RIG_CQES];
	unsigned int ncqe;
	struct { uint32_t qpn; uint8_t type; } event[64];
	unsigned int nevents;
	/* Called for each asynchronous event first; true: it is not recorded in event[]. */
	bool (*on_event)(struct hca *hca, uint8_t type, uint8_t subtype, const uint8_t *data);
};

extern struct rig rig;

/* What is below the transport: a link layer with its modules, and the path to HCA @h. */
struct rig_net {
	const struct hca_module *const *modules;	/* ended by NULL */
	const struct link_ops *link;
	void (*path)(struct qp_path *path, unsigned int h);
	/* NULL for InfiniBand's: the packets of the fabric, its switch, what the profile has. */
	const struct packet_type *type;
	int (*start)(struct fabric *f);
	void (*profile)(struct profile *p);
};

int rig_up(void **state);			/* over InfiniBand */
void rig_up_on(const struct rig_net *net);	/* over another link layer */
int rig_down(void **state);

/*
 * In the place of rig_up(): each HCA has an event loop in a thread of its own. After rig_start()
 * the test may use an HCA in its thread only, by its runner, and waits for completions by
 * rig_wait().
 */
int rig_up_threads(void **state);
void rig_start(void);
unsigned int rig_wait(unsigned int n, unsigned int ms);

/* Both EQs subscribe to all events but page faults. Add page faults, or remove them again. */
void rig_listen_to_faults(bool on);
/* Make a CQ of this number. rig_qp() makes the CQs of its queue pair. */
void rig_cq(unsigned int h, uint32_t cqn);

/* Guest memory: allocate @len zero bytes, and find the host address. */
uint64_t rig_alloc(unsigned int h, size_t len);
void *rig_ptr(unsigned int h, uint64_t addr);
/* Make a key of HCA @h for [addr, addr + len); and one that UMR fills. */
uint32_t rig_mkey(unsigned int h, uint64_t addr, uint64_t len, unsigned int access);
struct mkey *rig_umr_key(unsigned int h, unsigned int octowords, uint8_t mode);

struct qp *rig_qp(unsigned int h, enum qp_type type, uint32_t cqn);
void rig_connect(struct qp *a, unsigned int ha, struct qp *b, unsigned int hb);
void rig_state(unsigned int h, struct qp *qp, enum qp_state now);
void rig_free_qp(unsigned int h, struct qp *qp);	/* as DESTROY_QP does */

/*
 * A shared receive queue of RIG_SRQ_WQES WQEs with one segment each. Its number is that of no queue
 * pair. rig_srq_recv() posts a WQE to an RMP.
 */
struct srq *rig_srq(unsigned int h, enum srq_kind kind, uint32_t pdn);
void rig_srq_recv(unsigned int h, struct srq *srq, uint64_t addr, uint32_t len, uint32_t lkey);

/* Give @qp a Q counter; and read one of its counts, a field of query_q_counter_out. */
void rig_count(unsigned int h, struct qp *qp);
const uint8_t *rig_counts(unsigned int h, const struct qp *qp);
#define rig_counted(h, qp, fld)	IFC_GET(query_q_counter_out, rig_counts(h, qp), fld)

/*
 * Send queue: rig_put() writes a WQE at the tail, and fills in its index and QPN; rig_show() writes
 * the doorbell record; rig_ring() rings. rig_send() does all three.
 */
uint16_t rig_put(unsigned int h, struct qp *qp, const void *wqe, unsigned int ds);
void rig_show(unsigned int h, struct qp *qp);
void rig_ring(unsigned int h, struct qp *qp);	/* for the WQE that was put last */
void rig_ring_wqe(unsigned int h, struct qp *qp, uint16_t idx);
uint16_t rig_send(unsigned int h, struct qp *qp, const void *wqe, unsigned int ds);
void rig_recv(unsigned int h, struct qp *qp, uint64_t addr, uint32_t len, uint32_t lkey);

/* WQE builders; each returns the ds count so far. */
struct rig_wqe {
	uint8_t b[1024];
	unsigned int ds;
};
void wq_ctrl(struct rig_wqe *w, uint8_t opcode, bool signaled, uint32_t imm);
void wq_raddr(struct rig_wqe *w, uint64_t addr, uint32_t rkey);
void wq_atomic(struct rig_wqe *w, uint64_t swap_add, uint64_t compare);
void wq_data(struct rig_wqe *w, uint64_t addr, uint32_t len, uint32_t lkey);
void wq_inline(struct rig_wqe *w, const void *data, uint32_t len);
void wq_av(struct rig_wqe *w, uint16_t dlid, uint32_t qpn, uint32_t qkey, const uint8_t *dgid);

/* Run the event loop until @n completions have come, at most @ms; returns how many came. */
unsigned int rig_run(unsigned int n, unsigned int ms);
void rig_settle(void);			/* run the event loop until it is idle */
/* Completion @i on @cqn, counted from 0; NULL if there is none. */
struct rig_cqe *rig_cqe(uint32_t cqn, unsigned int i);
unsigned int rig_events(uint8_t type);

#endif
