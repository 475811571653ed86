/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware commands: what a handler gets, how it refuses a command, and the registry of handlers.
 * The queue that brings commands is in cmdif.h.
 */
#ifndef BLUEBELL_CMD_H
#define BLUEBELL_CMD_H

#include <stddef.h>
#include <stdint.h>

#include "refusal.h"

struct cmd_desc;
struct hca;
struct ifc_struct;

/* One command being executed; @in and @out are its whole input and output, with their headers. */
struct cmd {
	const struct cmd_desc *desc;	/* row of the command; NULL: the HCA does not have it */
	uint16_t opcode;
	uint16_t op_mod;
	uint16_t uid;		/* user id in the command header, 0 for the kernel */
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;		/* zeroed, out_len bytes; the caller fills status and syndrome */
	size_t out_len;
	uint32_t syndrome;	/* enum cmd_refusal; set by cmd_fail() */
	char why[120];		/* the reason in words, for the trace; set by cmd_fail() */
};

/* Firmware status codes, as MLX5_CMD_STAT_*_ERR in linux/mlx5/device.h. */
enum cmd_status {
	ST_OK = 0x00, ST_INTERNAL = 0x01, ST_BAD_OP = 0x02, ST_BAD_PARAM = 0x03,
	ST_BAD_SYS_STATE = 0x04, ST_BAD_RES = 0x05, ST_RES_BUSY = 0x06,
	ST_LIM = 0x08, ST_BAD_RES_STATE = 0x09, ST_BAD_INDEX = 0x0a, ST_NO_RES = 0x0f,
	ST_BAD_INP_LEN = 0x50, ST_BAD_OUTP_LEN = 0x51, ST_BAD_QP_STATE = 0x10,
	ST_BAD_PKT = 0x30, ST_BAD_SIZE_OUTS_CQES = 0x40,
};

typedef uint8_t (*cmd_handler)(struct hca *hca, struct cmd *cmd);

/* When a command is accepted, and from whom. Without a flag: after INIT_HCA, from any user id. */
enum cmd_flags {
	CMD_FIRST	= 1 << 0,	/* ENABLE_HCA itself: only while the HCA is not enabled */
	CMD_EARLY	= 1 << 1,	/* also between ENABLE_HCA and INIT_HCA */
	CMD_LEGACY	= 1 << 2,	/* only with version 0 of the interface (ISSI) */
	CMD_KERNEL	= 1 << 3,	/* only from the kernel: user id 0 */
	CMD_SHARE	= 1 << 4,	/* also from SHARED_UID: makes an object for every user */
	CMD_RAW_TX	= 1 << 5,	/* from user ids only with MLX5_UCTX_CAP_RAW_TX */
	CMD_ETH		= 1 << 6,	/* only if the capability eth_net_offloads is set */
	CMD_STEERING	= 1 << 7,	/* only if the capability nic_flow_table is set */
	CMD_DC		= 1 << 8,	/* only if the capability dct is set */
	CMD_TM		= 1 << 9,	/* only if the capability tag_matching is set */
};

/* A row of a table of commands: all that the HCA knows about a command before it runs. */
struct cmd_desc {
	uint16_t opcode;
	const char *name;		/* "CREATE_QP" */
	const char *in, *out;		/* "create_qp_in" in mlx5_ifc.h; NULL: has none */
	uint16_t in_min;		/* least bytes of input, else BAD_INP_LEN */
	uint16_t out_min;		/* least bytes of output, else BAD_OUTP_LEN */
	cmd_handler handler;
	unsigned int flags;		/* enum cmd_flags */
	uint16_t op_mod_first, op_mod_last;	/* the op_mods that are valid, else BAD_OP */
};

/*
 * The row of command MLX5_CMD_OP_@op, whose input and output are the structures @strct_in and
 * @strct_out. Flags and op_mods follow if there are any: CMD(ARM_RQ, arm_rq, arm_rq, .flags =
 * CMD_LEGACY). CMD_MIN() is for a command whose input or output may be shorter than the structure.
 * {} ends a table.
 */
#define CMD(op, strct, fn, ...)							\
	CMD_MIN(op, strct, IFC_SZ(strct##_in), IFC_SZ(strct##_out), fn, __VA_ARGS__)
#define CMD_MIN(op, strct, min_in, min_out, fn, ...)				\
	{ .opcode = MLX5_CMD_OP_##op, .name = #op, .in = #strct "_in", .out = #strct "_out",	\
	  .in_min = min_in, .out_min = min_out, .handler = fn, __VA_ARGS__ }
#define OP_MODS(first, last)	.op_mod_first = first, .op_mod_last = last

uint8_t cmd_fail(struct cmd *cmd, uint8_t status, enum cmd_refusal why, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
size_t cmd_left(const struct cmd *cmd, const uint8_t *p);

/* ---- the registry ---------------------------------------------------------------------------- */

#define CMD_OPCODES	0x1000	/* all opcodes are below this */

int cmds_init(struct hca *hca);
void cmds_exit(struct hca *hca);
int cmd_register(struct hca *hca, const struct cmd_desc *table);
const struct cmd_desc *cmd_desc_find(struct hca *hca, uint16_t opcode);
const struct cmd_desc *cmd_desc_by_name(struct hca *hca, const char *name);
void cmd_count(struct hca *hca, uint16_t opcode);
const uint32_t *cmd_counts(struct hca *hca);
void cmd_counts_reset(struct hca *hca);
uint8_t cmd_check_op_mod(struct cmd *cmd);
uint8_t cmd_check_reserved(struct hca *hca, struct cmd *cmd);

/*
 * The offset in bits of the second mask of optional parameters that RTS2RTS_QP has: 64 bits, which
 * mlx5_ifc.h leaves reserved.
 */
#define RTS2RTS_QP_OPT_95_32 0x840

/*
 * The bits dp_ordering_0 of the contexts of queue pairs and DC targets, which mlx5_ifc.h leaves
 * reserved, and the number that dp_ordering_1 and dp_ordering_0 are: of which operations the data
 * may arrive out of order.
 */
#define QPC_DP_ORDERING_0	0x26
#define DCTC_DP_ORDERING_0	0x73
enum dp_ordering { DP_ORDERING_NONE, DP_ORDERING_READ_WRITE, DP_ORDERING_ALL };

/* The bit that announces an extension of RTS2RTS_QP's context, and in it the stream to reset. */
#define RTS2RTS_QP_QPC_EXT	0x40
#define RTS2RTS_QP_STREAM	0x890
#define RTS2RTS_QP_EXT_BYTES	0x1d0	/* of the command with the extension */

#endif
