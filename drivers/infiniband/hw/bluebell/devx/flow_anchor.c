// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Steering anchors: a process that builds flow tables of its own, by commands or in memory of the
 * device, sends packets to an anchor to have them go on at a priority of the tables that processes
 * share. The ioctl object MLX5_IB_OBJECT_STEERING_ANCHOR, see mlx5dv_create_steering_anchor(3).
 *
 * The commands of a process can name only tables of its own user id, and tables for all users. So
 * an anchor is a table for all users, with one rule that sends all packets to the table of the
 * priority. The table is in no chain of mlx5_core: only packets that a process sends there pass it.
 * Firmware refuses to destroy the table while an entry of a process names it.
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
#include "fw/fw.h"
#include "fw/fw_flow.h"
#include "layout/layout_devx.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/flow_table.h"
#include "lib/orphan.h"

/* The longest of the commands that create a part of an anchor. */
#define CMD_BYTES	MLX5_ST_SZ_BYTES(create_flow_group_in)
static_assert(CMD_BYTES >= MLX5_IB_ANCHOR_ENTRY_BYTES);

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

/*
 * Send a command that creates the next part of an anchor. mlx5_core could create a table, too, but
 * would forget the table if firmware refused to destroy it, as firmware does while an entry of a
 * process names the table.
 */
static int anchor_create_part(struct mlx5_ib_flow_anchor *anchor, u16 uid, void *in, size_t in_len)
{
	const struct mlx5_ib_devx_cmd *cmd =
		mlx5_ib_devx_find_cmd(MLX5_GET(general_obj_in_cmd_hdr, in, opcode));
	struct mlx5_ib_flow_part *part = &anchor->parts[anchor->num];
	u32 out[MLX5_ST_SZ_DW(create_flow_table_out)] = {};
	int err;

	err = mlx5_ib_fw_exec(anchor->dev, uid, in, in_len, out, sizeof(out));
	if (err)
		return err;
	mlx5_ib_devx_read_id(cmd, in, out, &part->id);
	part->destroy_size = mlx5_ib_devx_fill_destroy(cmd, &part->id, in, in_len, part->destroy);
	anchor->num++;
	return 0;
}

/* Only the table is for all users: its group and its entry are the kernel's. */
static int anchor_create_parts(struct mlx5_ib_flow_anchor *anchor, u8 table_type, void *in)
{
	u32 next = mlx5_ib_fw_flow_table_id(anchor->next->core);
	struct mlx5_ib_flow_part *parts = anchor->parts;
	int err;

	mlx5_ib_fill_anchor_table(in, table_type);
	err = anchor_create_part(anchor, MLX5_SHARED_RESOURCE_UID, in,
				 MLX5_ST_SZ_BYTES(create_flow_table_in));
	if (err)
		return err;
	memset(in, 0, CMD_BYTES);
	mlx5_ib_fill_anchor_group(in, table_type, parts[MLX5_IB_ANCHOR_TABLE].id.num);
	err = anchor_create_part(anchor, MLX5_IB_KERNEL_UID, in,
				 MLX5_ST_SZ_BYTES(create_flow_group_in));
	if (err)
		return err;
	memset(in, 0, CMD_BYTES);
	mlx5_ib_fill_anchor_entry(in, table_type, parts[MLX5_IB_ANCHOR_TABLE].id.num,
				  parts[MLX5_IB_ANCHOR_GROUP].id.num, next);
	return anchor_create_part(anchor, MLX5_IB_KERNEL_UID, in, MLX5_IB_ANCHOR_ENTRY_BYTES);
}

/*
 * Destroy the last part of an anchor. If firmware does not answer DESTROY_FLOW_TABLE, the table may
 * be gone, and its number may be that of a table of mlx5_core: do not send the command again, but
 * let the anchor go on counting.
 */
