/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work queue elements: decoding of send and receive WQEs from bytes that were copied from guest
 * memory before. Nothing here accesses the HCA or guest memory.
 */
#ifndef BLUEBELL_WQE_H
#define BLUEBELL_WQE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "qp.h"

#define WQE_BB		64			/* bytes of a WQEBB */
#define WQE_DS		16			/* the unit of the ds field */
#define WQE_MAX_BYTES	1024			/* 16 WQEBBs; ds has six bits */
#define WQE_MAX_SEGS	(WQE_MAX_BYTES / WQE_DS)
#define LKEY_TERMINATE	0x100u			/* ends a list of data segments */

/* Opcodes of send WQEs, as MLX5_OPCODE_*. */
enum wqe_opcode {
	WQE_NOP = 0x00, WQE_SEND_INVAL = 0x01, WQE_RDMA_WRITE = 0x08, WQE_RDMA_WRITE_IMM = 0x09,
	WQE_SEND = 0x0a, WQE_SEND_IMM = 0x0b, WQE_RDMA_READ = 0x10, WQE_ATOMIC_CS = 0x11,
	WQE_ATOMIC_FA = 0x12, WQE_MASKED_CS = 0x14, WQE_MASKED_FA = 0x15, WQE_UMR = 0x25,
	WQE_TAG_MATCHING = 0x28,
};

enum wqe_fence {
	FENCE_NONE = 0, FENCE_SMALL = 1, FENCE_READS = 2, FENCE_ALL = 3, FENCE_SMALL_READS = 4,
};

struct wqe_seg {
	uint64_t addr;
	uint64_t len;		/* up to 2^31 */
	uint32_t lkey;
	const uint8_t *inl;	/* inline data instead of addr/lkey */
};

enum wqe_tm_op { WQE_TM_NOP = 0, WQE_TM_APPEND = 1, WQE_TM_REMOVE = 2 };

/* The segment of WQE_TAG_MATCHING: a change of a list of tagged buffers. */
struct wqe_tm {
	enum wqe_tm_op op;
	bool cqe;		/* completion wanted */
	bool sync;		/* sw_phase is valid */
	uint16_t index;		/* APPEND: entry for the next append; REMOVE: entry */
	uint16_t sw_phase;	/* unexpected messages that software has processed */
	uint64_t tag, mask;
};

struct send_wqe {
	uint8_t opcode, opmod;
	uint16_t idx;		/* as the control segment says */
	uint32_t qpn;
	unsigned int ds;	/* length in 16-byte units */
	enum wqe_fence fence;
	bool cqe;		/* completion wanted */
	bool solicited;
	uint32_t imm;		/* immediate, key to invalidate or UMR mkey */
	bool is_read, is_atomic;	/* the response carries data */
	bool local;		/* executed locally: no packet is sent */
	uint16_t stream;	/* of a DCI */
	uint32_t xrc_srqn;	/* XRC: the shared receive queue at the other side */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare, swap_mask, compare_mask;
	struct wqe_av av;
	struct wqe_tm tm;
	const uint8_t *umr;	/* UMR: what follows the control segment */
	size_t umr_len;
	const char *why;	/* decode failure, for the trace */
	uint64_t len;		/* sum of the data segments */
	unsigned int nseg;
	struct wqe_seg seg[WQE_MAX_SEGS];
	uint8_t raw[WQE_MAX_BYTES];	/* the WQE in one piece; seg[].inl and umr point here */
};

struct recv_wqe {
	uint64_t len;
	unsigned int nseg;
	struct wqe_seg seg[WQE_MAX_SEGS];
};

/* Number of WQEBBs that @ds 16-byte units take. */
static inline unsigned int wqe_bbs(unsigned int ds)
{
	return (ds * WQE_DS + WQE_BB - 1) / WQE_BB;
}

int wqe_parse_ctrl(struct send_wqe *w);
int wqe_parse_data(struct send_wqe *w, size_t off);
int wqe_parse_send(struct send_wqe *w, enum qp_type type);
int wqe_parse_recv(struct recv_wqe *w, const uint8_t *buf, size_t len, size_t skip);

#endif
