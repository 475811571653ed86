/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the driver share: the device, the user context and the
 * services, and every verb's entry point. Queue and key structures are in
 * cq.h, qp.h, srq.h and mr.h; struct mlx5_ib_ah is in linux/mlx5/qp.h.
 */

#ifndef BLUEBELL_H
#define BLUEBELL_H

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "layout_uar.h"

struct mlx5_ib_mkey_cache;
struct mlx5_ib_odp;
struct mlx5_ib_umr;
struct mlx5_ib_user_db_page;
struct mlx5_ib_xrc;

/**
 * struct mlx5_ib_db - a doorbell record of a user
 * @dma: its address, as the device sees it; 0 if there is none
 * @page: the pinned page it lies in
 */
struct mlx5_ib_db {
	dma_addr_t dma;
	struct mlx5_ib_user_db_page *page;
};

#include "cq.h"
#include "dm.h"
#include "event.h"
#include "mr.h"
#include "qp.h"
#include "srq.h"
#include "odp.h"
#include "umr_qp.h"
#include "xrc.h"

/**
 * struct mlx5_ib_dev - one HCA
 * @ib_dev: the device as the RDMA core sees it; first
 * @mdev: the PCI function underneath, owned by mlx5_core
 * @mdev_events: receives the device's asynchronous events
 * @qp_events: finds QPs when the device raises an event
 * @srq_events: the same for SRQs
 * @mkey_variant: low byte of the next memory key, so that a key that was
 *	destroyed is not the one that takes its place
 * @dm: the device's own memory
 * @umr: changes memory keys without firmware commands; NULL if the device
 *	cannot. Constant while the device is registered
 * @mkey_cache: free keys for it; there if @umr is
 * @odp: pages memory in; NULL if the device cannot. Constant as @umr is
 * @xrc: the driver's own objects for XRC queue pairs; NULL if the device has no XRC.
 *	Constant as @umr is
 * @dump_fill_mkey: key that takes and gives nothing, valid if @has_dump_fill
 * @has_dump_fill: the device has such a key
 * @sys_image_guid: of the box the device is in
 * @vendor_id: of the board, from the adapter
 */
struct mlx5_ib_dev {
	struct ib_device ib_dev;
	struct mlx5_core_dev *mdev;
	struct notifier_block mdev_events;
	struct mlx5_ib_event_table qp_events;
	struct mlx5_ib_event_table srq_events;
	atomic_t mkey_variant;
	struct mlx5_ib_dm_pool dm;
	struct mlx5_ib_umr *umr;
	struct mlx5_ib_mkey_cache *mkey_cache;
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_xrc *xrc;
	u32 dump_fill_mkey;
	bool has_dump_fill;
	__be64 sys_image_guid;
	u32 vendor_id;
};

/**
 * struct mlx5_bfreg_info - a context's UAR pages and who rings which bfreg
 * @layout: sizes, fixed when the context is made
 * @sys_pages: device index of the first UAR of each page, static pages first;
 *	MLX5_IB_INVALID_UAR_INDEX for a dynamic page without one. Guarded by @lock.
 * @count: queues on each static bfreg. Guarded by @lock.
 * @lock: taken by queue creation, destruction and mmap. Held across ALLOC_UAR
 *	of a dynamic page so that two mappings of one page can't both allocate.
 * @ver: version of the request that made the context
 * @lib_uar_4k: the library knows of UARs smaller than the page
 * @lib_uar_dyn: the library allocates every UAR as an object; no static pages
 */
struct mlx5_bfreg_info {
	struct mlx5_bfreg_layout layout;
	u32 *sys_pages;
	unsigned int *count;
	struct mutex lock;	/* sys_pages, count */
	u8 ver;
	bool lib_uar_4k;
	bool lib_uar_dyn;
};

/**
 * struct mlx5_ib_ucontext - an opened device
 * @ibucontext: as the RDMA core sees it; first
 * @bfregi: UAR pages and bfregs
 * @db_pages: pinned doorbell pages, by user page number
 * @db_lock: guards @db_pages and the pages in it. Held while a page is pinned,
 *	so that a page is pinned once.
 * @uars: UAR objects by device page id. The xarray's lock orders lookup and
 *	removal.
 * @tdn: transport domain, valid if @has_tdn
 * @has_tdn: the device has transport domains
 * @lib_caps: MLX5_LIB_CAP_* of the library
 * @cqe_version: of the completions that the library reads
 */
