/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: bluebell:fw_cmd, one event for each firmware command.
 */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM bluebell

#if !defined(BLUEBELL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BLUEBELL_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(fw_cmd,
	    TP_PROTO(const char *device, const char *name, u16 opcode, u8 status, u32 syndrome,
		     int err, u64 ns),
	    TP_ARGS(device, name, opcode, status, syndrome, err, ns),

	    TP_STRUCT__entry(__string(device, device)
			     __string(name, name)
			     __field(u64, ns)
			     __field(u32, syndrome)
			     __field(int, err)
			     __field(u16, opcode)
			     __field(u8, status)),

	    TP_fast_assign(__assign_str(device);
			   __assign_str(name);
			   __entry->ns = ns;
			   __entry->syndrome = syndrome;
			   __entry->err = err;
			   __entry->opcode = opcode;
			   __entry->status = status;),

	    TP_printk("%s %s opcode=0x%x status=0x%x syndrome=0x%x err=%d ns=%llu",
		      __get_str(device), __get_str(name), __entry->opcode, __entry->status,
		      __entry->syndrome, __entry->err, __entry->ns)
);

#endif /* BLUEBELL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
