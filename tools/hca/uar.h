/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of what uar.c counts.
 */
#ifndef BLUEBELL_UAR_H
#define BLUEBELL_UAR_H

#include "hca.h"

const char *doorbell_drop_name(enum drop_reason why);

#endif
