// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses of packets: the address paths of a queue pair's context, and the address vectors of
 * datagrams. Both have the LID, the rate and the GRH of an address, in different fields. Pure
 * functions only.
 *
 * Only the functions path_..._lid() and av_..._lid() depend on the link layer.
 */

#include <linux/string.h>

#include "layout/layout_path.h"
#include "layout/refuse.h"

#define MAX_SL			15
#define MAX_PATH_BITS		127
#define MAX_FLOW_LABEL		0xfffff

/*
 * The device's code of a rate, in four bits, is the value of enum ib_rate plus this offset.
 * mlx5_ifc.h has all codes: MLX5_ADS_STAT_RATE_*.
 */
#define RATE_CODE_OFFSET	5
#define MIN_RATE_CODE		MLX5_ADS_STAT_RATE_2_5GBPS
#define MAX_RATE_CODE		MLX5_ADS_STAT_RATE_120GBPS

/**
 * mlx5_ib_rate_to_hw - find the device's code of a static rate
 * @rate: enum ib_rate
 * @supported: mask: bit n is set if the device can limit the rate to the rate with code n
 *
 * A static rate is a limit, which protects a slower link on the way, so the function rounds down if
 * it can.
 *
 * Return: the code of the fastest supported rate that is not faster than @rate, or of the slowest
 * supported rate if all are faster. 0, which stands for the speed of the port, for
 * IB_RATE_PORT_CURRENT, and if the device supports no rates.
 */
u8 mlx5_ib_rate_to_hw(u8 rate, u16 supported)
{
	int want = ib_rate_to_mbps(rate), fastest = 0, slowest = INT_MAX, mbps;
	u8 code, found = 0, least = 0;

	if (want < 0)
		return 0;
	for (code = MIN_RATE_CODE; code <= MAX_RATE_CODE; code++) {
		mbps = ib_rate_to_mbps(code - RATE_CODE_OFFSET);
		if (!(supported & (1U << code)))
			continue;
		if (mbps < slowest) {
			slowest = mbps;
			least = code;
		}
		if (mbps <= want && mbps > fastest) {
			fastest = mbps;
			found = code;
		}
	}
	return found ?: least;
}

/**
 * mlx5_ib_rate_from_hw - translate the device's code of a static rate
 * @code: ads.stat_rate
 *
 * Return: enum ib_rate.
 */
u8 mlx5_ib_rate_from_hw(u8 code)
{
	return code < MIN_RATE_CODE ? IB_RATE_PORT_CURRENT : code - RATE_CODE_OFFSET;
}

/**
 * mlx5_ib_check_ah - check the address of a path or an address handle
 * @ah: the address, of which ib_core has checked type, port and GID index
 *
 * Return: 0, or -EINVAL for a value that does not fit into its field of the context or vector, or
 * for a static rate that is not in enum ib_rate.
 */
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah)
{
	u32 flow = rdma_ah_get_ah_flags(ah) & IB_AH_GRH ? rdma_ah_read_grh(ah)->flow_label : 0;
	u8 rate = rdma_ah_get_static_rate(ah);

	if (rdma_ah_get_sl(ah) > MAX_SL)
		return refuse(NULL, -EINVAL, "address vector with SL %u, at most %u",
			      rdma_ah_get_sl(ah), MAX_SL);
	if (rdma_ah_get_path_bits(ah) > MAX_PATH_BITS)
		return refuse(NULL, -EINVAL, "address vector with source path bits %u, at most %u",
			      rdma_ah_get_path_bits(ah), MAX_PATH_BITS);
	if (flow > MAX_FLOW_LABEL)
		return refuse(NULL, -EINVAL, "address vector with flow label %#x, at most %#x",
			      flow, MAX_FLOW_LABEL);
	return rate == IB_RATE_PORT_CURRENT || ib_rate_to_mbps(rate) >= 0 ? 0 :
	       refuse(NULL, -EINVAL, "address vector with static rate %u, not in enum ib_rate",
		      rate);
}

/* ---- paths of queue pairs -------------------------------------------------------- */

static void path_fill_lid(void *ads, const struct rdma_ah_attr *ah)
{
	MLX5_SET(ads, ads, rlid, rdma_ah_get_dlid(ah));
	MLX5_SET(ads, ads, mlid, rdma_ah_get_path_bits(ah));
	MLX5_SET(ads, ads, sl, rdma_ah_get_sl(ah));
	MLX5_SET(ads, ads, grh, !!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH));
}

/**
 * mlx5_ib_fill_path - build an address path of an InfiniBand port
 * @ads: zeroed struct mlx5_ifc_ads_bits
 * @ah: the address, checked by mlx5_ib_check_ah()
 * @rate_support: mask of the rate codes that the device has
 */
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support)
{
	const struct ib_global_route *grh;

	MLX5_SET(ads, ads, vhca_port_num, rdma_ah_get_port_num(ah));
	MLX5_SET(ads, ads, stat_rate, mlx5_ib_rate_to_hw(rdma_ah_get_static_rate(ah),
							 rate_support));
	path_fill_lid(ads, ah);
	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return;

	grh = rdma_ah_read_grh(ah);
	MLX5_SET(ads, ads, src_addr_index, grh->sgid_index);
	MLX5_SET(ads, ads, hop_limit, grh->hop_limit);
	MLX5_SET(ads, ads, tclass, grh->traffic_class);
	MLX5_SET(ads, ads, flow_label, grh->flow_label);
	memcpy(MLX5_ADDR_OF(ads, ads, rgid_rip), grh->dgid.raw, sizeof(grh->dgid.raw));
}

