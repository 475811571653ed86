// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues of user space: create, resize, moderate, destroy, and hand
 * completions and errors to the consumer.
 */

#include <kunit/static_stub.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mm.h>
#include <rdma/ib_umem.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "cq.h"
#include "doorbell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "uar.h"

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

/* Queues start on a cache line: the finest offset a context can express. */
#define QUEUE_ALIGNMENT		64

/**
 * mlx5_ib_umem_geometry - describe a pinned queue buffer to the device
 * @umem: the buffer
 * @geo: page size and offset for the queue's context
 * @npas: number of translation entries of that page size
 *
 * The alignment is checked first because ib_umem_find_best_pgoff() keeps only
 * the address bits it is allowed to: with a misaligned start, the page count
 * that ib_umem_release() takes off the process's account would be another.
 *
 * Return: 0, or -EINVAL for a buffer that is not aligned to 64 bytes.
 */
int mlx5_ib_umem_geometry(struct ib_umem *umem, struct mlx5_ib_buf_geometry *geo, u32 *npas)
{
	unsigned long pgsz;
	u64 dma_addr;

	if (!IS_ALIGNED(umem->address, QUEUE_ALIGNMENT))
		return -EINVAL;
	pgsz = ib_umem_find_best_pgoff(umem, mlx5_ib_mkey_page_sizes(),
				       ~(u64)(QUEUE_ALIGNMENT - 1));
	if (!pgsz)
		return -EINVAL;

	dma_addr = ib_umem_start_dma_addr(umem);
	mlx5_ib_quantize_geometry(dma_addr, pgsz, geo);
	*npas = ib_umem_num_dma_blocks(umem, 1UL << geo->page_shift);
	return 0;
}

/**
 * mlx5_ib_comp_eqn - the event queue of a completion vector
 * @dev: device
 * @vector: completion vector, from 0
 * @eqn: the number of its event queue
 *
 * mlx5_core makes the queue when its vector is first used. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_comp_eqn(struct mlx5_ib_dev *dev, u16 vector, int *eqn)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_comp_eqn, dev, vector, eqn);
	return mlx5_comp_eqn_get(dev->mdev, vector, eqn);
}

static void get_cq_caps(struct mlx5_core_dev *mdev, struct mlx5_ib_cq_caps *caps)
{
	u8 ts_format = MLX5_CAP_GEN(mdev, sq_ts_format);

	*caps = (struct mlx5_ib_cq_caps){
		.log_max_cq_sz = MLX5_CAP_GEN(mdev, log_max_cq_sz),
		.ignore_overrun = MLX5_CAP_GEN(mdev, cq_oi),
		.cqe_128_pad = MLX5_CAP_GEN(mdev, cqe_128_always),
		.compression = MLX5_CAP_GEN(mdev, cqe_compression),
		.compression_128 = MLX5_CAP_GEN(mdev, cqe_compression_128),
		.stride_index = MLX5_CAP_GEN(mdev, mini_cqe_resp_stride_index),
		.real_time = ts_format == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ||
			     ts_format == MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME,
	};
}

/* From mlx5_core's tasklet: the interrupt of a vector with many CQs stays short. */
static void cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	struct ib_cq *ibcq = &container_of(mcq, struct mlx5_ib_cq, mcq)->ibcq;

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* From the interrupt of the async EQ; mlx5_core holds a reference meanwhile. */
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
 * The UAR on which this CQ is armed: a UAR object of the user's, which then
 * stays until the CQ is destroyed, or the first page of the context.
 */
static int take_uar(struct mlx5_ib_ucontext *ctx, struct mlx5_ib_cq *cq,
		    const struct uverbs_attr_bundle *attrs, const struct mlx5_ib_create_cq *ucmd,
		    u32 *page)
{
	int err;

	if (uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX)) {
		err = uverbs_copy_from(page, attrs, MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX);
		if (err)
			return err;
	} else if (ucmd->flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX) {
		*page = ucmd->uar_page_index;
	} else {
		/* A library that makes every UAR an object has no such page. */
		if (!ctx->bfregi.layout.num_static_sys_pages)
			return -EINVAL;
		*page = ctx->bfregi.sys_pages[0];
		return 0;
	}

	cq->uar = mlx5_ib_get_uar(ctx, *page);
	return cq->uar ? 0 : -EINVAL;
}

static void put_uar(struct mlx5_ib_cq *cq)
{
	if (cq->uar)
		mlx5_ib_put_uar(cq->uar);
}

static int create_cq_cmd(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq,
			 const struct mlx5_ib_cqc_attr *attr, u32 npas)
{
	size_t inlen = MLX5_ST_SZ_BYTES(create_cq_in) + sizeof(__be64) * npas;

	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	mlx5_ib_fill_cqc(MLX5_ADDR_OF(create_cq_in, in, cq_context), attr);
	mlx5_ib_populate_pas(cq->umem, 1UL << attr->geo.page_shift,
			     MLX5_ADDR_OF(create_cq_in, in, pas));
	cq->mcq.comp = mlx5_add_cq_to_tasklet;
	cq->mcq.tasklet_ctx.comp = cq_comp;
	cq->mcq.event = cq_event;
	return mlx5_fw_create_cq(dev, MLX5_IB_KERNEL_UID, &cq->mcq, in, inlen);
}

