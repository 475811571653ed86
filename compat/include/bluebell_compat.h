/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Replacements of what the driver uses of a Linux 7.2 kernel and the kernel at hand lacks. The
 * compiler reads this file before each file of the driver. For each feature of compat/features that
 * the kernel has, compat/configure has defined BB_HAVE_<FEATURE> in bluebell_config.h.
 */

#ifndef BLUEBELL_COMPAT_H
#define BLUEBELL_COMPAT_H

#include "bluebell_config.h"

/* Layouts of firmware commands and of libmlx5's requests: compat/prepare copied those of 7.2. */
#ifndef BB_HAVE_WIRE
#include <linux/bits.h>
#include <linux/types.h>
#include "wire/mlx5_ifc.h"
#include "wire/mlx5-abi.h"
#endif

#include <linux/cleanup.h>
#include <linux/dma-map-ops.h>
#include <linux/gfp.h>
#include <linux/hmm.h>
#include <linux/iommu-dma.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci-p2pdma.h>
#include <linux/sort.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

/* ---- the kernel's own helpers ----------------------------------------------------- */

#ifndef BB_HAVE_CMP_INT
#define cmp_int(l, r) (((l) > (r)) - ((l) < (r)))
#endif

#ifndef BB_HAVE_FREE_PAGE
DEFINE_FREE(free_page, void *, free_page((unsigned long)_T))
#endif

/* Since 6.13 the name of the namespace is a string. */
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)

/* ACQUIRE() of a mutex by mutex_lock_killable(): the variable holds the mutex, or the errno. */
#ifndef BB_HAVE_ACQUIRE
static inline struct mutex *bb_mutex_lock_killable(struct mutex *lock)
{
	int err = mutex_lock_killable(lock);

	return err ? ERR_PTR(err) : lock;
}

DEFINE_CLASS(mutex_kill, struct mutex *, if (!IS_ERR_OR_NULL(_T)) mutex_unlock(_T),
	     bb_mutex_lock_killable(lock), struct mutex *lock)
#define ACQUIRE(name, var)		CLASS(name, var)
#define ACQUIRE_ERR(name, var)		bb_##name##_err(var)

static inline int bb_mutex_kill_err(struct mutex **lock)
{
	return PTR_ERR_OR_ZERO(*lock);
}
#endif

/* ---- mlx5_core -------------------------------------------------------------------- */

/* Alignment of the lists that a UMR reads, in bytes. */
#ifndef BB_HAVE_UMR_ALIGN
#define MLX5_UMR_ALIGN 2048
#endif

/* Bits of PTYS.ext_eth_proto_oper. */
#ifndef BB_HAVE_ETH_LINKS
#define MLX5E_200GAUI_1_200GBASE_CR1_KR1	14
#define MLX5E_400GAUI_2_400GBASE_CR2_KR2	17
#define MLX5E_800GAUI_4_800GBASE_CR4_KR4	20
#define MLX5E_1600GAUI_8_1600GBASE_CR8_KR8	23
#endif

/*
 * Flow rules of kernels without this feature name a counter by its number. The driver's rules name
 * it by a pointer: that of mlx5_core, or for a counter that a process has created one that holds
 * the number and has its lowest bit set.
 */
#ifndef BB_HAVE_FLOW_COUNTER
struct bb_flow_destination {
	enum mlx5_flow_destination_type type;
	union {
		u32 tir_num;
		u32 ft_num;
		struct mlx5_flow_table *ft;
		struct mlx5_fc *counter;
	};
};

static inline struct mlx5_fc *mlx5_fc_local_create(u32 counter_id, u32 offset, u32 bulk_size)
{
	return (struct mlx5_fc *)((unsigned long)counter_id << 1 | 1);
}

static inline void mlx5_fc_local_destroy(struct mlx5_fc *counter)
{
}

struct mlx5_flow_handle *bb_add_flow_rules(struct mlx5_flow_table *ft,
					   const struct mlx5_flow_spec *spec,
					   struct mlx5_flow_act *act,
					   struct bb_flow_destination *dest, int num_dest);

