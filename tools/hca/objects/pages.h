/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that the driver gives to the HCA.
 */
#ifndef BLUEBELL_PAGES_H
#define BLUEBELL_PAGES_H

#include "cmd.h"

struct hca_module;

unsigned int pages_missing(struct hca *hca);
void pages_balance(struct hca *hca);

extern const struct hca_module pages_module;
extern const struct cmd_desc pages_cmds[];

#endif
