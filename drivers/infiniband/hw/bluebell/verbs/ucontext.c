// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * User contexts: the request of a library that opens the device, the response, and what the context
 * owns. Protection domains.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mlx5/driver.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/transport_domain.h"
#include "lib/uctx.h"
#include "odp/odp.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"

/*
 * Copy and check the request of a library. A request of version 0 is recognised by its length, and
 * has the first fields of a request of version 2. An old library may send a request of version 2
 * that ends with comp_mask.
 */
static int ucontext_copy_request(struct mlx5_core_dev *mdev, struct ib_udata *udata,
				 struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	int err;

	if (udata->inlen == sizeof(struct mlx5_ib_alloc_ucontext_req))
		err = ib_copy_validate_udata_in(udata, *req, num_low_latency_bfregs);
	else
		err = ib_copy_validate_udata_in_cm(udata, *req, comp_mask, 0);
	if (err)
		return err;
	if (req->flags & ~MLX5_IB_ALLOC_UCTX_DEVX || req->reserved0 || req->reserved1 ||
	    req->reserved2)
		return refuse(mdev, -EOPNOTSUPP,
			      "context flags %#x, supported: %#x; reserved %#x %#x %#x, must be 0",
			      req->flags, MLX5_IB_ALLOC_UCTX_DEVX, req->reserved0, req->reserved1,
			      req->reserved2);
	return 0;
}

static void ucontext_fill_clock(struct mlx5_core_dev *mdev,
				struct mlx5_ib_alloc_ucontext_resp *resp)
{
	if (mdev->clock_info)
		resp->clock_info_versions = BIT(MLX5_IB_CLOCK_INFO_V1);
	/* mlx5_ib_mmap() does not map the clock if host pages are larger than the device's. */
	if (PAGE_SIZE > MLX5_ADAPTER_PAGE_SIZE)
		return;
	resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
	resp->hca_core_clock_offset = offset_in_page(offsetof(struct mlx5_init_seg,
							      internal_timer_h));
}

static void ucontext_fill_bfregs(const struct mlx5_ib_caps *caps,
				 const struct mlx5_bfreg_info *bfregi,
				 struct mlx5_ib_alloc_ucontext_resp *resp)
{
	const struct mlx5_bfreg_layout *layout = &bfregi->layout;

	if (bfregi->blueflame)
		resp->bf_reg_size = 1U << MLX5_CAP_GEN(caps->mdev, log_bf_reg_size);
	resp->tot_bfregs = layout->num_static_bfregs;
	resp->num_dyn_bfregs = layout->num_dyn_bfregs;
	resp->num_uars_per_page = layout->uars_per_sys_page;
	resp->log_uar_size = bfregi->uar_4k ? MLX5_ADAPTER_PAGE_SHIFT : PAGE_SHIFT;
}

static void ucontext_fill_queue_limits(struct mlx5_core_dev *mdev,
				       struct mlx5_ib_alloc_ucontext_resp *resp)
{
	resp->qp_tab_size = 1U << MLX5_CAP_GEN(mdev, log_max_qp);
	resp->max_sq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_sq);
	resp->max_rq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_rq);
	resp->max_send_wqebb = 1U << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_recv_wr = 1U << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_srq_recv_wr = 1U << MLX5_CAP_GEN(mdev, log_max_srq_sz);
}

/* Fill in the response, for a library that has room for @room bytes of it. */
static void ucontext_fill_response(struct mlx5_ib_ucontext *context, size_t room,
				   struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_core_dev *mdev = dev->mdev;

	resp->response_length = min(room, sizeof(*resp));
	ucontext_fill_queue_limits(mdev, resp);
	resp->cache_line_size = cache_line_size();
	resp->num_ports = dev->ib_dev.phys_port_cnt;
	resp->cqe_version = context->cqe_version;
	resp->eth_min_inline = dev->port.min_inline;
	resp->cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
			      MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
	ucontext_fill_bfregs(&dev->caps, &context->bfregi, resp);
	ucontext_fill_clock(mdev, resp);
	/* A process may change the low byte of an indirect mkey, because page faults ignore it. */
	resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
			   MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG;
	if (MLX5_CAP_GEN(mdev, dump_fill_mkey)) {
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY;
		resp->dump_fill_mkey = dev->dump_fill_mkey;
	}
	if (MLX5_CAP_GEN(mdev, ece_support))
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	if (dev->caps.real_time)
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS;
}

