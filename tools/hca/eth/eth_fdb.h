/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The forwarding database of a switch: by which port it has seen which address.
 */
#ifndef BLUEBELL_ETH_FDB_H
#define BLUEBELL_ETH_FDB_H

#include <stdint.h>

struct eth_fdb;

struct eth_fdb *eth_fdb_new(unsigned int ports, unsigned int limit, uint64_t age_ns);
void eth_fdb_free(struct eth_fdb *db);
void eth_fdb_learn(struct eth_fdb *db, uint64_t mac, unsigned int port, uint64_t now);
unsigned int eth_fdb_find(struct eth_fdb *db, uint64_t mac, uint64_t now);
void eth_fdb_forget(struct eth_fdb *db, unsigned int port);
unsigned int eth_fdb_count(struct eth_fdb *db, unsigned int port);

#endif
