// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: create, resize, moderate and destroy them, and report completions and errors
 * to the consumer. cq_kernel.c polls the CQs of kernel consumers.
 */

#include <linux/mlx5/driver.h>
#include <linux/overflow.h>
#include <rdma/ib_umem.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_cq.h"
#include "layout/refuse.h"
#include "lib/cq_kernel.h"
#include "lib/cq_ring.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/subscription.h"
#include "lib/umem.h"
#include "verbs/cq.h"

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

/*
 * Tell the consumer that the CQ has completions. For a CQ of a user, mlx5_core's tasklet calls this
 * function: the handler takes locks and wakes tasks, which would make the interrupt of a vector
 * with many CQs long. For a CQ of a kernel consumer, whose handler is meant only to schedule the
 * polling, the interrupt calls this function.
 */
static void cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	struct ib_cq *ibcq = &container_of(mcq, struct mlx5_ib_cq, mcq)->ibcq;

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/*
 * Report an error of the CQ to the consumer. Called in the interrupt of the async EQ, while
 * mlx5_core holds a reference to the CQ.
 */
static void cq_event(struct mlx5_core_cq *mcq, enum mlx5_event type)
{
	struct ib_cq *ibcq = &container_of(mcq, struct mlx5_ib_cq, mcq)->ibcq;
	struct ib_event event = {
		.device = ibcq->device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = ibcq,
	};

	if (type == MLX5_EVENT_TYPE_CQ_ERROR && ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

/*
 * Find the UAR on which the CQ is armed: the UAR object that the request names, to which the CQ
 * takes a reference, or else the first static UAR of the context.
 */
static int cq_get_uar(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_cq *cq,
		      const struct uverbs_attr_bundle *attrs, const struct mlx5_ib_create_cq *ucmd)
{
	int err;

	if (uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX)) {
		err = uverbs_copy_from(&cq->uar_page, attrs, MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX);
		if (err)
			return err;
	} else if (ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) {
		cq->uar_page = ucmd->uar_page_index;
	} else {
		/* With MLX5_LIB_CAP_DYN_UAR the context has UAR objects, but no static page. */
		if (!ctx->bfregi.layout.num_static_sys_pages)
			return refuse(to_mdev(ctx->ibucontext.device)->mdev, -EINVAL,
				      "the CQ names no UAR, and the context has no static UAR");
		cq->uar_page = ctx->bfregi.sys_pages[0];
		return 0;
	}

	cq->mem.uar = mlx5_ib_get_uar(ctx, cq->uar_page);
	return cq->mem.uar ? 0 : refuse(to_mdev(ctx->ibucontext.device)->mdev, -EINVAL,
					"CQ on UAR %u, not a UAR object of the context",
					cq->uar_page);
}

/*
 * DESTROY_CQ has failed for a CQ that ib_core frees: an orphan (orphan.c) takes over the memory.
 */
static void cq_adopt(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq, int err)
{
	mlx5_ib_orphan_adopt(dev, cq->mcq.uid, MLX5_CMD_OP_DESTROY_CQ, cq->mcq.cqn, &cq->attempt,
			     "CQ", &cq->mem, err);
}

/* Copying the answer to the user failed, so ib_core frees the CQ: destroy it at the device. */
static void cq_discard(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq)
{
	int err = mlx5_ib_fw_discard_cq(dev, &cq->mcq, &cq->attempt);

	if (err)
		cq_adopt(dev, cq, err);
}

/* Create the CQ at the device and return its number to the user. */
static int cq_create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq, u16 uid,
				 u16 vector, void *cqc, struct ib_udata *udata)
{
	struct mlx5_ib_create_cq_resp resp = {};
	int err;

	cq->mcq.comp = mlx5_add_cq_to_tasklet;
	cq->mcq.tasklet_ctx.comp = cq_comp;
	cq->mcq.event = cq_event;
	err = mlx5_ib_create_cq_cmd(dev, uid, &cq->mcq, &cq->mem, vector, cqc);
	if (err)
		return err;
	resp.cqn = cq->mcq.cqn;
	err = ib_respond_udata(udata, resp);
	if (err)
		cq_discard(dev, cq);
	return err;
}

/*
 * Check that a buffer is aligned to the size of a CQE, as the device requires. Returns @umem; or
 * releases @umem and returns an ERR_PTR.
 */
