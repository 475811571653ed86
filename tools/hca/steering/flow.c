// SPDX-License-Identifier: GPL-2.0
/*
 * Flow tables, groups and entries.
 *
 * Theory: a table has a number of indices, but stores only the entries that exist. A group is a
 * range of indices whose entries have the same criteria, so that one look at a hash table tells
 * whether one of them matches. Groups of a table do not overlap. Of all entries of a table that
 * match a frame the one with the lowest index is taken: the groups are asked in the order of their
 * indices, and in a group the lowest of equal entries is taken. What hardware does with rules of
 * two groups that both match is not known; the groups of the stock driver are built so that the
 * lowest index is the most specific rule.
 *
 * References: an entry refers to its group, its TIRs, its table and its counters; a group to its
 * table; a table to the table of its misses; and the root to its table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hca.h"
#include "match.h"
#include "object.h"

#define BUCKETS_MIN	8

struct steering {
	struct flow_table *root[FLOW_TYPES];	/* NULL: none */
};

/* ---- tables ---------------------------------------------------------------------------------- */

/**
 * flow_cap_page() - find the capabilities of the tables of a type
 * @type: the type
 *
 * Return: the bit of struct mlx5_ifc_flow_table_nic_cap_bits at which they begin, -1 for a type
 * that the HCA does not have.
 */
int flow_cap_page(enum flow_type type)
{
	switch (type) {
	case FLOW_NIC_RX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_receive);
	case FLOW_NIC_TX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_transmit);
	case FLOW_SNIFFER_RX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_receive_sniffer);
	case FLOW_SNIFFER_TX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_transmit_sniffer);
	case FLOW_RDMA_RX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_receive_rdma);
	case FLOW_RDMA_TX:
		return IFC_OFF(flow_table_nic_cap, flow_table_properties_nic_transmit_rdma);
	default:
		return -1;
	}
}

/**
 * flow_root() - find the table that frames pass first
 * @hca: the HCA
 * @type: which frames
 *
 * Return: the table, NULL if there is none, or if the HCA has no steering.
 */
struct flow_table *flow_root(struct hca *hca, enum flow_type type)
{
	return hca->steering ? hca->steering->root[type] : NULL;
}

/**
 * flow_set_root() - choose the table that frames pass first
 * @hca: the HCA
 * @type: which frames
 * @t: the table, which is of that type; NULL for none
 */
void flow_set_root(struct hca *hca, enum flow_type type, struct flow_table *t)
{
	struct flow_table *old = hca->steering->root[type];

	if (t)
		t->obj.refs++;
	hca->steering->root[type] = t;
	if (old)
		obj_put(hca, &old->obj);
}

/**
 * flow_table_find() - find a flow table
 * @hca: the HCA
 * @id: its number
 *
 * Return: the table or NULL.
 */
struct flow_table *flow_table_find(struct hca *hca, uint32_t id)
{
	return (struct flow_table *)obj_find(hca, OBJ_FLOW_TABLE, id);
}

/**
 * flow_table_set_miss() - choose where frames go that no entry of a table matches
 * @hca: the HCA
 * @t: the table
 * @id: another table of a higher level, 0 for none
 */
void flow_table_set_miss(struct hca *hca, struct flow_table *t, uint32_t id)
{
	uint32_t old = t->miss_id;

	if (id)
		obj_find(hca, OBJ_FLOW_TABLE, id)->refs++;
	t->miss_id = id;
	if (old)
		obj_put(hca, obj_find(hca, OBJ_FLOW_TABLE, old));
}

/**
 * flow_table_free() - free a table that has no groups
 * @hca: the HCA
 * @t: the table
 */
void flow_table_free(struct hca *hca, struct flow_table *t)
{
	if (flow_root(hca, t->type) == t)
		flow_set_root(hca, t->type, NULL);
	flow_table_set_miss(hca, t, 0);
	obj_free(hca, &t->obj);
}

static bool find_other(struct hca *hca, struct obj *o, void *arg)
{
	const struct flow_table **t = arg, *other = (const struct flow_table *)o;

	(void)hca;
	if (*t && other != *t && other->type == (*t)->type)
		*t = NULL;
	return false;
}

/**
 * flow_is_last() - tell whether a table is the only one of its type
 * @hca: the HCA
 * @t: the table
 */
