// SPDX-License-Identifier: GPL-2.0
/*
 * A port of the switch that is a Unix stream socket. Each frame has its length before it, in 4
 * bytes in network order, as QEMU's "-netdev stream" sends and expects it. One peer at a time is
 * connected; while there is none, the link of the port is down.
 *
 * Senders put frames into an inbox and do not wait. The switch's thread writes them to the socket.
 * A peer that does not read costs nobody anything but the memory of two queues with a limit: the
 * frames that find the inbox full, or MAX_UNSENT bytes unsent, are dropped. A frame whose length no
 * port can carry is skipped, and a length that QEMU cannot send ends the connection.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "eth_frame.h"
#include "eth_socket.h"
#include "eth_switch.h"
#include "fabric.h"
#include "ifc.h"
#include "inbox.h"
#include "unix_socket.h"

#define LENGTH_BYTES	4
#define INBOX_LIMIT	512		/* frames */
#define MAX_UNSENT	(1 << 20)	/* bytes */
#define QEMU_FRAME_MAX	(4096 + 65536)	/* NET_BUFSIZE of QEMU */

struct eth_socket {
	struct fabric *fabric;
	unsigned int port;		/* of the switch */
	struct eth_remote remote;
	struct inbox in;		/* frames for the peer */
	struct evconnlistener *listener;
	struct bufferevent *peer;	/* NULL: nobody is connected */
	atomic_bool up;			/* somebody is connected */
	uint32_t skip;			/* bytes to come of a frame that is skipped */
	_Atomic uint64_t dropped;
	char path[108];
};

/* ---- frames for the peer --------------------------------------------------------------------- */

static bool socket_up(void *arg)
{
	struct eth_socket *s = arg;

	return s->up;
}

static void socket_drop(struct eth_socket *s, struct eth_frame *fr)
{
	s->dropped++;
	eth_frame_free(fr);
}

/* Called by the thread of the sender. */
static void socket_send(void *arg, struct eth_frame *fr)
{
	struct eth_socket *s = arg;

	if (!s->up || atomic_load(&s->in.n) >= INBOX_LIMIT || !inbox_put(&s->in, &fr->head))
		socket_drop(s, fr);
	else
		bell_ring(&s->in.bell);
}

static void socket_write(struct eth_socket *s, struct eth_frame *fr)
{
	struct evbuffer *out = s->peer ? bufferevent_get_output(s->peer) : NULL;
	uint8_t len[LENGTH_BYTES];

	if (!out || evbuffer_get_length(out) > MAX_UNSENT) {
		socket_drop(s, fr);
		return;
	}
	put_be32(len, fr->head.len);
	evbuffer_add(out, len, sizeof(len));
	evbuffer_add(out, eth_frame_data(fr), fr->head.len);
	eth_frame_free(fr);
}

static void socket_answer(void *arg)
{
	struct eth_socket *s = arg;
	struct packet_queue q;
	struct packet_head *h;
	bool closed;

	inbox_take(&s->in, &q, &closed);
	while ((h = STAILQ_FIRST(&q))) {
		STAILQ_REMOVE_HEAD(&q, link);
		socket_write(s, eth_frame_of(h));
	}
}

/* ---- frames from the peer -------------------------------------------------------------------- */

/* Short frames are padded here, because a virtual network device does not pad. */
static void socket_receive(struct eth_socket *s, struct evbuffer *in, uint32_t len)
{
	uint32_t padded = len < ETH_FRAME_PADDED ? ETH_FRAME_PADDED : len;
	struct eth_frame *fr = eth_frame_alloc(padded);

	if (!fr) {
		evbuffer_drain(in, len);
		return;
	}
	memset(eth_frame_data(fr) + len, 0, padded - len);
	evbuffer_remove(in, eth_frame_data(fr), len);
	eth_switch_forward(s->fabric, s->port, fr);
}

static void socket_skip(struct eth_socket *s, struct evbuffer *in)
{
	size_t n = evbuffer_get_length(in);

	if (n > s->skip)
		n = s->skip;
	evbuffer_drain(in, n);
	s->skip -= n;
}

