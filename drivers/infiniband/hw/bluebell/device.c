// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The attributes of the device, for verbs and in sysfs.
 */

#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/uverbs_ioctl.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/layout_dm.h"
#include "layout/layout_qp.h"
#include "layout/layout_raw.h"
#include "layout/layout_rq.h"
#include "layout/layout_srq.h"
#include "layout/layout_tir.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"
#include "lib/flow_table.h"
#include "odp/odp.h"
#include "ops.h"
#include "port.h"
#include "verbs/mr.h"

/*
 * max_send_sge is what fits into a send WQE of at most this many bytes: the device reads a longer
 * WQE in more than one step.
 */
#define MAX_SQ_DESC		512
/*
 * Number of basic blocks of 64 bytes that libmlx5 reserves for each request in the send queue of an
 * RC QP, so that a request of any kind fits.
 */
#define SQ_ENTRIES_PER_WR	4

static u64 device_cap_flags(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	u64 flags = IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |
		    IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |
		    IB_DEVICE_MEM_MGT_EXTENSIONS;

	if (MLX5_CAP_GEN(mdev, imaicl))
		flags |= IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	if (MLX5_CAP_GEN(mdev, pkv))
		flags |= IB_DEVICE_BAD_PKEY_CNTR;
	if (MLX5_CAP_GEN(mdev, qkv))
		flags |= IB_DEVICE_BAD_QKEY_CNTR;
	if (MLX5_CAP_GEN(mdev, apm))
		flags |= IB_DEVICE_AUTO_PATH_MIG;
	if (MLX5_CAP_GEN(mdev, end_pad))
		flags |= IB_DEVICE_PCI_WRITE_END_PADDING;
	if (dev->caps.has_xrc)
		flags |= IB_DEVICE_XRC;
	if (mlx5_ib_has_raw_packets(&dev->caps)) {
		flags |= IB_DEVICE_RAW_MULTI;
		if (MLX5_CAP_ETH(mdev, csum_cap))
			flags |= IB_DEVICE_RAW_IP_CSUM;
		if (MLX5_CAP_ETH(mdev, scatter_fcs))
			flags |= IB_DEVICE_RAW_SCATTER_FCS;
	}
	if (mlx5_ib_has_flows(dev))
		flags |= IB_DEVICE_MANAGED_FLOW_STEERING;
	return flags;
}

/* Limits and features of queues for raw packets. */
static void device_fill_raw_limits(const struct mlx5_ib_caps *caps, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	if (!mlx5_ib_has_raw_packets(caps))
		return;
	if (MLX5_CAP_ETH(mdev, csum_cap))
		props->raw_packet_caps |= IB_RAW_PACKET_CAP_IP_CSUM;
	if (MLX5_CAP_ETH(mdev, vlan_cap))
		props->raw_packet_caps |= IB_RAW_PACKET_CAP_CVLAN_STRIPPING;
	if (MLX5_CAP_ETH(mdev, scatter_fcs))
		props->raw_packet_caps |= IB_RAW_PACKET_CAP_SCATTER_FCS;
	props->max_wq_type_rq = 1 << MLX5_CAP_GEN(mdev, log_max_rq);
	props->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
	props->rss_caps.max_rwq_indirection_tables = 1 << MLX5_CAP_GEN(mdev, log_max_rqt);
	props->rss_caps.max_rwq_indirection_table_size = 1 << MLX5_CAP_GEN(mdev, log_max_rqt_size);
}

static void device_fill_atomics(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	const u16 masked = MLX5_IB_MASKED_ATOMIC_OPS;

	if (!dev->caps.atomic_mode)
		return;
	props->atomic_cap = IB_ATOMIC_HCA;
	if ((dev->caps.atomic_ops & masked) == masked)
		props->masked_atomic_cap = IB_ATOMIC_HCA;
}

