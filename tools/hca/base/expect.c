// SPDX-License-Identifier: GPL-2.0
/*
 * A record of what the HCA refuses, ignores and loses, and of the incidents that tests have
 * announced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

#define MAX_EXPECTATIONS	64
#define MAX_INCIDENTS		128

struct expect {
	struct expectation list[MAX_EXPECTATIONS];
	unsigned int n;
	struct incident unexpected[MAX_INCIDENTS];
	unsigned int nunexpected;
	unsigned long unlisted;
};

/**
 * expect_new() - make an empty record, with nothing announced
 *
 * Return: the record, or NULL if memory is short.
 */
struct expect *expect_new(void)
{
	return calloc(1, sizeof(struct expect));
}

/**
 * expect_free() - free a record
 * @e: the record, or NULL
 */
void expect_free(struct expect *e)
{
	free(e);
}

/**
 * expect_add() - announce incidents
 * @e: the record
 * @x: the announcement
 *
 * Return: false if there are too many announcements.
 */
bool expect_add(struct expect *e, const struct expectation *x)
{
	if (e->n == MAX_EXPECTATIONS)
		return false;
	e->list[e->n] = *x;
	e->list[e->n++].seen = 0;
	return true;
}

/**
 * expect_get() - get an announcement
 * @e: the record
 * @i: its position, in the order of the announcements
 *
 * Return: the announcement, NULL beyond the last one.
 */
const struct expectation *expect_get(const struct expect *e, unsigned int i)
{
	return i < e->n ? &e->list[i] : NULL;
}

/**
 * expect_clear() - end all announcements
 * @e: the record
 */
void expect_clear(struct expect *e)
{
	e->n = 0;
}

/*
 * Find the first announcement of an incident with this kind, code and status that is still below
 * its minimum (@lacking) or below its maximum (not @lacking).
 */
static struct expectation *expect_match(struct expect *e, enum incident_kind kind,
					unsigned int code, unsigned int status, bool lacking)
{
	unsigned int i;

	for (i = 0; i < e->n; i++) {
		struct expectation *x = &e->list[i];

		if (x->kind == kind && (x->code == EXPECT_ANY || x->code == code) &&
		    (x->status == EXPECT_ANY || x->status == status) &&
		    x->seen < (lacking ? x->min : x->max))
			return x;
	}
	return NULL;
}

/*
 * Count an incident for an announcement below its minimum first: an announcement that is above its
 * minimum, but below its maximum, does not need the incident.
 */
static bool expect_announced(struct expect *e, enum incident_kind kind, unsigned int code,
			     unsigned int status)
{
	struct expectation *x = expect_match(e, kind, code, status, true);

	if (!x)
		x = expect_match(e, kind, code, status, false);
	if (x)
		x->seen++;
	return x;
}

static struct incident *expect_find(struct expect *e, enum incident_kind kind, unsigned int code,
				    unsigned int status, const char *cause)
{
	unsigned int i;

	for (i = 0; i < e->nunexpected; i++) {
		struct incident *it = &e->unexpected[i];

		if (it->kind == kind && it->code == code && it->status == status &&
		    !strcmp(it->cause, cause))
			return it;
	}
	return NULL;
}

/**
 * expect_incident() - record that the HCA refused or ignored something
 * @e: the record
 * @kind: what happened
 * @code: opcode of the command, or reason for which the doorbell was ignored; otherwise 0
 * @status: firmware status of a command that was refused; otherwise 0
 * @cause: name of the check that failed, a constant string
 * @why: the reason in words
 */
void expect_incident(struct expect *e, enum incident_kind kind, unsigned int code,
		     unsigned int status, const char *cause, const char *why)
{
	struct incident *it;

	if (expect_announced(e, kind, code, status))
		return;
	it = expect_find(e, kind, code, status, cause);
	if (!it) {
		if (e->nunexpected == MAX_INCIDENTS) {
			e->unlisted++;
			return;
		}
		it = &e->unexpected[e->nunexpected++];
		it->kind = kind;
		it->code = code;
		it->status = status;
		it->cause = cause;
	}
	if (it->count++ == it->told)
		snprintf(it->why, sizeof(it->why), "%s", why);
}

/**
 * expect_unexpected() - get an entry of the list of incidents that no test announced
 * @e: the record
 * @i: its position, in the order in which the incidents first happened
 *
 * Return: the entry, NULL beyond the last one.
 */
const struct incident *expect_unexpected(const struct expect *e, unsigned int i)
{
	return i < e->nunexpected ? &e->unexpected[i] : NULL;
}

/**
 * expect_unlisted() - count incidents for which the list had no room
 * @e: the record
 *
 * Return: the number of incidents.
 */
unsigned long expect_unlisted(const struct expect *e)
{
	return e->unlisted;
}

/**
 * expect_tell() - remember that all entries of the list have been reported to a test
 * @e: the record, whose entries stay
 */
void expect_tell(struct expect *e)
{
	unsigned int i;

	for (i = 0; i < e->nunexpected; i++)
		e->unexpected[i].told = e->unexpected[i].count;
}
