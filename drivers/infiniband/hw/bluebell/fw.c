// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The choke point of the firmware interface, and the commands on the device,
 * the port, UARs and domains.
 */

#include <kunit/static_stub.h>
#include <linux/ktime.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/port.h>
#include <linux/mlx5/vport.h>
#include <linux/string.h>

#include "bluebell.h"
#include "fw.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Longest registers that access_reg() is used for: PTYS and NODE_DESC. */
#define MAX_REG_DW	MLX5_ST_SZ_DW(ptys_reg)
static_assert(MLX5_ST_SZ_BYTES(ptys_reg) >= IB_DEVICE_NODE_DESC_MAX);

static const struct {
	u8 status;
	int err;
	const char *name;
} fw_statuses[] = {
	{ MLX5_CMD_STAT_OK, 0, "OK" },
	{ MLX5_CMD_STAT_INT_ERR, -EIO, "internal error" },
	{ MLX5_CMD_STAT_BAD_OP_ERR, -EINVAL, "bad operation" },
	{ MLX5_CMD_STAT_BAD_PARAM_ERR, -EINVAL, "bad parameter" },
	{ MLX5_CMD_STAT_BAD_SYS_STATE_ERR, -EIO, "bad system state" },
	{ MLX5_CMD_STAT_BAD_RES_ERR, -EINVAL, "bad resource" },
	{ MLX5_CMD_STAT_RES_BUSY, -EBUSY, "resource busy" },
	{ MLX5_CMD_STAT_NOT_READY, -EAGAIN, "not ready" },
	{ MLX5_CMD_STAT_LIM_ERR, -ENOMEM, "limit exceeded" },
	{ MLX5_CMD_STAT_BAD_RES_STATE_ERR, -EINVAL, "bad resource state" },
	{ MLX5_CMD_STAT_IX_ERR, -EINVAL, "bad index" },
	{ MLX5_CMD_STAT_NO_RES_ERR, -EAGAIN, "no resources" },
	{ MLX5_CMD_STAT_BAD_INP_LEN_ERR, -EIO, "bad input length" },
	{ MLX5_CMD_STAT_BAD_OUTP_LEN_ERR, -EIO, "bad output length" },
	{ MLX5_CMD_STAT_BAD_QP_STATE_ERR, -EINVAL, "bad QP state" },
	{ MLX5_CMD_STAT_BAD_PKT_ERR, -EINVAL, "bad packet" },
	{ MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR, -EINVAL, "too many outstanding CQEs" },
};

static const struct {
	u16 opcode;
	bool destroys;
	const char *name;
} fw_commands[] = {
#define COMMAND(op)	{ MLX5_CMD_OP_##op, false, #op }
#define DESTROYER(op)	{ MLX5_CMD_OP_##op, true, #op }
	COMMAND(QUERY_ADAPTER),
	COMMAND(QUERY_SPECIAL_CONTEXTS),
	COMMAND(QUERY_HCA_VPORT_CONTEXT),
	COMMAND(QUERY_HCA_VPORT_GID),
	COMMAND(QUERY_HCA_VPORT_PKEY),
	COMMAND(ACCESS_REG),
	COMMAND(ALLOC_UAR),
	DESTROYER(DEALLOC_UAR),
	COMMAND(ALLOC_PD),
	DESTROYER(DEALLOC_PD),
	COMMAND(ALLOC_TRANSPORT_DOMAIN),
	DESTROYER(DEALLOC_TRANSPORT_DOMAIN),
	COMMAND(ALLOC_MEMIC),
	DESTROYER(DEALLOC_MEMIC),
	COMMAND(MODIFY_MEMIC),
	COMMAND(CREATE_MKEY),
	DESTROYER(DESTROY_MKEY),
	COMMAND(PAGE_FAULT_RESUME),
	COMMAND(CREATE_EQ),
	DESTROYER(DESTROY_EQ),
	COMMAND(CREATE_CQ),
	COMMAND(MODIFY_CQ),
	DESTROYER(DESTROY_CQ),
	COMMAND(CREATE_QP),
	COMMAND(QUERY_QP),
	COMMAND(RST2INIT_QP),
	COMMAND(INIT2INIT_QP),
	COMMAND(INIT2RTR_QP),
	COMMAND(RTR2RTS_QP),
	COMMAND(RTS2RTS_QP),
	COMMAND(SQERR2RTS_QP),
	COMMAND(SQD_RTS_QP),
	DESTROYER(2ERR_QP),
	DESTROYER(2RST_QP),
	DESTROYER(DESTROY_QP),
	COMMAND(CREATE_RMP),
	COMMAND(MODIFY_RMP),
	COMMAND(QUERY_RMP),
	DESTROYER(DESTROY_RMP),
	COMMAND(ALLOC_XRCD),
	DESTROYER(DEALLOC_XRCD),
	COMMAND(CREATE_XRC_SRQ),
	COMMAND(ARM_XRC_SRQ),
	COMMAND(QUERY_XRC_SRQ),
	DESTROYER(DESTROY_XRC_SRQ),
#undef DESTROYER
#undef COMMAND
};

