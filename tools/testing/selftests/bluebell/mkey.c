// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indirect mkeys, which a process creates (mlx5dv_create_mkey(3)) and configures by work requests
 * (mlx5dv_wr_post(3)): which bytes they translate to, and what an attacker could put into such a
 * request.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <sys/mman.h>

#include "devx_cmd.h"
#include "test.h"

#define NO_WINDOWS "the device executes no UMR requests of processes"
#define PAGE ((size_t)UV_PAGE)
#define PAGES 16
#define LEN (PAGES * PAGE)
#define ENTRIES 16

/* Fields of struct mlx5_wqe_umr_ctrl_seg, and of the context behind it. */
#define UMR_INLINE 0x80
#define UMR_BYTES 48
#define CONTEXT_BYTES 64
#define MASK_LEN (1ull << 0)
#define MASK_START (1ull << 6)
#define MASK_PD (1ull << 7)
#define MASK_KEY (1ull << 13)
#define MASK_RIGHTS (1ull << 18 | 1ull << 19 | 1ull << 20)
#define MASK_FREE (1ull << 29)
#define RIGHTS (7u << 11)	/* lw, rr, rw of the first dword */
#define IS_FREE (1u << 30)
#define STRIDE_OP 0x400

/* A context with two connected queue pairs, which can post UMR requests. */
struct side {
	struct rdma r;
	struct ibv_qp *qp[2];
	uint8_t *mem;
	struct ibv_mr *mr;
};

static struct ibv_qp *create_qp(struct rdma *r)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .send_cq = r->cq, .recv_cq = r->cq, .pd = r->pd,
		.cap = {
			.max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 4, .max_recv_sge = 4,
			.max_inline_data = 512,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE,
	};

	return mlx5dv_create_qp(r->ctx, &attr, &dv);
}

static int side_connect(struct side *s)
{
	const struct qp_cfg cfg = { .type = IBV_QPT_RC };
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = rdma_qp_connect(s->qp[i], &cfg, s->qp[!i]->qp_num, s->r.port.lid);
	return ret;
}

/* Bring both queue pairs back to RTS after a request has failed. */
static int side_reconnect(struct side *s)
{
	struct ibv_wc wc;
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = rdma_modify_state(s->qp[i], IBV_QPS_RESET);
	while (ibv_poll_cq(s->r.cq, 1, &wc) > 0)
		;
	return ret ?: side_connect(s);
}

static int side_open(struct side *s, int access)
{
	int i;

	if (rdma_open(&s->r))
		return -1;
	for (i = 0; i < 2; i++) {
		s->qp[i] = create_qp(&s->r);
		if (!s->qp[i])
			return -1;
	}
	s->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->mem == MAP_FAILED)
		return -1;
	s->mr = ibv_reg_mr(s->r.pd, s->mem, LEN, access);
	return s->mr ? side_connect(s) : -1;
}

static void side_close(struct side *s)
{
	int i;

	if (s->mr)
		ibv_dereg_mr(s->mr);
	for (i = 0; i < 2; i++)
		if (s->qp[i])
			ibv_destroy_qp(s->qp[i]);
	munmap(s->mem, LEN);
	rdma_close(&s->r);
}

static struct mlx5dv_mkey *create_key_with(struct ibv_pd *pd, unsigned int entries, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = pd, .max_entries = entries,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
	};

	return mlx5dv_create_mkey(&attr);
}

static struct mlx5dv_mkey *create_key(struct ibv_pd *pd, unsigned int entries)
{
	return create_key_with(pd, entries, 0);
}

#define KEY_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Let a key translate to a list of pieces; returns the status of the request. */
static int set_list(struct side *s, struct mlx5dv_mkey *key, struct ibv_sge *sge, unsigned int n)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(s->qp[0]);
	struct ibv_wc wc;

	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), key, KEY_ACCESS, n, sge);
	return ibv_wr_complete(qpx) ?: reap(s->r.cq, &wc);
}

/* As set_list(), and set the variant of the key, its low byte, to that of @key->lkey. */
static int set_list_and_tag(struct side *s, struct mlx5dv_mkey *key, struct ibv_sge *sge,
			    unsigned int n)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(s->qp[0]);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(qpx);
	struct mlx5dv_mkey_conf_attr attr = {};
	struct ibv_wc wc;

	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(dv, key, 2, &attr);
	mlx5dv_wr_set_mkey_access_flags(dv, KEY_ACCESS);
	mlx5dv_wr_set_mkey_layout_list(dv, n, sge);
	return ibv_wr_complete(qpx) ?: reap(s->r.cq, &wc);
}

