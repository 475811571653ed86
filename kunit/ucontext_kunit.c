// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of contexts: which requests are accepted, what the library is told, and the user id
 * that the context's objects carry.
 */

#include <kunit/test.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "lib/mock.h"
#include "lib/objects.h"
#include "lib/share.h"
#include "lib/uctx.h"
#include "verbs/ucontext.h"

static const struct open_case {
	const char *name;
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	size_t inlen;
	int want;
} open_cases[] = {
	{ "no bfregs", { .total_num_bfregs = 0 }, 0, -EINVAL },
	{ "513 bfregs", { .total_num_bfregs = 513 }, 0, -ENOMEM },
	{ "all of them low latency", { .total_num_bfregs = 16, .num_low_latency_bfregs = 16 }, 0,
	  -EINVAL },
	{ "DEVX and an undefined flag", { .total_num_bfregs = 16, .flags = 3 }, 0, -EOPNOTSUPP },
	{ "an undefined flag", { .total_num_bfregs = 16, .flags = 2 }, 0, -EOPNOTSUPP },
	{ "the highest flag", { .total_num_bfregs = 16, .flags = 1U << 31 }, 0, -EOPNOTSUPP },
	{ "an undefined comp_mask", { .total_num_bfregs = 16, .comp_mask = 1 }, 0, -EOPNOTSUPP },
	{ "reserved0", { .total_num_bfregs = 16, .reserved0 = 1 }, 0, -EOPNOTSUPP },
	{ "reserved1", { .total_num_bfregs = 16, .reserved1 = 1 }, 0, -EOPNOTSUPP },
	{ "reserved2", { .total_num_bfregs = 16, .reserved2 = 1 }, 0, -EOPNOTSUPP },
	{ "an empty request", {}, 1, -EINVAL },
	{ "a request cut short", { .total_num_bfregs = 16 }, 12, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(open, open_cases, name);

static void invalid_request_sends_no_command(struct kunit *test)
{
	const struct open_case *c = test->param_value;
	struct mock *mock = mock_create(test);
	struct ib_udata *udata = mock_udata(mock, &c->req, c->inlen ?: sizeof(c->req),
					    sizeof(struct mlx5_ib_alloc_ucontext_resp));
	int idx, err;

	idx = mock_enter(mock);
	err = mlx5_ib_alloc_ucontext(&mock->context->ibucontext, udata);
	mock_leave(mock, idx);
	KUNIT_EXPECT_EQ(test, err, c->want);
	KUNIT_EXPECT_EQ(test, mock->num_commands, 0);
	KUNIT_EXPECT_NULL(test, mock->context->bfregi.sys_pages);
	KUNIT_EXPECT_NULL(test, mock->context->bfregi.count);
}

static void library_is_told_the_limits_of_the_device(struct kunit *test)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mock *mock = mock_create(test);

	mock_open(mock);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.bf_reg_size, 512);
	KUNIT_EXPECT_EQ(test, resp.tot_bfregs, MOCK_UAR_PAGES(16) * MOCK_PAGE_UARS * 2);
	KUNIT_EXPECT_EQ(test, resp.num_dyn_bfregs, 1024);
	KUNIT_EXPECT_EQ(test, resp.num_uars_per_page, MOCK_PAGE_UARS);
	KUNIT_EXPECT_EQ(test, resp.log_uar_size, 12);
	KUNIT_EXPECT_EQ(test, resp.qp_tab_size, 262144);
	KUNIT_EXPECT_EQ(test, resp.cache_line_size, 64);
	KUNIT_EXPECT_EQ(test, resp.max_sq_desc_sz, 1024);
	KUNIT_EXPECT_EQ(test, resp.max_rq_desc_sz, 512);
	KUNIT_EXPECT_EQ(test, resp.max_send_wqebb, 32768);
	KUNIT_EXPECT_EQ(test, resp.max_recv_wr, 32768);
	KUNIT_EXPECT_EQ(test, resp.max_srq_recv_wr, 32768);
	KUNIT_EXPECT_EQ(test, resp.num_ports, 1);
	KUNIT_EXPECT_EQ(test, resp.flow_action_flags, 0);
	/* The clock can only be mapped if pages have 4 KiB. */
	KUNIT_EXPECT_EQ(test, resp.comp_mask, PAGE_SIZE == SZ_4K ? 0x2b : 0x2a);
	KUNIT_EXPECT_EQ(test, resp.response_length, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.cqe_version, 1);
	KUNIT_EXPECT_EQ(test, resp.cmds_supp_uhw, 3);
	KUNIT_EXPECT_EQ(test, resp.dump_fill_mkey, 1792);
	mock_close(mock);
}

