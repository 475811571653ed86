// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events that a process subscribes to, and commands whose answers it does not wait for (DEVX): what
 * a process reads from the file descriptors for events and for answers, who may read what, and what
 * becomes of events and answers that no process reads.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "binding.h"
#include "child.h"
#include "devx_cmd.h"
#include "devx_queues.h"
#include "memcg.h"
#include "rights.h"
#include "test.h"

#define EQE_BYTES 64
#define EQE_TYPE 1
#define EQE_DATA 32
#define WAIT_MS 10000
#define QUIET_MS 300
#define COOKIE 0xfedcba9876543210ull
#define QPC_STATE 0x18		/* byte of QUERY_QP's answer */
#define ANSWER_BYTES 0x110	/* of QUERY_QP */
#define MANY 2000

struct event {
	uint64_t cookie;
	uint8_t eqe[EQE_BYTES];
};

struct answer {
	uint64_t wr_id;
	uint8_t out[ANSWER_BYTES];
};

static bool readable(int file, int ms)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/*
 * Returns the number of bytes read, -EAGAIN if the file has nothing to read in time, or another
 * -errno.
 */
static ssize_t read_within(int file, void *buf, size_t len, int ms)
{
	ssize_t ret;

	if (!readable(file, ms))
		return -EAGAIN;
	ret = read(file, buf, len);
	return ret < 0 ? -errno : ret;
}

static ssize_t next_event(int channel, struct event *e)
{
	memset(e, 0, sizeof(*e));
	return read_within(channel, e, sizeof(*e), WAIT_MS);
}

/*
 * Read to an address at which nothing is mapped. The compiler would complain about a call of read()
 * with such an address.
 */
static ssize_t read_to_nowhere(int file, size_t len)
{
	return syscall(SYS_read, file, 8ul, len);
}

static bool quiet(int channel)
{
	return !readable(channel, QUIET_MS);
}

static uint32_t event_dword(const struct event *e, unsigned int dword)
{
	uint32_t v;

	memcpy(&v, e->eqe + EQE_DATA + 4 * dword, sizeof(v));
	return be32toh(v);
}

/* --- Events of queues in umems -------------------------------------------------------------- */

FIXTURE(event) {
	struct uv uv;
	uint8_t *mem;
	struct devx_queues q;
	int channel, cookies;
};

FIXTURE_SETUP(event)
{
	int fd;

	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
	if (!hca_ctl_present())
		SKIP(return, NO_HCA_CTL);
	self->mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, uv_open_devx(&self->uv));
	fd = self->uv.fd;
	ASSERT_EQ(0, devx_queues_prepare(fd, self->mem, &self->q));
	ASSERT_EQ(0, devx_create_cq(fd, &self->q));
	ASSERT_EQ(0, devx_create_qp(fd, &self->q));
	self->channel = devx_open_channel(fd, 0);
	ASSERT_LT(0, self->channel);
	self->cookies = devx_open_channel(fd, MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	ASSERT_LT(0, self->cookies);
}

FIXTURE_TEARDOWN(event)
{
	if (!devx_has_umems() || !hca_ctl_present())
		return;
	close(self->channel);
	close(self->cookies);
	uv_close(&self->uv);
	EXPECT_CENSUS_UNCHANGED();
	munmap(self->mem, DEVX_QUEUES_BYTES);
}

static int raise_qp(uint32_t qpn)
{
	return hca_do("inject event COMM_EST %u", qpn);
}

TEST_F(event, event_has_its_cookie_and_data)
{
	struct event e;
	int fd = self->uv.fd;

	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.qp, DEVX_EVENT_COMM_EST,
					COOKIE));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(COOKIE, e.cookie);
	EXPECT_EQ(DEVX_EVENT_COMM_EST, e.eqe[EQE_TYPE]);
	EXPECT_EQ(self->q.qpn, event_dword(&e, 6) & 0xffffff);
	/* Events of other types and of other objects do not arrive. */
	ASSERT_EQ(0, hca_do("inject event SQ_DRAINED %u", self->q.qpn));
	ASSERT_EQ(0, raise_qp(self->q.qpn + 1));
	ASSERT_EQ(0, hca_do("inject event CQ_ERROR %u", self->q.cqn));
	EXPECT_TRUE(quiet(self->channel));
	EXPECT_TRUE(quiet(self->cookies));
}

TEST_F(event, several_types_in_one_request)
{
	const struct devx_subscription s = {
		.channel = self->channel, .has_obj = true, .obj = self->q.qp,
		.types = { DEVX_EVENT_SQ_DRAINED, DEVX_EVENT_COMM_EST, 0x05, 0x10, 0x11 },
		.len = 10, .has_cookie = true, .cookie = COOKIE,
	};
	struct event e;

	ASSERT_EQ(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, hca_do("inject event WQ_ACCESS_ERROR %u", self->q.qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(0x11, e.eqe[EQE_TYPE]);
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(DEVX_EVENT_COMM_EST, e.eqe[EQE_TYPE]);
	EXPECT_EQ(COOKIE, e.cookie);
}

TEST_F(event, events_without_data_are_combined)
{
	struct event e;
	int i, n, fd = self->uv.fd;

	ASSERT_EQ(0, devx_subscribe_obj(fd, self->cookies, self->q.qp, DEVX_EVENT_COMM_EST, 7));
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->cookies, self->q.qp, DEVX_EVENT_SQ_DRAINED, 8));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(0, hca_do("inject event SQ_DRAINED %u", self->q.qpn));
	usleep(QUIET_MS * 1000);
	for (n = 0; !quiet(self->cookies); n++) {
		ASSERT_EQ(sizeof(e.cookie), next_event(self->cookies, &e));
		EXPECT_TRUE(e.cookie == 7 || e.cookie == 8);
	}
	EXPECT_EQ(2, n);
	/* An event that has been read is reported when it occurs again. */
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(sizeof(e.cookie), next_event(self->cookies, &e));
	EXPECT_EQ(7, e.cookie);
}

