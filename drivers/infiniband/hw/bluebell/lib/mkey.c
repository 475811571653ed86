// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory keys of regions and windows. Either a key comes from the pool, and UMR fills the key, or
 * firmware creates it. In the end UMR revokes the key, which then returns to the pool, or firmware
 * destroys the key.
 */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_mkey.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/orphan.h"
#include "lib/umr.h"

/*
 * If the list of pages has more entries than this, and UMR works, firmware creates the key without
 * the list, and UMR writes the list: firmware would read the list of CREATE_MKEY in mailboxes of
 * half a kilobyte.
 */
#define MAX_SHORT_LIST_MTTS	512

static int mkey_settle_share(struct mlx5_ib_mkey *mkey, int err)
{
	if (err)
		mlx5_ib_share_undo(&mkey->share, err);
	return err;
}

/**
 * mlx5_ib_mkey_create - create a key by a command that the caller has filled in
 * @dev: device
 * @context: context of the process that owns the key; NULL for a kernel consumer
 * @mkey: the key, zeroed
 * @in: struct mlx5_ifc_create_mkey_in_bits, complete but for the variant of the key
 * @inlen: bytes of @in
 *
 * For keys that only firmware can create and destroy. May sleep.
 *
 * Return: 0; -ENOMEM, also if the user has as many keys as a user can have; -ETIMEDOUT if firmware
 * did not answer (the key may exist then, and goes on counting against the user's limit); or the
 * errno of a firmware refusal.
 */
int mlx5_ib_mkey_create(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			struct mlx5_ib_mkey *mkey, void *in, size_t inlen)
{
	int err = mlx5_ib_share_take(context, MLX5_IB_SHARE_MKEY, &mkey->share);

	if (err)
		return err;
	mkey->class = MLX5_IB_CLASS_FIRMWARE;
	mkey->uid = MLX5_IB_KERNEL_UID;
	err = mlx5_ib_mkey_pool_send_create(dev, mkey->uid, in, inlen, &mkey->key);
	return mkey_settle_share(mkey, err);
}

/* Create a key whose entries are part of the command. */
static int mkey_create_with_mtts(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
				 struct ib_umem *umem, const struct mlx5_ib_mkc_attr *attr)
{
	size_t inlen = mlx5_ib_create_mkey_inlen(attr->nmtts);
	int err;

	if (attr->nmtts > (umem ? MLX5_IB_MAX_COMMAND_MTTS : MLX5_IB_UMR_MAX_CLEAR))
		return -ENOMEM;
	void *in __free(kvfree) = kvzalloc(inlen, MLX5_IB_FAULT_GFP);

	if (!in)
		return -ENOMEM;
	mlx5_ib_fill_create_mkey(in, attr, &dev->caps);
	/*
	 * Without @umem all entries stay zero, which allows no access: have the device check the
	 * access bits of each entry.
	 */
	if (umem)
		mlx5_ib_populate_pas(umem, 1UL << attr->page_shift,
				     MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt));
	else
		MLX5_SET(create_mkey_in, in, pg_access, 1);
	err = mlx5_ib_mkey_pool_send_create(dev, mkey->uid, in, inlen, &mkey->key);
	/* -ENOMSG: the command is longer than firmware allows. */
	if (err == -ENOMSG)
		return -ENOMEM;
	if (err != -ETIMEDOUT || !umem)
		return err;
	ibdev_err(&dev->ib_dev,
		  "firmware did not answer whether it has created an mkey: the device may access memory, which stays pinned for that reason; reset the device\n");
	return -ENOTRECOVERABLE;
}

static u32 key_of_variant(u32 key, u8 variant)
{
	return (key & ~0xffU) | variant;
}

/*
 * Have UMR revoke a key that firmware refuses to destroy. The key has either its old variant or
 * @variant, because the request that failed may have been executed: try both.
 */
static int mkey_free_again(struct mlx5_ib_dev *dev, u32 key, u8 variant)
{
	mlx5_ib_umr_await(dev);
	if (!mlx5_ib_umr_revoke(dev, key))
		return 0;
	mlx5_ib_umr_await(dev);
	return mlx5_ib_umr_revoke(dev, key_of_variant(key, variant));
}

/*
 * UMR has failed to fill a free key, so the state of the key is unknown: destroy or at least revoke
 * the key. Returns 0 if this works, or if the key has no memory and firmware refuses to destroy it;
 * -ETIMEDOUT if the key has no memory and firmware did not answer; else -ENOTRECOVERABLE: the
 * device may reach the memory until the device is reset.
 */
