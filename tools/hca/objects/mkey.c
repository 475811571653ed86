// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: the decoded context, translations, and the keys that a memory window is bound to.
 */
#include <errno.h>
#include <stdlib.h>

#include "caps.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "object.h"
#include "profile.h"

_Static_assert(IFC_SZ(mkc) == MKC_BYTES, "mkc size");

#define MKEY_MAX_OCTO	(1u << 26)	/* octowords of translations of a key */

/* Limits of mkc.log_page_size of an HCA that has no capabilities for them. */
#define ENTITY_LOG_MIN	12
#define ENTITY_LOG_MAX	31

/**
 * mkey_decode() - take the fields of a key from its raw context
 * @mk: key whose mkc[] (struct mlx5_ifc_mkc_bits) is new
 */
void mkey_decode(struct mkey *mk)
{
	const uint8_t *c = mk->mkc;

	mk->variant = IFC_GET(mkc, c, mkey_7_0);
	mk->free = IFC_GET(mkc, c, free);
	mk->length64 = IFC_GET(mkc, c, length64);
	mk->remote_inval_ok = IFC_GET(mkc, c, en_rinval);
	mk->umr_en = IFC_GET(mkc, c, umr_en);
	mk->mode = IFC_GET(mkc, c, access_mode_4_2) << 2 | IFC_GET(mkc, c, access_mode_1_0);
	mk->access = (IFC_GET(mkc, c, lr) ? MK_LOCAL_READ : 0) |
		     (IFC_GET(mkc, c, lw) ? MK_LOCAL_WRITE : 0) |
		     (IFC_GET(mkc, c, rr) ? MK_REMOTE_READ : 0) |
		     (IFC_GET(mkc, c, rw) ? MK_REMOTE_WRITE : 0) |
		     (IFC_GET(mkc, c, a) ? MK_ATOMIC : 0);
	mk->pdn = IFC_GET(mkc, c, pd);
	mk->qpn = IFC_GET(mkc, c, qpn);
	mk->start = IFC_GET64(mkc, c, start_addr);
	mk->len = IFC_GET64(mkc, c, len);
	mk->log_page = IFC_GET(mkc, c, log_page_size);
	if (mk->mode == MKM_MEMIC) {
		mk->memic_addr = mk->start;
		mk->start = 0;
	}
}

/**
 * mkey_update() - take the fields of a key in use from its raw context
 * @hca: the HCA
 * @mk: the key; the reference to its protection domain moves if the context names another domain
 *
 * Return: false if there is no protection domain of that number; the key keeps its old domain.
 */
bool mkey_update(struct hca *hca, struct mkey *mk)
{
	struct obj *old = obj_find(hca, OBJ_PD, mk->pdn);
	struct obj *now = obj_find(hca, OBJ_PD, IFC_GET(mkc, mk->mkc, pd));

	if (!now) {
		IFC_SET(mkc, mk->mkc, pd, mk->pdn);
		mkey_decode(mk);
		return false;
	}
	mkey_decode(mk);
	obj_put(hca, old);
	now->refs++;
	return true;
}

/**
 * mkey_first_byte() - find where a key begins in its first entry
 * @mk: decoded key of mode MTT or KSM
 *
 * An MTT is a page, which keeps the low bits of an address. A KSM is a part of another key, and the
 * first one begins where the key does, whatever its address: UCX gives a key that is for atomics
 * another address than the memory has, and registers long regions in parts.
 *
 * Return: offset of the key's first byte in the first entry, in bytes.
 */
uint64_t mkey_first_byte(const struct mkey *mk)
{
	return mk->mode == MKM_KSM ? 0 : mk->start & ((1ull << mk->log_page) - 1);
}

/**
 * mkey_xlt_used() - count the translation entries that the range of a key needs
 * @mk: decoded key of mode MTT or KSM
 *
 * Return: their number; the whole table if the key covers the whole address space.
 */
uint64_t mkey_xlt_used(const struct mkey *mk)
{
	uint64_t first = mkey_first_byte(mk);

	if (mk->length64)
		return mk->nent;
	return mk->len ? ((first + (mk->len - 1)) >> mk->log_page) + 1 : 0;
}

/**
 * mkey_invalid() - check that a key can be translated
 * @mk: decoded key
 * @nxlt: translation entries that are filled
 *
 * Return: NULL if it can, else the reason.
 */
const char *mkey_invalid(const struct mkey *mk, uint64_t nxlt)
{
	if (!mk->length64 && mk->len && mk->start + (mk->len - 1) < mk->start)
		return "the range wraps around";
	if (mk->mode == MKM_PA || mk->mode == MKM_KLM || mk->mode == MKM_MEMIC)
		return NULL;
	/* Only the length of the table limits a key with length64. */
	if (mk->length64)
		return nxlt ? NULL : "the key has neither a length nor translations";
	return mkey_xlt_used(mk) > nxlt ? "too few translation entries for the length" : NULL;
}

