// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What resource tracking shows of this driver's objects: `rdma resource show -dd` prints the
 * attributes that the driver adds to those of the RDMA core, and `-r` prints an object's context
 * as the device has it.
 */

#include <linux/capability.h>
#include <net/netlink.h>
#include <rdma/restrack.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "lib/buf.h"
#include "lib/region.h"
#include "ops.h"
#include "verbs/cq.h"
#include "verbs/dct.h"
#include "verbs/qp.h"
#include "verbs/raw_qp.h"
#include "verbs/srq.h"

/*
 * Show the page size of a queue's buffer; a queue pair without work queues has no buffer. Show
 * administrators also the address of the doorbell record in the process.
 */
static int put_queue_mem(struct sk_buff *msg, struct mlx5_ib_queue_mem *mem)
{
	if (mem->buf.geo.page_shift &&
	    rdma_nl_put_driver_u32(msg, "page_size", 1U << mem->buf.geo.page_shift))
		return -EMSGSIZE;
	if (mem->db.db || !mem->db.u.user_page || !ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN))
		return 0;
	return rdma_nl_put_driver_u64_hex(msg, "db_addr", mlx5_ib_db_user_address(&mem->db));
}

/* Add a nest of the type @nest, into which @put writes the attributes of @obj. */
static int put_nested(struct sk_buff *msg, enum rdma_nldev_attr nest,
		      int (*put)(struct sk_buff *msg, void *obj), void *obj)
{
	struct nlattr *table = nla_nest_start(msg, nest);

	if (!table)
		return -EMSGSIZE;
	if (put(msg, obj)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/**
 * struct raw_form - where the device's context of an object is found
 * @what: what the object is, for the log
 * @opcode: MLX5_CMD_OP_* of the command that queries the object
 * @outlen: bytes of the command's answer
 * @offset: first byte of the context in the answer
 * @size: bytes of the context
 */
struct raw_form {
	const char *what;
	u16 opcode;
	size_t outlen;
	size_t offset;
	size_t size;
};

/* The context, struct mlx5_ifc_@ctx_bits, is @fld of struct mlx5_ifc_@command_out_bits. */
#define RAW_FORM(name, op, command, fld, ctx) { \
	.what = name, \
	.opcode = MLX5_CMD_OP_##op, \
	.outlen = MLX5_ST_SZ_BYTES(command##_out), \
	.offset = MLX5_BYTE_OFF(command##_out, fld), \
	.size = MLX5_ST_SZ_BYTES(ctx), \
}

static const struct raw_form qp_form = RAW_FORM("QP", QUERY_QP, query_qp, qpc, qpc);
static const struct raw_form dct_form = RAW_FORM("DCT", QUERY_DCT, query_dct,
						 dct_context_entry, dctc);
static const struct raw_form cq_form = RAW_FORM("CQ", QUERY_CQ, query_cq, cq_context, cqc);
static const struct raw_form srq_forms[] = {
	[IB_SRQT_BASIC] = RAW_FORM("SRQ", QUERY_RMP, query_rmp, rmp_context, rmpc),
	[IB_SRQT_XRC] = RAW_FORM("SRQ", QUERY_XRC_SRQ, query_xrc_srq, xrc_srq_context_entry,
				 xrc_srqc),
	[IB_SRQT_TM] = RAW_FORM("SRQ", QUERY_XRQ, query_xrq, xrq_context, xrqc),
};

static const struct raw_form mkey_form = RAW_FORM("mkey", QUERY_MKEY, query_mkey,
						  memory_key_mkey_entry, mkc);

static int put_raw(struct sk_buff *msg, struct mlx5_ib_dev *dev, const struct raw_form *form,
		   u16 uid, u32 number, const struct mlx5_ib_fw_attempt *attempt)
{
	void *out __free(kfree) = kzalloc(form->outlen, GFP_KERNEL);
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];
	int err;

	/* The number may be that of another object by now. */
	if (mlx5_ib_fw_check_exists(dev, attempt, form->what, number))
		return -EAGAIN;
	if (!out)
		return -ENOMEM;
	mlx5_ib_fw_name_object(in, form->opcode, number);
	err = mlx5_ib_fw_exec_if_exists(dev, uid, in, sizeof(in), out, form->outlen);
	/* The object has been destroyed meanwhile: -EAGAIN makes resource tracking skip it. */
	if (err == -ENOENT)
		return -EAGAIN;
	return err ?: nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, form->size, out + form->offset);
}

/* ---- queue pairs -------------------------------------------------------------------- */

/* The memory of a queue pair for raw packets is that of its SQ, or of its RQ if it cannot send. */
static struct mlx5_ib_queue_mem *qp_mem(struct mlx5_ib_qp *qp)
{
	return qp->ops == &mlx5_ib_raw_qp_ops && !qp->ucmd.sq_wqe_count ? &to_raw(qp)->rq_mem :
									   &qp->mem;
}

/* A DC target has a number at the device from RTR on. */
static int put_dctn(struct sk_buff *msg, struct mlx5_ib_qp *qp)
{
	const struct mlx5_ib_rsc *dct;

	if (qp->ops != &mlx5_ib_dct_ops)
		return 0;
	guard(mutex)(&qp->mutex);
	dct = mlx5_ib_dct_rsc(qp);
	return dct ? rdma_nl_put_driver_u32(msg, "dctn", dct->num) : 0;
}

static int put_qp(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_qp *qp = obj;
	struct mlx5_ib_queue_mem *mem = qp_mem(qp);

	if (rdma_nl_put_driver_u32(msg, "uid", qp->uid) ||
	    (qp->tirn && rdma_nl_put_driver_u32(msg, "tirn", qp->tirn)) || put_dctn(msg, qp))
		return -EMSGSIZE;
	/*
	 * A target of XRC or DC connections, and a queue pair with an indirection table, have no
	 * doorbell record, because nothing is posted to them.
	 */
	if (!mem->db.dma)
		return 0;
	if ((mem == &qp->mem &&
	     rdma_nl_put_driver_u32(msg, "uar", MLX5_GET(qpc, qp->qpc, uar_page))) ||
	    (qp->bfregn != MLX5_IB_INVALID_BFREG &&
	     rdma_nl_put_driver_u32(msg, "bfreg", qp->bfregn)) ||
	    rdma_nl_put_driver_u32(msg, "sq_entries", qp->ucmd.sq_wqe_count) ||
	    rdma_nl_put_driver_u32(msg, "rq_entries", qp->ucmd.rq_wqe_count) ||
	    rdma_nl_put_driver_u32(msg, "rq_entry_size",
				   qp->ucmd.rq_wqe_count ? 1U << qp->ucmd.rq_wqe_shift : 0))
		return -EMSGSIZE;
	return put_queue_mem(msg, mem);
}

/**
 * mlx5_ib_fill_res_qp_entry - show a queue pair
 * @msg: netlink message
 * @ibqp: queue pair, on which resource tracking holds a reference
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	return put_nested(msg, RDMA_NLDEV_ATTR_DRIVER, put_qp, to_mqp(ibqp));
}

/**
 * mlx5_ib_fill_res_qp_entry_raw - show a queue pair's context, struct mlx5_ifc_qpc_bits; of a DC
 *	target, struct mlx5_ifc_dctc_bits
 * @msg: netlink message
 * @ibqp: queue pair, on which resource tracking holds a reference
 *
 * Sends QUERY_QP or QUERY_DCT. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -EAGAIN for a queue pair that is not one object at
 * the device, that is being destroyed because its process has closed the device, or that may not
 * exist any more (mlx5_ib_fw_check_exists()); -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	struct mlx5_ib_qp *qp = to_mqp(ibqp);
	const struct mlx5_ib_rsc *dct;

	guard(mutex)(&qp->mutex);
	dct = mlx5_ib_dct_rsc(qp);
	/* After -EAGAIN resource tracking goes on with the next queue pair. */
	if (qp->closing || (!dct && !mlx5_ib_qp_is_plain(qp)))
		return -EAGAIN;
	if (dct)
		return put_raw(msg, dev, &dct_form, qp->uid, dct->num, &dct->attempt);
	return put_raw(msg, dev, &qp_form, qp->uid, qp->rsc.num, &qp->rsc.attempt);
}

