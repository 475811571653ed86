// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware commands on UARs, protection domains, memory keys, device memory, queues, multicast
 * groups, management datagrams, counters, event queues, rates, and page faults.
 */

#include <kunit/static_stub.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <linux/string.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dm.h"
#include "layout/layout_odp.h"

/*
 * Commands that create and destroy objects. In each command of column @destroy the number of the
 * object has the same offset as in dealloc_pd_in; in the answer to each command of column @create,
 * the same offset as in alloc_pd_out.
 */
static const struct {
	u16 create;
	u16 destroy;
} fw_opcodes[] = {
	{ MLX5_CMD_OP_ALLOC_PD, MLX5_CMD_OP_DEALLOC_PD },
	{ MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_DEALLOC_UAR },
	{ MLX5_CMD_OP_ALLOC_XRCD, MLX5_CMD_OP_DEALLOC_XRCD },
	{ MLX5_CMD_OP_ALLOC_Q_COUNTER, MLX5_CMD_OP_DEALLOC_Q_COUNTER },
	{ MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN },
	{ MLX5_CMD_OP_CREATE_UCTX, MLX5_CMD_OP_DESTROY_UCTX },
	{ MLX5_CMD_OP_CREATE_UMEM, MLX5_CMD_OP_DESTROY_UMEM },
	{ MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_DESTROY_MKEY },
	{ MLX5_CMD_OP_CREATE_CQ, MLX5_CMD_OP_DESTROY_CQ },
	{ MLX5_CMD_OP_CREATE_QP, MLX5_CMD_OP_DESTROY_QP },
	{ MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_DESTROY_RMP },
	{ MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_DESTROY_XRC_SRQ },
	{ MLX5_CMD_OP_CREATE_XRQ, MLX5_CMD_OP_DESTROY_XRQ },
	{ MLX5_CMD_OP_CREATE_SQ, MLX5_CMD_OP_DESTROY_SQ },
	{ MLX5_CMD_OP_CREATE_RQ, MLX5_CMD_OP_DESTROY_RQ },
	{ MLX5_CMD_OP_CREATE_TIS, MLX5_CMD_OP_DESTROY_TIS },
	{ MLX5_CMD_OP_CREATE_TIR, MLX5_CMD_OP_DESTROY_TIR },
	{ MLX5_CMD_OP_CREATE_RQT, MLX5_CMD_OP_DESTROY_RQT },
	{ MLX5_CMD_OP_CREATE_DCT, MLX5_CMD_OP_DESTROY_DCT },
};

/*
 * Note that firmware has given a number to a new object, so that the driver sends no more commands
 * to destroy the object that had the number before. Returns the number.
 */
static u32 fw_created(struct mlx5_ib_dev *dev, u16 opcode, const void *out)
{
	u32 number = MLX5_GET(alloc_pd_out, out, pd);
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fw_opcodes) && fw_opcodes[i].create != opcode; i++)
		;
	if (WARN_ON_ONCE(i == ARRAY_SIZE(fw_opcodes)))
		return number;
	mlx5_ib_fw_name_object(in, fw_opcodes[i].destroy, number);
	mlx5_ib_fw_number_taken(dev, in);
	return number;
}

/**
 * mlx5_ib_fw_create_object - send a command that creates an object
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_* of the command
 * @in: the command; this function sets the opcode
 * @inlen: bytes of @in
 * @number: gets the number of the new object
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_create_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, void *in, int inlen,
			     u32 *number)
{
	u32 out[MLX5_ST_SZ_DW(alloc_pd_out)] = {};
	int err;

	MLX5_SET(alloc_pd_in, in, opcode, opcode);
	err = mlx5_ib_fw_exec(dev, uid, in, inlen, out, sizeof(out));
	if (!err)
		*number = fw_created(dev, opcode, out);
	return err;
}

/**
 * mlx5_ib_fw_create_within_limit - create an object; do not log that a limit is reached
 * @dev: device
 * @uid: as for mlx5_ib_fw_create_object()
 * @opcode: as for mlx5_ib_fw_create_object()
 * @in: as for mlx5_ib_fw_create_object()
 * @inlen: as for mlx5_ib_fw_create_object()
 * @number: as for mlx5_ib_fw_create_object()
 *
 * May sleep.
 *
 * Return: as mlx5_ib_fw_exec_within_limit().
 */
int mlx5_ib_fw_create_within_limit(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, void *in,
				   int inlen, u32 *number)
{
	u32 out[MLX5_ST_SZ_DW(alloc_pd_out)] = {};
	int err;

	MLX5_SET(alloc_pd_in, in, opcode, opcode);
	err = mlx5_ib_fw_exec_within_limit(dev, uid, in, inlen, out, sizeof(out));
	if (!err)
		*number = fw_created(dev, opcode, out);
	return err;
}

