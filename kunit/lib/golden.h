/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Comparison of a context with golden bytes: the dwords that are not zero,
 * written down by hand from the layouts in linux/mlx5/mlx5_ifc.h.
 */

#ifndef BLUEBELL_KUNIT_GOLDEN_H
#define BLUEBELL_KUNIT_GOLDEN_H

#include <kunit/test.h>
#include <linux/types.h>

/**
 * struct golden - a dword of a context that is not zero
 * @offset: bytes from the start of the context; a multiple of 4
 * @value: the dword as the device reads it, most significant bit first
 */
struct golden {
	u16 offset;
	u32 value;
};

/* Entries of a table of golden dwords. An entry whose value is 0 is ignored. */
#define GOLDEN_MAX	24

/**
 * expect_golden - fail the test for every dword that is not as written down
 * @test: the running test
 * @ctx: the context
 * @size: bytes of @ctx
 * @want: GOLDEN_MAX entries, in no particular order
 *
 * Comparing everything, zeros included, is what finds a value that was written
 * to a neighbouring field or spilled over the end of its own.
 */
static inline void expect_golden(struct kunit *test, const void *ctx, size_t size,
				 const struct golden *want)
{
	const __be32 *dw = ctx;
	size_t off;
	int i;

	for (off = 0; off < size; off += sizeof(*dw)) {
		u32 expected = 0;

		for (i = 0; i < GOLDEN_MAX; i++)
			if (want[i].value && want[i].offset == off)
				expected = want[i].value;
		KUNIT_EXPECT_EQ_MSG(test, be32_to_cpu(dw[off / sizeof(*dw)]), expected,
				    "dword at 0x%zx", off);
	}
}

#endif /* BLUEBELL_KUNIT_GOLDEN_H */