/* ---- completion queues -------------------------------------------------------------- */

static int put_cq(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_cq *cq = obj;

	guard(mutex)(&cq->resize_lock);
	if (rdma_nl_put_driver_u32(msg, "uid", cq->mcq.uid) ||
	    rdma_nl_put_driver_u32(msg, "cqn", cq->mcq.cqn) ||
	    rdma_nl_put_driver_u32(msg, "uar", cq->uar_page) ||
	    rdma_nl_put_driver_u32(msg, "cqe_size", cq->cqe_size))
		return -EMSGSIZE;
	return put_queue_mem(msg, &cq->mem);
}

/**
 * mlx5_ib_fill_res_cq_entry - show a completion queue
 * @msg: netlink message
 * @ibcq: completion queue, on which resource tracking holds a reference
 *
 * Waits for a command that changes the queue. May sleep.
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return put_nested(msg, RDMA_NLDEV_ATTR_DRIVER, put_cq, to_mcq(ibcq));
}

/**
 * mlx5_ib_fill_res_cq_entry_raw - show a completion queue's context, struct mlx5_ifc_cqc_bits
 * @msg: netlink message
 * @ibcq: completion queue, on which resource tracking holds a reference
 *
 * Sends QUERY_CQ. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -EAGAIN if the device has destroyed the queue, or
 * may have destroyed it (mlx5_ib_fw_check_exists()); -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct mlx5_ib_cq *cq = to_mcq(ibcq);

	return put_raw(msg, to_mdev(ibcq->device), &cq_form, cq->mcq.uid, cq->mcq.cqn,
		       &cq->attempt);
}

/* ---- shared receive queues ---------------------------------------------------------- */

