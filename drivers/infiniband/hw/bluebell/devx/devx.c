// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX: the methods of the ioctl object MLX5_IB_OBJECT_DEVX that name no object of the process. The
 * method that subscribes to events is in devx_event.c.
 */

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "layout/refuse.h"
#include "lib/queue_cmd.h"
#include "verbs/uar.h"

/*
 * Return the device's index of the UAR that a dynamic bfreg lies in. Programs without DEVX use the
 * index, too, so the method needs no user id.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_UAR)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	int err, dev_idx;
	u32 user_idx;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&user_idx, attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);
	if (err)
		return err;
	dev_idx = bfregn_to_uar_index(&to_mucontext(uctx)->bfregi, user_idx, true);
	if (dev_idx < 0)
		return dev_idx;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &dev_idx,
			      sizeof(dev_idx));
}

/**
 * mlx5_ib_devx_check - check a command that a process wants to send
 * @context: context of the process
 * @in: the command
 * @in_len: bytes of @in
 * @use: what the process wants to do with the command
 * @cmd: gets the command's row in the table of DEVX commands
 *
 * Return: 0; -EINVAL in a context without a user id; or as mlx5_ib_devx_check_cmd().
 */
int mlx5_ib_devx_check(const struct mlx5_ib_ucontext *context, const void *in, size_t in_len,
		       enum mlx5_ib_devx_use use, const struct mlx5_ib_devx_cmd **cmd)
{
	/* Without a user id, firmware would execute the command as a command of the kernel. */
	if (!context->uid)
		return refuse(to_mdev(context->ibucontext.device)->mdev, -EINVAL,
			      "a DEVX command needs a device opened with MLX5_IB_ALLOC_UCTX_DEVX");
	return mlx5_ib_devx_check_cmd(in, in_len, use, context->devx_rights, cmd);
}

/**
 * mlx5_ib_devx_answer - pass firmware's answer on to a process
 * @attrs: the call
 * @attr: attribute that gets the answer
 * @out: the answer
 * @out_len: bytes of @out
 * @err: result of the command
 *
 * Copies the answer also if @err is -EREMOTEIO, which says that firmware has refused the command:
 * the library reads the status and the syndrome in the answer. After any other error nothing is
 * copied.
 *
 * Return: @err, or -EFAULT.
 */
int mlx5_ib_devx_answer(struct uverbs_attr_bundle *attrs, u16 attr, const void *out, int out_len,
			int err)
{
	if (err && err != -EREMOTEIO)
		return err;
	return uverbs_copy_to(attrs, attr, out, out_len) ?: err;
}

/* Send a command that needs no handle of an object. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OTHER)(struct uverbs_attr_bundle *attrs)
{
	int in_len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	int out_len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
	void *in = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	const struct mlx5_ib_devx_cmd *cmd;
	void *out;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = mlx5_ib_devx_check(to_mucontext(uctx), in, in_len, MLX5_IB_DEVX_GENERAL, &cmd);
	if (err)
		return err;
	/* Freed when the ioctl ends. */
	out = uverbs_zalloc(attrs, out_len);
	if (IS_ERR(out))
		return PTR_ERR(out);
	err = mlx5_ib_fw_exec_raw(to_mdev(uctx->device), to_mucontext(uctx)->uid, in, in_len, out,
				  out_len);
	return mlx5_ib_devx_answer(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, out_len, err);
}

/*
 * Return the number of the event queue of a completion vector: a process that builds a CREATE_CQ
 * command writes this number to the context of the CQ.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_EQN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	int err, eqn;
	u32 vector;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&vector, attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	if (err)
		return err;
	if (vector >= uctx->device->num_comp_vectors)
		return refuse(to_mdev(uctx->device)->mdev, -EINVAL,
			      "DEVX query of the EQ of completion vector %u, 0 to %d are possible",
			      vector, uctx->device->num_comp_vectors - 1);
	err = mlx5_ib_comp_eqn(to_mdev(uctx->device), vector, &eqn);
	if (err)
		return err;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OTHER,
			    MLX5_IB_DEVX_CMD_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
			    MLX5_IB_DEVX_CMD_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX, &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OTHER),
			      &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR),
			      &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN));

const struct uapi_definition mlx5_ib_devx_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX),
	{},
};
