// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands that destroy objects, and what the driver knows about an object when such a command has
 * not been answered.
 */

/**
 * DOC: Commands that are not answered
 *
 * mlx5_core waits for the answer to a command for a time, and then returns -ETIMEDOUT. The device
 * may have executed the command all the same, or may execute it later. Two rules follow for a
 * command that destroys an object.
 *
 * * The driver sends the command again: once immediately, except in a batch (fw_batch.c), and then
 *   each time the owner tries to destroy the object. After an attempt that has not been answered, a
 *   refusal because the object does not exist means success. The status of such a refusal is
 *   BAD_RES, or BAD_RES_STATE, which is also the status for an object in use. So if the object is a
 *   QP or a CQ, the driver queries the object after BAD_RES_STATE, except in a batch: if firmware
 *   refuses the query as it refuses an unknown number, the object does not exist.
 *   A queue pair's attachment to a multicast group ends with the queue pair. So for DETACH_FROM_MCG
 *   an unknown queue pair means success from the first attempt on; and after an attempt that has
 *   not been answered -EINVAL means success, too, because with this errno firmware refuses to
 *   detach a queue pair that is detached already.
 * * If the command has been executed, the device may have given the number of the object to a new
 *   object of another owner, and the command, sent again, would destroy the new object. So before
 *   the driver sends the command, it notes the number (&struct mlx5_ib_fw_attempt). When the driver
 *   has created an object, it looks for the new number among the noted numbers
 *   (mlx5_ib_fw_number_taken()). If the number is noted, the object that had the number before is
 *   known to be destroyed, and the driver sends no command for it any more. The driver notes
 *   multicast attachments, and objects whose command has no other arguments than type and number
 *   (NAMING_CMD_SIZE). Nearly all commands are of this kind.
 *
 * After an attempt that has not been answered, the owner keeps the handle until the object is known
 * to be destroyed. Meanwhile the driver names the number only in the command that destroys the
 * object, in the query described above, and in DRAIN_DCT, because the number may belong to another
 * user's object by now. Firmware compares user ids, but XRC objects, objects of kernel consumers
 * and objects of contexts without DEVX have none. So verbs call mlx5_ib_fw_check_exists() for the
 * objects that their commands name.
 *
 * A number is noted while the command is in flight. After an attempt that has not been answered,
 * the number stays noted until the object is known to be destroyed, or until the owner gives up.
 *
 * DETACH_FROM_MCG names the queue pair and the group, and so would end a later attachment of the
 * same queue pair to the same group. So an attachment stays noted after a refusal, too, until the
 * attachment has ended, and the driver attaches no queue pair to a group from which the driver may
 * still have to detach the queue pair (mlx5_ib_fw_is_noted()). When a new queue pair gets the
 * number, all attachments that are noted with this number have ended.
 *
 * Commands take slots of mlx5_core, 31 with usual firmware, and a command that is not answered
 * keeps its slot. If no slot becomes free within the time for which mlx5_core waits for an answer,
 * mlx5_core does not send the command, and returns an error. If the commands in all slots have
 * timed out, mlx5_core returns an error at once. mlx5_ib_fw_do() makes both errors -ECANCELED. The
 * object then still exists.
 *
 * If the command for an object is not answered, a task waits for two timeouts of mlx5_core, because
 * the driver sends the command again at once, but only once. If firmware answers nothing any more,
 * each timeout takes a slot, and all commands after the 31st fail at once. So the task waits for
 * about 31 timeouts in all, one after the other: half an hour. The unbinding of the driver may take
 * as long. The driver sets no shorter limit, because it could not tell firmware that answers
 * nothing from firmware that has lost some answers, and the memory of an object that is not
 * destroyed cannot be freed.
 */

#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"

/* The longest pause before a refused command is sent once more. */
#define MAX_PAUSE_MS	256

/*
 * Length of the commands whose only argument is the number of their object; the commands on general
 * objects have the type of the object, too.
 */
