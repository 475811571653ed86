/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pair layout: work queue sizes, the QPC, address paths, and the table
 * of state transitions with the fields each may change. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_QP_H
#define BLUEBELL_LAYOUT_QP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

#include "layout_buf.h"

struct mlx5_ib_caps;

/* Type of the queue pair that executes UMR requests: verbs have no name for it. */
#define MLX5_IB_QPT_UMR			IB_QPT_MAX

/* user_index of a QP whose completions are found by QP number. */
#define MLX5_IB_DEFAULT_UIDX		0xffffff

/**
 * struct mlx5_ib_wq_layout - where the two queues of a QP lie in its buffer
 * @rq_wqe_cnt: receive WQEs; 0 or a power of two
 * @rq_wqe_shift: log2 of the stride of a receive WQE, in bytes
 * @rq_max_gs: scatter entries of a receive WQE
 * @sq_wqe_cnt: send WQEBBs of 64 bytes; 0 or a power of two
 * @sq_offset: bytes from the start of the buffer; the receive queue is first
 * @buf_size: bytes in all
 */
struct mlx5_ib_wq_layout {
	u32 rq_wqe_cnt;
	u8 rq_wqe_shift;
	u32 rq_max_gs;
	u32 sq_wqe_cnt;
	u32 sq_offset;
	u32 buf_size;
};

/**
 * struct mlx5_ib_qpc_attr - everything CREATE_QP writes into a QPC
 * @qp_type: type
 * @wq: sizes of the queues
 * @geo: page geometry of the buffer, meaningless if wq.buf_size is 0
 * @pdn: protection domain number
 * @uar_page: device index of the UAR whose doorbells ring this QP
 * @uidx: user index, of mlx5_ib_qp_uidx()
 * @cqn_snd: send CQ
 * @cqn_rcv: receive CQ
 * @has_srq: it receives from an SRQ
 * @srqn: number of the SRQ
 * @xrcdn: XRC domain, of an XRC queue pair
 * @dbr_addr: DMA address of the doorbell record
 * @create_flags: enum ib_qp_create_flags
 * @vendor_flags: MLX5_QP_FLAG_* of the request
 * @cs_req: requester's scatter-to-CQE code
 * @cs_res: responder's scatter-to-CQE code
 * @ts_format: timestamp format
 */
struct mlx5_ib_qpc_attr {
	enum ib_qp_type qp_type;
	struct mlx5_ib_wq_layout wq;
	struct mlx5_ib_buf_geometry geo;
	u32 pdn;
	u32 uar_page;
	u32 uidx;
	u32 cqn_snd;
	u32 cqn_rcv;
	bool has_srq;
	u32 srqn;
	u32 xrcdn;
	u64 dbr_addr;
	u32 create_flags;
	u32 vendor_flags;
	u8 cs_req;
	u8 cs_res;
	u8 ts_format;
};

/**
 * struct mlx5_ib_qp_transition - one state-change command
 * @opcode: MLX5_CMD_OP_*, 0 if the interface has no such command
 * @opt_allowed: MLX5_QP_OPTPAR_* that the command takes for this QP type
 */
struct mlx5_ib_qp_transition {
	u16 opcode;
	u32 opt_allowed;
};

/**
 * struct mlx5_ib_qp_modify - what a state change needs besides its attributes
 * @qpc: what the queue pair was created with
 * @cur: state before
 * @next: state after
 * @mask: enum ib_qp_attr_mask
 * @attr: the attributes
 * @access: access flags in effect after the change (enum ib_access_flags)
 * @dest_rd_atomic: responder resources in effect after the change
 * @port: port in effect after the change, from 1
 */
struct mlx5_ib_qp_modify {
	const struct mlx5_ib_qpc_attr *qpc;
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int mask;
	const struct ib_qp_attr *attr;
	u32 access;
	u8 dest_rd_atomic;
	u8 port;
};

int mlx5_ib_qp_check_create(const struct ib_qp_init_attr *init,
			    const struct mlx5_ib_create_qp *ucmd,
			    const struct mlx5_ib_caps *caps);
int mlx5_ib_qp_check_tgt(const struct ib_qp_init_attr *init, const struct mlx5_ib_caps *caps);
int mlx5_ib_qp_check_uidx(u32 uidx, bool given, u8 cqe_version);
u32 mlx5_ib_qp_uidx(u32 uidx, u8 cqe_version, const struct mlx5_ib_caps *caps);
int mlx5_ib_calc_user_wq(const struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			 const struct mlx5_ib_caps *caps, struct mlx5_ib_wq_layout *wq);
void mlx5_ib_scatter_to_cqe(const struct ib_qp_init_attr *init, u32 flags, int scqe_sz, int rcqe_sz,
			    const struct mlx5_ib_caps *caps, struct mlx5_ib_qpc_attr *attr);
void mlx5_ib_fill_qpc(void *qpc, const struct mlx5_ib_qpc_attr *attr);

struct mlx5_ib_qp_transition mlx5_ib_qp_transition(enum ib_qp_type type, enum ib_qp_state cur,
						   enum ib_qp_state next);
int mlx5_ib_qp_check_attr(const struct mlx5_ib_qp_modify *mod, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_fill_modify_qpc(void *qpc, const struct mlx5_ib_qp_modify *mod,
			    const struct mlx5_ib_caps *caps);
u32 mlx5_ib_qp_opt_mask(const struct mlx5_ib_qp_modify *mod);

u8 mlx5_ib_rate_to_hw(u8 rate, u16 supported);
u8 mlx5_ib_rate_from_hw(u8 code);
enum ib_mig_state mlx5_ib_mig_from_hw(u8 pm_state);
int mlx5_ib_qp_state_from_hw(u8 state);
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah);
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support);
void mlx5_ib_read_path(const void *ads, struct rdma_ah_attr *ah);
void mlx5_ib_read_qpc(const void *qpc, enum ib_qp_type type, struct ib_qp_attr *attr);

#endif /* BLUEBELL_LAYOUT_QP_H */
