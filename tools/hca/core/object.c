// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of the objects that commands made, by kind and number. New objects get the lowest free
 * number; or, with the profile's cycle_numbers, the next free number after the number given out
 * last; or, with highest_numbers, the highest free number. A lookup is two array steps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "expect.h"
#include "hca.h"
#include "object.h"
#include "profile.h"

#define CHUNK_BITS	10
#define CHUNK		(1u << CHUNK_BITS)
#define NUM_BITS	24
#define CHUNKS		(1u << (NUM_BITS - CHUNK_BITS))

struct chunk {
	unsigned int used;
	struct obj *obj[CHUNK];
};

struct table {
	unsigned int count;
	unsigned int chunks;		/* no chunk is in use from this index on */
	uint32_t hint;	/* where to look first; without cycle_numbers no lower number is free */
	uint32_t used_above;		/* with highest_numbers: all numbers of the range from this
					 * one on are in use; 0: not known */
	struct chunk *chunk[CHUNKS];
};

struct objs {
	struct table t[OBJ_KINDS];
	unsigned int by_uid[0x10000];	/* number of objects of each user id */
};

const char *const obj_kind_name[OBJ_KINDS] = {
	[OBJ_UAR] = "uar", [OBJ_EQ] = "eq", [OBJ_PD] = "pd", [OBJ_TD] = "td",
	[OBJ_XRCD] = "xrcd", [OBJ_QCOUNTER] = "qcounter", [OBJ_MKEY] = "mkey", [OBJ_CQ] = "cq",
	[OBJ_SRQ] = "srq", [OBJ_QP] = "qp", [OBJ_RESERVED_LKEY] = "reserved_lkey",
	[OBJ_SQ] = "sq", [OBJ_MEMIC] = "memic", [OBJ_UCTX] = "uctx", [OBJ_UMEM] = "umem",
	[OBJ_RATE] = "rate", [OBJ_TIS] = "tis", [OBJ_RQ] = "rq", [OBJ_RQT] = "rqt",
	[OBJ_TIR] = "tir", [OBJ_DCT] = "dct", [OBJ_FLOW_TABLE] = "flow_table",
	[OBJ_FLOW_GROUP] = "flow_group", [OBJ_FLOW_ENTRY] = "flow_entry", [OBJ_FLOW_COUNTER] = "flow_counter",
	[OBJ_OTHER] = "other",
};

/**
 * objs_init() - make empty tables of objects
 * @hca: the HCA
 *
 * Return: 0 or -ENOMEM.
 */
int objs_init(struct hca *hca)
{
	hca->objs = calloc(1, sizeof(*hca->objs));
	return hca->objs ? 0 : -ENOMEM;
}

/**
 * objs_exit() - free the tables of objects, which must be empty
 * @hca: the HCA, which has no tables if objs_init() has failed or was not called
 */
void objs_exit(struct hca *hca)
{
	unsigned int k, c;

	if (!hca->objs)
		return;
	for (k = 0; k < OBJ_KINDS; k++)
		for (c = 0; c < hca->objs->t[k].chunks; c++)
			free(hca->objs->t[k].chunk[c]);
	free(hca->objs);
	hca->objs = NULL;
}

static struct obj **obj_slot(struct table *t, uint32_t num)
{
	struct chunk *c = num >> NUM_BITS ? NULL : t->chunk[num >> CHUNK_BITS];

	return c ? &c->obj[num & (CHUNK - 1)] : NULL;
}

/*
 * Return the lowest free number that is not below @num, or @n->limit. Steps over full chunks as a
 * whole.
 */
static uint32_t obj_next_free(struct table *t, uint32_t num, const struct obj_numbers *n)
{
	num = (num + n->step - 1) & ~(n->step - 1);
	while (num < n->limit) {
		struct chunk *c = t->chunk[num >> CHUNK_BITS];

		if (!c)
			return num;
		if (c->used == CHUNK)
			num = (num | (CHUNK - 1)) + 1;
		else if (c->obj[num & (CHUNK - 1)])
			num += n->step;
		else
			return num;
	}
	return n->limit;
}

/*
 * Return the highest free number below @end, or @n->limit. Steps over full chunks as a whole.
 */
static uint32_t obj_last_free(struct table *t, uint32_t end, const struct obj_numbers *n)
{
	uint32_t num = (end + n->step - 1) & ~(n->step - 1);

	while (num > n->first) {
		uint32_t below = num - n->step;
		struct chunk *c = t->chunk[below >> CHUNK_BITS];

		if (c && c->used == CHUNK)
			num = below & ~(CHUNK - 1);
		else if (c && c->obj[below & (CHUNK - 1)])
			num = below;
		else
			return below;
	}
	return n->limit;
}

