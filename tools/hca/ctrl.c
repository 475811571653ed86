// SPDX-License-Identifier: GPL-2.0
/*
 * The control socket: a request a line, a JSON object a line back. Census, counters,
 * trace, and what can be made to go wrong.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmdif.h"
#include "ctrl.h"
#include "hca_priv.h"
#include "trace.h"
#include "uar.h"

#define MAX_INJECT	64
#define MAX_LINE	4096
#define MAX_WORDS	8

struct inject {
	bool used;
	bool by_op;		/* every command of @opcode; else the one after @skip others */
	uint16_t opcode;
	unsigned long skip;
	unsigned long left;	/* times yet to fail; 0: for ever (by_op only) */
	uint8_t status;
};

struct delayed {
	struct hca *hca;
	struct event *timer;
	uint32_t cqn;
	struct completion c;
	uint8_t data[64];
	struct delayed *next;
};

/*
 * What is counted: the kinds of objects, and beside them the memory keys that are free. A free
 * key reaches nothing; drivers keep some for the next registration.
 */
enum { COUNT_MKEY_FREE = OBJ_KINDS, COUNTS };

struct ctrl {
	struct evconnlistener *listener;
	char path[108];
	struct client *clients;
	struct inject inject[MAX_INJECT];
	unsigned int fired;
	unsigned long cqe_left;		/* completions to drop or delay */
	unsigned int cqe_delay_ms;	/* 0: drop */
	unsigned long umr_skip;		/* requests of drivers' UMR queue pairs to let pass, */
	unsigned long umr_left;		/* and then to fail */
	struct delayed *delayed;
	bool have_baseline;
	unsigned int baseline[COUNTS];
};

struct client {
	struct hca *hca;
	struct bufferevent *bev;
	struct client *next;
};

int ctrl_init(struct hca *hca)
{
	hca->ctrl = calloc(1, sizeof(*hca->ctrl));
	return hca->ctrl ? 0 : -ENOMEM;
}

/* ---- answers ---------------------------------------------------------------------------- */

static struct json_object *ok(void)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "ok", json_object_new_boolean(1));
	return o;
}

static struct json_object *fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static struct json_object *fail(const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_object_add(o, "ok", json_object_new_boolean(0));
	json_object_object_add(o, "error", json_object_new_string(text));
	return o;
}

