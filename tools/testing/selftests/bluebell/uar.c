// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UAR objects (mlx5dv_devx_alloc_uar() and its ioctl), and the choice of a doorbell register for a
 * queue pair: classes, sharing, and return when the queue pair is destroyed.
 */
#include <infiniband/mlx5dv.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include "klog.h"
#include "test.h"

#define BF_OFFSET 0x800		/* offset of the first BlueFlame register in a UAR */
#define BFREGS 16
#define LOW_LATENCY 4
/* A doorbell (control segment of a NOP) for a queue pair that does not exist. */
#define NO_QP_DOORBELL htobe64(0xfffff0ull << 8 | 1)

/* --- mlx5dv_devx_alloc_uar -------------------------------------------------------------------- */

FIXTURE(dv) {
	struct rdma r;
};

FIXTURE_VARIANT(dv) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(dv, bf) { .flags = MLX5DV_UAR_ALLOC_TYPE_BF };

FIXTURE_VARIANT_ADD(dv, nc) { .flags = MLX5DV_UAR_ALLOC_TYPE_NC };

FIXTURE_VARIANT_ADD(dv, nc_dedicated) { .flags = MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED };

FIXTURE_SETUP(dv)
{
	struct uv uv;

	ASSERT_EQ(0, uv_open(&uv));
	uv_close(&uv);
	if (variant->flags == MLX5DV_UAR_ALLOC_TYPE_BF && !has_blueflame(&uv))
		SKIP(return, NO_BLUEFLAME);
	ASSERT_EQ(0, rdma_open(&self->r));
}

FIXTURE_TEARDOWN(dv)
{
	rdma_close(&self->r);
}

TEST_F(dv, alloc_returns_all_addresses)
{
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(self->r.ctx, variant->flags);

	ASSERT_NE(NULL, uar) TH_LOG("errno %d", errno);
	EXPECT_NE(NULL, uar->base_addr);
	EXPECT_EQ(0, (uintptr_t)uar->base_addr % UV_PAGE);
	/* The register is one of the first UAR in the page. */
	EXPECT_LE(BF_OFFSET, uar->reg_addr - uar->base_addr);
	EXPECT_GT(UV_PAGE, uar->reg_addr - uar->base_addr);
	EXPECT_EQ(0, (uar->reg_addr - uar->base_addr) % 0x100);
	EXPECT_NE(0, uar->page_id);
	EXPECT_NE(0, uar->mmap_off);
	EXPECT_EQ(0, uar->comp_mask);
	mlx5dv_devx_free_uar(uar);
}

TEST_F(dv, write_arrives_at_the_hca)
{
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(self->r.ctx, variant->flags);
	long dropped;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_NE(NULL, uar);
	/* The HCA gets the doorbell, and drops it because the queue pair does not exist. */
	dropped = hca_counter("no_qp");
	ASSERT_EQ(0, hca_expect("drop no_qp 1"));
	ring(uar->reg_addr, NO_QP_DOORBELL);
	EXPECT_EQ(dropped + 1, hca_counter("no_qp"));
	mlx5dv_devx_free_uar(uar);
}

/* --- UAR objects ------------------------------------------------------------------------------ */

FIXTURE(uar_obj) {
	struct uv uv;
};

FIXTURE_VARIANT(uar_obj) {
	uint32_t type;
};

FIXTURE_VARIANT_ADD(uar_obj, bf) { .type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF };

FIXTURE_VARIANT_ADD(uar_obj, nc) { .type = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC };

