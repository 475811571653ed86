/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket, and what it can make go wrong.
 */
#ifndef BLUEBELL_CTRL_H
#define BLUEBELL_CTRL_H

#include "hca.h"

int ctrl_init(struct hca *hca);
void ctrl_exit(struct hca *hca);
int ctrl_listen(struct hca *hca, const char *path);
/* Answer one request line; the caller frees the JSON line returned (no newline). */
char *ctrl_request(struct hca *hca, const char *line);

/* cmdif.c asks before each command: a firmware status to fail it with, or 0. */
uint8_t inject_cmd(struct hca *hca, uint16_t opcode);

#endif
