// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One context in several processes: a child that goes on after its parent, and processes that share
 * an imported context; and what a network namespace and an RDMA cgroup do to processes.
 */

#include <infiniband/mlx5dv.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "binding.h"
#include "child.h"
#include "kernel_file.h"
#include "klog.h"
#include "test.h"

#define MSG 1024	/* bytes of an RDMA WRITE */
#define WAIT_S 30

static const struct qp_cfg rc = { .type = IBV_QPT_RC };

/* How the process that ends first ends. */
enum end { EXITS, KILLED };

/* Write from a pair's first buffer to its second one. Returns 0 if the data arrives. */
static int write_once(struct pair *p, unsigned int seed)
{
	fill(p->buf[0], MSG, seed);
	if (rdma_access(p, IBV_WR_RDMA_WRITE, p->mr->rkey, (uintptr_t)p->buf[1], MSG))
		return -1;
	return check_fill(p->buf[1], MSG, seed) ? 0 : -1;
}

static void *map_shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* --- A child that goes on in the context of its parent ---------------------------------------- */

/*
 * A child has copies of the private memory of its parent, which the device does not know. Queues,
 * doorbell records and buffers of this context are in shared memory.
 */
static void *alloc_shared(size_t size, void *data)
{
	return map_shared((size + UV_PAGE - 1) & ~(UV_PAGE - 1));
}

static void free_shared(void *p, void *data)
{
	/* The length is not known here, so do not unmap: the process ends soon. */
}

struct family {
	struct rdma r;
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
};

static int family_open(struct family *f)
{
	struct mlx5dv_ctx_allocators allocators = { .alloc = alloc_shared, .free = free_shared };
	struct rdma *r = &f->r;

	memset(r, 0, sizeof(*r));
	r->ctx = rdma_open_device();
	if (!r->ctx ||
	    mlx5dv_set_context_attr(r->ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &allocators))
		return -1;
	r->pd = ibv_alloc_pd(r->ctx);
	if (!r->pd || ibv_query_port(r->ctx, 1, &r->port) || pair_open(&f->p, r, &rc, UV_PAGE))
		return -1;
	f->mem = map_shared(UV_PAGE);
	f->mr = f->mem ? ibv_reg_mr(f->r.pd, f->mem, UV_PAGE, ALL_ACCESS) : NULL;
	return f->mr ? 0 : -1;
}

/* Write within the shared memory, by the queue pair that the parent has created. */
static int family_write(struct family *f, unsigned int seed)
{
	struct ibv_sge sge = { .addr = (uintptr_t)f->mem, .length = MSG, .lkey = f->mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)f->mem + MSG, .rkey = f->mr->rkey },
	};
	struct ibv_wc wc;

	fill(f->mem, MSG, seed);
	return post_send(&f->p, &wr, NULL, 0) ?: reap_ok(f->p.cq[0], &wc) ?:
	       !check_fill(f->mem + MSG, MSG, seed);
}

/* The parent's queues and keys still work, and so do all verbs. */
static int go_on(struct family *f)
{
	struct pair own;
	unsigned int i;

	for (i = 10; i < 20; i++)
		if (family_write(f, i))
			return 10;
	if (pair_open(&own, &f->r, &rc, UV_PAGE))
		return 11;
	for (i = 20; i < 30; i++)
		if (write_once(&own, i))
			return 12;
	if (family_write(f, 30) || rdma_qp_state(f->p.qp[1]) != IBV_QPS_RTS)
		return 13;
	if (ibv_destroy_qp(own.qp[0]) || ibv_dereg_mr(own.mr))
		return 14;
	if (ibv_dereg_mr(f->mr) || ibv_destroy_qp(f->p.qp[0]) || ibv_destroy_cq(f->p.cq[0]))
		return 15;
	return 0;
}

FIXTURE(orphan) {
	int to[2], from[2];
};

FIXTURE_VARIANT(orphan) {
	enum end end;
};

FIXTURE_VARIANT_ADD(orphan, parent_exits) { .end = EXITS };

FIXTURE_VARIANT_ADD(orphan, parent_is_killed) { .end = KILLED };

FIXTURE_SETUP(orphan)
{
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
	ASSERT_EQ(0, pipe(self->to));
	ASSERT_EQ(0, pipe(self->from));
}

FIXTURE_TEARDOWN(orphan) { }

static void __noreturn child_run(struct family *f, int in, int out)
{
	pid_t pid = getpid();
	char byte;

	if (write(out, &pid, sizeof(pid)) != sizeof(pid) || read(in, &byte, 1) != 1)
		_exit(20);
	_exit(go_on(f));
}

