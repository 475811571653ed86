// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many memory keys that are destroyed together: UMR requests that revoke keys for the pool, and
 * commands that destroy keys which the pool has no use for, are in flight at the same time.
 */

#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/mkey.h"
#include "lib/mkey_pool.h"
#include "lib/umr.h"

/* Maximum number of requests of a batch in flight: half of the room of the UMR queue pair. */
#define BATCH_REQUESTS	32

/**
 * struct mlx5_ib_mkey_batch - keys that are being destroyed
 * @dev: device
 * @commands: the DESTROY_MKEY commands of the batch
 * @num_posted: number of requests in flight
 * @posted: the requests, and the keys that they revoke
 */
struct mlx5_ib_mkey_batch {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_fw_batch *commands;
	unsigned int num_posted;
	struct {
		struct mlx5_ib_mkey *mkey;
		struct mlx5_ib_umr_request req;
	} posted[BATCH_REQUESTS];
};

/**
 * mlx5_ib_mkey_batch_alloc - begin a batch
 * @dev: device
 * @commands: batch of commands, which takes the DESTROY_MKEY commands
 *
 * May sleep.
 *
 * Return: the batch, which the caller frees by kfree() after mlx5_ib_mkey_batch_wait(); or NULL if
 * there is no memory.
 */
struct mlx5_ib_mkey_batch *mlx5_ib_mkey_batch_alloc(struct mlx5_ib_dev *dev,
						    struct mlx5_ib_fw_batch *commands)
{
	struct mlx5_ib_mkey_batch *batch = kzalloc_obj(*batch);

	if (!batch)
		return NULL;
	batch->dev = dev;
	batch->commands = commands;
	return batch;
}

static void mkey_batch_destroyed(struct mlx5_ib_dev *dev, void *object, int err)
{
	struct mlx5_ib_mkey *mkey = object;

	mlx5_ib_mkey_table_unmark(dev, mkey->key, &mkey->attempt, err);
	if (err)
		return;
	mlx5_ib_mkey_lose(mkey);
	mlx5_ib_mkey_pool_forget(dev, mkey->class);
}

static void mkey_batch_send(struct mlx5_ib_mkey_batch *batch, struct mlx5_ib_mkey *mkey)
{
	mlx5_ib_mkey_table_mark(batch->dev, mkey->key, &mkey->attempt);
	mlx5_ib_fw_batch_destroy(batch->commands, mkey->uid, MLX5_CMD_OP_DESTROY_MKEY,
				 mlx5_mkey_to_idx(mkey->key), &mkey->attempt, mkey_batch_destroyed,
				 mkey);
}

/* Give a key that UMR has revoked to the pool, or have firmware destroy the key. */
static void mkey_batch_give_to_pool(struct mlx5_ib_mkey_batch *batch, struct mlx5_ib_mkey *mkey)
{
	mkey->revoked = true;
	if (mlx5_ib_mkey_pool_keep(batch->dev, mkey->class, mkey->key))
		mlx5_ib_mkey_lose(mkey);
	else
		mkey_batch_send(batch, mkey);
}

/*
 * Wait for all requests that are posted. Give each key that is then revoked to the pool, or have
 * firmware destroy it. At most one wait times out: if a request fails or does not complete in time,
 * mlx5_ib_umr_wait() stops the queue pair, and this completes all requests.
 */
static void mkey_batch_wait_posted(struct mlx5_ib_mkey_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->num_posted; i++)
		if (!mlx5_ib_umr_wait(batch->dev, &batch->posted[i].req))
			mkey_batch_give_to_pool(batch, batch->posted[i].mkey);
	batch->num_posted = 0;
}

static void mkey_batch_post(struct mlx5_ib_mkey_batch *batch, struct mlx5_ib_mkey *mkey)
{
	unsigned int i = batch->num_posted;

	if (mlx5_ib_umr_post_revoke(batch->dev, mkey->key, &batch->posted[i].req))
		return;
	batch->posted[i].mkey = mkey;
	batch->num_posted++;
	if (batch->num_posted == BATCH_REQUESTS)
		mkey_batch_wait_posted(batch);
}

/**
 * mlx5_ib_mkey_destroy_early - start to destroy a key, shortly before the owner destroys the key
 * @batch: returned by mlx5_ib_mkey_batch_alloc()
 * @mkey: the key of a region over pinned memory, or of a window
 *
 * No process uses the key any more. Does what mlx5_ib_mkey_destroy() does, but waits for requests
 * and commands only if many are in flight, and logs no refusal. After mlx5_ib_mkey_batch_wait(),
 * the key is destroyed, or may exist but no lookup finds it: the owner calls mlx5_ib_mkey_destroy()
 * in either case. A second call for a key does nothing. May sleep.
 */
void mlx5_ib_mkey_destroy_early(struct mlx5_ib_mkey_batch *batch, struct mlx5_ib_mkey *mkey)
{
	if (mkey->closing || mkey->destroyed)
		return;
	/*
	 * Resource tracking queries a key, then reads @closing: if set, the key may have been
	 * destroyed before the query, so resource tracking drops the result.
	 */
	WRITE_ONCE(mkey->closing, true);
	mlx5_ib_mkey_retire(batch->dev, mkey);
	if (mkey->class >= 0 && !mlx5_ib_fw_may_be_gone(&mkey->attempt) &&
	    mlx5_ib_mkey_pool_wants(batch->dev, mkey->class))
		mkey_batch_post(batch, mkey);
	else
		mkey_batch_send(batch, mkey);
}

/**
 * mlx5_ib_mkey_batch_wait - wait for all requests and commands of a batch
 * @batch: returned by mlx5_ib_mkey_batch_alloc()
 *
 * May sleep.
 */
void mlx5_ib_mkey_batch_wait(struct mlx5_ib_mkey_batch *batch)
{
	mkey_batch_wait_posted(batch);
	mlx5_ib_fw_batch_wait(batch->commands);
}
