// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: CREATE/QUERY/DESTROY_MKEY, and every access of the transport to
 * guest memory through a key: checks, translation, copying.
 */
#include <errno.h>
#include <stdlib.h>
#include "check.h"
#include "memic.h"
#include "mkey.h"
#include "qp.h"

#define HCA_FILE_ID FILE_MKEY

_Static_assert(IFC_SZ(mkc) == MKC_BYTES, "mkc size");

#define MKEY_ANY_QP	0xffffff
#define MKEY_MAX_DEPTH	4	/* of keys that point at keys (cap max_indirection) */
#define MKEY_MAX_OCTO	(1u << 26)
#define MTT_RESERVED	4ull

/* ---- context --------------------------------------------------------------- */

static bool mode_indirect(uint8_t mode)
{
	return mode == MKM_KLM || mode == MKM_KSM;
}

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
 * mkey_update() - as mkey_decode(), for a key in use
 * @hca: the function
 * @mk: the key; the reference to its protection domain moves if the context names another one
 *
 * Return: false, and the domain is as it was, if there is none of that number.
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
	if (old && old->refs)
		old->refs--;
	now->refs++;
	return true;
}

/**
 * mkey_invalid() - is this a key that can be translated?
 * @mk: decoded key
 * @nxlt: translation entries that are filled
 *
 * Return: NULL, or what is wrong.
 */
const char *mkey_invalid(const struct mkey *mk, uint64_t nxlt)
{
	uint64_t mask, need;

	if (!mk->length64 && mk->len && mk->start + (mk->len - 1) < mk->start)
		return "the range wraps around";
	if (mk->mode == MKM_PA || mk->mode == MKM_KLM || mk->mode == MKM_MEMIC)
		return NULL;
	if (mk->mode == MKM_MTT && mk->log_page < 12)
		return "page size under 4 KiB";
	/* Then the table is the limit. */
	if (mk->length64)
		return nxlt ? NULL : "neither a length nor a table";
	mask = (1ull << mk->log_page) - 1;
	need = mk->len ? (((mk->start & mask) + (mk->len - 1)) >> mk->log_page) + 1 : 0;
	if ((mk->start & mask) + (mk->len ? mk->len - 1 : 0) < (mk->start & mask))
		return "length overflows";
	return need > nxlt ? "too few translation entries for the length" : NULL;
}

/**
 * mkey_xlt_octowords() - room for translations
 * @mk: the key
 *
 * Return: units of 16 bytes, of which each holds two MTTs, or a KLM, or a KSM.
 */
uint32_t mkey_xlt_octowords(const struct mkey *mk)
{
	return mk->mode == MKM_MTT ? mk->nent / 2 : mk->nent;
}

/**
 * mkey_xlt_write() - write translations
 * @mk: the key
 * @first: octoword to start at
 * @data: big-endian entries of the kind that the key's access mode asks for
 * @n: octowords
 *
 * Return: 0, or -ERANGE (nothing is written) if they don't fit.
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
		mk->klm[first + i] = (struct klm) {
			.bcount = get_be32(data + 16 * i),
			.key = get_be32(data + 16 * i + 4),
			.va = get_be64(data + 16 * i + 8),
		};
	return 0;
}

static void release_bound(struct hca *hca, struct mkey *mk)
{
	while (mk->nbound)
		obj_put(hca, obj_find(hca, OBJ_MKEY, mk->bound[--mk->nbound]));
	free(mk->bound);
	mk->bound = NULL;
}

/**
 * mkey_set_bound() - the keys that a memory window is bound to
 * @hca: the function
 * @mk: the window
 * @bind: take what its translations name; otherwise it is bound to nothing now
 *
 * The bind of a window leaves a count at the region, which DESTROY_MKEY looks at.
 *
 * Return: false if memory is short.
 */
bool mkey_set_bound(struct hca *hca, struct mkey *mk, bool bind)
{
	uint32_t n = bind && mk->klm ? mk->nent : 0, i;
	uint32_t *list = n ? calloc(n, sizeof(*list)) : NULL;

	if (n && !list)
		return false;
	release_bound(hca, mk);
	mk->bound = list;
	for (i = 0; i < n; i++) {
		struct mkey *to = mk->klm[i].bcount ? mkey_find(hca, mk->klm[i].key) : NULL;

		/* What is another domain's it will not reach, and has no claim on. */
		if (!to || to == mk || to->pdn != mk->pdn)
			continue;
		to->obj.refs++;
		mk->bound[mk->nbound++] = to->obj.num;
	}
	return true;
}

