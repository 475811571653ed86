// SPDX-License-Identifier: GPL-2.0
/*
 * The list of tagged buffers of a receive queue with tag matching.
 *
 * Theory: software owns the numbers of the entries, and the HCA never chooses one. An append fills
 * the entry that the append before it has named, and names the entry of the next append. So one
 * entry is always free, and a list of 2^n entries holds 2^n - 1 tags.
 *
 *	FREE --append--> WAITING --sync--> LISTED --match--> HELD --the message is complete--> FREE
 *
 * Messages are compared with the listed entries in the order of the appends. An entry is appended
 * as WAITING while there are unexpected messages that software has not processed: software may find
 * that one of these messages, which came earlier, belongs to the tag. Software tells how many
 * unexpected messages it has processed, with any operation; when the count is equal to the number
 * of those that have arrived, all waiting entries are listed.
 */
#include <stdlib.h>

#include "tm_list.h"

/**
 * tm_list_new() - make a list without tags
 * @log_cnt: log2 of the number of entries
 * @append: index of the entry that the first append fills
 *
 * Return: the list, or NULL if memory is short.
 */
struct tm_list *tm_list_new(unsigned int log_cnt, uint16_t append)
{
	struct tm_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->cnt = 1u << log_cnt;
	l->append = append;
	l->entry = calloc(l->cnt, sizeof(*l->entry));
	TAILQ_INIT(&l->order);
	if (l->entry)
		return l;
	free(l);
	return NULL;
}

/**
 * tm_list_free() - free a list
 * @l: the list, or NULL
 */
void tm_list_free(struct tm_list *l)
{
	if (l)
		free(l->entry);
	free(l);
}

static bool tm_in_phase(const struct tm_list *l)
{
	return l->sw_phase == l->hw_phase;
}

/**
 * tm_append() - append a tag
 * @l: the list
 * @next: index of the entry that the next append fills
 * @tag: a message matches if its tag and @mask give @tag
 * @mask: bits of a message's tag that are compared
 * @buf: where the data of the message is stored
 *
 * Return: TM_APPENDED; TM_BAD_INDEX if the list has no entry @next, or if @next is the entry that
 * this append fills; TM_IN_USE if the entry that this append fills is not free.
 */
enum tm_appended tm_append(struct tm_list *l, uint16_t next, uint64_t tag, uint64_t mask,
			    const struct tm_buffer *buf)
{
	struct tm_entry *e = &l->entry[l->append];

	if (next >= l->cnt || next == l->append)
		return TM_BAD_INDEX;
	if (e->state != TM_FREE)
		return TM_IN_USE;
	e->state = tm_in_phase(l) ? TM_LISTED : TM_WAITING;
	e->tag = tag;
	e->mask = mask;
	e->buf = *buf;
	TAILQ_INSERT_TAIL(&l->order, e, link);
	l->append = next;
	return TM_APPENDED;
}

/**
 * tm_remove() - remove a tag
 * @l: the list
 * @index: of the entry
 *
 * Return: false if the list has no such entry, or if the entry has no tag any more because a
 * message has matched.
 */
bool tm_remove(struct tm_list *l, uint16_t index)
{
	struct tm_entry *e = index < l->cnt ? &l->entry[index] : NULL;

	if (!e || e->state == TM_FREE || e->state == TM_HELD)
		return false;
	TAILQ_REMOVE(&l->order, e, link);
	e->state = TM_FREE;
	return true;
}

/* List all that waits if software has processed all unexpected messages. */
static void tm_list_waiting(struct tm_list *l)
{
	struct tm_entry *e;

	if (tm_in_phase(l))
		TAILQ_FOREACH(e, &l->order, link)
			e->state = TM_LISTED;
}

/**
 * tm_sync() - software tells how many unexpected messages it has processed
 * @l: the list
 * @sw_phase: the number, modulo 2^16
 */
void tm_sync(struct tm_list *l, uint16_t sw_phase)
{
	l->sw_phase = sw_phase;
	tm_list_waiting(l);
}

/**
 * tm_match() - find the entry for a message
 * @l: the list
 * @tag: of the message
 *
 * Return: the oldest listed entry that matches, or NULL.
 */
struct tm_entry *tm_match(const struct tm_list *l, uint64_t tag)
{
	struct tm_entry *e;

	TAILQ_FOREACH(e, &l->order, link)
		if (e->state == TM_LISTED && (tag & e->mask) == e->tag)
			return e;
	return NULL;
}

/**
 * tm_hold() - give an entry to the message that has matched
 * @l: the list
 * @e: the entry, as tm_match() has found it
 *
 * Return: its index.
 */
uint16_t tm_hold(struct tm_list *l, struct tm_entry *e)
{
	TAILQ_REMOVE(&l->order, e, link);
	e->state = TM_HELD;
	return e - l->entry;
}

/**
 * tm_release() - return an entry to software
 * @l: the list
 * @index: of the entry, whose message is complete or has failed
 */
void tm_release(struct tm_list *l, uint16_t index)
{
	l->entry[index].state = TM_FREE;
}

/**
 * tm_unexpected() - count a message that matches no listed entry
 * @l: the list
 *
 * Entries that are listed already stay listed: the message has been compared with them.
 */
void tm_unexpected(struct tm_list *l)
{
	l->hw_phase++;
}

/**
 * tm_unexpected_lost() - software will not learn of a message that was counted
 * @l: the list
 *
 * Without this, the counts would never be equal again.
 */
void tm_unexpected_lost(struct tm_list *l)
{
	l->hw_phase--;
	tm_list_waiting(l);
}
