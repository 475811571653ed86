// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asynchronous commands of a process, and the files from which it reads the answers: the
 * ioctl object MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, and the method MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY
 * of objects. See mlx5dv_devx_create_cmd_comp(3) and mlx5dv_devx_obj_query_async(3).
 */

#include <kunit/visibility.h>
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx.h"
#include "devx/devx_async.h"
#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"

static void devx_free_answer(struct mlx5_ib_ucontext *context,
			     struct mlx5_ib_devx_async_answer *answer)
{
	WARN_ON_ONCE(atomic_sub_return(answer->bytes, &context->async_bytes) < 0);
	kvfree(answer);
}

/**
 * mlx5_ib_devx_open_cmd_file - set up a file for answers
 * @file: the file, zeroed but for its handle
 * @context: context of the process
 */
VISIBLE_IF_KUNIT
void mlx5_ib_devx_open_cmd_file(struct mlx5_ib_devx_cmd_file *file,
				struct mlx5_ib_ucontext *context)
{
	file->context = context;
	mlx5_cmd_init_async_ctx(to_mdev(context->ibucontext.device)->mdev, &file->ctx);
	init_waitqueue_head(&file->wait);
	spin_lock_init(&file->lock);
	INIT_LIST_HEAD(&file->answers);
}

/**
 * mlx5_ib_devx_close_cmd_file - end a file for answers, which the process may still have open
 * @file: the file, after mlx5_ib_devx_open_cmd_file(); no command is being sent
 *
 * Waits for the answers to all commands: mlx5_core writes the answers to memory of the file. If the
 * device is gone, mlx5_core ends the commands. Wakes all readers, whose read() fails. May sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_devx_close_cmd_file(struct mlx5_ib_devx_cmd_file *file)
{
	struct mlx5_ib_devx_async_answer *answer, *next;
	LIST_HEAD(answers);

	mlx5_cmd_cleanup_async_ctx(&file->ctx);
	scoped_guard(spinlock_irq, &file->lock) {
		file->closed = true;
		list_splice_init(&file->answers, &answers);
	}
	wake_up_interruptible(&file->wait);
	list_for_each_entry_safe(answer, next, &answers, node)
		devx_free_answer(file->context, answer);
}

/*
 * Queue the answer of a command for the reader, who finds the result of the command in the status
 * of the answer. If the command was not sent, timed out, or was in flight when the device failed,
 * give its answer the status of an internal error.
 */
static void devx_answered(int err, struct mlx5_async_work *work)
{
	struct mlx5_ib_devx_async_answer *answer =
		container_of(work, struct mlx5_ib_devx_async_answer, async.work);
	struct mlx5_ib_devx_cmd_file *file = answer->file;

	if (err && err != -EREMOTEIO) {
		memset(answer->hdr.out_data, 0, answer->async.out_size);
		MLX5_SET(general_obj_out_cmd_hdr, answer->hdr.out_data, status,
			 MLX5_CMD_STAT_INT_ERR);
	}
	guard(spinlock_irqsave)(&file->lock);
	/* mlx5_ib_devx_close_cmd_file() has waited for all answers before it set @closed. */
	WARN_ON_ONCE(file->closed);
	list_add_tail(&answer->node, &file->answers);
	wake_up_interruptible(&file->wait);
}

static bool devx_charge(struct mlx5_ib_ucontext *context, u32 bytes)
{
	if (atomic_add_return(bytes, &context->async_bytes) <= MLX5_IB_DEVX_ASYNC_BYTES)
		return true;
	atomic_sub(bytes, &context->async_bytes);
	return false;
}

static struct mlx5_ib_devx_async_answer *
devx_alloc_answer(struct mlx5_ib_devx_cmd_file *file, size_t in_len, u16 out_len, u64 wr_id)
{
	size_t bytes = sizeof(struct mlx5_ib_devx_async_answer) + in_len + out_len;
	struct mlx5_ib_devx_async_answer *answer;

	if (!devx_charge(file->context, bytes))
		return ERR_PTR(refuse(to_mdev(file->context->ibucontext.device)->mdev, -EAGAIN,
				      "DEVX async query needs %zu bytes, the context uses %d of %d: read answers first",
				      bytes, atomic_read(&file->context->async_bytes),
				      MLX5_IB_DEVX_ASYNC_BYTES));
	answer = kvzalloc(sizeof(*answer) + out_len, GFP_KERNEL_ACCOUNT);
	if (!answer) {
		atomic_sub(bytes, &file->context->async_bytes);
		return ERR_PTR(-ENOMEM);
	}
	answer->file = file;
	answer->bytes = bytes;
	answer->len = sizeof(answer->hdr) + out_len;
	answer->hdr.wr_id = wr_id;
	answer->async = (struct mlx5_ib_fw_async){
		.ctx = &file->ctx, .out = answer->hdr.out_data, .out_size = out_len,
		.done = devx_answered,
	};
	return answer;
}

