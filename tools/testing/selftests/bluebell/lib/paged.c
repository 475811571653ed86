// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory with a paged region over it, and operations of the device on the memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "paged.h"

/* The accesses to paged memory that an XRC queue pair needs. */
#define XRC_ODP (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | \
		 IBV_ODP_SUPPORT_SRQ_RECV)

static const enum ibv_wr_opcode opcodes[] = {
	[SEND] = IBV_WR_SEND, [WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ,
	[ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static bool has_odp_caps(struct ibv_context *ctx, uint64_t caps)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       (attr.odp_caps.general_caps & caps) == caps;
}

bool paged_has_implicit(struct ibv_context *ctx)
{
	return has_odp_caps(ctx, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
}

bool paged_has_xrc(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       (attr.xrc_odp_caps & XRC_ODP) == XRC_ODP;
}

/* Map new memory, of LEN bytes; at the address @at unless that is NULL. */
uint8_t *paged_map(void *at)
{
	return mmap(at, LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

/* Register the memory for paging, or with @implicit the whole address space. */
struct ibv_mr *paged_reg(struct paged *o, bool implicit)
{
	return ibv_reg_mr(o->r.pd, implicit ? NULL : o->mem, implicit ? SIZE_MAX : LEN,
			  ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
}

/**
 * paged_open_type - open the device, connect two queue pairs, and register memory for paging
 * @o: the result, for paged_close()
 * @implicit: register the whole address space
 * @type: of the queue pairs
 *
 * Return: 0, a negative errno, or what the device lacks (enum paged_lack).
 */
int paged_open_type(struct paged *o, bool implicit, enum ibv_qp_type type)
{
	struct qp_cfg cfg = { .type = type };
	int ret;

	memset(o, 0, sizeof(*o));
	ret = rdma_open(&o->r);
	if (!ret && !rdma_has_odp(o->r.ctx))
		return PAGED_LACKS_ODP;
	if (!ret && type == IBV_QPT_XRC_SEND && !paged_has_xrc(o->r.ctx))
		return PAGED_LACKS_XRC;
	if (!ret && implicit && !paged_has_implicit(o->r.ctx))
		return PAGED_LACKS_IMPLICIT;
	if (!ret)
		ret = pair_open(&o->p, &o->r, &cfg, LEN);
	if (ret)
		return ret;
	o->mem = paged_map(NULL);
	if (o->mem == MAP_FAILED)
		return -errno;
	o->mr = paged_reg(o, implicit);
	return o->mr ? 0 : -errno;
}

int paged_open(struct paged *o, bool implicit)
{
	return paged_open_type(o, implicit, IBV_QPT_RC);
}

/* Undo paged_open(). Returns the result of deregistration. */
int paged_close(struct paged *o)
{
	int ret = o->mr ? ibv_dereg_mr(o->mr) : 0;

	pair_close(&o->p);
	rdma_close(&o->r);
	if (o->mem)
		munmap(o->mem, LEN);
	return ret;
}

/* One operation; returns the requester's status, or, if that is success, the receiver's. */
int paged_run(struct paged *o, enum kind op, void *local, uint32_t lkey, void *remote,
	      uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = len, .lkey = lkey };
	struct ibv_sge rsge = { .addr = (uintptr_t)remote, .length = len, .lkey = rkey };
	struct ibv_recv_wr rwr = { .sg_list = &rsge, .num_sge = 1 };
	struct ibv_send_wr wr = {
		.opcode = opcodes[op], .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	int ret;

	if (op == SEND && pair_post_recv(&o->p, &rwr))
		return -1;
	if (op == ATOMIC) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else if (op != SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)remote;
		wr.wr.rdma.rkey = rkey;
	}
	if (post_send(&o->p, &wr, NULL, 0))
		return -1;
	ret = reap(o->p.cq[0], &wc);
	if (!ret && op == SEND)
		ret = reap(o->p.cq[1], &wc);
	if (ret)
		pair_reconnect(&o->p);
	return ret;
}

/* The responder accesses the paged region at @off, the requester its pinned buffer. */
int paged_remote(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return paged_run(o, op, o->p.buf[0], o->p.mr->lkey, o->mem + off, o->mr->rkey, len);
}

/* The requester accesses the paged region at @off, the responder its pinned buffer. */
int paged_local(struct paged *o, enum kind op, size_t off, uint32_t len)
{
	return paged_run(o, op, o->mem + off, o->mr->lkey, o->p.buf[1], o->p.mr->rkey, len);
}

/* Call ibv_advise_mr(3) for one piece of memory. */
int paged_advise(struct paged *o, enum ibv_advise_mr_advice advice, uint32_t flags, void *addr,
		 uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = lkey };

	return ibv_advise_mr(o->r.pd, advice, flags, &sge, 1);
}

