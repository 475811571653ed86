/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gather and scatter: the data segments of a WQE as one run of bytes.
 */
#ifndef BLUEBELL_SG_H
#define BLUEBELL_SG_H

#include "cq.h"
#include "mkey.h"
#include "wqe.h"

enum cqe_error sg_gather(struct hca *hca, const struct mkey_user *user, const struct wqe_seg *seg,
			 unsigned int nseg, uint64_t off, void *buf, size_t len);
enum cqe_error sg_scatter(struct hca *hca, const struct mkey_user *user,
			  const struct wqe_seg *seg, unsigned int nseg, uint64_t off,
			  const void *buf, size_t len);

#endif
