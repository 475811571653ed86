// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection domains.
 */

#include "bluebell.h"
#include "fw.h"
#include "ucontext.h"

/**
 * mlx5_ib_alloc_pd - allocate a protection domain
 * @ibpd: the object, zeroed but for what ib_core sets
 * @udata: answered with struct mlx5_ib_alloc_pd_resp; NULL for the kernel's own
 *
 * Implements ibv_alloc_pd(3) with ALLOC_PD. May sleep.
 *
 * Return: 0, -EFAULT, or the errno of a firmware refusal.
 */
int mlx5_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibpd->device);
	struct mlx5_ib_alloc_pd_resp resp = {};
	struct mlx5_ib_pd *pd = to_mpd(ibpd);
	int err;

	if (udata) {
		err = ib_is_udata_in_empty(udata);
		if (err)
			return err;
	}
	err = mlx5_fw_alloc_pd(dev, MLX5_IB_KERNEL_UID, &pd->pdn);
	if (err || !udata)
		return err;

	resp.pdn = pd->pdn;
	err = ib_respond_udata(udata, resp);
	if (err)
		mlx5_fw_dealloc_pd(dev, MLX5_IB_KERNEL_UID, pd->pdn);
	return err;
}

/**
 * mlx5_ib_dealloc_pd - deallocate a protection domain
 * @ibpd: the domain; nothing is in it any more
 * @udata: not used
 *
 * Return: 0, or the errno of a firmware that would not; then it stays.
 */
int mlx5_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return mlx5_fw_dealloc_pd(to_mdev(ibpd->device), MLX5_IB_KERNEL_UID, to_mpd(ibpd)->pdn);
}
