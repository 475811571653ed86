// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The report of a context's UARs, doorbell registers and queues (bluebell-abi.h), and the report of
 * the contexts of all processes in debugfs: both must agree with the objects that the test has
 * created. Only Bluebell has these reports.
 */
#include <fcntl.h>
#include <glob.h>
#include <json-c/json.h>
#include <limits.h>
#include <pthread.h>
#include <rdma/bluebell-abi.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "binding.h"
#include "rights.h"
#include "test.h"
#include "trace.h"

#define NOT_BLUEBELL "only bluebell reports who holds which doorbell"
#define FILES "/sys/kernel/debug/mlx5/*/uars"
#define FORMATS "/sys/kernel/tracing/events/bluebell/*/format"
/* Sixteen registers and those that fill their last page; the UARs that these are on. */
#define STATIC_PAGES UV_STATIC_PAGES(16)
#define STATIC_UARS (STATIC_PAGES * UV_PAGE_UARS)
#define BFREGS (STATIC_PAGES * UV_PAGE_REGS)
#define LOW_LATENCY 4
#define DYN_BFREGS 1024
#define MOST 512	/* entries of a list in the tests */
#define POISON 0xa5

struct report {
	struct bluebell_uar_report_resp num;
	struct bluebell_uar uar[MOST];
	struct bluebell_bfreg bfreg[MOST];
	struct bluebell_queue queue[MOST];
};

static int report_ioctl(int fd, const void *req, size_t req_len, void *resp, size_t resp_len)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = BLUEBELL_ATTR_UAR_REPORT_REQ, .len = req_len,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)req },
		{ .attr_id = BLUEBELL_ATTR_UAR_REPORT_RESP, .len = resp_len,
		  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)resp },
	};

	return uv_ioctl(fd, MLX5_IB_OBJECT_UAR, BLUEBELL_METHOD_UAR_REPORT, attrs, 2);
}

static struct bluebell_uar_report_req request(struct report *r)
{
	return (struct bluebell_uar_report_req){
		.uars = (uintptr_t)r->uar, .bfregs = (uintptr_t)r->bfreg,
		.queues = (uintptr_t)r->queue, .max_uars = MOST, .max_bfregs = MOST,
		.max_queues = MOST,
	};
}

static int ask(int fd, struct report *r)
{
	struct bluebell_uar_report_req req = request(r);

	return report_ioctl(fd, &req, sizeof(req), &r->num, sizeof(r->num));
}

static struct bluebell_uar *find_uar(struct report *r, uint32_t index)
{
	unsigned int i;

	for (i = 0; i < r->num.num_uars; i++)
		if (r->uar[i].index == index)
			return &r->uar[i];
	return NULL;
}

static struct bluebell_queue *find_queue(struct report *r, uint8_t type, uint32_t number)
{
	unsigned int i;

	for (i = 0; i < r->num.num_queues; i++)
		if (r->queue[i].type == type && r->queue[i].number == number)
			return &r->queue[i];
	return NULL;
}

/* What is wrong with a report in itself: its lists and its numbers must agree. */
static const char *check(struct report *r)
{
	uint32_t qps = 0, cqs = 0, on_bfregs = 0, bfreg_qps = 0, queue_qps = 0;
	unsigned int i;

	for (i = 0; i < r->num.num_uars; i++) {
		if (i && r->uar[i].index <= r->uar[i - 1].index)
			return "UARs are not sorted, or one is there twice";
		qps += r->uar[i].num_qps;
		cqs += r->uar[i].num_cqs;
	}
	for (i = 0; i < r->num.num_bfregs; i++) {
		if (!find_uar(r, r->bfreg[i].uar))
			return "a register has no UAR";
		bfreg_qps += r->bfreg[i].num_qps;
	}
	for (i = 0; i < r->num.num_queues; i++) {
		if (!find_uar(r, r->queue[i].uar))
			return "a queue has no UAR";
		queue_qps += r->queue[i].type == BLUEBELL_QUEUE_QP;
		on_bfregs += r->queue[i].bfreg != BLUEBELL_NO_BFREG;
	}
	if (qps + cqs != r->num.num_queues || qps != queue_qps)
		return "the numbers of queues differ";
	return bfreg_qps == on_bfregs ? "" : "the numbers of queues on registers differ";
}

#define ASK(fd, r) do { \
	ASSERT_EQ(0, ask(fd, r)); \
	ASSERT_STREQ("", check(r)); \
} while (0)

/* --- One context ------------------------------------------------------------------------------ */

FIXTURE(report) {
	struct uv uv;
	uint32_t pd;
	struct uv_cq cq;
	struct report *r;
};

FIXTURE_SETUP(report)
{
	if (!driver_is("bluebell"))
		SKIP(return, NOT_BLUEBELL);
	self->r = calloc(1, sizeof(*self->r));
	ASSERT_NE(NULL, self->r);
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, NULL));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 63, &self->cq));
}

FIXTURE_TEARDOWN(report)
{
	uv_close(&self->uv);
	free(self->r);
}

static void *map_page(int fd, off_t off)
{
	void *p = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, off);

	return p == MAP_FAILED ? NULL : p;
}

