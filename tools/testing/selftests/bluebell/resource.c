// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What administrators see: the driver's attributes of each object and its raw context (`rdma
 * resource show -dd` and `-r`), the device and its link (`rdma dev`, `rdma link`), and the counters
 * of the port (`rdma statistic`).
 */

#include <dirent.h>
#include <endian.h>
#include <json-c/json.h>

#include "dc.h"
#include "kernel_file.h"
#include "test.h"

/*
 * Run the rdma tool and return its answer: the list that the tool prints, or NULL. To be released
 * with json_object_put().
 */
static struct json_object *rdma_list(const char *prefix, const char *args)
{
	static char text[1 << 20];
	struct json_object *list;
	char cmd[512];
	size_t len;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "%s rdma -j -dd %s 2>/dev/null", prefix, args);
	f = popen(cmd, "r");
	if (!f)
		return NULL;
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = 0;
	pclose(f);
	list = json_tokener_parse(text);
	if (list && json_object_is_type(list, json_type_array))
		return list;
	json_object_put(list);
	return NULL;
}

/*
 * Run the rdma tool and return its answer: one object, the first of the list that the tool prints.
 * NULL if there is none. To be released with json_object_put().
 */
static struct json_object *rdma_tool(const char *prefix, const char *fmt, ...)
{
	struct json_object *list, *first;
	char args[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	list = rdma_list(prefix, args);
	first = list ? json_object_array_get_idx(list, 0) : NULL;
	json_object_get(first);
	json_object_put(list);
	return first;
}

/* A number of the answer, in whatever form the tool prints it; -1 if there is none of that name. */
static int64_t number(struct json_object *obj, const char *name)
{
	struct json_object *val;

	if (!json_object_object_get_ex(obj, name, &val))
		return -1;
	return json_object_is_type(val, json_type_string) ?
	       strtoll(json_object_get_string(val), NULL, 0) : json_object_get_int64(val);
}

static const char *string(struct json_object *obj, const char *name)
{
	struct json_object *val;

	return json_object_object_get_ex(obj, name, &val) ? json_object_get_string(val) : "";
}

/* Is this the address of @dbr? The tool's JSON has only its lower 32 bits. */
static bool is_db_addr(struct json_object *obj, const void *dbr)
{
	return (uint32_t)number(obj, "drv_db_addr") == (uint32_t)(uintptr_t)dbr;
}

FIXTURE(resource) {
	struct uv uv;
	uint32_t pd, pdn;
	struct uv_cq cq;
	struct uv_qp qp;
};

FIXTURE_SETUP(resource)
{
	ASSERT_EQ(0, uv_open(&self->uv));
	ASSERT_EQ(0, uv_alloc_pd(self->uv.fd, &self->pd, &self->pdn));
	ASSERT_EQ(0, uv_create_cq(self->uv.fd, 100, &self->cq));
	ASSERT_EQ(0, uv_create_qp(self->uv.fd, self->pd, self->cq.handle, IB_UVERBS_QPT_RC,
				  &self->qp));
}

FIXTURE_TEARDOWN(resource)
{
	EXPECT_EQ(0, uv_destroy_qp(self->uv.fd, &self->qp));
	EXPECT_EQ(0, uv_destroy_cq(self->uv.fd, &self->cq));
	EXPECT_EQ(0, uv_dealloc_pd(self->uv.fd, self->pd));
	uv_close(&self->uv);
}

/* The tool knows a QP by its number, and prints attributes of the driver with the prefix "drv_". */
TEST_F(resource, qp_shows_uar_register_and_doorbell_record)
{
	struct json_object *qp;

	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	qp = rdma_tool("", "resource show qp link %s/- lqpn %u", rdma_device_name(), self->qp.qpn);
	ASSERT_NE(NULL, qp);
	EXPECT_LT(0, number(qp, "drv_uar"));
	EXPECT_LE(0, number(qp, "drv_bfreg"));
	EXPECT_TRUE(is_db_addr(qp, self->qp.mem.dbr));
	EXPECT_LT(0, number(qp, "drv_sq_entries"));
	EXPECT_LT(0, number(qp, "drv_rq_entries"));
	EXPECT_LE(4096, number(qp, "drv_page_size"));
	json_object_put(qp);
}

/* Users who are not administrators must not see addresses of other users' memory. */
TEST_F(resource, addresses_are_for_administrators)
{
	struct json_object *qp;

	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	qp = rdma_tool("setpriv --reuid=65534 --clear-groups", "resource show qp link %s/- lqpn %u",
		       rdma_device_name(), self->qp.qpn);
	ASSERT_NE(NULL, qp);
	EXPECT_LT(0, number(qp, "drv_uar"));
	EXPECT_EQ(-1, number(qp, "drv_db_addr"));
	json_object_put(qp);
}

TEST_F(resource, cq_shows_uar_and_entry_size)
{
	struct json_object *cq;

	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	cq = rdma_tool("", "resource show cq dev %s pid %d", rdma_device_name(), getpid());
	ASSERT_NE(NULL, cq);
	EXPECT_EQ(self->cq.cqn, number(cq, "drv_cqn"));
	EXPECT_LT(0, number(cq, "drv_uar"));
	EXPECT_EQ(64, number(cq, "drv_cqe_size"));
	EXPECT_TRUE(is_db_addr(cq, self->cq.mem.dbr));
	json_object_put(cq);
}

/* The first CQ of a device is ib_core's, for management datagrams. */
TEST_F(resource, cq_of_the_kernel_has_no_address)
{
	struct json_object *cq;

	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	cq = rdma_tool("", "resource show cq dev %s", rdma_device_name());
	ASSERT_NE(NULL, cq);
	ASSERT_STREQ("ib_core", string(cq, "comm"));
	EXPECT_EQ(64, number(cq, "drv_cqe_size"));
	EXPECT_LE(4096, number(cq, "drv_page_size"));
	EXPECT_EQ(-1, number(cq, "drv_db_addr"));
	json_object_put(cq);
}

TEST_F(resource, srq_shows_its_entries)
{
	struct uv_srq srq = { .max_wr = 10, .max_sge = 1 };
	struct json_object *shown;
	struct uv_mem mem;
	struct mlx5_ib_create_srq drv;

	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	ASSERT_EQ(0, uv_mem_alloc(&mem, UV_PAGE));
	drv = (struct mlx5_ib_create_srq){
		.buf_addr = (uintptr_t)mem.buf, .db_addr = (uintptr_t)mem.dbr, .uidx = uv_uidx(),
	};
	ASSERT_EQ(0, uv_create_srq(self->uv.fd, self->pd, &drv, sizeof(drv), &srq));
	shown = rdma_tool("", "resource show srq dev %s pid %d", rdma_device_name(), getpid());
	ASSERT_NE(NULL, shown);
	EXPECT_LE(10, number(shown, "drv_entries"));
	EXPECT_LE(32, number(shown, "drv_entry_size"));
	EXPECT_TRUE(is_db_addr(shown, mem.dbr));
	json_object_put(shown);
	EXPECT_EQ(0, uv_destroy_srq(self->uv.fd, srq.handle));
	uv_mem_free(&mem);
}

/* The raw form is the context that the device has. */
TEST_F(resource, raw_contexts_have_their_length)
{
	static const struct { const char *type, *where; size_t len; } contexts[] = {
		{ "qp link", "/-", 0xe8 }, { "cq dev", "", 0x40 },
	};
	struct json_object *raw, *data;
	unsigned int i;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib has no raw form without the register RESOURCE_DUMP");
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		raw = rdma_tool("", "-r resource show %s %s%s", contexts[i].type,
				rdma_device_name(), contexts[i].where);
		ASSERT_NE(NULL, raw) TH_LOG("%s", contexts[i].type);
		ASSERT_TRUE(json_object_object_get_ex(raw, "data", &data));
		EXPECT_EQ(contexts[i].len, json_object_array_length(data));
		json_object_put(raw);
	}
}

/* ---- queue pairs that are no QPs at the device ----------------------------------------------- */

/*
 * How many queue pairs of this process the tool lists, of those whose attribute @name has the value
 * @value; of all if @name is NULL.
 */
static int num_listed(const char *name, int64_t value)
{
	struct json_object *list = rdma_list("", "resource show qp"), *qp;
	int num = 0;
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		qp = json_object_array_get_idx(list, i);
		num += number(qp, "pid") == getpid() && (!name || number(qp, name) == value);
	}
	json_object_put(list);
	return num;
}

#define NUM_TARGETS 3

FIXTURE(resource_dc) {
	struct rdma r;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *target[NUM_TARGETS];
};

FIXTURE_SETUP(resource_dc)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	int i;

	ASSERT_EQ(0, rdma_open(&self->r));
	self->cq = ibv_create_cq(self->r.ctx, 64, NULL, NULL, 0);
	self->srq = ibv_create_srq(self->r.pd, &srq);
	ASSERT_TRUE(self->cq && self->srq);
	for (i = 0; i < NUM_TARGETS; i++)
		self->target[i] = dc_target_create(&self->r, self->srq, self->cq, i);
	if (!self->target[0])
		SKIP(return, "the device has no DC");
}

FIXTURE_TEARDOWN(resource_dc)
{
	int i;

	for (i = 0; i < NUM_TARGETS && self->target[i]; i++)
		EXPECT_EQ(0, ibv_destroy_qp(self->target[i]));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	rdma_close(&self->r);
}

/*
 * A target has no number at the device before it is in RTR, but each is listed. An SRQ is listed
 * only if the numbers of its queue pairs do not change.
 */
TEST_F(resource_dc, targets_are_listed)
{
	struct json_object *srq;
	int i;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib keeps targets out of the list");
	EXPECT_EQ(NUM_TARGETS, num_listed(NULL, 0));
	for (i = NUM_TARGETS - 1; i >= 0; i--) {
		ASSERT_EQ(0, dc_to_init(self->target[i], DC_TARGET_INIT_MASK));
		ASSERT_EQ(0, dc_target_to_rtr(self->target[i], self->r.port.lid));
	}
	EXPECT_EQ(NUM_TARGETS, num_listed(NULL, 0));
	for (i = 0; i < NUM_TARGETS; i++)
		EXPECT_EQ(1, num_listed("drv_dctn", self->target[i]->qp_num));
	srq = rdma_tool("", "resource show srq dev %s pid %d", rdma_device_name(), getpid());
	EXPECT_NE(NULL, srq);
	json_object_put(srq);
}

/* More than the distance between the first numbers of QPs and of TIRs. */
#define NUM_RSS 100

FIXTURE(resource_rss) {
	struct rdma r;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *rss[NUM_RSS], *rc[NUM_RSS];
};

FIXTURE_SETUP(resource_rss)
{
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &self->wq };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1 };

	ASSERT_EQ(0, rdma_open(&self->r));
	wq.pd = self->r.pd;
	wq.cq = self->r.cq;
	self->wq = ibv_create_wq(self->r.ctx, &wq);
	if (!self->wq)
		SKIP(rdma_close(&self->r); return, "the device has no queues for raw packets");
	self->table = ibv_create_rwq_ind_table(self->r.ctx, &table);
	ASSERT_NE(NULL, self->table);
}

FIXTURE_TEARDOWN(resource_rss)
{
	int i;

	for (i = 0; i < NUM_RSS && self->rss[i] && self->rc[i]; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(self->rss[i]));
		EXPECT_EQ(0, ibv_destroy_qp(self->rc[i]));
	}
	EXPECT_EQ(0, ibv_destroy_rwq_ind_table(self->table));
	EXPECT_EQ(0, ibv_destroy_wq(self->wq));
	rdma_close(&self->r);
}

static struct ibv_qp *create_rss(struct rdma *r, struct ibv_rwq_ind_table *table)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = r->pd, .rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
	};

	return ibv_create_qp_ex(r->ctx, &init);
}

/* At the device an RSS queue pair is a TIR. Numbers of TIRs are also numbers of QPs. */
TEST_F(resource_rss, queue_pairs_hide_no_others)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = self->r.cq, .recv_cq = self->r.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int i;

	for (i = 0; i < NUM_RSS; i++) {
		self->rss[i] = create_rss(&self->r, self->table);
		ASSERT_NE(NULL, self->rss[i]) TH_LOG("%d: errno %d", i, errno);
		self->rc[i] = ibv_create_qp(self->r.pd, &init);
		ASSERT_NE(NULL, self->rc[i]);
	}
	/* mlx5_ib keeps RSS queue pairs out of the list. */
	EXPECT_EQ(driver_is("bluebell") ? 2 * NUM_RSS : NUM_RSS, num_listed(NULL, 0));
	EXPECT_EQ(NUM_RSS, num_listed("drv_tirn", -1));
}

FIXTURE(resource_mr) {
	struct rdma r;
	void *mem;
};

FIXTURE_SETUP(resource_mr)
{
	if (!driver_is("bluebell"))
		SKIP(return, "these are attributes of Bluebell");
	ASSERT_EQ(0, rdma_open(&self->r));
	self->mem = mmap(NULL, 16 * UV_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(resource_mr)
{
	munmap(self->mem, 16 * UV_PAGE);
	rdma_close(&self->r);
}

FIXTURE_VARIANT(resource_mr) {
	const char *kind;
	int access;
	bool implicit;
};

FIXTURE_VARIANT_ADD(resource_mr, pinned) { .kind = "pinned" };
FIXTURE_VARIANT_ADD(resource_mr, paged) { .kind = "paged", .access = IBV_ACCESS_ON_DEMAND };
FIXTURE_VARIANT_ADD(resource_mr, implicit) {
	.kind = "paged implicit", .access = IBV_ACCESS_ON_DEMAND, .implicit = true,
};

TEST_F(resource_mr, shows_kind_page_size_and_context)
{
	struct json_object *shown, *data;
	struct ibv_mr *mr;

	if (variant->access && !rdma_has_odp(self->r.ctx))
		SKIP(return, "the device has no on-demand paging");
	mr = ibv_reg_mr(self->r.pd, variant->implicit ? NULL : self->mem,
			variant->implicit ? SIZE_MAX : 16 * UV_PAGE,
			variant->access | IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	shown = rdma_tool("", "resource show mr dev %s pid %d", rdma_device_name(), getpid());
	ASSERT_NE(NULL, shown);
	EXPECT_STREQ(variant->kind, string(shown, "drv_kind"));
	EXPECT_LE(4096, number(shown, "drv_page_size"));
	EXPECT_EQ(variant->access | IBV_ACCESS_LOCAL_WRITE, number(shown, "drv_access"));
	json_object_put(shown);

	shown = rdma_tool("", "-r resource show mr dev %s", rdma_device_name());
	ASSERT_NE(NULL, shown);
	ASSERT_TRUE(json_object_object_get_ex(shown, "data", &data));
	EXPECT_EQ(0x40, json_object_array_length(data));
	json_object_put(shown);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A byte of the context of the only region, struct mlx5_ifc_mkc_bits; -1 if it is not shown. */
static int mkc_byte(unsigned int at)
{
	struct json_object *shown = rdma_tool("", "-r resource show mr dev %s", rdma_device_name());
	struct json_object *data;
	int byte = -1;

	if (json_object_object_get_ex(shown, "data", &data) && at < json_object_array_length(data))
		byte = json_object_get_int(json_object_array_get_idx(data, at));
	json_object_put(shown);
	return byte;
}

#define MKC_RELAXED_WRITE_AT	1
#define MKC_RELAXED_WRITE	0x04
#define MKC_RELAXED_READ_AT	59
#define MKC_RELAXED_READ	0x40

#define EXPECT_RELAXED(write, read) do {							\
	EXPECT_EQ((write) ? MKC_RELAXED_WRITE : 0,				\
		  mkc_byte(MKC_RELAXED_WRITE_AT) & MKC_RELAXED_WRITE);		\
	EXPECT_EQ((read) ? MKC_RELAXED_READ : 0,				\
		  mkc_byte(MKC_RELAXED_READ_AT) & MKC_RELAXED_READ);		\
} while (0)

/*
 * A re-registration without new rights keeps the relaxed ordering that the last change of rights
 * has set.
 */
TEST_F(resource_mr, relaxed_ordering_is_that_of_the_last_change)
{
	const int ordered = variant->access | IBV_ACCESS_LOCAL_WRITE;
	const int relaxed = ordered | IBV_ACCESS_RELAXED_ORDERING;
	bool write, read;
	struct ibv_mr *mr;
	int i;

	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	if (variant->implicit)
		SKIP(return, "relaxed ordering is up to the keys below the root");
	if (variant->access && !rdma_has_odp(self->r.ctx))
		SKIP(return, "the device has no on-demand paging");
	write = hca_cap("general", "relaxed_ordering_write");
	read = hca_cap("general", "relaxed_ordering_read");
	mr = ibv_reg_mr(self->r.pd, self->mem, 16 * UV_PAGE, ordered);
	ASSERT_NE(NULL, mr);
	EXPECT_RELAXED(false, false);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, relaxed));
		EXPECT_RELAXED(write, read);
		ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, self->mem,
					  8 * UV_PAGE, 0));
		EXPECT_RELAXED(write, read);
		ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ordered));
		EXPECT_RELAXED(false, false);
	}
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* A counter of the port, or -1. */
static int64_t port_counter(const char *name)
{
	struct json_object *shown = rdma_tool("", "statistic show link %s/1", rdma_device_name());
	int64_t val = number(shown, name);

	json_object_put(shown);
	return val;
}

/* ---- the device and its port ----------------------------------------------------------------- */

/* A number of 64 bits as the tool prints it: four groups of 16 bits. */
static const char *groups(uint64_t number, char *buf, size_t size)
{
	snprintf(buf, size, "%04x:%04x:%04x:%04x", (unsigned int)(number >> 48),
		 (unsigned int)(number >> 32) & 0xffff, (unsigned int)(number >> 16) & 0xffff,
		 (unsigned int)number & 0xffff);
	return buf;
}

TEST(device_is_shown_with_its_version_and_guids)
{
	struct ibv_device_attr attr;
	struct json_object *dev;
	struct rdma r;
	char guid[32];

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, ibv_query_device(r.ctx, &attr));
	dev = rdma_tool("", "dev show %s", rdma_device_name());
	ASSERT_NE(NULL, dev);
	EXPECT_STREQ("ca", string(dev, "node_type"));
	EXPECT_STREQ(attr.fw_ver, string(dev, "fw"));
	EXPECT_STREQ(groups(be64toh(attr.node_guid), guid, sizeof(guid)),
		     string(dev, "node_guid"));
	EXPECT_STREQ(groups(be64toh(attr.sys_image_guid), guid, sizeof(guid)),
		     string(dev, "sys_image_guid"));
	json_object_put(dev);
	rdma_close(&r);
}

/*
 * The prefix, which an Ethernet port does not have, is that of the port's GIDs. With the stock
 * driver ib_core (7.2) shows the prefix of the last entry of the GID table, which is empty.
 */
TEST(link_is_shown_with_its_addresses_and_state)
{
	struct json_object *link;
	char prefix[32], netdev[32];
	union ibv_gid gid;
	struct rdma r;

	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, ibv_query_gid(r.ctx, 1, 0, &gid));
	link = rdma_tool("", "link show %s/1", rdma_device_name());
	ASSERT_NE(NULL, link);
	if (port_is_ethernet()) {
		EXPECT_TRUE(port_netdev(netdev, sizeof(netdev)));
		EXPECT_STREQ(netdev, string(link, "netdev"));
	} else {
		EXPECT_EQ(r.port.lid, number(link, "lid"));
		EXPECT_EQ(r.port.sm_lid, number(link, "sm_lid"));
		EXPECT_EQ(r.port.lmc, number(link, "lmc"));
	}
	EXPECT_STREQ("ACTIVE", string(link, "state"));
	EXPECT_STREQ("LINK_UP", string(link, "physical_state"));
	if (driver_is("bluebell") && !port_is_ethernet())
		EXPECT_STREQ(groups(be64toh(gid.global.subnet_prefix), prefix, sizeof(prefix)),
			     string(link, "subnet_prefix"));
	json_object_put(link);
	rdma_close(&r);
}

/* ---- counters -------------------------------------------------------------------------------- */

FIXTURE(counters) {
	struct rdma r;
	struct pair p;
};

FIXTURE_SETUP(counters)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };

	ASSERT_EQ(0, rdma_open(&self->r));
	ASSERT_EQ(0, pair_open(&self->p, &self->r, &cfg, UV_PAGE));
	if (port_counter("rx_write_requests") < 0)
		SKIP(return, "the device has no counters");
}

FIXTURE_TEARDOWN(counters)
{
	pair_close(&self->p);
	rdma_close(&self->r);
}

TEST_F(counters, requests_are_counted_by_kind)
{
	int64_t writes = port_counter("rx_write_requests");
	int64_t reads = port_counter("rx_read_requests");
	int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_WRITE, self->p.mr->rkey,
					 (uintptr_t)self->p.buf[1], 8));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rdma_access(&self->p, IBV_WR_RDMA_READ, self->p.mr->rkey,
					 (uintptr_t)self->p.buf[1], 8));
	EXPECT_EQ(writes + 5, port_counter("rx_write_requests"));
	EXPECT_EQ(reads + 3, port_counter("rx_read_requests"));
}

/* A write that the peer refuses: the peer counts the request, and the requester the error. */
TEST_F(counters, refused_requests_are_counted_by_the_requester)
{
	int64_t refused = port_counter("resp_remote_access_errors");
	int64_t writes = port_counter("rx_write_requests");
	int64_t failed = port_counter("req_remote_access_errors");
	int64_t cqes = port_counter("req_cqe_error");

	ASSERT_LE(0, refused);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  rdma_access(&self->p, IBV_WR_RDMA_WRITE, self->p.mr->rkey ^ 0x100,
			      (uintptr_t)self->p.buf[1], 8));
	EXPECT_EQ(refused, port_counter("resp_remote_access_errors"));
	EXPECT_EQ(writes + 1, port_counter("rx_write_requests"));
	EXPECT_EQ(failed + 1, port_counter("req_remote_access_errors"));
	EXPECT_EQ(cqes + 1, port_counter("req_cqe_error"));
}

/*
 * Nothing is posted to receive into, and one RNR retry is allowed: the first RNR NAK causes the
 * retry, the second ends the request. Both count.
 */
TEST_F(counters, rnr_naks_are_counted)
{
	int64_t retries = port_counter("rnr_nak_retry_err");
	int64_t exceeded = port_counter("req_rnr_retries_exceeded");
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	self->p.cfg.rnr_retry = 1;
	ASSERT_EQ(0, pair_reconnect(&self->p));
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, post_and_reap(&self->p, &wr, 8));
	EXPECT_EQ(retries + 2, port_counter("rnr_nak_retry_err"));
	EXPECT_EQ(exceeded + 1, port_counter("req_rnr_retries_exceeded"));
}

/*
 * Run `rdma statistic qp`, which binds queue pairs to counters. Returns the exit status of the
 * tool.
 */
static int statistic_qp(const char *fmt, ...)
{
	char args[128], cmd[192];
	va_list va;

	va_start(va, fmt);
	vsnprintf(args, sizeof(args), fmt, va);
	va_end(va);
	snprintf(cmd, sizeof(cmd), "rdma statistic qp %s >/dev/null 2>&1", args);
	return system(cmd);
}

static int write_some(struct pair *p, int times)
{
	int err = 0, i;

	for (i = 0; i < times && !err; i++)
		err = rdma_access(p, IBV_WR_RDMA_WRITE, p->mr->rkey, (uintptr_t)p->buf[1], 8);
	return err;
}

/*
 * An administrator binds a queue pair to counters of its own. The port's counters include what
 * these counters count, also after the queue pair is unbound.
 */
TEST_F(counters, bound_queue_pair_counts_alone)
{
	int64_t writes = port_counter("rx_write_requests");
	const char *name = rdma_device_name();
	uint32_t qpn = self->p.qp[1]->qp_num;
	struct json_object *shown;
	int64_t cntn;

	ASSERT_EQ(0, write_some(&self->p, 2));
	ASSERT_EQ(0, statistic_qp("bind link %s/1 lqpn %u", name, qpn));
	EXPECT_NE(0, statistic_qp("bind link %s/1 lqpn %u", name, qpn));
	ASSERT_EQ(0, write_some(&self->p, 3));
	shown = rdma_tool("", "statistic qp show link %s/1", name);
	ASSERT_NE(NULL, shown);
	EXPECT_EQ(3, number(shown, "rx_write_requests"));
	cntn = number(shown, "cntn");
	json_object_put(shown);
	EXPECT_EQ(writes + 5, port_counter("rx_write_requests"));

	ASSERT_EQ(0, statistic_qp("unbind link %s/1 cntn %d lqpn %u", name, (int)cntn, qpn));
	ASSERT_EQ(0, write_some(&self->p, 4));
	EXPECT_EQ(NULL, rdma_tool("", "statistic qp show link %s/1", name));
	EXPECT_EQ(writes + 9, port_counter("rx_write_requests"));
}

/*
 * Queue pairs are bound when they leave reset: one counter for all RC queue pairs of
 * the process.
 */
TEST_F(counters, queue_pairs_are_bound_by_type)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	const char *name = rdma_device_name();
	struct json_object *shown;
	struct pair p;

	ASSERT_EQ(0, statistic_qp("set link %s/1 auto type on", name));
	ASSERT_EQ(0, pair_open(&p, &self->r, &cfg, UV_PAGE));
	EXPECT_EQ(0, write_some(&p, 3));
	shown = rdma_tool("", "statistic qp show link %s/1", name);
	EXPECT_NE(NULL, shown);
	EXPECT_EQ(3, number(shown, "rx_write_requests"));
	json_object_put(shown);
	pair_close(&p);
	EXPECT_EQ(NULL, rdma_tool("", "statistic qp show link %s/1", name));
	EXPECT_EQ(0, statistic_qp("set link %s/1 auto off", name));
}

/* A counter of the first memory region that the tool shows, or -1. */
static int64_t mr_counter(const char *name)
{
	struct json_object *shown = rdma_tool("", "statistic show mr");
	int64_t val = number(shown, name);

	json_object_put(shown);
	return val;
}

TEST(pages_of_a_paged_region_are_counted)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	struct ibv_sge sge = { .length = 4 * UV_PAGE };
	struct ibv_mr *mr;
	struct rdma r;
	struct pair p;
	char *mem;

	ASSERT_EQ(0, rdma_open(&r));
	if (!rdma_has_odp(r.ctx)) {
		rdma_close(&r);
		SKIP(return, "the device has no on-demand paging");
	}
	mem = mmap(NULL, 8 * UV_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	mr = ibv_reg_mr(r.pd, mem, 8 * UV_PAGE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, pair_open(&p, &r, &cfg, UV_PAGE));
	EXPECT_EQ(0, mr_counter("page_faults"));
	EXPECT_EQ(0, mr_counter("page_prefetch"));
	EXPECT_EQ(0, mr_counter("page_invalidations"));

	sge.addr = (uintptr_t)mem;
	sge.lkey = mr->lkey;
	ASSERT_EQ(0, ibv_advise_mr(r.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	EXPECT_EQ(0, mr_counter("page_faults"));
	EXPECT_EQ(4, mr_counter("page_prefetch"));
	ASSERT_EQ(0, rdma_access(&p, IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + 6 * UV_PAGE, 8));
	EXPECT_EQ(1, mr_counter("page_faults"));
	EXPECT_EQ(0, mr_counter("page_invalidations"));
	ASSERT_EQ(0, madvise(mem, 8 * UV_PAGE, MADV_DONTNEED));
	/* mlx5_ib counts all pages of the range, mapped or not. */
	EXPECT_EQ(driver_is("bluebell") ? 5 : 8, mr_counter("page_invalidations"));

	pair_close(&p);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	munmap(mem, 8 * UV_PAGE);
	rdma_close(&r);
}

#define NO_EXPORT "the kernel has no method that exports a dma-buf"

/*
 * The errno is the same if only the driver lacks the operations of the method, so look for the
 * method among the kernel's symbols.
 */
static bool kernel_has_export(void)
{
	return kernel_has_symbol("UVERBS_METHOD_DMABUF_ALLOC");
}

/* A UAR object as a dma-buf, which other devices can import to ring the process's doorbells. */
TEST(uar_object_is_exported_as_a_dma_buf)
{
	struct uv_uar uar;
	struct uv uv;
	int fd;

	ASSERT_EQ(0, uv_open(&uv));
	ASSERT_EQ(0, uv_alloc_uar(uv.fd, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, &uar));
	fd = uv_export_dmabuf(uv.fd, uar.mmap_off);
	if (fd == -EPROTONOSUPPORT && !kernel_has_export())
		SKIP(uv_close(&uv); return, NO_EXPORT);
	ASSERT_LE(0, fd);
	EXPECT_EQ(UV_PAGE, lseek(fd, 0, SEEK_END));
	/* A UAR that belongs to the context is not exported: it is not a UAR object. */
	EXPECT_EQ(-EINVAL, uv_export_dmabuf(uv.fd, 0));
	EXPECT_EQ(-EINVAL, uv_export_dmabuf(uv.fd, uar.mmap_off + UV_PAGE));
	if (driver_is("bluebell"))	/* mlx5_ib exports the page of the offset */
		EXPECT_EQ(-EINVAL, uv_export_dmabuf(uv.fd, uar.mmap_off + 8));
	/* The descriptor may outlive the object and the context. */
	EXPECT_EQ(0, uv_free_uar(uv.fd, uar.handle));
	uv_close(&uv);
	close(fd);
}

TEST(device_memory_is_exported_as_a_dma_buf)
{
	struct uv_dm dm;
	struct uv uv;
	int fd;

	ASSERT_EQ(0, uv_open(&uv));
	if (uv_alloc_dm(uv.fd, 2 * UV_PAGE, 0, &dm)) {
		uv_close(&uv);
		SKIP(return, "the device has no device memory");
	}
	fd = uv_export_dmabuf(uv.fd, uv_mmap_off(MLX5_IB_MMAP_DEVICE_MEM, dm.page_idx));
	if (fd == -EPROTONOSUPPORT && !kernel_has_export())
		SKIP(uv_close(&uv); return, NO_EXPORT);
	ASSERT_LE(0, fd);
	EXPECT_EQ(2 * UV_PAGE, lseek(fd, 0, SEEK_END));
	close(fd);
	EXPECT_EQ(0, uv_free_dm(uv.fd, dm.handle));
	uv_close(&uv);
}

/*
 * A workqueue that has to make progress when memory is short has a rescuer thread, also while idle.
 * The driver has one such workqueue for events, and from the first paged region on one for page
 * faults and one for the deferred work of paging. The kernel cuts the names of threads to 15
 * characters.
 */
TEST(threads_wait_for_short_memory)
{
	struct dirent *entry;
	struct ibv_mr *mr;
	struct rdma r;
	bool paging;
	char path[300], name[64];
	int threads = 0;
	DIR *dir;
	FILE *f;

	if (!driver_is("bluebell"))
		SKIP(return, "these are the threads of bluebell");
	ASSERT_EQ(0, rdma_open(&r));
	paging = rdma_has_odp(r.ctx);
	if (paging) {
		mr = ibv_reg_mr(r.pd, &r, sizeof(r), IBV_ACCESS_ON_DEMAND);
		ASSERT_NE(NULL, mr);
		EXPECT_EQ(0, ibv_dereg_mr(mr));
	}
	rdma_close(&r);
	dir = opendir("/proc");
	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strncmp(name, "kworker/R-blueb", 15))
			threads++;
		if (f)
			fclose(f);
	}
	closedir(dir);
	EXPECT_EQ(paging ? 3 : 1, threads);
}

TEST_HARNESS_MAIN