static int set_interleaved(struct side *s, struct mlx5dv_mkey *key, uint32_t cycles,
			   struct mlx5dv_mr_interleaved *piece, unsigned int n)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(s->qp[0]);
	struct ibv_wc wc;

	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), key, KEY_ACCESS, cycles, n,
				 piece);
	return ibv_wr_complete(qpx) ?: reap(s->r.cq, &wc);
}

/* RDMA between the two queue pairs: @len bytes at @addr of @lkey, and at @raddr of @rkey. */
static int transfer(struct side *s, enum ibv_wr_opcode opcode, uint32_t lkey, uint64_t addr,
		    uint32_t rkey, uint64_t raddr, uint32_t len)
{
	struct ibv_sge sge = { .addr = addr, .length = len, .lkey = lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = raddr, .rkey = rkey },
	}, *bad;
	struct ibv_wc wc;
	int status = ibv_post_send(s->qp[0], &wr, &bad) ?: reap(s->r.cq, &wc);

	if (status)
		side_reconnect(s);
	return status;
}

/* --- A UMR request, bit by bit -------------------------------------------------------------- */

struct umr {
	uint8_t b[16 + UMR_BYTES + CONTEXT_BYTES + 64 * 4];
	unsigned int len;
};

static void put32(struct umr *u, unsigned int at, uint32_t v)
{
	v = htobe32(v);
	memcpy(u->b + at, &v, sizeof(v));
}

static void put64(struct umr *u, unsigned int at, uint64_t v)
{
	v = htobe64(v);
	memcpy(u->b + at, &v, sizeof(v));
}

#define CTRL 16
#define CONTEXT (CTRL + UMR_BYTES)
#define LIST (CONTEXT + CONTEXT_BYTES)

/* Build a UMR request that makes a free key valid, with @n entries of 256 bytes, all the same. */
static void umr_start(struct umr *u, uint32_t key, unsigned int n, uint32_t entry_key,
		      uint64_t addr)
{
	unsigned int i;

	memset(u, 0, sizeof(*u));
	put32(u, 12, key);
	u->b[CTRL] = UMR_INLINE;
	put32(u, CTRL + 4, n << 16);
	put64(u, CTRL + 8, MASK_FREE | MASK_KEY | MASK_LEN | MASK_RIGHTS);
	put32(u, CONTEXT, RIGHTS);
	put32(u, CONTEXT + 4, 0xffffff00 | (key & 0xff));
	put64(u, CONTEXT + 24, 256 * n);
	for (i = 0; i < n; i++) {
		put32(u, LIST + 16 * i, 256);
		put32(u, LIST + 16 * i + 4, entry_key);
		put64(u, LIST + 16 * i + 8, addr);
	}
	u->len = LIST + 16 * n;
}

/* Build a UMR request that makes a key free, and changes nothing else. */
static void umr_start_free(struct umr *u, uint32_t key)
{
	umr_start(u, key, 0, 0, 0);
	put64(u, CTRL + 8, MASK_FREE);
	put32(u, CONTEXT, IS_FREE);
}

/*
 * Post the request as it is; returns its status. The queue pairs are connected again if it fails.
 */
static int umr_post(struct side *s, struct umr *u)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(s->qp[0]);
	struct ibv_wc wc;
	int status;

	put32(u, 0, 0x25);	/* UMR */
	put32(u, 4, s->qp[0]->qp_num << 8 | u->len / 16);
	u->b[11] = 8;		/* wants a completion */
	ibv_wr_start(qpx);
	mlx5dv_wr_raw_wqe(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), u->b);
	status = ibv_wr_complete(qpx) ?: reap(s->r.cq, &wc);
	if (status)
		side_reconnect(s);
	return status;
}

/* --- What a key translates to --------------------------------------------------------------- */

static const char *missing(void)
{
	if (!devx_has_user_ids())
		return NO_USER_IDS;
	if (hca_cap("general", "umr_indirect_mkey_disabled"))
		return "UMR of this device changes no indirect mkey";
	return hca_cap("general", "imaicl") ? NULL : NO_WINDOWS;
}

FIXTURE(layout) {
	struct side s;
	struct mlx5dv_mkey *key;
	uint8_t *plain;
	struct ibv_mr *plain_mr;
};

FIXTURE_VARIANT(layout) {
	int access;
};

FIXTURE_VARIANT_ADD(layout, pinned) { .access = ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC };

