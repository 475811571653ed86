// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * uverbs without libibverbs and libmlx5. Every write() command is sent by the ioctl that invokes
 * write() commands: it passes core and driver data separately, so a test can choose the length of
 * each.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port.h"
#include "rdma.h"
#include "uv.h"

#define MAX_ATTRS 16
/* User index of a queue whose completions have no room for one (CQE version 0). */
#define NO_UIDX 0xffffff

/* Whether the queues of the context that was opened last have user indexes. */
static bool has_uidx;

/**
 * uv_open_fd - open the character device of the first RDMA device, with no context yet
 *
 * Return: the file descriptor, or a negative errno.
 */
int uv_open_fd(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", rdma_uverbs_name());
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/**
 * uv_ioctl - one ioctl command
 * @fd: of the character device
 * @object: UVERBS_OBJECT_* or MLX5_IB_OBJECT_*
 * @method: of that object
 * @attrs: read, and written for outputs
 * @n: number of @attrs, at most MAX_ATTRS
 */
int uv_ioctl(int fd, uint16_t object, uint16_t method, struct ib_uverbs_attr *attrs, unsigned int n)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[MAX_ATTRS];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd.hdr) + n * sizeof(*attrs),
			.object_id = object,
			.method_id = method,
			.num_attrs = n,
			.driver_id = RDMA_DRIVER_MLX5,
		},
	};
	int ret;

	memcpy(cmd.attrs, attrs, n * sizeof(*attrs));
	ret = ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? -errno : 0;
	memcpy(attrs, cmd.attrs, n * sizeof(*attrs));
	return ret;
}

static struct ib_uverbs_attr attr_in(uint16_t id, const void *data, size_t len)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY,
	};

	/* Up to eight bytes travel in the attribute itself. */
	if (len <= sizeof(attr.data))
		memcpy(&attr.data, data, len);
	else
		attr.data = (uintptr_t)data;
	return attr;
}

static struct ib_uverbs_attr attr_out(uint16_t id, void *data, size_t len)
{
	return (struct ib_uverbs_attr){
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)data,
	};
}

/**
 * uv_cmd - one write() command, sent by ioctl
 * @fd: of the character device
 * @cmd: IB_USER_VERBS_CMD_*, or'ed with IB_USER_VERBS_CMD_FLAG_EXTENDED for an extended one
 * @in: the command's own request, @in_len bytes
 * @in_len: of @in in bytes
 * @out: the command's own response
 * @out_len: of @out in bytes; 0 for none
 * @uhw_in: the driver's request
 * @uhw_in_len: of @uhw_in in bytes; 0 for none
 * @uhw_out: the driver's response
 * @uhw_out_len: of @uhw_out in bytes; 0 for none
 */
int uv_cmd(int fd, uint32_t cmd, const void *in, size_t in_len, void *out, size_t out_len,
	   const void *uhw_in, size_t uhw_in_len, void *uhw_out, size_t uhw_out_len)
{
	struct ib_uverbs_attr attrs[5];
	uint64_t cmd64 = cmd;
	unsigned int n = 0;

	attrs[n++] = attr_in(UVERBS_ATTR_WRITE_CMD, &cmd64, sizeof(cmd64));
	attrs[n++] = attr_in(UVERBS_ATTR_CORE_IN, in, in_len);
	if (out_len)
		attrs[n++] = attr_out(UVERBS_ATTR_CORE_OUT, out, out_len);
	if (uhw_in_len)
		attrs[n++] = attr_in(UVERBS_ATTR_UHW_IN, uhw_in, uhw_in_len);
	if (uhw_out_len)
		attrs[n++] = attr_out(UVERBS_ATTR_UHW_OUT, uhw_out, uhw_out_len);
	return uv_ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, attrs, n);
}

/**
 * uv_get_context - GET_CONTEXT with a driver request and response of any length
 * @fd: of the character device
 * @req: the driver's request
 * @req_len: of @req in bytes
 * @resp: the driver's response
 * @resp_len: of @resp in bytes; 0 for none
 */
int uv_get_context(int fd, const void *req, size_t req_len, void *resp, size_t resp_len)
{
	struct ib_uverbs_attr attrs[4];
	uint32_t num_comp;
	uint64_t core;
	unsigned int n = 0;

	attrs[n++] = attr_out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &num_comp,
			      sizeof(num_comp));
	attrs[n++] = attr_out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	if (req_len)
		attrs[n++] = attr_in(UVERBS_ATTR_UHW_IN, req, req_len);
	if (resp_len)
		attrs[n++] = attr_out(UVERBS_ATTR_UHW_OUT, resp, resp_len);
	return uv_ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, attrs, n);
}

