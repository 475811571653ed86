// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: what a context must not contain, whichever command brings it.
 */
#include "caps.h"
#include "check.h"
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "profile.h"
#include "qp.h"
#include "roce_address.h"
#include "ts_format.h"
#include "util.h"

static const struct ifc_field qpc_reserved[] = {
	IFC_FIELD(qpc, reserved_at_10), IFC_FIELD(qpc, reserved_at_15),
	IFC_FIELD(qpc, reserved_at_1e), IFC_FIELD(qpc, reserved_at_24),
	IFC_FIELD(qpc, reserved_at_48), IFC_FIELD(qpc, reserved_at_55),
	IFC_FIELD(qpc, reserved_at_5a),
	IFC_FIELD(qpc, reserved_at_80), IFC_FIELD(qpc, reserved_at_a0),
	IFC_FIELD(qpc, reserved_at_384), IFC_FIELD(qpc, reserved_at_38b),
	IFC_FIELD(qpc, reserved_at_393), IFC_FIELD(qpc, reserved_at_39b),
	IFC_FIELD(qpc, reserved_at_3a0), IFC_FIELD(qpc, reserved_at_3c0),
	IFC_FIELD(qpc, reserved_at_3e0), IFC_FIELD(qpc, reserved_at_400),
	IFC_FIELD(qpc, reserved_at_420), IFC_FIELD(qpc, reserved_at_440),
	IFC_FIELD(qpc, reserved_at_460), IFC_FIELD(qpc, reserved_at_480),
	IFC_FIELD(qpc, reserved_at_48b), IFC_FIELD(qpc, reserved_at_493),
	IFC_FIELD(qpc, reserved_at_49a), IFC_FIELD(qpc, reserved_at_4a0),
	IFC_FIELD(qpc, reserved_at_4c0), IFC_FIELD(qpc, reserved_at_4e0),
	IFC_FIELD(qpc, reserved_at_560), IFC_FIELD(qpc, reserved_at_580),
	IFC_FIELD(qpc, reserved_at_600), IFC_FIELD(qpc, reserved_at_620),
	IFC_FIELD(qpc, reserved_at_680),
	/* up to the number of the umem that the doorbell record is in */
	{ IFC_OFF(qpc, reserved_at_684), QPC_DBR_UMEM_ID - IFC_OFF(qpc, reserved_at_684),
	  "reserved_at_684" },
};

_Static_assert(QPC_DBR_UMEM_ID + 32 == sizeof(IFC_T(qpc)), "the last field of a QP's context");

#define PRIMARY(fld) { IFC_OFF(qpc, primary_address_path.fld), IFC_BITS(ads, fld), "path." #fld }

/*
 * Fields of features that queue pairs do not have, whatever the profile: LAG, values forced on RoCE
 * packets, end-to-end credits by packet, IPoIB offloads, rate limits, cross channel; and the access
 * key of a DC initiator, whose WQEs have the keys.
 * latency_sensitive is not among them: software cannot see whether the HCA follows this hint, and
 * the stock driver sets it for its UMR queue pair.
 */
static const struct ifc_field qpc_not_offered[] = {
	IFC_FIELD(qpc, lag_tx_port_affinity), IFC_FIELD(qpc, isolate_vl_tc),
	IFC_FIELD(qpc, req_e2e_credit_mode),
	IFC_FIELD(qpc, atomic_like_write_en), IFC_FIELD(qpc, retry_mode),
	IFC_FIELD(qpc, ulp_stateless_offload_mode),
	IFC_FIELD(qpc, packet_pacing_rate_limit_index),
	IFC_FIELD(qpc, cd_slave_receive), IFC_FIELD(qpc, cd_slave_send), IFC_FIELD(qpc, cd_master),
	IFC_FIELD(qpc, cgs), IFC_FIELD(qpc, dc_access_key),
	PRIMARY(free_ar), PRIMARY(reserved_at_2), PRIMARY(plane_index),
	PRIMARY(reserved_at_45), PRIMARY(reserved_at_50), PRIMARY(reserved_at_60),
	PRIMARY(reserved_at_100), PRIMARY(f_dscp), PRIMARY(f_ecn), PRIMARY(reserved_at_106),
	PRIMARY(f_eth_prio),
};

/* Fields of DC initiators alone. */
static const struct ifc_field qpc_dci[] = {
	IFC_FIELD(qpc, log_num_dci_stream_channels), IFC_FIELD(qpc, log_num_dci_errored_streams),
};

/* Fields of tag matching. */
static const struct ifc_field qpc_tm[] = { IFC_FIELD(qpc, offload_type) };

