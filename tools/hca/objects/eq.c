// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: commands, writing of EQEs with their owner bit, arming, interrupts, and which
 * queues receive an asynchronous event.
 */
#include <stdio.h>
#include <string.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "count.h"
#include "eq.h"
#include "expect.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "queue_mem.h"
#include "uar_page.h"

#define EQE_TYPE	1
#define EQE_SUBTYPE	3
#define EQE_DATA	32
#define EQE_SIG		62
#define EQE_OWNER	63

#define EVENT_COMPLETION 0

/**
 * eq_find() - find an event queue
 * @hca: the HCA
 * @eqn: its number
 *
 * Return: the queue or NULL.
 */
struct eq *eq_find(struct hca *hca, uint32_t eqn)
{
	return (struct eq *)obj_find(hca, OBJ_EQ, eqn);
}

static void eq_release(struct hca *hca, struct eq *eq)
{
	qmem_free(hca, &eq->mem);
	obj_free(hca, &eq->obj);
}

static bool eq_drop(struct hca *hca, struct obj *obj, void *arg)
{
	(void)arg;
	obj->refs = 0;
	eq_release(hca, (struct eq *)obj);
	return true;
}

static void eq_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_EQ, eq_drop, NULL);
}

const struct hca_module eq_module = { .name = "eq", .reset = eq_reset };

/* ---- events ---------------------------------------------------------------------------------- */

static void eq_fire(struct hca *hca, struct eq *eq)
{
	eq->armed = false;
	if (hca->board->irq)
		hca->board->irq->raise(hca, eq->intr);
}

static bool eq_full(const struct eq *eq)
{
	return ((eq->pi - eq->ci) & EQ_INDEX_MASK) >= 1u << eq->log_size;
}

static void eq_lose(struct hca *hca, struct eq *eq, uint8_t type)
{
	char why[60];

	eq->lost++;
	hca->count.eqes_lost++;
	hca_trace(hca, "eq_overrun", "\"eqn\":%u,\"event\":%u", eq->obj.num, type);
	snprintf(why, sizeof(why), "EQ %u is full, an event of type 0x%x is lost", eq->obj.num,
		 type);
	expect_incident(hca->expect, INCIDENT_OVERRUN, 0, 0, "eq_overrun", why);
}

static void eq_put(struct hca *hca, struct eq *eq, uint8_t type, uint8_t subtype,
		   const uint8_t *data)
{
	size_t off = (eq->pi & ((1u << eq->log_size) - 1)) * (size_t)EQE_SIZE;
	uint8_t eqe[EQE_SIZE] = { [EQE_TYPE] = type, [EQE_SUBTYPE] = subtype };
	unsigned int i;
	uint8_t *p;

	if (eq->status != EQ_STATUS_OK)
		return;
	if (!eq->overrun_ok && eq_full(eq)) {
		eq_lose(hca, eq, type);
		return;
	}
	memcpy(eqe + EQE_DATA, data, 28);
	eqe[EQE_OWNER] = eq->pi >> eq->log_size & 1;
	for (i = 0; i < EQE_SIZE; i++)
		eqe[EQE_SIG] ^= i == EQE_SIG || i == EQE_OWNER ? 0 : eqe[i];
	eqe[EQE_SIG] = ~eqe[EQE_SIG];
	p = qmem_ptr(hca, &eq->mem, off, EQE_SIZE, true);
	if (!p) {
		eq->status = EQ_STATUS_WRITE_FAIL;
		hca_trace(hca, "eq_error", "\"eqn\":%u", eq->obj.num);
		return;
	}
	/* The driver polls the owner byte, so it is written last. */
	memcpy(p, eqe, EQE_OWNER);
	__atomic_store_n(p + EQE_OWNER, eqe[EQE_OWNER], __ATOMIC_RELEASE);
	eq->pi = (eq->pi + 1) & EQ_INDEX_MASK;
	hca->count.eqes++;
	hca_trace(hca, "eqe", "\"eqn\":%u,\"event\":%u,\"subtype\":%u,\"irq\":%s", eq->obj.num,
		  type, subtype, eq->armed ? "true" : "false");
	if (eq->armed)
		eq_fire(hca, eq);
}

/**
 * eq_post() - post an event on one event queue
 * @hca: the HCA
 * @eqn: number of the queue; nothing happens if the queue does not exist
 * @type: type of the event
 * @subtype: subtype of the event
 * @data28: event data, 28 bytes
 */