static void add_num(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

/* ---- census -------------------------------------------------------------------------------- */

static const char *count_name(unsigned int k)
{
	return k == COUNT_MKEY_FREE ? "mkey_free" : obj_kind_name[k];
}

static bool counts_as(const struct obj *obj, unsigned int k)
{
	if (obj->kind != OBJ_MKEY)
		return obj->kind == k;
	return k == (((const struct mkey *)obj)->free ? COUNT_MKEY_FREE : OBJ_MKEY);
}

struct tally {
	unsigned int k, n;
	struct json_object *by_uid;	/* or NULL */
};

static bool tally_obj(struct hca *hca, struct obj *obj, void *arg)
{
	struct tally *t = arg;
	struct json_object *by = t->by_uid, *n;
	char uid[8];

	(void)hca;
	if (!counts_as(obj, t->k))
		return true;
	t->n++;
	if (!by)
		return true;
	snprintf(uid, sizeof(uid), "%u", obj->uid);
	if (json_object_object_get_ex(by, uid, &n))
		json_object_int_inc(n, 1);
	else
		add_num(by, uid, 1);
	return true;
}

static unsigned int tally(struct hca *hca, unsigned int k, struct json_object *by_uid)
{
	struct tally t = { .k = k, .by_uid = by_uid };

	obj_for_each(hca, k == COUNT_MKEY_FREE ? OBJ_MKEY : (enum obj_kind)k, tally_obj, &t);
	return t.n;
}

static struct json_object *census_kinds(struct hca *hca, unsigned int *total)
{
	struct json_object *kinds = json_object_new_object();
	unsigned int k;

	for (k = 0; k < COUNTS; k++) {
		struct json_object *by = json_object_new_object();
		unsigned int n = tally(hca, k, by);
		struct json_object *o;

		*total += n;
		if (!n) {
			json_object_put(by);
			continue;
		}
		o = json_object_new_object();
		add_num(o, "total", n);
		json_object_object_add(o, "by_uid", by);
		json_object_object_add(kinds, count_name(k), o);
	}
	return kinds;
}

static struct json_object *do_census(struct hca *hca, unsigned int n, char **w)
{
	struct ctrl *c = hca->ctrl;
	struct json_object *o, *delta;
	unsigned int total = 0, k;

	if (n > 1 && !strcmp(w[1], "reset")) {
		for (k = 0; k < COUNTS; k++)
			c->baseline[k] = tally(hca, k, NULL);
		c->have_baseline = true;
		return ok();
	}
	if (n > 1)
		return fail("census [reset]");
	o = ok();
	json_object_object_add(o, "objects", census_kinds(hca, &total));
	add_num(o, "total", total);
	if (!c->have_baseline)
		return o;
	delta = json_object_new_object();
	for (k = 0; k < COUNTS; k++) {
		int64_t diff = (int64_t)tally(hca, k, NULL) - c->baseline[k];

		if (diff)
			add_num(delta, count_name(k), diff);
	}
	json_object_object_add(o, "delta", delta);
	return o;
}

/* ---- counters ---------------------------------------------------------------------------------- */

static struct json_object *commands_by_name(struct hca *hca, uint64_t *total)
{
	struct json_object *by = json_object_new_object();
	const uint32_t *counts = cmdif_counts(hca);
	unsigned int i;

	for (i = 0; i < CMD_OPCODES; i++) {
		const struct cmd_desc *d = cmd_desc_find(i);
		char hex[12];

		if (!counts[i])
			continue;
		*total += counts[i];
		snprintf(hex, sizeof(hex), "0x%x", i);
		add_num(by, d ? d->name : hex, counts[i]);
	}
	return by;
}

static struct json_object *do_commands(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o, *by;
	uint64_t total = 0;

	if (n > 1 && !strcmp(w[1], "reset")) {
		cmdif_counts_reset(hca);
		return ok();
	}
	if (n > 1)
		return fail("commands [reset]");
	o = ok();
	by = commands_by_name(hca, &total);
	add_num(o, "total", total);
	json_object_object_add(o, "by_name", by);
	return o;
}

static struct json_object *do_counters(struct hca *hca, unsigned int n, char **w)
{
	const struct hca_counters *c = &hca->count;
	const struct { const char *name; uint64_t v; } list[] = {
		{ "doorbells_send", c->db_send }, { "doorbells_blueflame", c->db_bf },
		{ "doorbells_cq", c->db_cq }, { "doorbells_eq", c->db_eq },
		{ "cqes", c->cqes }, { "cqes_error", c->cqes_err }, { "eqes", c->eqes },
		{ "page_faults", c->page_faults },
		{ "page_faults_failed", c->page_faults_failed },
		{ "irqs", c->irqs }, { "packets_tx", c->packets_tx },
		{ "packets_rx", c->packets_rx }, { "packets_dropped", c->packets_dropped },
		{ "wqes_sq", c->wqes_sq }, { "wqes_rq", c->wqes_rq }, { "commands", c->cmds },
		{ "umr", c->umr }, { "umr_refused", c->umr_refused },
		{ "commands_failed", c->cmds_failed }, { "register_reads", c->reg_reads },
		{ "register_writes", c->reg_writes },
	};
	struct json_object *o, *drops = json_object_new_object();
	uint64_t sum = 0, total = 0;
	unsigned int i;

	(void)w;
	if (n > 1) {
		json_object_put(drops);
		return fail("counters takes no argument");
	}
	o = ok();
	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		add_num(o, list[i].name, list[i].v);
	for (i = 0; i < DROP_REASONS; i++) {
		add_num(drops, doorbell_drop_name(i), c->db_drop[i]);
		sum += c->db_drop[i];
	}
	add_num(o, "doorbells_dropped", sum);
	json_object_object_add(o, "dropped_by_reason", drops);
	json_object_object_add(o, "commands_by_name", commands_by_name(hca, &total));
	return o;
}

/* ---- capabilities ------------------------------------------------------------------------------- */

static struct json_object *do_cap(struct hca *hca, unsigned int n, char **w)
{
	uint32_t off, width;
	struct json_object *o;
	unsigned int type;

	if (n != 3)
		return fail("cap PAGE FIELD");
	if (!profile_find_cap(w[1], w[2], &type, &off, &width))
		return fail("no capability %s.%s", w[1], w[2]);
	o = ok();
	add_num(o, "cur", ifc_get_bits(hca->cap[type], off, width));
	add_num(o, "max", ifc_get_bits(hca->profile->cap[0][type], off, width));
	return o;
}

/* How many objects of a kind there can be. */
static struct json_object *do_limit(struct hca *hca, unsigned int n, char **w)
{
	const struct obj_range *range = hca->profile->range;
	struct json_object *o;
	unsigned int k;

	if (n != 2)
		return fail("limit KIND");
	for (k = 0; k < OBJ_KINDS && strcmp(obj_kind_name[k], w[1]); k++)
		;
	if (k == OBJ_KINDS)
		return fail("no kind of object %s", w[1]);
	o = ok();
	add_num(o, "limit", range[k].limit - range[k].first);
	return o;
}

/* ---- trace ------------------------------------------------------------------------------------------ */

static struct json_object *do_trace(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o;
	char *events;

	if (n == 2 && (!strcmp(w[1], "on") || !strcmp(w[1], "off"))) {
		trace_ring(hca, !strcmp(w[1], "on"));
		return ok();
	}
	if (n < 2 || n > 3 || strcmp(w[1], "dump"))
		return fail("trace on|off|dump [N]");
	events = trace_dump(hca, n == 3 ? strtoul(w[2], NULL, 0) : ~0u);
	o = ok();
	json_object_object_add(o, "events", json_tokener_parse(events));
	free(events);
	return o;
}

/* ---- injection ---------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint8_t status;
} status_names[] = {
	{ "INT_ERR", ST_INTERNAL }, { "BAD_OP_ERR", ST_BAD_OP }, { "BAD_PARAM_ERR", ST_BAD_PARAM },
	{ "BAD_SYS_STATE_ERR", ST_BAD_SYS_STATE }, { "BAD_RES_ERR", ST_BAD_RES },
	{ "RES_BUSY", ST_RES_BUSY }, { "LIM_ERR", ST_LIM },
	{ "BAD_RES_STATE_ERR", ST_BAD_RES_STATE }, { "IX_ERR", ST_BAD_INDEX },
	{ "BAD_INDEX_ERR", ST_BAD_INDEX }, { "NO_RES_ERR", ST_NO_RES },
	{ "BAD_INP_LEN_ERR", ST_BAD_INP_LEN }, { "BAD_OUTP_LEN_ERR", ST_BAD_OUTP_LEN },
	{ "BAD_QP_STATE_ERR", ST_BAD_QP_STATE }, { "BAD_PKT_ERR", ST_BAD_PKT },
	{ "BAD_SIZE_OUTS_CQES_ERR", ST_BAD_SIZE_OUTS_CQES },
};

static bool number(const char *s, unsigned long *v)
{
	char *end;

	*v = strtoul(s, &end, 0);
	return *s && !*end;
}

/* A name with or without _ERR, or a number that isn't 0. */
static uint8_t status_parse(const char *s)
{
	unsigned long v;
	unsigned int i;

	for (i = 0; i < sizeof(status_names) / sizeof(*status_names); i++) {
		const char *name = status_names[i].name;
		size_t n = strlen(name);

		if (!strcasecmp(s, name))
			return status_names[i].status;
		if (n > 4 && !strcmp(name + n - 4, "_ERR") && strlen(s) == n - 4 &&
		    !strncasecmp(s, name, n - 4))
			return status_names[i].status;
	}
	return number(s, &v) && v < 256 ? v : 0;
}

static struct inject *inject_new(struct ctrl *c)
{
	unsigned int i;

	for (i = 0; i < MAX_INJECT; i++)
		if (!c->inject[i].used)
			return &c->inject[i];
	return NULL;
}

static struct json_object *inject_nth(struct hca *hca, unsigned int n, char **w)
{
	struct inject *inj = inject_new(hca->ctrl);
	uint8_t status = n == 4 ? status_parse(w[3]) : 0;
	unsigned long nth;

	if (!status || !number(w[2], &nth) || !nth)
		return fail("inject cmd N STATUS");
	if (!inj)
		return fail("more than %d injections", MAX_INJECT);
	*inj = (struct inject) { .used = true, .skip = nth - 1, .left = 1, .status = status };
	return ok();
}

static struct json_object *inject_op(struct hca *hca, unsigned int n, char **w)
{
	struct inject *inj = inject_new(hca->ctrl);
	uint8_t status = n >= 4 ? status_parse(w[3]) : 0;
	const struct cmd_desc *d;
	unsigned long op, count = 0;

	if (!status || n > 5 || (n == 5 && (!number(w[4], &count) || !count)))
		return fail("inject op OPCODE STATUS [COUNT]");
	if (!number(w[2], &op)) {
		d = cmd_desc_by_name(w[2]);
		if (!d)
			return fail("no command %s", w[2]);
		op = d->opcode;
	}
	if (!inj)
		return fail("more than %d injections", MAX_INJECT);
	*inj = (struct inject) {
		.used = true, .by_op = true, .opcode = op, .left = count, .status = status,
	};
	return ok();
}

static struct json_object *inject_clear(struct hca *hca, unsigned int n, char **w)
{
	struct ctrl *c = hca->ctrl;
	struct json_object *o = ok();

	(void)n;
	(void)w;
	add_num(o, "fired", c->fired);
	memset(c->inject, 0, sizeof(c->inject));
	c->fired = 0;
	c->cqe_left = 0;
	c->umr_left = 0;
	hca->hung = false;
	return o;
}

/**
 * inject_cmd() - is this command to fail?
 * @hca: the function
 * @opcode: of the command that is about to be executed
 *
 * Return: the firmware status to fail it with, 0 to go on.
 */
uint8_t inject_cmd(struct hca *hca, uint16_t opcode)
{
	struct ctrl *c = hca->ctrl;
	uint8_t status = 0;
	unsigned int i;

	for (i = 0; i < MAX_INJECT; i++) {
		struct inject *inj = &c->inject[i];

		if (!inj->used || (inj->by_op && inj->opcode != opcode))
			continue;
		if (inj->skip) {
			inj->skip--;
			continue;
		}
		if (status)
			continue;
		status = inj->status;
		c->fired++;
		if (inj->left && !--inj->left)
			inj->used = false;
	}
	return status;
}

static void delayed_free(struct delayed *d)
{
	struct delayed **p = &d->hca->ctrl->delayed;

	while (*p != d)
		p = &(*p)->next;
	*p = d->next;
	event_free(d->timer);
	free(d);
}

static void delayed_fire(evutil_socket_t fd, short what, void *arg)
{
	struct delayed *d = arg;

	(void)fd;
	(void)what;
	cq_complete_now(d->hca, d->cqn, &d->c);
	delayed_free(d);
}

static void delay(struct hca *hca, uint32_t cqn, const struct completion *c, unsigned int ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct delayed *d = calloc(1, sizeof(*d));

	if (!d)
		return;
	d->hca = hca;
	d->cqn = cqn;
	d->c = *c;
	if (c->inline_data && c->inline_len <= sizeof(d->data)) {
		memcpy(d->data, c->inline_data, c->inline_len);
		d->c.inline_data = d->data;
	}
	d->next = hca->ctrl->delayed;
	hca->ctrl->delayed = d;
	d->timer = evtimer_new(hca->base, delayed_fire, d);
	evtimer_add(d->timer, &tv);
}

/**
 * inject_cqe() - is this completion to be dropped or delayed?
 * @hca: the function
 * @cqn: of the completion queue
 * @c: the completion; copied if it is kept
 *
 * Return: true if the caller is to forget it.
 */
bool inject_cqe(struct hca *hca, uint32_t cqn, const struct completion *c)
{
	struct ctrl *ctrl = hca->ctrl;

	if (!ctrl || !ctrl->cqe_left)
		return false;
	ctrl->cqe_left--;
	ctrl->fired++;
	hca_trace(hca, "cqe_injected", "\"cqn\":%u,\"qpn\":%u,\"delay_ms\":%u", cqn, c->qpn,
		  ctrl->cqe_delay_ms);
	if (ctrl->cqe_delay_ms)
		delay(hca, cqn, c, ctrl->cqe_delay_ms);
	return true;
}

static struct json_object *inject_cqes(struct hca *hca, unsigned int n, char **w)
{
	struct ctrl *c = hca->ctrl;
	unsigned long ms = 0, count = 1;
	unsigned int at = 3;

	if (n < 3 || (strcmp(w[2], "drop") && strcmp(w[2], "delay")))
		return fail("inject cqe drop [N] | delay MS [N]");
	if (!strcmp(w[2], "delay") && (n < 4 || !number(w[at++], &ms) || !ms))
		return fail("inject cqe delay MS [N]");
	if (n > at && (!number(w[at], &count) || !count))
		return fail("%s is not a number", w[at]);
	c->cqe_left = count;
	c->cqe_delay_ms = ms;
	return ok();
}

/**
 * inject_umr() - is this UMR work request to fail?
 * @hca: the function
 * @privileged: it comes from a driver's own queue pair; others are let alone
 *
 * Return: NULL to go on, else why it fails.
 */
const char *inject_umr(struct hca *hca, bool privileged)
{
	struct ctrl *c = hca->ctrl;

	if (!privileged || !c || !c->umr_left)
		return NULL;
	if (c->umr_skip) {
		c->umr_skip--;
		return NULL;
	}
	c->umr_left--;
	c->fired++;
	return "injected";
}

static struct json_object *inject_umrs(struct hca *hca, unsigned int n, char **w)
{
	unsigned long count = 1, skip = 0;

	if (n > 4 || (n > 2 && (!number(w[2], &count) || !count)) || (n > 3 && !number(w[3], &skip)))
		return fail("inject umr [N [SKIP]]");
	hca->ctrl->umr_left = count;
	hca->ctrl->umr_skip = skip;
	return ok();
}

/* Where the number that an event is about stands in its 28 bytes. */
enum event_arg { ARG_NONE, ARG_QPN, ARG_CQN, ARG_PORT, ARG_PAGES };

static const struct {
	const char *name;
	uint8_t type;
	enum event_arg arg;
} events[] = {
	{ "PATH_MIG", 0x01, ARG_QPN }, { "COMM_EST", 0x02, ARG_QPN },
	{ "SQ_DRAINED", 0x03, ARG_QPN }, { "CQ_ERROR", 0x04, ARG_CQN },
	{ "WQ_CATAS_ERROR", 0x05, ARG_QPN }, { "PATH_MIG_FAILED", 0x07, ARG_QPN },
	{ "INTERNAL_ERROR", 0x08, ARG_NONE }, { "PORT_CHANGE", 0x09, ARG_PORT },
	{ "PAGE_REQUEST", 0x0b, ARG_PAGES }, { "WQ_INVAL_REQ_ERROR", 0x10, ARG_QPN },
	{ "WQ_ACCESS_ERROR", 0x11, ARG_QPN }, { "SRQ_CATAS_ERROR", 0x12, ARG_QPN },
	{ "SRQ_LAST_WQE", 0x13, ARG_QPN }, { "SRQ_RQ_LIMIT", 0x14, ARG_QPN },
	{ "TEMP_WARN_EVENT", 0x17, ARG_NONE }, { "GENERAL_EVENT", 0x22, ARG_NONE },
};

static void event_data(uint8_t *data, enum event_arg arg, unsigned long num)
{
	switch (arg) {
	case ARG_QPN:
		put_be32(data + 24, num & 0xffffff);
		break;
	case ARG_CQN:
		put_be32(data, num & 0xffffff);
		data[11] = 1;	/* overrun */
		break;
	case ARG_PORT:
		data[8] = (num ? num : 1) << 4;
		break;
	case ARG_PAGES:
		put_be32(data + 4, num);
		break;
	default:
		break;
	}
}

static struct json_object *inject_event(struct hca *hca, unsigned int n, char **w)
{
	unsigned long type = 0, num = 0, sub = 0;
	uint8_t data[28] = { 0 };
	unsigned int i;

	if (n < 3 || n > 5 || (n > 3 && !number(w[3], &num)) || (n > 4 && !number(w[4], &sub)))
		return fail("inject event TYPE [NUMBER [SUBTYPE]]");
	for (i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strcasecmp(events[i].name, w[2]))
			break;
	if (i < sizeof(events) / sizeof(*events)) {
		type = events[i].type;
		event_data(data, events[i].arg, num);
	} else if (!number(w[2], &type) || type > 255) {
		return fail("no event %s", w[2]);
	}
	eq_post_async(hca, type, sub, data);
	return ok();
}

static struct json_object *inject_hang(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca->hung = true;
	return ok();
}

static struct json_object *inject_fatal(struct hca *hca, unsigned int n, char **w)
{
	unsigned long synd = MLX5_INITIAL_SEG_HEALTH_SYNDROME_FW_INTERNAL_ERR;

	if (n > 2 && (!number(w[2], &synd) || !synd || synd > 255))
		return fail("inject fatal [SYNDROME]");
	hca_set_fatal(hca, synd, 0);
	return ok();
}

static struct json_object *do_link(struct hca *hca, unsigned int n, char **w)
{
	if (n != 2 || (strcmp(w[1], "up") && strcmp(w[1], "down")))
		return fail("link up|down");
	port_set_link(hca, !strcmp(w[1], "up"));
	return ok();
}

/* "inject link up" is "link up". */
static struct json_object *inject_link(struct hca *hca, unsigned int n, char **w)
{
	return do_link(hca, n - 1, w + 1);
}

struct request {
	const char *name;
	struct json_object *(*fn)(struct hca *hca, unsigned int n, char **w);
};

static const struct request injections[] = {
	{ "cmd", inject_nth }, { "op", inject_op }, { "clear", inject_clear },
	{ "cqe", inject_cqes }, { "umr", inject_umrs }, { "event", inject_event }, { "hang", inject_hang },
	{ "fatal", inject_fatal }, { "link", inject_link }, { 0 }
};

static struct json_object *run(const struct request *r, const char *name, struct hca *hca,
			       unsigned int n, char **w)
{
	for (; r->name; r++)
		if (!strcmp(r->name, name))
			return r->fn(hca, n, w);
	return fail("no request %s", name);
}

static struct json_object *do_inject(struct hca *hca, unsigned int n, char **w)
{
	return n < 2 ? fail("inject WHAT …") : run(injections, w[1], hca, n, w);
}

/* The card is pulled: its objects are gone with it, the bus answers all ones. */
static struct json_object *do_unplug(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca_reset(hca);
	hca->unplugged = true;
	memset(hca->ctrl->baseline, 0, sizeof(hca->ctrl->baseline));
	return ok();
}

static const struct request requests[] = {
	{ "census", do_census }, { "counters", do_counters }, { "commands", do_commands },
	{ "cap", do_cap }, { "limit", do_limit }, { "trace", do_trace }, { "inject", do_inject },
	{ "link", do_link }, { "unplug", do_unplug }, { 0 }
};

/**
 * ctrl_request() - answer a request
 * @hca: the function
 * @line: words with spaces between them
 *
 * Return: the answer, one line of JSON without its end; the caller frees it.
 */
char *ctrl_request(struct hca *hca, const char *line)
{
	char *copy = strdup(line), *save = NULL, *w[MAX_WORDS], *word, *text;
	struct json_object *o;
	unsigned int n = 0;

	for (word = strtok_r(copy, " \t\r\n", &save); word && n < MAX_WORDS;
	     word = strtok_r(NULL, " \t\r\n", &save))
		w[n++] = word;
	o = n ? run(requests, w[0], hca, n, w) : fail("no request");
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	free(copy);
	return text;
}

/* ---- the socket ---------------------------------------------------------------------------------- */

static void client_drop(struct client *cl)
{
	struct client **p = &cl->hca->ctrl->clients;

	while (*p != cl)
		p = &(*p)->next;
	*p = cl->next;
	bufferevent_free(cl->bev);
	free(cl);
}

static void on_line(struct bufferevent *bev, void *arg)
{
	struct client *cl = arg;
	char *line, *answer;

	while ((line = evbuffer_readln(bufferevent_get_input(bev), NULL, EVBUFFER_EOL_LF))) {
		answer = ctrl_request(cl->hca, line);
		evbuffer_add_printf(bufferevent_get_output(bev), "%s\n", answer);
		free(answer);
		free(line);
	}
	if (evbuffer_get_length(bufferevent_get_input(bev)) > MAX_LINE)
		client_drop(cl);
}

static void on_client_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		client_drop(arg);
}

