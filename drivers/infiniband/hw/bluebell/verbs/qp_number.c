// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers of queue pairs that are not QPs at the device: DC targets, and queue pairs with an
 * indirection table.
 */

#include <linux/bits.h>
#include <linux/mlx5/driver.h>
#include <linux/xarray.h>
#include <rdma/restrack.h>

#include "fw/bluebell.h"
#include "verbs/qp.h"

/* Numbers of mlx5_ib_qp_take_number() that are in use; of all devices together. */
static DEFINE_XARRAY_FLAGS(qp_numbers, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
/* The number after which to look for a free one: a number is not used again soon. */
static u32 qp_next_number;

/* The upper half of all numbers, but for that of multicast packets. */
#define QP_NUMBER_BITS	24
#define QP_NUMBERS	XA_LIMIT(BIT(QP_NUMBER_BITS - 1), BIT(QP_NUMBER_BITS) - 2)

/**
 * mlx5_ib_qp_take_number - find a number for a queue pair that is not a QP at the device
 * @qp: the queue pair, which is being created
 *
 * Resource tracking knows a queue pair by the number that it has when it has been created, and does
 * not list a queue pair whose number another one has. A DC target has no number at the device then,
 * and the number of a TIR may also be that of a QP. So both get numbers that no QP of the device
 * has. Processes do not need these numbers: the driver's answers tell libmlx5 the number of the DC
 * target and of the TIR. Without a free number or memory, @qp has the number 0, and is not listed.
 * May sleep.
 */
void mlx5_ib_qp_take_number(struct mlx5_ib_qp *qp)
{
	struct mlx5_core_dev *mdev = to_mdev(qp->ibqp.device)->mdev;
	u32 number;

	if (MLX5_CAP_GEN(mdev, log_max_qp) < QP_NUMBER_BITS &&
	    xa_alloc_cyclic(&qp_numbers, &number, xa_mk_value(0), QP_NUMBERS, &qp_next_number,
			    GFP_KERNEL_ACCOUNT) >= 0)
		qp->ibqp.qp_num = number;
	else
		rdma_restrack_no_track(&qp->ibqp.res);
}

/**
 * mlx5_ib_qp_give_number - give the number of a queue pair back
 * @qp: the queue pair, which is destroyed, or could not be created
 *
 * Process context.
 */
void mlx5_ib_qp_give_number(struct mlx5_ib_qp *qp)
{
	if (qp->ibqp.qp_num)
		xa_erase(&qp_numbers, qp->ibqp.qp_num);
}
