// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Action objects: what flow rules that a process has built do to headers. Methods of uverbs' object
 * for actions, see mlx5dv_create_flow_action_modify_header(3) and
 * mlx5dv_create_flow_action_packet_reformat(3).
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
#include "layout/refuse.h"

#define CHANGE_BYTES	MLX5_UN_SZ_BYTES(set_add_copy_action_in_auto)
/* mlx5_core has the number of changes in a byte. */
#define MAX_CHANGES	U8_MAX
#define MAX_HEADER_BYTES	SZ_2K

static struct mlx5_ib_flow_action *flow_action_alloc(struct mlx5_ib_ucontext *context, u32 ft_type,
						     enum mlx5_ib_flow_action_kind kind)
{
	struct mlx5_ib_flow_action *action __free(kfree) =
		kzalloc_obj(*action, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	int err;

	if (!action)
		return ERR_PTR(-ENOMEM);
	action->kind = kind;
	action->ibaction.device = &dev->ib_dev;
	err = mlx5_ib_flow_namespace(dev, ft_type, &action->ns) ?:
	      mlx5_ib_share_take(context, MLX5_IB_SHARE_FLOW, &action->share);
	return err ? ERR_PTR(err) : no_free_ptr(action);
}

/* Free an action object without an object of the device. Returns @err. */
static struct mlx5_ib_flow_action *flow_action_undo(struct mlx5_ib_flow_action *action, int err)
{
	mlx5_ib_share_undo(&action->share, err);
	kfree(action);
	return ERR_PTR(err);
}

/* How many changes of headers rules of a kind of tables can have. */
static u32 flow_max_changes(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type ns)
{
	switch (ns) {
	case MLX5_FLOW_NAMESPACE_BYPASS:
		return MLX5_CAP_FLOWTABLE_NIC_RX(mdev, max_modify_header_actions);
	case MLX5_FLOW_NAMESPACE_EGRESS:
		return MLX5_CAP_FLOWTABLE_NIC_TX(mdev, max_modify_header_actions);
	case MLX5_FLOW_NAMESPACE_RDMA_TX:
		return MLX5_CAP_FLOWTABLE_RDMA_TX(mdev, max_modify_header_actions);
	default:
		return 0;
	}
}

static int flow_check_changes(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type ns,
			      size_t len)
{
	u32 max = min(flow_max_changes(mdev, ns), MAX_CHANGES);

	if (!max)
		return refuse(mdev, -EOPNOTSUPP,
			      "change of headers in namespace %u, which the device does not offer (max_modify_header_actions)",
			      ns);
	if (!len || len % CHANGE_BYTES || len / CHANGE_BYTES > max)
		return refuse(mdev, -EINVAL, "change of headers of %zu bytes, at most %u of %zu",
			      len, max, CHANGE_BYTES);
	return 0;
}

/**
 * mlx5_ib_create_modify_header - create an action object that changes fields of headers
 * @context: context of the process
 * @ft_type: enum mlx5_ib_uapi_flow_table_type
 * @changes: union mlx5_ifc_set_add_copy_action_in_auto_bits
 * @len: bytes of @changes
 *
 * May sleep.
 *
 * Return: the object, which mlx5_ib_destroy_flow_action() destroys; or an ERR_PTR: -EOPNOTSUPP if
 * the device has no such tables or cannot change headers there; -EINVAL for a wrong number of
 * changes; -ENOMEM, also if the user has as many rules as a user can have; or the errno of a failed
 * command.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_flow_action *mlx5_ib_create_modify_header(struct mlx5_ib_ucontext *context,
							 u32 ft_type, void *changes, size_t len)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_ib_flow_action *action;
	struct mlx5_modify_hdr *hdr;
	int err;

	action = flow_action_alloc(context, ft_type, MLX5_IB_FLOW_MODIFY_HEADER);
	if (IS_ERR(action))
		return action;
	err = flow_check_changes(dev->mdev, action->ns, len);
	if (err)
		return flow_action_undo(action, err);
	hdr = mlx5_ib_fw_alloc_modify_header(dev, action->ns, len / CHANGE_BYTES, changes);
	if (IS_ERR(hdr))
		return flow_action_undo(action, PTR_ERR(hdr));
	action->hdr = hdr;
	return action;
}

/* Kinds of reformatting. A packet loses the headers of a tunnel of layer 2 without an object. */
static const struct {
	enum mlx5_ib_flow_action_kind kind;
	u8 type;
	bool has_data;
} reformats[] = {
	[MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2] = {
		MLX5_IB_FLOW_DECAP, 0, false },
	[MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL] = {
		MLX5_IB_FLOW_REFORMAT, MLX5_REFORMAT_TYPE_L2_TO_L2_TUNNEL, true },
	[MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2] = {
		MLX5_IB_FLOW_REFORMAT, MLX5_REFORMAT_TYPE_L3_TUNNEL_TO_L2, true },
	[MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL] = {
		MLX5_IB_FLOW_REFORMAT, MLX5_REFORMAT_TYPE_L2_TO_L3_TUNNEL, true },
};

static bool flow_has_reformat(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type ns,
			      u32 type)
{
	bool rx = ns == MLX5_FLOW_NAMESPACE_BYPASS, tx = ns == MLX5_FLOW_NAMESPACE_EGRESS;

	switch (type) {
	case MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2:
		return rx && MLX5_CAP_FLOWTABLE_NIC_RX(mdev, decap);
	case MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL:
		return tx && MLX5_CAP_FLOWTABLE_NIC_TX(mdev, reformat);
	case MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2:
		return rx && MLX5_CAP_FLOWTABLE_NIC_RX(mdev, reformat_l3_tunnel_to_l2);
	case MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL:
		return tx && MLX5_CAP_FLOWTABLE_NIC_TX(mdev, reformat_l2_to_l3_tunnel);
	default:
		return false;
	}
}

static int flow_check_reformat(struct mlx5_core_dev *mdev, enum mlx5_flow_namespace_type ns,
			       u32 type, size_t len)
{
	if (!flow_has_reformat(mdev, ns, type))
		return refuse(mdev, -EOPNOTSUPP,
			      "reformat of type %u in namespace %u, which the device does not offer",
			      type, ns);
	if (!!len != reformats[type].has_data ||
	    len > MLX5_CAP_FLOWTABLE(mdev, max_encap_header_size))
		return refuse(mdev, -EINVAL, "reformat of type %u with %zu bytes, at most %u", type,
			      len, MLX5_CAP_FLOWTABLE(mdev, max_encap_header_size));
	return 0;
}

/**
 * mlx5_ib_create_reformat - create an action object that puts headers around packets, or takes
 *	headers off
 * @context: context of the process
 * @ft_type: enum mlx5_ib_uapi_flow_table_type
 * @type: enum mlx5_ib_uapi_flow_action_packet_reformat_type
 * @data: the headers
 * @len: bytes of @data
 *
 * May sleep.
 *
 * Return: the object, which mlx5_ib_destroy_flow_action() destroys; or an ERR_PTR: -EOPNOTSUPP if
 * the device has no such tables or cannot do that there; -EINVAL for a wrong length; -ENOMEM, also
 * if the user has as many rules as a user can have; or the errno of a failed command.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_flow_action *mlx5_ib_create_reformat(struct mlx5_ib_ucontext *context, u32 ft_type,
						    u32 type, void *data, size_t len)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_pkt_reformat_params params = { .size = len, .data = data };
	struct mlx5_pkt_reformat *reformat;
	struct mlx5_ib_flow_action *action;
	int err;

	action = flow_action_alloc(context, ft_type, MLX5_IB_FLOW_REFORMAT);
	if (IS_ERR(action))
		return action;
	err = flow_check_reformat(dev->mdev, action->ns, type, len);
	if (err)
		return flow_action_undo(action, err);
	action->kind = reformats[type].kind;
	if (action->kind == MLX5_IB_FLOW_DECAP)
		return action;
	params.type = reformats[type].type;
	reformat = mlx5_ib_fw_alloc_reformat(dev, action->ns, &params);
	if (IS_ERR(reformat))
		return flow_action_undo(action, PTR_ERR(reformat));
	action->reformat = reformat;
	return action;
}

/**
 * mlx5_ib_destroy_flow_action - destroy an action object
 * @ibaction: the object; ib_core has checked that no rule has it
 *
 * May sleep.
 *
 * Return: 0: if firmware refuses to destroy an object, mlx5_core logs it and forgets the object.
 */
int mlx5_ib_destroy_flow_action(struct ib_flow_action *ibaction)
{
	struct mlx5_ib_flow_action *action = to_mflow_action(ibaction);
	struct mlx5_ib_dev *dev = to_mdev(ibaction->device);

	if (action->kind == MLX5_IB_FLOW_MODIFY_HEADER)
		mlx5_ib_fw_dealloc_modify_header(dev, action->hdr);
	if (action->kind == MLX5_IB_FLOW_REFORMAT)
		mlx5_ib_fw_dealloc_reformat(dev, action->reformat);
	mlx5_ib_share_give(&action->share);
	kfree(action);
	return 0;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int flow_action_publish(struct ib_uobject *uobj, struct mlx5_ib_flow_action *action)
{
	if (IS_ERR(action))
		return PTR_ERR(action);
	uverbs_flow_action_fill_action(&action->ibaction, uobj, uobj->context->device,
				       IB_FLOW_ACTION_UNSPECIFIED);
	return 0;
}

static int flow_action_check_right(struct ib_uobject *uobj)
{
	if (rdma_dev_has_raw_cap(uobj->context->device))
		return 0;
	return refuse(to_mdev(uobj->context->device)->mdev, -EPERM,
		      "flow action without CAP_NET_RAW");
}

static int
UVERBS_HANDLER(MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE);
	const u16 changes = MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM;
	struct mlx5_ib_flow_action *action;
	u32 ft_type;
	int err;

	err = flow_action_check_right(uobj) ?:
	      uverbs_get_const(&ft_type, attrs, MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE);
	if (err)
		return err;
	action = mlx5_ib_create_modify_header(to_mucontext(uobj->context), ft_type,
					      uverbs_attr_get_alloced_ptr(attrs, changes),
					      uverbs_attr_get_len(attrs, changes));
	return flow_action_publish(uobj, action);
}

static int
UVERBS_HANDLER(MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE);
	const u16 data = MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF;
	struct mlx5_ib_flow_action *action;
	void *headers = NULL;
	u32 ft_type, type;
	size_t len = 0;
	int err;

