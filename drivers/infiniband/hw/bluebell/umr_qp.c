// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver's own queue pair, which executes UMR work requests: posting,
 * waiting, and starting anew after a failure.
 */

#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/doorbell.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "bluebell.h"
#include "cq.h"
#include "fw.h"
#include "layout_cq.h"
#include "layout_mkey.h"
#include "layout_qp.h"
#include "umr_qp.h"

#define WQE_WQEBBS	(sizeof(struct mlx5_ib_umr_wqe) / MLX5_SEND_WQE_BB)
#define LOG_SQ_WQEBBS	8
#define SQ_WQEBBS	BIT(LOG_SQ_WQEBBS)
#define SQ_MASK		(SQ_WQEBBS - 1)
#define MAX_POSTED	(SQ_WQEBBS / WQE_WQEBBS)
#define LOG_CQES	7
#define CQES		BIT(LOG_CQES)

/* One coherent buffer holds everything that the device reads and writes. */
#define SQ_OFFSET	0
#define CQ_OFFSET	(SQ_WQEBBS * MLX5_SEND_WQE_BB)
#define DB_OFFSET	(CQ_OFFSET + CQES * sizeof(struct mlx5_cqe64))
#define BUF_BYTES	(DB_OFFSET + MLX5_ADAPTER_PAGE_SIZE)
/* Doorbell records: the CQ's consumer index and arm words, the QP's two counters. */
#define CQ_DB_OFFSET	DB_OFFSET
#define QP_DB_OFFSET	(DB_OFFSET + 64)

/*
 * How long to look for a completion before sleeping. A request takes a few
 * microseconds; to sleep takes two register writes, an interrupt and a wake-up.
 */
#define SPIN_NS		(100 * NSEC_PER_USEC)
/* As long as mlx5_core waits for a command. */
#define UMR_TIMEOUT	(60 * HZ)
/* MLX5_QPC_PM_STATE_*, MLX5_QPC_RQ_TYPE_*: migrated; no receive queue. */
#define PM_STATE_MIGRATED	3
#define RQ_TYPE_NONE		3
/* How long those wait for a restart who can do nothing else. */
#define AWAIT_TIMEOUT		HZ

static_assert(MAX_POSTED <= CQES);

enum umr_state {
	UMR_RUNNING,
	UMR_STOPPED,	/* in reset, or on its way there; @restart is due */
	UMR_GONE,	/* with the device: for good */
};

/**
 * struct mlx5_ib_umr - the queue pair
 * @dev: device
 * @buf: send queue, completion queue and doorbell records
 * @dma: its address
 * @has_pd: @pdn is valid
 * @pdn: of the QP, of free keys and of @lkey
 * @lkey: over all of DMA memory, for translation lists; 0 if there is none
 * @has_uar: @uar is valid
 * @uar: device index of the UAR that rings the QP and arms the CQ
 * @map: its registers
 * @has_cq: @mcq exists
 * @mcq: the CQ; its consumer index is guarded by @lock
 * @qpn: of the QP; 0 if there is none
 * @reset_lock: held while the QP is taken to reset or out of it
 * @restart: takes the QP out of reset
 * @restarted: woken by that, and when the device goes
 * @slots: room in the send queue, one for each WQE
 * @lock: guards all below; taken in the completion interrupt
 * @state: whether requests are taken
 * @epoch: how often the QP has been stopped
 * @failures: of those, since a request last succeeded
 * @pc: WQEBBs posted
 * @armed: the next completion raises an interrupt
 * @sleepers: tasks that need that
 * @posted: who waits for the WQE that begins at this WQEBB
 */
struct mlx5_ib_umr {
	struct mlx5_ib_dev *dev;
	void *buf;
	dma_addr_t dma;
	bool has_pd;
	u32 pdn;
	u32 lkey;
	bool has_uar;
	u32 uar;
	void __iomem *map;
	bool has_cq;
	struct mlx5_core_cq mcq;
	u32 qpn;
	struct mutex reset_lock;	/* state of the QP at the device */
	struct delayed_work restart;
	wait_queue_head_t restarted;
	struct semaphore slots;
	spinlock_t lock; /* state to posted */
	enum umr_state state;
	u32 epoch;
	unsigned int failures;
	u16 pc;
	bool armed;
	unsigned int sleepers;
	struct mlx5_ib_umr_request *posted[SQ_WQEBBS];
};