/**
 * mlx5_ib_fw_alloc_object - send a command without arguments that creates an object
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: gets the number of the new object
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_alloc_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 *number)
{
	u32 in[MLX5_ST_SZ_DW(alloc_pd_in)] = {};

	return mlx5_ib_fw_create_object(dev, uid, opcode, in, sizeof(in), number);
}

/**
 * mlx5_ib_fw_query_object - send a command whose only argument is the number of an object
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_* of the command
 * @number: number of the object; 0 for a command without arguments
 * @out: the answer, zeroed
 * @outlen: bytes of @out
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_object(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 number, void *out,
			    int outlen)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)];

	mlx5_ib_fw_name_object(in, opcode, number);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, outlen);
}

/**
 * mlx5_ib_fw_query_qp_error - QUERY_QP: read why a QP has failed
 * @dev: device with the capability qp_error_syndrome
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @qpn: number of the QP
 * @error: gets struct mlx5_ifc_cqe_error_syndrome_bits, all 0 if the QP has not failed
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_qp_error(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, void *error)
{
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	void *ext = MLX5_ADDR_OF(query_qp_out, out, qp_pas_or_qpc_ext_and_pas);
	u32 in[MLX5_ST_SZ_DW(query_qp_in)] = {};
	int err;

	MLX5_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	MLX5_SET(query_qp_in, in, qpc_ext, 1);
	MLX5_SET(query_qp_in, in, qpn, qpn);
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (!err)
		memcpy(error, MLX5_ADDR_OF(qpc_extension_and_pas_list_in, ext,
					   qpc_data_extension.error_syndrome),
		       MLX5_ST_SZ_BYTES(cqe_error_syndrome));
	return err;
}

static int fw_core_create_cq(struct mlx5_ib_dev *dev, void *in, int inlen, void *out, int outlen,
			     void *mcq)
{
	return mlx5_core_create_cq(dev->mdev, mcq, in, inlen, out, outlen);
}

/**
 * mlx5_ib_fw_create_cq - CREATE_CQ, and let mlx5_core dispatch the CQ's events
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @mcq: gets the number; the caller has set the handlers
 * @in: struct mlx5_ifc_create_cq_in_bits; this function sets the opcode
 * @inlen: bytes of @in
 *
 * mlx5_core sends this command itself, and then enters the CQ into the tables in which it looks
 * events up. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_create_cq(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq, void *in,
			 int inlen)
{
	u32 out[MLX5_ST_SZ_DW(create_cq_out)] = {};
	int err;

	MLX5_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
	err = mlx5_ib_fw_exec_via(dev, uid, in, inlen, out, sizeof(out), fw_core_create_cq, mcq);
	if (!err)
		fw_created(dev, MLX5_CMD_OP_CREATE_CQ, out);
	return err;
}

static int fw_core_create_cq_raw(struct mlx5_ib_dev *dev, void *in, int inlen, void *out,
				 int outlen, void *mcq)
{
	return mlx5_create_cq(dev->mdev, mcq, in, inlen, out, outlen);
}

/**
 * mlx5_ib_fw_create_cq_raw - CREATE_CQ as a process has built it
 * @dev: device
 * @uid: user id of the process
 * @mcq: as for mlx5_ib_fw_create_cq()
 * @in: the command, at least struct mlx5_ifc_create_cq_in_bits
 * @inlen: bytes of @in
 * @out: the answer, for the process
 * @outlen: bytes of @out, at least struct mlx5_ifc_create_cq_out_bits
 *
 * A refusal is not logged. May sleep.
 *
 * Return: 0; -EREMOTEIO if firmware has refused the command, as @out says; -ENOENT if the event
 * queue that the command names is not one of mlx5_core's queues for completions; or another
 * negative errno.
 */
int mlx5_ib_fw_create_cq_raw(struct mlx5_ib_dev *dev, u16 uid, struct mlx5_core_cq *mcq, void *in,
			     int inlen, void *out, int outlen)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, inlen, out, outlen, fw_core_create_cq_raw, mcq);
}

