// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process with queues and memory of the device forks. At the fork the kernel copies pinned pages
 * for the child, and write-protects all other private pages, so that the device stays with the
 * parent: a child can overwrite all of its memory, and the parent does not notice.
 */
#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <sys/wait.h>

#include "paged_setup.h"

#define MAX_AREAS 16
#define CHILDREN 8
#define RECVS 8
#define PIECE (LEN / RECVS)

/* Memory that was given to the device. */
struct area {
	void *at;
	size_t len;
};

struct areas {
	struct area area[MAX_AREAS];
	unsigned int num;
};

static void add_area(struct areas *a, void *at, size_t len)
{
	if (at && len && a->num < MAX_AREAS)
		a->area[a->num++] = (struct area){ at, len };
}

/*
 * Find the memory of both queue pairs, of their CQs and of their data, and the paged memory.
 * Returns 0 or an error number.
 */
static int find_areas(struct areas *a, struct paged *o)
{
	struct mlx5dv_qp qp;
	struct mlx5dv_cq cq;
	struct mlx5dv_obj obj;
	int i;

	for (i = 0; i < 2; i++) {
		memset(&qp, 0, sizeof(qp));
		obj = (struct mlx5dv_obj){
			.qp = { o->p.qp[i], &qp }, .cq = { o->p.cq[i], &cq },
		};
		if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ))
			return 1;
		add_area(a, qp.sq.buf, qp.sq.wqe_cnt * qp.sq.stride);
		add_area(a, qp.rq.buf, qp.rq.wqe_cnt * qp.rq.stride);
		add_area(a, qp.dbrec, 2 * sizeof(*qp.dbrec));
		add_area(a, cq.buf, cq.cqe_cnt * cq.cqe_size);
		add_area(a, cq.dbrec, 2 * sizeof(*cq.dbrec));
	}
	add_area(a, o->p.buf[0], 2 * o->p.size);
	add_area(a, o->mem, LEN);
	return a->num == 12 ? 0 : 2;
}

FIXTURE(child) {
	struct paged o;
	struct areas areas;
};

FIXTURE_SETUP(child)
{
	if (!paged_setup(_metadata, &self->o, false))
		return;
	ASSERT_EQ(0, find_areas(&self->areas, &self->o));
}

FIXTURE_TEARDOWN(child)
{
	EXPECT_EQ(0, paged_close(&self->o));
}

/* In the child: overwrite all areas. Returns the exit status. */
static int overwrite(const struct areas *a)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < a->num; i++) {
		memset(a->area[i].at, 0xa5, a->area[i].len);
		for (k = 0; k < a->area[i].len; k++)
			if (((volatile uint8_t *)a->area[i].at)[k] != 0xa5)
				return 1;
	}
	return 0;
}

/* Returns the exit status of a child that overwrites all areas. */
static int overwrite_in_child(const struct areas *a)
{
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(overwrite(a));
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* One operation each way, with paged and with pinned memory at both ends; returns 0 if all work. */
static int use_all(struct paged *o, unsigned int seed)
{
	struct pair *p = &o->p;

	fill(p->buf[0], LEN, seed);
	if (paged_remote(o, WRITE, 0, LEN) || !check_fill(o->mem, LEN, seed))
		return 1;
	fill(o->mem, LEN, seed + 1);
	if (paged_local(o, SEND, 0, LEN) || !check_fill(p->buf[1], LEN, seed + 1))
		return 2;
	if (paged_run(o, READ, p->buf[0], p->mr->lkey, p->buf[1], p->mr->rkey, LEN) ||
	    !check_fill(p->buf[0], LEN, seed + 1))
		return 3;
	return 0;
}

/*
 * The test goes around the rings of the queues several times, and receive requests wait during
 * forks.
 */
TEST_F(child, overwrites_its_own_copy_only)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct pair *p = &self->o.p;
	unsigned int round, i;
	struct ibv_wc wc;

	for (round = 0; round < 12; round++) {
		memset(self->o.mem, 0, LEN);
		memset(p->buf[1], 0, LEN);
		for (i = 0; i < RECVS; i++)
			ASSERT_EQ(0, i % 2 ? pair_recv(p, p->buf[1] + i * PIECE, PIECE, i) :
				  post_recv(p->qp[1], self->o.mr, self->o.mem + i * PIECE, PIECE,
					    i));
		ASSERT_EQ(0, overwrite_in_child(&self->areas));
		for (i = 0; i < RECVS; i++) {
			fill(p->buf[0], PIECE, round + i);
			wr.sg_list = NULL;
			ASSERT_EQ(0, post_send(p, &wr, p->buf[0], PIECE));
			ASSERT_EQ(0, reap_ok(p->cq[0], &wc));
			ASSERT_EQ(0, reap_ok(p->cq[1], &wc));
			EXPECT_EQ(i, wc.wr_id);
			EXPECT_EQ(PIECE, wc.byte_len);
			EXPECT_TRUE(check_fill((i % 2 ? p->buf[1] : self->o.mem) + i * PIECE,
					       PIECE, round + i));
		}
		ASSERT_EQ(0, use_all(&self->o, round)) TH_LOG("round %u", round);
	}
}

/* Programs need not call ibv_fork_init(), and libibverbs says so. */
TEST_F(child, library_knows_that_fork_is_safe)
{
	EXPECT_EQ(IBV_FORK_UNNEEDED, ibv_is_fork_initialized());
}

struct forks {
	const struct areas *areas;
	int failed;
	bool done;
};

static void *fork_often(void *arg)
{
	struct forks *f = arg;
	int i;

	for (i = 0; i < CHILDREN && !f->failed; i++)
		f->failed = overwrite_in_child(f->areas);
	__atomic_store_n(&f->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

TEST_F(child, traffic_goes_on_during_forks)
{
	struct forks forks = { .areas = &self->areas };
	unsigned int i;
	pthread_t t;

	ASSERT_EQ(0, pthread_create(&t, NULL, fork_often, &forks));
	for (i = 0; !__atomic_load_n(&forks.done, __ATOMIC_SEQ_CST); i++)
		ASSERT_EQ(0, use_all(&self->o, i)) TH_LOG("round %u", i);
	pthread_join(t, NULL);
	EXPECT_EQ(0, forks.failed);
	EXPECT_EQ(0, use_all(&self->o, i));
}

TEST_HARNESS_MAIN
