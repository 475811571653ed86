/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What makes a fabric a subnet: the agents at port 0 of its switch, and the subnet manager there.
 */
#ifndef BLUEBELL_SUBNET_H
#define BLUEBELL_SUBNET_H

#include <stdbool.h>

struct event_base;
struct fabric;

int subnet_start(struct fabric *f, struct event_base *base, bool manager);

#endif
