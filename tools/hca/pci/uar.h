/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UAR pages: the doorbell registers in BAR0, and BlueFlame.
 */
#ifndef BLUEBELL_UAR_H
#define BLUEBELL_UAR_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"

struct hca;
struct hca_module;

void uar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len);
void uar_idle(struct hca *hca);
void uar_hold(struct hca *hca);
bool uar_unfinished(const struct hca *hca);
void uar_release(struct hca *hca);

extern const struct hca_module uar_module;
extern const struct cmd_desc uar_cmds[];

#endif
