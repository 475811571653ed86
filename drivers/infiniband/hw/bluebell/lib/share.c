// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Count how many objects of each kind a user has, and limit the number of each kind.
 */

/**
 * DOC: Shares of users
 *
 * The device has a fixed number of DEVX uids, UARs, protection domains, XRC domains, transport
 * domains, CQs, queue pairs, SRQs, sets of Q counters, pages of device memory and multicast groups,
 * of queue pairs in a group, and of the umems, RQs, SQs, TIRs, TISs, RQTs, XRQs, flow counters and
 * encryption keys that processes create by commands of their own. Flow counters and encryption keys
 * are not for RDMA: the device's netdev needs them to offload flows, TLS, IPsec and MACsec. Where
 * the number is known, all processes of a user without privileges together can have about seven
 * eighths, and of two to seven objects all but one, so that the user leaves some to others. Like
 * other limits of the kernel's objects, the limits do not apply to a process that has
 * CAP_SYS_RESOURCE, in the initial user namespace, when it opens the device or creates an XRC
 * target: the device is no resource of a namespace. They do not apply to kernel consumers either.
 *
 * The device has a fixed number of memory keys, too. A user's limit counts the keys of regions,
 * windows and tables of keys, the keys that page faults create for an implicit region, and the keys
 * that processes create by commands of their own. A key that waits in the pool for the next region
 * counts against no user's limit: mkey_pool.c destroys the key if its number is needed.
 *
 * RLIMIT_MEMLOCK limits what a process pins, but a process can register paged memory of any length,
 * a dma-buf any number of times, and keys of any length over a umem. Each MiB costs the device two
 * KiB for translations: memory of the host that mlx5_core gives to firmware and charges to no
 * process. So a user also has a limit for the total length of these registrations. How much memory
 * firmware can get is not known, so the limit is 64 times the memory of the host: the translations
 * for this length take an eighth of the memory of the host. Tables of keys, which belong to
 * implicit regions or are created by commands of processes, take memory of the same kind, and count
 * in the same limit.
 *
 * mlx5_ib_share_take() counts an object before the command that creates the object is sent.
 * mlx5_ib_share_give() is called when the object has been destroyed, and the device can give its
 * number to another object, or when the pool gets a memory key; this may be after the process has
 * ended. If the object becomes an orphan (orphan.c), the orphan keeps the share (@share of struct
 * mlx5_ib_queue_mem) until the object is destroyed.
 *
 * An object whose creation was not answered may exist, and its number is not known, so the driver
 * cannot destroy it: the number is lost to all users until the device is reset. So the object goes
 * on counting against the limit of the user who wanted it (mlx5_ib_share_undo()), and so does an
 * object that the driver gives up because firmware refuses to destroy it (mlx5_ib_share_keep()).
 * Lost objects count like all others, and each creation that is not answered costs the user a
 * timeout of mlx5_core. Lost objects count until the driver is unbound, which is part of each reset
 * of the device.
 */

#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_flow.h"
#include "layout/refuse.h"
#include "lib/share.h"

#define OF_THE_DEVICE(what)	what ", about 7/8 of those of the device"

