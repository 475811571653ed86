// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An Ethernet port, which is a vport of the NIC and has a network device: its attributes. roce.c
 * has its addresses, and finds the network device.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/mlx5/vport.h>
#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/mlx5-abi.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_raw.h"
#include "port.h"

/* Width and speed, in the units of InfiniBand, of a link. */
struct eth_link {
	u8 width;
	u16 speed;
};

/* The links of eth_proto_oper. Lanes of 10.3 Gb/s are reported as QDR. */
static const struct eth_link eth_links[] = {
	[MLX5E_1000BASE_CX_SGMII] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_1000BASE_KX] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_10GBASE_CX4] = { IB_WIDTH_4X, IB_SPEED_SDR },
	[MLX5E_10GBASE_KX4] = { IB_WIDTH_4X, IB_SPEED_SDR },
	[MLX5E_10GBASE_KR] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_20GBASE_KR2] = { IB_WIDTH_2X, IB_SPEED_QDR },
	[MLX5E_40GBASE_CR4] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[MLX5E_40GBASE_KR4] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[MLX5E_56GBASE_R4] = { IB_WIDTH_4X, IB_SPEED_FDR },
	[MLX5E_10GBASE_CR] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_10GBASE_SR] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_10GBASE_ER] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_40GBASE_SR4] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[MLX5E_40GBASE_LR4] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[MLX5E_50GBASE_SR2] = { IB_WIDTH_2X, IB_SPEED_EDR },
	[MLX5E_100GBASE_CR4] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[MLX5E_100GBASE_SR4] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[MLX5E_100GBASE_KR4] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[MLX5E_100GBASE_LR4] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[MLX5E_100BASE_TX] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_1000BASE_T] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_10GBASE_T] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_25GBASE_CR] = { IB_WIDTH_1X, IB_SPEED_EDR },
	[MLX5E_25GBASE_KR] = { IB_WIDTH_1X, IB_SPEED_EDR },
	[MLX5E_25GBASE_SR] = { IB_WIDTH_1X, IB_SPEED_EDR },
	[MLX5E_50GBASE_CR2] = { IB_WIDTH_2X, IB_SPEED_EDR },
	[MLX5E_50GBASE_KR2] = { IB_WIDTH_2X, IB_SPEED_EDR },
};

/* The links of ext_eth_proto_oper, which newer devices have. */
static const struct eth_link ext_eth_links[] = {
	[MLX5E_SGMII_100M] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_1000BASE_X_SGMII] = { IB_WIDTH_1X, IB_SPEED_SDR },
	[MLX5E_5GBASE_R] = { IB_WIDTH_1X, IB_SPEED_DDR },
	[MLX5E_10GBASE_XFI_XAUI_1] = { IB_WIDTH_1X, IB_SPEED_QDR },
	[MLX5E_40GBASE_XLAUI_4_XLPPI_4] = { IB_WIDTH_4X, IB_SPEED_QDR },
	[MLX5E_25GAUI_1_25GBASE_CR_KR] = { IB_WIDTH_1X, IB_SPEED_EDR },
	[MLX5E_50GAUI_2_LAUI_2_50GBASE_CR2_KR2] = { IB_WIDTH_2X, IB_SPEED_EDR },
	[MLX5E_50GAUI_1_LAUI_1_50GBASE_CR_KR] = { IB_WIDTH_1X, IB_SPEED_HDR },
	[MLX5E_CAUI_4_100GBASE_CR4_KR4] = { IB_WIDTH_4X, IB_SPEED_EDR },
	[MLX5E_100GAUI_2_100GBASE_CR2_KR2] = { IB_WIDTH_2X, IB_SPEED_HDR },
	[MLX5E_100GAUI_1_100GBASE_CR_KR] = { IB_WIDTH_1X, IB_SPEED_NDR },
	[MLX5E_200GAUI_4_200GBASE_CR4_KR4] = { IB_WIDTH_4X, IB_SPEED_HDR },
	[MLX5E_200GAUI_2_200GBASE_CR2_KR2] = { IB_WIDTH_2X, IB_SPEED_NDR },
	[MLX5E_200GAUI_1_200GBASE_CR1_KR1] = { IB_WIDTH_1X, IB_SPEED_XDR },
	[MLX5E_400GAUI_8_400GBASE_CR8] = { IB_WIDTH_8X, IB_SPEED_HDR },
	[MLX5E_400GAUI_4_400GBASE_CR4_KR4] = { IB_WIDTH_4X, IB_SPEED_NDR },
	[MLX5E_400GAUI_2_400GBASE_CR2_KR2] = { IB_WIDTH_2X, IB_SPEED_XDR },
	[MLX5E_800GAUI_8_800GBASE_CR8_KR8] = { IB_WIDTH_8X, IB_SPEED_NDR },
	[MLX5E_800GAUI_4_800GBASE_CR4_KR4] = { IB_WIDTH_4X, IB_SPEED_XDR },
	[MLX5E_1600GAUI_8_1600GBASE_CR8_KR8] = { IB_WIDTH_8X, IB_SPEED_XDR },
};

/* Find a link by the bit in @oper; 1X SDR for a port that is down, or for an unknown link. */
static struct eth_link eth_link_from_hw(u32 oper, bool ext)
{
	const struct eth_link *links = ext ? ext_eth_links : eth_links;
	unsigned int num = ext ? ARRAY_SIZE(ext_eth_links) : ARRAY_SIZE(eth_links);
	unsigned int bit = ffs(oper) - 1;

