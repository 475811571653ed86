// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware objects that a process creates by commands of its own (DEVX): their life, and what an
 * attacker could put into each field.
 */
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "child.h"
#include "devx_cmd.h"
#include "devx_queues.h"
#include "rights.h"
#include "test.h"

#define STATE_RST 0
#define STATE_INIT 1
#define STATE_ERR 6
#define MANY 1000

static int create_pd(int fd, uint32_t *handle, uint32_t *pdn)
{
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_ALLOC_PD);
	ret = devx_create(fd, &cmd, handle);
	*pdn = devx_get(&cmd, 8);
	return ret;
}

static int create_mkey(int fd, uint32_t pdn, uint32_t *handle, uint32_t *index)
{
	struct devx_cmd cmd;
	int ret;

	devx_start_klm_mkey(&cmd, pdn);
	ret = devx_create(fd, &cmd, handle);
	*index = devx_get(&cmd, 8);
	return ret;
}

static int query_mkey(int fd, uint32_t handle, uint32_t index)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_MKEY);
	devx_put(&cmd, 8, index);
	return devx_query(fd, handle, &cmd);
}

/* --- Creation and destruction --------------------------------------------------------------- */

FIXTURE(user) {
	struct uv uv;
};

FIXTURE_SETUP(user)
{
	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open_devx(&self->uv));
}

FIXTURE_TEARDOWN(user)
{
	if (!devx_has_user_ids())
		return;
	uv_close(&self->uv);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

FIXTURE(kind) {
	struct uv uv;
	struct devx_cmd cmd;
};

FIXTURE_VARIANT(kind) {
	uint16_t opcode;
	const char *name;
	const char *op, *destroy_op;
};

FIXTURE_VARIANT_ADD(kind, pd) {
	.opcode = DEVX_ALLOC_PD, .name = "pd", .op = "ALLOC_PD", .destroy_op = "DEALLOC_PD",
};

FIXTURE_VARIANT_ADD(kind, td) {
	.opcode = DEVX_ALLOC_TD, .name = "td", .op = "ALLOC_TRANSPORT_DOMAIN",
	.destroy_op = "DEALLOC_TRANSPORT_DOMAIN",
};

FIXTURE_VARIANT_ADD(kind, xrcd) {
	.opcode = DEVX_ALLOC_XRCD, .name = "xrcd", .op = "ALLOC_XRCD", .destroy_op = "DEALLOC_XRCD",
};

FIXTURE_VARIANT_ADD(kind, qcounter) {
	.opcode = DEVX_ALLOC_Q_COUNTER, .name = "qcounter", .op = "ALLOC_Q_COUNTER",
	.destroy_op = "DEALLOC_Q_COUNTER",
};

FIXTURE_VARIANT_ADD(kind, mkey) {
	.opcode = DEVX_CREATE_MKEY, .name = "mkey_free", .op = "CREATE_MKEY",
	.destroy_op = "DESTROY_MKEY",
};

FIXTURE_SETUP(kind)
{
	uint32_t handle, pdn;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	if (variant->opcode == DEVX_CREATE_MKEY) {
		ASSERT_EQ(0, create_pd(self->uv.fd, &handle, &pdn));
		devx_start_klm_mkey(&self->cmd, pdn);
	} else {
		devx_start(&self->cmd, variant->opcode);
	}
	ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(kind)
{
	if (!devx_has_user_ids() || !hca_ctl_present())
		return;
	EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->uv);
}

TEST_F(kind, object_lives_as_long_as_its_handle)
{
	long users = hca_census_users(variant->name);
	uint32_t handle;

	ASSERT_EQ(0, devx_create(self->uv.fd, &self->cmd, &handle));
	EXPECT_EQ(0, self->cmd.out[0]);
	EXPECT_EQ(users + 1, hca_census_users(variant->name));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, handle));
	EXPECT_EQ(-ENOENT, devx_destroy(self->uv.fd, handle));
}

