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

#include "layout_cq.h"

/* user_index of a QP whose completions are found by QP number. */
#define MLX5_IB_DEFAULT_UIDX		0xffffff

/**
 * struct mlx5_ib_qp_caps - what the device allows a QP to be
 * @rc: RC queue pairs exist
 * @uc: UC queue pairs exist
 * @ud: UD queue pairs exist
 * @log_max_qp_sz: log2 of the most entries of either queue
 * @max_wqe_sz_rq: bytes of the largest receive WQE
 * @cqe_version: 1 if completions may carry a user index
 * @log_max_ra_req: log2 of the most outstanding reads and atomics as requester
 * @log_max_ra_res: the same as responder
 * @log_max_msg: log2 of the longest message, in bytes
 * @atomic_mode: qpc.atomic_mode of a responder, 0 if atomics don't exist
 * @num_ports: ports of the device
 * @pkey_table_len: entries of a port's P_Key table
 * @gid_table_len: entries of a port's GID table
 * @stat_rate_support: bit n: the device can limit a path to rate code n
 * @apm: alternate paths exist
 * @block_lb_mc: multicast loopback can be blocked
 * @end_pad: writes may be padded to a cache line
 * @cross_channel: cross-channel flags exist
 * @wq_signature: WQEs may carry a signature
 * @scatter_cqe: short payloads may be delivered in the CQE
 * @packet_based: packet-based credits exist
 * @ece: enhanced connection establishment options exist
 * @xrc: XRC queue pairs exist
 * @ts_format: timestamp format of a QP that asks for none in particular
 */
struct mlx5_ib_qp_caps {
	bool rc;
	bool uc;
	bool ud;
	u8 log_max_qp_sz;
	u16 max_wqe_sz_rq;
	u8 cqe_version;
	u8 log_max_ra_req;
	u8 log_max_ra_res;
	u8 log_max_msg;
	u8 atomic_mode;
	u8 num_ports;
	u16 pkey_table_len;
	u16 gid_table_len;
	u16 stat_rate_support;
	bool apm;
	bool block_lb_mc;
	bool end_pad;
	bool cross_channel;
	bool wq_signature;
	bool scatter_cqe;
	bool packet_based;
	bool ece;
	bool xrc;
	u8 ts_format;
};

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
 * @uidx: user index
 * @cqn_snd: send CQ
 * @cqn_rcv: receive CQ
 * @has_srq: it receives from an SRQ
 * @srqn: number of the SRQ
 * @xrcdn: XRC domain, of an XRC queue pair
 * @dbr_addr: DMA address of the doorbell record
 * @create_flags: enum ib_qp_create_flags
 * @vendor_flags: MLX5_QP_FLAG_* in effect
 * @cs_req: requester's scatter-to-CQE code
 * @cs_res: responder's scatter-to-CQE code
 * @ts_format: timestamp format
 * @cqe_version: 1 if @uidx is to be written
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
	u8 cqe_version;
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
 * @qp_type: type
 * @cur: state before
 * @next: state after
 * @mask: enum ib_qp_attr_mask
 * @attr: the attributes
 * @pdn: protection domain number
 * @cqn_snd: send CQ
 * @cqn_rcv: receive CQ
 * @dbr_addr: DMA address of the doorbell record
 * @access: access flags in effect after the change (enum ib_access_flags)
 * @dest_rd_atomic: responder resources in effect after the change
 * @port: port in effect after the change, from 1
 */
struct mlx5_ib_qp_modify {
	enum ib_qp_type qp_type;
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int mask;
	const struct ib_qp_attr *attr;
	u32 pdn;
	u32 cqn_snd;
	u32 cqn_rcv;
	u64 dbr_addr;
	u32 access;
	u8 dest_rd_atomic;
	u8 port;
};

int mlx5_ib_qp_check_create(const struct ib_qp_init_attr *init,
			    const struct mlx5_ib_create_qp *ucmd,
			    const struct mlx5_ib_qp_caps *caps);
bool mlx5_ib_qp_is_xrc(enum ib_qp_type type);
int mlx5_ib_qp_check_tgt(const struct ib_qp_init_attr *init, const struct mlx5_ib_qp_caps *caps);
int mlx5_ib_qp_check_uidx(u32 uidx, bool given, u8 cqe_version);
int mlx5_ib_calc_user_wq(const struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *ucmd,
			 const struct mlx5_ib_qp_caps *caps, struct mlx5_ib_wq_layout *wq);
u32 mlx5_ib_qp_effective_flags(u32 flags, const struct mlx5_ib_qp_caps *caps);
void mlx5_ib_scatter_to_cqe(enum ib_qp_type type, u32 flags, bool sig_all, int scqe_sz, int rcqe_sz,
			    struct mlx5_ib_qpc_attr *attr);
void mlx5_ib_fill_qpc(void *qpc, const struct mlx5_ib_qpc_attr *attr);

struct mlx5_ib_qp_transition mlx5_ib_qp_transition(enum ib_qp_type type, enum ib_qp_state cur,
						   enum ib_qp_state next);
int mlx5_ib_qp_check_attr(const struct mlx5_ib_qp_modify *mod, const struct mlx5_ib_qp_caps *caps);
u32 mlx5_ib_fill_modify_qpc(void *qpc, const struct mlx5_ib_qp_modify *mod,
			    const struct mlx5_ib_qp_caps *caps);
u32 mlx5_ib_qp_opt_mask(const struct mlx5_ib_qp_modify *mod);

u8 mlx5_ib_rate_to_hw(u8 rate, u16 supported);
u8 mlx5_ib_rate_from_hw(u8 code);
enum ib_mig_state mlx5_ib_mig_from_hw(u8 pm_state);
int mlx5_ib_qp_state_from_hw(u8 state);
int mlx5_ib_check_ah(const struct rdma_ah_attr *ah, const struct mlx5_ib_qp_caps *caps);
void mlx5_ib_fill_path(void *ads, const struct rdma_ah_attr *ah, u16 rate_support);
void mlx5_ib_read_path(const void *ads, struct rdma_ah_attr *ah);
void mlx5_ib_read_qpc(const void *qpc, enum ib_qp_type type, struct ib_qp_attr *attr);

#endif /* BLUEBELL_LAYOUT_QP_H */
