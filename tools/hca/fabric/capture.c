// SPDX-License-Identifier: GPL-2.0
/*
 * The capture file. The file is complete after each packet, so it can be read while the HCA runs,
 * and also if the HCA crashes. All sending threads write to the file, one record at a time and in
 * the order of their times.
 *
 * The link type is that of Endace's Extensible Record Format, as in captures of real adapters and
 * analyzers: Wireshark has a dissector of InfiniBand, but does not read LINKTYPE_INFINIBAND.
 */
#include <endian.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "clock.h"
#include "ifc.h"
#include "packet.h"
#include "quota.h"
#include "wire.h"

#define BUFFER		16384	/* more than a record, so one system call writes a record */
#define NS_PER_S	1000000000ull

#define FILE_HEADER	24	/* bytes at the start of a pcap file */
#define RECORD_HEADER	16	/* bytes before the data of each record */

/* The ERF header, at the start of the data of each record: its size, offsets and values. */
#define ERF_BYTES	16
#define ERF_TYPE	8
#define ERF_FLAGS	9
#define ERF_RECORD_LEN	10
#define ERF_WIRE_LEN	14
#define ERF_INFINIBAND	21
#define ERF_VARYING_LEN	4

struct capture {
	char *path;
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
	c->pcap = pcap_open_dead_with_tstamp_precision(DLT_ERF, ERF_BYTES + WIRE_MAX,
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
 * @out: set to the capture
 *
 * Return: 0, -ENOMEM, or -errno if the file cannot be written.
 */
int capture_open(const char *path, uint64_t limit, struct capture **out)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
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

/* The time is little-endian and in units of 2^-32 s, all else is big-endian. */
static void capture_erf_header(uint8_t erf[ERF_BYTES], uint64_t ns, size_t len)
{
	uint64_t time = htole64(ns / NS_PER_S << 32 | (ns % NS_PER_S << 32) / NS_PER_S);

	memset(erf, 0, ERF_BYTES);
	memcpy(erf, &time, sizeof(time));
	erf[ERF_TYPE] = ERF_INFINIBAND;
	erf[ERF_FLAGS] = ERF_VARYING_LEN;
	put_be16(erf + ERF_RECORD_LEN, ERF_BYTES + len);
	put_be16(erf + ERF_WIRE_LEN, len);
}

static void capture_end(struct capture *c, int err, const char *why)
{
	c->err = err;
	fprintf(stderr, "bluebell-hca: cannot write to %s: %s; the capture ends here\n", c->path,
		why);
}

/*
 * Write @record, which has room for the header, and then a packet of @len bytes. The caller holds
 * the lock.
 */
static void capture_record(struct capture *c, uint8_t *record, size_t len)
{
	uint64_t ns = clock_now_ns();
	struct pcap_pkthdr header = {
		.ts = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S },
		.caplen = ERF_BYTES + len, .len = ERF_BYTES + len,
	};
	int err;

	if (c->err)
		return;
	if (!quota_take(&c->quota, RECORD_HEADER + header.caplen)) {
		capture_end(c, -EFBIG, QUOTA_USED_UP);
		return;
	}
	capture_erf_header(record, ns, len);
	pcap_dump((uint8_t *)c->dumper, &header, record);
	err = capture_flush(c);
	if (err)
		capture_end(c, err, strerror(-err));
}

/**
 * capture_packet() - record a packet
 * @c: the capture
 * @p: the packet
 *
 * The time is that of the clock of the trace. If the file cannot be written, the capture ends, and
 * the HCA runs on. May be called by any thread.
 */
void capture_packet(struct capture *c, const struct packet *p)
{
	uint8_t record[ERF_BYTES + WIRE_MAX];
	size_t len;

	if (c->paused || c->err)
		return;
	len = wire_packet(p, record + ERF_BYTES);
	pthread_mutex_lock(&c->lock);
	capture_record(c, record, len);
	pthread_mutex_unlock(&c->lock);
}
