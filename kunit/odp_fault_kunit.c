// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit suite of page faults: which memory is mapped, and how the fault is answered. The WQEs lie
 * in memory of a process or of the kernel.
 */

#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mlx5/qp.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <rdma/uverbs_ioctl.h>

#include "devx/devx_obj.h"
#include "fw/fw.h"
#include "layout/layout_klm.h"
#include "layout/layout_odp.h"
#include "lib/fail_alloc.h"
#include "lib/locks.h"
#include "lib/mkey.h"
#include "lib/mock_hca.h"
#include "lib/umr.h"
#include "odp/odp_fault.h"
#include "odp/odp_repeated.h"
#include "verbs/cq.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "verbs/ucontext.h"

/* Pages of the process. */
#define QP_BUF		0
#define RECORDS		1
#define REGION		4
#define REGION_PAGES	8

#define PDN		0x111
#define TOKEN		0xabcd
#define BYTES		100
/* No key has this number. */
#define UNKNOWN_KEY	0xabcd00
#define RQ_ENTRIES	4
#define RQ_SHIFT	6
#define SQ_ENTRIES	16

/**
 * struct env - a process with a queue pair and a paged region, none of whose pages is mapped
 * @mock: the device
 * @hca: the part of the device that executes UMRs
 * @pd: protection domain of the queue pair, and another one
 * @cq: completion queue of the queue pair
 * @qp: the queue pair
 * @mr: the region
 */
struct env {
	struct mock *mock;
	struct mock_hca *hca;
	struct mlx5_ib_pd pd[2];
	struct mlx5_ib_cq cq;
	struct mlx5_ib_qp qp;
	struct ib_mr *mr;
};

static void create_qp(struct kunit *test, struct env *env, u32 flags)
{
	struct mlx5_ib_create_qp ucmd = {
		.buf_addr = mock_buffer(env->mock, QP_BUF),
		.db_addr = mock_buffer(env->mock, RECORDS),
		.sq_wqe_count = SQ_ENTRIES, .rq_wqe_count = RQ_ENTRIES, .rq_wqe_shift = RQ_SHIFT,
		.flags = flags,
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .send_cq = &env->cq.ibcq, .recv_cq = &env->cq.ibcq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};

	env->qp.ibqp.device = &env->mock->dev->ib_dev;
	env->qp.ibqp.pd = &env->pd[0].ibpd;
	env->qp.ibqp.qp_type = IB_QPT_RC;
	KUNIT_ASSERT_EQ(test, 0,
			mlx5_ib_create_qp(&env->qp.ibqp, &init,
					  mock_udata(env->mock, &ucmd, sizeof(ucmd),
						     sizeof(struct mlx5_ib_create_qp_resp))));
}

/* The region is in the @pd-th protection domain, from 0. */
static struct env *make_env(struct kunit *test, u32 qp_flags, unsigned int pd)
{
	struct env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	unsigned long mem;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->mock = mock_create(test);
	env->hca = mock_hca_create(env->mock);
	MOCK_SET_CAP(&env->mock->dev->caps, wq_signature, 1);
	mock_hca_start(env->hca);
	mock_open(env->mock);
	for (i = 0; i < ARRAY_SIZE(env->pd); i++) {
		env->pd[i].ibpd.device = &env->mock->dev->ib_dev;
		env->pd[i].pdn = PDN + i;
	}
	env->cq.ibcq.device = &env->mock->dev->ib_dev;
	env->cq.cqe_size = 64;
	create_qp(test, env, qp_flags);
	mem = mock_buffer(env->mock, REGION);
	env->mr = mlx5_ib_odp_reg(&env->pd[pd].ibpd, mem, REGION_PAGES * PAGE_SIZE, mem,
				  IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	return env;
}

static struct odp_process *process_of(struct env *env)
{
	return container_of(env->mr, struct odp_mr, mr.ibmr)->process;
}

static void free_env(struct kunit *test, struct env *env)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&env->qp.ibqp, &env->mock->attrs->driver_udata),
			0);
	mlx5_ib_dealloc_ucontext(&env->mock->context->ibucontext);
}

/* Write a data segment that names @len bytes at the start of page @page of the region. */
static void put_data(struct kunit *test, struct env *env, size_t at, u32 len, u32 lkey,
		     unsigned int page)
{
	struct mlx5_wqe_data_seg seg = {
		.byte_count = cpu_to_be32(len),
		.lkey = cpu_to_be32(lkey),
		.addr = cpu_to_be64(mock_buffer(env->mock, REGION + page)),
	};

	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)(mock_buffer(env->mock, QP_BUF) + at), &seg,
				     sizeof(seg)));
}

/* The send queue follows the receive queue. Write a SEND of two data segments. */
static void post_send(struct kunit *test, struct env *env, u16 index, u32 lkey, u32 lkey2)
{
	size_t at = (RQ_ENTRIES << RQ_SHIFT) + index * MLX5_SEND_WQE_BB;
	struct mlx5_wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = cpu_to_be32(index << 8 | MLX5_OPCODE_SEND),
		.qpn_ds = cpu_to_be32(env->qp.rsc.num << 8 | 3),
	};

	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)(mock_buffer(env->mock, QP_BUF) + at), &ctrl,
				     sizeof(ctrl)));
	put_data(test, env, at + 16, BYTES, lkey, 0);
	put_data(test, env, at + 32, BYTES, lkey2, 2);
}

/* Give back a slot for which no fault waits. */
static void leave(struct kunit *test, struct odp_process *process)
{
	bool extra;

	mlx5_ib_odp_process_leave(process);
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_process_next(process, &extra));
	mlx5_ib_odp_process_put(process);
}

/* Have the driver resolve a fault, and expect whether the answer makes the work request fail. */
static void expect_answer_to(struct kunit *test, struct env *env, struct mlx5_ib_fault *fault,
			     bool error)
{
	const __be32 *in = (const __be32 *)env->mock->in;
	struct odp_process *slot = NULL;

	fault->taken = fault->taken ?: ktime_get();
	env->mock->num_commands = 0;
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(env->mock->dev->odp, fault, &slot));
	if (slot)
		leave(test, slot);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, env->mock->opcode, MLX5_CMD_OP_PAGE_FAULT_RESUME);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]), error << 31 | fault->type << 24 | fault->wq_num);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[3]), TOKEN);
}

/* Have the driver resolve a fault at a WQE of a queue, and expect its answer. */
static void expect_queue_answer(struct kunit *test, struct env *env, u32 num, u8 type, u16 index,
				bool error)
{
	struct mlx5_ib_fault fault = {
		.type = type, .wq_num = num, .token = TOKEN, .packet_len = BYTES,
		.wqe_index = index,
	};

	expect_answer_to(test, env, &fault, error);
}

static void expect_answer(struct kunit *test, struct env *env, u8 type, u16 index, bool error)
{
	expect_queue_answer(test, env, env->qp.rsc.num, type, index, error);
}

static void expect_send_answer(struct kunit *test, struct env *env, u16 index, bool error)
{
	expect_answer(test, env, MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, index, error);
}

/*
 * The process may change the keys of a WQE after the device has read them. The device reads them
 * again when the queue is resumed, so the driver answers with an error only the second time.
 */
static void list_without_a_paged_key_is_repeated_once(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);

	post_send(test, env, 3, UNKNOWN_KEY, UNKNOWN_KEY);
	post_send(test, env, 4, UNKNOWN_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 3, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	expect_send_answer(test, env, 3, true);
	/* The fault at another WQE is another fault. */
	expect_send_answer(test, env, 4, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	/* One paged key is enough, in whichever segment it is. */
	post_send(test, env, 5, UNKNOWN_KEY, env->mr->lkey);
	expect_send_answer(test, env, 5, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	free_env(test, env);
}

/* The device needs the bytes of the first segment only. */
static void list_with_a_later_key_of_another_domain_is_repeated_once(struct kunit *test)
{
	struct env *env = make_env(test, 0, 1);

	post_send(test, env, 3, UNKNOWN_KEY, env->mr->lkey);
	expect_send_answer(test, env, 3, false);
	expect_send_answer(test, env, 3, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

/* Make the last answers @ms older. */
static void age_answers(struct env *env, unsigned int ms)
{
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	unsigned int i;

	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++)
		odp->repeated[i].last = ktime_sub_ms(odp->repeated[i].last, ms);
}

/* A fault that is reported more than five seconds after the answer is not the same fault. */
static void fault_that_is_reported_late_is_a_new_one(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);

	post_send(test, env, 3, UNKNOWN_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 3, false);
	age_answers(env, 6000);
	expect_send_answer(test, env, 3, false);
	age_answers(env, 2000);
	expect_send_answer(test, env, 3, true);
	free_env(test, env);
}

/* Bytes that have been transferred, and bytes that the WQE itself carries, need no page. */
static void wqe_is_resolved_from_where_its_message_is(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	const size_t at = (RQ_ENTRIES << RQ_SHIFT) + MLX5_SEND_WQE_BB;
	const struct mlx5_wqe_inline_seg copied = {
		.byte_count = cpu_to_be32(MLX5_INLINE_SEG | 20),
	};
	const struct mlx5_wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = cpu_to_be32(1 << 8 | MLX5_OPCODE_SEND),
		.qpn_ds = cpu_to_be32(env->qp.rsc.num << 8 | 4),
	};
	struct mlx5_ib_fault fault = {
		.type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, .wq_num = env->qp.rsc.num,
		.token = TOKEN, .packet_len = BYTES, .committed = BYTES,
	};
	void __user *wqe = (void __user *)(mock_buffer(env->mock, QP_BUF) + at);

	/* All of the first segment has been sent. */
	post_send(test, env, 0, env->mr->lkey, env->mr->lkey);
	expect_answer_to(test, env, &fault, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION + 2)), 0);

	/* 20 inline bytes in the WQE, then a data segment whose page the process has unmapped. */
	KUNIT_ASSERT_EQ(test, copy_to_user(wqe, &ctrl, sizeof(ctrl)), 0);
	KUNIT_ASSERT_EQ(test, copy_to_user(wqe + 16, &copied, sizeof(copied)), 0);
	put_data(test, env, at + 48, BYTES, env->mr->lkey, 5);
	KUNIT_ASSERT_EQ(test, vm_munmap(mock_buffer(env->mock, REGION + 5), PAGE_SIZE), 0);
	fault.wqe_index = 1;
	fault.committed = 0;
	fault.packet_len = 20;
	expect_answer_to(test, env, &fault, false);
	fault.packet_len = 21;
	expect_answer_to(test, env, &fault, true);
	/* An event that names no bytes is of the first byte. */
	put_data(test, env, (RQ_ENTRIES << RQ_SHIFT) + 16, BYTES, env->mr->lkey, 5);
	fault.wqe_index = 0;
	fault.packet_len = 0;
	expect_answer_to(test, env, &fault, true);
	free_env(test, env);
}

static void key_of_another_domain_maps_no_page(struct kunit *test)
{
	struct env *env = make_env(test, 0, 1);

	post_send(test, env, 0, env->mr->lkey, UNKNOWN_KEY);
	expect_send_answer(test, env, 0, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	/* A segment that the device does not need yet does not make the request fail. */
	post_send(test, env, 1, UNKNOWN_KEY, env->mr->lkey);
	expect_send_answer(test, env, 1, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

static void key_of_its_domain_maps_its_pages(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);

	post_send(test, env, 0, env->mr->lkey, env->mr->lkey);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 2);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION)), 0);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION + 2)), 0);
	free_env(test, env);
}

/*
 * The user may have no further key, so the driver creates none for the table that the fault needs.
 */
static void fault_that_needs_one_key_too_many_fails(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_ucontext *context = env->mock->context;
	struct ib_uobject uobj = { .context = &context->ibucontext };
	u32 *limit = &env->mock->dev->users->limit[MLX5_IB_SHARE_MKEY];

	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	context->unlimited = false;
	env->pd[0].ibpd.uobject = &uobj;
	env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, 0, U64_MAX, 0,
				  IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	*limit = atomic_read(&context->user->count[MLX5_IB_SHARE_MKEY]);
	KUNIT_EXPECT_EQ(test, *limit, 1);
	post_send(test, env, 0, env->mr->lkey, UNKNOWN_KEY);
	expect_send_answer(test, env, 0, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&context->user->count[MLX5_IB_SHARE_MKEY]), 1);
	free_env(test, env);
}

/* Have the process map other memory in place of the first page of the region. */
static void replace_page(struct kunit *test, struct env *env, unsigned long prot)
{
	unsigned long mem = mock_buffer(env->mock, REGION);

	KUNIT_ASSERT_EQ(test, vm_mmap(NULL, mem, PAGE_SIZE, prot,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), mem);
}

