// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules that a process builds itself, for the criteria of a matcher: the method
 * MLX5_IB_METHOD_CREATE_FLOW of uverbs' object for flow rules, see mlx5dv_create_flow(3).
 */

#include <kunit/visibility.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "devx/devx_obj.h"
#include "devx/flow_raw.h"
#include "fw/bluebell.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "verbs/flow.h"
#include "verbs/qp.h"

#define MAX_ACTIONS	8	/* as in libmlx5 */

static void raw_add_dest(struct mlx5_ib_flow_target *target, struct mlx5_flow_destination dest)
{
	target->act.action |= MLX5_FLOW_CONTEXT_ACTION_FWD_DEST;
	target->dest[target->num++] = dest;
}

static int raw_to_qp(const struct mlx5_ib_flow_matcher *matcher, struct ib_qp *qp,
		     struct mlx5_ib_flow_target *target)
{
	u32 tirn;
	int err;

	if (matcher->type != MLX5_FLOW_NAMESPACE_BYPASS)
		return refuse(matcher->dev->mdev, -EINVAL,
			      "flow rule in namespace %u for QP 0x%x", matcher->type, qp->qp_num);
	err = mlx5_ib_qp_tirn(to_mqp(qp), &tirn);
	if (err)
		return err;
	raw_add_dest(target, (struct mlx5_flow_destination){
		.type = MLX5_FLOW_DESTINATION_TYPE_TIR, .tir_num = tirn,
	});
	return 0;
}

static int raw_to_devx(const struct mlx5_ib_flow_matcher *matcher,
		       const struct mlx5_ib_devx_id *id, struct mlx5_ib_flow_target *target)
{
	if (id->kind == MLX5_IB_DEVX_TIR && matcher->type == MLX5_FLOW_NAMESPACE_BYPASS) {
		raw_add_dest(target, (struct mlx5_flow_destination){
			.type = MLX5_FLOW_DESTINATION_TYPE_TIR, .tir_num = id->num,
		});
		return 0;
	}
	if (id->kind != MLX5_IB_DEVX_FLOW_TABLE || matcher->dont_trap)
		return refuse(matcher->dev->mdev, -EINVAL,
			      "flow rule in namespace %u for an object that takes no packets there, %s 0x%x",
			      matcher->type, mlx5_ib_devx_kinds[id->kind].name, id->num);
	raw_add_dest(target, (struct mlx5_flow_destination){
		.type = MLX5_FLOW_DESTINATION_TYPE_FLOW_TABLE_NUM, .ft_num = id->num,
	});
	return 0;
}

/* The packets go on as if no process had a rule for them. */
static int raw_to_default(const struct mlx5_ib_flow_matcher *matcher,
			  struct mlx5_ib_flow_target *target)
{
	struct mlx5_core_dev *mdev = matcher->dev->mdev;

	if (matcher->type != MLX5_FLOW_NAMESPACE_BYPASS || matcher->dont_trap)
		return refuse(mdev, -EINVAL, "flow rule in namespace %u with DEFAULT_MISS",
			      matcher->type);
	if (!MLX5_CAP_FLOWTABLE(mdev, nic_rx_multi_path_tirs))
		return refuse(mdev, -EOPNOTSUPP,
			      "flow rule with DEFAULT_MISS, which needs nic_rx_multi_path_tirs");
	target->act.action |= MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_NS;
	return 0;
}

/*
 * A received packet has to go somewhere. A packet that is sent, or that is received for RDMA, goes
 * on if the rule does not say otherwise.
 */
static int raw_to_nowhere(const struct mlx5_ib_flow_matcher *matcher,
			  struct mlx5_ib_flow_target *target)
{
	if (matcher->type == MLX5_FLOW_NAMESPACE_BYPASS)
		return refuse(matcher->dev->mdev, -EINVAL,
			      "flow rule that does not say where packets go");
	target->act.action |= MLX5_FLOW_CONTEXT_ACTION_ALLOW;
	return 0;
}

static int raw_fill_dest(const struct mlx5_ib_flow_matcher *matcher,
			 const struct mlx5_ib_flow_raw_attr *attr,
			 struct mlx5_ib_flow_target *target)
{
	bool drop = attr->flags & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP;
	bool miss = attr->flags & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS;
	bool devx = attr->dest.kind;

