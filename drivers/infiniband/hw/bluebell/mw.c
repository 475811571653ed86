// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: keys that a process opens and closes itself, by work requests
 * on its queue pairs.
 */

#include <linux/mlx5/driver.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "mr.h"
#include "ucontext.h"

/*
 * A library that binds a window to several pieces says how many. Its request is
 * empty if it has nothing to say.
 */
static int copy_request(struct ib_udata *udata, struct mlx5_ib_alloc_mw *req)
{
	int err;

	if (!udata->inlen)
		return 0;
	err = ib_copy_validate_udata_in_cm(udata, *req, reserved2, 0);
	if (err)
		return err;
	return req->reserved1 || req->reserved2 ? -EOPNOTSUPP : 0;
}

/**
 * mlx5_ib_alloc_mw - allocate a memory window
 * @ibmw: the window, zeroed but for what ib_core sets: type and domain
 * @udata: nothing, or struct mlx5_ib_alloc_mw
 *
 * Implements ibv_alloc_mw(3) with CREATE_MKEY (struct
 * mlx5_ifc_create_mkey_in_bits): a free key that the domain's queue pairs may
 * fill. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a flag or field that isn't known; -EINVAL; -EFAULT;
 * or the errno of a firmware refusal.
 */
int mlx5_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	struct mlx5_ib_dev *dev = to_mdev(ibmw->device);
	struct mlx5_ib_alloc_mw req = {};
	int err;

	err = copy_request(udata, &req);
	if (err)
		return err;
	mlx5_ib_fill_mw_mkey(in, to_mpd(ibmw->pd)->pdn, req.num_klms,
			     ibmw->type == IB_MW_TYPE_2,
			     atomic_inc_return(&dev->mkey_variant));
	return mlx5_fw_create_mkey(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &ibmw->rkey);
}

/**
 * mlx5_ib_dealloc_mw - deallocate a memory window
 * @ibmw: the window, bound or not
 *
 * What it opened is closed when this returns. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not; then it stays.
 */
int mlx5_ib_dealloc_mw(struct ib_mw *ibmw)
{
	/* Binding changes the key's low byte only, which does not matter here. */
	return mlx5_fw_destroy_mkey(to_mdev(ibmw->device), MLX5_IB_KERNEL_UID, ibmw->rkey);
}