/* ---- indirect mkeys --------------------------------------------------------------------- */

#define TABLE_KEY	0x765400
#define TABLE_UID	0x5a
#define TABLE_ENTRIES	4
#define LONG_TABLE	200

/* A key of a process, with a table of other keys. */
#define TABLE_OF(entries) \
	{ .mkey.key = TABLE_KEY, .mkey.uid = TABLE_UID, .num_entries = (entries) }

/* What firmware answers to QUERY_MKEY about the key @index, and how often it was asked. */
static struct {
	u32 index;
	u32 pdn;
	u64 start;
	u64 len;
	unsigned int entries;
	struct mlx5_klm klm[LONG_TABLE];
	unsigned int queries;
	int err;
} table;

static int table_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	size_t bytes = out_size - MLX5_BYTE_OFF(query_mkey_out, bsf0_klm0_pas_mtt0_1);
	void *mkc = MLX5_ADDR_OF(query_mkey_out, out, memory_key_mkey_entry);
	struct kunit *test = kunit_get_current_test();

	if (MLX5_GET(query_mkey_in, in, opcode) != MLX5_CMD_OP_QUERY_MKEY)
		return mock_fw(dev, uid, in, in_size, out, out_size, send, arg);
	table.queries++;
	KUNIT_EXPECT_EQ(test, MLX5_GET(query_mkey_in, in, mkey_index), table.index);
	/* Firmware lets a process read keys of its own only. */
	KUNIT_EXPECT_EQ(test, uid, TABLE_UID);
	KUNIT_ASSERT_LE(test, bytes, table.entries * sizeof(*table.klm));
	/* A short table is read at once. */
	if (table.entries == TABLE_ENTRIES)
		KUNIT_EXPECT_EQ(test, bytes, TABLE_ENTRIES * sizeof(*table.klm));
	if (table.err)
		return table.err;
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
	MLX5_SET(mkc, mkc, pd, table.pdn);
	MLX5_SET64(mkc, mkc, start_addr, table.start);
	MLX5_SET64(mkc, mkc, len, table.len);
	memcpy(MLX5_ADDR_OF(query_mkey_out, out, bsf0_klm0_pas_mtt0_1), table.klm, bytes);
	return 0;
}

static void set_entry(struct env *env, unsigned int i, u32 len, u32 key, unsigned int page)
{
	table.klm[i] = (struct mlx5_klm){
		.bcount = cpu_to_be32(len), .key = cpu_to_be32(key),
		.va = cpu_to_be64(mock_buffer(env->mock, REGION + page)),
	};
}

/* Firmware has a key of a process, in domain @pdn, with a table of other keys. */
static void set_table(struct kunit *test, struct env *env, u32 pdn)
{
	memset(&table, 0, sizeof(table));
	table.index = mlx5_mkey_to_idx(TABLE_KEY);
	table.pdn = pdn;
	table.entries = TABLE_ENTRIES;
	table.start = mock_buffer(env->mock, REGION);
	table.len = BYTES;
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, table_fw);
}

/* Enter the key, as made by the process of the region, into the driver's table of keys. */
static void adopt_table(struct kunit *test, struct env *env, struct mlx5_ib_table_key *key)
{
	key->process = process_of(env);
	KUNIT_ASSERT_EQ(test, mlx5_ib_mkey_adopt(env->mock->dev, &key->mkey), 0);
}

static void destroy_table(struct mlx5_ib_dev *dev, struct mlx5_ib_table_key *key)
{
	mlx5_ib_mkey_disown(dev, &key->mkey);
	mlx5_ib_mkey_disowned(dev, &key->mkey, false);
}

/* The pieces of the key are in pages 3 and 5 of the region. */
static void table_of_keys_leads_to_its_pages(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;

	set_table(test, env, PDN);
	set_entry(env, 0, 10, env->mr->lkey, 3);
	set_entry(env, 1, BYTES - 10, env->mr->lkey, 5);
	post_send(test, env, 0, TABLE_KEY, UNKNOWN_KEY);
	/* UNKNOWN_KEY does not exist yet. */
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	adopt_table(test, env, &key);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, table.queries, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 2);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION + 3)), 0);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION + 5)), 0);
	destroy_table(dev, &key);
	free_env(test, env);
}

/*
 * The first 64 entries do not cover what the device needs, so the driver reads the table again,
 * this time all of it. The range has more pieces than the driver copies at a time, so it reads the
 * table in these two steps again for the rest of the range.
 */
static void long_table_of_keys_is_read_as_far_as_needed(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(LONG_TABLE);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	unsigned int i;

	set_table(test, env, PDN);
	table.entries = LONG_TABLE;
	for (i = 0; i < BYTES - 20; i++)
		set_entry(env, i, 1, env->mr->lkey, 3);
	set_entry(env, i, 20, env->mr->lkey, 5);
	post_send(test, env, 0, TABLE_KEY, UNKNOWN_KEY);
	adopt_table(test, env, &key);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, table.queries, 4);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 2);
	destroy_table(dev, &key);
	free_env(test, env);
}

/* The most data segments of a WQE: with the control segment they are 63 units of 16 bytes. */
#define MAX_SEGMENTS	62

/*
 * A table that refers to itself twice takes seven queries: one, and two on each of three deeper
 * levels. All data segments of a WQE name the table, and the device needs all segments.
 */
static void segments_of_a_wqe_share_the_tables_of_a_fault(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct mlx5_ib_fault fault = {
		.type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, .wq_num = env->qp.rsc.num,
		.token = TOKEN, .packet_len = MAX_SEGMENTS * BYTES,
	};
	size_t at = RQ_ENTRIES << RQ_SHIFT;
	struct mlx5_wqe_ctrl_seg ctrl = {
		.opmod_idx_opcode = cpu_to_be32(MLX5_OPCODE_SEND),
		.qpn_ds = cpu_to_be32(env->qp.rsc.num << 8 | (MAX_SEGMENTS + 1)),
	};
	unsigned int i;

	set_table(test, env, PDN);
	set_entry(env, 0, BYTES / 2, TABLE_KEY, 0);
	set_entry(env, 1, BYTES / 2, TABLE_KEY, 0);
	MOCK_SET_CAP(&dev->caps, max_indirection, 4);
	adopt_table(test, env, &key);
	KUNIT_ASSERT_EQ(test, 0,
			copy_to_user((void __user *)(mock_buffer(env->mock, QP_BUF) + at), &ctrl,
				     sizeof(ctrl)));
	for (i = 0; i < MAX_SEGMENTS; i++)
		put_data(test, env, at + 16 + i * 16, BYTES, TABLE_KEY, 0);
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, table.queries, MLX5_IB_ODP_MAX_TABLES);
	destroy_table(dev, &key);
	free_env(test, env);
}

static void table_of_keys_that_leads_nowhere_maps_no_page(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;

	set_table(test, env, PDN + 1);
	adopt_table(test, env, &key);
	/* A table of a domain that is not the queue pair's. */
	set_entry(env, 0, BYTES, env->mr->lkey, 3);
	post_send(test, env, 1, TABLE_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 1, true);
	/* A table that refers to memory that is not paged. */
	table.pdn = PDN;
	set_entry(env, 0, BYTES, UNKNOWN_KEY, 3);
	post_send(test, env, 2, TABLE_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 2, false);
	expect_send_answer(test, env, 2, true);
	/* A table that refers to itself. */
	table.klm[0].key = cpu_to_be32(TABLE_KEY);
	table.klm[0].va = cpu_to_be64(table.start);
	post_send(test, env, 3, TABLE_KEY, UNKNOWN_KEY);
	MOCK_SET_CAP(&dev->caps, max_indirection, 4);
	table.queries = 0;
	expect_send_answer(test, env, 3, false);
	KUNIT_EXPECT_EQ(test, table.queries, 4);
	/* Firmware does not answer. */
	table.err = -EIO;
	post_send(test, env, 4, TABLE_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 4, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	destroy_table(dev, &key);
	free_env(test, env);
}

/* The region is in the domain of the table, and the queue pair in another one. */
static void table_of_keys_of_another_domain_maps_no_page(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 1);
	struct mlx5_ib_dev *dev = env->mock->dev;

	set_table(test, env, env->pd[1].pdn);
	set_entry(env, 0, BYTES, env->mr->lkey, 0);
	adopt_table(test, env, &key);
	post_send(test, env, 0, TABLE_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 0, true);
	KUNIT_EXPECT_EQ(test, table.queries, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	destroy_table(dev, &key);
	free_env(test, env);
}

/* The table refers to itself. The driver follows as many levels as the device has, up to eight. */
static void tables_are_followed_as_deep_as_the_device_goes(struct kunit *test)
{
	static const struct {
		u8 levels;
		unsigned int queries;
	} cases[] = { { 0, 1 }, { 1, 1 }, { 5, 5 }, { 8, 8 }, { 9, 8 }, { 255, 8 } };
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	unsigned int i;

	set_table(test, env, PDN);
	set_entry(env, 0, BYTES, TABLE_KEY, 0);
	adopt_table(test, env, &key);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		MOCK_SET_CAP(&dev->caps, max_indirection, cases[i].levels);
		post_send(test, env, i, TABLE_KEY, UNKNOWN_KEY);
		table.queries = 0;
		expect_send_answer(test, env, i, false);
		KUNIT_EXPECT_EQ_MSG(test, table.queries, cases[i].queries, "%u levels",
				    cases[i].levels);
	}
	destroy_table(dev, &key);
	free_env(test, env);
}

/* The device has checked the domain of a remote key, but the table may have changed since then. */
static void table_leads_to_no_region_of_another_domain(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 1);
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA, .wq_num = 0x99,
		.token = TOKEN, .packet_len = BYTES, .op_len = BYTES, .key = TABLE_KEY,
		.va = mock_buffer(env->mock, REGION),
	};

	set_table(test, env, PDN);
	set_entry(env, 0, BYTES, env->mr->lkey, 0);
	adopt_table(test, env, &key);
	post_send(test, env, 0, TABLE_KEY, UNKNOWN_KEY);
	expect_send_answer(test, env, 0, true);
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	/*
	 * A remote key may be in any domain, if the region that its table refers to is in the same
	 * domain.
	 */
	table.pdn = env->pd[1].pdn;
	expect_answer_to(test, env, &fault, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	destroy_table(dev, &key);
	free_env(test, env);
}

static int count_piece(struct odp_mr *mr, const struct odp_want *want, void *count)
{
	++*(unsigned int *)count;
	return 0;
}

static int pass_table(struct odp_process *process, const struct odp_want *want, void *count)
{
	return 0;
}

static const struct odp_visitor counting_visitor = {
	.table = pass_table, .region = count_piece,
};

/*
 * The device needs the first byte of a range. Each further byte refers to the table once more,
 * whose entry refers to the region. The driver looks ahead at 64 pieces: 32 that refer to the
 * table, and for each of these the piece of the region.
 */
static void what_is_not_needed_yet_is_looked_at_in_part(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(LONG_TABLE);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	const struct odp_want want = {
		.key = TABLE_KEY, .pdn = PDN, .addr = mock_buffer(env->mock, REGION), .len = BYTES,
		.need = 1,
	};
	struct odp_budget budget = MLX5_IB_ODP_BUDGET;
	unsigned int i, count = 0;

	set_table(test, env, PDN);
	table.entries = LONG_TABLE;
	set_entry(env, 0, 1, env->mr->lkey, 3);
	for (i = 1; i < LONG_TABLE; i++)
		set_entry(env, i, 1, TABLE_KEY, 0);
	adopt_table(test, env, &key);
	KUNIT_EXPECT_EQ(test, 1, mlx5_ib_odp_for_each_region(dev->odp, &want, &budget,
							     &counting_visitor, &count));
	KUNIT_EXPECT_EQ(test, count, 1 + 32);
	KUNIT_EXPECT_EQ(test, table.queries, 1 + 32);
	destroy_table(dev, &key);
	free_env(test, env);
}

/* Fails for a piece that the device does not need yet. */
static int refuse_ahead(struct odp_mr *mr, const struct odp_want *want, void *count)
{
	++*(unsigned int *)count;
	return want->need ? 0 : -EFAULT;
}

static int refuse_needed(struct odp_mr *mr, const struct odp_want *want, void *count)
{
	++*(unsigned int *)count;
	return want->need ? -EPERM : 0;
}

/*
 * A table of four pieces of 25 bytes takes MLX5_IB_KLM_QUERY_BYTES(4) bytes and 4 entries of the
 * budget.
 */
