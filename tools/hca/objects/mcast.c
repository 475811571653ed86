// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which queue pairs are attached to which group, ATTACH_TO_MCG and
 * DETACH_FROM_MCG.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "mcast.h"
#include "object.h"
#include "qp.h"
#include "roce_address.h"

#define BUCKETS_MIN	256	/* buckets of groups, by a hash of the GID; see mcast_grow() */

/* A queue pair that is attached to a group. */
struct member {
	LIST_ENTRY(member) link;
	uint32_t qpn;
};

/* A group to which at least one queue pair is attached. */
struct group {
	LIST_ENTRY(group) link;
	uint8_t gid[16];
	unsigned int members;
	LIST_HEAD(, member) list;
};

struct mcasts {
	unsigned int groups;
	unsigned int buckets;
	LIST_HEAD(bucket, group) *bucket;
};

static struct bucket *mcast_bucket(struct mcasts *mc, const uint8_t gid[16])
{
	uint32_t hash = 2166136261;
	unsigned int i;

	for (i = 0; i < 16; i++)
		hash = (hash ^ gid[i]) * 16777619;
	return &mc->bucket[(hash ^ hash >> 15) % mc->buckets];
}

/*
 * Double the number of buckets, so that a list has at most two groups on the average. If memory is
 * short, the number stays and the lists get longer.
 */
static void mcast_grow(struct mcasts *mc)
{
	struct mcasts more = { .buckets = 2 * mc->buckets };
	struct group *g;
	unsigned int i;

	more.bucket = calloc(more.buckets, sizeof(*more.bucket));
	if (!more.bucket)
		return;
	for (i = 0; i < mc->buckets; i++)
		while ((g = LIST_FIRST(&mc->bucket[i]))) {
			LIST_REMOVE(g, link);
			LIST_INSERT_HEAD(mcast_bucket(&more, g->gid), g, link);
		}
	free(mc->bucket);
	mc->bucket = more.bucket;
	mc->buckets = more.buckets;
}

static struct group *group_find(struct hca *hca, const uint8_t gid[16])
{
	struct group *g;

	LIST_FOREACH(g, mcast_bucket(hca->mcasts, gid), link)
		if (!memcmp(g->gid, gid, sizeof(g->gid)))
			return g;
	return NULL;
}

static struct member *member_find(struct group *g, uint32_t qpn)
{
	struct member *m;

	LIST_FOREACH(m, &g->list, link)
		if (m->qpn == qpn)
			return m;
	return NULL;
}

static struct group *group_new(struct hca *hca, const uint8_t gid[16])
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	memcpy(g->gid, gid, sizeof(g->gid));
	if (++hca->mcasts->groups > 2 * hca->mcasts->buckets)
		mcast_grow(hca->mcasts);
	LIST_INSERT_HEAD(mcast_bucket(hca->mcasts, gid), g, link);
	return g;
}

static void group_free(struct hca *hca, struct group *g)
{
	hca->mcasts->groups--;
	LIST_REMOVE(g, link);
	free(g);
}

/* Detach a queue pair from a group, and free the group if this was its last member. */
static void member_free(struct hca *hca, struct group *g, struct member *m)
{
	LIST_REMOVE(m, link);
	free(m);
	if (!--g->members)
		group_free(hca, g);
}

/* Check whether a group, or a new group if @g is NULL, may have one more member. */
static int mcast_check_room(struct hca *hca, struct group *g, uint32_t qpn)
{
	if (g && member_find(g, qpn))
		return -EEXIST;
	if (!g && hca->mcasts->groups >= 1u << hca_cap_gen(hca, log_max_mcg))
		return -ENOSPC;
	return (g ? g->members : 0) < hca_cap_gen(hca, max_qp_mcg) ? 0 : -EMLINK;
}

/**
 * mcast_attach() - attach a queue pair to a multicast group
 * @hca: the HCA
 * @gid: the group
 * @qpn: the queue pair
 *
 * Return: 0; -EEXIST if it is attached already; -ENOSPC if the HCA cannot have another group;
 * -EMLINK if the group cannot have another queue pair; -ENOMEM.
 */
