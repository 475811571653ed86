/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TIRs (transport interface receive): to which receive queue a frame goes that a flow rule has sent
 * to the TIR; either to one queue, or by a hash of its headers to one of a table of queues.
 */
#ifndef BLUEBELL_TIR_H
#define BLUEBELL_TIR_H

#include "cmd.h"
#include "object.h"

struct hca;
struct hca_module;
struct rq;

#define TIR_KEY_BYTES	40	/* of the Toeplitz hash */

/* tirc.rx_hash_fn, as MLX5_RX_HASH_FN_* in mlx5_ifc.h. */
enum tir_hash_fn { TIR_HASH_NONE = 0, TIR_HASH_XOR8 = 1, TIR_HASH_TOEPLITZ = 2 };

/* Bits of selected_fields, as MLX5_HASH_FIELD_SEL_* in mlx5_ifc.h. */
enum tir_hash_field {
	TIR_SRC_IP = 1, TIR_DST_IP = 2, TIR_SPORT = 4, TIR_DPORT = 8, TIR_SPI = 16,
	TIR_FIELDS = 31
};

struct tir {
	struct obj obj;		/* obj.num is the TIRN */
	bool indirect;		/* through the table @rqtn, else to @rqn; a reference */
	uint32_t rqn, rqtn;
	uint32_t tdn;		/* transport domain; a reference */
	uint8_t hash_fn;	/* enum tir_hash_fn */
	bool symmetric;		/* source and destination can be exchanged */
	uint8_t key[TIR_KEY_BYTES];	/* in the order of the bits on the wire */
	uint8_t l3;		/* of the headers that the hash covers: 0 IPv4, 1 IPv6 */
	uint8_t l4;		/* 0 TCP, 1 UDP */
	uint8_t fields;		/* enum tir_hash_field; 0: no hash */
	uint8_t self_lb_block;	/* bit 0 unicast, bit 1 multicast of the own vport is dropped */
};

struct tir *tir_find(struct hca *hca, uint32_t tirn);
struct rq *tir_rq(struct hca *hca, const struct tir *tir, uint32_t hash);

extern const struct hca_module tir_module;
extern const struct cmd_desc tir_cmds[];

#endif
