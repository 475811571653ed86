// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands that create queues. Each describes the memory of its queue by a translation list,
 * and takes the rest of the queue's context from the caller. If firmware does not answer, the
 * device may use the memory, so the memory passes to an orphan (orphan.c), which keeps it.
 */

#include <kunit/static_stub.h>
#include <linux/mlx5/device.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_cq.h"
#include "layout/layout_mkey.h"
#include "layout/layout_srq.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/queue_cmd.h"

/* The translation list is the last part of each command that has one. */
static_assert(MLX5_BYTE_OFF(create_cq_in, pas) == MLX5_ST_SZ_BYTES(create_cq_in));
static_assert(MLX5_BYTE_OFF(modify_cq_in, pas) == MLX5_ST_SZ_BYTES(modify_cq_in));
static_assert(MLX5_BYTE_OFF(create_qp_in, pas) == MLX5_ST_SZ_BYTES(create_qp_in));
static_assert(MLX5_BYTE_OFF(create_rmp_in, ctx.wq.pas) == MLX5_ST_SZ_BYTES(create_rmp_in));
static_assert(MLX5_BYTE_OFF(create_xrc_srq_in, pas) == MLX5_ST_SZ_BYTES(create_xrc_srq_in));
static_assert(MLX5_BYTE_OFF(create_xrq_in, xrq_context.wq.pas) ==
	      MLX5_ST_SZ_BYTES(create_xrq_in));
static_assert(MLX5_BYTE_OFF(create_rq_in, ctx.wq.pas) == MLX5_ST_SZ_BYTES(create_rq_in));
/* The memory of an SQ is described where that of an RQ is. */
static_assert(MLX5_BYTE_OFF(create_rq_in, ctx.wq) == MLX5_BYTE_OFF(create_sq_in, ctx.wq));
static_assert(MLX5_ST_SZ_BYTES(create_rq_in) == MLX5_ST_SZ_BYTES(create_sq_in));

/* Number of entries of the translation list of a buffer. */
static u32 buf_num_pages(const struct mlx5_ib_buf *buf)
{
	unsigned long pgsz = 1UL << buf->geo.page_shift;

	if (!buf->umem)
		return buf->frags.npages;
	return DIV_ROUND_UP(ib_umem_dma_offset(buf->umem, pgsz) + buf->size, pgsz);
}

static void buf_fill_pas(struct mlx5_ib_buf *buf, __be64 *pas, u32 num)
{
	struct mlx5_ib_pas_iter iter;

	if (buf->umem) {
		mlx5_ib_start_pas(&iter, buf->umem, buf->geo.page_shift, 0);
		mlx5_ib_next_pas(&iter, pas, num);
	} else {
		mlx5_fill_page_frag_array(&buf->frags, pas);
	}
}

/**
 * mlx5_ib_buf_alloc_cmd - allocate a command that describes a buffer
 * @buf: the buffer; for a queue pair without queues the translation list is empty
 * @size: bytes of the command without its translation list
 * @inlen: gets the number of bytes of the command
 *
 * May sleep.
 *
 * Return: the command, zeroed but for the translation list, which the caller frees by kvfree(); or
 * NULL if there is no memory.
 */
void *mlx5_ib_buf_alloc_cmd(struct mlx5_ib_buf *buf, size_t size, int *inlen)
{
	u32 npas = buf_num_pages(buf);
	void *in;

	/* This does not overflow: no context can describe a queue of 2^28 pages. */
	*inlen = size + sizeof(__be64) * npas;
	/*
	 * A command is freed once it is answered, so only a large command is charged to the cgroup.
	 */
	in = kvzalloc(*inlen, *inlen > PAGE_SIZE ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!in)
		return NULL;
	buf_fill_pas(buf, in + size, npas);
	return in;
}

/**
 * mlx5_ib_comp_eqn - find the event queue of a completion vector
 * @dev: device
 * @vector: completion vector, from 0
 * @eqn: gets the number of the event queue
 *
 * mlx5_core creates the event queue when the vector is first used. May sleep.
 *
 * Return: 0; -EINVAL for a vector that the device does not have; or another negative errno.
 */
int mlx5_ib_comp_eqn(struct mlx5_ib_dev *dev, u16 vector, int *eqn)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_comp_eqn, dev, vector, eqn);
	return mlx5_comp_eqn_get(dev->mdev, vector, eqn);
}

