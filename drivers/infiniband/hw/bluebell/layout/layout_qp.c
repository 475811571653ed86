// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pair layout: the context of a queue pair (QPC), the command for each change of state, and
 * the checks of attributes. Pure functions only.
 */

#include <linux/log2.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "layout/caps.h"
#include "layout/layout_path.h"
#include "layout/layout_qp.h"
#include "layout/layout_raw.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"

/* Log2 of the bytes of the longest UD message: one packet of the largest MTU. */
#define UD_LOG_MSG_MAX		12
/* Ask for an ACK at least every 2^n packets. */
#define LOG_ACK_REQ_FREQ	8

#define MAX_TIMEOUT		31
#define MAX_RETRY		7
#define MAX_RNR_TIMER		31
#define QPN_MASK		0xffffff
/* qpc.log_sra_max and log_rra_max have three bits. */
#define MAX_LOG_RD_ATOMIC	7

#define VENDOR_FLAGS						\
	(MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_SCATTER_CQE |	\
	 MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |	\
	 MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE | MLX5_QP_FLAG_UAR_PAGE_INDEX)

#define DCI_FLAGS (MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_DCI_STREAM)

#define CROSS_CHANNEL_FLAGS					\
	(IB_QP_CREATE_CROSS_CHANNEL | IB_QP_CREATE_MANAGED_SEND | IB_QP_CREATE_MANAGED_RECV)

#define CREATE_FLAGS						\
	(IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | CROSS_CHANNEL_FLAGS |	\
	 IB_QP_CREATE_PCI_WRITE_END_PADDING)

#define OPT_ACCESS (MLX5_QP_OPTPAR_RRE | MLX5_QP_OPTPAR_RAE | MLX5_QP_OPTPAR_RWE)

/* Service types in qpc.st. */
static const u8 qp_types[] = {
	[IB_QPT_RC] = MLX5_QP_ST_RC,
	[IB_QPT_UC] = MLX5_QP_ST_UC,
	[IB_QPT_SMI] = MLX5_QP_ST_QP0,
	[IB_QPT_GSI] = MLX5_QP_ST_QP1,
	[IB_QPT_UD] = MLX5_QP_ST_UD,
	[IB_QPT_XRC_INI] = MLX5_QP_ST_XRC,
	[IB_QPT_XRC_TGT] = MLX5_QP_ST_XRC,
	[MLX5_IB_QPT_UMR] = MLX5_QP_ST_REG_UMR,
};

/* Verbs have the type DRIVER for what verbs do not know. Of the driver's, only DCIs are QPs. */
static u8 qp_service_type(enum ib_qp_type type)
{
	return type == IB_QPT_DRIVER ? MLX5_QP_ST_DCI : qp_types[type];
}

static bool qp_is_reliable(enum ib_qp_type type)
{
	return type != IB_QPT_UC && !mlx5_ib_qp_is_datagram(type);
}

static int qp_check_create_flags(const struct ib_qp_init_attr *init,
				 const struct mlx5_ib_caps *caps)
{
	u32 flags = init->create_flags;

	if (flags & ~CREATE_FLAGS)
		return refuse(caps->mdev, -EOPNOTSUPP, "QP flags %#x, supported: %#x", flags,
			      CREATE_FLAGS);
	if ((flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK) && init->qp_type != IB_QPT_UD)
		return refuse(caps->mdev, -EINVAL,
			      "QP with BLOCK_MULTICAST_LOOPBACK must be UD (type 4), not of type %d",
			      init->qp_type);
	if ((flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK) &&
	    !MLX5_CAP_GEN(caps->mdev, block_lb_mc))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "QP with BLOCK_MULTICAST_LOOPBACK: the device has no block_lb_mc");
	if ((flags & CROSS_CHANNEL_FLAGS) && !MLX5_CAP_GEN(caps->mdev, cd))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "QP with a cross-channel flag: the device has no cross channel (cd)");
	if ((flags & IB_QP_CREATE_PCI_WRITE_END_PADDING) && !MLX5_CAP_GEN(caps->mdev, end_pad))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "QP with PCI_WRITE_END_PADDING: the device cannot pad its writes (end_pad)");
	return 0;
}

/**
 * mlx5_ib_qp_type_exists - find out whether there are QPs of a type
 * @type: the type
 * @caps: what the device can do
 *
 * Return: true if this driver and the device have the type.
 */
bool mlx5_ib_qp_type_exists(enum ib_qp_type type, const struct mlx5_ib_caps *caps)
{
	switch (type) {
	case IB_QPT_RC:
		return MLX5_CAP_GEN(caps->mdev, rc);
	case IB_QPT_UC:
		return MLX5_CAP_GEN(caps->mdev, uc);
	case IB_QPT_SMI:
	case IB_QPT_GSI:
	case IB_QPT_UD:
		return MLX5_CAP_GEN(caps->mdev, ud);
	case IB_QPT_RAW_PACKET:
		return mlx5_ib_has_raw_packets(caps);
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return caps->has_xrc;
	case IB_QPT_DRIVER:
		return MLX5_CAP_GEN(caps->mdev, dct);
	default:
		return false;
	}
}

/**
 * mlx5_ib_qp_out_of_order - find out whether QPs of a type can use receive WQEs in any order
 * @type: the type
 * @caps: what the device can do
 *
 * Return: true if QPs of the type can on this device.
 */
