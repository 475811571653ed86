// SPDX-License-Identifier: GPL-2.0
/*
 * The request "steering": the flow tables, with their groups and entries in the order in which a
 * frame passes them.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "decode.h"
#include "fields.h"
#include "flow.h"
#include "flow_counter.h"
#include "hca.h"
#include "request.h"
#include "words.h"

#define ENTRIES	64	/* of a group that are shown unless the request says how many */

struct dump {
	struct json_object *tables;
	unsigned long most;	/* entries of a group */
};

/* The fields of the outer headers that are not 0. */
static struct json_object *match_fields(const uint8_t *match)
{
	struct json_object *o = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputc('{', f);
	decode_struct(f, ifc_struct_find("fte_match_set_lyr_2_4"), match, MATCH_BYTES);
	fputc('}', f);
	if (!fclose(f))
		o = json_tokener_parse(text);
	free(text);
	return o;
}

static struct json_object *entry_dests(const struct flow_entry *e)
{
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < e->dests; i++) {
		struct json_object *o = json_object_new_object();

		answer_add_num(o, e->dest[i].type == FLOW_TO_TIR ? "tir" : "table", e->dest[i].id);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *entry_counters(struct hca *hca, const struct flow_entry *e)
{
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < e->counters; i++) {
		struct json_object *o = json_object_new_object();
		const struct flow_counter *c;

		c = (const struct flow_counter *)obj_find(hca, OBJ_FLOW_COUNTER, e->counter[i]);
		answer_add_num(o, "id", c->obj.num);
		answer_add_num(o, "packets", c->packets);
		answer_add_num(o, "octets", c->octets);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *entry_show(struct hca *hca, const struct flow_entry *e)
{
	struct json_object *o = json_object_new_object();
	const char *action = e->action & FLOW_FWD ? "forward" :
			     e->action & FLOW_DROP ? "drop" : "allow";

	answer_add_num(o, "index", e->index);
	json_object_object_add(o, "value", match_fields(e->value));
	json_object_object_add(o, "action", json_object_new_string(action));
	answer_add_num(o, "tag", e->tag);
	json_object_object_add(o, "to", entry_dests(e));
	if (e->counters)
		json_object_object_add(o, "counters", entry_counters(hca, e));
	return o;
}

static int by_index(const void *a, const void *b)
{
	const struct flow_entry *const *x = a, *const *y = b;

	return (*x)->index < (*y)->index ? -1 : (*x)->index > (*y)->index;
}

/* All entries of a group in the order of their indices; NULL if memory is short. */
static const struct flow_entry **group_sorted(const struct flow_group *g)
{
	const struct flow_entry **all = calloc(g->entries + 1, sizeof(*all));
	const struct flow_entry *e;
	unsigned int i, n = 0;

	for (i = 0; all && i < g->buckets; i++)
		LIST_FOREACH(e, &g->by_index[i], index_link)
			all[n++] = e;
	if (all)
		qsort(all, n, sizeof(*all), by_index);
	return all;
}

static struct json_object *group_show(struct hca *hca, const struct flow_group *g,
				      unsigned long most)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	const struct flow_entry **all = group_sorted(g);
	unsigned int i;

	answer_add_num(o, "id", g->obj.num);
	answer_add_num(o, "first", g->start);
	answer_add_num(o, "last", g->end);
	json_object_object_add(o, "criteria", match_fields(g->criteria));
	answer_add_num(o, "entries", g->entries);
	for (i = 0; all && i < g->entries && i < most; i++)
		json_object_array_add(list, entry_show(hca, all[i]));
	json_object_object_add(o, "list", list);
	free(all);
	return o;
}

static bool table_show(struct hca *hca, struct obj *obj, void *arg)
{
	struct flow_table *t = (struct flow_table *)obj;
	struct json_object *o = json_object_new_object(), *groups = json_object_new_array();
	const struct dump *d = arg;
	struct flow_group *g;

	answer_add_num(o, "id", t->obj.num);
	answer_add_num(o, "level", t->level);
	answer_add_num(o, "log_size", t->log_size);
	answer_add_num(o, "miss", t->miss_id);
	TAILQ_FOREACH(g, &t->groups, link)
		json_object_array_add(groups, group_show(hca, g, d->most));
	json_object_object_add(o, "groups", groups);
	json_object_array_add(d->tables, o);
	return true;
}

static int by_level(const void *a, const void *b)
{
	struct json_object *const *x = a, *const *y = b;

	return json_object_get_int(json_object_object_get(*x, "level")) -
	       json_object_get_int(json_object_object_get(*y, "level"));
}

/**
 * request_steering() - the request "steering"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_steering(struct hca *hca, unsigned int n, char **w)
{
	const struct flow_table *root = flow_root(hca, FLOW_NIC_RX);
	struct dump d = { .most = ENTRIES };
	struct json_object *o;

	if (n < 2 || n > 3 || strcmp(w[1], "dump") || (n == 3 && !request_number(w[2], &d.most)))
		return answer_fail("usage: steering dump [N]");
	o = answer_ok();
	d.tables = json_object_new_array();
	obj_for_each(hca, OBJ_FLOW_TABLE, table_show, &d);
	json_object_array_sort(d.tables, by_level);
	answer_add_num(o, "root", root ? root->obj.num : 0);
	json_object_object_add(o, "tables", d.tables);
	return o;
}
