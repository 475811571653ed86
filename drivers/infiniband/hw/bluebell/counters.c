// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters, for `rdma statistic` and sysfs. The driver has one Q counter set, for all queue pairs
 * of verbs except queue pairs that an administrator has bound to another set
 * (`rdma statistic qp set`, `rdma statistic qp bind`). A counter has the name of its field in the
 * answer to QUERY_Q_COUNTER, struct mlx5_ifc_query_q_counter_out_bits.
 */

#include <linux/mlx5/driver.h>
#include <rdma/rdma_counter.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "ops.h"
#include "verbs/qp.h"

/* @priv is the offset of the counter in the answer, in bytes. */
#define COUNTER(fld)	{ .name = #fld, .priv = (void *)MLX5_BYTE_OFF(query_q_counter_out, fld) }

static const struct rdma_stat_desc basic_counters[] = {
	COUNTER(rx_write_requests),
	COUNTER(rx_read_requests),
	COUNTER(rx_atomic_requests),
	COUNTER(out_of_buffer),
};

static const struct rdma_stat_desc sequence_counters[] = {
	COUNTER(out_of_sequence),
};

static const struct rdma_stat_desc retransmission_counters[] = {
	COUNTER(duplicate_request),
	COUNTER(rnr_nak_retry_err),
	COUNTER(packet_seq_err),
	COUNTER(implied_nak_seq_err),
	COUNTER(local_ack_timeout_err),
};

static const struct rdma_stat_desc dc_counters[] = {
	COUNTER(rx_dct_connect),
};

static const struct rdma_stat_desc error_counters[] = {
	COUNTER(resp_local_length_error),
	COUNTER(resp_cqe_error),
	COUNTER(req_cqe_error),
	COUNTER(req_remote_invalid_request),
	COUNTER(req_remote_access_errors),
	COUNTER(resp_remote_access_errors),
	COUNTER(resp_cqe_flush_error),
	COUNTER(req_cqe_flush_error),
	COUNTER(req_transport_retries_exceeded),
	COUNTER(req_rnr_retries_exceeded),
};

#define MAX_COUNTERS	(ARRAY_SIZE(basic_counters) + ARRAY_SIZE(dc_counters) + \
			 ARRAY_SIZE(sequence_counters) + ARRAY_SIZE(retransmission_counters) + \
			 ARRAY_SIZE(error_counters))

/**
 * struct mlx5_ib_counters - the counters that the device has
 * @num: number of counters
 * @descs: name and offset of each counter
 */
struct mlx5_ib_counters {
	int num;
	struct rdma_stat_desc descs[MAX_COUNTERS];
};

static void counters_add(struct mlx5_ib_counters *counters, const struct rdma_stat_desc *list,
			 size_t num)
{
	memcpy(&counters->descs[counters->num], list, num * sizeof(*list));
	counters->num += num;
}

static struct rdma_hw_stats *counters_alloc(struct mlx5_ib_dev *dev)
{
	return rdma_alloc_hw_stats_struct(dev->counters->descs, dev->counters->num,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int counters_read(struct mlx5_ib_dev *dev, u16 set_id, struct rdma_hw_stats *stats)
{
	u32 out[MLX5_ST_SZ_DW(query_q_counter_out)] = {};
	int i, err;

	err = mlx5_ib_fw_query_q_counter(dev, set_id, out);
	if (err)
		return err;
	for (i = 0; i < stats->num_counters; i++)
		stats->value[i] = be32_to_cpup((void *)out + (size_t)stats->descs[i].priv);
	return 0;
}

/* Allocate a Q counter set that commands of any user id may name. */
static int counters_alloc_set(struct mlx5_ib_dev *dev, u32 *set_id)
{
	u16 uid = MLX5_CAP_GEN(dev->mdev, log_max_uctx) ? MLX5_SHARED_RESOURCE_UID :
							  MLX5_IB_KERNEL_UID;

	return mlx5_ib_fw_alloc_object(dev, uid, MLX5_CMD_OP_ALLOC_Q_COUNTER, set_id);
}

static void counters_dealloc_set(struct mlx5_ib_dev *dev, u16 set_id)
{
	mlx5_ib_fw_destroy_or_log(dev, MLX5_IB_KERNEL_UID, MLX5_CMD_OP_DEALLOC_Q_COUNTER, set_id,
				  "Q counter set");
}

/* ---- counters of the port ------------------------------------------------------------------ */

static struct rdma_hw_stats *counters_alloc_stats(struct ib_device *ibdev, u32 port_num)
{
	return counters_alloc(to_mdev(ibdev));
}

static int counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
			      int index)
{
	struct mlx5_ib_dev *dev = to_mdev(ibdev);

	return counters_read(dev, dev->counter_set_id, stats) ?: stats->num_counters;
}

/* ---- counters that queue pairs are bound to ------------------------------------------------- */

/**
 * struct mlx5_ib_qp_counter - a counter that queue pairs are bound to
 * @counter: counter of ib_core; @counter.id is the number of the Q counter set
 * @has_set: the set has been allocated. Firmware may give it any number, 0 included
 *
 * @counter.lock guards @has_set.
 */
struct mlx5_ib_qp_counter {
	struct rdma_counter counter;
	bool has_set;
};

static struct mlx5_ib_qp_counter *to_mcounter(struct rdma_counter *counter)
{
	return container_of(counter, struct mlx5_ib_qp_counter, counter);
}

/* ib_core requires this operation, but has zeroed the struct: nothing is left to do. */
static void qp_counter_init(struct rdma_counter *counter)
{
}

/*
 * Bind a queue pair to a counter. The set of the counter is allocated when its first queue pair is
 * bound.
 */
static int qp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	struct mlx5_ib_qp_counter *mcounter = to_mcounter(counter);
	struct mlx5_ib_dev *dev = to_mdev(ibqp->device);
	u32 set_id = counter->id;
	int err;

