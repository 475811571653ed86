// SPDX-License-Identifier: GPL-2.0
/*
 * The capture file. The file is complete after each packet, so it can be read while the HCA runs,
 * and also if the HCA crashes. All sending threads write to the file, one record at a time and in
 * the order of their times.
 */
#include <assert.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "clock.h"
#include "packet_head.h"
#include "quota.h"

#define BUFFER		16384	/* more than a record, so one system call writes a record */
#define NS_PER_S	1000000000ull

#define FILE_HEADER	24	/* bytes at the start of a pcap file */
#define RECORD_HEADER	16	/* bytes before the data of each record */
#define DATA_MAX	10496	/* bytes of the data of a record, of any type of packet */

struct capture {
	char *path;
	const struct packet_type *type;
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	pthread_mutex_t lock;	/* for writing a record */
	struct quota quota;
	atomic_bool paused;
	atomic_int err;		/* why the capture has ended: -errno, or 0 */
};

/* Write what is buffered. */
static int capture_flush(struct capture *c)
{
	errno = 0;
	if (!pcap_dump_flush(c->dumper) && !ferror(pcap_dump_file(c->dumper)))
		return 0;
	return errno ? -errno : -EIO;
}

static int capture_start(struct capture *c, uint64_t limit)
{
	FILE *file = fopen(c->path, "we");

	if (!file)
		return -errno;
	setvbuf(file, NULL, _IOFBF, BUFFER);
	quota_start(&c->quota, file, limit);
	quota_take(&c->quota, FILE_HEADER);
	c->pcap = pcap_open_dead_with_tstamp_precision(c->type->capture_type,
						       c->type->capture_max,
						       PCAP_TSTAMP_PRECISION_NANO);
	if (!c->pcap) {
		fclose(file);
		return -ENOMEM;
	}
	c->dumper = pcap_dump_fopen(c->pcap, file);
	return c->dumper ? capture_flush(c) : -ENOMEM;
}

/**
 * capture_open() - begin a capture
 * @path: of the file, which is truncated
 * @limit: bytes after which the capture ends, 0 for no limit
 * @type: of the packets
 * @out: set to the capture
 *
 * Return: 0, -ENOMEM, or -errno if the file cannot be written.
 */
int capture_open(const char *path, uint64_t limit, const struct packet_type *type,
		 struct capture **out)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	assert(type->capture_max <= DATA_MAX);
	if (!c)
		return -ENOMEM;
	c->type = type;
	pthread_mutex_init(&c->lock, NULL);
	c->path = strdup(path);
	err = c->path ? capture_start(c, limit) : -ENOMEM;
	if (err) {
		capture_close(c);
		return err;
	}
	*out = c;
	return 0;
}

/**
 * capture_close() - end a capture and close its file
 * @c: the capture, or NULL
 */
void capture_close(struct capture *c)
{
	if (!c)
		return;
	if (c->dumper)
		pcap_dump_close(c->dumper);
	if (c->pcap)
		pcap_close(c->pcap);
	pthread_mutex_destroy(&c->lock);
	free(c->path);
	free(c);
}

/**
 * capture_pause() - stop or resume recording packets
 * @c: the capture
 * @pause: stop
 */
void capture_pause(struct capture *c, bool pause)
{
	c->paused = pause;
}

/**
 * capture_error() - tell why a capture has ended before its close
 * @c: the capture
 *
 * Return: -errno, or 0 if it has not ended.
 */
int capture_error(const struct capture *c)
{
	return c->err;
}

static void capture_end(struct capture *c, int err, const char *why)
{
	c->err = err;
	fprintf(stderr, "bluebell-hca: cannot write to %s: %s; the capture ends here\n", c->path,
		why);
}

/* Write the record of a packet of @len bytes. The caller holds the lock. */
static void capture_record(struct capture *c, uint8_t *data, size_t len)
{
	uint64_t ns = clock_now_ns();
	struct pcap_pkthdr header = {
		.ts = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S },
		.caplen = len, .len = len,
	};
	int err;

	if (c->err)
		return;
	if (!quota_take(&c->quota, RECORD_HEADER + header.caplen)) {
		capture_end(c, -EFBIG, QUOTA_USED_UP);
		return;
	}
	if (c->type->stamp)
		c->type->stamp(data, ns);
	pcap_dump((uint8_t *)c->dumper, &header, data);
	err = capture_flush(c);
	if (err)
		capture_end(c, err, strerror(-err));
}

/**
 * capture_packet() - record a packet
 * @c: the capture
 * @h: the packet
 *
 * The time is that of the clock of the trace. If the file cannot be written, the capture ends, and
 * the HCA runs on. May be called by any thread.
 */
void capture_packet(struct capture *c, const struct packet_head *h)
{
	uint8_t data[DATA_MAX];
	size_t len;

	if (c->paused || c->err)
		return;
	len = c->type->capture(h, data);
	pthread_mutex_lock(&c->lock);
	capture_record(c, data, len);
	pthread_mutex_unlock(&c->lock);
}