#define NAMING_CMD_SIZE	MLX5_ST_SZ_BYTES(dealloc_pd_in)

static_assert(MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr) == NAMING_CMD_SIZE);

/**
 * mlx5_ib_fw_name_object - build a command whose only argument is the number of an object
 * @in: gets the command; MLX5_ST_SZ_DW(dealloc_pd_in) dwords, as all such commands have
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: number of the object
 */
void mlx5_ib_fw_name_object(u32 *in, u16 opcode, u32 number)
{
	memset(in, 0, MLX5_ST_SZ_BYTES(dealloc_pd_in));
	MLX5_SET(dealloc_pd_in, in, opcode, opcode);
	MLX5_SET(dealloc_pd_in, in, pd, number);
}

#define TYPE_BITS	16

static u64 make_id(u16 opcode, u32 number, u16 type)
{
	return (u64)opcode << 48 | (u64)number << TYPE_BITS | type;
}

/*
 * The key of an attempt in the tree: opcode, number and, for a general object, its type; not the
 * user id. DETACH_FROM_MCG has no type: the key has a hash of the group instead of the type. If two
 * groups have the same hash, the driver refuses to attach a queue pair to one of them while it is
 * still detaching the queue pair from the other (mlx5_ib_orphans_before_attach()).
 */
static u64 attempt_id(const void *in)
{
	u16 opcode = MLX5_GET(general_obj_in_cmd_hdr, in, opcode);
	u16 type = MLX5_GET(general_obj_in_cmd_hdr, in, obj_type);

	if (opcode == MLX5_CMD_OP_DETACH_FROM_MCG)
		type = jhash(MLX5_ADDR_OF(detach_from_mcg_in, in, multicast_gid),
			     MLX5_FLD_SZ_BYTES(detach_from_mcg_in, multicast_gid), 0);
	return make_id(opcode, MLX5_GET(general_obj_in_cmd_hdr, in, obj_id), type);
}

static struct mlx5_ib_fw_attempt *to_attempt(const struct rb_node *node)
{
	return rb_entry(node, struct mlx5_ib_fw_attempt, node);
}

static bool attempt_less(struct rb_node *a, const struct rb_node *b)
{
	return to_attempt(a)->id < to_attempt(b)->id;
}

static int attempt_cmp(const void *id, const struct rb_node *node)
{
	u64 wanted = *(const u64 *)id, found = to_attempt(node)->id;

	return wanted < found ? -1 : wanted > found;
}

/* Compare as attempt_cmp() does, but ignore the type. */
static int attempt_cmp_number(const void *id, const struct rb_node *node)
{
	u64 wanted = *(const u64 *)id >> TYPE_BITS, found = to_attempt(node)->id >> TYPE_BITS;

	return wanted < found ? -1 : wanted > found;
}

static void attempt_unnote(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt)
{
	lockdep_assert_held(&dev->attempts.lock);
	if (attempt->noted)
		rb_erase(&attempt->node, &dev->attempts.tree);
	attempt->noted = false;
}

/**
 * mlx5_ib_fw_attempt_begin - note that a command which destroys an object is about to be sent
 * @dev: device
 * @attempt: attempts to destroy the object
 * @in: the command
 * @inlen: bytes of @in. The function notes DETACH_FROM_MCG, and commands whose only arguments are
 *	type and number of the object (NAMING_CMD_SIZE); for other commands it notes nothing
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: false if the object is known to be destroyed; then the command must not be sent.
 */
bool mlx5_ib_fw_attempt_begin(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt,
			      const void *in, int inlen)
{
	guard(spinlock)(&dev->attempts.lock);
	if (attempt->replaced)
		return false;
	if ((inlen == NAMING_CMD_SIZE || attempt->attachment) && !attempt->noted) {
		attempt->id = attempt_id(in);
		rb_add(&attempt->node, &dev->attempts.tree, attempt_less);
		attempt->noted = true;
	}
	return true;
}

