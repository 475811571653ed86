// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device without hardware: it takes the place of the firmware, to which
 * the driver sends all commands by one function, and counts what is pinned.
 * ib_core pins memory as always, from an address space that KUnit gives the
 * test.
 */

#include <kunit/device.h>
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/lockdep.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <net/devlink.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "../../../../core/uverbs.h"
#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/internal_cq.h"
#include "lib/mkey.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"
#include "lib/share.h"
#include "lib/subscription.h"
#include "lib/umem.h"
#include "lib/umr.h"
#include "memory.h"
#include "mock.h"
#include "verbs/ucontext.h"

#define FIRST_NUMBER		0x100
#define EQN			11

static const struct {
	u16 create;
	u16 destroy;
} lifetimes[MOCK_NUM_KINDS] = {
	[MOCK_UCTX] = { MLX5_CMD_OP_CREATE_UCTX, MLX5_CMD_OP_DESTROY_UCTX },
	[MOCK_UAR] = { MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_DEALLOC_UAR },
	[MOCK_PD] = { MLX5_CMD_OP_ALLOC_PD, MLX5_CMD_OP_DEALLOC_PD },
	[MOCK_MKEY] = { MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_DESTROY_MKEY },
	[MOCK_CQ] = { MLX5_CMD_OP_CREATE_CQ, MLX5_CMD_OP_DESTROY_CQ },
	[MOCK_QP] = { MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_DESTROY_QP },
	[MOCK_RMP] = { MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_DESTROY_RMP },
	[MOCK_XRCD] = { MLX5_CMD_OP_ALLOC_XRCD, MLX5_CMD_OP_DEALLOC_XRCD },
	[MOCK_XRC_SRQ] = { MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_DESTROY_XRC_SRQ },
	[MOCK_XRQ] = { MLX5_CMD_OP_CREATE_XRQ, MLX5_CMD_OP_DESTROY_XRQ },
	[MOCK_UMEM] = { MLX5_CMD_OP_CREATE_UMEM, MLX5_CMD_OP_DESTROY_UMEM },
	[MOCK_TD] = {
		MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN,
	},
	[MOCK_TIS] = { MLX5_CMD_OP_CREATE_TIS, MLX5_CMD_OP_DESTROY_TIS },
	[MOCK_SQ] = { MLX5_CMD_OP_CREATE_SQ, MLX5_CMD_OP_DESTROY_SQ },
	[MOCK_RQ] = { MLX5_CMD_OP_CREATE_RQ, MLX5_CMD_OP_DESTROY_RQ },
	[MOCK_RQT] = { MLX5_CMD_OP_CREATE_RQT, MLX5_CMD_OP_DESTROY_RQT },
	[MOCK_TIR] = { MLX5_CMD_OP_CREATE_TIR, MLX5_CMD_OP_DESTROY_TIR },
};

/* ALLOC_UAR allocates a page of the host, and answers with the first UAR in it. */
static u32 free_uar(struct mock *mock)
{
	u32 number = ALIGN(mock->first_number, MOCK_PAGE_UARS);

	while (xa_load(&mock->live[MOCK_UAR], number))
		number += MOCK_PAGE_UARS;
	return number;
}

static void create_object(struct mock *mock, enum mock_kind kind, u16 uid, __be32 *out,
			  void *arg)
{
	u32 first = kind == MOCK_UAR ? free_uar(mock) : mock->first_number;
	u32 number;

	KUNIT_ASSERT_EQ(mock->test, 0, xa_alloc(&mock->live[kind], &number, xa_mk_value(uid),
						XA_LIMIT(first, 0xffffff),
						GFP_KERNEL | __GFP_NOFAIL));
	mock->num_live[kind]++;
	/* The answers of all these commands have the number of the object in the third dword. */
	out[2] = cpu_to_be32(number);
	/* mlx5_core keeps the number of a CQ, and the uid of its commands. */
	if (kind == MOCK_CQ) {
		struct mlx5_core_cq *mcq = arg;

		mcq->cqn = number;
		mcq->uid = uid;
		/* The reference that mlx5_core keeps if it cannot destroy the CQ. */
		refcount_set(&mcq->refcount, 1);
		init_completion(&mcq->free);
	}
}