static int find_status(u8 status)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fw_statuses); i++)
		if (fw_statuses[i].status == status)
			return i;
	return -ENOENT;
}

/**
 * mlx5_ib_fw_status_to_errno - what a firmware status means to a caller
 * @status: MLX5_CMD_STAT_*
 *
 * Return: 0 for MLX5_CMD_STAT_OK, a negative errno for any other; -EIO for one
 * that is not known.
 */
int mlx5_ib_fw_status_to_errno(u8 status)
{
	int i = find_status(status);

	return i < 0 ? -EIO : fw_statuses[i].err;
}

/**
 * mlx5_ib_fw_opcode_name - the name of a firmware command
 * @opcode: MLX5_CMD_OP_*
 *
 * Return: the name as mlx5_ifc.h has it, or "UNKNOWN" for a command that this
 * driver doesn't send.
 */
const char *mlx5_ib_fw_opcode_name(u16 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fw_commands); i++)
		if (fw_commands[i].opcode == opcode)
			return fw_commands[i].name;
	return "UNKNOWN";
}

/**
 * mlx5_ib_fw_opcode_destroys - does a command only take away?
 * @opcode: MLX5_CMD_OP_*
 *
 * On a device that is gone such a command has nothing left to do, so it
 * succeeds.
 *
 * Return: true if it does.
 */
bool mlx5_ib_fw_opcode_destroys(u16 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fw_commands); i++)
		if (fw_commands[i].opcode == opcode)
			return fw_commands[i].destroys;
	return false;
}

static void report_refusal(struct mlx5_ib_dev *dev, u16 opcode, u8 status, u32 syndrome)
{
	int i = find_status(status);

	dev_warn_ratelimited(dev->mdev->device,
			     "bluebell: %s refused: %s (status 0x%x, syndrome 0x%x)\n",
			     mlx5_ib_fw_opcode_name(opcode),
			     i < 0 ? "unknown status" : fw_statuses[i].name, status, syndrome);
}

/* mlx5_core sends nothing (-ENXIO) once the device is removed or in error. */
static bool device_is_gone(struct mlx5_core_dev *mdev, int err)
{
	return err == -ENXIO || mdev->state == MLX5_DEVICE_STATE_INTERNAL_ERROR ||
	       pci_channel_offline(mdev->pdev);
}

/*
 * Trace and report a command's end; returns the errno for the caller. Opcode,
 * status and syndrome have the same place in all commands.
 */
static int finish(struct mlx5_ib_dev *dev, u16 opcode, const void *out, int err, u64 ns)
{
	u32 syndrome = 0;
	u8 status = 0;

	if (err == -EREMOTEIO) {
		status = MLX5_GET(alloc_pd_out, out, status);
		syndrome = MLX5_GET(alloc_pd_out, out, syndrome);
		err = mlx5_ib_fw_status_to_errno(status);
		report_refusal(dev, opcode, status, syndrome);
	} else if (err && device_is_gone(dev->mdev, err)) {
		err = mlx5_ib_fw_opcode_destroys(opcode) ? 0 : -ENOLINK;
	}
	trace_fw_cmd(dev_name(dev->mdev->device), mlx5_ib_fw_opcode_name(opcode), opcode, status,
		     syndrome, err, ns);
	return err;
}