int uv_open_req(struct uv *uv, const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	int ret;

	memset(uv, 0, sizeof(*uv));
	uv->fd = uv_open_fd();
	if (uv->fd < 0)
		return uv->fd;
	ret = uv_get_context(uv->fd, req, sizeof(*req), &uv->resp, sizeof(uv->resp));
	if (ret)
		uv_close(uv);
	else
		has_uidx = uv->resp.cqe_version;
	return ret;
}

/* A valid user index for a queue of the context that was opened last. */
uint32_t uv_uidx(void)
{
	return has_uidx ? 0xbbb : NO_UIDX;
}

/**
 * uv_open_flags - flags for a context that may or may not have a user id
 *
 * Return: MLX5_IB_ALLOC_UCTX_DEVX if UV_DEVX is in the environment, else 0.
 */
uint32_t uv_open_flags(void)
{
	return getenv("UV_DEVX") ? MLX5_IB_ALLOC_UCTX_DEVX : 0;
}

static int open_with_flags(struct uv *uv, uint32_t flags)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16,
		.num_low_latency_bfregs = 4,
		.max_cqe_version = 1,
		.flags = flags,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
	};

	return uv_open_req(uv, &req);
}

/**
 * uv_open - open the device with libmlx5's default request: 16 bfregs, 4 of them low-latency
 * @uv: the context
 *
 * Unlike libmlx5 this function does not set MLX5_LIB_CAP_DYN_UAR, because a library that creates
 * its own UARs is given no bfregs.
 */
int uv_open(struct uv *uv)
{
	return open_with_flags(uv, uv_open_flags());
}

/* As uv_open(), but the context has a user id of the firmware. */
int uv_open_devx(struct uv *uv)
{
	return open_with_flags(uv, MLX5_IB_ALLOC_UCTX_DEVX);
}

void uv_close(struct uv *uv)
{
	if (uv->fd >= 0)
		close(uv->fd);
	uv->fd = -1;
}

void *uv_map_static_uar(int fd, unsigned int idx)
{
	void *p = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd,
		       uv_mmap_off(MLX5_IB_MMAP_NC_PAGE, idx / UV_PAGE_UARS));

	return p == MAP_FAILED ? NULL : p + idx % UV_PAGE_UARS * UV_HCA_PAGE;
}

int uv_mem_alloc(struct uv_mem *mem, size_t len)
{
	void *p;

	/* The buffer's pages, and one more for the doorbell record. */
	mem->len = (len + UV_PAGE - 1) & ~(UV_PAGE - 1);
	p = mmap(NULL, mem->len + UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	mem->buf = p;
	mem->dbr = p + mem->len;
	return 0;
}

void uv_mem_free(struct uv_mem *mem)
{
	if (mem->buf)
		munmap(mem->buf, mem->len + UV_PAGE);
	memset(mem, 0, sizeof(*mem));
}

int uv_make_dmabuf(size_t size)
{
	struct udmabuf_create create = { .size = size };
	int ret = -1, dev = open("/dev/udmabuf", O_RDWR);

	create.memfd = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (dev >= 0 && !ftruncate(create.memfd, size) &&
	    !fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		ret = ioctl(dev, UDMABUF_CREATE, &create);
	if (ret < 0)
		ret = -errno;
	close(create.memfd);
	close(dev);
	return ret;
}

int uv_alloc_pd(int fd, uint32_t *handle, uint32_t *pdn)
{
	struct ib_uverbs_alloc_pd req = {};
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct mlx5_ib_alloc_pd_resp drv = {};
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_ALLOC_PD, &req, sizeof(req), &resp, sizeof(resp), NULL,
		     0,
		     &drv, sizeof(drv));
	*handle = resp.pd_handle;
	if (pdn)
		*pdn = drv.pdn;
	return ret;
}

int uv_dealloc_pd(int fd, uint32_t handle)
{
	struct ib_uverbs_dealloc_pd req = { .pd_handle = handle };

	return uv_cmd(fd, IB_USER_VERBS_CMD_DEALLOC_PD, &req, sizeof(req), NULL, 0, NULL, 0, NULL,
		      0);
}

/**
 * uv_query_pd - the number that the device has for a protection domain
 * @fd: command fd
 * @handle: of the domain
 * @pdn: the number
 */
int uv_query_pd(int fd, uint32_t handle, uint32_t *pdn)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_QUERY_PD_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
		  .data = handle },
		attr_out(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, pdn, sizeof(*pdn)),
	};

	return uv_ioctl(fd, UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, attrs, 2);
}

int uv_reg_mr(int fd, uint32_t pd, void *addr, uint64_t len, uint64_t iova, uint32_t access,
	      struct ib_uverbs_reg_mr_resp *resp)
{
	struct ib_uverbs_reg_mr req = {
		.start = (uintptr_t)addr, .length = len, .hca_va = iova,
		.pd_handle = pd, .access_flags = access,
	};

