// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Firmware commands that a process builds itself (DEVX).
 *
 * Firmware lets a command with a user id name only objects of the same id. But firmware does not
 * know which handle the process has passed with the command, and would execute commands that have
 * no field for a user id as if the kernel had sent them. Therefore the driver has a table of all
 * commands (enum in linux/mlx5/mlx5_ifc.h), which was made by these rules:
 *
 *   * A command that creates an object may be sent only if one command can destroy the object. The
 *     driver builds that second command as soon as the object exists, because later the driver
 *     does not know all fields of the second command.
 *   * A command about an object may be sent only together with the handle of that object.
 *   * A command without a handle may be sent only if it changes nothing that other users see, or
 *     by a process that has the rights which the table names.
 *   * A command that has no layout in mlx5_ifc.h is forbidden: the driver does not know which
 *     object the command names.
 *   * Commands on UARs, umems, device memory, event queues and user ids are forbidden: the driver
 *     or mlx5_core sends these for users.
 *   * These rules are not for the range for users, the opcodes from MLX5_CMD_OP_GENERAL_START on
 *     that are less than MLX5_CMD_OP_GENERAL_END: firmware checks such a command against the rights
 *     of the user id. A process needs only the rights that the table names, and may also send
 *     commands that are not in the table because they are newer than the table.
 */

#include <linux/bsearch.h>
#include <linux/kernel.h>

#include "layout/layout_devx.h"

/*
 * FLD(typ, fld) is the field @fld of struct mlx5_ifc_@typ_bits. WQ_UMEM(typ, wq) are the umem bits
 * of the work queue @wq in struct mlx5_ifc_@typ_bits.
 */
#define FLD(...)		{ __mlx5_bit_off(__VA_ARGS__), __mlx5_bit_sz(__VA_ARGS__) }

