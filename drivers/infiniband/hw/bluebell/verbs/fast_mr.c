// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of kernel consumers: regions over all memory that DMA can reach, and regions that
 * a work request registers over a list of pages, or of pieces of any length, and that a later work
 * request invalidates.
 */

#include <linux/bits.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "layout/layout_umr.h"
#include "layout/refuse.h"
#include "lib/orphan.h"
#include "verbs/mr.h"

/**
 * struct fast_mr - a region that work requests register and invalidate
 * @mr: the region
 * @gaps: the entries of the list are pieces; otherwise they are pages
 * @pages: list of translation entries, filled up with zeros to whole blocks of
 *	MLX5_IB_UMR_BLOCK_MTTS. A work request that registers the region carries a copy of the
 *	entries if they fit into one block; otherwise the device reads them from the list
 * @pieces: the list if @gaps is set
 * @dma: DMA address of the list
 * @max: entries that the consumer may put into the list
 * @room: entries that the list has memory for: @max, rounded up to whole blocks
 * @used: entries that mlx5_ib_map_mr_sg() has put into the list
 */
struct fast_mr {
	struct mlx5_ib_mr mr;
	bool gaps;
	union {
		__be64 *pages;
		struct mlx5_klm *pieces;
	};
	dma_addr_t dma;
	u32 max;
	u32 room;
	u32 used;
};

/*
 * Maximum number of MTTs, of 8 bytes each, in a list: about half as many as a UMR request can name,
 * which has 16 bits for the length of its list in units of 16 bytes.
 */
#define MAX_LIST_MTTS	BIT(16)
/* An entry for a piece is as long as two entries for pages. */
#define MTTS_PER_KLM	(sizeof(struct mlx5_klm) / sizeof(__be64))
/* Maximum number of bytes of a piece: the count has 31 bits. */
#define MAX_PIECE	GENMASK_ULL(30, 0)

/*
 * Destroy the key of a region. A kernel consumer deregisters a region only once, so a key that
 * firmware refuses to destroy becomes an orphan (orphan.c): the driver sends DESTROY_MKEY again,
 * for example before it deallocates the protection domain, because firmware refuses to deallocate a
 * domain that has a key.
 */
static void discard_key(struct mlx5_ib_mr *mr)
{
	struct mlx5_ib_dev *dev = to_mdev(mr->ibmr.device);
	int err = mlx5_ib_mkey_destroy(dev, &mr->mkey);

	if (!err)
		return;
	mlx5_ib_mkey_table_forget(dev, &mr->mkey);
	mlx5_ib_orphan_adopt(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_MKEY,
			     mlx5_mkey_to_idx(mr->mkey.key), &mr->mkey.attempt, "mkey", NULL, err);
}

/* ---- all of memory ----------------------------------------------------------------------- */

static int dma_mr_dereg(struct mlx5_ib_mr *mr)
{
	discard_key(mr);
	kfree(mr);
	return 0;
}

static const struct mlx5_ib_mr_ops dma_mr_ops = {
	.kind = "all DMA memory",
	.dereg = dma_mr_dereg,
};

/**
 * mlx5_ib_get_dma_mr - create a region over all memory that DMA can reach
 * @pd: protection domain of a kernel consumer
 * @access: enum ib_access_flags
 *
 * ib_alloc_pd() calls this function for each domain of a kernel consumer; the key becomes the
 * domain's local_dma_lkey. Sends CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits). May sleep.
 *
 * Return: the region, or an ERR_PTR: -ENOMEM, or the errno of a failed command.
 */
struct ib_mr *mlx5_ib_get_dma_mr(struct ib_pd *pd, int access)
{
	struct mlx5_ib_mr *mr __free(kfree) = kzalloc_obj(*mr);
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mlx5_ib_fill_mkc_access(mkc, access, &dev->caps);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_PA);
	MLX5_SET(mkc, mkc, length64, 1);
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, pd, to_mpd(pd)->pdn);
	err = mlx5_ib_mkey_create(dev, NULL, &mr->mkey, in, sizeof(in));
	if (err)
		return ERR_PTR(err);
	mr->ops = &dma_mr_ops;
	mr->ibmr.device = pd->device;
	mlx5_ib_publish_mr(dev, mr, MLX5_IB_MKEY_MR);
	return &no_free_ptr(mr)->ibmr;
}