	if (drop + miss + devx + !!attr->qp > 1 || (drop && matcher->dont_trap))
		return refuse(matcher->dev->mdev, -EINVAL,
			      "flow rule to a queue pair %u, DEVX object %u, flags 0x%x, DONT_TRAP %u",
			      !!attr->qp, devx, attr->flags, matcher->dont_trap);
	if (drop)
		target->act.action |= MLX5_FLOW_CONTEXT_ACTION_DROP;
	if (matcher->dont_trap)
		target->act.action |= MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_PRIO;
	if (drop)
		return 0;
	if (miss)
		return raw_to_default(matcher, target);
	if (attr->qp)
		return raw_to_qp(matcher, attr->qp, target);
	return devx ? raw_to_devx(matcher, &attr->dest, target) : raw_to_nowhere(matcher, target);
}

/* Add an action object. The bit of each kind may be set once only. */
static int raw_fill_action(const struct mlx5_ib_flow_matcher *matcher,
			   const struct mlx5_ib_flow_action *action,
			   struct mlx5_ib_flow_target *target)
{
	static const u32 bits[] = {
		[MLX5_IB_FLOW_MODIFY_HEADER] = MLX5_FLOW_CONTEXT_ACTION_MOD_HDR,
		[MLX5_IB_FLOW_REFORMAT] = MLX5_FLOW_CONTEXT_ACTION_PACKET_REFORMAT,
		[MLX5_IB_FLOW_DECAP] = MLX5_FLOW_CONTEXT_ACTION_DECAP,
	};
	u32 bit = bits[action->kind];

	if (action->ns != matcher->type || target->act.action & bit)
		return refuse(matcher->dev->mdev, -EINVAL,
			      "flow rule in namespace %u with two actions of a kind, or with one of namespace %u",
			      matcher->type, action->ns);
	target->act.action |= bit;
	if (action->kind == MLX5_IB_FLOW_MODIFY_HEADER)
		target->act.modify_hdr = action->hdr;
	if (action->kind == MLX5_IB_FLOW_REFORMAT)
		target->act.pkt_reformat = action->reformat;
	return 0;
}

/*
 * Have the packets counted by a flow counter of the process. @fc gets what mlx5_core knows the
 * counter by; it stays NULL if the packets are not counted.
 */
static int raw_fill_counter(const struct mlx5_ib_flow_matcher *matcher,
			    const struct mlx5_ib_flow_raw_attr *attr,
			    struct mlx5_ib_flow_target *target, struct mlx5_fc **fc)
{
	struct mlx5_core_dev *mdev = matcher->dev->mdev;
	struct mlx5_fc *local;

	if (!attr->counter.kind)
		return 0;
	if (attr->counter.kind != MLX5_IB_DEVX_FLOW_COUNTER)
		return refuse(mdev, -EINVAL, "flow rule with %s 0x%x as a counter",
			      mlx5_ib_devx_kinds[attr->counter.kind].name, attr->counter.num);
	if (attr->offset >= attr->num_counters)
		return refuse(mdev, -EINVAL, "flow rule with counter %u of a bulk of %u",
			      attr->offset, attr->num_counters);
	local = mlx5_fc_local_create(attr->counter.num + attr->offset, attr->offset,
				     attr->num_counters);
	if (IS_ERR(local))
		return PTR_ERR(local);
	*fc = local;
	target->act.action |= MLX5_FLOW_CONTEXT_ACTION_COUNT;
	target->dest[target->num++] = (struct mlx5_flow_destination){
		.type = MLX5_FLOW_DESTINATION_TYPE_COUNTER, .counter = local,
	};
	return 0;
}

static int raw_fill_spec(const struct mlx5_ib_flow_matcher *matcher,
			 const struct mlx5_ib_flow_raw_attr *attr, struct mlx5_flow_spec *spec)
{
	int err;

	spec->match_criteria_enable = matcher->enable;
	memcpy(spec->match_criteria, matcher->criteria, sizeof(spec->match_criteria));
	err = mlx5_ib_flow_fill_value(spec, attr->value, attr->len);
	return err || !attr->has_tag ? err : mlx5_ib_flow_set_tag(spec, attr->tag);
}