/* Whether the result of a command means that the object does not exist. */
static bool attempt_is_over(const struct mlx5_ib_fw_attempt *attempt, int err)
{
	if (err == -ENOENT)
		return attempt->unanswered || attempt->attachment;
	return err == -EINVAL && attempt->unanswered && attempt->attachment;
}

/**
 * mlx5_ib_fw_attempt_end - take the result of a command that destroys an object
 * @dev: device
 * @attempt: passed to mlx5_ib_fw_attempt_begin() before
 * @err: result of the command; -ENOENT if firmware does not know the object
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: 0 if the object is known to be destroyed, whatever @err is; else @err, or -EINVAL instead
 * of -ENOENT.
 */
int mlx5_ib_fw_attempt_end(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt, int err)
{
	guard(spinlock)(&dev->attempts.lock);
	/*
	 * Set @failed even if the object turns out to be destroyed: if the object is a CQ, the
	 * failed mlx5_core_destroy_cq() has not released the CQ.
	 */
	attempt->failed |= err;
	if (attempt->replaced)
		return 0;
	if (attempt_is_over(attempt, err))
		err = 0;
	else if (err == -ENOENT)
		err = -EINVAL;
	if (err == -ETIMEDOUT)
		WRITE_ONCE(attempt->unanswered, true);
	if (!err || !(attempt->unanswered || attempt->attachment))
		attempt_unnote(dev, attempt);
	return err;
}

/**
 * mlx5_ib_fw_attempt_move - pass the attempts to destroy an object on to a new owner
 * @dev: device
 * @to: struct of the new owner; zeroed
 * @from: struct of the old owner, which may be freed afterwards
 *
 * Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_fw_attempt_move(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *to,
			     struct mlx5_ib_fw_attempt *from)
{
	guard(spinlock)(&dev->attempts.lock);
	to->id = from->id;
	to->failed = from->failed;
	to->unanswered = from->unanswered;
	to->attachment = from->attachment;
	to->replaced = from->replaced;
	to->noted = from->noted;
	if (from->noted)
		rb_replace_node(&from->node, &to->node, &dev->attempts.tree);
	from->noted = false;
}

/**
 * mlx5_ib_fw_attempt_forget - remove an object from the noted objects: its owner gives up
 * @dev: device
 * @attempt: attempts to destroy the object, which may still exist; may be freed afterwards
 *
 * Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_fw_attempt_forget(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt)
{
	guard(spinlock)(&dev->attempts.lock);
	attempt_unnote(dev, attempt);
}

/**
 * mlx5_ib_fw_check_exists - check that an object is known to exist, before a command names it
 * @dev: device, for the log
 * @attempt: attempts to destroy the object. The caller keeps @attempt from being freed
 * @what: what the object is, for the log
 * @number: number of the object
 *
 * If the command that was to destroy an object has not been answered, the owner keeps the handle,
 * but the number may belong to another user's object by now. Any context.
 *
 * Return: 0; -EIO if the object may not exist any more.
 */
int mlx5_ib_fw_check_exists(const struct mlx5_ib_dev *dev, const struct mlx5_ib_fw_attempt *attempt,
			    const char *what, u32 number)
{
	return !mlx5_ib_fw_may_be_gone(attempt) ? 0 :
	       refuse(dev->mdev, -EIO,
		      "%s 0x%x may be gone: firmware did not answer the destroy command", what,
		      number);
}

/**
 * mlx5_ib_fw_is_noted - whether firmware may still execute a command that destroys an object
 * @dev: device
 * @destroy: the command
 *
 * Any context that can take a spinlock, except interrupts.
 *
 * Return: true if the command is in flight, has not been answered, or, for DETACH_FROM_MCG, has
 * failed in another way, so that the driver may send it again.
 */
bool mlx5_ib_fw_is_noted(struct mlx5_ib_dev *dev, const void *destroy)
{
	u64 id = attempt_id(destroy);

	guard(spinlock)(&dev->attempts.lock);
	return rb_find(&id, &dev->attempts.tree, attempt_cmp);
}