bool mlx5_ib_qp_out_of_order(enum ib_qp_type type, const struct mlx5_ib_caps *caps)
{
	switch (type) {
	case IB_QPT_RC:
		return MLX5_CAP_GEN(caps->mdev, dp_ordering_ooo_all_rc);
	case IB_QPT_UC:
		return MLX5_CAP_GEN(caps->mdev, dp_ordering_ooo_all_uc);
	case IB_QPT_UD:
		return MLX5_CAP_GEN(caps->mdev, dp_ordering_ooo_all_ud);
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return caps->has_xrc && MLX5_CAP_GEN(caps->mdev, dp_ordering_ooo_all_xrc);
	case IB_QPT_DRIVER:
		return MLX5_CAP_GEN(caps->mdev, dct) &&
		       MLX5_CAP_GEN(caps->mdev, dp_ordering_ooo_all_dc);
	default:
		return false;
	}
}

/**
 * mlx5_ib_fill_out_of_order - let the device use receive WQEs, and place data, in any order
 * @qpc: context for INIT2RTR_QP of a QP for whose type mlx5_ib_qp_out_of_order() is true
 * @caps: what the device can do
 *
 * The program relies on no order, so the driver also sets dp_ordering_force if the device has the
 * field: then the order does not depend on what the peer announces.
 */
void mlx5_ib_fill_out_of_order(void *qpc, const struct mlx5_ib_caps *caps)
{
	MLX5_SET(qpc, qpc, dp_ordering_1, 1);
	if (MLX5_CAP_GEN(caps->mdev, hca_cap_2) && MLX5_CAP_GEN_2(caps->mdev, dp_ordering_force))
		MLX5_SET(qpc, qpc, dp_ordering_force, 1);
}

/* The streams of a DCI: work requests that neither wait for each other nor fail together. */
static int qp_check_streams(const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps)
{
	u8 channels = ucmd->dci_streams.log_num_concurent;
	u8 errored = ucmd->dci_streams.log_num_errored;
	u8 max_channels = 0, max_errored = 0;

	if (ucmd->flags & MLX5_QP_FLAG_DCI_STREAM) {
		max_channels = MLX5_CAP_GEN(caps->mdev, log_max_dci_stream_channels);
		max_errored = MLX5_CAP_GEN(caps->mdev, log_max_dci_errored_streams);
	}
	return channels <= max_channels && errored <= max_errored ? 0 :
	       refuse(caps->mdev, -EINVAL,
		      "QP with 2^%u DCI streams, 2^%u of them failed, at most 2^%u and 2^%u",
		      channels, errored, max_channels, max_errored);
}

/**
 * mlx5_ib_qp_check_create - check a request to create a QP before anything is allocated
 * @init: attributes of verbs; mlx5_ib_qp_type_exists() is true for the type
 * @ucmd: the library's request (struct mlx5_ib_create_qp of rdma/mlx5-abi.h); zeroed for the target
 *	of an XRC connection and for a QP of the kernel
 * @caps: what the device can do
 *
 * Return: 0; -EINVAL for invalid attributes, for unknown driver flags, for too many streams, and
 * for signatures that the device cannot check; -EOPNOTSUPP for any other feature that this driver
 * or device does not have.
 */
int mlx5_ib_qp_check_create(const struct ib_qp_init_attr *init,
			    const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps)
{
	u32 flags = VENDOR_FLAGS | (init->qp_type == IB_QPT_DRIVER ? DCI_FLAGS : 0);
	int err;

	if (ucmd->flags & ~flags || ucmd->reserved)
		return refuse(caps->mdev, -EINVAL,
			      "QP driver flags %#x, supported: %#x; reserved %#x must be 0",
			      ucmd->flags, flags, ucmd->reserved);
	err = qp_check_streams(ucmd, caps);
	if (err)
		return err;
	/* Both flags say in which UAR the doorbells lie. */
	if ((ucmd->flags & MLX5_QP_FLAG_BFREG_INDEX) && (ucmd->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX))
		return refuse(caps->mdev, -EINVAL,
			      "QP names both a bfreg and a UAR, at most one is possible");
	if ((ucmd->flags & MLX5_QP_FLAG_SIGNATURE) && !MLX5_CAP_GEN(caps->mdev, wq_signature))
		return refuse(caps->mdev, -EINVAL,
			      "QP with signatures in its WQEs: the device cannot check these (wq_signature)");
	if (ucmd->flags & MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE) {
		if (init->qp_type != IB_QPT_RC)
			return refuse(caps->mdev, -EINVAL,
				      "QP with packet-based credits must be RC (type 2), not of type %d",
				      init->qp_type);
		if (!MLX5_CAP_GEN(caps->mdev, qp_packet_based))
			return refuse(caps->mdev, -EOPNOTSUPP,
				      "QP with packet-based credits: the device has none (qp_packet_based)");
	}
	if (init->srq && init->srq->srq_type == IB_SRQT_TM && init->qp_type != IB_QPT_RC)
		return refuse(caps->mdev, -EINVAL,
			      "QP with an SRQ with tag matching must be RC (type 2), not of type %d",
			      init->qp_type);
	return qp_check_create_flags(init, caps);
}

