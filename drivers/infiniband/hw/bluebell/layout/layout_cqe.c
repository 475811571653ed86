// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queue entries, translated to struct ib_wc for kernel consumers. Pure functions only.
 */

#include <linux/array_size.h>
#include <linux/mlx5/cq.h>

#include "layout/layout_cqe.h"

/* Fields of flags_rqpn. */
#define RQPN_MASK	0xffffff
#define RQPN_SL_SHIFT	24
#define RQPN_SL_MASK	0xf
#define RQPN_GRH_SHIFT	28
#define RQPN_GRH_MASK	0x3
#define PKEY_INDEX_MASK	0xffff

static_assert(sizeof(struct mlx5_err_cqe) == sizeof(struct mlx5_cqe64));

/**
 * mlx5_ib_cqe_kind - which kind of request a CQE is about
 * @cqe: the CQE
 *
 * Return: enum mlx5_ib_cqe_kind.
 */
enum mlx5_ib_cqe_kind mlx5_ib_cqe_kind(const struct mlx5_cqe64 *cqe)
{
	switch (mlx5_ib_cqe_opcode(cqe)) {
	case MLX5_CQE_REQ:
	case MLX5_CQE_REQ_ERR:
		return MLX5_IB_CQE_SEND;
	case MLX5_CQE_RESP_WR_IMM:
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_RESP_SEND_IMM:
	case MLX5_CQE_RESP_SEND_INV:
	case MLX5_CQE_RESP_ERR:
		return MLX5_IB_CQE_RECV;
	default:
		return MLX5_IB_CQE_OTHER;
	}
}

/**
 * mlx5_ib_cqe_is_error - whether a request has failed
 * @cqe: the CQE, about a send or receive request
 *
 * Return: true if the request has failed or was flushed.
 */
bool mlx5_ib_cqe_is_error(const struct mlx5_cqe64 *cqe)
{
	return mlx5_ib_cqe_opcode(cqe) >= MLX5_CQE_REQ_ERR;
}

static const u8 cqe_status[] = {
	[MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR] = IB_WC_LOC_LEN_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR] = IB_WC_LOC_QP_OP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_PROT_ERR] = IB_WC_LOC_PROT_ERR,
	[MLX5_CQE_SYNDROME_WR_FLUSH_ERR] = IB_WC_WR_FLUSH_ERR,
	[MLX5_CQE_SYNDROME_MW_BIND_ERR] = IB_WC_MW_BIND_ERR,
	[MLX5_CQE_SYNDROME_BAD_RESP_ERR] = IB_WC_BAD_RESP_ERR,
	[MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR] = IB_WC_LOC_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR] = IB_WC_REM_ACCESS_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_OP_ERR] = IB_WC_REM_OP_ERR,
	[MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR] = IB_WC_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR] = IB_WC_RNR_RETRY_EXC_ERR,
	[MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR] = IB_WC_REM_ABORT_ERR,
};

/**
 * mlx5_ib_cqe_status - translate a syndrome
 * @syndrome: MLX5_CQE_SYNDROME_* of a failed request or queue pair
 *
 * Return: the status of verbs; IB_WC_GENERAL_ERR for a syndrome for which verbs have no status.
 */
enum ib_wc_status mlx5_ib_cqe_status(u8 syndrome)
{
	enum ib_wc_status status = syndrome < ARRAY_SIZE(cqe_status) ? cqe_status[syndrome] : 0;

	/* Gaps of the table are 0, IB_WC_SUCCESS. */
	return status ?: IB_WC_GENERAL_ERR;
}

/**
 * mlx5_ib_cqe_read_error - read why a request has failed
 * @cqe: a CQE for which mlx5_ib_cqe_is_error() is true; the device writes it as struct mlx5_err_cqe
 * @wc: gets status and vendor_err
 */
void mlx5_ib_cqe_read_error(const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	const struct mlx5_err_cqe *err = (const struct mlx5_err_cqe *)cqe;

	wc->status = mlx5_ib_cqe_status(err->syndrome);
	wc->vendor_err = err->vendor_err_synd;
}

static const u8 send_opcodes[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP] = IB_WC_MASKED_COMP_SWAP,
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD] = IB_WC_MASKED_FETCH_ADD,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
};

/**
 * mlx5_ib_cqe_read_send - read the completion of a send request
 * @cqe: the CQE
 * @opcode: opcode of the request
 * @wc: gets opcode, status and flags; for READs and atomics also the length of the data
 */
