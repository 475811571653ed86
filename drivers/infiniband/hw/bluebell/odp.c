// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: regions whose pages are brought in when the device asks for
 * them, and taken from it when the process loses them.
 */

#include <linux/dma-mapping.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_mkey.h"
#include "layout_odp.h"
#include "mr.h"
#include "odp_internal.h"
#include "umr_qp.h"

static struct odp_mr *to_odp_mr(struct ib_mr *ibmr)
{
	return container_of(to_mmr(ibmr), struct odp_mr, mr);
}

/**
 * mlx5_ib_odp_put_mr - have no more use for a region
 * @mr: region of mlx5_ib_odp_get_mr()
 */
void mlx5_ib_odp_put_mr(struct odp_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->free);
}

/**
 * mlx5_ib_odp_get_mr - find a region, and keep it from being deregistered
 * @odp: device state
 * @mkey: its key
 *
 * Return: the region, for which mlx5_ib_odp_put_mr() is to follow; NULL if the
 * key is not that of a paged region.
 */
struct odp_mr *mlx5_ib_odp_get_mr(struct mlx5_ib_odp *odp, u32 mkey)
{
	struct odp_mr *mr;

	guard(spinlock)(&odp->mrs.xa_lock);
	mr = xa_load(&odp->mrs, mlx5_mkey_to_idx(mkey));
	if (!mr || mr->mr.ibmr.lkey != mkey)
		return NULL;
	refcount_inc(&mr->refs);
	return mr;
}

/* ---- pages ------------------------------------------------------------------- */

static int page_in_implicit(struct odp_mr *mr, u64 addr, u64 len, const struct odp_page_in *how)
{
	u64 end, stop;
	struct odp_leaf *leaf;
	int err = 0;

	if (check_add_overflow(addr, len, &end) || end > mr->limit)
		return -EFAULT;
	for (; addr < end && !err; addr = stop) {
		stop = min(end, mlx5_ib_odp_leaf_base(addr) + BIT_ULL(MLX5_IB_ODP_LEAF_SHIFT));
		leaf = mlx5_ib_odp_get_leaf(mr, addr);
		if (IS_ERR(leaf))
			return PTR_ERR(leaf);
		err = mlx5_ib_odp_page_in_leaf(leaf, addr, stop - addr, how);
		mlx5_ib_odp_put_leaf(leaf);
	}
	return err;
}

/**
 * mlx5_ib_odp_page_in - give the device pages of a region
 * @mr: the region
 * @addr: first address, counted as in the region
 * @len: bytes
 * @how: which pages, and for what
 *
 * May sleep.
 *
 * Return: 0; -EFAULT for what is not the region's; -EAGAIN if UMR does not
 * work; or as mlx5_ib_odp_page_in_leaf() or mlx5_ib_odp_map_dmabuf().
 */
int mlx5_ib_odp_page_in(struct odp_mr *mr, u64 addr, u64 len, const struct odp_page_in *how)
{
	const struct ib_mr *ibmr = &mr->mr.ibmr;
	u64 off = addr - ibmr->iova;
	int err;

	/* A key whose pages UMR cannot take back is lost: so not while it is known to fail. */
	err = mlx5_ib_umr_await(mr->odp->dev);
	if (err)
		return err;
	if (mr->root)
		return page_in_implicit(mr, addr, len, how);
	if (addr < ibmr->iova || len > ibmr->length || off > ibmr->length - len)
		return -EFAULT;
	if (!mr->leaf)
		return mlx5_ib_odp_map_dmabuf(mr, how->write);
	return mlx5_ib_odp_page_in_leaf(mr->leaf, mr->leaf->umem->umem.address + off, len, how);
}

/* ---- regions ----------------------------------------------------------------- */

static int make_explicit(struct odp_mr *mr, u64 start, u64 length, u64 iova)
{
	/* Huge pages are handled as small ones: only so does ib_core find them all. */
	int access = mr->mr.access & ~IB_ACCESS_HUGETLB;
	struct ib_umem_odp *umem;
	struct odp_leaf *leaf;

	if (length >> PAGE_SHIFT >= MLX5_IB_MAX_PAGED_MTTS)
		return -ENOMEM;
	umem = ib_umem_odp_get(mr->mr.ibmr.device, start, length, access,
			       &mlx5_ib_odp_notifier_ops);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	leaf = mlx5_ib_odp_create_leaf(mr, umem, iova, length);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	mr->leaf = leaf;
	mr->mr.ibmr.lkey = leaf->key.mkey;
	return 0;
}

static int unmake(struct odp_mr *mr)
{
	if (mr->leaf)
		return mlx5_ib_odp_free_leaf(mr->leaf);
	return mr->root ? mlx5_ib_odp_free_tree(mr) : mlx5_ib_odp_free_dmabuf(mr);
}