/* ---- access ----------------------------------------------------------------- */

/**
 * mkey_find() - find a key that can be used
 * @hca: the function
 * @key: index and variant
 *
 * Return: the key, NULL if there is none, the variant is another, or it is free.
 */
struct mkey *mkey_find(struct hca *hca, uint32_t key)
{
	struct mkey *mk = (struct mkey *)obj_find(hca, OBJ_MKEY, mkey_index(key));

	return mk && !mk->free && mk->variant == (key & 0xff) ? mk : NULL;
}

enum xfer_dir { XFER_CHECK, XFER_READ, XFER_WRITE, XFER_PTR };

struct xfer {
	struct hca *hca;
	uint32_t pdn, qpn;
	enum xfer_dir dir;
	uint8_t *buf;		/* READ, WRITE: moves on as bytes are copied */
	void *ptr;		/* PTR: result */
};

static enum mk_result xfer_key(struct xfer *x, uint32_t key, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth);

/* DMA memory [pa, pa+len), contiguous. */
static enum mk_result xfer_phys(struct xfer *x, uint64_t pa, uint64_t len)
{
	bool write = x->dir == XFER_WRITE;
	void *p;
	int ret;

	if (x->dir == XFER_CHECK || !len)
		return MK_OK;
	p = mem_ptr(x->hca, pa, len, write || x->dir == XFER_PTR);
	if (x->dir == XFER_PTR) {
		x->ptr = p;
		return p ? MK_OK : MK_FAULT;
	}
	if (p) {
		if (write)
			memcpy(p, x->buf, len);
		else
			memcpy(x->buf, p, len);
		ret = 0;
	} else {	/* may span two regions of guest memory */
		ret = write ? mem_write(x->hca, pa, x->buf, len) :
			      mem_read(x->hca, pa, x->buf, len);
	}
	x->buf += len;
	return ret ? MK_FAULT : MK_OK;
}

/* A page that isn't there: software is asked for it, if the device was set up for that. */
static enum mk_result absent(const struct xfer *x)
{
	return hca_cap_gen(x->hca, pg) ? MK_NOT_PRESENT : MK_FAULT;
}

static uint64_t mtt_need(const struct xfer *x)
{
	return x->dir == XFER_READ ? MTT_READ : x->dir == XFER_WRITE ? MTT_WRITE : MTT_ACCESS;
}

static enum mk_result xfer_mtt(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len)
{
	uint64_t page = 1ull << mk->log_page;
	uint64_t pos = (mk->start & (page - 1)) + (va - mk->start);
	enum mk_result res = MK_OK;

	if (x->dir == XFER_CHECK)
		return MK_OK;
	while (len && res == MK_OK) {
		uint64_t i = pos >> mk->log_page;
		uint64_t off = pos & (page - 1);
		uint64_t run = page - off;
		uint64_t first = i;

		if (i >= mk->nent)
			return MK_OUT_OF_RANGE;
		if (mtt_need(x) & ~mk->mtt[i])
			return absent(x);
		/* Pages that follow each other in DMA memory are one copy. */
		while (run < len && i + 1 < mk->nent && mk->mtt[i + 1] == mk->mtt[i] + page) {
			run += page;
			i++;
		}
		if (run > len)
			run = len;
		res = xfer_phys(x, (mk->mtt[first] & ~(page - 1)) + off, run);
		pos += run;
		len -= run;
	}
	return res;
}

/* An inner key is used by the device on behalf of the outer: local rights are what it needs. */
static unsigned int inner_access(unsigned int access)
{
	unsigned int inner = 0;

	if (access & (MK_LOCAL_WRITE | MK_REMOTE_WRITE | MK_ATOMIC))
		inner |= MK_LOCAL_WRITE;
	if (access & (MK_LOCAL_READ | MK_REMOTE_READ))
		inner |= MK_LOCAL_READ;
	return inner;
}

static enum mk_result xfer_klm(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth)
{
	uint64_t skip = va - mk->start;
	enum mk_result res = MK_OK;
	uint32_t i;

