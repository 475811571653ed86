/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for fuzzers of the whole HCA: an HCA with objects of every kind, made by commands, whose
 * queue pairs are connected with each other; and for each opcode a command that is valid for the
 * objects that exist.
 */
#ifndef BLUEBELL_TESTS_WORLDRIG_H
#define BLUEBELL_TESTS_WORLDRIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"

#define WORLD_CMD_MAX	4096

/* Queue pairs. The first two are connected with each other, the others with themselves. */
enum {
	WORLD_RC_A, WORLD_RC_B, WORLD_UC, WORLD_UD, WORLD_SRQ, WORLD_XRC, WORLD_REG, WORLD_DCI,
	WORLD_QPS
};
/*
 * Keys over the data: with all pages present; with every second page absent; free, for UMR of the
 * driver to fill; free, for UMR of a process; and a list of parts of the first key.
 */
enum { WORLD_FLAT, WORLD_PAGED, WORLD_UMR, WORLD_WINDOW, WORLD_LIST, WORLD_KEYS };

#define WORLD_DC_KEY	0x123456789abcdef0ull	/* access key of the DC target */
#define WORLD_DATA	0x800000ull	/* guest memory that the keys cover */
#define WORLD_DATA_LEN	0x10000u

struct world_cmd {
	uint16_t op;
	uint8_t in[WORLD_CMD_MAX];
	size_t in_len, out_len;
};

extern struct world {
	uint32_t uar, eqn, async, pd, cq[2], rmp, xrcd, xrc_srq, dct;
	uint32_t qp[WORLD_QPS], key[WORLD_KEYS];
	uint64_t ring[WORLD_QPS], record[WORLD_QPS];	/* buffers of the queue pairs */
	uint64_t srq_ring, srq_record;
	unsigned int place;		/* index of the next buffer and record */
} world;

void world_up(void);
void world_up_pages(unsigned int log, bool uar_4k);	/* with pages of 4 KiB << @log */
void world_down(void);		/* frees all objects, but not the HCA */

/* Build the valid command @op, with objects that @pick chooses. False if the opcode is unknown. */
bool world_build(struct world_cmd *c, uint16_t op, uint8_t pick);
uint8_t world_run(struct world_cmd *c, uint8_t *out);
/* Run a valid command that creates an object; returns its number. */
uint32_t world_create(uint16_t op, uint8_t pick);
/* A page for a buffer, and a doorbell record; the record moves to the next of both. */
uint64_t world_buffer(void);
uint64_t world_record(void);
/* The number of a UAR, any of a page that is allocated. */
uint32_t world_live_uar(uint8_t pick);
/* The number of an object of @kind, 0 if there is none. */
uint32_t world_live(enum obj_kind kind, uint8_t pick);
void world_connect(unsigned int i);
/* Let the HCA work: @passes through the event loop. */
void world_pass(unsigned int passes);

#endif