	return bit < num && links[bit].width ? links[bit] :
	       (struct eth_link){ IB_WIDTH_1X, IB_SPEED_SDR };
}

static int nic_vport_read_link(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	bool ext = MLX5_CAP_PCAM_FEATURE(port->dev->mdev, ptys_extended_ethernet);
	u32 ptys[MLX5_ST_SZ_DW(ptys_reg)] = {};
	struct eth_link link;
	int err;

	MLX5_SET(ptys_reg, ptys, local_port, port->num);
	MLX5_SET(ptys_reg, ptys, proto_mask, MLX5_PTYS_EN);
	err = mlx5_ib_fw_access_reg(port->dev, MLX5_REG_PTYS, ptys, sizeof(ptys), false);
	link = eth_link_from_hw(MLX5_GET_ETH_PROTO(ptys_reg, ptys, ext, eth_proto_oper), ext);
	props->active_width = link.width;
	props->active_speed = link.speed;
	return err;
}

/*
 * Read the state and the MTU of the network device. A port without a network device, whose driver
 * may be unbound, is down.
 */
static void nic_vport_read_netdev(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	struct net_device *netdev = ib_device_get_netdev(&port->dev->ib_dev, port->num);

	props->state = netdev ? ib_get_curr_port_state(netdev) : IB_PORT_DOWN;
	props->phys_state = props->state == IB_PORT_ACTIVE ? IB_PORT_PHYS_STATE_LINK_UP :
							     IB_PORT_PHYS_STATE_DISABLED;
	props->max_mtu = IB_MTU_4096;
	props->active_mtu = netdev ? iboe_get_mtu(READ_ONCE(netdev->mtu)) : 0;
	/* The network device may have an MTU that is too small for any RoCE packet. */
	props->active_mtu = props->active_mtu ?: IB_MTU_256;
	dev_put(netdev);
}

static int nic_vport_query(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	u32 out[MLX5_ST_SZ_DW(query_nic_vport_context_out)] = {};
	int err = mlx5_ib_fw_query_nic_vport(port->dev, out);

	if (!err)
		err = nic_vport_read_link(port, props);
	if (err)
		return err;
	props->qkey_viol_cntr = MLX5_GET(query_nic_vport_context_out, out,
					 nic_vport_context.qkey_violation_counter);
	if (port->core_cap_flags & RDMA_CORE_CAP_IB_CM) {
		props->port_cap_flags = IB_PORT_CM_SUP;
		props->ip_gids = true;
	}
	nic_vport_read_netdev(port, props);
	return 0;
}

/*
 * Do nothing: no subnet manager asks which capabilities the port announces. The RDMA core calls
 * this when a connection manager begins or ceases to use the port, and expects success.
 */
static int nic_vport_modify(struct mlx5_ib_port *port, u32 caps, u32 select)
{
	return 0;
}

/* RoCE has one P_Key. */
static int nic_vport_query_pkey(struct mlx5_ib_port *port, u16 index, u16 *pkey)
{
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/* The headers of raw packets that the device wants in the send WQE, as libraries are told. */
static u8 nic_vport_min_inline(struct mlx5_core_dev *mdev, const void *context)
{
	switch (MLX5_CAP_ETH(mdev, wqe_inline_mode)) {
	case MLX5_CAP_INLINE_MODE_NOT_REQUIRED:
		return MLX5_USER_INLINE_MODE_NONE;
	case MLX5_CAP_INLINE_MODE_VPORT_CONTEXT:
		/* The modes of a library begin with NA, "not available". */
		return MLX5_USER_INLINE_MODE_NONE +
		       MLX5_GET(nic_vport_context, context, min_wqe_inline_mode);
	default:
		return MLX5_USER_INLINE_MODE_L2;
	}
}

static int nic_vport_read_constants(struct mlx5_ib_port *port)
{
	u32 out[MLX5_ST_SZ_DW(query_nic_vport_context_out)] = {};
	void *context = MLX5_ADDR_OF(query_nic_vport_context_out, out, nic_vport_context);
	int err = mlx5_ib_fw_query_nic_vport(port->dev, out);
	u8 versions = port->dev->caps.roce_versions;

	port->dev->ib_dev.node_guid = cpu_to_be64(MLX5_GET64(nic_vport_context, context,
							     node_guid));
	port->dev->sys_image_guid = cpu_to_be64(MLX5_GET64(nic_vport_context, context,
							   system_image_guid));
	port->min_inline = nic_vport_min_inline(port->dev->mdev, context);
	port->core_cap_flags = mlx5_ib_has_raw_packets(&port->dev->caps) ?
			       RDMA_CORE_PORT_RAW_PACKET : 0;
	if (versions & MLX5_ROCE_VERSION_1_CAP)
		port->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE;
	if (versions & MLX5_ROCE_VERSION_2_CAP)
		port->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	return err;
}

/* Report nothing: the RDMA core reports changes of the network device. */
static enum ib_event_type nic_vport_changed(struct mlx5_ib_port *port, u8 change)
{
	return 0;
}

static const struct ib_device_ops nic_vport_dev_ops = {
	.add_gid = mlx5_ib_add_gid,
	.del_gid = mlx5_ib_del_gid,
};

const struct mlx5_ib_port_ops mlx5_ib_nic_vport_ops = {
	.link_layer = IB_LINK_LAYER_ETHERNET,
	.dev_ops = &nic_vport_dev_ops,
	.query = nic_vport_query,
	.modify = nic_vport_modify,
	.query_pkey = nic_vport_query_pkey,
	.read_constants = nic_vport_read_constants,
	.changed = nic_vport_changed,
};