static int ucontext_init_bfregs(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
				const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;

	bfregi->blueflame = mlx5_ib_has_blueflame(&dev->caps);
	bfregi->uar_4k = MLX5_CAP_GEN(dev->mdev, uar_4k) && req->lib_caps & MLX5_LIB_CAP_4K_UAR;
	if (req->lib_caps & MLX5_LIB_CAP_DYN_UAR) {
		/* No static pages: the library will create UAR objects as it needs them. */
		bfregi->layout.uars_per_sys_page = mlx5_ib_uars_per_sys_page(PAGE_SHIFT,
									     bfregi->uar_4k);
		return 0;
	}
	return mlx5_ib_allocate_uars(context, req->total_num_bfregs, req->num_low_latency_bfregs);
}

static int ucontext_respond(struct mlx5_ib_ucontext *context, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {};

	ucontext_fill_response(context, udata->outlen, &resp);
	return ib_respond_udata(udata, resp);
}

/* Free what a context owns: the UARs first, because they have the user id of the context. */
static void ucontext_free(struct mlx5_ib_ucontext *context)
{
	mlx5_ib_deallocate_uars(context);
	if (context->uid)
		mlx5_ib_destroy_uctx(context);
	mlx5_ib_user_put(context->user);
	put_pid(context->pid);
}

/**
 * mlx5_ib_init_contexts - set up the list of contexts
 * @dev: device
 *
 * Return: 0.
 */
int mlx5_ib_init_contexts(struct mlx5_ib_dev *dev)
{
	mutex_init(&dev->contexts_lock);
	INIT_LIST_HEAD(&dev->contexts);
	return 0;
}

/*
 * Let the vport of an Ethernet port receive what it sends as long as two processes can be peers, or
 * members of one multicast group, or a queue pair for raw packets asks for it. A single context
 * leaves the loopback off, because the network device does not need it, and the device is faster
 * without.
 */
static int ucontext_switch_loopback(struct mlx5_ib_dev *dev, bool on)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	int err;

	lockdep_assert_held(&dev->contexts_lock);
	if (on == dev->loopback || !dev->caps.ethernet ||
	    (!MLX5_CAP_GEN(mdev, disable_local_lb_uc) && !MLX5_CAP_GEN(mdev, disable_local_lb_mc)))
		return 0;
	err = mlx5_ib_fw_switch_loopback(dev, on);
	if (!err)
		dev->loopback = on;
	return err;
}

/* Add the context to the contexts of the device. */
static int ucontext_join(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	int err;

	guard(mutex)(&dev->contexts_lock);
	err = list_empty(&dev->contexts) ? 0 : ucontext_switch_loopback(dev, true);
	if (!err)
		list_add_tail(&context->node, &dev->contexts);
	return err;
}

/*
 * Switch the loopback off if nobody needs it any more. If firmware refuses, whoever leaves next
 * tries again.
 */
static void ucontext_end_loopback(struct mlx5_ib_dev *dev)
{
	if (!dev->loopback_qps &&
	    (list_empty(&dev->contexts) || list_is_singular(&dev->contexts)))
		ucontext_switch_loopback(dev, false);
}

/* Remove the context from the contexts of the device. */
static void ucontext_leave(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	guard(mutex)(&dev->contexts_lock);
	list_del(&context->node);
	ucontext_end_loopback(dev);
}

/**
 * mlx5_ib_hold_loopback - let the port receive what it sends, if a queue pair is to receive that
 * @dev: device
 * @flags: flags of the library's request
 * @held: set to true if loopback is on for the queue pair. Whoever destroys the queue pair calls
 *	mlx5_ib_drop_loopback()
 *
 * May sleep.
 *
 * Return: 0; or the errno of the failed command.
 */
int mlx5_ib_hold_loopback(struct mlx5_ib_dev *dev, u32 flags, bool *held)
{
	int err;

	if (!(flags & (MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC | MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC)))
		return 0;
	guard(mutex)(&dev->contexts_lock);
	err = ucontext_switch_loopback(dev, true);
	if (!err)
		dev->loopback_qps++;
	*held = !err;
	return err;
}

/**
 * mlx5_ib_drop_loopback - a queue pair is gone, and with it its need of loopback
 * @dev: device
 * @held: what mlx5_ib_hold_loopback() has set, or false. Set to false
 *
 * May sleep.
 */
void mlx5_ib_drop_loopback(struct mlx5_ib_dev *dev, bool *held)
{
	if (!*held)
		return;
	*held = false;
	guard(mutex)(&dev->contexts_lock);
	dev->loopback_qps--;
	ucontext_end_loopback(dev);
}

/*
 * Make the calling process the owner of the context: objects of the context count against the
 * limits of the process's user.
 */
