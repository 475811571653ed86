// SPDX-License-Identifier: GPL-2.0
/*
 * The requests "cap" and "limit": what the HCA can do.
 */
#include <json-c/json.h>
#include <string.h>

#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"
#include "request.h"

/**
 * request_cap() - the request "cap"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *request_cap(struct hca *hca, unsigned int n, char **w)
{
	uint32_t off, width;
	struct json_object *o;
	unsigned int type;

	if (n != 3)
		return answer_fail("cap PAGE FIELD");
	if (!profile_find_cap(w[1], w[2], &type, &off, &width))
		return answer_fail("no capability %s.%s", w[1], w[2]);
	o = answer_ok();
	answer_add_num(o, "cur", ifc_get_bits(hca->cap[type], off, width));
	answer_add_num(o, "max", ifc_get_bits(hca->profile->cap[0][type], off, width));
	return o;
}

/**
 * request_limit() - the request "limit"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *request_limit(struct hca *hca, unsigned int n, char **w)
{
	const struct obj_range *range = hca->profile->range;
	struct json_object *o;
	unsigned int k;

	if (n != 2)
		return answer_fail("limit KIND|command_timeout_ms|no_write_combining");
	if (!strcmp(w[1], "command_timeout_ms")) {
		o = answer_ok();
		answer_add_num(o, "limit", hca->profile->command_timeout_ms);
		return o;
	}
	if (!strcmp(w[1], "no_write_combining")) {
		o = answer_ok();
		answer_add_num(o, "limit", hca->profile->no_write_combining);
		return o;
	}
	for (k = 0; k < OBJ_KINDS && strcmp(obj_kind_name[k], w[1]); k++)
		;
	if (k == OBJ_KINDS)
		return answer_fail("no kind of object %s", w[1]);
	o = answer_ok();
	answer_add_num(o, "limit", range[k].limit - range[k].first);
	return o;
}