static int raw_create(struct mlx5_ib_flow *flow, const struct mlx5_ib_flow_matcher *matcher,
		      const struct mlx5_ib_flow_raw_attr *attr)
{
	struct mlx5_flow_spec *spec __free(kfree) = kzalloc_obj(*spec, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_flow_target target = {};
	struct mlx5_fc *fc = NULL;
	unsigned int i;
	int err;

	if (!spec)
		return -ENOMEM;
	err = raw_fill_spec(matcher, attr, spec) ?: raw_fill_dest(matcher, attr, &target);
	for (i = 0; i < attr->num_actions && !err; i++)
		err = raw_fill_action(matcher, to_mflow_action(attr->actions[i]), &target);
	err = err ?: raw_fill_counter(matcher, attr, &target, &fc);
	err = err ?: mlx5_ib_flow_add(matcher->dev, flow, matcher->type, matcher->prio, spec,
				      &target);
	/* Once a rule has the counter, mlx5_core frees @fc when it deletes the rule. */
	if (err && fc)
		mlx5_fc_local_destroy(fc);
	return err;
}

/**
 * mlx5_ib_create_raw_flow - create a flow rule that a process has built
 * @matcher: the criteria, and the table
 * @context: context of the process
 * @attr: what the process asks for
 *
 * May sleep.
 *
 * Return: the rule, which mlx5_ib_flow_free() frees; or an ERR_PTR: -EINVAL for invalid or
 * contradictory attributes; -EINVAL and -EIO as mlx5_ib_qp_tirn(); -EOPNOTSUPP for what the device
 * does not offer; -EEXIST if another rule does something else with the same packets; -ENOSPC if the
 * table is full; -ENOMEM, also if the user has as many rules as a user can have; or the errno of a
 * failed command.
 */
VISIBLE_IF_KUNIT
struct mlx5_ib_flow *mlx5_ib_create_raw_flow(struct mlx5_ib_flow_matcher *matcher,
					     struct mlx5_ib_ucontext *context,
					     const struct mlx5_ib_flow_raw_attr *attr)
{
	struct mlx5_ib_flow *flow = mlx5_ib_flow_alloc(matcher->dev, context);
	int err;

	if (IS_ERR(flow))
		return flow;
	err = raw_create(flow, matcher, attr);
	if (err) {
		mlx5_ib_flow_undo(matcher->dev, flow, err);
		return ERR_PTR(err);
	}
	atomic_inc(&matcher->rules);
	flow->matcher = matcher;
	return flow;
}

/* ---- the ioctl interface ---------------------------------------------------------- */

static int raw_read_counter(struct uverbs_attr_bundle *attrs, struct mlx5_ib_flow_raw_attr *attr)
{
	const u16 offset = MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET;
	struct ib_uobject **uobjs;
	int num, err;

	num = uverbs_attr_get_uobjs_arr(attrs, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX, &uobjs);
	if (num <= 0)
		return num == -ENOENT ? 0 : num;
	err = mlx5_ib_devx_identify(uobjs[0], &attr->counter);
	if (err)
		return err;
	attr->num_counters = ((struct mlx5_ib_devx_obj *)uobjs[0]->object)->num_counters;
	if (!uverbs_attr_is_valid(attrs, offset))
		return 0;
	num = uverbs_attr_ptr_get_array_size(attrs, offset, sizeof(attr->offset));
	if (num < 0)
		return num;
	if (num != 1)
		return refuse(to_mdev(uobjs[0]->context->device)->mdev, -EINVAL,
			      "flow rule with %d offsets of one bulk of counters", num);
	attr->offset = *(u32 *)uverbs_attr_get_alloced_ptr(attrs, offset);
	return 0;
}

/* Take the action objects, which the resources of the rule then count. */
static int raw_read_actions(struct uverbs_attr_bundle *attrs, struct mlx5_ib_flow_raw_attr *attr,
			    struct ib_flow_action **actions, struct ib_uflow_resources *resources)
{
	struct ib_uobject **uobjs;
	int i, num;

	num = uverbs_attr_get_uobjs_arr(attrs, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, &uobjs);
	if (num < 0)
		return num == -ENOENT ? 0 : num;
	for (i = 0; i < num; i++) {
		actions[i] = uobjs[i]->object;
		flow_resources_add(resources, IB_FLOW_SPEC_ACTION_HANDLE, actions[i]);
	}
	attr->actions = actions;
	attr->num_actions = num;
	return 0;
}

static int raw_read_dest(struct uverbs_attr_bundle *attrs, struct mlx5_ib_flow_raw_attr *attr)
{
	if (uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP))
		attr->qp = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	if (!uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX))
		return 0;
	return mlx5_ib_devx_identify(uverbs_attr_get_uobject(attrs,
							     MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX),
				     &attr->dest);
}

