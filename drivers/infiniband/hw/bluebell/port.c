// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port of the device, its attributes and events, and the attributes of the
 * device, for verbs and in sysfs.
 */

#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_mad.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#define UVERBS_MODULE_NAME mlx5_ib
#include <rdma/uverbs_named_ioctl.h>

#include "bluebell.h"
#include "fast_mr.h"
#include "fw.h"
#include "layout_dm.h"
#include "layout_qp.h"
#include "layout_srq.h"
#include "odp.h"
#include "port.h"

/* The device reads longer descriptors in more than one step. */
#define MAX_SQ_DESC		512
/*
 * Send queue entries of 64 bytes that libmlx5 reserves for each request of an RC QP,
 * so that any kind of request fits.
 */
#define SQ_ENTRIES_PER_WR	4

static u64 device_cap_flags(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	u64 flags = IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |
		    IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |
		    IB_DEVICE_MEM_MGT_EXTENSIONS;

	if (MLX5_CAP_GEN(mdev, imaicl))
		flags |= IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	if (MLX5_CAP_GEN(mdev, pkv))
		flags |= IB_DEVICE_BAD_PKEY_CNTR;
	if (MLX5_CAP_GEN(mdev, qkv))
		flags |= IB_DEVICE_BAD_QKEY_CNTR;
	if (MLX5_CAP_GEN(mdev, apm))
		flags |= IB_DEVICE_AUTO_PATH_MIG;
	if (MLX5_CAP_GEN(mdev, end_pad))
		flags |= IB_DEVICE_PCI_WRITE_END_PADDING;
	if (dev->caps.has_xrc)
		flags |= IB_DEVICE_XRC;
	return flags;
}

static void device_fill_atomics(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	const u16 masked = MLX5_IB_MASKED_ATOMIC_OPS;

	if (!dev->caps.atomic_mode)
		return;
	props->atomic_cap = IB_ATOMIC_HCA;
	if ((dev->caps.atomic_ops & masked) == masked)
		props->masked_atomic_cap = IB_ATOMIC_HCA;
}

static void device_fill_queue_limits(const struct mlx5_ib_caps *caps, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = caps->mdev;
	int sq_desc = min_t(int, MLX5_CAP_GEN(mdev, max_wqe_sz_sq), MAX_SQ_DESC);
	int rq_desc = MLX5_CAP_GEN(mdev, max_wqe_sz_rq);
	int sq_sge = (sq_desc - sizeof(struct mlx5_wqe_ctrl_seg) -
		      sizeof(struct mlx5_wqe_raddr_seg)) / sizeof(struct mlx5_wqe_data_seg);

	props->max_qp = 1 << MLX5_CAP_GEN(mdev, log_max_qp);
	props->max_qp_wr = (1 << MLX5_CAP_GEN(mdev, log_max_qp_sz)) / SQ_ENTRIES_PER_WR;
	props->max_send_sge = sq_sge;
	props->max_recv_sge = rq_desc / sizeof(struct mlx5_wqe_data_seg);
	props->max_sge_rd = MLX5_MAX_SGE_RD;
	props->max_qp_rd_atom = mlx5_ib_max_dest_rd_atomic(caps);
	props->max_qp_init_rd_atom = mlx5_ib_max_rd_atomic(caps);
	props->max_res_rd_atom = min_t(u64, INT_MAX, (u64)props->max_qp_rd_atom * props->max_qp);
	props->max_cq = 1 << MLX5_CAP_GEN(mdev, log_max_cq);
	props->max_cqe = (1 << MLX5_CAP_GEN(mdev, log_max_cq_sz)) - 1;
	if (MLX5_CAP_GEN(mdev, cq_moderation)) {
		props->cq_caps.max_cq_moderation_count = MLX5_MAX_CQ_COUNT;
		props->cq_caps.max_cq_moderation_period = MLX5_MAX_CQ_PERIOD;
	}
}

static void device_fill_srq_limits(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	if (!dev->caps.has_srq)
		return;
	props->max_srq = 1 << MLX5_CAP_GEN(dev->mdev, log_max_srq);
	props->max_srq_wr = mlx5_ib_max_srq_wr(&dev->caps);
	props->max_srq_sge = mlx5_ib_max_srq_sge(&dev->caps);
}

