// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the RDMA core calls: the table of operations, and the definitions of the methods that the
 * driver adds to those of uverbs.
 */

#include <linux/mlx5/qp.h>
#include <linux/module.h>

#include "devx/devx.h"
#include "devx/devx_async.h"
#include "devx/devx_event.h"
#include "devx/devx_obj.h"
#include "devx/flow_raw.h"
#include "devx/pp.h"
#include "fw/bluebell.h"
#include "lib/cq_kernel.h"
#include "odp/odp.h"
#include "ops.h"
#include "port.h"
#include "verbs/cq.h"
#include "verbs/dm.h"
#include "verbs/flow.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/rwq.h"
#include "verbs/srq.h"
#include "verbs/uar.h"
#include "verbs/ucontext.h"
#include "verbs/verbs.h"

const struct ib_device_ops mlx5_ib_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
	.uverbs_robust_udata = 1,
	.device_group = &mlx5_ib_attr_group,

	.query_device = mlx5_ib_query_device,
	.modify_device = mlx5_ib_modify_device,
	.get_dev_fw_str = mlx5_ib_get_dev_fw_str,
	.query_port = mlx5_ib_query_port,
	.query_port_speed = mlx5_ib_query_port_speed,
	.modify_port = mlx5_ib_modify_port,
	.get_port_immutable = mlx5_ib_port_immutable,
	.get_link_layer = mlx5_ib_port_link_layer,
	.query_pkey = mlx5_ib_query_pkey,
	.process_mad = mlx5_ib_process_mad,

	.get_vf_config = mlx5_ib_get_vf_config,
	.get_vf_guid = mlx5_ib_get_vf_guid,
	.get_vf_stats = mlx5_ib_get_vf_stats,
	.set_vf_guid = mlx5_ib_set_vf_guid,
	.set_vf_link_state = mlx5_ib_set_vf_link_state,

	.alloc_ucontext = mlx5_ib_alloc_ucontext,
	.dealloc_ucontext = mlx5_ib_dealloc_ucontext,
	.disassociate_ucontext = mlx5_ib_disassociate_ucontext,
	.query_ucontext = mlx5_ib_query_ucontext,
	.ufile_hw_cleanup = mlx5_ib_ufile_hw_cleanup,
	.mmap = mlx5_ib_mmap,
	.mmap_free = mlx5_ib_mmap_free,

	.alloc_pd = mlx5_ib_alloc_pd,
	.dealloc_pd = mlx5_ib_dealloc_pd,
	.create_ah = mlx5_ib_create_ah,
	.create_user_ah = mlx5_ib_create_user_ah,
	.query_ah = mlx5_ib_query_ah,
	.destroy_ah = mlx5_ib_destroy_ah,

	.create_cq = mlx5_ib_create_cq,
	.create_user_cq = mlx5_ib_create_user_cq,
	.modify_cq = mlx5_ib_modify_cq,
	.resize_user_cq = mlx5_ib_resize_user_cq,
	.destroy_cq = mlx5_ib_destroy_cq,
	.pre_destroy_cq = mlx5_ib_pre_destroy_cq,
	.post_destroy_cq = mlx5_ib_post_destroy_cq,
	.poll_cq = mlx5_ib_poll_cq,
	.req_notify_cq = mlx5_ib_req_notify_cq,

	.create_qp = mlx5_ib_create_qp,
	.modify_qp = mlx5_ib_modify_qp,
	.query_qp = mlx5_ib_query_qp,
	.destroy_qp = mlx5_ib_destroy_qp,
	.post_send = mlx5_ib_post_send,
	.post_recv = mlx5_ib_post_recv,
	.attach_mcast = mlx5_ib_attach_mcast,
	.detach_mcast = mlx5_ib_detach_mcast,

	.alloc_xrcd = mlx5_ib_alloc_xrcd,
	.dealloc_xrcd = mlx5_ib_dealloc_xrcd,

	.create_wq = mlx5_ib_create_wq,
	.modify_wq = mlx5_ib_modify_wq,
	.destroy_wq = mlx5_ib_destroy_wq,
	.create_rwq_ind_table = mlx5_ib_create_rqt,
	.destroy_rwq_ind_table = mlx5_ib_destroy_rqt,

	.create_srq = mlx5_ib_create_srq,
	.modify_srq = mlx5_ib_modify_srq,
	.query_srq = mlx5_ib_query_srq,
	.destroy_srq = mlx5_ib_destroy_srq,
	.post_srq_recv = mlx5_ib_post_srq_recv,

	.reg_user_mr = mlx5_ib_reg_user_mr,
	.reg_user_mr_dmabuf = mlx5_ib_reg_user_mr_dmabuf,
	.rereg_user_mr = mlx5_ib_rereg_user_mr,
	.dereg_mr = mlx5_ib_dereg_mr,
	.advise_mr = mlx5_ib_advise_mr,

	.get_dma_mr = mlx5_ib_get_dma_mr,
	.alloc_mr = mlx5_ib_alloc_mr,
	.map_mr_sg = mlx5_ib_map_mr_sg,

	.alloc_mw = mlx5_ib_alloc_mw,
	.dealloc_mw = mlx5_ib_dealloc_mw,

	.alloc_dm = mlx5_ib_alloc_dm,
	.dealloc_dm = mlx5_ib_dealloc_dm,
	.reg_dm_mr = mlx5_ib_reg_dm_mr,

	.fill_res_cq_entry = mlx5_ib_fill_res_cq_entry,
	.fill_res_cq_entry_raw = mlx5_ib_fill_res_cq_entry_raw,
	.fill_res_mr_entry = mlx5_ib_fill_res_mr_entry,
	.fill_res_mr_entry_raw = mlx5_ib_fill_res_mr_entry_raw,
	.fill_res_qp_entry = mlx5_ib_fill_res_qp_entry,
	.fill_res_qp_entry_raw = mlx5_ib_fill_res_qp_entry_raw,
	.fill_res_srq_entry = mlx5_ib_fill_res_srq_entry,
	.fill_res_srq_entry_raw = mlx5_ib_fill_res_srq_entry_raw,
	.fill_stat_mr_entry = mlx5_ib_fill_stat_mr_entry,

	INIT_RDMA_OBJ_SIZE(ib_ah, mlx5_ib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, mlx5_ib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, mlx5_ib_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, mlx5_ib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, mlx5_ib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, mlx5_ib_rqt, ibrqt),
	INIT_RDMA_OBJ_SIZE(ib_srq, mlx5_ib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mlx5_ib_ucontext, ibucontext),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, mlx5_ib_xrcd, ibxrcd),
};

