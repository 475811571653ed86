/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pair layout: the context of a queue pair (QPC), the command for each change of state, and
 * the checks of attributes. Pure functions only.
 */

#ifndef BLUEBELL_LAYOUT_QP_H
#define BLUEBELL_LAYOUT_QP_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>

struct mlx5_ib_caps;

/* Type of the driver's queue pair for UMR requests; verbs have no such type. */
#define MLX5_IB_QPT_UMR			IB_QPT_MAX

/* user_index of a QP without an index: the library finds the QP of a completion by QP number. */
#define MLX5_IB_DEFAULT_UIDX		0xffffff

/**
 * struct mlx5_ib_qp_modify - a state change
 * @type: type of the queue pair
 * @qpn: number of the queue pair
 * @qpc: context that the queue pair was created with, struct mlx5_ifc_qpc_bits
 * @cur: state before the change
 * @next: state after the change
 * @mask: enum ib_qp_attr_mask: which members of @attr are valid
 * @attr: the attributes
 * @access: access flags in effect after the change (enum ib_access_flags)
 * @dest_rd_atomic: responder resources in effect after the change
 * @port: port in effect after the change, from 1
 */
struct mlx5_ib_qp_modify {
	enum ib_qp_type type;
	u32 qpn;
	const void *qpc;
	enum ib_qp_state cur;
	enum ib_qp_state next;
	int mask;
	const struct ib_qp_attr *attr;
	u32 access;
	u8 dest_rd_atomic;
	u8 port;
};

/* Whether each send request of a queue pair of the type has an address of its own. */
static inline bool mlx5_ib_qp_is_datagram(enum ib_qp_type type)
{
	return type == IB_QPT_UD || type == IB_QPT_SMI || type == IB_QPT_GSI;
}

bool mlx5_ib_qp_type_exists(enum ib_qp_type type, const struct mlx5_ib_caps *caps);
bool mlx5_ib_qp_out_of_order(enum ib_qp_type type, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_out_of_order(void *qpc, const struct mlx5_ib_caps *caps);
int mlx5_ib_qp_check_create(const struct ib_qp_init_attr *init,
			    const struct mlx5_ib_create_qp *ucmd, const struct mlx5_ib_caps *caps);
int mlx5_ib_qp_check_uidx(u32 uidx, bool given, u8 cqe_version);
u32 mlx5_ib_qp_uidx(u32 uidx, u8 cqe_version, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_max_rd_atomic(const struct mlx5_ib_caps *caps);
u32 mlx5_ib_max_dest_rd_atomic(const struct mlx5_ib_caps *caps);
void mlx5_ib_scatter_to_cqe(void *qpc, const struct ib_qp_init_attr *init, u32 flags, int scqe_sz,
			    int rcqe_sz, const struct mlx5_ib_caps *caps);
void mlx5_ib_fill_qpc(void *qpc, const struct ib_qp_init_attr *init,
		      const struct mlx5_ib_create_qp *ucmd);

u16 mlx5_ib_qp_opcode(enum ib_qp_state cur, enum ib_qp_state next);
bool mlx5_ib_qp_modify_is_ok(const struct mlx5_ib_qp_modify *mod);
int mlx5_ib_qp_check_attr(const struct mlx5_ib_qp_modify *mod, const struct mlx5_ib_caps *caps);
u32 mlx5_ib_fill_modify_qpc(void *qpc, const struct mlx5_ib_qp_modify *mod,
			    const struct mlx5_ib_caps *caps);

enum ib_mig_state mlx5_ib_mig_from_hw(u8 pm_state);
int mlx5_ib_qp_state_from_hw(u8 state);
void mlx5_ib_read_qpc(const void *qpc, enum ib_qp_type type, bool ethernet,
		      struct ib_qp_attr *attr);

#endif /* BLUEBELL_LAYOUT_QP_H */
