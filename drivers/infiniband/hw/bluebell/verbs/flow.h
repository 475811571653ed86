/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow rules and flow counters of processes.
 */

#ifndef BLUEBELL_FLOW_H
#define BLUEBELL_FLOW_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "lib/flow_table.h"
#include "lib/share.h"

struct mlx5_fc;
struct mlx5_ib_flow_matcher;

/* Entries of a rule: a rule for all packets, or for a sniffer, has two. */
#define MLX5_IB_FLOW_ENTRIES	2

/**
 * struct mlx5_ib_counters_obj - a counters object, which counts the packets of flow rules
 * @ibcounters: as the RDMA core sees it; first
 * @lock: guards the other members. Held while the counter is created, queried and destroyed, so
 *	that only one rule creates it, and no task queries a counter that is gone. Only calls of the
 *	object's process take the lock
 * @flows: number of rules that the object counts for
 * @fc: the counter; NULL as long as there is no rule
 * @share: counts @fc as one of the user's flow counters
 * @descs: which element of the answer to a read gets packets or bytes
 * @num_descs: number of elements of @descs
 * @length: number of elements that an answer has at least
 */
struct mlx5_ib_counters_obj {
	struct ib_counters ibcounters;
	struct mutex lock;	/* guards what follows */
	unsigned int flows;
	struct mlx5_fc *fc;
	struct mlx5_ib_share share;
	struct mlx5_ib_flow_counters_desc *descs;
	u32 num_descs;
	u32 length;
};

/**
 * struct mlx5_ib_flow - a flow rule of a process
 * @ibflow: as the RDMA core sees it; first
 * @share: counts the rule as one of its user's rules
 * @entries: the entries of the device
 * @num: number of elements of @entries
 * @counters: counts the packets, see mlx5_ib_counters_bind(); NULL if they are not counted
 * @matcher: the matcher, which counts this rule; NULL for a rule of verbs
 */
struct mlx5_ib_flow {
	struct ib_flow ibflow;
	struct mlx5_ib_share share;
	struct mlx5_ib_flow_entry entries[MLX5_IB_FLOW_ENTRIES];
	unsigned int num;
	struct mlx5_ib_counters_obj *counters;
	struct mlx5_ib_flow_matcher *matcher;
};

/**
 * struct mlx5_ib_flow_matcher - the criteria of rules, as a process has built them
 * @dev: device
 * @type: kind of tables in which the rules are
 * @prio: priority in the namespace of mlx5_core
 * @dont_trap: the packets go on to later rules, too
 * @rules: number of rules; a matcher with rules is not destroyed
 * @enable: which parts of @criteria are compared
 * @criteria: struct mlx5_ifc_fte_match_param_bits
 */
struct mlx5_ib_flow_matcher {
	struct mlx5_ib_dev *dev;
	enum mlx5_flow_namespace_type type;
	u32 prio;
	bool dont_trap;
	atomic_t rules;
	u8 enable;
	u32 criteria[MLX5_ST_SZ_DW(fte_match_param)];
};

static inline struct mlx5_ib_flow *to_mflow(struct ib_flow *ibflow)
{
	return container_of(ibflow, struct mlx5_ib_flow, ibflow);
}

static inline struct mlx5_ib_counters_obj *to_mcounters(struct ib_counters *ibcounters)
{
	return container_of(ibcounters, struct mlx5_ib_counters_obj, ibcounters);
}

/* flow.c */
struct ib_flow *mlx5_ib_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				    struct ib_udata *udata);
int mlx5_ib_destroy_flow(struct ib_flow *ibflow);
struct mlx5_ib_flow *mlx5_ib_flow_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_ucontext *context);
void mlx5_ib_flow_free(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow);
void mlx5_ib_flow_undo(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow, int err);
int mlx5_ib_flow_add(struct mlx5_ib_dev *dev, struct mlx5_ib_flow *flow,
		     enum mlx5_flow_namespace_type type, u32 prio,
		     const struct mlx5_flow_spec *spec, struct mlx5_ib_flow_target *target);

/* flow_counter.c */
int mlx5_ib_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs);
int mlx5_ib_destroy_counters(struct ib_counters *ibcounters);
int mlx5_ib_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
			  struct uverbs_attr_bundle *attrs);
int mlx5_ib_counters_bind(struct mlx5_ib_counters_obj *counters, struct mlx5_ib_ucontext *context,
			  struct ib_udata *udata);
void mlx5_ib_counters_unbind(struct mlx5_ib_counters_obj *counters);

#endif /* BLUEBELL_FLOW_H */
