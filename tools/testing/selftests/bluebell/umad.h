/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files of ib_umad.
 */
#ifndef BLUEBELL_UMAD_H
#define BLUEBELL_UMAD_H

#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stddef.h>

#define NO_UMAD "the kernel has no ib_umad"	/* why a test is skipped */

bool umad_is_there(void);
bool umad_find(const char *kind, char *path, size_t size);
int umad_open(void);
int umad_register(int fd, struct ib_user_mad_reg_req2 *req);

#endif