/* Whatever user id the process puts into the command, the object has the id of the context. */
TEST_F(kind, user_id_cannot_be_forged)
{
	static const uint16_t ids[] = { 0, 1, 2, 0x7fff, 0xffff };
	long users = hca_census_users(variant->name);
	uint32_t handle;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		self->cmd.in[2] = ids[i] >> 8;
		self->cmd.in[3] = ids[i];
		ASSERT_EQ(0, devx_create(self->uv.fd, &self->cmd, &handle));
		EXPECT_EQ(users + 1, hca_census_users(variant->name)) TH_LOG("id 0x%x", ids[i]);
		EXPECT_EQ(0, devx_destroy(self->uv.fd, handle));
	}
}

TEST_F(kind, refusal_is_passed_on_and_leaves_nothing)
{
	/*
	 * After each LIM_ERR Bluebell tries to create a key of its own. As that is refused, too,
	 * Bluebell destroys a free key, to free a number, and tries again, four times at most.
	 */
	int tries = driver_is("bluebell") && variant->opcode == DEVX_CREATE_MKEY ? 10 : 1;
	uint32_t handle;
	int ret;

	ASSERT_EQ(0, hca_do("inject op %s LIM_ERR", variant->op));
	ret = devx_create(self->uv.fd, &self->cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&self->cmd, ret)) TH_LOG("%d", ret);
	EXPECT_EQ(8, self->cmd.out[0]);	/* LIM_ERR */
	ret = hca_inject_clear();
	EXPECT_LE(1, ret);
	EXPECT_GE(tries, ret);
}

/* If firmware refuses to destroy the object, its handle stays valid. */
TEST_F(kind, object_that_firmware_keeps_can_be_destroyed_later)
{
	uint32_t handle;

	ASSERT_EQ(0, devx_create(self->uv.fd, &self->cmd, &handle));
	ASSERT_EQ(0, hca_do("inject op %s BAD_RES_STATE", variant->destroy_op));
	EXPECT_GT(0, devx_destroy(self->uv.fd, handle));
	EXPECT_EQ(1, hca_inject_clear());
	EXPECT_EQ(0, devx_destroy(self->uv.fd, handle));
}

/* The answer cannot be written, so the process does not learn the handle of the object. */
TEST_F(kind, object_whose_answer_is_lost_is_destroyed)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, .len = self->cmd.in_len,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)self->cmd.in },
		{ .attr_id = MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, .len = 16,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = 8 },
	};

	EXPECT_EQ(-EFAULT, uv_ioctl(self->uv.fd, MLX5_IB_OBJECT_DEVX_OBJ,
				    MLX5_IB_METHOD_DEVX_OBJ_CREATE, attrs, 3));
}

/*
 * When the process closes the device, firmware refuses once to destroy the object. The driver
 * repeats the command.
 */
TEST_F(kind, object_that_firmware_keeps_for_a_while_does_not_outlive_its_process)
{
	struct uv uv;
	uint32_t handle, pd, pdn;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_EQ(0, uv_open_devx(&uv));
	if (variant->opcode == DEVX_CREATE_MKEY) {
		ASSERT_EQ(0, create_pd(uv.fd, &pd, &pdn));
		devx_start_klm_mkey(&self->cmd, pdn);
	}
	ASSERT_EQ(0, devx_create(uv.fd, &self->cmd, &handle));
	/* The key that firmware keeps still uses the domain. */
	if (variant->opcode == DEVX_CREATE_MKEY)
		ASSERT_EQ(0, hca_expect("refuse DEALLOC_PD BAD_RES_STATE_ERR 1"));
	ASSERT_EQ(0, hca_do("inject op %s BAD_RES_STATE 1", variant->destroy_op));
	uv_close(&uv);
	EXPECT_EQ(1, hca_inject_clear());
}

static int create_many(int fd)
{
	uint32_t handle, pdn, index;
	int i, ret;

	ret = create_pd(fd, &handle, &pdn);
	for (i = 0; i < MANY && !ret; i++)
		ret = create_mkey(fd, pdn, &handle, &index);
	return ret;
}

TEST_F(user, close_destroys_a_thousand_objects)
{
	ASSERT_EQ(0, create_many(self->uv.fd));
}

static int hold_many(void *arg, int ready)
{
	struct uv uv;

	return uv_open_devx(&uv) || create_many(uv.fd) || child_hold(ready);
}

TEST_F(user, sigkill_destroys_a_thousand_objects)
{
	pid_t pid = child_start(hold_many, NULL);

	ASSERT_LT(0, pid);
	ASSERT_LE(0, child_kill(pid));
}

