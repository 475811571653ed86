// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Matchers: criteria of flow rules that a process has built itself, for rules in one table. The
 * ioctl object MLX5_IB_OBJECT_FLOW_MATCHER, see mlx5dv_create_flow_matcher(3).
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
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/flow_table.h"
#include "verbs/flow.h"

static const struct {
	bool exists;
	enum mlx5_flow_namespace_type type;
} namespaces[] = {
	[MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX] = { true, MLX5_FLOW_NAMESPACE_BYPASS },
	[MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX] = { true, MLX5_FLOW_NAMESPACE_EGRESS },
	[MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_RX] = { true, MLX5_FLOW_NAMESPACE_RDMA_RX },
	[MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX] = { true, MLX5_FLOW_NAMESPACE_RDMA_TX },
};

/**
 * mlx5_ib_flow_is_supported - whether processes can have flow rules
 * @ibdev: device
 *
 * Return: true if the device has tables for them.
 */
bool mlx5_ib_flow_is_supported(struct ib_device *ibdev)
{
	return mlx5_ib_has_flows(to_mdev(ibdev));
}

/**
 * mlx5_ib_flow_namespace - find the tables that a process means
 * @dev: device
 * @ft_type: enum mlx5_ib_uapi_flow_table_type. The tables of an e-switch (FDB), and those of other
 *	functions' RDMA packets (RDMA_TRANSPORT), belong to devices that the driver does not serve
 * @type: gets the kind of tables
 *
 * Return: 0; or -EOPNOTSUPP for tables that the device or the driver does not have.
 */
int mlx5_ib_flow_namespace(struct mlx5_ib_dev *dev, u32 ft_type,
			   enum mlx5_flow_namespace_type *type)
{
	if (ft_type >= ARRAY_SIZE(namespaces) || !namespaces[ft_type].exists ||
	    !mlx5_ib_has_flow_namespace(dev, namespaces[ft_type].type))
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "flow tables of type %u, which the device or the driver does not have",
			      ft_type);
	*type = namespaces[ft_type].type;
	return 0;
}

/* The flag EGRESS says again what the type of the tables says. */
static int matcher_check(struct mlx5_ib_dev *dev, const struct mlx5_ib_flow_matcher_attr *attr)
{
	bool nic_rx = attr->ft_type == MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;

	if (attr->priority >= MLX5_IB_FLOW_PRIORITIES)
		return refuse(dev->mdev, -EINVAL, "flow matcher of priority %u, there are %u",
			      attr->priority, MLX5_IB_FLOW_PRIORITIES);
	if (attr->flags & ~(IB_FLOW_ATTR_FLAGS_DONT_TRAP | IB_FLOW_ATTR_FLAGS_EGRESS))
		return refuse(dev->mdev, -EINVAL, "flow matcher with flags 0x%x", attr->flags);
	if (attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS &&
	    attr->ft_type != MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX)
		return refuse(dev->mdev, -EINVAL, "flow matcher with EGRESS, of table type %u",
			      attr->ft_type);
	if (!(attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP))
		return 0;
	if (!nic_rx)
		return refuse(dev->mdev, -EINVAL, "flow matcher with DONT_TRAP, of table type %u",
			      attr->ft_type);
	return MLX5_CAP_FLOWTABLE(dev->mdev, nic_rx_multi_path_tirs) ? 0 :
	       refuse(dev->mdev, -EOPNOTSUPP,
		      "flow matcher with DONT_TRAP: the device sends a packet to one place only (nic_rx_multi_path_tirs)");
}

/**
 * mlx5_ib_create_flow_matcher - create a matcher
 * @dev: device
 * @attr: what the process asks for
 *
 * The device gets the criteria with the first rule.
 *
 * Return: the matcher, or an ERR_PTR: -EOPNOTSUPP for tables that the device does not have, and for
 * criteria that are longer than those of the device; -EINVAL for invalid or contradictory
 * attributes; or -ENOMEM.
 */
