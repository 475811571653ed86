// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: memory regions whose pages are mapped into the device when it
 * faults on them, and unmapped from the device before the process loses them. Here are
 * registration, deregistration and the set-up of the device; odp_internal.h says what the
 * other files do.
 */

#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "layout/layout_odp.h"
#include "layout/refuse.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

/* ---- explicit regions ---------------------------------------------------------- */

static int odp_explicit_page_in(struct odp_mr *mr, u64 offset, u64 len, unsigned long req)
{
	return mlx5_ib_odp_leaf_page_in(mr->leaf, mr->start + offset, len, req);
}

static int odp_explicit_destroy(struct odp_mr *mr)
{
	return mlx5_ib_odp_leaf_destroy(mr->leaf);
}

static const struct odp_mr_ops odp_explicit_ops = {
	.page_in = odp_explicit_page_in,
	.destroy = odp_explicit_destroy,
};

static int odp_explicit_create(struct odp_mr *mr)
{
	const struct ib_mr *ibmr = &mr->mr.ibmr;
	struct odp_leaf *leaf;

	if (ibmr->length >> PAGE_SHIFT >= MLX5_IB_MAX_PAGED_MTTS)
		return refuse(to_mdev(ibmr->device)->mdev, -ENOMEM,
			      "ODP region of %llu bytes, must have fewer than %lu pages",
			      ibmr->length, MLX5_IB_MAX_PAGED_MTTS);
	leaf = mlx5_ib_odp_leaf_create(mr, &mr->mr.mkey, mr->start, ibmr->length, ibmr->iova);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	mr->ops = &odp_explicit_ops;
	mr->leaf = leaf;
	return 0;
}

/* ---- regions of every kind ------------------------------------------------------ */

static bool odp_is_implicit(u64 start, u64 length)
{
	return !start && length == U64_MAX;
}

/*
 * Whether a region with the rights @access can be paged. A region to which windows can be bound
 * cannot be paged. By the transport scheme of faults (odp_fault.c) the driver does not know what a
 * window is bound to, so it could not resolve faults through the window. By either scheme, the
 * driver has to destroy the region's key when UMR fails to unmap pages, and firmware would refuse
 * this while a window is bound to the region.
 */
static bool odp_can_page(struct mlx5_ib_dev *dev, u32 access)
{
	return dev->odp && !(access & IB_ACCESS_MW_BIND);
}

static int odp_check_reg(struct mlx5_ib_dev *dev, u64 start, u64 length, u64 iova, u32 access)
{
	if (!odp_can_page(dev, access))
		return refuse(dev->mdev, -EOPNOTSUPP, "ODP region with access %#x: %s", access,
			      dev->odp ? "windows cannot be bound to ODP regions" :
					 "the device has no ODP that the driver can use (pg)");
	if (overflows_type(start, unsigned long))
		return refuse(dev->mdev, -EOVERFLOW,
			      "ODP region of memory at %#llx, which exceeds 32 bits", start);
	/* ib_core has compared the offsets for processes, but not for kernel consumers. */
	if (offset_in_page(start ^ iova))
		return refuse(dev->mdev, -EINVAL,
			      "ODP region of memory at %#llx, iova %#llx: their offsets in a page differ",
			      start, iova);
	if (!odp_is_implicit(start, length))
		return mlx5_ib_check_mr(length, iova, access & ~IB_ACCESS_ON_DEMAND, &dev->caps);
	if (!(dev->odp->caps.general_caps & IB_ODP_SUPPORT_IMPLICIT))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "implicit ODP region: needs null_mkey, max_indirection 2, fixed_buffer_size with entities of 16 MiB and more, and umr_indirect_mkey_disabled 0");
	if (iova || access & IB_ACCESS_HUGETLB)
		return refuse(dev->mdev, -EINVAL,
			      "implicit ODP region: iova %#llx must be 0, access %#x must not have HUGETLB (0x80)",
			      iova, access);
	return mlx5_ib_check_mr(1, 0, access & ~IB_ACCESS_ON_DEMAND, &dev->caps);
}