TEST_F(user, firmware_keeps_an_object_that_another_refers_to)
{
	uint32_t pd, pdn, mkey, index;

	ASSERT_EQ(0, create_pd(self->uv.fd, &pd, &pdn));
	ASSERT_EQ(0, create_mkey(self->uv.fd, pdn, &mkey, &index));
	ASSERT_EQ(0, hca_expect("refuse DEALLOC_PD BAD_RES_STATE_ERR 1"));
	EXPECT_GT(0, devx_destroy(self->uv.fd, pd));
	EXPECT_EQ(0, query_mkey(self->uv.fd, mkey, index));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, mkey));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, pd));
}

/* Long enough for the driver to send a command again that firmware has refused. */
#define RETRIES_MS 2000

/*
 * ib_core does not know that the queue pair is attached. When a process with several queue pairs
 * closes the device, the driver destroys queue pairs before other objects. Firmware detaches a
 * queue pair that it destroys, so the driver must not repeat a refused DETACH_FROM_MCG.
 */
TEST_F(user, attachment_to_a_group_ends_with_the_queue_pair)
{
	struct uv_qp qp[2];
	struct uv_cq cq;
	struct devx_cmd cmd;
	uint32_t pd, handle;
	struct uv uv;

	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, uv_alloc_pd(uv.fd, &pd, NULL));
	ASSERT_EQ(0, uv_create_cq(uv.fd, 31, &cq));
	ASSERT_EQ(0, uv_create_qp(uv.fd, pd, cq.handle, IBV_QPT_UD, &qp[0]));
	ASSERT_EQ(0, uv_create_qp(uv.fd, pd, cq.handle, IBV_QPT_UD, &qp[1]));
	devx_start(&cmd, DEVX_ATTACH_TO_MCG);
	devx_put(&cmd, 8, qp[0].qpn);
	devx_put(&cmd, 0x10, 0xff120000);
	ASSERT_EQ(0, devx_create(uv.fd, &cmd, &handle)) TH_LOG("status 0x%x", cmd.out[0]);
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_expect("refuse DETACH_FROM_MCG BAD_RES any"));
	uv_close(&uv);
	if (!hca_ctl_present() || !driver_is("bluebell"))
		return;
	ASSERT_EQ(0, hca_commands_reset());
	usleep(RETRIES_MS * 1000);
	EXPECT_EQ(0, hca_commands("DETACH_FROM_MCG"));
}

/* --- Which object a command is about -------------------------------------------------------- */

TEST_F(user, command_about_another_object_is_refused)
{
	uint32_t pd, pdn, mkey[2], index[2], counter;
	struct devx_cmd cmd;
	int i;

	ASSERT_EQ(0, create_pd(self->uv.fd, &pd, &pdn));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, create_mkey(self->uv.fd, pdn, &mkey[i], &index[i]));
	devx_start(&cmd, DEVX_ALLOC_Q_COUNTER);
	ASSERT_EQ(0, devx_create(self->uv.fd, &cmd, &counter));
	EXPECT_EQ(0, query_mkey(self->uv.fd, mkey[0], index[0]));
	EXPECT_EQ(-EINVAL, query_mkey(self->uv.fd, mkey[0], index[1]));
	EXPECT_EQ(-EINVAL, query_mkey(self->uv.fd, mkey[0], 0));
	EXPECT_EQ(-EINVAL, query_mkey(self->uv.fd, counter, index[0]));
	EXPECT_EQ(-EINVAL, query_mkey(self->uv.fd, pd, index[0]));
	EXPECT_EQ(-ENOENT, query_mkey(self->uv.fd, 0xffff, index[0]));
}