FIXTURE_VARIANT_ADD(layout, paged) {
	.access = (ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC) | IBV_ACCESS_ON_DEMAND,
};

FIXTURE_SETUP(layout)
{
	struct rdma r;
	bool paged;

	if (missing())
		SKIP(return, "%s", missing());
	ASSERT_EQ(0, rdma_open(&r));
	paged = rdma_has_odp(r.ctx);
	rdma_close(&r);
	if (variant->access & IBV_ACCESS_ON_DEMAND && !paged)
		SKIP(return, "the device has no on-demand paging");
	ASSERT_EQ(0, side_open(&self->s, variant->access)) TH_LOG("%m");
	self->key = create_key(self->s.r.pd, ENTRIES);
	ASSERT_NE(NULL, self->key) TH_LOG("%m");
	self->plain = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->plain);
	self->plain_mr = ibv_reg_mr(self->s.r.pd, self->plain, LEN,
				    ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC);
	ASSERT_NE(NULL, self->plain_mr);
	fill(self->plain, LEN, 7);
}

FIXTURE_TEARDOWN(layout)
{
	if (!self->key)
		return;
	EXPECT_EQ(0, mlx5dv_destroy_mkey(self->key));
	EXPECT_EQ(0, ibv_dereg_mr(self->plain_mr));
	munmap(self->plain, LEN);
	side_close(&self->s);
}

/*
 * Drop the pages of the region. The next access finds new, zeroed pages, which the driver must
 * first map if the region is paged.
 */
static void lose_pages(struct side *s)
{
	madvise(s->mem, LEN, MADV_DONTNEED);
}

#define PIECE 100

/* Pieces in five pages, the last of which crosses into the next page. */
static void make_list(struct side *s, struct ibv_sge *sge)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)s->mem + 3 * i * PAGE + PAGE - 10 * i - 60,
			.length = PIECE, .lkey = s->mr->lkey,
		};
}

TEST_F(layout, list_is_written_and_read)
{
	struct side *s = &self->s;
	struct ibv_sge sge[5];
	unsigned int i;

	make_list(s, sge);
	ASSERT_EQ(0, set_list(s, self->key, sge, 5));
	/* Write through the rkey, from the middle of a piece on. */
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	ASSERT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, self->plain_mr->lkey,
			      (uintptr_t)self->plain + 50, self->key->rkey, 50, 5 * PIECE - 50));
	EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[0].addr + 50, self->plain + 50, PIECE - 50));
	for (i = 1; i < 5; i++)
		EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[i].addr, self->plain + i * PIECE, PIECE))
			TH_LOG("piece %u", i);
	/* Gather through the lkey. */
	for (i = 0; i < 5; i++)
		fill((void *)(uintptr_t)sge[i].addr, PIECE, 20 + i);
	ASSERT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, self->key->lkey, 0, self->plain_mr->rkey,
			      (uintptr_t)self->plain, 5 * PIECE));
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(check_fill(self->plain + i * PIECE, PIECE, 20 + i)) TH_LOG("%u", i);
	/* A read scatters to pages that are not present. */
	fill(self->plain, LEN, 9);
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	ASSERT_EQ(0, transfer(s, IBV_WR_RDMA_READ, self->key->lkey, 0, self->plain_mr->rkey,
			      (uintptr_t)self->plain, 5 * PIECE));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[i].addr, self->plain + i * PIECE,
				    PIECE));
	EXPECT_NE(0, transfer(s, IBV_WR_RDMA_WRITE, self->key->lkey, 0, self->plain_mr->rkey,
			      (uintptr_t)self->plain, 5 * PIECE + 1));
}

