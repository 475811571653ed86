// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens if the commands or allocations of a verb fail, see lib/fail_nth.h: regions, device
 * memory, memory windows, memory of dma-bufs.
 */

#include "fail_nth.h"

static int act_reg_mr(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, e->buf, BUF_PAGES * UV_PAGE, (uintptr_t)e->buf,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &e->mr);
}

static int act_reg_paged(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, e->buf, BUF_PAGES * UV_PAGE, (uintptr_t)e->buf,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &e->mr);
}

static int act_reg_implicit(struct env *e)
{
	return uv_reg_mr(e->uv.fd, e->pd, NULL, UINT64_MAX, 0,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &e->mr);
}

static int act_dereg_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->mr.mr_handle);
}

static int rereg_mr(struct env *e, uint32_t flags, uint64_t pages)
{
	struct ib_uverbs_rereg_mr req = {
		.mr_handle = e->mr.mr_handle, .flags = flags, .start = (uintptr_t)e->buf,
		.hca_va = (uintptr_t)e->buf, .length = pages * UV_PAGE, .pd_handle = e->pd2,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_rereg_mr_resp resp;

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_REREG_MR, &req, sizeof(req), &resp, sizeof(resp),
		      NULL,
		      0, NULL, 0);
}

static int act_rereg_access(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_ACCESS, 0);
}

static int act_rereg_pd(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_PD, 0);
}

static int act_rereg_translation(struct env *e)
{
	return rereg_mr(e, IBV_REREG_MR_CHANGE_TRANSLATION, BUF_PAGES - 1);
}

static int act_alloc_dm(struct env *e)
{
	return uv_alloc_dm(e->uv.fd, 100, 7, &e->dm);
}

static int act_free_dm(struct env *e)
{
	return uv_free_dm(e->uv.fd, e->dm.handle);
}

static int act_map_dm_op(struct env *e)
{
	uint64_t offset;
	uint16_t idx;

	return uv_map_dm_op(e->uv.fd, e->dm.handle, 0, &offset, &idx);
}

static int prep_dm_with_op(struct env *e)
{
	return act_alloc_dm(e) ?: act_map_dm_op(e);
}

static int act_reg_dm_mr(struct env *e)
{
	return uv_reg_dm_mr(e->uv.fd, e->pd, e->dm.handle, 0, 100,
			    IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE, &e->dm_mr);
}

static int act_dereg_dm_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->dm_mr);
}

static int prep_dm_mr(struct env *e)
{
	return act_alloc_dm(e) ?: act_reg_dm_mr(e);
}

static int fini_dm_mr(struct env *e)
{
	return act_dereg_dm_mr(e) ?: act_free_dm(e);
}

static int act_alloc_mw(struct env *e)
{
	struct ib_uverbs_alloc_mw req = { .pd_handle = e->pd, .mw_type = IBV_MW_TYPE_2 };

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_ALLOC_MW, &req, sizeof(req), &e->mw,
		      sizeof(e->mw), NULL, 0, NULL, 0);
}

static int act_dealloc_mw(struct env *e)
{
	struct ib_uverbs_dealloc_mw req = { .mw_handle = e->mw.mw_handle };

	return uv_cmd(e->uv.fd, IB_USER_VERBS_CMD_DEALLOC_MW, &req, sizeof(req), NULL, 0, NULL, 0,
		      NULL, 0);
}

static int prep_dmabuf(struct env *e)
{
	e->dmabuf = uv_make_dmabuf(4 * UV_PAGE);
	return e->dmabuf < 0 ? e->dmabuf : 0;
}

static int act_reg_dmabuf_mr(struct env *e)
{
	return uv_reg_dmabuf_mr(e->uv.fd, e->pd, 0, 4 * UV_PAGE, 0, e->dmabuf,
				IBV_ACCESS_LOCAL_WRITE, &e->dmabuf_mr, &e->dmabuf_lkey);
}

static int act_dereg_dmabuf_mr(struct env *e)
{
	return uv_dereg_mr(e->uv.fd, e->dmabuf_mr);
}

static int fini_dmabuf(struct env *e)
{
	return close(e->dmabuf) ? -errno : 0;
}

static int prep_dmabuf_mr(struct env *e)
{
	return prep_dmabuf(e) ?: act_reg_dmabuf_mr(e);
}

static int fini_dmabuf_mr(struct env *e)
{
	return act_dereg_dmabuf_mr(e) ?: fini_dmabuf(e);
}

/* Make a dma-buf whose exporter can move the memory: a region over it pins nothing. */
static int prep_moving(struct env *e)
{
	int ret = mover_load();

	if (ret)
		return ret;
	e->dmabuf = mover_create(4 * UV_PAGE);
	return e->dmabuf < 0 ? e->dmabuf : 0;
}

static int prep_moving_mr(struct env *e)
{
	return prep_moving(e) ?: act_reg_dmabuf_mr(e);
}