static void odp_mr_free(struct odp_mr *mr)
{
	if (!mr)
		return;
	if (mr->process)
		mlx5_ib_odp_process_put(mr->process);
	put_pid(mr->tgid);
	mutex_destroy(&mr->tree_lock);
	mlx5_ib_share_give(&mr->mr.share);
	kfree(mr);
}

DEFINE_FREE(odp_mr, struct odp_mr *, odp_mr_free(_T))

/*
 * Allocate a region of the current process. Each fault on the region takes a slot of this process
 * (odp_fairness.c), even if the region is over a dma-buf.
 */
static struct odp_mr *odp_mr_alloc(struct ib_pd *pd, const struct mlx5_ib_mr_ops *ops, u64 length,
				   u64 iova, u32 access)
{
	struct odp_mr *mr __free(odp_mr) = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mutex_init(&mr->tree_lock);
	mr->odp = to_mdev(pd->device)->odp;
	mr->context = mlx5_ib_pd_context(pd);
	mr->mr.ops = ops;
	mr->mr.access = access;
	mr->mr.pdn = to_mpd(pd)->pdn;
	mr->mr.ibmr.device = pd->device;
	mr->mr.ibmr.pd = pd;
	mr->mr.ibmr.iova = iova;
	mr->mr.ibmr.length = length;
	mr->mr.ibmr.page_size = PAGE_SIZE;
	mr->process = mlx5_ib_odp_process_get(mr->odp, current->mm,
					      mr->context ? mr->context->user : NULL);
	return mr->process ? no_free_ptr(mr) : NULL;
}

/*
 * Get the memory over which a region was registered, see @range of struct mlx5_ib_mr_ops. Refuses
 * memory of another process.
 */
static int odp_mr_range(struct mlx5_ib_mr *base, u64 *start, u64 *length)
{
	struct odp_mr *mr = container_of(base, struct odp_mr, mr);

	if (mr->mm != current->mm)
		return refuse(to_mdev(base->ibmr.device)->mdev, -EINVAL,
			      "rereg of an ODP region over memory of another process");
	*start = mr->start;
	*length = base->ibmr.length;
	return 0;
}

/*
 * Deregister a region, once no task holds a reference to its key. If firmware refuses to destroy a
 * key, the region stays, perhaps with its pages unmapped, and the device can fault on it again. But
 * if the root of an implicit region has been destroyed, the device reaches nothing through the
 * region any more.
 */
static int odp_mr_dereg(struct mlx5_ib_mr *base)
{
	struct odp_mr *mr = container_of(base, struct odp_mr, mr);
	int err;

	mlx5_ib_mkey_retire(mr->odp->dev, &base->mkey);
	err = mr->ops->destroy(mr);
	if (err) {
		mlx5_ib_mkey_publish(mr->odp->dev, &base->mkey, MLX5_IB_MKEY_ODP_MR);
		return err;
	}
	odp_mr_free(mr);
	return 0;
}

static const struct mlx5_ib_paging_stat *odp_mr_stat(struct mlx5_ib_mr *base)
{
	return &container_of(base, struct odp_mr, mr)->stat;
}

static const struct mlx5_ib_mr_ops odp_process_mr_ops = {
	.kind = "paged",
	.dereg = odp_mr_dereg,
	.range = odp_mr_range,
	.paging_stat = odp_mr_stat,
};

static const struct mlx5_ib_mr_ops odp_implicit_mr_ops = {
	.kind = "paged implicit",
	.dereg = odp_mr_dereg,
	.range = odp_mr_range,
	.paging_stat = odp_mr_stat,
};

static const struct mlx5_ib_mr_ops odp_dmabuf_mr_ops = {
	.kind = "paged dma-buf",
	.dereg = odp_mr_dereg,
	.paging_stat = odp_mr_stat,
};

