// SPDX-License-Identifier: GPL-2.0
/*
 * UARs: pages of BAR0 with doorbell registers. ALLOC_UAR and DEALLOC_UAR, what a store into a page
 * means, and BlueFlame writes, which are put together from their stores.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "count.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "uar.h"
#include "uar_page.h"

/* Registers of a UAR. The rest of a larger page has none. */
#define REG_CQ		0x20
#define REG_EQ_ARM	0x40
#define REG_EQ		0x48
#define REG_BF		0x800	/* four registers of 512 bytes, each with two buffers of 256 */
#define REG_END		0x1000
#define BF_BUF		256
#define BF_UNIT		64	/* drivers write multiples of this, also for a shorter WQE */

#define PENDING		64	/* BlueFlame buffers that can be written at the same time */

/*
 * Each store to a BlueFlame buffer arrives as a message. If no store comes from the start of the
 * timer until it expires, the burst is over and the rest of the WQE will not come. A client that
 * waits for the reply to each store needs up to 80 us from one store to the next.
 */
#define BURST_NS	100000

/*
 * A BlueFlame buffer that is being written. The first 8 bytes tell how long the WQE is. After the
 * WQE was delivered, the stores that pad it to 64 bytes only advance @len.
 */
struct bf {
	uint64_t addr;		/* of the buffer in BAR0, 0: unused */
	uint64_t used;		/* when the last store came, counted in stores */
	uint64_t begun;		/* when the last store to the buffer's start came */
	size_t len;		/* contiguous bytes so far */
	bool delivered;
	bool plain;		/* the buffer's last doorbell was plain: do not wait for a WQE */
	bool again;		/* the register's last doorbell was in this buffer, too */
	uint8_t buf[BF_BUF];
};

/* What TEARDOWN_HCA, DISABLE_HCA and device reset clear. */
struct stores {
	struct bf bf[PENDING];
	uint64_t stamp;
	unsigned int pending;	/* doorbells that are not delivered yet */
	bool padding;		/* the last store of a WQE did not end at a multiple of 64 bytes */
	/* A CQ doorbell written as two 4-byte halves. */
	uint64_t cq_half_addr;
	uint32_t cq_half;
};

struct uars {
	struct stores s;
	int timer;		/* an event loop's own timers are too coarse */
	struct event *expired;
	bool ticking;
	bool held;		/* vfio_user.c looks for more stores: the timer does not start */
	uint64_t seen;		/* the stamp when the timer was started last */
};

static uint32_t uar_num(const struct hca *hca, uint64_t off)
{
	return off >> uar_shift(hca);
}

static uint32_t uar_reg(const struct hca *hca, uint64_t off)
{
	return off & ((1ull << uar_shift(hca)) - 1);
}

static void uar_drop(struct hca *hca, enum drop_reason why, uint64_t off)
{
	doorbell_drop(hca, why, uar_num(hca, off), uar_reg(hca, off));
}

/* ---- the end of a burst ---------------------------------------------------------------------- */

/* If a doorbell is not delivered yet, arm the timer, unless it is armed. */
static void uar_timer_start(struct uars *u)
{
	const struct itimerspec t = { .it_value.tv_nsec = BURST_NS };

	if (!u->s.pending || u->ticking || u->held)
		return;
	u->ticking = true;
	u->seen = u->s.stamp;
	timerfd_settime(u->timer, 0, &t, NULL);
}

static void uar_timer_expired(evutil_socket_t fd, short what, void *arg)
{
	struct hca *hca = arg;
	struct uars *u = hca->uars;
	uint64_t n;

	(void)what;
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return;
	u->ticking = false;
	if (u->s.stamp == u->seen)
		uar_idle(hca);
	uar_timer_start(u);
}

/**
 * uar_hold() - from now on the caller, instead of the event loop, receives more stores
 * @hca: the HCA
 *
 * The timer of a burst does not start before uar_release(). The caller may not wait for long.
 */
void uar_hold(struct hca *hca)
{
	hca->uars->held = true;
}

/**
 * uar_unfinished() - tell whether more stores to a BlueFlame buffer are probably on their way
 * @hca: the HCA
 *
 * These stores are the rest of a WQE, or pad a WQE that was delivered.
 */
bool uar_unfinished(const struct hca *hca)
{
	return hca->uars->s.pending || hca->uars->s.padding;
}

/**
 * uar_release() - let the event loop look for more stores
 * @hca: the HCA
 */
void uar_release(struct hca *hca)
{
	hca->uars->held = false;
	uar_timer_start(hca->uars);
}

static void uar_reset(struct hca *hca)
{
	memset(&hca->uars->s, 0, sizeof(hca->uars->s));
	obj_free_all(hca, OBJ_UAR);
}

static void uar_exit(struct hca *hca)
{
	struct uars *u = hca->uars;

	if (u->expired)
		event_free(u->expired);
	if (u->timer >= 0)
		close(u->timer);
	free(u);
	hca->uars = NULL;
}

