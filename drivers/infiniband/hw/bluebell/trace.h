/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: bluebell:fw_cmd, one event for each firmware command. mlx5_core has
 * another for refusals, with the name of the command and the status in words.
 */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM bluebell

#if !defined(BLUEBELL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BLUEBELL_TRACE_H

#include <linux/tracepoint.h>

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

#endif /* BLUEBELL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