/**
 * mkey_entity_refused() - check how many bytes each translation entry of a key covers
 * @hca: the HCA
 * @mk: decoded key
 *
 * The capabilities limit mkc.log_page_size, separately for MTTs and KSMs.
 *
 * Return: NULL if the size is offered, else the reason.
 */
const char *mkey_entity_refused(struct hca *hca, const struct mkey *mk)
{
	bool ksm = mk->mode == MKM_KSM;
	unsigned int min = 0, max = 0;

	if (mk->mode != MKM_MTT && !ksm)
		return NULL;
	if (hca_cap_gen(hca, hca_cap_2)) {
		min = hca_cap_gen_2(hca, log_min_mkey_entity_size);
		max = ksm ? hca_cap_gen_2(hca, max_mkey_log_entity_size_fixed_buffer) :
			    hca_cap_gen_2(hca, max_mkey_log_entity_size_mtt);
		if (ksm && hca_cap_gen_2(hca, min_mkey_log_entity_size_fixed_buffer_valid))
			min = hca_cap_gen_2(hca, min_mkey_log_entity_size_fixed_buffer);
	}
	if (mk->log_page < (min ? min : ENTITY_LOG_MIN))
		return "the page size is under what the capabilities allow";
	if (mk->log_page > (max ? max : ENTITY_LOG_MAX))
		return "the page size is over what the capabilities allow";
	return NULL;
}

/**
 * mkey_xlt_octowords() - size of a key's translation table
 * @mk: the key
 *
 * Return: units of 16 bytes, of which each holds two MTTs, or a KLM, or a KSM.
 */
uint32_t mkey_xlt_octowords(const struct mkey *mk)
{
	return mk->mode == MKM_MTT ? mk->nent / 2 : mk->nent;
}

/**
 * mkey_alloc_xlt() - allocate the table of translations of a key
 * @hca: the HCA
 * @cmd: CREATE_MKEY
 * @mk: the key to be created; its table and the size of the table are set
 * @octo: octowords of the table, rounded up here to blocks of 64 bytes, as UMR lists are padded
 *
 * Return: ST_OK; ST_LIM for a table that is too large, or if the tables of all keys would take more
 * than the profile's max_translation_mb; ST_NO_RES if memory is short.
 */
uint8_t mkey_alloc_xlt(struct hca *hca, struct cmd *cmd, struct mkey *mk, uint64_t octo)
{
	if (octo > MKEY_MAX_OCTO)
		return cmd_fail(cmd, ST_LIM, WHY_MKEY_OCTOWORDS_TOO_MANY,
				"%llu translation octowords are too many",
				(unsigned long long)octo);
	octo = (octo + 3) & ~3ull;
	mk->nent = mk->mode == MKM_MTT ? octo * 2 : octo;
	mk->xlt_bytes = octo * 16;
	if (hca->xlt_bytes + mk->xlt_bytes > (uint64_t)hca->profile->max_translation_mb << 20)
		return cmd_fail(cmd, ST_LIM, WHY_MKEY_TRANSLATION_BUDGET,
				"no room for %llu more octowords of translations",
				(unsigned long long)octo);
	if (mk->mode == MKM_MTT)
		mk->mtt = calloc(mk->nent + 1, sizeof(*mk->mtt));
	else
		mk->klm = calloc(mk->nent + 1, sizeof(*mk->klm));
	if (!mk->mtt && !mk->klm)
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for %u translations",
				mk->nent);
	return ST_OK;
}

static struct klm klm_decode(const uint8_t *p)
{
	return (struct klm){
		.bcount = get_be32(p), .key = get_be32(p + 4), .va = get_be64(p + 8),
	};
}

/**
 * mkey_stride_head() - decode the head of a strided block
 * @k: entry of a table of KLMs
 * @b: set to the block, if the entry is the head of a block
 *
 * Return: false if the entry is a plain KLM.
 */
bool mkey_stride_head(const struct klm *k, struct stride_block *b)
{
	*b = (struct stride_block){
		.bytes = k->bcount, .cycles = k->va >> 32, .entries = k->va & 0xffff,
	};
	return k->key == MKEY_STRIDE_OP;
}

/* Check a strided block whose head is the first of @n octowords of @data. */
static const char *mkey_stride_invalid(const struct stride_block *b, const uint8_t *data,
				       uint64_t n)
{
	uint64_t bytes = 0, i;

	if (get_be16(data + 12))
		return "a strided block has a reserved field that is not zero";
	if (!b->entries || b->entries >= n)
		return "a strided block lacks its entries";
	for (i = 1; i <= b->entries; i++)
		bytes += get_be16(data + 16 * i + 2);
	return bytes && bytes == b->bytes ? NULL :
					    "the entries of a strided block have another length "
					    "than its head says";
}