TEST_F(event, eventfd_is_signalled_in_place_of_the_channel)
{
	struct devx_subscription s = {
		.channel = self->cookies, .has_obj = true, .obj = self->q.qp,
		.types = { DEVX_EVENT_COMM_EST }, .len = 2, .has_eventfd = true,
	};
	uint64_t count;
	int efd = eventfd(0, EFD_CLOEXEC);

	ASSERT_LT(0, efd);
	s.eventfd = efd;
	ASSERT_EQ(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(sizeof(count), read_within(efd, &count, sizeof(count), WAIT_MS));
	EXPECT_EQ(1, count);
	EXPECT_TRUE(quiet(self->cookies));
	/* The event may come after the process has closed its descriptor of the eventfd. */
	close(efd);
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	EXPECT_TRUE(quiet(self->cookies));
	s.eventfd = self->uv.fd;	/* no eventfd */
	EXPECT_GT(0, devx_subscribe(self->uv.fd, &s));
	s.eventfd = 12345;
	EXPECT_EQ(-EBADF, devx_subscribe(self->uv.fd, &s));
	s.eventfd = ~0u;
	EXPECT_EQ(-EBADF, devx_subscribe(self->uv.fd, &s));
}

TEST_F(event, armed_cq_reports_a_completion)
{
	struct event e;
	int i, fd = self->uv.fd;

	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.cq, DEVX_EVENT_COMP, 1));
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->cookies, self->q.cq, DEVX_EVENT_COMP, 2));
	ASSERT_EQ(0, devx_connect_qp(fd, &self->q));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, devx_arm_cq(fd, &self->q, i, 2 * i));
		EXPECT_TRUE(quiet(self->channel));
		ASSERT_EQ(0, devx_post_nop(fd, &self->q, 2 * i));
		EXPECT_LT(0, next_event(self->channel, &e)) TH_LOG("round %d", i);
		EXPECT_EQ(1, e.cookie);
		ASSERT_EQ(sizeof(e.cookie), next_event(self->cookies, &e)) TH_LOG("round %d", i);
		EXPECT_EQ(2, e.cookie);
		/* The CQ is not armed any more. */
		ASSERT_EQ(0, devx_post_nop(fd, &self->q, 2 * i + 1));
		EXPECT_EQ(MLX5_CQE_REQ, devx_poll_nop(&self->q, 2 * i + 1));
		EXPECT_TRUE(quiet(self->channel));
	}
}

TEST_F(event, overrun_of_a_cq_is_an_event)
{
	struct event e;
	unsigned int i;
	int fd = self->uv.fd;

	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.cq, DEVX_EVENT_CQ_ERROR,
					COOKIE));
	ASSERT_EQ(0, devx_connect_qp(fd, &self->q));
	for (i = 0; i < (1 << DEVX_LOG_CQ) + 2; i++)
		ASSERT_EQ(0, devx_post_nop(fd, &self->q, i));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(COOKIE, e.cookie);
	EXPECT_EQ(DEVX_EVENT_CQ_ERROR, e.eqe[EQE_TYPE]);
	EXPECT_EQ(self->q.cqn, event_dword(&e, 0) & 0xffffff);
	EXPECT_EQ(1, e.eqe[EQE_DATA + 11]);	/* overrun */
}

TEST_F(event, port_reports_to_everyone)
{
	const struct devx_subscription s = {
		.channel = self->channel, .types = { DEVX_EVENT_PORT_CHANGE }, .len = 2,
		.has_cookie = true, .cookie = COOKIE,
	};
	struct event e;

	ASSERT_EQ(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, hca_do("inject event PORT_CHANGE 1 7"));	/* P_Key */
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(COOKIE, e.cookie);
	EXPECT_EQ(DEVX_EVENT_PORT_CHANGE, e.eqe[EQE_TYPE]);
	EXPECT_EQ(7, e.eqe[3]);
}

/* --- Reading -------------------------------------------------------------------------------- */

TEST_F(event, reader_without_room_loses_nothing)
{
	struct event e;
	int fd = self->uv.fd;

	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.qp, DEVX_EVENT_COMM_EST, 1));
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->cookies, self->q.qp, DEVX_EVENT_COMM_EST, 2));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_TRUE(readable(self->channel, WAIT_MS));
	EXPECT_EQ(-1, read(self->channel, &e, sizeof(e) - 1));
	EXPECT_EQ(-1, read(self->channel, &e, 0));
	EXPECT_EQ(-1, read(self->cookies, &e, sizeof(e.cookie) - 1));
	EXPECT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(sizeof(e.cookie), next_event(self->cookies, &e));
}

TEST_F(event, reader_without_memory_is_told)
{
	struct event e;
	ssize_t ret;
	int fd = self->uv.fd;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib loses the event");
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.qp, DEVX_EVENT_COMM_EST, 1));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_TRUE(readable(self->channel, WAIT_MS));
	ret = read_to_nowhere(self->channel, sizeof(e));
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-EOVERFLOW, next_event(self->channel, &e));
	EXPECT_TRUE(quiet(self->channel));
}

