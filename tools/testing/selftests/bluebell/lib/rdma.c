// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Helpers over libibverbs: open the device, connect two queue pairs on one port, post work requests
 * and wait for their completions.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hca_ctl.h"
#include "kernel_file.h"
#include "port.h"
#include "rdma.h"

/* Outstanding reads and atomics of a queue pair, if the device allows so many. */
#define RD_ATOMIC 4
/* Long enough for an emulated HCA under a debug kernel on a busy machine. */
#define REAP_TIMEOUT_S 30
#define REAP_SPIN_S 0.0005
#define REAP_SLEEP_US 20

/**
 * seconds - the time since the machine was started, for comparison
 *
 * Return: the time in seconds.
 */
double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/**
 * ms_now - the time since the machine was started, for comparison
 *
 * Return: the time in milliseconds.
 */
double ms_now(void)
{
	return seconds() * 1e3;
}

/**
 * race_seconds - how long a test races two threads
 *
 * Return: the value of the variable ODP_RACE_SECONDS in the environment, or 2.
 */
double race_seconds(void)
{
	const char *s = getenv("ODP_RACE_SECONDS");

	return s ? atof(s) : 2;
}

/**
 * on_debug_kernel - tell whether this machine is a guest with the debug kernel
 */
bool on_debug_kernel(void)
{
	const char *kernel = getenv("BLUEBELL_KERNEL");

	return kernel && !strcmp(kernel, "debug");
}

/**
 * on_stock_kernel - tell whether this machine is a guest with the kernel that the driver is written
 *	for, so that no test is skipped for what an older kernel does
 */
bool on_stock_kernel(void)
{
	const char *kernel = getenv("BLUEBELL_KERNEL");

	return kernel && !strcmp(kernel, "stock");
}

/**
 * soon_ms - the time within which something has to happen that happens "soon"
 *
 * Return: a second, or on the debug kernel, whose checks take their time, five; in ms.
 */
double soon_ms(void)
{
	return on_debug_kernel() ? 5000 : 1000;
}

static struct ibv_device *first_device(void)
{
	static struct ibv_device **list;

	if (!list)
		list = ibv_get_device_list(NULL);
	if (!list || !list[0]) {
		fprintf(stderr, "# no RDMA device: is the driver loaded?\n");
		exit(1);
	}
	return list[0];
}

const char *rdma_uverbs_name(void)
{
	return first_device()->dev_name;
}

const char *rdma_device_name(void)
{
	return first_device()->name;
}

/**
 * rdma_read_sysfs - read a file of the device in sysfs
 * @name: of the file, below the directory of the device
 * @text: gets its first line, without the end of the line
 * @size: bytes of @text
 *
 * Return: whether there is such a file.
 */
bool rdma_read_sysfs(const char *name, char *text, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", rdma_device_name(), name);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, size, f))
		text[0] = 0;
	fclose(f);
	text[strcspn(text, "\n")] = 0;
	return true;
}

struct ibv_context *rdma_open_device(void)
{
	return ibv_open_device(first_device());
}

/* The device's attributes, which do not change: they are queried once. */
static const struct ibv_device_attr *device_attr(struct ibv_context *ctx)
{
	static struct ibv_device_attr attr;
	static bool known;

	known = known || !ibv_query_device(ctx, &attr);
	return &attr;
}

bool rdma_has_atomics(struct ibv_context *ctx)
{
	return device_attr(ctx)->atomic_cap != IBV_ATOMIC_NONE;
}

bool rdma_has_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
}

/**
 * rdma_has_paged_atomics - tell whether atomic operations may access paged memory
 * @ctx: the device
 * @xrc: of XRC queue pairs, not of RC ones
 */
bool rdma_has_paged_atomics(struct ibv_context *ctx, bool xrc)
{
	struct ibv_device_attr_ex attr;
	uint32_t caps;

	if (!rdma_has_atomics(ctx) || ibv_query_device_ex(ctx, NULL, &attr))
		return false;
	caps = xrc ? attr.xrc_odp_caps : attr.odp_caps.per_transport_caps.rc_odp_caps;
	return caps & IBV_ODP_SUPPORT_ATOMIC;
}