/* The commands that answer with options of connection establishment, in their fourth dword. */
static bool grants_ece(u16 opcode)
{
	return opcode == MLX5_CMD_OP_CREATE_QP || opcode == MLX5_CMD_OP_INIT2INIT_QP ||
	       (opcode >= MLX5_CMD_OP_RST2INIT_QP && opcode <= MLX5_CMD_OP_RTS2RTS_QP);
}

/* Commands, besides those that destroy, whose third dword names an object. */
static const struct {
	u16 first;
	u16 last;
	enum mock_kind kind;
} naming[] = {
	{ MLX5_CMD_OP_QUERY_MKEY, MLX5_CMD_OP_QUERY_MKEY, MOCK_MKEY },
	{ MLX5_CMD_OP_QUERY_CQ, MLX5_CMD_OP_MODIFY_CQ, MOCK_CQ },
	{ MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2INIT_QP, MOCK_QP },
	{ MLX5_CMD_OP_QUERY_XRC_SRQ, MLX5_CMD_OP_ARM_XRC_SRQ, MOCK_XRC_SRQ },
	{ MLX5_CMD_OP_QUERY_XRQ, MLX5_CMD_OP_ARM_XRQ, MOCK_XRQ },
	{ MLX5_CMD_OP_MODIFY_RMP, MLX5_CMD_OP_MODIFY_RMP, MOCK_RMP },
	{ MLX5_CMD_OP_QUERY_RMP, MLX5_CMD_OP_QUERY_RMP, MOCK_RMP },
	{ MLX5_CMD_OP_MODIFY_SQ, MLX5_CMD_OP_MODIFY_SQ, MOCK_SQ },
	{ MLX5_CMD_OP_QUERY_SQ, MLX5_CMD_OP_QUERY_SQ, MOCK_SQ },
	{ MLX5_CMD_OP_MODIFY_RQ, MLX5_CMD_OP_MODIFY_RQ, MOCK_RQ },
	{ MLX5_CMD_OP_QUERY_RQ, MLX5_CMD_OP_QUERY_RQ, MOCK_RQ },
};

/* A user can name only objects of the same user id. Tests may make up numbers of objects. */
static void check_owner(struct mock *mock, u16 opcode, u16 uid, const __be32 *in)
{
	u32 number = be32_to_cpu(in[2]) & 0xffffff;
	void *owner;
	int i;

	for (i = 0; i < ARRAY_SIZE(naming); i++) {
		if (opcode < naming[i].first || opcode > naming[i].last)
			continue;
		owner = xa_load(&mock->live[naming[i].kind], number);
		if (owner)
			KUNIT_EXPECT_PTR_EQ_MSG(mock->test, owner, xa_mk_value(uid),
						"uid %u names object %u of kind %d", uid, number,
						naming[i].kind);
	}
}

/* Commands about the device, a port or a function, which the driver sends for itself. */
static const u16 of_the_driver[] = {
	MLX5_CMD_OP_ACCESS_REG,
	MLX5_CMD_OP_ALLOC_MEMIC,
	MLX5_CMD_OP_DEALLOC_MEMIC,
	MLX5_CMD_OP_MAD_IFC,
	MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT,
	MLX5_CMD_OP_MODIFY_MEMIC,
	MLX5_CMD_OP_PAGE_FAULT_RESUME,
	MLX5_CMD_OP_QUERY_ADAPTER,
	MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT,
	MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS,
	MLX5_CMD_OP_QUERY_VPORT_COUNTER,
	MLX5_CMD_OP_SET_ROCE_ADDRESS,
};

/* Firmware executes these commands without a user id, or for a user with rights that few have. */
static void check_user(struct mock *mock, u16 opcode, u16 uid)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(of_the_driver); i++)
		if (opcode == of_the_driver[i])
			KUNIT_EXPECT_EQ_MSG(mock->test, uid, MLX5_IB_KERNEL_UID,
					    "user of command %#x", opcode);
}

