// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * alloc_ucontext: requests of both versions, of all lengths and with undefined bits, and the
 * responses. Requests are sent as raw ioctls, without libmlx5.
 */
#include "devx_cmd.h"
#include "test.h"

#define REQ_V0_LEN sizeof(struct mlx5_ib_alloc_ucontext_req)
#define REQ_V2_MIN_LEN offsetof(struct mlx5_ib_alloc_ucontext_req_v2, max_cqe_version)
#define DYN_BFREGS 1024

static const struct mlx5_ib_alloc_ucontext_req_v2 default_req = {
	.total_num_bfregs = 16,
	.num_low_latency_bfregs = 4,
	.max_cqe_version = 1,
	/* With MLX5_LIB_CAP_DYN_UAR the context would have no registers. */
	.lib_caps = MLX5_LIB_CAP_4K_UAR,
};

/* Open a context with a request and close it; returns 0 or the errno of the request. */
static int open_and_close(const void *req, size_t len)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	int fd = uv_open_fd(), ret;

	if (fd < 0)
		return fd;
	ret = uv_get_context(fd, req, len, &resp, sizeof(resp));
	close(fd);
	return ret;
}

/* --- Number of registers ---------------------------------------------------------------------- */

FIXTURE(bfregs) {
	struct uv uv;
};

FIXTURE_VARIANT(bfregs) {
	uint32_t total, low_lat;
	int ret;
	uint32_t granted;
};

#define BFREGS(total_, low_, ret_, granted_) \
	.total = total_, .low_lat = low_, .ret = ret_, .granted = granted_

FIXTURE_VARIANT_ADD(bfregs, default_16_4) {
	BFREGS(16, 4, 0, 16),
};

FIXTURE_VARIANT_ADD(bfregs, none_is_invalid) {
	BFREGS(0, 0, -EINVAL, 0),
};

FIXTURE_VARIANT_ADD(bfregs, most_512) {
	BFREGS(512, 4, 0, 512),
};

FIXTURE_VARIANT_ADD(bfregs, over_512_is_too_many) {
	BFREGS(513, 4, -ENOMEM, 0),
};

FIXTURE_VARIANT_ADD(bfregs, far_too_many) {
	BFREGS(0xfffffff0, 4, -ENOMEM, 0),
};

FIXTURE_VARIANT_ADD(bfregs, one_rounds_up_to_a_page) {
	BFREGS(1, 0, 0, 2),
};

FIXTURE_VARIANT_ADD(bfregs, three_round_up_to_two_pages) {
	BFREGS(3, 1, 0, 4),
};

FIXTURE_VARIANT_ADD(bfregs, odd_511_rounds_up_to_512) {
	BFREGS(511, 4, 0, 512),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_15_of_16) {
	BFREGS(16, 15, 0, 16),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_16_of_16_leaves_none_for_0) {
	BFREGS(16, 16, -EINVAL, 0),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_above_total) {
	BFREGS(16, 17, -EINVAL, 0),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_all_ones) {
	BFREGS(16, ~0u, -EINVAL, 0),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_none) {
	BFREGS(16, 0, 0, 16),
};

FIXTURE_VARIANT_ADD(bfregs, low_latency_511_of_512) {
	BFREGS(512, 511, 0, 512),
};

FIXTURE_SETUP(bfregs)
{
	hca_census_reset();
	self->uv.fd = -1;
}

FIXTURE_TEARDOWN(bfregs)
{
	uv_close(&self->uv);
}