/**
 * obj_new_at() - make an object with a given number
 * @hca: the HCA
 * @kind: of object
 * @num: its number, below 2^24
 * @uid: owner
 * @size: bytes of the structure that has struct obj as its first member
 *
 * Return: the zeroed object, or NULL when the number is taken or memory is short.
 */
struct obj *obj_new_at(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid, size_t size)
{
	struct table *t = &hca->objs->t[kind];
	struct chunk **c;
	struct obj *o;

	if (num >> NUM_BITS || obj_find(hca, kind, num))
		return NULL;
	c = &t->chunk[num >> CHUNK_BITS];
	if (!*c)
		*c = calloc(1, sizeof(**c));
	o = calloc(1, size);
	if (!*c || !o) {
		free(o);
		return NULL;
	}
	o->kind = kind;
	o->num = num;
	o->size = size;
	o->uid = uid;
	o->born_ns = clock_now_ns();
	(*c)->obj[num & (CHUNK - 1)] = o;
	(*c)->used++;
	if (t->chunks <= num >> CHUNK_BITS)
		t->chunks = (num >> CHUNK_BITS) + 1;
	t->count++;
	hca->objs->by_uid[uid]++;
	return o;
}

static uint32_t obj_number_low(struct hca *hca, const struct obj_numbers *n, struct table *t)
{
	uint32_t num = obj_next_free(t, t->hint > n->first ? t->hint : n->first, n);

	if (num >= n->limit && hca->profile->cycle_numbers)
		num = obj_next_free(t, n->first, n);
	if (num < n->limit)
		t->hint = num + 1;
	return num;
}

static uint32_t obj_number_high(const struct obj_numbers *n, struct table *t)
{
	uint32_t num = obj_last_free(t, t->used_above ? t->used_above : n->limit, n);

	if (num < n->limit)
		t->used_above = num;
	return num;
}

/**
 * obj_new_of() - make an object with a free one of the given numbers
 * @hca: the HCA
 * @kind: of object
 * @n: the numbers, the same for all objects of the kind that exist
 * @uid: owner
 * @size: bytes of the structure that has struct obj as its first member
 *
 * Return: the zeroed object, or NULL when the numbers are used up or memory is short.
 */
struct obj *obj_new_of(struct hca *hca, enum obj_kind kind, const struct obj_numbers *n,
		       uint16_t uid, size_t size)
{
	struct table *t = &hca->objs->t[kind];
	uint32_t num;

	num = hca->profile->highest_numbers ? obj_number_high(n, t) : obj_number_low(hca, n, t);
	return num < n->limit ? obj_new_at(hca, kind, num, uid, size) : NULL;
}

/**
 * obj_new() - make an object with a free number of its kind
 * @hca: the HCA
 * @kind: of object
 * @uid: owner
 * @size: bytes of the structure that has struct obj as its first member
 *
 * Return: the zeroed object, or NULL when the profile's numbers are used up or memory is short.
 */
struct obj *obj_new(struct hca *hca, enum obj_kind kind, uint16_t uid, size_t size)
{
	const struct obj_range *r = &hca->profile->range[kind];
	const struct obj_numbers n = { r->first, r->limit, 1 };

	return obj_new_of(hca, kind, &n, uid, size);
}

/**
 * obj_find() - find an object by its number
 * @hca: the HCA
 * @kind: of object
 * @num: its number
 *
 * Return: the object or NULL.
 */
struct obj *obj_find(struct hca *hca, enum obj_kind kind, uint32_t num)
{
	struct obj **s = obj_slot(&hca->objs->t[kind], num);

	return s ? *s : NULL;
}

/*
 * Only the kernel sends commands with user id 0 or SHARED_UID, and the kernel may use all objects.
 */
static bool uid_is_kernels(uint16_t uid)
{
	return !uid || uid == SHARED_UID;
}

/**
 * obj_find_own() - find an object of a user
 * @hca: the HCA
 * @kind: of object
 * @num: its number
 * @uid: user id of the command
 *
 * Return: the object; NULL if the object does not exist, was freed, or is not the user's. The
 * kernel's user ids find the objects of all users.
 */
struct obj *obj_find_own(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid)
{
	struct obj *o = obj_find(hca, kind, num);

	if (!o || o->gone)
		return NULL;
	return uid_is_kernels(uid) || o->uid == uid ? o : NULL;
}

/**
 * obj_find_shared() - find an object that a user may refer to: the user's own, or shared
 * @hca: the HCA
 * @kind: of object
 * @num: its number
 * @uid: user id of the command
 *
 * Return: the object, or NULL.
 */
struct obj *obj_find_shared(struct hca *hca, enum obj_kind kind, uint32_t num, uint16_t uid)
{
	struct obj *o = obj_find(hca, kind, num);

