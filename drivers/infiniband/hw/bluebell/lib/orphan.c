// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects that could not be destroyed, or that firmware may have created without an answer, and
 * that have no owner any more; and buffers that the device may still read.
 */

/**
 * DOC: Orphans
 *
 * If firmware refuses to destroy an object, or does not answer, the device may still use the
 * object's memory, so the memory stays pinned. ib_core keeps an object of a process, and tries
 * again later to destroy the object. ib_core does not try again if the creation of the object
 * failed, if the object belongs to the driver, to a kernel consumer or to a process that has closed
 * the device, or if the object is an XRC domain, an XRC target or a multicast attachment. Such an
 * object becomes an orphan: a struct that takes over the object's memory, and keeps the command
 * that destroys the object. An object that gives access to no memory can be given up instead, with
 * a line in the log.
 *
 * An orphan is made by
 *
 * * mlx5_ib_orphan_adopt(), which names the object in the log at once; the caller's memory passes
 *   to the orphan;
 * * mlx5_ib_orphan_adopt_closing() and mlx5_ib_orphan_adopt_quietly(), mostly when a process has
 *   closed the device. Objects that the process has created by commands of its own may refer to
 *   each other, and to those of verbs, in any order, so an older object may have to be destroyed
 *   first. The log names the objects that are left when the context has been closed;
 * * mlx5_ib_orphan_keep_lost(), if a command that creates an object, or gives a CQ a new buffer,
 *   was not answered. The orphan then has memory, or a reference to a UAR or to device memory, but
 *   no command.
 *
 * An orphan is in the list of its context. Orphans of contexts that have been closed, the user ids
 * of these contexts, and XRC targets are in one list of the device; the driver's own orphans, those
 * of kernel consumers, and new buffers of resized CQs are in a second list of the device. The
 * driver sends the command again
 *
 * * before a verb of the owner destroys an object that an orphan may refer to: a queue pair, a CQ,
 *   an SRQ or a domain (mlx5_ib_orphans_retry(), which sends no command if there are no orphans);
 * * when an implicit region has been deregistered, and one of its keys is an orphan;
 * * before the owner attaches a queue pair to a multicast group. An earlier attachment of the queue
 *   pair to the group may be an orphan, whose command would end the new attachment, too, so
 *   mlx5_ib_orphans_before_attach() refuses the new attachment as long as the orphan exists;
 * * when the context is closed (mlx5_ib_orphans_leave_context()), in at most 16 rounds: as long as
 *   a round has destroyed an orphan, there is another round. An orphan that is left does not refer
 *   to the context any more, and moves to the list of the device;
 * * from time to time, with pauses that grow from half a second to 64 s, in a work item for the
 *   lists of the device;
 * * when the driver is unbound (mlx5_ib_cleanup_orphans()). The memory of an object that firmware
 *   refuses to destroy even then is never freed.
 *
 * So a process waits for the commands of its own orphans and, when it destroys an XRC target or
 * closes an XRC domain, of the orphans in the second list, but not of the orphans of another
 * process. The orphan takes over what the owner knew about unanswered commands (struct
 * mlx5_ib_fw_attempt, see fw_destroy.c). The memory is freed after the command has succeeded.
 *
 * If the driver cannot stop its own UMR queue pair (umr_qp.c), the device may still read the
 * translation lists of UMR requests. These lists belong to no object. mlx5_ib_orphan_keep() keeps
 * them under a spinlock of their own, because it is called during reclaim. The lists are freed when
 * the driver is unbound, if no orphan is left.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/dma-mapping.h>
#include <linux/kmemleak.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/dm_pool.h"
#include "lib/orphan.h"

/* The longest command that destroys an object. */
#define ORPHAN_CMD_DW	MLX5_ST_SZ_DW(delete_fte_in)
/*
 * Limit of the rounds. In each round the driver sends the commands of all orphans of a context, or,
 * when it is unbound, of the device. Chains of objects that refer to each other are usually much
 * shorter: for example, a flow table entry refers to a TIR, the TIR to an RQT, the RQT to a queue,
 * and the queue to its memory.
 */
#define ORPHAN_ROUNDS	16

/*
 * While a context is being closed, mlx5_ib_orphans_retry() does nothing if the context has more
 * orphans than this.
 */
#define MAX_FEW		8

/* Pauses between two attempts of the work item. */
#define MIN_DELAY	(HZ / 2)
#define MAX_DELAY	(64 * HZ)