/* Operations of a device with flow tables for processes. */
const struct ib_device_ops mlx5_ib_flow_dev_ops = {
	.create_flow = mlx5_ib_create_flow,
	.destroy_flow = mlx5_ib_destroy_flow,
	.destroy_flow_action = mlx5_ib_destroy_flow_action,

	.create_counters = mlx5_ib_create_counters,
	.destroy_counters = mlx5_ib_destroy_counters,
	.read_counters = mlx5_ib_read_counters,

	INIT_RDMA_OBJ_SIZE(ib_counters, mlx5_ib_counters_obj, ibcounters),
};

const struct uapi_definition mlx5_ib_defs[] = {
	UAPI_DEF_CHAIN(mlx5_ib_cq_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_obj_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_async_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_event_defs),
	UAPI_DEF_CHAIN(mlx5_ib_devx_umem_defs),
	UAPI_DEF_CHAIN(mlx5_ib_flow_action_defs),
	UAPI_DEF_CHAIN(mlx5_ib_flow_anchor_defs),
	UAPI_DEF_CHAIN(mlx5_ib_flow_matcher_defs),
	UAPI_DEF_CHAIN(mlx5_ib_flow_raw_defs),
	UAPI_DEF_CHAIN(mlx5_ib_port_defs),
	UAPI_DEF_CHAIN(mlx5_ib_pp_defs),
	UAPI_DEF_CHAIN(mlx5_ib_uar_defs),
	UAPI_DEF_CHAIN(mlx5_ib_uar_report_defs),
	UAPI_DEF_CHAIN(mlx5_ib_ucontext_defs),
	UAPI_DEF_CHAIN(mlx5_ib_dm_defs),
	{},
};
