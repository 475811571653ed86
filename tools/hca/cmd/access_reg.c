// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: how a register is found in the table of the port's link layer, and the registers that
 * do not depend on the link layer: the lanes, the node description, the byte order of the host, and
 * the default time-outs of the driver.
 */
#include <string.h>

#include "access_reg.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mng_reg.h"

#define HEALTH_POLL_MS	1000
#define FLUSH_ON_ERROR_MS 2000
#define LANES		4

/*
 * The driver writes the byte order of the host here. The HCA does not use it: all its structures
 * are big-endian.
 */
#define REG_HOST_ENDIANNESS 0x7004

/**
 * reg_read_pmlp() - read the register that maps the lanes of the port to those of its module
 * @hca: the HCA
 * @out: the register
 */
void reg_read_pmlp(struct hca *hca, uint8_t *out)
{
	uint8_t *map = IFC_ADDR(pmlp_reg, out, lane0_module_mapping);
	unsigned int lane;

	(void)hca;
	IFC_SET(pmlp_reg, out, width, LANES);
	/* Module 0, lane of the same number. rxtx is 0: tx_lane is the receiver's lane, too. */
	for (lane = 0; lane < LANES; lane++, map += IFC_SZ(lane_2_module_mapping))
		IFC_SET(lane_2_module_mapping, map, tx_lane, lane);
}

/**
 * reg_read_dtor() - read the default time-outs of the driver
 * @hca: the HCA
 * @out: the register; a field that is 0 leaves the time-out to the driver
 */
void reg_read_dtor(struct hca *hca, uint8_t *out)
{
	(void)hca;
	IFC_SET(default_timeout, IFC_ADDR(dtor_reg, out, health_poll_to), to_value,
		HEALTH_POLL_MS);
	IFC_SET(default_timeout, IFC_ADDR(dtor_reg, out, flush_on_err_to), to_value,
		FLUSH_ON_ERROR_MS);
}

/**
 * reg_read_node_desc() - read the node description
 * @hca: the HCA
 * @out: the register
 */
void reg_read_node_desc(struct hca *hca, uint8_t *out)
{
	memcpy(out, hca->node_desc, sizeof(hca->node_desc));
}

/**
 * reg_write_node_desc() - change the node description
 * @hca: the HCA
 * @in: the register
 */
void reg_write_node_desc(struct hca *hca, const uint8_t *in)
{
	pthread_mutex_lock(&hca->attr_lock);
	memcpy(hca->node_desc, in, sizeof(hca->node_desc));
	pthread_mutex_unlock(&hca->attr_lock);
}

static uint8_t reg_check(struct hca *hca, struct cmd *cmd, const struct reg_desc *r, bool write,
			 const uint8_t *in, size_t len)
{
	if (len < r->min)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_LENGTH,
				"register 0x%04x does not fit %zu bytes", r->id, len);
	if (r->has_port && in[1] > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_UNKNOWN, "port %u does not exist",
				in[1]);
	if (write && !r->write)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_READ_ONLY,
				"register 0x%04x is read-only", r->id);
	return r->check ? r->check(hca, cmd, in, write) : ST_OK;
}

/**
 * reg_access() - read a register of a table, after a write if the command is one
 * @hca: the HCA
 * @cmd: the command
 * @table: the registers
 * @reg: register's number
 * @write: the command sets the register, else it queries the register
 * @in: the register as given
 * @out: answer, zeroed
 * @len: bytes of @in, and of @out
 *
 * Return: ST_OK, or ST_BAD_PARAM if the register or port does not exist or cannot be written.
 */
uint8_t reg_access(struct hca *hca, struct cmd *cmd, const struct reg_desc *table, uint16_t reg,
		   bool write, const uint8_t *in, uint8_t *out, size_t len)
{
	const struct reg_desc *r = table;
	uint8_t st;

	while (r->id && r->id != reg)
		r++;
	if (!r->id)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_UNKNOWN,
				"register 0x%04x does not exist", reg);
	st = reg_check(hca, cmd, r, write, in, len);
	if (st)
		return st;
	if (write)
		r->write(hca, in);
	memcpy(out, in, r->repeats ? r->repeats : r->has_port ? PORT_BYTES : 0);
	r->read(hca, out);
	return ST_OK;
}

/**
 * access_reg() - execute ACCESS_REG
 * @hca: the HCA
 * @cmd: the command
 * @table: the registers of the port's link layer
 *
 * Return: ST_OK, or the status of the refusal.
 */
uint8_t access_reg(struct hca *hca, struct cmd *cmd, const struct reg_desc *table)
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
	return reg_access(hca, cmd, table, reg, write, in, out, len);
}
