/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of RoCE share. Each calls only files that are before it here.
 */
#ifndef BLUEBELL_ROCE_H
#define BLUEBELL_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "count.h"
#include "cqe_error.h"
#include "link.h"
#include "packet_head.h"
#include "roce_link.h"

struct completion;
struct hca;
struct packet;
struct qp;
struct qp_path;
struct wqe_av;

#define ROCE_RX_LIMIT	512	/* frames that wait for the transport before senders have to wait */

struct roce {
	struct packet_queue rx;		/* frames for queue pairs */
	unsigned int rx_len;
	void (*wake)(struct hca *hca);
	uint32_t ecn_ppm;		/* packets of a million that the link marks, see roce_cnp.c */
	uint64_t random;		/* chooses these packets */
	struct cnp_counts cnp;
};

/* ---- roce_send.c: the headers of packets, and sending ---------------------------------------- */

void roce_drop(struct hca *hca, enum roce_drop why, const char *detail);
enum cqe_error roce_check_av(struct hca *hca, const struct wqe_av *av, const char **why);
void roce_put_address(struct hca *hca, const struct qp *qp, const struct qp_path *path,
		      struct packet *p);
bool roce_room(struct hca *hca, const struct qp_path *path);
void roce_send(struct hca *hca, struct packet *p);

/* ---- roce_check.c: the addresses of packets that have arrived -------------------------------- */

const uint8_t *roce_group(const struct packet *p);
const char *roce_wrong_source(const struct qp *qp, const struct packet *p);
const char *roce_wrong_destination(struct hca *hca, const struct qp *qp, const struct packet *p);
bool roce_network_header(const struct packet *p, uint8_t header[NETWORK_HEADER_BYTES]);
void roce_reply(struct hca *hca, const struct packet *p, struct qp_path *path);
void roce_to_cqe(struct hca *hca, const struct packet *p, struct completion *c);

/* ---- roce_cnp.c: congestion ------------------------------------------------------------------ */

bool roce_notice(struct hca *hca, struct packet *p);

#endif