static void reset_qp(struct mlx5_ib_umr *umr);

/*
 * Requests are also made where memory is being reclaimed, to take pages from the
 * device. So the commands that reset the queue pair may not start reclaiming, nor
 * may those that others wait for there.
 */
static unsigned int lock_reset(struct mlx5_ib_umr *umr)
{
	mutex_lock(&umr->reset_lock);
	return memalloc_noreclaim_save();
}

static void unlock_reset(struct mlx5_ib_umr *umr, unsigned int flags)
{
	memalloc_noreclaim_restore(flags);
	mutex_unlock(&umr->reset_lock);
}

/* ---- completions -------------------------------------------------------- */

static struct mlx5_cqe64 *next_cqe(struct mlx5_ib_umr *umr)
{
	u32 ci = READ_ONCE(umr->mcq.cons_index);
	struct mlx5_cqe64 *cqe = umr->buf + CQ_OFFSET + (ci & (CQES - 1)) * sizeof(*cqe);
	u8 op_own = READ_ONCE(cqe->op_own);

	if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & MLX5_CQE_OWNER_MASK) != !!(ci & CQES))
		return NULL;
	/* The rest of the CQE is valid once its owner bit is ours. */
	dma_rmb();
	return cqe;
}

static void finish(struct mlx5_ib_umr *umr, u16 index, bool ok)
{
	struct mlx5_ib_umr_request *req = umr->posted[index & SQ_MASK];

	lockdep_assert_held(&umr->lock);
	if (!req)
		return;
	umr->posted[index & SQ_MASK] = NULL;
	req->ok = ok;
	if (ok)
		umr->failures = 0;
	complete(&req->done);
	up(&umr->slots);
}

static void finish_all(struct mlx5_ib_umr *umr)
{
	unsigned int i;

	for (i = 0; i < SQ_WQEBBS; i++)
		finish(umr, i, false);
}

static void poll_cq(struct mlx5_ib_umr *umr)
{
	struct mlx5_cqe64 *cqe;

	lockdep_assert_held(&umr->lock);
	while ((cqe = next_cqe(umr))) {
		finish(umr, be16_to_cpu(cqe->wqe_counter), cqe->op_own >> 4 == MLX5_CQE_REQ);
		WRITE_ONCE(umr->mcq.cons_index, umr->mcq.cons_index + 1);
	}
	mlx5_cq_set_ci(&umr->mcq);
}

/*
 * Somebody sleeps, or is about to. A completion that is there already, or that
 * comes before the register is written, raises an event at once.
 */
static void arm_cq(struct mlx5_ib_umr *umr)
{
	lockdep_assert_held(&umr->lock);
	if (umr->armed || !umr->sleepers)
		return;
	umr->armed = true;
	mlx5_cq_arm(&umr->mcq, MLX5_CQ_DB_REQ_NOT, umr->map, umr->mcq.cons_index);
}

/* From the interrupt: there are few completions, and someone sleeps until they are seen. */
static void cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, mcq);

	guard(spinlock_irqsave)(&umr->lock);
	umr->armed = false;
	poll_cq(umr);
	arm_cq(umr);
}

static void cq_event(struct mlx5_core_cq *mcq, enum mlx5_event type)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, mcq);

	mlx5_ib_abort_umr(umr->dev);
}

/* ---- waiting -------------------------------------------------------------- */

static void start_to_sleep(struct mlx5_ib_umr *umr)
{
	guard(spinlock_irqsave)(&umr->lock);
	umr->sleepers++;
	poll_cq(umr);
	arm_cq(umr);
}

static void stop_sleeping(struct mlx5_ib_umr *umr)
{
	guard(spinlock_irqsave)(&umr->lock);
	umr->sleepers--;
}

/* Look for the completion for as long as it would take to go to sleep. */
static bool spin(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_request *req)
{
	u64 end = local_clock() + SPIN_NS;

	do {
		if (next_cqe(umr)) {
			guard(spinlock_irqsave)(&umr->lock);
			poll_cq(umr);
		}
		if (completion_done(&req->done))
			return true;
		cpu_relax();
	} while (!need_resched() && local_clock() < end);
	return false;
}