	for (i = 0; i < mk->nent && len && res == MK_OK; i++) {
		const struct klm *k = &mk->klm[i];
		uint64_t n;

		if (skip >= k->bcount) {
			skip -= k->bcount;
			continue;
		}
		n = k->bcount - skip < len ? k->bcount - skip : len;
		res = xfer_key(x, k->key, k->va + skip, n, access, depth);
		len -= n;
		skip = 0;
	}
	return res == MK_OK && len ? MK_OUT_OF_RANGE : res;
}

static enum mk_result xfer_ksm(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth)
{
	uint64_t page = 1ull << mk->log_page;
	uint64_t pos = (mk->start & (page - 1)) + (va - mk->start);
	enum mk_result res = MK_OK;

	while (len && res == MK_OK) {
		uint64_t i = pos >> mk->log_page;
		uint64_t off = pos & (page - 1);
		uint64_t n = page - off < len ? page - off : len;

		if (i >= mk->nent)
			return MK_OUT_OF_RANGE;
		res = xfer_key(x, mk->klm[i].key, mk->klm[i].va + off, n, access, depth);
		pos += n;
		len -= n;
	}
	return res;
}

/* Device memory: the host's pages are not involved, and byte 0 is anywhere in it. */
static enum mk_result xfer_memic(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len)
{
	uint64_t addr = mk->memic_addr + va;
	uint8_t *p = memic_ptr(x->hca, addr, len);

	if (!p)
		return len ? MK_OUT_OF_RANGE : MK_OK;
	if (x->dir == XFER_PTR && addr % len)
		return MK_BAD_ACCESS;
	if (x->dir == XFER_PTR)
		x->ptr = p;
	if (x->dir == XFER_READ)
		memcpy(x->buf, p, len);
	if (x->dir == XFER_WRITE)
		memcpy(p, x->buf, len);
	if (x->dir == XFER_READ || x->dir == XFER_WRITE)
		x->buf += len;
	return MK_OK;
}

static enum mk_result xfer_null(struct xfer *x, uint64_t len)
{
	if (x->dir == XFER_PTR)
		return MK_BAD_ACCESS;
	if (x->dir == XFER_READ)
		memset(x->buf, 0, len);
	if (x->dir != XFER_CHECK)
		x->buf += len;
	return MK_OK;
}

static enum mk_result mkey_allowed(const struct xfer *x, const struct mkey *mk, uint64_t va,
				   uint64_t len, unsigned int access)
{
	if (mk->pdn != x->pdn)
		return MK_BAD_PD;
	if (mk->qpn != MKEY_ANY_QP && mk->qpn != x->qpn)
		return MK_BAD_KEY;
	if ((mk->access & access) != access)
		return MK_BAD_ACCESS;
	if (mk->length64 || !len)
		return MK_OK;
	if (va < mk->start || len > mk->len || va - mk->start > mk->len - len)
		return MK_OUT_OF_RANGE;
	return MK_OK;
}

static enum mk_result xfer_key(struct xfer *x, uint32_t key, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth)
{
	enum mk_result res;
	struct mkey *mk;

	if (key == MKEY_NULL && hca_cap_gen(x->hca, null_mkey))
		return x->dir != XFER_CHECK && len && hca_cap_gen(x->hca, pg) ? MK_NOT_PRESENT :
										xfer_null(x, len);
	/* What a process is given as its null region: for its own work requests, not its peers'. */
	if (key == MKEY_DUMP_FILL && hca_cap_gen(x->hca, dump_fill_mkey))
		return access & ~(MK_LOCAL_READ | MK_LOCAL_WRITE) ? MK_BAD_ACCESS :
								    xfer_null(x, len);
	if (key == MKEY_RESD_LKEY) {
		struct qp *qp = qp_find(x->hca, x->qpn);

		if (!qp || !qp->rlky || (access & ~(MK_LOCAL_READ | MK_LOCAL_WRITE)))
			return MK_BAD_KEY;
		return xfer_phys(x, va, len);
	}
	mk = mkey_find(x->hca, key);
	if (!mk)
		return MK_BAD_KEY;
	res = mkey_allowed(x, mk, va, len, access);
	if (res != MK_OK)
		return res;
	if (mode_indirect(mk->mode) && depth >= MKEY_MAX_DEPTH)
		return MK_BAD_KEY;
	switch (mk->mode) {
	case MKM_PA:
		return xfer_phys(x, va, len);
	case MKM_MTT:
		return xfer_mtt(x, mk, va, len);
	case MKM_MEMIC:
		return xfer_memic(x, mk, va, len);
	case MKM_KLM:
		return xfer_klm(x, mk, va, len, inner_access(access), depth + 1);
	default:
		return xfer_ksm(x, mk, va, len, inner_access(access), depth + 1);
	}
}