	if (!mcounter->has_set) {
		err = counters_alloc_set(dev, &set_id);
		if (err)
			return err;
	}
	err = mlx5_ib_qp_set_counter(to_mqp(ibqp), set_id);
	if (!err) {
		counter->id = set_id;
		mcounter->has_set = true;
		ibqp->counter = counter;
	} else if (!mcounter->has_set) {
		counters_dealloc_set(dev, set_id);
	}
	return err;
}

static int qp_counter_unbind(struct ib_qp *ibqp, u32 port)
{
	int err = mlx5_ib_qp_set_counter(to_mqp(ibqp), to_mdev(ibqp->device)->counter_set_id);

	if (!err)
		ibqp->counter = NULL;
	return err;
}

static int qp_counter_dealloc(struct rdma_counter *counter)
{
	if (to_mcounter(counter)->has_set)
		counters_dealloc_set(to_mdev(counter->device), counter->id);
	return 0;
}

static struct rdma_hw_stats *qp_counter_alloc_stats(struct rdma_counter *counter)
{
	return counters_alloc(to_mdev(counter->device));
}

static int qp_counter_update_stats(struct rdma_counter *counter)
{
	return counters_read(to_mdev(counter->device), counter->id, counter->stats);
}

static const struct ib_device_ops counters_dev_ops = {
	.alloc_hw_port_stats = counters_alloc_stats,
	.get_hw_stats = counters_get_stats,
	.counter_init = qp_counter_init,
	.counter_bind_qp = qp_counter_bind,
	.counter_unbind_qp = qp_counter_unbind,
	.counter_dealloc = qp_counter_dealloc,
	.counter_alloc_stats = qp_counter_alloc_stats,
	.counter_update_stats = qp_counter_update_stats,

	INIT_RDMA_OBJ_SIZE(rdma_counter, mlx5_ib_qp_counter, counter),
};

/* ---- the device -------------------------------------------------------------------------- */

/* Add the counters that the device has, in the order in which `rdma statistic` prints them. */
static void counters_add_all(struct mlx5_ib_counters *counters, struct mlx5_core_dev *mdev)
{
	counters_add(counters, basic_counters, ARRAY_SIZE(basic_counters));
	if (MLX5_CAP_GEN(mdev, out_of_seq_cnt))
		counters_add(counters, sequence_counters, ARRAY_SIZE(sequence_counters));
	if (MLX5_CAP_GEN(mdev, retransmission_q_counters))
		counters_add(counters, retransmission_counters,
			     ARRAY_SIZE(retransmission_counters));
	if (MLX5_CAP_GEN(mdev, dct))
		counters_add(counters, dc_counters, ARRAY_SIZE(dc_counters));
	if (MLX5_CAP_GEN(mdev, enhanced_error_q_counters))
		counters_add(counters, error_counters, ARRAY_SIZE(error_counters));
}

/**
 * mlx5_ib_init_counters - allocate the driver's Q counter set
 * @dev: device, not registered yet. If it has no Q counters, nothing is done, and the port has no
 *	statistics
 *
 * May sleep.
 *
 * Return: 0; -ENOMEM; or the errno of a firmware refusal.
 */
int mlx5_ib_init_counters(struct mlx5_ib_dev *dev)
{
	struct mlx5_core_dev *mdev = dev->mdev;
	u32 set_id;
	int err;

	if (!MLX5_CAP_GEN(mdev, max_qp_cnt))
		return 0;

	struct mlx5_ib_counters *counters __free(kfree) = kzalloc_obj(*counters);

	if (!counters)
		return -ENOMEM;
	err = counters_alloc_set(dev, &set_id);
	if (err)
		return err;
	counters_add_all(counters, mdev);
	dev->counter_set_id = set_id;
	dev->counters = no_free_ptr(counters);
	ib_set_device_ops(&dev->ib_dev, &counters_dev_ops);
	return 0;
}

/**
 * mlx5_ib_cleanup_counters - undo mlx5_ib_init_counters()
 * @dev: device without queue pairs of processes and kernel consumers
 *
 * May sleep.
 */
void mlx5_ib_cleanup_counters(struct mlx5_ib_dev *dev)
{
	if (!dev->counters)
		return;
	counters_dealloc_set(dev, dev->counter_set_id);
	kfree(dev->counters);
	dev->counters = NULL;
}