FIXTURE_SETUP(uar_obj)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	if (variant->type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && !has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(uar_obj)
{
	uv_close(&self->uv);
}

static void *map_uar(int fd, const struct uv_uar *uar)
{
	void *p = mmap(NULL, uar->mmap_len, PROT_WRITE, MAP_SHARED, fd, uar->mmap_off);

	return p == MAP_FAILED ? NULL : p;
}

TEST_F(uar_obj, can_be_allocated_mapped_and_freed)
{
	struct uv_uar uar;
	void *p;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar));
	EXPECT_EQ(UV_PAGE, uar.mmap_len);
	p = map_uar(self->uv.fd, &uar);
	EXPECT_NE(NULL, p);
	if (p)
		munmap(p, uar.mmap_len);
	EXPECT_EQ(0, uv_free_uar(self->uv.fd, uar.handle));
	EXPECT_NE(0, uv_free_uar(self->uv.fd, uar.handle));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* @wish, or the number of UARs that the HCA still has, if that is less. */
static unsigned int limit_to_free_uars(unsigned int wish)
{
	long room = hca_objects_left("uar");

	return room < wish ? room : wish;
}

TEST_F(uar_obj, ids_and_offsets_are_unique)
{
	struct uv_uar uar[16];
	const unsigned int num = limit_to_free_uars(ARRAY_SIZE(uar));
	unsigned int i, j;

	ASSERT_LT(4, num);
	for (i = 0; i < num; i++)
		ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar[i]));
	for (i = 0; i < num; i++)
		for (j = 0; j < i; j++) {
			EXPECT_NE(uar[i].page_id, uar[j].page_id);
			EXPECT_NE(uar[i].mmap_off, uar[j].mmap_off);
		}
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, uv_free_uar(self->uv.fd, uar[i].handle));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_F(uar_obj, mapping_must_be_one_shared_page)
{
	struct uv_uar uar;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * UV_PAGE, PROT_WRITE, MAP_SHARED, self->uv.fd,
				   uar.mmap_off));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, UV_PAGE, PROT_WRITE, MAP_PRIVATE, self->uv.fd,
				   uar.mmap_off));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(uar_obj, other_context_can_neither_map_nor_free_it)
{
	struct uv_uar uar;
	struct uv other;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar));
	ASSERT_EQ(0, uv_open(&other));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, other.fd, uar.mmap_off));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(0, uv_free_uar(other.fd, uar.handle));
	uv_close(&other);
}

TEST_F(uar_obj, freed_uar_cannot_be_mapped)
{
	struct uv_uar uar;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar));
	ASSERT_EQ(0, uv_free_uar(self->uv.fd, uar.handle));
	EXPECT_EQ(NULL, map_uar(self->uv.fd, &uar));
	EXPECT_EQ(EINVAL, errno);
}

/*
 * A UAR that is freed while it is mapped may stay reachable through the mapping; then it must not
 * be allocated again before it is unmapped.
 */
TEST_F(uar_obj, mapped_uar_is_not_reallocated)
{
	struct uv_uar uar, next[32];
	unsigned int num, i;
	void *p;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &uar));
	p = map_uar(self->uv.fd, &uar);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, uv_free_uar(self->uv.fd, uar.handle));
	num = limit_to_free_uars(ARRAY_SIZE(next));
	ASSERT_LT(4, num);
	for (i = 0; i < num; i++) {
		ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, variant->type, &next[i]));
		EXPECT_NE(uar.page_id, next[i].page_id);
	}
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, uv_free_uar(self->uv.fd, next[i].handle));
	munmap(p, UV_PAGE);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST(unknown_uar_type_is_refused)
{
	static const uint32_t types[] = { 2, 3, 255, 0x80000000, ~0u };
	struct uv_uar uar;
	struct uv uv;
	size_t i;

	ASSERT_EQ(0, uv_open(&uv));
	for (i = 0; i < ARRAY_SIZE(types); i++)
		EXPECT_GT(0, uv_alloc_uar(uv.fd, types[i], &uar)) TH_LOG("type %#x", types[i]);
	uv_close(&uv);
}

TEST(close_frees_the_uars)
{
	struct uv_uar uar;
	struct uv uv;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open(&uv));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	uv_close(&uv);
	EXPECT_CENSUS_UNCHANGED();
}

