// SPDX-License-Identifier: GPL-2.0
/*
 * The requester of a DC initiator with streams: which streams have failed.
 *
 * Theory: each WQE belongs to a stream, whose number software chooses. If a work request fails, its
 * stream has failed: the work requests of the stream that follow are flushed, until software resets
 * the stream. The other streams go on. If so many streams have failed as the context says, the
 * queue pair fails. The HCA executes the streams of a queue pair one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "hca.h"
#include "qp.h"
#include "req.h"

static int req_find_stream(const struct requester *req, uint16_t stream)
{
	unsigned int i;

	for (i = 0; i < req->failed_streams; i++)
		if (req->failed_stream[i] == stream)
			return i;
	return -1;
}

/**
 * req_stream_failed() - tell whether a stream has failed
 * @qp: the queue pair, of any type, which has a requester
 * @stream: the stream
 */
bool req_stream_failed(const struct qp *qp, uint16_t stream)
{
	return qp->has_streams && req_find_stream(qp->req, stream) >= 0;
}

/**
 * req_stream_fail() - note that a stream has failed
 * @qp: the queue pair, which has streams
 * @stream: the stream
 *
 * Return: false if the queue pair fails, because too many streams have failed or memory is short.
 */
bool req_stream_fail(struct qp *qp, uint16_t stream)
{
	struct requester *req = qp->req;

	if (!req->failed_stream)
		req->failed_stream = calloc(qp->max_failed_streams, sizeof(*req->failed_stream));
	if (!req->failed_stream)
		return false;
	if (req_find_stream(req, stream) < 0)
		req->failed_stream[req->failed_streams++] = stream;
	return req->failed_streams < qp->max_failed_streams;
}

/**
 * req_streams_reset() - forget which streams have failed
 * @qp: the queue pair, of any type, which has a requester
 */
void req_streams_reset(struct qp *qp)
{
	free(qp->req->failed_stream);
	qp->req->failed_stream = NULL;
	qp->req->failed_streams = 0;
}

/**
 * req_reset_stream() - let a stream work again
 * @hca: the HCA
 * @qp: the queue pair, which has streams
 * @stream: the stream
 *
 * Return: false if the stream has not failed.
 */
bool req_reset_stream(struct hca *hca, struct qp *qp, uint16_t stream)
{
	struct requester *req = qp->req;
	int i = req ? req_find_stream(req, stream) : -1;

	(void)hca;
	if (i < 0)
		return false;
	req->failed_stream[i] = req->failed_stream[--req->failed_streams];
	return true;
}
