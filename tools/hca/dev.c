// SPDX-License-Identifier: GPL-2.0
/*
 * The function as a whole: making and resetting it, its life from ENABLE_HCA to
 * DISABLE_HCA, and the commands about no object in particular.
 */
#include <errno.h>
#include <stdlib.h>

#include "ctrl.h"
#include "hca_priv.h"
#include "mem.h"
#include "mkey.h"
#include "object.h"
#include "pci.h"
#include "port.h"
#include "trace.h"

#define HCA_FILE_ID FILE_DEV

#define ISSI_SUPPORTED	1	/* the highest step of the interface that the driver may choose */

struct hca **hca_all;
unsigned int hca_nr;

static const struct hca_module *const modules[] = {
	&cmdif_module, &page_module, &uar_module, &eq_module,
	&misc_module, &memic_module, &mkey_module, &cq_module, &srq_module, &qp_module, &sq_module,
	&port_module, &fault_module,
	&fabric_module, &transport_module,
};

#define NR_MODULES (sizeof(modules) / sizeof(*modules))

static int core_init(struct hca *hca)
{
	static int (*const inits[])(struct hca *) = {
		trace_init, ctrl_init, mem_init, objs_init, pci_init, iseg_init,
	};
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(inits) / sizeof(*inits); i++) {
		err = inits[i](hca);
		if (err)
			return err;
	}
	for (i = 0; i < NR_MODULES; i++) {
		err = modules[i]->init ? modules[i]->init(hca) : 0;
		if (err)
			return err;
	}
	return 0;
}

static void caps_reset(struct hca *hca)
{
	unsigned int i;

	for (i = 0; i < HCA_CAP_TYPES; i++)
		if (hca->profile->cap_valid[i])
			memcpy(hca->cap[i], hca->profile->cap[1][i], HCA_CAP_SIZE);
}

/**
 * hca_create() - make a function
 * @base: event loop
 * @p: what it is; belongs to the caller and outlives the function
 * @index: of the functions in this process
 *
 * Return: the function as after power on, NULL if memory is short.
 */
struct hca *hca_create(struct event_base *base, struct profile *p, unsigned int index)
{
	struct hca *hca = calloc(1, sizeof(*hca));

	if (!hca)
		return NULL;
	hca->index = index;
	hca->base = base;
	hca->profile = p;
	hca->cap = calloc(HCA_CAP_TYPES, sizeof(*hca->cap));
	if (!hca->cap || core_init(hca)) {
		free(hca->cap);
		free(hca);
		return NULL;
	}
	caps_reset(hca);
	return hca;
}

/**
 * hca_free_objects() - everything that commands made goes, whoever refers to it
 * @hca: the function
 */
void hca_free_objects(struct hca *hca)
{
	unsigned int i;

	for (i = NR_MODULES; i--;)
		if (modules[i]->reset)
			modules[i]->reset(hca);
}

/**
 * hca_reset() - bring the function to where power on left it
 * @hca: the function
 */
void hca_reset(struct hca *hca)
{
	hca->life = LIFE_RESET;
	hca->hung = false;
	hca->fatal = false;
	hca_free_objects(hca);
	cmdif_set_queue(hca, 0);
	iseg_reset(hca);
	caps_reset(hca);
	hca_trace(hca, "reset", "\"index\":%u", hca->index);
}

void hca_destroy(struct hca *hca)
{
	unsigned int i;

	hca->life = LIFE_RESET;
	hca_free_objects(hca);
	for (i = NR_MODULES; i--;)
		if (modules[i]->exit)
			modules[i]->exit(hca);
	iseg_exit(hca);
	pci_exit(hca);
	objs_exit(hca);
	mem_exit(hca);
	ctrl_exit(hca);
	trace_exit(hca);
	free(hca->cap);
	free(hca);
}

/* ---- commands ------------------------------------------------------------------------------ */