static bool wait_for(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_request *req)
{
	bool done;

	if (spin(umr, req))
		return true;
	start_to_sleep(umr);
	done = wait_for_completion_timeout(&req->done, UMR_TIMEOUT);
	stop_sleeping(umr);
	return done;
}

/* Room for a WQE. Whoever else waits for a completion may not look at the CQ for a while. */
static void get_slot(struct mlx5_ib_umr *umr)
{
	if (!down_trylock(&umr->slots))
		return;
	start_to_sleep(umr);
	down(&umr->slots);
	stop_sleeping(umr);
}

/* ---- posting ------------------------------------------------------------- */

static void ring(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_wqe *wqe)
{
	__be32 *db = umr->buf + QP_DB_OFFSET;

	/* The WQE before the record, the record before the register. */
	dma_wmb();
	db[MLX5_SND_DBR] = cpu_to_be32(umr->pc);
	/* The register is on the bus: dma_wmb() does not order it. */
	wmb();
	mlx5_write64((__be32 *)&wqe->ctrl, umr->map + MLX5_BF_OFFSET);
}

/**
 * mlx5_ib_umr_post - put a request on the queue
 * @dev: device with a UMR queue pair
 * @wqe: the request, complete but for mlx5_ib_umr_fill_ctrl(); may go once this
 *	returns
 * @req: finds its completion; to be given to mlx5_ib_umr_wait() if this succeeds
 *
 * Requests are executed in the order in which they were posted. May sleep.
 *
 * Return: 0; -EAGAIN if the queue pair takes no requests: then firmware has to
 * do the work.
 */
int mlx5_ib_umr_post(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe,
		     struct mlx5_ib_umr_request *req)
{
	struct mlx5_ib_umr *umr = dev->umr;
	unsigned int i;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_post, dev, wqe, req);

	init_completion(&req->done);
	req->ok = false;
	get_slot(umr);
	guard(spinlock_irqsave)(&umr->lock);
	if (umr->state != UMR_RUNNING) {
		up(&umr->slots);
		return -EAGAIN;
	}
	req->epoch = umr->epoch;
	mlx5_ib_umr_fill_ctrl(wqe, umr->qpn, umr->pc);
	/* The queue may wrap in the middle of it. */
	for (i = 0; i < WQE_WQEBBS; i++)
		memcpy(umr->buf + SQ_OFFSET + ((umr->pc + i) & SQ_MASK) * MLX5_SEND_WQE_BB,
		       (u8 *)wqe + i * MLX5_SEND_WQE_BB, MLX5_SEND_WQE_BB);
	umr->posted[umr->pc & SQ_MASK] = req;
	/* The queue advances by what the WQE says its size is. */
	umr->pc += DIV_ROUND_UP((be32_to_cpu(wqe->ctrl.qpn_ds) & 0x3f) *
				sizeof(struct mlx5_wqe_data_seg), MLX5_SEND_WQE_BB);
	ring(umr, wqe);
	return 0;
}

/**
 * mlx5_ib_umr_wait - wait for a request that has been posted
 * @dev: device
 * @req: of mlx5_ib_umr_post()
 *
 * When it returns the device no longer reads what the request points at. May
 * sleep.
 *
 * Return: 0; -EIO if the request failed, or was not executed because another
 * one had.
 */
int mlx5_ib_umr_wait(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_request *req)
{
	struct mlx5_ib_umr *umr = dev->umr;
	unsigned int flags;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_wait, dev, req);

	if (wait_for(umr, req) && req->ok)
		return 0;
	flags = lock_reset(umr);
	if (umr->epoch == req->epoch)
		reset_qp(umr);
	unlock_reset(umr, flags);
	return -EIO;
}

/**
 * mlx5_ib_umr_exec - have a request executed
 * @dev: device with a UMR queue pair
 * @wqe: the request, complete but for mlx5_ib_umr_fill_ctrl()
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN if it was not posted, -EIO if it failed.
 */
int mlx5_ib_umr_exec(struct mlx5_ib_dev *dev, struct mlx5_ib_umr_wqe *wqe)
{
	struct mlx5_ib_umr_request req;
	int err;

	err = mlx5_ib_umr_post(dev, wqe, &req);
	return err ?: mlx5_ib_umr_wait(dev, &req);
}

/**
 * mlx5_ib_umr_lkey - the key for translation lists
 * @dev: device with a UMR queue pair
 *
 * Return: a key that its queue pair reads all of DMA memory with.
 */