/**
 * mlx5_ib_fw_modify_cq - MODIFY_CQ
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @cqn: number of the CQ
 * @in: struct mlx5_ifc_modify_cq_in_bits; this function sets opcode and number
 * @inlen: bytes of @in
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_modify_cq(struct mlx5_ib_dev *dev, u16 uid, u32 cqn, void *in, int inlen)
{
	u32 out[MLX5_ST_SZ_DW(modify_cq_out)] = {};

	MLX5_SET(modify_cq_in, in, opcode, MLX5_CMD_OP_MODIFY_CQ);
	MLX5_SET(modify_cq_in, in, cqn, cqn);
	return mlx5_ib_fw_exec(dev, uid, in, inlen, out, sizeof(out));
}

static int fw_core_destroy_cq(struct mlx5_ib_dev *dev, void *in, int inlen, void *out,
			      int outlen, void *mcq)
{
	return mlx5_core_destroy_cq(dev->mdev, mcq);
}

/*
 * Destroy a CQ. mlx5_core_destroy_cq() builds the command itself: the copy here is what the
 * tracepoint and KUnit see. mlx5_core_destroy_cq() removes the CQ from the tables in which
 * mlx5_core looks events up, whatever the result of the command, so the driver calls
 * mlx5_core_destroy_cq() only once for a CQ.
 *
 * So a CQ that firmware has refused to destroy gets no events any more. The driver cannot enter the
 * CQ into the tables again: mlx5_core exports only functions that create a CQ. Nor can the driver
 * send the command itself, and call mlx5_core_destroy_cq() after success: that function would send
 * the command again, and by then the device may have given the number to a new CQ. Nor could
 * mlx5_core enter that new CQ into its tables while the old CQ is in them.
 */
static int fw_send_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq,
			      struct mlx5_ib_fw_attempt *attempt)
{
	u32 in[MLX5_ST_SZ_DW(destroy_cq_in)];

	mlx5_ib_fw_name_object(in, MLX5_CMD_OP_DESTROY_CQ, mcq->cqn);
	return mlx5_ib_fw_destroy_via(dev, mcq->uid, in, sizeof(in), attempt, fw_core_destroy_cq,
				      mcq);
}

/*
 * Wait until no handler of the CQ runs any more. mlx5_core_destroy_cq() does so only if its
 * DESTROY_CQ succeeds.
 */
static void fw_wait_cq_handlers(struct mlx5_core_cq *mcq)
{
	synchronize_irq(mcq->irqn);
	mlx5_cq_put(mcq);
	wait_for_completion(&mcq->free);
}

/**
 * mlx5_ib_fw_destroy_cq - DESTROY_CQ, and remove the CQ from mlx5_core's tables
 * @dev: device
 * @mcq: the CQ; the command carries the uid that it was created with
 * @attempt: as for mlx5_ib_fw_send_destroy()
 *
 * After success no handler of the CQ runs any more. After a failure the CQ is in no table of
 * mlx5_core any more, and gets no events, see fw_send_destroy_cq(); the caller tries again with
 * this function or mlx5_ib_fw_discard_cq(). May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_fw_destroy_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_fw_attempt *attempt)
{
	int err = fw_send_destroy_cq(dev, mcq, attempt);

	if (!err && attempt->failed)
		fw_wait_cq_handlers(mcq);
	return err;
}

/**
 * mlx5_ib_fw_discard_cq - DESTROY_CQ, and have mlx5_core release the CQ whatever the result
 * @dev: device
 * @mcq: the CQ, which may be freed when this function returns
 * @attempt: as for mlx5_ib_fw_send_destroy(); mlx5_ib_fw_destroy_cq() may have used it, and failed
 *
 * Waits until no handler of the CQ runs. May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy(); after an error the device may still use the memory of the
 * CQ.
 */
int mlx5_ib_fw_discard_cq(struct mlx5_ib_dev *dev, struct mlx5_core_cq *mcq,
			  struct mlx5_ib_fw_attempt *attempt)
{
	int err = fw_send_destroy_cq(dev, mcq, attempt);

	if (attempt->failed)
		fw_wait_cq_handlers(mcq);
	return err;
}

/**
 * mlx5_ib_fw_create_mkey - CREATE_MKEY
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: struct mlx5_ifc_create_mkey_in_bits; this function sets the opcode
 * @inlen: bytes of @in
 * @mkey: gets the key: the index from firmware, and the low byte (variant) from @in
 *
 * A refusal because a limit has been reached is not logged. May sleep.
 *
 * Return: as mlx5_ib_fw_exec_within_limit().
 */
int mlx5_ib_fw_create_mkey(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *mkey)
{
	u32 index;
	int err;

	err = mlx5_ib_fw_create_within_limit(dev, uid, MLX5_CMD_OP_CREATE_MKEY, in, inlen, &index);
	if (!err)
		*mkey = mlx5_idx_to_mkey(index) |
			MLX5_GET(create_mkey_in, in, memory_key_mkey_entry.mkey_7_0);
	return err;
}

