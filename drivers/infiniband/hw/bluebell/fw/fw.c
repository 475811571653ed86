// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The choke point of the firmware interface, a function through which every firmware command of the
 * driver passes; and the commands on the device and its port.
 */

#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/ktime.h>
#include <linux/mlx5/vport.h>
#include <linux/pci.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "fw/bluebell.h"
#include "fw/fw.h"

#define CREATE_TRACE_POINTS
#include "fw/trace.h"

/* Room for PTYS and NODE_DESC, the longest registers that mlx5_ib_fw_access_reg() is called for. */
#define MAX_REG_DW	MLX5_ST_SZ_DW(ptys_reg)
static_assert(MLX5_ST_SZ_BYTES(ptys_reg) >= IB_DEVICE_NODE_DESC_MAX);

/* Whether mlx5_core or the PCI core knows the device to be lost. Does not access the device. */
static bool fw_device_is_gone(struct mlx5_core_dev *mdev)
{
	return mdev->state == MLX5_DEVICE_STATE_INTERNAL_ERROR || pci_channel_offline(mdev->pdev);
}

/**
 * mlx5_ib_fw_device_is_gone - look whether the device has failed or has been pulled out
 * @dev: device
 *
 * Reads PCI configuration space, and so notices that a device has been pulled out even if the PCI
 * core has not noticed yet. Any context.
 *
 * Return: true if the device completes nothing any more.
 */
bool mlx5_ib_fw_device_is_gone(struct mlx5_ib_dev *dev)
{
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_device_is_gone, dev);
	return fw_device_is_gone(dev->mdev) || !pci_device_is_present(dev->mdev->pdev);
}

/**
 * mlx5_ib_fw_exec_via - pass a command through the choke point
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: the command, with its opcode set
 * @in_size: bytes of @in
 * @out: the answer, zeroed
 * @out_size: bytes of @out
 * @send: sends the command, or calls the function of mlx5_core that does
 * @arg: argument of @send
 *
 * Every firmware command of the driver passes through this function, which writes @uid into the
 * command: firmware lets a user name only objects of the same uid, and objects for all users
 * (MLX5_SHARED_RESOURCE_UID). If mlx5_core builds the command, @in is only for the tracepoint and
 * KUnit. Sleeps until firmware has answered or mlx5_core has stopped waiting, unless @send only
 * queues the command; either way the call may wait until other commands are answered.
 *
 * If the device is pulled out while the driver is being unbound, mlx5_core reports no system error,
 * because mlx5_core has stopped its health work by then. So a command that finds the device gone
 * queues the work item that fails UMR requests and flushes the queues of kernel consumers.
 *
 * Return: what @send returns, never changed: if mlx5_core builds the command, as it does for
 * DESTROY_CQ, the result also says whether mlx5_core has released the object.
 */
int mlx5_ib_fw_exec_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	bool timed = trace_fw_cmd_enabled();
	u64 start;
	int err;

	/* Each command has the uid at this offset, or reserves these bits. */
	MLX5_SET(create_cq_in, in, uid, uid);
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_exec_via, dev, uid, in, in_size, out, out_size,
				   send, arg);

	/* Take the time only for the tracepoint: some clock sources are slow to read. */
	start = timed ? ktime_get_ns() : 0;
	err = send(dev, in, in_size, out, out_size, arg);
	/* Opcode, status and syndrome, like the uid, have the same offset in all commands. */
	trace_fw_cmd(dev_name(dev->mdev->device), MLX5_GET(create_cq_in, in, opcode), uid,
		     MLX5_GET(create_cq_out, out, status), MLX5_GET(create_cq_out, out, syndrome),
		     err, timed ? ktime_get_ns() - start : 0);
	if (unlikely(fw_device_is_gone(dev->mdev)) && !READ_ONCE(dev->failed))
		queue_work(system_dfl_wq, &dev->gone);
	return err;
}

/**
 * mlx5_ib_fw_errno - make -ECANCELED the errno of each command that got no slot of mlx5_core
 * @err: result of mlx5_cmd_do()
 *
 * If no slot becomes free for a command within the time for which mlx5_core waits for an answer,
 * mlx5_core returns -EBUSY or -ECANCELED. If firmware has left the commands in all slots
 * unanswered, mlx5_core returns -EAGAIN at once. mlx5_cmd_check() returns -EBUSY and -EAGAIN for
 * statuses of firmware, too, so call this function before mlx5_cmd_check().
 *
 * Return: -ECANCELED if the command got no slot, and so was not sent; else @err.
 */
VISIBLE_IF_KUNIT int mlx5_ib_fw_errno(int err)
{
	return err == -EBUSY || err == -EAGAIN ? -ECANCELED : err;
}