/* Devices that lack features of the mock, or have further features. */
static void library_is_told_the_features_of_the_device(struct kunit *test)
{
	const u32 clock = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
	const u32 always = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
			   MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG |
			   (IS_ENABLED(CONFIG_PAGE_SIZE_4KB) ? clock : 0);
	struct mlx5_ib_alloc_ucontext_resp resp;
	struct mock *mock = mock_create(test);
	struct mlx5_ib_caps *caps = &mock->dev->caps;

	MOCK_SET_CAP(caps, dump_fill_mkey, 0);
	mock_open(mock);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask, always);
	KUNIT_EXPECT_EQ(test, resp.dump_fill_mkey, 0);
	KUNIT_EXPECT_EQ(test, resp.clock_info_versions, 0);
	KUNIT_EXPECT_EQ(test, resp.hca_core_clock_offset, 0);
	mock_close(mock);

	MOCK_SET_CAP(caps, ece_support, 1);
	mock_open(mock);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask, always | MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE);
	mock_close(mock);

	/* The device has both clocks, no BlueFlame, and CQEs without a user index. */
	MOCK_SET_CAP(caps, ece_support, 0);
	MOCK_SET_CAP(caps, sq_ts_format, 2);
	MOCK_SET_CAP(caps, bf, 0);
	MOCK_SET_CAP(caps, cqe_version, 0);
	mock_open(mock);
	mock_read_answer(mock, &resp, sizeof(resp));
	KUNIT_EXPECT_EQ(test, resp.comp_mask,
			always | MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS);
	KUNIT_EXPECT_EQ(test, resp.bf_reg_size, 0);
	KUNIT_EXPECT_EQ(test, resp.cqe_version, 0);
	mock_close(mock);
}

static bool user_exists(struct mock *mock)
{
	return xa_load(&mock->dev->users->table, __kuid_val(current_uid()));
}

/* If firmware refuses the first or the last UAR, the context that fails releases both, too. */
static void closed_context_releases_its_user_and_process(struct kunit *test)
{
	static const unsigned int refusals[] = { 0, 1, MOCK_UAR_PAGES(16) };
	struct pid *pid = task_tgid(current);
	struct objects *o = objects_make(test);
	unsigned int before, i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		before = refcount_read(&pid->count);
		KUNIT_EXPECT_FALSE(test, user_exists(o->mock));
		o->mock->num_commands = 0;
		o->mock->refuse = refusals[i];
		KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_CONTEXT),
				refusals[i] ? o->mock->refuse_err : 0);
		o->mock->refuse = 0;
		if (!refusals[i]) {
			KUNIT_EXPECT_TRUE(test, user_exists(o->mock));
			KUNIT_EXPECT_EQ(test, refcount_read(&pid->count), before + 1);
			KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
		}
		KUNIT_EXPECT_FALSE_MSG(test, user_exists(o->mock), "refusal %u", refusals[i]);
		KUNIT_EXPECT_EQ_MSG(test, refcount_read(&pid->count), before, "refusal %u",
				    refusals[i]);
	}
}

/* The mkeys of regions belong to the kernel, as does the user id itself. */
static void objects_carry_the_user_id_of_their_context(struct kunit *test)
{
	static const enum object_id ids[] = { OBJ_RC_QP, OBJ_SRQ, OBJ_MR };
	static const enum mock_kind users[] = {
		MOCK_UAR, MOCK_PD, MOCK_CQ, MOCK_QP, MOCK_RMP,
	};
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;
	unsigned long number;
	void *owner;
	int i;

	o->ctx_flags = MLX5_IB_ALLOC_UCTX_DEVX;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		KUNIT_ASSERT_EQ(test, objects_create(o, ids[i]), 0);
	KUNIT_EXPECT_NE(test, mock->context->uid, 0);
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		KUNIT_EXPECT_NE_MSG(test, mock->num_live[users[i]], 0, "kind %u", users[i]);
		xa_for_each(&mock->live[users[i]], number, owner)
			KUNIT_EXPECT_EQ(test, xa_to_value(owner), mock->context->uid);
	}
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_UCTX], 1);
	KUNIT_EXPECT_EQ(test, mock->num_live[MOCK_MKEY], 1);
	xa_for_each(&mock->live[MOCK_UCTX], number, owner)
		KUNIT_EXPECT_EQ(test, xa_to_value(owner), 0);
	xa_for_each(&mock->live[MOCK_MKEY], number, owner)
		KUNIT_EXPECT_EQ(test, xa_to_value(owner), 0);
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

static void refused_user_id_is_destroyed_at_the_second_attempt(struct kunit *test)
{
	struct objects *o = objects_make(test);
	struct mock *mock = o->mock;

	KUNIT_ASSERT_EQ(test, objects_create(o, OBJ_DEVX_CONTEXT), 0);
	/* DESTROY_UCTX comes after each DEALLOC_UAR; refused once, it is sent again. */
	mock->num_commands = 0;
	mock->refuse = MOCK_UAR_PAGES(16) + 1;
	KUNIT_EXPECT_EQ(test, objects_destroy(o, OBJ_DEVX_CONTEXT), 0);
	KUNIT_EXPECT_EQ(test, mock->num_commands, MOCK_UAR_PAGES(16) + 2);
	KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
}

