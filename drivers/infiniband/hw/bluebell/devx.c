// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DEVX: firmware's user ids, and the methods of the ioctl object MLX5_IB_OBJECT_DEVX.
 */

#include <linux/capability.h>
#include <linux/mlx5/driver.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "bluebell.h"
#include "devx.h"
#include "fw.h"
#include "orphan.h"
#include "uar.h"

/* What the calling process may do by commands of its own, as far as the device can tell. */
static u32 devx_caps_of_caller(struct mlx5_ib_dev *dev)
{
	u32 caps = 0;

	if (rdma_dev_has_raw_cap(&dev->ib_dev))
		caps |= MLX5_UCTX_CAP_RAW_TX;
	if (capable(CAP_SYS_RAWIO))
		caps |= MLX5_UCTX_CAP_INTERNAL_DEV_RES;
	return caps & MLX5_CAP_GEN(dev->mdev, uctx_cap);
}

/**
 * mlx5_ib_create_uctx - CREATE_UCTX: create a user id for the calling process
 * @dev: device
 * @uid: the id, which is not 0
 *
 * Firmware lets a command with a user id name only objects of the same id, and those that
 * mlx5_core has created for all users (completion EQs). Objects without an id belong to the
 * kernel, and no command with an id reaches them.
 *
 * What a user may do beyond that follows from the privileges of the process that opens the device:
 * CAP_NET_RAW, in the user namespace of the device's network namespace, allows raw queues
 * (MLX5_UCTX_CAP_RAW_TX), and CAP_SYS_RAWIO in the initial user namespace resources internal to
 * the device (MLX5_UCTX_CAP_INTERNAL_DEV_RES). MLX5_UCTX_CAP_RDMA_CTRL, which lets a user
 * control the RDMA objects of others, is never given. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device without user ids; -ENOMEM if all are in use; or the errno of
 * another firmware refusal.
 */
int mlx5_ib_create_uctx(struct mlx5_ib_dev *dev, u16 *uid)
{
	u32 in[MLX5_ST_SZ_DW(create_uctx_in)] = {};
	u32 number;
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, log_max_uctx))
		return -EOPNOTSUPP;
	MLX5_SET(create_uctx_in, in, uctx.cap, devx_caps_of_caller(dev));
	err = mlx5_fw_create_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_CREATE_UCTX, in,
				    sizeof(in), &number);
	if (!err)
		*uid = number;
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

/* Commands that a process may send as they are: queries that name no object. */
static bool devx_is_general_query(u16 opcode)
{
	return opcode == MLX5_CMD_OP_QUERY_HCA_CAP;
}

/*
 * Send a command that is not about an object. As the library expects, a refusal is -EREMOTEIO, and
 * the answer has the firmware's status and syndrome.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OTHER)(struct uverbs_attr_bundle *attrs)
{
	int in_len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	int out_len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
	void *in = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	int err, copied;
	void *out;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	if (!to_mucontext(uctx)->uid ||
	    !devx_is_general_query(MLX5_GET(general_obj_in_cmd_hdr, in, opcode)))
		return -EINVAL;
	/* Freed when the ioctl ends. */
	out = uverbs_zalloc(attrs, out_len);
	if (IS_ERR(out))
		return PTR_ERR(out);
	err = mlx5_ib_fw_exec_raw(to_mdev(uctx->device), to_mucontext(uctx)->uid, in, in_len, out,
				  out_len);
	if (err && err != -EREMOTEIO)
		return err;
	copied = uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, out_len);
	return copied ?: err;
}

#define CMD_IN(attr)	UVERBS_ATTR_PTR_IN(attr, \
		UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)), \
		UA_MANDATORY, UA_ALLOC_AND_COPY)
#define CMD_OUT(attr)	UVERBS_ATTR_PTR_OUT(attr, \
		UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr)), UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OTHER, CMD_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
			    CMD_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX, &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OTHER),
			      &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR));

const struct uapi_definition mlx5_ib_devx_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX),
	{},
};