static void __noreturn parent_run(enum end end, const int to[2], const int from[2])
{
	struct family f;
	pid_t child;

	if (family_open(&f) || family_write(&f, 1))
		_exit(1);
	close(to[1]);
	child = fork();
	if (!child)
		child_run(&f, to[0], from[1]);
	if (end == EXITS)
		_exit(child < 0);
	for (;;)
		pause();
}

TEST_F(orphan, uses_the_context_until_it_ends)
{
	long qps = hca_census_count("qp");
	pid_t parent, child;
	int status;

	/* When its parent ends, the child becomes a child of this process. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	parent = fork();
	ASSERT_LE(0, parent);
	if (!parent)
		parent_run(variant->end, self->to, self->from);
	close(self->from[1]);
	ASSERT_EQ(sizeof(child), read(self->from[0], &child, sizeof(child)));
	if (variant->end == KILLED)
		kill(parent, SIGKILL);
	ASSERT_EQ(parent, waitpid(parent, &status, 0));
	EXPECT_TRUE(variant->end == KILLED ? WIFSIGNALED(status) : status == 0)
		TH_LOG("status %#x", status);
	if (hca_ctl_present())
		EXPECT_EQ(qps + 2, hca_census_count("qp"));
	ASSERT_EQ(1, write(self->to[1], "", 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("the child stopped at step %d", WEXITSTATUS(status));
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- Two processes in one context ------------------------------------------------------------- */

/* What the processes of a test share; index 0 is the process that has opened the context. */
struct both {
	int socket[2];
	unsigned int rounds[2];
	bool stop[2];
};

/* Pass the context's file and the handle of a PD. */
static int send_context(int socket, int fd, uint32_t pd)
{
	char control[CMSG_SPACE(sizeof(fd))] = {};
	struct iovec iov = { &pd, sizeof(pd) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == sizeof(pd) ? 0 : -1;
}

/* Receive what send_context() has sent. Returns the descriptor of the context's file, or -1. */
static int receive_context(int socket, uint32_t *pd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { pd, sizeof(*pd) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(socket, &msg, 0) != sizeof(*pd))
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int import(struct rdma *r, int socket)
{
	uint32_t pd;
	int fd = receive_context(socket, &pd);

	memset(r, 0, sizeof(*r));
	r->ctx = fd < 0 ? NULL : ibv_import_device(fd);
	r->pd = r->ctx ? ibv_import_pd(r->ctx, pd) : NULL;
	return r->pd && !ibv_query_port(r->ctx, 1, &r->port) ? 0 : -1;
}

/* Write until told to stop. Returns 0 or the step that failed. */
static int write_until_told(struct both *b, unsigned int which, struct rdma *r, int ready)
{
	struct pair p;

	if (pair_open(&p, r, &rc, UV_PAGE))
		return 4;
	if (child_ready(ready))
		return 5;
	while (!__atomic_load_n(&b->stop[which], __ATOMIC_ACQUIRE)) {
		if (write_once(&p, b->rounds[which]))
			return 6;
		__atomic_add_fetch(&b->rounds[which], 1, __ATOMIC_RELEASE);
	}
	return 0;
}

static int opener_run(void *arg, int ready)
{
	struct both *b = arg;
	struct rdma r;

	if (rdma_open(&r))
		return 1;
	if (send_context(b->socket[0], r.ctx->cmd_fd, r.pd->handle))
		return 2;
	return write_until_told(b, 0, &r, ready);
}

static int importer_run(void *arg, int ready)
{
	struct both *b = arg;
	struct rdma r;

	if (import(&r, b->socket[1]))
		return 3;
	return write_until_told(b, 1, &r, ready);
}

FIXTURE(imported) {
	struct both *b;
	pid_t pid[2];
};

FIXTURE_VARIANT(imported) {
	unsigned int first;	/* index of the process that ends first */
	enum end end;
};

FIXTURE_VARIANT_ADD(imported, opener_exits_first) { .first = 0, .end = EXITS };

FIXTURE_VARIANT_ADD(imported, opener_is_killed_first) { .first = 0, .end = KILLED };

FIXTURE_VARIANT_ADD(imported, importer_is_killed_first) { .first = 1, .end = KILLED };

FIXTURE_SETUP(imported)
{
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
	self->b = map_shared(UV_PAGE);
	ASSERT_NE(NULL, self->b);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->b->socket));
}

FIXTURE_TEARDOWN(imported) { }

/* Wait until a process has written some more. */
static bool goes_on(struct both *b, unsigned int which)
{
	unsigned int from = __atomic_load_n(&b->rounds[which], __ATOMIC_ACQUIRE);
	double end = seconds() + WAIT_S;

	while (seconds() < end) {
		if (__atomic_load_n(&b->rounds[which], __ATOMIC_ACQUIRE) - from > 50)
			return true;
		usleep(1000);
	}
	return false;
}

TEST_F(imported, processes_ring_at_once_and_outlive_each_other)
{
	unsigned int first = variant->first;
	long qps = hca_census_count("qp");
	struct both *b = self->b;
	int status;

	self->pid[0] = child_start(opener_run, b);
	ASSERT_LT(0, self->pid[0]);
	self->pid[1] = child_start(importer_run, b);
	ASSERT_LT(0, self->pid[1]);
	/* A descriptor that is still in the socket would keep the context open. */
	close(b->socket[0]);
	close(b->socket[1]);
	EXPECT_TRUE(goes_on(b, 0));
	EXPECT_TRUE(goes_on(b, 1));
	if (variant->end == KILLED)
		kill(self->pid[first], SIGKILL);
	else
		__atomic_store_n(&b->stop[first], true, __ATOMIC_RELEASE);
	ASSERT_EQ(self->pid[first], waitpid(self->pid[first], &status, 0));
	EXPECT_TRUE(variant->end == KILLED ? WIFSIGNALED(status) : status == 0)
		TH_LOG("status %#x", status);
	EXPECT_TRUE(goes_on(b, !first));
	/* The context has the objects of both. */
	if (hca_ctl_present())
		EXPECT_EQ(qps + 4, hca_census_count("qp"));
	__atomic_store_n(&b->stop[!first], true, __ATOMIC_RELEASE);
	ASSERT_EQ(self->pid[!first], waitpid(self->pid[!first], &status, 0));
	EXPECT_EQ(0, status);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

/* --- Exclusive network namespaces ------------------------------------------------------------- */

/* Run a command of the shell, with its output on stderr if it fails. Returns its exit status. */
static int run(const char *fmt, ...)
{
	char cmd[256];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ret = system(cmd);
	if (ret)
		fprintf(stderr, "# %s: status %#x\n", cmd, ret);
	return ret;
}

/* Find the interface that IPoIB has made in the namespace of this process. */
static bool find_ipoib(char *name)
{
	struct if_nameindex *list = if_nameindex();
	int i;

	name[0] = 0;
	for (i = 0; list && list[i].if_index; i++)
		if (!strncmp(list[i].if_name, "ib", 2))
			strcpy(name, list[i].if_name);
	if_freenameindex(list);
	return name[0];
}

/* Wait for this interface and set it up. */
static int set_ipoib_up(void)
{
	double end = seconds() + WAIT_S;
	char name[IF_NAMESIZE];

	while (!find_ipoib(name) && seconds() < end)
		usleep(10000);
	return name[0] ? run("ip link set %s up", name) : -1;
}

/*
 * Set the interface up that IPoIB makes for a device which was moved to the namespace of this
 * process. Some kernels make it in the first namespace, @home: look there, too, until one of the
 * two has it.
 */
static int set_moved_ipoib_up(int home)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), ret = -1;
	double end = seconds() + WAIT_S;
	char name[IF_NAMESIZE];
	bool found;

	do {
		usleep(10000);
		if (find_ipoib(name)) {
			ret = set_ipoib_up();
			break;
		}
		if (setns(home, CLONE_NEWNET))
			break;
		found = find_ipoib(name);
		if (found) {
			fprintf(stderr, "# IPoIB stays in the first namespace\n");
			ret = set_ipoib_up();
		}
		if (setns(here, CLONE_NEWNET))
			ret = -1;
	} while (!found && seconds() < end);
	close(here);
	return ret;
}

