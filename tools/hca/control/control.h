/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket of an HCA: a request a line, answered by a line of JSON.
 */
#ifndef BLUEBELL_CONTROL_H
#define BLUEBELL_CONTROL_H

struct hca;
struct hca_module;

int control_listen(struct hca *hca, const char *path);
char *control_request(struct hca *hca, const char *line);

extern const struct hca_module control_module;

#endif