TEST_F(bfregs, rounded_or_refused)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = default_req;
	/* Registers fill whole pages of the host, each of which is one UAR to ALLOC_UAR. */
	const long pages = UV_STATIC_PAGES(variant->granted);
	long uars = hca_census_count("uar");
	int want = variant->ret;

	/* An emulated HCA may have fewer UARs than the request needs. */
	if (pages > hca_objects_left("uar")) {
		want = -ENOMEM;
		ASSERT_EQ(0, hca_expect("refuse ALLOC_UAR LIM_ERR 1"));
	}
	req.total_num_bfregs = variant->total;
	req.num_low_latency_bfregs = variant->low_lat;
	ASSERT_EQ(want, uv_open_req(&self->uv, &req));
	if (!want) {
		EXPECT_EQ(pages * UV_PAGE_REGS, self->uv.resp.tot_bfregs);
		EXPECT_EQ(DYN_BFREGS, self->uv.resp.num_dyn_bfregs);
		if (hca_ctl_present())
			EXPECT_EQ(uars + pages, hca_census_count("uar"));
		uv_close(&self->uv);
	}
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- The response ----------------------------------------------------------------------------- */

FIXTURE(response) {
	struct uv uv;
};

FIXTURE_SETUP(response)
{
	ASSERT_EQ(0, uv_open(&self->uv));
}

FIXTURE_TEARDOWN(response)
{
	uv_close(&self->uv);
}

/* The values of wqe_inline_mode and min_wqe_inline_mode of the device of the article. */
#define INLINE_BY_VPORT		1
#define INLINE_L2		1

static bool is_ethernet(void)
{
	return hca_cap("general", "port_type") == 1;
}

/*
 * True if the capabilities are those of the device whose response an article on UARs shows, which
 * has an Ethernet port. An InfiniBand port with these capabilities answers the same but for the
 * headers of raw packets. Without an emulated HCA to ask, assume that the device is the one of the
 * article with an InfiniBand port.
 */
static bool is_reference_device(void)
{
	static const struct {
		const char *cap;
		long value;
	} reference[] = {
		{ "log_max_qp", 18 }, { "log_max_qp_sz", 15 }, { "log_max_srq_sz", 15 },
		{ "bf", 1 }, { "cqe_version", 1 }, { "dump_fill_mkey", 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reference); i++)
		if (hca_ctl_present() && hca_cap("general", reference[i].cap) != reference[i].value)
			return false;
	if (is_ethernet() && (hca_cap("ethernet", "wqe_inline_mode") != INLINE_BY_VPORT ||
			      hca_limit("min_wqe_inline_mode") != INLINE_L2))
		return false;
	return hca_limit("no_write_combining") <= 0;
}

/* Each value that the article shows. */
TEST_F(response, matches_the_reference_device)
{
	struct mlx5_ib_alloc_ucontext_resp *r = &self->uv.resp;
	/* The device of the article sets the first two; the driver adds the other two. */
	uint32_t mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS |
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG;

	if (!is_reference_device())
		SKIP(return, "the device has other capabilities than the reference device");
	if (UV_PAGE != 4096)
		SKIP(return, "the host of the article has pages of 4 KiB");
	EXPECT_EQ(512, r->bf_reg_size);
	EXPECT_EQ(16, r->tot_bfregs);
	EXPECT_EQ(1024, r->num_dyn_bfregs);
	EXPECT_EQ(1, r->num_uars_per_page);
	EXPECT_EQ(12, r->log_uar_size);
	EXPECT_EQ(262144, r->qp_tab_size);
	EXPECT_EQ(64, r->cache_line_size);
	EXPECT_EQ(1024, r->max_sq_desc_sz);
	EXPECT_EQ(512, r->max_rq_desc_sz);
	EXPECT_EQ(32768, r->max_send_wqebb);
	EXPECT_EQ(32768, r->max_recv_wr);
	EXPECT_EQ(32768, r->max_srq_recv_wr);
	EXPECT_EQ(1, r->num_ports);
	EXPECT_EQ(0, r->flow_action_flags);
	EXPECT_EQ(mask, r->comp_mask);
	EXPECT_EQ(72, r->response_length);
	EXPECT_EQ(1, r->cqe_version);
	EXPECT_EQ(3, r->cmds_supp_uhw);
	EXPECT_EQ(is_ethernet() ? MLX5_USER_INLINE_MODE_L2 : MLX5_USER_INLINE_MODE_NA,
		  r->eth_min_inline);
	EXPECT_EQ(1, r->clock_info_versions);
	EXPECT_EQ(0, r->hca_core_clock_offset);
	EXPECT_EQ(1792, r->dump_fill_mkey);
}