/**
 * mlx5_ib_fw_do - send a command, and do not look at the status in its answer
 * @dev: device
 * @in: the command
 * @in_size: bytes of @in
 * @out: the answer
 * @out_size: bytes of @out
 *
 * For functions that mlx5_ib_fw_exec_via() calls. May sleep.
 *
 * Return: 0; -EREMOTEIO if firmware has refused the command; -ENXIO, which mlx5_cmd_check()
 * replaces, if the device is lost; or as mlx5_ib_fw_errno().
 */
int mlx5_ib_fw_do(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size)
{
	int err;

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_do, dev, in, in_size, out, out_size);

	err = mlx5_cmd_do(dev->mdev, in, in_size, out, out_size);
	/* The device has failed meanwhile: return what mlx5_cmd_check() takes for a lost device. */
	if (err && err != -EREMOTEIO && fw_device_is_gone(dev->mdev))
		return -ENXIO;
	return mlx5_ib_fw_errno(err);
}

/**
 * mlx5_ib_fw_send - send a command
 * @dev: device
 * @in: the command
 * @in_size: bytes of @in
 * @out: the answer
 * @out_size: bytes of @out
 * @arg: not used
 *
 * For mlx5_ib_fw_exec_via(). May sleep.
 *
 * Return: as mlx5_ib_fw_exec().
 */
int mlx5_ib_fw_send(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
		    void *arg)
{
	int err = mlx5_ib_fw_do(dev, in, in_size, out, out_size);

	/*
	 * For a lost device mlx5_cmd_check() returns 0 for commands that destroy objects and a few
	 * others, and -ENOLINK for the rest; but -EINVAL for MODIFY_MEMIC, which it does not know.
	 */
	if (err == -ENXIO && MLX5_GET(create_cq_in, in, opcode) == MLX5_CMD_OP_MODIFY_MEMIC)
		return -ENOLINK;
	return mlx5_cmd_check(dev->mdev, err, in, out);
}

/**
 * mlx5_ib_fw_send_if_exists - send a command about an object that may have been destroyed
 * @dev: device
 * @in: the command
 * @in_size: bytes of @in
 * @out: the answer
 * @out_size: bytes of @out
 * @arg: not used
 *
 * For mlx5_ib_fw_exec_via(). A refusal because the object does not exist is not logged. May sleep.
 *
 * Return: -ENOENT if the object does not exist; else as mlx5_ib_fw_exec().
 */
int mlx5_ib_fw_send_if_exists(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
			      int out_size, void *arg)
{
	int err = mlx5_ib_fw_do(dev, in, in_size, out, out_size);

	return mlx5_ib_fw_is_unknown(err, out) ? -ENOENT : mlx5_cmd_check(dev->mdev, err, in, out);
}

/**
 * mlx5_ib_fw_exec - send a command to the firmware
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: the command, struct mlx5_ifc_*_in_bits, with its opcode set
 * @in_size: bytes of @in
 * @out: the answer, struct mlx5_ifc_*_out_bits
 * @out_size: bytes of @out
 *
 * mlx5_core turns a status into an errno, and logs a refusal unless the command carries a user id,
 * is DESTROY_MKEY or CREATE_UCTX, or comes too early (MLX5_CMD_STAT_NOT_READY). Once the device is
 * lost, a command that destroys an object succeeds, because the object is gone with the device; so
 * do 2ERR_QP, 2RST_QP and PAGE_FAULT_RESUME. May sleep.
 *
 * Return: 0; the errno of mlx5_cmd_check() for a refusal; -ENOLINK for other commands if the device
 * is lost; -ETIMEDOUT if firmware has not answered; -ECANCELED if the command got no slot of
 * mlx5_core, and so was not sent; or another errno of a command that could not be sent.
 */
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, out, out_size, mlx5_ib_fw_send, NULL);
}

static int fw_send_raw(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
		       void *arg)
{
	return mlx5_cmd_do(dev->mdev, in, in_size, out, out_size);
}

/**
 * mlx5_ib_fw_exec_raw - send a command that a process has built, or that carries a MAD
 * @dev: device
 * @uid: as for mlx5_ib_fw_exec(); never MLX5_IB_KERNEL_UID if a process has built the command
 * @in: the command; the uid in it is overwritten
 * @in_size: bytes of @in
 * @out: the answer, for the sender of the command
 * @out_size: bytes of @out, which has room at least for status and syndrome
 *
 * A refusal is not logged. May sleep.
 *
 * Return: 0; -EREMOTEIO if firmware has refused the command, as @out says; or the errno of a
 * command that was not sent or not answered.
 */
int mlx5_ib_fw_exec_raw(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, out, out_size, fw_send_raw, NULL);
}