/**
 * struct orphan - an object that waits to be destroyed
 * @node: in the list of its context, or in a list of the device
 * @uid: user id of the commands on the object
 * @cmd: the command that destroys the object
 * @cmd_size: bytes of @cmd; 0 for an orphan of mlx5_ib_orphan_keep_lost()
 * @number: number of the object, for the log
 * @name: name of the kind of object, for the log
 * @logged: the object has been named in the log
 * @err: errno of the last attempt of the orphan itself
 * @attempt: attempts to destroy the object, those of its owner included
 * @mem: what the object shares with the device
 */
struct orphan {
	struct list_head node;
	u16 uid;
	u32 cmd[ORPHAN_CMD_DW];
	size_t cmd_size;
	u32 number;
	const char *name;
	bool logged;
	int err;
	struct mlx5_ib_fw_attempt attempt;
	struct mlx5_ib_queue_mem mem;
};

/**
 * struct orphan_buffer - memory that the UMR queue pair may still read, as firmware cannot stop it
 * @node: in the list of the device
 * @buffer: the memory
 * @dma: DMA address of @buffer
 * @bytes: length of @buffer
 * @free: frees @buffer
 */
struct orphan_buffer {
	struct list_head node;
	void *buffer;
	dma_addr_t dma;
	size_t bytes;
	mlx5_ib_free_buffer_t free;
};

/* Have the work item send the commands soon, and begin again with the shortest pause. */
static void orphans_retry_later(struct mlx5_ib_dev *dev)
{
	WRITE_ONCE(dev->orphans.delay, MIN_DELAY);
	mod_delayed_work(system_dfl_wq, &dev->orphans.retry, MIN_DELAY);
}

static void orphan_free_mem(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	if (mem->buf.frags.frags)
		mlx5_ib_queue_mem_free(dev, mem);
	else
		mlx5_ib_queue_mem_unmap_user(mem);
}

static struct orphan *orphan_alloc(struct mlx5_ib_dev *dev, u16 uid, u32 number,
				   const char *name, struct mlx5_ib_fw_attempt *attempt)
{
	struct orphan *orphan = kzalloc_obj(*orphan, GFP_KERNEL | __GFP_NOFAIL);

	mlx5_ib_fw_attempt_move(dev, &orphan->attempt, attempt);
	orphan->uid = uid;
	orphan->number = number;
	orphan->name = name;
	return orphan;
}

static void orphan_add(struct mlx5_ib_dev *dev, struct orphan *orphan)
{
	struct mlx5_ib_ucontext *context = orphan->mem.context;
	struct list_head *list = &dev->orphans.list;

	if (context)
		list = &context->orphans;
	else if (orphan->mem.share.user)
		list = &dev->orphans.dead;
	scoped_guard(mutex, &dev->orphans.lock)
		list_add_tail(&orphan->node, list);
	if (!context)
		orphans_retry_later(dev);
}

VISIBLE_IF_KUNIT void mlx5_ib_orphan_log(struct mlx5_ib_dev *dev, const char *name, u32 number,
					 int err)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_orphan_log, dev, name, number, err);

	ibdev_err_ratelimited(&dev->ib_dev,
			      "cannot destroy %s 0x%x (%d): the driver keeps its memory, if any, and sends the command again later, and when it is unbound\n",
			      name, number, err);
}

/**
 * mlx5_ib_orphan_adopt - make an orphan of an object that could not be destroyed
 * @dev: device
 * @uid: user id of the commands on the object
 * @opcode: MLX5_CMD_OP_* of the command that destroys the object
 * @number: number of the object
 * @attempt: attempts to destroy the object, all of which have failed; taken over
 * @name: name of the kind of object, for the log; not copied
 * @mem: what the object shares with the device, taken over: @mem is zeroed. NULL for an object
 *	without memory
 * @err: errno of the last attempt
 *
 * For objects that no caller will try to destroy again. May sleep.
 */
void mlx5_ib_orphan_adopt(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			  struct mlx5_ib_fw_attempt *attempt, const char *name,
			  struct mlx5_ib_queue_mem *mem, int err)
{
	struct orphan *orphan = orphan_alloc(dev, uid, number, name, attempt);

	orphan->cmd_size = MLX5_ST_SZ_BYTES(dealloc_pd_in);
	mlx5_ib_fw_name_object(orphan->cmd, opcode, number);
	orphan->logged = true;
	if (mem) {
		orphan->mem = *mem;
		memset(mem, 0, sizeof(*mem));
	}
	orphan_add(dev, orphan);
	mlx5_ib_orphan_log(dev, name, number, err);
}