static const struct budget_case {
	const char *name;
	struct odp_budget budget;
	u64 need;
	int (*region)(struct odp_mr *mr, const struct odp_want *want, void *count);
	int ret;
	unsigned int queries, pieces;
} budget_cases[] = {
	{ "just enough", { 1, MLX5_IB_KLM_QUERY_BYTES(4), 4, 0 }, BYTES, count_piece, 1, 1, 4 },
	{ "no table", { 0, SZ_4M, 100, 64 }, BYTES, count_piece, -ELOOP, 0, 0 },
	{ "a byte too few", { 1, MLX5_IB_KLM_QUERY_BYTES(4) - 1, 4, 0 }, BYTES, count_piece,
	  -ELOOP, 0, 0 },
	{ "an entry too few", { 1, SZ_4M, 3, 64 }, BYTES, count_piece, 1, 1, 3 },
	{ "nothing ahead", { 1, SZ_4M, 100, 0 }, 1, count_piece, 1, 1, 1 },
	{ "a piece ahead", { 1, SZ_4M, 100, 1 }, 26, count_piece, 1, 1, 3 },
	{ "a failure ahead", { 1, SZ_4M, 100, 64 }, 1, refuse_ahead, 1, 1, 2 },
	{ "a failure", { 1, SZ_4M, 100, 64 }, 1, refuse_needed, -EPERM, 1, 1 },
};

KUNIT_ARRAY_PARAM_DESC(budget, budget_cases, name);

static void walk_keeps_to_its_budget(struct kunit *test)
{
	const struct budget_case *c = test->param_value;
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	const struct odp_visitor visitor = { .table = pass_table, .region = c->region };
	struct odp_budget budget = c->budget;
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	const struct odp_want want = {
		.key = TABLE_KEY, .pdn = PDN, .addr = mock_buffer(env->mock, REGION), .len = BYTES,
		.need = c->need,
	};
	unsigned int i, count = 0;

	set_table(test, env, PDN);
	for (i = 0; i < TABLE_ENTRIES; i++)
		set_entry(env, i, BYTES / TABLE_ENTRIES, env->mr->lkey, i);
	adopt_table(test, env, &key);
	KUNIT_EXPECT_EQ(test, c->ret, mlx5_ib_odp_for_each_region(dev->odp, &want, &budget,
								  &visitor, &count));
	KUNIT_EXPECT_EQ(test, table.queries, c->queries);
	KUNIT_EXPECT_EQ(test, count, c->pieces);
	destroy_table(dev, &key);
	free_env(test, env);
}

static struct mlx5_ib_devx_obj *create_devx_table(struct mock *mock)
{
	u32 out[MLX5_ST_SZ_DW(create_mkey_out)] = {};
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
	MLX5_SET(mkc, mkc, translations_octword_size, TABLE_ENTRIES);
	return mlx5_ib_devx_create_obj(mock->context, in, sizeof(in), out, sizeof(out));
}

/*
 * A process can go on using a key that firmware has refused to destroy. If the command was not
 * answered, the number may be that of another user's key by now, so the key translates to nothing.
 */
static void key_over_keys_that_firmware_keeps_leads_to_its_pages(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mock *mock = env->mock;
	struct mlx5_ib_devx_obj *obj;
	unsigned int refs;

	mock->context->uid = TABLE_UID;
	set_table(test, env, PDN);
	set_entry(env, 0, BYTES, env->mr->lkey, 0);
	refs = refcount_read(&process_of(env)->refs);
	obj = create_devx_table(mock);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	/* The slots of the process bound how many faults read the table. */
	KUNIT_EXPECT_PTR_EQ(test, container_of(obj, struct mlx5_ib_devx_key, obj)->key.process,
			    process_of(env));
	KUNIT_EXPECT_EQ(test, refcount_read(&process_of(env)->refs), refs + 1);
	table.index = obj->id.num;
	post_send(test, env, 0, mlx5_idx_to_mkey(table.index), UNKNOWN_KEY);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);

	mock->refuse_destroy = true;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -EBUSY);
	replace_page(test, env, PROT_READ | PROT_WRITE);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	post_send(test, env, 1, mlx5_idx_to_mkey(table.index), UNKNOWN_KEY);
	expect_send_answer(test, env, 1, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);

	mock->refuse_err = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), -ETIMEDOUT);
	replace_page(test, env, PROT_READ | PROT_WRITE);
	table.queries = 0;
	post_send(test, env, 2, mlx5_idx_to_mkey(table.index), UNKNOWN_KEY);
	expect_send_answer(test, env, 2, false);
	KUNIT_EXPECT_EQ(test, table.queries, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);

	mock->refuse_destroy = false;
	KUNIT_EXPECT_EQ(test, mlx5_ib_devx_destroy_obj(obj, false), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&process_of(env)->refs), refs);
	mock->context->uid = 0;
	free_env(test, env);
}

/* The first 16 bytes of a receive WQE are a data segment or a signature. */
static const struct recv_case {
	const char *name;
	u32 flags;
	size_t first;
} recv_cases[] = {
	{ "data", 0, 0 },
	{ "a signature", MLX5_QP_FLAG_SIGNATURE, 16 },
};

KUNIT_ARRAY_PARAM_DESC(recv, recv_cases, name);

static void receive_list_starts_behind_the_signature(struct kunit *test)
{
	const struct recv_case *c = test->param_value;
	struct env *env = make_env(test, c->flags, 0);
	size_t at = 2 << RQ_SHIFT;

	/* If this were a data segment, its key would end the list. */
	put_data(test, env, at, 0, 0x100, 7);
	put_data(test, env, at + c->first, BYTES, env->mr->lkey, 3);
	put_data(test, env, at + c->first + 16, 0, 0x100, 7);
	expect_answer(test, env, MLX5_WQE_PF_TYPE_RESP, 2, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	/* The device writes to the page that a receive request names. */
	KUNIT_EXPECT_EQ(test, mock_hca_translate(env->hca, env->mr->lkey,
						 mock_buffer(env->mock, REGION + 3)) &
			      (MLX5_EN_RD | MLX5_EN_WR), MLX5_EN_RD | MLX5_EN_WR);
	free_env(test, env);
}

/* ---- faults at remote keys -------------------------------------------------------------- */

/* More reports of a fault than the driver answers without an error. */
#define REPEATS		20
/* Twice what a fault maps. */
#define LARGE		(2 * MLX5_IB_ODP_FAULT_AROUND)

/* Replace the region by one that allows @access. */
static void register_again(struct kunit *test, struct env *env, u32 access)
{
	unsigned long mem = mock_buffer(env->mock, REGION);

	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, mem, REGION_PAGES * PAGE_SIZE, mem,
				  IB_ACCESS_ON_DEMAND | access);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
}

/*
 * Have the driver resolve a fault of an RDMA READ of a page of the region. The driver has taken the
 * event of the fault at @taken or, if @taken is 0, now.
 */
static void expect_read_answer(struct kunit *test, struct env *env, ktime_t taken, bool error)
{
	static u32 num;
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA, .wq_num = ++num,
		.token = TOKEN, .packet_len = BYTES, .op_len = BYTES, .key = env->mr->rkey,
		.va = mock_buffer(env->mock, REGION), .taken = taken,
	};

	expect_answer_to(test, env, &fault, error);
}

static bool is_writable(struct env *env)
{
	return mock_hca_translate(env->hca, env->mr->rkey, mock_buffer(env->mock, REGION)) &
	       MLX5_EN_WR;
}

/* Replace the region by one of LARGE bytes. Returns its address. */
static u64 register_large(struct kunit *test, struct env *env)
{
	u64 mem = kunit_vm_mmap(test, NULL, 0, LARGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_NE(test, mem, 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, mem, LARGE, mem,
				  IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	return mem;
}

/* An operation at a key whose pieces are all shorter than what a fault maps. */
static void pieces_of_a_fault_are_bounded_altogether(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	u64 mem = register_large(test, env);
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA, .token = TOKEN,
		.packet_len = BYTES, .op_len = LARGE, .key = TABLE_KEY, .va = mem,
	};
	const u32 piece = LARGE / TABLE_ENTRIES;
	unsigned int i;

	set_table(test, env, PDN);
	table.start = mem;
	table.len = LARGE;
	for (i = 0; i < TABLE_ENTRIES; i++)
		table.klm[i] = (struct mlx5_klm){
			.bcount = cpu_to_be32(piece), .key = cpu_to_be32(env->mr->lkey),
			.va = cpu_to_be64(mem + i * piece),
		};
	adopt_table(test, env, &key);
	expect_answer_to(test, env, &fault, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), LARGE / 2 / PAGE_SIZE);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey, mem), 0);
	destroy_table(env->mock->dev, &key);
	free_env(test, env);
}

/* Memory for reading only: either the region or the mapping of the process forbids writing. */
static const struct read_case {
	const char *name;
	u32 access;
	unsigned long prot;
} read_cases[] = {
	{ "a region for reading", IB_ACCESS_REMOTE_READ, PROT_READ | PROT_WRITE },
	{ "a mapping for reading", IB_ACCESS_REMOTE_READ | IB_ACCESS_LOCAL_WRITE, PROT_READ },
};

KUNIT_ARRAY_PARAM_DESC(read, read_cases, name);

/*
 * The faults of all queues are reported before the first of them is answered. A coarse clock may
 * not tick between the report and the answers, so the report is a second earlier.
 */
static void reads_by_many_queues_are_resolved(struct kunit *test)
{
	const struct read_case *c = test->param_value;
	struct env *env = make_env(test, 0, 0);
	ktime_t taken = ktime_sub_ms(ktime_get(), MSEC_PER_SEC);
	unsigned int i;

	register_again(test, env, c->access);
	replace_page(test, env, c->prot);
	for (i = 0; i < REPEATS; i++) {
		expect_read_answer(test, env, taken, false);
		KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
		KUNIT_EXPECT_FALSE(test, is_writable(env));
	}
	free_env(test, env);
}

static void read_fault_that_is_repeated_maps_for_writing(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);

	replace_page(test, env, PROT_READ | PROT_WRITE);
	expect_read_answer(test, env, 0, false);
	/* A fault of another queue could have mapped the page meanwhile. */
	expect_read_answer(test, env, 0, false);
	KUNIT_EXPECT_FALSE(test, is_writable(env));
	expect_read_answer(test, env, 0, false);
	KUNIT_EXPECT_TRUE(test, is_writable(env));
	KUNIT_EXPECT_EQ(test, atomic64_read(&container_of(to_mmr(env->mr), struct odp_mr,
							  mr)->stat.faults), 2);
	free_env(test, env);
}

/* A SEND reads the memory that its WQE names; an RDMA READ writes to it. */
static void fault_at_a_wqe_maps_as_its_operation_accesses(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);

	post_send(test, env, 0, env->mr->lkey, UNKNOWN_KEY);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	KUNIT_EXPECT_FALSE(test, is_writable(env));
	expect_answer(test, env, MLX5_WQE_PF_TYPE_REQ_READ_OR_ATOMIC, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	KUNIT_EXPECT_TRUE(test, is_writable(env));
	free_env(test, env);
}

/* The device has checked the range and the rights, but the region may be another one by now. */
static void fault_beyond_a_region_or_its_rights_fails(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	u64 mem = mock_buffer(env->mock, REGION);
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA, .wq_num = 0x99,
		.token = TOKEN, .packet_len = PAGE_SIZE, .op_len = PAGE_SIZE,
		.key = env->mr->rkey, .va = mem + (REGION_PAGES - 1) * PAGE_SIZE,
	};

	expect_answer_to(test, env, &fault, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	fault.va++;
	expect_answer_to(test, env, &fault, true);
	fault.va = mem - 1;
	fault.packet_len = 1;
	fault.op_len = 1;
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);

	register_again(test, env, IB_ACCESS_REMOTE_READ);
	fault.key = env->mr->rkey;
	fault.va = mem;
	fault.type |= MLX5_PAGE_FAULT_RESUME_WRITE;
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_FALSE(test, is_writable(env));
	free_env(test, env);
}

/* The device cannot want to write if the region does not allow it. */
static void repeated_read_of_a_read_only_region_succeeds(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	unsigned int i;

	register_again(test, env, IB_ACCESS_REMOTE_READ);
	for (i = 0; i < REPEATS; i++)
		expect_read_answer(test, env, 0, false);
	free_env(test, env);
}

static void write_to_a_read_only_mapping_fails_in_the_end(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	unsigned int i;

	replace_page(test, env, PROT_READ);
	/* The first fault maps the page. */
	for (i = 0; i < 9; i++)
		expect_read_answer(test, env, 0, false);
	/* Replacing the page counts as progress: the count of repetitions starts again. */
	replace_page(test, env, PROT_READ);
	for (i = 0; i < 9; i++)
		expect_read_answer(test, env, 0, false);
	KUNIT_EXPECT_FALSE(test, is_writable(env));
	expect_read_answer(test, env, 0, true);
	/* The work request has failed, so the next fault is another one. */
	expect_read_answer(test, env, 0, false);
	free_env(test, env);
}