/**
 * mlx5_ib_fw_exec_via - send a command that somebody else has to send
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: the command, its opcode filled in
 * @in_size: bytes of @in
 * @out: the answer
 * @out_size: bytes of @out
 * @send: sends it, and returns what mlx5_cmd_do() would
 * @arg: for @send
 *
 * Every firmware command of the driver passes through this function, which writes
 * @uid into the command: firmware lets a user name only objects of the same uid.
 * Sleeps until the firmware has answered; the call may wait for other commands.
 *
 * Return: 0; what mlx5_ib_fw_status_to_errno() makes of the status; -ENOLINK
 * if the device is gone and the command is not one that takes away; or the
 * errno of a command that could not be sent.
 */
int mlx5_ib_fw_exec_via(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
			int out_size, mlx5_ib_fw_send_t send, void *arg)
{
	u16 opcode = MLX5_GET(alloc_pd_in, in, opcode);
	bool timed = trace_fw_cmd_enabled();
	u64 start;
	int err;

	/* The field has one place in all commands, and is reserved in those without it. */
	MLX5_SET(create_cq_in, in, uid, uid);
	KUNIT_STATIC_STUB_REDIRECT(mlx5_ib_fw_exec_via, dev, uid, in, in_size, out, out_size,
				   send, arg);

	/* Where the clock is a register of another device, reading it takes a while. */
	start = timed ? ktime_get_ns() : 0;
	err = send(dev, in, in_size, out, out_size, arg);
	return finish(dev, opcode, out, err, timed ? ktime_get_ns() - start : 0);
}

static int send_cmd(struct mlx5_ib_dev *dev, void *in, int in_size, void *out, int out_size,
		    void *arg)
{
	return mlx5_cmd_do(dev->mdev, in, in_size, out, out_size);
}

/**
 * mlx5_ib_fw_exec - send a command to the firmware
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @in: the command, struct mlx5_ifc_*_in_bits, its opcode filled in
 * @in_size: bytes of @in
 * @out: the answer, struct mlx5_ifc_*_out_bits
 * @out_size: bytes of @out
 *
 * Return: as mlx5_ib_fw_exec_via().
 */
int mlx5_ib_fw_exec(struct mlx5_ib_dev *dev, u16 uid, void *in, int in_size, void *out,
		    int out_size)
{
	return mlx5_ib_fw_exec_via(dev, uid, in, in_size, out, out_size, send_cmd, NULL);
}