/**
 * mlx5_ib_orphan_adopt_quietly - make an orphan of an object, and do not log that yet
 * @dev: device
 * @uid: user id of the commands on the object
 * @cmd: the command that destroys the object; copied
 * @cmd_size: bytes of @cmd, at most as many as struct mlx5_ifc_delete_fte_in_bits has
 * @number: number of the object, for the log
 * @attempt: as for mlx5_ib_orphan_adopt()
 * @name: name of the kind of object, for the log; not copied
 * @mem: what the object shares with the device; copied, and released after the command succeeds
 *
 * Mostly for objects that refer to each other in a way that the driver does not know: firmware may
 * refuse to destroy them in the reverse order of their creation. The log names the object only if
 * it still exists when the context has been closed or, for an object without a context, when the
 * driver is unbound. May sleep.
 */
void mlx5_ib_orphan_adopt_quietly(struct mlx5_ib_dev *dev, u16 uid, const void *cmd,
				  size_t cmd_size, u32 number, struct mlx5_ib_fw_attempt *attempt,
				  const char *name, const struct mlx5_ib_queue_mem *mem)
{
	struct orphan *orphan = orphan_alloc(dev, uid, number, name, attempt);

	WARN_ON_ONCE(cmd_size > sizeof(orphan->cmd));
	orphan->cmd_size = min(cmd_size, sizeof(orphan->cmd));
	memcpy(orphan->cmd, cmd, orphan->cmd_size);
	orphan->mem = *mem;
	orphan_add(dev, orphan);
}

/**
 * mlx5_ib_orphan_adopt_closing - make an orphan of an object of a context, mostly of one that is
 *	being closed, and do not log that yet
 * @dev: device
 * @uid: as for mlx5_ib_orphan_adopt()
 * @opcode: as for mlx5_ib_orphan_adopt()
 * @number: as for mlx5_ib_orphan_adopt()
 * @attempt: as for mlx5_ib_orphan_adopt()
 * @name: as for mlx5_ib_orphan_adopt()
 * @mem: what the object shares with the device, taken over: @mem is zeroed. @mem->context is the
 *	context of the process
 *
 * Firmware may destroy the object once other objects of the process are destroyed, so the log names
 * the object only if it still exists when the context has been closed. May sleep.
 */
void mlx5_ib_orphan_adopt_closing(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
				  struct mlx5_ib_fw_attempt *attempt, const char *name,
				  struct mlx5_ib_queue_mem *mem)
{
	u32 cmd[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(cmd, opcode, number);
	mlx5_ib_orphan_adopt_quietly(dev, uid, cmd, sizeof(cmd), number, attempt, name, mem);
	memset(mem, 0, sizeof(*mem));
}

/**
 * mlx5_ib_orphan_keep_lost - keep what an object uses, as firmware may have created the object
 * @dev: device
 * @name: name of the kind of object, for the log; not copied
 * @mem: what the object would share with the device, taken over: @mem is zeroed
 *
 * The command that creates the object, or that gives a CQ a new buffer, was not answered. If the
 * object exists, its number is not known, so it cannot be destroyed. May sleep.
 */
void mlx5_ib_orphan_keep_lost(struct mlx5_ib_dev *dev, const char *name,
			      struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_fw_attempt attempt = {};
	struct orphan *orphan = orphan_alloc(dev, MLX5_IB_KERNEL_UID, 0, name, &attempt);

	orphan->logged = true;
	orphan->mem = *mem;
	memset(mem, 0, sizeof(*mem));
	orphan_add(dev, orphan);
	ibdev_err_ratelimited(&dev->ib_dev,
			      "firmware did not answer: the device may have %s, whose memory or UAR stays allocated; reset the device\n",
			      name);
}

/**
 * mlx5_ib_orphan_keep - keep memory that the device may still read
 * @dev: device
 * @buffer: the memory, mapped by dma_map_single() for the device to read
 * @dma: DMA address of @buffer
 * @bytes: length of @buffer
 * @free: frees @buffer
 *
 * The buffer is freed when the driver is unbound, unless an orphan is left even then. If no memory
 * is left for the list entry, the buffer is never freed. May be called during reclaim.
 */
void mlx5_ib_orphan_keep(struct mlx5_ib_dev *dev, void *buffer, dma_addr_t dma, size_t bytes,
			 mlx5_ib_free_buffer_t free)
{
	struct orphan_buffer *kept;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_orphan_keep, dev, buffer, dma, bytes, free);

