// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connection manager as programs use it, by librdmacm, with both ends on one port: connections,
 * rejections, datagram addresses, processes that are killed, removal of the device; and messages of
 * the connection manager that a privileged program makes up. Addresses are GIDs (AF_IB), so no
 * IPoIB is needed; on an Ethernet port they are the netdev's link-local address of IPv6.
 */
#include <arpa/inet.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "binding.h"
#include "test.h"
#include "umad.h"

#define NO_CM "the kernel has no rdma_ucm"
/* Service IDs of the port spaces TCP and UDP: RDMA_IB_IP_PS_* of the kernel's rdma/rdma_cm.h. */
#define SERVICE_TCP 0x0000000001060000ull
#define SERVICE_UDP 0x0000000001110000ull
#define PORT 7000
#define TIMEOUT_MS 2000	/* of a resolution */
#define EVENT_MS 20000
#define BACKLOG 128
#define MANY 64
#define BYTES 512
#define CLASS_CM 0x07
#define REJ_INVALID_SERVICE_ID 8	/* reasons of a rejection */
#define REJ_CONSUMER_DEFINED 28

/* Attribute IDs of the connection manager's messages, and the offset of a REQ's service ID. */
enum {
	CM_REQ = 0x10, CM_MRA, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP, CM_SIDR_REQ, CM_SIDR_REP,
	CM_LAP, CM_APR,
};

enum { AT_CM = 24, AT_REQ_SERVICE = AT_CM + 8 };

/* The private data of a request begins with a header for IP addresses, which AF_IB leaves empty. */
static const struct {
	uint8_t header[36];
	char text[16];
} hello = { .text = "from the client" };

static const char welcome[] = "from the server", no[] = "go away";

/*
 * A listener; the event channel of the listener and of the connections it accepts; and the event
 * channel of the clients.
 */
struct cm {
	struct rdma_event_channel *server, *client;
	struct rdma_cm_id *listener;
	enum rdma_port_space ps;
};

/* A connection, seen from both ends. */
struct conn {
	struct rdma_cm_id *client, *server;
	struct ibv_mr *mr[2];
	uint8_t buf[2][BYTES];
};

union address {
	struct sockaddr any;
	struct sockaddr_ib ib;
	struct sockaddr_in6 ip6;
};

/* The service ID of a port, in network order. */
static uint64_t service_id(enum rdma_port_space ps, uint16_t port)
{
	return htobe64((ps == RDMA_PS_UDP ? SERVICE_UDP : SERVICE_TCP) | port);
}

static union address own_address(enum rdma_port_space ps, uint16_t port)
{
	union address addr = { .ib = { .sib_family = AF_IB, .sib_pkey = htobe16(0xffff) } };
	char text[64] = "", netdev[IFNAMSIZ];

	if (port_is_ethernet()) {
		addr.ip6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = htobe16(port),
		};
		if (port_netdev(netdev, sizeof(netdev)))
			addr.ip6.sin6_scope_id = if_nametoindex(netdev);
		memcpy(&addr.ip6.sin6_addr, &port_own_gid()->gid, sizeof(addr.ip6.sin6_addr));
		return addr;
	}
	addr.ib.sib_sid = service_id(ps, port);
	addr.ib.sib_sid_mask = htobe64(UINT64_MAX);
	if (rdma_read_sysfs("ports/1/gids/0", text, sizeof(text)))
		inet_pton(AF_INET6, text, &addr.ib.sib_addr);
	return addr;
}

/*
 * Wait for the next event of a channel, which must be of this type. The caller acknowledges the
 * event. Returns NULL, and says what has come, if another event or no event comes within the time.
 */
static struct rdma_cm_event *next(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&pfd, 1, EVENT_MS) != 1) {
		printf("# no event within %d ms, for %s\n", EVENT_MS, rdma_event_str(type));
		return NULL;
	}
	if (rdma_get_cm_event(ch, &event))
		return NULL;
	if (event->event == type)
		return event;
	printf("# event %s (status %d), for %s\n", rdma_event_str(event->event), event->status,
	       rdma_event_str(type));
	rdma_ack_cm_event(event);
	return NULL;
}

/* Wait for the next event as next() does, and acknowledge it. True if it has this type. */
static bool comes(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next(ch, type);

	if (event)
		rdma_ack_cm_event(event);
	return event;
}