static int mkey_undo_fill(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, u8 variant,
			  bool has_memory)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_mkey_table_destroy(dev, mkey->uid, mkey->key, &attempt);
	bool may_be_gone = mlx5_ib_fw_may_be_gone(&attempt);

	if (!err)
		return 0;
	mlx5_ib_fw_attempt_forget(dev, &attempt);
	if ((!may_be_gone && !mkey_free_again(dev, mkey->key, variant)) || !has_memory) {
		mlx5_ib_mkey_table_leak(dev, mkey->key, err);
		return may_be_gone ? -ETIMEDOUT : 0;
	}
	ibdev_err(&dev->ib_dev,
		  "cannot destroy mkey 0x%x (%d): the device may access memory, which stays pinned for that reason; reset the device\n",
		  mkey->key, err);
	return -ENOTRECOVERABLE;
}

/* Have UMR fill a free key. */
static int mkey_fill(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, struct ib_umem *umem,
		     struct mlx5_ib_mkc_attr *attr)
{
	int err;

	attr->variant = atomic_inc_return(&dev->mkey_variant);
	err = umem ? mlx5_ib_umr_reg(dev, umem, attr, mkey->key) :
		     mlx5_ib_umr_reg_empty(dev, attr, mkey->key);
	if (err)
		err = mkey_undo_fill(dev, mkey, attr->variant, umem) ?: err;
	else
		mkey->key = key_of_variant(mkey->key, attr->variant);
	return err;
}

/*
 * Create the key by UMR if possible, else by firmware. UMR fills a key of the pool or, if the list
 * is long, a free key that firmware creates first.
 */
static int mkey_create_any(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			   struct ib_umem *umem, struct mlx5_ib_mkc_attr *attr)
{
	u32 short_list = umem ? MAX_SHORT_LIST_MTTS : MLX5_IB_UMR_MAX_CLEAR;
	bool have = mkey->class >= 0 && mlx5_ib_mkey_pool_alloc(dev, mkey->class, &mkey->key);
	int err;

	if (!have && attr->room && attr->nmtts > short_list) {
		err = mlx5_ib_mkey_pool_create(dev, attr->room, attr->access, &mkey->key);
		if (err)
			return err;
		have = true;
	}
	err = have ? mkey_fill(dev, mkey, umem, attr) : -EAGAIN;
	/*
	 * -EINTR: a task that is being killed does not wait for a long command. -ETIMEDOUT: the
	 * share goes on counting the key that may exist, so it cannot count another key.
	 */
	if (!err || err == -EINTR || err == -ENOTRECOVERABLE || err == -ETIMEDOUT)
		return err;
	return mkey_create_with_mtts(dev, mkey, umem, attr);
}

/**
 * mlx5_ib_mkey_create_mtts - create a key over pages
 * @dev: device
 * @context: as for mlx5_ib_mkey_create()
 * @mkey: the key, zeroed
 * @umem: the memory, pinned and mapped; NULL if none of the pages is present, for devices with
 *	mlx5_ib_init_umr_clear()
 * @attr: access, domain, first address, length, page size and number of entries; without @umem the
 *	bytes of the entries are a multiple of MLX5_UMR_FLEX_ALIGNMENT. The function sets the room
 *	and the variant
 *
 * UMR fills a key of the pool or a new free key; otherwise the command CREATE_MKEY (struct
 * mlx5_ifc_create_mkey_in_bits) passes the list of pages to firmware. May sleep; the caller may
 * hold the reservation lock of a dma-buf.
 *
 * Return: 0; -ENOMEM, also for a list that is too long, or if the user has as many keys as a user
 * can have; -EINTR if the task is being killed; -ENOTRECOVERABLE if the device may reach the memory
 * until it is reset (then the memory has to stay pinned); -ETIMEDOUT if firmware did not answer
 * whether it has created a key without memory, or has destroyed a key without memory that UMR could
 * not fill; or the errno of a firmware refusal. After -ENOTRECOVERABLE and -ETIMEDOUT the key may
 * exist and goes on counting against the user's limit.
 */
int mlx5_ib_mkey_create_mtts(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			     struct mlx5_ib_mkey *mkey, struct ib_umem *umem,
			     struct mlx5_ib_mkc_attr *attr)
{
	int err = mlx5_ib_share_take(context, MLX5_IB_SHARE_MKEY, &mkey->share);

	if (err)
		return err;
	mkey->class = mlx5_ib_mkey_pool_choose_class(dev, attr->nmtts, attr->access);
	if (mkey->class >= 0)
		attr->room = mlx5_ib_mkey_pool_class_mtts(mkey->class);
	else if (mkey->class == MLX5_IB_CLASS_LONG)
		attr->room = attr->nmtts;
	err = mkey_create_any(dev, mkey, umem, attr);
	if (err)
		mlx5_ib_mkey_pool_forget(dev, mkey->class);
	return mkey_settle_share(mkey, err);
}

