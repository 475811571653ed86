// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects that have no owner any more, but that firmware has refused to destroy.
 */

/**
 * DOC: Orphans
 *
 * If firmware refuses to destroy an object, the device may still use the object's memory, so the
 * memory stays pinned. ib_core keeps an object of a process and destroys it again later. It does
 * not if the object was being created, or belongs to the driver or to a kernel consumer. Such an
 * object becomes an orphan, which has the command that destroys the object, and the memory.
 *
 * An orphan is made by
 *
 * * mlx5_ib_orphan_adopt(), which names the object in the log at once; the caller's memory passes
 *   to the orphan;
 * * mlx5_ib_orphan_adopt_quietly(), when a process has closed the device: objects that the process
 *   has created by commands of its own may refer to each other in any order, so that an older one
 *   may have to be destroyed first. The log names the objects that are left at the end.
 *
 * The driver sends the command again
 *
 * * before it destroys an object that an orphan may refer to: a CQ, an SRQ or a domain
 *   (mlx5_ib_orphans_retry(), which costs one look at an empty list);
 * * when the context is closed (mlx5_ib_orphans_leave_context()), for the orphans of the context
 *   in rounds, as long as a round destroys something, 16 at most, because other contexts wait.
 *   What is left does not refer to the context any more;
 * * when the driver is unbound (mlx5_ib_cleanup_orphans()). The memory of what firmware refuses
 *   even then is never freed.
 *
 * A command that timed out may have been executed, so the answer that the object does not exist
 * means success. When the command has succeeded, the memory is freed, in this order. The mutex of
 * struct mlx5_ib_orphans guards the list and is held while commands are sent.
 *
 * Lists that a stuck UMR queue pair may read are memory without an object. mlx5_ib_orphan_keep()
 * keeps them, under a spinlock of their own, because it is called during reclaim. They are freed
 * when the driver is unbound, if no orphan is left.
 */

#include <kunit/static_stub.h>
#include <linux/dma-mapping.h>
#include <linux/kmemleak.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/orphan.h"

/* The longest command that destroys an object. */
#define ORPHAN_CMD_DW	MLX5_ST_SZ_DW(delete_fte_in)
/*
 * How often the objects of a context are tried: more than objects refer to each other in a row,
 * from a flow table entry over TIR, RQT and queues to their memory.
 */
#define ORPHAN_ROUNDS	16

/**
 * struct orphan - an object that waits to be destroyed
 * @node: in the list of the device
 * @uid: user id of the commands on the object
 * @cmd: the command that destroys the object
 * @cmd_size: bytes of @cmd
 * @number: of the object, for the log
 * @name: of the kind of object, for the log
 * @logged: the object has been named in the log
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
	struct mlx5_ib_queue_mem mem;
};

/**
 * struct orphan_buffer - memory that a UMR queue pair which firmware cannot stop may still read
 * @node: in the list of the device
 * @buffer: the memory
 * @dma: its DMA address
 * @bytes: its length
 * @free: frees it
 */
struct orphan_buffer {
	struct list_head node;
	void *buffer;
	dma_addr_t dma;
	size_t bytes;
	mlx5_ib_free_buffer_t free;
};

static void orphan_free_mem(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	if (mem->buf.frags.frags)
		mlx5_ib_queue_mem_free(dev, mem);
	else
		mlx5_ib_queue_mem_unmap_user(mem);
}

static struct orphan *orphan_alloc(u16 uid, u32 number, const char *name)
{
	struct orphan *orphan = kzalloc_obj(*orphan, GFP_KERNEL | __GFP_NOFAIL);

	orphan->uid = uid;
	orphan->number = number;
	orphan->name = name;
	return orphan;
}

static void orphan_add(struct mlx5_ib_dev *dev, struct orphan *orphan)
{
	guard(mutex)(&dev->orphans.lock);
	list_add_tail(&orphan->node, &dev->orphans.list);
}

