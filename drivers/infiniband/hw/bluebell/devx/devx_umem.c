// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a process registers for its DEVX objects (a umem), and the methods of the ioctl
 * object MLX5_IB_OBJECT_DEVX_UMEM; see mlx5dv_devx_umem_reg(3). The device keeps the list of the
 * umem's pages. Where a command of the kernel has DMA addresses, a command of the process has the
 * number of the umem.
 */

#include <kunit/visibility.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_pages.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/umem.h"

/* Flags that are accepted. The device may always read, so IB_ACCESS_REMOTE_READ changes nothing. */
#define UMEM_ACCESS \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_RELAXED_ORDERING)

/* CREATE_UMEM of at most FEW_PAGES (doorbell records, short queues) is built on the stack. */
#define FEW_PAGES	8
#define FEW_BYTES	(MLX5_ST_SZ_BYTES(create_umem_in) + FEW_PAGES * MLX5_ST_SZ_BYTES(mtt))

static int umem_send_create(struct mlx5_ib_devx_umem *obj, unsigned long page_size)
{
	u64 few[FEW_BYTES / sizeof(u64)];
	size_t num = ib_umem_num_dma_blocks(obj->umem, page_size);
	int inlen;

	if (num > MLX5_IB_MAX_UMEM_PAGES)
		return refuse(obj->dev->mdev, -EINVAL,
			      "umem of %zu pages of %lu bytes, at most %zu pages", num, page_size,
			      MLX5_IB_MAX_UMEM_PAGES);
	inlen = MLX5_ST_SZ_BYTES(create_umem_in) + num * MLX5_ST_SZ_BYTES(mtt);

	void *many __free(kvfree) = NULL, *in = few;

	if (inlen > sizeof(few)) {
		many = kvmalloc(inlen, GFP_KERNEL_ACCOUNT);
		if (!many)
			return -ENOMEM;
		in = many;
	}
	memset(in, 0, MLX5_ST_SZ_BYTES(create_umem_in));
	mlx5_ib_fill_umem(in, obj->umem, page_size);
	return mlx5_ib_fw_create_object(obj->dev, obj->uid, MLX5_CMD_OP_CREATE_UMEM, in, inlen,
					&obj->id);
}

/*
 * Count the umem against its user's limits, and also the length of a umem over a dma-buf, because
 * RLIMIT_MEMLOCK does not limit the pages of a dma-buf.
 */
static int umem_take_shares(struct mlx5_ib_devx_umem *obj)
{
	int err = mlx5_ib_share_take(obj->context, MLX5_IB_SHARE_UMEM, &obj->share);

	if (!err && obj->umem->is_dmabuf)
		err = mlx5_ib_share_take_length(obj->context, obj->umem->length, &obj->paged);
	if (err)
		mlx5_ib_share_give(&obj->share);
	return err;
}

/**
 * mlx5_ib_devx_create_umem - CREATE_UMEM: make memory of a process usable by its DEVX objects
 * @context: context of the process; has a user id
 * @umem: the memory, pinned; belongs to the driver from now on if the function succeeds or returns
 *	-ETIMEDOUT; otherwise the caller releases it
 * @pgsz_bitmap: sizes of pages, in bytes, that the process accepts
 *
 * The pages are as large as mlx5_ib_umem_best_page() allows, which makes their list short. May
 * sleep.
 *
 * Return: the umem or an ERR_PTR: -EINVAL if the memory does not consist of pages of a size that
 * the process accepts, or has too many pages for a command; -ENOMEM, also if the user has as many
 * umems, or as much memory of dma-bufs, as a user can have; -ETIMEDOUT; or the errno of a firmware
 * refusal.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_devx_umem *mlx5_ib_devx_create_umem(struct mlx5_ib_ucontext *context,
						   struct ib_umem *umem, u64 pgsz_bitmap)
{
	struct mlx5_ib_devx_umem *obj __free(kfree) = kzalloc_obj(*obj, GFP_KERNEL_ACCOUNT);
	unsigned long page_size;
	int err;

	if (!obj)
		return ERR_PTR(-ENOMEM);
	page_size = mlx5_ib_umem_best_page(umem, pgsz_bitmap);
	if (!page_size)
		return ERR_PTR(refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
				      "umem: no page size in the mask %#llx fits the memory",
				      pgsz_bitmap));
	WARN_ON_ONCE(!context->uid);
	obj->dev = to_mdev(context->ibucontext.device);
	obj->uid = context->uid;
	obj->context = context;
	obj->umem = umem;
	err = umem_take_shares(obj);
	if (err)
		return ERR_PTR(err);
	err = umem_send_create(obj, page_size);
	if (err)
		mlx5_ib_share_undo(&obj->paged, err);
	if (err == -ETIMEDOUT)
		mlx5_ib_orphan_keep_lost(obj->dev, "a umem",
					 &(struct mlx5_ib_queue_mem){
						.context = context, .buf.umem = umem,
						.share = obj->share,
					 });
	else if (err)
		mlx5_ib_share_give(&obj->share);
	return err ? ERR_PTR(err) : no_free_ptr(obj);
}

/**
 * mlx5_ib_devx_destroy_umem - DESTROY_UMEM, and unpin the memory
 * @obj: returned by mlx5_ib_devx_create_umem()
 * @last: the last attempt: if firmware refuses to destroy the umem, for example because an object
 *	uses it, the umem becomes an orphan (orphan.c), and its memory stays pinned
 *
 * May sleep.
 *
 * Return: 0, and then @obj is freed; or, without @last, a negative errno, after which the umem
 * still exists, or may exist if a command was not answered.
 */
