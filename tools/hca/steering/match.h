/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What flow rules compare: the outer headers of a frame as an image of struct
 * mlx5_ifc_fte_match_set_lyr_2_4_bits, and the criteria of a group as a mask of that image.
 */
#ifndef BLUEBELL_MATCH_H
#define BLUEBELL_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "ifc.h"

struct frame;
struct hca;

#define MATCH_BYTES	IFC_SZ(fte_match_set_lyr_2_4)	/* of the outer headers */
#define MATCH_PARAM	IFC_SZ(fte_match_param)		/* of all parts */

#define MATCH_OUTER	1	/* bit of match_criteria_enable */
#define MATCH_ENABLE	0x7f	/* bits of match_criteria_enable that exist */

const char *match_not_offered(const struct hca *hca, int page, const uint8_t *criteria);
int match_first_byte(const uint8_t *p, const uint8_t *mask);
void match_set_mask(uint8_t mask[MATCH_BYTES], const uint8_t *criteria);
void match_image(const struct frame *f, uint8_t image[MATCH_BYTES]);
void match_apply(uint8_t key[MATCH_BYTES], const uint8_t image[MATCH_BYTES],
		 const uint8_t mask[MATCH_BYTES]);
uint32_t match_hash(const uint8_t key[MATCH_BYTES]);

#endif