static void device_fill_mcast_limits(struct mlx5_core_dev *mdev, struct ib_device_attr *props)
{
	props->max_mcast_grp = 1 << MLX5_CAP_GEN(mdev, log_max_mcg);
	props->max_mcast_qp_attach = MLX5_CAP_GEN(mdev, max_qp_mcg);
	props->max_total_mcast_qp_attach = min_t(u64, INT_MAX, (u64)props->max_mcast_grp *
							       props->max_mcast_qp_attach);
}

static void device_fill_identity(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	props->sys_image_guid = dev->sys_image_guid;
	props->fw_ver = (u64)fw_rev_maj(mdev) << 32 | (u32)fw_rev_min(mdev) << 16 |
			fw_rev_sub(mdev);
	props->vendor_id = dev->vendor_id;
	props->vendor_part_id = mdev->pdev->device;
	props->hw_ver = mdev->pdev->revision;
}

static int device_respond(const struct mlx5_ib_caps *caps, struct ib_udata *uhw)
{
	struct mlx5_ib_query_device_resp resp = {};
	struct mlx5_core_dev *mdev = caps->mdev;

	resp.response_length = min(uhw->outlen, sizeof(resp));
	if (MLX5_CAP_GEN(mdev, cqe_compression)) {
		resp.cqe_comp_caps.max_num = MLX5_CAP_GEN(mdev, cqe_compression_max_num);
		resp.cqe_comp_caps.supported_format = MLX5_IB_CQE_RES_FORMAT_HASH |
						      MLX5_IB_CQE_RES_FORMAT_CSUM;
		if (MLX5_CAP_GEN(mdev, mini_cqe_resp_stride_index))
			resp.cqe_comp_caps.supported_format |= MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX;
	}
	if (MLX5_CAP_GEN(mdev, cqe_compression_128))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP;
	if (MLX5_CAP_GEN(mdev, cqe_128_always))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
	if (MLX5_CAP_GEN(mdev, qp_packet_based))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_PACKET_BASED_CREDIT_MODE;
	/* libmlx5 asks the device for which types. */
	if (mlx5_ib_qp_out_of_order(IB_QPT_RC, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_UC, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_UD, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_XRC_INI, caps))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP;
	return ib_respond_udata(uhw, resp);
}

/**
 * mlx5_ib_query_device - attributes of the device
 * @ibdev: device
 * @props: the attributes; those of verbs that the driver does not have are 0
 * @uhw: nothing in; struct mlx5_ib_query_device_resp out, truncated to the caller's
 *	buffer
 *
 * Implements ibv_query_device(3). Sends no command.
 *
 * Return: 0; -EINVAL for a buffer too short for the response's own length;
 * -EOPNOTSUPP for a request that is not empty; -EFAULT.
 */
int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw)
{
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	struct mlx5_core_dev *mdev = dev->mdev;
	int err;

	if (uhw && uhw->outlen &&
	    uhw->outlen < offsetofend(struct mlx5_ib_query_device_resp, response_length))
		return -EINVAL;
	err = ib_is_udata_in_empty(uhw);
	if (err)
		return err;

	memset(props, 0, sizeof(*props));
	device_fill_identity(dev, props);
	device_fill_queue_limits(&dev->caps, props);
	device_fill_srq_limits(dev, props);
	device_fill_mcast_limits(mdev, props);
	device_fill_atomics(dev, props);
	props->device_cap_flags = device_cap_flags(dev);
	props->kernel_cap_flags = IBK_SG_GAPS_REG;
	if (MLX5_CAP_GEN(mdev, block_lb_mc))
		props->kernel_cap_flags |= IBK_BLOCK_MULTICAST_LOOPBACK;
	props->max_mr_size = ~0ULL;
	props->page_size_cap = ~(BIT_ULL(MLX5_CAP_GEN(mdev, log_pg_sz)) - 1);
	props->max_mr = 1 << MLX5_CAP_GEN(mdev, log_max_mkey);
	if (MLX5_CAP_GEN(mdev, imaicl))
		props->max_mw = props->max_mr;
	props->max_fast_reg_page_list_len = mlx5_ib_max_fast_reg(&dev->caps, false);
	props->max_pd = 1 << MLX5_CAP_GEN(mdev, log_max_pd);
	props->max_dm_size = mlx5_ib_has_dm(&dev->caps, PAGE_SHIFT) ?
								 mlx5_ib_max_dm(&dev->caps) : 0;
	props->max_ah = INT_MAX;
	props->max_pkeys = dev->caps.pkey_table_len;
	props->local_ca_ack_delay = MLX5_CAP_GEN(mdev, local_ca_ack_delay);
	props->hca_core_clock = MLX5_CAP_GEN(mdev, device_frequency_khz);
	props->timestamp_mask = S64_MAX;
	props->max_sgl_rd = MLX5_CAP_GEN(mdev, max_sgl_for_optimized_performance);
	mlx5_ib_fill_odp_attr(dev, props);

	return uhw && uhw->outlen ? device_respond(&dev->caps, uhw) : 0;
}

