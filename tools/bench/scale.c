// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of the benchmark for many of something: objects of one process, threads that create queue pairs,
 * processes that open the device, and the end of a process with many objects.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* Objects at either end whose median time is reported, at most. */
#define WINDOW 1000U
/* Queue pairs that each thread creates and destroys in one operation. */
#define THREAD_QPS 4
#define PROCESSES 128
#define HEAP (256 << 20)	/* bytes by which the heap grows */

/* ---- many objects of one process ------------------------------------------------------------- */

/* A kind of object, of which a process has many. */
struct kind {
	const char *name;
	void *(*create)(struct bench *b, unsigned int number);
	void (*destroy)(void *object);
};

/* Each queue pair has a doorbell page of its own, so that the driver has to find one among many. */
static void *create_many_qp(struct bench *b, unsigned int number)
{
	(void)number;
	return create_qp(b, b->dbr_pd);
}

static void destroy_many_qp(void *qp)
{
	if (ibv_destroy_qp(qp))
		die("ibv_destroy_qp");
}

static void *create_many_cq(struct bench *b, unsigned int number)
{
	struct ibv_cq *cq = ibv_create_cq(b->ctx, 16, NULL, NULL, 0);

	(void)number;
	if (!cq)
		die("ibv_create_cq");
	return cq;
}

static void destroy_many_cq(void *cq)
{
	if (ibv_destroy_cq(cq))
		die("ibv_destroy_cq");
}

/* Regions of one page each, in turn over the pages of the buffer. */
static void *create_many_mr(struct bench *b, unsigned int number)
{
	return reg(b, b->buf + number % b->buf_pages * PAGE, PAGE);
}

static void destroy_many_mr(void *mr)
{
	dereg(mr);
}

static const struct kind kinds[] = {
	{ "QP", create_many_qp, destroy_many_qp },
	{ "CQ", create_many_cq, destroy_many_cq },
	{ "MR", create_many_mr, destroy_many_mr },
};

static void run_kind(struct bench *b, const struct kind *kind, unsigned int count, bool instructions)
{
	unsigned int window = count / 4 < WINDOW ? count / 4 : WINDOW;
	void **objects = calloc(count, sizeof(*objects));
	uint64_t *ns = calloc(count, sizeof(*ns));
	unsigned long long first, last;
	bool late = false;
	long bytes;

	if (!objects || !ns)
		die("calloc");
	/* The first of all objects fills caches. */
	kind->destroy(kind->create(b, 0));
	bytes = kernel_bytes();
	for (unsigned int i = 0; i < count; i++) {
		bool reported = i < window || i >= count - window;
		uint64_t start;

		if (instructions && late != reported) {
			late = reported;
			answer_late(late);
		}
		start = now_ns();
		objects[i] = kind->create(b, i);
		ns[i] = now_ns() - start;
	}
	bytes = kernel_bytes() - bytes;
	if (late)
		answer_late(false);
	first = median(ns, window);
	last = median(ns + count - window, window);
	printf("{\"row\":\"%s\",\"first\":%llu,\"last\":%llu,\"bytes\":%ld}\n", kind->name, first, last,
	       bytes / (long)count);
	fflush(stdout);
	for (unsigned int i = count; i--;)
		kind->destroy(objects[i]);
	free(objects);
	free(ns);
}

/*
 * Create @count objects of each kind. Report the median time of the first and of the last ones, and the
 * memory of the kernel that one takes. If @instructions are counted, firmware answers late while it is the
 * turn of those ones: see answer_late().
 *
 * The library's part of an object is in the heap. A heap that grows by little, as the C library's does, has a
 * page fault for each page where it has just grown, and one for 2 MiB elsewhere, and memory of earlier
 * objects has none. So the heap grows by much at once, to make the first and the last objects comparable.
 */
void run_many(struct bench *b, unsigned int count, bool instructions)
{
	mallopt(M_TOP_PAD, HEAP);
	b->dbr_pd = alloc_dbr_pd(b);
	if (!b->dbr_pd)
		die("ibv_alloc_parent_domain");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (is_wanted(b, kinds[i].name))
			run_kind(b, &kinds[i], count, instructions);
	if (ibv_dealloc_pd(b->dbr_pd))
		die("ibv_dealloc_pd");
}

/* ---- the end of a process -------------------------------------------------------------------- */