TEST_F(report, new_context_has_its_static_pages)
{
	struct report *r = self->r;
	int i, class;

	ASK(self->uv.fd, r);
	EXPECT_EQ(STATIC_UARS, r->num.num_uars);
	EXPECT_EQ(BFREGS, r->num.num_bfregs);
	EXPECT_EQ(1, r->num.num_queues);
	for (i = 0; i < STATIC_UARS; i++) {
		EXPECT_EQ(BLUEBELL_UAR_STATIC, r->uar[i].origin);
		EXPECT_EQ(has_blueflame(&self->uv) ? MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF :
						     MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC,
			  r->uar[i].kind);
		EXPECT_EQ(0, r->uar[i].flags);
		EXPECT_EQ(0, r->uar[i].mappings);
	}
	for (i = 0; i < BFREGS; i++) {
		class = !i ? BLUEBELL_BFREG_HIGH_LATENCY :
			i < BFREGS - LOW_LATENCY ? BLUEBELL_BFREG_MEDIUM_LATENCY :
						   BLUEBELL_BFREG_LOW_LATENCY;
		EXPECT_EQ(i, r->bfreg[i].number);
		EXPECT_EQ(class, r->bfreg[i].bfreg_class);
		EXPECT_EQ(i % 2, r->bfreg[i].slot);
		if (i % 2)
			EXPECT_EQ(r->bfreg[i - 1].uar, r->bfreg[i].uar);
	}
	EXPECT_EQ(BLUEBELL_QUEUE_CQ, r->queue[0].type);
	EXPECT_EQ(self->cq.cqn, r->queue[0].number);
	EXPECT_EQ(r->bfreg[0].uar, r->queue[0].uar);
	EXPECT_EQ(BLUEBELL_NO_BFREG, r->queue[0].bfreg);
}

TEST_F(report, queue_pairs_are_on_the_registers_that_the_driver_told)
{
	struct bluebell_queue *queue;
	struct report *r = self->r;
	struct uv_qp qp[30];
	uint32_t index;
	int i;

	for (i = 0; i < ARRAY_SIZE(qp); i++)
		ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle,
					  i % 2 ? IBV_QPT_UD : IBV_QPT_RC, &qp[i]));
	ASK(self->uv.fd, r);
	EXPECT_EQ(1 + ARRAY_SIZE(qp), r->num.num_queues);
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		queue = find_queue(r, BLUEBELL_QUEUE_QP, qp[i].qpn);
		ASSERT_NE(NULL, queue) TH_LOG("QP %d", i);
		/* The index in the response counts all four registers of a UAR. */
		index = qp[i].resp.bfreg_index;
		EXPECT_EQ(index / 4 * 2 + index % 4, queue->bfreg);
		EXPECT_EQ(r->bfreg[queue->bfreg].uar, queue->uar);
		EXPECT_EQ(i % 2 ? IBV_QPT_UD : IBV_QPT_RC, queue->qp_type);
	}
	for (i = 0; i < ARRAY_SIZE(qp); i += 3)
		ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &qp[i]));
	ASK(self->uv.fd, r);
	for (i = 0; i < ARRAY_SIZE(qp); i++)
		EXPECT_EQ(i % 3 != 0, !!find_queue(r, BLUEBELL_QUEUE_QP, qp[i].qpn));
}

TEST_F(report, mappings_of_a_static_page_are_counted)
{
	const unsigned int page = STATIC_PAGES - 1;
	uint32_t uar;
	void *p[3];

	ASK(self->uv.fd, self->r);
	uar = self->r->bfreg[page * UV_PAGE_REGS].uar;
	p[0] = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, page));
	p[1] = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_WC_PAGE, page));
	p[2] = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_NC_PAGE, page));
	ASSERT_TRUE(p[0] && p[1] && p[2]);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(3, find_uar(self->r, uar)->mappings);
	munmap(p[1], UV_PAGE);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(2, find_uar(self->r, uar)->mappings);
	munmap(p[0], UV_PAGE);
	munmap(p[2], UV_PAGE);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(0, find_uar(self->r, uar)->mappings);
	/* The page can be mapped again. */
	p[0] = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, page));
	ASSERT_NE(NULL, p[0]);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(1, find_uar(self->r, uar)->mappings);
}

