// SPDX-License-Identifier: GPL-2.0
/*
 * The census: live objects by kind and by user id.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "hca.h"
#include "mkey.h"
#include "object.h"
#include "request.h"

static const char *census_name(unsigned int k)
{
	return k == COUNT_MKEY_FREE ? "mkey_free" : obj_kind_name[k];
}

static bool census_counts_as(const struct obj *obj, unsigned int k)
{
	if (obj->kind != OBJ_MKEY)
		return obj->kind == k;
	return k == (((const struct mkey *)obj)->free ? COUNT_MKEY_FREE : OBJ_MKEY);
}

struct tally {
	unsigned int k, n;
	struct json_object *by_uid;	/* counts by user id; NULL: only @n is counted */
};

static bool census_tally_obj(struct hca *hca, struct obj *obj, void *arg)
{
	struct tally *t = arg;
	struct json_object *by = t->by_uid, *n;
	char uid[8];

	(void)hca;
	if (!census_counts_as(obj, t->k))
		return true;
	t->n++;
	if (!by)
		return true;
	snprintf(uid, sizeof(uid), "%u", obj->uid);
	if (json_object_object_get_ex(by, uid, &n))
		json_object_int_inc(n, 1);
	else
		answer_add_num(by, uid, 1);
	return true;
}

static unsigned int census_tally(struct hca *hca, unsigned int k, struct json_object *by_uid)
{
	struct tally t = { .k = k, .by_uid = by_uid };

	obj_for_each(hca, k == COUNT_MKEY_FREE ? OBJ_MKEY : (enum obj_kind)k, census_tally_obj, &t);
	return t.n;
}

static struct json_object *census_kinds(struct hca *hca, unsigned int *total)
{
	struct json_object *kinds = json_object_new_object();
	unsigned int k;

	for (k = 0; k < COUNTS; k++) {
		struct json_object *by = json_object_new_object();
		unsigned int n = census_tally(hca, k, by);
		struct json_object *o;

		*total += n;
		if (!n) {
			json_object_put(by);
			continue;
		}
		o = json_object_new_object();
		answer_add_num(o, "total", n);
		json_object_object_add(o, "by_uid", by);
		json_object_object_add(kinds, census_name(k), o);
	}
	return kinds;
}

/**
 * request_census() - the request "census"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_census(struct hca *hca, unsigned int n, char **w)
{
	struct control *c = hca->control;
	struct json_object *o, *delta;
	unsigned int total = 0, k;

	if (n > 1 && !strcmp(w[1], "reset")) {
		for (k = 0; k < COUNTS; k++)
			c->baseline[k] = census_tally(hca, k, NULL);
		c->have_baseline = true;
		return answer_ok();
	}
	if (n > 1)
		return answer_fail("usage: census [reset]");
	o = answer_ok();
	if (hca->unplugged)
		json_object_object_add(o, "unplugged", json_object_new_boolean(true));
	json_object_object_add(o, "objects", census_kinds(hca, &total));
	answer_add_num(o, "total", total);
	if (!c->have_baseline)
		return o;
	delta = json_object_new_object();
	for (k = 0; k < COUNTS; k++) {
		int64_t diff = (int64_t)census_tally(hca, k, NULL) - c->baseline[k];

		if (diff)
			answer_add_num(delta, census_name(k), diff);
	}
	json_object_object_add(o, "delta", delta);
	return o;
}
