// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What resource tracking shows of this driver's objects: `rdma resource show -dd` prints the
 * attributes that the driver adds to those of the RDMA core, and `-r` prints an object's context
 * as the device has it.
 */

#include <linux/capability.h>
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "bluebell.h"
#include "buf.h"
#include "cq.h"
#include "fw.h"
#include "mr.h"
#include "qp.h"
#include "restrack.h"
#include "srq.h"

/*
 * Without queues a queue pair has neither a buffer nor a doorbell record. Addresses in a process
 * are shown to administrators only.
 */
static int put_queue_mem(struct sk_buff *msg, struct mlx5_ib_queue_mem *mem)
{
	if (mem->buf.geo.page_shift &&
	    rdma_nl_put_driver_u32(msg, "page_size", 1U << mem->buf.geo.page_shift))
		return -EMSGSIZE;
	if (mem->db.u.user_page && ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN) &&
	    rdma_nl_put_driver_u64_hex(msg, "db_addr", mlx5_ib_db_user_address(&mem->db)))
		return -EMSGSIZE;
	return 0;
}

/* Calls @put with @obj in the nest that holds a driver's attributes. */
static int put_nested(struct sk_buff *msg, int (*put)(struct sk_buff *msg, void *obj), void *obj)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!table)
		return -EMSGSIZE;
	if (put(msg, obj)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/*
 * Queries an object, and puts its context: @size bytes that are @offset bytes from the start of
 * the answer, which has @outlen bytes.
 */
static int put_raw(struct sk_buff *msg, struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number,
		   size_t outlen, size_t offset, size_t size)
{
	void *out __free(kfree) = kzalloc(outlen, GFP_KERNEL);
	int err;

	if (!out)
		return -ENOMEM;
	err = mlx5_fw_query_object(dev, uid, opcode, number, out, outlen);
	return err ?: nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, size, out + offset);
}

#define PUT_RAW(msg, dev, uid, opcode, number, typ, fld) \
	put_raw(msg, dev, uid, opcode, number, MLX5_ST_SZ_BYTES(typ), MLX5_BYTE_OFF(typ, fld), \
		MLX5_FLD_SZ_BYTES(typ, fld))

/* ---- queue pairs -------------------------------------------------------------------- */

static int put_qp(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_qp *qp = obj;

	if (rdma_nl_put_driver_u32(msg, "uid", qp->rsc.uid))
		return -EMSGSIZE;
	/* The target of an XRC connection is rung by nobody. */
	if (!qp->mem.context)
		return 0;
	if (rdma_nl_put_driver_u32(msg, "uar", MLX5_GET(qpc, qp->qpc, uar_page)))
		return -EMSGSIZE;
	if (qp->bfregn != MLX5_IB_INVALID_BFREG &&
	    rdma_nl_put_driver_u32(msg, "bfreg", qp->bfregn))
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "sq_entries", qp->ucmd.sq_wqe_count) ||
	    rdma_nl_put_driver_u32(msg, "rq_entries", qp->ucmd.rq_wqe_count) ||
	    rdma_nl_put_driver_u32(msg, "rq_entry_size",
				   qp->ucmd.rq_wqe_count ? 1U << qp->ucmd.rq_wqe_shift : 0))
		return -EMSGSIZE;
	return put_queue_mem(msg, &qp->mem);
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
	return put_nested(msg, put_qp, to_mqp(ibqp));
}

/**
 * mlx5_ib_fill_res_qp_entry_raw - show a queue pair's context, struct mlx5_ifc_qpc_bits
 * @msg: netlink message
 * @ibqp: queue pair, on which resource tracking holds a reference
 *
 * QUERY_QP. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct mlx5_ib_qp *qp = to_mqp(ibqp);

	return PUT_RAW(msg, to_mdev(ibqp->device), qp->rsc.uid, MLX5_CMD_OP_QUERY_QP, qp->rsc.num,
		       query_qp_out, qpc);
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
 * Waits for a resize. May sleep.
 *
 * Return: 0, or -EMSGSIZE if the message is full.
 */
int mlx5_ib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	return put_nested(msg, put_cq, to_mcq(ibcq));
}

/**
 * mlx5_ib_fill_res_cq_entry_raw - show a completion queue's context, struct mlx5_ifc_cqc_bits
 * @msg: netlink message
 * @ibcq: completion queue, on which resource tracking holds a reference
 *
 * QUERY_CQ. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct mlx5_ib_cq *cq = to_mcq(ibcq);

	return PUT_RAW(msg, to_mdev(ibcq->device), cq->mcq.uid, MLX5_CMD_OP_QUERY_CQ, cq->mcq.cqn,
		       query_cq_out, cq_context);
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
	return put_nested(msg, put_srq, to_msrq(ibsrq));
}

/**
 * mlx5_ib_fill_res_srq_entry_raw - show a shared receive queue's context
 * @msg: netlink message
 * @ibsrq: shared receive queue, on which resource tracking holds a reference
 *
 * QUERY_RMP, struct mlx5_ifc_rmpc_bits, or for an XRC SRQ QUERY_XRC_SRQ, struct
 * mlx5_ifc_xrc_srqc_bits. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct mlx5_ib_dev *dev = to_mdev(ibsrq->device);
	struct mlx5_ib_srq *srq = to_msrq(ibsrq);

	if (ibsrq->srq_type == IB_SRQT_XRC)
		return PUT_RAW(msg, dev, srq->rsc.uid, MLX5_CMD_OP_QUERY_XRC_SRQ, srq->rsc.num,
			       query_xrc_srq_out, xrc_srq_context_entry);
	return PUT_RAW(msg, dev, srq->rsc.uid, MLX5_CMD_OP_QUERY_RMP, srq->rsc.num, query_rmp_out,
		       rmp_context);
}

/* ---- memory regions ----------------------------------------------------------------- */

static int put_mr(struct sk_buff *msg, void *obj)
{
	struct mlx5_ib_mr *mr = obj;

	if (rdma_nl_put_driver_string(msg, "kind", mr->ops->kind) ||
	    rdma_nl_put_driver_u32(msg, "uid", mr->mkey.uid) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", mr->access))
		return -EMSGSIZE;
	if (mr->ibmr.page_size && rdma_nl_put_driver_u32(msg, "page_size", mr->ibmr.page_size))
		return -EMSGSIZE;
	return 0;
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
	return put_nested(msg, put_mr, to_mmr(ibmr));
}

/**
 * mlx5_ib_fill_res_mr_entry_raw - show the context of a memory region's key, struct
 *	mlx5_ifc_mkc_bits
 * @msg: netlink message
 * @ibmr: region, on which resource tracking holds a reference
 *
 * QUERY_MKEY. May sleep.
 *
 * Return: 0; -EMSGSIZE if the message is full; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct mlx5_ib_mr *mr = to_mmr(ibmr);

	return PUT_RAW(msg, to_mdev(ibmr->device), mr->mkey.uid, MLX5_CMD_OP_QUERY_MKEY,
		       mlx5_mkey_to_idx(mr->mkey.key), query_mkey_out, memory_key_mkey_entry);
}
