/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Injected failures: the control socket says what is to fail. The code that executes commands,
 * writes CQEs, executes UMR work requests or raises page faults asks, for each of these, whether it
 * is to fail.
 */
#ifndef BLUEBELL_INJECT_H
#define BLUEBELL_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#define INJECT_MAX_CMDS		64	/* maximum number of command failures at a time */
#define INJECT_MAX_DELAYS	32	/* opcodes answered late, or executed late, at a time */

struct inject;

/* What is wrong with the events of the next page faults. */
struct inject_fault {
	unsigned long count;	/* number of events */
	bool not_write;		/* only events of remote writes: report them as reads */
	uint8_t subtype;	/* unless @not_write: the wrong subtype that the event gets */
};

struct inject *inject_new(void);
void inject_free(struct inject *inj);

/* Set by the control socket. Return false if there is no room for another injection of the kind. */
bool inject_set_nth_cmd(struct inject *inj, unsigned long nth, uint8_t status);
bool inject_set_cmd_delay(struct inject *inj, uint16_t opcode, unsigned long count,
			  unsigned int ms);
bool inject_set_cmd_deferral(struct inject *inj, uint16_t opcode, unsigned long count,
			     unsigned int ms);
void inject_set_cmd_reorder(struct inject *inj);
bool inject_set_opcode(struct inject *inj, uint16_t opcode, unsigned long count, uint8_t status);
void inject_set_cqes(struct inject *inj, unsigned long count, unsigned int delay_ms);
void inject_set_umrs(struct inject *inj, unsigned long count, unsigned long skip);
void inject_set_faults(struct inject *inj, const struct inject_fault *fault);
void inject_set_tokens(struct inject *inj, unsigned long count);
void inject_set_umr_reorder(struct inject *inj);
unsigned int inject_clear(struct inject *inj);

/* Asked for each command, completion, UMR work request of a driver, and page fault. */
uint8_t inject_cmd(struct inject *inj, uint16_t opcode);
unsigned int inject_cmd_delay(struct inject *inj, uint16_t opcode);
unsigned int inject_cmd_deferral(struct inject *inj, uint16_t opcode);
bool inject_cmd_reorder(const struct inject *inj);
bool inject_cqe(struct inject *inj, unsigned int *delay_ms);
bool inject_umr(struct inject *inj);
const struct inject_fault *inject_fault(struct inject *inj, bool remote_write);
bool inject_token(struct inject *inj);
bool inject_umr_reorder(const struct inject *inj);

#endif