	memset(resp, 0, sizeof(*resp));
	return uv_cmd(fd, IB_USER_VERBS_CMD_REG_MR, &req, sizeof(req), resp, sizeof(*resp), NULL, 0,
		      NULL, 0);
}

int uv_dereg_mr(int fd, uint32_t handle)
{
	struct ib_uverbs_dereg_mr req = { .mr_handle = handle };

	return uv_cmd(fd, IB_USER_VERBS_CMD_DEREG_MR, &req, sizeof(req), NULL, 0, NULL, 0, NULL, 0);
}

/**
 * uv_create_cq_raw - CREATE_CQ with a driver request that the test has composed
 * @fd: of the character device
 * @cqe: entries asked for
 * @drv: the driver's request
 * @drv_len: of @drv in bytes
 * @resp: the command's own response
 * @cqn: the number in the driver's response, or NULL
 */
int uv_create_cq_raw(int fd, uint32_t cqe, const void *drv, size_t drv_len,
		     struct ib_uverbs_create_cq_resp *resp, uint32_t *cqn)
{
	struct ib_uverbs_create_cq req = { .cqe = cqe, .comp_channel = -1 };
	struct mlx5_ib_create_cq_resp drv_resp = {};
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_CREATE_CQ, &req, sizeof(req), resp, sizeof(*resp),
		     drv, drv_len, &drv_resp, sizeof(drv_resp));
	if (cqn)
		*cqn = drv_resp.cqn;
	return ret;
}

/**
 * uv_create_cq_dbr - create a CQ with a doorbell record at a given address
 * @fd: of the character device
 * @cqe: entries asked for
 * @dbr: the doorbell record's address, or NULL for one in the CQ's own memory
 * @cq: the CQ
 */
int uv_create_cq_dbr(int fd, uint32_t cqe, void *dbr, struct uv_cq *cq)
{
	struct mlx5_ib_create_cq drv = { .cqe_size = 64 };
	struct ib_uverbs_create_cq_resp resp = {};
	size_t entries = 1;
	int ret;

	memset(cq, 0, sizeof(*cq));
	while (entries < cqe + 1ul)
		entries *= 2;
	ret = uv_mem_alloc(&cq->mem, entries * 64);
	if (ret)
		return ret;
	drv.buf_addr = (uintptr_t)cq->mem.buf;
	drv.db_addr = (uintptr_t)dbr ?: (uintptr_t)cq->mem.dbr;
	ret = uv_create_cq_raw(fd, cqe, &drv, sizeof(drv), &resp, &cq->cqn);
	if (ret) {
		uv_mem_free(&cq->mem);
		return ret;
	}
	cq->handle = resp.cq_handle;
	cq->cqe = resp.cqe;
	return 0;
}

int uv_create_cq(int fd, uint32_t cqe, struct uv_cq *cq)
{
	return uv_create_cq_dbr(fd, cqe, NULL, cq);
}

/**
 * uv_create_cq_attrs - create a CQ by ioctl, with attributes that the write command does not have
 * @fd: of the character device
 * @cqe: entries asked for
 * @drv: the driver's request
 * @more: further attributes
 * @n: number of @more, at most 4
 * @handle: the CQ
 */
int uv_create_cq_attrs(int fd, uint32_t cqe, const struct mlx5_ib_create_cq *drv,
		       const struct ib_uverbs_attr *more, unsigned int n, uint32_t *handle)
{
	struct mlx5_ib_create_cq_resp resp = {};
	uint32_t vector = 0, entries;
	uint64_t user = 0;
	struct ib_uverbs_attr attrs[MAX_ATTRS] = {
		{ .attr_id = UVERBS_ATTR_CREATE_CQ_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe)),
		attr_in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user, sizeof(user)),
		attr_in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector)),
		attr_out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, &entries, sizeof(entries)),
		attr_in(UVERBS_ATTR_UHW_IN, drv, sizeof(*drv)),
		attr_out(UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp)),
	};
	int ret;

	memcpy(attrs + 7, more, n * sizeof(*more));
	ret = uv_ioctl(fd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, attrs, 7 + n);
	*handle = attrs[0].data;
	return ret;
}

int uv_resize_cq(int fd, uint32_t handle, uint32_t cqe, const void *drv, size_t drv_len)
{
	struct ib_uverbs_resize_cq req = { .cq_handle = handle, .cqe = cqe };
	struct ib_uverbs_resize_cq_resp resp = {};

	return uv_cmd(fd, IB_USER_VERBS_CMD_RESIZE_CQ, &req, sizeof(req), &resp, sizeof(resp), drv,
		      drv_len, NULL, 0);
}

