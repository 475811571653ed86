/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What requester and responder ask about a queue pair's connection: its service, what its state
 * allows, and the headers of its packets.
 */
#ifndef BLUEBELL_CONN_H
#define BLUEBELL_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "mkey.h"
#include "qp.h"

struct packet;

#define QP1_QKEY	0x80010000u

bool conn_reliable(const struct qp *qp);
bool conn_datagram(const struct qp *qp);
bool conn_can_send(const struct qp *qp);
bool conn_can_receive(const struct qp *qp);
struct mkey_user conn_user(const struct qp *qp, uint32_t pdn);
struct packet *conn_packet(struct hca *hca, const struct qp *qp, uint8_t op, uint32_t psn);

#endif
