/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The speeds of an Ethernet link, as bits of the register PTYS.
 */
#ifndef BLUEBELL_ETH_PROTO_H
#define BLUEBELL_ETH_PROTO_H

#include <stdint.h>

/* MLX5E_* of linux/mlx5/port.h */
#define ETH_100G_CR4	(1u << 20)
#define ETH_100G_SR4	(1u << 21)
#define ETH_100G_KR4	(1u << 22)
#define ETH_25G_CR	(1u << 27)
#define ETH_25G_KR	(1u << 28)
#define ETH_25G_SR	(1u << 29)
#define ETH_100G	(ETH_100G_CR4 | ETH_100G_SR4 | ETH_100G_KR4)
#define ETH_25G		(ETH_25G_CR | ETH_25G_KR | ETH_25G_SR)
#define ETH_PROTO_CAPS	(ETH_100G | ETH_25G)

/* The speed at which a link comes up, of those that the driver allows: the fastest. */
static inline uint32_t eth_proto_best(uint32_t allowed)
{
	uint32_t fast = allowed & ETH_100G, protos = fast ? fast : allowed & ETH_25G;

	return protos & -protos;
}

#endif
