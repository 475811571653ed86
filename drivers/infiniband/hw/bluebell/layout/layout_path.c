// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses of packets: the address paths of a queue pair's context, and the address vectors of
 * datagrams. Both have the rate and the GRH of an address, and the LID or, on an Ethernet port, the
 * MAC address, in different fields. Entries of the device's GID table. Pure functions only.
 *
 * Only the functions ..._lid() and ..._mac() depend on the link layer.
 */

#include <linux/if_vlan.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "layout/caps.h"
#include "layout/layout_path.h"
#include "layout/refuse.h"

#define MAX_SL			15
/* On an Ethernet port the SL is the priority in the VLAN tag. */
#define MAX_PRIORITY		7
#define MAX_PATH_BITS		127
#define FLOW_LABEL_MASK		0xfffff

/* The traffic class of an IP header is DSCP, six bits, and ECN, which the device sets. */
#define DSCP_SHIFT		2

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
	int want, fastest = 0, slowest = INT_MAX, mbps;
	u8 code, found = 0, least = 0;

	if (rate == IB_RATE_PORT_CURRENT)
		return 0;
	want = ib_rate_to_mbps(rate);
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

static bool ah_is_roce(const struct rdma_ah_attr *ah)
{
	return ah->type == RDMA_AH_ATTR_TYPE_ROCE;
}

/* Whether the packets have an IP header and a UDP header. */
static bool ah_is_roce_v2(const struct rdma_ah_attr *ah)
{
	return ah_is_roce(ah) && ah->grh.sgid_attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/*
 * The flow label of an address with a GRH. It has 20 bits. UCX sets all 32, so the others are
 * ignored.
 */
static u32 ah_flow_label(const struct rdma_ah_attr *ah)
{
	return ah->grh.flow_label & FLOW_LABEL_MASK;
}

/**
 * mlx5_ib_check_ah - check the address of a path or an address handle
 * @ah: the address, of which ib_core has checked type, port and GID index
 *
 * Return: 0, or -EINVAL for a value that does not fit into its field of the context or vector,
 * except the flow label; for a static rate that is not in enum ib_rate; or for an address of an
 * Ethernet port without a GRH or without a source address.
 */
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah)
{
	u8 max_sl = ah_is_roce(ah) ? MAX_PRIORITY : MAX_SL;
	u8 rate = rdma_ah_get_static_rate(ah);

	if (ah_is_roce(ah) && !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return refuse(NULL, -EINVAL, "address vector of an Ethernet port without a GRH");
	if (ah_is_roce(ah) && !ah->grh.sgid_attr)
		return refuse(NULL, -EINVAL,
			      "address vector with GID index %u, where no address is",
			      ah->grh.sgid_index);
	if (rdma_ah_get_sl(ah) > max_sl)
		return refuse(NULL, -EINVAL, "address vector with SL %u, at most %u",
			      rdma_ah_get_sl(ah), max_sl);
	if (rdma_ah_get_path_bits(ah) > MAX_PATH_BITS)
		return refuse(NULL, -EINVAL, "address vector with source path bits %u, at most %u",
			      rdma_ah_get_path_bits(ah), MAX_PATH_BITS);
	return rate == IB_RATE_PORT_CURRENT || ib_rate_to_mbps(rate) >= 0 ? 0 :
	       refuse(NULL, -EINVAL, "address vector with static rate %u, not in enum ib_rate",
		      rate);
}

/**
 * mlx5_ib_udp_sport - choose the UDP source port of the packets of a connected queue pair
 * @ah: the address, checked by mlx5_ib_check_ah()
 * @qpn: number of the queue pair
 * @remote_qpn: number of the peer's queue pair; 0 if it is not known
 * @caps: what the device can do
 *
 * Routers and switches choose among paths by this number, so it is the same for all packets of a
 * flow label or, without a flow label, of a connection.
 *
 * Return: a port from the device's range; 0 if the packets have no UDP header, or if the device
 * itself chooses the port.
 */
u16 mlx5_ib_udp_sport(const struct rdma_ah_attr *ah, u32 qpn, u32 remote_qpn,
		      const struct mlx5_ib_caps *caps)
{
	u16 min, max, port;

	if (!ah_is_roce_v2(ah) || !MLX5_CAP_ROCE(caps->mdev, sw_r_roce_src_udp_port))
		return 0;
	min = MLX5_CAP_ROCE(caps->mdev, r_roce_min_src_udp_port);
	max = MLX5_CAP_ROCE(caps->mdev, r_roce_max_src_udp_port);
	port = rdma_get_udp_sport(ah_flow_label(ah), qpn, remote_qpn);
	if (min > max || (port >= min && port <= max))
		return port;
	return min + port % (max - min + 1);
}

/* ---- paths of queue pairs -------------------------------------------------------- */

static void path_fill_lid(void *ads, const struct rdma_ah_attr *ah)
{
	MLX5_SET(ads, ads, rlid, rdma_ah_get_dlid(ah));
	MLX5_SET(ads, ads, mlid, rdma_ah_get_path_bits(ah));
	MLX5_SET(ads, ads, sl, rdma_ah_get_sl(ah));
	MLX5_SET(ads, ads, grh, !!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH));
}