#define mlx5_flow_destination	bb_flow_destination
#define mlx5_add_flow_rules	bb_add_flow_rules
#endif

/* ---- events of Ethernet ports ----------------------------------------------------- */

/* ib_core of 7.2 reports the state of a port's network device by events of the port. */
#ifndef BB_HAVE_PORT_STATE
static inline enum ib_port_state ib_get_curr_port_state(struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
}

void ib_dispatch_port_state_event(struct ib_device *ibdev, struct net_device *netdev);
int bb_register_device(struct ib_device *ibdev, const char *name, struct device *dma_device);
void bb_unregister_device(struct ib_device *ibdev);

#define ib_register_device	bb_register_device
#define ib_unregister_device	bb_unregister_device
#endif

/* ---- memory of processes ---------------------------------------------------------- */

/*
 * Whether addresses are mapped for the device as they are, perhaps by bounce buffers. Otherwise
 * dma_need_sync() says yes to addresses that have no bounce buffer, too.
 */
static inline bool bb_dma_is_direct(struct device *dev)
{
	return !use_dma_iommu(dev) && !get_dma_ops(dev);
}

static inline bool bb_is_bounced(struct device *dev, dma_addr_t dma)
{
	return bb_dma_is_direct(dev) && dma_need_sync(dev, dma);
}

/*
 * Flags of an entry in a list of mapped pages. hmm_range_fault() of a kernel without these flags
 * does not use the three bits, which lie below the order of the page.
 */
#ifndef BB_HAVE_HMM_DMA
#define HMM_PFN_DMA_MAPPED	BIT(HMM_PFN_ORDER_SHIFT - 1)
#define HMM_PFN_P2PDMA		BIT(HMM_PFN_ORDER_SHIFT - 2)
#define HMM_PFN_P2PDMA_BUS	BIT(HMM_PFN_ORDER_SHIFT - 3)

static inline struct page *bb_hmm_pfn_to_page(unsigned long pfn)
{
	return pfn_to_page(pfn & ~(HMM_PFN_FLAGS | HMM_PFN_DMA_MAPPED | HMM_PFN_P2PDMA |
				   HMM_PFN_P2PDMA_BUS));
}

#define hmm_pfn_to_page bb_hmm_pfn_to_page
#endif

#ifndef BB_HAVE_UMEM_START_DMA_ADDR
static inline dma_addr_t ib_umem_start_dma_addr(struct ib_umem *umem)
{
	return sg_dma_address(umem->sgt_append.sgt.sgl) + ib_umem_offset(umem);
}
#endif

/*
 * Attributes by which a process names the buffers of queues. On a kernel without these attributes
 * the driver asks for attribute 0x1e, which no method has, so no process can pass it.
 */
#ifndef BB_HAVE_UMEM_ATTR
#define UVERBS_ATTR_CREATE_QP_BUF_UMEM		0x1e
#define UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM	0x1e
#define UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM	0x1e

struct ib_umem *ib_umem_get_va(struct ib_device *device, unsigned long addr, size_t size,
			       int access);

static inline struct ib_umem *ib_umem_get_attr(struct ib_device *device,
					       const struct uverbs_attr_bundle *attrs, u16 attr_id,
					       size_t size, int access)
{
	return NULL;
}

static inline struct ib_umem *
ib_umem_get_cq_buf_or_va(struct ib_device *device, const struct uverbs_attr_bundle *attrs, u64 addr,
			 size_t size, int access)
{
	return ib_umem_get_va(device, addr, size, access);
}
#endif

#ifndef BB_HAVE_INVALIDATE_MAPPINGS
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings dma_buf_move_notify
#endif

/* The export of device memory as a dma-buf: a kernel without it exports nothing. */
#ifndef BB_HAVE_P2PDMA_PROVIDER
struct p2pdma_provider;

struct phys_vec {
	phys_addr_t paddr;
	size_t len;
};

static inline int pcim_p2pdma_init(struct pci_dev *pdev)
{
	return -EOPNOTSUPP;
}

static inline struct p2pdma_provider *pcim_p2pdma_provider(struct pci_dev *pdev, int bar)
{
	return NULL;
}
#endif