static void orphan_log(struct mlx5_ib_dev *dev, const char *name, u32 number, int err)
{
	ibdev_err_ratelimited(&dev->ib_dev,
			      "cannot destroy %s 0x%x (%d): its memory stays allocated until firmware destroys it; unbind the driver to try again\n",
			      name, number, err);
}

/**
 * mlx5_ib_orphan_adopt - keep the memory of an object that firmware has refused to destroy
 * @dev: device
 * @uid: user id of the commands on the object
 * @opcode: MLX5_CMD_OP_* of the command that destroys the object
 * @number: of the object
 * @name: of the kind of object, for the log; not copied
 * @mem: what the object shares with the device, taken over: @mem is zeroed. NULL for an object
 *	without memory
 * @err: errno of the refusal
 *
 * For objects that no caller will destroy again. May sleep.
 */
void mlx5_ib_orphan_adopt(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
			  const char *name, struct mlx5_ib_queue_mem *mem, int err)
{
	struct orphan *orphan = orphan_alloc(uid, number, name);

	orphan->cmd_size = MLX5_ST_SZ_BYTES(dealloc_pd_in);
	mlx5_ib_fw_name_object(orphan->cmd, opcode, number);
	orphan->logged = true;
	if (mem) {
		orphan->mem = *mem;
		memset(mem, 0, sizeof(*mem));
	}
	orphan_add(dev, orphan);
	orphan_log(dev, name, number, err);
}

/**
 * mlx5_ib_orphan_adopt_quietly - keep an object of a process that has closed the device
 * @dev: device
 * @uid: user id of the process
 * @cmd: the command that destroys the object; copied
 * @cmd_size: bytes of @cmd, at most as many as struct mlx5_ifc_delete_fte_in_bits has
 * @number: of the object, for the log
 * @name: of the kind of object, for the log; not copied
 * @mem: what the object shares with the device until it is destroyed, taken over
 *
 * For objects that refer to each other in a way that the driver does not know, so that firmware
 * may refuse to destroy them in the reverse order of their creation. The log names the object only
 * if firmware refuses it even when the process has no other objects left. May sleep.
 */
void mlx5_ib_orphan_adopt_quietly(struct mlx5_ib_dev *dev, u16 uid, const void *cmd,
				  size_t cmd_size, u32 number, const char *name,
				  const struct mlx5_ib_queue_mem *mem)
{
	struct orphan *orphan = orphan_alloc(uid, number, name);

	WARN_ON_ONCE(cmd_size > sizeof(orphan->cmd));
	orphan->cmd_size = min(cmd_size, sizeof(orphan->cmd));
	memcpy(orphan->cmd, cmd, orphan->cmd_size);
	orphan->mem = *mem;
	orphan_add(dev, orphan);
}

/**
 * mlx5_ib_orphan_keep - keep memory that the device may still read
 * @dev: device
 * @buffer: the memory, mapped for reading by dma_map_single()
 * @dma: its DMA address
 * @bytes: its length
 * @free: frees it
 *
 * The buffer is freed when the driver is unbound, unless firmware keeps an object even then. If no
 * memory is left for the list entry, the buffer is never freed. May be called during reclaim.
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

/* The device has no objects, so it reads nothing any more. */
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
	int err = mlx5_ib_fw_destroy_object(dev, MLX5_IB_KERNEL_UID, opcode, number);

	if (err)
		mlx5_ib_orphan_adopt(dev, MLX5_IB_KERNEL_UID, opcode, number, name, mem, err);
	else if (mem)
		mlx5_ib_queue_mem_free(dev, mem);
}

/* Send the command once more. Firmware may have executed an earlier command that failed. */
static int orphan_retry(struct mlx5_ib_dev *dev, struct orphan *orphan)
{
	bool failed = true;
	int err = mlx5_ib_fw_send_destroy(dev, orphan->uid, orphan->cmd, orphan->cmd_size, &failed);

	lockdep_assert_held(&dev->orphans.lock);
	if (err)
		return err;
	orphan_free_mem(dev, &orphan->mem);
	list_del(&orphan->node);
	kfree(orphan);
	return 0;
}

