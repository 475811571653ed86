// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that programs are made of: each method of the driver's own interface
 * (mlx5_user_ioctl_cmds.h, bluebell-abi.h), the verbs that have data for the driver (mlx5-abi.h),
 * and the verbs that create and destroy the objects that other calls need. With its defaults a call
 * succeeds after the calls that it needs, if the driver supports what it asks for.
 */
#include <rdma/bluebell-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "program.h"

#define KIND_NAME(name) #name,
const char *const kind_names[NR_KINDS] = { KINDS(KIND_NAME) };

/* Values */
#define N(n)		{ V_NUMBER, 0, n }
#define M(off)		{ V_MEMORY, 0, off }
#define R(kind)		{ V_RESULT, K_##kind, 0 }

/* Fields: of a structure, and of an attribute that is one number */
#define F(st, member, ...) { #member, offsetof(struct st, member), sizeof(((struct st *)0)->member), __VA_ARGS__ }

/* Attributes */
#define LIST(type, ...) (const type[]){ __VA_ARGS__ }, sizeof((const type[]){ __VA_ARGS__ }) / sizeof(type)
#define IN_STRUCT(name, id, st, ...)						\
	{ name, id, A_IN, false, false, sizeof(struct st), N(0), LIST(struct field, __VA_ARGS__) }
#define OUT_STRUCT(name, id, st, ...)						\
	{ name, id, A_OUT, false, false, sizeof(struct st), N(0), LIST(struct field, __VA_ARGS__) }
#define OUT_BYTES(name, id, len) { name, id, A_OUT, false, false, len, N(0), NULL, 0 }
#define IN_SIZE(name, id, optional, size, ...)					\
	{ name, id, A_IN, optional, false, size, N(0), LIST(struct field, { "", 0, size, __VA_ARGS__ }) }
#define IN_NUMBER(name, id, size, ...) IN_SIZE(name, id, false, size, __VA_ARGS__)
#define OPT_NUMBER(name, id, size, ...) IN_SIZE(name, id, true, size, __VA_ARGS__)
#define OUT_NUMBER(name, id, size, ...)						\
	{ name, id, A_OUT, false, false, size, N(0), LIST(struct field, { "", 0, size, __VA_ARGS__ }) }
#define IN_BYTES(name, id, len) { name, id, A_IN, false, false, len, N(0), NULL, 0 }
#define HANDLE(name, id, kind) { name, id, A_HANDLE, false, false, 0, R(kind), NULL, 0 }
#define OPT_HANDLE(name, id, kind) { name, id, A_HANDLE, true, false, 0, R(kind), NULL, 0 }
#define DESTROY(id, kind) { "handle", id, A_DESTROY, false, false, 0, R(kind), NULL, 0 }
#define NEW(id, kind) { "new", id, A_NEW, false, false, 0, R(kind), NULL, 0 }
#define NEW_FD(id, kind) { "new", id, A_NEW_FD, false, false, 0, R(kind), NULL, 0 }
#define FD(name, id, kind) { name, id, A_FD, false, false, 0, R(kind), NULL, 0 }
#define OPT_FD(name, id, kind) { name, id, A_FD, true, false, 0, R(kind), NULL, 0 }
#define COMMAND_IN(id) { "in", id, A_IN, false, true, 0, N(0), NULL, 0 }
#define COMMAND_OUT(id) { "out", id, A_OUT, false, true, 0, N(0), NULL, 0 }

/* Commands of the write() interface of uverbs, passed to the ioctl */
#define CORE_IN(st, ...) IN_STRUCT("core", UVERBS_ATTR_CORE_IN, st, __VA_ARGS__)
#define CORE_OUT(st, ...) OUT_STRUCT("resp", UVERBS_ATTR_CORE_OUT, st, __VA_ARGS__)
#define CORE_OUT_BYTES(len) OUT_BYTES("resp", UVERBS_ATTR_CORE_OUT, len)
#define DRV_IN(st, ...) IN_STRUCT("drv", UVERBS_ATTR_UHW_IN, st, __VA_ARGS__)
#define DRV_IN_BYTES(len) { "drv", UVERBS_ATTR_UHW_IN, A_IN, true, false, len, N(0), NULL, 0 }
#define DRV_OUT(st, ...) OUT_STRUCT("drv_resp", UVERBS_ATTR_UHW_OUT, st, __VA_ARGS__)
#define DRV_OUT_BYTES(len) OUT_BYTES("drv_resp", UVERBS_ATTR_UHW_OUT, len)
#define WRITE_CMD(name, cmd, ...)						\
	{ name, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, LIST(struct attr,	\
	  { "cmd", UVERBS_ATTR_WRITE_CMD, A_IN, false, false, 8, N(0),			\
	    LIST(struct field, { "", 0, 8, N(cmd) }) }, __VA_ARGS__), NULL }
#define WRITE(name, cmd, ...) WRITE_CMD(name, IB_USER_VERBS_CMD_##cmd, __VA_ARGS__)
#define WRITE_EX(name, cmd, ...) \
	WRITE_CMD(name, IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##cmd, __VA_ARGS__)

#define METHOD(name, object, method, ...) { name, object, method, LIST(struct attr, __VA_ARGS__), NULL }
#define METHOD_OP(name, object, method, op, ...) { name, object, method, LIST(struct attr, __VA_ARGS__), op }
#define OTHER(name, what, ...)							\
	{ name, NO_OBJECT, OTHER_##what, LIST(struct attr,				\
	  { "", 0, A_IN, false, false, 64, N(0), LIST(struct field, __VA_ARGS__) }), NULL }

/* Which commands a method is meant for, by the beginnings of their names. */
static const char *const op_create[] = {
	"create_", "alloc_", "allocate_", "attach_", "set_fte", "set_l2", "add_", NULL
};
static const char *const op_modify[] = {
	"modify_", "rst2", "init2", "rtr2", "rts2", "sqerr", "sqd", "qp_2", "set_", "arm_", "page_fault", NULL
};
static const char *const op_query[] = { "query_", NULL };
static const char *const op_other[] = { "query_", "access_", "nop", "get_", "config_", NULL };