/*
 * The device names the first byte of a message, but faults because a later byte is not mapped. The
 * first byte is mapped, so the driver resumes the queue without an error, until it has answered the
 * same fault too often.
 */
static void fault_that_names_too_little_fails_in_the_end(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_fault fault = {
		.type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, .wq_num = env->qp.rsc.num,
		.token = TOKEN, .packet_len = 1,
	};
	unsigned int i;

	register_again(test, env, IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_EQ(test, vm_munmap(mock_buffer(env->mock, REGION + 2), PAGE_SIZE), 0);
	post_send(test, env, 0, env->mr->lkey, env->mr->lkey);
	for (i = 0; i < REPEATS; i++, fault.taken = 0)
		expect_answer_to(test, env, &fault, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	fault.taken = ktime_get();
	mlx5_ib_odp_repeated_set(odp, &fault, 2 * MLX5_IB_ODP_NUM_EQE - 1);
	fault.taken = 0;
	expect_answer_to(test, env, &fault, false);
	fault.taken = 0;
	expect_answer_to(test, env, &fault, true);
	/* The work request has failed, so the next fault is another one. */
	fault.taken = 0;
	expect_answer_to(test, env, &fault, false);
	free_env(test, env);
}

/*
 * No region has the key: the region may have been deregistered since, or its key may have another
 * variant now.
 */
static void remote_key_without_a_paged_region_fails_at_once(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA, .wq_num = 0x99,
		.token = TOKEN, .packet_len = BYTES, .op_len = BYTES, .key = UNKNOWN_KEY,
		.va = mock_buffer(env->mock, REGION),
	};

	expect_answer_to(test, env, &fault, true);
	fault.key = env->mr->rkey ^ 1;
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

#define MAX_PAGE_INS	4

/* What the region was asked to map, and what it returns each time. */
static struct {
	unsigned int num;
	u64 offset[MAX_PAGE_INS];
	u64 len[MAX_PAGE_INS];
	unsigned long req[MAX_PAGE_INS];
	int ret[MAX_PAGE_INS];
} page_ins;

static int note_page_in(struct odp_mr *mr, u64 offset, u64 len, unsigned long req)
{
	unsigned int n = page_ins.num++ % MAX_PAGE_INS;

	page_ins.offset[n] = offset;
	page_ins.len[n] = len;
	page_ins.req[n] = req;
	return page_ins.ret[n];
}

static const struct odp_mr_ops noting_ops = { .page_in = note_page_in };

#define MESSAGE		(16 * SZ_1M)

static const struct ahead_case {
	const char *name;
	u32 op_len;
	u32 committed;
	u32 packet_len;
	int ret[2];
	u64 len[2];	/* 0: the region is not asked */
	bool error;
	unsigned int faults;
} ahead_cases[] = {
	{ "a long message", MESSAGE, 0, 100, { 0 }, { 4 * SZ_1M }, false, 4 * SZ_1M / PAGE_SIZE },
	{ "the end of a message", MESSAGE, MESSAGE - 3 * PAGE_SIZE, 100, { 0 },
	  { 3 * PAGE_SIZE }, false, 3 },
	{ "memory that ends", MESSAGE, PAGE_SIZE, 100, { -EFAULT, 0 }, { 4 * SZ_1M, 100 }, false,
	  1 },
	{ "memory that is missing", MESSAGE, 0, 100, { -EFAULT, -EFAULT }, { 4 * SZ_1M, 100 },
	  true, 0 },
	{ "mappings that change all the time", MESSAGE, 0, 100, { -EFAULT, -ERESTART },
	  { 4 * SZ_1M, 100 }, false, 0 },
	{ "a range that is mapped already", MESSAGE, 2 * PAGE_SIZE, 100, { 1 }, { 4 * SZ_1M },
	  false, 0 },
	{ "a packet of unknown length", 0, 0, 0, { -EFAULT }, { 1 }, true, 0 },
	{ "a packet beyond the message", 50, 100, 1000, { -EFAULT }, { 1000 }, true, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ahead, ahead_cases, name);

/* The device goes on with what it needs, whatever becomes of the rest of the message. */
static void fault_maps_what_is_needed_and_4_mib_ahead(struct kunit *test)
{
	const struct ahead_case *c = test->param_value;
	struct env *env = make_env(test, 0, 0);
	struct odp_mr *mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	const struct odp_mr_ops *ops = mr->ops;
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .wq_num = 0x99, .token = TOKEN, .key = env->mr->rkey,
		.type = MLX5_PAGE_FAULT_RESUME_RDMA | MLX5_PAGE_FAULT_RESUME_WRITE,
		.va = mock_buffer(env->mock, REGION), .packet_len = c->packet_len,
		.op_len = c->op_len, .committed = c->committed,
	};
	unsigned int i;

	mr->ops = &noting_ops;
	env->mr->length = MESSAGE;
	memset(&page_ins, 0, sizeof(page_ins));
	memcpy(page_ins.ret, c->ret, sizeof(c->ret));
	expect_answer_to(test, env, &fault, c->error);
	for (i = 0; i < ARRAY_SIZE(c->len) && c->len[i]; i++) {
		KUNIT_EXPECT_EQ(test, page_ins.offset[i], c->committed);
		KUNIT_EXPECT_EQ(test, page_ins.len[i], c->len[i]);
		KUNIT_EXPECT_EQ(test, page_ins.req[i], HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE);
	}
	KUNIT_EXPECT_EQ(test, page_ins.num, i);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mr->stat.faults), c->faults);
	mr->ops = ops;
	env->mr->length = REGION_PAGES * PAGE_SIZE;
	free_env(test, env);
}

static unsigned int num_waits;

/* Takes the place of mlx5_ib_umr_await(): a second later the UMR queue pair is still stopped. */
static int umr_stays_stopped(struct mlx5_ib_dev *dev)
{
	num_waits++;
	return -EAGAIN;
}

/* The device would go on waiting for the answer while the driver waits again. */
static void fault_waits_for_umr_once(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	const size_t at = (RQ_ENTRIES << RQ_SHIFT) + 16;
	struct mlx5_ib_fault fault = {
		.is_rdma = true, .wq_num = 0x99, .token = TOKEN, .key = env->mr->rkey,
		.type = MLX5_PAGE_FAULT_RESUME_RDMA | MLX5_PAGE_FAULT_RESUME_WRITE,
		.va = mock_buffer(env->mock, REGION), .packet_len = 100, .op_len = 4 * PAGE_SIZE,
	};
	__be32 qpn_ds = cpu_to_be32(env->qp.rsc.num << 8 | 4);

	kunit_activate_static_stub(test, mlx5_ib_umr_await, umr_stays_stopped);
	num_waits = 0;
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, num_waits, 1);

	/* The device does not need the second and third segment yet. */
	post_send(test, env, 0, UNKNOWN_KEY, env->mr->lkey);
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)(mock_buffer(env->mock, QP_BUF) + at -
							   16 + 4), &qpn_ds, sizeof(qpn_ds)), 0);
	put_data(test, env, at + 32, BYTES, env->mr->lkey, 3);
	num_waits = 0;
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, num_waits, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

/* ---- the memory scheme ------------------------------------------------------------------ */

#define MEMORY_TOKEN	0xf41780000123ULL

static struct mlx5_ib_fault memory_fault(struct env *env, u32 key, unsigned int page)
{
	return (struct mlx5_ib_fault){
		.is_memory = true, .token = MEMORY_TOKEN, .key = key, .packet_len = PAGE_SIZE,
		.va = mock_buffer(env->mock, REGION + page), .taken = ktime_get(),
	};
}

/* Have the driver resolve a fault. Returns the error bit of its answer, or -1 without an answer. */
static int resolve_memory_fault(struct kunit *test, struct env *env,
				const struct mlx5_ib_fault *fault)
{
	const __be32 *in = (const __be32 *)env->mock->in;
	struct odp_process *slot = NULL;

	env->mock->num_commands = 0;
	env->mock->opcode = 0;
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(env->mock->dev->odp, fault, &slot));
	if (slot)
		leave(test, slot);
	if (env->mock->opcode != MLX5_CMD_OP_PAGE_FAULT_RESUME)
		return -1;
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[2]) & ~BIT(31), 0xf417);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(in[3]), 0x80000123);
	return be32_to_cpu(in[2]) >> 31;
}

/* The driver finds the region of a key, whatever the key's variant (its low 8 bits). */
static void memory_fault_maps_what_is_needed_and_near(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey ^ 1, 3);

	fault.va += 8;
	fault.packet_len -= 8;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	fault.before = PAGE_SIZE;
	fault.after = 2 * PAGE_SIZE;
	replace_page(test, env, PROT_READ | PROT_WRITE);
	fault.va = mock_buffer(env->mock, REGION + 5);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 5);
	/* The event names more than the region has, before the address and behind it. */
	fault.va = mock_buffer(env->mock, REGION + 1);
	fault.before = SZ_1M;
	fault.after = SZ_1M;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), REGION_PAGES);
	/* One page by the first fault, four by the second, all by the third. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&container_of(to_mmr(env->mr), struct odp_mr,
							  mr)->stat.faults), 5 + REGION_PAGES);
	/* The device may want to write, which the event does not say. */
	KUNIT_EXPECT_TRUE(test, is_writable(env));
	free_env(test, env);
}

/*
 * The bound holds whatever the event asks for. Memory behind the address is mapped before memory in
 * front of the address.
 */
static void memory_near_a_fault_is_bounded(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 0);
	u64 mem = register_large(test, env), middle = mem + LARGE / 2;

	fault.key = env->mr->lkey;
	fault.va = mem + LARGE - PAGE_SIZE;
	fault.before = LARGE;
	fault.after = LARGE;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), LARGE / 2 / PAGE_SIZE);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, fault.key, middle), 0);
	fault.va = mem + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), LARGE / PAGE_SIZE - 1);
	KUNIT_EXPECT_EQ(test, mock_hca_translate(env->hca, fault.key, mem), 0);
	free_env(test, env);
}

/* What the process does not have is left out, unless the device needs it. */
static void memory_near_a_fault_may_be_missing(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 1);

	fault.before = PAGE_SIZE;
	fault.after = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, vm_munmap(mock_buffer(env->mock, REGION), PAGE_SIZE), 0);
	KUNIT_ASSERT_EQ(test, vm_munmap(mock_buffer(env->mock, REGION + 2), PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	fault.va += PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	/* An address that is not in the region. */
	fault = memory_fault(env, env->mr->lkey, REGION_PAGES);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	fault.va = mock_buffer(env->mock, REGION) - 1;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	free_env(test, env);
}

/*
 * The device needs more than the region has. The driver maps what the region has; the device checks
 * the range.
 */
static void need_of_a_memory_fault_ends_with_its_region(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, REGION_PAGES - 1);

	fault.packet_len = 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	free_env(test, env);
}

static void early_event_is_answered_with_an_error_only(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 0);

	fault.is_early = true;
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), -1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	KUNIT_ASSERT_EQ(test, vm_munmap(fault.va, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	free_env(test, env);
}

/* The key may be the key of a leaf that has been freed; another leaf may be in its place by now. */
static void memory_fault_at_an_unknown_key_is_repeated_once(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, UNKNOWN_KEY, 0);

	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	fault.taken = ktime_get();
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

/* Have the device fault at the key of a leaf that is freed before the driver looks. */
static u32 fault_at_a_freed_leaf(struct kunit *test, struct env *env)
{
	struct odp_mr *mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	u64 start = mock_buffer(env->mock, REGION);
	struct mlx5_ib_fault fault;
	struct odp_leaf *leaf;

	leaf = mlx5_ib_odp_leaf_create(mr, NULL, start, PAGE_SIZE, start);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, leaf);
	fault = memory_fault(env, leaf->key.own.key, 0);
	KUNIT_ASSERT_EQ(test, mlx5_ib_odp_leaf_destroy(leaf), 0);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	return fault.key;
}

static void key_of_a_freed_leaf_is_new_in_the_next_leaf(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	u32 key = fault_at_a_freed_leaf(test, env);

	/*
	 * The driver counts this as a new fault, although index of the key and address are as
	 * before.
	 */
	KUNIT_EXPECT_EQ(test, fault_at_a_freed_leaf(test, env) >> 8, key >> 8);
	free_env(test, env);
}

static void memory_for_reading_is_mapped_for_reading(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 0);
	unsigned int i;

	replace_page(test, env, PROT_READ);
	/* The first fault maps the page. */
	for (i = 0; i < 9; i++, fault.taken = ktime_get())
		KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	KUNIT_EXPECT_FALSE(test, is_writable(env));
	/* The device wants to write. */
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 1);
	free_env(test, env);
}