/*
 * Handle the result @err of a command that creates a queue, and return @err. If the command was not
 * answered, the memory of the queue passes to an orphan.
 */
static int queue_created(struct mlx5_ib_dev *dev, const char *name, struct mlx5_ib_queue_mem *mem,
			 int err)
{
	if (err == -ETIMEDOUT)
		mlx5_ib_orphan_keep_lost(dev, name, mem);
	return err;
}

/**
 * mlx5_ib_create_cq_cmd - create a completion queue at the device
 * @dev: device
 * @uid: user id that the command is sent for
 * @mcq: the queue as mlx5_core sees it, with the handlers of its events
 * @mem: memory of the queue
 * @vector: completion vector, from 0
 * @cqc: context of the queue, struct mlx5_ifc_cqc_bits; memory and event queue are filled in here
 *
 * Sends CREATE_CQ (struct mlx5_ifc_create_cq_in_bits). May sleep.
 *
 * Return: 0; the errno of mlx5_ib_comp_eqn(); -ENOMEM; -ETIMEDOUT if firmware does not answer, and
 * then an orphan takes over the memory, and @mem is zeroed; or the errno of a firmware refusal.
 */
int mlx5_ib_create_cq_cmd(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_queue_mem *mem, u16 vector, void *cqc)
{
	int eqn, inlen, err;

	err = mlx5_ib_comp_eqn(dev, vector, &eqn);
	if (err)
		return err;
	MLX5_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
	MLX5_SET64(cqc, cqc, dbr_addr, mem->db.dma);
	mlx5_ib_fill_cqc_buf(cqc, &mem->buf.geo);
	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(&mem->buf,
							MLX5_ST_SZ_BYTES(create_cq_in), &inlen);

	if (!in)
		return -ENOMEM;
	memcpy(MLX5_ADDR_OF(create_cq_in, in, cq_context), cqc, MLX5_ST_SZ_BYTES(cqc));
	return queue_created(dev, "a CQ", mem, mlx5_ib_fw_create_cq(dev, uid, mcq, in, inlen));
}

/**
 * mlx5_ib_create_qp_cmd - create a queue pair at the device
 * @dev: device
 * @uid: user id that the command is sent for
 * @mem: memory of the queue pair; zeroed for a queue pair without queues
 * @qpc: context of the queue pair, struct mlx5_ifc_qpc_bits; the memory is filled in here
 * @qpn: gets the number of the queue pair
 * @ece: requested options of enhanced connection establishment; gets the options that the device
 *	has granted
 *
 * Sends CREATE_QP (struct mlx5_ifc_create_qp_in_bits). May sleep.
 *
 * Return: 0; -ENOMEM; -ETIMEDOUT if firmware does not answer, and then an orphan takes over the
 * memory, and @mem is zeroed; or the errno of a firmware refusal.
 */
int mlx5_ib_create_qp_cmd(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_ib_queue_mem *mem,
			  void *qpc, u32 *qpn, u32 *ece)
{
	int inlen;

	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(&mem->buf,
							MLX5_ST_SZ_BYTES(create_qp_in), &inlen);

	if (!in)
		return -ENOMEM;
	if (mem->buf.geo.page_shift) {
		MLX5_SET(qpc, qpc, log_page_size,
			 mem->buf.geo.page_shift - MLX5_ADAPTER_PAGE_SHIFT);
		MLX5_SET(qpc, qpc, page_offset, mem->buf.geo.page_offset);
	}
	MLX5_SET64(qpc, qpc, dbr_addr, mem->db.dma);
	MLX5_SET(create_qp_in, in, ece, *ece);
	memcpy(MLX5_ADDR_OF(create_qp_in, in, qpc), qpc, MLX5_ST_SZ_BYTES(qpc));
	return queue_created(dev, "a QP", mem,
			     mlx5_ib_fw_create_qp(dev, uid, in, inlen, qpn, ece));
}

/*
 * The command that creates an SRQ of each type: its bytes without the translation list, and what
 * fills the context, which begins at byte @context.
 */