static struct ib_umem *cq_check_umem(struct ib_umem *umem, u32 cqe_size)
{
	int err;

	if (IS_ERR(umem) || IS_ALIGNED(umem->address, cqe_size))
		return umem;
	err = refuse(to_mdev(umem->ibdev)->mdev, -EINVAL,
		     "CQ buffer at %#lx, not aligned to %u bytes", umem->address, cqe_size);
	ib_umem_release(umem);
	return ERR_PTR(err);
}

/* Pin the memory that the process gives the CQ. */
static int cq_pin(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *ctx, struct mlx5_ib_cq *cq,
		  const struct mlx5_ib_create_cq *ucmd, u64 size,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_umem *umem;

	if (overflows_type(size, size_t))
		return refuse(dev->mdev, -EOVERFLOW,
			      "CQ buffer of %llu bytes, which exceeds 32 bits", size);
	umem = ib_umem_get_cq_buf_or_va(&dev->ib_dev, attrs, ucmd->buf_addr, size,
					IB_ACCESS_LOCAL_WRITE);
	return mlx5_ib_queue_mem_map_user(&cq->mem, ctx, cq_check_umem(umem, ucmd->cqe_size),
					  size, MLX5_IB_MAX_PAGE_OFFSET, ucmd->db_addr);
}

static void cq_add_bell(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_cq *cq)
{
	cq->bell.queue = (struct bluebell_queue){
		.type = BLUEBELL_QUEUE_CQ,
		.number = cq->mcq.cqn,
		.uar = cq->uar_page,
		.bfreg = BLUEBELL_NO_BFREG,
	};
	mlx5_ib_bell_add(ctx, &cq->bell);
}

static void cq_init_user(struct mlx5_ib_cq *cq, const struct mlx5_ib_create_cq *ucmd, int entries,
			 void *cqc)
{
	mutex_init(&cq->resize_lock);
	cq->cqe_size = ucmd->cqe_size;
	cq->cqe_stride = MLX5_GET(cqc, cqc, cqe_sz);
	cq->real_time = ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	cq->ibcq.cqe = entries - 1;
	MLX5_SET(cqc, cqc, uar_page, cq->uar_page);
	MLX5_SET(cqc, cqc, log_cq_size, ilog2(entries));
}

/**
 * mlx5_ib_create_user_cq - create a completion queue for a user
 * @ibcq: the object, zeroed but for what ib_core sets
 * @attr: entries, completion vector, flags
 * @attrs: the call, with struct mlx5_ib_create_cq as driver data
 *
 * Implements ibv_create_cq(3) with CREATE_CQ. May sleep.
 *
 * Return: 0; -EINVAL for invalid attributes, a UAR that is not the user's, a vector that the device
 * does not have, or a buffer or doorbell record that is not aligned; -EOPNOTSUPP for unknown flags
 * of verbs, unknown driver data, and a feature that the device lacks; -ENOMEM, also if the user has
 * as many CQs as a user can have; -EOVERFLOW on a 32-bit host for a buffer beyond 32 bits; -EFAULT;
 * as mlx5_ib_umem_get() for memory that cannot be pinned; or the errno of a failed command.
 */
int mlx5_ib_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_create_cq ucmd = {};
	u32 cqc[MLX5_ST_SZ_DW(cqc)] = {};
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int entries, err;

	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (err)
		return err;
	err = mlx5_ib_cq_parse_create(&ucmd, attr->flags, &dev->caps, cqc);
	if (err)
		return err;
	entries = mlx5_ib_cq_entries(attr->cqe, MLX5_CAP_GEN(dev->mdev, log_max_cq_sz));
	if (entries < 0)
		return entries;
	err = cq_get_uar(ctx, cq, attrs, &ucmd);
	if (err)
		return err;

	cq_init_user(cq, &ucmd, entries, cqc);
	err = mlx5_ib_share_take(ctx, MLX5_IB_SHARE_CQ, &cq->mem.share) ?:
	      cq_pin(dev, ctx, cq, &ucmd, (u64)ucmd.cqe_size * entries, attrs);
	if (!err)
		err = cq_create_and_respond(dev, cq, ctx->uid, attr->comp_vector, cqc, udata);
	if (err)
		mlx5_ib_queue_mem_unmap_user(&cq->mem);
	else
		cq_add_bell(ctx, cq);
	return err;
}