/* 24 of every 1000 bytes, and 8 of every 500 from another page on, forty times. */
TEST_F(layout, interleaved_pieces_are_written_and_read)
{
	struct side *s = &self->s;
	struct mlx5dv_mr_interleaved piece[2] = {
		{ .addr = (uintptr_t)s->mem, .bytes_count = 24, .bytes_skip = 976,
		  .lkey = s->mr->lkey },
		{ .addr = (uintptr_t)s->mem + 11 * PAGE, .bytes_count = 8, .bytes_skip = 492,
		  .lkey = s->mr->lkey },
	};
	const uint8_t *from = self->plain;
	unsigned int i;

	if (variant->access & IBV_ACCESS_ON_DEMAND && !driver_is("bluebell"))
		SKIP(return, "only bluebell resolves faults behind strided blocks");
	ASSERT_EQ(0, set_interleaved(s, self->key, 40, piece, 2));
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	ASSERT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, self->plain_mr->lkey, (uintptr_t)from,
			      self->key->rkey, 0, 40 * 32));
	for (i = 0; i < 40; i++) {
		EXPECT_EQ(0, memcmp(s->mem + 1000 * i, from + 32 * i, 24)) TH_LOG("cycle %u", i);
		EXPECT_EQ(0, memcmp(s->mem + 11 * PAGE + 500 * i, from + 32 * i + 24, 8))
			TH_LOG("cycle %u", i);
		EXPECT_EQ(0, s->mem[1000 * i + 24]);
	}
	/* Scatter a read through the lkey, from the last piece of the third cycle on. */
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	fill(self->plain, LEN, 8);
	ASSERT_EQ(0, transfer(s, IBV_WR_RDMA_READ, self->key->lkey, 3 * 32 - 8,
			      self->plain_mr->rkey, (uintptr_t)from, 40 * 32 - 3 * 32 + 8));
	EXPECT_EQ(0, memcmp(s->mem + 11 * PAGE + 1000, from, 8));
	EXPECT_EQ(0, memcmp(s->mem + 39000, from + 36 * 32 + 8, 24));
}

/* The entry of the outer key refers to another key, which refers to the region. */
TEST_F(layout, key_leads_through_another_one)
{
	struct side *s = &self->s;
	struct mlx5dv_mkey *outer = create_key(s->r.pd, ENTRIES);
	struct ibv_sge sge[5], of_key[2];

	ASSERT_NE(NULL, outer);
	make_list(s, sge);
	ASSERT_EQ(0, set_list(s, self->key, sge, 5));
	of_key[0] = (struct ibv_sge){ .addr = PIECE, .length = PIECE, .lkey = self->key->lkey };
	of_key[1] = (struct ibv_sge){ .addr = 4 * PIECE, .length = PIECE, .lkey = self->key->lkey };
	ASSERT_EQ(0, set_list(s, outer, of_key, 2));
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	EXPECT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, self->plain_mr->lkey, (uintptr_t)self->plain,
			      outer->rkey, 0, 2 * PIECE));
	EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[1].addr, self->plain, PIECE));
	EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[4].addr, self->plain + PIECE, PIECE));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(outer));
}

/* A process may change the variant of its key; the device then reports faults by the new key. */
TEST_F(layout, tag_is_changed)
{
	struct side *s = &self->s;
	struct mlx5dv_mkey *key = create_key_with(s->r.pd, ENTRIES,
						  MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG);
	uint32_t before;
	struct ibv_sge sge[5];
	unsigned int i;

	ASSERT_NE(NULL, key) TH_LOG("%m");
	before = key->rkey;
	make_list(s, sge);
	ASSERT_EQ(0, set_list_and_tag(s, key, sge, 5));
	key->lkey = before | 0x5a;
	key->rkey = key->lkey;
	ASSERT_EQ(0, set_list_and_tag(s, key, sge, 5));
	if (variant->access & IBV_ACCESS_ON_DEMAND)
		lose_pages(s);
	EXPECT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, self->plain_mr->lkey, (uintptr_t)self->plain,
			      key->rkey, 0, 5 * PIECE));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, memcmp((void *)(uintptr_t)sge[i].addr, self->plain + i * PIECE, PIECE))
			TH_LOG("piece %u", i);
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR,
		  transfer(s, IBV_WR_RDMA_WRITE, self->plain_mr->lkey, (uintptr_t)self->plain,
			   before, 0, PIECE));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(key));
}

/* --- Attackers ------------------------------------------------------------------------------ */

FIXTURE(attack) {
	struct side s;
	struct mlx5dv_mkey *key;
	struct umr u;
};

FIXTURE_SETUP(attack)
{
	if (missing())
		SKIP(return, "%s", missing());
	ASSERT_EQ(0, side_open(&self->s, ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC)) TH_LOG("%m");
	self->key = create_key(self->s.r.pd, ENTRIES);
	ASSERT_NE(NULL, self->key) TH_LOG("%m");
}

FIXTURE_TEARDOWN(attack)
{
	if (!self->key)
		return;
	EXPECT_EQ(0, mlx5dv_destroy_mkey(self->key));
	side_close(&self->s);
}

static int write_through(struct side *s, uint32_t lkey)
{
	return transfer(s, IBV_WR_RDMA_WRITE, lkey, 0, s->mr->rkey, (uintptr_t)s->mem + LEN / 2,
			64);
}

