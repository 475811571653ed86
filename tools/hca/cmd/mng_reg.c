// SPDX-License-Identifier: GPL-2.0
/*
 * ACCESS_REG: the registers about the device as a whole, by which mlx5_core answers devlink: which
 * registers there are, the version of firmware, the PCI slot, and the non-volatile configuration.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mng_reg.h"
#include "profile.h"
#include "util.h"

enum mng_reg {			/* MLX5_REG_* of linux/mlx5/driver.h */
	REG_MNVDA = 0x9024, REG_MPEIN = 0x9050, REG_MCQS = 0x9060, REG_MCQI = 0x9061,
	REG_MCAM = 0x907f,
};

#define COMPONENT_FIRMWARE 0	/* the only component of a firmware image, by index */
#define IDENTIFIER_FIRMWARE 1
#define INFO_VERSION	1
#define POWER_SUFFICIENT 1
#define SLOT_WATTS	75
#define NV_HEADER	12	/* bytes before the data of a configuration item */

/**
 * mng_fw_version() - the version of firmware, as registers have it
 * @p: the profile
 *
 * Return: the major number in bits 31:24, the minor number in 23:16, the last number in 15:0.
 */
uint32_t mng_fw_version(const struct profile *p)
{
	unsigned int major = 0, minor = 0, sub = 0;

	sscanf(p->fw_version, "%u.%u.%u", &major, &minor, &sub);
	return major << 24 | (minor & 0xff) << 16 | (sub & 0xffff);
}

/*
 * MCAM tells which registers and features of a group the HCA has: some of group 0, none of other
 * groups.
 */
static uint8_t reg_mcam(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			size_t room)
{
	(void)hca;
	(void)cmd;
	(void)room;
	IFC_SET(mcam_reg, out, feature_group, IFC_GET(mcam_reg, in, feature_group));
	IFC_SET(mcam_reg, out, access_reg_group, IFC_GET(mcam_reg, in, access_reg_group));
	if (!IFC_GET(mcam_reg, in, access_reg_group)) {
		IFC_SET(mcam_reg, out, mng_access_reg_cap_mask.access_regs.mcqi, 1);
		IFC_SET(mcam_reg, out, mng_access_reg_cap_mask.access_regs.mcqs, 1);
	}
	if (!IFC_GET(mcam_reg, in, feature_group))
		IFC_SET(mcam_reg, out, mng_feature_cap_mask.enhanced_features.pci_status_and_power,
			1);
	return ST_OK;
}

static uint8_t mng_check_component(struct cmd *cmd, unsigned int index)
{
	if (index == COMPONENT_FIRMWARE)
		return ST_OK;
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX, "there is no component %u of firmware",
			index);
}

static uint8_t reg_mcqs(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			size_t room)
{
	(void)hca;
	(void)room;
	IFC_SET(mcqs_reg, out, last_index_flag, 1);
	IFC_SET(mcqs_reg, out, identifier, IDENTIFIER_FIRMWARE);
	return mng_check_component(cmd, IFC_GET(mcqs_reg, in, component_index));
}

/* No firmware image waits for a reset, so the pending version is the running version, too. */
static uint8_t reg_mcqi(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			size_t room)
{
	uint8_t *data = out + IFC_SZ(mcqi_reg);
	uint8_t st = mng_check_component(cmd, IFC_GET(mcqi_reg, in, component_index));

	if (st)
		return st;
	if (IFC_GET(mcqi_reg, in, info_type) != INFO_VERSION)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX, "info_type %u, only %u exists",
				IFC_GET(mcqi_reg, in, info_type), INFO_VERSION);
	if (room < IFC_SZ(mcqi_reg) + IFC_SZ(mcqi_version) || IFC_GET(mcqi_reg, in, offset) ||
	    IFC_GET(mcqi_reg, in, data_size) != IFC_SZ(mcqi_version))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_LENGTH,
				"the version has %zu bytes, and is read as a whole",
				(size_t)IFC_SZ(mcqi_version));
	memcpy(out, in, IFC_SZ(mcqi_reg));
	IFC_SET(mcqi_reg, out, info_size, IFC_SZ(mcqi_version));
	IFC_SET(mcqi_version, data, version, mng_fw_version(hca->profile));
	IFC_SET(mcqi_version, data, version_string_length, strlen(hca->profile->fw_version));
	memcpy(data + IFC_BYTE(mcqi_version, version_string), hca->profile->fw_version,
	       strlen(hca->profile->fw_version));
	return ST_OK;
}