static int cq_create_kernel(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq, u8 log_cqes,
			    u16 vector)
{
	u32 cqc[MLX5_ST_SZ_DW(cqc)] = {};
	int err;

	err = mlx5_ib_cq_ring_alloc(dev, &cq->kcq->ring, &cq->mcq, &cq->mem, log_cqes);
	if (err)
		return err;
	cq->mcq.comp = cq_comp;
	cq->mcq.event = cq_event;
	cq->uar_page = dev->mdev->priv.bfreg.up->index;
	MLX5_SET(cqc, cqc, cqe_sz, cq->cqe_stride);
	MLX5_SET(cqc, cqc, log_cq_size, log_cqes);
	MLX5_SET(cqc, cqc, uar_page, cq->uar_page);
	err = mlx5_ib_create_cq_cmd(dev, MLX5_IB_KERNEL_UID, &cq->mcq, &cq->mem, vector, cqc);
	if (err)
		mlx5_ib_queue_mem_free(dev, &cq->mem);
	return err;
}

/**
 * mlx5_ib_create_cq - create a completion queue for a kernel consumer
 * @ibcq: the object, zeroed but for what ib_core sets
 * @attr: entries, completion vector; no flags
 * @attrs: NULL
 *
 * Implements ib_create_cq() with CREATE_CQ. May sleep.
 *
 * Return: 0; -EINVAL for no entries, for more entries than a CQ of the device can have, or for a
 * vector that the device does not have; -EOPNOTSUPP for flags; -ENOMEM; or the errno of a failed
 * command.
 */
int mlx5_ib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		      struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int entries, err;

	if (attr->flags)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "CQ of a kernel consumer with flags %#x, must be 0", attr->flags);
	entries = mlx5_ib_cq_entries(attr->cqe, MLX5_CAP_GEN(dev->mdev, log_max_cq_sz));
	if (entries < 0)
		return entries;
	cq->kcq = mlx5_ib_kcq_alloc(dev, ibcq);
	if (!cq->kcq)
		return -ENOMEM;
	mutex_init(&cq->resize_lock);
	cq->cqe_size = sizeof(struct mlx5_cqe64);
	cq->cqe_stride = CQE_STRIDE_64;
	ibcq->cqe = entries - 1;
	err = cq_create_kernel(dev, cq, ilog2(entries), attr->comp_vector);
	if (err)
		mlx5_ib_kcq_free(cq->kcq);
	return err;
}

/**
 * mlx5_ib_check_cq - check that a completion queue exists, before a command names it
 * @ibcq: the queue, or NULL
 *
 * Any context.
 *
 * Return: 0, also for NULL; or -EIO, as mlx5_ib_fw_check_exists().
 */
int mlx5_ib_check_cq(struct ib_cq *ibcq)
{
	return ibcq ? mlx5_ib_fw_check_exists(to_mdev(ibcq->device), &to_mcq(ibcq)->attempt, "CQ",
					      to_mcq(ibcq)->mcq.cqn) : 0;
}

static void cq_fill_resize(void *in, const struct mlx5_ib_cq *cq, const struct mlx5_ib_buf *buf,
			   int entries)
{
	void *cqc = MLX5_ADDR_OF(modify_cq_in, in, cq_context);

	MLX5_SET(modify_cq_in, in, op_mod, MLX5_CQ_OPMOD_RESIZE);
	MLX5_SET(modify_cq_in, in,
		 modify_field_select_resize_field_select.resize_field_select.resize_field_select,
		 MLX5_MODIFY_CQ_MASK_LOG_SIZE | MLX5_MODIFY_CQ_MASK_PG_OFFSET |
		 MLX5_MODIFY_CQ_MASK_PG_SIZE);
	MLX5_SET(cqc, cqc, cqe_sz, cq->cqe_stride);
	MLX5_SET(cqc, cqc, log_cq_size, ilog2(entries));
	mlx5_ib_fill_cqc_buf(cqc, &buf->geo);
}

/*
 * Have the device move a CQ to @buf. If firmware does not answer, an orphan (orphan.c) takes over
 * the memory of @buf, and @buf is zeroed.
 */
static int cq_resize_cmd(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq,
			 struct mlx5_ib_buf *buf, int entries)
{
	int inlen, err;

