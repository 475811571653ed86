// SPDX-License-Identifier: GPL-2.0
/*
 * The control socket: its clients, who send a request a line.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "hca.h"
#include "request.h"
#include "unix_socket.h"

#define MAX_LINE	4096	/* bytes of a request */
#define MAX_UNSENT	65536	/* at so many bytes of unread answers, read no more requests */
#define MAX_CLIENTS	16	/* of an HCA: the HCAs share the process's file descriptors */

struct client {
	struct hca *hca;
	struct bufferevent *bev;
	struct client *next;
};

struct control_socket {
	struct evconnlistener *listener;
	char path[108];
	struct client *clients;
	unsigned int nclients;
};

static void control_client_drop(struct client *cl)
{
	struct client **p = &cl->hca->control->socket->clients;

	while (*p != cl)
		p = &(*p)->next;
	*p = cl->next;
	cl->hca->control->socket->nclients--;
	bufferevent_free(cl->bev);
	free(cl);
}

static bool control_is_full(struct bufferevent *bev)
{
	return evbuffer_get_length(bufferevent_get_output(bev)) >= MAX_UNSENT;
}

/* Read no more requests of a client that does not read the answers to its earlier requests. */
static void control_on_line(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct client *cl = arg;
	char *line, *answer;

	while (!control_is_full(bev) && (line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF))) {
		answer = control_request(cl->hca, line);
		evbuffer_add_printf(bufferevent_get_output(bev), "%s\n", answer);
		free(answer);
		free(line);
	}
	if (control_is_full(bev))
		bufferevent_disable(bev, EV_READ);
	else if (evbuffer_get_length(in) > MAX_LINE)
		control_client_drop(cl);
}

/* The client has read some answers: read its requests again. */
static void control_on_sent(struct bufferevent *bev, void *arg)
{
	if (bufferevent_get_enabled(bev) & EV_READ)
		return;
	bufferevent_enable(bev, EV_READ);
	control_on_line(bev, arg);
}

static void control_on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		control_client_drop(arg);
}

static void control_on_client(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a,
			      int len, void *arg)
{
	struct hca *hca = arg;
	struct control_socket *c = hca->control->socket;
	struct client *cl = c->nclients < MAX_CLIENTS ? calloc(1, sizeof(*cl)) : NULL;

	(void)l;
	(void)a;
	(void)len;
	if (cl)
		cl->bev = bufferevent_socket_new(hca->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!cl || !cl->bev) {
		free(cl);
		close(fd);
		return;
	}
	cl->hca = hca;
	cl->next = c->clients;
	c->clients = cl;
	c->nclients++;
	bufferevent_setcb(cl->bev, control_on_line, control_on_sent, control_on_event, cl);
	bufferevent_setwatermark(cl->bev, EV_WRITE, MAX_UNSENT / 2, 0);
	bufferevent_enable(cl->bev, EV_READ | EV_WRITE);
}

/**
 * control_listen() - open the control socket
 * @hca: the HCA that it controls
 * @path: path of the socket; an existing socket at this path is removed
 *
 * Return: 0; -EEXIST if a file that is not a socket exists at @path; or -errno.
 */
int control_listen(struct hca *hca, const char *path)
{
	struct sockaddr_un a;
	int err = unix_socket_address(path, &a);

	if (err)
		return err;
	strcpy(hca->control->socket->path, path);
	hca->control->socket->listener = evconnlistener_new_bind(hca->base, control_on_client, hca,
								 LEV_OPT_CLOSE_ON_FREE |
								 LEV_OPT_CLOSE_ON_EXEC, 4,
								 (struct sockaddr *)&a, sizeof(a));
	return hca->control->socket->listener ? 0 : -errno;
}

static void control_socket_close(struct hca *hca)
{
	struct control_socket *c = hca->control->socket;

	while (c->clients)
		control_client_drop(c->clients);
	if (c->listener) {
		evconnlistener_free(c->listener);
		unix_socket_remove(c->path);
	}
}

/* ---- module ---------------------------------------------------------------------------------- */

static int control_init(struct hca *hca)
{
	hca->control = calloc(1, sizeof(*hca->control));
	if (!hca->control)
		return -ENOMEM;
	hca->control->socket = calloc(1, sizeof(*hca->control->socket));
	if (hca->control->socket)
		return 0;
	free(hca->control);
	hca->control = NULL;
	return -ENOMEM;
}

static void control_exit(struct hca *hca)
{
	control_socket_close(hca);
	free(hca->control->socket);
	free(hca->control);
	hca->control = NULL;
}

const struct hca_module control_module = {
	.name = "control", .init = control_init, .exit = control_exit,
};