/* Take one frame from the peer. Returns false if it has not arrived yet. */
static bool socket_take(struct eth_socket *s, struct evbuffer *in, bool *bad)
{
	uint8_t head[LENGTH_BYTES];
	uint32_t len;

	if (s->skip)
		socket_skip(s, in);
	if (s->skip || evbuffer_copyout(in, head, sizeof(head)) < (ev_ssize_t)sizeof(head))
		return false;
	len = get_be32(head);
	*bad = !len || len > QEMU_FRAME_MAX;
	if (*bad)
		return false;
	if (len < ETH_FRAME_MIN || len > ETH_FRAME_MAX) {
		evbuffer_drain(in, sizeof(head));
		s->skip = len;
		s->dropped++;
		return true;
	}
	if (evbuffer_get_length(in) < sizeof(head) + len)
		return false;
	evbuffer_drain(in, sizeof(head));
	socket_receive(s, in, len);
	return true;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void socket_disconnect(struct eth_socket *s)
{
	s->up = false;
	bufferevent_free(s->peer);
	s->peer = NULL;
	eth_switch_forget(s->fabric, s->port);
}

static void socket_on_bytes(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct eth_socket *s = arg;
	bool bad = false;

	while (socket_take(s, in, &bad))
		;
	if (bad)
		socket_disconnect(s);
}

static void socket_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		socket_disconnect(arg);
}

static void socket_on_peer(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a,
			   int len, void *arg)
{
	struct event_base *base = evconnlistener_get_base(l);
	struct eth_socket *s = arg;

	(void)a;
	(void)len;
	if (!s->up)
		s->peer = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (s->up || !s->peer) {
		close(fd);
		return;
	}
	s->skip = 0;
	bufferevent_setcb(s->peer, socket_on_bytes, NULL, socket_on_event, s);
	bufferevent_enable(s->peer, EV_READ | EV_WRITE);
	s->up = true;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static int socket_bind(struct eth_socket *s, struct event_base *base, const char *path)
{
	struct sockaddr_un a;
	int err = unix_socket_address(path, &a);

	if (err)
		return err;
	strcpy(s->path, path);
	s->listener = evconnlistener_new_bind(base, socket_on_peer, s,
					      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1,
					      (struct sockaddr *)&a, sizeof(a));
	return s->listener ? 0 : -errno;
}

/**
 * eth_socket_listen() - add a port to the switch that is a socket
 * @f: the fabric, an Ethernet one, while no loop runs
 * @base: event loop of the switch
 * @path: path of the socket; an existing socket at this path is removed
 * @out: set to the port
 *
 * Return: 0; -ENOSPC if the switch has no free port; -EEXIST if a file that is not a socket exists
 * at @path; or -errno.
 */
int eth_socket_listen(struct fabric *f, struct event_base *base, const char *path,
		      struct eth_socket **out)
{
	struct eth_socket *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->fabric = f;
	s->remote = (struct eth_remote){ .up = socket_up, .send = socket_send, .arg = s };
	err = inbox_init(&s->in, base, socket_answer, s);
	if (!err)
		err = socket_bind(s, base, path);
	if (!err) {
		s->port = eth_switch_join(f, &s->remote);
		err = s->port ? 0 : -ENOSPC;
	}
	if (err) {
		eth_socket_free(s);
		return err;
	}
	*out = s;
	return 0;
}

/**
 * eth_socket_free() - close a port that is a socket
 * @s: the port, before its fabric is freed and while no loop runs
 */
void eth_socket_free(struct eth_socket *s)
{
	struct packet_queue left;
	struct packet_head *h;
	bool closed;

	if (s->peer)
		socket_disconnect(s);
	if (s->listener) {
		evconnlistener_free(s->listener);
		unix_socket_remove(s->path);
	}
	inbox_take(&s->in, &left, &closed);
	while ((h = STAILQ_FIRST(&left))) {
		STAILQ_REMOVE_HEAD(&left, link);
		eth_frame_free(eth_frame_of(h));
	}
	inbox_exit(&s->in);
	free(s);
}

/**
 * eth_socket_dropped() - count the frames that the port has dropped, in both directions
 * @s: the port
 */
uint64_t eth_socket_dropped(const struct eth_socket *s)
{
	return s->dropped;
}
