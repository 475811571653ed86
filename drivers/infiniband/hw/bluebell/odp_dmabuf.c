// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paged regions over a dma-buf whose exporter may move the memory. All of the memory is
 * unmapped from the device before a move, and all of it is mapped at the next access.
 *
 * The dma-buf's reservation lock, which the exporter holds during a move, guards the DMA mapping,
 * the translation entries of the key, and key_gone. It is taken with no other lock of the driver
 * held. Memory may be allocated, and so reclaimed, under it: umem_mutex, which reclaim takes, nests
 * inside it, then the locks of UMR and of firmware commands. Unmapping allocates nothing, because
 * the exporter may move its memory to relieve a shortage.
 */

#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_odp.h"
#include "mkey_cache.h"
#include "mr.h"
#include "odp_internal.h"
#include "umr.h"
#include "umr_qp.h"

static struct ib_umem_dmabuf *odp_dmabuf_umem(const struct odp_mr *mr)
{
	return to_ib_umem_dmabuf(mr->mr.mem->umem);
}

/* Number of entries of the key, one a PAGE_SIZE: after a move, pages may be as small as that. */
static u64 odp_dmabuf_num_mtts(struct ib_umem *umem)
{
	return ALIGN(ib_umem_num_dma_blocks(umem, PAGE_SIZE), MLX5_IB_ODP_BLOCK_MTTS);
}

/*
 * Clear all translation entries of the key, or destroy it: the device reaches nothing through it
 * afterwards. Called with the reservation lock held.
 */
static void odp_dmabuf_clear(struct odp_mr *mr)
{
	u32 mkey = mr->mr.ibmr.lkey;

	if (!mr->mr.key_gone &&
	    mlx5_ib_odp_zap_key(mr->odp, mkey, odp_dmabuf_num_mtts(mr->mr.mem->umem)))
		mr->mr.key_gone = !mlx5_ib_odp_kill_key(mr->odp->dev, mkey);
}

/*
 * The exporter is about to move its memory. Called with the reservation lock held, possibly from
 * memory reclaim.
 */
static void odp_dmabuf_invalidate(struct dma_buf_attachment *attach)
{
	struct ib_umem_dmabuf *umem_dmabuf = attach->importer_priv;

	/* Without a DMA mapping, all translation entries are clear already. */
	if (!umem_dmabuf->sgt)
		return;
	odp_dmabuf_clear(umem_dmabuf->private);
	ib_umem_dmabuf_unmap_pages(umem_dmabuf);
}

static const struct dma_buf_attach_ops odp_dmabuf_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = odp_dmabuf_invalidate,
};

/* Map all of the memory into the device. Called with the reservation lock held. */
static int odp_dmabuf_map(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	if (mr->mr.key_gone)
		return -EIO;
	if (umem_dmabuf->sgt)
		return 0;
	err = ib_umem_dmabuf_map_pages(umem_dmabuf);
	if (!err) {
		err = mlx5_ib_umr_map(mr->odp->dev, &umem_dmabuf->umem, mr->mr.ibmr.lkey,
				      PAGE_SHIFT);
		if (err)
			odp_dmabuf_clear(mr);
	}
	if (err)
		ib_umem_dmabuf_unmap_pages(umem_dmabuf);
	return err;
}

/*
 * Map all of the region into the device, whichever part the fault was on. Waits until the
 * exporter has finished a move. Takes the reservation lock.
 */
static int odp_dmabuf_page_in(struct odp_mr *mr, u64 offset, u64 len,
			      const struct odp_page_in *how)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	if (how->write && !ib_access_writable(mr->mr.access))
		return -EFAULT;
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = odp_dmabuf_map(mr);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	return err;
}

/* Attach to a dma-buf whose exporter moves its memory. */
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
	u64 nmtts = odp_dmabuf_num_mtts(mr->mr.mem->umem);
	int err;

	if (nmtts > MLX5_IB_MAX_MTTS)
		return -ENOMEM;
	err = mlx5_ib_odp_start_faults(mr->odp);
	if (err)
		return err;
	return mlx5_ib_odp_create_key(mr, ibmr->iova, ibmr->length, nmtts, &mr->mr.class,
				      &ibmr->lkey);
}