/**
 * mlx5_ib_odp_reg - register memory of a process without pinning it
 * @pd: protection domain
 * @start: address in the process; 0 for an implicit region
 * @length: length in bytes; U64_MAX for an implicit region, which covers the whole
 *	address space of the process
 * @iova: first address of the region as work requests name it, with the page offset of @start
 * @access: enum ib_access_flags, including IB_ACCESS_ON_DEMAND
 *
 * Implements ibv_reg_mr(3) with IBV_ACCESS_ON_DEMAND: creates a key (by CREATE_MKEY, struct
 * mlx5_ifc_create_mkey_in_bits, or by a UMR that gives a free key its attributes), and maps those
 * pages of an explicit region that the process has already. May sleep.
 *
 * Return: the region, or an ERR_PTR: -EINVAL as mlx5_ib_reg_user_mr(), for page offsets that
 * differ, and for an implicit region with @iova or IB_ACCESS_HUGETLB; -EOPNOTSUPP for rights that
 * the driver does not support, for IB_ACCESS_MW_BIND, and if the device cannot page the region;
 * -EOVERFLOW on a 32-bit host for an address beyond 32 bits; -ENOMEM, also for a region with too
 * many pages; or as mlx5_ib_odp_start(), mlx5_ib_odp_leaf_create() and mlx5_ib_odp_tree_create().
 */
struct ib_mr *mlx5_ib_odp_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova, u32 access)
{
	bool implicit = odp_is_implicit(start, length);
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err = odp_check_reg(dev, start, length, iova, access) ?: mlx5_ib_odp_start(dev->odp);

	if (err)
		return ERR_PTR(err);

	struct odp_mr *mr __free(odp_mr) = odp_mr_alloc(pd, implicit ? &odp_implicit_mr_ops :
								       &odp_process_mr_ops,
							length, iova, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	/* @process keeps the struct mm_struct: faults use it even after the process has exited. */
	mr->mm = mr->process->mm;
	mr->tgid = get_task_pid(current, PIDTYPE_TGID);
	mr->start = start;
	err = implicit ? mlx5_ib_odp_tree_create(mr) : odp_explicit_create(mr);
	if (err)
		return ERR_PTR(err);
	mlx5_ib_publish_mr(dev, &mr->mr, MLX5_IB_MKEY_ODP_MR);
	/* Map no page while the UMR queue pair is stopped, see mlx5_ib_odp_mr_page_in(). */
	if (!implicit && !mlx5_ib_umr_await(dev))
		mlx5_ib_odp_leaf_map_present(mr->leaf);
	return &no_free_ptr(mr)->mr.ibmr;
}

/**
 * mlx5_ib_odp_reg_dmabuf - register memory of a dma-buf that its exporter may move
 * @pd: protection domain
 * @offset: offset of the region in the dma-buf, in bytes
 * @length: length in bytes
 * @iova: first address of the region as work requests name it
 * @fd: file descriptor of the dma-buf
 * @access: enum ib_access_flags, which the caller has checked
 *
 * Does not pin the memory: before the exporter moves the memory, the driver unmaps it from the
 * device; the next access of the device faults, and the driver maps the memory at its new address.
 * May sleep; takes the dma-buf's reservation lock.
 *
 * Return: the region, or an ERR_PTR: -EOPNOTSUPP if the device has no paging, @access has
 * IB_ACCESS_MW_BIND, UMR does not work any more, the exporter does not move its memory, or the
 * memory does not consist of pages of the host: the caller then pins the memory instead; otherwise
 * as mlx5_ib_reg_user_mr_dmabuf().
 */
struct ib_mr *mlx5_ib_odp_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				     u32 access)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err;

	/* Not logged by refuse(), because the caller pins the memory instead. */
	if (!odp_can_page(dev, access))
		return ERR_PTR(-EOPNOTSUPP);

	struct odp_mr *mr __free(odp_mr) = odp_mr_alloc(pd, &odp_dmabuf_mr_ops, length, iova,
						       access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mlx5_ib_odp_dmabuf_create(mr, offset, fd);
	return err ? ERR_PTR(err) : &no_free_ptr(mr)->mr.ibmr;
}