TEST_F(event, reader_need_not_wait)
{
	struct event e;
	int flags;

	flags = fcntl(self->channel, F_GETFL);
	ASSERT_EQ(0, fcntl(self->channel, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(-1, read(self->channel, &e, sizeof(e)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(-1, write(self->channel, &e, sizeof(e)));
}

/* Each event is read, or the reader is told that some are lost. */
TEST_F(event, no_event_is_lost_in_silence)
{
	unsigned int raised = MANY, got = 0, lost = 0;
	struct event e;
	ssize_t ret;
	int i;

	ASSERT_EQ(0, devx_subscribe_obj(self->uv.fd, self->channel, self->q.qp,
					DEVX_EVENT_COMM_EST, COOKIE));
	for (i = 0; i < raised; i++)
		ASSERT_EQ(0, raise_qp(self->q.qpn));
	usleep(QUIET_MS * 1000);
	while (!quiet(self->channel)) {
		ret = next_event(self->channel, &e);
		got += ret == sizeof(e);
		lost += ret == -EOVERFLOW;
		ASSERT_TRUE(ret == sizeof(e) || ret == -EOVERFLOW) TH_LOG("%zd", ret);
	}
	EXPECT_TRUE(got == raised || lost) TH_LOG("%u of %u events", got, raised);
	EXPECT_LE(got, raised);
	if (driver_is("bluebell")) {
		EXPECT_EQ(1, lost);
		EXPECT_EQ(128, got);
	}
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	EXPECT_EQ(sizeof(e), next_event(self->channel, &e));
}

/* --- What a process may not have ------------------------------------------------------------ */

TEST_F(event, garbage_is_refused)
{
	struct {
		bool has_obj;
		uint32_t obj;
		uint16_t type;
	} bad[] = {
		{ false, 0, DEVX_EVENT_COMM_EST },	/* of all users' queue pairs */
		{ false, 0, DEVX_EVENT_CQ_ERROR },
		{ false, 0, DEVX_EVENT_SRQ_LIMIT },
		{ false, 0, DEVX_EVENT_CMD },
		{ false, 0, DEVX_EVENT_PAGE_REQUEST },
		{ false, 0, DEVX_EVENT_PAGE_FAULT },
		{ false, 0, 0x7f }, { false, 0, 0xff }, { false, 0, 0x100 }, { false, 0, 0x102 },
		{ false, 0, 0xffff },
		{ true, self->q.qp, 0x7f }, { true, self->q.qp, 0x100 },
		{ true, self->q.qp, 0x102 },
		{ true, self->q.qp, 0xffff },
		{ true, 0xffff, DEVX_EVENT_COMM_EST },
	};
	struct devx_subscription s = { .channel = self->channel, .has_cookie = true };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		s.has_obj = bad[i].has_obj;
		s.obj = bad[i].obj;
		s.types[0] = bad[i].type;
		s.len = 2;
		EXPECT_GT(0, devx_subscribe(self->uv.fd, &s)) TH_LOG("request %zu", i);
	}
	s.has_obj = true;
	s.obj = self->q.qp;
	s.types[0] = DEVX_EVENT_COMM_EST;
	for (i = 0; i < 4; i += 3) {
		s.len = i;	/* bytes: no type, and one type and a half */
		EXPECT_GT(0, devx_subscribe(self->uv.fd, &s)) TH_LOG("%zu bytes", i);
	}
	s.len = sizeof(s.types);
	EXPECT_GT(0, devx_subscribe(self->uv.fd, &s));
	s.len = 2;
	s.channel = self->uv.fd;
	EXPECT_GT(0, devx_subscribe(self->uv.fd, &s));
	s.channel = -1;
	EXPECT_GT(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	EXPECT_TRUE(quiet(self->channel));
	EXPECT_GT(0, devx_open_channel(self->uv.fd, 2));
}

TEST_F(event, each_event_is_of_its_own_objects)
{
	const struct {
		uint32_t obj;
		uint16_t type;
	} bad[] = {
		{ self->q.cq, DEVX_EVENT_COMM_EST }, { self->q.qp, DEVX_EVENT_CQ_ERROR },
		{ self->q.qp, DEVX_EVENT_COMP }, { self->q.qp, DEVX_EVENT_SRQ_LIMIT },
		{ self->q.qp, DEVX_EVENT_PORT_CHANGE }, { self->q.qp, DEVX_EVENT_PAGE_FAULT },
		{ self->q.pd, DEVX_EVENT_COMM_EST },
	};
	struct devx_subscription s = {
		.channel = self->channel, .has_obj = true, .obj = self->q.qp,
		.types = { DEVX_EVENT_COMM_EST }, .len = 2, .has_cookie = true,
		.has_eventfd = true,
	};
	size_t i;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib accepts some of these, which never occur");
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, devx_subscribe_obj(self->uv.fd, self->channel, bad[i].obj,
						      bad[i].type, 1)) TH_LOG("request %zu", i);
	/* An eventfd has no room for a cookie. */
	s.eventfd = eventfd(0, EFD_CLOEXEC);
	EXPECT_EQ(-EINVAL, devx_subscribe(self->uv.fd, &s));
	close(s.eventfd);
}

TEST_F(event, number_of_subscriptions_is_bounded)
{
	int i, ret = 0;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (i = 0; i < 100 && !ret; i++)
		ret = devx_subscribe_obj(self->uv.fd, i % 2 ? self->channel : self->cookies,
					 self->q.qp, DEVX_EVENT_COMM_EST, i);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(65, i);
}

/* Returns the number by which the kernel tells eventfds apart, or -1. */
static int eventfd_id(int efd)
{
	char path[64], line[128];
	int id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", efd);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "eventfd-id: %d", &id) == 1)
			break;
	fclose(f);
	return id;
}

/* Returns the lowest number that no eventfd has, or -1. */
static int unused_eventfd_id(void)
{
	int efd = eventfd(0, EFD_CLOEXEC), id = eventfd_id(efd);

	close(efd);
	return id;
}

/* Request events with a new eventfd, of which the process keeps no descriptor. */
static int subscribe_with_eventfd(int fd, struct devx_subscription *s)
{
	int ret;

	s->eventfd = eventfd(0, EFD_CLOEXEC);
	ret = devx_subscribe(fd, s);
	close(s->eventfd);
	return ret;
}

/* An eventfd exists as long as it has a descriptor or a subscription. */
TEST_F(event, subscription_that_ends_or_is_refused_keeps_no_eventfd)
{
	struct devx_subscription s = {
		.has_obj = true, .obj = self->q.qp, .types = { DEVX_EVENT_COMM_EST }, .len = 2,
		.has_eventfd = true,
	};
	int i, fd = self->uv.fd, first = unused_eventfd_id();

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	ASSERT_LE(0, first);
	s.channel = devx_open_channel(fd, 0);
	ASSERT_LT(0, s.channel);
	for (i = 0; i < 64; i++)
		ASSERT_EQ(0, subscribe_with_eventfd(fd, &s));
	for (i = 0; i < 64; i++)
		ASSERT_EQ(-ENOSPC, subscribe_with_eventfd(fd, &s));
	/* Other processes of the guest have few eventfds. */
	EXPECT_GT(first + 64 + 32, unused_eventfd_id());
	close(s.channel);
	/* The driver frees subscriptions a while after their end. */
	for (i = 0; i < WAIT_MS / 10 && unused_eventfd_id() >= first + 32; i++)
		usleep(10000);
	EXPECT_GT(first + 32, unused_eventfd_id());
}

/* Open channels, each with a subscription if @subscribe. Returns the KiB that they take, or -1. */
static long cost_of_channels(struct uv *uv, uint32_t qp, int *channels, unsigned int n,
			     bool subscribe)
{
	long before = free_kb(), cost;
	unsigned int i;
	bool failed = false;

	for (i = 0; i < n && !failed; i++) {
		channels[i] = devx_open_channel(uv->fd, 0);
		failed = channels[i] < 0 ||
			 (subscribe && devx_subscribe_obj(uv->fd, channels[i], qp,
							  DEVX_EVENT_COMM_EST, i));
	}
	cost = before - free_kb();
	while (i)
		close(channels[--i]);
	return failed ? -1 : cost;
}

/* Most channels have few subscriptions, and a process may have thousands of channels. */
TEST_F(event, channels_cost_what_their_subscriptions_need)
{
	int channels[200];
	long cost;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	/* The files cost a KiB or two each; memory for 1,024 events would be 25 MiB. */
	cost = cost_of_channels(&self->uv, self->q.qp, channels, 200, false);
	TH_LOG("200 channels: %ld KiB", cost);
	EXPECT_GT(4 * 1024, cost);
	/* A context may have 64 subscriptions to an event of an object. */
	cost = cost_of_channels(&self->uv, self->q.qp, channels, 60, true);
	TH_LOG("60 channels with a subscription: %ld KiB", cost);
	EXPECT_LE(0, cost);
	EXPECT_GT(4 * 1024, cost);
}

TEST_F(event, number_of_channels_is_bounded)
{
	int channels[300], n, ret;

	if (!driver_is("bluebell"))
		SKIP(return, ONLY_BLUEBELL);
	for (n = 0; n < 300; n++) {
		channels[n] = devx_open_channel(self->uv.fd, n % 2);
		if (channels[n] < 0)
			break;
	}
	/* A context may have 256 channels, and the fixture has opened two. */
	EXPECT_EQ(254, n);
	EXPECT_EQ(-ENOSPC, channels[n]);
	close(channels[0]);
	ret = devx_open_channel(self->uv.fd, 0);
	EXPECT_LE(0, ret);
	EXPECT_EQ(-ENOSPC, devx_open_channel(self->uv.fd, 0));
	channels[0] = ret;
	while (n)
		close(channels[--n]);
}

TEST_F(event, device_reports_its_temperature_to_the_privileged)
{
	struct devx_subscription s = {
		.channel = self->channel, .types = { DEVX_EVENT_TEMP_WARN }, .len = 2,
	};
	struct uv uv;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib leaves the decision to firmware");
	EXPECT_EQ(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, drop_capability(CAP_SYS_RAWIO));
	/* What counts is how privileged the process was when it opened the device. */
	EXPECT_EQ(0, devx_subscribe(self->uv.fd, &s));
	ASSERT_EQ(0, uv_open_devx(&uv));
	s.channel = devx_open_channel(uv.fd, 0);
	ASSERT_LT(0, s.channel);
	EXPECT_EQ(-EPERM, devx_subscribe(uv.fd, &s));
	s.types[0] = DEVX_EVENT_PORT_CHANGE;
	EXPECT_EQ(0, devx_subscribe(uv.fd, &s));
	close(s.channel);
	uv_close(&uv);
}

TEST_F(event, others_do_not_learn_of_my_events)
{
	struct devx_queues theirs;
	struct event e;
	struct uv uv;
	uint8_t *mem;
	int channel;

	mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, devx_queues_prepare(uv.fd, mem, &theirs));
	ASSERT_EQ(0, devx_create_cq(uv.fd, &theirs));
	ASSERT_EQ(0, devx_create_qp(uv.fd, &theirs));
	channel = devx_open_channel(uv.fd, 0);
	ASSERT_LT(0, channel);
	ASSERT_EQ(0, devx_subscribe_obj(uv.fd, channel, theirs.qp, DEVX_EVENT_COMM_EST, 1));
	ASSERT_EQ(0, devx_subscribe_obj(self->uv.fd, self->channel, self->q.qp,
					DEVX_EVENT_COMM_EST, 2));
	/* The channel is of one file, the object of another. */
	EXPECT_GT(0, devx_subscribe_obj(self->uv.fd, channel, self->q.qp, DEVX_EVENT_COMM_EST, 3));
	EXPECT_GT(0, devx_subscribe_obj(uv.fd, self->channel, theirs.qp, DEVX_EVENT_COMM_EST, 4));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(2, e.cookie);
	EXPECT_TRUE(quiet(channel));
	ASSERT_EQ(0, raise_qp(theirs.qpn));
	ASSERT_EQ(sizeof(e), next_event(channel, &e));
	EXPECT_EQ(1, e.cookie);
	EXPECT_TRUE(quiet(self->channel));
	close(channel);
	uv_close(&uv);
	munmap(mem, DEVX_QUEUES_BYTES);
}

/* Destroy a queue pair that has subscriptions. Another user's queue pair gets its number. */
TEST_F(event, number_that_is_used_again_is_not_mine)
{
	struct devx_queues theirs;
	uint32_t qpn = self->q.qpn;
	struct event e;
	struct uv uv;
	uint8_t *mem;

	ASSERT_EQ(0, devx_subscribe_obj(self->uv.fd, self->channel, self->q.qp,
					DEVX_EVENT_COMM_EST, 1));
	ASSERT_EQ(0, devx_subscribe_obj(self->uv.fd, self->cookies, self->q.qp,
					DEVX_EVENT_COMM_EST, 2));
	ASSERT_EQ(0, raise_qp(qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	ASSERT_EQ(sizeof(e.cookie), next_event(self->cookies, &e));
	mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, devx_queues_prepare(uv.fd, mem, &theirs));
	ASSERT_EQ(0, devx_create_cq(uv.fd, &theirs));
	ASSERT_EQ(0, devx_destroy(self->uv.fd, self->q.qp));
	ASSERT_EQ(0, devx_create_qp(uv.fd, &theirs));
	if (theirs.qpn == qpn) {
		ASSERT_EQ(0, raise_qp(qpn));
		EXPECT_TRUE(quiet(self->channel));
		EXPECT_TRUE(quiet(self->cookies));
	}
	uv_close(&uv);
	munmap(mem, DEVX_QUEUES_BYTES);
	if (theirs.qpn != qpn)
		SKIP(return, "the device does not use the number again");
}

/* Firmware refuses to destroy the object, which goes on to have events. */
TEST_F(event, object_that_firmware_keeps_has_events)
{
	struct event e;
	int fd = self->uv.fd;

	if (!driver_is("bluebell"))
		SKIP(return, "mlx5_ib ends the subscription");
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, self->q.qp, DEVX_EVENT_COMM_EST, 1));
	ASSERT_EQ(0, hca_do("inject op DESTROY_QP BAD_RES_STATE"));
	EXPECT_GT(0, devx_destroy(fd, self->q.qp));
	EXPECT_EQ(1, hca_inject_clear());
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	EXPECT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(0, devx_destroy(fd, self->q.qp));
	ASSERT_EQ(0, raise_qp(self->q.qpn));
	EXPECT_TRUE(quiet(self->channel));
}

/* --- Queues of verbs ------------------------------------------------------------------------ */

TEST_F(event, queues_of_verbs_have_events)
{
	struct mlx5_ib_create_srq drv = { .uidx = uv_uidx() };
	struct uv_srq srq = { .max_wr = 15, .max_sge = 1 };
	int ret, fd = self->uv.fd;
	struct uv_mem srq_mem;
	struct uv_cq cq;
	struct uv_qp qp;
	struct event e;

	ASSERT_EQ(0, uv_create_cq(fd, 31, &cq));
	ASSERT_EQ(0, uv_create_qp(fd, self->q.pd, cq.handle, IBV_QPT_RC, &qp));
	ASSERT_EQ(0, uv_mem_alloc(&srq_mem, 64 * 32));
	drv.buf_addr = (uintptr_t)srq_mem.buf;
	drv.db_addr = (uintptr_t)srq_mem.dbr;
	ASSERT_EQ(0, uv_create_srq(fd, self->q.pd, &drv, sizeof(drv), &srq));
	ret = devx_subscribe_obj(fd, self->channel, qp.handle, DEVX_EVENT_COMM_EST, 1);
	if (ret == -EINVAL && driver_is("mlx5_ib"))
		SKIP(return, "mlx5_ib takes objects of DEVX only");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, cq.handle, DEVX_EVENT_CQ_ERROR, 2));
	ASSERT_EQ(0, devx_subscribe_obj(fd, self->channel, srq.handle, DEVX_EVENT_SRQ_LIMIT, 3));
	ASSERT_EQ(0, raise_qp(qp.qpn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(1, e.cookie);
	ASSERT_EQ(0, hca_do("inject event CQ_ERROR %u", cq.cqn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(2, e.cookie);
	ASSERT_EQ(0, hca_do("inject event SRQ_RQ_LIMIT %u", srq.srqn));
	ASSERT_EQ(sizeof(e), next_event(self->channel, &e));
	EXPECT_EQ(3, e.cookie);
	/* The completions of a CQ of verbs are reported by its completion channel only. */
	EXPECT_EQ(-EOPNOTSUPP, devx_subscribe_obj(fd, self->channel, cq.handle, DEVX_EVENT_COMP,
						  4));
	EXPECT_EQ(-EINVAL, devx_subscribe_obj(fd, self->channel, self->q.pd, DEVX_EVENT_COMM_EST,
					      4));
	EXPECT_EQ(0, uv_destroy_srq(fd, srq.handle));
	EXPECT_EQ(0, uv_destroy_qp(fd, &qp));
	EXPECT_EQ(0, uv_destroy_cq(fd, &cq));
	ASSERT_EQ(0, raise_qp(qp.qpn));
	EXPECT_TRUE(quiet(self->channel));
	uv_mem_free(&srq_mem);
}

/* --- Asynchronous commands ------------------------------------------------------------------ */

static int query_async(struct uv *uv, struct devx_queues *q, int file, uint64_t wr_id)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, q->qpn);
	return devx_query_async(uv->fd, q->qp, &cmd, ANSWER_BYTES, file, wr_id);
}

static ssize_t next_answer(int file, struct answer *a)
{
	memset(a, 0xff, sizeof(*a));
	return read_within(file, a, sizeof(*a), WAIT_MS);
}

static unsigned int answer_state(const struct answer *a)
{
	return a->out[QPC_STATE] >> 4;
}

TEST_F(event, answers_have_their_ids)
{
	unsigned int seen = 0, i;
	struct answer a;
	int file;

	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, query_async(&self->uv, &self->q, file, COOKIE + i));
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(sizeof(a), next_answer(file, &a));
		EXPECT_EQ(0, a.out[0]);
		EXPECT_EQ(0, answer_state(&a));
		ASSERT_GT(8, a.wr_id - COOKIE);
		seen |= 1 << (a.wr_id - COOKIE);
	}
	EXPECT_EQ(0xff, seen);
	EXPECT_TRUE(quiet(file));
	ASSERT_EQ(0, devx_connect_qp(self->uv.fd, &self->q));
	ASSERT_EQ(0, query_async(&self->uv, &self->q, file, 1));
	ASSERT_EQ(sizeof(a), next_answer(file, &a));
	EXPECT_EQ(3, answer_state(&a));		/* RTS */
	close(file);
}

