// SPDX-License-Identifier: GPL-2.0
/*
 * Memory keys: access to guest memory through a key: the checks, translation and copying.
 */
#include <string.h>

#include "caps.h"
#include "hca.h"
#include "ifc.h"
#include "mem.h"
#include "memic.h"
#include "mkey.h"
#include "profile.h"

#define MKEY_MAX_DEPTH	4	/* of keys that point at keys (capability max_indirection) */
/*
 * The most entries of indirect keys that an access may go through. Without this limit, keys with
 * empty entries, or with small entries that refer to keys with small entries, could keep the HCA
 * busy for hours.
 */
#define MKEY_MAX_STEPS	(1u << 20)

enum xfer_dir { XFER_CHECK, XFER_READ, XFER_WRITE, XFER_PTR };

struct xfer {
	struct hca *hca;
	const struct mkey_user *user;
	enum xfer_dir dir;
	uint8_t *buf;		/* READ, WRITE: advances as bytes are copied */
	void *ptr;		/* PTR: result */
	uint64_t ptr_len;	/* PTR: bytes, which have to be in one piece, and aligned */
	unsigned int steps;	/* entries of indirect keys so far */
};

static enum mk_result xfer_key(struct xfer *x, uint32_t key, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth);

/*
 * Whether an atomic operation can be done at an address. The address that the requester names is
 * aligned, but the entries of an indirect key may divide the operands or move them.
 */
static bool xfer_atomic_ok(const struct xfer *x, uint64_t addr, uint64_t len)
{
	return len == x->ptr_len && !(addr % len);
}

/* Access DMA memory [pa, pa + len), which is contiguous. */
static enum mk_result xfer_phys(struct xfer *x, uint64_t pa, uint64_t len)
{
	bool write = x->dir == XFER_WRITE;
	void *p;
	int ret;

	if (x->dir == XFER_CHECK || !len)
		return MK_OK;
	if (x->dir == XFER_PTR && !xfer_atomic_ok(x, pa, len))
		return MK_BAD_ACCESS;
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
	} else {	/* the range may span two regions of guest memory */
		ret = write ? mem_write(x->hca, pa, x->buf, len) :
			      mem_read(x->hca, pa, x->buf, len);
	}
	x->buf += len;
	return ret ? MK_FAULT : MK_OK;
}

static uint64_t xfer_mtt_need(const struct xfer *x)
{
	return x->dir == XFER_READ ? MTT_READ : x->dir == XFER_WRITE ? MTT_WRITE : MTT_ACCESS;
}

/* Number of pages of a key. Its table may have more entries, which pad it to blocks of 64 bytes. */
static uint64_t xfer_pages(const struct mkey *mk)
{
	uint64_t pages = mkey_xlt_used(mk);

	return pages < mk->nent ? pages : mk->nent;
}

/*
 * Number of bytes in a row that are not present, at most MKEY_PREFETCH: @room bytes of the page of
 * the access, then the absent pages from @page on, in steps of @step (1 or -1).
 */
static uint32_t xfer_absent_bytes(const struct xfer *x, const struct mkey *mk, uint64_t room,
				  uint64_t page, int step)
{
	for (; room < MKEY_PREFETCH && page < xfer_pages(mk); page += step) {
		if (!(xfer_mtt_need(x) & ~mk->mtt[page]))
			break;
		room += 1ull << mk->log_page;
	}
	return room < MKEY_PREFETCH ? room : MKEY_PREFETCH;
}

/* Whether a page fault reports the pages next to the access: only the memory scheme does. */
static bool xfer_prefetch(const struct xfer *x)
{
	const uint8_t *cap = x->hca->cap[CAP_ODP];

	return IFC_GET(odp_cap, cap, mem_page_fault) &&
	       IFC_GET(odp_cap, cap, memory_page_fault_scheme_cap.page_prefetch);
}

/* The page of byte @pos is not present: a page fault if paging is on, else an error. */
static enum mk_result xfer_absent(const struct xfer *x, const struct mkey *mk, uint64_t pos,
				  uint64_t len)
{
	uint64_t mask = (1ull << mk->log_page) - 1, last = pos + len - 1;
	struct mkey_absent *a = x->hca->absent;

	if (!hca_cap_gen(x->hca, pg))
		return MK_FAULT;
	*a = (struct mkey_absent){
		.key = mk->obj.num << 8 | mk->variant, .log_page = mk->log_page, .len = len,
		.va = mk->start + pos - (mk->start & mask),
	};
	if (xfer_prefetch(x)) {
		a->before = xfer_absent_bytes(x, mk, pos & mask, (pos >> mk->log_page) - 1, -1);
		a->after = xfer_absent_bytes(x, mk, mask - (last & mask),
					     (last >> mk->log_page) + 1, 1);
	}
	return MK_NOT_PRESENT;
}