static void attempts_replace(struct mlx5_ib_dev *dev, u64 id,
			     int (*cmp)(const void *id, const struct rb_node *node))
{
	struct rb_node *node;

	guard(spinlock)(&dev->attempts.lock);
	while ((node = rb_find(&id, &dev->attempts.tree, cmp))) {
		WRITE_ONCE(to_attempt(node)->replaced, true);
		attempt_unnote(dev, to_attempt(node));
	}
}

/**
 * mlx5_ib_fw_number_taken - note that the device has given a number to a new object
 * @dev: device
 * @destroy: command that destroys the new object
 *
 * If an earlier object of this type and number is noted, that object does not exist any more: from
 * now on the driver sends no command for that object. The multicast attachments of an earlier queue
 * pair have ended with that queue pair. Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_fw_number_taken(struct mlx5_ib_dev *dev, const void *destroy)
{
	u32 number = MLX5_GET(general_obj_in_cmd_hdr, destroy, obj_id);

	attempts_replace(dev, attempt_id(destroy), attempt_cmp);
	if (MLX5_GET(general_obj_in_cmd_hdr, destroy, opcode) == MLX5_CMD_OP_DESTROY_QP)
		attempts_replace(dev, make_id(MLX5_CMD_OP_DETACH_FROM_MCG, number, 0),
				 attempt_cmp_number);
}

/**
 * mlx5_ib_fw_attempt_replaced - note that another object has got the number of an object
 * @dev: device
 * @attempt: attempts to destroy the object that had the number: it does not exist any more
 *
 * Any context that can take a spinlock, except interrupts.
 */
void mlx5_ib_fw_attempt_replaced(struct mlx5_ib_dev *dev, struct mlx5_ib_fw_attempt *attempt)
{
	guard(spinlock)(&dev->attempts.lock);
	WRITE_ONCE(attempt->replaced, true);
	attempt_unnote(dev, attempt);
}

/**
 * mlx5_ib_init_fw_attempts - set up the tree of objects that are being destroyed
 * @dev: device
 *
 * Return: 0.
 */
int mlx5_ib_init_fw_attempts(struct mlx5_ib_dev *dev)
{
	spin_lock_init(&dev->attempts.lock);
	dev->attempts.tree = RB_ROOT;
	return 0;
}

static int fw_send_query(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
			 void *arg)
{
	return mlx5_ib_fw_do(dev, in, in_size, out, out_size);
}

/*
 * Query the queue that a command was to destroy. Returns -ENOENT if firmware refuses the query as
 * it refuses an unknown number; 0 if the queue exists, or may exist; -ENOMEM; or the errno of a
 * query that was not sent or not answered.
 */
static int fw_query_queue(struct mlx5_ib_dev *dev, const void *destroy)
{
	bool is_qp = MLX5_GET(dealloc_pd_in, destroy, opcode) == MLX5_CMD_OP_DESTROY_QP;
	int err, outlen = is_qp ? MLX5_ST_SZ_BYTES(query_qp_out) : MLX5_ST_SZ_BYTES(query_cq_out);
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(in, is_qp ? MLX5_CMD_OP_QUERY_QP : MLX5_CMD_OP_QUERY_CQ,
			       MLX5_GET(dealloc_pd_in, destroy, pd));
	void *out __free(kfree) = kzalloc(outlen, GFP_KERNEL);

	if (!out)
		return -ENOMEM;
	err = mlx5_ib_fw_exec_via(dev, MLX5_GET(dealloc_pd_in, destroy, uid), in, sizeof(in), out,
				  outlen, fw_send_query, NULL);
	if (err != -EREMOTEIO)
		return err;
	switch (MLX5_GET(dealloc_pd_out, out, status)) {
	case MLX5_CMD_STAT_BAD_RES_ERR:
	case MLX5_CMD_STAT_BAD_RES_STATE_ERR:
	case MLX5_CMD_STAT_BAD_PARAM_ERR:
		return -ENOENT;
	default:
		return 0;
	}
}