static int destroy_object(struct mock *mock, enum mock_kind kind, u16 uid, const __be32 *in)
{
	u32 number = be32_to_cpu(in[2]) & 0xffffff;
	void *object = xa_erase(&mock->live[kind], number);

	if (!object && number == mock->lost[kind])
		return mock->lose_destroy ? -ETIMEDOUT : -ENOENT;
	KUNIT_EXPECT_PTR_EQ_MSG(mock->test, object, xa_mk_value(uid),
				"uid %u has no object %u of kind %d", uid, number, kind);
	mock->num_live[kind]--;
	if (!mock->lose_destroy)
		return 0;
	mock->lost[kind] = number;
	return -ETIMEDOUT;
}

/**
 * mock_fw - takes the place of mlx5_ib_fw_exec_via()
 * @dev: device of a mock
 * @uid: user that the command is sent for
 * @in: the command
 * @in_size: bytes of @in
 * @out: the answer, zeroed
 * @out_size: bytes of @out
 * @send: not called
 * @arg: argument of @send
 *
 * A suite whose firmware does more calls this from a stub of its own.
 *
 * Return: 0; @refuse_err of the mock if the test wants this command to be refused; -ETIMEDOUT if it
 * wants the answer to be lost; or -ENOENT for an object that such a command has destroyed.
 */
int mock_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
	    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct mock *mock = kunit_get_current_test()->priv;
	u16 opcode = be32_to_cpu(*(__be32 *)in) >> 16;
	enum mock_kind kind;

	mock->opcode = opcode;
	memset(mock->in, 0, sizeof(mock->in));
	memcpy(mock->in, in, min_t(size_t, in_size, sizeof(mock->in)));
	KUNIT_EXPECT_EQ(mock->test, be32_to_cpu(*(__be32 *)in) & 0xffff, uid);
	check_owner(mock, opcode, uid, in);
	check_user(mock, opcode, uid);
	if (++mock->num_commands == mock->refuse)
		return mock->refuse_err;
	if (grants_ece(opcode))
		((__be32 *)out)[3] = cpu_to_be32(mock->ece);
	for (kind = 0; kind < MOCK_NUM_KINDS; kind++) {
		if (opcode == lifetimes[kind].create)
			create_object(mock, kind, uid, out, arg);
		if (opcode == lifetimes[kind].destroy) {
			if (mock->refuse_destroy)
				return mock->refuse_err;
			return destroy_object(mock, kind, uid, in);
		}
	}
	return 0;
}

/* Takes the place of mlx5_ib_umem_get(): pins and counts, or refuses. */
static struct ib_umem *mock_umem_get(struct mlx5_ib_dev *dev, u64 addr, u64 size, int access)
{
	struct mock *mock = kunit_get_current_test()->priv;

	if (mock->refuse_pin && !--mock->refuse_pin)
		return ERR_PTR(-ENOMEM);
	mock->num_pins++;
	return ib_umem_get_va(&dev->ib_dev, addr, size, access);
}

static void free_frags(struct mlx5_frag_buf *frags)
{
	int i;

	for (i = 0; i < frags->npages; i++)
		free_page((unsigned long)frags->frags[i].buf);
	kfree(frags->frags);
}

/* Takes the place of mlx5_ib_queue_mem_alloc(): pages that no device reaches. */
static int mock_queue_mem_alloc(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem, int size)
{
	struct mock *mock = kunit_get_current_test()->priv;
	struct mlx5_frag_buf *frags = &mem->buf.frags;
	int i;

	if (mock->refuse_queue_mem)
		return -ENOMEM;
	mock->num_queue_mems++;
	frags->npages = DIV_ROUND_UP(size, PAGE_SIZE);
	frags->page_shift = PAGE_SHIFT;
	frags->frags = kcalloc(frags->npages, sizeof(*frags->frags), GFP_KERNEL | __GFP_NOFAIL);
	for (i = 0; i < frags->npages; i++) {
		frags->frags[i].buf = (void *)get_zeroed_page(GFP_KERNEL | __GFP_NOFAIL);
		frags->frags[i].map = virt_to_phys(frags->frags[i].buf);
	}
	mem->db.db = (void *)get_zeroed_page(GFP_KERNEL | __GFP_NOFAIL);
	mem->db.dma = virt_to_phys(mem->db.db);
	mem->buf.geo.page_shift = frags->page_shift;
	return 0;
}