#define QP_ATTR(state, mask, ...)							\
	CORE_IN(ib_uverbs_ex_modify_qp, F(ib_uverbs_ex_modify_qp, base.qp_handle, R(qp)),	\
		F(ib_uverbs_ex_modify_qp, base.attr_mask, N(mask)),			\
		F(ib_uverbs_ex_modify_qp, base.qp_state, N(state)),			\
		F(ib_uverbs_ex_modify_qp, base.port_num, N(1)),				\
		F(ib_uverbs_ex_modify_qp, base.qp_access_flags, N(7)),			\
		F(ib_uverbs_ex_modify_qp, base.qkey, N(0x11111111)),			\
		F(ib_uverbs_ex_modify_qp, base.path_mtu, N(3)),				\
		F(ib_uverbs_ex_modify_qp, base.dest_qp_num, R(qpn)),			\
		F(ib_uverbs_ex_modify_qp, base.dest.dlid, N(1)),			\
		F(ib_uverbs_ex_modify_qp, base.dest.port_num, N(1)),			\
		F(ib_uverbs_ex_modify_qp, base.dest.is_global, N(0)),			\
		F(ib_uverbs_ex_modify_qp, base.dest.sl, N(0)),				\
		F(ib_uverbs_ex_modify_qp, base.dest.sgid_index, N(0)),			\
		F(ib_uverbs_ex_modify_qp, base.alt_dest.dlid, N(1)),			\
		F(ib_uverbs_ex_modify_qp, base.alt_dest.port_num, N(1)),		\
		F(ib_uverbs_ex_modify_qp, base.alt_port_num, N(1)),			\
		F(ib_uverbs_ex_modify_qp, base.path_mig_state, N(0)),			\
		F(ib_uverbs_ex_modify_qp, base.cur_qp_state, N(0)),			\
		F(ib_uverbs_ex_modify_qp, base.pkey_index, N(0)),			\
		F(ib_uverbs_ex_modify_qp, base.max_rd_atomic, N(1)),			\
		F(ib_uverbs_ex_modify_qp, base.max_dest_rd_atomic, N(1)),		\
		F(ib_uverbs_ex_modify_qp, base.min_rnr_timer, N(12)),			\
		F(ib_uverbs_ex_modify_qp, base.timeout, N(14)),				\
		F(ib_uverbs_ex_modify_qp, base.retry_cnt, N(7)),			\
		F(ib_uverbs_ex_modify_qp, base.rnr_retry, N(7)),			\
		F(ib_uverbs_ex_modify_qp, rate_limit, N(0))),				\
	CORE_OUT_BYTES(sizeof(struct ib_uverbs_ex_modify_qp_resp)),			\
	DRV_IN(mlx5_ib_modify_qp, F(mlx5_ib_modify_qp, comp_mask, N(0)),			\
	       F(mlx5_ib_modify_qp, burst_info.max_burst_sz, N(0)),			\
	       F(mlx5_ib_modify_qp, burst_info.typical_pkt_sz, N(0)),			\
	       F(mlx5_ib_modify_qp, burst_info.reserved, N(0)),				\
	       F(mlx5_ib_modify_qp, ece_options, N(0))),				\
	DRV_OUT_BYTES(sizeof(struct mlx5_ib_modify_qp_resp))

#define QP_IN(...)									\
	CORE_IN(ib_uverbs_ex_create_qp, F(ib_uverbs_ex_create_qp, user_handle, N(0)),	\
		F(ib_uverbs_ex_create_qp, pd_handle, R(pd)),				\
		F(ib_uverbs_ex_create_qp, send_cq_handle, R(cq)),			\
		F(ib_uverbs_ex_create_qp, recv_cq_handle, R(cq)),			\
		F(ib_uverbs_ex_create_qp, srq_handle, R(srq)),				\
		F(ib_uverbs_ex_create_qp, max_send_wr, N(16)),				\
		F(ib_uverbs_ex_create_qp, max_recv_wr, N(16)),				\
		F(ib_uverbs_ex_create_qp, max_send_sge, N(1)),				\
		F(ib_uverbs_ex_create_qp, max_recv_sge, N(1)),				\
		F(ib_uverbs_ex_create_qp, max_inline_data, N(0)),			\
		F(ib_uverbs_ex_create_qp, sq_sig_all, N(0)),				\
		F(ib_uverbs_ex_create_qp, qp_type, N(IB_UVERBS_QPT_RC)),		\
		F(ib_uverbs_ex_create_qp, is_srq, N(0)),				\
		F(ib_uverbs_ex_create_qp, comp_mask, N(0)),				\
		F(ib_uverbs_ex_create_qp, create_flags, N(0)),				\
		F(ib_uverbs_ex_create_qp, rwq_ind_tbl_handle, N(0)),			\
		F(ib_uverbs_ex_create_qp, source_qpn, N(0))),				\
	CORE_OUT(ib_uverbs_ex_create_qp_resp, F(ib_uverbs_ex_create_qp_resp, base.qp_handle, R(qp)), \
		 F(ib_uverbs_ex_create_qp_resp, base.qpn, R(qpn)))

#define QP_DRV										\
	DRV_IN(mlx5_ib_create_qp, F(mlx5_ib_create_qp, buf_addr, M(0x20000)),		\
	       F(mlx5_ib_create_qp, db_addr, M(0x1040)),				\
	       F(mlx5_ib_create_qp, sq_wqe_count, N(64)),				\
	       F(mlx5_ib_create_qp, rq_wqe_count, N(16)),				\
	       F(mlx5_ib_create_qp, rq_wqe_shift, N(4)),				\
	       F(mlx5_ib_create_qp, flags, N(0)),					\
	       F(mlx5_ib_create_qp, uidx, N(0xbbb)),					\
	       F(mlx5_ib_create_qp, bfreg_index, N(0)),					\
	       F(mlx5_ib_create_qp, sq_buf_addr, N(0)),					\
	       F(mlx5_ib_create_qp, ece_options, N(0)),					\
	       F(mlx5_ib_create_qp, dci_streams.log_num_concurent, N(0)),		\
	       F(mlx5_ib_create_qp, dci_streams.log_num_errored, N(0)),			\
	       F(mlx5_ib_create_qp, reserved, N(0))),					\
	DRV_OUT(mlx5_ib_create_qp_resp, F(mlx5_ib_create_qp_resp, bfreg_index, R(bfreg)))

