// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of users: pin the memory, and create a key over it. Memory windows: keys that a
 * process binds to regions by work requests on its queue pairs.
 */

#include <linux/mlx5/driver.h>
#include <linux/sched.h>
#include <rdma/ib_umem.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/umem.h"
#include "odp/odp.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

/**
 * mlx5_ib_destroy_mr_key - destroy the key of a region
 * @mr: the region; nothing is done if its key has been destroyed
 *
 * May sleep.
 *
 * Return: 0; -EBUSY if a window is bound to the region; or the errno of a failed command. After
 * an error the key still exists, or may have been destroyed by a command that was not answered.
 */
int mlx5_ib_destroy_mr_key(struct mlx5_ib_mr *mr)
{
	int err = mlx5_ib_mkey_destroy(to_mdev(mr->ibmr.device), &mr->mkey);

	/* The usual reason for -EINVAL of firmware is that windows are bound to the key. */
	return err == -EINVAL && mr->mkey.class < 0 ?
		       refuse(to_mdev(mr->ibmr.device)->mdev, -EBUSY,
			      "cannot destroy region 0x%x, a window may be bound to it",
			      mr->mkey.key) : err;
}

/**
 * mlx5_ib_mr_waits_for_windows - whether the end of its process leaves a region for a later attempt
 * @mr: the region, whose process has closed the device
 *
 * ib_core destroys the objects of the process in the reverse order of their creation, and begins
 * again as long as an attempt destroys anything. Windows that are left are destroyed in this
 * attempt, because mlx5_ib_dealloc_mw() does not fail then. So a region that firmware does not
 * destroy because a window is bound to it can wait for the next attempt. The region need not
 * have IB_ACCESS_MW_BIND: the device does not know this flag.
 *
 * Return: whether a window of the process is left.
 */
bool mlx5_ib_mr_waits_for_windows(const struct mlx5_ib_mr *mr)
{
	return atomic_read(&mr->closing->windows);
}

/**
 * mlx5_ib_free_mr - destroy the key of a region, then release its memory
 * @mr: the region; freed if the function returns 0
 *
 * May sleep.
 *
 * Return: 0; or the errno of @mr->ops->destroy_key, see mlx5_ib_destroy_mr_key(): the region then
 * keeps its memory, because the device may still reach it. If the process has closed the device:
 * 0, or -EBUSY if windows of the process are left, one of which may be bound to the region. If
 * firmware refuses to destroy the key then, and no window is left, an orphan (orphan.c) takes over
 * the key and the memory.
 */
int mlx5_ib_free_mr(struct mlx5_ib_mr *mr)
{
	int err = mr->ops->destroy_key(mr);
	struct mlx5_ib_queue_mem mem = { .share = mr->share, .memic = mr->memic };

	if (err && !mr->closing)
		return err;
	if (err == -EBUSY && mlx5_ib_mr_waits_for_windows(mr))
		return err;
	if (!mr->leak_umem)
		mem.buf.umem = mr->umem;
	if (err) {
		mem.context = mr->closing;
		mlx5_ib_mkey_orphan(to_mdev(mr->ibmr.device), &mr->mkey, &mem);
	}
	mlx5_ib_queue_mem_unmap_user(&mem);
	atomic_sub(mr->num_pages, &to_mdev(mr->ibmr.device)->mdev->priv.reg_pages);
	kfree(mr);
	return 0;
}

static const struct mlx5_ib_mr_ops pinned_mr_ops = {
	.kind = "pinned",
	.dereg = mlx5_ib_free_mr,
	.destroy_key = mlx5_ib_destroy_mr_key,
};

/**
 * mlx5_ib_create_mr - create a region over memory that is pinned
 * @pd: protection domain
 * @umem: the memory; if the function succeeds, the memory is released with the region
 * @iova: first address of the region
 * @length: bytes
 * @access: enum ib_access_flags, checked by mlx5_ib_check_mr()
 *
 * May sleep.
 *
 * Return: the region or an ERR_PTR, as mlx5_ib_mkey_create_pinned().
 */
