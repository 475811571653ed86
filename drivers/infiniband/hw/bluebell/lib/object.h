/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of a process that have a number, and neither memory nor events: transport interfaces,
 * tables of receive queues.
 */

#ifndef BLUEBELL_OBJECT_H
#define BLUEBELL_OBJECT_H

#include <linux/types.h>

#include "fw/attempt.h"
#include "lib/share.h"

struct mlx5_ib_ucontext;

/**
 * struct mlx5_ib_object_kind - a kind of object
 * @name: name of the kind, for the log
 * @create_op: MLX5_CMD_OP_* of the command that creates an object
 * @destroy_op: MLX5_CMD_OP_* of the command that destroys an object
 * @share: which limit of a user the object counts against
 */
struct mlx5_ib_object_kind {
	const char *name;
	u16 create_op;
	u16 destroy_op;
	enum mlx5_ib_share_kind share;
};

extern const struct mlx5_ib_object_kind mlx5_ib_rqt_kind;
extern const struct mlx5_ib_object_kind mlx5_ib_tir_kind;
extern const struct mlx5_ib_object_kind mlx5_ib_tis_kind;

/**
 * struct mlx5_ib_object - an object
 * @kind: kind of the object; NULL if the object does not exist, or is an orphan (orphan.c)
 * @context: context of the process that owns the object
 * @num: number of the object
 * @attempt: attempts to destroy the object
 * @share: counts the object against the limit of its user
 */
struct mlx5_ib_object {
	const struct mlx5_ib_object_kind *kind;
	struct mlx5_ib_ucontext *context;
	u32 num;
	struct mlx5_ib_fw_attempt attempt;
	struct mlx5_ib_share share;
};

int mlx5_ib_object_create(struct mlx5_ib_object *obj, const struct mlx5_ib_object_kind *kind,
			  struct mlx5_ib_ucontext *context, void *in, int inlen);
int mlx5_ib_object_destroy(struct mlx5_ib_object *obj);
void mlx5_ib_object_discard(struct mlx5_ib_object *obj);

#endif /* BLUEBELL_OBJECT_H */