/* ---- device ------------------------------------------------------------------ */

/**
 * mlx5_ib_fill_odp_attr - report what the device can page
 * @dev: device
 * @props: device attributes, as ibv_query_device_ex(3) returns them
 */
void mlx5_ib_fill_odp_attr(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	if (!dev->odp)
		return;
	props->odp_caps = dev->odp->caps;
	props->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
}

static void odp_read_caps(struct mlx5_core_dev *mdev, u8 dir_shift, struct ib_odp_caps *caps)
{
	const void *cur = mdev->caps.hca[MLX5_CAP_ODP]->cur;
	const void *scheme = MLX5_CAP_ODP(mdev, mem_page_fault) ?
			     MLX5_ADDR_OF(odp_cap, cur, memory_page_fault_scheme_cap) :
			     MLX5_ADDR_OF(odp_cap, cur, transport_page_fault_scheme_cap);

	caps->general_caps = IB_ODP_SUPPORT;
	/* An implicit region has two levels of indirect mkeys above its leaves, see odp_tree.c. */
	if (MLX5_CAP_GEN(mdev, null_mkey) && MLX5_CAP_GEN(mdev, max_indirection) >= 2 &&
	    !MLX5_CAP_GEN(mdev, umr_indirect_mkey_disabled) && dir_shift)
		caps->general_caps |= IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, rc_odp_caps));
	caps->per_transport_caps.ud_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, ud_odp_caps));
	caps->per_transport_caps.xrc_odp_caps =
		mlx5_ib_odp_service_caps(MLX5_ADDR_OF(odp_scheme_cap, scheme, xrc_odp_caps));
}

/**
 * mlx5_ib_init_odp - get ready for on-demand paging, if the device supports paging
 * @dev: device
 *
 * Leaves @dev->odp NULL, which is no error, on a device that does not page, on which UMR cannot
 * change the page size of a key or reach each of its translation entries, or whose keys cannot have
 * pages of PAGE_SIZE. mlx5_core has chosen the scheme of faults (odp_fault.c). When the first paged
 * region is registered, mlx5_ib_odp_start() creates the objects of the device that paging needs.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	struct mlx5_ib_odp *odp;

	if (!MLX5_CAP_GEN(mdev, pg) || !mlx5_ib_has_umr(&dev->caps) ||
	    !MLX5_CAP_GEN(mdev, umr_extended_translation_offset) ||
	    !(mlx5_ib_mkey_page_sizes(&dev->caps) & PAGE_SIZE))
		return 0;
	odp = kzalloc_obj(*odp);
	if (!odp)
		return -ENOMEM;
	odp->dev = dev;
	odp->by_memory = MLX5_CAP_ODP(mdev, mem_page_fault);
	odp->dir_shift = mlx5_ib_odp_dir_shift(&dev->caps, TASK_SIZE_MAX);
	odp_read_caps(mdev, odp->dir_shift, &odp->caps);
	mlx5_ib_odp_init_processes(odp);
	mlx5_ib_odp_init_faults(odp);
	dev->odp = odp;
	return 0;
}

/**
 * mlx5_ib_cleanup_odp - undo mlx5_ib_init_odp()
 * @dev: device without paged regions
 */
void mlx5_ib_cleanup_odp(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_odp *odp = dev->odp;

	if (!odp)
		return;
	dev->odp = NULL;
	mlx5_ib_odp_stop(odp);
	WARN_ON_ONCE(!hash_empty(odp->processes) && !dev->kept);
	mutex_destroy(&odp->start_lock);
	kfree(odp);
}
