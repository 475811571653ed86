// SPDX-License-Identifier: GPL-2.0
/*
 * Service records (InfiniBand Architecture, volume 1, 15.2.5.14). A lease is kept in the record,
 * but does not run out; a service ends with the link of its port.
 */
#include <stdlib.h>
#include <string.h>

#include "ifc.h"
#include "sa_record.h"
#include "sa_service.h"
#include "util.h"

#define PORT_SERVICES	16	/* of a port */
#define SERVICES	(PORT_SERVICES * (SWITCH_PORTS + 1))

/* Bits of the component mask, and offsets in the record. */
enum { S_ID = 0, S_GID = 1, S_PKEY = 2 };
enum { R_ID = 0, R_GID = 8, R_PKEY = 24, R_KEY = 32, R_NAME = 48, R_DATA = 112 };

#define S_IDENTITY	(1ull << S_ID | 1ull << S_GID)

struct service {
	unsigned int port;	/* of the switch, by which the request came */
	uint8_t rec[SA_SERVICE_BYTES];
};

struct sa_services {
	unsigned int nr;
	struct service service[SERVICES];
};

/**
 * sa_services_new() - make an empty list of services
 *
 * Return: the list, or NULL if memory is short.
 */
struct sa_services *sa_services_new(void)
{
	return calloc(1, sizeof(struct sa_services));
}

/**
 * sa_services_free() - free a list of services
 * @ss: the list
 */
void sa_services_free(struct sa_services *ss)
{
	free(ss);
}

/* A service is known by its ID, GID and P_Key. */
static struct service *service_find(struct sa_services *ss, const uint8_t *rec)
{
	unsigned int i;

	for (i = 0; i < ss->nr; i++)
		if (!memcmp(ss->service[i].rec, rec, R_PKEY + 2))
			return &ss->service[i];
	return NULL;
}

static void service_remove(struct sa_services *ss, struct service *s)
{
	*s = ss->service[--ss->nr];
}

/* Add a service of a port. Returns NULL if the port has PORT_SERVICES services already. */
static struct service *service_new(struct sa_services *ss, unsigned int port)
{
	unsigned int i, n = 0;

	for (i = 0; i < ss->nr; i++)
		n += ss->service[i].port == port;
	return n < PORT_SERVICES && ss->nr < SERVICES ? &ss->service[ss->nr++] : NULL;
}

/**
 * sa_services_port_gone() - end the services that came by a port
 * @ss: the services
 * @port: number of the switch's port, whose link went down
 */
void sa_services_port_gone(struct sa_services *ss, unsigned int port)
{
	unsigned int i = 0;

	while (i < ss->nr)
		if (ss->service[i].port == port)
			service_remove(ss, &ss->service[i]);
		else
			i++;
}

static uint16_t service_check(const struct sa_request *rq)
{
	if ((rq->mask & S_IDENTITY) != S_IDENTITY)
		return SA_INSUFFICIENT;
	return sa_end_has_gid(rq->sw, rq->port, rq->data + R_GID) ? SA_OK : SA_INVALID_GID;
}

/**
 * sa_service_get() - answer Get and GetTable of ServiceRecord
 * @rq: the request
 *
 * Answers do not contain the key of a service.
 *
 * Return: SA_OK.
 */
uint16_t sa_service_get(struct sa_request *rq)
{
	struct sa_services *ss = rq->services;
	static const struct sa_component c[] = {
		{ S_ID, 8 * R_ID, 64 }, { S_GID, 8 * R_GID, 128 }, { S_PKEY, 8 * R_PKEY, 16 },
		{ 5, 8 * R_KEY, 128 }, { 6, 8 * R_NAME, 512 },
	};
	uint8_t rec[SA_SERVICE_BYTES];
	unsigned int i;

	for (i = 0; i < ss->nr; i++) {
		if (!sa_match(rq, c, ARRAY_SIZE(c), ss->service[i].rec))
			continue;
		memcpy(rec, ss->service[i].rec, sizeof(rec));
		memset(rec + R_KEY, 0, R_NAME - R_KEY);
		sa_add(rq, rec);
	}
	return SA_OK;
}

/**
 * sa_service_set() - answer Set of ServiceRecord: register a service of the requester's port
 * @rq: the request
 *
 * Return: SA_OK, SA_INSUFFICIENT, SA_INVALID_GID or SA_NO_RESOURCES.
 */
uint16_t sa_service_set(struct sa_request *rq)
{
	struct sa_services *ss = rq->services;
	struct service *s = service_find(ss, rq->data);
	uint16_t st = service_check(rq);

	if (st)
		return st;
	s = s ? s : service_new(ss, rq->port);
	if (!s)
		return SA_NO_RESOURCES;
	s->port = rq->port;
	memcpy(s->rec, rq->data, SA_SERVICE_BYTES);
	sa_add(rq, s->rec);
	return SA_OK;
}

/**
 * sa_service_delete() - answer Delete of ServiceRecord
 * @rq: the request
 *
 * Return: SA_OK, SA_INSUFFICIENT, SA_INVALID_GID or SA_NO_RECORDS.
 */
uint16_t sa_service_delete(struct sa_request *rq)
{
	struct sa_services *ss = rq->services;
	struct service *s = service_find(ss, rq->data);
	uint16_t st = service_check(rq);

	if (st)
		return st;
	if (!s)
		return SA_NO_RECORDS;
	sa_add(rq, s->rec);
	service_remove(ss, s);
	return SA_OK;
}