/*
 * Release the slot of an asynchronous command, and pass the result to the sender. Called in the
 * interrupt of the command event queue, or in process context.
 */
static void fw_async_answered(int err, struct mlx5_async_work *work)
{
	struct mlx5_ib_fw_async *async = container_of(work, struct mlx5_ib_fw_async, work);

	/* Release the slot first, because the callback may free @async. */
	up(&async->dev->async_slots);
	async->done(err, work);
}

/*
 * Wait for a slot, then pass an asynchronous command to mlx5_core. mlx5_core sends commands in the
 * order in which it got them. So there are only MLX5_IB_ASYNC_SLOTS slots: otherwise a command of
 * another user could wait in mlx5_core behind a long queue of asynchronous commands. Tasks get
 * slots in the order of their arrival.
 */
static int fw_send_async(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
			 void *arg)
{
	struct mlx5_ib_fw_async *async = arg;
	int err;

	async->dev = dev;
	down(&dev->async_slots);
	err = mlx5_cmd_exec_cb(async->ctx, in, in_size, async->out, async->out_size,
			       fw_async_answered, &async->work);
	if (err)
		up(&dev->async_slots);
	return err;
}

/**
 * mlx5_ib_fw_exec_async - send a command, and do not wait for the answer
 * @dev: device
 * @uid: as for mlx5_ib_fw_exec_raw()
 * @in: the command; the uid in it is overwritten. Not used any more when the function returns
 * @in_size: bytes of @in
 * @async: where the answer goes; the caller keeps @async until the callback is called
 *
 * The tracepoint fires when the command has been passed to mlx5_core, so it shows no answer. A
 * refusal is not logged. May sleep: waits for one of the MLX5_IB_ASYNC_SLOTS slots that all users
 * share.
 *
 * Return: 0, and the callback has been called or will be; or the errno of a command that could not
 * be sent, whose callback is not called.
 */
int mlx5_ib_fw_exec_async(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
			  struct mlx5_ib_fw_async *async)
{
	/* For the tracepoint: before it fires the callback may free @async, with the answer. */
	u32 none[MLX5_ST_SZ_DW(general_obj_out_cmd_hdr)] = {};

	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, none, sizeof(none), fw_send_async, async);
}

/**
 * mlx5_ib_fw_exec_if_exists - send a command about an object that may not exist any more
 * @dev: device
 * @uid: as for mlx5_ib_fw_exec()
 * @in: as for mlx5_ib_fw_exec()
 * @in_size: bytes of @in
 * @out: as for mlx5_ib_fw_exec()
 * @out_size: bytes of @out
 *
 * A refusal because the object does not exist is not logged, since a process could cause any
 * number of these refusals. May sleep.
 *
 * Return: -ENOENT if the object does not exist; else as mlx5_ib_fw_exec().
 */
int mlx5_ib_fw_exec_if_exists(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			      int out_size)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, out, out_size, mlx5_ib_fw_send_if_exists,
				   NULL);
}

static int fw_send_within_limit(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
				int out_size, void *arg)
{
	int err = mlx5_ib_fw_do(dev, in, in_size, out, out_size);

	if (err == -EREMOTEIO && MLX5_GET(create_cq_out, out, status) == MLX5_CMD_STAT_LIM_ERR)
		return -ENOSPC;
	return mlx5_cmd_check(dev->mdev, err, in, out);
}

/**
 * mlx5_ib_fw_exec_within_limit - send a command that may reach a limit of the device
 * @dev: device
 * @uid: as for mlx5_ib_fw_exec()
 * @in: as for mlx5_ib_fw_exec()
 * @in_size: bytes of @in
 * @out: as for mlx5_ib_fw_exec()
 * @out_size: bytes of @out
 *
 * A refusal because a limit has been reached is not logged: the caller knows which limit it is, and
 * can log it. May sleep.
 *
 * Return: -ENOSPC if a limit of the device has been reached; else as mlx5_ib_fw_exec().
 */
int mlx5_ib_fw_exec_within_limit(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size,
				 void *out, int out_size)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, out, out_size, fw_send_within_limit,
				   NULL);
}

/**
 * mlx5_ib_fw_call_core - call a function of mlx5_core that builds a command itself
 * @dev: device
 * @opcode: MLX5_CMD_OP_* of the command, for the trace and KUnit suites
 * @send: calls the function of mlx5_core; the buffers that @send gets are not those of the command
 * @arg: argument of @send
 *
 * May sleep.
 *
 * Return: what @send returns.
 */