TEST_F(response, matches_the_capabilities)
{
	struct mlx5_ib_alloc_ucontext_resp *r = &self->uv.resp;
	bool fill = r->comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	/* Without write combining there is no BlueFlame. */
	if (hca_limit("no_write_combining")) {
		EXPECT_EQ(0, r->bf_reg_size);
	} else {
		EXPECT_EQ(hca_cap("general", "bf") << hca_cap("general", "log_bf_reg_size"),
			  r->bf_reg_size);
	}
	EXPECT_EQ(1 << hca_cap("general", "log_max_qp"), r->qp_tab_size);
	EXPECT_EQ(hca_cap("general", "max_wqe_sz_sq"), r->max_sq_desc_sz);
	EXPECT_EQ(hca_cap("general", "max_wqe_sz_rq"), r->max_rq_desc_sz);
	EXPECT_EQ(1 << hca_cap("general", "log_max_qp_sz"), r->max_send_wqebb);
	EXPECT_EQ(1 << hca_cap("general", "log_max_qp_sz"), r->max_recv_wr);
	EXPECT_EQ(1 << hca_cap("general", "log_max_srq_sz"), r->max_srq_recv_wr);
	EXPECT_EQ(hca_cap("general", "num_ports"), r->num_ports);
	EXPECT_EQ(hca_cap("general", "cqe_version"), r->cqe_version);
	EXPECT_EQ(hca_cap("general", "dump_fill_mkey"), fill);
	EXPECT_EQ(fill, !!r->dump_fill_mkey);
}

TEST_F(response, second_context_on_one_file_is_refused)
{
	struct mlx5_ib_alloc_ucontext_resp resp;

	ASSERT_EQ(0, hca_ctl_present() ? hca_census_reset() : 0);
	EXPECT_EQ(-EINVAL, uv_get_context(self->uv.fd, &default_req, sizeof(default_req), &resp,
					  sizeof(resp)));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

FIXTURE(short_response) {
	int fd;
};

FIXTURE_VARIANT(short_response) {
	size_t len;
};

FIXTURE_VARIANT_ADD(short_response, none) { .len = 0 };

FIXTURE_VARIANT_ADD(short_response, first_field) { .len = 4 };

FIXTURE_VARIANT_ADD(short_response, up_to_num_ports) {
	.len = offsetof(struct mlx5_ib_alloc_ucontext_resp, flow_action_flags)
};

FIXTURE_VARIANT_ADD(short_response, up_to_response_length) {
	.len = offsetof(struct mlx5_ib_alloc_ucontext_resp, cqe_version)
};

FIXTURE_VARIANT_ADD(short_response, up_to_clock_offset) {
	.len = offsetof(struct mlx5_ib_alloc_ucontext_resp, log_uar_size)
};

FIXTURE_VARIANT_ADD(short_response, all_but_dump_fill_mkey) {
	.len = offsetof(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey)
};

FIXTURE_VARIANT_ADD(short_response, longer_than_the_kernel_knows) {
	.len = sizeof(struct mlx5_ib_alloc_ucontext_resp) + 24
};

FIXTURE_SETUP(short_response)
{
	self->fd = uv_open_fd();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(short_response)
{
	close(self->fd);
}

TEST_F(short_response, is_truncated_to_its_length)
{
	struct {
		struct mlx5_ib_alloc_ucontext_resp resp;
		uint8_t tail[64];
	} got;
	size_t full = sizeof(got.resp), i;
	struct uv whole;

	memset(&got, 0xa5, sizeof(got));
	ASSERT_EQ(0, uv_open(&whole));
	uv_close(&whole);
	ASSERT_EQ(0, uv_get_context(self->fd, &default_req, sizeof(default_req), &got,
				    variant->len));
	/* response_length is the number of bytes that were written. */
	whole.resp.response_length = variant->len < full ? variant->len : full;
	if (variant->len >= offsetof(struct mlx5_ib_alloc_ucontext_resp, cqe_version))
		EXPECT_EQ(whole.resp.response_length, got.resp.response_length);
	for (i = 0; i < variant->len && i < offsetof(struct mlx5_ib_alloc_ucontext_resp,
						     comp_mask); i++)
		EXPECT_EQ(((uint8_t *)&whole.resp)[i], ((uint8_t *)&got)[i]);
	for (i = variant->len; i < sizeof(got); i++)
		ASSERT_EQ(0xa5, ((uint8_t *)&got)[i]) TH_LOG("byte %zu was written", i);
}

/* --- The request's versions and its reserved fields ------------------------------------------- */

TEST(request_v0_is_accepted)
{
	struct mlx5_ib_alloc_ucontext_req req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4,
	};
	struct mlx5_ib_alloc_ucontext_resp resp = {};
	int fd = uv_open_fd();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, uv_get_context(fd, &req, sizeof(req), &resp, sizeof(resp)));
	EXPECT_EQ(16, resp.tot_bfregs);
	/*
	 * A version 0 request can ask neither for UARs of 4 KiB, so that a larger page is one UAR
	 * and there are fewer of them, nor for CQE version 1.
	 */
	EXPECT_EQ(UV_PAGE_UARS == 1 ? DYN_BFREGS : 512, resp.num_dyn_bfregs);
	EXPECT_EQ(0, resp.cqe_version);
	close(fd);
}

