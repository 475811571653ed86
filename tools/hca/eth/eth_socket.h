/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port of the Ethernet switch that is a Unix stream socket: a peer that is not one of this
 * process's HCAs, such as a virtio-net device of QEMU (-netdev stream).
 */
#ifndef BLUEBELL_ETH_SOCKET_H
#define BLUEBELL_ETH_SOCKET_H

#include <stdint.h>

struct eth_socket;
struct event_base;
struct fabric;

int eth_socket_listen(struct fabric *f, struct event_base *base, const char *path,
		      struct eth_socket **out);
void eth_socket_free(struct eth_socket *s);
uint64_t eth_socket_dropped(const struct eth_socket *s);

#endif
