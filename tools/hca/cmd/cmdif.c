// SPDX-License-Identifier: GPL-2.0
/*
 * The command queue: its registers, and the life of a command from the doorbell to the ownership
 * bit and the event that show its completion. Commands are executed and answered at once unless
 * the profile or an injection says otherwise.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "cmdif.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mailbox.h"
#include "mem.h"
#include "profile.h"

#define CMD_TYPE_PCI	7
#define OWNER_HW	1
#define OUT_HDR		8	/* status and syndrome: the shortest output */
#define MAX_CMD_LEN	(2u << 20)

#define LOG_STRIDE	6
#define LOG_SIZE	5

#define NO_SLOT		HCA_CMD_SLOTS
#define REORDER_US	10000	/* answers are held for so long, then given in reverse order */

enum slot_state {
	SLOT_FREE,	/* the entry is the driver's */
	SLOT_FETCHED,	/* the input has been read */
	SLOT_EXECUTED,	/* the output has not been stored yet */
};

/* An entry of the queue, from the doorbell until the entry is the driver's again. */
struct slot {
	struct hca *hca;
	enum slot_state state;
	bool event;		/* post an event for the answer */
	uint64_t held;		/* rank of a held answer, the highest is given first; 0: not held */
	enum delivery dl;
	uint8_t lay[LAY_SIZE];
	uint8_t *in, *out;
	size_t in_len, out_len;
	struct event *timer;	/* executes or answers the command later */
};

struct cmdif {
	uint64_t queue;		/* guest address, 0: not set */
	struct slot slot[HCA_CMD_SLOTS];
	unsigned int running;	/* slot whose command is being executed, or NO_SLOT */
	uint64_t holds;		/* number of answers held back so far */
	struct event *release;	/* timer: gives all answers that are held back */
	uint32_t random;
};

/**
 * cmdif_log_size() - size of the command queue
 *
 * Return: log2 of the number of entries.
 */
unsigned int cmdif_log_size(void)
{
	return LOG_SIZE;
}

/**
 * cmdif_log_stride() - size of an entry of the command queue
 *
 * Return: log2 of the bytes.
 */
unsigned int cmdif_log_stride(void)
{
	return LOG_STRIDE;
}

/**
 * cmdif_set_queue() - the driver wrote the address of the queue
 * @hca: the HCA
 * @addr: guest address of 32 entries of 64 bytes, 4 KiB aligned; 0 stops the interface
 */