struct mlx5_ib_mr *mlx5_ib_create_mr(struct ib_pd *pd, struct ib_umem *umem, u64 iova, u64 length,
				     u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_mkc_attr attr = {
		.access = access,
		.pdn = to_mpd(pd)->pdn,
		.iova = iova,
		.length = length,
	};
	struct mlx5_ib_mr *mr __free(kfree) = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mlx5_ib_mkey_create_pinned(dev, mlx5_ib_pd_context(pd), &mr->mkey, umem, &attr);
	if (err)
		return ERR_PTR(err);

	mr->ops = &pinned_mr_ops;
	mr->umem = umem;
	mr->num_pages = ib_umem_num_pages(umem);
	atomic_add(mr->num_pages, &dev->mdev->priv.reg_pages);
	mr->access = access;
	mr->ibmr.device = pd->device;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->ibmr.page_size = 1U << attr.page_shift;
	mlx5_ib_publish_mr(dev, mr, MLX5_IB_MKEY_MR);
	return_ptr(mr);
}

static struct ib_mr *mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err = mlx5_ib_check_pd(pd);
	struct ib_umem *umem;
	struct mlx5_ib_mr *mr;

	if (err)
		return ERR_PTR(err);
	if (access & IB_ACCESS_ON_DEMAND)
		return mlx5_ib_odp_reg(pd, start, length, iova, access);
	err = mlx5_ib_check_mr(length, iova, access, &dev->caps);
	if (err)
		return ERR_PTR(err);
	umem = mlx5_ib_umem_get(dev, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = mlx5_ib_create_mr(pd, umem, iova, length, access);
	if (IS_ERR(mr)) {
		mlx5_ib_undo_pin(umem, PTR_ERR(mr));
		return ERR_CAST(mr);
	}
	return &mr->ibmr;
}

/**
 * mlx5_ib_reg_user_mr - register memory of the calling process
 * @pd: protection domain
 * @start: address in the process
 * @length: bytes
 * @iova: first address of the region in WQEs and on the wire, with the page offset of @start
 * @access: enum ib_access_flags
 * @dmah: not supported
 * @udata: empty
 *
 * Implements ibv_reg_mr(3) and ibv_reg_mr_iova(3) by a UMR request that fills a free key, or with
 * CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits). May sleep.
 *
 * Return: the region, or an ERR_PTR: -EINVAL for an empty, wrapping or too long range; -EOPNOTSUPP
 * for access flags that this driver does not support, a DMA handle, or driver data; -EIO as
 * mlx5_ib_check_pd(); or as mlx5_ib_umem_get() and mlx5_ib_create_mr(), or with
 * IB_ACCESS_ON_DEMAND as mlx5_ib_odp_reg().
 */
struct ib_mr *mlx5_ib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				  struct ib_dmah *dmah, struct ib_udata *udata)
{
	int err;

	if (dmah)
		return ERR_PTR(refuse(to_mdev(pd->device)->mdev, -EOPNOTSUPP,
				      "MR with a DMA handle, which the driver does not support"));
	err = ib_no_udata_io(udata);
	return err ? ERR_PTR(err) : mr_reg(pd, start, length, iova, access);
}

/*
 * Register the memory of @old again: as a paged region, if @access asks for one; otherwise pin it
 * for writing, because @old has pinned it for reading only. Only memory of the current process can
 * be registered, so the function fails if another process has registered @old, and for a region
 * over a dma-buf.
 */
static struct ib_mr *mr_repin(struct ib_pd *pd, struct mlx5_ib_mr *old, u32 access)
{
	struct ib_umem *umem = old->umem;

	if (umem->owning_mm != current->mm)
		return ERR_PTR(refuse(to_mdev(pd->device)->mdev, -EINVAL,
				      "rereg of memory of another process, or of a dma-buf"));
	return mr_reg(pd, umem->address, umem->length, old->ibmr.iova, access);
}

