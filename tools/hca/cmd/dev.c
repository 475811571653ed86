// SPDX-License-Identifier: GPL-2.0
/*
 * Commands about the HCA as a whole: its life from ENABLE_HCA to DISABLE_HCA, interface versions,
 * special keys.
 */
#include <stdio.h>
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "dev.h"
#include "expect.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "object.h"
#include "pages.h"
#include "profile.h"

#define ISSI_SUPPORTED	1	/* highest version of the interface that the driver may choose */

static uint8_t enable_hca(struct hca *hca, struct cmd *cmd)
{
	if (IFC_GET(enable_hca_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_UNKNOWN,
				"function %u does not exist",
				IFC_GET(enable_hca_in, cmd->in, function_id));
	hca->life = LIFE_ENABLED;
	return ST_OK;
}

static uint8_t disable_hca(struct hca *hca, struct cmd *cmd)
{
	if (IFC_GET(disable_hca_in, cmd->in, function_id))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_UNKNOWN,
				"function %u does not exist",
				IFC_GET(disable_hca_in, cmd->in, function_id));
	if (hca->life == LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED,
				"the HCA is initialized: TEARDOWN_HCA must come first");
	hca->life = LIFE_RESET;
	hca->issi = 0;
	hca_free_objects(hca);
	caps_reset(hca);
	return ST_OK;
}

static uint8_t init_hca(struct hca *hca, struct cmd *cmd)
{
	unsigned int missing;

	if (hca->life == LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED, "already initialized");
	missing = pages_missing(hca);
	if (missing)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_PAGES_MISSING,
				"%u pages for booting and initializing have not been given",
				missing);
	hca->life = LIFE_INIT;
	return ST_OK;
}

/* Record an incident for each kind of object of which the driver has left objects. */
static void report_left(struct hca *hca)
{
	unsigned int k, n;
	char why[60];

	for (k = 0; k < OBJ_KINDS; k++) {
		n = obj_count(hca, k);
		if (!n)
			continue;
		snprintf(why, sizeof(why), "%u objects are left at TEARDOWN_HCA", n);
		expect_incident(hca->expect, INCIDENT_LEFT, 0, 0, obj_kind_name[k], why);
	}
}

static uint8_t teardown_hca(struct hca *hca, struct cmd *cmd)
{
	uint16_t profile = IFC_GET(teardown_hca_in, cmd->in, profile);

	if (hca->life != LIFE_INIT)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_NOT_INITIALIZED, "not initialized");
	if (profile > MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TEARDOWN_PROFILE, "unknown profile %u",
				profile);
	if (profile == MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_TEARDOWN_FAST,
				"fast teardown is not supported");
	if (profile == MLX5_TEARDOWN_HCA_IN_PROFILE_GRACEFUL_CLOSE)
		report_left(hca);
	hca->life = LIFE_ENABLED;
	hca_free_objects(hca);
	return ST_OK;
}

static uint8_t query_issi(struct hca *hca, struct cmd *cmd)
{
	IFC_SET(query_issi_out, cmd->out, current_issi, hca->issi);
	IFC_SET(query_issi_out, cmd->out, supported_issi_dw0, (2 << ISSI_SUPPORTED) - 1);
	return ST_OK;
}

static uint8_t set_issi(struct hca *hca, struct cmd *cmd)
{
	uint16_t issi = IFC_GET(set_issi_in, cmd->in, current_issi);

	if (hca->life != LIFE_ENABLED)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED,
				"the ISSI can be set only between ENABLE_HCA and INIT_HCA");
	if (issi > ISSI_SUPPORTED)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ISSI_UNKNOWN, "ISSI %u is not supported",
				issi);
	hca->issi = issi;
	return ST_OK;
}

static uint8_t query_adapter(struct hca *hca, struct cmd *cmd)
{
	uint8_t *p = IFC_ADDR(query_adapter_out, cmd->out, query_adapter_struct);

	IFC_SET(query_adapter_param_block, p, ieee_vendor_id, IEEE_VENDOR_ID);
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
		IFC_SET(query_special_contexts_out, all, terminate_scatter_list_mkey,
			MKEY_TERM_SCATTER);
	/* The output of an older driver has room for fewer keys. */
	memcpy(cmd->out, all, len);
	return ST_OK;
}

/* An HCA with one port has no link aggregation: the state in the answer is 0. */
static uint8_t query_lag(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	(void)cmd;
	return ST_OK;
}

static uint8_t set_driver_version(struct hca *hca, struct cmd *cmd)
{
	char v[65] = { 0 };
	unsigned int i;

	if (!hca_cap_gen(hca, driver_version))
		return cmd_fail(cmd, ST_BAD_OP, WHY_DRIVER_VERSION_NOT_OFFERED,
				"driver_version is not supported");
	memcpy(v, IFC_ADDR(set_driver_version_in, cmd->in, driver_version), 64);
	for (i = 0; v[i]; i++)
		if (v[i] < ' ' || v[i] > '~' || v[i] == '"' || v[i] == '\\')
			v[i] = '?';
	hca_trace(hca, "driver_version", "\"version\":\"%s\"", v);
	return ST_OK;
}

static uint8_t nop(struct hca *hca, struct cmd *cmd)
{
	(void)hca;
	(void)cmd;
	return ST_OK;
}

const struct cmd_desc dev_cmds[] = {
	CMD(ENABLE_HCA, enable_hca, enable_hca, .flags = CMD_FIRST | CMD_KERNEL),
	CMD(DISABLE_HCA, disable_hca, disable_hca, .flags = CMD_EARLY | CMD_KERNEL),
	CMD_MIN(INIT_HCA, init_hca, 16, 16, init_hca, .flags = CMD_EARLY | CMD_KERNEL),
	CMD(TEARDOWN_HCA, teardown_hca, teardown_hca, .flags = CMD_EARLY | CMD_KERNEL),
	CMD(QUERY_ISSI, query_issi, query_issi, .flags = CMD_EARLY),
	CMD(SET_ISSI, set_issi, set_issi, .flags = CMD_EARLY | CMD_KERNEL),
	CMD(QUERY_ADAPTER, query_adapter, query_adapter, .flags = CMD_EARLY),
	CMD_MIN(QUERY_SPECIAL_CONTEXTS, query_special_contexts, IFC_SZ(query_special_contexts_in),
		16, query_special_contexts),
	CMD(SET_DRIVER_VERSION, set_driver_version, set_driver_version,
	    .flags = CMD_EARLY | CMD_KERNEL),
	CMD(QUERY_LAG, query_lag, query_lag),
	CMD(NOP, nop, nop, .flags = CMD_EARLY),
	{}
};
