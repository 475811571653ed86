// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Why requests are refused: with dynamic debug on, the kernel's log has one line for each refused
 * request, with the device, the process, the errno and the reason; with it off, none.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devx_cmd.h"
#include "kernel_file.h"
#include "klog.h"
#include "test.h"

#define CONTROL "/proc/dynamic_debug/control"

/* A device that is opened by the library, and once more without it. */
FIXTURE(refusals) {
	struct rdma r;
	struct uv uv;
	uint32_t pd, cq;
};

static int say_why(bool on)
{
	return write_file(CONTROL, "module bluebell %cp", on ? '+' : '-');
}

FIXTURE_SETUP(refusals)
{
	struct uv_cq cq;
	uint32_t pdn;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib says less");
	if (access(CONTROL, W_OK))
		SKIP(return, "this kernel has no dynamic debug");
	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, &pdn));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 16, &cq));
	self->cq = cq.handle;
}

FIXTURE_TEARDOWN(refusals)
{
	say_why(false);
	uv_close(&self->uv);
	rdma_close(&self->r);
}

/* The fixture, which each function below uses to make one request. */
#define ASKER FIXTURE_DATA(refusals)

static int ask_cq(ASKER *a)
{
	struct mlx5_ib_create_cq drv = { .cqe_size = 64, .cqe_comp_en = 2 };
	struct ib_uverbs_create_cq_resp resp;

	return uv_create_cq_raw(a->uv.fd, 1, &drv, sizeof(drv), &resp, NULL);
}

static int ask_qp(ASKER *a)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, a->pd, a->cq, IB_UVERBS_QPT_RC);
	req.drv.rq_wqe_count = 3;
	return uv_try_qp(a->uv.fd, &req);
}

static int ask_send_queue(ASKER *a)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, a->pd, a->cq, IB_UVERBS_QPT_RC);
	req.core.max_send_wr = 9;
	req.drv.sq_wqe_count = 8;
	return uv_try_qp(a->uv.fd, &req);
}

/* Raw packets are for Ethernet ports; ib_core lets a user with CAP_NET_RAW ask for them. */
static int ask_qp_type(ASKER *a)
{
	struct uv_qp_req req;

	uv_qp_req_init(&req, a->pd, a->cq, IB_UVERBS_QPT_RAW_PACKET);
	return uv_try_qp(a->uv.fd, &req);
}

static int ask_srq(ASKER *a)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a->r.pd, &attr);
	struct ibv_srq_attr limit = { .srq_limit = 10000 };
	int err = srq ? -ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) : -errno;

	if (srq)
		ibv_destroy_srq(srq);
	return err;
}

static int ask_mr(ASKER *a)
{
	struct ib_uverbs_reg_mr_resp resp;

	return uv_reg_mr(a->uv.fd, a->pd, NULL, 0, 0, IBV_ACCESS_LOCAL_WRITE, &resp);
}

static int ask_odp(ASKER *a)
{
	return uv_advise_mr(a->uv.fd, a->pd, 0, 0, 4096);
}

static int ask_dm(ASKER *a)
{
	struct uv_dm dm;

	return uv_alloc_dm(a->uv.fd, 64, 60, &dm);
}

static int ask_map(ASKER *a, int prot, off_t offset)
{
	void *p = mmap(NULL, UV_PAGE, prot, MAP_SHARED, a->uv.fd, offset);

	return p == MAP_FAILED ? -errno : 0;
}

static int ask_offset(ASKER *a)
{
	return ask_map(a, PROT_WRITE, uv_mmap_off(100, 2));
}

static int ask_to_read(ASKER *a)
{
	return ask_map(a, PROT_READ, uv_mmap_off(MLX5_IB_MMAP_REGULAR_PAGE, 0));
}

static int ask_command(ASKER *a)
{
	struct devx_cmd cmd;

	devx_start(&cmd, 0xabc);
	return devx_general(a->uv.fd, &cmd);
}

static int ask_umem(ASKER *a)
{
	struct devx_umem umem = {};

	return devx_reg_umem(a->uv.fd, &umem);
}

