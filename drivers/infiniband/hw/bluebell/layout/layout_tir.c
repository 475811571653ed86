// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout of a transport interface for receiving (TIR): flow rules send packets to a TIR, and the
 * TIR sends them to one receive queue, or spreads them over a table of queues by a hash of their
 * headers (receive side scaling, RSS). Pure functions only.
 */

#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "layout/caps.h"
#include "layout/layout_tir.h"
#include "layout/refuse.h"

#define IPV4_FIELDS	(MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4)
#define IPV6_FIELDS	(MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6)
#define TCP_FIELDS	(MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP)
#define UDP_FIELDS	(MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP)

/**
 * mlx5_ib_tunnel_caps - find the tunnels in which the device finds inner headers
 * @caps: what the device can do
 *
 * Return: enum mlx5_ib_tunnel_offloads.
 */
u32 mlx5_ib_tunnel_caps(const struct mlx5_ib_caps *caps)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	return (MLX5_CAP_ETH(mdev, tunnel_stateless_vxlan) ? MLX5_IB_TUNNELED_OFFLOADS_VXLAN : 0) |
	       (MLX5_CAP_ETH(mdev, tunnel_stateless_gre) ? MLX5_IB_TUNNELED_OFFLOADS_GRE : 0) |
	       (MLX5_CAP_ETH(mdev, tunnel_stateless_geneve_rx) ?
		MLX5_IB_TUNNELED_OFFLOADS_GENEVE : 0) |
	       (MLX5_CAP_ETH(mdev, tunnel_stateless_mpls_over_gre) ?
		MLX5_IB_TUNNELED_OFFLOADS_MPLS_GRE : 0) |
	       (MLX5_CAP_ETH(mdev, tunnel_stateless_mpls_over_udp) ?
		MLX5_IB_TUNNELED_OFFLOADS_MPLS_UDP : 0);
}

/**
 * mlx5_ib_tir_check_flags - check the flags of a request that are about its TIR
 * @flags: MLX5_QP_FLAG_*
 * @caps: what the device can do
 *
 * Return: 0; or -EOPNOTSUPP for tunnels on a device without any.
 */
int mlx5_ib_tir_check_flags(u32 flags, const struct mlx5_ib_caps *caps)
{
	return !(flags & MLX5_QP_FLAG_TUNNEL_OFFLOADS) || mlx5_ib_tunnel_caps(caps) ? 0 :
	       refuse(caps->mdev, -EOPNOTSUPP,
		      "QP with TUNNEL_OFFLOADS: the device has no tunnels (tunnel_stateless_*)");
}

static int rss_check_fields(u64 mask, u32 flags, u32 log_table_size,
			    const struct mlx5_ib_caps *caps)
{
	u64 fields = mask & ~(u64)MLX5_RX_HASH_INNER;

	if (fields & ~(u64)MLX5_IB_RSS_FIELDS)
		return refuse(caps->mdev, -EOPNOTSUPP, "RSS by the fields %#llx, supported: %#x",
			      mask, MLX5_IB_RSS_FIELDS);
	if ((mask & MLX5_RX_HASH_INNER) && !(flags & MLX5_QP_FLAG_TUNNEL_OFFLOADS))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "RSS by inner headers of a QP without TUNNEL_OFFLOADS");
	if ((fields & IPV4_FIELDS && fields & IPV6_FIELDS) ||
	    (fields & TCP_FIELDS && fields & UDP_FIELDS))
		return refuse(caps->mdev, -EINVAL,
			      "RSS by the fields %#llx, of both IPv4 and IPv6, or of both TCP and UDP",
			      mask);
	if (!fields && log_table_size)
		return refuse(caps->mdev, -EINVAL,
			      "RSS by no field, but with a table of 2^%u entries", log_table_size);
	return 0;
}

/**
 * mlx5_ib_rss_check - check a request to create a QP that spreads packets over several queues
 * @rss: the library's request
 * @log_table_size: log2 of the number of entries of the table of queues
 * @caps: what the device can do
 *
 * A hash of no field is valid only with a table of one entry.
 *
 * Return: 0; -EINVAL for invalid attributes; -EOPNOTSUPP for a hash or a feature that the driver or
 * the device does not have.
 */
int mlx5_ib_rss_check(const struct mlx5_ib_create_qp_rss *rss, u32 log_table_size,
		      const struct mlx5_ib_caps *caps)
{
	if (rss->flags & ~MLX5_IB_TIR_FLAGS || rss->comp_mask ||
	    memchr_inv(rss->reserved, 0, sizeof(rss->reserved)))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "RSS QP driver flags %#x, supported: %#x; comp_mask %#x, reserved must be 0",
			      rss->flags, MLX5_IB_TIR_FLAGS, rss->comp_mask);
	if (rss->rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ)
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "RSS by hash function %#x, supported: TOEPLITZ (%#x)",
			      rss->rx_hash_function, MLX5_RX_HASH_FUNC_TOEPLITZ);
	if (rss->rx_key_len != MLX5_IB_RSS_KEY_LEN)
		return refuse(caps->mdev, -EINVAL, "RSS with a key of %u bytes, must have %u",
			      rss->rx_key_len, MLX5_IB_RSS_KEY_LEN);
	return mlx5_ib_tir_check_flags(rss->flags, caps) ?:
	       rss_check_fields(rss->rx_hash_fields_mask, rss->flags, log_table_size, caps);
}