int uv_destroy_cq(int fd, struct uv_cq *cq)
{
	struct ib_uverbs_destroy_cq req = { .cq_handle = cq->handle };
	struct ib_uverbs_destroy_cq_resp resp;
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_DESTROY_CQ, &req, sizeof(req), &resp, sizeof(resp), NULL,
		     0,
		     NULL, 0);
	if (!ret)
		uv_mem_free(&cq->mem);
	return ret;
}

/**
 * uv_open_xrcd - open an XRC domain
 * @fd: of the character device
 * @file: descriptor of the file that identifies it, or -1
 * @oflags: O_CREAT, O_EXCL
 * @handle: the domain
 */
int uv_open_xrcd(int fd, int file, uint32_t oflags, uint32_t *handle)
{
	struct ib_uverbs_open_xrcd req = { .fd = file, .oflags = oflags };
	struct ib_uverbs_open_xrcd_resp resp = {};
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_OPEN_XRCD, &req, sizeof(req), &resp, sizeof(resp),
		     NULL, 0, NULL, 0);
	*handle = resp.xrcd_handle;
	return ret;
}

int uv_close_xrcd(int fd, uint32_t handle)
{
	struct ib_uverbs_close_xrcd req = { .xrcd_handle = handle };

	return uv_cmd(fd, IB_USER_VERBS_CMD_CLOSE_XRCD, &req, sizeof(req), NULL, 0, NULL, 0, NULL,
		      0);
}

/**
 * uv_change_mcast - attach a queue pair to a multicast group, or detach it
 * @fd: of the character device
 * @cmd: IB_USER_VERBS_CMD_ATTACH_MCAST or IB_USER_VERBS_CMD_DETACH_MCAST
 * @qp: handle of the queue pair, which is a UD queue pair
 * @group: selects one of the test's groups
 */
int uv_change_mcast(int fd, uint32_t cmd, uint32_t qp, uint16_t group)
{
	struct ib_uverbs_attach_mcast req = {
		.gid = { 0xff, 0x12, 0xa0, 0x1b, [14] = group >> 8, [15] = group },
		.qp_handle = qp, .mlid = 0xc777,
	};

	return uv_cmd(fd, cmd, &req, sizeof(req), NULL, 0, NULL, 0, NULL, 0);
}

/* Store the response, which CREATE_SRQ and CREATE_XSRQ have in common. */
static void store_srq_resp(struct uv_srq *srq, const struct ib_uverbs_create_srq_resp *resp,
			   const struct mlx5_ib_create_srq_resp *drv)
{
	srq->max_wr = resp->max_wr;
	srq->max_sge = resp->max_sge;
	srq->handle = resp->srq_handle;
	srq->srqn = drv->srqn;
}

/**
 * uv_create_xsrq - CREATE_XSRQ, for SRQs of any type
 * @fd: of the character device
 * @pd: handle
 * @drv: the driver's request
 * @drv_len: of @drv in bytes
 * @srq: type, domain, CQ and sizes asked for; filled in with the actual sizes, handle and number
 */
int uv_create_xsrq(int fd, uint32_t pd, const void *drv, size_t drv_len, struct uv_srq *srq)
{
	struct ib_uverbs_create_xsrq req = {
		.srq_type = srq->type, .pd_handle = pd, .max_wr = srq->max_wr,
		.max_sge = srq->max_sge, .cq_handle = srq->cq,
	};
	struct mlx5_ib_create_srq_resp drv_resp = {};
	struct ib_uverbs_create_srq_resp resp = {};
	int ret;

	/* @max_num_tags and @xrcd_handle are members of one union. */
	if (srq->type == IB_UVERBS_SRQT_TM)
		req.max_num_tags = 4;
	else
		req.xrcd_handle = srq->xrcd;
	ret = uv_cmd(fd, IB_USER_VERBS_CMD_CREATE_XSRQ, &req, sizeof(req), &resp, sizeof(resp), drv,
		     drv_len, &drv_resp, sizeof(drv_resp));
	if (!ret)
		store_srq_resp(srq, &resp, &drv_resp);
	return ret;
}

/**
 * uv_create_srq - CREATE_SRQ with a driver request that the test has composed
 * @fd: of the character device
 * @pd: handle
 * @drv: the driver's request
 * @drv_len: of @drv in bytes
 * @srq: sizes asked for; filled in with the actual sizes, handle and number
 */