/* The answer that came first is read first. */
TEST_F(event, answers_are_read_in_the_order_of_completion)
{
	struct answer a;
	int file;

	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	ASSERT_EQ(0, hca_do("inject cmd delay 2000 1 QUERY_QP"));
	ASSERT_EQ(0, query_async(&self->uv, &self->q, file, 1));
	/*
	 * Let the device begin with the first command: it may execute waiting commands in any
	 * order.
	 */
	usleep(QUIET_MS * 1000);
	ASSERT_EQ(0, query_async(&self->uv, &self->q, file, 2));
	ASSERT_EQ(sizeof(a), next_answer(file, &a));
	EXPECT_EQ(2, a.wr_id);
	ASSERT_EQ(sizeof(a), next_answer(file, &a));
	EXPECT_EQ(1, a.wr_id);
	EXPECT_EQ(1, hca_inject_clear());
	close(file);
}

TEST_F(event, refusal_is_in_the_answer)
{
	struct answer a;
	int file;

	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	ASSERT_EQ(0, hca_do("inject op QUERY_QP LIM_ERR 1"));
	ASSERT_EQ(0, query_async(&self->uv, &self->q, file, 1));
	ASSERT_EQ(sizeof(a), next_answer(file, &a));
	EXPECT_EQ(1, a.wr_id);
	EXPECT_EQ(8, a.out[0]);			/* LIM_ERR */
	EXPECT_EQ(1, hca_inject_clear());
	close(file);
}

