// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a process registers for its DEVX objects (umem), and queues in it: which memory a umem takes,
 * who pins it for how long, and that no command of a process reaches memory otherwise.
 */
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <linux/udmabuf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "devx_cmd.h"
#include "test.h"

#define NO_UMEMS "the device has no umems"
#define PAGES 16
#define MEM_BYTES (PAGES * UV_PAGE)
#define LOG_CQ 5
#define LOG_RQ 4
#define LOG_SQ 6
#define SQ_OFFSET (16 << LOG_RQ)	/* behind a receive queue of WQEs of 16 bytes */

static bool has_umems(void)
{
	return hca_cap("general", "log_max_uctx") && hca_cap("general", "log_max_umem");
}

FIXTURE(umem) {
	struct uv uv;
	uint8_t *mem;
	long pinned;
};

FIXTURE_SETUP(umem)
{
	if (!has_umems())
		SKIP(return, NO_UMEMS);
	self->mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(umem)
{
	if (!has_umems())
		return;
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	uv_close(&self->uv);
	munmap(self->mem, MEM_BYTES);
}

static int reg(int fd, void *addr, uint64_t len, uint32_t access, struct devx_umem *umem)
{
	*umem = (struct devx_umem){ .addr = (uintptr_t)addr, .len = len, .access = access };
	return devx_reg_umem(fd, umem);
}

/* --- Registration ------------------------------------------------------------------------------ */

TEST_F(umem, memory_is_pinned_as_long_as_it_is_registered)
{
	static const struct {
		size_t offset, len, pages;
	} parts[] = {
		{ 0, UV_PAGE, 1 }, { 0, 1, 1 }, { UV_PAGE - 1, 1, 1 }, { UV_PAGE - 1, 2, 2 },
		{ 0x40, UV_PAGE, 2 }, { 3, MEM_BYTES - 3, PAGES }, { 0, MEM_BYTES, PAGES },
	};
	struct devx_umem umem;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ASSERT_EQ(0, reg(self->uv.fd, self->mem + parts[i].offset, parts[i].len,
				 IBV_ACCESS_LOCAL_WRITE, &umem)) TH_LOG("part %zu", i);
		EXPECT_EQ(self->pinned + (long)parts[i].pages, uv_pinned_pages());
		EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
		EXPECT_EQ(self->pinned, uv_pinned_pages());
	}
}

TEST_F(umem, user_ids_own_umems)
{
	struct devx_umem umem[3];
	long users;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	users = hca_census_users("umem");
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, reg(self->uv.fd, self->mem, MEM_BYTES, 0, &umem[i]));
	EXPECT_EQ(users + 3, hca_census_users("umem"));
	EXPECT_NE(umem[0].id, umem[1].id);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem[i].handle));
}

TEST_F(umem, bad_requests_are_refused)
{
	struct {
		uint64_t addr, len;
		uint32_t access;
		uint64_t bitmap;
		int err;
	} bad[] = {
		{ (uintptr_t)self->mem, 0, 0, 0, -EINVAL },
		{ (uintptr_t)self->mem, ~0ull, 0, 0, 0 },
		{ ~0ull - UV_PAGE, 2 * UV_PAGE, 0, 0, 0 },
		{ 0, UV_PAGE, 0, 0, 0 },
		{ 1ull << 63, UV_PAGE, 0, 0, 0 },
		{ (uintptr_t)self->mem, UV_PAGE, 1u << 31, 0, -EINVAL },
		{ (uintptr_t)self->mem, UV_PAGE, IBV_ACCESS_REMOTE_WRITE, 0, -EINVAL },
		{ (uintptr_t)self->mem, UV_PAGE, 0, 1 << 11, -EINVAL },
		{ (uintptr_t)self->mem, MEM_BYTES, 0, 1 << 30, 0 },
	};
	struct devx_umem umem;
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		umem = (struct devx_umem){
			.addr = bad[i].addr, .len = bad[i].len, .access = bad[i].access,
			.bitmap = bad[i].bitmap,
		};
		/* A page of 1 GiB that happens to be there is as good. */
		ret = devx_reg_umem(self->uv.fd, &umem);
		EXPECT_GT(0, ret) TH_LOG("request %zu", i);
		if (bad[i].err)
			EXPECT_EQ(bad[i].err, ret) TH_LOG("request %zu", i);
		EXPECT_EQ(self->pinned, uv_pinned_pages()) TH_LOG("request %zu", i);
	}
}