/*
 * Write the fields that all TIRs have. Bits of self_lb_block let packets of the same transport
 * domain in: mlx5_core sets them to switch the loopback of its own TIRs on, whatever their names.
 */
static void tirc_fill(void *tirc, u32 tdn, u32 flags)
{
	u8 loopback = 0;

	if (flags & MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC)
		loopback |= MLX5_TIRC_SELF_LB_BLOCK_BLOCK_UNICAST;
	if (flags & MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC)
		loopback |= MLX5_TIRC_SELF_LB_BLOCK_BLOCK_MULTICAST;
	MLX5_SET(tirc, tirc, self_lb_block, loopback);
	MLX5_SET(tirc, tirc, transport_domain, tdn);
	MLX5_SET(tirc, tirc, tunneled_offload_en, !!(flags & MLX5_QP_FLAG_TUNNEL_OFFLOADS));
}

/**
 * mlx5_ib_fill_direct_tirc - build the context of a new TIR that has one receive queue
 * @tirc: zeroed struct mlx5_ifc_tirc_bits
 * @rqn: number of the queue
 * @tdn: number of the transport domain
 * @flags: MLX5_IB_TIR_FLAGS of the request
 */
void mlx5_ib_fill_direct_tirc(void *tirc, u32 rqn, u32 tdn, u32 flags)
{
	tirc_fill(tirc, tdn, flags);
	MLX5_SET(tirc, tirc, disp_type, MLX5_TIRC_DISP_TYPE_DIRECT);
	MLX5_SET(tirc, tirc, inline_rqn, rqn);
}

static u32 rss_selected(u64 mask)
{
	static const struct {
		u32 fields;
		u32 selected;
	} table[] = {
		{ MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_SRC_IPV6, MLX5_HASH_FIELD_SEL_SRC_IP },
		{ MLX5_RX_HASH_DST_IPV4 | MLX5_RX_HASH_DST_IPV6, MLX5_HASH_FIELD_SEL_DST_IP },
		{ MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_SRC_PORT_UDP,
		  MLX5_HASH_FIELD_SEL_L4_SPORT },
		{ MLX5_RX_HASH_DST_PORT_TCP | MLX5_RX_HASH_DST_PORT_UDP,
		  MLX5_HASH_FIELD_SEL_L4_DPORT },
	};
	u32 selected = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (mask & table[i].fields)
			selected |= table[i].selected;
	return selected;
}

/**
 * mlx5_ib_fill_rss_tirc - build the context of a new TIR that has a table of receive queues
 * @tirc: zeroed struct mlx5_ifc_tirc_bits
 * @rqtn: number of the table
 * @tdn: number of the transport domain
 * @rss: the library's request, checked by mlx5_ib_rss_check()
 */
void mlx5_ib_fill_rss_tirc(void *tirc, u32 rqtn, u32 tdn, const struct mlx5_ib_create_qp_rss *rss)
{
	void *outer = MLX5_ADDR_OF(tirc, tirc, rx_hash_field_selector_outer);
	void *inner = MLX5_ADDR_OF(tirc, tirc, rx_hash_field_selector_inner);
	u64 mask = rss->rx_hash_fields_mask;
	void *select = mask & MLX5_RX_HASH_INNER ? inner : outer;

	tirc_fill(tirc, tdn, rss->flags);
	MLX5_SET(tirc, tirc, disp_type, MLX5_TIRC_DISP_TYPE_INDIRECT);
	MLX5_SET(tirc, tirc, indirect_table, rqtn);
	if (!(mask & MLX5_IB_RSS_FIELDS))
		return;
	MLX5_SET(tirc, tirc, rx_hash_fn, MLX5_RX_HASH_FN_TOEPLITZ);
	memcpy(MLX5_ADDR_OF(tirc, tirc, rx_hash_toeplitz_key), rss->rx_hash_key,
	       MLX5_IB_RSS_KEY_LEN);
	MLX5_SET(rx_hash_field_select, select, l3_prot_type,
		 mask & IPV6_FIELDS ? MLX5_L3_PROT_TYPE_IPV6 : MLX5_L3_PROT_TYPE_IPV4);
	MLX5_SET(rx_hash_field_select, select, l4_prot_type,
		 mask & UDP_FIELDS ? MLX5_L4_PROT_TYPE_UDP : MLX5_L4_PROT_TYPE_TCP);
	MLX5_SET(rx_hash_field_select, select, selected_fields, rss_selected(mask));
}
