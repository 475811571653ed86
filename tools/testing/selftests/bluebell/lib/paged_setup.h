/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The setup of fixtures with paged memory.
 */
#ifndef BLUEBELL_PAGED_SETUP_H
#define BLUEBELL_PAGED_SETUP_H

#include "paged.h"
#include "test.h"

/* For the setup of a fixture; returns false if the test is skipped. */
static inline bool paged_setup_type(struct __test_metadata *_metadata, struct paged *o,
				    bool implicit, enum ibv_qp_type type)
{
	int ret = paged_open_type(o, implicit, type);

	if (ret == PAGED_LACKS_ODP)
		SKIP(return false, NO_ODP);
	if (ret == PAGED_LACKS_XRC)
		SKIP(return false, NO_XRC_ODP);
	if (ret == PAGED_LACKS_IMPLICIT)
		SKIP(return false, NO_IMPLICIT);
	ASSERT_EQ(0, ret) TH_LOG("errno %d", errno);
	return true;
}

static inline bool paged_setup(struct __test_metadata *_metadata, struct paged *o, bool implicit)
{
	return paged_setup_type(_metadata, o, implicit, IBV_QPT_RC);
}

#endif
