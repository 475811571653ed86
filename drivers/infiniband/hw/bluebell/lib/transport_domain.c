// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The transport domain of a process, to which its transport interfaces belong. Few processes use
 * raw packets, so a context gets its domain with its first transport interface.
 */

#include <linux/mlx5/driver.h>

#include "fw/bluebell.h"
#include "fw/fw.h"
#include "layout/refuse.h"
#include "lib/buf.h"
#include "lib/orphan.h"
#include "lib/share.h"
#include "lib/transport_domain.h"

static int td_report_limit(struct mlx5_ib_dev *dev)
{
	report_limit(&dev->ib_dev,
		     "all transport domains of the device are in use (log_max_transport_domain is %u): %s (%d) gets no queues for raw packets\n",
		     MLX5_CAP_GEN(dev->mdev, log_max_transport_domain), current->comm,
		     task_tgid_nr(current));
	return -ENOMEM;
}

/**
 * mlx5_ib_use_transport_domain - find the transport domain of a context
 * @context: the context
 * @tdn: gets the number of the domain
 *
 * The first call allocates the domain, by ALLOC_TRANSPORT_DOMAIN. If the device has no domain left,
 * or the user has as many as a user can have, report_limit() logs that. May sleep.
 *
 * Return: 0; -ENOMEM, also if there is no domain left for the user; or the errno of a failed
 * command.
 */
int mlx5_ib_use_transport_domain(struct mlx5_ib_ucontext *context, u32 *tdn)
{
	u32 in[MLX5_ST_SZ_DW(alloc_transport_domain_in)] = {};
	int err = 0;

	guard(mutex)(&context->tdn_lock);
	if (!context->has_tdn)
		err = mlx5_ib_share_create(context, MLX5_IB_SHARE_TD, context->uid,
					   MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, in, sizeof(in),
					   &context->tdn);
	if (err)
		return err == -ENOSPC ? td_report_limit(to_mdev(context->ibucontext.device)) : err;
	context->has_tdn = true;
	*tdn = context->tdn;
	return 0;
}

/**
 * mlx5_ib_put_transport_domain - deallocate the transport domain of a context, if it has one
 * @context: the context, which is about to be freed; its transport interfaces are destroyed, or are
 *	orphans (orphan.c) of the context
 *
 * If firmware refuses, the domain becomes an orphan of the context, too. May sleep.
 */
void mlx5_ib_put_transport_domain(struct mlx5_ib_ucontext *context)
{
	struct mlx5_ib_queue_mem mem = {
		.context = context, .share = mlx5_ib_share_of(context, MLX5_IB_SHARE_TD),
	};

	if (!context->has_tdn)
		return;
	mlx5_ib_orphan_discard(to_mdev(context->ibucontext.device), context->uid,
			       MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, context->tdn,
			       "transport domain", &mem);
	context->has_tdn = false;
}
