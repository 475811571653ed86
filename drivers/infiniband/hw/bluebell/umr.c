// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration without firmware commands: free memory keys kept by size class,
 * and the driver's own queue pair that fills and frees them.
 */

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/doorbell.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "bluebell.h"
#include "fw.h"
#include "layout_cq.h"
#include "umr.h"

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

/* Keys kept per class. */
#define KEYS_KEPT	64
/* As long as mlx5_core waits for a command. */
#define UMR_TIMEOUT	(60 * HZ)
/* MLX5_QPC_PM_STATE_*, MLX5_QPC_RQ_TYPE_*: migrated; no receive queue. */
#define PM_STATE_MIGRATED	3
#define RQ_TYPE_NONE		3

static_assert(MAX_POSTED <= CQES);

/* A posted work request, on the stack of who waits for it. */
struct umr_request {
	struct completion done;
	bool ok;
};

struct key_class {
	unsigned int count;
	u32 keys[KEYS_KEPT];
};

/**
 * struct mlx5_ib_umr - the queue pair and the free keys
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
 * @mcq: the CQ
 * @qpn: of the QP; 0 if there is none
 * @slots: room in the send queue, one for each WQE
 * @lock: guards all below; taken in the completion interrupt
 * @pc: WQEBBs posted
 * @posted: who waits for the WQE that begins at this WQEBB
 * @dead: no more UMR: the QP has failed or the device is gone
 * @classes: free keys
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
	struct semaphore slots;
	spinlock_t lock; /* pc to classes */
	u16 pc;
	struct umr_request *posted[SQ_WQEBBS];
	bool dead;
	struct key_class classes[MLX5_IB_UMR_CLASSES];
};

/* ---- completions -------------------------------------------------------- */

static struct mlx5_cqe64 *next_cqe(struct mlx5_ib_umr *umr)
{
	u32 ci = umr->mcq.cons_index;
	struct mlx5_cqe64 *cqe = umr->buf + CQ_OFFSET + (ci & (CQES - 1)) * sizeof(*cqe);
	u8 op_own = READ_ONCE(cqe->op_own);

	if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & MLX5_CQE_OWNER_MASK) != !!(ci & CQES))
		return NULL;
	/* The rest of the CQE is valid once its owner bit is ours. */
	dma_rmb();
	return cqe;
}

/* Called with umr->lock held. */
static void finish(struct mlx5_ib_umr *umr, u16 index, bool ok)
{
	struct umr_request *req = umr->posted[index & SQ_MASK];

	if (!req)
		return;
	umr->posted[index & SQ_MASK] = NULL;
	req->ok = ok;
	complete(&req->done);
	up(&umr->slots);
}

static void poll_cq(struct mlx5_ib_umr *umr)
{
	struct mlx5_cqe64 *cqe;

	guard(spinlock_irqsave)(&umr->lock);
	while ((cqe = next_cqe(umr))) {
		finish(umr, be16_to_cpu(cqe->wqe_counter), cqe->op_own >> 4 == MLX5_CQE_REQ);
		umr->mcq.cons_index++;
	}
	mlx5_cq_set_ci(&umr->mcq);
}

static void arm_cq(struct mlx5_ib_umr *umr)
{
	mlx5_cq_arm(&umr->mcq, MLX5_CQ_DB_REQ_NOT, umr->map, umr->mcq.cons_index);
}

/* From the interrupt: someone waits for each completion, and there are few. */
static void cq_comp(struct mlx5_core_cq *mcq, struct mlx5_eqe *eqe)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, mcq);

	poll_cq(umr);
	/* A completion between polling and arming raises an event at once. */
	arm_cq(umr);
}