/* The device faults at the key of addresses without a leaf, and later at the key of the leaf. */
static void memory_fault_finds_its_implicit_region(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	u64 va = mock_buffer(env->mock, REGION);
	struct mlx5_ib_fault fault;
	struct odp_key *leaf;
	struct odp_dir *dir;
	struct odp_mr *mr;

	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	env->mock->dev->odp->by_memory = true;
	env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, 0, U64_MAX, 0,
				  IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	fault = memory_fault(env, mr->absent.own.key, 0);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey, va), 0);
	dir = container_of(xa_load(&mr->root->children, va >> mr->root->shift), struct odp_dir,
			   key);
	leaf = xa_load(&dir->children, (va - dir->key.base) >> dir->shift);
	KUNIT_ASSERT_NOT_NULL(test, leaf);
	fault = memory_fault(env, leaf->own.key, 1);
	KUNIT_EXPECT_EQ(test, resolve_memory_fault(test, env, &fault), 0);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey, va + PAGE_SIZE), 0);
	free_env(test, env);
}

/*
 * The key of a region is destroyed before the keys of its parts. A fault at the key of a part must
 * not find the region meanwhile.
 */
static void part_of_a_region_that_goes_leads_nowhere(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_dev *dev = env->mock->dev;
	struct odp_mr *mr;

	KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
	dev->odp->by_memory = true;
	env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, 0, U64_MAX, 0, IB_ACCESS_ON_DEMAND);
	KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_mr_get_lowest(dev->odp, mr->absent.own.key), mr);
	KUNIT_EXPECT_EQ(test, refcount_read(&mr->mr.mkey.refs), 2);
	KUNIT_EXPECT_EQ(test, refcount_read(&mr->absent.own.refs), 1);
	mlx5_ib_mkey_put(&mr->mr.mkey);
	mlx5_ib_mkey_retire(dev, &mr->mr.mkey);
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_mr_get_lowest(dev->odp, mr->absent.own.key));
	KUNIT_EXPECT_EQ(test, refcount_read(&mr->absent.own.refs), 1);
	mlx5_ib_mkey_publish(dev, &mr->mr.mkey, MLX5_IB_MKEY_ODP_MR);
	free_env(test, env);
}

/* All that is left of the address space of a process that has exited: its mm_struct. */
static struct mm_struct *make_ended_mm(struct kunit *test)
{
	struct mm_struct *first = current->mm, *ended;

	kthread_unuse_mm(first);
	KUNIT_ASSERT_EQ(test, kunit_attach_mm(), 0);
	ended = current->mm;
	mmgrab(ended);
	kthread_unuse_mm(ended);
	mmput(ended);
	kthread_use_mm(first);
	return ended;
}

static const struct ended_case {
	const char *name;
	bool implicit;
	bool killed;	/* otherwise the process has exited */
} ended_cases[] = {
	{ "an explicit region after the exit", false, false },
	{ "an implicit region after the exit", true, false },
	{ "an explicit region of a process that is being killed", false, true },
	{ "an implicit region of a process that is being killed", true, true },
};

KUNIT_ARRAY_PARAM_DESC(ended, ended_cases, name);

/* Whether the region has a table for its memory: a chunk, or a leaf. */
static bool has_table(struct env *env)
{
	struct odp_mr *mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	unsigned long index;
	struct odp_key *key;
	struct odp_dir *dir;

	if (mr->leaf)
		return mr->leaf->chunks[0];
	xa_for_each(&mr->root->children, index, key) {
		dir = container_of(key, struct odp_dir, key);
		if (!xa_empty(&dir->children))
			return true;
	}
	return false;
}

/* The region outlives its process if another process has the device file, too. */
static void fault_on_memory_of_an_ended_process_fails(struct kunit *test)
{
	const struct ended_case *c = test->param_value;
	struct env *env = make_env(test, 0, 0);
	struct mm_struct *mm = current->mm, *ended = make_ended_mm(test);
	struct odp_process *slot = NULL;
	struct mlx5_ib_fault fault;
	struct odp_mr *mr;

	if (c->implicit) {
		KUNIT_ASSERT_EQ(test, mlx5_ib_dereg_mr(env->mr, NULL), 0);
		env->mock->dev->odp->by_memory = true;
		env->mr = mlx5_ib_odp_reg(&env->pd[0].ibpd, 0, U64_MAX, 0,
					  IB_ACCESS_ON_DEMAND | IB_ACCESS_LOCAL_WRITE);
		KUNIT_ASSERT_FALSE(test, IS_ERR(env->mr));
	}
	mr = container_of(to_mmr(env->mr), struct odp_mr, mr);
	fault = memory_fault(env, c->implicit ? mr->absent.own.key : env->mr->lkey, 0);
	if (c->killed)
		current->signal->flags |= SIGNAL_GROUP_EXIT;
	else
		mr->mm = ended;
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(env->mock->dev->odp, &fault, &slot));
	current->signal->flags &= ~SIGNAL_GROUP_EXIT;
	mr->mm = mm;
	if (slot)
		leave(test, slot);
	KUNIT_EXPECT_EQ(test, env->mock->opcode, MLX5_CMD_OP_PAGE_FAULT_RESUME);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(((const __be32 *)env->mock->in)[2]) >> 31, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	KUNIT_EXPECT_FALSE(test, has_table(env));
	mmdrop(ended);
	free_env(test, env);
}

/*
 * The driver does not know a queue that a process has created by a command of its own, or one that
 * firmware has refused to destroy.
 */
static void fault_of_an_unknown_queue_is_answered(struct kunit *test)
{
	static const u8 types[] = {
		MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, MLX5_WQE_PF_TYPE_RESP, MLX5_WQE_PF_TYPE_RMP,
	};
	struct env *env = make_env(test, 0, 0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		expect_queue_answer(test, env, env->qp.rsc.num + 1, types[i], 0, true);
	free_env(test, env);
}

static void fault_of_unknown_kind_maps_no_page_and_fails(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = {
		.is_unknown = true, .type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE,
		.wq_num = env->qp.rsc.num, .token = TOKEN, .packet_len = BYTES,
	};

	post_send(test, env, 0, env->mr->lkey, env->mr->lkey);
	expect_answer_to(test, env, &fault, true);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	free_env(test, env);
}

/* ---- answers that firmware does not execute at once ------------------------------------- */

#define MAX_ANSWERS	8

/*
 * Firmware returns @err[n] for the n-th PAGE_FAULT_RESUME, from 0. If the n-th command has its
 * error bit set, bit n of @errors is set.
 */
static struct {
	unsigned int num;
	unsigned int errors;
	int err[MAX_ANSWERS];
} answers;

static int answer_fw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		     int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	struct kunit *test = kunit_get_current_test();
	const __be32 *dw = in;

	if (MLX5_GET(page_fault_resume_in, in, opcode) != MLX5_CMD_OP_PAGE_FAULT_RESUME)
		return mock_hca_fw(dev, uid, in, in_size, out, out_size, send, arg);
	KUNIT_ASSERT_LT(test, answers.num, MAX_ANSWERS);
	/* A queue that has been destroyed is no error, so it is not logged either. */
	KUNIT_EXPECT_TRUE(test, send == mlx5_ib_fw_send_if_exists);
	KUNIT_EXPECT_EQ(test, uid, MLX5_IB_KERNEL_UID);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(dw[2]) & ~BIT(31), 0xf417);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(dw[3]), 0x80000123);
	answers.errors |= be32_to_cpu(dw[2]) >> 31 << answers.num;
	return answers.err[answers.num++];
}

static const struct answer_case {
	const char *name;
	bool error;
	bool early;
	int err[MAX_ANSWERS];
	unsigned int num;
	unsigned int errors;	/* bit n: answer n has the error bit */
} answer_cases[] = {
	{ "executed", false, false, {}, 1, 0 },
	{ "an error that is executed", true, false, {}, 1, 1 },
	{ "refused twice", false, false, { -EBUSY, -EIO }, 3, 0 },
	{ "an error that is refused twice", true, false, { -EBUSY, -EIO }, 3, 7 },
	{ "refused each time", true, false,
	  { -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY, -EBUSY }, 6, 0x3f },
	{ "a queue that is gone", true, false, { -ENOENT }, 1, 1 },
	{ "a queue that is gone after a refusal", false, false, { -EBUSY, -ENOENT }, 2, 0 },
	{ "a device that is gone", true, false, { -ENOLINK }, 1, 1 },
	{ "not answered", false, false, { -ETIMEDOUT }, 2, 0 },
	/*
	 * If firmware has executed the unanswered command, its token may belong to a newer fault:
	 * the driver repeats the command without the error bit, so that the newer fault's work
	 * request does not fail.
	 */
	{ "an error that is not answered", true, false, { -ETIMEDOUT }, 2, 1 },
	{ "an error, not answered, then refused", true, false, { -ETIMEDOUT, -EBUSY }, 3, 1 },
	/*
	 * Each unanswered command takes a timeout of mlx5_core, and faults of other processes need
	 * the worker, so the driver gives up.
	 */
	{ "never answered", false, false, { -ETIMEDOUT, -ETIMEDOUT }, 2, 0 },
	{ "an error that is never answered", true, false, { -ETIMEDOUT, -ETIMEDOUT }, 2, 1 },
	{ "not answered, refused, not answered", false, false,
	  { -ETIMEDOUT, -EBUSY, -ETIMEDOUT }, 3, 0 },
	{ "an error that is not sent twice", true, false, { -ECANCELED, -ECANCELED }, 2, 3 },
	{ "not sent, then not answered", false, false, { -ECANCELED, -ETIMEDOUT }, 2, 0 },
	{ "the first event of a fault", false, true, {}, 0, 0 },
	{ "an error of the first event", true, true, { -EBUSY }, 2, 3 },
	/* The queue goes on by the answer to the last event in any case. */
	{ "an error of the first event, not answered", true, true, { -ETIMEDOUT }, 1, 1 },
};

KUNIT_ARRAY_PARAM_DESC(answer, answer_cases, name);

/* The queue stays stopped until firmware has executed the command. */
static void answer_is_repeated_until_firmware_has_executed_it(struct kunit *test)
{
	const struct answer_case *c = test->param_value;
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 0);
	struct odp_process *slot = NULL;

	if (c->error)
		KUNIT_ASSERT_EQ(test, vm_munmap(fault.va, PAGE_SIZE), 0);
	fault.is_early = c->early;
	memset(&answers, 0, sizeof(answers));
	memcpy(answers.err, c->err, sizeof(c->err));
	kunit_activate_static_stub(test, mlx5_ib_fw_exec_via, answer_fw);
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(env->mock->dev->odp, &fault, &slot));
	if (slot)
		leave(test, slot);
	KUNIT_EXPECT_EQ(test, answers.num, c->num);
	KUNIT_EXPECT_EQ(test, answers.errors, c->errors);
	free_env(test, env);
}

/* ---- which reports are of one fault ----------------------------------------------------- */

static void expect_times(struct kunit *test, struct mlx5_ib_odp *odp, struct mlx5_ib_fault fault,
			 unsigned int times, const char *what)
{
	fault.taken = ktime_get();
	KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_odp_repeated_get(odp, &fault), times, "%s", what);
}

static void fault_is_the_same_if_all_of_it_is(struct kunit *test)
{
	const struct mlx5_ib_fault key = {
		.key = 0x123400, .va = 0x5000, .committed = 8, .type = 4, .wq_num = 0x111,
	};
	const struct mlx5_ib_fault wqe = {
		.wq_num = 0x111, .wqe_index = 7, .committed = 8, .type = 1,
	};
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_fault other;

	mlx5_ib_odp_repeated_set(odp, &key, 3);
	expect_times(test, odp, key, 3, "the fault at a key");
	/* A fault at a key is the same fault, whichever queue accesses the memory. */
	other = key;
	other.wq_num++;
	expect_times(test, odp, other, 3, "of another queue");
	other = key;
	other.key += 0x100;
	expect_times(test, odp, other, 0, "at another key");
	other = key;
	other.va += PAGE_SIZE;
	expect_times(test, odp, other, 0, "at another address");
	other = key;
	other.committed++;
	expect_times(test, odp, other, 0, "further in the message");
	other = key;
	other.type |= MLX5_PAGE_FAULT_RESUME_WRITE;
	expect_times(test, odp, other, 0, "to write");
	/* The driver forgets faults at the key of a new leaf, of whichever variant. */
	mlx5_ib_odp_repeated_forget(odp, key.key + 0x100);
	expect_times(test, odp, key, 3, "after another key");
	mlx5_ib_odp_repeated_forget(odp, key.key | 0x5a);
	expect_times(test, odp, key, 0, "after its key");

	mlx5_ib_odp_repeated_set(odp, &wqe, 5);
	expect_times(test, odp, wqe, 5, "the fault at a WQE");
	other = wqe;
	other.wq_num++;
	expect_times(test, odp, other, 0, "at a WQE of another queue");
	other = wqe;
	other.wqe_index++;
	expect_times(test, odp, other, 0, "at another WQE");
	other = wqe;
	other.committed++;
	expect_times(test, odp, other, 0, "further in the message of the WQE");
	other = wqe;
	other.type = MLX5_WQE_PF_TYPE_RESP;
	expect_times(test, odp, other, 0, "at a receive WQE");
	free_env(test, env);
}