	lockdep_assert_held(&cq->resize_lock);
	/* Only the CQ of a user moves to another buffer. */
	WARN_ON_ONCE(cq->kcq);
	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(buf, MLX5_ST_SZ_BYTES(modify_cq_in),
							&inlen);

	if (!in)
		return -ENOMEM;
	cq_fill_resize(in, cq, buf, entries);
	err = mlx5_ib_fw_modify_cq(dev, cq->mcq.uid, cq->mcq.cqn, in, inlen);
	/* If firmware has not answered, the device may use either buffer, so keep both. */
	if (err == -ETIMEDOUT) {
		mlx5_ib_orphan_keep_lost(dev, "a new buffer of a CQ",
					 &(struct mlx5_ib_queue_mem){ .buf = *buf });
		*buf = (struct mlx5_ib_buf){};
	}
	return err;
}

static int cq_copy_resize_request(const struct mlx5_ib_cq *cq, struct ib_udata *udata,
				  struct mlx5_ib_resize_cq *ucmd)
{
	int err = ib_copy_validate_udata_in(udata, *ucmd, reserved1);

	if (err)
		return err;
	if (ucmd->reserved0 || ucmd->reserved1 || ucmd->cqe_size != cq->cqe_size)
		return refuse(to_mdev(cq->ibcq.device)->mdev, -EINVAL,
			      "CQ resize to CQEs of %u bytes, must be %u; reserved %#x %#x, must be 0",
			      ucmd->cqe_size, cq->cqe_size, ucmd->reserved0, ucmd->reserved1);
	return ib_respond_empty_udata(udata);
}

static bool cq_has_entries(struct mlx5_ib_cq *cq, int entries)
{
	guard(mutex)(&cq->resize_lock);
	return cq->ibcq.cqe == entries - 1;
}

/*
 * Have the device move a CQ to @buf, which after success is the old buffer. Does nothing if another
 * task has resized the CQ to this number of entries meanwhile.
 */
static int cq_move(struct mlx5_ib_cq *cq, struct mlx5_ib_buf *buf, int entries)
{
	int err;

	guard(mutex)(&cq->resize_lock);
	if (cq->ibcq.cqe == entries - 1)
		return 0;
	err = cq_resize_cmd(to_mdev(cq->ibcq.device), cq, buf, entries);
	if (err)
		return err;
	swap(cq->mem.buf, *buf);
	cq->ibcq.cqe = entries - 1;
	return 0;
}

/*
 * Let the device write completions into @entries entries of a process's memory at @addr. A page of
 * this memory may never come, so the memory is pinned without the lock, which administrators take
 * who list the CQs of all processes.
 */
static int cq_pin_and_move(struct mlx5_ib_cq *cq, u64 addr, int entries)
{
	size_t size = (size_t)entries * cq->cqe_size;
	struct mlx5_ib_buf buf = {};
	struct ib_umem *umem;
	int err;

	umem = mlx5_ib_umem_get(to_mdev(cq->ibcq.device), addr, size, IB_ACCESS_LOCAL_WRITE);
	err = mlx5_ib_buf_init_user(&buf, cq_check_umem(umem, cq->cqe_size), size,
				    MLX5_IB_MAX_PAGE_OFFSET);
	if (err)
		return err;
	err = cq_move(cq, &buf, entries);
	mlx5_ib_buf_free_user(&buf);
	return err;
}

/**
 * mlx5_ib_resize_user_cq - move a completion queue to another buffer
 * @ibcq: the queue
 * @cqe: entries asked for
 * @udata: struct mlx5_ib_resize_cq
 *
 * Implements ibv_resize_cq(3) with MODIFY_CQ. The last CQE that the device writes to the old buffer
 * is a resize CQE. The library copies the CQEs that come before the resize CQE, and have not been
 * polled, to the new buffer. A queue that has the resulting number of entries already stays in its
 * buffer. May sleep.
 *
 * Return: 0; -EINVAL for invalid attributes, a buffer that is not aligned to the size of a CQE, or
 * fewer entries than there are completions; -EOPNOTSUPP if the device cannot resize, and for
 * unknown driver data; -ENOMEM; -EFAULT; as mlx5_ib_umem_get() for memory that cannot be pinned;
 * -EIO as mlx5_ib_check_cq(); -ETIMEDOUT if firmware does not answer; or the errno of a failed
 * command. After -ETIMEDOUT the device may use either buffer; after any other error the queue is as
 * it was.
 */
