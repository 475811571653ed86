// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layout of a raw packet QP, which is a send queue and a receive queue at the device: checks,
 * sizes, and the states of the two queues. Pure functions only.
 */

#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>

#include "layout/caps.h"
#include "layout/layout_raw.h"
#include "layout/layout_rq.h"
#include "layout/layout_tir.h"
#include "layout/layout_wq.h"
#include "layout/refuse.h"

/*
 * libmlx5 asks for scatter to CQE by default, whatever the type of the QP. Packets do not get into
 * CQEs.
 */
#define VENDOR_FLAGS							\
	(MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_SCATTER_CQE |		\
	 MLX5_QP_FLAG_ALLOW_SCATTER_CQE | MLX5_QP_FLAG_BFREG_INDEX |	\
	 MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_IB_TIR_FLAGS)

/*
 * A QP receives no multicast packet of its own process unless the library asks for it, so there is
 * nothing to do to block these packets.
 */
#define CREATE_FLAGS							\
	(IB_QP_CREATE_SCATTER_FCS | IB_QP_CREATE_CVLAN_STRIPPING |	\
	 IB_QP_CREATE_PCI_WRITE_END_PADDING | IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)

/**
 * mlx5_ib_has_raw_packets - find out whether there are queues for raw packets
 * @caps: what the device can do
 *
 * Return: true for a device with an Ethernet port, queues, and flow rules that send packets to the
 * queues.
 */
bool mlx5_ib_has_raw_packets(const struct mlx5_ib_caps *caps)
{
	struct mlx5_core_dev *mdev = caps->mdev;

	return caps->ethernet && MLX5_CAP_GEN(mdev, eth_net_offloads) &&
	       MLX5_CAP_GEN(mdev, nic_flow_table) && MLX5_CAP_GEN(mdev, log_max_sq) &&
	       MLX5_CAP_GEN(mdev, log_max_rq) && MLX5_CAP_GEN(mdev, log_max_tir) &&
	       MLX5_CAP_GEN(mdev, log_max_transport_domain);
}

static u32 raw_wq_flags(u32 create_flags)
{
	return (create_flags & IB_QP_CREATE_SCATTER_FCS ? IB_WQ_FLAGS_SCATTER_FCS : 0) |
	       (create_flags & IB_QP_CREATE_CVLAN_STRIPPING ? IB_WQ_FLAGS_CVLAN_STRIPPING : 0) |
	       (create_flags & IB_QP_CREATE_PCI_WRITE_END_PADDING ?
		IB_WQ_FLAGS_PCI_WRITE_END_PADDING : 0);
}

static int raw_check_vendor(const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps)
{
	const u32 both = MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX;

	if (ucmd->flags & ~VENDOR_FLAGS || ucmd->reserved ||
	    ucmd->dci_streams.log_num_concurent || ucmd->dci_streams.log_num_errored)
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP driver flags %#x, supported: %#x; reserved %#x, dci_streams must be 0",
			      ucmd->flags, VENDOR_FLAGS, ucmd->reserved);
	/* Both flags say in which UAR the doorbells lie. */
	if ((ucmd->flags & both) == both)
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP names both a bfreg and a UAR, at most one is possible");
	if ((ucmd->flags & MLX5_QP_FLAG_SIGNATURE) && !MLX5_CAP_GEN(caps->mdev, wq_signature))
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP with signatures in its WQEs: the device cannot check these (wq_signature)");
	return mlx5_ib_tir_check_flags(ucmd->flags, caps);
}

/**
 * mlx5_ib_raw_check_create - check a request to create a raw packet QP before anything is allocated
 * @init: attributes of verbs; mlx5_ib_has_raw_packets() is true for the device
 * @ucmd: the library's request
 * @caps: what the device can do
 *
 * Return: 0; -EINVAL for invalid attributes, for unknown driver flags, and for signatures that the
 * device cannot check; -EOPNOTSUPP for any other feature that this driver or device does not have.
 */
int mlx5_ib_raw_check_create(const struct ib_qp_init_attr *init,
			     const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps)
{
	int err = raw_check_vendor(ucmd, caps);

	if (err)
		return err;
	if (init->srq)
		return refuse(caps->mdev, -EOPNOTSUPP, "raw packet QP with an SRQ");
	if (init->create_flags & ~CREATE_FLAGS)
		return refuse(caps->mdev, -EOPNOTSUPP, "raw packet QP flags %#x, supported: %#x",
			      init->create_flags, CREATE_FLAGS);
	if ((init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK) &&
	    (ucmd->flags & MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC))
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP both blocks and allows its own multicast packets");
	return mlx5_ib_rq_check_flags(raw_wq_flags(init->create_flags), caps);
}

/**
 * mlx5_ib_raw_calc - check the queue sizes of a raw packet QP, and compute those of its buffers
 * @init: capacities that the user asks for; those of the receive queue are set to those of the
 *	queue that the library has laid out
 * @ucmd: the library's request
 * @caps: what the device can do
 * @sq_bytes: gets the bytes of the send queue, which has a buffer of its own
 *
 * Return: bytes of the receive queue, 0 if there is none; or -EINVAL as mlx5_ib_calc_user_wq(), for
 * a queue that is too long, and if there is neither queue.
 */