/**
 * mlx5_ib_fw_alloc_memic - ALLOC_MEMIC
 * @dev: device
 * @range: start of the range of BAR 0 to allocate from
 * @range_size: bytes of the range
 * @size: bytes to allocate
 * @log_align: log2 of the alignment in bytes
 * @addr: gets the address of the memory in BAR 0
 *
 * Device memory belongs to no user id. May sleep.
 *
 * Return: 0; -EAGAIN if there is no room in the range; or a negative errno.
 */
int mlx5_ib_fw_alloc_memic(struct mlx5_ib_dev *dev, u64 range, u32 range_size, u32 size,
			   u32 log_align, u64 *addr)
{
	u32 out[MLX5_ST_SZ_DW(alloc_memic_out)] = {};
	u32 in[MLX5_ST_SZ_DW(alloc_memic_in)] = {};
	int err;

	MLX5_SET(alloc_memic_in, in, opcode, MLX5_CMD_OP_ALLOC_MEMIC);
	MLX5_SET(alloc_memic_in, in, log_memic_addr_alignment,
		 max(log_align, MLX5_IB_MEMIC_BASE_SHIFT) - MLX5_IB_MEMIC_BASE_SHIFT);
	MLX5_SET64(alloc_memic_in, in, range_start_addr, range);
	MLX5_SET(alloc_memic_in, in, range_size, range_size);
	MLX5_SET(alloc_memic_in, in, memic_size, size);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err)
		*addr = MLX5_GET64(alloc_memic_out, out, memic_start_addr);
	return err;
}

/**
 * mlx5_ib_fw_dealloc_memic - DEALLOC_MEMIC
 * @dev: device
 * @addr: address of the memory, returned by mlx5_ib_fw_alloc_memic()
 * @size: bytes that were allocated
 * @attempt: as for mlx5_ib_fw_send_destroy()
 *
 * The driver chooses the range of each allocation, so no other allocation of the driver gets the
 * address before this one is known to be gone. May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_fw_dealloc_memic(struct mlx5_ib_dev *dev, u64 addr, u32 size,
			     struct mlx5_ib_fw_attempt *attempt)
{
	u32 in[MLX5_ST_SZ_DW(dealloc_memic_in)] = {};

	MLX5_SET(dealloc_memic_in, in, opcode, MLX5_CMD_OP_DEALLOC_MEMIC);
	MLX5_SET64(dealloc_memic_in, in, memic_start_addr, addr);
	MLX5_SET(dealloc_memic_in, in, memic_size, size);
	return mlx5_ib_fw_send_destroy(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), attempt);
}

/**
 * mlx5_ib_fw_modify_memic - MODIFY_MEMIC: allocate or deallocate the address of an operation on
 *	device memory
 * @dev: device
 * @op_mod: MLX5_MODIFY_MEMIC_OP_MOD_*
 * @addr: address of device memory, returned by mlx5_ib_fw_alloc_memic()
 * @op: number of the operation
 * @op_addr: gets the address in BAR 0 at which an access does the operation on the first byte of
 *	the memory. Not used for MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_modify_memic(struct mlx5_ib_dev *dev, u16 op_mod, u64 addr, u8 op, u64 *op_addr)
{
	u32 out[MLX5_ST_SZ_DW(modify_memic_out)] = {};
	u32 in[MLX5_ST_SZ_DW(modify_memic_in)] = {};
	int err;

	MLX5_SET(modify_memic_in, in, opcode, MLX5_CMD_OP_MODIFY_MEMIC);
	MLX5_SET(modify_memic_in, in, op_mod, op_mod);
	MLX5_SET(modify_memic_in, in, memic_operation_type, op);
	MLX5_SET64(modify_memic_in, in, memic_start_addr, addr);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err && op_mod == MLX5_MODIFY_MEMIC_OP_MOD_ALLOC)
		*op_addr = MLX5_GET64(modify_memic_out, out, memic_operation_addr);
	return err;
}

/**
 * mlx5_ib_fw_create_qp - CREATE_QP
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: struct mlx5_ifc_create_qp_in_bits; this function sets the opcode
 * @inlen: bytes of @in
 * @qpn: gets the number of the new QP
 * @ece: gets the options of enhanced connection establishment that firmware grants
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_create_qp(struct mlx5_ib_dev *dev, u16 uid, void *in, int inlen, u32 *qpn, u32 *ece)
{
	u32 out[MLX5_ST_SZ_DW(create_qp_out)] = {};
	int err;

	MLX5_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
	err = mlx5_ib_fw_exec(dev, uid, in, inlen, out, sizeof(out));
	if (err)
		return err;
	*qpn = fw_created(dev, MLX5_CMD_OP_CREATE_QP, out);
	*ece = MLX5_GET(create_qp_out, out, ece);
	return 0;
}

/**
 * mlx5_ib_fw_modify_qp - send a command that changes the state of a QP
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_* of the command, one that mlx5_ib_qp_opcode() can return
 * @qpn: number of the QP
 * @qpc: struct mlx5_ifc_qpc_bits; not used by 2ERR_QP and 2RST_QP
 * @opt_mask: MLX5_QP_OPTPAR_* of the optional fields of @qpc that firmware has to read
 * @ece: options of enhanced connection establishment that are asked for; 0 for none
 * @granted: gets the options that firmware grants
 *
 * All commands that take a context are laid out as struct mlx5_ifc_rst2init_qp_in_bits.
 * SQERR2RTS_QP, SQD_RTS_QP, 2ERR_QP and 2RST_QP have no ECE field and grant no options. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_modify_qp(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 qpn, const void *qpc,
			 u32 opt_mask, u32 ece, u32 *granted)
{
	bool has_ece = opcode != MLX5_CMD_OP_SQERR2RTS_QP && opcode != MLX5_CMD_OP_SQD_RTS_QP;
	u32 out[MLX5_ST_SZ_DW(rst2init_qp_out)] = {};
	u32 in[MLX5_ST_SZ_DW(rst2init_qp_in)] = {};
	int err;

	*granted = 0;
	if (opcode == MLX5_CMD_OP_2ERR_QP || opcode == MLX5_CMD_OP_2RST_QP)
		return mlx5_ib_fw_query_object(dev, uid, opcode, qpn, out, sizeof(out));

	MLX5_SET(rst2init_qp_in, in, opcode, opcode);
	MLX5_SET(rst2init_qp_in, in, qpn, qpn);
	MLX5_SET(rst2init_qp_in, in, opt_param_mask, opt_mask);
	if (has_ece)
		MLX5_SET(rst2init_qp_in, in, ece, ece);
	memcpy(MLX5_ADDR_OF(rst2init_qp_in, in, qpc), qpc, MLX5_ST_SZ_BYTES(qpc));
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (!err && has_ece)
		*granted = MLX5_GET(rst2init_qp_out, out, ece);
	return err;
}

/* MODIFY_SQ has the layout of MODIFY_RQ, and the contexts are of the same length. */
static_assert(MLX5_BYTE_OFF(modify_rq_in, ctx) == MLX5_BYTE_OFF(modify_sq_in, ctx));
static_assert(MLX5_ST_SZ_BYTES(modify_rq_in) == MLX5_ST_SZ_BYTES(modify_sq_in));