/* Each method refuses the commands of the other methods, even with a handle of the right object. */
TEST_F(user, each_method_takes_its_own_commands)
{
	uint32_t pd, pdn, mkey, index, handle;
	struct devx_cmd cmd;

	ASSERT_EQ(0, create_pd(self->uv.fd, &pd, &pdn));
	ASSERT_EQ(0, create_mkey(self->uv.fd, pdn, &mkey, &index));
	devx_start(&cmd, DEVX_QUERY_MKEY);
	devx_put(&cmd, 8, index);
	EXPECT_EQ(-EINVAL, devx_modify(self->uv.fd, mkey, &cmd));
	EXPECT_EQ(-EINVAL, devx_general(self->uv.fd, &cmd));
	EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle));
	devx_start(&cmd, DEVX_DEALLOC_PD);
	devx_put(&cmd, 8, pdn);
	EXPECT_EQ(-EINVAL, devx_modify(self->uv.fd, pd, &cmd));
	EXPECT_EQ(-EINVAL, devx_query(self->uv.fd, pd, &cmd));
	EXPECT_EQ(-EINVAL, devx_general(self->uv.fd, &cmd));
	EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle));
	/* Only the method for umems fills in the addresses; here the process would choose them. */
	devx_start(&cmd, DEVX_CREATE_UMEM);
	EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle));
	EXPECT_EQ(-EINVAL, devx_general(self->uv.fd, &cmd));
}

TEST_F(user, handles_of_verbs_and_of_devx_are_not_mixed_up)
{
	uint32_t devx_pd, devx_pdn, pd, pdn;
	struct uv_cq cq;

	ASSERT_EQ(0, create_pd(self->uv.fd, &devx_pd, &devx_pdn));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &pd, &pdn));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 31, &cq));
	EXPECT_GT(0, devx_destroy(self->uv.fd, pd));
	EXPECT_GT(0, devx_destroy(self->uv.fd, cq.handle));
	EXPECT_GT(0, devx_dereg_umem(self->uv.fd, devx_pd));
	EXPECT_GT(0, uv_dealloc_pd(self->uv.fd, devx_pd));
	EXPECT_EQ(0, uv_destroy_cq(self->uv.fd, &cq));
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, pd));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, devx_pd));
}

/* --- Commands that lie about their length --------------------------------------------------- */

TEST_F(user, short_commands_are_refused)
{
	static const uint16_t ops[] = { DEVX_CREATE_MKEY, DEVX_CREATE_CQ, DEVX_CREATE_QP };
	struct devx_cmd cmd;
	uint32_t handle;
	size_t i;

	/* mlx5_ib passes on commands that are too short. */
	for (i = 0; i < ARRAY_SIZE(ops) && driver_is("bluebell"); i++) {
		devx_start(&cmd, ops[i]);
		cmd.in_len = 16;
		EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle));
		cmd.in_len = 0x60;
		EXPECT_EQ(-EINVAL, devx_create(self->uv.fd, &cmd, &handle));
	}
	for (i = 0; i < 16; i++) {
		devx_start(&cmd, DEVX_ALLOC_PD);
		cmd.in_len = i;
		EXPECT_GT(0, devx_create(self->uv.fd, &cmd, &handle)) TH_LOG("%zu bytes", i);
		devx_start(&cmd, DEVX_ALLOC_PD);
		cmd.out_len = i;
		EXPECT_GT(0, devx_create(self->uv.fd, &cmd, &handle)) TH_LOG("%zu bytes", i);
	}
}

/*
 * The driver refuses a command or an answer that is longer than the memory mapped at its address.
 */
TEST_F(user, commands_and_answers_beyond_the_memory_of_the_process)
{
	uint8_t *page = mmap(NULL, 2 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	uint8_t *end = page + UV_PAGE;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, .flags = UVERBS_ATTR_F_MANDATORY },
	};

	ASSERT_NE(MAP_FAILED, page);
	munmap(end, UV_PAGE);
	memset(end - 16, 0, 16);
	end[-16] = DEVX_QUERY_HCA_CAP >> 8;
	end[-9] = 1;
	attrs[0].data = (uintptr_t)(end - 16);
	attrs[0].len = 0xffff;
	attrs[1].data = (uintptr_t)page;
	attrs[1].len = 1024;
	EXPECT_EQ(-EFAULT, uv_ioctl(self->uv.fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER,
				    attrs, 2));
	attrs[0].len = 16;
	attrs[1].data = (uintptr_t)(end - 64);
	attrs[1].len = 0xffff;
	EXPECT_EQ(-EFAULT, uv_ioctl(self->uv.fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER,
				    attrs, 2));
}

/* --- Objects of verbs ----------------------------------------------------------------------- */

