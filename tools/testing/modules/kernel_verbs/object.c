// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of kernel verbs that are created and destroyed, and not used: for a process that makes
 * each firmware command and each allocation fail in turn. No memory is mapped, because DMA API
 * debugging switches itself off for good if it cannot allocate memory.
 */

#include "rig.h"

/* The test ends here: the queue pairs have been created and connected before it runs. */
static int test_nothing(struct rig *rig)
{
	return 0;
}

static int test_address(struct rig *rig)
{
	struct ib_ah *ah = rig_make_ah(rig);

	TRY(PTR_ERR_OR_ZERO(ah));
	rdma_destroy_ah(ah, 0);
	return 0;
}

static int make_region(struct rig *rig, enum ib_mr_type type)
{
	struct ib_mr *mr = ib_alloc_mr(rig->pd, type, BUF_PAGES);

	TRY(PTR_ERR_OR_ZERO(mr));
	return ib_dereg_mr(mr);
}

static int test_regions(struct rig *rig)
{
	TRY(make_region(rig, IB_MR_TYPE_MEM_REG));
	if (!(rig->dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG))
		return 0;
	return make_region(rig, IB_MR_TYPE_SG_GAPS);
}

const struct rig_test object_tests[] = {
	{ "objects_ud", test_address, IB_QPT_UD, IB_POLL_WORKQUEUE, .idle = true },
	{ "objects_srq", test_nothing, IB_QPT_RC, IB_POLL_SOFTIRQ, .srq = true, .idle = true },
	{ "objects_regions", test_regions, IB_QPT_RC, IB_POLL_DIRECT, .idle = true },
	{ "objects_all", test_regions, IB_QPT_RC, IB_POLL_SOFTIRQ, .srq = true, .idle = true },
	{}
};
