/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The composition of the product: the modules and commands of an HCA in bluebell-hca, with a port
 * of InfiniBand or of Ethernet.
 */
#ifndef BLUEBELL_BOARD_H
#define BLUEBELL_BOARD_H

struct board;

extern const struct board hca_board, hca_eth_board;

#endif