/*
 * Change the rights and the domain of a region's key by a UMR request; the key keeps its number.
 * Returns false if UMR cannot make the change, or fails.
 */
static bool mr_change_in_place(struct mlx5_ib_mr *mr, u32 access, u32 pdn)
{
	struct ib_umem *umem = mr->umem;
	int err;

	/* The exporter of a dma-buf revokes the key under this lock. */
	if (umem->is_dmabuf)
		ib_umem_dmabuf_revoke_lock(to_ib_umem_dmabuf(umem));
	err = mlx5_ib_mkey_change(to_mdev(mr->ibmr.device), &mr->mkey, mr->access, access, pdn);
	if (umem->is_dmabuf)
		ib_umem_dmabuf_revoke_unlock(to_ib_umem_dmabuf(umem));
	if (err)
		return false;
	mr->access = access;
	WRITE_ONCE(mr->pdn, pdn);
	return true;
}

static struct ib_mr *mr_change_pinned(struct mlx5_ib_mr *old, u32 access, struct ib_pd *pd)
{
	struct ib_mr *ibmr = &old->ibmr;
	struct mlx5_ib_mr *mr;
	int err;

	/* ib_core refuses to change a region over device memory. */
	WARN_ON_ONCE(!old->umem);
	err = mlx5_ib_check_pd(pd) ?:
	      mlx5_ib_check_mr(ibmr->length, ibmr->iova, access, &to_mdev(ibmr->device)->caps);
	if (err)
		return ERR_PTR(err);
	if (ib_access_writable(access) && !old->umem->writable)
		return mr_repin(pd, old, access);
	if (mr_change_in_place(old, access, to_mpd(pd)->pdn))
		return NULL;
	/* The exporter of a dma-buf revokes one key only, so the memory cannot get a second key. */
	if (old->umem->is_dmabuf)
		return ERR_PTR(refuse(to_mdev(pd->device)->mdev, -EOPNOTSUPP,
				      "rereg of a dma-buf MR: UMR has not made the change"));

	mr = mlx5_ib_create_mr(pd, old->umem, ibmr->iova, ibmr->length, access);
	if (mr == ERR_PTR(-ENOTRECOVERABLE))
		old->leak_umem = true;
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ibmr;
}

/* Change a region. Returns the region that replaces @old, or NULL if @old itself has changed. */
static struct ib_mr *mr_change(struct mlx5_ib_mr *old, int flags, u64 start, u64 length, u64 iova,
			       u32 access, struct ib_pd *pd)
{
	int err;

	if (flags & IB_MR_REREG_TRANS)
		return mr_reg(pd, start, length, iova, access);
	if (old->ops->range) {
		err = old->ops->range(old, &start, &length);
		return err ? ERR_PTR(err) : mr_reg(pd, start, length, old->ibmr.iova, access);
	}
	if (access & IB_ACCESS_ON_DEMAND)
		return mr_repin(pd, old, access);
	return mr_change_pinned(old, access, pd);
}

/*
 * Destroy the key of @old, which @mr replaces. This is done here, where @old can stay if firmware
 * refuses, because ib_core ignores what the deregistration of @old returns. If both regions are
 * over the same memory, only the region that stays will release the memory. Returns @mr; or, if
 * @old stays, an ERR_PTR after an attempt to deregister @mr.
 */
static struct ib_mr *mr_replace(struct mlx5_ib_mr *old, struct mlx5_ib_mr *mr)
{
	bool shared = mr->umem && mr->umem == old->umem;
	int err = old->ops->destroy_key(old);

	if (!err) {
		if (shared)
			old->umem = NULL;
		return &mr->ibmr;
	}
	if (shared)
		mr->umem = NULL;
	if (mlx5_ib_dereg_mr(&mr->ibmr, NULL))
		old->leak_umem |= shared;
	return ERR_PTR(err);
}