TEST_F(event, only_queries_of_own_objects_are_sent)
{
	struct devx_cmd cmd;
	struct uv uv;
	int file, theirs, fd = self->uv.fd;

	file = devx_open_cmd_file(fd);
	ASSERT_LT(0, file);
	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, self->q.qpn + 1);
	EXPECT_EQ(-EINVAL, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, file, 1));
	devx_start(&cmd, DEVX_2ERR_QP);
	devx_put(&cmd, 8, self->q.qpn);
	EXPECT_EQ(-EINVAL, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, file, 1));
	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	EXPECT_EQ(-EINVAL, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, file, 1));
	devx_start(&cmd, DEVX_QUERY_QP);
	devx_put(&cmd, 8, self->q.qpn);
	EXPECT_EQ(-EINVAL, devx_query_async(fd, self->q.cq, &cmd, ANSWER_BYTES, file, 1));
	EXPECT_EQ(-ENOENT, devx_query_async(fd, 0xffff, &cmd, ANSWER_BYTES, file, 1));
	EXPECT_GT(0, devx_query_async(fd, self->q.qp, &cmd, 1ull << 40, file, 1));
	EXPECT_GT(0, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, self->channel, 1));
	EXPECT_GT(0, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, fd, 1));
	if (driver_is("bluebell"))
		EXPECT_EQ(-EINVAL, devx_query_async(fd, self->q.qp, &cmd, 15, file, 1));
	/* The file for the answer belongs to another context. */
	ASSERT_EQ(0, uv_open_devx(&uv));
	theirs = devx_open_cmd_file(uv.fd);
	ASSERT_LT(0, theirs);
	EXPECT_GT(0, devx_query_async(fd, self->q.qp, &cmd, ANSWER_BYTES, theirs, 1));
	EXPECT_TRUE(quiet(file));
	EXPECT_TRUE(quiet(theirs));
	close(theirs);
	uv_close(&uv);
	close(file);
}