/**
 * mlx5_ib_mkey_create_pinned - create a key over memory that is pinned and mapped
 * @dev: device
 * @context: as for mlx5_ib_mkey_create()
 * @mkey: the key, zeroed
 * @umem: the memory
 * @attr: access, domain, first address and length; the function sets the rest, with the largest
 *	page size that fits
 *
 * Return: -EINVAL for memory that no page size fits; else as mlx5_ib_mkey_create_mtts().
 */
int mlx5_ib_mkey_create_pinned(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
			       struct mlx5_ib_mkey *mkey, struct ib_umem *umem,
			       struct mlx5_ib_mkc_attr *attr)
{
	unsigned long pgsz = ib_umem_find_best_pgsz(umem, mlx5_ib_mkey_page_sizes(&dev->caps),
						    attr->iova);
	size_t nmtts;

	if (!pgsz)
		return refuse(dev->mdev, -EINVAL,
			      "region of memory at %#lx, iova %#llx: no page size fits",
			      umem->address, attr->iova);
	nmtts = ib_umem_num_dma_blocks(umem, pgsz);
	if (nmtts > MLX5_IB_MAX_MTTS)
		return refuse(dev->mdev, -ENOMEM, "region of %zu pages, at most %lu", nmtts,
			      MLX5_IB_MAX_MTTS);
	attr->page_shift = ilog2(pgsz);
	attr->nmtts = nmtts;
	return mlx5_ib_mkey_create_mtts(dev, context, mkey, umem, attr);
}

/**
 * mlx5_ib_mkey_change - change the rights and the protection domain of a key
 * @dev: device
 * @mkey: the key, which keeps its number
 * @old_access: enum ib_access_flags that the key has
 * @access: enum ib_access_flags that the key gets
 * @pdn: number of the protection domain that the key gets
 *
 * If another task can revoke the key, the caller holds the lock that keeps it from doing so. May
 * sleep.
 *
 * Return: 0; -EOPNOTSUPP if UMR cannot make the change: the owner has to replace @mkey by a new
 * key; -EIO if @mkey has been revoked or destroyed, or may have been destroyed; or the errno of a
 * failed UMR request.
 */
int mlx5_ib_mkey_change(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, u32 old_access,
			u32 access, u32 pdn)
{
	/* A key of the pool must not have windows, see mlx5_ib_mkey_pool_choose_class(). */
	if (mkey->class == MLX5_IB_CLASS_FIRMWARE || access & ~old_access & IB_ACCESS_MW_BIND ||
	    mlx5_ib_mkey_pool_family(access, &dev->caps) !=
	    mlx5_ib_mkey_pool_family(old_access, &dev->caps))
		return -EOPNOTSUPP;
	/* A revoked key stays in the protection domain of free keys. */
	if (mkey->revoked || mkey->destroyed || mlx5_ib_fw_may_be_gone(&mkey->attempt))
		return -EIO;
	return mlx5_ib_umr_change(dev, mkey->key, access, pdn);
}

/**
 * mlx5_ib_mkey_umr_revoke - have UMR revoke a key, so that the device reaches nothing through it
 * @dev: device
 * @mkey: the key; it keeps its number until mlx5_ib_mkey_destroy(), so that no other region gets
 *	the key while users still have it
 *
 * Windows that are bound to the key reach nothing either. May be called while memory is being
 * reclaimed. May sleep.
 *
 * Return: 0; -EOPNOTSUPP if UMR cannot change the key (then only firmware can destroy it); -EIO if
 * the key may have been destroyed; or the errno of a failed UMR request.
 */
int mlx5_ib_mkey_umr_revoke(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	int err;

	if (mkey->revoked)
		return 0;
	if (mkey->class == MLX5_IB_CLASS_FIRMWARE)
		return -EOPNOTSUPP;
	if (mlx5_ib_fw_may_be_gone(&mkey->attempt))
		return -EIO;
	err = mlx5_ib_umr_revoke(dev, mkey->key);
	mkey->revoked = !err;
	return err;
}

static int mkey_destroy_by_firmware(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	int err = mlx5_ib_mkey_table_destroy(dev, mkey->uid, mkey->key, &mkey->attempt);

	if (err)
		return err;
	mlx5_ib_mkey_lose(mkey);
	mlx5_ib_mkey_pool_forget(dev, mkey->class);
	return 0;
}

/**
 * mlx5_ib_mkey_kill - destroy a key over pages that are being invalidated
 * @dev: device
 * @mkey: the key, not destroyed yet
 *
 * Called when UMR has failed or cannot revoke the key. The key's translations are then still valid;
 * once the key is destroyed, accesses through it fail. May be called during reclaim, and with locks
 * held that reclaim takes, so the command must not reclaim memory itself. The command's memory,
 * less than a page, comes from the reserves: memalloc_noreclaim_save() is meant for this, because
 * the pages of the key can be freed only after the command. If firmware refuses to destroy the key,
 * the next call for the key comes only after pages have been mapped through the key again. May
 * sleep.
 *
 * Sets @mkey->destroyed, or logs that the key could not be destroyed. The log has a limited rate,
 * because a process can have many such keys.
 */