TEST(request_with_the_length_of_no_version_is_invalid)
{
	size_t len;

	for (len = 0; len < REQ_V2_MIN_LEN; len++) {
		if (len == REQ_V0_LEN)
			continue;
		EXPECT_EQ(-EINVAL, open_and_close(&default_req, len)) TH_LOG("length %zu", len);
	}
}

TEST(truncated_request_v2_is_accepted)
{
	size_t len;

	for (len = REQ_V2_MIN_LEN; len <= sizeof(default_req); len += 8)
		EXPECT_EQ(0, open_and_close(&default_req, len)) TH_LOG("length %zu", len);
}

TEST(longer_request_must_end_in_zeros)
{
	struct {
		struct mlx5_ib_alloc_ucontext_req_v2 req;
		uint8_t tail[40];
	} req = { .req = default_req };

	EXPECT_EQ(0, open_and_close(&req, sizeof(req)));
	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell refuses nonzero bytes that the kernel does not know");
	req.tail[39] = 1;
	EXPECT_EQ(-EOPNOTSUPP, open_and_close(&req, sizeof(req)));
}

FIXTURE(undefined) {
	struct mlx5_ib_alloc_ucontext_req_v2 req;
};

FIXTURE_VARIANT(undefined) {
	size_t offset;
	unsigned int len, bit;
	int ret;
};

#define UNDEFINED(field, bit_, ret_) \
	.offset = offsetof(struct mlx5_ib_alloc_ucontext_req_v2, field), .bit = bit_, .ret = ret_

