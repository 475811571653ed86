/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets to queue pairs, and the reaction of the transport to state changes.
 */
#ifndef BLUEBELL_DISPATCH_H
#define BLUEBELL_DISPATCH_H

struct hca_module;
struct qp_ops;

extern const struct qp_ops transport_qp_ops;
extern const struct hca_module dispatch_module;

#endif