int mlx5_ib_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_resize_cq ucmd = {};
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int entries, err;

	if (!MLX5_CAP_GEN(dev->mdev, cq_resize))
		return refuse(dev->mdev, -EOPNOTSUPP, "the device cannot resize CQs (cq_resize)");
	err = mlx5_ib_check_cq(ibcq) ?: cq_copy_resize_request(cq, udata, &ucmd);
	if (err)
		return err;
	entries = mlx5_ib_cq_entries(cqe, MLX5_CAP_GEN(dev->mdev, log_max_cq_sz));
	if (entries < 0)
		return entries;
	return cq_has_entries(cq, entries) ? 0 : cq_pin_and_move(cq, ucmd.buf_addr, entries);
}

/**
 * mlx5_ib_modify_cq - moderate the events of a completion queue
 * @ibcq: the queue
 * @cq_count: number of completions after which an event is due; 0: after each
 * @cq_period: microseconds after which an event is due; 0: at once
 *
 * Implements ibv_modify_cq(3) with MODIFY_CQ. The work item by which ib_core moderates the queue of
 * a kernel consumer may still run after mlx5_ib_pre_destroy_cq() has destroyed the queue at the
 * device, so no command is sent for a queue that has been closed. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if the device cannot moderate CQs; -EINVAL for a period longer than
 * MLX5_MAX_CQ_PERIOD, or a queue that is being destroyed; -EIO as mlx5_ib_check_cq(); or the errno
 * of a failed command.
 */
int mlx5_ib_modify_cq(struct ib_cq *ibcq, u16 cq_count, u16 cq_period)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	u32 in[MLX5_ST_SZ_DW(modify_cq_in)] = {};
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	void *cqc = MLX5_ADDR_OF(modify_cq_in, in, cq_context);

	if (!MLX5_CAP_GEN(dev->mdev, cq_moderation))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "the device cannot moderate CQs (cq_moderation)");
	if (cq_period > MLX5_MAX_CQ_PERIOD)
		return refuse(dev->mdev, -EINVAL, "CQ moderation period %u us, at most %lu",
			      cq_period, MLX5_MAX_CQ_PERIOD);

	MLX5_SET(modify_cq_in, in,
		 modify_field_select_resize_field_select.modify_field_select.modify_field_select,
		 MLX5_CQ_MODIFY_PERIOD | MLX5_CQ_MODIFY_COUNT);
	MLX5_SET(cqc, cqc, cq_period, cq_period);
	MLX5_SET(cqc, cqc, cq_max_count, cq_count);

	guard(mutex)(&cq->resize_lock);
	if (cq->kcq && cq->kcq->closed)
		return refuse(dev->mdev, -EINVAL,
			      "change of the moderation of CQ 0x%x, which is being destroyed",
			      cq->mcq.cqn);
	return mlx5_ib_check_cq(ibcq) ?:
	       mlx5_ib_fw_modify_cq(dev, cq->mcq.uid, cq->mcq.cqn, in, sizeof(in));
}

/**
 * mlx5_ib_pre_destroy_cq - have the device destroy a kernel consumer's completion queue
 * @ibcq: the queue, on which no queue pair completes any more
 *
 * ib_free_cq() calls this function before it cancels the work items that poll and moderate the
 * queue: when the function returns, no handler of completions runs any more, and so none can queue
 * a work item again. A work item that is running may still poll, arm or moderate the queue, so the
 * memory of the queue stays until mlx5_ib_post_destroy_cq(); polling, arming and moderating do not
 * access the device any more. May sleep.
 *
 * Return: 0. If firmware refuses, mlx5_ib_post_destroy_cq() makes an orphan (orphan.c) of the
 * queue.
 */
int mlx5_ib_pre_destroy_cq(struct ib_cq *ibcq)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_cq *cq = to_mcq(ibcq);

	mlx5_ib_orphans_retry(dev, NULL);
	/* With the lock, because a work item of ib_core may be sending MODIFY_CQ. */
	scoped_guard(mutex, &cq->resize_lock)
		mlx5_ib_kcq_close(cq->kcq);
	cq->discard_err = mlx5_ib_fw_discard_cq(dev, &cq->mcq, &cq->attempt);
	return 0;
}