/*
 * Several queues fault on one page. A worker reads the count; another one maps the page and starts
 * the count again; then the first one, which has found the page mapped, counts its fault.
 */
static void fault_that_maps_a_page_is_not_undone_by_an_earlier_one(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_fault first = { .key = 0x123400, .va = 0x5000, .taken = ktime_get() };
	struct mlx5_ib_fault second;

	mlx5_ib_odp_repeated_set(odp, &first, 5);
	/* The clock may be coarse, so make the times differ. */
	odp->repeated[0].last = ktime_sub_ms(ktime_get(), 2);
	first.taken = ktime_sub_ms(ktime_get(), 1);
	second = first;
	KUNIT_EXPECT_EQ(test, mlx5_ib_odp_repeated_get(odp, &first), 5);
	mlx5_ib_odp_repeated_set(odp, &second, 0);
	mlx5_ib_odp_repeated_set(odp, &first, 6);
	expect_times(test, odp, first, 0, "after the page was mapped");
	free_env(test, env);
}

/* Note a fault of its own in each entry of the table, the first in entry 0. */
static struct mlx5_ib_fault fill_repeated(struct mlx5_ib_odp *odp, unsigned int times)
{
	const struct mlx5_ib_fault first = { .key = 0x123400, .va = 0x5000 };
	struct mlx5_ib_fault fault = first;
	unsigned int i;

	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++, fault.va += PAGE_SIZE) {
		fault.taken = ktime_get();
		mlx5_ib_odp_repeated_set(odp, &fault, times);
	}
	return first;
}

/* How many of the faults that fill_repeated() has noted still have an entry. */
static unsigned int num_noted(struct mlx5_ib_odp *odp, struct mlx5_ib_fault fault)
{
	unsigned int i, num = 0;

	for (i = 0; i < MLX5_IB_ODP_NUM_REPEATED; i++, fault.va += PAGE_SIZE) {
		fault.taken = ktime_get();
		num += mlx5_ib_odp_repeated_get(odp, &fault) != 0;
	}
	return num;
}

static void fault_that_maps_a_page_displaces_no_other(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	const struct mlx5_ib_fault other = { .key = 0x123500, .va = 0x5000 };
	const struct mlx5_ib_fault first = fill_repeated(odp, 3);

	mlx5_ib_odp_repeated_set(odp, &other, 0);
	KUNIT_EXPECT_EQ(test, num_noted(odp, first), MLX5_IB_ODP_NUM_REPEATED);
	free_env(test, env);
}

static void fault_displaces_the_one_with_the_fewest_answers(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_fault fault, first = fill_repeated(odp, 3);

	fault = first;
	fault.va += 10 * PAGE_SIZE;
	fault.taken = ktime_get();
	mlx5_ib_odp_repeated_set(odp, &fault, 2);
	fault.key += 0x100;
	mlx5_ib_odp_repeated_set(odp, &fault, 1);
	expect_times(test, odp, fault, 1, "the new fault");
	KUNIT_EXPECT_EQ(test, num_noted(odp, first), MLX5_IB_ODP_NUM_REPEATED - 1);
	fault.key -= 0x100;
	expect_times(test, odp, fault, 0, "the fault with two answers");
	/*
	 * Of two faults with one answer each, the one that was answered last is displaced. The
	 * clock may be coarse, so make the new fault's answer older.
	 */
	odp->repeated[10].last = ktime_sub_ms(odp->repeated[10].last, 1);
	mlx5_ib_odp_repeated_set(odp, &first, 0);
	first.taken = ktime_get();
	mlx5_ib_odp_repeated_set(odp, &first, 1);
	mlx5_ib_odp_repeated_set(odp, &fault, 1);
	expect_times(test, odp, first, 0, "the fault that was answered last");
	expect_times(test, odp, fault, 1, "the fault in its entry");
	/* The entry of a fault not repeated for 5 s is reused, however often it was answered. */
	odp->repeated[20].times = 100;
	odp->repeated[20].last = ktime_sub_ms(ktime_get(), 6000);
	fault.key += 0x200;
	mlx5_ib_odp_repeated_set(odp, &fault, 1);
	expect_times(test, odp, fault, 1, "the fault instead of an old one");
	fault.key -= 0x200;
	expect_times(test, odp, fault, 1, "the fault with one answer");
	free_env(test, env);
}

/* In the end each fault gets 8 answers in a row, although the table has no room for all faults. */
static void more_endless_faults_than_entries_end(struct kunit *test)
{
	static bool ended[MLX5_IB_ODP_NUM_REPEATED + 20];
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	unsigned int i, times, round, left = ARRAY_SIZE(ended);
	struct mlx5_ib_fault fault;

	memset(ended, 0, sizeof(ended));
	for (round = 0; left && round < 100; round++) {
		for (i = 0; i < ARRAY_SIZE(ended); i++) {
			if (ended[i])
				continue;
			fault = (struct mlx5_ib_fault){ .key = 0x100 * (i + 1), .va = 0x5000 };
			fault.taken = ktime_get();
			times = mlx5_ib_odp_repeated_get(odp, &fault);
			ended[i] = times == 8;
			left -= ended[i];
			mlx5_ib_odp_repeated_set(odp, &fault, ended[i] ? 0 : times + 1);
		}
	}
	KUNIT_EXPECT_EQ(test, left, 0);
	free_env(test, env);
}

/* ---- queues of kernel consumers --------------------------------------------------------- */

#define BLOCKS_A_PAGE	(PAGE_SIZE / MLX5_SEND_WQE_BB)

/**
 * struct kernel_queues - a queue pair of a kernel consumer
 * @cq: completion queue
 * @srq: shared receive queue, from which the queue pair does not receive
 * @qp: the queue pair. Its receive queue has one block, so that the send queue crosses a page
 */
struct kernel_queues {
	struct mlx5_ib_cq cq;
	struct mlx5_ib_srq srq;
	struct mlx5_ib_qp qp;
};

static struct kernel_queues *make_kernel_queues(struct kunit *test, struct env *env)
{
	struct kernel_queues *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);
	const struct ib_cq_init_attr attr = { .cqe = 7 };
	struct ib_srq_init_attr srq_init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = 3, .max_sge = 2 },
	};
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 2 * BLOCKS_A_PAGE, .max_recv_wr = 1, .max_send_sge = 4,
			 .max_recv_sge = 4 },
	};

	KUNIT_ASSERT_NOT_NULL(test, k);
	mock_set_issi(env->mock, 1);
	mock_set_kernel_queues(env->mock);
	MOCK_SET_CAP(&env->mock->dev->caps, log_max_srq_sz, 10);
	MOCK_SET_CAP(&env->mock->dev->caps, rc, 1);
	k->cq.ibcq.device = &env->mock->dev->ib_dev;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_cq(&k->cq.ibcq, &attr, NULL), 0);
	k->srq.ibsrq.device = &env->mock->dev->ib_dev;
	k->srq.ibsrq.pd = &env->pd[0].ibpd;
	k->srq.ibsrq.srq_type = IB_SRQT_BASIC;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_srq(&k->srq.ibsrq, &srq_init, NULL), 0);
	init.send_cq = &k->cq.ibcq;
	init.recv_cq = &k->cq.ibcq;
	k->qp.ibqp.device = &env->mock->dev->ib_dev;
	k->qp.ibqp.pd = &env->pd[0].ibpd;
	k->qp.ibqp.qp_type = IB_QPT_RC;
	KUNIT_ASSERT_EQ(test, mlx5_ib_create_qp(&k->qp.ibqp, &init, NULL), 0);
	k->qp.state = IB_QPS_RTS;
	return k;
}

static void free_kernel_queues(struct kunit *test, struct kernel_queues *k)
{
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_qp(&k->qp.ibqp, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_srq(&k->srq.ibsrq, NULL), 0);
	KUNIT_EXPECT_EQ(test, mlx5_ib_destroy_cq(&k->cq.ibcq, NULL), 0);
}

static struct ib_sge kernel_sge(struct env *env, unsigned int page)
{
	return (struct ib_sge){
		.addr = mock_buffer(env->mock, REGION + page), .length = BYTES,
		.lkey = env->mr->lkey,
	};
}

static void post_kernel_send(struct kunit *test, struct mlx5_ib_qp *qp, struct ib_sge *sge,
			     unsigned int num)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = num };
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(test, mlx5_ib_post_sends(qp, &wr, NULL, &bad), 0);
}

static void wqes_of_kernel_consumers_are_read(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct kernel_queues *k = make_kernel_queues(test, env);
	struct ib_sge sge[4] = { };
	const struct ib_recv_wr recv = { .sg_list = &sge[3], .num_sge = 1 };
	const struct ib_recv_wr *bad;
	unsigned int i, rq_blocks;

	rq_blocks = k->qp.ucmd.rq_wqe_count << k->qp.ucmd.rq_wqe_shift >> 6;
	KUNIT_ASSERT_LT(test, rq_blocks + 1, BLOCKS_A_PAGE);
	/* The last data segment of a request of two blocks is in the second page. */
	for (i = 0; i < BLOCKS_A_PAGE - rq_blocks - 1; i++)
		post_kernel_send(test, &k->qp, NULL, 0);
	sge[3] = kernel_sge(env, 0);
	for (i = 0; i < 3; i++)
		sge[i] = (struct ib_sge){ .length = 1, .lkey = UNKNOWN_KEY };
	post_kernel_send(test, &k->qp, sge, 4);
	expect_queue_answer(test, env, k->qp.rsc.num, MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE,
			    BLOCKS_A_PAGE - rq_blocks - 1, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);

	sge[3] = kernel_sge(env, 2);
	KUNIT_ASSERT_EQ(test, mlx5_ib_post_recv(&k->qp.ibqp, &recv, &bad), 0);
	expect_queue_answer(test, env, k->qp.rsc.num, MLX5_WQE_PF_TYPE_RESP, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 2);

	sge[3] = kernel_sge(env, 4);
	KUNIT_ASSERT_EQ(test, mlx5_ib_post_srq_recv(&k->srq.ibsrq, &recv, &bad), 0);
	expect_queue_answer(test, env, k->srq.rsc.num, MLX5_WQE_PF_TYPE_RMP, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 3);
	KUNIT_EXPECT_NE(test, mock_hca_translate(env->hca, env->mr->lkey, sge[3].addr), 0);
	free_kernel_queues(test, k);
	free_env(test, env);
}

/* Take all slots that a process may have. Returns their number. */
static unsigned int take_slots(struct odp_process *process)
{
	unsigned int n = 0;

	while (n <= MLX5_IB_ODP_MAX_SLOTS && mlx5_ib_odp_process_enter(process))
		n++;
	return n;
}

static void leave_slots(struct kunit *test, struct odp_process *process, unsigned int n)
{
	while (n--)
		leave(test, process);
}

/*
 * A process can prevent its faults from being resolved for ever. So only some of its faults get a
 * slot; the next fault waits, without an answer and without a page, until a slot is free.
 */
static void fault_without_a_slot_waits(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct odp_process *process = process_of(env);
	const struct mlx5_ib_fault send = {
		.type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, .wq_num = env->qp.rsc.num,
		.token = TOKEN, .packet_len = 2 * BYTES, .taken = ktime_get(),
	};
	const struct mlx5_ib_fault write = {
		.is_rdma = true, .type = MLX5_PAGE_FAULT_RESUME_RDMA | MLX5_PAGE_FAULT_RESUME_WRITE,
		.token = TOKEN, .packet_len = BYTES, .op_len = BYTES, .key = env->mr->rkey,
		.va = mock_buffer(env->mock, REGION), .taken = ktime_get(),
	};
	const struct mlx5_ib_fault memory = {
		.is_memory = true, .token = TOKEN, .key = env->mr->lkey,
		.va = mock_buffer(env->mock, REGION), .taken = ktime_get(),
	};
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	unsigned int n = take_slots(process);
	struct odp_process *slot = NULL;

	post_send(test, env, 0, UNKNOWN_KEY, env->mr->lkey);
	env->mock->num_commands = 0;
	KUNIT_ASSERT_PTR_EQ(test, mlx5_ib_odp_resolve_fault(odp, &send, &slot), process);
	mlx5_ib_odp_process_put(process);
	KUNIT_ASSERT_PTR_EQ(test, mlx5_ib_odp_resolve_fault(odp, &write, &slot), process);
	mlx5_ib_odp_process_put(process);
	/* The event does not say how much the device needs, but that is at least one byte. */
	KUNIT_ASSERT_PTR_EQ(test, mlx5_ib_odp_resolve_fault(odp, &memory, &slot), process);
	mlx5_ib_odp_process_put(process);
	KUNIT_EXPECT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);

	/* A fault that has a slot is resolved, and keeps the slot. */
	slot = process;
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(odp, &send, &slot));
	KUNIT_EXPECT_PTR_EQ(test, slot, process);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	leave_slots(test, process, n);
	free_env(test, env);
}

