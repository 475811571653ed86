// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: the registers of an Ethernet port.
 */
#include "access_reg.h"
#include "cmd.h"
#include "eth_module.h"
#include "eth_port.h"
#include "eth_proto.h"
#include "eth_reg.h"
#include "eth_stats.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"

enum eth_reg {			/* MLX5_REG_* of linux/mlx5/driver.h */
	REG_PMTU = 0x5003, REG_PTYS = 0x5004, REG_PAOS = 0x5006, REG_PFCC = 0x5007,
	REG_PPCNT = 0x5008, REG_MCIA = 0x9014,
};

#define PTYS_ETH	4u	/* proto_mask */
#define AN_COMPLETE	1	/* an_status, MLX5_AN_* of linux/mlx5/port.h */
#define CONNECTOR_DA	7	/* connector_type: a cable of copper, MLX5E_PORT_DA */
#define PAOS_UP		1
#define PAOS_DOWN	2

/* ---- PTYS: the speeds ------------------------------------------------------------------------ */

static uint8_t check_ptys(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write)
{
	uint32_t admin = IFC_GET(ptys_reg, in, eth_proto_admin);
	uint32_t ext = IFC_GET(ptys_reg, in, ext_eth_proto_admin);

	(void)hca;
	if (IFC_GET(ptys_reg, in, proto_mask) != PTYS_ETH)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE,
				"proto_mask %u, an Ethernet port has %u",
				IFC_GET(ptys_reg, in, proto_mask), PTYS_ETH);
	if (write && (ext || !admin || admin & ~ETH_PROTO_CAPS))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE,
				"speeds 0x%x and 0x%x, the port has 0x%x", admin, ext,
				ETH_PROTO_CAPS);
	return ST_OK;
}

/* The link takes the new speed when it comes up the next time. */
static void write_ptys(struct hca *hca, const uint8_t *in)
{
	hca->eth->proto_admin = IFC_GET(ptys_reg, in, eth_proto_admin);
	hca->eth->an_disable = IFC_GET(ptys_reg, in, an_disable_admin);
}

static void read_ptys(struct hca *hca, uint8_t *out)
{
	const struct eth_port *port = hca->eth;

	IFC_SET(ptys_reg, out, an_disable_admin, port->an_disable);
	IFC_SET(ptys_reg, out, an_disable_cap, 1);
	IFC_SET(ptys_reg, out, eth_proto_capability, ETH_PROTO_CAPS);
	IFC_SET(ptys_reg, out, eth_proto_admin, port->proto_admin);
	IFC_SET(ptys_reg, out, connector_type, CONNECTOR_DA);
	IFC_SET(ptys_reg, out, eth_proto_oper, port->proto_oper);
	if (!port->proto_oper || port->an_disable)
		return;
	IFC_SET(ptys_reg, out, an_status, AN_COMPLETE);
	IFC_SET(ptys_reg, out, eth_proto_lp_advertise, ETH_PROTO_CAPS);
}

/* ---- PAOS: up and down ----------------------------------------------------------------------- */

static uint8_t check_paos(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write)
{
	unsigned int status = IFC_GET(paos_reg, in, admin_status);

	(void)hca;
	if (!write || !IFC_GET(paos_reg, in, ase) || status == PAOS_UP || status == PAOS_DOWN)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE, "admin_status %u is neither %u nor %u",
			status, PAOS_UP, PAOS_DOWN);
}

static void write_paos(struct hca *hca, const uint8_t *in)
{
	if (IFC_GET(paos_reg, in, ase))
		eth_set_admin(hca, IFC_GET(paos_reg, in, admin_status) == PAOS_UP);
}

static void read_paos(struct hca *hca, uint8_t *out)
{
	IFC_SET(paos_reg, out, admin_status, hca->eth->admin_up ? PAOS_UP : PAOS_DOWN);
	IFC_SET(paos_reg, out, oper_status, fabric_link(hca) ? PAOS_UP : PAOS_DOWN);
}

/* ---- PMTU: the longest frame. The driver does not check whether a query has failed. ---------- */

static uint8_t check_pmtu(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write)
{
	unsigned int mtu = IFC_GET(pmtu_reg, in, admin_mtu);

	if (!write || (mtu >= ETH_FRAME_PADDED + ETH_FCS_BYTES && mtu <= hca->profile->mtu))
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE, "admin_mtu %u, the port has %u to %u",
			mtu, ETH_FRAME_PADDED + ETH_FCS_BYTES, hca->profile->mtu);
}

static void write_pmtu(struct hca *hca, const uint8_t *in)
{
	hca->eth->mtu = IFC_GET(pmtu_reg, in, admin_mtu);
}