/**
 * mlx5_ib_modify_device - change the description of the node
 * @ibdev: device
 * @mask: IB_DEVICE_MODIFY_NODE_DESC
 * @props: the description
 *
 * Return: 0; -EOPNOTSUPP for another attribute; or the errno of a firmware
 * refusal.
 */
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props)
{
	int err;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (!mask)
		return 0;
	err = mlx5_fw_access_reg(to_mdev(ibdev), MLX5_REG_NODE_DESC, props->node_desc,
				 sizeof(props->node_desc), true);
	if (!err)
		memcpy(ibdev->node_desc, props->node_desc, sizeof(ibdev->node_desc));
	return err;
}

/* IB_WIDTH_* of each MLX5_PTYS_WIDTH_*, by the number of its bit. */
static const u8 port_widths[] = {
	IB_WIDTH_1X, IB_WIDTH_2X, IB_WIDTH_4X, IB_WIDTH_8X, IB_WIDTH_12X,
};

static u8 width_from_hw(u16 width)
{
	unsigned int bit = ffs(width) - 1;

	return bit < ARRAY_SIZE(port_widths) ? port_widths[bit] : IB_WIDTH_4X;
}

/* PortInfo.VLCap: 1 for VL0, 2 for VL0-1, 3 for VL0-3, 4 for VL0-7, 5 for VL0-14. */
static u8 vl_cap_from_hw(u8 lanes)
{
	return lanes < 15 ? fls(lanes) : 5;
}

/* ---- a port that is an HCA vport -------------------------------------------- */

/* The number of the port has one place in all registers of ports. */
static int port_read_reg(struct mlx5_ib_port *port, u16 reg_id, void *reg, size_t size)
{
	MLX5_SET(ptys_reg, reg, local_port, port->num);
	return mlx5_fw_access_reg(port->dev, reg_id, reg, size, false);
}

/* The subnet manager may change the MTU while the link is up, and no event says so. */
static int hca_vport_query_mtu(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	u32 pmtu[MLX5_ST_SZ_DW(pmtu_reg)] = {};
	int err;

	err = port_read_reg(port, MLX5_REG_PMTU, pmtu, sizeof(pmtu));
	props->max_mtu = ib_mtu_int_to_enum(MLX5_GET(pmtu_reg, pmtu, max_mtu));
	props->active_mtu = ib_mtu_int_to_enum(MLX5_GET(pmtu_reg, pmtu, oper_mtu));
	return err;
}

static void port_fill_link(const struct mlx5_ib_port_link *link, struct ib_port_attr *props)
{
	props->active_width = link->width;
	props->active_speed = link->speed;
	props->max_vl_num = link->max_vl;
}

/*
 * Width and speed of a link change only while it is down, and the number of virtual lanes never
 * does. So they are known unless there has been an event, or the port has another state than when
 * they were read, of which the event may not have been received yet.
 */