/* The request that the attacks below change is valid without these changes. */
TEST_F(attack, request_is_executed_as_it_is)
{
	struct side *s = &self->s;

	umr_start(&self->u, self->key->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	EXPECT_EQ(0, umr_post(s, &self->u));
	fill(s->mem, 64, 3);
	EXPECT_EQ(0, write_through(s, self->key->lkey));
	EXPECT_TRUE(check_fill(s->mem + LEN / 2, 64, 3));
}

TEST_F(attack, key_of_another_domain_is_not_changed)
{
	struct side *s = &self->s;
	struct ibv_pd *pd = ibv_alloc_pd(s->r.ctx);
	struct mlx5dv_mkey *other = create_key(pd, ENTRIES);

	ASSERT_NE(NULL, other);
	umr_start(&self->u, other->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(other));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(attack, key_of_another_user_is_not_changed)
{
	struct side *s = &self->s, victim;
	struct mlx5dv_mkey *other;
	struct ibv_sge sge;

	ASSERT_EQ(0, side_open(&victim, ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC));
	other = create_key(victim.r.pd, ENTRIES);
	ASSERT_NE(NULL, other);
	sge = (struct ibv_sge){
		.addr = (uintptr_t)victim.mem, .length = 64, .lkey = victim.mr->lkey,
	};
	ASSERT_EQ(0, set_list(&victim, other, &sge, 1));
	umr_start(&self->u, other->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	/* The victim's key cannot be freed, nor moved to the attacker's domain. */
	umr_start_free(&self->u, other->lkey);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	put64(&self->u, CTRL + 8, MASK_PD);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	EXPECT_EQ(0, write_through(&victim, other->lkey));
	/* A key of the attacker cannot translate to memory of the victim. */
	umr_start(&self->u, self->key->lkey, 4, other->lkey, 0);
	umr_post(s, &self->u);
	EXPECT_NE(0, write_through(s, self->key->lkey));
	umr_start(&self->u, self->key->lkey, 4, victim.mr->lkey, (uintptr_t)victim.mem);
	umr_post(s, &self->u);
	EXPECT_NE(0, write_through(s, self->key->lkey));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(other));
	side_close(&victim);
}

TEST_F(attack, key_is_not_moved_to_another_domain)
{
	struct side *s = &self->s;
	struct ibv_pd *pd = ibv_alloc_pd(s->r.ctx);
	struct mlx5dv_pd dv = {};
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &dv } };

	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));
	umr_start(&self->u, self->key->lkey, 0, 0, 0);
	put64(&self->u, CTRL + 8, MASK_PD);
	put32(&self->u, CONTEXT + 12, dv.pdn);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(attack, list_is_not_longer_than_the_key)
{
	struct side *s = &self->s;
	struct mlx5dv_mkey *small = create_key(s->r.pd, 4);

	ASSERT_NE(NULL, small);
	umr_start(&self->u, small->lkey, 8, s->mr->lkey, (uintptr_t)s->mem);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	/* A list does not begin behind the end of the key either. */
	umr_start(&self->u, small->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	self->u.b[CTRL] |= 0x10;
	put32(&self->u, CTRL + 4, 4 << 16 | 4);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	/* A list is not longer than the WQE that carries it. */
	umr_start(&self->u, self->key->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	put32(&self->u, CTRL + 4, 8 << 16);
	EXPECT_NE(0, umr_post(s, &self->u));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(small));
}

/* A process cannot change a region's own key: the kernel has chosen to which memory it leads. */
TEST_F(attack, key_of_a_region_is_not_moved)
{
	struct side *s = &self->s;

	umr_start(&self->u, s->mr->lkey, 4, s->mr->lkey, 0);
	EXPECT_NE(0, umr_post(s, &self->u));
	umr_start(&self->u, s->mr->lkey, 0, 0, 0);
	put64(&self->u, CTRL + 8, MASK_START);
	EXPECT_NE(0, umr_post(s, &self->u));
	umr_start(&self->u, s->mr->lkey, 0, 0, 0);
	put64(&self->u, CTRL + 8, MASK_LEN);
	put64(&self->u, CONTEXT + 24, LEN * 2);
	EXPECT_NE(0, umr_post(s, &self->u));
	EXPECT_EQ(0, transfer(s, IBV_WR_RDMA_WRITE, s->mr->lkey, (uintptr_t)s->mem, s->mr->rkey,
			      (uintptr_t)s->mem + LEN / 2, 64));
}

TEST_F(attack, entry_of_a_key_that_is_gone_leads_nowhere)
{
	struct side *s = &self->s;
	struct mlx5dv_mkey *inner = create_key(s->r.pd, 4);
	struct ibv_sge sge = { .addr = (uintptr_t)s->mem, .length = 64, .lkey = s->mr->lkey };
	uint32_t lkey;

	ASSERT_NE(NULL, inner);
	ASSERT_EQ(0, set_list(s, inner, &sge, 1));
	lkey = inner->lkey;
	umr_start(&self->u, self->key->lkey, 4, lkey, 0);
	ASSERT_EQ(0, umr_post(s, &self->u));
	EXPECT_EQ(0, write_through(s, self->key->lkey));
	/* Free the inner key, as ibv_wr_local_inv() does. */
	umr_start_free(&self->u, lkey);
	ASSERT_EQ(0, umr_post(s, &self->u));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, write_through(s, self->key->lkey));
	/* First free the key over it, because firmware may keep a key to which other keys lead. */
	umr_start_free(&self->u, self->key->lkey);
	ASSERT_EQ(0, umr_post(s, &self->u));
	EXPECT_EQ(0, mlx5dv_destroy_mkey(inner));
	umr_start(&self->u, self->key->lkey, 4, lkey, 0);
	umr_post(s, &self->u);
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, write_through(s, self->key->lkey));
}

