// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet administration (InfiniBand Architecture, volume 1, chapter 15): requests and answers.
 */
#include <stdlib.h>
#include <string.h>

#include "ifc.h"
#include "mad_format.h"
#include "rmpp.h"
#include "sa.h"
#include "sa_mcast.h"
#include "sa_notice.h"
#include "sa_path.h"
#include "sa_record.h"
#include "sa_service.h"
#include "sa_table.h"
#include "switch.h"
#include "util.h"

#define CLASS_VERSION	2
#define CLASS_PORT_BYTES 72
/* In ClassPortInfo: CapabilityMask and CapabilityMask2. */
#define SA_CAPS		0x2000		/* a query may name some of PortInfo's capabilities */
#define SA_CAPS2	(1u << 12)	/* send-only full members of multicast groups */
#define SA_RESPONSE_TIME 18

enum sa_method {
	SA_GET = 0x01, SA_SET = 0x02, SA_GET_TABLE = 0x12, SA_DELETE = 0x15,
};

struct sa {
	struct switch_node *sw;
	struct rmpp *rmpp;
	struct sa_notices *notices;
	struct sa_groups *groups;
	struct sa_services *services;
};

/**
 * sa_new() - make the subnet administration of a subnet
 * @sw: the switch, at whose port 0 it is
 *
 * Return: the subnet administration, or NULL if memory is short.
 */
struct sa *sa_new(struct switch_node *sw)
{
	struct sa *sa = calloc(1, sizeof(*sa));

	if (!sa)
		return NULL;
	sa->sw = sw;
	sa->rmpp = rmpp_new(sw);
	sa->notices = sa_notices_new(sw);
	sa->services = sa_services_new();
	sa->groups = sa->notices ? sa_groups_new(sw, sa->notices) : NULL;
	if (sa->rmpp && sa->services && sa->groups)
		return sa;
	sa_free(sa);
	return NULL;
}

/**
 * sa_free() - free the subnet administration
 * @sa: the subnet administration, or NULL
 */
void sa_free(struct sa *sa)
{
	if (!sa)
		return;
	if (sa->groups)
		sa_groups_free(sa->groups);
	if (sa->rmpp)
		rmpp_free(sa->rmpp);
	sa_services_free(sa->services);
	sa_notices_free(sa->notices);
	free(sa);
}

/**
 * sa_port_changed() - a link went up or down
 * @sa: the subnet administration
 * @port: number of the switch's port
 * @up: it went up
 */
void sa_port_changed(struct sa *sa, unsigned int port, bool up)
{
	uint8_t gid[16];

	if (!sa_end_gid(sa->sw, port, gid))
		return;
	if (!up) {
		sa_groups_port_gone(sa->groups, port);
		sa_notices_port_gone(sa->notices, port);
		sa_services_port_gone(sa->services, port);
	}
	sa_notify(sa->notices, up ? TRAP_GID_IN : TRAP_GID_OUT, gid);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static uint16_t sa_class_port_info(struct sa_request *rq)
{
	uint8_t rec[CLASS_PORT_BYTES] = { 1, CLASS_VERSION };

	put_be16(rec + 2, SA_CAPS);
	put_be32(rec + 4, SA_CAPS2 << 5 | SA_RESPONSE_TIME);
	sa_add(rq, rec);
	return SA_OK;
}

typedef uint16_t (*sa_fn)(struct sa_request *rq);

static const struct sa_attr_desc {
	uint16_t attr;
	uint8_t record;			/* bytes */
	bool no_table;			/* Get only */
	sa_fn get, set, remove;
} sa_attrs[] = {
	{ SA_CLASS_PORT_INFO, CLASS_PORT_BYTES, true, sa_class_port_info, NULL, NULL },
	{ SA_INFORM_INFO, SA_INFORM_BYTES, true, NULL, sa_inform_set, NULL },
	{ SA_NODE_RECORD, SA_NODE_BYTES, false, sa_node_get, NULL, NULL },
	{ SA_PORT_INFO_RECORD, SA_PORT_INFO_BYTES, false, sa_port_info_get, NULL, NULL },
	{ SA_SWITCH_INFO_RECORD, SA_SWITCH_INFO_BYTES, false, sa_switch_info_get, NULL, NULL },
	{ SA_SM_INFO_RECORD, SA_SM_INFO_BYTES, false, sa_sm_info_get, NULL, NULL },
	{ SA_LINK_RECORD, SA_LINK_BYTES, false, sa_link_get, NULL, NULL },
	{ SA_PKEY_RECORD, SA_PKEY_BYTES, false, sa_pkey_get, NULL, NULL },
	{ SA_PATH_RECORD, SA_PATH_BYTES, false, sa_path_get, NULL, NULL },
	{ SA_MCMEMBER_RECORD, SA_MCMEMBER_BYTES, false, sa_mcmember_get, sa_mcmember_join,
	  sa_mcmember_leave },
	{ SA_SERVICE_RECORD, SA_SERVICE_BYTES, false, sa_service_get, sa_service_set,
	  sa_service_delete },
	{ SA_INFORM_INFO_RECORD, SA_INFORM_RECORD_BYTES, false, sa_inform_get, NULL, NULL },
};

static const struct sa_attr_desc *sa_attr_find(uint16_t attr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sa_attrs); i++)
		if (sa_attrs[i].attr == attr)
			return &sa_attrs[i];
	return NULL;
}