int mlx5_ib_raw_calc(struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
		     const struct mlx5_ib_caps *caps, int *sq_bytes)
{
	struct ib_qp_init_attr recv = { .qp_type = init->qp_type, .cap = init->cap };
	struct mlx5_ib_create_qp rq = *ucmd, sq = *ucmd;
	u32 most = mlx5_ib_max_raw_wqes(caps);
	int rq_bytes;

	if (ucmd->sq_wqe_count > most || ucmd->rq_wqe_count > most ||
	    (!ucmd->sq_wqe_count && !ucmd->rq_wqe_count))
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP with queues of %u WQEBBs and %u WQEs, at most %u, and not both 0",
			      ucmd->sq_wqe_count, ucmd->rq_wqe_count, most);
	/* The queues are checked apart, because they do not have to fit behind each other. */
	recv.cap.max_send_wr = 0;
	rq.sq_wqe_count = 0;
	rq_bytes = mlx5_ib_calc_user_wq(&recv, &rq, caps);
	if (rq_bytes < 0)
		return rq_bytes;
	init->cap.max_recv_wr = 0;
	sq.rq_wqe_count = 0;
	sq.rq_wqe_shift = 0;
	*sq_bytes = mlx5_ib_calc_user_wq(init, &sq, caps);
	if (*sq_bytes < 0)
		return *sq_bytes;
	init->cap.max_recv_wr = recv.cap.max_recv_wr;
	init->cap.max_recv_sge = recv.cap.max_recv_sge;
	return rq_bytes;
}

/* ---- states ------------------------------------------------------------------------- */

/**
 * mlx5_ib_raw_check_modify - check a change of a raw packet QP
 * @cur: state before the change
 * @next: state after the change
 * @mask: enum ib_qp_attr_mask: which attributes are to be changed
 * @caps: what the device can do
 *
 * A rate can be set when the QP can send, or is about to. Queues for packets cannot be drained, and
 * a send queue that has failed continues only after RESET.
 *
 * Return: 0, or -EINVAL.
 */
int mlx5_ib_raw_check_modify(enum ib_qp_state cur, enum ib_qp_state next, int mask,
			     const struct mlx5_ib_caps *caps)
{
	if (!ib_modify_qp_is_ok(cur, next, IB_QPT_RAW_PACKET, mask & ~IB_QP_RATE_LIMIT))
		return refuse(caps->mdev, -EINVAL,
			      "raw packet QP cannot go from state %u to %u with attributes 0x%x",
			      cur, next, mask);
	if (next == IB_QPS_SQD || next == IB_QPS_SQE || (cur == IB_QPS_SQE && next == IB_QPS_RTS))
		return refuse(caps->mdev, -EINVAL,
			      "no command takes a raw packet QP from state %u to %u", cur, next);
	if ((mask & IB_QP_RATE_LIMIT) && next != IB_QPS_RTS)
		return refuse(caps->mdev, -EINVAL,
			      "rate limit in a change to state %u, only to RTS (3) is possible",
			      next);
	return 0;
}

/**
 * mlx5_ib_raw_states_of - find the states of a raw packet QP's queues in a state of the QP
 * @state: the state of the QP: RESET, INIT, RTR, RTS or ERR
 *
 * In INIT the receive queue takes packets already. The library does not let the device see what is
 * posted to the queue before the QP goes to RTR.
 *
 * Return: the states.
 */
struct mlx5_ib_raw_states mlx5_ib_raw_states_of(enum ib_qp_state state)
{
	static const struct mlx5_ib_raw_states states[] = {
		[IB_QPS_RESET] = { MLX5_SQC_STATE_RST, MLX5_RQC_STATE_RST },
		[IB_QPS_INIT] = { MLX5_SQC_STATE_RST, MLX5_RQC_STATE_RDY },
		[IB_QPS_RTR] = { MLX5_SQC_STATE_RST, MLX5_RQC_STATE_RDY },
		[IB_QPS_RTS] = { MLX5_SQC_STATE_RDY, MLX5_RQC_STATE_RDY },
		[IB_QPS_ERR] = { MLX5_SQC_STATE_ERR, MLX5_RQC_STATE_ERR },
	};

	return states[state];
}

/**
 * mlx5_ib_raw_state - find the state of a raw packet QP from the states of its queues
 * @last: state of the QP that was last set or found
 * @queues: states of the queues, as the device has them
 *
 * A queue can fail: then the device has taken it to the error state.
 *
 * Return: the state of the QP.
 */
enum ib_qp_state mlx5_ib_raw_state(enum ib_qp_state last, struct mlx5_ib_raw_states queues)
{
	bool sq_failed = queues.sq == MLX5_SQC_STATE_ERR;

	if (queues.rq == MLX5_RQC_STATE_ERR || (sq_failed && queues.rq == MLX5_IB_NO_QUEUE))
		return IB_QPS_ERR;
	return sq_failed && last != IB_QPS_ERR ? IB_QPS_SQE : last;
}
