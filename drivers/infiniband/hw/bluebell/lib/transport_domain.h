/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The transport domain of a process, to which its transport interfaces belong.
 */

#ifndef BLUEBELL_TRANSPORT_DOMAIN_H
#define BLUEBELL_TRANSPORT_DOMAIN_H

#include <linux/types.h>

struct mlx5_ib_ucontext;

int mlx5_ib_use_transport_domain(struct mlx5_ib_ucontext *context, u32 *tdn);
void mlx5_ib_put_transport_domain(struct mlx5_ib_ucontext *context);

#endif /* BLUEBELL_TRANSPORT_DOMAIN_H */
