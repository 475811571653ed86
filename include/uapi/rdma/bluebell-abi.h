/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * What Bluebell has in its user interface beyond that of mlx5 (mlx5-abi.h and
 * mlx5_user_ioctl_cmds.h), for example a report of the UARs of a context, and of the
 * queues that are rung on them.
 */

#ifndef BLUEBELL_ABI_USER_H
#define BLUEBELL_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/*
 * A method of the object MLX5_IB_OBJECT_UAR. A driver may have eight methods of its
 * own for an object. Those of mlx5_user_ioctl_cmds.h are numbered from the first one, so
 * Bluebell takes the last one.
 *
 * The method needs no object of the type: it reports the context of the file
 * descriptor. If one of the lists has no room for all its entries, the method writes
 * nothing to any of the lists, and fails with ENOSPC. The answer has the numbers of
 * entries in either case.
 */
enum bluebell_uar_methods {
	BLUEBELL_METHOD_UAR_REPORT = (1U << UVERBS_ID_NS_SHIFT) + 7,
};

enum bluebell_uar_report_attrs {
	/* struct bluebell_uar_report_req */
	BLUEBELL_ATTR_UAR_REPORT_REQ = (1U << UVERBS_ID_NS_SHIFT),
	/* struct bluebell_uar_report_resp */
	BLUEBELL_ATTR_UAR_REPORT_RESP,
};

/*
 * Where the lists go. A list without room has max_… = 0, and its address is not used. A queue that
 * firmware has refused to destroy is listed behind the other queues.
 */
struct bluebell_uar_report_req {
	__aligned_u64 uars;	/* struct bluebell_uar, by index */
	__aligned_u64 bfregs;	/* struct bluebell_bfreg, by number */
	__aligned_u64 queues;	/* struct bluebell_queue, oldest first */
	__u32 max_uars;
	__u32 max_bfregs;
	__u32 max_queues;
	__u32 reserved;		/* 0 */
};

/* How many entries there are. All three lists show the context at the same time. */
struct bluebell_uar_report_resp {
	__u32 num_uars;
	__u32 num_bfregs;
	__u32 num_queues;
	__u32 reserved;
};

enum bluebell_uar_origin {
	/* Allocated when the device was opened. */
	BLUEBELL_UAR_STATIC,
	/* Allocated by mmap() with MLX5_IB_MMAP_ALLOC_WC. */
	BLUEBELL_UAR_DYNAMIC,
	/* An object: MLX5_IB_METHOD_UAR_OBJ_ALLOC, mlx5dv_devx_alloc_uar(). */
	BLUEBELL_UAR_OBJECT,
};

enum bluebell_uar_flags {
	/* The object has been destroyed. Mappings or queues keep the UAR. */
	BLUEBELL_UAR_FREED = 1 << 0,
};

/**
 * struct bluebell_uar - a UAR of the context
 * @index: number of the UAR in the device, as in uar_page of a queue's context, and in page_id of
 *	struct mlx5dv_devx_uar
 * @origin: enum bluebell_uar_origin
 * @kind: enum mlx5_ib_uapi_uar_alloc_type. MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED is
 *	MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC here: that no queues share the UAR is up to the library
 * @flags: enum bluebell_uar_flags
 * @mappings: mappings in all processes that have the context, forked ones included, and
 *	dma-bufs that the UAR has been exported as. A call in progress that is about to map the
 *	UAR, to create a queue on it or to destroy one, may count as one, too
 * @num_qps: queue pairs rung on it
 * @num_cqs: completion queues armed on it
 * @reserved: 0
 */
struct bluebell_uar {
	__u32 index;
	__u8 origin;
	__u8 kind;
	__u16 flags;
	__u32 mappings;
	__u32 num_qps;
	__u32 num_cqs;
	__u32 reserved[3];
};

enum bluebell_bfreg_class {
	/* Register 0: never written as BlueFlame, any number of queues, no lock. */
	BLUEBELL_BFREG_HIGH_LATENCY,
	/* Any number of queues, and the library takes a lock for each doorbell. */
	BLUEBELL_BFREG_MEDIUM_LATENCY,
	/* One queue, for which the library takes no lock. */
	BLUEBELL_BFREG_LOW_LATENCY,
	/* On a dynamic page: the library decides which queues share the register. */
	BLUEBELL_BFREG_DYNAMIC,
};

/* A queue that is not known to use a certain bfreg of its UAR. */
#define BLUEBELL_NO_BFREG	0xffffffff

/**
 * struct bluebell_bfreg - a doorbell register of the context, of a static or dynamic page
 * @number: of the register: static ones first, then dynamic ones
 * @uar: index of its UAR
 * @bfreg_class: enum bluebell_bfreg_class
 * @slot: place in the UAR, 0 or 1
 * @reserved0: 0
 * @num_qps: queue pairs rung on it
 *
 * The registers of UAR objects are not listed: which queue uses which of them is up to the
 * library, and the kernel does not know.
 */
struct bluebell_bfreg {
	__u32 number;
	__u32 uar;
	__u8 bfreg_class;
	__u8 slot;
	__u16 reserved0;
	__u32 num_qps;
};

enum bluebell_queue_type {
	BLUEBELL_QUEUE_QP,
	BLUEBELL_QUEUE_CQ,
};

/**
 * struct bluebell_queue - a queue that is rung or armed on a UAR of the context
 * @type: enum bluebell_queue_type
 * @qp_type: of a queue pair: enum ib_uverbs_qp_type; otherwise 0
 * @reserved0: 0
 * @number: of the queue in the device
 * @uar: index of the UAR
 * @bfreg: number of the register; BLUEBELL_NO_BFREG for a completion queue, and on a UAR object
 */
struct bluebell_queue {
	__u8 type;
	__u8 qp_type;
	__u16 reserved0;
	__u32 number;
	__u32 uar;
	__u32 bfreg;
};

#endif /* BLUEBELL_ABI_USER_H */