TEST_F(report, dynamic_page_appears_when_it_is_mapped)
{
	struct bluebell_uar *uar = NULL;
	struct report *r = self->r;
	struct bluebell_bfreg *bfreg;
	struct uv_qp_req req;
	struct uv_qp qp = {};
	unsigned int i;
	void *p;

	/* Use the last dynamic page, whose index has nine bits if pages have 4 KiB. */
	p = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC,
					      DYN_BFREGS / UV_PAGE_REGS - 1));
	ASSERT_NE(NULL, p);
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_BFREG_INDEX;
	req.drv.bfreg_index = DYN_BFREGS - 1;
	ASSERT_EQ(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	ASK(self->uv.fd, r);
	EXPECT_EQ(STATIC_UARS + UV_PAGE_UARS, r->num.num_uars);
	ASSERT_EQ(BFREGS + UV_PAGE_REGS, r->num.num_bfregs);
	bfreg = &r->bfreg[BFREGS + UV_PAGE_REGS - 1];
	for (i = 0; i < r->num.num_uars; i++)
		if (r->uar[i].origin == BLUEBELL_UAR_DYNAMIC)
			uar = &r->uar[i];
	ASSERT_NE(NULL, uar);
	EXPECT_EQ(1, uar->mappings);
	EXPECT_EQ(1, uar->num_qps);
	EXPECT_EQ(BFREGS + DYN_BFREGS - 1, bfreg->number);
	EXPECT_EQ(BLUEBELL_BFREG_DYNAMIC, bfreg->bfreg_class);
	EXPECT_EQ(1, bfreg->num_qps);
	EXPECT_EQ(uar->index, bfreg->uar);
	EXPECT_EQ(BFREGS + DYN_BFREGS - 1, find_queue(r, BLUEBELL_QUEUE_QP, qp.qpn)->bfreg);
	/* The UAR stays as long as the context. */
	munmap(p, UV_PAGE);
	ASK(self->uv.fd, r);
	EXPECT_EQ(STATIC_UARS + UV_PAGE_UARS, r->num.num_uars);
	EXPECT_EQ(0, find_uar(r, bfreg->uar)->mappings);
}

TEST_F(report, freed_object_is_reported_while_something_keeps_it)
{
	struct report *r = self->r;
	struct uv_qp_req req;
	struct uv_qp qp = {};
	struct uv_uar uar;
	void *p;

	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	ASK(self->uv.fd, r);
	ASSERT_NE(NULL, find_uar(r, uar.page_id));
	EXPECT_EQ(BLUEBELL_UAR_OBJECT, find_uar(r, uar.page_id)->origin);
	EXPECT_EQ(MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, find_uar(r, uar.page_id)->kind);
	EXPECT_EQ(0, find_uar(r, uar.page_id)->mappings);
	EXPECT_EQ(BFREGS, r->num.num_bfregs);

	p = map_page(self->uv.fd, uar.mmap_off);
	ASSERT_NE(NULL, p);
	uv_qp_req_init(&req, self->pd, self->cq.handle, IBV_QPT_RC);
	ASSERT_EQ(0, uv_mem_alloc(&qp.mem, 1 << 16));
	req.drv.buf_addr = (uintptr_t)qp.mem.buf;
	req.drv.db_addr = (uintptr_t)qp.mem.dbr;
	req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
	req.drv.bfreg_index = uar.page_id;
	ASSERT_EQ(0, uv_create_qp_raw(self->uv.fd, &req, &qp));
	ASK(self->uv.fd, r);
	EXPECT_EQ(1, find_uar(r, uar.page_id)->mappings);
	EXPECT_EQ(1, find_uar(r, uar.page_id)->num_qps);
	EXPECT_EQ(BLUEBELL_NO_BFREG, find_queue(r, BLUEBELL_QUEUE_QP, qp.qpn)->bfreg);

	ASSERT_EQ(0, uv_free_uar(self->uv.fd, uar.handle));
	ASK(self->uv.fd, r);
	ASSERT_NE(NULL, find_uar(r, uar.page_id));
	EXPECT_EQ(BLUEBELL_UAR_FREED, find_uar(r, uar.page_id)->flags);
	EXPECT_EQ(1, find_uar(r, uar.page_id)->mappings);
	munmap(p, UV_PAGE);
	ASK(self->uv.fd, r);
	ASSERT_NE(NULL, find_uar(r, uar.page_id));
	EXPECT_EQ(0, find_uar(r, uar.page_id)->mappings);
	EXPECT_EQ(1, find_uar(r, uar.page_id)->num_qps);
	ASSERT_EQ(0, uv_destroy_qp(self->uv.fd, &qp));
	ASK(self->uv.fd, r);
	EXPECT_EQ(NULL, find_uar(r, uar.page_id));
}

TEST_F(report, blueflame_object_and_its_cq)
{
	struct mlx5_ib_create_cq drv = { .cqe_size = 64 };
	struct ib_uverbs_create_cq_resp resp = {};
	struct report *r = self->r;
	struct uv_uar uar;
	struct uv_mem mem;
	uint32_t cqn;

	if (!has_blueflame(&self->uv))
		SKIP(return, NO_BLUEFLAME);
	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, &uar));
	ASSERT_EQ(0, uv_mem_alloc(&mem, 1 << 16));
	drv.buf_addr = (uintptr_t)mem.buf;
	drv.db_addr = (uintptr_t)mem.dbr;
	drv.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
	drv.uar_page_index = uar.page_id;
	ASSERT_EQ(0, uv_create_cq_raw(self->uv.fd, 63, &drv, sizeof(drv), &resp, &cqn));
	ASK(self->uv.fd, r);
	ASSERT_NE(NULL, find_uar(r, uar.page_id));
	EXPECT_EQ(MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF, find_uar(r, uar.page_id)->kind);
	EXPECT_EQ(1, find_uar(r, uar.page_id)->num_cqs);
	EXPECT_EQ(0, find_uar(r, uar.page_id)->num_qps);
	ASSERT_NE(NULL, find_queue(r, BLUEBELL_QUEUE_CQ, cqn));
	EXPECT_EQ(uar.page_id, find_queue(r, BLUEBELL_QUEUE_CQ, cqn)->uar);
}

