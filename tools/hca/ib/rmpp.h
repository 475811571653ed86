/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sender of the reliable multi-packet transaction protocol, for tables longer than a MAD.
 */
#ifndef BLUEBELL_RMPP_H
#define BLUEBELL_RMPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsi_peer;
struct rmpp;
struct switch_node;

enum rmpp_flag { RMPP_ACTIVE = 1, RMPP_FIRST = 2, RMPP_LAST = 4 };

struct rmpp *rmpp_new(struct switch_node *sw);
void rmpp_free(struct rmpp *r);
void rmpp_send(struct rmpp *r, unsigned int port, const struct gsi_peer *to, const uint8_t *header,
	       uint8_t *data, size_t len);
void rmpp_receive(struct rmpp *r, unsigned int port, const struct gsi_peer *from,
		  const uint8_t *mad);

#endif
