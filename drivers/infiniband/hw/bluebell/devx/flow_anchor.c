// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Steering anchors: a process that builds flow tables of its own, by commands or in memory of the
 * device, sends packets to an anchor to have them go on at a priority of the tables that processes
 * share. The ioctl object MLX5_IB_OBJECT_STEERING_ANCHOR, see mlx5dv_create_steering_anchor(3).
 *
 * The commands of a process can name only tables of its own user id, and tables for all users. So
 * an anchor is a table for all users, with one rule that sends all packets to the table of the
 * priority. The table is in no chain of mlx5_core: only packets that a process sends there pass it.
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/flow_raw.h"
#include "fw/bluebell.h"
#include "fw/fw_flow.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/flow_table.h"

static bool anchor_is_offered(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type type)
{
	if (type == MLX5_FLOW_NAMESPACE_BYPASS)
		return MLX5_CAP_FLOWTABLE_NIC_RX(mdev, ignore_flow_level);
	return type == MLX5_FLOW_NAMESPACE_EGRESS &&
	       MLX5_CAP_FLOWTABLE_NIC_TX(mdev, ignore_flow_level);
}

static int anchor_check(struct mlx5_ib_dev *dev, enum mlx5_flow_namespace_type type, u16 priority)
{
	if (priority >= MLX5_IB_FLOW_PRIORITIES)
		return refuse(dev->mdev, -EINVAL, "steering anchor of priority %u, there are %u",
			      priority, MLX5_IB_FLOW_PRIORITIES);
	return anchor_is_offered(dev->mdev, type) ? 0 :
	       refuse(dev->mdev, -EOPNOTSUPP,
		      "steering anchor in namespace %u, which needs ignore_flow_level", type);
}

