// SPDX-License-Identifier: GPL-2.0
/*
 * The request "rates": the table of rates to which send queues are limited.
 */
#include <json-c/json.h>

#include "answer.h"
#include "hca.h"
#include "ifc.h"
#include "pacing.h"
#include "request.h"

static bool add_rate(struct hca *hca, struct obj *obj, void *list)
{
	const struct rate *rate = (const struct rate *)obj;
	struct json_object *o = json_object_new_object();

	(void)hca;
	answer_add_num(o, "index", obj->num);
	answer_add_num(o, "uid", obj->uid);
	answer_add_num(o, "set", !obj->gone);
	answer_add_num(o, "rate", IFC_GET(set_pp_rate_limit_context, rate->ctx, rate_limit));
	answer_add_num(o, "burst", IFC_GET(set_pp_rate_limit_context, rate->ctx,
					   burst_upper_bound));
	answer_add_num(o, "packet", IFC_GET(set_pp_rate_limit_context, rate->ctx,
					    typical_packet_size));
	answer_add_num(o, "queues", obj->refs);
	json_object_array_add(list, o);
	return true;
}

/**
 * request_rates() - the request "rates"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_rates(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o, *list;

	(void)w;
	if (n > 1)
		return answer_fail("rates takes no argument");
	o = answer_ok();
	list = json_object_new_array();
	obj_for_each(hca, OBJ_RATE, add_rate, list);
	json_object_object_add(o, "list", list);
	return o;
}