static int put_srq(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_srq *srq = obj;

	if (rdma_nl_put_driver_u32(msg, "uid", srq->rsc.uid) ||
	    rdma_nl_put_driver_u32(msg, "entries", srq->wq.wqe_cnt) ||
	    rdma_nl_put_driver_u32(msg, "entry_size", 1U << srq->wq.wqe_shift))
		return -EMSGSIZE;
	return put_queue_mem(msg, &srq->mem);
}

/**
 * mlx5_ib_fill_res_srq_entry - show a shared receive queue
 * @msg: netlink message
 * @ibsrq: shared receive queue, on which resource tracking holds a reference
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	return put_nested(msg, RDMA_NLDEV_ATTR_DRIVER, put_srq, to_msrq(ibsrq));
}

/**
 * mlx5_ib_fill_res_srq_entry_raw - show a shared receive queue's context
 * @msg: netlink message
 * @ibsrq: shared receive queue, on which resource tracking holds a reference
 *
 * Shows struct mlx5_ifc_rmpc_bits as QUERY_RMP returns it; of an XRC SRQ, struct
 * mlx5_ifc_xrc_srqc_bits as QUERY_XRC_SRQ returns it; of an SRQ with tag matching, struct
 * mlx5_ifc_xrqc_bits as QUERY_XRQ returns it. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -EAGAIN if the device has destroyed the queue, or
 * may have destroyed it (mlx5_ib_fw_check_exists()); -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);

	return put_raw(msg, to_mdev(ibsrq->device),
		       &srq_forms[ibsrq->srq_type], srq->rsc.uid, srq->rsc.num,
		       &srq->rsc.attempt);
}

/* ---- memory regions ----------------------------------------------------------------- */

static int put_mr(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_mr *mr = obj;

	if (rdma_nl_put_driver_string(msg, "kind", mr->ops->kind) ||
	    rdma_nl_put_driver_u32(msg, "uid", mr->mkey.uid) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", mr->access))
		return -EMSGSIZE;
	if (!mr->ibmr.page_size)
		return 0;
	return rdma_nl_put_driver_u32(msg, "page_size", mr->ibmr.page_size);
}

/**
 * mlx5_ib_fill_res_mr_entry - show a memory region
 * @msg: netlink message
 * @ibmr: region, on which resource tracking holds a reference
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	return put_nested(msg, RDMA_NLDEV_ATTR_DRIVER, put_mr, to_mmr(ibmr));
}

/**
 * mlx5_ib_fill_res_mr_entry_raw - show the context of a memory region's key, struct
 *	mlx5_ifc_mkc_bits
 * @msg: netlink message
 * @ibmr: region, on which resource tracking holds a reference
 *
 * Sends QUERY_MKEY. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -EAGAIN if the key may not exist any more (the
 * driver has destroyed it to revoke access to pages that it could not unmap otherwise, is
 * destroying it because the process has closed the device, or has had no answer to DESTROY_MKEY);
 * -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct mlx5_ib_mr *mr = to_mmr(ibmr);
	int err;

	err = put_raw(msg, to_mdev(ibmr->device), &mkey_form, mr->mkey.uid,
		      mlx5_mkey_to_idx(mr->mkey.key), &mr->mkey.attempt);
	/* If the key has been destroyed, the query may have read a newer key of this index. */
	return READ_ONCE(mr->mkey.closing) || READ_ONCE(mr->mkey.destroyed) ? -EAGAIN : err;
}

static int put_paging_stat(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_mr *mr = obj;
	const struct mlx5_ib_paging_stat *stat = mr->ops->paging_stat(mr);

	if (rdma_nl_stat_hwcounter_entry(msg, "page_faults", atomic64_read(&stat->faults)) ||
	    rdma_nl_stat_hwcounter_entry(msg, "page_invalidations",
					 atomic64_read(&stat->invalidations)) ||
	    rdma_nl_stat_hwcounter_entry(msg, "page_prefetch", atomic64_read(&stat->prefetches)))
		return -EMSGSIZE;
	return 0;
}

/**
 * mlx5_ib_fill_stat_mr_entry - show the statistics of a memory region, if it is paged
 * @msg: netlink message
 * @ibmr: region, on which resource tracking holds a reference
 *
 * ``rdma statistic show mr`` prints these statistics, see rdma-statistic(8).
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct mlx5_ib_mr *mr = to_mmr(ibmr);

	if (!mr->ops->paging_stat)
		return 0;
	return put_nested(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, put_paging_stat, mr);
}
