/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An Ethernet port without RoCE as the link layer of the transport.
 */
#ifndef BLUEBELL_ETH_LINK_H
#define BLUEBELL_ETH_LINK_H

struct link_ops;

extern const struct link_ops eth_link;

#endif
