// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: the registers of an InfiniBand port.
 */
#include "access_reg.h"
#include "cmd.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "port.h"
#include "profile.h"

enum port_reg {			/* MLX5_REG_* of linux/mlx5/driver.h */
	REG_PCAP = 0x5001, REG_PMTU = 0x5003, REG_PTYS = 0x5004, REG_PAOS = 0x5006,
	REG_PPCNT = 0x5008, REG_PVLC = 0x500f, REG_PLIB = 0x500a,
};

#define PTYS_IB		1u	/* proto_mask */
#define IB_WIDTH_1X_4X	0x5	/* MLX5_PTYS_WIDTH_* */
#define IB_WIDTH_2X	0x2
#define IB_WIDTH_4X	0x4
#define IB_PROTO(speed)	((unsigned int)(speed) << 4)	/* MLX5_PTYS_RATE_* of enum link_speed */
#define VL_CAP_0_3	4
#define PAOS_UP		1
#define PAOS_DOWN	2

/*
 * The speeds that a port can use. mlxlink prints 0x3f for EDR ports, 0x75 for HDR ports (no DDR, no
 * FDR10), and 0xf1 for NDR ports (no QDR either).
 */
static unsigned int ptys_speeds(uint8_t speed)
{
	switch (speed) {
	case SPEED_HDR:
		return 0x75;
	case SPEED_NDR:
		return 0xf1;
	default:
		return 2 * IB_PROTO(speed) - 1;
	}
}

static unsigned int ptys_widths(const struct profile *p)
{
	return IB_WIDTH_1X_4X | (p->port_caps_2 & PORT_CAP2_2X ? IB_WIDTH_2X : 0);
}

static void reg_ptys(struct hca *hca, uint8_t *out)
{
	unsigned int widths = ptys_widths(hca->profile);
	uint8_t speed = hca->profile->link_speed;

	IFC_SET(ptys_reg, out, proto_mask, PTYS_IB);
	IFC_SET(ptys_reg, out, ib_link_width_capability, widths);
	IFC_SET(ptys_reg, out, ib_proto_capability, ptys_speeds(speed));
	IFC_SET(ptys_reg, out, ib_link_width_admin, widths);
	IFC_SET(ptys_reg, out, ib_proto_admin, ptys_speeds(speed));
	if (!fabric_link(hca))
		return;
	IFC_SET(ptys_reg, out, ib_link_width_oper, IB_WIDTH_4X);
	IFC_SET(ptys_reg, out, ib_proto_oper, IB_PROTO(speed));
}

static void reg_pmtu(struct hca *hca, uint8_t *out)
{
	IFC_SET(pmtu_reg, out, max_mtu, hca->profile->mtu);
	IFC_SET(pmtu_reg, out, admin_mtu, hca->profile->mtu);
	IFC_SET(pmtu_reg, out, oper_mtu, fabric_mtu(hca));
}

static void reg_pvlc(struct hca *hca, uint8_t *out)
{
	(void)hca;
	IFC_SET(pvlc_reg, out, vl_hw_cap, VL_CAP_0_3);
	IFC_SET(pvlc_reg, out, vl_admin, VL_CAP_0_3);
	IFC_SET(pvlc_reg, out, vl_operational, VL_CAP_0_3);
}

static void reg_paos(struct hca *hca, uint8_t *out)
{
	IFC_SET(paos_reg, out, admin_status, hca->port->admin_down ? PAOS_DOWN : PAOS_UP);
	IFC_SET(paos_reg, out, oper_status, fabric_link(hca) ? PAOS_UP : PAOS_DOWN);
}

static void port_set_admin(struct hca *hca, bool up)
{
	pthread_mutex_lock(&hca->attr_lock);
	hca->port->admin_down = !up;
	pthread_mutex_unlock(&hca->attr_lock);
	port_set_link(hca, up);
}

static void reg_plib(struct hca *hca, uint8_t *out)
{
	(void)hca;
	IFC_SET(plib_reg, out, ib_port, 1);
}

