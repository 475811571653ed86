/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The formats of time stamps in CQEs: ts_format in the context of a queue, and which formats the
 * capabilities sq_ts_format and rq_ts_format offer.
 */
#ifndef BLUEBELL_TS_FORMAT_H
#define BLUEBELL_TS_FORMAT_H

#include <stdbool.h>

struct hca;

bool ts_format_ok(struct hca *hca, unsigned int cap, unsigned int format);
bool ts_format_real_time(unsigned int cap, unsigned int format);

#endif
