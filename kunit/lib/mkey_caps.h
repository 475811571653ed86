/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Capabilities that decide what a memory key can be, for tables of test cases.
 */

#ifndef BLUEBELL_KUNIT_MKEY_CAPS_H
#define BLUEBELL_KUNIT_MKEY_CAPS_H

#include "mock.h"

/**
 * struct mkey_caps - capabilities of a device
 * @log_max_mr_size: log2 of the longest region, in bytes
 * @relaxed_ordering_read: reads may be reordered by PCIe
 * @relaxed_ordering_write: writes may be reordered by PCIe
 * @no_atomic: no atomic operations
 * @umr_keeps_atomic: UMR cannot change whether a key allows atomic operations
 * @umr_long_offset: UMR can name entries beyond the first 64 Ki octowords
 */
struct mkey_caps {
	u8 log_max_mr_size;
	bool relaxed_ordering_read;
	bool relaxed_ordering_write;
	bool no_atomic;
	bool umr_keeps_atomic;
	bool umr_long_offset;
};

/**
 * mock_mkey_caps - capabilities of a mock device as a test case wants them
 * @test: the running test, which owns them
 * @want: the capabilities
 *
 * Return: what the functions under test take.
 */
static inline const struct mlx5_ib_caps *mock_mkey_caps(struct kunit *test,
							const struct mkey_caps *want)
{
	struct mlx5_ib_caps *caps = mock_caps(test);

	MOCK_SET_CAP(caps, log_max_mrw_sz, want->log_max_mr_size);
	MOCK_SET_CAP(caps, relaxed_ordering_read, want->relaxed_ordering_read);
	MOCK_SET_CAP(caps, relaxed_ordering_write, want->relaxed_ordering_write);
	MOCK_SET_CAP(caps, atomic, !want->no_atomic);
	MOCK_SET_CAP(caps, umr_modify_atomic_disabled, want->umr_keeps_atomic);
	MOCK_SET_CAP(caps, umr_extended_translation_offset, want->umr_long_offset);
	return caps;
}

#endif /* BLUEBELL_KUNIT_MKEY_CAPS_H */
