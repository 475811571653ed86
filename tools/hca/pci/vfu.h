/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A vfio-user connection: what the socket's and the requests' files share.
 */
#ifndef BLUEBELL_VFU_H
#define BLUEBELL_VFU_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "vfio_user.h"

struct event;

#define MAX_FDS		16
#define MAX_XFER	(1024 * 1024)
#define MAX_MSG		(MAX_XFER + 64)
#define MAX_IN		(sizeof(struct msg_hdr) + MAX_MSG)
#define RECV_AT_ONCE	(64 * 1024)

struct msg_hdr {
	uint16_t id;
	uint16_t cmd;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct vfu {
	struct hca *hca;
	vfu_gone_fn gone;
	void *gone_arg;
	char path[108];
	int listen_fd, fd;
	struct event *listen_ev, *ev, *out_ev;
	bool versioned;		/* VERSION was exchanged */
	uint8_t *in;		/* MAX_IN bytes: what has arrived and was not handled yet */
	size_t in_len;
	uint64_t taken;		/* bytes of the stream before in[0], which were all handled */
	struct msg_hdr hdr;	/* message being handled */
	uint8_t *body;		/* MAX_MSG bytes in @out: payload of message, then of reply */
	uint32_t body_len;
	int fds[MAX_FDS];
	unsigned int nfds;	/* files in @fds; closed if their message does not take them */
	uint64_t fds_at;	/* offset in the stream of the end of the bytes that brought @fds */
	bool may_take_fds;	/* @fds came with the message being handled */
	uint8_t *out;		/* the reply with its header; [out_at, out_len) is not sent yet */
	size_t out_at, out_len;
	int irq_fd[HCA_MAX_VECTORS];
	unsigned int naps;	/* naps left before a wait for stores may spin again */
	int send_fd;		/* file to send with the reply, stays open; -1: none */
};

int vfu_handle(struct vfu *v);
void vfu_irq_clear(struct vfu *v);

#endif
