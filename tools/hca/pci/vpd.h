/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Vital product data.
 */
#ifndef BLUEBELL_VPD_H
#define BLUEBELL_VPD_H

#include <stdint.h>

#define VPD_SIZE	512	/* bytes, a multiple of 4 */

struct hca;

void vpd_fill(struct hca *hca, uint8_t *vpd);

#endif