/**
 * mlx5_ib_qp_check_uidx - check the user index of a new QP, or of an SRQ that has a CQ
 * @uidx: the index
 * @given: the request was long enough to carry an index
 * @cqe_version: version of the CQE format, from the user's context: 1 if completions carry user
 *	indices
 *
 * Return: 0; or -EINVAL if completions carry user indices and there is no valid index, or if
 * completions carry none and there is an index.
 */
int mlx5_ib_qp_check_uidx(u32 uidx, bool given, u8 cqe_version)
{
	/* MLX5_IB_DEFAULT_UIDX stands for no index. */
	if (cqe_version ? given && uidx < MLX5_IB_DEFAULT_UIDX :
			  !given || uidx == MLX5_IB_DEFAULT_UIDX)
		return 0;
	return refuse(NULL, -EINVAL, "QP or SRQ with user index 0x%x (%s), CQEs of version %u: %s",
		      uidx, given ? "given" : "not given", cqe_version,
		      cqe_version ? "an index below 0xffffff is needed" : "no index is allowed");
}

/**
 * mlx5_ib_qp_uidx - the user index for the context of a new QP
 * @uidx: index of the request, checked by mlx5_ib_qp_check_uidx()
 * @cqe_version: as for mlx5_ib_qp_check_uidx(); 0 for a QP of the kernel
 * @caps: what the device can do
 *
 * Return: @uidx; MLX5_IB_DEFAULT_UIDX if @cqe_version is 0; 0 for a device whose QPC has no such
 * field.
 */
u32 mlx5_ib_qp_uidx(u32 uidx, u8 cqe_version, const struct mlx5_ib_caps *caps)
{
	if (!MLX5_CAP_GEN(caps->mdev, cqe_version))
		return 0;
	return cqe_version ? uidx : MLX5_IB_DEFAULT_UIDX;
}

/**
 * mlx5_ib_scatter_to_cqe - set which payloads the device delivers in the CQE
 * @qpc: struct mlx5_ifc_qpc_bits. Its cs_req and cs_res are 0, and may be set by this function
 * @init: type, and whether every send request generates a CQE
 * @flags: MLX5_QP_FLAG_*
 * @scqe_sz: bytes of a CQE of the send CQ
 * @rcqe_sz: bytes of a CQE of the receive CQ
 * @caps: what the device can do
 *
 * The library asks for scatter to CQE by default, whether or not the device has the feature, and
 * each CQE says whether it has the payload. A READ without a CQE would lose its payload, so cs_req
 * is set only if every request generates a CQE, or if the user asks for it
 * (MLX5_QP_FLAG_ALLOW_SCATTER_CQE). Only RC and UC queue pairs get payloads in CQEs; an XRC
 * initiator does not, because the library could not find a payload in the initiator's CQE.
 */
void mlx5_ib_scatter_to_cqe(void *qpc, const struct ib_qp_init_attr *init, u32 flags, int scqe_sz,
			    int rcqe_sz, const struct mlx5_ib_caps *caps)
{
	if (!(flags & MLX5_QP_FLAG_SCATTER_CQE) || !MLX5_CAP_GEN(caps->mdev, sctr_data_cqe) ||
	    (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UC))
		return;

	MLX5_SET(qpc, qpc, cs_res, rcqe_sz == 128 ? MLX5_QPC_CS_RES_UP_TO_64B :
						    MLX5_QPC_CS_RES_UP_TO_32B);
	if (init->sq_sig_type == IB_SIGNAL_ALL_WR || (flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE))
		MLX5_SET(qpc, qpc, cs_req, scqe_sz == 128 ? MLX5_QPC_CS_REQ_UP_TO_64B :
							    MLX5_QPC_CS_REQ_UP_TO_32B);
}

static void qpc_fill_queues(void *qpc, const struct ib_qp_init_attr *init,
			    const struct mlx5_ib_create_qp *ucmd)
{
	/* A DCI receives nothing, but may name an SRQ. */
	if (init->srq || qp_service_type(init->qp_type) == MLX5_QP_ST_XRC) {
		MLX5_SET(qpc, qpc, rq_type, MLX5_SRQ_RQ);
	} else if (ucmd->rq_wqe_count) {
		MLX5_SET(qpc, qpc, rq_type, MLX5_NON_ZERO_RQ);
		MLX5_SET(qpc, qpc, log_rq_size, ilog2(ucmd->rq_wqe_count));
		MLX5_SET(qpc, qpc, log_rq_stride, ucmd->rq_wqe_shift - MLX5_IB_LOG_MIN_RQ_STRIDE);
	} else {
		MLX5_SET(qpc, qpc, rq_type, MLX5_ZERO_LEN_RQ);
	}
	if (ucmd->sq_wqe_count) {
		MLX5_SET(qpc, qpc, log_sq_size, ilog2(ucmd->sq_wqe_count));
		return;
	}
	MLX5_SET(qpc, qpc, no_sq, 1);
	/* The device itself sends, to read the data of rendezvous messages. */
	if (init->srq && init->srq->srq_type == IB_SRQT_TM)
		MLX5_SET(qpc, qpc, offload_type, MLX5_QPC_OFFLOAD_TYPE_RNDV);
}