	kept = kmalloc_obj(*kept, GFP_NOWAIT | __GFP_NOWARN);
	if (!kept) {
		kmemleak_ignore(buffer);
		return;
	}
	*kept = (struct orphan_buffer){
		.buffer = buffer, .dma = dma, .bytes = bytes, .free = free,
	};
	guard(spinlock)(&dev->orphans.buffers_lock);
	list_add_tail(&kept->node, &dev->orphans.buffers);
}

/*
 * Free the buffers of mlx5_ib_orphan_keep(). Called when no orphan is left: the UMR queue pair is
 * gone, so the device does not read the buffers any more.
 */
static void orphan_free_buffers(struct mlx5_ib_dev *dev)
{
	struct orphan_buffer *kept, *next;

	list_for_each_entry_safe(kept, next, &dev->orphans.buffers, node) {
		dma_unmap_single(dev->dma_device, kept->dma, kept->bytes, DMA_TO_DEVICE);
		kept->free(kept->buffer);
		kfree(kept);
	}
	INIT_LIST_HEAD(&dev->orphans.buffers);
}

/**
 * mlx5_ib_orphan_destroy - destroy an object of the driver, then free its memory
 * @dev: device
 * @opcode: as for mlx5_ib_orphan_adopt()
 * @number: as for mlx5_ib_orphan_adopt()
 * @name: as for mlx5_ib_orphan_adopt()
 * @mem: memory of mlx5_ib_queue_mem_alloc(), or NULL for an object without memory
 *
 * If firmware refuses, the object becomes an orphan. May sleep.
 */
void mlx5_ib_orphan_destroy(struct mlx5_ib_dev *dev, u16 opcode, u32 number, const char *name,
			    struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_fw_attempt attempt = {};
	int err = mlx5_ib_fw_destroy_object(dev, MLX5_IB_KERNEL_UID, opcode, number, &attempt);

	if (err)
		mlx5_ib_orphan_adopt(dev, MLX5_IB_KERNEL_UID, opcode, number, &attempt, name, mem,
				     err);
	else if (mem)
		mlx5_ib_queue_mem_free(dev, mem);
}

/**
 * mlx5_ib_orphan_discard - destroy an object of a process, for a caller who will not try again
 * @dev: device
 * @uid: as for mlx5_ib_orphan_adopt()
 * @opcode: as for mlx5_ib_orphan_adopt()
 * @number: as for mlx5_ib_orphan_adopt()
 * @name: as for mlx5_ib_orphan_adopt()
 * @mem: what the object shares with the device, taken over. @mem->context is the context of the
 *	process, or NULL if the object belongs to no context
 *
 * If firmware refuses, the object becomes an orphan. If the context of @mem is being closed, this
 * happens after the first refusal, and the log does not name the orphan yet; otherwise the command
 * is first repeated for a third of a second, and the log names the orphan at once. May sleep.
 */
void mlx5_ib_orphan_discard(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			    const char *name, struct mlx5_ib_queue_mem *mem)
{
	bool closing = mem->context && mem->context->closing;
	struct mlx5_ib_fw_attempt attempt = {};
	int err = closing ? mlx5_ib_fw_destroy_object(dev, uid, opcode, number, &attempt) :
			    mlx5_ib_fw_destroy_repeat(dev, uid, opcode, number, &attempt);

	if (!err)
		mlx5_ib_queue_mem_unmap_user(mem);
	else if (closing)
		mlx5_ib_orphan_adopt_closing(dev, uid, opcode, number, &attempt, name, mem);
	else
		mlx5_ib_orphan_adopt(dev, uid, opcode, number, &attempt, name, mem, err);
}

/*
 * Send the command that destroys an orphan. An orphan whose number is not known has no command, and
 * so stays until the device is gone.
 */
static int orphan_send(struct mlx5_ib_dev *dev, struct orphan *orphan)
{
	if (!orphan->cmd_size)
		return mlx5_ib_fw_device_is_gone(dev) ? 0 : -ETIMEDOUT;
	return mlx5_ib_fw_send_destroy(dev, orphan->uid, orphan->cmd, orphan->cmd_size,
				       &orphan->attempt);
}