/* The memory of commands whose answers a process has not read is limited. */
TEST_F(event, bytes_in_flight_are_bounded)
{
	unsigned int sent = 0;
	struct answer a;
	int ret, file;

	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	do {
		ret = query_async(&self->uv, &self->q, file, sent);
		sent += !ret;
	} while (!ret && sent < 100000);
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_LT(100, sent);
	EXPECT_GT((1 << 20) / ANSWER_BYTES + 1, sent);
	/* Bluebell counts the bytes of the commands, too. */
	if (driver_is("bluebell"))
		EXPECT_GT((1 << 20) / (ANSWER_BYTES + DEVX_IN_BYTES), sent);
	/* An answer that has been read makes room for a command. */
	ASSERT_EQ(sizeof(a), next_answer(file, &a));
	EXPECT_EQ(0, query_async(&self->uv, &self->q, file, sent++));
	for (sent--; sent; sent--)
		ASSERT_EQ(sizeof(a), next_answer(file, &a)) TH_LOG("%u left", sent);
	EXPECT_TRUE(quiet(file));
	close(file);
}

TEST_F(event, answer_that_cannot_be_read_stays)
{
	struct answer a;
	int file;

	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	ASSERT_EQ(0, query_async(&self->uv, &self->q, file, 1));
	ASSERT_TRUE(readable(file, WAIT_MS));
	EXPECT_EQ(-1, read(file, &a, sizeof(a) - 1));
	if (driver_is("bluebell")) {
		EXPECT_EQ(-1, read_to_nowhere(file, sizeof(a)));
		EXPECT_EQ(EFAULT, errno);
	}
	EXPECT_EQ(sizeof(a), next_answer(file, &a));
	ASSERT_EQ(0, fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK));
	EXPECT_EQ(-1, read(file, &a, sizeof(a)));
	EXPECT_EQ(EAGAIN, errno);
	close(file);
}

