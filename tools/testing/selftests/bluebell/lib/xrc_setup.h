/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The setup of fixtures that use XRC.
 */
#ifndef BLUEBELL_XRC_SETUP_H
#define BLUEBELL_XRC_SETUP_H

#include "test.h"
#include "xrc.h"

/* For the setup of a fixture; returns false if the test is skipped. */
static inline bool xrc_setup(struct __test_metadata *_metadata, struct rdma *r)
{
	if (!census_after_first_use(_metadata, IBV_QPT_XRC_SEND))
		SKIP(return false, NO_XRC);
	ASSERT_EQ(0, rdma_open(r));
	return true;
}

/* At the end of a test no firmware object may be left. */
static inline void xrc_teardown(struct __test_metadata *_metadata, struct rdma *r)
{
	rdma_close(r);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

#endif