TEST_F(attack, key_that_leads_to_itself_leads_nowhere)
{
	struct side *s = &self->s;

	umr_start(&self->u, self->key->lkey, 4, self->key->lkey, 0);
	umr_post(s, &self->u);
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, write_through(s, self->key->lkey));
}

TEST_F(attack, strided_block_without_its_entries_is_refused)
{
	struct side *s = &self->s;

	umr_start(&self->u, self->key->lkey, 4, s->mr->lkey, (uintptr_t)s->mem);
	put32(&self->u, LIST + 4, STRIDE_OP);
	put64(&self->u, LIST + 8, 1000ull << 32 | 4);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
	/* A strided block of many cycles whose pieces have no bytes. */
	put32(&self->u, LIST, 0);
	put64(&self->u, LIST + 8, 0xffffffffull << 32 | 3);
	put32(&self->u, LIST + 16, 0);
	put32(&self->u, LIST + 32, 0);
	put32(&self->u, LIST + 48, 0);
	EXPECT_EQ(IBV_WC_MW_BIND_ERR, umr_post(s, &self->u));
}

/*
 * To resolve a fault the driver follows the keys in the tables down to the region. Tables that
 * refer to each other many times, or to nothing, keep neither the driver nor the device busy.
 */
TEST(hostile_tables_over_paged_memory_end)
{
	struct mlx5dv_mkey *key[3];
	struct side s = {};
	struct umr u;
	int i;

	if (missing())
		SKIP(return, "%s", missing());
	ASSERT_EQ(0, rdma_open(&s.r));
	if (!rdma_has_odp(s.r.ctx)) {
		rdma_close(&s.r);
		SKIP(return, "the device has no on-demand paging");
	}
	rdma_close(&s.r);
	ASSERT_EQ(0,
		  side_open(&s, (ALL_ACCESS & ~IBV_ACCESS_REMOTE_ATOMIC) | IBV_ACCESS_ON_DEMAND));
	for (i = 0; i < 3; i++) {
		key[i] = create_key(s.r.pd, ENTRIES);
		ASSERT_NE(NULL, key[i]);
		/*
		 * All entries of a key refer to the start of the previous key, those of the first
		 * key to the region.
		 */
		umr_start(&u, key[i]->lkey, ENTRIES, i ? key[i - 1]->lkey : s.mr->lkey,
			  i ? 0 : (uintptr_t)s.mem);
		ASSERT_EQ(0, umr_post(&s, &u));
	}
	madvise(s.mem, LEN, MADV_DONTNEED);
	EXPECT_EQ(0, transfer(&s, IBV_WR_RDMA_WRITE, key[2]->lkey, 0, s.mr->rkey,
			      (uintptr_t)s.mem + LEN / 2, 256));
	madvise(s.mem, LEN, MADV_DONTNEED);
	EXPECT_EQ(0, transfer(&s, IBV_WR_RDMA_WRITE, key[2]->lkey, 0, s.mr->rkey,
			      (uintptr_t)s.mem + LEN / 2, 16 * 256));
	for (i = 2; i >= 0; i--)
		EXPECT_EQ(0, mlx5dv_destroy_mkey(key[i]));
	side_close(&s);
}

TEST_HARNESS_MAIN
