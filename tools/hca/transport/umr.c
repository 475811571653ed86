// SPDX-License-Identifier: GPL-2.0
/*
 * UMR work requests: changes to memory keys from a send queue. Drivers register memory with them
 * without a firmware command, bind memory windows and invalidate keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "conn.h"
#include "cq.h"
#include "expect.h"
#include "hca.h"
#include "ifc.h"
#include "inject.h"
#include "mkey.h"
#include "object.h"
#include "qp.h"
#include "umr.h"
#include "util.h"
#include "wqe.h"

/* Segments after the control segment: struct mlx5_wqe_umr_ctrl_seg, the context, then data. */
#define UMR_CTRL_BYTES	48
#define UMR_CTX_BYTES	MKC_BYTES
#define UMR_DATA_OFF	(UMR_CTRL_BYTES + UMR_CTX_BYTES)

#define UMR_INLINE	0x80
#define UMR_CHECK_MASK	0x60
#define UMR_MUST_FREE	0x20	/* MLX5_UMR_CHECK_NOT_FREE: refuse a key that is not free */
#define UMR_MUST_LIVE	0x40	/* MLX5_UMR_CHECK_FREE: refuse a key that is free */
#define UMR_XLT_OFFSET	0x10
#define UMR_CHECK_QPN	0x08

#define UMR_MISALIGNED	"an MTT is not aligned to the page size"
#define UMR_TOO_MANY	"more translations than the key has room for"
#define UMR_INJECTED	"injected"	/* the reason of a refusal that a test asked for */

/* Translations are read and written in blocks of MLX5_UMR_FLEX_ALIGNMENT bytes. */
#define UMR_BLOCK_BYTES		64
#define UMR_BLOCK_OCTOWORDS	(UMR_BLOCK_BYTES / 16)
#define UMR_ALIGN		2048	/* MLX5_UMR_ALIGN: of a list that a WQE points at */

#define MASK_PAGE_SIZE_5 (1ull << 42)
#define MASK_PAGE_SIZE	(1ull << 1 | MASK_PAGE_SIZE_5)
#define MASK_LEN	(1ull << 0)
#define MASK_PLACE	(MASK_LEN | 1ull << 6 | MASK_PAGE_SIZE)	/* length, start, page size */
#define MASK_VARIANT	(1ull << 13)
#define MASK_QPN	(1ull << 14)
#define MASK_ATOMIC	(1ull << 21)
#define MASK_RO_WRITE	(1ull << 25)
#define MASK_RO_READ	(1ull << 47)
#define MASK_PD		(1ull << 7)
#define MASK_FREE	(1ull << 29)

/*
 * A bit of mkey_mask (MLX5_MKEY_MASK_*) and the field of struct mlx5_ifc_mkc_bits that it selects.
 * The page size has two bits in the mask: one for its first five bits, one for the sixth.
 */
#define FIELD(bit, fld)	{ 1ull << (bit), IFC_OFF(mkc, fld), IFC_BITS(mkc, fld) }
#define PAGE_SIZE_0_4	{ 1ull << 1, IFC_OFF(mkc, log_page_size) + 1, 5 }
#define PAGE_SIZE_5	{ MASK_PAGE_SIZE_5, IFC_OFF(mkc, log_page_size), 1 }
static const struct { uint64_t mask; uint16_t off, width; } umr_field[] = {
	FIELD(0, len), FIELD(0, length64), PAGE_SIZE_0_4, FIELD(6, start_addr),
	FIELD(7, pd), FIELD(8, en_rinval), FIELD(12, bsf_en), FIELD(13, mkey_7_0), FIELD(14, qpn),
	FIELD(17, lr), FIELD(18, lw), FIELD(19, rr), FIELD(20, rw), FIELD(21, a),
	FIELD(23, small_fence_on_rdma_read_response), FIELD(25, relaxed_ordering_write),
	FIELD(29, free), PAGE_SIZE_5, FIELD(47, relaxed_ordering_read),
};

