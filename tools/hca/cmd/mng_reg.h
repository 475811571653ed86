/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers about the device as a whole.
 */
#ifndef BLUEBELL_MNG_REG_H
#define BLUEBELL_MNG_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;
struct hca;
struct profile;

uint32_t mng_fw_version(const struct profile *p);
bool mng_reg_access(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write, const uint8_t *in,
		    size_t len, uint8_t *out, size_t room, uint8_t *st);

#endif