int mlx5_ib_fw_call_core(struct mlx5_ib_dev *dev, u16 opcode, mlx5_ib_fw_send_t send, void *arg)
{
	u32 out[MLX5_ST_SZ_DW(create_cq_out)] = {};
	u32 in[MLX5_ST_SZ_DW(destroy_cq_in)] = {};

	MLX5_SET(destroy_cq_in, in, opcode, opcode);
	return mlx5_ib_fw_exec_via(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out), send,
				   arg);
}

/* Arguments of mlx5_ib_fw_query_hca_vport(). */
struct fw_vport_query {
	u8 port;
	u16 index;
	void *result;
};

static int fw_core_query_vport(struct mlx5_ib_dev *dev, void *in, int in_size, void *out,
			       int out_size, void *arg)
{
	const struct fw_vport_query *query = arg;

	switch (MLX5_GET(query_hca_vport_context_in, in, opcode)) {
	case MLX5_CMD_OP_QUERY_HCA_VPORT_GID:
		return mlx5_query_hca_vport_gid(dev->mdev, 0, query->port, 0, query->index,
						query->result);
	case MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY:
		return mlx5_query_hca_vport_pkey(dev->mdev, 0, query->port, 0, query->index,
						 query->result);
	default:
		return mlx5_query_hca_vport_context(dev->mdev, 0, query->port, 0, query->result);
	}
}

/**
 * mlx5_ib_fw_query_hca_vport - query the HCA vport of this PCI function
 * @dev: device
 * @opcode: MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT, MLX5_CMD_OP_QUERY_HCA_VPORT_GID or
 *	MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY
 * @port: number of the port, from 1
 * @index: index of the entry in the GID or P_Key table, from 0
 * @result: gets the context (struct mlx5_hca_vport_context), GID (union ib_gid) or P_Key (u16)
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_query_hca_vport(struct mlx5_ib_dev *dev, u16 opcode, u8 port, u16 index,
			       void *result)
{
	struct fw_vport_query query = { .port = port, .index = index, .result = result };

	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_query_hca_vport, dev, opcode, port, index, result);
	return mlx5_ib_fw_call_core(dev, opcode, fw_core_query_vport, &query);
}

/**
 * mlx5_ib_fw_set_hca_vport_caps - MODIFY_HCA_VPORT_CONTEXT: set capabilities that a port announces
 * @dev: device
 * @port: number of the port
 * @caps: PortInfo.CapabilityMask
 * @select: the bits to change: the port gets their values from @caps
 *
 * May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_set_hca_vport_caps(struct mlx5_ib_dev *dev, u8 port, u32 caps, u32 select)
{
	u32 out[MLX5_ST_SZ_DW(modify_hca_vport_context_out)] = {};
	u32 in[MLX5_ST_SZ_DW(modify_hca_vport_context_in)] = {};
	void *ctx = MLX5_ADDR_OF(modify_hca_vport_context_in, in, hca_vport_context);

	MLX5_SET(modify_hca_vport_context_in, in, opcode, MLX5_CMD_OP_MODIFY_HCA_VPORT_CONTEXT);
	/* Only devices with several ports have the field. */
	if (MLX5_CAP_GEN(dev->mdev, num_ports) > 1)
		MLX5_SET(modify_hca_vport_context_in, in, port_num, port);
	MLX5_SET(hca_vport_context, ctx, cap_mask1, caps);
	MLX5_SET(hca_vport_context, ctx, cap_mask1_field_select, select);
	return mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_ib_fw_access_reg - ACCESS_REG of a short register
 * @dev: device
 * @reg_id: MLX5_REG_*
 * @reg: the register to write; for a read, the request (it may name a port), and then the result
 * @size: bytes of @reg, at most MAX_REG_DW dwords
 * @write: write the register
 *
 * Does not use the functions of mlx5_core, because those for the register PMTU do not report a
 * refusal, and mlx5_core_access_reg() allocates memory. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int mlx5_ib_fw_access_reg(struct mlx5_ib_dev *dev, u16 reg_id, void *reg, size_t size, bool write)
{
	u32 out[MLX5_ST_SZ_DW(access_register_out) + MAX_REG_DW] = {};
	u32 in[MLX5_ST_SZ_DW(access_register_in) + MAX_REG_DW] = {};
	int err;

	if (WARN_ON_ONCE(size > MAX_REG_DW * sizeof(u32)))
		return -EINVAL;
	MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
	MLX5_SET(access_register_in, in, op_mod, !write);
	MLX5_SET(access_register_in, in, register_id, reg_id);
	memcpy(MLX5_ADDR_OF(access_register_in, in, register_data), reg, size);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in,
			      MLX5_ST_SZ_BYTES(access_register_in) + size, out,
			      MLX5_ST_SZ_BYTES(access_register_out) + size);
	if (!err && !write)
		memcpy(reg, MLX5_ADDR_OF(access_register_out, out, register_data), size);
	return err;
}
