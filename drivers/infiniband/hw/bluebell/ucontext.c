// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * User contexts: what a library asks for when it opens the device, what it is
 * told, and what the context holds until it is closed.
 */

#include <linux/mlx5/driver.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "fw.h"
#include "uar.h"
#include "ucontext.h"

/* What mlx5_ib_alloc_ucontext() knows of each request version. */
enum {
	REQ_V0,		/* struct mlx5_ib_alloc_ucontext_req */
	REQ_V2 = 2,	/* struct mlx5_ib_alloc_ucontext_req_v2, or the start of one */
};

/*
 * Version 0 is told by its length, and reads as the start of version 2, of which
 * a library may know only the part up to comp_mask.
 */
static int copy_request(struct ib_udata *udata, struct mlx5_ib_alloc_ucontext_req_v2 *req,
			u8 *version)
{
	int err;

	*version = udata->inlen == sizeof(struct mlx5_ib_alloc_ucontext_req) ? REQ_V0 : REQ_V2;
	if (*version == REQ_V0)
		err = ib_copy_validate_udata_in(udata, *req, num_low_latency_bfregs);
	else
		err = ib_copy_validate_udata_in_cm(udata, *req, comp_mask, 0);
	if (err)
		return err;
	/* DEVX is a flag that is known, and not served yet. */
	if (req->flags || req->reserved0 || req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	return 0;
}

static void fill_clock(struct mlx5_core_dev *mdev, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	if (mdev->clock_info)
		resp->clock_info_versions = BIT(MLX5_IB_CLOCK_INFO_V1);
	/* A larger page with the counter on it is not for users; see mmap.c. */
	if (PAGE_SIZE > MLX5_ADAPTER_PAGE_SIZE)
		return;
	resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
	resp->hca_core_clock_offset = offset_in_page(offsetof(struct mlx5_init_seg,
							      internal_timer_h));
}

static void fill_bfregs(struct mlx5_core_dev *mdev, const struct mlx5_bfreg_info *bfregi,
			struct mlx5_ib_alloc_ucontext_resp *resp)
{
	const struct mlx5_bfreg_layout *layout = &bfregi->layout;

	if (MLX5_CAP_GEN(mdev, bf))
		resp->bf_reg_size = 1U << MLX5_CAP_GEN(mdev, log_bf_reg_size);
	resp->tot_bfregs = layout->num_static_bfregs;
	resp->num_dyn_bfregs = layout->num_dyn_bfregs;
	resp->num_uars_per_page = layout->uars_per_sys_page;
	resp->log_uar_size = MLX5_CAP_GEN(mdev, uar_4k) && bfregi->lib_uar_4k ?
			     MLX5_ADAPTER_PAGE_SHIFT : PAGE_SHIFT;
}

static void fill_response(struct mlx5_ib_ucontext *context,
			  struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_core_dev *mdev = dev->mdev;
	u8 ts_format = MLX5_CAP_GEN(mdev, sq_ts_format);

	resp->qp_tab_size = 1U << MLX5_CAP_GEN(mdev, log_max_qp);
	resp->cache_line_size = cache_line_size();
	resp->max_sq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_sq);
	resp->max_rq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_rq);
	resp->max_send_wqebb = 1U << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_recv_wr = 1U << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_srq_recv_wr = 1U << MLX5_CAP_GEN(mdev, log_max_srq_sz);
	resp->num_ports = dev->ib_dev.phys_port_cnt;
	resp->cqe_version = context->cqe_version;
	resp->cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
			      MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
	fill_bfregs(mdev, &context->bfregi, resp);
	fill_clock(mdev, resp);
	if (dev->has_dump_fill) {
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY;
		resp->dump_fill_mkey = dev->dump_fill_mkey;
	}
	if (MLX5_CAP_GEN(mdev, ece_support))
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	if (ts_format == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ||
	    ts_format == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME)
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS;
}

static int init_bfregs(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
		       const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	bool uar_4k = MLX5_CAP_GEN(dev->mdev, uar_4k);
	int err;

	bfregi->lib_uar_4k = req->lib_caps & MLX5_LIB_CAP_4K_UAR;
	bfregi->lib_uar_dyn = req->lib_caps & MLX5_LIB_CAP_DYN_UAR;
	if (bfregi->lib_uar_dyn) {
		/* Every UAR will be an object, made when the library needs it. */
		bfregi->layout.uars_per_sys_page =
			mlx5_ib_uars_per_sys_page(PAGE_SHIFT, uar_4k && bfregi->lib_uar_4k);
		return 0;
	}
	err = mlx5_ib_calc_bfregs(dev, req->total_num_bfregs, req->num_low_latency_bfregs, bfregi);
	if (err)
		return err;
	return mlx5_ib_allocate_uars(dev, bfregi);
}

