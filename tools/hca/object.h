/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Start and end of the object tables; using them is in hca.h.
 */
#ifndef BLUEBELL_OBJECT_H
#define BLUEBELL_OBJECT_H

struct hca;

int objs_init(struct hca *hca);
void objs_exit(struct hca *hca);

#endif
