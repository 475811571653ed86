/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: bluebell:fw_cmd for each firmware command (mlx5_core has a tracepoint for refusals,
 * with the name of the command and the status in words); and tracepoints for processes' UARs, their
 * mappings, bfregs, the queues with doorbells on UARs, and pages with doorbell records.
 */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM bluebell

#if !defined(BLUEBELL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BLUEBELL_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/bluebell-abi.h>

#include "fw/bluebell.h"

/* Programs that read the binary trace (trace-cmd, perf) need the values of these names. */
TRACE_DEFINE_ENUM(BLUEBELL_UAR_STATIC);
TRACE_DEFINE_ENUM(BLUEBELL_UAR_DYNAMIC);
TRACE_DEFINE_ENUM(BLUEBELL_UAR_OBJECT);
TRACE_DEFINE_ENUM(BLUEBELL_QUEUE_QP);
TRACE_DEFINE_ENUM(BLUEBELL_QUEUE_CQ);

TRACE_EVENT(fw_cmd,
	    TP_PROTO(const char *device, u16 opcode, u16 uid, u8 status, u32 syndrome, int err,
		     u64 ns),
	    TP_ARGS(device, opcode, uid, status, syndrome, err, ns),

	    TP_STRUCT__entry(__string(device, device)
			     __field(u64, ns)
			     __field(u32, syndrome)
			     __field(int, err)
			     __field(u16, opcode)
			     __field(u16, uid)
			     __field(u8, status)),

	    TP_fast_assign(__assign_str(device);
			   __entry->ns = ns;
			   __entry->syndrome = syndrome;
			   __entry->err = err;
			   __entry->opcode = opcode;
			   __entry->uid = uid;
			   __entry->status = status;),

	    TP_printk("%s opcode=0x%x uid=%u status=0x%x syndrome=0x%x err=%d ns=%llu",
		      __get_str(device), __entry->opcode, __entry->uid, __entry->status,
		      __entry->syndrome, __entry->err, __entry->ns)
);

#define TRACE_CONTEXT_DEVICE(context) \
	dev_name(to_mdev((context)->ibucontext.device)->mdev->device)

#define TRACE_BFREGI_CONTEXT(info) \
	container_of_const(info, struct mlx5_ib_ucontext, bfregi)

/* The process that opened the device. The current task may belong to another process. */
#define TRACE_CONTEXT_PID(context) pid_nr((context)->pid)

DECLARE_EVENT_CLASS(uar_template,
		    TP_PROTO(const struct mlx5_ib_ucontext *context, u32 uar, u8 origin),
		    TP_ARGS(context, uar, origin),

		    TP_STRUCT__entry(__string(device, TRACE_CONTEXT_DEVICE(context))
				     __field(pid_t, owner)
				     __field(u32, uar)
				     __field(u8, origin)),

		    TP_fast_assign(__assign_str(device);
				   __entry->owner = TRACE_CONTEXT_PID(context);
				   __entry->uar = uar;
				   __entry->origin = origin;),

		    TP_printk("%s owner=%d uar=0x%x origin=%s",
			      __get_str(device), __entry->owner, __entry->uar,
			      __print_symbolic(__entry->origin,
					       { BLUEBELL_UAR_STATIC, "static" },
					       { BLUEBELL_UAR_DYNAMIC, "dynamic" },
					       { BLUEBELL_UAR_OBJECT, "object" }))
);

DEFINE_EVENT(uar_template, uar_alloc,
	     TP_PROTO(const struct mlx5_ib_ucontext *context, u32 uar, u8 origin),
	     TP_ARGS(context, uar, origin));

DEFINE_EVENT(uar_template, uar_free,
	     TP_PROTO(const struct mlx5_ib_ucontext *context, u32 uar, u8 origin),
	     TP_ARGS(context, uar, origin));

TRACE_EVENT(uar_mmap,
	    TP_PROTO(const struct mlx5_ib_ucontext *context, u32 uar, unsigned long address,
		     bool wc, int err),
	    TP_ARGS(context, uar, address, wc, err),

	    TP_STRUCT__entry(__string(device, TRACE_CONTEXT_DEVICE(context))
			     __field(unsigned long, address)
			     __field(pid_t, owner)
			     __field(u32, uar)
			     __field(int, err)
			     __field(bool, wc)),

	    TP_fast_assign(__assign_str(device);
			   __entry->address = address;
			   __entry->owner = TRACE_CONTEXT_PID(context);
			   __entry->uar = uar;
			   __entry->err = err;
			   __entry->wc = wc;),

	    TP_printk("%s owner=%d uar=0x%x address=0x%lx %s err=%d",
		      __get_str(device), __entry->owner, __entry->uar, __entry->address,
		      __entry->wc ? "wc" : "nc", __entry->err)
);

