// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device and port attributes, protection domains, address handles, and each documented errno.
 */
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernel_file.h"
#include "test.h"
#include "uv.h"

FIXTURE(dev) {
	struct rdma r;
	struct ibv_device_attr attr;
};

FIXTURE_SETUP(dev)
{
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, ibv_query_device(self->r.ctx, &self->attr));
}

FIXTURE_TEARDOWN(dev)
{
	rdma_close(&self->r);
}

/* --- Device and port -------------------------------------------------------------------------- */

TEST_F(dev, is_a_connectx)
{
	EXPECT_EQ(0x02c9, self->attr.vendor_id);
	EXPECT_TRUE(self->attr.vendor_part_id >= 4113) TH_LOG("part %u", self->attr.vendor_part_id);
	EXPECT_NE(0, self->attr.node_guid);
	EXPECT_NE(0, self->attr.sys_image_guid);
	EXPECT_EQ(1, self->attr.phys_port_cnt);
	EXPECT_TRUE(mlx5dv_is_supported(self->r.ctx->device));
}

TEST_F(dev, firmware_version_has_three_numbers)
{
	unsigned int major, minor, sub;
	int n = sscanf(self->attr.fw_ver, "%u.%u.%u", &major, &minor, &sub);

	EXPECT_EQ(3, n) TH_LOG("fw_ver '%s'", self->attr.fw_ver);
}

/* The lowest limit to expect: @usual, or less if the emulated HCA has less. */
static int expected_min(int usual, const char *log_cap)
{
	long log = hca_cap("general", log_cap);

	return log >= 0 && 1 << log < usual ? 1 << log : usual;
}

TEST_F(dev, limits_are_plausible)
{
	struct ibv_device_attr *a = &self->attr;

	EXPECT_LE(expected_min(1024, "log_max_qp"), a->max_qp);
	EXPECT_LE(expected_min(1024, "log_max_cq"), a->max_cq);
	EXPECT_LE(expected_min(1024, "log_max_mkey"), a->max_mr);
	EXPECT_LE(expected_min(1024, "log_max_pd"), a->max_pd);
	EXPECT_LE(expected_min(4096, "log_max_cq_sz") - 1, a->max_cqe);
	/* A work request may take up four basic blocks of a send queue. */
	EXPECT_LE(expected_min(4096, "log_max_qp_sz") / 4, a->max_qp_wr);
	EXPECT_LE(16, a->max_sge);
	EXPECT_LE(1, a->max_qp_rd_atom);
	EXPECT_LE(1, a->max_qp_init_rd_atom);
	EXPECT_LE(a->max_qp_rd_atom, a->max_res_rd_atom);
	EXPECT_LE(1ull << 32, a->max_mr_size);
	EXPECT_NE(0, a->page_size_cap & UV_PAGE);
	EXPECT_EQ(hca_cap("general", "atomic") ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE, a->atomic_cap);
	EXPECT_LE(1, a->max_pkeys);
}

TEST_F(dev, usual_sysfs_files_exist)
{
	static const char *const names[] = {
		"node_type", "node_guid", "sys_image_guid", "node_desc", "fw_ver", "board_id",
			"hca_type",
		"hw_rev", "ports/1/state", "ports/1/phys_state", "ports/1/rate", "ports/1/lid",
		"ports/1/link_layer", "ports/1/gids/0", "ports/1/pkeys/0",
	};
	char buf[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT_TRUE(rdma_read_sysfs(names[i], buf, sizeof(buf))) TH_LOG("no %s", names[i]);
		EXPECT_NE(0, buf[0]) TH_LOG("%s is empty", names[i]);
	}
	ASSERT_TRUE(rdma_read_sysfs("fw_ver", buf, sizeof(buf)));
	EXPECT_STREQ(self->attr.fw_ver, buf);
}

static bool read_sysfs_number(const char *name, long *number)
{
	char buf[32];

	if (!rdma_read_sysfs(name, buf, sizeof(buf)))
		return false;
	*number = strtol(buf, NULL, 10);
	return true;
}

