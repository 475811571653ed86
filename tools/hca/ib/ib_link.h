/* SPDX-License-Identifier: GPL-2.0 */
/*
 * InfiniBand as the link layer of the transport.
 */
#ifndef BLUEBELL_IB_LINK_H
#define BLUEBELL_IB_LINK_H

struct link_ops;

extern const struct link_ops ib_link;

#endif