/**
 * rdma_has_qp_type - tell whether the device has queue pairs of a type
 * @type: RC, UC or UD
 *
 * No verb reports whether a device has UC, so the emulated HCA is asked. Without an emulated HCA,
 * UC is assumed to be there.
 */
bool rdma_has_qp_type(enum ibv_qp_type type)
{
	return type != IBV_QPT_UC || hca_cap("general", "uc");
}

/**
 * rdma_open - open the first device, with a PD and a CQ of 256 entries
 * @r: filled in
 *
 * The netdev of an Ethernet port is brought up: it is down after the device was gone.
 *
 * Return: 0 or a negative errno.
 */
int rdma_open(struct rdma *r)
{
	int ret;

	memset(r, 0, sizeof(*r));
	ret = port_up();
	if (ret)
		return ret;
	r->ctx = rdma_open_device();
	if (!r->ctx)
		return -errno;
	r->pd = ibv_alloc_pd(r->ctx);
	r->cq = ibv_create_cq(r->ctx, 255, NULL, NULL, 0);
	if (!r->pd || !r->cq || ibv_query_port(r->ctx, 1, &r->port))
		return -errno;
	return 0;
}

void rdma_close(struct rdma *r)
{
	if (r->cq)
		ibv_destroy_cq(r->cq);
	if (r->pd)
		ibv_dealloc_pd(r->pd);
	if (r->ctx)
		ibv_close_device(r->ctx);
	memset(r, 0, sizeof(*r));
}

/**
 * rdma_loop_groups - let queue pairs receive what their own port sends to multicast groups
 *
 * On an Ethernet port both drivers let them do so only while two contexts are open. The process
 * opens two, and keeps them.
 *
 * Return: 0 or a negative errno.
 */
int rdma_loop_groups(void)
{
	int i;

	if (!port_is_ethernet())
		return 0;
	for (i = 0; i < 2; i++)
		if (!rdma_open_device())
			return -errno;
	return 0;
}

bool rdma_has_xrc(struct ibv_context *ctx)
{
	return device_attr(ctx)->device_cap_flags & IBV_DEVICE_XRC;
}

/**
 * rdma_open_xrcd - open an XRC domain
 * @ctx: device
 * @fd: file whose inode identifies the domain, or -1
 * @oflags: O_CREAT, O_EXCL
 *
 * Return: the domain, or NULL with errno set.
 */
struct ibv_xrcd *rdma_open_xrcd(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(ctx, &attr);
}

/**
 * rdma_create_xrc_srq - create an SRQ in an XRC domain
 * @r: device and PD
 * @xrcd: the domain
 * @cq: gets the completions of its receives
 * @attr: sizes asked for; filled in with the actual sizes
 *
 * Return: the SRQ, or NULL with errno set.
 */
struct ibv_srq *rdma_create_xrc_srq(struct rdma *r, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
				    struct ibv_srq_attr *attr)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = *attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = r->pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(r->ctx, &init);

	*attr = init.attr;
	return srq;
}

/* The number by which an XRC requester addresses the SRQ; 0 if the SRQ has none. */
uint32_t rdma_srq_num(struct ibv_srq *srq)
{
	uint32_t num;

	return ibv_get_srq_num(srq, &num) ? 0 : num;
}

/*
 * One end of an XRC connection: a requester has a send queue only, a target neither queues nor a
 * PD.
 */
static struct ibv_qp *create_xrc_qp(struct rdma *r, struct ibv_cq *cq, const struct qp_cfg *cfg)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = cfg->type,
		.sq_sig_all = !cfg->selective,
	};

	if (cfg->type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = cfg->xrcd;
	} else {
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = r->pd;
		attr.send_cq = cq;
		attr.cap.max_send_wr = cfg->send_wr ?: 32;
		attr.cap.max_send_sge = cfg->send_sge ?: 4;
		attr.cap.max_inline_data = cfg->inline_data;
	}
	return ibv_create_qp_ex(r->ctx, &attr);
}

