/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of XRC, and processes that share them. Functions return 0 or a negative errno unless they
 * say otherwise.
 */
#ifndef BLUEBELL_XRC_H
#define BLUEBELL_XRC_H

#include <stdint.h>
#include <sys/types.h>

#include "rdma.h"

/*
 * Another process. It reports when it has reached a certain point, and waits there until told to
 * continue.
 */
struct xrc_peer {
	pid_t pid;
	int to[2], from[2];
};

/* What the processes of a test share. */
struct xrc_info {
	int fd;
	uint32_t requester, target, srqn, rkey;
	uint64_t addr;
};

struct ibv_srq *xrc_create_srq(struct rdma *r, struct ibv_xrcd *xrcd, struct ibv_cq *cq);
struct ibv_qp *xrc_create_target(struct rdma *r, struct ibv_xrcd *xrcd);
struct ibv_qp *xrc_open_target(struct rdma *r, struct ibv_xrcd *xrcd, uint32_t qpn);
int xrc_close_target(struct ibv_qp *qp);
int xrc_create_file(void);
struct xrc_info *xrc_info_create(void);
int xrc_peer_ready(struct xrc_peer *p);
int xrc_peer_start(struct xrc_peer *p, int (*work)(struct xrc_peer *p, struct xrc_info *info),
		   struct xrc_info *info);
int xrc_peer_continue(struct xrc_peer *p);
int xrc_peer_end(struct xrc_peer *p);
void xrc_peer_kill(struct xrc_peer *p);

#endif