int mcast_attach(struct hca *hca, const uint8_t gid[16], uint32_t qpn)
{
	struct group *g = group_find(hca, gid);
	int err = mcast_check_room(hca, g, qpn);
	struct member *m;

	if (err)
		return err;
	m = malloc(sizeof(*m));
	if (m && !g)
		g = group_new(hca, gid);
	if (!m || !g) {
		free(m);
		return -ENOMEM;
	}
	m->qpn = qpn;
	g->members++;
	LIST_INSERT_HEAD(&g->list, m, link);
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
	struct group *g = group_find(hca, gid);
	struct member *m = g ? member_find(g, qpn) : NULL;

	if (!m)
		return -ENOENT;
	member_free(hca, g, m);
	return 0;
}

/**
 * mcast_forget() - detach a queue pair from all groups
 * @hca: the HCA
 * @qpn: the queue pair, which is about to be destroyed
 */
void mcast_forget(struct hca *hca, uint32_t qpn)
{
	struct group *g, *next;
	struct member *m;
	unsigned int i;

	for (i = 0; hca->mcasts->groups && i < hca->mcasts->buckets; i++)
		for (g = LIST_FIRST(&hca->mcasts->bucket[i]); g; g = next) {
			next = LIST_NEXT(g, link);
			m = member_find(g, qpn);
			if (m)
				member_free(hca, g, m);
		}
}

/**
 * mcast_has_group() - tell whether a queue pair of the HCA is attached to a group
 * @hca: the HCA
 * @gid: the group
 */
bool mcast_has_group(struct hca *hca, const uint8_t gid[16])
{
	return group_find(hca, gid);
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
	struct group *g = group_find(hca, gid);
	struct member *m;

	if (!g)
		return;
	LIST_FOREACH(m, &g->list, link)
		fn(hca, m->qpn, arg);
}

/* ---- commands -------------------------------------------------------------------------------- */

static uint8_t mcast_fail(struct hca *hca, struct cmd *cmd, uint32_t qpn, int err)
{
	switch (err) {
	case -ENOSPC:
		return cmd_fail(cmd, ST_LIM, WHY_MCAST_GROUPS, "no more than %u groups",
				1u << hca_cap_gen(hca, log_max_mcg));
	case -EMLINK:
		return cmd_fail(cmd, ST_LIM, WHY_MCAST_MEMBERS, "no more than %u QPs in a group",
				hca_cap_gen(hca, max_qp_mcg));
	case -ENOMEM:
		return cmd_fail(cmd, ST_NO_RES, WHY_NO_MEMORY, "no memory for a member");
	default:
		return cmd_fail(cmd, ST_BAD_RES_STATE, WHY_MCAST_ATTACHED, "QP 0x%x: %s", qpn,
				err == -EEXIST ? "attached already" : "not attached");
	}
}

/* With RoCE also an IPv4 group, as a mapped address. */
static bool mcast_gid_ok(struct hca *hca, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid[0] == 0xff)
		return true;
	return roce_offered(hca) && !memcmp(gid, mapped, sizeof(mapped)) && gid[12] >> 4 == 0xe;
}

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
	if (!mcast_gid_ok(hca, gid))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_MCAST_GID, "not a multicast GID");
	ret = attach ? mcast_attach(hca, gid, qpn) : mcast_detach(hca, gid, qpn);
	return ret ? mcast_fail(hca, cmd, qpn, ret) : ST_OK;
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
	struct mcasts *mc = calloc(1, sizeof(*mc));

	if (!mc)
		return -ENOMEM;
	mc->buckets = BUCKETS_MIN;
	mc->bucket = calloc(mc->buckets, sizeof(*mc->bucket));
	if (!mc->bucket) {
		free(mc);
		return -ENOMEM;
	}
	hca->mcasts = mc;
	return 0;
}

static void mcast_reset(struct hca *hca)
{
	struct group *g;
	unsigned int i;

	for (i = 0; i < hca->mcasts->buckets; i++)
		while ((g = LIST_FIRST(&hca->mcasts->bucket[i])))
			member_free(hca, g, LIST_FIRST(&g->list));
}

static void mcast_exit(struct hca *hca)
{
	free(hca->mcasts->bucket);
	free(hca->mcasts);
	hca->mcasts = NULL;
}

const struct hca_module mcast_module = {
	.name = "mcast", .init = mcast_init, .reset = mcast_reset, .exit = mcast_exit,
};
