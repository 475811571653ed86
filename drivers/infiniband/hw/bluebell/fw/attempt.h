/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the driver knows about an object that it has tried to destroy; see fw_destroy.c.
 */

#ifndef BLUEBELL_ATTEMPT_H
#define BLUEBELL_ATTEMPT_H

#include <linux/compiler.h>
#include <linux/rbtree_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct mlx5_ib_fw_attempt - attempts to destroy an object; embedded in the object's owner
 * @node: in the tree of the device, if @noted
 * @id: key of @node in the tree, made of what the commands name: opcode, number, and type or a hash
 *	of the multicast group
 * @noted: set while a command is in flight, and after a command that has not been answered; for an
 *	attachment, after any command that has failed. fw_destroy.c says which objects are noted
 * @failed: a command has failed; for an attachment, set from the start. Once @failed is set, a
 *	refusal because the object does not exist is not logged
 * @unanswered: a command has not been answered: the object may not exist
 * @attachment: the object is a queue pair's attachment to a multicast group. The attachment ends
 *	with the queue pair, so firmware may not know the queue pair any more; and firmware refuses
 *	to detach the queue pair twice
 * @quiet: refusals are not logged. The errno of a refusal is then -EREMOTEIO; but -EINVAL if
 *	firmware does not know the object, and for a bad parameter or a bad state of the object
 * @replaced: the device has given the number to a new object, so this object does not exist
 *
 * Zeroed before the first attempt, except for an attachment to a multicast group, which begins as
 * MLX5_IB_FW_ATTEMPT_TO_DETACH. The owner makes one attempt at a time, so only @node, @id, @noted
 * and @replaced need the lock of the tree.
 */
struct mlx5_ib_fw_attempt {
	struct rb_node node;
	u64 id;
	bool noted;
	bool failed;
	bool unanswered;
	bool attachment;
	bool quiet;
	bool replaced;
};

/* Initial value for an attachment, which may have ended before the first attempt to detach. */
#define MLX5_IB_FW_ATTEMPT_TO_DETACH	{ .failed = true, .attachment = true }

/*
 * Whether the object may have been destroyed by a command that was not answered. Then the number of
 * the object may be that of another user's object. So the driver names the object in no work
 * request, and in commands only in order to destroy it (fw_destroy.c). READ_ONCE(), because
 * meanwhile a task that destroys the object may set @unanswered, and a task that creates another
 * object may set @replaced.
 */
static inline bool mlx5_ib_fw_may_be_gone(const struct mlx5_ib_fw_attempt *attempt)
{
	return READ_ONCE(attempt->unanswered) || READ_ONCE(attempt->replaced);
}

/**
 * struct mlx5_ib_fw_attempts - objects of a device that are being destroyed, or may have been
 * @lock: guards @tree; held for look-ups. Taken when an object is created or destroyed. A process
 *	can have only one entry in @tree for each of its commands in flight, for each of its
 *	attachments that firmware refuses to end, and for each of its objects for which the command
 *	that destroys it was not answered
 * @tree: struct mlx5_ib_fw_attempt by @id
 */
struct mlx5_ib_fw_attempts {
	spinlock_t lock;	/* guards tree */
	struct rb_root tree;
};

#endif /* BLUEBELL_ATTEMPT_H */
