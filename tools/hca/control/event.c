// SPDX-License-Identifier: GPL-2.0
/*
 * The request "inject event": asynchronous events that have no cause in the HCA.
 */
#include <json-c/json.h>
#include <strings.h>

#include "answer.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "request.h"
#include "util.h"
#include "words.h"

/*
 * What the number in the request means. The event data has the number at a place that depends on
 * it.
 */
enum event_arg { ARG_NONE, ARG_QPN, ARG_CQN, ARG_PORT, ARG_PAGES };

static const struct {
	const char *name;
	uint8_t type;
	enum event_arg arg;
} events[] = {
	{ "PATH_MIG", 0x01, ARG_QPN }, { "COMM_EST", 0x02, ARG_QPN },
	{ "SQ_DRAINED", 0x03, ARG_QPN }, { "CQ_ERROR", 0x04, ARG_CQN },
	{ "WQ_CATAS_ERROR", 0x05, ARG_QPN }, { "PATH_MIG_FAILED", 0x07, ARG_QPN },
	{ "INTERNAL_ERROR", 0x08, ARG_NONE }, { "PORT_CHANGE", 0x09, ARG_PORT },
	{ "PAGE_REQUEST", 0x0b, ARG_PAGES }, { "WQ_INVAL_REQ_ERROR", 0x10, ARG_QPN },
	{ "WQ_ACCESS_ERROR", 0x11, ARG_QPN }, { "SRQ_CATAS_ERROR", 0x12, ARG_QPN },
	{ "SRQ_LAST_WQE", 0x13, ARG_QPN }, { "SRQ_RQ_LIMIT", 0x14, ARG_QPN },
	{ "TEMP_WARN_EVENT", 0x17, ARG_NONE }, { "GENERAL_EVENT", 0x22, ARG_NONE },
};

/* The greatest number that fits into the event data. */
static const unsigned long most[] = {
	[ARG_NONE] = UINT32_MAX, [ARG_QPN] = 0xffffff, [ARG_CQN] = 0xffffff, [ARG_PORT] = 15,
	[ARG_PAGES] = UINT32_MAX,
};

static void event_data(uint8_t *data, enum event_arg arg, unsigned long num)
{
	switch (arg) {
	case ARG_QPN:
		put_be32(data + 24, num);
		break;
	case ARG_CQN:
		put_be32(data, num);
		data[11] = 1;	/* overrun */
		break;
	case ARG_PORT:
		data[8] = (num ? num : 1) << 4;
		break;
	case ARG_PAGES:
		put_be32(data + 4, num);
		break;
	default:
		break;
	}
}

/**
 * request_event() - the request "inject event"
 * @hca: the HCA
 * @n: number of words
 * @w: the words, the request's name first
 *
 * Return: the answer.
 */
struct json_object *request_event(struct hca *hca, unsigned int n, char **w)
{
	unsigned long type = 0, num = 0, sub = 0;
	uint8_t data[28] = { 0 };
	unsigned int i;

	if (n < 3 || n > 5 || (n > 3 && !request_number(w[3], &num)) ||
	    (n > 4 && !request_number(w[4], &sub)))
		return answer_fail("usage: inject event TYPE [NUMBER [SUBTYPE]]");
	if (sub > 255)
		return answer_fail("subtype %lu does not fit into 8 bits", sub);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcasecmp(events[i].name, w[2]))
			break;
	if (i < ARRAY_SIZE(events)) {
		type = events[i].type;
		if (num > most[events[i].arg])
			return answer_fail("%s has no number above %lu", w[2],
					   most[events[i].arg]);
		event_data(data, events[i].arg, num);
	} else if (!request_number(w[2], &type) || type > 255) {
		return answer_fail("no event %s", w[2]);
	}
	eq_post_async(hca, type, sub, data);
	return answer_ok();
}