static void path_fill_mac(void *ads, const struct rdma_ah_attr *ah, u16 udp_sport)
{
	memcpy(MLX5_ADDR_OF(ads, ads, rmac_47_32), ah->roce.dmac, sizeof(ah->roce.dmac));
	MLX5_SET(ads, ads, eth_prio, rdma_ah_get_sl(ah));
	if (!ah_is_roce_v2(ah))
		return;
	MLX5_SET(ads, ads, udp_sport, udp_sport);
	MLX5_SET(ads, ads, dscp, ah->grh.traffic_class >> DSCP_SHIFT);
}

/**
 * mlx5_ib_fill_path - build an address path
 * @ads: zeroed struct mlx5_ifc_ads_bits
 * @ah: the address, checked by mlx5_ib_check_ah()
 * @rate_support: mask of the rate codes that the device has
 * @udp_sport: port from mlx5_ib_udp_sport()
 */
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support, u16 udp_sport)
{
	const struct ib_global_route *grh;

	MLX5_SET(ads, ads, vhca_port_num, rdma_ah_get_port_num(ah));
	MLX5_SET(ads, ads, stat_rate, mlx5_ib_rate_to_hw(rdma_ah_get_static_rate(ah),
							 rate_support));
	if (ah_is_roce(ah))
		path_fill_mac(ads, ah, udp_sport);
	else
		path_fill_lid(ads, ah);
	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return;

	grh = rdma_ah_read_grh(ah);
	MLX5_SET(ads, ads, src_addr_index, grh->sgid_index);
	MLX5_SET(ads, ads, hop_limit, grh->hop_limit);
	MLX5_SET(ads, ads, tclass, grh->traffic_class);
	MLX5_SET(ads, ads, flow_label, ah_flow_label(ah));
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

/* Read the MAC address of a path of an Ethernet port. Such a path always has a GRH. */
static bool path_read_mac(const void *ads, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	memcpy(ah->roce.dmac, MLX5_ADDR_OF(ads, ads, rmac_47_32), sizeof(ah->roce.dmac));
	rdma_ah_set_sl(ah, MLX5_GET(ads, ads, eth_prio));
	return true;
}

/**
 * mlx5_ib_read_path - read back an address path
 * @ads: struct mlx5_ifc_ads_bits
 * @ethernet: the path is one of an Ethernet port
 * @ah: gets the address, without the source address itself
 */
void mlx5_ib_read_path(const void *ads, bool ethernet, struct rdma_ah_attr *ah)
{
	*ah = (struct rdma_ah_attr){};
	rdma_ah_set_port_num(ah, MLX5_GET(ads, ads, vhca_port_num));
	rdma_ah_set_static_rate(ah, mlx5_ib_rate_from_hw(MLX5_GET(ads, ads, stat_rate)));
	if (!(ethernet ? path_read_mac(ads, ah) : path_read_lid(ads, ah)))
		return;

	rdma_ah_set_grh(ah, NULL, MLX5_GET(ads, ads, flow_label),
			MLX5_GET(ads, ads, src_addr_index), MLX5_GET(ads, ads, hop_limit),
			MLX5_GET(ads, ads, tclass));
	rdma_ah_set_dgid_raw(ah, MLX5_ADDR_OF(ads, ads, rgid_rip));
}

/* ---- address vectors of datagrams ------------------------------------------------- */

/* Fields of grh_gid_fl. On an Ethernet port AV_GRH is reserved. */
#define AV_GRH		BIT(30)
#define AV_SGID_SHIFT	20
#define AV_SGID_MASK	0xff

static void av_fill_lid(struct mlx5_av *av, const struct rdma_ah_attr *ah)
{
	av->stat_rate_sl |= rdma_ah_get_sl(ah);
	av->fl_mlid = rdma_ah_get_path_bits(ah);
	av->rlid = cpu_to_be16(rdma_ah_get_dlid(ah));
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH)
		av->grh_gid_fl = cpu_to_be32(AV_GRH);
}

