// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indirection tables: lists of work queues (rwq.c) from which an RSS queue pair (rss_qp.c) chooses
 * one for each packet.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_rq.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "verbs/rwq.h"

/* Read the numbers of the queues, and check that all of them exist. */
static int rqt_read_queues(struct ib_wq *const *wqs, u32 num, u32 *rqns)
{
	u32 i;
	int err;

	for (i = 0; i < num; i++) {
		struct mlx5_ib_rsc *rsc = &to_mrwq(wqs[i])->rsc;

		err = mlx5_ib_fw_check_exists(rsc->dev, &rsc->attempt, "WQ", rsc->num);
		if (err)
			return err;
		rqns[i] = rsc->num;
	}
	return 0;
}

static int rqt_create(struct mlx5_ib_rqt *rqt, struct mlx5_ib_ucontext *ctx,
		      const struct ib_rwq_ind_table_init_attr *init)
{
	u32 *rqns __free(kvfree) = kvcalloc(1 << init->log_ind_tbl_size, sizeof(*rqns),
					    GFP_KERNEL_ACCOUNT);
	void *in __free(kvfree) = NULL;
	u32 num = 1 << init->log_ind_tbl_size;
	int inlen = MLX5_ST_SZ_BYTES(create_rqt_in) + num * MLX5_ST_SZ_BYTES(rq_num);
	int err;

	in = kvzalloc(inlen, GFP_KERNEL_ACCOUNT);
	if (!rqns || !in)
		return -ENOMEM;
	err = rqt_read_queues(init->ind_tbl, num, rqns);
	if (err)
		return err;
	mlx5_ib_fill_rqtc(MLX5_ADDR_OF(create_rqt_in, in, rqt_context), rqns, num);
	return mlx5_ib_object_create(&rqt->object, &mlx5_ib_rqt_kind, ctx, in, inlen);
}

/**
 * mlx5_ib_create_rqt - create an indirection table
 * @ibrqt: the object, zeroed but for what ib_core sets
 * @init: the queues
 * @udata: empty request; answered with struct mlx5_ib_create_rwq_ind_tbl_resp
 *
 * Implements ibv_create_rwq_ind_table(3) with CREATE_RQT. May sleep.
 *
 * Return: 0; -EINVAL for a table that is too long for the device; -EOPNOTSUPP for driver data;
 * -ENOMEM, also if the user has as many tables as a user can have; -EFAULT; -EIO as
 * mlx5_ib_fw_check_exists(); or the errno of a failed command.
 */
int mlx5_ib_create_rqt(struct ib_rwq_ind_table *ibrqt, struct ib_rwq_ind_table_init_attr *init,
		       struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	const struct mlx5_ib_create_rwq_ind_tbl_resp resp = {
		.response_length = min(udata->outlen, sizeof(resp)),
	};
	struct mlx5_ib_rqt *rqt = to_mrqt(ibrqt);
	int err;

	err = ib_is_udata_in_empty(udata) ?:
	      mlx5_ib_rqt_check_size(init->log_ind_tbl_size, &to_mdev(ibrqt->device)->caps) ?:
	      rqt_create(rqt, ctx, init);
	if (err)
		return err;
	ibrqt->ind_tbl_num = rqt->object.num;
	err = ib_respond_udata(udata, resp);
	if (err)
		mlx5_ib_object_discard(&rqt->object);
	return err;
}

/**
 * mlx5_ib_check_rqt - check that an indirection table exists, before a command names it
 * @ibrqt: the table
 *
 * Any context.
 *
 * Return: 0; or -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_check_rqt(struct ib_rwq_ind_table *ibrqt)
{
	const struct mlx5_ib_object *object = &to_mrqt(ibrqt)->object;

	return mlx5_ib_fw_check_exists(to_mdev(ibrqt->device), &object->attempt, "RQT",
				       object->num);
}

/**
 * mlx5_ib_destroy_rqt - destroy an indirection table
 * @ibrqt: the table, which no queue pair uses
 *
 * May sleep.
 *
 * Return: 0, or the errno of the failed DESTROY_RQT. Always 0 for a process that has closed the
 * device: a table that firmware then refuses to destroy becomes an orphan (orphan.c).
 */
int mlx5_ib_destroy_rqt(struct ib_rwq_ind_table *ibrqt)
{
	struct mlx5_ib_rqt *rqt = to_mrqt(ibrqt);

	mlx5_ib_orphans_retry(to_mdev(ibrqt->device), rqt->object.context);
	return mlx5_ib_object_destroy(&rqt->object);
}
