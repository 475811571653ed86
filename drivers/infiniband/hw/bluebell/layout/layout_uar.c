// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UAR layout: how many blue-flame registers (bfregs) the context of a process gets, in which UAR
 * each bfreg lies, which bfreg a queue takes, and the offsets that mmap() is called with. Pure
 * functions only; mlx5_ib_uar_address() alone depends on PAGE_SIZE.
 */

#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>

#include "layout/layout_uar.h"
#include "layout/refuse.h"

/**
 * mlx5_ib_uars_per_sys_page - device UARs in one page of the host
 * @page_shift: log2 of the host's page size
 * @uar_4k: UARs have 4 KiB; otherwise a UAR is as long as a page of the host
 *
 * Return: the number of UARs.
 */
u32 mlx5_ib_uars_per_sys_page(unsigned int page_shift, bool uar_4k)
{
	return uar_4k ? 1U << (page_shift - MLX5_ADAPTER_PAGE_SHIFT) : 1;
}

/**
 * mlx5_ib_first_uar - find the first UAR of a page
 * @layout: the context's bfregs
 * @uar: the device's index of a UAR in the page
 *
 * ALLOC_UAR allocates a page, and returns the index of the first UAR in it. If the device has UARs
 * of 4 KiB, a larger page has several UARs, and libraries use all of them.
 *
 * Return: the device's index of the first UAR in the page.
 */
u32 mlx5_ib_first_uar(const struct mlx5_bfreg_layout *layout, u32 uar)
{
	return ALIGN_DOWN(uar, layout->uars_per_sys_page);
}

/**
 * mlx5_ib_calc_total_bfregs - lay out the bfregs that a library asks for
 * @total: number of static bfregs that the library asks for
 * @low_latency: number of static bfregs that serve one queue each
 * @page_shift: log2 of the host's page size
 * @uar_4k: as for mlx5_ib_uars_per_sys_page()
 * @layout: the result
 *
 * Only two of a UAR's four bfregs are counted: the other two, for the fast path, are not used. The
 * function rounds the number of static bfregs up, so that they fill whole pages of the host.
 *
 * Return: 0; -EINVAL if @total is 0, or if no bfreg would be left that is not a low-latency bfreg;
 * -ENOMEM if @total is more than MLX5_MAX_BFREGS.
 */
int mlx5_ib_calc_total_bfregs(u32 total, u32 low_latency, unsigned int page_shift, bool uar_4k,
			      struct mlx5_bfreg_layout *layout)
{
	u32 uars_per_sys_page = mlx5_ib_uars_per_sys_page(page_shift, uar_4k);
	u32 per_page = uars_per_sys_page * MLX5_NON_FP_BFREGS_PER_UAR;
	/*
	 * A library that does not know of UARs of 4 KiB takes a whole page for each UAR, so that
	 * there are fewer UARs on a host with larger pages: let it add fewer, as mlx5_ib does.
	 */
	u32 num_dyn = !uar_4k && page_shift > MLX5_ADAPTER_PAGE_SHIFT ? MLX5_MIN_DYN_BFREGS :
									MLX5_MAX_DYN_BFREGS;

	if (!total)
		return refuse(NULL, -EINVAL,
			      "context of 0 bfregs, which needs MLX5_LIB_CAP_DYN_UAR");
	if (total > MLX5_MAX_BFREGS)
		return refuse(NULL, -ENOMEM, "context of %u bfregs, at most %u", total,
			      MLX5_MAX_BFREGS);
	total = ALIGN(total, per_page);
	if (low_latency > total - 1)
		return refuse(NULL, -EINVAL, "context of %u low-latency bfregs, at most %u",
			      low_latency, total - 1);

	*layout = (struct mlx5_bfreg_layout){
		.uars_per_sys_page = uars_per_sys_page,
		.num_low_latency_bfregs = low_latency,
		.num_static_bfregs = total,
		.num_dyn_bfregs = ALIGN(num_dyn, per_page),
		.num_static_sys_pages = total / per_page,
	};
	layout->num_sys_pages = (total + layout->num_dyn_bfregs) / per_page;
	return 0;
}

/**
 * mlx5_ib_pick_bfreg - choose the bfreg of a new queue
 * @layout: the context's bfregs
 * @count: number of queues on each static bfreg
 *
 * The library takes no lock on a low-latency bfreg, so such a bfreg serves one queue: take the
 * lowest free one. If none is free, take the medium-latency bfreg with the fewest queues; the
 * library takes a lock on such a bfreg. If the context has no medium-latency bfreg, take bfreg 0,
 * which any number of queues may share without a lock: the library only rings doorbells there, and
 * writes no WQEs to it (BlueFlame).
 *
 * Return: number of the bfreg, or -ENOMEM if the context has no static bfregs.
 */