/**
 * mlx5_ib_rereg_user_mr - change the memory, the access or the PD of a region
 * @ibmr: the region
 * @flags: IB_MR_REREG_TRANS, IB_MR_REREG_PD and IB_MR_REREG_ACCESS, any of them
 * @start: new address, with IB_MR_REREG_TRANS
 * @length: new length in bytes, with IB_MR_REREG_TRANS
 * @iova: new first address of the region, with IB_MR_REREG_TRANS
 * @access: new enum ib_access_flags, with IB_MR_REREG_ACCESS
 * @pd: new protection domain, or the old one
 * @udata: empty
 *
 * If UMR can change the access and the domain, the key keeps its number, and peers can go on using
 * it. Otherwise a region with a new key replaces @ibmr, and ib_core deregisters @ibmr. Unless @ibmr
 * is paged, this function destroys the key of @ibmr first. May sleep.
 *
 * Return: NULL if @ibmr has been changed; the region that replaces @ibmr; or an ERR_PTR, and then
 * @ibmr stays: as mlx5_ib_reg_user_mr(); -EINVAL if memory of another process or of a dma-buf would
 * have to be registered again; -EOPNOTSUPP for a region over a dma-buf, if UMR does not make the
 * change; -EBUSY if @ibmr would have to be replaced while a window is bound to it; or the errno of
 * the failed attempt to destroy the key of @ibmr.
 */
struct ib_mr *mlx5_ib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length,
				    u64 iova, int access, struct ib_pd *pd,
				    struct ib_udata *udata)
{
	struct mlx5_ib_mr *old = to_mmr(ibmr);
	struct ib_mr *mr;
	int err = ib_no_udata_io(udata);

	if (err)
		return ERR_PTR(err);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	mr = mr_change(old, flags, start, length, iova, access, pd);
	if (IS_ERR_OR_NULL(mr) || !old->ops->destroy_key)
		return mr;
	return mr_replace(old, to_mmr(mr));
}

/**
 * mlx5_ib_dereg_mr - deregister a region
 * @ibmr: the region; freed if the function returns 0
 * @udata: data of the user's call; NULL for a region of a kernel consumer, and for a new region of
 *	mlx5_ib_rereg_user_mr() that cannot replace the old region
 *
 * The key is destroyed before the memory is unpinned. May sleep.
 *
 * Return: 0 (always for a region of fast_mr.c); -EBUSY if a window is bound to the region; or the
 * errno of the failed attempt to destroy a key. After an error the region can be deregistered
 * again. If the process has closed the device: as mlx5_ib_free_mr().
 */
int mlx5_ib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *ctx = rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext,
								 ibucontext);
	struct mlx5_ib_mr *mr = to_mmr(ibmr);

	/*
	 * Do not use ibmr->uobject. In a region that has replaced another one by re-registration,
	 * the pointer is to the uobject of the replaced region, and ib_core has freed this uobject.
	 * In a region of a kernel consumer, a list entry has the place of the pointer.
	 */
	mr->closing = ctx && ctx->closing ? ctx : NULL;
	return mr->ops->dereg(mr);
}

/**
 * mlx5_ib_destroy_mr_early - destroy the key of a region of a process that has closed the device
 * @ibmr: the region
 * @windows: keys of windows of the process still exist, and may be bound to the region
 * @batch: the batch that the key becomes part of
 *
 * Once the batch has destroyed the key, mlx5_ib_dereg_mr() unpins the memory without waiting for
 * the device. Paged regions and regions over dma-bufs are left to mlx5_ib_dereg_mr(), because their
 * keys may be revoked at any time; so are regions over device memory, and regions that windows may
 * be bound to. May sleep.
 */
void mlx5_ib_destroy_mr_early(struct ib_mr *ibmr, bool windows, struct mlx5_ib_mkey_batch *batch)
{
	struct mlx5_ib_mr *mr = to_mmr(ibmr);

	if (mr->ops == &pinned_mr_ops && !(windows && mr->access & IB_ACCESS_MW_BIND))
		mlx5_ib_mkey_destroy_early(batch, &mr->mkey);
}

