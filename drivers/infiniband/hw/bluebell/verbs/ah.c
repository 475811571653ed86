// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. A user's library puts the address vector into its WQEs itself, so for a user the
 * driver only checks the address. For a kernel consumer the driver builds the vector.
 */

#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/string.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "layout/layout_path.h"
#include "verbs/verbs.h"

/**
 * mlx5_ib_create_ah - create an address handle for a kernel consumer
 * @ibah: the object, zeroed but for what ib_core sets
 * @init: the address
 * @udata: NULL
 *
 * Implements rdma_create_ah(). Creates no object at the device. Any context.
 *
 * Return: as mlx5_ib_check_ah().
 */
int mlx5_ib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = to_mdev(ibah->device)->mdev;
	int err = mlx5_ib_check_ah(init->ah_attr);

	if (!err)
		mlx5_ib_fill_av(&to_mah(ibah)->av, init->ah_attr,
				MLX5_CAP_GEN(mdev, stat_rate_support));
	return err;
}

/* Tell the library the MAC address, which uverbs has found for the address. */
static int ah_respond(const struct rdma_ah_attr *ah, struct ib_udata *udata)
{
	struct mlx5_ib_create_ah_resp resp = {
		.response_length = min(udata->outlen, sizeof(resp)),
	};

	memcpy(resp.dmac, ah->roce.dmac, sizeof(resp.dmac));
	return ib_respond_udata(udata, resp);
}

/**
 * mlx5_ib_create_user_ah - create an address handle for a user
 * @ibah: the object, zeroed but for what ib_core sets
 * @init: the address
 * @udata: empty request; on an Ethernet port answered with struct mlx5_ib_create_ah_resp, truncated
 *	to the library's buffer
 *
 * Implements ibv_create_ah(3). Creates no object at the device.
 *
 * Return: as mlx5_ib_check_ah(); -EOPNOTSUPP for driver data and, on an InfiniBand port, for a
 * buffer for an answer; -EFAULT.
 */
int mlx5_ib_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			   struct ib_udata *udata)
{
	bool ethernet = to_mdev(ibah->device)->caps.ethernet;
	int err = ethernet ? ib_is_udata_in_empty(udata) : ib_no_udata_io(udata);

	if (!err)
		err = mlx5_ib_check_ah(init->ah_attr);
	return err || !ethernet || !udata->outlen ? err : ah_respond(init->ah_attr, udata);
}

/**
 * mlx5_ib_query_ah - read the address of an address handle of a kernel consumer
 * @ibah: the address handle
 * @ah_attr: gets the address
 *
 * Implements rdma_query_ah(). Any context.
 *
 * Return: 0.
 */
int mlx5_ib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *ah_attr)
{
	mlx5_ib_read_av(&to_mah(ibah)->av, to_mdev(ibah->device)->caps.ethernet, ah_attr);
	/* There is one port. */
	rdma_ah_set_port_num(ah_attr, 1);
	return 0;
}

/**
 * mlx5_ib_destroy_ah - destroy an address handle
 * @ibah: the address handle; ib_core frees it
 * @flags: enum rdma_destroy_ah_flags
 *
 * Does nothing: the device has no object for an address handle. Any context.
 *
 * Return: 0.
 */
int mlx5_ib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
