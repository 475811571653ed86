/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE as the link layer of the transport.
 */
#ifndef BLUEBELL_ROCE_LINK_H
#define BLUEBELL_ROCE_LINK_H

struct hca_module;
struct link_ops;

extern const struct link_ops roce_link;
extern const struct hca_module roce_module;

#endif
