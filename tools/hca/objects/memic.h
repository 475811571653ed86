/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device memory (MEMIC): memory of the HCA, a window of BAR0, that the host and the transport
 * both access.
 */
#ifndef BLUEBELL_MEMIC_H
#define BLUEBELL_MEMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;
struct obj;

bool memic_on(struct hca *hca);
struct obj *memic_find(struct hca *hca, uint64_t addr, uint64_t len, uint16_t uid);
void *memic_ptr(struct hca *hca, uint64_t addr, uint64_t len);
bool memic_bar_read(struct hca *hca, uint64_t off, uint8_t *buf, uint32_t len);
bool memic_bar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len);
int memic_region(struct hca *hca, uint64_t *off, uint64_t *len);

extern const struct hca_module memic_module;
extern const struct cmd_desc memic_cmds[];

#endif
