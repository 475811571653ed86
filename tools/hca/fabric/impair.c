// SPDX-License-Identifier: GPL-2.0
/*
 * Impairments of the link to an HCA's port: the packets that are held back, the source of random
 * numbers, and the timer that releases packets.
 *
 * A corrupted packet has a wrong CRC, so that the port drops and counts it. InfiniBand's subnet
 * management packets are not impaired: a subnet manager can configure a lossy fabric, too.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
#include "fabric.h"
#include "hca.h"
#include "impair.h"
#include "packet_head.h"
#include "util.h"

#define REORDER_NS	5000000		/* a reordered packet is not held longer than this */
#define DELAY_MS	2		/* the longest delay, if none is given */
#define DELAY_MS_MAX	1000
#define SEED		1		/* if none is given */

const char *const impair_names[IMPAIRMENTS] = {
	[IMPAIR_LOSS] = "loss", [IMPAIR_DUP] = "dup", [IMPAIR_REORDER] = "reorder",
	[IMPAIR_CORRUPT] = "corrupt", [IMPAIR_DELAY] = "delay",
};

struct impair {
	struct hca *hca;
	const struct packet_type *type;
	void (*arrive)(struct hca *hca, struct packet_head *p);
	bool on;			/* a probability is not 0 */
	struct impair_settings set;
	struct impair_counts count;
	uint64_t random;		/* state of the random numbers */
	struct packet_queue reordered;	/* packets to be overtaken, in order of time-outs */
	struct packet_queue delayed;	/* delayed packets, and the packets behind them */
	uint64_t delayed_until;		/* when the last packet in @delayed is released */
	struct event *timer;		/* for the next packet whose time ends */
};

/* What happens to a packet. */
struct fate {
	bool is[IMPAIRMENTS];
	unsigned int overtakers;	/* if it is reordered: packets to overtake it */
	uint64_t delay_ns;		/* if it is delayed */
};

/* ---- settings -------------------------------------------------------------------------------- */

static bool impair_parse_percent(const char *s, uint32_t *ppm)
{
	double v;
	char *end;

	if (!*s || strspn(s, "0123456789.") != strcspn(s, "%"))
		return false;
	v = strtod(s, &end);
	if (end == s || (*end && strcmp(end, "%")) || v > 100)
		return false;
	*ppm = v * (IMPAIR_ALWAYS / 100) + 0.5;
	return *ppm || v == 0;
}

static bool impair_parse_number(const char *s, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && !errno && *v <= max;
}

/* Parse one setting. Returns NULL, or what the value has to be if it is wrong. */
static const char *impair_parse_one(const char *key, const char *value, struct impair_settings *s)
{
	uint64_t v;
	unsigned int i;

	for (i = 0; i < IMPAIRMENTS; i++)
		if (!strcmp(key, impair_names[i]))
			return impair_parse_percent(value, &s->ppm[i]) ? NULL :
			       "a percentage, 0 or from 0.0001 to 100";
	if (!strcmp(key, "seed"))
		return impair_parse_number(value, UINT64_MAX, &s->seed) ? NULL : "a number";
	if (strcmp(key, "delay_ms"))
		return "";
	if (!impair_parse_number(value, DELAY_MS_MAX, &v) || !v)
		return "a number from 1 to 1000";
	s->delay_ms = v;
	return NULL;
}

/**
 * impair_parse() - parse settings
 * @text: settings of the form KEY=VALUE, separated by commas
 * @s: set to the settings; if not in @text, delay_ms is DELAY_MS, seed is SEED, all else is 0
 * @why: set to a reason in words if @text is wrong
 * @len: bytes of @why
 *
 * Return: false if @text is wrong.
 */