static void device_fill_queue_limits(const struct mlx5_ib_caps *caps, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = caps->mdev;
	int sq_desc = min_t(int, MLX5_CAP_GEN(mdev, max_wqe_sz_sq), MAX_SQ_DESC);
	int sq_sge = (sq_desc - sizeof(struct mlx5_wqe_ctrl_seg) -
		      sizeof(struct mlx5_wqe_raddr_seg)) / sizeof(struct mlx5_wqe_data_seg);

	props->max_qp = 1 << MLX5_CAP_GEN(mdev, log_max_qp);
	props->max_qp_wr = (1 << MLX5_CAP_GEN(mdev, log_max_qp_sz)) / SQ_ENTRIES_PER_WR;
	props->max_send_sge = sq_sge;
	props->max_recv_sge = mlx5_ib_max_rq_wqe_bytes(caps) / sizeof(struct mlx5_wqe_data_seg);
	props->max_sge_rd = MLX5_MAX_SGE_RD;
	props->max_qp_rd_atom = mlx5_ib_max_dest_rd_atomic(caps);
	props->max_qp_init_rd_atom = mlx5_ib_max_rd_atomic(caps);
	props->max_res_rd_atom = min_t(u64, INT_MAX, (u64)props->max_qp_rd_atom * props->max_qp);
	props->max_cq = 1 << MLX5_CAP_GEN(mdev, log_max_cq);
	props->max_cqe = (1 << MLX5_CAP_GEN(mdev, log_max_cq_sz)) - 1;
	if (MLX5_CAP_GEN(mdev, cq_moderation)) {
		props->cq_caps.max_cq_moderation_count = MLX5_MAX_CQ_COUNT;
		props->cq_caps.max_cq_moderation_period = MLX5_MAX_CQ_PERIOD;
	}
}

static void device_fill_srq_limits(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	if (!dev->caps.has_srq)
		return;
	props->max_srq = 1 << MLX5_CAP_GEN(dev->mdev, log_max_srq);
	props->max_srq_wr = mlx5_ib_max_srq_wr(&dev->caps);
	props->max_srq_sge = mlx5_ib_max_srq_sge(&dev->caps);
	mlx5_ib_fill_tm_caps(&props->tm_caps, &dev->caps);
}

static void device_fill_mcast_limits(struct mlx5_core_dev *mdev, struct ib_device_attr *props)
{
	props->max_mcast_grp = 1 << MLX5_CAP_GEN(mdev, log_max_mcg);
	props->max_mcast_qp_attach = MLX5_CAP_GEN(mdev, max_qp_mcg);
	props->max_total_mcast_qp_attach = min_t(u64, INT_MAX, (u64)props->max_mcast_grp *
							       props->max_mcast_qp_attach);
}

static void device_fill_identity(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	props->sys_image_guid = dev->sys_image_guid;
	props->fw_ver = (u64)fw_rev_maj(mdev) << 32 | (u32)fw_rev_min(mdev) << 16 |
			fw_rev_sub(mdev);
	props->vendor_id = dev->vendor_id;
	props->vendor_part_id = mdev->pdev->device;
	props->hw_ver = mdev->pdev->revision;
}

static void device_respond_pacing(struct mlx5_core_dev *mdev,
				  struct mlx5_packet_pacing_caps *pacing)
{
	if (!mlx5_rl_is_supported(mdev))
		return;
	pacing->qp_rate_limit_min = MLX5_CAP_QOS(mdev, packet_pacing_min_rate);
	pacing->qp_rate_limit_max = MLX5_CAP_QOS(mdev, packet_pacing_max_rate);
	pacing->supported_qpts = BIT(IB_QPT_RAW_PACKET);
	if (MLX5_CAP_QOS(mdev, packet_pacing_burst_bound) &&
	    MLX5_CAP_QOS(mdev, packet_pacing_typical_size))
		pacing->cap_flags = MLX5_IB_PP_SUPPORT_BURST;
}

static void device_respond_striding(const struct mlx5_ib_caps *caps,
				    struct mlx5_ib_striding_rq_caps *striding)
{
	if (!MLX5_CAP_GEN(caps->mdev, striding_rq))
		return;
	*striding = (struct mlx5_ib_striding_rq_caps){
		.min_single_stride_log_num_of_bytes = MLX5_IB_MIN_STRIDE_SHIFT,
		.max_single_stride_log_num_of_bytes = MLX5_IB_MAX_STRIDE_SHIFT,
		.min_single_wqe_log_num_of_strides = mlx5_ib_min_log_strides(caps),
		.max_single_wqe_log_num_of_strides = MLX5_IB_MAX_LOG_STRIDES,
		.supported_qpts = BIT(IB_QPT_RAW_PACKET),
	};
}