/* The device would write where the process must not. */
TEST_F(umem, memory_that_cannot_be_written_cannot_be_registered_for_writing)
{
	struct devx_umem umem;
	void *page = mmap(NULL, UV_PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-EFAULT, reg(self->uv.fd, page, UV_PAGE, IBV_ACCESS_LOCAL_WRITE, &umem));
	EXPECT_EQ(0, reg(self->uv.fd, page, UV_PAGE, 0, &umem));
	EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
	munmap(page, UV_PAGE);
}

TEST_F(umem, refused_umem_is_unpinned)
{
	struct devx_umem umem;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, hca_do("inject op CREATE_UMEM LIM_ERR"));
	EXPECT_GT(0, reg(self->uv.fd, self->mem, MEM_BYTES, 0, &umem));
	EXPECT_EQ(1, hca_inject_clear());
}

TEST_F(umem, umem_whose_number_is_lost_is_unpinned)
{
	uint64_t addr = (uintptr_t)self->mem, len = MEM_BYTES;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, .len = 8,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = addr },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, .len = 8,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = len },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, .len = 4,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = 0 },
		{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, .len = 4,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = 8 },
	};

	EXPECT_EQ(-EFAULT, uv_ioctl(self->uv.fd, MLX5_IB_OBJECT_DEVX_UMEM,
				    MLX5_IB_METHOD_DEVX_UMEM_REG, attrs, 5));
}