/**
 * mlx5_ib_fw_modify_wq - MODIFY_RQ or MODIFY_SQ: change a queue for raw packets
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_MODIFY_RQ or MLX5_CMD_OP_MODIFY_SQ
 * @num: number of the queue
 * @cur: state before the change, MLX5_RQC_STATE_* or MLX5_SQC_STATE_*
 * @bitmask: which fields of @context firmware has to read, besides the state
 * @context: struct mlx5_ifc_rqc_bits or struct mlx5_ifc_sqc_bits, with the state after the change
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_modify_wq(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 num, u8 cur, u64 bitmask,
			 const void *context)
{
	u32 out[MLX5_ST_SZ_DW(modify_rq_out)] = {};
	u32 in[MLX5_ST_SZ_DW(modify_rq_in)] = {};

	MLX5_SET(modify_rq_in, in, opcode, opcode);
	MLX5_SET(modify_rq_in, in, rqn, num);
	MLX5_SET(modify_rq_in, in, rq_state, cur);
	MLX5_SET64(modify_rq_in, in, modify_bitmask, bitmask);
	memcpy(MLX5_ADDR_OF(modify_rq_in, in, ctx), context, MLX5_ST_SZ_BYTES(rqc));
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

static_assert(MLX5_ST_SZ_BYTES(query_rq_out) == MLX5_ST_SZ_BYTES(query_sq_out));

/**
 * mlx5_ib_fw_query_wq_state - QUERY_RQ or QUERY_SQ: read the state of a queue for raw packets
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @opcode: MLX5_CMD_OP_QUERY_RQ or MLX5_CMD_OP_QUERY_SQ
 * @num: number of the queue
 * @state: gets the state, MLX5_RQC_STATE_* or MLX5_SQC_STATE_*; unchanged after an error
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_wq_state(struct mlx5_ib_dev *dev, u16 uid, u16 opcode, u32 num, u8 *state)
{
	u32 out[MLX5_ST_SZ_DW(query_rq_out)] = {};
	int err = mlx5_ib_fw_query_object(dev, uid, opcode, num, out, sizeof(out));

	if (err)
		return err;
	*state = opcode == MLX5_CMD_OP_QUERY_RQ ? MLX5_GET(query_rq_out, out, rq_context.state) :
						  MLX5_GET(query_sq_out, out, sq_context.state);
	return 0;
}

/**
 * mlx5_ib_fw_create_dct - CREATE_DCT
 * @dev: device
 * @uid: user that the command is sent for
 * @dctc: context, struct mlx5_ifc_dctc_bits
 * @dctn: gets the number of the new DC target
 * @ece: gets the options of enhanced connection establishment that firmware grants
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_create_dct(struct mlx5_ib_dev *dev, u16 uid, const void *dctc, u32 *dctn, u32 *ece)
{
	u32 out[MLX5_ST_SZ_DW(create_dct_out)] = {};
	u32 in[MLX5_ST_SZ_DW(create_dct_in)] = {};
	int err;

	MLX5_SET(create_dct_in, in, opcode, MLX5_CMD_OP_CREATE_DCT);
	memcpy(MLX5_ADDR_OF(create_dct_in, in, dct_context_entry), dctc, MLX5_ST_SZ_BYTES(dctc));
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	*dctn = fw_created(dev, MLX5_CMD_OP_CREATE_DCT, out);
	*ece = MLX5_GET(create_dct_out, out, ece);
	return 0;
}

/**
 * mlx5_ib_fw_arm_rmp - MODIFY_RMP: set the limit of a basic SRQ
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @rmpn: number of the RMP (receive memory pool): the device's object for the SRQ
 * @limit: the device reports one event when fewer than @limit WQEs are left; 0 for no event
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_arm_rmp(struct mlx5_ib_dev *dev, u16 uid, u32 rmpn, u16 limit)
{
	u32 out[MLX5_ST_SZ_DW(modify_rmp_out)] = {};
	u32 in[MLX5_ST_SZ_DW(modify_rmp_in)] = {};

	MLX5_SET(modify_rmp_in, in, opcode, MLX5_CMD_OP_MODIFY_RMP);
	MLX5_SET(modify_rmp_in, in, rmp_state, MLX5_RMPC_STATE_RDY);
	MLX5_SET(modify_rmp_in, in, rmpn, rmpn);
	MLX5_SET(modify_rmp_in, in, bitmask.lwm, 1);
	MLX5_SET(modify_rmp_in, in, ctx.state, MLX5_RMPC_STATE_RDY);
	MLX5_SET(modify_rmp_in, in, ctx.wq.lwm, limit);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_ib_fw_arm_xrc_srq - ARM_XRC_SRQ: set the limit of an XRC SRQ
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @srqn: number of the SRQ
 * @limit: the device reports one event when fewer than @limit WQEs are left; 0 for no event
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_arm_xrc_srq(struct mlx5_ib_dev *dev, u16 uid, u32 srqn, u16 limit)
{
	u32 out[MLX5_ST_SZ_DW(arm_xrc_srq_out)] = {};
	u32 in[MLX5_ST_SZ_DW(arm_xrc_srq_in)] = {};

	MLX5_SET(arm_xrc_srq_in, in, opcode, MLX5_CMD_OP_ARM_XRC_SRQ);
	MLX5_SET(arm_xrc_srq_in, in, op_mod, MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ);
	MLX5_SET(arm_xrc_srq_in, in, xrc_srqn, srqn);
	MLX5_SET(arm_xrc_srq_in, in, lwm, limit);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_ib_fw_arm_xrq - ARM_XRQ: set the limit of an SRQ with tag matching
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @xrqn: number of the XRQ: the device's object for the SRQ
 * @limit: the device reports one event when fewer than @limit WQEs are left; 0 for no event
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_arm_xrq(struct mlx5_ib_dev *dev, u16 uid, u32 xrqn, u16 limit)
{
	u32 out[MLX5_ST_SZ_DW(arm_xrq_out)] = {};
	u32 in[MLX5_ST_SZ_DW(arm_xrq_in)] = {};

	MLX5_SET(arm_xrq_in, in, opcode, MLX5_CMD_OP_ARM_XRQ);
	MLX5_SET(arm_xrq_in, in, xrqn, xrqn);
	MLX5_SET(arm_xrq_in, in, lwm, limit);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_ib_fw_name_mcg - build a command that attaches a queue pair to a multicast group, or
 *	detaches the queue pair from the group
 * @in: gets the command; MLX5_ST_SZ_DW(attach_to_mcg_in) dwords, as both commands have
 * @opcode: MLX5_CMD_OP_ATTACH_TO_MCG or MLX5_CMD_OP_DETACH_FROM_MCG
 * @qpn: number of the queue pair
 * @gid: the multicast group
 */
