// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of memory keys by index, and the commands CREATE_MKEY and DESTROY_MKEY.
 *
 * A slot of the table lives as long as the key may exist in the device, whether an owner or the
 * pool has the key; a key that has become an orphan (orphan.c) needs no slot. So publishing a key
 * allocates nothing and cannot fail. Of the keys that processes create by commands of their own,
 * only indirect mkeys have a slot (mlx5_ib_mkey_adopt()). Keys that lookups never want, as that of
 * the UMR queue pair, have none.
 */

#include <linux/wait_bit.h>
#include <linux/xarray.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/mkey.h"

/* Slots without an owner to look up: the key is not published. */
#define MKEY_UNPUBLISHED	xa_mk_value(0)
/* DESTROY_MKEY was not answered: the key may not exist, and the index may be that of a new key. */
#define MKEY_UNANSWERED		xa_mk_value(1)

/*
 * Slot of a key that is being destroyed. Each key has a mark of its own: a new key with the index
 * may be destroyed, too, before the task that has destroyed the old key frees the slot.
 */
static void *mkey_dying(const struct mlx5_ib_fw_attempt *attempt)
{
	return xa_mk_value((unsigned long)attempt >> 1);
}

/**
 * mlx5_ib_mkey_table_create - have firmware create a key, and reserve its slot
 * @dev: device
 * @uid: user id that the command is sent for
 * @in: struct mlx5_ifc_create_mkey_in_bits, complete but for the variant of the key
 * @inlen: bytes of @in
 * @key: gets the key
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM; -ENOSPC, which is not logged, if the device has no key of this length left;
 * -ETIMEDOUT if firmware did not answer, and then the key may exist; or the errno of another
 * firmware refusal.
 */
int mlx5_ib_mkey_table_create(struct mlx5_ib_dev *dev, u16 uid, void *in, size_t inlen, u32 *key)
{
	int err;

	/* Users may still have the previous key with this index, so use the next variant. */
	MLX5_SET(create_mkey_in, in, memory_key_mkey_entry.mkey_7_0,
		 atomic_inc_return(&dev->mkey_variant));
	err = mlx5_ib_fw_create_mkey(dev, uid, in, inlen, key);
	if (err)
		return err;
	/*
	 * The slot may have a mark of the previous key with this index. The task that has destroyed
	 * that key leaves the slot alone once the content of the slot has changed.
	 */
	err = xa_err(xa_store(&dev->mkeys, mlx5_mkey_to_idx(*key), MKEY_UNPUBLISHED,
			      MLX5_IB_FAULT_GFP));
	if (err)
		mlx5_ib_mkey_table_discard(dev, uid, *key);
	return err;
}

/**
 * mlx5_ib_mkey_table_destroy - have firmware destroy a key, and free its slot
 * @dev: device
 * @uid: user id that the key was created with
 * @key: the key; lookups do not find it any more, even if firmware refuses
 * @attempt: as for mlx5_ib_fw_send_destroy()
 *
 * Firmware may create another key with the same index before this task has handled the answer of
 * the command. The slot is therefore marked first, and freed only if it still has the mark.
 *
 * Does not reclaim memory itself. May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_mkey_table_destroy(struct mlx5_ib_dev *dev, u16 uid, u32 key,
			       struct mlx5_ib_fw_attempt *attempt)
{
	int err;

	mlx5_ib_mkey_table_mark(dev, key, attempt);
	err = mlx5_ib_fw_destroy_object(dev, uid, MLX5_CMD_OP_DESTROY_MKEY, mlx5_mkey_to_idx(key),
					attempt);
	mlx5_ib_mkey_table_unmark(dev, key, attempt, err);
	return err;
}

/**
 * mlx5_ib_mkey_table_mark - mark the slot of a key that is about to be destroyed
 * @dev: device
 * @key: the key, as for mlx5_ib_mkey_table_destroy(); the caller sends the command
 * @attempt: earlier attempts to destroy the key; the same struct as for mlx5_ib_mkey_table_unmark()
 *
 * Does not reclaim memory.
 */
void mlx5_ib_mkey_table_mark(struct mlx5_ib_dev *dev, u32 key,
			     const struct mlx5_ib_fw_attempt *attempt)
{
	u32 index = mlx5_mkey_to_idx(key);

	if (attempt->unanswered)
		xa_cmpxchg(&dev->mkeys, index, MKEY_UNANSWERED, mkey_dying(attempt), 0);
	else
		xa_store(&dev->mkeys, index, mkey_dying(attempt), 0);
}

/**
 * mlx5_ib_mkey_table_unmark - free the slot of a key after DESTROY_MKEY
 * @dev: device
 * @key: the key, after mlx5_ib_mkey_table_mark()
 * @attempt: attempts to destroy the key
 * @exists: the command has failed: the key keeps its slot, without an owner
 *
 * Allocates no memory.
 */