/* Read the LIDs of a path. Returns whether the path also has a GRH, a route by GIDs. */
static bool path_read_lid(const void *ads, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(ah, MLX5_GET(ads, ads, rlid));
	rdma_ah_set_path_bits(ah, MLX5_GET(ads, ads, mlid));
	rdma_ah_set_sl(ah, MLX5_GET(ads, ads, sl));
	return MLX5_GET(ads, ads, grh);
}

/**
 * mlx5_ib_read_path - read back an address path of an InfiniBand port
 * @ads: struct mlx5_ifc_ads_bits
 * @ah: gets the address
 */
void mlx5_ib_read_path(const void *ads, struct rdma_ah_attr *ah)
{
	*ah = (struct rdma_ah_attr){};
	rdma_ah_set_port_num(ah, MLX5_GET(ads, ads, vhca_port_num));
	rdma_ah_set_static_rate(ah, mlx5_ib_rate_from_hw(MLX5_GET(ads, ads, stat_rate)));
	if (!path_read_lid(ads, ah))
		return;

	rdma_ah_set_grh(ah, NULL, MLX5_GET(ads, ads, flow_label),
			MLX5_GET(ads, ads, src_addr_index), MLX5_GET(ads, ads, hop_limit),
			MLX5_GET(ads, ads, tclass));
	rdma_ah_set_dgid_raw(ah, MLX5_ADDR_OF(ads, ads, rgid_rip));
}

/* ---- address vectors of datagrams ------------------------------------------------- */

/* Fields of grh_gid_fl. */
#define AV_GRH		BIT(30)
#define AV_SGID_SHIFT	20
#define AV_SGID_MASK	0xff
#define AV_FLOW_LABEL	0xfffff

static void av_fill_lid(struct mlx5_av *av, const struct rdma_ah_attr *ah)
{
	av->stat_rate_sl |= rdma_ah_get_sl(ah);
	av->fl_mlid = rdma_ah_get_path_bits(ah);
	av->rlid = cpu_to_be16(rdma_ah_get_dlid(ah));
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH)
		av->grh_gid_fl = cpu_to_be32(AV_GRH);
}

/**
 * mlx5_ib_fill_av - build the address vector of datagrams on an InfiniBand port
 * @av: gets the vector, without the queue pair number and the Q_Key of the destination
 * @ah: the address, checked by mlx5_ib_check_ah()
 * @rate_support: mask of the rate codes that the device has
 */
void mlx5_ib_fill_av(struct mlx5_av *av, const struct rdma_ah_attr *ah, u16 rate_support)
{
	u8 rate = mlx5_ib_rate_to_hw(rdma_ah_get_static_rate(ah), rate_support);
	const struct ib_global_route *grh;

	*av = (struct mlx5_av){ .stat_rate_sl = rate << 4 };
	av_fill_lid(av, ah);
	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return;

	grh = rdma_ah_read_grh(ah);
	av->tclass = grh->traffic_class;
	av->hop_limit = grh->hop_limit;
	av->grh_gid_fl |= cpu_to_be32(grh->sgid_index << AV_SGID_SHIFT | grh->flow_label);
	memcpy(av->rgid, grh->dgid.raw, sizeof(av->rgid));
}

/* Read the LIDs of a vector. Returns whether the vector also has a GRH, a route by GIDs. */
static bool av_read_lid(const struct mlx5_av *av, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(ah, be16_to_cpu(av->rlid));
	rdma_ah_set_path_bits(ah, av->fl_mlid & 0x7f);
	rdma_ah_set_sl(ah, av->stat_rate_sl & 0xf);
	return be32_to_cpu(av->grh_gid_fl) & AV_GRH;
}

/**
 * mlx5_ib_read_av - read back the address vector of datagrams on an InfiniBand port
 * @av: the vector
 * @ah: gets the address, without the number of the port, which the vector does not have
 */
void mlx5_ib_read_av(const struct mlx5_av *av, struct rdma_ah_attr *ah)
{
	u32 route = be32_to_cpu(av->grh_gid_fl);

	*ah = (struct rdma_ah_attr){};
	rdma_ah_set_static_rate(ah, mlx5_ib_rate_from_hw(av->stat_rate_sl >> 4));
	if (!av_read_lid(av, ah))
		return;

	rdma_ah_set_grh(ah, NULL, route & AV_FLOW_LABEL, route >> AV_SGID_SHIFT & AV_SGID_MASK,
			av->hop_limit, av->tclass);
	rdma_ah_set_dgid_raw(ah, (void *)av->rgid);
}
