/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of the control socket's requests: numbers, firmware statuses and opcodes.
 */
#ifndef BLUEBELL_WORDS_H
#define BLUEBELL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct hca;

bool request_number(const char *s, unsigned long *v);
uint8_t request_status(const char *s);
const char *request_status_name(uint8_t status);
bool request_opcode(struct hca *hca, const char *s, unsigned long *op);

#endif
