/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Count how many objects of each kind a user has, and limit the number of each kind.
 */

#ifndef BLUEBELL_SHARE_H
#define BLUEBELL_SHARE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rbtree_types.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "fw/bluebell.h"

/**
 * enum mlx5_ib_share_kind - kinds of objects that are counted
 * @MLX5_IB_SHARE_NONE: not counted
 * @MLX5_IB_SHARE_UCTX: DEVX uids: user ids of the firmware (uctx.c)
 * @MLX5_IB_SHARE_UAR: UARs
 * @MLX5_IB_SHARE_PD: protection domains
 * @MLX5_IB_SHARE_CQ: completion queues
 * @MLX5_IB_SHARE_QP: queue pairs
 * @MLX5_IB_SHARE_SRQ: shared receive queues
 * @MLX5_IB_SHARE_XRCD: XRC domains
 * @MLX5_IB_SHARE_TD: transport domains
 * @MLX5_IB_SHARE_Q_COUNTER: sets of Q counters
 * @MLX5_IB_SHARE_UMEM: umems of DEVX
 * @MLX5_IB_SHARE_RQ: receive queues for raw packets
 * @MLX5_IB_SHARE_SQ: send queues for raw packets
 * @MLX5_IB_SHARE_TIR: transport interface receives
 * @MLX5_IB_SHARE_TIS: transport interface sends
 * @MLX5_IB_SHARE_RQT: tables of receive queues
 * @MLX5_IB_SHARE_XRQ: XRQs: SRQs with tag matching, and XRQs of DEVX; they count as SRQs, too
 * @MLX5_IB_SHARE_FLOW_COUNTER: flow counters, of DEVX and of counters objects; each counter of a
 *	bulk counts
 * @MLX5_IB_SHARE_FLOW: flow rules, flow actions and steering anchors of mlx5_core's tables
 * @MLX5_IB_SHARE_DEK: data encryption keys of DEVX; each key of a range counts
 * @MLX5_IB_SHARE_DM: pages of device memory
 * @MLX5_IB_SHARE_MCG: multicast groups that queue pairs of the user are in
 * @MLX5_IB_SHARE_ATTACHMENT: queue pairs in multicast groups; the limit applies to each group
 * @MLX5_IB_SHARE_PAGED: MiB of paged regions, of regions and umems over dma-bufs, and of keys over
 *	umems; a table of keys (an indirect mkey) counts as the amount of memory whose translations
 *	are as long as the table
 * @MLX5_IB_SHARE_MKEY: memory keys in use, created by the driver or by commands of a process; a
 *	free key of the pool counts against no user's limit
 * @MLX5_IB_SHARE_FAULT: slots of page faults; limited by odp_fairness.c
 * @MLX5_IB_SHARE_ADVICE: contexts whose advice is being served; limited by odp_advise.c
 * @MLX5_IB_NUM_SHARES: number of kinds, with MLX5_IB_SHARE_NONE
 */
enum mlx5_ib_share_kind {
	MLX5_IB_SHARE_NONE,
	MLX5_IB_SHARE_UCTX,
	MLX5_IB_SHARE_UAR,
	MLX5_IB_SHARE_PD,
	MLX5_IB_SHARE_CQ,
	MLX5_IB_SHARE_QP,
	MLX5_IB_SHARE_SRQ,
	MLX5_IB_SHARE_XRCD,
	MLX5_IB_SHARE_TD,
	MLX5_IB_SHARE_Q_COUNTER,
	MLX5_IB_SHARE_UMEM,
	MLX5_IB_SHARE_RQ,
	MLX5_IB_SHARE_SQ,
	MLX5_IB_SHARE_TIR,
	MLX5_IB_SHARE_TIS,
	MLX5_IB_SHARE_RQT,
	MLX5_IB_SHARE_XRQ,
	MLX5_IB_SHARE_FLOW_COUNTER,
	MLX5_IB_SHARE_FLOW,
	MLX5_IB_SHARE_DEK,
	MLX5_IB_SHARE_DM,
	MLX5_IB_SHARE_MCG,
	MLX5_IB_SHARE_ATTACHMENT,
	MLX5_IB_SHARE_PAGED,
	MLX5_IB_SHARE_MKEY,
	MLX5_IB_SHARE_FAULT,
	MLX5_IB_SHARE_ADVICE,
	MLX5_IB_NUM_SHARES,
};

/*
 * How many MiB a table of keys counts as: the translations of a MiB take 2 KiB, an entry of the
 * table 16 bytes.
 */
#define MLX5_IB_SHARE_OF_TABLE(entries)	DIV_ROUND_UP_ULL(entries, SZ_2K / 16)

