/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of kernel verbs have in common: a device with two queue pairs that are connected
 * to each other, functions that post requests and wait for completions, and how a test fails.
 */
#ifndef KERNEL_VERBS_RIG_H
#define KERNEL_VERBS_RIG_H

#include <linux/completion.h>
#include <linux/if_ether.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#define BUF_PAGES	8
#define BUF_SIZE	(BUF_PAGES * PAGE_SIZE)
#define CQ_ENTRIES	256
#define MAX_WR		64
#define MAX_SGE		4
#define MAX_INLINE	64
#define READS		4	/* most RDMA READs and atomic operations in flight */
#define QKEY		0x11223344
#define GRH_BYTES	40
#define TIMEOUT_MS	10000
#define NUM_QPS		2
#define SRQ_WR		16
#define SRQ_SGE		3

/**
 * struct rig - a device, and two queue pairs on it that are connected to each other
 * @dev: the device
 * @pd: a protection domain
 * @cq: completion queue of each queue pair
 * @qp: the queue pairs
 * @buf: memory of each queue pair
 * @dma: DMA address of @buf
 * @mr: region that work requests open (IB_WR_REG_MR); NULL if the test needs none
 * @srq: what the queue pairs receive from; NULL if they have receive queues
 * @srq_attr: sizes of @srq
 * @limit: completed when an event reports that the limit of the SRQ has been reached
 * @last_wqe: completed when an event reports that a queue pair takes no more requests of the SRQ
 * @lid: LID of the port; an Ethernet port has none
 * @roce: the port is an Ethernet port
 * @gid: address of an Ethernet port
 * @gid_index: of @gid, in the port's table
 * @mac: of the Ethernet port's netdev
 */
struct rig {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq[NUM_QPS];
	struct ib_qp *qp[NUM_QPS];
	u8 *buf[NUM_QPS];
	u64 dma[NUM_QPS];
	struct ib_mr *mr;
	struct ib_srq *srq;
	struct ib_srq_attr srq_attr;
	struct completion limit;
	struct completion last_wqe[NUM_QPS];
	u16 lid;
	bool roce;
	union ib_gid gid;
	u8 gid_index;
	u8 mac[ETH_ALEN];
};

/**
 * struct rig_test - a test
 * @name: name by which processes ask for the test
 * @run: returns 0, -EOPNOTSUPP if the device lacks what the test needs, or another negative errno
 * @type: type of the two queue pairs
 * @ctx: who polls the completion queues
 * @srq: whether the queue pairs receive from an SRQ
 * @idle: the test needs no memory, because it posts nothing
 */
struct rig_test {
	const char *name;
	int (*run)(struct rig *rig);
	enum ib_qp_type type;
	enum ib_poll_context ctx;
	bool srq;
	bool idle;
};

/* The tests of each file. Each list ends with a test without a name. */
extern const struct rig_test send_tests[];
extern const struct rig_test memory_tests[];
extern const struct rig_test ud_tests[];
extern const struct rig_test event_tests[];
extern const struct rig_test srq_tests[];
extern const struct rig_test object_tests[];
extern const struct rig_test speed_tests[];

/* ---- how a test fails ---------------------------------------------------------- */

extern char rig_report[256];	/* what the test that ran last reports */

int rig_failed(const char *file, int line, const char *what, long long got, long long want);

#define FAILED(what, got, want) rig_failed(__FILE__, __LINE__, what, got, want)

#define EXPECT_EQ(want, expr) do {						\
	long long got_ = (long long)(expr), want_ = (long long)(want);		\
										\
	if (got_ != want_)							\
		return FAILED(#expr, got_, want_);				\
} while (0)
#define EXPECT(expr) EXPECT_EQ(1, !!(expr))
#define TRY(expr) do {								\
	int err_ = (expr);							\
										\
	if (err_)								\
		return err_;							\
} while (0)

/* Leave out the test, because the device lacks something. */
#define LACKS(what) do {							\
	strscpy(rig_report, what, sizeof(rig_report));				\
	return -EOPNOTSUPP;							\
} while (0)

/* ---- the rig ------------------------------------------------------------------- */

int rig_up(struct rig *rig, const struct rig_test *test);
void rig_down(struct rig *rig);
int rig_modify(struct ib_qp *qp, struct ib_qp_attr attr, int mask);
int rig_connect(struct rig *rig);
int rig_connect_pair(struct rig *rig, struct ib_qp *const qp[NUM_QPS]);
struct ib_qp *rig_make_qp(struct rig *rig, enum ib_qp_type type, struct ib_cq *cq);
struct ib_qp *rig_make_qp_on(struct rig *rig, enum ib_qp_type type, struct ib_cq *send_cq,
			     struct ib_cq *recv_cq);

/* ---- requests and completions -------------------------------------------------- */

void fill_pattern(u8 *buf, unsigned int len, unsigned int seed);
bool has_pattern(const u8 *buf, unsigned int len, unsigned int seed);

struct ib_sge rig_sge(struct rig *rig, int side, unsigned int off, unsigned int len);
int rig_post_recv(struct rig *rig, int side, unsigned int off, unsigned int len, u64 wr_id);
int rig_post_rdma(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 raddr,
		  u32 rkey, u64 wr_id);
int rig_post_send(struct rig *rig, enum ib_wr_opcode opcode, unsigned int len, u64 wr_id);
int rig_reap(struct rig *rig, int side, struct ib_wc *wc);
bool rig_idle(struct rig *rig);

void rig_address(struct rig *rig, struct rdma_ah_attr *attr);
struct ib_ah *rig_make_ah(struct rig *rig);
struct ib_ah *rig_make_group_ah(struct rig *rig, u16 mlid, union ib_gid *mgid);
int rig_post_datagram(struct rig *rig, int from, struct ib_ah *ah, u32 qpn, unsigned int len,
		      u64 wr_id);

#define REAP(rig, side, id, wc) do {						\
	TRY(rig_reap(rig, side, wc));						\
	EXPECT_EQ(IB_WC_SUCCESS, (wc)->status);					\
	EXPECT_EQ(id, (wc)->wr_id);						\
	EXPECT((wc)->qp == (rig)->qp[side]);					\
} while (0)

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
		    IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct waiter - a request on a completion queue that ib_core polls
 * @cqe: what the request's wr_cqe points to
 * @done: completed when the request has completed
 * @status: status of the completion
 */
struct waiter {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

void waiter_init(struct waiter *waiter);
int wait_for(struct waiter *waiter);

/* Open a region over a part of the second buffer, for the first queue pair to access. */
int rig_open_region(struct rig *rig, unsigned int off, unsigned int len);

/* Send a message from the first queue pair to the second one, which shows that both work. */
int test_send(struct rig *rig);

#endif