/**
 * mlx5_ib_fill_qpc - write the fields of a new QP's context that follow from the request
 * @qpc: zeroed struct mlx5_ifc_qpc_bits. The caller adds what depends on other objects and on the
 *	device, and mlx5_ib_create_qp_cmd() adds the memory
 * @init: attributes of verbs
 * @ucmd: the library's request, checked by mlx5_ib_calc_user_wq(); for a QP of the kernel, only the
 *	sizes of its queues; zeroed for an XRC target, which has no queues
 */
void mlx5_ib_fill_qpc(void *qpc, const struct ib_qp_init_attr *init,
		      const struct mlx5_ib_create_qp *ucmd)
{
	u32 flags = init->create_flags;

	MLX5_SET(qpc, qpc, st, qp_service_type(init->qp_type));
	MLX5_SET(qpc, qpc, pm_state, MLX5_QP_PM_MIGRATED);
	qpc_fill_queues(qpc, init, ucmd);

	MLX5_SET(qpc, qpc, wq_signature, !!(ucmd->flags & MLX5_QP_FLAG_SIGNATURE));
	MLX5_SET(qpc, qpc, req_e2e_credit_mode,
		 !!(ucmd->flags & MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE));
	MLX5_SET(qpc, qpc, log_num_dci_stream_channels, ucmd->dci_streams.log_num_concurent);
	MLX5_SET(qpc, qpc, log_num_dci_errored_streams, ucmd->dci_streams.log_num_errored);
	MLX5_SET(qpc, qpc, block_lb_mc, !!(flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK));
	MLX5_SET(qpc, qpc, cd_master, !!(flags & IB_QP_CREATE_CROSS_CHANNEL));
	MLX5_SET(qpc, qpc, cd_slave_send, !!(flags & IB_QP_CREATE_MANAGED_SEND));
	MLX5_SET(qpc, qpc, cd_slave_receive, !!(flags & IB_QP_CREATE_MANAGED_RECV));
	if (flags & IB_QP_CREATE_PCI_WRITE_END_PADDING)
		MLX5_SET(qpc, qpc, end_padding_mode,
			 MLX5_QPC_END_PADDING_MODE_PAD_TO_CACHE_LINE_ALIGNMENT);
}

/*
 * The command for each change of state, except to RESET and to ERR (mlx5_ib_qp_opcode()). The
 * interface has no command for a change to SQD.
 */
static const u16 opcodes[IB_QPS_ERR + 1][IB_QPS_ERR + 1] = {
	[IB_QPS_RESET][IB_QPS_INIT] = MLX5_CMD_OP_RST2INIT_QP,
	[IB_QPS_INIT][IB_QPS_INIT] = MLX5_CMD_OP_INIT2INIT_QP,
	[IB_QPS_INIT][IB_QPS_RTR] = MLX5_CMD_OP_INIT2RTR_QP,
	[IB_QPS_RTR][IB_QPS_RTS] = MLX5_CMD_OP_RTR2RTS_QP,
	[IB_QPS_RTS][IB_QPS_RTS] = MLX5_CMD_OP_RTS2RTS_QP,
	[IB_QPS_SQE][IB_QPS_RTS] = MLX5_CMD_OP_SQERR2RTS_QP,
	[IB_QPS_SQD][IB_QPS_RTS] = MLX5_CMD_OP_SQD_RTS_QP,
};

/**
 * mlx5_ib_qp_opcode - find the command for a change of state
 * @cur: state before
 * @next: state after; ib_modify_qp_is_ok() allows the change
 *
 * Return: MLX5_CMD_OP_*, or 0 if the interface has no such command.
 */
u16 mlx5_ib_qp_opcode(enum ib_qp_state cur, enum ib_qp_state next)
{
	if (next == IB_QPS_RESET)
		return MLX5_CMD_OP_2RST_QP;
	if (next == IB_QPS_ERR)
		return MLX5_CMD_OP_2ERR_QP;
	return opcodes[cur][next];
}

/*
 * The changes of a DCI, of which verbs know nothing: attributes that are needed, and others that
 * are possible. A DCI answers no requests, and its work requests have the address, so the access
 * rights and the address are accepted, as some programs give them, and not used.
 */