/**
 * mlx5_fw_query_vendor_id - QUERY_ADAPTER
 * @dev: device
 * @vendor_id: IEEE number of the board's vendor
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_vendor_id(struct mlx5_ib_dev *dev, u32 *vendor_id)
{
	u32 out[MLX5_ST_SZ_DW(query_adapter_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_adapter_in)] = {};
	int err;

	MLX5_SET(query_adapter_in, in, opcode, MLX5_CMD_OP_QUERY_ADAPTER);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err)
		*vendor_id = MLX5_GET(query_adapter_out, out, query_adapter_struct.ieee_vendor_id);
	return err;
}

/**
 * mlx5_fw_query_special_contexts - QUERY_SPECIAL_CONTEXTS
 * @dev: device
 * @sc: the keys that the device keeps for all
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_special_contexts(struct mlx5_ib_dev *dev, struct mlx5_fw_special_contexts *sc)
{
	u32 out[MLX5_ST_SZ_DW(query_special_contexts_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_special_contexts_in)] = {};
	int err;

	MLX5_SET(query_special_contexts_in, in, opcode, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	sc->has_dump_fill = MLX5_CAP_GEN(dev->mdev, dump_fill_mkey);
	sc->dump_fill_mkey = MLX5_GET(query_special_contexts_out, out, dump_fill_mkey);
	sc->null_mkey = MLX5_GET(query_special_contexts_out, out, null_mkey);
	return 0;
}

/**
 * mlx5_fw_query_hca_vport_context - QUERY_HCA_VPORT_CONTEXT of this function
 * @dev: device, with one port
 * @rep: what the subnet manager and the link have made of the port; fields that
 *	verbs don't show are left alone
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_hca_vport_context(struct mlx5_ib_dev *dev, struct mlx5_hca_vport_context *rep)
{
	u32 out[MLX5_ST_SZ_DW(query_hca_vport_context_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_hca_vport_context_in)] = {};
	void *ctx = MLX5_ADDR_OF(query_hca_vport_context_out, out, hca_vport_context);
	int err;

	MLX5_SET(query_hca_vport_context_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;

	rep->sys_image_guid = MLX5_GET64(hca_vport_context, ctx, system_image_guid);
	rep->port_guid = MLX5_GET64(hca_vport_context, ctx, port_guid);
	rep->node_guid = MLX5_GET64(hca_vport_context, ctx, node_guid);
	rep->vport_state = MLX5_GET(hca_vport_context, ctx, vport_state);
	rep->port_physical_state = MLX5_GET(hca_vport_context, ctx, port_physical_state);
	rep->cap_mask1 = MLX5_GET(hca_vport_context, ctx, cap_mask1);
	rep->cap_mask2 = MLX5_GET(hca_vport_context, ctx, cap_mask2);
	rep->lid = MLX5_GET(hca_vport_context, ctx, lid);
	rep->lmc = MLX5_GET(hca_vport_context, ctx, lmc);
	rep->sm_lid = MLX5_GET(hca_vport_context, ctx, sm_lid);
	rep->sm_sl = MLX5_GET(hca_vport_context, ctx, sm_sl);
	rep->subnet_timeout = MLX5_GET(hca_vport_context, ctx, subnet_timeout);
	rep->init_type_reply = MLX5_GET(hca_vport_context, ctx, init_type_reply);
	rep->qkey_violation_counter = MLX5_GET(hca_vport_context, ctx, qkey_violation_counter);
	rep->pkey_violation_counter = MLX5_GET(hca_vport_context, ctx, pkey_violation_counter);
	rep->grh_required = MLX5_GET(hca_vport_context, ctx, grh_required);
	return 0;
}

/**
 * mlx5_fw_query_hca_vport_gid - QUERY_HCA_VPORT_GID
 * @dev: device, with one port
 * @index: into the GID table
 * @gid: the entry
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_hca_vport_gid(struct mlx5_ib_dev *dev, u16 index, union ib_gid *gid)
{
	u32 out[MLX5_ST_SZ_DW(query_hca_vport_gid_out) + sizeof(*gid) / sizeof(u32)] = {};
	u32 in[MLX5_ST_SZ_DW(query_hca_vport_gid_in)] = {};
	int err;

	MLX5_SET(query_hca_vport_gid_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_GID);
	MLX5_SET(query_hca_vport_gid_in, in, gid_index, index);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err)
		memcpy(gid, MLX5_ADDR_OF(query_hca_vport_gid_out, out, gid), sizeof(*gid));
	return err;
}

/**
 * mlx5_fw_query_hca_vport_pkey - QUERY_HCA_VPORT_PKEY
 * @dev: device, with one port
 * @index: into the P_Key table
 * @pkey: the entry
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_hca_vport_pkey(struct mlx5_ib_dev *dev, u16 index, u16 *pkey)
{
	u32 out[MLX5_ST_SZ_DW(query_hca_vport_pkey_out) + MLX5_ST_SZ_DW(pkey)] = {};
	u32 in[MLX5_ST_SZ_DW(query_hca_vport_pkey_in)] = {};
	int err;

	MLX5_SET(query_hca_vport_pkey_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY);
	MLX5_SET(query_hca_vport_pkey_in, in, pkey_index, index);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in, sizeof(in), out, sizeof(out));
	if (!err)
		*pkey = MLX5_GET(pkey, MLX5_ADDR_OF(query_hca_vport_pkey_out, out, pkey), pkey);
	return err;
}

/* ACCESS_REG of a short register: @reg goes in and comes back in its place. */
static int access_reg(struct mlx5_ib_dev *dev, u16 reg_id, void *reg, size_t size, bool write)
{
	u32 out[MLX5_ST_SZ_DW(access_register_out) + MAX_REG_DW] = {};
	u32 in[MLX5_ST_SZ_DW(access_register_in) + MAX_REG_DW] = {};
	int err;

	MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
	MLX5_SET(access_register_in, in, op_mod, !write);
	MLX5_SET(access_register_in, in, register_id, reg_id);
	memcpy(MLX5_ADDR_OF(access_register_in, in, register_data), reg, size);
	err = mlx5_ib_fw_exec(dev, MLX5_IB_KERNEL_UID, in,
			      MLX5_ST_SZ_BYTES(access_register_in) + size, out,
			      MLX5_ST_SZ_BYTES(access_register_out) + size);
	if (!err)
		memcpy(reg, MLX5_ADDR_OF(access_register_out, out, register_data), size);
	return err;
}