u32 mlx5_ib_umr_lkey(struct mlx5_ib_dev *dev)
{
	return dev->umr->lkey;
}

/**
 * mlx5_ib_umr_pdn - the domain that free keys wait in
 * @dev: device with a UMR queue pair
 *
 * Return: a protection domain that no user's queue pair is in.
 */
u32 mlx5_ib_umr_pdn(struct mlx5_ib_dev *dev)
{
	return dev->umr->pdn;
}

/* ---- failure ----------------------------------------------------------------- */

/*
 * A request has failed, and with it the QP. In reset it executes nothing of what
 * is still posted; its completion queue is empty before it starts anew.
 */
static void reset_qp(struct mlx5_ib_umr *umr)
{
	unsigned int failures;
	u32 ece = 0;

	lockdep_assert_held(&umr->reset_lock);
	scoped_guard(spinlock_irqsave, &umr->lock) {
		if (umr->state == UMR_GONE)
			return;
		umr->state = UMR_STOPPED;
		failures = umr->failures++;
	}
	if (!failures)
		ibdev_warn_ratelimited(&umr->dev->ib_dev,
				       "fast registration failed: using firmware commands for now\n");
	mlx5_fw_modify_qp(umr->dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_2RST_QP, umr->qpn, NULL, 0,
			  &ece);
	scoped_guard(spinlock_irqsave, &umr->lock) {
		poll_cq(umr);
		finish_all(umr);
		umr->pc = 0;
		umr->epoch++;
	}
	queue_delayed_work(system_dfl_wq, &umr->restart,
			   msecs_to_jiffies(mlx5_ib_umr_restart_ms(failures)));
}

static int start_qp(struct mlx5_ib_umr *umr);

static void take_out_of_reset(struct mlx5_ib_umr *umr)
{
	memset(umr->buf + QP_DB_OFFSET, 0, 2 * sizeof(__be32));
	if (start_qp(umr)) {
		reset_qp(umr);
		return;
	}
	guard(spinlock_irqsave)(&umr->lock);
	if (umr->state == UMR_STOPPED)
		umr->state = UMR_RUNNING;
	wake_up_all(&umr->restarted);
}

static void restart_qp(struct work_struct *work)
{
	struct mlx5_ib_umr *umr = container_of(to_delayed_work(work), struct mlx5_ib_umr, restart);
	unsigned int flags = lock_reset(umr);

	if (READ_ONCE(umr->state) == UMR_STOPPED)
		take_out_of_reset(umr);
	unlock_reset(umr, flags);
}

/**
 * mlx5_ib_umr_await - wait for a queue pair that has been stopped by a failure
 * @dev: device with a UMR queue pair
 *
 * For those that have no other means. May sleep, a second at most; not while
 * memory is being reclaimed, for the queue pair is restarted by commands.
 *
 * Return: 0 if it takes requests, else -EAGAIN.
 */
int mlx5_ib_umr_await(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_umr_await, dev);

	wait_event_timeout(umr->restarted, READ_ONCE(umr->state) != UMR_STOPPED, AWAIT_TIMEOUT);
	return READ_ONCE(umr->state) == UMR_RUNNING ? 0 : -EAGAIN;
}

/**
 * mlx5_ib_abort_umr - the device is gone: nobody shall wait for it
 * @dev: device
 *
 * Any context.
 */
void mlx5_ib_abort_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	if (!umr)
		return;
	guard(spinlock_irqsave)(&umr->lock);
	umr->state = UMR_GONE;
	wake_up_all(&umr->restarted);
	finish_all(umr);
}

/* ---- setting up ------------------------------------------------------------ */

static int create_lkey(struct mlx5_ib_umr *umr)
{
	u32 in[MLX5_ST_SZ_DW(create_mkey_in)] = {};
	void *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

	MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_PA);
	MLX5_SET(mkc, mkc, lr, 1);
	MLX5_SET(mkc, mkc, length64, 1);
	MLX5_SET(mkc, mkc, qpn, 0xffffff);
	MLX5_SET(mkc, mkc, pd, umr->pdn);
	return mlx5_fw_create_mkey(umr->dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &umr->lkey);
}

