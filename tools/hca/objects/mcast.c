// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which queue pairs are attached to which group, ATTACH_TO_MCG and
 * DETACH_FROM_MCG.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mcast.h"
#include "object.h"
#include "qp.h"

struct mcast {
	LIST_ENTRY(mcast) link;
	uint8_t gid[16];
	uint32_t qpn;
};

struct mcasts {
	LIST_HEAD(, mcast) list;
};

/**
 * mcast_attach() - attach a queue pair to a multicast group
 * @hca: the HCA
 * @gid: the group
 * @qpn: the queue pair
 *
 * Return: 0, -EEXIST or -ENOMEM.
 */
int mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct mcast *m;

	LIST_FOREACH(m, &hca->mcasts->list, link)
		if (m->qpn == qpn && !memcmp(m->gid, gid, sizeof(m->gid)))
			return -EEXIST;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memcpy(m->gid, gid, sizeof(m->gid));
	m->qpn = qpn;
	LIST_INSERT_HEAD(&hca->mcasts->list, m, link);
	return 0;
}

/**
 * mcast_detach() - detach a queue pair from a multicast group
 * @hca: the HCA
 * @gid: the group
 * @qpn: the queue pair
 *
 * Return: 0, or -ENOENT if it was not attached.
 */
int mcast_detach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct mcast *m;

	LIST_FOREACH(m, &hca->mcasts->list, link)
		if (m->qpn == qpn && !memcmp(m->gid, gid, sizeof(m->gid))) {
			LIST_REMOVE(m, link);
			free(m);
			return 0;
		}
	return -ENOENT;
}

/**
 * mcast_forget() - detach a queue pair from all groups
 * @hca: the HCA
 * @qpn: the queue pair, which is about to be destroyed
 */
void mcast_forget(struct hca *hca, uint32_t qpn)
{
	struct mcast *m, *next;

	for (m = LIST_FIRST(&hca->mcasts->list); m; m = next) {
		next = LIST_NEXT(m, link);
		if (m->qpn != qpn)
			continue;
		LIST_REMOVE(m, link);
		free(m);
	}
}

/**
 * mcast_has_group() - tell whether a queue pair of the HCA is attached to a group
 * @hca: the HCA
 * @gid: the group
 */
bool mcast_has_group(struct hca *hca, const uint8_t gid[16])
{
	const struct mcast *m;

	LIST_FOREACH(m, &hca->mcasts->list, link)
		if (!memcmp(m->gid, gid, sizeof(m->gid)))
			return true;
	return false;
}

/**
 * mcast_each() - call a function for each queue pair that is attached to a group
 * @hca: the HCA
 * @gid: the group
 * @fn: called with the number of each queue pair; may not change the group
 * @arg: passed on
 */
void mcast_each(struct hca *hca, const uint8_t gid[16],
		void (*fn)(struct hca *hca, uint32_t qpn, void *arg), void *arg)
{
	struct mcast *m, *next;

	for (m = LIST_FIRST(&hca->mcasts->list); m; m = next) {
		next = LIST_NEXT(m, link);
		if (!memcmp(m->gid, gid, sizeof(m->gid)))
			fn(hca, m->qpn, arg);
	}
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t mcast_cmd(struct hca *hca, struct cmd *cmd, bool attach)
{
	const uint8_t *gid = IFC_ADDR(attach_to_mcg_in, cmd->in, multicast_gid);
	uint32_t qpn = IFC_GET(attach_to_mcg_in, cmd->in, qpn);
	struct obj *o;
	uint8_t st = check_obj(hca, cmd, OBJ_QP, qpn, &o);
	int ret;

	if (st)
		return st;
	if (((struct qp *)o)->type != QPT_UD)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MCAST_SERVICE_TYPE,
				"a %s QP cannot be in a multicast group",
				qp_type_name(((struct qp *)o)->type));
	if (gid[0] != 0xff)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MCAST_GID, "not a multicast GID");
	ret = attach ? mcast_attach(hca, gid, qpn) : mcast_detach(hca, gid, qpn);
	if (ret)
		return cmd_fail(cmd, ret == -ENOMEM ? ST_NO_RES : ST_BAD_RES_STATE,
				WHY_MCAST_ATTACHED, "QP 0x%x: %s", qpn,
				attach ? "attached already" : "not attached");
	return ST_OK;
}

static uint8_t attach_mcg(struct hca *hca, struct cmd *cmd)
{
	return mcast_cmd(hca, cmd, true);
}

static uint8_t detach_mcg(struct hca *hca, struct cmd *cmd)
{
	return mcast_cmd(hca, cmd, false);
}

const struct cmd_desc mcast_cmds[] = {
	CMD(ATTACH_TO_MCG, attach_to_mcg, attach_mcg),
	CMD(DETACH_FROM_MCG, detach_from_mcg, detach_mcg),
	{}
};

/* ---- module ---------------------------------------------------------------------------------- */

static int mcast_init(struct hca *hca)
{
	hca->mcasts = calloc(1, sizeof(*hca->mcasts));
	return hca->mcasts ? 0 : -ENOMEM;
}

static void mcast_reset(struct hca *hca)
{
	struct mcast *m;

	while ((m = LIST_FIRST(&hca->mcasts->list))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}

static void mcast_exit(struct hca *hca)
{
	free(hca->mcasts);
	hca->mcasts = NULL;
}

const struct hca_module mcast_module = {
	.name = "mcast", .init = mcast_init, .reset = mcast_reset, .exit = mcast_exit,
};
