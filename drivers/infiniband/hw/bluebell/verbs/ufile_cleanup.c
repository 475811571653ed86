// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The objects of a process that has closed the device, or has ended. ib_core destroys the objects
 * one after the other, in the reverse order of their creation, and would wait for the device each
 * time. Before ib_core begins, this file destroys queue pairs, windows and regions at the device,
 * many at a time. Verbs objects, their memory and their references stay until ib_core destroys
 * them.
 */

#include <linux/slab.h>
#include <rdma/uverbs_std_types.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/mkey.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/verbs.h"

/*
 * Whether the process has two or more objects that a batch of commands can destroy. A single object
 * is left to ib_core, because a batch of one saves no time.
 */
static bool close_has_many(struct ib_uverbs_file *ufile)
{
	struct ib_uobject *uobj;
	unsigned int n = 0;

	list_for_each_entry(uobj, &ufile->uobjects, list) {
		switch (uobj_get_object_id(uobj)) {
		case UVERBS_OBJECT_QP:
		case UVERBS_OBJECT_MW:
		case UVERBS_OBJECT_MR:
			if (++n > 1)
				return true;
		}
	}
	return false;
}

static void close_qps(struct ib_uverbs_file *ufile, struct mlx5_ib_fw_batch *batch)
{
	struct ib_uobject *uobj;

	list_for_each_entry(uobj, &ufile->uobjects, list)
		if (uobj_get_object_id(uobj) == UVERBS_OBJECT_QP)
			mlx5_ib_destroy_qp_early(uobj->object, batch);
	mlx5_ib_fw_batch_wait(batch);
}

/* Destroy the keys of all windows. Returns whether the key of a window is left. */
static bool close_windows(struct ib_uverbs_file *ufile, struct mlx5_ib_mkey_batch *batch)
{
	struct ib_uobject *uobj;
	bool left = false;

	list_for_each_entry(uobj, &ufile->uobjects, list)
		if (uobj_get_object_id(uobj) == UVERBS_OBJECT_MW)
			mlx5_ib_mkey_destroy_early(batch, &to_mmw(uobj->object)->mkey);
	mlx5_ib_mkey_batch_wait(batch);
	list_for_each_entry(uobj, &ufile->uobjects, list)
		if (uobj_get_object_id(uobj) == UVERBS_OBJECT_MW)
			left |= !to_mmw(uobj->object)->mkey.destroyed;
	return left;
}

/*
 * Destroy the keys of windows first, then the keys of regions: firmware refuses to destroy the key
 * of a region while windows are bound to the region.
 */
static void close_keys(struct ib_uverbs_file *ufile, struct mlx5_ib_fw_batch *commands)
{
	struct mlx5_ib_mkey_batch *batch __free(kfree) =
		mlx5_ib_mkey_batch_alloc(to_mdev(ufile->ucontext->device), commands);
	struct ib_uobject *uobj;
	bool windows;

	if (!batch)
		return;
	windows = close_windows(ufile, batch);
	list_for_each_entry(uobj, &ufile->uobjects, list)
		if (uobj_get_object_id(uobj) == UVERBS_OBJECT_MR)
			mlx5_ib_destroy_mr_early(uobj->object, windows, batch);
	mlx5_ib_mkey_batch_wait(batch);
}

/**
 * mlx5_ib_ufile_hw_cleanup - destroy objects of a process that has closed the device
 * @ufile: the file, whose hw_destroy_rwsem ib_core holds for writing: no call of the process is
 *	being executed, and objects are neither created nor changed
 *
 * Sets @closing of the process's context. Called before ib_core destroys the objects, and again
 * before each further attempt if some could not be destroyed; also when the device is removed. An
 * object that firmware refuses to destroy here is left to the operation that ib_core calls for it
 * afterwards. If firmware refuses again, that operation makes an orphan (orphan.c) of the object,
 * and returns success: after repeated errors ib_core would forget the object, whose memory would
 * then never be freed. Only a region can wait, for a window: see mlx5_ib_mr_waits_for_windows().
 * May sleep.
 */
void mlx5_ib_ufile_hw_cleanup(struct ib_uverbs_file *ufile)
{
	struct mlx5_ib_fw_batch *batch;

	to_mucontext(ufile->ucontext)->closing = true;
	if (!close_has_many(ufile))
		return;
	batch = mlx5_ib_fw_batch_alloc(to_mdev(ufile->ucontext->device));
	if (!batch)
		return;
	close_qps(ufile, batch);
	close_keys(ufile, batch);
	mlx5_ib_fw_batch_free(batch);
}
