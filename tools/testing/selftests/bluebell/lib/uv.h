/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * uverbs without the libraries: commands with arbitrary driver data, as a malicious program could
 * send them.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef BLUEBELL_UV_H
#define BLUEBELL_UV_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Two kinds of pages. A page of the host, UV_PAGE, has 4, 16 or 64 KiB: mmap() maps such pages, the
 * driver pins them, they count against RLIMIT_MEMLOCK, and ALLOC_UAR allocates one of them. Memory
 * of a size that is a constant has room for one page of any host, UV_PAGE_MAX. The smallest page of
 * the HCA, UV_HCA_PAGE, has 4 KiB on every host: a queue's context tells the HCA where in a page of
 * the HCA the queue starts, and the driver can describe a page of the host as one or several of
 * them.
 */
#define UV_PAGE ((unsigned long)getpagesize())
#define UV_PAGE_MAX 65536ul
#define UV_HCA_PAGE 4096ul
/*
 * A UAR has one page of the HCA, with two registers for processes. If the process knows of UARs of
 * this size (MLX5_LIB_CAP_4K_UAR), a page of the host has one UAR or several.
 */
#define UV_PAGE_UARS (UV_PAGE / UV_HCA_PAGE)
#define UV_PAGE_REGS (2 * UV_PAGE_UARS)
/* Of the registers and pages that the driver allocates when a process opens the device. */
#define UV_STATIC_PAGES(regs) (((regs) + UV_PAGE_REGS - 1) / UV_PAGE_REGS)

/*
 * The offset at which libmlx5 calls mmap(), in pages: bits 7:0 are bits 7:0 of the index, bits 15:8
 * are the command, and bits 23:16 are bits 15:8 of the index.
 */
static inline off_t uv_mmap_off(unsigned int cmd, unsigned long idx)
{
	return (off_t)((idx & 0xff) | cmd << 8 | (idx >> 8) << 16) * UV_PAGE;
}

/*
 * Attributes that say where the buffer of a queue is, of kernels later than the headers that the
 * tests are built with (struct ib_uverbs_buffer_desc).
 */
#define UV_CREATE_CQ_BUF_UMEM 12
#define UV_CREATE_QP_BUF_UMEM 15
#define UV_CREATE_QP_RQ_BUF_UMEM 16
#define UV_CREATE_QP_SQ_BUF_UMEM 17
#define UV_BUFFER_TYPE_VA 1

struct uv_buffer {
	uint32_t type;
	int32_t fd;
	uint32_t flags, optional_flags;
	uint64_t addr, length;
};

/*
 * One store of eight bytes to a doorbell register, ordered against all other accesses. Stores to a
 * device are posted: the read returns after the doorbell has arrived.
 */
static inline void ring(void *reg, uint64_t val)
{
	__atomic_store_n((uint64_t *)reg, val, __ATOMIC_SEQ_CST);
	(void)*(volatile uint64_t *)reg;
}

/* A context that was opened with the raw command. */
struct uv {
	int fd;
	struct mlx5_ib_alloc_ucontext_resp resp;
};

/* A queue's memory: buffer and doorbell record, freed by uv_mem_free(). */
struct uv_mem {
	void *buf;
	size_t len;
	__be32 *dbr;
};

struct uv_cq {
	struct uv_mem mem;
	uint32_t handle, cqn, cqe;
};

/* A complete CREATE_QP request, so that a test can make single fields invalid. */
struct uv_qp_req {
	struct ib_uverbs_create_qp core;
	struct mlx5_ib_create_qp drv;
	size_t drv_len;
};

struct uv_qp {
	struct uv_mem mem;
	uint32_t handle, qpn;
	struct ib_uverbs_create_qp_resp core;
	struct mlx5_ib_create_qp_resp resp;
};

int uv_open_fd(void);
int uv_ioctl(int fd, uint16_t object, uint16_t method, struct ib_uverbs_attr *attrs,
	     unsigned int n);
int uv_cmd(int fd, uint32_t cmd, const void *in, size_t in_len, void *out, size_t out_len,
	   const void *uhw_in, size_t uhw_in_len, void *uhw_out, size_t uhw_out_len);

int uv_get_context(int fd, const void *req, size_t req_len, void *resp, size_t resp_len);
int uv_open(struct uv *uv);
int uv_open_devx(struct uv *uv);
int uv_open_req(struct uv *uv, const struct mlx5_ib_alloc_ucontext_req_v2 *req);
uint32_t uv_open_flags(void);
void uv_close(struct uv *uv);
uint32_t uv_uidx(void);

/* Map the page that has static UAR @idx of the context. Return the UAR, or NULL. */
void *uv_map_static_uar(int fd, unsigned int idx);

int uv_mem_alloc(struct uv_mem *mem, size_t len);
void uv_mem_free(struct uv_mem *mem);
/* Make a dma-buf of memory of its own. Return its file descriptor. */
int uv_make_dmabuf(size_t size);

int uv_alloc_pd(int fd, uint32_t *handle, uint32_t *pdn);
int uv_dealloc_pd(int fd, uint32_t handle);
int uv_query_pd(int fd, uint32_t handle, uint32_t *pdn);