void cmdif_set_queue(struct hca *hca, uint64_t addr)
{
	hca->cmdif->queue = addr;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static unsigned int slot_number(const struct slot *s)
{
	return s - s->hca->cmdif->slot;
}

static void slot_free(struct slot *s)
{
	free(s->in);
	free(s->out);
	s->in = NULL;
	s->out = NULL;
	s->held = 0;
	s->state = SLOT_FREE;
	event_del(s->timer);
}

static bool cmdif_is_dead(const struct hca *hca)
{
	return hca->hung || hca->fatal || hca->unplugged;
}

static enum delivery slot_check(const struct slot *s)
{
	const uint8_t *lay = s->lay;

	if (mailbox_xor(lay, LAY_SIZE) != 0xff)
		return DL_SIG;
	if (lay[LAY_TYPE] != CMD_TYPE_PCI)
		return DL_DESCR;
	if (lay[1] || lay[2] || lay[3] || lay[62])
		return DL_RESERVED;
	if (s->in_len < INLINE || s->in_len > MAX_CMD_LEN)
		return DL_IN_LEN;
	if (s->out_len < OUT_HDR || s->out_len > MAX_CMD_LEN)
		return DL_OUT_LEN;
	return DL_OK;
}

static enum delivery slot_read(struct slot *s)
{
	enum delivery dl = slot_check(s);

	if (dl != DL_OK)
		return dl;
	s->in = calloc(1, s->in_len);
	s->out = calloc(1, s->out_len);
	if (!s->in || !s->out)
		return DL_FW;
	dl = mailbox_chain_read(s->hca, s->lay, s->in, s->in_len);
	return dl == DL_OK ? mailbox_chain_check(s->hca, s->lay, s->out_len) : dl;
}

static uint8_t *slot_entry(const struct slot *s)
{
	return mem_ptr(s->hca, s->hca->cmdif->queue + (slot_number(s) << LOG_STRIDE), LAY_SIZE,
		       true);
}

/*
 * Read the command in a slot. Returns false if the HCA does not own the entry, or has not answered
 * the last command in this slot.
 */
static bool slot_fetch(struct slot *s)
{
	uint8_t *guest = slot_entry(s);

	if (s->state != SLOT_FREE || !guest ||
	    !(__atomic_load_n(guest + LAY_OWN, __ATOMIC_ACQUIRE) & OWNER_HW)) {
		hca_trace(s->hca, "cmd_drop", "\"slot\":%u", slot_number(s));
		return false;
	}
	memcpy(s->lay, guest, LAY_SIZE);
	s->in_len = get_be32(s->lay + LAY_INLEN);
	s->out_len = get_be32(s->lay + LAY_OUTLEN);
	s->dl = slot_read(s);
	s->state = SLOT_FETCHED;
	return true;
}

/* Store the output and give the entry back. Returns false if the HCA no longer answers commands. */
static bool slot_answer(struct slot *s)
{
	uint8_t *guest = slot_entry(s);

	if (cmdif_is_dead(s->hca) || !guest) {
		slot_free(s);
		return false;
	}
	if (s->dl == DL_OK)
		mailbox_chain_write(s->hca, s->lay, s->out, s->out_len);
	s->lay[LAY_OWN] = s->dl << 1;
	s->lay[LAY_SIG] = 0;
	s->lay[LAY_SIG] = ~mailbox_xor(s->lay, LAY_SIZE);
	memcpy(guest, s->lay, LAY_OWN);
	__atomic_store_n(guest + LAY_OWN, s->lay[LAY_OWN], __ATOMIC_RELEASE);
	slot_free(s);
	return true;
}

static void cmdif_post_event(struct hca *hca, uint32_t slots)
{
	uint8_t data[28] = { 0 };

	put_be32(data, slots);
	eq_post_async(hca, EV_CMD, 0, data);
}

/* Answer one command by itself, with an event of its own. */
static void slot_answer_alone(struct slot *s)
{
	unsigned int n = slot_number(s);
	bool event = s->event;

	hca_trace(s->hca, "cmd_answer", "\"slot\":%u", n);
	if (slot_answer(s) && event)
		cmdif_post_event(s->hca, 1u << n);
}

/* ---- commands that are executed or answered later -------------------------------------------- */

static void slot_later(struct slot *s, unsigned int us)
{
	const struct timeval tv = { us / 1000000, us % 1000000 };

	event_add(s->timer, &tv);
}

/* Draw a random delay: from 1 to @max_us, the profile's longest. */
static unsigned int cmdif_delay(struct cmdif *c, unsigned int max_us)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 17;
	c->random ^= c->random << 5;
	return 1 + c->random % max_us;
}

/* Hold the answer back until later commands have been answered. */
static void slot_hold(struct slot *s)
{
	const struct timeval tv = { 0, REORDER_US };
	struct cmdif *c = s->hca->cmdif;

	s->held = ++c->holds;
	if (!event_pending(c->release, EV_TIMEOUT, NULL))
		event_add(c->release, &tv);
}

static struct slot *cmdif_last_held(struct cmdif *c)
{
	struct slot *last = NULL;
	unsigned int i;

	for (i = 0; i < HCA_CMD_SLOTS; i++)
		if (c->slot[i].held && (!last || c->slot[i].held > last->held))
			last = &c->slot[i];
	return last;
}

static void cmdif_on_release(evutil_socket_t fd, short what, void *arg)
{
	struct hca *hca = arg;
	struct slot *s;

	(void)fd;
	(void)what;
	while ((s = cmdif_last_held(hca->cmdif)))
		slot_answer_alone(s);
}

/* Execute the command. Returns true if the caller is to answer it, false if a timer will. */
static bool slot_execute(struct slot *s)
{
	struct cmdif *c = s->hca->cmdif;
	unsigned int delay_us = 0;

	if (s->dl == DL_OK) {
		c->running = slot_number(s);
		cmd_execute(s->hca, s->in, s->in_len, s->out, s->out_len, c->running);
		c->running = NO_SLOT;
		delay_us = inject_cmd_delay(s->hca->inject, IFC_GET(alloc_uar_in, s->in, opcode)) *
			   1000;
	} else {
		hca_trace(s->hca, "cmd_undelivered", "\"slot\":%u,\"delivery\":%u",
			  slot_number(s), s->dl);
	}
	s->state = SLOT_EXECUTED;
	if (s->hca->profile->command_delay_us)
		delay_us += cmdif_delay(c, s->hca->profile->command_delay_us);
	if (delay_us)
		slot_later(s, delay_us);
	else if (inject_cmd_reorder(s->hca->inject))
		slot_hold(s);
	else
		return true;
	return false;
}