struct umr {
	uint8_t flags;
	uint16_t octowords;
	uint64_t offset;	/* octowords */
	uint64_t mask;
	const uint8_t *ctx;
	const uint8_t *data;
	size_t data_len;
};

static const char *umr_parse(struct umr *u, const struct send_wqe *w)
{
	const uint8_t *p = w->umr;

	if (w->umr_len < UMR_DATA_OFF)
		return "UMR WQE too short";
	u->flags = p[0];
	u->octowords = get_be16(p + 4);
	u->mask = get_be64(p + 8);
	u->ctx = p + UMR_CTRL_BYTES;
	u->data = p + UMR_DATA_OFF;
	u->data_len = w->umr_len - UMR_DATA_OFF;
	u->offset = get_be16(p + 6) | (uint64_t)get_be32(p + 16) << 16;
	/* Without the flag the first field is the length of a BSF, which this HCA has not. */
	if (u->offset && !(u->flags & UMR_XLT_OFFSET))
		return "an offset of the translations needs TRANSLATION_OFFSET_EN";
	if (!u->data_len && !(u->flags & UMR_INLINE))
		return "UMR neither points at translations nor has INLINE set";
	if ((u->flags & UMR_CHECK_MASK) == UMR_CHECK_MASK)
		return "UMR checks that the key is free and that it is in use";
	if ((u->octowords | u->offset) % UMR_BLOCK_OCTOWORDS)
		return "the translations are not whole blocks of 64 bytes";
	return NULL;
}

static bool umr_privileged(const struct qp *qp)
{
	return qp->type == QPT_REG_UMR;
}

/*
 * Keys of mode PA and MTT translate to host addresses, keys of mode MEMIC to device memory. A
 * process that could change their translation could reach all memory. So only queue pairs of the
 * kernel, which have qpc.fre set (fast registration enable), may change such a key; other queue
 * pairs may only free it.
 */
static bool umr_redirects(const struct qp *qp, const struct mkey *mk, const struct umr *u)
{
	bool leads = mk->mode == MKM_PA || mk->mode == MKM_MTT || mk->mode == MKM_MEMIC;

	return leads && !IFC_GET(qpc, qp->qpc, fre) && (u->octowords || u->mask & ~MASK_FREE);
}

/*
 * Check the request against capabilities that restrict UMR. Returns NULL or the reason for the
 * refusal.
 */
static const char *umr_not_offered(struct hca *hca, const struct umr *u)
{
	if (u->offset > UINT16_MAX && !hca_cap_gen(hca, umr_extended_translation_offset))
		return "translation offset of more than 16 bits";
	if (u->mask & MASK_PAGE_SIZE && hca_cap_gen(hca, umr_modify_entity_size_disabled))
		return "UMR may not change the page size";
	if (u->mask & MASK_PAGE_SIZE_5 &&
	    (!hca_cap_gen(hca, hca_cap_2) || !hca_cap_gen_2(hca, umr_log_entity_size_5)))
		return "UMR may not change the sixth bit of the page size";
	if (u->mask & MASK_ATOMIC && hca_cap_gen(hca, umr_modify_atomic_disabled))
		return "UMR may not change the right to atomic operations";
	if (u->mask & MASK_RO_WRITE && !hca_cap_gen(hca, relaxed_ordering_write_umr))
		return "UMR may not change relaxed ordering of writes";
	if (u->mask & MASK_RO_READ && !hca_cap_gen(hca, relaxed_ordering_read_umr))
		return "UMR may not change relaxed ordering of reads";
	return NULL;
}

/*
 * Check that this queue pair may change this key in this way. Returns NULL or the reason for the
 * refusal.
 */
