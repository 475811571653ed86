/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * On-demand paging, computation only: page-fault events, the memory that a WQE names, and
 * translation entries. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_ODP_H
#define BLUEBELL_LAYOUT_ODP_H

#include <linux/ktime.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "layout/layout_umr.h"

struct mlx5_ib_caps;
struct mlx5_ib_mkc_attr;

/*
 * An implicit region is a tree of keys, like a page table: the entries of the root key refer to
 * keys called directories, those of a directory to keys called leaves, those of a leaf to pages.
 * Directories and leaves are small enough to be created at the first access: a leaf covers 16 MiB.
 */
#define MLX5_IB_ODP_LEAF_SHIFT		24

/*
 * Number of KSMs, entries of a table of keys, in a block: the device reads and writes translation
 * tables in blocks of 64 bytes.
 */
#define MLX5_IB_ODP_BLOCK_KSMS		(MLX5_UMR_FLEX_ALIGNMENT / sizeof(struct mlx5_ksm))

/*
 * Limit of the data segments that the driver reads from a WQE. A send WQE has no more, because its
 * length, in units of 16 bytes, has six bits. In a receive WQE a link or a signature can precede
 * the data segments, so the driver reads one segment more of a WQE.
 */
#define MLX5_IB_ODP_MAX_SGES		63
#define MLX5_IB_ODP_MAX_WQE		((MLX5_IB_ODP_MAX_SGES + 1) * MLX5_SEND_WQE_DS)

/**
 * struct mlx5_ib_fault - a page fault as the device reported it
 * @is_unknown: the driver does not know this kind of fault, and can only resume the queue with an
 *	error: of the members below, only @is_memory, @is_early, @type, @wq_num, @token and @taken
 *	are valid, and @is_rdma only says which of the two layouts the event has
 * @is_memory: the device reports faults by the memory scheme, by key and address; otherwise by the
 *	transport scheme, by queue. For a fault by the memory scheme @type, @wq_num, @committed,
 *	@wqe_index and @op_len are 0
 * @is_rdma: the device faulted on a remote key. If neither @is_rdma nor @is_memory is set, the
 *	device faulted on a data segment of a WQE
 * @is_early: further events of the same fault follow; without an error, only the last event is
 *	answered. Memory scheme only
 * @type: the type in the event, which PAGE_FAULT_RESUME repeats. If @is_rdma, flags
 *	MLX5_PAGE_FAULT_RESUME_*; else enum wqe_page_fault_type, in which the bit
 *	MLX5_PAGE_FAULT_RESUME_REQUESTOR is set for a send queue
 * @wq_num: number of the queue, as PAGE_FAULT_RESUME expects it
 * @token: identifies the fault to PAGE_FAULT_RESUME
 * @committed: bytes of the message that have been transferred
 * @packet_len: bytes that the device needs next; 0 if unknown
 * @before: bytes before @va that the device may need soon. Memory scheme only
 * @after: bytes after @packet_len that the device may need soon. Memory scheme only
 * @wqe_index: index of the WQE, in basic blocks of a send queue or WQEs of a receive queue.
 *	WQE faults only
 * @key: the remote key; in the memory scheme the key over pages that the device has reached, maybe
 *	through indirect mkeys. 0 for a WQE fault
 * @op_len: length of the whole operation in bytes; 0 if unknown. RDMA faults only
 * @va: first address of the whole operation; in the memory scheme the first address that the device
 *	needs. 0 for a WQE fault
 * @taken: when the driver took the event from the event queue
 */
struct mlx5_ib_fault {
	bool is_unknown;
	bool is_memory;
	bool is_rdma;
	bool is_early;
	u8 type;
	u32 wq_num;
	u64 token;
	u32 committed;
	u32 packet_len;
	u32 before;
	u32 after;
	u16 wqe_index;
	u32 key;
	u32 op_len;
	u64 va;
	ktime_t taken;
};

/**
 * struct mlx5_ib_odp_sges - memory that a WQE names
 * @num: number of data segments
 * @sge: address, length and key of each data segment
 */
struct mlx5_ib_odp_sges {
	unsigned int num;
	struct ib_sge sge[MLX5_IB_ODP_MAX_SGES];
};

u32 mlx5_ib_odp_service_caps(const void *caps);
bool mlx5_ib_odp_parse_eqe(const struct mlx5_eqe *eqe, bool by_memory,
			   struct mlx5_ib_fault *fault);
void mlx5_ib_odp_fill_resume(void *in, const struct mlx5_ib_fault *fault, bool error);

int mlx5_ib_odp_parse_data(const void *seg, const void *end, bool inline_ok,
			   const struct mlx5_ib_caps *caps, struct mlx5_ib_odp_sges *sges);
int mlx5_ib_odp_parse_send(const void *wqe, size_t len, enum ib_qp_type type,
			   const struct mlx5_ib_caps *caps, struct mlx5_ib_odp_sges *sges);
void mlx5_ib_odp_window(struct mlx5_ib_odp_sges *sges, u64 skip, u64 len);

bool mlx5_ib_odp_next_run(const __be64 *mtt, size_t *first, size_t end, size_t max, size_t *num);
u8 mlx5_ib_odp_dir_shift(const struct mlx5_ib_caps *caps, u64 space);
void mlx5_ib_odp_fill_create_absent(void *in, const struct mlx5_ib_mkc_attr *attr);
void mlx5_ib_odp_fill_create_ksm(void *in, const struct mlx5_ib_mkc_attr *attr);

#endif /* BLUEBELL_LAYOUT_ODP_H */
