// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains, and what the driver itself gives XRC queue pairs. Verbs give an
 * initiator nothing to receive with, and a target nothing but its domain; the
 * context that the device takes names all of it.
 */

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>

#include "bluebell.h"
#include "cq.h"
#include "fw.h"
#include "layout_cq.h"
#include "layout_qp.h"
#include "layout_srq.h"
#include "qp.h"
#include "srq.h"
#include "xrc.h"

/* The longest pause before a refused destruction is tried once more. */
#define MAX_INSIST_MS	256

/* Nothing is posted to the SRQ, and nothing completes on the CQ: both are as small as can be. */
#define SRQ_WQES	2
#define LOG_SRQ_STRIDE	5
#define LOG_CQES	1
#define CQES		BIT(LOG_CQES)

/* All of it in one page: cache lines for the WQEs, the CQEs and the two doorbell records. */
#define LINE		64
#define SRQ_LINE	0
#define CQ_LINE		1
#define CQ_DB_LINE	3
#define SRQ_DB_LINE	4

static_assert(SRQ_WQES << LOG_SRQ_STRIDE == LINE);
static_assert(CQES * sizeof(struct mlx5_cqe64) == (CQ_DB_LINE - CQ_LINE) * LINE);
/* A context counts the offset of a queue in the same lines. */
static_assert(MLX5_ADAPTER_PAGE_SIZE >> MLX5_IB_PAGE_OFFSET_SHIFT == LINE);

/**
 * struct mlx5_ib_xrc - the driver's own objects
 * @dev: device
 * @buf: a page for the SRQ, the CQ and their doorbell records
 * @dma: its address
 * @has_pd: @pdn is valid
 * @pdn: domain of the targets and of the SRQ; no memory key is in it
 * @has_uar: @uar is valid
 * @uar: device index of the UAR that a CQ has to have
 * @has_cq: @mcq exists
 * @mcq: CQ of both kinds of queue pairs and of the SRQ
 * @has_srq_xrcd: @srq_xrcdn is valid
 * @srq_xrcdn: XRC domain of the SRQ
 * @has_empty_xrcd: @empty_xrcdn is valid
 * @empty_xrcdn: XRC domain of the initiators. No SRQ is in it: what is sent to an
 *	initiator finds none
 * @has_srq: @srqn is valid
 * @srqn: number of the SRQ
 */
struct mlx5_ib_xrc {
	struct mlx5_ib_dev *dev;
	void *buf;
	dma_addr_t dma;
	bool has_pd;
	u32 pdn;
	bool has_uar;
	u32 uar;
	bool has_cq;
	struct mlx5_core_cq mcq;
	bool has_srq_xrcd;
	u32 srq_xrcdn;
	bool has_empty_xrcd;
	u32 empty_xrcdn;
	bool has_srq;
	u32 srqn;
};

/**
 * mlx5_ib_has_xrc - does the device have XRC?
 * @dev: device
 *
 * Return: true if it does.
 */
bool mlx5_ib_has_xrc(struct mlx5_ib_dev *dev)
{
	return MLX5_CAP_GEN(dev->mdev, xrc) && mlx5_ib_has_srq(dev);
}

/*
 * ib_core does not take a refusal to free a domain or a target: it miscounts the
 * users of the one and forgets the other. So firmware is asked more than once,
 * and what it keeps all the same is out of reach: no process has memory in it.
 */
static void insist(struct mlx5_ib_dev *dev,
		   int (*destroy)(struct mlx5_ib_dev *dev, u16 uid, u32 num), u32 num,
		   const char *what)
{
	unsigned int ms;
	int err;

	err = destroy(dev, MLX5_IB_KERNEL_UID, num);
	for (ms = 1; err && ms <= MAX_INSIST_MS; ms *= 4) {
		msleep(ms);
		err = destroy(dev, MLX5_IB_KERNEL_UID, num);
	}
	if (err)
		ibdev_err_ratelimited(&dev->ib_dev, "%s 0x%x stays in the device: %d\n", what, num,
				      err);
}

/**
 * mlx5_ib_alloc_xrcd - allocate an XRC domain
 * @ibxrcd: the object, zeroed but for what ib_core sets
 * @udata: nothing
 *
 * Implements ibv_open_xrcd(3) with ALLOC_XRCD; that processes share a domain by
 * an inode is ib_core's doing. May sleep.
 *
 * Return: 0; -EOPNOTSUPP for a device without XRC; -EINVAL for driver data; or
 * the errno of a firmware refusal.
 */
