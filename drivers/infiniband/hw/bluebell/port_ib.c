// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An InfiniBand port, which is a vport of the HCA: its attributes, tables and events.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <rdma/ib_mad.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "port.h"

/* IB_WIDTH_* by the number of the bit that MLX5_PTYS_WIDTH_* sets. */
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

/* Read a register of the port: PTYS, PVLC or PMTU, which have @local_port at the same offset. */
static int port_read_reg(struct mlx5_ib_port *port, u16 reg_id, void *reg, size_t size)
{
	MLX5_SET(ptys_reg, reg, local_port, port->num);
	return mlx5_ib_fw_access_reg(port->dev, reg_id, reg, size, false);
}

/* Read the MTU each time: the subnet manager may change the MTU without an event. */
static int hca_vport_query_mtu(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	u32 pmtu[MLX5_ST_SZ_DW(pmtu_reg)] = {};
	int err = port_read_reg(port, MLX5_REG_PMTU, pmtu, sizeof(pmtu));

	props->max_mtu = ib_mtu_int_to_enum(MLX5_GET(pmtu_reg, pmtu, max_mtu));
	props->active_mtu = ib_mtu_int_to_enum(MLX5_GET(pmtu_reg, pmtu, oper_mtu));
	return err;
}

static void port_fill_link(const struct mlx5_ib_port_link *link, struct ib_port_attr *props)
{
	props->active_width = link->width;
	props->active_speed = link->speed;
	props->max_vl_num = link->max_vl;
	props->subnet_prefix = link->subnet_prefix;
}

/*
 * If what was read of the link before is still valid, fill it in and return true. Width and speed
 * of a link change only while the link is down, and the number of virtual lanes never changes. A
 * new subnet prefix is an event, as ib_core itself assumes, which reads the GIDs again only at
 * events. So check that no event of the port has come since, and that the state of the port is the
 * same: the event of a change may still be on its way.
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

/*
 * Keep what has been read of the link, if events tell of its changes (@port->told) and none has
 * come since: @num_events is the value of @port->num_events before the state of the port was read.
 */
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

/*
 * Without a prefix from the driver, ib_core (7.2) reports the prefix of the last entry of the GID
 * table, which is empty on most ports.
 */
static int hca_vport_read_prefix(struct mlx5_ib_port *port, u64 *prefix)
{
	union ib_gid gid = {};
	int err = mlx5_ib_query_gid(&port->dev->ib_dev, port->num, 0, &gid);

	*prefix = be64_to_cpu(gid.global.subnet_prefix);
	return err;
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
	if (!err)
		err = hca_vport_read_prefix(port, &link.subnet_prefix);
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
	return mlx5_ib_fw_query_hca_vport(port->dev, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, port->num,
					  0, rep);
}

static int hca_vport_query(struct mlx5_ib_port *port, struct ib_port_attr *props)
{
	unsigned int num_events = READ_ONCE(port->num_events);
	struct mlx5_hca_vport_context rep = {};
	int err = hca_vport_context(port, &rep);

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

/*
 * Change the capabilities that the port announces. Refuse the bits that announce capabilities of
 * firmware's agents: those that are not in cap_mask1_perm.
 */
static int hca_vport_modify(struct mlx5_ib_port *port, u32 caps, u32 select)
{
	struct mlx5_hca_vport_context rep = {};
	int err = hca_vport_context(port, &rep);

	if (err)
		return err;
	if (select & ~rep.cap_mask1_perm)
		return refuse(port->dev->mdev, -EINVAL,
			      "change of port capabilities %#x, only %#x can change", select,
			      rep.cap_mask1_perm);
	return mlx5_ib_fw_set_hca_vport_caps(port->dev, port->num, caps, select);
}

/**
 * mlx5_ib_query_gid - read an entry of the GID table of an InfiniBand port
 * @ibdev: device
 * @num: number of the port
 * @index: index of the entry; ib_core asks for entries of the table only
 * @gid: gets the entry
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_query_gid(struct ib_device *ibdev, u32 num, int index, union ib_gid *gid)
{
	return mlx5_ib_fw_query_hca_vport(to_mdev(ibdev), MLX5_CMD_OP_QUERY_HCA_VPORT_GID, num,
					  index, gid);
}

static const struct ib_device_ops hca_vport_dev_ops = {
	.query_gid = mlx5_ib_query_gid,
};

static int hca_vport_query_pkey(struct mlx5_ib_port *port, u16 index, u16 *pkey)
{
	return mlx5_ib_fw_query_hca_vport(port->dev, MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, port->num,
					  index, pkey);
}

/*
 * Read what never changes about the port. A PCI function that does not own the port may have no
 * QP0, and so no subnet management.
 */
static int hca_vport_read_constants(struct mlx5_ib_port *port)
{
	struct mlx5_hca_vport_context rep = {};
	int err = hca_vport_context(port, &rep);

	port->dev->ib_dev.node_guid = cpu_to_be64(rep.node_guid);
	port->dev->sys_image_guid = cpu_to_be64(rep.sys_image_guid);
	port->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	if (!rep.has_smi)
		port->core_cap_flags &= ~RDMA_CORE_CAP_IB_SMI;
	if (rep.grh_required)
		port->core_cap_flags |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	return err;
}

static const char *hca_vport_why_not(struct mlx5_core_dev *mdev)
{
	if (!MLX5_CAP_GEN(mdev, ib_virt))
		return "its firmware does not report the attributes of the port (ib_virt is 0)";
	return NULL;
}

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

static enum ib_event_type hca_vport_changed(struct mlx5_ib_port *port, u8 change)
{
	port_forget_link(port);
	return change < ARRAY_SIZE(port_events) ? port_events[change] : 0;
}

const struct mlx5_ib_port_ops mlx5_ib_hca_vport_ops = {
	.link_layer = IB_LINK_LAYER_INFINIBAND,
	.dev_ops = &hca_vport_dev_ops,
	.why_not = hca_vport_why_not,
	.query = hca_vport_query,
	.modify = hca_vport_modify,
	.query_pkey = hca_vport_query_pkey,
	.read_constants = hca_vport_read_constants,
	.changed = hca_vport_changed,
};