/* Nobody knows it yet, and nobody shall find it. */
static void discard(struct odp_mr *mr)
{
	if (mr->leaf)
		mlx5_ib_odp_drop_leaf(mr->leaf);
	else if (mr->root)
		mlx5_ib_odp_drop_tree(mr);
	else
		mlx5_ib_odp_drop_dmabuf(mr);
}

static bool is_implicit(u64 start, u64 length)
{
	return !start && length == U64_MAX;
}

static int check_reg(struct mlx5_ib_dev *dev, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_mkey_caps caps;

	if (!dev->odp)
		return -EOPNOTSUPP;
	mlx5_ib_get_mkey_caps(dev, &caps);
	if (!is_implicit(start, length))
		return mlx5_ib_check_mr(length, iova, access & ~IB_ACCESS_ON_DEMAND, &caps);
	if (!(dev->odp->caps.general_caps & IB_ODP_SUPPORT_IMPLICIT))
		return -EOPNOTSUPP;
	if (iova || access & IB_ACCESS_HUGETLB)
		return -EINVAL;
	return mlx5_ib_check_mr(1, 0, access & ~IB_ACCESS_ON_DEMAND, &caps);
}

static struct odp_mr *alloc_mr(struct ib_pd *pd, u64 length, u64 iova, u32 access)
{
	struct odp_mr *mr = kzalloc_obj(*mr);

	if (!mr)
		return NULL;
	mr->odp = to_mdev(pd->device)->odp;
	mr->mr.access = access;
	mr->mr.paged = true;
	mr->mr.ibmr.device = pd->device;
	mr->mr.ibmr.pd = pd;
	mr->mr.ibmr.iova = iova;
	mr->mr.ibmr.length = length;
	mr->mr.ibmr.page_size = PAGE_SIZE;
	mutex_init(&mr->tree_lock);
	refcount_set(&mr->refs, 1);
	init_completion(&mr->free);
	return mr;
}

/* Let faults find it; it is gone if that fails. */
static int publish(struct odp_mr *mr)
{
	struct ib_mr *ibmr = &mr->mr.ibmr;
	int err;

	ibmr->rkey = ibmr->lkey;
	err = xa_err(xa_store(&mr->odp->mrs, mlx5_mkey_to_idx(ibmr->lkey), mr, GFP_KERNEL));
	if (err)
		discard(mr);
	return err;
}

/**
 * mlx5_ib_odp_reg - register memory whose pages come when they are used
 * @pd: protection domain
 * @start: address in the process; 0 for an implicit region
 * @length: bytes; U64_MAX for an implicit region, which is all of the process
 * @iova: first address of the region
 * @access: enum ib_access_flags, IB_ACCESS_ON_DEMAND among them
 *
 * Pins nothing: CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits) makes a key
 * none of whose pages is there. May sleep.
 *
 * Return: the region, or an ERR_PTR: -EINVAL and -EOPNOTSUPP as for
 * mlx5_ib_reg_user_mr(); -ENOMEM for a region with too many pages.
 */
struct ib_mr *mlx5_ib_odp_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err;

	err = check_reg(dev, start, length, iova, access);
	if (!err)
		err = mlx5_ib_odp_start_faults(dev->odp);
	if (err)
		return ERR_PTR(err);

	struct odp_mr *mr __free(kfree) = alloc_mr(pd, length, iova, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = is_implicit(start, length) ? mlx5_ib_odp_make_tree(mr) :
					   make_explicit(mr, start, length, iova);
	if (!err)
		err = publish(mr);
	return err ? ERR_PTR(err) : &no_free_ptr(mr)->mr.ibmr;
}

/**
 * mlx5_ib_odp_reg_dmabuf - register memory that its exporter may move
 * @pd: protection domain
 * @offset: of the region in the dma-buf
 * @length: bytes
 * @iova: first address of the region
 * @fd: of the dma-buf
 * @access: enum ib_access_flags, checked
 *
 * Pins nothing. Whenever the exporter moves the memory the device loses it, and
 * finds it again at the next access. May sleep; takes the reservation lock.
 *
 * Return: the region, or an ERR_PTR: -EOPNOTSUPP if the device does not page or
 * the exporter moves nothing: then it can be pinned; otherwise as
 * mlx5_ib_reg_user_mr_dmabuf().
 */
struct ib_mr *mlx5_ib_odp_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err;

	if (!dev->odp)
		return ERR_PTR(-EOPNOTSUPP);

	struct odp_mr *mr __free(kfree) = alloc_mr(pd, length, iova, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mlx5_ib_odp_make_dmabuf(mr, offset, fd);
	if (!err)
		err = publish(mr);
	return err ? ERR_PTR(err) : &no_free_ptr(mr)->mr.ibmr;
}