/**
 * mlx5_fw_query_ib_port - the registers PTYS, PMTU and PVLC
 * @dev: device
 * @port: from 1
 * @rep: what the link does
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_ib_port(struct mlx5_ib_dev *dev, u8 port, struct mlx5_fw_ib_port *rep)
{
	u32 ptys[MLX5_ST_SZ_DW(ptys_reg)] = {};
	u32 pmtu[MLX5_ST_SZ_DW(pmtu_reg)] = {};
	u32 pvlc[MLX5_ST_SZ_DW(pvlc_reg)] = {};
	int err;

	MLX5_SET(ptys_reg, ptys, local_port, port);
	MLX5_SET(ptys_reg, ptys, proto_mask, MLX5_PTYS_IB);
	err = access_reg(dev, MLX5_REG_PTYS, ptys, sizeof(ptys), false);
	if (err)
		return err;
	MLX5_SET(pmtu_reg, pmtu, local_port, port);
	err = access_reg(dev, MLX5_REG_PMTU, pmtu, sizeof(pmtu), false);
	if (err)
		return err;
	MLX5_SET(pvlc_reg, pvlc, local_port, port);
	err = access_reg(dev, MLX5_REG_PVLC, pvlc, sizeof(pvlc), false);
	if (err)
		return err;

	rep->link_width_oper = MLX5_GET(ptys_reg, ptys, ib_link_width_oper);
	rep->proto_oper = MLX5_GET(ptys_reg, ptys, ib_proto_oper);
	rep->max_mtu = MLX5_GET(pmtu_reg, pmtu, max_mtu);
	rep->oper_mtu = MLX5_GET(pmtu_reg, pmtu, oper_mtu);
	rep->vl_hw_cap = MLX5_GET(pvlc_reg, pvlc, vl_hw_cap);
	return 0;
}

/**
 * mlx5_fw_query_node_desc - read the register NODE_DESC
 * @dev: device
 * @desc: IB_DEVICE_NODE_DESC_MAX bytes
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_query_node_desc(struct mlx5_ib_dev *dev, char *desc)
{
	memset(desc, 0, IB_DEVICE_NODE_DESC_MAX);
	return access_reg(dev, MLX5_REG_NODE_DESC, desc, IB_DEVICE_NODE_DESC_MAX, false);
}

/**
 * mlx5_fw_set_node_desc - write the register NODE_DESC
 * @dev: device, which tells the subnet manager
 * @desc: IB_DEVICE_NODE_DESC_MAX bytes
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_set_node_desc(struct mlx5_ib_dev *dev, const char *desc)
{
	char reg[IB_DEVICE_NODE_DESC_MAX];

	memcpy(reg, desc, sizeof(reg));
	return access_reg(dev, MLX5_REG_NODE_DESC, reg, sizeof(reg), true);
}

/**
 * mlx5_fw_alloc_uar - ALLOC_UAR
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @uarn: index of the first UAR in the new page
 *
 * Return: 0 or a negative errno; -ENOMEM if the device has no page left.
 */