/* Pages that firmware has been given, and pages of registered memory. */
TEST_F(dev, sysfs_counts_pages)
{
	const long pages = 37;
	long fw, reg, more;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	void *mem;

	if (!driver_is("bluebell"))
		SKIP(return, "what mlx5_ib counts is its own");
	mem = mmap(NULL, pages * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	ASSERT_NE(MAP_FAILED, mem);
	pd = ibv_alloc_pd(self->r.ctx);
	ASSERT_NE(NULL, pd);
	ASSERT_TRUE(read_sysfs_number("fw_pages", &fw));
	EXPECT_LT(0, fw);
	ASSERT_TRUE(read_sysfs_number("reg_pages", &reg));
	mr = ibv_reg_mr(pd, mem, pages * UV_PAGE, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	ASSERT_TRUE(read_sysfs_number("reg_pages", &more));
	EXPECT_EQ(reg + pages, more);
	/* A region with other rights is over the same pages, which count once. */
	EXPECT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	ASSERT_TRUE(read_sysfs_number("reg_pages", &more));
	EXPECT_EQ(reg + pages, more);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	ASSERT_TRUE(read_sysfs_number("reg_pages", &more));
	EXPECT_EQ(reg, more);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	munmap(mem, pages * UV_PAGE);
}

/* The attribute rate of the port is the speed of the link, "100 Gb/sec (4X EDR)". */
TEST_F(dev, port_speed_is_that_of_the_link_or_the_limit)
{
	uint64_t speed = 0;
	char buf[256];
	double gbps;
	struct uv uv;
	int ret;

	ASSERT_TRUE(rdma_read_sysfs("ports/1/rate", buf, sizeof(buf)));
	gbps = strtod(buf, NULL);
	ASSERT_EQ(0, uv_open(&uv));
	ret = uv_query_port_speed(uv.fd, 1, &speed);
	if (ret == -EOPNOTSUPP && !driver_is("bluebell"))
		SKIP(uv_close(&uv); return, "the driver does not report the speed");
	/* ib_core of a kernel that has the method answers -EOPNOTSUPP for a driver without it. */
	if (ret == -EPROTONOSUPPORT)
		SKIP(uv_close(&uv); return, "the kernel has no method that reports the speed");
	EXPECT_EQ(0, ret);
	/* The profile "vf" limits the function to 25 Gb/s. */
	EXPECT_TRUE(speed == gbps * 10 || speed == 250) TH_LOG("%s: %lu", buf, (long)speed);
	EXPECT_GT(0, uv_query_port_speed(uv.fd, 2, &speed));
	uv_close(&uv);
}

static bool write_sysfs(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", rdma_device_name(), name);
	return !write_file(path, "%s", text);
}

TEST_F(dev, node_description_can_be_changed)
{
	char before[256], after[256];

	ASSERT_TRUE(rdma_read_sysfs("node_desc", before, sizeof(before)));
	EXPECT_TRUE(write_sysfs("node_desc", "a description of this test"));
	ASSERT_TRUE(rdma_read_sysfs("node_desc", after, sizeof(after)));
	EXPECT_STREQ("a description of this test", after);
	EXPECT_TRUE(write_sysfs("node_desc", before));
	ASSERT_TRUE(rdma_read_sysfs("node_desc", after, sizeof(after)));
	EXPECT_STREQ(before, after);
}

TEST_F(dev, port_is_active_with_its_addresses)
{
	struct ibv_port_attr *p = &self->r.port;
	union ibv_gid gid;
	__be16 pkey;

	EXPECT_EQ(IBV_PORT_ACTIVE, p->state);
	EXPECT_EQ(port_is_ethernet() ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND,
		  p->link_layer);
	EXPECT_EQ(5, p->phys_state);
	EXPECT_EQ(port_is_ethernet(), !p->lid);
	EXPECT_LE(1, p->gid_tbl_len);
	EXPECT_LE(1, p->pkey_tbl_len);
	EXPECT_LE(IBV_MTU_1024, p->active_mtu);
	EXPECT_LE(p->active_mtu, p->max_mtu);
	EXPECT_LE(1u << 30, p->max_msg_sz);
	ASSERT_EQ(0, ibv_query_gid(self->r.ctx, 1, 0, &gid));
	EXPECT_EQ(0xfe80000000000000ull, be64toh(gid.global.subnet_prefix));
	EXPECT_NE(0, gid.global.interface_id);
	ASSERT_EQ(0, ibv_query_pkey(self->r.ctx, 1, 0, &pkey));
	EXPECT_EQ(0xffff, be16toh(pkey));
}

TEST_F(dev, missing_port_or_gid_is_refused)
{
	struct ibv_port_attr attr;
	union ibv_gid gid;

	EXPECT_EQ(EINVAL, ibv_query_port(self->r.ctx, 0, &attr));
	EXPECT_EQ(EINVAL, ibv_query_port(self->r.ctx, 2, &attr));
	EXPECT_NE(0, ibv_query_gid(self->r.ctx, 2, 0, &gid));
	EXPECT_NE(0, ibv_query_gid(self->r.ctx, 1, 100000, &gid));
}

/* --- Protection domains ----------------------------------------------------------------------- */

FIXTURE(pd) {
	struct uv uv;
};

FIXTURE_SETUP(pd)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(pd)
{
	uv_close(&self->uv);
}

TEST_F(pd, numbers_are_unique)
{
	long room = hca_objects_left("pd");
	const int num = room < 64 ? room : 64;
	uint32_t handle[64], pdn[64];
	int i, j;

	ASSERT_LT(16, num);
	for (i = 0; i < num; i++) {
		ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &handle[i], &pdn[i]));
		for (j = 0; j < i; j++)
			EXPECT_NE(pdn[j], pdn[i]);
	}
	if (num == room)
		EXPECT_EQ(-ENOMEM, uv_alloc_pd(self->uv.fd, &handle[0], &pdn[0]));
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, handle[i]));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(pd, query_returns_its_number)
{
	uint32_t handle, pdn, queried = 0;

	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &handle, &pdn));
	EXPECT_EQ(0, uv_query_pd(self->uv.fd, handle, &queried));
	EXPECT_EQ(pdn, queried);
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, handle));
	EXPECT_EQ(-ENOENT, uv_query_pd(self->uv.fd, handle, &queried));
}