/**
 * mlx5_ib_odp_range - what memory a region was registered over
 * @ibmr: paged region
 * @start: as for mlx5_ib_odp_reg()
 * @length: as for mlx5_ib_odp_reg()
 *
 * Return: 0, or -EINVAL if it is another process's.
 */
int mlx5_ib_odp_range(struct ib_mr *ibmr, u64 *start, u64 *length)
{
	struct odp_mr *mr = to_odp_mr(ibmr);
	struct ib_umem *umem = mr->leaf ? &mr->leaf->umem->umem : &mr->anchor->umem;

	if (umem->owning_mm != current->mm)
		return -EINVAL;
	*start = mr->leaf ? umem->address : 0;
	*length = ibmr->length;
	return 0;
}

/**
 * mlx5_ib_odp_dereg - deregister a paged region
 * @ibmr: the region; freed if all goes well
 *
 * Waits for faults on it that are being resolved. May sleep.
 *
 * Return: 0, or the errno of a firmware that would not destroy a key; then the
 * region is as it was, or an implicit one has lost its root and reaches nothing.
 * Either can be deregistered once more.
 */
int mlx5_ib_odp_dereg(struct ib_mr *ibmr)
{
	struct odp_mr *mr = to_odp_mr(ibmr);
	struct mlx5_ib_odp *odp = mr->odp;
	u32 index = mlx5_mkey_to_idx(ibmr->lkey);
	int err;

	WRITE_ONCE(mr->closing, true);
	xa_store(&odp->mrs, index, XA_ZERO_ENTRY, GFP_KERNEL);
	mlx5_ib_odp_put_mr(mr);
	wait_for_completion(&mr->free);
	err = unmake(mr);
	if (err) {
		WRITE_ONCE(mr->closing, false);
		refcount_set(&mr->refs, 1);
		reinit_completion(&mr->free);
		xa_store(&odp->mrs, index, mr, GFP_KERNEL);
		return err;
	}
	/* Unless the index has come back as that of another region. */
	xa_release(&odp->mrs, index);
	kfree(mr);
	return 0;
}

/* ---- advice ------------------------------------------------------------------ */

struct advice_part {
	struct odp_mr *mr;
	u64 addr;
	u64 length;
};

struct advice {
	struct work_struct work;
	struct odp_page_in how;
	u32 num;
	struct advice_part part[] __counted_by(num);
};

static void free_advice(struct advice *advice)
{
	u32 i;

	if (!advice)
		return;
	for (i = 0; i < advice->num && advice->part[i].mr; i++)
		mlx5_ib_odp_put_mr(advice->part[i].mr);
	kvfree(advice);
}

DEFINE_FREE(advice, struct advice *, free_advice(_T))

static int follow_advice(struct advice *advice)
{
	int err = 0;
	u32 i;

	for (i = 0; i < advice->num && !err; i++)
		err = mlx5_ib_odp_page_in(advice->part[i].mr, advice->part[i].addr,
					  advice->part[i].length, &advice->how);
	return err;
}

static void advice_work(struct work_struct *work)
{
	struct advice *advice __free(advice) = container_of(work, struct advice, work);

	follow_advice(advice);
}

static int add_part(struct mlx5_ib_odp *odp, struct ib_pd *pd, const struct ib_sge *sge,
		    const struct odp_page_in *how, struct advice_part *part)
{
	struct odp_mr *mr = mlx5_ib_odp_get_mr(odp, sge->lkey);

	if (!mr)
		return -EFAULT;
	part->mr = mr;
	part->addr = sge->addr;
	part->length = sge->length;
	if (mr->mr.ibmr.pd != pd || (how->write && !ib_access_writable(mr->mr.access)))
		return -EFAULT;
	return 0;
}

/**
 * mlx5_ib_advise_mr - bring in pages before they are used
 * @pd: protection domain of the regions
 * @advice: read-only, writable, or only what the process has present itself
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH to wait until it has been done
 * @sg_list: parts of paged regions
 * @num_sge: number of them
 * @attrs: not used
 *
 * Implements ibv_advise_mr(3). May sleep.
 *
 * Return: 0; -EOPNOTSUPP for other advice; -EINVAL for other flags; -EFAULT for
 * a key that is not of a paged region of @pd, does not allow writing or, with
 * FLUSH, for memory beyond the region or the process; -ENOMEM.
 */