/* The child: create the objects in a context of its own, say so, and wait to be killed. */
static void __attribute__((noreturn)) hold_objects(unsigned int qps, unsigned int mrs, int ready)
{
	struct bench b = { 0 };

	open_device(&b, NULL, (mrs ? mrs : 1) * PAGE);
	for (unsigned int i = 0; i < qps; i++)
		create_qp(&b, b.pd);
	for (unsigned int i = 0; i < mrs; i++)
		create_many_mr(&b, i);
	if (write(ready, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

/* Kill a process that has objects. Returns the time until it is gone, with all of its objects. */
static uint64_t kill_holder(unsigned int qps, unsigned int mrs)
{
	uint64_t start;
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		hold_objects(qps, mrs, ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("the process that is to be killed");
	close(ready[0]);
	start = now_ns();
	if (kill(pid, SIGKILL) || waitpid(pid, NULL, 0) != pid)
		die("kill");
	return now_ns() - start;
}

/* The end of a process with @count queue pairs, with as many regions, and with both; and of one with neither. */
void run_exit(unsigned int count)
{
	const struct {
		const char *name;
		unsigned int qps, mrs;
	} ends[] = {
		{ "nothing", 0, 0 },
		{ "QPs", count, 0 },
		{ "MRs", 0, count },
		{ "QPs and MRs", count, count },
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		printf("{\"row\":\"%s\",\"samples\":[%llu]}\n", ends[i].name,
		       (unsigned long long)kill_holder(ends[i].qps, ends[i].mrs));
		fflush(stdout);
	}
}

/* ---- many threads, many processes ------------------------------------------------------------ */

static void *qp_thread(void *arg)
{
	struct bench *b = arg;

	for (;;) {
		pthread_barrier_wait(&b->start);
		if (b->stop)
			return NULL;
		for (int i = 0; i < THREAD_QPS; i++)
			destroy_many_qp(create_qp(b, b->pd));
		pthread_barrier_wait(&b->end);
	}
}

void start_qp_threads(struct bench *b, const struct row *row)
{
	start_threads_of(b, row, qp_thread);
}

/*
 * The processes that open the device: each waits for a byte to open it, answers with one, and waits for a byte to
 * end. These come by a pipe of their own, so that none takes the byte of one that has not begun.
 */
static struct {
	pid_t pid[PROCESSES];
	int go[2], done[2], end[2];
} crowd;

static void __attribute__((noreturn)) open_when_told(struct bench *b)
{
	struct ibv_context *ctx;
	char byte;

	if (read(crowd.go[0], &byte, 1) != 1)
		_exit(1);
	ctx = ibv_open_device(b->device);
	if (!ctx || write(crowd.done[1], &byte, 1) != 1)
		_exit(1);
	if (read(crowd.end[0], &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

void start_crowd(struct bench *b, const struct row *row)
{
	if (pipe(crowd.go) || pipe(crowd.done) || pipe(crowd.end))
		die(row->name);
	for (int i = 0; i < PROCESSES; i++) {
		crowd.pid[i] = fork();
		if (crowd.pid[i] < 0)
			die(row->name);
		if (!crowd.pid[i])
			open_when_told(b);
	}
	close(crowd.done[1]);
}

static void tell_crowd(const struct row *row, int fd)
{
	char bytes[PROCESSES] = { 0 };

	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		die(row->name);
}

/* From the start of all processes until all of them have opened the device. */
void op_crowd(struct bench *b, const struct row *row)
{
	char bytes[PROCESSES];
	ssize_t n;

	(void)b;
	tell_crowd(row, crowd.go[1]);
	for (size_t opened = 0; opened < PROCESSES; opened += n) {
		n = read(crowd.done[0], bytes, sizeof(bytes));
		if (n <= 0) {
			errno = EIO;
			die(row->name);
		}
	}
}

void end_crowd(struct bench *b, const struct row *row)
{
	(void)b;
	tell_crowd(row, crowd.end[1]);
	for (int i = 0; i < PROCESSES; i++)
		if (waitpid(crowd.pid[i], NULL, 0) != crowd.pid[i])
			die(row->name);
	close(crowd.go[0]);
	close(crowd.go[1]);
	close(crowd.done[0]);
	close(crowd.end[0]);
	close(crowd.end[1]);
}