static bool port_knows_link(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	const struct mlx5_ib_port_link *link = &port->link;

	guard(spinlock_irqsave)(&port->link_lock);
	if (!link->valid || link->state != props->state || link->phys_state != props->phys_state)
		return false;
	port_fill_link(link, props);
	return true;
}

/* @num_events: events that had been received before the state of the port was read */
static void port_note_link(struct mlx5_ib_port *port, const struct mlx5_ib_port_link *link,
			   unsigned int num_events)
{
	guard(spinlock_irqsave)(&port->link_lock);
	port->link = *link;
	port->link.valid = port->told && num_events == port->num_events;
}

static void port_forget_link(struct mlx5_ib_port *port)
{
	guard(spinlock_irqsave)(&port->link_lock);
	WRITE_ONCE(port->num_events, port->num_events + 1);
	port->link.valid = false;
}

static int hca_vport_read_link(struct mlx5_ib_port *port, struct ib_port_attr *props,
			       unsigned int num_events)
{
	struct mlx5_ib_port_link link = { .state = props->state, .phys_state = props->phys_state };
	u32 ptys[MLX5_ST_SZ_DW(ptys_reg)] = {};
	u32 pvlc[MLX5_ST_SZ_DW(pvlc_reg)] = {};
	int err;

	MLX5_SET(ptys_reg, ptys, proto_mask, MLX5_PTYS_IB);
	err = port_read_reg(port, MLX5_REG_PTYS, ptys, sizeof(ptys));
	if (!err)
		err = port_read_reg(port, MLX5_REG_PVLC, pvlc, sizeof(pvlc));
	if (err)
		return err;
	link.width = width_from_hw(MLX5_GET(ptys_reg, ptys, ib_link_width_oper));
	link.speed = MLX5_GET(ptys_reg, ptys, ib_proto_oper);
	link.max_vl = vl_cap_from_hw(MLX5_GET(pvlc_reg, pvlc, vl_hw_cap));
	port_fill_link(&link, props);
	port_note_link(port, &link, num_events);
	return 0;
}

static int hca_vport_context(struct mlx5_ib_port *port, struct mlx5_hca_vport_context *rep)
{
	return mlx5_fw_query_hca_vport(port->dev, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, port->num, 0,
				       rep);
}

static int hca_vport_query(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	unsigned int num_events = READ_ONCE(port->num_events);
	struct mlx5_hca_vport_context rep = {};
	int err;

	err = hca_vport_context(port, &rep);
	if (err)
		return err;

	props->lid = rep.lid;
	props->lmc = rep.lmc;
	props->sm_lid = rep.sm_lid;
	props->sm_sl = rep.sm_sl;
	props->state = rep.vport_state;
	props->phys_state = rep.port_physical_state;
	props->port_cap_flags = rep.cap_mask1;
	if (props->port_cap_flags & IB_PORT_CAP_MASK2_SUP)
		props->port_cap_flags2 = rep.cap_mask2;
	props->bad_pkey_cntr = rep.pkey_violation_counter;
	props->qkey_viol_cntr = rep.qkey_violation_counter;
	props->subnet_timeout = rep.subnet_timeout;
	props->init_type_reply = rep.init_type_reply;

	err = hca_vport_query_mtu(port, props);
	if (err || port_knows_link(port, props))
		return err;
	return hca_vport_read_link(port, props, num_events);
}

/* Capabilities that others have, such as the firmware's own agents, cannot be changed. */
static int hca_vport_modify(struct mlx5_ib_port *port, u32 caps, u32 select)
{
	struct mlx5_hca_vport_context rep = {};
	int err;

	err = hca_vport_context(port, &rep);
	if (err)
		return err;
	if (select & ~rep.cap_mask1_perm)
		return -EINVAL;
	return mlx5_fw_set_hca_vport_caps(port->dev, port->num, caps, select);
}

static int hca_vport_query_gid(struct mlx5_ib_port *port, int index, union ib_gid *gid)
{
	return mlx5_fw_query_hca_vport(port->dev, MLX5_CMD_OP_QUERY_HCA_VPORT_GID, port->num,
				       index, gid);
}