TEST_F(report, queue_that_firmware_keeps_stays_in_it)
{
	struct uv_qp qp;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC, &qp));
	ASSERT_EQ(0, hca_do("inject op DESTROY_QP LIM_ERR 1"));
	EXPECT_GT(0, uv_destroy_qp_handle(self->uv.fd, qp.handle));
	EXPECT_EQ(1, hca_inject_clear());
	ASK(self->uv.fd, self->r);
	EXPECT_NE(NULL, find_queue(self->r, BLUEBELL_QUEUE_QP, qp.qpn));
	EXPECT_EQ(0, uv_destroy_qp_handle(self->uv.fd, qp.handle));
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(NULL, find_queue(self->r, BLUEBELL_QUEUE_QP, qp.qpn));
}

/* --- Requests that are wrong ------------------------------------------------------------------ */

TEST_F(report, list_that_does_not_fit_is_not_begun)
{
	uint32_t *max[3];
	struct bluebell_uar_report_req req;
	struct report *r = self->r;
	int i;

	for (i = 0; i < 3; i++) {
		memset(r, POISON, sizeof(*r));
		req = request(r);
		req.max_uars = STATIC_UARS;
		req.max_bfregs = BFREGS;
		req.max_queues = 1;
		max[0] = &req.max_uars;
		max[1] = &req.max_bfregs;
		max[2] = &req.max_queues;
		--*max[i];
		EXPECT_EQ(-ENOSPC, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num,
						sizeof(r->num)));
		EXPECT_EQ(STATIC_UARS, r->num.num_uars);
		EXPECT_EQ(BFREGS, r->num.num_bfregs);
		EXPECT_EQ(1, r->num.num_queues);
		EXPECT_EQ(POISON, *(uint8_t *)&r->uar[0]);
		EXPECT_EQ(POISON, *(uint8_t *)&r->bfreg[0]);
		EXPECT_EQ(POISON, *(uint8_t *)&r->queue[0]);
		++*max[i];
		EXPECT_EQ(0, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num, sizeof(r->num)));
		/* Nothing is written behind the last entry. */
		EXPECT_EQ(POISON, *(uint8_t *)&r->uar[STATIC_UARS]);
		EXPECT_EQ(POISON, *(uint8_t *)&r->bfreg[BFREGS]);
		EXPECT_EQ(POISON, *(uint8_t *)&r->queue[1]);
	}
	/* With room for no list, the answer has the numbers alone. */
	memset(&req, 0, sizeof(req));
	EXPECT_EQ(-ENOSPC, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num, sizeof(r->num)));
	EXPECT_EQ(STATIC_UARS, r->num.num_uars);
}

TEST_F(report, bad_addresses_are_a_fault)
{
	static const uint64_t bad[] = { 0, 8, 0xffff800000000000, ~0ull - 7 };
	struct bluebell_uar_report_req req;
	struct report *r = self->r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req = request(r);
		req.uars = bad[i];
		EXPECT_EQ(-EFAULT, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num,
						sizeof(r->num)));
		req = request(r);
		req.bfregs = bad[i];
		EXPECT_EQ(-EFAULT, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num,
						sizeof(r->num)));
		req = request(r);
		req.queues = bad[i];
		EXPECT_EQ(-EFAULT, report_ioctl(self->uv.fd, &req, sizeof(req), &r->num,
						sizeof(r->num)));
		req = request(r);
		EXPECT_EQ(-EFAULT, report_ioctl(self->uv.fd, &req, sizeof(req),
						(void *)(uintptr_t)bad[i], sizeof(r->num)));
		EXPECT_EQ(-EFAULT, report_ioctl(self->uv.fd, (void *)(uintptr_t)bad[i], sizeof(req),
						&r->num, sizeof(r->num)));
	}
	ASK(self->uv.fd, r);
}

TEST_F(report, request_of_another_length_or_with_unknown_fields_is_refused)
{
	struct {
		struct bluebell_uar_report_req req;
		uint64_t more;
	} req = { .req = request(self->r) };
	struct {
		struct bluebell_uar_report_resp resp;
		uint64_t more;
	} resp = { .more = ~0ull };
	int fd;

	EXPECT_EQ(0, report_ioctl(self->uv.fd, &req, sizeof(req), &resp, sizeof(resp)));
	EXPECT_EQ(0, resp.more);
	req.more = 1;
	EXPECT_EQ(-EOPNOTSUPP, report_ioctl(self->uv.fd, &req, sizeof(req), &resp, sizeof(resp)));
	req.more = 0;
	req.req.reserved = 1;
	EXPECT_EQ(-EOPNOTSUPP, report_ioctl(self->uv.fd, &req, sizeof(req), &resp, sizeof(resp)));
	req.req.reserved = 0;
	EXPECT_EQ(-EINVAL, report_ioctl(self->uv.fd, &req, sizeof(req.req) - 8, &resp,
					sizeof(resp)));
	EXPECT_EQ(-EINVAL, report_ioctl(self->uv.fd, &req, sizeof(req), &resp,
					sizeof(resp.resp) - 4));
	/* Ask by a file without a context. */
	fd = uv_open_fd();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, report_ioctl(fd, &req, sizeof(req), &resp, sizeof(resp)));
	close(fd);
}