#define COMMAND(op, how, ...) \
	{ .opcode = MLX5_CMD_OP_##op, .use = MLX5_IB_DEVX_##how, __VA_ARGS__ }
#define FORBIDDEN(op)		COMMAND(op, FORBIDDEN)
#define GENERAL(op, ...)	COMMAND(op, GENERAL, __VA_ARGS__)
#define OBJECT(op, how, k, typ, fld, ...) \
	COMMAND(op, how, .kind = MLX5_IB_DEVX_##k, .num = FLD(typ, fld), __VA_ARGS__)
#define CREATE(op, k, typ, fld, ...)	OBJECT(op, CREATE, k, typ, fld, __VA_ARGS__)
#define MODIFY(op, k, typ, fld, ...)	OBJECT(op, MODIFY, k, typ, fld, __VA_ARGS__)
#define QUERY(op, k, typ, fld, ...)	OBJECT(op, QUERY, k, typ, fld, __VA_ARGS__)
#define DESTROY(op, k, typ, fld, ...)	OBJECT(op, DESTROY, k, typ, fld, __VA_ARGS__)
#define TYPE(typ, fld)		.type = FLD(typ, fld)
#define TABLE(typ, fld)		.table = FLD(typ, fld)
#define UMEM(...)		.umem = { __VA_ARGS__ }
#define WQ_UMEM(...) \
	UMEM(FLD(__VA_ARGS__.wq_umem_valid), FLD(__VA_ARGS__.dbr_umem_valid))
#define UAR(typ, fld)		.uar = FLD(typ, fld)
#define DENY(...)		.deny = { __VA_ARGS__ }
#define NEEDS(...)		.needs = { __VA_ARGS__ }
#define RAW(...)		{ FLD(__VA_ARGS__), MLX5_UCTX_CAP_RAW_TX }
#define INTERNAL(...)		{ FLD(__VA_ARGS__), MLX5_UCTX_CAP_INTERNAL_DEV_RES }
#define SIZE(typ)		.size = MLX5_ST_SZ_BYTES(typ)

/* Q_Keys with the highest bit set, as QP1's, are for privileged users. */
#define CONTROLLED_QKEY(typ) \
	{ { __mlx5_bit_off(typ, qpc.q_key), 1 }, MLX5_UCTX_CAP_RAW_TX }

/*
 * A command that changes the state of a queue pair and has a QP context (qpc). All such commands
 * have the same layout. No process may use the reserved key (rlky), which reaches all memory. Fast
 * registration (fre), by which a request carries DMA addresses, needs CAP_SYS_RAWIO. Controlled
 * Q_Keys need CAP_NET_RAW, as in ib_core, and so do packets that name another queue pair as their
 * source (deth_sqpn).
 */
#define MODIFY_QP(op) \
	MODIFY(op, QP, rst2init_qp_in, qpn, DENY(FLD(rst2init_qp_in, qpc.rlky)), \
	       NEEDS(CONTROLLED_QKEY(rst2init_qp_in), RAW(rst2init_qp_in, qpc.deth_sqpn), \
		     INTERNAL(rst2init_qp_in, qpc.fre)))

/* Flow tables and their parts need CAP_NET_RAW: rules can steer packets of other processes. */
#define FLOW(op, how, k, num_typ, fld, typ, ...) \
	OBJECT(op, how, k, num_typ, fld, TYPE(typ, table_type), \
	       .rights = MLX5_UCTX_CAP_RAW_TX, __VA_ARGS__)
/*
 * Fields that are copied from the command that has created a flow table, or a part of one, to the
 * command that destroys it. They say to which PCI function the table belongs: other_vport,
 * other_eswitch, vport_number and eswitch_owner_vhca_id.
 */
#define SAME_FUNCTION \
	.same = { { __mlx5_bit_off(delete_fte_in, other_vport), 32 }, \
		  FLD(delete_fte_in, eswitch_owner_vhca_id) }

/* In the order of opcodes, for the binary search of mlx5_ib_devx_find_cmd(). */
static const struct mlx5_ib_devx_cmd devx_cmds[] = {
	/* The PCI function and its firmware */
	GENERAL(QUERY_HCA_CAP, NEEDS(RAW(query_hca_cap_in, other_function))),
	GENERAL(QUERY_ADAPTER),
	FORBIDDEN(INIT_HCA),
	FORBIDDEN(TEARDOWN_HCA),
	FORBIDDEN(ENABLE_HCA),
	FORBIDDEN(DISABLE_HCA),
	FORBIDDEN(QUERY_PAGES),
	FORBIDDEN(MANAGE_PAGES),
	FORBIDDEN(SET_HCA_CAP),
	GENERAL(QUERY_ISSI),
	FORBIDDEN(SET_ISSI),
	FORBIDDEN(SET_DRIVER_VERSION),
	FORBIDDEN(QUERY_SF_PARTITION),
	FORBIDDEN(ALLOC_SF),
	FORBIDDEN(DEALLOC_SF),
	FORBIDDEN(SUSPEND_VHCA),
	FORBIDDEN(RESUME_VHCA),
	FORBIDDEN(QUERY_VHCA_MIGRATION_STATE),
	FORBIDDEN(SAVE_VHCA_STATE),
	FORBIDDEN(LOAD_VHCA_STATE),

	/* Memory. A data_direct key needs DMA addresses of another function, which no umem has. */
	CREATE(CREATE_MKEY, MKEY, create_mkey_out, mkey_index, SIZE(create_mkey_in),
	       UMEM(FLD(create_mkey_in, mkey_umem_valid)), DENY(FLD(create_mkey_in, data_direct))),
	QUERY(QUERY_MKEY, MKEY, query_mkey_in, mkey_index),
	DESTROY(DESTROY_MKEY, MKEY, destroy_mkey_in, mkey_index),
	GENERAL(QUERY_SPECIAL_CONTEXTS),
	FORBIDDEN(PAGE_FAULT_RESUME),
	FORBIDDEN(ALLOC_MEMIC),
	FORBIDDEN(DEALLOC_MEMIC),
	FORBIDDEN(MODIFY_MEMIC),

	/* Event queues: CREATE_EQ has DMA addresses, and cannot name a umem */
	FORBIDDEN(CREATE_EQ),
	FORBIDDEN(DESTROY_EQ),
	FORBIDDEN(QUERY_EQ),
	FORBIDDEN(GEN_EQE),

	/* Completion queues */
	CREATE(CREATE_CQ, CQ, create_cq_out, cqn, SIZE(create_cq_in),
	       UMEM(FLD(create_cq_in, cq_umem_valid),
		    FLD(create_cq_in, cq_context.dbr_umem_valid)),
	       UAR(create_cq_in, cq_context.uar_page)),
	DESTROY(DESTROY_CQ, CQ, destroy_cq_in, cqn),
	QUERY(QUERY_CQ, CQ, query_cq_in, cqn),
	MODIFY(MODIFY_CQ, CQ, modify_cq_in, cqn, UMEM(FLD(modify_cq_in, cq_umem_valid))),

	/* Queue pairs */
	CREATE(CREATE_QP, QP, create_qp_out, qpn, SIZE(create_qp_in),
	       UMEM(FLD(create_qp_in, wq_umem_valid), FLD(create_qp_in, qpc.dbr_umem_valid)),
	       UAR(create_qp_in, qpc.uar_page), DENY(FLD(create_qp_in, qpc.rlky)),
	       NEEDS(CONTROLLED_QKEY(create_qp_in), RAW(create_qp_in, qpc.deth_sqpn),
		     INTERNAL(create_qp_in, qpc.fre))),
	DESTROY(DESTROY_QP, QP, destroy_qp_in, qpn),
	MODIFY_QP(RST2INIT_QP),
	MODIFY_QP(INIT2RTR_QP),
	MODIFY_QP(RTR2RTS_QP),
	MODIFY_QP(RTS2RTS_QP),
	MODIFY_QP(SQERR2RTS_QP),
	MODIFY(2ERR_QP, QP, qp_2err_in, qpn),
	MODIFY(2RST_QP, QP, qp_2rst_in, qpn),
	QUERY(QUERY_QP, QP, query_qp_in, qpn),
	MODIFY_QP(SQD_RTS_QP),
	FORBIDDEN(MAD_IFC),
	MODIFY_QP(INIT2INIT_QP),

	/* Signatures: CREATE_PSV names a PD, but has no user id against which to check the PD */
	FORBIDDEN(CREATE_PSV),
	FORBIDDEN(DESTROY_PSV),

	/* SRQs of interface step 0 (ISSI): CREATE_SRQ has DMA addresses, and cannot name a umem */
	FORBIDDEN(CREATE_SRQ),
	FORBIDDEN(DESTROY_SRQ),
	FORBIDDEN(QUERY_SRQ),
	FORBIDDEN(ARM_RQ),

	/* XRC SRQs, DC targets, receive queues with offloads (XRQs) */
	CREATE(CREATE_XRC_SRQ, XRC_SRQ, create_xrc_srq_out, xrc_srqn,
	       UMEM(FLD(create_xrc_srq_in, xrc_srq_umem_valid),
		    FLD(create_xrc_srq_in, xrc_srq_context_entry.dbr_umem_valid)),
	       DENY(FLD(create_xrc_srq_in, xrc_srq_context_entry.rlky))),
	DESTROY(DESTROY_XRC_SRQ, XRC_SRQ, destroy_xrc_srq_in, xrc_srqn),
	QUERY(QUERY_XRC_SRQ, XRC_SRQ, query_xrc_srq_in, xrc_srqn),
	MODIFY(ARM_XRC_SRQ, XRC_SRQ, arm_xrc_srq_in, xrc_srqn),
	CREATE(CREATE_DCT, DCT, create_dct_out, dctn,
	       DENY(FLD(create_dct_in, dct_context_entry.rlky))),
	DESTROY(DESTROY_DCT, DCT, destroy_dct_in, dctn),
	MODIFY(DRAIN_DCT, DCT, drain_dct_in, dctn),
	QUERY(QUERY_DCT, DCT, query_dct_in, dctn),
	FORBIDDEN(ARM_DCT_FOR_KEY_VIOLATION),
	CREATE(CREATE_XRQ, XRQ, create_xrq_out, xrqn, SIZE(create_xrq_in),
	       WQ_UMEM(create_xrq_in, xrq_context.wq),
	       DENY(FLD(create_xrq_in, xrq_context.rlkey))),
	DESTROY(DESTROY_XRQ, XRQ, destroy_xrq_in, xrqn),
	QUERY(QUERY_XRQ, XRQ, query_xrq_in, xrqn),
	MODIFY(ARM_XRQ, XRQ, arm_xrq_in, xrqn),
	FORBIDDEN(QUERY_XRQ_DC_PARAMS_ENTRY),
	FORBIDDEN(SET_XRQ_DC_PARAMS_ENTRY),
	FORBIDDEN(QUERY_XRQ_ERROR_PARAMS),
	FORBIDDEN(RELEASE_XRQ_ERROR),
	FORBIDDEN(MODIFY_XRQ),

	/* Other PCI functions */
	{ .opcode = MLX5_CMD_OPCODE_QUERY_DELEGATED_VHCA },
	{ .opcode = MLX5_CMD_OPCODE_CREATE_ESW_VPORT },
	{ .opcode = MLX5_CMD_OPCODE_DESTROY_ESW_VPORT },
	GENERAL(QUERY_ESW_FUNCTIONS, .rights = MLX5_UCTX_CAP_RAW_TX),

	/* Ports of this function and, for the manager of the e-switch, of other PCI functions */
	GENERAL(QUERY_VPORT_STATE, NEEDS(RAW(query_vport_state_in, other_vport))),
	FORBIDDEN(MODIFY_VPORT_STATE),
	GENERAL(QUERY_ESW_VPORT_CONTEXT, .rights = MLX5_UCTX_CAP_RAW_TX),
	FORBIDDEN(MODIFY_ESW_VPORT_CONTEXT),
	GENERAL(QUERY_NIC_VPORT_CONTEXT, NEEDS(RAW(query_nic_vport_context_in, other_vport))),
	FORBIDDEN(MODIFY_NIC_VPORT_CONTEXT),
	GENERAL(QUERY_ROCE_ADDRESS),
	FORBIDDEN(SET_ROCE_ADDRESS),
	GENERAL(QUERY_HCA_VPORT_CONTEXT, NEEDS(RAW(query_hca_vport_context_in, other_vport))),
	FORBIDDEN(MODIFY_HCA_VPORT_CONTEXT),
	GENERAL(QUERY_HCA_VPORT_GID, NEEDS(RAW(query_hca_vport_gid_in, other_vport))),
	GENERAL(QUERY_HCA_VPORT_PKEY, NEEDS(RAW(query_hca_vport_pkey_in, other_vport))),
	GENERAL(QUERY_VNIC_ENV, NEEDS(RAW(query_vnic_env_in, other_vport))),
	GENERAL(QUERY_VPORT_COUNTER, DENY(FLD(query_vport_counter_in, clear)),
		NEEDS(RAW(query_vport_counter_in, other_vport))),

	/* Counters and rates. Only the owner of a set of Q counters may query the set. */
	CREATE(ALLOC_Q_COUNTER, Q_COUNTER, alloc_q_counter_out, counter_set_id),
	DESTROY(DEALLOC_Q_COUNTER, Q_COUNTER, dealloc_q_counter_in, counter_set_id),
	QUERY(QUERY_Q_COUNTER, Q_COUNTER, query_q_counter_in, counter_set_id,
	      DENY(FLD(query_q_counter_in, other_vport), FLD(query_q_counter_in, aggregate))),
	FORBIDDEN(SET_MONITOR_COUNTER),
	FORBIDDEN(ARM_MONITOR_COUNTER),
	FORBIDDEN(SET_PP_RATE_LIMIT),
	FORBIDDEN(QUERY_RATE_LIMIT),
	CREATE(CREATE_SCHEDULING_ELEMENT, SCHEDULING_ELEMENT, create_scheduling_element_out,
	       scheduling_element_id, TYPE(create_scheduling_element_in, scheduling_hierarchy),
	       .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	DESTROY(DESTROY_SCHEDULING_ELEMENT, SCHEDULING_ELEMENT, destroy_scheduling_element_in,
		scheduling_element_id, TYPE(destroy_scheduling_element_in, scheduling_hierarchy),
		SIZE(destroy_scheduling_element_in)),
	QUERY(QUERY_SCHEDULING_ELEMENT, SCHEDULING_ELEMENT, query_scheduling_element_in,
	      scheduling_element_id, TYPE(query_scheduling_element_in, scheduling_hierarchy)),
	MODIFY(MODIFY_SCHEDULING_ELEMENT, SCHEDULING_ELEMENT, modify_scheduling_element_in,
	       scheduling_element_id, TYPE(modify_scheduling_element_in, scheduling_hierarchy)),
	FORBIDDEN(CREATE_QOS_PARA_VPORT),
	FORBIDDEN(DESTROY_QOS_PARA_VPORT),

	/* Protection domains and UARs */
	CREATE(ALLOC_PD, PD, alloc_pd_out, pd),
	DESTROY(DEALLOC_PD, PD, dealloc_pd_in, pd),
	FORBIDDEN(ALLOC_UAR),
	FORBIDDEN(DEALLOC_UAR),

	/* The port, multicast, and other kinds of domains */
	FORBIDDEN(CONFIG_INT_MODERATION),
	FORBIDDEN(ACCESS_REG),
	CREATE(ATTACH_TO_MCG, MCG, attach_to_mcg_in, qpn, .num_in_request = true),
	DESTROY(DETACH_FROM_MCG, MCG, detach_from_mcg_in, qpn, SIZE(detach_from_mcg_in),
		.same = { FLD(detach_from_mcg_in, multicast_gid) }),
	FORBIDDEN(GET_DROPPED_PACKET_LOG),
	FORBIDDEN(QUERY_MAD_DEMUX),
	FORBIDDEN(SET_MAD_DEMUX),
	GENERAL(NOP),
	CREATE(ALLOC_XRCD, XRCD, alloc_xrcd_out, xrcd),
	DESTROY(DEALLOC_XRCD, XRCD, dealloc_xrcd_in, xrcd),
	CREATE(ALLOC_TRANSPORT_DOMAIN, TRANSPORT_DOMAIN, alloc_transport_domain_out,
	       transport_domain),
	DESTROY(DEALLOC_TRANSPORT_DOMAIN, TRANSPORT_DOMAIN, dealloc_transport_domain_in,
		transport_domain),

	/* Congestion */
	GENERAL(QUERY_CONG_STATUS),
	FORBIDDEN(MODIFY_CONG_STATUS),
	GENERAL(QUERY_CONG_PARAMS),
	FORBIDDEN(MODIFY_CONG_PARAMS),
	GENERAL(QUERY_CONG_STATISTICS, DENY(FLD(query_cong_statistics_in, clear))),

	/* Tables of the Ethernet port, which all users share */
	CREATE(ADD_VXLAN_UDP_DPORT, VXLAN_PORT, add_vxlan_udp_dport_in, vxlan_udp_port,
	       .num_in_request = true, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	DESTROY(DELETE_VXLAN_UDP_DPORT, VXLAN_PORT, delete_vxlan_udp_dport_in, vxlan_udp_port),
	CREATE(SET_L2_TABLE_ENTRY, L2_ENTRY, set_l2_table_entry_in, table_index,
	       .num_in_request = true, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	QUERY(QUERY_L2_TABLE_ENTRY, L2_ENTRY, query_l2_table_entry_in, table_index),
	DESTROY(DELETE_L2_TABLE_ENTRY, L2_ENTRY, delete_l2_table_entry_in, table_index,
		SIZE(delete_l2_table_entry_in)),

	/* Power and bonding, which only the administrator may change */
	FORBIDDEN(SET_WOL_ROL),
	FORBIDDEN(QUERY_WOL_ROL),
	FORBIDDEN(CREATE_LAG),
	FORBIDDEN(MODIFY_LAG),
	GENERAL(QUERY_LAG),
	FORBIDDEN(DESTROY_LAG),
	FORBIDDEN(CREATE_VPORT_LAG),
	FORBIDDEN(DESTROY_VPORT_LAG),

	/* Work queues, and the objects that packets are steered to */
	CREATE(CREATE_TIR, TIR, create_tir_out, tirn),
	MODIFY(MODIFY_TIR, TIR, modify_tir_in, tirn),
	DESTROY(DESTROY_TIR, TIR, destroy_tir_in, tirn),
	QUERY(QUERY_TIR, TIR, query_tir_in, tirn),
	CREATE(CREATE_SQ, SQ, create_sq_out, sqn, .rights = MLX5_UCTX_CAP_RAW_TX,
	       WQ_UMEM(create_sq_in, ctx.wq), UAR(create_sq_in, ctx.wq.uar_page),
	       DENY(FLD(create_sq_in, ctx.rlky), FLD(create_sq_in, ctx.reg_umr)),
	       NEEDS(INTERNAL(create_sq_in, ctx.fre))),
	MODIFY(MODIFY_SQ, SQ, modify_sq_in, sqn,
	       DENY(FLD(modify_sq_in, ctx.rlky), FLD(modify_sq_in, ctx.reg_umr)),
	       NEEDS(INTERNAL(modify_sq_in, ctx.fre))),
	DESTROY(DESTROY_SQ, SQ, destroy_sq_in, sqn),
	QUERY(QUERY_SQ, SQ, query_sq_in, sqn),
	CREATE(CREATE_RQ, RQ, create_rq_out, rqn, WQ_UMEM(create_rq_in, ctx.wq),
	       DENY(FLD(create_rq_in, ctx.rlky))),
	MODIFY(MODIFY_RQ, RQ, modify_rq_in, rqn, DENY(FLD(modify_rq_in, ctx.rlky))),
	DESTROY(DESTROY_RQ, RQ, destroy_rq_in, rqn),
	QUERY(QUERY_RQ, RQ, query_rq_in, rqn),
	CREATE(CREATE_RMP, RMP, create_rmp_out, rmpn, WQ_UMEM(create_rmp_in, ctx.wq)),
	MODIFY(MODIFY_RMP, RMP, modify_rmp_in, rmpn),
	DESTROY(DESTROY_RMP, RMP, destroy_rmp_in, rmpn),
	QUERY(QUERY_RMP, RMP, query_rmp_in, rmpn),
	FORBIDDEN(SET_DELAY_DROP_PARAMS),
	CREATE(CREATE_TIS, TIS, create_tis_out, tisn),
	MODIFY(MODIFY_TIS, TIS, modify_tis_in, tisn),
	DESTROY(DESTROY_TIS, TIS, destroy_tis_in, tisn),
	QUERY(QUERY_TIS, TIS, query_tis_in, tisn),
	CREATE(CREATE_RQT, RQT, create_rqt_out, rqtn,
	       DENY(FLD(create_rqt_in, rqt_context.rq_vhca_id_format))),
	MODIFY(MODIFY_RQT, RQT, modify_rqt_in, rqtn,
	       DENY(FLD(modify_rqt_in, ctx.rq_vhca_id_format))),
	DESTROY(DESTROY_RQT, RQT, destroy_rqt_in, rqtn),
	QUERY(QUERY_RQT, RQT, query_rqt_in, rqtn),

	/* Flow steering. The root table sees the packets of all users. */
	FORBIDDEN(SET_FLOW_TABLE_ROOT),
	FLOW(CREATE_FLOW_TABLE, CREATE, FLOW_TABLE, create_flow_table_out, table_id,
	     create_flow_table_in),
	FLOW(DESTROY_FLOW_TABLE, DESTROY, FLOW_TABLE, destroy_flow_table_in, table_id,
	     destroy_flow_table_in, SAME_FUNCTION, SIZE(destroy_flow_table_in)),
	FLOW(QUERY_FLOW_TABLE, QUERY, FLOW_TABLE, query_flow_table_in, table_id,
	     query_flow_table_in),
	FLOW(CREATE_FLOW_GROUP, CREATE, FLOW_GROUP, create_flow_group_out, group_id,
	     create_flow_group_in, TABLE(create_flow_group_in, table_id)),
	FLOW(DESTROY_FLOW_GROUP, DESTROY, FLOW_GROUP, destroy_flow_group_in, group_id,
	     destroy_flow_group_in, TABLE(destroy_flow_group_in, table_id),
	     SAME_FUNCTION, SIZE(destroy_flow_group_in)),
	FLOW(QUERY_FLOW_GROUP, QUERY, FLOW_GROUP, query_flow_group_in, group_id,
	     query_flow_group_in, TABLE(query_flow_group_in, table_id)),
	FLOW(SET_FLOW_TABLE_ENTRY, CREATE, FLOW_ENTRY, set_fte_in, flow_index, set_fte_in,
	     TABLE(set_fte_in, table_id), .num_in_request = true),
	FLOW(QUERY_FLOW_TABLE_ENTRY, QUERY, FLOW_ENTRY, query_fte_in, flow_index, query_fte_in,
	     TABLE(query_fte_in, table_id)),
	FLOW(DELETE_FLOW_TABLE_ENTRY, DESTROY, FLOW_ENTRY, delete_fte_in, flow_index,
	     delete_fte_in, TABLE(delete_fte_in, table_id), SAME_FUNCTION, SIZE(delete_fte_in)),
	/*
	 * A query of several counters names only the first counter. Firmware does not check who
	 * owns the other counters, so the query needs CAP_NET_RAW, as does clearing a counter.
	 */
	CREATE(ALLOC_FLOW_COUNTER, FLOW_COUNTER, alloc_flow_counter_out, flow_counter_id),
	DESTROY(DEALLOC_FLOW_COUNTER, FLOW_COUNTER, dealloc_flow_counter_in, flow_counter_id),
	QUERY(QUERY_FLOW_COUNTER, FLOW_COUNTER, query_flow_counter_in, flow_counter_id,
	      NEEDS(RAW(query_flow_counter_in, clear),
		    RAW(query_flow_counter_in, num_of_counters))),
	FLOW(MODIFY_FLOW_TABLE, MODIFY, FLOW_TABLE, modify_flow_table_in, table_id,
	     modify_flow_table_in),
	CREATE(ALLOC_PACKET_REFORMAT_CONTEXT, PACKET_REFORMAT, alloc_packet_reformat_context_out,
	       packet_reformat_id, .rights = MLX5_UCTX_CAP_RAW_TX),
	DESTROY(DEALLOC_PACKET_REFORMAT_CONTEXT, PACKET_REFORMAT,
		dealloc_packet_reformat_context_in, packet_reformat_id),
	QUERY(QUERY_PACKET_REFORMAT_CONTEXT, PACKET_REFORMAT, query_packet_reformat_context_in,
	      packet_reformat_id),
	CREATE(ALLOC_MODIFY_HEADER_CONTEXT, MODIFY_HEADER, alloc_modify_header_context_out,
	       modify_header_id, .rights = MLX5_UCTX_CAP_RAW_TX),
	DESTROY(DEALLOC_MODIFY_HEADER_CONTEXT, MODIFY_HEADER, dealloc_modify_header_context_in,
		modify_header_id),
	QUERY(QUERY_MODIFY_HEADER_CONTEXT, MODIFY_HEADER, query_modify_header_context_in,
	      modify_header_id),

	/* The FPGA on the card, which only the administrator may use */
	FORBIDDEN(FPGA_CREATE_QP),
	FORBIDDEN(FPGA_MODIFY_QP),
	FORBIDDEN(FPGA_QUERY_QP),
	FORBIDDEN(FPGA_DESTROY_QP),
	FORBIDDEN(FPGA_QUERY_QP_COUNTERS),

	/* Objects whose type is a field of the command; user ids and umems */
	CREATE(CREATE_GENERAL_OBJECT, GENERAL_OBJECT, general_obj_out_cmd_hdr, obj_id,
	       TYPE(general_obj_in_cmd_hdr, obj_type)),
	MODIFY(MODIFY_GENERAL_OBJECT, GENERAL_OBJECT, general_obj_in_cmd_hdr, obj_id,
	       TYPE(general_obj_in_cmd_hdr, obj_type)),
	QUERY(QUERY_GENERAL_OBJECT, GENERAL_OBJECT, general_obj_in_cmd_hdr, obj_id,
	      TYPE(general_obj_in_cmd_hdr, obj_type)),
	DESTROY(DESTROY_GENERAL_OBJECT, GENERAL_OBJECT, general_obj_in_cmd_hdr, obj_id,
		TYPE(general_obj_in_cmd_hdr, obj_type)),
	FORBIDDEN(CREATE_UCTX),
	FORBIDDEN(DESTROY_UCTX),
	FORBIDDEN(CREATE_UMEM),
	FORBIDDEN(DESTROY_UMEM),

	/* From MLX5_CMD_OP_GENERAL_START on; some of these commands change what other users see */
	GENERAL(SYNC_STEERING, .rights = MLX5_UCTX_CAP_RAW_TX),
	GENERAL(QUERY_VHCA_STATE),
	GENERAL(MODIFY_VHCA_STATE, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	/* Uses up one of the port's SPIs, which last until the master key is rotated. */
	GENERAL(PSP_GEN_SPI, .rights = MLX5_UCTX_CAP_RAW_TX),
	GENERAL(PSP_ROTATE_KEY, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	/* Waits for requests that use encryption keys, including requests of other users. */
	GENERAL(SYNC_CRYPTO, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	/* Names an object by its type and number, without a handle. */
	GENERAL(ALLOW_OTHER_VHCA_ACCESS, .rights = MLX5_UCTX_CAP_INTERNAL_DEV_RES),
	GENERAL(GENERATE_WQE, .rights = MLX5_UCTX_CAP_RAW_TX),
	{ .opcode = MLX5_CMD_OPCODE_QUERY_VUID, .use = MLX5_IB_DEVX_GENERAL },
};

/* The row for every opcode that is in the range for users, but not in the table. */
static const struct mlx5_ib_devx_cmd devx_later_cmd = { .use = MLX5_IB_DEVX_GENERAL };

const struct mlx5_ib_devx_kind_info mlx5_ib_devx_kinds[MLX5_IB_DEVX_NUM_KINDS] = {
	[MLX5_IB_DEVX_MKEY] = { "DEVX mkey", MLX5_OBJ_TYPE_MKEY },
	[MLX5_IB_DEVX_CQ] = { "DEVX CQ", MLX5_OBJ_TYPE_CQ },
	[MLX5_IB_DEVX_QP] = { "DEVX QP", MLX5_OBJ_TYPE_QP },
	[MLX5_IB_DEVX_XRC_SRQ] = { "DEVX XRC SRQ", MLX5_OBJ_TYPE_RMP },
	[MLX5_IB_DEVX_DCT] = { "DEVX DCT", MLX5_OBJ_TYPE_DCT },
	[MLX5_IB_DEVX_XRQ] = { "DEVX XRQ", MLX5_OBJ_TYPE_XRQ },
	[MLX5_IB_DEVX_Q_COUNTER] = { "DEVX Q counter set" },
	[MLX5_IB_DEVX_SCHEDULING_ELEMENT] = { "DEVX scheduling element" },
	[MLX5_IB_DEVX_PD] = { "DEVX PD" },
	[MLX5_IB_DEVX_MCG] = { "DEVX multicast attachment of QP" },
	[MLX5_IB_DEVX_XRCD] = { "DEVX XRC domain" },
	[MLX5_IB_DEVX_TRANSPORT_DOMAIN] = { "DEVX transport domain" },
	[MLX5_IB_DEVX_VXLAN_PORT] = { "DEVX VXLAN port" },
	[MLX5_IB_DEVX_L2_ENTRY] = { "DEVX L2 table entry" },
	[MLX5_IB_DEVX_TIR] = { "DEVX TIR", MLX5_OBJ_TYPE_TIR },
	[MLX5_IB_DEVX_SQ] = { "DEVX SQ", MLX5_OBJ_TYPE_SQ },
	[MLX5_IB_DEVX_RQ] = { "DEVX RQ", MLX5_OBJ_TYPE_RQ },
	[MLX5_IB_DEVX_RMP] = { "DEVX RMP", MLX5_OBJ_TYPE_RMP },
	[MLX5_IB_DEVX_TIS] = { "DEVX TIS", MLX5_OBJ_TYPE_TIS },
	[MLX5_IB_DEVX_RQT] = { "DEVX RQT", MLX5_OBJ_TYPE_RQT },
	[MLX5_IB_DEVX_FLOW_TABLE] = { "DEVX flow table" },
	[MLX5_IB_DEVX_FLOW_GROUP] = { "DEVX flow group" },
	[MLX5_IB_DEVX_FLOW_ENTRY] = { "DEVX flow table entry" },
	[MLX5_IB_DEVX_FLOW_COUNTER] = { "DEVX flow counter", MLX5_OBJ_TYPE_FLOW_COUNTER },
	[MLX5_IB_DEVX_PACKET_REFORMAT] = { "DEVX packet reformat context" },
	[MLX5_IB_DEVX_MODIFY_HEADER] = { "DEVX modify header context" },
	[MLX5_IB_DEVX_GENERAL_OBJECT] = { "DEVX general object" },
};

static int devx_compare_opcode(const void *key, const void *elt)
{
	const struct mlx5_ib_devx_cmd *cmd = elt;
	const u16 *opcode = key;

	return *opcode - cmd->opcode;
}

/**
 * mlx5_ib_devx_find_cmd - find a command in the table
 * @opcode: MLX5_CMD_OP_*
 *
 * Return: the command's row; if the table does not have the command, a row with opcode 0 for an
 * opcode in the range for users, and NULL for any other opcode.
 */
const struct mlx5_ib_devx_cmd *mlx5_ib_devx_find_cmd(u16 opcode)
{
	const struct mlx5_ib_devx_cmd *cmd;

	cmd = __inline_bsearch(&opcode, devx_cmds, ARRAY_SIZE(devx_cmds), sizeof(*devx_cmds),
			       devx_compare_opcode);
	if (!cmd && opcode >= MLX5_CMD_OP_GENERAL_START && opcode < MLX5_CMD_OP_GENERAL_END)
		cmd = &devx_later_cmd;
	return cmd;
}

/**
 * mlx5_ib_devx_destroy_cmd - the command that destroys what a command creates
 * @cmd: the row of a command that creates an object
 *
 * The command that destroys the object has a greater opcode, so its row follows @cmd.
 *
 * Return: the row of the command that destroys the object; NULL if there is no such command.
 */
const struct mlx5_ib_devx_cmd *mlx5_ib_devx_destroy_cmd(const struct mlx5_ib_devx_cmd *cmd)
{
	const struct mlx5_ib_devx_cmd *destroy;

	for (destroy = cmd + 1; destroy < devx_cmds + ARRAY_SIZE(devx_cmds); destroy++)
		if (destroy->kind == cmd->kind && destroy->use == MLX5_IB_DEVX_DESTROY)
			return destroy;
	return NULL;
}