struct mlx5_ib_ucontext {
	struct ib_ucontext ibucontext;
	struct mlx5_bfreg_info bfregi;
	struct xarray db_pages;
	struct mutex db_lock;	/* db_pages */
	struct xarray uars;
	u32 tdn;
	bool has_tdn;
	u64 lib_caps;
	u8 cqe_version;
};

/**
 * struct mlx5_ib_pd - protection domain
 * @ibpd: as the RDMA core sees it; first
 * @pdn: number
 */
struct mlx5_ib_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

/**
 * enum mlx5_ib_mmap_type - what is at a place of the mmap space
 * @MLX5_IB_MMAP_TYPE_UAR: a UAR object
 * @MLX5_IB_MMAP_TYPE_MEMIC: device memory
 * @MLX5_IB_MMAP_TYPE_MEMIC_OP: addresses that do an operation to device memory
 */
enum mlx5_ib_mmap_type {
	MLX5_IB_MMAP_TYPE_UAR,
	MLX5_IB_MMAP_TYPE_MEMIC,
	MLX5_IB_MMAP_TYPE_MEMIC_OP,
};

/**
 * struct mlx5_user_mmap_entry - a place in the mmap space
 * @rdma_entry: offset and references: the object, each mapping, and of a UAR
 *	each queue
 * @type: what is there
 * @page_id: device index of the UAR
 * @wc: of a UAR: mapped write combining, otherwise uncached
 * @mem: the device memory, on which the place has a reference
 * @address: bus address of device memory, or of the operation on its first byte
 * @op: number of the operation
 */
struct mlx5_user_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	enum mlx5_ib_mmap_type type;
	union {
		struct {
			u32 page_id;
			bool wc;
		};
		struct {
			struct mlx5_ib_memic *mem;
			phys_addr_t address;
			u8 op;
		};
	};
};

static inline struct mlx5_ib_dev *to_mdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct mlx5_ib_dev, ib_dev);
}

static inline struct mlx5_ib_ucontext *to_mucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct mlx5_ib_ucontext, ibucontext);
}

static inline struct mlx5_ib_pd *to_mpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct mlx5_ib_pd, ibpd);
}

static inline struct mlx5_user_mmap_entry *to_mmmap(struct rdma_user_mmap_entry *rdma_entry)
{
	return container_of(rdma_entry, struct mlx5_user_mmap_entry, rdma_entry);
}

/* port.c */
extern const struct attribute_group mlx5_ib_attr_group;
int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw);
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props);
int mlx5_ib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *props);
int mlx5_ib_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int mlx5_ib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int mlx5_ib_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer mlx5_ib_port_link_layer(struct ib_device *ibdev, u32 port);
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str);
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev);

/* ucontext.c */
int mlx5_ib_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata);
void mlx5_ib_dealloc_ucontext(struct ib_ucontext *uctx);
void mlx5_ib_disassociate_ucontext(struct ib_ucontext *uctx);
int mlx5_ib_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs);

/* uar.c */
void mlx5_ib_free_uar(struct mlx5_ib_dev *dev, u32 uarn);
int mlx5_ib_calc_bfregs(struct mlx5_ib_dev *dev, u32 total, u32 low_latency,
			struct mlx5_bfreg_info *bfregi);
int mlx5_ib_allocate_uars(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi);
void mlx5_ib_deallocate_uars(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi);
int mlx5_ib_alloc_bfreg(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi);
void mlx5_ib_free_bfreg(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, int bfregn);
int bfregn_to_uar_index(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, u32 bfregn,
			bool dyn_bfreg);
u32 mlx5_ib_adjust_bfregn(struct mlx5_ib_dev *dev, struct mlx5_bfreg_info *bfregi, u32 bfregn);
struct mlx5_user_mmap_entry *mlx5_ib_get_uar(struct mlx5_ib_ucontext *context, u32 page_id);
void mlx5_ib_put_uar(struct mlx5_user_mmap_entry *entry);

/* mmap.c */
int mlx5_ib_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void mlx5_ib_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

/* doorbell.c */
struct ib_umem *mlx5_ib_umem_get(struct mlx5_ib_dev *dev, unsigned long addr, size_t size,
				 int access);
int mlx5_ib_db_map_user(struct mlx5_ib_ucontext *context, unsigned long virt,
			struct mlx5_ib_db *db);
void mlx5_ib_db_unmap_user(struct mlx5_ib_ucontext *context, struct mlx5_ib_db *db);

/* devx.c */
extern const struct uapi_definition mlx5_ib_devx_defs[];

/* mw.c */
int mlx5_ib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int mlx5_ib_dealloc_mw(struct ib_mw *ibmw);

/* pd.c */
int mlx5_ib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mlx5_ib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* BLUEBELL_H */