int mlx5_ib_pick_bfreg(const struct mlx5_bfreg_layout *layout, const unsigned int *count)
{
	u32 first_low_latency = layout->num_static_bfregs - layout->num_low_latency_bfregs;
	u32 i, best;

	if (!layout->num_static_bfregs)
		return refuse(NULL, -ENOMEM, "QP names no bfreg, and the context has none");
	for (i = first_low_latency; i < layout->num_static_bfregs; i++)
		if (!count[i])
			return i;
	if (first_low_latency < 2)
		return 0;

	best = 1;
	for (i = 2; i < first_low_latency; i++)
		if (count[i] < count[best])
			best = i;
	return best;
}

/**
 * mlx5_ib_bfreg_to_uar_index - which UAR a bfreg lies in
 * @layout: the context's bfregs
 * @sys_pages: for each of the context's UAR pages, the device's index of the first UAR in it
 * @bfregn: number of the bfreg, counted from the first static or the first dynamic bfreg
 * @dyn_bfreg: @bfregn counts from the first dynamic bfreg
 *
 * Return: the device's index of the UAR, or -EINVAL for a bfreg that the context does not have
 * or whose page has no UAR.
 */
int mlx5_ib_bfreg_to_uar_index(const struct mlx5_bfreg_layout *layout, const u32 *sys_pages,
			       u32 bfregn, bool dyn_bfreg)
{
	u32 num = dyn_bfreg ? layout->num_dyn_bfregs : layout->num_static_bfregs;
	u32 per_page = layout->uars_per_sys_page * MLX5_NON_FP_BFREGS_PER_UAR;
	u32 page;

	if (bfregn >= num)
		return refuse(NULL, -EINVAL,
			      "%s bfreg %u does not exist: the context has %u of them, counted from 0",
			      dyn_bfreg ? "dynamic" : "static", bfregn, num);
	page = bfregn / per_page;
	if (dyn_bfreg)
		page += layout->num_static_sys_pages;
	if (sys_pages[page] == MLX5_IB_INVALID_UAR_INDEX)
		return refuse(NULL, -EINVAL,
			      "queue on dynamic bfreg %u, whose UAR page has not been mapped",
			      bfregn);
	return sys_pages[page] + bfregn % per_page / MLX5_NON_FP_BFREGS_PER_UAR;
}

/**
 * mlx5_ib_bfregn_to_user_index - index of a static bfreg in the library's table
 * @bfregn: number of the bfreg
 *
 * The library's table has all four bfregs of a UAR.
 *
 * Return: the index.
 */
u32 mlx5_ib_bfregn_to_user_index(u32 bfregn)
{
	return bfregn / MLX5_NON_FP_BFREGS_PER_UAR * MLX5_BFREGS_PER_UAR +
	       bfregn % MLX5_NON_FP_BFREGS_PER_UAR;
}

/**
 * mlx5_ib_bfreg_class - class of a bfreg: how many queues it serves, and whether libraries lock it
 * @layout: the context's bfregs
 * @number: number of the bfreg; dynamic bfregs are counted after the static bfregs
 *
 * Return: the class; mlx5_ib_pick_bfreg() says what the classes are.
 */
enum bluebell_bfreg_class mlx5_ib_bfreg_class(const struct mlx5_bfreg_layout *layout, u32 number)
{
	if (number >= layout->num_static_bfregs)
		return BLUEBELL_BFREG_DYNAMIC;
	if (number >= layout->num_static_bfregs - layout->num_low_latency_bfregs)
		return BLUEBELL_BFREG_LOW_LATENCY;
	return number ? BLUEBELL_BFREG_MEDIUM_LATENCY : BLUEBELL_BFREG_HIGH_LATENCY;
}

/**
 * mlx5_ib_uar_to_pfn - find the page frame in which a UAR lies
 * @bar_addr: physical address of BAR 0
 * @uar_index: the device's index of the UAR
 * @page_shift: log2 of the host's page size
 * @uar_4k: as for mlx5_ib_uars_per_sys_page()
 *
 * Return: the page frame number.
 */
VISIBLE_IF_KUNIT
u64 mlx5_ib_uar_to_pfn(u64 bar_addr, u32 uar_index, unsigned int page_shift, bool uar_4k)
{
	if (uar_4k)
		uar_index >>= page_shift - MLX5_ADAPTER_PAGE_SHIFT;
	return (bar_addr >> page_shift) + uar_index;
}

