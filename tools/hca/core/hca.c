// SPDX-License-Identifier: GPL-2.0
/*
 * The HCA's life cycle: creation from the modules of a board, reset and destruction; its clock; and
 * the record of ignored doorbells.
 */
#include <stdio.h>
#include <stdlib.h>

#include "caps.h"
#include "clock.h"
#include "cmd.h"
#include "count.h"
#include "expect.h"
#include "hca.h"
#include "inject.h"
#include "mem.h"
#include "object.h"
#include "profile.h"
#include "trace.h"

static int core_init(struct hca *hca)
{
	const struct cmd_desc *const *t;
	int err;

	hca->trace = trace_new(hca->index);
	hca->inject = inject_new();
	hca->expect = expect_new();
	hca->cap = calloc(HCA_CAP_TYPES, sizeof(*hca->cap));
	if (!hca->trace || !hca->inject || !hca->expect || !hca->cap)
		return -1;
	err = mem_init(hca);
	if (!err)
		err = objs_init(hca);
	if (!err)
		err = cmds_init(hca);
	for (t = hca->board->cmds; t && *t && !err; t++)
		err = cmd_register(hca, *t);
	return err;
}

static void core_exit(struct hca *hca)
{
	cmds_exit(hca);
	objs_exit(hca);
	mem_exit(hca);
	expect_free(hca->expect);
	inject_free(hca->inject);
	trace_free(hca->trace);
	free(hca->cap);
}

static unsigned int nr_modules(const struct hca *hca)
{
	unsigned int n = 0;

	while (hca->board->modules[n])
		n++;
	return n;
}

static void modules_exit(struct hca *hca, unsigned int n)
{
	const struct hca_module *const *m = hca->board->modules;

	while (n--)
		if (m[n]->exit)
			m[n]->exit(hca);
}

static int modules_init(struct hca *hca)
{
	const struct hca_module *const *m = hca->board->modules;
	unsigned int i;
	int err;

	for (i = 0; m[i]; i++) {
		err = m[i]->init ? m[i]->init(hca) : 0;
		if (err) {
			modules_exit(hca, i);
			return err;
		}
	}
	return 0;
}

static void hca_describe_node(struct hca *hca)
{
	const char *described = hca->profile->node_description;

	if (*described)
		snprintf(hca->node_desc, sizeof(hca->node_desc), "%s", described);
	else
		snprintf(hca->node_desc, sizeof(hca->node_desc), "bluebell-hca %u", hca->index);
}

/**
 * hca_create() - make an HCA
 * @board: what it is composed of
 * @base: event loop of the HCA; other HCAs may share it
 * @fabric: the fabric that its port joins; NULL if the board has no port
 * @p: what the HCA can do; belongs to the caller and outlives the HCA
 * @index: number of the HCA in this process, from 0
 *
 * Return: the HCA as after power on, NULL if memory is short.
 */
struct hca *hca_create(const struct board *board, struct event_base *base, struct fabric *fabric,
		       struct profile *p, unsigned int index)
{
	struct hca *hca = calloc(1, sizeof(*hca));

	if (!hca)
		return NULL;
	hca->index = index;
	hca->board = board;
	hca->base = base;
	hca->fabric = fabric;
	hca->profile = p;
	hca_describe_node(hca);
	hca->start_ns = clock_now_ns();
	pthread_mutex_init(&hca->attr_lock, NULL);
	if (core_init(hca))
		goto fail;
	caps_reset(hca);
	if (modules_init(hca))
		goto fail;
	return hca;
fail:
	core_exit(hca);
	pthread_mutex_destroy(&hca->attr_lock);
	free(hca);
	return NULL;
}

/**
 * hca_free_objects() - free all objects that commands have created
 * @hca: the HCA
 *
 * Also frees objects that other objects refer to, and drops waiting packets and page faults.
 */
void hca_free_objects(struct hca *hca)
{
	unsigned int i;

	for (i = nr_modules(hca); i--;)
		if (hca->board->modules[i]->reset)
			hca->board->modules[i]->reset(hca);
}

/**
 * hca_reset() - reset the device
 * @hca: the HCA, which is then as after power on; but the client's interrupts and memory stay, and
 *   so do the port's LID, its tables of P_Keys and GUIDs, its node description and its counters
 */
void hca_reset(struct hca *hca)
{
	unsigned int i;

	hca->life = LIFE_RESET;
	hca->issi = 0;
	hca->hung = false;
	hca->fatal = false;
	hca_free_objects(hca);
	for (i = nr_modules(hca); i--;)
		if (hca->board->modules[i]->restart)
			hca->board->modules[i]->restart(hca);
	caps_reset(hca);
	hca_trace(hca, "reset", "\"index\":%u", hca->index);
}

/**
 * hca_destroy() - free an HCA and all that it has
 * @hca: the HCA, while no thread runs the loop of any HCA on its fabric
 */
void hca_destroy(struct hca *hca)
{
	hca->life = LIFE_RESET;
	hca_free_objects(hca);
	modules_exit(hca, nr_modules(hca));
	core_exit(hca);
	pthread_mutex_destroy(&hca->attr_lock);
	free(hca);
}

/**
 * hca_clock() - read the device clock, which CQEs and the internal timer show
 * @hca: the HCA
 *
 * Return: ticks of the profile's core clock since the HCA was made.
 */
uint64_t hca_clock(struct hca *hca)
{
	unsigned __int128 ns = clock_now_ns() - hca->start_ns;

	return ns * hca->profile->core_clock_khz / 1000000;
}

/**
 * doorbell_drop() - record that a doorbell is ignored
 * @hca: the HCA
 * @why: the reason
 * @uar: number of the page that was written: a UAR, or a page of device memory in BAR0
 * @num: of the queue, or the offset in the page
 */
void doorbell_drop(struct hca *hca, enum drop_reason why, uint32_t uar, uint32_t num)
{
	char text[60];

	hca->count.db_drop[why]++;
	hca_trace(hca, "doorbell_drop", "\"why\":\"%s\",\"uar\":%u,\"num\":%u",
		  drop_reason_name(why), uar, num);
	snprintf(text, sizeof(text), "UAR %u, number or offset %u", uar, num);
	expect_incident(hca->expect, INCIDENT_DROP, why, 0, drop_reason_name(why), text);
}
