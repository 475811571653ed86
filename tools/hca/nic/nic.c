// SPDX-License-Identifier: GPL-2.0
/*
 * The NIC: doorbells of send queues, the turns in which the NIC sends and receives, and its
 * reaction to state changes of queues.
 *
 * A doorbell executes what it announces at once, up to a budget, so that a NOP or a frame does not
 * wait for the event loop. What is left waits for a turn, where all queues with work get a slice
 * each, round robin, after the frames that have arrived.
 */
#include <stdlib.h>

#include "cq.h"
#include "eth_port.h"
#include "hca.h"
#include "mem.h"
#include "nic.h"
#include "nic_ops.h"
#include "nic_receive.h"
#include "nic_rq.h"
#include "nic_send.h"
#include "nic_turn.h"
#include "qp.h"
#include "rq.h"
#include "sq.h"

#define RX_BUDGET	256	/* frames received in a turn */
#define TX_BUDGET	256	/* WQEs and segments executed in a turn */
#define TX_SLICE	64	/* of these by one queue; a receiver's queue holds 512 frames */

_Static_assert(ETH_FRAME_MAX == FRAME_MAX && ETH_FRAME_PADDED == FRAME_MIN,
	       "net/ and fabric/ agree on frames");

/* ---- doorbells ------------------------------------------------------------------------------- */

/*
 * Read up to which WQEBB WQEs are posted. Returns false if the record is not mapped, or announces
 * more than the queue can hold.
 */
static bool nic_read_record(struct hca *hca, const struct sq *sq, uint16_t *posted)
{
	uint8_t rec[4];

	if (mem_read(hca, sq->dbr.addr + DBR_SND, rec, sizeof(rec)))
		return false;
	*posted = get_be32(rec);
	return (uint16_t)(*posted - sq->hw) <= 1u << sq->log_size;
}

/* In ERR what is posted is flushed, if the queue was made so. */
static bool nic_takes_doorbells(const struct sq *sq)
{
	return sq->nic && (sq->state == SQ_RDY || (sq->state == SQ_ERR && sq->flush_in_error));
}

static void nic_run_now(struct hca *hca, struct nic_sq *n, const uint8_t *bf, size_t len)
{
	unsigned int budget = TX_SLICE;

	if (!n->queued && nic_send_run(hca, n, bf, len, &budget))
		nic_queue(hca, n);
}

static void nic_rung(struct hca *hca, struct sq *sq, const uint8_t *bf, size_t len)
{
	enum drop_reason why;
	uint16_t posted;

	if (!nic_read_record(hca, sq, &posted)) {
		sq_fail(hca, sq);
		return;
	}
	why = qmem_check_doorbell(hca, &sq->mem, 0, 1u << sq->log_size, posted, bf);
	if (why != DROP_REASONS) {
		doorbell_drop(hca, why, sq->uar, sq->obj.num);
		return;
	}
	sq->nic->posted = posted;
	if (sq->state == SQ_ERR)
		nic_send_flush(hca, sq->nic);
	else
		nic_run_now(hca, sq->nic, bf, len > 8 ? len : 0);
}

/**
 * nic_send_doorbell() - a send doorbell was rung, perhaps for a send queue of this kind
 * @hca: the HCA
 * @uar: number of the UAR on whose page it was rung
 * @bf: the bytes written
 * @len: how many; 8 for a plain doorbell
 *
 * Return: false if there is no such send queue.
 */
bool nic_send_doorbell(struct hca *hca, uint32_t uar, const uint8_t *bf, size_t len)
{
	uint32_t num = get_be32(bf + 4) >> 8;
	struct sq *sq = sq_find(hca, num);

	if (!sq)
		return false;
	if (sq->uar != uar) {
		doorbell_drop(hca, DROP_WRONG_UAR, uar, num);
		return true;
	}
	if (!nic_takes_doorbells(sq)) {
		doorbell_drop(hca, DROP_BAD_STATE, uar, num);
		return true;
	}
	if (len > 8)
		hca->count.db_bf++;
	else
		hca->count.db_send++;
	nic_rung(hca, sq, bf, len);
	return true;
}

/* ---- state changes --------------------------------------------------------------------------- */

static struct nic_sq *nic_sq_new(struct sq *sq)
{
	struct nic_sq *n = calloc(1, sizeof(*n));

	if (n)
		n->sq = sq;
	return n;
}

/* If memory is short, the queue takes no doorbells. */
static void nic_sq_state(struct hca *hca, struct sq *sq, enum sq_state old, enum sq_state now)
{
	(void)old;
	if (!sq->nic)
		sq->nic = nic_sq_new(sq);
	if (!sq->nic)
		return;
	if (now == SQ_RST) {
		nic_send_clear(hca, sq->nic);
	} else if (now == SQ_ERR) {
		nic_unqueue(hca, sq->nic);
		sq->nic->sending = false;
		if (sq->flush_in_error)
			nic_send_flush(hca, sq->nic);
	}
}

static void nic_sq_gone(struct hca *hca, struct sq *sq)
{
	if (!sq->nic)
		return;
	nic_unqueue(hca, sq->nic);
	free(sq->nic);
	sq->nic = NULL;
}

