/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of RoCE: which frames are for RoCE, and packets as frames. Nothing here accesses the HCA.
 */
#ifndef BLUEBELL_ROCE_FRAME_H
#define BLUEBELL_ROCE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count.h"

struct frame;
struct packet;

/* Versions of RoCE, as bits of the capability roce_version. */
enum { ROCE_V1_BIT = 1 << 0, ROCE_V2_BIT = 1 << 2 };

unsigned int roce_frame_version(const struct frame *f);
size_t roce_frame_len(const struct packet *p);
void roce_frame_make(const struct packet *p, uint8_t *data, size_t len);
enum roce_drop roce_frame_read(const struct frame *f, struct packet *p, const char **why);

#endif
