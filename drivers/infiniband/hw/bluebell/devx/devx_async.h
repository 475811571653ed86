/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Asynchronous commands of a process (DEVX), and the files with their answers.
 */

#ifndef BLUEBELL_DEVX_ASYNC_H
#define BLUEBELL_DEVX_ASYNC_H

#include <linux/list.h>
#include <linux/mlx5/driver.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "fw/fw.h"

struct mlx5_ib_devx_id;
struct mlx5_ib_ucontext;

/*
 * Limit of the bytes that the asynchronous commands of a context and their answers take, until the
 * answers have been read. mlx5_ib_fw_exec_async() limits how many asynchronous commands of all
 * users together are in flight.
 */
#define MLX5_IB_DEVX_ASYNC_BYTES	0x100000

/**
 * struct mlx5_ib_devx_cmd_file - answers that wait to be read
 * @uobj: the file
 * @context: the context that commands are sent in
 * @ctx: context of mlx5_core, which calls back for each command
 * @wait: readers that wait for an answer
 * @lock: guards all members below; taken in interrupts
 * @answers: struct mlx5_ib_devx_async_answer in the order of completion
 * @closed: the device or the context is gone, or the file has been closed
 */
struct mlx5_ib_devx_cmd_file {
	struct ib_uobject uobj;
	struct mlx5_ib_ucontext *context;
	struct mlx5_async_ctx ctx;
	wait_queue_head_t wait;
	spinlock_t lock;	/* guards answers, closed */
	struct list_head answers;
	bool closed;
};

/**
 * struct mlx5_ib_devx_async_answer - a command that has been sent, then its answer
 * @async: the command that mlx5_ib_fw_exec_async() has sent
 * @file: the file from which the answer is read
 * @node: in the list of @file, when the command has been answered
 * @bytes: bytes that the command and its answer count against MLX5_IB_DEVX_ASYNC_BYTES
 * @len: bytes of @hdr and the answer that follows it
 * @hdr: what the reader gets
 */
struct mlx5_ib_devx_async_answer {
	struct mlx5_ib_fw_async async;
	struct mlx5_ib_devx_cmd_file *file;
	struct list_head node;
	u32 bytes;
	u32 len;
	struct mlx5_ib_uapi_devx_async_cmd_hdr hdr;
};

extern const struct uapi_definition mlx5_ib_devx_async_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
void mlx5_ib_devx_open_cmd_file(struct mlx5_ib_devx_cmd_file *file,
				struct mlx5_ib_ucontext *context);
void mlx5_ib_devx_close_cmd_file(struct mlx5_ib_devx_cmd_file *file);
int mlx5_ib_devx_query_async(struct mlx5_ib_devx_cmd_file *file, const struct mlx5_ib_devx_id *id,
			     void *in, size_t in_len, u16 out_len, u64 wr_id);
ssize_t mlx5_ib_devx_take_answer(struct mlx5_ib_devx_cmd_file *file, size_t count,
				 struct mlx5_ib_devx_async_answer **answer);
void mlx5_ib_devx_put_back_answer(struct mlx5_ib_devx_async_answer *answer);
#endif

#endif /* BLUEBELL_DEVX_ASYNC_H */