/**
 * mlx5_ib_devx_query_async - send a process's command that queries an object; do not wait
 * @file: gets the answer; the caller keeps the file from being closed meanwhile
 * @id: the object
 * @in: the command, which is changed: it gets the user id of the context
 * @in_len: bytes of @in
 * @out_len: bytes of the answer, at least the 16 of struct mlx5_ifc_general_obj_out_cmd_hdr_bits
 * @wr_id: value of the process, returned with the answer
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN if the process has to read answers before it may send more commands in the
 * context; the errno of mlx5_ib_devx_prepare(); -EINVAL if @out_len is too small; -ENOMEM; or the
 * errno of a command that could not be sent.
 */
VISIBLE_IF_KUNIT
int mlx5_ib_devx_query_async(struct mlx5_ib_devx_cmd_file *file, const struct mlx5_ib_devx_id *id,
			     void *in, size_t in_len, u16 out_len, u64 wr_id)
{
	struct mlx5_ib_ucontext *context = file->context;
	struct mlx5_ib_devx_async_answer *answer;
	int err;

	if (out_len < MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr))
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "DEVX async query with room for %u bytes of answer, at least %zu are needed",
			      out_len, MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr));
	err = mlx5_ib_devx_prepare(context, id, MLX5_IB_DEVX_QUERY, in, in_len);
	if (err)
		return err;
	answer = devx_alloc_answer(file, in_len, out_len, wr_id);
	if (IS_ERR(answer))
		return PTR_ERR(answer);
	/* After success @answer is not used: a reader may already have freed the answer. */
	err = mlx5_ib_fw_exec_async(to_mdev(context->ibucontext.device), context->uid, in, in_len,
				    &answer->async);
	if (err)
		devx_free_answer(context, answer);
	return err;
}

/* ---- reading ---------------------------------------------------------------------- */

/**
 * mlx5_ib_devx_take_answer - take an answer from a file
 * @file: the file
 * @count: bytes that the reader has room for
 * @answer: gets the answer, which the caller frees by kvfree()
 *
 * Does not wait. The answer stops counting against the limit of the context here, because the
 * context may be freed before the reader has copied the answer.
 *
 * Return: bytes of the answer; -EAGAIN if there is no answer yet; -EIO if the file is closed; or
 * -EINVAL if the reader has too little room: then the answer stays in the file.
 */
VISIBLE_IF_KUNIT
ssize_t mlx5_ib_devx_take_answer(struct mlx5_ib_devx_cmd_file *file, size_t count,
				 struct mlx5_ib_devx_async_answer **answer)
{
	struct mlx5_ib_devx_async_answer *first;

	guard(spinlock_irq)(&file->lock);
	if (file->closed)
		return -EIO;
	first = list_first_entry_or_null(&file->answers, struct mlx5_ib_devx_async_answer, node);
	if (!first)
		return -EAGAIN;
	if (count < first->len)
		return refuse(to_mdev(file->context->ibucontext.device)->mdev, -EINVAL,
			      "read of %zu bytes from a DEVX command file, the next answer has %u",
			      count, first->len);
	list_del(&first->node);
	WARN_ON_ONCE(atomic_sub_return(first->bytes, &file->context->async_bytes) < 0);
	*answer = first;
	return first->len;
}

/**
 * mlx5_ib_devx_put_back_answer - put an answer back that could not be copied to the reader
 * @answer: taken by mlx5_ib_devx_take_answer(); freed if its file has been closed meanwhile
 */
VISIBLE_IF_KUNIT void mlx5_ib_devx_put_back_answer(struct mlx5_ib_devx_async_answer *answer)
{
	struct mlx5_ib_devx_cmd_file *file = answer->file;

	scoped_guard(spinlock_irq, &file->lock) {
		if (!file->closed) {
			atomic_add(answer->bytes, &file->context->async_bytes);
			list_add(&answer->node, &file->answers);
			wake_up_interruptible(&file->wait);
			return;
		}
	}
	kvfree(answer);
}