static const char *umr_forbidden(struct hca *hca, const struct qp *qp, const struct mkey *mk,
				 const struct umr *u, uint32_t key)
{
	bool frees = u->mask & MASK_FREE && IFC_GET(mkc, u->ctx, free);

	if (umr_privileged(qp) && !IFC_GET(qpc, qp->qpc, fre))
		return "the QP was created without fre, so it may not register memory";
	if (!mk)
		return "the key does not exist";
	if (!mk->umr_en)
		return "the key does not allow UMR";
	if (mkey_is_indirect(mk) && hca_cap_gen(hca, umr_indirect_mkey_disabled))
		return "UMR may not change an indirect mkey (umr_indirect_mkey_disabled)";
	if (!umr_privileged(qp) && mk->pdn != qp->pdn)
		return "the key is of another PD";
	if (mk->mode == MKM_MEMIC && (u->octowords || u->mask & MASK_PLACE))
		return "UMR may not move a key over device memory";
	if (!umr_privileged(qp) && umr_redirects(qp, mk, u))
		return "a QP without fre may only free a key over host or device memory";
	if (!umr_privileged(qp) && u->mask & MASK_PD && IFC_GET(mkc, u->ctx, pd) != qp->pdn)
		return "only a UMR QP may move keys between PDs";
	if ((u->flags & UMR_CHECK_MASK) == UMR_MUST_FREE && !mk->free)
		return "the key is in use";
	if ((u->flags & UMR_CHECK_MASK) == UMR_MUST_LIVE && mk->free)
		return "the key is free";
	if (u->flags & UMR_CHECK_QPN && mk->qpn != MKEY_ANY_QP && mk->qpn != qp->obj.num)
		return "the key is bound to another QP";
	if (!umr_privileged(qp) && frees && (mk->free || (key & 0xff) != mk->variant))
		return "the key is free already, or has another variant";
	return NULL;
}

static const char *umr_merge_context(uint8_t *mkc, const struct umr *u)
{
	uint64_t known = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(umr_field); i++) {
		known |= umr_field[i].mask;
		if (u->mask & umr_field[i].mask)
			ifc_set_bits(mkc, umr_field[i].off, umr_field[i].width,
				     ifc_get_bits(u->ctx, umr_field[i].off, umr_field[i].width));
	}
	return u->mask & ~known ? "unknown bit in mkey_mask" : NULL;
}

/* Read one segment of the list of translations. Returns NULL or the reason for the refusal. */
static const char *umr_read_list(struct hca *hca, const struct qp *qp, const uint8_t *seg,
				 uint8_t *to, size_t n)
{
	const struct mkey_user user = conn_user(qp, qp->pdn);
	uint32_t lkey = get_be32(seg + 4);
	uint64_t addr = get_be64(seg + 8);

	if (addr % UMR_ALIGN)
		return "the translation list is not aligned to 2048 bytes";
	if (lkey == MKEY_RESD_LKEY && !hca_cap_gen(hca, umr_ptr_rlky))
		return "a translation list by the reserved lkey needs umr_ptr_rlky";
	if (mkey_read(hca, &user, lkey, addr, to, n, MK_LOCAL_READ) != MK_OK)
		return "translation list not readable";
	return NULL;
}

/*
 * Read the list of translations from the WQE or from where its data segments point. The caller
 * frees *heap.
 */
static const char *umr_translations(struct hca *hca, const struct qp *qp, const struct umr *u,
				    const uint8_t **list, uint8_t **heap)
{
	size_t bytes = (size_t)u->octowords * 16, off = 0;
	const char *why;
	size_t i;

	*heap = NULL;
	*list = u->data;
	if (u->flags & UMR_INLINE)
		return bytes > u->data_len ? "inline translations beyond the WQE" : NULL;
	*heap = malloc(bytes);
	*list = *heap;
	if (!*heap)
		return "no memory";
	for (i = 0; i + WQE_DS <= u->data_len && off < bytes; i += WQE_DS) {
		size_t n = get_be32(u->data + i);

		n = n < bytes - off ? n : bytes - off;
		why = umr_read_list(hca, qp, u->data + i, *heap + off, n);
		if (why)
			return why;
		off += n;
	}
	return off < bytes ? "translation list too short" : NULL;
}

