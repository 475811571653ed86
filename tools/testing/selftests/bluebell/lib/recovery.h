/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Processes that work with the device while it is reset or fails, and what must hold afterwards.
 */
#ifndef BLUEBELL_RECOVERY_H
#define BLUEBELL_RECOVERY_H

#include <stdbool.h>
#include <sys/types.h>

#include "rdma.h"

struct binding;

#define RECOVERY_MS 30000	/* until processes have ended, and until the device works again */
#define MAX_WORKERS 4
#define WORK_SIZE (16 * 1024u)	/* bytes of a message, and of a buffer */

/**
 * struct workers - processes that work with the device
 * @pid: of each; 0: none, or it has ended
 */
struct workers {
	pid_t pid[MAX_WORKERS];
};

/**
 * workers_fn - what a process does
 * @ready: file to write one byte to when the process is at work
 *
 * Return: the process's exit status, 0 if all was right.
 */
typedef int workers_fn(int ready);

int workers_start(struct workers *w, unsigned int n, workers_fn *work);
bool workers_are_at_work(const struct workers *w);
int workers_wait(struct workers *w);
void workers_kill(struct workers *w);

void write_some(struct pair *p, struct ibv_mr *target);
bool device_is_gone(struct ibv_context *ctx);
bool device_works(void);
bool device_recovers(void);
const char *objects_of_before(void);
int run_program(const char *fmt, ...);
int fatal_reporter(const struct binding *b, const char *verb, const char *what);
int allow_failures(const struct binding *b);

#endif