/**
 * mkey_check() - may this access be made?
 * @hca: the function
 * @key: memory key
 * @pdn: protection domain of the accessor
 * @qpn: its queue pair
 * @va: address within the key
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK or the reason against it. The memory itself is not looked at.
 */
enum mk_result mkey_check(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			  uint64_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .pdn = pdn, .qpn = qpn, .dir = XFER_CHECK };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_read() - copy from guest memory through a key
 * @hca: the function
 * @key: memory key
 * @pdn: protection domain of the accessor
 * @qpn: its queue pair
 * @va: address within the key
 * @buf: destination
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK or what is wrong; @buf may then be filled in part.
 */
enum mk_result mkey_read(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			 void *buf, size_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .pdn = pdn, .qpn = qpn, .dir = XFER_READ, .buf = buf };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_write() - copy into guest memory through a key
 * @hca: the function
 * @key: memory key
 * @pdn: protection domain of the accessor
 * @qpn: its queue pair
 * @va: address within the key
 * @buf: source
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK or what is wrong; memory before the fault may then be written.
 */
enum mk_result mkey_write(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
			  const void *buf, size_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .pdn = pdn, .qpn = qpn, .dir = XFER_WRITE,
			  .buf = (uint8_t *)(uintptr_t)buf };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_atomic_ptr() - where an atomic operation works
 * @hca: the function
 * @key: memory key
 * @pdn: protection domain of the accessor
 * @qpn: its queue pair
 * @va: address within the key, aligned by the caller
 * @len: bytes
 * @res: the reason when there is no address
 *
 * Return: host address, or NULL.
 */
void *mkey_atomic_ptr(struct hca *hca, uint32_t key, uint32_t pdn, uint32_t qpn, uint64_t va,
		      size_t len, enum mk_result *res)
{
	struct xfer x = { .hca = hca, .pdn = pdn, .qpn = qpn, .dir = XFER_PTR };

	*res = xfer_key(&x, key, va, len, MK_ATOMIC, 0);
	return *res == MK_OK ? x.ptr : NULL;
}

/* ---- commands ----------------------------------------------------------------- */

static const struct ifc_field mkc_reserved[] = {
	IFC_FIELD(mkc, reserved_at_0), IFC_FIELD(mkc, reserved_at_2),
	IFC_FIELD(mkc, reserved_at_18),
	IFC_FIELD(mkc, reserved_at_1c), IFC_FIELD(mkc, reserved_at_40),
	IFC_FIELD(mkc, reserved_at_120), IFC_FIELD(mkc, reserved_at_1c0),
	IFC_FIELD(mkc, bsf_octword_size), IFC_FIELD(mkc, crossing_target_vhca_id),
};

static void mkey_release(struct hca *hca, struct mkey *mk)
{
	struct obj *pd = obj_find(hca, OBJ_PD, mk->pdn);

	if (pd && pd->refs)
		pd->refs--;
	obj_put(hca, mk->memic);
	release_bound(hca, mk);
	free(mk->mtt);
	free(mk->klm);
	obj_free(hca, &mk->obj);
}

/* The checks of a new key's context that need no translation table. */
static uint8_t create_check(struct hca *hca, struct cmd *cmd, const struct mkey *mk,
			    struct obj **pd)
{
	const char *rsvd = ifc_first_set(mk->mkc, mkc_reserved, ARRAY_SIZE(mkc_reserved));
	uint32_t octo = IFC_GET(mkc, mk->mkc, translations_octword_size);

