// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A CQ and an RC queue pair in umems, without libmlx5.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devx_queues.h"
#include "port.h"

#define LOG_RQ 4
#define SQ_OFFSET (16 << LOG_RQ)	/* behind a receive queue of WQEs of 16 bytes */
#define CQ_DBR 16		/* dword of the record: consumer index, then arm word */
#define CQ_ARM 0x20			/* registers of a UAR */
#define HOP_LIMIT 64
#define UDP_SPORT 0xc000	/* the lowest that RoCE uses */

static int reg(int fd, void *addr, uint64_t len, struct devx_umem *umem)
{
	*umem = (struct devx_umem){
		.addr = (uintptr_t)addr, .len = len, .access = IBV_ACCESS_LOCAL_WRITE,
	};
	return devx_reg_umem(fd, umem);
}

/* Register @mem, DEVX_QUEUES_BYTES, and create all that the queues need. */
int devx_queues_prepare(int fd, uint8_t *mem, struct devx_queues *q)
{
	memset(q, 0, sizeof(*q));
	q->cq_buf = mem;
	q->qp_buf = mem + UV_PAGE;
	q->dbr = (__be32 *)(mem + 3 * UV_PAGE);
	memset(mem, 0, DEVX_QUEUES_BYTES);
	return uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &q->uar) ?:
	       uv_alloc_pd(fd, &q->pd, &q->pdn) ?: devx_query_eqn(fd, 0, &q->eqn) ?:
	       reg(fd, q->cq_buf, UV_PAGE, &q->cq_umem) ?:
	       reg(fd, q->qp_buf, 2 * UV_PAGE, &q->qp_umem) ?:
	       reg(fd, q->dbr, UV_PAGE, &q->dbr_umem);
}

int devx_queues_release(int fd, struct devx_queues *q)
{
	return devx_dereg_umem(fd, q->dbr_umem.handle) ?: devx_dereg_umem(fd, q->qp_umem.handle) ?:
	       devx_dereg_umem(fd, q->cq_umem.handle) ?: uv_dealloc_pd(fd, q->pd) ?:
	       uv_free_uar(fd, q->uar.handle);
}

void devx_start_cq(struct devx_queues *q, struct devx_cmd *cmd)
{
	devx_start(cmd, DEVX_CREATE_CQ);
	devx_put(cmd, 0x10, 1 << 25);		/* dbr_umem_valid */
	devx_put(cmd, 0x14, q->dbr_umem.id);
	devx_put(cmd, 0x1c, DEVX_LOG_CQ << 24 | q->uar.page_id);
	devx_put(cmd, 0x24, q->eqn);
	devx_put(cmd, 0x4c, CQ_DBR * 4);	/* offset of the doorbell record */
	devx_put(cmd, 0x58, q->cq_umem.id);
	devx_put(cmd, 0x5c, 1u << 31);		/* cq_umem_valid */
}

void devx_start_qp(struct devx_queues *q, struct devx_cmd *cmd)
{
	devx_start(cmd, DEVX_CREATE_QP);
	devx_put(cmd, 0x18, 3 << 11);		/* RC, migrated */
	devx_put(cmd, 0x1c, q->pdn);
	devx_put(cmd, 0x20, LOG_RQ << 19 | DEVX_LOG_SQ << 11);
	devx_put(cmd, 0x24, q->uar.page_id);
	devx_put(cmd, 0x28, uv_uidx());
	devx_put(cmd, 0x94, q->cqn);
	devx_put(cmd, 0xb4, q->cqn);
	devx_put(cmd, 0xe8, 1 << 28);		/* dbr_umem_valid */
	devx_put(cmd, 0xfc, q->dbr_umem.id);
	devx_put(cmd, 0x108, q->qp_umem.id);
	devx_put(cmd, 0x10c, 1u << 31);		/* wq_umem_valid */
}

int devx_create_cq(int fd, struct devx_queues *q)
{
	struct devx_cmd cmd;
	int ret;

	devx_start_cq(q, &cmd);
	ret = devx_create(fd, &cmd, &q->cq);
	q->cqn = devx_get(&cmd, 8);
	return ret;
}

int devx_create_qp(int fd, struct devx_queues *q)
{
	struct devx_cmd cmd;
	int ret;

	devx_start_qp(q, &cmd);
	ret = devx_create(fd, &cmd, &q->qp);
	q->qpn = devx_get(&cmd, 8);
	return ret;
}

static uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static uint16_t port_lid(int fd)
{
	struct ib_uverbs_query_port req = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp = {};

	uv_cmd(fd, IB_USER_VERBS_CMD_QUERY_PORT, &req, sizeof(req), &resp, sizeof(resp), NULL, 0,
	       NULL, 0);
	return resp.lid;
}