static uint8_t enable_hca(struct hca *hca, struct cmd *cmd)
{
	if (IFC_GET(enable_hca_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, "function %u is not here",
				IFC_GET(enable_hca_in, cmd->in, function_id));
	hca->life = LIFE_ENABLED;
	return ST_OK;
}

static uint8_t disable_hca(struct hca *hca, struct cmd *cmd)
{
	if (IFC_GET(disable_hca_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, "function %u is not here",
				IFC_GET(disable_hca_in, cmd->in, function_id));
	if (hca->life == LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, "TEARDOWN_HCA comes first");
	hca->life = LIFE_RESET;
	hca_free_objects(hca);
	return ST_OK;
}

static uint8_t init_hca(struct hca *hca, struct cmd *cmd)
{
	if (hca->life == LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, "already initialized");
	hca->life = LIFE_INIT;
	return ST_OK;
}

static uint8_t teardown_hca(struct hca *hca, struct cmd *cmd)
{
	uint16_t profile = IFC_GET(teardown_hca_in, cmd->in, profile);

	if (hca->life != LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, "not initialized");
	if (profile > MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN)
		return cmd_fail(cmd, ST_BAD_PARAM, "profile %u", profile);
	if (profile == MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN)
		return cmd_fail(cmd, ST_BAD_PARAM, "fast teardown is not offered");
	hca->life = LIFE_ENABLED;
	hca_free_objects(hca);
	return ST_OK;
}

static uint8_t query_issi(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	IFC_SET(query_issi_out, cmd->out, current_issi, ISSI_SUPPORTED);
	IFC_SET(query_issi_out, cmd->out, supported_issi_dw0, (2 << ISSI_SUPPORTED) - 1);
	return ST_OK;
}

static uint8_t set_issi(struct hca *hca, struct cmd *cmd)
{
	uint16_t issi = IFC_GET(set_issi_in, cmd->in, current_issi);

	(void)hca;
	if (issi != ISSI_SUPPORTED)
		return cmd_fail(cmd, ST_BAD_PARAM, "ISSI %u", issi);
	return ST_OK;
}

static uint8_t query_adapter(struct hca *hca, struct cmd *cmd)
{
	uint8_t *p = IFC_ADDR(query_adapter_out, cmd->out, query_adapter_struct);

	IFC_SET(query_adapter_param_block, p, ieee_vendor_id, 0x0002c9);
	IFC_SET(query_adapter_param_block, p, vsd_vendor_id, 0x15b3);
	memcpy(IFC_ADDR(query_adapter_param_block, p, vsd_contd_psid), hca->profile->psid, 16);
	return ST_OK;
}

static uint8_t query_special_contexts(struct hca *hca, struct cmd *cmd)
{
	uint8_t all[IFC_SZ(query_special_contexts_out)] = { 0 };
	size_t len = cmd->out_len < sizeof(all) ? cmd->out_len : sizeof(all);

	IFC_SET(query_special_contexts_out, all, resd_lkey, MKEY_RESD_LKEY);
	if (hca_cap_gen(hca, dump_fill_mkey))
		IFC_SET(query_special_contexts_out, all, dump_fill_mkey, MKEY_DUMP_FILL);
	if (hca_cap_gen(hca, null_mkey))
		IFC_SET(query_special_contexts_out, all, null_mkey, MKEY_NULL);
	if (hca_cap_gen(hca, terminate_scatter_list_mkey))
		IFC_SET(query_special_contexts_out, all, terminate_scatter_list_mkey, MKEY_TERM_SCATTER);
	/* A driver older than some of the keys has no room for them. */
	memcpy(cmd->out, all, len);
	return ST_OK;
}

static uint8_t set_driver_version(struct hca *hca, struct cmd *cmd)
{
	char v[65] = { 0 };
	unsigned int i;

	if (!hca_cap_gen(hca, driver_version))
		return cmd_fail(cmd, ST_BAD_OP, "driver_version is not offered");
	memcpy(v, IFC_ADDR(set_driver_version_in, cmd->in, driver_version), 64);
	for (i = 0; v[i]; i++)
		if (v[i] < ' ' || v[i] > '~' || v[i] == '"' || v[i] == '\\')
			v[i] = '?';
	hca_trace(hca, "driver_version", "\"version\":\"%s\"", v);
	return ST_OK;
}

/* The host says which byte order its own structures have; all of ours are big endian. */
#define REG_HOST_ENDIANNESS 0x7004

static uint8_t access_reg(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *in = cmd->in + IFC_SZ(access_register_in);
	uint8_t *out = cmd->out + IFC_SZ(access_register_out);
	uint16_t reg = IFC_GET(access_register_in, cmd->in, register_id);
	size_t len = cmd->in_len - IFC_SZ(access_register_in);

	if (cmd->op_mod > 1)
		return cmd_fail(cmd, ST_BAD_PARAM, "op_mod %u", cmd->op_mod);
	if (cmd->out_len - IFC_SZ(access_register_out) < len)
		return cmd_fail(cmd, ST_BAD_OUTP_LEN, "register 0x%x: %zu bytes in, %zu out", reg,
				cmd->in_len, cmd->out_len);
	if (reg == REG_HOST_ENDIANNESS) {
		memcpy(out, in, len);
		return ST_OK;
	}
	return port_access_reg(hca, cmd, reg, cmd->op_mod == 0, in, out, len);
}

static uint8_t nop(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	(void)cmd;
	return ST_OK;
}

#define CMD(OP, nm, fn) \
	{ MLX5_CMD_OP_##OP, #OP, IFC_SZ(nm##_in), IFC_SZ(nm##_out), fn }

const struct cmd_desc dev_cmds[] = {
	CMD(ENABLE_HCA, enable_hca, enable_hca),
	CMD(DISABLE_HCA, disable_hca, disable_hca),
	{ MLX5_CMD_OP_INIT_HCA, "INIT_HCA", 16, 16, init_hca },
	CMD(TEARDOWN_HCA, teardown_hca, teardown_hca),
	CMD(QUERY_ISSI, query_issi, query_issi),
	CMD(SET_ISSI, set_issi, set_issi),
	CMD(QUERY_ADAPTER, query_adapter, query_adapter),
	{ MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS, "QUERY_SPECIAL_CONTEXTS",
	  IFC_SZ(query_special_contexts_in), 16, query_special_contexts },
	CMD(SET_DRIVER_VERSION, set_driver_version, set_driver_version),
	CMD(NOP, nop, nop),
	{ MLX5_CMD_OP_ACCESS_REG, "ACCESS_REG", IFC_SZ(access_register_in),
	  IFC_SZ(access_register_out), access_reg },
	{ 0 }
};