void mlx5_ib_mkey_table_unmark(struct mlx5_ib_dev *dev, u32 key,
			       const struct mlx5_ib_fw_attempt *attempt, bool exists)
{
	void *kept = attempt->unanswered ? MKEY_UNANSWERED : MKEY_UNPUBLISHED;

	xa_cmpxchg(&dev->mkeys, mlx5_mkey_to_idx(key), mkey_dying(attempt), exists ? kept : NULL,
		   0);
}

/**
 * mlx5_ib_mkey_table_forget - free the slot of a key that could not be destroyed
 * @dev: device
 * @mkey: the key, which becomes an orphan; no lookup finds the key any more
 *
 * May sleep.
 */
void mlx5_ib_mkey_table_forget(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	mlx5_ib_mkey_disown(dev, mkey);
	mlx5_ib_mkey_table_unmark(dev, mkey->key, &mkey->attempt, false);
}

/**
 * mlx5_ib_mkey_table_leak - log that a key without an owner may stay allocated
 * @dev: device
 * @key: the key
 * @err: errno of the refusal to destroy the key; -ETIMEDOUT if firmware has not answered
 */
void mlx5_ib_mkey_table_leak(struct mlx5_ib_dev *dev, u32 key, int err)
{
	ibdev_err_ratelimited(&dev->ib_dev,
			      "cannot destroy mkey 0x%x (%d): it may stay allocated until the device is reset\n",
			      key, err);
}

/**
 * mlx5_ib_mkey_table_discard - have firmware destroy a key that has no owner any more
 * @dev: device
 * @uid: user id that the key was created with
 * @key: the key; if firmware refuses, the key stays allocated, and the log says so
 *
 * May sleep.
 */
void mlx5_ib_mkey_table_discard(struct mlx5_ib_dev *dev, u16 uid, u32 key)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_mkey_table_destroy(dev, uid, key, &attempt);

	if (!err)
		return;
	mlx5_ib_fw_attempt_forget(dev, &attempt);
	mlx5_ib_mkey_table_leak(dev, key, err);
}

/**
 * mlx5_ib_mkey_publish - let lookups find a key
 * @dev: device
 * @mkey: the key, which has been created, with its owner complete; no other task can revoke or
 *	destroy the key yet
 * @type: which struct @mkey is embedded in
 *
 * Called again for a key that was retired but not destroyed, so that the key can be retired once
 * more. Lookups do not find a key that perhaps does not exist: its slot may belong to a newer key.
 * Allocates nothing.
 */
void mlx5_ib_mkey_publish(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey,
			  enum mlx5_ib_mkey_type type)
{
	WARN_ON_ONCE(mkey->type != MLX5_IB_MKEY_PRIVATE);
	refcount_set(&mkey->refs, 1);
	mkey->type = type;
	if (!mkey->destroyed && !mlx5_ib_fw_may_be_gone(&mkey->attempt))
		xa_store(&dev->mkeys, mlx5_mkey_to_idx(mkey->key), mkey, GFP_KERNEL);
}

/**
 * mlx5_ib_mkey_adopt - let lookups find a key that a process has created
 * @dev: device
 * @mkey: the key, embedded in a struct mlx5_ib_table_key. Its owner sends DESTROY_MKEY between
 *	mlx5_ib_mkey_disown() and mlx5_ib_mkey_disowned()
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_mkey_adopt(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	int err;

	refcount_set(&mkey->refs, 1);
	mkey->type = MLX5_IB_MKEY_TABLE;
	err = xa_err(xa_store(&dev->mkeys, mlx5_mkey_to_idx(mkey->key), mkey, GFP_KERNEL));
	if (err)
		mkey->type = MLX5_IB_MKEY_PRIVATE;
	return err;
}

/**
 * mlx5_ib_mkey_disown - stop lookups from finding a key that its owner is about to destroy
 * @dev: device
 * @mkey: key of mlx5_ib_mkey_adopt(), or a key that becomes an orphan
 *
 * Waits until all users of the key have released it. May sleep.
 */
void mlx5_ib_mkey_disown(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	mlx5_ib_mkey_retire(dev, mkey);
	mlx5_ib_mkey_table_mark(dev, mkey->key, &mkey->attempt);
}

/**
 * mlx5_ib_mkey_disowned - free the slot of a key after the command that destroys it
 * @dev: device
 * @mkey: key of mlx5_ib_mkey_disown()
 * @retry: the command has failed, and the owner will try again: lookups find the key again, unless
 *	a command that was not answered may have destroyed it
 */
