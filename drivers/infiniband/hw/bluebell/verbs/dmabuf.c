// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions over a dma-buf: memory that its exporter, usually another driver, shares. Here the
 * memory is pinned, and the exporter can revoke it; the regions of odp_dmabuf.c follow memory that
 * the exporter moves.
 */

#include <linux/overflow.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/share.h"
#include "lib/umem.h"
#include "odp/odp.h"
#include "verbs/mr.h"
#include "verbs/ucontext.h"

/*
 * Revoke the key of a region, unless the key has been destroyed. Called at most once, with the
 * dma-buf's reservation lock held: when the exporter revokes the memory, or when the region is
 * deregistered. Afterwards the key gives access to nothing, unless UMR has failed and firmware has
 * not destroyed the key, as the log then says.
 */
static void dmabuf_mr_revoke(void *priv)
{
	struct mlx5_ib_mr *mr = priv;

	if (!mr->mkey.destroyed)
		mlx5_ib_mkey_revoke(to_mdev(mr->umem->ibdev), &mr->mkey);
}

/*
 * Whether the key of a region whose process has closed the device gives access to nothing, or is
 * about to: UMR revokes the key if possible. Otherwise the key is to be destroyed before the memory
 * is released, as long as the region can wait for windows.
 */
static bool dmabuf_mr_revoked_at_close(struct mlx5_ib_mr *mr)
{
	return mr->mkey.destroyed || !mlx5_ib_mr_waits_for_windows(mr) ||
	       !mlx5_ib_mkey_umr_revoke(to_mdev(mr->umem->ibdev), &mr->mkey);
}

/*
 * Have firmware destroy a key that windows may be bound to, see mlx5_ib_mkey_pool_choose_class().
 * As long as the process has not closed the device, UMR must not revoke the key before that: if
 * firmware refuses, the region stays, and keeps its key and memory.
 */
static int dmabuf_mr_destroy_bound_key(struct mlx5_ib_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = to_ib_umem_dmabuf(mr->umem);
	int err = 0;

	/* The exporter revokes the key under this lock. */
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	if (!mr->closing || !dmabuf_mr_revoked_at_close(mr))
		err = mlx5_ib_destroy_mr_key(mr);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	return err;
}

static int dmabuf_mr_destroy_key(struct mlx5_ib_mr *mr)
{
	int err = mr->mkey.class < 0 ? dmabuf_mr_destroy_bound_key(mr) : 0;

	if (err && (!mr->closing || err == -EBUSY))
		return err;
	/*
	 * Have dmabuf_mr_revoke() called now, so that the exporter does not call it later. When the
	 * process has closed the device, UMR revokes the key before DESTROY_MKEY, because the
	 * region does not stay if firmware refuses or does not answer.
	 */
	ib_umem_dmabuf_revoke(to_ib_umem_dmabuf(mr->umem));
	return mlx5_ib_destroy_mr_key(mr);
}

static const struct mlx5_ib_mr_ops dmabuf_mr_ops = {
	.kind = "pinned dma-buf",
	.dereg = mlx5_ib_free_mr,
	.destroy_key = dmabuf_mr_destroy_key,
};

static struct ib_mr *dmabuf_mr_reg_pinned(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					  int fd, u32 access)
{
	struct ib_umem_dmabuf *umem_dmabuf;
	struct mlx5_ib_share share = {};
	struct mlx5_ib_mr *mr;
	int err;

	err = mlx5_ib_share_take_length(mlx5_ib_pd_context(pd), length, &share);
	if (err)
		return ERR_PTR(err);
	umem_dmabuf = ib_umem_dmabuf_get_pinned_revocable_and_lock(pd->device, offset, length, fd,
								   access);
	if (IS_ERR(umem_dmabuf)) {
		mlx5_ib_share_give(&share);
		return ERR_CAST(umem_dmabuf);
	}
	/*
	 * The lock keeps the exporter from revoking the memory before there is a key to revoke. All
	 * who use the dma-buf wait for the lock: as long as a firmware command takes, here and each
	 * time that the process tries to deregister the region.
	 */
	mr = mlx5_ib_create_mr(pd, &umem_dmabuf->umem, iova, length, access);
	if (!IS_ERR(mr)) {
		mr->ops = &dmabuf_mr_ops;
		mr->share = share;
		ib_umem_dmabuf_set_revoke_locked(umem_dmabuf, dmabuf_mr_revoke, mr);
	}
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	if (IS_ERR(mr)) {
		mlx5_ib_undo_pin(&umem_dmabuf->umem, PTR_ERR(mr));
		mlx5_ib_share_undo(&share, PTR_ERR(mr));
		return ERR_CAST(mr);
	}
	return &mr->ibmr;
}

/**
 * mlx5_ib_reg_user_mr_dmabuf - register memory of a dma-buf
 * @pd: protection domain
 * @offset: offset of the region in the dma-buf, in bytes
 * @length: bytes
 * @iova: first address of the region in WQEs and on the wire, with the page offset of @offset, as
 *	ib_core has checked
 * @fd: file descriptor of the dma-buf
 * @access: enum ib_access_flags
 * @dmah: not supported
 * @attrs: not used
 *
 * Implements ibv_reg_dmabuf_mr(3). If the exporter moves its memory, and the driver can page the
 * region, the region follows the memory (odp_dmabuf.c). The driver cannot page a region with
 * IB_ACCESS_MW_BIND. Memory that the region does not follow stays pinned, unless the exporter
 * revokes it. May sleep.
 *
 * Return: the region, or an ERR_PTR: as mlx5_ib_reg_user_mr(); -EBADF or -EINVAL for a descriptor
 * that is not a dma-buf; -EINVAL for a range beyond the end of the dma-buf; -EOVERFLOW on a
 * 32-bit host for an offset beyond 32 bits; -ENOMEM if the user has as much paged memory and memory
 * of dma-bufs as a user can have; or the errno with which the exporter refuses to map the memory.
 */
struct ib_mr *mlx5_ib_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					 int fd, int access, struct ib_dmah *dmah,
					 struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct ib_mr *mr;
	int err;

	if (dmah)
		return ERR_PTR(refuse(dev->mdev, -EOPNOTSUPP,
				      "MR over a dma-buf: DMA handles are not supported"));
	err = mlx5_ib_check_pd(pd) ?: mlx5_ib_check_mr(length, iova, access, &dev->caps);
	if (err)
		return ERR_PTR(err);
	if (overflows_type(offset, unsigned long))
		return ERR_PTR(refuse(dev->mdev, -EOVERFLOW,
				      "MR at offset %#llx of a dma-buf: exceeds 32 bits", offset));
	mr = mlx5_ib_odp_reg_dmabuf(pd, offset, length, iova, fd, access);
	if (!IS_ERR(mr) || PTR_ERR(mr) != -EOPNOTSUPP)
		return mr;
	return dmabuf_mr_reg_pinned(pd, offset, length, iova, fd, access);
}