	err = flow_action_check_right(uobj) ?:
	      uverbs_get_const(&ft_type, attrs, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE) ?:
	      uverbs_get_const(&type, attrs, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE);
	if (err)
		return err;
	if (uverbs_attr_is_valid(attrs, data)) {
		headers = uverbs_attr_get_alloced_ptr(attrs, data);
		len = uverbs_attr_get_len(attrs, data);
	}
	action = mlx5_ib_create_reformat(to_mucontext(uobj->context), ft_type, type, headers, len);
	return flow_action_publish(uobj, action);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE,
					    UVERBS_OBJECT_FLOW_ACTION, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM,
					       UVERBS_ATTR_SIZE(CHANGE_BYTES,
								MAX_CHANGES * CHANGE_BYTES),
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE,
						 enum mlx5_ib_uapi_flow_table_type, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE,
					    UVERBS_OBJECT_FLOW_ACTION, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF,
					       UVERBS_ATTR_SIZE(1, MAX_HEADER_BYTES), UA_OPTIONAL,
					       UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE,
						 enum mlx5_ib_uapi_flow_action_packet_reformat_type,
						 UA_MANDATORY),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE,
						 enum mlx5_ib_uapi_flow_table_type, UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_flow_action_methods, UVERBS_OBJECT_FLOW_ACTION,
		   &UVERBS_METHOD(MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER),
		   &UVERBS_METHOD(MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT));

const struct uapi_definition mlx5_ib_flow_action_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_FLOW_ACTION, &mlx5_ib_flow_action_methods),
	{},
};