/* The four bits of the SL have the priority, and then a bit that is reserved. */
#define AV_PRIORITY_SHIFT	1

static void av_fill_mac(struct mlx5_av *av, const struct rdma_ah_attr *ah)
{
	av->stat_rate_sl |= rdma_ah_get_sl(ah) << AV_PRIORITY_SHIFT;
	memcpy(av->rmac, ah->roce.dmac, sizeof(av->rmac));
	/* The queue pairs of the datagrams are not known yet. */
	if (ah_is_roce_v2(ah))
		av->udp_sport = cpu_to_be16(rdma_flow_label_to_udp_sport(ah_flow_label(ah)));
}

/**
 * mlx5_ib_fill_av - build the address vector of datagrams
 * @av: gets the vector, without the queue pair number and the Q_Key of the destination
 * @ah: the address, checked by mlx5_ib_check_ah()
 * @rate_support: mask of the rate codes that the device has
 */
void mlx5_ib_fill_av(struct mlx5_av *av, const struct rdma_ah_attr *ah, u16 rate_support)
{
	u8 rate = mlx5_ib_rate_to_hw(rdma_ah_get_static_rate(ah), rate_support);
	const struct ib_global_route *grh;

	*av = (struct mlx5_av){ .stat_rate_sl = rate << 4 };
	if (ah_is_roce(ah))
		av_fill_mac(av, ah);
	else
		av_fill_lid(av, ah);
	if (!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return;

	grh = rdma_ah_read_grh(ah);
	av->tclass = grh->traffic_class;
	av->hop_limit = grh->hop_limit;
	av->grh_gid_fl |= cpu_to_be32(grh->sgid_index << AV_SGID_SHIFT | ah_flow_label(ah));
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

/* Read the MAC address of a vector of an Ethernet port. Such a vector always has a GRH. */
static bool av_read_mac(const struct mlx5_av *av, struct rdma_ah_attr *ah)
{
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	memcpy(ah->roce.dmac, av->rmac, sizeof(ah->roce.dmac));
	rdma_ah_set_sl(ah, (av->stat_rate_sl & 0xf) >> AV_PRIORITY_SHIFT);
	return true;
}

/**
 * mlx5_ib_read_av - read back the address vector of datagrams
 * @av: the vector
 * @ethernet: the vector is one of an Ethernet port
 * @ah: gets the address, without the number of the port and the source address itself, which the
 *	vector does not have
 */
void mlx5_ib_read_av(const struct mlx5_av *av, bool ethernet, struct rdma_ah_attr *ah)
{
	u32 route = be32_to_cpu(av->grh_gid_fl);

	*ah = (struct rdma_ah_attr){};
	rdma_ah_set_static_rate(ah, mlx5_ib_rate_from_hw(av->stat_rate_sl >> 4));
	if (!(ethernet ? av_read_mac(av, ah) : av_read_lid(av, ah)))
		return;

	rdma_ah_set_grh(ah, NULL, route & FLOW_LABEL_MASK, route >> AV_SGID_SHIFT & AV_SGID_MASK,
			av->hop_limit, av->tclass);
	rdma_ah_set_dgid_raw(ah, (void *)av->rgid);
}

/* ---- addresses of an Ethernet port -------------------------------------------------- */

/**
 * mlx5_ib_fill_roce_address - build an entry of the device's GID table
 * @address: gets the entry
 * @attr: the GID and its type
 * @mac: MAC address of the network device that has the address
 * @vlan: VLAN of that network device; a number that no VLAN can have, as the RDMA core passes, if
 *	the device is not on a VLAN
 */
void mlx5_ib_fill_roce_address(struct mlx5_ib_roce_address *address,
			       const struct ib_gid_attr *attr, const u8 *mac, u16 vlan)
{
	bool has_ip = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	bool is_ipv4 = ipv6_addr_v4mapped((const struct in6_addr *)attr->gid.raw);

	*address = (struct mlx5_ib_roce_address){
		.gid = attr->gid,
		.version = has_ip ? MLX5_ROCE_VERSION_2 : MLX5_ROCE_VERSION_1,
		.has_vlan = vlan < VLAN_N_VID,
	};
	if (has_ip)
		address->l3_type = is_ipv4 ? MLX5_ROCE_L3_TYPE_IPV4 : MLX5_ROCE_L3_TYPE_IPV6;
	if (address->has_vlan)
		address->vlan = vlan;
	memcpy(address->mac, mac, sizeof(address->mac));
}
