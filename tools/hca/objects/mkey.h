/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory keys: their state, and every access to guest memory through a key.
 */
#ifndef BLUEBELL_MKEY_H
#define BLUEBELL_MKEY_H

#include "cmd.h"
#include "object.h"

struct hca_module;

/* Fixed keys that QUERY_SPECIAL_CONTEXTS reports. CREATE_MKEY allocates none of their indices. */
#define MKEY_TERM_SCATTER	0x100	/* ends a scatter list (linux/mlx5/qp.h) */
#define MKEY_RESD_LKEY		0x200	/* all of DMA memory, for QPs with qpc.rlky */
#define MKEY_NULL		0x300	/* each access faults; without paging, reads give zeros */
#define MKEY_DUMP_FILL		0x700

#define MKEY_ANY_QP	0xffffff

enum mkey_mode {		/* MLX5_MKC_ACCESS_MODE_* */
	MKM_PA = 0, MKM_MTT = 1, MKM_KLM = 2, MKM_KSM = 3, MKM_MEMIC = 5,
};

#define MKC_BYTES 64

/* Low bits of an MTT: what the page may be used for. An access without its bit faults. */
#define MTT_READ	1ull
#define MTT_WRITE	2ull
#define MTT_ACCESS	(MTT_READ | MTT_WRITE)
#define MTT_RESERVED	4ull	/* a bit of an MTT that is ignored */

enum mkey_access {
	MK_LOCAL_READ = 1, MK_LOCAL_WRITE = 2, MK_REMOTE_READ = 4, MK_REMOTE_WRITE = 8,
	MK_ATOMIC = 16,
};

struct klm {
	uint32_t bcount, key;
	uint64_t va;
};

#define MKEY_STRIDE_OP	0x400	/* in the place of a KLM's key: the head of a strided block */

/*
 * The head of a strided block in a table of KLMs (struct mlx5_stride_block_ctrl_seg). Behind it are
 * the block's entries (struct mlx5_stride_block_entry): KLMs whose bcount has the stride in its
 * upper half. A cycle is the bytes of each entry in turn; in the next cycle, each entry begins one
 * stride later.
 */
struct stride_block {
	uint32_t bytes;		/* of a cycle */
	uint32_t cycles;
	uint32_t entries;
};

struct mkey {
	struct obj obj;		/* obj.num is the index (24 bits) */
	uint8_t variant;	/* low byte of the key */
	bool free;		/* revoked or not yet filled (mkc.free) */
	bool length64;		/* covers the whole address space */
	bool remote_inval_ok;	/* en_rinval */
	bool umr_en;
	uint8_t mode;		/* enum mkey_mode */
	unsigned int access;	/* enum mkey_access; local read is not implied */
	uint32_t pdn, qpn;	/* qpn may be MKEY_ANY_QP */
	uint64_t start, len;
	uint64_t memic_addr;	/* MEMIC mode: offset in BAR0 of the key's address 0; start is 0 */
	struct obj *memic;	/* MEMIC mode: the allocation under the key; a reference */
	struct obj *umem;	/* the umem under the key; a reference, or NULL */
	unsigned int log_page;	/* MTT and KSM mode */
	uint32_t nent;		/* translation entries allocated */
	uint64_t xlt_bytes;	/* of the translation table, as counted in hca->xlt_bytes */
	uint64_t *mtt;		/* MTT mode: page addresses with MTT_READ and MTT_WRITE */
	struct klm *klm;	/* KLM and KSM mode */
	uint32_t *bound;	/* memory window: keys that it is bound to; a reference on each */
	uint32_t nbound;
	uint8_t mkc[MKC_BYTES];	/* context as given, for QUERY_MKEY */
};

/* On whose behalf memory is accessed: the fields of a queue pair that keys are checked against. */
struct mkey_user {
	uint32_t pdn;		/* the key must be of this PD */
	uint32_t qpn;
	bool rlky;		/* may use MKEY_RESD_LKEY */
};

enum mk_result {
	MK_OK = 0, MK_BAD_KEY, MK_BAD_PD, MK_BAD_ACCESS, MK_OUT_OF_RANGE, MK_FAULT,
	MK_NOT_PRESENT,		/* allowed, but software has to bring the page in first (fault.h) */
};

#define MKEY_PREFETCH	0xf000	/* absent bytes that a fault reports on each side of the access */

/*
 * The bytes that were absent at the latest access that ended with MK_NOT_PRESENT. If keys point at
 * keys, @key is the lowest key: the key whose own entries translate to the pages, or the null key.
 */
struct mkey_absent {
	uint32_t key;		/* with its variant */
	unsigned int log_page;
	uint64_t va;		/* in @key: first absent byte of the access */
	uint64_t len;		/* bytes of the access from there on, within @key */
	/*
	 * absent bytes directly before and after the access, at most MKEY_PREFETCH each; 0 if the
	 * page-fault scheme in use does not report them
	 */
	uint32_t before, after;
};

/* Index of a key; the low byte is the variant that the owner chose. */
static inline uint32_t mkey_index(uint32_t key)
{
	return key >> 8;
}

/* Whether an MTT is not aligned to the page size of its key. */
static inline bool mkey_mtt_misaligned(const struct mkey *mk, uint64_t mtt)
{
	return mtt & ((1ull << mk->log_page) - 1) & ~(MTT_ACCESS | MTT_RESERVED);
}

/* Whether the entries of a key name other keys. */
static inline bool mkey_is_indirect(const struct mkey *mk)
{
	return mk->mode == MKM_KLM || mk->mode == MKM_KSM;
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct mkey *mkey_find(struct hca *hca, uint32_t key);
void mkey_decode(struct mkey *mk);
bool mkey_update(struct hca *hca, struct mkey *mk);
const char *mkey_invalid(const struct mkey *mk, uint64_t nxlt);
uint64_t mkey_first_byte(const struct mkey *mk);
uint64_t mkey_xlt_used(const struct mkey *mk);
const char *mkey_entity_refused(struct hca *hca, const struct mkey *mk);
bool mkey_set_bound(struct hca *hca, struct mkey *mk, bool bind);
uint32_t mkey_xlt_octowords(const struct mkey *mk);
uint8_t mkey_alloc_xlt(struct hca *hca, struct cmd *cmd, struct mkey *mk, uint64_t octo);
bool mkey_stride_head(const struct klm *k, struct stride_block *b);
const char *mkey_xlt_invalid(const struct mkey *mk, const uint8_t *data, uint64_t n);
int mkey_xlt_write(struct mkey *mk, uint64_t first, const uint8_t *data, uint64_t n);
void mkey_release(struct hca *hca, struct mkey *mk);

/* ---- access: mkey_access.c ------------------------------------------------------------------- */

enum mk_result mkey_check(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			  uint64_t len, unsigned int access);
enum mk_result mkey_read(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			 void *buf, size_t len, unsigned int access);
enum mk_result mkey_write(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
			  const void *buf, size_t len, unsigned int access);
void *mkey_atomic_ptr(struct hca *hca, const struct mkey_user *u, uint32_t key, uint64_t va,
		      size_t len, enum mk_result *res);

/* ---- CREATE_MKEY: mkey_cmd.c, mkey_umem.c ---------------------------------------------------- */

uint8_t mkey_names_umem(struct hca *hca, struct cmd *cmd, bool *names);
uint8_t mkey_create_umem(struct hca *hca, struct cmd *cmd, struct mkey *mk);

extern const struct hca_module mkey_module;
extern const struct cmd_desc mkey_cmds[];

#endif