static void nic_flush_announced(struct hca *hca, void *queue)
{
	nic_rq_flush(hca, queue);
}

static struct nic_rq *nic_rq_new(struct rq *rq)
{
	struct nic_rq *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->rq = rq;
	n->watch.queue = n;
	n->watch.look = nic_flush_announced;
	return n;
}

/* If memory is short, the queue receives nothing. */
static void nic_rq_state(struct hca *hca, struct rq *rq, enum rq_state old, enum rq_state now)
{
	(void)old;
	if (!rq->nic)
		rq->nic = nic_rq_new(rq);
	if (!rq->nic)
		return;
	if (now == RQ_RST) {
		watch_set(hca, &rq->nic->watch, false);
		rq->nic->failed = false;
		rq->nic->lost = false;
	} else if (now == RQ_ERR && rq->flush_in_error) {
		nic_rq_flush(hca, rq->nic);
	}
}

static void nic_rq_gone(struct hca *hca, struct rq *rq)
{
	if (!rq->nic)
		return;
	watch_set(hca, &rq->nic->watch, false);
	free(rq->nic);
	rq->nic = NULL;
}

const struct nic_ops nic_ops = {
	.sq_state = nic_sq_state, .rq_state = nic_rq_state, .sq_gone = nic_sq_gone,
	.rq_gone = nic_rq_gone,
};

/* ---- CQEs that are lost ---------------------------------------------------------------------- */

/**
 * nic_lost_cqe() - a CQE of a queue could not be written
 * @hca: the HCA
 * @num: number of the queue
 *
 * The caller is still working on the queue, so the queue fails at the next turn.
 *
 * Return: false if there is no such send or receive queue.
 */
bool nic_lost_cqe(struct hca *hca, uint32_t num)
{
	struct sq *sq = sq_find(hca, num);
	struct rq *rq = sq ? NULL : rq_find(hca, num);

	if (!sq && !rq)
		return false;
	if (sq && sq->nic)
		sq->nic->lost = true;
	if (rq && rq->nic)
		rq->nic->lost = true;
	hca->nic->lost = true;
	nic_wake(hca);
	return true;
}

static bool nic_fail_sq(struct hca *hca, struct obj *o, void *arg)
{
	struct sq *sq = (struct sq *)o;

	(void)arg;
	if (sq->nic && sq->nic->lost) {
		sq->nic->lost = false;
		sq_fail(hca, sq);
	}
	return true;
}

static bool nic_fail_rq(struct hca *hca, struct obj *o, void *arg)
{
	struct rq *rq = (struct rq *)o;

	(void)arg;
	if (rq->nic && rq->nic->lost) {
		rq->nic->lost = false;
		rq_fail(hca, rq);
	}
	return true;
}

/* The CQEs of the flushed WQEs are lost, too, but change no state. */
static void nic_fail_lost(struct hca *hca)
{
	if (!hca->nic->lost)
		return;
	obj_for_each(hca, OBJ_SQ, nic_fail_sq, NULL);
	obj_for_each(hca, OBJ_RQ, nic_fail_rq, NULL);
	hca->nic->lost = false;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void nic_receive_some(struct hca *hca)
{
	struct eth_frame *fr;
	unsigned int n;

	for (n = 0; hca->eth && n < RX_BUDGET && (fr = eth_rx(hca)); n++) {
		nic_receive(hca, eth_frame_data(fr), fr->head.len);
		eth_frame_free(fr);
	}
}

static void nic_send_some(struct hca *hca)
{
	unsigned int left = TX_BUDGET, slice, given;
	struct nic_sq *n;

	while (left && (n = TAILQ_FIRST(&hca->nic->work))) {
		given = left < TX_SLICE ? left : TX_SLICE;
		slice = given;
		nic_unqueue(hca, n);
		if (nic_send_run(hca, n, NULL, 0, &slice))
			nic_queue(hca, n);
		left -= given - slice ? given - slice : 1;
	}
}

static bool nic_has_work(struct hca *hca)
{
	return hca->nic->lost || !TAILQ_EMPTY(&hca->nic->work) ||
	       (hca->eth && eth_rx_pending(hca));
}

static void nic_turn(int fd, short what, void *arg)
{
	struct hca *hca = arg;
	struct nic *nic = hca->nic;
	bool stopped = hca->hung || hca->fatal;

	(void)fd;
	(void)what;
	nic->armed = false;
	nic->turning = true;
	if (!stopped) {
		nic_fail_lost(hca);
		nic_receive_some(hca);
		nic_send_some(hca);
	}
	nic->turning = false;
	if (!nic_has_work(hca))
		return;
	if (stopped)
		nic_wait(hca);
	else
		nic_wake(hca);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int nic_init(struct hca *hca)
{
	int err = nic_turn_init(hca, nic_turn);

	if (!err && hca->eth)
		eth_set_wake(hca, nic_wake);
	if (!err && hca->eth)
		eth_set_sniffer(hca, nic_sniff);
	return err;
}

static void nic_exit(struct hca *hca)
{
	if (hca->eth)
		eth_set_wake(hca, NULL);
	nic_turn_exit(hca);
}

const struct hca_module nic_module = { .name = "nic", .init = nic_init, .exit = nic_exit };