void mlx5_ib_fw_name_mcg(u32 *in, u16 opcode, u32 qpn, const union ib_gid *gid)
{
	memset(in, 0, MLX5_ST_SZ_BYTES(attach_to_mcg_in));
	MLX5_SET(attach_to_mcg_in, in, opcode, opcode);
	MLX5_SET(attach_to_mcg_in, in, qpn, qpn);
	memcpy(MLX5_ADDR_OF(attach_to_mcg_in, in, multicast_gid), gid->raw, sizeof(gid->raw));
}

/**
 * mlx5_ib_fw_detach_mcg - DETACH_FROM_MCG
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @qpn: number of the queue pair
 * @gid: the multicast group
 * @attempt: attempts to end the attachment
 *
 * May sleep.
 *
 * Return: as mlx5_ib_fw_send_destroy().
 */
int mlx5_ib_fw_detach_mcg(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, const union ib_gid *gid,
			  struct mlx5_ib_fw_attempt *attempt)
{
	u32 in[MLX5_ST_SZ_DW(detach_from_mcg_in)];

	mlx5_ib_fw_name_mcg(in, MLX5_CMD_OP_DETACH_FROM_MCG, qpn, gid);
	return mlx5_ib_fw_send_destroy(dev, uid, in, sizeof(in), attempt);
}