static void mock_queue_mem_free(struct mlx5_ib_dev *dev, struct mlx5_ib_queue_mem *mem)
{
	struct mock *mock = kunit_get_current_test()->priv;

	mock->num_queue_mems--;
	free_page((unsigned long)mem->db.db);
	free_frags(&mem->buf.frags);
}

static int mock_comp_eqn(struct mlx5_ib_dev *dev, u16 vector, int *eqn)
{
	*eqn = EQN + vector;
	return 0;
}

static void set_caps(struct kunit *test, struct mlx5_core_dev *mdev)
{
	static const enum mlx5_cap_type types[] = {
		MLX5_CAP_GENERAL, MLX5_CAP_ATOMIC, MLX5_CAP_ROCE, MLX5_CAP_ODP, MLX5_CAP_DEV_MEM,
		MLX5_CAP_DEV_EVENT, MLX5_CAP_GENERAL_2, MLX5_CAP_CRYPTO,
		MLX5_CAP_ETHERNET_OFFLOADS, MLX5_CAP_QOS, MLX5_CAP_FLOW_TABLE,
	};
	struct mlx5_hca_cap *general;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		mdev->caps.hca[types[i]] = kunit_kzalloc(test, sizeof(*general), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, mdev->caps.hca[types[i]]);
	}
	general = mdev->caps.hca[MLX5_CAP_GENERAL];
	MLX5_SET(cmd_hca_cap, general->cur, xrc, 1);
	MLX5_SET(cmd_hca_cap, general->cur, imaicl, 1);
	MLX5_SET(cmd_hca_cap, general->cur, uar_4k, 1);
	MLX5_SET(cmd_hca_cap, general->cur, bf, 1);
	MLX5_SET(cmd_hca_cap, general->cur, log_bf_reg_size, 9);
	MLX5_SET(cmd_hca_cap, general->cur, cqe_version, 1);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_cq_sz, 22);
	MLX5_SET(cmd_hca_cap, general->cur, cq_resize, 1);
	MLX5_SET(cmd_hca_cap, general->cur, cq_moderation, 1);
	MLX5_SET(cmd_hca_cap, general->cur, rc, 1);
	MLX5_SET(cmd_hca_cap, general->cur, uc, 1);
	MLX5_SET(cmd_hca_cap, general->cur, ud, 1);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_qp, 18);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_mkey, 24);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_qp_sz, 15);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_srq_sz, 15);
	MLX5_SET(cmd_hca_cap, general->cur, max_wqe_sz_sq, 1024);
	MLX5_SET(cmd_hca_cap, general->cur, max_wqe_sz_rq, 512);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_ra_req_qp, 4);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_ra_res_qp, 4);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_msg, 30);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_mrw_sz, 40);
	MLX5_SET(cmd_hca_cap, general->cur, num_ports, 1);
	MLX5_SET(cmd_hca_cap, general->cur, dump_fill_mkey, 1);
	MLX5_SET(cmd_hca_cap, general->cur, log_max_uctx, 10);
	MLX5_SET(cmd_hca_cap, general->cur, uctx_cap,
		 MLX5_UCTX_CAP_RAW_TX | MLX5_UCTX_CAP_INTERNAL_DEV_RES);
}

static void free_mdev(void *devlink)
{
	devlink_free(devlink);
}

/* Only a devlink that can be reloaded has parameters. No test reloads this devlink. */
static int reload_down(struct devlink *devlink, bool netns_change,
		       enum devlink_reload_action action, enum devlink_reload_limit limit,
		       struct netlink_ext_ack *extack)
{
	return -EOPNOTSUPP;
}

static int reload_up(struct devlink *devlink, enum devlink_reload_action action,
		     enum devlink_reload_limit limit, u32 *actions_performed,
		     struct netlink_ext_ack *extack)
{
	return -EOPNOTSUPP;
}

