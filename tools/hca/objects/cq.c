// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: writing CQEs, overrun, arming, moderation and completion events.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "count.h"
#include "cq.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mem.h"
#include "object.h"
#include "queue_mem.h"
#include "uar_page.h"

/* Bits of the last byte of a CQE. Bit 0 has the owner, and the upper four bits have the opcode. */
#define CQE_SOLICITED	(1u << 1)
#define CQE_INLINE_32	(1u << 2)
#define CQE_INLINE_64	(2u << 2)
#define CQE_APP_TAG_MATCHING	1	/* of app */
#define CQE_TM_SUCCESS	(1u << 31)	/* a change of the list of tags was made */
#define CQE_VLAN	1	/* of l4_l3_hdr_type: vlan_info has a tag */

#define CQ_ERR_OVERRUN	1	/* syndrome of the CQ error event */
#define CQ_ERR_ACCESS	2

#define MAX_DELAYED	4096	/* completions that are held back at a time */

/* A completion that is held back by an injection. */
struct cq_delayed {
	LIST_ENTRY(cq_delayed) link;
	struct hca *hca;
	struct event *timer;
	uint32_t cqn;
	struct completion c;
	uint8_t data[64];
};

struct cqs {
	LIST_HEAD(, cq_delayed) delayed;
	unsigned int ndelayed;
};

/**
 * cq_find() - find a completion queue
 * @hca: the HCA
 * @cqn: its number
 *
 * Return: the queue or NULL.
 */
struct cq *cq_find(struct hca *hca, uint32_t cqn)
{
	return (struct cq *)obj_find(hca, OBJ_CQ, cqn);
}

/* ---- events ---------------------------------------------------------------------------------- */

/**
 * cq_fire() - raise the completion event of a queue
 * @cq: the queue
 */
void cq_fire(struct cq *cq)
{
	uint8_t data[28] = {};

	cq->armed = false;
	cq->fired_once = true;
	cq->fired_sn = cq->arm_sn;
	cq->notified = cq->pi;
	cq->held = 0;
	if (cq->timer)
		event_del(cq->timer);
	put_be32(data + 24, cq->obj.num);
	hca_trace(cq->hca, "cq_event", "\"cqn\":%u,\"eqn\":%u,\"sn\":%u", cq->obj.num, cq->eqn,
		  cq->arm_sn);
	eq_post(cq->hca, cq->eqn, 0, 0, data);
}

/**
 * cq_timeout() - timer: the moderation period of a queue has ended
 * @fd: not used
 * @what: not used
 * @arg: the queue
 */
void cq_timeout(int fd, short what, void *arg)
{
	struct cq *cq = arg;

	(void)fd;
	(void)what;
	if (cq->armed && cq->held)
		cq_fire(cq);
}

/**
 * cq_moderated() - tell whether moderation delays the events of a queue
 * @cq: the queue
 */
bool cq_moderated(const struct cq *cq)
{
	return cq->max_count > 1 && cq->period_us;
}

/* A CQE was written to an armed CQ: raise the event, unless moderation delays it. */
static void cq_notify(struct cq *cq, bool solicited)
{
	struct timeval tv = { .tv_usec = cq->period_us };

	if (!cq_moderated(cq) || (solicited && cq->sol_breaks_mod) || ++cq->held >= cq->max_count) {
		cq_fire(cq);
		return;
	}
	if (cq->timer && (cq->held == 1 || cq->from_cqe))
		event_add(cq->timer, &tv);
}

static void cq_error(struct cq *cq, enum cq_status status, uint8_t syndrome)
{
	uint8_t data[28] = {};

	cq->status = status;
	cq->armed = false;
	put_be32(data, cq->obj.num);
	data[11] = syndrome;
	hca_trace(cq->hca, "cq_error", "\"cqn\":%u,\"syndrome\":%u", cq->obj.num, syndrome);
	eq_post_async(cq->hca, EV_CQ_ERROR, 0, data);
}

/* A queue pair fails. Of a DC target, the transport drops what comes from now on. */
static void cq_lose(struct cq *cq, const struct completion *c)
{
	if (cq->hca->board->cqe_lost)
		cq->hca->board->cqe_lost(cq->hca, c->qpn);
}

