/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The physical port and its virtual port: vport context, GID and P_Key tables, link state, and the
 * registers that ACCESS_REG reads and writes.
 */
#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

struct port {
	char node_desc[64];
	uint32_t cap_mask1;
};

void port_set_link(struct hca *hca, bool up);
bool port_set_lid(struct hca *hca, uint16_t lid);
bool port_set_pkey(struct hca *hca, unsigned int index, uint16_t pkey);

/* ---- port_reg.c ------------------------------------------------------------------------------ */

uint8_t port_access_reg(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write,
			const uint8_t *in, uint8_t *out, size_t len);

extern const struct hca_module port_module;
extern const struct cmd_desc port_cmds[], port_reg_cmds[];

#endif