int uv_create_srq(int fd, uint32_t pd, const void *drv, size_t drv_len, struct uv_srq *srq)
{
	struct ib_uverbs_create_srq req = {
		.pd_handle = pd, .max_wr = srq->max_wr, .max_sge = srq->max_sge,
	};
	struct mlx5_ib_create_srq_resp drv_resp = {};
	struct ib_uverbs_create_srq_resp resp = {};
	int ret;

	ret = uv_cmd(fd, IB_USER_VERBS_CMD_CREATE_SRQ, &req, sizeof(req), &resp, sizeof(resp), drv,
		     drv_len, &drv_resp, sizeof(drv_resp));
	if (!ret)
		store_srq_resp(srq, &resp, &drv_resp);
	return ret;
}

int uv_modify_srq(int fd, uint32_t handle, uint32_t mask, uint32_t max_wr, uint32_t limit)
{
	struct ib_uverbs_modify_srq req = {
		.srq_handle = handle, .attr_mask = mask, .max_wr = max_wr, .srq_limit = limit,
	};

	return uv_cmd(fd, IB_USER_VERBS_CMD_MODIFY_SRQ, &req, sizeof(req), NULL, 0, NULL, 0, NULL,
		      0);
}

int uv_query_srq(int fd, uint32_t handle, struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq req = { .srq_handle = handle };

	return uv_cmd(fd, IB_USER_VERBS_CMD_QUERY_SRQ, &req, sizeof(req), resp, sizeof(*resp), NULL,
		      0, NULL, 0);
}

int uv_destroy_srq(int fd, uint32_t handle)
{
	struct ib_uverbs_destroy_srq req = { .srq_handle = handle };
	struct ib_uverbs_destroy_srq_resp resp;

	return uv_cmd(fd, IB_USER_VERBS_CMD_DESTROY_SRQ, &req, sizeof(req), &resp, sizeof(resp),
		      NULL, 0, NULL, 0);
}

/**
 * uv_qp_req_init - compose a valid CREATE_QP request: 16 send and 16 receive requests of one SGE
 * @req: the request; its memory addresses are filled in by uv_create_qp()
 * @pd: handle
 * @cq: handle
 * @qp_type: IBV_QPT_*; IBV_QPT_XRC_SEND has no receive queue
 */
void uv_qp_req_init(struct uv_qp_req *req, uint32_t pd, uint32_t cq, uint8_t qp_type)
{
	*req = (struct uv_qp_req){
		.core = {
			.pd_handle = pd, .send_cq_handle = cq, .recv_cq_handle = cq,
			.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1,
			.sq_sig_all = 1, .qp_type = qp_type,
		},
		.drv = {
			.sq_wqe_count = 64, .rq_wqe_count = 16, .rq_wqe_shift = 4,
			.uidx = uv_uidx(),
		},
		.drv_len = sizeof(struct mlx5_ib_create_qp),
	};
	if (qp_type != IBV_QPT_XRC_SEND)
		return;
	req->core.max_recv_wr = 0;
	req->core.max_recv_sge = 0;
	req->drv.rq_wqe_count = 0;
	req->drv.rq_wqe_shift = 0;
}

int uv_create_qp_raw(int fd, const struct uv_qp_req *req, struct uv_qp *qp)
{
	int ret;

	memset(&qp->core, 0, sizeof(qp->core));
	memset(&qp->resp, 0, sizeof(qp->resp));
	ret = uv_cmd(fd, IB_USER_VERBS_CMD_CREATE_QP, &req->core, sizeof(req->core), &qp->core,
		     sizeof(qp->core), &req->drv, req->drv_len, &qp->resp, sizeof(qp->resp));
	qp->handle = qp->core.qp_handle;
	qp->qpn = qp->core.qpn;
	return ret;
}

/* Create a queue pair of the sizes in @req, in new memory; the record is @dbr unless it is NULL. */
int uv_create_qp_req(int fd, struct uv_qp_req *req, void *dbr, struct uv_qp *qp)
{
	int ret;

	memset(qp, 0, sizeof(*qp));
	ret = uv_mem_alloc(&qp->mem, ((size_t)req->drv.rq_wqe_count << req->drv.rq_wqe_shift) +
				     req->drv.sq_wqe_count * 64ul);
	if (ret)
		return ret;
	req->drv.buf_addr = (uintptr_t)qp->mem.buf;
	req->drv.db_addr = (uintptr_t)dbr ?: (uintptr_t)qp->mem.dbr;
	ret = uv_create_qp_raw(fd, req, qp);
	if (ret)
		uv_mem_free(&qp->mem);
	return ret;
}

int uv_create_qp(int fd, uint32_t pd, uint32_t cq, uint8_t qp_type, struct uv_qp *qp)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, pd, cq, qp_type);
	return uv_create_qp_req(fd, &req, NULL, qp);
}