static enum mk_result xfer_mtt(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len)
{
	uint64_t page = 1ull << mk->log_page;
	uint64_t pos = mkey_first_byte(mk) + (va - mk->start);
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
		if (xfer_mtt_need(x) & ~mk->mtt[i])
			return xfer_absent(x, mk, pos, len);
		/* Copy pages that are contiguous in DMA memory at once. */
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

/* The device uses an inner key on behalf of the outer one, so the inner key needs local rights. */
static unsigned int xfer_inner_access(unsigned int access)
{
	unsigned int inner = 0;

	if (access & (MK_LOCAL_WRITE | MK_REMOTE_WRITE | MK_ATOMIC))
		inner |= MK_LOCAL_WRITE;
	if (access & (MK_LOCAL_READ | MK_REMOTE_READ))
		inner |= MK_LOCAL_READ;
	return inner;
}

/* What is left of an access to a table of KLMs. */
struct span {
	uint64_t skip;		/* bytes from the next entry's start to the access */
	uint64_t len;
	unsigned int access, depth;	/* for the keys that the entries name */
};

/* Access the part of @s that lies in the next entry: @room bytes, which begin at @va of @key. */
static enum mk_result xfer_entry(struct xfer *x, uint32_t key, uint64_t va, uint64_t room,
				 struct span *s)
{
	enum mk_result res;
	uint64_t n;

	if (x->steps++ >= MKEY_MAX_STEPS)
		return MK_BAD_KEY;
	if (s->skip >= room) {
		s->skip -= room;
		return MK_OK;
	}
	n = room - s->skip < s->len ? room - s->skip : s->len;
	res = xfer_key(x, key, va + s->skip, n, s->access, s->depth);
	s->len -= n;
	s->skip = 0;
	return res;
}

/* Access the part of @s that lies in the strided block @b, whose first entry is @e. */
static enum mk_result xfer_strided(struct xfer *x, const struct stride_block *b,
				   const struct klm *e, struct span *s)
{
	uint64_t cycle = s->skip / b->bytes;
	enum mk_result res = MK_OK;
	uint32_t i;

	if (cycle > b->cycles)
		cycle = b->cycles;
	s->skip -= cycle * b->bytes;
	for (; cycle < b->cycles && s->len && res == MK_OK; cycle++)
		for (i = 0; i < b->entries && s->len && res == MK_OK; i++)
			res = xfer_entry(x, e[i].key, e[i].va + cycle * (e[i].bcount >> 16),
					 e[i].bcount & 0xffff, s);
	return res;
}

static enum mk_result xfer_klm(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth)
{
	struct span s = { .skip = va - mk->start, .len = len, .access = access, .depth = depth };
	enum mk_result res = MK_OK;
	struct stride_block b;
	uint32_t i;

	for (i = 0; i < mk->nent && s.len && res == MK_OK; i++) {
		const struct klm *k = &mk->klm[i];

		if (!mkey_stride_head(k, &b)) {
			res = xfer_entry(x, k->key, k->va, k->bcount, &s);
			continue;
		}
		/* UMR may have written the block in parts, so nothing has checked it as a whole. */
		if (x->steps++ >= MKEY_MAX_STEPS || !b.bytes || !b.entries ||
		    b.entries >= mk->nent - i)
			return MK_BAD_KEY;
		res = xfer_strided(x, &b, k + 1, &s);
		i += b.entries;
	}
	return res == MK_OK && s.len ? MK_OUT_OF_RANGE : res;
}

static enum mk_result xfer_ksm(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len,
			       unsigned int access, unsigned int depth)
{
	uint64_t page = 1ull << mk->log_page;
	uint64_t pos = mkey_first_byte(mk) + (va - mk->start);
	enum mk_result res = MK_OK;

	while (len && res == MK_OK) {
		uint64_t i = pos >> mk->log_page;
		uint64_t off = pos & (page - 1);
		uint64_t n = page - off < len ? page - off : len;

		if (i >= mk->nent)
			return MK_OUT_OF_RANGE;
		if (x->steps++ >= MKEY_MAX_STEPS)
			return MK_BAD_KEY;
		res = xfer_key(x, mk->klm[i].key, mk->klm[i].va + off, n, access, depth);
		pos += n;
		len -= n;
	}
	return res;
}

/* Access device memory, where byte 0 of the key lies at memic_addr. */
static enum mk_result xfer_memic(struct xfer *x, const struct mkey *mk, uint64_t va, uint64_t len)
{
	uint64_t addr = mk->memic_addr + va;
	uint8_t *p = memic_ptr(x->hca, addr, len);

