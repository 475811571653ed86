// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paged regions over a dma-buf whose exporter may move the memory. All of the memory is
 * unmapped from the device before a move, and all of it is mapped at the next access.
 *
 * The dma-buf's reservation lock, which the exporter holds during a move, guards the DMA mapping,
 * the translation entries and the state of the key. The driver holds none of its own locks when it
 * takes the reservation lock. Allocations under the reservation lock may reclaim memory, and
 * reclaim calls the MMU notifiers of other regions, which take the lock of struct odp_leaf. So this
 * lock nests inside the reservation lock, and the locks of UMR and of firmware commands nest inside
 * this lock. The exporter may move its memory to relieve a shortage, so unmapping allocates memory
 * only for firmware commands, and without reclaim.
 */

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

static struct ib_umem_dmabuf *odp_dmabuf_umem(const struct odp_mr *mr)
{
	return to_ib_umem_dmabuf(mr->mr.umem);
}

/*
 * Number of entries of the key: one for each PAGE_SIZE bytes, because the exporter may move the
 * memory to pages of this size; rounded up to whole UMR blocks.
 */
static u64 odp_dmabuf_num_mtts(struct ib_umem *umem)
{
	return ALIGN(ib_umem_num_dma_blocks(umem, PAGE_SIZE), MLX5_IB_UMR_BLOCK_MTTS);
}

/*
 * Have UMR clear all translation entries of the key. Called with the reservation lock held. If
 * firmware has not answered DESTROY_MKEY, the key may be gone, and UMR must not name it: -EIO.
 */
static int odp_dmabuf_umr_clear(struct odp_mr *mr)
{
	struct mlx5_ib_mkey *mkey = &mr->mr.mkey;

	dma_resv_assert_held(odp_dmabuf_umem(mr)->attach->dmabuf->resv);
	if (mlx5_ib_fw_may_be_gone(&mkey->attempt))
		return -EIO;
	return mlx5_ib_umr_clear(mr->odp->dev, mkey->key, 0, odp_dmabuf_num_mtts(mr->mr.umem));
}

/*
 * Clear all translation entries of the key, or else destroy the key: afterwards the device reaches
 * nothing through the key, unless firmware has refused to destroy it, which is logged. Called with
 * the reservation lock held.
 */
static void odp_dmabuf_clear(struct odp_mr *mr)
{
	if (!mr->mr.mkey.destroyed && odp_dmabuf_umr_clear(mr))
		mlx5_ib_mkey_kill(mr->odp->dev, &mr->mr.mkey);
}

/*
 * Unmap the memory from the device, because the exporter is about to move it. Called with the
 * reservation lock held, possibly from memory reclaim.
 */
static void odp_dmabuf_invalidate(struct dma_buf_attachment *attach)
{
	struct ib_umem_dmabuf *umem_dmabuf = attach->importer_priv;
	struct odp_mr *mr = umem_dmabuf->private;

	dma_resv_assert_held(attach->dmabuf->resv);
	/* Without a DMA mapping, there is nothing to clear. */
	if (!umem_dmabuf->sgt)
		return;
	odp_dmabuf_clear(mr);
	ib_umem_dmabuf_unmap_pages(umem_dmabuf);
	atomic64_add(ib_umem_num_pages(&umem_dmabuf->umem), &mr->stat.invalidations);
}

static const struct dma_buf_attach_ops odp_dmabuf_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = odp_dmabuf_invalidate,
};

/*
 * Check that the memory consists of pages of the host: an entry of the key gives access to all of a
 * page. On a host with pages of 64 KiB the exporter may have smaller pages. Returns 0 or
 * -EOPNOTSUPP.
 */
static int odp_dmabuf_check_pages(struct ib_umem *umem)
{
	return ib_umem_find_best_pgsz(umem, PAGE_SIZE, umem->iova) ? 0 : -EOPNOTSUPP;
}

/*
 * Map all of the memory into the device. Called with the reservation lock held. Returns 0; 1 if the
 * memory is mapped already; or a negative errno.
 */
static int odp_dmabuf_map(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	dma_resv_assert_held(umem_dmabuf->attach->dmabuf->resv);
	if (mr->mr.mkey.destroyed || mlx5_ib_fw_may_be_gone(&mr->mr.mkey.attempt))
		return -EIO;
	if (umem_dmabuf->sgt)
		return 1;
	err = ib_umem_dmabuf_map_pages(umem_dmabuf);
	if (!err)
		err = odp_dmabuf_check_pages(&umem_dmabuf->umem);
	if (!err) {
		err = mlx5_ib_umr_map(mr->odp->dev, &umem_dmabuf->umem, mr->mr.mkey.key);
		if (err)
			odp_dmabuf_clear(mr);
	}
	if (err)
		ib_umem_dmabuf_unmap_pages(umem_dmabuf);
	return err;
}

/*
 * Map all of the region into the device, whichever part was asked for. Waits until the exporter has
 * finished a move. Takes the reservation lock.
 */
static int odp_dmabuf_page_in(struct odp_mr *mr, u64 offset, u64 len, unsigned long req)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	if (req & HMM_PFN_REQ_WRITE && !ib_access_writable(mr->mr.access))
		return -EFAULT;
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = odp_dmabuf_map(mr);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	return err;
}

/* Attach to a dma-buf. Fails with -EOPNOTSUPP if its exporter does not move the memory. */
static struct ib_umem_dmabuf *odp_dmabuf_attach(struct odp_mr *mr, u64 offset, int fd)
{
	struct ib_mr *ibmr = &mr->mr.ibmr;
	struct ib_umem_dmabuf *umem_dmabuf;