static void odp_dmabuf_release(struct odp_mr *mr)
{
	ib_umem_release(mr->mr.mem->umem);
	kfree(mr->mr.mem);
}

/* Return the key to the pool, or destroy it. Called with the reservation lock held. */
static int odp_dmabuf_put_key(struct odp_mr *mr)
{
	struct mlx5_ib_dev *dev = mr->odp->dev;
	int class = mr->mr.class, err = 0;

	if (!mr->mr.key_gone && class >= 0 && !mlx5_ib_umr_revoke(dev, mr->mr.ibmr.lkey)) {
		mlx5_ib_put_mkey(dev, class, mr->mr.ibmr.lkey);
	} else {
		if (!mr->mr.key_gone)
			err = mlx5_fw_destroy_mkey(dev, MLX5_IB_KERNEL_UID, mr->mr.ibmr.lkey);
		if (!err && class >= 0)
			mlx5_ib_lose_mkey(dev, class);
	}
	mr->mr.key_gone = !err;
	return err;
}

static int odp_dmabuf_destroy(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);
	int err;

	/* An exporter that moves either finds the key in use or finds it destroyed. */
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	err = odp_dmabuf_put_key(mr);
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	if (!err)
		odp_dmabuf_release(mr);
	return err;
}

static void odp_dmabuf_discard(struct odp_mr *mr)
{
	struct ib_umem_dmabuf *umem_dmabuf = odp_dmabuf_umem(mr);

	if (!odp_dmabuf_destroy(mr))
		return;
	ib_umem_dmabuf_revoke_lock(umem_dmabuf);
	/* The firmware keeps the key, which must not reach the memory that is released. */
	odp_dmabuf_clear(mr);
	mr->mr.key_gone = true;
	ib_umem_dmabuf_revoke_unlock(umem_dmabuf);
	odp_dmabuf_release(mr);
}

static const struct odp_mr_ops odp_dmabuf_ops = {
	.page_in = odp_dmabuf_page_in,
	.destroy = odp_dmabuf_destroy,
	.discard = odp_dmabuf_discard,
};

/**
 * mlx5_ib_odp_dmabuf_create - make a region one over a dma-buf
 * @mr: the region, its address, length, rights and protection domain set
 * @offset: offset of the region in the dma-buf, in bytes
 * @fd: file descriptor of the dma-buf
 *
 * Maps the memory at once, so that a request which cannot be met is refused at
 * registration and not at the first access. May sleep; takes the reservation lock.
 *
 * Return: 0; -EOPNOTSUPP if the exporter does not move its memory; or as
 * mlx5_ib_reg_user_mr_dmabuf().
 */
int mlx5_ib_odp_dmabuf_create(struct odp_mr *mr, u64 offset, int fd)
{
	struct mlx5_ib_mr_mem *mem __free(kfree) = kzalloc_obj(*mem);
	const struct odp_page_in how = { .fault = true };
	struct ib_umem_dmabuf *umem_dmabuf;
	int err;

	if (!mem)
		return -ENOMEM;
	umem_dmabuf = odp_dmabuf_attach(mr, offset, fd);
	if (IS_ERR(umem_dmabuf))
		return PTR_ERR(umem_dmabuf);
	mem->umem = &umem_dmabuf->umem;
	refcount_set(&mem->refs, 1);
	mr->mr.mem = mem;
	err = odp_dmabuf_create_key(mr);
	if (err) {
		ib_umem_release(mem->umem);
		return err;
	}
	retain_and_null_ptr(mem);
	mr->ops = &odp_dmabuf_ops;
	/* While UMR is out of order, mapping has to wait for the first access. */
	if (mlx5_ib_umr_await(mr->odp->dev))
		return 0;
	err = odp_dmabuf_page_in(mr, 0, mr->mr.ibmr.length, &how);
	if (err)
		odp_dmabuf_discard(mr);
	return err;
}
