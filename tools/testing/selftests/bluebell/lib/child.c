// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process of a test, which says when it is at work.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/**
 * child_start - start a process and wait until it is at work
 * @work: what the process does; it calls child_ready()
 * @arg: argument of @work
 *
 * The process ends with its parent.
 *
 * Return: the id of the process, or -1 if it has ended before it was ready.
 */
pid_t child_start(child_fn *work, void *arg)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		_exit(work(arg, ready[1]));
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(ready[0]);
	return pid;
}

/* Tell the parent that this process is at work. Returns 0 or -1. */
int child_ready(int ready)
{
	return write(ready, "", 1) == 1 ? 0 : -1;
}

/*
 * Tell the parent that this process is at work, and keep its objects until the process is killed.
 */
int child_hold(int ready)
{
	if (child_ready(ready))
		return 1;
	for (;;)
		pause();
}

/* Kill a process and wait for its end. Returns what waitpid() says of it, or -1. */
int child_kill(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid ? status : -1;
}