static const struct request {
	const char *what;
	int (*ask)(ASKER *a);
	int err;
	const char *name;
	const char *reason;
	bool no_device;		/* a check of plain values, which knows no device */
} requests[] = {
	{ "CQ", ask_cq, EINVAL, "-EINVAL", "cqe_comp_en is 2, not 0 or 1" },
	{ "QP", ask_qp, EINVAL, "-EINVAL", "receive queue of 3 WQEs" },
	{ "send queue", ask_send_queue, EINVAL, "-EINVAL",
	  "send queue of 8 WQEBBs is too short for 9 requests" },
	{ "QP type", ask_qp_type, EOPNOTSUPP, "-EOPNOTSUPP", "QP of type 8" },
	{ "SRQ", ask_srq, EINVAL, "-EINVAL", "limit of 10000" },
	{ "mmap offset", ask_offset, EINVAL, "-EINVAL", "index 2, command 100 has 0 indices",
	  true },
	{ "mmap rights", ask_to_read, EPERM, "-EPERM", "mmap with forbidden rights 0x1" },
	{ "MR", ask_mr, EINVAL, "-EINVAL", "region of 0 bytes at 0x0, 1 to 2^" },
	{ "advice", ask_odp, EFAULT, "-EFAULT", "advice for key 0x0: no ODP region of this PD" },
	{ "device memory", ask_dm, EINVAL, "-EINVAL", "alignment 2^60, at most 2^" },
	{ "DEVX command", ask_command, EINVAL, "-EINVAL", "command 0xabc is unknown", true },
	{ "umem", ask_umem, EINVAL, "-EINVAL", "umem of no bytes" },
};

/* Count the driver's log lines since *@pos. @last gets the last of them. */
static int count_lines(size_t *pos, char *last, size_t size)
{
	char *text = klog_since(pos), *line;
	int n = 0;

	*last = 0;
	while ((line = strsep(&text, "\n"))) {
		line = strstr(line, "bluebell");
		if (!line || !strstr(line, ": refusals["))
			continue;
		snprintf(last, size, "%s", line);
		n++;
	}
	return n;
}

/* The address of the device: that of its PCI function, which is the last part of a link's path. */
static const char *device_address(void)
{
	static char path[256];
	char link[128];
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/class/infiniband/%s/device", rdma_device_name());
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	return basename(path);
}

/*
 * True if the line names the device, the process and the errno, which a kernel without
 * CONFIG_SYMBOLIC_ERRNAME prints as a number.
 */
static bool names_all(const char *line, const struct request *q)
{
	char number[16], who[128];

	snprintf(number, sizeof(number), "%d", -q->err);
	snprintf(who, sizeof(who), "bluebell%s%s: refusals[%d]: ", q->no_device ? "" : " ",
		 q->no_device ? "" : device_address(), getpid());
	if (strncmp(line, who, strlen(who)))
		return false;
	line += strlen(who);
	return !strncmp(line, q->name, strlen(q->name)) || !strncmp(line, number, strlen(number));
}

TEST_F(refusals, each_has_one_line_that_says_why)
{
	const struct request *q;
	char line[256];
	size_t pos = 0;

	ASSERT_EQ(0, say_why(true));
	for (q = requests; q < requests + ARRAY_SIZE(requests); q++) {
		klog_since(&pos);
		EXPECT_EQ(-q->err, q->ask(self)) TH_LOG("%s", q->what);
		EXPECT_EQ(1, count_lines(&pos, line, sizeof(line))) TH_LOG("%s", q->what);
		EXPECT_TRUE(names_all(line, q)) TH_LOG("%s: %s", q->what, line);
		EXPECT_NE(NULL, strstr(line, q->reason)) TH_LOG("%s: %s", q->what, line);
	}
}

TEST_F(refusals, none_has_a_line_without_dynamic_debug)
{
	size_t pos = 0, i;
	char line[256];

	ASSERT_EQ(0, say_why(false));
	klog_since(&pos);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		EXPECT_EQ(-requests[i].err, requests[i].ask(self)) TH_LOG("request %zu", i);
	EXPECT_EQ(0, count_lines(&pos, line, sizeof(line))) TH_LOG("%s", line);
}

TEST_HARNESS_MAIN