static bool is_xrc(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

/**
 * rdma_qp_create - create a queue pair
 * @r: device and PD
 * @cq: for both directions
 * @cfg: how the QP differs from the default
 *
 * Return: the QP, or NULL with errno set.
 */
struct ibv_qp *rdma_qp_create(struct rdma *r, struct ibv_cq *cq, const struct qp_cfg *cfg)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = cfg->srq,
		.cap = {
			.max_send_wr = cfg->send_wr ?: 32,
			.max_recv_wr = cfg->recv_wr ?: 32,
			.max_send_sge = cfg->send_sge ?: 4,
			.max_recv_sge = cfg->recv_sge ?: 4,
			.max_inline_data = cfg->inline_data,
		},
		.qp_type = cfg->type,
		.sq_sig_all = !cfg->selective,
	};

	if (is_xrc(cfg->type))
		return create_xrc_qp(r, cq, cfg);
	return ibv_create_qp(r->pd, &attr);
}

int rdma_qp_init(struct ibv_qp *qp, const struct qp_cfg *cfg)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = UD_QKEY,
		.qp_access_flags = cfg->access < 0 ? 0 : cfg->access ?: ALL_ACCESS,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (!cfg->access && !rdma_has_atomics(qp->context))
		attr.qp_access_flags &= ~IBV_ACCESS_REMOTE_ATOMIC;
	if (qp->qp_type == IBV_QPT_UC && cfg->access >= 0)
		attr.qp_access_flags &= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(qp, &attr, mask);
}

static uint8_t rd_atomic_limit(int most)
{
	return most < RD_ATOMIC ? most : RD_ATOMIC;
}

int rdma_qp_rtr(struct ibv_qp *qp, const struct qp_cfg *cfg, uint32_t dest_qpn, uint16_t dlid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = cfg->mtu ?: IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.rq_psn = 0xfffff0,	/* so that PSNs wrap within a test */
		.max_dest_rd_atomic = rd_atomic_limit(device_attr(qp->context)->max_qp_rd_atom),
		.min_rnr_timer = cfg->rnr_timer ?: 1,
	};
	int mask = IBV_QP_STATE;

	port_address(&attr.ah_attr, dlid);
	attr.ah_attr.src_path_bits = cfg->path_bits;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &attr, mask);
}

int rdma_qp_rts(struct ibv_qp *qp, const struct qp_cfg *cfg)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = cfg->timeout ?: 14,
		.retry_cnt = cfg->no_retry ? 0 : cfg->retry ?: 7,
		.rnr_retry = cfg->no_rnr_retry ? 0 : cfg->rnr_retry ?: 7,
		.max_rd_atomic = rd_atomic_limit(device_attr(qp->context)->max_qp_init_rd_atom),
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC || is_xrc(qp->qp_type))
		mask |= IBV_QP_TIMEOUT;
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &attr, mask);
}

/**
 * rdma_qp_connect - take a queue pair from RESET to RTS
 * @qp: the QP
 * @cfg: how the QP differs from the default
 * @dest_qpn: number of the peer's QP; not used for UD
 * @dlid: LID of the port, as port_address() takes it; not used for UD
 *
 * Return: 0 or an errno.
 */
int rdma_qp_connect(struct ibv_qp *qp, const struct qp_cfg *cfg, uint32_t dest_qpn, uint16_t dlid)
{
	return rdma_qp_init(qp, cfg) ?: rdma_qp_rtr(qp, cfg, dest_qpn, dlid) ?:
	       rdma_qp_rts(qp, cfg);
}

/*
 * The state as the HCA reports it, which may differ from the one the library has cached; -1 on
 * failure.
 */
int rdma_qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return -1;
	return attr.qp_state;
}

int rdma_modify_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int pair_connect(struct pair *p)
{
	int i, ret;

	for (i = 0; i < 2; i++) {
		ret = rdma_qp_connect(p->qp[i], &p->cfg, p->qp[!i]->qp_num, p->r->port.lid);
		if (ret)
			return -ret;
	}
	return 0;
}

/* Replace the target's SRQ by an empty one in the same domain. */
static int pair_new_target_srq(struct pair *p)
{
	struct ibv_srq_attr attr = {
		.max_wr = p->cfg.recv_wr ?: 32,
		.max_sge = p->cfg.recv_sge ?: 4,
	};

	if (p->srq && ibv_destroy_srq(p->srq))
		return -EBUSY;
	p->srq = rdma_create_xrc_srq(p->r, p->cfg.xrcd, p->cq[1], &attr);
	if (!p->srq)
		return -errno;
	p->srqn = rdma_srq_num(p->srq);
	return 0;
}