FIXTURE(verbs) {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv_mem srq_mem;
	struct uv_srq srq;
};

FIXTURE_SETUP(verbs)
{
	struct mlx5_ib_create_srq drv = {};

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 31, &self->cq));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC, &self->qp));
	ASSERT_EQ(0, uv_mem_alloc(&self->srq_mem, 64 * 32));
	drv.buf_addr = (uintptr_t)self->srq_mem.buf;
	drv.db_addr = (uintptr_t)self->srq_mem.dbr;
	drv.uidx = uv_uidx();
	self->srq = (struct uv_srq){ .max_wr = 15, .max_sge = 1 };
	ASSERT_EQ(0, uv_create_srq(self->uv.fd, self->pd, &drv, sizeof(drv), &self->srq));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(verbs)
{
	if (!devx_has_user_ids())
		return;
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->uv);
}

static void start_rst2init(struct devx_cmd *cmd, uint32_t qpn, uint32_t st)
{
	devx_start(cmd, DEVX_RST2INIT_QP);
	devx_put(cmd, 8, qpn);
	devx_put(cmd, 0x18, st << 16 | 3 << 11);	/* pm_state: migrated */
	devx_put(cmd, 0x54, 1 << 16);			/* vhca_port_num */
}

static int query_state(int fd, uint32_t handle, uint32_t qpn)
{
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, qpn);
	ret = devx_query(fd, handle, &cmd);
	return ret ?: (int)(devx_get(&cmd, 0x18) >> 28);
}

TEST_F(verbs, queue_pair_can_be_queried_and_changed)
{
	struct devx_cmd cmd;
	uint32_t qpn = self->qp.qpn;
	int fd = self->uv.fd;

	EXPECT_EQ(STATE_RST, query_state(fd, self->qp.handle, qpn));
	start_rst2init(&cmd, qpn, 0);	/* RC */
	EXPECT_EQ(0, devx_modify(fd, self->qp.handle, &cmd)) TH_LOG("status 0x%x", cmd.out[0]);
	EXPECT_EQ(STATE_INIT, query_state(fd, self->qp.handle, qpn));
	devx_start(&cmd, DEVX_2RST_QP);
	devx_put(&cmd, 8, qpn);
	EXPECT_EQ(0, devx_modify(fd, self->qp.handle, &cmd));
	EXPECT_EQ(STATE_RST, query_state(fd, self->qp.handle, qpn));
	EXPECT_EQ(-EINVAL, query_state(fd, self->qp.handle, qpn + 1));
	EXPECT_EQ(-EINVAL, query_state(fd, self->cq.handle, qpn));
	EXPECT_EQ(-EINVAL, query_state(fd, self->pd, qpn));
}

TEST_F(verbs, queues_can_be_queried)
{
	struct devx_cmd cmd;
	int fd = self->uv.fd;

	devx_start(&cmd, DEVX_QUERY_CQ);
	devx_put(&cmd, 8, self->cq.cqn);
	EXPECT_EQ(0, devx_query(fd, self->cq.handle, &cmd));
	EXPECT_EQ(-EINVAL, devx_query(fd, self->qp.handle, &cmd));
	devx_start(&cmd, DEVX_QUERY_RMP);
	devx_put(&cmd, 8, self->srq.srqn);
	EXPECT_EQ(0, devx_query(fd, self->srq.handle, &cmd));
	EXPECT_EQ(-EINVAL, devx_query(fd, self->cq.handle, &cmd));
}

/*
 * A DEVX object (here an mkey) may use a protection domain that verbs allocated. Firmware refuses
 * DEALLOC_PD until the object is destroyed.
 */
TEST_F(verbs, domain_of_verbs_has_a_key_of_devx)
{
	uint32_t pd, pdn, mkey, index;

	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &pd, &pdn));
	ASSERT_EQ(0, create_mkey(self->uv.fd, pdn, &mkey, &index));
	ASSERT_EQ(0, hca_expect("refuse DEALLOC_PD BAD_RES_STATE_ERR 1"));
	EXPECT_GT(0, uv_dealloc_pd(self->uv.fd, pd));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, mkey));
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, pd));
}

/* --- What belongs to others ----------------------------------------------------------------- */