/* Fields of RoCE, which without RoCE are not offered either. */
static const struct ifc_field qpc_roce[] = {
	PRIMARY(fl), PRIMARY(ecn), PRIMARY(dscp), PRIMARY(udp_sport), PRIMARY(dei_cfi),
	PRIMARY(eth_prio), PRIMARY(rmac_47_32), PRIMARY(rmac_31_0),
};

/* The alternate path, byte by byte: the HCA migrates no paths, even if a profile offers apm. */
static bool qpc_has_alternate_path(const uint8_t *c)
{
	const uint8_t *ads = IFC_ADDR(qpc, c, secondary_address_path);
	size_t i;

	for (i = 0; i < IFC_SZ(ads); i++)
		if (ads[i])
			return true;
	return false;
}

/*
 * A device that pads its writes to whole cache lines spares the host the reads that a write of part
 * of a line needs. The emulated HCA accepts the mode, and pads nothing.
 */
static bool qpc_padding_ok(struct hca *hca, const uint8_t *c)
{
	unsigned int mode = IFC_GET(qpc, c, end_padding_mode);

	return !mode || (mode == MLX5_QPC_END_PADDING_MODE_PAD_TO_CACHE_LINE_ALIGNMENT &&
			 hca_cap_gen(hca, end_pad));
}

/**
 * qp_check_context() - refuse a context with a field that the HCA would have to ignore
 * @hca: the HCA
 * @cmd: the command that brings it
 * @c: the context
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t qp_check_context(struct hca *hca, struct cmd *cmd, const uint8_t *c)
{
	const char *name = ifc_first_set(c, qpc_reserved, ARRAY_SIZE(qpc_reserved));
	uint8_t st;

	if (name)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RESERVED_FIELD, "qpc.%s is not zero",
				name);
	st = check_offered(cmd, WHY_QP_FIELD_NOT_OFFERED, "qpc.", c, qpc_not_offered,
			   ARRAY_SIZE(qpc_not_offered));
	if (!st && IFC_GET(qpc, c, st) != QPT_DCI)
		st = check_offered(cmd, WHY_QP_FIELD_NOT_OFFERED, "qpc.", c, qpc_dci,
				   ARRAY_SIZE(qpc_dci));
	if (!st && !hca_cap_gen(hca, tag_matching))
		st = check_offered(cmd, WHY_QP_FIELD_NOT_OFFERED, "qpc.", c, qpc_tm,
				   ARRAY_SIZE(qpc_tm));
	if (!st && !roce_offered(hca))
		st = check_offered(cmd, WHY_QP_FIELD_NOT_OFFERED, "qpc.", c, qpc_roce,
				   ARRAY_SIZE(qpc_roce));
	if (st)
		return st;
	if (!qpc_padding_ok(hca, c))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"end_padding_mode %u is not supported",
				IFC_GET(qpc, c, end_padding_mode));
	if (qpc_has_alternate_path(c))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_PATH_MIGRATION,
				"the HCA has no alternate paths");
	return roce_offered(hca) ? qp_check_roce_context(hca, cmd, c) : ST_OK;
}

/*
 * Whether the data of queue pairs of a type may arrive out of order. A device that offers this for
 * all operations offers it for READs and WRITEs alone, too: UCX asks for that.
 */
static bool qp_type_out_of_order(struct hca *hca, enum qp_type type)
{
	switch (type) {
	case QPT_RC:
		return hca_cap_gen(hca, dp_ordering_ooo_all_rc);
	case QPT_UC:
		return hca_cap_gen(hca, dp_ordering_ooo_all_uc);
	case QPT_UD:
		return hca_cap_gen(hca, dp_ordering_ooo_all_ud);
	case QPT_XRC:
		return hca_cap_gen(hca, dp_ordering_ooo_all_xrc);
	case QPT_DCI:
		return hca_cap_gen(hca, dp_ordering_ooo_all_dc);
	default:
		return false;
	}
}

/**
 * qp_check_ordering() - refuse data out of order if the capabilities do not offer it
 * @hca: the HCA
 * @cmd: the command that brings the context
 * @type: service type of the queue pair
 * @c: the context
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t qp_check_ordering(struct hca *hca, struct cmd *cmd, enum qp_type type, const uint8_t *c)
{
	unsigned int order = IFC_GET(qpc, c, dp_ordering_1) << 1 |
			     ifc_get_bits(c, QPC_DP_ORDERING_0, 1);

	if (order > DP_ORDERING_ALL || (order && !qp_type_out_of_order(hca, type)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"data out of order (%u) is not supported for %s QPs", order,
				qp_type_name(type));
	if (IFC_GET(qpc, c, dp_ordering_force) &&
	    (!hca_cap_gen(hca, hca_cap_2) || !hca_cap_gen_2(hca, dp_ordering_force)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"qpc.dp_ordering_force is set, which is not supported");
	return ST_OK;
}

/**
 * qp_has_real_time() - tell which clock gives the time stamps in the CQEs of a queue pair
 * @hca: the HCA
 * @qp: the queue pair, whose ts_format the capabilities offer
 *
 * Return: true for the real-time clock, false for the free-running one.
 */
