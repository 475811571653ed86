/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where UARs are in BAR0, and which of them a command allocates at a time. Both follow from the
 * page size of the driver, as SET_HCA_CAP has given it.
 */
#ifndef BLUEBELL_UAR_PAGE_H
#define BLUEBELL_UAR_PAGE_H

#include <stdint.h>

#include "object.h"

struct hca;

unsigned int uar_shift(const struct hca *hca);
uint32_t uars_per_page(const struct hca *hca);
uint32_t uar_first(const struct hca *hca, uint32_t num);
struct obj_numbers uar_numbers(const struct hca *hca);
struct obj *uar_find(struct hca *hca, uint32_t num);

#endif
