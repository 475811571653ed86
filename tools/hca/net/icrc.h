/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The invariant CRC of RoCE packets.
 */
#ifndef BLUEBELL_ICRC_H
#define BLUEBELL_ICRC_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

#define ICRC_BYTES	4
#define ROCE_PORT	4791		/* UDP destination port of RoCE v2 */

bool icrc_covers(const struct frame *f);
bool icrc_ok(const struct frame *f);
void icrc_fill(uint8_t *data, const struct frame *f);

#endif