static int anchor_send_destroy(struct mlx5_ib_flow_anchor *anchor)
{
	struct mlx5_ib_flow_part *part = &anchor->parts[anchor->num - 1];
	u32 out[MLX5_ST_SZ_DW(destroy_flow_table_out)] = {};
	int err;

	if (anchor->num - 1 != MLX5_IB_ANCHOR_TABLE)
		return mlx5_ib_fw_send_destroy(anchor->dev, MLX5_IB_KERNEL_UID, part->destroy,
					       part->destroy_size, &part->attempt);
	err = mlx5_ib_fw_exec(anchor->dev, MLX5_IB_KERNEL_UID, part->destroy, part->destroy_size,
			      out, sizeof(out));
	part->attempt.failed |= err;
	if (err != -ETIMEDOUT)
		return err;
	mlx5_ib_share_keep(&anchor->share);
	return 0;
}

/* Firmware has refused to destroy the last part of an anchor that has no owner any more. */
static void anchor_adopt(struct mlx5_ib_flow_anchor *anchor)
{
	static const char * const names[] = {
		[MLX5_IB_ANCHOR_TABLE] = "flow table of an anchor",
		[MLX5_IB_ANCHOR_GROUP] = "flow group of an anchor",
		[MLX5_IB_ANCHOR_ENTRY] = "flow table entry of an anchor",
	};
	struct mlx5_ib_flow_part *part = &anchor->parts[anchor->num - 1];
	struct mlx5_ib_queue_mem mem = { .context = anchor->context };

	if (anchor->num - 1 == MLX5_IB_ANCHOR_TABLE) {
		mem.share = anchor->share;
		anchor->share = (struct mlx5_ib_share){};
	}
	mlx5_ib_orphan_adopt_quietly(anchor->dev, MLX5_IB_KERNEL_UID, part->destroy,
				     part->destroy_size, part->id.num, &part->attempt,
				     names[anchor->num - 1], &mem);
}

static int anchor_destroy_parts(struct mlx5_ib_flow_anchor *anchor, bool last)
{
	int err;

	for (; anchor->num; anchor->num--) {
		err = anchor_send_destroy(anchor);
		if (err && !last)
			return err;
		if (err)
			anchor_adopt(anchor);
	}
	return 0;
}

static int anchor_create(struct mlx5_ib_flow_anchor *anchor, enum mlx5_flow_namespace_type type,
			 u16 priority)
{
	void *in __free(kfree) = kzalloc(CMD_BYTES, GFP_KERNEL_ACCOUNT);
	bool rx = type == MLX5_FLOW_NAMESPACE_BYPASS;
	int err;

	if (!in)
		return -ENOMEM;
	anchor->next = mlx5_ib_flow_table_get(anchor->dev, type,
					      rx ? mlx5_ib_flow_prio(priority, false) : priority);
	if (IS_ERR(anchor->next))
		return PTR_ERR(anchor->next);
	err = anchor_create_parts(anchor, rx ? MLX5_FLOW_TABLE_TYPE_NIC_RX :
					       MLX5_FLOW_TABLE_TYPE_NIC_TX, in);
	if (!err)
		return 0;
	anchor_destroy_parts(anchor, true);
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
	anchor->context = context;
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
 * @last: the last attempt: what firmware refuses to destroy becomes an orphan (orphan.c)
 *
 * May sleep.
 *
 * Return: 0, and then @anchor is freed; or, without @last, the errno of a failed command, after
 * which the anchor still counts, but perhaps sends no packets on any more.
 */
VISIBLE_IF_KUNIT int mlx5_ib_destroy_flow_anchor(struct mlx5_ib_flow_anchor *anchor, bool last)
{
	int err = anchor_destroy_parts(anchor, last);

	if (err)
		return err;
	mlx5_ib_flow_table_put(anchor->dev, anchor->next);
	mlx5_ib_share_give(&anchor->share);
	kfree(anchor);
	return 0;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int flow_anchor_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			       struct uverbs_attr_bundle *attrs)
{
	return mlx5_ib_destroy_flow_anchor(uobj->object, why != RDMA_REMOVE_DESTROY);
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
	id = anchor->parts[MLX5_IB_ANCHOR_TABLE].id.num;
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