static void device_respond_parsing(struct mlx5_core_dev *mdev,
				   struct mlx5_ib_sw_parsing_caps *parsing)
{
	if (!MLX5_CAP_ETH(mdev, swp))
		return;
	parsing->sw_parsing_offloads = MLX5_IB_SW_PARSING |
		(MLX5_CAP_ETH(mdev, swp_csum) ? MLX5_IB_SW_PARSING_CSUM : 0) |
		(MLX5_CAP_ETH(mdev, swp_lso) ? MLX5_IB_SW_PARSING_LSO : 0);
	parsing->supported_qpts = BIT(IB_QPT_RAW_PACKET);
}

/* What the device does with raw packets. */
static void device_respond_raw(const struct mlx5_ib_caps *caps,
			       struct mlx5_ib_query_device_resp *resp)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	if (!mlx5_ib_has_raw_packets(caps))
		return;
	if (MLX5_CAP_ETH(mdev, max_lso_cap)) {
		resp->tso_caps.max_tso = 1U << MLX5_CAP_ETH(mdev, max_lso_cap);
		resp->tso_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
	}
	resp->tunnel_offloads_caps = mlx5_ib_tunnel_caps(caps);
	resp->rss_caps.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ;
	resp->rss_caps.rx_hash_fields_mask = MLX5_IB_RSS_FIELDS |
		(resp->tunnel_offloads_caps ? MLX5_RX_HASH_INNER : 0);
	if (MLX5_CAP_ETH(mdev, multi_pkt_send_wqe))
		resp->mlx5_ib_support_multi_pkt_send_wqes |= MLX5_IB_ALLOW_MPW;
	if (MLX5_CAP_ETH(mdev, enhanced_multi_pkt_send_wqe))
		resp->mlx5_ib_support_multi_pkt_send_wqes |= MLX5_IB_SUPPORT_EMPW;
	device_respond_pacing(mdev, &resp->packet_pacing_caps);
	device_respond_striding(caps, &resp->striding_rq_caps);
	device_respond_parsing(mdev, &resp->sw_parsing_caps);
}

static void device_respond_dc(struct mlx5_core_dev *mdev, struct mlx5_ib_query_device_resp *resp)
{
	if (MLX5_CAP_GEN(mdev, sctr_data_cqe))
		resp->flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_SCAT2CQE_DCT;
	resp->dci_streams_caps.max_log_num_concurent =
		MLX5_CAP_GEN(mdev, log_max_dci_stream_channels);
	resp->dci_streams_caps.max_log_num_errored =
		MLX5_CAP_GEN(mdev, log_max_dci_errored_streams);
}

static int device_respond(const struct mlx5_ib_caps *caps, struct ib_udata *uhw)
{
	struct mlx5_ib_query_device_resp resp = {
		.response_length = min(uhw->outlen, sizeof(resp)),
	};
	struct mlx5_core_dev *mdev = caps->mdev;

	if (MLX5_CAP_GEN(mdev, cqe_compression)) {
		resp.cqe_comp_caps.max_num = MLX5_CAP_GEN(mdev, cqe_compression_max_num);
		resp.cqe_comp_caps.supported_format = MLX5_IB_CQE_RES_FORMAT_HASH |
						      MLX5_IB_CQE_RES_FORMAT_CSUM;
		if (MLX5_CAP_GEN(mdev, mini_cqe_resp_stride_index))
			resp.cqe_comp_caps.supported_format |= MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX;
	}
	if (MLX5_CAP_GEN(mdev, cqe_compression_128))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP;
	if (MLX5_CAP_GEN(mdev, cqe_128_always))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
	if (MLX5_CAP_GEN(mdev, qp_packet_based))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_PACKET_BASED_CREDIT_MODE;
	/*
	 * The flag says that some QP type can place data out of order (OOO_DP). libmlx5 finds out
	 * by a query of its own which types can.
	 */
	if (mlx5_ib_qp_out_of_order(IB_QPT_RC, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_UC, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_UD, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_XRC_INI, caps) ||
	    mlx5_ib_qp_out_of_order(IB_QPT_DRIVER, caps))
		resp.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP;
	device_respond_raw(caps, &resp);
	if (MLX5_CAP_GEN(mdev, dct))
		device_respond_dc(mdev, &resp);
	return ib_respond_udata(uhw, resp);
}