static bool devx_has_answer(struct mlx5_ib_devx_cmd_file *file)
{
	guard(spinlock_irq)(&file->lock);
	return file->closed || !list_empty(&file->answers);
}

static ssize_t devx_cmd_read(struct file *filp, char __user *buf, size_t count, loff_t *pos)
{
	struct mlx5_ib_devx_cmd_file *file = container_of(filp->private_data,
							  struct mlx5_ib_devx_cmd_file, uobj);
	struct mlx5_ib_devx_async_answer *answer;
	ssize_t len;

	len = mlx5_ib_devx_take_answer(file, count, &answer);
	while (len == -EAGAIN && !(filp->f_flags & O_NONBLOCK)) {
		if (wait_event_interruptible(file->wait, devx_has_answer(file)))
			return -ERESTARTSYS;
		len = mlx5_ib_devx_take_answer(file, count, &answer);
	}
	if (len < 0)
		return len;
	if (copy_to_user(buf, &answer->hdr, len)) {
		mlx5_ib_devx_put_back_answer(answer);
		return -EFAULT;
	}
	kvfree(answer);
	return len;
}

static __poll_t devx_cmd_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct mlx5_ib_devx_cmd_file *file = container_of(filp->private_data,
							  struct mlx5_ib_devx_cmd_file, uobj);

	poll_wait(filp, &file->wait, wait);
	guard(spinlock_irq)(&file->lock);
	if (file->closed)
		return EPOLLERR;
	return list_empty(&file->answers) ? 0 : EPOLLIN | EPOLLRDNORM;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static const struct file_operations devx_cmd_fops = {
	.owner = THIS_MODULE,
	.read = devx_cmd_read,
	.poll = devx_cmd_poll,
	.release = uverbs_uobject_fd_release,
};

static void devx_cmd_destroy(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	mlx5_ib_devx_close_cmd_file(container_of(uobj, struct mlx5_ib_devx_cmd_file, uobj));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
		MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE);

	mlx5_ib_devx_open_cmd_file(container_of(uobj, struct mlx5_ib_devx_cmd_file, uobj),
				   to_mucontext(uobj->context));
	return 0;
}

/*
 * ib_core has checked that the file for the answer and the object belong to the same context, so
 * the context of the file is the one in which the command has to be sent.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY)(struct uverbs_attr_bundle *attrs)
{
	const u16 in_attr = MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN;
	struct mlx5_ib_devx_cmd_file *file;
	struct mlx5_ib_devx_id id;
	struct ib_uobject *uobj;
	u16 out_len;
	u64 wr_id;
	int err;

	uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	file = container_of(uobj, struct mlx5_ib_devx_cmd_file, uobj);
	uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE);
	err = mlx5_ib_devx_identify_for(uobj, uverbs_attr_get_alloced_ptr(attrs, in_attr),
					uverbs_attr_get_len(attrs, in_attr), &id);
	if (err)
		return err;
	err = uverbs_get_const(&out_len, attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN);
	if (err)
		return err;
	err = uverbs_copy_from(&wr_id, attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID);
	if (err)
		return err;
	return mlx5_ib_devx_query_async(file, &id, uverbs_attr_get_alloced_ptr(attrs, in_attr),
					uverbs_attr_get_len(attrs, in_attr), out_len, wr_id);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY,
			    MLX5_IB_DEVX_ANY_OBJECT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE),
			    MLX5_IB_DEVX_CMD_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, u16,
						 UA_MANDATORY),
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD,
					   MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
					   UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID,
					       UVERBS_ATTR_TYPE(u64), UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_devx_async_methods, MLX5_IB_OBJECT_DEVX_OBJ,
		   &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
			    UVERBS_ATTR_FD(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE,
					   MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
					   UVERBS_ACCESS_NEW, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct mlx5_ib_devx_cmd_file),
						 devx_cmd_destroy, &devx_cmd_fops,
						 "[mlx5_devx_cmd]", O_RDONLY),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC));

const struct uapi_definition mlx5_ib_devx_async_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(MLX5_IB_OBJECT_DEVX_OBJ, &mlx5_ib_devx_async_methods),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD),
	{},
};