static const struct {
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int required;
	int optional;
} dci_changes[] = {
	{ IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT, IB_QP_ACCESS_FLAGS },
	{ IB_QPS_INIT, IB_QPS_INIT, 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPS_INIT, IB_QPS_RTR, IB_QP_PATH_MTU,
	  IB_QP_PKEY_INDEX | IB_QP_AV | IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_RTR, IB_QPS_RTS, IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
	  IB_QP_MAX_QP_RD_ATOMIC, IB_QP_SQ_PSN | IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
	{ IB_QPS_RTS, IB_QPS_RTS, 0, IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
};

static bool dci_modify_is_ok(const struct mlx5_ib_qp_modify *mod)
{
	int mask = mod->mask & ~(IB_QP_STATE | IB_QP_CUR_STATE);
	size_t i;

	if (mod->next == IB_QPS_RESET || mod->next == IB_QPS_ERR)
		return !mask;
	for (i = 0; i < ARRAY_SIZE(dci_changes); i++)
		if (dci_changes[i].cur == mod->cur && dci_changes[i].next == mod->next)
			return (mask & dci_changes[i].required) == dci_changes[i].required &&
			       !(mask & ~(dci_changes[i].required | dci_changes[i].optional));
	return false;
}

/**
 * mlx5_ib_qp_modify_is_ok - find out whether a QP can make a change with its attributes
 * @mod: the change
 *
 * Return: as ib_modify_qp_is_ok(), which knows no DCIs.
 */
bool mlx5_ib_qp_modify_is_ok(const struct mlx5_ib_qp_modify *mod)
{
	if (mod->type == IB_QPT_DRIVER)
		return dci_modify_is_ok(mod);
	return ib_modify_qp_is_ok(mod->cur, mod->next, mod->type, mod->mask);
}

/* Bits of opt_param_mask to set in a state change that has the attribute. */
static const struct {
	int attr;
	u32 opt;
} attr_to_opt[] = {
	{ IB_QP_ACCESS_FLAGS, OPT_ACCESS },
	{ IB_QP_PKEY_INDEX, MLX5_QP_OPTPAR_PKEY_INDEX },
	{ IB_QP_PORT, MLX5_QP_OPTPAR_PRI_PORT },
	{ IB_QP_QKEY, MLX5_QP_OPTPAR_Q_KEY },
	{ IB_QP_ALT_PATH, MLX5_QP_OPTPAR_ALT_ADDR_PATH },
	{ IB_QP_MIN_RNR_TIMER, MLX5_QP_OPTPAR_RNR_TIMEOUT },
	/* A responder without resources must refuse READs: qpc_fill_access() changes its rights. */
	{ IB_QP_MAX_DEST_RD_ATOMIC, OPT_ACCESS },
	{ IB_QP_PATH_MIG_STATE, MLX5_QP_OPTPAR_PM_STATE },
};

/*
 * Return opt_param_mask for a change of state. Firmware always reads the fields of attributes that
 * verbs require for the change, and reads the field of an optional attribute if the bit of the
 * attribute is set in opt_param_mask. ib_modify_qp_is_ok() has checked that verbs allow the
 * attributes in this change of this QP type.
 */
static u32 qp_opt_mask(const struct mlx5_ib_qp_modify *mod)
{
	u32 opt = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attr_to_opt); i++)
		if (mod->mask & attr_to_opt[i].attr)
			opt |= attr_to_opt[i].opt;
	if (mod->type == IB_QPT_UC)
		opt &= ~(MLX5_QP_OPTPAR_RRE | MLX5_QP_OPTPAR_RAE);
	if (mod->type == IB_QPT_DRIVER)
		opt &= MLX5_QP_OPTPAR_PKEY_INDEX | MLX5_QP_OPTPAR_PRI_PORT;
	if (mod->cur == IB_QPS_INIT)
		opt &= ~MLX5_QP_OPTPAR_RNR_TIMEOUT;
	return mod->cur == IB_QPS_RESET ? 0 : opt;
}

/* Whether a queue pair can have an alternate path, and migrate to it. */
static bool qp_has_apm(const struct mlx5_ib_caps *caps)
{
	return caps->ethernet ? MLX5_CAP_ROCE(caps->mdev, roce_apm) :
				MLX5_CAP_GEN(caps->mdev, apm);
}

static int qp_check_alt_path(const struct ib_qp_attr *attr, const struct mlx5_ib_caps *caps)
{
	if (!qp_has_apm(caps))
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "QP with an alternate path: the device has no alternate paths (apm, roce_apm)");
	if (attr->alt_pkey_index >= caps->pkey_table_len)
		return refuse(caps->mdev, -EINVAL,
			      "QP with alternate P_Key index %u, the table has %u entries",
			      attr->alt_pkey_index, caps->pkey_table_len);
	if (attr->alt_timeout > MAX_TIMEOUT)
		return refuse(caps->mdev, -EINVAL, "QP with alternate timeout %u, at most %u",
			      attr->alt_timeout, MAX_TIMEOUT);
	return mlx5_ib_check_ah(&attr->alt_ah_attr);
}

/*
 * Check the P_Key index, the paths and the migration state of a change. For a process ib_core has
 * checked the port.
 */
static int qp_check_path(const struct ib_qp_attr *attr, int mask, const struct mlx5_ib_caps *caps)
{
	int err;

	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= caps->pkey_table_len)
		return refuse(caps->mdev, -EINVAL,
			      "QP with P_Key index %u, the table has %u entries", attr->pkey_index,
			      caps->pkey_table_len);
	if ((mask & IB_QP_PATH_MTU) &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
		return refuse(caps->mdev, -EINVAL, "QP with path_mtu %d, not 1 to 5",
			      attr->path_mtu);
	if (mask & IB_QP_AV) {
		err = mlx5_ib_check_ah(&attr->ah_attr);
		if (err)
			return err;
	}
	if (mask & IB_QP_PATH_MIG_STATE) {
		if (attr->path_mig_state > IB_MIG_ARMED)
			return refuse(caps->mdev, -EINVAL, "QP with path_mig_state %d, at most %d",
				      attr->path_mig_state, IB_MIG_ARMED);
		if (attr->path_mig_state != IB_MIG_MIGRATED && !qp_has_apm(caps))
			return refuse(caps->mdev, -EOPNOTSUPP,
				      "QP with path_mig_state not MIGRATED (0): the device cannot migrate paths (apm, roce_apm)");
	}
	return mask & IB_QP_ALT_PATH ? qp_check_alt_path(attr, caps) : 0;
}