/**
 * mlx5_ib_uar_address - physical address of the page of the host in which a UAR lies
 * @mdev: device
 * @uar_index: the device's index of the UAR
 *
 * Return: the address.
 */
phys_addr_t mlx5_ib_uar_address(struct mlx5_core_dev *mdev, u32 uar_index)
{
	return mlx5_ib_uar_to_pfn(mdev->bar_addr, uar_index, PAGE_SHIFT,
				  MLX5_CAP_GEN(mdev, uar_4k)) << PAGE_SHIFT;
}

/**
 * mlx5_ib_uar_page_pgoff - the mmap offset of a static or dynamic UAR page
 * @layout: the context's bfregs
 * @page: number of the page; static pages are counted first
 *
 * Return: the offset, in pages, with the command MLX5_IB_MMAP_REGULAR_PAGE or
 * MLX5_IB_MMAP_ALLOC_WC. A static page can also be mapped by other commands, at other offsets.
 */
u32 mlx5_ib_uar_page_pgoff(const struct mlx5_bfreg_layout *layout, u32 page)
{
	u32 index = page - layout->num_static_sys_pages;

	if (page < layout->num_static_sys_pages)
		return MLX5_IB_MMAP_REGULAR_PAGE << 8 | (page & 0xff);
	return index >> 8 << 16 | MLX5_IB_MMAP_ALLOC_WC << 8 | (index & 0xff);
}

/* Number of indices of an mmap command; only ALLOC_WC and DEVICE_MEM can have more than 256. */
static u32 mmap_num_indices(const struct mlx5_bfreg_layout *layout, u32 command)
{
	switch (command) {
	case MLX5_IB_MMAP_REGULAR_PAGE:
	case MLX5_IB_MMAP_WC_PAGE:
	case MLX5_IB_MMAP_NC_PAGE:
		return min(layout->num_static_sys_pages, 256);
	case MLX5_IB_MMAP_ALLOC_WC:
		return layout->num_sys_pages - layout->num_static_sys_pages;
	case MLX5_IB_MMAP_DEVICE_MEM:
		return MLX5_IB_MMAP_DM_END + 1 - MLX5_IB_MMAP_DM_START;
	case MLX5_IB_MMAP_CORE_CLOCK:
		return 1;
	case MLX5_IB_MMAP_CLOCK_INFO:
		return 256;
	default:
		return 0;
	}
}

/**
 * mlx5_ib_decode_mmap_offset - decode an mmap offset
 * @pgoff: the offset, in pages, from the user
 * @layout: the context's bfregs
 * @index: gets the number of a UAR page among the static or the dynamic pages of the context; or,
 *	if the command is MLX5_IB_MMAP_DEVICE_MEM, the offset of the object's rdma_user_mmap_entry
 *
 * Return: the command (enum mlx5_ib_mmap_cmd), which is MLX5_IB_MMAP_DEVICE_MEM also for an offset
 * that names an object; -EINVAL for an unknown command, an index that the command does not have, or
 * an offset that is too large; -EOPNOTSUPP for clock parameters of a version that does not exist.
 */
int mlx5_ib_decode_mmap_offset(unsigned long pgoff, const struct mlx5_bfreg_layout *layout,
			       u32 *index)
{
	u32 command = pgoff >> 8 & 0xff;
	u32 num = mmap_num_indices(layout, command);

	*index = pgoff;
	if (pgoff >= MLX5_IB_MMAP_OFFSET_START && pgoff <= MLX5_IB_MMAP_OFFSET_END)
		return MLX5_IB_MMAP_DEVICE_MEM;
	*index = pgoff >> 16 << 8 | (pgoff & 0xff);
	if (pgoff > MLX5_IB_MMAP_OFFSET_END || *index >= num)
		return refuse(NULL, -EINVAL,
			      "mmap of page offset %#lx: index %u, command %u has %u indices",
			      pgoff, *index, command, num);
	if (command == MLX5_IB_MMAP_CLOCK_INFO && *index != MLX5_IB_CLOCK_INFO_V1)
		return refuse(NULL, -EOPNOTSUPP,
			      "mmap of clock parameters of version %u, only %u exists", *index,
			      MLX5_IB_CLOCK_INFO_V1);
	if (command == MLX5_IB_MMAP_DEVICE_MEM)
		*index += MLX5_IB_MMAP_DM_START;
	return command;
}