/* Pages that the device does not need yet are mapped ahead only if a slot is free. */
static void page_that_is_not_needed_yet_is_not_waited_for(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct odp_process *process = process_of(env);
	unsigned int n = take_slots(process);

	/* The first segment has all that the packet needs. */
	post_send(test, env, 0, UNKNOWN_KEY, env->mr->lkey);
	expect_send_answer(test, env, 0, false);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 0);
	leave_slots(test, process, n);
	free_env(test, env);
}

static struct odp_process *make_process(struct kunit *test, struct mlx5_ib_odp *odp,
					struct mlx5_ib_user *user)
{
	struct mm_struct *mm = kunit_kzalloc(test, sizeof(*mm), GFP_KERNEL);
	struct odp_process *process;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	mmgrab(mm);
	process = mlx5_ib_odp_process_get(odp, mm, user);
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_process_get(odp, mm, user), process);
	mlx5_ib_odp_process_put(process);
	return process;
}

/* Two processes may use one protection domain, so a fault may need memory of both. */
static void fault_gives_up_the_slot_of_another_process(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct odp_process *other = make_process(test, odp, NULL), *slot = other;
	const struct mlx5_ib_fault fault = memory_fault(env, env->mr->lkey, 0);

	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_process_enter(other));
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(odp, &fault, &slot));
	KUNIT_EXPECT_PTR_EQ(test, slot, process_of(env));
	KUNIT_EXPECT_EQ(test, other->slots, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&other->refs), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), 1);
	leave(test, process_of(env));
	mlx5_ib_odp_process_put(other);
	free_env(test, env);
}

/*
 * All processes share the command interface. So the driver reads no table for a fault that has no
 * slot; the slot may be of any process.
 */
static void tables_of_keys_are_read_with_a_slot(struct kunit *test)
{
	struct mlx5_ib_table_key key = TABLE_OF(TABLE_ENTRIES);
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct odp_process *maker = make_process(test, odp, NULL), *slot = NULL;
	const struct mlx5_ib_fault fault = {
		.type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE, .wq_num = env->qp.rsc.num,
		.token = TOKEN, .packet_len = BYTES, .taken = ktime_get(),
	};
	unsigned int n = take_slots(maker);

	set_table(test, env, PDN);
	set_entry(env, 0, BYTES, env->mr->lkey, 3);
	adopt_table(test, env, &key);
	key.process = maker;
	post_send(test, env, 0, TABLE_KEY, UNKNOWN_KEY);
	env->mock->num_commands = 0;
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_resolve_fault(odp, &fault, &slot), maker);
	mlx5_ib_odp_process_put(maker);
	KUNIT_EXPECT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, table.queries, 0);
	KUNIT_EXPECT_EQ(test, env->mock->num_commands, 0);
	/* The device does not need the table yet, so the fault does not wait for a slot. */
	post_send(test, env, 1, UNKNOWN_KEY, TABLE_KEY);
	expect_send_answer(test, env, 1, false);
	KUNIT_EXPECT_EQ(test, table.queries, 0);

	/* A fault with a slot of the process whose memory it needs may read the table. */
	KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_process_enter(process_of(env)));
	slot = process_of(env);
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(odp, &fault, &slot));
	KUNIT_EXPECT_PTR_EQ(test, slot, process_of(env));
	KUNIT_EXPECT_EQ(test, table.queries, 1);
	KUNIT_EXPECT_EQ(test, mock_hca_num_pages(env->hca), 1);
	leave(test, slot);

	/* A table that refers to no memory is read with a slot of the process that created it. */
	leave(test, maker);
	set_entry(env, 0, BYTES, UNKNOWN_KEY, 3);
	slot = NULL;
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_resolve_fault(odp, &fault, &slot));
	KUNIT_EXPECT_PTR_EQ(test, slot, maker);
	KUNIT_EXPECT_EQ(test, table.queries, 2);
	leave_slots(test, maker, n);
	mlx5_ib_odp_process_put(maker);
	destroy_table(env->mock->dev, &key);
	free_env(test, env);
}

/*
 * On each NUMA node an unbound workqueue runs a part of its WQ_MAX_ACTIVE (2048) work items, in
 * proportion to the node's CPUs, but at least WQ_DFL_MIN_ACTIVE (8). All faults may be queued on
 * the node with the fewest CPUs.
 */
static void smallest_node_runs_as_many_faults_as_have_a_slot(struct kunit *test)
{
	static const struct {
		unsigned int fewest, cpus, slots;
	} nodes[] = {
		{ 1, 1, 1024 },		/* one node */
		{ 8, 8, 1024 },
		{ 8, 16, 1024 },	/* two equal nodes */
		{ 6, 16, 768 },		/* 6 and 10 CPUs */
		{ 1, 3, 683 },		/* 1 and 2 */
		{ 16, 64, 512 },	/* four equal nodes */
		{ 2, 64, 64 },		/* 62 and 2 */
		{ 1, 1024, 8 },		/* 1023 and 1 */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		KUNIT_EXPECT_EQ_MSG(test, mlx5_ib_odp_max_slots(nodes[i].fewest, nodes[i].cpus),
				    nodes[i].slots, "%u of %u CPUs", nodes[i].fewest,
				    nodes[i].cpus);
}

/* Processes with faults that are not resolved leave slots for a process that starts later. */
static void processes_leave_slots_for_others(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct odp_process *process[80];
	unsigned int n[80], i, left;

	odp->max_slots = MLX5_IB_ODP_MAX_SLOTS;
	for (i = 0; i < ARRAY_SIZE(process); i++) {
		process[i] = make_process(test, odp, NULL);
		n[i] = take_slots(process[i]);
		KUNIT_EXPECT_GE(test, n[i], 1);
		if (!i)
			KUNIT_EXPECT_EQ(test, n[i], 60);
	}
	left = odp->max_slots - atomic_read(&odp->num_slots);
	KUNIT_EXPECT_LE(test, atomic_read(&odp->num_slots), odp->max_slots - 1);
	KUNIT_EXPECT_GE(test, take_slots(process_of(env)), 1);
	left -= odp->max_slots - atomic_read(&odp->num_slots);
	leave_slots(test, process_of(env), left);
	for (i = 0; i < ARRAY_SIZE(process); i++) {
		leave_slots(test, process[i], n[i]);
		mlx5_ib_odp_process_put(process[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), 0);
	free_env(test, env);
}

/*
 * Any number of processes of a user whose faults are not resolved leave half of the slots to other
 * users. Each of the processes still has an extra slot.
 */
static void processes_of_a_user_leave_slots_for_other_users(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_user *user = mlx5_ib_user_get(env->mock->dev, KUIDT_INIT(1000));
	struct mlx5_ib_user *other = mlx5_ib_user_get(env->mock->dev, KUIDT_INIT(1001));
	struct odp_process *process[20], *quiet, *last;
	struct list_head waiting[2];
	unsigned int n[20], i;
	bool extra;

	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_NOT_NULL(test, other);
	odp->max_slots = MLX5_IB_ODP_MAX_SLOTS;
	for (i = 0; i < ARRAY_SIZE(process); i++) {
		process[i] = make_process(test, odp, user);
		n[i] = take_slots(process[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), odp->max_slots / 2);
	last = process[i - 1];
	KUNIT_EXPECT_EQ(test, n[i - 1], 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_wait(last, &waiting[0], &extra));
	KUNIT_EXPECT_TRUE(test, extra);
	/* The next fault of that process waits, and gets the extra slot. */
	KUNIT_EXPECT_TRUE(test, mlx5_ib_odp_process_wait(last, &waiting[0], &extra));
	mlx5_ib_odp_process_leave(last);
	mlx5_ib_odp_process_put(last);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_process_next(last, &extra), &waiting[0]);
	KUNIT_EXPECT_TRUE(test, extra);
	/* The extra slot is not one of those that other users can have. */
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), odp->max_slots / 2);
	quiet = make_process(test, odp, other);
	i = take_slots(quiet);
	KUNIT_EXPECT_GE(test, i, 30);
	leave_slots(test, quiet, i);
	mlx5_ib_odp_process_put(quiet);
	leave(test, last);
	for (i = 0; i < ARRAY_SIZE(process); i++) {
		leave_slots(test, process[i], n[i]);
		mlx5_ib_odp_process_put(process[i]);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&user->count[MLX5_IB_SHARE_FAULT]), 0);
	mlx5_ib_user_put(user);
	mlx5_ib_user_put(other);
	free_env(test, env);
}

/* Work items that resolve faults run on all CPUs at once. */
static void faults_are_counted_under_locks(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct odp_process *process = process_of(env);
	struct mlx5_ib_fault fault = { .key = env->mr->rkey };
	bool extra;

	EXPECT_TAKES_LOCK(test, &process->lock, mlx5_ib_odp_process_enter(process));
	EXPECT_TAKES_LOCK(test, &process->lock, mlx5_ib_odp_process_leave(process));
	EXPECT_TAKES_LOCK(test, &process->lock, mlx5_ib_odp_process_next(process, &extra));
	mlx5_ib_odp_process_put(process);
	EXPECT_TAKES_LOCK(test, &odp->repeated_lock, mlx5_ib_odp_repeated_get(odp, &fault));
	EXPECT_TAKES_LOCK(test, &odp->repeated_lock, mlx5_ib_odp_repeated_set(odp, &fault, 1));
	EXPECT_TAKES_LOCK(test, &odp->repeated_lock,
			  mlx5_ib_odp_repeated_forget(odp, env->mr->rkey));
	free_env(test, env);
}

/* Kernel consumers always get their first slot, so more slots can be taken than there are. */
static void taken_slots_may_be_more_than_there_are(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_user *user = mlx5_ib_user_get(env->mock->dev, KUIDT_INIT(1000));
	struct odp_process *kernel[4], *process;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, user);
	odp->max_slots = 2;
	process = make_process(test, odp, user);
	for (i = 0; i < ARRAY_SIZE(kernel); i++) {
		kernel[i] = make_process(test, odp, NULL);
		KUNIT_EXPECT_TRUE(test, mlx5_ib_odp_process_enter(kernel[i]));
		KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_enter(kernel[i]));
	}
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_enter(process));
	for (i = 0; i < ARRAY_SIZE(kernel); i++) {
		leave(test, kernel[i]);
		mlx5_ib_odp_process_put(kernel[i]);
	}
	KUNIT_EXPECT_EQ(test, take_slots(process), 1);
	leave(test, process);
	mlx5_ib_odp_process_put(process);
	mlx5_ib_user_put(user);
	free_env(test, env);
}

/* The extra slot does not count for the user. A process with other slots gives it up first. */
static void extra_slot_is_given_up_first(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_user *user = mlx5_ib_user_get(env->mock->dev, KUIDT_INIT(1000));
	struct odp_process *process;
	struct list_head waiting;
	atomic_t *count;
	bool extra;

	KUNIT_ASSERT_NOT_NULL(test, user);
	odp->max_slots = MLX5_IB_ODP_MAX_SLOTS;
	process = make_process(test, odp, user);
	count = &user->count[MLX5_IB_SHARE_FAULT];
	atomic_set(count, odp->max_slots);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_wait(process, &waiting, &extra));
	KUNIT_EXPECT_TRUE(test, extra);
	atomic_set(count, 0);
	KUNIT_EXPECT_TRUE(test, mlx5_ib_odp_process_enter(process));
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	leave(test, process);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), 1);
	leave(test, process);
	KUNIT_EXPECT_EQ(test, atomic_read(count), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_slots), 0);
	mlx5_ib_odp_process_put(process);
	mlx5_ib_user_put(user);
	free_env(test, env);
}

/**
 * struct waiting_fault - a fault that waits for a slot
 * @job: the fault
 * @queued: completed when the workqueue runs the work item of the fault
 * @hold: work item that blocks the workqueue that must not get the fault
 * @release: ends @hold
 */