/**
 * mlx5_ib_max_rd_atomic - maximum number of RDMA READs and atomics that a requester has in flight
 * @caps: what the device can do
 *
 * Return: the largest max_rd_atomic, which is also max_qp_init_rd_atom of the device.
 */
u32 mlx5_ib_max_rd_atomic(const struct mlx5_ib_caps *caps)
{
	return 1U << min(MLX5_CAP_GEN(caps->mdev, log_max_ra_req_qp), MAX_LOG_RD_ATOMIC);
}

/**
 * mlx5_ib_max_dest_rd_atomic - a responder's maximum number of concurrent RDMA READs and atomics
 * @caps: what the device can do
 *
 * Return: the largest max_dest_rd_atomic, which is also max_qp_rd_atom of the device.
 */
u32 mlx5_ib_max_dest_rd_atomic(const struct mlx5_ib_caps *caps)
{
	return 1U << min(MLX5_CAP_GEN(caps->mdev, log_max_ra_res_qp), MAX_LOG_RD_ATOMIC);
}

static u32 qp_max_rd_atomic(enum ib_qp_type type, const struct mlx5_ib_caps *caps)
{
	if (type != IB_QPT_DRIVER)
		return mlx5_ib_max_rd_atomic(caps);
	return 1U << min(MLX5_CAP_GEN(caps->mdev, log_max_ra_req_dc), MAX_LOG_RD_ATOMIC);
}

static int qp_check_max(const struct mlx5_ib_caps *caps, int given, const char *what, u32 value,
			u32 max)
{
	return !given || value <= max ? 0 :
	       refuse(caps->mdev, -EINVAL, "QP with %s %u, at most %u", what, value, max);
}

/**
 * mlx5_ib_qp_check_attr - check the attributes of a state change
 * @mod: the change, which mlx5_ib_qp_modify_is_ok() allows
 * @caps: what the device can do
 *
 * Return: 0; -EINVAL for a value out of range; -EOPNOTSUPP for a feature that the device does not
 * have.
 */
int mlx5_ib_qp_check_attr(const struct mlx5_ib_qp_modify *mod, const struct mlx5_ib_caps *caps)
{
	const struct ib_qp_attr *attr = mod->attr;
	int mask = mod->mask;
	int err;

	err = qp_check_max(caps, mask & IB_QP_DEST_QPN, "dest_qp_num", attr->dest_qp_num,
			   QPN_MASK) ?:
	      qp_check_max(caps, mask & IB_QP_TIMEOUT, "timeout", attr->timeout, MAX_TIMEOUT) ?:
	      qp_check_max(caps, mask & IB_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, MAX_RETRY) ?:
	      qp_check_max(caps, mask & IB_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, MAX_RETRY) ?:
	      qp_check_max(caps, mask & IB_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer,
			   MAX_RNR_TIMER) ?:
	      qp_check_max(caps, mask & IB_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic",
			   attr->max_rd_atomic, qp_max_rd_atomic(mod->type, caps)) ?:
	      qp_check_max(caps, mask & IB_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic",
			   attr->max_dest_rd_atomic, mlx5_ib_max_dest_rd_atomic(caps));
	if (err)
		return err;
	if ((mask & IB_QP_ACCESS_FLAGS) && attr->qp_access_flags & ~IB_ACCESS_SUPPORTED)
		return refuse(caps->mdev, -EINVAL, "QP with qp_access_flags %#x, supported: %#x",
			      attr->qp_access_flags, IB_ACCESS_SUPPORTED);
	if ((mask & IB_QP_ACCESS_FLAGS) && attr->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC &&
	    qp_is_reliable(mod->type) && !caps->atomic_mode)
		return refuse(caps->mdev, -EOPNOTSUPP,
			      "QP with IB_ACCESS_REMOTE_ATOMIC: the device lacks CMP_SWAP or FETCH_ADD of 8 bytes (atomic)");
	return qp_check_path(attr, mask, caps);
}

/*
 * Set the rights of the peer. A QP without responder resources must refuse READs and atomics. The
 * number of resources is known from RTR on. Before RTR the QP executes no request, so the context
 * for INIT gets the rights that the consumer asks for.
 */