/* ---- regions that work requests register ---------------------------------------------------- */

static u32 fast_mr_mtts(const struct fast_mr *mr, u32 entries)
{
	return mr->gaps ? entries * MTTS_PER_KLM : entries;
}

static size_t fast_mr_list_bytes(const struct fast_mr *mr)
{
	return fast_mr_mtts(mr, mr->room) * sizeof(__be64);
}

static void fast_mr_free(struct ib_device *ibdev, struct fast_mr *mr)
{
	dma_unmap_single(to_mdev(ibdev)->dma_device, mr->dma, fast_mr_list_bytes(mr),
			 DMA_TO_DEVICE);
	kfree(mr->pages);
	kfree(mr);
}

static int fast_mr_dereg(struct mlx5_ib_mr *mr)
{
	discard_key(mr);
	fast_mr_free(mr->ibmr.device, container_of(mr, struct fast_mr, mr));
	return 0;
}

static const struct mlx5_ib_mr_ops fast_mr_ops = {
	.kind = "registered by work requests",
	.dereg = fast_mr_dereg,
};

static struct fast_mr *to_fast_mr(struct ib_mr *ibmr)
{
	WARN_ON_ONCE(to_mmr(ibmr)->ops != &fast_mr_ops);
	return container_of(to_mmr(ibmr), struct fast_mr, mr);
}

static struct fast_mr *fast_mr_alloc(struct ib_device *ibdev, bool gaps, u32 max_num_sg)
{
	struct device *dma_device = to_mdev(ibdev)->dma_device;
	struct fast_mr *mr __free(kfree) = kzalloc_obj(*mr);

	if (!mr)
		return NULL;
	mr->gaps = gaps;
	mr->max = max_num_sg;
	mr->room = ALIGN(max_num_sg, MLX5_IB_UMR_BLOCK_MTTS);
	mr->pages = kzalloc(mlx5_ib_umr_list_alloc_bytes(fast_mr_list_bytes(mr)), GFP_KERNEL);
	if (!mr->pages)
		return NULL;
	mr->dma = dma_map_single(dma_device, mr->pages, fast_mr_list_bytes(mr), DMA_TO_DEVICE);
	if (dma_mapping_error(dma_device, mr->dma)) {
		kfree(mr->pages);
		return NULL;
	}
	return_ptr(mr);
}

/**
 * mlx5_ib_max_fast_reg - maximum number of entries of a region that work requests register
 * @caps: what the device can do
 * @gaps: the entries are pieces of any length, not pages
 *
 * Return: the number; 0 for pieces if UMR cannot fill indirect mkeys.
 */
u32 mlx5_ib_max_fast_reg(const struct mlx5_ib_caps *caps, bool gaps)
{
	if (!gaps)
		return MAX_LIST_MTTS;
	if (MLX5_CAP_GEN(caps->mdev, umr_indirect_mkey_disabled))
		return 0;
	return min(MAX_LIST_MTTS / MTTS_PER_KLM,
		   BIT(MLX5_CAP_GEN(caps->mdev, log_max_klm_list_size)));
}

static int fast_mr_check(const struct mlx5_ib_caps *caps, enum ib_mr_type type, u32 max_num_sg)
{
	bool gaps = type == IB_MR_TYPE_SG_GAPS;
	u32 max = mlx5_ib_max_fast_reg(caps, gaps);

	if (type != IB_MR_TYPE_MEM_REG && !gaps)
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "MR of type %d, only MEM_REG (0) and SG_GAPS (1) are possible", type);
	if (!max)
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "MR of type SG_GAPS (1): the device cannot do it (umr_indirect_mkey_disabled)");
	if (!max_num_sg || max_num_sg > max)
		return refuse(caps->mdev, -EINVAL, "region of %u %s, 1 to %u are possible",
			      max_num_sg, gaps ? "SG entries" : "pages", max);
	return 0;
}