static void cq_event(struct mlx5_core_cq *mcq, enum mlx5_event type)
{
	struct mlx5_ib_umr *umr = container_of(mcq, struct mlx5_ib_umr, mcq);

	mlx5_ib_abort_umr(umr->dev);
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

/* Put a WQE on the queue, which may wrap in the middle of it. */
static int post(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_wqe *wqe, struct umr_request *req,
		u16 *index)
{
	unsigned int i;

	guard(spinlock_irqsave)(&umr->lock);
	if (umr->dead)
		return -EIO;
	*index = umr->pc;
	mlx5_ib_umr_fill_ctrl(wqe, umr->qpn, umr->pc);
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

/*
 * The QP has failed. It is stopped, so that what it has not executed never will
 * be, and firmware commands do the work from now on.
 */
static void give_up(struct mlx5_ib_umr *umr)
{
	bool first;
	u32 ece = 0;

	scoped_guard(spinlock_irqsave, &umr->lock) {
		first = !umr->dead;
		umr->dead = true;
	}
	if (!first)
		return;
	ibdev_warn(&umr->dev->ib_dev, "fast registration failed: using firmware commands\n");
	mlx5_fw_modify_qp(umr->dev, MLX5_CMD_OP_2RST_QP, umr->qpn, NULL, 0, &ece);
}

static int post_and_wait(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_wqe *wqe)
{
	struct umr_request req = { .ok = false };
	u16 index;
	int err;

	init_completion(&req.done);
	down(&umr->slots);
	err = post(umr, wqe, &req, &index);
	if (err) {
		up(&umr->slots);
		return err;
	}
	if (!wait_for_completion_timeout(&req.done, UMR_TIMEOUT)) {
		give_up(umr);
		/* @req must not be found once this returns. */
		scoped_guard(spinlock_irqsave, &umr->lock)
			finish(umr, index, false);
	}
	if (req.ok)
		return 0;
	give_up(umr);
	return -EIO;
}

/* ---- free keys ----------------------------------------------------------- */

static bool take_key(struct mlx5_ib_umr *umr, int class, u32 *mkey)
{
	struct key_class *kc = &umr->classes[class];

	guard(spinlock_irqsave)(&umr->lock);
	if (umr->dead || !kc->count)
		return false;
	*mkey = kc->keys[--kc->count];
	return true;
}

static bool keep_key(struct mlx5_ib_umr *umr, int class, u32 mkey)
{
	struct key_class *kc = &umr->classes[class];

	guard(spinlock_irqsave)(&umr->lock);
	if (umr->dead || kc->count == KEYS_KEPT)
		return false;
	kc->keys[kc->count++] = mkey;
	return true;
}

static bool has_room(struct mlx5_ib_umr *umr, int class)
{
	guard(spinlock_irqsave)(&umr->lock);
	return !umr->dead && umr->classes[class].count < KEYS_KEPT;
}

/**
 * mlx5_ib_umr_choose_class - the size class of a new key
 * @dev: device
 * @access: enum ib_access_flags
 * @nmtts: translation entries that it needs
 *
 * Relaxed ordering stays with the key it was created with: the device need not
 * let UMR change it.
 *
 * Return: a class, or -1 for a key that is made and destroyed by firmware.
 */
int mlx5_ib_umr_choose_class(struct mlx5_ib_dev *dev, u32 access, u32 nmtts)
{
	if (!dev->umr || access & IB_ACCESS_RELAXED_ORDERING)
		return -1;
	return mlx5_ib_umr_class(nmtts);
}

/* Fill a free key from a translation list of its own. */
static int fill_from_list(struct mlx5_ib_umr *umr, struct mlx5_ib_umr_wqe *wqe,
			  struct ib_umem *umem, const struct mlx5_ib_mkc_attr *attr)
{
	struct device *device = umr->dev->mdev->device;
	size_t bytes = mlx5_ib_umr_list_mtts(attr->nmtts) * sizeof(__be64);
	dma_addr_t dma;
	int err;

	__be64 *list __free(kfree) = kzalloc(bytes, GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);

	if (!list)
		return -ENOMEM;
	mlx5_ib_populate_pas(umem, 1UL << attr->page_shift, list);
	dma = dma_map_single(device, list, bytes, DMA_TO_DEVICE);
	if (dma_mapping_error(device, dma))
		return -ENOMEM;
	mlx5_ib_umr_point_at_list(wqe, umr->lkey, dma, attr->nmtts);
	err = post_and_wait(umr, wqe);
	dma_unmap_single(device, dma, bytes, DMA_TO_DEVICE);
	return err;
}

/**
 * mlx5_ib_umr_reg - make a free key one over pinned memory
 * @dev: device
 * @class: of mlx5_ib_umr_choose_class()
 * @umem: the memory
 * @attr: what the key shall be
 * @caps: as for mlx5_ib_fill_mkc()
 * @mkey: the key
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN if there is no free key, or it could not be filled: then
 * CREATE_MKEY is to be used.
 */
int mlx5_ib_umr_reg(struct mlx5_ib_dev *dev, int class, struct ib_umem *umem,
		    const struct mlx5_ib_mkc_attr *attr, const struct mlx5_ib_mkey_caps *caps,
		    u32 *mkey)
{
	struct mlx5_ib_umr *umr = dev->umr;
	struct mlx5_ib_umr_wqe wqe = {};
	u32 key;
	int err;

	if (class < 0 || !take_key(umr, class, &key))
		return -EAGAIN;
	mlx5_ib_umr_fill_reg(&wqe, key, attr, caps);
	if (attr->nmtts <= MLX5_IB_UMR_INLINE_MTTS) {
		mlx5_ib_populate_pas(umem, 1UL << attr->page_shift, wqe.mtt);
		err = post_and_wait(umr, &wqe);
	} else {
		err = fill_from_list(umr, &wqe, umem, attr);
	}
	if (err) {
		mlx5_fw_destroy_mkey(dev, key);
		return -EAGAIN;
	}
	*mkey = (key & ~0xffU) | attr->variant;
	return 0;
}

/**
 * mlx5_ib_umr_change - change the rights and the domain of a key in use
 * @dev: device
 * @class: the key's class, or -1
 * @mkey: the key, which stays the same
 * @access: enum ib_access_flags
 * @pdn: protection domain number
 *
 * May sleep.
 *
 * Return: 0; -EAGAIN if the key cannot be changed: then another has to take its
 * place.
 */
int mlx5_ib_umr_change(struct mlx5_ib_dev *dev, int class, u32 mkey, u32 access, u32 pdn)
{
	struct mlx5_ib_umr_wqe wqe = {};

	if (class < 0 || !dev->umr || access & IB_ACCESS_RELAXED_ORDERING)
		return -EAGAIN;
	mlx5_ib_umr_fill_change(&wqe, mkey, access, pdn);
	return post_and_wait(dev->umr, &wqe) ? -EAGAIN : 0;
}

/**
 * mlx5_ib_umr_revoke - free a key and keep it for the next registration
 * @dev: device
 * @class: the key's class, or -1
 * @mkey: the key
 *
 * When it returns 0 the device reaches nothing through the key. May sleep.
 *
 * Return: 0; -EAGAIN if there are enough free keys, or it could not be freed:
 * then it is to be destroyed.
 */
int mlx5_ib_umr_revoke(struct mlx5_ib_dev *dev, int class, u32 mkey)
{
	struct mlx5_ib_umr *umr = dev->umr;
	struct mlx5_ib_umr_wqe wqe = {};

	if (class < 0 || !umr || !has_room(umr, class))
		return -EAGAIN;
	mlx5_ib_umr_fill_revoke(&wqe, mkey, umr->pdn);
	if (post_and_wait(umr, &wqe))
		return -EAGAIN;
	if (keep_key(umr, class, mkey))
		return 0;
	/* Others were faster. Nothing can use the key, whatever firmware says. */
	mlx5_fw_destroy_mkey(dev, mkey);
	return 0;
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
	unsigned int i;

	if (!umr)
		return;
	guard(spinlock_irqsave)(&umr->lock);
	umr->dead = true;
	for (i = 0; i < SQ_WQEBBS; i++)
		finish(umr, i, false);
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
	return mlx5_fw_create_mkey(umr->dev, in, sizeof(in), &umr->lkey);
}

static int map_uar(struct mlx5_ib_umr *umr)
{
	struct mlx5_core_dev *mdev = umr->dev->mdev;
	u64 pfn;
	int err;

	err = mlx5_fw_alloc_uar(umr->dev, &umr->uar);
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
	err = mlx5_comp_eqn_get(umr->dev->mdev, 0, &eqn);
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
	err = mlx5_fw_create_cq(umr->dev, &umr->mcq, in, inlen);
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
	return mlx5_fw_create_qp(umr->dev, in, inlen, &umr->qpn, &ece);
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
		err = mlx5_fw_modify_qp(umr->dev, steps[i], umr->qpn, qpc, 0, &ece);
		if (err)
			return err;
	}
	return 0;
}

static void free_umr(struct mlx5_ib_umr *umr)
{
	struct mlx5_ib_dev *dev;
	struct key_class *kc;

	if (!umr)
		return;
	dev = umr->dev;
	for (kc = umr->classes; kc < umr->classes + MLX5_IB_UMR_CLASSES; kc++)
		while (kc->count)
			mlx5_fw_destroy_mkey(dev, kc->keys[--kc->count]);
	if (umr->qpn)
		mlx5_fw_destroy_qp(dev, umr->qpn);
	if (umr->has_cq)
		mlx5_fw_destroy_cq(dev, &umr->mcq);
	if (umr->map)
		iounmap(umr->map);
	if (umr->has_uar)
		mlx5_fw_dealloc_uar(dev, umr->uar);
	if (umr->lkey)
		mlx5_fw_destroy_mkey(dev, umr->lkey);
	if (umr->has_pd)
		mlx5_fw_dealloc_pd(dev, umr->pdn);
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
	err = mlx5_fw_alloc_pd(umr->dev, &umr->pdn);
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
 * A device that does not let UMR change all that a registration says does
 * without. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_umr(struct mlx5_ib_dev *dev)
{
	int err;

	if (MLX5_CAP_GEN(dev->mdev, umr_modify_entity_size_disabled) ||
	    MLX5_CAP_GEN(dev->mdev, umr_modify_atomic_disabled))
		return 0;

	struct mlx5_ib_umr *umr __free(umr) = kzalloc_obj(*umr);

	if (!umr)
		return -ENOMEM;
	umr->dev = dev;
	sema_init(&umr->slots, MAX_POSTED);
	spin_lock_init(&umr->lock);
	err = set_up(umr);
	if (err)
		return err;
	arm_cq(umr);
	dev->umr = no_free_ptr(umr);
	return 0;
}

/**
 * mlx5_ib_cleanup_umr - destroy the queue pair and the free keys
 * @dev: device, none of whose regions is left
 */
void mlx5_ib_cleanup_umr(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_umr *umr = dev->umr;

	dev->umr = NULL;
	free_umr(umr);
}
