/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rig for tests of the NIC's objects: the HCA of objrig.h with the capabilities of a NIC, the
 * objects that TIS, RQ, RQT and TIR name, and a recorder in the place of the NIC.
 */
#ifndef BLUEBELL_TESTS_NICRIG_H
#define BLUEBELL_TESTS_NICRIG_H

#include "check.h"
#include "ifc.h"
#include "object.h"
#include "objrig.h"

#define NIC_UID		0x21	/* owner of all objects of the rig */
#define OTHER_UID	0x22
#define NIC_RING	(RAM_BASE + 0x10000)	/* the ring of the receive queues */
#define NIC_DBR		(RAM_BASE + 0x30000)
#define NIC_LOG_SIZE	3	/* WQEs of a receive queue */
#define NIC_LOG_STRIDE	6

extern struct nicrig {
	uint32_t pdn, tdn, cqn, uar;
	uint8_t in[8192], out[8192];	/* of the command that a test builds */
	/* What the NIC was told last. */
	uint32_t told;		/* number of the queue */
	int old, now;		/* its states */
	unsigned int states, gone;	/* how often */
} nic;

/*
 * What a test of a higher folder adds to the HCA, before nicrig_setup(). Each list ends with NULL.
 */
extern const struct hca_module *const *nicrig_extra_modules;
extern const struct cmd_desc *const *nicrig_extra_cmds;

int nicrig_setup(void **state);

/* Build in nic.in[] a CREATE command that succeeds; returns the context. */
uint8_t *nicrig_tis(void);
uint8_t *nicrig_rq(void);
uint8_t *nicrig_rqt(const uint32_t *rqn, unsigned int n);
uint8_t *nicrig_tir(void);

/* Run the command in nic.in[]. */
uint8_t nicrig_run(uint16_t op, uint16_t uid);
/* Run a command that has nothing but the number of an object, as DESTROY and QUERY. */
uint8_t nicrig_num(uint16_t op, uint16_t uid, uint32_t num);
/* Create an object, of NIC_UID; returns its number. */
uint32_t nicrig_new(uint16_t op);

/* A CREATE command with one change to its context, and the refusal that follows. */
struct nicrig_bad {
	struct ifc_field field;
	uint32_t value;
	uint8_t status;
	uint32_t why;
};

/* Check that each change of what @good builds is refused, and that no object is made. */
void nicrig_refuses(uint16_t op, uint8_t *(*good)(void), const struct nicrig_bad *bad, size_t n);

#endif
