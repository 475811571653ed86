/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Management datagrams that firmware answers.
 */

#ifndef BLUEBELL_MAD_H
#define BLUEBELL_MAD_H

#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

int mlx5_ib_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *in_wc,
			const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index);

#endif /* BLUEBELL_MAD_H */
