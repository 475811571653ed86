// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions over a dma-buf: memory of another driver, that its exporter may
 * want back. Here it is pinned; odp_dmabuf.c has the regions that follow it.
 */

#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "mkey_cache.h"
#include "mr.h"
#include "odp.h"
#include "umr.h"

/*
 * The exporter takes its memory back, or the region goes: the key shall reach
 * nothing once this returns. Called with the dma-buf's reservation lock held, at
 * most once. The key keeps its number, so that it cannot come to be another
 * region's while the user still has it; unless UMR cannot be had.
 */
static void revoke(void *priv)
{
	struct mlx5_ib_mr *mr = priv;
	struct mlx5_ib_dev *dev = to_mdev(mr->mem->umem->ibdev);

	if (mr->class != MLX5_IB_CLASS_FIRMWARE && !mlx5_ib_umr_revoke(dev, mr->ibmr.lkey))
		return;
	if (mlx5_fw_destroy_mkey(dev, MLX5_IB_KERNEL_UID, mr->ibmr.lkey)) {
		ibdev_err(&dev->ib_dev, "key 0x%x still reaches a dma-buf\n", mr->ibmr.lkey);
		return;
	}
	mr->key_gone = true;
	if (mr->class >= 0)
		mlx5_ib_lose_mkey(dev, mr->class);
}

/**
 * mlx5_ib_revoke_dmabuf_mr - give an exporter its memory back
 * @mr: region over a dma-buf
 *
 * After this, @mr->key_gone is what it will be. May sleep.
 */
void mlx5_ib_revoke_dmabuf_mr(struct mlx5_ib_mr *mr)
{
	ib_umem_dmabuf_revoke(to_ib_umem_dmabuf(mr->mem->umem));
}

static struct ib_mr *create_dmabuf_mr(struct ib_pd *pd, struct ib_umem_dmabuf *umem_dmabuf,
				      u64 iova, u64 length, u32 access)
{
	struct mlx5_ib_mr_mem *mem __free(kfree) = kzalloc_obj(*mem);
	struct ib_mr *mr;

	if (!mem)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mem->refs, 1);
	mem->umem = &umem_dmabuf->umem;
	mr = mlx5_ib_create_mr(pd, mem, iova, length, access);
	if (IS_ERR(mr))
		return mr;
	ib_umem_dmabuf_set_revoke_locked(umem_dmabuf, revoke, to_mmr(mr));
	retain_and_null_ptr(mem);
	return mr;
}

static struct ib_mr *reg_pinned(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				u32 access)
{
	struct ib_umem_dmabuf *umem_dmabuf;
	struct ib_mr *mr;

	umem_dmabuf = ib_umem_dmabuf_get_pinned_revocable_and_lock(pd->device, offset, length, fd,
								   access);
	if (IS_ERR(umem_dmabuf))
		return ERR_CAST(umem_dmabuf);
	/* Locked until there is a key to revoke: the memory could be gone by then. */
	mr = create_dmabuf_mr(pd, umem_dmabuf, iova, length, access);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	if (IS_ERR(mr))
		ib_umem_release(&umem_dmabuf->umem);
	return mr;
}

/**
 * mlx5_ib_reg_user_mr_dmabuf - register memory of a dma-buf
 * @pd: protection domain
 * @offset: of the region in the dma-buf
 * @length: bytes
 * @iova: first address of the region as WQEs and the wire name it; ib_core has
 *	checked that it has the page offset of @offset
 * @fd: of the dma-buf
 * @access: enum ib_access_flags
 * @dmah: not supported
 * @attrs: nothing of the driver's
 *
 * Implements ibv_reg_dmabuf_mr(3). Memory that its exporter may move is followed,
 * if the device can fault. Other memory is pinned where it is, until the exporter
 * revokes it. May sleep.
 *
 * Return: the region, or an ERR_PTR: as mlx5_ib_reg_user_mr(); -EBADF or -EINVAL
 * for a descriptor that is no dma-buf; -EINVAL beyond its end; or the errno of an
 * exporter that would not.
 */
struct ib_mr *mlx5_ib_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					 int fd, int access, struct ib_dmah *dmah,
					 struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	struct mlx5_ib_mkey_caps caps;
	struct ib_mr *mr;
	int err;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	mlx5_ib_get_mkey_caps(dev, &caps);
	err = mlx5_ib_check_mr(length, iova, access, &caps);
	if (err)
		return ERR_PTR(err);
	mr = mlx5_ib_odp_reg_dmabuf(pd, offset, length, iova, fd, access);
	if (!IS_ERR(mr) || PTR_ERR(mr) != -EOPNOTSUPP)
		return mr;
	return reg_pinned(pd, offset, length, iova, fd, access);
}
