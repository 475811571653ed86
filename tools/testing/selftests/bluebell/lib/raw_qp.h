/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Raw CREATE_QP requests: the objects that they name, and a valid request whose fields a test
 * changes.
 */
#ifndef BLUEBELL_RAW_QP_H
#define BLUEBELL_RAW_QP_H

#include <fcntl.h>

#include "test.h"

/* The buffer needs two pages: the receive queue of uv_qp_req_init(), and a send queue of a page. */
#define RAW_QP_BYTES (16 * 16 + UV_PAGE)

/**
 * struct raw_qp - what a CREATE_QP request needs
 * @uv: context
 * @pd: handle of a PD
 * @xrcd: handle of an XRC domain, if the type is IBV_QPT_XRC_SEND
 * @cq: CQ of both queues
 * @mem: buffer and doorbell record
 * @req: a request that succeeds as it is
 * @pinned: pages that were pinned before the test
 */
struct raw_qp {
	struct uv uv;
	uint32_t pd, xrcd;
	struct uv_cq cq;
	struct uv_mem mem;
	struct uv_qp_req req;
	long pinned;
};

static inline void raw_qp_open(struct __test_metadata *_metadata, struct raw_qp *raw,
			       enum ibv_qp_type type)
{
	ASSERT_EQ(0, uv_open(&raw->uv));
	ASSERT_EQ(0, uv_alloc_pd(raw->uv.fd, &raw->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(raw->uv.fd, 63, &raw->cq));
	if (type == IBV_QPT_XRC_SEND)
		ASSERT_EQ(0, uv_open_xrcd(raw->uv.fd, -1, O_CREAT, &raw->xrcd));
	ASSERT_EQ(0, uv_mem_alloc(&raw->mem, RAW_QP_BYTES));
	uv_qp_req_init(&raw->req, raw->pd, raw->cq.handle, type);
	raw->req.drv.sq_wqe_count = UV_PAGE / 64;
	raw->req.drv.buf_addr = (uintptr_t)raw->mem.buf;
	raw->req.drv.db_addr = (uintptr_t)raw->mem.dbr;
	raw->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

/* Refused requests must leave neither pinned pages nor firmware objects. */
static inline void raw_qp_close(struct __test_metadata *_metadata, struct raw_qp *raw)
{
	EXPECT_EQ(raw->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&raw->uv);
}

#endif
