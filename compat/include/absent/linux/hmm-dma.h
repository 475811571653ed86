/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * DMA mappings of the pages of a process, on kernels without <linux/hmm-dma.h>: one page after the
 * other by dma_map_page(). Pages of peer devices are refused.
 */

#ifndef BLUEBELL_COMPAT_HMM_DMA_H
#define BLUEBELL_COMPAT_HMM_DMA_H

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/slab.h>

/**
 * struct hmm_dma_map - pages, and their DMA addresses
 * @pfn_list: the pages, as hmm_range_fault() has found them, with HMM_PFN_DMA_MAPPED if mapped
 * @dma_list: the DMA addresses of the mapped pages
 */
struct hmm_dma_map {
	unsigned long *pfn_list;
	dma_addr_t *dma_list;
};

static inline void hmm_dma_map_free(struct device *dev, struct hmm_dma_map *map)
{
	kvfree(map->pfn_list);
	kvfree(map->dma_list);
}

/*
 * Whether the kernel may map pages for the device by bounce buffers, as far as is known before it
 * does. Nothing would copy what the device and the process write.
 */
static inline bool bb_dma_may_bounce(struct device *dev)
{
#ifdef CONFIG_DMA_NEED_SYNC
	if (bb_dma_is_direct(dev) && !dev->dma_skip_sync)
		return true;
#endif
	return dma_addressing_limited(dev);
}

static inline int hmm_dma_map_alloc(struct device *dev, struct hmm_dma_map *map, size_t num,
				    size_t bytes)
{
	if (bb_dma_may_bounce(dev))
		return -EOPNOTSUPP;
	map->pfn_list = kvcalloc(num, sizeof(*map->pfn_list), GFP_KERNEL | __GFP_NOWARN);
	map->dma_list = kvcalloc(num, sizeof(*map->dma_list), GFP_KERNEL | __GFP_NOWARN);
	if (map->pfn_list && map->dma_list)
		return 0;
	hmm_dma_map_free(dev, map);
	return -ENOMEM;
}

static inline dma_addr_t hmm_dma_map_pfn(struct device *dev, struct hmm_dma_map *map, size_t i,
					 struct pci_p2pdma_map_state *state)
{
	struct page *page = hmm_pfn_to_page(map->pfn_list[i]);
	dma_addr_t dma;

	if (map->pfn_list[i] & HMM_PFN_DMA_MAPPED)
		return map->dma_list[i];
	if (is_pci_p2pdma_page(page))
		return DMA_MAPPING_ERROR;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma))
		return DMA_MAPPING_ERROR;
	if (bb_is_bounced(dev, dma)) {
		/* A bounce buffer. */
		dma_unmap_page(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
		return DMA_MAPPING_ERROR;
	}
	map->dma_list[i] = dma;
	map->pfn_list[i] |= HMM_PFN_DMA_MAPPED;
	return dma;
}

static inline bool hmm_dma_unmap_pfn(struct device *dev, struct hmm_dma_map *map, size_t i)
{
	if (!(map->pfn_list[i] & HMM_PFN_DMA_MAPPED))
		return false;
	dma_unmap_page(dev, map->dma_list[i], PAGE_SIZE, DMA_BIDIRECTIONAL);
	map->pfn_list[i] &= ~HMM_PFN_DMA_MAPPED;
	return true;
}

#endif /* BLUEBELL_COMPAT_HMM_DMA_H */
