// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how fast a netdev carries TCP, small packets, and a packet to the peer and back. Runs in
 * two guests, one of which serves; tools/bench/netdevs starts both, for one netdev after the other.
 *
 * Every measurement has a connection of its own to the server. On a TCP connection the client sends
 * what it wants (a row's letter), and the server answers when it has counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT		7100
#define CHUNK		(256U << 10)	/* bytes of a call that sends or receives by TCP */
#define SMALL		18		/* bytes of data in a frame of 64 bytes, FCS included */
#define BATCH		64U		/* datagrams of a call */
#define NS		1000000000ULL
#define DRAIN_MS	200		/* until the last datagram has arrived */

static char chunk[CHUNK];

static void die(const char *what)
{
	fprintf(stderr, "netdev: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS + ts.tv_nsec;
}

static struct sockaddr_in address_of(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (!inet_aton(text, &a.sin_addr)) {
		errno = EINVAL;
		die(text);
	}
	return a;
}

static int new_socket(int type)
{
	int fd = socket(AF_INET, type, 0), one = 1, room = 4 << 20;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("socket");
	if (type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return fd;
}

static void send_all(int fd, const void *data, size_t len)
{
	ssize_t n;

	for (const char *p = data; len; p += n, len -= n) {
		n = send(fd, p, len, 0);
		if (n <= 0)
			die("send");
	}
}

static void receive_all(int fd, void *data, size_t len)
{
	if (recv(fd, data, len, MSG_WAITALL) != (ssize_t)len)
		die("recv");
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Count bytes until the client has sent all, and tell how many. */
static void serve_bytes(int tcp)
{
	uint64_t sum = 0;
	ssize_t n;

	while ((n = recv(tcp, chunk, sizeof(chunk), 0)) > 0)
		sum += n;
	send_all(tcp, &sum, sizeof(sum));
}

/* Wait until one of the sockets can be read, and tell whether it is the datagrams'. */
static bool wait_for_datagram(int tcp, int udp)
{
	struct pollfd fds[] = { { udp, POLLIN, 0 }, { tcp, POLLIN, 0 } };

	if (poll(fds, 2, -1) < 0)
		die("poll");
	return fds[0].revents;
}

static unsigned int receive_batch(int udp)
{
	static char data[BATCH][64];
	static struct iovec iov[BATCH];
	static struct mmsghdr msg[BATCH];
	int n;

	for (unsigned int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ data[i], sizeof(data[i]) };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	n = recvmmsg(udp, msg, BATCH, MSG_DONTWAIT, NULL);
	return n > 0 ? n : 0;
}

/* Count datagrams until the client asks how many have come. */
static void serve_packets(int tcp, int udp)
{
	uint64_t sum = 0;
	char ask;

	while (receive_batch(udp))
		;	/* of an earlier client */
	send_all(tcp, &sum, 1);
	while (wait_for_datagram(tcp, udp))
		sum += receive_batch(udp);
	receive_all(tcp, &ask, 1);
	send_all(tcp, &sum, sizeof(sum));
}

/* Send datagrams back until the client closes its connection. */
static void serve_echoes(int tcp, int udp)
{
	struct sockaddr_in from;
	socklen_t len;
	char data[64];
	ssize_t n;

	send_all(tcp, "", 1);
	while (wait_for_datagram(tcp, udp)) {
		len = sizeof(from);
		n = recvfrom(udp, data, sizeof(data), 0, (struct sockaddr *)&from, &len);
		if (n > 0)
			sendto(udp, data, n, 0, (struct sockaddr *)&from, len);
	}
}

static void serve_one(int tcp, int udp)
{
	char what = 0;

	receive_all(tcp, &what, 1);
	switch (what) {
	case 'b':
		serve_bytes(tcp);
		break;
	case 'p':
		serve_packets(tcp, udp);
		break;
	case 'e':
		serve_echoes(tcp, udp);
		break;
	}
}

static void serve(const char *address)
{
	struct sockaddr_in a = address_of(address);
	int listener = new_socket(SOCK_STREAM), udp = new_socket(SOCK_DGRAM);

	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 1) ||
	    bind(udp, (struct sockaddr *)&a, sizeof(a)))
		die("bind");
	for (;;) {
		int tcp = accept(listener, NULL, NULL);

		if (tcp < 0)
			die("accept");
		serve_one(tcp, udp);
		close(tcp);
	}
}

/* ---- the client ------------------------------------------------------------------------------ */

static int connect_to(const struct sockaddr_in *a, int type)
{
	int fd = new_socket(type), one = 1;

	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)))
		die("connect");
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Bytes that arrive in a second. */
static double bytes(const struct sockaddr_in *a, uint64_t ns)
{
	int tcp = connect_to(a, SOCK_STREAM);
	uint64_t start, sum;

	send_all(tcp, "b", 1);
	start = now_ns();
	while (now_ns() - start < ns)
		send_all(tcp, chunk, sizeof(chunk));
	shutdown(tcp, SHUT_WR);
	receive_all(tcp, &sum, sizeof(sum));
	close(tcp);
	return sum * 1e9 / (now_ns() - start);
}

