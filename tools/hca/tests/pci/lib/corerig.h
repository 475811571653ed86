/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of the whole HCA: it is driven as a guest drives it, by register writes and a
 * command queue in guest memory.
 */
#ifndef BLUEBELL_CORERIG_H
#define BLUEBELL_CORERIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cmd.h"
#include "hca.h"
#include "ifc.h"
#include "object.h"
#include "profile.h"

#define CORE_RAM	(16u << 20)	/* guest memory, from address 0 */
#define CORE_QUEUE	0x1000ull	/* the command queue */
#define CORE_MBOX	0x100000ull	/* mailboxes: input, output behind it */
#define CORE_FREE	0x400000ull	/* from here on memory is free for tests */

/* Result of core_take(), beside the values of enum delivery of mailbox.h */
#define CORE_NOT_DONE	0xff

struct core {
	struct event_base *base;
	struct fabric *fabric;
	struct profile *profile;
	struct hca *hca;
	uint8_t *ram;
	int fd;
	uint8_t token;
	bool sign;			/* give the mailboxes signatures */
	uint8_t sig_own, sig_lay;	/* of the last entry: ownership byte, xor of all bytes */
	uint32_t syndrome;		/* of the last command of core_cmd() */
};

extern struct core core;

/* What receives doorbells. A test may put functions of its own here; core_up() puts the HCA's. */
extern struct doorbell_ops core_doorbells;
/* The board of which core_up() makes the HCA, if a test wants one that is not the rig's own. */
extern const struct board *core_board;
extern bool core_eth;	/* with an Ethernet port; false: InfiniBand */
/* Add a module of a folder above to the HCA; to be called before the first core_up(). */
void core_add_module(const struct hca_module *m);

int core_up(void **state);		/* after power on, command queue set */
int core_up_init(void **state);		/* also ENABLE_HCA, pages, INIT_HCA */
/* As core_init_commands(), by a driver with pages of 4 KiB << @log. */
int core_init_pages(unsigned int log, bool uar_4k);
/* The part of it that tells the HCA the size of a page. */
int core_set_uar_page(unsigned int log, bool uar_4k);
int core_init_commands(void);		/* the commands of core_up_init(); for use after a reset */
int core_down(void **state);
/*
 * Make a directory, and put into @to the path for a socket in it. core_down() or
 * core_socket_remove() removes both. Returns false if the directory cannot be made.
 */
bool core_socket(char *to, size_t room);
void core_socket_remove(void);
/* Undo what a test has done with descriptor 0. @saved is a copy of it, or -1 if it was free. */
void core_put_back_stdin(int saved);

void core_reg_write(uint32_t off, uint32_t val);
uint32_t core_reg_read(uint32_t off);

/* Put a command into slot @slot: build entry and mailboxes without ringing the doorbell. */
uint8_t *core_put(unsigned int slot, const void *in, size_t in_len, size_t out_len);
/* Ring the doorbell for @slots. */
void core_ring(uint32_t slots);
/*
 * Take the answer from slot @slot. Returns the delivery status, or CORE_NOT_DONE if the HCA still
 * owns the slot.
 */
uint8_t core_take(unsigned int slot, void *out, size_t out_len);
/*
 * core_put(), core_ring() and core_take() for slot 0. Returns the firmware status, or 0xff if the
 * delivery status is not 0.
 */
uint8_t core_cmd(const void *in, size_t in_len, void *out, size_t out_len);

/* Check that a command is refused with @status by the check that has the number @why. */
#define assert_refused(call, status, why)		\
	do {						\
		assert_int_equal(call, status);		\
		assert_int_equal(core.syndrome, why);	\
	} while (0)

/* A command with nothing but opcode and op_mod, and an output of 16 bytes. */
uint8_t core_simple(uint16_t opcode, uint16_t op_mod, uint8_t *out16);
uint32_t core_alloc_uar(void);
/* An EQ of 2^log entries with its buffer at @pa that subscribes to @events. */
uint8_t core_create_eq(uint32_t uar, unsigned int log, uint64_t pa, uint64_t events,
		       unsigned int vector, uint32_t *eqn);
/* A CQ of 64 entries, and an RC queue pair without a receive queue, whose doorbells are at @uar. */
uint8_t core_create_cq(uint32_t uar, uint32_t eqn, uint32_t *cqn);
uint8_t core_create_qp(uint32_t uar, uint32_t pdn, uint32_t cqn, uint32_t *qpn);

#endif
