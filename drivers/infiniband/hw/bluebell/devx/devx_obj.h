/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Firmware objects that a process creates by commands of its own (DEVX).
 */

#ifndef BLUEBELL_DEVX_OBJ_H
#define BLUEBELL_DEVX_OBJ_H

#include <linux/mlx5/cq.h>
#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

#include "layout/layout_devx.h"
#include "lib/mkey.h"

struct ib_uobject;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;
struct mlx5_user_mmap_entry;

/**
 * enum mlx5_ib_devx_form - what struct mlx5_ib_devx_obj is the first member of
 * @MLX5_IB_DEVX_PLAIN: nothing
 * @MLX5_IB_DEVX_WITH_MCQ: struct mlx5_ib_devx_cq
 * @MLX5_IB_DEVX_WITH_KEY: struct mlx5_ib_devx_key
 */
enum mlx5_ib_devx_form {
	MLX5_IB_DEVX_PLAIN,
	MLX5_IB_DEVX_WITH_MCQ,
	MLX5_IB_DEVX_WITH_KEY,
};

/**
 * struct mlx5_ib_devx_obj - an object of a process
 * @dev: device
 * @uid: user id of the process, which its commands carry
 * @form: enum mlx5_ib_devx_form. Constant
 * @destroy_failed: firmware has refused to destroy the object
 * @destroy_size: bytes of @destroy
 * @id: kind and number; constant
 * @uar: UAR object of the process whose doorbells the object has; NULL if it has none, or those of
 *	a page of the context
 * @destroy: the command that destroys the object
 *
 * The object belongs to its handle. ib_core lets nobody else use the handle while the object is
 * being destroyed, so no member needs a lock.
 */
struct mlx5_ib_devx_obj {
	struct mlx5_ib_dev *dev;
	u16 uid;
	u8 form;
	bool destroy_failed;
	u32 destroy_size;
	struct mlx5_ib_devx_id id;
	struct mlx5_user_mmap_entry *uar;
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW];
};

/**
 * struct mlx5_ib_devx_cq - a CQ on an event queue of mlx5_core
 * @obj: the object; first, so that it is freed as the whole
 * @mcq: what mlx5_core knows the CQ by
 */
struct mlx5_ib_devx_cq {
	struct mlx5_ib_devx_obj obj;
	struct mlx5_core_cq mcq;
};

static_assert(!offsetof(struct mlx5_ib_devx_cq, obj));

/**
 * struct mlx5_ib_devx_key - a memory key over other keys
 * @obj: the object; first, so that it is freed as the whole
 * @key: what page faults find the key by
 */
struct mlx5_ib_devx_key {
	struct mlx5_ib_devx_obj obj;
	struct mlx5_ib_table_key key;
};

static_assert(!offsetof(struct mlx5_ib_devx_key, obj));

static inline struct mlx5_ib_devx_cq *to_devx_cq(struct mlx5_ib_devx_obj *obj)
{
	WARN_ON_ONCE(obj->form != MLX5_IB_DEVX_WITH_MCQ);
	return container_of(obj, struct mlx5_ib_devx_cq, obj);
}

int mlx5_ib_devx_prepare(const struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
			 enum mlx5_ib_devx_use use, void *in, size_t in_len);
int mlx5_ib_devx_identify(struct ib_uobject *uobj, struct mlx5_ib_devx_id *id);

extern const struct uapi_definition mlx5_ib_devx_obj_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_ib_devx_obj *mlx5_ib_devx_create_obj(struct mlx5_ib_ucontext *context, void *in,
						 size_t in_len, void *out, size_t out_len);
int mlx5_ib_devx_destroy_obj(struct mlx5_ib_devx_obj *obj, bool last);
int mlx5_ib_devx_send(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
		      enum mlx5_ib_devx_use use, void *in, size_t in_len, void *out,
		      size_t out_len);
#endif

#endif /* BLUEBELL_DEVX_OBJ_H */
