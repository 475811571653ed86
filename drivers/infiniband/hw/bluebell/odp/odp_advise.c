// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prefetch of paged regions: a process asks for pages before it uses them.
 *
 * Advice that the caller does not wait for goes to a queue of the context. One work item serves the
 * queue in slices, on a workqueue that resolves no page faults. The queue is short: a caller that
 * finds it full waits for room, and so does a caller that finds it empty if the user has advice in
 * the queues of many other contexts. Advice in the queue holds no reference to a region or to an
 * address space, and is dropped when the context is closed.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "layout/refuse.h"
#include "odp/odp_internal.h"

/* Maximum number of struct odp_advice in the queue of a context. */
#define ADVICE_MAX	32
/* A work item that has run this long ends after its step, so that other contexts have a turn. */
#define ADVICE_SLICE	msecs_to_jiffies(20)
/* Maximum time that advice waits, before each step, for the faults that are being resolved. */
#define FAULTS_FIRST	msecs_to_jiffies(20)

/**
 * struct odp_advice - a call of ibv_advise_mr(3)
 * @entry: in the queue of a context
 * @pd: protection domain of the regions; only compared, because it may have been destroyed
 * @req: how pages are mapped, as for the page_in operation of struct odp_mr_ops
 * @num: number of parts
 * @next: part that is served next
 * @done: number of bytes of part @next that have been served
 * @timed_out: faults were still being resolved when the advice last stopped waiting for them
 * @resolved: num_resolved of struct mlx5_ib_odp when the advice last stopped waiting for faults
 * @part: ranges of regions
 */
struct odp_advice {
	struct list_head entry;
	const struct ib_pd *pd;
	unsigned long req;
	u32 num;
	u32 next;
	u32 done;
	bool timed_out;
	int resolved;
	struct ib_sge part[] __counted_by(num);
};

/**
 * struct mlx5_ib_advice_queue - advice of one context that no caller waits for
 * @odp: paging state of the device
 * @user: user of the context. Its count[MLX5_IB_SHARE_ADVICE] is the number of the user's contexts
 *	that have advice in their queues
 * @work: serves the advice
 * @lock: guards @advice and @num
 * @advice: struct odp_advice, oldest first; @work alone removes entries until the context is closed
 * @num: number of entries of @advice
 */
struct mlx5_ib_advice_queue {
	struct mlx5_ib_odp *odp;
	struct mlx5_ib_user *user;
	struct work_struct work;
	spinlock_t lock;	/* guards advice and num */
	struct list_head advice;
	unsigned int num;
};

/*
 * Before each step, wait until no fault is being resolved, because a queue of the device is stopped
 * until its fault has been resolved. But a process can delay a fault for as long as it likes, if
 * the page is in a file system of its own (FUSE). So wait for a short time only, and after a
 * timeout not again before some fault has been resolved.
 */
static void odp_advice_let_faults_pass(struct mlx5_ib_odp *odp, struct odp_advice *advice)
{
	int resolved = atomic_read(&odp->num_resolved);

	if (advice->timed_out && advice->resolved == resolved)
		return;
	advice->timed_out = !wait_event_timeout(odp->no_faults, !atomic_read(&odp->num_faults),
						FAULTS_FIRST);
	advice->resolved = atomic_read(&odp->num_resolved);
}

/*
 * Returns the region of a part with a reference. Returns NULL if there is no such region, or if the
 * region is of another PD, or is read-only although @req asks to map it for writing.
 */
static struct odp_mr *odp_advice_get_mr(struct mlx5_ib_odp *odp, const struct odp_advice *advice,
					u32 part)
{
	struct odp_mr *mr = mlx5_ib_odp_mr_get(odp, advice->part[part].lkey);

	if (!mr)
		return NULL;
	if (mr->mr.ibmr.pd == advice->pd &&
	    (!(advice->req & HMM_PFN_REQ_WRITE) || ib_access_writable(mr->mr.access)))
		return mr;
	mlx5_ib_mkey_put(&mr->mr.mkey);
	return NULL;
}