/* --- A second process with the command fd ----------------------------------------------------- */

static int send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = {}, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int recv_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

TEST_F(dv, process_with_the_command_fd_can_map_it)
{
	struct mlx5dv_devx_uar *uar;
	int sock[2], status, fd;
	long dropped;
	off_t off;
	void *p;
	pid_t pid;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* The child has only the descriptor and the offset that it gets over the socket. */
		fd = recv_fd(sock[1]);
		if (fd < 0 || read(sock[1], &off, sizeof(off)) != sizeof(off))
			_exit(2);
		p = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, off);
		if (p == MAP_FAILED)
			_exit(3);
		ring(p + BF_OFFSET, NO_QP_DOORBELL);
		_exit(0);
	}
	uar = mlx5dv_devx_alloc_uar(self->r.ctx, variant->flags);
	ASSERT_NE(NULL, uar);
	dropped = hca_counter("no_qp");
	ASSERT_EQ(0, hca_expect("drop no_qp 1"));
	ASSERT_EQ(0, send_fd(sock[0], self->r.ctx->cmd_fd));
	ASSERT_EQ(sizeof(off_t), write(sock[0], &uar->mmap_off, sizeof(uar->mmap_off)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(dropped + 1, hca_counter("no_qp"));
	mlx5dv_devx_free_uar(uar);
}

/* --- The register of a queue pair ------------------------------------------------------------- */

FIXTURE(bfreg) {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_qp qp[BFREGS + 24];
};

FIXTURE_SETUP(bfreg)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 63, &self->cq));
}

FIXTURE_TEARDOWN(bfreg)
{
	uv_close(&self->uv);
}

/* The index in the response counts all four registers of a UAR, of which only two are used. */
static int bfreg_of(const struct uv_qp *qp)
{
	uint32_t in_uar = qp->resp.bfreg_index % 4;

	return in_uar >= 2 ? -1 : (int)(qp->resp.bfreg_index / 4 * 2 + in_uar);
}

static bool is_low_latency(int bfreg)
{
	return bfreg >= BFREGS - LOW_LATENCY && bfreg < BFREGS;
}

TEST_F(bfreg, queue_pairs_are_spread_over_16_registers)
{
	unsigned int users[BFREGS] = {}, least = ~0u, most = 0;
	int i, n;

	for (i = 0; i < 17; i++) {
		ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
					  &self->qp[i]));
		n = bfreg_of(&self->qp[i]);
		ASSERT_LE(0, n) TH_LOG("QP %d got index %u", i, self->qp[i].resp.bfreg_index);
		ASSERT_GT(BFREGS, n);
		users[n]++;
	}
	/* Register 0 has no BlueFlame and is used only if there are no medium registers. */
	EXPECT_EQ(0, users[0]);
	for (n = 1; n < BFREGS - LOW_LATENCY; n++) {
		least = users[n] < least ? users[n] : least;
		most = users[n] > most ? users[n] : most;
	}
	EXPECT_GE(1, most - least);
	for (n = BFREGS - LOW_LATENCY; n < BFREGS; n++)
		EXPECT_EQ(1, users[n]) TH_LOG("register %d", n);
}

TEST_F(bfreg, low_latency_lowest_free_register_first)
{
	int i;

	for (i = 0; i < LOW_LATENCY; i++) {
		ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
					  &self->qp[i]));
		EXPECT_EQ(BFREGS - LOW_LATENCY + i, bfreg_of(&self->qp[i]));
	}
	/* Free two registers, the higher one first; the lower one is taken again first. */
	ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp[2]));
	ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp[1]));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
				  &self->qp[1]));
	EXPECT_EQ(BFREGS - LOW_LATENCY + 1, bfreg_of(&self->qp[1]));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
				  &self->qp[2]));
	EXPECT_EQ(BFREGS - LOW_LATENCY + 2, bfreg_of(&self->qp[2]));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
				  &self->qp[4]));
	EXPECT_FALSE(is_low_latency(bfreg_of(&self->qp[4])));
}