/* --- The context is closed, or the device removed ------------------------------------------- */

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

TEST_F(event, file_is_closed_with_commands_in_flight)
{
	struct timespec start;
	int i, file;

	ASSERT_EQ(0, hca_do("inject cmd delay 300 4 QUERY_QP"));
	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, query_async(&self->uv, &self->q, file, i));
	clock_gettime(CLOCK_MONOTONIC, &start);
	close(file);
	EXPECT_GT(WAIT_MS, ms_since(&start));
	EXPECT_EQ(4, hca_inject_clear());
	/* The object may be destroyed while commands about it are in flight. */
	file = devx_open_cmd_file(self->uv.fd);
	ASSERT_LT(0, file);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, query_async(&self->uv, &self->q, file, i));
	ASSERT_EQ(0, hca_expect("refuse QUERY_QP BAD_RES_ERR any"));
	EXPECT_EQ(0, devx_destroy(self->uv.fd, self->q.qp));
	close(file);
}

struct reader {
	int file;
	ssize_t ret;
	int err;
};

static void *read_one(void *arg)
{
	struct reader *r = arg;
	char buf[1024];

	r->ret = read(r->file, buf, sizeof(buf));
	r->err = errno;
	return NULL;
}

/* Open a file of each kind, and have a thread read from each, which waits. */
static int start_readers(struct uv *uv, struct reader r[3], pthread_t t[3])
{
	int i;

	r[0].file = devx_open_channel(uv->fd, 0);
	r[1].file = devx_open_channel(uv->fd, MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	r[2].file = devx_open_cmd_file(uv->fd);
	for (i = 0; i < 3; i++)
		if (r[i].file < 0 || pthread_create(&t[i], NULL, read_one, &r[i]))
			return -1;
	usleep(QUIET_MS * 1000);
	return 0;
}

static void do_nothing(int sig)
{
}

/* The kernel continues the read() after a handler with SA_RESTART, and only then. */
TEST_F(event, readers_go_on_after_a_signal)
{
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
	struct reader r[3];
	pthread_t t[3];
	struct uv uv;
	int i, round;

	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
		ASSERT_EQ(0, uv_open_devx(&uv));
		ASSERT_EQ(0, start_readers(&uv, r, t));
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_kill(t[i], SIGUSR1));
		usleep(QUIET_MS * 1000);
		uv_close(&uv);
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, pthread_join(t[i], NULL));
			EXPECT_EQ(-1, r[i].ret) TH_LOG("file %d", i);
			EXPECT_EQ(round ? EINTR : EIO, r[i].err) TH_LOG("file %d", i);
			close(r[i].file);
		}
		action.sa_flags = 0;
	}
}

