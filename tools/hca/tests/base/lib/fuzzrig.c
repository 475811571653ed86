// SPDX-License-Identifier: GPL-2.0
/*
 * A rig for fuzzers: the input, from which values are taken one after another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzzrig.h"

void fuzz_die(const char *what, const char *file, int line)
{
	fprintf(stderr, "ERROR: %s:%d: %s is false\n", file, line, what);
	abort();
}

struct fuzz_in fuzz_extend(const uint8_t *data, size_t size, uint8_t *buf, size_t len)
{
	uint64_t x = 0xcbf29ce484222325ull;
	size_t i, n = size < len ? size : len;

	for (i = 0; i < n; i++) {
		buf[i] = data[i];
		x = (x ^ data[i]) * 0x100000001b3ull;
	}
	for (; i < len; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		buf[i] = x >> 56;
	}
	return (struct fuzz_in){ buf, len };
}

size_t fuzz_take(struct fuzz_in *in, void *to, size_t n)
{
	size_t got = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (got)
		memcpy(to, in->p, got);
	in->p += got;
	in->left -= got;
	return got;
}

uint8_t fuzz_u8(struct fuzz_in *in)
{
	uint8_t v;

	fuzz_take(in, &v, sizeof(v));
	return v;
}

uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint16_t v;

	fuzz_take(in, &v, sizeof(v));
	return v;
}

uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t v;

	fuzz_take(in, &v, sizeof(v));
	return v;
}