/* mlx5_core finds the devlink that an mdev lies in, and asks it for parameters. */
static struct mlx5_core_dev *make_mdev(struct kunit *test)
{
	static const struct devlink_ops ops = {
		.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
		.reload_down = reload_down,
		.reload_up = reload_up,
	};
	static atomic_t number;
	struct mlx5_core_dev *mdev;
	struct devlink *devlink;
	struct device *device;
	char name[32];

	/* A test may have several devices. */
	snprintf(name, sizeof(name), "bluebell-mock.%d", atomic_inc_return(&number));
	device = kunit_device_register(test, name);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, device);
	/* The device does no DMA itself, like the auxiliary device of a subfunction. */
	device->dma_mask = NULL;
	device->coherent_dma_mask = 0;
	devlink = devlink_alloc(&ops, sizeof(*mdev), device);
	KUNIT_ASSERT_NOT_NULL(test, devlink);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_mdev, devlink));
	mdev = devlink_priv(devlink);
	mdev->device = device;
	mdev->issi = 1;
	mdev->wc_state = MLX5_WC_STATE_SUPPORTED;
	mdev->priv.bfreg.up = kunit_kzalloc(test, sizeof(*mdev->priv.bfreg.up), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdev->priv.bfreg.up);
	set_caps(test, mdev);
	return mdev;
}

/**
 * mock_caps - capabilities without a device, for suites of pure functions
 * @test: the running test, which owns them
 *
 * They are those of a device that mock_create() makes; MOCK_SET_CAP() changes them.
 *
 * Return: the capabilities, never NULL.
 */
struct mlx5_ib_caps *mock_caps(struct kunit *test)
{
	struct mlx5_ib_caps *caps = kunit_kzalloc(test, sizeof(*caps), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, caps);
	mlx5_ib_read_caps(make_mdev(test), caps);
	return caps;
}

static void free_device(void *data)
{
	struct mlx5_ib_dev *dev = data;

	if (dev->events)
		mlx5_ib_cleanup_event_table(dev);
	mlx5_ib_cleanup_mkeys(dev);
	if (dev->users)
		mlx5_ib_cleanup_users(dev);
	ib_dealloc_device(&dev->ib_dev);
}

static struct mlx5_ib_dev *make_device(struct kunit *test)
{
	static struct lock_class_key tables_key;
	struct mlx5_ib_dev *dev = ib_alloc_device(mlx5_ib_dev, ib_dev);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_device, dev));
	mlx5_ib_init_mkeys(dev);
	mlx5_ib_init_contexts(dev);
	mlx5_ib_init_fw_attempts(dev);
	mlx5_ib_init_orphans(dev);
	/* Static stubs take effect in the test's own task only, and so not in this work item. */
	disable_delayed_work(&dev->orphans.retry);
	mutex_init(&dev->first_use);
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_event_table(dev));
	dev->mdev = make_mdev(test);
	/* mlx5_ib_init_users() does not limit the UARs of a subfunction, which has no BAR. */
	dev->mdev->coredev_type = MLX5_COREDEV_SF;
	KUNIT_ASSERT_EQ(test, 0, mlx5_ib_init_users(dev));
	dev->mdev->coredev_type = MLX5_COREDEV_PF;
	/* Firmware creates all keys, unless the suite has a device that executes UMRs. */
	MLX5_SET(cmd_hca_cap, dev->mdev->caps.hca[MLX5_CAP_GENERAL]->cur,
		 umr_modify_entity_size_disabled, 1);
	mlx5_ib_read_caps(dev->mdev, &dev->caps);
	/* The ib_device has no DMA device, so ib_core takes kernel addresses for DMA addresses. */
	dev->ib_dev.phys_port_cnt = 1;
	dev->dump_fill_mkey = 0x700;
	xa_init_flags(&dev->rsc_table.rscs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->kernel_qps, XA_FLAGS_LOCK_IRQ);
	/* Interrupts take these locks, unlike those of the other xarrays that this file sets up. */
	lockdep_set_class(&dev->rsc_table.rscs.xa_lock, &tables_key);
	lockdep_set_class(&dev->kernel_qps.xa_lock, &tables_key);
	return dev;
}