/* A memfd's pages as a dma-buf. */
static int make_dmabuf(void)
{
	struct udmabuf_create create = { .size = 4 * UV_PAGE };
	int fd, dev, memfd = memfd_create("umem", MFD_ALLOW_SEALING);

	if (memfd < 0 || ftruncate(memfd, create.size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	dev = open("/dev/udmabuf", O_RDWR);
	create.memfd = memfd;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(dev);
	close(memfd);
	return fd;
}

TEST_F(umem, dmabuf_can_be_registered)
{
	struct devx_umem umem = { .addr = UV_PAGE, .len = 2 * UV_PAGE };
	int fd = make_dmabuf();

	ASSERT_LT(0, fd);
	umem.dmabuf = fd;
	ASSERT_EQ(0, devx_reg_umem(self->uv.fd, &umem));
	EXPECT_EQ(0, devx_dereg_umem(self->uv.fd, umem.handle));
	umem.len = 4 * UV_PAGE;	/* beyond its end */
	EXPECT_EQ(-EINVAL, devx_reg_umem(self->uv.fd, &umem));
	umem.dmabuf = self->uv.fd;	/* none */
	EXPECT_GT(0, devx_reg_umem(self->uv.fd, &umem));
	umem.dmabuf = 12345;
	EXPECT_EQ(-EBADF, devx_reg_umem(self->uv.fd, &umem));
	close(fd);
}

/* --- Queues ------------------------------------------------------------------------------------ */

/* A CQ and a QP in a page each, and a page for their doorbell records. */
struct queues {
	uint8_t *cq_buf, *qp_buf;
	__be32 *dbr;
	struct devx_umem cq_umem, qp_umem, dbr_umem;
	struct uv_uar uar;
	uint32_t pd, pdn, eqn;
	uint32_t cq, cqn, qp, qpn;
};

static void start_cq(struct queues *q, struct devx_cmd *cmd)
{
	devx_start(cmd, DEVX_CREATE_CQ);
	devx_put(cmd, 0x10, 1 << 25);		/* dbr_umem_valid */
	devx_put(cmd, 0x14, q->dbr_umem.id);
	devx_put(cmd, 0x1c, LOG_CQ << 24 | q->uar.page_id);
	devx_put(cmd, 0x24, q->eqn);
	devx_put(cmd, 0x4c, 64);		/* offset of the doorbell record */
	devx_put(cmd, 0x58, q->cq_umem.id);
	devx_put(cmd, 0x5c, 1u << 31);		/* cq_umem_valid */
}

static void start_qp(struct queues *q, struct devx_cmd *cmd)
{
	devx_start(cmd, DEVX_CREATE_QP);
	devx_put(cmd, 0x18, 3 << 11);		/* RC, migrated */
	devx_put(cmd, 0x1c, q->pdn);
	devx_put(cmd, 0x20, LOG_RQ << 19 | LOG_SQ << 11);
	devx_put(cmd, 0x24, q->uar.page_id);
	devx_put(cmd, 0x28, uv_uidx());
	devx_put(cmd, 0x94, q->cqn);
	devx_put(cmd, 0xb4, q->cqn);
	devx_put(cmd, 0xe8, 1 << 28);		/* dbr_umem_valid */
	devx_put(cmd, 0xfc, q->dbr_umem.id);
	devx_put(cmd, 0x108, q->qp_umem.id);
	devx_put(cmd, 0x10c, 1u << 31);		/* wq_umem_valid */
}

static int queues_prepare(int fd, uint8_t *mem, struct queues *q)
{
	memset(q, 0, sizeof(*q));
	q->cq_buf = mem;
	q->qp_buf = mem + UV_PAGE;
	q->dbr = (__be32 *)(mem + 3 * UV_PAGE);
	memset(q->cq_buf, 0, UV_PAGE);
	return uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &q->uar) ?:
	       uv_alloc_pd(fd, &q->pd, &q->pdn) ?: devx_query_eqn(fd, 0, &q->eqn) ?:
	       reg(fd, q->cq_buf, UV_PAGE, IBV_ACCESS_LOCAL_WRITE, &q->cq_umem) ?:
	       reg(fd, q->qp_buf, 2 * UV_PAGE, IBV_ACCESS_LOCAL_WRITE, &q->qp_umem) ?:
	       reg(fd, q->dbr, UV_PAGE, IBV_ACCESS_LOCAL_WRITE, &q->dbr_umem);
}

static int create_cq(int fd, struct queues *q)
{
	struct devx_cmd cmd;
	int ret;

	start_cq(q, &cmd);
	ret = devx_create(fd, &cmd, &q->cq);
	q->cqn = devx_get(&cmd, 8);
	return ret;
}

static int create_qp(int fd, struct queues *q)
{
	struct devx_cmd cmd;
	int ret;

	start_qp(q, &cmd);
	ret = devx_create(fd, &cmd, &q->qp);
	q->qpn = devx_get(&cmd, 8);
	return ret;
}

static int queues_release(int fd, struct queues *q)
{
	return devx_dereg_umem(fd, q->dbr_umem.handle) ?: devx_dereg_umem(fd, q->qp_umem.handle) ?:
	       devx_dereg_umem(fd, q->cq_umem.handle) ?: uv_dealloc_pd(fd, q->pd) ?:
	       uv_free_uar(fd, q->uar.handle);
}

static int modify_qp(int fd, struct queues *q, struct devx_cmd *cmd)
{
	devx_put(cmd, 8, q->qpn);
	return devx_modify(fd, q->qp, cmd);
}

/* To RTS, connected to itself. */
static int connect_qp(int fd, struct queues *q, uint16_t lid)
{
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_RST2INIT_QP);
	devx_put(&cmd, 0x18, 3 << 11);
	devx_put(&cmd, 0x54, 1 << 16);		/* vhca_port_num */
	ret = modify_qp(fd, q, &cmd);
	if (ret)
		return ret;
	devx_start(&cmd, DEVX_INIT2RTR_QP);
	devx_put(&cmd, 0x20, 3u << 29 | 20 << 24);	/* mtu 1024, log_msg_max */
	devx_put(&cmd, 0x2c, q->qpn);
	devx_put(&cmd, 0x34, lid);
	devx_put(&cmd, 0xac, 12 << 24);		/* min_rnr_nak */
	ret = modify_qp(fd, q, &cmd);
	if (ret)
		return ret;
	devx_start(&cmd, DEVX_RTR2RTS_QP);
	devx_put(&cmd, 0x38, 14 << 27);		/* ack_timeout */
	devx_put(&cmd, 0x88, 7 << 16 | 7 << 13);	/* retry_count, rnr_retry */
	return modify_qp(fd, q, &cmd);
}