TEST_F(pd, dealloc_in_use_is_busy)
{
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t handle;
	void *buf = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &handle, NULL));
	ASSERT_EQ(0, uv_reg_mr(self->uv.fd, handle, buf, UV_PAGE, (uintptr_t)buf,
			       IBV_ACCESS_LOCAL_WRITE, &mr));
	EXPECT_EQ(-EBUSY, uv_dealloc_pd(self->uv.fd, handle));
	EXPECT_EQ(0, uv_dereg_mr(self->uv.fd, mr.mr_handle));
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, handle));
}

TEST_F(pd, unknown_handle_is_not_found)
{
	uint32_t handle;

	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &handle, NULL));
	ASSERT_EQ(0, uv_dealloc_pd(self->uv.fd, handle));
	EXPECT_EQ(-ENOENT, uv_dealloc_pd(self->uv.fd, handle));
	EXPECT_EQ(-ENOENT, uv_dealloc_pd(self->uv.fd, 0x7fffffff));
}

TEST_F(pd, undefined_driver_input_is_refused)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp drv;
	uint64_t undefined[2] = { 0, 1 };

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell refuses unknown driver input of ALLOC_PD");
	EXPECT_EQ(-EOPNOTSUPP, uv_cmd(self->uv.fd, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req),
				      &resp, sizeof(resp), undefined, sizeof(undefined), &drv,
				      sizeof(drv)));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(pd, unwritable_response_leaks_nothing)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp;

	EXPECT_EQ(-EFAULT, uv_cmd(self->uv.fd, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req), &resp,
				  sizeof(resp), NULL, 0, (void *)8, 4));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- Address handles -------------------------------------------------------------------------- */

