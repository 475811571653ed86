/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of management datagrams (InfiniBand Architecture, volume 1, 13.4.2, 14.2.1), and the
 * values of their common header.
 */
#ifndef BLUEBELL_MAD_FORMAT_H
#define BLUEBELL_MAD_FORMAT_H

#define MAD_BYTES	256
#define SMP_DATA_BYTES	64

enum mad_class {
	CLASS_SM_LID = 0x01, CLASS_SA = 0x03, CLASS_PERF = 0x04, CLASS_SM_DIRECTED = 0x81,
};

enum mad_method {
	METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_TRAP = 0x05, METHOD_REPORT = 0x06,
	METHOD_TRAP_REPRESS = 0x07, METHOD_GET_RESP = 0x81, METHOD_REPORT_RESP = 0x86,
	METHOD_RESPONSE = 0x80,
};

enum mad_status {
	MAD_OK = 0, MAD_BAD_VERSION = 0x0004, MAD_BAD_METHOD = 0x0008, MAD_BAD_ATTR = 0x000c,
	MAD_BAD_VALUE = 0x001c,
	MAD_STATUS_DIRECTION = 0x8000,	/* D bit: a directed-route packet on its way back */
};

/* Attributes of subnet management. */
enum smp_attr {
	SMP_NOTICE = 0x02, SMP_NODE_DESC = 0x10, SMP_NODE_INFO = 0x11, SMP_SWITCH_INFO = 0x12,
	SMP_GUID_INFO = 0x14, SMP_PORT_INFO = 0x15, SMP_PKEY_TABLE = 0x16, SMP_SL_TO_VL = 0x17,
	SMP_VL_ARBITRATION = 0x18, SMP_LINEAR_TABLE = 0x19, SMP_MCAST_TABLE = 0x1b,
	SMP_SM_INFO = 0x20, SMP_PORT_INFO_EXTENDED = 0x33,
	SMP_EXT_PORT_INFO = 0xff90,	/* of vendor 15b3 (Mellanox): the vendor's link speeds */
};

/* In the modifier of PortInfo: the subnet manager knows extended speeds. */
#define SMP_MOD_EXT_SPEEDS	0x80000000u

/* Offsets in a MAD, in a subnet management packet, and in a MAD of subnet administration. */
enum {
	OFF_VERSION = 0, OFF_CLASS = 1, OFF_CLASS_VERSION = 2, OFF_METHOD = 3, OFF_STATUS = 4,
	OFF_HOP_POINTER = 6, OFF_HOP_COUNT = 7, OFF_TID = 8, OFF_ATTR = 16, OFF_MOD = 20,
	OFF_M_KEY = 24, OFF_DR_SLID = 32, OFF_DR_DLID = 34, OFF_SMP_DATA = 64,
	OFF_INITIAL_PATH = 128, OFF_RETURN_PATH = 192, OFF_PMA_DATA = 64,
	OFF_RMPP_VERSION = 24, OFF_RMPP_TYPE = 25, OFF_RMPP_FLAGS = 26, OFF_RMPP_STATUS = 27,
	OFF_RMPP_DATA1 = 28, OFF_RMPP_DATA2 = 32, OFF_SM_KEY = 36, OFF_ATTR_OFFSET = 44,
	OFF_COMPONENTS = 48, OFF_SA_DATA = 56,
};

#define SA_DATA_BYTES	(MAD_BYTES - OFF_SA_DATA)
#define GUIDS_IN_BLOCK	8	/* of GUIDInfo */
#define PKEYS_IN_BLOCK	32	/* of P_KeyTable */

#endif
