// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packet pacing: processes allocate rates, which are entries of a table in the device, for their
 * send queues, by the ioctl object MLX5_IB_OBJECT_PP. See mlx5dv_pp_alloc(3).
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/pp.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"

/**
 * struct mlx5_ib_pp - a rate that a process has allocated
 * @dev: device
 * @index: index of the rate in the device's table. Allocations of the same rate share an entry,
 *	unless the entry is dedicated
 */
struct mlx5_ib_pp {
	struct mlx5_ib_dev *dev;
	u16 index;
};

/*
 * Check a rate against the capabilities of the device, because mlx5_core would log a rate that is
 * out of range or that firmware refuses. Only queues of raw packets use rates, and the device's
 * table of rates is small: a process that must not create such queues must not take entries of the
 * table either. A process that may create such queues can take all entries. mlx5_core holds the
 * mutex of the table while it sends SET_PP_RATE_LIMIT, so an allocation waits for the commands of
 * other allocations.
 */
static int pp_check(const struct mlx5_ib_ucontext *context, const void *rate)
{
	struct mlx5_core_dev *mdev = to_mdev(context->ibucontext.device)->mdev;
	u32 limit = MLX5_GET(set_pp_rate_limit_context, rate, rate_limit);

	if (!mlx5_rl_is_supported(mdev) || !MLX5_CAP_QOS(mdev, packet_pacing_uid))
		return refuse(mdev, -EOPNOTSUPP,
			      "packet pacing: the device has none for processes (packet_pacing, packet_pacing_uid)");
	if (MLX5_GET(set_pp_rate_limit_context, rate, burst_upper_bound) &&
	    !MLX5_CAP_QOS(mdev, packet_pacing_burst_bound))
		return refuse(mdev, -EOPNOTSUPP,
			      "packet pacing: the device cannot limit bursts (packet_pacing_burst_bound)");
	if (MLX5_GET(set_pp_rate_limit_context, rate, typical_packet_size) &&
	    !MLX5_CAP_QOS(mdev, packet_pacing_typical_size))
		return refuse(mdev, -EOPNOTSUPP,
			      "packet pacing: the device has no typical_packet_size (packet_pacing_typical_size)");
	if (!context->uid)
		return refuse(mdev, -EINVAL,
			      "packet pacing needs a device opened with MLX5_IB_ALLOC_UCTX_DEVX");
	if (!limit || !mlx5_rl_is_in_range(mdev, limit))
		return refuse(mdev, -EINVAL, "packet pacing at %u kbit/s, %u to %u are possible",
			      limit, mdev->priv.rl_table.min_rate, mdev->priv.rl_table.max_rate);
	return context->devx_rights & MLX5_UCTX_CAP_RAW_TX ? 0 :
	       refuse(mdev, -EPERM,
		      "packet pacing: the process had no CAP_NET_RAW when it opened the device");
}

/**
 * mlx5_ib_pp_alloc - allocate a rate for a process
 * @context: context of the process
 * @rate: struct mlx5_ifc_set_pp_rate_limit_context_bits
 * @dedicated: take an entry that no other allocation shares
 *
 * mlx5_core sends SET_PP_RATE_LIMIT. A dedicated entry belongs to the user id of the process. A
 * shared entry belongs to no user id, and all users may name it, because every process that asks
 * for the same rate gets the same entry. May sleep.
 *
 * Return: the rate, or an ERR_PTR: -EOPNOTSUPP if the device does not let users allocate rates, or
 * does not support the bursts or packet sizes of @rate; -EINVAL in a context without a user id, or
 * for a rate that is out of the device's range; -EPERM if the process had no CAP_NET_RAW when it
 * opened the device; -ENOSPC if the table is full; -ENOMEM; or the errno of a firmware refusal.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_pp *mlx5_ib_pp_alloc(struct mlx5_ib_ucontext *context, void *rate, bool dedicated)
{
	int err = pp_check(context, rate);

	if (err)
		return ERR_PTR(err);

	struct mlx5_ib_pp *pp __free(kfree) = kzalloc_obj(*pp, GFP_KERNEL_ACCOUNT);

	if (!pp)
		return ERR_PTR(-ENOMEM);
	pp->dev = to_mdev(context->ibucontext.device);
	err = mlx5_ib_fw_add_rate(pp->dev, dedicated ? context->uid : MLX5_SHARED_RESOURCE_UID,
				  rate, dedicated, &pp->index);
	return err ? ERR_PTR(err) : no_free_ptr(pp);
}

/**
 * mlx5_ib_pp_free - free a rate
 * @pp: returned by mlx5_ib_pp_alloc()
 *
 * If no other allocation shares the entry, mlx5_core clears it by SET_PP_RATE_LIMIT, and queues
 * that still name the entry have no limit any more. May sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_pp_free(struct mlx5_ib_pp *pp)
{
	mlx5_ib_fw_remove_rate(pp->dev, pp->index);
	kfree(pp);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int pp_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
		      struct uverbs_attr_bundle *attrs)
{
	mlx5_ib_pp_free(uobj->object);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_PP_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE);
	u32 rate[MLX5_ST_SZ_DW(set_pp_rate_limit_context)] = {};
	struct mlx5_ib_pp *pp;
	u32 flags;
	int err;

	err = uverbs_get_flags32(&flags, attrs, MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS,
				 MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX);
	if (!err)
		err = uverbs_copy_from_or_zero(&rate, attrs, MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX);
	if (err)
		return err;
	pp = mlx5_ib_pp_alloc(to_mucontext(uobj->context), rate,
			      flags & MLX5_IB_UAPI_PP_ALLOC_FLAGS_DEDICATED_INDEX);
	if (IS_ERR(pp))
		return PTR_ERR(pp);
	uobj->object = pp;
	/* If the method fails after this call, ib_core destroys the object. */
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE);
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &pp->index,
			      sizeof(pp->index));
}

/* A process may pass a shorter struct; the driver takes the rest as zero. */
#define PP_CONTEXT	UVERBS_ATTR_SIZE(1, MLX5_ST_SZ_BYTES(set_pp_rate_limit_context))

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_PP_OBJ_ALLOC,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_PP,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, PP_CONTEXT,
					       UA_MANDATORY),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS,
						 enum mlx5_ib_uapi_pp_alloc_flags, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX,
						UVERBS_ATTR_TYPE(u16), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_PP_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_PP, UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_PP, UVERBS_TYPE_ALLOC_IDR(pp_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_PP_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_PP_OBJ_DESTROY));

const struct uapi_definition mlx5_ib_pp_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_PP),
	{},
};