/**
 * cq_ahead() - compute how far one index is ahead of another
 * @a: index, 24 bits
 * @b: index, 24 bits
 *
 * Return: the distance; a large number if @a is behind @b.
 */
uint32_t cq_ahead(uint32_t a, uint32_t b)
{
	return (a - b) & CQ_INDEX_MASK;
}

static bool cq_is_ahead(uint32_t a, uint32_t b)
{
	uint32_t d = cq_ahead(a, b);

	return d && d <= CQ_INDEX_MASK / 2;
}

enum arm_record { RECORD_AGREES, RECORD_IS_NEWER, RECORD_DIFFERS };

/*
 * Compare the arm word of a doorbell with the arm word in the doorbell record, which software
 * writes before it rings. If the record is newer, software has written it again, and its next
 * doorbell is on the way.
 */
static enum arm_record cq_compare_arm(uint32_t word, uint32_t rec)
{
	const uint32_t sn = 3 << 28, cmd = CQ_DB_NOT_SOL;
	uint32_t next_sn = (word + (1 << 28)) & sn;

	if (!((word ^ rec) & (sn | cmd | CQ_INDEX_MASK)))
		return RECORD_AGREES;
	if (cq_is_ahead(rec & CQ_INDEX_MASK, word & CQ_INDEX_MASK))
		return RECORD_IS_NEWER;
	if (cq_ahead(rec, word))
		return RECORD_DIFFERS;
	if ((rec & sn) == next_sn || (rec & sn) == (word & sn))
		return RECORD_IS_NEWER;
	return RECORD_DIFFERS;
}

/* Returns false, after it recorded why, if the CQ must not be armed by @word. */
static bool cq_arm_is_announced(struct hca *hca, const struct cq *cq, uint32_t word)
{
	enum arm_record r;
	uint8_t rec[4];

	mem_read(hca, cq->dbr.addr + DBR_ARM, rec, sizeof(rec));
	r = cq_compare_arm(word, get_be32(rec));
	if (r == RECORD_DIFFERS)
		doorbell_drop(hca, DROP_ARM_RECORD, cq->uar, cq->obj.num);
	return r == RECORD_AGREES;
}

/**
 * cq_arm_doorbell() - the CQ doorbell register was written
 * @hca: the HCA
 * @uar: number of the UAR that it was written to
 * @val: arm word (sequence number, command, consumer index) and CQ number
 *
 * Arms the queue for the next completion, or for the next solicited one. Raises the event at once
 * if there is a completion that the consumer index does not cover. The doorbell is dropped if the
 * queue belongs to another UAR or is in error, or if its arm word contradicts the doorbell record.
 * If the record has a newer arm word, this doorbell has no effect: the next one arms the queue.
 */
void cq_arm_doorbell(struct hca *hca, uint32_t uar, uint64_t val)
{
	uint32_t cqn = val & 0xffffff;
	uint32_t word = val >> 32;
	uint32_t ci = word & CQ_INDEX_MASK;
	uint8_t sn = word >> 28 & 3;
	bool sol = word & CQ_DB_NOT_SOL;
	struct cq *cq = cq_find(hca, cqn);

	if (!cq) {
		doorbell_drop(hca, DROP_NO_CQ, uar, cqn);
		return;
	}
	if (cq->uar != uar) {
		doorbell_drop(hca, DROP_WRONG_UAR, uar, cqn);
		return;
	}
	if (cq->status != CQ_STATUS_OK) {
		doorbell_drop(hca, DROP_BAD_STATE, uar, cqn);
		return;
	}
	if (!cq_arm_is_announced(hca, cq, word))
		return;
	hca->count.db_cq++;
	/* The event for this sequence number was raised already. */
	if (cq->fired_once && sn == cq->fired_sn)
		return;
	/*
	 * A CQ that is armed for any CQE stays armed for any CQE until the sequence number changes.
	 */
	cq->armed_sol = sol && !(cq->armed && !cq->armed_sol && cq->arm_sn == sn);
	cq->armed = true;
	cq->arm_sn = sn;
	if (cq->armed_sol ? cq->sol_seen && cq_is_ahead(cq->sol_pi, ci) : cq_is_ahead(cq->pi, ci))
		cq_fire(cq);
}

