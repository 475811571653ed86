// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs about the HCA as a whole: link, hang, fatal error and removal.
 */
#include <json-c/json.h>
#include <string.h>

#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "port.h"
#include "verb.h"

/**
 * verb_hang() - the verb "inject hang"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *verb_hang(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca->hung = true;
	return verb_ok();
}

/**
 * verb_fatal() - the verb "inject fatal"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *verb_fatal(struct hca *hca, unsigned int n, char **w)
{
	unsigned long synd = MLX5_INITIAL_SEG_HEALTH_SYNDROME_FW_INTERNAL_ERR;

	if (n > 2 && (!verb_number(w[2], &synd) || !synd || synd > 255))
		return verb_fail("inject fatal [SYNDROME]");
	iseg_set_fatal(hca, synd, 0);
	return verb_ok();
}

/**
 * verb_link() - the verb "link"
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * Return: the answer.
 */
struct json_object *verb_link(struct hca *hca, unsigned int n, char **w)
{
	if (n != 2 || (strcmp(w[1], "up") && strcmp(w[1], "down")))
		return verb_fail("link up|down");
	port_set_link(hca, !strcmp(w[1], "up"));
	return verb_ok();
}

/**
 * verb_unplug() - the verb "unplug": surprise removal
 * @hca: the HCA
 * @n: words of the request
 * @w: the words, its name first
 *
 * All objects are freed, and reads give all ones.
 *
 * Return: the answer.
 */
struct json_object *verb_unplug(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca_reset(hca);
	hca->unplugged = true;
	memset(hca->control->baseline, 0, sizeof(hca->control->baseline));
	return verb_ok();
}