bool flow_is_last(struct hca *hca, const struct flow_table *t)
{
	obj_for_each(hca, OBJ_FLOW_TABLE, find_other, &t);
	return t;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/**
 * flow_group_at() - find a group that has one of the given indices
 * @t: the table
 * @first: first index
 * @last: last index
 *
 * Return: the first such group or NULL.
 */
struct flow_group *flow_group_at(struct flow_table *t, uint32_t first, uint32_t last)
{
	struct flow_group *g;

	TAILQ_FOREACH(g, &t->groups, link)
		if (g->end >= first)
			return g->start <= last ? g : NULL;
	return NULL;
}

static bool group_alloc(struct flow_group *g, unsigned int buckets)
{
	struct flow_bucket *index = calloc(buckets, sizeof(*index));
	struct flow_bucket *value = calloc(buckets, sizeof(*value));

	if (!index || !value) {
		free(index);
		free(value);
		return false;
	}
	g->by_index = index;
	g->by_value = value;
	g->buckets = buckets;
	return true;
}

/**
 * flow_group_add() - add a new group to its table
 * @t: the table, of which no group has an index of the new one
 * @g: the group, with its range and criteria
 *
 * Return: false if memory is short.
 */
bool flow_group_add(struct flow_table *t, struct flow_group *g)
{
	struct flow_group *next = flow_group_at(t, g->start, UINT32_MAX);

	if (!group_alloc(g, BUCKETS_MIN))
		return false;
	match_set_mask(g->mask, g->criteria);
	g->table = t;
	t->obj.refs++;
	if (next)
		TAILQ_INSERT_BEFORE(next, g, link);
	else
		TAILQ_INSERT_TAIL(&t->groups, g, link);
	return true;
}

/**
 * flow_group_free() - free a group that has no entries
 * @hca: the HCA
 * @g: the group
 */
void flow_group_free(struct hca *hca, struct flow_group *g)
{
	struct flow_table *t = g->table;

	TAILQ_REMOVE(&t->groups, g, link);
	free(g->by_index);
	free(g->by_value);
	obj_free(hca, &g->obj);
	obj_put(hca, &t->obj);
}

static struct flow_bucket *index_bucket(const struct flow_group *g, uint32_t index)
{
	return &g->by_index[index & (g->buckets - 1)];
}

static struct flow_bucket *value_bucket(const struct flow_group *g, const uint8_t *value)
{
	return &g->by_value[match_hash(value) & (g->buckets - 1)];
}

static void group_link(struct flow_group *g, struct flow_entry *e)
{
	LIST_INSERT_HEAD(index_bucket(g, e->index), e, index_link);
	LIST_INSERT_HEAD(value_bucket(g, e->value), e, value_link);
}

/* Double the number of lists. If memory is short, the number stays and the lists get longer. */
static void group_grow(struct flow_group *g)
{
	struct flow_group old = *g;
	struct flow_entry *e;
	unsigned int i;

	if (!group_alloc(g, 2 * old.buckets))
		return;
	for (i = 0; i < old.buckets; i++)
		while ((e = LIST_FIRST(&old.by_index[i]))) {
			LIST_REMOVE(e, index_link);
			LIST_REMOVE(e, value_link);
			group_link(g, e);
		}
	free(old.by_index);
	free(old.by_value);
}

/* ---- entries --------------------------------------------------------------------------------- */

/**
 * flow_entry_at() - find the entry with an index
 * @t: the table
 * @index: its index
 *
 * Return: the entry or NULL.
 */
struct flow_entry *flow_entry_at(struct flow_table *t, uint32_t index)
{
	struct flow_group *g = flow_group_at(t, index, index);
	struct flow_entry *e;

	if (!g)
		return NULL;
	LIST_FOREACH(e, index_bucket(g, index), index_link)
		if (e->index == index)
			return e;
	return NULL;
}

static struct flow_entry *group_match(const struct flow_group *g, const uint8_t *image)
{
	struct flow_entry *e, *best = NULL;
	uint8_t key[MATCH_BYTES];

	if (!g->entries)
		return NULL;
	match_apply(key, image, g->mask);
	LIST_FOREACH(e, value_bucket(g, key), value_link)
		if (!memcmp(e->value, key, sizeof(key)) && (!best || e->index < best->index))
			best = e;
	return best;
}

/**
 * flow_entry_match() - find the entry that a frame takes
 * @t: the table
 * @image: of the frame, see match_image()
 *
 * Return: the entry of the lowest index that matches, NULL if none does.
 */
struct flow_entry *flow_entry_match(struct flow_table *t, const uint8_t image[MATCH_BYTES])
{
	struct flow_entry *e = NULL;
	struct flow_group *g;

	TAILQ_FOREACH(g, &t->groups, link) {
		e = group_match(g, image);
		if (e)
			break;
	}
	return e;
}

/**
 * flow_entry_add() - add a new entry to its group
 * @g: the group, in which the entry's index is free
 * @e: the entry, with its index and value
 */
void flow_entry_add(struct flow_group *g, struct flow_entry *e)
{
	if (g->entries >= g->buckets)
		group_grow(g);
	group_link(g, e);
	g->entries++;
	g->obj.refs++;
	e->group = g;
}

static struct obj *dest_obj(struct hca *hca, const struct flow_dest *d)
{
	return obj_find(hca, d->type == FLOW_TO_TIR ? OBJ_TIR : OBJ_FLOW_TABLE, d->id);
}

/**
 * flow_entry_set_dests() - replace the destinations of an entry
 * @hca: the HCA
 * @e: the entry
 * @dest: the destinations, from malloc(); the entry owns the list. NULL for none.
 * @n: how many
 */
void flow_entry_set_dests(struct hca *hca, struct flow_entry *e, struct flow_dest *dest,
			  unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		dest_obj(hca, &dest[i])->refs++;
	for (i = 0; i < e->dests; i++)
		obj_put(hca, dest_obj(hca, &e->dest[i]));
	free(e->dest);
	e->dest = dest;
	e->dests = n;
}

/**
 * flow_entry_set_counters() - replace the counters of an entry
 * @hca: the HCA
 * @e: the entry
 * @counter: ids of counters, from malloc(); the entry owns the list. NULL for none.
 * @n: how many
 */
void flow_entry_set_counters(struct hca *hca, struct flow_entry *e, uint32_t *counter,
			     unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		obj_find(hca, OBJ_FLOW_COUNTER, counter[i])->refs++;
	for (i = 0; i < e->counters; i++)
		obj_put(hca, obj_find(hca, OBJ_FLOW_COUNTER, e->counter[i]));
	free(e->counter);
	e->counter = counter;
	e->counters = n;
}

/**
 * flow_entry_free() - remove an entry from its group and free it
 * @hca: the HCA
 * @e: the entry
 */
void flow_entry_free(struct hca *hca, struct flow_entry *e)
{
	struct flow_group *g = e->group;

	LIST_REMOVE(e, index_link);
	LIST_REMOVE(e, value_link);
	flow_entry_set_dests(hca, e, NULL, 0);
	flow_entry_set_counters(hca, e, NULL, 0);
	g->entries--;
	obj_free(hca, &e->obj);
	obj_put(hca, &g->obj);
}

/* ---- module ---------------------------------------------------------------------------------- */

static int flow_init(struct hca *hca)
{
	hca->steering = calloc(1, sizeof(*hca->steering));
	return hca->steering ? 0 : -ENOMEM;
}

static bool drop_entry(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	flow_entry_free(hca, (struct flow_entry *)o);
	return true;
}

static bool drop_group(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	flow_group_free(hca, (struct flow_group *)o);
	return true;
}

static bool drop_miss(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	flow_table_set_miss(hca, (struct flow_table *)o, 0);
	return true;
}

static bool drop_table(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	flow_table_free(hca, (struct flow_table *)o);
	return true;
}

/* From the objects that refer to the objects that they refer to. */
static void flow_reset(struct hca *hca)
{
	unsigned int type;

	for (type = 0; type < FLOW_TYPES; type++)
		flow_set_root(hca, type, NULL);
	obj_for_each(hca, OBJ_FLOW_ENTRY, drop_entry, NULL);
	obj_for_each(hca, OBJ_FLOW_GROUP, drop_group, NULL);
	obj_for_each(hca, OBJ_FLOW_TABLE, drop_miss, NULL);
	obj_for_each(hca, OBJ_FLOW_TABLE, drop_table, NULL);
	obj_free_all(hca, OBJ_FLOW_COUNTER);
}

static void flow_exit(struct hca *hca)
{
	free(hca->steering);
	hca->steering = NULL;
}

const struct hca_module flow_module = {
	.name = "flow", .init = flow_init, .reset = flow_reset, .exit = flow_exit,
};
