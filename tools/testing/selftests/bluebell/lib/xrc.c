// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects of XRC, and processes that share them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "uv.h"
#include "xrc.h"

#define ALL_OF_OPEN (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE)

struct ibv_srq *xrc_create_srq(struct rdma *r, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_attr attr = { .max_wr = 15, .max_sge = 2 };

	return rdma_create_xrc_srq(r, xrcd, cq, &attr);
}

struct ibv_qp *xrc_create_target(struct rdma *r, struct ibv_xrcd *xrcd)
{
	struct qp_cfg cfg = { .type = IBV_QPT_XRC_RECV, .xrcd = xrcd };

	return rdma_qp_create(r, NULL, &cfg);
}

struct ibv_qp *xrc_open_target(struct rdma *r, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = ALL_OF_OPEN, .qp_num = qpn, .xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(r->ctx, &attr);
}

/* libmlx5 (56.1) does not support the destruction and the reset of opened QPs: use raw commands. */
int xrc_close_target(struct ibv_qp *qp)
{
	return uv_destroy_qp_handle(qp->context->cmd_fd, qp->handle);
}

/* A file without a name, which exists as long as it is open. */
int xrc_create_file(void)
{
	return memfd_create("xrc", 0);
}

struct xrc_info *xrc_info_create(void)
{
	struct xrc_info *info = mmap(NULL, UV_PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (info == MAP_FAILED)
		return NULL;
	info->fd = xrc_create_file();
	return info;
}

int xrc_peer_ready(struct xrc_peer *p)
{
	char byte = 0;

	return write(p->from[1], &byte, 1) == 1 && read(p->to[0], &byte, 1) == 1 ? 0 : -EPIPE;
}

/* Start a process and wait until it is ready; returns 0, or -EPIPE if it has exited instead. */
int xrc_peer_start(struct xrc_peer *p, int (*work)(struct xrc_peer *p, struct xrc_info *info),
		   struct xrc_info *info)
{
	char byte;

	if (pipe(p->to) || pipe(p->from))
		return -errno;
	p->pid = fork();
	if (!p->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p->to[1]);
		close(p->from[0]);
		_exit(work(p, info));
	}
	close(p->to[0]);
	close(p->from[1]);
	return p->pid < 0 ? -errno : read(p->from[0], &byte, 1) == 1 ? 0 : -EPIPE;
}

/* Let the process continue, and wait until it is ready again. */
int xrc_peer_continue(struct xrc_peer *p)
{
	char byte = 0;

	return write(p->to[1], &byte, 1) == 1 && read(p->from[0], &byte, 1) == 1 ? 0 : -EPIPE;
}

/* Let the process continue until it exits; returns its exit status. */
int xrc_peer_end(struct xrc_peer *p)
{
	char byte = 0;
	int status;

	if (write(p->to[1], &byte, 1) != 1)
		return -errno;
	close(p->to[1]);
	close(p->from[0]);
	if (waitpid(p->pid, &status, 0) != p->pid)
		return -errno;
	return status;
}

void xrc_peer_kill(struct xrc_peer *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->to[1]);
	close(p->from[0]);
}
