/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many bytes the HCA may write to a file: a trace or a capture that is forgotten must not fill
 * the disk.
 */
#ifndef BLUEBELL_QUOTA_H
#define BLUEBELL_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define QUOTA_DEFAULT	(4ull << 30)
#define QUOTA_USED_UP	"it has as many bytes as --file-limit allows"

struct quota {
	uint64_t limit;		/* bytes, 0: no limit */
	uint64_t used;
};

void quota_start(struct quota *q, FILE *file, uint64_t limit);
bool quota_take(struct quota *q, size_t n);

#endif