/*
 * Free the memory of an orphan that belongs to no open context. Orphans of closed contexts may
 * share a doorbell page, so take the lock. But put device memory without the lock, because this
 * waits for commands that other tasks send under the lock of the pool of device memory (dm_pool.c).
 */
static void orphan_free_mem_locked(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	struct mlx5_ib_memic *memic = mem->memic;

	mem->memic = NULL;
	scoped_guard(mutex, &dev->orphans.lock)
		orphan_free_mem(dev, mem);
	if (memic)
		mlx5_ib_put_memic(memic);
}

/* Send the command once more. Returns whether the orphan has been destroyed. */
static bool orphan_retry(struct mlx5_ib_dev *dev, struct orphan *orphan)
{
	orphan->err = orphan_send(dev, orphan);
	if (orphan->err)
		return false;
	/*
	 * If the context is open, the orphan may have the last reference to a UAR. To put it is to
	 * send a command, so do not take the lock.
	 */
	if (orphan->mem.context)
		orphan_free_mem(dev, &orphan->mem);
	else
		orphan_free_mem_locked(dev, &orphan->mem);
	list_del(&orphan->node);
	kfree(orphan);
	return true;
}

/*
 * Send the commands of all orphans in a list. Meanwhile other tasks find the list empty. Returns
 * whether an orphan has been destroyed.
 */
static bool orphans_retry_list(struct mlx5_ib_dev *dev, struct list_head *list, bool quiet)
{
	struct orphan *orphan, *next;
	bool progress = false;
	LIST_HEAD(taken);

	if (list_empty_careful(list))
		return false;
	scoped_guard(mutex, &dev->orphans.lock)
		list_splice_init(list, &taken);
	list_for_each_entry_safe(orphan, next, &taken, node) {
		orphan->attempt.quiet = quiet;
		progress |= orphan_retry(dev, orphan);
	}
	scoped_guard(mutex, &dev->orphans.lock)
		list_splice(&taken, list);
	return progress;
}

static void orphans_retry_work(struct work_struct *work)
{
	struct mlx5_ib_dev *dev = container_of(to_delayed_work(work), struct mlx5_ib_dev,
					       orphans.retry);
	struct mlx5_ib_orphans *orphans = &dev->orphans;

	/* In @dead, the orphan of a user id comes after the orphans of the objects of that id. */
	orphans_retry_list(dev, &orphans->dead, true);
	orphans_retry_list(dev, &orphans->list, true);
	if (list_empty_careful(&orphans->dead) && list_empty_careful(&orphans->list))
		return;
	WRITE_ONCE(orphans->delay, min(2 * READ_ONCE(orphans->delay), MAX_DELAY));
	queue_delayed_work(system_dfl_wq, &orphans->retry, orphans->delay);
}

/*
 * Whether a context that is being closed has at most MAX_FEW orphans. No other task uses the list
 * of such a context, so no lock is needed.
 */
static bool orphans_are_few(const struct mlx5_ib_ucontext *context)
{
	const struct list_head *node;
	unsigned int n = 0;

	list_for_each(node, &context->orphans)
		if (++n > MAX_FEW)
			return false;
	return true;
}

/**
 * mlx5_ib_orphans_retry - try again to destroy orphans
 * @dev: device
 * @context: owner of the orphans; NULL for orphans of the driver and of kernel consumers
 *
 * Mostly called before the owner destroys an object that an orphan may refer to, because firmware
 * refuses to destroy the object before the orphan. When a context is being closed, and has more
 * than a few orphans, the orphans are left to mlx5_ib_orphans_leave_context(): otherwise each
 * object of the context that is destroyed would cost a command for each orphan. Does nothing
 * without orphans. May sleep.
 */
void mlx5_ib_orphans_retry(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	struct list_head *list = context ? &context->orphans : &dev->orphans.list;

	if (context && context->closing && !orphans_are_few(context))
		return;
	orphans_retry_list(dev, list, false);
	/*
	 * The work item may have found the list empty meanwhile, and not have queued itself again.
	 */
	if (!context && !list_empty_careful(list))
		queue_delayed_work(system_dfl_wq, &dev->orphans.retry,
				   READ_ONCE(dev->orphans.delay));
}

