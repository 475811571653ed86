/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Flow rules that a process builds itself: matchers, rules, actions and anchors of mlx5dv.
 */

#ifndef BLUEBELL_FLOW_RAW_H
#define BLUEBELL_FLOW_RAW_H

#include <linux/mlx5/fs.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/attempt.h"
#include "layout/layout_devx.h"
#include "lib/share.h"

struct mlx5_ib_dev;
struct mlx5_ib_flow;
struct mlx5_ib_flow_matcher;
struct mlx5_ib_flow_table;
struct mlx5_ib_ucontext;

/**
 * enum mlx5_ib_flow_action_kind - what an action object does with packets
 * @MLX5_IB_FLOW_MODIFY_HEADER: changes fields of headers
 * @MLX5_IB_FLOW_REFORMAT: puts headers around a packet, or takes off those of layer 3
 * @MLX5_IB_FLOW_DECAP: takes off the headers of a tunnel of layer 2
 */
enum mlx5_ib_flow_action_kind {
	MLX5_IB_FLOW_MODIFY_HEADER,
	MLX5_IB_FLOW_REFORMAT,
	MLX5_IB_FLOW_DECAP,
};

/**
 * struct mlx5_ib_flow_action - an action object
 * @ibaction: as the RDMA core sees it; first
 * @share: counts the object as one of its user's flow rules
 * @ns: namespace of the rules that can have the action
 * @kind: enum mlx5_ib_flow_action_kind
 * @hdr: object of the device for MLX5_IB_FLOW_MODIFY_HEADER
 * @reformat: object of the device for MLX5_IB_FLOW_REFORMAT
 */
struct mlx5_ib_flow_action {
	struct ib_flow_action ibaction;
	struct mlx5_ib_share share;
	enum mlx5_flow_namespace_type ns;
	enum mlx5_ib_flow_action_kind kind;
	union {
		struct mlx5_modify_hdr *hdr;
		struct mlx5_pkt_reformat *reformat;
	};
};

/**
 * enum mlx5_ib_flow_anchor_part - objects of which an anchor consists, in the order of creation
 * @MLX5_IB_ANCHOR_TABLE: the anchor's own table
 * @MLX5_IB_ANCHOR_GROUP: the group of the table
 * @MLX5_IB_ANCHOR_ENTRY: the entry of the group, which sends all packets to the table of a priority
 * @MLX5_IB_ANCHOR_PARTS: number of parts
 */
enum mlx5_ib_flow_anchor_part {
	MLX5_IB_ANCHOR_TABLE,
	MLX5_IB_ANCHOR_GROUP,
	MLX5_IB_ANCHOR_ENTRY,
	MLX5_IB_ANCHOR_PARTS,
};

/**
 * struct mlx5_ib_flow_part - an object of which an anchor consists
 * @id: kind and number
 * @attempt: attempts to destroy the object
 * @destroy_size: bytes of @destroy
 * @destroy: the command that destroys the object
 */
struct mlx5_ib_flow_part {
	struct mlx5_ib_devx_id id;
	struct mlx5_ib_fw_attempt attempt;
	u32 destroy_size;
	u32 destroy[MLX5_IB_DEVX_DESTROY_DW];
};

/**
 * struct mlx5_ib_flow_anchor - a table that a process can send packets to, to have them go on at a
 *	priority
 * @dev: device
 * @context: context of the process
 * @share: counts the anchor as one of its user's flow rules
 * @next: the table of the priority, with a reference
 * @parts: what the anchor consists of, by enum mlx5_ib_flow_anchor_part
 * @num: number of elements of @parts that exist
 */
struct mlx5_ib_flow_anchor {
	struct mlx5_ib_dev *dev;
	struct mlx5_ib_ucontext *context;
	struct mlx5_ib_share share;
	struct mlx5_ib_flow_table *next;
	struct mlx5_ib_flow_part parts[MLX5_IB_ANCHOR_PARTS];
	unsigned int num;
};

static inline struct mlx5_ib_flow_action *to_mflow_action(struct ib_flow_action *ibaction)
{
	return container_of(ibaction, struct mlx5_ib_flow_action, ibaction);
}

