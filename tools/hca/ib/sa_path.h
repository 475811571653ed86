/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Path records.
 */
#ifndef BLUEBELL_SA_PATH_H
#define BLUEBELL_SA_PATH_H

#include <stdint.h>

#define SA_PATH_BYTES	64

struct sa_request;

uint16_t sa_path_get(struct sa_request *rq);

#endif
