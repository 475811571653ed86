/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Services that ports registered.
 */
#ifndef BLUEBELL_SA_SERVICE_H
#define BLUEBELL_SA_SERVICE_H

#include <stdint.h>

#define SA_SERVICE_BYTES	176

struct sa_request;
struct sa_services;

struct sa_services *sa_services_new(void);
void sa_services_free(struct sa_services *ss);
void sa_services_port_gone(struct sa_services *ss, unsigned int port);
uint16_t sa_service_get(struct sa_request *rq);
uint16_t sa_service_set(struct sa_request *rq);
uint16_t sa_service_delete(struct sa_request *rq);

#endif
