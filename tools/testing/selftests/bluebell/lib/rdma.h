/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers over libibverbs: open the device, connect two queue pairs on one port, post work requests
 * and wait for their completions.
 */
#ifndef BLUEBELL_RDMA_H
#define BLUEBELL_RDMA_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		    IBV_ACCESS_REMOTE_ATOMIC)
#define UD_QKEY 0x11111111
#define GRH_LEN 40

/* An opened device, and the one PD and CQ that most tests need. */
struct rdma {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_port_attr port;
};

/* How the queue pairs of a test differ from the default. Zero means the default. */
struct qp_cfg {
	enum ibv_qp_type type;
	uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_data;
	enum ibv_mtu mtu;
	uint8_t timeout, retry, rnr_retry, rnr_timer;
	bool no_rnr_retry;	/* rnr_retry is 0, not the default */
	bool no_retry;		/* retry is 0, not the default */
	int access;		/* rights of the peer; default: all that the device has; -1: none */
	bool selective;		/* completions only for signalled requests */
	uint8_t path_bits;	/* low bits of the LID that each QP of a pair uses */
	struct ibv_srq *srq;	/* where the QP takes its receive requests from */
	struct ibv_xrcd *xrcd;	/* domain of an XRC target; NULL: a pair opens its own */
};

/*
 * Two connected queue pairs, a buffer for each, and one MR over both buffers. If the type is
 * IBV_QPT_XRC_SEND, the second queue pair is the target: it receives into an SRQ of its domain,
 * whose completions go to the second CQ.
 */
struct pair {
	struct rdma *r;
	struct qp_cfg cfg;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint32_t srqn;		/* number of @srq, which sends name */
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *buf[2];
	size_t size;
};

double seconds(void);
double ms_now(void);
double race_seconds(void);
bool on_debug_kernel(void);
bool on_stock_kernel(void);
double soon_ms(void);

bool rdma_read_sysfs(const char *name, char *text, size_t size);
const char *rdma_uverbs_name(void);
const char *rdma_device_name(void);
struct ibv_context *rdma_open_device(void);
bool rdma_has_atomics(struct ibv_context *ctx);
bool rdma_has_odp(struct ibv_context *ctx);
bool rdma_has_paged_atomics(struct ibv_context *ctx, bool xrc);
bool rdma_has_qp_type(enum ibv_qp_type type);
int rdma_open(struct rdma *r);
void rdma_close(struct rdma *r);
int rdma_loop_groups(void);

bool rdma_has_xrc(struct ibv_context *ctx);
struct ibv_xrcd *rdma_open_xrcd(struct ibv_context *ctx, int fd, int oflags);
struct ibv_srq *rdma_create_xrc_srq(struct rdma *r, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
				    struct ibv_srq_attr *attr);
uint32_t rdma_srq_num(struct ibv_srq *srq);

struct ibv_qp *rdma_qp_create(struct rdma *r, struct ibv_cq *cq, const struct qp_cfg *cfg);
int rdma_qp_init(struct ibv_qp *qp, const struct qp_cfg *cfg);
int rdma_qp_rtr(struct ibv_qp *qp, const struct qp_cfg *cfg, uint32_t dest_qpn, uint16_t dlid);
int rdma_qp_rts(struct ibv_qp *qp, const struct qp_cfg *cfg);
int rdma_qp_connect(struct ibv_qp *qp, const struct qp_cfg *cfg, uint32_t dest_qpn, uint16_t dlid);
int rdma_qp_state(struct ibv_qp *qp);
int rdma_modify_state(struct ibv_qp *qp, enum ibv_qp_state state);

int pair_open(struct pair *p, struct rdma *r, const struct qp_cfg *cfg, size_t size);
void pair_close(struct pair *p);
int pair_reconnect(struct pair *p);
int pair_set_address(struct pair *p, struct ibv_ah_attr *attr);

void reserve_huge_pages(unsigned int n);
int post_recv(struct ibv_qp *qp, struct ibv_mr *mr, void *addr, uint32_t len, uint64_t id);
int pair_recv(struct pair *p, void *addr, uint32_t len, uint64_t id);
int pair_post_recv(struct pair *p, struct ibv_recv_wr *wr);
int post_srq_recv(struct ibv_srq *srq, struct ibv_mr *mr, void *addr, uint32_t len, uint64_t id);
int post_send(struct pair *p, struct ibv_send_wr *wr, void *addr, uint32_t len);
int reap(struct ibv_cq *cq, struct ibv_wc *wc);
int post_and_reap(struct pair *p, struct ibv_send_wr *wr, uint32_t len);
int pair_send_one(struct pair *p, uint32_t len, uint32_t recv_len, struct ibv_wc *wc);
int rdma_access(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va,
		uint32_t len);
int atomic_access(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t va,
		  uint64_t compare_add, uint64_t swap);
int reap_ok(struct ibv_cq *cq, struct ibv_wc *wc);
bool cq_stays_empty(struct ibv_cq *cq, unsigned int ms);

int next_async_event(struct ibv_context *ctx, struct ibv_async_event *ev, int timeout_ms);
bool wait_object_event(struct ibv_context *ctx, const void *object, enum ibv_event_type type,
		       int timeout_ms);
bool wait_port_event(struct ibv_context *ctx, enum ibv_event_type type, int timeout_ms);
int set_srq_limit(struct ibv_srq *srq, uint32_t limit);
int get_srq_limit(struct ibv_srq *srq);

void fill(void *buf, size_t len, unsigned int seed);
bool check_fill(const void *buf, size_t len, unsigned int seed);

#endif