/* The primary path of a command that connects a queue pair to its own port. */
static void put_path(struct devx_cmd *cmd, uint16_t lid)
{
	const struct port_gid *own = port_own_gid();
	int i;

	if (!port_is_ethernet()) {
		devx_put(cmd, 0x34, lid);
		return;
	}
	devx_put(cmd, 0x38, own->index << 16 | HOP_LIMIT);
	for (i = 0; i < 16; i += 4)
		devx_put(cmd, 0x40 + i, get_be32(own->gid.raw + i));
	devx_put(cmd, 0x50, own->v1 ? 0 : UDP_SPORT);
	devx_put(cmd, 0x54, own->mac[0] << 8 | own->mac[1]);
	devx_put(cmd, 0x58, get_be32(own->mac + 2));
}

/*
 * Begin one of the DEVX_CONNECT_STEPS commands that bring the queue pair to RTS, connected to
 * itself on a port with the LID @lid, which an Ethernet port does not have.
 */
void devx_start_connect(const struct devx_queues *q, unsigned int step, uint16_t lid,
			struct devx_cmd *cmd)
{
	static const uint16_t opcodes[DEVX_CONNECT_STEPS] = {
		DEVX_RST2INIT_QP, DEVX_INIT2RTR_QP, DEVX_RTR2RTS_QP,
	};

	devx_start(cmd, opcodes[step]);
	devx_put(cmd, 8, q->qpn);
	switch (opcodes[step]) {
	case DEVX_RST2INIT_QP:
		devx_put(cmd, 0x18, 3 << 11);
		devx_put(cmd, 0x54, 1 << 16);		/* vhca_port_num */
		break;
	case DEVX_INIT2RTR_QP:
		devx_put(cmd, 0x20, 3u << 29 | 20 << 24);	/* mtu 1024, log_msg_max */
		devx_put(cmd, 0x2c, q->qpn);
		put_path(cmd, lid);
		devx_put(cmd, 0xac, 12 << 24);		/* min_rnr_nak */
		break;
	case DEVX_RTR2RTS_QP:
		devx_put(cmd, 0x38, 14 << 27);		/* ack_timeout */
		devx_put(cmd, 0x88, 7 << 16 | 7 << 13);	/* retry_count, rnr_retry */
		break;
	}
}

int devx_connect_qp(int fd, struct devx_queues *q)
{
	uint16_t lid = port_lid(fd);
	struct devx_cmd cmd;
	int i, ret = 0;

	for (i = 0; i < DEVX_CONNECT_STEPS && !ret; i++) {
		devx_start_connect(q, i, lid, &cmd);
		ret = devx_modify(fd, q->qp, &cmd);
	}
	return ret;
}

static int ring_uar(int fd, struct devx_queues *q, unsigned int offset, uint64_t value)
{
	uint8_t *page = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, q->uar.mmap_off);

	if (page == MAP_FAILED)
		return -errno;
	ring(page + offset, value);
	munmap(page, UV_PAGE);
	return 0;
}

/* Arm the CQ for the completion that follows the first @ci. @sn numbers the events, from 0. */
int devx_arm_cq(int fd, struct devx_queues *q, unsigned int sn, unsigned int ci)
{
	uint32_t arm = (sn & 3) << 28 | ci;

	q->dbr[CQ_DBR] = htobe32(ci);
	q->dbr[CQ_DBR + 1] = htobe32(arm);
	return ring_uar(fd, q, CQ_ARM, htobe64((uint64_t)arm << 32 | q->cqn));
}

/*
 * Put a NOP into the queue as the @index-th WQE, counted from 0, and the count of posted WQEs into
 * the doorbell record. Returns what to write to the register DEVX_SQ_BELL.
 */
uint64_t devx_build_nop(struct devx_queues *q, unsigned int index)
{
	struct mlx5_wqe_ctrl_seg *ctrl;
	uint64_t bell;

	ctrl = (void *)(q->qp_buf + SQ_OFFSET + 64 * (index % (1 << DEVX_LOG_SQ)));
	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = htobe32(index << 8 | MLX5_OPCODE_NOP);
	ctrl->qpn_ds = htobe32(q->qpn << 8 | 1);
	ctrl->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	q->dbr[MLX5_SND_DBR] = htobe32(index + 1);
	memcpy(&bell, ctrl, sizeof(bell));
	return bell;
}

/* Put a NOP into the queue as devx_build_nop() does, and ring the doorbell. */
int devx_post_nop(int fd, struct devx_queues *q, unsigned int index)
{
	return ring_uar(fd, q, DEVX_SQ_BELL, devx_build_nop(q, index));
}

/* Opcode of the completion of the @index-th NOP in a CQ that has not wrapped; -1 if none comes. */
int devx_poll_nop(struct devx_queues *q, unsigned int index)
{
	volatile uint8_t *cqe = q->cq_buf + 64 * index;
	int i;

	for (i = 0; i < 5000; i++) {
		if (cqe[57] | cqe[58] | cqe[59])
			return cqe[63] >> 4;
		usleep(1000);
	}
	return -1;
}