int uv_create_qp_dbr(int fd, uint32_t pd, uint32_t cq, void *dbr, struct uv_qp *qp)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, pd, cq, IBV_QPT_RC);
	return uv_create_qp_req(fd, &req, dbr, qp);
}

int uv_destroy_qp_handle(int fd, uint32_t handle)
{
	struct ib_uverbs_destroy_qp req = { .qp_handle = handle };
	struct ib_uverbs_destroy_qp_resp resp;

	return uv_cmd(fd, IB_USER_VERBS_CMD_DESTROY_QP, &req, sizeof(req), &resp, sizeof(resp),
		      NULL, 0,
		      NULL, 0);
}

/*
 * Create a queue pair and destroy it; returns 0, or the errno with which the request
 * was refused.
 */
int uv_try_qp(int fd, const struct uv_qp_req *req)
{
	struct uv_qp qp = {};

	return uv_create_qp_raw(fd, req, &qp) ?: uv_destroy_qp_handle(fd, qp.handle);
}

/**
 * uv_create_qp_attrs - create an RC QP by ioctl, with attributes that the write command does not
 * have
 * @fd: of the character device
 * @req: PD, CQ, capacities and the driver's request
 * @more: further attributes
 * @n: number of @more, at most 4
 * @handle: the QP
 */
int uv_create_qp_attrs(int fd, const struct uv_qp_req *req, const struct ib_uverbs_attr *more,
		       unsigned int n, uint32_t *handle)
{
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = req->core.max_send_wr, .max_recv_wr = req->core.max_recv_wr,
		.max_send_sge = 1, .max_recv_sge = 1,
	}, got;
	uint64_t user = 0, type = IB_UVERBS_QPT_RC;
	struct mlx5_ib_create_qp_resp resp = {};
	uint32_t qpn;
	struct ib_uverbs_attr attrs[MAX_ATTRS] = {
		{ .attr_id = UVERBS_ATTR_CREATE_QP_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = UVERBS_ATTR_CREATE_QP_PD_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
		  .data = req->core.pd_handle },
		{ .attr_id = UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = req->core.send_cq_handle },
		{ .attr_id = UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = req->core.recv_cq_handle },
		attr_in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user, sizeof(user)),
		attr_in(UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap)),
		attr_in(UVERBS_ATTR_CREATE_QP_TYPE, &type, sizeof(type)),
		attr_out(UVERBS_ATTR_CREATE_QP_RESP_CAP, &got, sizeof(got)),
		attr_out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qpn, sizeof(qpn)),
		attr_in(UVERBS_ATTR_UHW_IN, &req->drv, req->drv_len),
		attr_out(UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp)),
	};
	int ret;

	memcpy(attrs + 11, more, n * sizeof(*more));
	ret = uv_ioctl(fd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, attrs, 11 + n);
	*handle = attrs[0].data;
	return ret;
}

int uv_destroy_qp(int fd, struct uv_qp *qp)
{
	int ret = uv_destroy_qp_handle(fd, qp->handle);

	if (!ret)
		uv_mem_free(&qp->mem);
	return ret;
}

int uv_modify_qp(int fd, const struct ib_uverbs_modify_qp *req)
{
	return uv_cmd(fd, IB_USER_VERBS_CMD_MODIFY_QP, req, sizeof(*req), NULL, 0, NULL, 0, NULL,
		      0);
}

/**
 * uv_qp_to_rts - take an RC QP from RESET to RTS
 * @fd: of the character device
 * @qp: the QP
 * @dest_qpn: number of the peer's QP
 * @dlid: LID of the port, as port_uv_dest() takes it
 */
int uv_qp_to_rts(int fd, struct uv_qp *qp, uint32_t dest_qpn, uint16_t dlid)
{
	struct ib_uverbs_modify_qp req = {
		.qp_handle = qp->handle,
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	int ret;

	ret = uv_modify_qp(fd, &req);
	if (ret)
		return ret;
	req.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	req.qp_state = IBV_QPS_RTR;
	req.path_mtu = IBV_MTU_1024;
	req.dest_qp_num = dest_qpn;
	port_uv_dest(&req.dest, dlid);
	req.max_dest_rd_atomic = 1;
	req.min_rnr_timer = 12;
	ret = uv_modify_qp(fd, &req);
	if (ret)
		return ret;
	req.attr_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	req.qp_state = IBV_QPS_RTS;
	req.timeout = 14;
	req.retry_cnt = 7;
	req.rnr_retry = 7;
	req.max_rd_atomic = 1;
	return uv_modify_qp(fd, &req);
}

/**
 * uv_alloc_rate - allocate an entry of the device's table of rates
 * @fd: command fd
 * @kbps: the rate
 * @handle: gets the handle
 */
int uv_alloc_rate(int fd, uint32_t kbps, uint32_t *handle)
{
	uint32_t rate = htobe32(kbps);
	uint64_t flags = 0;
	uint16_t index;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_PP_OBJ_ALLOC_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(MLX5_IB_ATTR_PP_OBJ_ALLOC_CTX, &rate, sizeof(rate)),
		attr_in(MLX5_IB_ATTR_PP_OBJ_ALLOC_FLAGS, &flags, sizeof(flags)),
		attr_out(MLX5_IB_ATTR_PP_OBJ_ALLOC_INDEX, &index, sizeof(index)),
	};
	int ret = uv_ioctl(fd, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, attrs, 4);

	*handle = attrs[0].data;
	return ret;
}