/**
 * mlx5_ib_orphans_retry - destroy what orphans firmware does not refuse to destroy any more
 * @dev: device
 *
 * Called before an object is destroyed that an orphan may refer to, because firmware would refuse
 * to destroy the object. Does nothing on a device without orphans. May sleep.
 */
void mlx5_ib_orphans_retry(struct mlx5_ib_dev *dev)
{
	struct orphan *orphan, *next;

	if (list_empty_careful(&dev->orphans.list))
		return;
	guard(mutex)(&dev->orphans.lock);
	list_for_each_entry_safe(orphan, next, &dev->orphans.list, node)
		orphan_retry(dev, orphan);
}

static bool orphan_is_of(const struct orphan *orphan, const struct mlx5_ib_ucontext *context)
{
	return orphan->mem.context == context || (context->uid && orphan->uid == context->uid);
}

/* Returns whether an object has been destroyed; @err gets the errno of the last refusal. */
static bool orphans_retry_of(struct mlx5_ib_dev *dev, const struct mlx5_ib_ucontext *context,
			     int *err)
{
	struct orphan *orphan, *next;
	bool progress = false;
	int ret;

	list_for_each_entry_safe(orphan, next, &dev->orphans.list, node) {
		if (!orphan_is_of(orphan, context))
			continue;
		ret = orphan_retry(dev, orphan);
		if (ret)
			*err = ret;
		else
			progress = true;
	}
	return progress;
}

/**
 * mlx5_ib_orphans_leave_context - destroy the orphans of a context
 * @dev: device
 * @context: the context, which is about to be freed
 *
 * Firmware may refuse to destroy an object before another one of the context, so all of them are
 * tried again if one has been destroyed, but not endlessly, because other contexts wait. What
 * firmware still refuses to destroy keeps its memory, but does not refer to the context any more.
 * May sleep.
 */
void mlx5_ib_orphans_leave_context(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	unsigned int rounds = 0;
	struct orphan *orphan;
	int err = 0;

	guard(mutex)(&dev->orphans.lock);
	while (orphans_retry_of(dev, context, &err) && ++rounds < ORPHAN_ROUNDS)
		;
	list_for_each_entry(orphan, &dev->orphans.list, node) {
		if (!orphan_is_of(orphan, context))
			continue;
		mlx5_ib_queue_mem_leave_context(&orphan->mem);
		if (!orphan->logged)
			orphan_log(dev, orphan->name, orphan->number, err);
		orphan->logged = true;
	}
}

/**
 * mlx5_ib_init_orphans - set up the list of orphans
 * @dev: device
 *
 * Return: 0.
 */
int mlx5_ib_init_orphans(struct mlx5_ib_dev *dev)
{
	mutex_init(&dev->orphans.lock);
	INIT_LIST_HEAD(&dev->orphans.list);
	spin_lock_init(&dev->orphans.buffers_lock);
	INIT_LIST_HEAD(&dev->orphans.buffers);
	return 0;
}

/**
 * mlx5_ib_cleanup_orphans - destroy the orphans
 * @dev: device, which has no other objects left
 *
 * If firmware still refuses to destroy an orphan, neither the memory of the orphan nor the buffers
 * of mlx5_ib_orphan_keep() are ever freed. May sleep.
 */
void mlx5_ib_cleanup_orphans(struct mlx5_ib_dev *dev)
{
	struct orphan *orphan, *next;
	int err;

	guard(mutex)(&dev->orphans.lock);
	list_for_each_entry_safe(orphan, next, &dev->orphans.list, node) {
		err = orphan_retry(dev, orphan);
		if (err)
			ibdev_err(&dev->ib_dev,
				  "cannot destroy %s 0x%x (%d): the device may use its memory, which is never freed; reset the device\n",
				  orphan->name, orphan->number, err);
	}
	if (list_empty(&dev->orphans.list))
		orphan_free_buffers(dev);
}
