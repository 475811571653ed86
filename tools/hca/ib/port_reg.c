// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: the registers of the port, the register for the byte order of the host, and the
 * default time-outs of the driver.
 */
#include <string.h>

#include "cmd.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "mng_reg.h"
#include "port.h"
#include "profile.h"
#include "util.h"

enum port_reg {			/* MLX5_REG_* of linux/mlx5/driver.h */
	REG_PCAP = 0x5001, REG_PMLP = 0x5002, REG_PMTU = 0x5003, REG_PTYS = 0x5004,
	REG_PAOS = 0x5006, REG_PPCNT = 0x5008, REG_PVLC = 0x500f, REG_PLIB = 0x500a,
	REG_NODE_DESC = 0x6001, REG_DTOR = 0xc00e,
};

#define PTYS_IB		1u	/* proto_mask */
#define IB_WIDTH_1X_4X	0x5	/* MLX5_PTYS_WIDTH_* */
#define IB_WIDTH_2X	0x2
#define IB_WIDTH_4X	0x4
#define IB_PROTO(speed)	((unsigned int)(speed) << 4)	/* MLX5_PTYS_RATE_* of enum link_speed */
#define VL_CAP_0_3	4
#define PAOS_UP		1
#define PAOS_DOWN	2
#define HEALTH_POLL_MS	1000
#define FLUSH_ON_ERROR_MS 2000

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

static void reg_pmlp(struct hca *hca, uint8_t *out)
{
	uint8_t *map = IFC_ADDR(pmlp_reg, out, lane0_module_mapping);
	unsigned int lane;

	(void)hca;
	IFC_SET(pmlp_reg, out, width, 4);
	/* Module 0, lane of the same number. rxtx is 0: tx_lane is the receiver's lane, too. */
	for (lane = 0; lane < 4; lane++, map += IFC_SZ(lane_2_module_mapping))
		IFC_SET(lane_2_module_mapping, map, tx_lane, lane);
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

static void reg_node_desc(struct hca *hca, uint8_t *out)
{
	memcpy(out, hca->port->node_desc, sizeof(hca->port->node_desc));
}

/* The default time-outs of the driver. A field that is 0 leaves the time-out to the driver. */
static void reg_dtor(struct hca *hca, uint8_t *out)
{
	(void)hca;
	IFC_SET(default_timeout, IFC_ADDR(dtor_reg, out, health_poll_to), to_value,
		HEALTH_POLL_MS);
	IFC_SET(default_timeout, IFC_ADDR(dtor_reg, out, flush_on_err_to), to_value,
		FLUSH_ON_ERROR_MS);
}

static const struct {
	uint16_t id;
	uint16_t min;		/* bytes */
	bool has_port;		/* local_port in the second byte */
	void (*read)(struct hca *hca, uint8_t *out);
} port_regs[] = {
	{ REG_PCAP, IFC_SZ(pcap_reg), true, reg_none },
	{ REG_PMLP, IFC_SZ(pmlp_reg), true, reg_pmlp },
	{ REG_PMTU, IFC_SZ(pmtu_reg), true, reg_pmtu },
	{ REG_PTYS, IFC_SZ(ptys_reg), true, reg_ptys },
	{ REG_PAOS, IFC_SZ(paos_reg), true, reg_paos },
	{ REG_PPCNT, IFC_SZ(ppcnt_reg), true, reg_ppcnt },
	{ REG_PVLC, IFC_SZ(pvlc_reg), true, reg_pvlc },
	{ REG_PLIB, IFC_SZ(plib_reg), true, reg_plib },
	{ REG_NODE_DESC, 64, false, reg_node_desc },
	{ REG_DTOR, IFC_SZ(dtor_reg), false, reg_dtor },
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
	size_t i;

	for (i = 0; i < ARRAY_SIZE(port_regs); i++)
		if (port_regs[i].id == reg)
			break;
	if (i == ARRAY_SIZE(port_regs))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_UNKNOWN,
				"register 0x%04x does not exist", reg);
	if (len < port_regs[i].min)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_LENGTH,
				"register 0x%04x does not fit %zu bytes", reg, len);
	if (port_regs[i].has_port && in[1] > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				in[1]);
	if (write && reg == REG_NODE_DESC) {
		pthread_mutex_lock(&hca->attr_lock);
		memcpy(hca->port->node_desc, in, sizeof(hca->port->node_desc));
		pthread_mutex_unlock(&hca->attr_lock);
	} else if (write && reg == REG_PAOS) {
		if (IFC_GET(paos_reg, in, ase))
			port_set_admin(hca, IFC_GET(paos_reg, in, admin_status) == PAOS_UP);
	} else if (write) {
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_READ_ONLY,
				"register 0x%04x is read-only", reg);
	}
	if (port_regs[i].has_port)
		memcpy(out, in, 8);	/* part of the request: port, group, planes */
	port_regs[i].read(hca, out);
	return ST_OK;
}

/*
 * The driver writes the byte order of the host here. The HCA does not use it: all its structures
 * are big-endian.
 */
#define REG_HOST_ENDIANNESS 0x7004

static uint8_t access_reg(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *in = cmd->in + IFC_SZ(access_register_in);
	uint8_t *out = cmd->out + IFC_SZ(access_register_out);
	uint16_t reg = IFC_GET(access_register_in, cmd->in, register_id);
	size_t len = cmd->in_len - IFC_SZ(access_register_in);
	bool write = cmd->op_mod == MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE;
	uint8_t st;

	if (cmd->out_len - IFC_SZ(access_register_out) < len)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, WHY_REG_LENGTH,
				"register 0x%x: %zu bytes in, %zu out", reg, cmd->in_len,
				cmd->out_len);
	if (reg == REG_HOST_ENDIANNESS) {
		memcpy(out, in, len);
		return ST_OK;
	}
	if (mng_reg_access(hca, cmd, reg, write, in, len, out,
			   cmd->out_len - IFC_SZ(access_register_out), &st))
		return st;
	return port_access_reg(hca, cmd, reg, write, in, out, len);
}

const struct cmd_desc port_reg_cmds[] = {
	CMD(ACCESS_REG, access_register, access_reg, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(MLX5_ACCESS_REGISTER_IN_OP_MOD_WRITE, MLX5_ACCESS_REGISTER_IN_OP_MOD_READ)),
	{}
};