/* Make the anchor's own table, and the rule in it. On failure there is neither. */
static int anchor_fill(struct mlx5_ib_flow_anchor *anchor, enum mlx5_flow_namespace_type type,
		       u32 prio)
{
	struct mlx5_flow_spec *spec __free(kfree) = kzalloc_obj(*spec, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_flow_target target = {
		.act = {
			.action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
			.flags = FLOW_ACT_IGNORE_FLOW_LEVEL,
		},
		.dest = {{
			.type = MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE, .ft = anchor->next->core,
		}},
		.num = 1,
	};
	struct mlx5_flow_table_attr attr = {
		.prio = prio, .max_fte = 1, .autogroup.max_num_groups = 1,
		.flags = MLX5_FLOW_TABLE_UNMANAGED, .uid = MLX5_SHARED_RESOURCE_UID,
	};

	if (!spec)
		return -ENOMEM;
	anchor->table = mlx5_ib_fw_create_flow_table(anchor->dev,
						     mlx5_ib_fw_flow_namespace(anchor->dev,
									       type), &attr);
	if (IS_ERR(anchor->table))
		return PTR_ERR(anchor->table);
	anchor->rule = mlx5_ib_fw_add_flow_rule(anchor->dev, anchor->table, spec, &target);
	if (!IS_ERR(anchor->rule))
		return 0;
	mlx5_ib_fw_destroy_flow_table(anchor->dev, anchor->table);
	return PTR_ERR(anchor->rule);
}

static int anchor_create(struct mlx5_ib_flow_anchor *anchor, enum mlx5_flow_namespace_type type,
			 u16 priority)
{
	u32 prio = type == MLX5_FLOW_NAMESPACE_BYPASS ? mlx5_ib_flow_prio(priority, false) :
							priority;
	int err;

	anchor->next = mlx5_ib_flow_table_get(anchor->dev, type, prio);
	if (IS_ERR(anchor->next))
		return PTR_ERR(anchor->next);
	err = anchor_fill(anchor, type, prio);
	if (err)
		mlx5_ib_flow_table_put(anchor->dev, anchor->next);
	return err;
}

/**
 * mlx5_ib_create_flow_anchor - create a steering anchor
 * @context: context of the process
 * @ft_type: enum mlx5_ib_uapi_flow_table_type
 * @priority: less than MLX5_IB_FLOW_PRIORITIES
 *
 * May sleep.
 *
 * Return: the anchor, or an ERR_PTR: -EOPNOTSUPP if the device has no such tables, or no rules that
 * send packets back to tables that come earlier; -EINVAL for a priority that does not exist;
 * -ENOMEM, also if the user has as many rules as a user can have; or the errno of a failed command.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_flow_anchor *mlx5_ib_create_flow_anchor(struct mlx5_ib_ucontext *context,
						       u32 ft_type, u16 priority)
{
	struct mlx5_ib_flow_anchor *anchor __free(kfree) =
		kzalloc_obj(*anchor, GFP_KERNEL_ACCOUNT);
	enum mlx5_flow_namespace_type type;
	int err;

	if (!anchor)
		return ERR_PTR(-ENOMEM);
	anchor->dev = to_mdev(context->ibucontext.device);
	err = mlx5_ib_flow_namespace(anchor->dev, ft_type, &type) ?:
	      anchor_check(anchor->dev, type, priority) ?:
	      mlx5_ib_share_take(context, MLX5_IB_SHARE_FLOW, &anchor->share);
	if (err)
		return ERR_PTR(err);
	err = anchor_create(anchor, type, priority);
	if (!err)
		return no_free_ptr(anchor);
	mlx5_ib_share_undo(&anchor->share, err);
	return ERR_PTR(err);
}

/**
 * mlx5_ib_destroy_flow_anchor - destroy a steering anchor
 * @anchor: the anchor
 *
 * May sleep.
 */
VISIBLE_IF_KUNIT void mlx5_ib_destroy_flow_anchor(struct mlx5_ib_flow_anchor *anchor)
{
	mlx5_ib_fw_del_flow_rule(anchor->dev, anchor->rule);
	mlx5_ib_fw_destroy_flow_table(anchor->dev, anchor->table);
	mlx5_ib_flow_table_put(anchor->dev, anchor->next);
	mlx5_ib_share_give(&anchor->share);
	kfree(anchor);
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int flow_anchor_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			       struct uverbs_attr_bundle *attrs)
{
	mlx5_ib_destroy_flow_anchor(uobj->object);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_STEERING_ANCHOR_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_STEERING_ANCHOR_CREATE_HANDLE);
	struct mlx5_ib_dev *dev = to_mdev(uobj->context->device);
	struct mlx5_ib_flow_anchor *anchor;
	u32 ft_type, id;
	u16 priority;
	int err;

	if (!rdma_dev_has_raw_cap(&dev->ib_dev))
		return refuse(dev->mdev, -EPERM, "steering anchor without CAP_NET_RAW");
	err = uverbs_get_const(&ft_type, attrs, MLX5_IB_ATTR_STEERING_ANCHOR_FT_TYPE) ?:
	      uverbs_copy_from(&priority, attrs, MLX5_IB_ATTR_STEERING_ANCHOR_PRIORITY);
	if (err)
		return err;
	anchor = mlx5_ib_create_flow_anchor(to_mucontext(uobj->context), ft_type, priority);
	if (IS_ERR(anchor))
		return PTR_ERR(anchor);
	uobj->object = anchor;
	/* If the method fails after this call, ib_core destroys the object. */
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_STEERING_ANCHOR_CREATE_HANDLE);
	id = mlx5_flow_table_id(anchor->table);
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_STEERING_ANCHOR_FT_ID, &id, sizeof(id));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_STEERING_ANCHOR_CREATE,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_STEERING_ANCHOR_CREATE_HANDLE,
					    MLX5_IB_OBJECT_STEERING_ANCHOR, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_STEERING_ANCHOR_FT_TYPE,
						 enum mlx5_ib_uapi_flow_table_type, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_STEERING_ANCHOR_PRIORITY,
					       UVERBS_ATTR_TYPE(u16), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_STEERING_ANCHOR_FT_ID,
						UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_STEERING_ANCHOR_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_STEERING_ANCHOR,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_STEERING_ANCHOR,
			    UVERBS_TYPE_ALLOC_IDR(flow_anchor_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_STEERING_ANCHOR_CREATE),
			    &UVERBS_METHOD(MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY));

const struct uapi_definition mlx5_ib_flow_anchor_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_STEERING_ANCHOR,
				      UAPI_DEF_IS_OBJ_SUPPORTED(mlx5_ib_flow_is_supported)),
	{},
};