/* Whether the request's list has a misaligned MTT among the entries that the key uses. */
static bool umr_list_misaligned(const struct mkey *mk, const struct umr *u, const uint8_t *list)
{
	uint64_t first = u->offset * 2, used = mkey_xlt_used(mk), i;

	for (i = 0; i < u->octowords * 2u && first + i < used; i++)
		if (mkey_mtt_misaligned(mk, get_be64(list + 8 * i)))
			return true;
	return false;
}

/* Whether an entry that the key uses and the request does not write is a misaligned MTT. */
static bool umr_table_misaligned(const struct mkey *mk, const struct umr *u)
{
	uint64_t first = u->offset * 2, used = mkey_xlt_used(mk), i;

	for (i = 0; i < used && i < mk->nent; i++)
		if ((i < first || i - first >= u->octowords * 2u) &&
		    mkey_mtt_misaligned(mk, mk->mtt[i]))
			return true;
	return false;
}

static const char *umr_write_translations(struct hca *hca, const struct qp *qp, struct mkey *mk,
					  const struct umr *u)
{
	const uint8_t *list;
	const char *why;
	uint8_t *heap;

	if (!u->octowords)
		return NULL;
	why = umr_translations(hca, qp, u, &list, &heap);
	if (!why)
		why = mkey_xlt_invalid(mk, list, u->octowords);
	if (!why && mk->mtt && !mk->free && umr_list_misaligned(mk, u, list))
		why = UMR_MISALIGNED;
	if (!why && mkey_xlt_write(mk, u->offset, list, u->octowords))
		why = UMR_TOO_MANY;
	free(heap);
	return why;
}

static const char *umr_change(struct hca *hca, const struct qp *qp, struct mkey *mk,
			      const struct umr *u)
{
	unsigned int log_page = mk->log_page;
	uint8_t before[MKC_BYTES];
	bool was_free = mk->free;
	const char *why;

	memcpy(before, mk->mkc, sizeof(before));
	why = umr_merge_context(mk->mkc, u);
	if (!why && !mkey_update(hca, mk))
		why = "no such PD";
	if (!why && !mk->free)
		why = mkey_entity_refused(hca, mk);
	if (!why && !mk->free)
		why = mkey_invalid(mk, mk->nent);
	if (!why && mk->mtt && !mk->free && (was_free || mk->log_page != log_page) &&
	    umr_table_misaligned(mk, u))
		why = UMR_MISALIGNED;
	if (!why)
		why = umr_write_translations(hca, qp, mk, u);
	if (!why && !umr_privileged(qp) && !mkey_set_bound(hca, mk, !mk->free))
		why = "no memory";
	if (why) {
		memcpy(mk->mkc, before, sizeof(before));
		mkey_update(hca, mk);
	}
	return why;
}

/*
 * Count and trace a refusal. The refusal of a process's request is not recorded as an incident: the
 * process sees the error in its CQE.
 */
static enum cqe_error umr_refuse(struct hca *hca, const struct qp *qp, uint32_t key,
				 enum cqe_error error, const char *why)
{
	hca->count.umr_refused++;
	hca_trace(hca, "umr_refused", "\"qpn\":%u,\"mkey\":%u,\"why\":\"%s\"", qp->obj.num, key,
		  why);
	if (umr_privileged(qp) && strcmp(why, UMR_INJECTED))
		expect_incident(hca->expect, INCIDENT_UMR, 0, 0, why, why);
	return error;
}

/*
 * A request on the driver's own queue pair names a key by its index and variant. This may be the
 * variant before the request or after it. Whether a device compares the variant is not known, so a
 * request with a third variant does not fail. But its driver has meant another key, so an incident
 * is recorded.
 */
static void umr_check_variant(struct hca *hca, const struct qp *qp, const struct mkey *mk,
			      const struct umr *u, uint32_t key)
{
	bool renamed = u->mask & MASK_VARIANT && IFC_GET(mkc, u->ctx, mkey_7_0) == (key & 0xff);
	char why[80];

	if (!umr_privileged(qp) || !mk || mk->variant == (key & 0xff) || renamed)
		return;
	snprintf(why, sizeof(why), "UMR of key 0x%x, whose variant is 0x%02x", key, mk->variant);
	expect_incident(hca->expect, INCIDENT_UMR, 0, 0, "variant", why);
}

