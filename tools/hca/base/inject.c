// SPDX-License-Identifier: GPL-2.0
/*
 * Injected failures: what is set, and whether it applies to a command, a completion, a UMR work
 * request or a page fault.
 */
#include <stdlib.h>
#include <string.h>

#include "inject.h"

struct cmd_inject {
	bool used;
	bool by_op;		/* fail commands of @opcode; false: one command, after @skip */
	uint16_t opcode;
	unsigned long skip;
	unsigned long left;	/* commands still to fail; 0: until cleared (by_op only) */
	uint8_t status;
};

struct cmd_delay {
	uint16_t opcode;	/* of the commands; 0: all */
	unsigned long left;	/* commands still to delay */
	unsigned int ms;	/* the delay */
};

struct inject {
	struct cmd_inject cmd[INJECT_MAX_CMDS];
	struct cmd_delay delay[INJECT_MAX_DELAYS];	/* from execution to answer */
	struct cmd_delay deferral[INJECT_MAX_DELAYS];	/* from doorbell to execution */
	bool reorder;			/* commands are answered in reverse order */
	unsigned int fired;		/* injections that have taken effect since the last clear */
	unsigned long cqe_left;		/* completions to drop or delay */
	unsigned int cqe_delay_ms;	/* 0: drop */
	unsigned long umr_skip;		/* UMR work requests to let pass first */
	unsigned long umr_left;		/* UMR work requests to fail after @umr_skip */
	struct inject_fault fault;	/* page-fault events to report wrongly */
	unsigned long tokens_left;	/* page faults that get a token which was used before */
	bool umr_reorder;		/* of two unordered UMRs, execute the second first */
};

/**
 * inject_new() - make an empty set of injections
 *
 * Return: the set, or NULL if memory is short.
 */
struct inject *inject_new(void)
{
	return calloc(1, sizeof(struct inject));
}

/**
 * inject_free() - free a set of injections
 * @inj: the set, or NULL
 */
void inject_free(struct inject *inj)
{
	free(inj);
}

static bool inject_add_cmd(struct inject *inj, const struct cmd_inject *c)
{
	unsigned int i;

	for (i = 0; i < INJECT_MAX_CMDS; i++) {
		if (inj->cmd[i].used)
			continue;
		inj->cmd[i] = *c;
		return true;
	}
	return false;
}

/**
 * inject_set_nth_cmd() - fail one command
 * @inj: the set of injections
 * @nth: which command from now on, counted from 1
 * @status: firmware status to fail it with
 *
 * Return: false if there is no room for another injection.
 */
bool inject_set_nth_cmd(struct inject *inj, unsigned long nth, uint8_t status)
{
	const struct cmd_inject c = {
		.used = true, .skip = nth - 1, .left = 1, .status = status,
	};

	return inject_add_cmd(inj, &c);
}

static bool inject_set_late(struct cmd_delay *delays, const struct cmd_delay *set)
{
	struct cmd_delay *d, *room = NULL;

	for (d = delays; d < delays + INJECT_MAX_DELAYS; d++) {
		if (d->left && d->opcode == set->opcode)
			room = d;
		else if (!d->left && !room)
			room = d;
	}
	if (room)
		*room = *set;
	return room;
}

/**
 * inject_set_cmd_delay() - answer commands late
 * @inj: the set of injections
 * @opcode: of the commands; 0: any
 * @count: number of commands
 * @ms: milliseconds between execution and answer
 *
 * Replaces an earlier delay of the same opcode.
 *
 * Return: false if there is no room for another opcode.
 */
bool inject_set_cmd_delay(struct inject *inj, uint16_t opcode, unsigned long count,
			  unsigned int ms)
{
	const struct cmd_delay d = { .opcode = opcode, .left = count, .ms = ms };

	return inject_set_late(inj->delay, &d);
}

/**
 * inject_set_cmd_deferral() - execute commands late
 * @inj: the set of injections
 * @opcode: of the commands; 0: any
 * @count: number of commands
 * @ms: milliseconds between doorbell and execution
 *
 * Replaces an earlier deferral of the same opcode.
 *
 * Return: false if there is no room for another opcode.
 */
bool inject_set_cmd_deferral(struct inject *inj, uint16_t opcode, unsigned long count,
			     unsigned int ms)
{
	const struct cmd_delay d = { .opcode = opcode, .left = count, .ms = ms };

	return inject_set_late(inj->deferral, &d);
}

/**
 * inject_set_cmd_reorder() - answer commands in the reverse order of their execution
 * @inj: the set of injections
 */
void inject_set_cmd_reorder(struct inject *inj)
{
	inj->reorder = true;
}

/**
 * inject_set_opcode() - fail the commands of an opcode
 * @inj: the set of injections
 * @opcode: of the commands
 * @count: number of commands; 0: until cleared
 * @status: firmware status to fail them with
 *
 * Return: false if there is no room for another injection.
 */
bool inject_set_opcode(struct inject *inj, uint16_t opcode, unsigned long count, uint8_t status)
{
	const struct cmd_inject c = {
		.used = true, .by_op = true, .opcode = opcode, .left = count, .status = status,
	};

	return inject_add_cmd(inj, &c);
}

/**
 * inject_set_cqes() - drop or delay completions
 * @inj: the set of injections
 * @count: how many of the next completions
 * @delay_ms: milliseconds to hold each back; 0: drop it
 */
void inject_set_cqes(struct inject *inj, unsigned long count, unsigned int delay_ms)
{
	inj->cqe_left = count;
	inj->cqe_delay_ms = delay_ms;
}

/**
 * inject_set_umrs() - fail UMR work requests of drivers
 * @inj: the set of injections
 * @count: how many work requests
 * @skip: how many work requests to execute as usual first
 */