int uv_free_rate(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr = {
		.attr_id = MLX5_IB_ATTR_PP_OBJ_DESTROY_HANDLE,
		.flags = UVERBS_ATTR_F_MANDATORY, .data = handle,
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_DESTROY, &attr, 1);
}

/**
 * uv_query_eswitch_port - ask which e-switch a port is connected to
 * @fd: command fd
 * @port: number of the port
 */
int uv_query_eswitch_port(int fd, uint32_t port)
{
	struct mlx5_ib_uapi_query_port info;
	struct ib_uverbs_attr attrs[] = {
		attr_in(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port)),
		attr_out(MLX5_IB_ATTR_QUERY_PORT, &info, sizeof(info)),
	};

	return uv_ioctl(fd, UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, attrs, 2);
}

/* UVERBS_METHOD_QUERY_PORT_SPEED, which older headers do not have, and its attributes. */
enum { METHOD_QUERY_PORT_SPEED = UVERBS_METHOD_QUERY_GID_ENTRY + 1 };
enum { SPEED_PORT_NUM, SPEED_RESP };

/**
 * uv_query_port_speed - ask for the speed that the traffic of the function may have
 * @fd: command fd
 * @port: number of the port
 * @speed: gets the speed, in units of 100 Mb/s
 */
int uv_query_port_speed(int fd, uint32_t port, uint64_t *speed)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = SPEED_PORT_NUM, .len = sizeof(uint64_t),
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = port },
		attr_out(SPEED_RESP, speed, sizeof(*speed)),
	};

	return uv_ioctl(fd, UVERBS_OBJECT_DEVICE, METHOD_QUERY_PORT_SPEED, attrs, 2);
}

int uv_alloc_uar(int fd, uint32_t type, struct uv_uar *uar)
{
	uint64_t type64 = type;
	uint32_t len = 0;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type64, sizeof(type64)),
		attr_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &uar->mmap_off,
			 sizeof(uar->mmap_off)),
		attr_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len)),
		attr_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->page_id, sizeof(uar->page_id)),
	};
	int ret;

	memset(uar, 0, sizeof(*uar));
	ret = uv_ioctl(fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, attrs, 5);
	uar->handle = attrs[0].data;
	uar->mmap_len = len;
	return ret;
}

/**
 * uv_query_uar - the UAR of a dynamic bfreg
 * @fd: command fd
 * @bfreg: number of the bfreg, counted from the first dynamic one
 * @page_id: the UAR, by the device's number
 */
int uv_query_uar(int fd, uint32_t bfreg, uint32_t *page_id)
{
	struct ib_uverbs_attr attrs[] = {
		attr_in(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, &bfreg, sizeof(bfreg)),
		attr_out(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, page_id, sizeof(*page_id)),
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, attrs, 2);
}

int uv_free_uar(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr = {
		.attr_id = MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = handle,
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, &attr, 1);
}

/**
 * uv_alloc_dm_type - allocate device memory of a given type
 * @fd: command fd
 * @len: bytes
 * @log_align: log2 of the alignment of its address
 * @type: enum mlx5_ib_uapi_dm_type
 * @dm: filled in
 *
 * Return: 0 or a negative errno.
 */
int uv_alloc_dm_type(int fd, uint64_t len, uint32_t log_align, uint64_t type,
		     struct uv_dm *dm)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &len, sizeof(len)),
		attr_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &log_align, sizeof(log_align)),
		attr_in(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, &type, sizeof(type)),
		attr_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &dm->offset, sizeof(dm->offset)),
		attr_out(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &dm->page_idx,
			 sizeof(dm->page_idx)),
	};
	int ret = uv_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attrs, 6);

	dm->handle = attrs[0].data;
	return ret;
}

int uv_alloc_dm(int fd, uint64_t len, uint32_t log_align, struct uv_dm *dm)
{
	return uv_alloc_dm_type(fd, len, log_align, MLX5_IB_UAPI_DM_TYPE_MEMIC, dm);
}

