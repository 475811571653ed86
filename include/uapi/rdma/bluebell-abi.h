/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Bluebell has the user interface of mlx5 (mlx5-abi.h, mlx5_user_ioctl_cmds.h), and this addition:
 * a report of the UARs of a context, and of the queues whose doorbells are on the UARs. A queue
 * here is a queue pair or completion queue of verbs, not one that a process has created by DEVX
 * commands.
 */

#ifndef BLUEBELL_ABI_USER_H
#define BLUEBELL_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/*
 * A method of the object MLX5_IB_OBJECT_UAR. A driver may have eight methods of its own for an
 * object. The methods of mlx5_user_ioctl_cmds.h have the first of these eight numbers, so
 * Bluebell's method has the last.
 *
 * The method needs no UAR object: it reports the context of the file descriptor. If one of
 * the lists has no room for all its entries, the method writes nothing to any of the lists,
 * and fails with ENOSPC. The answer has the numbers of entries in either case.
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
 * The user's buffers for the three lists: the address of each, and for how many entries it has
 * room. If the room (max_uars, max_bfregs, max_queues) is 0, the address is not used. A queue that
 * firmware has refused to destroy is listed behind the queues that existed then.
 */
struct bluebell_uar_report_req {
	__aligned_u64 uars;	/* struct bluebell_uar, sorted by index */
	__aligned_u64 bfregs;	/* struct bluebell_bfreg, sorted by number */
	__aligned_u64 queues;	/* struct bluebell_queue, oldest first */
	__u32 max_uars;
	__u32 max_bfregs;
	__u32 max_queues;
	__u32 reserved;		/* 0 */
};

/* How many entries each list has. All three lists show the context at the same moment. */
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
	/* The object is destroyed, but a mapping, dma-buf or queue keeps the UAR allocated. */
	BLUEBELL_UAR_FREED = 1 << 0,
};

/**
 * struct bluebell_uar - a UAR of the context. If a page of the host has several UARs, each of them
 *	is listed
 * @index: number of the UAR in the device, as in uar_page of a queue's context, and in page_id of
 *	struct mlx5dv_devx_uar
 * @origin: enum bluebell_uar_origin
 * @kind: enum mlx5_ib_uapi_uar_alloc_type. MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED is
 *	MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC here: whether queues share the UAR is up to the library
 * @flags: enum bluebell_uar_flags
 * @mappings: mappings of the UAR's page in all processes that have the context, forked ones
 *	included, and dma-bufs that the page has been exported as. Other references to the page may
 *	count, too: those of queues that DEVX commands have created, of queues whose creation
 *	firmware has not answered, and of calls in progress that are about to map the page, or to
 *	create or destroy a queue on a UAR of the page
 * @num_qps: queue pairs whose doorbells are on the UAR
 * @num_cqs: completion queues armed on the UAR
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

/* In place of a bfreg's number: the queue is a CQ, or the kernel does not know the QP's bfreg. */
#define BLUEBELL_NO_BFREG	0xffffffff

/**
 * struct bluebell_bfreg - a doorbell register of the context, of a static or dynamic page
 * @number: number of the register, from 0: registers of static pages first, then those of dynamic
 *	pages
 * @uar: index of the register's UAR
 * @bfreg_class: enum bluebell_bfreg_class
 * @slot: which register of the UAR, 0 or 1
 * @reserved0: 0
 * @num_qps: queue pairs whose doorbells are on the register
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
 * struct bluebell_queue - a QP whose doorbell is on a UAR of the context, or a CQ that is armed on
 *	one
 * @type: enum bluebell_queue_type
 * @qp_type: enum ib_uverbs_qp_type for a queue pair; otherwise 0
 * @reserved0: 0
 * @number: number of the queue in the device
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
