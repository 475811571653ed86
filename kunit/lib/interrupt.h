/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls in an interrupt, as mlx5_core makes them when a completion, an event or the answer to a
 * command arrives, so that lockdep compares the locks with those that tasks take.
 */

#ifndef BLUEBELL_KUNIT_INTERRUPT_H
#define BLUEBELL_KUNIT_INTERRUPT_H

void call_in_interrupt(void (*func)(void *arg), void *arg);

#endif /* BLUEBELL_KUNIT_INTERRUPT_H */