/**
 * struct mlx5_ib_flow_matcher_attr - what a process asks of a matcher
 * @ft_type: enum mlx5_ib_uapi_flow_table_type
 * @priority: less than MLX5_IB_FLOW_PRIORITIES
 * @flags: enum ib_flow_flags
 * @enable: which parts of @mask are compared
 * @mask: struct mlx5_ifc_fte_match_param_bits, or its beginning
 * @len: bytes of @mask
 */
struct mlx5_ib_flow_matcher_attr {
	u32 ft_type;
	u16 priority;
	u32 flags;
	u8 enable;
	const void *mask;
	size_t len;
};

/**
 * struct mlx5_ib_flow_raw_attr - what a process asks of a rule
 * @value: struct mlx5_ifc_fte_match_param_bits, or its beginning
 * @len: bytes of @value
 * @flags: MLX5_IB_ATTR_CREATE_FLOW_FLAGS_*
 * @qp: queue pair that gets the packets, or NULL
 * @dest: DEVX object that gets the packets; of kind MLX5_IB_DEVX_NONE without one
 * @has_tag: the completions of the packets carry @tag
 * @tag: the tag
 * @counter: DEVX flow counters; of kind MLX5_IB_DEVX_NONE if the packets are not counted
 * @num_counters: number of counters that the bulk @counter has at least
 * @offset: the counter of the bulk that counts the packets
 * @actions: action objects
 * @num_actions: number of elements of @actions
 */
struct mlx5_ib_flow_raw_attr {
	const void *value;
	size_t len;
	u32 flags;
	struct ib_qp *qp;
	struct mlx5_ib_devx_id dest;
	bool has_tag;
	u32 tag;
	struct mlx5_ib_devx_id counter;
	u32 num_counters;
	u32 offset;
	struct ib_flow_action **actions;
	unsigned int num_actions;
};

/* Attribute of a method: criteria or a value that a process has built, or their beginning. */
#define MLX5_IB_MATCH_PARAMS	UVERBS_ATTR_SIZE(1, sizeof(struct mlx5_ib_match_params))

/* Kinds of tables, in uverbs and in mlx5_core. */
int mlx5_ib_flow_namespace(struct mlx5_ib_dev *dev, u32 ft_type,
			   enum mlx5_flow_namespace_type *type);
bool mlx5_ib_flow_is_supported(struct ib_device *ibdev);

extern const struct uapi_definition mlx5_ib_flow_action_defs[];
extern const struct uapi_definition mlx5_ib_flow_anchor_defs[];
extern const struct uapi_definition mlx5_ib_flow_matcher_defs[];
extern const struct uapi_definition mlx5_ib_flow_raw_defs[];

/* flow_action.c */
int mlx5_ib_destroy_flow_action(struct ib_flow_action *ibaction);

#if IS_ENABLED(CONFIG_KUNIT)
/* flow_matcher.c */
struct mlx5_ib_flow_matcher *
mlx5_ib_create_flow_matcher(struct mlx5_ib_dev *dev, const struct mlx5_ib_flow_matcher_attr *attr);
int mlx5_ib_destroy_flow_matcher(struct mlx5_ib_flow_matcher *matcher);

/* flow_raw.c */
struct mlx5_ib_flow *mlx5_ib_create_raw_flow(struct mlx5_ib_flow_matcher *matcher,
					     struct mlx5_ib_ucontext *context,
					     const struct mlx5_ib_flow_raw_attr *attr);

/* flow_action.c */
struct mlx5_ib_flow_action *mlx5_ib_create_modify_header(struct mlx5_ib_ucontext *context,
							 u32 ft_type, void *changes, size_t len);
struct mlx5_ib_flow_action *mlx5_ib_create_reformat(struct mlx5_ib_ucontext *context, u32 ft_type,
						    u32 type, void *data, size_t len);

/* flow_anchor.c */
struct mlx5_ib_flow_anchor *mlx5_ib_create_flow_anchor(struct mlx5_ib_ucontext *context,
						       u32 ft_type, u16 priority);
int mlx5_ib_destroy_flow_anchor(struct mlx5_ib_flow_anchor *anchor, bool last);
#endif

#endif /* BLUEBELL_FLOW_RAW_H */