/* --- Other processes -------------------------------------------------------------------------- */

TEST_F(report, forked_process_has_the_mappings_too)
{
	int to[2], from[2], status;
	struct report *r = self->r;
	uint32_t uar;
	char byte;
	pid_t pid;
	void *p;

	p = map_page(self->uv.fd, uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, 0));
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* The child asks for the same context, by the descriptor that it has inherited. */
		status = ask(self->uv.fd, r) || *check(r) ||
			 find_uar(r, r->bfreg[0].uar)->mappings != 2;
		if (write(from[1], "", 1) != 1 || read(to[0], &byte, 1) != 1)
			status = 1;
		_exit(status);
	}
	ASSERT_EQ(1, read(from[0], &byte, 1));
	ASK(self->uv.fd, r);
	uar = r->bfreg[0].uar;
	EXPECT_EQ(2, find_uar(r, uar)->mappings);
	munmap(p, UV_PAGE);
	ASK(self->uv.fd, r);
	EXPECT_EQ(1, find_uar(r, uar)->mappings);
	ASSERT_EQ(1, write(to[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	ASK(self->uv.fd, r);
	EXPECT_EQ(0, find_uar(r, uar)->mappings);
}

TEST_F(report, another_context_is_not_in_it)
{
	struct report *other = calloc(1, sizeof(*other));
	struct uv uv;
	unsigned int i;

	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, uv_open(&uv));
	ASK(uv.fd, other);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(0, other->num.num_queues);
	EXPECT_EQ(STATIC_UARS, other->num.num_uars);
	for (i = 0; i < other->num.num_uars; i++)
		EXPECT_EQ(NULL, find_uar(self->r, other->uar[i].index));
	uv_close(&uv);
	free(other);
}

/* --- All contexts, for root ------------------------------------------------------------------- */

static FILE *open_file(void)
{
	FILE *file = NULL;
	glob_t found;

	if (glob(FILES, 0, NULL, &found))
		return NULL;
	file = fopen(found.gl_pathv[0], "r");
	globfree(&found);
	return file;
}

/* Number of lines of each kind that follow the line of a context of a process. */
struct lines {
	int contexts, uars, bfregs, qps, cqs;
};

static struct lines count_lines(pid_t pid)
{
	struct lines n = {};
	FILE *file = open_file();
	bool mine = false;
	char line[256];
	int shown;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "context pid=%d ", &shown) == 1) {
			mine = shown == pid;
			n.contexts += mine;
			continue;
		}
		n.uars += mine && !strncmp(line, "uar ", 4);
		n.bfregs += mine && !strncmp(line, "bfreg ", 6);
		n.qps += mine && !strncmp(line, "qp ", 3);
		n.cqs += mine && !strncmp(line, "cq ", 3);
	}
	if (file)
		fclose(file);
	return n;
}

TEST_F(report, root_sees_the_same_in_debugfs)
{
	struct uv_uar uar;
	struct lines n;
	struct uv_qp qp;

	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IBV_QPT_RC, &qp));
	ASSERT_EQ(0, uv_alloc_uar(self->uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	n = count_lines(getpid());
	EXPECT_EQ(1, n.contexts);
	EXPECT_EQ(STATIC_UARS + UV_PAGE_UARS, n.uars);
	EXPECT_EQ(BFREGS, n.bfregs);
	EXPECT_EQ(1, n.qps);
	EXPECT_EQ(1, n.cqs);
	uv_close(&self->uv);
	EXPECT_EQ(0, count_lines(getpid()).contexts);
}

TEST_F(report, users_cannot_read_debugfs)
{
	struct stat st;
	glob_t found;
	int status;
	pid_t pid;

	ASSERT_EQ(0, glob(FILES, 0, NULL, &found));
	ASSERT_EQ(0, stat(found.gl_pathv[0], &st));
	EXPECT_EQ(0400, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (drop_privileges())
			_exit(2);
		_exit(open(found.gl_pathv[0], O_RDONLY) >= 0 || errno != EACCES);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	globfree(&found);
}

#define MANY 1000

/* Open contexts as rdma-core does, each with a UAR object. */
TEST_F(report, a_thousand_contexts_are_reported)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.max_cqe_version = 1, .flags = uv_open_flags(),
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};
	const struct rlimit files = { MANY + 100, MANY + 100 };
	struct uv *uv = calloc(MANY, sizeof(*uv));
	struct uv_uar uar;
	struct lines n;
	double start;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (hca_objects_left("uar") < MANY)
		SKIP(return, "the device has fewer UARs");
	if (uv_open_flags() && hca_objects_left("uctx") < MANY)
		SKIP(return, "the device has fewer user ids");
	ASSERT_NE(NULL, uv);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, uv_open_req(&uv[i], &req)) TH_LOG("context %d", i);
		ASSERT_EQ(0, uv_alloc_uar(uv[i].fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	}
	start = seconds();
	n = count_lines(getpid());
	TH_LOG("read in %.0f ms", (seconds() - start) * 1e3);
	EXPECT_EQ(MANY + 1, n.contexts);
	EXPECT_EQ(MANY * UV_PAGE_UARS + STATIC_UARS, n.uars);
	EXPECT_EQ(BFREGS, n.bfregs);
	for (i = 0; i < MANY; i++)
		uv_close(&uv[i]);
	EXPECT_EQ(1, count_lines(getpid()).contexts);
	free(uv);
}

