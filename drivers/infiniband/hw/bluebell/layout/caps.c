// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Capabilities of the device that have to be computed.
 */

#include <linux/minmax.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/pci.h>

#include "layout/caps.h"

static bool caps_relaxed_ordering_read(struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_GEN(mdev, relaxed_ordering_read) ||
	       (MLX5_CAP_GEN(mdev, relaxed_ordering_read_pci_enabled) &&
		pcie_relaxed_ordering_enabled(mdev->pdev));
}

/*
 * The formats of time stamps in completions of QPs, MLX5_TIMESTAMP_FORMAT_CAP_*. They are RoCE
 * capabilities. A device without RoCE reports only sq_ts_format, and QPs have the same formats.
 */
static u8 caps_qp_ts_formats(struct mlx5_core_dev *mdev)
{
	return mlx5_get_roce_state(mdev) ? MLX5_CAP_ROCE(mdev, qp_ts_format) :
					   MLX5_CAP_GEN(mdev, sq_ts_format);
}

/*
 * The format of time stamps for a QP whose CQs do not ask for real time. The user of such a QP
 * expects time stamps of the free-running clock, so the QP uses this clock, unless the device has
 * only the real-time clock.
 */
static u8 caps_qp_ts_format(struct mlx5_core_dev *mdev)
{
	return caps_qp_ts_formats(mdev) == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ?
	       MLX5_TIMESTAMP_FORMAT_DEFAULT : MLX5_TIMESTAMP_FORMAT_FREE_RUNNING;
}

/* The atomic operations on 8 bytes; verbs have no atomic operations on fewer or more bytes. */
static u16 caps_atomic_ops(struct mlx5_core_dev *mdev)
{
	const u32 size_8 = BIT(3);

	if (!MLX5_CAP_GEN(mdev, atomic) || !(MLX5_CAP_ATOMIC(mdev, atomic_size_qp) & size_8))
		return 0;
	return MLX5_CAP_ATOMIC(mdev, atomic_operations);
}

/* The atomic mode for responders; the mode of the IB specification has no masked operations. */
static u8 caps_atomic_mode(u16 ops)
{
	const u32 plain = MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD;

	if ((ops & plain) != plain)
		return 0;
	return ops & MLX5_IB_MASKED_ATOMIC_OPS ? MLX5_QPC_ATOMIC_MODE_UP_TO_8B :
						 MLX5_QPC_ATOMIC_MODE_IB_SPEC;
}

/* The fence for UMR requests: strong, if the device needs it; otherwise small. */
static u8 caps_umr_fence(struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_GEN(mdev, umr_fence) == MLX5_CAP_UMR_FENCE_STRONG ?
	       MLX5_FENCE_MODE_STRONG_ORDERING : MLX5_FENCE_MODE_INITIATOR_SMALL;
}

/* The index of an entry of the GID table has eight bits in paths and in address vectors. */
#define MAX_GIDS	256

/*
 * The entries of the GID table of an Ethernet port that are for verbs: mlx5_core has reserved
 * entries at the end of the table.
 */
static u16 caps_roce_gids(struct mlx5_core_dev *mdev)
{
	unsigned int size = min(MLX5_CAP_ROCE(mdev, roce_address_table_size), MAX_GIDS);
	unsigned int reserved = mlx5_core_reserved_gids_count(mdev);

	return size > reserved ? size - reserved : 0;
}

/*
 * The versions of RoCE that an Ethernet port has. If an administrator has switched RoCE off, the
 * RoCE capabilities are not valid.
 */
static u8 caps_roce_versions(struct mlx5_core_dev *mdev)
{
	const u32 l3_types = MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP;

	if (!mlx5_get_roce_state(mdev) || !caps_roce_gids(mdev) ||
	    (MLX5_CAP_ROCE(mdev, l3_type) & l3_types) != l3_types)
		return 0;
	return MLX5_CAP_ROCE(mdev, roce_version) &
	       (MLX5_ROCE_VERSION_1_CAP | MLX5_ROCE_VERSION_2_CAP);
}

static void caps_read_port(struct mlx5_core_dev *mdev, struct mlx5_ib_caps *caps)
{
	caps->ethernet = MLX5_CAP_GEN(mdev, port_type) == MLX5_CAP_PORT_TYPE_ETH;
	if (!caps->ethernet) {
		caps->pkey_table_len = mlx5_to_sw_pkey_sz(MLX5_CAP_GEN(mdev, pkey_table_size));
		caps->gid_table_len = mlx5_get_gid_table_len(MLX5_CAP_GEN(mdev, gid_table_size));
		return;
	}
	caps->roce_versions = caps_roce_versions(mdev);
	caps->pkey_table_len = 1;
	caps->gid_table_len = caps->roce_versions ? caps_roce_gids(mdev) : 0;
}

/**
 * mlx5_ib_read_caps - compute what the device can do
 * @mdev: device, whose capabilities mlx5_core has queried
 * @caps: filled in
 *
 * Reads PCI configuration space. May sleep.
 */
void mlx5_ib_read_caps(struct mlx5_core_dev *mdev, struct mlx5_ib_caps *caps)
{
	/*
	 * RMPs (receive memory pools), by which the device implements SRQs without XRC, need ISSI 1
	 * (interface step sequence ID). Devices from ConnectX-4 on have ISSI 1.
	 */
	bool has_srq = mdev->issi;
	u16 atomic_ops = caps_atomic_ops(mdev);

	*caps = (struct mlx5_ib_caps){
		.mdev = mdev,
		.has_srq = has_srq,
		.has_xrc = has_srq && MLX5_CAP_GEN(mdev, xrc),
		.has_tm = has_srq && MLX5_CAP_GEN(mdev, tag_matching) &&
			  MLX5_CAP_GEN(mdev, rndv_offload_rc),
		.relaxed_ordering_read = caps_relaxed_ordering_read(mdev),
		.real_time = caps_qp_ts_formats(mdev) != MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING,
		.qp_ts_format = caps_qp_ts_format(mdev),
		.atomic_ops = atomic_ops,
		.atomic_mode = caps_atomic_mode(atomic_ops),
		.umr_fence = caps_umr_fence(mdev),
		.list_end_mkey = be32_to_cpu(MLX5_TERMINATE_SCATTER_LIST_LKEY),
	};
	caps_read_port(mdev, caps);
}

/**
 * mlx5_ib_has_blueflame - whether processes can write WQEs to registers of the device
 * @caps: what the device can do
 *
 * In the first call mlx5_core tests whether write combining works, that is, whether a WQE that a
 * CPU writes reaches the device as one PCIe write. A later call returns the result, or repeats the
 * test if it had no result. For the test mlx5_core creates queues, so the driver does not make the
 * first call at probe, but when a process opens the device. May sleep.
 *
 * Return: true if the device executes WQEs written to its registers, and write combining works.
 */
bool mlx5_ib_has_blueflame(const struct mlx5_ib_caps *caps)
{
	return MLX5_CAP_GEN(caps->mdev, bf) && mlx5_wc_support_get(caps->mdev);
}