static int map_uar(struct mlx5_ib_umr *umr)
{
	struct mlx5_core_dev *mdev = umr->dev->mdev;
	u64 pfn;
	int err;

	err = mlx5_fw_alloc_uar(umr->dev, MLX5_IB_KERNEL_UID, &umr->uar);
	if (err)
		return err;
	umr->has_uar = true;
	pfn = mlx5_ib_uar_to_pfn(mdev->bar_addr, umr->uar, PAGE_SHIFT,
				 MLX5_CAP_GEN(mdev, uar_4k));
	umr->map = ioremap(pfn << PAGE_SHIFT, PAGE_SIZE);
	return umr->map ? 0 : -ENOMEM;
}

static void fill_pas(__be64 *pas, dma_addr_t dma, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes >> MLX5_ADAPTER_PAGE_SHIFT; i++)
		pas[i] = cpu_to_be64(dma + (i << MLX5_ADAPTER_PAGE_SHIFT));
}

static int create_cq(struct mlx5_ib_umr *umr)
{
	struct mlx5_cqe64 *cqe = umr->buf + CQ_OFFSET;
	size_t bytes = CQES * sizeof(*cqe);
	struct mlx5_ib_cqc_attr attr = {
		.log_cq_size = LOG_CQES,
		.cqe_stride = CQE_STRIDE_64,
		.uar_page = umr->uar,
		.dbr_addr = umr->dma + CQ_DB_OFFSET,
		.geo.page_shift = MLX5_ADAPTER_PAGE_SHIFT,
	};
	size_t inlen = MLX5_ST_SZ_BYTES(create_cq_in) +
		       sizeof(__be64) * (bytes >> MLX5_ADAPTER_PAGE_SHIFT);
	void *in __free(kfree) = kzalloc(inlen, GFP_KERNEL);
	unsigned int i;
	int eqn, err;

	if (!in)
		return -ENOMEM;
	err = mlx5_ib_comp_eqn(umr->dev, 0, &eqn);
	if (err)
		return err;
	attr.eqn = eqn;
	for (i = 0; i < CQES; i++)
		cqe[i].op_own = MLX5_CQE_INVALID << 4 | MLX5_CQE_OWNER_MASK;
	mlx5_ib_fill_cqc(MLX5_ADDR_OF(create_cq_in, in, cq_context), &attr);
	fill_pas(MLX5_ADDR_OF(create_cq_in, in, pas), umr->dma + CQ_OFFSET, bytes);

	umr->mcq.cqe_sz = sizeof(*cqe);
	umr->mcq.set_ci_db = umr->buf + CQ_DB_OFFSET;
	umr->mcq.arm_db = umr->mcq.set_ci_db + 1;
	umr->mcq.comp = cq_comp;
	umr->mcq.event = cq_event;
	err = mlx5_fw_create_cq(umr->dev, MLX5_IB_KERNEL_UID, &umr->mcq, in, inlen);
	umr->has_cq = !err;
	return err;
}

static void fill_qpc(struct mlx5_ib_umr *umr, void *qpc)
{
	MLX5_SET(qpc, qpc, st, MLX5_QPC_ST_REG_UMR);
	MLX5_SET(qpc, qpc, pm_state, PM_STATE_MIGRATED);
	MLX5_SET(qpc, qpc, pd, umr->pdn);
	MLX5_SET(qpc, qpc, cqn_snd, umr->mcq.cqn);
	MLX5_SET(qpc, qpc, cqn_rcv, umr->mcq.cqn);
	MLX5_SET(qpc, qpc, rq_type, RQ_TYPE_NONE);
	MLX5_SET(qpc, qpc, log_sq_size, LOG_SQ_WQEBBS);
	MLX5_SET(qpc, qpc, uar_page, umr->uar);
	MLX5_SET64(qpc, qpc, dbr_addr, umr->dma + QP_DB_OFFSET);
	MLX5_SET(qpc, qpc, user_index, MLX5_IB_DEFAULT_UIDX);
	MLX5_SET(qpc, qpc, ts_format, mlx5_get_qp_default_ts(umr->dev->mdev));
}