/**
 * mlx5_ib_fw_attach_mcg - ATTACH_TO_MCG
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @qpn: number of the queue pair
 * @gid: the multicast group
 *
 * May sleep.
 *
 * Return: 0 or a negative errno. After -ETIMEDOUT the queue pair may be in the group.
 */
int mlx5_ib_fw_attach_mcg(struct mlx5_ib_dev *dev, u16 uid, u32 qpn, const union ib_gid *gid)
{
	u32 out[MLX5_ST_SZ_DW(attach_to_mcg_out)] = {};
	u32 in[MLX5_ST_SZ_DW(attach_to_mcg_in)];

	mlx5_ib_fw_name_mcg(in, MLX5_CMD_OP_ATTACH_TO_MCG, qpn, gid);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_ib_fw_mad_ifc - MAD_IFC: have firmware answer a management datagram
 * @dev: device
 * @port: number of the port
 * @op_mod: bit 0: do not check the M_Key; bit 1: do not check the B_Key
 * @remote_lid: LID that the datagram came from
 * @in_mad: the datagram, 256 bytes
 * @out_mad: gets the answer, 256 bytes
 *
 * A refusal is not logged, since any host of the network could cause any number of refusals. May
 * sleep.
 *
 * Return: 0; -EREMOTEIO if firmware refuses the datagram; or the errno of a command that was not
 * sent or not answered.
 */
int mlx5_ib_fw_mad_ifc(struct mlx5_ib_dev *dev, u8 port, u16 op_mod, u16 remote_lid,
		       const void *in_mad, void *out_mad)
{
	u32 out[MLX5_ST_SZ_DW(mad_ifc_out)] = {};
	u32 in[MLX5_ST_SZ_DW(mad_ifc_in)] = {};
	int err;

	MLX5_SET(mad_ifc_in, in, opcode, MLX5_CMD_OP_MAD_IFC);
	MLX5_SET(mad_ifc_in, in, op_mod, op_mod);
	MLX5_SET(mad_ifc_in, in, port, port);
	MLX5_SET(mad_ifc_in, in, remote_lid, remote_lid);
	memcpy(MLX5_ADDR_OF(mad_ifc_in, in, mad), in_mad, MLX5_FLD_SZ_BYTES(mad_ifc_in, mad));
	err = mlx5_ib_fw_exec_raw(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err)
		memcpy(out_mad, MLX5_ADDR_OF(mad_ifc_out, out, response_mad_packet),
		       MLX5_FLD_SZ_BYTES(mad_ifc_in, mad));
	return err;
}

/**
 * mlx5_ib_fw_query_q_counter - QUERY_Q_COUNTER
 * @dev: device
 * @set_id: number of the counter set
 * @out: struct mlx5_ifc_query_q_counter_out_bits, zeroed
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_q_counter(struct mlx5_ib_dev *dev, u8 set_id, void *out)
{
	u32 in[MLX5_ST_SZ_DW(query_q_counter_in)] = {};

	MLX5_SET(query_q_counter_in, in, opcode, MLX5_CMD_OP_QUERY_Q_COUNTER);
	MLX5_SET(query_q_counter_in, in, counter_set_id, set_id);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out,
			       MLX5_ST_SZ_BYTES(query_q_counter_out));
}

/* Argument and result of mlx5_eq_create_generic(). */
struct fw_core_eq {
	struct mlx5_eq_param *param;
	struct mlx5_eq *eq;
};

static int fw_core_create_eq(struct mlx5_ib_dev *dev, void *in, int inlen, void *out, int outlen,
			     void *arg)
{
	struct fw_core_eq *core = arg;

	core->eq = mlx5_eq_create_generic(dev->mdev, core->param);
	return PTR_ERR_OR_ZERO(core->eq);
}

/**
 * mlx5_ib_fw_create_eq - CREATE_EQ
 * @dev: device
 * @param: size of the queue, and types of the events that the device reports in the queue
 *
 * mlx5_core sends this command itself. May sleep.
 *
 * Return: the event queue, or an ERR_PTR.
 */
struct mlx5_eq *mlx5_ib_fw_create_eq(struct mlx5_ib_dev *dev, struct mlx5_eq_param *param)
{
	struct fw_core_eq core = { .param = param };
	int err;

	err = mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_CREATE_EQ, fw_core_create_eq, &core);
	return err ? ERR_PTR(err) : core.eq;
}