void mlx5_ib_mkey_disowned(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey, bool retry)
{
	mlx5_ib_mkey_table_unmark(dev, mkey->key, &mkey->attempt, retry);
	if (retry)
		mlx5_ib_mkey_publish(dev, mkey, MLX5_IB_MKEY_TABLE);
}

/**
 * mlx5_ib_mkey_retire - stop lookups from finding a key, and wait until its users have released it
 * @dev: device
 * @mkey: the key; nothing is done if it is not published
 *
 * May sleep; not with a lock held that users of mlx5_ib_mkey_get() take.
 */
void mlx5_ib_mkey_retire(struct mlx5_ib_dev *dev, struct mlx5_ib_mkey *mkey)
{
	if (mkey->type == MLX5_IB_MKEY_PRIVATE)
		return;
	/* A key that has been destroyed has no slot; another key may have the index. */
	xa_cmpxchg(&dev->mkeys, mlx5_mkey_to_idx(mkey->key), mkey, MKEY_UNPUBLISHED, 0);
	mkey->type = MLX5_IB_MKEY_PRIVATE;
	mlx5_ib_mkey_put(mkey);
	wait_var_event(&mkey->refs, !refcount_read(&mkey->refs));
	/* Pairs with mlx5_ib_mkey_put(): what users did comes before what the owner does now. */
	smp_acquire__after_ctrl_dep();
}

/**
 * mlx5_ib_mkey_get_any - find a published key of any variant, and keep its owner from being freed
 * @dev: device
 * @key: the key, whose variant is ignored
 * @type: which struct the key has to be embedded in
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: the key, for which mlx5_ib_mkey_put() has to be called; or NULL.
 */
struct mlx5_ib_mkey *mlx5_ib_mkey_get_any(struct mlx5_ib_dev *dev, u32 key,
					  enum mlx5_ib_mkey_type type)
{
	struct mlx5_ib_mkey *mkey;

	guard(spinlock)(&dev->mkeys.xa_lock);
	mkey = xa_load(&dev->mkeys, mlx5_mkey_to_idx(key));
	if (!mkey || xa_is_value(mkey) || mkey->type != type || !mlx5_ib_mkey_hold(mkey))
		return NULL;
	return mkey;
}

/**
 * mlx5_ib_mkey_get - find a published key, and keep its owner from being freed
 * @dev: device
 * @key: the key, whose variant has to match, too, except for MLX5_IB_MKEY_TABLE
 * @type: which struct the key has to be embedded in
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: as mlx5_ib_mkey_get_any().
 */
struct mlx5_ib_mkey *mlx5_ib_mkey_get(struct mlx5_ib_dev *dev, u32 key,
				      enum mlx5_ib_mkey_type type)
{
	struct mlx5_ib_mkey *mkey = mlx5_ib_mkey_get_any(dev, key, type);

	if (!mkey || mkey->key == key || type == MLX5_IB_MKEY_TABLE)
		return mkey;
	mlx5_ib_mkey_put(mkey);
	return NULL;
}

/**
 * mlx5_ib_mkey_hold - take a reference to a key
 * @mkey: the key, whose owner the caller knows to exist
 *
 * Any context.
 *
 * Return: false if the key has been retired.
 */
bool mlx5_ib_mkey_hold(struct mlx5_ib_mkey *mkey)
{
	return refcount_inc_not_zero(&mkey->refs);
}

/**
 * mlx5_ib_mkey_put - release a reference to a key
 * @mkey: key of mlx5_ib_mkey_get() or mlx5_ib_mkey_hold(); its owner may be freed once
 *	this function is called
 *
 * Any context.
 */
void mlx5_ib_mkey_put(struct mlx5_ib_mkey *mkey)
{
	if (!refcount_dec_and_test(&mkey->refs))
		return;
	/*
	 * Pairs with wait_var_event() in mlx5_ib_mkey_retire(), which enters the wait queue before
	 * it reads the count.
	 */
	smp_mb__after_atomic();
	/* This uses only the address: the owner may be freed already. */
	wake_up_var(&mkey->refs);
}

/**
 * mlx5_ib_init_mkeys - set up the table of keys
 * @dev: device
 *
 * Return: 0.
 */
int mlx5_ib_init_mkeys(struct mlx5_ib_dev *dev)
{
	xa_init_flags(&dev->mkeys, XA_FLAGS_ACCOUNT);
	return 0;
}

/**
 * mlx5_ib_cleanup_mkeys - free the table of keys
 * @dev: device, none of whose regions and windows is left; what firmware did not destroy may still
 *	have a slot
 */
void mlx5_ib_cleanup_mkeys(struct mlx5_ib_dev *dev)
{
	unsigned long index;
	void *entry;

	xa_for_each(&dev->mkeys, index, entry)
		WARN_ON_ONCE(!xa_is_value(entry) && !dev->kept);
	xa_destroy(&dev->mkeys);
}
