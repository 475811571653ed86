/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of subnet administration that repeat attributes of subnet management.
 */
#ifndef BLUEBELL_SA_TABLE_H
#define BLUEBELL_SA_TABLE_H

#include <stdint.h>

#define SA_NODE_BYTES		108
#define SA_PORT_INFO_BYTES	68
#define SA_SWITCH_INFO_BYTES	24
#define SA_SM_INFO_BYTES	28
#define SA_LINK_BYTES		6
#define SA_PKEY_BYTES		72

struct sa_request;

uint16_t sa_node_get(struct sa_request *rq);
uint16_t sa_port_info_get(struct sa_request *rq);
uint16_t sa_switch_info_get(struct sa_request *rq);
uint16_t sa_sm_info_get(struct sa_request *rq);
uint16_t sa_link_get(struct sa_request *rq);
uint16_t sa_pkey_get(struct sa_request *rq);

#endif