FIXTURE(others) {
	struct uv mine, theirs;
	uint32_t pd, pdn, mkey, index;
	uint32_t their_pd, their_pdn, their_mkey, their_index;
	struct uv_qp qp, their_qp;
};

FIXTURE_SETUP(others)
{
	struct uv_cq cq;
	uint32_t pd;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open_devx(&self->mine));
	ASSERT_EQ(0, uv_open_devx(&self->theirs));
	ASSERT_EQ(0, create_pd(self->mine.fd, &self->pd, &self->pdn));
	ASSERT_EQ(0, create_mkey(self->mine.fd, self->pdn, &self->mkey, &self->index));
	ASSERT_EQ(0, uv_alloc_pd(self->theirs.fd, &pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->theirs.fd, 31, &cq));
	ASSERT_EQ(0, uv_create_qp(self->theirs.fd, pd, cq.handle, IBV_QPT_RC, &self->their_qp));
	ASSERT_EQ(0, create_pd(self->theirs.fd, &self->their_pd, &self->their_pdn));
	ASSERT_EQ(0, create_mkey(self->theirs.fd, self->their_pdn, &self->their_mkey,
				 &self->their_index));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
}

FIXTURE_TEARDOWN(others)
{
	if (!devx_has_user_ids())
		return;
	/* The other user still has all objects. */
	EXPECT_EQ(STATE_RST, query_state(self->theirs.fd, self->their_qp.handle,
					 self->their_qp.qpn));
	EXPECT_EQ(0, query_mkey(self->theirs.fd, self->their_mkey, self->their_index));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&self->mine);
	uv_close(&self->theirs);
}

TEST_F(others, their_domain_is_not_for_my_key)
{
	struct devx_cmd cmd;
	uint32_t handle;
	int ret;

	ASSERT_EQ(0, hca_expect("refuse CREATE_MKEY BAD_RES_ERR 1"));
	devx_start_klm_mkey(&cmd, self->their_pdn);
	ret = devx_create(self->mine.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
}

TEST_F(others, their_numbers_do_not_go_with_my_handles)
{
	struct devx_cmd cmd;

	EXPECT_EQ(-EINVAL, query_mkey(self->mine.fd, self->mkey, self->their_index));
	EXPECT_EQ(-EINVAL, query_state(self->mine.fd, self->mkey, self->their_qp.qpn));
	devx_start(&cmd, DEVX_2ERR_QP);
	devx_put(&cmd, 8, self->their_qp.qpn);
	EXPECT_EQ(-EINVAL, devx_modify(self->mine.fd, self->mkey, &cmd));
	EXPECT_EQ(-EINVAL, devx_modify(self->mine.fd, self->pd, &cmd));
	EXPECT_EQ(-EINVAL, devx_general(self->mine.fd, &cmd));
}

/* A handle is valid only in the file in which it was created. */
TEST_F(others, their_handles_are_not_mine)
{
	struct devx_cmd cmd;
	uint32_t handle;

	/* The handles 0 and 1 are objects of this file; only the other file has more. */
	for (handle = 2; handle < 10; handle++) {
		EXPECT_EQ(-ENOENT, devx_destroy(self->mine.fd, handle));
		EXPECT_EQ(-ENOENT, query_mkey(self->mine.fd, handle, self->their_index));
		devx_start(&cmd, DEVX_2ERR_QP);
		devx_put(&cmd, 8, self->their_qp.qpn);
		EXPECT_EQ(-ENOENT, devx_modify(self->mine.fd, handle, &cmd));
	}
}

/* --- Rights --------------------------------------------------------------------------------- */

TEST(flow_tables_need_net_raw)
{
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;
	int ret;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the decision to firmware");
	/*
	 * Only a device with an Ethernet port has flow tables, and the emulated HCA gives none to
	 * processes.
	 */
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, hca_expect("refuse 0x930 %s 1",
				port_is_ethernet() ? "BAD_PARAM_ERR" : "BAD_OP_ERR"));
	devx_start(&cmd, DEVX_CREATE_FLOW_TABLE);
	ret = devx_create(uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	/* What counts is how privileged the process was when it opened the device. */
	ASSERT_EQ(0, drop_capability(CAP_NET_RAW));
	uv_close(&uv);
	ASSERT_EQ(0, uv_open_devx(&uv));
	devx_start(&cmd, DEVX_CREATE_FLOW_TABLE);
	EXPECT_EQ(-EPERM, devx_create(uv.fd, &cmd, &handle));
	uv_close(&uv);
}

/*
 * Create a general object of a type that the device does not have; true if the command has reached
 * firmware, which refuses it.
 */
static bool firmware_refuses_type(struct uv *uv, uint16_t type)
{
	struct devx_cmd cmd;
	uint32_t handle;

	if (hca_expect("refuse 0xa00 BAD_PARAM_ERR 1"))
		return false;
	devx_start(&cmd, DEVX_CREATE_GENERAL_OBJECT);
	devx_put(&cmd, 4, type);
	return devx_refused_by_firmware(&cmd, devx_create(uv->fd, &cmd, &handle));
}

/* RTC, STC and STE, the header modify argument and pattern, and the ASO of connection tracking. */
TEST(steering_objects_need_no_more_than_net_raw)
{
	static const uint16_t types[] = { 0x41, 0x40, 0x42, 0x23, 0x43, 0x18, 0x31 };
	struct uv uv;
	size_t i;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, drop_capability(CAP_SYS_RAWIO));
	ASSERT_EQ(0, uv_open_devx(&uv));
	for (i = 0; i < ARRAY_SIZE(types); i++)
		EXPECT_TRUE(firmware_refuses_type(&uv, types[i])) TH_LOG("type 0x%x", types[i]);
	uv_close(&uv);
}