/* Give the target a domain, unless the caller has given one, and an SRQ. */
static int pair_open_target(struct pair *p)
{
	if (!p->cfg.xrcd) {
		p->xrcd = rdma_open_xrcd(p->r->ctx, -1, O_CREAT);
		if (!p->xrcd)
			return -errno;
		p->cfg.xrcd = p->xrcd;
	}
	return pair_new_target_srq(p);
}

static int pair_open_qps(struct pair *p)
{
	struct qp_cfg cfg = p->cfg;
	int i;

	for (i = 0; i < 2; i++) {
		if (i && cfg.type == IBV_QPT_XRC_SEND)
			cfg.type = IBV_QPT_XRC_RECV;
		p->qp[i] = rdma_qp_create(p->r, p->cq[i], &cfg);
		if (!p->qp[i])
			return -errno;
	}
	return 0;
}

/**
 * pair_open - create two queue pairs and connect them to each other
 * @p: filled in
 * @r: the device
 * @cfg: how they differ from the default
 * @size: bytes of each side's buffer
 *
 * Return: 0 or a negative errno.
 */
int pair_open(struct pair *p, struct rdma *r, const struct qp_cfg *cfg, size_t size)
{
	struct ibv_ah_attr ah;
	int i, ret = 0;

	memset(p, 0, sizeof(*p));
	p->r = r;
	p->cfg = *cfg;
	p->size = size;
	p->buf[0] = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (p->buf[0] == MAP_FAILED)
		return -errno;
	p->buf[1] = p->buf[0] + size;
	p->mr = ibv_reg_mr(r->pd, p->buf[0], 2 * size, ALL_ACCESS);
	if (!p->mr)
		return -errno;
	for (i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(r->ctx, 127, NULL, NULL, 0);
		if (!p->cq[i])
			return -errno;
	}
	if (cfg->type == IBV_QPT_XRC_SEND)
		ret = pair_open_target(p);
	if (!ret)
		ret = pair_open_qps(p);
	if (ret)
		return ret;
	if (cfg->type == IBV_QPT_UD) {
		port_address(&ah, r->port.lid);
		p->ah = ibv_create_ah(r->pd, &ah);
		if (!p->ah)
			return -errno;
	}
	return pair_connect(p);
}

void pair_close(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		if (p->qp[i])
			ibv_destroy_qp(p->qp[i]);
	if (p->srq)
		ibv_destroy_srq(p->srq);
	if (p->xrcd)
		ibv_close_xrcd(p->xrcd);
	for (i = 0; i < 2; i++)
		if (p->cq[i])
			ibv_destroy_cq(p->cq[i]);
	if (p->ah)
		ibv_destroy_ah(p->ah);
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->buf[0])
		munmap(p->buf[0], 2 * p->size);
	memset(p, 0, sizeof(*p));
}

/*
 * Reset both queue pairs, discard their requests and completions, and connect them again. Resetting
 * a target leaves the requests in its SRQ, so the SRQ is replaced.
 */
int pair_reconnect(struct pair *p)
{
	struct ibv_wc wc;
	int i, ret;

	for (i = 0; i < 2; i++) {
		ret = rdma_modify_state(p->qp[i], IBV_QPS_RESET);
		if (ret)
			return -ret;
	}
	for (i = 0; i < 2; i++)
		while (ibv_poll_cq(p->cq[i], 1, &wc) > 0)
			;
	ret = p->srq ? pair_new_target_srq(p) : 0;
	return ret ?: pair_connect(p);
}

/**
 * pair_set_address - send the datagrams of a UD pair to another address
 * @p: the pair
 * @attr: the address
 *
 * Return: 0 or a positive errno.
 */
int pair_set_address(struct pair *p, struct ibv_ah_attr *attr)
{
	int ret = ibv_destroy_ah(p->ah);

	if (ret)
		return ret;
	p->ah = ibv_create_ah(p->r->pd, attr);
	return p->ah ? 0 : errno;
}

