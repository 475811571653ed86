/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of objects: an HCA without a bus, with flat guest memory and event queues that
 * are read at once. The transport behind queue pairs is a recorder.
 */
#ifndef BLUEBELL_TESTS_OBJRIG_H
#define BLUEBELL_TESTS_OBJRIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "check.h"
#include "cmd.h"
#include "eq.h"
#include "hca.h"
#include "ifc.h"
#include "util.h"

/* Guest memory: aligned to the greatest page size, and far from 0. */
#define RAM_BASE	(1ull << 40)
#define RAM_SIZE	(64u << 20)

struct fabric;
struct nic_ops;

struct rig_event {
	bool async;
	uint32_t eqn;
	uint8_t type, subtype;
	uint8_t data[28];
};

struct rig_trans {		/* a state change that the transport was told of */
	uint32_t qpn;
	int old, now;
};

extern struct rig {
	struct hca *hca;
	struct event_base *base;
	struct profile *profile;
	int fd;			/* guest memory */
	uint8_t *ram;
	struct rig_event ev[64];
	unsigned int nev;
	struct rig_trans tr[64];
	unsigned int ntr;
	uint32_t srq_gone;	/* number of the last SRQ of whose end the transport was told */
	unsigned int drains;	/* DC targets that were told to drain */
	struct eq *async;	/* receives the asynchronous events */
	char why[120];		/* of the last command that was refused */
	uint32_t syndrome;	/* of the last command */
} rig;

/* What a test of a higher folder adds to the HCA, before rig_setup(). Each list ends with NULL. */
extern struct rig_extra {
	const struct hca_module *const *modules;
	const struct cmd_desc *const *cmds;
	struct fabric *fabric;
	const struct nic_ops *nic;
	void (*cqe_lost)(struct hca *hca, uint32_t num);
} rig_extra;

int rig_setup(void **state);
int rig_teardown(void **state);
void rig_clear(void);		/* drop the recorded events, transitions and drops */

/* Host address of guest address @iova. */
static inline uint8_t *ram(uint64_t iova)
{
	return rig.ram + (iova - RAM_BASE);
}

/* Run a command of @opcode; header, uid and length are filled in. Returns the status. */
uint8_t rig_cmd(uint16_t opcode, uint16_t op_mod, uint16_t uid, void *in, size_t in_len, void *out,
		size_t out_len);

/* Check that a command is refused with @status by the check that has the number @why. */
#define assert_refused(call, status, why)		\
	do {						\
		assert_int_equal(call, status);		\
		assert_int_equal(rig.syndrome, why);	\
	} while (0)

/* A value of a field that makes a context invalid. */
struct rig_bad {
	struct ifc_field f;
	uint32_t value;
	uint8_t status;		/* of the command that creates the object */
	enum cmd_refusal why;
};

/*
 * Check that each of @n values is refused: @good() fills the command's input and returns the
 * context in it, @create() runs the command.
 */
void rig_check_bad(const struct rig_bad *bad, size_t n, uint8_t *(*good)(void),
		   uint8_t (*create)(uint16_t uid, uint32_t *num));

/* Create an object that other objects refer to. Each function asserts success. */
uint32_t rig_pd(void);
uint32_t rig_uar(uint16_t uid);
/* Give an object to another user. */
void rig_give(enum obj_kind kind, uint32_t num, uint16_t uid);
uint32_t rig_eq(void);
/* A CQ of 2^@log CQEs of @cqe_sz bytes at @buf, its doorbell record at @dbr. */
uint32_t rig_cq(uint64_t buf, uint64_t dbr, unsigned int log, unsigned int cqe_sz, uint32_t uar,
		uint32_t eqn);

#endif