int mlx5_fw_alloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 *uarn)
{
	u32 out[MLX5_ST_SZ_DW(alloc_uar_out)] = {};
	u32 in[MLX5_ST_SZ_DW(alloc_uar_in)] = {};
	int err;

	MLX5_SET(alloc_uar_in, in, opcode, MLX5_CMD_OP_ALLOC_UAR);
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (!err)
		*uarn = MLX5_GET(alloc_uar_out, out, uar);
	return err;
}

/**
 * mlx5_fw_dealloc_uar - DEALLOC_UAR
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @uarn: what mlx5_fw_alloc_uar() gave
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_dealloc_uar(struct mlx5_ib_dev *dev, u16 uid, u32 uarn)
{
	u32 out[MLX5_ST_SZ_DW(dealloc_uar_out)] = {};
	u32 in[MLX5_ST_SZ_DW(dealloc_uar_in)] = {};

	MLX5_SET(dealloc_uar_in, in, opcode, MLX5_CMD_OP_DEALLOC_UAR);
	MLX5_SET(dealloc_uar_in, in, uar, uarn);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_fw_alloc_pd - ALLOC_PD
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @pdn: number of the new protection domain
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_alloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 *pdn)
{
	u32 out[MLX5_ST_SZ_DW(alloc_pd_out)] = {};
	u32 in[MLX5_ST_SZ_DW(alloc_pd_in)] = {};
	int err;

	MLX5_SET(alloc_pd_in, in, opcode, MLX5_CMD_OP_ALLOC_PD);
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (!err)
		*pdn = MLX5_GET(alloc_pd_out, out, pd);
	return err;
}

/**
 * mlx5_fw_dealloc_pd - DEALLOC_PD
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @pdn: what mlx5_fw_alloc_pd() gave
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_dealloc_pd(struct mlx5_ib_dev *dev, u16 uid, u32 pdn)
{
	u32 out[MLX5_ST_SZ_DW(dealloc_pd_out)] = {};
	u32 in[MLX5_ST_SZ_DW(dealloc_pd_in)] = {};

	MLX5_SET(dealloc_pd_in, in, opcode, MLX5_CMD_OP_DEALLOC_PD);
	MLX5_SET(dealloc_pd_in, in, pd, pdn);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}

/**
 * mlx5_fw_alloc_transport_domain - ALLOC_TRANSPORT_DOMAIN
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @tdn: number of the new transport domain
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_alloc_transport_domain(struct mlx5_ib_dev *dev, u16 uid, u32 *tdn)
{
	u32 out[MLX5_ST_SZ_DW(alloc_transport_domain_out)] = {};
	u32 in[MLX5_ST_SZ_DW(alloc_transport_domain_in)] = {};
	int err;

	MLX5_SET(alloc_transport_domain_in, in, opcode, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN);
	err = mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
	if (!err)
		*tdn = MLX5_GET(alloc_transport_domain_out, out, transport_domain);
	return err;
}

/**
 * mlx5_fw_dealloc_transport_domain - DEALLOC_TRANSPORT_DOMAIN
 * @dev: device
 * @uid: user that the command is sent for; MLX5_IB_KERNEL_UID for the driver itself
 * @tdn: what mlx5_fw_alloc_transport_domain() gave
 *
 * Return: 0 or a negative errno.
 */
int mlx5_fw_dealloc_transport_domain(struct mlx5_ib_dev *dev, u16 uid, u32 tdn)
{
	u32 out[MLX5_ST_SZ_DW(dealloc_transport_domain_out)] = {};
	u32 in[MLX5_ST_SZ_DW(dealloc_transport_domain_in)] = {};

	MLX5_SET(dealloc_transport_domain_in, in, opcode, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN);
	MLX5_SET(dealloc_transport_domain_in, in, transport_domain, tdn);
	return mlx5_ib_fw_exec(dev, uid, in, sizeof(in), out, sizeof(out));
}
