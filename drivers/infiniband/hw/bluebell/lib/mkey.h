/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory keys: how they are created, found, changed, revoked and destroyed.
 * mkey.c is the service that regions, windows and device memory use; mkey_batch.c destroys many
 * keys together; mkey_table.c has the commands and the table of keys.
 */

#ifndef BLUEBELL_MKEY_H
#define BLUEBELL_MKEY_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "fw/attempt.h"
#include "lib/share.h"

struct ib_umem;
struct mem_cgroup;
struct mlx5_ib_dev;
struct mlx5_ib_fw_batch;
struct mlx5_ib_mkc_attr;
struct mlx5_ib_mkey_batch;
struct mlx5_ib_queue_mem;
struct mlx5_ib_ucontext;
struct odp_process;

/*
 * Allocation flags for what keys need, also in the handler of a page fault. If the memory cgroup of
 * the process is full, the allocation fails, and no process is killed.
 */
#define MLX5_IB_FAULT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * enum mlx5_ib_mkey_type - which struct a published key is embedded in
 * @MLX5_IB_MKEY_PRIVATE: not published: no lookup finds the key
 * @MLX5_IB_MKEY_MR: struct mlx5_ib_mr, on which the device does not fault. The driver never looks
 *	up such a key, so mlx5_ib_mkey_retire() does not wait for it: dmabuf.c destroys the key with
 *	the reservation lock of the dma-buf held
 * @MLX5_IB_MKEY_ODP_MR: struct mlx5_ib_mr inside a struct odp_mr, whose pages the device
 *	faults on
 * @MLX5_IB_MKEY_ODP_PART: struct odp_key of a part of an implicit region. Page faults by the memory
 *	scheme (odp_fault.c) name such a key
 * @MLX5_IB_MKEY_MW: struct mlx5_ib_mw
 * @MLX5_IB_MKEY_TABLE: struct mlx5_ib_table_key. The process that has created the key can change
 *	the variant by UMR
 */
enum mlx5_ib_mkey_type {
	MLX5_IB_MKEY_PRIVATE,
	MLX5_IB_MKEY_MR,
	MLX5_IB_MKEY_ODP_MR,
	MLX5_IB_MKEY_ODP_PART,
	MLX5_IB_MKEY_MW,
	MLX5_IB_MKEY_TABLE,
};

/**
 * struct mlx5_ib_mkey - a memory key, embedded in the object that owns it
 * @key: the key: an index of 24 bits, and a variant in the low byte
 * @refs: one reference while the key is published, one for each user of the key, see
 *	mlx5_ib_mkey_get() and mlx5_ib_mkey_hold()
 * @class: class of the key in the pool, or a negative MLX5_IB_CLASS_*
 * @uid: user id that the key was created with, and has to be destroyed with
 * @type: enum mlx5_ib_mkey_type
 * @revoked: UMR has revoked the key: the device reaches nothing through it
 * @destroyed: the key has been destroyed, given to the pool or to an orphan, or given up: the owner
 *	has no key any more
 * @closing: set by mlx5_ib_mkey_destroy_early(): the key has been destroyed, or may be at any time
 * @attempt: attempts to destroy the key. A key that may be gone (mlx5_ib_fw_may_be_gone()) is named
 *	in no UMR request: the UMR queue pair would fail for all users, or the request would change
 *	another key
 * @share: counts the key against the limit of its user as long as the owner has the key. Passes to
 *	the orphan of the key (orphan.c). A key that is given up goes on counting, and so does a key
 *	whose creation was not answered
 *
 * The owner serializes calls that change @revoked and @destroyed: a key that can be revoked at any
 * time is revoked under the lock that guards its pages (the lock of struct odp_leaf, or the
 * reservation lock of a dma-buf).
 */
struct mlx5_ib_mkey {
	u32 key;
	refcount_t refs;
	s16 class;
	u16 uid;
	u8 type;
	bool revoked;
	bool destroyed;
	bool closing;
	struct mlx5_ib_fw_attempt attempt;
	struct mlx5_ib_share share;
};