#define NETNS "bluebell-test"

struct netns {
	bool ipoib;
	int moved[2];	/* a pipe: a byte when the device is in the namespace */
};

/* Let /sys show this process the devices of its network namespace. */
static int see_own_sysfs(void)
{
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("sysfs", "/sys", "sysfs", 0, NULL);
}

/*
 * Use the device in a namespace of this process's own, and leave the namespace, which is deleted
 * because no other process is in it. The context outlives the namespace.
 */
static int netns_run(void *arg, int ready)
{
	int home = open("/proc/self/ns/net", O_RDONLY);
	struct ibv_async_event event;
	struct netns *n = arg;
	struct rdma r;
	struct pair p;
	char byte;

	if (home < 0 || unshare(CLONE_NEWNET) || child_ready(ready))
		return 1;
	if (read(n->moved[0], &byte, 1) != 1)
		return 2;
	if (see_own_sysfs() || (n->ipoib && set_moved_ipoib_up(home)))
		return 3;
	if (rdma_open(&r) || pair_open(&p, &r, &rc, UV_PAGE) || write_once(&p, 1))
		return 4;
	if (setns(home, CLONE_NEWNET))
		return 5;
	do {
		if (next_async_event(r.ctx, &event, WAIT_S * 1000))
			return 6;
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	if (ibv_alloc_pd(r.ctx) || errno != EIO)
		return 7;
	pair_close(&p);
	rdma_close(&r);
	return 0;
}

/*
 * The first line of a part of the log that this test does not expect, or "". These are expected:
 * IPoIB joins its multicast groups in the background and then sends what waited for the group; if
 * its netdev goes down at that moment, the netdev drops the packet and IPoIB says so. The netdev of
 * an Ethernet port goes down when it moves, and comes up; drivers say so.
 */
static const char *unexpected_line(char *log)
{
	char *line, *rest;

	for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!strstr(line, "ipoib_mcast_join_finish:dev_queue_xmit failed") &&
		    !(port_is_ethernet() && strstr(line, " Link ")))
			return line;
	return "";
}

