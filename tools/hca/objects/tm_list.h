/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of tagged buffers of a receive queue with tag matching.
 */
#ifndef BLUEBELL_TM_LIST_H
#define BLUEBELL_TM_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* A buffer that messages with a matching tag are stored in. */
struct tm_buffer {
	uint64_t addr, len;	/* len 0: only messages without data fit */
	uint32_t lkey;
};

enum tm_entry_state {
	TM_FREE,		/* software owns the entry */
	TM_WAITING,		/* appended, but not compared with messages before the next sync */
	TM_LISTED,		/* compared with the tags of messages */
	TM_HELD,		/* a message has matched, and is in progress */
};

struct tm_entry {
	TAILQ_ENTRY(tm_entry) link;	/* of the list, if TM_WAITING or TM_LISTED */
	enum tm_entry_state state;
	uint64_t tag, mask;
	struct tm_buffer buf;
};

struct tm_list {
	struct tm_entry *entry;		/* cnt entries; software names them by index */
	uint32_t cnt;			/* power of two */
	TAILQ_HEAD(, tm_entry) order;	/* oldest append first */
	uint16_t append;		/* index of the entry that the next append fills */
	uint16_t sw_phase;		/* unexpected messages that software has processed */
	uint16_t hw_phase;		/* unexpected messages that have arrived */
};

enum tm_appended { TM_APPENDED, TM_BAD_INDEX, TM_IN_USE };

struct tm_list *tm_list_new(unsigned int log_cnt, uint16_t append);
void tm_list_free(struct tm_list *l);
enum tm_appended tm_append(struct tm_list *l, uint16_t next, uint64_t tag, uint64_t mask,
			    const struct tm_buffer *buf);
bool tm_remove(struct tm_list *l, uint16_t index);
void tm_sync(struct tm_list *l, uint16_t sw_phase);
struct tm_entry *tm_match(const struct tm_list *l, uint64_t tag);
uint16_t tm_hold(struct tm_list *l, struct tm_entry *e);
void tm_release(struct tm_list *l, uint16_t index);
void tm_unexpected(struct tm_list *l);
void tm_unexpected_lost(struct tm_list *l);

#endif