	if (!p)
		return len ? MK_OUT_OF_RANGE : MK_OK;
	if (x->dir == XFER_PTR && !xfer_atomic_ok(x, addr, len))
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

static enum mk_result xfer_allowed(const struct xfer *x, const struct mkey *mk, uint64_t va,
				   uint64_t len, unsigned int access)
{
	if (mk->pdn != x->user->pdn)
		return MK_BAD_PD;
	if (mk->qpn != MKEY_ANY_QP && mk->qpn != x->user->qpn)
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

	if (key == MKEY_NULL && hca_cap_gen(x->hca, null_mkey)) {
		if (x->dir == XFER_CHECK || !len || !hca_cap_gen(x->hca, pg))
			return xfer_null(x, len);
		*x->hca->absent = (struct mkey_absent){
			.key = key, .log_page = 12, .va = va, .len = len,
		};
		return MK_NOT_PRESENT;
	}
	/* The driver gives this key to processes as their null region. Peers cannot use the key. */
	if (key == MKEY_DUMP_FILL && hca_cap_gen(x->hca, dump_fill_mkey))
		return access & ~(MK_LOCAL_READ | MK_LOCAL_WRITE) ? MK_BAD_ACCESS :
								    xfer_null(x, len);
	if (key == MKEY_RESD_LKEY) {
		if (!x->user->rlky || (access & ~(MK_LOCAL_READ | MK_LOCAL_WRITE)))
			return MK_BAD_KEY;
		return xfer_phys(x, va, len);
	}
	mk = mkey_find(x->hca, key);
	if (!mk)
		return MK_BAD_KEY;
	res = xfer_allowed(x, mk, va, len, access);
	if (res != MK_OK)
		return res;
	if (mkey_is_indirect(mk) && depth >= MKEY_MAX_DEPTH)
		return MK_BAD_KEY;
	switch (mk->mode) {
	case MKM_PA:
		return xfer_phys(x, va, len);
	case MKM_MTT:
		return xfer_mtt(x, mk, va, len);
	case MKM_MEMIC:
		return xfer_memic(x, mk, va, len);
	case MKM_KLM:
		return xfer_klm(x, mk, va, len, xfer_inner_access(access), depth + 1);
	default:
		return xfer_ksm(x, mk, va, len, xfer_inner_access(access), depth + 1);
	}
}

/**
 * mkey_check() - check that an access is allowed
 * @hca: the HCA
 * @u: on whose behalf
 * @key: memory key
 * @va: address within the key
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK, or the reason for the refusal. Does not check that the pages are present.
 */
enum mk_result mkey_check(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			  uint64_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .user = u, .dir = XFER_CHECK };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_read() - copy from guest memory through a key
 * @hca: the HCA
 * @u: on whose behalf
 * @key: memory key
 * @va: address within the key
 * @buf: destination
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK, or the reason for the refusal; @buf may then be filled in part.
 */
enum mk_result mkey_read(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			 void *buf, size_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .user = u, .dir = XFER_READ, .buf = buf };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_write() - copy into guest memory through a key
 * @hca: the HCA
 * @u: on whose behalf
 * @key: memory key
 * @va: address within the key
 * @buf: source
 * @len: bytes
 * @access: enum mkey_access, all of which are needed
 *
 * Return: MK_OK, or the reason for the refusal; memory before the fault may then be written.
 */
enum mk_result mkey_write(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			  const void *buf, size_t len, unsigned int access)
{
	struct xfer x = { .hca = hca, .user = u, .dir = XFER_WRITE,
			  .buf = (uint8_t *)(uintptr_t)buf };

	return xfer_key(&x, key, va, len, access, 0);
}

/**
 * mkey_atomic_ptr() - find the memory of an atomic operation
 * @hca: the HCA
 * @u: on whose behalf
 * @key: memory key
 * @va: address within the key, aligned by the caller
 * @len: bytes
 * @res: set to MK_OK, or to the reason for the refusal
 *
 * Return: host address, or NULL if the access is refused.
 */
void *mkey_atomic_ptr(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
		      size_t len, enum mk_result *res)
{
	struct xfer x = { .hca = hca, .user = u, .dir = XFER_PTR, .ptr_len = len };

	*res = xfer_key(&x, key, va, len, MK_ATOMIC, 0);
	return *res == MK_OK ? x.ptr : NULL;
}
