/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Firmware objects that a process creates by commands of its own (DEVX), and the memory that it
 * registers for them.
 */

#ifndef BLUEBELL_DEVX_OBJ_H
#define BLUEBELL_DEVX_OBJ_H

#include <linux/mlx5/cq.h>
#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/attempt.h"
#include "layout/layout_devx.h"
#include "lib/mkey.h"
#include "lib/share.h"

struct ib_umem;
struct ib_uobject;
struct mlx5_ib_dev;
struct mlx5_ib_ucontext;
struct mlx5_user_mmap_entry;

/**
 * enum mlx5_ib_devx_form - which struct contains a struct mlx5_ib_devx_obj
 * @MLX5_IB_DEVX_PLAIN: none
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
 * @uid: user id of the process, which the commands about the object carry
 * @context: context of the process
 * @form: enum mlx5_ib_devx_form. Constant
 * @destroy_size: bytes of @destroy
 * @id: kind and number; constant
 * @uar: UAR object of the process that has the doorbells of this object, with a reference; NULL if
 *	the object has no doorbells, or has them in a UAR page of the context
 * @share: counts the object against the limits of its user; for a memory key, counts the key's
 *	tables as paged memory, or the length of a key over a umem if that is more
 * @key: counts a memory key as one of its user's keys
 * @num_counters: number of flow counters that the object has at least, see
 *	mlx5_ib_devx_num_counters(). @share may count more
 * @attempt: attempts to destroy the object; not used with MLX5_IB_DEVX_WITH_KEY, see devx_attempt()
 * @destroy: the command that destroys the object
 *
 * Lives as long as its uverbs handle. While the object is being destroyed, ib_core keeps other
 * tasks from using the handle, so only @attempt needs a lock, see struct mlx5_ib_fw_attempt.
 */
struct mlx5_ib_devx_obj {
	struct mlx5_ib_dev *dev;
	u16 uid;
	struct mlx5_ib_ucontext *context;
	u8 form;
	u32 destroy_size;
	struct mlx5_ib_devx_id id;
	struct mlx5_user_mmap_entry *uar;
	struct mlx5_ib_share share;
	struct mlx5_ib_share key;
	u32 num_counters;
	struct mlx5_ib_fw_attempt attempt;
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW];
};

/**
 * struct mlx5_ib_devx_cq - a CQ on an event queue of mlx5_core
 * @obj: the object; first, so that kfree() of the object frees the whole struct
 * @mcq: the CQ in the tables of mlx5_core
 */
struct mlx5_ib_devx_cq {
	struct mlx5_ib_devx_obj obj;
	struct mlx5_core_cq mcq;
};

static_assert(!offsetof(struct mlx5_ib_devx_cq, obj));

/**
 * struct mlx5_ib_devx_key - an indirect mkey, a memory key over other keys, on a device with paging
 * @obj: the object; first, so that kfree() of the object frees the whole struct
 * @key: the key, as an entry of the table in which the handler of page faults looks keys up
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

/**
 * struct mlx5_ib_devx_umem - memory that a process has registered for its DEVX objects
 * @dev: device
 * @uid: user id of the process
 * @context: context of the process
 * @id: number of the umem in the device
 * @umem: the memory, pinned until the device has destroyed the umem
 * @share: counts the umem as one of its user's umems
 * @paged: counts the length of a umem over a dma-buf as paged memory
 * @attempt: attempts to destroy the umem
 *
 * The umem belongs to its uverbs handle, and is freed when the handle is destroyed.
 */
struct mlx5_ib_devx_umem {
	struct mlx5_ib_dev *dev;
	u16 uid;
	struct mlx5_ib_ucontext *context;
	u32 id;
	struct ib_umem *umem;
	struct mlx5_ib_share share;
	struct mlx5_ib_share paged;
	struct mlx5_ib_fw_attempt attempt;
};

/* devx_limit.c */
int mlx5_ib_devx_take_shares(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_cmd *cmd,
			     const void *in, struct mlx5_ib_share *share,
			     struct mlx5_ib_share *key);
bool mlx5_ib_devx_make_way(struct mlx5_ib_dev *dev, const void *out, unsigned int *tries);

/* devx_obj.c */
int mlx5_ib_devx_prepare(const struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
			 enum mlx5_ib_devx_use use, void *in, size_t in_len);
int mlx5_ib_devx_identify(struct ib_uobject *uobj, struct mlx5_ib_devx_id *id);
int mlx5_ib_devx_identify_for(struct ib_uobject *uobj, const void *in, size_t in_len,
			      struct mlx5_ib_devx_id *id);

extern const struct uapi_definition mlx5_ib_devx_obj_defs[];
extern const struct uapi_definition mlx5_ib_devx_umem_defs[];

#if IS_ENABLED(CONFIG_KUNIT)
struct mlx5_ib_devx_obj *mlx5_ib_devx_create_obj(struct mlx5_ib_ucontext *context, void *in,
						 size_t in_len, void *out, size_t out_len);
int mlx5_ib_devx_destroy_obj(struct mlx5_ib_devx_obj *obj, bool last);
int mlx5_ib_devx_send(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_id *id,
		      enum mlx5_ib_devx_use use, void *in, size_t in_len, void *out,
		      size_t out_len);
struct mlx5_ib_devx_umem *mlx5_ib_devx_create_umem(struct mlx5_ib_ucontext *context,
						   struct ib_umem *umem, u64 pgsz_bitmap);
int mlx5_ib_devx_destroy_umem(struct mlx5_ib_devx_umem *obj, bool last);
#endif

#endif /* BLUEBELL_DEVX_OBJ_H */
