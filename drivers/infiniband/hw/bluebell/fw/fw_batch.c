// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Batches of commands that destroy objects. Several commands of a batch are in flight together, so
 * that the task that sends them sleeps once for many commands, and firmware need not wait for the
 * task. The task takes all results itself. Until the task has taken the result of an object's
 * command, nothing that belongs to the object may be freed.
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "fw/bluebell.h"
#include "fw/fw.h"

/* How many commands of a batch can be in flight: mlx5_ib_fw_exec_async() lets no more pass. */
#define BATCH_COMMANDS	MLX5_IB_ASYNC_SLOTS

/**
 * struct fw_batch_slot - one of the commands that can be in flight
 * @batch: the batch that the slot belongs to
 * @async: the command, for mlx5_ib_fw_exec_async()
 * @out: the answer
 * @err: the result; valid once the bit of the slot in @batch->answered is set
 * @attempt: attempts to destroy the object that the command names
 * @done: takes the result
 * @object: argument of @done
 */
struct fw_batch_slot {
	struct mlx5_ib_fw_batch *batch;
	struct mlx5_ib_fw_async async;
	u32 out[MLX5_ST_SZ_DW(dealloc_pd_out)];
	int err;
	struct mlx5_ib_fw_attempt *attempt;
	mlx5_ib_fw_batch_done_t done;
	void *object;
};

/**
 * struct mlx5_ib_fw_batch - a task's commands in flight
 * @dev: device
 * @ctx: context of mlx5_core, which calls back for each command
 * @wait: the task sleeps here
 * @used: bit n: slot n has a command, whose result the task has not taken. Only the task uses @used
 * @lock: guards @answered and @wanted; taken in interrupts
 * @answered: bit n: the command of slot n has been answered; cleared when the task takes the result
 * @wanted: the task is woken when this many commands have been answered
 * @slots: the slots
 */
struct mlx5_ib_fw_batch {
	struct mlx5_ib_dev *dev;
	struct mlx5_async_ctx ctx;
	wait_queue_head_t wait;
	unsigned long used;
	spinlock_t lock;	/* guards answered, wanted */
	unsigned long answered;
	unsigned int wanted;
	struct fw_batch_slot slots[BATCH_COMMANDS];
};

static_assert(BATCH_COMMANDS <= BITS_PER_LONG);

/*
 * Note that the command of a slot has been answered, and wake the task if enough commands have been
 * answered. Called in the same contexts as fw_async_answered().
 */
static void fw_batch_answer(int err, struct mlx5_async_work *work)
{
	struct fw_batch_slot *slot = container_of(work, struct fw_batch_slot, async.work);
	struct mlx5_ib_fw_batch *batch = slot->batch;

	slot->err = err;
	guard(spinlock_irqsave)(&batch->lock);
	__set_bit(slot - batch->slots, &batch->answered);
	if (hweight_long(batch->answered) >= batch->wanted)
		wake_up(&batch->wait);
}

/**
 * mlx5_ib_fw_batch_alloc - begin a batch
 * @dev: device
 *
 * May sleep.
 *
 * Return: the batch, which mlx5_ib_fw_batch_free() frees; or NULL if there is no memory.
 */
struct mlx5_ib_fw_batch *mlx5_ib_fw_batch_alloc(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_fw_batch *batch = kzalloc_obj(*batch);
	struct fw_batch_slot *slot;

	if (!batch)
		return NULL;
	batch->dev = dev;
	mlx5_cmd_init_async_ctx(dev->mdev, &batch->ctx);
	init_waitqueue_head(&batch->wait);
	spin_lock_init(&batch->lock);
	for (slot = batch->slots; slot < batch->slots + BATCH_COMMANDS; slot++) {
		slot->batch = batch;
		slot->async = (struct mlx5_ib_fw_async){
			.ctx = &batch->ctx, .out = slot->out, .out_size = sizeof(slot->out),
			.done = fw_batch_answer,
		};
	}
	return batch;
}

static bool fw_batch_has_answers(struct mlx5_ib_fw_batch *batch, unsigned int wanted)
{
	guard(spinlock_irq)(&batch->lock);
	batch->wanted = wanted;
	return hweight_long(batch->answered) >= wanted;
}