/*
 * Page in the next step of the advice, at most MLX5_IB_ODP_CHUNK_BYTES of a part. Returns 0; 1 if
 * no range was left; or a negative errno.
 */
static int odp_advice_step(struct mlx5_ib_odp *odp, struct odp_advice *advice)
{
	const struct ib_sge *part = &advice->part[advice->next];
	struct odp_mr *mr;
	u32 len;
	int ret;

	if (advice->next == advice->num)
		return 1;
	odp_advice_let_faults_pass(odp, advice);
	mr = odp_advice_get_mr(odp, advice, advice->next);
	if (!mr)
		return -EFAULT;
	len = min_t(u32, part->length - advice->done, MLX5_IB_ODP_CHUNK_BYTES);
	ret = mlx5_ib_odp_mr_page_in(mr, part->addr + advice->done, len, advice->req);
	if (!ret)
		atomic64_add(odp_range_pages(part->addr + advice->done, len), &mr->stat.prefetches);
	mlx5_ib_mkey_put(&mr->mr.mkey);
	advice->done += len;
	if (advice->done == part->length) {
		advice->done = 0;
		advice->next++;
	}
	return min(ret, 0);
}

/* Serve all of the advice in the calling task. */
static int odp_advice_serve(struct mlx5_ib_odp *odp, struct odp_advice *advice)
{
	int ret;

	do {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(odp->stopping))
			return -ECANCELED;
		ret = odp_advice_step(odp, advice);
		cond_resched();
	} while (!ret);
	return min(ret, 0);
}

/* ---- the queue of a context ----------------------------------------------------------- */

static struct odp_advice *odp_advice_first(struct mlx5_ib_advice_queue *queue)
{
	guard(spinlock)(&queue->lock);
	return list_first_entry_or_null(&queue->advice, struct odp_advice, entry);
}

/*
 * Before a queue gets its first entry, count its context among the contexts of its user that have
 * advice. Returns false if max_slots / 2 contexts are counted already. This is at most half of the
 * items that the workqueue runs at a time on any NUMA node: the work item of each context may wait
 * for a page that never comes, and too many such items would keep the advice of other users from
 * being served.
 */
static bool odp_advice_enter(struct mlx5_ib_advice_queue *queue)
{
	return atomic_add_unless(&queue->user->count[MLX5_IB_SHARE_ADVICE], 1,
				 queue->odp->max_slots / 2);
}

/*
 * Stop counting a context whose queue has become empty, or is about to be freed. The caller then
 * wakes the user's tasks, which may be waiting to add the first entry to the queue of another
 * context.
 */
static void odp_advice_leave(struct mlx5_ib_advice_queue *queue)
{
	WARN_ON_ONCE(atomic_dec_return(&queue->user->count[MLX5_IB_SHARE_ADVICE]) < 0);
}

static void odp_advice_remove(struct mlx5_ib_advice_queue *queue, struct odp_advice *advice)
{
	scoped_guard(spinlock, &queue->lock) {
		list_del(&advice->entry);
		if (!--queue->num)
			odp_advice_leave(queue);
	}
	kvfree(advice);
	wake_up_all(&queue->user->advice_room);
}

static void odp_advice_work(struct work_struct *work)
{
	struct mlx5_ib_advice_queue *queue = container_of(work, struct mlx5_ib_advice_queue, work);
	unsigned long end = jiffies + ADVICE_SLICE;
	struct odp_advice *advice;

	while ((advice = odp_advice_first(queue))) {
		if (READ_ONCE(queue->odp->stopping) || odp_advice_step(queue->odp, advice))
			odp_advice_remove(queue, advice);
		/* Let the work items of other contexts run before the rest of this queue. */
		if (time_after(jiffies, end)) {
			queue_work(queue->odp->advice_wq, &queue->work);
			return;
		}
		cond_resched();
	}
}

