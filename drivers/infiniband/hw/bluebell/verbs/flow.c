// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow rules of verbs, see ibv_create_flow(3): a rule sends the packets that the port receives to a
 * queue pair, or drops them. Rules that a process builds itself are in devx/flow_raw.c.
 */

#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/flow_table.h"
#include "verbs/flow.h"
#include "verbs/qp.h"

/**
 * mlx5_ib_flow_alloc - allocate a flow rule without entries
 * @dev: device
 * @context: context of the process
 *
 * Return: the rule, or an ERR_PTR: -ENOMEM, also if the user has as many rules as a user can have.
 */
struct mlx5_ib_flow *mlx5_ib_flow_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_flow *flow __free(kfree) = kzalloc_obj(*flow, GFP_KERNEL_ACCOUNT);
	int err;

	if (!flow)
		return ERR_PTR(-ENOMEM);
	err = mlx5_ib_share_take(context, MLX5_IB_SHARE_FLOW, &flow->share);
	return err ? ERR_PTR(err) : no_free_ptr(flow);
}

/**
 * mlx5_ib_flow_free - remove the entries of a flow rule, and free the rule
 * @dev: device
 * @flow: the rule
 *
 * May sleep.
 */
void mlx5_ib_flow_free(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow)
{
	while (flow->num)
		mlx5_ib_flow_entry_del(dev, &flow->entries[--flow->num]);
	if (flow->counters)
		mlx5_ib_counters_unbind(flow->counters);
	if (flow->matcher)
		atomic_dec(&flow->matcher->rules);
	mlx5_ib_share_give(&flow->share);
	kfree(flow);
}

/**
 * mlx5_ib_flow_undo - free a flow rule that could not be created
 * @dev: device
 * @flow: the rule, perhaps with some of its entries
 * @err: errno of the creation. After -ETIMEDOUT an entry may exist, and the rule goes on counting
 *
 * May sleep.
 */
void mlx5_ib_flow_undo(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow, int err)
{
	mlx5_ib_share_undo(&flow->share, err);
	mlx5_ib_flow_free(dev, flow);
}

/**
 * mlx5_ib_flow_add - add an entry to a flow rule
 * @dev: device
 * @flow: the rule
 * @type: kind of tables
 * @prio: priority in the namespace of mlx5_core
 * @spec: which packets the entry is for
 * @target: what the device does with the packets
 *
 * May sleep.
 *
 * Return: 0 or as mlx5_ib_flow_entry_add().
 */
int mlx5_ib_flow_add(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow,
		     enum mlx5_flow_namespace_type type, u32 prio,
		     const struct mlx5_flow_spec *spec, struct mlx5_ib_flow_target *target)
{
	int err;

	if (WARN_ON_ONCE(flow->num == MLX5_IB_FLOW_ENTRIES))
		return -EINVAL;
	err = mlx5_ib_flow_entry_add(dev, type, prio, spec, target, &flow->entries[flow->num]);
	if (!err)
		flow->num++;
	return err;
}