static const struct srq_form {
	u16 opcode;
	size_t size;
	size_t context;
	void (*fill)(void *context, const struct mlx5_ib_srqc_attr *attr);
} srq_forms[] = {
	[IB_SRQT_BASIC] = {
		MLX5_CMD_OP_CREATE_RMP, MLX5_ST_SZ_BYTES(create_rmp_in),
		MLX5_BYTE_OFF(create_rmp_in, ctx), mlx5_ib_fill_rmpc,
	},
	[IB_SRQT_XRC] = {
		MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_ST_SZ_BYTES(create_xrc_srq_in),
		MLX5_BYTE_OFF(create_xrc_srq_in, xrc_srq_context_entry), mlx5_ib_fill_xrc_srqc,
	},
	[IB_SRQT_TM] = {
		MLX5_CMD_OP_CREATE_XRQ, MLX5_ST_SZ_BYTES(create_xrq_in),
		MLX5_BYTE_OFF(create_xrq_in, xrq_context), mlx5_ib_fill_xrqc,
	},
};

/**
 * mlx5_ib_create_srq_cmd - create a shared receive queue at the device
 * @dev: device that has SRQs of the type
 * @uid: user id that the command is sent for
 * @type: the type
 * @mem: memory of the queue
 * @attr: attributes of the queue's context; the memory is filled in here
 * @num: gets the number of the queue
 *
 * Sends CREATE_RMP (struct mlx5_ifc_create_rmp_in_bits), CREATE_XRC_SRQ (struct
 * mlx5_ifc_create_xrc_srq_in_bits) or CREATE_XRQ (struct mlx5_ifc_create_xrq_in_bits). May sleep.
 *
 * Return: 0; -ENOMEM; -ETIMEDOUT if firmware does not answer, and then an orphan takes over the
 * memory, and @mem is zeroed; or the errno of a firmware refusal.
 */
int mlx5_ib_create_srq_cmd(struct mlx5_ib_dev *dev, u16 uid, enum ib_srq_type type,
			   struct mlx5_ib_queue_mem *mem, struct mlx5_ib_srqc_attr *attr, u32 *num)
{
	const struct srq_form *form = &srq_forms[type];
	int inlen;

	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(&mem->buf, form->size, &inlen);

	if (!in)
		return -ENOMEM;
	attr->geo = mem->buf.geo;
	attr->dbr_addr = mem->db.dma;
	form->fill(in + form->context, attr);
	return queue_created(dev, "an SRQ", mem,
			     mlx5_ib_fw_create_object(dev, uid, form->opcode, in, inlen, num));
}

/**
 * mlx5_ib_create_wq_cmd - create a queue for raw packets at the device
 * @dev: device
 * @uid: user id that the command is sent for
 * @opcode: MLX5_CMD_OP_CREATE_RQ or MLX5_CMD_OP_CREATE_SQ
 * @mem: memory of the queue
 * @context: context of the queue, struct mlx5_ifc_rqc_bits or struct mlx5_ifc_sqc_bits, without its
 *	memory, which is filled in here
 * @num: gets the number of the queue
 *
 * Sends CREATE_RQ (struct mlx5_ifc_create_rq_in_bits) or CREATE_SQ (struct
 * mlx5_ifc_create_sq_in_bits). May sleep.
 *
 * Return: 0; -ENOMEM; -ETIMEDOUT if firmware does not answer, and then an orphan takes over the
 * memory, and @mem is zeroed; or the errno of a firmware refusal.
 */
int mlx5_ib_create_wq_cmd(struct mlx5_ib_dev *dev, u16 uid, u16 opcode,
			  struct mlx5_ib_queue_mem *mem, const void *context, u32 *num)
{
	void *rqc, *wq;
	int inlen;

	void *in __free(kvfree) = mlx5_ib_buf_alloc_cmd(&mem->buf,
							MLX5_ST_SZ_BYTES(create_rq_in), &inlen);

	if (!in)
		return -ENOMEM;
	rqc = MLX5_ADDR_OF(create_rq_in, in, ctx);
	memcpy(rqc, context, MLX5_ST_SZ_BYTES(rqc));
	wq = MLX5_ADDR_OF(rqc, rqc, wq);
	MLX5_SET(wq, wq, log_wq_pg_sz, mem->buf.geo.page_shift - MLX5_ADAPTER_PAGE_SHIFT);
	MLX5_SET(wq, wq, page_offset, mem->buf.geo.page_offset);
	MLX5_SET64(wq, wq, dbr_addr, mem->db.dma);
	return queue_created(dev, opcode == MLX5_CMD_OP_CREATE_RQ ? "an RQ" : "an SQ", mem,
			     mlx5_ib_fw_create_object(dev, uid, opcode, in, inlen, num));
}
