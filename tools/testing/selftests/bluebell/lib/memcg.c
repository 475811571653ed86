// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What memory the kernel has left, and what it charges to the memory cgroup of a test.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_file.h"
#include "memcg.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP CGROUP_ROOT "/bluebell-test"

/**
 * free_kb - find out how much memory is free
 *
 * Pages in the per-CPU lists count as free, which MemFree in /proc/meminfo leaves out: much of what
 * a process has freed stays in them for seconds.
 *
 * Return: free memory in KiB, or -1.
 */
long free_kb(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long pages, sum = 0;
	char line[128];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " pages free %ld", &pages) == 1 ||
		    sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	fclose(f);
	return sum * (sysconf(_SC_PAGESIZE) / 1024);
}

/**
 * memcg_make - make a memory cgroup for processes of a test
 * @limit: of its memory, in bytes
 *
 * Return: 0 or a negative errno.
 */
int memcg_make(size_t limit)
{
	int ret;

	write_file(CGROUP_ROOT "/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		return -errno;
	ret = write_file(CGROUP "/memory.max", "%zu", limit);
	if (ret)
		rmdir(CGROUP);
	else
		write_file(CGROUP "/memory.swap.max", "0");
	return ret;
}

/* Set the cgroup's limit without blocking. */
static int set_limit(size_t limit)
{
	int fd = open(CGROUP "/memory.max", O_WRONLY | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return -errno;
	ret = dprintf(fd, "%zu", limit) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/**
 * memcg_fill - set the cgroup's limit to the memory that its processes have now
 *
 * The kernel neither reclaims memory for that nor kills a process, because the file is open without
 * blocking; some kernels do, see memcg_fill_waits(). memcg_make() makes room again.
 *
 * Return: 0 or a negative errno.
 */
int memcg_fill(void)
{
	return set_limit(0);
}

#define CACHED "/usr/bin/bash"

/* A child: have the cgroup charged for pages of a file. */
static int read_a_file(void)
{
	char buf[4096];
	int fd;

	if (empty_caches(DROP_PAGE_CACHE) || memcg_enter())
		return 1;
	fd = open(CACHED, O_RDONLY);
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	return fd < 0;
}

/**
 * memcg_fill_waits - find out whether the kernel makes room, or else kills a process, when it sets
 * a limit below what the cgroup has, also if the file is open without blocking
 * @limit: limit of the cgroup afterwards, in bytes
 *
 * There is room to make here: no process is killed.
 *
 * Return: 1 or 0, or a negative errno.
 */
int memcg_fill_waits(size_t limit)
{
	int status = -1, ret;
	long charge;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(read_a_file());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return -EIO;
	charge = memcg_charge();
	ret = set_limit(charge / 2) ?: memcg_charge() <= charge / 2;
	memcg_make(limit);
	return ret;
}

/* Move the calling process, which has the right to, into the cgroup. Returns 0 or -errno. */
int memcg_enter(void)
{
	return write_file(CGROUP "/cgroup.procs", "0");
}

/* Let the processes in the cgroup swap. Returns 0 or -errno. */
int memcg_allow_swap(void)
{
	return write_file(CGROUP "/memory.swap.max", "max");
}

/* Throttle the processes in the cgroup above @high bytes. Returns 0 or -errno. */
int memcg_throttle(size_t high)
{
	return write_file(CGROUP "/memory.high", "%zu", high);
}

/* The number in a file of the cgroup; -1 if that cannot be read. */
static long memcg_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long v = -1;

	if (f && fscanf(f, "%ld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

/* What the cgroup is charged for, in bytes; -1 if that cannot be read. */
long memcg_charge(void)
{
	return memcg_number(CGROUP "/memory.current");
}

/* What the cgroup has on swap devices, in bytes; -1 if that cannot be read. */
long memcg_swapped(void)
{
	return memcg_number(CGROUP "/memory.swap.current");
}

/* The number behind @name in a file of the cgroup; -1 if that cannot be read. */
static long memcg_named(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	char word[64];
	long n, v = -1;

	while (f && v < 0 && fscanf(f, "%63s %ld", word, &n) == 2)
		if (!strcmp(word, name))
			v = n;
	if (f)
		fclose(f);
	return v;
}

/* How often the cgroup has met a limit ("max", "oom_kill"); -1 if that cannot be read. */
long memcg_events(const char *name)
{
	return memcg_named(CGROUP "/memory.events", name);
}

static long memcg_stat(const char *name)
{
	/* The kernel adds up what the processors have counted every two seconds. */
	sleep(3);
	return memcg_named(CGROUP "/memory.stat", name);
}

/*
 * Bytes of kernel objects charged to the cgroup ("slab_unreclaimable" in memory.stat), or -1 if the
 * file cannot be read.
 */
long memcg_objects(void)
{
	return memcg_stat("slab_unreclaimable");
}

/*
 * Bytes of kernel memory charged to the cgroup ("kernel" in memory.stat), or -1 if the file cannot
 * be read.
 */
long memcg_kernel(void)
{
	return memcg_stat("kernel");
}

/* How many cgroups have been removed and still exist in the kernel; -1 if that cannot be read. */
long memcg_dying(void)
{
	return memcg_named(CGROUP_ROOT "/cgroup.stat", "nr_dying_descendants");
}

/* Remove the cgroup, whose processes have ended. */
void memcg_remove(void)
{
	int i;

	for (i = 0; rmdir(CGROUP) && i < 100; i++)
		usleep(20000);
}