	if (rsvd)
		return cmd_fail(cmd, ST_BAD_PARAM, "mkc.%s is not zero", rsvd);
	if (IFC_GET(create_mkey_in, cmd->in, mkey_umem_valid))
		return cmd_fail(cmd, ST_BAD_PARAM, "umem translation tables are not offered");
	if (IFC_GET(create_mkey_in, cmd->in, pg_access) && !hca_cap_gen(hca, pg))
		return cmd_fail(cmd, ST_BAD_PARAM, "on-demand paging is not offered");
	if (mk->mode > MKM_KSM && !(mk->mode == MKM_MEMIC && memic_on(hca)))
		return cmd_fail(cmd, ST_BAD_PARAM, "access mode %u", mk->mode);
	if (IFC_GET(mkc, mk->mkc, relaxed_ordering_write) && !hca_cap_gen(hca, relaxed_ordering_write))
		return cmd_fail(cmd, ST_BAD_PARAM, "relaxed ordering of writes is not offered");
	if (IFC_GET(mkc, mk->mkc, relaxed_ordering_read) && !hca_cap_gen(hca, relaxed_ordering_read) &&
	    !hca_cap_gen(hca, relaxed_ordering_read_pci_enabled))
		return cmd_fail(cmd, ST_BAD_PARAM, "relaxed ordering of reads is not offered");
	if (IFC_GET(mkc, mk->mkc, bsf_en))
		return cmd_fail(cmd, ST_BAD_PARAM, "signature keys are not offered");
	if (mk->free && !mk->umr_en)
		return cmd_fail(cmd, ST_BAD_PARAM, "a free key that UMR may not fill");
	if (octo > MKEY_MAX_OCTO)
		return cmd_fail(cmd, ST_LIM, "%u translation octowords", octo);
	return check_obj(hca, cmd, OBJ_PD, mk->pdn, pd);
}

/* A key over device memory has one piece of one allocation, and no translations. */
static uint8_t create_memic(struct hca *hca, struct cmd *cmd, struct mkey *mk)
{
	if (mk->free || mk->length64)
		return cmd_fail(cmd, ST_BAD_PARAM, "a key over device memory is made whole");
	if (IFC_GET(mkc, mk->mkc, translations_octword_size) ||
	    IFC_GET(create_mkey_in, cmd->in, translations_octword_actual_size))
		return cmd_fail(cmd, ST_BAD_PARAM, "translations of device memory");
	/* Of no bytes, it may begin where the allocation ends. */
	mk->memic = memic_find(hca, mk->memic_addr, mk->len ? mk->len : 1, cmd->uid);
	if (!mk->memic && !mk->len)
		mk->memic = memic_find(hca, mk->memic_addr - 1, 1, cmd->uid);
	if (!mk->memic)
		return cmd_fail(cmd, ST_BAD_PARAM, "0x%llx+0x%llx is not in one allocation",
				(unsigned long long)mk->memic_addr, (unsigned long long)mk->len);
	return ST_OK;
}

static uint8_t create_xlt(struct hca *hca, struct cmd *cmd, struct mkey *mk)
{
	uint32_t octo = IFC_GET(mkc, mk->mkc, translations_octword_size);
	uint32_t given = IFC_GET(create_mkey_in, cmd->in, translations_octword_actual_size);
	const uint8_t *xlt = IFC_ADDR(create_mkey_in, cmd->in, klm_pas_mtt);
	const char *why;
	uint32_t i;

	if (mk->mode == MKM_MEMIC)
		return create_memic(hca, cmd, mk);
	if (mk->mode == MKM_PA) {
		why = mk->free ? NULL : mkey_invalid(mk, 0);
		return why ? cmd_fail(cmd, ST_BAD_PARAM, "%s", why) : ST_OK;
	}
	if (given > octo)
		return cmd_fail(cmd, ST_BAD_PARAM, "%u octowords given for a table of %u", given,
				octo);
	if ((uint64_t)given * 16 > cmd_left(cmd, xlt))
		return cmd_fail(cmd, ST_BAD_INP_LEN, "%u octowords announced, %zu bytes came",
				given, cmd_left(cmd, xlt));
	/* Entries come in blocks of 64 bytes: UMR lists are padded to whole ones. */
	octo = (octo + 3) & ~3u;
	mk->nent = mk->mode == MKM_MTT ? octo * 2 : octo;
	if (mk->mode == MKM_MTT)
		mk->mtt = calloc(mk->nent + 1, sizeof(*mk->mtt));
	else
		mk->klm = calloc(mk->nent + 1, sizeof(*mk->klm));
	if (!mk->mtt && !mk->klm)
		return cmd_fail(cmd, ST_NO_RES, "no memory for %u translations", mk->nent);
	mkey_xlt_write(mk, 0, xlt, given);
	/* Unless the command says that its entries have access bits, they are pages that are there. */
	for (i = 0; mk->mtt && i < given * 2 && !IFC_GET(create_mkey_in, cmd->in, pg_access); i++)
		mk->mtt[i] |= MTT_ACCESS;
	if (mk->free)
		return ST_OK;
	why = mkey_invalid(mk, mk->mode == MKM_MTT ? (uint64_t)given * 2 : given);
	if (why)
		return cmd_fail(cmd, ST_BAD_PARAM, "%s", why);
	for (i = 0; mk->mtt && i < given * 2; i++)
		if (mk->mtt[i] & ((1ull << mk->log_page) - 1) & ~MTT_ACCESS)
			return cmd_fail(cmd, ST_BAD_PARAM, "MTT %u is not aligned to 2^%u", i,
					mk->log_page);
	return ST_OK;
}