static const char * const share_names[MLX5_IB_NUM_SHARES] = {
	[MLX5_IB_SHARE_UCTX] = OF_THE_DEVICE("DEVX uids"),
	[MLX5_IB_SHARE_UAR] = OF_THE_DEVICE("pages of UARs"),
	[MLX5_IB_SHARE_PD] = OF_THE_DEVICE("protection domains"),
	[MLX5_IB_SHARE_CQ] = OF_THE_DEVICE("CQs"),
	[MLX5_IB_SHARE_QP] = OF_THE_DEVICE("queue pairs"),
	[MLX5_IB_SHARE_SRQ] = OF_THE_DEVICE("SRQs"),
	[MLX5_IB_SHARE_XRCD] = OF_THE_DEVICE("XRC domains"),
	[MLX5_IB_SHARE_TD] = OF_THE_DEVICE("transport domains"),
	[MLX5_IB_SHARE_Q_COUNTER] = OF_THE_DEVICE("sets of Q counters"),
	[MLX5_IB_SHARE_UMEM] = OF_THE_DEVICE("umems"),
	[MLX5_IB_SHARE_RQ] = OF_THE_DEVICE("RQs"),
	[MLX5_IB_SHARE_SQ] = OF_THE_DEVICE("SQs"),
	[MLX5_IB_SHARE_TIR] = OF_THE_DEVICE("TIRs"),
	[MLX5_IB_SHARE_TIS] = OF_THE_DEVICE("TISs"),
	[MLX5_IB_SHARE_RQT] = OF_THE_DEVICE("RQTs"),
	[MLX5_IB_SHARE_XRQ] = OF_THE_DEVICE("XRQs"),
	[MLX5_IB_SHARE_FLOW_COUNTER] = OF_THE_DEVICE("flow counters"),
	[MLX5_IB_SHARE_FLOW] = "flow rules, 7/8 of those of a flow table",
	[MLX5_IB_SHARE_DEK] = OF_THE_DEVICE("encryption keys"),
	[MLX5_IB_SHARE_DM] = OF_THE_DEVICE("pages of device memory"),
	[MLX5_IB_SHARE_MCG] = OF_THE_DEVICE("multicast groups"),
	[MLX5_IB_SHARE_ATTACHMENT] = "queue pairs in a multicast group, 7/8 of those of a group",
	[MLX5_IB_SHARE_PAGED] =
		"MiB of ODP regions and dma-bufs, 64 times the memory of the host",
	[MLX5_IB_SHARE_MKEY] = OF_THE_DEVICE("memory keys"),
};

/*
 * Kinds of objects that have numbers of another kind, too: each counts against both limits. A queue
 * pair names its RMP, XRC SRQ or XRQ by one number, so they all have numbers of the SRQs.
 */
static const u8 share_within[MLX5_IB_NUM_SHARES] = {
	[MLX5_IB_SHARE_XRQ] = MLX5_IB_SHARE_SRQ,
};

/*
 * How often ALLOC_UAR can succeed: each time it allocates a page of the host. Returns 0 for a
 * subfunction, which has a part of another function's BAR.
 */
static u64 share_max_uar_pages(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	if (mdev->coredev_type == MLX5_COREDEV_SF)
		return 0;
	return (u64)pci_resource_len(mdev->pdev, 0) >> PAGE_SHIFT;
}

/**
 * mlx5_ib_max_uars - how many UARs BAR 0 has room for
 * @dev: device
 *
 * Firmware may allocate fewer to this PCI function.
 *
 * Return: the number; 0 for a subfunction, which has a part of another function's BAR.
 */
u64 mlx5_ib_max_uars(struct mlx5_ib_dev *dev)
{
	return share_max_uar_pages(dev) *
	       mlx5_ib_uars_per_sys_page(PAGE_SHIFT, MLX5_CAP_GEN(dev->mdev, uar_4k));
}

/**
 * mlx5_ib_user_of - find the user against whose limits the objects of a process count
 * @ns: user namespace of the process
 * @uid: user of the process
 *
 * A user may have a range of subordinate uids, and can run processes with any of these uids in a
 * user namespace that the user has created. So all objects of processes in the namespace count
 * against the limits of the user who created it. If root has created the namespace, as for a
 * container, the objects of each uid in it count against the limits of that uid. Outside a
 * namespace of their own, users can run a process with a subordinate uid only by a setuid program;
 * the objects then count against the limits of the subordinate uid, because the kernel does not
 * know which user it belongs to.
 *
 * Return: the user.
 */