static int create_qp(struct mlx5_ib_umr *umr)
{
	size_t inlen = MLX5_ST_SZ_BYTES(create_qp_in) +
		       sizeof(__be64) * (CQ_OFFSET >> MLX5_ADAPTER_PAGE_SHIFT);
	void *in __free(kfree) = kzalloc(inlen, GFP_KERNEL);
	u32 ece = 0;

	if (!in)
		return -ENOMEM;
	fill_qpc(umr, MLX5_ADDR_OF(create_qp_in, in, qpc));
	fill_pas(MLX5_ADDR_OF(create_qp_in, in, pas), umr->dma + SQ_OFFSET, CQ_OFFSET);
	return mlx5_fw_create_qp(umr->dev, MLX5_IB_KERNEL_UID, in, inlen, &umr->qpn, &ece);
}

static int start_qp(struct mlx5_ib_umr *umr)
{
	static const u16 steps[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP, MLX5_CMD_OP_RTR2RTS_QP,
	};
	u32 qpc[MLX5_ST_SZ_DW(qpc)] = {};
	unsigned int i;
	u32 ece = 0;
	int err;

	fill_qpc(umr, qpc);
	MLX5_SET(qpc, qpc, mtu, IB_MTU_256);
	MLX5_SET(qpc, qpc, primary_address_path.vhca_port_num, 1);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		err = mlx5_fw_modify_qp(umr->dev, MLX5_IB_KERNEL_UID, steps[i], umr->qpn, qpc, 0,
					&ece);
		if (err)
			return err;
	}
	return 0;
}

static void free_umr(struct mlx5_ib_umr *umr)
{
	struct mlx5_ib_dev *dev;

	if (!umr)
		return;
	dev = umr->dev;
	disable_delayed_work_sync(&umr->restart);
	if (umr->qpn)
		mlx5_fw_destroy_qp(dev, MLX5_IB_KERNEL_UID, umr->qpn);
	if (umr->has_cq)
		mlx5_fw_destroy_cq(dev, &umr->mcq);
	if (umr->map)
		iounmap(umr->map);
	if (umr->has_uar)
		mlx5_fw_dealloc_uar(dev, MLX5_IB_KERNEL_UID, umr->uar);
	if (umr->lkey)
		mlx5_fw_destroy_mkey(dev, MLX5_IB_KERNEL_UID, umr->lkey);
	if (umr->has_pd)
		mlx5_fw_dealloc_pd(dev, MLX5_IB_KERNEL_UID, umr->pdn);
	if (umr->buf)
		dma_free_coherent(dev->mdev->device, BUF_BYTES, umr->buf, umr->dma);
	kfree(umr);
}

DEFINE_FREE(umr, struct mlx5_ib_umr *, free_umr(_T))

static int set_up(struct mlx5_ib_umr *umr)
{
	int err;

	umr->buf = dma_alloc_coherent(umr->dev->mdev->device, BUF_BYTES, &umr->dma, GFP_KERNEL);
	if (!umr->buf)
		return -ENOMEM;
	err = mlx5_fw_alloc_pd(umr->dev, MLX5_IB_KERNEL_UID, &umr->pdn);
	if (err)
		return err;
	umr->has_pd = true;
	err = create_lkey(umr);
	if (!err)
		err = map_uar(umr);
	if (!err)
		err = create_cq(umr);
	if (!err)
		err = create_qp(umr);
	if (!err)
		err = start_qp(umr);
	return err;
}

/**
 * mlx5_ib_init_umr - get ready to register without firmware commands
 * @dev: device
 *
 * A device that does not let UMR change the page size of a key does without. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_umr(struct mlx5_ib_dev *dev)
{
	int err;

	if (MLX5_CAP_GEN(dev->mdev, umr_modify_entity_size_disabled))
		return 0;

	struct mlx5_ib_umr *umr __free(umr) = kzalloc_obj(*umr);

	if (!umr)
		return -ENOMEM;
	umr->dev = dev;
	mutex_init(&umr->reset_lock);
	INIT_DELAYED_WORK(&umr->restart, restart_qp);
	init_waitqueue_head(&umr->restarted);
	sema_init(&umr->slots, MAX_POSTED);
	spin_lock_init(&umr->lock);
	err = set_up(umr);
	if (err)
		return err;
	dev->umr = no_free_ptr(umr);
	return 0;
}

/**
 * mlx5_ib_cleanup_umr - destroy the queue pair
 * @dev: device, none of whose keys is left
 */
void mlx5_ib_cleanup_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	dev->umr = NULL;
	free_umr(umr);
}