void eq_post(struct hca *hca, uint32_t eqn, uint8_t type, uint8_t subtype, const void *data28)
{
	struct eq *eq = eq_find(hca, eqn);

	if (eq && !hca->hung)
		eq_put(hca, eq, type, subtype, data28);
}

static bool eq_wants(const struct eq *eq, uint8_t type)
{
	return eq->events[type / 64] >> (type % 64) & 1;
}

struct subscriber {
	uint8_t type;
	bool found;
};

static bool eq_is_subscribed(struct hca *hca, struct obj *obj, void *arg)
{
	struct subscriber *s = arg;

	(void)hca;
	s->found |= eq_wants((struct eq *)obj, s->type);
	return !s->found;
}

/**
 * eq_subscribed() - tell whether an event queue subscribed to a type of event
 * @hca: the HCA
 * @type: the type
 */
bool eq_subscribed(struct hca *hca, uint8_t type)
{
	struct subscriber s = { .type = type };

	obj_for_each(hca, OBJ_EQ, eq_is_subscribed, &s);
	return s.found;
}

struct eq_async {
	uint8_t type, subtype;
	const void *data;
};

static bool eq_post_if_subscribed(struct hca *hca, struct obj *obj, void *arg)
{
	struct eq *eq = (struct eq *)obj;
	const struct eq_async *e = arg;

	if (eq_wants(eq, e->type))
		eq_put(hca, eq, e->type, e->subtype, e->data);
	return true;
}

/**
 * eq_post_async() - post an event on every queue that subscribed to its type
 * @hca: the HCA
 * @type: type of the event
 * @subtype: subtype of the event
 * @data28: event data, 28 bytes
 */
void eq_post_async(struct hca *hca, uint8_t type, uint8_t subtype, const void *data28)
{
	struct eq_async e = { .type = type, .subtype = subtype, .data = data28 };

	if (!hca->hung)
		obj_for_each(hca, OBJ_EQ, eq_post_if_subscribed, &e);
}

/**
 * eq_doorbell() - an EQ doorbell register was written: the driver consumed events
 * @hca: the HCA
 * @uar: number of the UAR that it was written to
 * @val: queue number in the upper 8 bits, consumer counter in the lower 24
 * @arm: raise an interrupt for the next event, or at once if there are events left
 */
void eq_doorbell(struct hca *hca, uint32_t uar, uint32_t val, bool arm)
{
	struct eq *eq = eq_find(hca, val >> 24);

	if (!eq) {
		doorbell_drop(hca, DROP_NO_EQ, uar, val >> 24);
		return;
	}
	if (eq->uar != uar) {
		doorbell_drop(hca, DROP_WRONG_UAR, uar, val >> 24);
		return;
	}
	if (((eq->pi - val) & EQ_INDEX_MASK) > 1u << eq->log_size) {
		doorbell_drop(hca, DROP_BAD_STATE, uar, val >> 24);
		return;
	}
	hca->count.db_eq++;
	eq->ci = val & EQ_INDEX_MASK;
	if (!arm)
		return;
	eq->armed = true;
	if (eq->ci != eq->pi)
		eq_fire(hca, eq);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Check the context, and take a reference to the UAR that it names. */
static uint8_t eq_check_context(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	struct obj *uar;
	uint8_t st;

	if (IFC_GET(eqc, c, status) || IFC_GET(eqc, c, consumer_counter) ||
	    IFC_GET(eqc, c, producer_counter))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_EQ_RESERVED_FIELD,
				"status and counters must be 0: the HCA sets them");
	if (IFC_GET(eqc, c, log_eq_size) > hca_cap_gen(hca, log_max_eq_sz))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_EQ_SIZE, "log_eq_size %u is too large",
				IFC_GET(eqc, c, log_eq_size));
	if (IFC_GET(eqc, c, intr) >= hca->profile->vectors)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_EQ_VECTOR,
				"interrupt vector %u does not exist", IFC_GET(eqc, c, intr));
	st = check_uar(hca, cmd, IFC_GET(eqc, c, uar_page), &uar);
	if (st)
		return st;
	uar->refs++;
	return ST_OK;
}

/* Word 0 of the bitmap in the command holds types 0 to 63; its last bit is type 0. */
static void eq_take_events(struct eq *eq, const uint8_t *in)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		eq->events[i] = IFC_GET64(create_eq_in, in, event_bitmask[i]);
	eq->events[0] &= ~(1ULL << EVENT_COMPLETION);
}

