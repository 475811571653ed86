/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two connected queue pairs, one of each HCA of the rig, with a buffer each: what most tests of the
 * transport start from.
 */
#ifndef BLUEBELL_PAIR_H
#define BLUEBELL_PAIR_H

#include "pairrig.h"

#define CQ_A	10	/* send CQ of the first queue pair; its receive CQ is the next number */
#define CQ_B	20
#define BUF	(64u << 10)
#define ALL	(MK_LOCAL_READ | MK_LOCAL_WRITE | MK_REMOTE_READ | MK_REMOTE_WRITE | MK_ATOMIC)

extern struct qp *a, *b;		/* of HCA 0 and of HCA 1 */
extern uint64_t buf_a, buf_b;		/* buffers of BUF bytes; buf_a has a pattern */
extern uint64_t local;			/* local address of the next RDMA operations: buf_a first */
extern uint32_t key_a, key_b;		/* keys of the buffers, which allow everything */

/* Make and connect the queue pairs and their buffers in a rig that is up. */
void pair_up(enum qp_type type);

/* For cmocka_unit_test_setup_teardown(), with rig_down(). */
int rc_up(void **state);
int uc_up(void **state);
int ud_up(void **state);
#define RC(f)	cmocka_unit_test_setup_teardown(f, rc_up, rig_down)
#define UC(f)	cmocka_unit_test_setup_teardown(f, uc_up, rig_down)
#define UD(f)	cmocka_unit_test_setup_teardown(f, ud_up, rig_down)

/* Post a request to the send queue of @a. */
uint16_t post_send(uint8_t opcode, uint32_t len, bool signaled);
uint16_t post_rdma(uint8_t opcode, uint64_t raddr, uint32_t rkey, uint32_t len);
uint16_t post_atomic(uint8_t opcode, uint64_t raddr, uint64_t swap_add, uint64_t compare);
uint16_t post_masked_cs(uint64_t swap, uint64_t compare, uint64_t swap_mask, uint64_t compare_mask);
/* Post a datagram to @b, with a GRH if @dgid is given. */
void post_datagram(uint32_t len, uint32_t qkey, const uint8_t *dgid);

/* Check that completion @i on @cqn, counted from 0, has this opcode and this syndrome. */
void expect(uint32_t cqn, unsigned int i, uint8_t opcode, uint8_t syndrome);
/* Check that completion @i on @cqn, counted from 0, has this opcode and this cause's syndromes. */
void expect_cause(uint32_t cqn, unsigned int i, uint8_t opcode, enum cqe_error error);
/* Whether the buffers begin with the same @len bytes. */
bool same(uint32_t len);
/*
 * Use RC queue pairs for each kind of operation within @ms milliseconds, and check the buffers. The
 * SEND and the READ have @len bytes, the WRITE has 3000.
 */
void use_connection(uint32_t len, unsigned int ms);

#endif
