/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures of mlx5_ifc.h printed as JSON, field by field, for the trace.
 */
#ifndef BLUEBELL_DECODE_H
#define BLUEBELL_DECODE_H

#include <stdint.h>
#include <stdio.h>

struct ifc_struct;

void decode_struct(FILE *f, const struct ifc_struct *s, const uint8_t *p, size_t len);
void decode_string(FILE *f, const char *s);

#endif