static int fw_core_destroy_eq(struct mlx5_ib_dev *dev, void *in, int inlen, void *out,
			      int outlen, void *eq)
{
	return mlx5_eq_destroy_generic(dev->mdev, eq);
}

/**
 * mlx5_ib_fw_destroy_eq - DESTROY_EQ
 * @dev: device
 * @eq: the event queue, disabled
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_destroy_eq(struct mlx5_ib_dev *dev, struct mlx5_eq *eq)
{
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_DESTROY_EQ, fw_core_destroy_eq, eq);
}

/* Arguments of mlx5_rl_add_rate_raw(): mlx5_core keeps the table of rates. */
struct fw_core_rate {
	void *rate;
	u16 uid;
	bool dedicated;
	u16 *index;
};

static int fw_core_add_rate(struct mlx5_ib_dev *dev, void *in, int inlen, void *out, int outlen,
			    void *arg)
{
	const struct fw_core_rate *core = arg;

	return mlx5_rl_add_rate_raw(dev->mdev, core->rate, core->uid, core->dedicated, core->index);
}

/**
 * mlx5_ib_fw_add_rate - SET_PP_RATE_LIMIT, unless mlx5_core's table of rates has the rate already
 * @dev: device
 * @uid: user that the rate is for, or MLX5_SHARED_RESOURCE_UID
 * @rate: struct mlx5_ifc_set_pp_rate_limit_context_bits, with a rate in the device's range
 * @dedicated: take an entry that no other call shares, even for the same rate
 * @index: gets the index of the table's entry
 *
 * mlx5_core sends this command itself, and takes a reference to the entry. May sleep.
 *
 * Return: 0; -ENOSPC if there is no free entry; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_fw_add_rate(struct mlx5_ib_dev *dev, u16 uid, void *rate, bool dedicated, u16 *index)
{
	struct fw_core_rate core = {
		.rate = rate, .uid = uid, .dedicated = dedicated, .index = index,
	};

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_add_rate, dev, uid, rate, dedicated, index);
	return mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_SET_PP_RATE_LIMIT, fw_core_add_rate, &core);
}

static int fw_core_remove_rate(struct mlx5_ib_dev *dev, void *in, int inlen, void *out, int outlen,
			       void *arg)
{
	mlx5_rl_remove_rate_raw(dev->mdev, *(u16 *)arg);
	return 0;
}

/**
 * mlx5_ib_fw_remove_rate - release a rate
 * @dev: device
 * @index: index of the entry, from mlx5_ib_fw_add_rate()
 *
 * When the last reference to the entry is released, mlx5_core clears the entry by
 * SET_PP_RATE_LIMIT. May sleep.
 */
void mlx5_ib_fw_remove_rate(struct mlx5_ib_dev *dev, u16 index)
{
	mlx5_ib_fw_call_core(dev, MLX5_CMD_OP_SET_PP_RATE_LIMIT, fw_core_remove_rate, &index);
}

/**
 * mlx5_ib_fw_page_fault_resume - PAGE_FAULT_RESUME
 * @dev: device
 * @fault: the fault; a queue waits for its resolution
 * @error: the pages cannot be mapped, so the work request has to fail
 *
 * May sleep.
 *
 * Return: 0; -ENOENT if no queue waits for the fault, because the queue has been destroyed;
 * or another negative errno.
 */
int mlx5_ib_fw_page_fault_resume(struct mlx5_ib_dev *dev, const struct mlx5_ib_fault *fault,
				 bool error)
{
	u32 out[MLX5_ST_SZ_DW(page_fault_resume_out)] = {};
	u32 in[MLX5_ST_SZ_DW(page_fault_resume_in)] = {};

	mlx5_ib_odp_fill_resume(in, fault, error);
	return mlx5_ib_fw_exec_if_exists(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
}