#define PPCNT_IB	0x20	/* groups of counters, MLX5_INFINIBAND_*_COUNTERS_GROUP */
#define PPCNT_IB_EXT	0x21
#define PPCNT_SET(fld, n) \
	put_be64(set + IFC_BYTE(ib_ext_port_cntrs_grp_data_layout, fld##_high), n)

/* The counters of other groups are 0. */
static void reg_ppcnt(struct hca *hca, uint8_t *out)
{
	uint8_t *set = IFC_ADDR(ppcnt_reg, out, counter_set);
	const struct counters *c = &hca->count;
	uint64_t errors = count_rx_errors(c);

	switch (IFC_GET(ppcnt_reg, out, grp)) {
	case PPCNT_IB:
		IFC_SET(ib_port_cntrs_grp_data_layout, set, link_downed_counter,
			c->link_downed > UINT8_MAX ? UINT8_MAX : c->link_downed);
		IFC_SET(ib_port_cntrs_grp_data_layout, set, port_rcv_errors,
			errors > UINT16_MAX ? UINT16_MAX : errors);
		break;
	case PPCNT_IB_EXT:
		PPCNT_SET(port_xmit_data, c->octets_tx / 4);
		PPCNT_SET(port_rcv_data, c->octets_rx / 4);
		PPCNT_SET(port_xmit_pkts, c->packets_tx);
		PPCNT_SET(port_rcv_pkts, c->packets_rx);
		PPCNT_SET(port_unicast_xmit_pkts, c->packets_tx - c->mcast_tx);
		PPCNT_SET(port_unicast_rcv_pkts, c->packets_rx - c->mcast_rx);
		PPCNT_SET(port_multicast_xmit_pkts, c->mcast_tx);
		PPCNT_SET(port_multicast_rcv_pkts, c->mcast_rx);
		break;
	default:
		break;
	}
}

/* A register without capabilities: the answer has the port of the request, and zeros. */
static void reg_none(struct hca *hca, uint8_t *out)
{
	(void)hca;
	(void)out;
}

static void write_paos(struct hca *hca, const uint8_t *in)
{
	if (IFC_GET(paos_reg, in, ase))
		port_set_admin(hca, IFC_GET(paos_reg, in, admin_status) == PAOS_UP);
}

static const struct reg_desc port_regs[] = {
	{ REG_PCAP, IFC_SZ(pcap_reg), true, .read = reg_none },
	{ REG_PMLP, IFC_SZ(pmlp_reg), true, .read = reg_read_pmlp },
	{ REG_PMTU, IFC_SZ(pmtu_reg), true, .read = reg_pmtu },
	{ REG_PTYS, IFC_SZ(ptys_reg), true, .read = reg_ptys },
	{ REG_PAOS, IFC_SZ(paos_reg), true, .write = write_paos, .read = reg_paos },
	{ REG_PPCNT, IFC_SZ(ppcnt_reg), true, .read = reg_ppcnt },
	{ REG_PVLC, IFC_SZ(pvlc_reg), true, .read = reg_pvlc },
	{ REG_PLIB, IFC_SZ(plib_reg), true, .read = reg_plib },
	{ REG_NODE_DESC, NODE_DESC_BYTES, .write = reg_write_node_desc,
	  .read = reg_read_node_desc },
	{ REG_DTOR, IFC_SZ(dtor_reg), .read = reg_read_dtor },
	{ 0 }
};

/**
 * port_access_reg() - ACCESS_REG for the registers of a port
 * @hca: the HCA
 * @cmd: the command
 * @reg: register's number
 * @write: the command sets the register, else it queries the register
 * @in: the register as given
 * @out: answer, zeroed
 * @len: bytes of @in, and of @out
 *
 * Return: ST_OK, or ST_BAD_PARAM if the register or port does not exist or cannot be written.
 */
uint8_t port_access_reg(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write,
			const uint8_t *in, uint8_t *out, size_t len)
{
	return reg_access(hca, cmd, port_regs, reg, write, in, out, len);
}

static uint8_t port_reg_access(struct hca *hca, struct cmd *cmd)
{
	return access_reg(hca, cmd, port_regs);
}

const struct cmd_desc port_reg_cmds[] = {
	CMD(ACCESS_REG, access_register, port_reg_access, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE, MLX5_ACCESS_REGISTER_IN_OP_MOD_READ)),
	{}
};
