// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. A user's library puts the address vector into its WQEs
 * itself; the kernel checks the address and remembers it.
 */

#include <linux/bitfield.h>
#include <linux/mlx5/qp.h>
#include <rdma/uverbs_ioctl.h>

#include "ah.h"
#include "bluebell.h"
#include "layout_qp.h"

/* mlx5_av.grh_gid_fl: a GRH is present, index of the source GID, flow label. */
#define AV_GRH			BIT(30)
#define AV_SGID_INDEX		GENMASK(27, 20)
#define AV_FLOW_LABEL		GENMASK(19, 0)
/* mlx5_av.stat_rate_sl */
#define AV_STAT_RATE		GENMASK(7, 4)
#define AV_SL			GENMASK(3, 0)

static void fill_av(struct mlx5_av *av, const struct rdma_ah_attr *attr, u16 rate_support)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	u8 rate = mlx5_ib_rate_to_hw(rdma_ah_get_static_rate(attr), rate_support);

	av->stat_rate_sl = FIELD_PREP(AV_STAT_RATE, rate) |
			   FIELD_PREP(AV_SL, rdma_ah_get_sl(attr));
	av->fl_mlid = rdma_ah_get_path_bits(attr);
	av->rlid = cpu_to_be16(rdma_ah_get_dlid(attr));
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return;

	av->tclass = grh->traffic_class;
	av->hop_limit = grh->hop_limit;
	av->grh_gid_fl = cpu_to_be32(AV_GRH | FIELD_PREP(AV_SGID_INDEX, grh->sgid_index) |
				     (grh->flow_label & AV_FLOW_LABEL));
	memcpy(av->rgid, grh->dgid.raw, sizeof(av->rgid));
}

/**
 * mlx5_ib_create_ah - create an address handle
 * @ibah: the object, zeroed but for what ib_core sets
 * @init: the address
 * @udata: empty
 *
 * Implements ibv_create_ah(3). Takes nothing from the device.
 *
 * Return: 0; -EINVAL for a value that its field cannot hold; -EOPNOTSUPP for a
 * request that is not empty.
 */
int mlx5_ib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibah->device);
	struct mlx5_ib_ah *ah = to_mah(ibah);
	int err;

	err = ib_no_udata_io(udata);
	if (err)
		return err;
	err = mlx5_ib_check_ah(init->ah_attr);
	if (err)
		return err;

	fill_av(&ah->av, init->ah_attr, MLX5_CAP_GEN(dev->mdev, stat_rate_support));
	ah->xmit_port = rdma_ah_get_port_num(init->ah_attr);
	return 0;
}

/**
 * mlx5_ib_query_ah - read an address handle back
 * @ibah: the address handle
 * @attr: the address
 *
 * Return: 0.
 */
int mlx5_ib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct mlx5_ib_ah *ah = to_mah(ibah);
	u32 grh_gid_fl = be32_to_cpu(ah->av.grh_gid_fl);

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	rdma_ah_set_port_num(attr, ah->xmit_port);
	rdma_ah_set_dlid(attr, be16_to_cpu(ah->av.rlid));
	rdma_ah_set_path_bits(attr, ah->av.fl_mlid);
	rdma_ah_set_sl(attr, FIELD_GET(AV_SL, ah->av.stat_rate_sl));
	rdma_ah_set_static_rate(attr, mlx5_ib_rate_from_hw(FIELD_GET(AV_STAT_RATE,
								     ah->av.stat_rate_sl)));
	if (!(grh_gid_fl & AV_GRH))
		return 0;

	rdma_ah_set_grh(attr, NULL, FIELD_GET(AV_FLOW_LABEL, grh_gid_fl),
			FIELD_GET(AV_SGID_INDEX, grh_gid_fl), ah->av.hop_limit, ah->av.tclass);
	rdma_ah_set_dgid_raw(attr, (void *)ah->av.rgid);
	return 0;
}

/**
 * mlx5_ib_destroy_ah - destroy an address handle
 * @ibah: the address handle; ib_core frees it
 * @flags: enum rdma_destroy_ah_flags
 *
 * Return: 0.
 */
int mlx5_ib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