int mlx5_ib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct mlx5_ib_dev *dev = to_mdev(ibxrcd->device);
	int err;

	if (!dev->xrc)
		return -EOPNOTSUPP;
	err = ib_is_udata_in_empty(udata);
	if (err)
		return err;
	return mlx5_fw_alloc_xrcd(dev, MLX5_IB_KERNEL_UID, &to_mxrcd(ibxrcd)->xrcdn);
}

/**
 * mlx5_ib_dealloc_xrcd - deallocate an XRC domain
 * @ibxrcd: the domain; nothing is in it any more
 * @udata: not used
 *
 * May sleep, a third of a second if firmware would not.
 *
 * Return: 0.
 */
int mlx5_ib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	insist(to_mdev(ibxrcd->device), mlx5_fw_dealloc_xrcd, to_mxrcd(ibxrcd)->xrcdn,
	       "XRC domain");
	return 0;
}

/**
 * mlx5_ib_destroy_tgt - destroy the target of an XRC connection
 * @qp: the target, which gets no events any more
 *
 * May sleep, a third of a second if firmware would not.
 */
void mlx5_ib_destroy_tgt(struct mlx5_ib_qp *qp)
{
	insist(to_mdev(qp->ibqp.device), mlx5_fw_destroy_qp, qp->qpn, "XRC target");
}

/**
 * mlx5_ib_fill_xrc_attr - complete the context of an XRC queue pair
 * @dev: device with XRC
 * @init: IB_QPT_XRC_INI or IB_QPT_XRC_TGT, and the domain of a target
 * @attr: gets what verbs don't give
 */
void mlx5_ib_fill_xrc_attr(struct mlx5_ib_dev *dev, const struct ib_qp_init_attr *init,
			   struct mlx5_ib_qpc_attr *attr)
{
	const struct mlx5_ib_xrc *xrc = dev->xrc;

	attr->has_srq = true;
	attr->srqn = xrc->srqn;
	attr->cqn_rcv = xrc->mcq.cqn;
	if (init->qp_type == IB_QPT_XRC_INI) {
		attr->xrcdn = xrc->empty_xrcdn;
		return;
	}
	attr->xrcdn = to_mxrcd(init->xrcd)->xrcdn;
	attr->cqn_snd = xrc->mcq.cqn;
	attr->pdn = xrc->pdn;
}

/* ---- setting up ------------------------------------------------------------ */

static int create_cq(struct mlx5_ib_xrc *xrc)
{
	u8 in[MLX5_ST_SZ_BYTES(create_cq_in) + sizeof(__be64)] __aligned(8) = {};
	struct mlx5_cqe64 *cqe = xrc->buf + CQ_LINE * LINE;
	struct mlx5_ib_cqc_attr attr = {
		.log_cq_size = LOG_CQES,
		.cqe_stride = CQE_STRIDE_64,
		.uar_page = xrc->uar,
		.dbr_addr = xrc->dma + CQ_DB_LINE * LINE,
		.geo = { .page_shift = MLX5_ADAPTER_PAGE_SHIFT, .page_offset = CQ_LINE },
	};
	unsigned int i;
	int eqn, err;

	err = mlx5_ib_comp_eqn(xrc->dev, 0, &eqn);
	if (err)
		return err;
	attr.eqn = eqn;
	for (i = 0; i < CQES; i++)
		cqe[i].op_own = MLX5_CQE_INVALID << 4 | MLX5_CQE_OWNER_MASK;
	mlx5_ib_fill_cqc(MLX5_ADDR_OF(create_cq_in, in, cq_context), &attr);
	*(__be64 *)MLX5_ADDR_OF(create_cq_in, in, pas) = cpu_to_be64(xrc->dma);

	xrc->mcq.cqe_sz = sizeof(*cqe);
	xrc->mcq.set_ci_db = xrc->buf + CQ_DB_LINE * LINE;
	xrc->mcq.arm_db = xrc->mcq.set_ci_db + 1;
	err = mlx5_fw_create_cq(xrc->dev, MLX5_IB_KERNEL_UID, &xrc->mcq, in, sizeof(in));
	xrc->has_cq = !err;
	return err;
}

static int alloc_xrcds(struct mlx5_ib_xrc *xrc)
{
	int err;

	err = mlx5_fw_alloc_xrcd(xrc->dev, MLX5_IB_KERNEL_UID, &xrc->srq_xrcdn);
	xrc->has_srq_xrcd = !err;
	if (err)
		return err;
	err = mlx5_fw_alloc_xrcd(xrc->dev, MLX5_IB_KERNEL_UID, &xrc->empty_xrcdn);
	xrc->has_empty_xrcd = !err;
	return err;
}

