// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX: firmware's user ids, and the methods of the ioctl object MLX5_IB_OBJECT_DEVX, which
 * concern no object of the user.
 */

#include <linux/capability.h>
#include <linux/mlx5/driver.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "bluebell.h"
#include "devx.h"
#include "fw.h"
#include "layout_devx.h"
#include "orphan.h"
#include "queue_cmd.h"
#include "refuse.h"
#include "uar.h"

/* What the calling process may do by commands of its own. */
static u32 devx_rights_of_caller(struct mlx5_ib_dev *dev)
{
	u32 rights = 0;

	if (rdma_dev_has_raw_cap(&dev->ib_dev))
		rights |= MLX5_UCTX_CAP_RAW_TX;
	if (capable(CAP_SYS_RAWIO))
		rights |= MLX5_UCTX_CAP_INTERNAL_DEV_RES;
	return rights;
}

/*
 * Any user can open the device many times, so that the line appears once in a while, not for each
 * refusal. It is for the administrator, who can see which processes have the ids, and end them.
 */
static void devx_report_uctx_limit(struct mlx5_ib_dev *dev)
{
	static struct ratelimit_state once_in_a_while =
		RATELIMIT_STATE_INIT_FLAGS(once_in_a_while, 10 * HZ, 1, RATELIMIT_MSG_ON_RELEASE);

	if (__ratelimit(&once_in_a_while))
		ibdev_warn(&dev->ib_dev,
			   "all user ids of the device are in use (log_max_uctx is %u): %s (%d) gets no DEVX context; see who has them in debugfs, file uars of mlx5/%s\n",
			   MLX5_CAP_GEN(dev->mdev, log_max_uctx), current->comm,
			   task_tgid_nr(current), dev_name(dev->mdev->device));
}

/**
 * mlx5_ib_create_uctx - CREATE_UCTX: create a user id for the calling process
 * @dev: device
 * @context: of the process, which gets the id, which is not 0, and the rights of the process
 *
 * Firmware lets a command with a user id name only objects of the same id, and those that
 * mlx5_core has created for all users (completion EQs). Objects without an id belong to the
 * kernel, and no command with an id reaches them.
 *
 * What a user may do beyond that follows from the privileges of the process that opens the device:
 * CAP_NET_RAW, in the user namespace of the device's network namespace, allows raw queues
 * (MLX5_UCTX_CAP_RAW_TX), and CAP_SYS_RAWIO in the initial user namespace resources internal to
 * the device (MLX5_UCTX_CAP_INTERNAL_DEV_RES). MLX5_UCTX_CAP_RDMA_CTRL, which lets a user
 * control the RDMA objects of others, is never given. The driver itself checks these rights for
 * commands that carry no id, see layout_devx.c. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device without user ids; -ENOMEM if all are in use; or the errno of
 * another firmware refusal.
 */
int mlx5_ib_create_uctx(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	u32 out[MLX5_ST_SZ_DW(create_uctx_out)] = {};
	u32 in[MLX5_ST_SZ_DW(create_uctx_in)] = {};
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, log_max_uctx))
		return refuse(-EOPNOTSUPP, "the device has no user ids (log_max_uctx)");
	context->devx_rights = devx_rights_of_caller(dev);
	MLX5_SET(create_uctx_in, in, opcode, MLX5_CMD_OP_CREATE_UCTX);
	MLX5_SET(create_uctx_in, in, uctx.cap,
		 context->devx_rights & MLX5_CAP_GEN(dev->mdev, uctx_cap));
	err = mlx5_ib_fw_exec_within_limit(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out,
					   sizeof(out));
	if (err == -ENOSPC) {
		devx_report_uctx_limit(dev);
		return -ENOMEM;
	}
	if (!err)
		context->uid = MLX5_GET(create_uctx_out, out, uid);
	return err;
}

/**
 * mlx5_ib_destroy_uctx - DESTROY_UCTX: destroy a user id
 * @dev: device
 * @uid: the id; all its objects have been destroyed
 *
 * Firmware keeps an id that still owns an object, so that no other process gets the id, and with it
 * the object. The id is then destroyed after the object, see orphan.c. May sleep, for a third of a
 * second if firmware refuses.
 */
void mlx5_ib_destroy_uctx(struct mlx5_ib_dev *dev, u16 uid)
{
	int err = mlx5_ib_fw_destroy_repeat(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_UCTX, uid);

	if (err)
		mlx5_ib_orphan_adopt(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_UCTX, uid,
				     "user id", NULL, err);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

/*
 * The device index of the UAR that a dynamic bfreg lies in. It is of use without a user id, too, so
 * it is offered in every context of every device.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_UAR)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 user_idx, dev_idx;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&user_idx, attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);
	if (err)
		return err;
	err = bfregn_to_uar_index(&to_mucontext(uctx)->bfregi, user_idx, true);
	if (err < 0)
		return err;
	dev_idx = err;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &dev_idx,
			      sizeof(dev_idx));
}

/**
 * mlx5_ib_devx_check - check a command that a process wants to send
 * @context: of the process
 * @in: the command
 * @in_len: bytes of @in
 * @use: what for
 * @cmd: gets the command's entry
 *
 * Return: 0; -EINVAL in a context without a user id; or as mlx5_ib_devx_check_cmd().
 */
int mlx5_ib_devx_check(const struct mlx5_ib_ucontext *context, const void *in, size_t in_len,
		       enum mlx5_ib_devx_use use, const struct mlx5_ib_devx_cmd **cmd)
{
	/* Firmware would take the process for the kernel. */
	if (!context->uid)
		return refuse(-EINVAL, "command of a context without a user id");
	return mlx5_ib_devx_check_cmd(in, in_len, use, context->devx_rights, cmd);
}

/**
 * mlx5_ib_devx_answer - pass on an answer of firmware to a process
 * @attrs: the call
 * @attr: attribute that gets the answer
 * @out: the answer
 * @out_len: bytes of @out
 * @err: result of the command
 *
 * As the library expects, a refusal is -EREMOTEIO, and the answer has the firmware's status and
 * syndrome.
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

/* Send a command that is not about an object. */
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

/* The event queue of a completion vector, which the context of a CQ names. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_EQN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 vector, dev_eqn;
	int err, eqn;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&vector, attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	if (err)
		return err;
	if (vector >= uctx->device->num_comp_vectors)
		return refuse(-EINVAL, "completion vector %u, the device has %d", vector,
			      uctx->device->num_comp_vectors);
	err = mlx5_ib_comp_eqn(to_mdev(uctx->device), vector, &eqn);
	if (err)
		return err;
	dev_eqn = eqn;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &dev_eqn,
			      sizeof(dev_eqn));
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