/**
 * struct mlx5_ib_user - a user, with all of the user's processes
 * @users: the users of the device
 * @uid: the user; constant
 * @refs: one reference of each context, of each object, and of each process with paged regions
 * @groups: multicast groups that queue pairs of the user are in, by GID; guarded by the lock of
 *	@users
 * @count: number of objects of each kind
 * @advice_room: woken when there may be room for advice of the user, and when the device is being
 *	removed. All tasks of the user that wait are woken, and each looks at its own context
 */
struct mlx5_ib_user {
	struct mlx5_ib_users *users;
	kuid_t uid;
	refcount_t refs;
	struct rb_root groups;
	atomic_t count[MLX5_IB_NUM_SHARES];
	wait_queue_head_t advice_room;
};

struct mlx5_ib_share_group;
struct user_namespace;

/**
 * struct mlx5_ib_share - how an object is counted; embedded in what owns the object
 * @user: owner of the object, with a reference; NULL if the object is not counted
 * @kind: kind of the object
 * @num: number of units that the object counts as; MiB for MLX5_IB_SHARE_PAGED
 * @group: the group of MLX5_IB_SHARE_ATTACHMENT; else NULL
 */
struct mlx5_ib_share {
	struct mlx5_ib_user *user;
	enum mlx5_ib_share_kind kind;
	u32 num;
	struct mlx5_ib_share_group *group;
};

/**
 * struct mlx5_ib_share_group - a multicast group that queue pairs of a user are in
 * @node: in the user's groups
 * @gid: GID of the group
 * @num: number of attachments; guarded by the lock of the users
 * @share: counts the group in MLX5_IB_SHARE_MCG of the user
 */
struct mlx5_ib_share_group {
	struct rb_node node;
	union ib_gid gid;
	u32 num;
	struct mlx5_ib_share share;
};

/**
 * struct mlx5_ib_users - users of a device
 * @lock: guards @table, and the groups of each user. Held for one look-up when a process opens or
 *	closes the device or creates an XRC target, when the last object of a user is gone, and when
 *	a queue pair joins or leaves a multicast group; and while the removal of the device wakes
 *	the tasks of each user
 * @table: struct mlx5_ib_user by uid
 * @limit: number of objects of each kind that a user without privileges can have; 0 for no limit
 */
struct mlx5_ib_users {
	struct mutex lock;	/* guards table, groups of users */
	struct xarray table;
	u32 limit[MLX5_IB_NUM_SHARES];
};

/* Make the share of an object that lives no longer than its context, and does not store a share. */
static inline struct mlx5_ib_share mlx5_ib_share_of(const struct mlx5_ib_ucontext *context,
						    enum mlx5_ib_share_kind kind)
{
	return (struct mlx5_ib_share){
		.user = context->user, .kind = kind, .num = 1,
	};
}

u64 mlx5_ib_max_uars(struct mlx5_ib_dev *dev);

kuid_t mlx5_ib_user_of(const struct user_namespace *ns, kuid_t uid);
struct mlx5_ib_user *mlx5_ib_user_get(struct mlx5_ib_dev *dev, kuid_t uid);
void mlx5_ib_user_put(struct mlx5_ib_user *user);

int mlx5_ib_share_take_many(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind, u32 num,
			    struct mlx5_ib_share *share);
int mlx5_ib_share_take_current(struct mlx5_ib_dev *dev, enum mlx5_ib_share_kind kind,
			       struct mlx5_ib_share *share);
int mlx5_ib_share_take(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind,
		       struct mlx5_ib_share *share);
int mlx5_ib_share_refuse(struct mlx5_ib_dev *dev, const struct mlx5_ib_user *user,
			 enum mlx5_ib_share_kind kind);
int mlx5_ib_share_take_length(struct mlx5_ib_ucontext *context, u64 length,
			      struct mlx5_ib_share *share);
void mlx5_ib_share_give(struct mlx5_ib_share *share);
void mlx5_ib_share_keep(struct mlx5_ib_share *share);
void mlx5_ib_share_undo(struct mlx5_ib_share *share, int err);
int mlx5_ib_share_create(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind, u16 uid,
			 u16 opcode, void *in, int inlen, u32 *number);

int mlx5_ib_share_take_attachment(struct mlx5_ib_ucontext *context, const void *gid,
				  struct mlx5_ib_share *share);
void mlx5_ib_share_of_attachment(struct mlx5_ib_ucontext *context, const void *gid,
				 struct mlx5_ib_share *share);

int mlx5_ib_init_users(struct mlx5_ib_dev *dev);
void mlx5_ib_cleanup_users(struct mlx5_ib_dev *dev);

#endif /* BLUEBELL_SHARE_H */