TEST_F(bfreg, medium_least_used_register_first)
{
	int i, freed;

	/* Use each medium register twice. */
	for (i = 0; i < LOW_LATENCY + 2 * (BFREGS - LOW_LATENCY - 1); i++)
		ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
					  &self->qp[i]));
	freed = bfreg_of(&self->qp[LOW_LATENCY + 5]);
	ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp[LOW_LATENCY + 5]));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
				  &self->qp[LOW_LATENCY + 5]));
	EXPECT_EQ(freed, bfreg_of(&self->qp[LOW_LATENCY + 5]));
}

TEST_F(bfreg, destroyed_qps_return_their_registers)
{
	int first[BFREGS], i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < BFREGS; i++) {
			ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle,
						  IBV_QPT_RC,
						  &self->qp[i]));
			if (!round)
				first[i] = bfreg_of(&self->qp[i]);
			else
				EXPECT_EQ(first[i], bfreg_of(&self->qp[i]))
					TH_LOG("round %d QP %d", round, i);
		}
		for (i = 0; i < BFREGS; i++)
			ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp[(i * 5) % BFREGS]));
	}
}

TEST_F(bfreg, failed_create_returns_its_register)
{
	struct uv_qp_req req;
	struct uv_qp bad;
	int i;

	/* The request fails at the doorbell record, after the register was chosen. */
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&bad.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)bad.mem.buf;
	req.drv.db_addr = 8;
	for (i = 0; i < 20; i++)
		EXPECT_GT(0, uv_create_qp_raw(self->uv.fd, &req, &bad));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC,
				  &self->qp[0]));
	EXPECT_EQ(BFREGS - LOW_LATENCY, bfreg_of(&self->qp[0]));
}

FIXTURE(bfreg_shape) {
	struct uv uv;
};

FIXTURE_VARIANT(bfreg_shape) {
	uint32_t total, low_lat;
};

FIXTURE_VARIANT_ADD(bfreg_shape, two_of_which_one_low) { .total = 2, .low_lat = 1 };

FIXTURE_VARIANT_ADD(bfreg_shape, two_no_low) { .total = 2, .low_lat = 0 };

FIXTURE_VARIANT_ADD(bfreg_shape, all_low) { .total = 8, .low_lat = 7 };

FIXTURE_VARIANT_ADD(bfreg_shape, no_low) { .total = 8, .low_lat = 0 };

FIXTURE_SETUP(bfreg_shape)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = variant->total, .num_low_latency_bfregs = variant->low_lat,
		.max_cqe_version = 1, .flags = uv_open_flags(),
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
	};

	ASSERT_EQ(0, uv_open_req(&self->uv, &req));
}

FIXTURE_TEARDOWN(bfreg_shape)
{
	uv_close(&self->uv);
}

/*
 * With more queue pairs than registers, each queue pair gets one, and low-latency registers have
 * one each.
 */
TEST_F(bfreg_shape, low_latency_registers_have_one_qp_each)
{
	/* The driver adds registers until they fill whole pages of the host. */
	const uint32_t total = self->uv.resp.tot_bfregs;
	unsigned int users[32] = {};
	struct uv_qp qp[20];
	struct uv_cq cq;
	uint32_t pd, i;
	int n;

	ASSERT_LE(variant->total, total);
	ASSERT_GE(ARRAY_SIZE(users), total);
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 63, &cq));
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		ASSERT_EQ(0, uv_create_qp(self->uv.fd, pd, cq.handle, IBV_QPT_RC, &qp[i]));
		n = bfreg_of(&qp[i]);
		ASSERT_LE(0, n);
		ASSERT_GT(total, n);
		users[n]++;
	}
	for (i = total - variant->low_lat; i < total; i++)
		EXPECT_EQ(1, users[i]) TH_LOG("register %u", i);
	if (variant->low_lat + 1 < total)
		EXPECT_EQ(0, users[0]);
}

