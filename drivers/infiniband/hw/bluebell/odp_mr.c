// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging, regions of every kind as page faults and advice see them:
 * found by key, held by a reference, and paged in by the operation of their kind.
 */

#include <linux/mlx5/driver.h>

#include "mkey.h"
#include "odp_internal.h"
#include "umr_qp.h"

/**
 * mlx5_ib_odp_mr_get - look up a paged region by its key and take a reference
 * @odp: paging state of the device
 * @key: memory key, including its low byte
 *
 * Deregistration waits until the reference is released. Any process context.
 *
 * Return: the region, to be released with mlx5_ib_odp_mr_put(); NULL if @key is
 * not the key of a paged region.
 */
struct odp_mr *mlx5_ib_odp_mr_get(struct mlx5_ib_odp *odp, u32 key)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get(odp->dev, key, MLX5_IB_MKEY_ODP_MR);

	return mkey ? container_of(mkey, struct odp_mr, mr.mkey) : NULL;
}

/**
 * mlx5_ib_odp_mr_put - release a reference to a paged region
 * @mr: region of mlx5_ib_odp_mr_get()
 */
void mlx5_ib_odp_mr_put(struct odp_mr *mr)
{
	mlx5_ib_mkey_put(&mr->mr.mkey);
}

/**
 * mlx5_ib_odp_mr_page_in - map a range of a region's pages into the device
 * @mr: the region, on which the caller holds a reference
 * @addr: first address of the range, as work requests name it
 * @len: length of the range in bytes
 * @how: whether for writing, and whether pages that are not present are faulted in
 *
 * May sleep. Takes the locks of the region's kind: see struct odp_mr_ops.
 *
 * Return: 0; -EFAULT if the range leaves the region; -EAGAIN while the UMR queue
 * pair is out of order; otherwise as the page_in operation of the region's kind.
 */
int mlx5_ib_odp_mr_page_in(struct odp_mr *mr, u64 addr, u64 len, const struct odp_page_in *how)
{
	const struct ib_mr *ibmr = &mr->mr.ibmr;
	int err;

	/*
	 * A page that is mapped while UMR fails cannot be unmapped again except by
	 * destroying the key, which the user would lose for good: map none until UMR works.
	 */
	err = mlx5_ib_umr_await(mr->odp->dev);
	if (err)
		return err;
	if (addr < ibmr->iova || len > ibmr->length || addr - ibmr->iova > ibmr->length - len)
		return -EFAULT;
	return mr->ops->page_in(mr, addr - ibmr->iova, len, how);
}