#define CQ_DRV										\
	DRV_IN(mlx5_ib_create_cq, F(mlx5_ib_create_cq, buf_addr, M(0x10000)),		\
	       F(mlx5_ib_create_cq, db_addr, M(0x1000)),				\
	       F(mlx5_ib_create_cq, cqe_size, N(64)),					\
	       F(mlx5_ib_create_cq, cqe_comp_en, N(0)),					\
	       F(mlx5_ib_create_cq, cqe_comp_res_format, N(0)),				\
	       F(mlx5_ib_create_cq, flags, N(0)),					\
	       F(mlx5_ib_create_cq, uar_page_index, R(uar_page)),				\
	       F(mlx5_ib_create_cq, reserved0, N(0)),					\
	       F(mlx5_ib_create_cq, reserved1, N(0))),					\
	DRV_OUT(mlx5_ib_create_cq_resp, F(mlx5_ib_create_cq_resp, cqn, R(cqn)))

#define SRQ_DRV										\
	DRV_IN(mlx5_ib_create_srq, F(mlx5_ib_create_srq, buf_addr, M(0x30000)),		\
	       F(mlx5_ib_create_srq, db_addr, M(0x1080)),				\
	       F(mlx5_ib_create_srq, flags, N(0)),					\
	       F(mlx5_ib_create_srq, reserved0, N(0)),					\
	       F(mlx5_ib_create_srq, uidx, N(0xbbb)),				\
	       F(mlx5_ib_create_srq, reserved1, N(0))),					\
	DRV_OUT(mlx5_ib_create_srq_resp, F(mlx5_ib_create_srq_resp, srqn, R(srqn)))

#define BUFFER(name, id)								\
	{ name, id, A_IN, true, false, sizeof(struct ib_uverbs_buffer_desc), N(0), LIST(struct field,	\
	  F(ib_uverbs_buffer_desc, type, N(1)), F(ib_uverbs_buffer_desc, fd, R(dmabuf)),		\
	  F(ib_uverbs_buffer_desc, flags, N(0)), F(ib_uverbs_buffer_desc, optional_flags, N(0)),	\
	  F(ib_uverbs_buffer_desc, addr, M(0x20000)), F(ib_uverbs_buffer_desc, length, N(0x4000))) }