static int ucontext_init(struct mlx5_ib_ucontext *context)
{
	context->user = mlx5_ib_user_get(to_mdev(context->ibucontext.device),
					 mlx5_ib_user_of(current_user_ns(), current_uid()));
	if (!context->user)
		return -ENOMEM;
	context->unlimited = capable(CAP_SYS_RESOURCE);
	context->pid = get_pid(task_tgid(current));
	get_task_comm(context->comm, current->group_leader);
	mutex_init(&context->bfregi.lock);
	INIT_LIST_HEAD(&context->bfregi.bells);
	INIT_LIST_HEAD(&context->orphans);
	mutex_init(&context->db_lock);
	mutex_init(&context->tdn_lock);
	context->db_pages = RB_ROOT;
	return 0;
}

/**
 * mlx5_ib_alloc_ucontext - open the device for a process
 * @uctx: the context, zeroed but for what ib_core sets
 * @udata: struct mlx5_ib_alloc_ucontext_req or _v2; answered with struct
 *	mlx5_ib_alloc_ucontext_resp, truncated to the library's buffer
 *
 * A library that creates UAR objects (MLX5_LIB_CAP_DYN_UAR) gets no static UARs; tot_bfregs is 0.
 *
 * With MLX5_IB_ALLOC_UCTX_DEVX, which libmlx5 tries first, the context gets a user id: firmware
 * keeps objects with this id apart from those of other contexts. The second context of an Ethernet
 * port switches the loopback of its vport on. May sleep.
 *
 * Return: 0; -EINVAL for a request that is too short, without bfregs or with too many low-latency
 * bfregs; -ENOMEM, also for more than 512 bfregs, or if no UAR or no user id is left for the user;
 * -EOPNOTSUPP for DEVX on a device without user ids, and for unknown flags and fields; -EFAULT; or
 * the errno of a failed command. After an error the context owns nothing.
 */
int mlx5_ib_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	struct mlx5_ib_alloc_ucontext_req_v2 req = {};
	struct mlx5_ib_dev *dev = to_mdev(uctx->device);
	int err;

	err = ucontext_copy_request(dev->mdev, udata, &req);
	if (err)
		return err;
	context->cqe_version = min(req.max_cqe_version, MLX5_CAP_GEN(dev->mdev, cqe_version));
	err = ucontext_init(context);
	if (err)
		return err;
	if (req.flags & MLX5_IB_ALLOC_UCTX_DEVX)
		err = mlx5_ib_create_uctx(dev, context);
	if (!err)
		err = ucontext_init_bfregs(dev, context, &req);
	if (!err)
		err = ucontext_join(dev, context);
	if (err)
		goto err_free;
	err = ucontext_respond(context, udata);
	if (err)
		goto err_leave;
	return 0;

err_leave:
	ucontext_leave(dev, context);
err_free:
	ucontext_free(context);
	return err;
}

/**
 * mlx5_ib_dealloc_ucontext - free what a context owns
 * @uctx: the context; its objects are destroyed, or are orphans (orphan.c), and its mappings are
 *	removed
 *
 * May sleep.
 */
void mlx5_ib_dealloc_ucontext(struct ib_ucontext *uctx)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	struct mlx5_ib_dev *dev = to_mdev(uctx->device);

	ucontext_leave(dev, context);
	mlx5_ib_odp_close_context(context);
	mlx5_ib_put_transport_domain(context);
	mlx5_ib_orphans_leave_context(dev, context);
	WARN_ON(!RB_EMPTY_ROOT(&context->db_pages) && !dev->kept);
	WARN_ON(!list_empty(&context->bfregi.bells) && !dev->kept);
	ucontext_free(context);
	mutex_destroy(&context->tdn_lock);
	mutex_destroy(&context->db_lock);
	mutex_destroy(&context->bfregi.lock);
}

/**
 * mlx5_ib_disassociate_ucontext - let the device be removed while the context is open
 * @uctx: the context
 *
 * Does nothing: ib_core has already zapped all mappings. Without this operation ib_core would wait
 * until the process closes the context.
 */
void mlx5_ib_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/**
 * mlx5_ib_query_ucontext - repeat the response for a process that imports the context
 * @uctx: the context, opened by another process that passed on its fd
 * @attrs: MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX gets struct mlx5_ib_alloc_ucontext_resp
 *
 * Return: 0 or -EFAULT.
 */
int mlx5_ib_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	int len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
	struct mlx5_ib_alloc_ucontext_resp resp = {};

	if (len < 0)
		return len;
	ucontext_fill_response(to_mucontext(uctx), len, &resp);
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp,
					     sizeof(resp));
}

