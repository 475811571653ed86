// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about the HCA as a whole: link, port, hang, fatal error and removal.
 */
#include <json-c/json.h>
#include <string.h>

#include "answer.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "pci.h"
#include "request.h"
#include "words.h"

/**
 * request_hang() - the request "inject hang"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_hang(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca->hung = true;
	return answer_ok();
}

/**
 * request_fatal() - the request "inject fatal"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_fatal(struct hca *hca, unsigned int n, char **w)
{
	unsigned long synd = MLX5_INITIAL_SEG_HEALTH_SYNDROME_FW_INTERNAL_ERR;

	if (n > 2 && (!request_number(w[2], &synd) || !synd || synd > 255))
		return answer_fail("usage: inject fatal [SYNDROME]");
	iseg_set_fatal(hca, synd, 0);
	return answer_ok();
}

/**
 * request_link() - the request "link"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_link(struct hca *hca, unsigned int n, char **w)
{
	if (n != 2 || (strcmp(w[1], "up") && strcmp(w[1], "down")))
		return answer_fail("usage: link up|down");
	hca->board->port->set_link(hca, !strcmp(w[1], "up"));
	return answer_ok();
}

/**
 * request_port() - the request "port": change LIDs or a P_Key, as a subnet manager
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_port(struct hca *hca, unsigned int n, char **w)
{
	const struct port_ops *port = hca->board->port;
	unsigned long v[2] = { 0 };

	if (!port->set_lids || !port->set_pkey)
		return answer_fail("an Ethernet port has no LIDs and no P_Keys");
	if ((n == 3 || (n == 4 && request_number(w[3], &v[1]))) && !strcmp(w[1], "lid") &&
	    request_number(w[2], &v[0])) {
		if (v[0] > 0xffff || v[1] > 7 || !port->set_lids(hca, v[0], v[1]))
			return answer_fail("%s is not the first of 2^%lu free unicast LIDs", w[2],
					   v[1]);
		return answer_ok();
	}
	if (n == 4 && !strcmp(w[1], "pkey") && request_number(w[2], &v[0]) &&
	    request_number(w[3], &v[1]) && v[1] <= 0xffff) {
		if (!port->set_pkey(hca, v[0] < ~0u ? v[0] : ~0u, v[1]))
			return answer_fail("the P_Key table has no entry %s", w[2]);
		return answer_ok();
	}
	return answer_fail("usage: port lid LID [LMC] | port pkey INDEX P_KEY");
}

/**
 * request_unplug() - the request "unplug": surprise removal
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * All objects are freed, reads give all ones, and the link is down.
 *
 * Return: the answer.
 */
struct json_object *request_unplug(struct hca *hca, unsigned int n, char **w)
{
	(void)n;
	(void)w;
	hca_reset(hca);
	hca->unplugged = true;
	hca->board->port->set_link(hca, false);
	return answer_ok();
}

/**
 * request_plug() - the request "plug": the HCA is put back after "unplug"
 * @hca: the HCA, which is then as after power on
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_plug(struct hca *hca, unsigned int n, char **w)
{
	(void)w;
	if (n != 1 || !hca->unplugged)
		return answer_fail("plug, after unplug");
	hca->unplugged = false;
	pci_power_on(hca);
	hca_reset(hca);
	hca->board->port->set_link(hca, true);
	return answer_ok();
}