/* --- The program uarmap ----------------------------------------------------------------------- */

/* Copy tools/uarmap to where any user may run it. */
static int copy_tool(char *dir)
{
	char exe[PATH_MAX], cmd[PATH_MAX + 128];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (len < 0 || !mkdtemp(dir))
		return -1;
	/* This program is build/selftests/uarmap. */
	exe[len] = 0;
	*strrchr(exe, '/') = 0;
	snprintf(cmd, sizeof(cmd), "cp -r %s/../../tools/uarmap/* %s && chmod -R go+rX %s", exe,
		 dir, dir);
	return system(cmd);
}

/* Run the tool for this process. Returns what it prints about the only context, or NULL. */
static struct json_object *run_tool(const char *dir, struct json_object **all)
{
	char cmd[PATH_MAX], text[1 << 16];
	struct json_object *list;
	size_t got;
	FILE *tool;

	*all = NULL;
	snprintf(cmd, sizeof(cmd), "%s/uarmap --json --pid %d", dir, getpid());
	tool = popen(cmd, "r");
	if (!tool)
		return NULL;
	got = fread(text, 1, sizeof(text) - 1, tool);
	text[got] = 0;
	if (pclose(tool))
		return NULL;
	*all = json_tokener_parse(text);
	if (!json_object_object_get_ex(*all, "devices", &list) ||
	    !json_object_object_get_ex(json_object_array_get_idx(list, 0), "contexts", &list) ||
	    json_object_array_length(list) != 1)
		return NULL;
	return json_object_array_get_idx(list, 0);
}

static int64_t number(struct json_object *object, const char *key)
{
	struct json_object *val;

	return json_object_object_get_ex(object, key, &val) ? json_object_get_int64(val) : -1;
}

static struct json_object *entry(struct json_object *context, const char *name, unsigned int i)
{
	struct json_object *list;

	if (!json_object_object_get_ex(context, name, &list))
		return NULL;
	return json_object_array_get_idx(list, i);
}

/* Compare what the program shows with the report; returns what is wrong, or NULL. */
static const char *compare(struct json_object *context, struct report *r)
{
	struct json_object *bfreg;
	unsigned int i;

	for (i = 0; i < r->num.num_uars; i++)
		if (number(entry(context, "uars", i), "index") != r->uar[i].index ||
		    number(entry(context, "uars", i), "mappings") != r->uar[i].mappings)
			return "a UAR is shown wrong";
	for (i = 0; i < r->num.num_bfregs; i++)
		if (number(entry(context, "bfregs", i), "uar") != r->bfreg[i].uar)
			return "a register is shown wrong";
	for (i = 0; i < r->num.num_queues; i++) {
		if (number(entry(context, "queues", i), "number") != r->queue[i].number ||
		    number(entry(context, "queues", i), "uar") != r->queue[i].uar)
			return "a queue is shown wrong";
		json_object_object_get_ex(entry(context, "queues", i), "bfreg", &bfreg);
		if (r->queue[i].bfreg == BLUEBELL_NO_BFREG ? !!bfreg :
		    json_object_get_int64(bfreg) != r->queue[i].bfreg)
			return "the register of a queue is shown wrong";
	}
	if (entry(context, "uars", r->num.num_uars) ||
	    entry(context, "bfregs", r->num.num_bfregs) ||
	    entry(context, "queues", r->num.num_queues))
		return "there is more than in the report";
	return "";
}

FIXTURE(program) {
	struct report *r;
	char dir[32];
};

FIXTURE_VARIANT(program) {
	bool root;
};

/* As root, the tool reads debugfs. */
FIXTURE_VARIANT_ADD(program, root) { .root = true };

/* As another user, the tool borrows the process's file descriptor and asks the driver. */
FIXTURE_VARIANT_ADD(program, user) { .root = false };

FIXTURE_SETUP(program)
{
	char scope[8] = "0";
	FILE *file;

	if (!driver_is("bluebell"))
		SKIP(return, NOT_BLUEBELL);
	file = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
	if (file) {
		fgets(scope, sizeof(scope), file);
		fclose(file);
	}
	if (!variant->root && *scope != '0')
		SKIP(return, "users may not trace their processes here");
	self->r = calloc(1, sizeof(*self->r));
	ASSERT_NE(NULL, self->r);
	strcpy(self->dir, "/tmp/uarmap-XXXXXX");
	ASSERT_EQ(0, copy_tool(self->dir));
	if (!variant->root)
		ASSERT_EQ(0, drop_privileges());
}