/**
 * mkey_xlt_invalid() - check a list of translations that is to be written to a key
 * @mk: the key
 * @data: as for mkey_xlt_write()
 * @n: octowords
 *
 * Return: NULL if they can be written, else the reason.
 */
const char *mkey_xlt_invalid(const struct mkey *mk, const uint8_t *data, uint64_t n)
{
	const char *why = NULL;
	struct stride_block b;
	uint64_t i;

	for (i = 0; mk->mode == MKM_KLM && i < n && !why; i++) {
		const struct klm k = klm_decode(data + 16 * i);

		if (!mkey_stride_head(&k, &b))
			continue;
		why = mkey_stride_invalid(&b, data + 16 * i, n - i);
		i += b.entries;
	}
	return why;
}

/**
 * mkey_xlt_write() - write translations
 * @mk: the key
 * @first: octoword to start at
 * @data: big-endian entries of the kind that the key's access mode asks for
 * @n: octowords
 *
 * Return: 0, or -ERANGE (nothing is written) if they do not fit.
 */
int mkey_xlt_write(struct mkey *mk, uint64_t first, const uint8_t *data, uint64_t n)
{
	uint64_t i;

	if (first > mkey_xlt_octowords(mk) || n > mkey_xlt_octowords(mk) - first)
		return -ERANGE;
	if (mk->mode == MKM_MTT) {
		for (i = 0; i < 2 * n; i++)
			mk->mtt[2 * first + i] = get_be64(data + 8 * i) & ~MTT_RESERVED;
		return 0;
	}
	for (i = 0; i < n; i++)
		mk->klm[first + i] = klm_decode(data + 16 * i);
	return 0;
}

static void mkey_release_bound(struct hca *hca, struct mkey *mk)
{
	while (mk->nbound)
		obj_put(hca, obj_find(hca, OBJ_MKEY, mk->bound[--mk->nbound]));
	free(mk->bound);
	mk->bound = NULL;
}

/**
 * mkey_set_bound() - record which keys a memory window is bound to
 * @hca: the HCA
 * @mk: the window
 * @bind: true: to the keys that its translations name; false: to none
 *
 * A bound window holds a reference on each of these keys, so that DESTROY_MKEY refuses them.
 *
 * Return: false if memory is short.
 */
bool mkey_set_bound(struct hca *hca, struct mkey *mk, bool bind)
{
	uint32_t n = bind && mk->klm ? mk->nent : 0, i;
	uint32_t *list = n ? calloc(n, sizeof(*list)) : NULL;

	if (n && !list)
		return false;
	mkey_release_bound(hca, mk);
	mk->bound = list;
	for (i = 0; i < n; i++) {
		struct mkey *to = mk->klm[i].bcount ? mkey_find(hca, mk->klm[i].key) : NULL;

		/*
		 * The window cannot reach keys of another domain, and takes no reference on them.
		 */
		if (!to || to == mk || to->pdn != mk->pdn)
			continue;
		to->obj.refs++;
		mk->bound[mk->nbound++] = to->obj.num;
	}
	return true;
}

/**
 * mkey_find() - find a key that is in use
 * @hca: the HCA
 * @key: index and variant
 *
 * Return: the key; NULL if it does not exist, has another variant, or is free.
 */
struct mkey *mkey_find(struct hca *hca, uint32_t key)
{
	struct mkey *mk = (struct mkey *)obj_find(hca, OBJ_MKEY, mkey_index(key));

	return mk && !mk->free && mk->variant == (key & 0xff) ? mk : NULL;
}

/**
 * mkey_release() - free a key
 * @hca: the HCA
 * @mk: the key, to which no references are left
 */
void mkey_release(struct hca *hca, struct mkey *mk)
{
	obj_put(hca, obj_find(hca, OBJ_PD, mk->pdn));
	obj_put(hca, mk->memic);
	obj_put(hca, mk->umem);
	mkey_release_bound(hca, mk);
	hca->xlt_bytes -= mk->xlt_bytes;
	free(mk->mtt);
	free(mk->klm);
	obj_free(hca, &mk->obj);
}

static bool mkey_drop(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	mkey_release(hca, (struct mkey *)o);
	return true;
}

static void mkey_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_MKEY, mkey_drop, NULL);
}

static int mkey_init(struct hca *hca)
{
	hca->absent = calloc(1, sizeof(*hca->absent));
	return hca->absent ? 0 : -ENOMEM;
}

static void mkey_exit(struct hca *hca)
{
	mkey_reset(hca);
	free(hca->absent);
	hca->absent = NULL;
}

const struct hca_module mkey_module = {
	.name = "mkey", .init = mkey_init, .reset = mkey_reset, .exit = mkey_exit,
};