	umem_dmabuf = ib_umem_dmabuf_get(ibmr->device, offset, ibmr->length, fd, mr->mr.access,
					 &odp_dmabuf_attach_ops);
	if (IS_ERR(umem_dmabuf))
		return umem_dmabuf;
	if (!dma_buf_is_dynamic(umem_dmabuf->attach->dmabuf)) {
		ib_umem_release(&umem_dmabuf->umem);
		return ERR_PTR(-EOPNOTSUPP);
	}
	umem_dmabuf->private = mr;
	umem_dmabuf->umem.iova = ibmr->iova;
	return umem_dmabuf;
}

static int odp_dmabuf_create_key(struct odp_mr *mr)
{
	struct ib_mr *ibmr = &mr->mr.ibmr;
	u64 nmtts = odp_dmabuf_num_mtts(mr->mr.umem);

	if (nmtts > MLX5_IB_MAX_MTTS)
		return -ENOMEM;
	return mlx5_ib_odp_create_key(mr, &mr->mr.mkey, ibmr->iova, ibmr->length, nmtts);
}

/*
 * Unmap the memory before firmware is asked to destroy a key that is not of the pool
 * (mkey_pool.c): if firmware did not answer, UMR could not name the key any more, and the entries
 * would stay valid. For a key of the pool, mlx5_ib_mkey_destroy() has UMR revoke the key first. If
 * UMR fails in either case, firmware is asked to destroy the key with the memory still mapped. If
 * firmware does not answer then, the memory stays mapped until the exporter moves it, or until the
 * process has closed the device.
 */
static void odp_dmabuf_unmap_early(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);

	if (mr->mr.mkey.class < 0 && umem_dmabuf->sgt && !odp_dmabuf_umr_clear(mr))
		ib_umem_dmabuf_unmap_pages(umem_dmabuf);
}

/*
 * Destroy the key. If firmware refuses and the process has closed the device, give up the key.
 * Called with the reservation lock held, so that odp_dmabuf_invalidate() does not run meanwhile.
 */
static int odp_dmabuf_destroy_key(struct odp_mr *mr)
{
	struct mlx5_ib_mkey *mkey = &mr->mr.mkey;
	int err;

	if (!mkey->destroyed)
		odp_dmabuf_unmap_early(mr);
	err = mlx5_ib_mkey_destroy(mr->odp->dev, mkey);
	if (!err || !mr->mr.closing)
		return err;
	/*
	 * Without a DMA mapping, there is nothing to clear. With a DMA mapping, UMR has failed: try
	 * once more to clear the entries or to destroy the key, even if this costs a third timeout,
	 * because the exporter gets its memory back next.
	 */
	if (odp_dmabuf_umem(mr)->sgt)
		odp_dmabuf_clear(mr);
	if (!mkey->destroyed)
		mlx5_ib_mkey_abandon(mr->odp->dev, mkey, &mr->mr.share, err);
	return 0;
}

static int odp_dmabuf_destroy(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = odp_dmabuf_destroy_key(mr);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	if (!err)
		ib_umem_release(mr->mr.umem);
	return err;
}

static const struct odp_mr_ops odp_dmabuf_ops = {
	.page_in = odp_dmabuf_page_in,
	.destroy = odp_dmabuf_destroy,
};

/* Map the memory, if that is possible now, and publish the region. */
static int odp_dmabuf_publish(struct odp_mr *mr, struct ib_umem_dmabuf *umem_dmabuf)
{
	/* While the UMR queue pair is stopped, leave it to the first fault to map the memory. */
	bool can_map = !mlx5_ib_umr_await(mr->odp->dev);
	int err;

	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = can_map ? min(odp_dmabuf_map(mr), 0) : 0;
	/* Published before the lock is released: after that, a move may destroy the key. */
	if (!err)
		mlx5_ib_publish_mr(mr->odp->dev, &mr->mr, MLX5_IB_MKEY_ODP_MR);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	return err;
}

/**
 * mlx5_ib_odp_dmabuf_create - create a region's key over a dma-buf, and publish the region
 * @mr: the region, its address, length, rights and protection domain set
 * @offset: offset of the region in the dma-buf, in bytes
 * @fd: file descriptor of the dma-buf
 *
 * Maps the memory at once, unless the UMR queue pair is stopped, so that the registration fails if
 * the memory cannot be mapped, and not the first access. May sleep; takes the reservation lock.
 *
 * Return: 0; -EOPNOTSUPP if the exporter does not move its memory, the memory does not consist of
 * pages of the host, or UMR does not work any more; or as mlx5_ib_reg_user_mr_dmabuf().
 */
int mlx5_ib_odp_dmabuf_create(struct odp_mr *mr, u64 offset, int fd)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_attach(mr, offset, fd);
	int err, ret;

	if (IS_ERR(umem_dmabuf))
		return PTR_ERR(umem_dmabuf);
	mr->mr.umem = &umem_dmabuf->umem;
	err = mlx5_ib_odp_start(mr->odp) ?:
	      mlx5_ib_share_take_length(mr->context, mr->mr.ibmr.length, &mr->mr.share) ?:
	      odp_dmabuf_create_key(mr);
	if (err) {
		mlx5_ib_share_undo(&mr->mr.share, err);
		ib_umem_release(mr->mr.umem);
		return err;
	}
	mr->ops = &odp_dmabuf_ops;
	err = odp_dmabuf_publish(mr, umem_dmabuf);
	if (!err)
		return 0;
	ret = odp_dmabuf_destroy(mr);
	if (ret) {
		/* All entries of the key are clear, or mlx5_ib_mkey_kill() has logged a refusal. */
		mlx5_ib_mkey_abandon(mr->odp->dev, &mr->mr.mkey, &mr->mr.share, ret);
		ib_umem_release(mr->mr.umem);
	}
	return err;
}
