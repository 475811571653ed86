/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory keys, what UMR work requests need of them beyond hca.h: the keys with
 * a fixed meaning, and changing a key's context and translation in place.
 */
#ifndef BLUEBELL_MKEY_H
#define BLUEBELL_MKEY_H

#include "hca.h"

/* Fixed keys, reported by QUERY_SPECIAL_CONTEXTS. None has an index that CREATE_MKEY gives. */
#define MKEY_TERM_SCATTER	0x100	/* ends a scatter list (linux/mlx5/qp.h) */
#define MKEY_RESD_LKEY		0x200	/* all of DMA memory, for QPs with qpc.rlky */
#define MKEY_NULL		0x300	/* with paging every access faults; else writes vanish, reads give zeros */
#define MKEY_DUMP_FILL		0x700

enum mkey_mode {		/* MLX5_MKC_ACCESS_MODE_* */
	MKM_PA = 0, MKM_MTT = 1, MKM_KLM = 2, MKM_KSM = 3, MKM_MEMIC = 5,
};

#define MKC_BYTES 64

/* Low bits of an MTT: what the page may be used for. Without the bit it takes, an access faults. */
#define MTT_READ	1ull
#define MTT_WRITE	2ull
#define MTT_ACCESS	(MTT_READ | MTT_WRITE)

/* Index of a key; the low byte is the variant that the owner chose. */
static inline uint32_t mkey_index(uint32_t key)
{
	return key >> 8;
}

/* Take the fields of struct mkey from mk->mkc again, after a change of the raw context. */
void mkey_decode(struct mkey *mk);
/*
 * As mkey_decode() for a key in use, whose PD may have changed: the reference moves with it.
 * False (PD as it was) if there is no such PD.
 */
bool mkey_update(struct hca *hca, struct mkey *mk);
/*
 * Is the decoded context one that the device can translate? NULL, or the reason. @nxlt is the
 * number of translation entries that are filled.
 */
const char *mkey_invalid(const struct mkey *mk, uint64_t nxlt);
/*
 * A process has bound the key, a memory window, to those that its translations name (@bind), or has
 * invalidated it. They can't be destroyed as long as it is bound. False: no memory.
 */
bool mkey_set_bound(struct hca *hca, struct mkey *mk, bool bind);
/* Room for translations in 16-byte octowords, as mkc.translations_octword_size says. */
uint32_t mkey_xlt_octowords(const struct mkey *mk);
/*
 * Write @n octowords of @data (big-endian MTTs, KLMs or KSMs by the key's mode) at octoword
 * @first; -ERANGE (nothing written) if they don't fit.
 */
int mkey_xlt_write(struct mkey *mk, uint64_t first, const uint8_t *data, uint64_t n);

#endif