static int hca_vport_query_pkey(struct mlx5_ib_port *port, u16 index, u16 *pkey)
{
	return mlx5_fw_query_hca_vport(port->dev, MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, port->num,
				       index, pkey);
}

/* A function that does not own the port may be without QP0, and so without subnet management. */
static int hca_vport_read_constants(struct mlx5_ib_port *port)
{
	struct mlx5_hca_vport_context rep = {};
	int err;

	err = hca_vport_context(port, &rep);
	port->dev->ib_dev.node_guid = cpu_to_be64(rep.node_guid);
	port->dev->sys_image_guid = cpu_to_be64(rep.sys_image_guid);
	port->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	if (!rep.has_smi)
		port->core_cap_flags &= ~RDMA_CORE_CAP_IB_SMI;
	if (rep.grh_required)
		port->core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	return err;
}

static const struct mlx5_ib_port_ops hca_vport_ops = {
	.link_layer = IB_LINK_LAYER_INFINIBAND,
	.query = hca_vport_query,
	.modify = hca_vport_modify,
	.query_gid = hca_vport_query_gid,
	.query_pkey = hca_vport_query_pkey,
	.read_constants = hca_vport_read_constants,
};

/* ---- any port --------------------------------------------------------------- */

/* ib_core has checked the number, and there is one port. */
static struct mlx5_ib_port *to_mport(struct ib_device *ibdev, u32 num)
{
	return &to_mdev(ibdev)->port;
}

/**
 * mlx5_ib_query_port - attributes of a port
 * @ibdev: device
 * @num: number of the port
 * @props: the attributes; zeroed by ib_core
 *
 * Implements ibv_query_port(3) with QUERY_HCA_VPORT_CONTEXT and the register PMTU. What PTYS and
 * PVLC say of the link is read again if there has been an event of the port or its state is another
 * than when they were read; and each time if the function is not told of all events. May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *props)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);
	const struct mlx5_ib_caps *caps = &port->dev->caps;

	props->gid_tbl_len = caps->gid_table_len;
	props->pkey_tbl_len = caps->pkey_table_len;
	props->max_msg_sz = 1U << MLX5_CAP_GEN(caps->mdev, log_max_msg);
	return port->ops->query(port, props);
}

/**
 * mlx5_ib_modify_port - change the capabilities that a port announces
 * @ibdev: device
 * @num: number of the port
 * @mask: enum ib_port_modify_flags: none
 * @props: capabilities to set and to clear
 *
 * Implements ib_modify_port() with MODIFY_HCA_VPORT_CONTEXT: consumers announce that there is a
 * connection manager, or a subnet manager, at the port. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for another change; -EINVAL for a capability that is not a consumer's; or
 * the errno of a firmware refusal.
 */
int mlx5_ib_modify_port(struct ib_device *ibdev, u32 num, int mask, struct ib_port_modify *props)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);
	u32 select = props->set_port_cap_mask | props->clr_port_cap_mask;

	if (mask)
		return -EOPNOTSUPP;
	return select ? port->ops->modify(port, props->set_port_cap_mask, select) : 0;
}

/**
 * mlx5_ib_query_gid - entry of the GID table
 * @ibdev: device
 * @num: number of the port
 * @index: of the entry; ib_core asks for entries of the table only
 * @gid: the entry
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_gid(struct ib_device *ibdev, u32 num, int index, union ib_gid *gid)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);

	return port->ops->query_gid(port, index, gid);
}

/**
 * mlx5_ib_query_pkey - entry of the P_Key table
 * @ibdev: device
 * @num: number of the port
 * @index: of the entry; ib_core and its users ask for entries of the table only
 * @pkey: the entry
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_pkey(struct ib_device *ibdev, u32 num, u16 index, u16 *pkey)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);

	return port->ops->query_pkey(port, index, pkey);
}

/**
 * mlx5_ib_port_immutable - what never changes about a port
 * @ibdev: device
 * @num: number of the port
 * @immutable: the answer
 *
 * Return: 0.
 */