/* ---- writing CQEs ---------------------------------------------------------------------------- */

static bool cqe_is_error(const struct completion *c)
{
	return c->opcode == CQE_REQ_ERR || c->opcode == CQE_RESP_ERR;
}

/* Seconds in the upper half, nanoseconds in the lower. */
static uint64_t cqe_real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 32 | now.tv_nsec;
}

static void cqe_build_frame(uint8_t *cqe, const struct cqe_frame *f)
{
	put_be32(cqe + 12, f->rss_hash_result);
	cqe[16] = f->rss_hash_type;
	put_be16(cqe + 20, f->check_sum);
	cqe[28] = f->hds_ip_ext;
	cqe[29] = f->l4_l3_hdr_type;
	put_be16(cqe + 30, f->vlan_info);
}

static void cqe_build_tm(uint8_t *cqe, const struct cqe_tm *tm)
{
	cqe[40] = CQE_APP_TAG_MATCHING;
	cqe[41] = tm->op;
	put_be16(cqe + 42, tm->index);
	if (tm->has_header)
		memcpy(cqe, tm->header, TM_HEADER_BYTES);
	if (tm->op != TM_APPEND && tm->op != TM_REMOVE && tm->op != TM_NOOP)
		return;
	put_be32(cqe, tm->success ? CQE_TM_SUCCESS : 0);
	put_be16(cqe + 4, tm->hw_phase);
}

/*
 * Whether data that is scattered to the CQE goes before its 64 bytes: if it is long, or if a
 * message's header is in the place of short data.
 */
static bool cqe_data_is_before(const struct completion *c)
{
	return c->inline_len > 32 || (c->inline_len && c->is_tm && c->tm.has_header);
}

static void cqe_build(struct hca *hca, uint8_t *cqe, const struct completion *c)
{
	/* The CQE of a frame tells the rule that chose the queue, in the place of the queue. */
	uint32_t number = c->is_frame && !cqe_is_error(c) ? c->frame.flow_tag : c->qpn;

	if (cqe_is_error(c)) {
		put_be32(cqe + 32, c->srqn_uidx);
		cqe_error_put(cqe + CQE_ERROR_OFF, c->error);
	} else {
		if (c->is_frame) {
			cqe_build_frame(cqe, &c->frame);
		} else if (c->inline_len && !cqe_data_is_before(c)) {
			memcpy(cqe, c->inline_data, c->inline_len);
		} else {
			/* rdma-core's tests of tag matching expect that no GRH is announced. */
			bool grh = c->grh && !c->is_tm;

			cqe[17] = c->ml_path;
			put_be16(cqe + 22, c->slid);
			put_be32(cqe + 24, (uint32_t)grh << 28 | (uint32_t)(c->sl & 0xf) << 24 |
				 (c->src_qp & 0xffffff));
			if (c->vlan) {
				cqe[29] = CQE_VLAN;
				put_be16(cqe + 30, c->tci);
			}
		}
		if (c->is_tm)
			cqe_build_tm(cqe, &c->tm);
		put_be32(cqe + 32, c->srqn_uidx);
		put_be32(cqe + 36, c->imm_inval_pkey);
		put_be32(cqe + 44, c->byte_cnt);
		put_be64(cqe + 48, c->real_time ? cqe_real_time() : hca_clock(hca));
	}
	put_be32(cqe + 56, (uint32_t)c->s_wqe_opcode << 24 | (number & 0xffffff));
	put_be16(cqe + 60, c->wqe_counter);
	cqe[63] = c->opcode << 4;
	if (cqe_is_error(c))
		cqe[63] |= CQE_SOLICITED;
	else if (c->inline_len)
		cqe[63] |= cqe_data_is_before(c) ? CQE_INLINE_64 : CQE_INLINE_32;
}

/*
 * Write one CQE at the producer index. The byte with the owner bit is written last, because it
 * hands the entry over to the driver. Returns false if the memory of the queue is not mapped any
 * more.
 */