/* ---- memory windows ---------------------------------------------------------------- */

/*
 * Copy and check the request of the library. A request that is not empty says how many pieces of
 * memory (KLMs) the window can be bound to.
 */
static int mw_copy_request(struct mlx5_core_dev *mdev, struct ib_udata *udata,
			   struct mlx5_ib_alloc_mw *req)
{
	int err;

	if (udata->inlen) {
		err = ib_copy_validate_udata_in_cm(udata, *req, reserved2, 0);
		if (err)
			return err;
	}
	if (req->reserved1 || req->reserved2)
		return refuse(mdev, -EOPNOTSUPP,
			      "memory window with reserved %#x and %#x, must be 0", req->reserved1,
			      req->reserved2);
	return ib_respond_empty_udata(udata);
}

static void count_window(struct ib_mw *ibmw, int n)
{
	struct mlx5_ib_ucontext *context = mlx5_ib_pd_context(ibmw->pd);

	if (context)
		atomic_add(n, &context->windows);
}

/**
 * mlx5_ib_alloc_mw - allocate a memory window
 * @ibmw: the window, zeroed but for what ib_core sets: type and domain
 * @udata: empty, or struct mlx5_ib_alloc_mw
 *
 * Implements ibv_alloc_mw(3) with CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits): a free key, to
 * which work requests on queue pairs of the domain may bind memory. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for an unknown flag or field, or a device without windows; -EINVAL for a
 * request that is too short, or as mlx5_ib_check_klms(); -EFAULT; -ENOMEM, also if the user has as
 * many keys as a user can have; -EIO as mlx5_ib_check_pd(); or the errno of a failed command.
 */
int mlx5_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	struct mlx5_ib_dev *dev = to_mdev(ibmw->device);
	struct mlx5_ib_mw *mw = to_mmw(ibmw);
	struct mlx5_ib_alloc_mw req = {};
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, imaicl))
		return refuse(dev->mdev, -EOPNOTSUPP, "the device has no memory windows (imaicl)");
	err = mlx5_ib_check_pd(ibmw->pd) ?: mw_copy_request(dev->mdev, udata, &req) ?:
	      mlx5_ib_check_klms(req.num_klms, &dev->caps);
	if (err)
		return err;
	mlx5_ib_fill_mw_mkey(in, to_mpd(ibmw->pd)->pdn, req.num_klms,
			     ibmw->type == IB_MW_TYPE_2);
	err = mlx5_ib_mkey_create(dev, mlx5_ib_pd_context(ibmw->pd), &mw->mkey, in, sizeof(in));
	if (err)
		return err;
	count_window(ibmw, 1);
	ibmw->rkey = mw->mkey.key;
	mlx5_ib_mkey_publish(dev, &mw->mkey, MLX5_IB_MKEY_MW);
	return 0;
}

/**
 * mlx5_ib_dealloc_mw - deallocate a memory window
 * @ibmw: the window, bound or not
 *
 * Once the key has been destroyed, the window gives access to nothing. May sleep.
 *
 * Return: 0; or the errno of a failed command, after which the window can be deallocated again.
 * Always 0 if the process has closed the device: a key that firmware then refuses to destroy
 * becomes an orphan (orphan.c).
 */
int mlx5_ib_dealloc_mw(struct ib_mw *ibmw)
{
	struct mlx5_ib_dev *dev = to_mdev(ibmw->device);
	struct mlx5_ib_mw *mw = to_mmw(ibmw);
	int err = mlx5_ib_mkey_destroy(dev, &mw->mkey);

	if (err && mlx5_ib_is_closing(ibmw->uobject)) {
		struct mlx5_ib_queue_mem mem = { .context = to_mucontext(ibmw->uobject->context) };

		mlx5_ib_mkey_orphan(dev, &mw->mkey, &mem);
		err = 0;
	}
	if (!err)
		count_window(ibmw, -1);
	return err;
}
