// SPDX-License-Identifier: GPL-2.0
/*
 * The requests "profile", "cap" and "limit": what the HCA can do.
 */
#include <json-c/json.h>
#include <string.h>

#include "answer.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "request.h"
#include "uar_page.h"
#include "util.h"

/**
 * request_cap() - the request "cap"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_cap(struct hca *hca, unsigned int n, char **w)
{
	uint32_t off, width;
	struct json_object *o;
	unsigned int type;

	if (n != 3)
		return answer_fail("usage: cap PAGE FIELD");
	if (!profile_find_cap(w[1], w[2], &type, &off, &width))
		return answer_fail("no capability %s.%s", w[1], w[2]);
	o = answer_ok();
	answer_add_num(o, "cur", ifc_get_bits(hca->cap[type], off, width));
	answer_add_num(o, "max", ifc_get_bits(hca->profile->cap[0][type], off, width));
	return o;
}

/* The profile's settings that the request "limit" returns, by their names in a profile. */
static bool limit_of_setting(const struct profile *p, const char *name, uint64_t *limit)
{
	const struct {
		const char *name;
		uint64_t value;
	} settings[] = {
		{ "command_timeout_ms", p->command_timeout_ms },
		{ "log_min_ack_timeout", p->log_min_ack_timeout },
		{ "no_write_combining", p->no_write_combining },
		{ "min_wqe_inline_mode", p->min_wqe_inline_mode },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strcmp(settings[i].name, name))
			continue;
		*limit = settings[i].value;
		return true;
	}
	return false;
}

static bool limit_of_kind(const struct hca *hca, const char *name, uint64_t *limit)
{
	const struct obj_numbers uars = uar_numbers(hca);
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++) {
		if (strcmp(obj_kind_name[k], name))
			continue;
		*limit = k == OBJ_UAR ? (uars.limit - uars.first) / uars.step :
			 hca->profile->range[k].limit - hca->profile->range[k].first;
		return true;
	}
	return false;
}

/**
 * request_profile() - the request "profile"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_profile(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o;

	(void)w;
	if (n != 1)
		return answer_fail("usage: profile");
	o = answer_ok();
	json_object_object_add(o, "name", json_object_new_string(hca->profile->name));
	return o;
}

/**
 * request_limit() - the request "limit"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_limit(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o;
	uint64_t limit;

	if (n != 2)
		return answer_fail("usage: limit KIND|command_timeout_ms|log_min_ack_timeout|"
				   "no_write_combining|min_wqe_inline_mode");
	if (!limit_of_setting(hca->profile, w[1], &limit) &&
	    !limit_of_kind(hca, w[1], &limit))
		return answer_fail("no kind of object or setting %s", w[1]);
	o = answer_ok();
	answer_add_num(o, "limit", limit);
	return o;
}
