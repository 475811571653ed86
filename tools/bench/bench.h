/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the rows of the benchmark share: the state that they keep from one call to the next, and how a
 * row is described.
 */
#ifndef BLUEBELL_BENCH_H
#define BLUEBELL_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define PAGE 4096UL
#define MIB (1UL << 20)
#define THREADS 16
#define MAX_HELD 1024
#define MAX_ONLY 32

struct bench {
	struct ibv_device *device;
	struct ibv_context *ctx;
	struct ibv_pd *pd, *dbr_pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *all;
	struct ibv_mr *held[MAX_HELD];
	unsigned int nheld;
	pthread_barrier_t start, end;
	pthread_t thread[THREADS];
	bool stop;
	struct ibv_ah_attr self;	/* leads to the port itself */
	char *buf, *huge, *fresh;
	size_t buf_pages;
	const char *huge_file;
	const char *only[MAX_ONLY];	/* what rows are named that are wanted; all if there is none */
	unsigned int nonly;
};

/*
 * One row of the table. Only @op is timed. @before and @after run around each @op,
 * @finish runs once at the end. @size is the number of bytes to register or
 * allocate. Rows are run once before they are timed, except for a @cold row. An operation of many
 * processes or threads is timed @few times.
 */
struct row {
	const char *name;
	void (*before)(struct bench *b, const struct row *row);
	void (*op)(struct bench *b, const struct row *row);
	void (*after)(struct bench *b, const struct row *row);
	void (*finish)(struct bench *b);
	size_t size;
	bool cold;
	bool few;
};

void die(const char *what) __attribute__((noreturn));
void map_huge(struct bench *b, const struct row *row);
void unmap_huge(struct bench *b);
uint64_t now_ns(void);
uint64_t median(uint64_t *v, size_t n);
long kernel_bytes(void);
void answer_late(bool late);
bool is_wanted(const struct bench *b, const char *name);
void open_device(struct bench *b, const char *file, size_t bytes);
struct ibv_pd *alloc_dbr_pd(struct bench *b);
struct ibv_qp *create_qp(struct bench *b, struct ibv_pd *pd);
struct ibv_mr *reg(struct bench *b, void *addr, size_t size);
void dereg(struct ibv_mr *mr);
void start_threads_of(struct bench *b, const struct row *row, void *(*main)(void *));

/* scale.c */
void run_many(struct bench *b, unsigned int count, bool instructions);
void run_exit(unsigned int count);
void start_qp_threads(struct bench *b, const struct row *row);
void start_crowd(struct bench *b, const struct row *row);
void op_crowd(struct bench *b, const struct row *row);
void end_crowd(struct bench *b, const struct row *row);

/* devx.c, dc.c, address.c, raw.c; the last row has no name. */
extern const struct row devx_rows[];
extern const struct row dc_rows[];
extern const struct row address_rows[];
extern const struct row raw_rows[];

#endif