/**
 * mock_set_issi - set the step of the interface that mlx5_core and the device agreed on
 * @mock: device
 * @issi: step
 */
void mock_set_issi(struct mock *mock, u16 issi)
{
	mock->dev->mdev->issi = issi;
	mlx5_ib_read_caps(mock->dev->mdev, &mock->dev->caps);
}

/**
 * mock_set_ethernet - give a device an Ethernet port with both versions of RoCE and 255 addresses
 * @caps: struct mlx5_ib_caps of a mock
 */
void mock_set_ethernet(struct mlx5_ib_caps *caps)
{
	MOCK_SET_CAP(caps, roce, 1);
	MOCK_SET_ROCE_CAP(caps, roce_version, MLX5_ROCE_VERSION_1_CAP | MLX5_ROCE_VERSION_2_CAP);
	MOCK_SET_ROCE_CAP(caps, l3_type, MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP);
	MOCK_SET_ROCE_CAP(caps, roce_address_table_size, 256);
	MOCK_SET_ROCE_CAP(caps, sw_r_roce_src_udp_port, 1);
	MOCK_SET_ROCE_CAP(caps, r_roce_min_src_udp_port, 0xc000);
	MOCK_SET_ROCE_CAP(caps, r_roce_max_src_udp_port, 0xffff);
	caps->mdev->roce.reserved_gids.count = 1;
	MOCK_SET_CAP(caps, port_type, MLX5_CAP_PORT_TYPE_ETH);
}

/**
 * mock_set_raw_packets - give a device an Ethernet port with queues for raw packets
 * @caps: struct mlx5_ib_caps of a mock
 */
void mock_set_raw_packets(struct mlx5_ib_caps *caps)
{
	MOCK_SET_CAP(caps, port_type, MLX5_CAP_PORT_TYPE_ETH);
	MOCK_SET_CAP(caps, eth_net_offloads, 1);
	MOCK_SET_CAP(caps, nic_flow_table, 1);
	MOCK_SET_CAP(caps, log_max_transport_domain, 10);
	MOCK_SET_CAP(caps, log_max_sq, 10);
	MOCK_SET_CAP(caps, log_max_rq, 10);
	MOCK_SET_CAP(caps, log_max_tis, 10);
	MOCK_SET_CAP(caps, log_max_tir, 10);
	MOCK_SET_CAP(caps, log_max_rqt, 10);
	MOCK_SET_CAP(caps, log_max_rqt_size, 4);
	MOCK_SET_CAP(caps, log_max_wq_sz, 12);
}

/**
 * mock_set_kernel_queues - give a device the limits and the doorbell register that queues of kernel
 * consumers need
 * @mock: device
 */
void mock_set_kernel_queues(struct mock *mock)
{
	struct mlx5_ib_caps *caps = &mock->dev->caps;

	MOCK_SET_CAP(caps, log_max_qp_sz, 15);
	MOCK_SET_CAP(caps, max_wqe_sz_sq, 1024);
	MOCK_SET_CAP(caps, max_wqe_sz_rq, 512);
	MOCK_SET_CAP(caps, log_max_cq_sz, 10);
	mock->dev->mdev->priv.bfreg.map = (void __force __iomem *)mock->bell;
	mock->dev->mdev->priv.bfreg.up->map = (void __force __iomem *)mock->bell;
}

/**
 * mock_init_umr - create what the driver needs for UMRs, as the first registration does
 * @dev: device of a mock
 *
 * Return: 0 or an errno.
 */
int mock_init_umr(struct mlx5_ib_dev *dev)
{
	guard(mutex)(&dev->first_use);
	return mlx5_ib_init_umr(dev);
}

static void free_srcu(void *srcu)
{
	cleanup_srcu_struct(srcu);
}

/* What ib_uverbs looks at when it logs a bad request, or an answer that it could not copy. */
static struct ib_uverbs_file *make_file(struct kunit *test)
{
	struct ib_uverbs_device *device = kunit_kzalloc(test, sizeof(*device), GFP_KERNEL);
	struct ib_uverbs_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, device);
	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_EQ(test, 0, init_srcu_struct(&device->disassociate_srcu));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_srcu,
							   &device->disassociate_srcu));
	mutex_init(&file->umap_lock);
	file->device = device;
	return file;
}

