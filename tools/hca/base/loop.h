/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event loop, and the thread that runs it.
 */
#ifndef BLUEBELL_LOOP_H
#define BLUEBELL_LOOP_H

struct event_base;
struct loop;

struct loop *loop_new(void);
void loop_free(struct loop *l);
struct event_base *loop_base(struct loop *l);
void loop_run(struct loop *l);
int loop_start(struct loop *l, const char *name);
void loop_end(struct loop *l);
void loop_join(struct loop *l);

#endif
