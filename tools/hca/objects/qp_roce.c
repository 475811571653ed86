// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of an Ethernet port with RoCE: what their contexts and paths must not contain. A path
 * leads from an address of the port's table to a MAC and an IP address.
 */
#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "qp.h"
#include "roce_address.h"
#include "util.h"

#define PRIMARY(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), "path." #fld }

/* Fields of paths of InfiniBand, which RoCE does not have. */
static const struct ifc_field infiniband[] = {
	PRIMARY(grh), PRIMARY(mlid), PRIMARY(rlid), PRIMARY(sl),
};

/**
 * qp_check_roce_context() - refuse a context with a field that RoCE does not have
 * @hca: the HCA, which offers RoCE
 * @cmd: the command that brings it
 * @c: the context
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t qp_check_roce_context(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const char *name = ifc_first_set(c, infiniband, ARRAY_SIZE(infiniband));

	(void)hca;
	if (name)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_PATH_FIELD,
				"qpc.%s is set, which an Ethernet port does not have", name);
	return ST_OK;
}

/* A port is checked only if the driver chooses it, and only version 2 has UDP. */
static bool udp_sport_ok(struct hca *hca, const struct qp_path *path, const struct roce_address *a)
{
	return a->version == ROCE_V1 || !hca_cap_roce(hca, sw_r_roce_src_udp_port) ||
	       (path->udp_sport >= hca_cap_roce(hca, r_roce_min_src_udp_port) &&
		path->udp_sport <= hca_cap_roce(hca, r_roce_max_src_udp_port));
}

/**
 * qp_check_roce_path() - refuse a path that does not lead from this port to a peer
 * @hca: the HCA, which offers RoCE
 * @cmd: the command that brings it
 * @qp: a connected queue pair, as it would be
 *
 * Return: ST_OK, ST_BAD_INDEX or ST_BAD_PARAM.
 */
uint8_t qp_check_roce_path(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	const struct qp_path *path = &qp->path;
	const struct roce_address *a = roce_address_get(hca, path->src_gid_index);

	if (!a)
		return cmd_fail(cmd, ST_BAD_INDEX, WHY_ROCE_PATH_ADDRESS,
				"there is no address at index %u", path->src_gid_index);
	if (path->rmac[0] & 1)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_PATH_MAC,
				"rmac is the address of a group");
	if (!udp_sport_ok(hca, path, a))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_PATH_UDP_PORT,
				"udp_sport %u is outside of the range", path->udp_sport);
	if (path->loop && (qp->type != QPT_RC ||
			   !hca_cap_roce(hca, fl_rc_qp_when_roce_enabled)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_ROCE_PATH_LOOPBACK,
				"fl of a %s QP is not supported", qp_type_name(qp->type));
	return ST_OK;
}