int mlx5_ib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		      struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_odp *odp = to_mdev(pd->device)->odp;
	struct odp_page_in how = {
		.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		.fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	u32 i;
	int err;

	if (!odp || advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;

	struct advice *work __free(advice) = kvzalloc_flex(*work, part, num_sge, GFP_KERNEL);

	if (!work)
		return -ENOMEM;
	work->num = num_sge;
	work->how = how;
	for (i = 0; i < num_sge; i++) {
		err = add_part(odp, pd, &sg_list[i], &how, &work->part[i]);
		if (err)
			return err;
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) {
		err = follow_advice(work);
		return err && err != -ENOMEM ? -EFAULT : err;
	}
	INIT_WORK(&work->work, advice_work);
	queue_work(odp->wq, &no_free_ptr(work)->work);
	return 0;
}

/* ---- device ------------------------------------------------------------------ */

/**
 * mlx5_ib_fill_odp_attr - say what is paged
 * @dev: device
 * @props: its attributes
 */
void mlx5_ib_fill_odp_attr(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	if (!dev->odp)
		return;
	props->odp_caps = dev->odp->caps;
	props->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
}

static void get_caps(struct mlx5_core_dev *mdev, struct ib_odp_caps *caps)
{
	const void *cur = mdev->caps.hca[MLX5_CAP_ODP]->cur;
	const void *scheme = MLX5_ADDR_OF(odp_cap, cur, transport_page_fault_scheme_cap);

	caps->general_caps = IB_ODP_SUPPORT;
	/* Root, directory and leaf. */
	if (MLX5_CAP_GEN(mdev, null_mkey) && MLX5_CAP_GEN(mdev, max_indirection) >= 2 &&
	    !MLX5_CAP_GEN(mdev, umr_indirect_mkey_disabled))
		caps->general_caps |= IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, rc_odp_caps));
	caps->per_transport_caps.ud_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, ud_odp_caps));
	caps->per_transport_caps.xrc_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, xrc_odp_caps));
}

static void free_odp(struct mlx5_ib_odp *odp)
{
	if (!odp)
		return;
	mlx5_ib_odp_stop_faults(odp);
	/* Events on their way are taken, and their faults answered. */
	if (odp->wq)
		destroy_workqueue(odp->wq);
	mlx5_ib_odp_cleanup_faults(odp);
	if (odp->zeros_dma)
		dma_unmap_single(odp->dev->mdev->device, odp->zeros_dma,
				 MLX5_IB_ODP_ZAP_MTTS * sizeof(*odp->zeros), DMA_TO_DEVICE);
	kfree(odp->zeros);
	WARN_ON(!xa_empty(&odp->mrs));
	xa_destroy(&odp->mrs);
	kfree(odp);
}

DEFINE_FREE(odp, struct mlx5_ib_odp *, free_odp(_T))

/**
 * mlx5_ib_init_odp - get ready to page
 * @dev: device, its UMR queue pair set up if it can have one
 *
 * A device that does not page, or does so only in another way, or whose keys
 * UMR cannot change, does without. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	struct mlx5_fw_special_contexts sc = {};
	dma_addr_t dma;
	int err;

	if (!MLX5_CAP_GEN(mdev, pg) || MLX5_CAP_ODP(mdev, mem_page_fault) || !dev->umr ||
	    !MLX5_CAP_GEN(mdev, umr_extended_translation_offset))
		return 0;

	struct mlx5_ib_odp *odp __free(odp) = kzalloc_obj(*odp);

	if (!odp)
		return -ENOMEM;
	odp->dev = dev;
	xa_init(&odp->mrs);
	mlx5_ib_odp_init_faults(odp);
	get_caps(mdev, &odp->caps);
	err = mlx5_fw_query_special_contexts(dev, &sc);
	if (err)
		return err;
	odp->null_mkey = sc.null_mkey;
	odp->wq = alloc_workqueue("bluebell_odp", WQ_HIGHPRI | WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	odp->zeros = kzalloc_objs(*odp->zeros, MLX5_IB_ODP_ZAP_MTTS);
	if (!odp->wq || !odp->zeros)
		return -ENOMEM;
	dma = dma_map_single(mdev->device, odp->zeros, MLX5_IB_ODP_ZAP_MTTS * sizeof(*odp->zeros),
			     DMA_TO_DEVICE);
	if (dma_mapping_error(mdev->device, dma))
		return -ENOMEM;
	odp->zeros_dma = dma;
	dev->odp = no_free_ptr(odp);
	return 0;
}

/**
 * mlx5_ib_cleanup_odp - page no more
 * @dev: device, none of whose regions is left
 */
void mlx5_ib_cleanup_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_odp *odp = dev->odp;

	dev->odp = NULL;
	free_odp(odp);
}
