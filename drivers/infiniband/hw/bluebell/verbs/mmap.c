// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a process maps registers and memory of the device: UAR pages, the clock and its parameters,
 * and device memory.
 */

#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/trace.h"
#include "layout/refuse.h"
#include "verbs/uar.h"
#include "verbs/verbs.h"

static int mmap_io(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma,
		   phys_addr_t address, bool wc, struct rdma_user_mmap_entry *entry)
{
	size_t size = entry ? entry->npages * PAGE_SIZE : PAGE_SIZE;
	pgprot_t prot = wc ? pgprot_writecombine(vma->vm_page_prot) :
			     pgprot_noncached(vma->vm_page_prot);

	return rdma_user_mmap_io(&context->ibucontext, vma, address >> PAGE_SHIFT, size, prot,
				 entry);
}

/* Refuse a mapping that has one of @rights, and keep mprotect() from adding @rights later. */
static int mmap_deny(struct mlx5_core_dev *mdev, struct vm_area_struct *vma, vm_flags_t rights)
{
	if (vma->vm_flags & rights)
		return refuse(mdev, -EPERM,
			      "mmap with forbidden rights %#lx (1 is VM_READ, 2 WRITE, 4 EXEC)",
			      vma->vm_flags & rights);
	/* VM_MAYREAD, VM_MAYWRITE and VM_MAYEXEC are VM_READ, VM_WRITE and VM_EXEC shifted by 4. */
	vm_flags_clear(vma, rights << 4);
	return 0;
}

static void uar_page_free_entry(struct mlx5_user_mmap_entry *entry)
{
	kfree(entry);
}

/*
 * Find or insert the entry of a static or dynamic UAR page. Each mapping of the page has a
 * reference to the entry, so the report of UARs (uar_report.c) shows the references as the number
 * of mappings. The entry is freed with the last mapping. Returns the entry with a reference.
 */
static struct rdma_user_mmap_entry *uar_page_get_entry(struct mlx5_ib_ucontext *context, u32 page,
						       u32 uar)
{
	u32 pgoff = mlx5_ib_uar_page_pgoff(&context->bfregi.layout, page);
	struct mlx5_user_mmap_entry *entry __free(kfree) = NULL;
	struct rdma_user_mmap_entry *rdma_entry;
	int err;

	lockdep_assert_held(&context->bfregi.lock);
	rdma_entry = rdma_user_mmap_entry_get_pgoff(&context->ibucontext, pgoff);
	if (rdma_entry) {
		WARN_ON_ONCE(to_mmmap(rdma_entry)->page_id != uar);
		return rdma_entry;
	}
	entry = kzalloc_obj(*entry, GFP_KERNEL_ACCOUNT);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->free = uar_page_free_entry;
	entry->page_id = uar;
	err = rdma_user_mmap_entry_insert_exact(&context->ibucontext, &entry->rdma_entry, PAGE_SIZE,
						pgoff);
	return err ? ERR_PTR(err) : &no_free_ptr(entry)->rdma_entry;
}

static int uar_page_map(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma, u32 page,
			u32 uar, bool wc)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;
	struct rdma_user_mmap_entry *entry = uar_page_get_entry(context, page, uar);
	int err;

	WARN_ON_ONCE(uar == MLX5_IB_INVALID_UAR_INDEX);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	err = mmap_io(context, vma, mlx5_ib_uar_address(mdev, uar), wc, entry);
	trace_uar_mmap(context, uar, vma->vm_start, wc, err);
	/* The mapping has taken a reference of its own, so put the reference of the look-up. */
	rdma_user_mmap_entry_put(entry);
	return err;
}

/* Map a static page, which has the same UARs as long as the context exists. */
static int map_static_uar(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma, u32 page,
			  bool wc)
{
	guard(mutex)(&context->bfregi.lock);
	return uar_page_map(context, vma, page, context->bfregi.sys_pages[page], wc);
}

/*
 * Allocate the UAR of a dynamic page, and map the page. The library numbers its dynamic pages, and
 * maps each page once. The UAR is freed with the context, and not when the page is unmapped,
 * because queues may still use the doorbells of the UAR.
 */
