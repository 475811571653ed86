/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What every test file includes: the kernel's own kselftest harness (taken from the kernel's sources
 * at build time), and the few macros that all tests share.
 */
#ifndef BLUEBELL_TEST_H
#define BLUEBELL_TEST_H

#include "kselftest_harness.h"

/* Software emulation on a busy machine is slow; a hung test is still ended in good time. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 120

#include "hca_ctl.h"
#include "rdma.h"
#include "uv.h"

/* Skip a test of our own extensions, or of a promise that only Bluebell makes, under another driver. */
#define NEED_BLUEBELL(what) do {						\
	if (!driver_is("bluebell"))						\
		SKIP(return, "%s: a promise of bluebell's, driver is %s", what,	\
		     driver_name());						\
} while (0)

/* mlx5_ib gives no BlueFlame where mlx5_core finds that write combining does not work, as in emulation. */
#define NEED_BLUEFLAME(uv) do {							\
	if (!(uv)->resp.bf_reg_size)						\
		SKIP(return, "%s gives no BlueFlame here", driver_name());	\
} while (0)

#define NEED_HCA_CTL() do {							\
	if (!hca_ctl_present())							\
		SKIP(return, "no control channel to an emulated HCA");		\
} while (0)

/* After a test: nothing that firmware commands made is left over. */
#define EXPECT_CENSUS_UNCHANGED() EXPECT_STREQ("", hca_census_delta())

#endif