/* Frames of 64 bytes that arrive in a second, sent as fast as the kernel takes them. */
static double packets(const struct sockaddr_in *a, uint64_t ns)
{
	int tcp = connect_to(a, SOCK_STREAM), udp = connect_to(a, SOCK_DGRAM);
	struct iovec iov = { chunk, SMALL };
	struct mmsghdr msg[BATCH] = { 0 };
	uint64_t start, sum, end;
	char ready;

	for (unsigned int i = 0; i < BATCH; i++)
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	send_all(tcp, "p", 1);
	receive_all(tcp, &ready, 1);
	start = now_ns();
	do {
		if (sendmmsg(udp, msg, BATCH, 0) < 0 && errno != ENOBUFS)
			die("sendmmsg");
		end = now_ns();
	} while (end - start < ns);
	usleep(DRAIN_MS * 1000);
	send_all(tcp, "?", 1);
	receive_all(tcp, &sum, sizeof(sum));
	close(udp);
	close(tcp);
	return sum * 1e9 / (end - start);
}

static bool echoed(int udp, uint32_t number)
{
	struct pollfd fd = { udp, POLLIN, 0 };
	uint32_t data[(SMALL + 3) / 4] = { number };

	if (send(udp, data, SMALL, 0) != SMALL)
		die("send");
	while (poll(&fd, 1, 100) == 1)
		if (recv(udp, data, sizeof(data), 0) == SMALL && data[0] == number)
			return true;
	return false;
}

/* The number of times in a second that a frame of 64 bytes goes to the peer and comes back. */
static double round_trips(const struct sockaddr_in *a, uint64_t ns)
{
	int tcp = connect_to(a, SOCK_STREAM), udp = connect_to(a, SOCK_DGRAM);
	uint64_t start, done = 0;
	uint32_t number = 0;
	char ready;

	send_all(tcp, "e", 1);
	receive_all(tcp, &ready, 1);
	start = now_ns();
	while (now_ns() - start < ns)
		done += echoed(udp, number++);
	ns = now_ns() - start;
	close(udp);
	close(tcp);
	return done * 1e9 / ns;
}

static const struct {
	const char *name;
	double (*measure)(const struct sockaddr_in *a, uint64_t ns);
} rows[] = {
	{ "bytes", bytes }, { "packets", packets }, { "round-trips", round_trips },
};

static void usage(void)
{
	fprintf(stderr, "usage: netdev serve ADDRESS\n"
		"       netdev bytes|packets|round-trips ADDRESS MILLISECONDS\n"
		"Prints how many there were in a second.\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a;

	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 4)
		usage();
	a = address_of(argv[2]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(argv[1], rows[i].name))
			continue;
		printf("%.1f\n", rows[i].measure(&a, strtoul(argv[3], NULL, 0) * 1000000ULL));
		return 0;
	}
	usage();
}
