// SPDX-License-Identifier: GPL-2.0
/*
 * The events of page faults: struct mlx5_eqe_page_fault of linux/mlx5/device.h.
 */
#include <string.h>

#include "caps.h"
#include "eq.h"
#include "fault_event.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "profile.h"

#define SUBTYPE_WQE	0	/* MLX5_PFAULT_SUBTYPE_* */
#define SUBTYPE_RDMA	1
#define SUBTYPE_MEMORY	2
#define FLAG_LAST	0x80	/* memory scheme: software has to answer the event */
#define LOG_UNIT	12	/* MEMORY_SCHEME_PAGE_FAULT_GRANULARITY */

/**
 * fault_by_memory() - tell whether the driver chose the memory scheme of page faults
 * @hca: the HCA
 */
bool fault_by_memory(struct hca *hca)
{
	return IFC_GET(odp_cap, hca->cap[CAP_ODP], mem_page_fault);
}

/**
 * fault_post_transport() - post the event of a fault by the transport scheme
 * @hca: the HCA
 * @f: the fault
 * @token: names the fault
 * @inj: the fault injection of a test, with a wrong subtype for the event, or NULL
 */
void fault_post_transport(struct hca *hca, const struct page_fault *f, uint32_t token,
			  const struct inject_fault *inj)
{
	uint8_t subtype = fault_type_is_remote(f->type) ? SUBTYPE_RDMA : SUBTYPE_WQE;
	uint8_t data[28] = {};

	if (inj && !inj->not_write)
		subtype = inj->subtype;
	put_be32(data, f->done);
	put_be16(data + 10, f->packet_len);
	if (fault_type_is_remote(f->type)) {
		put_be32(data + 4, f->rkey);
		put_be32(data + 12, f->op_len);
		put_be64(data + 16, f->va);
		put_be32(data + 24, (uint32_t)f->type << 24 | token);
	} else {
		put_be16(data + 6, f->wqe_index);
		put_be32(data + 12, token);
		put_be32(data + 24, (uint32_t)f->type << 24 | f->wq);
	}
	eq_post_async(hca, EV_PAGE_FAULT, subtype, data);
}

/* Post the event of a part of the access: the @len bytes from @va on, which are in one page. */
static void fault_post_part(struct hca *hca, const struct mkey_absent *a, uint64_t va, uint64_t len,
			    uint64_t token, uint8_t subtype)
{
	bool first = va == a->va, last = va + len == a->va + a->len;
	uint64_t unit = 1ull << LOG_UNIT;
	uint64_t bytes = ((va & (unit - 1)) + len + unit - 1) & ~(unit - 1);
	uint8_t data[28] = {};

	data[0] = last ? FLAG_LAST : 0;
	put_be16(data + 2, last ? a->after >> LOG_UNIT : 0);
	put_be16(data + 4, first ? a->before >> LOG_UNIT : 0);
	put_be16(data + 6, token >> 32);
	put_be32(data + 8, token);
	put_be32(data + 12, bytes);
	put_be32(data + 16, a->key);
	put_be64(data + 20, va);
	eq_post_async(hca, EV_PAGE_FAULT, subtype, data);
}

/**
 * fault_post_memory() - post the events of a fault by the memory scheme
 * @hca: the HCA
 * @a: the pages that an access did not find
 * @token: names the fault
 * @inj: the fault injection of a test, with a wrong subtype for the event, or NULL
 *
 * Posts one event for each page of the access. Only the last event has to be answered.
 */
void fault_post_memory(struct hca *hca, const struct mkey_absent *a, uint64_t token,
		       const struct inject_fault *inj)
{
	uint8_t subtype = inj && !inj->not_write ? inj->subtype : SUBTYPE_MEMORY;
	uint64_t early = token ^ FAULT_TOKEN_LAST ^ FAULT_TOKEN_EARLY;
	uint64_t page = 1ull << a->log_page, done = 0, n;

	for (; done < a->len; done += n) {
		n = page - ((a->va + done) & (page - 1));
		if (n > a->len - done)
			n = a->len - done;
		fault_post_part(hca, a, a->va + done, n, done + n < a->len ? early : token,
				subtype);
	}
}
