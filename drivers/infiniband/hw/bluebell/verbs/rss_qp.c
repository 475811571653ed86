// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs that spread packets over several receive queues (receive side scaling, RSS). Such a
 * queue pair has no queue of its own: at the device it is a TIR, which chooses an entry of an
 * indirection table by a hash of a packet's headers. The queues have states of their own.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "layout/layout_tir.h"
#include "layout/refuse.h"
#include "lib/object.h"
#include "lib/transport_domain.h"
#include "verbs/qp.h"
#include "verbs/rwq.h"
#include "verbs/ucontext.h"

static int rss_check(struct mlx5_ib_dev *dev, const struct ib_qp_init_attr *init,
		     const struct mlx5_ib_create_qp_rss *ucmd)
{
	if (init->cap.max_send_wr || init->send_cq)
		return refuse(dev->mdev, -EINVAL,
			      "RSS QP with %u send requests, it only receives",
			      init->cap.max_send_wr);
	if (init->create_flags)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "RSS QP flags %#x, must be 0: its WQs have flags",
			      init->create_flags);
	return mlx5_ib_rss_check(ucmd, init->rwq_ind_tbl->log_ind_tbl_size, &dev->caps);
}

static int rss_create_tir(struct mlx5_ib_object *tir, struct mlx5_ib_ucontext *ctx, u32 rqtn,
			  u32 tdn, const struct mlx5_ib_create_qp_rss *ucmd)
{
	u32 in[MLX5_ST_SZ_DW(create_tir_in)] = {};

	mlx5_ib_fill_rss_tirc(MLX5_ADDR_OF(create_tir_in, in, ctx), rqtn, tdn, ucmd);
	return mlx5_ib_object_create(tir, &mlx5_ib_tir_kind, ctx, in, sizeof(in));
}

static int rss_respond(struct mlx5_ib_qp *qp, struct mlx5_ib_object *tir, struct ib_udata *udata)
{
	const struct mlx5_ib_create_qp_resp resp = {
		.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_TIRN, .tirn = tir->num,
	};

	/* The TIR takes packets from now on: there is no state in which it waits. */
	qp->state = IB_QPS_RTR;
	qp->tirn = tir->num;
	return ib_respond_udata(udata, resp);
}

static int rss_create(struct mlx5_ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_create_qp_rss ucmd = {};
	u32 tdn;
	int err;

	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (!err)
		err = rss_check(dev, init, &ucmd) ?: mlx5_ib_check_rqt(init->rwq_ind_tbl) ?:
		      mlx5_ib_use_transport_domain(ctx, &tdn) ?:
		      mlx5_ib_hold_loopback(dev, ucmd.flags, &qp->loopback);
	if (err)
		return err;

	struct mlx5_ib_object *tir __free(kfree) = kzalloc_obj(*tir, GFP_KERNEL_ACCOUNT);

	if (!tir)
		return -ENOMEM;
	qp->uid = ctx->uid;
	qp->mem.context = ctx;
	err = rss_create_tir(tir, ctx, to_mrqt(init->rwq_ind_tbl)->object.num, tdn, &ucmd);
	if (err)
		return err;
	err = rss_respond(qp, tir, udata);
	if (err) {
		mlx5_ib_object_discard(tir);
		return err;
	}
	mlx5_ib_qp_take_number(qp);
	qp->priv = no_free_ptr(tir);
	return 0;
}

static int rss_modify(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_udata *udata)
{
	return refuse(to_mdev(qp->ibqp.device)->mdev, -EOPNOTSUPP,
		      "change of an RSS QP, which has no state: its WQs have states");
}

static int rss_query(struct mlx5_ib_qp *qp, struct ib_qp_attr *attr)
{
	return 0;
}

static bool rss_find_part(const struct mlx5_ib_qp *qp, u8 kind, struct mlx5_ib_qp_part *part)
{
	const struct mlx5_ib_object *tir = qp->priv;

	*part = (struct mlx5_ib_qp_part){ tir->num, &tir->attempt };
	return kind == MLX5_IB_DEVX_TIR;
}

static int rss_destroy(struct mlx5_ib_qp *qp)
{
	int err = mlx5_ib_object_destroy(qp->priv);

	if (err)
		return err;
	mlx5_ib_qp_give_number(qp);
	kfree(qp->priv);
	qp->priv = NULL;
	return 0;
}

const struct mlx5_ib_qp_ops mlx5_ib_rss_qp_ops = {
	.create = rss_create,
	.modify = rss_modify,
	.query = rss_query,
	.find_part = rss_find_part,
	.destroy = rss_destroy,
};