static int listen_on(struct cm *cm, uint16_t port)
{
	union address addr = own_address(cm->ps, port);

	if (rdma_create_id(cm->server, &cm->listener, NULL, cm->ps))
		return -errno;
	if (rdma_bind_addr(cm->listener, &addr.any) ||
	    rdma_listen(cm->listener, BACKLOG))
		return -errno;
	return 0;
}

static int cm_open(struct cm *cm, enum rdma_port_space ps)
{
	cm->ps = ps;
	cm->server = rdma_create_event_channel();
	cm->client = rdma_create_event_channel();
	return cm->server && cm->client ? listen_on(cm, PORT) : -errno;
}

static void cm_close(struct cm *cm)
{
	if (cm->listener)
		rdma_destroy_id(cm->listener);
	rdma_destroy_event_channel(cm->server);
	rdma_destroy_event_channel(cm->client);
}

static int create_qp(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type, .sq_sig_all = 1,
	};

	return rdma_create_qp(id, NULL, &attr) ? -errno : 0;
}

/* Create a client, resolve the listener's address and the route to it, and create a queue pair. */
static struct rdma_cm_id *client_create(struct cm *cm, uint16_t port)
{
	union address addr = own_address(cm->ps, port);
	struct rdma_cm_id *id;

	if (rdma_create_id(cm->client, &id, NULL, cm->ps))
		return NULL;
	if (!rdma_resolve_addr(id, NULL, &addr.any, TIMEOUT_MS) &&
	    comes(cm->client, RDMA_CM_EVENT_ADDR_RESOLVED) && !rdma_resolve_route(id, TIMEOUT_MS) &&
	    comes(cm->client, RDMA_CM_EVENT_ROUTE_RESOLVED) &&
	    !create_qp(id, cm->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC))
		return id;
	rdma_destroy_ep(id);
	return NULL;
}

static int client_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.private_data = &hello, .private_data_len = sizeof(hello), .responder_resources = 1,
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};

	return rdma_connect(id, &param) ? -errno : 0;
}

/*
 * Wait at the server for a client's request to connect. Returns the id of the new connection, or
 * NULL.
 */