/* Post a NOP, and ring the doorbell; returns the opcode of its completion, -1 if none comes. */
static int post_nop(int fd, struct queues *q)
{
	volatile uint8_t *qpn = q->cq_buf + 57, *op_own = q->cq_buf + 63;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)(q->qp_buf + SQ_OFFSET);
	uint8_t *page = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, q->uar.mmap_off);
	int i;

	if (page == MAP_FAILED)
		return -1;
	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = htobe32(MLX5_OPCODE_NOP);
	ctrl->qpn_ds = htobe32(q->qpn << 8 | 1);
	ctrl->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	q->dbr[MLX5_SND_DBR] = htobe32(1);
	ring(page + 0x800, *(uint64_t *)ctrl);
	munmap(page, UV_PAGE);
	for (i = 0; i < 5000; i++) {
		if (qpn[0] | qpn[1] | qpn[2])
			return *op_own >> 4;
		usleep(1000);
	}
	return -1;
}

static uint16_t port_lid(int fd)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp = {};

	uv_cmd(fd, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &resp, sizeof(resp), NULL, 0,
	       NULL, 0);
	return resp.lid;
}

FIXTURE(queues) {
	struct uv uv;
	uint8_t *mem;
	struct queues q;
	long pinned;
};

FIXTURE_SETUP(queues)
{
	if (!has_umems())
		SKIP(return, NO_UMEMS);
	self->mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	self->pinned = uv_pinned_pages();
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, queues_prepare(self->uv.fd, self->mem, &self->q));
}

FIXTURE_TEARDOWN(queues)
{
	if (!has_umems())
		return;
	EXPECT_EQ(0, queues_release(self->uv.fd, &self->q));
	EXPECT_EQ(self->pinned, uv_pinned_pages());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->uv);
	munmap(self->mem, MEM_BYTES);
}

TEST_F(queues, queue_pair_in_umems_works)
{
	ASSERT_EQ(0, create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, create_qp(self->uv.fd, &self->q));
	EXPECT_EQ(0, connect_qp(self->uv.fd, &self->q, port_lid(self->uv.fd)));
	EXPECT_EQ(MLX5_CQE_REQ, post_nop(self->uv.fd, &self->q));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.qp));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

TEST_F(queues, umem_stays_while_a_queue_uses_it)
{
	long pinned = uv_pinned_pages();
	int fd = self->uv.fd;

	ASSERT_EQ(0, create_cq(fd, &self->q));
	ASSERT_EQ(0, create_qp(fd, &self->q));
	ASSERT_EQ(0, hca_expect("refuse DESTROY_UMEM BAD_RES_STATE_ERR 3"));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.cq_umem.handle));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.qp_umem.handle));
	EXPECT_GT(0, devx_dereg_umem(fd, self->q.dbr_umem.handle));
	EXPECT_EQ(pinned, uv_pinned_pages());
	EXPECT_EQ(0, connect_qp(fd, &self->q, port_lid(fd)));
	EXPECT_EQ(MLX5_CQE_REQ, post_nop(fd, &self->q));
	EXPECT_EQ(0, devx_destroy(fd, self->q.qp));
	EXPECT_EQ(0, devx_destroy(fd, self->q.cq));
}

TEST_F(queues, cq_that_firmware_keeps_can_be_destroyed_later)
{
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, hca_do("inject op DESTROY_CQ BAD_RES_STATE"));
	EXPECT_GT(0, devx_destroy(self->uv.fd, self->q.cq));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

TEST_F(queues, cq_on_an_event_queue_that_is_none_is_refused)
{
	static const uint32_t eqns[] = { 0, 0xff, 0xffffffff };
	struct devx_cmd cmd;
	uint32_t handle;
	size_t i;

	if (!driver_is("bluebell"))
		SKIP(return, "the errno is the driver's own");
	for (i = 0; i < ARRAY_SIZE(eqns); i++) {
		self->q.eqn = eqns[i];
		start_cq(&self->q, &cmd);
		EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle)) TH_LOG("%u", eqns[i]);
	}
}