static uint8_t create_mkey(struct hca *hca, struct cmd *cmd)
{
	struct mkey tmp = {}, *mk;
	struct obj *pd;
	uint8_t st;

	memcpy(tmp.mkc, IFC_ADDR(create_mkey_in, cmd->in, memory_key_mkey_entry), MKC_BYTES);
	mkey_decode(&tmp);
	st = create_check(hca, cmd, &tmp, &pd);
	if (!st)
		st = create_xlt(hca, cmd, &tmp);
	if (st)
		goto fail;
	mk = (struct mkey *)obj_new(hca, OBJ_MKEY, cmd->uid, sizeof(*mk));
	if (!mk) {
		st = cmd_fail(cmd, ST_LIM, "no free mkey");
		goto fail;
	}
	tmp.obj = mk->obj;
	*mk = tmp;
	pd->refs++;
	if (mk->memic)
		mk->memic->refs++;
	IFC_SET(create_mkey_out, cmd->out, mkey_index, mk->obj.num);
	return ST_OK;
fail:
	free(tmp.mtt);
	free(tmp.klm);
	return st;
}

static uint8_t query_mkey(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = IFC_GET(query_mkey_in, cmd->in, mkey_index);
	struct mkey *mk;
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_MKEY, num, &o);
	uint8_t *xlt = IFC_ADDR(query_mkey_out, cmd->out, bsf0_klm0_pas_mtt0_1);
	uint32_t i;

	if (st)
		return st;
	mk = (struct mkey *)o;
	memcpy(IFC_ADDR(query_mkey_out, cmd->out, memory_key_mkey_entry), mk->mkc, MKC_BYTES);
	if (cmd->out_len < IFC_SZ(query_mkey_out))
		return ST_OK;
	for (i = 0; mk->mtt && i < 4 && i < mk->nent; i++)
		put_be64(xlt + 8 * i, mk->mtt[i]);
	for (i = 0; mk->klm && i < 2 && i < mk->nent; i++) {
		put_be32(xlt + 16 * i, mk->klm[i].bcount);
		put_be32(xlt + 16 * i + 4, mk->klm[i].key);
		put_be64(xlt + 16 * i + 8, mk->klm[i].va);
	}
	return ST_OK;
}

static uint8_t destroy_mkey(struct hca *hca, struct cmd *cmd)
{
	uint32_t num = IFC_GET(destroy_mkey_in, cmd->in, mkey_index);
	struct obj *o;
	uint8_t st = check_destroy(hca, cmd, OBJ_MKEY, num, &o);

	if (!st)
		mkey_release(hca, (struct mkey *)o);
	return st;
}

const struct cmd_desc mkey_cmds[] = {
	{ MLX5_CMD_OP_CREATE_MKEY, "CREATE_MKEY", IFC_BYTE(create_mkey_in, klm_pas_mtt),
	  IFC_SZ(create_mkey_out), create_mkey },
	{ MLX5_CMD_OP_QUERY_MKEY, "QUERY_MKEY", IFC_SZ(query_mkey_in),
	  IFC_BYTE(query_mkey_out, bsf0_klm0_pas_mtt0_1), query_mkey },
	{ MLX5_CMD_OP_DESTROY_MKEY, "DESTROY_MKEY", IFC_SZ(destroy_mkey_in),
	  IFC_SZ(destroy_mkey_out), destroy_mkey },
	{}
};

static bool drop_one(struct hca *hca, struct obj *o, void *arg)
{
	(void)arg;
	o->refs = 0;
	mkey_release(hca, (struct mkey *)o);
	return true;
}

static void mkey_reset(struct hca *hca)
{
	obj_for_each(hca, OBJ_MKEY, drop_one, NULL);
}

const struct hca_module mkey_module = { .name = "mkey", .reset = mkey_reset };