/* --- A queue pair on a given UAR or register -------------------------------------------------- */

TEST_F(bfreg, qp_on_a_uar_object_works)
{
	struct uv_qp_req req;
	struct uv_uar uar;
	struct uv_qp qp = {};

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = uar.page_id;
	ASSERT_EQ(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	EXPECT_EQ(0, uv_destroy_qp(self->uv.fd, &qp));
	EXPECT_EQ(0, uv_free_uar(self->uv.fd, uar.handle));
}

TEST_F(bfreg, qp_on_a_dynamic_register_works)
{
	/* Dynamic pages and registers are numbered from 0, separately from the static ones. */
	off_t off = uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, 0);
	struct uv_qp_req req;
	struct uv_qp qp = {};
	void *p;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_BFREG_INDEX;
	/* A dynamic register whose page has no UAR yet, and numbers beyond the table. */
	req.drv.bfreg_index = 0;
	EXPECT_EQ(-EINVAL, uv_create_qp_raw(self->uv.fd, &req, &qp));
	req.drv.bfreg_index = 1024;
	EXPECT_EQ(-EINVAL, uv_create_qp_raw(self->uv.fd, &req, &qp));
	req.drv.bfreg_index = ~0u;
	EXPECT_EQ(-EINVAL, uv_create_qp_raw(self->uv.fd, &req, &qp));
	p = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, self->uv.fd, off);
	ASSERT_NE(MAP_FAILED, p);
	req.drv.bfreg_index = 0;
	ASSERT_EQ(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	EXPECT_EQ(0, uv_destroy_qp(self->uv.fd, &qp));
	munmap(p, UV_PAGE);
}

TEST_F(bfreg, qp_on_another_contexts_uar_is_refused)
{
	struct uv_qp_req req;
	struct uv_uar uar;
	struct uv other;
	struct uv_qp qp = {};

	if (!driver_is("bluebell"))
		SKIP(return, "only bluebell refuses the UAR page index of another context");
	ASSERT_EQ(0, uv_open(&other));
	ASSERT_EQ(0, uv_alloc_uar(other.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = uar.page_id;
	EXPECT_EQ(-EINVAL, uv_create_qp_raw(self->uv.fd, &req, &qp));
	req.drv.bfreg_index = ~0u;
	EXPECT_EQ(-EINVAL, uv_create_qp_raw(self->uv.fd, &req, &qp));
	uv_close(&other);
}

/* --- UAR objects and the queues on them ----------------------------------------------------- */

/* A context with a UAR object that a queue uses, and another context. */
FIXTURE(on_uar) {
	struct uv uv, other;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_mem mem;
	struct uv_uar uar;
	struct mlx5_ib_create_cq drv;
	long uars;
};

FIXTURE_VARIANT(on_uar) {
	bool attr;	/* the UAR is named by an attribute of the ioctl */
};

FIXTURE_VARIANT_ADD(on_uar, by_request) { .attr = false };

FIXTURE_VARIANT_ADD(on_uar, by_attribute) { .attr = true };

FIXTURE_SETUP(on_uar)
{
	struct uv_uar unused;

	if (!driver_is("bluebell"))
		SKIP(return,
		     "only bluebell keeps a UAR for the queues on it, and checks its owner");
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_open(&self->other));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 63, &self->cq));
	ASSERT_EQ(0, uv_mem_alloc(&self->mem, 1 << 16));
	self->drv = (struct mlx5_ib_create_cq){
		.buf_addr = (uintptr_t)self->mem.buf, .db_addr = (uintptr_t)self->mem.dbr,
		.cqe_size = 64,
	};
	/*
	 * The first UAR object stays unused, so that no test passes only because it uses the first
	 * one.
	 */
	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &unused));
	self->uars = hca_census_count("uar");
	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &self->uar));
}

