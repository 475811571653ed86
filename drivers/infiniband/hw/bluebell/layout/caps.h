/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Capabilities of the device that have to be computed or queried. Any other capability is read from
 * mlx5_core where it is needed: MLX5_CAP_GEN(caps->mdev, x).
 */

#ifndef BLUEBELL_CAPS_H
#define BLUEBELL_CAPS_H

#include <linux/types.h>

struct mlx5_core_dev;

/* The device's bits for the masked atomic operations of verbs. */
#define MLX5_IB_MASKED_ATOMIC_OPS \
	(MLX5_ATOMIC_OPS_EXTENDED_CMP_SWAP | MLX5_ATOMIC_OPS_EXTENDED_FETCH_ADD)

/**
 * struct mlx5_ib_caps - what the device can do, computed once at probe
 * @mdev: the device, for capabilities that need no computation
 * @has_srq: shared receive queues exist
 * @has_xrc: XRC domains, SRQs and queue pairs exist
 * @has_tm: SRQs with tag matching exist, and the device serves rendezvous messages of RC
 * @relaxed_ordering_read: the device may let PCIe reorder reads. This can depend on the PCI
 *	configuration, and reading the configuration for each registration would take too long
 * @real_time: the device can put time stamps of its real-time clock in completions
 * @qp_ts_format: format of the time stamps of a QP whose CQs do not ask for real time
 * @atomic_ops: atomic operations on 8 bytes: MLX5_ATOMIC_OPS_*
 * @atomic_mode: qpc.atomic_mode of a responder; 0 unless the device has both compare-and-swap and
 *	fetch-and-add
 * @umr_fence: fence mode that orders a UMR request after earlier requests: MLX5_FENCE_MODE_*
 * @list_end_mkey: a data segment with this key and length 0 ends the list of a receive WQE, as a
 *	segment with MLX5_TERMINATE_SCATTER_LIST_LKEY does; it is that key unless
 *	mlx5_ib_init_device_attr() finds that the device reports another
 * @ethernet: the port is an Ethernet port; otherwise it is an InfiniBand port
 * @roce_versions: versions of RoCE that the port has: MLX5_ROCE_VERSION_*_CAP. 0 for an InfiniBand
 *	port, and for an Ethernet port without RoCE
 * @pkey_table_len: entries of the P_Key table of the port
 * @gid_table_len: entries of the GID table of the port; 0 for an Ethernet port without RoCE
 */
struct mlx5_ib_caps {
	struct mlx5_core_dev *mdev;
	bool has_srq;
	bool has_xrc;
	bool has_tm;
	bool relaxed_ordering_read;
	bool real_time;
	u8 qp_ts_format;
	u16 atomic_ops;
	u8 atomic_mode;
	u8 umr_fence;
	u32 list_end_mkey;
	bool ethernet;
	u8 roce_versions;
	u16 pkey_table_len;
	u16 gid_table_len;
};

void mlx5_ib_read_caps(struct mlx5_core_dev *mdev, struct mlx5_ib_caps *caps);
bool mlx5_ib_has_blueflame(const struct mlx5_ib_caps *caps);

#endif /* BLUEBELL_CAPS_H */