/* Take the result of a command that has been answered, or that was not sent. */
static void fw_batch_finish(struct fw_batch_slot *slot)
{
	struct mlx5_ib_dev *dev = slot->batch->dev;

	if (slot->attempt->unanswered && mlx5_ib_fw_is_unknown(slot->err, slot->out))
		slot->err = -ENOENT;
	slot->done(dev, slot->object, mlx5_ib_fw_attempt_end(dev, slot->attempt, slot->err));
}

/* Wait for @wanted answers, then take the results of all commands that have been answered. */
static void fw_batch_take(struct mlx5_ib_fw_batch *batch, unsigned int wanted)
{
	unsigned long answered;
	unsigned int i;

	wait_event(batch->wait, fw_batch_has_answers(batch, wanted));
	scoped_guard(spinlock_irq, &batch->lock) {
		answered = batch->answered;
		batch->answered = 0;
	}
	WARN_ON_ONCE(answered & ~batch->used);
	for_each_set_bit(i, &answered, BATCH_COMMANDS) {
		__clear_bit(i, &batch->used);
		fw_batch_finish(&batch->slots[i]);
	}
}

static int fw_batch_send(struct mlx5_ib_fw_batch *batch, struct fw_batch_slot *slot, u16 uid,
			 u16 opcode, u32 number)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];
	int err;

	mlx5_ib_fw_name_object(in, opcode, number);
	/* The object is known to be destroyed: fw_batch_finish() turns -ENOENT into 0. */
	if (!mlx5_ib_fw_attempt_begin(batch->dev, slot->attempt, in, sizeof(in)))
		return -ENOENT;
	do {
		memset(slot->out, 0, sizeof(slot->out));
		err = mlx5_ib_fw_exec_async(batch->dev, uid, in, sizeof(in), &slot->async);
		/* -EBUSY: mlx5_core keeps some uids and opcodes from using all of its slots. */
		if (err != -EBUSY || !batch->used)
			return err;
		fw_batch_take(batch, 1);
	} while (true);
}

/**
 * mlx5_ib_fw_batch_destroy - send a command that destroys an object
 * @batch: returned by mlx5_ib_fw_batch_alloc()
 * @uid: user id that the command is sent for
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: number of the object
 * @attempt: attempts to destroy the object, as for mlx5_ib_fw_send_destroy()
 * @done: takes the result. Called at once if the command is not sent; else, once the command has
 *	been answered, in a later call of this function or in mlx5_ib_fw_batch_wait()
 * @object: argument of @done
 *
 * If BATCH_COMMANDS commands are in flight, the function waits until half of them have been
 * answered. A refusal is not logged. Firmware may execute the commands of a batch in any order. May
 * sleep.
 */
void mlx5_ib_fw_batch_destroy(struct mlx5_ib_fw_batch *batch, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt, mlx5_ib_fw_batch_done_t done,
			      void *object)
{
	struct fw_batch_slot *slot;
	int err;

	if (bitmap_full(&batch->used, BATCH_COMMANDS))
		fw_batch_take(batch, BATCH_COMMANDS / 2);
	slot = &batch->slots[ffz(batch->used)];
	slot->attempt = attempt;
	slot->done = done;
	slot->object = object;
	err = fw_batch_send(batch, slot, uid, opcode, number);
	if (!err) {
		__set_bit(slot - batch->slots, &batch->used);
		return;
	}
	/* The command has not been sent, so no answer writes the result at the same time. */
	slot->err = err;
	fw_batch_finish(slot);
}

/**
 * mlx5_ib_fw_batch_wait - wait until all commands of a batch have been answered
 * @batch: returned by mlx5_ib_fw_batch_alloc()
 *
 * If the device is lost, mlx5_core ends the commands that the device has not answered. May sleep.
 */
void mlx5_ib_fw_batch_wait(struct mlx5_ib_fw_batch *batch)
{
	if (batch->used)
		fw_batch_take(batch, hweight_long(batch->used));
}

/**
 * mlx5_ib_fw_batch_free - wait for all commands of a batch, then free the batch
 * @batch: returned by mlx5_ib_fw_batch_alloc()
 *
 * May sleep.
 */
void mlx5_ib_fw_batch_free(struct mlx5_ib_fw_batch *batch)
{
	mlx5_ib_fw_batch_wait(batch);
	WARN_ON_ONCE(batch->used);
	/* Wait for the last callback to return: mlx5_core uses the context until then. */
	mlx5_cmd_cleanup_async_ctx(&batch->ctx);
	kfree(batch);
}