FIXTURE(netns) {
	struct netns n;
	size_t log;
};

FIXTURE_VARIANT(netns) {
	bool ipoib;
};

FIXTURE_VARIANT_ADD(netns, alone) { };

FIXTURE_VARIANT_ADD(netns, ipoib_is_up) { .ipoib = true };

FIXTURE_SETUP(netns)
{
	self->n.ipoib = variant->ipoib;
	if (variant->ipoib && port_is_ethernet())
		SKIP(return, "this is about IPoIB, which an Ethernet port does not have");
	if (variant->ipoib && run("modprobe ib_ipoib"))
		SKIP(return, "the kernel has no IPoIB");
	if (variant->ipoib)
		ASSERT_EQ(0, set_ipoib_up());
	/* The device is known by its name from now on, also while it is gone. */
	ASSERT_NE(NULL, rdma_device_name());
	ASSERT_EQ(0, run("rdma system set netns exclusive"));
	ASSERT_EQ(0, pipe(self->n.moved));
	klog_since(&self->log);
}

FIXTURE_TEARDOWN(netns)
{
	if (variant->ipoib && port_is_ethernet())
		return;
	EXPECT_EQ(0, run("rdma system set netns shared"));
	if (variant->ipoib)
		EXPECT_EQ(0, run("modprobe -r ib_ipoib"));
}