int mlx5_ib_port_immutable(struct ib_device *ibdev, u32 num, struct ib_port_immutable *immutable)
{
	struct mlx5_ib_port *port = to_mport(ibdev, num);

	immutable->gid_tbl_len = port->dev->caps.gid_table_len;
	immutable->pkey_tbl_len = port->dev->caps.pkey_table_len;
	immutable->core_cap_flags = port->core_cap_flags;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/**
 * mlx5_ib_port_link_layer - what is below the transport
 * @ibdev: device
 * @num: number of the port
 *
 * Return: IB_LINK_LAYER_INFINIBAND, because only devices with such a port are probed.
 */
enum rdma_link_layer mlx5_ib_port_link_layer(struct ib_device *ibdev, u32 num)
{
	return to_mport(ibdev, num)->ops->link_layer;
}

/*
 * What e-switch the port is connected to, and by which of its vports. This driver does not take
 * the functions that have an e-switch with representors, and other ports have nothing to tell:
 * no flag is set.
 */
static int UVERBS_HANDLER(MLX5_IB_METHOD_QUERY_PORT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct mlx5_ib_uapi_query_port info = {};
	u32 num;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&num, attrs, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM);
	if (err)
		return err;
	if (!rdma_is_port_valid(uctx->device, num))
		return -EINVAL;
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_PORT, &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_QUERY_PORT,
			    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PORT,
						UVERBS_ATTR_STRUCT(struct mlx5_ib_uapi_query_port,
								   reg_c0),
						UA_MANDATORY));

ADD_UVERBS_METHODS(mlx5_ib_port_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(MLX5_IB_METHOD_QUERY_PORT));

const struct uapi_definition mlx5_ib_port_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &mlx5_ib_port_methods),
	{},
};

/* ---- events ----------------------------------------------------------------- */

/* IB_EVENT_* of each change of a port; 0 if verbs have no such event. */
static const enum ib_event_type port_events[] = {
	[MLX5_PORT_CHANGE_SUBTYPE_ACTIVE] = IB_EVENT_PORT_ACTIVE,
	[MLX5_PORT_CHANGE_SUBTYPE_DOWN] = IB_EVENT_PORT_ERR,
	[MLX5_PORT_CHANGE_SUBTYPE_INITIALIZED] = IB_EVENT_PORT_ERR,
	[MLX5_PORT_CHANGE_SUBTYPE_LID] = IB_EVENT_LID_CHANGE,
	[MLX5_PORT_CHANGE_SUBTYPE_PKEY] = IB_EVENT_PKEY_CHANGE,
	[MLX5_PORT_CHANGE_SUBTYPE_GUID] = IB_EVENT_GID_CHANGE,
	[MLX5_PORT_CHANGE_SUBTYPE_CLIENT_REREG] = IB_EVENT_CLIENT_REREGISTER,
};

/*
 * Called in the interrupt of the asynchronous event queue; a failure of the device may
 * be reported from process context.
 */
static int port_notify(struct notifier_block *nb, unsigned long type, void *data)
{
	struct mlx5_ib_port *port = container_of(nb, struct mlx5_ib_port, events);
	struct ib_event event = { .device = &port->dev->ib_dev };
	const struct mlx5_eqe *eqe = data;

	switch (type) {
	case MLX5_DEV_EVENT_SYS_ERROR:
		event.event = IB_EVENT_DEVICE_FATAL;
		event.element.port_num = port->num;
		break;
	case MLX5_EVENT_TYPE_PORT_CHANGE:
		port_forget_link(port);
		event.element.port_num = (eqe->data.port.port >> 4) & 0xf;
		if (eqe->sub_type < ARRAY_SIZE(port_events))
			event.event = port_events[eqe->sub_type];
		if (!event.event || event.element.port_num != port->num)
			return NOTIFY_DONE;
		break;
	default:
		return NOTIFY_DONE;
	}
	ib_dispatch_event(&event);
	return NOTIFY_OK;
}

/**
 * mlx5_ib_init_port_events - start to tell consumers about port and device
 * @dev: device, registered with the RDMA core
 *
 * Return: 0.
 */
