/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Address paths of queue pairs and address vectors of datagrams. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_PATH_H
#define BLUEBELL_LAYOUT_PATH_H

#include <linux/if_ether.h>
#include <linux/mlx5/qp.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct mlx5_ib_caps;

/**
 * struct mlx5_ib_roce_address - an entry of the GID table of an Ethernet port, as the device has it
 * @gid: the GID; an IPv4 address is in the last four bytes
 * @version: MLX5_ROCE_VERSION_*
 * @l3_type: MLX5_ROCE_L3_TYPE_*: the IP header of RoCE version 2; 0 for version 1
 * @mac: source MAC address of the packets
 * @has_vlan: the packets have a VLAN tag
 * @vlan: number of the VLAN; 0 without a tag
 */
struct mlx5_ib_roce_address {
	union ib_gid gid;
	u8 version;
	u8 l3_type;
	u8 mac[ETH_ALEN];
	bool has_vlan;
	u16 vlan;
};

void mlx5_ib_fill_roce_address(struct mlx5_ib_roce_address *address,
			       const struct ib_gid_attr *attr, const u8 *mac, u16 vlan);
u8 mlx5_ib_rate_to_hw(u8 rate, u16 supported);
u8 mlx5_ib_rate_from_hw(u8 code);
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah);
u16 mlx5_ib_udp_sport(const struct rdma_ah_attr *ah, u32 qpn, u32 remote_qpn,
		      const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support, u16 udp_sport);
void mlx5_ib_read_path(const void *ads, bool ethernet, struct rdma_ah_attr *ah);
void mlx5_ib_fill_av(struct mlx5_av *av, const struct rdma_ah_attr *ah, u16 rate_support);
void mlx5_ib_read_av(const struct mlx5_av *av, bool ethernet, struct rdma_ah_attr *ah);

#endif /* BLUEBELL_LAYOUT_PATH_H */