static int map_dyn_uar(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma,
		       u32 index)
{
	struct mlx5_bfreg_info *bfregi = &context->bfregi;
	u32 page = bfregi->layout.num_static_sys_pages + index;
	u32 uarn;
	int err;

	guard(mutex)(&bfregi->lock);
	if (bfregi->sys_pages[page] != MLX5_IB_INVALID_UAR_INDEX)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "mmap of dynamic UAR page %u, which has been mapped before", index);
	err = mlx5_ib_alloc_uar(context, BLUEBELL_UAR_DYNAMIC, &uarn);
	if (err)
		return err;
	err = uar_page_map(context, vma, page, uarn, true);
	if (err) {
		mlx5_ib_dealloc_uar(context, BLUEBELL_UAR_DYNAMIC, uarn);
		return err;
	}
	bfregi->sys_pages[page] = uarn;
	return 0;
}

static int map_core_clock(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;
	u64 addr = mdev->bar_addr + offsetof(struct mlx5_init_seg, internal_timer_h);

	/* A larger page would also have registers that users must not read. */
	if (PAGE_SIZE > MLX5_ADAPTER_PAGE_SIZE)
		return refuse(mdev, -EOPNOTSUPP,
			      "mmap of the clock: the host has pages of %lu bytes, only %u is possible",
			      PAGE_SIZE, MLX5_ADAPTER_PAGE_SIZE);
	return mmap_io(context, vma, addr, false, NULL);
}

static int map_clock_info(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;

	if (!mdev->clock_info)
		return refuse(mdev, -EOPNOTSUPP,
			      "mmap of clock parameters, which the device does not have");
	return vm_insert_page(vma, vma->vm_start, virt_to_page(mdev->clock_info));
}

static int map_entry(struct mlx5_ib_ucontext *context, struct vm_area_struct *vma, u32 pgoff)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct mlx5_user_mmap_entry *entry;
	int err;

	rdma_entry = rdma_user_mmap_entry_get_pgoff(&context->ibucontext, pgoff);
	if (!rdma_entry)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "mmap: no UAR object or device memory has page offset %#x", pgoff);
	entry = to_mmmap(rdma_entry);
	err = mmap_deny(to_mdev(context->ibucontext.device)->mdev, vma, entry->denied);
	if (!err)
		err = mmap_io(context, vma, entry->address, entry->wc, rdma_entry);
	if (mlx5_ib_is_uar_object(entry))
		trace_uar_mmap(context, entry->page_id, vma->vm_start, entry->wc, err);
	rdma_user_mmap_entry_put(rdma_entry);
	return err;
}

static int mmap_check_page(struct mlx5_core_dev *mdev, struct vm_area_struct *vma, int command)
{
	bool clock = command == MLX5_IB_MMAP_CORE_CLOCK || command == MLX5_IB_MMAP_CLOCK_INFO;

	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return refuse(mdev, -EINVAL,
			      "mmap of a UAR or clock: %lu bytes, only %lu is possible",
			      vma->vm_end - vma->vm_start, PAGE_SIZE);
	return mmap_deny(mdev, vma, clock ? VM_WRITE | VM_EXEC : MLX5_IB_UAR_DENIED);
}

/**
 * mlx5_ib_mmap - map the UAR, clock or device memory that an offset in the uverbs file names
 * @uctx: the context that the file belongs to
 * @vma: the mapping; mlx5_ib_decode_mmap_offset() decodes its offset
 *
 * A mapping of UARs is one page, write-only; a mapping of a clock one page, read-only; a mapping of
 * device memory is all of the memory. All mappings are shared. Called with the process's mmap lock
 * held.
 *
 * Return: 0; -EINVAL for an unknown offset, a UAR page that the context does not have, a dynamic
 * UAR page that has been mapped before, a wrong length or a private mapping; -EPERM for a right
 * that the kind of mapping does not allow; -EOPNOTSUPP for a clock that the device does not have or
 * that cannot be mapped; -ENOMEM; or the errno of a failed ALLOC_UAR.
 */
