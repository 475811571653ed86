/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a process may do. Functions return 0 or a negative errno.
 */
#ifndef BLUEBELL_RIGHTS_H
#define BLUEBELL_RIGHTS_H

int drop_capability(int cap);
int become_user(const char *name);
int drop_privileges(void);
int drop_privileges_but(int cap);

#endif
