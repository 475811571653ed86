/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory with a paged region over it, and operations of the device on the memory.
 */
#ifndef BLUEBELL_PAGED_H
#define BLUEBELL_PAGED_H

#include "rdma.h"
#include "uv.h"

/* The size of the memory, in pages and in bytes. */
#define PAGES 32
#define LEN (PAGES * UV_PAGE)

#define NO_ODP "the device has no on-demand paging"
#define NO_IMPLICIT "the device has no implicit regions"
#define NO_XRC_ODP "the device has no on-demand paging for XRC"

enum kind { SEND, WRITE, READ, ATOMIC };

/* What a device may lack. */
enum paged_lack { PAGED_LACKS_ODP = 1, PAGED_LACKS_XRC, PAGED_LACKS_IMPLICIT };

/* Two queue pairs with pinned buffers, and memory with an on-demand-paging region over it. */
struct paged {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
};

bool paged_has_implicit(struct ibv_context *ctx);
bool paged_has_xrc(struct ibv_context *ctx);
uint8_t *paged_map(void *at);
struct ibv_mr *paged_reg(struct paged *o, bool implicit);
int paged_open_type(struct paged *o, bool implicit, enum ibv_qp_type type);
int paged_open(struct paged *o, bool implicit);
int paged_close(struct paged *o);
int paged_run(struct paged *o, enum kind op, void *local, uint32_t lkey, void *remote,
	      uint32_t rkey, uint32_t len);
int paged_remote(struct paged *o, enum kind op, size_t off, uint32_t len);
int paged_local(struct paged *o, enum kind op, size_t off, uint32_t len);
int paged_advise(struct paged *o, enum ibv_advise_mr_advice advice, uint32_t flags, void *addr,
		 uint32_t len, uint32_t lkey);

#endif