static void on_client(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a, int len,
		      void *arg)
{
	struct client *cl = calloc(1, sizeof(*cl));
	struct hca *hca = arg;

	(void)l;
	(void)a;
	(void)len;
	if (!cl) {
		close(fd);
		return;
	}
	cl->hca = hca;
	cl->bev = bufferevent_socket_new(hca->base, fd, BEV_OPT_CLOSE_ON_FREE);
	cl->next = hca->ctrl->clients;
	hca->ctrl->clients = cl;
	bufferevent_setcb(cl->bev, on_line, NULL, on_client_event, cl);
	bufferevent_enable(cl->bev, EV_READ | EV_WRITE);
}

/**
 * ctrl_listen() - open the control socket
 * @hca: the function it is about
 * @path: of the socket
 *
 * Return: 0 or -errno.
 */
int ctrl_listen(struct hca *hca, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	strcpy(hca->ctrl->path, path);
	unlink(path);
	hca->ctrl->listener = evconnlistener_new_bind(hca->base, on_client, hca,
						      LEV_OPT_CLOSE_ON_FREE |
						      LEV_OPT_CLOSE_ON_EXEC, 4,
						      (struct sockaddr *)&a, sizeof(a));
	return hca->ctrl->listener ? 0 : -errno;
}

void ctrl_exit(struct hca *hca)
{
	struct ctrl *c = hca->ctrl;

	while (c->clients)
		client_drop(c->clients);
	while (c->delayed)
		delayed_free(c->delayed);
	if (c->listener) {
		evconnlistener_free(c->listener);
		unlink(c->path);
	}
	free(c);
	hca->ctrl = NULL;
}