FIXTURE_VARIANT_ADD(undefined, flag_1) {
	UNDEFINED(flags, 1, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, flag_31) {
	UNDEFINED(flags, 31, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, comp_mask_0) {
	UNDEFINED(comp_mask, 0, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, comp_mask_31) {
	UNDEFINED(comp_mask, 31, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, reserved0_0) {
	UNDEFINED(reserved0, 0, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, reserved0_7) {
	UNDEFINED(reserved0, 7, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, reserved1_15) {
	UNDEFINED(reserved1, 15, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, reserved2_0) {
	UNDEFINED(reserved2, 0, -EOPNOTSUPP),
};

FIXTURE_VARIANT_ADD(undefined, reserved2_31) {
	UNDEFINED(reserved2, 31, -EOPNOTSUPP),
};

/* Unknown capabilities of the library are ignored. */
FIXTURE_VARIANT_ADD(undefined, lib_cap_2) {
	UNDEFINED(lib_caps, 2, 0),
};

FIXTURE_VARIANT_ADD(undefined, lib_cap_63) {
	UNDEFINED(lib_caps, 63, 0),
};

FIXTURE_SETUP(undefined)
{
	self->req = default_req;
}

FIXTURE_TEARDOWN(undefined)
{
}

TEST_F(undefined, undefined_bit_is_refused_or_ignored)
{
	((uint8_t *)&self->req)[variant->offset + variant->bit / 8] |= 1 << (variant->bit % 8);
	EXPECT_EQ(variant->ret, open_and_close(&self->req, sizeof(self->req)));
}

TEST(cqe_version_is_the_lower_of_library_and_device)
{
	static const uint8_t asked[] = { 0, 1, 2, 255 };
	struct mlx5_ib_alloc_ucontext_req_v2 req = default_req;
	struct uv uv;
	size_t i;

	for (i = 0; i < sizeof(asked); i++) {
		req.max_cqe_version = asked[i];
		ASSERT_EQ(0, uv_open_req(&uv, &req));
		EXPECT_EQ(asked[i] && hca_cap("general", "cqe_version"), uv.resp.cqe_version)
			TH_LOG("asked for %u", asked[i]);
		uv_close(&uv);
	}
}

/* With MLX5_LIB_CAP_DYN_UAR the numbers in the request are ignored, even invalid ones. */
TEST(dyn_uar_context_has_no_registers)
{
	static const uint32_t asked[] = { 0, 16, 513, ~0u };
	struct mlx5_ib_alloc_ucontext_req_v2 req = default_req;
	long uars = hca_census_count("uar");
	struct uv uv;
	size_t i;

	req.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR;
	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		req.total_num_bfregs = asked[i];
		ASSERT_EQ(0, uv_open_req(&uv, &req));
		EXPECT_EQ(0, uv.resp.tot_bfregs);
		EXPECT_EQ(0, uv.resp.num_dyn_bfregs);
		EXPECT_EQ(12, uv.resp.log_uar_size);
		EXPECT_EQ(UV_PAGE_UARS, uv.resp.num_uars_per_page);
		EXPECT_EQ(uars, hca_census_count("uar"));
		uv_close(&uv);
	}
}

/* --- Bad pointers and failures ---------------------------------------------------------------- */

TEST(unreadable_request_is_a_fault)
{
	EXPECT_EQ(-EFAULT, open_and_close((void *)8, sizeof(default_req)));
}

TEST(unwritable_response_is_a_fault_and_leaks_nothing)
{
	int fd = uv_open_fd();

	ASSERT_LE(0, fd);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	EXPECT_EQ(-EFAULT, uv_get_context(fd, &default_req, sizeof(default_req), (void *)8, 72));
	close(fd);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* The file is open, but the process has no context. */
TEST(methods_need_a_context)
{
	struct devx_cmd cmd;
	struct uv_uar uar;
	uint32_t value;
	int fd;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	fd = uv_open_fd();
	ASSERT_LE(0, fd);
	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	EXPECT_EQ(-EINVAL, devx_general(fd, &cmd));
	EXPECT_EQ(-EINVAL, devx_query_eqn(fd, 0, &value));
	EXPECT_EQ(-EINVAL, uv_query_uar(fd, 0, &value));
	EXPECT_EQ(-EINVAL, uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	EXPECT_EQ(-EINVAL, uv_query_eswitch_port(fd, 1));
	close(fd);
}

/* If firmware refuses any of the commands, the UARs allocated so far are freed. */
TEST(failed_open_frees_all_uars)
{
	/*
	 * If the vport says which headers have to be in the WQE, mlx5_ib asks it each time the
	 * device is opened, and opens the device without the answer, too.
	 */
	bool asks = driver_is("mlx5_ib") && is_ethernet() &&
		    hca_cap("ethernet", "wqe_inline_mode") == INLINE_BY_VPORT;
	struct mlx5_ib_alloc_ucontext_resp resp;
	unsigned int nth;
	int fd, ret, fired;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_census_reset());
	for (nth = 1; nth < 64; nth++) {
		ASSERT_EQ(0, hca_inject_cmd(nth, "LIM_ERR"));
		fd = uv_open_fd();
		ASSERT_LE(0, fd);
		ret = uv_get_context(fd, &default_req, sizeof(default_req), &resp, sizeof(resp));
		/* End the injection first, so that it cannot hit the commands of close(). */
		fired = hca_inject_clear();
		close(fd);
		if (!fired)
			break;
		if (!ret && asks)
			asks = false;
		else
			EXPECT_EQ(-ENOMEM, ret) TH_LOG("command %u refused", nth);
		EXPECT_CENSUS_UNCHANGED() TH_LOG("command %u refused", nth);
	}
	/* There was at least a command for each page of the 16 registers. */
	EXPECT_LT(16 / UV_PAGE_REGS, nth);
}

/* --- The response, asked for again ------------------------------------------------------------ */

static int query_context(int fd, void *resp, uint16_t len)
{
	uint32_t vectors;
	uint64_t core;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, .len = sizeof(vectors),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&vectors },
		{ .attr_id = UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, .len = sizeof(core),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&core },
		{ .attr_id = MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, .len = len,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)resp },
	};

	return uv_ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, attrs, 3);
}

/*
 * A response that is shorter or longer than the structure has the same beginning, and its own
 * length.
 */
TEST(queried_response_of_any_length_repeats_the_first)
{
	const size_t full = sizeof(struct mlx5_ib_alloc_ucontext_resp);
	const size_t least = offsetof(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey) +
			     sizeof(uint32_t);
	const size_t at = offsetof(struct mlx5_ib_alloc_ucontext_resp, response_length);
	struct mlx5_ib_alloc_ucontext_resp whole;
	uint8_t got[sizeof(whole) + 64], *first;
	uint32_t length;
	struct uv uv;
	size_t len, i;

	ASSERT_EQ(0, uv_open(&uv));
	ASSERT_EQ(0, query_context(uv.fd, &whole, full));
	EXPECT_EQ(full, whole.response_length);
	first = (uint8_t *)&uv.resp;
	EXPECT_EQ(0, memcmp(first, &whole, at));
	EXPECT_EQ(0, memcmp(first + at + 4, (uint8_t *)&whole + at + 4, full - at - 4));
	for (len = 0; len <= full + 32; len += 4) {
		memset(got, 0xee, sizeof(got));
		if (len < least) {
			EXPECT_GT(0, query_context(uv.fd, got, len)) TH_LOG("length %zu", len);
			continue;
		}
		EXPECT_EQ(0, query_context(uv.fd, got, len)) TH_LOG("length %zu", len);
		memcpy(&length, got + at, sizeof(length));
		EXPECT_EQ(len < full ? len : full, length);
		memcpy(got + at, &whole.response_length, sizeof(length));
		EXPECT_EQ(0, memcmp(got, &whole, len < full ? len : full))
			TH_LOG("length %zu", len);
		for (i = full; i < len; i++)
			EXPECT_EQ(0, got[i]) TH_LOG("byte %zu of %zu", i, len);
		for (i = len; i < sizeof(got); i++)
			EXPECT_EQ(0xee, got[i]) TH_LOG("byte %zu of %zu", i, len);
	}
	EXPECT_EQ(-EFAULT, query_context(uv.fd, (void *)0x1000, full));
	uv_close(&uv);
}

TEST_HARNESS_MAIN