void mlx5_ib_mkey_kill(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	unsigned int flags = memalloc_noreclaim_save();
	int err;

	WARN_ON_ONCE(mkey->destroyed);
	err = mkey_destroy_by_firmware(dev, mkey);
	memalloc_noreclaim_restore(flags);
	if (err)
		ibdev_err_ratelimited(&dev->ib_dev,
				      "cannot destroy mkey 0x%x (%d): the device may still access memory whose pages the kernel or a dma-buf exporter reuses; reset the device\n",
				      mkey->key, err);
}

/**
 * mlx5_ib_mkey_revoke - let the device reach nothing through a key
 * @dev: device
 * @mkey: the key, not destroyed yet
 *
 * UMR revokes the key if possible, and the key keeps its number; otherwise mlx5_ib_mkey_kill()
 * destroys the key.
 */
void mlx5_ib_mkey_revoke(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	if (mlx5_ib_mkey_umr_revoke(dev, mkey))
		mlx5_ib_mkey_kill(dev, mkey);
}

/* Give the key to the pool, or have firmware destroy it. The pool gets no key that may be gone. */
static int mkey_release(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	if (mkey->destroyed)
		return 0;
	if (mkey->class < 0 || mlx5_ib_fw_may_be_gone(&mkey->attempt) ||
	    mlx5_ib_mkey_umr_revoke(dev, mkey))
		return mkey_destroy_by_firmware(dev, mkey);
	mlx5_ib_mkey_pool_free(dev, mkey->class, mkey->key);
	mlx5_ib_mkey_lose(mkey);
	return 0;
}

/**
 * mlx5_ib_mkey_destroy - return a key to the pool, or have firmware destroy it
 * @dev: device
 * @mkey: the key. If the key has been destroyed already, for example by mlx5_ib_mkey_kill(), this
 *	function only waits
 *
 * Waits until all users of the key have released it, see mlx5_ib_mkey_retire(). When this function
 * returns 0 the device reaches nothing through the key. May sleep; not during reclaim.
 *
 * Return: 0; or a negative errno, and then the device may reach what it could before. If the key
 * was published, lookups find it again, unless an unanswered command may have destroyed it.
 */
int mlx5_ib_mkey_destroy(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	enum mlx5_ib_mkey_type type = mkey->type;
	int err;

	mlx5_ib_mkey_retire(dev, mkey);
	err = mkey_release(dev, mkey);
	if (err)
		WRITE_ONCE(dev->kept, true);
	if (err && type != MLX5_IB_MKEY_PRIVATE)
		mlx5_ib_mkey_publish(dev, mkey, type);
	return err;
}

/**
 * mlx5_ib_mkey_orphan - make an orphan (orphan.c) of a key that could not be destroyed
 * @dev: device
 * @mkey: the key, after mlx5_ib_mkey_destroy() has failed; its owner can be freed afterwards
 * @mem: as for mlx5_ib_orphan_adopt_closing()
 *
 * For keys that no caller will try to destroy again. May sleep.
 */
void mlx5_ib_mkey_orphan(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			 struct mlx5_ib_queue_mem *mem)
{
	/*
	 * The orphan does not publish the key again, so the key needs no slot in the table of keys.
	 */
	mlx5_ib_mkey_table_forget(dev, mkey);
	mem->second = mkey->share;
	mkey->share = (struct mlx5_ib_share){};
	mlx5_ib_orphan_adopt_closing(dev, mkey->uid, MLX5_CMD_OP_DESTROY_MKEY,
				     mlx5_mkey_to_idx(mkey->key), &mkey->attempt, "mkey", mem);
	mkey->destroyed = true;
	mlx5_ib_mkey_pool_forget(dev, mkey->class);
}

/**
 * mlx5_ib_mkey_abandon - give up a key that could not be destroyed
 * @dev: device
 * @mkey: the key, not published; its owner can be freed afterwards
 * @share: share of the key's owner that counts the memory which the key takes in the device
 * @err: errno of mlx5_ib_mkey_destroy()
 *
 * For keys that no caller will try to destroy again, and for which no memory of a process stays
 * pinned. The key and the memory that it takes in the device go on counting against the user's
 * limits until the driver is unbound. Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_mkey_abandon(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			  struct mlx5_ib_share *share, int err)
{
	mlx5_ib_mkey_table_leak(dev, mkey->key, err);
	mlx5_ib_fw_attempt_forget(dev, &mkey->attempt);
	mlx5_ib_share_keep(&mkey->share);
	mlx5_ib_share_keep(share);
	mkey->destroyed = true;
	mlx5_ib_mkey_pool_forget(dev, mkey->class);
}
