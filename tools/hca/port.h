/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The physical port and its virtual port: identity, link, counters, and the
 * registers and management datagrams that tell about them.
 */
#ifndef BLUEBELL_PORT_H
#define BLUEBELL_PORT_H

#include "hca.h"

/*
 * ACCESS_REG for the registers of a port. @write: set; @in, @out: the register, @len bytes each
 * (@out is zeroed). Unknown registers fail with ST_BAD_PARAM, as others that don't exist.
 */
uint8_t port_access_reg(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write,
			const uint8_t *in, uint8_t *out, size_t len);

#endif