	return o && o->uid == SHARED_UID && !o->gone ? o : obj_find_own(hca, kind, num, uid);
}

/**
 * obj_set_owner() - give an object to another user
 * @hca: the HCA
 * @obj: the object
 * @uid: the user's id
 */
void obj_set_owner(struct hca *hca, struct obj *obj, uint16_t uid)
{
	hca->objs->by_uid[obj->uid]--;
	hca->objs->by_uid[uid]++;
	obj->uid = uid;
}

/*
 * The HCA has released the content of an object that other objects refer to, which is a mistake of
 * the HCA. Clear the content, and keep the object until the last reference is dropped: the process
 * goes on, because it is also the HCA of other guests.
 */
static void obj_keep(struct hca *hca, struct obj *obj)
{
	char why[80];

	snprintf(why, sizeof(why), "%s 0x%x is freed, but has %u references",
		 obj_kind_name[obj->kind], obj->num, obj->refs);
	fprintf(stderr, "bluebell-hca: a bug in HCA %u: %s\n", hca->index, why);
	expect_incident(hca->expect, INCIDENT_BUG, 0, 0, "references", why);
	memset((char *)obj + sizeof(*obj), 0, obj->size - sizeof(*obj));
	obj->gone = true;
}

/**
 * obj_free() - free an object
 * @hca: the HCA
 * @obj: the object, to which no references are left; otherwise obj_put() will free it
 */
void obj_free(struct hca *hca, struct obj *obj)
{
	struct table *t = &hca->objs->t[obj->kind];

	if (obj->refs) {
		obj_keep(hca, obj);
		return;
	}
	*obj_slot(t, obj->num) = NULL;
	t->chunk[obj->num >> CHUNK_BITS]->used--;
	t->count--;
	hca->objs->by_uid[obj->uid]--;
	if (obj->num < t->hint && !hca->profile->cycle_numbers)
		t->hint = obj->num;
	if (t->used_above && obj->num >= t->used_above)
		t->used_above = obj->num + 1;
	/* The next objects of the kind may get other numbers, see obj_new_of(). */
	if (!t->count) {
		t->hint = hca->profile->cycle_numbers ? t->hint : 0;
		t->used_above = 0;
	}
	free(obj);
}

static bool obj_free_one(struct hca *hca, struct obj *obj, void *arg)
{
	(void)arg;
	obj->refs = 0;
	obj_free(hca, obj);
	return true;
}

/**
 * obj_free_all() - free all objects of a kind whose structures own no other memory
 * @hca: the HCA
 * @kind: of object
 *
 * References are ignored: this is for the reset of the HCA.
 */
void obj_free_all(struct hca *hca, enum obj_kind kind)
{
	obj_for_each(hca, kind, obj_free_one, NULL);
}

/**
 * obj_put() - drop a reference
 * @hca: the HCA
 * @obj: object to which the reference is dropped, or NULL
 *
 * If a command has freed the object, dropping the last reference frees its memory and its number.
 */
void obj_put(struct hca *hca, struct obj *obj)
{
	if (obj && obj->refs && !--obj->refs && obj->gone)
		obj_free(hca, obj);
}

/**
 * obj_for_each() - call a function for each object of a kind
 * @hca: the HCA
 * @kind: of object
 * @fn: may free the object that it is called for, and no other; false ends the loop
 * @arg: passed to @fn
 */
void obj_for_each(struct hca *hca, enum obj_kind kind, obj_fn fn, void *arg)
{
	struct table *t = &hca->objs->t[kind];
	unsigned int i, j, left;

	for (i = 0; i < t->chunks && t->count; i++) {
		left = t->chunk[i] ? t->chunk[i]->used : 0;
		for (j = 0; j < CHUNK && left; j++) {
			if (!t->chunk[i]->obj[j])
				continue;
			left--;
			if (!fn(hca, t->chunk[i]->obj[j], arg))
				return;
		}
	}
}

/**
 * obj_count() - count the objects of a kind
 * @hca: the HCA
 * @kind: of object
 *
 * Return: the number of objects.
 */
unsigned int obj_count(struct hca *hca, enum obj_kind kind)
{
	return hca->objs->t[kind].count;
}

/**
 * obj_total() - count the objects of all kinds
 * @hca: the HCA
 *
 * Return: the number of objects.
 */
unsigned int obj_total(struct hca *hca)
{
	unsigned int k, n = 0;

	for (k = 0; k < OBJ_KINDS; k++)
		n += hca->objs->t[k].count;
	return n;
}

/**
 * obj_count_uid() - count the objects of a user
 * @hca: the HCA
 * @uid: user id
 *
 * Return: the number of objects.
 */
unsigned int obj_count_uid(struct hca *hca, uint16_t uid)
{
	return hca->objs->by_uid[uid];
}