FIXTURE_TEARDOWN(program)
{
	free(self->r);
}

TEST_F(program, shows_what_the_report_says)
{
	struct json_object *all, *context;
	struct uv_uar uar;
	struct uv_cq cq;
	struct uv_qp qp;
	struct uv uv;
	uint32_t pd;

	ASSERT_EQ(0, uv_open(&uv));
	ASSERT_EQ(0, uv_alloc_pd(uv.fd, &pd, NULL));
	ASSERT_EQ(0, uv_create_cq(uv.fd, 63, &cq));
	ASSERT_EQ(0, uv_create_qp(uv.fd, pd, cq.handle, IBV_QPT_RC, &qp));
	ASSERT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	ASSERT_NE(NULL, map_page(uv.fd, uar.mmap_off));
	ASK(uv.fd, self->r);
	context = run_tool(self->dir, &all);
	ASSERT_NE(NULL, context);
	EXPECT_STREQ("", compare(context, self->r));
	json_object_put(all);
	uv_close(&uv);
}

/* --- Races ------------------------------------------------------------------------------------ */

struct racer {
	struct uv *uv;
	uint32_t pd, cq;
	volatile bool *stop;
	int err;
};

static void *create_and_destroy(void *arg)
{
	struct racer *racer = arg;
	struct uv_qp_req req;
	struct uv_qp qp, on_uar = {};
	struct uv_uar uar;
	int fd = racer->uv->fd;
	void *p;

	racer->err = uv_mem_alloc(&on_uar.mem, 1 << 16);
	while (!*racer->stop && !racer->err) {
		racer->err = uv_create_qp(fd, racer->pd, racer->cq, IBV_QPT_RC, &qp) ?:
			     uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar);
		if (racer->err)
			break;
		p = map_page(fd, uar.mmap_off);
		uv_qp_req_init(&req, racer->pd, racer->cq, IBV_QPT_RC);
		req.drv.buf_addr = (uintptr_t)on_uar.mem.buf;
		req.drv.db_addr = (uintptr_t)on_uar.mem.dbr;
		req.drv.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
		req.drv.bfreg_index = uar.page_id;
		racer->err = uv_create_qp_raw(fd, &req, &on_uar) ?: uv_free_uar(fd, uar.handle) ?:
			     uv_destroy_qp_handle(fd, on_uar.handle) ?: uv_destroy_qp(fd, &qp);
		if (p)
			munmap(p, UV_PAGE);
		p = map_page(fd, uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, STATIC_PAGES - 1));
		if (!p)
			racer->err = -errno;
		else
			munmap(p, UV_PAGE);
	}
	return NULL;
}

TEST_F(report, lists_agree_while_queues_and_mappings_come_and_go)
{
	volatile bool stop = false;
	struct racer racer[3] = {};
	pthread_t thread[3];
	double end = seconds() + 3;
	int i, asked = 0;

	for (i = 0; i < 3; i++) {
		racer[i] = (struct racer){ &self->uv, self->pd, self->cq.handle, &stop, 0 };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, create_and_destroy, &racer[i]));
	}
	while (seconds() < end) {
		EXPECT_EQ(0, ask(self->uv.fd, self->r));
		EXPECT_STREQ("", check(self->r));
		if (!(++asked % 16))
			EXPECT_EQ(1, count_lines(getpid()).contexts);
	}
	stop = true;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, racer[i].err);
	}
	EXPECT_LT(10, asked);
	ASK(self->uv.fd, self->r);
	EXPECT_EQ(STATIC_UARS, self->r->num.num_uars);
	EXPECT_EQ(1, self->r->num.num_queues);
}

/* The PCI address of the function, by which the events name the device; NULL if there is none. */
static const char *function(void)
{
	static char dir[PATH_MAX];
	struct binding b;

	return binding_find(&b) || binding_pci(&b, dir, sizeof(dir)) ? NULL : basename(dir);
}