/**
 * mlx5_ib_alloc_mr - allocate a region that work requests register and invalidate
 * @pd: protection domain of a kernel consumer
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg: maximum number of pages or pieces that the region is registered over
 *
 * Implements ib_alloc_mr() with CREATE_MKEY (struct mlx5_ifc_create_mkey_in_bits): the key is free,
 * that is, gives access to nothing, and requests of queue pairs in the domain may fill it. May
 * sleep.
 *
 * Return: the region, or an ERR_PTR: -EOPNOTSUPP for another type, or for pieces if UMR cannot fill
 * indirect mkeys; -EINVAL for no entries or too many; -ENOMEM; or the errno of a failed command.
 */
struct ib_mr *mlx5_ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct mlx5_ib_dev *dev = to_mdev(pd->device);
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	struct mlx5_ib_mkc_attr attr = {
		.pdn = to_mpd(pd)->pdn,
		.page_shift = PAGE_SHIFT,
		.free = true,
		.klm = type == IB_MR_TYPE_SG_GAPS,
	};
	struct fast_mr *mr;
	int err;

	err = fast_mr_check(&dev->caps, type, max_num_sg);
	if (err)
		return ERR_PTR(err);
	mr = fast_mr_alloc(pd->device, attr.klm, max_num_sg);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	attr.room = fast_mr_mtts(mr, mr->room);
	mlx5_ib_fill_create_mkey(in, &attr, &dev->caps);
	/* A peer that has the key may invalidate the region by a SEND with invalidate. */
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.en_rinval, 1);
	err = mlx5_ib_mkey_create(dev, NULL, &mr->mr.mkey, in, sizeof(in));
	if (err) {
		fast_mr_free(pd->device, mr);
		return ERR_PTR(err);
	}
	mr->mr.ops = &fast_mr_ops;
	mr->mr.ibmr.device = pd->device;
	mlx5_ib_publish_mr(dev, &mr->mr, MLX5_IB_MKEY_MR);
	return &mr->mr.ibmr;
}

static int fast_mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct fast_mr *mr = to_fast_mr(ibmr);

	if (mr->used == mr->max)
		return -ENOMEM;
	mr->pages[mr->used++] = cpu_to_be64(addr);
	return 0;
}

static int fast_mr_map_pages(struct fast_mr *mr, struct scatterlist *sg, int sg_nents,
			     unsigned int *sg_offset)
{
	int n = ib_sg_to_pages(&mr->mr.ibmr, sg, sg_nents, sg_offset, fast_mr_set_page);

	mlx5_ib_umr_mark_present(mr->pages, mr->used);
	return n;
}

/*
 * Add memory to the list. Memory that continues the last piece makes that piece longer: the fewer
 * pieces, the less the device has to read and to search. The key of each piece is the domain's
 * local_dma_lkey. Returns false if the list is full.
 */
static bool fast_mr_add_piece(struct fast_mr *mr, u64 addr, u32 len)
{
	struct mlx5_klm *last = mr->pieces + mr->used - 1;
	struct ib_mr *ibmr = &mr->mr.ibmr;

	if (mr->used && addr == be64_to_cpu(last->va) + be32_to_cpu(last->bcount) &&
	    be32_to_cpu(last->bcount) + (u64)len <= MAX_PIECE)
		be32_add_cpu(&last->bcount, len);
	else if (mr->used < mr->max)
		mr->pieces[mr->used++] = (struct mlx5_klm){
			.bcount = cpu_to_be32(len),
			.key = cpu_to_be32(ibmr->pd->local_dma_lkey),
			.va = cpu_to_be64(addr),
		};
	else
		return false;
	ibmr->length += len;
	return true;
}

/*
 * Fill the list with pieces. An entry of the scatterlist is up to 2 GiB long
 * (dma_get_max_seg_size()), one byte more than a piece, so the entry may become two pieces. An
 * entry of 0 bytes becomes no piece, because a piece with a count of 0 is 2 GiB long. Returns how
 * many entries of @sg fit completely.
 */
