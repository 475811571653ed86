// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many multicast groups a user's queue pairs are in, and how many queue pairs are in each
 * group.
 *
 * The device limits both (log_max_mcg, max_qp_mcg), and any process may attach its queue pairs to
 * any group: without a limit, one user could fill a group that other users need, for example
 * IPoIB's broadcast group. So a user without privileges can be in about seven eighths of the
 * device's groups, and can have about seven eighths of the queue pairs that a group has room for.
 */

#include <linux/mlx5/driver.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "fw/bluebell.h"
#include "lib/share.h"

static int share_group_cmp(const void *gid, const struct rb_node *node)
{
	return memcmp(gid, rb_entry(node, struct mlx5_ib_share_group, node)->gid.raw,
		      sizeof(union ib_gid));
}

static int share_group_cmp_nodes(struct rb_node *added, const struct rb_node *node)
{
	return share_group_cmp(rb_entry(added, struct mlx5_ib_share_group, node)->gid.raw, node);
}

static struct mlx5_ib_share_group *share_find_group(const struct mlx5_ib_user *user,
						    const void *gid)
{
	struct rb_node *node;

	lockdep_assert_held(&user->users->lock);
	node = rb_find(gid, &user->groups, share_group_cmp);
	return node ? rb_entry(node, struct mlx5_ib_share_group, node) : NULL;
}

static void share_fill_attachment(struct mlx5_ib_user *user, struct mlx5_ib_share_group *group,
				  struct mlx5_ib_share *share)
{
	*share = (struct mlx5_ib_share){
		.user = user, .kind = MLX5_IB_SHARE_ATTACHMENT, .num = 1, .group = group,
	};
}

static int share_add_group(struct mlx5_ib_ucontext *context, struct mlx5_ib_share_group *group)
{
	int err = mlx5_ib_share_take(context, MLX5_IB_SHARE_MCG, &group->share);

	if (!err)
		WARN_ON_ONCE(rb_find_add(&group->node, &context->user->groups,
					 share_group_cmp_nodes));
	return err;
}

/* Count a queue pair in a group. @fresh becomes the group if it is the user's first one there. */
static int share_join_group(struct mlx5_ib_ucontext *context, struct mlx5_ib_share_group *fresh,
			    struct mlx5_ib_share *share)
{
	struct mlx5_ib_user *user = context->user;
	struct mlx5_ib_share_group *group = share_find_group(user, fresh->gid.raw) ?: fresh;
	u32 limit = user->users->limit[MLX5_IB_SHARE_ATTACHMENT];
	int err = group == fresh ? share_add_group(context, fresh) : 0;

	if (err)
		return err;
	/*
	 * @fresh, by now in the tree, is never refused: it has no attachment, and a limit is at
	 * least 1 (0 is no limit).
	 */
	if (limit && group->num >= limit && !context->unlimited)
		return mlx5_ib_share_refuse(to_mdev(context->ibucontext.device), user,
					    MLX5_IB_SHARE_ATTACHMENT);
	group->num++;
	atomic_inc(&user->count[MLX5_IB_SHARE_ATTACHMENT]);
	refcount_inc(&user->refs);
	share_fill_attachment(user, group, share);
	return 0;
}

/**
 * mlx5_ib_share_take_attachment - count a queue pair that is about to be attached to a group
 * @context: context of the process; NULL for a kernel consumer, whose queue pairs are not counted
 * @gid: the group, 16 bytes
 * @share: zeroed; gets the share, which mlx5_ib_share_give() gives back
 *
 * May sleep.
 *
 * Return: 0; or -ENOMEM if there is no memory, or if the user would have more queue pairs in the
 * group, or groups, than a user can have.
 */
int mlx5_ib_share_take_attachment(struct mlx5_ib_ucontext *context, const void *gid,
				  struct mlx5_ib_share *share)
{
	int err;

	if (!context || !context->user)
		return 0;

	/* Allocate before taking the lock: a process whose cgroup is full waits for memory. */
	struct mlx5_ib_share_group *fresh __free(kfree) = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT);

	if (!fresh)
		return -ENOMEM;
	memcpy(fresh->gid.raw, gid, sizeof(fresh->gid.raw));
	guard(mutex)(&context->user->users->lock);
	err = share_join_group(context, fresh, share);
	if (!err && share->group == fresh)
		retain_and_null_ptr(fresh);
	return err;
}

/**
 * mlx5_ib_share_of_attachment - get the share that was taken when a queue pair was attached to a
 *	group
 * @context: context of the process, or NULL
 * @gid: the group, 16 bytes
 * @share: gets the share, which mlx5_ib_share_give() gives back; zeroed for a kernel consumer
 *
 * May sleep.
 */
void mlx5_ib_share_of_attachment(struct mlx5_ib_ucontext *context, const void *gid,
				 struct mlx5_ib_share *share)
{
	struct mlx5_ib_user *user = context ? context->user : NULL;
	struct mlx5_ib_share_group *group;

	*share = (struct mlx5_ib_share){};
	if (!user)
		return;
	guard(mutex)(&user->users->lock);
	group = share_find_group(user, gid);
	if (!WARN_ON_ONCE(!group))
		share_fill_attachment(user, group, share);
}
