/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What resource tracking shows of this driver's objects.
 */

#ifndef BLUEBELL_RESTRACK_H
#define BLUEBELL_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int mlx5_ib_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int mlx5_ib_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int mlx5_ib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int mlx5_ib_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int mlx5_ib_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int mlx5_ib_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);
int mlx5_ib_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int mlx5_ib_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int mlx5_ib_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* BLUEBELL_RESTRACK_H */
