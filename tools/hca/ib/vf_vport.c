// SPDX-License-Identifier: GPL-2.0
/*
 * The vports of virtual functions, which the commands of vport.c name by other_vport and
 * vport_number. The profile says how many there are (virtual_functions). Only their contexts exist:
 * QEMU hides the PCI capability by which a guest could enable the functions themselves, so the
 * vports send nothing.
 */
#include "caps.h"
#include "cmd.h"
#include "fabric.h"
#include "hca.h"
#include "ifc.h"
#include "port.h"
#include "profile.h"

/* MLX5_POLICY_* of linux/mlx5/driver.h: the state of the vport's link. */
enum vport_policy { POLICY_DOWN, POLICY_UP, POLICY_FOLLOW };

enum { SEL_PORT_GUID = 1, SEL_NODE_GUID = 2, SEL_POLICY = 4 };
#define SEL_ALL	((uint32_t)(SEL_PORT_GUID | SEL_NODE_GUID | SEL_POLICY))

/**
 * vf_vport_check() - check that a command may name the vport of a virtual function
 * @hca: the HCA
 * @cmd: the command, which has set other_vport
 * @vport: the command's vport_number; the first vport is 1
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t vf_vport_check(struct hca *hca, struct cmd *cmd, unsigned int vport)
{
	if (!hca_cap_gen(hca, vport_group_manager))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_GROUP_MANAGER,
				"only the group manager may name other vports");
	if (!vport || vport > hca->profile->virtual_functions)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_OTHER,
				"vport %u does not exist, there are %u others", vport,
				hca->profile->virtual_functions);
	return ST_OK;
}

static enum port_state vf_state(struct hca *hca, const struct vf_vport *vf)
{
	if (vf->policy == POLICY_FOLLOW)
		return fabric_state(hca, false);
	return vf->policy == POLICY_UP ? PORT_ACTIVE : PORT_DOWN;
}

/**
 * vf_vport_query() - change the context of the port into that of a virtual function's vport
 * @hca: the HCA
 * @vport: the vport's number, which vf_vport_check() has accepted
 * @ctx: hca_vport_context, already filled in for the port; the fields in which the vport differs
 *	are overwritten
 */
void vf_vport_query(struct hca *hca, unsigned int vport, uint8_t *ctx)
{
	const struct vf_vport *vf = &hca->port->vf[vport - 1];

	IFC_SET(hca_vport_context, ctx, has_smi, 0);
	IFC_SET(hca_vport_context, ctx, vport_state_policy, vf->policy);
	IFC_SET(hca_vport_context, ctx, vport_state, vf_state(hca, vf));
	IFC_SET64(hca_vport_context, ctx, port_guid, vf->port_guid);
	IFC_SET64(hca_vport_context, ctx, node_guid, vf->node_guid);
	IFC_SET(hca_vport_context, ctx, cap_mask1_field_select, 0);
	IFC_SET(hca_vport_context, ctx, qkey_violation_counter, 0);
	IFC_SET(hca_vport_context, ctx, pkey_violation_counter, 0);
}

/**
 * vf_vport_modify() - set the selected fields of the vport of a virtual function
 * @hca: the HCA
 * @cmd: the command
 * @vport: the vport's number, which vf_vport_check() has accepted
 * @ctx: hca_vport_context with the fields
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t vf_vport_modify(struct hca *hca, struct cmd *cmd, unsigned int vport, const uint8_t *ctx)
{
	struct vf_vport *vf = &hca->port->vf[vport - 1];
	uint32_t select = IFC_GET(hca_vport_context, ctx, field_select);
	uint32_t policy = IFC_GET(hca_vport_context, ctx, vport_state_policy);

	if (!select || select & ~SEL_ALL)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_FIELD,
				"field_select 0x%x selects nothing, or unknown fields", select);
	if (IFC_GET(hca_vport_context, ctx, cap_mask1_field_select))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_PORT_CAP_MASK,
				"cap_mask1 of a virtual function cannot change");
	if (select & SEL_POLICY && policy > POLICY_FOLLOW)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_VPORT_FIELD, "unknown policy %u", policy);
	if (select & SEL_POLICY)
		vf->policy = policy;
	if (select & SEL_PORT_GUID)
		vf->port_guid = IFC_GET64(hca_vport_context, ctx, port_guid);
	if (select & SEL_NODE_GUID)
		vf->node_guid = IFC_GET64(hca_vport_context, ctx, node_guid);
	return ST_OK;
}