bool impair_parse(const char *text, struct impair_settings *s, char *why, size_t len)
{
	char copy[256], *save = NULL, *word, *value;
	const char *want;

	*s = (struct impair_settings){ .delay_ms = DELAY_MS, .seed = SEED };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy) || !*copy) {
		snprintf(why, len, "the settings are KEY=VALUE[,KEY=VALUE...]");
		return false;
	}
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		value = strchr(word, '=');
		if (value)
			*value++ = 0;
		want = impair_parse_one(word, value ? value : "", s);
		if (!want)
			continue;
		if (*want)
			snprintf(why, len, "%s has to be %s, not \"%s\"", word, want,
				 value ? value : "");
		else
			snprintf(why, len, "no setting %s: there are loss, dup, reorder, corrupt, "
				 "delay, delay_ms and seed", word);
		return false;
	}
	return true;
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* SplitMix64: the state is a counter, which is hashed. */
static uint64_t impair_random(struct impair *im)
{
	uint64_t z = im->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/*
 * Draw the same number of random numbers for every packet. So the fate of the Nth packet depends on
 * the seed and N, and a change of one probability does not affect the other impairments.
 */
static struct fate impair_decide(struct impair *im)
{
	struct fate fate;
	unsigned int i;

	for (i = 0; i < IMPAIRMENTS; i++)
		fate.is[i] = impair_random(im) % IMPAIR_ALWAYS < im->set.ppm[i];
	fate.overtakers = 1 + impair_random(im) % IMPAIR_OVERTAKE;
	fate.delay_ns = 1 + impair_random(im) % (im->set.delay_ms * 1000000ull);
	return fate;
}

/* ---- packets that are held back -------------------------------------------------------------- */

static void impair_drop(struct impair *im, struct packet_head *p)
{
	im->type->free(im->hca->fabric, p);
}

static void impair_hold(struct impair *im, struct packet_queue *q, struct packet_head *p)
{
	STAILQ_INSERT_TAIL(q, p, link);
	im->count.held++;
}

static void impair_unhold(struct impair *im, struct packet_queue *q, struct packet_head *p)
{
	STAILQ_REMOVE(q, p, packet_head, link);
	im->count.held--;
}

/*
 * Pass a packet to the port, @delay_ns later. A delayed packet holds up the packets behind it, so
 * that a delay alone does not reorder packets.
 */
static void impair_pass(struct impair *im, struct packet_head *p, uint64_t delay_ns)
{
	bool behind = !STAILQ_EMPTY(&im->delayed);
	uint64_t until = delay_ns ? clock_now_ns() + delay_ns : 0;

	if (!delay_ns && !behind) {
		im->arrive(im->hca, p);
		return;
	}
	if (!behind || until > im->delayed_until)
		im->delayed_until = until;
	p->release_ns = im->delayed_until;
	impair_hold(im, &im->delayed, p);
}

/* A packet has passed: each packet that waits to be overtaken waits for one packet less. */
static void impair_overtake(struct impair *im)
{
	struct packet_head *p, *next;

	for (p = STAILQ_FIRST(&im->reordered); p; p = next) {
		next = STAILQ_NEXT(p, link);
		if (--p->overtakers)
			continue;
		impair_unhold(im, &im->reordered, p);
		impair_pass(im, p, 0);
	}
}

static void impair_release(struct impair *im, uint64_t now)
{
	struct packet_head *p;

	while ((p = STAILQ_FIRST(&im->reordered)) && p->release_ns <= now) {
		impair_unhold(im, &im->reordered, p);
		impair_pass(im, p, 0);
	}
	while ((p = STAILQ_FIRST(&im->delayed)) && p->release_ns <= now) {
		impair_unhold(im, &im->delayed, p);
		im->arrive(im->hca, p);
	}
}

static void impair_arm(struct impair *im)
{
	const struct packet_head *r = STAILQ_FIRST(&im->reordered), *d = STAILQ_FIRST(&im->delayed);
	uint64_t now, at = UINT64_MAX;
	struct timeval tv = { 0 };

	if (!r && !d) {
		evtimer_del(im->timer);
		return;
	}
	if (r)
		at = r->release_ns;
	if (d && d->release_ns < at)
		at = d->release_ns;
	now = clock_now_ns();
	if (at > now) {
		tv.tv_sec = (at - now) / 1000000000;
		tv.tv_usec = (at - now) % 1000000000 / 1000 + 1;
		tv.tv_sec += tv.tv_usec / 1000000;
		tv.tv_usec %= 1000000;
	}
	evtimer_add(im->timer, &tv);
}

static void impair_fired(evutil_socket_t fd, short what, void *arg)
{
	struct impair *im = arg;

	(void)fd;
	(void)what;
	impair_release(im, clock_now_ns());
	impair_arm(im);
}

/* ---- packets --------------------------------------------------------------------------------- */

static void impair_count(struct impair *im, enum impairment which, const struct packet_head *p)
{
	char text[100];

	im->count.n[which]++;
	im->type->describe(p, text, sizeof(text));
	hca_trace(im->hca, "impair", "\"what\":\"%s\",%s", impair_names[which], text);
}

static bool impair_discards(struct impair *im, const struct fate *fate, const struct packet_head *p)
{
	if (fate->is[IMPAIR_LOSS]) {
		impair_count(im, IMPAIR_LOSS, p);
	} else if (fate->is[IMPAIR_CORRUPT]) {
		impair_count(im, IMPAIR_CORRUPT, p);
		im->hca->count.packets_corrupted++;
	} else {
		return false;
	}
	return true;
}

/* The copy is passed without a delay, even if the packet itself is delayed or reordered. */
static void impair_duplicate(struct impair *im, const struct packet_head *p)
{
	struct packet_head *copy = im->type->copy(im->hca->fabric, p);

	if (!copy)
		return;
	impair_count(im, IMPAIR_DUP, p);
	impair_pass(im, copy, 0);
}

static void impair_surviving(struct impair *im, const struct fate *fate, struct packet_head *p)
{
	bool reorder = fate->is[IMPAIR_REORDER];

	if (fate->is[IMPAIR_DUP])
		impair_duplicate(im, p);
	if (reorder)
		impair_count(im, IMPAIR_REORDER, p);
	else if (fate->is[IMPAIR_DELAY])
		impair_count(im, IMPAIR_DELAY, p);
	if (!reorder)
		impair_pass(im, p, fate->is[IMPAIR_DELAY] ? fate->delay_ns : 0);
	impair_overtake(im);
	if (reorder) {
		p->overtakers = fate->overtakers;
		p->release_ns = clock_now_ns() + REORDER_NS;
		impair_hold(im, &im->reordered, p);
	}
	impair_arm(im);
}

/**
 * impair_packet() - let a packet travel over the link
 * @im: the impairments of the link
 * @p: the packet, which the impairments own from here
 *
 * It arrives at once, later, twice or never.
 */
void impair_packet(struct impair *im, struct packet_head *p)
{
	struct fate fate;

	if (!im->on || !im->type->impaired(p)) {
		im->arrive(im->hca, p);
		return;
	}
	im->count.packets++;
	fate = impair_decide(im);
	if (impair_discards(im, &fate, p))
		impair_drop(im, p);
	else
		impair_surviving(im, &fate, p);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/**
 * impair_new() - make the impairments of a link, which is perfect until impair_start()
 * @hca: the HCA at its end
 * @type: of the packets
 * @arrive: called for each packet that arrives
 *
 * Return: the impairments, or NULL if memory is short.
 */
struct impair *impair_new(struct hca *hca, const struct packet_type *type,
			  void (*arrive)(struct hca *hca, struct packet_head *p))
{
	struct impair *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	im->hca = hca;
	im->type = type;
	im->arrive = arrive;
	STAILQ_INIT(&im->reordered);
	STAILQ_INIT(&im->delayed);
	return im;
}

/**
 * impair_free() - free the impairments, and drop the packets that they hold
 * @im: the impairments
 */
void impair_free(struct impair *im)
{
	impair_drain(im);
	if (im->timer)
		event_free(im->timer);
	free(im);
}

/**
 * impair_start() - replace the settings, set the counts to zero, and start the random numbers again
 * @im: the impairments
 * @s: the settings
 *
 * The ports of a fabric that are given the same seed have different random numbers. Packets that
 * were held arrive now.
 *
 * Return: 0 or -ENOMEM.
 */
int impair_start(struct impair *im, const struct impair_settings *s)
{
	unsigned int i;

	if (!im->timer)
		im->timer = evtimer_new(im->hca->base, impair_fired, im);
	if (!im->timer)
		return -ENOMEM;
	impair_stop(im);
	memset(&im->count, 0, sizeof(im->count));
	im->set = *s;
	im->random = s->seed;
	im->random = impair_random(im) ^ fabric_port_number(im->hca);
	for (i = 0; i < IMPAIRMENTS; i++)
		im->on |= s->ppm[i];
	return 0;
}

/**
 * impair_stop() - make the link perfect again
 * @im: the impairments
 *
 * Packets that were held arrive now. The counts stay.
 */
void impair_stop(struct impair *im)
{
	im->on = false;
	memset(im->set.ppm, 0, sizeof(im->set.ppm));
	if (!im->timer)
		return;
	impair_release(im, UINT64_MAX);
	impair_arm(im);
}

static void impair_drain_queue(struct impair *im, struct packet_queue *q)
{
	struct packet_head *p;

	while ((p = STAILQ_FIRST(q))) {
		impair_unhold(im, q, p);
		impair_drop(im, p);
	}
}

/**
 * impair_drain() - drop the packets that are held, because the link went down
 * @im: the impairments
 */
void impair_drain(struct impair *im)
{
	impair_drain_queue(im, &im->reordered);
	impair_drain_queue(im, &im->delayed);
	if (im->timer)
		evtimer_del(im->timer);
}

/**
 * impair_held() - count the packets that are held
 * @im: the impairments
 */
unsigned int impair_held(const struct impair *im)
{
	return im->count.held;
}

/**
 * impair_settings() - get the present settings
 * @im: the impairments
 */
const struct impair_settings *impair_settings(const struct impair *im)
{
	return &im->set;
}

/**
 * impair_counts() - the counts since impair_start()
 * @im: the impairments
 */
struct impair_counts impair_counts(const struct impair *im)
{
	return im->count;
}
