/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the CQE of a received frame says of the frame. Pure.
 */
#ifndef BLUEBELL_NIC_CQE_H
#define BLUEBELL_NIC_CQE_H

#include "cq.h"
#include "frame.h"
#include "rss.h"

#define CQE_VLAN_STRIPPED	1	/* of l4_l3_hdr_type */

struct cqe_frame nic_cqe_of(const struct frame *f, const struct rss *rss,
			    const struct rss_hash *hash);

#endif
