/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Umems: CREATE_UMEM gives a number to memory of a process. A command of that process names the
 * memory of a queue, of a doorbell record or of an mkey by this number and an offset, not by
 * addresses.
 */
#ifndef BLUEBELL_UMEM_H
#define BLUEBELL_UMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "object.h"

struct cmd;
struct hca;

/*
 * Fields that mlx5_ifc.h leaves reserved, as bits from the start of a structure: the number of a
 * umem, and an offset in it. Programs that use DEVX have names for them.
 */
enum {
	/* of the input of CREATE_CQ, MODIFY_CQ and CREATE_XRC_SRQ */
	CMD_UMEM_OFFSET = 0x280, CMD_UMEM_ID = 0x2c0,
	CREATE_MKEY_UMEM_ID = 0x320, CREATE_MKEY_UMEM_OFFSET = 0x340,
	CQC_DBR_UMEM_ID = 0x20, QPC_DBR_UMEM_ID = 0x720, XRC_SRQC_DBR_UMEM_ID = 0x60,
};

/* What the HCA may do with a page of a umem: rd_en and wr_en of its MTT. */
#define UMEM_READ	1ull
#define UMEM_WRITE	2ull
#define UMEM_ACCESS	(UMEM_READ | UMEM_WRITE)

struct umem {
	struct obj obj;		/* obj.num is the number of the umem */
	uint64_t *mtt;		/* addresses of the pages, with UMEM_READ and UMEM_WRITE */
	uint32_t nmtt;
	unsigned int log_page;	/* log2 of the page size in bytes */
	uint32_t page_offset;	/* of the umem's first byte in the first page, bytes */
};

/* A place in a umem, as a command names it. */
struct umem_place {
	uint32_t id;
	uint64_t offset;	/* bytes */
};

/* What a context needs of the memory that begins at a place in a umem. */
struct umem_use {
	uint64_t len;		/* bytes */
	unsigned int align;	/* of the first byte in its page; a power of two */
	bool page_64ths;	/* the first byte has to be at a multiple of 1/64 page, too */
	uint64_t access;	/* what the HCA does with the memory */
};

uint64_t umem_page(const struct umem *u, uint64_t pos);
uint8_t check_umem(struct hca *hca, struct cmd *cmd, const struct umem_place *at,
		   const struct umem_use *use, struct umem **u);

#endif