static void qpc_fill_access(void *qpc, const struct mlx5_ib_qp_modify *mod, u8 atomic_mode)
{
	u32 access = mod->access;

	if (mlx5_ib_qp_is_datagram(mod->type) || mod->type == IB_QPT_DRIVER)
		return;
	if (mod->type == IB_QPT_UC || (mod->next != IB_QPS_INIT && !mod->dest_rd_atomic))
		access &= IB_ACCESS_REMOTE_WRITE;

	MLX5_SET(qpc, qpc, rwe, !!(access & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(qpc, qpc, rre, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(qpc, qpc, rae, !!(access & IB_ACCESS_REMOTE_ATOMIC));
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		MLX5_SET(qpc, qpc, atomic_mode, atomic_mode);
}

static void qpc_fill_path(void *ads, const struct mlx5_ib_qp_modify *mod,
			  const struct rdma_ah_attr *ah, const struct mlx5_ib_caps *caps)
{
	u32 remote_qpn = mod->mask & IB_QP_DEST_QPN ? mod->attr->dest_qp_num : 0;

	mlx5_ib_fill_path(ads, ah, MLX5_CAP_GEN(caps->mdev, stat_rate_support),
			  mlx5_ib_udp_sport(ah, mod->qpn, remote_qpn, caps));
}

static void qpc_fill_paths(void *qpc, const struct mlx5_ib_qp_modify *mod,
			   const struct mlx5_ib_caps *caps)
{
	void *prim = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
	void *alt = MLX5_ADDR_OF(qpc, qpc, secondary_address_path);
	const struct ib_qp_attr *attr = mod->attr;

	if (mod->mask & IB_QP_AV && mod->type != IB_QPT_DRIVER)
		qpc_fill_path(prim, mod, &attr->ah_attr, caps);
	else
		MLX5_SET(ads, prim, vhca_port_num, mod->port);
	if (mod->mask & IB_QP_PKEY_INDEX)
		MLX5_SET(ads, prim, pkey_index, attr->pkey_index);
	if (mod->mask & IB_QP_TIMEOUT)
		MLX5_SET(ads, prim, ack_timeout, attr->timeout);

	if (mod->mask & IB_QP_ALT_PATH) {
		qpc_fill_path(alt, mod, &attr->alt_ah_attr, caps);
		MLX5_SET(ads, alt, pkey_index, attr->alt_pkey_index);
		MLX5_SET(ads, alt, ack_timeout, attr->alt_timeout);
	}
}

/* Values of qpc.pm_state for the path migration states of verbs. */
static const u8 mig_states[] = {
	[IB_MIG_MIGRATED] = MLX5_QP_PM_MIGRATED,
	[IB_MIG_REARM] = MLX5_QP_PM_REARM,
	[IB_MIG_ARMED] = MLX5_QP_PM_ARMED,
};

static void qpc_fill_message_limits(void *qpc, const struct mlx5_ib_qp_modify *mod, u8 log_max_msg)
{
	if (mod->next != IB_QPS_RTR)
		return;
	if (mlx5_ib_qp_is_datagram(mod->type)) {
		MLX5_SET(qpc, qpc, mtu, IB_MTU_4096);
		MLX5_SET(qpc, qpc, log_msg_max, UD_LOG_MSG_MAX);
	} else if (mod->mask & IB_QP_PATH_MTU) {
		MLX5_SET(qpc, qpc, mtu, mod->attr->path_mtu);
		MLX5_SET(qpc, qpc, log_msg_max, log_max_msg);
	}
}

static void qpc_fill_requester(void *qpc, const struct ib_qp_attr *attr, int mask)
{
	MLX5_SET(qpc, qpc, log_ack_req_freq, LOG_ACK_REQ_FREQ);
	if (mask & IB_QP_SQ_PSN)
		MLX5_SET(qpc, qpc, next_send_psn, attr->sq_psn);
	if (mask & IB_QP_RETRY_CNT)
		MLX5_SET(qpc, qpc, retry_count, attr->retry_cnt);
	if (mask & IB_QP_RNR_RETRY)
		MLX5_SET(qpc, qpc, rnr_retry, attr->rnr_retry);
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic)
		MLX5_SET(qpc, qpc, log_sra_max, order_base_2(attr->max_rd_atomic));
}

static void qpc_fill_responder(void *qpc, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_DEST_QPN)
		MLX5_SET(qpc, qpc, remote_qpn, attr->dest_qp_num);
	if (mask & IB_QP_RQ_PSN)
		MLX5_SET(qpc, qpc, next_rcv_psn, attr->rq_psn);
	if (mask & IB_QP_MIN_RNR_TIMER)
		MLX5_SET(qpc, qpc, min_rnr_nak, attr->min_rnr_timer);
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic)
		MLX5_SET(qpc, qpc, log_rra_max, order_base_2(attr->max_dest_rd_atomic));
	if (mask & IB_QP_QKEY)
		MLX5_SET(qpc, qpc, q_key, attr->qkey);
}

/**
 * mlx5_ib_fill_modify_qpc - build the context of a state-change command
 * @qpc: zeroed struct mlx5_ifc_qpc_bits
 * @mod: the change; its attributes, if any, were checked by mlx5_ib_qp_check_attr()
 * @caps: what the device can do
 *
 * Return: opt_param_mask of the command.
 */
u32 mlx5_ib_fill_modify_qpc(void *qpc, const struct mlx5_ib_qp_modify *mod,
			    const struct mlx5_ib_caps *caps)
{
	u8 pm_state = MLX5_QP_PM_MIGRATED;

	if (mod->mask & IB_QP_PATH_MIG_STATE)
		pm_state = mig_states[mod->attr->path_mig_state];
	MLX5_SET(qpc, qpc, st, qp_service_type(mod->type));
	MLX5_SET(qpc, qpc, pm_state, pm_state);
	MLX5_SET(qpc, qpc, pd, MLX5_GET(qpc, mod->qpc, pd));
	MLX5_SET(qpc, qpc, cqn_snd, MLX5_GET(qpc, mod->qpc, cqn_snd));
	MLX5_SET(qpc, qpc, cqn_rcv, MLX5_GET(qpc, mod->qpc, cqn_rcv));
	if (mod->next == IB_QPS_INIT)
		MLX5_SET64(qpc, qpc, dbr_addr, MLX5_GET64(qpc, mod->qpc, dbr_addr));

	qpc_fill_message_limits(qpc, mod, MLX5_CAP_GEN(caps->mdev, log_max_msg));
	qpc_fill_paths(qpc, mod, caps);
	qpc_fill_requester(qpc, mod->attr, mod->mask);
	qpc_fill_responder(qpc, mod->attr, mod->mask);
	qpc_fill_access(qpc, mod, caps->atomic_mode);
	return qp_opt_mask(mod);
}