kuid_t mlx5_ib_user_of(const struct user_namespace *ns, kuid_t uid)
{
	for (; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

/**
 * mlx5_ib_user_get - find a user, or make a new one
 * @dev: device
 * @uid: the user
 *
 * May sleep.
 *
 * Return: the user, with a reference that mlx5_ib_user_put() puts; or NULL if there is no memory.
 */
struct mlx5_ib_user *mlx5_ib_user_get(struct mlx5_ib_dev *dev, kuid_t uid)
{
	/* Allocate before taking the lock: a process whose cgroup is full waits for memory. */
	struct mlx5_ib_user *fresh __free(kfree) = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT);
	struct mlx5_ib_users *users = dev->users;
	struct mlx5_ib_user *user;

	if (!fresh || xa_reserve(&users->table, __kuid_val(uid), GFP_KERNEL_ACCOUNT))
		return NULL;
	fresh->users = users;
	fresh->uid = uid;
	fresh->groups = RB_ROOT;
	init_waitqueue_head(&fresh->advice_room);
	refcount_set(&fresh->refs, 1);
	guard(mutex)(&users->lock);
	user = xa_load(&users->table, __kuid_val(uid));
	if (user) {
		refcount_inc(&user->refs);
		return user;
	}
	/*
	 * xa_store() allocates memory only if the reserved entry is gone, because
	 * mlx5_ib_user_put() has erased it with the user's last reference.
	 */
	if (xa_err(xa_store(&users->table, __kuid_val(uid), fresh, GFP_KERNEL_ACCOUNT)))
		return NULL;
	return no_free_ptr(fresh);
}

/**
 * mlx5_ib_user_put - release a reference to a user
 * @user: returned by mlx5_ib_user_get(), or NULL
 *
 * May sleep.
 */
void mlx5_ib_user_put(struct mlx5_ib_user *user)
{
	struct mlx5_ib_users *users;
	unsigned int i;

	if (!user)
		return;
	users = user->users;
	if (!refcount_dec_and_mutex_lock(&user->refs, &users->lock))
		return;
	xa_erase(&users->table, __kuid_val(user->uid));
	mutex_unlock(&users->lock);
	WARN_ON_ONCE(!RB_EMPTY_ROOT(&user->groups));
	for (i = 0; i < MLX5_IB_NUM_SHARES; i++)
		WARN_ON_ONCE(atomic_read(&user->count[i]));
	kfree(user);
}

/**
 * mlx5_ib_share_refuse - log that a user has as many objects of a kind as a user can have
 * @dev: device
 * @user: the user
 * @kind: the kind
 *
 * Any context.
 *
 * Return: -ENOMEM.
 */
int mlx5_ib_share_refuse(struct mlx5_ib_dev *dev, const struct mlx5_ib_user *user,
			 enum mlx5_ib_share_kind kind)
{
	report_limit(&dev->ib_dev,
		     "user %u can have %u %s: %s (%d) gets no more; for a process with CAP_SYS_RESOURCE there is no limit\n",
		     __kuid_val(user->uid), user->users->limit[kind], share_names[kind],
		     current->comm, task_tgid_nr(current));
	return -ENOMEM;
}

static int share_count(struct mlx5_ib_dev *dev, struct mlx5_ib_user *user, bool unlimited,
		       enum mlx5_ib_share_kind kind, u32 num)
{
	u32 limit = user->users->limit[kind];
	atomic_t *count = &user->count[kind];
	int old = atomic_read(count);
	u64 sum;

	/*
	 * Never count beyond the limit, even for a moment: a concurrent request that is still
	 * within the limit would be refused.
	 */
	do {
		sum = (u64)old + num;
		if (sum > limit && limit && !unlimited)
			return mlx5_ib_share_refuse(dev, user, kind);
		if (sum > INT_MAX)
			return refuse(dev->mdev, -ENOMEM,
				      "user %u would have %llu units, too many to count (%s)",
				      __kuid_val(user->uid), sum, share_names[kind]);
	} while (!atomic_try_cmpxchg(count, &old, sum));
	return 0;
}

static void share_uncount(struct mlx5_ib_user *user, enum mlx5_ib_share_kind kind, u32 num)
{
	WARN_ON_ONCE(atomic_sub_return(num, &user->count[kind]) < 0);
}

static int share_take_of(struct mlx5_ib_dev *dev, struct mlx5_ib_user *user, bool unlimited,
			 enum mlx5_ib_share_kind kind, u32 num, struct mlx5_ib_share *share)
{
	int err = share_count(dev, user, unlimited, kind, num);

	if (err)
		return err;
	if (share_within[kind]) {
		err = share_count(dev, user, unlimited, share_within[kind], num);
		if (err) {
			share_uncount(user, kind, num);
			return err;
		}
	}
	refcount_inc(&user->refs);
	*share = (struct mlx5_ib_share){ .user = user, .kind = kind, .num = num };
	return 0;
}

/**
 * mlx5_ib_share_take_many - count an object that is about to be created
 * @context: context of the process; NULL for a kernel consumer, whose objects are not counted
 * @kind: kind of the object
 * @num: number of units that the object counts as
 * @share: zeroed; gets the share, which mlx5_ib_share_give() gives back
 *
 * A refusal because of the limit is logged. Any context.
 *
 * Return: 0; or -ENOMEM if the user would have more of the kind than a user can have, or, without a
 * limit, than can be counted.
 */
int mlx5_ib_share_take_many(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind, u32 num,
			    struct mlx5_ib_share *share)
{
	struct mlx5_ib_user *user = context ? context->user : NULL;

	if (!user || kind == MLX5_IB_SHARE_NONE)
		return 0;
	return share_take_of(to_mdev(context->ibucontext.device), user, context->unlimited, kind,
			     num, share);
}

/**
 * mlx5_ib_share_take_current - count an object that belongs to no context against the limit of the
 *	calling process's user
 * @dev: device
 * @kind: kind of the object
 * @share: zeroed; gets the share, which mlx5_ib_share_give() gives back
 *
 * May sleep.
 *
 * Return: as mlx5_ib_share_take_many(); -ENOMEM also if there is no memory.
 */
int mlx5_ib_share_take_current(struct mlx5_ib_dev *dev, enum mlx5_ib_share_kind kind,
			       struct mlx5_ib_share *share)
{
	kuid_t uid = mlx5_ib_user_of(current_user_ns(), current_uid());
	struct mlx5_ib_user *user = mlx5_ib_user_get(dev, uid);
	int err;

	if (!user)
		return -ENOMEM;
	err = share_take_of(dev, user, capable(CAP_SYS_RESOURCE), kind, 1, share);
	mlx5_ib_user_put(user);
	return err;
}

/**
 * mlx5_ib_share_take - count one object that is about to be created
 * @context: as for mlx5_ib_share_take_many()
 * @kind: as for mlx5_ib_share_take_many()
 * @share: as for mlx5_ib_share_take_many()
 *
 * Any context.
 *
 * Return: as mlx5_ib_share_take_many().
 */
int mlx5_ib_share_take(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind,
		       struct mlx5_ib_share *share)
{
	return mlx5_ib_share_take_many(context, kind, 1, share);
}

/**
 * mlx5_ib_share_take_length - count a registration whose length RLIMIT_MEMLOCK does not limit
 * @context: as for mlx5_ib_share_take_many()
 * @length: bytes
 * @share: as for mlx5_ib_share_take_many()
 *
 * Any context.
 *
 * Return: as mlx5_ib_share_take_many().
 */
int mlx5_ib_share_take_length(struct mlx5_ib_ucontext *context, u64 length,
			      struct mlx5_ib_share *share)
{
	u64 mib = length / SZ_1M + !!(length % SZ_1M);

	return mlx5_ib_share_take_many(context, MLX5_IB_SHARE_PAGED, min(mib, INT_MAX), share);
}

/* Stop counting an attachment to a group, and after the user's last attachment also the group. */
static void share_leave_group(struct mlx5_ib_user *user, struct mlx5_ib_share_group *group)
{
	scoped_guard(mutex, &user->users->lock) {
		if (--group->num)
			return;
		rb_erase(&group->node, &user->groups);
	}
	mlx5_ib_share_give(&group->share);
	kfree(group);
}

/**
 * mlx5_ib_share_give - stop counting an object that is gone, or has not been created
 * @share: share of the object, from mlx5_ib_share_take() or another function of share.h. Afterwards
 *	@share->user is NULL; nothing is done if it is NULL already
 *
 * May sleep.
 */
void mlx5_ib_share_give(struct mlx5_ib_share *share)
{
	struct mlx5_ib_user *user = share->user;

	if (!user)
		return;
	if (share->group)
		share_leave_group(user, share->group);
	share->group = NULL;
	share_uncount(user, share->kind, share->num);
	if (share_within[share->kind])
		share_uncount(user, share_within[share->kind], share->num);
	share->user = NULL;
	mlx5_ib_user_put(user);
}

/**
 * mlx5_ib_share_keep - count an object until the driver is unbound, because it may go on existing
 * @share: as for mlx5_ib_share_give(). Afterwards @share->user is NULL
 *
 * The user stays in the table of users until then. Any context.
 */
void mlx5_ib_share_keep(struct mlx5_ib_share *share)
{
	share->user = NULL;
}

/**
 * mlx5_ib_share_undo - stop counting an object whose creation has failed, unless it may exist
 * @share: as for mlx5_ib_share_give()
 * @err: errno of the creation. After -ETIMEDOUT, and after -ENOTRECOVERABLE (see
 *	mlx5_ib_mkey_create_mtts()), the object may exist, and goes on counting
 *
 * May sleep.
 */
void mlx5_ib_share_undo(struct mlx5_ib_share *share, int err)
{
	if (err == -ETIMEDOUT || err == -ENOTRECOVERABLE)
		mlx5_ib_share_keep(share);
	else
		mlx5_ib_share_give(share);
}

/**
 * mlx5_ib_share_create - create an object that lives no longer than its context
 * @context: context of the process
 * @kind: kind of the object
 * @uid: as for mlx5_ib_fw_create_within_limit()
 * @opcode: as for mlx5_ib_fw_create_within_limit()
 * @in: as for mlx5_ib_fw_create_within_limit()
 * @inlen: as for mlx5_ib_fw_create_within_limit()
 * @number: as for mlx5_ib_fw_create_within_limit()
 *
 * The object is counted; mlx5_ib_share_of() returns its share. May sleep.
 *
 * Return: 0; as mlx5_ib_share_take(); or as mlx5_ib_fw_create_within_limit(). After an error
 * nothing is counted, unless the command was not answered.
 */
int mlx5_ib_share_create(struct mlx5_ib_ucontext *context, enum mlx5_ib_share_kind kind, u16 uid,
			 u16 opcode, void *in, int inlen, u32 *number)
{
	struct mlx5_ib_dev *dev = to_mdev(context->ibucontext.device);
	struct mlx5_ib_share share = {};
	int err = mlx5_ib_share_take(context, kind, &share);

	if (err)
		return err;
	err = mlx5_ib_fw_create_within_limit(dev, uid, opcode, in, inlen, number);
	if (err)
		mlx5_ib_share_undo(&share, err);
	return err;
}

/* Returns how many of the device's @num objects a user can have: not all, if there are several. */
static u32 share_limit(u64 num)
{
	return num > 1 ? num - max(num / 8, 1) : num;
}

/*
 * How many of 2^@log_max numbers users can have. Firmware keeps some numbers of queue pairs, and no
 * capability says how many: a card with 2^17 numbers has refused to create a QP beside 130,763
 * others, and a card with 2^18 numbers beside 261,935. Firmware and mlx5_core have some memory
 * keys, too. So leave out 512 numbers, or a quarter of all numbers if that is less.
 */
static u64 share_num_beside_firmware(u8 log_max)
{
	u64 num = BIT(log_max);

	return num - min(num / 4, 512);
}

/* The limit for 2^@log_max objects. If the capability is 0, their number is unknown: no limit. */
static u32 share_limit_log(u8 log_max)
{
	return log_max ? share_limit(BIT(log_max)) : 0;
}

static void users_set_limits_of_devx(struct mlx5_ib_users *users, struct mlx5_core_dev *mdev)
{
	users->limit[MLX5_IB_SHARE_UMEM] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_umem));
	users->limit[MLX5_IB_SHARE_RQ] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_rq));
	users->limit[MLX5_IB_SHARE_SQ] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_sq));
	users->limit[MLX5_IB_SHARE_TIR] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_tir));
	users->limit[MLX5_IB_SHARE_TIS] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_tis));
	users->limit[MLX5_IB_SHARE_RQT] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_rqt));
	users->limit[MLX5_IB_SHARE_XRQ] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_xrq));
	users->limit[MLX5_IB_SHARE_FLOW_COUNTER] =
		share_limit((u32)MLX5_CAP_GEN(mdev, max_flow_counter_31_16) << 16 |
			    MLX5_CAP_GEN(mdev, max_flow_counter_15_0));
	users->limit[MLX5_IB_SHARE_FLOW] = share_limit(MLX5_IB_FLOW_TABLE_ENTRIES);
	/* A device without crypto_cap has the number in log_max_dek. */
	users->limit[MLX5_IB_SHARE_DEK] =
		share_limit_log(MLX5_CAP_CRYPTO(mdev, log_max_num_deks) ?:
				MLX5_CAP_GEN(mdev, log_max_dek));
}