static void device_fill_memory_limits(struct mlx5_ib_dev *dev, struct ib_device_attr *props)
{
	struct mlx5_core_dev *mdev = dev->mdev;

	props->max_mr_size = ~0ULL;
	props->page_size_cap = ~(BIT_ULL(MLX5_CAP_GEN(mdev, log_pg_sz)) - 1);
	props->max_mr = 1 << MLX5_CAP_GEN(mdev, log_max_mkey);
	if (MLX5_CAP_GEN(mdev, imaicl))
		props->max_mw = props->max_mr;
	props->max_fast_reg_page_list_len = mlx5_ib_max_fast_reg(&dev->caps, false);
	if (mlx5_ib_has_dm(&dev->caps, PAGE_SHIFT))
		props->max_dm_size = mlx5_ib_max_dm(&dev->caps);
}

static u64 device_kernel_cap_flags(struct mlx5_ib_dev *dev)
{
	u64 flags = 0;

	if (mlx5_ib_max_fast_reg(&dev->caps, true))
		flags |= IBK_SG_GAPS_REG;
	if (mlx5_core_is_vf(dev->mdev))
		flags |= IBK_VIRTUAL_FUNCTION;
	if (MLX5_CAP_GEN(dev->mdev, block_lb_mc))
		flags |= IBK_BLOCK_MULTICAST_LOOPBACK;
	return flags;
}

static int device_check_query(struct mlx5_core_dev *mdev, struct ib_udata *uhw)
{
	if (uhw && uhw->outlen &&
	    uhw->outlen < offsetofend(struct mlx5_ib_query_device_resp, response_length))
		return refuse(mdev, -EINVAL,
			      "device query: response of %zu bytes has no room for response_length",
			      uhw->outlen);
	return ib_is_udata_in_empty(uhw);
}

/**
 * mlx5_ib_query_device - report the attributes of the device
 * @ibdev: device
 * @props: gets the attributes; attributes that the driver does not report are 0
 * @uhw: empty request; answered with struct mlx5_ib_query_device_resp, truncated to the caller's
 *	buffer. NULL for a kernel consumer
 *
 * Implements ibv_query_device(3). Sends no command.
 *
 * Return: 0; -EINVAL for a buffer that ends before or within the field response_length;
 * -EOPNOTSUPP for a request that is not empty; -EFAULT if the answer cannot be copied.
 */
int mlx5_ib_query_device(struct ib_device *ibdev, struct ib_device_attr *props,
			 struct ib_udata *uhw)
{
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	struct mlx5_core_dev *mdev = dev->mdev;
	int err = device_check_query(mdev, uhw);

	if (err)
		return err;

	memset(props, 0, sizeof(*props));
	device_fill_identity(dev, props);
	device_fill_queue_limits(&dev->caps, props);
	device_fill_srq_limits(dev, props);
	device_fill_raw_limits(&dev->caps, props);
	device_fill_mcast_limits(mdev, props);
	device_fill_atomics(dev, props);
	props->device_cap_flags = device_cap_flags(dev);
	props->kernel_cap_flags = device_kernel_cap_flags(dev);
	device_fill_memory_limits(dev, props);
	props->max_pd = 1 << MLX5_CAP_GEN(mdev, log_max_pd);
	props->max_ah = INT_MAX;
	props->max_pkeys = dev->caps.pkey_table_len;
	props->local_ca_ack_delay = MLX5_CAP_GEN(mdev, local_ca_ack_delay);
	props->hca_core_clock = MLX5_CAP_GEN(mdev, device_frequency_khz);
	props->timestamp_mask = S64_MAX;
	props->max_sgl_rd = MLX5_CAP_GEN(mdev, max_sgl_for_optimized_performance);
	mlx5_ib_fill_odp_attr(dev, props);

	return uhw && uhw->outlen ? device_respond(&dev->caps, uhw) : 0;
}

/**
 * mlx5_ib_modify_device - change the description of the node
 * @ibdev: device
 * @mask: IB_DEVICE_MODIFY_NODE_DESC
 * @props: the description
 *
 * May sleep.
 *
 * Return: 0; -EOPNOTSUPP for another attribute; or the errno of a firmware refusal.
 */