FIXTURE_TEARDOWN(on_uar)
{
	uv_close(&self->other);
	uv_close(&self->uv);
}

static int create_cq_on(int fd, struct mlx5_ib_create_cq *drv, uint32_t page_id, bool attr,
			uint32_t *handle)
{
	struct ib_uverbs_attr more = {
		.attr_id = MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX, .len = sizeof(page_id),
		.flags = UVERBS_ATTR_F_MANDATORY, .data = page_id,
	};
	struct ib_uverbs_create_cq_resp resp = {};
	int ret;

	if (attr)
		return uv_create_cq_attrs(fd, 63, drv, &more, 1, handle);
	drv->flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
	drv->uar_page_index = page_id;
	ret = uv_create_cq_raw(fd, 63, drv, sizeof(*drv), &resp, NULL);
	*handle = resp.cq_handle;
	return ret;
}

TEST_F(on_uar, cq_on_another_contexts_uar_is_refused)
{
	uint32_t cq, ids[] = { 0, 0, 0xffffff, ~0u };
	struct uv_uar foreign;
	size_t i;

	ASSERT_EQ(0, uv_alloc_uar(self->other.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &foreign));
	ids[0] = foreign.page_id;
	/* The HCA allocates the lowest or the highest free UAR: this number is the next one. */
	ids[1] = 2 * foreign.page_id - self->uar.page_id;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		EXPECT_EQ(-EINVAL, create_cq_on(self->uv.fd, &self->drv, ids[i], variant->attr,
						&cq))
			TH_LOG("index %#x", ids[i]);
	EXPECT_EQ(0, create_cq_on(self->uv.fd, &self->drv, self->uar.page_id, variant->attr, &cq));
}

/* A freed UAR stays with the CQ on it, and is not allocated again before the CQ is destroyed. */
TEST_F(on_uar, freed_uar_stays_until_its_cq_is_destroyed)
{
	struct uv_uar next;
	struct uv_cq cq = {};

	ASSERT_EQ(0, create_cq_on(self->uv.fd, &self->drv, self->uar.page_id, variant->attr,
				  &cq.handle));
	ASSERT_EQ(0, uv_free_uar(self->uv.fd, self->uar.handle));
	EXPECT_EQ(self->uars + 1, hca_census_count("uar"));
	ASSERT_EQ(0, uv_alloc_uar(self->other.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &next));
	EXPECT_NE(self->uar.page_id, next.page_id);
	EXPECT_EQ(self->uars + 2, hca_census_count("uar"));
	/* The freed UAR takes no further queue. */
	EXPECT_EQ(-EINVAL, create_cq_on(self->uv.fd, &self->drv, self->uar.page_id, variant->attr,
					&next.handle));
	EXPECT_EQ(0, uv_destroy_cq(self->uv.fd, &cq));
	EXPECT_EQ(self->uars + 1, hca_census_count("uar"));
}

/* A CQ that could not be created keeps no reference to the UAR. */
TEST_F(on_uar, refused_cq_does_not_keep_the_uar)
{
	uint32_t cq;

	ASSERT_EQ(0, hca_do("inject op CREATE_CQ LIM_ERR 1"));
	EXPECT_GT(0, create_cq_on(self->uv.fd, &self->drv, self->uar.page_id, variant->attr, &cq));
	EXPECT_EQ(1, hca_inject_clear());
	/* A CQ whose buffer is not mapped keeps no reference either. */
	self->drv.buf_addr = 0;
	EXPECT_EQ(-EFAULT, create_cq_on(self->uv.fd, &self->drv, self->uar.page_id, variant->attr,
					&cq));
	ASSERT_EQ(0, uv_free_uar(self->uv.fd, self->uar.handle));
	EXPECT_EQ(self->uars, hca_census_count("uar"));
}