static void free_live(void *data)
{
	struct mock *mock = data;
	int kind;

	for (kind = 0; kind < MOCK_NUM_KINDS; kind++)
		xa_destroy(&mock->live[kind]);
}

/**
 * mock_create - make a device without hardware, and put it in test->priv
 * @test: the running test, whose end frees everything
 *
 * Return: the mock, whose context is not open.
 */
struct mock *mock_create(struct kunit *test)
{
	struct mock *mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);
	int kind;

	KUNIT_ASSERT_NOT_NULL(test, mock);
	memory_watch(test);
	mock->test = test;
	mock->refuse_err = -EBUSY;
	mock->first_number = FIRST_NUMBER;
	for (kind = 0; kind < MOCK_NUM_KINDS; kind++)
		xa_init_flags(&mock->live[kind], XA_FLAGS_ALLOC);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_live, mock));

	mock->dev = make_device(test);
	mock->context = kunit_kzalloc(test, sizeof(*mock->context), GFP_KERNEL);
	mock->attrs = kunit_kzalloc(test, sizeof(*mock->attrs), GFP_KERNEL);
	mock->user = kunit_vm_mmap(test, NULL, 0, MOCK_USER_PAGES * PAGE_SIZE,
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NOT_NULL(test, mock->context);
	KUNIT_ASSERT_NOT_NULL(test, mock->attrs);
	KUNIT_ASSERT_NE(test, 0, mock->user);
	KUNIT_ASSERT_TRUE(test, mock->user < TASK_SIZE);

	INIT_LIST_HEAD(&mock->context->orphans);
	mock->context->ibucontext.device = &mock->dev->ib_dev;
	xa_init_flags(&mock->context->ibucontext.mmap_xa, XA_FLAGS_ALLOC);
	mock->attrs->ufile = make_file(test);
	mock->context->ibucontext.ufile = mock->attrs->ufile;
	mock->attrs->context = &mock->context->ibucontext;
	test->priv = mock;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, mock_fw);
	kunit_activate_static_stub(test, mlx5_ib_umem_get, mock_umem_get);
	kunit_activate_static_stub(test, mlx5_ib_comp_eqn, mock_comp_eqn);
	kunit_activate_static_stub(test, mlx5_ib_queue_mem_alloc, mock_queue_mem_alloc);
	kunit_activate_static_stub(test, mlx5_ib_queue_mem_free, mock_queue_mem_free);
	return mock;
}

/**
 * mock_give_user - give the context a user without privileges, for whom its objects count
 * @mock: device
 *
 * Return: the user's counts, by enum mlx5_ib_share_kind.
 */
atomic_t *mock_give_user(struct mock *mock)
{
	struct mlx5_ib_ucontext *context = mock->context;

	context->user = mlx5_ib_user_get(mock->dev, KUIDT_INIT(1000));
	KUNIT_ASSERT_NOT_NULL(mock->test, context->user);
	return context->user->count;
}

/**
 * mock_drop_user - end what mock_give_user() has begun
 * @mock: device
 */
void mock_drop_user(struct mock *mock)
{
	mlx5_ib_user_put(mock->context->user);
	mock->context->user = NULL;
}

/**
 * mock_enter - enter a call as ib_uverbs does
 * @mock: device
 *
 * Calls whose request or answer is bad need this: ib_uverbs logs them, under this lock.
 *
 * Return: what mock_leave() takes.
 */
int mock_enter(struct mock *mock)
{
	return srcu_read_lock(&mock->attrs->ufile->device->disassociate_srcu);
}

/**
 * mock_leave - leave a call
 * @mock: device
 * @idx: what mock_enter() gave
 */
void mock_leave(struct mock *mock, int idx)
{
	srcu_read_unlock(&mock->attrs->ufile->device->disassociate_srcu, idx);
}