int mlx5_ib_init_port_events(struct mlx5_ib_dev *dev)
{
	dev->port.events.notifier_call = port_notify;
	mlx5_notifier_register(dev->mdev, &dev->port.events);
	/*
	 * The port of a virtual function or a subfunction may be told to stay up whatever happens
	 * to the link that it shares with others. A query that has begun before may have missed an
	 * event, so what it reads must not be kept: it counts as if there had been one.
	 */
	scoped_guard(spinlock_irqsave, &dev->port.link_lock) {
		dev->port.told = mlx5_core_is_pf(dev->mdev);
		WRITE_ONCE(dev->port.num_events, dev->port.num_events + 1);
	}
	return 0;
}

/**
 * mlx5_ib_cleanup_port_events - stop to tell consumers about port and device
 * @dev: device, still registered with the RDMA core
 */
void mlx5_ib_cleanup_port_events(struct mlx5_ib_dev *dev)
{
	scoped_guard(spinlock_irqsave, &dev->port.link_lock) {
		dev->port.told = false;
		dev->port.link.valid = false;
	}
	mlx5_notifier_unregister(dev->mdev, &dev->port.events);
}

/* ---- sysfs, and what is read at probe --------------------------------------- */

/**
 * mlx5_ib_get_dev_fw_str - the firmware's version, as text
 * @ibdev: device
 * @str: IB_FW_VERSION_NAME_MAX bytes
 */
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	struct mlx5_core_dev *mdev = to_mdev(ibdev)->mdev;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%d.%d.%04d", fw_rev_maj(mdev), fw_rev_min(mdev),
		 fw_rev_sub(mdev));
}

static struct mlx5_core_dev *sysfs_to_mdev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct mlx5_ib_dev, ib_dev)->mdev;
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "MT%d\n", sysfs_to_mdev(device)->pdev->device);
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", sysfs_to_mdev(device)->rev_id);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%.*s\n", MLX5_BOARD_ID_LEN, sysfs_to_mdev(device)->board_id);
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *mlx5_ib_attributes[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	NULL,
};

const struct attribute_group mlx5_ib_attr_group = {
	.attrs = mlx5_ib_attributes,
};

/* Keys that the device does not have read as 0. */
static int port_read_special_mkeys(struct mlx5_ib_dev *dev)
{
	u32 out[MLX5_ST_SZ_DW(query_special_contexts_out)] = {};
	bool has_list_end = MLX5_CAP_GEN(dev->mdev, terminate_scatter_list_mkey);
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, dump_fill_mkey) && !MLX5_CAP_GEN(dev->mdev, null_mkey) &&
	    !has_list_end)
		return 0;
	err = mlx5_fw_query_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS, 0,
				   out, sizeof(out));
	if (err)
		return err;
	dev->dump_fill_mkey = MLX5_GET(query_special_contexts_out, out, dump_fill_mkey);
	dev->null_mkey = MLX5_GET(query_special_contexts_out, out, null_mkey);
	if (has_list_end)
		dev->caps.list_end_mkey = MLX5_GET(query_special_contexts_out, out,
						   terminate_scatter_list_mkey);
	return 0;
}

/**
 * mlx5_ib_init_device_attr - set up the port, and read the attributes that never change
 * @dev: device, not registered yet
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev)
{
	u32 adapter[MLX5_ST_SZ_DW(query_adapter_out)] = {};
	int err;

	dev->port.dev = dev;
	dev->port.num = 1;
	spin_lock_init(&dev->port.link_lock);
	dev->port.ops = &hca_vport_ops;
	err = dev->port.ops->read_constants(&dev->port);
	if (err)
		return err;
	err = mlx5_fw_access_reg(dev, MLX5_REG_NODE_DESC, dev->ib_dev.node_desc,
				 sizeof(dev->ib_dev.node_desc), false);
	if (err)
		return err;
	err = mlx5_fw_query_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_QUERY_ADAPTER, 0, adapter,
				   sizeof(adapter));
	if (err)
		return err;
	dev->vendor_id = MLX5_GET(query_adapter_out, adapter, query_adapter_struct.ieee_vendor_id);
	return port_read_special_mkeys(dev);
}
