// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects of a process that have a number, and neither memory nor events: transport interfaces,
 * tables of receive queues.
 */

#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/object.h"
#include "lib/orphan.h"

const struct mlx5_ib_object_kind mlx5_ib_rqt_kind = {
	.name = "RQT",
	.create_op = MLX5_CMD_OP_CREATE_RQT,
	.destroy_op = MLX5_CMD_OP_DESTROY_RQT,
	.share = MLX5_IB_SHARE_RQT,
};

const struct mlx5_ib_object_kind mlx5_ib_tir_kind = {
	.name = "TIR",
	.create_op = MLX5_CMD_OP_CREATE_TIR,
	.destroy_op = MLX5_CMD_OP_DESTROY_TIR,
	.share = MLX5_IB_SHARE_TIR,
};

const struct mlx5_ib_object_kind mlx5_ib_tis_kind = {
	.name = "TIS",
	.create_op = MLX5_CMD_OP_CREATE_TIS,
	.destroy_op = MLX5_CMD_OP_DESTROY_TIS,
	.share = MLX5_IB_SHARE_TIS,
};

/**
 * mlx5_ib_object_create - create an object
 * @obj: zeroed
 * @kind: kind of the object
 * @context: context of the process
 * @in: the command; this function sets the opcode
 * @inlen: bytes of @in
 *
 * May sleep.
 *
 * Return: 0; as mlx5_ib_share_take(); or as mlx5_ib_fw_create_object(). After an error the object
 * does not exist, unless firmware has not answered (-ETIMEDOUT).
 */
int mlx5_ib_object_create(struct mlx5_ib_object *obj, const struct mlx5_ib_object_kind *kind,
			  struct mlx5_ib_ucontext *context, void *in, int inlen)
{
	int err = mlx5_ib_share_take(context, kind->share, &obj->share);

	if (err)
		return err;
	err = mlx5_ib_fw_create_object(to_mdev(context->ibucontext.device), context->uid,
				       kind->create_op, in, inlen, &obj->num);
	if (err) {
		mlx5_ib_share_undo(&obj->share, err);
		return err;
	}
	obj->context = context;
	obj->kind = kind;
	return 0;
}

/**
 * mlx5_ib_object_destroy - destroy an object
 * @obj: the object; nothing is done if it does not exist
 *
 * May sleep.
 *
 * Return: 0, or the errno of the failed command, and then the object still exists, or may exist.
 * Always 0 for a process that has closed the device: an object that firmware then refuses to
 * destroy becomes an orphan (orphan.c).
 */
int mlx5_ib_object_destroy(struct mlx5_ib_object *obj)
{
	const struct mlx5_ib_object_kind *kind = obj->kind;
	struct mlx5_ib_queue_mem mem = { .context = obj->context, .share = obj->share };
	struct mlx5_ib_dev *dev;
	int err;

	if (!kind)
		return 0;
	dev = to_mdev(obj->context->ibucontext.device);
	err = mlx5_ib_fw_destroy_object(dev, obj->context->uid, kind->destroy_op, obj->num,
					&obj->attempt);
	if (err)
		WRITE_ONCE(dev->kept, true);
	if (err && !obj->context->closing)
		return err;
	if (err)
		mlx5_ib_orphan_adopt_closing(dev, obj->context->uid, kind->destroy_op, obj->num,
					     &obj->attempt, kind->name, &mem);
	else
		mlx5_ib_share_give(&obj->share);
	obj->kind = NULL;
	return 0;
}

/**
 * mlx5_ib_object_discard - destroy an object whose owner does not try again if firmware refuses
 * @obj: the object, which nobody has tried to destroy; nothing is done if it does not exist
 *
 * If firmware refuses, the object becomes an orphan (orphan.c). May sleep, for a third of a second
 * if firmware refuses.
 */
void mlx5_ib_object_discard(struct mlx5_ib_object *obj)
{
	struct mlx5_ib_queue_mem mem = { .context = obj->context, .share = obj->share };

	if (!obj->kind)
		return;
	mlx5_ib_orphan_discard(to_mdev(obj->context->ibucontext.device), obj->context->uid,
			       obj->kind->destroy_op, obj->num, obj->kind->name, &mem);
	obj->kind = NULL;
}
