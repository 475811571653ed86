// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of the benchmark for DEVX: objects, memory that queues and doorbell records lie in, and events.
 *
 * Objects and memory are those of libmlx5. The queues are those of the selftests, which ring them
 * without a library.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>

#include "bench.h"
#include "devx_queues.h"

#define ALLOC_PD_BYTES 16	/* of the command, and of the answer */

static void op_object(struct bench *b, const struct row *row)
{
	uint32_t in[ALLOC_PD_BYTES / 4] = { htobe32(DEVX_ALLOC_PD << 16) };
	uint32_t out[ALLOC_PD_BYTES / 4] = { 0 };
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(b->ctx, in, sizeof(in), out,
							     sizeof(out));

	if (!obj || mlx5dv_devx_obj_destroy(obj))
		die(row->name);
}

static void reg_and_dereg_umem(struct bench *b, const struct row *row, void *addr)
{
	struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg(b->ctx, addr, row->size,
							     IBV_ACCESS_LOCAL_WRITE);

	if (!umem || mlx5dv_devx_umem_dereg(umem))
		die(row->name);
}

static void op_umem(struct bench *b, const struct row *row)
{
	reg_and_dereg_umem(b, row, b->buf);
}

static void op_umem_huge(struct bench *b, const struct row *row)
{
	reg_and_dereg_umem(b, row, b->huge);
}

/* A queue pair whose completions are reported to an event channel. */
static struct {
	uint8_t *mem;	/* NULL: the queues do not exist */
	struct uv uv;
	struct devx_queues q;
	int channel;
	unsigned int posted;	/* WQEs, each of which has been completed and reported */
	uint8_t *uar;
	uint64_t bell;	/* of the next WQE */
} ev;

static void check(const struct row *row, int ret)
{
	if (!ret)
		return;
	errno = -ret;
	die(row->name);
}

static void create_queues(const struct row *row)
{
	int fd;

	ev.mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (ev.mem == MAP_FAILED)
		die(row->name);
	check(row, uv_open_devx(&ev.uv));
	fd = ev.uv.fd;
	check(row, devx_queues_prepare(fd, ev.mem, &ev.q));
	check(row, devx_create_cq(fd, &ev.q));
	check(row, devx_create_qp(fd, &ev.q));
	check(row, devx_connect_qp(fd, &ev.q));
	ev.channel = devx_open_channel(fd, 0);
	if (ev.channel < 0)
		check(row, ev.channel);
	check(row, devx_subscribe_obj(fd, ev.channel, ev.q.cq, DEVX_EVENT_COMP, 0));
	ev.uar = mmap(NULL, UV_PAGE, PROT_WRITE, MAP_SHARED, fd, ev.q.uar.mmap_off);
	if (ev.uar == MAP_FAILED)
		die(row->name);
	ev.posted = 0;
}

/* Ask for an event with the next completion, and build the WQE that it will be for. */
static void prepare_event(struct bench *b, const struct row *row)
{
	(void)b;
	if (!ev.mem)
		create_queues(row);
	check(row, devx_arm_cq(ev.uv.fd, &ev.q, ev.posted, ev.posted));
	ev.bell = devx_build_nop(&ev.q, ev.posted++);
}

/* From the doorbell to the event. The process sleeps until the event is there. */
static void op_event(struct bench *b, const struct row *row)
{
	uint8_t event[128];

	(void)b;
	__atomic_store_n((uint64_t *)(ev.uar + DEVX_SQ_BELL), ev.bell, __ATOMIC_SEQ_CST);
	if (read(ev.channel, event, sizeof(event)) <= 0)
		die(row->name);
}

static void destroy_queues(struct bench *b)
{
	int fd = ev.uv.fd;

	(void)b;
	munmap(ev.uar, UV_PAGE);
	close(ev.channel);
	if (devx_destroy(fd, ev.q.qp) || devx_destroy(fd, ev.q.cq) || devx_queues_release(fd, &ev.q))
		die("cannot destroy queues in umems");
	uv_close(&ev.uv);
	munmap(ev.mem, DEVX_QUEUES_BYTES);
	ev.mem = NULL;
}

const struct row devx_rows[] = {
	{ "DEVX PD create+destroy", .op = op_object },
	{ "DEVX umem 4 KiB", .op = op_umem, .size = PAGE },
	{ "DEVX umem 1 GiB huge", .before = map_huge, .op = op_umem_huge, .finish = unmap_huge,
	  .size = 1024 * MIB },
	{ "DEVX completion event", .before = prepare_event, .op = op_event,
	  .finish = destroy_queues },
	{ 0 }
};