static bool cqe_write(struct hca *hca, struct cq *cq, const uint8_t *cqe, const uint8_t *inl,
		      size_t inl_len)
{
	uint32_t slot = cq->collapsed ? 0 : cq->pi & (cq->cnt - 1);
	uint8_t owner = cq->pi & cq->cnt ? 1 : 0;
	uint8_t *p = qmem_ptr(hca, &cq->mem, (size_t)slot * cq->cqe_sz, cq->cqe_sz, true);

	if (!p)
		return false;
	if (cq->cqe_sz == 128) {
		if (cq->padded)
			memset(p, 0, 64);
		if (inl_len)
			memcpy(p, inl, inl_len);
		p += 64;
	}
	memcpy(p, cqe, CQE_BYTES - 1);
	__atomic_store_n(p + CQE_BYTES - 1, (cqe[63] & ~1) | owner, __ATOMIC_RELEASE);
	cq->pi = (cq->pi + 1) & CQ_INDEX_MASK;
	return true;
}

/*
 * Check that there is room for one more CQE. Reads the doorbell record only if the consumer index
 * last read says that the queue is full.
 */
static bool cq_has_room(struct hca *hca, struct cq *cq)
{
	uint8_t rec[4];

	if (cq->overrun_ok || cq->collapsed || cq_ahead(cq->pi, cq->ci) < cq->cnt)
		return true;
	if (mem_read(hca, cq->dbr.addr, rec, sizeof(rec)))
		return false;
	cq->ci = get_be32(rec) & CQ_INDEX_MASK;
	return cq_ahead(cq->pi, cq->ci) < cq->cnt;
}

/**
 * cq_write_resize() - write the CQE that ends the old buffer of a queue that is resized
 * @hca: the HCA
 * @cq: the queue
 *
 * Return: false if the old buffer is not mapped any more.
 */
bool cq_write_resize(struct hca *hca, struct cq *cq)
{
	const struct completion last = { .opcode = CQE_RESIZE };
	uint8_t cqe[CQE_BYTES] = {};

	cqe_build(hca, cqe, &last);
	return cqe_write(hca, cq, cqe, NULL, 0);
}

/**
 * cq_complete_now() - write a CQE that no injection drops or delays
 * @hca: the HCA
 * @cqn: completion queue
 * @c: what the CQE says
 *
 * A queue that is full, or whose memory is not mapped, enters the error state and raises the CQ
 * error event. A CQE for a queue in error is lost, and the event loop moves its queue pair to ERR.
 */
void cq_complete_now(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	struct cq *cq = cq_find(hca, cqn);
	bool sol = c->solicited || cqe_is_error(c);
	uint8_t cqe[CQE_BYTES] = {};
	size_t before = cqe_data_is_before(c) ? c->inline_len : 0;

	if (!cq)
		return;
	if (cq->status == CQ_STATUS_OK && !cq_has_room(hca, cq))
		cq_error(cq, CQ_STATUS_OVERFLOW, CQ_ERR_OVERRUN);
	if (cq->status != CQ_STATUS_OK) {
		cq_lose(cq, c);
		return;
	}
	cqe_build(hca, cqe, c);
	if (!cqe_write(hca, cq, cqe, c->inline_data, before)) {
		cq_error(cq, CQ_STATUS_WRITE_FAIL, CQ_ERR_ACCESS);
		cq_lose(cq, c);
		return;
	}
	hca->count.cqes++;
	if (cqe_is_error(c))
		hca->count.cqes_err++;
	if (sol) {
		cq->sol_seen = true;
		cq->sol_pi = cq->pi;
	}
	hca_trace(hca, "cqe", "\"cqn\":%u,\"pi\":%u,\"opcode\":%u,\"syndrome\":%u,"
		  "\"vendor\":%u,\"qpn\":%u,\"wqe\":%u,\"bytes\":%u", cqn, cq->pi, c->opcode,
		  cqe_error_syndrome(c->error), cqe_error_vendor(c->error), c->qpn, c->wqe_counter,
		  c->byte_cnt);
	if (cq->armed && (sol || !cq->armed_sol))
		cq_notify(cq, sol);
}

/* ---- injected delays ------------------------------------------------------------------------- */

