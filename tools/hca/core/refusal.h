/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why the HCA refuses a command: a number, which is the syndrome in the command's output, and a
 * name, for each kind of check. A number keeps its meaning for good: a new refusal takes the next
 * number of its subject, and the number of a removed refusal is not used again. The refusals are
 * also listed in Documentation/hca-syndromes.rst.
 */
#ifndef BLUEBELL_REFUSAL_H
#define BLUEBELL_REFUSAL_H

#include <stdint.h>

#define REFUSALS(R)					\
	/* any command */				\
	R(0x0101, INJECTED)				\
	R(0x0102, OPCODE_UNKNOWN)			\
	R(0x0103, OP_MOD)				\
	R(0x0104, HCA_STATE)				\
	R(0x0105, INPUT_LENGTH)				\
	R(0x0106, OUTPUT_LENGTH)			\
	R(0x0107, RESERVED_BITS)			\
	R(0x0108, UID_UNKNOWN)				\
	R(0x0109, OBJECT_UNKNOWN)			\
	R(0x010a, OBJECT_IN_USE)			\
	R(0x010b, NUMBERS_IN_USE)			\
	R(0x010c, NO_MEMORY)				\
	R(0x010d, UMEM_NOT_OFFERED)			\
	R(0x010e, FUNCTION_UNKNOWN)			\
	R(0x010f, FUNCTION_OTHER)			\
	R(0x0110, VPORT_OTHER)				\
	R(0x0111, DBR_MISALIGNED)			\
	R(0x0112, DBR_NOT_MAPPED)			\
	R(0x0113, QUEUE_PAGE_SIZE)			\
	R(0x0114, QUEUE_PAGES_MISSING)			\
	R(0x0115, QUEUE_PAGE_ADDRESS)			\
	R(0x0116, QUEUE_NOT_MAPPED)			\
	R(0x0117, OBJECT_OWNER)				\
	R(0x0119, UAR_NOT_FIRST)			\
	/* the HCA as a whole */			\
	R(0x0201, HCA_INITIALIZED)			\
	R(0x0202, HCA_NOT_INITIALIZED)			\
	R(0x0203, TEARDOWN_PROFILE)			\
	R(0x0204, TEARDOWN_FAST)			\
	R(0x0205, ISSI_UNKNOWN)				\
	R(0x0206, DRIVER_VERSION_NOT_OFFERED)		\
	R(0x0207, CAP_TYPE_UNKNOWN)			\
	R(0x0208, CAP_ABOVE_MAXIMUM)			\
	R(0x0209, ISSI_LEGACY)				\
	/* pages */					\
	R(0x0301, PAGE_ADDRESS)				\
	R(0x0302, PAGE_NOT_MAPPED)			\
	R(0x0303, PAGES_MISSING)			\
	R(0x0304, PAGE_TWICE)				\
	/* port, registers, MADs, multicast */		\
	R(0x0401, PORT_UNKNOWN)				\
	R(0x0402, PORT_GROUP_MANAGER)			\
	R(0x0403, PORT_CAP_MASK)			\
	R(0x0404, GID_INDEX)				\
	R(0x0405, PKEY_INDEX)				\
	R(0x0406, MAD_NO_AGENT)				\
	R(0x0407, REG_UNKNOWN)				\
	R(0x0408, REG_LENGTH)				\
	R(0x0409, REG_READ_ONLY)			\
	R(0x040a, MCAST_GID)				\
	R(0x040b, MCAST_ATTACHED)			\
	R(0x040c, MCAST_SERVICE_TYPE)			\
	R(0x040d, PORT_NO_VPORT)			\
	R(0x040e, MAD_M_KEY)				\
	R(0x040f, MCAST_GROUPS)				\
	R(0x0410, MCAST_MEMBERS)			\
	R(0x0411, MAD_NO_PERFORMANCE_AGENT)		\
	R(0x0412, VPORT_FIELD)				\
	R(0x0413, VPORT_NO_COUNTERS)			\
	R(0x0414, REG_INDEX)				\
	R(0x0415, REG_VALUE)				\
	R(0x0416, NIC_VPORT_FIELD)			\
	R(0x0417, NIC_VPORT_LIST)			\
	/* event queues */				\
	R(0x0501, EQ_RESERVED_FIELD)			\
	R(0x0502, EQ_SIZE)				\
	R(0x0503, EQ_VECTOR)				\
	/* completion queues */				\
	R(0x0601, CQ_RESERVED_FIELD)			\
	R(0x0602, CQ_SIZE)				\
	R(0x0603, CQ_CQE_SIZE)				\
	R(0x0604, CQ_COMPRESSION_NOT_OFFERED)		\
	R(0x0605, CQ_OVERRUN_IGNORE_NOT_OFFERED)	\
	R(0x0606, CQ_CQE_STRADDLES_PAGES)		\
	R(0x0607, CQ_FIELD_SELECT)			\
	R(0x0608, CQ_MODERATION_NOT_OFFERED)		\
	R(0x0609, CQ_REMAP_NOT_OFFERED)			\
	R(0x060a, CQ_RESIZE_NOT_OFFERED)		\
	R(0x060b, CQ_IN_ERROR)				\
	R(0x060c, CQ_CQES_OUTSTANDING)			\
	R(0x060d, CQ_EQ_KIND)				\
	R(0x060e, CQ_PERIOD_MODE)			\
	/* queue pairs */				\
	R(0x0701, QP_RESERVED_FIELD)			\
	R(0x0702, QP_SPECIAL_EXISTS)			\
	R(0x0703, QP_SERVICE_TYPE)			\
	R(0x0704, QP_SQ_SIZE)				\
	R(0x0705, QP_RQ_TYPE)				\
	R(0x0706, QP_RQ_SIZE)				\
	R(0x0707, QP_RQ_STRIDE)				\
	R(0x0708, QP_STATE)				\
	R(0x0709, QP_UMR_QUEUES)			\
	R(0x070a, QP_SIGNATURE_NOT_OFFERED)		\
	R(0x070b, QP_SCATTER_TO_CQE_NOT_OFFERED)	\
	R(0x070c, QP_INPUT_QPN)				\
	R(0x070d, QP_EXTENSION_NOT_OFFERED)		\
	R(0x070e, QP_ATOMICS_NOT_OFFERED)		\
	R(0x070f, QP_COUNTER_UNKNOWN)			\
	R(0x0710, QP_MTU)				\
	R(0x0711, QP_MESSAGE_SIZE)			\
	R(0x0712, QP_RRA_MAX)				\
	R(0x0713, QP_SRA_MAX)				\
	R(0x0714, QP_OPT_PARAM)				\
	R(0x0715, QP_FIELD_NOT_OFFERED)			\
	R(0x0716, QP_PATH_MIGRATION)			\
	R(0x0717, QP_TIMESTAMP_FORMAT)			\
	R(0x0718, QP_USER_INDEX)			\
	R(0x0719, QP_STATIC_RATE)			\
	R(0x071a, QP_ATOMIC_MODE)			\
	R(0x071b, QP_UMR_PD)				\
	R(0x071c, QP_PRIVILEGED)			\
	R(0x071d, QP_DCI_QUEUES)			\
	R(0x071e, QP_STREAMS)				\
	R(0x071f, QP_STREAM_NOT_FAILED)			\
	R(0x0720, QP_RENDEZVOUS)			\
	R(0x0721, QP_SCATTER_TO_CQE_SIZE)		\
	/* shared receive queues */			\
	R(0x0801, SRQ_SIZE)				\
	R(0x0802, SRQ_STRIDE)				\
	R(0x0803, SRQ_STATE)				\
	R(0x0804, SRQ_WQ_TYPE)				\
	R(0x0805, SRQ_FORM)				\
	R(0x0806, SRQ_LIMIT)				\
	/* send queues */				\
	R(0x0901, SQ_STATE)				\
	R(0x0902, SQ_WQ_TYPE)				\
	R(0x0903, SQ_STRIDE)				\
	R(0x0904, SQ_SIZE)				\
	R(0x0905, SQ_TIS_NOT_OFFERED)			\
	R(0x0906, SQ_FIELD_NOT_OFFERED)			\
	R(0x0907, SQ_PRIVILEGED)			\
	R(0x0908, SQ_TIMESTAMP_FORMAT)			\
	R(0x0909, SQ_USER_INDEX)			\
	R(0x090a, SQ_MODIFY_MASK)			\
	R(0x090b, SQ_NOT_OFFERED)			\
	R(0x090c, SQ_TIS_LIST)				\
	R(0x090d, SQ_INLINE_MODE)			\
	/* memory keys */				\
	R(0x0a01, MKEY_RESERVED_FIELD)			\
	R(0x0a02, MKEY_PAGING_NOT_OFFERED)		\
	R(0x0a03, MKEY_ACCESS_MODE)			\
	R(0x0a04, MKEY_RELAXED_WRITE_NOT_OFFERED)	\
	R(0x0a05, MKEY_RELAXED_READ_NOT_OFFERED)	\
	R(0x0a06, MKEY_SIGNATURE_NOT_OFFERED)		\
	R(0x0a07, MKEY_FREE_WITHOUT_UMR)		\
	R(0x0a08, MKEY_OCTOWORDS_TOO_MANY)		\
	R(0x0a09, MKEY_MEMIC_KIND)			\
	R(0x0a0a, MKEY_MEMIC_RANGE)			\
	R(0x0a0b, MKEY_CONTEXT)				\
	R(0x0a0c, MKEY_OCTOWORDS_GIVEN)			\
	R(0x0a0d, MKEY_TRANSLATION)			\
	R(0x0a0e, MKEY_MTT_MISALIGNED)			\
	R(0x0a0f, MKEY_KSM_NOT_OFFERED)			\
	R(0x0a10, MKEY_ENTITY_SIZE)			\
	R(0x0a11, MKEY_TRANSLATION_BUDGET)		\
	R(0x0a12, MKEY_PHYSICAL)			\
	R(0x0a13, MKEY_UMEM_KIND)			\
	R(0x0a14, MKEY_UMEM_PAGES)			\
	R(0x0a15, MKEY_STRIDED_BLOCK)			\
	/* device memory */				\
	R(0x0b01, MEMIC_NOT_OFFERED)			\
	R(0x0b02, MEMIC_SIZE)				\
	R(0x0b03, MEMIC_ALIGNMENT)			\
	R(0x0b04, MEMIC_RANGE)				\
	R(0x0b05, MEMIC_NO_GAP)				\
	R(0x0b06, MEMIC_UNKNOWN)			\
	R(0x0b07, MEMIC_OPERATION_IN_USE)		\
	R(0x0b08, MEMIC_OPERATION_NOT_OFFERED)		\
	R(0x0b09, MEMIC_OPERATION_STATE)		\
	/* page faults */				\
	R(0x0c01, FAULT_UNKNOWN)			\
	R(0x0c02, FAULT_MISMATCH)			\
	R(0x0c03, FAULT_SCHEME)				\
	R(0x0c04, FAULT_NOT_LAST)			\
	/* user contexts */				\
	R(0x0d01, UCTX_NOT_OFFERED)			\
	R(0x0d02, UCTX_CAPS)				\
	R(0x0d03, UCTX_OWNS_OBJECTS)			\
	R(0x0d04, UCTX_KERNEL_COMMAND)			\
	R(0x0d05, UCTX_NO_RAW_TX)			\
	/* umems */					\
	R(0x0e01, UMEM_NO_UID)				\
	R(0x0e02, UMEM_ATS_NOT_OFFERED)			\
	R(0x0e03, UMEM_EMPTY)				\
	R(0x0e04, UMEM_PAGE_OFFSET)			\
	R(0x0e05, UMEM_BUDGET)				\
	R(0x0e06, UMEM_MTT_RESERVED)			\
	R(0x0e07, UMEM_PAGE_ADDRESS)			\
	R(0x0e08, UMEM_RANGE)				\
	R(0x0e09, UMEM_OFFSET)				\
	R(0x0e0a, UMEM_ACCESS)				\
	R(0x0e0b, UMEM_FIELDS)				\
	/* general objects */				\
	R(0x0f01, GENERAL_TYPE)				\
	/* rates */					\
	R(0x1001, RATE_NOT_OFFERED)			\
	R(0x1002, RATE_UID)				\
	R(0x1003, RATE_INDEX)				\
	R(0x1004, RATE_RANGE)				\
	R(0x1005, RATE_IN_USE)				\
	/* TISes */					\
	R(0x1101, TIS_FIELD_NOT_OFFERED)		\
	/* receive queues */				\
	R(0x1201, RQ_STATE)				\
	R(0x1202, RQ_WQ_TYPE)				\
	R(0x1203, RQ_STRIDE)				\
	R(0x1204, RQ_SIZE)				\
	R(0x1205, RQ_PADDING)				\
	R(0x1206, RQ_FIELD_NOT_OFFERED)			\
	R(0x1207, RQ_PRIVILEGED)			\
	R(0x1208, RQ_TIMESTAMP_FORMAT)			\
	R(0x1209, RQ_USER_INDEX)			\
	R(0x120a, RQ_MODIFY_MASK)			\
	/* RQTs */					\
	R(0x1301, RQT_FIELD_NOT_OFFERED)		\
	R(0x1302, RQT_SIZE)				\
	R(0x1303, RQT_LIST)				\
	/* TIRs */					\
	R(0x1401, TIR_FIELD_NOT_OFFERED)		\
	R(0x1402, TIR_HASH)				\
	R(0x1403, TIR_DISPATCH)				\
	/* flow tables */				\
	R(0x1501, FLOW_TABLE_TYPE)			\
	R(0x1502, FLOW_TABLE_LEVEL)			\
	R(0x1503, FLOW_TABLE_SIZE)			\
	R(0x1504, FLOW_TABLE_MISS)			\
	R(0x1505, FLOW_TABLE_FIELD_NOT_OFFERED)		\
	R(0x1506, FLOW_TABLE_MODIFY)			\
	R(0x1507, FLOW_TABLE_ROOT)			\
	/* groups of flow tables */			\
	R(0x1601, FLOW_GROUP_RANGE)			\
	R(0x1602, FLOW_GROUP_OVERLAP)			\
	R(0x1603, FLOW_GROUP_CRITERIA)			\
	R(0x1604, FLOW_GROUP_NOT_OFFERED)		\
	R(0x1605, FLOW_GROUP_TABLE)			\
	/* entries of flow tables */			\
	R(0x1701, FLOW_ENTRY_GROUP)			\
	R(0x1702, FLOW_ENTRY_INDEX_USED)		\
	R(0x1703, FLOW_ENTRY_VALUE)			\
	R(0x1704, FLOW_ENTRY_ACTION)			\
	R(0x1705, FLOW_ENTRY_DESTINATION)		\
	R(0x1706, FLOW_ENTRY_DESTINATIONS)		\
	R(0x1707, FLOW_ENTRY_TABLES)			\
	R(0x1708, FLOW_ENTRY_NOT_OFFERED)		\
	R(0x1709, FLOW_ENTRY_MODIFY)			\
	R(0x170a, FLOW_ENTRY_LIST)			\
	R(0x170b, FLOW_ENTRY_COUNTERS)			\
	R(0x170c, FLOW_ENTRY_PATHS)			\
	/* flow counters */				\
	R(0x1801, FLOW_COUNTER_NOT_OFFERED)		\
	R(0x1802, FLOW_COUNTER_BULK)			\
	/* RoCE */					\
	R(0x1901, ROCE_NOT_OFFERED)			\
	R(0x1902, ROCE_ADDRESS_INDEX)			\
	R(0x1903, ROCE_ADDRESS_VERSION)			\
	R(0x1904, ROCE_ADDRESS_TYPE)			\
	R(0x1905, ROCE_ADDRESS_MAC)			\
	R(0x1906, ROCE_ADDRESS_VLAN)			\
	R(0x1907, ROCE_PATH_FIELD)			\
	R(0x1908, ROCE_PATH_ADDRESS)			\
	R(0x1909, ROCE_PATH_MAC)			\
	R(0x190a, ROCE_PATH_UDP_PORT)			\
	R(0x190b, ROCE_PATH_LOOPBACK)			\
	/* DC targets */				\
	R(0x1a01, DCT_STATE)				\
	R(0x1a02, DCT_FIELD_NOT_OFFERED)		\
	R(0x1a03, DCT_PRIVILEGED)			\
	R(0x1a04, DCT_USER_INDEX)			\
	R(0x1a05, DCT_SCATTER_TO_CQE)			\
	R(0x1a06, DCT_MTU)				\
	R(0x1a07, DCT_ATOMIC_MODE)			\
	/* receive queues with tag matching */		\
	R(0x1b01, XRQ_STATE)				\
	R(0x1b02, XRQ_FIELD_NOT_OFFERED)		\
	R(0x1b03, XRQ_TOPOLOGY)				\
	R(0x1b04, XRQ_OFFLOAD)				\
	R(0x1b05, XRQ_USER_INDEX)			\
	R(0x1b06, XRQ_LIST_SIZE)			\
	R(0x1b07, XRQ_APPEND_INDEX)			\
	R(0x1b08, XRQ_PHASE)

#define REFUSAL_ENUM(number, name) WHY_##name = number,
enum cmd_refusal { REFUSALS(REFUSAL_ENUM) };
#undef REFUSAL_ENUM

/* A refusal's number with its name. */
struct refusal_name {
	uint32_t number;
	const char *name;	/* "CQ_SIZE" */
};

extern const struct refusal_name refusal_names[];
extern const unsigned int refusal_names_nr;

const char *refusal_name(uint32_t number);

#endif