TEST_F(on_uar, freed_uar_stays_until_its_qp_is_destroyed)
{
	struct uv_qp_req req;
	struct uv_qp qp = {};
	struct uv_uar next;

	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	req.drv.buf_addr = (uintptr_t)self->mem.buf;
	req.drv.db_addr = (uintptr_t)self->mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = self->uar.page_id;
	ASSERT_EQ(0, hca_do("inject op CREATE_QP LIM_ERR 1"));
	EXPECT_GT(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	EXPECT_EQ(1, hca_inject_clear());
	ASSERT_EQ(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	ASSERT_EQ(0, uv_free_uar(self->uv.fd, self->uar.handle));
	EXPECT_EQ(self->uars + 1, hca_census_count("uar"));
	ASSERT_EQ(0, uv_alloc_uar(self->other.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &next));
	EXPECT_NE(self->uar.page_id, next.page_id);
	EXPECT_EQ(0, uv_destroy_qp_handle(self->uv.fd, qp.handle));
	EXPECT_EQ(self->uars + 1, hca_census_count("uar"));
}

TEST(blueflame_object_needs_blueflame)
{
	struct uv_uar uar;
	struct uv uv;

	ASSERT_EQ(0, uv_open(&uv));
	EXPECT_EQ(has_blueflame(&uv) ? 0 : -EOPNOTSUPP,
		  uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, &uar));
	uv_close(&uv);
}

/* --- No UAR left ---------------------------------------------------------------------------- */

/* What Bluebell logs, at most once in LOG_SECONDS. */
#define LOG_LIMIT "all UARs of the device are in use (BAR 0 has room for "
#define LOG_SECONDS 10
#define REFUSED 20

/* The log names the limit and where to look, but not for each refusal: any user can cause many. */
TEST(one_uar_too_many_is_refused_by_name)
{
	int logged = klog_count(LOG_LIMIT), i;
	struct uv_uar uar;
	struct uv uv, none;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, uv_open(&uv));
	/* After a line of an earlier test the driver is silent for LOG_SECONDS. */
	if (logged && driver_is("bluebell"))
		sleep(LOG_SECONDS + 1);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, hca_do("inject op ALLOC_UAR LIM_ERR"));
	for (i = 0; i < REFUSED; i++)
		EXPECT_EQ(-ENOMEM, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	EXPECT_EQ(-ENOMEM, uv_open(&none));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, uv.fd,
				   uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, 0)));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_LE(REFUSED + 2, hca_inject_clear());
	EXPECT_CENSUS_UNCHANGED();
	if (driver_is("bluebell")) {
		EXPECT_LT(logged, klog_count(LOG_LIMIT));
		EXPECT_GT(logged + REFUSED / 2, klog_count(LOG_LIMIT));
	}
	/* When firmware has UARs again, one can be allocated. */
	EXPECT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	EXPECT_EQ(0, uv_free_uar(uv.fd, uar.handle));
	uv_close(&uv);
}

/*
 * At the limit of the device itself, the UAR after the last one is refused, and a UAR can be
 * allocated again after one is freed.
 */
TEST(the_last_uar_can_be_used)
{
	struct uv_uar uar[64];
	struct uv uv;
	long left;
	int i;

	ASSERT_EQ(0, uv_open(&uv));
	left = hca_ctl_present() ? hca_objects_left("uar") : -1;
	if (left < 0 || left > (long)ARRAY_SIZE(uar)) {
		uv_close(&uv);
		SKIP(return, "the device has too many UARs");
	}
	for (i = 0; i < left; i++)
		ASSERT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar[i]));
	ASSERT_EQ(0, hca_expect("refuse ALLOC_UAR LIM_ERR 1"));
	EXPECT_EQ(-ENOMEM, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar[i]));
	EXPECT_EQ(0, uv_free_uar(uv.fd, uar[0].handle));
	EXPECT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar[0]));
	uv_close(&uv);
}

TEST_HARNESS_MAIN