VISIBLE_IF_KUNIT int mlx5_ib_devx_destroy_umem(struct mlx5_ib_devx_umem *obj, bool last)
{
	struct mlx5_ib_queue_mem mem = {
		.context = obj->context, .buf.umem = obj->umem, .share = obj->share,
		.second = obj->paged,
	};
	u32 in[MLX5_ST_SZ_DW(destroy_umem_in)];
	int err;

	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DESTROY_UMEM, obj->id);
	err = mlx5_ib_fw_send_destroy(obj->dev, obj->uid, in, sizeof(in), &obj->attempt);
	if (err && !last)
		return err;
	if (err)
		mlx5_ib_orphan_adopt_quietly(obj->dev, obj->uid, in, sizeof(in), obj->id,
					     &obj->attempt, "umem", &mem);
	else
		mlx5_ib_queue_mem_unmap_user(&mem);
	kfree(obj);
	return 0;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int devx_umem_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			     struct uverbs_attr_bundle *attrs)
{
	return mlx5_ib_devx_destroy_umem(uobj->object, why != RDMA_REMOVE_DESTROY);
}

struct umem_request {
	u64 addr;
	u64 len;
	u64 pgsz_bitmap;
	u32 access;
	bool is_dmabuf;
	int fd;
};

/*
 * Read which page sizes the process accepts for a umem. The device requires that a key over a umem
 * has the same offset into a page as the umem itself. A program takes this offset from the virtual
 * address of the memory; the virtual address agrees with the DMA address only in the bits below
 * PAGE_SIZE. So if the program names no page sizes, a umem has pages of PAGE_SIZE.
 */
static int umem_read_pages(struct mlx5_core_dev *mdev, struct uverbs_attr_bundle *attrs,
			   struct umem_request *req)
{
	int err = 0;

	req->pgsz_bitmap = PAGE_SIZE;
	if (uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP))
		err = uverbs_copy_from(&req->pgsz_bitmap, attrs,
				       MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP);
	if (err)
		return err;
	return mlx5_ib_umem_page_sizes(req->pgsz_bitmap) ? 0 :
	       refuse(mdev, -EINVAL, "umem: mask of page sizes %#llx, supported: %#lx",
		      req->pgsz_bitmap, mlx5_ib_umem_page_sizes(U64_MAX));
}

static int umem_read_request(struct ib_device *ibdev, struct uverbs_attr_bundle *attrs,
			     struct umem_request *req)
{
	int err;

	err = uverbs_copy_from(&req->addr, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	if (err)
		return err;
	err = uverbs_copy_from(&req->len, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	if (err)
		return err;
	if (!req->len)
		return refuse(to_mdev(ibdev)->mdev, -EINVAL, "umem of no bytes");
	err = uverbs_get_flags32(&req->access, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
				 UMEM_ACCESS);
	if (err)
		return err;
	err = ib_check_mr_access(ibdev, req->access);
	if (err)
		return err;
	req->is_dmabuf = uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
	if (req->is_dmabuf)
		err = uverbs_get_raw_fd(&req->fd, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
	return err ?: umem_read_pages(to_mdev(ibdev)->mdev, attrs, req);
}

static struct ib_umem *umem_pin(struct mlx5_ib_dev *dev, const struct umem_request *req)
{
	struct ib_umem_dmabuf *umem_dmabuf;

	if (!req->is_dmabuf)
		return mlx5_ib_umem_get(dev, req->addr, req->len, req->access);
	if (overflows_type(req->addr, unsigned long) || overflows_type(req->len, size_t))
		return ERR_PTR(refuse(dev->mdev, -EOVERFLOW,
				      "umem of %llu bytes at offset %#llx of a dma-buf: exceeds 32 bits",
				      req->len, req->addr));
	umem_dmabuf = ib_umem_dmabuf_get_pinned(&dev->ib_dev, req->addr, req->len, req->fd,
						req->access);
	return IS_ERR(umem_dmabuf) ? ERR_CAST(umem_dmabuf) : &umem_dmabuf->umem;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_UMEM_REG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	struct mlx5_ib_ucontext *context = to_mucontext(uobj->context);
	struct mlx5_ib_devx_umem *obj;
	struct umem_request req = {};
	struct ib_umem *umem;
	int err;

	/* Only commands with a user id can name a umem. */
	if (!context->uid)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "a umem needs a device opened with MLX5_IB_ALLOC_UCTX_DEVX");
	err = umem_read_request(context->ibucontext.device, attrs, &req);
	if (err)
		return err;
	umem = umem_pin(to_mdev(context->ibucontext.device), &req);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	obj = mlx5_ib_devx_create_umem(context, umem, req.pgsz_bitmap);
	if (IS_ERR(obj)) {
		if (PTR_ERR(obj) != -ETIMEDOUT)
			ib_umem_release(umem);
		return PTR_ERR(obj);
	}
	uobj->object = obj;
	/* If the method fails after this call, ib_core destroys the umem. */
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &obj->id, sizeof(obj->id));
}

#define IN_U64(attr, presence)	UVERBS_ATTR_PTR_IN(attr, UVERBS_ATTR_TYPE(u64), presence)

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE,
					    MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    IN_U64(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, UA_MANDATORY),
			    IN_U64(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, UA_MANDATORY),
			    UVERBS_ATTR_RAW_FD(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, UA_OPTIONAL),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
						 enum ib_access_flags),
			    IN_U64(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_UMEM_DEREG,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE,
						    MLX5_IB_OBJECT_DEVX_UMEM,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_TYPE_ALLOC_IDR(devx_umem_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_DEREG));

const struct uapi_definition mlx5_ib_devx_umem_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_UMEM),
	{},
};
