/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A request to subnet administration and the records that answer it; the end ports of the subnet.
 */
#ifndef BLUEBELL_SA_RECORD_H
#define BLUEBELL_SA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forward.h"
#include "gsi.h"

struct sa_groups;
struct sa_notices;
struct sa_services;
struct switch_node;

enum sa_status {
	SA_OK = 0, SA_NO_RESOURCES = 0x0100, SA_INVALID = 0x0200, SA_NO_RECORDS = 0x0300,
	SA_TOO_MANY_RECORDS = 0x0400, SA_INVALID_GID = 0x0500, SA_INSUFFICIENT = 0x0600,
	SA_DENIED = 0x0700,
};

enum sa_attr {
	SA_CLASS_PORT_INFO = 0x01, SA_NOTICE = 0x02, SA_INFORM_INFO = 0x03, SA_NODE_RECORD = 0x11,
	SA_PORT_INFO_RECORD = 0x12, SA_SWITCH_INFO_RECORD = 0x14, SA_SM_INFO_RECORD = 0x18,
	SA_LINK_RECORD = 0x20, SA_SERVICE_RECORD = 0x31, SA_PKEY_RECORD = 0x33,
	SA_PATH_RECORD = 0x35, SA_MCMEMBER_RECORD = 0x38, SA_INFORM_INFO_RECORD = 0xf3,
};

/* Records, one after the other, each padded to 8 bytes. */
struct sa_records {
	uint8_t *bytes;
	size_t len, size, record;
	bool failed;			/* memory is short, or there are too many records */
};

struct sa_request {
	struct switch_node *sw;
	struct sa_groups *groups;
	struct sa_notices *notices;	/* subscriptions */
	struct sa_services *services;
	unsigned int port;		/* of the switch, by which the request came */
	struct gsi_peer from;
	uint8_t method;
	uint32_t mod;			/* attribute modifier */
	bool trusted;
	uint64_t mask;			/* component mask: components that count */
	const uint8_t *data;		/* the record in the request: SA_DATA_BYTES */
	struct sa_records out;
};

/* A component of a record: its bit in the component mask, its offset and width in bits. */
struct sa_component {
	uint8_t bit;
	uint16_t off, width;
};

static inline bool sa_has(const struct sa_request *rq, unsigned int bit)
{
	return rq->mask >> bit & 1;
}

bool sa_match(const struct sa_request *rq, const struct sa_component *c, size_t n,
	      const uint8_t *rec);
void sa_add(struct sa_request *rq, const uint8_t *rec);

/* ---- end ports: port 0 of the switch, and each HCA by the number of the switch's port -------- */

#define SA_END_PKEYS	128	/* entries of a P_Key table that are looked at */

struct sa_end {
	uint16_t lid;
	uint64_t guid;
	uint8_t gid[16];
	uint8_t mtu, rate;		/* codes */
};

bool sa_end(const struct switch_node *sw, unsigned int port, struct sa_end *e);
bool sa_end_gid(const struct switch_node *sw, unsigned int port, uint8_t gid[16]);
bool sa_end_has_gid(const struct switch_node *sw, unsigned int port, const uint8_t gid[16]);
unsigned int sa_end_pkeys(const struct switch_node *sw, unsigned int port,
			  uint16_t pkeys[SA_END_PKEYS]);
bool sa_end_in(const struct switch_node *sw, unsigned int port, uint16_t pkey);
bool sa_end_attr(struct switch_node *sw, unsigned int port, uint16_t attr, uint32_t mod,
		 uint8_t *data);

/* ---- selectors of MTU and rate, in the upper two bits ---------------------------------------- */

enum sa_selector { SA_GREATER = 0, SA_LESS = 1, SA_EXACTLY = 2, SA_LARGEST = 3 };

bool sa_select(uint8_t asked, uint8_t most, unsigned int (*rank)(uint8_t code), uint8_t *got);
unsigned int sa_rank_plain(uint8_t code);
unsigned int sa_rank_rate(uint8_t code);

#define SA_PACKET_LIFE	14	/* 4.096 us * 2^n */

#endif