/**
 * mock_udata - prepare the driver data of a call
 * @mock: device
 * @in: the request
 * @inlen: bytes of @in
 * @outlen: bytes that the caller has room for
 *
 * Request and answer lie in the user's memory.
 *
 * Return: the driver data, for the driver's function.
 */
struct ib_udata *mock_udata(struct mock *mock, const void *in, size_t inlen, size_t outlen)
{
	void __user *page = (void __user *)mock->user;

	KUNIT_ASSERT_EQ(mock->test, 0, copy_to_user(page, in, inlen));
	KUNIT_ASSERT_EQ(mock->test, 0, clear_user(page + PAGE_SIZE, PAGE_SIZE));
	mock->attrs->driver_udata = (struct ib_udata){
		.inbuf = page, .inlen = inlen, .outbuf = page + PAGE_SIZE, .outlen = outlen,
	};
	return &mock->attrs->driver_udata;
}

/**
 * mock_break_answer - have the next call copy its answer to an address that is not mapped
 * @mock: device, after mock_udata()
 */
void mock_break_answer(struct mock *mock)
{
	mock->attrs->driver_udata.outbuf = (void __user *)8;
}

/**
 * mock_read_answer - what the driver answered
 * @mock: device
 * @out: gets the answer
 * @len: bytes of @out
 */
void mock_read_answer(struct mock *mock, void *out, size_t len)
{
	KUNIT_ASSERT_EQ(mock->test, 0,
			copy_from_user(out, (void __user *)(mock->user + PAGE_SIZE), len));
}

/**
 * mock_dword - a dword of the last command
 * @mock: device
 * @offset: bytes from the start of the command
 *
 * Return: the dword.
 */
u32 mock_dword(const struct mock *mock, size_t offset)
{
	return be32_to_cpu(((const __be32 *)mock->in)[offset / 4]);
}

/**
 * mock_buffer - the user's memory for buffers and records
 * @mock: device
 * @page: number of the page, from 0
 *
 * Return: address of the page.
 */
unsigned long mock_buffer(struct mock *mock, unsigned int page)
{
	return mock->user + (MOCK_UDATA_PAGES + page) * PAGE_SIZE;
}

/**
 * mock_open - open the context, with 16 bfregs of which 4 are low latency
 * @mock: device
 */
void mock_open(struct mock *mock)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16,
		.num_low_latency_bfregs = 4,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
		.max_cqe_version = 1,
	};
	struct ib_udata *udata = mock_udata(mock, &req, sizeof(req),
					    sizeof(struct mlx5_ib_alloc_ucontext_resp));

	KUNIT_ASSERT_EQ(mock->test, 0,
			mlx5_ib_alloc_ucontext(&mock->context->ibucontext, udata));
	mock->num_commands = 0;
}

/**
 * mock_close - close the context and see that nothing is left
 * @mock: device, after mock_open()
 */
void mock_close(struct mock *mock)
{
	mlx5_ib_dealloc_ucontext(&mock->context->ibucontext);
	KUNIT_EXPECT_EQ(mock->test, mock_num_live(mock), 0);
	KUNIT_EXPECT_EQ(mock->test, mock_num_pinned(), 0);
}

/**
 * mock_static_uar - find a static UAR of the context
 * @mock: device, after mock_open()
 * @number: number of the UAR among those of the context, from 0
 *
 * Return: index of the UAR.
 */
u32 mock_static_uar(const struct mock *mock, u32 number)
{
	return mock->context->bfregi.sys_pages[number / MOCK_PAGE_UARS] + number % MOCK_PAGE_UARS;
}

/**
 * mock_num_live - objects that the firmware keeps
 * @mock: device
 *
 * Return: how many, of all kinds.
 */
unsigned int mock_num_live(struct mock *mock)
{
	unsigned int sum = 0;
	int kind;

	for (kind = 0; kind < MOCK_NUM_KINDS; kind++)
		sum += mock->num_live[kind];
	return sum;
}

/**
 * mock_num_pinned - pages that are pinned in the user's address space
 *
 * Return: how many, as ib_core counts them against RLIMIT_MEMLOCK.
 */
long mock_num_pinned(void)
{
	return atomic64_read(&current->mm->pinned_vm);
}