TEST_F(dev, ah_can_be_local_or_global)
{
	struct ibv_ah_attr attr = { .dlid = self->r.port.lid, .port_num = 1, .sl = 3 };
	struct ibv_ah *ah;

	ah = ibv_create_ah(self->r.pd, &attr);
	/* An Ethernet port has only global addresses. */
	EXPECT_EQ(port_is_ethernet() ? EINVAL : 0, ah ? ibv_destroy_ah(ah) : errno);

	attr.is_global = 1;
	attr.grh.hop_limit = 1;
	ASSERT_EQ(0, ibv_query_gid(self->r.ctx, 1, 0, &attr.grh.dgid));
	ah = ibv_create_ah(self->r.pd, &attr);
	ASSERT_NE(NULL, ah);
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(dev, ah_needs_no_firmware_command)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah[50];
	int i;

	port_address(&attr, self->r.port.lid);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_commands_reset());
	for (i = 0; i < 50; i++) {
		ah[i] = ibv_create_ah(self->r.pd, &attr);
		ASSERT_NE(NULL, ah[i]);
	}
	for (i = 0; i < 50; i++)
		EXPECT_EQ(0, ibv_destroy_ah(ah[i]));
	/* The kernel may send a few commands of its own at the same time. */
	EXPECT_GT(10, hca_commands(NULL));
}

FIXTURE(ah) {
	struct uv uv;
	uint32_t pd;
};

FIXTURE_SETUP(ah)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
}

FIXTURE_TEARDOWN(ah)
{
	uv_close(&self->uv);
}

static int create_ah(int fd, uint32_t pd, const struct ib_uverbs_ah_attr *attr, uint32_t *handle)
{
	struct ib_uverbs_create_ah req = { .pd_handle = pd, .attr = *attr };
	struct ib_uverbs_create_ah_resp resp = {};
	struct mlx5_ib_create_ah_resp drv;
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_CREATE_AH, &req, sizeof(req), &resp, sizeof(resp), NULL,
		     0,
		     &drv, sizeof(drv));
	*handle = resp.ah_handle;
	return ret;
}

TEST_F(ah, invalid_attributes_are_refused)
{
	struct ib_uverbs_ah_attr good, attr;
	uint32_t handle;
	int ret;

	port_uv_ah(&good, 1);
	ASSERT_EQ(0, create_ah(self->uv.fd, self->pd, &good, &handle));
	attr = good;
	attr.port_num = 0;
	EXPECT_EQ(-EINVAL, create_ah(self->uv.fd, self->pd, &attr, &handle));
	attr.port_num = 2;
	EXPECT_EQ(-EINVAL, create_ah(self->uv.fd, self->pd, &attr, &handle));
	attr = good;
	attr.is_global = 1;
	attr.grh.sgid_index = 255;
	/* The table of an Ethernet port may have this entry, without a GID. */
	ret = create_ah(self->uv.fd, self->pd, &attr, &handle);
	EXPECT_TRUE(ret == -EINVAL || (port_is_ethernet() && ret == -ENODATA))
		TH_LOG("error %d", ret);
	EXPECT_GT(0, create_ah(self->uv.fd, 0x7fffffff, &good, &handle));
}

TEST_F(ah, dealloc_pd_with_an_ah_is_busy)
{
	struct ib_uverbs_destroy_ah req = {};
	struct ib_uverbs_ah_attr attr;
	uint32_t handle;

	port_uv_ah(&attr, 1);
	ASSERT_EQ(0, create_ah(self->uv.fd, self->pd, &attr, &handle));
	EXPECT_EQ(-EBUSY, uv_dealloc_pd(self->uv.fd, self->pd));
	req.ah_handle = handle;
	EXPECT_EQ(0, uv_cmd(self->uv.fd, IB_USER_VERBS_CMD_DESTROY_AH, &req, sizeof(req), NULL, 0,
			    NULL, 0, NULL, 0));
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, self->pd));
}

TEST_HARNESS_MAIN