struct waiting_fault {
	struct odp_fault_work job;
	struct completion queued;
	struct work_struct hold;
	struct completion release;
};

static void note_queued(struct work_struct *work)
{
	complete(&container_of(work, struct waiting_fault, job.work)->queued);
}

static void hold_queue(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct waiting_fault, hold)->release);
}

static struct waiting_fault *make_waiting_fault(struct kunit *test, struct mlx5_ib_odp *odp)
{
	struct waiting_fault *fault = kunit_kzalloc(test, sizeof(*fault), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fault);
	odp->fault_wq = alloc_ordered_workqueue("bluebell_fault_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, odp->fault_wq);
	odp->extra_wq = alloc_ordered_workqueue("bluebell_extra_test", 0);
	KUNIT_ASSERT_NOT_NULL(test, odp->extra_wq);
	fault->job.odp = odp;
	INIT_WORK(&fault->job.work, note_queued);
	init_completion(&fault->queued);
	INIT_WORK(&fault->hold, hold_queue);
	init_completion(&fault->release);
	return fault;
}

static const struct queue_case {
	const char *name;
	bool extra;
} queue_cases[] = {
	{ "a slot", false },
	{ "an extra slot", true },
};

KUNIT_ARRAY_PARAM_DESC(queue, queue_cases, name);

/* The only fault that has a slot gives it up. */
static void fault_that_waited_is_queued_with_the_slot(struct kunit *test)
{
	const struct queue_case *c = test->param_value;
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;
	struct mlx5_ib_user *user = mlx5_ib_user_get(env->mock->dev, KUIDT_INIT(1000));
	struct waiting_fault *fault = make_waiting_fault(test, odp);
	struct odp_process *process, *slot;
	struct list_head first;
	bool extra;

	KUNIT_ASSERT_NOT_NULL(test, user);
	/* Of two slots a process may have one, or an extra one if its user may have no more. */
	odp->max_slots = 2;
	process = make_process(test, odp, user);
	atomic_set(&user->count[MLX5_IB_SHARE_FAULT], c->extra ? odp->max_slots : 0);
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_wait(process, &first, &extra));
	KUNIT_EXPECT_EQ(test, extra, c->extra);
	KUNIT_EXPECT_TRUE(test, mlx5_ib_odp_process_wait(process, &fault->job.waiting, &extra));
	queue_work(c->extra ? odp->fault_wq : odp->extra_wq, &fault->hold);
	slot = process;
	mlx5_ib_odp_fault_leave(&slot);
	KUNIT_EXPECT_NULL(test, slot);
	KUNIT_EXPECT_EQ(test, atomic_read(&odp->num_faults), 1);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&fault->queued, 10 * HZ), 0);
	KUNIT_EXPECT_PTR_EQ(test, fault->job.slot, process);
	KUNIT_EXPECT_EQ(test, fault->job.extra, c->extra);
	complete(&fault->release);
	flush_work(&fault->hold);
	flush_work(&fault->job.work);
	atomic_set(&odp->num_faults, 0);
	leave(test, process);
	atomic_set(&user->count[MLX5_IB_SHARE_FAULT], 0);
	mlx5_ib_odp_process_put(process);
	mlx5_ib_user_put(user);
	free_env(test, env);
}

/* Waiting faults get slots in the order of their arrival, as many as the process may have. */
static void waiting_faults_get_slots_in_their_order(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct odp_process *process = process_of(env);
	unsigned int i, n = take_slots(process);
	struct list_head waiting[3];
	bool extra;

	for (i = 0; i < ARRAY_SIZE(waiting); i++)
		KUNIT_ASSERT_TRUE(test, mlx5_ib_odp_process_wait(process, &waiting[i], &extra));
	KUNIT_EXPECT_NULL(test, mlx5_ib_odp_process_next(process, &extra));
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		mlx5_ib_odp_process_leave(process);
		KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_process_next(process, &extra), &waiting[i]);
		KUNIT_EXPECT_NULL(test, mlx5_ib_odp_process_next(process, &extra));
		mlx5_ib_odp_process_put(process);
	}
	leave(test, process);
	/* A slot may become free between the attempt to take one and the wait. */
	KUNIT_EXPECT_FALSE(test, mlx5_ib_odp_process_wait(process, &waiting[0], &extra));
	KUNIT_EXPECT_TRUE(test, mlx5_ib_odp_process_wait(process, &waiting[0], &extra));
	mlx5_ib_odp_process_leave(process);
	mlx5_ib_odp_process_put(process);
	KUNIT_EXPECT_PTR_EQ(test, mlx5_ib_odp_process_next(process, &extra), &waiting[0]);
	leave_slots(test, process, n);
	KUNIT_EXPECT_EQ(test, refcount_read(&process->refs), 1);
	free_env(test, env);
	KUNIT_EXPECT_TRUE(test, hash_empty(env->mock->dev->odp->processes));
}

/* ---- events ----------------------------------------------------------------------------- */

/* The page-fault event queue: @num events, the first @taken of which the driver has taken. */
static struct {
	struct mlx5_eqe eqe;
	u32 num;
	u32 taken;
	bool armed;
} queue;

static struct mlx5_eqe *get_eqe(struct mlx5_ib_odp *odp, u32 cc)
{
	return queue.taken + cc < queue.num ? &queue.eqe : NULL;
}

static void update_ci(struct mlx5_ib_odp *odp, u32 cc, bool arm)
{
	queue.taken += cc;
	queue.armed = arm;
}

/*
 * There is no memory for the second event, neither in the interrupt nor in the first attempt of the
 * work item. The events are not of faults, so that no work item is queued for them.
 */
static void events_wait_until_there_is_memory(struct kunit *test)
{
	struct env *env = make_env(test, 0, 0);
	struct mlx5_ib_odp *odp = env->mock->dev->odp;

	fail_alloc_init(test);
	memset(&queue, 0, sizeof(queue));
	queue.num = 3;
	queue.eqe.type = MLX5_EVENT_TYPE_COMM_EST;
	kunit_activate_static_stub(test, mlx5_ib_odp_get_eqe, get_eqe);
	kunit_activate_static_stub(test, mlx5_ib_odp_update_ci, update_ci);
	fail_alloc_begin(2);
	KUNIT_EXPECT_EQ(test, odp->nb.notifier_call(&odp->nb, 0, NULL), NOTIFY_OK);
	KUNIT_EXPECT_TRUE(test, fail_alloc_end());
	KUNIT_EXPECT_EQ(test, queue.taken, 1);
	KUNIT_EXPECT_FALSE(test, queue.armed);
	/* The workqueue is held, so the test runs the work item itself. */
	KUNIT_EXPECT_TRUE(test, cancel_work_sync(&odp->eq_work));
	fail_alloc_begin(1);
	odp->eq_work.func(&odp->eq_work);
	KUNIT_EXPECT_TRUE(test, fail_alloc_end());
	KUNIT_EXPECT_EQ(test, queue.taken, 3);
	KUNIT_EXPECT_TRUE(test, queue.armed);
	/* An interrupt of another event queue changes nothing. */
	queue.armed = false;
	KUNIT_EXPECT_EQ(test, odp->nb.notifier_call(&odp->nb, 0, NULL), NOTIFY_OK);
	KUNIT_EXPECT_FALSE(test, queue.armed);
	KUNIT_EXPECT_FALSE(test, work_pending(&odp->eq_work));
	free_env(test, env);
}

static struct kunit_case odp_fault_cases[] = {
	KUNIT_CASE(list_without_a_paged_key_is_repeated_once),
	KUNIT_CASE(list_with_a_later_key_of_another_domain_is_repeated_once),
	KUNIT_CASE(fault_that_is_reported_late_is_a_new_one),
	KUNIT_CASE(wqe_is_resolved_from_where_its_message_is),
	KUNIT_CASE(key_of_another_domain_maps_no_page),
	KUNIT_CASE(key_of_its_domain_maps_its_pages),
	KUNIT_CASE(fault_that_needs_one_key_too_many_fails),
	KUNIT_CASE(table_of_keys_leads_to_its_pages),
	KUNIT_CASE(long_table_of_keys_is_read_as_far_as_needed),
	KUNIT_CASE(segments_of_a_wqe_share_the_tables_of_a_fault),
	KUNIT_CASE(table_of_keys_that_leads_nowhere_maps_no_page),
	KUNIT_CASE(table_of_keys_of_another_domain_maps_no_page),
	KUNIT_CASE(tables_are_followed_as_deep_as_the_device_goes),
	KUNIT_CASE(table_leads_to_no_region_of_another_domain),
	KUNIT_CASE(what_is_not_needed_yet_is_looked_at_in_part),
	KUNIT_CASE_PARAM(walk_keeps_to_its_budget, budget_gen_params),
	KUNIT_CASE(key_over_keys_that_firmware_keeps_leads_to_its_pages),
	KUNIT_CASE_PARAM(receive_list_starts_behind_the_signature, recv_gen_params),
	KUNIT_CASE(pieces_of_a_fault_are_bounded_altogether),
	KUNIT_CASE_PARAM(reads_by_many_queues_are_resolved, read_gen_params),
	KUNIT_CASE(read_fault_that_is_repeated_maps_for_writing),
	KUNIT_CASE(fault_at_a_wqe_maps_as_its_operation_accesses),
	KUNIT_CASE(fault_beyond_a_region_or_its_rights_fails),
	KUNIT_CASE(repeated_read_of_a_read_only_region_succeeds),
	KUNIT_CASE(write_to_a_read_only_mapping_fails_in_the_end),
	KUNIT_CASE(fault_that_names_too_little_fails_in_the_end),
	KUNIT_CASE(remote_key_without_a_paged_region_fails_at_once),
	KUNIT_CASE_PARAM(fault_maps_what_is_needed_and_4_mib_ahead, ahead_gen_params),
	KUNIT_CASE(fault_waits_for_umr_once),
	KUNIT_CASE(memory_fault_maps_what_is_needed_and_near),
	KUNIT_CASE(memory_near_a_fault_is_bounded),
	KUNIT_CASE(memory_near_a_fault_may_be_missing),
	KUNIT_CASE(need_of_a_memory_fault_ends_with_its_region),
	KUNIT_CASE(early_event_is_answered_with_an_error_only),
	KUNIT_CASE(memory_fault_at_an_unknown_key_is_repeated_once),
	KUNIT_CASE(key_of_a_freed_leaf_is_new_in_the_next_leaf),
	KUNIT_CASE(memory_for_reading_is_mapped_for_reading),
	KUNIT_CASE(memory_fault_finds_its_implicit_region),
	KUNIT_CASE(part_of_a_region_that_goes_leads_nowhere),
	KUNIT_CASE_PARAM(fault_on_memory_of_an_ended_process_fails, ended_gen_params),
	KUNIT_CASE(fault_of_an_unknown_queue_is_answered),
	KUNIT_CASE(fault_of_unknown_kind_maps_no_page_and_fails),
	KUNIT_CASE_PARAM(answer_is_repeated_until_firmware_has_executed_it, answer_gen_params),
	KUNIT_CASE(fault_is_the_same_if_all_of_it_is),
	KUNIT_CASE(fault_that_maps_a_page_is_not_undone_by_an_earlier_one),
	KUNIT_CASE(fault_that_maps_a_page_displaces_no_other),
	KUNIT_CASE(fault_displaces_the_one_with_the_fewest_answers),
	KUNIT_CASE(more_endless_faults_than_entries_end),
	KUNIT_CASE(wqes_of_kernel_consumers_are_read),
	KUNIT_CASE(fault_without_a_slot_waits),
	KUNIT_CASE(page_that_is_not_needed_yet_is_not_waited_for),
	KUNIT_CASE(fault_gives_up_the_slot_of_another_process),
	KUNIT_CASE(tables_of_keys_are_read_with_a_slot),
	KUNIT_CASE(smallest_node_runs_as_many_faults_as_have_a_slot),
	KUNIT_CASE(processes_leave_slots_for_others),
	KUNIT_CASE(processes_of_a_user_leave_slots_for_other_users),
	KUNIT_CASE(faults_are_counted_under_locks),
	KUNIT_CASE(taken_slots_may_be_more_than_there_are),
	KUNIT_CASE(extra_slot_is_given_up_first),
	KUNIT_CASE_PARAM(fault_that_waited_is_queued_with_the_slot, queue_gen_params),
	KUNIT_CASE(waiting_faults_get_slots_in_their_order),
	KUNIT_CASE(events_wait_until_there_is_memory),
	{}
};

static struct kunit_suite odp_fault_suite = {
	.name = "bluebell_odp_fault",
	.test_cases = odp_fault_cases,
};

kunit_test_suite(odp_fault_suite);