TEST_F(netns, device_returns_from_a_deleted_namespace)
{
	char netdev[32];
	struct rdma r;
	struct pair p;
	int status;
	pid_t pid;

	pid = child_start(netns_run, &self->n);
	ASSERT_LT(0, pid);
	/*
	 * Give the namespace a name only for the rdma tool; then the process alone keeps the
	 * namespace.
	 */
	ASSERT_EQ(0, run("ip netns attach " NETNS " %d", pid));
	/* An Ethernet port has addresses in the namespace that its netdev is in. */
	if (port_is_ethernet()) {
		ASSERT_TRUE(port_netdev(netdev, sizeof(netdev)));
		ASSERT_EQ(0, run("ip link set %s netns " NETNS, netdev));
	}
	ASSERT_EQ(0, run("rdma dev set %s netns " NETNS, rdma_device_name()));
	ASSERT_EQ(0, run("ip netns delete " NETNS));
	EXPECT_EQ(-EPERM, uv_open_fd());
	ASSERT_EQ(1, write(self->n.moved[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("the process stopped at step %d", WEXITSTATUS(status));
	ASSERT_TRUE(binding_wait_device());
	ASSERT_EQ(0, rdma_open(&r));
	ASSERT_EQ(0, pair_open(&p, &r, &rc, UV_PAGE));
	EXPECT_EQ(0, write_once(&p, 2));
	pair_close(&p);
	rdma_close(&r);
	if (variant->ipoib)
		EXPECT_EQ(0, set_ipoib_up());
	EXPECT_STREQ("", unexpected_line(klog_since(&self->log)));
}

/* --- RDMA cgroups ----------------------------------------------------------------------------- */

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP CGROUP_ROOT "/bluebell-rdma"
#define MAX_HANDLES 2
#define MAX_OBJECTS 5

/* What the cgroup's file says of the device: "hca_handle=1 hca_object=2"; "" if nothing. */
static const char *cgroup_use(void)
{
	static char line[256];
	size_t len = strlen(rdma_device_name());
	FILE *f = fopen(CGROUP "/rdma.current", "r");
	bool found = false;
	char *end;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, rdma_device_name(), len) && line[len] == ' ';
	if (f)
		fclose(f);
	if (!found)
		return "";
	for (end = line + strlen(line); end[-1] == ' ' || end[-1] == '\n'; )
		*--end = 0;
	return line + len + 1;
}

/* True if the cgroup uses nothing of the device: the line has zeros, or there is no line. */
static bool cgroup_is_unused(void)
{
	const char *use = cgroup_use();

	return !*use || !strcmp(use, "hca_handle=0 hca_object=0");
}

FIXTURE(cgroup) {
	pid_t pid;
};

FIXTURE_SETUP(cgroup)
{
	write_file(CGROUP_ROOT "/cgroup.subtree_control", "+rdma");
	ASSERT_TRUE(!mkdir(CGROUP, 0755) || errno == EEXIST);
	if (write_file(CGROUP "/rdma.max", "%s hca_handle=%u hca_object=%u", rdma_device_name(),
		       MAX_HANDLES, MAX_OBJECTS))
		SKIP(return, "the kernel has no RDMA cgroups");
	ASSERT_TRUE(census_after_first_use(_metadata, IBV_QPT_RC));
}

FIXTURE_TEARDOWN(cgroup)
{
	unsigned int i;

	for (i = 0; rmdir(CGROUP) && i < 100; i++)
		usleep(20000);
}

static int reg_page(const struct uv *uv, uint32_t pd)
{
	struct ib_uverbs_reg_mr_resp resp;
	static uint8_t page[UV_PAGE_MAX];

	return uv_reg_mr(uv->fd, pd, page, UV_PAGE, (uintptr_t)page, IBV_ACCESS_LOCAL_WRITE, &resp);
}

/* Take all that the cgroup may have, of objects of each kind. Returns the step that failed. */
static int use_up(int ready)
{
	struct uv uv[MAX_HANDLES], more;
	uint32_t pd[MAX_HANDLES], another;
	struct uv_cq cq, cq2;
	struct uv_qp qp, qp2;
	int i;

	if (write_file(CGROUP "/cgroup.procs", "0"))
		return 1;
	for (i = 0; i < MAX_HANDLES; i++)
		if (uv_open(&uv[i]) || uv_alloc_pd(uv[i].fd, &pd[i], NULL))
			return 2;
	if (uv_open(&more) != -EAGAIN)
		return 3;
	if (uv_create_cq(uv[0].fd, 15, &cq) ||
	    uv_create_qp(uv[0].fd, pd[0], cq.handle, IBV_QPT_RC, &qp) ||
	    reg_page(&uv[0], pd[0]))
		return 4;
	if (uv_alloc_pd(uv[1].fd, &another, NULL) != -EAGAIN ||
	    uv_create_cq(uv[1].fd, 15, &cq2) != -EAGAIN ||
	    uv_create_qp(uv[0].fd, pd[0], cq.handle, IBV_QPT_RC, &qp2) != -EAGAIN ||
	    reg_page(&uv[0], pd[0]) != -EAGAIN)
		return 5;
	if (strcmp(cgroup_use(), "hca_handle=2 hca_object=5"))
		return 6;
	/* A QP less makes room for a CQ. */
	if (uv_destroy_qp(uv[0].fd, &qp) || uv_create_cq(uv[1].fd, 15, &cq2))
		return 7;
	return child_hold(ready);
}

static int cgroup_run(void *arg, int ready)
{
	int *step = arg;

	*step = use_up(ready);
	return *step;
}

TEST_F(cgroup, limits_apply_and_a_killed_process_gives_all_back)
{
	int *step = map_shared(UV_PAGE);
	pid_t pid;

	pid = child_start(cgroup_run, step);
	ASSERT_LT(0, pid) TH_LOG("the process stopped at step %d, %s", *step, cgroup_use());
	EXPECT_STREQ("hca_handle=2 hca_object=5", cgroup_use());
	ASSERT_NE(-1, child_kill(pid));
	EXPECT_TRUE(cgroup_is_unused()) TH_LOG("%s", cgroup_use());
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
}

TEST_HARNESS_MAIN