static int uar_init(struct hca *hca)
{
	struct uars *u = calloc(1, sizeof(*u));

	hca->uars = u;
	if (!u)
		return -ENOMEM;
	u->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (u->timer >= 0)
		u->expired = event_new(hca->base, u->timer, EV_READ | EV_PERSIST,
				       uar_timer_expired, hca);
	if (u->expired && !event_add(u->expired, NULL))
		return 0;
	uar_exit(hca);
	return -ENOMEM;
}

const struct hca_module uar_module = {
	.name = "uar", .init = uar_init, .reset = uar_reset, .exit = uar_exit,
};

/* ---- BlueFlame ------------------------------------------------------------------------------- */

/* Return the length of the WQE in bytes from its control segment; 0 is not a valid length. */
static size_t uar_bf_want(const struct bf *b)
{
	return (get_be32(b->buf + 4) & 0x3f) * 16;
}

static void uar_bf_deliver(struct hca *hca, struct bf *b, bool whole)
{
	uint32_t uar = uar_num(hca, b->addr), qpn = get_be32(b->buf + 4) >> 8;
	size_t len = whole ? uar_bf_want(b) : 8;

	b->delivered = true;
	hca->uars->s.pending--;
	hca->count.bf_same_buffer += whole && b->again;
	hca_trace(hca, "doorbell", "\"uar\":%u,\"reg\":\"%s\",\"bf\":%u,\"qpn\":%u,\"idx\":%u",
		  uar, len > 8 ? "blueflame" : "send",
		  (uar_reg(hca, b->addr) - REG_BF) / 512, qpn,
		  get_be32(b->buf) >> 8 & 0xffff);
	hca->board->doorbells->send(hca, uar, b->buf, len);
}

/*
 * No more stores come for this doorbell: deliver it without the rest of its WQE, or drop it if only
 * four bytes of it have come.
 */
static void uar_bf_end(struct hca *hca, struct bf *b)
{
	if (b->delivered)
		return;
	if (b->len >= 8) {
		uar_bf_deliver(hca, b, false);
		return;
	}
	b->delivered = true;
	uar_drop(hca, DROP_BAD_SIZE, b->addr);
}

static struct bf *uar_bf_find(struct hca *hca, uint64_t addr)
{
	struct bf *b = hca->uars->s.bf;

	for (; b < hca->uars->s.bf + PENDING; b++)
		if (b->addr == addr)
			return b;
	return NULL;
}

/* Take the entry of the least recently used buffer for the buffer at @addr. */
static struct bf *uar_bf_new(struct hca *hca, uint64_t addr)
{
	struct bf *b = hca->uars->s.bf, *old = b;

	for (; b < hca->uars->s.bf + PENDING; b++)
		if (b->used < old->used)
			old = b;
	if (old->addr)
		uar_bf_end(hca, old);
	*old = (struct bf) { .addr = addr, .delivered = true };
	return old;
}

/*
 * The first store of a doorbell. The driver flushes its stores before it writes to the register
 * again, so no more stores come for an earlier doorbell.
 */
static void uar_bf_begin(struct hca *hca, struct bf *b)
{
	struct bf *other = uar_bf_find(hca, b->addr ^ BF_BUF);

	if (other)
		uar_bf_end(hca, other);
	uar_bf_end(hca, b);
	b->again = b->begun && (!other || other->begun < b->begun);
	b->plain &= b->len <= 8;	/* not plain, if more bytes followed the last doorbell */
	b->begun = b->used;
	b->len = 0;
	b->delivered = false;
}

static void uar_bf_store(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len)
{
	bool blueflame = hca_cap_gen(hca, bf);
	uint32_t at = off % BF_BUF;
	struct bf *b;

	if (at >= 8 && !blueflame) {
		uar_drop(hca, DROP_NO_BLUEFLAME, off);
		return;
	}
	b = uar_bf_find(hca, off - at) ?: uar_bf_new(hca, off - at);
	if (at && at != b->len) {
		uar_drop(hca, DROP_BAD_OFFSET, off);
		return;
	}
	b->used = ++hca->uars->s.stamp;
	if (!at)
		uar_bf_begin(hca, b);
	memcpy(b->buf + at, buf, len);
	b->len += len;
	hca->uars->s.padding = b->len > 8 && b->len % BF_UNIT;
	if (b->delivered || b->len < 8)
		return;
	hca->uars->s.pending += b->len - len < 8;
	/*
	 * A WQE that is longer than the buffer, or has no length, is no BlueFlame write: deliver a
	 * plain doorbell at once. A real device does the same if the processor does not combine
	 * stores.
	 */
	if (uar_bf_want(b) > BF_BUF || uar_bf_want(b) < 16 || b->plain || !blueflame ||
	    hca->profile->no_write_combining)
		uar_bf_deliver(hca, b, false);
	else if (b->len >= uar_bf_want(b))
		uar_bf_deliver(hca, b, true);
}