/**
 * mlx5_ib_post_destroy_cq - free the memory of a kernel consumer's completion queue
 * @ibcq: the queue, after mlx5_ib_pre_destroy_cq() and the last work item of ib_core
 *
 * May sleep.
 */
void mlx5_ib_post_destroy_cq(struct ib_cq *ibcq)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_cq *cq = to_mcq(ibcq);

	if (cq->discard_err)
		cq_adopt(dev, cq, cq->discard_err);
	mlx5_ib_kcq_free(cq->kcq);
	mlx5_ib_queue_mem_free(dev, &cq->mem);
}

/*
 * Destroy a CQ. If firmware refuses, and the process has closed the device, make an orphan
 * (orphan.c) of the CQ, and return 0.
 */
static int cq_destroy_or_orphan(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq)
{
	bool last = cq->mem.context && cq->mem.context->closing;
	int err;

	mlx5_ib_event_pause(dev, &cq->attempt, MLX5_OBJ_TYPE_CQ, cq->mcq.cqn);
	err = last ? mlx5_ib_fw_discard_cq(dev, &cq->mcq, &cq->attempt) :
		     mlx5_ib_fw_destroy_cq(dev, &cq->mcq, &cq->attempt);
	mlx5_ib_event_settle(dev, &cq->attempt, MLX5_OBJ_TYPE_CQ, cq->mcq.cqn, last ? 0 : err);
	if (!err || !last)
		return err;
	mlx5_ib_orphan_adopt_closing(dev, cq->mcq.uid, MLX5_CMD_OP_DESTROY_CQ, cq->mcq.cqn,
				     &cq->attempt, "CQ", &cq->mem);
	return 0;
}

/**
 * mlx5_ib_destroy_cq - destroy a completion queue
 * @ibcq: the queue
 * @udata: data of the user's call; NULL for a queue of a kernel consumer
 *
 * ib_core calls this function for the queues of users, and for queues of kernel consumers that
 * ib_free_cq() does not free. After success no handler runs any more, and subscriptions of
 * processes to events of the queue have ended. May sleep.
 *
 * Return: 0; or the errno of the failed DESTROY_CQ. The buffer, the doorbell record and the
 * subscriptions then stay, but mlx5_core delivers no more events of the queue, see
 * mlx5_ib_fw_destroy_cq(). Always 0 for a kernel consumer, and for a process that has closed the
 * device: a queue that firmware then refuses to destroy becomes an orphan (orphan.c).
 */
int mlx5_ib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int err;

	if (cq->kcq) {
		mlx5_ib_pre_destroy_cq(ibcq);
		mlx5_ib_post_destroy_cq(ibcq);
		return 0;
	}
	mlx5_ib_orphans_retry(dev, cq->mem.context);
	mlx5_ib_bell_del(cq->mem.context, &cq->bell);
	err = cq_destroy_or_orphan(dev, cq);
	if (err) {
		WRITE_ONCE(dev->kept, true);
		mlx5_ib_bell_add(cq->mem.context, &cq->bell);
	} else {
		mlx5_ib_queue_mem_unmap_user(&cq->mem);
	}
	return err;
}

/**
 * mlx5_ib_poll_cq - take completions from the queue of a kernel consumer
 * @ibcq: the queue
 * @num: maximum number of completions
 * @wc: gets the completions
 *
 * Implements ib_poll_cq(). Any context.
 *
 * Return: the number of completions.
 */
int mlx5_ib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	return mlx5_ib_kcq_poll(to_mcq(ibcq)->kcq, num, wc);
}

/**
 * mlx5_ib_req_notify_cq - ask for an event from the queue of a kernel consumer
 * @ibcq: the queue
 * @flags: IB_CQ_SOLICITED or IB_CQ_NEXT_COMP, optionally with IB_CQ_REPORT_MISSED_EVENTS
 *
 * Implements ib_req_notify_cq(). Any context.
 *
 * Return: as mlx5_ib_kcq_arm().
 */
int mlx5_ib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	return mlx5_ib_kcq_arm(to_mcq(ibcq)->kcq, flags);
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(mlx5_ib_cq_create, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
			     UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX,
						UVERBS_ATTR_TYPE(u32), UA_OPTIONAL));

const struct uapi_definition mlx5_ib_cq_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &mlx5_ib_cq_create),
	{},
};
