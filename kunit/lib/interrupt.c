// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls in an interrupt.
 */

#include <linux/bug.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>

#include "interrupt.h"

struct interrupt {
	struct irq_work work;
	void (*func)(void *arg);
	void *arg;
};

static void interrupt_handler(struct irq_work *work)
{
	struct interrupt *interrupt = container_of(work, struct interrupt, work);

	/* A warning fails the run. */
	WARN_ON_ONCE(!in_hardirq());
	interrupt->func(interrupt->arg);
}

/**
 * call_in_interrupt - call a function in a hard interrupt, and wait until it has returned
 * @func: the function, which neither sleeps nor asserts: KUnit allocates memory for a failure
 * @arg: its argument
 *
 * The function runs on the CPU of the caller and in the caller's task, so that the static stubs of
 * a test take effect. May sleep.
 */
void call_in_interrupt(void (*func)(void *arg), void *arg)
{
	struct interrupt interrupt = {
		.work = IRQ_WORK_INIT(interrupt_handler), .func = func, .arg = arg,
	};

	irq_work_queue(&interrupt.work);
	irq_work_sync(&interrupt.work);
}