/**
 * uar_idle() - no more stores arrive: deliver incomplete BlueFlame writes as plain doorbells
 * @hca: the HCA
 */
void uar_idle(struct hca *hca)
{
	struct bf *b;

	for (b = hca->uars->s.bf; b < hca->uars->s.bf + PENDING; b++)
		if (b->addr && !b->delivered && b->len >= 8) {
			b->plain = b->len == 8;
			uar_bf_deliver(hca, b, false);
		}
}

/* ---- registers ------------------------------------------------------------------------------- */

/* A CQ doorbell is one store of 8 bytes, or two of 4, of which the second rings the doorbell. */
static void uar_store_cq(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len)
{
	struct stores *u = &hca->uars->s;
	uint64_t val;

	if (len == 8) {
		val = get_be64(buf);
	} else if (off % 8 == 0) {
		u->cq_half_addr = off;
		u->cq_half = get_be32(buf);
		return;
	} else if (u->cq_half_addr == off - 4) {
		val = (uint64_t)u->cq_half << 32 | get_be32(buf);
		u->cq_half_addr = 0;
	} else {
		uar_drop(hca, DROP_BAD_SIZE, off);
		return;
	}
	hca->board->doorbells->cq_arm(hca, uar_num(hca, off), val);
}

static void uar_store_eq(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len)
{
	if (len != 4)
		uar_drop(hca, DROP_BAD_SIZE, off);
	else
		hca->board->doorbells->eq(hca, uar_num(hca, off), get_be32(buf),
					  uar_reg(hca, off) == REG_EQ_ARM);
}

/**
 * uar_write() - serve a store into a UAR page
 * @hca: the HCA
 * @off: bytes from BAR0's start
 * @buf: the bytes
 * @len: number of bytes; a store is 4 or 8 bytes and aligned, longer writes are split
 */
void uar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len)
{
	const struct obj *page;
	uint32_t reg;

	if (hca->hung || hca->fatal)
		return;
	for (; len > 8; off += 8, buf += 8, len -= 8)
		uar_write(hca, off, buf, 8);
	page = uar_find(hca, uar_num(hca, off));
	reg = uar_reg(hca, off);
	if (!page || page->gone)
		uar_drop(hca, DROP_NO_UAR, off);
	else if ((len != 4 && len != 8) || off % len)
		uar_drop(hca, DROP_BAD_SIZE, off);
	else if (reg >= REG_BF && reg < REG_END)
		uar_bf_store(hca, off, buf, len);
	else if (reg == REG_CQ || reg == REG_CQ + 4)
		uar_store_cq(hca, off, buf, len);
	else if (reg == REG_EQ_ARM || reg == REG_EQ)
		uar_store_eq(hca, off, buf, len);
	else
		uar_drop(hca, DROP_BAD_OFFSET, off);
	uar_timer_start(hca->uars);
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t alloc_uar(struct hca *hca, struct cmd *cmd)
{
	const struct obj_numbers n = uar_numbers(hca);
	struct obj *o = obj_new_of(hca, OBJ_UAR, &n, cmd->uid, sizeof(*o));

	if (!o)
		return cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "all %u UARs are in use",
				n.limit - n.first);
	IFC_SET(alloc_uar_out, cmd->out, uar, o->num);
	return ST_OK;
}

/* End the bursts to the UARs of a page, of which @first is the first. */
static void uar_forget(struct hca *hca, uint32_t first)
{
	struct bf *b;

	for (b = hca->uars->s.bf; b < hca->uars->s.bf + PENDING; b++) {
		if (!b->addr || uar_first(hca, uar_num(hca, b->addr)) != first)
			continue;
		uar_bf_end(hca, b);
		b->addr = 0;
	}
}

static uint8_t dealloc_uar(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = IFC_GET(dealloc_uar_in, cmd->in, uar);
	struct obj *o;
	uint8_t st;

	if (uar_first(hca, num) != num)
		return cmd_fail(cmd, ST_BAD_RES, WHY_UAR_NOT_FIRST,
				"uar 0x%x is not the first of its page of %u UARs", num,
				uars_per_page(hca));
	if (hca->profile->refuse_busy_uars)
		st = check_destroy(hca, cmd, OBJ_UAR, num, &o);
	else
		st = check_obj(hca, cmd, OBJ_UAR, num, &o);
	if (st)
		return st;
	uar_forget(hca, num);
	/*
	 * The stock driver frees the UARs of a process that died before it destroys the queues that
	 * use them, so DEALLOC_UAR is refused for these queues only if the profile says so. No
	 * doorbell on the freed page is accepted any more, and the UAR's number is reused after the
	 * last of the queues is destroyed.
	 */
	o->gone = true;
	if (!o->refs)
		obj_free(hca, o);
	return ST_OK;
}

const struct cmd_desc uar_cmds[] = {
	CMD(ALLOC_UAR, alloc_uar, alloc_uar),
	CMD(DEALLOC_UAR, dealloc_uar, dealloc_uar),
	{}
};
