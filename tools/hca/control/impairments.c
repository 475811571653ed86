// SPDX-License-Identifier: GPL-2.0
/*
 * The request "impair": packets to the port are lost, duplicated, reordered, corrupted or delayed;
 * and the request "ecn": packets of RoCE are marked, as by a router that is congested.
 */
#include <json-c/json.h>
#include <string.h>

#include "answer.h"
#include "fabric.h"
#include "hca.h"
#include "impair.h"
#include "request.h"
#include "roce_link.h"
#include "words.h"

static struct json_object *impair_settings_object(const struct impair_settings *s)
{
	struct json_object *o = json_object_new_object();
	unsigned int i;

	for (i = 0; i < IMPAIRMENTS; i++)
		json_object_object_add(o, impair_names[i],
				       json_object_new_double(s->ppm[i] * 100.0 / IMPAIR_ALWAYS));
	answer_add_num(o, "delay_ms", s->delay_ms);
	answer_add_num(o, "seed", s->seed);
	return o;
}

static struct json_object *impair_report(const struct impair *im)
{
	static const char *const done[IMPAIRMENTS] = {
		[IMPAIR_LOSS] = "lost", [IMPAIR_DUP] = "duplicated",
		[IMPAIR_REORDER] = "reordered", [IMPAIR_CORRUPT] = "corrupted",
		[IMPAIR_DELAY] = "delayed",
	};
	const struct impair_counts c = impair_counts(im);
	struct json_object *o = answer_ok();
	unsigned int i;

	json_object_object_add(o, "settings", impair_settings_object(impair_settings(im)));
	answer_add_num(o, "packets", c.packets);
	for (i = 0; i < IMPAIRMENTS; i++)
		answer_add_num(o, done[i], c.n[i]);
	answer_add_num(o, "held", c.held);
	return o;
}

/**
 * request_impair() - the request "impair"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_impair(struct hca *hca, unsigned int n, char **w)
{
	struct impair *im = fabric_impair(hca);
	struct impair_settings s;
	char why[200];

	if (n > 2)
		return answer_fail("usage: impair [SETTINGS|off]");
	if (n == 2 && !strcmp(w[1], "off")) {
		impair_stop(im);
	} else if (n == 2) {
		if (!impair_parse(w[1], &s, why, sizeof(why)))
			return answer_fail("%s", why);
		if (impair_start(im, &s))
			return answer_fail("memory is short");
	}
	return impair_report(im);
}

/**
 * request_ecn() - the request "ecn"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_ecn(struct hca *hca, unsigned int n, char **w)
{
	struct json_object *o;
	struct cnp_counts c;
	unsigned long percent;

	if (!hca->roce)
		return answer_fail("the port is not an Ethernet port");
	if (n > 2 || (n == 2 && (!request_number(w[1], &percent) || percent > 100)))
		return answer_fail("usage: ecn [PERCENT]");
	if (n == 2)
		roce_set_ecn(hca, percent * (IMPAIR_ALWAYS / 100));
	c = roce_congestion(hca);
	o = answer_ok();
	answer_add_num(o, "marked", c.marked);
	answer_add_num(o, "cnps_sent", c.sent);
	answer_add_num(o, "cnps_handled", c.handled);
	answer_add_num(o, "cnps_ignored", c.ignored);
	return o;
}