/* Create the CQ at the device and tell the user its number. */
static int create_and_respond(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq,
			      const struct mlx5_ib_cqc_attr *attr, u32 npas,
			      struct ib_udata *udata)
{
	struct mlx5_ib_create_cq_resp resp = {};
	int err;

	err = create_cq_cmd(dev, cq, attr, npas);
	if (err)
		return err;
	resp.cqn = cq->mcq.cqn;
	err = ib_respond_udata(udata, resp);
	if (err)
		mlx5_fw_destroy_cq(dev, &cq->mcq);
	return err;
}

/* Pin what the CQ needs of the process, and create it. */
static int pin_and_create(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq,
			  const struct mlx5_ib_create_cq *ucmd, struct mlx5_ib_cqc_attr *cqc,
			  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	size_t size = (size_t)ucmd->cqe_size << cqc->log_cq_size;
	u32 npas;
	int err;

	struct ib_umem *umem __free(ib_umem) =
		ib_umem_get_cq_buf_or_va(&dev->ib_dev, attrs, ucmd->buf_addr, size,
					 IB_ACCESS_LOCAL_WRITE);

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = mlx5_ib_umem_geometry(umem, &cqc->geo, &npas);
	if (err)
		return err;
	err = mlx5_ib_db_map_user(ctx, ucmd->db_addr, &cq->db);
	if (err)
		return err;

	cqc->dbr_addr = cq->db.dma;
	cq->umem = umem;
	err = create_and_respond(dev, cq, cqc, npas, udata);
	if (err) {
		mlx5_ib_db_unmap_user(ctx, &cq->db);
		return err;
	}
	retain_and_null_ptr(umem);
	return 0;
}

/**
 * mlx5_ib_create_user_cq - create a completion queue for a user
 * @ibcq: the object, zeroed but for what ib_core sets
 * @attr: entries, completion vector, flags
 * @attrs: the call, with struct mlx5_ib_create_cq as driver data
 *
 * Implements ibv_create_cq(3) with CREATE_CQ. May sleep.
 *
 * Return: 0; -EINVAL for a request that means nothing or names a UAR that is
 * not the user's; -EOPNOTSUPP for a feature that is not there; -ENOMEM beyond
 * RLIMIT_MEMLOCK; -EFAULT for a buffer the process does not have; or the errno
 * of a firmware refusal.
 */
int mlx5_ib_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_create_cq ucmd = {};
	struct mlx5_ib_cqc_attr cqc = {};
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	struct mlx5_ib_cq_caps caps;
	int entries, eqn, err;

	err = ib_copy_validate_udata_in(udata, ucmd, flags);
	if (err)
		return err;
	get_cq_caps(dev->mdev, &caps);
	err = mlx5_ib_cq_parse_create(&ucmd, attr->flags, &caps, &cqc);
	if (err)
		return err;
	entries = mlx5_ib_cq_entries(attr->cqe, caps.log_max_cq_sz);
	if (entries < 0)
		return entries;
	err = mlx5_ib_comp_eqn(dev, attr->comp_vector, &eqn);
	if (err)
		return err;
	err = take_uar(ctx, cq, attrs, &ucmd, &cqc.uar_page);
	if (err)
		return err;

	mutex_init(&cq->resize_lock);
	cq->cqe_size = ucmd.cqe_size;
	cq->cqe_stride = cqc.cqe_stride;
	cq->real_time = ucmd.flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;
	ibcq->cqe = entries - 1;
	cqc.log_cq_size = ilog2(entries);
	cqc.eqn = eqn;
	err = pin_and_create(dev, cq, &ucmd, &cqc, attrs);
	if (err)
		put_uar(cq);
	return err;
}

static int resize_cmd(struct mlx5_ib_dev *dev, struct mlx5_ib_cq *cq, struct ib_umem *umem,
		      int entries)
{
	struct mlx5_ib_buf_geometry geo;
	size_t inlen;
	u32 npas;
	int err;

	err = mlx5_ib_umem_geometry(umem, &geo, &npas);
	if (err)
		return err;
	inlen = MLX5_ST_SZ_BYTES(modify_cq_in) + sizeof(__be64) * npas;
	void *in __free(kvfree) = kvzalloc(inlen, GFP_KERNEL);

	if (!in)
		return -ENOMEM;
	MLX5_SET(modify_cq_in, in, op_mod, MLX5_CQ_OPMOD_RESIZE);
	MLX5_SET(modify_cq_in, in,
		 modify_field_select_resize_field_select.resize_field_select.resize_field_select,
		 MLX5_MODIFY_CQ_MASK_LOG_SIZE | MLX5_MODIFY_CQ_MASK_PG_OFFSET |
		 MLX5_MODIFY_CQ_MASK_PG_SIZE);
	mlx5_ib_fill_cqc_resize(MLX5_ADDR_OF(modify_cq_in, in, cq_context), ilog2(entries),
				cq->cqe_stride, &geo);
	mlx5_ib_populate_pas(umem, 1UL << geo.page_shift, MLX5_ADDR_OF(modify_cq_in, in, pas));
	return mlx5_fw_modify_cq(dev, MLX5_IB_KERNEL_UID, cq->mcq.cqn, in, inlen);
}