int mlx5_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	int command, err;
	u32 index;

	command = mlx5_ib_decode_mmap_offset(vma->vm_pgoff, &context->bfregi.layout, &index);
	if (command < 0)
		return command;
	if (!(vma->vm_flags & VM_SHARED))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "private mmap of page offset %#lx, only MAP_SHARED is possible",
			      vma->vm_pgoff);
	if (command == MLX5_IB_MMAP_DEVICE_MEM)
		return map_entry(context, vma, index);
	err = mmap_check_page(to_mdev(uctx->device)->mdev, vma, command);
	if (err)
		return err;

	switch (command) {
	case MLX5_IB_MMAP_ALLOC_WC:
		return map_dyn_uar(context, vma, index);
	case MLX5_IB_MMAP_CORE_CLOCK:
		return map_core_clock(context, vma);
	case MLX5_IB_MMAP_CLOCK_INFO:
		return map_clock_info(context, vma);
	default:
		return map_static_uar(context, vma, index, command != MLX5_IB_MMAP_NC_PAGE);
	}
}

/**
 * mlx5_ib_mmap_free - free an entry in the mmap space
 * @rdma_entry: the entry, whose last reference has been put
 *
 * Also frees the UAR of a UAR object, or the address of an operation on device memory, and puts the
 * entry's reference to device memory. The UAR of a static or dynamic page is freed with the
 * context. May sleep.
 */
void mlx5_ib_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct mlx5_user_mmap_entry *entry = to_mmmap(rdma_entry);

	entry->free(entry);
}

/* ---- export as a dma-buf ------------------------------------------------------------ */

/*
 * Find the entry that mmap(2) maps at @offset, which is in bytes. Returns NULL if there is no such
 * entry; or the entry with a reference, which ib_core puts when the export fails, when the dma-buf
 * is released, or when the context is closed.
 */
static struct rdma_user_mmap_entry *mmap_offset_to_entry(struct ib_ucontext *uctx, off_t offset)
{
	struct mlx5_ib_ucontext *context = to_mucontext(uctx);
	u32 index;

	if (offset_in_page(offset) ||
	    mlx5_ib_decode_mmap_offset(offset >> PAGE_SHIFT, &context->bfregi.layout, &index) !=
	    MLX5_IB_MMAP_DEVICE_MEM)
		return NULL;
	return rdma_user_mmap_entry_get_pgoff(uctx, index);
}

static int mmap_get_pfns(struct rdma_user_mmap_entry *rdma_entry, struct phys_vec *vec,
			 struct p2pdma_provider **provider)
{
	struct pci_dev *pdev = to_mdev(rdma_entry->ucontext->device)->mdev->pdev;

	*provider = pcim_p2pdma_provider(pdev, 0);
	if (!*provider)
		return refuse(to_mdev(rdma_entry->ucontext->device)->mdev, -EOPNOTSUPP,
			      "dma-buf over a UAR or device memory: the device cannot be a target of peer-to-peer DMA");
	vec->paddr = to_mmmap(rdma_entry)->address & PAGE_MASK;
	vec->len = rdma_entry->npages * PAGE_SIZE;
	return 0;
}

static const struct ib_device_ops mmap_export_ops = {
	.mmap_get_pfns = mmap_get_pfns,
	.pgoff_to_mmap_entry = mmap_offset_to_entry,
};

/**
 * mlx5_ib_init_mmap_export - let processes export UAR objects and device memory as dma-bufs
 * @dev: device, not registered yet
 *
 * Another device can then access UAR objects and device memory directly over PCI, without a copy in
 * the host's memory. Static and dynamic UAR pages of a context belong to no object and cannot be
 * exported. May sleep.
 *
 * Return: 0, also on a kernel or host without peer-to-peer DMA, where ib_core refuses the
 * export; or -ENOMEM.
 */
int mlx5_ib_init_mmap_export(struct mlx5_ib_dev *dev)
{
	int err = pcim_p2pdma_init(dev->mdev->pdev);

	if (!err)
		ib_set_device_ops(&dev->ib_dev, &mmap_export_ops);
	return err == -EOPNOTSUPP ? 0 : err;
}