/**
 * mlx5_ib_orphans_before_attach - end an earlier attachment of a queue pair to a multicast group
 * @dev: device
 * @context: owner of the queue pair; NULL for the driver and for kernel consumers
 * @qpn: number of the queue pair
 * @gid: the group
 *
 * Called before the owner attaches the queue pair to the group: the command of an orphan would end
 * the new attachment. The orphan may stay because firmware refuses, or because another task is
 * sending the commands of the orphans at that moment. May sleep.
 *
 * Return: 0; -EBUSY if the driver may still have to end an earlier attachment.
 */
int mlx5_ib_orphans_before_attach(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context,
				  u32 qpn, const union ib_gid *gid)
{
	u32 cmd[MLX5_ST_SZ_DW(detach_from_mcg_in)];

	mlx5_ib_orphans_retry(dev, context);
	mlx5_ib_fw_name_mcg(cmd, MLX5_CMD_OP_DETACH_FROM_MCG, qpn, gid);
	return mlx5_ib_fw_is_noted(dev, cmd) ?
	       refuse(dev->mdev, -EBUSY,
		      "QP 0x%x is still being detached from group %pI6, or one that the driver cannot tell from it",
		      qpn, gid->raw) : 0;
}

/**
 * mlx5_ib_orphans_leave_context - destroy the orphans of a context
 * @dev: device
 * @context: the context, which is about to be freed
 *
 * Firmware may refuse to destroy an object to which another object of the context refers. So after
 * a round of commands that has destroyed an orphan, the commands of the remaining orphans are sent
 * again, in at most ORPHAN_ROUNDS rounds. An orphan that is left keeps its memory, but does not
 * refer to the context any more. May sleep.
 */
void mlx5_ib_orphans_leave_context(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	unsigned int rounds = 0;
	struct orphan *orphan;

	while (orphans_retry_list(dev, &context->orphans, false) && ++rounds < ORPHAN_ROUNDS)
		;
	if (list_empty(&context->orphans))
		return;
	list_for_each_entry(orphan, &context->orphans, node) {
		mlx5_ib_queue_mem_leave_context(&orphan->mem);
		if (!orphan->logged)
			mlx5_ib_orphan_log(dev, orphan->name, orphan->number, orphan->err);
		orphan->logged = true;
	}
	scoped_guard(mutex, &dev->orphans.lock)
		list_splice_tail_init(&context->orphans, &dev->orphans.dead);
	orphans_retry_later(dev);
}

/**
 * mlx5_ib_init_orphans - set up the lists of orphans
 * @dev: device
 *
 * Return: 0.
 */
int mlx5_ib_init_orphans(struct mlx5_ib_dev *dev)
{
	mutex_init(&dev->orphans.lock);
	INIT_LIST_HEAD(&dev->orphans.list);
	INIT_LIST_HEAD(&dev->orphans.dead);
	INIT_DELAYED_WORK(&dev->orphans.retry, orphans_retry_work);
	spin_lock_init(&dev->orphans.buffers_lock);
	INIT_LIST_HEAD(&dev->orphans.buffers);
	return 0;
}

/* Tell that the memory of an orphan is never freed. */
static void orphan_log_kept(struct mlx5_ib_dev *dev, const struct orphan *orphan)
{
	if (!orphan->cmd_size)
		ibdev_err(&dev->ib_dev,
			  "firmware never answered: the device may have %s, whose memory, if any, is never freed; reset the device\n",
			  orphan->name);
	else
		ibdev_err(&dev->ib_dev,
			  "cannot destroy %s 0x%x (%d): its memory, if any, is never freed; reset the device\n",
			  orphan->name, orphan->number, orphan->err);
}

/**
 * mlx5_ib_cleanup_orphans - destroy the orphans
 * @dev: device, which has no other objects left
 *
 * If an orphan is left, neither the memory of the orphan nor the buffers of mlx5_ib_orphan_keep()
 * are ever freed. May sleep.
 */
void mlx5_ib_cleanup_orphans(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_orphans *orphans = &dev->orphans;
	unsigned int rounds = 0;
	struct orphan *orphan;

	disable_delayed_work_sync(&orphans->retry);
	list_splice_init(&orphans->dead, &orphans->list);
	while (orphans_retry_list(dev, &orphans->list, false) && ++rounds < ORPHAN_ROUNDS)
		;
	list_for_each_entry(orphan, &orphans->list, node) {
		mlx5_ib_fw_attempt_forget(dev, &orphan->attempt);
		kmemleak_not_leak(orphan);
		orphan_log_kept(dev, orphan);
	}
	if (list_empty(&orphans->list))
		orphan_free_buffers(dev);
}