/* A command without the bits that say "umem" would have DMA addresses. */
TEST_F(queues, physical_addresses_are_not_taken)
{
	struct devx_cmd cmd;
	uint32_t handle;
	int ret;

	/* With the bits set by the driver, the command names the umem all the same. */
	start_cq(&self->q, &cmd);
	cmd.in[0x10] &= ~2;
	cmd.in[0x5c] &= 0x7f;
	ASSERT_EQ(0, devx_create(self->uv.fd, &cmd, &handle));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, handle));
	/* There is no umem, but there are addresses. */
	ASSERT_EQ(0, hca_expect("refuse CREATE_CQ BAD_RES_ERR 1"));
	ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_RES_ERR 1"));
	ASSERT_EQ(0, create_cq(self->uv.fd, &self->q));
	start_cq(&self->q, &cmd);
	cmd.in[0x10] &= ~2;
	memset(cmd.in + 0x58, 0, 8);
	devx_put(&cmd, 0x58, 0xfffff0);
	ret = devx_create(self->uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	start_qp(&self->q, &cmd);
	memset(cmd.in + 0x108, 0, 8);
	devx_put(&cmd, 0x108, 0xfffff0);
	ret = devx_create(self->uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
}

/* Each number in the commands, one after the other, is that of another user. */
TEST_F(queues, what_belongs_to_others_is_not_taken)
{
	struct queues mine = self->q, theirs;
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;
	uint8_t *mem;
	int i, ret;

	mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, queues_prepare(uv.fd, mem, &theirs));
	ASSERT_EQ(0, create_cq(uv.fd, &theirs));
	ASSERT_EQ(0, create_cq(self->uv.fd, &self->q));
	ASSERT_EQ(0, hca_expect("refuse CREATE_CQ BAD_RES_ERR 3"));
	ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_RES_ERR 5"));
	for (i = 0; i < 3; i++) {
		mine = self->q;
		if (i == 0)
			mine.cq_umem = theirs.cq_umem;
		if (i == 1)
			mine.dbr_umem = theirs.dbr_umem;
		if (i == 2)
			mine.uar = theirs.uar;
		start_cq(&mine, &cmd);
		ret = devx_create(self->uv.fd, &cmd, &handle);
		EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("field %d: %d", i, ret);
	}
	for (i = 0; i < 5; i++) {
		mine = self->q;
		if (i == 0)
			mine.qp_umem = theirs.qp_umem;
		if (i == 1)
			mine.dbr_umem = theirs.dbr_umem;
		if (i == 2)
			mine.uar = theirs.uar;
		if (i == 3)
			mine.pdn = theirs.pdn;
		if (i == 4)
			mine.cqn = theirs.cqn;
		start_qp(&mine, &cmd);
		ret = devx_create(self->uv.fd, &cmd, &handle);
		EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("field %d: %d", i, ret);
	}
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.cq));
	uv_close(&uv);
	munmap(mem, MEM_BYTES);
}

/* --- Death ------------------------------------------------------------------------------------- */

static int everything(int fd)
{
	struct queues q;
	uint8_t *mem;
	int i, ret = 0;

	mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 20 && !ret; i++)
		ret = queues_prepare(fd, mem, &q) ?: create_cq(fd, &q) ?: create_qp(fd, &q);
	return ret;
}

TEST_F(umem, close_destroys_queues_and_umems)
{
	struct uv uv;

	ASSERT_EQ(0, uv_open_devx(&uv));
	EXPECT_EQ(0, everything(uv.fd));
	uv_close(&uv);
}

TEST_F(umem, sigkill_destroys_queues_and_umems)
{
	int to_parent[2], status;
	struct uv uv;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(to_parent));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (uv_open_devx(&uv) || everything(uv.fd) || write(to_parent[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(to_parent[1]);
	ASSERT_EQ(1, read(to_parent[0], &byte, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
}

/* Firmware refuses a command of each kind at the end of the process. */
TEST_F(umem, objects_that_firmware_keeps_for_a_while_do_not_outlive_their_process)
{
	static const char *const ops[] = { "DESTROY_QP", "DESTROY_CQ", "DESTROY_UMEM" };
	struct uv uv;
	size_t i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves it to ib_core, which reports a bug");
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_EQ(0, uv_open_devx(&uv));
		ASSERT_EQ(0, everything(uv.fd));
		/* What the object refers to cannot be destroyed before. */
		if (i == 0)
			ASSERT_EQ(0, hca_expect("refuse DESTROY_CQ BAD_RES_STATE_ERR"));
		if (i <= 1)
			ASSERT_EQ(0, hca_expect("refuse DESTROY_UMEM BAD_RES_STATE_ERR"));
		ASSERT_EQ(0, hca_do("inject op %s BAD_RES_STATE 1", ops[i]));
		uv_close(&uv);
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(self->pinned, uv_pinned_pages()) TH_LOG("%s", ops[i]);
	}
}

TEST_HARNESS_MAIN
