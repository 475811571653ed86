/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups: which queue pairs of an HCA are attached to which group.
 */
#ifndef BLUEBELL_MCAST_H
#define BLUEBELL_MCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

int mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn);
int mcast_detach(struct hca *hca, const uint8_t gid[16], uint32_t qpn);
void mcast_forget(struct hca *hca, uint32_t qpn);
bool mcast_has_group(struct hca *hca, const uint8_t gid[16]);
void mcast_each(struct hca *hca, const uint8_t gid[16],
		void (*fn)(struct hca *hca, uint32_t qpn, void *arg), void *arg);

extern const struct hca_module mcast_module;
extern const struct cmd_desc mcast_cmds[];

#endif