/*
 * Ask the kernel to reserve @n huge pages of 2 MiB. This is the default size only on hosts with
 * pages of 4 KiB, so name it: MAP_HUGE_2MB, MFD_HUGE_2MB. If the kernel cannot reserve so many,
 * mapping them fails later.
 */
void reserve_huge_pages(unsigned int n)
{
	write_file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "%u", n);
}

int post_recv(struct ibv_qp *qp, struct ibv_mr *mr, void *addr, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = mr ? mr->lkey : 0 };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = mr ? 1 : 0 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

int post_srq_recv(struct ibv_srq *srq, struct ibv_mr *mr, void *addr, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = mr ? mr->lkey : 0 };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = mr ? 1 : 0 };
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* Post a receive to the second queue pair, or to its SRQ if it receives from one. */
int pair_post_recv(struct pair *p, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	return p->srq ? ibv_post_srq_recv(p->srq, wr, &bad) : ibv_post_recv(p->qp[1], wr, &bad);
}

/**
 * pair_recv - post a receive of one buffer for a pair's second queue pair
 * @p: the pair
 * @addr: in the pair's MR; NULL for no buffer at all
 * @len: in bytes
 * @id: of the request
 *
 * Return: 0 or an errno.
 */
int pair_recv(struct pair *p, void *addr, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = addr ? 1 : 0 };

	return pair_post_recv(p, &wr);
}

/**
 * post_send - post on a pair's first queue pair
 * @p: the pair
 * @wr: the request. If it has no sg_list, it gets one entry of @addr and @len. A UD request that
 *	has no destination gets the second queue pair; an XRC request that has no SRQ gets the
 *	pair's.
 * @addr: in the pair's MR
 * @len: in bytes
 *
 * Return: 0 or an errno.
 */
int post_send(struct pair *p, struct ibv_send_wr *wr, void *addr, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = len, .lkey = p->mr->lkey };
	struct ibv_send_wr *bad;

	if (!wr->sg_list) {
		wr->sg_list = &sge;
		wr->num_sge = 1;
	}
	if (p->cfg.type == IBV_QPT_UD && !wr->wr.ud.ah) {
		wr->wr.ud.ah = p->ah;
		wr->wr.ud.remote_qpn = p->qp[1]->qp_num;
		wr->wr.ud.remote_qkey = UD_QKEY;
	}
	if (p->srq && !wr->qp_type.xrc.remote_srqn)
		wr->qp_type.xrc.remote_srqn = p->srqn;
	return ibv_post_send(p->qp[0], wr, &bad);
}

/**
 * reap - wait for one completion and take it from the CQ
 * @cq: the CQ
 * @wc: the completion
 *
 * Return: its status (0 is success), -ETIMEDOUT, or -EIO when polling fails.
 */
int reap(struct ibv_cq *cq, struct ibv_wc *wc)
{
	double begin = seconds(), waited;
	int n;

	memset(wc, 0, sizeof(*wc));
	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			return -EIO;
		if (n)
			return wc->status;
		waited = seconds() - begin;
		/*
		 * Sleep: the emulated HCA may be waiting for the host's processor that runs this
		 * loop.
		 */
		if (waited > REAP_SPIN_S)
			usleep(REAP_SLEEP_US);
	} while (waited < REAP_TIMEOUT_S);
	return -ETIMEDOUT;
}

/**
 * post_and_reap - post on a pair's first queue pair and wait for the completion
 * @p: pair; reconnected if the request fails
 * @wr: request, for post_send() with the first buffer
 * @len: bytes of the buffer, unless @wr has a list of its own
 *
 * Return: the completion's status, -1 if the request could not be posted, or a negative errno of
 * reap().
 */
int post_and_reap(struct pair *p, struct ibv_send_wr *wr, uint32_t len)
{
	struct ibv_wc wc;
	int status;

	if (post_send(p, wr, p->buf[0], len))
		return -1;
	status = reap(p->cq[0], &wc);
	if (status)
		pair_reconnect(p);
	return status;
}

/**
 * pair_send_one - send one message to a pair's second queue pair, and wait until it has arrived
 * @p: the pair
 * @len: bytes of the first buffer to send
 * @recv_len: bytes of the second buffer to receive into
 * @wc: the completion of the receive
 *
 * Return: 0 or an errno if posting fails; otherwise as reap(), of the send or of the receive.
 */