/* Take capabilities from the calling task. */
static const struct cred *drop_caps(struct kunit *test, bool net_raw, bool sys_rawio)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	if (!net_raw)
		cap_lower(cred->cap_effective, CAP_NET_RAW);
	if (!sys_rawio)
		cap_lower(cred->cap_effective, CAP_SYS_RAWIO);
	return override_creds(cred);
}

/*
 * The device offers none, one or both of the rights, or also rights that the driver never grants.
 */
static void rights_are_those_of_the_caller_and_of_the_device(struct kunit *test)
{
	static const u32 offered[] = { 0, 1, 2, 3, 0xffffffff };
	struct mock *mock = mock_create(test);
	const struct cred *old;
	unsigned int i, has;

	for (i = 0; i < ARRAY_SIZE(offered); i++) {
		MOCK_SET_CAP(&mock->dev->caps, uctx_cap, offered[i]);
		for (has = 0; has < 4; has++) {
			old = drop_caps(test, has & MLX5_UCTX_CAP_RAW_TX,
					has & MLX5_UCTX_CAP_INTERNAL_DEV_RES);
			KUNIT_EXPECT_EQ(test, mlx5_ib_create_uctx(mock->dev, mock->context), 0);
			put_cred(revert_creds(old));
			KUNIT_EXPECT_EQ_MSG(test, MLX5_GET(create_uctx_in, mock->in, uctx.cap),
					    has & offered[i], "caller %u, device %#x", has,
					    offered[i]);
			/*
			 * The driver checks these rights for commands that firmware does not check.
			 */
			KUNIT_EXPECT_EQ(test, mock->context->devx_rights, has);
			KUNIT_EXPECT_NE(test, mock->context->uid, 0);
			mlx5_ib_destroy_uctx(mock->context);
			KUNIT_EXPECT_EQ(test, mock_num_live(mock), 0);
		}
	}
}

/* The process does not know of the PD, so it never deallocates the PD. */
static void undelivered_pd_is_deallocated_at_the_second_attempt(struct kunit *test)
{
	struct objects *o = objects_make(test);
	unsigned int live;
	int idx;

	KUNIT_ASSERT_EQ(test, objects_need(o, OBJ_PD), 0);
	live = mock_num_live(o->mock);
	o->break_response = true;
	o->mock->num_commands = 0;
	o->mock->refuse = 2;
	idx = mock_enter(o->mock);
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_PD), -EFAULT);
	mock_leave(o->mock, idx);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 3);
	KUNIT_EXPECT_EQ(test, mock_num_live(o->mock), live);
	KUNIT_EXPECT_TRUE(test, list_empty(&o->mock->context->orphans));
	o->mock->refuse = 0;
	KUNIT_EXPECT_EQ(test, objects_destroy_all(o), 0);
}

static void errno_says_whether_user_ids_are_exhausted(struct kunit *test)
{
	static const int errnos[][2] = {
		{ -ENOSPC, -ENOMEM }, { -EIO, -EIO }, { -ETIMEDOUT, -ETIMEDOUT },
	};
	struct mock *mock = mock_create(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		mock->num_commands = 0;
		mock->refuse = 1;
		mock->refuse_err = errnos[i][0];
		KUNIT_EXPECT_EQ(test, mlx5_ib_create_uctx(mock->dev, mock->context), errnos[i][1]);
		KUNIT_EXPECT_EQ(test, mock->context->uid, 0);
	}
}

static void device_without_user_ids_refuses_them(struct kunit *test)
{
	struct objects *o = objects_make(test);

	MOCK_SET_CAP(&o->mock->dev->caps, log_max_uctx, 0);
	KUNIT_EXPECT_EQ(test, objects_create(o, OBJ_DEVX_CONTEXT), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, o->mock->num_commands, 0);
}

static struct kunit_case ucontext_cases[] = {
	KUNIT_CASE_PARAM(invalid_request_sends_no_command, open_gen_params),
	KUNIT_CASE(library_is_told_the_limits_of_the_device),
	KUNIT_CASE(library_is_told_the_features_of_the_device),
	KUNIT_CASE(closed_context_releases_its_user_and_process),
	KUNIT_CASE(objects_carry_the_user_id_of_their_context),
	KUNIT_CASE(refused_user_id_is_destroyed_at_the_second_attempt),
	KUNIT_CASE(undelivered_pd_is_deallocated_at_the_second_attempt),
	KUNIT_CASE(rights_are_those_of_the_caller_and_of_the_device),
	KUNIT_CASE(errno_says_whether_user_ids_are_exhausted),
	KUNIT_CASE(device_without_user_ids_refuses_them),
	{}
};

static struct kunit_suite ucontext_suite = {
	.name = "bluebell_ucontext",
	.test_cases = ucontext_cases,
};

kunit_test_suite(ucontext_suite);
