// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: what regions of every kind have in common. They are found by key, held by a
 * reference, and paged in by the operation of their kind, and keys over pages are created alike.
 */

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "fw/bluebell.h"
#include "layout/layout_mkey.h"
#include "lib/umr.h"
#include "odp/odp_internal.h"

/**
 * mlx5_ib_odp_mr_get - look up a paged region by its key and take a reference
 * @odp: paging state of the device
 * @key: memory key, its variant included
 *
 * Deregistration waits until the reference is released. Any process context.
 *
 * Return: the region, whose key is to be released with mlx5_ib_mkey_put(); NULL if @key is
 * not the key of a paged region.
 */
struct odp_mr *mlx5_ib_odp_mr_get(struct mlx5_ib_odp *odp, u32 key)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get(odp->dev, key, MLX5_IB_MKEY_ODP_MR);

	return mkey ? container_of(mkey, struct odp_mr, mr.mkey) : NULL;
}

/**
 * mlx5_ib_odp_mr_get_lowest - look up the region of a key on which the device has faulted
 * @odp: paging state of the device
 * @key: the lowest key of the access, whose own entries translate to pages: the key of an explicit
 *	region, of a leaf (a part of an implicit region, see odp_tree.c), or of all addresses of an
 *	implicit region that have no leaf. The device has checked the variant
 *
 * The reference is to the region and not to the key of a leaf: reclaim of the leaf waits, with the
 * lock of the tree held, for the references to the leaf's key, and page-in takes this lock. Any
 * process context.
 *
 * Return: as mlx5_ib_odp_mr_get().
 */
struct odp_mr *mlx5_ib_odp_mr_get_lowest(struct mlx5_ib_odp *odp, u32 key)
{
	struct mlx5_ib_mkey *part = mlx5_ib_mkey_get_any(odp->dev, key, MLX5_IB_MKEY_ODP_PART);
	struct mlx5_ib_mkey *mkey;
	struct odp_mr *mr;

	if (part) {
		mr = container_of(part, struct odp_key, own)->mr;
		if (!mlx5_ib_mkey_hold(&mr->mr.mkey))
			mr = NULL;
		mlx5_ib_mkey_put(part);
		return mr;
	}
	mkey = mlx5_ib_mkey_get_any(odp->dev, key, MLX5_IB_MKEY_ODP_MR);
	return mkey ? container_of(mkey, struct odp_mr, mr.mkey) : NULL;
}

/*
 * Page in a range. Memory that the driver or the exporter of a dma-buf allocates meanwhile, with
 * __GFP_ACCOUNT, is charged to the memory cgroup of the process that has registered the region. The
 * current task may be a kernel thread, which is in no such cgroup.
 */
static int odp_mr_page_in_charged(struct odp_mr *mr, u64 offset, u64 len, unsigned long req)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mr->process->mm), *old;
	int ret;

	old = set_active_memcg(memcg);
	ret = mr->ops->page_in(mr, offset, len, req);
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return ret;
}

/**
 * mlx5_ib_odp_mr_page_in - map a range of a region's pages into the device
 * @mr: the region, on which the caller holds a reference
 * @addr: first address of the range, as work requests name it
 * @len: length of the range in bytes
 * @req: as for the page_in operation of struct odp_mr_ops
 *
 * May sleep. Takes mmap_lock and @lock of struct odp_leaf, for an implicit region also @tree_lock;
 * for a region over a dma-buf only the reservation lock.
 *
 * Return: -EFAULT if the range leaves the region; -EAGAIN if the UMR queue pair did not run within
 * the second that the function waits for it; otherwise as the page_in operation of the region's
 * kind, see struct odp_mr_ops, but -EIO instead of -EAGAIN.
 */
int mlx5_ib_odp_mr_page_in(struct odp_mr *mr, u64 addr, u64 len, unsigned long req)
{
	const struct ib_mr *ibmr = &mr->mr.ibmr;
	int err, ret;

	/*
	 * If UMR does not work when a page has to be unmapped, the driver has to destroy the key,
	 * and the device loses access to all that the key covers. So map no page until UMR works.
	 */
	err = mlx5_ib_umr_await(mr->odp->dev);
	if (err)
		return err;
	if (addr < ibmr->iova || len > ibmr->length || addr - ibmr->iova > ibmr->length - len)
		return -EFAULT;
	ret = odp_mr_page_in_charged(mr, addr - ibmr->iova, len, req);
	return ret == -EAGAIN ? -EIO : ret;
}

/**
 * mlx5_ib_odp_mr_is_closing - whether a region is being deregistered
 * @mr: the region, on which the caller holds a reference
 *
 * Deregistration waits until the caller releases the reference, so a caller with much to do asks
 * from time to time, and stops if the region is being deregistered.
 *
 * Return: true if the region is being deregistered.
 */
bool mlx5_ib_odp_mr_is_closing(const struct odp_mr *mr)
{
	return READ_ONCE(mr->mr.mkey.type) == MLX5_IB_MKEY_PRIVATE;
}

/* Whether the process neither is being killed nor has exited. */
static bool odp_process_is_alive(struct pid *tgid)
{
	struct task_struct *task;

	guard(rcu)();
	task = pid_task(tgid, PIDTYPE_TGID);
	return task && !(READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT);
}

/**
 * mlx5_ib_odp_mr_get_mm - take a reference to the address space of a region's process
 * @mr: the region, not over a dma-buf
 *
 * The process's memory is not freed while its address space is in use. So this function returns
 * no address space of a process that is being killed. The caller calls mmput_async() as soon as it
 * does not need the address space any more.
 *
 * Return: the address space, for which mmput_async() is to be called; or NULL.
 */
struct mm_struct *mlx5_ib_odp_mr_get_mm(const struct odp_mr *mr)
{
	if (!odp_process_is_alive(mr->tgid) || !mmget_not_zero(mr->mm))
		return NULL;
	return mr->mm;
}

/**
 * mlx5_ib_odp_create_key - create a key in which no page is mapped yet
 * @mr: region that the key belongs to
 * @mkey: the key, zeroed
 * @iova: first address of the key
 * @length: length in bytes
 * @nmtts: number of translation entries, whole blocks
 *
 * May sleep.
 *
 * Return: as mlx5_ib_mkey_create_mtts().
 */
int mlx5_ib_odp_create_key(struct odp_mr *mr, struct mlx5_ib_mkey *mkey, u64 iova, u64 length,
			   u32 nmtts)
{
	struct mlx5_ib_mkc_attr attr = {
		.access = mr->mr.access,
		.pdn = to_mpd(mr->mr.ibmr.pd)->pdn,
		.iova = iova,
		.length = length,
		.page_shift = PAGE_SHIFT,
		.nmtts = nmtts,
	};

	return mlx5_ib_mkey_create_mtts(mr->odp->dev, mr->context, mkey, NULL, &attr);
}
