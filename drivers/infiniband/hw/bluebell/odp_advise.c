// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prefetch of paged regions: a process asks for pages before it uses them.
 */

#include <linux/slab.h>

#include "bluebell.h"
#include "odp_internal.h"

/**
 * struct odp_advice - a call of ibv_advise_mr(3)
 * @work: serves the advice if the caller does not wait for it
 * @req: how pages are mapped, as for the page_in operation of struct odp_mr_ops
 * @num: number of parts
 * @part: ranges of regions; a reference to the key of @part.mr is held
 */
struct odp_advice {
	struct work_struct work;
	unsigned long req;
	u32 num;
	struct odp_advice_part {
		struct odp_mr *mr;
		struct ib_sge sge;
	} part[] __counted_by(num);
};

static void odp_advice_free(struct odp_advice *advice)
{
	u32 i;

	if (!advice)
		return;
	for (i = 0; i < advice->num && advice->part[i].mr; i++)
		mlx5_ib_mkey_put(&advice->part[i].mr->mr.mkey);
	kvfree(advice);
}

DEFINE_FREE(odp_advice, struct odp_advice *, odp_advice_free(_T))

static int odp_advice_page_in(struct odp_advice *advice)
{
	int err = 0;
	u32 i;

	for (i = 0; i < advice->num && !err; i++)
		err = mlx5_ib_odp_mr_page_in(advice->part[i].mr, advice->part[i].sge.addr,
					     advice->part[i].sge.length, advice->req);
	return err;
}

static void odp_advice_work(struct work_struct *work)
{
	struct odp_advice *advice __free(odp_advice) =
		container_of(work, struct odp_advice, work);

	odp_advice_page_in(advice);
}

/* Look up the region of a part and check that @pd may use it so. */
static int odp_advice_set_part(struct mlx5_ib_odp *odp, struct ib_pd *pd,
			       const struct ib_sge *sge, bool write, struct odp_advice_part *part)
{
	struct odp_mr *mr = mlx5_ib_odp_mr_get(odp, sge->lkey);

	if (!mr)
		return -EFAULT;
	part->mr = mr;
	part->sge = *sge;
	if (mr->mr.ibmr.pd != pd || (write && !ib_access_writable(mr->mr.access)))
		return -EFAULT;
	return 0;
}

/**
 * mlx5_ib_advise_mr - map pages of paged regions before they are used
 * @pd: protection domain of the regions
 * @advice: map for reading, map for writing, or map only pages that are present in the
 *	process
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH to return when the pages have been mapped
 * @sg_list: ranges of paged regions
 * @num_sge: number of ranges
 * @attrs: not used
 *
 * Implements ibv_advise_mr(3). May sleep.
 *
 * Return: 0; -EOPNOTSUPP for other advice; -EINVAL for other flags; -EFAULT for a key
 * that is not of a paged region of @pd or does not allow writing and, with FLUSH, for
 * memory outside the region or the process; -ENOMEM.
 */
int mlx5_ib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		      struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_odp *odp = to_mdev(pd->device)->odp;
	static const unsigned long reqs[] = {
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH] = HMM_PFN_REQ_FAULT,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE] = HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT] = 0,
	};
	u32 i;
	int err;

	if (!odp || advice >= ARRAY_SIZE(reqs))
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;

	struct odp_advice *work __free(odp_advice) =
		kvzalloc_flex(*work, part, num_sge, GFP_KERNEL);

	if (!work)
		return -ENOMEM;
	work->num = num_sge;
	work->req = reqs[advice];
	for (i = 0; i < num_sge; i++) {
		err = odp_advice_set_part(odp, pd, &sg_list[i], work->req & HMM_PFN_REQ_WRITE,
					  &work->part[i]);
		if (err)
			return err;
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) {
		err = odp_advice_page_in(work);
		return err && err != -ENOMEM ? -EFAULT : err;
	}
	INIT_WORK(&work->work, odp_advice_work);
	queue_work(odp->wq, &no_free_ptr(work)->work);
	return 0;
}