/* Copying the response to the user failed, so ib_core frees the PD: destroy it at the device. */
static void pd_discard(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
		       struct mlx5_ib_pd *pd)
{
	struct mlx5_ib_queue_mem mem = {
		.context = context, .share = mlx5_ib_share_of(context, MLX5_IB_SHARE_PD),
	};

	mlx5_ib_orphan_discard(dev, pd->uid, MLX5_CMD_OP_DEALLOC_PD, pd->pdn, "PD", &mem);
}

/**
 * mlx5_ib_alloc_pd - allocate a protection domain
 * @ibpd: the object, zeroed but for what ib_core sets
 * @udata: answered with struct mlx5_ib_alloc_pd_resp; NULL for a domain of a kernel consumer
 *
 * Implements ibv_alloc_pd(3) with ALLOC_PD. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for driver data; -EFAULT; -ENOMEM if the user has as many PDs as a user
 * can have; or the errno of a failed command.
 */
int mlx5_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibpd->device);
	struct mlx5_ib_alloc_pd_resp resp = {};
	struct mlx5_ib_ucontext *context = NULL;
	struct mlx5_ib_pd *pd = to_mpd(ibpd);
	struct mlx5_ib_share share = {};
	int err;

	if (udata) {
		context = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext);
		pd->uid = context->uid;
		err = ib_is_udata_in_empty(udata) ?:
		      mlx5_ib_share_take(context, MLX5_IB_SHARE_PD, &share);
		if (err)
			return err;
	}
	err = mlx5_ib_fw_alloc_object(dev, pd->uid, MLX5_CMD_OP_ALLOC_PD, &pd->pdn);
	if (err)
		mlx5_ib_share_undo(&share, err);
	if (err || !udata)
		return err;

	resp.pdn = pd->pdn;
	err = ib_respond_udata(udata, resp);
	if (err)
		pd_discard(dev, context, pd);
	return err;
}

/**
 * mlx5_ib_check_pd - check that a protection domain exists, before a command names it
 * @ibpd: the domain, or NULL
 *
 * Any context.
 *
 * Return: 0, also for NULL; or -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_check_pd(struct ib_pd *ibpd)
{
	return ibpd ? mlx5_ib_fw_check_exists(to_mdev(ibpd->device), &to_mpd(ibpd)->attempt, "PD",
					      to_mpd(ibpd)->pdn) : 0;
}

/**
 * mlx5_ib_dealloc_pd - deallocate a protection domain
 * @ibpd: the domain, without objects of verbs
 * @udata: data of the user's call; NULL for a domain of a kernel consumer
 *
 * May sleep.
 *
 * Return: 0, or the errno of a failed command, after which the domain can be deallocated again.
 * Always 0 for a kernel consumer, and for a process that has closed the device: a domain that
 * firmware then refuses to deallocate becomes an orphan (orphan.c).
 */
int mlx5_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibpd->device);
	struct mlx5_ib_pd *pd = to_mpd(ibpd);
	struct mlx5_ib_queue_mem mem = {};
	int err;

	if (udata)
		mem.context = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext);
	mlx5_ib_orphans_retry(dev, mem.context);
	if (!udata) {
		mlx5_ib_orphan_destroy(dev, MLX5_CMD_OP_DEALLOC_PD, pd->pdn, "PD", NULL);
		return 0;
	}
	err = mlx5_ib_fw_destroy_object(dev, pd->uid, MLX5_CMD_OP_DEALLOC_PD, pd->pdn,
					&pd->attempt);
	mem.share = mlx5_ib_share_of(mem.context, MLX5_IB_SHARE_PD);
	if (err && mem.context->closing) {
		mlx5_ib_orphan_adopt_closing(dev, pd->uid, MLX5_CMD_OP_DEALLOC_PD, pd->pdn,
					     &pd->attempt, "PD", &mem);
		err = 0;
	}
	if (!err)
		mlx5_ib_share_give(&mem.share);
	return err;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *pd = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_PD_HANDLE);

	return uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &to_mpd(pd)->pdn,
			      sizeof(to_mpd(pd)->pdn));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE, UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_pd_methods, UVERBS_OBJECT_PD, &UVERBS_METHOD(MLX5_IB_METHOD_PD_QUERY));

#define CONTEXT_RESP	UVERBS_ATTR_STRUCT(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey)

ADD_UVERBS_ATTRIBUTES_SIMPLE(mlx5_ib_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
						 CONTEXT_RESP, UA_MANDATORY));

const struct uapi_definition mlx5_ib_ucontext_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &mlx5_ib_pd_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &mlx5_ib_query_context),
	{},
};