bool qp_has_real_time(struct hca *hca, const struct qp *qp)
{
	return ts_format_real_time(hca_cap_gen(hca, sq_ts_format),
				   IFC_GET(qpc, qp->created, ts_format));
}

/**
 * qp_pkeys() - number of entries of the port's P_Key table
 * @hca: the HCA
 *
 * Return: the number; the only P_Key of an Ethernet port is 0xffff.
 */
unsigned int qp_pkeys(struct hca *hca)
{
	return hca->profile->eth ? 1 : 128u << hca_cap_gen(hca, pkey_table_size);
}

/*
 * For rendezvous messages the HCA sends READs by itself, and so needs a send queue that software
 * does not use.
 */
static uint8_t qp_check_rendezvous(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	unsigned int type = IFC_GET(qpc, qp->created, offload_type);

	if (!type)
		return ST_OK;
	if (type != MLX5_QPC_OFFLOAD_TYPE_RNDV || !hca_cap_gen(hca, rndv_offload_rc))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"offload_type %u is not supported", type);
	if (qp->type != QPT_RC || qp->has_sq || qp->rq_type != RQ_SRQ)
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_RENDEZVOUS,
				"a %s QP with rendezvous must be of RC, with an SRQ and without SQ",
				qp_type_name(qp->type));
	return ST_OK;
}

/**
 * qp_check_features() - refuse a new queue pair with a feature that the capabilities lack
 * @hca: the HCA
 * @cmd: CREATE_QP
 * @qp: the queue pair as it would be
 *
 * Return: ST_OK or ST_BAD_PARAM.
 */
uint8_t qp_check_features(struct hca *hca, struct cmd *cmd, const struct qp *qp)
{
	const uint8_t *c = qp->created;

	if (IFC_GET(qpc, c, wq_signature))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SIGNATURE_NOT_OFFERED,
				"WQE signatures are not supported");
	if ((qp->cs_req || qp->cs_res) && !hca_cap_gen(hca, sctr_data_cqe))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_NOT_OFFERED,
				"scatter to CQE is not supported (sctr_data_cqe)");
	if (qp->cs_req && qp->type == QPT_DCI && !hca_cap_gen(hca, dc_req_scat_data_cqe))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_SCATTER_TO_CQE_NOT_OFFERED,
				"a DCI cannot scatter to CQEs (dc_req_scat_data_cqe)");
	if (qp->has_streams &&
	    (IFC_GET(qpc, c, log_num_dci_stream_channels) >
	     hca_cap_gen(hca, log_max_dci_stream_channels) ||
	     IFC_GET(qpc, c, log_num_dci_errored_streams) >
	     hca_cap_gen(hca, log_max_dci_errored_streams)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_STREAMS,
				"a %s QP with 2^%u streams, 2^%u of them failed, is not supported",
				qp_type_name(qp->type),
				IFC_GET(qpc, c, log_num_dci_stream_channels),
				IFC_GET(qpc, c, log_num_dci_errored_streams));
	if (qp->block_lb_mc && (qp->type != QPT_UD || !hca_cap_gen(hca, block_lb_mc)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"a %s QP cannot block the loopback of multicast",
				qp_type_name(qp->type));
	if (qp->deth_sqpn && (qp->type != QPT_UD || !hca_cap_gen(hca, set_deth_sqpn)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_FIELD_NOT_OFFERED,
				"a %s QP cannot send as QP 0x%x", qp_type_name(qp->type),
				qp->deth_sqpn);
	if (!ts_format_ok(hca, hca_cap_gen(hca, sq_ts_format),
			  IFC_GET(qpc, c, ts_format)))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_TIMESTAMP_FORMAT,
				"ts_format %u is not supported", IFC_GET(qpc, c, ts_format));
	if (qp->user_index && !hca_cap_gen(hca, cqe_version))
		return cmd_fail(cmd, ST_BAD_PARAM, WHY_QP_USER_INDEX,
				"user_index is 0x%x, but CQEs have version 0", qp->user_index);
	return qp_check_rendezvous(hca, cmd, qp);
}