DECLARE_EVENT_CLASS(bfreg_template,
		    TP_PROTO(const struct mlx5_bfreg_info *bfregi, u32 bfreg, u32 users),
		    TP_ARGS(bfregi, bfreg, users),

		    TP_STRUCT__entry(__string(device,
					      TRACE_CONTEXT_DEVICE(TRACE_BFREGI_CONTEXT(bfregi)))
				     __field(pid_t, owner)
				     __field(u32, bfreg)
				     __field(u32, users)),

		    TP_fast_assign(__assign_str(device);
				   __entry->owner = TRACE_CONTEXT_PID(TRACE_BFREGI_CONTEXT(bfregi));
				   __entry->bfreg = bfreg;
				   __entry->users = users;),

		    TP_printk("%s owner=%d bfreg=%u users=%u", __get_str(device),
			      __entry->owner, __entry->bfreg, __entry->users)
);

DEFINE_EVENT(bfreg_template, bfreg_get,
	     TP_PROTO(const struct mlx5_bfreg_info *bfregi, u32 bfreg, u32 users),
	     TP_ARGS(bfregi, bfreg, users));

DEFINE_EVENT(bfreg_template, bfreg_put,
	     TP_PROTO(const struct mlx5_bfreg_info *bfregi, u32 bfreg, u32 users),
	     TP_ARGS(bfregi, bfreg, users));

DECLARE_EVENT_CLASS(bell_template,
		    TP_PROTO(const struct mlx5_ib_ucontext *context,
			     const struct bluebell_queue *queue),
		    TP_ARGS(context, queue),

		    TP_STRUCT__entry(__string(device, TRACE_CONTEXT_DEVICE(context))
				     __field(pid_t, owner)
				     __field(u32, number)
				     __field(u32, uar)
				     __field(u32, bfreg)
				     __field(u8, type)),

		    TP_fast_assign(__assign_str(device);
				   __entry->owner = TRACE_CONTEXT_PID(context);
				   __entry->number = queue->number;
				   __entry->uar = queue->uar;
				   __entry->bfreg = queue->bfreg;
				   __entry->type = queue->type;),

		    TP_printk("%s owner=%d %s=0x%x uar=0x%x bfreg=%d", __get_str(device),
			      __entry->owner,
			      __print_symbolic(__entry->type, { BLUEBELL_QUEUE_QP, "qp" },
					       { BLUEBELL_QUEUE_CQ, "cq" }),
			      __entry->number, __entry->uar, (int)__entry->bfreg)
);

DEFINE_EVENT(bell_template, bell_add,
	     TP_PROTO(const struct mlx5_ib_ucontext *context, const struct bluebell_queue *queue),
	     TP_ARGS(context, queue));

DEFINE_EVENT(bell_template, bell_del,
	     TP_PROTO(const struct mlx5_ib_ucontext *context, const struct bluebell_queue *queue),
	     TP_ARGS(context, queue));

DECLARE_EVENT_CLASS(db_page_template,
		    TP_PROTO(struct ib_device *ibdev, unsigned long address, int err),
		    TP_ARGS(ibdev, address, err),

		    TP_STRUCT__entry(__string(device, dev_name(to_mdev(ibdev)->mdev->device))
				     __field(unsigned long, address)
				     __field(int, err)),

		    TP_fast_assign(__assign_str(device);
				   __entry->address = address;
				   __entry->err = err;),

		    TP_printk("%s address=0x%lx err=%d", __get_str(device), __entry->address,
			      __entry->err)
);

DEFINE_EVENT(db_page_template, db_page_pin,
	     TP_PROTO(struct ib_device *ibdev, unsigned long address, int err),
	     TP_ARGS(ibdev, address, err));

DEFINE_EVENT(db_page_template, db_page_unpin,
	     TP_PROTO(struct ib_device *ibdev, unsigned long address, int err),
	     TP_ARGS(ibdev, address, err));

#endif /* BLUEBELL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