/* Return the queue of a context, which the first advice creates; NULL if there is no memory. */
static struct mlx5_ib_advice_queue *odp_advice_get_queue(struct mlx5_ib_odp *odp,
							 struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_advice_queue *queue = READ_ONCE(context->advice), *old;

	if (queue)
		return queue;
	queue = kzalloc_obj(*queue, GFP_KERNEL_ACCOUNT);
	if (!queue)
		return NULL;
	queue->odp = odp;
	queue->user = context->user;
	INIT_WORK(&queue->work, odp_advice_work);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->advice);
	/* Pairs with the data dependency of the READ_ONCE() above. */
	old = cmpxchg_release(&context->advice, NULL, queue);
	if (!old)
		return queue;
	kfree(queue);
	return old;
}

/*
 * Append advice to a queue if there is room, or set @err if the device is being removed.
 * Returns false if the caller has to wait for room.
 */
static bool odp_advice_try_append(struct mlx5_ib_advice_queue *queue, struct odp_advice *advice,
				  int *err)
{
	guard(spinlock)(&queue->lock);
	*err = READ_ONCE(queue->odp->stopping) ? -EIO : 0;
	if (*err)
		return true;
	if (queue->num == ADVICE_MAX || (!queue->num && !odp_advice_enter(queue)))
		return false;
	list_add_tail(&advice->entry, &queue->advice);
	queue->num++;
	queue_work(queue->odp->advice_wq, &queue->work);
	return true;
}

/* Append advice to the queue of a context, and wait for room if necessary. */
static int odp_advice_append(struct mlx5_ib_odp *odp, struct mlx5_ib_ucontext *context,
			     struct odp_advice *advice)
{
	struct mlx5_ib_advice_queue *queue = odp_advice_get_queue(odp, context);
	int err = 0;

	if (!queue)
		return -ENOMEM;
	if (wait_event_killable(queue->user->advice_room,
				odp_advice_try_append(queue, advice, &err)))
		return -EINTR;
	return err;
}

/**
 * mlx5_ib_odp_close_context - drop the advice of a context
 * @context: the context, none of whose objects is left
 *
 * May sleep, for some tens of milliseconds if the work item is waiting until page faults have been
 * resolved.
 */
void mlx5_ib_odp_close_context(struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_advice_queue *queue = context->advice;
	struct odp_advice *advice, *next;

	if (!queue)
		return;
	context->advice = NULL;
	cancel_work_sync(&queue->work);
	if (queue->num) {
		odp_advice_leave(queue);
		wake_up_all(&queue->user->advice_room);
	}
	list_for_each_entry_safe(advice, next, &queue->advice, entry)
		kvfree(advice);
	kfree(queue);
}

/**
 * mlx5_ib_stop_advice - serve no advice any more, because the device is being removed
 * @dev: device, still registered
 *
 * Calls of ibv_advise_mr(3) that wait for room in a queue end at once. Calls that map pages end
 * before their next step, so removal of the device waits for one step of each at most; a step may
 * wait for a page of the process. May sleep.
 */
void mlx5_ib_stop_advice(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_users *users = dev->users;
	struct mlx5_ib_user *user;
	unsigned long i;

	if (!dev->odp)
		return;
	WRITE_ONCE(dev->odp->stopping, true);
	/* The tasks of a user who is added to the table after this see @stopping. */
	guard(mutex)(&users->lock);
	xa_for_each(&users->table, i, user)
		wake_up_all(&user->advice_room);
}

/* ---- the verb ------------------------------------------------------------------------- */

static struct odp_advice *odp_advice_create(struct mlx5_ib_odp *odp, const struct ib_pd *pd,
					    unsigned long req, const struct ib_sge *sg_list,
					    u32 num_sge)
{
	struct odp_advice *advice __free(kvfree) =
		kvzalloc_flex(*advice, part, num_sge, GFP_KERNEL_ACCOUNT);
	struct odp_mr *mr;
	u32 i;

	if (!advice)
		return ERR_PTR(-ENOMEM);
	advice->pd = pd;
	advice->req = req;
	advice->num = num_sge;
	memcpy(advice->part, sg_list, flex_array_size(advice, part, num_sge));
	for (i = 0; i < num_sge; i++) {
		mr = odp_advice_get_mr(odp, advice, i);
		if (!mr)
			return ERR_PTR(refuse(to_mdev(pd->device)->mdev, -EFAULT,
					      "MR advice for key 0x%x: no ODP region of this PD, or read-only",
					      advice->part[i].lkey));
		mlx5_ib_mkey_put(&mr->mr.mkey);
	}
	return_ptr(advice);
}