static void release_bfregs(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;

	if (bfregi->sys_pages)
		mlx5_ib_deallocate_uars(dev, bfregi);
	kfree(bfregi->sys_pages);
	kfree(bfregi->count);
	bfregi->sys_pages = NULL;
	bfregi->count = NULL;
}

static int alloc_td(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, log_max_transport_domain))
		return 0;
	err = mlx5_fw_alloc_transport_domain(dev, MLX5_IB_KERNEL_UID, &context->tdn);
	context->has_tdn = !err;
	return err;
}

/* Nobody can try again later, so it is tried twice, as mlx5_ib_free_uar() does. */
static void free_td(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	if (!context->has_tdn)
		return;
	if (mlx5_fw_dealloc_transport_domain(dev, MLX5_IB_KERNEL_UID, context->tdn) &&
	    mlx5_fw_dealloc_transport_domain(dev, MLX5_IB_KERNEL_UID, context->tdn))
		ibdev_warn_ratelimited(&dev->ib_dev, "transport domain %u is lost\n", context->tdn);
	context->has_tdn = false;
}

static int respond(struct mlx5_ib_ucontext *context, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {};

	fill_response(context, &resp);
	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_respond_udata(udata, resp);
}

/**
 * mlx5_ib_alloc_ucontext - open the device for a process
 * @uctx: the context, zeroed but for what ib_core sets
 * @udata: struct mlx5_ib_alloc_ucontext_req or _v2; answered with struct
 *	mlx5_ib_alloc_ucontext_resp, cut to what the library has room for
 *
 * A library that makes its UARs itself (MLX5_LIB_CAP_DYN_UAR) gets none here and
 * is told so by tot_bfregs being 0. May sleep.
 *
 * Return: 0; -EINVAL for a request of no known length, no bfregs or too many
 * low-latency ones; -ENOMEM for more than 512 bfregs or no UAR left; -EOPNOTSUPP
 * for DEVX, or a flag or field that isn't known; -EFAULT; or the errno of a
 * firmware refusal. After an error the context holds nothing.
 */
int mlx5_ib_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	struct mlx5_ib_alloc_ucontext_req_v2 req = {};
	struct mlx5_ib_dev *dev = to_mdev(uctx->device);
	int err;

	err = copy_request(udata, &req, &context->bfregi.ver);
	if (err)
		return err;
	context->lib_caps = req.lib_caps;
	context->cqe_version = min(req.max_cqe_version, MLX5_CAP_GEN(dev->mdev, cqe_version));
	mutex_init(&context->bfregi.lock);
	mutex_init(&context->db_lock);
	xa_init(&context->db_pages);
	xa_init(&context->uars);

	err = init_bfregs(dev, context, &req);
	if (!err)
		err = alloc_td(dev, context);
	if (!err)
		err = respond(context, udata);
	if (err) {
		free_td(dev, context);
		release_bfregs(dev, context);
	}
	return err;
}

/**
 * mlx5_ib_dealloc_ucontext - the last use of a context is over
 * @uctx: the context: no object, no mapping is left of it
 *
 * May sleep.
 */
void mlx5_ib_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	struct mlx5_ib_dev *dev = to_mdev(uctx->device);

	WARN_ON(!xa_empty(&context->db_pages));
	WARN_ON(!xa_empty(&context->uars));
	free_td(dev, context);
	release_bfregs(dev, context);
	mutex_destroy(&context->db_lock);
	mutex_destroy(&context->bfregi.lock);
}

/**
 * mlx5_ib_disassociate_ucontext - the device goes while the context is open
 * @uctx: the context
 *
 * ib_core has taken every mapping from the process; there is nothing else that
 * it could reach. That this function is there says so.
 */
void mlx5_ib_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/**
 * mlx5_ib_query_ucontext - tell a second process what the context is like
 * @uctx: the context, opened by another process that gave away its fd
 * @attrs: MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX takes struct
 *	mlx5_ib_alloc_ucontext_resp
 *
 * Return: 0 or -EFAULT.
 */
int mlx5_ib_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	int len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
	struct mlx5_ib_alloc_ucontext_resp resp = {};

	if (len < 0)
		return len;
	fill_response(to_mucontext(uctx), &resp);
	resp.response_length = min_t(size_t, len, sizeof(resp));
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp,
					     sizeof(resp));
}