static void cq_delayed_free(struct cq_delayed *d)
{
	LIST_REMOVE(d, link);
	d->hca->cqs->ndelayed--;
	event_free(d->timer);
	free(d);
}

static void cq_delayed_fire(evutil_socket_t fd, short what, void *arg)
{
	struct cq_delayed *d = arg;

	(void)fd;
	(void)what;
	cq_complete_now(d->hca, d->cqn, &d->c);
	cq_delayed_free(d);
}

static void cq_delay(struct hca *hca, uint32_t cqn, const struct completion *c, unsigned int ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct cq_delayed *d = calloc(1, sizeof(*d));

	if (d)
		d->timer = evtimer_new(hca->base, cq_delayed_fire, d);
	if (!d || !d->timer) {
		free(d);
		return;
	}
	d->hca = hca;
	d->cqn = cqn;
	d->c = *c;
	if (c->inline_data && c->inline_len <= sizeof(d->data)) {
		memcpy(d->data, c->inline_data, c->inline_len);
		d->c.inline_data = d->data;
	}
	LIST_INSERT_HEAD(&hca->cqs->delayed, d, link);
	hca->cqs->ndelayed++;
	evtimer_add(d->timer, &tv);
}

/*
 * Drop or delay the completion if an injection says so. Returns false if the CQE is to be written
 * now. A guest can inject any number of long delays, so at most MAX_DELAYED completions are held
 * back.
 */
static bool cq_injected(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	unsigned int delay_ms;

	if (!inject_cqe(hca->inject, &delay_ms) ||
	    (delay_ms && hca->cqs->ndelayed >= MAX_DELAYED))
		return false;
	hca_trace(hca, "cqe_injected", "\"cqn\":%u,\"qpn\":%u,\"delay_ms\":%u", cqn, c->qpn,
		  delay_ms);
	if (delay_ms)
		cq_delay(hca, cqn, c, delay_ms);
	return true;
}

/**
 * cq_complete() - write a CQE (struct mlx5_cqe64 of linux/mlx5/device.h)
 * @hca: the HCA
 * @cqn: completion queue
 * @c: what the CQE says
 */
void cq_complete(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	if (!cq_injected(hca, cqn, c))
		cq_complete_now(hca, cqn, c);
}

/* ---- module ---------------------------------------------------------------------------------- */

/* Drop the completions of @cq that are held back: a new queue may get the same number. */
static void cq_drop_delayed(struct hca *hca, const struct cq *cq)
{
	struct cq_delayed *d, *next;

	for (d = LIST_FIRST(&hca->cqs->delayed); d; d = next) {
		next = LIST_NEXT(d, link);
		if (d->cqn == cq->obj.num)
			cq_delayed_free(d);
	}
}

/**
 * cq_release() - free a completion queue
 * @hca: the HCA
 * @cq: the queue, to which no references are left
 */
void cq_release(struct hca *hca, struct cq *cq)
{
	struct obj *uar = uar_find(hca, cq->uar);
	struct obj *eq = obj_find(hca, OBJ_EQ, cq->eqn);

	cq_drop_delayed(hca, cq);
	obj_put(hca, uar);
	obj_put(hca, eq);
	if (cq->timer)
		event_free(cq->timer);
	qmem_free(hca, &cq->mem);
	dbr_free(hca, &cq->dbr);
	obj_free(hca, &cq->obj);
}

static bool cq_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	cq_release(hca, (struct cq *)o);
	return true;
}

/* At a reset, drop the completions that are held back: new queues will get the same numbers. */
static void cq_reset(struct hca *hca)
{
	while (!LIST_EMPTY(&hca->cqs->delayed))
		cq_delayed_free(LIST_FIRST(&hca->cqs->delayed));
	obj_for_each(hca, OBJ_CQ, cq_drop, NULL);
}

static int cq_init(struct hca *hca)
{
	hca->cqs = calloc(1, sizeof(*hca->cqs));
	return hca->cqs ? 0 : -ENOMEM;
}

static void cq_exit(struct hca *hca)
{
	free(hca->cqs);
	hca->cqs = NULL;
}

const struct hca_module cq_module = {
	.name = "cq", .init = cq_init, .reset = cq_reset, .exit = cq_exit,
};