static uint8_t eq_fill(struct hca *hca, struct cmd *cmd, struct eq *eq, const uint8_t *c)
{
	const struct qmem_source src = {
		.pas = cmd->in + IFC_SZ(create_eq_in),
		.log_page = IFC_GET(eqc, c, log_page_size) + 12,
		.page_offset = IFC_GET(eqc, c, page_offset),
	};

	eq->log_size = IFC_GET(eqc, c, log_eq_size);
	eq->intr = IFC_GET(eqc, c, intr);
	eq->overrun_ok = IFC_GET(eqc, c, oi);
	eq->uar = IFC_GET(eqc, c, uar_page);
	memcpy(eq->eqc, c, sizeof(eq->eqc));
	eq_take_events(eq, cmd->in);
	return qmem_init(hca, cmd, &eq->mem, &src, (size_t)EQE_SIZE << eq->log_size, EQE_SIZE,
			 UMEM_ACCESS);
}

#define MODULE_PLUGGED	1
#define GENERAL_PCI_POWER 5	/* subtype */

/*
 * Post two events on a new event queue that has subscribed to them: a cable is plugged, and the
 * power of the PCI slot was read. Firmware reports both once after INIT_HCA, and a driver creates
 * one event queue that subscribes to them.
 */
static void eq_greet(struct hca *hca, struct eq *eq)
{
	uint8_t module[EQE_DATA_BYTES] = { [3] = MODULE_PLUGGED }, none[EQE_DATA_BYTES] = { 0 };

	if (eq_wants(eq, EV_PORT_MODULE) && hca_cap_gen(hca, port_module_event))
		eq_put(hca, eq, EV_PORT_MODULE, 0, module);
	if (eq_wants(eq, EV_GENERAL) && hca_cap_gen(hca, general_notification_event))
		eq_put(hca, eq, EV_GENERAL, GENERAL_PCI_POWER, none);
}

static uint8_t create_eq(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *c = IFC_ADDR(create_eq_in, cmd->in, eq_context_entry);
	struct eq *eq;
	uint8_t st;

	st = eq_check_context(hca, cmd, c);
	if (st)
		return st;
	eq = (struct eq *)obj_new(hca, OBJ_EQ, cmd->uid, sizeof(*eq));
	st = eq ? eq_fill(hca, cmd, eq, c) :
		  cmd_fail(cmd, ST_LIM, WHY_NUMBERS_IN_USE, "no more than %u event queues",
			   hca->profile->range[OBJ_EQ].limit);
	if (st) {
		uar_find(hca, IFC_GET(eqc, c, uar_page))->refs--;
		if (eq)
			obj_free(hca, &eq->obj);
		return st;
	}
	IFC_SET(create_eq_out, cmd->out, eq_number, eq->obj.num);
	eq_greet(hca, eq);
	return ST_OK;
}

static uint8_t destroy_eq(struct hca *hca, struct cmd *cmd)
{
	uint32_t uar;
	struct obj *o;
	uint8_t st;

	st = check_destroy(hca, cmd, OBJ_EQ, IFC_GET(destroy_eq_in, cmd->in, eq_number), &o);
	if (st)
		return st;
	uar = ((struct eq *)o)->uar;
	eq_release(hca, (struct eq *)o);
	obj_put(hca, uar_find(hca, uar));
	return ST_OK;
}

static uint8_t query_eq(struct hca *hca, struct cmd *cmd)
{
	uint8_t *c = IFC_ADDR(query_eq_out, cmd->out, eq_context_entry);
	struct eq *eq = eq_find(hca, IFC_GET(query_eq_in, cmd->in, eq_number));

	if (!eq)
		return cmd_fail(cmd, ST_BAD_RES, WHY_OBJECT_UNKNOWN, "EQ %u does not exist",
				IFC_GET(query_eq_in, cmd->in, eq_number));
	memcpy(c, eq->eqc, sizeof(eq->eqc));
	IFC_SET(eqc, c, status, eq->status);
	IFC_SET(eqc, c, st, eq->armed ? EQ_ST_ARMED : EQ_ST_FIRED);
	IFC_SET(eqc, c, consumer_counter, eq->ci);
	IFC_SET(eqc, c, producer_counter, eq->pi);
	IFC_SET64(query_eq_out, cmd->out, event_bitmask, eq->events[0]);
	return ST_OK;
}

const struct cmd_desc eq_cmds[] = {
	CMD(CREATE_EQ, create_eq, create_eq, .flags = CMD_KERNEL | CMD_SHARE),
	CMD(DESTROY_EQ, destroy_eq, destroy_eq, .flags = CMD_KERNEL),
	CMD(QUERY_EQ, query_eq, query_eq),
	{}
};