static int create_srq(struct mlx5_ib_xrc *xrc)
{
	u8 in[MLX5_ST_SZ_BYTES(create_xrc_srq_in) + sizeof(__be64)] __aligned(8) = {};
	const struct mlx5_ib_srqc_attr attr = {
		.wq = { .wqe_cnt = SRQ_WQES, .wqe_shift = LOG_SRQ_STRIDE },
		.geo = { .page_shift = MLX5_ADAPTER_PAGE_SHIFT, .page_offset = SRQ_LINE },
		.pdn = xrc->pdn,
		.dbr_addr = xrc->dma + SRQ_DB_LINE * LINE,
		.xrcdn = xrc->srq_xrcdn,
		.cqn = xrc->mcq.cqn,
		.uidx = MLX5_IB_DEFAULT_UIDX,
	};
	int err;

	mlx5_ib_fill_xrc_srqc(MLX5_ADDR_OF(create_xrc_srq_in, in, xrc_srq_context_entry), &attr);
	*(__be64 *)MLX5_ADDR_OF(create_xrc_srq_in, in, pas) = cpu_to_be64(xrc->dma);
	err = mlx5_fw_create_xrc_srq(xrc->dev, MLX5_IB_KERNEL_UID, in, sizeof(in), &xrc->srqn);
	xrc->has_srq = !err;
	return err;
}

static void free_xrc(struct mlx5_ib_xrc *xrc)
{
	struct mlx5_ib_dev *dev;

	if (!xrc)
		return;
	dev = xrc->dev;
	if (xrc->has_srq)
		mlx5_fw_destroy_xrc_srq(dev, MLX5_IB_KERNEL_UID, xrc->srqn);
	if (xrc->has_empty_xrcd)
		mlx5_fw_dealloc_xrcd(dev, MLX5_IB_KERNEL_UID, xrc->empty_xrcdn);
	if (xrc->has_srq_xrcd)
		mlx5_fw_dealloc_xrcd(dev, MLX5_IB_KERNEL_UID, xrc->srq_xrcdn);
	if (xrc->has_cq)
		mlx5_fw_destroy_cq(dev, &xrc->mcq);
	if (xrc->has_uar)
		mlx5_fw_dealloc_uar(dev, MLX5_IB_KERNEL_UID, xrc->uar);
	if (xrc->has_pd)
		mlx5_fw_dealloc_pd(dev, MLX5_IB_KERNEL_UID, xrc->pdn);
	if (xrc->buf)
		dma_free_coherent(dev->mdev->device, MLX5_ADAPTER_PAGE_SIZE, xrc->buf, xrc->dma);
	kfree(xrc);
}

DEFINE_FREE(xrc, struct mlx5_ib_xrc *, free_xrc(_T))

static int set_up(struct mlx5_ib_xrc *xrc)
{
	int err;

	xrc->buf = dma_alloc_coherent(xrc->dev->mdev->device, MLX5_ADAPTER_PAGE_SIZE, &xrc->dma,
				      GFP_KERNEL);
	if (!xrc->buf)
		return -ENOMEM;
	err = mlx5_fw_alloc_pd(xrc->dev, MLX5_IB_KERNEL_UID, &xrc->pdn);
	xrc->has_pd = !err;
	if (err)
		return err;
	err = mlx5_fw_alloc_uar(xrc->dev, MLX5_IB_KERNEL_UID, &xrc->uar);
	xrc->has_uar = !err;
	if (!err)
		err = create_cq(xrc);
	if (!err)
		err = alloc_xrcds(xrc);
	if (!err)
		err = create_srq(xrc);
	return err;
}

/**
 * mlx5_ib_init_xrc - get ready for XRC queue pairs
 * @dev: device
 *
 * A device without XRC does without. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_init_xrc(struct mlx5_ib_dev *dev)
{
	int err;

	if (!mlx5_ib_has_xrc(dev))
		return 0;

	struct mlx5_ib_xrc *xrc __free(xrc) = kzalloc_obj(*xrc);

	if (!xrc)
		return -ENOMEM;
	xrc->dev = dev;
	err = set_up(xrc);
	if (err)
		return err;
	dev->xrc = no_free_ptr(xrc);
	return 0;
}

/**
 * mlx5_ib_cleanup_xrc - destroy the driver's own objects
 * @dev: device, none of whose queue pairs is left
 */
void mlx5_ib_cleanup_xrc(struct mlx5_ib_dev *dev)
{
	struct mlx5_ib_xrc *xrc = dev->xrc;

	dev->xrc = NULL;
	free_xrc(xrc);
}