/* The bit of each generation of PCI Express, by generation; bit 3 stands for none. */
static const uint8_t pcie_speed_bit[] = { 0, 0x01, 0x02, 0x04, 0x10, 0x20 };

static uint8_t reg_mpein(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			 size_t room)
{
	struct pcie_link link = profile_pcie_link(hca->profile);
	unsigned int i, speeds = 0;

	(void)cmd;
	(void)in;
	(void)room;
	for (i = 1; i <= link.generation; i++)
		speeds |= pcie_speed_bit[i];
	IFC_SET(mpein_reg, out, link_width_enabled, link.lanes);
	IFC_SET(mpein_reg, out, link_width_active, link.lanes);
	IFC_SET(mpein_reg, out, link_speed_enabled, speeds);
	IFC_SET(mpein_reg, out, link_speed_active, pcie_speed_bit[link.generation]);
	IFC_SET(mpein_reg, out, num_of_pfs, 1);
	IFC_SET(mpein_reg, out, pwr_status, POWER_SUFFICIENT);
	IFC_SET(mpein_reg, out, pci_power, SLOT_WATTS);
	return ST_OK;
}

/*
 * Items of the non-volatile configuration, with the class in the upper eight bits. In class 0: the
 * global PCI configuration and its capabilities, the software offloads and their capabilities, and
 * software acceleration; in class 3: the PCI configuration of the function. All of them are 0:
 * there is nothing to configure.
 */
static const uint32_t nv_items[] = {
	0x00000080, 0x00000081, 0x0000010a, 0x0000010b, 0x0000011d, 0x03000080,
};

static uint8_t reg_mnvda(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			 size_t room)
{
	uint32_t item = get_be32(in + 4);
	unsigned int i;

	(void)hca;
	(void)room;
	for (i = 0; i < ARRAY_SIZE(nv_items); i++) {
		if (nv_items[i] != item)
			continue;
		memcpy(out, in, NV_HEADER);
		return ST_OK;
	}
	return cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_INDEX,
			"there is no item 0x%08x of non-volatile configuration", item);
}

static const struct {
	uint16_t id;
	uint16_t min;		/* bytes */
	/* @room: bytes of @out, at least as many as @in has */
	uint8_t (*read)(struct hca *hca, struct cmd *cmd, const uint8_t *in, uint8_t *out,
			size_t room);
} mng_regs[] = {
	{ REG_MCAM, IFC_SZ(mcam_reg), reg_mcam },
	{ REG_MCQS, IFC_SZ(mcqs_reg), reg_mcqs },
	{ REG_MCQI, IFC_SZ(mcqi_reg), reg_mcqi },
	{ REG_MPEIN, IFC_SZ(mpein_reg), reg_mpein },
	{ REG_MNVDA, NV_HEADER, reg_mnvda },
};

/**
 * mng_reg_access() - ACCESS_REG for a register about the device as a whole
 * @hca: the HCA
 * @cmd: the command
 * @reg: register's number
 * @write: the command sets the register, else it queries the register
 * @in: the register as given
 * @len: bytes of @in
 * @out: answer, zeroed
 * @room: bytes of @out
 * @st: set to the status of the command
 *
 * Return: false if there is no such register.
 */
bool mng_reg_access(struct hca *hca, struct cmd *cmd, uint16_t reg, bool write, const uint8_t *in,
		    size_t len, uint8_t *out, size_t room, uint8_t *st)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mng_regs); i++)
		if (mng_regs[i].id == reg)
			break;
	if (i == ARRAY_SIZE(mng_regs))
		return false;
	if (len < mng_regs[i].min)
		*st = cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_LENGTH,
			       "register 0x%04x does not fit %zu bytes", reg, len);
	else if (write)
		*st = cmd_fail(cmd, ST_BAD_PARAM, WHY_REG_READ_ONLY,
			       "register 0x%04x is read-only", reg);
	else
		*st = mng_regs[i].read(hca, cmd, in, out, room);
	return true;
}
