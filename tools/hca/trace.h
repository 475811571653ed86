/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trace: a ring of events as JSON objects, and a file that gets the same as lines.
 */
#ifndef BLUEBELL_TRACE_H
#define BLUEBELL_TRACE_H

#include <stdio.h>
#include "hca.h"

struct ifc_struct;

int trace_init(struct hca *hca);
void trace_exit(struct hca *hca);
/* Also write every event to @path from now on; -errno if it cannot be opened. */
int trace_to_file(struct hca *hca, const char *path);
void trace_ring(struct hca *hca, bool on);
bool trace_wanted(struct hca *hca);
/* The last @n events, oldest first, as a JSON array; the caller frees it. */
char *trace_dump(struct hca *hca, unsigned int n);
/* A command that was executed, decoded field by field. */
void trace_cmd(struct hca *hca, const struct cmd *cmd, const char *name, unsigned int slot,
	       uint64_t start_ns);
/* The structure of a command's @half, "in" or "out"; NULL if mlx5_ifc.h has none. */
const struct ifc_struct *cmd_struct(const char *cmd_name, const char *half);

#endif