int uv_reg_mr(int fd, uint32_t pd, void *addr, uint64_t len, uint64_t iova, uint32_t access,
	      struct ib_uverbs_reg_mr_resp *resp);
int uv_dereg_mr(int fd, uint32_t handle);

int uv_create_cq_raw(int fd, uint32_t cqe, const void *drv, size_t drv_len,
		     struct ib_uverbs_create_cq_resp *resp, uint32_t *cqn);
int uv_create_cq(int fd, uint32_t cqe, struct uv_cq *cq);
int uv_create_cq_attrs(int fd, uint32_t cqe, const struct mlx5_ib_create_cq *drv,
		       const struct ib_uverbs_attr *more, unsigned int n, uint32_t *handle);
int uv_resize_cq(int fd, uint32_t handle, uint32_t cqe, const void *drv, size_t drv_len);
int uv_create_cq_dbr(int fd, uint32_t cqe, void *dbr, struct uv_cq *cq);
int uv_destroy_cq(int fd, struct uv_cq *cq);

int uv_open_xrcd(int fd, int file, uint32_t oflags, uint32_t *handle);
int uv_change_mcast(int fd, uint32_t cmd, uint32_t qp, uint16_t group);
int uv_close_xrcd(int fd, uint32_t handle);

/* An SRQ: its type, for an XRC SRQ its domain and CQ, and its sizes. */
struct uv_srq {
	uint32_t type, xrcd, cq;
	uint32_t max_wr, max_sge;
	uint32_t handle, srqn;
};

int uv_create_srq(int fd, uint32_t pd, const void *drv, size_t drv_len, struct uv_srq *srq);
int uv_create_xsrq(int fd, uint32_t pd, const void *drv, size_t drv_len, struct uv_srq *srq);
int uv_modify_srq(int fd, uint32_t handle, uint32_t mask, uint32_t max_wr, uint32_t limit);
int uv_query_srq(int fd, uint32_t handle, struct ib_uverbs_query_srq_resp *resp);
int uv_destroy_srq(int fd, uint32_t handle);

void uv_qp_req_init(struct uv_qp_req *req, uint32_t pd, uint32_t cq, uint8_t qp_type);
int uv_create_qp_raw(int fd, const struct uv_qp_req *req, struct uv_qp *qp);
int uv_create_qp_req(int fd, struct uv_qp_req *req, void *dbr, struct uv_qp *qp);
int uv_create_qp(int fd, uint32_t pd, uint32_t cq, uint8_t qp_type, struct uv_qp *qp);
int uv_create_qp_dbr(int fd, uint32_t pd, uint32_t cq, void *dbr, struct uv_qp *qp);
int uv_destroy_qp_handle(int fd, uint32_t handle);
int uv_try_qp(int fd, const struct uv_qp_req *req);
int uv_create_qp_attrs(int fd, const struct uv_qp_req *req, const struct ib_uverbs_attr *more,
		       unsigned int n, uint32_t *handle);
int uv_destroy_qp(int fd, struct uv_qp *qp);
int uv_modify_qp(int fd, const struct ib_uverbs_modify_qp *req);
int uv_qp_to_rts(int fd, struct uv_qp *qp, uint32_t dest_qpn, uint16_t dlid);

/* The UAR object behind mlx5dv_devx_alloc_uar(). */
struct uv_uar {
	uint32_t handle, page_id;
	uint64_t mmap_off, mmap_len;
};

int uv_alloc_rate(int fd, uint32_t kbps, uint32_t *handle);
int uv_free_rate(int fd, uint32_t handle);
int uv_query_eswitch_port(int fd, uint32_t port);
int uv_query_port_speed(int fd, uint32_t port, uint64_t *speed);
int uv_alloc_uar(int fd, uint32_t type, struct uv_uar *uar);
int uv_query_uar(int fd, uint32_t bfreg, uint32_t *page_id);
int uv_free_uar(int fd, uint32_t handle);

/* Device memory, and the index at which it can be mapped. */
struct uv_dm {
	uint32_t handle;
	uint64_t offset;	/* of the memory in its first page */
	uint16_t page_idx;
};

int uv_alloc_dm_type(int fd, uint64_t len, uint32_t log_align, uint64_t type, struct uv_dm *dm);
int uv_alloc_dm(int fd, uint64_t len, uint32_t log_align, struct uv_dm *dm);
int uv_free_dm(int fd, uint32_t handle);
int uv_map_dm_op(int fd, uint32_t handle, uint8_t op, uint64_t *offset, uint16_t *page_idx);
int uv_reg_dm_mr(int fd, uint32_t pd, uint32_t dm, uint64_t offset, uint64_t len, uint32_t access,
		 uint32_t *mr);

int uv_reg_dmabuf_mr(int fd, uint32_t pd, uint64_t offset, uint64_t len, uint64_t iova,
		     uint32_t dmabuf, uint32_t access, uint32_t *mr, uint32_t *lkey);
int uv_export_dmabuf(int fd, uint64_t offset);
int uv_advise_mr(int fd, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len);
int uv_prefetch_mr(int fd, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len);

long uv_pinned_pages(void);

#endif
