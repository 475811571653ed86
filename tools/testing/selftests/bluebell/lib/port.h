/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Port 1 of the device, and how a queue pair addresses it. The tests run on one host, so all
 * packets are for the port that sends them.
 */
#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* The address of an Ethernet port: an entry of its GID table, and the MAC of its netdev. */
struct port_gid {
	unsigned int index;
	bool v1;		/* RoCE of version 1: the port has no address of version 2 */
	union ibv_gid gid;
	uint8_t mac[6];
};

bool port_is_ethernet(void);
bool port_netdev(char *name, size_t size);
int port_up(void);
const struct port_gid *port_own_gid(void);

void port_address(struct ibv_ah_attr *attr, uint16_t lid);
void port_uv_dest(struct ib_uverbs_qp_dest *dest, uint16_t lid);
void port_uv_ah(struct ib_uverbs_ah_attr *attr, uint16_t lid);

#endif