const struct description descriptions[] = {
	/* The context */
	{ "open", NO_OBJECT, OTHER_OPEN, LIST(struct attr,
	  DRV_IN(mlx5_ib_alloc_ucontext_req_v2, F(mlx5_ib_alloc_ucontext_req_v2, total_num_bfregs, N(16)),
		 F(mlx5_ib_alloc_ucontext_req_v2, num_low_latency_bfregs, N(4)),
		 F(mlx5_ib_alloc_ucontext_req_v2, flags, N(MLX5_IB_ALLOC_UCTX_DEVX)),
		 F(mlx5_ib_alloc_ucontext_req_v2, comp_mask, N(0)),
		 F(mlx5_ib_alloc_ucontext_req_v2, max_cqe_version, N(1)),
		 F(mlx5_ib_alloc_ucontext_req_v2, reserved0, N(0)),
		 F(mlx5_ib_alloc_ucontext_req_v2, reserved1, N(0)),
		 F(mlx5_ib_alloc_ucontext_req_v2, reserved2, N(0)),
		 F(mlx5_ib_alloc_ucontext_req_v2, lib_caps, N(1))),
	  DRV_OUT_BYTES(sizeof(struct mlx5_ib_alloc_ucontext_resp))), NULL },
	METHOD("async_fd", UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC,
	       NEW_FD(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, async_fd)),
	METHOD("query_context", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
	       OUT_NUMBER("vectors", UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4, N(0)),
	       OUT_NUMBER("support", UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8, N(0)),
	       OUT_BYTES("resp", MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, sizeof(struct mlx5_ib_alloc_ucontext_resp))),
	WRITE("query_device", QUERY_DEVICE,
	      CORE_IN(ib_uverbs_query_device, F(ib_uverbs_query_device, response, N(0))),
	      CORE_OUT_BYTES(sizeof(struct ib_uverbs_query_device_resp)), DRV_IN_BYTES(8), DRV_OUT_BYTES(16)),
	WRITE_EX("ex_query_device", QUERY_DEVICE,
		 CORE_IN(ib_uverbs_ex_query_device, F(ib_uverbs_ex_query_device, comp_mask, N(0)),
			 F(ib_uverbs_ex_query_device, reserved, N(0))),
		 CORE_OUT_BYTES(sizeof(struct ib_uverbs_ex_query_device_resp)), DRV_IN_BYTES(8),
		 DRV_OUT_BYTES(sizeof(struct mlx5_ib_query_device_resp))),
	WRITE("query_port", QUERY_PORT,
	      CORE_IN(ib_uverbs_query_port, F(ib_uverbs_query_port, port_num, N(1))),
	      CORE_OUT_BYTES(sizeof(struct ib_uverbs_query_port_resp)), DRV_IN_BYTES(8), DRV_OUT_BYTES(8)),
	METHOD("mlx5_query_port", UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT,
	       IN_NUMBER("port", MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, 4, N(1)),
	       OUT_BYTES("resp", MLX5_IB_ATTR_QUERY_PORT, sizeof(struct mlx5_ib_uapi_query_port))),
	METHOD("port_speed", UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT_SPEED,
	       IN_NUMBER("port", UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM, 8, N(1)),
	       OUT_BYTES("resp", UVERBS_ATTR_QUERY_PORT_SPEED_RESP, 8)),
	METHOD("data_direct_path", UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_GET_DATA_DIRECT_SYSFS_PATH,
	       OUT_BYTES("path", MLX5_IB_ATTR_GET_DATA_DIRECT_SYSFS_PATH, 256)),

	/* Protection domains, address handles, XRC domains */
	WRITE("alloc_pd", ALLOC_PD, CORE_IN(ib_uverbs_alloc_pd, F(ib_uverbs_alloc_pd, response, N(0))),
	      CORE_OUT(ib_uverbs_alloc_pd_resp, F(ib_uverbs_alloc_pd_resp, pd_handle, R(pd))), DRV_IN_BYTES(8),
	      DRV_OUT(mlx5_ib_alloc_pd_resp, F(mlx5_ib_alloc_pd_resp, pdn, R(pdn)))),
	METHOD("query_pd", UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, HANDLE("handle", MLX5_IB_ATTR_QUERY_PD_HANDLE, pd),
	       OUT_NUMBER("pdn", MLX5_IB_ATTR_QUERY_PD_RESP_PDN, 4, R(pdn))),
	METHOD("dealloc_pd", UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_PD_HANDLE, pd)),
	WRITE("create_ah", CREATE_AH,
	      CORE_IN(ib_uverbs_create_ah, F(ib_uverbs_create_ah, user_handle, N(0)),
		      F(ib_uverbs_create_ah, pd_handle, R(pd)), F(ib_uverbs_create_ah, attr.dlid, N(1)),
		      F(ib_uverbs_create_ah, attr.port_num, N(1)), F(ib_uverbs_create_ah, attr.is_global, N(0)),
		      F(ib_uverbs_create_ah, attr.sl, N(0)), F(ib_uverbs_create_ah, attr.static_rate, N(0)),
		      F(ib_uverbs_create_ah, attr.src_path_bits, N(0)), F(ib_uverbs_create_ah, attr.grh.sgid_index, N(0)),
		      F(ib_uverbs_create_ah, attr.grh.flow_label, N(0))),
	      CORE_OUT(ib_uverbs_create_ah_resp, F(ib_uverbs_create_ah_resp, ah_handle, R(ah))), DRV_IN_BYTES(8),
	      DRV_OUT_BYTES(sizeof(struct mlx5_ib_create_ah_resp))),
	METHOD("destroy_ah", UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_AH_HANDLE, ah)),
	WRITE("open_xrcd", OPEN_XRCD,
	      CORE_IN(ib_uverbs_open_xrcd, F(ib_uverbs_open_xrcd, fd, N(0xffffffff)),
		      F(ib_uverbs_open_xrcd, oflags, N(0100))),
	      CORE_OUT(ib_uverbs_open_xrcd_resp, F(ib_uverbs_open_xrcd_resp, xrcd_handle, R(xrcd)))),
	METHOD("close_xrcd", UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY,
	       DESTROY(UVERBS_ATTR_DESTROY_XRCD_HANDLE, xrcd)),

	/* Memory */
	WRITE("reg_mr", REG_MR,
	      CORE_IN(ib_uverbs_reg_mr, F(ib_uverbs_reg_mr, start, M(0x80000)), F(ib_uverbs_reg_mr, length, N(0x3000)),
		      F(ib_uverbs_reg_mr, hca_va, M(0x80000)), F(ib_uverbs_reg_mr, pd_handle, R(pd)),
		      F(ib_uverbs_reg_mr, access_flags, N(7))),
	      CORE_OUT(ib_uverbs_reg_mr_resp, F(ib_uverbs_reg_mr_resp, mr_handle, R(mr)),
		       F(ib_uverbs_reg_mr_resp, lkey, R(lkey)))),
	METHOD("reg_mr_ioctl", UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR, NEW(UVERBS_ATTR_REG_MR_HANDLE, mr),
	       HANDLE("pd", UVERBS_ATTR_REG_MR_PD_HANDLE, pd), IN_NUMBER("iova", UVERBS_ATTR_REG_MR_IOVA, 8, M(0x80000)),
	       OPT_NUMBER("addr", UVERBS_ATTR_REG_MR_ADDR, 8, M(0x80000)),
	       IN_NUMBER("length", UVERBS_ATTR_REG_MR_LENGTH, 8, N(0x3000)),
	       IN_NUMBER("access", UVERBS_ATTR_REG_MR_ACCESS_FLAGS, 4, N(7)),
	       OPT_FD("fd", UVERBS_ATTR_REG_MR_FD, dmabuf), OPT_NUMBER("offset", UVERBS_ATTR_REG_MR_FD_OFFSET, 8, N(0)),
	       OUT_NUMBER("lkey", UVERBS_ATTR_REG_MR_RESP_LKEY, 4, R(lkey)),
	       OUT_NUMBER("rkey", UVERBS_ATTR_REG_MR_RESP_RKEY, 4, N(0))),
	WRITE("rereg_mr", REREG_MR,
	      CORE_IN(ib_uverbs_rereg_mr, F(ib_uverbs_rereg_mr, mr_handle, R(mr)), F(ib_uverbs_rereg_mr, flags, N(4)),
		      F(ib_uverbs_rereg_mr, start, M(0x80000)), F(ib_uverbs_rereg_mr, length, N(0x2000)),
		      F(ib_uverbs_rereg_mr, hca_va, M(0x80000)), F(ib_uverbs_rereg_mr, pd_handle, R(pd)),
		      F(ib_uverbs_rereg_mr, access_flags, N(1))),
	      CORE_OUT(ib_uverbs_rereg_mr_resp, F(ib_uverbs_rereg_mr_resp, lkey, R(lkey)))),
	METHOD("query_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, HANDLE("handle", UVERBS_ATTR_QUERY_MR_HANDLE, mr),
	       OUT_NUMBER("lkey", UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4, N(0)),
	       OUT_NUMBER("rkey", UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4, N(0)),
	       OUT_NUMBER("length", UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8, N(0))),
	METHOD("advise_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, HANDLE("pd", UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd),
	       IN_NUMBER("advice", UVERBS_ATTR_ADVISE_MR_ADVICE, 8, N(0)),
	       IN_NUMBER("flags", UVERBS_ATTR_ADVISE_MR_FLAGS, 4, N(1)),
	       IN_STRUCT("sge", UVERBS_ATTR_ADVISE_MR_SGE_LIST, ib_uverbs_sge, F(ib_uverbs_sge, addr, M(0x80000)),
			 F(ib_uverbs_sge, length, N(0x2000)), F(ib_uverbs_sge, lkey, R(lkey)))),
	METHOD("reg_dm_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, NEW(UVERBS_ATTR_REG_DM_MR_HANDLE, mr),
	       IN_NUMBER("offset", UVERBS_ATTR_REG_DM_MR_OFFSET, 8, N(0)),
	       IN_NUMBER("length", UVERBS_ATTR_REG_DM_MR_LENGTH, 8, N(64)),
	       HANDLE("pd", UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd),
	       IN_NUMBER("access", UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 4, N(0x21)),
	       HANDLE("dm", UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm),
	       OUT_NUMBER("lkey", UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4, R(lkey)),
	       OUT_NUMBER("rkey", UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4, N(0))),
	METHOD("reg_dmabuf_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, NEW(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, mr),
	       HANDLE("pd", UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd),
	       IN_NUMBER("offset", UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, N(0)),
	       IN_NUMBER("length", UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, N(0x1000)),
	       IN_NUMBER("iova", UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, N(0)),
	       IN_NUMBER("fd", UVERBS_ATTR_REG_DMABUF_MR_FD, 4, R(dmabuf)),
	       IN_NUMBER("access", UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, N(7)),
	       OPT_NUMBER("drv_access", MLX5_IB_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, N(0)),
	       OUT_NUMBER("lkey", UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, R(lkey)),
	       OUT_NUMBER("rkey", UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, N(0))),
	METHOD("dereg_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_MR_HANDLE, mr)),
	WRITE("alloc_mw", ALLOC_MW,
	      CORE_IN(ib_uverbs_alloc_mw, F(ib_uverbs_alloc_mw, pd_handle, R(pd)), F(ib_uverbs_alloc_mw, mw_type, N(2))),
	      CORE_OUT(ib_uverbs_alloc_mw_resp, F(ib_uverbs_alloc_mw_resp, mw_handle, R(mw)),
		       F(ib_uverbs_alloc_mw_resp, rkey, R(lkey))),
	      DRV_IN(mlx5_ib_alloc_mw, F(mlx5_ib_alloc_mw, comp_mask, N(0)), F(mlx5_ib_alloc_mw, num_klms, N(0)),
		     F(mlx5_ib_alloc_mw, reserved1, N(0)), F(mlx5_ib_alloc_mw, reserved2, N(0))), DRV_OUT_BYTES(8)),
	METHOD("dealloc_mw", UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_MW_HANDLE, mw)),
	METHOD("alloc_dm", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, NEW(UVERBS_ATTR_ALLOC_DM_HANDLE, dm),
	       IN_NUMBER("length", UVERBS_ATTR_ALLOC_DM_LENGTH, 8, N(0x100)),
	       IN_NUMBER("align", UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 4, N(0)),
	       OPT_NUMBER("type", MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, 8, N(0)),
	       OUT_NUMBER("offset", MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, 8, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, 2, N(0))),
	METHOD("dm_map_op", UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR,
	       HANDLE("dm", MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm),
	       IN_NUMBER("operation", MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, 1, N(0)),
	       OUT_NUMBER("offset", MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, 8, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, 2, N(0))),
	METHOD("dm_query", UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, HANDLE("dm", MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, dm),
	       OUT_NUMBER("offset", MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, 8, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, 2, N(0)),
	       OUT_NUMBER("length", MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, 8, N(0))),
	METHOD("free_dm", UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, DESTROY(UVERBS_ATTR_FREE_DM_HANDLE, dm)),
	METHOD("export_dmabuf", UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC,
	       NEW_FD(UVERBS_ATTR_ALLOC_DMABUF_HANDLE, dmabuf),
	       IN_NUMBER("offset", UVERBS_ATTR_ALLOC_DMABUF_PGOFF, 8, R(mmap_off))),

	/* Completion queues */
	WRITE("comp_channel", CREATE_COMP_CHANNEL,
	      CORE_IN(ib_uverbs_create_comp_channel, F(ib_uverbs_create_comp_channel, response, N(0))),
	      CORE_OUT(ib_uverbs_create_comp_channel_resp, F(ib_uverbs_create_comp_channel_resp, fd, R(channel)))),
	WRITE_EX("create_cq", CREATE_CQ,
		 CORE_IN(ib_uverbs_ex_create_cq, F(ib_uverbs_ex_create_cq, user_handle, N(0)),
			 F(ib_uverbs_ex_create_cq, cqe, N(63)), F(ib_uverbs_ex_create_cq, comp_vector, N(0)),
			 F(ib_uverbs_ex_create_cq, comp_channel, N(0xffffffff)),
			 F(ib_uverbs_ex_create_cq, comp_mask, N(0)), F(ib_uverbs_ex_create_cq, flags, N(0)),
			 F(ib_uverbs_ex_create_cq, reserved, N(0))),
		 CORE_OUT(ib_uverbs_ex_create_cq_resp, F(ib_uverbs_ex_create_cq_resp, base.cq_handle, R(cq))), CQ_DRV),
	METHOD("create_cq_ioctl", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, NEW(UVERBS_ATTR_CREATE_CQ_HANDLE, cq),
	       IN_NUMBER("cqe", UVERBS_ATTR_CREATE_CQ_CQE, 4, N(63)),
	       IN_NUMBER("user_handle", UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, N(0)),
	       OPT_FD("channel", UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel),
	       IN_NUMBER("vector", UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, N(0)),
	       OPT_NUMBER("flags", UVERBS_ATTR_CREATE_CQ_FLAGS, 4, N(0)),
	       OUT_NUMBER("resp", UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, N(0)),
	       OPT_FD("event_fd", UVERBS_ATTR_CREATE_CQ_EVENT_FD, async_fd),
	       OPT_NUMBER("buffer_va", UVERBS_ATTR_CREATE_CQ_BUFFER_VA, 8, M(0x10000)),
	       OPT_NUMBER("buffer_len", UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH, 8, N(0x1000)),
	       OPT_NUMBER("buffer_fd", UVERBS_ATTR_CREATE_CQ_BUFFER_FD, 4, R(dmabuf)),
	       OPT_NUMBER("buffer_off", UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET, 8, N(0)),
	       BUFFER("buf", UVERBS_ATTR_CREATE_CQ_BUF_UMEM),
	       OPT_NUMBER("uar", MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX, 4, R(uar_page)),
	       BUFFER("dbr", MLX5_IB_ATTR_CREATE_CQ_DBR_BUF_UMEM), CQ_DRV),
	WRITE("resize_cq", RESIZE_CQ,
	      CORE_IN(ib_uverbs_resize_cq, F(ib_uverbs_resize_cq, cq_handle, R(cq)), F(ib_uverbs_resize_cq, cqe, N(127))),
	      CORE_OUT_BYTES(sizeof(struct ib_uverbs_resize_cq_resp)),
	      DRV_IN(mlx5_ib_resize_cq, F(mlx5_ib_resize_cq, buf_addr, M(0x14000)), F(mlx5_ib_resize_cq, cqe_size, N(64)),
		     F(mlx5_ib_resize_cq, reserved0, N(0)), F(mlx5_ib_resize_cq, reserved1, N(0)))),
	WRITE_CMD("modify_cq", IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_CQ,
		  CORE_IN(ib_uverbs_ex_modify_cq, F(ib_uverbs_ex_modify_cq, cq_handle, R(cq)),
			  F(ib_uverbs_ex_modify_cq, attr_mask, N(1)), F(ib_uverbs_ex_modify_cq, attr.cq_count, N(4)),
			  F(ib_uverbs_ex_modify_cq, attr.cq_period, N(4)), F(ib_uverbs_ex_modify_cq, reserved, N(0)))),
	METHOD("destroy_cq", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_CQ_HANDLE, cq),
	       OUT_BYTES("resp", UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(struct ib_uverbs_destroy_cq_resp))),

	/* Queue pairs */
	WRITE_EX("create_qp", CREATE_QP, QP_IN(), QP_DRV),
	METHOD("create_qp_ioctl", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, NEW(UVERBS_ATTR_CREATE_QP_HANDLE, qp),
	       HANDLE("pd", UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd),
	       OPT_HANDLE("xrcd", UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, xrcd),
	       OPT_HANDLE("srq", UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq),
	       HANDLE("send_cq", UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq),
	       HANDLE("recv_cq", UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq),
	       IN_NUMBER("user_handle", UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, N(0)),
	       IN_STRUCT("cap", UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, F(ib_uverbs_qp_cap, max_send_wr, N(16)),
			 F(ib_uverbs_qp_cap, max_recv_wr, N(16)), F(ib_uverbs_qp_cap, max_send_sge, N(1)),
			 F(ib_uverbs_qp_cap, max_recv_sge, N(1)), F(ib_uverbs_qp_cap, max_inline_data, N(0))),
	       IN_NUMBER("type", UVERBS_ATTR_CREATE_QP_TYPE, 8, N(IB_UVERBS_QPT_RC)),
	       OPT_NUMBER("flags", UVERBS_ATTR_CREATE_QP_FLAGS, 4, N(0)),
	       OPT_NUMBER("source_qpn", UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4, N(0)),
	       OPT_FD("event_fd", UVERBS_ATTR_CREATE_QP_EVENT_FD, async_fd),
	       OUT_BYTES("resp_cap", UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(struct ib_uverbs_qp_cap)),
	       OUT_NUMBER("qpn", UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, R(qpn)),
	       BUFFER("buf", UVERBS_ATTR_CREATE_QP_BUF_UMEM), BUFFER("rq_buf", UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM),
	       BUFFER("sq_buf", UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM), BUFFER("dbr", MLX5_IB_ATTR_CREATE_QP_DBR_BUF_UMEM),
	       QP_DRV),
	WRITE_EX("qp_init", MODIFY_QP, QP_ATTR(1, 0x39)),
	WRITE_EX("qp_rtr", MODIFY_QP, QP_ATTR(2, 0x129181)),
	WRITE_EX("qp_rts", MODIFY_QP, QP_ATTR(3, 0x12e01)),
	WRITE_EX("qp_modify", MODIFY_QP, QP_ATTR(6, 1)),
	WRITE("query_qp", QUERY_QP,
	      CORE_IN(ib_uverbs_query_qp, F(ib_uverbs_query_qp, qp_handle, R(qp)), F(ib_uverbs_query_qp, attr_mask, N(1))),
	      CORE_OUT_BYTES(sizeof(struct ib_uverbs_query_qp_resp))),
	WRITE("open_qp", OPEN_QP,
	      CORE_IN(ib_uverbs_open_qp, F(ib_uverbs_open_qp, pd_handle, R(xrcd)), F(ib_uverbs_open_qp, qpn, R(qpn)),
		      F(ib_uverbs_open_qp, qp_type, N(IB_UVERBS_QPT_XRC_TGT))),
	      CORE_OUT(ib_uverbs_create_qp_resp, F(ib_uverbs_create_qp_resp, qp_handle, R(qp)))),
	WRITE("attach_mcast", ATTACH_MCAST,
	      CORE_IN(ib_uverbs_attach_mcast, F(ib_uverbs_attach_mcast, qp_handle, R(qp)),
		      F(ib_uverbs_attach_mcast, mlid, N(0xc001)), F(ib_uverbs_attach_mcast, gid[0], N(0xff)))),
	WRITE("detach_mcast", DETACH_MCAST,
	      CORE_IN(ib_uverbs_detach_mcast, F(ib_uverbs_detach_mcast, qp_handle, R(qp)),
		      F(ib_uverbs_detach_mcast, mlid, N(0xc001)), F(ib_uverbs_detach_mcast, gid[0], N(0xff)))),
	METHOD("destroy_qp", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_QP_HANDLE, qp),
	       OUT_BYTES("resp", UVERBS_ATTR_DESTROY_QP_RESP, sizeof(struct ib_uverbs_destroy_qp_resp))),

	/* Shared receive queues */
	WRITE("create_srq", CREATE_SRQ,
	      CORE_IN(ib_uverbs_create_srq, F(ib_uverbs_create_srq, user_handle, N(0)),
		      F(ib_uverbs_create_srq, pd_handle, R(pd)), F(ib_uverbs_create_srq, max_wr, N(16)),
		      F(ib_uverbs_create_srq, max_sge, N(1)), F(ib_uverbs_create_srq, srq_limit, N(0))),
	      CORE_OUT(ib_uverbs_create_srq_resp, F(ib_uverbs_create_srq_resp, srq_handle, R(srq))), SRQ_DRV),
	WRITE("create_xsrq", CREATE_XSRQ,
	      CORE_IN(ib_uverbs_create_xsrq, F(ib_uverbs_create_xsrq, srq_type, N(1)),
		      F(ib_uverbs_create_xsrq, pd_handle, R(pd)), F(ib_uverbs_create_xsrq, max_wr, N(16)),
		      F(ib_uverbs_create_xsrq, max_sge, N(1)), F(ib_uverbs_create_xsrq, srq_limit, N(0)),
		      F(ib_uverbs_create_xsrq, max_num_tags, N(0)), F(ib_uverbs_create_xsrq, xrcd_handle, R(xrcd)),
		      F(ib_uverbs_create_xsrq, cq_handle, R(cq))),
	      CORE_OUT(ib_uverbs_create_srq_resp, F(ib_uverbs_create_srq_resp, srq_handle, R(srq))), SRQ_DRV),
	METHOD("create_srq_ioctl", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, NEW(UVERBS_ATTR_CREATE_SRQ_HANDLE, srq),
	       HANDLE("pd", UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd),
	       OPT_HANDLE("xrcd", UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, xrcd),
	       OPT_HANDLE("cq", UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, cq),
	       IN_NUMBER("user_handle", UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, N(0)),
	       IN_NUMBER("max_wr", UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, N(16)),
	       IN_NUMBER("max_sge", UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, N(1)),
	       IN_NUMBER("limit", UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, N(0)),
	       OPT_NUMBER("max_num_tags", UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, 4, N(0)),
	       IN_NUMBER("type", UVERBS_ATTR_CREATE_SRQ_TYPE, 8, N(0)),
	       OPT_FD("event_fd", UVERBS_ATTR_CREATE_SRQ_EVENT_FD, async_fd),
	       OUT_NUMBER("resp_max_wr", UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4, N(0)),
	       OUT_NUMBER("resp_max_sge", UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4, N(0)),
	       OUT_NUMBER("srqn", UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4, R(srqn)), SRQ_DRV),
	WRITE("modify_srq", MODIFY_SRQ,
	      CORE_IN(ib_uverbs_modify_srq, F(ib_uverbs_modify_srq, srq_handle, R(srq)),
		      F(ib_uverbs_modify_srq, attr_mask, N(2)), F(ib_uverbs_modify_srq, max_wr, N(0)),
		      F(ib_uverbs_modify_srq, srq_limit, N(4)))),
	WRITE("query_srq", QUERY_SRQ, CORE_IN(ib_uverbs_query_srq, F(ib_uverbs_query_srq, srq_handle, R(srq))),
	      CORE_OUT_BYTES(sizeof(struct ib_uverbs_query_srq_resp))),
	METHOD("destroy_srq", UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, DESTROY(UVERBS_ATTR_DESTROY_SRQ_HANDLE, srq),
	       OUT_BYTES("resp", UVERBS_ATTR_DESTROY_SRQ_RESP, 4)),

	/* UARs, VARs, rates of packet pacing */
	METHOD("uar_alloc", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, NEW(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar),
	       IN_NUMBER("type", MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, 8, N(1)),
	       OUT_NUMBER("offset", MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, 8, R(mmap_off)),
	       OUT_NUMBER("length", MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, 4, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, 4, R(uar_page))),
	METHOD("uar_destroy", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
	       DESTROY(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, uar)),
	METHOD("uar_report", MLX5_IB_OBJECT_UAR, BLUEBELL_METHOD_UAR_REPORT,
	       IN_STRUCT("req", BLUEBELL_ATTR_UAR_REPORT_REQ, bluebell_uar_report_req,
			 F(bluebell_uar_report_req, uars, M(0xf0000)), F(bluebell_uar_report_req, bfregs, M(0xf4000)),
			 F(bluebell_uar_report_req, queues, M(0xf8000)), F(bluebell_uar_report_req, max_uars, N(0x100)),
			 F(bluebell_uar_report_req, max_bfregs, N(0x100)), F(bluebell_uar_report_req, max_queues, N(0x100)),
			 F(bluebell_uar_report_req, reserved, N(0))),
	       OUT_BYTES("resp", BLUEBELL_ATTR_UAR_REPORT_RESP, sizeof(struct bluebell_uar_report_resp))),
	METHOD("var_alloc", MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, NEW(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, var),
	       OUT_NUMBER("offset", MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, 8, R(mmap_off)),
	       OUT_NUMBER("length", MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, 4, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, 4, N(0)),
	       OPT_NUMBER("flags", MLX5_IB_ATTR_VAR_OBJ_ALLOC_FLAGS, 4, N(0))),
	METHOD("var_destroy", MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY,
	       DESTROY(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, var)),
	METHOD("pp_alloc", MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, NEW(MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, pp),
	       IN_BYTES("ctx", MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, 12),
	       OPT_NUMBER("flags", MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, 4, N(0)),
	       OUT_NUMBER("index", MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, 2, N(0))),
	METHOD("pp_destroy", MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY,
	       DESTROY(MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE, pp)),

	/* DEVX */
	METHOD_OP("devx_other", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, op_other,
		  COMMAND_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN), COMMAND_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT)),
	METHOD("query_uar", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR,
	       IN_NUMBER("index", MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, 4, N(0)),
	       OUT_NUMBER("page", MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, 4, R(uar_page))),
	METHOD("query_eqn", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN,
	       IN_NUMBER("vector", MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, 4, N(0)),
	       OUT_NUMBER("eqn", MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, 4, R(eqn))),
	METHOD("umem_reg", MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG,
	       NEW(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, umem), IN_NUMBER("addr", MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, 8, M(0x40000)),
	       IN_NUMBER("len", MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, 8, N(0x10000)),
	       IN_NUMBER("access", MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, 4, N(1)),
	       OPT_NUMBER("bitmap", MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, 8, N(0x1000)),
	       OPT_FD("dmabuf", MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, dmabuf),
	       OUT_NUMBER("id", MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4, R(umem_id))),
	METHOD("umem_dereg", MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG,
	       DESTROY(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, umem)),
	METHOD_OP("devx_create", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, op_create,
		  NEW(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, devx), COMMAND_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
		  COMMAND_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT)),
	METHOD_OP("devx_modify", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, op_modify,
		  HANDLE("handle", MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, devx),
		  COMMAND_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN), COMMAND_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT)),
	METHOD_OP("devx_query", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, op_query,
		  HANDLE("handle", MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, devx),
		  COMMAND_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN), COMMAND_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT)),
	METHOD_OP("devx_query_async", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, op_query,
		  HANDLE("handle", MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, devx),
		  COMMAND_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN),
		  FD("fd", MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, cmd_fd),
		  IN_NUMBER("wr_id", MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, 8, N(1)),
		  IN_NUMBER("out_len", MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, 8, N(0x200))),
	METHOD("devx_destroy", MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
	       DESTROY(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, devx)),
	METHOD("cmd_fd", MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC,
	       NEW_FD(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, cmd_fd)),
	METHOD("event_fd", MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC,
	       NEW_FD(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, event_fd),
	       IN_NUMBER("flags", MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, 4, N(0))),
	METHOD("devx_subscribe", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT,
	       FD("fd", MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, event_fd),
	       OPT_HANDLE("obj", MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, devx),
	       IN_NUMBER("types", MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, 2, N(9)),
	       OPT_NUMBER("cookie", MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, 8, N(1)),
	       OPT_NUMBER("redirect", MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, 4, R(file))),

	/* Steering, which the driver does not have (yet) */
	METHOD("matcher_create", MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_CREATE,
	       NEW(MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE, matcher),
	       IN_BYTES("mask", MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, sizeof(struct mlx5_ib_match_params)),
	       IN_NUMBER("criteria", MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, 1, N(0))),
	METHOD("matcher_destroy", MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_DESTROY,
	       DESTROY(MLX5_IB_ATTR_FLOW_MATCHER_DESTROY_HANDLE, matcher)),
	METHOD("anchor_create", MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_CREATE,
	       NEW(MLX5_IB_ATTR_STEERING_ANCHOR_CREATE_HANDLE, anchor),
	       IN_NUMBER("type", MLX5_IB_ATTR_STEERING_ANCHOR_FT_TYPE, 8, N(0)),
	       IN_NUMBER("priority", MLX5_IB_ATTR_STEERING_ANCHOR_PRIORITY, 2, N(0)),
	       OUT_NUMBER("id", MLX5_IB_ATTR_STEERING_ANCHOR_FT_ID, 4, N(0))),
	METHOD("anchor_destroy", MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY,
	       DESTROY(MLX5_IB_ATTR_STEERING_ANCHOR_DESTROY_HANDLE, anchor)),
	METHOD("flow_create", UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_CREATE_FLOW, NEW(MLX5_IB_ATTR_CREATE_FLOW_HANDLE, flow),
	       IN_BYTES("match", MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, sizeof(struct mlx5_ib_match_params)),
	       OPT_HANDLE("qp", MLX5_IB_ATTR_CREATE_FLOW_DEST_QP, qp),
	       OPT_HANDLE("obj", MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX, devx),
	       HANDLE("matcher", MLX5_IB_ATTR_CREATE_FLOW_MATCHER, matcher)),
	METHOD("flow_destroy", UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_DESTROY_FLOW,
	       DESTROY(MLX5_IB_ATTR_DESTROY_FLOW_HANDLE, flow)),
	METHOD("modify_header", UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER,
	       NEW(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE, action),
	       IN_BYTES("actions", MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM, 16),
	       IN_NUMBER("type", MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE, 8, N(0))),
	METHOD("packet_reformat", UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT,
	       NEW(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE, action),
	       IN_NUMBER("type", MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE, 8, N(0)),
	       IN_NUMBER("table", MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE, 8, N(0)),
	       IN_BYTES("data", MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF, 16)),

	/* Mappings and files */
	OTHER("mmap", MMAP, { "offset", 0, 8, R(mmap_off) }, { "length", 8, 8, N(0x1000) }, { "prot", 16, 8, N(2) },
	      { "flags", 24, 8, N(1) }),
	OTHER("munmap", MUNMAP, { "map", 0, 8, R(map) }, { "length", 8, 8, N(0x1000) }),
	OTHER("store", STORE, { "map", 0, 8, R(map) }, { "offset", 8, 8, N(0x800) }, { "value", 16, 8, N(0) }),
	OTHER("read", READ, { "fd", 0, 8, R(event_fd) }, { "length", 8, 8, N(0x400) }),
	OTHER("close", CLOSE, { "fd", 0, 8, R(event_fd) }),
	/* The process gives pages back to the kernel; the driver unmaps them from ODP regions. */
	OTHER("discard", DISCARD, { "addr", 0, 8, M(0x80000) }, { "length", 8, 8, N(0x1000) }),
};
const unsigned int nr_descriptions = sizeof(descriptions) / sizeof(descriptions[0]);
