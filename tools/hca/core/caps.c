// SPDX-License-Identifier: GPL-2.0
/*
 * QUERY_HCA_CAP and SET_HCA_CAP: the maximum and the current capabilities of the HCA.
 */
#include <string.h>

#include "caps.h"
#include "cmd.h"
#include "fields.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "util.h"

enum { CAP_GET_MAX = 0, CAP_GET_CUR = 1 };

/* Fields that a driver may set, up to the maximum. Other fields keep the value of the profile. */
static const struct {
	unsigned int type;
	const char *strct;
	const char *field;
} settable[] = {
	{ 0x00, "cmd_hca_cap", "pkey_table_size" },
	{ 0x00, "cmd_hca_cap", "log_max_qp" },
	{ 0x00, "cmd_hca_cap", "cmdif_checksum" },
	{ 0x00, "cmd_hca_cap", "uar_4k" },
	{ 0x00, "cmd_hca_cap", "log_uar_page_sz" },
	{ 0x00, "cmd_hca_cap", "cache_line_128byte" },
	{ 0x00, "cmd_hca_cap", "dct" },
	{ 0x00, "cmd_hca_cap", "num_vhca_ports" },
	{ 0x00, "cmd_hca_cap", "release_all_pages" },
	{ 0x00, "cmd_hca_cap", "mkey_by_name" },
	{ 0x00, "cmd_hca_cap", "roce" },
	{ 0x00, "cmd_hca_cap", "log_max_current_uc_list" },
	{ 0x00, "cmd_hca_cap", "abs_native_port_num" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.ud_odp_caps.srq_receive" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.rc_odp_caps.srq_receive" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.srq_receive" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.send" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.receive" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.write" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.read" },
	{ 0x02, "odp_cap", "transport_page_fault_scheme_cap.xrc_odp_caps.atomic" },
	{ 0x02, "odp_cap", "mem_page_fault" },
	{ 0x03, "atomic_caps", "atomic_req_8B_endianness_mode" },
	{ 0x04, "roce_cap", "sw_r_roce_src_udp_port" },
	{ 0x20, "cmd_hca_cap_2", "sw_vhca_id_valid" },
	{ 0x20, "cmd_hca_cap_2", "lag_per_mp_group" },
};

#define NR_SETTABLE (ARRAY_SIZE(settable))

/**
 * caps_settable() - tell whether a driver may set a capability
 * @type: of the page
 * @field: name of the capability
 */
bool caps_settable(unsigned int type, const char *field)
{
	unsigned int i;

	for (i = 0; i < NR_SETTABLE; i++)
		if (settable[i].type == type && !strcmp(settable[i].field, field))
			return true;
	return false;
}

/*
 * How many UARs a page has follows from what the driver has set, see uar_page.c. As long as a UAR
 * is a page, the number is that of the profile.
 */
static void caps_derive(const struct hca *hca, uint8_t *cur)
{
	const uint8_t *start = hca->profile->cap[1][CAP_GENERAL];

	IFC_SET(cmd_hca_cap, cur, num_of_uars_per_page,
		IFC_GET(cmd_hca_cap, cur, uar_4k) ?
			1u << IFC_GET(cmd_hca_cap, cur, log_uar_page_sz) :
			IFC_GET(cmd_hca_cap, start, num_of_uars_per_page));
}

/**
 * caps_reset() - bring the current capabilities back to those of the profile
 * @hca: the HCA
 */
void caps_reset(struct hca *hca)
{
	unsigned int i;

	pthread_mutex_lock(&hca->attr_lock);
	for (i = 0; i < HCA_CAP_TYPES; i++)
		if (hca->profile->cap_valid[i])
			memcpy(hca->cap[i], hca->profile->cap[1][i], HCA_CAP_SIZE);
	caps_derive(hca, hca->cap[CAP_GENERAL]);
	pthread_mutex_unlock(&hca->attr_lock);
}

/*
 * Return as many bytes of the capability group (HCA_CAP_SIZE bytes) as the output has room for,
 * also those past the fields that mlx5_ifc.h names: a program may know more fields.
 */
static uint8_t query_hca_cap(struct hca *hca, struct cmd *cmd)
{
	size_t room = cmd->out_len - IFC_BYTE(query_hca_cap_out, capability);
	uint8_t *page = IFC_ADDR(query_hca_cap_out, cmd->out, capability);
	unsigned int type = cmd->op_mod >> 1;
	const uint8_t *from;

	if (IFC_GET(query_hca_cap_in, cmd->in, other_function))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_OTHER,
				"other functions do not exist");
	if (!hca->profile->cap_valid[type])
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CAP_TYPE_UNKNOWN,
				"no capabilities of type 0x%x", type);
	from = (cmd->op_mod & 1) == CAP_GET_CUR ? hca->cap[type] : hca->profile->cap[0][type];
	memcpy(page, from, room < HCA_CAP_SIZE ? room : HCA_CAP_SIZE);
	return ST_OK;
}