/*
 * Whether firmware has refused a command with the status of an object in use, but the object may
 * have been destroyed: ConnectX-5 Ex has refused to destroy unknown QPs and CQs with this status.
 */
static bool fw_is_in_doubt(const struct mlx5_ib_fw_attempt *attempt, const void *destroy, u8 status)
{
	u16 opcode = MLX5_GET(dealloc_pd_in, destroy, opcode);

	return status == MLX5_CMD_STAT_BAD_RES_STATE_ERR && attempt->unanswered &&
	       (opcode == MLX5_CMD_OP_DESTROY_QP || opcode == MLX5_CMD_OP_DESTROY_CQ);
}

/* Send a command that destroys an object, if @failed or @quiet of its attempts is set. */
static int fw_send_again(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
			 void *arg)
{
	const struct mlx5_ib_fw_attempt *attempt = arg;
	int err = mlx5_ib_fw_do(dev, in, in_size, out, out_size);
	u8 status = MLX5_GET(dealloc_pd_out, out, status);

	if (mlx5_ib_fw_is_unknown(err, out))
		return -ENOENT;
	if (err == -EREMOTEIO && fw_is_in_doubt(attempt, in, status))
		err = fw_query_queue(dev, in) ?: err;
	/* If the device is lost (-ENXIO), so is the object, and mlx5_cmd_check() returns 0. */
	if (!attempt->quiet || err == -ENXIO)
		return mlx5_cmd_check(dev->mdev, err, in, out);
	/*
	 * With these statuses firmware refuses to detach a queue pair twice. Do not call
	 * mlx5_cmd_check(), which might log the refusal.
	 */
	if (err == -EREMOTEIO && (status == MLX5_CMD_STAT_BAD_PARAM_ERR ||
				  status == MLX5_CMD_STAT_BAD_RES_STATE_ERR))
		return -EINVAL;
	return err;
}

/**
 * mlx5_ib_fw_destroy_via - destroy an object, at the first attempt by a function of the caller
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: the command, complete
 * @inlen: bytes of @in
 * @attempt: attempts to destroy the object, see struct mlx5_ib_fw_attempt
 * @first: sends the command, or has mlx5_core send it. Called at most once, and not at all if
 *	@attempt->failed or @attempt->quiet is set before the call
 * @arg: argument of @first
 *
 * The first command for the object that is not answered is sent again at once. May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_fw_destroy_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen,
			   struct mlx5_ib_fw_attempt *attempt, mlx5_ib_fw_send_t first, void *arg)
{
	u32 out[MLX5_ST_SZ_DW(dealloc_pd_out)];
	bool repeat, again;
	int err;

	do {
		if (!mlx5_ib_fw_attempt_begin(dev, attempt, in, inlen))
			return 0;
		repeat = !attempt->unanswered;
		memset(out, 0, sizeof(out));
		again = attempt->failed || attempt->quiet;
		err = mlx5_ib_fw_exec_via(dev, uid, in, inlen, out, sizeof(out),
					  again ? fw_send_again : first, again ? attempt : arg);
		err = mlx5_ib_fw_attempt_end(dev, attempt, err);
	} while (err == -ETIMEDOUT && repeat);
	return err;
}

/**
 * mlx5_ib_fw_send_destroy - send a command that destroys an object
 * @dev: as for mlx5_ib_fw_destroy_via()
 * @uid: as for mlx5_ib_fw_destroy_via()
 * @in: as for mlx5_ib_fw_destroy_via()
 * @inlen: as for mlx5_ib_fw_destroy_via()
 * @attempt: as for mlx5_ib_fw_destroy_via()
 *
 * May sleep.
 *
 * Return: 0, also if an earlier command, which was not answered, has destroyed the object; or a
 * negative errno, and then the owner calls again, passes @attempt on, or gives up with
 * mlx5_ib_fw_attempt_forget().
 */