static int prep_moved_mr(struct env *e)
{
	return prep_moving_mr(e) ?: mover_move(e->dmabuf, 0, 0);
}

/* Map the memory after a move, as a page fault does, but in this process. */
static int act_map_moved(struct env *e)
{
	return uv_advise_mr(e->uv.fd, e->pd, e->dmabuf_lkey, 0, UV_PAGE);
}

/* Move the memory: the driver must first unmap it from the device. */
static int act_move(struct env *e)
{
	return mover_move(e->dmabuf, 0, 0);
}

/* --- The verbs ------------------------------------------------------------------------------ */

FIXTURE_VARIANT_ADD(verb, reg_mr) {
	.v = { NULL, act_reg_mr, act_dereg_mr, NULL, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_mr) {
	.v = { act_reg_mr, act_dereg_mr, act_reg_mr, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_paged_mr) {
	.needs = "pg",
	.v = { NULL, act_reg_paged, act_dereg_mr, NULL, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_paged_mr) {
	.needs = "pg",
	.v = { act_reg_paged, act_dereg_mr, act_reg_paged, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_implicit_mr) {
	.needs = "pg",
	.v = { NULL, act_reg_implicit, act_dereg_mr, NULL, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_implicit_mr) {
	.needs = "pg",
	.v = { act_reg_implicit, act_dereg_mr, act_reg_implicit, act_dereg_mr, true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_access) {
	.v = { act_reg_mr, act_rereg_access, NULL, act_dereg_mr, .answers_last = true,
	       .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_pd) {
	.v = { act_reg_mr, act_rereg_pd, NULL, act_dereg_mr, .answers_last = true,
	       .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, rereg_mr_translation) {
	.only_bluebell = true,
	.v = { act_reg_mr, act_rereg_translation, NULL, act_dereg_mr,
	       .answers_last = true, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, alloc_dm) {
	.needs = "device_memory",
	.v = { NULL, act_alloc_dm, act_free_dm, NULL },
};

FIXTURE_VARIANT_ADD(verb, free_dm) {
	.needs = "device_memory",
	.only_bluebell = true,
	.v = { act_alloc_dm, act_free_dm, act_alloc_dm, act_free_dm, true },
};

FIXTURE_VARIANT_ADD(verb, dm_map_op_addr) {
	.needs = "device_memory",
	.v = { act_alloc_dm, act_map_dm_op, NULL, act_free_dm },
};

FIXTURE_VARIANT_ADD(verb, free_dm_with_operation) {
	.needs = "device_memory",
	.only_bluebell = true,
	.v = { prep_dm_with_op, act_free_dm, prep_dm_with_op, act_free_dm, true },
};

FIXTURE_VARIANT_ADD(verb, reg_dm_mr) {
	.needs = "device_memory",
	.v = { act_alloc_dm, act_reg_dm_mr, act_dereg_dm_mr, act_free_dm, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_dm_mr) {
	.needs = "device_memory",
	.v = { prep_dm_mr, act_dereg_dm_mr, act_reg_dm_mr, fini_dm_mr, true },
};

FIXTURE_VARIANT_ADD(verb, alloc_mw) {
	.v = { NULL, act_alloc_mw, act_dealloc_mw, NULL, .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dealloc_mw) {
	.v = { act_alloc_mw, act_dealloc_mw, act_alloc_mw, act_dealloc_mw, true },
};

FIXTURE_VARIANT_ADD(verb, reg_dmabuf_mr) {
	.mlx5_ib_cannot = true,
	.v = { prep_dmabuf, act_reg_dmabuf_mr, act_dereg_dmabuf_mr, fini_dmabuf,
	       .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_dmabuf_mr) {
	.mlx5_ib_cannot = true,
	.v = { prep_dmabuf_mr, act_dereg_dmabuf_mr, act_reg_dmabuf_mr, fini_dmabuf_mr, true },
};

FIXTURE_VARIANT_ADD(verb, reg_moving_mr) {
	.moves = true,
	.v = { prep_moving, act_reg_dmabuf_mr, act_dereg_dmabuf_mr, fini_dmabuf,
	       .makes_key = true },
};

FIXTURE_VARIANT_ADD(verb, dereg_moving_mr) {
	.moves = true,
	.v = { prep_moving_mr, act_dereg_dmabuf_mr, act_reg_dmabuf_mr, fini_dmabuf_mr },
};

FIXTURE_VARIANT_ADD(verb, map_moved_mr) {
	.needs = "pg", .moved = true,
	.v = { prep_moved_mr, act_map_moved, NULL, fini_dmabuf_mr },
};

FIXTURE_VARIANT_ADD(verb, move) {
	.needs = "pg", .moved = true,
	.v = { prep_moving_mr, act_move, NULL, fini_dmabuf_mr },
};

TEST_HARNESS_MAIN