/* ---- arguments and answers of verbs ------------------------------------------------ */

#ifndef BB_HAVE_UDATA
int bb_copy_validate_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min_size);
int _ib_respond_udata(struct ib_udata *udata, const void *resp, size_t size);
int ib_is_udata_in_empty(struct ib_udata *udata);
int ib_respond_empty_udata(struct ib_udata *udata);
int ib_no_udata_io(struct ib_udata *udata);

#define ib_copy_validate_udata_in(udata, req, end) \
	bb_copy_validate_udata_in(udata, &(req), sizeof(req), offsetofend(typeof(req), end))
#define ib_copy_validate_udata_in_cm(udata, req, end, valid) ({				\
	int _err = ib_copy_validate_udata_in(udata, req, end);				\
											\
	_err ?: (req).comp_mask & ~(typeof((req).comp_mask))(valid) ? -EOPNOTSUPP : 0;	\
})
#define ib_respond_udata(udata, resp)	_ib_respond_udata(udata, &(resp), sizeof(resp))
#endif

#ifndef BB_HAVE_RAW_CAP
static inline bool rdma_dev_has_raw_cap(const struct ib_device *dev)
{
	return capable(CAP_NET_RAW);
}
#endif

/* For mlx5_ib_query_port_speed(), which ib_core of a kernel without this function does not call. */
#ifndef BB_HAVE_PORT_SPEED
struct ib_port_speed_info {
	const char *str;
	int rate;
};

static inline int ib_port_attr_to_speed_info(struct ib_port_attr *attr,
					     struct ib_port_speed_info *info)
{
	return -EOPNOTSUPP;
}
#endif

/* Without this operation, compat.c learns in another way that a process has closed the device. */
#ifndef BB_HAVE_UFILE_CLEANUP
#define mlx5_ib_ufile_hw_cleanup bb_no_ufile_cleanup
#endif

/* ---- operations ---------------------------------------------------------------------- */

/*
 * The driver fills in a struct of the shape that the operations have in 7.2. The members that are
 * new, or have other arguments, are below; the others are the kernel's own.
 */
#ifndef BB_HAVE_OPS
struct ib_dmah;

#define reg_user_mr		bb_reg_user_mr
#define reg_user_mr_dmabuf	bb_reg_user_mr_dmabuf
#define counter_bind_qp		bb_counter_bind_qp
#define counter_unbind_qp	bb_counter_unbind_qp

struct bb_device_ops {
	struct ib_device_ops;

	bool uverbs_robust_udata;
	int (*query_port_speed)(struct ib_device *device, u32 port_num, u64 *speed);
	int (*mmap_get_pfns)(struct rdma_user_mmap_entry *entry, struct phys_vec *phys_vec,
			     struct p2pdma_provider **provider);
	struct rdma_user_mmap_entry *(*pgoff_to_mmap_entry)(struct ib_ucontext *context,
							    off_t offset);
	void (*ufile_hw_cleanup)(struct ib_uverbs_file *ufile);
	int (*create_user_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			      struct uverbs_attr_bundle *attrs);
	int (*resize_user_cq)(struct ib_cq *cq, unsigned int cqe, struct ib_udata *udata);
	struct ib_mr *(*reg_user_mr)(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				     struct ib_dmah *dmah, struct ib_udata *udata);
	struct ib_mr *(*reg_user_mr_dmabuf)(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					    int fd, int access, struct ib_dmah *dmah,
					    struct uverbs_attr_bundle *attrs);
	void (*counter_init)(struct rdma_counter *counter);
	int (*counter_bind_qp)(struct rdma_counter *counter, struct ib_qp *qp, u32 port);
	int (*counter_unbind_qp)(struct ib_qp *qp, u32 port);
	size_t size_rdma_counter;
};

void bb_set_device_ops(struct ib_device *dev, const struct bb_device_ops *ops);
void *bb_counter_double(const struct rdma_counter *counter);

#define ib_device_ops		bb_device_ops
#define ib_set_device_ops	bb_set_device_ops
#endif /* BB_HAVE_OPS */

#endif /* BLUEBELL_COMPAT_H */
