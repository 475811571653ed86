// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout of the send queue of a raw packet QP: context (SQC), the transport interface (TIS) through
 * which the queue sends, and the rate to which its packets are paced. Pure functions only.
 */

#include <linux/log2.h>
#include <linux/mlx5/driver.h>

#include "layout/caps.h"
#include "layout/layout_sq.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"

/**
 * mlx5_ib_min_inline_to_hw - the device's name of the headers that each WQE has to contain
 * @user_mode: MLX5_USER_INLINE_MODE_*, the library's name
 *
 * Return: MLX5_INLINE_MODE_*.
 */
u8 mlx5_ib_min_inline_to_hw(u8 user_mode)
{
	/* The modes of a library begin with NA, "not available". */
	return user_mode > MLX5_USER_INLINE_MODE_NONE ? user_mode - MLX5_USER_INLINE_MODE_NONE :
							MLX5_INLINE_MODE_NONE;
}

/**
 * mlx5_ib_raw_ts_format - choose the format of time stamps in the completions of a queue
 * @formats: formats that the device has for queues of this kind, MLX5_TIMESTAMP_FORMAT_CAP_*
 * @real_time: the CQ asks for time stamps of the real-time clock
 *
 * Return: MLX5_TIMESTAMP_FORMAT_*. Firmware refuses real time that the device does not have.
 */
u8 mlx5_ib_raw_ts_format(u8 formats, bool real_time)
{
	if (real_time)
		return MLX5_TIMESTAMP_FORMAT_REAL_TIME;
	return formats == MLX5_TIMESTAMP_FORMAT_CAP_REAL_TIME ?
	       MLX5_TIMESTAMP_FORMAT_DEFAULT : MLX5_TIMESTAMP_FORMAT_FREE_RUNNING;
}

/**
 * mlx5_ib_fill_tisc - build the context of a new TIS
 * @tisc: zeroed struct mlx5_ifc_tisc_bits
 * @tdn: number of the transport domain
 */
void mlx5_ib_fill_tisc(void *tisc, u32 tdn)
{
	MLX5_SET(tisc, tisc, transport_domain, tdn);
}

/**
 * mlx5_ib_fill_sqc - build the context of a new send queue
 * @sqc: zeroed struct mlx5_ifc_sqc_bits; mlx5_ib_create_wq_cmd() adds the memory
 * @sq: values of the context
 * @caps: what the device can do
 *
 * The device completes what is posted to a queue in the error state with errors, as verbs ask. A
 * WQE may have several packets, or say where the headers of its packet are, if the device has that.
 */
void mlx5_ib_fill_sqc(void *sqc, const struct mlx5_ib_sqc_attr *sq, const struct mlx5_ib_caps *caps)
{
	void *wq = MLX5_ADDR_OF(sqc, sqc, wq);

	MLX5_SET(sqc, sqc, state, MLX5_SQC_STATE_RST);
	MLX5_SET(sqc, sqc, flush_in_error_en, 1);
	MLX5_SET(sqc, sqc, allow_multi_pkt_send_wqe,
		 !!MLX5_CAP_ETH(caps->mdev, multi_pkt_send_wqe) ||
		 MLX5_CAP_ETH(caps->mdev, enhanced_multi_pkt_send_wqe));
	MLX5_SET(sqc, sqc, allow_swp, MLX5_CAP_ETH(caps->mdev, swp));
	MLX5_SET(sqc, sqc, min_wqe_inline_mode, sq->min_inline);
	MLX5_SET(sqc, sqc, ts_format, sq->ts_format);
	MLX5_SET(sqc, sqc, user_index, sq->uidx);
	MLX5_SET(sqc, sqc, cqn, sq->cqn);
	MLX5_SET(sqc, sqc, tis_lst_sz, 1);
	MLX5_SET(sqc, sqc, tis_num_0, sq->tisn);

	MLX5_SET(wq, wq, wq_type, MLX5_WQ_TYPE_CYCLIC);
	MLX5_SET(wq, wq, wq_signature, sq->wq_signature);
	MLX5_SET(wq, wq, pd, sq->pdn);
	MLX5_SET(wq, wq, uar_page, sq->uar_page);
	MLX5_SET(wq, wq, log_wq_stride, MLX5_IB_LOG_WQEBB);
	MLX5_SET(wq, wq, log_wq_sz, ilog2(sq->num_blocks));
}

/**
 * mlx5_ib_check_rate - check the pacing that a user asks for
 * @rate: the rate. Without a rate there is nothing to pace
 * @caps: what the device can do
 *
 * mlx5_core would log a rate that is out of range or that firmware refuses.
 *
 * Return: 0; -EOPNOTSUPP for a feature that the device does not have; or -EINVAL for bursts or
 * lengths of packets without a rate, and for a rate out of the device's range.
 */
int mlx5_ib_check_rate(const struct mlx5_ib_rate *rate, const struct mlx5_ib_caps *caps)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	if (!rate->kbps)
		return !rate->burst && !rate->packet ? 0 :
		       refuse(mdev, -EINVAL, "pacing with bursts of %u bytes, but without a rate",
			      rate->burst);
	if (!mlx5_rl_is_supported(mdev))
		return refuse(mdev, -EOPNOTSUPP,
			      "pacing at %u kbit/s: the device has none (packet_pacing)",
			      rate->kbps);
	if (!mlx5_rl_is_in_range(mdev, rate->kbps))
		return refuse(mdev, -EINVAL, "pacing at %u kbit/s, %u to %u are possible",
			      rate->kbps, mdev->priv.rl_table.min_rate,
			      mdev->priv.rl_table.max_rate);
	if (rate->burst && !MLX5_CAP_QOS(mdev, packet_pacing_burst_bound))
		return refuse(mdev, -EOPNOTSUPP,
			      "pacing: the device cannot limit bursts (packet_pacing_burst_bound)");
	if (rate->packet && !MLX5_CAP_QOS(mdev, packet_pacing_typical_size))
		return refuse(mdev, -EOPNOTSUPP,
			      "pacing: the device has no typical_packet_size (packet_pacing_typical_size)");
	return 0;
}

/**
 * mlx5_ib_fill_rate - build an entry of the device's table of rates
 * @context: zeroed struct mlx5_ifc_set_pp_rate_limit_context_bits
 * @rate: the rate
 */
void mlx5_ib_fill_rate(void *context, const struct mlx5_ib_rate *rate)
{
	MLX5_SET(set_pp_rate_limit_context, context, rate_limit, rate->kbps);
	MLX5_SET(set_pp_rate_limit_context, context, burst_upper_bound, rate->burst);
	MLX5_SET(set_pp_rate_limit_context, context, typical_packet_size, rate->packet);
}