int mlx5_ib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *props)
{
	int err;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return refuse(to_mdev(ibdev)->mdev, -EOPNOTSUPP,
			      "change of device attributes %#x, only NODE_DESC (%#x) can change",
			      mask, IB_DEVICE_MODIFY_NODE_DESC);
	if (!mask)
		return 0;
	err = mlx5_ib_fw_access_reg(to_mdev(ibdev), MLX5_REG_NODE_DESC, props->node_desc,
				    sizeof(props->node_desc), true);
	if (!err)
		memcpy(ibdev->node_desc, props->node_desc, sizeof(ibdev->node_desc));
	return err;
}

/* ---- sysfs, and what is read at probe --------------------------------------- */

/**
 * mlx5_ib_get_dev_fw_str - format the firmware's version as text
 * @ibdev: device
 * @str: gets the text; has room for IB_FW_VERSION_NAME_MAX bytes
 */
void mlx5_ib_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	struct mlx5_core_dev *mdev = to_mdev(ibdev)->mdev;

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%d.%d.%04d", fw_rev_maj(mdev), fw_rev_min(mdev),
		 fw_rev_sub(mdev));
}

static struct mlx5_core_dev *sysfs_to_mdev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct mlx5_ib_dev, ib_dev)->mdev;
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "MT%d\n", sysfs_to_mdev(device)->pdev->device);
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", sysfs_to_mdev(device)->rev_id);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%.*s\n", MLX5_BOARD_ID_LEN, sysfs_to_mdev(device)->board_id);
}
static DEVICE_ATTR_RO(board_id);

static ssize_t fw_pages_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(sysfs_to_mdev(device)->priv.fw_pages));
}
static DEVICE_ATTR_RO(fw_pages);

static ssize_t reg_pages_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&sysfs_to_mdev(device)->priv.reg_pages));
}
static DEVICE_ATTR_RO(reg_pages);

static struct attribute *mlx5_ib_attributes[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	&dev_attr_fw_pages.attr,
	&dev_attr_reg_pages.attr,
	NULL,
};

const struct attribute_group mlx5_ib_attr_group = {
	.attrs = mlx5_ib_attributes,
};

/* Read the keys to which the device gives a special meaning. */
static int device_read_special_mkeys(struct mlx5_ib_dev *dev)
{
	u32 out[MLX5_ST_SZ_DW(query_special_contexts_out)] = {};
	bool has_list_end = MLX5_CAP_GEN(dev->mdev, terminate_scatter_list_mkey);
	int err;

	if (!MLX5_CAP_GEN(dev->mdev, dump_fill_mkey) && !MLX5_CAP_GEN(dev->mdev, null_mkey) &&
	    !has_list_end)
		return 0;
	err = mlx5_ib_fw_query_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS,
				      0, out, sizeof(out));
	if (err)
		return err;
	dev->dump_fill_mkey = MLX5_GET(query_special_contexts_out, out, dump_fill_mkey);
	dev->null_mkey = MLX5_GET(query_special_contexts_out, out, null_mkey);
	if (has_list_end)
		dev->caps.list_end_mkey = MLX5_GET(query_special_contexts_out, out,
						   terminate_scatter_list_mkey);
	return 0;
}

/**
 * mlx5_ib_init_device_attr - set up the port, and read the attributes that need a command
 * @dev: device, not registered yet
 *
 * May sleep.
 *
 * Return: 0 or the errno of a firmware refusal.
 */
int mlx5_ib_init_device_attr(struct mlx5_ib_dev *dev)
{
	u32 adapter[MLX5_ST_SZ_DW(query_adapter_out)] = {};
	int err;

	err = mlx5_ib_init_port(dev);
	if (err)
		return err;
	err = mlx5_ib_fw_access_reg(dev, MLX5_REG_NODE_DESC, dev->ib_dev.node_desc,
				    sizeof(dev->ib_dev.node_desc), false);
	if (err)
		return err;
	err = mlx5_ib_fw_query_object(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_QUERY_ADAPTER, 0,
				      adapter, sizeof(adapter));
	if (err)
		return err;
	dev->vendor_id = MLX5_GET(query_adapter_out, adapter, query_adapter_struct.ieee_vendor_id);
	return device_read_special_mkeys(dev);
}