int mlx5_ib_fw_send_destroy(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen,
			    struct mlx5_ib_fw_attempt *attempt)
{
	return mlx5_ib_fw_destroy_via(dev, uid, in, inlen, attempt, mlx5_ib_fw_send, NULL);
}

/**
 * mlx5_ib_fw_destroy_object - destroy an object by a command whose only argument is the number
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: number of the object
 * @attempt: as for mlx5_ib_fw_send_destroy()
 *
 * May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_fw_destroy_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(in, opcode, number);
	return mlx5_ib_fw_send_destroy(dev, uid, in, sizeof(in), attempt);
}

/**
 * mlx5_ib_fw_pause - pause before a refused command is sent once more
 * @ms: the previous pause, in milliseconds; 0 before the first one
 *
 * For commands that have to succeed in the end: five pauses, together a third of a second. May
 * sleep.
 *
 * Return: true after the pause; false, without a pause, if there have been five pauses.
 */
bool mlx5_ib_fw_pause(unsigned int *ms)
{
	*ms = *ms ? *ms * 4 : 1;
	if (*ms > MAX_PAUSE_MS)
		return false;
	msleep(*ms);
	return true;
}

/**
 * mlx5_ib_fw_try_again - pause before a command that destroys an object is sent once more
 * @err: result of the command
 * @ms: the previous pause, in milliseconds; 0 before the first one
 *
 * A command that firmware has refused is sent again. A command that has not been answered is not
 * sent again, because the caller has waited for a timeout already. A command that has got no slot
 * is sent again only if there has been no pause yet. May sleep.
 *
 * Return: true after the pause; false, without a pause, if the command has succeeded, or should not
 * be sent again.
 */
bool mlx5_ib_fw_try_again(int err, unsigned int *ms)
{
	if (!err || err == -ETIMEDOUT || (err == -ECANCELED && *ms))
		return false;
	return mlx5_ib_fw_pause(ms);
}

/**
 * mlx5_ib_fw_destroy_repeat - destroy an object, and repeat the command if firmware refuses it
 * @dev: device
 * @uid: as for mlx5_ib_fw_destroy_object()
 * @opcode: as for mlx5_ib_fw_destroy_object()
 * @number: as for mlx5_ib_fw_destroy_object()
 * @attempt: as for mlx5_ib_fw_destroy_object()
 *
 * mlx5_ib_fw_try_again() decides whether the command is sent again. May sleep, a third of a second
 * if firmware refuses.
 *
 * Return: 0, or the negative errno of the last command.
 */
int mlx5_ib_fw_destroy_repeat(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      struct mlx5_ib_fw_attempt *attempt)
{
	unsigned int pause = 0;
	int err;

	do {
		err = mlx5_ib_fw_destroy_object(dev, uid, opcode, number, attempt);
	} while (mlx5_ib_fw_try_again(err, &pause));
	return err;
}

/**
 * mlx5_ib_fw_destroy_or_log - destroy an object, or log that the device may keep the object
 * @dev: device
 * @uid: as for mlx5_ib_fw_destroy_object()
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: number of the object
 * @what: what the object is, for the log
 *
 * For an owner who will not try again. A refused command is repeated. Only for objects that give
 * access to no memory of a process, because firmware may keep the object. May sleep, a third of a
 * second if firmware refuses.
 *
 * Return: 0; or a negative errno if firmware may keep the object.
 */
int mlx5_ib_fw_destroy_or_log(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			      const char *what)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_fw_destroy_repeat(dev, uid, opcode, number, &attempt);

	if (!err)
		return 0;
	mlx5_ib_fw_attempt_forget(dev, &attempt);
	ibdev_err_ratelimited(&dev->ib_dev,
			      "cannot destroy %s 0x%x (%d): it may stay allocated until the device is reset\n",
			      what, number, err);
	return err;
}