/* These commands affect other users, whatever object they name. */
TEST(commands_with_effect_on_others_need_a_right)
{
	static const uint16_t opcodes[] = { 0xb10, 0xb12, 0xb16 };
	struct devx_cmd cmd;
	struct uv uv;
	size_t i;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the decision to firmware");
	ASSERT_EQ(0, drop_capability(CAP_NET_RAW));
	ASSERT_EQ(0, drop_capability(CAP_SYS_RAWIO));
	ASSERT_EQ(0, uv_open_devx(&uv));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		devx_start(&cmd, opcodes[i]);
		EXPECT_EQ(-EPERM, devx_general(uv.fd, &cmd)) TH_LOG("command 0x%x", opcodes[i]);
	}
	uv_close(&uv);
}

TEST(cq_on_an_apu_element_is_refused)
{
	uint32_t handle, eqn;
	struct devx_cmd cmd;
	struct uv uv;
	int ret;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	ASSERT_EQ(0, uv_open_devx(&uv));
	if (!driver_is("bluebell"))
		ASSERT_EQ(0, hca_expect("refuse 0x400 BAD_PARAM_ERR 1"));
	/*
	 * mlx5_core looks up the event queue before it sends the command, so give a valid number.
	 */
	ASSERT_EQ(0, devx_query_eqn(uv.fd, 0, &eqn));
	devx_start(&cmd, DEVX_CREATE_CQ);
	devx_put(&cmd, 0x10, 1 << 24);			/* apu_cq */
	devx_put(&cmd, 0x24, eqn);
	ret = devx_create(uv.fd, &cmd, &handle);
	/* mlx5_ib leaves the decision to firmware. */
	EXPECT_TRUE(driver_is("bluebell") ? ret == -EOPNOTSUPP :
					    devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	uv_close(&uv);
}

/* Bring a UD queue pair of verbs to INIT by a command of the process; returns as devx_modify(). */
static int init_with_qkey(struct uv *uv, uint32_t qkey)
{
	struct devx_cmd cmd;
	struct uv_cq cq;
	struct uv_qp qp;
	uint32_t pd;
	int ret;

	ret = uv_alloc_pd(uv->fd, &pd, NULL) ?: uv_create_cq(uv->fd, 31, &cq) ?:
	      uv_create_qp(uv->fd, pd, cq.handle, IBV_QPT_UD, &qp);
	if (ret)
		return ret;
	start_rst2init(&cmd, qp.qpn, 3);	/* UD */
	devx_put(&cmd, 0xc0, qkey);
	return devx_modify(uv->fd, qp.handle, &cmd);
}

/*
 * QP1 accepts packets with the Q_Key 0x80010000, and a receiver trusts the source QP number of a
 * packet. Verbs do not let an unprivileged process set either of them.
 */
TEST(speaking_as_qp1_needs_net_raw)
{
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the decision to firmware");
	ASSERT_EQ(0, uv_open_devx(&uv));
	EXPECT_EQ(0, init_with_qkey(&uv, 0x80010000));
	uv_close(&uv);
	ASSERT_EQ(0, drop_capability(CAP_NET_RAW));
	ASSERT_EQ(0, uv_open_devx(&uv));
	EXPECT_EQ(0, init_with_qkey(&uv, 0x7fffffff));
	EXPECT_EQ(-EPERM, init_with_qkey(&uv, 0x80010000));
	devx_start(&cmd, DEVX_CREATE_QP);
	devx_put(&cmd, 0x18, 3 << 16 | 3 << 11);
	devx_put(&cmd, 0x98, 1);			/* deth_sqpn */
	EXPECT_EQ(-EPERM, devx_create(uv.fd, &cmd, &handle));
	uv_close(&uv);
}

/*
 * A receiver trusts the source of a datagram. Whatever rights the process has, the device refuses a
 * queue pair of the process that would send as QP1.
 */
TEST(process_does_not_send_as_qp1)
{
	struct devx_queues q;
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv uv;
	void *mem;
	int ret;

	if (!devx_has_user_ids())
		SKIP(return, NO_USER_IDS);
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, devx_queues_prepare(uv.fd, mem, &q));
	ASSERT_EQ(0, devx_create_cq(uv.fd, &q));
	devx_start_qp(&q, &cmd);
	devx_put(&cmd, 0x18, 2 << 16 | 3 << 11);	/* UD, migrated */
	ASSERT_EQ(0, devx_create(uv.fd, &cmd, &handle));
	EXPECT_EQ(0, devx_destroy(uv.fd, handle));
	devx_put(&cmd, 0x98, 1);			/* deth_sqpn */
	ASSERT_EQ(0, hca_expect("refuse CREATE_QP BAD_PARAM_ERR 1"));
	ret = devx_create(uv.fd, &cmd, &handle);
	EXPECT_TRUE(devx_refused_by_firmware(&cmd, ret)) TH_LOG("%d", ret);
	EXPECT_EQ(0, devx_destroy(uv.fd, q.cq));
	EXPECT_EQ(0, devx_queues_release(uv.fd, &q));
	uv_close(&uv);
	munmap(mem, DEVX_QUEUES_BYTES);
}