void mlx5_ib_cqe_read_send(const struct mlx5_cqe64 *cqe, enum ib_wr_opcode opcode, struct ib_wc *wc)
{
	wc->status = IB_WC_SUCCESS;
	wc->opcode = send_opcodes[opcode];
	wc->wc_flags = 0;
	switch (opcode) {
	case IB_WR_RDMA_READ:
		wc->byte_len = be32_to_cpu(cqe->byte_cnt);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		wc->byte_len = sizeof(u64);
		break;
	default:
		break;
	}
}

static void cqe_read_recv_opcode(const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	wc->opcode = IB_WC_RECV;
	wc->wc_flags = 0;
	wc->pkey_index = 0;
	switch (mlx5_ib_cqe_opcode(cqe)) {
	case MLX5_CQE_RESP_WR_IMM:
		wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case MLX5_CQE_RESP_SEND_IMM:
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->immediate;
		break;
	case MLX5_CQE_RESP_SEND_INV:
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = be32_to_cpu(cqe->inval_rkey);
		break;
	default:
		wc->pkey_index = be32_to_cpu(cqe->pkey) & PKEY_INDEX_MASK;
		break;
	}
}

/**
 * mlx5_ib_cqe_read_recv - read the completion of a receive request
 * @cqe: the CQE
 * @wc: gets status, opcode, flags, length, the sender's address, and immediate data or the
 *	invalidated key
 *
 * Immediate data, an invalidated key and the P_Key index share a field of the CQE. In a CQE of QP1
 * this field has the P_Key instead of its index: pkey_index then gets the P_Key.
 */
void mlx5_ib_cqe_read_recv(const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	u32 flags_rqpn = be32_to_cpu(cqe->flags_rqpn);

	wc->status = IB_WC_SUCCESS;
	cqe_read_recv_opcode(cqe, wc);
	if (flags_rqpn >> RQPN_GRH_SHIFT & RQPN_GRH_MASK)
		wc->wc_flags |= IB_WC_GRH;
	wc->byte_len = be32_to_cpu(cqe->byte_cnt);
	wc->src_qp = flags_rqpn & RQPN_MASK;
	wc->sl = flags_rqpn >> RQPN_SL_SHIFT & RQPN_SL_MASK;
	wc->slid = be16_to_cpu(cqe->slid);
	wc->dlid_path_bits = cqe->ml_path & 0x7f;
}

/* The type of the network header, in the bits that have the SL on InfiniBand. */
#define RQPN_L3_SHIFT	24
#define RQPN_L3_MASK	0x3

static const u8 network_types[] = {
	[MLX5_CQE_ROCE_L3_HEADER_TYPE_GRH] = RDMA_NETWORK_ROCE_V1,
	[MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV6] = RDMA_NETWORK_IPV6,
	[MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV4] = RDMA_NETWORK_IPV4,
};

/* Fields of vlan_info. */
#define VLAN_PRIORITY_SHIFT	13
#define VLAN_ID_MASK		0xfff

/**
 * mlx5_ib_cqe_read_roce - read what the completion of a receive request has on an Ethernet port
 * @cqe: the CQE
 * @wc: filled in by mlx5_ib_cqe_read_recv(); gets, in the place of LIDs and SL, the type of the
 *	network header, the VLAN and its priority
 *
 * Only a completion of a datagram has a network header. RoCE has one P_Key, with index 0.
 */
void mlx5_ib_cqe_read_roce(const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	u8 l3 = be32_to_cpu(cqe->flags_rqpn) >> RQPN_L3_SHIFT & RQPN_L3_MASK;
	u16 vlan = be16_to_cpu(cqe->vlan_info);

	wc->pkey_index = 0;
	wc->sl = 0;
	wc->slid = 0;
	wc->dlid_path_bits = 0;
	if (!(wc->wc_flags & IB_WC_GRH))
		return;
	/* The value 3 is not defined. ib_core then finds the type in the header. */
	if (l3 < ARRAY_SIZE(network_types)) {
		wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = network_types[l3];
	}
	if (!cqe_has_vlan(cqe))
		return;
	wc->wc_flags |= IB_WC_WITH_VLAN;
	wc->vlan_id = vlan & VLAN_ID_MASK;
	wc->sl = vlan >> VLAN_PRIORITY_SHIFT;
}