static sa_fn sa_handler(const struct sa_attr_desc *d, uint8_t method)
{
	switch (method) {
	case SA_GET:
		return d->get;
	case SA_GET_TABLE:
		return d->no_table ? NULL : d->get;
	case SA_SET:
		return d->set;
	case SA_DELETE:
		return d->remove;
	default:
		return NULL;
	}
}

/* ---- requests -------------------------------------------------------------------------------- */

/*
 * 15.4.5: exactly one record answers a Get. For PathRecord it is the first of several equal paths.
 */
static uint16_t sa_count_records(const struct sa_request *rq, const struct sa_attr_desc *d,
				 uint16_t status)
{
	size_t padded = (d->record + 7) / 8 * 8;

	if (status)
		return status;
	if (rq->out.failed)
		return SA_NO_RESOURCES;
	if (rq->method != SA_GET)
		return SA_OK;
	if (!rq->out.len)
		return SA_NO_RECORDS;
	return rq->out.len > padded && d->attr != SA_PATH_RECORD ? SA_TOO_MANY_RECORDS : SA_OK;
}

static void sa_answer(struct sa *sa, struct sa_request *rq, const struct sa_attr_desc *d,
		      const uint8_t *in, uint16_t status)
{
	uint8_t out[MAD_BYTES] = { 0 };

	memcpy(out, in, OFF_SA_DATA);
	memset(out + OFF_RMPP_VERSION, 0, OFF_SM_KEY - OFF_RMPP_VERSION);
	out[OFF_RMPP_VERSION] = 1;
	out[OFF_METHOD] |= METHOD_RESPONSE;
	put_be16(out + OFF_STATUS, status);
	put_be16(out + OFF_ATTR_OFFSET, d ? (d->record + 7) / 8 : 0);
	if (!status && rq->method == SA_GET_TABLE) {
		uint8_t *bytes = rq->out.bytes ? rq->out.bytes : calloc(1, 8);

		if (bytes)
			rmpp_send(sa->rmpp, rq->port, &rq->from, out, bytes, rq->out.len);
		rq->out.bytes = NULL;
		return;
	}
	if (!status)
		memcpy(out + OFF_SA_DATA, rq->out.bytes, d->record);
	gsi_send(sa->sw, &rq->from, out);
}

static void sa_request(struct sa *sa, struct sa_request *rq, const uint8_t *in)
{
	const struct sa_attr_desc *d = sa_attr_find(get_be16(in + OFF_ATTR));
	sa_fn fn = d ? sa_handler(d, rq->method) : NULL;
	uint16_t status;

	if (in[OFF_VERSION] != 1 || in[OFF_CLASS_VERSION] != CLASS_VERSION) {
		status = MAD_BAD_VERSION;
	} else if (!fn) {
		status = MAD_BAD_ATTR;
	} else {
		rq->out.record = d->record;
		status = sa_count_records(rq, d, fn(rq));
	}
	sa_answer(sa, rq, d, in, status);
	free(rq->out.bytes);
}

static bool sa_is_request(uint8_t method)
{
	return method == SA_GET || method == SA_SET || method == SA_GET_TABLE ||
	       method == SA_DELETE;
}

/**
 * sa_receive() - process a datagram of the class of subnet administration
 * @sa: the subnet administration
 * @by: number of the switch's port by which it came
 * @from: where an answer goes
 * @mad: the datagram, MAD_BYTES
 */
void sa_receive(struct sa *sa, unsigned int by, const struct gsi_peer *from, const uint8_t *mad)
{
	struct sa_request rq = {
		.sw = sa->sw, .groups = sa->groups, .notices = sa->notices,
		.services = sa->services, .port = by, .from = *from, .method = mad[OFF_METHOD],
		.mod = get_be32(mad + OFF_MOD), .mask = get_be64(mad + OFF_COMPONENTS),
		.trusted = get_be64(mad + OFF_SM_KEY) == SWITCH_SM_KEY, .data = mad + OFF_SA_DATA,
	};

	if (mad[OFF_RMPP_FLAGS] & RMPP_ACTIVE)
		rmpp_receive(sa->rmpp, by, from, mad);
	else if (sa_is_request(rq.method))
		sa_request(sa, &rq, mad);
}