/* The context is closed, but not the files that belong to it. */
TEST_F(event, readers_wake_when_the_context_is_closed)
{
	struct reader r[3];
	struct pollfd p;
	pthread_t t[3];
	struct uv uv;
	int i;

	ASSERT_EQ(0, uv_open_devx(&uv));
	ASSERT_EQ(0, start_readers(&uv, r, t));
	uv_close(&uv);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_join(t[i], NULL));
		EXPECT_EQ(-1, r[i].ret) TH_LOG("file %d", i);
		EXPECT_EQ(EIO, r[i].err) TH_LOG("file %d", i);
		p = (struct pollfd){ .fd = r[i].file, .events = POLLIN };
		EXPECT_EQ(1, poll(&p, 1, 0)) TH_LOG("file %d", i);
		close(r[i].file);
	}
}

/* Child: all kinds of objects, events and answers that are never read, and commands in flight. */
static int everything(uint8_t *mem)
{
	int i, channel, cookies, file, ret;
	struct devx_queues q;
	struct uv uv;

	ret = uv_open_devx(&uv) ?: devx_queues_prepare(uv.fd, mem, &q) ?:
	      devx_create_cq(uv.fd, &q) ?: devx_create_qp(uv.fd, &q);
	if (ret)
		return ret;
	channel = devx_open_channel(uv.fd, 0);
	cookies = devx_open_channel(uv.fd, MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA);
	file = devx_open_cmd_file(uv.fd);
	for (i = 0; i < 20 && !ret; i++)
		ret = devx_subscribe_obj(uv.fd, channel, q.qp, DEVX_EVENT_COMM_EST, i) ?:
		      devx_subscribe_obj(uv.fd, cookies, q.qp, DEVX_EVENT_COMM_EST, i);
	for (i = 0; i < 20 && !ret; i++)
		ret = raise_qp(q.qpn) ?: query_async(&uv, &q, file, i);
	return ret;
}

static int hold_everything(void *mem, int ready)
{
	return everything(mem) || child_hold(ready);
}

TEST_F(event, sigkill_leaves_nothing)
{
	uint8_t *mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	ASSERT_NE(MAP_FAILED, mem);
	pid = child_start(hold_everything, mem);
	ASSERT_LT(0, pid);
	ASSERT_LE(0, child_kill(pid));
	munmap(mem, DEVX_QUEUES_BYTES);
}

/* What the child of the tests below gets: memory for queues, and the number of the round. */
struct watcher {
	uint8_t *mem;
	unsigned int round;
};

/* Wait for answers and events until the device is removed, and all files end. */
static int watch_until_removed(void *arg, int ready)
{
	struct watcher *w = arg;
	struct devx_queues q;
	struct answer a;
	int file, channel;
	struct uv uv;

	if (uv_open_devx(&uv) || devx_queues_prepare(uv.fd, w->mem, &q) ||
	    devx_create_cq(uv.fd, &q) || devx_create_qp(uv.fd, &q))
		return 2;
	channel = devx_open_channel(uv.fd, w->round % 2);
	file = devx_open_cmd_file(uv.fd);
	if (channel < 0 || file < 0 ||
	    devx_subscribe_obj(uv.fd, channel, q.qp, DEVX_EVENT_COMM_EST, 1))
		return 3;
	if (child_ready(ready))
		return 4;
	while (!query_async(&uv, &q, file, 1))
		next_answer(file, &a);
	if (read(channel, &a, sizeof(a)) >= 0 || errno != EIO)
		return 5;
	while (read(file, &a, sizeof(a)) >= 0)
		;
	return errno == EIO ? 0 : 6;
}

/* Returns how the process has ended, or -1 if it is still there after WAIT_MS. */
static int wait_for_end(pid_t pid)
{
	int i, status;

	for (i = 0; i < WAIT_MS / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

FIXTURE(removal) {
};

FIXTURE_SETUP(removal)
{
	if (!devx_has_umems())
		SKIP(return, NO_UMEMS);
}

FIXTURE_TEARDOWN(removal)
{
}

/* At removal the driver destroys the objects of a process that still reads answers and events. */
TEST_F_TIMEOUT(removal, device_is_removed_while_a_process_watches_it, 300)
{
	struct watcher w = {};
	struct binding b;
	pid_t pid;

	w.mem = mmap(NULL, DEVX_QUEUES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, w.mem);
	/* mlx5_ib destroys the object while a command about the object is in flight. */
	if (driver_is("mlx5_ib"))
		ASSERT_EQ(0, hca_expect("refuse QUERY_QP BAD_RES_ERR any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	if (hca_ctl_present())
		EXPECT_EQ(0, hca_census_reset());
	for (; w.round < 4; w.round++) {
		EXPECT_EQ(0, binding_do(&b, "bind"));
		ASSERT_TRUE(binding_wait_device());
		pid = child_start(watch_until_removed, &w);
		ASSERT_LT(0, pid);
		usleep(100000 + rand() % 100000);
		EXPECT_EQ(0, binding_do(&b, "unbind"));
		if (hca_ctl_present())
			EXPECT_CENSUS_UNCHANGED();
		EXPECT_EQ(0, wait_for_end(pid)) TH_LOG("round %u", w.round);
	}
	EXPECT_EQ(0, binding_do(&b, "bind"));
	EXPECT_TRUE(binding_wait_device());
	munmap(w.mem, DEVX_QUEUES_BYTES);
}

TEST_HARNESS_MAIN