/*
 * Set one field. For all settable fields a higher number means more, so that one comparison with
 * the maximum is enough.
 */
static uint8_t caps_set_field(struct hca *hca, struct cmd *cmd, unsigned int i, const uint8_t *want,
			      uint8_t *cur)
{
	const struct ifc_struct *s = ifc_struct_find(settable[i].strct);
	const struct ifc_member *f;
	uint64_t v, max;
	uint32_t off;

	f = s ? ifc_member_find(s, settable[i].field, &off) : NULL;
	if (!f)
		return ST_OK;
	v = ifc_get_bits(want, off, f->width);
	max = ifc_get_bits(hca->profile->cap[0][settable[i].type], off, f->width);
	if (v > max)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CAP_ABOVE_MAXIMUM,
				"%s is %llu, the maximum is %llu", settable[i].field,
				(unsigned long long)v, (unsigned long long)max);
	ifc_set_bits(cur, off, f->width, v);
	return ST_OK;
}

static uint8_t set_hca_cap(struct hca *hca, struct cmd *cmd)
{
	const uint8_t *want = IFC_ADDR(set_hca_cap_in, cmd->in, capability);
	unsigned int type = cmd->op_mod >> 1, i;
	uint8_t cur[HCA_CAP_SIZE];

	if (hca->life != LIFE_ENABLED)
		return cmd_fail(cmd, ST_BAD_SYS_STATE, WHY_HCA_INITIALIZED,
				"capabilities can be set before INIT_HCA only");
	if (IFC_GET(set_hca_cap_in, cmd->in, other_function))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_FUNCTION_OTHER,
				"other functions do not exist");
	if (cmd->op_mod & 1 || !hca->profile->cap_valid[type])
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_CAP_TYPE_UNKNOWN,
				"no capabilities of type 0x%x can be set", type);
	memcpy(cur, hca->cap[type], sizeof(cur));
	for (i = 0; i < NR_SETTABLE; i++) {
		uint8_t st = settable[i].type == type ? caps_set_field(hca, cmd, i, want,
								       cur) : ST_OK;

		if (st)
			return st;
	}
	if (type == CAP_GENERAL)
		caps_derive(hca, cur);
	pthread_mutex_lock(&hca->attr_lock);
	memcpy(hca->cap[type], cur, sizeof(cur));
	pthread_mutex_unlock(&hca->attr_lock);
	return ST_OK;
}

const struct cmd_desc cap_cmds[] = {
	CMD_MIN(QUERY_HCA_CAP, query_hca_cap, IFC_SZ(query_hca_cap_in),
		IFC_BYTE(query_hca_cap_out, capability), query_hca_cap, .flags = CMD_EARLY,
		OP_MODS(0, 2 * HCA_CAP_TYPES - 1)),
	CMD(SET_HCA_CAP, set_hca_cap, set_hca_cap, .flags = CMD_EARLY | CMD_KERNEL,
	    OP_MODS(0, 2 * HCA_CAP_TYPES - 1)),
	{}
};