static void users_set_limits(struct mlx5_ib_users *users, struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	users->limit[MLX5_IB_SHARE_UCTX] = share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_uctx)));
	users->limit[MLX5_IB_SHARE_UAR] = share_limit(share_max_uar_pages(dev));
	users->limit[MLX5_IB_SHARE_PD] = share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_pd)));
	users->limit[MLX5_IB_SHARE_CQ] = share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_cq)));
	users->limit[MLX5_IB_SHARE_QP] =
		share_limit(share_num_beside_firmware(MLX5_CAP_GEN(mdev, log_max_qp)));
	users->limit[MLX5_IB_SHARE_MKEY] =
		share_limit(share_num_beside_firmware(MLX5_CAP_GEN(mdev, log_max_mkey)));
	users->limit[MLX5_IB_SHARE_SRQ] = share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_srq)));
	users->limit[MLX5_IB_SHARE_XRCD] = share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_xrcd)));
	users->limit[MLX5_IB_SHARE_TD] =
		share_limit(BIT(MLX5_CAP_GEN(mdev, log_max_transport_domain)));
	/*
	 * Devices have few Q counter sets, and the driver itself uses one of them. If there are not
	 * more, users have none, but 0 would be no limit.
	 */
	users->limit[MLX5_IB_SHARE_Q_COUNTER] =
		max(share_limit(MLX5_CAP_GEN(mdev, max_qp_cnt)), 2) - 1;
	users_set_limits_of_devx(users, mdev);
	users->limit[MLX5_IB_SHARE_DM] =
		share_limit(MLX5_CAP_DEV_MEM(mdev, memic_bar_size) >> PAGE_SHIFT);
	users->limit[MLX5_IB_SHARE_MCG] = share_limit_log(MLX5_CAP_GEN(mdev, log_max_mcg));
	users->limit[MLX5_IB_SHARE_ATTACHMENT] = share_limit(MLX5_CAP_GEN(mdev, max_qp_mcg));
	users->limit[MLX5_IB_SHARE_PAGED] = min_t(u64, INT_MAX,
						  64ULL * (totalram_pages() >> (20 - PAGE_SHIFT)));
}

/**
 * mlx5_ib_init_users - set up the table of users
 * @dev: device
 *
 * Return: 0 or -ENOMEM.
 */
int mlx5_ib_init_users(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_users *users = kzalloc_obj(*users, GFP_KERNEL);

	if (!users)
		return -ENOMEM;
	mutex_init(&users->lock);
	xa_init_flags(&users->table, XA_FLAGS_ACCOUNT);
	users_set_limits(users, dev);
	dev->users = users;
	return 0;
}

/**
 * mlx5_ib_cleanup_users - free the table of users
 * @dev: device, which has no contexts. A user is left in the table only if an object of the user
 *	still counts: firmware has refused to destroy it, or has not answered
 */
void mlx5_ib_cleanup_users(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_users *users = dev->users;
	struct mlx5_ib_share_group *group, *next;
	struct mlx5_ib_user *user;
	unsigned long i;

	xa_for_each(&users->table, i, user) {
		rbtree_postorder_for_each_entry_safe(group, next, &user->groups, node)
			kfree(group);
		kfree(user);
	}
	xa_destroy(&users->table);
	mutex_destroy(&users->lock);
	kfree(users);
	dev->users = NULL;
}
