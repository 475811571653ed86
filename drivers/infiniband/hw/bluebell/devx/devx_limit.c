// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Limits of the objects that processes create by commands of their own: against which limits of a
 * user the objects count (lib/share.c), and what happens if the device has no number left for a
 * memory key.
 */

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/sizes.h>

#include "devx/devx_obj.h"
#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_devx.h"
#include "layout/layout_mkey.h"
#include "lib/mkey_pool.h"
#include "lib/share.h"
#include "lib/umr.h"

/* The limit that objects of each kind count against, together with the objects of verbs. */
static const u8 devx_share_kinds[MLX5_IB_DEVX_NUM_KINDS] = {
	[MLX5_IB_DEVX_PD] = MLX5_IB_SHARE_PD,
	[MLX5_IB_DEVX_CQ] = MLX5_IB_SHARE_CQ,
	[MLX5_IB_DEVX_QP] = MLX5_IB_SHARE_QP,
	/* DC targets share a range of numbers with queue pairs, so both count in one limit. */
	[MLX5_IB_DEVX_DCT] = MLX5_IB_SHARE_QP,
	[MLX5_IB_DEVX_RMP] = MLX5_IB_SHARE_SRQ,
	[MLX5_IB_DEVX_XRC_SRQ] = MLX5_IB_SHARE_SRQ,
	[MLX5_IB_DEVX_XRCD] = MLX5_IB_SHARE_XRCD,
	[MLX5_IB_DEVX_TRANSPORT_DOMAIN] = MLX5_IB_SHARE_TD,
	[MLX5_IB_DEVX_Q_COUNTER] = MLX5_IB_SHARE_Q_COUNTER,
	[MLX5_IB_DEVX_RQ] = MLX5_IB_SHARE_RQ,
	[MLX5_IB_DEVX_SQ] = MLX5_IB_SHARE_SQ,
	[MLX5_IB_DEVX_TIR] = MLX5_IB_SHARE_TIR,
	[MLX5_IB_DEVX_TIS] = MLX5_IB_SHARE_TIS,
	[MLX5_IB_DEVX_RQT] = MLX5_IB_SHARE_RQT,
	[MLX5_IB_DEVX_XRQ] = MLX5_IB_SHARE_XRQ,
	[MLX5_IB_DEVX_FLOW_COUNTER] = MLX5_IB_SHARE_FLOW_COUNTER,
};

static enum mlx5_ib_share_kind devx_share_kind(const struct mlx5_ib_devx_cmd *cmd, const void *in)
{
	if (cmd->kind != MLX5_IB_DEVX_GENERAL_OBJECT)
		return devx_share_kinds[cmd->kind];
	/*
	 * Encryption keys are the only general objects that a process with neither CAP_NET_RAW nor
	 * CAP_SYS_RAWIO can create.
	 */
	return MLX5_GET(general_obj_in_cmd_hdr, in, obj_type) ==
	       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY ? MLX5_IB_SHARE_DEK : MLX5_IB_SHARE_NONE;
}

/*
 * Count the memory of a key against the limit of its user's paged memory: the tables of the key;
 * or, for a key over a umem, the length of the key if this is more, because the device may copy the
 * umem's translation entries for each key.
 */
static int devx_take_memory(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_cmd *cmd,
			    const void *in, struct mlx5_ib_share *share)
{
	const void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	u64 octwords = (u64)MLX5_GET(mkc, mkc, translations_octword_size) +
		       MLX5_GET(mkc, mkc, bsf_octword_size);
	u64 bytes = MLX5_IB_SHARE_OF_TABLE(octwords) * SZ_1M;

	if (!mlx5_ib_devx_table_entries(cmd, in))
		bytes = max(bytes, MLX5_GET64(mkc, mkc, len));
	return mlx5_ib_share_take_length(context, bytes, share);
}

static int devx_take_share(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_cmd *cmd,
			   const void *in, struct mlx5_ib_share *share)
{
	if (cmd->kind == MLX5_IB_DEVX_MKEY)
		return devx_take_memory(context, cmd, in, share);
	if (cmd->kind == MLX5_IB_DEVX_MCG)
		return mlx5_ib_share_take_attachment(context,
						     MLX5_ADDR_OF(attach_to_mcg_in, in,
								  multicast_gid), share);
	return mlx5_ib_share_take_many(context, devx_share_kind(cmd, in),
				       mlx5_ib_devx_num_created(cmd, in), share);
}

/**
 * mlx5_ib_devx_take_shares - count an object of a process against its user's limits
 * @context: context of the process
 * @cmd: the command's row in the table
 * @in: the command that is about to create the object, checked by mlx5_ib_devx_check_create()
 * @share: zeroed; counts the object; for a memory key, counts the memory that the key takes
 * @key: zeroed; counts a memory key as one of its user's keys
 *
 * May sleep.
 *
 * Return: as mlx5_ib_share_take_many().
 */
int mlx5_ib_devx_take_shares(struct mlx5_ib_ucontext *context, const struct mlx5_ib_devx_cmd *cmd,
			     const void *in, struct mlx5_ib_share *share, struct mlx5_ib_share *key)
{
	int err = devx_take_share(context, cmd, in, share);

	if (!err && cmd->kind == MLX5_IB_DEVX_MKEY)
		err = mlx5_ib_share_take(context, MLX5_IB_SHARE_MKEY, key);
	if (err)
		mlx5_ib_share_give(share);
	return err;
}

/*
 * Whether the device has no number left for a memory key. To find out, the function has firmware
 * create a key with few translation entries, which needs hardly more of the device than a number.
 * If this succeeds, numbers are left, and the key is destroyed again.
 */
static bool devx_has_no_key_left(struct mlx5_ib_dev *dev)
{
	const struct mlx5_ib_mkc_attr attr = {
		.pdn = mlx5_ib_umr_pdn(dev),
		.page_shift = MLX5_ADAPTER_PAGE_SHIFT,
		.room = BIT(MLX5_IB_POOL_MIN_LOG_MTTS),
		.free = true,
	};
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	u32 key;
	int err;

	mlx5_ib_fill_create_mkey(in, &attr, &dev->caps);
	err = mlx5_ib_fw_create_mkey(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &key);
	if (!err)
		mlx5_ib_fw_destroy_or_log(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DESTROY_MKEY,
					  mlx5_mkey_to_idx(key), "mkey");
	return err == -ENOSPC;
}

/**
 * mlx5_ib_devx_make_way - destroy a free key of the pool (mkey_pool.c) to let a process create one
 * @dev: device, which has refused the CREATE_MKEY of a process
 * @out: the answer of firmware
 * @tries: as for mlx5_ib_mkey_pool_make_way()
 *
 * Firmware answers with the same status if it has no number left, and if the key that the process
 * wants exceeds another limit of the device. Each call finds out which case it is. In the second
 * case no free key is destroyed: a process could otherwise empty the pool, which serves all users,
 * by asking for keys that it never gets. May sleep.
 *
 * Return: true if a key has been destroyed: the caller sends CREATE_MKEY again.
 */
bool mlx5_ib_devx_make_way(struct mlx5_ib_dev *dev, const void *out, unsigned int *tries)
{
	if (MLX5_GET(create_mkey_out, out, status) != MLX5_CMD_STAT_LIM_ERR)
		return false;
	/* Pairs with mlx5_ib_init_mkey_pool(). */
	if (!smp_load_acquire(&dev->mkey_pool))
		return false;
	return devx_has_no_key_left(dev) && mlx5_ib_mkey_pool_make_way(dev, tries);
}