static void read_pmtu(struct hca *hca, uint8_t *out)
{
	IFC_SET(pmtu_reg, out, max_mtu, hca->profile->mtu);
	IFC_SET(pmtu_reg, out, admin_mtu, hca->eth->mtu);
	IFC_SET(pmtu_reg, out, oper_mtu, hca->eth->mtu);
}

/* ---- PFCC: flow control, which no port does: the settings are kept for the driver ------------ */

/* The settings of a priority change only if its bit in the mask is set. */
static void write_pfcc(struct hca *hca, const uint8_t *in)
{
	struct eth_port *port = hca->eth;
	bool all = !IFC_GET(pfcc_reg, in, ppan_mask_n);
	uint8_t mask_tx = IFC_GET(pfcc_reg, in, prio_mask_tx);
	uint8_t mask_rx = IFC_GET(pfcc_reg, in, prio_mask_rx);

	if (all || IFC_GET(pfcc_reg, in, pptx_mask_n))
		port->pause_tx = IFC_GET(pfcc_reg, in, pptx);
	if (all || IFC_GET(pfcc_reg, in, pprx_mask_n))
		port->pause_rx = IFC_GET(pfcc_reg, in, pprx);
	port->pfc_tx = (port->pfc_tx & ~mask_tx) | (IFC_GET(pfcc_reg, in, pfctx) & mask_tx);
	port->pfc_rx = (port->pfc_rx & ~mask_rx) | (IFC_GET(pfcc_reg, in, pfcrx) & mask_rx);
}

static void read_pfcc(struct hca *hca, uint8_t *out)
{
	const struct eth_port *port = hca->eth;

	IFC_SET(pfcc_reg, out, pptx, port->pause_tx);
	IFC_SET(pfcc_reg, out, pprx, port->pause_rx);
	IFC_SET(pfcc_reg, out, pfctx, port->pfc_tx);
	IFC_SET(pfcc_reg, out, pfcrx, port->pfc_rx);
}

/* ---- PPCNT: the counters --------------------------------------------------------------------- */

static uint8_t check_ppcnt(struct hca *hca, struct cmd *cmd, const uint8_t *in, bool write)
{
	uint8_t set[IFC_UN_SZ(eth_cntrs_grp_data_layout_auto)] = { 0 };
	unsigned int prio = IFC_GET(ppcnt_reg, in, prio_tc), group = IFC_GET(ppcnt_reg, in, grp);

	(void)write;
	if (IFC_GET(ppcnt_reg, in, clr))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_VALUE, "counters cannot be cleared");
	if (prio >= ETH_PRIOS)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX, "there is no priority %u", prio);
	if (!eth_ppcnt(hca, group, prio, set))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX,
				"there is no group 0x%x of counters", group);
	return ST_OK;
}

static void read_ppcnt(struct hca *hca, uint8_t *out)
{
	eth_ppcnt(hca, IFC_GET(ppcnt_reg, out, grp), IFC_GET(ppcnt_reg, out, prio_tc),
		  IFC_ADDR(ppcnt_reg, out, counter_set));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct reg_desc eth_regs[] = {
	{ REG_PMLP, IFC_SZ(pmlp_reg), true, .read = reg_read_pmlp },
	{ REG_PMTU, IFC_SZ(pmtu_reg), true, 0, check_pmtu, write_pmtu, read_pmtu },
	{ REG_PTYS, IFC_SZ(ptys_reg), true, 0, check_ptys, write_ptys, read_ptys },
	{ REG_PAOS, IFC_SZ(paos_reg), true, 0, check_paos, write_paos, read_paos },
	{ REG_PFCC, IFC_SZ(pfcc_reg), true, .write = write_pfcc, .read = read_pfcc },
	{ REG_PPCNT, IFC_SZ(ppcnt_reg), true, .check = check_ppcnt, .read = read_ppcnt },
	{ REG_MCIA, MCIA_BYTES, .repeats = MCIA_DATA, .check = eth_check_mcia,
	  .read = eth_read_mcia },
	{ REG_NODE_DESC, NODE_DESC_BYTES, .write = reg_write_node_desc,
	  .read = reg_read_node_desc },
	{ REG_DTOR, IFC_SZ(dtor_reg), .read = reg_read_dtor },
	{ 0 }
};

static uint8_t eth_reg_access(struct hca *hca, struct cmd *cmd)
{
	return access_reg(hca, cmd, eth_regs);
}

const struct cmd_desc eth_reg_cmds[] = {
	CMD(ACCESS_REG, access_register, eth_reg_access, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE, MLX5_ACCESS_REGISTER_IN_OP_MOD_READ)),
	{}
};