int pair_send_one(struct pair *p, uint32_t len, uint32_t recv_len, struct ibv_wc *wc)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	return pair_recv(p, p->buf[1], recv_len, 1) ?: post_send(p, &wr, p->buf[0], len) ?:
	       reap_ok(p->cq[0], wc) ?: reap_ok(p->cq[1], wc);
}

/* An RDMA READ or WRITE of @len bytes at @va; returns as post_and_reap(). */
int rdma_access(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va,
		uint32_t len)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .wr.rdma = { .remote_addr = va, .rkey = rkey },
	};

	return post_and_reap(p, &wr, len);
}

/* An atomic operation at @va; the first buffer gets the old value. Returns as post_and_reap(). */
int atomic_access(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va,
		  uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.atomic = {
			.remote_addr = va, .rkey = rkey, .compare_add = compare_add, .swap = swap,
		},
	};

	return post_and_reap(p, &wr, 8);
}

/* As reap(), with a message if the completion is missing or not a success. */
int reap_ok(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int status = reap(cq, wc);

	if (status)
		fprintf(stderr, "# completion: %s, vendor %#x\n",
			status < 0 ? "none came" : ibv_wc_status_str(status), wc->vendor_err);
	return status;
}

bool cq_stays_empty(struct ibv_cq *cq, unsigned int ms)
{
	double end = seconds() + ms / 1e3;
	struct ibv_wc wc;

	do {
		if (ibv_poll_cq(cq, 1, &wc))
			return false;
		usleep(1000);
	} while (seconds() < end);
	return true;
}

/**
 * next_async_event - wait for one asynchronous event and acknowledge it
 * @ctx: device
 * @ev: the event
 * @timeout_ms: how long to wait
 *
 * Return: 0 or -ETIMEDOUT.
 */
int next_async_event(struct ibv_context *ctx, struct ibv_async_event *ev, int timeout_ms)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return -ETIMEDOUT;
	if (ibv_get_async_event(ctx, ev))
		return -errno;
	ibv_ack_async_event(ev);
	return 0;
}

/**
 * wait_object_event - wait for an asynchronous event of an object, and skip all others
 * @ctx: device
 * @object: the struct ibv_cq, ibv_qp or ibv_srq that the event is about
 * @type: of the event
 * @timeout_ms: how long to wait for each event
 *
 * Return: false if no event arrives for @timeout_ms.
 */
bool wait_object_event(struct ibv_context *ctx, const void *object, enum ibv_event_type type,
		       int timeout_ms)
{
	struct ibv_async_event ev;

	/* The members of the union that are objects are all pointers. */
	while (!next_async_event(ctx, &ev, timeout_ms))
		if (ev.event_type == type && (const void *)ev.element.qp == object)
			return true;
	return false;
}

/**
 * wait_port_event - wait for an asynchronous event of port 1, and skip all others
 * @ctx: device
 * @type: of the event
 * @timeout_ms: how long to wait for each event
 *
 * Return: false if no event arrives for @timeout_ms, or if the event names another port.
 */
bool wait_port_event(struct ibv_context *ctx, enum ibv_event_type type, int timeout_ms)
{
	struct ibv_async_event ev;

	while (!next_async_event(ctx, &ev, timeout_ms))
		if (ev.event_type == type)
			return ev.element.port_num == 1;
	return false;
}

int set_srq_limit(struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
}

int get_srq_limit(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(srq, &attr) ? -1 : attr.srq_limit;
}

/* Fill a buffer with a pattern in which no two neighbouring blocks are the same. */
void fill(void *buf, size_t len, unsigned int seed)
{
	uint8_t *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (i * 7 + (i >> 8) * 13 + seed * 31 + 1) & 0xff;
}

/*
 * Check that a buffer still holds the pattern of fill(), with a message about the first
 * wrong byte.
 */
bool check_fill(const void *buf, size_t len, unsigned int seed)
{
	const uint8_t *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != ((i * 7 + (i >> 8) * 13 + seed * 31 + 1) & 0xff)) {
			fprintf(stderr, "# byte %zu of %zu is %#x\n", i, len, p[i]);
			return false;
		}
	return true;
}