/**
 * struct mlx5_ib_table_key - an indirect mkey that a process has created by a command of its own
 *	(DEVX)
 * @mkey: the key. Lookups ignore the variant, because the process can change the variant by UMR
 * @num_entries: number of entries of the key; constant
 * @memcg: memory cgroup of the process, to which the answer of a query of the entries is charged;
 *	a reference, or NULL without cgroups. Constant
 * @process: the process, with a reference of mlx5_ib_odp_own_table(): a page fault takes a slot of
 *	this process (odp_fairness.c) before it queries the entries, unless the fault has a slot
 *	already. Constant
 */
struct mlx5_ib_table_key {
	struct mlx5_ib_mkey mkey;
	u32 num_entries;
	struct mem_cgroup *memcg;
	struct odp_process *process;
};

/*
 * Record that the owner has no key any more, and stop counting the key. mlx5_ib_share_give() does
 * not sleep here: it does not put the last reference to the user, because the context has a
 * reference, too, and outlives the key.
 */
static inline void mlx5_ib_mkey_lose(struct mlx5_ib_mkey *mkey)
{
	/* The owner may be freed now, so the tree of attempts must not have @attempt any more. */
	WARN_ON_ONCE(mkey->attempt.noted);
	/* Resource tracking and the tables of an implicit region read @destroyed without a lock. */
	WRITE_ONCE(mkey->destroyed, true);
	mlx5_ib_share_give(&mkey->share);
}

/* mkey.c */
int mlx5_ib_mkey_create(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			struct mlx5_ib_mkey *mkey, void *in, size_t inlen);
int mlx5_ib_mkey_create_pinned(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			       struct mlx5_ib_mkey *mkey, struct ib_umem *umem,
			       struct mlx5_ib_mkc_attr *attr);
int mlx5_ib_mkey_create_mtts(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			     struct mlx5_ib_mkey *mkey, struct ib_umem *umem,
			     struct mlx5_ib_mkc_attr *attr);
int mlx5_ib_mkey_change(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, u32 old_access,
			u32 access, u32 pdn);
int mlx5_ib_mkey_umr_revoke(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_revoke(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_kill(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
int mlx5_ib_mkey_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_orphan(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			 struct mlx5_ib_queue_mem *mem);
void mlx5_ib_mkey_abandon(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			  struct mlx5_ib_share *share, int err);

/* mkey_batch.c */
struct mlx5_ib_mkey_batch *mlx5_ib_mkey_batch_alloc(struct mlx5_ib_dev *dev,
						    struct mlx5_ib_fw_batch *commands);
void mlx5_ib_mkey_destroy_early(struct mlx5_ib_mkey_batch *batch, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_batch_wait(struct mlx5_ib_mkey_batch *batch);

/* mkey_table.c */
void mlx5_ib_mkey_publish(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			  enum mlx5_ib_mkey_type type);
void mlx5_ib_mkey_retire(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
struct mlx5_ib_mkey *mlx5_ib_mkey_get_any(struct mlx5_ib_dev *dev, u32 key,
					  enum mlx5_ib_mkey_type type);
struct mlx5_ib_mkey *mlx5_ib_mkey_get(struct mlx5_ib_dev *dev, u32 key,
				      enum mlx5_ib_mkey_type type);
bool mlx5_ib_mkey_hold(struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_put(struct mlx5_ib_mkey *mkey);
int mlx5_ib_mkey_adopt(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_disown(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_disowned(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, bool retry);
int mlx5_ib_mkey_table_create(struct mlx5_ib_dev *dev, u16 uid, void *in, size_t inlen, u32 *key);
int mlx5_ib_mkey_table_destroy(struct mlx5_ib_dev *dev, u16 uid, u32 key,
			       struct mlx5_ib_fw_attempt *attempt);
void mlx5_ib_mkey_table_mark(struct mlx5_ib_dev *dev, u32 key,
			     const struct mlx5_ib_fw_attempt *attempt);
void mlx5_ib_mkey_table_unmark(struct mlx5_ib_dev *dev, u32 key,
			       const struct mlx5_ib_fw_attempt *attempt, bool exists);
void mlx5_ib_mkey_table_forget(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey);
void mlx5_ib_mkey_table_discard(struct mlx5_ib_dev *dev, u16 uid, u32 key);
void mlx5_ib_mkey_table_leak(struct mlx5_ib_dev *dev, u32 key, int err);
int mlx5_ib_init_mkeys(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_mkeys(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_MKEY_H */
