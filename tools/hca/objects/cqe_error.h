/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How work requests fail: for each cause the syndrome, the vendor syndrome and the hardware
 * syndrome of the error CQE. Documentation/hca-errors.rst lists the causes, too, and says which
 * values real devices have been seen to give.
 */
#ifndef BLUEBELL_CQE_ERROR_H
#define BLUEBELL_CQE_ERROR_H

#include <stdint.h>

/* Syndromes of error CQEs, as the programmer's reference manual defines them. */
enum cqe_syndrome {
	SYND_NONE = 0, SYND_LOCAL_LENGTH = 0x01, SYND_LOCAL_QP_OP = 0x02, SYND_LOCAL_PROT = 0x04,
	SYND_WR_FLUSH = 0x05, SYND_MW_BIND = 0x06, SYND_BAD_RESP = 0x10, SYND_LOCAL_ACCESS = 0x11,
	SYND_REMOTE_INVAL_REQ = 0x12, SYND_REMOTE_ACCESS = 0x13, SYND_REMOTE_OP = 0x14,
	SYND_TRANSPORT_RETRY = 0x15, SYND_RNR_RETRY = 0x16, SYND_REMOTE_ABORT = 0x22,
};

/* Cause, syndrome, vendor syndrome, hardware syndrome. */
#define CQE_ERRORS(E)						\
	E(MESSAGE_TOO_LONG, LOCAL_LENGTH, 0x7c, 0)		\
	E(RECEIVE_TOO_SHORT, LOCAL_LENGTH, 0x8e, 0)		\
	E(WQE_INVALID, LOCAL_QP_OP, 0x68, 31)			\
	E(RECEIVE_INVALID, LOCAL_QP_OP, 0xd6, 0)		\
	E(SOURCE_GID_UNKNOWN, LOCAL_QP_OP, 0x71, 0)		\
	E(QUEUE_GONE, LOCAL_QP_OP, 0x72, 0)			\
	E(GATHER_KEY_UNKNOWN, LOCAL_PROT, 0x52, 147)		\
	E(GATHER_KEY_RIGHTS, LOCAL_PROT, 0x7b, 0)		\
	E(GATHER_KEY_RANGE, LOCAL_PROT, 0x53, 157)		\
	E(SCATTER_KEY_UNKNOWN, LOCAL_PROT, 0x32, 146)		\
	E(SCATTER_KEY_RIGHTS, LOCAL_PROT, 0x33, 157)		\
	E(SCATTER_KEY_RANGE, LOCAL_PROT, 0x74, 0)		\
	E(LKEY_PD, LOCAL_PROT, 0x73, 0)				\
	E(GATHER_MEMORY_GONE, LOCAL_PROT, 0x51, 2)		\
	E(SCATTER_MEMORY_GONE, LOCAL_PROT, 0x56, 169)		\
	E(PAGE_REFUSED, LOCAL_PROT, 0x75, 0)			\
	E(FLUSHED_FIRST, WR_FLUSH, 0xf5, 0)			\
	E(FLUSHED, WR_FLUSH, 0xf9, 0)				\
	E(UMR_REFUSED, MW_BIND, 0x78, 0)			\
	E(UMR_KEY_UNKNOWN, MW_BIND, 0x78, 8)			\
	E(UMR_RANGE, MW_BIND, 0x78, 15)				\
	E(RESPONSE_INVALID, BAD_RESP, 0x77, 0)			\
	E(INVALIDATION_REFUSED, LOCAL_ACCESS, 0x7d, 0)		\
	E(NAK_INVALID_REQUEST, REMOTE_INVAL_REQ, 0x8a, 0)	\
	E(REQUEST_INVALID, REMOTE_INVAL_REQ, 0x79, 0)		\
	E(NAK_ACCESS, REMOTE_ACCESS, 0x88, 0)			\
	E(RKEY_REFUSED, REMOTE_ACCESS, 0x7a, 0)			\
	E(RKEY_UNKNOWN, LOCAL_PROT, 0x3a, 147)			\
	E(NAK_OPERATION, REMOTE_OP, 0x89, 0)			\
	E(NO_ANSWER, TRANSPORT_RETRY, 0x81, 0)			\
	E(NO_RECEIVE, RNR_RETRY, 0x87, 0)			\
	E(CQ_FAILED, NONE, 0x41, 0)

/* A value packs the three syndromes, from the lowest byte: syndrome, vendor, hardware. */
enum cqe_error {
	ERR_NONE = 0,
#define CQE_ERROR(name, synd, vendor, hw) ERR_##name = SYND_##synd | (vendor) << 8 | (hw) << 16,
	CQE_ERRORS(CQE_ERROR)
#undef CQE_ERROR
	ERR_PAGE_FAULT = 1 << 24,	/* in no CQE: the queue waits for a page (fault.h) */
};

#define CQE_ERROR_BYTES	4	/* of struct mlx5_ifc_cqe_error_syndrome_bits */

static inline enum cqe_syndrome cqe_error_syndrome(enum cqe_error e)
{
	return e & 0xff;
}

static inline uint8_t cqe_error_vendor(enum cqe_error e)
{
	return e >> 8 & 0xff;
}

static inline uint8_t cqe_error_hw(enum cqe_error e)
{
	return e >> 16 & 0xff;
}

/* Fill struct mlx5_ifc_cqe_error_syndrome_bits. The type of the hardware syndrome is always 0. */
static inline void cqe_error_put(uint8_t *to, enum cqe_error e)
{
	to[0] = cqe_error_hw(e);
	to[1] = 0;
	to[2] = cqe_error_vendor(e);
	to[3] = cqe_error_syndrome(e);
}

#endif