/**
 * mlx5_ib_mig_from_hw - decode a path migration state
 * @pm_state: qpc.pm_state
 *
 * Return: the state in verbs; IB_MIG_MIGRATED for a value that verbs do not have.
 */
enum ib_mig_state mlx5_ib_mig_from_hw(u8 pm_state)
{
	enum ib_mig_state state = IB_MIG_ARMED;

	while (state != IB_MIG_MIGRATED && mig_states[state] != pm_state)
		state--;
	return state;
}

/**
 * mlx5_ib_qp_state_from_hw - decode a QP state
 * @state: qpc.state
 *
 * Return: enum ib_qp_state, or -EIO for a state that verbs do not have.
 */
int mlx5_ib_qp_state_from_hw(u8 state)
{
	static const enum ib_qp_state states[] = {
		[MLX5_QP_STATE_RST] = IB_QPS_RESET,
		[MLX5_QP_STATE_INIT] = IB_QPS_INIT,
		[MLX5_QP_STATE_RTR] = IB_QPS_RTR,
		[MLX5_QP_STATE_RTS] = IB_QPS_RTS,
		[MLX5_QP_STATE_SQER] = IB_QPS_SQE,
		[MLX5_QP_STATE_SQD] = IB_QPS_SQD,
		[MLX5_QP_STATE_SQ_DRAINING] = IB_QPS_SQD,
		[MLX5_QP_STATE_ERR] = IB_QPS_ERR,
	};

	return state < ARRAY_SIZE(states) ? states[state] : -EIO;
}

static u32 qpc_read_access(const void *qpc)
{
	return (MLX5_GET(qpc, qpc, rre) ? IB_ACCESS_REMOTE_READ : 0) |
	       (MLX5_GET(qpc, qpc, rwe) ? IB_ACCESS_REMOTE_WRITE : 0) |
	       (MLX5_GET(qpc, qpc, rae) ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

static void qpc_read_paths(const void *qpc, bool connected, bool ethernet,
			   struct ib_qp_attr *attr)
{
	const void *prim = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
	const void *alt = MLX5_ADDR_OF(qpc, qpc, secondary_address_path);

	attr->pkey_index = MLX5_GET(ads, prim, pkey_index);
	attr->port_num = MLX5_GET(ads, prim, vhca_port_num);
	attr->timeout = MLX5_GET(ads, prim, ack_timeout);
	if (!connected)
		return;
	mlx5_ib_read_path(prim, ethernet, &attr->ah_attr);
	mlx5_ib_read_path(alt, ethernet, &attr->alt_ah_attr);
	attr->alt_pkey_index = MLX5_GET(ads, alt, pkey_index);
	attr->alt_port_num = MLX5_GET(ads, alt, vhca_port_num);
	attr->alt_timeout = MLX5_GET(ads, alt, ack_timeout);
}

/**
 * mlx5_ib_read_qpc - translate a context back to attributes of verbs
 * @qpc: struct mlx5_ifc_qpc_bits, as QUERY_QP gives it
 * @type: QP type
 * @ethernet: the QP is on an Ethernet port
 * @attr: gets the attributes that the context has, except the state and the capacities
 */
void mlx5_ib_read_qpc(const void *qpc, enum ib_qp_type type, bool ethernet,
		      struct ib_qp_attr *attr)
{
	attr->sq_draining = MLX5_GET(qpc, qpc, state) == MLX5_QP_STATE_SQ_DRAINING;
	attr->path_mtu = MLX5_GET(qpc, qpc, mtu);
	attr->path_mig_state = mlx5_ib_mig_from_hw(MLX5_GET(qpc, qpc, pm_state));
	attr->qkey = MLX5_GET(qpc, qpc, q_key);
	attr->rq_psn = MLX5_GET(qpc, qpc, next_rcv_psn);
	attr->sq_psn = MLX5_GET(qpc, qpc, next_send_psn);
	attr->dest_qp_num = MLX5_GET(qpc, qpc, remote_qpn);
	attr->qp_access_flags = qpc_read_access(qpc);
	attr->min_rnr_timer = MLX5_GET(qpc, qpc, min_rnr_nak);
	attr->retry_cnt = MLX5_GET(qpc, qpc, retry_count);
	attr->rnr_retry = MLX5_GET(qpc, qpc, rnr_retry);
	if (qp_is_reliable(type)) {
		attr->max_rd_atomic = 1 << MLX5_GET(qpc, qpc, log_sra_max);
		attr->max_dest_rd_atomic = 1 << MLX5_GET(qpc, qpc, log_rra_max);
	}
	qpc_read_paths(qpc, !mlx5_ib_qp_is_datagram(type) && type != IB_QPT_DRIVER, ethernet,
		       attr);
}