VISIBLE_IF_KUNIT struct mlx5_ib_flow_matcher *
mlx5_ib_create_flow_matcher(struct mlx5_ib_dev *dev, const struct mlx5_ib_flow_matcher_attr *attr)
{
	struct mlx5_ib_flow_matcher *matcher __free(kfree) =
		kzalloc_obj(*matcher, GFP_KERNEL_ACCOUNT);
	struct mlx5_flow_spec *spec __free(kfree) = kzalloc_obj(*spec, GFP_KERNEL_ACCOUNT);
	int err;

	if (!matcher || !spec)
		return ERR_PTR(-ENOMEM);
	err = matcher_check(dev, attr) ?:
	      mlx5_ib_flow_namespace(dev, attr->ft_type, &matcher->type) ?:
	      mlx5_ib_flow_fill_mask(spec, attr->enable, attr->mask, attr->len);
	if (err)
		return ERR_PTR(err);
	matcher->dev = dev;
	matcher->dont_trap = attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	matcher->prio = matcher->type == MLX5_FLOW_NAMESPACE_BYPASS ?
			mlx5_ib_flow_prio(attr->priority, matcher->dont_trap) : attr->priority;
	matcher->enable = spec->match_criteria_enable;
	memcpy(matcher->criteria, spec->match_criteria, sizeof(matcher->criteria));
	return no_free_ptr(matcher);
}

/**
 * mlx5_ib_destroy_flow_matcher - destroy a matcher
 * @matcher: the matcher
 *
 * Return: 0, or -EBUSY if the matcher has rules.
 */
VISIBLE_IF_KUNIT int mlx5_ib_destroy_flow_matcher(struct mlx5_ib_flow_matcher *matcher)
{
	int rules = atomic_read(&matcher->rules);

	if (rules)
		return refuse(matcher->dev->mdev, -EBUSY, "destruction of a matcher with %d rules",
			      rules);
	kfree(matcher);
	return 0;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int flow_matcher_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
				struct uverbs_attr_bundle *attrs)
{
	return mlx5_ib_destroy_flow_matcher(uobj->object);
}

/* Read the attributes. Libraries before the attribute for the type of the tables set EGRESS. */
static int matcher_read_attrs(struct uverbs_attr_bundle *attrs,
			      struct mlx5_ib_flow_matcher_attr *attr)
{
	u32 def;
	int err;

	attr->mask = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK);
	attr->len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK);
	err = uverbs_copy_from(&attr->priority, attrs, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE) ?:
	      uverbs_copy_from(&attr->enable, attrs, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA) ?:
	      uverbs_get_flags32(&attr->flags, attrs, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS,
				 IB_FLOW_ATTR_FLAGS_RESERVED - 1);
	if (err)
		return err;
	def = attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS ? MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_TX :
							MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX;
	return uverbs_get_const_default(&attr->ft_type, attrs, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE,
					def);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_FLOW_MATCHER_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE);
	struct mlx5_ib_dev *dev = to_mdev(uobj->context->device);
	struct mlx5_ib_flow_matcher_attr attr = {};
	struct mlx5_ib_flow_matcher *matcher;
	int err;

	if (!rdma_dev_has_raw_cap(&dev->ib_dev))
		return refuse(dev->mdev, -EPERM, "flow matcher without CAP_NET_RAW");
	err = matcher_read_attrs(attrs, &attr);
	if (err)
		return err;
	matcher = mlx5_ib_create_flow_matcher(dev, &attr);
	if (IS_ERR(matcher))
		return PTR_ERR(matcher);
	uobj->object = matcher;
	return 0;
}

/* Of the types of rules, the library passes only IB_FLOW_ATTR_NORMAL, with the priority. */
static const struct uverbs_attr_spec flow_types[] = {
	[MLX5_IB_FLOW_TYPE_NORMAL] = {
		.type = UVERBS_ATTR_TYPE_PTR_IN, UVERBS_ATTR_TYPE(u16),
	},
};

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_FLOW_MATCHER_CREATE,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE,
					    MLX5_IB_OBJECT_FLOW_MATCHER, UVERBS_ACCESS_NEW,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK,
					       MLX5_IB_MATCH_PARAMS,
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_ENUM_IN(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, flow_types,
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA,
					       UVERBS_ATTR_TYPE(u8), UA_MANDATORY),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS,
						 enum ib_flow_flags, UA_OPTIONAL),
			    UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE,
						 enum mlx5_ib_uapi_flow_table_type, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_FLOW_MATCHER_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_FLOW_MATCHER_DESTROY_HANDLE,
						    MLX5_IB_OBJECT_FLOW_MATCHER,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_FLOW_MATCHER,
			    UVERBS_TYPE_ALLOC_IDR(flow_matcher_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_FLOW_MATCHER_CREATE),
			    &UVERBS_METHOD(MLX5_IB_METHOD_FLOW_MATCHER_DESTROY));

const struct uapi_definition mlx5_ib_flow_matcher_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_FLOW_MATCHER,
				      UAPI_DEF_IS_OBJ_SUPPORTED(mlx5_ib_flow_is_supported)),
	{},
};