static int fast_mr_map_pieces(struct fast_mr *mr, struct scatterlist *sg, int sg_nents,
			      unsigned int *sg_offset)
{
	unsigned int skip = sg_offset ? *sg_offset : 0;
	u32 len;
	int i;

	mr->mr.ibmr.iova = sg_dma_address(sg) + skip;
	mr->mr.ibmr.length = 0;
	for (i = 0; i < sg_nents; i++, sg = sg_next(sg), skip = 0) {
		for (; skip < sg_dma_len(sg); skip += len) {
			len = min_t(u32, sg_dma_len(sg) - skip, MAX_PIECE);
			if (!fast_mr_add_piece(mr, sg_dma_address(sg) + skip, len))
				goto out;
		}
	}
out:
	if (sg_offset)
		*sg_offset = skip;
	return i;
}

/**
 * mlx5_ib_map_mr_sg - put memory into the list of a region
 * @ibmr: the region, which is not registered at present
 * @sg: the memory, mapped for DMA
 * @sg_nents: entries of @sg
 * @sg_offset: number of bytes to skip at the start of @sg, or NULL to skip nothing; if an entry
 *	does not fit completely, set to the offset, in this entry, of the first byte that does not
 *	fit; otherwise set to 0
 *
 * Implements ib_map_mr_sg(). Any context.
 *
 * Return: how many entries of @sg fit completely, or a negative errno: -EINVAL for pages of a size
 * that the device does not have, or of another size than PAGE_SIZE if the device cannot change the
 * page size of a key; or as ib_sg_to_pages().
 */
int mlx5_ib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		      unsigned int *sg_offset)
{
	struct mlx5_ib_dev *dev = to_mdev(ibmr->device);
	struct device *dma_device = dev->dma_device;
	struct fast_mr *mr = to_fast_mr(ibmr);
	u32 mtts;
	int n;

	if (!mr->gaps && ibmr->page_size != PAGE_SIZE &&
	    MLX5_CAP_GEN(dev->mdev, umr_modify_entity_size_disabled))
		return refuse(dev->mdev, -EINVAL,
			      "region with pages of %u bytes, only %lu is possible",
			      ibmr->page_size, PAGE_SIZE);
	if (!mr->gaps && !(ibmr->page_size & mlx5_ib_mkey_page_sizes(&dev->caps)))
		return refuse(dev->mdev, -EINVAL,
			      "region with pages of %u bytes, the device has those of mask %#lx",
			      ibmr->page_size, mlx5_ib_mkey_page_sizes(&dev->caps));
	mr->used = 0;
	dma_sync_single_for_cpu(dma_device, mr->dma, fast_mr_list_bytes(mr), DMA_TO_DEVICE);
	n = mr->gaps ? fast_mr_map_pieces(mr, sg, sg_nents, sg_offset) :
		       fast_mr_map_pages(mr, sg, sg_nents, sg_offset);
	mtts = fast_mr_mtts(mr, mr->used);
	memset(mr->pages + mtts, 0,
	       (ALIGN(mtts, MLX5_IB_UMR_BLOCK_MTTS) - mtts) * sizeof(*mr->pages));
	dma_sync_single_for_device(dma_device, mr->dma, fast_mr_list_bytes(mr), DMA_TO_DEVICE);
	return n;
}

/**
 * mlx5_ib_fast_mr_fill_wqe - build the WQE that registers a region
 * @dev: device
 * @wqe: zeroed WQE
 * @wr: the request of the consumer: a region of mlx5_ib_alloc_mr(), its key with a new low byte
 *	(the variant), and access rights
 */
void mlx5_ib_fast_mr_fill_wqe(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
			      const struct ib_reg_wr *wr)
{
	const struct fast_mr *mr = to_fast_mr(wr->mr);
	const struct mlx5_ib_mkc_attr attr = {
		.access = wr->access,
		.pdn = to_mpd(wr->mr->pd)->pdn,
		.iova = wr->mr->iova,
		.length = wr->mr->length,
		.page_shift = ilog2(wr->mr->page_size),
		.nmtts = fast_mr_mtts(mr, mr->used),
		.klm = mr->gaps,
		.variant = wr->key & 0xff,
	};

	mlx5_ib_umr_fill_reg(wqe, wr->key, &attr, &dev->caps);
	mlx5_ib_umr_fill_entries(wqe, wr->key, wr->mr->pd->local_dma_lkey, mr->pages, mr->dma,
				 attr.nmtts);
}