/* A context without an id: firmware would take commands of the process for the kernel's. */
TEST(context_without_an_id_has_no_objects)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4, .max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
	};
	struct devx_umem umem = { .addr = (uintptr_t)&req & ~(UV_PAGE - 1), .len = UV_PAGE };
	struct devx_cmd cmd;
	uint32_t handle;
	struct uv_cq cq;
	struct uv uv;

	ASSERT_EQ(0, uv_open_req(&uv, &req));
	ASSERT_EQ(0, uv_create_cq(uv.fd, 31, &cq));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	devx_start(&cmd, DEVX_ALLOC_PD);
	EXPECT_GT(0, devx_create(uv.fd, &cmd, &handle));
	devx_start(&cmd, DEVX_QUERY_CQ);
	devx_put(&cmd, 8, cq.cqn);
	EXPECT_GT(0, devx_query(uv.fd, cq.handle, &cmd));
	EXPECT_GT(0, devx_reg_umem(uv.fd, &umem));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	uv_close(&uv);
}

TEST_F(user, event_queues_are_those_of_the_completion_vectors)
{
	uint32_t eqn, first;

	ASSERT_EQ(0, devx_query_eqn(self->uv.fd, 0, &first));
	EXPECT_NE(0, first);
	EXPECT_EQ(0, devx_query_eqn(self->uv.fd, 0, &eqn));
	EXPECT_EQ(first, eqn);
	/* mlx5_ib accepts a vector that has more than 16 bits. */
	if (driver_is("bluebell"))
		EXPECT_GT(0, devx_query_eqn(self->uv.fd, 0x10000, &eqn));
	EXPECT_GT(0, devx_query_eqn(self->uv.fd, 0xffffffff, &eqn));
}

TEST_HARNESS_MAIN