int uv_free_dm(int fd, uint32_t handle)
{
	struct ib_uverbs_attr attr = {
		.attr_id = UVERBS_ATTR_FREE_DM_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = handle,
	};

	return uv_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, &attr, 1);
}

int uv_map_dm_op(int fd, uint32_t handle, uint8_t op, uint64_t *offset, uint16_t *page_idx)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = handle },
		attr_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		attr_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, offset, sizeof(*offset)),
		attr_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, page_idx, sizeof(*page_idx)),
	};

	return uv_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, attrs, 4);
}

int uv_reg_dm_mr(int fd, uint32_t pd, uint32_t dm, uint64_t offset, uint64_t len, uint32_t access,
		 uint32_t *mr)
{
	uint32_t lkey, rkey;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_REG_DM_MR_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset)),
		attr_in(UVERBS_ATTR_REG_DM_MR_LENGTH, &len, sizeof(len)),
		{ .attr_id = UVERBS_ATTR_REG_DM_MR_PD_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
		  .data = pd },
		attr_in(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &access, sizeof(access)),
		{ .attr_id = UVERBS_ATTR_REG_DM_MR_DM_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY,
		  .data = dm },
		attr_out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &lkey, sizeof(lkey)),
		attr_out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &rkey, sizeof(rkey)),
	};
	int ret = uv_ioctl(fd, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, attrs, 8);

	*mr = attrs[0].data;
	return ret;
}

int uv_reg_dmabuf_mr(int fd, uint32_t pd, uint64_t offset, uint64_t len, uint64_t iova,
		     uint32_t dmabuf, uint32_t access, uint32_t *mr, uint32_t *lkey)
{
	uint32_t rkey;
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		{ .attr_id = UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = pd },
		attr_in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset)),
		attr_in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &len, sizeof(len)),
		attr_in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova)),
		attr_in(UVERBS_ATTR_REG_DMABUF_MR_FD, &dmabuf, sizeof(dmabuf)),
		attr_in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, sizeof(access)),
		attr_out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, lkey, sizeof(*lkey)),
		attr_out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey)),
	};
	int ret = uv_ioctl(fd, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, attrs, 9);

	*mr = attrs[0].data;
	return ret;
}

/* From Linux 7.2's rdma/ib_user_ioctl_cmds.h, which is newer than the distribution's. */
enum {
	OBJECT_DMABUF = 0x12,
	METHOD_DMABUF_ALLOC = 0,
	ATTR_ALLOC_DMABUF_HANDLE = 0,
	ATTR_ALLOC_DMABUF_PGOFF = 0x1,
};

/**
 * uv_export_dmabuf - export what lies at an offset of the mmap space as a dma-buf
 * @fd: command fd
 * @offset: the offset in bytes, as for mmap(2)
 *
 * Return: file descriptor of the dma-buf, or a negative errno.
 */
int uv_export_dmabuf(int fd, uint64_t offset)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = ATTR_ALLOC_DMABUF_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
		attr_in(ATTR_ALLOC_DMABUF_PGOFF, &offset, sizeof(offset)),
	};
	int ret = uv_ioctl(fd, OBJECT_DMABUF, METHOD_DMABUF_ALLOC, attrs, 2);

	return ret ?: (int)attrs[0].data_s64;
}

static int advise_mr(int fd, uint32_t pd, uint64_t advice, uint32_t flags,
		     struct ib_uverbs_sge sge)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = UVERBS_ATTR_ADVISE_MR_PD_HANDLE,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = pd },
		attr_in(UVERBS_ATTR_ADVISE_MR_ADVICE, &advice, sizeof(advice)),
		attr_in(UVERBS_ATTR_ADVISE_MR_FLAGS, &flags, sizeof(flags)),
		attr_in(UVERBS_ATTR_ADVISE_MR_SGE_LIST, &sge, sizeof(sge)),
	};

	return uv_ioctl(fd, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, attrs, 4);
}

/* Map a part of an on-demand-paging region for writing; the pages are mapped when this returns. */
int uv_advise_mr(int fd, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct ib_uverbs_sge sge = { .addr = addr, .length = len, .lkey = lkey };

	return advise_mr(fd, pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			 IB_UVERBS_ADVISE_MR_FLAG_FLUSH, sge);
}

/* Have a part of an on-demand-paging region mapped for reading, and do not wait for it. */
int uv_prefetch_mr(int fd, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct ib_uverbs_sge sge = { .addr = addr, .length = len, .lkey = lkey };

	return advise_mr(fd, pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, sge);
}

/**
 * uv_pinned_pages - read how many pages the kernel counts as pinned for this process
 *
 * Return: the number of pages, or -1.
 */
long uv_pinned_pages(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib < 0 ? -1 : kib / (long)(UV_PAGE / 1024);
}
