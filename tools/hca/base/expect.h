/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A record of what the HCA refuses, ignores and loses, and of the incidents that tests have
 * announced. Commands that are refused because of an injection are not recorded, nor are MADs that
 * are refused because the profile has no agent for performance management.
 */
#ifndef BLUEBELL_EXPECT_H
#define BLUEBELL_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#define EXPECT_ANY	(~0u)	/* every code, or every status */

struct expect;

enum incident_kind {
	/* The first two kinds have a code; the code of all other kinds is 0. */
	INCIDENT_REFUSE,	/* a command was refused; the code is the opcode */
	INCIDENT_DROP,		/* a doorbell was ignored; the code is an enum drop_reason */
	/*
	 * a UMR of the driver's own queue pair was refused, or named its mkey with wrong low 8 bits
	 */
	INCIDENT_UMR,
	INCIDENT_OVERRUN,	/* an event found its event queue full, and is lost */
	INCIDENT_LEFT,		/* objects were left at TEARDOWN_HCA */
	INCIDENT_PAGE,		/* the driver wrote to a page that it had given to the HCA */
	INCIDENT_BUG,		/* the HCA made a mistake; last, because no test announces it */
	INCIDENT_KINDS
};

/* An announcement by a test. */
struct expectation {
	enum incident_kind kind;
	unsigned int code;	/* or EXPECT_ANY */
	unsigned int status;	/* of a command that is refused, or EXPECT_ANY */
	unsigned long min, max;	/* how many incidents of this kind the test has announced */
	unsigned long seen;	/* how many came */
};

/* Incidents of one kind and for the same reason that no test announced. */
struct incident {
	enum incident_kind kind;
	unsigned int code, status;
	const char *cause;	/* name of the check */
	char why[120];		/* reason of the first incident not yet reported to a test */
	unsigned long count;
	unsigned long told;	/* how many had been reported at the last expect_tell() */
};

struct expect *expect_new(void);
void expect_free(struct expect *e);

bool expect_add(struct expect *e, const struct expectation *x);
const struct expectation *expect_get(const struct expect *e, unsigned int i);
void expect_clear(struct expect *e);

void expect_incident(struct expect *e, enum incident_kind kind, unsigned int code,
		     unsigned int status, const char *cause, const char *why);
const struct incident *expect_unexpected(const struct expect *e, unsigned int i);
unsigned long expect_unlisted(const struct expect *e);
void expect_tell(struct expect *e);

#endif