/**
 * mlx5_ib_resize_user_cq - move a completion queue to another buffer
 * @ibcq: the queue
 * @cqe: entries asked for
 * @udata: struct mlx5_ib_resize_cq
 *
 * Implements ibv_resize_cq(3) with MODIFY_CQ. The device writes a resize CQE
 * as the last one to the old buffer, up to which the library copies. May sleep.
 *
 * Return: 0; -EINVAL for a request that means nothing, or fewer entries than
 * there are completions; -EOPNOTSUPP if the device cannot resize; -ENOMEM
 * beyond RLIMIT_MEMLOCK; or the errno of a firmware refusal. After an error the
 * queue is as it was.
 */
int mlx5_ib_resize_user_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	struct mlx5_ib_resize_cq ucmd = {};
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int entries, err;

	if (!MLX5_CAP_GEN(dev->mdev, cq_resize))
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in(udata, ucmd, reserved1);
	if (err)
		return err;
	if (ucmd.reserved0 || ucmd.reserved1 || ucmd.cqe_size != cq->cqe_size)
		return -EINVAL;
	entries = mlx5_ib_cq_entries(cqe, MLX5_CAP_GEN(dev->mdev, log_max_cq_sz));
	if (entries < 0)
		return entries;

	guard(mutex)(&cq->resize_lock);
	if (entries == ibcq->cqe + 1)
		return 0;
	struct ib_umem *umem __free(ib_umem) =
		mlx5_ib_umem_get(dev, ucmd.buf_addr, (size_t)entries * cq->cqe_size,
				 IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = resize_cmd(dev, cq, umem, entries);
	if (err)
		return err;

	swap(cq->umem, umem);
	ibcq->cqe = entries - 1;
	return 0;
}

/**
 * mlx5_ib_modify_cq - moderate the events of a completion queue
 * @ibcq: the queue
 * @cq_count: completions after which an event is due, 0 for each
 * @cq_period: microseconds after which an event is due, 0 for at once
 *
 * Implements ibv_modify_cq(3) with MODIFY_CQ. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if the device cannot; -EINVAL for a period its field
 * cannot hold; or the errno of a firmware refusal.
 */
int mlx5_ib_modify_cq(struct ib_cq *ibcq, u16 cq_count, u16 cq_period)
{
	struct mlx5_ib_dev *dev = to_mdev(ibcq->device);
	u32 in[MLX5_ST_SZ_DW(modify_cq_in)] = {};
	void *cqc = MLX5_ADDR_OF(modify_cq_in, in, cq_context);

	if (!MLX5_CAP_GEN(dev->mdev, cq_moderation))
		return -EOPNOTSUPP;
	if (cq_period > MLX5_MAX_CQ_PERIOD)
		return -EINVAL;

	MLX5_SET(modify_cq_in, in,
		 modify_field_select_resize_field_select.modify_field_select.modify_field_select,
		 MLX5_CQ_MODIFY_PERIOD | MLX5_CQ_MODIFY_COUNT);
	MLX5_SET(cqc, cqc, cq_period, cq_period);
	MLX5_SET(cqc, cqc, cq_max_count, cq_count);
	return mlx5_fw_modify_cq(dev, MLX5_IB_KERNEL_UID, to_mcq(ibcq)->mcq.cqn, in, sizeof(in));
}

/**
 * mlx5_ib_destroy_cq - destroy a completion queue
 * @ibcq: the queue
 * @udata: of the user whose queue it is
 *
 * When it returns no handler runs any more. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not destroy it; then buffer
 * and doorbell record stay pinned.
 */
int mlx5_ib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								  ibucontext);
	struct mlx5_ib_cq *cq = to_mcq(ibcq);
	int err;

	err = mlx5_fw_destroy_cq(to_mdev(ibcq->device), &cq->mcq);
	if (err)
		return err;
	mlx5_ib_db_unmap_user(ctx, &cq->db);
	ib_umem_release(cq->umem);
	put_uar(cq);
	return 0;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(mlx5_ib_cq_create, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
			     UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX,
						UVERBS_ATTR_TYPE(u32), UA_OPTIONAL));

const struct uapi_definition mlx5_ib_cq_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &mlx5_ib_cq_create),
	{},
};