static void slot_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct slot *s = arg;

	(void)fd;
	(void)what;
	if (cmdif_is_dead(s->hca))
		slot_free(s);
	else if (s->state == SLOT_FETCHED && !slot_execute(s))
		return;
	else if (inject_cmd_reorder(s->hca->inject))
		slot_hold(s);
	else
		slot_answer_alone(s);
}

/*
 * Start a timer for the command if the profile or a test delays its execution. Returns false if the
 * caller is to execute the command now.
 */
static bool slot_defer(struct slot *s)
{
	unsigned int us = 0;

	if (s->dl == DL_OK)
		us = inject_cmd_deferral(s->hca->inject,
					 IFC_GET(alloc_uar_in, s->in, opcode)) * 1000;
	if (s->hca->profile->command_delay_us)
		us += cmdif_delay(s->hca->cmdif, s->hca->profile->command_delay_us);
	if (us)
		slot_later(s, us);
	return us;
}

/**
 * cmdif_doorbell() - the driver rang the command doorbell
 * @hca: the HCA
 * @slots: bitmap of queue entries that have a command
 *
 * Executes the commands in order of their slots, and posts one event for all of them, if an event
 * queue subscribed to EV_CMD; the ownership bit of each entry shows its completion. With a profile
 * that delays commands, each command is executed and answered by itself, later, in any order.
 */
void cmdif_doorbell(struct hca *hca, uint32_t slots)
{
	/* An event queue that one of these commands creates gets no event for these commands. */
	bool event = eq_subscribed(hca, EV_CMD);
	struct cmdif *c = hca->cmdif;
	uint32_t done = 0;
	unsigned int i;

	if (cmdif_is_dead(hca) || !c->queue)
		return;
	for (i = 0; i < HCA_CMD_SLOTS; i++) {
		if (!(slots >> i & 1) || !slot_fetch(&c->slot[i]))
			continue;
		c->slot[i].event = event;
		if (!slot_defer(&c->slot[i]) && slot_execute(&c->slot[i]) &&
		    slot_answer(&c->slot[i]))
			done |= 1u << i;
	}
	if (done && event)
		cmdif_post_event(hca, done);
}

/* ---- module ---------------------------------------------------------------------------------- */

/*
 * At DISABLE_HCA and at device reset, drop all commands without an answer, except the command that
 * is being executed: DISABLE_HCA itself.
 */
static void cmdif_reset(struct hca *hca)
{
	struct cmdif *c = hca->cmdif;
	unsigned int i;

	for (i = 0; i < HCA_CMD_SLOTS && hca->life == LIFE_RESET; i++)
		if (c->slot[i].state != SLOT_FREE && i != c->running)
			slot_free(&c->slot[i]);
}

static void cmdif_restart(struct hca *hca)
{
	cmdif_set_queue(hca, 0);
}

static void cmdif_exit(struct hca *hca)
{
	struct cmdif *c = hca->cmdif;
	unsigned int i;

	for (i = 0; i < HCA_CMD_SLOTS; i++) {
		if (!c->slot[i].timer)
			continue;
		slot_free(&c->slot[i]);
		event_free(c->slot[i].timer);
	}
	if (c->release)
		event_free(c->release);
	free(c);
	hca->cmdif = NULL;
}

static int cmdif_init(struct hca *hca)
{
	struct cmdif *c = calloc(1, sizeof(*c));
	bool short_of_memory;
	unsigned int i;

	hca->cmdif = c;
	if (!c)
		return -ENOMEM;
	c->running = NO_SLOT;
	c->random = 1 + hca->index;
	c->release = evtimer_new(hca->base, cmdif_on_release, hca);
	short_of_memory = !c->release;
	for (i = 0; i < HCA_CMD_SLOTS; i++) {
		c->slot[i].hca = hca;
		c->slot[i].timer = evtimer_new(hca->base, slot_on_timer, &c->slot[i]);
		short_of_memory |= !c->slot[i].timer;
	}
	if (short_of_memory)
		cmdif_exit(hca);
	return short_of_memory ? -ENOMEM : 0;
}

const struct hca_module cmdif_module = {
	.name = "cmdif", .init = cmdif_init, .reset = cmdif_reset, .restart = cmdif_restart,
	.exit = cmdif_exit,
};