static struct rdma_cm_id *request(struct cm *cm)
{
	struct rdma_cm_event *event = next(cm->server, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = NULL;

	if (!event)
		return NULL;
	if (event->listen_id == cm->listener &&
	    !memcmp(cm->ps == RDMA_PS_UDP ? event->param.ud.private_data :
					    event->param.conn.private_data, &hello, sizeof(hello)))
		id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void conn_free(struct conn *c)
{
	int i;

	for (i = 0; i < 2; i++)
		if (c->mr[i])
			rdma_dereg_mr(c->mr[i]);
	if (c->client)
		rdma_destroy_ep(c->client);
	if (c->server)
		rdma_destroy_ep(c->server);
	free(c);
}

static struct conn *conn_create(struct cm *cm)
{
	struct rdma_conn_param param = {
		.private_data = welcome, .private_data_len = sizeof(welcome),
		.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7,
	};
	struct conn *c = calloc(1, sizeof(*c));
	struct rdma_cm_event *event;
	bool good;

	c->client = client_create(cm, PORT);
	if (!c->client || client_connect(c->client))
		goto fail;
	c->server = request(cm);
	if (!c->server || create_qp(c->server, IBV_QPT_RC) || rdma_accept(c->server, &param))
		goto fail;
	event = next(cm->client, RDMA_CM_EVENT_ESTABLISHED);
	if (!event)
		goto fail;
	good = !memcmp(event->param.conn.private_data, welcome, sizeof(welcome));
	rdma_ack_cm_event(event);
	if (!good || !comes(cm->server, RDMA_CM_EVENT_ESTABLISHED))
		goto fail;
	c->mr[0] = rdma_reg_msgs(c->client, c->buf[0], BYTES);
	c->mr[1] = rdma_reg_msgs(c->server, c->buf[1], BYTES);
	if (c->mr[0] && c->mr[1])
		return c;
fail:
	conn_free(c);
	return NULL;
}

/* Send a message from the client to the server. True if it arrives with its data. */
static bool carries_data(struct conn *c, unsigned int seed)
{
	struct ibv_wc wc;

	fill(c->buf[0], BYTES, seed);
	memset(c->buf[1], 0, BYTES);
	return !rdma_post_recv(c->server, NULL, c->buf[1], BYTES, c->mr[1]) &&
	       !rdma_post_send(c->client, NULL, c->buf[0], BYTES, c->mr[0], 0) &&
	       rdma_get_send_comp(c->client, &wc) == 1 && wc.status == IBV_WC_SUCCESS &&
	       rdma_get_recv_comp(c->server, &wc) == 1 && wc.status == IBV_WC_SUCCESS &&
	       check_fill(c->buf[1], BYTES, seed);
}

/* Expect that the clients' next event is a rejection with this reason and this private data. */
static void expect_rejected(struct __test_metadata *_metadata, struct cm *cm, int reason,
			    const char *data)
{
	struct rdma_cm_event *event = next(cm->client, RDMA_CM_EVENT_REJECTED);

	ASSERT_NE(NULL, event);
	EXPECT_EQ(reason, event->status);
	if (data) {
		EXPECT_LE(strlen(data), event->param.conn.private_data_len);
		EXPECT_EQ(0, memcmp(data, event->param.conn.private_data, strlen(data)));
	}
	rdma_ack_cm_event(event);
}

FIXTURE(cm) {
	struct cm cm;
};

/*
 * librdmacm keeps the device open until the process ends, so a test that counts objects calls
 * librdmacm in a child only.
 */
FIXTURE_SETUP(cm)
{
	if (access("/dev/infiniband/rdma_cm", R_OK))
		SKIP(return, NO_CM);
	ASSERT_EQ(0, cm_open(&self->cm, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(cm)
{
	if (self->cm.server)
		cm_close(&self->cm);
}

TEST_F(cm, connection_carries_data)
{
	struct conn *c = conn_create(&self->cm);

	ASSERT_NE(NULL, c);
	EXPECT_TRUE(carries_data(c, 1));
	/* The server sees the disconnection, and only then disconnects its end. */
	EXPECT_EQ(0, rdma_disconnect(c->client));
	EXPECT_TRUE(comes(self->cm.server, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_EQ(0, rdma_disconnect(c->server));
	EXPECT_TRUE(comes(self->cm.client, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(c->client->qp));
	EXPECT_EQ(IBV_QPS_ERR, rdma_qp_state(c->server->qp));
	conn_free(c);
}

TEST_F(cm, request_is_rejected_with_data)
{
	struct rdma_cm_id *client = client_create(&self->cm, PORT), *server;

	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, client_connect(client));
	server = request(&self->cm);
	ASSERT_NE(NULL, server);
	EXPECT_EQ(0, rdma_reject(server, no, sizeof(no)));
	expect_rejected(_metadata, &self->cm, REJ_CONSUMER_DEFINED, no);
	rdma_destroy_id(server);
	rdma_destroy_ep(client);
}

TEST_F(cm, nobody_listens)
{
	struct rdma_cm_id *client = client_create(&self->cm, PORT + 1);

	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, client_connect(client));
	expect_rejected(_metadata, &self->cm, REJ_INVALID_SERVICE_ID, NULL);
	rdma_destroy_ep(client);
}

TEST_F(cm, listener_goes_while_requests_wait)
{
	struct rdma_cm_id *client[8];
	struct rdma_cm_event *event;
	struct pollfd pfd;
	int i;

	for (i = 0; i < 8; i++) {
		client[i] = client_create(&self->cm, PORT);
		ASSERT_NE(NULL, client[i]);
		ASSERT_EQ(0, client_connect(client[i]));
	}
	/* All requests have arrived, and the server has taken none of them from its channel. */
	pfd = (struct pollfd){ .fd = self->cm.server->fd, .events = POLLIN };
	ASSERT_EQ(1, poll(&pfd, 1, EVENT_MS));
	rdma_destroy_id(self->cm.listener);
	self->cm.listener = NULL;
	for (i = 0; i < 8; i++) {
		event = next(self->cm.client, RDMA_CM_EVENT_REJECTED);
		EXPECT_NE(NULL, event);
		if (event)
			rdma_ack_cm_event(event);
	}
	for (i = 0; i < 8; i++)
		rdma_destroy_ep(client[i]);
}

TEST_F(cm, many_connections)
{
	struct conn *c[MANY];
	int i;

	for (i = 0; i < MANY; i++) {
		c[i] = conn_create(&self->cm);
		ASSERT_NE(NULL, c[i]);
	}
	for (i = 0; i < MANY; i++)
		EXPECT_TRUE(carries_data(c[i], i));
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(0, rdma_disconnect(c[i]->server));
		EXPECT_TRUE(comes(self->cm.client, RDMA_CM_EVENT_DISCONNECTED));
		EXPECT_EQ(0, rdma_disconnect(c[i]->client));
		EXPECT_TRUE(comes(self->cm.server, RDMA_CM_EVENT_DISCONNECTED));
		conn_free(c[i]);
	}
}

/* Service ID resolution: the answer has the number and the Q_Key of the server's queue pair. */
TEST(datagram_address_is_resolved)
{
	struct rdma_conn_param param = {
		.private_data = &hello, .private_data_len = sizeof(hello),
	};
	struct rdma_cm_id *client, *server;
	struct rdma_cm_event *event;
	struct cm cm = {};

	if (access("/dev/infiniband/rdma_cm", R_OK))
		SKIP(return, NO_CM);
	ASSERT_EQ(0, cm_open(&cm, RDMA_PS_UDP));
	client = client_create(&cm, PORT);
	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, rdma_connect(client, &param));
	server = request(&cm);
	ASSERT_NE(NULL, server);
	ASSERT_EQ(0, create_qp(server, IBV_QPT_UD));
	param.private_data = welcome;
	param.private_data_len = sizeof(welcome);
	param.qp_num = server->qp->qp_num;
	ASSERT_EQ(0, rdma_accept(server, &param));
	event = next(cm.client, RDMA_CM_EVENT_ESTABLISHED);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(server->qp->qp_num, event->param.ud.qp_num);
	EXPECT_EQ(own_lid(), event->param.ud.ah_attr.dlid);
	EXPECT_EQ(RDMA_UDP_QKEY, event->param.ud.qkey);
	EXPECT_EQ(0, memcmp(welcome, event->param.ud.private_data, sizeof(welcome)));
	rdma_ack_cm_event(event);
	rdma_destroy_ep(client);
	rdma_destroy_ep(server);
	cm_close(&cm);
}

/*
 * A child listens, connects @connections times to itself, leaves one request unanswered, and says
 * so by the pipe.
 */
static void work(int fd, int connections)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *waiting;
	struct cm cm = {};
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	good = !cm_open(&cm, RDMA_PS_TCP);
	while (good && connections--)
		good = conn_create(&cm);
	if (good) {
		waiting = client_create(&cm, PORT);
		good = waiting && !client_connect(waiting) && request(&cm);
	}
	if (write(fd, &good, sizeof(good)) != sizeof(good))
		_exit(1);
	/*
	 * Serve until the process is killed. When the device is removed, the other end of a
	 * connection may be destroyed first. Then the server is told of the disconnection before
	 * the removal.
	 */
	while (!rdma_get_cm_event(cm.server, &event)) {
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL &&
		    write(fd, &good, sizeof(good)) != sizeof(good))
			_exit(1);
		rdma_ack_cm_event(event);
	}
	_exit(1);
}

/*
 * Whether the child says within EVENT_MS that one more end of a connection has been told of the
 * removal.
 */
static bool child_was_told(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	bool told;

	return poll(&pfd, 1, EVENT_MS) == 1 && read(fd, &told, sizeof(told)) == sizeof(told);
}

static pid_t start_child(int *fd, int connections)
{
	int pipefd[2];
	bool good = false;
	pid_t pid;

	if (pipe(pipefd))
		return -errno;
	pid = fork();
	if (!pid) {
		close(pipefd[0]);
		work(pipefd[1], connections);
	}
	close(pipefd[1]);
	*fd = pipefd[0];
	return read(pipefd[0], &good, sizeof(good)) == sizeof(good) && good ? pid : -EIO;
}

/*
 * Connections, listeners and requests of a process end with the process, and leave no object in
 * firmware.
 */
TEST(killed_process_leaves_nothing)
{
	pid_t pid;
	int i, fd;

	if (access("/dev/infiniband/rdma_cm", R_OK))
		SKIP(return, NO_CM);
	census_after_first_use(_metadata, IBV_QPT_RC);
	/*
	 * The HCA drops doorbells if the child rings its queues after the driver has destroyed
	 * them.
	 */
	ASSERT_EQ(0, hca_expect("drop any any"));
	for (i = 0; i < 3; i++) {
		pid = start_child(&fd, 8);
		ASSERT_LT(0, pid);
		kill(pid, SIGKILL);
		EXPECT_EQ(pid, waitpid(pid, NULL, 0));
		close(fd);
	}
	if (hca_ctl_present())
		EXPECT_STREQ("", hca_census_delta_within(10000));
}

/*
 * For each of its connections the process is told of the removal, which does not wait until the
 * process has destroyed the connections.
 */
TEST(device_goes)
{
	struct binding b;
	unsigned int i;
	double start;
	pid_t pid;
	int fd;

	if (access("/dev/infiniband/rdma_cm", R_OK))
		SKIP(return, NO_CM);
	ASSERT_EQ(0, hca_expect("drop any any"));
	ASSERT_EQ(0, binding_find(&b));
	ASSERT_EQ(0, binding_do(&b, "unbind"));
	if (hca_ctl_present())
		ASSERT_EQ(0, hca_census_reset());
	ASSERT_EQ(0, binding_do(&b, "bind"));
	ASSERT_TRUE(binding_wait_device());
	pid = start_child(&fd, 4);
	ASSERT_LT(0, pid);
	start = seconds();
	EXPECT_EQ(0, binding_do(&b, "unbind"));
	EXPECT_GT(20, seconds() - start);
	if (hca_ctl_present())
		EXPECT_CENSUS_UNCHANGED();
	/*
	 * The server's ends of four connections, and the request that the server has not answered.
	 */
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(child_was_told(fd));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	close(fd);
	ASSERT_EQ(0, binding_do(&b, "bind"));
	EXPECT_TRUE(binding_wait_device());
	census_after_first_use(_metadata, IBV_QPT_RC);
}

/* Reject the made-up requests that have come to the listener. Returns the number of requests. */
static int reject_all(struct cm *cm)
{
	struct pollfd pfd = { .fd = cm->server->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	bool request;
	int n = 0;

	while (poll(&pfd, 1, 200) == 1 && !rdma_get_cm_event(cm->server, &event)) {
		request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		id = event->id;
		rdma_ack_cm_event(event);
		if (request) {
			rdma_reject(id, NULL, 0);
			rdma_destroy_id(id);
			n++;
		}
	}
	return n;
}

/*
 * A program that may open the file of ib_umad can send messages of the connection manager to any
 * port. Wrong messages change no connection of other processes, and new connections can be made.
 */
TEST_F(cm, made_up_messages_do_no_harm)
{
	struct conn *c = conn_create(&self->cm), *later;
	uint64_t sid = service_id(RDMA_PS_TCP, PORT);
	struct agent agent;
	struct mad m;
	int i, attr;

	if (!umad_is_there())
		SKIP(return, NO_UMAD);
	ASSERT_NE(NULL, c);
	ASSERT_EQ(0, agent_open(&agent, 1, 0, 0, 0));
	for (i = 0; i < 40; i++) {
		for (attr = CM_REQ - 1; attr <= CM_APR + 1; attr++) {
			mad_init(&m, CLASS_CM, METHOD_SEND, attr, 0);
			m.data[AT_VERSION] = i == 7 ? 1 : 2;
			fill(m.data + AT_CM, MAD_BYTES - AT_CM, 100 * i + attr);
			/* Every second request is for the service of the listener. */
			if (i % 2 && attr == CM_REQ)
				memcpy(m.data + AT_REQ_SERVICE, &sid, sizeof(sid));
			m.hdr.timeout_ms = 0;
			ASSERT_EQ(0, mad_send(&agent, &m));
		}
		if (i % 8 == 7)
			reject_all(&self->cm);
	}
	reject_all(&self->cm);
	EXPECT_TRUE(carries_data(c, 2));
	later = conn_create(&self->cm);
	ASSERT_NE(NULL, later);
	EXPECT_TRUE(carries_data(later, 3));
	conn_free(later);
	conn_free(c);
	agent_close(&agent);
}

TEST_HARNESS_MAIN