TEST_F(report, events_tell_who_has_which_uar)
{
	const int fd = self->uv.fd, owner = getpid();
	const char *const dev = function();
	struct report *r = self->r;
	unsigned int i, dynamic = 0;
	void *of_object, *of_static, *of_dynamic;
	struct uv_uar uar;

	ASSERT_NE(NULL, dev);
	ASSERT_EQ(0, trace_start());
	if (hca_ctl_present()) {
		/* A UAR that firmware refuses is nobody's. */
		ASSERT_EQ(0, hca_do("inject op ALLOC_UAR INT_ERR 1"));
		EXPECT_GT(0, uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
		EXPECT_EQ(1, hca_inject_clear());
		EXPECT_EQ(NULL, trace_last(" uar_alloc: "));
	}
	EXPECT_EQ(0, uv_alloc_uar(fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	of_object = map_page(fd, uar.mmap_off);
	of_static = map_page(fd, uv_mmap_off(MLX5_IB_MMAP_NC_PAGE, STATIC_PAGES - 1));
	of_dynamic = map_page(fd, uv_mmap_off(MLX5_IB_MMAP_ALLOC_WC, 5));
	EXPECT_TRUE(of_object && of_static && of_dynamic);
	ASK(fd, r);
	/* The events name the first UAR of a page. */
	for (i = 0; i < r->num.num_uars && !dynamic; i++)
		if (r->uar[i].origin == BLUEBELL_UAR_DYNAMIC)
			dynamic = r->uar[i].index;
	EXPECT_TRUE(trace_has("uar_alloc: %s owner=%d uar=0x%x origin=object", dev, owner,
			      uar.page_id));
	EXPECT_TRUE(trace_has("uar_mmap: %s owner=%d uar=0x%x address=0x%lx nc err=0", dev, owner,
			      uar.page_id, (long)of_object));
	EXPECT_TRUE(trace_has("uar_mmap: %s owner=%d uar=0x%x address=0x%lx nc err=0", dev, owner,
			      r->bfreg[BFREGS - UV_PAGE_REGS].uar, (long)of_static));
	EXPECT_TRUE(trace_has("uar_alloc: %s owner=%d uar=0x%x origin=dynamic", dev, owner,
			      dynamic));
	EXPECT_TRUE(trace_has("uar_mmap: %s owner=%d uar=0x%x address=0x%lx wc err=0", dev, owner,
			      dynamic, (long)of_dynamic));
	munmap(of_object, UV_PAGE);
	EXPECT_EQ(NULL, trace_last(" uar_free: "));
	EXPECT_EQ(0, uv_free_uar(fd, uar.handle));
	EXPECT_TRUE(trace_has("uar_free: %s owner=%d uar=0x%x origin=object", dev, owner,
			      uar.page_id));
	EXPECT_EQ(0, trace_stop());
}

TEST_F(report, events_tell_which_queue_is_on_which_bfreg)
{
	const int fd = self->uv.fd, owner = getpid();
	const char *const dev = function();
	struct bluebell_queue queue = {};
	struct report *r = self->r;
	unsigned long record;
	struct uv_qp qp;
	struct uv_cq cq;

	ASSERT_NE(NULL, dev);
	ASSERT_EQ(0, trace_start());
	EXPECT_EQ(0, uv_create_cq(fd, 63, &cq));
	EXPECT_EQ(0, uv_create_qp(fd, self->pd, self->cq.handle, IBV_QPT_RC, &qp));
	record = (unsigned long)qp.mem.dbr;
	ASK(fd, r);
	if (find_queue(r, BLUEBELL_QUEUE_QP, qp.qpn))
		queue = *find_queue(r, BLUEBELL_QUEUE_QP, qp.qpn);
	EXPECT_TRUE(trace_has("bell_add: %s owner=%d cq=0x%x uar=0x%x bfreg=-1", dev, owner, cq.cqn,
			      r->bfreg[0].uar));
	EXPECT_TRUE(trace_has("bfreg_get: %s owner=%d bfreg=%u users=1", dev, owner, queue.bfreg));
	EXPECT_TRUE(trace_has("bell_add: %s owner=%d qp=0x%x uar=0x%x bfreg=%d", dev, owner, qp.qpn,
			      queue.uar, queue.bfreg));
	EXPECT_TRUE(trace_has("db_page_pin: %s address=0x%lx err=0", dev, record));
	EXPECT_EQ(0, uv_destroy_cq(fd, &cq));
	EXPECT_EQ(0, uv_destroy_qp(fd, &qp));
	EXPECT_TRUE(trace_has("bell_del: %s owner=%d cq=0x%x uar=0x%x bfreg=-1", dev, owner, cq.cqn,
			      r->bfreg[0].uar));
	EXPECT_TRUE(trace_has("bell_del: %s owner=%d qp=0x%x uar=0x%x bfreg=%d", dev, owner, qp.qpn,
			      queue.uar, queue.bfreg));
	EXPECT_TRUE(trace_has("bfreg_put: %s owner=%d bfreg=%u users=0", dev, owner, queue.bfreg));
	EXPECT_TRUE(trace_has("db_page_unpin: %s address=0x%lx err=0", dev, record));
	EXPECT_EQ(0, trace_stop());
}

/* trace-cmd and perf print events by their formats, and do not know the values of enumerators. */
TEST(formats_of_events_name_no_enumerator)
{
	char line[4096];
	size_t i;
	glob_t g;

	if (!driver_is("bluebell"))
		SKIP(return, NOT_BLUEBELL);
	ASSERT_EQ(0, glob(FORMATS, 0, NULL, &g));
	EXPECT_LT(5, g.gl_pathc);
	for (i = 0; i < g.gl_pathc; i++) {
		FILE *file = fopen(g.gl_pathv[i], "r");

		ASSERT_NE(NULL, file);
		while (fgets(line, sizeof(line), file))
			EXPECT_EQ(NULL, strstr(line, "BLUEBELL_"))
				TH_LOG("%s: %s", g.gl_pathv[i], line);
		fclose(file);
	}
	globfree(&g);
}

TEST_HARNESS_MAIN
