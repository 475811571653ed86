/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What every test file includes: the kernel's own kselftest harness (taken from the kernel's
 * sources at build time), and the few macros that all tests share.
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

/* Why a test is skipped. */
#define NO_HCA_CTL "no control channel to an emulated HCA"
#define NO_XRC "the device has no XRC"
#define NO_ATOMICS "the device has no atomic operations"
#define NO_UC "the device has no UC"
/* mlx5_ib gives none where mlx5_core finds that write combining does not work, as in emulation. */
#define NO_BLUEFLAME "the driver gives no BlueFlame here"

static inline bool has_blueflame(const struct uv *uv)
{
	return uv->resp.bf_reg_size;
}

/*
 * Take the census, after the driver has made what it makes at first use and keeps. False where there are
 * no queue pairs of this type.
 */
static inline bool census_before(struct __test_metadata *_metadata, enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };
	struct rdma r;
	struct pair p;
	bool has;

	ASSERT_EQ(0, rdma_open(&r));
	has = type != IBV_QPT_XRC_SEND || rdma_has_xrc(r.ctx);
	if (has) {
		ASSERT_EQ(0, pair_open(&p, &r, &cfg, UV_PAGE));
		pair_close(&p);
	}
	rdma_close(&r);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	return has;
}

/* After a test: nothing that firmware commands made is left over. */
#define EXPECT_CENSUS_UNCHANGED() EXPECT_STREQ("", hca_census_delta())

#endif