void inject_set_umrs(struct inject *inj, unsigned long count, unsigned long skip)
{
	inj->umr_left = count;
	inj->umr_skip = skip;
}

/**
 * inject_set_faults() - report page faults wrongly in their events
 * @inj: the set of injections
 * @fault: what is wrong with the events, and with how many
 */
void inject_set_faults(struct inject *inj, const struct inject_fault *fault)
{
	inj->fault = *fault;
}

/**
 * inject_set_tokens() - give page faults a token that was used before
 * @inj: the set of injections
 * @count: number of page faults
 */
void inject_set_tokens(struct inject *inj, unsigned long count)
{
	inj->tokens_left = count;
}

/**
 * inject_set_umr_reorder() - execute a UMR work request before the UMR that was posted before it
 * @inj: the set of injections
 *
 * Takes effect if both change the same mkey and the fence of the second UMR does not order them.
 */
void inject_set_umr_reorder(struct inject *inj)
{
	inj->umr_reorder = true;
}

/**
 * inject_clear() - end all injections
 * @inj: the set of injections
 *
 * Return: how many took effect since the last call.
 */
unsigned int inject_clear(struct inject *inj)
{
	unsigned int fired = inj->fired;

	memset(inj->cmd, 0, sizeof(inj->cmd));
	inj->fired = 0;
	memset(inj->delay, 0, sizeof(inj->delay));
	memset(inj->deferral, 0, sizeof(inj->deferral));
	inj->reorder = false;
	inj->cqe_left = 0;
	inj->umr_left = 0;
	inj->fault.count = 0;
	inj->tokens_left = 0;
	inj->umr_reorder = false;
	return fired;
}

/**
 * inject_cmd() - tell whether a command is to fail
 * @inj: the set of injections, which counts the command
 * @opcode: of the command that is about to be executed
 *
 * Return: the firmware status to fail it with, 0 to execute it.
 */
uint8_t inject_cmd(struct inject *inj, uint16_t opcode)
{
	uint8_t status = 0;
	unsigned int i;

	for (i = 0; i < INJECT_MAX_CMDS; i++) {
		struct cmd_inject *c = &inj->cmd[i];

		if (!c->used || (c->by_op && c->opcode != opcode))
			continue;
		if (c->skip) {
			c->skip--;
			continue;
		}
		if (status)
			continue;
		status = c->status;
		inj->fired++;
		if (c->left && !--c->left)
			c->used = false;
	}
	return status;
}

static unsigned int inject_late(struct inject *inj, struct cmd_delay *delays, uint16_t opcode)
{
	struct cmd_delay *d;

	for (d = delays; d < delays + INJECT_MAX_DELAYS; d++) {
		if (!d->left || (d->opcode && d->opcode != opcode))
			continue;
		d->left--;
		inj->fired++;
		return d->ms;
	}
	return 0;
}

/**
 * inject_cmd_delay() - tell whether a command is to be answered late
 * @inj: the set of injections, which counts the command
 * @opcode: of the command
 *
 * Return: the delay in milliseconds, 0 to answer at once.
 */
unsigned int inject_cmd_delay(struct inject *inj, uint16_t opcode)
{
	return inject_late(inj, inj->delay, opcode);
}

/**
 * inject_cmd_deferral() - tell whether a command is to be executed late
 * @inj: the set of injections, which counts the command
 * @opcode: of the command
 *
 * Return: the delay in milliseconds, 0 to execute it at once.
 */
unsigned int inject_cmd_deferral(struct inject *inj, uint16_t opcode)
{
	return inject_late(inj, inj->deferral, opcode);
}

/**
 * inject_cmd_reorder() - tell whether commands are to be answered in reverse order
 * @inj: the set of injections
 */
bool inject_cmd_reorder(const struct inject *inj)
{
	return inj->reorder;
}

/**
 * inject_cqe() - tell whether a completion is to be dropped or delayed
 * @inj: the set of injections, which counts the completion
 * @delay_ms: set to the delay in milliseconds; 0: drop the completion
 *
 * Return: false to write the CQE as usual.
 */
bool inject_cqe(struct inject *inj, unsigned int *delay_ms)
{
	if (!inj->cqe_left)
		return false;
	inj->cqe_left--;
	inj->fired++;
	*delay_ms = inj->cqe_delay_ms;
	return true;
}

/**
 * inject_umr() - tell whether a UMR work request of a driver is to fail
 * @inj: the set of injections, which counts the work request
 *
 * Return: true to fail it.
 */
bool inject_umr(struct inject *inj)
{
	if (!inj->umr_left)
		return false;
	if (inj->umr_skip) {
		inj->umr_skip--;
		return false;
	}
	inj->umr_left--;
	inj->fired++;
	return true;
}

/**
 * inject_fault() - tell whether the event of a page fault is to be wrong
 * @inj: the set of injections, which counts the event
 * @remote_write: a remote write has caused the fault
 *
 * Return: what to report wrongly; NULL to leave the event as it is.
 */
const struct inject_fault *inject_fault(struct inject *inj, bool remote_write)
{
	if (!inj->fault.count || (inj->fault.not_write && !remote_write))
		return NULL;
	inj->fault.count--;
	inj->fired++;
	return &inj->fault;
}

/**
 * inject_token() - tell whether a page fault gets a token that was used before
 * @inj: the set of injections, which counts the fault
 */
bool inject_token(struct inject *inj)
{
	if (!inj->tokens_left)
		return false;
	inj->tokens_left--;
	inj->fired++;
	return true;
}

/**
 * inject_umr_reorder() - tell whether UMR work requests that no fence orders are reordered
 * @inj: the set of injections
 */
bool inject_umr_reorder(const struct inject *inj)
{
	return inj->umr_reorder;
}
