// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that work with the device while it is reset or fails, and what must hold afterwards.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding.h"
#include "hca_ctl.h"
#include "recovery.h"

#define STEP_MS 50

/**
 * workers_start - start processes, and wait until all are at work
 * @w: the processes, in addition to those it has
 * @n: how many
 * @work: what each does
 *
 * Return: 0, or -1 if one cannot be started or ends at once.
 */
int workers_start(struct workers *w, unsigned int n, workers_fn *work)
{
	unsigned int i, started = 0;
	int ready[2];
	char byte;

	if (pipe(ready))
		return -1;
	for (i = 0; i < MAX_WORKERS && started < n; i++) {
		if (w->pid[i])
			continue;
		w->pid[i] = fork();
		if (!w->pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ready[0]);
			_exit(work(ready[1]));
		}
		started++;
	}
	close(ready[1]);
	while (started && read(ready[0], &byte, 1) == 1)
		started--;
	close(ready[0]);
	return started || !workers_are_at_work(w) ? -1 : 0;
}

/**
 * workers_are_at_work - tell whether no process has ended
 * @w: the processes
 *
 * Return: true if so.
 */
bool workers_are_at_work(const struct workers *w)
{
	siginfo_t info;
	int i;

	for (i = 0; i < MAX_WORKERS; i++) {
		info.si_pid = 0;
		if (w->pid[i] && (waitid(P_PID, w->pid[i], &info, WEXITED | WNOHANG | WNOWAIT) ||
				  info.si_pid))
			return false;
	}
	return true;
}

/* Wait for one process for RECOVERY_MS. Returns its status, or -1 if it does not end. */
static int worker_wait(pid_t pid)
{
	int status, ms;

	for (ms = 0; ms < RECOVERY_MS; ms += STEP_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(STEP_MS * 1000);
	}
	return -1;
}

/**
 * workers_wait - wait until all processes have ended
 * @w: the processes
 *
 * Return: 0 if each has ended in time, and with 0; else a number other than 0. What each has
 * returned is then on stderr.
 */
int workers_wait(struct workers *w)
{
	int i, status, wrong = 0;

	for (i = 0; i < MAX_WORKERS; i++) {
		if (!w->pid[i])
			continue;
		status = worker_wait(w->pid[i]);
		if (status)
			fprintf(stderr, status < 0 ? "# process %d does not end\n" :
						     "# process %d: status %#x\n", i, status);
		if (status >= 0)
			w->pid[i] = 0;
		wrong |= status;
	}
	return wrong;
}

/**
 * workers_kill - kill the processes that have not ended
 * @w: the processes
 */
void workers_kill(struct workers *w)
{
	int i;

	for (i = 0; i < MAX_WORKERS; i++)
		if (w->pid[i] > 0)
			kill(w->pid[i], SIGKILL);
}

/**
 * write_some - post a write if there is room in the queue, and poll the completions
 * @p: connected queue pairs; the device may be gone
 * @target: region of WORK_SIZE bytes to write to
 */
void write_some(struct pair *p, struct ibv_mr *target)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)target->addr;
	wr.wr.rdma.rkey = target->rkey;
	post_send(p, &wr, p->buf[0], WORK_SIZE);
	while (ibv_poll_cq(p->cq[0], 1, &wc) > 0)
		;
}

/**
 * device_is_gone - tell whether the process has been told that the device is gone
 * @ctx: the device; its events are acknowledged, up to IBV_EVENT_DEVICE_FATAL
 *
 * Return: true if so.
 */
bool device_is_gone(struct ibv_context *ctx)
{
	struct ibv_async_event ev;

	while (!next_async_event(ctx, &ev, 0))
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			return true;
	return false;
}

/**
 * device_works - tell whether an RDMA WRITE between two new queue pairs succeeds
 *
 * Return: true if so.
 */
bool device_works(void)
{
	struct qp_cfg cfg = { .type = IBV_QPT_RC };
	bool works = false;
	struct rdma r;
	struct pair p;

	if (rdma_open(&r))
		return false;
	if (!pair_open(&p, &r, &cfg, WORK_SIZE))
		works = rdma_access(&p, IBV_WR_RDMA_WRITE, p.mr->rkey, (uintptr_t)p.buf[1],
				    WORK_SIZE) == IBV_WC_SUCCESS;
	pair_close(&p);
	rdma_close(&r);
	return works;
}

/**
 * device_recovers - wait until device_works() returns true
 *
 * Return: false if that takes longer than RECOVERY_MS.
 */
bool device_recovers(void)
{
	int ms;

	for (ms = 0; ms < RECOVERY_MS; ms += 200) {
		if (device_works())
			return true;
		usleep(200000);
	}
	return false;
}

/**
 * objects_of_before - look for objects in the HCA that did not exist at hca_census_reset()
 *
 * For a device that has been reset since. The driver creates some objects when they are first used,
 * and mlx5_core an EQ for completions when the first CQ asks for its vector. After the reset these
 * objects may not have been created again, so fewer objects than before are no error.
 *
 * Return: "" if no kind has more objects than before, else as hca_census_delta() with only the
 * kinds that have more.
 */
const char *objects_of_before(void)
{
	static char more[512];
	char delta[sizeof(more)], *rest = delta, *word;
	size_t len = 0;

	snprintf(delta, sizeof(delta), "%s", hca_census_delta());
	more[0] = 0;
	while ((word = strsep(&rest, " ")))
		if (!strchr(word, '-'))
			len += snprintf(more + len, sizeof(more) - len, "%s%s", len ? " " : "",
					word);
	return more;
}

/**
 * run_program - run a command of the shell
 * @fmt: printf format of the command
 *
 * Return: as system(3).
 */
int run_program(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

/**
 * fatal_reporter - run devlink-health(8) on mlx5_core's reporter of fatal errors
 * @b: the device
 * @verb: "set" or "recover"
 * @what: name and value that are set
 *
 * Return: 0 or a negative number.
 */
int fatal_reporter(const struct binding *b, const char *verb, const char *what)
{
	char dir[256];

	if (binding_pci(b, dir, sizeof(dir)))
		return -1;
	return run_program("devlink health %s pci/%s reporter fw_fatal %s", verb,
			   strrchr(dir, '/') + 1, what) ? -1 : 0;
}

/**
 * allow_failures - let mlx5_core recover the device however often it fails
 * @b: the device
 *
 * By default mlx5_core does not recover a device that fails twice in a minute.
 *
 * Return: 0 or a negative number.
 */
int allow_failures(const struct binding *b)
{
	return fatal_reporter(b, "set", "grace_period 0");
}