static void umr_trace(struct hca *hca, const struct qp *qp, const struct umr *u,
		      const struct send_wqe *w)
{
	bool list = !(u->flags & UMR_INLINE);

	hca_trace(hca, "umr",
		  "\"qpn\":%u,\"mkey\":%u,\"flags\":%u,\"fence\":%u,\"mask\":%llu,"
		  "\"octowords\":%u,\"offset\":%llu,\"log_page_size\":%u,\"list\":%llu,"
		  "\"list_bytes\":%u,\"lkey\":%u",
		  qp->obj.num, w->imm, u->flags, w->fence, (unsigned long long)u->mask,
		  u->octowords, (unsigned long long)u->offset, IFC_GET(mkc, u->ctx, log_page_size),
		  list ? (unsigned long long)get_be64(u->data + 8) : 0,
		  list ? get_be32(u->data) : 0, list ? get_be32(u->data + 4) : 0);
}

/**
 * umr_execute() - execute a UMR work request
 * @hca: the HCA
 * @qp: the queue pair that it was posted to
 * @w: the decoded WQE
 *
 * Implements struct mlx5_wqe_umr_ctrl_seg, the memory key context and the translations after it,
 * inline or pointed at. A user's queue pair may change keys of its own protection domain only. A
 * queue pair of type REG_UMR, which the driver keeps for itself, may change any key. A refused
 * request leaves the context as it was.
 *
 * Return: ERR_NONE, ERR_WQE_INVALID for a malformed WQE, ERR_UMR_KEY_UNKNOWN for a key that does
 * not exist, ERR_UMR_RANGE for translations behind the end of the key's table, ERR_UMR_REFUSED for
 * another change that is refused.
 */
enum cqe_error umr_execute(struct hca *hca, const struct qp *qp, const struct send_wqe *w)
{
	enum cqe_error error = ERR_WQE_INVALID;
	struct mkey *mk = NULL;
	struct umr u;
	const char *why = umr_parse(&u, w);

	if (!why) {
		umr_trace(hca, qp, &u, w);
		mk = (struct mkey *)obj_find(hca, OBJ_MKEY, mkey_index(w->imm));
		error = mk ? ERR_UMR_REFUSED : ERR_UMR_KEY_UNKNOWN;
		why = umr_not_offered(hca, &u);
	}
	if (!why)
		umr_check_variant(hca, qp, mk, &u, w->imm);
	if (!why && umr_privileged(qp) && inject_umr(hca->inject))
		why = UMR_INJECTED;
	if (!why)
		why = umr_forbidden(hca, qp, mk, &u, w->imm);
	if (!why)
		why = umr_change(hca, qp, mk, &u);
	if (why && !strcmp(why, UMR_TOO_MANY))
		error = ERR_UMR_RANGE;
	if (!why) {
		hca->count.umr++;
		return ERR_NONE;
	}
	return umr_refuse(hca, qp, w->imm, error, why);
}

/**
 * umr_invalidate() - invalidate a key (set mkc.free), because a SEND with invalidate arrived
 * @hca: the HCA
 * @qp: the queue pair that it arrived at
 * @rkey: the key
 *
 * Return: false if the key does not exist, or if the queue pair's peer may not invalidate it.
 */
bool umr_invalidate(struct hca *hca, const struct qp *qp, uint32_t rkey)
{
	struct mkey *mk = mkey_find(hca, rkey);

	if (!mk || !mk->remote_inval_ok || !mk->umr_en || mk->pdn != qp->pdn ||
	    (mk->qpn != MKEY_ANY_QP && mk->qpn != qp->obj.num))
		return false;
	IFC_SET(mkc, mk->mkc, free, 1);
	mkey_decode(mk);
	mkey_set_bound(hca, mk, false);
	return true;
}