/* The @req of the page_in operation for each kind of advice. */
static const unsigned long odp_advice_reqs[] = {
	[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH] = HMM_PFN_REQ_FAULT,
	[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE] = HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE,
	[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT] = 0,
};

static int odp_advice_check(const struct mlx5_ib_dev *dev, enum ib_uverbs_advise_mr_advice advice,
			    u32 flags)
{
	if (!dev->odp)
		return refuse(dev->mdev, -EOPNOTSUPP,
			      "MR advice %d: the device has no ODP that the driver can use (pg)",
			      advice);
	if (advice >= ARRAY_SIZE(odp_advice_reqs))
		return refuse(dev->mdev, -EOPNOTSUPP, "MR advice %d, 0 to %zu are possible", advice,
			      ARRAY_SIZE(odp_advice_reqs) - 1);
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return refuse(dev->mdev, -EINVAL, "MR advice with flags %#x, supported: %#x", flags,
			      IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return 0;
}

/* Returns the errno of a call with FLUSH whose mapping of pages has ended with @err, perhaps 0. */
static int odp_advice_errno(int err)
{
	/*
	 * A signal interrupted the exporter of a dma-buf. If no signal is pending any more, the
	 * kernel would return -ERESTARTSYS, which programs do not know, to the process.
	 */
	if (err == -ERESTARTSYS)
		return signal_pending(current) ? err : -EINTR;
	/* For -ERESTARTNOINTR the kernel calls the verb again when the signal has been handled. */
	return !err || err == -ENOMEM || err == -EINTR || err == -ERESTARTNOINTR ||
	       err == -EPERM ? err : -EFAULT;
}

/**
 * mlx5_ib_advise_mr - map pages of paged regions before they are used
 * @pd: protection domain of the regions
 * @advice: map for reading, map for writing, or map only pages that are present in the
 *	process
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH to return when the pages have been mapped
 * @sg_list: ranges of paged regions
 * @num_sge: number of ranges
 * @attrs: attributes of the call, which name the context; NULL if a kernel consumer calls
 *	ib_advise_mr()
 *
 * Implements ibv_advise_mr(3). Without FLUSH, the advice goes to the queue of the context, and the
 * function waits only if the queue is full, or if too many other contexts of the user have advice.
 * Kernel consumers have no such queue, so their advice is served at once, as with FLUSH. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for unknown advice, or a device without paging; -EINVAL for unknown flags;
 * -EFAULT for a key that is not the key of a paged region of @pd, or for advice to map a read-only
 * region for writing; -EINTR if the task is being killed; -ENOMEM. Without FLUSH also -EIO if the
 * device is being removed. With FLUSH also -EFAULT if memory is outside the region or the process,
 * if the device is being removed, or if pages cannot be mapped for another reason; -EPERM for
 * memory that the process may not write to; -ERESTARTNOINTR if a signal has interrupted the
 * creation of a key for a part of an implicit region; -ERESTARTSYS or -EINTR if a signal has
 * interrupted the exporter of a dma-buf.
 */
int mlx5_ib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		      struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_odp *odp = to_mdev(pd->device)->odp;
	int err = odp_advice_check(to_mdev(pd->device), advice, flags);

	if (err)
		return err;

	struct odp_advice *work __free(kvfree) =
		odp_advice_create(odp, pd, odp_advice_reqs[advice], sg_list, num_sge);

	if (IS_ERR(work))
		return PTR_ERR(no_free_ptr(work));
	if (attrs && !(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		err = odp_advice_append(odp, to_mucontext(attrs->context), work);
		if (!err)
			retain_and_null_ptr(work);
		return err;
	}
	return odp_advice_errno(odp_advice_serve(odp, work));
}