static int raw_read_attrs(struct uverbs_attr_bundle *attrs, struct mlx5_ib_flow_raw_attr *attr)
{
	int err;

	attr->value = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE);
	attr->len = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE);
	err = uverbs_get_flags32(&attr->flags, attrs, MLX5_IB_ATTR_CREATE_FLOW_FLAGS,
				 MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS |
				 MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP);
	attr->has_tag = uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_CREATE_FLOW_TAG);
	if (!err && attr->has_tag)
		err = uverbs_copy_from(&attr->tag, attrs, MLX5_IB_ATTR_CREATE_FLOW_TAG);
	return err ?: raw_read_dest(attrs, attr) ?: raw_read_counter(attrs, attr);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_CREATE_FLOW)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_CREATE_FLOW_HANDLE);
	struct mlx5_ib_dev *dev = to_mdev(uobj->context->device);
	struct ib_uflow_resources *resources;
	struct ib_flow_action *actions[MAX_ACTIONS];
	struct mlx5_ib_flow_raw_attr attr = {};
	struct mlx5_ib_flow *flow;
	int err;

	if (!rdma_dev_has_raw_cap(&dev->ib_dev))
		return refuse(dev->mdev, -EPERM, "flow rule without CAP_NET_RAW");
	err = raw_read_attrs(attrs, &attr);
	if (err)
		return err;
	resources = flow_resources_alloc(MAX_ACTIONS);
	if (!resources)
		return -ENOMEM;
	err = raw_read_actions(attrs, &attr, actions, resources);
	flow = err ? ERR_PTR(err) :
		     mlx5_ib_create_raw_flow(uverbs_attr_get_obj(attrs,
								 MLX5_IB_ATTR_CREATE_FLOW_MATCHER),
					     to_mucontext(uobj->context), &attr);
	if (IS_ERR(flow)) {
		ib_uverbs_flow_resources_free(resources);
		return PTR_ERR(flow);
	}
	ib_set_flow(uobj, &flow->ibflow, attr.qp, &dev->ib_dev, resources);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_CREATE_FLOW,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_FLOW_HANDLE, UVERBS_OBJECT_FLOW,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE,
					       MLX5_IB_MATCH_PARAMS,
					       UA_MANDATORY, UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_FLOW_MATCHER,
					    MLX5_IB_OBJECT_FLOW_MATCHER, UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_FLOW_DEST_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ),
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX,
					    MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_READ),
			    UVERBS_ATTR_IDRS_ARR(MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS,
						 UVERBS_OBJECT_FLOW_ACTION, UVERBS_ACCESS_READ, 1,
						 MAX_ACTIONS, UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_FLOW_TAG, UVERBS_ATTR_TYPE(u32),
					       UA_OPTIONAL),
			    UVERBS_ATTR_IDRS_ARR(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX,
						 MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_READ, 1, 1,
						 UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET,
					       UVERBS_ATTR_MIN_SIZE(sizeof(u32)), UA_OPTIONAL,
					       UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_CREATE_FLOW_FLAGS,
						 enum mlx5_ib_create_flow_flags, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DESTROY_FLOW,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DESTROY_FLOW_HANDLE,
						    UVERBS_OBJECT_FLOW, UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_flow_methods, UVERBS_OBJECT_FLOW,
		   &UVERBS_METHOD(MLX5_IB_METHOD_CREATE_FLOW),
		   &UVERBS_METHOD(MLX5_IB_METHOD_DESTROY_FLOW));

const struct uapi_definition mlx5_ib_flow_raw_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_FLOW, &mlx5_ib_flow_methods),
	{},
};