static int flow_check_normal(struct mlx5_core_dev *mdev, const struct ib_flow_attr *attr)
{
	if (attr->priority >= MLX5_IB_FLOW_PRIORITIES)
		return refuse(mdev, -EINVAL, "flow rule of priority %u, there are %u",
			      attr->priority, MLX5_IB_FLOW_PRIORITIES);
	if (attr->flags & ~IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		return refuse(mdev, -EINVAL, "flow rule with flags 0x%x", attr->flags);
	if (attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP &&
	    !MLX5_CAP_FLOWTABLE(mdev, nic_rx_multi_path_tirs))
		return refuse(mdev, -EOPNOTSUPP,
			      "flow rule with DONT_TRAP: the device sends a packet to one place only (nic_rx_multi_path_tirs)");
	return 0;
}

/* Check the kind of a rule. Rules for all packets, and sniffers, have no specifications. */
static int flow_check(struct mlx5_core_dev *mdev, const struct ib_flow_attr *attr)
{
	if (attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS)
		return refuse(mdev, -EOPNOTSUPP,
			      "flow rule for sent packets: only mlx5dv_create_flow() has them");
	switch (attr->type) {
	case IB_FLOW_ATTR_NORMAL:
		return flow_check_normal(mdev, attr);
	case IB_FLOW_ATTR_ALL_DEFAULT:
	case IB_FLOW_ATTR_MC_DEFAULT:
	case IB_FLOW_ATTR_SNIFFER:
		if (!attr->num_of_specs && !attr->flags)
			return 0;
		return refuse(mdev, -EINVAL,
			      "default or sniffer flow rule with %u specifications, flags 0x%x",
			      attr->num_of_specs, attr->flags);
	default:
		return refuse(mdev, -EINVAL, "flow rule of type %u", attr->type);
	}
}

static int flow_add_normal(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow,
			   const struct ib_flow_attr *attr, const struct mlx5_flow_spec *spec,
			   struct mlx5_ib_flow_target *target)
{
	bool dont_trap = attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP;

	if (dont_trap)
		target->act.action |= MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_PRIO;
	return mlx5_ib_flow_add(dev, flow, MLX5_FLOW_NAMESPACE_BYPASS,
				mlx5_ib_flow_prio(attr->priority, dont_trap), spec, target);
}

static int flow_add_default(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow,
			    enum mlx5_ib_flow_cast cast, struct mlx5_flow_spec *spec,
			    struct mlx5_ib_flow_target *target)
{
	mlx5_ib_flow_fill_default(spec, cast);
	return mlx5_ib_flow_add(dev, flow, MLX5_FLOW_NAMESPACE_LEFTOVERS, 0, spec, target);
}

/* Add the entries of a rule. After an error the caller removes those that were added. */
static int flow_add_entries(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow,
			    const struct ib_flow_attr *attr, struct mlx5_flow_spec *spec,
			    struct mlx5_ib_flow_target *target)
{
	switch (attr->type) {
	case IB_FLOW_ATTR_ALL_DEFAULT:
		return flow_add_default(dev, flow, MLX5_IB_FLOW_UNICAST, spec, target) ?:
		       flow_add_default(dev, flow, MLX5_IB_FLOW_MULTICAST, spec, target);
	case IB_FLOW_ATTR_MC_DEFAULT:
		return flow_add_default(dev, flow, MLX5_IB_FLOW_MULTICAST, spec, target);
	case IB_FLOW_ATTR_SNIFFER:
		return mlx5_ib_flow_add(dev, flow, MLX5_FLOW_NAMESPACE_SNIFFER_RX, 0, spec,
					target) ?:
		       mlx5_ib_flow_add(dev, flow, MLX5_FLOW_NAMESPACE_SNIFFER_TX, 0, spec,
					target);
	default:
		return flow_add_normal(dev, flow, attr, spec, target);
	}
}

static int flow_fill_target(struct mlx5_ib_dev *dev, const struct mlx5_ib_flow_rule *rule,
			    const struct mlx5_ib_qp *qp, const struct ib_flow_attr *attr,
			    struct mlx5_ib_flow_target *target)
{
	u32 tirn;
	int err;

	if (rule->drop && attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		return refuse(dev->mdev, -EINVAL, "flow rule that drops packets, with DONT_TRAP");
	if (rule->drop) {
		target->act.action = MLX5_FLOW_CONTEXT_ACTION_DROP;
		return 0;
	}
	err = mlx5_ib_qp_tirn(qp, &tirn);
	if (err)
		return err;
	target->act.action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST;
	target->dest[target->num++] = (struct mlx5_flow_destination){
		.type = MLX5_FLOW_DESTINATION_TYPE_TIR, .tir_num = tirn,
	};
	return 0;
}

/* Have the packets of a rule counted. */
static int flow_count(struct mlx5_ib_flow *flow, struct mlx5_ib_counters_obj *counters,
		      struct mlx5_ib_ucontext *context, struct ib_udata *udata,
		      struct mlx5_ib_flow_target *target)
{
	int err = mlx5_ib_counters_bind(counters, context, udata);

	if (err || !counters)
		return err;
	flow->counters = counters;
	target->act.action |= MLX5_FLOW_CONTEXT_ACTION_COUNT;
	target->dest[target->num++] = (struct mlx5_flow_destination){
		.type = MLX5_FLOW_DESTINATION_TYPE_COUNTER, .counter = counters->fc,
	};
	return 0;
}

static int flow_create(struct mlx5_ib_qp *qp, struct mlx5_ib_flow *flow,
		       const struct ib_flow_attr *attr, struct mlx5_ib_ucontext *context,
		       struct ib_udata *udata)
{
	struct mlx5_ib_flow_rule *rule __free(kfree) = kzalloc_obj(*rule, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_dev *dev = to_mdev(qp->ibqp.device);
	struct mlx5_ib_flow_target target = {};
	int err;

	if (!rule)
		return -ENOMEM;
	err = mlx5_ib_flow_read_specs(attr, dev->mdev, rule) ?:
	      flow_fill_target(dev, rule, qp, attr, &target) ?:
	      flow_count(flow, rule->counters ? to_mcounters(rule->counters) : NULL,
			 context, udata, &target);
	return err ?: flow_add_entries(dev, flow, attr, &rule->spec, &target);
}

/**
 * mlx5_ib_create_flow - create a flow rule
 * @ibqp: queue pair that gets the packets, of type UD or RAW_PACKET
 * @attr: type, priority, flags and specifications; ib_core has checked that the process may have
 *	flow rules (CAP_NET_RAW in the user namespace of the device's network namespace), the port,
 *	and the lengths of the specifications
 * @udata: struct mlx5_ib_create_flow of libmlx5
 *
 * Implements ibv_create_flow(3). ib_core takes a reference to the queue pair. May sleep.
 *
 * Return: the rule, or an ERR_PTR: -EOPNOTSUPP for what the device does not offer; -EINVAL for
 * invalid or contradictory attributes; -EINVAL and -EIO as mlx5_ib_qp_tirn(); -EEXIST if another
 * rule does something else with the same packets; -ENOSPC if the table is full; -ENOMEM, also if
 * the user has as many rules or flow counters as a user can have; or the errno of a failed command.
 */
struct ib_flow *mlx5_ib_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				    struct ib_udata *udata)
{
	struct mlx5_ib_ucontext *context =
		rdma_udata_to_drv_context(udata, struct mlx5_ib_ucontext, ibucontext);
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	struct mlx5_ib_flow *flow;
	int err = flow_check(dev->mdev, attr);

	if (err)
		return ERR_PTR(err);
	flow = mlx5_ib_flow_alloc(dev, context);
	if (IS_ERR(flow))
		return ERR_CAST(flow);
	err = flow_create(to_mqp(ibqp), flow, attr, context, udata);
	if (!err)
		return &flow->ibflow;
	mlx5_ib_flow_undo(dev, flow, err);
	return ERR_PTR(err);
}

/**
 * mlx5_ib_destroy_flow - destroy a flow rule
 * @ibflow: the rule, of mlx5_ib_create_flow() or of MLX5_IB_METHOD_CREATE_FLOW
 *
 * May sleep.
 *
 * Return: 0: if firmware refuses to delete an entry, mlx5_core logs it and forgets the entry.
 */
int mlx5_ib_destroy_flow(struct ib_flow *ibflow)
{
	mlx5_ib_flow_free(to_mdev(ibflow->device), to_mflow(ibflow));
	return 0;
}
